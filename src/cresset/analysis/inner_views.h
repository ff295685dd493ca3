// Which views only the graph itself sees: what is made of them stays inside, so that it makes no difference whether
// autograd takes them for views.
#pragma once

#include <unordered_set>

#include "cresset/ir/graph.h"

namespace cresset {

using InnerViews = std::unordered_set<const Node*>;

/// Nodes whose results (a tensor that shares memory with an argument, or a list of such) are not returned, put into
/// what outlives the graph's run, or given to what may keep them or ask for their place in autograd.
/// `records_gradients`: operators of the graph may record themselves on autograd's tape; then none is inside if
/// anything writes to memory, which gives the views of a tensor another place on the tape. Linear in the graph's size.
InnerViews innerViews(const Graph& graph, bool records_gradients);

}  // namespace cresset
