// Types of the tensors that a trace has seen: for people and converters who read its graph, and for nothing that runs
// it, since the next call may have other sizes.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Makes every tensor's type `Tensor`, in blocks and subgraphs too.
void forgetTensorTypes(Graph& graph);
/// Gives the values of `to`, a copy of `from`, the types that they have there.
void copyTypes(const Graph& from, Graph& to);

}  // namespace cresset
