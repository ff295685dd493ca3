// Python objects to values: by the type that a schema or an attribute declares, or, for Any, by the type that the
// object itself shows.
//
// What is accepted is torch.jit's set (docs/python-values.md lists it): tensors are shared, containers are copied,
// numbers convert without loss of meaning, and everything else is refused with a reason.
#include "cresset/python/awaitables.h"
#include "cresset/python/common.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/QScheme.h>
#include <torch/csrc/Stream.h>

#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/python/messages.h"
#include "cresset/python/script.h"
#include "cresset/support/dict_entries.h"

namespace cresset::python {

using c10::TypeKind;

namespace {

/// As toIValue, but what Python code and libtorch throw meanwhile passes through.
IValue convert(PyObject* object, const TypePtr& type);

[[noreturn]] void refuse(PyObject* object, const std::string& wanted) {
  throw CastError("Unable to cast " + shortRepr(object) + " of Python type '" + typeName(object) + "' to " + wanted);
}

bool hasNumberSlot(PyObject* object, unaryfunc PyNumberMethods::*slot) {
  PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  return methods && methods->*slot;
}

/// The number in a tensor of one element; nullopt if `object` is no such tensor.
std::optional<c10::Scalar> scalarOf(PyObject* object) {
  if (!THPVariable_Check(object)) return std::nullopt;
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (!tensor.defined() || tensor.numel() != 1) return std::nullopt;
  py::gil_scoped_release no_gil;  // a device may have to finish first
  return tensor.item();
}

/// NumPy's bool, which is no Python bool and has no `__index__`.
bool isNumpyBool(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

int64_t toInt(PyObject* object) {
  if (PyLong_Check(object)) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) throw CastError("The int " + shortRepr(object) + " does not fit into 64 bits");
    if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
    return value;
  }
  if (auto value = enumLikeInt(object)) return *value;
  if (isNumpyBool(object)) return PyObject_IsTrue(object);
  if (auto scalar = scalarOf(object)) {
    if (!scalar->isComplex()) return scalar->toLong();
    refuse(object, "int");
  }
  if (THPVariable_Check(object) || !PyIndex_Check(object)) refuse(object, "int");
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!index) throw py::error_already_set();
  return toInt(index.ptr());
}

double toFloat(PyObject* object) {
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (auto scalar = scalarOf(object)) {
    if (!scalar->isComplex()) return scalar->toDouble();
    refuse(object, "float");
  }
  if (THPVariable_Check(object) ||
      !(PyLong_Check(object) || hasNumberSlot(object, &PyNumberMethods::nb_float) || PyIndex_Check(object))) {
    refuse(object, "float");
  }
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();  // an int too big, or a __float__ that refuses
    refuse(object, "float");
  }
  return value;
}

bool toBool(PyObject* object) {
  if (object == Py_True) return true;
  if (object == Py_False || object == Py_None) return false;
  PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  if (!methods || !methods->nb_bool) refuse(object, "bool");  // having a length does not make a bool
  int value = PyObject_IsTrue(object);
  if (value < 0) {
    PyErr_Clear();
    refuse(object, "bool");
  }
  return value != 0;
}

c10::complex<double> toComplex(PyObject* object) {
  if (auto scalar = scalarOf(object)) return scalar->toComplexDouble();
  if (PyComplex_Check(object) || PyFloat_Check(object) || PyLong_Check(object) ||
      hasNumberSlot(object, &PyNumberMethods::nb_float) || PyIndex_Check(object)) {
    Py_complex value = PyComplex_AsCComplex(object);
    if (!PyErr_Occurred()) return {value.real, value.imag};
    PyErr_Clear();
  }
  refuse(object, "complex");
}

std::string toString(PyObject* object) {
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) throw py::error_already_set();
    return {text, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(object)) return {PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object))};
  refuse(object, "str");
}

IValue toTensor(PyObject* object) {
  if (THPVariable_Check(object)) return IValue(THPVariable_Unpack(object));
  if (object == Py_None) return IValue(at::Tensor());  // undefined: operators say so when they meet it
  refuse(object, "Tensor");
}

