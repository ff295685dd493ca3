// Which dtypes eager PyTorch's operators take. Kernels compute with dtypes for which an operator raises, so that groups
// are asked before.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// A tensor of one element, which is not zero.
at::Tensor sampleTensor(size_t rank, at::ScalarType dtype);

/// What the operator says against the dtypes of these arguments, whose tensors are samples; nothing if it takes
/// them, or takes the arguments in no floating dtype either. Remembered.
std::string objectionToDtypes(const Operator& op, const std::vector<c10::IValue>& arguments);

}  // namespace cresset::codegen
