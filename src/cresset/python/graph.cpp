// Graphs as Python reads them. What changes them is in graph_editing.cpp.
#include <ATen/autocast_mode.h>
#include <pybind11/stl.h>

#include "cresset/analysis/alias.h"
#include "cresset/autodiff/regions.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/schema_text.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_description.h"
#include "cresset/passes/channels_last.h"
#include "cresset/passes/lower_graph.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipeline.h"
#include "cresset/passes/shape_computation.h"
#include "cresset/python/graph_handles.h"
#include "cresset/support/options.h"

namespace cresset::python {

namespace {

/// Of str() and repr(): Graph.global_print_source_ranges.
bool printsRanges() {
  return options::source_ranges() == SourceRanges::On;
}

std::string textOf(const Graph& graph) {
  return toString(graph, PrintOptions{.source_ranges = printsRanges()});
}

template <typename T>
void bindItems(py::module_& module, const char* name) {
  using List = Items<T>;
  py::class_<List>(module, name, py::module_local(), "Parts of a graph: a sequence, which next() steps through too.")
      .def("__len__", [](const List& self) { return self.items.size(); })
      .def(
          "__getitem__",
          [](const List& self, py::ssize_t index) {
            const auto size = static_cast<py::ssize_t>(self.items.size());
            if (index < 0) index += size;
            if (index < 0 || index >= size) throw py::index_error("index out of range");
            return self.items[static_cast<size_t>(index)];
          })
      .def(
          "__getitem__",
          [](const List& self, const py::slice& slice) {
            size_t start = 0, stop = 0, step = 0, length = 0;
            if (!slice.compute(self.items.size(), &start, &stop, &step, &length)) throw py::error_already_set();
            py::list result;
            for (size_t i = 0; i < length; i++, start += step) result.append(self.items[start]);
            return result;
          })
      .def(
          "__iter__",
          [](const List& self) {
            return py::make_iterator(self.items.begin() + static_cast<std::ptrdiff_t>(self.position), self.items.end());
          },
          py::keep_alive<0, 1>())
      .def(
          "__next__",
          [](List& self) {
            if (self.position == self.items.size()) throw py::stop_iteration();
            return self.items[self.position++];
          })
      .def(
          "__eq__",
          [](const py::object& self, const py::object& other) { return py::list(self).equal(py::list(other)); })
      .def("__repr__", [](const py::object& self) { return py::repr(py::list(self)); });
}

template <typename T>
void bindIdentity(py::class_<Handle<T>>& type) {
  type.def(
          "__eq__", [](const Handle<T>& self, const Handle<T>& other) { return self.pointer == other.pointer; },
          py::is_operator())
      .def("__hash__", [](const Handle<T>& self) { return reinterpret_cast<uintptr_t>(self.pointer); })
      .def("isErased", [](const Handle<T>& self) { return self.pointer->isErased(); });
}

/// Whether the operator is the one that `wanted` says, which may leave out the name of the overload and defaults.
bool isSameOverload(const c10::FunctionSchema& schema, const c10::FunctionSchema& wanted) {
  const auto fits = [](const std::vector<c10::Argument>& ours, const std::vector<c10::Argument>& theirs) {
    return std::equal(
        ours.begin(), ours.end(), theirs.begin(), theirs.end(), [](const c10::Argument& a, const c10::Argument& b) {
          return *a.type() == *b.type() && (b.name().empty() || a.name() == b.name());
        });
  };
  return schema.name() == wanted.name() &&
         (wanted.overload_name().empty() || schema.overload_name() == wanted.overload_name()) &&
         fits(schema.arguments(), wanted.arguments()) && fits(schema.returns(), wanted.returns());
}

/// findNode and findAllNodes, of a graph, a block, or what is inside a node.
template <typename Class, typename Search>
void bindSearch(Class& type, Search search) {
  using Self = typename Class::type;
  type.def(
          "findAllNodes",
          [search](const Self& self, const std::string& kind, bool recurse) {
            std::vector<Node*> found;
            search(self, c10::Symbol::fromQualString(kind), recurse, found);
            return py::list(py::cast(itemsOf<Node>(self.graph, found)));
          },
          py::arg("kind"), py::arg("recurse") = true, "The nodes of a kind ('aten::add'), in program order.")
      .def(
          "findNode",
          [search](const Self& self, const std::string& kind, bool recurse) -> py::object {
            std::vector<Node*> found;
            search(self, c10::Symbol::fromQualString(kind), recurse, found);
            return found.empty() ? py::object(py::none()) : py::cast(NodeHandle{self.graph, found.front()});
          },
          py::arg("kind"), py::arg("recurse") = true, "The first node of a kind; None if there is none.");
}

py::object operatorSchema(const NodeHandle& self) {
  const Operator* op = operatorOf(*self.get());
  return op ? schemaToPython(op->schema()) : py::object(py::none());
}

Value* namedInput(const NodeHandle& self, const std::string& name) {
  const Operator* op = operatorOf(*self.get());
  if (!op) throw UserError("Nodes of kind " + std::string(self->kind().toQualString()) + " have no named inputs.");
  const auto index = op->schema().argumentIndexWithName(name);
  if (!index) throw UserError("The operator " + op->fullName() + " has no argument called '" + name + "'.");
  return self->input(static_cast<size_t>(*index));
}

void bindReading(ValueClass& value) {
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
            Items<UseHandle> result;
            for (Use use : self->uses()) result.items.push_back({NodeHandle{self.graph, use.user}, use.offset});
            return result;
          },
          "Where it is used: the nodes, and which of their inputs it is.")
      .def(
          "isCompleteTensor",
          [](const ValueHandle& self) {
            const auto type = self->type()->cast<c10::TensorType>();
            return type && type->isComplete();
          },
          "Whether dtype, device and all sizes and strides are known.")
      .def(
          "requires_grad",
          [](const ValueHandle& self) {
            const auto type = self->type()->cast<c10::TensorType>();
            return type && type->requiresGrad().value_or(true);
          },
          "Whether it is a tensor that may require a gradient.")
      .def(
          "requiresGrad",
          [](const ValueHandle& self) {
            const auto type = self->type()->cast<c10::TensorType>();
            return type ? type->requiresGrad() : std::nullopt;
          },
          "Whether it requires a gradient; None if that isn't known.")
      .def(
          "toIValue",
          [](const ValueHandle& self) -> py::object {
            auto constant = toIValue(self.get());
            return constant ? toPyObject(constant->deepcopy(), self->type()) : py::object(py::none());
          },
          "The value of a constant; None for anything else.")
      .def("__repr__", [](const ValueHandle& self) {
        return "%" + self->debugName() + " : " + cresset::toString(*self->type());
      });
}

