#include "cresset/capture/hook.h"

#if CRESSET_KNOWS_FRAMES
#include "cresset/capture/monitoring.h"

namespace cresset::capture {
namespace {

thread_local FrameFunction frame_function = nullptr;
long num_hooks = 0;  // under the GIL
_PyFrameEvalFunction previous = nullptr;

PyObject* evaluate(PyThreadState* thread, RawFrame* frame, int throwing) {
  if (frame_function != nullptr && !throwing) {
    PyObject* result = nullptr;
    if (!cresset_is_watched(Frame(frame).code()) && frame_function(thread, frame, result)) return result;
  }
  _PyFrameEvalFunction next = previous;
  return next == nullptr || next == evaluate ? _PyEval_EvalFrameDefault(thread, frame, throwing)
                                             : next(thread, frame, throwing);
}

}  // namespace

FrameFunction exchangeFrameFunction(FrameFunction function) {
  FrameFunction before = frame_function;
  frame_function = function;
  return before;
}

FrameHook::FrameHook() {
  if (num_hooks++ > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
}

FrameHook::~FrameHook() {
  if (--num_hooks > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  // Somebody who has set another function meanwhile passes on to ours: then it stays, and does nothing.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter, previous == evaluate ? _PyEval_EvalFrameDefault : previous);
  }
}

}  // namespace cresset::capture
#endif
