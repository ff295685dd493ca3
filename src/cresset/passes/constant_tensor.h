#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>

#include "cresset/ir/constants.h"

namespace cresset {

/// The tensor that a constant is; nothing for None.
inline std::optional<at::Tensor> constantTensor(const Value* value) {
  const auto constant = toIValue(value);
  if (!constant || !constant->isTensor() || !constant->toTensor().defined()) return std::nullopt;
  return constant->toTensor();
}

}  // namespace cresset
