// What a group of operators does to the elements at one place, and the loops around it.
#pragma once

#include <span>

#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

struct PointwiseBody {
  std::vector<at::ScalarType> inputs, outputs, numbers;  // dtypes; buffers are numbered inputs first
  std::vector<Instruction> code;                         // without loops
};

/// A loop per dimension. Everything stands in the outermost loop that it can stand in. `steps`: per buffer and
/// dimension.
Kernel makeKernel(const PointwiseBody& body, size_t num_dims, std::span<const std::vector<Step>> steps);

}  // namespace cresset::codegen
