#include "cresset/functionalization/view_writes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/writes.h"
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

/// Not in blocks with another state of the thread: the view would have another place on the tape than the tensor.
bool replaceIn(Block* block, const StateScopes& scopes) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= replaceIn(inner, scopes);
    changed |= scopes.of(node) == 0 && replace(node);
  }
  return changed;
}

/// The elements of a list that nothing changes, and `reader` only reads; none if it may be another one.
std::optional<std::vector<Value*>> elementsOf(const Value* list, const Node* reader) {
  const auto isRead = [&](const Use& use) {
    const Operator* op = knownOperator(*use.user);
    return use.user == reader || (op && op->isOfDispatcher());
  };
  if (list->node()->kind() != prim::ListConstruct || !std::ranges::all_of(list->uses(), isRead)) return std::nullopt;
  return const_cast<Node*>(list->node())->inputs().vec();
}

bool splitListWrite(Node* node, const Places& places) {
  const TensorWritesOfNode writes = writesOfNode(*node);
  if (!writes.op || !writes.is_known) return false;
  if (!isForEach(*writes.op) || !entanglesElements(*node, writes, places)) return false;
  if (std::ranges::any_of(node->outputs(), [](const Value* output) { return output->hasUses(); })) return false;
  std::vector<std::vector<Value*>> elements(node->inputs().size());  // of the inputs that are lists
  for (size_t i = 0; i < elements.size(); ++i) {
    if (node->input(i)->type()->kind() != c10::TypeKind::ListType) continue;
    auto of = elementsOf(node->input(i), node);
    if (!of || of->size() != writes.tensors.size()) return false;
    elements[i] = std::move(*of);
  }
  Graph& graph = node->graph();
  const InsertPointGuard guard(graph, node);
  graph.setLocation(node->sourceRange(), node->inlinedCall());
  for (size_t element = 0; element < writes.tensors.size(); ++element) {
    std::vector<Value*> inputs = node->inputs().vec();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (elements[i].empty()) continue;
      Node* list = graph.create(prim::ListConstruct, {elements[i][element]});
      inputs[i] = graph.insertNode(list)->output()->setType(node->input(i)->type());
    }
    Node* call = graph.insertNode(graph.create(node->kind(), inputs, node->outputs().size()));
    call->bindOperator(writes.op);
    for (size_t i = 0; i < call->outputs().size(); ++i) call->output(i)->setType(node->output(i)->type());
  }
  node->destroy();
  return true;
}

bool splitListWritesIn(Block* block, const Places& places) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= splitListWritesIn(inner, places);
    changed |= splitListWrite(node, places);
  }
  return changed;
}

/// The operator that takes a list of optional tensors where this one, which scripts call, takes a list of tensors.
const Operator* withOptionals(const Node& node) {
  const Operator* op = knownOperator(node);
  const bool is_twin = op && op->isMutable() && op->schema().overload_name() == "hacked_twin";
  return is_twin ? OperatorTable::get().find(op->schema().name()) : nullptr;
}

bool replaceTwin(Node* node) {
  const Operator* op = withOptionals(*node);
  if (!op || op->schema().arguments().size() != node->inputs().size()) return false;
  std::vector<Value*> inputs = node->inputs().vec();
  Graph& graph = node->graph();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::TypePtr& type = op->schema().arguments()[i].type();
    if (inputs[i]->type()->isSubtypeOf(*type)) continue;
    const auto elements = elementsOf(inputs[i], node);
    if (!elements) return false;
    Node* list = graph.create(prim::ListConstruct, *elements);
    list->insertBefore(node)->copyLocation(node);
    inputs[i] = list->output()->setType(type);
  }
  Node* call = graph.create(node->kind(), inputs);
  call->insertBefore(node)->copyLocation(node);
  call->bindOperator(op);
  call->output()->setType(node->output()->type());
  node->output()->replaceAllUsesWith(call->output());
  node->destroy();
  return true;
}

bool replaceTwinsIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= replaceTwinsIn(inner);
    changed |= replaceTwin(node);
  }
  return changed;
}

}  // namespace

bool replaceTwins(Graph& graph) {
  return replaceTwinsIn(graph.block());
}

bool replaceViewWrites(Graph& graph) {
  return replaceIn(graph.block(), StateScopes(graph));
}

bool splitListWrites(Graph& graph, const Places& places) {
  return splitListWritesIn(graph.block(), places);
}

}  // namespace cresset
