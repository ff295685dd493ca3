// The nodes of one graph, copied into another, where they stand for a node of that.
//
// Thread-safety: the graph that is copied may be read by any thread meanwhile.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// Errors in `copy`, which stands for `original`, point to it; those in its blocks, too.
void copyLocationThroughout(Node* copy, const Node* original);

/// Copies the nodes of `rule` before `at`, which they stand for: with `arguments` for its inputs. Returns what its
/// outputs became. `each`: called with each copy of a node of the rule's own block.
std::vector<Value*> insertGraph(
    const Graph& rule, std::span<Value* const> arguments, Node* at, const std::function<void(Node*)>& each = {});

}  // namespace cresset
