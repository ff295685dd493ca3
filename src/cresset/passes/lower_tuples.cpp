// Tuples that only carry values from one place of the graph to another: an element is taken from where the tuple was
// put together; tuples that leave branches or are carried by loops become one value per element.
//
// Tuples can't change, so only identity could tell the difference (`a is b`): a tuple that is compared so stays whole.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/constants.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

bool isTuple(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TupleType;
}

bool isConstructed(const Value* value) {
  return value->node()->kind() == prim::TupleConstruct;
}

bool unpacksTuple(const Node* node) {
  return node->kind() == prim::TupleUnpack || node->kind() == prim::TupleIndex || node->kind() == prim::TupleSlice;
}

bool isUnpacked(const Value* value) {
  bool found = false;
  for (const Use& use : value->uses()) {
    if (hasTrait(*use.user, Trait::ComparesIdentity)) return false;
    found |= unpacksTuple(use.user) && use.offset == 0;
  }
  return found;
}

Value* construct(Graph& graph, const c10::TypePtr& type, std::span<Value* const> elements) {
  Node* node = graph.insertNode(graph.create(prim::TupleConstruct, elements));
  node->output()->setType(type);
  return node->output();
}

std::vector<Value*> unpack(Graph& graph, Value* tuple) {
  const auto& types = tuple->type()->expectRef<c10::TupleType>().elements();
  Node* node = graph.insertNode(graph.create(prim::TupleUnpack, {tuple}, types.size()));
  for (size_t i = 0; i < types.size(); ++i) node->output(i)->setType(types[i]);
  return {node->outputs().begin(), node->outputs().end()};
}

/// Replaces outputs of `node`, which unpacks what TupleConstruct has just made.
bool forward(Node* node) {
  if (!unpacksTuple(node) || !isConstructed(node->input(0))) return false;
  Node* made = node->input(0)->node();
  const auto elements = made->inputs();
  if (node->kind() == prim::TupleUnpack) {
    for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->replaceAllUsesWith(elements[i]);
  } else if (node->kind() == prim::TupleIndex) {
    const auto place = placeInTuple(*node);
    if (!place) return false;
    node->output()->replaceAllUsesWith(elements[*place]);
  } else {
    Graph& graph = node->graph();
    const InsertPointGuard guard(graph, node);
    std::vector<Value*> part;
    for (int64_t i = node->i(attr::beg); i < node->i(attr::end); ++i) part.push_back(elements[static_cast<size_t>(i)]);
    node->output()->replaceAllUsesWith(construct(graph, node->output()->type(), part));
  }
  node->destroy();
  if (!made->output()->hasUses()) made->destroy();
  return true;
}

/// A tuple that both blocks return, or one of them makes, becomes one output per element.
bool splitIfOutput(Node* node, size_t i) {
  Value* output = node->output(i);
  if (!isTuple(output) || !isUnpacked(output)) return false;
  const auto blocks = node->blocks();
  if (std::none_of(blocks.begin(), blocks.end(), [&](Block* block) { return isConstructed(block->outputs()[i]); }) ||
      !std::all_of(blocks.begin(), blocks.end(), [&](Block* block) { return isTuple(block->outputs()[i]); }))
    return false;
  Graph& graph = node->graph();
  const auto types = output->type()->expectRef<c10::TupleType>().elements().vec();
  for (Block* block : blocks) {
    const InsertPointGuard guard(graph, block);
    const std::vector<Value*> elements = unpack(graph, block->outputs()[i]);
    for (size_t k = 0; k < elements.size(); ++k) block->insertOutput(i + 1 + k, elements[k]);
  }
  std::vector<Value*> elements;
  for (size_t k = 0; k < types.size(); ++k) elements.push_back(node->insertOutput(i + 1 + k)->setType(types[k]));
  const InsertPointGuard guard(graph, node->next());
  output->replaceAllUsesWith(construct(graph, output->type(), elements));
  node->eraseOutput(i);
  for (Block* block : blocks) block->eraseOutput(i);
  return true;
}

bool splitCarried(Node* node, size_t i) {
  Block* body = node->blocks()[0];
  Value *carried = body->inputs()[i + 1], *output = node->output(i);
  if (!isTuple(carried) || !(isUnpacked(carried) || isUnpacked(output))) return false;
  if (!isConstructed(node->input(i + 2)) && !isConstructed(body->outputs()[i + 1])) return false;
  if (!isTuple(node->input(i + 2)) || !isTuple(body->outputs()[i + 1])) return false;
  const auto compared = [](const Value* value) {
    const auto uses = value->uses();
    return std::any_of(
        uses.begin(), uses.end(), [](const Use& use) { return hasTrait(*use.user, Trait::ComparesIdentity); });
  };
  if (compared(carried) || compared(output)) return false;
  Graph& graph = node->graph();
  const auto types = carried->type()->expectRef<c10::TupleType>().elements().vec();
  const size_t count = types.size();
  {
    const InsertPointGuard guard(graph, node);
    const std::vector<Value*> elements = unpack(graph, node->input(i + 2));
    for (size_t k = 0; k < count; ++k) node->insertInput(i + 3 + k, elements[k]);
    node->removeInput(i + 2);
  }
  {
    const InsertPointGuard guard(graph, body);
    const std::vector<Value*> elements = unpack(graph, body->outputs()[i + 1]);
    for (size_t k = 0; k < count; ++k) body->insertOutput(i + 2 + k, elements[k]);
    body->eraseOutput(i + 1);
  }
  {
    std::vector<Value*> elements;
    for (size_t k = 0; k < count; ++k) elements.push_back(body->insertInput(i + 2 + k)->setType(types[k]));
    const InsertPointGuard guard(graph, body->nodes().front());
    carried->replaceAllUsesWith(construct(graph, carried->type(), elements));
    body->eraseInput(i + 1);
  }
  std::vector<Value*> elements;
  for (size_t k = 0; k < count; ++k) elements.push_back(node->insertOutput(i + 1 + k)->setType(types[k]));
  const InsertPointGuard guard(graph, node->next());
  output->replaceAllUsesWith(construct(graph, output->type(), elements));
  node->eraseOutput(i);
  return true;
}

bool lowerIn(Block* block) {
  bool changed = false;
  for (Node* node = block->nodes().front(); node != block->returnNode();) {
    // Nested tuples are decomposed one level at a time: what unpacks them stands after the node and is met next.
    for (size_t i = node->outputs().size(); i-- > 0;) {
      if (node->kind() == prim::If) changed |= splitIfOutput(node, i);
      if (node->kind() == prim::Loop) changed |= splitCarried(node, i);
    }
    for (Block* inner : node->blocks()) changed |= lowerIn(inner);
    Node* next = node->next();
    changed |= forward(node);
    node = next;
  }
  return changed;
}

}  // namespace

static bool lowerTuples(Graph& graph) {
  bool changed = false;
  while (lowerIn(graph.block())) changed = true;
  return changed;
}

CRESSET_PASS(
    lowerTuples, "lower-tuples", All, "Decompose tuples that only carry values from one place of the graph to another")

}  // namespace cresset
