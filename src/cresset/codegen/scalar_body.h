// Scalar bodies: what an operator does to elements, in the expression language of the table (ops/expression.h), column
// SCALAR.
//
// An operator computes in one dtype, that of its result, or what the column COMPUTES_IN says. Names are the arguments
// of its schema: tensors are elements, converted to that dtype; numbers too. Half precision is computed with in
// float32, and what the body returns is rounded to the result's dtype. What is known when the kernel is made
// (constants, None, texts) decides an `if`; of others both sides are computed. Functions are those of
// scalar_evaluation.cpp and of the table functions.def. `exactly(x)` is a number that is not rounded to half precision;
// `rounded(x)` is rounded to what a tensor of the dtype can hold; `muladd(a, b, c)` rounds once, of half precision
// twice; `own(x)` marks what has other bits than eager PyTorch's, or where eager's bits depend on where an element
// stands; `ownhalf(x)` does so for half precision, where eager rounds between a body's operations for one dtype and not
// for the other. `raises()` is where eager PyTorch raises for a number: no kernel computes it, nor where the number is
// known too late. `require(condition, x)` is x where the condition holds, and where it does not eager raises for an
// element. For which dtypes eager raises is asked of eager (operator_check.h).
//
// Operators that reduce (column REDUCES: along which dimensions, and whether the result keeps them) call sum(x),
// prod(x), max(x), min(x), and `count`, the number of elements that are reduced to one, and `place`, which of them it
// is; index(x, n) is which of them an argument says, or -1 if it is the number n. `previous(x, n)` is what was carried
// for the element before, in x's type, n for the first; `carry(previous, x)` is x and carries it to the next; `wide(x)`
// is x in the type that eager PyTorch accumulates in: float64 for float32. What is computed of reduced values
// only is the result of a reduction; what takes elements too (softmax) has the sizes of its arguments. Products of
// matrices (column CONTRACTS: which dimensions go together) call dot(x, y).
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <variant>
#include <vector>

#include "cresset/analysis/fact.h"
#include "cresset/codegen/kernel_builder.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// Along which dimensions, in ascending order, and whether the result has them, with size 1.
struct Reduction {
  std::vector<size_t> dims;
  bool keeps_dims = false;
};

/// A product of tensors: which dimensions of its operands go together, a letter each. A star stands for any number of
/// leading dimensions. Those that are not in the result are summed over. Operands without letters are broadcast to the
/// result.
/// Of a convolution `x+u` is one dimension of the input, which its windows have two in the place of: those of its
/// letters are in the order of codegen/windows.h.
struct Contraction {
  std::vector<std::pair<std::string, std::string>> operands;  // by the names of arguments
  std::string result;
  std::string windowed;        // an operand; "" if there is none
  size_t num_window_dims = 0;  // of it
  bool is_for_groups = false;  // there is one per channel, `g`

  bool sums(char letter) const { return result.find(letter) == std::string::npos && !(letter >= '0' && letter <= '9'); }
  /// What is summed over, in order.
  std::string summed() const;
  /// Of an operand; "" if it has none.
  std::string_view lettersOf(std::string_view operand) const;
};

/// Which dimensions an operand has of those of a row's first one, a letter each; a star stands for all that follow.
struct Broadcast {
  std::string operand, letters;
};

/// Of a call: an element, a number that the caller passes, or what is known.
struct ScalarArgument {
  enum class Kind : uint8_t { Element, Number, Known } kind = Kind::Known;
  Register value = 0;                 // Element, Number
  at::ScalarType dtype = at::kFloat;  // of the tensor
  c10::IValue known;
  bool is_other = false;  // Number: than those that the body compares it with
};

class ScalarBody {
 public:
  struct Built {
    Register value;
    bool is_exact;    // has eager PyTorch's bits
    bool is_reduced;  // there is one per reduction, not one per element
    bool reduces;     // it takes what a reduction computes, or a scan
    bool scans;
  };

  /// Null if the operator's row has none.
  static const ScalarBody* of(const Operator& op);

  /// The dtype in which a call computes; nothing if it is not known, or none that kernels have.
  std::optional<at::ScalarType> computesIn(
      const Operator& op, std::span<const Fact> arguments, at::ScalarType result) const;

  /// For operands of different ranks; empty if it is no product.
  std::span<const Contraction> contractions() const;

  /// Whether operands are broadcast otherwise than by their last dimensions.
  bool broadcasts() const;
  /// Whether it is the one that the others are broadcast to then.
  bool isWhole(std::string_view operand) const;
  /// Which of the dimensions of the whole the operand's are (column BROADCASTS), in order; none if they are the last.
  /// Nothing if it has another rank.
  std::optional<std::vector<size_t>> dimensionsOf(std::string_view operand, size_t rank, size_t whole_rank) const;

  /// The dimensions along which a call with these arguments reduces tensors of this rank, in order, and whether its
  /// results keep them. Throws Unsupported for dimensions that are not known.
  Reduction reduction(const Operator& op, std::span<const ScalarArgument> arguments, size_t rank) const;

  /// Appends what the operator does, and returns a value per result. Throws Unsupported for arguments that it has no
  /// body for.
  std::vector<Built> build(
      KernelBuilder& builder, const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in,
      std::span<const at::ScalarType> results) const;

 private:
  struct Impl;
  explicit ScalarBody(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// A call that no kernel is made for; says why.
struct Unsupported {
  std::string reason;
};

}  // namespace cresset::codegen
