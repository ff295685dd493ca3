// Attributes of nodes: read and set under torch.jit's short names, `node.i("value")`, `node.s_("name", "x")`.
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include "cresset/python/graph_handles.h"

namespace cresset::python {

namespace {

using Kind = Attribute::Kind;

constexpr std::pair<Kind, const char*> kKinds[] = {
    {Kind::Int, "i"},        {Kind::Float, "f"},    {Kind::Complex, "c"},  {Kind::String, "s"},  {Kind::Tensor, "t"},
    {Kind::Graph, "g"},      {Kind::Type, "ty"},    {Kind::Value, "ival"}, {Kind::Ints, "is"},   {Kind::Floats, "fs"},
    {Kind::Complexes, "cs"}, {Kind::Strings, "ss"}, {Kind::Tensors, "ts"}, {Kind::Graphs, "gs"}, {Kind::Types, "tys"},
};

template <typename T, typename Convert>
py::list listOf(const std::vector<T>& values, Convert convert) {
  py::list result;
  for (const T& value : values) result.append(convert(value));
  return result;
}

template <typename T, typename Convert>
std::vector<T> vectorOf(const py::object& values, Convert convert) {
  std::vector<T> result;
  for (py::handle value : values) result.push_back(convert(value));
  return result;
}

at::Tensor tensorOf(py::handle value) {
  if (!THPVariable_Check(value.ptr())) throw py::type_error("expected a Tensor, got " + typeName(value.ptr()));
  return THPVariable_Unpack(value.ptr());
}
std::complex<double> complexOf(py::handle value) {
  return py::cast<std::complex<double>>(value);
}
/// The attribute is a copy: a node owns the graphs that it holds.
std::shared_ptr<Graph> graphOf(py::handle value) {
  return py::cast<const GraphHandle&>(value).graph->copy();
}

/// Constants other than the primitive ones have the kind "ival", but ival_ takes any.
Attribute anyValue(const py::object& value) {
  const IValue converted = toInferredIValue(value.ptr());
  if (converted.isBool() || converted.isInt())
    return Attribute(converted.isInt() ? converted.toInt() : converted.toBool());
  if (converted.isDouble()) return Attribute(converted.toDouble());
  if (converted.isComplexDouble()) return Attribute(std::complex<double>(converted.toComplexDouble()));
  if (converted.isString()) return Attribute(converted.toStringRef());
  if (converted.isTensor()) return Attribute(converted.toTensor());
  return Attribute(converted);
}

/// Of a mutable value, a copy: the graph stays as it is, whatever is done to what was read.
py::object valueOf(const NodeHandle& self, const std::string& name, const char* kind) {
  const Attribute& attribute = self->attribute(c10::Symbol::attr(name));
  if (kind && std::string_view(kind) != kindName(attribute.kind()))
    throw UserError("Attribute '" + name + "' is of kind '" + kindName(attribute.kind()) + "', not '" + kind + "'.");
  return attributeToPython(attribute);
}

}  // namespace

const char* kindName(Kind kind) {
  for (const auto& [row, name] : kKinds)
    if (row == kind) return name;
  return "";
}

py::object attributeToPython(const Attribute& attribute) {
  switch (attribute.kind()) {
    case Kind::Int:
      return py::int_(attribute.asInt());
    case Kind::Float:
      return py::float_(attribute.asFloat());
    case Kind::Complex:
      return py::cast(attribute.asComplex());
    case Kind::String:
      return py::str(attribute.asString());
    case Kind::Tensor:
      return toPyObject(IValue(attribute.asTensor()));
    case Kind::Graph:
      return graphToPython(attribute.asGraph()->copy());
    case Kind::Type:
      return typeToPython(attribute.asType());
    case Kind::Value:
      return toPyObject(attribute.asValue().deepcopy());
    case Kind::Ints:
      return py::cast(attribute.asInts());
    case Kind::Floats:
      return py::cast(attribute.asFloats());
    case Kind::Complexes:
      return listOf(attribute.asComplexes(), [](std::complex<double> number) { return py::cast(number); });
    case Kind::Strings:
      return py::cast(attribute.asStrings());
    case Kind::Tensors:
      return listOf(attribute.asTensors(), [](const at::Tensor& tensor) { return toPyObject(IValue(tensor)); });
    case Kind::Graphs:
      return listOf(attribute.asGraphs(), [](const auto& graph) { return graphToPython(graph->copy()); });
    case Kind::Types:
      return listOf(attribute.asTypes(), typeToPython);
  }
  throw InternalError("an attribute of no known kind");
}

Attribute attributeFromPython(const std::string& kind, const py::object& value) {
  if (kind == "i") return py::cast<int64_t>(value);
  if (kind == "f") return py::cast<double>(value);
  if (kind == "c") return complexOf(value);
  if (kind == "s") return py::cast<std::string>(value);
  if (kind == "t") return tensorOf(value);
  if (kind == "g") return graphOf(value);
  if (kind == "ty") return typeFromPython(value);
  if (kind == "ival") return anyValue(value);
  if (kind == "is") return py::cast<std::vector<int64_t>>(value);
  if (kind == "fs") return py::cast<std::vector<double>>(value);
  if (kind == "cs") return vectorOf<std::complex<double>>(value, complexOf);
  if (kind == "ss") return py::cast<std::vector<std::string>>(value);
  if (kind == "ts") return vectorOf<at::Tensor>(value, tensorOf);
  if (kind == "gs") return vectorOf<std::shared_ptr<Graph>>(value, graphOf);
  if (kind == "tys") return vectorOf<TypePtr>(value, typeFromPython);
  throw InternalError("no kind of attribute is called '" + kind + "'");
}

void bindAttributes(NodeClass& node) {
  node.def(
          "attributeNames",
          [](const NodeHandle& self) {
            py::list result;
            for (const auto& entry : self->attributes()) result.append(std::string(entry.first.toUnqualString()));
            return result;
          })
      .def(
          "hasAttribute",
          [](const NodeHandle& self, const std::string& name) { return self->hasAttribute(c10::Symbol::attr(name)); })
      .def("hasAttributes", [](const NodeHandle& self) { return !self->attributes().empty(); })
      .def(
          "kindOf",
          [](const NodeHandle& self, const std::string& name) {
            return kindName(self->attribute(c10::Symbol::attr(name)).kind());
          },
          "The name of the method that reads the attribute: 'i' for an int, 'fs' for a list of floats.")
      .def(
          "attribute", [](const NodeHandle& self, const std::string& name) { return valueOf(self, name, nullptr); },
          "The value of an attribute, of whatever kind.")
      .def("__getitem__", [](const NodeHandle& self, const std::string& name) { return valueOf(self, name, nullptr); })
      .def(
          "removeAttribute",
          [](const NodeHandle& self, const std::string& name) {
            self->removeAttribute(c10::Symbol::attr(name));
            return self;
          })
      .def(
          "copyAttributes",
          [](const NodeHandle& self, const NodeHandle& from) {
            const auto attributes = from->attributes();
            for (const auto& [name, attribute] : std::vector(attributes.begin(), attributes.end()))
              self->setAttribute(name, attribute);
            return self;
          },
          "Sets every attribute that the other node has.");
  for (const auto& row : kKinds) {
    const char* kind = row.second;
    node.def(
        kind, [kind](const NodeHandle& self, const std::string& name) { return valueOf(self, name, kind); },
        "The value of an attribute of this kind; raises if it is of another.");
    node.def(
        (std::string(kind) + "_").c_str(),
        [kind](const NodeHandle& self, const std::string& name, const py::object& value) {
          self->setAttribute(c10::Symbol::attr(name), attributeFromPython(kind, value));
          return self;
        },
        "Sets an attribute of this kind; returns the node.");
  }
}

}  // namespace cresset::python
