#include "cresset/ir/subgraph.h"

#include <array>

#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr std::array<std::string_view, static_cast<size_t>(SubgraphKind::Count)> kKinds = {
#define SUBGRAPH(Name, Text, Doc) Text,
#include "cresset/ir/structural.def"
};

const Symbol& kindAttribute() {
  static const Symbol kKind = Symbol::attr("kind");
  return kKind;
}

const Symbol& subgraphNode() {
  static const Symbol kNode = Symbol::fromQualString("prim::Subgraph");
  return kNode;
}

}  // namespace

std::string_view toString(SubgraphKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::optional<SubgraphKind> findSubgraphKind(std::string_view text) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == text) return static_cast<SubgraphKind>(i);
  }
  return std::nullopt;
}

bool isSubgraph(const Node& node) {
  return node.kind() == subgraphNode();
}

bool isSubgraph(const Node& node, SubgraphKind kind) {
  return isSubgraph(node) && kindOfSubgraph(node) == kind;
}

SubgraphKind kindOfSubgraph(const Node& node) {
  const auto kind = findSubgraphKind(node.s(kindAttribute()));
  if (!kind) throw UserError("There is no kind of subgraph '" + node.s(kindAttribute()) + "'.", node.sourceRange());
  return *kind;
}

Node* createSubgraph(Graph& graph, SubgraphKind kind, std::shared_ptr<Graph> subgraph, std::span<Value* const> inputs) {
  const InputRange results = subgraph->outputs();
  Node* node = graph.create(subgraphNode(), inputs, results.size());
  for (size_t i = 0; i < results.size(); ++i) node->output(i)->setType(results[i]->type());
  node->setAttribute(kindAttribute(), Attribute(std::string(toString(kind))));
  node->setAttribute(attr::Subgraph, Attribute(std::move(subgraph)));
  return node;
}

}  // namespace cresset
