// What frame capture asks of the thread it runs on (python/cresset/_recording.py).
#pragma once

#include "cresset/python/common.h"

namespace cresset::python {

/// `_is_watched`, `_is_watched_closely`, `_is_transformed`, `_CallInGradMode`.
void bindWatching(py::module_& module);

}  // namespace cresset::python
