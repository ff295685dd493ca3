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

bool decomposeIn(Block* block, bool for_kernels) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= decomposeIn(inner, for_kernels);
    if (isStructural(node->kind())) continue;
    const auto outputs = node->outputs();
    const bool has_gradients =
        std::any_of(outputs.begin(), outputs.end(), [](const Value* output) { return mayRequireGrad(output->type()); });
    if (has_gradients == for_kernels) continue;
    const Operator* op = operatorOf(*node);
    const auto form = op && isOfRealNumbers(*node) ? decompositionOf(*op, *node, for_kernels) : nullptr;
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
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->replaceAllUsesWith(copies.at(form->outputs()[i]));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool decomposeForGradients(Graph& graph, const TypeAssumptions& assumptions) {
  if (!decomposeIn(graph.block(), /*for_kernels=*/false)) return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

bool decomposeForKernels(Graph& graph, const TypeAssumptions& assumptions) {
  if (assumptions.autocast.isOn() || !decomposeIn(graph.block(), /*for_kernels=*/true)) return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

}  // namespace cresset
