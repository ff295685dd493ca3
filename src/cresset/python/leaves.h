// What frame capture asks and does for the gradients of leaves (`p.grad`).
#pragma once

#include "cresset/python/common.h"

namespace cresset::python {

/// `_are_leaves`, `_are_same_objects`, `_have_own_memory`, `_as_gradients`.
void bindLeaves(py::module_& module);

}  // namespace cresset::python
