// What the declaration of Python functions (script_functions.cpp) and their definitions (script_definitions.cpp) share.
#pragma once

#include <string>

#include "cresset/frontend/compiler.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

/// Declares the function and enqueues its body. `python`: the live function, whose documentation it gets; null if there
/// is none. `range`: the call that needs it; none from Python.
Function& declareBody(const c10::QualifiedName& name, FunctionBody body, py::handle python, const SourceRange& range);

/// `attribute` is what holds the function that is used there, for errors of what is compiled for it.
void noteAttribute(const SourceRange& use, std::string attribute);

/// To be warned of: a decorator that replaced the function, and is left out.
void noteWrapper(py::handle wrapper, const py::object& function);

}  // namespace cresset::python
