// What Python holds of graphs, types and schemas.
//
// A handle keeps the graph alive that it points into, and refuses use once its node or value was erased. Graphs are
// read and edited with the GIL held, and a graph that Python holds is no function's (see graphToPython), so two threads
// never meet in one.
#pragma once

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/python/common.h"

namespace cresset::python {

struct TypeHandle {
  TypePtr type;
};
struct SchemaHandle {
  c10::FunctionSchema schema;
};
struct GraphHandle {
  std::shared_ptr<Graph> graph;
  Graph* operator->() const { return graph.get(); }
};

/// A graph that keeps `owner` alive: the program whose functions and classes it names.
inline std::shared_ptr<Graph> keptWith(std::shared_ptr<Graph> graph, std::shared_ptr<const void> owner) {
  Graph* const pointer = graph.get();
  auto both = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<Graph>>>(
      std::move(owner), std::move(graph));
  return {both, pointer};
}

template <typename T>
struct Handle {
  std::shared_ptr<Graph> graph;
  T* pointer;
  /// Throws UserError if it was erased.
  T* get() const {
    if (pointer->isErased()) throw UserError("This part of the graph was erased.");
    return pointer;
  }
  T* operator->() const { return get(); }
};
using NodeHandle = Handle<Node>;
using ValueHandle = Handle<Value>;
using BlockHandle = Handle<Block>;

struct UseHandle {
  NodeHandle user;
  size_t offset;
};

/// Some parts of a graph: a sequence. next() steps through it too, because code that was written for torch.jit's
/// graphs, which return iterators, may say next(graph.nodes()).
template <typename T>
struct Items {
  std::vector<T> items;
  size_t position = 0;
};

template <typename T, typename Range>
Items<Handle<T>> itemsOf(const std::shared_ptr<Graph>& graph, const Range& range) {
  Items<Handle<T>> result;
  for (T* part : range) result.items.push_back({graph, part});
  return result;
}

/// All nodes below `block` of the kind, in program order. Recursion is over the nesting of blocks.
void collectNodes(Block* block, c10::Symbol kind, bool recurse, std::vector<Node*>& found);

/// The value of an attribute, and the other way round. `kind` is as in kindName: "i" for an int.
py::object attributeToPython(const Attribute& attribute);
Attribute attributeFromPython(const std::string& kind, const py::object& value);
/// torch.jit's short name of a kind of attribute: "i", "fs", "ty", "ival".
const char* kindName(Attribute::Kind kind);

using ValueClass = py::class_<ValueHandle>;
using NodeClass = py::class_<NodeHandle>;
using BlockClass = py::class_<BlockHandle>;
using GraphClass = py::class_<GraphHandle>;

// ---- types.cpp
void bindTypes(py::module_& module);
// ---- graph_attributes.cpp
void bindAttributes(NodeClass& node);
// ---- graph_editing.cpp: everything that changes a graph
void bindEditing(py::module_& module, ValueClass& value, NodeClass& node, BlockClass& block, GraphClass& graph);

}  // namespace cresset::python
