// Checks of numbers and sizes: linear algebra, views and pooling. See argument_checks_impl.h.
#include "cresset/ops/argument_checks_impl.h"

#include <ATen/Functions.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cresset::checks {

/// (self, …): LAPACK does not end well with numbers that are none.
void checkFinite(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  requireStrided("eigvals", "the matrix", self);
  if (self.is_meta() || !(self.is_floating_point() || self.is_complex())) return;
  TORCH_CHECK(at::isfinite(self).all().item<bool>(), "linalg.eigvals: the input must not contain infs or NaNs");
}

/// (self, n, …): the smallest integer has no opposite, and the kernel looks for it forever.
void checkPower(IValue* arguments) {
  TORCH_CHECK(
      arguments[1].toInt() != std::numeric_limits<int64_t>::min(), "matrix_power: the exponent ", arguments[1].toInt(),
      " is out of range");
}

/// (self, vec, out): the kernel for sparse matrices believes the size of `out`.
void checkProductInto(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (!self.defined() || self.layout() == at::kStrided) return;
  TORCH_CHECK(self.dim() == 2, "mv: the first argument must be a matrix");
  requireSizes("mv", "out", optionalTensor(arguments[2]), {self.size(0)});
}

/// (self, p): the kernel of the gradient takes it that there is a row.
void checkDistances(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  TORCH_CHECK(
      !self.defined() || !self.requires_grad() || self.dim() == 0 || self.size(0) > 0,
      "pdist: there is no gradient for a tensor without rows");
}

/// (grad, self, p, pdist)
void checkDistancesBackward(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[1]);
  TORCH_CHECK(
      !self.defined() || self.dim() == 0 || self.size(0) > 0, "pdist: there is no gradient for a tensor without rows");
}

/// (self, size, stride, storage_offset?, …), or these after the source: what PyTorch adds up to see whether the view is
/// inside of its memory overflows in place; and beside a size of 0, negative ones pass.
template <size_t first>
void checkStrided(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (!self.defined() || !self.has_storage()) return;
  const std::vector<int64_t> sizes = arguments[first].toIntVector(), strides = arguments[first + 1].toIntVector();
  int64_t last = arguments[first + 2].isNone() ? self.storage_offset() : arguments[first + 2].toInt();
  TORCH_CHECK(last >= 0, "as_strided: the storage offset must not be negative, as ", last, " is");
  for (const int64_t size : sizes) TORCH_CHECK(size >= 0, "as_strided: sizes must not be negative, as ", size, " is");
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  bool overflows = false;
  for (size_t i = 0; i < std::min(sizes.size(), strides.size()); ++i) {
    int64_t distance = 0;
    overflows |=
        __builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) || __builtin_add_overflow(last, distance, &last);
  }
  int64_t bytes = 0;
  overflows |= __builtin_add_overflow(last, 1, &last) ||
               __builtin_mul_overflow(last, static_cast<int64_t>(self.itemsize()), &bytes);
  TORCH_CHECK(
      !overflows, "Storage size calculation overflowed with sizes=", at::IntArrayRef(sizes),
      " and strides=", at::IntArrayRef(strides));
}

/// (self, …, numbers): autograd reads a number for each tensor of the list before the kernel compares the lengths.
template <size_t numbers>
void checkCountOfNumbers(IValue* arguments) {
  const size_t given = arguments[numbers].toListRef().size(), tensors = arguments[0].toTensorList().size();
  TORCH_CHECK(
      tensors == 0 || given == tensors, "Tensor list must have same number of elements as scalar list, got ", tensors,
      " and ", given);
}

/// (self, kernel_size, stride, padding, dilation, …): sizes of windows whose sums overflow.
void checkWindows(IValue* arguments) {
  for (size_t i = 1; i <= 4; ++i) {
    for (const int64_t size : arguments[i].toIntVector()) {
      TORCH_CHECK(
          size <= std::numeric_limits<int32_t>::max(), "the size of a window or step, ", size, ", is out of range");
    }
  }
}

