// Differentiation inside of programs, compiled: in place of a call of `torch.autograd.grad` or `Tensor.backward` stand
// the nodes that compute the gradients.
//
// Passes then see through it, no engine runs, and with `create_graph` the gradients are differentiated like all else,
// in one region together with what they are gradients of. Without, the tape is not even recorded where nothing but the
// call would have used it.
#pragma once

#include <string>
#include <vector>

#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// Compiles the calls to which the graph shows the whole way from the inputs to the outputs: operators with derivative
/// rules, in a straight line, on memory that nothing in the graph writes to. Other calls stay and run autograd's
/// engine; so do those that would raise an exception.
///
/// Expects propagated types, gradients on, and that all tensors from outside that require gradients are leaves
/// without hooks, no two of them one tensor. Returns whether it compiled a call: then calls on what has just become
/// visible can be compiled next. `left` tells for each call that stays where it stands and why.
bool inlineGradients(Graph& graph, const TypeAssumptions& assumptions, std::vector<std::string>& left);

/// Whether the graph, or one that it calls, differentiates. Does not compile what it calls.
bool differentiates(Graph& graph);

}  // namespace cresset
