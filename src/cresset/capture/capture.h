// Frames that are captured: where plans are known they run; where none is, a recorder in Python follows the
// instructions and makes one; everything else runs as it stands.
//
// Plans belong to the code object, with which they are freed, and each to the instruction that it begins at. A frame
// that reaches an instruction tries its plans in the order in which they were made. If none applies, the instruction,
// and what follows, is recorded, a bounded number of times.
//
// A callee that is recorded as part of its caller's plan ("inline") leaves its own plans alone.
//
// Thread-safety: all under the GIL; which frames a thread captures or records is the thread's own.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

/// Calls `callable(*arguments, **keywords)` (`keywords` may be null) with the frame of `code` captured, if the call
/// begins one. `new_recorder(code, position)` returns a recorder. A new reference, or null with an exception set.
PyObject* callCaptured(
    PyObject* callable, PyObject* arguments, PyObject* keywords, PyObject* code, PyObject* new_recorder, int limit);

/// The same with no frame captured that begins meanwhile on this thread.
PyObject* callPlainly(PyObject* callable, PyObject* arguments, PyObject* keywords);

/// Whether a compiled function runs on this thread, and nothing within it that is to run plainly.
bool isCapturing();

/// Forgets the plans of a code object.
void forgetPlans(PyObject* code);

/// A list of (start, plan) of a code object; a new reference.
PyObject* plansOf(PyObject* code);

bool addViewClass(PyObject* module);

}  // namespace cresset::capture
