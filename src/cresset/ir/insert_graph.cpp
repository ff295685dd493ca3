#include "cresset/ir/insert_graph.h"

#include <unordered_map>

namespace cresset {

void copyLocationThroughout(Node* copy, const Node* original) {
  copy->copyLocation(original);
  for (Block* block : copy->blocks()) {
    for (Node* inner : block->nodes()) copyLocationThroughout(inner, original);
  }
}

std::vector<Value*> insertGraph(
    const Graph& rule, std::span<Value* const> arguments, Node* at, const std::function<void(Node*)>& each) {
  std::unordered_map<const Value*, Value*> copies;
  for (size_t i = 0; i < arguments.size(); ++i) copies[rule.inputs()[i]] = arguments[i];
  for (const Node* node : rule.nodes()) {
    Node* copy = at->graph().createClone(node, [&](Value* value) { return copies.at(value); });
    copy->insertBefore(at);
    copyLocationThroughout(copy, at);
    if (each) each(copy);
    for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
  }
  std::vector<Value*> results;
  for (const Value* output : rule.outputs()) results.push_back(copies.at(output));
  return results;
}

}  // namespace cresset
