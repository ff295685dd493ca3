// Lists that operators return and of which another call may have more or fewer elements: `x.split(n)` for a number `n`
// of the trace. Python gets a tuple that tells how its elements are taken (cresset/_traced_lists.py): by index, as a
// slice, one after the other, or handed on to another operator as they are.
#include <ATen/core/jit_type.h>
#include <ATen/ops/alias_ops.h>

#include <algorithm>

#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

Value* Recorder::listOfElements(std::span<const at::Tensor> elements) const {
  const Node* unpack = nullptr;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto it = known_.find(elements[i].unsafeGetTensorImpl());
    if (it == known_.end()) return nullptr;
    const Node* node = it->second.value->node();
    if (node->kind() != prim::ListUnpack || node->outputs().size() != elements.size()) return nullptr;
    if ((unpack && node != unpack) || node->output(i) != it->second.value) return nullptr;
    unpack = node;
  }
  return unpack ? unpack->input() : nullptr;
}

namespace {

/// A second tensor where one can't stand for two values.
at::Tensor aliasOf(const at::Tensor& tensor) {
  const ClientPause pause;
  return at::_ops::alias::call(tensor);
}

}  // namespace

at::Tensor Recorder::elementOfList(
    Value* list, const c10::SymNode& index, const at::Tensor& tensor, bool is_known_otherwise) {
  graph_->setLocation(location());
  const at::Tensor element = is_known_otherwise ? aliasOf(tensor) : tensor;
  setTensorValue(element, compute(Basic::Element, {list, numberValue(index)}));
  return element;
}

Value* Recorder::sliceOfList(Value* list, std::span<const c10::SymNode> bounds) {
  graph_->setLocation(location());
  std::vector<Value*> inputs = {list};
  for (const c10::SymNode& bound : bounds)
    inputs.push_back(bound ? numberValue(bound) : graph_->insertConstant(IValue()));
  return insert(aten::slice, inputs, list->type());
}

c10::SymNode Recorder::lengthOfList(Value* list, int64_t length) {
  graph_->setLocation(location());
  return c10::make_intrusive<TracedNumber>(length, compute(Basic::Length, {list}), serial_);
}

std::vector<at::Tensor> Recorder::unpackList(
    Value* list, std::span<const at::Tensor> elements, const std::vector<bool>& are_known_otherwise) {
  graph_->setLocation(location());
  Node* unpack = graph_->insertNode(graph_->create(prim::ListUnpack, {list}, elements.size()));
  std::vector<at::Tensor> result;
  for (size_t i = 0; i < elements.size(); ++i) {
    result.push_back(are_known_otherwise[i] ? aliasOf(elements[i]) : elements[i]);
    setTensorValue(result[i], unpack->output(i)->setType(list->type()->expectRef<c10::ListType>().getElementType()));
  }
  return result;
}

Value* Recorder::passedList(const IValue& tensors) const {
  if (!tensors.isTensorList()) return nullptr;
  const auto list = tensors.toTensorList();
  for (const PassedList& passed : call_.lists) {
    if (passed.elements.size() != list.size()) continue;
    bool same = true;
    for (size_t i = 0; same && i < list.size(); ++i) same = passed.elements[i].is_same(list.get(i));
    if (same) return passed.list;
  }
  return nullptr;
}

}  // namespace cresset::tracer
