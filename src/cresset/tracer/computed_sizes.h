// What computed_sizes.cpp and transformed_sizes.cpp share: numbers and tensors among the arguments of operators.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

namespace cresset::tracer {

/// In a tensor of one element.
c10::IValue numberIn(const at::Tensor& tensor);
/// Of an int, a float, or a number in a tensor.
std::optional<double> plainNumber(const c10::IValue& value);
/// Those that are not symbolic.
void collectNumbers(const c10::IValue& value, std::vector<double>& numbers);
void collectTensors(const c10::IValue& value, std::vector<at::Tensor>& tensors);
/// The tensor below the wrappers of functorch's gradients.
at::Tensor unwrapped(at::Tensor tensor);
/// Whether a factor may be a count of elements of such tensors, that less one, or a reciprocal or root of such: what
/// means, variances and attention have. Small numbers are a formula's own unless `counts_elements`.
bool isCountOf(const std::vector<at::Tensor>& tensors, double factor, bool counts_elements);

}  // namespace cresset::tracer
