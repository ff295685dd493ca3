// What frame capture asks before plans run. Plain C functions, since every call of a captured function asks.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "cresset/python/watching.h"
#include "cresset/tracer/tracer.h"

namespace cresset::python {

namespace {

/// Whether something sees this thread's operators one by one: a trace, or a mode of PyTorch.
bool isWatched() {
  return tracing() || c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Tracer) ||
         at::impl::PythonTorchFunctionTLS::stack_len() > 0 || c10::impl::TorchDispatchModeTLS::stack_len() > 0;
}

PyObject* isWatchedInPython(PyObject*, PyObject*) {
  return PyBool_FromLong(isWatched());
}

/// The same, and what would see operators that are called in vain.
PyObject* isWatchedClosely(PyObject*, PyObject*) {
  return PyBool_FromLong(
      isWatched() || torch::autograd::AnomalyMode::is_enabled() ||
      !at::SavedTensorDefaultHooks::get_tls_state().stack.empty());
}

/// Whether operators on these tensors would do nothing but compute: no gradient is recorded, nothing is cast or
/// transformed. Other arguments count as plain.
PyObject* onlyComputes(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  // Autocast is on where its keys are not excluded.
  if (!(keys.included_ - kUsual).empty() || !(c10::autocast_dispatch_keyset - keys.excluded_).empty()) Py_RETURN_FALSE;
  if (at::GradMode::is_enabled()) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (THPVariable_Check(arguments[i]) && THPVariable_Unpack(arguments[i]).requires_grad()) Py_RETURN_FALSE;
    }
  }
  Py_RETURN_TRUE;
}

PyMethodDef methods[] = {
    {"_only_computes", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(onlyComputes)), METH_FASTCALL, nullptr},
    {"_is_watched", isWatchedInPython, METH_NOARGS, nullptr},
    {"_is_watched_closely", isWatchedClosely, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bindWatching(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), methods)) throw py::error_already_set();
}

}  // namespace cresset::python
