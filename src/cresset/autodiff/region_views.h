// Views in regions. What leaves a region must be autograd's view of its base, and gradients of a base are added up
// where autograd adds them: so a view that is used outside of a region is made outside.
#pragma once

#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// The first view through which gradients come from nodes of the group and from others.
std::vector<Node*>::iterator viewOfBothSides(std::vector<Node*>& nodes);

/// A view that is used after the region stands after it (leaveViewsOutside), or else before it. This puts those
/// before it that must not pass what follows them, and returns the first that must not pass what stands before it
/// either.
std::vector<Node*>::iterator viewInTheMiddle(std::vector<Node*>& nodes, AliasDb& memory);

/// A view that is used after the region must be autograd's view of its base: it is made again there.
void leaveViewsOutside(std::vector<Node*>& nodes);

}  // namespace cresset
