// Reverse-mode differentiation of a graph: from a function to the function of its gradients.
//
// The graph must be straight: operators that have derivative rules, others through which no gradient flows, no blocks,
// no writes; subgraphs are inlined before (inlineSubgraphs). The gradient is an ordinary graph, of operators that have
// derivatives themselves; so gradients of gradients, of any order, come from differentiating it again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

struct Gradient {
  /// Inputs: the gradients of `of`, in order, then `captured`. Output: a tuple of gradients of `with_respect_to`.
  std::shared_ptr<Graph> graph;
  /// Values of the differentiated graph that the gradient needs.
  std::vector<Value*> captured;
  /// Those of the wanted values that have a gradient at all; the others' is zero.
  std::vector<Value*> with_respect_to;
};

/// The gradient of the values `of` (all floating-point tensors, computed in `graph`) with respect to `wanted` (inputs
/// of it). Values whose types say that they require no gradient have none. Sums of several gradients of one value are
/// in the order in which autograd's engine adds them up.
///
/// Where only the sizes of a tensor are needed, they are captured instead of it: nodes that take them are added to
/// `graph`. If `kept` is given, the gradient captures nothing else, and the graph stays as it is: for gradients of
/// less, or with respect to less, once a gradient of everything has told what to keep.
Gradient differentiate(
    Graph& graph, std::span<Value* const> of, std::span<Value* const> wanted,
    const std::vector<Value*>* kept = nullptr);

}  // namespace cresset