py::object neighbour(const NodeHandle& self, Node* other) {
  return other ? py::cast(NodeHandle{self.graph, other}) : py::object(py::none());
}

void bindReading(NodeClass& node) {
  node.def("kind", [](const NodeHandle& self) { return std::string(self->kind().toQualString()); })
      .def(
          "scopeName",
          [](const NodeHandle& self) {
            std::string name;
            for (const InlinedCall* call = self->inlinedCall().get(); call; call = call->caller.get()) {
              if (!call->scope.empty()) name = name.empty() ? call->scope : call->scope + "/" + name;
            }
            return name;
          },
          "The modules, from the outermost in, whose methods were inlined here: \"__module.a/__module.a.0\".")
      .def(
          "matches",
          [](const NodeHandle& self, const py::object& schema) {
            const Operator* op = isStructural(self->kind()) ? nullptr : operatorOf(*self.get());
            if (!op) return false;
            const c10::FunctionSchema wanted = parseSchema(py::cast<std::string>(py::str(schema)));
            return isSameOverload(op->schema(), wanted);
          },
          py::arg("schema"),
          "Whether the node calls the operator of a schema, a text or a FunctionSchema; the overload's name and "
          "defaults "
          "may be left out.")
      .def("inputs", [](const NodeHandle& self) { return itemsOf<Value>(self.graph, self->inputs()); })
      .def("outputs", [](const NodeHandle& self) { return itemsOf<Value>(self.graph, self->outputs()); })
      .def("inputsSize", [](const NodeHandle& self) { return self->inputs().size(); })
      .def("outputsSize", [](const NodeHandle& self) { return self->outputs().size(); })
      .def(
          "inputsAt",
          [](const NodeHandle& self, size_t i) {
            return ValueHandle{self.graph, self->input(i)};
          })
      .def(
          "outputsAt",
          [](const NodeHandle& self, size_t i) {
            return ValueHandle{self.graph, self->output(i)};
          })
      .def(
          "input",
          [](const NodeHandle& self) {
            return ValueHandle{self.graph, self->input()};
          },
          "The only input; raises if there are more or none.")
      .def(
          "output",
          [](const NodeHandle& self) {
            return ValueHandle{self.graph, self->output()};
          },
          "The only output; raises if there are more or none.")
      .def(
          "namedInput",
          [](const NodeHandle& self, const std::string& name) {
            return ValueHandle{self.graph, namedInput(self, name)};
          },
          "The input that the operator's schema calls so.")
      .def("hasMultipleOutputs", [](const NodeHandle& self) { return self->outputs().size() > 1; })
      .def(
          "hasUses",
          [](const NodeHandle& self) {
            const auto outputs = self->outputs();
            return std::any_of(outputs.begin(), outputs.end(), [](Value* output) { return output->hasUses(); });
          },
          "Whether some output is used.")
      .def("blocks", [](const NodeHandle& self) { return itemsOf<Block>(self.graph, self->blocks()); })
      .def(
          "owningBlock",
          [](const NodeHandle& self) -> py::object {
            Block* block = self->owningBlock();
            return block ? py::cast(BlockHandle{self.graph, block}) : py::object(py::none());
          },
          "The block that it stands in; None if it isn't inserted.")
      .def(
          "prev", [](const NodeHandle& self) { return neighbour(self, self->prev()); },
          "The node before it in its block, whose ends are neighbours; None if it isn't inserted.")
      .def(
          "next", [](const NodeHandle& self) { return neighbour(self, self->next()); },
          "The node after it in its block, whose ends are neighbours; None if it isn't inserted.")
      .def("isBefore", [](const NodeHandle& self, const NodeHandle& other) { return self->isBefore(other.get()); })
      .def("isAfter", [](const NodeHandle& self, const NodeHandle& other) { return self->isAfter(other.get()); })
      .def(
          "schema",
          [](const NodeHandle& self) {
            const Operator* op = operatorOf(*self.get());
            return op ? schemaText(op->schema()) : std::string("(no schema)");
          },
          "The text of the schema of the operator that the node calls; `(no schema)` for nodes that the IR itself "
          "defines.")
      .def(
          "operatorSchema", operatorSchema,
          "The FunctionSchema of the operator that the node calls; None for nodes that the IR itself defines.")
      .def(
          "operatorRow",
          [](const NodeHandle& self) -> std::optional<std::string> {
            const Operator* op = operatorOf(*self.get());
            return op ? std::optional(describeOperators(op->fullName())) : std::nullopt;
          },
          "What is known of the operator that the node calls beyond its schema (docs/operators.md), as `cresset-opt "
          "--operator` prints it; None for nodes that the IR itself defines.")
      .def(
          "isNondeterministic",
          [](const NodeHandle& self) {
            const Operator* op = operatorOf(*self.get());
            return op && !op->isDeterministic();
          },
          "Whether equal inputs may have other results.")
      .def(
          "mustBeNone",
          [](const NodeHandle& self) { return self->outputs().size() == 1 && isNoneConstant(self->output()); })
      .def(
          "sourceRange",
          [](const NodeHandle& self) { return self->sourceRange() ? self->sourceRange().highlight() : std::string(); },
          "The lines of the source that it comes from.")
      .def("__repr__", [](const NodeHandle& self) { return cresset::toString(*self.get()); });
  bindSearch(node, [](const NodeHandle& self, c10::Symbol kind, bool recurse, std::vector<Node*>& found) {
    for (Block* block : self->blocks()) collectNodes(block, kind, recurse, found);
  });
}

