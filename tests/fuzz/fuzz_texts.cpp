// libFuzzer targets whose bytes are a text: READ says of what (text_readers.h), WORDS of which words (text_mutator.h).
// Half of the mutations exchange whole tokens: texts that are nearly right go furthest.
#include "cresset/support/error.h"
#include "fuzz_target.h"
#include "text_mutator.h"
#include "text_readers.h"

using namespace fuzz_target;

namespace {

[[maybe_unused]] void sources(const std::string& text) {
  text_readers::readSource(text);
  text_readers::runSource(text);
}

[[maybe_unused]] void graphs(const std::string& text) {
  text_readers::runGraph(text);
}

[[maybe_unused]] void schemas(const std::string& text) {
  try {
    text_readers::readType(text);
  } catch (const cresset::UserError&) {  // may be a schema
  }
  text_readers::readSchema(text);
}

std::string mutated(std::vector<std::string> texts, unsigned seed) {
  text_mutator::Mutator mutator(std::move(texts), text_mutator::WORDS(), seed);
  return seed % 8 == 0 ? mutator.nextBytes() : mutator.nextTokens();
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    READ(toString(data, size));
  } catch (const cresset::UserError&) {  // refused
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (size == 0 || seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  return store(mutated({toString(data, size)}, seed / 2), data, most);
}

size_t LLVMFuzzerCustomCrossOver(
    const uint8_t* first, size_t first_size, const uint8_t* second, size_t second_size, uint8_t* out, size_t most,
    unsigned seed) {
  return store(mutated({toString(first, first_size), toString(second, second_size)}, seed), out, most);
}
