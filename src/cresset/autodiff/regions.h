// Differentiable regions: parts of a graph that are differentiated at compile time.
//
// A region is a run of nodes of one block through which gradients flow by rules; it becomes one subgraph
// (ir/subgraph.h) of the kind "differentiable". The rest of the graph stays on autograd's tape, to which the executor
// joins the regions.
#pragma once

#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"
#include "cresset/ops/operator.h"

namespace cresset {

/// Decomposes operators through which gradients flow, where the table of derivatives has a decomposition
/// (autodiff/derivatives.h). Returns whether it did.
bool decomposeForGradients(Graph& graph, const TypeAssumptions& assumptions);
/// Decomposes operators whose parts kernels compute better. Without autocast.
bool decomposeForKernels(Graph& graph, const TypeAssumptions& assumptions);

/// Types must have been propagated (passes/propagate_types.h): a region takes and returns tensors of one known
/// floating-point dtype. Regions of fewer than `min_size` operators that have gradients are not made: entering one
/// costs about as much as recording a few operators. Returns whether there is a region.
bool createDifferentiableRegions(Graph& graph, size_t min_size);

/// Whether derivative rules are right for tensors of this type: through which no gradient flows, or of real numbers of
/// known dtype, on a known device.
bool rulesFit(const c10::TypePtr& type);

}  // namespace cresset
