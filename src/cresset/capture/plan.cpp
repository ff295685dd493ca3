#include "cresset/capture/plan.h"

#if CRESSET_KNOWS_FRAMES
#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "cresset/capture/binary_functions.h"
#include "cresset/capture/instructions.h"
#include "cresset/capture/plan_steps.h"
#include "cresset/capture/read_cache.h"

namespace cresset::capture {
namespace {

PyTypeObject* plan_class = nullptr;

constexpr int kAny = INT_MAX;
constexpr int kNumBinary = int(std::size(kBinary));
constexpr int kMaxRegisters = 1 << 24;

struct StepRule {
  const char* name;
  StepPlace a;
  int least_b, greatest_b;
  StepObject object;
  int least_inputs, greatest_inputs;
};

constexpr StepRule kStepRules[] = {
#define STEP(NAME, A, LEAST_B, GREATEST_B, OBJECT, LEAST, GREATEST) \
  {#NAME, StepPlace::A, LEAST_B, GREATEST_B, StepObject::OBJECT, LEAST, GREATEST},
    CRESSET_PLAN_STEPS(STEP)
#undef STEP
};

/// Whether code of the program runs when it is freed: a finalizer, or what a weak reference to it calls.
bool hasFinalizer(PyObject* object) {
  if (object == nullptr) return false;
  if (Py_TYPE(object)->tp_finalize != nullptr) return true;
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  auto* reference = *reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(object));
  while (reference != nullptr && reference->wr_callback == nullptr) reference = reference->wr_next;
  return reference != nullptr;
}

/// As dict's or OrderedDict's own `__setitem__`, also of a class derived from these.
bool setItem(PyObject* dict, PyObject* key, PyObject* value) {
  return (PyODict_Check(dict) ? PyODict_SetItem(dict, key, value) : PyDict_SetItem(dict, key, value)) == 0;
}

/// Sets an element of a list that is there.
bool setElement(PyObject* list, PyObject* index, PyObject* value) {
  const Py_ssize_t place = PyLong_AsSsize_t(index);
  return PyList_SetItem(list, place < 0 ? place + PyList_GET_SIZE(list) : place, Py_NewRef(value)) == 0;
}

/// Gives a dict the elements of another.
bool refill(PyObject* dict, PyObject* elements) {
  PyDict_Clear(dict);
  return PyDict_Update(dict, elements) == 0;
}

/// Whether the store sets an attribute that is neither an element of a dict nor a slot.
bool isOfDescriptor(const PlanStore& store) {
  return Py_IS_TYPE(store.key, &PyGetSetDescr_Type);
}

/// Whether the store changes the ends of a list or deque.
bool isOfEnds(const PlanStore& store) {
  return PySlice_Check(store.key);
}

/// Whether the store is a call, of a function that keeps its results; its key finds what is kept.
bool isOfCall(const PlanStore& store) {
  return PyCFunction_Check(store.key);
}

/// Whether the function still keeps what the plan has found, so that a call runs no code of the program's.
bool keepsResult(const PlanStore& store, const Registers& registers) {
  PyObject* found =
      PyObject_CallFunctionObjArgs(store.key, registers[store.container], registers[store.value], nullptr);
  const bool keeps = found != nullptr && PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) == 1 &&
                     PyTuple_GET_ITEM(found, 0) == registers[store.known];
  Py_XDECREF(found);
  dropError();
  return keeps;
}

/// Takes `first` elements from the beginning of a list or deque, and `last` from its end, and puts those of two
/// sequences there.
bool changeEnds(PyObject* container, Py_ssize_t first, Py_ssize_t last, PyObject* now_first, PyObject* now_last) {
  if (PyList_CheckExact(container)) {
    const Py_ssize_t size = PyList_GET_SIZE(container);
    return PyList_SetSlice(container, size - last, size, now_last) == 0 &&
           PyList_SetSlice(container, 0, first, now_first) == 0;
  }
  const auto call = [&](const char* name, PyObject* argument) {
    PyObject* text = PyUnicode_FromString(name);
    PyObject* result = text == nullptr       ? nullptr
                       : argument == nullptr ? PyObject_CallMethodNoArgs(container, text)
                                             : PyObject_CallMethodOneArg(container, text, argument);
    Py_XDECREF(text);
    Py_XDECREF(result);
    return result != nullptr;
  };
  bool done = true;
  for (Py_ssize_t i = 0; done && i < first; i++) done = call("popleft", nullptr);
  for (Py_ssize_t i = 0; done && i < last; i++) done = call("pop", nullptr);
  PyObject* reversed = done ? PySequence_List(now_first) : nullptr;
  done =
      reversed != nullptr && PyList_Reverse(reversed) == 0 && call("extendleft", reversed) && call("extend", now_last);
  Py_XDECREF(reversed);
  return done;
}

/// How many elements a store takes from the beginning of what has `size`, and from its end.
std::pair<Py_ssize_t, Py_ssize_t> numTaken(const PlanStore& store, Py_ssize_t size) {
  return store.last == PlanStore::kAll ? std::pair<Py_ssize_t, Py_ssize_t>(size, 0)
                                       : std::pair<Py_ssize_t, Py_ssize_t>(store.first, store.last);
}

/// Whether the elements that are to go away are those that the plan has read.
bool hasEndsAsRead(const PlanStore& store, const Registers& registers) {
  PyObject *container = registers[store.container], *known = registers[store.known];
  const Py_ssize_t size = PySequence_Size(container);
  const auto [first, last] = numTaken(store, size);
  if (!PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != first + last || first + last > size) return false;
  for (Py_ssize_t i = 0; i < first + last; i++) {
    PyObject* found = item(container, i < first ? i : size - last + i - first);
    Py_XDECREF(found);
    if (found != PyTuple_GET_ITEM(known, i)) return false;
  }
  return true;
}

/// The key of the element that a store sets.
PyObject* keyOf(const PlanStore& store, const Registers& registers) {
  return store.key_at < 0 ? store.key : registers[store.key_at];
}

/// What is in the place that a store sets: a new reference; null if there is nothing, perhaps with an exception set.
PyObject* stored(const PlanStore& store, const Registers& registers) {
  PyObject* container = registers[store.container];
  if (isOfDescriptor(store)) {
    return Py_TYPE(store.key)->tp_descr_get(store.key, container, reinterpret_cast<PyObject*>(Py_TYPE(container)));
  }
  if (PyList_CheckExact(container)) return itemAt(container, keyOf(store, registers));
  return store.key == Py_NotImplemented ? Py_XNewRef(loadCell(container)) : lookUp(container, keyOf(store, registers));
}

/// Deletes an element that is there; a dict with those that there were, in their order, is added to `old`.
bool applyDeletion(const PlanStore& store, const Registers& registers, std::vector<PyObject*>& old) {
  PyObject *container = registers[store.container], *key = keyOf(store, registers);
  PyObject* value = lookUp(container, key);
  PyObject* before = value == nullptr || hasFinalizer(value) ? nullptr : PyDict_Copy(container);
  Py_XDECREF(value);
  if (before == nullptr || PyDict_DelItem(container, key)) {
    Py_XDECREF(before);
    return false;
  }
  old.push_back(before);
  return true;
}

/// Changes the ends of a list or deque; what was there, in two sequences, is added to `old`. No finalizer may run.
bool applyEnds(const PlanStore& store, const Registers& registers, std::vector<PyObject*>& old) {
  PyObject *container = registers[store.container], *values = registers[store.value];
  const auto [first, last] = numTaken(store, PySequence_Size(container));
  PyObject* known = registers[store.known];
  for (Py_ssize_t i = 0; i < first + last; i++) {
    PyObject* each = PyTuple_GET_ITEM(known, i);
    PyObject** end = PySequence_Fast_ITEMS(values) + PyTuple_GET_SIZE(values);
    if (hasFinalizer(each) && std::find(PySequence_Fast_ITEMS(values), end, each) == end) return false;
  }
  PyObject* gone = PyTuple_New(2);
  if (gone == nullptr) return false;
  PyTuple_SET_ITEM(gone, 0, PyTuple_GetSlice(known, 0, first));
  PyTuple_SET_ITEM(gone, 1, PyTuple_GetSlice(known, first, first + last));
  PyObject* now_first = PyTuple_GetSlice(values, 0, store.num_first);
  PyObject* now_last = PyTuple_GetSlice(values, store.num_first, PyTuple_GET_SIZE(values));
  const bool done = now_first != nullptr && now_last != nullptr && PyTuple_GET_ITEM(gone, 0) != nullptr &&
                    PyTuple_GET_ITEM(gone, 1) != nullptr && changeEnds(container, first, last, now_first, now_last);
  Py_XDECREF(now_first);
  Py_XDECREF(now_last);
  if (done) {
    old.push_back(gone);
  } else {
    Py_DECREF(gone);
  }
  return done;
}

/// One store; what was there before is added to `old` (null if nothing). False, perhaps with an exception set.
bool applyStore(const PlanStore& store, const Registers& registers, std::vector<PyObject*>& old) {
  PyObject* container = registers[store.container];
  if (store.value < 0) return applyDeletion(store, registers, old);
  if (isOfEnds(store)) return applyEnds(store, registers, old);
  if (isOfCall(store)) {  // none that can be taken back follows
    Py_XDECREF(PyObject_CallObject(registers[store.container], registers[store.value]));
    dropError();
    old.push_back(nullptr);
    return true;
  }
  PyObject* value = registers[store.value];
  PyObject* before = nullptr;
  bool done = false;
  if (store.key == Py_None) {
    done = PyList_Append(container, value) == 0;
  } else if (store.key == Py_NotImplemented) {
    before = stored(store, registers);
    done = !hasFinalizer(before);
    if (done) PyCell_Set(container, value);
  } else if (isOfDescriptor(store)) {
    before = stored(store, registers);
    done = before != nullptr && !hasFinalizer(before) &&
           Py_TYPE(store.key)->tp_descr_set(store.key, container, value) == 0;
  } else if (store.key == Py_Ellipsis) {
    before = PyDict_Copy(container);
    done = before != nullptr && refill(container, value);
  } else if (PyList_CheckExact(container)) {
    before = stored(store, registers);
    done = before != nullptr && !hasFinalizer(before) && setElement(container, keyOf(store, registers), value);
  } else {
    before = stored(store, registers);
    done = !PyErr_Occurred() && !hasFinalizer(before) && setItem(container, keyOf(store, registers), value);
  }
  if (done) {
    old.push_back(before);
  } else {
    Py_XDECREF(before);
  }
  return done;
}

void undoStore(const PlanStore& store, const Registers& registers, PyObject* before) {
  PyObject* container = registers[store.container];
  if (store.key == Py_None) {
    const Py_ssize_t size = PyList_GET_SIZE(container);
    PyList_SetSlice(container, size - 1, size, nullptr);
  } else if (isOfEnds(store)) {
    const Py_ssize_t num_last = PyTuple_GET_SIZE(registers[store.value]) - store.num_first;
    changeEnds(container, store.num_first, num_last, PyTuple_GET_ITEM(before, 0), PyTuple_GET_ITEM(before, 1));
  } else if (PyList_CheckExact(container)) {
    setElement(container, keyOf(store, registers), before);
  } else if (store.key == Py_Ellipsis || store.value < 0) {
    refill(container, before);
  } else if (store.key == Py_NotImplemented) {
    PyCell_Set(container, before);
  } else if (isOfDescriptor(store)) {
    Py_TYPE(store.key)->tp_descr_set(store.key, container, before);
  } else if (before == nullptr) {
    PyDict_DelItem(container, keyOf(store, registers));
  } else {
    setItem(container, keyOf(store, registers), before);
  }
  Py_XDECREF(before);
  dropError();
}

/// Whether there is still what the plan has read there: other threads run during its calls.
bool isAsRead(const PlanStore& store, const Registers& registers) {
  if (store.known < 0) return true;
  if (isOfEnds(store)) return hasEndsAsRead(store, registers);
  if (isOfCall(store)) return keepsResult(store, registers);
  PyObject* now = stored(store, registers);
  Py_XDECREF(now);
  dropError();
  return now == registers[store.known];
}

/// Sets what the plan sets, or nothing; the former values, which are to be freed when the frame is whole, are in `old`.
PlanResult applyStores(
    const Plan& plan, const Registers& registers, const Machine& machine, std::vector<PyObject*>& old) {
  static PyObject* const of_globals = PyUnicode_InternFromString("__builtins__");
  for (const PlanStore& store : *plan.stores) {
    PyObject* container = registers[store.container];
    // What a plan reads of globals it does not compare with what it sets.
    const bool fits = store.key == Py_None             ? PyList_CheckExact(container)
                      : isOfCall(store)                ? PyTuple_CheckExact(registers[store.value])
                      : isOfEnds(store)                ? PyList_CheckExact(container) || isDeque(container)
                      : PyList_CheckExact(container)   ? store.key_at >= 0
                      : store.key == Py_NotImplemented ? PyCell_Check(container)
                      : isOfDescriptor(store)          ? PyObject_TypeCheck(container, PyDescr_TYPE(store.key)) != 0
                      : isPlainDict(container)         ? store.of_globals || lacksKey(container, of_globals)
                                                       : PyDict_Check(container) && store.is_new;
    if (!fits) return PlanResult::CheckFailed;
  }
  if (plan.stores->empty()) return PlanResult::Applied;
  // What runs when a variable's value is freed would see what is set after that.
  for (const PlanOutput& output : *plan.outputs) {
    if (output.slot >= 0 && output.slot < machine.frame.numVariables() && hasFinalizer(machine.slots[output.slot])) {
      return PlanResult::CheckFailed;
    }
  }
  for (const PlanStore& store : *plan.stores) {
    if (!isAsRead(store, registers)) return PlanResult::Outrun;
  }
  for (const PlanStore& store : *plan.stores) {
    if (applyStore(store, registers, old)) continue;
    dropError();
    for (; !old.empty(); old.pop_back()) undoStore((*plan.stores)[old.size() - 1], registers, old.back());
    return PlanResult::CheckFailed;
  }
  return PlanResult::Applied;
}

void applyOutputs(const Plan& plan, const Registers& registers, Machine& machine) {
  // The frame is whole before anything is freed, since that may run code.
  constexpr size_t kFew = 16;
  PyObject** end = machine.frame.stackBase() + plan.depth;
  const size_t most = plan.outputs->size() + size_t(machine.top > end ? machine.top - end : 0);
  PyObject* few[kFew];
  std::vector<PyObject*> many(most > kFew ? most : 0);
  PyObject** old = many.empty() ? few : many.data();
  size_t count = 0;
  while (machine.top > end) old[count++] = *--machine.top;
  while (machine.top < end) *machine.top++ = nullptr;
  for (const PlanOutput& output : *plan.outputs) {
    PyObject* value = output.variable < 0 ? nullptr : Py_NewRef(registers[output.variable]);
    if (output.slot < 0) {
      PyObject* cell = machine.slots[-1 - output.slot];
      old[count++] = PyCell_GET(cell);
      PyCell_SET(cell, value);
    } else {
      old[count++] = std::exchange(machine.slots[output.slot], value);
    }
  }
  machine.next = plan.end;
  for (size_t i = 0; i < count; i++) Py_XDECREF(old[i]);
}

}  // namespace

