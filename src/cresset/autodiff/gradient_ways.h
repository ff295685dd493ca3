// The way that gradients take through a graph, from the outputs of a call of autograd back to the tensors that they are
// asked for, and whether the graph shows all of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/autodiff/gradient_calls.h"

namespace cresset {

/// The way from the wanted tensors to the outputs.
struct GradientWay {
  /// What is compiled, and which value a message names, must not depend on addresses.
  struct InOrder {
    bool operator()(const Value* a, const Value* b) const { return a->unique() < b->unique(); }
  };
  std::vector<Value*> wanted;                // canonical
  std::unordered_set<const Value*> depends;  // computed from a wanted one
  std::unordered_set<Node*> nodes;
  std::set<Value*, InOrder> sources;  // canonical: wanted ones that depend on no other
  std::set<Value*, InOrder> free;     // operands that do not depend on the wanted ones
};

class GradientWays {
 public:
  explicit GradientWays(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)), scopes_(graph) {
    is_plain_ = survey(graph_.block()) && unmarksLast();
  }

  /// In program order.
  const std::vector<Node*>& calls() const { return calls_; }
  /// False if something takes tensors off the tape, or watches them there.
  bool isPlain() const { return is_plain_; }
  /// What a call asks for, and its way. False if not all of that is known, or the engine would do something else;
  /// reason() says why.
  bool find(Node* node, std::optional<GradientCall>& call, GradientWay& way);
  const std::string& reason() const { return reason_; }

  /// Of nodes that were there at the start.
  size_t placeOf(const Node* node) const { return order_.at(node); }
  AliasDb& memory() { return *memory_; }

 private:
  /// Remembers why a call is left; false.
  bool stays(std::string reason);
  /// Numbers the nodes in program order and finds those that matter. False if something takes tensors off the tape, or
  /// watches them there.
  bool survey(Block* block);
  /// Whether `x.requires_grad_(False)` comes only after all calls, when gradients have been computed.
  bool unmarksLast() const;
  /// `x.requires_grad_()`, for the tensor.
  const Node* markOf(const Value* root) const;
  /// Whether gradients go through the node by rules.
  bool hasRules(Node* node);
  /// Whether the value was there at the start.
  bool isKnown(const Value* value) const { return value->node()->isParam() || order_.contains(value->node()); }
  void findDependent(Block* block, GradientWay& way);
  bool isWanted(const Value* root, const GradientWay& way) const;
  /// Follows gradients from `output` back to the wanted tensors. False if they would go where the graph does not show.
  bool follow(Value* output, GradientWay& way);
  /// Whether no gradient can come to a wanted tensor through `value` on a way that the graph does not show: what it is
  /// computed from, and what has been written to it, is described by the signature and does not come from a wanted
  /// tensor, or requires no gradient.
  bool originIsKnown(Value* value, const GradientWay& way, std::unordered_set<const Value*>& seen);
  /// Whether nothing writes to these between their use on the way and the call: autograd would complain, mostly.
  bool isUnwritten(const std::vector<Value*>& values, const GradientWay& way, const Node* call);
  /// Whether an earlier call, or this one in an earlier iteration, has freed a part of the way: then the engine
  /// raises.
  bool isFreed(const GradientWay& way, const Node* call);
  /// What the outputs of a call are computed from.
  const std::unordered_set<const Node*>& nodesAfter(const Node* call);
  /// Whether a tensor on a way surely requires a gradient: only then is it known what the call returns.
  bool surelyRequiresGrad(Value* value);
  /// A tensor that becomes a leaf in the graph is one on the way only if it does so before it is used.
  bool isMarkedInTime(Value* root, const GradientWay& way, const Node* call) const;
  bool isWritten(Value* value);
  /// The leaves that `backward` reaches; nothing if the graph does not show them all.
  std::optional<std::vector<Value*>> leavesOf(const GradientCall& call);

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  StateScopes scopes_;
  std::unordered_map<const Node*, size_t> order_;  // of the nodes that were there at the start
  std::vector<Node*> calls_, marks_, unmarks_, writers_, freers_;
  std::unordered_map<const Node*, std::unordered_set<const Node*>> behind_;
  std::string reason_;
  bool is_plain_ = true;
};

}  // namespace cresset
