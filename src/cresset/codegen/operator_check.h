// Which dtypes, and which arguments that are known, eager PyTorch's operators take. Kernels would compute with those
// for which an operator raises, so that it is asked before.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// A tensor of one element, which is not zero.
at::Tensor sampleTensor(size_t rank, at::ScalarType dtype);

/// What the operator says against these arguments, whose tensors are samples; nothing if it takes them. Operators that
/// reduce may raise for the samples' sizes, and are only asked for dtypes: they must take floating ones. Remembered.
std::string objectionTo(const Operator& op, const std::vector<c10::IValue>& arguments);

/// What the operator returns; nothing if it raises. (Where the operators run, it raises again.)
std::optional<c10::IValue> resultOf(const Operator& op, std::vector<c10::IValue> arguments);

}  // namespace cresset::codegen
