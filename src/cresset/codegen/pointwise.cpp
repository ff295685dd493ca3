#include "cresset/codegen/pointwise.h"

#include <algorithm>

namespace cresset::codegen {

namespace {

/// In how many loops an instruction stands: those up to the last along which something that it takes changes.
std::vector<size_t> depthsOf(const PointwiseBody& body, size_t num_dims, std::span<const std::vector<Step>> steps) {
  std::vector<size_t> depths(body.code.size(), 0);
  for (size_t i = 0; i < body.code.size(); ++i) {
    const Instruction& instruction = body.code[i];
    size_t& depth = depths[i];
    for (size_t k = 0; k < numOperands(instruction.opcode); ++k)
      depth = std::max(depth, depths[instruction.operands[k]]);
    if (instruction.opcode == Opcode::Store) depth = num_dims;
    if (instruction.opcode != Opcode::Load) continue;
    const std::vector<Step>& own = steps[instruction.immediate];
    for (size_t d = 0; d < num_dims; ++d) {
      if (own[d] != Step::None) depth = d + 1;
    }
  }
  return depths;
}

}  // namespace

Kernel makeKernel(const PointwiseBody& body, size_t num_dims, std::span<const std::vector<Step>> steps) {
  Kernel kernel;
  kernel.num_dims = num_dims;
  kernel.numbers = body.numbers;
  for (size_t i = 0; i < body.inputs.size(); ++i) kernel.inputs.push_back({body.inputs[i], steps[i]});
  for (size_t i = 0; i < body.outputs.size(); ++i)
    kernel.outputs.push_back({body.outputs[i], steps[body.inputs.size() + i]});
  const std::vector<size_t> depths = depthsOf(body, num_dims, steps);
  std::vector<Register> registers(body.code.size());
  for (size_t depth = 0; depth <= num_dims; ++depth) {
    if (depth > 0) kernel.code.push_back({Opcode::For, at::kFloat, {}, depth - 1});
    for (size_t i = 0; i < body.code.size(); ++i) {
      if (depths[i] != depth) continue;
      Instruction instruction = body.code[i];
      for (size_t k = 0; k < numOperands(instruction.opcode); ++k)
        instruction.operands[k] = registers[instruction.operands[k]];
      registers[i] = static_cast<Register>(kernel.code.size());
      kernel.code.push_back(instruction);
    }
  }
  kernel.code.insert(kernel.code.end(), num_dims, {Opcode::End});
  return kernel;
}

}  // namespace cresset::codegen
