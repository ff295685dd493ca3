#include "cresset/capture/capture.h"

#if CRESSET_KNOWS_FRAMES
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "cresset/capture/hook.h"
#include "cresset/capture/plan.h"

namespace cresset::capture {
namespace {

using Nanoseconds = unsigned long long;

constexpr int kMaxAttempts = 2;     // recordings from an instruction that made no plan
constexpr int kMaxInARow = 256;     // plans of a frame without a backward jump in between
constexpr int kMaxRecordings = 64;  // of a code object that has no plans yet
constexpr int kMaxQuietRuns = 16;   // of frames without plans in which nothing was left to record
// A code object of which so many recordings were made, and took so long, may spend on more of them a part of the time
// that its frames take: what decides which way a program goes may never settle.
constexpr unsigned long long kManyRecordings = 12;
constexpr Nanoseconds kFreeTime = 100'000'000;
constexpr Nanoseconds kRunsPerRecording = 8;

// Costs, in steps of a plan, each of which takes about what an instruction takes longer here than in CPython.
constexpr int kCostOfFrame = 25;
constexpr int kCostOfPlan = 15;
constexpr int kTrialRuns = 128;        // frames after which it is judged whether plans save more than they cost
constexpr int kRankLead = 8;           // by how much a plan's rank exceeds that of the one before it which it overtakes
constexpr unsigned kTimedFrames = 16;  // of so many frames one is measured
// A plan whose runs take long is compared with Python's instructions in its place, which are run instead a few times.
constexpr Nanoseconds kLongRun = 200'000;
constexpr int kAlwaysWanted = 1 << 20;  // what plans save that stay whatever they cost (`Recorder.saved_by`)
constexpr unsigned kComparisons = 4, kRunsBetweenComparisons = 24;
constexpr long kLongFrame = 1L << 20;  // instructions after which it is judged within a frame

Nanoseconds now() {
  return Nanoseconds(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Whether a plan takes longer than Python's instructions in its place, as far as that was measured.
bool isSlow(const Plan& plan) {
  const TimedRuns &python = plan.python_runs, &own = plan.applied_runs;
  return python.count >= kComparisons && own.least != TimedRuns::kNone && python.least + python.least / 8 < own.least;
}

/// Whether Python's instructions are to run once in the place of a plan.
bool isToBeCompared(const Plan& plan) {
  return plan.saved < kAlwaysWanted && plan.applied_runs.count > 2 && plan.applied_runs.least > kLongRun &&
         plan.python_runs.count < kComparisons &&
         plan.applied >= (plan.python_runs.count + 2) * kRunsBetweenComparisons;
}

/// What is known of an instruction.
struct Entry {
  std::vector<PyObject*> plans;  // that begin here; owned
  int attempts = 0;
  int made = 0;     // plans that began here, with those that were dropped since
  int covered = 0;  // plans that were made whose recordings went through here
  bool has_applied = false;

  /// Whether there may be one more plan from here on. Where plans from before lead through here, as many as there may
  /// be, or where none has applied yet, values are always others.
  bool mayHaveMore(int limit) const { return made < (covered >= limit ? 1 : has_applied ? limit : (limit + 1) / 2); }

  /// Drops plans whose checks hardly ever hold; how many.
  size_t dropUseless() {
    const auto is_useless = [](PyObject* plan) {
      const auto& of = *reinterpret_cast<Plan*>(plan);
      return isSlow(of) || (of.rank == -kMaxRank && of.applied * kMaxRank < of.failed);
    };
    const auto useless = std::stable_partition(plans.begin(), plans.end(), std::not_fn(is_useless));
    const std::vector<PyObject*> old(useless, plans.end());
    plans.erase(useless, plans.end());
    for (PyObject* plan : old) Py_DECREF(plan);
    return old.size();
  }

  /// Asks a plan earlier that has lately applied clearly more often than the one before it: where two take turns, they
  /// stay as they are.
  void rank(size_t place, const PyObject* plan) {
    if (place == 0 || place >= plans.size() || plans[place] != plan) return;
    const auto rankOf = [&](size_t i) { return reinterpret_cast<Plan*>(plans[i])->rank; };
    if (rankOf(place) > rankOf(place - 1) + kRankLead) std::swap(plans[place], plans[place - 1]);
  }
};

/// Python's instructions that were run from one on, until a plan ran or the frame ended: how often, and how long where
/// it was measured.
struct PythonRuns {
  unsigned long long count = 0, timed = 0;
  Nanoseconds time = 0;
};

/// The plans of a code object that were made for one set of options.
class PlanTable {
 public:
  size_t num_plans = 0;
  int recordings = 0;
  int quiet_runs = 0;
  bool is_given_back = false;
  // For the report.
  unsigned long long frames = 0, made_recordings = 0;
  Nanoseconds recorder_time = 0;
  std::map<int, PythonRuns> python;  // by position
  Nanoseconds run_time = 0;          // of frames, without recordings, since these have taken long

  PlanTable() = default;
  ~PlanTable() { forget(); }
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// Whether no plan begins at the instruction, and none will.
  bool neverHasPlans(size_t instruction) const {
    return instruction < never_has_plans_.size() && never_has_plans_[instruction];
  }
  /// Stays where it is while the table lives.
  Entry& at(size_t instruction) {
    if (instruction >= entries_.size()) {
      entries_.resize(instruction + 1);
      never_has_plans_.resize(instruction + 1);
    }
    if (!entries_[instruction]) entries_[instruction] = std::make_unique<Entry>();
    return *entries_[instruction];
  }
  void addPlan(size_t instruction, PyObject* plan) {
    at(instruction).plans.push_back(Py_NewRef(plan));
    at(instruction).made++;
    num_plans++;
  }
  /// What recordings took, also of plans that were forgotten since.
  Nanoseconds spent() const { return spent_before_ + recorder_time; }
  bool hasSpentMuch() const { return spent() > kFreeTime / 2; }
  /// Whether recordings have taken too long for what its frames take.
  bool isOverdrawn() const {
    return recordings_before_ + made_recordings >= kManyRecordings &&
           spent() > kFreeTime + run_time / kRunsPerRecording;
  }
  /// Whether its frames are CPython's: there is no plan, and none will be made, or not yet; then some of them show how
  /// long they take.
  bool isIdle() {
    if (num_plans > 0) return false;
    return recordings >= kMaxRecordings || (isOverdrawn() && ++idle_frames_ % kTimedFrames != 0);
  }
  void addRunTime(Nanoseconds time) { run_time += num_plans == 0 && isOverdrawn() ? time * kTimedFrames : time; }
  /// A recording from the instruction made no plan.
  void addAttempt(size_t instruction) {
    Entry& entry = at(instruction);
    entry.attempts++;
    never_has_plans_[instruction] = entry.plans.empty() && entry.attempts >= kMaxAttempts;
  }
  /// No plan begins at the instruction any more, but for those that are fast; how many were dropped.
  size_t giveUp(size_t instruction) {
    Entry& entry = at(instruction);
    entry.attempts = std::max(entry.attempts, kMaxAttempts);
    const size_t dropped = entry.dropUseless();
    never_has_plans_[instruction] = entry.plans.empty();
    return dropped;
  }
  /// A frame has saved so many steps, or lost them, since its plans were made.
  void judge(long saved) {
    saved_ += saved;
    if (++judged_runs_ < kTrialRuns) return;
    if (saved_ < 0) giveBack();
    saved_ = judged_runs_ = 0;
  }
  void giveBack() {
    const auto kept = std::tuple(frames, made_recordings, recorder_time, recordings_before_, spent_before_);
    forget();
    std::tie(frames, made_recordings, recorder_time, recordings_before_, spent_before_) = kept;
    recordings = kMaxRecordings;
    is_given_back = true;
  }
  /// visit(index of an instruction, plan).
  template <typename F>
  void forEachPlan(const F& visit) const {
    for (size_t i = 0; i < entries_.size(); i++) {
      if (!entries_[i]) continue;
      for (PyObject* plan : entries_[i]->plans) visit(i, plan);
    }
  }
  void forget() {
    std::vector<PyObject*> old;
    for (const auto& entry : entries_) {
      if (!entry) continue;
      old.insert(old.end(), entry->plans.begin(), entry->plans.end());
      entry->plans.clear();
      entry->attempts = entry->made = entry->covered = 0;
      entry->has_applied = false;
    }
    never_has_plans_.assign(never_has_plans_.size(), false);
    num_plans = 0;
    recordings = 0;
    quiet_runs = 0;
    saved_ = judged_runs_ = 0;
    is_given_back = false;
    recordings_before_ += made_recordings;
    spent_before_ += recorder_time;
    frames = made_recordings = 0;
    recorder_time = 0;
    python.clear();
    for (PyObject* plan : old) Py_DECREF(plan);
  }

  /// As if nothing had run yet.
  void reset() {
    forget();
    recordings_before_ = spent_before_ = run_time = 0;
  }

 private:
  unsigned long long recordings_before_ = 0;
  Nanoseconds spent_before_ = 0;
  unsigned idle_frames_ = 0;
  long saved_ = 0, judged_runs_ = 0;
  // Both by index of the instruction. The second is what running frames read, and fits into the cache.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<char> never_has_plans_;
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

const PlanTable* tableOf(const CodeState& state, const PyObject* recorder) {
  const auto found = state.tables.find(recorder);
  return found == state.tables.end() ? nullptr : &found->second;
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
PyObject* viewOwnsCell(PyObject* self, PyObject* index) {
  Machine* machine = machineOf(self);
  const long slot = PyLong_AsLong(index);
  if (machine == nullptr || (slot == -1 && PyErr_Occurred())) return nullptr;
  return PyBool_FromLong(ownsCell(*machine, int(slot)));
}
PyObject* viewOwnsDict(PyObject* self, PyObject* index) {
  Machine* machine = machineOf(self);
  const long slot = PyLong_AsLong(index);
  if (machine == nullptr || (slot == -1 && PyErr_Occurred())) return nullptr;
  return PyBool_FromLong(ownsDict(*machine, int(slot)));
}
PyObject* viewIsHeld(PyObject* self, PyObject* index) {
  Machine* machine = machineOf(self);
  const long slot = PyLong_AsLong(index);
  if (machine == nullptr || (slot == -1 && PyErr_Occurred())) return nullptr;
  return PyBool_FromLong(isHeld(*machine, int(slot)));
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
    {"owns_cell", viewOwnsCell, METH_O, "Whether the variable in a place is in a cell that no function has."},
    {"owns_dict", viewOwnsDict, METH_O, "Whether the variable in a place is a dict that nothing else refers to."},
    {"is_held", viewIsHeld, METH_O, "Whether what is in a place is referred to outside of the frame, too."},
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
  Nanoseconds* time = nullptr;  // in the recorder's code: of the table that the plan is for
  bool alive = true;
  PyObject* callee = nullptr;  // code of the frame that may be recorded inline when it begins; borrowed
};

/// What a thread captures.
struct Context {
  Recording* recording = nullptr;     // of the innermost captured frame
  PyObject* expected_code = nullptr;  // of the frame that is to be captured; borrowed
  bool expects_any = false;           // frames that begin are called by one that is, or was, captured
  CaptureOptions options;             // of the innermost call of a compiled function
};
thread_local Context of_thread;

/// While one lives, the recorder's own code runs: its frames are not captured. Adds up how long that takes.
class Quiet {
 public:
  explicit Quiet(Nanoseconds* time) : before_(exchangeFrameFunction(nullptr)), time_(time), begin_(now()) {}
  ~Quiet() {
    exchangeFrameFunction(before_);
    if (time_ != nullptr) *time_ += now() - begin_;
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  FrameFunction before_;
  Nanoseconds* time_;
  Nanoseconds begin_;
};

/// The recorder lets go of what it has seen, which the program may let go of from now on.
void abandon(Recording& mine) {
  dropError();
  if (!mine.alive) return;
  mine.alive = false;
  Quiet quiet(mine.time);
  Py_XDECREF(PyObject_CallMethod(mine.recorder, "end", nullptr));
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

/// Names of the recorder's methods that are called for each instruction.
struct Methods {
  PyObject* step = PyUnicode_InternFromString("step");
  PyObject* after = PyUnicode_InternFromString("after");
  PyObject* leaving = PyUnicode_InternFromString("leaving");
};

const Methods& methods() {
  static const Methods of_recorder;
  return of_recorder;
}

/// A call of the recorder with the view and two numbers; a new reference, null if the recording is over.
PyObject* tell(Recording& mine, PyObject* method, ViewOf& view, int first, int second) {
  Quiet quiet(mine.time);
  PyObject* arguments[] = {mine.recorder, view.get(), PyLong_FromLong(first), PyLong_FromLong(second)};
  PyObject* result = PyObject_VectorcallMethod(method, arguments, 4, nullptr);
  Py_XDECREF(arguments[2]);
  Py_XDECREF(arguments[3]);
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
/// there is none; or an exception that the program is to get), or null while it goes on; then `sees_result` says
/// whether it is to be told when the instruction has run.
PyObject* follow(Recording& mine, ViewOf& view, const Machine& machine, bool& sees_result) {
  PyObject* answer = tell(mine, methods().step, view, machine.instruction->opcode, machine.instruction->argument);
  sees_result = answer != Py_False;
  if (answer == nullptr) return Py_NewRef(Py_None);
  mine.callee = nullptr;
  if (PyBool_Check(answer) || PyCode_Check(answer)) {
    if (PyCode_Check(answer)) mine.callee = answer;  // the function that is called keeps it
    Py_DECREF(answer);
    return nullptr;
  }
  return answer;
}

/// Sets what the frames below belong to, and restores it.
class Callee {
 public:
  explicit Callee(Context& context)
      : context_(context), outer_recording_(context.recording), outer_any_(context.expects_any) {
    context.expects_any = false;
  }
  ~Callee() {
    context_.recording = outer_recording_;
    context_.expects_any = outer_any_;
  }
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;

 private:
  Context& context_;
  Recording* outer_recording_;
  bool outer_any_;
};

/// One frame while it is captured.
class CapturedFrame {
 public:
  CapturedFrame(
      PyThreadState* thread, Frame frame, Context& context, CodeState& state, PlanTable& table, Recording* inlined)
      : machine_(thread, frame),
        context_(context),
        instructions_(state.instructions),
        table_(table),
        inlined_(inlined),
        view_(machine_),
        is_timed_(inlined == nullptr && table.frames++ % kTimedFrames == 1) {}
  ~CapturedFrame() { Py_XDECREF(compared_); }
  CapturedFrame(const CapturedFrame&) = delete;
  CapturedFrame& operator=(const CapturedFrame&) = delete;

  bool begin() {
    machine_.next = machine_.frame.position();
    return machine_.frame.enter(machine_.thread, machine_.top);
  }

  PyObject* view() { return view_.get(); }

  PyObject* run() {
    context_.recording = inlined_;
    while (true) {
      may_be_interrupted_ = mine_.recorder != nullptr || inlined_ != nullptr;
      if (mine_.recorder != nullptr && !mine_.alive) drop();
      bool refused = inlined_ == nullptr && mine_.recorder == nullptr && plans_in_a_row_ < kMaxInARow && !usePlans();
      machine_.instruction = instructions_.at(machine_.next);
      refused = refused || (may_be_interrupted_ && machine_.instruction != nullptr && raiseInterruption());
      if (machine_.instruction == nullptr || (!refused && isIdle())) break;
      Outcome outcome = refused || !record() ? Outcome::Raise : Outcome::Next;
      if (outcome == Outcome::Next && std::exchange(ends_here_, false)) continue;  // another plan may begin here
      if (outcome == Outcome::Next) outcome = execute();
      if (outcome == Outcome::Leave) {
        leaveInlined();
        break;
      }
      // Backward jumps, where signals are seen to, may be within plans.
      if (outcome != Outcome::Raise && machine_.next <= machine_.instruction->start) jumpBack();
      if (outcome != Outcome::Raise && !tellAfter()) outcome = Outcome::Raise;
      if (outcome != Outcome::Raise) continue;
      const Expected expected = raiseAsRecorded();
      if (inlined_ != nullptr && expected == Expected::Nothing) inlined_->alive = false;
      if (expected != Expected::Handled) drop();
      machine_.frame.setRunning(machine_.instruction->position);
      // What follows is CPython's, but for what a row knows of: handlers are rare, and recording them would gain
      // nothing.
      if (!unwind(machine_)) {
        return machine_.frame.raiseInPython(machine_.thread, machine_.top, machine_.instruction->position);
      }
      if (expected == Expected::Handled) continue;
      if (inlined_ != nullptr) inlined_->alive = false;
      break;
    }
    drop();
    if (inlined_ == nullptr && is_quiet_ && table_.num_plans > 0) table_.judge(saved_ - kCostOfFrame);
    if (inlined_ == nullptr && is_quiet_ && table_.num_plans == 0 && ++table_.quiet_runs >= kMaxQuietRuns) {
      table_.recordings = kMaxRecordings;
    }
    context_.recording = nullptr;
    context_.expects_any =
        inlined_ == nullptr || !inlined_->alive;  // a frame that has no plans may call others that have
    const int position = resumePosition(machine_);
    if (raiseInterruption()) {
      machine_.frame.setRunning(position);
      return machine_.frame.raiseInPython(machine_.thread, machine_.top, position);
    }
    machine_.frame.leave(machine_.thread, machine_.top, position);
    PyObject* code = Py_NewRef(reinterpret_cast<PyObject*>(machine_.code));  // which has the table
    PyObject* result = machine_.frame.continueInPython(machine_.thread);
    endPython(is_timed_ && python_from_ >= 0 ? now() : 0);
    Py_DECREF(code);
    return result;
  }

 private:
  Recording* current() {
    Recording* active = inlined_ != nullptr ? inlined_ : mine_.recorder != nullptr ? &mine_ : nullptr;
    return active != nullptr && active->alive ? active : nullptr;
  }

  void jumpBack() {
    plans_in_a_row_ = 0;
    if (evaluated_ < kLongFrame || inlined_ != nullptr || mine_.recorder != nullptr) return;
    if (saved_ < 0 && table_.num_plans > 0) table_.giveBack();
    evaluated_ = saved_ = 0;
  }

  /// Nothing is to be gained from running the rest here.
  bool isIdle() const {
    if (inlined_ != nullptr) return !inlined_->alive;
    return mine_.recorder == nullptr && table_.num_plans == 0 && table_.recordings >= kMaxRecordings;
  }

  /// What the recorder knows of the exception that is set: nothing, that it leaves this frame, or that a handler of
  /// this frame takes it.
  enum class Expected { Nothing, Leaves, Handled };

  Expected raiseAsRecorded() {
    Recording* active = current();
    if (active == nullptr || hasInterruption()) return Expected::Nothing;
    PyObject* kind = Py_NewRef(PyErr_Occurred());
    PyErrKeeper kept;
    Quiet quiet(active->time);
    PyObject* answer = PyObject_CallMethod(active->recorder, "raising", "O", kind);
    Py_DECREF(kind);
    if (answer == nullptr) abandon(*active);
    Py_XDECREF(answer);
    return answer == Py_True ? Expected::Leaves : answer == Py_Ellipsis ? Expected::Handled : Expected::Nothing;
  }

  /// False with an exception set.
  bool tellAfter() {
    Recording* active = current();
    if (active == nullptr || !sees_result_) return true;
    PyObject* answer = tell(*active, methods().after, view_, machine_.instruction->opcode, machine_.next);
    if (isRefusal(answer)) return false;
    Py_XDECREF(answer);
    return true;
  }

  /// False with an exception set.
  bool usePlans() {
    while (true) {
      const Instruction* instruction = instructions_.at(machine_.next);
      if (instruction == nullptr) return true;
      const size_t index = instructions_.indexOf(*instruction);
      if (compared_ != nullptr && !endComparison()) return true;
      if (table_.neverHasPlans(index)) return true;
      may_be_interrupted_ = true;
      Entry& entry = table_.at(index);
      if (beginComparison(entry)) return true;
      const Nanoseconds begin = python_from_ >= 0 && is_timed_ ? now() : 0;
      PlanResult result = PlanResult::CheckFailed;
      // Plans may come and go while one runs.
      for (size_t i = 0; result == PlanResult::CheckFailed && i < entry.plans.size(); i++) {
        auto& plan = *reinterpret_cast<Plan*>(entry.plans[i]);
        const int saved = plan.saved, num_steps = int(plan.steps->size());
        result = applyPlan(plan, machine_);
        if (result == PlanResult::Applied) {
          entry.rank(i, reinterpret_cast<PyObject*>(&plan));
          entry.has_applied = true;
          endPython(begin);
        }
        saved_ += (result == PlanResult::Applied ? saved : -num_steps / 2) - kCostOfPlan;
      }
      if (!context_.options.whole) table_.num_plans -= entry.dropUseless();
      if (hasInterruption()) return true;
      if (result == PlanResult::Applied && ++plans_in_a_row_ < kMaxInARow) continue;
      // A plan within the statement would set later than Python does what has been read.
      if (result == PlanResult::Outrun) plans_in_a_row_ = kMaxInARow;
      return result != PlanResult::CheckFailed || entry.attempts >= kMaxAttempts || beginRecording(index);
    }
  }

  /// Whether Python's instructions are to run in the place of the entry's first plan, and be timed.
  bool beginComparison(const Entry& entry) {
    if (inlined_ != nullptr || mine_.recorder != nullptr || entry.plans.empty()) return false;
    if (!isToBeCompared(*reinterpret_cast<Plan*>(entry.plans.front()))) return false;
    compared_ = Py_NewRef(entry.plans.front());
    // Before that, its kernels may not have been compiled yet.
    TimedRuns& own = reinterpret_cast<Plan*>(compared_)->applied_runs;
    if (reinterpret_cast<Plan*>(compared_)->python_runs.count == 0) own.least = TimedRuns::kNone;
    compared_since_ = now();
    return true;
  }

  /// Whether the instructions have run that are compared with a plan. A plan that takes longer is dropped, and none is
  /// made of its instructions again.
  bool endComparison() {
    auto& plan = *reinterpret_cast<Plan*>(compared_);
    if (machine_.next != plan.end) return false;
    plan.python_runs.add(now() - compared_since_);
    if (isSlow(plan)) {
      for (size_t i = 0; i < instructions_.all().size(); i++) {
        const int start = instructions_.all()[i].start;
        if (start >= plan.start && start < plan.end) table_.num_plans -= table_.giveUp(i);
      }
      Quiet quiet(nullptr);
      Py_XDECREF(PyObject_CallMethod(
          context_.options.recorder, "note", "Ois", reinterpret_cast<PyObject*>(machine_.code), plan.start,
          "the graph takes longer than its calls"));
      dropError();
    }
    Py_CLEAR(compared_);
    return true;
  }

  /// Notes for the report that Python's instructions run from here on.
  void beginPython() {
    if (python_from_ >= 0 || compared_ != nullptr || inlined_ != nullptr || mine_.recorder != nullptr || !is_quiet_)
      return;
    python_from_ = machine_.instruction->start;
    python_since_ = is_timed_ ? now() : 0;
  }

  /// They have run until a time, where that is measured.
  void endPython(Nanoseconds until) {
    if (python_from_ < 0) return;
    PythonRuns& runs = table_.python[python_from_];
    runs.count++;
    if (is_timed_) {
      runs.timed++;
      runs.time += until - python_since_;
    }
    python_from_ = -1;
  }

  /// False with an exception set.
  bool beginRecording(size_t instruction) {
    const CaptureOptions& options = context_.options;
    const Entry& entry = table_.at(instruction);
    if (options.whole && int(entry.plans.size()) >= options.plan_limit) return refuseMorePlans();
    if (!options.whole && !entry.mayHaveMore(options.plan_limit)) return true;
    if (table_.num_plans == 0 && table_.recordings >= kMaxRecordings) return true;
    if (!options.whole && table_.isOverdrawn()) return true;
    if (machine_.keywords_at >= 0 || options.recorder == nullptr) return true;
    table_.recordings++;
    is_quiet_ = false;
    start_ = instruction;
    recorded_.clear();
    table_.made_recordings++;
    Quiet quiet(&table_.recorder_time);
    PyObject* recorder = PyObject_CallFunction(
        options.recorder, "OiO", reinterpret_cast<PyObject*>(machine_.code), machine_.next, view_.get());
    mine_ = Recording{recorder, &table_.recorder_time};
    if (mine_.recorder == nullptr || mine_.recorder == Py_None) {
      dropError();
      Py_CLEAR(mine_.recorder);
      table_.addAttempt(instruction);
    }
    return true;
  }

  bool refuseMorePlans() const {
    PyErr_Format(
        PyExc_RuntimeError,
        "cresset.compile(fullgraph=True): %U has graphs for %d kinds of calls, and this is another. Allow more by "
        "cache_limit, or leave out fullgraph: then such calls run as Python",
        machine_.code->co_name, context_.options.plan_limit);
    return false;
  }

  /// The recorder has to know of the frame's end: it may also be that the rest of the frame is CPython's.
  void leaveInlined() {
    if (inlined_ != nullptr && inlined_->alive) Py_XDECREF(tell(*inlined_, methods().leaving, view_, 0, 0));
  }

  /// False with an exception set.
  bool record() {
    Recording* active = current();
    if (active == nullptr) {
      drop();
      return true;
    }
    PyObject* plan = follow(*active, view_, machine_, sees_result_);
    if (plan == nullptr) {
      if (inlined_ == nullptr) recorded_.push_back(instructions_.indexOf(*machine_.instruction));
      return true;
    }
    if (inlined_ != nullptr) {
      // The recorder has gone back to the caller's call: the plan ends before it, and is the caller's to keep.
      abandon(*inlined_);
    } else {
      finish(plan);
      ends_here_ = isPlan(plan) && reinterpret_cast<Plan*>(plan)->end == machine_.instruction->start;
    }
    if (isRefusal(plan)) return false;
    Py_DECREF(plan);
    return true;
  }

  void keep(PyObject* plan) {
    if (!isPlan(plan)) {
      // A part of what was recorded would be worth no plan either.
      table_.addAttempt(start_);
      for (const size_t instruction : recorded_) {
        if (instruction != start_) table_.addAttempt(instruction);
      }
      return;
    }
    const auto* made = reinterpret_cast<Plan*>(plan);
    const bool is_of_start = made->code == machine_.code && made->start == instructions_.all()[start_].start;
    if (!is_of_start || int(table_.at(start_).plans.size()) >= context_.options.plan_limit) return;
    table_.addPlan(start_, plan);
    for (const size_t instruction : recorded_) {
      if (instructions_.all()[instruction].start == made->end) break;
      table_.at(instruction).covered++;
    }
  }

  void finish(PyObject* plan) {
    if (!PyExceptionInstance_Check(plan)) keep(plan);
    Quiet quiet(&table_.recorder_time);
    Py_CLEAR(mine_.recorder);
  }

  /// Ends the recording here, with what the recorder has. What it refuses, it tells the call.
  void drop() {
    if (mine_.recorder == nullptr) return;
    Quiet quiet(&table_.recorder_time);
    PyErrKeeper kept;
    PyObject* plan = PyObject_CallMethod(mine_.recorder, "plan", nullptr);
    if (plan == nullptr) dropError();
    finish(plan == nullptr ? Py_None : plan);
    Py_XDECREF(plan);
  }

  Outcome execute() {
    Recording* active = current();
    Callee callee(context_);
    context_.recording = active;
    context_.expects_any = active == nullptr && inlined_ == nullptr && compared_ == nullptr;
    if (active == nullptr) {
      evaluated_++;
      saved_--;
      beginPython();
    }
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
  Context& context_;
  const Instructions& instructions_;
  PlanTable& table_;
  Recording* inlined_;
  ViewOf view_;
  Recording mine_{nullptr};
  size_t start_ = 0;              // the instruction at which the recording began
  std::vector<size_t> recorded_;  // those that followed, of this frame
  int plans_in_a_row_ = 0;
  long evaluated_ = 0;               // instructions that were run here
  long saved_ = 0;                   // by plans, less what was lost: in steps
  bool may_be_interrupted_ = false;  // something else than the instruction has run
  bool sees_result_ = false;         // whether the recorder is to be told when the instruction has run
  bool ends_here_ = false;           // whether the plan that was made ends before the instruction
  bool is_quiet_ = true;             // nothing was recorded
  const bool is_timed_;              // whether runs of Python's instructions are measured, for the report
  int python_from_ = -1;             // the position where Python's instructions began to run; -1 after a plan
  Nanoseconds python_since_ = 0;
  PyObject* compared_ = nullptr;  // the plan in whose place Python's instructions run; owned
  Nanoseconds compared_since_ = 0;
};

bool runCapturedFrame(PyThreadState* thread, RawFrame* raw, PyObject*& result) {
  Frame frame(raw);
  Context& context = of_thread;
  PyObject* code = reinterpret_cast<PyObject*>(frame.code());
  Recording* inlined = context.recording != nullptr && context.recording->alive && context.recording->callee == code
                           ? context.recording
                           : nullptr;
  bool wanted = code == context.expected_code || context.expects_any;
  if (inlined == nullptr && context.recording != nullptr)
    return false;  // runs as a part of an instruction that is recorded whole
  if (inlined == nullptr && !wanted) return false;
  if (code == context.expected_code) context.expected_code = nullptr;
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  int flags = frame.code()->co_flags;
  if ((flags & kFunction) != kFunction) return false;
  // Of frames that are suspended, only those of generators that the instruction runs which is recorded.
  const bool is_suspended = (flags & kSuspends) != 0 || frame.isOfGenerator();
  const bool is_inlined_generator = inlined != nullptr && (flags & kSuspends) == CO_GENERATOR && frame.isOfGenerator();
  if (is_suspended && !is_inlined_generator) return false;
  CodeState* state = stateOf(code, true);
  if (state == nullptr) return false;
  PlanTable& table = state->tables[context.options.recorder];
  if (inlined == nullptr && table.isIdle()) {
    context.expects_any = true;  // what it calls may have plans
    return false;
  }
  if (inlined != nullptr) inlined->callee = nullptr;
  Recording* outer = context.recording;
  const bool expected_any = context.expects_any;
  context.expects_any = false;
  CapturedFrame captured(thread, frame, context, *state, table, inlined);
  if (!captured.begin()) {
    context.expects_any = expected_any;
    return false;
  }
  if (inlined != nullptr) {
    Quiet quiet(inlined->time);
    PyObject* answer = PyObject_CallMethod(inlined->recorder, "enter", "O", captured.view());
    if (answer == nullptr) abandon(*inlined);
    Py_XDECREF(answer);
  }
  const bool is_measured = inlined == nullptr && table.hasSpentMuch();
  const Nanoseconds begin = is_measured ? now() : 0, spent = table.spent();
  result = captured.run();
  if (is_measured) table.addRunTime(now() - begin - (table.spent() - spent));
  context.recording = outer;
  context.expects_any = expected_any;
  return true;
}

}  // namespace

PyObject* callCaptured(PyObject* callable, const Arguments& arguments, PyObject* code, const CaptureOptions& given) {
  FrameHook hook;
  Context& context = of_thread;
  const Context outer = context;
  context = {.expected_code = code, .options = given};
  FrameFunction before = exchangeFrameFunction(runCapturedFrame);
  PyObject* result = arguments.call(callable);
  exchangeFrameFunction(before);
  context = outer;
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
    if (recorder == nullptr) {
      table.reset();
    } else if (of == recorder) {
      table.forget();
    }
  }
}

bool isGivenBack(PyObject* code, const PyObject* recorder) {
  const CodeState* state = stateOf(code, false);
  if (state == nullptr) return false;
  const PlanTable* table = tableOf(*state, recorder);
  return table != nullptr && table->is_given_back;
}

PyObject* plansOf(PyObject* code, const PyObject* recorder) {
  PyObject* list = PyList_New(0);
  CodeState* state = list == nullptr ? nullptr : stateOf(code, false);
  if (state == nullptr) return list;
  for (const auto& [of, table] : state->tables) {
    if (recorder != nullptr && of != recorder) continue;
    table.forEachPlan([&](size_t instruction, PyObject* plan) {
      if (list == nullptr) return;
      PyObject* pair = Py_BuildValue("iO", state->instructions.all()[instruction].start, plan);
      if (pair == nullptr || PyList_Append(list, pair)) Py_CLEAR(list);
      Py_XDECREF(pair);
    });
  }
  return list;
}

PyObject* historyOf(PyObject* code, const PyObject* recorder) {
  const CodeState* state = stateOf(code, false);
  PyObject* python = PyDict_New();
  unsigned long long frames = 0, recordings = 0, time = 0;
  const auto found = state == nullptr ? nullptr : tableOf(*state, recorder);
  if (found != nullptr) {
    frames = found->frames;
    recordings = found->made_recordings;
    time = found->recorder_time;
    for (const auto& [position, runs] : found->python) {
      const double mean = runs.timed == 0 ? -1.0 : double(runs.time) / double(runs.timed);
      PyObject* key = PyLong_FromLong(position);
      PyObject* value = Py_BuildValue("Kd", runs.count, mean);
      const bool done =
          python != nullptr && key != nullptr && value != nullptr && PyDict_SetItem(python, key, value) == 0;
      Py_XDECREF(key);
      Py_XDECREF(value);
      if (!done) Py_CLEAR(python);
    }
  }
  return python == nullptr ? nullptr : Py_BuildValue("KKKN", frames, recordings, time, python);
}

bool addViewClass(PyObject* module) {
  view_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&view_spec));
  return view_class != nullptr && PyModule_AddObjectRef(module, "View", reinterpret_cast<PyObject*>(view_class)) == 0;
}

}  // namespace cresset::capture
#endif
