// Values to Python objects. Tensors are shared, containers are copied, script objects keep their identity.
#include "cresset/python/awaitables.h"
#include "cresset/python/common.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/Stream.h>

#include <unordered_map>

#include "cresset/ops/object_slots.h"
#include "cresset/python/script.h"
#include "cresset/support/recent_map.h"
#include "cresset/tracer/numbers.h"

namespace cresset::python {

namespace {

py::object stringToPython(const std::string& text) {
  // Scripts' strings are bytes; those that are no UTF-8 come back as Python holds undecodable bytes, and round-trip.
  py::object result = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
  if (!result) throw py::error_already_set();
  return result;
}

/// The collections.namedtuple class for a NamedTuple type; one per name and fields, as long as it is among the last
/// used ones.
py::object namedTupleClass(const c10::TupleType& type) {
  constexpr size_t kMaxClasses = 64;
  static auto* classes = new RecentMap<std::string, py::object>(kMaxClasses);
  const c10::FunctionSchema& schema = *type.schema();
  std::string key = type.name() ? type.name()->qualifiedName() : schema.name();
  py::list fields;
  for (const c10::Argument& field : schema.arguments()) {
    key += "," + field.name();
    fields.append(field.name());
  }
  if (const py::object* made = classes->find(key)) return *made;
  std::string name = type.name() ? type.name()->name() : schema.name();
  // Fields may have names that Python reserves; `rename` would hide them, so such a class is refused by Python itself.
  const py::object made =
      py::module_::import("collections").attr("namedtuple")(name, fields, py::arg("module") = "cresset");
  classes->insert(key, made);
  return made;
}

/// The type that a tuple was made with; one made without gets that of its elements. An undefined tensor, as derivatives
/// may be, has no type: then there is none, and the tuple is a plain one.
std::shared_ptr<c10::TupleType> ownType(const c10::ivalue::Tuple& tuple) {
  bool undefined = false;
  for (const IValue& element : tuple.elements()) undefined |= element.isTensor() && !element.toTensor().defined();
  if (!undefined) return tuple.type();
  try {
    return tuple.type();
  } catch (const c10::Error&) {
    return nullptr;
  }
}

py::object tupleToPython(const c10::ivalue::Tuple& tuple, const TypePtr& hint) {
  const auto& elements = tuple.elements();
  const c10::TupleType* named = nullptr;
  std::shared_ptr<c10::TupleType> own;
  const auto* hinted = hint ? hint->castRaw<c10::TupleType>() : nullptr;
  if (hinted && hinted->elements().size() != elements.size()) hinted = nullptr;
  if (hinted && hinted->schema()) {
    named = hinted;
  } else {
    own = ownType(tuple);
    if (own && own->schema()) named = own.get();
  }
  const c10::TupleType* types = named ? named : hinted;
  // Operators that name their results (`max.dim`) have a tuple type of named fields that has no name itself: a plain
  // one.
  if (named && !named->name() && named->schema()->name().empty()) named = nullptr;
  py::tuple result(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    PyTuple_SET_ITEM(
        result.ptr(), static_cast<Py_ssize_t>(i), toPython(elements[i], types ? types->elements()[i] : TypePtr()));
  }
  if (named) {
    if (py::object cls = pythonClassOf(*named)) return cls(*result);
    return namedTupleClass(*named)(*result);
  }
  return result;
}

/// The Python classes of enums that come from archives and texts, as long as anything uses them.
struct EnumClasses {
  struct Entry {
    py::object weak;        // to the Python class; its end takes the entry out
    c10::EnumTypePtr type;  // keeps the address from being used again
  };
  std::unordered_map<const c10::EnumType*, PyObject*> by_type;
  std::unordered_map<PyObject*, Entry> by_class;
  static EnumClasses& get() {
    static auto* instance = new EnumClasses;
    return *instance;
  }
};

py::object enumToPython(const c10::ivalue::EnumHolder& holder) {
  auto type = holder.type();
  if (py::object cls = pythonClassOf(*type)) return cls[stringToPython(holder.name())];
  auto& classes = EnumClasses::get();
  py::object cls;
  if (auto it = classes.by_type.find(type.get()); it != classes.by_type.end())
    cls = strongReference(classes.by_class.at(it->second).weak);
  if (!cls) {
    py::list members;
    for (const auto& [name, value] : type->enumNamesValues()) members.append(py::make_tuple(name, toPyObject(value)));
    cls = py::module_::import("enum").attr("Enum")(
        type->qualifiedClassName().name(), members, py::arg("module") = "cresset");
    PyObject* const key = cls.ptr();
    const auto erase = [key] {
      auto& table = EnumClasses::get();
      const auto entry = table.by_class.extract(key);
      const auto it = table.by_type.find(entry.mapped().type.get());
      if (it != table.by_type.end() && it->second == key) table.by_type.erase(it);
    };
    classes.by_type.insert_or_assign(type.get(), key);
    classes.by_class.emplace(key, EnumClasses::Entry{weakReference(cls, erase), type});
  }
  return cls[stringToPython(holder.name())];
}

}  // namespace

namespace {

/// An instance of the Python class that a script class was made from, with a copy of the object's attributes: objects
/// of such classes are plain Python objects on both ways, as under torch.jit. Null if there is no such class.
py::object plainInstance(const c10::ivalue::Object& object) {
  const auto type = object.type();
  if (type->is_module()) return {};
  const py::object cls = pythonClassOf(*type);
  if (!cls) return {};
  py::object result = cls.attr("__new__")(cls);
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    const py::object value = toPyObject(readSlot(object, slot), type->getAttribute(slot));
    // Past __setattr__, which frozen dataclasses refuse and others may watch.
    const py::str name(type->getAttributeName(slot));
    if (PyObject_GenericSetAttr(result.ptr(), name.ptr(), value.ptr()) != 0) throw py::error_already_set();
  }
  return result;
}

}  // namespace

