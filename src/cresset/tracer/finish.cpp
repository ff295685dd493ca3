// The end of a trace: outputs, literals, dead code, scopes.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "cresset/ir/verifier.h"
#include "cresset/ops/basic.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

Value* Recorder::outputTensor(const at::Tensor& tensor, size_t position) {
  if (!tensor.defined()) throw UserError("The traced function returned a tensor that is undefined.");
  readContents(tensor);
  noteWrite(tensor);
  if (isKnown(tensor)) return tensorValue(tensor);
  if (Value* value = sameMemory(tensor)) return value;
  throw UserError(
      "output " + std::to_string(position + 1) + " ( " + textOf(tensor) +
      " ) of traced region did not have observable data dependence with trace inputs; this probably indicates your "
      "program cannot be understood by the tracer.");
}

/// Recursion is over the nesting of containers.
Value* Recorder::outputValue(const IValue& value, size_t position) {
  if (value.isTensor()) return outputTensor(value.toTensor(), position);
  if (value.isSymInt() || value.isSymFloat()) return valueOf(value, TypePtr());
  if (value.isTuple()) {
    std::vector<Value*> elements;
    std::vector<TypePtr> types;
    for (const IValue& element : value.toTupleRef().elements()) {
      elements.push_back(outputValue(element, position));
      types.push_back(elements.back()->type());
    }
    const auto declared = value.type()->expect<c10::TupleType>();
    return insert(
        prim::TupleConstruct, elements,
        declared->schema() ? TypePtr(declared) : TypePtr(c10::TupleType::create(std::move(types))));
  }
  if (value.isList()) {
    std::vector<Value*> elements;
    for (const IValue& element : value.toListRef()) elements.push_back(outputValue(element, position));
    const TypePtr type = elements.empty() ? value.toList().elementType() : elements[0]->type();
    return listOf(std::move(elements), type);
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    std::vector<Value*> items;
    for (const auto& entry : dict) {
      items.push_back(graph_->insertConstant(entry.key()));
      items.push_back(outputValue(entry.value(), position));
    }
    const TypePtr type = items.empty() ? dict.valueType() : items[1]->type();
    return insert(prim::DictConstruct, items, c10::DictType::create(dict.keyType(), type));
  }
  throw UserError(kWrongResult);
}

/// A literal that nothing can change is a constant.
void Recorder::resolveLiterals() {
  for (auto& [storage, literal] : literals_) {
    if (literal.escapes) continue;
    literal.clone->output()->replaceAllUsesWith(literal.constant);
    literal.clone->destroy();
  }
  literals_.clear();
}

namespace {

/// Where of a list's elements only the first is used, the list may have any length: `x.split(n)[0]`. Not of a list of
/// one element, which may have been the last, nor of later elements, which may have been counted from the end.
/// Recursion is over the nesting of blocks.
void takeFirstElements(Graph& graph, Block* block) {
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) takeFirstElements(graph, inner);
    const auto elements = node->outputs();
    if (node->kind() != prim::ListUnpack || elements.size() < 2 || !elements[0]->hasUses()) continue;
    if (std::ranges::any_of(elements.subspan(1), [](const Value* element) { return element->hasUses(); })) continue;
    InsertPointGuard guard(graph, node);
    graph.setLocation(node->sourceRange());
    Value* first = insertBasic(graph, Basic::Element, {node->input(), graph.insertConstant(0)})->output();
    elements[0]->replaceAllUsesWith(first->setType(elements[0]->type()));
    node->destroy();
  }
}

}  // namespace

void Recorder::showSeenTypes() {
  for (const auto& [value, seen] : seen_types_) {
    if (!value->isErased() && value->type()->kind() == c10::TypeKind::TensorType) value->setType(seen);
  }
}

std::shared_ptr<Graph> Recorder::finish(const IValue& result) {
  CRESSET_CHECK(scopes_.size() == 1, "all modules have ended");
  if (result.isNone()) {
    throw UserError(
        "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a "
        "no-op.");
  }
  graph_->setLocation(location());
  graph_->registerOutput(outputValue(result, 0));
  resolveLiterals();
  removeDeadNodes(*graph_);
  takeFirstElements(*graph_, graph_->block());
  showSeenTypes();
  outlineScopes(*graph_);
  tidyDefinition(*graph_);
  verify(*graph_);
  return graph_;
}

namespace {

bool hasEffect(Node* node) {
  if (node->kind() == prim::CallFunction || node->kind() == prim::CallMethod || isBasic(node, Basic::Raise))
    return true;
  const Operator* op = node->boundOperator();
  return op && (op->isMutable() || op->hasSideEffects());
}

/// Recursion is over the nesting of blocks. Backwards, so that what only dead nodes use is dead by the time it is met.
void removeDead(Block* block) {
  for (Node* node = block->returnNode()->prev(); node != block->returnNode();) {
    Node* previous = node->prev();
    for (Block* inner : node->blocks()) removeDead(inner);
    const auto isUsed = [](const Value* value) { return value->hasUses(); };
    const bool is_empty = node->blocks().empty() || node->blocks()[0]->nodes().empty();
    if (is_empty && !hasEffect(node) && std::none_of(node->outputs().begin(), node->outputs().end(), isUsed)) {
      node->destroy();
    }
    node = previous;
  }
}

}  // namespace

void removeDeadNodes(Graph& graph) {
  removeDead(graph.block());
}

}  // namespace cresset::tracer
