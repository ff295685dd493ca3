#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// The pass `remove-tensor-mutation`; without `with_parts`, what is assigned to parts of tensors (`y[i] = z`) stays as
/// it is. The index is looked up twice, once where it may be wrong, so that costs a view, and pays where gradients
/// flow.
bool removeTensorMutation(Graph& graph, bool with_parts);

}  // namespace cresset