/// A list or tuple with the elements of a sequence (numpy arrays and ranges count, text and tensors don't).
py::object asFastSequence(PyObject* object, const c10::Type& wanted) {
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) return py::reinterpret_borrow<py::object>(object);
  if (!PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object) ||
      THPVariable_Check(object)) {
    refuse(object, wanted.repr_str());
  }
  py::object result = py::reinterpret_steal<py::object>(PySequence_Fast(object, ""));
  if (!result) throw py::error_already_set();
  return result;
}

/// Calls `add(item)` for each element. Items are held while they are converted: conversion may run Python code
/// (`__index__`, `__float__`), which may change the list.
template <typename Add>
void forEachItem(const py::object& sequence, const Add& add) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.ptr()); ++i) {
    py::object item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(sequence.ptr(), i));
    add(item.ptr());
  }
}

IValue toList(PyObject* object, const c10::ListType& type) {
  const TypePtr& element = type.getElementType();
  py::object sequence = asFastSequence(object, type);
  auto size = static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
  switch (element->kind()) {
    case TypeKind::IntType: {
      c10::List<int64_t> result;
      result.reserve(size);
      forEachItem(sequence, [&](PyObject* item) { result.push_back(toInt(item)); });
      return IValue(std::move(result));
    }
    case TypeKind::FloatType: {
      c10::List<double> result;
      result.reserve(size);
      forEachItem(sequence, [&](PyObject* item) { result.push_back(toFloat(item)); });
      return IValue(std::move(result));
    }
    case TypeKind::BoolType: {
      c10::List<bool> result;
      result.reserve(size);
      forEachItem(sequence, [&](PyObject* item) { result.push_back(toBool(item)); });
      return IValue(std::move(result));
    }
    case TypeKind::TensorType: {
      c10::List<at::Tensor> result;
      result.reserve(size);
      forEachItem(sequence, [&](PyObject* item) {
        if (item == Py_None) refuse(item, "Tensor");
        result.push_back(toTensor(item).toTensor());
      });
      return IValue(std::move(result));
    }
    default: {
      c10::impl::GenericList result(element);
      result.reserve(size);
      forEachItem(sequence, [&](PyObject* item) { result.push_back(convert(item, element)); });
      return IValue(result);
    }
  }
}

CastError changedMeanwhile(PyObject* object) {
  return CastError("Object " + shortRepr(object) + " changed while it was converted");
}

IValue toDict(PyObject* object, const c10::DictType& type) {
  if (!PyDict_Check(object)) {
    static py::handle mapping = py::object(py::module_::import("collections.abc").attr("Mapping")).release();
    if (!py::isinstance(object, mapping)) refuse(object, type.repr_str());
  }
  c10::impl::GenericDict result(type.getKeyType(), type.getValueType());
  const auto add = [&](PyObject* key, PyObject* value) {
    IValue converted = convert(key, type.getKeyType());
    assignEntry(result, std::move(converted), convert(value, type.getValueType()));
  };
  // Items are held, and a dict that changes is noticed, for the same reason as in forEachItem.
  if (PyDict_CheckExact(object)) {
    const Py_ssize_t size = PyDict_GET_SIZE(object);
    result.reserve(static_cast<size_t>(size));
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      const auto held_key = py::reinterpret_borrow<py::object>(key),
                 held_value = py::reinterpret_borrow<py::object>(value);
      add(key, value);
      if (PyDict_GET_SIZE(object) != size) throw changedMeanwhile(object);
    }
    return IValue(result);
  }
  const auto entries = entriesOf(object);
  result.reserve(entries.size());
  for (const auto& [key, value] : entries) add(key.ptr(), value.ptr());
  return IValue(result);
}

/// The list or dict itself. One of another type is no copy of it: a script that changes it would go unseen.
IValue toShared(PyObject* object, const TypePtr& type) {
  auto [value, own] = unwrapContainer(object);
  if (*own != *type) {
    throw CastError(
        "A " + typeName(object) + " of type " + own->repr_str() + " is no " + type->repr_str() +
        "; a copy can be passed, list(…) or dict(…)");
  }
  return std::move(value);
}

