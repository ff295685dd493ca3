// Sizes of tensors, and ints that programs compute with them, as expressions over what only a call knows.
//
// A Size is a polynomial with integer coefficients. Its variables are dimensions and strides of tensors, ints of
// unknown value, quotients and broadcasts of sizes. It is kept in one form, so that two that are equal by the rules of
// arithmetic compare equal: (n + 1) * 2 and 2 * n + 2. Equal sizes are equal in every run in which the program's ints
// don't overflow (so no access to memory may rest on them alone); of others nothing is known. Sizes with large
// coefficients, and those that take more than kMaxWeight parts to write down, are unknown: whatever a program computes,
// an operation on two sizes costs no more than a fixed time.
//
// Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cresset {

class Size {
 public:
  struct Variable;
  struct Term;

  /// How many terms and variables a size may have, those of quotients and broadcasts in it included.
  static constexpr size_t kMaxWeight = 128;

  /// Unknown.
  Size() = default;
  static Size constant(int64_t value);
  /// The size of a tensor's dimension; `value` is Value::unique().
  static Size ofDimension(size_t value, size_t dim);
  /// How far apart in memory two elements are that are neighbours in the dimension.
  static Size ofStride(size_t value, size_t dim);
  /// An int.
  static Size ofInt(size_t value);

  bool isKnown() const { return is_known_; }
  std::optional<int64_t> asConstant() const;
  /// Whether it is >= 0 in every run.
  bool isNonNegative() const;
  /// As `compare`; two unknown sizes are equal here, which says nothing about a run.
  friend bool operator==(const Size& a, const Size& b) { return compare(a, b) == 0; }
  /// Any total order.
  static int compare(const Size& a, const Size& b);

  // What has an unknown operand is unknown.
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  /// Rounded down, as `//` in Python.
  static Size floorDivide(const Size& a, const Size& b);
  /// a // b where that is a size without remainder, known by cancelling b's factors; unknown otherwise. `b` is not 0.
  static Size divideExactly(const Size& a, const Size& b);
  /// That of two dimensions that are broadcast against each other: they are equal, or one is 1.
  static Size broadcast(const Size& a, const Size& b);

  /// A variable; what it stands for is told by its kind.
  struct Variable {
    enum class Kind : uint8_t { Dimension, Stride, Int, Quotient, Broadcast } kind;
    size_t value = 0, dim = 0;   // Value::unique()
    std::vector<Size> operands;  // of quotients and broadcasts
    size_t weight = 1;           // with its operands
  };
  using VariablePtr = std::shared_ptr<const Variable>;
  /// A product of variables, those with the smallest first, times a number.
  struct Term {
    int64_t coefficient = 0;
    std::vector<VariablePtr> factors;
  };
  /// None if unknown, or 0.
  const std::vector<Term>& terms() const;

  /// Terms and variables, as kMaxWeight counts them.
  size_t weight() const;
  /// Calls `visit` with each dimension, stride and int that it depends on.
  void visitVariables(const std::function<void(const Variable&)>& visit) const;
  /// With names of values by Value::unique(): "2 * x.size(0) + 1", "?".
  std::string toString(const std::function<std::string(size_t)>& nameOf) const;

 private:
  static Size ofTerms(std::vector<Term> terms);
  static Size ofVariable(Variable variable);

  bool is_known_ = false;
  std::shared_ptr<const std::vector<Term>> terms_;  // null if there are none
};

}  // namespace cresset
