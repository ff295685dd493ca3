#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/regions.h"
#include "cresset/ir/insert_graph.h"
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

/// A mark of calls that a decomposition leaves to the operator itself: what it does for some sizes.
Symbol wholeAttribute() {
  static const Symbol kName = Symbol::attr("whole");
  return kName;
}

/// Marks the calls of the operator in copies of a decomposition.
void keepWhole(Node* node, const Operator& op) {
  if (!isStructural(node->kind()) && operatorOf(*node) == &op)
    node->setAttribute(wholeAttribute(), Attribute(int64_t(1)));
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) keepWhole(inner, op);
  }
}

class Decomposer {
 public:
  Decomposer(Graph& graph, const TypeAssumptions& assumptions, bool for_kernels)
      : scopes_(graph, StateScopes::Of::AllButGradMode),
        autocast_(assumptions.autocast.isOn()),
        for_kernels_(for_kernels) {}

  bool run(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= run(inner);
      changed |= !isStructural(node->kind()) && decompose(node);
    }
    return changed;
  }

 private:
  bool decompose(Node* node) {
    const auto outputs = node->outputs();
    const bool has_gradients =
        std::any_of(outputs.begin(), outputs.end(), [](const Value* output) { return mayRequireGrad(output->type()); });
    if (has_gradients == for_kernels_) return false;
    const Operator* op = operatorOf(*node);
    const bool autocast = mayBeInAutocast(*node);
    if (!op || (for_kernels_ && node->hasAttribute(wholeAttribute())) || !isOfRealNumbers(*node) ||
        (autocast && !isIndifferentToAutocast(*op)))
      return false;
    const auto form = decompositionOf(*op, *node, for_kernels_);
    if (!form) return false;
    // What an operator that is cast for calls is not cast for again.
    const bool is_cast = autocast || isWithoutAutocast(*node);
    const std::vector<Value*> results = insertGraph(*form, node->inputs().vec(), node, [&](Node* copy) {
      if (is_cast) markThroughout(copy);
      if (for_kernels_) keepWhole(copy, *op);
    });
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->replaceAllUsesWith(results[i]);
    node->destroy();
    return true;
  }

  /// Whether autocast may cast for the node when it runs: it is on around the call, and its casts do not stand in the
  /// graph, or the program may have turned it on.
  bool mayBeInAutocast(const Node& node) const {
    return !isWithoutAutocast(node) && (autocast_ || scopes_.of(&node) != 0);
  }

  /// Whether it does nothing to the operator, nor to what that calls.
  static bool isIndifferentToAutocast(const Operator& op) {
    return op.autocast(c10::DeviceType::CPU) == Autocast::None && op.autocast(c10::DeviceType::CUDA) == Autocast::None;
  }

  const StateScopes scopes_;
  const bool autocast_, for_kernels_;
};

}  // namespace

bool decomposeForGradients(Graph& graph, const TypeAssumptions& assumptions) {
  if (!Decomposer(graph, assumptions, /*for_kernels=*/false).run(graph.block())) return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

bool decomposeForKernels(Graph& graph, const TypeAssumptions& assumptions) {
  if (assumptions.autocast.isOn() || !Decomposer(graph, assumptions, /*for_kernels=*/true).run(graph.block()))
    return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

}  // namespace cresset
