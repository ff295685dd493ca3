// How the results of operators lie in memory, where they are not views of an argument (those say it themselves, by the
// function `view` of their rules): by the columns MAKES_CONTIGUOUS, KEEPS_CONTIGUOUS and KEEPS_LAYOUT, PyTorch's tag
// `pointwise`, and the arguments `layout`, `sparse` and `memory_format`.
#pragma once

#include <optional>
#include <span>

#include "cresset/analysis/fact.h"

namespace cresset {

class Operator;

/// The argument that asks for a sparse result, of the gradients of `embedding` and `gather` and of these themselves.
std::optional<size_t> sparseArgument(const Operator& op);

/// Adds what is known of the result's layout to what the operator's rule says of it.
void addLayout(Fact& result, const Operator& op, std::span<const Fact> arguments);

/// Makes of the tensor's layout that of a memory format, a number of PyTorch's; unknown if it is not known.
void setFormat(Fact& tensor, const Fact& format);

}  // namespace cresset
