// The module cresset._frames. It needs no torch: the cut-point suite (tests/python/frame_cuts.py) compiles it for other
// Pythons by itself.
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
  return reason == nullptr ? Py_NewRef(Py_None) : PyUnicode_FromString(reason);
}

PyMethodDef methods[] = {
    {"call_with_cut", call, METH_VARARGS, nullptr},
    {"why_frames_are_unknown", why, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_frames", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__frames();
PyMODINIT_FUNC PyInit__frames() {
  return PyModule_Create(&module);
}
