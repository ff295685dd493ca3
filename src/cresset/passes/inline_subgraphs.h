// Subgraphs that are there before they can be compiled: what takes graphs apart sees the operators in them.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Puts the nodes of subgraphs in the place of the nodes that run them, in the block and in all that runs as a part of
/// it, however large they are. Whether there were any.
bool inlineSubgraphs(Block& block);

/// Puts the nodes of the subgraph in the place of the node that runs it. The first of them, or the node that follows.
Node* inlineSubgraph(Node* node);

}  // namespace cresset
