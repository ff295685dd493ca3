// Lists and dicts of scripts that Python holds by reference: what cresset.ScriptList and ScriptDict
// (cresset/_containers.py) are made of. Everywhere else lists and dicts are copied between Python and scripts.
#include "cresset/python/common.h"
#include "cresset/python/python_programs.h"
#include "cresset/support/dict_entries.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

namespace cresset::python {

namespace {

struct ContainerHandle {
  IValue value;
  TypePtr type;                                                                             // ListType or DictType
  std::vector<std::shared_ptr<Program>> programs = programsOf(type, pythonFamily().get());  // also if it is empty
  ~ContainerHandle() { release(std::move(value)); }

  c10::impl::GenericList list() const { return value.toList(); }
  c10::impl::GenericDict dict() const { return value.toGenericDict(); }
  const TypePtr& elementType() const { return type->containedTypes()[0]; }
  const TypePtr& valueType() const { return type->containedTypes()[1]; }
};

// Set by cresset/_containers.py.
PyObject* list_class = nullptr;
PyObject* dict_class = nullptr;

/// Where an argument of a script is a bool, any number will do; an element would come back as another value.
void requireBools(py::handle object, const TypePtr& type) {
  if (type->kind() == c10::TypeKind::BoolType) {
    if (!PyBool_Check(object.ptr()))
      throw py::type_error("an element of type bool is no " + std::string(Py_TYPE(object.ptr())->tp_name));
  } else if (type->kind() == c10::TypeKind::ListType && PyList_Check(object.ptr())) {
    for (const py::handle element : py::reinterpret_borrow<py::list>(object))
      requireBools(element, type->containedTypes()[0]);
  } else if (type->kind() == c10::TypeKind::DictType && PyDict_Check(object.ptr())) {
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object)) {
      requireBools(key, type->containedTypes()[0]);
      requireBools(value, type->containedTypes()[1]);
    }
  }
}

/// As a value of `type`; another one is a TypeError, as Python's typed containers have it.
IValue elementOf(const py::object& object, const TypePtr& type) {
  requireBools(object, type);
  try {
    return toIValue(object.ptr(), type);
  } catch (const CastError& error) {
    throw py::type_error(error.what());
  }
}

/// What Python sees of an element: containers within containers are references too.
py::object elementToPython(const IValue& value, const TypePtr& type) {
  if (!value.isList() && !value.isGenericDict()) return toPyObject(value, type);
  const bool known = type->kind() == c10::TypeKind::ListType || type->kind() == c10::TypeKind::DictType;
  auto handle = std::make_unique<ContainerHandle>(ContainerHandle{value, known ? type : value.type()});
  py::handle cls(value.isList() ? list_class : dict_class);
  return cls.attr("_of")(py::cast(std::move(handle)));
}

/// A new container with the contents of a Python list or dict. `type` None: what they show.
std::unique_ptr<ContainerHandle> makeContainer(const py::object& contents, const py::object& type) {
  const bool is_list = PyList_Check(contents.ptr());
  TypePtr wanted;
  if (!type.is_none()) {
    wanted = typeFromPython(type);
  } else if (py::len(contents) == 0) {
    // What the literals [] and {} mean.
    wanted = is_list ? TypePtr(c10::ListType::ofTensors())
                     : TypePtr(c10::DictType::create(c10::StringType::get(), c10::TensorType::get()));
  } else {
    try {
      wanted = inferType(contents.ptr());
    } catch (const UserError& error) {
      throw UserError(
          std::string("Unable to infer type of ") + (is_list ? "list: " : "dictionary: ") + error.message());
    } catch (const c10::Error& error) {  // a type that no key of a dict has
      throw UserError(error.what_without_backtrace());
    }
  }
  return std::make_unique<ContainerHandle>(ContainerHandle{elementOf(contents, wanted), wanted});
}

py::object getElement(const ContainerHandle& self, size_t index) {
  return elementToPython(self.list().get(index), self.elementType());
}

void setElement(const ContainerHandle& self, size_t index, const py::object& object) {
  self.list().set(index, elementOf(object, self.elementType()));
}

void insertElement(const ContainerHandle& self, size_t index, const py::object& object) {
  auto list = self.list();
  list.insert(list.begin() + index, elementOf(object, self.elementType()));
}

void eraseElement(const ContainerHandle& self, size_t index) {
  auto list = self.list();
  list.erase(list.begin() + index);
}

/// The elements of `other`, which may be the same list, in place of its own.
void replaceAll(const ContainerHandle& self, const ContainerHandle& other) {
  auto list = self.list();
  const std::vector<IValue> elements = other.list().vec();
  list.clear();
  for (const IValue& element : elements) list.push_back(element);
}