void bindReading(BlockClass& block) {
  block.def("nodes", [](const BlockHandle& self) { return itemsOf<Node>(self.graph, self->nodes()); })
      .def("inputs", [](const BlockHandle& self) { return itemsOf<Value>(self.graph, self->inputs()); })
      .def("outputs", [](const BlockHandle& self) { return itemsOf<Value>(self.graph, self->outputs()); })
      .def(
          "paramNode",
          [](const BlockHandle& self) {
            return NodeHandle{self.graph, self->paramNode()};
          })
      .def(
          "returnNode",
          [](const BlockHandle& self) {
            return NodeHandle{self.graph, self->returnNode()};
          })
      .def(
          "owningNode",
          [](const BlockHandle& self) -> py::object {
            Node* owner = self->owningNode();
            return owner ? py::cast(NodeHandle{self.graph, owner}) : py::object(py::none());
          },
          "The node that has this block; None for the graph's own.");
  bindSearch(block, [](const BlockHandle& self, c10::Symbol kind, bool recurse, std::vector<Node*>& found) {
    collectNodes(self.get(), kind, recurse, found);
  });
}

/// What may share memory in a graph. It holds the graph, and describes it as it was.
struct AliasHandle {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<AliasDb> aliases;

  template <typename T>
  T* own(const Handle<T>& part) const {
    if (part.graph != graph) throw UserError("This is no part of the graph that the AliasDb was made of.");
    return part.get();
  }
};

