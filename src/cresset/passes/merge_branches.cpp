// Neighbouring branches on one condition become one: `h = f(h) if on else h; c = g(c) if on else c` asks once, and what
// the two ways compute stands together, where other passes and regions see it as a whole.
//
// The first prim::If of a chain takes the bodies of the others to the ends of its own. Of what stands between them,
// what depends on none comes before, the rest after; so a chain ends where that would change what the graph does, the
// state of the thread in which it does so, or the order in which autograd sees it.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/ir/nesting.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// So that chains are found in time in proportion to the graph.
constexpr size_t kMaxBranches = 16, kMaxBetween = 64;

/// Whether it holds of the node, or of one in its blocks.
template <typename F>
bool anyInside(const Node* node, const F& holds) {
  return holds(node) || std::ranges::any_of(node->blocks(), [&](const Block* block) { return anyNode(block, holds); });
}

bool isSeenByAutograd(const Node* node) {
  return anyInside(node, passesGradients);
}

/// Nodes in their order, and what may not change places with them.
class NodesInOrder {
 public:
  void add(Node* node) {
    nodes.push_back(node);
    for (const Value* output : node->outputs()) addUsersIn(node->owningBlock(), output, users_);
    is_seen_by_autograd_ |= isSeenByAutograd(node);
  }

  /// Whether the later node could run before all of these. Of two that may raise the first decides with what.
  bool canFollow(AliasDb& memory, const Node* node) const {
    if (users_.contains(node) || (is_seen_by_autograd_ && isSeenByAutograd(node))) return false;
    const bool may_raise = mayRaise(*node);
    return std::none_of(nodes.begin(), nodes.end(), [&](Node* other) {
      return memory.conflict(other, node) || (may_raise && mayRaise(*other));
    });
  }

  std::vector<Node*> nodes;

 private:
  std::unordered_set<const Node*> users_;
  bool is_seen_by_autograd_ = false;
};

struct Chain {
  NodesInOrder branches;
  std::vector<Node*> before;  // what is to come before the first branch
};

class Finder {
 public:
  explicit Finder(Graph& graph) : memory_(aliasesOf(graph)), scopes_(graph) { find(graph.block()); }

  std::vector<Chain> chains;

 private:
  void find(const Block* block) {
    const Node* end_of_chain = nullptr;  // chains of a block have no nodes in common
    for (Node* node : block->nodes()) {
      for (const Block* inner : node->blocks()) find(inner);
      if (node->kind() != prim::If || (end_of_chain && !end_of_chain->isBefore(node))) continue;
      Chain chain = chainFrom(node);
      if (chain.branches.nodes.size() < 2) continue;
      end_of_chain = chain.branches.nodes.back();
      chains.push_back(std::move(chain));
    }
  }

  bool isMovable(const Node* node, uint32_t scope) const {
    return !node->isReturn() && scopes_.of(node) == scope &&
           !anyInside(node, [](const Node* inner) { return changesState(*inner); });
  }

  Chain chainFrom(Node* first) {
    Chain chain;
    const uint32_t scope = scopes_.of(first);
    if (!isMovable(first, scope)) return chain;
    chain.branches.add(first);
    NodesInOrder after;
    std::vector<Node*> before;
    for (Node* node = first->next(); isMovable(node, scope); node = node->next()) {
      if (before.size() + after.nodes.size() == kMaxBetween || chain.branches.nodes.size() == kMaxBranches) break;
      const bool is_free = after.canFollow(*memory_, node);
      if (is_free && node->kind() == prim::If && node->input(0) == first->input(0)) {
        chain.branches.add(node);
        chain.before = before;  // what comes later may stay where it is
      } else if (is_free && chain.branches.canFollow(*memory_, node)) {
        before.push_back(node);
      } else {
        after.add(node);
      }
    }
    return chain;
  }

  const std::shared_ptr<AliasDb> memory_;
  const StateScopes scopes_;
};

/// Moves the bodies of `second` to the ends of those of `first`.
void append(Node* first, Node* second) {
  for (size_t way = 0; way < 2; ++way) {
    Block *body = first->blocks()[way], *moved = second->blocks()[way];
    for (Node* node : moved->nodesSafely()) node->moveBefore(body->returnNode());
    // What the second used of the first is, in here, what this way has computed.
    for (size_t i = 0; i < first->outputs().size(); ++i) {
      const auto uses = first->output(i)->uses();
      for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) {
        const bool is_moved = use.user == moved->returnNode() || use.user->isInside(first);
        if (is_moved) use.user->replaceInput(use.offset, body->outputs()[i]);
      }
    }
  }
  for (size_t i = 0; i < second->outputs().size(); ++i) {
    for (size_t way = 0; way < 2; ++way) first->blocks()[way]->registerOutput(second->blocks()[way]->outputs()[i]);
    Value* output = first->addOutput()->setType(second->output(i)->type());
    second->output(i)->replaceAllUsesWith(output);
  }
  second->destroy();
}

}  // namespace

static bool mergeBranches(Graph& graph) {
  const std::vector<Chain> chains = Finder(graph).chains;
  for (const Chain& chain : chains) {
    Node* first = chain.branches.nodes.front();
    for (Node* node : chain.before) node->moveBefore(first);
    std::for_each(
        chain.branches.nodes.begin() + 1, chain.branches.nodes.end(), [&](Node* next) { append(first, next); });
  }
  return !chains.empty();
}

CRESSET_PASS(mergeBranches, "merge-branches", All, "Make one branch of neighbours that have the same condition")

}  // namespace cresset
