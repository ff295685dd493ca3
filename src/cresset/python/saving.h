// Writing archives, and code that is printed and compiled again.
#pragma once

#include "cresset/python/common.h"

namespace cresset::python {

void bindSaving(py::module_& module);

}  // namespace cresset::python
