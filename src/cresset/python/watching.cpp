// What frame capture asks before plans run. Plain C functions, since every call of a captured function asks.
#include <Python.h>

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <structmember.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <cstddef>
#include <cstring>
#include <vector>

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

/// Whether operators do more than compute, cast as autocast says, and record gradients.
PyObject* isTransformed(PyObject*, PyObject*) {
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  return PyBool_FromLong(!(keys.included_ - kUsual).empty());
}

// ---- Calls in modes of their own

/// What `with` statements around a call set: gradients, inference mode, or autocast of a kind of device.
struct Mode {
  enum class Kind { Grad, Inference, Autocast } kind;
  bool is_enabled;
  // Of autocast:
  c10::DeviceType device;
  c10::ScalarType dtype;
  bool keeps_casts;
};

/// Autocast as a `with torch.autocast` sets it, but for what that drops at its end (KeptCasts).
class AutocastMode {
 public:
  explicit AutocastMode(const Mode& mode)
      : device_(mode.device),
        was_enabled_(at::autocast::is_autocast_enabled(device_)),
        kept_casts_(at::autocast::is_autocast_cache_enabled()),
        dtype_(at::autocast::get_autocast_dtype(device_)) {
    set(mode.is_enabled, mode.dtype, mode.keeps_casts);
    at::autocast::increment_nesting();
  }
  ~AutocastMode() {
    at::autocast::decrement_nesting();
    set(was_enabled_, dtype_, kept_casts_);
  }
  AutocastMode(const AutocastMode&) = delete;
  AutocastMode& operator=(const AutocastMode&) = delete;

 private:
  void set(bool is_enabled, c10::ScalarType dtype, bool keeps_casts) const {
    at::autocast::set_autocast_enabled(device_, is_enabled);
    at::autocast::set_autocast_dtype(device_, dtype);
    at::autocast::set_autocast_cache_enabled(keeps_casts);
  }

  const c10::DeviceType device_;
  const bool was_enabled_, kept_casts_;
  const c10::ScalarType dtype_;
};

struct CallInModes {
  PyObject_HEAD PyObject* function;
  PyObject* described;
  std::vector<Mode>* modes;  // the outermost first
  vectorcallfunc vectorcall;
};

CallInModes* asCallInModes(PyObject* object) {
  return reinterpret_cast<CallInModes*>(object);
}

PyObject* callInside(const CallInModes& call, size_t depth, PyObject* const* arguments, size_t count, PyObject* names) {
  if (depth == call.modes->size()) return PyObject_Vectorcall(call.function, arguments, count, names);
  const Mode& mode = (*call.modes)[depth];
  switch (mode.kind) {
    case Mode::Kind::Grad: {
      const c10::AutoGradMode set(mode.is_enabled);
      return callInside(call, depth + 1, arguments, count, names);
    }
    case Mode::Kind::Inference: {
      const c10::InferenceMode set(mode.is_enabled);
      return callInside(call, depth + 1, arguments, count, names);
    }
    default: {
      const AutocastMode set(mode);
      return callInside(call, depth + 1, arguments, count, names);
    }
  }
}

PyObject* callInModes(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
  return callInside(*asCallInModes(self), 0, arguments, count, names);
}

/// From ("grad" or "inference", is_enabled) or ("autocast", device, is_enabled, dtype, keeps_casts).
bool readMode(PyObject* described, std::vector<Mode>& modes) {
  const char *kind = nullptr, *device = nullptr;
  int is_enabled = 0, keeps_casts = 0;
  PyObject* dtype = nullptr;
  if (!PyTuple_Check(described)) {
    PyErr_SetString(PyExc_TypeError, "a mode is a tuple");
    return false;
  }
  if (PyTuple_GET_SIZE(described) == 2) {
    if (!PyArg_ParseTuple(described, "sp", &kind, &is_enabled)) return false;
    const bool is_grad = std::strcmp(kind, "grad") == 0;
    modes.push_back({is_grad ? Mode::Kind::Grad : Mode::Kind::Inference, is_enabled != 0, {}, {}, false});
    return true;
  }
  if (!PyArg_ParseTuple(described, "sspOp", &kind, &device, &is_enabled, &dtype, &keeps_casts)) return false;
  if (!THPDtype_Check(dtype)) {
    PyErr_SetString(PyExc_TypeError, "a mode of autocast has a dtype");
    return false;
  }
  modes.push_back(
      {Mode::Kind::Autocast, is_enabled != 0, c10::Device(device).type(),
       reinterpret_cast<THPDtype*>(dtype)->scalar_type, keeps_casts != 0});
  return true;
}

PyObject* newCallInModes(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject *function = nullptr, *described = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO!", &function, &PyTuple_Type, &described)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  asCallInModes(self)->function = Py_NewRef(function);
  asCallInModes(self)->described = Py_NewRef(described);
  asCallInModes(self)->modes = new std::vector<Mode>();
  asCallInModes(self)->vectorcall = callInModes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); i++) {
    if (readMode(PyTuple_GET_ITEM(described, i), *asCallInModes(self)->modes)) continue;
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

int visitCallInModes(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(asCallInModes(self)->function);
  Py_VISIT(asCallInModes(self)->described);
  return 0;
}

int clearCallInModes(PyObject* self) {
  Py_CLEAR(asCallInModes(self)->function);
  Py_CLEAR(asCallInModes(self)->described);
  return 0;
}

void deleteCallInModes(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clearCallInModes(self);
  delete asCallInModes(self)->modes;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef members[] = {
    {"function", T_OBJECT_EX, offsetof(CallInModes, function), READONLY, nullptr},
    {"modes", T_OBJECT_EX, offsetof(CallInModes, described), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallInModes, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A function that is called in modes: (function, modes), the outermost first.")},
    {Py_tp_new, reinterpret_cast<void*>(newCallInModes)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(visitCallInModes)},
    {Py_tp_clear, reinterpret_cast<void*>(clearCallInModes)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deleteCallInModes)},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec spec = {
    "cresset._C._CallInModes", sizeof(CallInModes), 0,
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
  module.attr("_CallInModes") = kind;
}

}  // namespace cresset::python
