#include "cresset/capture/runner.h"

namespace cresset::capture {

const char* const kToolsWatch = "a debugger, profiler or coverage tool watches";

}  // namespace cresset::capture

#if CRESSET_KNOWS_FRAMES
#include "cresset/capture/evaluator.h"
#include "cresset/capture/hook.h"
#include "cresset/capture/monitoring.h"

namespace cresset::capture {
namespace {

struct Cut {
  PyObject* code;
  long count;
  long run = 0;
  const Instructions* instructions;
};
thread_local Cut* cut = nullptr;

bool runCut(PyThreadState* thread, RawFrame* raw, PyObject*& result) {
  Frame frame(raw);
  if (cut == nullptr || reinterpret_cast<PyObject*>(frame.code()) != cut->code) return false;
  Machine machine(thread, frame);
  machine.next = frame.position();
  if (!frame.enter(thread, machine.top)) return false;
  for (long left = cut->count; left > 0; left--) {
    machine.instruction = cut->instructions->at(machine.next);
    if (machine.instruction == nullptr) break;
    Outcome outcome = runInstruction(machine);
    if (outcome == Outcome::Leave) break;
    cut->run++;
    if (outcome == Outcome::Raise && !unwind(machine)) {
      result = frame.raiseInPython(thread, machine.top, machine.instruction->position);
      return true;
    }
  }
  frame.leave(thread, machine.top, resumePosition(machine));
  result = frame.continueInPython(thread);
  return true;
}

/// Runs a small program with cuts at each of its instructions. May leave an exception.
const char* testLayout() {
  static const char* const kProgram =
      "class Own(Exception): pass\n"
      "def tested(n, *rest, k=3):\n"
      "  total = [0]\n"
      "  def add(x): total[0] += x; return x\n"
      "  for i in range(n):\n"
      "    try:\n"
      "      if i == 2: raise Own(i)\n"
      "      add(i * k)\n"
      "    except Own as error:\n"
      "      add(error.args[0])\n"
      "  return total[0], rest\n";
  const char* answer = "frames of this Python could not be run in parts";
  PyObject* globals = PyDict_New();
  PyObject* builtins = PyEval_GetBuiltins();
  if (globals == nullptr || PyDict_SetItemString(globals, "__builtins__", builtins)) return answer;
  PyObject* done = PyRun_String(kProgram, Py_file_input, globals, globals);
  PyObject* function = done == nullptr ? nullptr : PyDict_GetItemString(globals, "tested");
  PyObject* arguments = Py_BuildValue("(is)", 4, "a");
  if (function != nullptr && arguments != nullptr) {
    PyObject* expected = PyObject_Call(function, arguments, nullptr);
    bool same = expected != nullptr;
    if (cresset_is_watched(PyFunction_GET_CODE(function))) {
      answer = kToolsWatch;
      same = false;
    }
    for (long count = 0; same && count < 200; count += count < 40 ? 1 : 23) {
      long run = 0;
      PyObject* result = callWithCut(function, arguments, nullptr, PyFunction_GET_CODE(function), count, run);
      same = result != nullptr && PyObject_RichCompareBool(result, expected, Py_EQ) == 1 && (count == 0 || run > 0);
      Py_XDECREF(result);
    }
    Py_XDECREF(expected);
    if (same) answer = nullptr;
  }
  Py_XDECREF(arguments);
  Py_XDECREF(done);
  Py_DECREF(globals);
  return answer;
}

}  // namespace

PyObject* callWithCut(
    PyObject* callable, PyObject* arguments, PyObject* keywords, PyObject* code, long count, long& run) {
  Instructions instructions(reinterpret_cast<PyCodeObject*>(code));
  Cut mine{code, count, 0, &instructions};
  Cut* outer = cut;
  FrameHook hook;
  cut = &mine;
  FrameFunction before = exchangeFrameFunction(runCut);
  PyObject* result = PyObject_Call(callable, arguments, keywords);
  exchangeFrameFunction(before);
  cut = outer;
  run += mine.run;
  return result;
}

const char* whyFramesAreUnknown() {
  static bool is_known = false;  // under the GIL, as the answer
  static const char* answer = nullptr;
  if (is_known) return answer;
  const char* found = nullptr;
  // What a signal's handler raises meanwhile says nothing about this Python, and is the program's.
  for (bool is_interrupted = true; is_interrupted;) {
    const bool was_interrupted = hasInterruption();
    const bool knows_caches = readCacheSizes();
    found = knows_caches ? testLayout() : "the module opcode does not say how many caches instructions have";
    dropError();
    is_interrupted = found != nullptr && hasInterruption() && !was_interrupted;
  }
  if (found == kToolsWatch || is_known) return is_known ? answer : found;
  answer = found;
  is_known = true;
  return answer;
}

}  // namespace cresset::capture
#else
namespace cresset::capture {

const char* whyFramesAreUnknown() {
#ifdef Py_GIL_DISABLED
  return "it runs without the global lock";
#else
  return "its frames are known from CPython 3.10 to 3.13 only";
#endif
}

PyObject* callWithCut(PyObject* callable, PyObject* arguments, PyObject* keywords, PyObject*, long, long&) {
  return PyObject_Call(callable, arguments, keywords);
}

}  // namespace cresset::capture
#endif
