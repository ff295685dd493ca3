// Whether autograd may record what happens to a value.
#pragma once

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/plain_types.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// False if no tensor of this type requires a gradient: its type says so, or says that its elements are no numbers that
/// have derivatives.
inline bool mayRequireGrad(const c10::TypePtr& type) {
  if (const auto* tensor = type->castRaw<c10::TensorType>()) {
    const auto dtype = tensor->scalarType();
    if (dtype && !at::isFloatingType(*dtype) && !at::isComplexType(*dtype)) return false;
    return tensor->requiresGrad().value_or(true);
  }
  if (!mayHoldTensors(*type)) return false;
  switch (type->kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType: {
      const auto inner = type->containedTypes();
      return std::any_of(inner.begin(), inner.end(), mayRequireGrad);
    }
    default:
      return true;
  }
}

/// Whether some result of the node may require a gradient: autograd may keep what such a node takes.
inline bool passesGradients(const Node* node) {
  const auto outputs = node->outputs();
  return std::any_of(outputs.begin(), outputs.end(), [](const Value* v) { return mayRequireGrad(v->type()); });
}

}  // namespace cresset
