// Constants in graphs: prim::Constant nodes, their attribute and the IValue that they stand for.
//
// How a constant is held: int and bool as Int (the output's type tells them apart), float as Float, complex as
// Complex, str as String, Tensor as Tensor, None without attribute; a function as `name` (String) with an output of
// FunctionType; device, list, tuple, dict, enum, object as Value.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>

#include "cresset/ir/graph.h"

namespace cresset {

/// The constant that `value` is, if it is the output of a prim::Constant.
std::optional<c10::IValue> toIValue(const Value* value);
/// As toIValue, for kinds other than a Function.
template <typename T>
std::optional<T> constantAs(const Value* value) {
  if (auto iv = toIValue(value)) return iv->to<T>();
  return std::nullopt;
}
/// A constant, or a new list of constants; casts of either.
std::optional<c10::IValue> knownValue(const Value& value);
bool isConstant(const Value* value);
bool isNoneConstant(const Value* value);
/// Whether a loop with this trip count is a `while`: it is the largest int.
bool isUnlimited(const Value* trip_count);
/// Sets the attribute of a prim::Constant node and its output's type. False if the value can't be a constant.
bool setConstant(Node* node, const c10::IValue& value, TypePtr type = TypePtr());
/// A new constant in front of a node, with the node's place in the source.
Value* insertConstantBefore(Node* node, const c10::IValue& value, TypePtr type = TypePtr());

}  // namespace cresset
