// Comparing what kernels compute with what operators do.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>

#include "cresset/codegen/group.h"

namespace cresset {

/// By how much an output may differ from what the operators compute.
struct Tolerance {
  int64_t ulps = 0;
  double absolute = 0;
};

/// Of an operator whose kernel has not ATen's bits, as compared with ATen. `inputs`: its tensors.
Tolerance toleranceOf(const codegen::Group& group, const at::Tensor& output, std::span<const at::Tensor> inputs);

/// Whether `found`, of floats below 64 bits, is nowhere farther from what the operator computes with 64 bits than
/// `expected` is, but for the units in the last place that are allowed. Where a result is a difference of nearly equal
/// numbers, as `1 + erf(x)` in gelu, each of the two may be right and yet far from the other.
bool isAsAccurate(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& reference);

/// Empty if dtypes, sizes, strides and bits are the same, or values near enough. NaNs count as equal.
std::string firstDifference(const at::Tensor& found, const at::Tensor& expected, const Tolerance& tolerance);

}  // namespace cresset
