// Names of values by their order: `%0`, `%1`, … from the first input on, whatever their programs called them. Two
// graphs that do the same in the same order are the same text then.
#include <utility>
#include <vector>

#include "cresset/passes/pass.h"

namespace cresset {
namespace {

void collectValues(Block* block, std::vector<Value*>& values) {
  values.insert(values.end(), block->inputs().begin(), block->inputs().end());
  for (Node* node : block->nodes()) {
    // As the text has them: the results stand before what the blocks compute.
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
    for (Block* inner : node->blocks()) collectValues(inner, values);
  }
}

}  // namespace

static bool canonicalize(Graph& graph) {
  std::vector<Value*> values;
  collectValues(graph.block(), values);
  bool changed = false;
  for (size_t i = 0; i < values.size(); ++i) changed |= values[i]->debugName() != std::to_string(i);
  if (!changed) return false;
  std::vector<std::pair<Value*, uint32_t>> numbers;
  for (Value* value : values) {
    value->setDebugName("");
    numbers.emplace_back(value, static_cast<uint32_t>(numbers.size()));
  }
  graph.assignNumbers(numbers);
  return true;
}

CRESSET_PASS(canonicalize, "canonicalize", All, "Number values in their order")

}  // namespace cresset
