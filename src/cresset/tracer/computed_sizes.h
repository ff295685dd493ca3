// What computed_sizes.cpp and transformed_sizes.cpp share: numbers and tensors among the arguments of operators.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset::tracer {

/// What the sizes and numbers that an operator takes are to a trace: a column of the table.
enum class TracedSizes {
  None,
  Reshapes,         // the shape that the elements of the first argument are brought to
  Expands,          // the shape that it is expanded to
  CountsParts,      // the number of parts that it is cut into
  CountsEvenParts,  // the same, of parts as long as each other, but the last
  SizeParts,        // the size of the parts
  Scales,           // a factor
};
TracedSizes tracedSizes(Symbol kind);

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