IValue toTuple(PyObject* object, const TypePtr& type) {
  const auto* tuple = type->castRaw<c10::TupleType>();
  py::object sequence = asFastSequence(object, *type);
  auto size = static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
  if (size != tuple->elements().size()) {
    throw CastError(
        "Object " + shortRepr(object) + " had a different number of elements than type " + type->repr_str());
  }
  std::vector<IValue> elements;
  elements.reserve(size);
  forEachItem(sequence, [&](PyObject* item) {
    if (elements.size() < size) elements.push_back(convert(item, tuple->elements()[elements.size()]));
  });
  if (elements.size() != size) throw changedMeanwhile(object);
  if (tuple->schema())
    return IValue(c10::ivalue::Tuple::createNamed(std::move(elements), type->expect<c10::TupleType>()));
  return IValue(c10::ivalue::Tuple::create(std::move(elements)));
}

IValue toEnum(PyObject* object, const TypePtr& type) {
  auto enum_type = type->expect<c10::EnumType>();
  static py::handle enum_class = py::object(py::module_::import("enum").attr("Enum")).release();
  if (!py::isinstance(object, enum_class)) refuse(object, type->repr_str());
  // A member of any Python class with this name will do: the archive's author's class is rarely the caller's.
  std::string name = py::cast<std::string>(py::handle(object).attr("name"));
  for (const auto& [member, value] : enum_type->enumNamesValues()) {
    if (member != name) continue;
    IValue given = convert(py::object(py::handle(object).attr("value")).ptr(), enum_type->getValueType());
    if (given != value) break;
    return IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enum_type, name, value));
  }
  throw CastError(shortRepr(object) + " is not a member of " + type->repr_str());
}

/// An ordinary Python object with the attributes that the class declares: its copy, of that class.
IValue copyPlainObject(PyObject* object, const c10::ClassTypePtr& type) {
  auto program = programOf(*type);
  if (!program || type->is_module()) refuse(object, type->annotation_str());
  auto result =
      c10::ivalue::Object::create(c10::StrongTypePtr(program->asCompilationUnit(), type), type->numAttributes());
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    const std::string name = type->getAttributeName(slot);
    py::object value = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, name.c_str()));
    if (!value) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
      PyErr_Clear();
      throw CastError(
          "Tried to cast object to type " + type->annotation_str() + " but object was missing attribute " + name);
    }
    try {
      writeSlot(*result, slot, convert(value.ptr(), type->getAttribute(slot)));
    } catch (const CastError& error) {
      throw CastError(messages::attributeCast(name, *type->getAttribute(slot), error.what()));
    }
  }
  return IValue(result);
}

IValue toObject(PyObject* object, const TypePtr& type) {
  ObjectPtr found = unwrapObject(object);
  if (!found) {
    if (auto class_type = type->cast<c10::ClassType>()) return copyPlainObject(object, class_type);
    const TypePtr known = knownTypeOfClass(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    auto implementation = known ? known->cast<c10::ClassType>() : nullptr;
    if (!implementation) refuse(object, type->repr_str());
    found = copyPlainObject(object, implementation).toObject();
  }
  std::ostringstream why;
  if (!found->type()->isSubtypeOfExt(*type, &why)) {
    throw CastError(
        "Object of type " + found->type()->annotation_str() + " is not " +
        (type->cast<c10::InterfaceType>() ? "compatible with interface " : "a ") + type->annotation_str() +
        (why.str().empty() ? "" : ": " + why.str()) + " (the value is not a TorchScript compatible type)");
  }
  return IValue(std::move(found));
}

IValue toUnion(PyObject* object, const TypePtr& type) {
  // The type that the object shows decides first, so that 1 in Union[float, int] stays an int. Objects that show none
  // (an empty list) or another one go to the first member that takes them without guessing: containers and classes.
  std::string found = typeName(object);
  TypePtr inferred;
  try {
    inferred = inferType(object);
  } catch (const UserError&) {
  }
  if (inferred) {
    found = inferred->repr_str();
    if (inferred->isSubtypeOf(*type)) return convert(object, inferred);
  }
  for (const TypePtr& member : type->containedTypes()) {
    if (member->containedTypes().empty() && !member->cast<c10::ClassType>() && !member->cast<c10::EnumType>()) continue;
    try {
      return toIValue(object, member);
    } catch (const CastError&) {
    } catch (const Error&) {
      throw;
    } catch (const c10::Error&) {  // no key that a dict can have
    }
  }
  throw CastError("Expected a member of " + type->repr_str() + " but instead found type " + found);
}

}  // namespace

