#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/regions.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/without_autocast.h"
#include "cresset/passes/pipelines.h"

namespace cresset {

namespace {

/// Decompositions are for real numbers, as the rules are that they prepare for: others conjugate what PyTorch's own
/// kernels conjugate.
bool isOfRealNumbers(const Node& node) {
  const auto inputs = node.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [](const Value* input) {
    if (input->type()->kind() == c10::TypeKind::ComplexType) return false;
    const auto* tensor = input->type()->castRaw<c10::TensorType>();
    return !tensor || (rulesFit(input->type()) && tensor->scalarType() && !at::isComplexType(*tensor->scalarType()));
  });
}

void markThroughout(Node* node) {
  if (!isStructural(node->kind())) markWithoutAutocast(*node);
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) markThroughout(inner);
  }
}

bool decomposeIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= decomposeIn(inner);
    if (isStructural(node->kind()) || node->outputs().size() != 1 || !mayRequireGrad(node->output()->type())) continue;
    const Operator* op = operatorOf(*node);
    const auto form = op && isOfRealNumbers(*node) ? decompositionOf(*op, *node) : nullptr;
    if (!form) continue;
    std::unordered_map<const Value*, Value*> copies;
    for (size_t i = 0; i < node->inputs().size(); ++i) copies[form->inputs()[i]] = node->input(i);
    for (Node* inner : form->nodes()) {
      Node* copy = node->graph().createClone(inner, [&](Value* value) { return copies.at(value); });
      copy->insertBefore(node);
      copyLocationThroughout(copy, node);
      // What an operator that is cast for calls is not cast for again.
      if (isWithoutAutocast(*node)) markThroughout(copy);
      for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
    }
    node->output()->replaceAllUsesWith(copies.at(form->outputs()[0]));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool decomposeForGradients(Graph& graph, const TypeAssumptions& assumptions) {
  if (!decomposeIn(graph.block())) return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

}  // namespace cresset
