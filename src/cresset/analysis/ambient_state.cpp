#include "cresset/analysis/ambient_state.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <vector>

#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

const Symbol kStateOnly = Symbol::attr("state_only");

bool changesStateWithin(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const Bodies bodies(*node);
    return changesState(*node) || std::any_of(bodies.begin(), bodies.end(), changesStateWithin);
  });
}

}  // namespace

bool changesState(const Node& node) {
  if (const Structure* structure = structureOf(node.kind())) return structure->sets_state;
  const Operator* op = operatorOf(node);
  return op && op->changesState();
}

StateScopes::StateScopes(const Graph& graph, Of what) : what_(what) {
  if (!changesStateWithin(graph.block())) return;
  findUnbalanced(graph.block());
  visit(graph.block());
}

/// Of a node that changes the state.
bool StateScopes::matters(const Node& node) const {
  return what_ == Of::AllState || !changesGradModeOnly(node);
}

/// Blocks that may leave the thread in another state than they find it in.
bool StateScopes::findUnbalanced(const Block* block) {
  int entered = 0;
  bool balanced = true;
  for (const Node* node : block->nodes()) {
    for (const Block* inner : Bodies(*node)) balanced &= !findUnbalanced(inner);
    if (node->kind() == prim::Enter) {
      ++entered;
    } else if (node->kind() == prim::Exit) {
      balanced &= --entered >= 0;
    } else {
      balanced &= !changesState(*node) || !matters(*node);
    }
  }
  balanced &= entered == 0;
  if (!balanced) unbalanced_.insert(block);
  return !balanced;
}

void StateScopes::visit(const Block* block) {
  std::vector<uint32_t> entered;
  for (const Node* node : block->nodes()) {
    if (now_ != 0) scopes_[node] = now_;
    if (const Bodies bodies(*node); !bodies.empty()) {
      const uint32_t before = now_;
      bool same = true;
      for (const Block* inner : bodies) {
        // An iteration of a loop may begin in the state in which the one before has ended.
        const bool is_balanced = !unbalanced_.contains(inner);
        now_ = is_balanced || node->kind() != prim::Loop ? before : ++last_;
        visit(inner);
        same &= is_balanced;
      }
      now_ = same ? before : ++last_;
    } else if (node->kind() == prim::Enter) {
      entered.push_back(now_);
      if (matters(*node)) now_ = ++last_;
      if (now_ != entered.back() && isOfNoGrad(*node)) without_gradients_[now_] = entered.back();
    } else if (node->kind() == prim::Exit && !entered.empty()) {
      now_ = entered.back();
      entered.pop_back();
    } else if (changesState(*node) && matters(*node)) {
      now_ = ++last_;
    }
  }
}

void markChangesStateOnly(Node& node, bool of_gradients) {
  node.setAttribute(kStateOnly, Attribute(of_gradients ? "gradients" : "any"));
}

bool changesStateOnly(const Node& node) {
  return node.hasAttribute(kStateOnly);
}

bool changesGradModeOnly(const Node& node) {
  return hasTrait(node, Trait::SetsGradMode) || (changesStateOnly(node) && node.s(kStateOnly) == "gradients");
}

bool isOfNoGrad(const Node& node) {
  if (!changesGradModeOnly(node) || node.inputs().empty()) return false;
  const auto* type = node.input(0)->type()->castRaw<c10::ClassType>();
  return type && type->name()->qualifiedName() == "__torch__.torch.autograd.grad_mode.no_grad";
}

}  // namespace cresset
