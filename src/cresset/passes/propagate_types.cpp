// Writes what is known of tensors (analysis/facts.h) into their types, where all later passes read it. Types that are
// there already (of inputs, mostly) are believed. Preserves everything: types only say what is so.
#include <ATen/core/jit_type.h>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/subgraph.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

class TypeWriter {
 public:
  explicit TypeWriter(const GraphFacts& facts) : facts_(facts) {}

  bool write(Block* block) {
    bool changed = false;
    for (Node* node : block->nodes()) {
      for (Value* output : node->outputs()) changed |= refine(output);
      for (Block* inner : Bodies(*node)) {
        for (Value* input : inner->inputs()) changed |= refine(input);
        changed |= write(inner);
      }
    }
    return changed;
  }

 private:
  bool refine(Value* value) {
    if (value->type()->kind() != c10::TypeKind::TensorType) return false;
    const TensorFacts found = facts_.of(value), known = TensorFacts::of(*value->type());
    const TensorFacts both = {
        found.dtype ? found.dtype : known.dtype, found.rank ? found.rank : known.rank,
        found.device ? found.device : known.device, found.requires_grad ? found.requires_grad : known.requires_grad};
    if (both == known) return false;
    value->setType(c10::TensorType::create(both.dtype, both.device, both.rank, both.requires_grad));
    return true;
  }

  const GraphFacts& facts_;
};

}  // namespace

bool propagateTypes(Graph& graph, const TypeAssumptions& assumptions) {
  return TypeWriter(*factsOf(graph, assumptions)).write(graph.block());
}

CRESSET_PASS_FOR_CALLS(
    propagateTypes, "propagate-types", All, "Find dtypes, ranks, devices and requires_grad of tensors")

}  // namespace cresset