void bindAliases(py::module_& module, GraphClass& graph) {
  py::class_<AliasHandle>(
      module, "AliasDb", py::module_local(), "What may share memory in a graph, and what is written.")
      .def(
          "may_contain_alias",
          [](const AliasHandle& self, const ValueHandle& a, const ValueHandle& b) {
            return self.aliases->mayContainAlias(self.own(a), self.own(b));
          })
      .def(
          "has_writers",
          [](const AliasHandle& self, const ValueHandle& value) { return self.aliases->hasWriters(self.own(value)); })
      .def(
          "move_after_topologically_valid",
          [](const AliasHandle& self, const NodeHandle& node, const NodeHandle& place) {
            return self.aliases->moveAfterTopologicallyValid(self.own(node), self.own(place));
          })
      .def(
          "move_before_topologically_valid",
          [](const AliasHandle& self, const NodeHandle& node, const NodeHandle& place) {
            return self.aliases->moveBeforeTopologicallyValid(self.own(node), self.own(place));
          })
      .def("dump", [](const AliasHandle& self) { py::print(self.aliases->toString()); })
      .def("__str__", [](const AliasHandle& self) { return self.aliases->toString(); });
  const auto make = [](const GraphHandle& self) {
    verifyEdited(*self.graph);  // what was edited by hand may be anything
    return AliasHandle{self.graph, std::make_shared<AliasDb>(*self.graph)};
  };
  graph.def(
      "alias_db", [make](const GraphHandle& self, bool, bool) { return make(self); }, py::arg("isFrozen") = false,
      py::arg("descend_function_calls") = false,
      "What may share memory. The arguments are torch.jit's and change nothing: attributes and called functions are "
      "analysed as if anything may be done to them.");
  graph.def("dump_alias_db", [make](const GraphHandle& self) { py::print(make(self).aliases->toString()); });
}

void bindReading(GraphClass& graph) {
  graph.def(py::init([] { return GraphHandle{Graph::make()}; }), "An empty graph.");
  graph.def("nodes", [](const GraphHandle& self) { return itemsOf<Node>(self.graph, self->nodes()); })
      .def("inputs", [](const GraphHandle& self) { return itemsOf<Value>(self.graph, self->inputs()); })
      .def("outputs", [](const GraphHandle& self) { return itemsOf<Value>(self.graph, self->outputs()); })
      .def(
          "block",
          [](const GraphHandle& self) {
            return BlockHandle{self.graph, self->block()};
          })
      .def(
          "param_node",
          [](const GraphHandle& self) {
            return NodeHandle{self.graph, self->block()->paramNode()};
          })
      .def(
          "return_node",
          [](const GraphHandle& self) {
            return NodeHandle{self.graph, self->block()->returnNode()};
          })
      .def("copy", [](const GraphHandle& self) { return GraphHandle{keptWith(self->copy(), self.graph)}; })
      .def(
          "lint", [](const GraphHandle& self) { verifyEdited(*self.graph); }, "Raises if the graph is malformed.")
      .def(
          "str",
          [](const GraphHandle& self, bool print_source_ranges) {
            return toString(*self.graph, PrintOptions{.source_ranges = print_source_ranges});
          },
          py::arg("print_source_ranges") = true)
      .def("__str__", [](const GraphHandle& self) { return textOf(*self.graph); })
      .def("__repr__", [](const GraphHandle& self) { return textOf(*self.graph); })
      .def_property_readonly_static(
          "global_print_source_ranges", [](const py::object&) { return printsRanges(); },
          "Whether texts of graphs say where nodes come from; for the process.")
      .def_static("set_global_print_source_ranges", [](bool enabled) {
        setOption(Option::source_ranges, enabled ? "on" : "off");
      });
  bindSearch(graph, [](const GraphHandle& self, c10::Symbol kind, bool recurse, std::vector<Node*>& found) {
    collectNodes(self->block(), kind, recurse, found);
  });
}

