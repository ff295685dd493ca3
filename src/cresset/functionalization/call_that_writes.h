// A call of an operator that writes to wrappers: by the pure operator that computes the same, or on copies.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cresset/functionalization/call_with_wrappers.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ops/operator_forms.h"

namespace cresset::live {

/// The kernel of wrappers (wrapper_calls.cpp).
void runCall(const c10::OperatorHandle& op, std::vector<IValue>& stack);

class CallThatWrites : protected CallWithWrappers {
 public:
  using CallWithWrappers::CallWithWrappers;

 protected:
  void write(const FunctionalForm& writes);

 private:
  /// Whether a call for each element can take the place of one for lists: all that is written are wrappers, and each
  /// list has an element for each.
  bool canWriteElements(const FunctionalForm& writes) const;
  /// By a call for each element, so that those after it see what it writes.
  void writeElements(const FunctionalForm& writes);
  /// Whether several elements of what is written are, or may be, one in memory.
  bool writesPlaceTwice(const FunctionalForm& writes) const;
  using Tensors = std::vector<at::Tensor>;
  using OperandsTest = std::function<bool(const Tensors& written, const Tensors& read, bool by_element)>;
  /// Whether the test holds of the tensors of an argument that is written and those of one that is not and has
  /// wrappers. `by_element`: both are lists.
  bool anyOperands(const FunctionalForm& writes, const OperandsTest& test) const;
  /// Whether the kernel may read elements that it has written: tells if any argument but the written ones is of memory
  /// that is written. Operators whose overlaps hasOverlaps knows read each element before they write it.
  bool readsWhatItWrites(const FunctionalForm& writes, Overlap rule) const;
  /// Whether what the operator reads for a tensor that it writes overlaps that as its kernel does not allow. Where it
  /// writes lists, that is of other lists what has the same place.
  bool hasOverlaps(const FunctionalForm& writes, Overlap rule) const;
  /// Whether the targets have the dtypes and sizes of the results, as far as can be known without drawing.
  bool fitsUndrawn(const FunctionalForm& writes, std::vector<IValue> stack) const;
  /// Raises the versions that no kernel above raises: of what is composed of operators that do (those of lists, and
  /// those with `out=` that are called whole), and of users' operators. Fused optimizers, as they write past operators,
  /// raise none.
  void countWrites(const FunctionalForm& writes) const;
  /// Whether a tensor that it writes is not contiguous.
  bool writesOutOfOrder(const FunctionalForm& writes) const;
  /// Random numbers go to elements in the order of memory, and not always by the same code: a pure form would draw
  /// others for a tensor that is not contiguous.
  bool drawsByLayout(const FunctionalForm& writes) const;
  /// Kernels of products multiply into another layout by other code, with other last bits. Where something sees the
  /// call, it sees the pure operator even so.
  bool multipliesByLayout(const FunctionalForm& writes) const;
  [[noreturn]] void throwWrongResult() const;
  [[noreturn]] void refuseViews() const;
  /// A pointwise operator does not resize what it writes and reads.
  void requireSizesOfOperand(const Operator& functional, const at::Tensor& target, const at::Tensor& result) const;
  /// Whether an out= operator gives the target the sizes of the result, and the strides: those of a tensor that is made
  /// larger are dense.
  bool isResizedTo(const at::Tensor& target, const at::Tensor& result) const;
  /// An out= operator gives a tensor that has other sizes those of its result, if nothing else is of its memory.
  void replaceBy(const at::Tensor& target, const at::Tensor& value, bool is_out) const;
  /// By the operator itself, on views of copies of all that their memories have: elements that are one in memory, or
  /// are read and written, become what eager PyTorch makes of them, in its order, or its error is raised. Returns its
  /// results that are new.
  std::vector<IValue> writeMemories(const FunctionalForm& writes);
  /// By the functional form; false if that does not return what the operator would have written.
  bool writePure(const FunctionalForm& writes, std::vector<IValue>& fresh);
  void set(const at::Tensor& target, at::Tensor value, const std::vector<IValue>& given) const;
  /// By the operator itself, on copies of what it writes. Returns its results that are new.
  std::vector<IValue> writeCopies(const FunctionalForm& writes);
};

}  // namespace cresset::live
