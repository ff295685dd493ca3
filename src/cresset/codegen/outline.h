// Moving nodes of a graph into a subgraph.
#pragma once

#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ir/subgraph.h"

namespace cresset::codegen {

/// Moves the nodes, which are in the order of the graph, into a subgraph in place of the last, and copies of `views`,
/// which make what they take. Lists of indices go with what reads by them. Constants, and lists of constants, are
/// constants of the subgraph.
void outline(Graph& graph, SubgraphKind kind, const std::vector<Node*>& nodes, const std::vector<Node*>& views);

/// Those that nothing uses, and then those that only they used.
void destroyUnused(std::vector<Node*> nodes);

}  // namespace cresset::codegen
