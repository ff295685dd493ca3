// Weights of values. See container_meter.h. Sizes are estimates from the layouts of c10's containers, rounded up.
#include "cresset/interpreter/container_meter.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue_inl.h>

#include <unordered_set>

#include "cresset/interpreter/object_slots.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

constexpr size_t kHeader = 64;      // of a heap object with its allocation
constexpr size_t kDictEntry = 128;  // key, value, links, and room in the table

}  // namespace

size_t ContainerMeter::ownWeight(const c10::IValue& value) {
  if (value.isString()) return kHeader + value.toStringRef().capacity();
  if (value.isList()) return kHeader + listOf(value).list.capacity() * sizeof(c10::IValue);
  if (value.isGenericDict()) return kHeader + dictOf(value).dict.size() * kDictEntry;
  if (value.isTuple()) return kHeader + value.toTupleRef().elements().size() * sizeof(c10::IValue);
  if (value.isObject()) return kHeader + value.toObjectRef().slots().size() * sizeof(c10::IValue);
  return 0;
}

size_t ContainerMeter::weightOfResult(const c10::IValue& value) {
  size_t weight = ownWeight(value);
  if (value.isList()) {
    for (const c10::IValue& element : listOf(value).list) weight += ownWeight(element);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) weight += ownWeight(element);
  }
  return weight;
}

void ContainerMeter::audit(const std::vector<const c10::IValue*>& roots, size_t other) {
  size_t weight = other;
  std::unordered_set<const void*> seen;
  // Copies, since another thread may change an attribute that one points into.
  std::vector<c10::IValue> open;
  auto visit = [&](const c10::IValue& value) {
    const bool is_container =
        value.isString() || value.isList() || value.isGenericDict() || value.isTuple() || value.isObject();
    if (is_container && seen.insert(value.internalToPointer()).second) open.push_back(value);
  };
  for (const c10::IValue* root : roots) {
    visit(*root);
    while (!open.empty()) {
      const c10::IValue value = std::move(open.back());
      open.pop_back();
      weight += ownWeight(value);
      if (value.isList()) {
        for (const c10::IValue& element : listOf(value).list) visit(element);
      } else if (value.isGenericDict()) {
        for (const auto& [key, element] : dictOf(value).dict) {
          visit(key);
          visit(element);
        }
      } else if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) visit(element);
      } else if (value.isObject()) {
        const auto& object = value.toObjectRef();
        for (size_t slot = 0; slot < object.slots().size(); ++slot) visit(readSlot(object, slot));
      }
    }
  }
  budget_->addContainers(static_cast<int64_t>(weight) - counted_);
  counted_ = static_cast<int64_t>(weight);
  if (budget_->isOver(/*by_a_sixteenth=*/false)) budget_->throwOverMemory();
}

}  // namespace cresset