std::vector<std::pair<py::object, py::object>> entriesOf(PyObject* mapping) {
  const auto items =
      py::reinterpret_steal<py::object>(PyDict_CheckExact(mapping) ? PyDict_Items(mapping) : PyMapping_Items(mapping));
  if (!items) throw py::error_already_set();
  const auto held = py::cast<py::tuple>(items);
  std::vector<std::pair<py::object, py::object>> result;
  result.reserve(held.size());
  for (py::handle item : held) {
    if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
      throw UserError(
          "items() of a " + typeName(mapping) + " returned " + shortRepr(item.ptr()) + ", which is no pair");
    result.emplace_back(
        py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(item.ptr(), 0)),
        py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(item.ptr(), 1)));
  }
  return result;
}

std::string typeName(PyObject* object) {
  std::string name = Py_TYPE(object)->tp_name;
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string shortRepr(PyObject* object) {
  py::object text = py::reinterpret_steal<py::object>(PyObject_Repr(object));
  if (!text) {
    PyErr_Clear();
    return "<" + typeName(object) + ">";
  }
  Py_ssize_t length = PyUnicode_GET_LENGTH(text.ptr());
  constexpr Py_ssize_t kLongest = 500;
  if (length > kLongest) {
    text = py::reinterpret_steal<py::object>(PyUnicode_Substring(text.ptr(), 0, kLongest));
    if (!text) throw py::error_already_set();
  }
  const char* utf8 = PyUnicode_AsUTF8(text.ptr());
  if (!utf8) {
    PyErr_Clear();  // lone surrogates
    return "<" + typeName(object) + ">";
  }
  return length > kLongest ? std::string(utf8) + "…" : std::string(utf8);
}

std::optional<int64_t> enumLikeInt(PyObject* object) {
  if (THPDtype_Check(object)) return static_cast<int64_t>(reinterpret_cast<THPDtype*>(object)->scalar_type);
  if (THPLayout_Check(object)) return static_cast<int64_t>(reinterpret_cast<THPLayout*>(object)->layout);
  if (THPMemoryFormat_Check(object))
    return static_cast<int64_t>(reinterpret_cast<THPMemoryFormat*>(object)->memory_format);
  if (THPQScheme_Check(object)) return static_cast<int64_t>(reinterpret_cast<THPQScheme*>(object)->qscheme);
  return std::nullopt;
}

IValue toIValue(PyObject* object, const TypePtr& type) {
  try {
    return convert(object, type);
  } catch (py::error_already_set& error) {  // from __index__, __len__, items, …
    if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError)) throw;
    std::string what = error.what();
    throw CastError(what.substr(0, what.find("\n\nAt:")));
  }
}

