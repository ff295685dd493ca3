// A libFuzzer target: the bytes are an archive. Most mutations change what a record holds and write the zip anew, so
// that they get past its checksums and lengths.
#include "archive_checks.h"
#include "archive_mutator.h"
#include "fuzz_target.h"

using namespace fuzz_target;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string archive = toString(data, size);
  std::mt19937_64 random(std::hash<std::string>()(archive));
  const auto outcome = archive_checks::check(archive, random, {.stream = random() % 2 == 0});
  if (!outcome.failures.empty()) fail(outcome.failures.front());
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto mutate_bytes = [](std::string& bytes) {
    const size_t before = bytes.size();
    bytes.resize(before + 256);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), before, bytes.size()));
  };
  const std::string mutated = archive_mutator::mutate(toString(data, size), random, mutate_bytes);
  return mutated.size() <= most ? store(mutated, data, most) : LLVMFuzzerMutate(data, size, most);
}
