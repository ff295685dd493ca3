// Moving nodes down: whether a node is in the way.
#pragma once

#include <span>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset::codegen {

/// A node that others, which stand above it in the same graph, are to be moved past.
class NodeToPass {
 public:
  NodeToPass(Node& node, AliasDb& memory);

  /// Whether one of the members must stay above the node: it changes the state that operators run in, uses a result,
  /// or accesses memory that a member writes (or the other way round); or both may raise, and the first exception must
  /// come.
  bool blocks(std::span<Node* const> members);

 private:
  Node& node_;
  AliasDb& memory_;
  const bool changes_state_, may_raise_;
};

/// Whether the node takes a result of one of the members, also in a list of indices (group.h).
bool usesResults(const Node& node, std::span<Node* const> members);

/// Moves lists, in the block and blocks inside of it, right before their only users.
void moveListsToUsers(Block* block, bool (*moves)(const Node& list));

}  // namespace cresset::codegen
