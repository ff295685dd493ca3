// Nodes and the blocks that they stand in, at any depth.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// How many of a graph's blocks stand inside of each other: 0 where no node has blocks. Doesn't recurse.
inline size_t nestingIn(const Graph& graph) {
  size_t deepest = 0;
  std::vector<std::pair<const Block*, size_t>> work{{graph.block(), 0}};
  while (!work.empty()) {
    const auto [block, depth] = work.back();
    work.pop_back();
    deepest = std::max(deepest, depth);
    for (const Node* node : block->nodes()) {
      for (const Block* inner : node->blocks()) work.emplace_back(inner, depth + 1);
    }
  }
  return deepest;
}

/// The node of `block` that is `node`, or in whose blocks it stands; null if there is none. Time grows with the depth
/// of `node`.
template <typename NodeOrConst>
NodeOrConst* ancestorIn(const Block* block, NodeOrConst* node) {
  while (node && node->owningBlock() != block) node = node->owningBlock() ? node->owningBlock()->owningNode() : nullptr;
  return node;
}

/// Adds the nodes of `block` that use the value, or in whose blocks it is used.
inline void addUsersIn(const Block* block, const Value* value, std::unordered_set<const Node*>& into) {
  for (const Use& use : value->uses()) {
    if (const Node* user = ancestorIn(block, use.user)) into.insert(user);
  }
}

/// Whether `holds` of one of the block's nodes, or of those in their blocks. Asks in program order, until one does.
template <typename F>
bool anyNode(const Block* block, const F& holds) {
  return std::ranges::any_of(block->nodes(), [&](Node* node) {
    return holds(node) || std::ranges::any_of(node->blocks(), [&](Block* inner) { return anyNode(inner, holds); });
  });
}

}  // namespace cresset
