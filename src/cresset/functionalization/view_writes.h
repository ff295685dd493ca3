// Operators that make a tensor a view of itself, such as `aten::t_`: the tensor stays the same object and gets other
// sizes and strides.
#pragma once

#include "cresset/functionalization/places.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Replaces them by their views where all that the tensor is called is known: `a.t_()` becomes a new value `t(a)`,
/// which is read instead of `a` from there on. The others stay. Whether it changed the graph.
bool replaceViewWrites(Graph& graph);

/// Calls PyTorch's own `aten::index_put_` instead of the overload for lists of tensors that scripts choose, which the
/// dispatcher has not. Whether it changed the graph.
bool replaceTwins(Graph& graph);

/// Where a call for lists of tensors may read for one element what it has written for an earlier one, makes it a call
/// for each element, one after the other, as PyTorch's kernels go through them. Whether it changed the graph.
bool splitListWrites(Graph& graph, const Places& places);

}  // namespace cresset
