// Attributes and methods of values by operators: what a tensor, number, string, list, dict, device, enum, … offers.
// Internal to frontend/.
#pragma once

#include <string>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// Null if values of this type have no such attribute or method.
SugaredValuePtr attributeOfValue(const SourceRange& range, EmitContext& cx, Value* value, const std::string& name);

}  // namespace cresset
