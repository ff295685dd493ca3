#include "cresset/python/overriding.h"

#include <ATen/PythonTorchFunctionTLS.h>

#include <vector>

namespace cresset::python {

namespace {

bool isPlain(PyObject* value) {
  return THPVariable_CheckExact(value) || value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyBool_Check(value) || PyUnicode_CheckExact(value) || PyDict_CheckExact(value);
}

/// Whether the value's class has a `__torch_function__` that is not switched off.
bool hasOverride(PyObject* value) {
  static PyObject* const name = PyUnicode_InternFromString("__torch_function__");
  static PyObject* const disabled =
      py::object(py::module_::import("torch._C").attr("_disabled_torch_function_impl")).release().ptr();
  if (isPlain(value)) return false;
  PyObject* found = _PyType_Lookup(Py_TYPE(value), name);
  return found && found != disabled;
}

void collect(PyObject* value, std::vector<PyObject*>& found) {
  if (hasOverride(value)) {
    found.push_back(value);
  } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(value, i);
      if (hasOverride(item)) {
        found.push_back(item);
      } else if (!THPVariable_Check(item)) {
        return;  // no list of tensors
      }
    }
  }
}

}  // namespace

std::optional<py::object> callByOverride(
    PyObject* callable, PyObject* const* args, size_t num_positional, PyObject* names) {
  const size_t num_named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  std::vector<PyObject*> found;
  for (size_t i = 0; i < num_positional + num_named; ++i) {
    if (!THPVariable_CheckExact(args[i])) [[unlikely]]
      collect(args[i], found);
  }
  if (found.empty()) return std::nullopt;
  if (at::impl::PythonTorchFunctionTLS::get_disabled_state() != at::impl::TorchFunctionDisabledState::ENABLED)
    return std::nullopt;
  py::tuple overriding(found.size()), positional(num_positional);
  py::dict keywords;
  for (size_t i = 0; i < found.size(); ++i) overriding[i] = py::handle(found[i]);
  for (size_t i = 0; i < num_positional; ++i) positional[i] = py::handle(args[i]);
  for (size_t i = 0; i < num_named; ++i)
    keywords[PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i))] = py::handle(args[num_positional + i]);
  const py::object call = py::module_::import("cresset._objects").attr("call_by_override");
  return call(py::handle(callable), overriding, positional, keywords);
}

}  // namespace cresset::python
