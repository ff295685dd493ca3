// Whether autograd may record what happens to a value.
#pragma once

#include <ATen/core/jit_type.h>

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
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
      return false;
    case c10::TypeKind::ListType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
      for (const c10::TypePtr& inner : type->containedTypes()) {
        if (mayRequireGrad(inner)) return true;
      }
      return false;
    default:
      return true;
  }
}

}  // namespace cresset
