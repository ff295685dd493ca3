// Nodes whose subgraphs run apart from the program around them: beside it, or later.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Whether the node's attribute `Subgraph` is a call that runs apart: prim::fork, prim::awaitable.
inline bool runsApart(const Node& node) {
  return node.kind() == prim::fork || node.kind() == prim::awaitable;
}

}  // namespace cresset
