// Dynamic values against static types: what every door into a program needs before a value may enter.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <string>

namespace cresset {

/// `value` as a value of type `type`; nullopt if it can't be one. Exact values pass unchanged (lists and dicts keep
/// their identity); otherwise what Python-like callers may write is converted: int to float and complex, bool to int
/// and float, str to Device, tuples to lists, lists and dicts elementwise (into new ones).
std::optional<c10::IValue> convertTo(const c10::IValue& value, const c10::TypePtr& type);

/// The dynamic type of a value as annotations write it, for messages.
std::string describeType(const c10::IValue& value);

/// What copy.deepcopy returns for it, tensors on `device` if that is given; what is shared inside stays shared. An
/// object whose class has __getstate__ and __setstate__ is a new one that the second restores from what the first
/// returns.
c10::IValue deepCopy(const c10::IValue& value, std::optional<c10::Device> device = std::nullopt);

}  // namespace cresset
