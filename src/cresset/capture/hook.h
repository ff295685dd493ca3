// The function that CPython calls to run a frame (PEP 523), while frames are wanted here.
//
// It is set while at least one FrameHook lives and passes on to what was set before, to debuggers', profilers' and
// other compilers' functions.
#pragma once

#include "cresset/capture/frame.h"

namespace cresset::capture {

/// Runs a frame or returns false; then CPython's evaluator runs it. A result is a new reference or null with an
/// exception set.
using FrameFunction = bool (*)(PyThreadState* thread, RawFrame* frame, PyObject*& result);

/// Who gets the frames that this thread begins; null if none does. Returns who got them before.
FrameFunction exchangeFrameFunction(FrameFunction function);

/// Keeps the hook set. Needs the GIL, also where it ends.
class FrameHook {
 public:
  FrameHook();
  ~FrameHook();
  FrameHook(const FrameHook&) = delete;
  FrameHook& operator=(const FrameHook&) = delete;
};

}  // namespace cresset::capture
