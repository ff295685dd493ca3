#include "cresset/ir/without_shapes.h"

#include <utility>
#include <vector>

namespace cresset {

c10::TypePtr withoutShapes(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return c10::TensorType::get();
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::FutureType:
    case c10::TypeKind::AwaitType:
    case c10::TypeKind::RRefType:
      break;
    default:
      return type;
  }
  bool changed = false;
  std::vector<c10::TypePtr> parts;
  for (const c10::TypePtr& part : type->containedTypes()) {
    parts.push_back(withoutShapes(part));
    changed |= parts.back() != part;
  }
  return changed ? type->withContained(std::move(parts)) : type;
}

}  // namespace cresset
