// The table of checks, and what all of them use. See argument_checks.h; tests/fuzz/wild_arguments.py finds the
// operators that need one.
#include "cresset/ops/argument_checks.h"

#include "cresset/ops/argument_checks_impl.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace checks {

Tensor optionalTensor(const IValue& value) {
  return value.isNone() ? Tensor() : value.toTensor();
}

bool isStrided(const Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized();
}

void requireStrided(const char* op, const char* argument, const Tensor& tensor) {
  TORCH_CHECK(tensor.defined(), op, ": ", argument, " is no tensor");
  TORCH_CHECK(isStrided(tensor), op, ": ", argument, " must be a dense tensor, not a ", tensor.toString());
}

void requireSizes(const char* op, const char* argument, const Tensor& tensor, at::IntArrayRef expected) {
  requireStrided(op, argument, tensor);
  TORCH_CHECK(
      tensor.sizes() == expected, op, ": ", argument, " must have the sizes ", expected, ", not ", tensor.sizes());
}

Tensor integers(const char* op, const char* argument, const Tensor& tensor) {
  requireStrided(op, argument, tensor);
  TORCH_CHECK(
      tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt, op, ": ", argument,
      " must be of int64 or int32, not of ", tensor.scalar_type());
  return tensor.to(at::kCPU, at::kLong).contiguous();
}

constexpr ColumnCell<ArgumentCheck> kChecks[] = {
#define OPERATOR(name) {name, nullptr},
#define ARGUMENT_CHECK(...) {{}, __VA_ARGS__},
#include "cresset/ops/table/table.def"
};

}  // namespace checks

ArgumentCheck argumentCheckOf(std::string_view full_name) {
  static const auto* found_by = new auto(byOperator(checks::kChecks));
  const auto found = found_by->find(full_name);
  return found == found_by->end() ? nullptr : found->second;
}

}  // namespace cresset
