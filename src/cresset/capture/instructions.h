// The instructions of a code object, decoded once.
//
// `co_code` is read, in which no instruction is specialized or instrumented; places are the same as in the code that
// runs.
#pragma once

#include <vector>

#include "cresset/capture/python.h"

namespace cresset::capture {

struct Instruction {
  int start;     // its first prefix EXTENDED_ARG, or itself
  int position;  // the instruction itself
  int next;      // after it and its inline caches
  int opcode;
  int argument;
};

class Instructions {
 public:
  explicit Instructions(PyCodeObject* code);

  /// The instruction that begins at this position or whose prefixes do; null if none does.
  const Instruction* at(int position) const {
    int index = size_t(position) < index_.size() ? index_[size_t(position)] : -1;
    return index < 0 ? nullptr : &instructions_[size_t(index)];
  }
  size_t indexOf(const Instruction& instruction) const { return size_t(&instruction - instructions_.data()); }
  const std::vector<Instruction>& all() const { return instructions_; }

 private:
  std::vector<Instruction> instructions_;
  std::vector<int> index_;  // by position; -1 inside of instructions
};

/// Asks Python how many inline caches instructions have. False with an exception set if that fails.
bool readCacheSizes();

}  // namespace cresset::capture
