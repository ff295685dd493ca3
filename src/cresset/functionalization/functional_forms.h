// The pure operator for one that writes: derived from the schemas.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <vector>

namespace cresset::live {

/// What a call writes, and the operator that returns the same as new values, if there is one.
struct Writes {
  std::vector<size_t> arguments;  // those that are written, in the order of the schema
  /// Takes the arguments `taken`. Returns what the call returns beside its written arguments, then their new values.
  std::optional<c10::OperatorHandle> functional;
  std::vector<size_t> taken;
  bool is_out = false;  // what is written is not read
};

/// Null if the call writes nothing. Lives as long as the process. Thread-safe.
const Writes* writesOf(const c10::OperatorHandle& op, std::span<const c10::IValue> arguments);

/// The view that an operator such as `aten::transpose_` makes of its argument; none if it is no such operator, or has
/// no such view.
std::optional<c10::OperatorHandle> viewOfInPlaceView(const c10::OperatorHandle& op);

}  // namespace cresset::live
