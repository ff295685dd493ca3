// Puts fused subgraphs, and what joins tensors, into subgraphs that run as one call:
//
//   %a = prim::TensorExprGroup(%x)              %c = prim::KernelSequence(%x, %y)
//   %b = prim::TensorExprGroup(%a, %y)            %a = prim::TensorExprGroup(%x)
//   %l = prim::ListConstruct(%a, %b)       →      %b = prim::TensorExprGroup(%a, %y)
//   %c = aten::cat(%l, %dim)                      %l = prim::ListConstruct(%a, %b)
//                                                 return aten::cat(%l, %dim)
//
// A sequence grows downwards like a group (fuse.cpp): it sinks past nodes that are not in its way (codegen/sinking.h).
#include <algorithm>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/codegen/group.h"
#include "cresset/codegen/outline.h"
#include "cresset/codegen/sequence.h"
#include "cresset/codegen/sinking.h"
#include "cresset/passes/fuse.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

/// Each node is compared with all of the open sequence.
constexpr size_t kMaxSequence = 64;

class Sequencer {
 public:
  /// `joins_others`: whether sequences may join what they mostly don't compute. Then that is needed until they end.
  Sequencer(Graph& graph, bool joins_others) : graph_(graph), joins_others_(joins_others) {
    // They are nothing by themselves.
    codegen::moveListsToUsers(graph.block(), codegen::isListOfJoin);
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
      if (node->kind() == prim::Constant || codegen::isListOfJoin(*node)) continue;
      if (isSubgraph(*node, SubgraphKind::Fused)) {
        add({node});
      } else if (codegen::isJoin(*node)) {
        if (joins_others_ || joinsOwn(*node)) {
          add({node->input(0)->node(), node});
        } else {
          close();
        }
      } else if (!node->blocks().empty()) {
        close();
        for (Block* inner : node->blocks()) visit(inner);
      } else if (codegen::NodeToPass(*node, *memory_).blocks(nodes_)) {
        close();
      }
    }
    close();
  }

  /// Whether the open sequence computes most of what is joined.
  bool joinsOwn(const Node& join) const {
    const auto tensors = join.input(0)->node()->inputs();
    const auto own = std::count_if(tensors.begin(), tensors.end(), [&](const Value* tensor) {
      return std::find(nodes_.begin(), nodes_.end(), tensor->node()) != nodes_.end();
    });
    return 2 * static_cast<size_t>(own) >= tensors.size();
  }

  /// Nodes that stay together: a join and its list.
  void add(std::initializer_list<Node*> nodes) {
    if (nodes_.size() + nodes.size() > kMaxSequence) close();
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
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
  const bool joins_others_;
  std::optional<AliasDb> memory_;
  std::vector<Node*> nodes_;  // of the open sequence, in order
  std::vector<std::vector<Node*>> done_;
};

}  // namespace

bool formSequences(Graph& graph) {
  return Sequencer(graph, /*joins_others=*/true).run();
}

CRESSET_PASS(
    formSequences, "sequence", All,
    "Put kernels that can run one after another, and what joins their results, into a subgraph")

std::vector<size_t> splitSequence(Graph& sequence, std::span<const size_t> items) {
  const auto isPart = [](const Node* node) { return isSubgraph(*node) || codegen::isJoin(*node); };
  std::vector<Node*> nodes;
  std::ranges::copy_if(sequence.nodes(), std::back_inserter(nodes), isPart);
  std::vector<size_t> parts;  // of each group and join the item
  for (size_t i = 0; i < nodes.size(); ++i) {
    size_t num_parts = 1;
    if (std::ranges::find(items, i) != items.end()) {
      Graph& group = *nodes[i]->g(attr::Subgraph);
      // Without products it would be the same group again.
      const auto contracts = [](const Node* node) {
        return codegen::isCall(*node) && codegen::fusibilityOf(*node).contracts;
      };
      if (std::ranges::any_of(group.nodes(), contracts)) formFusionGroupsWithoutProducts(group);
      num_parts = static_cast<size_t>(std::ranges::count_if(group.nodes(), isPart));
      inlineSubgraph(nodes[i]);
    }
    parts.insert(parts.end(), num_parts, i);
  }
  Sequencer(sequence, /*joins_others=*/false).run();
  // Joins that are in no sequence run as operators.
  std::vector<size_t> in_kernels;
  auto part = parts.begin();
  for (const Node* node : sequence.nodes()) {
    if (isSubgraph(*node, SubgraphKind::Sequence)) {
      for (const Node* inner : node->g(attr::Subgraph)->nodes()) {
        if (isPart(inner)) in_kernels.push_back(*part++);
      }
    } else if (isSubgraph(*node)) {
      in_kernels.push_back(*part++);
    } else if (codegen::isJoin(*node)) {
      ++part;
    }
  }
  return in_kernels;
}

}  // namespace cresset
