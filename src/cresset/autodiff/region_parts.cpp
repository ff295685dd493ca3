#include "cresset/autodiff/region_parts.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/facts.h"
#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/regions.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Draws random numbers, and does nothing else.
bool isRandom(const Operator& op) {
  return !op.isDeterministic() && !op.isMutable() && op.restriction() != Restriction::Foreign;
}

/// Real numbers, bools, None, devices, and lists and optionals of them.
bool isNumberLike(const c10::Type& type) {
  const c10::TypeKind kind = type.kind();
  if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::OptionalType)
    return isNumberLike(*type.containedTypes()[0]);
  return isScalarType(type) && kind != c10::TypeKind::ComplexType && kind != c10::TypeKind::StringType;
}

/// The rules are for real numbers of known precision.
bool fitsDtype(const Node* node) {
  const auto fits = [](const Value* value) { return rulesFit(value->type()); };
  const auto inputs = node->inputs();
  return std::all_of(
             inputs.begin(), inputs.end(),
             [&](Value* input) {
               const auto elements = elementsOf(input);
               return std::all_of(elements.begin(), elements.end(), fits);
             }) &&
         std::all_of(node->outputs().begin(), node->outputs().end(), fits);
}

bool isWrite(Node* node) {
  return !isStructural(node->kind()) && !isBasic(node, Basic::Raise) && operatorOf(*node) &&
         operatorOf(*node)->isMutable();
}

/// The node, if it is a write, and the writes in its blocks.
void addWriters(Node* node, std::vector<Node*>& writers) {
  if (isWrite(node)) writers.push_back(node);
  for (Block* block : node->blocks())
    for (Node* inner : block->nodes()) addWriters(inner, writers);
}

}  // namespace

RegionParts::RegionParts(Graph& graph)
    : memory_(aliasesOf(graph)), replaces_data_(tensorWrites(graph) == TensorWrites::Anything) {}

bool returnsList(const Node* node) {
  return node->outputs().size() == 1 && node->kind() != prim::ListConstruct &&
         node->output()->type()->kind() == c10::TypeKind::ListType && !isNumberLike(*node->output()->type());
}

Node* RegionParts::unpackOf(const Node* node) {
  const auto uses = node->output()->uses();
  if (uses.size() != 1 || uses.front().user->kind() != prim::ListUnpack) return nullptr;
  Node* unpack = uses.front().user;
  const Node* next = node->next();
  while (next->kind() == prim::Constant) next = next->next();
  const auto outputs = unpack->outputs();
  const bool written =
      std::any_of(outputs.begin(), outputs.end(), [&](Value* output) { return memory_->hasWriters(output); });
  return next == unpack && !written && fitsDtype(unpack) ? unpack : nullptr;
}

bool RegionParts::isInertControl(Node* node) {
  if (node->kind() == prim::Constant || isBasic(node, Basic::Raise)) return true;
  if (node->kind() != prim::If && node->kind() != prim::Loop) {
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    const auto outputs = node->outputs();
    const bool returns_text =
        op && op->isPure() && !op->asksAutograd() &&
        std::all_of(outputs.begin(), outputs.end(), [](const Value* output) { return isScalarType(*output->type()); });
    return returns_text || classify(node) == RegionPart::Inert;
  }
  const auto isNumber = [](const Value* value) { return isNumberLike(*value->type()); };
  if (!std::all_of(node->outputs().begin(), node->outputs().end(), isNumber)) return false;
  return std::all_of(node->blocks().begin(), node->blocks().end(), [&](Block* block) {
    const auto nodes = block->nodes();
    return std::all_of(block->inputs().begin(), block->inputs().end(), isNumber) &&
           std::all_of(nodes.begin(), nodes.end(), [&](Node* inner) { return isInertControl(inner); });
  });
}

