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

/// Empty if dtypes, sizes, strides and bits are the same, or values near enough. NaNs count as equal.
std::string firstDifference(const at::Tensor& found, const at::Tensor& expected, const Tolerance& tolerance);

}  // namespace cresset
