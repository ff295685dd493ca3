// Runs single instructions of a frame through CPython's C API.
//
// Whatever an instruction does to the program (calls, attributes, operators) is done by CPython's own functions on the
// program's own objects. What an instruction can't do here, or what would end in an exception without having done
// anything, is left to CPython's evaluator, which runs the frame on from that instruction: so no message is made twice.
//
// The stack may hold nulls where CPython's evaluator has them (before callables, saved variables).
#pragma once

#include <array>

#include "cresset/capture/frame.h"
#include "cresset/capture/instructions.h"

namespace cresset::capture {

enum class Outcome {
  Next,   // the next instruction follows
  Jump,   // it is at `next`
  Raise,  // an exception is set
  Leave,  // nothing was done: CPython's evaluator has to run the frame on from here
};

struct Machine {
  PyThreadState* thread;
  Frame frame;
  PyCodeObject* code;
  PyObject** slots;
  PyObject** top;  // one above the last of the stack
  const Instruction* instruction = nullptr;
  int next = 0;                  // position of the next instruction
  PyObject* keywords = nullptr;  // names of keyword arguments of the call that follows; borrowed
  int keywords_at = -1;          // where CPython's evaluator has to begin if it is to know them; -1 if there are none
  int raised_at = -1;            // of an exception that is raised again: where it was raised first; else -1

  Machine(PyThreadState* thread, Frame frame)
      : thread(thread), frame(frame), code(frame.code()), slots(frame.slots()), top(nullptr) {}

  PyObject* name(int index) const { return PyTuple_GET_ITEM(code->co_names, index); }
  PyObject* constant(int index) const { return PyTuple_GET_ITEM(code->co_consts, index); }
  /// From the top; 1 is the topmost.
  PyObject*& peek(int depth) const { return top[-depth]; }
  /// Takes over the reference.
  void push(PyObject* object) { *top++ = object; }
  /// Returns the reference.
  PyObject* pop() { return *--top; }
  void drop(int count) {
    while (count-- > 0) Py_XDECREF(*--top);
  }
  /// Puts a new reference, or null for an exception, in place of the topmost `count`.
  Outcome replace(int count, PyObject* result) {
    drop(count);
    if (result == nullptr) return Outcome::Raise;
    push(result);
    return Outcome::Next;
  }
  Outcome jump(int offset) {
    next = instruction->next + offset;
    return Outcome::Jump;
  }
};

using Handler = Outcome (*)(Machine& machine, int argument);

/// By opcode; null for what is always left to CPython's evaluator.
extern std::array<Handler, 256> handlers;

/// Runs `machine.instruction`, and finds the next: `machine.next`, which after Raise is unchanged.
inline Outcome runInstruction(Machine& machine) {
  const Instruction& instruction = *machine.instruction;
  Handler handler = handlers[size_t(instruction.opcode)];
  if (handler == nullptr) return Outcome::Leave;
  machine.frame.setRunning(instruction.position);
  Outcome outcome = handler(machine, instruction.argument);
  if (outcome == Outcome::Next) machine.next = instruction.next;
  return outcome;
}

/// After Raise: adds the frame to the traceback and goes to the handler, as CPython does. False if the frame has none;
/// then the traceback is as it was.
bool unwind(Machine& machine);

/// Whether a handler of the frame takes an exception that `machine.instruction` raises.
bool hasHandler(const Machine& machine);

/// What a program may be interrupted by (signals, other threads), once in a while. False with an exception set.
bool pollAtBackEdge();

/// After code whose errors are not the program's, such as a plan's, which Python's own instructions do over: clears the
/// exception that is set. If it is no error (KeyboardInterrupt), or one that a signal's handler has raised, it is kept
/// for the frame.
void dropError();
/// Whether a signal's handler, which Python runs between the instructions of any code, is among the frames: its frame
/// has the one that it interrupted as an argument.
bool isOfHandler(PyObject* traceback);
bool hasInterruption();
/// Sets what was kept; false if nothing was.
bool raiseInterruption();

/// The position from which CPython's evaluator can go on instead of from `machine.next`.
inline int resumePosition(const Machine& machine) {
  return machine.keywords_at >= 0 ? machine.keywords_at : machine.next;
}

}  // namespace cresset::capture
