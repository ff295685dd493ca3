// Values that branches and loops only pass through: an output of prim::If that both blocks return alike, a value that a
// loop carries without changing it, a bool that says which branch was taken.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// The same value, or constants that can't be distinguished.
bool isSameValue(const Value* a, const Value* b) {
  if (a == b) return true;
  if (!isConstant(a) || !isConstant(b) || *a->type() != *b->type()) return false;
  const auto x = toIValue(a), y = toIValue(b);
  if (!x || !y) return false;
  return (x->isInt() && y->isInt() && x->toInt() == y->toInt()) ||
         (x->isBool() && y->isBool() && x->toBool() == y->toBool()) ||
         (x->isString() && y->isString() && x->toStringRef() == y->toStringRef()) || (x->isNone() && y->isNone());
}

bool simplifyIf(Node* node) {
  Block *then = node->blocks()[0], *otherwise = node->blocks()[1];
  bool changed = false;
  for (size_t i = node->outputs().size(); i-- > 0;) {
    Value *a = then->outputs()[i], *b = otherwise->outputs()[i], *output = node->output(i);
    Value* replacement = nullptr;
    if (isSameValue(a, b)) {
      if (a->node()->isInside(node)) {
        if (!isConstant(a)) continue;
        a->node()->moveBefore(node);
      }
      replacement = a;
    } else if (output->hasUses()) {
      const auto x = toIValue(a), y = toIValue(b);
      const bool are_bools = x && y && x->isBool() && y->isBool() && x->toBool() != y->toBool();
      if (!are_bools) continue;
      if (x->toBool()) {
        replacement = node->input(0);
      } else {
        const InsertPointGuard guard(node->graph(), node);
        replacement = insertBasic(node->graph(), Basic::Not, {node->input(0)})->copyLocation(node)->output();
      }
    } else {
      continue;
    }
    output->replaceAllUsesWith(replacement);
    node->eraseOutput(i);
    then->eraseOutput(i);
    otherwise->eraseOutput(i);
    changed = true;
  }
  return changed;
}

bool simplifyLoop(Node* node) {
  Block* body = node->blocks()[0];
  bool changed = false;
  for (size_t i = node->outputs().size(); i-- > 0;) {
    Value *carried = body->inputs()[i + 1], *next = body->outputs()[i + 1], *initial = node->input(i + 2);
    if (next != carried && next != initial) continue;
    carried->replaceAllUsesWith(initial);
    node->output(i)->replaceAllUsesWith(initial);
    node->eraseOutput(i);
    body->eraseOutput(i + 1);
    body->eraseInput(i + 1);
    node->removeInput(i + 2);
    changed = true;
  }
  return changed;
}

bool simplifyIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= simplifyIn(inner);
    if (node->kind() == prim::If) changed |= simplifyIf(node);
    if (node->kind() == prim::Loop) changed |= simplifyLoop(node);
  }
  return changed;
}

}  // namespace

bool simplifyBranches(Graph& graph) {
  return simplifyIn(graph.block());
}

CRESSET_PASS(
    simplifyBranches, "simplify-branches", All,
    "Drop outputs of branches and loops that are unused or the same on all ways")

}  // namespace cresset
