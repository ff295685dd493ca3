// Narrowing of Optional, Union and Any. See refinement.h.
#include "cresset/frontend/refinement.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <sstream>

namespace cresset {

namespace {

const Refinement* findRefinement(const Refinements& all, const std::string& name) {
  for (const Refinement& r : all) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

TypePtr unionOf(const std::vector<TypePtr>& types) {
  if (types.empty()) return nullptr;
  std::ostringstream why;
  auto unified = c10::unifyTypeList(types, why, /*default_to_union=*/true);
  return unified ? *unified : nullptr;
}

}  // namespace

Refinements refinementsOfBoth(const Refinements& first, const Refinements& then) {
  Refinements result = then;
  for (const Refinement& r : first) {
    if (!findRefinement(then, r.name)) result.push_back(r);
  }
  return result;
}

Refinements refinementsOfEither(const Refinements& a, const Refinements& b) {
  Refinements result;
  for (const Refinement& r : a) {
    const Refinement* other = findRefinement(b, r.name);
    if (!other) continue;
    if (TypePtr type = unionOf({r.type, other->type})) result.push_back({r.name, type});
  }
  return result;
}

Noneness nonenessOf(const TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::NoneType:
      return Noneness::Always;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::AnyType:
      return Noneness::Maybe;
    case c10::TypeKind::UnionType:
      return type->expectRef<c10::UnionType>().canHoldType(*c10::NoneType::get()) ? Noneness::Maybe : Noneness::Never;
    default:
      return Noneness::Never;
  }
}

TypePtr withoutNone(const TypePtr& type) {
  if (type->kind() == c10::TypeKind::NoneType) return nullptr;
  std::vector<TypePtr> kept;
  for (const TypePtr& t : alternativesOf(type)) {
    if (t->kind() != c10::TypeKind::NoneType) kept.push_back(t);
  }
  return unionOf(kept);
}

std::vector<TypePtr> alternativesOf(const TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType) {
    std::vector<TypePtr> all = alternativesOf(type->expectRef<c10::OptionalType>().getElementType());
    all.emplace_back(c10::NoneType::get());
    return all;
  }
  if (type->kind() == c10::TypeKind::UnionType) {
    std::vector<TypePtr> all;
    for (const TypePtr& member : type->expectRef<c10::UnionType>().containedTypes()) {
      for (TypePtr& t : alternativesOf(member)) all.push_back(std::move(t));
    }
    return all;
  }
  return {type};
}

InstanceTest testInstance(const TypePtr& type, const std::vector<TypePtr>& classes) {
  std::vector<TypePtr> wanted;
  for (const TypePtr& c : classes) {
    for (TypePtr& t : alternativesOf(c)) wanted.push_back(std::move(t));
  }
  std::vector<TypePtr> is, is_not;
  bool always = true;
  for (const TypePtr& have : alternativesOf(type)) {
    if (have->kind() == c10::TypeKind::AnyType) {
      bool any = std::any_of(wanted.begin(), wanted.end(), [](auto& t) { return t->kind() == c10::TypeKind::AnyType; });
      is.insert(is.end(), wanted.begin(), wanted.end());
      if (!any) {
        is_not.push_back(have);
        always = false;
      }
      continue;
    }
    bool covered = false;
    std::vector<TypePtr> narrower;
    for (const TypePtr& want : wanted) {
      if (have->isSubtypeOf(*want)) {
        covered = true;
        break;
      }
      if (want->isSubtypeOf(*have)) narrower.push_back(want);
    }
    if (covered) {
      is.push_back(have);
      continue;
    }
    always = false;
    is.insert(is.end(), narrower.begin(), narrower.end());
    is_not.push_back(have);
  }
  InstanceTest test;
  if (is.empty()) {
    test.known = false;
  } else if (always) {
    test.known = true;
  }
  test.when_true = unionOf(is);
  test.when_false = unionOf(is_not);
  return test;
}

}  // namespace cresset