bool ownsCell(const Machine& machine, int slot) {
  if (slot < 0 || slot >= machine.frame.numVariables()) return false;
  PyObject* cell = machine.slots[slot];
  return cell != nullptr && PyCell_Check(cell) && Py_REFCNT(cell) == 1;
}

bool ownsDict(const Machine& machine, int slot) {
  if (slot < 0 || slot >= machine.frame.numVariables()) return false;
  PyObject* dict = machine.slots[slot];
  return dict != nullptr && PyDict_CheckExact(dict) && Py_REFCNT(dict) == 1;
}

bool isHeld(const Machine& machine, int slot) {
  PyObject* object = slot >= 0 && slot < machine.top - machine.slots ? machine.slots[slot] : nullptr;
  if (object == nullptr) return false;
  Py_ssize_t own = 0;
  for (PyObject** each = machine.slots; each != machine.top; each++) {
    PyObject* found = *each;
    if (found != nullptr && PyCell_Check(found)) found = PyCell_GET(found);
    own += found == object;
  }
  return Py_REFCNT(object) > own;
}

bool readsRegister(const Step& step) {
  const StepPlace place = kStepRules[size_t(step.kind)].a;
  return place == StepPlace::Register || (place == StepPlace::RegisterOrNone && step.a >= 0);
}

