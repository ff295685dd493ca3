// Functions of floats that scalar bodies call: Cresset's own, from the table functions.def. Their bits are the same on
// every machine, whatever stands in the C library.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>
#include <vector>

#include "cresset/ops/expression.h"

namespace cresset::codegen {

struct MathFunction {
  std::vector<std::string_view> parameters;
  ExpressionList body;  // one result
};

/// The function for arguments of this type, Float or Double; null if there is none.
const MathFunction* mathFunction(std::string_view name, at::ScalarType type);
/// Whether there is one of this name, for whatever type.
bool isMathFunction(std::string_view name);

}  // namespace cresset::codegen
