// Whether executing a node may throw. Passes may leave out, repeat or move up only nodes that can't: an exception that
// the program would have raised must still come, and no other.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// Judged from the operator, constant arguments and the types of the inputs; "may" where they don't tell. The memory of
/// the machine is taken to be enough, and calls of nodes in blocks count.
bool mayRaise(const Node& node);

}  // namespace cresset
