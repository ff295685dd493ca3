// Sinking: what only one branch of a prim::If uses is computed in that branch, and not at all when the other is taken.
//
// A node moves only if that is not observable: it has no effect, can't raise, runs in the same state of the thread
// there, and nothing ever writes to what it takes and returns. Nodes that gradients pass stay, as regions end at
// branches.
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// The block of a prim::If beside the node that has all uses of its results; null if there is none, or no use.
Block* onlyUser(const Node* node) {
  Block* found = nullptr;
  for (const Value* output : node->outputs()) {
    for (const Use& use : output->uses()) {
      Block* block = use.user->owningBlock();
      if (block == node->owningBlock()) return nullptr;
      while (block->owningNode()->owningBlock() != node->owningBlock()) block = block->owningNode()->owningBlock();
      if (block->owningNode()->kind() != prim::If || (found && found != block)) return nullptr;
      found = block;
    }
  }
  return found;
}

class Sinker {
 public:
  explicit Sinker(Graph& graph) : memory_(aliasesOf(graph)), scopes_(graph) {}

  bool run(Block* block) {
    // From the end, so that what only a moved node uses can follow it; then into the branches, where both may go on.
    const auto nodes = block->nodes();
    for (auto place = nodes.end(); place != nodes.begin();) {
      Node* node = *--place;
      if (!isMovable(node)) continue;
      Block* branch = onlyUser(node);
      if (!branch || scopes_.of(node) != scopes_.of(branch->owningNode())) continue;
      ++place;
      node->moveBefore(branch->nodes().front());
      changed_ = true;
    }
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) run(inner);
    }
    return changed_;
  }

 private:
  bool isMovable(const Node* node) {
    if (isStructural(node->kind())) return false;
    const Operator* op = operatorOf(*node);
    if (!op || !op->isPure() || mayRaise(*node) || passesGradients(node)) return false;
    const auto isWritten = [&](const Value* value) { return memory_->hasWriters(value) || memory_->hasUpdates(value); };
    const auto inputs = node->inputs();
    const auto outputs = node->outputs();
    return std::none_of(inputs.begin(), inputs.end(), isWritten) &&
           std::none_of(outputs.begin(), outputs.end(), isWritten);
  }

  const std::shared_ptr<AliasDb> memory_;
  const StateScopes scopes_;
  bool changed_ = false;
};

}  // namespace

static bool sinkIntoBranches(Graph& graph) {
  return hasNode(graph.block(), prim::If) && Sinker(graph).run(graph.block());
}

CRESSET_PASS(sinkIntoBranches, "sink", All, "Compute in a branch what only that branch uses")

}  // namespace cresset
