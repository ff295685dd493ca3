// What is known of the results of operators, from what is known of their arguments: the rules of the table
// (fact_rule.h), with what holds of all operators: devices, requires_grad, autocast, what in-place forms return.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/value_facts.h"

namespace cresset {

class Operator;

/// What a tuple that the graph makes holds where the value is taken out of it; null for other values.
const Value* elementOfTuple(const Value* value);

class OperatorFacts {
 public:
  OperatorFacts(ValueFacts& values, Graph& graph, const TypeAssumptions& assumptions);

  /// Adds what is known of the node's results.
  void visit(Node* node);
  /// What is known of any value that an operator takes.
  Fact factOf(const Value* value) const;
  /// What `torch.autograd.grad(...)[i]` is like: the i-th input.
  Fact factOfGradient(const Node* element) const;

 private:
  void lookForState(Graph& graph, Block* block);
  Fact factOfList(Node* maker) const;
  Fact factOfFilledList(const Value* list, const Node* reader) const;
  bool needsNoGrad(const Node* node) const;
  bool isPlainAt(const Node* node) const;
  bool applyAutocast(Node* node, const Operator& op, std::vector<Fact>& arguments) const;
  std::vector<Fact> resultsOf(Node* node, const Operator& op) const;

  ValueFacts& values_;
  const AutocastState autocast_;
  bool grad_mode_, plain_, usual_;
  std::optional<StateScopes> scopes_;  // if something in the graph changes more than grad mode
};

}  // namespace cresset
