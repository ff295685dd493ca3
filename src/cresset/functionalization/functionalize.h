// Functionalization of graphs: in-place operators become operators that return new tensors, writes to views become new
// values of what they are views of.
//
// The result computes what the graph computed, bit for bit. Tensors that came in and were written get one
// `aten::copy_` each at the end of the graph, or before the first node that returns their memory in a way that can't
// be followed (`cresset::no_grad_copy_`, if gradients are off at all writes); if the program raises before, they keep
// what they held. The functional form of `aten::add_` is `cresset::add` (in-place reuse, ops/operator.h): it has the
// sizes, strides, dtype and errors of the in-place operator.
//
// A tensor's writes are removed all or none. They stay where it can't be proven that every reader is found: the tensor
// may be the memory of another input that is read after the write, is held by a list while it is written, is viewed in
// a way that has no inverse (view_rows.h), changes its sizes, is written by a call.
#pragma once

#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// A write or a view that stays.
struct NodeLeft {
  const Node* node;
  std::string reason;  // ends the sentence "… stays, since"
};

struct Functionalized {
  bool changed = false;
  std::vector<NodeLeft> left;  // in the order of the graph
};

/// Rewrites the graph. `inputs_are_distinct`: the caller promises that tensors which come in as different inputs share
/// no memory with each other, nor do attributes of objects at different paths. Time is in proportion to the nodes; a
/// write costs as many as there are views between it and its memory, at most kMaxViewDepth.
Functionalized functionalize(Graph& graph, bool inputs_are_distinct);

/// Replaces views, and operators that may return a view, by operators that return the same in new memory: for after
/// functionalize(). Results are no views of arguments or of each other then. What a program that still writes could
/// tell apart stays. Time is in proportion to the nodes and to views times writes.
std::vector<NodeLeft> removeViews(Graph& graph);

/// Removes what functionalization has left of views that nothing reads, and of the choices in their inverses.
void tidyFunctional(Graph& graph);

/// The opposite: computes in memory that is not read any more. What is copied back to a tensor becomes in-place
/// operators on it, what a part of a tensor becomes is assigned in the tensor. Whether it changed the graph. Keeps
/// bits; what autograd has kept of the memory, it finds changed, as in the program before it was functionalized.
bool reinplace(Graph& graph, bool inputs_are_distinct);

}  // namespace cresset