unsigned versionOf(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  if (PyUnstable_Type_AssignVersionTag(type) == 0) return 0;
#else
  static PyObject* const name = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, name);  // a lookup gives it one
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return unsigned(type->tp_version_tag) > 0x7fffffffU ? 0 : unsigned(type->tp_version_tag);
}

namespace {

bool isCheck(StepKind kind) {
  return kind > StepKind::Item && kind <= StepKind::CheckZero;
}

/// Whether a step checks what is in a register.
bool checksRegister(const Step& step) {
  return isCheck(step.kind) && readsRegister(step);
}

/// The exception that is set, as its class and text; null if there is none. Leaves none set.
PyObject* textOfError() {
  PyObject* kind = Py_XNewRef(PyErr_Occurred());
  if (kind == nullptr) return nullptr;
  dropError();
  PyObject* text = PyUnicode_FromString(reinterpret_cast<PyTypeObject*>(kind)->tp_name);
  Py_DECREF(kind);
  return text;
}

/// What a check has found: a number or text as it is, the class of other objects.
PyObject* textOfObject(PyObject* object) {
  if (object == nullptr) return nullptr;
  const bool is_shown = object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
                        PyFloat_CheckExact(object) ||
                        (PyUnicode_CheckExact(object) && PyUnicode_GET_LENGTH(object) <= 40);
  if (is_shown) return PyObject_Repr(object);
  const bool is_container = PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyDict_CheckExact(object);
  if (is_container) return PyUnicode_FromFormat("a %s of %zd", Py_TYPE(object)->tp_name, PyObject_Size(object));
  const char* name = Py_TYPE(object)->tp_name;
  return PyUnicode_FromFormat("%s %s", std::strchr("aeiouAEIOU", name[0]) == nullptr ? "a" : "an", name);
}

/// Notes for the report which step was the last of a run: a check that did not hold, a call that has raised, or, one
/// past the end, what the plan was to set. Texts are made of the first runs, and of some of the later ones.
void noteFailure(Plan& plan, size_t step, const Registers& registers) {
  constexpr unsigned kAlwaysShown = 4, kShown = 64;
  if (plan.failures == nullptr) plan.failures = new PlanFailures{std::vector<unsigned>(plan.steps->size() + 1)};
  PlanFailures& failures = *plan.failures;
  const unsigned count = failures.by_step[step]++;
  if (failures.last == int(step) && count >= kAlwaysShown && count % kShown != 0) return;
  failures.last = int(step);
  PyObject* text = textOfError();
  if (text == nullptr && step < plan.steps->size() && checksRegister((*plan.steps)[step])) {
    text = textOfObject(registers[(*plan.steps)[step].a]);
  }
  dropError();
  Py_XSETREF(failures.found, text);
}

unsigned long long now() {
  return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

PlanResult applyPlan(Plan& plan, Machine& machine) {
  if (machine.top - machine.slots < plan.num_slots) {  // a stack that is not as high as when the plan was recorded
    plan.failed++;
    return PlanResult::CheckFailed;
  }
  const bool is_timed = (plan.applied + plan.failed + plan.raised) % TimedRuns::kTimedRuns == 1;
  const unsigned long long begin = is_timed ? now() : 0;
  Py_INCREF(reinterpret_cast<PyObject*>(&plan));  // it may be forgotten meanwhile
  PlanResult result = PlanResult::Applied;
  plan.num_running++;
  {
    Registers registers(plan.num_registers);
    std::vector<PyObject*> undo;  // owned
    std::unique_ptr<ReadObserver> observer;
    if (plan.cache->wantsObserver(plan.applied)) observer = std::make_unique<ReadObserver>(plan, machine);
    bool has_failed = false;         // facts of the cache
    unsigned long long reading = 0;  // nanoseconds
    size_t at = 0, next = 0;
    while (at < plan.steps->size()) {
      CachedReads* cached = observer == nullptr ? plan.cache->at(at, next) : nullptr;
      if (cached != nullptr) {
        next++;
        const unsigned long long before = is_timed ? now() : 0;
        const bool are_held = cached->hold(plan, registers, machine);
        if (is_timed) reading += now() - before;
        if (are_held) {
          at = cached->end();
          continue;
        }
        plan.cache->noteChange(*cached);
        has_failed = true;
      }
      const Step& step = (*plan.steps)[at];
      const int* inputs = plan.operands->data() + step.first;
      if (!run(step, inputs, registers, machine)) {
        result = step.kind <= StepKind::CheckZero ? PlanResult::CheckFailed : PlanResult::Raised;
        break;
      }
      if (step.kind == StepKind::Save) undo.push_back(Py_NewRef(registers[step.target]));
      if (observer != nullptr) observer->observe(at, registers);
      for (const int dead : deadAfter(step, inputs)) registers.clear(dead);
      at++;
    }
    if (observer == nullptr) {
      plan.cache->note(has_failed);
      if (is_timed && reading != 0 && !has_failed && result == PlanResult::Applied) plan.cached_reads.add(reading);
    } else if (result == PlanResult::Applied && plan.num_running == 1) {
      plan.cache->replace(observer->finish());
    }
    if (result != PlanResult::Applied) noteFailure(plan, at, registers);
    dropError();
    std::vector<PyObject*> old;
    if (result == PlanResult::Applied) {
      result = applyStores(plan, registers, machine, old);
      if (result != PlanResult::Applied) noteFailure(plan, plan.steps->size(), registers);
    }
    if (result == PlanResult::Applied) applyOutputs(plan, registers, machine);
    for (PyObject* value : old) Py_XDECREF(value);
    for (; !undo.empty(); undo.pop_back()) {
      if (result != PlanResult::Applied) {
        Py_XDECREF(PyObject_CallNoArgs(undo.back()));
        dropError();
      }
      Py_DECREF(undo.back());
    }
  }
  plan.num_running--;
  const bool applied = result == PlanResult::Applied;
  (applied ? plan.applied : result == PlanResult::Raised ? plan.raised : plan.failed)++;
  plan.rank = applied ? std::min(plan.rank + 1, kMaxRank) : std::max(plan.rank - 1, -kMaxRank);
  if (is_timed) {
    TimedRuns& runs = applied ? plan.applied_runs : plan.other_runs;
    runs.add(now() - begin);
  }
  Py_DECREF(reinterpret_cast<PyObject*>(&plan));
  return result;
}

// ---- The class

namespace {

/// Reads what the recorder says into a plan, and checks each number: a plan runs on frames of its code, register by
/// register, without looking again.
class PlanReader {
 public:
  PlanReader(Plan& plan, PyCodeObject* code)
      : plan_(plan), num_variables_(numVariablesOf(code)), stack_size_(code->co_stacksize), instructions_(code) {}

  /// False with an exception set, as are the others.
  bool readPlaces() {
    const bool valid = instructions_.at(plan_.start) != nullptr && instructions_.at(plan_.end) != nullptr &&
                       plan_.depth >= 0 && plan_.depth <= stack_size_ && plan_.num_registers >= 0 &&
                       plan_.num_registers <= kMaxRegisters;
    if (!valid) return refuse("no plan of this code");
    has_value_.assign(size_t(plan_.num_registers), false);
    owns_cell_.assign(size_t(num_variables_), false);
    return true;
  }

  bool readStep(PyObject* described) {
    const char* name = nullptr;
    Step step{};
    PyObject *object = nullptr, *inputs = nullptr, *dead = nullptr;
    if (!PyTuple_Check(described)) return refuse("a step is a tuple");
    if (!PyArg_ParseTuple(
            described, "siiiOO!O!", &name, &step.target, &step.a, &step.b, &object, &PyTuple_Type, &inputs,
            &PyTuple_Type, &dead)) {
      return false;
    }
    const auto* rule = std::find_if(std::begin(kStepRules), std::end(kStepRules), [&](const StepRule& each) {
      return std::strcmp(each.name, name) == 0;
    });
    if (rule == std::end(kStepRules)) return refuse(name);
    step.kind = StepKind(rule - std::begin(kStepRules));
    step.first = uint32_t(plan_.operands->size());
    step.num_inputs = uint16_t(PyTuple_GET_SIZE(inputs));
    step.num_dead = uint16_t(PyTuple_GET_SIZE(dead));
    const bool valid = readRegisters(inputs, true) && readRegisters(dead, false) && fits(*rule, step) &&
                       fitsObject(*rule, step, object) && fitsTarget(step);
    if (!valid) return refuse(name);
    for (int i = 0; i < step.num_dead; i++) {
      has_value_[size_t((*plan_.operands)[step.first + step.num_inputs + size_t(i)])] = false;
    }
    // None stands for nothing, except where it is the object.
    step.object = object == Py_None && rule->object != StepObject::Any ? nullptr : Py_NewRef(object);
    plan_.steps->push_back(step);
    return true;
  }

  bool readOutput(PyObject* described) {
    PlanOutput output{};
    if (!PyTuple_Check(described)) return refuse("an output is a tuple");
    if (!PyArg_ParseTuple(described, "ii", &output.slot, &output.variable)) return false;
    const bool is_cell = output.slot < 0;
    const bool valid = (is_cell ? isVariable(-1 - output.slot) && owns_cell_[size_t(-1 - output.slot)]
                                : output.slot - num_variables_ < plan_.depth) &&
                       (output.variable == -1 || isSet(output.variable));
    if (!valid) return refuse("an output");
    plan_.outputs->push_back(output);
    return true;
  }

  /// CPython would take what no output sets for an object.
  bool setsStack() const {
    std::vector<bool> is_set(size_t(plan_.depth), false);
    for (const PlanOutput& output : *plan_.outputs) {
      if (output.slot >= num_variables_) is_set[size_t(output.slot - num_variables_)] = true;
    }
    return std::find(is_set.begin(), is_set.end(), false) == is_set.end() || refuse("the stack at the end");
  }

  bool readStore(PyObject* described) {
    PlanStore store{};
    if (!PyTuple_Check(described)) return refuse("a store is a tuple");
    if (!PyArg_ParseTuple(
            described, "iOiipp", &store.container, &store.key, &store.value, &store.known, &store.is_new,
            &store.of_globals)) {
      return false;
    }
    store.key_at = -1;
    if (PyTuple_Check(store.key) && !PyArg_ParseTuple(store.key, "i", &store.key_at)) return false;
    const bool is_element = store.key != Py_None && store.key != Py_Ellipsis && store.key != Py_NotImplemented &&
                            !isOfDescriptor(store) && !isOfEnds(store) && !isOfCall(store);
    if (isOfCall(store) && !isSet(store.known)) return refuse("a store of a call");
    if (isOfEnds(store) && !readEnds(store)) return false;
    const bool valid = isSet(store.container) && (isSet(store.value) || (store.value == -1 && is_element)) &&
                       (store.known == -1 || isSet(store.known)) && (store.key_at == -1 || isSet(store.key_at));
    if (!valid) return refuse("a store");
    Py_INCREF(store.key);
    plan_.stores->push_back(store);
    return true;
  }

 private:
  /// The numbers of a store of the ends of a list or deque.
  bool readEnds(PlanStore& store) const {
    auto* numbers = reinterpret_cast<PySliceObject*>(store.key);
    PyObject* given[] = {numbers->start, numbers->stop, numbers->step};
    int* places[] = {&store.first, &store.last, &store.num_first};
    for (int i = 0; i < 3; i++) {
      const long number = PyLong_CheckExact(given[i]) ? PyLong_AsLong(given[i]) : -2;
      const bool fits = number >= 0 || (i == 1 && number == PlanStore::kAll);
      if (!fits || number > kMaxRegisters) return refuse("a store of the ends of a list");
      *places[i] = int(number);
    }
    if (!isSet(store.value) || !isSet(store.known)) return refuse("what the ends of a list become");
    return true;
  }

  static bool refuse(const char* what) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "malformed plan: %s", what);
    return false;
  }

  bool isRegister(long index) const { return index >= 0 && index < plan_.num_registers; }
  bool isSet(int index) const { return isRegister(index) && has_value_[size_t(index)]; }
  bool isVariable(int slot) const { return slot >= 0 && slot < num_variables_; }

  bool readRegisters(PyObject* list, bool are_read) {
    bool valid = PyTuple_GET_SIZE(list) <= UINT16_MAX;
    for (Py_ssize_t i = 0; valid && i < PyTuple_GET_SIZE(list); i++) {
      const long index = PyLong_AsLong(PyTuple_GET_ITEM(list, i));
      valid = isRegister(index) && (!are_read || isSet(int(index)));
      plan_.operands->push_back(int(index));
    }
    return valid;
  }

  bool fits(const StepRule& rule, const Step& step) {
    if (step.b < rule.least_b || step.b > rule.greatest_b) return false;
    if (step.num_inputs < rule.least_inputs || step.num_inputs > rule.greatest_inputs) return false;
    switch (rule.a) {
      case StepPlace::Nothing:
        return true;
      case StepPlace::Register:
        return isSet(step.a);
      case StepPlace::RegisterOrNone:
        return step.a == -1 || isSet(step.a);
      case StepPlace::Slot:
        plan_.num_slots = std::max(plan_.num_slots, step.a < INT_MAX ? step.a + 1 : step.a);
        return step.a >= 0 && step.a - num_variables_ < stack_size_;
      case StepPlace::Variable:
        if (isVariable(step.a) && step.kind == StepKind::CheckOwnCell) owns_cell_[size_t(step.a)] = true;
        return isVariable(step.a);
    }
    return false;
  }

  static bool areTexts(PyObject* tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
      if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple, i))) return false;
    }
    return true;
  }

  static bool fitsObject(const StepRule& rule, const Step& step, PyObject* object) {
    switch (rule.object) {
      case StepObject::Nothing:
        return object == Py_None;
      case StepObject::Any:
        return true;
      case StepObject::Text:
        return PyUnicode_CheckExact(object);
      case StepObject::Tuple:
        return PyTuple_Check(object) &&
               (step.kind != StepKind::Dict || PyTuple_GET_SIZE(object) == Py_ssize_t(step.num_inputs));
      case StepObject::NamesOrNone:
        return object == Py_None ||
               (PyTuple_Check(object) && areTexts(object) && PyTuple_GET_SIZE(object) <= Py_ssize_t(step.num_inputs));
      case StepObject::Code:
        return PyCode_Check(object);
    }
    return false;
  }

  bool fitsTarget(const Step& step) {
    const bool is_check = step.kind > StepKind::Item && step.kind <= StepKind::CheckZero;
    if (is_check) return step.target == -1;
    if (!isRegister(step.target)) return false;
    has_value_[size_t(step.target)] = true;
    return true;
  }

  Plan& plan_;
  const int num_variables_, stack_size_;
  const Instructions instructions_;
  std::vector<bool> has_value_;  // by register, after the steps that were read
  std::vector<bool> owns_cell_;  // by variable: whether a step checks that it is a cell
};

