// Types and schemas as Python sees them.
#include <torch/csrc/DynamicTypes.h>

#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/schema_text.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/policy.h"
#include "cresset/python/graph_handles.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

py::object dtypeToPython(c10::ScalarType dtype) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(torch::getTHPDtype(dtype)));
}

namespace {

struct ArgumentHandle {
  c10::Argument argument;
};

/// `self` as a kind of type that has what `what` names. Throws AttributeError otherwise, so that hasattr tells.
template <typename T>
T& as(const TypeHandle& self, const char* what) {
  if (T* type = dynamic_cast<T*>(self.type.get())) return *type;
  throw py::attribute_error("a type '" + cresset::toString(*self.type) + "' has no '" + what + "'");
}

py::list typesToPython(c10::ArrayRef<TypePtr> types) {
  py::list result;
  for (const TypePtr& type : types) result.append(typeToPython(type));
  return result;
}

template <typename T>
py::object orNone(const std::optional<T>& value) {
  return value ? py::cast(*value) : py::object(py::none());
}

/// Sizes or strides: a list with None for what isn't known, or None if not even their number is.
py::object dimensionsToPython(const std::optional<std::vector<std::optional<int64_t>>>& dimensions) {
  if (!dimensions) return py::none();
  py::list result;
  for (const auto& size : *dimensions) result.append(orNone(size));
  return result;
}

/// torch._C's class of the types of this kind, where it has one.
py::object classOfKind(const TypeHandle& self) {
  const py::module_ torch_c = py::module_::import("torch._C");
  const char* name = c10::typeKindToString(self.type->kind());
  return py::hasattr(torch_c, name) ? py::object(torch_c.attr(name)) : py::object(py::type::of<TypeHandle>());
}

void bindTensorTypes(py::class_<TypeHandle>& type) {
  using c10::TensorType;
  type.def(
          "dim", [](const TypeHandle& self) { return orNone(as<TensorType>(self, "dim").dim()); },
          "Of a Tensor: the number of dimensions; None if it isn't known.")
      .def(
          "sizes",
          [](const TypeHandle& self) -> py::object {
            const auto sizes = as<TensorType>(self, "sizes").sizes().concrete_sizes();
            return sizes ? py::cast(*sizes) : py::object(py::none());
          },
          "Of a Tensor: the sizes; None unless all are known.")
      .def(
          "varyingSizes",
          [](const TypeHandle& self) {
            return dimensionsToPython(as<TensorType>(self, "varyingSizes").sizes().sizes());
          },
          "Of a Tensor: the sizes, None for those that aren't known; None if their number isn't.")
      .def(
          "symbolic_sizes",
          [](const TypeHandle& self) -> py::object {
            const auto sizes = as<TensorType>(self, "symbolic_sizes").symbolic_sizes().sizes();
            if (!sizes) return py::none();
            py::list result;
            for (const c10::ShapeSymbol& size : *sizes) result.append(size.value());
            return result;
          },
          "Of a Tensor: the sizes, a negative number for each that isn't known: the same one for sizes that are equal. "
          "None if their number isn't known.")
      .def(
          "strides",
          [](const TypeHandle& self) -> py::object {
            const auto strides = as<TensorType>(self, "strides").strides().concrete_sizes();
            return strides ? py::cast(*strides) : py::object(py::none());
          },
          "Of a Tensor: the strides; None unless all are known.")
      .def(
          "scalarType",
          [](const TypeHandle& self) -> py::object {
            const auto dtype = as<TensorType>(self, "scalarType").scalarType();
            return dtype ? py::object(py::str(c10::toString(*dtype))) : py::object(py::none());
          },
          "Of a Tensor: the name of its dtype as the IR writes it ('Float'); None if it isn't known.")
      .def(
          "dtype",
          [](const TypeHandle& self) {
            const auto dtype = as<TensorType>(self, "dtype").scalarType();
            return dtype ? dtypeToPython(*dtype) : py::object(py::none());
          },
          "Of a Tensor: its dtype; None if it isn't known.")
      .def(
          "device",
          [](const TypeHandle& self) {
            const auto device = as<TensorType>(self, "device").device();
            return device ? toPyObject(IValue(*device)) : py::object(py::none());
          },
          "Of a Tensor: its device; None if it isn't known.")
      .def(
          "requires_grad",
          [](const TypeHandle& self) { return orNone(as<TensorType>(self, "requires_grad").requiresGrad()); },
          "Of a Tensor: whether it requires a gradient; None if that isn't known.")
      .def("undefined", [](const TypeHandle& self) { return orNone(as<TensorType>(self, "undefined").undefined()); })
      .def(
          "with_dtype",
          [](const TypeHandle& self, const py::object& dtype) {
            if (!THPDtype_Check(dtype.ptr())) throw py::type_error("with_dtype takes a torch.dtype");
            return typeToPython(as<TensorType>(self, "with_dtype")
                                    .withScalarType(reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type));
          },
          "The type with this dtype.")
      .def(
          "with_device",
          [](const TypeHandle& self, const py::object& device) {
            return typeToPython(as<TensorType>(self, "with_device")
                                    .withDevice(toIValue(device.ptr(), c10::DeviceObjType::get()).toDevice()));
          },
          "The type on this device.")
      .def(
          "with_sizes",
          [](const TypeHandle& self, const std::vector<std::optional<int64_t>>& sizes) {
            return typeToPython(as<TensorType>(self, "with_sizes").withSymbolicShapes(c10::SymbolicShape(sizes)));
          },
          "The type with these sizes; None where one isn't known.")
      .def(
          "contiguous",
          [](const TypeHandle& self) { return typeToPython(as<TensorType>(self, "contiguous").contiguous()); },
          "The type with the strides of a contiguous tensor.");
}

void bindStructuredTypes(py::class_<TypeHandle>& type) {
  type.def(
          "containedTypes", [](const TypeHandle& self) { return typesToPython(self.type->containedTypes()); },
          "The types that this one is made of.")
      .def(
          "getElementType",
          [](const TypeHandle& self) {
            if (auto optional = self.type->cast<c10::OptionalType>()) return typeToPython(optional->getElementType());
            if (auto future = self.type->cast<c10::FutureType>()) return typeToPython(future->getElementType());
            return typeToPython(as<c10::ListType>(self, "getElementType").getElementType());
          },
          "Of a List, Optional or Future: the type of what it holds.")
      .def(
          "getKeyType",
          [](const TypeHandle& self) { return typeToPython(as<c10::DictType>(self, "getKeyType").getKeyType()); })
      .def(
          "getValueType",
          [](const TypeHandle& self) { return typeToPython(as<c10::DictType>(self, "getValueType").getValueType()); })
      .def(
          "elements",
          [](const TypeHandle& self) { return typesToPython(as<c10::TupleType>(self, "elements").elements()); },
          "Of a Tuple: the types of its elements.")
      .def(
          "name",
          [](const TypeHandle& self) {
            const auto& name = as<c10::NamedType>(self, "name").name();
            return name ? py::object(py::str(name->name())) : py::object(py::none());
          },
          "Of a class, enum, interface or NamedTuple: its name.")
      .def(
          "qualified_name",
          [](const TypeHandle& self) {
            const auto& name = as<c10::NamedType>(self, "qualified_name").name();
            return name ? py::object(py::str(name->qualifiedName())) : py::object(py::none());
          })
      .def(
          "method_names",
          [](const TypeHandle& self) {
            py::list result;
            for (const auto* method : as<c10::ClassType>(self, "method_names").methods()) result.append(method->name());
            return result;
          })
      .def("is_interface_type", [](const TypeHandle& self) {
        return self.type->castRaw<c10::InterfaceType>() != nullptr;
      });
}

py::set namesOfSets(const std::unordered_set<c10::Symbol>& sets) {
  py::set names;
  for (c10::Symbol set : sets) names.add(py::str(set.toUnqualString()));
  return names;
}

TypePtr makeType(const std::string& kind, const std::vector<TypePtr>& parts) {
  if (kind == "TupleType") return c10::TupleType::create(parts);
  if (kind == "UnionType") return c10::UnionType::create(parts);
  if (kind == "DictType" && parts.size() == 2) return c10::DictType::create(parts[0], parts[1]);
  if (parts.size() == 1) {
    if (kind == "ListType") return c10::ListType::create(parts[0]);
    if (kind == "OptionalType") return c10::OptionalType::create(parts[0]);
    if (kind == "FutureType") return c10::FutureType::create(parts[0]);
    if (kind == "AwaitType") return c10::AwaitType::create(parts[0]);
    if (kind == "RRefType") return c10::RRefType::create(parts[0]);
  }
  throw py::type_error(kind + "() can't be made of " + std::to_string(parts.size()) + " types");
}

void bindSchemas(py::module_& module) {
  py::class_<c10::AliasInfo>(module, "AliasInfo", py::module_local(), "What a schema says of an argument's memory.")
      .def_property_readonly("is_write", [](const c10::AliasInfo& self) { return self.isWrite(); })
      .def_property_readonly("before_set", [](const c10::AliasInfo& self) { return namesOfSets(self.beforeSets()); })
      .def_property_readonly("after_set", [](const c10::AliasInfo& self) { return namesOfSets(self.afterSets()); });
  py::class_<ArgumentHandle>(module, "Argument", py::module_local())
      .def_property_readonly("name", [](const ArgumentHandle& self) { return self.argument.name(); })
      .def_property_readonly("type", [](const ArgumentHandle& self) { return typeToPython(self.argument.type()); })
      .def_property_readonly(
          "real_type", [](const ArgumentHandle& self) { return typeToPython(self.argument.real_type()); })
      .def_property_readonly("N", [](const ArgumentHandle& self) { return orNone(self.argument.N()); })
      .def_property_readonly(
          "default_value",
          [](const ArgumentHandle& self) -> py::object {
            return self.argument.default_value() ? toPyObject(*self.argument.default_value(), self.argument.type())
                                                 : py::object(py::none());
          })
      .def("has_default_value", [](const ArgumentHandle& self) { return self.argument.default_value().has_value(); })
      .def_property_readonly("kwarg_only", [](const ArgumentHandle& self) { return self.argument.kwarg_only(); })
      .def_property_readonly("is_out", [](const ArgumentHandle& self) { return self.argument.is_out(); })
      .def_property_readonly(
          "alias_info",
          [](const ArgumentHandle& self) -> py::object {
            const c10::AliasInfo* info = self.argument.alias_info();
            return info ? py::cast(*info) : py::object(py::none());
          })
      .def_property_readonly("is_write", [](const ArgumentHandle& self) { return isWritten(self.argument); })
      .def("__repr__", [](const ArgumentHandle& self) { return argumentText(self.argument); });

  py::class_<SchemaHandle>(module, "FunctionSchema", py::module_local(), "A function's name, arguments and results.")
      .def_property_readonly("name", [](const SchemaHandle& self) { return self.schema.name(); })
      .def_property_readonly("overload_name", [](const SchemaHandle& self) { return self.schema.overload_name(); })
      .def_property_readonly(
          "arguments",
          [](const SchemaHandle& self) {
            py::list result;
            for (const auto& argument : self.schema.arguments()) result.append(py::cast(ArgumentHandle{argument}));
            return result;
          })
      .def_property_readonly(
          "returns",
          [](const SchemaHandle& self) {
            py::list result;
            for (const auto& argument : self.schema.returns()) result.append(py::cast(ArgumentHandle{argument}));
            return result;
          })
      .def_property_readonly("is_vararg", [](const SchemaHandle& self) { return self.schema.is_vararg(); })
      .def_property_readonly("is_mutable", [](const SchemaHandle& self) { return self.schema.is_mutable(); })
      .def(
          "is_backward_compatible_with",
          [](const SchemaHandle& self, const SchemaHandle& old) {
            return self.schema.isBackwardCompatibleWith(old.schema);
          })
      .def(
          "check_forward_compatible_with",
          [](const SchemaHandle& self, const SchemaHandle& old) {
            std::ostringstream why;
            const bool fits = self.schema.isForwardCompatibleWith(old.schema, why);
            return std::make_pair(fits, why.str());
          })
      .def(
          "__eq__", [](const SchemaHandle& self, const SchemaHandle& other) { return self.schema == other.schema; },
          py::is_operator())
      .def("__hash__", [](const SchemaHandle& self) { return std::hash<std::string>()(schemaText(self.schema)); })
      .def("__str__", [](const SchemaHandle& self) { return schemaText(self.schema); })
      .def("__repr__", [](const SchemaHandle& self) { return schemaText(self.schema); });

  module.def("_get_all_schemas", [] {
    py::list result;
    for (const Operator* op : OperatorTable::get().all()) result.append(schemaToPython(op->schema()));
    return result;
  });
  module.def(
      "_is_restricted",
      [](const std::string& full_name) {
        const Operator* op = OperatorTable::get().find(full_name);
        return op && op->restriction() != Restriction::None;
      },
      py::arg("full_name"), "Whether untrusted programs may not call the operator.");
  module.def(
      "_restriction",
      [](const std::string& full_name) {
        const Operator* op = OperatorTable::get().find(full_name);
        return op ? std::string(reasonOf(op->restriction())) : std::string();
      },
      py::arg("full_name"), "Why untrusted programs may not call the operator; empty if they may.");
  module.def(
      "_has_argument_check",
      [](const std::string& full_name) {
        const Operator* op = OperatorTable::get().find(full_name);
        return op && op->argumentCheck();
      },
      py::arg("full_name"), "Whether Cresset checks the operator's arguments before its kernel sees them.");
  module.def(
      "parse_schema", [](const std::string& text) { return schemaToPython(parseSchema(text)); }, py::arg("text"),
      "The FunctionSchema that a text like 'aten::add(Tensor a, Tensor b) -> Tensor' says.");
  module.def(
      "_make_type",
      [](const std::string& kind, const std::vector<py::object>& parts) {
        std::vector<TypePtr> types;
        for (const py::object& part : parts) types.push_back(typeFromPython(part));
        return typeToPython(makeType(kind, types));
      },
      py::arg("kind"), py::arg("parts"), "The Type that torch._C's class `kind` makes of other types.");
  module.def(
      "_assert_is_instance",
      [](const py::object& value, const py::object& type) { toIValue(value.ptr(), typeFromPython(type)); },
      py::arg("value"), py::arg("type"), "Raises if an argument of this type can't have the value.");
  module.def(
      "parse_type", [](const std::string& text) { return typeToPython(parseType(text)); }, py::arg("text"),
      "The Type that a text like 'Dict(str, int[])' or 'Float(2, *)' says.");
}

}  // namespace

