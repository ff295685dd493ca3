// What cresset/_script.py calls.
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

py::object scriptFunction(const py::object& function, const py::object& locals) {
  ScriptSession session;
  CallingScope scope(locals);
  if (!overloadsOf(function).empty()) {
    throw UserError(
        "Function '" + py::cast<std::string>(function.attr("__name__")) +
            "' cannot be directly compiled because it is overloaded. It must be used in a context of a function where "
            "its "
            "inputs can determine which overload to call.",
        placeOf(function));
  }
  Function& declared = declareFunction(function, {});
  session.finish();
  keepCompiled(function);
  return makeFunction(declared.program().shared_from_this(), declared);
}

void scriptClass(const py::object& cls, const py::object& locals) {
  ScriptSession session;
  CallingScope scope(locals);
  typeOfClass(cls, {});
  session.finish();
  keepType(cls);
}

}  // namespace

void bindScript(py::module_& module) {
  // Imported now: nothing may be imported while the definition lock is held.
  for (const char* name :
       {"linecache", "difflib", "functools", "typing", "types", "enum", "dataclasses", "numbers", "abc", "collections",
        "torch._ops", "torch._classes", "torch._jit_internal", "torch.nn", "torch.futures"})
    py::module_::import(name);
  module.def("_script_function", scriptFunction, py::arg("function"), py::arg("locals") = py::none());
  module.def("_script_class", scriptClass, py::arg("cls"), py::arg("locals") = py::none());
  bindWellKnown(module);
}

}  // namespace cresset::python
