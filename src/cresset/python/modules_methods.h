// Methods of module classes, compiled from the methods of Python classes.
#pragma once

#include <string>

#include "cresset/frontend/sugared_value.h"
#include "cresset/python/modules.h"

namespace cresset::python {

/// What the Python class (or the one object that the class was made for) has as method `name`: a function, or a
/// staticmethod object; empty if it has none. Needs the GIL.
py::object methodOfModule(const ModuleInfo& info, const std::string& name);

/// Declares `function` as the method `name` of the class. Needs the definition lock and the GIL; `range` is where the
/// method is used. `signature`: a function whose parameters and result are to be those of the method, one of several
/// overloads.
Function& declareModuleMethod(
    const ModuleInfo& info, const std::string& name, py::handle function, const SourceRange& range,
    const py::object& signature = py::object());

/// As declareModuleMethod, for a function that is hidden by another method, or may be: under the name that the function
/// has in the class if it is the method of that name, else under a name of its own.
Function& hiddenMethod(const ModuleInfo& info, py::handle function, const SourceRange& range);
/// The Python function that a method of a module class was declared from; empty if it is none.
py::object pythonMethodOf(const ModuleInfo& info, const Function& function);

/// The attribute of a class as its body has it: no descriptor is asked. With `after`, that of the classes after it in
/// the MRO. Empty if there is none.
py::object rawAttribute(py::handle cls, const std::string& name, py::handle after = {});

// ---- modules_class.cpp
/// What an attribute of a class, which is no method, means in code; null if it means nothing.
SugaredValuePtr valueOfClassAttribute(
    py::handle attribute, EmitContext& cx, const SourceRange& range, const std::string& name);
/// `super` in a method that was written in the body of the module class `cls`.
SugaredValuePtr superOfModule(py::handle cls);
/// An ObjectHandler for classes of modules.
SugaredValuePtr moduleClassValue(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name);

void bindModuleMethods(py::module_& module);

}  // namespace cresset::python
