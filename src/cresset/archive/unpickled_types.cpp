#include "cresset/archive/unpickled_types.h"

#include <ATen/core/class_type.h>

#include <sstream>
#include <unordered_set>

namespace cresset {

using c10::IValue;
using c10::TypePtr;

namespace {

/// For messages.
std::string describe(const Unpickled& built) {
  constexpr size_t kMaxShown = 64;
  if (built.parts > kMaxShown) return built.value.tagKind() + " of " + std::to_string(built.parts) + " types";
  return built.value.type()->annotation_str();
}

}  // namespace

void UnpickledTypes::charge(uint32_t n, size_t work) {
  if (work <= kLittleWork) return;
  if (work > work_)
    pickle_.site(pickle_[n]).fail("too many values of this pickle share parts, whose types would be compared for each");
  work_ -= work;
}

void UnpickledTypes::require(uint32_t n, Unpickled& built, const TypePtr& wanted) {
  IValue& value = built.value;
  if (wanted->kind() == c10::TypeKind::AnyType) return;
  if (value.isNone()) {
    // A tensor that is not there; torch.jit writes it as None.
    if (wanted->kind() == c10::TypeKind::TensorType) {
      value = at::Tensor();
      return;
    }
  } else if (wanted->kind() == c10::TypeKind::TensorType && value.isTensor()) {
    return;
  }
  const TypePtr found = value.type();
  if (found == wanted) return;
  const size_t members = wanted->isUnionType() ? wanted->containedTypes().size() : 1;
  const size_t work = built.parts * static_cast<size_t>(built.height + 1) * members;
  // An object's class, which may be compared with an interface method by method, says all of its type.
  const void* const known = value.isObject() ? static_cast<const void*>(found.get()) : &pickle_[n];
  const bool is_kept = value.isObject() || (work > kLittleWork && pickle_[n].shared);
  if (is_kept && known_.contains({known, wanted.get()})) return;
  charge(n, work);
  std::ostringstream why;
  if (!found->isSubtypeOfExt(*wanted, &why)) {
    pickle_.site(pickle_[n])
        .fail(
            "a value of type " + wanted->annotation_str() + " is expected here, but the pickle has " + describe(built) +
            (why.str().empty() ? "" : ": " + why.str()));
  }
  if (is_kept) known_.emplace(known, wanted.get());
}

std::pair<TypePtr, size_t> UnpickledTypes::common(
    uint32_t n, const UnpickledElements& elements, const TypePtr& if_empty) {
  if (elements.values.empty()) return {if_empty, partsOf(if_empty)};
  const size_t parts = elements.first_parts;
  TypePtr result;
  std::unordered_set<const c10::Type*> equal;  // types that live as long as the tuples that they are of
  for (const IValue& value : elements.values) {
    TypePtr type = value.isTensor() ? TypePtr(c10::TensorType::get()) : value.type();
    if (!result) {
      result = type;
      continue;
    }
    if (type == result || equal.contains(type.get())) continue;
    charge(n, parts);
    if (!(*result == *type)) return {c10::AnyType::get(), 1};
    if (value.isTuple() && parts > kLittleWork) equal.insert(type.get());
  }
  return {result, parts};
}

size_t UnpickledTypes::partsOfTuple(uint32_t n, const UnpickledElements& elements) const {
  const size_t parts = addParts(1, elements.parts);
  if (parts > kMaxTypeParts + elements.values.size()) pickle_.site(pickle_[n]).fail(tooManyTypeParts());
  return parts;
}

}  // namespace cresset
