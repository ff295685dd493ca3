// Script objects (modules and instances of script classes) as Python holds them.
//
// Python code sees wrappers (cresset.ScriptModule, cresset.ScriptObject) made by cresset/_objects.py around an
// ObjectHandle. A table from object to wrapper keeps identity: one object, one wrapper, as long as the wrapper lives.
// A wrapper keeps its object alive, so an entry whose weak reference lives can't belong to another object.
#include "cresset/python/common.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "cresset/module/values.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/python/messages.h"

namespace cresset::python {

namespace {

using WeakTable = std::unordered_map<const c10::ivalue::Object*, py::object>;

WeakTable& wrappers() {
  static auto* table = new WeakTable;
  return *table;
}

// Set by cresset/_objects.py: what makes wrappers, and the classes of wrappers.
PyObject* wrapper_factory = nullptr;
PyObject* wrapper_classes = nullptr;

void sweepDeadWrappers() {
  // Amortized: the table is swept when it has doubled since the last sweep.
  static size_t next_sweep = 64;
  WeakTable& table = wrappers();
  if (table.size() < next_sweep) return;
  for (auto it = table.begin(); it != table.end();) it = strongReference(it->second) ? std::next(it) : table.erase(it);
  next_sweep = std::max<size_t>(64, 2 * table.size());
}

/// Makes `wrapper` the one that `object` is seen as.
void registerWrapper(const ObjectHandle& handle, const py::object& wrapper) {
  sweepDeadWrappers();
  py::object weak = py::reinterpret_steal<py::object>(PyWeakref_NewRef(wrapper.ptr(), nullptr));
  if (!weak) throw py::error_already_set();
  wrappers()[handle.object.get()] = std::move(weak);
}

py::attribute_error noAttribute(const c10::Type& type, const std::string& name) {
  return py::attribute_error(
      "'" + type.annotation_str() + "' object has no attribute '" + name + "': " + type.repr_str() +
      " does not have a field with name '" + name + "'");
}

/// Under the limits of the object's program, as results of calls are converted.
py::object getAttribute(const ObjectHandle& self, const std::string& name) {
  auto type = self.object->type();
  if (auto slot = type->findAttributeSlot(name)) {
    IValue value = readSlot(*self.object, *slot);
    if (!value.isTuple() && !value.isList() && !value.isGenericDict())
      return toPyObject(std::move(value), type->getAttribute(*slot));
    const std::shared_ptr<Program> program = programOf(*type);
    const CallLimits limits(program ? program->rules().limits : Limits());
    try {
      if (RunBudget::current()) requireShallow(value, "converting an attribute to Python");
      return toPyObject(std::move(value), type->getAttribute(*slot));
    } catch (const ScriptRaise& error) {
      throw ScriptError(error.what(), error.pythonClass(), {});
    }
  }
  if (auto constant = type->findConstant(name)) return toPyObject(*constant);
  throw noAttribute(*type, name);
}

void setAttribute(const ObjectHandle& self, const std::string& name, const py::object& value) {
  auto type = self.object->type();
  auto slot = type->findAttributeSlot(name);
  if (!slot) {
    if (type->hasConstant(name)) {
      throw UserError(
          "Cannot mutate TorchScript constant value: '" + name + "'. Value: '" + shortRepr(value.ptr()) +
          "'. Can't set constant '" + name +
          "' which has value:" + shortRepr(toPyObject(*type->findConstant(name)).ptr()));
    }
    throw noAttribute(*type, name);
  }
  const TypePtr& wanted = type->getAttribute(*slot);
  if (value.is_none() && wanted->kind() == c10::TypeKind::TensorType) {
    throw UserError(
        "Could not cast attribute '" + name + "' to type Tensor: it can't be None; declare it as Optional[Tensor]");
  }
  IValue converted;
  try {
    converted = toIValue(value.ptr(), wanted);
  } catch (const CastError& error) {
    std::string message = messages::attributeCast(name, *wanted, error.what());
    if (const ObjectPtr found = unwrapObject(value.ptr())) {
      message += ". Expected a value of type '" + wanted->repr_str() + "' for field '" + name + "', but found '" +
                 found->type()->repr_str() + "'";
    }
    throw UserError(message);
  }
  writeSlot(*self.object, *slot, std::move(converted));
}

bool isModuleValue(const IValue& value) {
  return value.isObject() && value.toObject()->type()->is_module();
}

/// Names of the slots that `wanted(type, slot, value)` picks, in order of declaration.
template <typename Wanted>
std::vector<std::string> slotNames(const ObjectHandle& self, const Wanted& wanted) {
  std::vector<std::string> result;
  auto type = self.object->type();
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    if (wanted(*type, slot, readSlot(*self.object, slot))) result.push_back(type->getAttributeName(slot));
  }
  return result;
}

/// The attributes of one kind, by number: what the dict-like views in Python call.
bool isOfKind(const c10::ClassType& type, size_t slot, const IValue& value, const std::string& kind) {
  if (kind == "modules") return isModuleValue(value);
  if (!type.is_module()) return kind == "attributes";
  // A slot that may hold a tensor and holds None now is listed: nn.Module has such entries too, and skips them itself.
  bool tensor_like = value.isTensor() || value.isNone();
  if (kind == "parameters") return type.is_parameter(slot) && tensor_like;
  if (kind == "buffers") return type.is_buffer(slot) && tensor_like;
  return kind == "attributes";
}

std::optional<size_t> slotOfKind(const ObjectHandle& self, const std::string& name, const std::string& kind) {
  auto type = self.object->type();
  auto slot = type->findAttributeSlot(name);
  if (!slot || !isOfKind(*type, *slot, readSlot(*self.object, *slot), kind)) return std::nullopt;
  return slot;
}

py::object findMethod(const ObjectHandle& self, const std::string& name) {
  auto* function = dynamic_cast<Function*>(self.object->type()->findMethod(name));
  if (!function) return py::none();
  return makeMethod(self.object, *function);
}

py::object attributeOrMethod(const ObjectHandle& self, const std::string& name) {
  const auto type = self.object->type();
  if (const auto slot = type->findAttributeSlot(name)) {
    const IValue value = readSlot(*self.object, *slot);
    if (value.isObject()) return py::cast(ObjectHandle{value.toObject()});
  }
  if (type->findMethod(name)) return findMethod(self, name);
  return getAttribute(self, name);
}

py::list hooksOf(const ObjectHandle& self, bool pre) {
  const auto type = self.object->type();
  py::list result;
  for (torch::jit::Function* hook : pre ? type->getForwardPreHooks() : type->getForwardHooks()) {
    if (auto* ours = dynamic_cast<Function*>(hook))
      result.append(makeFunction(ours->program().shared_from_this(), *ours));
  }
  return result;
}

py::list namesOfMethods(const ObjectHandle& self) {
  py::list names;
  for (auto* function : self.object->type()->methods()) names.append(function->name());
  return names;
}

py::object readProperty(const ObjectHandle& self, const std::string& name) {
  auto property = self.object->type()->getProperty(name);
  auto* getter = property ? dynamic_cast<Function*>(property->getter) : nullptr;
  if (!getter) throw py::attribute_error("no property '" + name + "'");
  return makeMethod(self.object, *getter)();
}

void writeProperty(const ObjectHandle& self, const std::string& name, const py::object& value) {
  auto property = self.object->type()->getProperty(name);
  auto* setter = property ? dynamic_cast<Function*>(property->setter) : nullptr;
  if (!setter) throw py::attribute_error("can't set property '" + name + "'");
  makeMethod(self.object, *setter)(value);
}

std::string shortClassName(const ObjectHandle& self) {
  auto type = self.object->type();
  return type->name() ? type->name()->name() : std::string();
}

}  // namespace

