// The functions that rules for facts call (fact_rule.h), by theme. Names of parameters in their comments: `x` a tensor,
// `s` sizes (or a tensor for its sizes), `t` a dtype (or a tensor for its dtype).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cresset/analysis/fact.h"
#include "cresset/analysis/fact_rule.h"

namespace cresset::fact_functions {

using Facts = std::span<const Fact>;
using Sizes = std::vector<Fact>;
using Kind = Fact::Kind;

struct Function {
  std::string_view name;
  FactFunction compute;
};
std::span<const Function> ofTensors();
std::span<const Function> ofDtypes();
std::span<const Function> ofSizes();
std::span<const Function> ofDimensions();

/// The i-th argument; None if there are fewer.
Fact argument(Facts a, size_t i);
std::optional<at::ScalarType> dtypeOf(const Fact& t);
/// Those of a tensor, or a list; numbers are tensors without dimensions.
std::optional<Sizes> sizesOf(const Fact& s);
/// The product of sizes; unknown if one of them is.
Size product(const Sizes& sizes);
Fact anyInt();
Fact unknownSizes(size_t rank);
/// The dimension that `dim` names of `rank`; a tensor without dimensions has one to all operators that take one.
std::optional<size_t> wrapped(const Fact& dim, size_t rank);

}  // namespace cresset::fact_functions
