// What frame capture keeps of the state that a plan changes (capture/plan.h).
#pragma once

#include "cresset/python/common.h"

namespace cresset::python {

/// `_SavedTensors`, `_SavedWrites` and what makes them, `_SavedRandomState`, `_SavedGradMode`.
void bindUndo(py::module_& module);

}  // namespace cresset::python
