// Forks that the graph itself waits for run where they stand: the nodes of the forked function take the fork's place,
// and what they return that of each `aten::wait`.
//
// What the forked function raises is then raised at the fork, and not where its result is waited for. A fork whose
// future goes anywhere else (into a list, to a caller, around a loop) stays.
#include <algorithm>

#include "cresset/ir/subgraph.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

bool isOnlyWaitedFor(const Node* fork) {
  const auto uses = fork->output()->uses();
  return std::all_of(uses.begin(), uses.end(), [](const Use& use) { return use.user->kind() == aten::wait; });
}

bool inlineIn(Block* block) {
  bool changed = false;
  for (Node* node = block->nodes().front(); node != block->returnNode();) {
    for (Block* inner : node->blocks()) changed |= inlineIn(inner);
    if (node->kind() != prim::fork || !isOnlyWaitedFor(node)) {
      node = node->next();
      continue;
    }
    // A subgraph first, which is then inlined like any other.
    Node* part =
        createSubgraph(block->graph(), SubgraphKind::Sequence, node->g(attr::Subgraph)->copy(), node->inputs().vec());
    part->insertBefore(node)->copyLocation(node);
    for (const Use& use : node->output()->uses().vec()) {
      use.user->output()->replaceAllUsesWith(part->output());
      use.user->destroy();
    }
    node->destroy();
    node = inlineSubgraph(part);  // goes on with the forks in it
    changed = true;
  }
  return changed;
}

}  // namespace

static bool inlineForkWait(Graph& graph) {
  return inlineIn(graph.block());
}

CRESSET_PASS(inlineForkWait, "inline-fork-wait", All, "Run forks that the graph waits for where they stand")

}  // namespace cresset
