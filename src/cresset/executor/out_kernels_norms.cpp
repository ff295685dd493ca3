// Functions of the column OUT: normalizations by layer and by group, and convolutions (out_kernel_functions.h).
//
// PyTorch exports no function that normalizes into a tensor, but the tables through which it finds the kernel for the
// processor. Their type depends on the instruction sets that PyTorch was built for: another one does not link.
#if defined(__x86_64__)
#define HAVE_AVX2_CPU_DEFINITION
#define HAVE_AVX512_CPU_DEFINITION
#endif
#include <ATen/native/DispatchStub.h>

#include <ATen/EmptyTensor.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/native/group_norm.h>
#include <ATen/ops/_slow_conv2d_forward_cpu_dispatch.h>

#include <algorithm>

#include "cresset/executor/out_kernel_functions.h"

namespace at::native {

// As in ATen/native/layer_norm.h, which can't be included beside group_norm.h.
using layer_norm_fn =
    void (*)(const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, double, Tensor*, Tensor*, Tensor*);
DECLARE_DISPATCH(layer_norm_fn, LayerNormKernel)

}  // namespace at::native

namespace cresset::out {

namespace {

bool isRealFloat(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

/// Whether it is undefined, or contiguous, of these sizes and of the dtype of `like`.
bool isParameter(const at::Tensor& parameter, c10::IntArrayRef sizes, const at::Tensor& like) {
  return !parameter.defined() ||
         (parameter.sizes() == sizes && parameter.is_contiguous() && parameter.scalar_type() == like.scalar_type());
}

bool isContiguousByDefault(const at::Tensor& tensor) {
  return tensor.is_contiguous() && tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
}

}  // namespace

/// Also of aten::native_layer_norm, whose other results are means and reciprocal deviations, of sizes that end with
/// ones.
bool layer_norm(const OutArguments& arguments) {
  const at::Tensor& input = tensor(arguments, 0);
  const c10::DimVector normalized = intsOf(arguments.input(1));
  const at::Tensor weight = optionalTensor(arguments, 2), bias = optionalTensor(arguments, 3);
  const auto num_normalized = static_cast<int64_t>(normalized.size());
  if (!isRealFloat(input) || !input.is_contiguous() || input.numel() == 0 || num_normalized == 0 ||
      input.dim() < num_normalized)
    return false;
  const int64_t axis = input.dim() - num_normalized;
  const c10::IntArrayRef sizes = input.sizes();
  if (sizes.slice(static_cast<size_t>(axis)) != c10::IntArrayRef(normalized) ||
      !isParameter(weight, normalized, input) || !isParameter(bias, normalized, input))
    return false;
  const int64_t size = c10::multiply_integers(normalized);
  c10::DimVector of_rows(sizes.begin(), sizes.begin() + axis);
  of_rows.resize(sizes.size(), 1);
  at::Tensor* others[2] = {};  // that something uses
  for (size_t i = 1; i < arguments.numOutputs(); ++i) {
    if (!arguments.rawOutput(i).defined()) continue;
    at::Tensor& made = arguments.output(i);
    if (made.scalar_type() != input.scalar_type()) return false;
    others[i - 1] = &made;
  }
  for (at::Tensor* each : others) {
    if (each) each->resize_(of_rows);
  }
  at::Tensor none;
  at::Tensor* result = arguments.rawOutput(0).defined() ? &arguments.output(0, sizes) : nullptr;
  if (!result) {
    none = at::detail::empty_cpu(sizes, input.scalar_type(), false);
    result = &none;
  } else if (result->sizes() != sizes) {
    result->resize_(sizes);
  }
  at::native::LayerNormKernel(
      c10::kCPU, input, weight, bias, input.numel() / size, size, arguments.input(4).toDouble(), result, others[0],
      others[1]);
  return true;
}

namespace {

/// Of `count` images with `channels` channels of so many pixels each.
bool normalizeGroups(
    const OutArguments& arguments, const at::Tensor& weight, const at::Tensor& bias, int64_t count, int64_t channels,
    int64_t pixels, int64_t num_groups, double eps) {
  const at::Tensor& input = tensor(arguments, 0);
  if (!isRealFloat(input) || !isContiguousByDefault(input) || input.numel() == 0 || input.dim() < 2 ||
      input.size(0) != count || input.size(1) != channels || input.numel() != count * channels * pixels ||
      num_groups <= 0 || channels % num_groups != 0 || !isParameter(weight, {channels}, input) ||
      !isParameter(bias, {channels}, input))
    return false;
  for (size_t i = 0; i < arguments.numOutputs(); ++i) {
    if (arguments.rawOutput(i).defined() && arguments.rawOutput(i).scalar_type() != input.scalar_type()) return false;
  }
  at::Tensor made[3];
  for (size_t i = 0; i < 3; ++i) {
    const c10::DimVector of_groups = {count, num_groups};
    const c10::IntArrayRef sizes = i == 0 ? input.sizes() : c10::IntArrayRef(of_groups);
    if (i >= arguments.numOutputs() || !arguments.rawOutput(i).defined()) {
      made[i] = at::detail::empty_cpu(sizes, input.scalar_type(), false);
    } else {
      made[i] = arguments.output(i, sizes);
      if (made[i].sizes() != sizes) made[i].resize_(sizes);
    }
  }
  at::native::GroupNormKernel(
      c10::kCPU, input, weight, bias, count, channels, pixels, num_groups, eps, made[0], made[1], made[2]);
  return true;
}

}  // namespace

bool group_norm(const OutArguments& arguments) {
  const at::Tensor& input = tensor(arguments, 0);
  if (input.dim() < 2) return false;
  const int64_t pixels = c10::multiply_integers(input.sizes().slice(2));
  return normalizeGroups(
      arguments, optionalTensor(arguments, 2), optionalTensor(arguments, 3), input.size(0), input.size(1), pixels,
      arguments.input(1).toInt(), arguments.input(4).toDouble());
}

bool native_group_norm(const OutArguments& arguments) {
  return normalizeGroups(
      arguments, optionalTensor(arguments, 1), optionalTensor(arguments, 2), arguments.input(3).toInt(),
      arguments.input(4).toInt(), arguments.input(5).toInt(), arguments.input(6).toInt(),
      arguments.input(7).toDouble());
}

/// Those that PyTorch computes as a product of matrices: of doubles, mostly. Others are oneDNN's, which PyTorch calls
/// for new tensors only.
bool conv2d(const OutArguments& arguments) {
  const at::Tensor &input = tensor(arguments, 0), &weight = tensor(arguments, 1);
  const at::Tensor bias = optionalTensor(arguments, 2);
  const c10::DimVector stride = intsOf(arguments.input(3)), padding = intsOf(arguments.input(4)),
                       dilation = intsOf(arguments.input(5));
  const bool is_usual = isRealFloat(input) && input.dim() == 4 && weight.dim() == 4 && isContiguousByDefault(input) &&
                        isContiguousByDefault(weight) && weight.scalar_type() == input.scalar_type() &&
                        input.numel() > 0 && weight.numel() > 0 && arguments.input(6).toInt() == 1 &&
                        input.size(1) == weight.size(1) && isParameter(bias, {weight.size(0)}, input) &&
                        stride.size() == 2 && padding.size() == 2 && dilation.size() == 2;
  if (!is_usual) return false;
  for (size_t d = 0; d < 2; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    int64_t padded = 0;
    if (stride[d] <= 0 || padding[d] < 0 || dilation[d] != 1 || __builtin_mul_overflow(padding[d], 2, &padded) ||
        __builtin_add_overflow(padded, input.size(dim), &padded) || padded < weight.size(dim))
      return false;
  }
  const std::vector<c10::SymInt> strides(stride.begin(), stride.end()), paddings(padding.begin(), padding.end()),
      ones(2, 1), zeros(2, 0);
  const auto backend = at::native::select_conv_backend(
      input, weight, bias.defined() ? std::optional(bias) : std::nullopt, strides, paddings, ones,
      /*transposed=*/false, zeros, /*groups=*/1, std::nullopt);
  if (backend != at::native::ConvBackend::Slow2d) return false;
  at::cpu::_slow_conv2d_forward_out(
      arguments.output(0), input, weight, weight.sizes().slice(2), bias.defined() ? std::optional(bias) : std::nullopt,
      stride, padding);
  return true;
}

}  // namespace cresset::out
