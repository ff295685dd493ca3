#include "cresset/capture/plan.h"

#if CRESSET_KNOWS_FRAMES
#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "cresset/capture/binary_functions.h"
#include "cresset/capture/instructions.h"

namespace cresset::capture {
namespace {

PyTypeObject* plan_class = nullptr;
PyTypeObject* default_dict_class = nullptr;
PyTypeObject* deque_class = nullptr;

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

class Registers {
 public:
  explicit Registers(int count) : count_(count), many_(count > kFew ? size_t(count) : 0) {
    values_ = count > kFew ? many_.data() : few_;
    if (count <= kFew) std::memset(static_cast<void*>(few_), 0, sizeof(PyObject*) * size_t(count));
  }
  ~Registers() {
    for (int i = 0; i < count_; i++) Py_XDECREF(values_[i]);
  }
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;

  PyObject* operator[](int index) const { return values_[index]; }
  /// Takes over the reference; false for null.
  bool set(int index, PyObject* value) {
    Py_XSETREF(values_[index], value);
    return value != nullptr;
  }
  void clear(int index) { Py_CLEAR(values_[index]); }

 private:
  static constexpr int kFew = 64;
  const int count_;
  PyObject** values_;
  PyObject* few_[kFew];
  std::vector<PyObject*> many_;
};

/// Whether elements are found and set as those of dicts: of dict's own class, or of a defaultdict, which differs only
/// where a key is missing.
bool isPlainDict(PyObject* object) {
  return PyDict_CheckExact(object) || Py_TYPE(object) == default_dict_class;
}

PyObject* instanceDict(PyObject* object) {  // borrowed; null if it has none
  PyObject** place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place;
}

/// As above, and made if it is not there yet; a new reference.
PyObject* madeInstanceDict(PyObject* object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place != nullptr ? Py_NewRef(*place) : PyObject_GenericGetDict(object, nullptr);
}

/// A new reference. The dict's keys may compare by code of their own, which may take the dict from what has it.
PyObject* lookUp(PyObject* dict, PyObject* key) {
  if (dict == nullptr || !isPlainDict(dict)) return nullptr;
  Py_INCREF(dict);
  PyObject* value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
  Py_DECREF(dict);
  return value;
}

bool lacksKey(PyObject* dict, PyObject* key) {
  if (dict == nullptr) return true;
  if (!isPlainDict(dict)) return false;
  Py_INCREF(dict);  // as above
  const bool lacks = PyDict_Contains(dict, key) == 0;
  Py_DECREF(dict);
  return lacks;
}

PyFunctionObject* asFunction(PyObject* object) {
  return PyFunction_Check(object) ? reinterpret_cast<PyFunctionObject*>(object) : nullptr;
}

PyObject* loadGlobal(const Step& step, const Registers& registers, const Machine& machine) {
  PyObject *globals = machine.frame.globals(), *builtins = machine.frame.builtins();
  if (step.a >= 0) {
    PyFunctionObject* function = asFunction(registers[step.a]);
    if (function == nullptr) return nullptr;
    globals = function->func_globals;
    builtins = function->func_builtins;
  }
  // Globals of a class derived from dict have a look-up of their own.
  if (!PyDict_CheckExact(globals)) return nullptr;
  PyObject* value = lookUp(globals, step.object);
  return value != nullptr || PyErr_Occurred() ? value : lookUp(builtins, step.object);
}

PyObject* loadCell(PyObject* cell) {
  return cell != nullptr && PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
}

PyObject* freeCell(PyObject* object, int index) {
  PyFunctionObject* function = asFunction(object);
  PyObject* closure = function == nullptr ? nullptr : function->func_closure;
  return closure == nullptr || PyTuple_GET_SIZE(closure) <= index ? nullptr : PyTuple_GET_ITEM(closure, index);
}

PyObject* globalsOf(const Step& step, const Registers& registers, const Machine& machine) {
  if (step.a < 0) return machine.frame.globals();
  PyFunctionObject* function = asFunction(registers[step.a]);
  return function == nullptr ? nullptr : function->func_globals;
}

PyObject* loadDefault(PyObject* object, int from_last) {
  PyFunctionObject* function = asFunction(object);
  PyObject* defaults = function == nullptr ? nullptr : function->func_defaults;
  if (defaults == nullptr || PyTuple_GET_SIZE(defaults) < from_last) return nullptr;
  return PyTuple_GET_ITEM(defaults, PyTuple_GET_SIZE(defaults) - from_last);
}

bool isDeque(PyObject* object) {
  return Py_TYPE(object) == deque_class;
}

/// A new reference, or null without an exception.
PyObject* item(PyObject* sequence, Py_ssize_t index) {
  if (isDeque(sequence)) {
    PyObject* found = PySequence_GetItem(sequence, index);
    if (found == nullptr) dropError();
    return found;
  }
  // Classes derived from tuple, whose class a plan has checked, hold their elements alike.
  if (!PyTuple_Check(sequence) && !PyList_CheckExact(sequence)) return nullptr;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  if (index < 0) index += size;
  return index >= 0 && index < size ? Py_NewRef(PySequence_Fast_GET_ITEM(sequence, index)) : nullptr;
}

/// A new reference to the element of a list that an int says; null, without an exception, if there is none.
PyObject* itemAt(PyObject* list, PyObject* index) {
  if (!PyList_CheckExact(list) || !PyLong_CheckExact(index)) return nullptr;
  const Py_ssize_t place = PyLong_AsSsize_t(index);
  if (place == -1 && PyErr_Occurred()) {
    dropError();
    return nullptr;
  }
  return item(list, place);
}

/// What `super(kind, object of type)` finds in a class; a new reference; null if there is nothing.
PyObject* lookUpAfter(PyTypeObject* type, const PyObject* kind, PyObject* name) {
  PyObject* bases = Py_XNewRef(type->tp_mro);  // which a comparison of keys may change
  if (bases == nullptr) return nullptr;
  bool found = false;
  PyObject* value = nullptr;
  for (Py_ssize_t i = 0; value == nullptr && !PyErr_Occurred() && i < PyTuple_GET_SIZE(bases); i++) {
    PyObject* base = PyTuple_GET_ITEM(bases, i);
    if (found && PyType_Check(base)) value = lookUp(reinterpret_cast<PyTypeObject*>(base)->tp_dict, name);
    found = found || base == kind;
  }
  Py_DECREF(bases);
  return value;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // 3.13 has another, older ones don't
PyObject* referent(PyObject* object) {                      // borrowed
  return PyWeakref_Check(object) ? PyWeakref_GET_OBJECT(object) : object;
}
#pragma GCC diagnostic pop

/// What a read finds: a new reference; null if there is nothing, perhaps with an exception set.
PyObject* read(const Step& step, const int* inputs, const Registers& registers, const Machine& machine) {
  switch (step.kind) {
    case StepKind::LoadSlot:
      return Py_XNewRef(machine.slots[step.a]);
    case StepKind::LoadConst:
      return Py_XNewRef(step.object);
    case StepKind::LoadGlobal:
      return loadGlobal(step, registers, machine);
    case StepKind::LoadCell:
      return Py_XNewRef(loadCell(registers[step.a]));
    case StepKind::LoadFree:
      return Py_XNewRef(loadCell(freeCell(registers[step.a], step.b)));
    case StepKind::FreeCell:
      return Py_XNewRef(freeCell(registers[step.a], step.b));
    case StepKind::Globals:
      return Py_XNewRef(globalsOf(step, registers, machine));
    case StepKind::LoadDefault:
      return Py_XNewRef(loadDefault(registers[step.a], step.b));
    case StepKind::LoadKeywordDefault: {
      PyFunctionObject* function = asFunction(registers[step.a]);
      return function == nullptr ? nullptr : lookUp(function->func_kwdefaults, step.object);
    }
    case StepKind::InstanceDict:
      return madeInstanceDict(registers[step.a]);
    case StepKind::ModuleDict:
      return PyModule_Check(registers[step.a]) ? Py_NewRef(PyModule_GetDict(registers[step.a])) : nullptr;
    case StepKind::DictItem:
      return lookUp(registers[step.a], step.object);
    case StepKind::ClassItem:
      return Py_XNewRef(_PyType_Lookup(Py_TYPE(registers[step.a]), step.object));
    case StepKind::ClassMember: {
      PyObject* kind = registers[step.a];
      return PyType_Check(kind) ? Py_XNewRef(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(kind), step.object))
                                : nullptr;
    }
    case StepKind::SuperItem:
      return lookUpAfter(Py_TYPE(registers[step.a]), registers[inputs[0]], step.object);
    case StepKind::Referent: {
      PyObject* found = PyWeakref_CheckRefExact(registers[step.a]) ? referent(registers[step.a]) : nullptr;
      return found == Py_None ? nullptr : Py_XNewRef(found);
    }
    case StepKind::ItemAt:
      return itemAt(registers[step.a], registers[inputs[0]]);
    case StepKind::Item:
      return item(registers[step.a], step.b);
    default:
      return nullptr;
  }
}

bool isSameConstant(PyObject* value, PyObject* constant) {
  if (Py_TYPE(value) != Py_TYPE(constant)) return false;
  if (PyFloat_CheckExact(value)) {
    double left = PyFloat_AS_DOUBLE(value), right = PyFloat_AS_DOUBLE(constant);
    return std::bit_cast<uint64_t>(left) == std::bit_cast<uint64_t>(right);
  }
  return value == constant || PyObject_RichCompareBool(value, constant, Py_EQ) == 1;
}

bool isSameKey(PyObject* key, PyObject* wanted) {
  if (key == wanted) return true;
  if (PyUnicode_CheckExact(wanted)) return PyUnicode_CheckExact(key) && PyUnicode_Compare(key, wanted) == 0;
  return isSameConstant(key, wanted);
}

bool hasKeys(PyObject* dict, PyObject* keys) {
  if (!isPlainDict(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t place = 0, index = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(dict, &place, &key, nullptr)) {
    if (!isSameKey(key, PyTuple_GET_ITEM(keys, index++))) return false;
  }
  return true;
}

bool hasSize(PyObject* object, int size) {
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object) == size;
  if (isDeque(object)) return PySequence_Size(object) == size;
  if (!PyTuple_Check(object) && !PyList_CheckExact(object)) return false;
  return PySequence_Fast_GET_SIZE(object) == size;
}

bool returnsZero(PyObject* function) {
  PyObject* number = PyObject_CallNoArgs(function);
  bool is_zero = number == Py_None || number == Py_False ||
                 (number != nullptr && PyLong_CheckExact(number) && PyLong_AsLong(number) == 0);
  Py_XDECREF(number);
  return is_zero;
}

bool holds(const Step& step, const Registers& registers, const Machine& machine) {
  if (step.kind == StepKind::CheckZero) return returnsZero(step.object);
  if (step.kind == StepKind::CheckNull) return machine.slots[step.a] == nullptr;
  if (step.kind == StepKind::CheckOwnCell) return ownsCell(machine, step.a);
  if (step.kind == StepKind::CheckOwnDict) return ownsDict(machine, step.a);
  PyObject* value = registers[step.a];
  switch (step.kind) {
    case StepKind::CheckType: {
      PyTypeObject* type = Py_TYPE(value);
      return reinterpret_cast<PyObject*>(type) == referent(step.object) &&
             (step.b <= 0 || type->tp_version_tag == unsigned(step.b));
    }
    case StepKind::CheckClass:
      return value == referent(step.object) && PyType_Check(value) &&
             reinterpret_cast<PyTypeObject*>(value)->tp_version_tag == unsigned(step.b);
    case StepKind::CheckIs:
      return value == referent(step.object);
    case StepKind::CheckConst:
      return isSameConstant(value, step.object);
    case StepKind::CheckCode:
      return PyFunction_Check(value) && PyFunction_GET_CODE(value) == step.object;
    case StepKind::CheckNoKey:
      return lacksKey(instanceDict(value), step.object);
    case StepKind::CheckSize:
      return hasSize(value, step.b);
    case StepKind::CheckKeys:
      return hasKeys(value, step.object);
    default:
      return false;
  }
}

PyObject* call(const Step& step, const int* inputs, const Registers& registers) {
  constexpr size_t kFew = 32;
  const size_t count = step.num_inputs;
  PyObject* few[kFew + 1];
  std::vector<PyObject*> many(count > kFew ? count + 1 : 0);
  PyObject** values = many.empty() ? few : many.data();
  values[0] = nullptr;
  for (size_t i = 0; i < count; i++) values[i + 1] = registers[inputs[i]];
  size_t names = step.object == nullptr ? 0 : size_t(PyTuple_GET_SIZE(step.object));
  return PyObject_Vectorcall(
      registers[step.a], values + 1, (count - names) | PY_VECTORCALL_ARGUMENTS_OFFSET, step.object);
}

PyObject* newDict(PyObject* keys, const int* inputs, const Registers& registers) {
  PyObject* made = PyDict_New();
  for (Py_ssize_t i = 0; made != nullptr && i < PyTuple_GET_SIZE(keys); i++) {
    if (PyDict_SetItem(made, PyTuple_GET_ITEM(keys, i), registers[inputs[i]]) < 0) Py_CLEAR(made);
  }
  return made;
}

PyObject* newTuple(const Step& step, const int* inputs, const Registers& registers) {
  PyObject* made = PyTuple_New(step.num_inputs);
  for (Py_ssize_t i = 0; made != nullptr && i < step.num_inputs; i++) {
    PyTuple_SET_ITEM(made, i, Py_NewRef(registers[inputs[i]]));
  }
  return made;
}

/// The plan checks the class, which is derived from tuple.
PyObject* newNamedTuple(PyObject* kind, const Step& step, const int* inputs, const Registers& registers) {
  if (!PyType_Check(kind) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(kind), &PyTuple_Type)) return nullptr;
  PyObject* items = newTuple(step, inputs, registers);
  PyObject* given = items == nullptr ? nullptr : PyTuple_Pack(1, items);
  Py_XDECREF(items);
  PyObject* made =
      given == nullptr ? nullptr : PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(kind), given, nullptr);
  Py_XDECREF(given);
  return made;
}