py::object weakReference(py::handle object, std::function<void()> at_end) {
  const py::cpp_function callback([at_end = std::move(at_end)](py::handle) { at_end(); });
  py::object weak = py::reinterpret_steal<py::object>(PyWeakref_NewRef(object.ptr(), callback.ptr()));
  if (!weak) throw py::error_already_set();
  return weak;
}

py::object strongReference(const py::object& weak) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(weak.ptr(), &object) < 0) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
#else
  PyObject* object = PyWeakref_GetObject(weak.ptr());
  return object == Py_None ? py::object() : py::reinterpret_borrow<py::object>(object);
#endif
}

py::object wrapObject(const ObjectPtr& object) {
  WeakTable& table = wrappers();
  if (auto it = table.find(object.get()); it != table.end()) {
    if (py::object alive = strongReference(it->second)) return alive;
  }
  if (!programOf(*object->type())) return giveForeignObject(object);
  if (!wrapper_factory) throw UserError("The package cresset is not imported");
  return py::reinterpret_borrow<py::object>(wrapper_factory)(ObjectHandle{object});
}

ObjectPtr unwrapObject(PyObject* object) {
  if (isForeignObject(object)) return takeForeignObject(object);
  if (py::isinstance<ObjectHandle>(py::handle(object))) return py::cast<ObjectHandle&>(py::handle(object)).object;
  if (!wrapper_classes) return {};
  int wrapped = PyObject_IsInstance(object, wrapper_classes);
  if (wrapped < 0) throw py::error_already_set();
  if (!wrapped) return {};
  py::object handle = py::handle(object).attr("_c");
  return py::cast<ObjectHandle&>(handle).object;
}

