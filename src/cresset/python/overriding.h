// Calls of script methods that an argument's class takes over by its `__torch_function__`.
#pragma once

#include <optional>

#include "cresset/python/common.h"

namespace cresset::python {

/// What the argument's class returns; nothing if no argument asks for it. As in torch.jit, tensors of subclasses and
/// others with a `__torch_function__` count, and lists and tuples of them. `names` of the last values may be null.
std::optional<py::object> callByOverride(
    PyObject* callable, PyObject* const* args, size_t num_positional, PyObject* names);

}  // namespace cresset::python
