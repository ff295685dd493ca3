// Through which values of a block gradients flow: what is asked of the nodes that regions are made of.
#pragma once

#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

bool isTensorValue(const Value* value);

/// A list of tensors, some perhaps None. A region makes its own of the elements.
bool isTensorList(const c10::Type& type);

bool isTensorListConstruct(const Node* node);

/// The tensors that an operand stands for: itself, or the elements of a list that the graph makes.
std::vector<Value*> elementsOf(Value* operand);

/// Whether gradients may flow through the node: from a result to an operand.
bool mayPassGradients(Node* node);
/// … to this operand, or to an element of it.
bool mayReceiveGradient(Value* operand);

/// The node of `block` that a use belongs to: the user, or the owner of the blocks that it stands in. Null if the use
/// is outside of `block`.
const Node* userIn(const Block* block, const Use& use);

/// Whether the result may be the first argument itself, and not a view or a copy of it.
bool mayReturnFirstArgument(Node* node);

/// Tensors through which gradients leave nodes. Autograd adds up the gradients of one tensor in the reverse order of
/// the nodes that compute them: another order has other bits where there are more than two, and other strides where
/// their layouts differ.
class GradientOperands {
 public:
  explicit GradientOperands(AliasDb& memory) : memory_(memory) {}

  void add(const Node* node);

  /// Whether the node gives a gradient to what may be one of them.
  bool meets(const Node* node);

 private:
  AliasDb& memory_;
  std::unordered_set<const Value*> values_;
  std::vector<Value*> outer_;  // of these, those that may be one tensor under two names
};

}  // namespace cresset
