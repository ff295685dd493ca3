// Calls of operators whose kernels have other bits than eager PyTorch's (codegen/operator_kernels.h). With the option
// numerics=default they run those kernels wherever the operator stands alone, so that a program has the same bits
// unoptimized, in plans and in fusion groups.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cresset/codegen/operator_kernels.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

/// An operator, its in-place form, its in-place reuse or its form with `out`. Immutable.
class OperatorCall {
 public:
  /// Null if eager PyTorch has the bits of its kernels for all arguments, of which some may be known. Lives as long as
  /// the process.
  static const OperatorCall* of(const Operator& op, std::span<const std::optional<c10::IValue>> known);
  /// For a call of `op` by the node, or by its functional call: constants among the arguments are known.
  static const OperatorCall* of(const Operator& op, const Node& node);

  /// Whether kernels run at all, on this thread and with the options as they are.
  static bool areWanted();

  /// As op.call: by a kernel if one takes the arguments, else by ATen.
  void call(Stack& stack, size_t num_args) const;

  /// They belong to the caller.
  using Arguments = std::span<const c10::IValue* const>;
  /// For operators that return a new tensor: computes into `result`, which gets the result's sizes, and other memory if
  /// its own is too small. False if no kernel takes the arguments, or the result is of another dtype: nothing has
  /// happened then.
  bool computeInto(Arguments arguments, at::Tensor& result) const;

 private:
  enum class Target : uint8_t {
    New,    // the result is a new tensor
    First,  // it is written to the first argument
    Reuse,  // the same, after that was made the call's own
    Out,    // it is written to the last argument
  };
  struct Prepared;

  OperatorCall(const Operator& op, const codegen::OperatorKernels& kernels, Target target)
      : op_(op),
        kernels_(kernels),
        target_(target),
        with_care_(op.isCalledWithCare()),
        layout_order_(layoutOrder(kernels.op())) {}
  static std::unique_ptr<const OperatorCall> make(const Operator& op);
  size_t numOperands() const { return op_.schema().arguments().size() - (target_ == Target::Out ? 1 : 0); }

  void callAten(Stack& stack, size_t num_args) const;
  bool prepare(Arguments arguments, Prepared& call) const;
  bool takesDtypes(Arguments arguments) const;
  std::optional<at::ScalarType> dtypeOfResult(Arguments arguments) const;
  /// `is_new`: a reuse of a tensor that is not its own, asked before `call` had references to it.
  bool callDirectly(Stack& stack, size_t num_args, Prepared& call, bool is_new) const;

  const Operator& op_;
  const codegen::OperatorKernels& kernels_;
  const Target target_;
  const bool with_care_;
  const std::vector<size_t> layout_order_;
};

/// How often kernels of single operators ran in this process; for tests and reports.
size_t numOperatorKernelCalls();

/// While one lives, the thread's calls run ATen's operators; for checks of kernels against them.
class WithoutOperatorKernels {
 public:
  WithoutOperatorKernels();
  ~WithoutOperatorKernels();
  WithoutOperatorKernels(const WithoutOperatorKernels&) = delete;
  WithoutOperatorKernels& operator=(const WithoutOperatorKernels&) = delete;

 private:
  const bool before_;
};

}  // namespace cresset
