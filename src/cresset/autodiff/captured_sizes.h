// Backward graphs that ask no more of a value than its sizes or its layout capture those instead of the value.
#pragma once

#include <unordered_map>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// `placeholders` stand in the backward graph for values of the forward graph; for what is asked of these, there will
/// be ones, too. Adds to the forward graph the nodes that ask; if `kept` is given, none: only values among it are
/// captured.
void captureSizesInstead(
    Graph& forward, Graph& backward, const std::vector<Value*>* kept, std::unordered_map<Value*, Value*>& placeholders);

/// The result of the node of the forward graph that asks for a fact; it is added if there is none. If `kept` is given,
/// nothing is added: null then.
Value* factOf(Graph& forward, Value* value, Symbol kind, const std::vector<Value*>* kept);

}  // namespace cresset
