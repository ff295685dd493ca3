// Subgraphs: parts of a graph that are compiled separately. The node's attribute `Subgraph` is what it does, with its
// inputs and outputs; its kind says what it is compiled to (structural.def). It stands for the nodes of its graph:
// analyses see through it, as through the blocks of a branch.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cresset/ir/graph.h"

namespace cresset {

enum class SubgraphKind : uint8_t {
#define STRUCTURE(Name, ...)
#define SUBGRAPH(Name, Kind) Name,
#include "cresset/ir/structural.def"
};

/// "prim::DifferentiableGraph"
const char* toString(SubgraphKind kind);

/// Nullopt if the node is no subgraph.
std::optional<SubgraphKind> findSubgraphKind(const Node& node);

inline bool isSubgraph(const Node& node) {
  return findSubgraphKind(node).has_value();
}
inline bool isSubgraph(const Node& node, SubgraphKind kind) {
  return findSubgraphKind(node) == kind;
}

/// A node, in no block yet, that takes `inputs` and returns what the subgraph returns, as values of the same types.
Node* createSubgraph(Graph& graph, SubgraphKind kind, std::shared_ptr<Graph> subgraph, std::span<Value* const> inputs);

/// The blocks that run as a part of the node: its own, or that of its subgraph. Not those of a fork, which runs beside
/// the program.
class Bodies {
 public:
  explicit Bodies(const Node& node)
      : subgraph_(isSubgraph(node) ? node.g(attr::Subgraph)->block() : nullptr), blocks_(node.blocks()) {}
  Block* const* begin() const { return subgraph_ ? &subgraph_ : blocks_.data(); }
  Block* const* end() const { return begin() + (subgraph_ ? 1 : blocks_.size()); }
  bool empty() const { return begin() == end(); }
  Block* operator[](size_t i) const { return begin()[i]; }

 private:
  Block* subgraph_;
  std::span<Block* const> blocks_;
};

}  // namespace cresset
