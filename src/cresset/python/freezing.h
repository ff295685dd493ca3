// cresset.freeze and its kin.
#pragma once

#include "cresset/python/common.h"

namespace cresset::python {

void bindFreezing(py::module_& module);

}  // namespace cresset::python
