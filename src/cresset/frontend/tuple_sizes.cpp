#include "cresset/frontend/tuple_sizes.h"

#include <string>

#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr size_t kMaxDepth = 1'000;

}  // namespace

void TupleSizes::check(const SourceRange& range, const c10::TypePtr& tuple) {
  const TypeParts::Size size = parts_.sizeOf(tuple);
  if (size.depth > kMaxDepth) {
    throw UserError(
        "the type of this tuple is nested more than " + std::to_string(kMaxDepth) +
            " times; a list or a class can hold what is nested so",
        range);
  }
  if (size.parts <= kMaxTypeParts + tuple->containedTypes().size()) return;
  throw UserError(tooManyTypeParts() + "; a list or a class can hold what is nested so", range);
}

}  // namespace cresset
