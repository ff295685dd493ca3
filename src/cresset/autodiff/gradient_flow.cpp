#include "cresset/autodiff/gradient_flow.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>

#include "cresset/analysis/gradients.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"

namespace cresset {

bool isTensorValue(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType;
}

bool isTensorList(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::ListType) return false;
  const c10::Type* element = type.containedTypes()[0].get();
  if (element->kind() == c10::TypeKind::OptionalType) element = element->containedTypes()[0].get();
  return element->kind() == c10::TypeKind::TensorType;
}

bool isTensorListConstruct(const Node* node) {
  return node->kind() == prim::ListConstruct && isTensorList(*node->output()->type());
}

std::vector<Value*> elementsOf(Value* operand) {
  if (!isTensorListConstruct(operand->node())) return {operand};
  const auto elements = operand->node()->inputs();
  return {elements.begin(), elements.end()};
}

bool mayReceiveGradient(Value* operand) {
  const auto elements = elementsOf(operand);
  return std::any_of(elements.begin(), elements.end(), [](const Value* element) {
    return !isNoneConstant(element) && mayRequireGrad(element->type());
  });
}

bool mayPassGradients(Node* node) {
  const auto inputs = node->inputs();
  return passesGradients(node) && std::any_of(inputs.begin(), inputs.end(), mayReceiveGradient);
}

const Node* userIn(const Block* block, const Use& use) {
  return ancestorIn<const Node>(block, use.user);
}

bool mayReturnFirstArgument(Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  return op && op->mayReturnSelf() && isTensorValue(node->input(0));
}

namespace {

/// What an operator that may return its argument as it is has got; else the value itself.
Value* handedOn(Value* value) {
  while (mayReturnFirstArgument(value->node())) value = value->node()->input(0);
  return value;
}

/// Other values may be one tensor under two names.
bool isMadeHere(const Value* value) {
  if (isSubgraph(*value->node(), SubgraphKind::Differentiable)) return true;
  const Operator* op = isStructural(value->node()->kind()) ? nullptr : operatorOf(*value->node());
  return op && (!op->kernel() || op->isPure());
}

/// Whether `visit` holds for a tensor to which the node gives a gradient.
template <typename Visit>
bool anyGradientOperand(const Node* node, const Visit& visit) {
  if (node->kind() == prim::ListUnpack) node = node->input(0)->node();  // its elements are those of one operator
  if (!passesGradients(node) || isTensorListConstruct(node)) return false;
  for (Value* input : node->inputs()) {
    for (Value* element : elementsOf(input)) {
      if (isTensorValue(element) && mayRequireGrad(element->type()) && visit(handedOn(element))) return true;
    }
  }
  return false;
}

}  // namespace

void GradientOperands::add(const Node* node) {
  anyGradientOperand(node, [&](Value* value) {
    if (!isMadeHere(value)) outer_.push_back(value);
    values_.insert(value);
    return false;
  });
}

bool GradientOperands::meets(const Node* node) {
  return anyGradientOperand(node, [&](Value* value) {
    const auto mayBe = [&](const Value* other) { return memory_.mayAlias(other, value); };
    return values_.contains(value) || (!isMadeHere(value) && std::any_of(outer_.begin(), outer_.end(), mayBe));
  });
}

}  // namespace cresset
