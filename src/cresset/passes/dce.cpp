// Dead code elimination, by marking what is needed.
//
// Needed are: what can be noticed from outside (an effect, a write to memory that others hold, an exception), what
// computes a needed value, what writes to memory that is reached from a needed value, and what decides whether needed
// nodes run. A loop without a bound is needed too: whether it ends is part of what a program does. Outputs of branches,
// unused loops and subgraphs go as well, and inputs of subgraphs.
#include <ATen/core/ivalue.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

class Marker {
 public:
  explicit Marker(Graph& graph)
      : graph_(graph), memory_(aliasesOf(graph, AliasDb::When::WhenNeeded)), values_(graph.numValues()) {
    nodes_.reserve(graph.numNodes());
    collect(graph.block());
    for (Value* output : graph.outputs()) need(output);
    while (!queue_.empty()) {
      Value* value = queue_.back();
      queue_.pop_back();
      visit(value);
    }
  }

  bool isNeeded(const Node* node) const { return nodes_.contains(node); }
  bool isNeeded(const Value* value) const {
    return &value->graph() == &graph_ ? values_[value->unique()] : inner_values_.contains(value);
  }

 private:
  void collect(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : Bodies(*node)) collect(inner);
      if (node->kind() == prim::If) continue;
      if (isSubgraph(*node)) {
        owners_[node->g(attr::Subgraph)->block()] = node;
        continue;
      }
      if (node->kind() == prim::Loop) {
        if (!hasBound(node)) needNode(node);
        continue;
      }
      if (memory_->hasSideEffects(node) || mayRaise(*node)) {
        needNode(node);
      } else {
        for (Location location : memory_->written(node)) writers_[location].push_back(node);
      }
    }
  }

  /// A `for`: the condition never changes, so the trip count ends it.
  static bool hasBound(const Node* loop) {
    const auto first = constantAs<bool>(loop->input(1)), next = constantAs<bool>(loop->blocks()[0]->outputs()[0]);
    return (next && (!*next || !isUnlimited(loop->input(0)))) || (first && !*first);
  }

  void need(Value* value) {
    if (isNeeded(value)) return;
    if (&value->graph() == &graph_)
      values_[value->unique()] = true;
    else
      inner_values_.insert(value);
    queue_.push_back(value);
  }

  /// The node whose block, or whose subgraph's, it is.
  Node* ownerOf(const Block* block) const {
    if (Node* owner = block->owningNode()) return owner;
    const auto found = owners_.find(block);
    return found == owners_.end() ? nullptr : found->second;
  }

  void needNode(Node* node) {
    if (!nodes_.insert(node).second) return;
    if (node->kind() == prim::Loop) {
      need(node->input(0));
      need(node->input(1));
      need(node->blocks()[0]->outputs()[0]);
    } else if (node->kind() == prim::If) {
      need(node->input(0));
    } else if (!isSubgraph(*node)) {
      for (Value* input : node->inputs()) need(input);
    }
    const Block* block = node->owningBlock();
    if (Node* owner = block ? ownerOf(block) : nullptr) needNode(owner);
  }

  void needWriters(Value* value) {
    if (writers_.empty()) return;
    for (Location location : memory_->reached(value)) {
      if (!locations_.insert(location).second) continue;
      if (const auto found = writers_.find(location); found != writers_.end()) {
        for (Node* writer : found->second) needNode(writer);
      }
    }
  }

  void visit(Value* value) {
    needWriters(value);
    Node* node = value->node();
    if (node->isParam()) {
      Node* owner = ownerOf(node->owningBlock());
      if (owner && isSubgraph(*owner)) need(owner->input(value->offset()));
      if (owner && owner->kind() == prim::Loop && value->offset() > 0) {
        need(owner->input(value->offset() + 1));
        need(owner->blocks()[0]->outputs()[value->offset()]);
        need(owner->output(value->offset() - 1));
      }
      if (owner) needNode(owner);
      return;
    }
    needNode(node);
    if (node->kind() == prim::If || isSubgraph(*node)) {
      for (Block* block : Bodies(*node)) need(block->outputs()[value->offset()]);
    } else if (node->kind() == prim::Loop) {
      need(node->input(value->offset() + 2));
      need(node->blocks()[0]->outputs()[value->offset() + 1]);
      need(node->blocks()[0]->inputs()[value->offset() + 1]);
    }
  }

  const Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  std::unordered_set<const Node*> nodes_;
  std::vector<bool> values_;                        // by Value::unique()
  std::unordered_set<const Value*> inner_values_;   // of subgraphs
  std::unordered_map<const Block*, Node*> owners_;  // of the blocks of subgraphs
  std::vector<Value*> queue_;
  std::unordered_set<Location> locations_;
  std::unordered_map<Location, std::vector<Node*>> writers_;
};

class Sweeper {
 public:
  explicit Sweeper(const Marker& marker) : marker_(marker) {}

  bool run(Block* block) {
    // From the end, so that users go before what they use.
    for (Node* node = block->returnNode()->prev(); node != block->returnNode();) {
      Node* previous = node->prev();
      if (!marker_.isNeeded(node)) {
        node->destroy();
        changed_ = true;
      } else {
        if (node->kind() == prim::If || isSubgraph(*node)) dropOutputs(node, 0);
        if (node->kind() == prim::Loop) dropOutputs(node, 1);
        for (Block* inner : Bodies(*node)) run(inner);
        if (isSubgraph(*node)) dropInputs(node);
      }
      node = previous;
    }
    return changed_;
  }

 private:
  void dropOutputs(Node* node, size_t first) {
    for (size_t i = node->outputs().size(); i-- > 0;) {
      if (marker_.isNeeded(node->output(i))) continue;
      node->eraseOutput(i);
      for (Block* block : Bodies(*node)) block->eraseOutput(i + first);
      if (node->kind() == prim::Loop) {
        dead_inputs_.push_back(node->blocks()[0]->inputs()[i + 1]);
        node->removeInput(i + 2);
      }
      changed_ = true;
    }
    // What uses a carried value that is not needed is not needed either.
    if (!dead_inputs_.empty()) {
      auto dead = std::move(dead_inputs_);
      dead_inputs_.clear();
      Block* body = node->blocks()[0];
      run(body);
      for (Value* input : dead) body->eraseInput(input->offset());
    }
  }

  void dropInputs(Node* subgraph) {
    Block* body = subgraph->g(attr::Subgraph)->block();
    for (size_t i = body->inputs().size(); i-- > 0;) {
      if (marker_.isNeeded(body->inputs()[i])) continue;
      body->eraseInput(i);
      subgraph->removeInput(i);
      changed_ = true;
    }
  }

  const Marker& marker_;
  std::vector<Value*> dead_inputs_;
  bool changed_ = false;
};

}  // namespace

bool eliminateDeadCode(Graph& graph) {
  const Marker marker(graph);
  return Sweeper(marker).run(graph.block());
}

CRESSET_PASS(eliminateDeadCode, "dce", All, "Remove what has no effect and whose results are unused")

}  // namespace cresset
