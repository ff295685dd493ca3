// Views, how a write to one becomes a new value of what it is a view of, and the same as copies: the columns VIEW,
// NOT_REVERSED and COPY of the operator table.
//
// The inverse of a view is a function of the view operator's arguments and of the tensor that the view has become. It
// returns the operator's first argument as it would be if the view had been written with that tensor: with the same
// sizes, dtype and, if that argument is dense, strides. Rules are written in the script language and compiled when they
// are first needed.
//
// Thread-safety: all of this may be called from any thread; the graphs must not be changed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/ops/operator.h"

namespace cresset {

/// Whether the operator's results are views of its first argument, each of which has an inverse.
bool isReversibleView(const Operator& op);
/// Whether those come in a list.
bool isViewsInList(const Operator& op);
/// Why writes to what the operator returns can't be reversed; empty if they can, or if it returns no view.
std::string_view whyNotReversed(const Operator& op);

/// Whether it returns a view of the memory of its first argument by sizes, strides and offset that it is given.
bool isGivenStrides(const c10::FunctionSchema& schema);

/// A graph from the arguments of a reversible view, the tensor `view` and, if views come in a list, which of them it
/// is, to the new first argument. Lives as long as the process.
const Graph& inverseOf(const Operator& view);

/// Whether the operator takes a tensor first and may return memory of an argument that it does not write, by its
/// schema.
bool mayReturnView(const Operator& op);
/// A graph from the arguments of such an operator to its results in new memory; null if it has no row for that. Lives
/// as long as the process.
const Graph* copyRuleOf(const Operator& view);

/// What is wrong with the columns: a message per rule that does not compile, and per operator of PyTorch's own whose
/// schema says that it may return memory of its first argument and that has neither rule nor reason.
std::vector<std::string> viewErrors();

}  // namespace cresset
