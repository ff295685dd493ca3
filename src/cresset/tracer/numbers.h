// Sizes and what is computed from them, while a trace runs: numbers that know the Value which computes them.
//
// A size never reaches the dispatcher, so whoever asks for one (the Python tracer's interception of `Tensor.shape`, a
// C++ function through Recorder::size) gets a TracedNumber. It travels as the node of a c10::SymInt, which every
// operator with SymInt arguments takes; the tracer's fallback recognises it there by identity and hands the kernel the
// plain number.
//
// A TracedNumber belongs to the trace that made it. In any other context it is the number that it was.
#pragma once

#include <c10/core/SymNodeImpl.h>

#include <memory>
#include <string_view>
#include <variant>

#include "cresset/ir/graph.h"

namespace cresset::tracer {

class Recorder;

/// What autograd computed inside of an operator and kept for the backward pass, which the trace runs but cannot see.
inline constexpr const char* kFrozenSaved =
    "A backward pass in the traced program reads a tensor that autograd saved inside of an operator. The trace does "
    "not "
    "know how it was computed, so it is a constant of the trace, which might not generalize to other inputs!";

/// What torch.jit says where a number becomes a constant of the trace.
inline constexpr const char* kFrozenNumber =
    "Converting a tensor to a Python number might cause the trace to be incorrect. We can't record the data flow of "
    "Python "
    "values, so this value will be treated as a constant in the future. This means that the trace might not generalize "
    "to "
    "other inputs!";

using Number = std::variant<int64_t, double, bool>;

class TracedNumber final : public c10::SymNodeImpl {
 public:
  /// `value` is null for a constant that must not be taken for a plain int (bounds of slices: PyTorch leaves a slice
  /// out that covers the whole dimension at the traced size).
  TracedNumber(Number number, Value* value, uint64_t trace) : number_(number), value_(value), trace_(trace) {}

  const Number& number() const { return number_; }
  /// The value in the graph of the trace with this serial number; null if it is of another trace, or a constant.
  Value* valueIn(uint64_t trace) const { return trace == trace_ ? value_ : nullptr; }

  bool is_int() override { return std::holds_alternative<int64_t>(number_); }
  bool is_float() override { return std::holds_alternative<double>(number_); }
  bool is_bool() override { return std::holds_alternative<bool>(number_); }
  c10::SymNode add(const c10::SymNode& other) override;
  c10::SymNode sub(const c10::SymNode& other) override;
  c10::SymNode mul(const c10::SymNode& other) override;
  c10::SymNode floordiv(const c10::SymNode& other) override;
  c10::SymNode mod(const c10::SymNode& other) override;
  c10::SymNode sym_min(const c10::SymNode& other) override;
  c10::SymNode sym_max(const c10::SymNode& other) override;
  c10::SymNode neg() override;
  c10::SymNode eq(const c10::SymNode& other) override;
  c10::SymNode ne(const c10::SymNode& other) override;
  c10::SymNode gt(const c10::SymNode& other) override;
  c10::SymNode lt(const c10::SymNode& other) override;
  c10::SymNode le(const c10::SymNode& other) override;
  c10::SymNode ge(const c10::SymNode& other) override;
  c10::SymNode sym_or(const c10::SymNode& other) override;
  c10::SymNode sym_and(const c10::SymNode& other) override;
  c10::SymNode sym_not() override;
  c10::SymNode sym_ite(const c10::SymNode& then, const c10::SymNode& other) override;
  c10::SymNode clone() override;
  c10::SymNode sym_float() override;
  c10::SymNode wrap_int(int64_t number) override;
  c10::SymNode wrap_float(double number) override;
  c10::SymNode wrap_bool(bool number) override;
  int64_t guard_int(const char* file, int64_t line) override;
  double guard_float(const char* file, int64_t line) override;
  bool guard_bool(const char* file, int64_t line) override;
  /// What PyTorch asks before it takes a shortcut that holds for the traced size only: never.
  bool guard_or_false(const char* file, int64_t line) override { return false; }
  bool statically_known_true(const char* file, int64_t line) override { return false; }
  int64_t int_() override { return guard_int("", 0); }
  bool bool_() override { return guard_bool("", 0); }
  bool has_hint() override { return true; }
  std::string str() override;

 private:
  Number number_;
  Value* value_;
  uint64_t trace_;
};

using TracedNumberPtr = c10::intrusive_ptr<TracedNumber>;

/// The TracedNumber that a SymNode stands for; null if it is of another kind.
TracedNumber* asTraced(const c10::SymNode& node);

/// The number that a SymNode stands for. Unlike its guards, this does not warn.
Number numberOf(const c10::SymNode& node);

/// `kind` (aten::mul, …) on numbers: `number` is its result. Records a node if an operand belongs to the trace that
/// runs on this thread and the operator table has the operator; returns a constant otherwise.
c10::SymNode recordArithmetic(Symbol kind, std::initializer_list<c10::SymNode> operands, Number number);
c10::SymNode recordArithmetic(Symbol kind, std::span<const c10::SymNode> operands, Number number);

}  // namespace cresset::tracer
