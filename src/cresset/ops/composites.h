// Builtins that are no operators: a call expands to other operators where it stands (`2 - x` becomes
// `aten::rsub(x, 2)`). They are tried after all operators of their name.
#pragma once

#include <span>

#include "cresset/ops/schema_matching.h"

namespace cresset {

struct Composite {
  c10::FunctionSchema schema;
  /// Inserts the nodes; `inputs` are in the schema's order, converted.
  Value* (*expand)(Graph& graph, const SourceRange& range, std::span<Value* const> inputs);
};

/// In the order in which they are tried; empty if there are none.
std::span<const Composite> compositesOf(Symbol name);

}  // namespace cresset