bool RegionParts::readsAndWrites(const std::vector<Node*>& group, Node* node) {
  const auto writes = [&](Node* writer, Node* other) {
    if (memory_->readsWritten(other) &&
        (!other->blocks().empty() || memory_->writesToAlias(writer, other->inputs().vec())))
      return true;
    // Gradients may be computed from what it has returned, too.
    return (mayPassGradients(other) || memory_->readsWritten(other)) &&
           memory_->writesToAlias(writer, other->outputs());
  };
  std::vector<Node*> writers;
  addWriters(node, writers);
  const auto isWritten = [&](Node* other) {
    return std::any_of(writers.begin(), writers.end(), [&](Node* writer) { return writes(writer, other); });
  };
  if (!writers.empty() && std::any_of(group.begin(), group.end(), isWritten)) return true;
  if (isWrite(node) || !memory_->readsWritten(node)) return false;
  writers.clear();
  for (Node* other : group) addWriters(other, writers);
  return isWritten(node);
}

bool RegionParts::isInertWrite(Node* node, const Operator& op) const {
  const auto isInert = [](const Value* value) {
    return isTensorValue(value) ? !mayRequireGrad(value->type()) : isNumberLike(*value->type());
  };
  return op.isMutable() && !op.kernel() && !op.hasSideEffects() && op.isDeterministic() && !replaces_data_ &&
         std::all_of(node->inputs().begin(), node->inputs().end(), isInert) &&
         std::none_of(
             node->outputs().begin(), node->outputs().end(), [](const Value* output) { return output->hasUses(); });
}

RegionPart RegionParts::classify(Node* node) {
  if (!node->blocks().empty()) return isInertControl(node) ? RegionPart::Inert : RegionPart::Outside;
  if (node->kind() == prim::ListUnpack)
    return RegionPart::Differentiable;  // let in together with the list that it unpacks
  if (node->kind() == prim::ListConstruct) {
    const auto& type = *node->output()->type();
    return (isNumberLike(type) || isTensorList(type)) && !memory_->hasWriters(node->output()) ? RegionPart::Inert
                                                                                              : RegionPart::Outside;
  }
  if (isStructural(node->kind())) return RegionPart::Outside;
  const Operator* op = operatorOf(*node);
  if (op && isInertWrite(node, *op)) return RegionPart::Inert;
  if (op && op->asksAutograd()) return RegionPart::Outside;
  // Random numbers are drawn in the same order: a region stands where its nodes stood.
  if (!op || op->isMutable() || (!isRandom(*op) && (op->hasSideEffects() || !op->isDeterministic())))
    return RegionPart::Outside;
  const auto inputs = node->inputs();
  const auto outputs = node->outputs();
  if (!mayPassGradients(node)) {
    // Numbers, and tensors that are as good as constants.
    const bool takes_known = std::all_of(inputs.begin(), inputs.end(), [](const Value* input) {
      return isTensorValue(input) || isNumberLike(*input->type()) || isConstant(input) ||
             isTensorListConstruct(input->node());
    });
    const bool returns_known = std::all_of(outputs.begin(), outputs.end(), [](const Value* output) {
      return isTensorValue(output) ? !mayRequireGrad(output->type()) : isNumberLike(*output->type());
    });
    // What may be an argument, or a view of one, is made again after the region if it leaves.
    return takes_known && returns_known ? RegionPart::Inert : RegionPart::Outside;
  }
  if (!hasDerivative(*op) || !rulesHold(*op, *node)) return RegionPart::Outside;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (isNoneConstant(inputs[i])) continue;
    if (isTensorList(*inputs[i]->type())) {
      if (!isTensorListConstruct(inputs[i]->node()) || memory_->hasWriters(inputs[i])) return RegionPart::Outside;
    } else if (mayRequireGrad(inputs[i]->type()) && !isTensorValue(inputs[i])) {
      return RegionPart::Outside;
    }
    if (mayReceiveGradient(inputs[i]) && !hasGradient(*op, i)) return RegionPart::Outside;
  }
  return RegionPart::Differentiable;
}

bool RegionParts::isPart(Node* node) {
  const RegionPart part = classify(node);
  return part != RegionPart::Outside && (isWrite(node) || fitsDtype(node));
}

}  // namespace cresset
