#pragma once

#include "cresset/analysis/ambient_state.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// For calls while autocast is in this state. Types must have been propagated for it.
bool insertAutocastCasts(Graph& graph, const AutocastState& state);

}  // namespace cresset
