// Graphs, types and schemas as Python sees them: to read and print, not to rewrite.
//
// Nodes and values are handles that keep their graph alive. Each access checks that what it points to was not erased.
#include "cresset/python/common.h"

#include <ATen/core/function_schema.h>

#include <sstream>

#include "cresset/ir/constants.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"

namespace cresset::python {

namespace {

struct TypeHandle {
  TypePtr type;
};
struct SchemaHandle {
  c10::FunctionSchema schema;
};
struct ArgumentHandle {
  c10::Argument argument;
};
struct GraphHandle {
  std::shared_ptr<Graph> graph;
};
template <typename T>
struct Handle {
  std::shared_ptr<Graph> graph;
  T* pointer;
  T* operator->() const {
    if (pointer->isErased()) throw UserError("This part of the graph was erased.");
    return pointer;
  }
};
using NodeHandle = Handle<Node>;
using ValueHandle = Handle<Value>;
using BlockHandle = Handle<Block>;

template <typename Range>
py::list valueList(const std::shared_ptr<Graph>& graph, const Range& range) {
  py::list result;
  for (Value* value : range) result.append(py::cast(ValueHandle{graph, value}));
  return result;
}

template <typename Range>
py::list nodeList(const std::shared_ptr<Graph>& graph, const Range& range) {
  py::list result;
  for (Node* node : range) result.append(py::cast(NodeHandle{graph, node}));
  return result;
}

/// All nodes below `block` of the kind, in program order. Recursion is over the nesting of blocks.
void collect(Block* block, c10::Symbol kind, bool recurse, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    if (node->kind() == kind) found.push_back(node);
    if (!recurse) continue;
    for (Block* inner : node->blocks()) collect(inner, kind, recurse, found);
  }
}

py::object attributeValue(const NodeHandle& self, const std::string& name) {
  const Attribute& attribute = self->attribute(c10::Symbol::attr(name));
  switch (attribute.kind()) {
    case Attribute::Kind::Int:
      return py::int_(attribute.asInt());
    case Attribute::Kind::Float:
      return py::float_(attribute.asFloat());
    case Attribute::Kind::String:
      return py::str(attribute.asString());
    case Attribute::Kind::Complex:
      return toPyObject(IValue(c10::complex<double>(attribute.asComplex())));
    case Attribute::Kind::Tensor:
      return toPyObject(IValue(attribute.asTensor()));
    case Attribute::Kind::Value:
      return toPyObject(attribute.asValue());
    case Attribute::Kind::Graph:
      return graphToPython(attribute.asGraph());
    case Attribute::Kind::Type:
      return typeToPython(attribute.asType());
    case Attribute::Kind::Ints:
      return toPyObject(IValue(attribute.asInts()));
    case Attribute::Kind::Floats:
      return toPyObject(IValue(attribute.asFloats()));
    case Attribute::Kind::Strings:
      return toPyObject(IValue(attribute.asStrings()));
    case Attribute::Kind::Tensors:
      return toPyObject(IValue(attribute.asTensors()));
    case Attribute::Kind::Complexes: {
      py::list result;
      for (const auto& number : attribute.asComplexes())
        result.append(toPyObject(IValue(c10::complex<double>(number))));
      return result;
    }
    case Attribute::Kind::Graphs: {
      py::list result;
      for (const auto& graph : attribute.asGraphs()) result.append(graphToPython(graph));
      return result;
    }
    case Attribute::Kind::Types: {
      py::list result;
      for (const auto& type : attribute.asTypes()) result.append(typeToPython(type));
      return result;
    }
  }
  return py::none();
}

void bindTypes(py::module_& module) {
  py::class_<TypeHandle>(module, "Type", py::module_local(), "A type of TorchScript.")
      .def("__str__", [](const TypeHandle& self) { return cresset::toString(*self.type); })
      .def("__repr__", [](const TypeHandle& self) { return cresset::toString(*self.type); })
      .def("str", [](const TypeHandle& self) { return cresset::toString(*self.type); })
      .def_property_readonly("annotation_str", [](const TypeHandle& self) { return self.type->annotation_str(); })
      .def("kind", [](const TypeHandle& self) { return std::string(c10::typeKindToString(self.type->kind())); })
      .def(
          "containedTypes",
          [](const TypeHandle& self) {
            py::list result;
            for (const TypePtr& type : self.type->containedTypes()) result.append(typeToPython(type));
            return result;
          })
      .def(
          "isSubtypeOf",
          [](const TypeHandle& self, const TypeHandle& other) { return self.type->isSubtypeOf(*other.type); })
      .def(
          "__eq__", [](const TypeHandle& self, const TypeHandle& other) { return *self.type == *other.type; },
          py::is_operator())
      .def("__hash__", [](const TypeHandle& self) { return std::hash<std::string>()(cresset::toString(*self.type)); });

  py::class_<ArgumentHandle>(module, "Argument", py::module_local())
      .def_property_readonly("name", [](const ArgumentHandle& self) { return self.argument.name(); })
      .def_property_readonly("type", [](const ArgumentHandle& self) { return typeToPython(self.argument.real_type()); })
      .def_property_readonly(
          "N",
          [](const ArgumentHandle& self) -> py::object {
            return self.argument.N() ? py::object(py::int_(*self.argument.N())) : py::object(py::none());
          })
      .def_property_readonly(
          "default_value",
          [](const ArgumentHandle& self) -> py::object {
            return self.argument.default_value() ? toPyObject(*self.argument.default_value(), self.argument.type())
                                                 : py::object(py::none());
          })
      .def("has_default_value", [](const ArgumentHandle& self) { return self.argument.default_value().has_value(); })
      .def_property_readonly("kwarg_only", [](const ArgumentHandle& self) { return self.argument.kwarg_only(); })
      .def_property_readonly("is_out", [](const ArgumentHandle& self) { return self.argument.is_out(); })
      .def("__repr__", [](const ArgumentHandle& self) {
        std::ostringstream text;
        text << self.argument;
        return text.str();
      });

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
          "__eq__", [](const SchemaHandle& self, const SchemaHandle& other) { return self.schema == other.schema; },
          py::is_operator())
      .def(
          "__str__",
          [](const SchemaHandle& self) {
            std::ostringstream text;
            text << self.schema;
            return text.str();
          })
      .def("__repr__", [](const SchemaHandle& self) {
        std::ostringstream text;
        text << self.schema;
        return text.str();
      });
}