c10::EnumTypePtr enumTypeOf(PyObject* python_class) {
  if (TypePtr type = knownTypeOfClass(python_class)) return type->cast<c10::EnumType>();
  auto& by_class = EnumClasses::get().by_class;
  auto it = by_class.find(python_class);
  return it == by_class.end() ? nullptr : it->second.type;
}

namespace {

/// Python's own bound on recursion: values may contain themselves.
class RecursionGuard {
 public:
  RecursionGuard() {
    if (Py_EnterRecursiveCall(" while converting a script's value to Python")) throw py::error_already_set();
    if (PyErr_CheckSignals() != 0) {
      Py_LeaveRecursiveCall();
      throw py::error_already_set();
    }
  }
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

PyObject* listToPython(const c10::List<IValue>& list) {
  const RecursionGuard guard;
  const TypePtr element = list.elementType();
  // A copy, whose length does not change: converting an element may let another thread run.
  const std::vector<IValue> elements = list.vec();
  py::list result(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    PyList_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i), toPython(elements[i], element));
  return result.release().ptr();
}

PyObject* dictToPython(const c10::Dict<IValue, IValue>& dict) {
  const RecursionGuard guard;
  const TypePtr key_type = dict.keyType(), value_type = dict.valueType();
  std::vector<std::pair<IValue, IValue>> entries;
  entries.reserve(dict.size());
  for (const auto& entry : dict) entries.emplace_back(entry.key(), entry.value());
  py::dict result;
  for (auto& [entry_key, entry_value] : entries) {
    py::object key = toPyObject(std::move(entry_key), key_type);
    py::object item = toPyObject(std::move(entry_value), value_type);
    if (PyDict_SetItem(result.ptr(), key.ptr(), item.ptr()) != 0) throw py::error_already_set();
  }
  return result.release().ptr();
}

}  // namespace

PyObject* toPython(IValue value, const TypePtr& hint) {
  if (value.isTensor()) {
    // An undefined tensor is None to Python.
    return THPVariable_Wrap(std::move(value).toTensor());
  }
  if (value.isNone()) Py_RETURN_NONE;
  if (value.isBool()) return PyBool_FromLong(value.toBool());
  if (value.isInt()) return PyLong_FromLongLong(value.toInt());
  if (value.isDouble()) return PyFloat_FromDouble(value.toDouble());
  if (value.isComplexDouble()) {
    auto number = value.toComplexDouble();
    return PyComplex_FromDoubles(number.real(), number.imag());
  }
  if (value.isString()) return stringToPython(value.toStringRef()).release().ptr();
  if (value.isTuple()) {
    const Releasing releasing(value);
    const RecursionGuard guard;
    requireShallow(value, "converting a script's value to Python");
    return tupleToPython(value.toTupleRef(), hint).release().ptr();
  }
  if (value.isList()) {
    const Releasing releasing(value);
    return listToPython(value.toList());
  }
  if (value.isGenericDict()) {
    const Releasing releasing(value);
    return dictToPython(value.toGenericDict());
  }
  if (value.isObject()) {
    if (py::object plain = plainInstance(value.toObjectRef())) return plain.release().ptr();
    return wrapObject(value.toObject()).release().ptr();
  }
  if (value.isDevice()) return THPDevice_New(value.toDevice());
  if (value.isEnum()) return enumToPython(*value.toEnumHolder()).release().ptr();
  if (value.isFuture()) return wrapFuture(value.toFuture()).release().ptr();
  if (value.isAwait()) return wrapAwait(value.toAwait()).release().ptr();
  if (value.isGenerator()) return THPGenerator_Wrap(value.toGenerator());
  if (value.isStream()) return THPStream_Wrap(value.toStream());
  if (value.isStorage()) return torch::createPyObject(value.toStorage());
  if (value.isSymInt() || value.isSymFloat()) {
    // A number that a script function returned to a trace.
    c10::SymNode node = value.isSymInt() ? value.toSymInt().toSymNode() : value.toSymFloat().toSymNodeImpl();
    py::object number = std::visit([](auto plain) { return py::cast(plain); }, tracer::numberOf(node));
    const char* name = value.isSymInt() ? "TracedInt" : "TracedFloat";
    return py::module_::import("cresset._traced_numbers").attr(name)(number, std::move(node)).release().ptr();
  }
  if (value.isPyObject()) {
    PyObject* object = value.toPyObject();
    Py_INCREF(object);
    return object;
  }
  throw UserError("A value of type " + value.type()->repr_str() + " has no form in Python.");
}

}  // namespace cresset::python