/// The plan checks that the class has object's `__new__`, or dict's.
PyObject* newObject(PyObject* object) {
  if (!PyType_Check(object)) return nullptr;
  auto* kind = reinterpret_cast<PyTypeObject*>(object);
  const PyTypeObject* base = PyType_IsSubtype(kind, &PyDict_Type) ? &PyDict_Type : &PyBaseObject_Type;
  PyObject* none = PyTuple_New(0);
  PyObject* made = none == nullptr ? nullptr : base->tp_new(kind, none, nullptr);
  Py_XDECREF(none);
  return made;
}

/// A new reference, or null with an exception set.
PyObject* compute(const Step& step, const int* inputs, const Registers& registers) {
  const auto input = [&](size_t i) { return registers[inputs[i]]; };
  switch (step.kind) {
    case StepKind::Save:
    case StepKind::Call:
      return call(step, inputs, registers);
    case StepKind::Binary:
      return kBinary[step.b](registers[step.a], input(0));
    case StepKind::Compare:
      return PyObject_RichCompare(registers[step.a], input(0), step.b);
    case StepKind::Is:
      return Py_NewRef((registers[step.a] == input(0)) != (step.b != 0) ? Py_True : Py_False);
    case StepKind::Unary:
      return step.b == 0   ? PyNumber_Negative(registers[step.a])
             : step.b == 1 ? PyNumber_Positive(registers[step.a])
                           : PyNumber_Invert(registers[step.a]);
    case StepKind::GetItem:
      return PyObject_GetItem(registers[step.a], input(0));
    case StepKind::GetAttr:
      return PyObject_GetAttr(registers[step.a], step.object);
    case StepKind::Slice:
      return PySlice_New(input(0), input(1), step.num_inputs > 2 ? input(2) : nullptr);
    case StepKind::Tuple:
      return newTuple(step, inputs, registers);
    case StepKind::List: {
      PyObject* made = PyList_New(step.num_inputs);
      for (Py_ssize_t i = 0; made != nullptr && i < step.num_inputs; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(input(size_t(i))));
      }
      return made;
    }
    case StepKind::Dict:
      return newDict(step.object, inputs, registers);
    case StepKind::NamedTuple:
      return newNamedTuple(registers[step.a], step, inputs, registers);
    case StepKind::NewObject:
      return newObject(registers[step.a]);
    default:
      return nullptr;
  }
}

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
  return isCheck(step.kind) && kStepRules[size_t(step.kind)].a == StepPlace::Register;
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
  {
    Registers registers(plan.num_registers);
    std::vector<PyObject*> undo;  // owned
    size_t at = 0;
    for (; at < plan.steps->size(); at++) {
      const Step& step = (*plan.steps)[at];
      const int* inputs = plan.operands->data() + step.first;
      if (step.kind <= StepKind::Item) {
        if (!registers.set(step.target, read(step, inputs, registers, machine))) result = PlanResult::CheckFailed;
      } else if (step.kind <= StepKind::CheckZero) {
        if (!holds(step, registers, machine)) result = PlanResult::CheckFailed;
      } else if (!registers.set(step.target, compute(step, inputs, registers))) {
        result = PlanResult::Raised;
      } else if (step.kind == StepKind::Save) {
        undo.push_back(Py_NewRef(registers[step.target]));
      }
      if (result != PlanResult::Applied) break;
      for (const int* dead = inputs + step.num_inputs; dead != inputs + step.num_inputs + step.num_dead; dead++) {
        registers.clear(*dead);
      }
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
  return Py_BuildValue("dd", mean(plan->applied_runs), mean(plan->other_runs));
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

PyGetSetDef plan_attributes[] = {
    {"info", infoOf, nullptr, "What the recorder says of it.", nullptr},
    {"end", endOf, nullptr, "The place in the code that the frame goes on at.", nullptr},
    {"counts", countsOf, nullptr, "How often it applied, a check failed, a call raised.", nullptr},
    {"steps", stepsOf, nullptr, "[(kind, target, a, b, object, inputs)]", nullptr},
    {"failures", failuresOf, nullptr, "{step: how often a run ended there}, the last of them, what it had found.",
     nullptr},
    {"times", timesOf, nullptr, "Nanoseconds of runs that applied, and of others, on average; -1 if none was timed.",
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
  PyObject* collections = PyImport_ImportModule("collections");
  for (auto [name, place] : {std::pair("defaultdict", &default_dict_class), std::pair("deque", &deque_class)}) {
    PyObject* found = collections == nullptr ? nullptr : PyObject_GetAttrString(collections, name);
    if (found == nullptr || !PyType_Check(found)) return false;
    *place = reinterpret_cast<PyTypeObject*>(found);  // for good
  }
  Py_DECREF(collections);
  return PyModule_AddObjectRef(module, "Plan", reinterpret_cast<PyObject*>(plan_class)) == 0;
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
  plan->applied_runs = plan->other_runs = plan->python_runs = {};
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
