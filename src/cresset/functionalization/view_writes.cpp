#include "cresset/functionalization/view_writes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/ir/nesting.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"

namespace cresset {

namespace {

/// The view that the node makes of its first argument itself; null if it is another node.
const Operator* viewWrittenBy(const Node& node) {
  const Operator* op = knownOperator(node);
  const bool is_candidate = op && op->isOfDispatcher() && op->isMutable() && node.outputs().size() == 1;
  const Operator* view = is_candidate ? viewForm(op->schema()) : nullptr;
  return view && isReversibleView(*view) && !isViewsInList(*view) ? view : nullptr;
}

/// All values that are the same tensor as what `node` writes, if they are all in its block and were made there; none
/// otherwise.
std::optional<std::vector<Value*>> namesBefore(Node* node) {
  std::vector<Value*> names{node->input(0)};
  while (true) {  // back to the value that an operator has made
    const Node* source = names[0]->node();
    const Operator* op = knownOperator(*source);
    if (!op || !op->isOfDispatcher() || source->owningBlock() != node->owningBlock()) return std::nullopt;
    const auto argument = argumentOf(op->schema(), names[0]->offset());
    if (argument && isWritten(op->schema().arguments()[*argument])) {
      names[0] = source->inputs()[*argument];
      continue;
    }
    if (op->mayShareArguments() || op->mayReturnSelf()) return std::nullopt;
    break;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Use& use : names[i]->uses()) {
      const Node* user = ancestorIn(node->owningBlock(), use.user);
      if (!user || user == node || !user->isBefore(node)) continue;
      const Operator* op = use.user == user ? knownOperator(*user) : nullptr;
      if (!op || !op->isOfDispatcher() || op->mayShareArguments() || op->mayReturnSelf()) return std::nullopt;
      for (Value* result : use.user->outputs()) {
        const auto argument = argumentOf(op->schema(), result->offset());
        if (argument == use.offset && isWritten(op->schema().arguments()[*argument])) names.push_back(result);
      }
    }
  }
  return names;
}

bool replace(Node* node) {
  const Operator* view = viewWrittenBy(*node);
  const auto names = view ? namesBefore(node) : std::nullopt;
  if (!names) return false;
  Node* made = node->graph().create(view->kind(), node->inputs().vec());
  made->insertBefore(node)->copyLocation(node);
  made->bindOperator(view);
  made->output()->setType(c10::TensorType::get());
  for (Value* name : *names) {
    const auto uses = name->uses();
    for (const Use& use : std::vector<Use>(uses.begin(), uses.end())) {
      const Node* user = ancestorIn(node->owningBlock(), use.user);
      if (user && user != node && node->isBefore(user)) use.user->replaceInput(use.offset, made->output());
    }
  }
  node->output()->replaceAllUsesWith(made->output());
  node->destroy();
  return true;
}

bool replaceIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= replaceIn(inner);
    changed |= replace(node);
  }
  return changed;
}

}  // namespace

bool replaceViewWrites(Graph& graph) {
  return replaceIn(graph.block());
}

}  // namespace cresset
