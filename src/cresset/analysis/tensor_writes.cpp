// What the writes of a graph may change of tensors beside their elements.
#include <algorithm>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/facts.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Whether an operator that writes leaves the sizes of what it writes to.
bool keepsSizes(const Operator& op) {
  // Rows write to lists and dicts.
  if (!op.isMutable() || op.kernel()) return true;
  if (!op.schema().name().ends_with('_')) return false;  // results as arguments
  return op.isPointwise() || op.keepsSizes();
}

TensorWrites tensorWritesIn(const Block* block) {
  TensorWrites most = TensorWrites::Elements;
  for (Node* node : block->nodes()) {
    const bool runs_unknown = memoryOf(*node, Memory::None) == Memory::Anything && !changesStateOnly(*node);
    const Operator* op = knownOperator(*node);
    if (runs_unknown || (!op && !isStructural(node->kind())) || (op && op->replacesMemory()))
      return TensorWrites::Anything;
    if (op && !keepsSizes(*op)) most = std::max(most, TensorWrites::Sizes);
    for (const Block* inner : Bodies(*node)) most = std::max(most, tensorWritesIn(inner));
    if (most == TensorWrites::Anything) return most;
  }
  return most;
}

}  // namespace

TensorWrites tensorWrites(const Graph& graph) {
  return tensorWritesIn(graph.block());
}

}  // namespace cresset
