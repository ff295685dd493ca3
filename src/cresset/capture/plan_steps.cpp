#include "cresset/capture/plan_steps.h"

#if CRESSET_KNOWS_FRAMES
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "cresset/capture/binary_functions.h"

namespace cresset::capture {
namespace {

PyTypeObject* default_dict_class = nullptr;
PyTypeObject* deque_class = nullptr;

}  // namespace

bool isPlainDict(PyObject* object) {
  return PyDict_CheckExact(object) || Py_TYPE(object) == default_dict_class;
}

PyObject* instanceDict(PyObject* object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place;
}

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

PyObject* loadCell(PyObject* cell) {
  return cell != nullptr && PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
}

bool isDeque(PyObject* object) {
  return Py_TYPE(object) == deque_class;
}

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

PyObject* itemAt(PyObject* list, PyObject* index) {
  if (!PyList_CheckExact(list) || !PyLong_CheckExact(index)) return nullptr;
  const Py_ssize_t place = PyLong_AsSsize_t(index);
  if (place == -1 && PyErr_Occurred()) {
    dropError();
    return nullptr;
  }
  return item(list, place);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // 3.13 has another, older ones don't
PyObject* referent(PyObject* object) {
  return PyWeakref_Check(object) ? PyWeakref_GET_OBJECT(object) : object;
}
#pragma GCC diagnostic pop

namespace {

/// As above, and made if it is not there yet; a new reference.
PyObject* madeInstanceDict(PyObject* object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place != nullptr ? Py_NewRef(*place) : PyObject_GenericGetDict(object, nullptr);
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
  const bool is_plain = PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS;
  PyObject* number = is_plain ? PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), nullptr)
                              : PyObject_CallNoArgs(function);
  bool is_zero = number == Py_None || number == Py_False ||
                 (number != nullptr && PyLong_CheckExact(number) && PyLong_AsLong(number) == 0);
  Py_XDECREF(number);
  return is_zero;
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

}  // namespace

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

bool holds(const Step& step, const Registers& registers, const Machine& machine) {
  if (step.kind == StepKind::CheckZero) return returnsZero(step.object);
  if (step.kind == StepKind::CheckNull) return machine.slots[step.a] == nullptr;
  if (step.kind == StepKind::CheckOwnCell) return ownsCell(machine, step.a);
  if (step.kind == StepKind::CheckOwnDict) return ownsDict(machine, step.a);
  if (step.kind == StepKind::CheckHeld) return isHeld(machine, step.a);
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

bool findStepClasses() {
  PyObject* collections = PyImport_ImportModule("collections");
  for (auto [name, place] : {std::pair("defaultdict", &default_dict_class), std::pair("deque", &deque_class)}) {
    PyObject* found = collections == nullptr ? nullptr : PyObject_GetAttrString(collections, name);
    if (found == nullptr || !PyType_Check(found)) return false;
    *place = reinterpret_cast<PyTypeObject*>(found);  // for good
  }
  Py_DECREF(collections);
  return true;
}

}  // namespace cresset::capture
#endif
