// Puts operators that one kernel computes into subgraphs:
//
//   %a = aten::mul(%x, %y)                    %b = prim::Subgraph[kind="fused"](%x, %y, %z)
//   %b = aten::add(%a, %z, %one)       →        %a = aten::mul(%x, %y)
//                                               return aten::add(%a, %z, %one)
//
// Groups grow downwards: while nothing else uses what an open group computes, its operators can sink to the next one
// that joins it. A group closes at a node that uses its results and can't join, and at one that it can't be moved past.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/codegen/group.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/fuse.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

/// A kernel's compile time grows with it.
constexpr size_t kMaxGroup = 64;
/// Groups that can still grow; each node is compared with the members of all.
constexpr size_t kMaxOpen = 8;

using Group = std::vector<Node*>;

std::optional<size_t> rankOf(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  return type ? type->dim() : std::nullopt;
}

/// Moves the nodes, which are in the order of the graph, into a subgraph in place of the last.
void outline(Graph& graph, const Group& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::vector<Value*> outputs;
  for (Node* node : nodes) {
    const auto users = node->output()->uses();
    if (std::any_of(users.begin(), users.end(), [&](const Use& use) { return !inside.contains(use.user); }))
      outputs.push_back(node->output());
  }
  if (outputs.empty()) return;  // they are there for the errors that they raise
  auto subgraph = Graph::make();
  std::unordered_map<Value*, Value*> copies;
  std::vector<Value*> inputs;
  const auto copyOf = [&](Value* value) -> Value* {
    if (const auto found = copies.find(value); found != copies.end()) return found->second;
    if (const auto constant = toIValue(value); constant && !constant->isTensor() && !constant->isObject()) {
      const InsertPointGuard guard(*subgraph, subgraph->block());
      return copies[value] = subgraph->insertConstant(*constant, value->type());
    }
    inputs.push_back(value);
    return copies[value] = subgraph->addInput(value->hasDebugName() ? value->debugName() : "")->setType(value->type());
  };
  for (Node* node : nodes) {
    Node* copy = subgraph->createClone(node, copyOf);
    subgraph->block()->appendNode(copy);
    copy->bindOperator(node->boundOperator());
    copies[node->output()] = copy->output();
  }
  for (Value* output : outputs) subgraph->registerOutput(copies.at(output));
  Node* group = createSubgraph(graph, SubgraphKind::Fused, subgraph, inputs);
  group->insertBefore(nodes.back());
  group->copyLocation(nodes.back());
  for (size_t i = 0; i < outputs.size(); ++i) {
    group->output(i)->setType(outputs[i]->type());
    if (outputs[i]->hasDebugName()) group->output(i)->setDebugName(outputs[i]->debugName());
    outputs[i]->replaceAllUsesWith(group->output(i));
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) (*it)->destroy();
}

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), memory_(graph) {}

  bool run() {
    visit(graph_.block());
    // The analysis describes the graph as it was, so it is changed at the end.
    for (const auto& group : done_) outline(graph_, group);
    return !done_.empty();
  }

 private:
  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == prim::Constant) continue;
      if (isSubgraph(*node)) {
        closeConflicting(*node);
        continue;
      }
      if (!node->blocks().empty()) {
        closeAll();
        for (Block* inner : node->blocks()) visit(inner);
      } else if (codegen::whyNotFusible(*node)) {
        closeConflicting(*node);
      } else {
        join(node);
      }
    }
    closeAll();
  }

  bool uses(const Node& node, const Group& group) const {
    const auto inputs = node.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
      return std::find(group.begin(), group.end(), input->node()) != group.end();
    });
  }

  /// Closes the groups that can't sink past the node.
  void closeConflicting(Node& node) {
    const bool changes_state = changesState(node);
    for (size_t i = 0; i < open_.size();) {
      const Group& group = open_[i];
      const bool blocked =
          changes_state || uses(node, group) ||
          std::any_of(group.begin(), group.end(), [&](Node* member) { return memory_.conflict(member, &node); });
      if (blocked) {
        close(i);
      } else {
        ++i;
      }
    }
  }

  /// Whether what the node computes has as many dimensions as what leaves the group: one loop nest computes both.
  static bool fits(const Node& node, const Group& group) {
    const auto rank = rankOf(*node.output());
    return std::all_of(group.begin(), group.end(), [&](const Node* member) {
      const auto users = member->output()->uses();
      const bool leaves = std::any_of(users.begin(), users.end(), [&](const Use& use) {
        return use.user != &node && std::find(group.begin(), group.end(), use.user) == group.end();
      });
      return !leaves || rankOf(*member->output()) == rank;
    });
  }

  void join(Node* node) {
    std::vector<size_t> makers;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (uses(*node, open_[i])) makers.push_back(i);
    }
    Group joined;
    for (auto it = makers.rbegin(); it != makers.rend(); ++it) {
      const Group& group = open_[*it];
      if (joined.size() + group.size() < kMaxGroup && fits(*node, group)) {
        joined.insert(joined.begin(), group.begin(), group.end());
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(*it));
      } else {
        close(*it);
      }
    }
    joined.push_back(node);
    open_.push_back(std::move(joined));
    if (open_.size() > kMaxOpen) close(0);
  }

  void close(size_t i) {
    Group group = std::move(open_[i]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    if (group.size() < 2) return;
    std::sort(group.begin(), group.end(), [](const Node* a, const Node* b) { return a->isBefore(b); });
    done_.push_back(std::move(group));
  }

  void closeAll() {
    while (!open_.empty()) close(open_.size() - 1);
  }

  Graph& graph_;
  AliasDb memory_;
  std::vector<Group> open_, done_;
};

}  // namespace

bool formFusionGroups(Graph& graph) {
  return Fuser(graph).run();
}

void outlineEachOperator(Graph& graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) {
    if (node->kind() != prim::Constant) nodes.push_back(node);
  }
  for (Node* node : nodes) outline(graph, {node});
}

}  // namespace cresset
