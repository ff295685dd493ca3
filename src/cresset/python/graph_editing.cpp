// What changes a graph from Python: torch.jit's names for creation, insertion, moves and erasure.
//
// Every operation that the graph itself refuses (a foreign or erased value, erasing what is in use) raises, and leaves
// the graph as it was. What can't be told from one node, such as a use before its definition, is lint()'s to find, and
// is checked again before a graph becomes a function or a pass runs.
#include <pybind11/stl.h>

#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/python/graph_handles.h"

namespace cresset::python {

namespace {

c10::Symbol kindOf(const std::string& name) {
  if (name.find("::") == std::string::npos)
    throw UserError("'" + name + "' is no kind of node: kinds are written with their namespace, as 'aten::add'.");
  return c10::Symbol::fromQualString(name);
}

std::vector<Value*> pointersOf(const std::vector<ValueHandle>& values) {
  std::vector<Value*> result;
  for (const ValueHandle& value : values) result.push_back(value.get());
  return result;
}

NodeHandle create(
    const GraphHandle& self, const std::string& kind, const std::vector<ValueHandle>& inputs, size_t num_outputs) {
  return {self.graph, self->create(kindOf(kind), std::span<Value* const>(pointersOf(inputs)), num_outputs)};
}

/// An argument of graph.insert: a value of the graph, or anything that can be a constant.
NamedValue argumentOf(py::handle argument, std::string name = "") {
  if (py::isinstance<ValueHandle>(argument))
    return NamedValue(py::cast<const ValueHandle&>(argument).get(), {}, std::move(name));
  return NamedValue(toInferredIValue(argument.ptr()), {}, std::move(name));
}

ValueHandle insertOperator(
    const GraphHandle& self, const std::string& kind, const py::iterable& args, const py::dict& kwargs) {
  std::vector<NamedValue> positional, named;
  for (py::handle argument : args) positional.push_back(argumentOf(argument));
  for (auto [name, argument] : kwargs) named.push_back(argumentOf(argument, py::cast<std::string>(name)));
  return {self.graph, insertOp(*self.graph, kindOf(kind), positional, named)};
}

/// Copies the nodes of `callee` to the insertion point, its inputs being `arguments`.
Items<ValueHandle> insertGraph(
    const GraphHandle& self, const GraphHandle& callee, const std::vector<ValueHandle>& arguments) {
  if (self.graph == callee.graph)
    throw UserError("A graph can't be inserted into itself. Insert a copy: graph.copy().");
  if (arguments.size() != callee->inputs().size())
    throw UserError(
        "The graph takes " + std::to_string(callee->inputs().size()) + " inputs, but " +
        std::to_string(arguments.size()) + " were given.");
  std::unordered_map<const Value*, Value*> copies;
  for (size_t i = 0; i < arguments.size(); i++) copies[callee->inputs()[i]] = arguments[i].get();
  const auto copyOf = [&](Value* value) { return copies.at(value); };
  for (Node* node : callee->nodes()) {
    Node* copy = self->insertNode(self->createClone(node, copyOf));
    for (size_t i = 0; i < node->outputs().size(); i++) copies[node->output(i)] = copy->output(i);
  }
  Items<ValueHandle> results;
  for (Value* output : callee->outputs()) results.items.push_back({self.graph, copyOf(output)});
  return results;
}

void replaceNode(const NodeHandle& self, const NodeHandle& other) {
  if (self->outputs().size() != other->outputs().size())
    throw UserError(
        "The nodes have different numbers of outputs: " + std::to_string(self->outputs().size()) + " and " +
        std::to_string(other->outputs().size()) + ".");
  for (size_t i = 0; i < self->outputs().size(); i++) self->output(i)->replaceAllUsesWith(other->output(i));
}

/// `order[i]` is the number of the input that becomes the i-th.
void permuteInputs(const GraphHandle& self, const std::vector<size_t>& order) {
  const size_t count = self->inputs().size();
  std::vector<bool> seen(count);
  for (size_t number : order) {
    if (number >= count || seen[number]) break;
    seen[number] = true;
  }
  if (order.size() != count || std::find(seen.begin(), seen.end(), false) != seen.end())
    throw UserError("permuteInputs takes each number from 0 to " + std::to_string(count) + " (exclusive) once.");
  const std::vector<Value*> old(self->inputs().begin(), self->inputs().end());
  for (size_t number : order) {
    Value* input = self->addInput();
    input->setType(old[number]->type());
    old[number]->replaceAllUsesWith(input);
    if (old[number]->hasDebugName()) {
      const std::string name = old[number]->debugName();
      old[number]->setDebugName("");
      input->setDebugName(name);
    }
  }
  for (size_t i = 0; i < count; i++) self->block()->eraseInput(0);
}

/// `with graph.insert_point_guard(node):`; the insertion point is put back when the block ends.
struct GuardHandle {
  NodeHandle target;  // insertion is before this node
  std::unique_ptr<InsertPointGuard> guard;
};

void bindValue(ValueClass& value) {
  value
      .def(
          "setDebugName",
          [](const ValueHandle& self, const std::string& name) {
            self->setDebugName(name);
            return self;
          },
          "Names it. Another value of that name gets a number after its name.")
      .def(
          "setType",
          [](const ValueHandle& self, const py::object& type) {
            self->setType(typeFromPython(type));
            return self;
          })
      .def(
          "setTypeAs",
          [](const ValueHandle& self, const ValueHandle& other) {
            self->setType(other->type());
            return self;
          })
      .def(
          "inferTypeFrom",
          [](const ValueHandle& self, const py::object& example) {
            const IValue converted = toInferredIValue(example.ptr());
            self->setType(
                converted.isTensor() ? TypePtr(c10::TensorType::create(converted.toTensor())) : converted.type());
          },
          "Gives it the type of an example: of a tensor with its dtype, device, sizes and strides.")
      .def(
          "copyMetadata",
          [](const ValueHandle& self, const ValueHandle& other) {
            self->copyMetadata(other.get());
            return self;
          },
          "Takes over the type, and the name with another number.")
      .def(
          "replaceAllUsesWith",
          [](const ValueHandle& self, const ValueHandle& other) { self->replaceAllUsesWith(other.get()); })
      .def(
          "replaceAllUsesAfterNodeWith", [](const ValueHandle& self, const NodeHandle& node, const ValueHandle& other) {
            self->replaceAllUsesAfterNodeWith(node.get(), other.get());
          });
}

void bindNode(NodeClass& node) {
  node.def(
          "addInput",
          [](const NodeHandle& self, const ValueHandle& value) {
            return ValueHandle{self.graph, self->addInput(value.get())};
          })
      .def(
          "insertInput",
          [](const NodeHandle& self, size_t i, const ValueHandle& value) {
            return ValueHandle{self.graph, self->insertInput(i, value.get())};
          })
      .def(
          "replaceInput",
          [](const NodeHandle& self, size_t i, const ValueHandle& value) {
            return ValueHandle{self.graph, self->replaceInput(i, value.get())};
          },
          "Returns the value that was there.")
      .def(
          "replaceInputWith", [](const NodeHandle& self, const ValueHandle& from,
                                 const ValueHandle& to) { self->replaceInputWith(from.get(), to.get()); })
      .def("removeInput", [](const NodeHandle& self, size_t i) { self->removeInput(i); })
      .def("removeAllInputs", [](const NodeHandle& self) { self->removeAllInputs(); })
      .def(
          "addOutput",
          [](const NodeHandle& self) {
            return ValueHandle{self.graph, self->addOutput()};
          })
      .def("eraseOutput", [](const NodeHandle& self, size_t i) { self->eraseOutput(i); })
      .def(
          "addBlock",
          [](const NodeHandle& self) {
            return BlockHandle{self.graph, self->addBlock()};
          })
      .def("eraseBlock", [](const NodeHandle& self, size_t i) { self->eraseBlock(i); })
      .def("replaceAllUsesWith", replaceNode, "Uses of its outputs become uses of the other node's.")
      .def(
          "insertBefore",
          [](const NodeHandle& self, const NodeHandle& other) {
            self->insertBefore(other.get());
            return self;
          })
      .def(
          "insertAfter",
          [](const NodeHandle& self, const NodeHandle& other) {
            self->insertAfter(other.get());
            return self;
          })
      .def("moveBefore", [](const NodeHandle& self, const NodeHandle& other) { self->moveBefore(other.get()); })
      .def("moveAfter", [](const NodeHandle& self, const NodeHandle& other) { self->moveAfter(other.get()); })
      .def(
          "copyMetadata",
          [](const NodeHandle& self, const NodeHandle& other) {
            self->copyLocation(other.get());
            return self;
          },
          "Takes over the source position.")
      .def(
          "destroy", [](const NodeHandle& self) { self->destroy(); },
          "Erases the node and what is in its blocks; raises if an output is in use.");
}

void bindBlock(BlockClass& block) {
  block
      .def(
          "addNode",
          [](const BlockHandle& self, const std::string& kind, const std::vector<ValueHandle>& inputs) {
            Node* node = self->graph().create(kindOf(kind), std::span<Value* const>(pointersOf(inputs)));
            return NodeHandle{self.graph, self->appendNode(node)};
          },
          "Appends a node with one output.")
      .def(
          "addInputToBlock",
          [](const BlockHandle& self) {
            return ValueHandle{self.graph, self->addInput()};
          })
      .def("registerOutput", [](const BlockHandle& self, const ValueHandle& value) {
        return self->registerOutput(value.get());
      });
}

void bindGraph(GraphClass& graph) {
  graph
      .def(
          "create", create, py::arg("kind"), py::arg("inputs") = std::vector<ValueHandle>(), py::arg("outputs") = 1,
          "A node that is in no block yet.")
      .def(
          "create", [](const GraphHandle& self, const std::string& kind,
                       size_t outputs) { return create(self, kind, {}, outputs); })
      .def(
          "createClone",
          [](const GraphHandle& self, const NodeHandle& node, const py::function& map) {
            const auto copyOf = [&](Value* value) {
              return py::cast<const ValueHandle&>(map(ValueHandle{node.graph, value})).get();
            };
            return NodeHandle{self.graph, self->createClone(node.get(), copyOf)};
          },
          "A copy of a node, in no block yet, whose inputs are what the function makes of the node's.")
      .def(
          "insert", insertOperator, py::arg("kind"), py::arg("args"), py::arg("kwargs") = py::dict(),
          "Inserts a call of an operator, with the overload and the implicit conversions that a script would get; "
          "arguments that are no values become constants. Returns the result.")
      .def(
          "insertNode",
          [](const GraphHandle& self, const NodeHandle& node) {
            self->insertNode(node.get());
            return node;
          })
      .def(
          "appendNode",
          [](const GraphHandle& self, const NodeHandle& node) {
            self->block()->appendNode(node.get());
            return node;
          })
      .def(
          "prependNode",
          [](const GraphHandle& self, const NodeHandle& node) {
            self->block()->prependNode(node.get());
            return node;
          })
      .def(
          "insertConstant",
          [](const GraphHandle& self, const py::object& constant) {
            return ValueHandle{self.graph, self->insertConstant(toInferredIValue(constant.ptr()))};
          })
      .def("insertGraph", insertGraph, "Copies the nodes of another graph here; returns what its outputs became.")
      .def(
          "addInput",
          [](const GraphHandle& self, const std::string& name) {
            return ValueHandle{self.graph, self->addInput(name)};
          },
          py::arg("name") = "")
      .def("eraseInput", [](const GraphHandle& self, size_t i) { self->block()->eraseInput(i); })
      .def("permuteInputs", permuteInputs)
      .def(
          "registerOutput",
          [](const GraphHandle& self, const ValueHandle& value) { return self->registerOutput(value.get()); })
      .def("eraseOutput", [](const GraphHandle& self, size_t i) { self->block()->eraseOutput(i); })
      .def(
          "makeMultiOutputIntoTuple",
          [](const GraphHandle& self) {
            if (self->outputs().size() < 2) return;
            const std::vector<Value*> outputs = self->outputs().vec();
            std::vector<TypePtr> types;
            for (Value* output : outputs) types.push_back(output->type());
            Node* tuple = self->create(prim::TupleConstruct, std::span<Value* const>(outputs));
            tuple->output()->setType(c10::TupleType::create(types));
            self->block()->appendNode(tuple);
            while (!self->outputs().empty()) self->block()->eraseOutput(0);
            self->registerOutput(tuple->output());
          },
          "A function returns one value: several become a tuple.")
      .def("setInsertPoint", [](const GraphHandle& self, const NodeHandle& node) { self->setInsertPoint(node.get()); })
      .def(
          "setInsertPoint",
          [](const GraphHandle& self, const BlockHandle& block) { self->setInsertPoint(block.get()); })
      .def(
          "insertPoint",
          [](const GraphHandle& self) {
            return NodeHandle{self.graph, self->insertPoint()};
          })
      .def(
          "insert_point_guard",
          [](const GraphHandle& self, const NodeHandle& node) {
            return GuardHandle{{self.graph, node.get()}, nullptr};
          },
          "A context manager: inside it, nodes are inserted before the node, or at the end of the block.")
      .def("insert_point_guard", [](const GraphHandle& self, const BlockHandle& block) {
        return GuardHandle{{self.graph, block->returnNode()}, nullptr};
      });
}

}  // namespace

void bindEditing(py::module_& module, ValueClass& value, NodeClass& node, BlockClass& block, GraphClass& graph) {
  py::class_<GuardHandle>(module, "_InsertPointGuard", py::module_local())
      .def(
          "__enter__",
          [](GuardHandle& self) {
            self.guard = std::make_unique<InsertPointGuard>(*self.target.graph, self.target.get());
          })
      .def("__exit__", [](GuardHandle& self, const py::args&) { self.guard.reset(); });
  bindValue(value);
  bindNode(node);
  bindBlock(block);
  bindGraph(graph);
}

}  // namespace cresset::python