template <typename T>
void bindIdentity(py::class_<Handle<T>>& type) {
  type.def(
          "__eq__", [](const Handle<T>& self, const Handle<T>& other) { return self.pointer == other.pointer; },
          py::is_operator())
      .def("__hash__", [](const Handle<T>& self) { return reinterpret_cast<uintptr_t>(self.pointer); })
      .def("isErased", [](const Handle<T>& self) { return self.pointer->isErased(); });
}

}  // namespace

py::object typeToPython(const TypePtr& type) {
  return py::cast(TypeHandle{type});
}
TypePtr typeFromPython(py::handle type) {
  return py::cast<const TypeHandle&>(type).type;
}
py::object schemaToPython(const c10::FunctionSchema& schema) {
  return py::cast(SchemaHandle{schema});
}
py::object graphToPython(const std::shared_ptr<Graph>& graph) {
  return py::cast(GraphHandle{graph});
}

void bindGraph(py::module_& module) {
  bindTypes(module);
  py::class_<ValueHandle> value(module, "Value", py::module_local());
  py::class_<NodeHandle> node(module, "Node", py::module_local());
  py::class_<BlockHandle> block(module, "Block", py::module_local());
  py::class_<GraphHandle> graph(module, "Graph", py::module_local(), "The body of a function.");
  bindIdentity(value);
  bindIdentity(node);
  bindIdentity(block);

  value.def("debugName", [](const ValueHandle& self) { return self->debugName(); })
      .def("unique", [](const ValueHandle& self) { return self->unique(); })
      .def("offset", [](const ValueHandle& self) { return self->offset(); })
      .def("type", [](const ValueHandle& self) { return typeToPython(self->type()); })
      .def(
          "node",
          [](const ValueHandle& self) {
            return NodeHandle{self.graph, self->node()};
          })
      .def(
          "uses",
          [](const ValueHandle& self) {
            py::list result;
            for (Use use : self->uses()) result.append(py::make_tuple(NodeHandle{self.graph, use.user}, use.offset));
            return result;
          },
          "Pairs of node and input number.")
      .def(
          "toIValue",
          [](const ValueHandle& self) -> py::object {
            auto constant = toIValue(self.operator->());
            return constant ? toPyObject(*constant, self->type()) : py::object(py::none());
          },
          "The value of a constant; None for anything else.")
      .def("__repr__", [](const ValueHandle& self) {
        return "%" + self->debugName() + " : " + cresset::toString(*self->type());
      });

  node.def("kind", [](const NodeHandle& self) { return std::string(self->kind().toQualString()); })
      .def("inputs", [](const NodeHandle& self) { return valueList(self.graph, self->inputs()); })
      .def("outputs", [](const NodeHandle& self) { return valueList(self.graph, self->outputs()); })
      .def(
          "input",
          [](const NodeHandle& self) {
            return ValueHandle{self.graph, self->input()};
          })
      .def(
          "output",
          [](const NodeHandle& self) {
            return ValueHandle{self.graph, self->output()};
          })
      .def(
          "blocks",
          [](const NodeHandle& self) {
            py::list result;
            for (Block* inner : self->blocks()) result.append(py::cast(BlockHandle{self.graph, inner}));
            return result;
          })
      .def(
          "attributeNames",
          [](const NodeHandle& self) {
            py::list result;
            for (const auto& entry : self->attributes()) result.append(std::string(entry.first.toUnqualString()));
            return result;
          })
      .def(
          "hasAttribute",
          [](const NodeHandle& self, const std::string& name) { return self->hasAttribute(c10::Symbol::attr(name)); })
      .def("attribute", attributeValue, "The value of an attribute.")
      .def("__getitem__", attributeValue)
      .def(
          "schema",
          [](const NodeHandle& self) -> py::object {
            const Operator* op = operatorOf(*self.operator->());
            return op ? schemaToPython(op->schema()) : py::object(py::none());
          },
          "The schema of the operator that the node calls; None for nodes that the IR itself defines.")
      .def(
          "sourceRange",
          [](const NodeHandle& self) { return self->sourceRange() ? self->sourceRange().highlight() : std::string(); })
      .def("__repr__", [](const NodeHandle& self) { return cresset::toString(*self.operator->()); });

  block.def("nodes", [](const BlockHandle& self) { return nodeList(self.graph, self->nodes()); })
      .def("inputs", [](const BlockHandle& self) { return valueList(self.graph, self->inputs()); })
      .def("outputs", [](const BlockHandle& self) { return valueList(self.graph, self->outputs()); });

  graph.def("nodes", [](const GraphHandle& self) { return nodeList(self.graph, self.graph->nodes()); })
      .def("inputs", [](const GraphHandle& self) { return valueList(self.graph, self.graph->inputs()); })
      .def("outputs", [](const GraphHandle& self) { return valueList(self.graph, self.graph->outputs()); })
      .def(
          "findAllNodes",
          [](const GraphHandle& self, const std::string& kind, bool recurse) {
            std::vector<Node*> found;
            collect(self.graph->block(), c10::Symbol::fromQualString(kind), recurse, found);
            return nodeList(self.graph, found);
          },
          py::arg("kind"), py::arg("recurse") = true)
      .def(
          "findNode",
          [](const GraphHandle& self, const std::string& kind, bool recurse) -> py::object {
            std::vector<Node*> found;
            collect(self.graph->block(), c10::Symbol::fromQualString(kind), recurse, found);
            return found.empty() ? py::object(py::none()) : py::cast(NodeHandle{self.graph, found.front()});
          },
          py::arg("kind"), py::arg("recurse") = true)
      .def("copy", [](const GraphHandle& self) { return GraphHandle{self.graph->copy()}; })
      .def(
          "lint", [](const GraphHandle& self) { verify(*self.graph); }, "Raises if the graph is malformed.")
      .def(
          "str",
          [](const GraphHandle& self, bool print_source_ranges) {
            return toString(*self.graph, PrintOptions{.source_ranges = print_source_ranges});
          },
          py::arg("print_source_ranges") = true)
      .def("__str__", [](const GraphHandle& self) { return toString(*self.graph); })
      .def("__repr__", [](const GraphHandle& self) { return toString(*self.graph); });

  module.def(
      "parse_ir", [](const std::string& text) { return graphToPython(parseGraph(text)); }, py::arg("text"));
  module.def(
      "_create_function_from_graph",
      [](const std::string& name, const GraphHandle& graph) {
        auto program = Program::make();
        Function* function = nullptr;
        {
          py::gil_scoped_release no_gil;
          auto body = graph.graph->copy();
          verify(*body);
          verifyOperators(*body);
          function =
              &program->declare(c10::QualifiedName(name), [body](Function& declared) { declared.setGraph(body); });
        }
        return makeFunction(program, *function);
      },
      py::arg("name"), py::arg("graph"), "A function whose body is a copy of the graph.");
  module.def("_get_all_schemas", [] {
    py::list result;
    for (const Operator* op : OperatorTable::get().all()) result.append(schemaToPython(op->schema()));
    return result;
  });
  module.def(
      "parse_schema", [](const std::string& text) { return schemaToPython(parseSchema(text)); }, py::arg("text"));
  module.def(
      "parse_type", [](const std::string& text) { return typeToPython(parseType(text)); }, py::arg("text"));
}

}  // namespace cresset::python
