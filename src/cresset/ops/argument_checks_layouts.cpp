// Checks of layouts and of what kernels read in another form than it has: quantized tensors, oneDNN's, windows of
// convolutions, encoder layers. See argument_checks_impl.h.
#include <ATen/autocast_mode.h>

#include <vector>

#include "cresset/ops/argument_checks_impl.h"

namespace cresset::checks {

/// (self, …): the kernel computes with the numbers of a quantized tensor, or makes a tensor without its scales.
void checkNotQuantized(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  TORCH_CHECK(!self.defined() || !self.is_quantized(), "a quantized tensor has no such view: dequantize() it first");
}

/// (tensors, dim, out): the kernel takes it that a quantized result has a first part.
void checkPartsOfQuantized(IValue* arguments) {
  const Tensor out = optionalTensor(arguments[2]);
  TORCH_CHECK(
      !out.defined() || !out.is_quantized() || !arguments[0].toListRef().empty(),
      "cat: an empty list can't be joined into a quantized tensor");
}

/// (self, …): oneDNN divides by the sizes of what it transposes.
void checkElementsForOneDnn(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  TORCH_CHECK(!self.defined() || self.numel() > 0, "to_mkldnn: a tensor without elements has no layout of oneDNN's");
}

/// oneDNN's zeros are written as floats, into the memory of any dtype.
static void requireFloatsForOneDnn(at::Layout layout, at::ScalarType dtype) {
  TORCH_CHECK(
      layout != at::kMkldnn || dtype == at::kFloat, "zeros in a layout of oneDNN's must be of float32, not of ", dtype);
}

/// (self), (tensors)
void checkZeroed(IValue* arguments) {
  const auto require = [](const Tensor& tensor) {
    if (tensor.defined()) requireFloatsForOneDnn(tensor.layout(), tensor.scalar_type());
  };
  if (arguments[0].isTensor()) return require(arguments[0].toTensor());
  for (const IValue& tensor : arguments[0].toListRef()) require(optionalTensor(tensor));
}

/// (…, dtype, layout, …), whose defaults are those of the first argument if that is a tensor.
template <size_t dtype>
void checkNewZeros(IValue* arguments) {
  const Tensor like = arguments[0].isTensor() ? arguments[0].toTensor() : Tensor();
  const IValue &given_dtype = arguments[dtype], &given_layout = arguments[dtype + 1];
  const at::Layout layout = !given_layout.isNone() ? given_layout.toLayout()
                            : like.defined()       ? like.layout()
                                                   : at::kStrided;
  const at::ScalarType of = !given_dtype.isNone() ? given_dtype.toScalarType()
                            : like.defined()      ? like.scalar_type()
                                                  : at::get_default_dtype_as_scalartype();
  requireFloatsForOneDnn(layout, of);
}

template void checkNewZeros<1>(IValue*);
template void checkNewZeros<2>(IValue*);

/// (self, …): the kernel reads the memory of a tensor that may have none.
void checkHasMemory(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  TORCH_CHECK(!self.defined() || !self._is_zerotensor(), "median: the tensor has no memory: clone() it first");
}

/// (self, weight, kernel_size, …): the kernel believes the list, not the weight.
void checkWindowOfConvolution(IValue* arguments) {
  const Tensor weight = optionalTensor(arguments[1]);
  const std::vector<int64_t> sizes = arguments[2].toIntVector();
  if (!weight.defined() || weight.dim() != static_cast<int64_t>(sizes.size()) + 2) return;
  TORCH_CHECK(
      weight.sizes().slice(2) == at::IntArrayRef(sizes), "convolution: kernel_size must be that of the weight, ",
      weight.sizes().slice(2), ", not ", at::IntArrayRef(sizes));
}

/// (self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const, quant_min,
/// quant_max, ch_axis, per_row_fake_quant, …): the kernel believes dtypes, and how many rows there are.
void checkMovingAverage(IValue* arguments) {
  constexpr const char* kOp = "fused_moving_avg_obs_fake_quant";
  const Tensor self = optionalTensor(arguments[0]);
  requireStrided(kOp, "the input", self);
  const bool per_row = arguments[11].toBool();
  const int64_t axis = arguments[10].toInt();
  TORCH_CHECK(
      !per_row || (axis >= 0 && axis < self.dim()), kOp, ": there is no dimension ", axis, " in a tensor of ",
      self.dim(), " dimensions");
  bool is_on = false;
  for (size_t i = 1; i <= 2; ++i) {
    const Tensor flag = optionalTensor(arguments[i]);
    requireStrided(kOp, "a flag", flag);
    TORCH_CHECK(flag.numel() >= 1, kOp, ": a flag has no elements");
    is_on |= flag.is_meta() || flag.flatten()[0].item<bool>();
  }
  if (!is_on) return;  // the input comes back as it is
  for (size_t i = 3; i <= 6; ++i) {
    const Tensor state = optionalTensor(arguments[i]);
    requireStrided(kOp, "a tensor of its state", state);
    const auto dtype = i == 6 ? at::kInt : at::kFloat;
    TORCH_CHECK(
        state.scalar_type() == dtype, kOp, ": argument ", i + 1, " must be of ", dtype, ", not of ",
        state.scalar_type());
    // Of rows the first call makes room for the averages.
    const int64_t count = per_row ? self.size(axis) : 1;
    const bool may_be_empty = i == 3 || i == 4;
    TORCH_CHECK(
        state.numel() == count || (may_be_empty && state.numel() == 0), kOp, ": argument ", i + 1, " must have ", count,
        " elements, not ", state.numel());
  }
}

/// Of heads and biases, of which kernels read as many numbers of the input's dtype as there should be. Autocast gives
/// all of them one.
static void checkHeads(const char* op, int64_t heads, const Tensor& input, const Tensor& bias) {
  TORCH_CHECK(heads > 0, op, ": the number of heads must be positive, and is ", heads);
  if (!input.defined() || !bias.defined() || at::autocast::is_autocast_enabled(at::kCPU)) return;
  TORCH_CHECK(
      bias.itemsize() >= input.itemsize(), op, ": the bias must be of the input's dtype, ", input.scalar_type(),
      ", not of ", bias.scalar_type());
}

/// (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, …)
void checkHeadsOfAttention(IValue* arguments) {
  checkHeads("multi_head_attention", arguments[4].toInt(), optionalTensor(arguments[0]), optionalTensor(arguments[6]));
}

/// (src, embed_dim, num_heads, qkv_weight, qkv_bias, …)
void checkHeadsOfEncoder(IValue* arguments) {
  checkHeads(
      "transformer_encoder_layer", arguments[2].toInt(), optionalTensor(arguments[0]), optionalTensor(arguments[4]));
}

}  // namespace cresset::checks
