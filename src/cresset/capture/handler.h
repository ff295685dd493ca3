// How files of handlers declare them: `INSTRUCTION(LOAD_CONST) { … }` is the function that runs LOAD_CONST. It returns
// an Outcome; `machine` and `argument` are its parameters.
#pragma once

#include "cresset/capture/evaluator.h"

namespace cresset::capture {

/// Puts a handler into the table.
struct Registration {
  Registration(int opcode, Handler handler);
};

#define INSTRUCTION(NAME)                                          \
  static Outcome run_##NAME(Machine& machine, int argument);       \
  static const Registration registration_##NAME(NAME, run_##NAME); \
  static Outcome run_##NAME([[maybe_unused]] Machine& machine, [[maybe_unused]] int argument)

/// The truth of the topmost value, which is taken from the stack; -1 for an exception.
inline int popTruth(Machine& machine) {
  PyObject* value = machine.pop();
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
  Py_DECREF(value);
  return truth;
}

inline PyObject* newBool(int truth) {
  return truth < 0 ? nullptr : Py_NewRef(truth ? Py_True : Py_False);
}

}  // namespace cresset::capture
