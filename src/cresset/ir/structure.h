// The shapes of the structural nodes (docs/ir.md).
#pragma once

#include <optional>
#include <string>

#include "cresset/ir/graph.h"

namespace cresset {

/// What is wrong with a node by itself: its numbers of inputs, outputs and blocks, its attributes, the types that must
/// agree. Nullopt if nothing is, or if the node calls an operator.
std::optional<std::string> complaintAbout(const Node& node);

}  // namespace cresset
