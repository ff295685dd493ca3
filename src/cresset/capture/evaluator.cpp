#include "cresset/capture/evaluator.h"

#if CRESSET_KNOWS_FRAMES
#include <utility>

#include "cresset/capture/handler.h"

namespace cresset::capture {
namespace {

thread_local PyObject* interruption = nullptr;  // owned

/// Whether a variable, or a tuple of arguments, has the object. A frame's f_locals would keep what it has.
bool holds(PyObject* const* values, Py_ssize_t count, PyObject* object) {
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* value = values[i];
    if (value != nullptr && PyCell_Check(value)) value = PyCell_GET(value);
    if (value == nullptr) continue;
    if (value == object) return true;
    if (PyTuple_Check(value) && holds(PySequence_Fast_ITEMS(value), PyTuple_GET_SIZE(value), object)) return true;
  }
  return false;
}

Frame frameOf(PyFrameObject* object) {
#if PY_VERSION_HEX >= 0x030b0000
  return Frame(object->f_frame);
#else
  return Frame(object);
#endif
}

}  // namespace

constinit std::array<Handler, 256> handlers = {};

Registration::Registration(int opcode, Handler handler) {
  handlers[size_t(opcode)] = handler;
}

bool isOfHandler(PyObject* traceback) {
  bool found = false;
  while (!found && traceback != nullptr && PyTraceBack_Check(traceback)) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(traceback);
    auto* caller = reinterpret_cast<PyObject*>(PyFrame_GetBack(entry->tb_frame));
    const Frame frame = frameOf(entry->tb_frame);
    found = caller != nullptr && holds(frame.slots(), frame.numVariables(), caller);
    Py_XDECREF(caller);
    traceback = reinterpret_cast<PyObject*>(entry->tb_next);
  }
  return found;
}

void dropError() {
  if (PyErr_Occurred() == nullptr) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const bool is_error = PyErr_GivenExceptionMatches(type, PyExc_Exception) && !isOfHandler(traceback);
  if (interruption == nullptr && !is_error) {
    interruption = value;
  } else {
    Py_XDECREF(value);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
}

bool hasInterruption() {
  return interruption != nullptr;
}

bool raiseInterruption() {
  PyObject* exception = std::exchange(interruption, nullptr);
  if (exception == nullptr) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  return true;
}

bool pollAtBackEdge() {
  // CPython asks at each edge; asking costs more here, and a few rounds do not show.
  static thread_local unsigned edges = 0;
  if (++edges % 64 != 0) return true;
  if (Py_MakePendingCalls() != 0) return false;
  if (edges % 4096 == 0) {
    PyThreadState* thread = PyEval_SaveThread();
    PyEval_RestoreThread(thread);
  }
  return true;
}

#if PY_VERSION_HEX >= 0x030b0000
namespace {

struct ExceptionHandler {
  int target;
  int depth;
  bool keeps_position;
};

/// A number of the exception table: six bits a byte, highest first; bit 6 says that more follow.
int readNumber(const unsigned char*& at) {
  int number = *at & 63;
  while ((*at++ & 64) != 0) number = number << 6 | (*at & 63);
  return number;
}

bool findHandler(PyCodeObject* code, int position, ExceptionHandler& handler) {
  const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(code->co_exceptiontable));
  const auto* end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
  while (at < end) {
    int start = readNumber(at);
    int size = readNumber(at);
    int target = readNumber(at);
    int depth_and_flag = readNumber(at);
    if (position < start) return false;  // entries are in order
    if (position < start + size) {
      handler = {target, depth_and_flag >> 1, (depth_and_flag & 1) != 0};
      return true;
    }
  }
  return false;
}

/// The exception that is set, with its traceback; none is set afterwards.
PyObject* takeException() {
#if PY_VERSION_HEX >= 0x030c0000
  return PyErr_GetRaisedException();
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback == nullptr ? Py_None : traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

}  // namespace

bool unwind(Machine& machine) {
  int position = machine.instruction->position;
  ExceptionHandler handler;
  if (!findHandler(machine.code, position, handler)) return false;
  const int raised_at = std::exchange(machine.raised_at, -1);
  if (raised_at >= 0) {
    position = raised_at;  // which the traceback has already
  } else if (position >= machine.code->_co_firsttraceable) {
    PyFrameObject* frame = PyThreadState_GetFrame(machine.thread);
    if (frame != nullptr) PyTraceBack_Here(frame);
    Py_XDECREF(reinterpret_cast<PyObject*>(frame));
  }
  clearStack(machine.frame.stackBase() + handler.depth, machine.top);
  if (handler.keeps_position) machine.push(PyLong_FromLong(position));
  machine.push(takeException());
  machine.next = handler.target;
  machine.keywords = nullptr;
  machine.keywords_at = -1;
  return true;
}

bool hasHandler(const Machine& machine) {
  ExceptionHandler handler;
  return findHandler(machine.code, machine.instruction->position, handler);
}
#else
// Blocks, and what handlers find on the stack, are left to CPython's evaluator.
bool unwind(Machine&) {
  return false;
}

bool hasHandler(const Machine&) {
  return false;
}
#endif

}  // namespace cresset::capture
#endif
