// What frame capture asks before plans run. Plain C functions, since every call of a captured function asks.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <structmember.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <cstddef>

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

/// Whether operators do more than compute and record gradients: something is cast or transformed.
PyObject* isTransformed(PyObject*, PyObject*) {
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  // Autocast is on where its keys are not excluded.
  return PyBool_FromLong(
      !(keys.included_ - kUsual).empty() || !(c10::autocast_dispatch_keyset - keys.excluded_).empty());
}

// ---- Calls in a grad mode of their own

struct CallInGradMode {
  PyObject_HEAD PyObject* function;
  bool is_enabled;
  vectorcallfunc vectorcall;
};

CallInGradMode* asCallInGradMode(PyObject* object) {
  return reinterpret_cast<CallInGradMode*>(object);
}

PyObject* callInGradMode(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
  const c10::AutoGradMode mode(asCallInGradMode(self)->is_enabled);
  return PyObject_Vectorcall(asCallInGradMode(self)->function, arguments, count, names);
}

PyObject* newCallInGradMode(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject* function = nullptr;
  int is_enabled = 0;
  if (!PyArg_ParseTuple(arguments, "Op", &function, &is_enabled)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  asCallInGradMode(self)->function = Py_NewRef(function);
  asCallInGradMode(self)->is_enabled = is_enabled != 0;
  asCallInGradMode(self)->vectorcall = callInGradMode;
  return self;
}

int visitCallInGradMode(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(asCallInGradMode(self)->function);
  return 0;
}

int clearCallInGradMode(PyObject* self) {
  Py_CLEAR(asCallInGradMode(self)->function);
  return 0;
}

void deleteCallInGradMode(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clearCallInGradMode(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef members[] = {
    {"function", T_OBJECT_EX, offsetof(CallInGradMode, function), READONLY, nullptr},
    {"is_enabled", T_BOOL, offsetof(CallInGradMode, is_enabled), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallInGradMode, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A function that is called with gradients on or off: (function, is_enabled).")},
    {Py_tp_new, reinterpret_cast<void*>(newCallInGradMode)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(visitCallInGradMode)},
    {Py_tp_clear, reinterpret_cast<void*>(clearCallInGradMode)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deleteCallInGradMode)},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec spec = {
    "cresset._C._CallInGradMode", sizeof(CallInGradMode), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

PyMethodDef methods[] = {
    {"_is_transformed", isTransformed, METH_NOARGS, nullptr},
    {"_is_watched", isWatchedInPython, METH_NOARGS, nullptr},
    {"_is_watched_closely", isWatchedClosely, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bindWatching(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), methods)) throw py::error_already_set();
  const auto kind = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!kind) throw py::error_already_set();
  module.attr("_CallInGradMode") = kind;
}

}  // namespace cresset::python
