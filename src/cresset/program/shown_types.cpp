#include "cresset/program/shown_types.h"

#include <ATen/core/jit_type.h>

#include "cresset/ir/subgraph.h"

namespace cresset {

namespace {

/// Calls `each(value)` for what a block defines. Recursion is over the nesting of blocks and subgraphs.
template <typename Each>
void forEachValue(const Block* block, const Each& each) {
  for (Value* input : block->inputs()) each(input);
  for (Node* node : block->nodes()) {
    for (Value* output : node->outputs()) each(output);
    for (const Block* inner : node->blocks()) forEachValue(inner, each);
    if (isSubgraph(*node)) forEachValue(node->g(attr::Subgraph)->block(), each);
  }
}

}  // namespace

void forgetTensorTypes(Graph& graph) {
  forEachValue(graph.block(), [](Value* value) {
    if (value->type()->kind() == c10::TypeKind::TensorType) value->setType(c10::TensorType::get());
  });
}

void copyTypes(const Graph& from, Graph& to) {
  std::vector<TypePtr> types;
  forEachValue(from.block(), [&](const Value* value) { types.push_back(value->type()); });
  size_t next = 0;
  forEachValue(to.block(), [&](Value* value) { value->setType(types.at(next++)); });
}

}  // namespace cresset
