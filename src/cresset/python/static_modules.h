// cresset.static_module, and what it needs of callables.
#pragma once

#include "cresset/program/executable.h"
#include "cresset/python/common.h"

namespace cresset::python {

/// A callable that runs `executable` where the function itself would run. `self`: its first argument; null if none.
py::object makeCallable(ObjectPtr self, Function& function, std::shared_ptr<const Executable> executable);
/// The arguments of a call of a ScriptFunction or ScriptMethod, the object first, as its schema wants them.
Stack bindCall(PyObject* callable, const py::args& args, const py::kwargs& kwargs);

void bindStatic(py::module_& module);

}  // namespace cresset::python
