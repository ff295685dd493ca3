// Frames that are captured: where plans are known they run; where none is, a recorder in Python follows the
// instructions and makes one; everything else runs as it stands.
//
// Plans belong to the code object, with which they are freed, and each to the instruction that it begins at. A frame
// that reaches an instruction tries its plans, those first that have lately applied more often. If none applies, the
// instruction, and what follows, is recorded, a bounded number of times.
//
// What a recorder answers may be an exception, which the program gets at the instruction that was recorded.
//
// A callee that is recorded as part of its caller's plan ("inline") leaves its own plans alone.
//
// A code object whose plans save less than its instructions cost here is CPython's again: counts of steps and
// instructions say so, not times, so that each process decides alike.
//
// Thread-safety: all under the GIL; which frames a thread captures or records is the thread's own.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

/// How a compiled function is captured.
struct CaptureOptions {
  PyObject* recorder = nullptr;  // recorder(code, position, view) is a recorder; plans are kept apart by it; borrowed
  int plan_limit = 0;            // from any one instruction on
  bool whole = false;            // a call that would need more plans is an error
};

/// What a function is called with: as vectorcall takes it, or with keywords in a dict. All borrowed.
struct Arguments {
  PyObject* const* values = nullptr;
  size_t count = 0;              // with vectorcall's flag
  PyObject* names = nullptr;     // a tuple, of the values after the counted ones; or null
  PyObject* keywords = nullptr;  // a dict, in place of names; or null

  PyObject* call(PyObject* callable) const {
    return keywords == nullptr ? PyObject_Vectorcall(callable, values, count, names)
                               : PyObject_VectorcallDict(callable, values, count, keywords);
  }
};

/// Calls `callable` with the frame of `code` captured, if the call begins one. A new reference, or null with an
/// exception set.
PyObject* callCaptured(PyObject* callable, const Arguments& arguments, PyObject* code, const CaptureOptions& options);

/// The same with no frame captured that begins meanwhile on this thread.
PyObject* callPlainly(PyObject* callable, PyObject* arguments, PyObject* keywords);

/// Whether a compiled function runs on this thread, and nothing within it that is to run plainly.
bool isCapturing();

/// Forgets the plans of a code object: those of one maker of recorders, or all (null).
void forgetPlans(PyObject* code, const PyObject* recorder);

/// A list of (start, plan) of a code object, of one maker of recorders or of all (null); a new reference.
PyObject* plansOf(PyObject* code, const PyObject* recorder);

/// Whether a code object is CPython's again, for one maker of recorders.
bool isGivenBack(PyObject* code, const PyObject* recorder);

/// What frames of a code object did, for one maker of recorders: (frames, recordings, nanoseconds in recorders,
/// {position where Python's instructions began to run: (how often, nanoseconds on average until a plan ran or the frame
/// ended)}); a new reference.
PyObject* historyOf(PyObject* code, const PyObject* recorder);

bool addViewClass(PyObject* module);

}  // namespace cresset::capture
