// What a type alone tells of its values: whether they can change, and whether tensors are among them.
#pragma once

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace cresset {

/// Numbers, bools, strings, None and devices: values that never change and hold nothing.
inline bool isScalarType(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
      return true;
    default:
      return false;
  }
}

/// Scalars, and optionals and tuples of them.
inline bool isImmutableType(const c10::Type& type) {
  if (isScalarType(type)) return true;
  if (type.kind() != c10::TypeKind::TupleType && type.kind() != c10::TypeKind::OptionalType) return false;
  const auto inner = type.containedTypes();
  return std::all_of(inner.begin(), inner.end(), [](const c10::TypePtr& t) { return isImmutableType(*t); });
}

/// False for scalars, and for lists, optionals and tuples of them.
inline bool mayHoldTensors(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::TupleType: {
      const auto inner = type.containedTypes();
      return std::any_of(inner.begin(), inner.end(), [](const c10::TypePtr& t) { return mayHoldTensors(*t); });
    }
    default:
      return !isScalarType(type);
  }
}

/// Whether values of the type are one tensor or None, not several in a container.
inline bool isTensorOrNone(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return (optional ? *optional->getElementType() : type).kind() == c10::TypeKind::TensorType;
}

}  // namespace cresset
