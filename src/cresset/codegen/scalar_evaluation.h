// What the expressions of a scalar body (scalar_body.h) compute of a call's arguments: registers of a kernel where they
// are elements or numbers, values that are known when the kernel is made elsewhere.
#pragma once

#include <span>
#include <vector>

#include "cresset/codegen/kernel_builder.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ops/expression.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// As ScalarBody::build.
std::vector<ScalarBody::Built> evaluateExpressions(
    const ExpressionList& list, KernelBuilder& builder, const Operator& op, std::span<const ScalarArgument> arguments,
    at::ScalarType computes_in, std::span<const at::ScalarType> results);

}  // namespace cresset::codegen