void deletePlan(PyObject* self) {
  auto* plan = reinterpret_cast<Plan*>(self);
  if (plan->steps != nullptr) {
    for (Step& step : *plan->steps) Py_XDECREF(step.object);
  }
  delete plan->steps;
  delete plan->operands;
  delete plan->outputs;
  if (plan->stores != nullptr) {
    for (PlanStore& store : *plan->stores) Py_XDECREF(store.key);
  }
  delete plan->stores;
  if (plan->failures != nullptr) Py_XDECREF(plan->failures->found);
  delete plan->failures;
  delete plan->cache;
  Py_XDECREF(plan->info);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* countsOf(PyObject* self, void*) {
  auto* plan = reinterpret_cast<Plan*>(self);
  return Py_BuildValue("KKK", plan->applied, plan->failed, plan->raised);
}

PyObject* failuresOf(PyObject* self, void*) {
  const PlanFailures* failures = reinterpret_cast<Plan*>(self)->failures;
  PyObject* by_step = PyDict_New();
  if (by_step == nullptr || failures == nullptr)
    return by_step == nullptr ? nullptr : Py_BuildValue("NOO", by_step, Py_None, Py_None);
  for (size_t i = 0; i < failures->by_step.size(); i++) {
    if (failures->by_step[i] == 0) continue;
    PyObject *step = PyLong_FromSize_t(i), *count = PyLong_FromUnsignedLong(failures->by_step[i]);
    const bool done = step != nullptr && count != nullptr && PyDict_SetItem(by_step, step, count) == 0;
    Py_XDECREF(step);
    Py_XDECREF(count);
    if (done) continue;
    Py_DECREF(by_step);
    return nullptr;
  }
  return Py_BuildValue("NiO", by_step, failures->last, failures->found == nullptr ? Py_None : failures->found);
}

PyObject* timesOf(PyObject* self, void*) {
  const auto* plan = reinterpret_cast<Plan*>(self);
  const auto mean = [](const TimedRuns& runs) {
    return runs.count == 0 ? -1.0 : double(runs.nanoseconds) / double(runs.count);
  };
  const bool has_read = plan->cached_reads.count != 0;
  return Py_BuildValue(
      "ddd", mean(plan->applied_runs), mean(plan->other_runs), has_read ? double(plan->cached_reads.least) : -1.0);
}

PyObject* stepsOf(PyObject* self, void*) {
  const auto* plan = reinterpret_cast<Plan*>(self);
  PyObject* list = PyList_New(0);
  for (const Step& step : *plan->steps) {
    PyObject* inputs = list == nullptr ? nullptr : PyTuple_New(step.num_inputs);
    for (size_t i = 0; inputs != nullptr && i < step.num_inputs; i++) {
      PyTuple_SET_ITEM(inputs, Py_ssize_t(i), PyLong_FromLong((*plan->operands)[step.first + i]));
    }
    PyObject* made = inputs == nullptr ? nullptr
                                       : Py_BuildValue(
                                             "siiiON", kStepRules[size_t(step.kind)].name, step.target, step.a, step.b,
                                             step.object == nullptr ? Py_None : step.object, inputs);
    if (made == nullptr || PyList_Append(list, made)) Py_CLEAR(list);
    Py_XDECREF(made);
  }
  return list;
}

PyObject* endOf(PyObject* self, void*) {
  return PyLong_FromLong(reinterpret_cast<Plan*>(self)->end);
}

PyObject* infoOf(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<Plan*>(self)->info);
}

