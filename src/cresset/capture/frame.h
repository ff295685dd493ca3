// A frame of CPython between two of its instructions, for code that runs some of them itself.
//
// CPython's evaluator begins a frame wherever the frame says that it stands, with whatever is on its stack: so a frame
// may be run by another evaluator for a while and given back in the middle (`continueInPython`). The layout of frames
// is private to each version of CPython; only this header and frame.cpp know it.
//
// Positions are code units: instructions and inline caches, two bytes each.
//
// Thread-safety: a frame belongs to the thread that runs it, and all functions need the GIL.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

#if PY_VERSION_HEX >= 0x030b0000
using RawFrame = _PyInterpreterFrame;
#else
using RawFrame = PyFrameObject;
#endif

/// Variables and cells of frames of this code.
int numVariablesOf(PyCodeObject* code);

class Frame {
 public:
  explicit Frame(RawFrame* raw) : raw_(raw) {}

  RawFrame* raw() const { return raw_; }
  PyCodeObject* code() const;
  /// Borrowed, as are the others. The function is null on CPython 3.10.
  PyObject* function() const;
  PyObject* globals() const;
  PyObject* builtins() const;
  /// Null unless the code has names that are not compiled to places (classes, modules).
  PyObject* names() const;
  bool isOfGenerator() const;

  /// Variables, cells of variables, then the stack.
  PyObject** slots() const;
  /// Variables and cells.
  int numVariables() const;
  PyObject** stackBase() const { return slots() + numVariables(); }

  /// Of the next instruction.
  int position() const;
  /// Shows the instruction that runs to tracebacks and to `sys._getframe`.
  void setRunning(int position);

  /// The frame becomes the thread's current one, as when CPython's evaluator begins it. False (without an exception) if
  /// the program is nested too deeply: CPython's evaluator says so better. Returns the top of its stack in `top`.
  bool enter(PyThreadState* thread, PyObject**& top);
  /// The reverse of enter: its next instruction is at `position`.
  void leave(PyThreadState* thread, PyObject** top, int position);
  /// After leave. The frame is CPython's from here on, and gone when this returns. Returns the frame's result, a new
  /// reference; or null with an exception set.
  PyObject* continueInPython(PyThreadState* thread);
  /// The same if the instruction at `position` has raised and nothing in the frame handles it. Needs no leave before.
  PyObject* raiseInPython(PyThreadState* thread, PyObject** top, int position);

 private:
  RawFrame* raw_;
};

/// Throws away what is on the stack above `base`.
void clearStack(PyObject** base, PyObject**& top);

}  // namespace cresset::capture
