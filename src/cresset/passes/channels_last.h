// What optimize_for_inference allows of a program's convolutions, beside the pass "channels-last" that makes use of it.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Allows each convolution of the graph to compute in a layout of its own, which changes bits. Graphs keep that as an
/// attribute of its nodes, so it goes where they go: into copies, and into callers that inline them.
void allowAnyLayout(Block* block);
/// Whether there is a convolution that could be allowed to, and is not.
bool hasConvolutionOfFixedLayout(const Block* block);
/// Whether some convolution in the graph, or in one that it calls, is allowed to.
bool allowsAnyLayout(Graph& graph);

}  // namespace cresset