AutocastState autocastOfThread() {
  namespace autocast = at::autocast;
  AutocastState state;
  if (autocast::is_autocast_enabled(at::kCPU)) state.cpu = autocast::get_autocast_dtype(at::kCPU);
  if (autocast::is_autocast_enabled(at::kCUDA)) state.cuda = autocast::get_autocast_dtype(at::kCUDA);
  state.caches = autocast::is_autocast_cache_enabled();
  return state;
}

py::dict optionsToPython(const PassOptions& options) {
  py::dict result;
  result["dump"] = options.dump;
  result["disable"] = options.disable;
  result["fail"] = options.fail;
  result["limit"] = options.limit;
  result["verify"] = options.verify;
  result["time"] = options.time;
  return result;
}

/// Nodes that stay: operator, place in the source, reason.
py::list describe(const std::vector<NodeLeft>& left) {
  py::list all;
  for (const NodeLeft& each : left) {
    all.append(py::make_tuple(
        std::string(each.node->kind().toQualString()), each.node->sourceRange().position(), each.reason));
  }
  return all;
}

void bindPasses(py::module_& module) {
  py::dict passes;
  for (const PassInfo& pass : allPasses()) {
    passes[py::str(std::string(pass.name))] =
        py::make_tuple(std::string(pass.description), std::string(nameOf(pass.preserves)));
  }
  module.attr("_passes") = passes;
  module.def(
      "_run_pass",
      [](const std::string& name, const GraphHandle& graph) {
        const PassInfo* pass = findPass(name);
        if (!pass) throw UserError("There is no pass called '" + name + "'.");
        // Passes trust their input, and what was edited by hand may be anything.
        verifyEdited(*graph.graph);
        return runPass(*pass, *graph.graph, "graph", {.autocast = autocastOfThread()});
      },
      py::arg("name"), py::arg("graph"));
  module.def(
      "_allow_any_layout", [](const GraphHandle& graph) { allowAnyLayout(graph.graph->block()); }, py::arg("graph"));
  module.def("_pass_options", [] { return optionsToPython(passOptions()); });
  module.def(
      "_set_pass_options",
      [](std::vector<std::string> dump, std::vector<std::string> disable, std::vector<std::string> fail,
         std::optional<int64_t> limit, bool verify, bool time) {
        setPassOptions({std::move(dump), std::move(disable), std::move(fail), limit, verify, time});
      },
      py::arg("dump"), py::arg("disable"), py::arg("fail"), py::arg("limit"), py::arg("verify"), py::arg("time"));
  module.def("_pass_figures", [] {
    py::dict result;
    for (const PassFigures& figures : passFigures()) {
      py::dict one;
      one["runs"] = figures.runs;
      one["changes"] = figures.changes;
      one["nodes_removed"] = figures.nodes_removed;
      one["nodes_visited"] = figures.nodes_visited;
      one["seconds"] = figures.seconds;
      result[py::str(std::string(figures.name))] = one;
    }
    return result;
  });
  module.def(
      "_lower_graph",
      [](const GraphHandle& graph) {
        LoweredGraph lowered = lowerGraph(*graph.graph);
        return py::make_tuple(graphToPython(keptWith(lowered.graph, graph.graph)), lowered.attributes);
      },
      py::arg("graph"));
  module.def(
      "_compute_shapes",
      [](const GraphHandle& graph) {
        verifyEdited(*graph.graph);
        const ShapeComputation computation = computeShapes(*graph.graph);
        return py::make_tuple(graphToPython(computation.graph), computation.symbols);
      },
      py::arg("graph"));
  module.def(
      "_functionalize",
      [](const GraphHandle& graph, bool distinct_inputs) {
        verifyEdited(*graph.graph);
        return describe(functionalize(*graph.graph, distinct_inputs).left);
      },
      py::arg("graph"), py::arg("distinct_inputs"));
  module.def(
      "_remove_views",
      [](const GraphHandle& graph) {
        verifyEdited(*graph.graph);
        return describe(removeViews(*graph.graph));
      },
      py::arg("graph"));
  module.def(
      "_function_like",
      [](py::handle original, const std::string& name, const GraphHandle& graph) {
        Function* like = functionOf(original.ptr());
        CRESSET_CHECK(like, "a function");
        CompilationUnit unit;
        Function* function = nullptr;
        {
          auto body = graph->copy();
          py::gil_scoped_release no_gil;
          function = unit.create_function(name, body);
          function->setSchema(like->getSchema().cloneWithName(name, ""));
        }
        return makeFunction(unit.program(), *function);
      },
      py::arg("original"), py::arg("name"), py::arg("graph"),
      "A function whose body is a copy of the graph, with the argument names, types and defaults of another one.");
  module.def(
      "_tidy_functional", [](const GraphHandle& graph) { tidyFunctional(*graph.graph); }, py::arg("graph"));
  module.def(
      "_reinplace",
      [](const GraphHandle& graph, bool distinct_inputs) {
        verifyEdited(*graph.graph);
        return reinplace(*graph.graph, distinct_inputs);
      },
      py::arg("graph"), py::arg("distinct_inputs"));
  module.def("_view_errors", viewErrors);
  module.def(
      "_create_regions",
      [](const GraphHandle& graph, size_t min_size) {
        verifyEdited(*graph.graph);
        decomposeForGradients(*graph.graph, {});
        return createDifferentiableRegions(*graph.graph, min_size);
      },
      py::arg("graph"), py::arg("min_size"));
  module.def(
      "_decompose",
      [](const GraphHandle& graph) {
        verifyEdited(*graph.graph);
        return decomposeForGradients(*graph.graph, {});
      },
      py::arg("graph"));
}

