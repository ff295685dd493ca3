// Calls, jumps, iteration, functions, `with`, handlers of exceptions.
#include "cresset/capture/handler.h"

#if CRESSET_KNOWS_FRAMES
namespace cresset::capture {

// ---- Calls

/// Calls what lies below `count` arguments: [callable, first argument or null], in 3.11 and 3.12 [null, callable] or
/// [callable, first argument].
[[maybe_unused]] static Outcome call(Machine& machine, int count, PyObject* keywords) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* callable = machine.peek(count + 2);
  bool has_self = machine.peek(count + 1) != nullptr;
#else
  bool has_self = machine.peek(count + 2) != nullptr;
  PyObject* callable = machine.peek(has_self ? count + 2 : count + 1);
#endif
  size_t given = size_t(count) + size_t(has_self);
  size_t names = keywords == nullptr ? 0 : size_t(PyTuple_GET_SIZE(keywords));
  PyObject** arguments = machine.top - given;
  PyObject* result =
      PyObject_Vectorcall(callable, arguments, (given - names) | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
  return machine.replace(count + 2, result);
}

#ifdef CALL
INSTRUCTION(CALL) {
  PyObject* keywords = machine.keywords;
  machine.keywords = nullptr;
  machine.keywords_at = -1;
  return call(machine, argument, keywords);
}
#ifdef PRECALL
INSTRUCTION(PRECALL) {
  return Outcome::Next;
}
#endif
#ifdef KW_NAMES
INSTRUCTION(KW_NAMES) {
  machine.keywords = machine.constant(argument);
  machine.keywords_at = machine.instruction->start;
  return Outcome::Next;
}
#endif
#ifdef CALL_KW
INSTRUCTION(CALL_KW) {
  PyObject* keywords = machine.pop();
  Outcome outcome = call(machine, argument, keywords);
  Py_DECREF(keywords);
  return outcome;
}
#endif
#else
INSTRUCTION(CALL_FUNCTION) {
  PyObject** arguments = machine.top - argument;
  return machine.replace(
      argument + 1,
      PyObject_Vectorcall(arguments[-1], arguments, size_t(argument) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}
INSTRUCTION(CALL_FUNCTION_KW) {
  PyObject* keywords = machine.pop();
  PyObject** arguments = machine.top - argument;
  size_t positional = size_t(argument) - size_t(PyTuple_GET_SIZE(keywords));
  Outcome outcome = machine.replace(
      argument + 1,
      PyObject_Vectorcall(arguments[-1], arguments, positional | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
  Py_DECREF(keywords);
  return outcome;
}
INSTRUCTION(CALL_METHOD) {
  // [callable, first argument, …] or [null, callable, …]
  bool has_self = machine.peek(argument + 2) != nullptr;
  PyObject* callable = machine.peek(has_self ? argument + 2 : argument + 1);
  size_t given = size_t(argument + has_self);
  return machine.replace(
      argument + 2,
      PyObject_Vectorcall(callable, machine.top - given, given | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}
#endif

INSTRUCTION(CALL_FUNCTION_EX) {
  int has_keywords = argument & 1;
  PyObject*& arguments = machine.peek(1 + has_keywords);
  if (has_keywords && !PyDict_CheckExact(machine.peek(1))) return Outcome::Leave;
  if (!PyTuple_CheckExact(arguments)) {
    if (Py_TYPE(arguments)->tp_iter == nullptr && !PySequence_Check(arguments)) return Outcome::Leave;
    PyObject* tuple = PySequence_Tuple(arguments);
    if (tuple == nullptr) return Outcome::Raise;
    Py_SETREF(arguments, tuple);
  }
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* callable = machine.peek(3 + has_keywords);
  constexpr int kBelow = 2;
#elif PY_VERSION_HEX >= 0x030b0000
  PyObject* callable = machine.peek(2 + has_keywords);
  constexpr int kBelow = 2;
#else
  PyObject* callable = machine.peek(2 + has_keywords);
  constexpr int kBelow = 1;
#endif
  PyObject* result = PyObject_Call(callable, arguments, has_keywords ? machine.peek(1) : nullptr);
  return machine.replace(kBelow + 1 + has_keywords, result);
}

// ---- Jumps

#if PY_VERSION_HEX >= 0x030b0000
static Outcome jumpTo(Machine& machine, int argument) {
  return machine.jump(argument);
}
#else
static Outcome jumpTo(Machine& machine, int argument) {
  if (argument < machine.instruction->position && !pollAtBackEdge()) return Outcome::Raise;
  machine.next = argument;
  return Outcome::Jump;
}
#endif

static Outcome jumpIf(Machine& machine, int argument, bool wanted) {
  int truth = popTruth(machine);
  if (truth < 0) return Outcome::Raise;
  return (truth != 0) == wanted ? jumpTo(machine, argument) : Outcome::Next;
}

[[maybe_unused]] static Outcome jumpIfNone(Machine& machine, int argument, bool wanted) {
  PyObject* value = machine.pop();
  bool is_none = value == Py_None;
  Py_DECREF(value);
  return is_none == wanted ? jumpTo(machine, argument) : Outcome::Next;
}

INSTRUCTION(JUMP_FORWARD) {
  return machine.jump(argument);
}
#ifdef JUMP_ABSOLUTE
INSTRUCTION(JUMP_ABSOLUTE) {
  return jumpTo(machine, argument);
}
#endif
#ifdef JUMP_BACKWARD
INSTRUCTION(JUMP_BACKWARD) {
  if (!pollAtBackEdge()) return Outcome::Raise;
  return machine.jump(-argument);
}
INSTRUCTION(JUMP_BACKWARD_NO_INTERRUPT) {
  return machine.jump(-argument);
}
#endif
#ifdef POP_JUMP_IF_FALSE
INSTRUCTION(POP_JUMP_IF_FALSE) {
  return jumpIf(machine, argument, false);
}
INSTRUCTION(POP_JUMP_IF_TRUE) {
  return jumpIf(machine, argument, true);
}
#endif
#ifdef POP_JUMP_IF_NONE
INSTRUCTION(POP_JUMP_IF_NONE) {
  return jumpIfNone(machine, argument, true);
}
INSTRUCTION(POP_JUMP_IF_NOT_NONE) {
  return jumpIfNone(machine, argument, false);
}
#endif
#ifdef POP_JUMP_FORWARD_IF_FALSE
INSTRUCTION(POP_JUMP_FORWARD_IF_FALSE) {
  return jumpIf(machine, argument, false);
}
INSTRUCTION(POP_JUMP_FORWARD_IF_TRUE) {
  return jumpIf(machine, argument, true);
}
INSTRUCTION(POP_JUMP_FORWARD_IF_NONE) {
  return jumpIfNone(machine, argument, true);
}
INSTRUCTION(POP_JUMP_FORWARD_IF_NOT_NONE) {
  return jumpIfNone(machine, argument, false);
}
static Outcome polled(Outcome outcome) {
  return outcome == Outcome::Jump && !pollAtBackEdge() ? Outcome::Raise : outcome;
}
INSTRUCTION(POP_JUMP_BACKWARD_IF_FALSE) {
  return polled(jumpIf(machine, -argument, false));
}
INSTRUCTION(POP_JUMP_BACKWARD_IF_TRUE) {
  return polled(jumpIf(machine, -argument, true));
}
INSTRUCTION(POP_JUMP_BACKWARD_IF_NONE) {
  return polled(jumpIfNone(machine, -argument, true));
}
INSTRUCTION(POP_JUMP_BACKWARD_IF_NOT_NONE) {
  return polled(jumpIfNone(machine, -argument, false));
}
#endif
#ifdef JUMP_IF_FALSE_OR_POP
static Outcome jumpOrPop(Machine& machine, int argument, bool wanted) {
  PyObject* value = machine.peek(1);
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
  if (truth < 0) return Outcome::Raise;
  if ((truth != 0) == wanted) return jumpTo(machine, argument);
  machine.drop(1);
  return Outcome::Next;
}
INSTRUCTION(JUMP_IF_FALSE_OR_POP) {
  return jumpOrPop(machine, argument, false);
}
INSTRUCTION(JUMP_IF_TRUE_OR_POP) {
  return jumpOrPop(machine, argument, true);
}
#endif

// ---- Iteration

INSTRUCTION(GET_ITER) {
  return machine.replace(1, PyObject_GetIter(machine.peek(1)));
}
INSTRUCTION(FOR_ITER) {
  PyObject* iterator = machine.peek(1);
  PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
  if (item != nullptr) {
    machine.push(item);
    return Outcome::Next;
  }
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return Outcome::Raise;
    PyErr_Clear();
  }
  machine.drop(1);
#if PY_VERSION_HEX >= 0x030d0000
  return machine.jump(argument + 2);  // END_FOR and POP_TOP
#elif PY_VERSION_HEX >= 0x030c0000
  return machine.jump(argument + 1);  // END_FOR
#else
  return machine.jump(argument);
#endif
}

// ---- Functions and modules

#if PY_VERSION_HEX >= 0x030d0000
INSTRUCTION(MAKE_FUNCTION) {
  return machine.replace(1, PyFunction_New(machine.peek(1), machine.frame.globals()));
}
INSTRUCTION(SET_FUNCTION_ATTRIBUTE) {
  auto* function = reinterpret_cast<PyFunctionObject*>(machine.pop());
  PyObject* value = machine.pop();
  switch (argument) {
    case 1:
      function->func_defaults = value;
      break;
    case 2:
      function->func_kwdefaults = value;
      break;
    case 4:
      function->func_annotations = value;
      break;
    default:
      function->func_closure = value;
      break;
  }
  machine.push(reinterpret_cast<PyObject*>(function));
  return Outcome::Next;
}
#else
INSTRUCTION(MAKE_FUNCTION) {
#if PY_VERSION_HEX >= 0x030b0000
  PyObject* made = PyFunction_New(machine.peek(1), machine.frame.globals());
  machine.drop(1);
#else
  PyObject* made = PyFunction_NewWithQualName(machine.peek(2), machine.frame.globals(), machine.peek(1));
  machine.drop(2);
#endif
  if (made == nullptr) return Outcome::Raise;
  auto* function = reinterpret_cast<PyFunctionObject*>(made);
  if (argument & 8) function->func_closure = machine.pop();
  if (argument & 4) function->func_annotations = machine.pop();
  if (argument & 2) function->func_kwdefaults = machine.pop();
  if (argument & 1) function->func_defaults = machine.pop();
  machine.push(made);
  return Outcome::Next;
}
#endif

INSTRUCTION(IMPORT_NAME) {
  if (!PyDict_CheckExact(machine.frame.builtins())) return Outcome::Leave;
  PyObject* import = PyDict_GetItemString(machine.frame.builtins(), "__import__");
  if (import == nullptr) return Outcome::Leave;
  Py_INCREF(import);
  PyObject* names = machine.frame.names() == nullptr ? Py_None : machine.frame.names();
  PyObject* result = PyObject_CallFunctionObjArgs(
      import, machine.name(argument), machine.frame.globals(), names, machine.peek(1), machine.peek(2), nullptr);
  Py_DECREF(import);
  return machine.replace(2, result);
}

/// Whether a name of a module's dict is what a look at the attribute finds: of a module of a derived class if that
/// neither has the name nor looks attributes up by code of its own.
static bool findsInDict(PyObject* module, PyObject* name) {
  if (PyModule_CheckExact(module)) return true;
  if (!PyModule_Check(module) || _PyType_Lookup(Py_TYPE(module), name) != nullptr) return false;
  static PyObject* const look_up = PyUnicode_InternFromString("__getattribute__");
  return _PyType_Lookup(Py_TYPE(module), look_up) == _PyType_Lookup(&PyModule_Type, look_up);
}

INSTRUCTION(IMPORT_FROM) {
  // Anything but a name of the module's dict may run code, which must not run twice.
  if (!findsInDict(machine.peek(1), machine.name(argument))) return Outcome::Leave;
  PyObject* value = PyDict_GetItemWithError(PyModule_GetDict(machine.peek(1)), machine.name(argument));
  PyErr_Clear();
  if (value == nullptr) return Outcome::Leave;
  machine.push(Py_NewRef(value));
  return Outcome::Next;
}

// ---- with

/// A method that a statement calls, as its class has it; null without an exception if there is none.
static PyObject* specialMethod(PyObject* object, const char* name) {
  PyObject* key = PyUnicode_InternFromString(name);
  PyObject* found = key == nullptr ? nullptr : _PyType_Lookup(Py_TYPE(object), key);  // borrowed
  Py_XDECREF(key);
  return found;
}

static PyObject* bound(PyObject* method, PyObject* object) {
  descrgetfunc get = Py_TYPE(method)->tp_descr_get;
  return get == nullptr ? Py_NewRef(method) : get(method, object, reinterpret_cast<PyObject*>(Py_TYPE(object)));
}

/// [manager] becomes [exit, what enter returned].
static Outcome beginWith(Machine& machine) {
  PyObject* manager = machine.peek(1);
  PyObject* enter = specialMethod(manager, "__enter__");
  PyObject* exit = specialMethod(manager, "__exit__");
  if (enter == nullptr || exit == nullptr) return Outcome::Leave;
  Py_INCREF(enter);
  Py_INCREF(exit);
  PyObject* bound_enter = bound(enter, manager);
  PyObject* bound_exit = bound_enter == nullptr ? nullptr : bound(exit, manager);
  Py_DECREF(enter);
  Py_DECREF(exit);
  machine.drop(1);
  if (bound_exit == nullptr) {
    Py_XDECREF(bound_enter);
    return Outcome::Raise;
  }
  machine.push(bound_exit);
  PyObject* entered = PyObject_CallNoArgs(bound_enter);
  Py_DECREF(bound_enter);
  if (entered == nullptr) {
    machine.drop(1);
    return Outcome::Raise;
  }
  machine.push(entered);
  return Outcome::Next;
}

#ifdef BEFORE_WITH
INSTRUCTION(BEFORE_WITH) {
  return beginWith(machine);
}
#endif

// ---- Handlers

#if PY_VERSION_HEX >= 0x030b0000
/// An exception that was raised before, which a handler of the frame takes: CPython's evaluator sees to others. Takes
/// over the reference.
static Outcome raiseAgain(Machine& machine, PyObject* value, int raised_at) {
  machine.raised_at = raised_at;
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(value);
#else
  PyErr_Restore(Py_NewRef(PyExceptionInstance_Class(value)), value, PyException_GetTraceback(value));
#endif
  return Outcome::Raise;
}

INSTRUCTION(RERAISE) {
  PyObject* value = machine.peek(1);
  if (!PyExceptionInstance_Check(value) || !hasHandler(machine)) return Outcome::Leave;
  const int raised_at = argument == 0 ? machine.instruction->position : int(PyLong_AsLong(machine.peek(1 + argument)));
  return raiseAgain(machine, machine.pop(), raised_at);
}

INSTRUCTION(RAISE_VARARGS) {
  if (argument == 0) {
    PyObject* value = machine.thread->exc_info->exc_value;
    if (value == nullptr || !PyExceptionInstance_Check(value) || !hasHandler(machine)) return Outcome::Leave;
    return raiseAgain(machine, Py_NewRef(value), machine.instruction->position);
  }
  PyObject* raised = machine.peek(argument);
  PyObject* cause = argument == 2 ? machine.peek(1) : nullptr;
  const bool is_class = PyExceptionClass_Check(raised);
  if (!is_class && !PyExceptionInstance_Check(raised)) return Outcome::Leave;
  if (cause != nullptr && cause != Py_None && !PyExceptionInstance_Check(cause)) return Outcome::Leave;
  machine.top -= argument;  // the references are ours
  PyObject* value = is_class ? PyObject_CallNoArgs(raised) : Py_NewRef(raised);
  if (value != nullptr && PyExceptionInstance_Check(value)) {
    if (cause != nullptr) PyException_SetCause(value, cause == Py_None ? nullptr : Py_NewRef(cause));
    PyErr_SetObject(PyExceptionInstance_Class(value), value);
  } else if (value != nullptr) {
    PyErr_Format(
        PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", raised,
        reinterpret_cast<PyObject*>(Py_TYPE(value)));
  }
  Py_XDECREF(value);
  Py_XDECREF(cause);
  Py_DECREF(raised);
  return Outcome::Raise;
}
INSTRUCTION(PUSH_EXC_INFO) {
  PyObject* value = machine.pop();
  _PyErr_StackItem* handled = machine.thread->exc_info;
  machine.push(handled->exc_value == nullptr ? Py_NewRef(Py_None) : handled->exc_value);
  machine.push(Py_NewRef(value));
  handled->exc_value = value;
  return Outcome::Next;
}
INSTRUCTION(POP_EXCEPT) {
  _PyErr_StackItem* handled = machine.thread->exc_info;
  PyObject* old = handled->exc_value;
  handled->exc_value = machine.pop();
  Py_XDECREF(old);
  return Outcome::Next;
}
static bool isExceptionClass(PyObject* object) {
  if (!PyTuple_Check(object)) return PyExceptionClass_Check(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (!PyExceptionClass_Check(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}
INSTRUCTION(CHECK_EXC_MATCH) {
  PyObject* wanted = machine.peek(1);
  if (!isExceptionClass(wanted)) return Outcome::Leave;
  int matches = PyErr_GivenExceptionMatches(machine.peek(2), wanted);
  machine.drop(1);
  machine.push(newBool(matches != 0));
  return Outcome::Next;
}
INSTRUCTION(WITH_EXCEPT_START) {
  PyObject* value = machine.peek(1);
  PyObject* traceback = PyException_GetTraceback(value);
  if (traceback == nullptr) traceback = Py_NewRef(Py_None);
  PyObject* arguments[] = {nullptr, PyExceptionInstance_Class(value), value, traceback};
  PyObject* result = PyObject_Vectorcall(machine.peek(4), arguments + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  Py_DECREF(traceback);
  if (result == nullptr) return Outcome::Raise;
  machine.push(result);
  return Outcome::Next;
}
#else
static Outcome pushBlock(Machine& machine, int argument, int level) {
  PyFrameObject* frame = machine.frame.raw();
  PyFrame_BlockSetup(frame, SETUP_FINALLY, machine.instruction->next + argument, level);
  return Outcome::Next;
}
INSTRUCTION(SETUP_FINALLY) {
  return pushBlock(machine, argument, int(machine.top - machine.frame.stackBase()));
}
INSTRUCTION(SETUP_WITH) {
  Outcome outcome = beginWith(machine);
  if (outcome != Outcome::Next) return outcome;
  return pushBlock(machine, argument, int(machine.top - machine.frame.stackBase()) - 1);
}
INSTRUCTION(POP_BLOCK) {
  PyFrame_BlockPop(machine.frame.raw());
  return Outcome::Next;
}
#endif

}  // namespace cresset::capture
#endif