/// Methods of script objects, and what makes modules of modules.
static void bindMethods(py::class_<ObjectHandle>& object_class) {
  object_class.def("method", findMethod)
      .def("hooks", hooksOf, py::arg("pre"), "The forward hooks, or pre-hooks, that the module was compiled with.")
      .def("method_names", namesOfMethods)
      // What programs reach for in torch.jit's `module._c`.
      .def("_method_names", namesOfMethods)
      .def("_type", [](const ObjectHandle& self) { return typeToPython(self.object->type()); })
      .def(
          "_has_method", [](const ObjectHandle& self,
                            const std::string& name) { return self.object->type()->findMethod(name) != nullptr; })
      .def(
          "_get_method",
          [](const ObjectHandle& self, const std::string& name) {
            py::object method = findMethod(self, name);
            if (method.is_none()) throw py::attribute_error("Method '" + name + "' is not defined.");
            return method;
          })
      .def(
          "__call__",
          [](const ObjectHandle& self, const py::args& args, const py::kwargs& kwargs) {
            const py::object forward = findMethod(self, "forward");
            if (forward.is_none()) throw py::attribute_error("Method 'forward' is not defined.");
            return py::object(forward(*args, **kwargs));
          })
      .def(
          "clone",
          [](const ObjectHandle& self, const std::unordered_set<std::string>& ignored_methods,
             const std::unordered_set<std::string>& ignored_attributes) {
            return ObjectHandle{
                Module(self.object).clone(/*inplace=*/false, ignored_methods, ignored_attributes)._ivalue()};
          },
          py::arg("ignored_methods"), py::arg("ignored_attributes"), py::call_guard<py::gil_scoped_release>(),
          "A module of a class of its own, with copies of the attributes; without the methods and attributes of these "
          "names, in it and in all below it.")
      .def("copy", [](const ObjectHandle& self) { return ObjectHandle{Module(self.object).copy()._ivalue()}; })
      .def(
          "deepcopy", [](const ObjectHandle& self) { return ObjectHandle{deepCopy(self.object).toObject()}; },
          py::call_guard<py::gil_scoped_release>(),
          "As copy.deepcopy: by __getstate__ and __setstate__ if it has them.")
      .def(
          "define", [](const ObjectHandle& self, const std::string& source) { Module(self.object).define(source); },
          py::call_guard<py::gil_scoped_release>())
      .def(
          "dump_to_str",
          [](const ObjectHandle& self, bool code, bool attributes, bool parameters) {
            return Module(self.object).dump_to_str(code, attributes, parameters);
          },
          py::call_guard<py::gil_scoped_release>());
}

