// Groups of one operator each, beside the pass that forms larger ones (fuse.cpp).
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Puts each node of a group's subgraph (codegen/group.h) into a subgraph of its own.
void outlineEachOperator(Graph& graph);

}  // namespace cresset
