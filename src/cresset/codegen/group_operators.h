// What one operator of a group reads by index and multiplies, and what keeps it out. Internal to group.cpp.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cresset/codegen/group.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ops/operator.h"

namespace cresset::codegen {

/// Per dimension of the source, from the first on; null where there is none.
std::vector<const Value*> indicesOf(const Node& node, const Operator& op, const IndexRule& rule);

/// Throws Unsupported if the dtype or rank of one is not known.
std::vector<at::ScalarType> dtypesOf(std::span<Value* const> values);

/// Throws Unsupported for additions by index that no kernel computes: with several indices, of multiples.
void requireAddition(const Node& node, const Operator& op, const IndexRule& rule);

/// Sums or means of rows.
struct BagCall {
  bool is_mean, has_end;
  const Value* weights;  // or null
};
/// Throws Unsupported for those that no kernel computes.
BagCall bagCallOf(const Node& node, const Operator& op, const IndexRule& rule);

struct BagBounds {
  Register from, to, length;
};
/// From one offset to the next or, for the last bag, to the end of the indices; each is looked at as an index is.
/// `numbers`: how many offsets are allowed; in bytes, the stride between them, and where the last one lies.
BagBounds boundsOfBags(
    KernelBuilder& builder, const IndexedRead& read, at::ScalarType dtype, const std::array<Register, 3>& numbers);

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
