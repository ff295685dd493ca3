// What scripts ask of their host: where printed text goes, and whether the user wants them to stop.
#include "cresset/python/common.h"

#include <iostream>

#include "cresset/interpreter/interpreter.h"
#include "cresset/support/print_handler.h"

namespace cresset::python {

namespace {

unsigned long main_thread = 0;  // what threading.main_thread().ident says

bool pythonIsGoingAway() {
#if PY_VERSION_HEX >= 0x030d0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

/// Scripts print from any thread, with the GIL released.
void printToPython(const std::string& text) {
  if (pythonIsGoingAway()) {
    std::cout << text;
    return;
  }
  py::gil_scoped_acquire gil;
  // sys.stdout is looked up each time: users and test runners replace it.
  PyObject* out = PySys_GetObject("stdout");
  if (!out || out == Py_None) return;
  py::object stream = py::reinterpret_borrow<py::object>(out);
  py::object string = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!string || PyFile_WriteObject(string.ptr(), stream.ptr(), Py_PRINT_RAW) != 0) {
    PyErr_WriteUnraisable(out);  // a script's print has no way to fail
  }
}

bool interruptRequested() {
  if (pythonIsGoingAway()) return false;
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  rememberInterrupt(py::error_already_set());
  return true;
}

}  // namespace

void prepareThread() {
  // Checks are per thread. Signals reach Python's main thread only, so the others need not ask.
  thread_local bool prepared = false;
  if (prepared) [[likely]]
    return;
  prepared = true;
  if (PyThread_get_thread_ident() == main_thread) setInterruptCheck(interruptRequested);
}

void bindHost(py::module_&) {
  main_thread = py::cast<unsigned long>(py::module_::import("threading").attr("main_thread")().attr("ident"));
  setPrintHandler(printToPython);
}

}  // namespace cresset::python
