#include "cresset/frontend/tuple_sizes.h"

#include <algorithm>
#include <string>

#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr size_t kMaxParts = 1 << 15, kMaxDepth = 1'000;

}  // namespace

TupleSizes::Size TupleSizes::sizeOf(const c10::TypePtr& type) {
  Size size{type, 1, 0};
  if (type->containedTypes().empty() || type->kind() == c10::TypeKind::ClassType) return size;
  if (const auto found = known_.find(type.get()); found != known_.end()) return found->second;
  for (const c10::TypePtr& inner : type->containedTypes()) {
    const Size part = sizeOf(inner);
    size.parts = std::min(size.parts + part.parts, 16 * kMaxParts);  // no overflow
    size.depth = std::max(size.depth, part.depth + 1);
  }
  if (type->kind() == c10::TypeKind::TupleType) known_[type.get()] = size;
  return size;
}

void TupleSizes::check(const SourceRange& range, const c10::TypePtr& tuple) {
  const Size size = sizeOf(tuple);
  if (size.depth > kMaxDepth) {
    throw UserError(
        "the type of this tuple is nested more than " + std::to_string(kMaxDepth) +
            " times; a list or a class can hold what is nested so",
        range);
  }
  if (size.parts <= kMaxParts + tuple->containedTypes().size()) return;
  throw UserError(
      "the type of this tuple has more than " + std::to_string(kMaxParts) +
          " parts, those of the tuples in it counted each time that they occur; a list or a class can hold what is "
          "nested so",
      range);
}

}  // namespace cresset
