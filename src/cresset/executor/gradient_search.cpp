#include "cresset/executor/gradient_search.h"

#include <ATen/core/class_type.h>

#include <algorithm>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

bool maySwitchGradientsOn(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const Bodies bodies(*node);
    return (changesState(*node) && !isOfNoGrad(*node)) ||
           std::any_of(bodies.begin(), bodies.end(), maySwitchGradientsOn);
  });
}

bool GradientSearch::find(const c10::IValue& value, int depth) {
  if (value.isTensor()) return is_wanted_(value.toTensor());
  if (depth == 0) return true;  // not searched any deeper
  if (isSeen(value)) return false;
  const auto isIn = [&](const c10::IValue& element) { return find(element, depth - 1); };
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::any_of(elements.begin(), elements.end(), isIn);
  }
  if (value.isList()) {
    const List& list = listOf(value);
    return mayHoldTensors(*list.elementType) && std::any_of(list.list.begin(), list.list.end(), isIn);
  }
  if (value.isGenericDict()) {
    const Dict& dict = dictOf(value);
    return mayHoldTensors(*dict.elementTypes.valueType) &&
           std::any_of(dict.dict.begin(), dict.dict.end(), [&](const auto& entry) { return isIn(entry.second); });
  }
  return value.isObject() && findInAttributes(value.toObjectRef(), depth - 1);
}

/// Whether it has been searched, which would have ended with what was found: containers may hold each other so often
/// that they are a tree without an end to whoever visits them each time.
bool GradientSearch::isSeen(const c10::IValue& value) {
  if (!value.isTuple() && !value.isList() && !value.isGenericDict()) return false;
  constexpr size_t kFew = 32, kBetweenLooks = 1024;
  if (++num_containers_ % kBetweenLooks == 0) checkTimeLimit();
  return num_containers_ > kFew && value.use_count() > 1 && !seen_.insert(value.internalToPointer()).second;
}

bool GradientSearch::findInAttributes(const c10::ivalue::Object& object, int depth) {
  if (!seen_.insert(&object).second) return false;
  const auto type = object.type();
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    if (mayHoldTensors(*type->getAttribute(slot)) && find(readSlot(object, slot), depth)) return true;
  }
  return false;
}

}  // namespace cresset
