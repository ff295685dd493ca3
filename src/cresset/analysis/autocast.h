// What torch.autocast makes of calls: the autocast column of the operator table, for arguments of known dtypes.
#pragma once

#include <optional>
#include <span>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/fact.h"
#include "cresset/ops/operator.h"

namespace cresset {

/// What becomes of a call's arguments.
struct AutocastCall {
  c10::DeviceType device = c10::DeviceType::CPU;
  std::optional<at::ScalarType> to;      // arguments are cast to this, those that `casts` tells
  std::optional<size_t> dtype_argument;  // this one becomes float32

  /// A tensor that `argument` is, or holds.
  bool casts(const c10::Argument& argument, const Fact& tensor) const;
  /// The call's argument afterwards.
  Fact apply(const c10::Argument& argument, size_t index, Fact fact) const;
};

/// Nothing if it depends on what is not known, or if the operator calls others that autocast casts for.
std::optional<AutocastCall> autocastCall(
    const Operator& op, std::span<const Fact> arguments, const AutocastState& state);

}  // namespace cresset
