// Variables, globals, attributes, operators, containers.
#include <iterator>
#include <utility>

#include "cresset/capture/binary_functions.h"
#include "cresset/capture/handler.h"

#if CRESSET_KNOWS_FRAMES
namespace cresset::capture {

// ---- The stack

INSTRUCTION(NOP) {
  return Outcome::Next;
}

INSTRUCTION(POP_TOP) {
  machine.drop(1);
  return Outcome::Next;
}

INSTRUCTION(LOAD_CONST) {
  machine.push(Py_NewRef(machine.constant(argument)));
  return Outcome::Next;
}

#ifdef RESUME
INSTRUCTION(RESUME) {
  return Outcome::Next;
}
INSTRUCTION(PUSH_NULL) {
  machine.push(nullptr);
  return Outcome::Next;
}
INSTRUCTION(COPY) {
  machine.push(Py_XNewRef(machine.peek(argument)));
  return Outcome::Next;
}
INSTRUCTION(SWAP) {
  std::swap(machine.peek(1), machine.peek(argument));
  return Outcome::Next;
}
#endif

#ifdef ROT_TWO
static Outcome rotate(Machine& machine, int count) {
  PyObject* top = machine.peek(1);
  for (int i = 1; i < count; i++) machine.peek(i) = machine.peek(i + 1);
  machine.peek(count) = top;
  return Outcome::Next;
}
INSTRUCTION(ROT_TWO) {
  return rotate(machine, 2);
}
INSTRUCTION(ROT_THREE) {
  return rotate(machine, 3);
}
INSTRUCTION(ROT_FOUR) {
  return rotate(machine, 4);
}
INSTRUCTION(ROT_N) {
  return rotate(machine, argument);
}
INSTRUCTION(DUP_TOP) {
  machine.push(Py_NewRef(machine.peek(1)));
  return Outcome::Next;
}
INSTRUCTION(DUP_TOP_TWO) {
  machine.push(Py_NewRef(machine.peek(2)));
  machine.push(Py_NewRef(machine.peek(2)));
  return Outcome::Next;
}
#endif

// ---- Variables and cells

static Outcome loadVariable(Machine& machine, int slot) {
  PyObject* value = machine.slots[slot];
  if (value == nullptr) return Outcome::Leave;
  machine.push(Py_NewRef(value));
  return Outcome::Next;
}

static void storeVariable(Machine& machine, int slot) {
  PyObject* old = machine.slots[slot];
  machine.slots[slot] = machine.pop();
  Py_XDECREF(old);
}

INSTRUCTION(LOAD_FAST) {
  return loadVariable(machine, argument);
}
INSTRUCTION(STORE_FAST) {
  storeVariable(machine, argument);
  return Outcome::Next;
}
INSTRUCTION(DELETE_FAST) {
  PyObject* old = machine.slots[argument];
  if (old == nullptr) return Outcome::Leave;
  machine.slots[argument] = nullptr;
  Py_DECREF(old);
  return Outcome::Next;
}
#ifdef LOAD_FAST_CHECK
INSTRUCTION(LOAD_FAST_CHECK) {
  return loadVariable(machine, argument);
}
INSTRUCTION(LOAD_FAST_AND_CLEAR) {
  machine.push(machine.slots[argument]);
  machine.slots[argument] = nullptr;
  return Outcome::Next;
}
#endif
#ifdef LOAD_FAST_LOAD_FAST
INSTRUCTION(LOAD_FAST_LOAD_FAST) {
  if (machine.slots[argument >> 4] == nullptr || machine.slots[argument & 15] == nullptr) return Outcome::Leave;
  loadVariable(machine, argument >> 4);
  return loadVariable(machine, argument & 15);
}
INSTRUCTION(STORE_FAST_LOAD_FAST) {
  // What is loaded may be what was stored.
  if (machine.slots[argument & 15] == nullptr && argument >> 4 != (argument & 15)) return Outcome::Leave;
  storeVariable(machine, argument >> 4);
  return loadVariable(machine, argument & 15);
}
INSTRUCTION(STORE_FAST_STORE_FAST) {
  storeVariable(machine, argument >> 4);
  storeVariable(machine, argument & 15);
  return Outcome::Next;
}
#endif

// In 3.10 cells are numbered by themselves.
static PyObject*& cellAt(Machine& machine, int index) {
#if PY_VERSION_HEX >= 0x030b0000
  return machine.slots[index];
#else
  return machine.slots[machine.code->co_nlocals + index];
#endif
}

INSTRUCTION(LOAD_DEREF) {
  PyObject* value = PyCell_GET(cellAt(machine, argument));
  if (value == nullptr) return Outcome::Leave;
  machine.push(Py_NewRef(value));
  return Outcome::Next;
}
INSTRUCTION(STORE_DEREF) {
  PyObject* cell = cellAt(machine, argument);
  PyObject* old = PyCell_GET(cell);
  PyCell_SET(cell, machine.pop());
  Py_XDECREF(old);
  return Outcome::Next;
}
INSTRUCTION(DELETE_DEREF) {
  PyObject* cell = cellAt(machine, argument);
  PyObject* old = PyCell_GET(cell);
  if (old == nullptr) return Outcome::Leave;
  PyCell_SET(cell, nullptr);
  Py_DECREF(old);
  return Outcome::Next;
}
#if defined(LOAD_CLOSURE) && PY_VERSION_HEX < 0x030d0000
INSTRUCTION(LOAD_CLOSURE) {
  machine.push(Py_NewRef(cellAt(machine, argument)));
  return Outcome::Next;
}
#endif
#ifdef MAKE_CELL
INSTRUCTION(MAKE_CELL) {
  PyObject* cell = PyCell_New(machine.slots[argument]);
  if (cell == nullptr) return Outcome::Raise;
  PyObject* old = machine.slots[argument];
  machine.slots[argument] = cell;
  Py_XDECREF(old);
  return Outcome::Next;
}
INSTRUCTION(COPY_FREE_VARS) {
  PyObject* closure = reinterpret_cast<PyFunctionObject*>(machine.frame.function())->func_closure;
  int first = machine.code->co_nlocalsplus - argument;
  for (int i = 0; i < argument; i++) machine.slots[first + i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
  return Outcome::Next;
}
#endif

// ---- Globals

static PyObject* lookUpGlobal(Machine& machine, PyObject* name) {  // borrowed
  PyObject* globals = machine.frame.globals();
  PyObject* builtins = machine.frame.builtins();
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins)) return nullptr;
  PyObject* value = PyDict_GetItemWithError(globals, name);
  if (value == nullptr && !PyErr_Occurred()) value = PyDict_GetItemWithError(builtins, name);
  if (value == nullptr) PyErr_Clear();  // the keys are strings, whose comparison can't fail but for want of memory
  return value;
}

