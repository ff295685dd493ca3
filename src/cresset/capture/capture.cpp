#include "cresset/capture/capture.h"

#if CRESSET_KNOWS_FRAMES
#include <map>

#include "cresset/capture/hook.h"
#include "cresset/capture/plan.h"

namespace cresset::capture {
namespace {

constexpr int kMaxAttempts = 2;     // recordings from an instruction that made no plan
constexpr int kMaxInARow = 256;     // plans of a frame without a backward jump in between
constexpr int kMaxRecordings = 64;  // of a code object that has no plans yet
constexpr int kMaxQuietRuns = 16;   // of frames without plans in which nothing was left to record

struct Entry {
  std::vector<PyObject*> plans;
  int attempts = 0;
};

/// The plans of a code object that were made for one set of options.
struct PlanTable {
  std::map<int, Entry> entries;  // by position
  size_t num_plans = 0;
  int recordings = 0;
  int quiet_runs = 0;

  PlanTable() = default;
  ~PlanTable() { forget(); }
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;
  void forget() {
    std::map<int, Entry> old;
    old.swap(entries);
    num_plans = 0;
    recordings = 0;
    quiet_runs = 0;
    for (auto& [position, entry] : old) {
      for (PyObject* plan : entry.plans) Py_DECREF(plan);
    }
  }
};

/// What is known of a code object.
struct CodeState {
  Instructions instructions;
  std::map<const PyObject*, PlanTable> tables;  // by what makes recorders; emptied, never erased: frames refer to them

