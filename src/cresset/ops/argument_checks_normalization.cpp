// Checks of normalizations, softmax and attention. See argument_checks_impl.h.
#include "cresset/ops/argument_checks_impl.h"

#include <utility>

namespace cresset::checks {

namespace {

/// input, then weight, bias and what it runs on, each None or one number for each channel.
void checkChannels(const char* op, const Tensor& input, const std::pair<const char*, Tensor> (&stats)[4]) {
  requireStrided(op, "the input", input);
  TORCH_CHECK(input.dim() >= 2, op, ": the input must have at least 2 dimensions, not ", input.dim());
  TORCH_CHECK(input.is_floating_point(), op, ": the input must be of floats, not of ", input.scalar_type());
  for (const auto& [name, tensor] : stats) {
    if (tensor.defined()) requireSizes(op, name, tensor, {input.size(1)});
  }
}

/// (input, weight?, bias?, running_mean?, running_var?, …)
void checkRunningStats(IValue* arguments) {
  checkChannels(
      "batch norm", optionalTensor(arguments[0]),
      {{"the weight", optionalTensor(arguments[1])},
       {"the bias", optionalTensor(arguments[2])},
       {"running_mean", optionalTensor(arguments[3])},
       {"running_var", optionalTensor(arguments[4])}});
}

}  // namespace

/// (input, weight?, bias?, running_mean?, running_var?, training, …)
void checkBatchNorm(IValue* arguments) {
  const Tensor mean = optionalTensor(arguments[3]), variance = optionalTensor(arguments[4]);
  checkRunningStats(arguments);
  TORCH_CHECK(mean.defined() == variance.defined(), "batch norm: running_mean and running_var go together");
  TORCH_CHECK(
      arguments[5].toBool() || mean.defined(), "batch norm: running_mean and running_var must be given in evaluation");
}

/// (input, weight?, bias?, training, …)
void checkBatchNormWithoutStats(IValue* arguments) {
  checkChannels(
      "batch norm", optionalTensor(arguments[0]),
      {{"the weight", optionalTensor(arguments[1])}, {"the bias", optionalTensor(arguments[2])}, {"", {}}, {"", {}}});
  TORCH_CHECK(arguments[3].toBool(), "batch norm: there are no running statistics to evaluate with");
}

/// (input, weight?, bias?, running_mean, running_var, momentum, eps, …)
void checkBatchNormWithUpdate(IValue* arguments) {
  const Tensor mean = optionalTensor(arguments[3]), variance = optionalTensor(arguments[4]);
  TORCH_CHECK(
      mean.defined() && variance.defined(), "batch norm: running_mean and running_var must be given to be updated");
  checkRunningStats(arguments);
}

/// (grad_out, input, weight?, running_mean?, running_var?, save_mean?, save_invstd?, train, …): the kernel divides by
/// the number of elements of a channel.
void checkBatchNormBackward(IValue* arguments) {
  const char* op = "the gradient of batch norm";
  const Tensor input = optionalTensor(arguments[1]);
  const bool train = arguments[7].toBool();
  const Tensor mean = optionalTensor(arguments[train ? 5 : 3]), variance = optionalTensor(arguments[train ? 6 : 4]);
  checkChannels(
      op, input,
      {{"the weight", optionalTensor(arguments[2])},
       {train ? "save_mean" : "running_mean", mean},
       {train ? "save_invstd" : "running_var", variance},
       {"", {}}});
  requireSizes(op, "grad_out", optionalTensor(arguments[0]), input.sizes());
  TORCH_CHECK(mean.defined() && variance.defined(), op, ": the mean and the deviation must be given");
  TORCH_CHECK(input.numel() > 0, op, ": the input must not be empty");
}

/// (v, g, dim): the kernel for the first and last dimension takes a number of `g` for each slice of `v`.
void checkWeightNorm(IValue* arguments) {
  const Tensor v = optionalTensor(arguments[0]), g = optionalTensor(arguments[1]);
  requireStrided("_weight_norm", "v", v);
  requireStrided("_weight_norm", "g", g);
  TORCH_CHECK(v.scalar_type() == g.scalar_type(), "_weight_norm: v and g must be of one dtype");
  TORCH_CHECK(v.dim() > 0, "_weight_norm: v must have a dimension");
  const int64_t dim = arguments[2].toInt();
  TORCH_CHECK(dim >= -1 && dim < v.dim(), "_weight_norm: v has no dimension ", dim);
  const int64_t count = dim == -1 ? 1 : v.size(dim);
  TORCH_CHECK(
      g.numel() == count, "_weight_norm: g must have ", count, " elements, one for each slice of v, not ", g.numel());
}

/// (grad_output, output, …): the kernel takes the sizes from one of them.
void checkSoftmaxBackward(IValue* arguments) {
  const Tensor output = optionalTensor(arguments[1]);
  if (isStrided(output))
    requireSizes("the gradient of softmax", "grad_output", optionalTensor(arguments[0]), output.sizes());
}

void requireHeads(const Tensor& key, const Tensor& value) {
  for (const Tensor& tensor : {key, value}) {
    if (isStrided(tensor) && tensor.dim() >= 3)
      TORCH_CHECK(tensor.size(-3) > 0, "scaled_dot_product_attention: there are no heads to repeat for enable_gqa");
  }
}

namespace {

/// The fused kernel takes the number of values from the keys.
void requireOneLength(const Tensor& key, const Tensor& value) {
  if (!isStrided(key) || !isStrided(value) || key.dim() < 2 || value.dim() < 2) return;
  TORCH_CHECK(
      key.size(-2) == value.size(-2), "scaled_dot_product_attention: ", key.size(-2), " keys, but ", value.size(-2),
      " values");
}

}  // namespace

/// (query, key, value, attn_mask?, dropout_p, is_causal, scale?, enable_gqa)
void checkAttention(IValue* arguments) {
  requireOneLength(optionalTensor(arguments[1]), optionalTensor(arguments[2]));
  if (arguments[7].toBool()) requireHeads(optionalTensor(arguments[1]), optionalTensor(arguments[2]));
}

/// (input, weight?, bias?, …)
void checkGroupNorm(IValue* arguments) {
  requireStrided("group norm", "the input", optionalTensor(arguments[0]));
  for (const size_t i : {1, 2}) {
    const Tensor tensor = optionalTensor(arguments[i]);
    if (tensor.defined()) requireStrided("group norm", i == 1 ? "the weight" : "the bias", tensor);
  }
}

}  // namespace cresset::checks
