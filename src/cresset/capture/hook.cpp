#include "cresset/capture/hook.h"

#if CRESSET_KNOWS_FRAMES
#include "cresset/capture/monitoring.h"

namespace cresset::capture {
namespace {

thread_local FrameFunction frame_function = nullptr;
long num_hooks = 0;  // under the GIL
_PyFrameEvalFunction previous = nullptr;
/// The frame that this thread passes on to `previous` right now.
thread_local RawFrame* passed_on = nullptr;

PyObject* evaluate(PyThreadState* thread, RawFrame* frame, int throwing) {
  // A function that was set after ours, and found ours set again later, passes the frame back.
  if (frame == passed_on) return _PyEval_EvalFrameDefault(thread, frame, throwing);
  if (frame_function != nullptr && !throwing) {
    PyObject* result = nullptr;
    if (!cresset_is_watched(Frame(frame).code()) && frame_function(thread, frame, result)) return result;
  }
  _PyFrameEvalFunction next = previous;
  if (next == nullptr || next == evaluate || next == _PyEval_EvalFrameDefault) {
    return _PyEval_EvalFrameDefault(thread, frame, throwing);
  }
  RawFrame* before = passed_on;
  passed_on = frame;
  PyObject* result = next(thread, frame, throwing);
  passed_on = before;
  return result;
}

}  // namespace

FrameFunction exchangeFrameFunction(FrameFunction function) {
  FrameFunction before = frame_function;
  frame_function = function;
  return before;
}

FrameHook::FrameHook() {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  // Others may have removed ours with theirs. One that was set after ours passes on to it.
  if (num_hooks++ > 0 && current != _PyEval_EvalFrameDefault) return;
  previous = current;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
}

FrameHook::~FrameHook() {
  if (--num_hooks > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  // A function that was set after ours passes on to it: then ours stays, and does nothing.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, previous == evaluate ? _PyEval_EvalFrameDefault : previous);
  }
}

}  // namespace cresset::capture
#endif
