// What a condition says of the values that it compares: in the branch of `if n == 4` the int `n` is 4, in that of
// `if len(xs) == 2` the list has two elements, and the condition itself is True. After `if n != 4: raise` too, and what
// the branch that doesn't raise has found out holds there as well. `n if n != 4 else 4` is `n`.
//
// Only what can't change is refined: ints, bools and strings, and the lengths of lists that nothing writes to.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

using c10::TypeKind;

constexpr int kMaxDepth = 32;  // of conditions in conditions

/// What holds in a block: of a value, or of the length of a list.
struct Refinement {
  Value* value = nullptr;
  bool is_length = false;
  c10::IValue constant;
};
using Refinements = std::vector<Refinement>;

bool isNamed(Node* node, std::string_view name) {
  if (isStructural(node->kind())) return false;
  const Operator* op = operatorOf(*node);
  return op && op->fullName() == name;
}

bool isRefinable(const c10::IValue& value) {
  return value.isInt() || value.isBool() || value.isString();
}

bool raises(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    if (node->kind() == prim::If) return raises(node->blocks()[0]) && raises(node->blocks()[1]);
    return isBasic(node, Basic::Raise);
  });
}

class Refiner {
 public:
  explicit Refiner(Graph& graph) : graph_(graph) {}

  bool run() {
    refineIn(graph_.block());
    return changed_;
  }

 private:
  bool isWritten(const Value* list) {
    if (!memory_) memory_ = aliasesOf(graph_);
    return memory_->hasWriters(list);
  }

  void addEqual(Value* value, const c10::IValue& constant, Refinements& found) {
    if (isConstant(value)) return;
    found.push_back({value, false, constant});
    if (isNamed(value->node(), "aten::len.t") && !isWritten(value->node()->input(0)))
      found.push_back({value->node()->input(0), true, constant});
  }

  /// What holds if the condition is `truth`.
  void collect(Value* condition, bool truth, Refinements& found, int depth = 0) {
    if (depth > kMaxDepth || isConstant(condition)) return;
    found.push_back({condition, false, truth});
    Node* node = condition->node();
    if (node->kind() == prim::If) {
      // `a and b` and `a or b`: one block returns the constant that the condition is not.
      const size_t i = condition->offset();
      for (const size_t constant : {size_t(0), size_t(1)}) {
        if (constantAs<bool>(node->blocks()[constant]->outputs()[i]) != !truth) continue;
        collect(node->input(0), constant == 1, found, depth + 1);
        collect(node->blocks()[1 - constant]->outputs()[i], truth, found, depth + 1);
        return;
      }
      return;
    }
    if (isBasic(node, Basic::Not)) return collect(node->input(0), !truth, found, depth + 1);
    const bool is_equal = isBasic(node, Basic::Equal), is_unequal = isBasic(node, Basic::Unequal);
    if (!is_equal && !is_unequal) return;
    for (const size_t side : {size_t(0), size_t(1)}) {
      const auto constant = toIValue(node->input(side));
      if (!constant || !isRefinable(*constant)) continue;
      // `a != True` says as much of a bool as `a == False`.
      if (constant->isBool() && node->input(1 - side)->type()->kind() == TypeKind::BoolType)
        return collect(node->input(1 - side), constant->toBool() == (is_equal == truth), found, depth + 1);
      if (is_equal != truth) return;
      if (*node->input(0)->type() == *node->input(1)->type()) addEqual(node->input(1 - side), *constant, found);
      return;
    }
  }

  /// Puts constants in the place of what is known, from `first` to the end of its block.
  void apply(const Refinements& known, Node* first) {
    for (const Refinement& refinement : known) {
      Value* constant = nullptr;
      const auto uses = refinement.value->uses().vec();
      for (const Use& use : uses) {
        if (!isReached(use.user, first)) continue;
        const bool is_length = refinement.is_length && isNamed(use.user, "aten::len.t");
        if (refinement.is_length != is_length || (is_length && !use.user->output()->hasUses())) continue;
        if (!constant) constant = insertConstantBefore(first, refinement.constant);
        if (is_length) {
          use.user->output()->replaceAllUsesWith(constant);
        } else {
          use.user->replaceInput(use.offset, constant);
        }
        changed_ = true;
      }
    }
  }

  /// Whether the node stands in the block of `first` (or in blocks nested there), and is not before it.
  static bool isReached(const Node* node, const Node* first) {
    const Node* place = ancestorIn(first->owningBlock(), node);
    return place && (place == first || place->isAfter(first));
  }

  static Node* firstOf(Block* block) { return block->nodes().front(); }

  /// Replaces an output that is a value where it differs from a constant, and that constant where it is equal, by the
  /// value.
  void joinEqual(Node* node) {
    Block* const sides[] = {node->blocks()[0], node->blocks()[1]};
    for (const size_t side : {size_t(0), size_t(1)}) {
      Refinements known;
      collect(node->input(0), side == 0, known);
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        Value* value = sides[1 - side]->outputs()[i];
        const auto constant = toIValue(sides[side]->outputs()[i]);
        if (!constant || !isRefinable(*constant) || !node->output(i)->hasUses() || value->node()->isInside(node))
          continue;
        const bool is_equal = std::any_of(known.begin(), known.end(), [&](const Refinement& refinement) {
          return refinement.value == value && !refinement.is_length && isSame(refinement.constant, *constant);
        });
        if (!is_equal || *value->type() != *node->output(i)->type()) continue;
        node->output(i)->replaceAllUsesWith(value);
        changed_ = true;
      }
    }
  }

  static bool isSame(const c10::IValue& a, const c10::IValue& b) {
    return a.isInt() == b.isInt() && a.isBool() == b.isBool() && a.isString() == b.isString() && a == b;
  }

  /// Returns what holds at the end of the block for all that comes after it.
  Refinements refineIn(Block* block) {
    Refinements at_end;
    for (Node* node : block->nodesSafely()) {
      if (node->kind() != prim::If) {
        for (Block* inner : node->blocks()) refineIn(inner);
        continue;
      }
      joinEqual(node);
      Refinements after[2];
      for (const size_t side : {size_t(0), size_t(1)}) {
        collect(node->input(0), side == 0, after[side]);
        apply(after[side], firstOf(node->blocks()[side]));
      }
      for (const size_t side : {size_t(0), size_t(1)}) {
        const Refinements inside = refineIn(node->blocks()[side]);
        after[side].insert(after[side].end(), inside.begin(), inside.end());
      }
      // What goes on has taken the branch that doesn't raise.
      const bool then_raises = raises(node->blocks()[0]), else_raises = raises(node->blocks()[1]);
      if (then_raises == else_raises) continue;
      const Refinements& known = after[then_raises ? 1 : 0];
      apply(known, node->next());
      at_end.insert(at_end.end(), known.begin(), known.end());
    }
    return at_end;
  }

  Graph& graph_;
  std::shared_ptr<AliasDb> memory_;  // of the graph before the first change: no list is written to by what is put in
  bool changed_ = false;
};

}  // namespace

static bool refineValues(Graph& graph) {
  return Refiner(graph).run();
}

CRESSET_PASS(
    refineValues, "refine-values", All,
    "Replace ints, strings and lengths of lists by what conditions say that they are")

}  // namespace cresset
