#include "cresset/codegen/outline.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "cresset/codegen/group.h"
#include "cresset/ir/constants.h"

namespace cresset::codegen {

void outline(Graph& graph, SubgraphKind kind, const std::vector<Node*>& nodes, const std::vector<Node*>& views) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::vector<Value*> outputs;
  for (Node* node : nodes) {
    for (Value* output : node->outputs()) {
      const auto users = output->uses();
      if (std::any_of(users.begin(), users.end(), [&](const Use& use) { return !inside.contains(callOf(*use.user)); }))
        outputs.push_back(output);
    }
  }
  if (outputs.empty()) return;  // they are there for the errors that they raise
  auto subgraph = Graph::make();
  std::unordered_map<Value*, Value*> copies;
  std::vector<Value*> inputs;
  const auto copyOf = [&](Value* value) -> Value* {
    if (const auto found = copies.find(value); found != copies.end()) return found->second;
    if (const auto known = knownValue(*value); known && !known->isTensor() && !known->isObject()) {
      const InsertPointGuard guard(*subgraph, subgraph->block());
      const bool has_kind = value->type()->kind() != c10::TypeKind::NumberType;  // else it is a cast to any number
      return copies[value] = subgraph->insertConstant(*known, has_kind ? value->type() : TypePtr());
    }
    inputs.push_back(value);
    return copies[value] = subgraph->addInput(value->hasDebugName() ? value->debugName() : "")->setType(value->type());
  };
  const auto addCopy = [&](Node* node) {
    Node* copy = subgraph->createClone(node, copyOf);
    subgraph->block()->appendNode(copy);
    if (!isStructural(node->kind())) copy->bindOperator(node->boundOperator());
    for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
  };
  for (const auto* part : {&views, &nodes}) {
    for (Node* node : *part) {
      for (Node* list : listsOfIndices(*node)) addCopy(list);
      addCopy(node);
    }
  }
  for (Value* output : outputs) subgraph->registerOutput(copies.at(output));
  Node* group = createSubgraph(graph, kind, subgraph, inputs);
  group->insertBefore(nodes.back());
  group->copyLocation(nodes.back());
  for (size_t i = 0; i < outputs.size(); ++i) {
    group->output(i)->setType(outputs[i]->type());
    if (outputs[i]->hasDebugName()) group->output(i)->setDebugName(outputs[i]->debugName());
    outputs[i]->replaceAllUsesWith(group->output(i));
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const std::vector<Node*> lists = listsOfIndices(**it);
    (*it)->destroy();
    for (Node* list : lists) list->destroy();
  }
}

void destroyUnused(std::vector<Node*> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return b->isBefore(a); });
  for (Node* node : nodes) {
    const auto outputs = node->outputs();
    if (std::all_of(outputs.begin(), outputs.end(), [](const Value* output) { return output->uses().empty(); }))
      node->destroy();
  }
}

}  // namespace cresset::codegen