py::object typeToPython(const TypePtr& type) {
  return py::cast(TypeHandle{type});
}
TypePtr typeFromPython(py::handle type) {
  if (py::isinstance<TypeHandle>(type)) return py::cast<const TypeHandle&>(type).type;
  // torch's own: torch._C.IntType.get(), torch._C.ListType(element).
  static const py::handle theirs = known("torch._C", "Type");
  if (!py::isinstance(type, theirs)) {
    throw py::type_error(
        "expected a cresset.Type or a torch._C.Type, got " + std::string(Py_TYPE(type.ptr())->tp_name));
  }
  const std::string text = py::cast<std::string>(type.attr("str")());
  try {
    return parseType(text);
  } catch (const UserError& error) {
    throw py::type_error("the type '" + text + "' of torch.jit is none of Cresset's: " + error.message());
  }
}
py::object schemaToPython(const c10::FunctionSchema& schema) {
  return py::cast(SchemaHandle{schema});
}

void bindTypes(py::module_& module) {
  py::class_<TypeHandle> type(module, "Type", py::module_local(), "A type of TorchScript.");
  type.def("__str__", [](const TypeHandle& self) { return self.type->annotation_str(); })
      .def("__repr__", [](const TypeHandle& self) { return self.type->annotation_str(); })
      .def(
          "str", [](const TypeHandle& self) { return cresset::toString(*self.type); },
          "As the IR writes it: 'int[]', 'Float(2, 3)'.")
      .def_property_readonly("annotation_str", [](const TypeHandle& self) { return self.type->annotation_str(); })
      .def("kind", [](const TypeHandle& self) { return std::string(c10::typeKindToString(self.type->kind())); })
      .def(
          "isSubtypeOf",
          [](const TypeHandle& self, const py::object& other) {
            return self.type->isSubtypeOf(*typeFromPython(other));
          },
          "Whether each value of this type is one of `other`, a cresset.Type or a torch._C.Type.")
      .def(
          "__eq__",
          [](const TypeHandle& self, const py::object& other) {
            if (py::isinstance<TypeHandle>(other)) return *self.type == *py::cast<const TypeHandle&>(other).type;
            try {
              return *self.type == *typeFromPython(other);
            } catch (const py::type_error&) {
              return false;  // a class type of torch.jit, or no type
            }
          },
          py::is_operator())
      .def("__hash__", [](const TypeHandle& self) { return std::hash<std::string>()(cresset::toString(*self.type)); });
  // isinstance(type, torch._C.ListType) asks for it. An attribute of the class object of that name is its own class, so
  // the property goes into the dictionary of what instances have.
  auto* const type_object = reinterpret_cast<PyTypeObject*>(type.ptr());
  const py::object property = py::module_::import("builtins").attr("property")(py::cpp_function(&classOfKind));
  if (PyDict_SetItemString(type_object->tp_dict, "__class__", property.ptr()) != 0) throw py::error_already_set();
  PyType_Modified(type_object);
  bindTensorTypes(type);
  bindStructuredTypes(type);
  bindSchemas(module);
}

}  // namespace cresset::python
