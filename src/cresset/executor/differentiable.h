// Differentiable regions at run time: where a plan's compiled gradients join autograd's tape.
//
// A region runs its forward code with autograd off, then puts one node on the tape for all of it, which holds the
// values that the gradient needs. In the backward pass the node runs the region's gradient, an ordinary function with
// plans of its own; which gradients come in, and which are wanted, chooses the function (it is made when first needed).
// With create_graph the gradient function itself is recorded, by regions of its own, so gradients of any order are
// compiled. Intermediate values that the gradient needs are results of the node too: that is how second derivatives
// find their way through them.
#pragma once

#include <memory>

#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Compiles the subgraphs of plans; a SubgraphCompiler.
std::shared_ptr<const CompiledSubgraph> compileSubgraph(const Node& subgraph);

/// How often regions have recorded themselves on the tape in this process; for tests, which want to know whether
/// gradients were compiled.
size_t numRecordedRegions();

/// How many gradient functions regions and the tape hold in this process; for tests, which want to know whether they
/// grow with what callers ask for.
size_t numGradientFunctions();

}  // namespace cresset
