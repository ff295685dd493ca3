// ScriptModule.__call__: what nn.Module.__call__ does where nothing listens, in C. Python's way through hooks and
// keyword dicts costs as much as a small operator; modules with hooks, and callers who replaced a part of it, still
// take it.
#include "cresset/python/common.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <vector>

#include "cresset/python/modules.h"

namespace cresset::python {

namespace {

PyObject* interned(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (!name) throw py::error_already_set();
  return name;
}

/// torch.nn.Module and what is looked up in it, for the life of the process.
struct ModuleClass {
  static ModuleClass& get() {
    static auto* instance = new ModuleClass;
    return *instance;
  }

  PyTypeObject* type;
  PyObject* call_impl;  // nn.Module's own functions, which others replace for a while
  PyObject* wrapped_call;
  PyObject* module_globals;  // of the file that defines it: hooks of all modules are there
  PyObject *call = interned("__call__"), *call_impl_name = interned("_call_impl"),
           *compiled_name = interned("_compiled_call_impl"), *forward = interned("forward");
  PyObject* hooks[4] = {
      interned("_backward_hooks"), interned("_backward_pre_hooks"), interned("_forward_hooks"),
      interned("_forward_pre_hooks")};
  PyObject* global_hooks[4] = {
      interned("_global_backward_pre_hooks"), interned("_global_backward_hooks"), interned("_global_forward_hooks"),
      interned("_global_forward_pre_hooks")};

 private:
  ModuleClass() {
    py::module_ file = py::module_::import("torch.nn.modules.module");
    py::object cls = file.attr("Module");
    call_impl = py::object(cls.attr("_call_impl")).release().ptr();
    wrapped_call = py::object(cls.attr("_wrapped_call_impl")).release().ptr();
    module_globals = PyModule_GetDict(file.ptr());
    Py_INCREF(module_globals);
    type = reinterpret_cast<PyTypeObject*>(cls.release().ptr());
  }
};

bool areEmpty(PyObject* const (&names)[4], PyObject* dict) {
  for (PyObject* name : names) {
    PyObject* hooks = PyDict_GetItemWithError(dict, name);
    if (!hooks || !PyDict_Check(hooks) || PyDict_GET_SIZE(hooks) != 0) return false;
  }
  return true;
}

/// Whether nn.Module.__call__ would do no more than call `forward`.
bool onlyCallsForward(PyObject* self) {
  const ModuleClass& module = ModuleClass::get();
  if (_PyType_Lookup(module.type, module.call) != module.wrapped_call ||
      _PyType_Lookup(Py_TYPE(self), module.call_impl_name) != module.call_impl ||
      _PyType_Lookup(Py_TYPE(self), module.compiled_name) != Py_None)
    return false;
  // torch.jit.trace names what modules record.
  if (c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Tracer)) return false;
  const auto own = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(self, nullptr));
  if (!own) throw py::error_already_set();
  if (PyObject* compiled = PyDict_GetItemWithError(own.ptr(), module.compiled_name); compiled && compiled != Py_None)
    return false;
  return !PyDict_GetItemWithError(own.ptr(), module.call_impl_name) && areEmpty(module.hooks, own.ptr()) &&
         areEmpty(module.global_hooks, module.module_globals);
}

PyObject* callModule(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const ModuleClass& module = ModuleClass::get();
    const auto count = static_cast<size_t>(nargs);
    if (onlyCallsForward(self)) {
      const auto forward = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, module.forward));
      return forward ? PyObject_Vectorcall(forward.ptr(), args, count, names) : nullptr;
    }
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + count + (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0));
    const auto call =
        py::reinterpret_steal<py::object>(PyObject_GetAttr(reinterpret_cast<PyObject*>(module.type), module.call));
    return call ? PyObject_Vectorcall(call.ptr(), all.data(), count + 1, names) : nullptr;
  });
}

PyMethodDef call_method = {
    "__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callModule)), METH_FASTCALL | METH_KEYWORDS,
    "__call__($self, /, *args, **kwargs)\n--\n\nCalls forward, with the hooks around it."};

}  // namespace

void bindModuleCall(py::module_& module) {
  // Called once, by the file that defines ScriptModule.
  module.def("_set_module_call", [](const py::object& cls) {
    ModuleClass::get();  // before anybody has replaced anything
    const auto method =
        py::reinterpret_steal<py::object>(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(cls.ptr()), &call_method));
    if (!method) throw py::error_already_set();
    cls.attr("__call__") = method;
  });
}

}  // namespace cresset::python
