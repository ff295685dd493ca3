// Kernels of single operators whose scalar body has other bits than eager PyTorch's. They are built ahead of time, so
// that with the option numerics=default such an operator has the same bits wherever it runs, fused or not.
//
// A kernel is for one floating dtype, that of all tensors (mixed ones are cast first), and for one form of call: which
// arguments are tensors, which are numbers that the caller passes, and which are known: None, a bool, a text or a
// number that the body asks for. It is a loop over one dimension.
#pragma once

#include <c10/util/SmallVector.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cresset/codegen/kernel.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// Immutable but for what `find` remembers; may be used from any thread.
class OperatorKernels {
 public:
  /// Null if eager PyTorch computes the same as each kernel of the operator, or it has none. Lives as long as the
  /// process.
  static const OperatorKernels* of(const Operator& op);

  explicit OperatorKernels(const Operator& op);
  ~OperatorKernels();
  OperatorKernels(const OperatorKernels&) = delete;
  OperatorKernels& operator=(const OperatorKernels&) = delete;

  static constexpr std::array<at::ScalarType, 4> kDtypes = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

  /// What an argument can be.
  struct Choice {
    ScalarArgument::Kind kind;
    c10::IValue known;
  };
  const Operator& op() const { return op_; }
  size_t numForms() const { return num_forms_; }
  /// Per argument.
  using Form = c10::SmallVector<const Choice*, 6>;
  Form form(size_t form) const;
  /// Of a call; nothing if it has none: an argument that no kernel takes.
  std::optional<size_t> formOf(std::span<const c10::IValue* const> arguments) const;

  /// Whether there are kernels with other bits than eager PyTorch's for the form.
  bool hasOwnBits(size_t form, at::ScalarType dtype) const;
  /// For calls with these arguments, of any dtypes; nothing is known of those without a value.
  bool hasOwnBits(std::span<const std::optional<c10::IValue>> known) const;

  /// One for buffers whose elements follow each other, or for any strides.
  Kernel kernel(size_t form, at::ScalarType dtype, Step step) const;

  /// Their machine code; null if the form has eager PyTorch's bits, or there is none.
  struct Functions {
    KernelFunction next = nullptr, any = nullptr;
  };
  const Functions* find(size_t form, at::ScalarType dtype) const;

 private:
  struct Found;

  ScalarBody::Built build(KernelBuilder& builder, size_t form, at::ScalarType dtype) const;
  size_t indexOf(size_t form, at::ScalarType dtype) const;

  const Operator& op_;
  std::vector<std::vector<Choice>> choices_;  // per argument
  size_t num_forms_ = 1;
  std::vector<uint8_t> own_;                            // per form and dtype
  std::unique_ptr<std::atomic<const Found*>[]> found_;  // the same
};

}  // namespace cresset::codegen
