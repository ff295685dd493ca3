// Types of tensors: dtype, rank, device and whether they require gradients, from the graph's inputs to all that is
// computed from them.
//
// Sizes are not told: the result holds for all sizes. What an operator gives is asked of the operator itself, with
// small tensors of zeros of the known kinds and of one size in all dimensions (an operator for which the rank of the
// result depends on sizes, or that wants certain sizes, has a rule instead). So the answer is PyTorch's own, type
// promotion included. Values that are written to keep what writing can't change: dtype and device, mostly the rank.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// What holds while the graph runs.
struct TypeAssumptions {
  bool grad_mode = true;  // as it is when the graph is entered
  bool plain = true;      // no autocast: operators compute in the dtypes of their arguments
};

/// What writes to a tensor may change besides its elements, and whether it requires a gradient.
enum class TensorWrites {
  Elements,  // nothing: all that write are operators such as `add_` and `copy_`
  Sizes,     // sizes and rank: `resize_`, `unsqueeze_`, a result that is given as an argument
  Anything,  // dtype, device and memory, too: set_data and set_ do, and what calls outside of the graph do nobody knows
};
/// The most that something in the graph does.
TensorWrites tensorWrites(const Graph& graph);

/// Refines the types of values; types that are there already (of inputs, mostly) are believed. Returns whether some
/// type changed. Preserves everything: types only say what is so.
bool propagateTypes(Graph& graph, const TypeAssumptions& assumptions);

}  // namespace cresset