void bindObjects(py::module_& module) {
  module.def("_set_wrappers", [](py::object factory, py::object classes) {
    wrapper_factory = factory.release().ptr();
    wrapper_classes = classes.release().ptr();
  });
  module.def("_register_wrapper", registerWrapper);
  module.def(
      "_object_of",
      [](const py::object& instance) {
        try {
          return ObjectHandle{toInferredIValue(instance.ptr()).toObject()};
        } catch (const CastError& error) {
          throw UserError(error.what());
        }
      },
      "A script object with a copy of the attributes of a Python object, whose class scripts know.");
  py::class_<ObjectHandle> object_class(module, "_Object", py::module_local());
  object_class
      .def(
          "__repr__",
          [](const ObjectHandle& self) { return "ScriptObject <" + self.object->type()->annotation_str() + ">"; })
      .def("is_module", [](const ObjectHandle& self) { return self.object->type()->is_module(); })
      .def("class_name", shortClassName)
      .def_property_readonly(
          "qualified_name", [](const ObjectHandle& self) { return self.object->type()->annotation_str(); })
      .def("class_id", [](const ObjectHandle& self) { return reinterpret_cast<uintptr_t>(self.object->type().get()); })
      .def("id", [](const ObjectHandle& self) { return reinterpret_cast<uintptr_t>(self.object.get()); })
      .def("type", [](const ObjectHandle& self) { return typeToPython(self.object->type()); })
      .def(
          "hasattr",
          [](const ObjectHandle& self, const std::string& name) {
            return self.object->type()->hasAttribute(name) || self.object->type()->hasConstant(name);
          })
      .def(
          "has_slot",
          [](const ObjectHandle& self, const std::string& name) { return self.object->type()->hasAttribute(name); })
      .def(
          "has_constant",
          [](const ObjectHandle& self, const std::string& name) { return self.object->type()->hasConstant(name); })
      .def(
          "attribute_type",
          [](const ObjectHandle& self, const std::string& name) {
            return typeToPython(self.object->type()->getAttribute(name));
          })
      .def("getattr", getAttribute)
      .def(
          "__getattr__", attributeOrMethod,
          "Attributes, submodules and methods by their names, as of torch.jit's `module._c`.")
      .def("setattr", setAttribute)
      .def(
          "has_property", [](const ObjectHandle& self,
                             const std::string& name) { return self.object->type()->getProperty(name).has_value(); })
      .def(
          "property_names",
          [](const ObjectHandle& self) {
            py::list names;
            for (const auto& property : self.object->type()->properties()) names.append(property.name);
            return names;
          })
      .def("get_property", readProperty)
      .def("set_property", writeProperty)
      .def(
          "constant_names",
          [](const ObjectHandle& self) {
            py::list names;
            for (const auto& name : self.object->type()->constantNames()) names.append(name);
            return names;
          })
      .def(
          "names",
          [](const ObjectHandle& self, const std::string& kind) {
            py::list result;
            for (const auto& name : slotNames(self, [&](const c10::ClassType&type, size_t slot, const IValue&value) {
                   return isOfKind(type, slot, value, kind);
                 })) {
              result.append(name);
            }
            return result;
          },
          "The names of the 'parameters', 'buffers', 'modules' or all 'attributes'.")
      .def(
          "has", [](const ObjectHandle& self, const std::string& name,
                    const std::string& kind) { return slotOfKind(self, name, kind).has_value(); })
      .def(
          "is_parameter",
          [](const ObjectHandle& self, const std::string& name) {
            auto type = self.object->type();
            auto slot = type->findAttributeSlot(name);
            return slot && type->is_module() && type->is_parameter(*slot);
          })
      .def(
          "_register_attribute",
          [](const ObjectHandle& self, const std::string& name, const py::object& type, const py::object& value) {
            const TypePtr wanted = typeFromPython(type);
            try {
              Module(self.object).register_attribute(name, wanted, toIValue(value.ptr(), wanted));
            } catch (const CastError& error) {
              throw UserError(messages::attributeCast(name, *wanted, error.what()));
            }
          });
  bindMethods(object_class);
}

}  // namespace cresset::python
