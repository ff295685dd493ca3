// Views by their sizes and strides: what operators that return views of their first argument do, without the dispatcher
// and without autograd's record of views (column STRIDED of the operator table).
//
// Such a view has its argument's memory and version, but is no view to autograd: it serves where nothing outside of the
// code sees it (analysis/inner_views.h), and where the argument is not recorded.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "cresset/analysis/inner_views.h"
#include "cresset/ops/operator.h"

namespace cresset {

/// `result` becomes a tensor or a list of tensors. False, and nothing has happened, if the operator itself is to be
/// called: for what raises, copies, or is no dense tensor that nothing watches. Called from any thread.
using StridedView = bool (*)(std::span<const c10::IValue* const> arguments, c10::IValue& result);

/// Null if the operator has none.
StridedView stridedViewOf(const Operator& op);
/// What code calls for the node, of a plan with these inner views: its view, if it is one of them, or what reads the
/// size of a dimension, in the same way. Null if the operator itself is called.
StridedView directCallOf(const Node& node, const InnerViews& inner_views);

}  // namespace cresset
