// Moving nodes without changing what the graph does.
#include <algorithm>
#include <unordered_set>

#include "cresset/analysis/alias.h"
#include "cresset/ir/nesting.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Adds the nodes of `block` that define what `node`, or what is in its blocks, uses.
void addProducers(const Node* node, const Block* block, std::unordered_set<const Node*>& into) {
  for (Value* input : node->inputs()) {
    if (Node* producer = ancestorIn(block, input->node())) into.insert(producer);
  }
  for (const Block* inner : node->blocks()) {
    for (const Node* nested : inner->nodes()) addProducers(nested, block, into);
    addProducers(inner->returnNode(), block, into);
  }
}

void addUsers(const Node* node, const Block* block, std::unordered_set<const Node*>& into) {
  for (const Value* output : node->outputs()) addUsersIn(block, output, into);
}

}  // namespace

bool AliasDb::tryMove(Node* node, Node* place, bool after, bool do_it) {
  if (node->owningBlock() != place->owningBlock() || !node->owningBlock())
    throw UserError("Nodes can only be moved inside of their block");
  if (node == place) return true;
  const Block* block = node->owningBlock();
  const bool forward = node->isBefore(place);
  // Everything between the two places is passed; what depends on the moving nodes (or, backwards, on what they depend)
  // moves along.
  const Node* end = forward ? (after ? place->next() : place) : (after ? place : place->prev());
  std::vector<Node*> moving = {node};
  std::unordered_set<const Node*> bound;
  const auto addBound = [&](const Node* added) {
    if (forward)
      addUsers(added, block, bound);
    else
      addProducers(added, block, bound);
  };
  addBound(node);
  for (Node* passed = forward ? node->next() : node->prev(); passed != end;
       passed = forward ? passed->next() : passed->prev()) {
    const bool must_follow =
        bound.contains(passed) ||
        std::any_of(moving.begin(), moving.end(), [&](const Node* mover) { return conflict(mover, passed); });
    if (!must_follow) continue;
    if (passed == place || passed->isReturn() || passed->isParam()) return false;
    moving.push_back(passed);
    addBound(passed);
  }
  if (!do_it) return true;
  if (!forward) std::reverse(moving.begin(), moving.end());
  Node* last = place;
  for (Node* mover : moving) {
    if (last == place && !after)
      mover->moveBefore(place);
    else
      mover->moveAfter(last);
    last = mover;
  }
  return true;
}

bool AliasDb::moveAfterTopologicallyValid(Node* node, Node* place) {
  return tryMove(node, place, /*after=*/true, /*do_it=*/true);
}

bool AliasDb::moveBeforeTopologicallyValid(Node* node, Node* place) {
  return tryMove(node, place, /*after=*/false, /*do_it=*/true);
}

bool AliasDb::couldMoveAfterTopologically(Node* node, Node* place) {
  return tryMove(node, place, /*after=*/true, /*do_it=*/false);
}

bool AliasDb::couldMoveBeforeTopologically(Node* node, Node* place) {
  return tryMove(node, place, /*after=*/false, /*do_it=*/false);
}

}  // namespace cresset
