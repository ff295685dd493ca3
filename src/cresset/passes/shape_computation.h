// Sizes of tensors as a graph of ints, for compilers that compute them before a program runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct ShapeComputation {
  /// Takes the sizes of each tensor that comes in, as a list of ints, and returns one size per symbol.
  std::shared_ptr<Graph> graph;
  /// As they stand in the types of the program's tensors.
  std::vector<int64_t> symbols;
};

/// "propagate-shapes", and how to compute what stands as a symbol then. Sizes that depend on more than the sizes of
/// tensors that come in are left out.
ShapeComputation computeShapes(Graph& graph);

}  // namespace cresset
