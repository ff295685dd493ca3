#include "cresset/capture/caller.h"

#include <cstddef>

#include <structmember.h>

#include "cresset/capture/capture.h"
#include "cresset/capture/monitoring.h"

namespace cresset::capture {
namespace {

enum class Mode : char { Unknown, Captures, Plain };

struct Caller {
  PyObject_HEAD PyObject* target;
  PyObject* options;
  PyObject* watchers;
  PyObject* is_off;
  int plan_limit;
  bool of_class, is_simple;
  Mode mode;
  vectorcallfunc vectorcall;
};

Caller* asCaller(PyObject* object) {
  return reinterpret_cast<Caller*>(object);
}

/// What the call is to run: a new reference, or null with an exception set.
PyObject* callableOf(const Caller& self) {
  if (!self.of_class) return Py_NewRef(self.target);
  static PyObject* const name = PyUnicode_InternFromString("forward");
  PyObject* function = _PyType_Lookup(Py_TYPE(self.target), name);
  if (function == nullptr || !PyFunction_Check(function)) return PyObject_GetAttr(self.target, name);
  return PyMethod_New(function, self.target);
}

#if CRESSET_KNOWS_FRAMES
/// The code of a function or method of Python's; borrowed; null for anything else.
PyObject* codeOf(PyObject* callable) {
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  return PyFunction_Check(callable) ? PyFunction_GET_CODE(callable) : nullptr;
}

/// Whether a function of no arguments returns something true; -1 with an exception set.
int isTrue(PyObject* function) {
  PyObject* answer = PyObject_CallNoArgs(function);
  int is_true = answer == nullptr ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  return is_true;
}

bool isWatched(const Caller& self) {
  PyObject* watchers = Py_NewRef(self.watchers);
  bool is_watched = false;
  for (Py_ssize_t i = 0; !is_watched && i < PyTuple_GET_SIZE(watchers); i++) {
    int is_true = isTrue(PyTuple_GET_ITEM(watchers, i));
    if (is_true < 0) PyErr_Clear();
    is_watched = is_true != 0;
  }
  Py_DECREF(watchers);
  return is_watched;
}

/// False with an exception set.
bool findMode(Caller& self) {
  int is_true = isTrue(self.is_off);
  if (is_true < 0) return false;
  self.mode = is_true == 1 ? Mode::Plain : Mode::Captures;
  return true;
}

/// The values without names as a new tuple, and those with names as a new dict; false with an exception set.
bool unpack(const Arguments& arguments, PyObject*& positional, PyObject*& keywords) {
  Py_ssize_t count = PyVectorcall_NARGS(arguments.count);
  positional = PyTuple_New(count);
  keywords = PyDict_New();
  if (positional == nullptr || keywords == nullptr) return false;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(positional, i, Py_NewRef(arguments.values[i]));
  Py_ssize_t named = arguments.names == nullptr ? 0 : PyTuple_GET_SIZE(arguments.names);
  for (Py_ssize_t i = 0; i < named; i++) {
    if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(arguments.names, i), arguments.values[count + i])) return false;
  }
  return true;
}

PyObject* callBy(Caller& self, PyObject* callable, const Arguments& arguments) {
  if (self.mode == Mode::Unknown) {
    // Tools have these frames, and the layout of frames is not tested while they watch.
    PyObject* watched = codeOf(callable);
    if (watched != nullptr && cresset_is_watched(watched)) return arguments.call(callable);
    if (!findMode(self)) return nullptr;
  }
  PyObject* code = self.mode == Mode::Captures ? codeOf(callable) : nullptr;
  if (code == nullptr || isWatched(self)) return arguments.call(callable);
  if (self.is_simple) return callCaptured(callable, arguments, code, {self.options, self.plan_limit, false});
  PyObject *positional = nullptr, *keywords = nullptr, *result = nullptr;
  if (unpack(arguments, positional, keywords)) {
    result = PyObject_CallMethod(self.options, "call", "OOOO", callable, positional, keywords, code);
  }
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  return result;
}
#else
PyObject* callBy(Caller&, PyObject* callable, const Arguments& arguments) {
  return arguments.call(callable);
}
#endif

PyObject* call(PyObject* object, PyObject* const* values, size_t count, PyObject* names) {
  Caller& self = *asCaller(object);
  if (self.target == nullptr) return PyErr_Format(PyExc_RuntimeError, "%R has nothing to call", object);
  PyObject* callable = callableOf(self);
  if (callable == nullptr) return nullptr;
  Py_INCREF(object);
  PyObject* options = Py_NewRef(self.options);  // which a call of __init__ takes away
  PyObject* result = callBy(self, callable, {values, count, names, nullptr});
  Py_DECREF(options);
  Py_DECREF(object);
  Py_DECREF(callable);
  return result;
}

int initialize(PyObject* object, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"target", "options", "watchers", "is_off", "of_class", nullptr};
  Caller& self = *asCaller(object);
  PyObject *target, *options, *watchers, *is_off;
  int of_class = 0;
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "OOO!O|p", const_cast<char**>(kNames), &target, &options, &PyTuple_Type, &watchers,
          &is_off, &of_class)) {
    return -1;
  }
  PyObject* limit = PyObject_GetAttrString(options, "cache_limit");
  PyObject* simple = limit == nullptr ? nullptr : PyObject_GetAttrString(options, "is_simple");
  if (simple != nullptr) {
    self.plan_limit = int(PyLong_AsLong(limit));
    self.is_simple = simple == Py_True;
  }
  Py_XDECREF(limit);
  Py_XDECREF(simple);
  if (PyErr_Occurred()) return -1;
  Py_XSETREF(self.target, Py_NewRef(target));
  Py_XSETREF(self.options, Py_NewRef(options));
  Py_XSETREF(self.watchers, Py_NewRef(watchers));
  Py_XSETREF(self.is_off, Py_NewRef(is_off));
  self.of_class = of_class != 0;
  self.vectorcall = call;
  return 0;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Caller* self = asCaller(object);
  Py_VISIT(self->target);
  Py_VISIT(self->options);
  Py_VISIT(self->watchers);
  Py_VISIT(self->is_off);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  Caller* self = asCaller(object);
  Py_CLEAR(self->target);
  Py_CLEAR(self->options);
  Py_CLEAR(self->watchers);
  Py_CLEAR(self->is_off);
  return 0;
}

void deallocate(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef members[] = {
    {"target", T_OBJECT_EX, offsetof(Caller, target), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Caller, vectorcall), READONLY, nullptr},
    {"options", T_OBJECT_EX, offsetof(Caller, options), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_init, reinterpret_cast<void*>(initialize)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec spec = {
    "cresset._frames.Caller", sizeof(Caller), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

PyObject* callDirectly(PyObject*, PyObject* kind) {
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(kind);
  if (!PyType_Check(kind) || type->tp_call != PyVectorcall_Call) {
    return PyErr_Format(PyExc_TypeError, "a class without a __call__ of its own is wanted");
  }
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  return Py_NewRef(kind);
}

bool addCallerClass(PyObject* module) {
  PyObject* type = PyType_FromSpec(&spec);
  int error = type == nullptr ? -1 : PyModule_AddObjectRef(module, "Caller", type);
  Py_XDECREF(type);
  return error == 0;
}

}  // namespace cresset::capture
