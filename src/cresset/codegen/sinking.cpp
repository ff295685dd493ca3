#include "cresset/codegen/sinking.h"

#include <algorithm>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/codegen/group.h"

namespace cresset::codegen {

NodeToPass::NodeToPass(Node& node, AliasDb& memory)
    : node_(node), memory_(memory), changes_state_(changesState(node)), may_raise_(mayRaise(node)) {}

bool NodeToPass::blocks(std::span<Node* const> members) {
  if (members.empty()) return false;
  return changes_state_ || usesResults(node_, members) ||
         std::any_of(members.begin(), members.end(), [&](Node* member) {
           return memory_.conflict(member, &node_) || (may_raise_ && mayRaise(*member));
         });
}

bool usesResults(const Node& node, std::span<Node* const> members) {
  const auto inputs = node.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
    const Node& maker = *input->node();
    return std::find(members.begin(), members.end(), &maker) != members.end() ||
           (makesIndices(maker) && usesResults(maker, members));
  });
}

void moveListsToUsers(Block* block, bool (*moves)(const Node& list)) {
  std::vector<Node*> lists;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) moveListsToUsers(inner, moves);
    if (moves(*node)) lists.push_back(node);
  }
  for (Node* list : lists) list->moveBefore(const_cast<Node*>(onlyUserOfList(*list)));
}

}  // namespace cresset::codegen