namespace {

IValue convert(PyObject* object, const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::TensorType:
      return toTensor(object);
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::LayoutType:
    case TypeKind::ScalarTypeType:
    case TypeKind::MemoryFormatType:
    case TypeKind::QSchemeType:
      return IValue(toInt(object));
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return IValue(toFloat(object));
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return IValue(toBool(object));
    case TypeKind::ComplexType:
      return IValue(toComplex(object));
    case TypeKind::StringType:
      return IValue(toString(object));
    case TypeKind::NumberType:
      if (PyBool_Check(object)) return IValue(object == Py_True);
      if (PyLong_Check(object)) return IValue(toInt(object));
      if (PyFloat_Check(object)) return IValue(PyFloat_AS_DOUBLE(object));
      if (PyComplex_Check(object)) return IValue(toComplex(object));
      if (auto value = enumLikeInt(object)) return IValue(*value);
      throw CastError("Cannot cast " + shortRepr(object) + " to number");
    case TypeKind::NoneType:
      if (object == Py_None) return IValue();
      throw CastError("Cannot cast " + shortRepr(object) + " to None");
    case TypeKind::DeviceObjType:
      if (THPDevice_Check(object)) return IValue(reinterpret_cast<THPDevice*>(object)->device);
      if (PyUnicode_Check(object)) return IValue(c10::Device(toString(object)));
      refuse(object, "Device");
    case TypeKind::GeneratorType:
      if (THPGeneratorClass && PyObject_IsInstance(object, THPGeneratorClass) == 1) {
        return IValue(reinterpret_cast<THPGenerator*>(object)->cdata);
      }
      refuse(object, "Generator");
    case TypeKind::StreamObjType:
      if (THPStream_Check(object)) {
        auto* stream = reinterpret_cast<THPStream*>(object);
        return IValue(c10::Stream::unpack3(
            stream->stream_id, static_cast<c10::DeviceIndex>(stream->device_index),
            static_cast<c10::DeviceType>(stream->device_type)));
      }
      refuse(object, "Stream");
    case TypeKind::StorageType:
      if (torch::isStorage(object)) return IValue(torch::createStorage(object));
      refuse(object, "Storage");
    case TypeKind::OptionalType:
      if (object == Py_None) return IValue();
      return convert(object, type->castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::ListType:
      if (!PyList_CheckExact(object) && isScriptContainer(object)) return toShared(object, type);
      return toList(object, *type->castRaw<c10::ListType>());
    case TypeKind::DictType:
      if (!PyDict_CheckExact(object) && isScriptContainer(object)) return toShared(object, type);
      return toDict(object, *type->castRaw<c10::DictType>());
    case TypeKind::TupleType:
      return toTuple(object, type);
    case TypeKind::UnionType:
      return toUnion(object, type);
    case TypeKind::AnyType:
      return toInferredIValue(object);
    case TypeKind::EnumType:
      return toEnum(object, type);
    case TypeKind::ClassType:
    case TypeKind::InterfaceType:
      return toObject(object, type);
    case TypeKind::FutureType:
      if (auto future = unwrapFuture(object)) return IValue(futureOf(std::move(future), type->containedType(0)));
      refuse(object, type->repr_str());
    case TypeKind::AwaitType:
      if (auto awaitable = unwrapAwait(object, type->containedType(0))) return IValue(std::move(awaitable));
      refuse(object, type->repr_str());
    case TypeKind::AnyListType:
    case TypeKind::AnyTupleType:
    case TypeKind::AnyClassType:
    case TypeKind::AnyEnumType: {
      TypePtr inferred = inferType(object);
      if (!inferred->isSubtypeOf(*type)) refuse(object, type->repr_str());
      return convert(object, inferred);
    }
    default:
      throw CastError("Values of type " + type->repr_str() + " can't be made from Python objects");
  }
}

}  // namespace

namespace {

[[noreturn]] void cannotInfer(PyObject* object, const std::string& reason) {
  py::object text = py::reinterpret_steal<py::object>(PyObject_Str(object));
  if (!text) PyErr_Clear();
  const char* utf8 = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!utf8) PyErr_Clear();
  throw UserError("Tracer cannot infer type of " + (utf8 ? std::string(utf8) : shortRepr(object)) + "\n:" + reason);
}

/// `what` in torch.jit's words, which speak of traces even where nothing is traced.
TypePtr unifyElements(
    PyObject* container, const TypePtr& a, const TypePtr& b, const std::string& what, const std::string& rule) {
  if (!a || *a == *b) return b;
  if (auto unified = c10::unifyTypes(a, b)) return *unified;
  cannotInfer(container, what + ". Found " + a->repr_str() + " and " + b->repr_str() + " (" + rule + ")");
}