  explicit CodeState(PyCodeObject* code) : instructions(code) {}
};

void freeState(void* state) {
  delete static_cast<CodeState*>(state);
}

Py_ssize_t stateIndex() {
#if PY_VERSION_HEX >= 0x030c0000
  static const Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(freeState);
#else
  static const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(freeState);
#endif
  return index;
}

CodeState* stateOf(PyObject* code, bool make) {
  void* state = nullptr;
  if (stateIndex() < 0) return nullptr;
#if PY_VERSION_HEX >= 0x030c0000
  if (PyUnstable_Code_GetExtra(code, stateIndex(), &state)) return nullptr;
#else
  if (_PyCode_GetExtra(code, stateIndex(), &state)) return nullptr;
#endif
  if (state == nullptr && make) {
    state = new CodeState(reinterpret_cast<PyCodeObject*>(code));
#if PY_VERSION_HEX >= 0x030c0000
    int error = PyUnstable_Code_SetExtra(code, stateIndex(), state);
#else
    int error = _PyCode_SetExtra(code, stateIndex(), state);
#endif
    if (error) {
      freeState(state);
      PyErr_Clear();
      return nullptr;
    }
  }
  return static_cast<CodeState*>(state);
}

// ---- What the recorder sees of a frame

struct View {
  PyObject_HEAD Machine* machine;  // null when the frame has moved on
};
PyTypeObject* view_class = nullptr;

PyObject* viewed(PyObject* value) {
  if (value == nullptr) PyErr_SetString(PyExc_LookupError, "there is nothing");
  return Py_XNewRef(value);
}

Machine* machineOf(PyObject* self) {
  Machine* machine = reinterpret_cast<View*>(self)->machine;
  if (machine == nullptr) PyErr_SetString(PyExc_RuntimeError, "the frame has moved on");
  return machine;
}

PyObject* viewSlot(PyObject* self, PyObject* index) {
  Machine* machine = machineOf(self);
  long slot = PyLong_AsLong(index);
  if (machine == nullptr || (slot == -1 && PyErr_Occurred())) return nullptr;
  if (slot < 0 || machine->slots + slot >= machine->top) return viewed(nullptr);
  return viewed(machine->slots[slot]);
}
PyObject* viewGlobals(PyObject* self, void*) {
  Machine* machine = machineOf(self);
  return machine == nullptr ? nullptr : Py_NewRef(machine->frame.globals());
}
PyObject* viewBuiltins(PyObject* self, void*) {
  Machine* machine = machineOf(self);
  return machine == nullptr ? nullptr : Py_NewRef(machine->frame.builtins());
}
PyObject* viewNumVariables(PyObject* self, void*) {
  Machine* machine = machineOf(self);
  return machine == nullptr ? nullptr : PyLong_FromLong(machine->frame.numVariables());
}
PyObject* viewPosition(PyObject* self, void*) {
  Machine* machine = machineOf(self);
  if (machine == nullptr) return nullptr;
  return PyLong_FromLong(machine->instruction == nullptr ? machine->next : machine->instruction->start);
}
PyObject* viewDepth(PyObject* self, void*) {
  Machine* machine = machineOf(self);
  return machine == nullptr ? nullptr : PyLong_FromLong(long(machine->top - machine->frame.stackBase()));
}

PyMethodDef view_methods[] = {
    {"slot", viewSlot, METH_O, "The object in a place: variables first, then the stack. LookupError if there is none."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef view_attributes[] = {
    {"globals", viewGlobals, nullptr, nullptr, nullptr},
    {"builtins", viewBuiltins, nullptr, nullptr, nullptr},
    {"num_variables", viewNumVariables, nullptr, nullptr, nullptr},
    {"depth", viewDepth, nullptr, nullptr, nullptr},
    {"position", viewPosition, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
void deleteView(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}
PyType_Slot view_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deleteView)},
    {Py_tp_methods, view_methods},
    {Py_tp_getset, view_attributes},
    {0, nullptr}};
PyType_Spec view_spec = {"cresset._frames.View", sizeof(View), 0, Py_TPFLAGS_DEFAULT, view_slots};

// ---- Recording

/// A recorder at work. Python's own exceptions never leave it: one that raises is dropped.
struct Recording {
  PyObject* recorder;
  bool alive = true;
  PyObject* callee = nullptr;  // code of the frame that may be recorded inline when it begins; borrowed
};

thread_local Recording* recording = nullptr;     // of the innermost captured frame of this thread
thread_local PyObject* expected_code = nullptr;  // of the frame that is to be captured; borrowed
thread_local bool expects_any = false;           // frames that begin are called by one that is, or was, captured
thread_local CaptureOptions options;             // of the innermost call of a compiled function

/// While one lives, the recorder's own code runs: its frames are not captured.
class Quiet {
 public:
  Quiet() : before_(exchangeFrameFunction(nullptr)) {}
  ~Quiet() { exchangeFrameFunction(before_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  FrameFunction before_;
};

void abandon(Recording& mine) {
  mine.alive = false;
  dropError();
}

/// The view of a frame; most frames need none.
class ViewOf {
 public:
  explicit ViewOf(Machine& machine) : machine_(machine) {}
  ~ViewOf() {
    if (view_ == nullptr) return;
    view_->machine = nullptr;
    Py_DECREF(reinterpret_cast<PyObject*>(view_));
  }
  ViewOf(const ViewOf&) = delete;
  ViewOf& operator=(const ViewOf&) = delete;
  /// Borrowed.
  PyObject* get() {
    if (view_ == nullptr) {
      view_ = PyObject_New(View, view_class);
      if (view_ == nullptr) Py_FatalError("no memory for a view of a frame");
      view_->machine = &machine_;
    }
    return reinterpret_cast<PyObject*>(view_);
  }

 private:
  Machine& machine_;
  View* view_ = nullptr;
};

/// A call of the recorder with the view and two numbers; a new reference, null if the recording is over.
PyObject* tell(Recording& mine, const char* method, ViewOf& view, int first, int second) {
  Quiet quiet;
  PyObject* result = PyObject_CallMethod(mine.recorder, method, "Oii", view.get(), first, second);
  if (result == nullptr) abandon(mine);
  return result;
}

/// Whether the recorder's answer is an exception for the program; then it is set. Gives the reference away if so.
bool isRefusal(PyObject* answer) {
  if (answer == nullptr || !PyExceptionInstance_Check(answer)) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(answer)), answer);
  Py_DECREF(answer);
  return true;
}

/// What the recorder makes of the instruction that comes. Returns a plan if the recording ends before it (or None, if
/// there is none; or an exception that the program is to get), or null while it goes on.
PyObject* follow(Recording& mine, ViewOf& view, const Machine& machine) {
  PyObject* answer = tell(mine, "step", view, machine.instruction->opcode, machine.instruction->argument);
  if (answer == nullptr) return Py_NewRef(Py_None);
  mine.callee = nullptr;
  if (answer == Py_True || PyCode_Check(answer)) {
    if (PyCode_Check(answer)) mine.callee = answer;  // the function that is called keeps it
    Py_DECREF(answer);
    return nullptr;
  }
  return answer;
}

void addPlan(PlanTable& table, PyObject* plan, int start) {
  Entry& entry = table.entries[start];
  if (!isPlan(plan)) {
    entry.attempts++;
    return;
  }
  Plan* made = reinterpret_cast<Plan*>(plan);
  if (made->start != start || int(entry.plans.size()) >= options.plan_limit) return;
  entry.plans.push_back(Py_NewRef(plan));
  table.num_plans++;
}

/// Sets what the frames below belong to, and restores it.
class Callee {
 public:
  Callee() : outer_recording_(recording), outer_any_(expects_any) { expects_any = false; }
  ~Callee() {
    recording = outer_recording_;
    expects_any = outer_any_;
  }
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;

 private:
  Recording* outer_recording_;
  bool outer_any_;
};

/// One frame while it is captured.
class CapturedFrame {
 public:
  CapturedFrame(PyThreadState* thread, Frame frame, CodeState& state, PlanTable& table, Recording* inlined)
      : machine_(thread, frame), state_(state), table_(table), inlined_(inlined), view_(machine_) {}

  bool begin() {
    machine_.next = machine_.frame.position();
    return machine_.frame.enter(machine_.thread, machine_.top);
  }

  PyObject* view() { return view_.get(); }

  PyObject* run() {
    recording = inlined_;
    while (true) {
      if (mine_.recorder != nullptr && !mine_.alive) drop();
      bool refused = inlined_ == nullptr && mine_.recorder == nullptr && plans_in_a_row_ < kMaxInARow && !usePlans();
      machine_.instruction = state_.instructions.at(machine_.next);
      refused = refused || (machine_.instruction != nullptr && raiseInterruption());
      if (machine_.instruction == nullptr || (!refused && isIdle())) break;
      Outcome outcome = refused || !record() ? Outcome::Raise : execute();
      if (outcome == Outcome::Leave) {
        leaveInlined();
        break;
      }
      // Backward jumps, where signals are seen to, may be within plans.
      if (outcome != Outcome::Raise && machine_.next <= machine_.instruction->start) plans_in_a_row_ = 0;
      if (outcome != Outcome::Raise && !tellAfter()) outcome = Outcome::Raise;
      if (outcome != Outcome::Raise) continue;
      if (inlined_ != nullptr) inlined_->alive = false;
      drop();
      machine_.frame.setRunning(machine_.instruction->position);
      // What follows is CPython's: handlers are rare, and recording them would gain nothing.
      if (!unwind(machine_)) {
        return machine_.frame.raiseInPython(machine_.thread, machine_.top, machine_.instruction->position);
      }
      break;
    }
    drop();
    if (inlined_ == nullptr && is_quiet_ && table_.num_plans == 0 && ++table_.quiet_runs >= kMaxQuietRuns) {
      table_.recordings = kMaxRecordings;
    }
    recording = nullptr;
    expects_any = inlined_ == nullptr || !inlined_->alive;  // a frame that has no plans may call others that have
    const int position = resumePosition(machine_);
    if (raiseInterruption()) {
      machine_.frame.setRunning(position);
      return machine_.frame.raiseInPython(machine_.thread, machine_.top, position);
    }
    machine_.frame.leave(machine_.thread, machine_.top, position);
    return machine_.frame.continueInPython(machine_.thread);
  }

 private:
  Recording* current() {
    Recording* active = inlined_ != nullptr ? inlined_ : mine_.recorder != nullptr ? &mine_ : nullptr;
    return active != nullptr && active->alive ? active : nullptr;
  }

  /// Nothing is to be gained from running the rest here.
  bool isIdle() const {
    if (inlined_ != nullptr) return !inlined_->alive;
    return mine_.recorder == nullptr && table_.num_plans == 0 && table_.recordings >= kMaxRecordings;
  }

  /// False with an exception set.
  bool tellAfter() {
    Recording* active = current();
    if (active == nullptr) return true;
    PyObject* answer = tell(*active, "after", view_, machine_.instruction->opcode, machine_.next);
    if (isRefusal(answer)) return false;
    Py_XDECREF(answer);
    return true;
  }

  /// False with an exception set.
  bool usePlans() {
    while (true) {
      PlanResult result = PlanResult::CheckFailed;
      // Plans may come and go while one runs.
      for (size_t i = 0; result == PlanResult::CheckFailed; i++) {
        auto found = table_.entries.find(machine_.next);
        if (found == table_.entries.end() || i >= found->second.plans.size()) break;
        result = applyPlan(*reinterpret_cast<Plan*>(found->second.plans[i]), machine_);
      }
      if (hasInterruption()) return true;
      if (result == PlanResult::Applied && ++plans_in_a_row_ < kMaxInARow) continue;
      return result != PlanResult::CheckFailed || beginRecording();
    }
  }

  /// False with an exception set.
  bool beginRecording() {
    Entry& entry = table_.entries[machine_.next];
    if (entry.attempts >= kMaxAttempts || state_.instructions.at(machine_.next) == nullptr) return true;
    if (int(entry.plans.size()) >= options.plan_limit) return !options.whole || refuseMorePlans();
    if (table_.num_plans == 0 && table_.recordings >= kMaxRecordings) return true;
    if (machine_.keywords_at >= 0 || options.recorder == nullptr) return true;
    table_.recordings++;
    is_quiet_ = false;
    start_ = machine_.next;
    Quiet quiet;
    mine_ = Recording{PyObject_CallFunction(
        options.recorder, "OiO", reinterpret_cast<PyObject*>(machine_.code), start_, view_.get())};
    if (mine_.recorder == nullptr || mine_.recorder == Py_None) {
      dropError();
      Py_CLEAR(mine_.recorder);
      table_.entries[start_].attempts++;
    }
    return true;
  }

  bool refuseMorePlans() const {
    PyErr_Format(
        PyExc_RuntimeError,
        "cresset.compile(fullgraph=True): %U has graphs for %d kinds of calls, and this is another. Allow more by "
        "cache_limit, or leave out fullgraph: then such calls run as Python",
        machine_.code->co_name, options.plan_limit);
    return false;
  }

  /// The recorder has to know of the frame's end: it may also be that the rest of the frame is CPython's.
  void leaveInlined() {
    if (inlined_ != nullptr && inlined_->alive) Py_XDECREF(tell(*inlined_, "leaving", view_, 0, 0));
  }

  /// False with an exception set.
  bool record() {
    Recording* active = current();
    if (active == nullptr) {
      drop();
      return true;
    }
    PyObject* plan = follow(*active, view_, machine_);
    if (plan == nullptr) return true;
    if (inlined_ != nullptr) {
      // The recorder has gone back to the caller's call: the plan ends before it, and is the caller's to keep.
      abandon(*inlined_);
    } else {
      finish(plan);
    }
    if (isRefusal(plan)) return false;
    Py_DECREF(plan);
    return true;
  }

  void finish(PyObject* plan) {
    if (!PyExceptionInstance_Check(plan)) addPlan(table_, plan, start_);
    Quiet quiet;
    Py_CLEAR(mine_.recorder);
  }

  /// Ends the recording here, with what the recorder has. What it refuses, it tells the call.
  void drop() {
    if (mine_.recorder == nullptr) return;
    Quiet quiet;
    PyErrKeeper kept;
    PyObject* plan = PyObject_CallMethod(mine_.recorder, "plan", nullptr);
    if (plan == nullptr) dropError();
    finish(plan == nullptr ? Py_None : plan);
    Py_XDECREF(plan);
  }

  Outcome execute() {
    Recording* active = current();
    Callee callee;
    recording = active;
    expects_any = active == nullptr && inlined_ == nullptr;
    return runInstruction(machine_);
  }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since 3.12, whose successor older ones don't have
  /// Keeps the exception that is set.
  class PyErrKeeper {
   public:
    PyErrKeeper() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~PyErrKeeper() { PyErr_Restore(type_, value_, traceback_); }
    PyErrKeeper(const PyErrKeeper&) = delete;
    PyErrKeeper& operator=(const PyErrKeeper&) = delete;

   private:
    PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
  };
#pragma GCC diagnostic pop

  Machine machine_;
  CodeState& state_;
  PlanTable& table_;
  Recording* inlined_;
  ViewOf view_;
  Recording mine_{nullptr};
  int start_ = 0;
  int plans_in_a_row_ = 0;
  bool is_quiet_ = true;  // nothing was recorded
};

bool runCapturedFrame(PyThreadState* thread, RawFrame* raw, PyObject*& result) {
  Frame frame(raw);
  PyObject* code = reinterpret_cast<PyObject*>(frame.code());
  Recording* inlined = recording != nullptr && recording->alive && recording->callee == code ? recording : nullptr;
  bool wanted = code == expected_code || expects_any;
  if (inlined == nullptr && recording != nullptr)
    return false;  // runs as a part of an instruction that is recorded whole
  if (inlined == nullptr && !wanted) return false;
  if (code == expected_code) expected_code = nullptr;
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  int flags = frame.code()->co_flags;
  if ((flags & kFunction) != kFunction || (flags & kSuspends) != 0 || frame.isOfGenerator()) return false;
  CodeState* state = stateOf(code, true);
  if (state == nullptr) return false;
  PlanTable& table = state->tables[options.recorder];
  if (inlined == nullptr && table.num_plans == 0 && table.recordings >= kMaxRecordings) {
    expects_any = true;  // what it calls may have plans
    return false;
  }
  if (inlined != nullptr) inlined->callee = nullptr;
  Recording* outer = recording;
  const bool expected_any = expects_any;
  expects_any = false;
  CapturedFrame captured(thread, frame, *state, table, inlined);
  if (!captured.begin()) {
    expects_any = expected_any;
    return false;
  }
  if (inlined != nullptr) {
    Quiet quiet;
    PyObject* answer = PyObject_CallMethod(inlined->recorder, "enter", "O", captured.view());
    if (answer == nullptr) abandon(*inlined);
    Py_XDECREF(answer);
  }
  result = captured.run();
  recording = outer;
  expects_any = expected_any;
  return true;
}

}  // namespace

PyObject* callCaptured(PyObject* callable, const Arguments& arguments, PyObject* code, const CaptureOptions& given) {
  FrameHook hook;
  Callee callee;
  recording = nullptr;
  PyObject* outer_code = expected_code;
  CaptureOptions outer = options;
  expected_code = code;
  options = given;
  FrameFunction before = exchangeFrameFunction(runCapturedFrame);
  PyObject* result = arguments.call(callable);
  exchangeFrameFunction(before);
  expected_code = outer_code;
  options = outer;
  return result;
}

PyObject* callPlainly(PyObject* callable, PyObject* arguments, PyObject* keywords) {
  FrameFunction before = exchangeFrameFunction(nullptr);
  PyObject* result = PyObject_Call(callable, arguments, keywords);
  exchangeFrameFunction(before);
  return result;
}

bool isCapturing() {
  FrameFunction function = exchangeFrameFunction(nullptr);
  exchangeFrameFunction(function);
  return function == runCapturedFrame;
}

void forgetPlans(PyObject* code, const PyObject* recorder) {
  CodeState* state = stateOf(code, false);
  if (state == nullptr) return;
  for (auto& [of, table] : state->tables) {
    if (recorder == nullptr || of == recorder) table.forget();
  }
}

PyObject* plansOf(PyObject* code, const PyObject* recorder) {
  PyObject* list = PyList_New(0);
  CodeState* state = list == nullptr ? nullptr : stateOf(code, false);
  if (state == nullptr) return list;
  for (const auto& [of, table] : state->tables) {
    if (recorder != nullptr && of != recorder) continue;
    for (const auto& [position, entry] : table.entries) {
      for (PyObject* plan : entry.plans) {
        PyObject* pair = Py_BuildValue("iO", position, plan);
        if (pair == nullptr || PyList_Append(list, pair)) {
          Py_XDECREF(pair);
          Py_DECREF(list);
          return nullptr;
        }
        Py_DECREF(pair);
      }
    }
  }
  return list;
}

bool addViewClass(PyObject* module) {
  view_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&view_spec));
  return view_class != nullptr && PyModule_AddObjectRef(module, "View", reinterpret_cast<PyObject*>(view_class)) == 0;
}

}  // namespace cresset::capture
#endif
