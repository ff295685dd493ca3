#include "cresset/ir/subgraph.h"

#include <array>
#include <unordered_map>

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

/// Copies what the node's subgraph does to its place and removes the node; the first node of the copy, or what follows.
Node* copyBefore(Node& node) {
  const Graph& subgraph = *node.g(attr::Subgraph);
  std::unordered_map<const Value*, Value*> copies;
  for (size_t i = 0; i < node.inputs().size(); ++i) copies[subgraph.inputs()[i]] = node.input(i);
  const auto copyOf = [&](Value* value) { return copies.at(value); };
  Node* first = nullptr;
  for (Node* inner : subgraph.nodes()) {
    Node* copy = node.owningBlock()->graph().createClone(inner, copyOf);
    copy->insertBefore(&node);
    if (!first) first = copy;
    for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* result = copies.at(subgraph.outputs()[i]);
    if (node.output(i)->hasDebugName() && !result->hasDebugName()) result->setDebugName(node.output(i)->debugName());
    node.output(i)->replaceAllUsesWith(result);
  }
  Node* next = node.next();
  node.destroy();
  return first ? first : next;
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

bool inlineSubgraphs(Block& block) {
  bool changed = false;
  for (Node* node = *block.nodes().begin(); node != block.returnNode();) {
    for (Block* inner : node->blocks()) changed |= inlineSubgraphs(*inner);
    Node* next = node->next();
    if (isSubgraph(*node)) {
      // Other nodes may share the subgraph, so it stays as it is; what is in it may be a subgraph, too.
      next = copyBefore(*node);
      changed = true;
    }
    node = next;
  }
  return changed;
}

}  // namespace cresset
