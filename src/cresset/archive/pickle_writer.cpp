// Opcodes. See pickler.h.
#include <bit>
#include <cstring>
#include <limits>

#include "cresset/archive/pickler.h"
#include "cresset/support/error.h"

namespace cresset {

PickleWriter::PickleWriter() {
  op(0x80);
  op(2);
}

template <typename T>
void PickleWriter::raw(T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));  // pickles and these machines are little-endian
  bytes_.append(bytes, sizeof(T));
}

void PickleWriter::integer(int64_t value) {
  if (value >= 0 && value <= 0xff) {
    op('K');
    raw(static_cast<uint8_t>(value));
  } else if (value >= 0 && value <= 0xffff) {
    op('M');
    raw(static_cast<uint16_t>(value));
  } else if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    op('J');
    raw(static_cast<int32_t>(value));
  } else {
    op(0x8a);
    op(8);
    raw(value);
  }
}

void PickleWriter::number(double value) {
  op('G');
  raw(__builtin_bswap64(std::bit_cast<uint64_t>(value)));  // the one big-endian opcode
}

void PickleWriter::string(std::string_view text) {
  const auto [it, fresh] = strings_.try_emplace(std::string(text), next_);
  if (!fresh) return get(it->second);
  if (text.size() > std::numeric_limits<uint32_t>::max()) throw UserError("A string of 4 GiB or more can't be saved.");
  op('X');
  raw(static_cast<uint32_t>(text.size()));
  bytes_ += text;
  put();
}

void PickleWriter::global(const std::string& module, const std::string& name) {
  const auto [it, fresh] = globals_.try_emplace(module + '\n' + name, next_);
  if (!fresh) return get(it->second);
  op('c');
  bytes_ += module + '\n' + name + '\n';
  put();
}

uint32_t PickleWriter::put() {
  if (next_ <= 0xff) {
    op('q');
    raw(static_cast<uint8_t>(next_));
  } else {
    op('r');
    raw(next_);
  }
  return next_++;
}

void PickleWriter::get(uint32_t number) {
  if (number <= 0xff) {
    op('h');
    raw(static_cast<uint8_t>(number));
  } else {
    op('j');
    raw(number);
  }
}

}  // namespace cresset
