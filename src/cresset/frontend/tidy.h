// Removes from a freshly emitted graph what the emitter had to insert before it could know that nothing needs it.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Removes unused constants, placeholders, tuples and attribute reads, unused outputs of prim::If, carried values of
/// prim::Loop that nothing reads, and ifs that are empty. Effects, their order and what can raise stay. O(size of the
/// graph).
void tidy(Graph& graph);

}  // namespace cresset
