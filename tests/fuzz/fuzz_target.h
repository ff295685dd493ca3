// What the programs for libFuzzer share. `./dev fuzz TARGET` builds and runs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

extern "C" {
/// libFuzzer's own mutations.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);
// What libFuzzer calls.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(
    const uint8_t* first, size_t first_size, const uint8_t* second, size_t second_size, uint8_t* out, size_t most,
    unsigned seed);
}

namespace fuzz_target {

/// Ends the run; libFuzzer writes the input to a file.
[[noreturn]] inline void fail(const std::string& what) {
  std::cerr << "==== a rule is broken: " << what << '\n';
  std::abort();
}

inline std::string toString(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// As much of the text as fits.
inline size_t store(const std::string& text, uint8_t* data, size_t most) {
  const size_t size = std::min(text.size(), most);
  if (size > 0) std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace fuzz_target