PyObject* cachedOf(PyObject* self, void*) {
  return stretchesOf(*reinterpret_cast<Plan*>(self)->cache);
}

PyGetSetDef plan_attributes[] = {
    {"info", infoOf, nullptr, "What the recorder says of it.", nullptr},
    {"end", endOf, nullptr, "The place in the code that the frame goes on at.", nullptr},
    {"counts", countsOf, nullptr, "How often it applied, a check failed, a call raised.", nullptr},
    {"steps", stepsOf, nullptr, "[(kind, target, a, b, object, inputs)]", nullptr},
    {"failures", failuresOf, nullptr, "{step: how often a run ended there}, the last of them, what it had found.",
     nullptr},
    {"times", timesOf, nullptr,
     "Nanoseconds of runs that applied, and of others, on average, and the fewest that reads and checks took that were"
     " taken from an earlier run; -1 if none was timed.",
     nullptr},
    {"cached_reads", cachedOf, nullptr,
     "Stretches of steps that runs take from an earlier one: [(first step, one past the last, facts that are tested,"
     " steps that are run)].",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot plan_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deletePlan)}, {Py_tp_getset, plan_attributes}, {0, nullptr}};
PyType_Spec plan_spec = {"cresset._frames.Plan", sizeof(Plan), 0, Py_TPFLAGS_DEFAULT, plan_slots};

}  // namespace

