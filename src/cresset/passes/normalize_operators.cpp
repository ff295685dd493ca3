// One name for operators that PyTorch has under several: `torch.absolute` becomes `aten::abs`, so that whoever reads or
// rewrites graphs has to know one of them.
//
// The other name calls the same kernel with the same arguments. A call is renamed only if the table has an overload
// whose schema takes and returns the same; so numbers, of which one name may be a builtin, stay.
#include "cresset/ops/operator_forms.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

bool normalize(Node* node) {
  const Operator* op = operatorOf(*node);
  const Operator* same = op ? sameOperator(*op) : nullptr;
  if (!same) return false;
  node->setKind(same->kind());
  node->bindOperator(same);
  return true;
}

bool normalizeIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) changed |= normalizeIn(inner);
    if (!isStructural(node->kind())) changed |= normalize(node);
  }
  return changed;
}

}  // namespace

bool normalizeOperators(Graph& graph) {
  return normalizeIn(graph.block());
}

CRESSET_PASS(normalizeOperators, "normalize-operators", All, "Call operators that have several names by one of them")

}  // namespace cresset
