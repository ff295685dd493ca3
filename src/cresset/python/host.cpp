// What scripts ask of their host: where printed text goes, and whether the user wants them to stop.
#include "cresset/python/common.h"

#include <iostream>
#include <thread>

#include "cresset/interpreter/interpreter.h"
#include "cresset/support/print_handler.h"

namespace cresset::python {

void rememberInterrupt(py::error_already_set error);

namespace {

std::thread::id main_thread;

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
    PyErr_WriteUnraisable(out); // a script's print has no way to fail
  }
}

/// Signals reach Python's main thread only, so other threads need not ask.
bool interruptRequested() {
  if (std::this_thread::get_id() != main_thread || pythonIsGoingAway()) return false;
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  rememberInterrupt(py::error_already_set());
  return true;
}

} // namespace

void bindHost(py::module_&) {
  // The extension may be imported from any thread; the interpreter knows which is its main one.
  main_thread = std::this_thread::get_id();
  setPrintHandler(printToPython);
  setInterruptCheck(interruptRequested);
}

} // namespace cresset::python
