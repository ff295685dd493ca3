// The emitter's own cleaning. See tidy.h.
//
// One traversal from the end of each block to its start: all users of a value come later in program order, so when a
// node is reached it is already known whether its outputs are used. Only nodes that can neither raise nor have an
// effect go.
#include "cresset/frontend/tidy.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace cresset {

namespace {

void tidyBlock(Block* block);

bool isLeftover(const Node* node) {
  switch (node->kind()) {
    case prim::Constant:
    case prim::Uninitialized:
    case prim::TupleConstruct:
    case prim::EmptyListLiteral:
    case prim::ListConstruct:
    case prim::DictConstruct:
    case prim::TupleUnpack:
    case prim::GetAttr:
    case prim::unchecked_cast:
    case prim::isinstance:
    case aten::__is__:
    case aten::__isnot__:
    case aten::__not__:
      return true;
    default:
      return false;
  }
}

bool isUnused(const Node* node) {
  return std::none_of(node->outputs().begin(), node->outputs().end(), [](const Value* v) { return v->hasUses(); });
}

void tidyIf(Node* node) {
  for (size_t i = node->outputs().size(); i-- > 0;) {
    if (node->outputs()[i]->hasUses()) continue;
    node->eraseOutput(i);
    for (Block* block : node->blocks()) block->eraseOutput(i);
  }
  for (Block* block : node->blocks()) tidyBlock(block);
  // Equal outputs on both sides come from outside.
  for (size_t i = node->outputs().size(); i-- > 0;) {
    Value* a = node->blocks()[0]->outputs()[i];
    if (a != node->blocks()[1]->outputs()[i]) continue;
    node->outputs()[i]->replaceAllUsesWith(a);
    node->eraseOutput(i);
    for (Block* block : node->blocks()) block->eraseOutput(i);
  }
  const bool empty = node->blocks()[0]->nodes().empty() && node->blocks()[1]->nodes().empty();
  if (empty && node->outputs().empty()) node->destroy();
}

void tidyLoop(Node* node) {
  Block* body = node->blocks()[0];
  // Loop outputs, block inputs and block outputs are shifted against each other: max_trip and cond come first among
  // the inputs, the index among the block's inputs, the condition among its outputs.
  for (size_t i = node->outputs().size(); i-- > 0;) {
    Value* in = body->inputs()[i + 1];
    const bool only_carried =
        !in->hasUses() || (in->uses().size() == 1 && in->uses().front() == Use{body->returnNode(), i + 1});
    if (node->outputs()[i]->hasUses() || !only_carried) continue;
    node->eraseOutput(i);
    body->eraseOutput(i + 1);
    body->eraseInput(i + 1);
    node->removeInput(i + 2);
  }
  tidyBlock(body);
}

void tidyBlock(Block* block) {
  for (Node* node = block->returnNode()->prev(); node != block->returnNode();) {
    Node* previous = node->prev();
    if (node->kind() == prim::If) {
      tidyIf(node);
    } else if (node->kind() == prim::Loop) {
      tidyLoop(node);
    } else if (isLeftover(node) && isUnused(node)) {
      node->destroy();
    } else if (node->kind() == prim::EmptyListLiteral) {
      node->setKind(prim::ListConstruct);
    }
    node = previous;
  }
}

}  // namespace

void tidy(Graph& graph) {
  tidyBlock(graph.block());
}

}  // namespace cresset