INSTRUCTION(LOAD_GLOBAL) {
#if PY_VERSION_HEX >= 0x030b0000
  bool null_before = (argument & 1) != 0;
  argument >>= 1;
#else
  bool null_before = false;
#endif
  PyObject* value = lookUpGlobal(machine, machine.name(argument));
  if (value == nullptr) return Outcome::Leave;
#if PY_VERSION_HEX >= 0x030d0000
  machine.push(Py_NewRef(value));
  if (null_before) machine.push(nullptr);
#else
  if (null_before) machine.push(nullptr);
  machine.push(Py_NewRef(value));
#endif
  return Outcome::Next;
}
INSTRUCTION(STORE_GLOBAL) {
  int error = PyDict_SetItem(machine.frame.globals(), machine.name(argument), machine.peek(1));
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(LOAD_ASSERTION_ERROR) {
  machine.push(Py_NewRef(PyExc_AssertionError));
  return Outcome::Next;
}
INSTRUCTION(LOAD_BUILD_CLASS) {
  if (!PyDict_CheckExact(machine.frame.builtins())) return Outcome::Leave;
  PyObject* value = PyDict_GetItemString(machine.frame.builtins(), "__build_class__");
  if (value == nullptr) return Outcome::Leave;
  machine.push(Py_NewRef(value));
  return Outcome::Next;
}

// ---- Attributes and elements

static Outcome loadAttribute(Machine& machine, PyObject* name) {
  return machine.replace(1, PyObject_GetAttr(machine.peek(1), name));
}

static Outcome loadMethod(Machine& machine, PyObject* name) {
  PyObject* object = machine.peek(1);
  PyObject* method = nullptr;
  bool unbound = _PyObject_GetMethod(object, name, &method) != 0;
  if (method == nullptr) {
    machine.drop(1);
    return Outcome::Raise;
  }
  if (unbound) {
    machine.peek(1) = method;
    machine.push(object);
    return Outcome::Next;
  }
#if PY_VERSION_HEX >= 0x030d0000
  machine.peek(1) = method;
  machine.push(nullptr);
#else
  machine.peek(1) = nullptr;
  machine.push(method);
#endif
  Py_DECREF(object);
  return Outcome::Next;
}

INSTRUCTION(LOAD_ATTR) {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* name = machine.name(argument >> 1);
  return argument & 1 ? loadMethod(machine, name) : loadAttribute(machine, name);
#else
  return loadAttribute(machine, machine.name(argument));
#endif
}
#if PY_VERSION_HEX < 0x030c0000
INSTRUCTION(LOAD_METHOD) {
  return loadMethod(machine, machine.name(argument));
}
#endif
#ifdef LOAD_SUPER_ATTR
INSTRUCTION(LOAD_SUPER_ATTR) {
  PyObject* super = PyObject_Vectorcall(machine.peek(3), &machine.peek(2), size_t(argument & 2), nullptr);
  machine.drop(3);
  if (super == nullptr) return Outcome::Raise;
  machine.push(super);
  PyObject* name = machine.name(argument >> 2);
  return argument & 1 ? loadMethod(machine, name) : loadAttribute(machine, name);
}
#endif
INSTRUCTION(STORE_ATTR) {
  int error = PyObject_SetAttr(machine.peek(1), machine.name(argument), machine.peek(2));
  machine.drop(2);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(DELETE_ATTR) {
  int error = PyObject_SetAttr(machine.peek(1), machine.name(argument), nullptr);
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(STORE_SUBSCR) {
  int error = PyObject_SetItem(machine.peek(2), machine.peek(1), machine.peek(3));
  machine.drop(3);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(DELETE_SUBSCR) {
  int error = PyObject_DelItem(machine.peek(2), machine.peek(1));
  machine.drop(2);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(BINARY_SUBSCR) {
  return machine.replace(2, PyObject_GetItem(machine.peek(2), machine.peek(1)));
}
#ifdef BINARY_SLICE
INSTRUCTION(BINARY_SLICE) {
  PyObject* slice = PySlice_New(machine.peek(2), machine.peek(1), nullptr);
  PyObject* result = slice == nullptr ? nullptr : PyObject_GetItem(machine.peek(3), slice);
  Py_XDECREF(slice);
  return machine.replace(3, result);
}
INSTRUCTION(STORE_SLICE) {
  PyObject* slice = PySlice_New(machine.peek(2), machine.peek(1), nullptr);
  int error = slice == nullptr ? -1 : PyObject_SetItem(machine.peek(3), slice, machine.peek(4));
  Py_XDECREF(slice);
  machine.drop(4);
  return error ? Outcome::Raise : Outcome::Next;
}
#endif

// ---- Operators

INSTRUCTION(UNARY_NEGATIVE) {
  return machine.replace(1, PyNumber_Negative(machine.peek(1)));
}
INSTRUCTION(UNARY_INVERT) {
  return machine.replace(1, PyNumber_Invert(machine.peek(1)));
}
#ifdef UNARY_POSITIVE
INSTRUCTION(UNARY_POSITIVE) {
  return machine.replace(1, PyNumber_Positive(machine.peek(1)));
}
#endif
INSTRUCTION(UNARY_NOT) {
  int truth = PyObject_IsTrue(machine.peek(1));
  return machine.replace(1, newBool(truth < 0 ? truth : !truth));
}
#ifdef TO_BOOL
INSTRUCTION(TO_BOOL) {
  return machine.replace(1, newBool(PyObject_IsTrue(machine.peek(1))));
}
#endif

static Outcome binary(Machine& machine, BinaryFunction function) {
  return machine.replace(2, function(machine.peek(2), machine.peek(1)));
}

#ifdef BINARY_OP
INSTRUCTION(BINARY_OP) {
  if (size_t(argument) >= std::size(kBinary)) return Outcome::Leave;
  return binary(machine, kBinary[argument]);
}
#else
INSTRUCTION(BINARY_POWER) {
  return binary(machine, power);
}
INSTRUCTION(BINARY_MULTIPLY) {
  return binary(machine, PyNumber_Multiply);
}
INSTRUCTION(BINARY_MATRIX_MULTIPLY) {
  return binary(machine, PyNumber_MatrixMultiply);
}
INSTRUCTION(BINARY_TRUE_DIVIDE) {
  return binary(machine, PyNumber_TrueDivide);
}
INSTRUCTION(BINARY_FLOOR_DIVIDE) {
  return binary(machine, PyNumber_FloorDivide);
}
INSTRUCTION(BINARY_MODULO) {
  return binary(machine, PyNumber_Remainder);
}
INSTRUCTION(BINARY_ADD) {
  return binary(machine, PyNumber_Add);
}
INSTRUCTION(BINARY_SUBTRACT) {
  return binary(machine, PyNumber_Subtract);
}
INSTRUCTION(BINARY_LSHIFT) {
  return binary(machine, PyNumber_Lshift);
}
INSTRUCTION(BINARY_RSHIFT) {
  return binary(machine, PyNumber_Rshift);
}
INSTRUCTION(BINARY_AND) {
  return binary(machine, PyNumber_And);
}
INSTRUCTION(BINARY_XOR) {
  return binary(machine, PyNumber_Xor);
}
INSTRUCTION(BINARY_OR) {
  return binary(machine, PyNumber_Or);
}
INSTRUCTION(INPLACE_POWER) {
  return binary(machine, powerInPlace);
}
INSTRUCTION(INPLACE_MULTIPLY) {
  return binary(machine, PyNumber_InPlaceMultiply);
}
INSTRUCTION(INPLACE_MATRIX_MULTIPLY) {
  return binary(machine, PyNumber_InPlaceMatrixMultiply);
}
INSTRUCTION(INPLACE_TRUE_DIVIDE) {
  return binary(machine, PyNumber_InPlaceTrueDivide);
}
INSTRUCTION(INPLACE_FLOOR_DIVIDE) {
  return binary(machine, PyNumber_InPlaceFloorDivide);
}
INSTRUCTION(INPLACE_MODULO) {
  return binary(machine, PyNumber_InPlaceRemainder);
}
INSTRUCTION(INPLACE_ADD) {
  return binary(machine, PyNumber_InPlaceAdd);
}
INSTRUCTION(INPLACE_SUBTRACT) {
  return binary(machine, PyNumber_InPlaceSubtract);
}
INSTRUCTION(INPLACE_LSHIFT) {
  return binary(machine, PyNumber_InPlaceLshift);
}
INSTRUCTION(INPLACE_RSHIFT) {
  return binary(machine, PyNumber_InPlaceRshift);
}
INSTRUCTION(INPLACE_AND) {
  return binary(machine, PyNumber_InPlaceAnd);
}
INSTRUCTION(INPLACE_XOR) {
  return binary(machine, PyNumber_InPlaceXor);
}
INSTRUCTION(INPLACE_OR) {
  return binary(machine, PyNumber_InPlaceOr);
}
#endif

INSTRUCTION(COMPARE_OP) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* result = PyObject_RichCompare(machine.peek(2), machine.peek(1), argument >> 5);
  if (result != nullptr && (argument & 16) != 0) {
    int truth = PyObject_IsTrue(result);
    Py_DECREF(result);
    result = newBool(truth);
  }
  return machine.replace(2, result);
#elif PY_VERSION_HEX >= 0x030c0000
  return machine.replace(2, PyObject_RichCompare(machine.peek(2), machine.peek(1), argument >> 4));
#else
  return machine.replace(2, PyObject_RichCompare(machine.peek(2), machine.peek(1), argument));
#endif
}
INSTRUCTION(IS_OP) {
  return machine.replace(2, newBool((machine.peek(2) == machine.peek(1)) != (argument != 0)));
}
INSTRUCTION(CONTAINS_OP) {
  int contains = PySequence_Contains(machine.peek(1), machine.peek(2));
  return machine.replace(2, newBool(contains < 0 ? contains : contains ^ argument));
}

// ---- Containers

INSTRUCTION(BUILD_TUPLE) {
  PyObject* tuple = PyTuple_New(argument);
  if (tuple == nullptr) return Outcome::Raise;
  for (int i = argument; i-- > 0;) PyTuple_SET_ITEM(tuple, i, machine.pop());
  machine.push(tuple);
  return Outcome::Next;
}
INSTRUCTION(BUILD_LIST) {
  PyObject* list = PyList_New(argument);
  if (list == nullptr) return Outcome::Raise;
  for (int i = argument; i-- > 0;) PyList_SET_ITEM(list, i, machine.pop());
  machine.push(list);
  return Outcome::Next;
}
INSTRUCTION(BUILD_SET) {
  PyObject* set = PySet_New(nullptr);
  for (int i = argument; set != nullptr && i > 0; i--) {
    if (PySet_Add(set, machine.peek(i))) Py_CLEAR(set);
  }
  return machine.replace(argument, set);
}
INSTRUCTION(BUILD_MAP) {
  PyObject* dict = PyDict_New();
  for (int i = argument; dict != nullptr && i > 0; i--) {
    if (PyDict_SetItem(dict, machine.peek(2 * i), machine.peek(2 * i - 1))) Py_CLEAR(dict);
  }
  return machine.replace(2 * argument, dict);
}
INSTRUCTION(BUILD_CONST_KEY_MAP) {
  PyObject* keys = machine.peek(1);
  PyObject* dict = PyDict_New();
  for (int i = 0; dict != nullptr && i < argument; i++) {
    if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), machine.peek(argument + 1 - i))) Py_CLEAR(dict);
  }
  return machine.replace(argument + 1, dict);
}
INSTRUCTION(BUILD_SLICE) {
  PyObject* step = argument == 3 ? machine.peek(1) : nullptr;
  return machine.replace(argument, PySlice_New(machine.peek(argument), machine.peek(argument - 1), step));
}
INSTRUCTION(BUILD_STRING) {
  PyObject* parts = PyTuple_New(argument);
  if (parts == nullptr) return Outcome::Raise;
  for (int i = 0; i < argument; i++) PyTuple_SET_ITEM(parts, i, Py_NewRef(machine.peek(argument - i)));
  PyObject* empty = PyUnicode_FromStringAndSize(nullptr, 0);
  PyObject* result = empty == nullptr ? nullptr : PyUnicode_Join(empty, parts);
  Py_XDECREF(empty);
  Py_DECREF(parts);
  return machine.replace(argument, result);
}
INSTRUCTION(LIST_APPEND) {
  int error = PyList_Append(machine.peek(argument + 1), machine.peek(1));
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(SET_ADD) {
  int error = PySet_Add(machine.peek(argument + 1), machine.peek(1));
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(MAP_ADD) {
  int error = PyDict_SetItem(machine.peek(argument + 2), machine.peek(2), machine.peek(1));
  machine.drop(2);
  return error ? Outcome::Raise : Outcome::Next;
}

static bool isIterable(PyObject* object) {
  return Py_TYPE(object)->tp_iter != nullptr || PySequence_Check(object);
}

static Outcome extend(Machine& machine, PyObject* container, const char* method) {
  if (!isIterable(machine.peek(1))) return Outcome::Leave;
  PyObject* name = PyUnicode_FromString(method);
  PyObject* none = name == nullptr ? nullptr : PyObject_CallMethodOneArg(container, name, machine.peek(1));
  Py_XDECREF(name);
  machine.drop(1);
  if (none == nullptr) return Outcome::Raise;
  Py_DECREF(none);
  return Outcome::Next;
}
INSTRUCTION(LIST_EXTEND) {
  return extend(machine, machine.peek(argument + 1), "extend");
}
INSTRUCTION(SET_UPDATE) {
  return extend(machine, machine.peek(argument + 1), "update");
}
INSTRUCTION(DICT_UPDATE) {
  if (!PyDict_CheckExact(machine.peek(1))) return Outcome::Leave;
  int error = PyDict_Update(machine.peek(argument + 1), machine.peek(1));
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
INSTRUCTION(DICT_MERGE) {
  PyObject* source = machine.peek(1);
  PyObject* target = machine.peek(argument + 1);
  if (!PyDict_CheckExact(source)) return Outcome::Leave;
  Py_ssize_t place = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(source, &place, &key, nullptr)) {
    if (!PyUnicode_CheckExact(key) || PyDict_Contains(target, key) != 0) return Outcome::Leave;
  }
  int error = PyDict_Update(target, source);
  machine.drop(1);
  return error ? Outcome::Raise : Outcome::Next;
}
#ifdef LIST_TO_TUPLE
INSTRUCTION(LIST_TO_TUPLE) {
  return machine.replace(1, PyList_AsTuple(machine.peek(1)));
}
#endif
#ifdef CALL_INTRINSIC_1
INSTRUCTION(CALL_INTRINSIC_1) {
  constexpr int kUnaryPositive = 5, kListToTuple = 6;
  if (argument == kUnaryPositive) return machine.replace(1, PyNumber_Positive(machine.peek(1)));
  if (argument == kListToTuple) return machine.replace(1, PyList_AsTuple(machine.peek(1)));
  return Outcome::Leave;
}
#endif

static Outcome pushReversed(Machine& machine, PyObject* sequence, Py_ssize_t size) {
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  for (Py_ssize_t i = size; i-- > 0;) machine.push(Py_NewRef(items[i]));
  Py_DECREF(sequence);
  return Outcome::Next;
}

INSTRUCTION(UNPACK_SEQUENCE) {
  PyObject* sequence = machine.peek(1);
  if (PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence)) {
    if (PySequence_Fast_GET_SIZE(sequence) != argument) return Outcome::Leave;
    return pushReversed(machine, machine.pop(), argument);
  }
  if (!isIterable(sequence)) return Outcome::Leave;
  PyObject* iterator = PyObject_GetIter(machine.peek(1));
  machine.drop(1);
  if (iterator == nullptr) return Outcome::Raise;
  PyObject* items = PyList_New(0);
  PyObject* item = nullptr;
  while (items != nullptr && (item = PyIter_Next(iterator)) != nullptr) {
    bool too_many = PyList_GET_SIZE(items) == argument;
    int error = too_many ? -1 : PyList_Append(items, item);
    Py_DECREF(item);
    if (too_many) PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", argument);
    if (error) Py_CLEAR(items);
  }
  if (items != nullptr && !PyErr_Occurred() && PyList_GET_SIZE(items) < argument) {
    PyErr_Format(
        PyExc_ValueError, "not enough values to unpack (expected %d, got %zd)", argument, PyList_GET_SIZE(items));
  }
  Py_DECREF(iterator);
  if (PyErr_Occurred()) {
    Py_XDECREF(items);
    return Outcome::Raise;
  }
  return pushReversed(machine, items, argument);
}
INSTRUCTION(UNPACK_EX) {
  PyObject* sequence = machine.peek(1);
  int before = argument & 0xff, after = argument >> 8;
  // Of classes derived from tuple those that iterate as it does: sizes of tensors.
  bool is_tuple = PyTuple_Check(sequence) && Py_TYPE(sequence)->tp_iter == PyTuple_Type.tp_iter;
  if (!is_tuple && !PyList_CheckExact(sequence)) return Outcome::Leave;
  Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  if (size < before + after) return Outcome::Leave;
  PyObject* middle = PyList_New(size - before - after);
  if (middle == nullptr) return Outcome::Raise;
  if (PySequence_Fast_GET_SIZE(sequence) != size) {  // a finalizer has run
    Py_DECREF(middle);
    return Outcome::Leave;
  }
  machine.pop();
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  for (Py_ssize_t i = 0; i < size - before - after; i++) PyList_SET_ITEM(middle, i, Py_NewRef(items[before + i]));
  for (Py_ssize_t i = size; i-- > size - after;) machine.push(Py_NewRef(items[i]));
  machine.push(middle);
  for (int i = before; i-- > 0;) machine.push(Py_NewRef(items[i]));
  Py_DECREF(sequence);
  return Outcome::Next;
}

// ---- Text

static PyObject* converted(PyObject* value, int conversion) {  // new reference
  return conversion == 1   ? PyObject_Str(value)
         : conversion == 2 ? PyObject_Repr(value)
         : conversion == 3 ? PyObject_ASCII(value)
                           : Py_NewRef(value);
}
static PyObject* formatted(PyObject* value, PyObject* format) {
  if (format == nullptr && PyUnicode_CheckExact(value)) return Py_NewRef(value);
  return PyObject_Format(value, format);
}
#ifdef FORMAT_VALUE
INSTRUCTION(FORMAT_VALUE) {
  bool has_format = (argument & 4) != 0;
  PyObject* value = converted(machine.peek(has_format ? 2 : 1), argument & 3);
  PyObject* result = value == nullptr ? nullptr : formatted(value, has_format ? machine.peek(1) : nullptr);
  Py_XDECREF(value);
  return machine.replace(has_format ? 2 : 1, result);
}
#else
INSTRUCTION(CONVERT_VALUE) {
  return machine.replace(1, converted(machine.peek(1), argument));
}
INSTRUCTION(FORMAT_SIMPLE) {
  return machine.replace(1, formatted(machine.peek(1), nullptr));
}
INSTRUCTION(FORMAT_WITH_SPEC) {
  return machine.replace(2, PyObject_Format(machine.peek(2), machine.peek(1)));
}
#endif

INSTRUCTION(GET_LEN) {
  Py_ssize_t size = PyObject_Length(machine.peek(1));
  if (size < 0) return Outcome::Raise;
  PyObject* number = PyLong_FromSsize_t(size);
  if (number == nullptr) return Outcome::Raise;
  machine.push(number);
  return Outcome::Next;
}
static Outcome pushFlag(Machine& machine, unsigned long flag) {
  machine.push(newBool(PyType_HasFeature(Py_TYPE(machine.peek(1)), flag)));
  return Outcome::Next;
}
INSTRUCTION(MATCH_MAPPING) {
  return pushFlag(machine, Py_TPFLAGS_MAPPING);
}
INSTRUCTION(MATCH_SEQUENCE) {
  return pushFlag(machine, Py_TPFLAGS_SEQUENCE);
}

}  // namespace cresset::capture
#endif
