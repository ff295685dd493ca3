#include "cresset/ir/subgraph.h"

#include "cresset/ir/structure.h"

namespace cresset {

const char* toString(SubgraphKind kind) {
  static constexpr const char* kKinds[] = {
#define STRUCTURE(Name, ...)
#define SUBGRAPH(Name, Kind) Kind,
#include "cresset/ir/structural.def"
  };
  return kKinds[static_cast<size_t>(kind)];
}

std::optional<SubgraphKind> findSubgraphKind(const Node& node) {
  const Structure* structure = structureOf(node.kind());
  if (!structure) return std::nullopt;
  switch (structure->id) {
#define STRUCTURE(Name, ...)
#define SUBGRAPH(Name, Kind) \
  case Structural::Name:     \
    return SubgraphKind::Name;
#include "cresset/ir/structural.def"
    default:
      return std::nullopt;
  }
}

Node* createSubgraph(Graph& graph, SubgraphKind kind, std::shared_ptr<Graph> subgraph, std::span<Value* const> inputs) {
  const InputRange results = subgraph->outputs();
  Node* node = graph.create(Symbol::fromQualString(toString(kind)), inputs, results.size());
  for (size_t i = 0; i < results.size(); ++i) node->output(i)->setType(results[i]->type());
  node->setAttribute(attr::Subgraph, Attribute(std::move(subgraph)));
  return node;
}

}  // namespace cresset
