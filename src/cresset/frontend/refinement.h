// What a condition tells about the types of variables, on either side of it.
//
// `x is not None`, `isinstance(x, T)` and their combinations by and, or, not narrow the type of the variable x where
// they hold, and sometimes where they don't. Only plain variables are refined: an attribute may change between the
// test and its use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// In some branch, the variable `name` has type `type`.
struct Refinement {
  std::string name;
  TypePtr type;
};
using Refinements = std::vector<Refinement>;

/// What holds where `first` and, tested after it, `then` both hold.
Refinements refinementsOfBoth(const Refinements& first, const Refinements& then);
/// What holds where at least one of them does.
Refinements refinementsOfEither(const Refinements& a, const Refinements& b);

/// A condition that has been emitted.
struct Condition {
  Value* value = nullptr;     // bool; null only if `known`
  std::optional<bool> known;  // decided while compiling: only the taken branch is compiled
  Refinements when_true;
  Refinements when_false;
  const Refinements& when(bool outcome) const { return outcome ? when_true : when_false; }
};

/// Whether a value of this type is None always, never, or perhaps.
enum class Noneness { Never, Maybe, Always };
Noneness nonenessOf(const TypePtr& type);
/// `type` with None taken away; null if nothing is left.
TypePtr withoutNone(const TypePtr& type);

/// The outcome of isinstance for a value of static type `type`.
struct InstanceTest {
  std::optional<bool> known;
  TypePtr when_true;   // null if it can't be one of `classes`
  TypePtr when_false;  // null if it must be
};
InstanceTest testInstance(const TypePtr& type, const std::vector<TypePtr>& classes);

/// The members of a Union or Optional, the type itself otherwise.
std::vector<TypePtr> alternativesOf(const TypePtr& type);

}  // namespace cresset
