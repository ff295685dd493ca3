// Fusion groups: subgraphs that become kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/codegen/layout.h"
#include "cresset/codegen/pointwise.h"
#include "cresset/ir/graph.h"

namespace cresset::codegen {

/// Why no kernel computes the node; nothing if one does. Types must have been propagated.
std::optional<std::string> whyNotFusible(const Node& node);

/// What a group's nodes do. Values are numbered: tensors among the group's inputs, then the nodes' results.
struct Group {
  struct Step {
    std::vector<size_t> operands;   // tensors
    bool has_number = false;        // one of the operands is a number, a tensor without dimensions to eager PyTorch
    bool makes_contiguous = false;  // whatever the layouts of its operands
  };

  PointwiseBody body;
  std::vector<size_t> tensors;         // of the subgraph's inputs, in the order of the body's
  std::vector<size_t> numbers;         // of the subgraph's inputs
  std::vector<Step> steps;             // one per node that computes a tensor
  std::vector<at::ScalarType> dtypes;  // of values
  std::vector<size_t> outputs;         // values
  bool is_exact = true;                // the kernel has eager PyTorch's bits
};

/// Throws Unsupported (scalar_body.h) if a node is not fusible.
Group makeGroup(const Graph& subgraph);

/// How a kernel computes the group for inputs of given layouts.
struct Schedule {
  std::vector<StridedLayout> outputs;
  LoopNest nest;
  Kernel kernel;
};

/// Nothing if no kernel does: an operator raises, outputs have several sizes, or no elements.
std::optional<Schedule> scheduleGroup(const Group& group, std::span<const StridedLayout> inputs);

}  // namespace cresset::codegen
