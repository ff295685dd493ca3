// What one operator of a group reads by index and multiplies, and what keeps it out. Internal to group.cpp.
#pragma once

#include <span>
#include <vector>

#include "cresset/codegen/group.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// Per dimension of the source, from the first on; null where there is none.
std::vector<const Value*> indicesOf(const Node& node, const Operator& op, const IndexRule& rule);

/// Null if it is no product. Throws Unsupported if it is none for operands of these ranks.
const Contraction* contractionOf(const ScalarBody& body, const Operator& op, const Node& node);

/// Casts return their argument if it has the dtype already; and may be told in which layout.
void refuseWhatReturnsArguments(
    const Operator& op, std::span<const Fact> facts, std::span<const ScalarArgument> arguments, at::ScalarType result);

/// In-place reuses have the dtype and sizes of their first argument, and its layout; kernels compute those whose
/// operator has this dtype, too.
void refuseOtherResults(
    const Operator& op, std::span<const Fact> facts, std::span<const ScalarArgument> arguments,
    std::span<const at::ScalarType> results);

/// Eager PyTorch does not round a tensor of one element of another dtype to half precision first.
void refuseMixedHalves(const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in);

}  // namespace cresset::codegen
