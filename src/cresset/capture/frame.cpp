#include "cresset/capture/frame.h"

#if CRESSET_KNOWS_FRAMES
namespace cresset::capture {

void clearStack(PyObject** base, PyObject**& top) {
  while (top > base) Py_XDECREF(*--top);
}

int numVariablesOf(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030b0000
  return code->co_nlocalsplus;
#else
  return code->co_nlocals + int(PyTuple_GET_SIZE(code->co_cellvars) + PyTuple_GET_SIZE(code->co_freevars));
#endif
}

PyObject* Frame::globals() const {
  return raw_->f_globals;
}
PyObject* Frame::builtins() const {
  return raw_->f_builtins;
}
PyObject* Frame::names() const {
  return raw_->f_locals;
}

#if PY_VERSION_HEX >= 0x030b0000

PyCodeObject* Frame::code() const {
#if PY_VERSION_HEX >= 0x030d0000
  return reinterpret_cast<PyCodeObject*>(raw_->f_executable);
#else
  return raw_->f_code;
#endif
}

PyObject* Frame::function() const {
#if PY_VERSION_HEX >= 0x030c0000
  return raw_->f_funcobj;
#else
  return reinterpret_cast<PyObject*>(raw_->f_func);
#endif
}

bool Frame::isOfGenerator() const {
  return raw_->owner == FRAME_OWNED_BY_GENERATOR;
}
PyObject** Frame::slots() const {
  return raw_->localsplus;
}
int Frame::numVariables() const {
  return numVariablesOf(code());
}

namespace {

_Py_CODEUNIT* unitsOf(const Frame& frame) {
  return reinterpret_cast<_Py_CODEUNIT*>(frame.code()->co_code_adaptive);
}

RawFrame*& currentFrame(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return thread->current_frame;
#else
  return thread->cframe->current_frame;
#endif
}

int& recursionRemaining(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030c0000
  return thread->py_recursion_remaining;
#else
  return thread->recursion_remaining;
#endif
}

}  // namespace

#if PY_VERSION_HEX >= 0x030d0000
int Frame::position() const {
  return int(raw_->instr_ptr - unitsOf(*this));
}
void Frame::setRunning(int position) {
  raw_->instr_ptr = unitsOf(*this) + position;
}
#else
int Frame::position() const {
  return int(raw_->prev_instr - unitsOf(*this)) + 1;
}
void Frame::setRunning(int position) {
  raw_->prev_instr = unitsOf(*this) + position;
}
#endif

bool Frame::enter(PyThreadState* thread, PyObject**& top) {
  if (recursionRemaining(thread) <= 1) return false;
  recursionRemaining(thread)--;
  raw_->previous = currentFrame(thread);
#if PY_VERSION_HEX < 0x030c0000
  raw_->is_entry = true;
#endif
  currentFrame(thread) = raw_;
  top = raw_->localsplus + raw_->stacktop;
  raw_->stacktop = -1;  // as CPython's evaluator does: nothing reads the stack while it changes
  return true;
}

void Frame::leave(PyThreadState* thread, PyObject** top, int position) {
  recursionRemaining(thread)++;
  currentFrame(thread) = raw_->previous;
  raw_->stacktop = int(top - raw_->localsplus);
#if PY_VERSION_HEX >= 0x030d0000
  raw_->instr_ptr = unitsOf(*this) + position;
#else
  raw_->prev_instr = unitsOf(*this) + position - 1;
#endif
}

PyObject* Frame::continueInPython(PyThreadState* thread) {
  return _PyEval_EvalFrameDefault(thread, raw_, 0);
}

#if PY_VERSION_HEX >= 0x030d0000
namespace {

/// The first entry of the traceback says where the evaluator was told to look for handlers, the unit after the one that
/// raised. Says what raised.
void correctTraceback(PyCodeObject* code, int position) {
  PyObject* exception = PyErr_GetRaisedException();
  if (exception == nullptr) return;
  auto* entry = reinterpret_cast<PyTracebackObject*>(PyException_GetTraceback(exception));
  if (entry != nullptr) {
    auto* frame = entry->tb_frame;
    if (frame->f_frame->f_executable == reinterpret_cast<PyObject*>(code) &&
        entry->tb_lasti == (position + 1) * int(sizeof(_Py_CODEUNIT))) {
      entry->tb_lasti = position * int(sizeof(_Py_CODEUNIT));
      entry->tb_lineno = PyCode_Addr2Line(code, entry->tb_lasti);
      frame->f_frame->instr_ptr = reinterpret_cast<_Py_CODEUNIT*>(code->co_code_adaptive) + position;
    }
    Py_DECREF(reinterpret_cast<PyObject*>(entry));
  }
  PyErr_SetRaisedException(exception);
}

}  // namespace

PyObject* Frame::raiseInPython(PyThreadState* thread, PyObject** top, int position) {
  auto* code = reinterpret_cast<PyCodeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(this->code())));
  leave(thread, top, position + 1);
  PyObject* result = _PyEval_EvalFrameDefault(thread, raw_, 1);
  if (result == nullptr) correctTraceback(code, position);
  Py_DECREF(reinterpret_cast<PyObject*>(code));
  return result;
}
#else
PyObject* Frame::raiseInPython(PyThreadState* thread, PyObject** top, int position) {
  leave(thread, top, position + 1);
  return _PyEval_EvalFrameDefault(thread, raw_, 1);
}
#endif

#else  // 3.10

PyCodeObject* Frame::code() const {
  return raw_->f_code;
}
PyObject* Frame::function() const {
  return nullptr;
}
bool Frame::isOfGenerator() const {
  return raw_->f_gen != nullptr;
}
PyObject** Frame::slots() const {
  return raw_->f_localsplus;
}
int Frame::numVariables() const {
  return numVariablesOf(code());
}
int Frame::position() const {
  return raw_->f_lasti + 1;
}
void Frame::setRunning(int position) {
  raw_->f_lasti = position;
}

bool Frame::enter(PyThreadState* thread, PyObject**& top) {
  if (thread->recursion_depth + 1 >= Py_GetRecursionLimit()) return false;
  thread->recursion_depth++;
  thread->frame = raw_;
  top = raw_->f_valuestack + raw_->f_stackdepth;
  raw_->f_stackdepth = -1;
  raw_->f_state = FRAME_EXECUTING;
  return true;
}

void Frame::leave(PyThreadState* thread, PyObject** top, int position) {
  thread->recursion_depth--;
  thread->frame = raw_->f_back;
  raw_->f_stackdepth = int(top - raw_->f_valuestack);
  raw_->f_lasti = position - 1;
  raw_->f_state = FRAME_SUSPENDED;
}

PyObject* Frame::continueInPython(PyThreadState* thread) {
  return _PyEval_EvalFrameDefault(thread, raw_, 0);
}

PyObject* Frame::raiseInPython(PyThreadState* thread, PyObject** top, int position) {
  leave(thread, top, position + 1);
  return _PyEval_EvalFrameDefault(thread, raw_, 1);
}

#endif

}  // namespace cresset::capture
#endif
