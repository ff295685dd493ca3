// Checks that a graph is well formed: definitions before uses, scopes, use lists, shapes of If, Loop and the other
// structural nodes, types of block inputs and outputs. Operators' own schemas are checked by ops::verifyOperators.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Throws UserError whose message shows the line of the printed graph that is wrong, with the complaint under it.
void verify(const Graph& graph);

/// The same of a graph that was edited by hand, whose blocks may nest without end: passes recurse over them, so they
/// may be at most 4,000 levels deep. Programs nest less (frontend/emitter_impl.h).
void verifyEdited(const Graph& graph);

}  // namespace cresset
