// Loop-invariant code motion: what a loop computes anew in each iteration, from values that do not change, is computed
// once before it.
//
// A node moves only if that is not observable: it does not read what the loop writes, runs in the state of the thread
// that the loop is entered in, has no effect, and can't raise, since the loop may run no iteration. In a loop that runs
// at least once, nodes that may raise move too, as long as nothing stays before them that could be told apart from
// their exception. Memory that a node makes must stay within the loop and unwritten, since all iterations share it
// then; and no gradient may flow into it, which would be summed in another order.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/analysis/repeatable.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

bool runsOnce(const Node* loop) {
  const auto count = constantAs<int64_t>(loop->input(0));
  const auto first = constantAs<bool>(loop->input(1));
  return count && *count > 0 && first && *first;
}

class Hoister {
 public:
  explicit Hoister(Graph& graph) : memory_(aliasesOf(graph)), scopes_(graph) {}

  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) run(inner);
      if (node->kind() == prim::Loop) hoistFrom(node);
    }
    return changed_;
  }

 private:
  void hoistFrom(Node* loop) {
    Block* body = loop->blocks()[0];
    bool may_raise_first = runsOnce(loop);
    for (Node* node : body->nodesSafely()) {
      if (isInvariant(node, loop) && (may_raise_first || !mayRaise(*node))) {
        node->moveBefore(loop);
        changed_ = true;
      } else if (mayRaise(*node) || memory_->hasSideEffects(node) || memory_->isMutable(node)) {
        may_raise_first = false;
      }
    }
  }

  bool isInvariant(const Node* node, const Node* loop) {
    if (!node->blocks().empty() || node->outputs().empty() || scopes_.of(node) != scopes_.of(loop)) return false;
    for (const Value* input : node->inputs()) {
      if (input->node()->isInside(loop)) return false;
    }
    bool returns_existing = true;  // returns what was there before, the same one each time
    if (node->kind() == prim::Constant) {
      return std::none_of(node->outputs().begin(), node->outputs().end(), [&](const Value* output) {
        return memory_->hasWriters(output) || memory_->escapes(output);
      });
    }
    if (isStructural(node->kind())) {
      if (!isRepeatable(*node)) return false;
      returns_existing = returnsExistingValue(*node);
    } else {
      const Operator* op = operatorOf(*node);
      if (!op || op->isMutable() || op->hasSideEffects() || !op->isDeterministic()) return false;
      returns_existing = false;
    }
    if (memory_->isMutable(node) || memory_->hasSideEffects(node)) return false;
    // Of a node that may raise, what comes before it in the body decides, not the loop as a whole.
    if (mayRaise(*node) ? memory_->writesToAlias(loop, node->inputs().vec()) : memory_->conflict(node, loop))
      return false;
    if (returns_existing) return true;
    return std::none_of(node->outputs().begin(), node->outputs().end(), [&](const Value* output) {
      return (mayRequireGrad(output->type()) && !isTuple(output)) || memory_->hasWriters(output) ||
             memory_->escapes(output) || meetsOtherIterations(output);
    });
  }

  /// A later iteration could tell whether it has the same list as an earlier one.
  static bool meetsOtherIterations(const Value* value) {
    if (value->type()->kind() != c10::TypeKind::ListType) return false;
    const auto uses = value->uses();
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
      return use.user->isReturn() || hasTrait(*use.user, Trait::ComparesIdentity);
    });
  }

  /// Tuples only hold other values, which gradients reach as before.
  static bool isTuple(const Value* value) { return value->type()->kind() == c10::TypeKind::TupleType; }

  const std::shared_ptr<AliasDb> memory_;
  StateScopes scopes_;
  bool changed_ = false;
};

}  // namespace

static bool hoistLoopInvariants(Graph& graph) {
  return hasNode(graph.block(), prim::Loop) && Hoister(graph).run(graph.block());
}

CRESSET_PASS(hoistLoopInvariants, "licm", All, "Compute before a loop what each iteration computes alike")

}  // namespace cresset
