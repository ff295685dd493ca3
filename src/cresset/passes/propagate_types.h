// Writes what is known of tensors (analysis/facts.h) into their types, where all later passes read it.
#pragma once

#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Refines the types of values; types that are there already (of inputs, mostly) are believed. Returns whether some
/// type changed. Preserves everything: types only say what is so.
bool propagateTypes(Graph& graph, const TypeAssumptions& assumptions);

}  // namespace cresset
