// Fusion groups: subgraphs that kernels compute (codegen/group.h). The pass that forms them is
// "fuse" (passes.def).
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Puts each node of a group's subgraph (codegen/group.h) into a subgraph of its own.
void outlineEachOperator(Graph& graph);

}  // namespace cresset
