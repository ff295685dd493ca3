// What a group of operators does to the elements at one place, and the loops around it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "cresset/codegen/kernel.h"
#include "cresset/codegen/layout.h"

namespace cresset::codegen {

struct KernelBody {
  std::vector<at::ScalarType> inputs, outputs, numbers;  // dtypes; buffers are numbered inputs first
  std::vector<Instruction> code;                         // without loops
  /// What the loop over the dimension that is reduced goes from and to, if that is not all of it.
  std::optional<std::array<Register, 2>> bounds;
};

/// Loops around the body. Everything stands in the outermost loop that it can stand in, and before the first that it
/// can stand before. The dimension that is reduced is gone over once for every reduction that takes what another has
/// computed. What is not reduced is computed anew each time; with `keeps` the kernel has scratch for what takes many
/// instructions.
Kernel makeKernel(const KernelBody& body, const LoopNest& nest, bool keeps);

}  // namespace cresset::codegen