/// What a dict of such keys takes for `key`: numbers that are equal are one key, as in Python. None if there is no
/// such.
py::object keyLike(const py::object& key, const TypePtr& type) {
  const bool is_number = PyBool_Check(key.ptr()) || PyLong_Check(key.ptr()) || PyFloat_Check(key.ptr());
  switch (type->kind()) {
    case c10::TypeKind::BoolType:
      for (PyObject* known : {Py_False, Py_True}) {
        if (is_number && key.equal(py::handle(known))) return py::reinterpret_borrow<py::object>(known);
      }
      return py::none();
    case c10::TypeKind::IntType:
      if (!PyFloat_Check(key.ptr()))
        return is_number ? py::reinterpret_steal<py::object>(PyNumber_Long(key.ptr())) : key;
      return key.attr("is_integer")().cast<bool>() ? py::object(py::int_(key)) : py::none();
    default:
      return key;
  }
}

/// The key's entry; the end if it is no key of the dict, or could be none.
c10::impl::GenericDict::iterator findEntry(const ContainerHandle& self, const py::object& key) {
  auto dict = self.dict();
  try {
    const py::object known = keyLike(key, self.elementType());
    return known.is_none() ? dict.end() : dict.find(toIValue(known.ptr(), self.elementType()));
  } catch (const CastError&) {
    return dict.end();
  }
}

[[noreturn]] void raiseKeyError(const py::object& key) {
  PyErr_SetObject(PyExc_KeyError, key.ptr());
  throw py::error_already_set();
}

py::object getEntry(const ContainerHandle& self, const py::object& key) {
  const auto entry = findEntry(self, key);
  if (entry == self.dict().end()) raiseKeyError(key);
  return elementToPython(entry->value(), self.valueType());
}

void setEntry(const ContainerHandle& self, const py::object& key, const py::object& value) {
  IValue converted = elementOf(key, self.elementType());
  assignEntry(self.dict(), std::move(converted), elementOf(value, self.valueType()));
}

void eraseEntry(const ContainerHandle& self, const py::object& key) {
  const auto entry = findEntry(self, key);
  if (entry == self.dict().end()) raiseKeyError(key);
  self.dict().erase(entry);
}

/// Whether `object` could be an element of the list, or a key of the dict.
bool canHold(const ContainerHandle& self, const py::object& object) {
  try {
    toIValue(object.ptr(), self.elementType());
    return true;
  } catch (const CastError&) {
    return false;
  }
}

py::list keysOf(const ContainerHandle& self) {
  py::list keys;
  for (const auto& entry : self.dict()) keys.append(toPyObject(entry.key(), self.elementType()));
  return keys;
}

py::list keysAndValuesOf(const ContainerHandle& self) {
  py::list entries;
  for (const auto& entry : self.dict()) {
    entries.append(
        py::make_tuple(toPyObject(entry.key(), self.elementType()), elementToPython(entry.value(), self.valueType())));
  }
  return entries;
}

}  // namespace

bool isScriptContainer(PyObject* object) {
  if (!list_class) return false;
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(list_class)) ||
         PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(dict_class));
}

std::pair<IValue, TypePtr> unwrapContainer(PyObject* object) {
  const auto& handle = py::cast<const ContainerHandle&>(py::object(py::handle(object).attr("_c")));
  return {handle.value, handle.type};
}

void bindContainers(py::module_& module) {
  py::class_<ContainerHandle>(module, "_Container", py::module_local())
      .def(py::init(&makeContainer), py::arg("contents"), py::arg("type"))
      .def_property_readonly("type", [](const ContainerHandle& self) { return typeToPython(self.type); })
      .def(
          "is_same",
          [](const ContainerHandle& self, const ContainerHandle& other) { return self.value.is(other.value); })
      .def(
          "size",
          [](const ContainerHandle& self) { return self.value.isList() ? self.list().size() : self.dict().size(); })
      .def(
          "clear", [](const ContainerHandle& self) { self.value.isList() ? self.list().clear() : self.dict().clear(); })
      .def("can_hold", canHold)
      .def("get", getElement)
      .def("set", setElement)
      .def("insert", insertElement)
      .def("erase", eraseElement)
      .def("replace_all", replaceAll)
      .def(
          "has",
          [](const ContainerHandle& self, const py::object& key) { return findEntry(self, key) != self.dict().end(); })
      .def("get_entry", getEntry)
      .def("set_entry", setEntry)
      .def("erase_entry", eraseEntry)
      .def("keys", keysOf)
      .def("entries", keysAndValuesOf);
  module.def("_set_container_classes", [](py::object list, py::object dict) {
    list_class = list.release().ptr();
    dict_class = dict.release().ptr();
  });
}

}  // namespace cresset::python
