#include "cresset/autodiff/gradient_calls.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

std::optional<std::vector<Value*>> listElements(AliasDb& memory, Value* list) {
  if (list->node()->kind() != prim::ListConstruct || memory.hasWriters(list)) return std::nullopt;
  const auto elements = list->node()->inputs();
  return std::vector<Value*>(elements.begin(), elements.end());
}

bool isPartOfInput(const Value* value) {
  if (value->node()->isParam()) return !value->node()->owningBlock()->owningNode();
  return value->node()->kind() == prim::TupleUnpack && isPartOfInput(value->node()->input(0));
}

}  // namespace

bool isGradientCall(const Node* node) {
  return hasTrait(*node, Trait::ComputesGradients);
}

std::optional<GradientCall> readGradientCall(const Node* node, AliasDb& memory) {
  GradientCall call;
  call.accumulates = node->outputs().empty();
  const auto inputs = node->inputs();
  if (inputs.size() != (call.accumulates ? 4 : 6)) return std::nullopt;
  const bool is_list = inputs[0]->type()->kind() == c10::TypeKind::ListType;
  const auto outputs = is_list ? listElements(memory, inputs[0]) : std::vector<Value*>{inputs[0]};
  if (!outputs || outputs->empty()) return std::nullopt;
  call.outputs = *outputs;
  size_t next = 1;
  if (!call.accumulates) {
    const auto wanted = listElements(memory, inputs[next++]);
    if (!wanted || wanted->empty()) return std::nullopt;
    call.inputs = *wanted;
  }
  Value* gradients = inputs[next++];
  if (isNoneConstant(gradients)) {
    call.gradients.resize(call.outputs.size());
  } else if (is_list) {
    const auto given = listElements(memory, gradients);
    if (!given || given->size() != call.outputs.size()) return std::nullopt;
    for (Value* value : *given) call.gradients.push_back(isNoneConstant(value) ? nullptr : value);
  } else {
    call.gradients = {gradients};
  }
  const auto retain = toIValue(inputs[next++]);
  const auto create = constantAs<bool>(inputs[next++]);
  if (!retain || !create) return std::nullopt;
  call.create_graph = *create;
  call.retain_graph = retain->isNone() ? *create : retain->toBool();
  if (call.create_graph && !call.retain_graph) return std::nullopt;
  if (!call.accumulates) call.allow_unused = constantAs<bool>(inputs[next]).value_or(false);
  const auto isTensor = [](const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; };
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!isTensor(call.outputs[i]) || (call.gradients[i] && !isTensor(call.gradients[i]))) return std::nullopt;
  }
  if (!std::all_of(call.inputs.begin(), call.inputs.end(), isTensor)) return std::nullopt;
  return call;
}

bool fitsOutput(const Value* gradient, const Value* output) {
  const auto& of = output->type()->expectRef<c10::TensorType>();
  if (!gradient) return of.dim() == size_t(0);
  const auto& type = gradient->type()->expectRef<c10::TensorType>();
  return of.scalarType() && of.scalarType() == type.scalarType() && of.device() && of.device() == type.device();
}

Value* canonicalTensor(Value* value) {
  for (;;) {
    const Node* node = value->node();
    const bool is_same_value =
        node->kind() == prim::unchecked_cast || hasTrait(*node, Trait::MakesLeaf | Trait::Unwraps);
    if (!is_same_value) return value;
    value = node->input(0);
  }
}

bool isDescribed(const Value* value) {
  const c10::Type* type = value->type().get();
  if (type->kind() == c10::TypeKind::OptionalType) type = type->containedTypes()[0].get();
  return type->kind() == c10::TypeKind::TensorType && isPartOfInput(value);
}

Value* takenOut(Value* value) {
  for (const Use& use : value->uses()) {
    if (isBasic(use.user, Basic::Unwrap)) return use.user->output();
  }
  return value;
}

std::string describeTensor(const Value* value) {
  const std::string name = value->hasDebugName() ? "'" + value->debugName() + "'" : "a tensor";
  return name + " (" + std::string(value->node()->kind().toQualString()) + ")";
}

}  // namespace cresset