TypePtr infer(PyObject* object, int nesting) {
  if (nesting > kMaxNesting)
    throw UserError("A Python value nests deeper than " + std::to_string(kMaxNesting) + " levels");
  if (THPVariable_Check(object)) return c10::TensorType::get();
  if (object == Py_None) return c10::NoneType::get();
  if (PyBool_Check(object)) return c10::BoolType::get();
  static py::handle enum_class = py::object(py::module_::import("enum").attr("Enum")).release();
  if (py::isinstance(object, enum_class)) {
    if (auto type = enumTypeOf(reinterpret_cast<PyObject*>(Py_TYPE(object)))) return type;
    if (PyLong_Check(object)) return c10::IntType::get();  // a member of an IntEnum is an int
    if (PyUnicode_Check(object)) return c10::StringType::get();
    cannotInfer(
        object, "An enum whose class belongs to no script can only be passed where a script declares its type.");
  }
  if (PyLong_Check(object) || enumLikeInt(object)) return c10::IntType::get();
  if (PyFloat_Check(object)) return c10::FloatType::get();
  if (PyComplex_Check(object)) return c10::ComplexType::get();
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return c10::StringType::get();
  if (THPDevice_Check(object)) return c10::DeviceObjType::get();
  if (THPGeneratorClass && PyObject_IsInstance(object, THPGeneratorClass) == 1) return c10::GeneratorType::get();
  if (THPStream_Check(object)) return c10::StreamObjType::get();
  if (ObjectPtr found = unwrapObject(object)) return found->type();
  if (auto future = unwrapFuture(object)) return c10::FutureType::create(future->elementType());
  if (TypePtr awaitable = typeOfAwait(object)) return awaitable;
  if (TypePtr known = knownTypeOfClass(reinterpret_cast<PyObject*>(Py_TYPE(object)))) return known;
  if (isScriptContainer(object)) return unwrapContainer(object).second;
  if (PyTuple_Check(object)) {
    std::vector<TypePtr> elements;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      elements.push_back(infer(PyTuple_GET_ITEM(object, i), nesting + 1));
    return c10::TupleType::create(std::move(elements));
  }
  if (PyList_Check(object)) {
    TypePtr element;
    // A copy: looking at an element may run Python code, which may change the list.
    const auto items = py::reinterpret_steal<py::tuple>(PyList_AsTuple(object));
    for (py::handle item : items) {
      element = unifyElements(
          object, element, infer(item.ptr(), nesting + 1),
          "List inputs to traced functions must have consistent element type",
          "the elements of a list are of one type in scripts; a tuple's need not be");
    }
    if (!element) {
      cannotInfer(
          object, "List trace inputs must have elements (an empty list does not show what type its elements have)");
    }
    return c10::ListType::create(element);
  }
  if (PyDict_Check(object)) {
    TypePtr key_type, value_type;
    for (const auto& [key, value] : entriesOf(object)) {
      static const std::string kWhat = "Dictionary inputs to traced functions must have consistent type";
      key_type = unifyElements(
          object, key_type, infer(key.ptr(), nesting + 1), kWhat, "the keys of a dict are of one type in scripts");
      value_type = unifyElements(
          object, value_type, infer(value.ptr(), nesting + 1), kWhat,
          "the values of a dict are of one type in scripts");
    }
    if (!key_type) {
      cannotInfer(
          object, "Dictionary inputs must have entries (an empty dict does not show the types of keys and values)");
    }
    return c10::DictType::create(key_type, value_type);
  }
  cannotInfer(
      object,
      "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of "
      "traced functions, but instead got value of type " +
          typeName(object) + " (scripts have no type for an object of class '" + typeName(object) + "').");
}

}  // namespace

TypePtr inferType(PyObject* object) {
  return infer(object, 0);
}

}  // namespace cresset::python
