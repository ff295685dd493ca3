// Awaitables of scripts as Python objects.
#pragma once

#include "cresset/ops/awaitables.h"
#include "cresset/python/common.h"

namespace cresset::python {

py::object wrapAwait(AwaitPtr awaitable);
/// What a cresset.Await stands for, or torch's own; its result has the type `element`. Null if it is neither.
AwaitPtr unwrapAwait(PyObject* object, const TypePtr& element);
/// The type of a script's awaitable; null for anything else.
TypePtr typeOfAwait(PyObject* object);
void bindAwaitables(py::module_& module);

}  // namespace cresset::python
