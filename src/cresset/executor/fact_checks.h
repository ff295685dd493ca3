// The oracle of facts: plans that assert, while they run, all that the optimizer assumed about their tensors
// and ints.
//
// Sizes and strides that are known as expressions are computed and compared where the tensor is defined, ints where
// they are; so is how a tensor lies in memory, and that memory which is said to be new is none of the arguments' of the
// node.
//
// Every value whose type says more than "a tensor" (dtype, rank, device, requires_grad) is looked at where it is
// defined and again before each node that uses it, since writes may change what was assumed. A fact that is false ends
// the call with an InternalError that names the value and the node. Wrong facts otherwise show as wrong results, and
// only in programs that happen to depend on them; with the oracle any program that computes the value finds them.
//
// Analyses that are kept are compared with new ones, too (analysis/graph_analyses.h).
//
// On for whole test runs by the option `check_facts`. Costs about 0.2 us per value and use.
#pragma once

#include "cresset/ir/graph.h"
#include "cresset/support/options.h"

namespace cresset {

/// The option `check_facts`. May be called from any thread; plans that exist stay as they are.
inline FactChecks factChecks() {
  return options::check_facts();
}
void setFactChecks(FactChecks checks);

/// Inserts the assertions into a graph that is about to be emitted. In graphs that run below autograd (those of
/// differentiable regions) no tensor requires a gradient, whatever the types say; then `with_requires_grad` is false.
void insertFactChecks(Graph& graph, bool with_requires_grad);

}  // namespace cresset