/// resultTypes; a submodule that a pattern names by its class (cresset/_rewriting.py) is an object of some class.
std::vector<TypePtr> typesInText(const Node& node) {
  static const Symbol kModule = Symbol::fromQualString("match::module");
  if (node.kind() != kModule) return resultTypes(node);
  return {c10::ClassType::create(c10::QualifiedName("match.Module"), {}, /*is_module=*/true)};
}

}  // namespace

void collectNodes(Block* block, c10::Symbol kind, bool recurse, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    if (node->kind() == kind) found.push_back(node);
    if (!recurse) continue;
    for (Block* inner : node->blocks()) collectNodes(inner, kind, recurse, found);
  }
}

py::object graphToPython(const std::shared_ptr<Graph>& graph) {
  return py::cast(GraphHandle{graph});
}

void bindGraph(py::module_& module) {
  bindTypes(module);
  ValueClass value(module, "Value", py::module_local(), "What a node computes.");
  NodeClass node(module, "Node", py::module_local(), "An operation of a graph.");
  BlockClass block(module, "Block", py::module_local(), "A list of nodes, with inputs and outputs.");
  GraphClass graph(module, "Graph", py::module_local(), "The body of a function. Nothing that runs shares it.");
  py::class_<UseHandle>(module, "Use", py::module_local(), "An input of a node.")
      .def_readonly("user", &UseHandle::user)
      .def_readonly("offset", &UseHandle::offset)
      .def("isAfter", [](const UseHandle& self, const UseHandle& other) {
        return self.user.pointer == other.user.pointer ? self.offset > other.offset
                                                       : self.user->isAfter(other.user.get());
      });
  bindItems<ValueHandle>(module, "Values");
  bindItems<NodeHandle>(module, "Nodes");
  bindItems<BlockHandle>(module, "Blocks");
  bindItems<UseHandle>(module, "Uses");
  bindIdentity(value);
  bindIdentity(node);
  bindIdentity(block);
  bindReading(value);
  bindReading(node);
  bindReading(block);
  bindReading(graph);
  bindAliases(module, graph);
  bindAttributes(node);
  bindEditing(module, value, node, block, graph);
  bindPasses(module);

  module.def(
      "parse_ir",
      [](const std::string& text) { return graphToPython(parseGraph(text, {.result_types = typesInText})); },
      py::arg("text"), "The Graph that the text form of the IR says. Raises, naming the line, if it is malformed.");
  module.def(
      "function_from_graph",
      [](const std::string& name, const GraphHandle& graph) {
        CompilationUnit unit;
        Function* function = nullptr;
        {
          auto body = graph->copy();
          py::gil_scoped_release no_gil;
          function = unit.create_function(name, body);
        }
        return makeFunction(unit.program(), *function);
      },
      py::arg("name"), py::arg("graph"), "A function whose body is a copy of the graph.");
}

}  // namespace cresset::python
