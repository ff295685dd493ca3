// Makes the code of kernels: equal instructions become one register, constants are computed.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

/// Instructions without loops, in order: what happens to the elements at one place.
class KernelBuilder {
 public:
  at::ScalarType typeOf(Register value) const { return code_[value].type; }

  Register constant(at::ScalarType type, double value);
  Register constant(at::ScalarType type, int64_t value);
  Register bits(at::ScalarType type, uint64_t bits);
  /// The caller's number `index`.
  Register number(size_t index, at::ScalarType type);
  /// How many elements are reduced to one: a Long.
  Register count();
  /// Which of them the element is: a Long.
  Register place();
  /// An element of a buffer of this dtype.
  Register load(size_t buffer, at::ScalarType dtype);
  /// The one that lies `offset` bytes, a Long, after that.
  Register read(size_t buffer, Register offset, at::ScalarType dtype);
  /// How many bytes after the first the element of the buffer lies: a Long.
  Register where(size_t buffer);
  void store(size_t buffer, Register value);
  /// Adds to the element of a result that lies `offset` bytes, a Long, further on.
  void addTo(size_t buffer, Register offset, Register value);
  /// What the iteration before has carried; in the first, `initial`, a constant. A new one with each call.
  Register previous(Register initial);

  Register add(Opcode opcode, Register a) { return addSame(opcode, {a}); }
  Register add(Opcode opcode, Register a, Register b) { return addSame(opcode, {a, b}); }
  Register add(Opcode opcode, Register a, Register b, Register c) { return addSame(opcode, {a, b, c}); }
  /// value * 2^power, rounded once, for floats between 2^-10 and 2 and integers as wide.
  Register scale(Register value, Register power);
  /// `mostly`: the condition is nearly always true, and what `otherwise` takes is worth a branch.
  Register select(Register condition, Register then, Register otherwise, bool mostly = false);
  /// As a C++ conversion where that is defined; Bool by comparison with 0. The value itself if it is of the type.
  Register convert(Register value, at::ScalarType type);
  Register bitcast(Register value, at::ScalarType type);
  /// To what a tensor of `dtype` can hold; of other dtypes than half precision all of the register's type.
  Register roundTo(Register value, at::ScalarType dtype);
  Register toBool(Register value);
  /// Of an integer: whether it is known not to be 0.
  bool isOtherThanZero(Register value) const;

  /// What a value is computed from, back to these elements.
  struct Sources {
    bool elements = false;    // one of them, but by a reduction
    bool reductions = false;  // a reduction, or the place of an element among those that are reduced
    bool scans = false;       // what an iteration before has carried
  };
  Sources sourcesOf(Register value, std::span<const Register> elements) const;

  /// Whether some `previous` leads to its `carry` by more than a sum or product: one scan alone is then no faster than
  /// a branch that is foreseen, or a call of a library.
  bool isSlowScan() const;

  const std::vector<Instruction>& code() const { return code_; }

 private:
  struct Hash {
    size_t operator()(const Instruction& instruction) const;
  };

  Register addSame(Opcode opcode, std::initializer_list<Register> operands);
  Register append(const Instruction& instruction);
  std::optional<bool> constantTruth(Register value) const;
  bool holds(Register value, at::ScalarType dtype) const;

  std::vector<Instruction> code_;
  std::vector<at::ScalarType> holds_;  // per register: the dtype whose tensors can hold what it is
  std::unordered_map<Instruction, Register, Hash> known_;
};

}  // namespace cresset::codegen
