// The module cresset._frames. It needs no torch: the cut-point suite (tests/python/frame_cuts.py) compiles it for other
// Pythons by itself.
#include "cresset/capture/caller.h"
#include "cresset/capture/capture.h"
#include "cresset/capture/evaluator.h"
#include "cresset/capture/kept.h"
#include "cresset/capture/plan.h"
#include "cresset/capture/read_cache.h"
#include "cresset/capture/runner.h"

using namespace cresset::capture;

namespace {

PyObject* call(PyObject*, PyObject* arguments) {
  PyObject *callable, *positional, *keywords, *code;
  long count = 0;
  if (!PyArg_ParseTuple(
          arguments, "OO!O!O!l", &callable, &PyTuple_Type, &positional, &PyDict_Type, &keywords, &PyCode_Type, &code,
          &count)) {
    return nullptr;
  }
  if (whyFramesAreUnknown() != nullptr) {
    PyErr_SetString(PyExc_RuntimeError, whyFramesAreUnknown());
    return nullptr;
  }
  long run = 0;
  PyObject* result = callWithCut(callable, positional, keywords, code, count, run);
  return result == nullptr ? nullptr : Py_BuildValue("Nl", result, run);
}

PyObject* why(PyObject*, PyObject*) {
  const char* reason = whyFramesAreUnknown();
#if CRESSET_KNOWS_FRAMES
  if (raiseInterruption()) return nullptr;
#endif
  return reason == nullptr ? Py_NewRef(Py_None) : PyUnicode_FromString(reason);
}

#if CRESSET_KNOWS_FRAMES
PyObject* captured(PyObject*, PyObject* arguments) {
  PyObject *callable, *positional, *keywords, *code, *recorder;
  int limit = 0, whole = 0;
  if (!PyArg_ParseTuple(
          arguments, "OO!O!O!Oip", &callable, &PyTuple_Type, &positional, &PyDict_Type, &keywords, &PyCode_Type, &code,
          &recorder, &limit, &whole)) {
    return nullptr;
  }
  const bool is_known = whyFramesAreUnknown() == nullptr;
  if (raiseInterruption()) return nullptr;
  if (!is_known) return PyObject_Call(callable, positional, keywords);
  PyObject* const* values = reinterpret_cast<PyTupleObject*>(positional)->ob_item;
  return callCaptured(
      callable, {values, size_t(PyTuple_GET_SIZE(positional)), nullptr, keywords}, code, {recorder, limit, whole != 0});
}

PyObject* plainly(PyObject*, PyObject* arguments) {
  PyObject *callable, *positional, *keywords;
  if (!PyArg_ParseTuple(arguments, "OO!O!", &callable, &PyTuple_Type, &positional, &PyDict_Type, &keywords)) {
    return nullptr;
  }
  return callPlainly(callable, positional, keywords);
}

/// (code, recorder or None)
bool readOwner(PyObject* arguments, PyObject*& code, PyObject*& recorder) {
  if (!PyArg_ParseTuple(arguments, "O!O", &PyCode_Type, &code, &recorder)) return false;
  if (recorder == Py_None) recorder = nullptr;
  return true;
}

PyObject* forget(PyObject*, PyObject* arguments) {
  PyObject *code, *recorder;
  if (!readOwner(arguments, code, recorder)) return nullptr;
  forgetPlans(code, recorder);
  return Py_NewRef(Py_None);
}

PyObject* plans(PyObject*, PyObject* arguments) {
  PyObject *code, *recorder;
  if (!readOwner(arguments, code, recorder)) return nullptr;
  return plansOf(code, recorder);
}

PyObject* givenBack(PyObject*, PyObject* arguments) {
  PyObject *code, *recorder;
  if (!readOwner(arguments, code, recorder)) return nullptr;
  return PyBool_FromLong(isGivenBack(code, recorder));
}

PyObject* history(PyObject*, PyObject* arguments) {
  PyObject *code, *recorder;
  if (!readOwner(arguments, code, recorder)) return nullptr;
  return historyOf(code, recorder);
}

PyObject* capturing(PyObject*, PyObject*) {
  return PyBool_FromLong(isCapturing());
}

PyObject* raiseOfHandler(PyObject*, PyObject* error) {
  if (!PyExceptionInstance_Check(error)) return PyErr_Format(PyExc_TypeError, "an exception is wanted");
  PyObject* traceback = PyException_GetTraceback(error);
  const bool found = traceback != nullptr && isOfHandler(traceback);
  Py_XDECREF(traceback);
  if (!found) return Py_NewRef(Py_None);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  return nullptr;
}

PyObject* compareReads(PyObject*, PyObject* flag) {
  const int compares = PyObject_IsTrue(flag);
  if (compares < 0) return nullptr;
  compareCachedReads(compares != 0);
  return Py_NewRef(Py_None);
}

PyObject* version(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a class is wanted");
  return PyLong_FromUnsignedLong(versionOf(reinterpret_cast<PyTypeObject*>(type)));
}
#endif

/// member_of(class, name, default=None): what the class or one of its bases has by the name, as it is in their dicts.
PyObject* memberOf(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count < 2 || count > 3 || !PyType_Check(arguments[0]) || !PyUnicode_CheckExact(arguments[1])) {
    return PyErr_Format(PyExc_TypeError, "a class, a name and perhaps a default are wanted");
  }
  PyObject* found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(arguments[0]), arguments[1]);
  return Py_NewRef(found != nullptr ? found : count == 3 ? arguments[2] : Py_None);
}

PyMethodDef methods[] = {
    {"member_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(memberOf)), METH_FASTCALL, nullptr},
#if CRESSET_KNOWS_FRAMES
    {"call_captured", captured, METH_VARARGS, nullptr},
    {"call_plainly", plainly, METH_VARARGS, nullptr},
    {"is_capturing", capturing, METH_NOARGS, nullptr},
    {"forget_plans", forget, METH_VARARGS, nullptr},
    {"is_given_back", givenBack, METH_VARARGS, nullptr},
    {"plans_of", plans, METH_VARARGS, nullptr},
    {"history_of", history, METH_VARARGS, nullptr},
    {"new_plan", newPlan, METH_VARARGS, nullptr},
    {"version_of", version, METH_O, nullptr},
    {"compare_cached_reads", compareReads, METH_O,
     "For tests: whether what plans take from earlier runs is compared with what their steps find."},
    {"kept", kept, METH_VARARGS, nullptr},
    {"kept_by_class", keptByClass, METH_VARARGS, nullptr},
    {"raise_of_handler", raiseOfHandler, METH_O, "Raises an exception again that a signal's handler has raised."},
#endif
    {"call_directly", callDirectly, METH_O, nullptr},
    {"call_with_cut", call, METH_VARARGS, nullptr},
    {"why_frames_are_unknown", why, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_frames", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__frames();
PyMODINIT_FUNC PyInit__frames() {
  PyObject* made = PyModule_Create(&module);
  if (made != nullptr && !addCallerClass(made)) Py_CLEAR(made);
  if (made != nullptr && PyModule_AddStringConstant(made, "TOOLS_WATCH", kToolsWatch)) Py_CLEAR(made);
#if CRESSET_KNOWS_FRAMES
  if (made != nullptr && (!addPlanClass(made) || !addViewClass(made))) Py_CLEAR(made);
#endif
  return made;
}