bool addPlanClass(PyObject* module) {
  plan_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&plan_spec));
  if (plan_class == nullptr) return false;
  plan_class->tp_new = nullptr;  // only newPlan makes them
  return findStepClasses() && PyModule_AddObjectRef(module, "Plan", reinterpret_cast<PyObject*>(plan_class)) == 0;
}

bool isPlan(PyObject* object) {
  return Py_TYPE(object) == plan_class;
}

PyObject* newPlan(PyObject*, PyObject* arguments) {
  int start = 0, end = 0, num_registers = 0, depth = 0, saved = 0;
  PyObject *code = nullptr, *steps = nullptr, *outputs = nullptr, *stores = nullptr, *info = nullptr;
  if (!PyArg_ParseTuple(
          arguments, "O!iiiiO!O!O!Oi", &PyCode_Type, &code, &start, &end, &num_registers, &depth, &PyList_Type, &steps,
          &PyList_Type, &outputs, &PyList_Type, &stores, &info, &saved)) {
    return nullptr;
  }
  auto* plan = PyObject_New(Plan, plan_class);
  if (plan == nullptr) return nullptr;
  plan->start = start;
  plan->end = end;
  plan->num_registers = num_registers;
  plan->depth = depth;
  plan->num_slots = 0;
  plan->code = reinterpret_cast<PyCodeObject*>(code);
  plan->steps = new std::vector<Step>();
  plan->operands = new std::vector<int>();
  plan->outputs = new std::vector<PlanOutput>();
  plan->stores = new std::vector<PlanStore>();
  plan->info = Py_NewRef(info);
  plan->saved = saved;
  plan->applied = plan->failed = plan->raised = 0;
  plan->failures = nullptr;
  plan->cache = new ReadCache();
  plan->num_running = 0;
  plan->applied_runs = plan->other_runs = plan->python_runs = plan->cached_reads = {};
  plan->rank = 0;
  PlanReader reader(*plan, reinterpret_cast<PyCodeObject*>(code));
  bool valid = reader.readPlaces();
  for (Py_ssize_t i = 0; valid && i < PyList_GET_SIZE(steps); i++) valid = reader.readStep(PyList_GET_ITEM(steps, i));
  for (Py_ssize_t i = 0; valid && i < PyList_GET_SIZE(outputs); i++) {
    valid = reader.readOutput(PyList_GET_ITEM(outputs, i));
  }
  valid = valid && reader.setsStack();
  for (Py_ssize_t i = 0; valid && i < PyList_GET_SIZE(stores); i++) {
    valid = reader.readStore(PyList_GET_ITEM(stores, i));
  }
  if (!valid) Py_CLEAR(plan);
  return reinterpret_cast<PyObject*>(plan);
}

}  // namespace cresset::capture
#endif
