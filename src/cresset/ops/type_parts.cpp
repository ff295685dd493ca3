#include "cresset/ops/type_parts.h"

#include <algorithm>

#include "cresset/ops/nesting.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

TypeParts::Size TypeParts::sizeOf(const c10::TypePtr& type) {
  Size size;
  const auto contained = type->containedTypes();
  if (contained.empty() || type->kind() == c10::TypeKind::ClassType) return size;
  if (const auto found = known_.find(type.get()); found != known_.end()) return found->second.size;
  for (const c10::TypePtr& inner : contained) {
    const Size part = sizeOf(inner);
    size.parts = addParts(size.parts, part.parts);
    size.depth = std::max(size.depth, part.depth + 1);
  }
  if (type->kind() == c10::TypeKind::TupleType) known_[type.get()] = {type, size};
  return size;
}

c10::TypePtr typeOf(const c10::IValue& value, const char* doing) {
  if (!value.isTuple()) return value.type();
  requireShallow(value, doing);  // a tuple's type is made of its elements'
  c10::TypePtr type = value.type();
  const auto contained = type->containedTypes();
  const auto isPlain = [](const c10::TypePtr& part) { return part->containedTypes().empty(); };
  if (std::all_of(contained.begin(), contained.end(), isPlain)) return type;
  if (TypeParts().sizeOf(type).parts > kMaxTypeParts + contained.size()) {
    fail(tooManyTypeParts() + " (" + doing + ")");
  }
  return type;
}

}  // namespace cresset