/// (self, output_size, …, scales…): kernels divide by a scale, and what results is an index, or the width of a window.
/// Bytes are read there; of other dtypes the multiple wraps to 0. Those for quantized tensors do without the last index
/// that there is.
template <size_t first, size_t count, bool has_window>
void checkScales(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  const std::vector<int64_t> sizes = arguments[1].toIntVector();
  if (!self.defined() || self.dim() != static_cast<int64_t>(count) + 2 || sizes.size() != count) return;
  for (size_t i = 0; i < count; ++i) {
    if (arguments[first + i].isNone()) continue;
    const double scale = arguments[first + i].toDouble();
    if (!(scale > 0)) continue;  // then the sizes decide
    constexpr double kMostElements = has_window ? 1 << 24 : std::numeric_limits<int32_t>::max();
    const bool is_bound = self.is_quantized() && first == 3;
    const double most = is_bound ? static_cast<double>(self.size(static_cast<int64_t>(i) + 2)) : kMostElements;
    // Half an element may be what rounding makes of a size.
    TORCH_CHECK(
        static_cast<double>(sizes[i]) / scale <= most + (is_bound ? 0.5 : 0), "upsample: the scale ", scale,
        " is too small for an output of ", sizes[i], " elements");
  }
}

/// (input, weight, bias, stride, …): the gradient of the input lies, for oneDNN, in memory that it counts wrongly where
/// steps are far longer than the input.
void checkStrideOfConvolution(IValue* arguments) {
  constexpr int64_t kLongest = 1 << 14;
  for (const int64_t step : arguments[3].toIntList()) {
    if (step <= kLongest) continue;
    const Tensor input = optionalTensor(arguments[0]);
    for (const int64_t size : input.sizes()) {
      if (step <= size) return;
    }
    TORCH_CHECK(false, "convolution: the stride ", step, " is far longer than the input");
  }
}

/// (self, noise, lower, upper, training, generator, out): the kernel for training believes the size of `out`.
void checkNoiseInto(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (arguments[4].toBool() && self.defined())
    requireSizes("rrelu_with_noise", "out", optionalTensor(arguments[6]), self.sizes());
}

/// (input, output_size): a negative size passes where the input has no elements, and kernels for quantized tensors
/// believe the length of the list.
template <size_t count>
void checkPooledSize(IValue* arguments) {
  const std::vector<int64_t> sizes = arguments[1].toIntVector();
  TORCH_CHECK(
      sizes.size() == count, "adaptive_avg_pool: output_size must have ", count, " elements, not ", sizes.size());
  for (const int64_t size : sizes)
    TORCH_CHECK(size >= 0, "adaptive_avg_pool: elements of output_size must not be negative, as ", size, " is");
}

/// (input, weight, …): the kernel takes the channels from the weight.
void checkChannelsOfConvolution(IValue* arguments) {
  checkWindowOfConvolution(arguments);
  const Tensor input = optionalTensor(arguments[0]), weight = optionalTensor(arguments[1]);
  requireStrided("thnn_conv2d", "the input", input);
  requireStrided("thnn_conv2d", "the weight", weight);
  TORCH_CHECK(
      (input.dim() == 3 || input.dim() == 4) && (weight.dim() == 2 || weight.dim() == 4),
      "thnn_conv2d: the input must have 3 or 4 dimensions, and the weight 2 or 4");
  TORCH_CHECK(
      weight.dim() == 2 || weight.size(1) == input.size(-3), "thnn_conv2d: the weight is for ", weight.size(1),
      " channels, and the input has ", input.size(-3));
}

/// (start, end, step, dtype, …): the kernel divides by the step as a number of the dtype.
void checkStep(IValue* arguments) {
  if (arguments[3].isNone()) return;
  const auto dtype = static_cast<at::ScalarType>(arguments[3].toInt());
  if (c10::isIntegralType(dtype, /*includeBool=*/true) && arguments[2].isDouble())
    TORCH_CHECK(
        std::abs(arguments[2].toDouble()) >= 1, "range: the step ", arguments[2].toDouble(), " is 0 as an integer");
}

template void checkCountOfNumbers<1>(IValue*);
template void checkCountOfNumbers<2>(IValue*);
template void checkCountOfNumbers<3>(IValue*);
template void checkScales<2, 1, false>(IValue*);
template void checkScales<2, 2, false>(IValue*);
template void checkScales<2, 3, false>(IValue*);
template void checkScales<3, 1, false>(IValue*);
template void checkScales<3, 2, false>(IValue*);
template void checkScales<3, 3, false>(IValue*);
template void checkScales<3, 2, true>(IValue*);
template void checkStrided<1>(IValue*);
template void checkStrided<2>(IValue*);
template void checkPooledSize<1>(IValue*);
template void checkPooledSize<2>(IValue*);
template void checkPooledSize<3>(IValue*);

}  // namespace cresset::checks
