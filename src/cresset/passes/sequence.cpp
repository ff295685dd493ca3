// Puts fused subgraphs, and what joins tensors, into subgraphs that run as one call:
//
//   %a = prim::Subgraph[kind="fused"](%x)             %c = prim::Subgraph[kind="sequence"](%x, %y)
//   %b = prim::Subgraph[kind="fused"](%a, %y)           %a = prim::Subgraph[kind="fused"](%x)
//   %l = prim::ListConstruct(%a, %b)              →     %b = prim::Subgraph[kind="fused"](%a, %y)
//   %c = aten::cat(%l, %dim)                            %l = prim::ListConstruct(%a, %b)
//                                                       return aten::cat(%l, %dim)
//
// A sequence grows downwards like a group (fuse.cpp): it sinks past nodes that neither use what it computes nor
// conflict with one of its nodes.
#include <algorithm>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/codegen/outline.h"
#include "cresset/codegen/sequence.h"
#include "cresset/passes/fuse.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

/// Each node is compared with all of the open sequence.
constexpr size_t kMaxSequence = 64;

/// The lists of joins stand next to them: they are nothing by themselves.
void moveListsToJoins(Block* block) {
  for (Node* node : block->nodes()) {
    if (codegen::isJoin(*node)) {
      node->input(0)->node()->moveBefore(node);
    } else if (!isSubgraph(*node)) {
      for (Block* inner : node->blocks()) moveListsToJoins(inner);
    }
  }
}

class Sequencer {
 public:
  explicit Sequencer(Graph& graph) : graph_(graph) {
    moveListsToJoins(graph.block());
    memory_.emplace(graph);
  }

  bool run() {
    visit(graph_.block());
    // The analysis describes the graph as it was, so it is changed at the end.
    for (const std::vector<Node*>& nodes : done_) codegen::outline(graph_, SubgraphKind::Sequence, nodes, {});
    return !done_.empty();
  }

 private:
  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == prim::Constant || isListOfJoin(*node)) continue;
      if (isSubgraph(*node, SubgraphKind::Fused)) {
        add(node);
      } else if (codegen::isJoin(*node) && !memory_->hasWriters(node->input(0))) {
        if (nodes_.size() >= kMaxSequence) close();
        nodes_.push_back(node->input(0)->node());
        nodes_.push_back(node);
      } else if (!node->blocks().empty()) {
        close();
        for (Block* inner : node->blocks()) visit(inner);
      } else if (isBlockedBy(*node)) {
        close();
      }
    }
    close();
  }

  static bool isListOfJoin(const Node& node) {
    if (node.kind() != prim::ListConstruct) return false;
    const auto users = node.output()->uses();
    return users.size() == 1 && codegen::isJoin(*(*users.begin()).user);
  }

  void add(Node* node) {
    if (nodes_.size() >= kMaxSequence) close();
    nodes_.push_back(node);
  }

  bool isBlockedBy(Node& node) {
    if (nodes_.empty()) return false;
    const auto inputs = node.inputs();
    return changesState(node) ||
           std::any_of(
               inputs.begin(), inputs.end(),
               [&](const Value* input) {
                 return std::find(nodes_.begin(), nodes_.end(), input->node()) != nodes_.end();
               }) ||
           std::any_of(nodes_.begin(), nodes_.end(), [&](Node* member) { return memory_->conflict(member, &node); });
  }

  /// Joins at either end are no work for kernels.
  void close() {
    std::vector<Node*> nodes = std::move(nodes_);
    nodes_.clear();
    const auto count = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return isSubgraph(*node); });
    const auto operators =
        std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return node->kind() != prim::ListConstruct; });
    if (count > 0 && operators > 1) done_.push_back(std::move(nodes));
  }

  Graph& graph_;
  std::optional<AliasDb> memory_;
  std::vector<Node*> nodes_;  // of the open sequence, in order
  std::vector<std::vector<Node*>> done_;
};

}  // namespace

bool formSequences(Graph& graph) {
  return Sequencer(graph).run();
}

}  // namespace cresset
