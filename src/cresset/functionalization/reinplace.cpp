// The opposite of functionalization: memory that is dead is used again.
//
// `aten::select_scatter(base, part, …)` becomes `cresset::select_assign`, and `slice_scatter` `cresset::slice_assign`,
// which write into `base` where they hold the only reference to it. They broadcast and convert what they assign,
// scatters refuse it, so `part` must be known to have the sizes: it is what an operator that keeps sizes made of the
// same part of `base`.
//
// `aten::copy_(x, v)` at the end of a chain `v = f(g(x))` of in-place reuses becomes the in-place operators `g_(x)`,
// `f_(x)`, if nothing between looks at memory that may be that of `x`, and what read the values between is done with
// them.
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

const Operator* dispatched(const Node& node) {
  const Operator* op = knownOperator(node);
  return op && op->isOfDispatcher() ? op : nullptr;
}

bool isCall(const Node& node, std::string_view name) {
  const Operator* op = knownOperator(node);
  return op && op->fullName() == name;
}

/// Whether two values are the same, or equal constants.
bool areEqual(const Value* a, const Value* b) {
  if (a == b) return true;
  const auto one = toIValue(a), other = toIValue(b);
  return one && other && (one->isInt() || one->isNone()) && one->tagKind() == other->tagKind() &&
         (one->isNone() || one->toInt() == other->toInt());
}

/// Whether an operator made the tensor: then it is dense, and a copy of it has its strides.
bool isMade(const Value* tensor) {
  const Operator* op = knownOperator(*tensor->node());
  return op && (op->reusesFirst() || returnsNewMemory(*op, tensor->offset()));
}

/// The scatter's part is a tensor of the sizes that it replaces.
bool keepsSizesOfPart(const Node& scatter, std::string_view view) {
  if (!isMade(scatter.inputs()[0])) return false;
  const Value* part = scatter.inputs()[1];
  for (;;) {
    const Node& source = *part->node();
    const Operator* op = dispatched(source);
    if (!op) return false;
    if (op->fullName() == view) {
      if (source.inputs()[0] != scatter.inputs()[0]) return false;
      for (size_t i = 1; i < source.inputs().size(); ++i) {
        if (!areEqual(source.inputs()[i], scatter.inputs()[i + 1])) return false;
      }
      return source.inputs().size() + 1 == scatter.inputs().size();
    }
    if (!op->isInPlaceReuse() && !op->keepsSizes()) return false;
    part = source.inputs()[0];
  }
}

bool assignParts(Block* block) {
  static const Symbol kSelect = Symbol::fromQualString("cresset::select_assign"),
                      kSlice = Symbol::fromQualString("cresset::slice_assign");
  bool changed = false;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) changed |= assignParts(inner);
    if (isCall(*node, "aten::select_scatter") && keepsSizesOfPart(*node, "aten::select.int")) {
      node->setKind(kSelect);
    } else if (isCall(*node, "aten::slice_scatter") && keepsSizesOfPart(*node, "aten::slice.Tensor")) {
      node->setKind(kSlice);
    } else {
      continue;
    }
    changed = true;
  }
  return changed;
}

/// Whether the node only reads, and nothing that comes out holds what it read.
bool onlyReads(const Node& node) {
  const Operator* op = dispatched(node);
  if (!op || op->isMutable()) return false;
  if (op->isInPlaceReuse()) return true;
  const auto outputs = node.outputs();
  return std::all_of(
      outputs.begin(), outputs.end(), [&](const Value* output) { return returnsNewMemory(*op, output->offset()); });
}

/// The in-place operator whose reuse the node calls; null if it calls none.
const Operator* inPlaceFormOf(const Node& node) {
  const Operator* op = knownOperator(node);
  if (!op || !op->isInPlaceReuse() || node.outputs().size() != 1) return nullptr;
  const std::string& overload = op->schema().overload_name();
  const std::string name = "aten::" + op->schema().name().substr(std::string_view("cresset::").size()) + "_" +
                           (overload.empty() ? "" : "." + overload);
  const Operator* form = OperatorTable::get().find(name);
  return form && form->inPlaceReuse() == op ? form : nullptr;
}

class CopyBack {
 public:
  CopyBack(Node* copy, AliasDb& aliases) : copy_(copy), target_(copy->input(0)), aliases_(aliases) {}

  /// Finds the chain from the copy back to its target.
  bool find() {
    if (copy_->output()->hasUses()) return false;
    Value* value = copy_->input(1);
    while (value != target_) {
      Node* node = value->node();
      if (node->owningBlock() != copy_->owningBlock() || !inPlaceFormOf(*node)) return false;
      chain_.push_back(node);
      value = node->input(0);
    }
    std::reverse(chain_.begin(), chain_.end());
    return !chain_.empty() && isDoneWithValues() && isUnseen();
  }

  void replace() {
    for (Node* node : chain_) {
      const Operator* form = inPlaceFormOf(*node);
      node->replaceInput(0, target_);
      node->setKind(form->kind());
      node->bindOperator(form);
    }
    // Readers of the values between come before the next write, and read the target itself.
    for (Node* node : chain_) node->output()->replaceAllUsesWith(target_);
    copy_->destroy();
  }

 private:
  /// What reads a value of the chain does so before the next link changes it.
  bool isDoneWithValues() const {
    for (size_t i = 0; i < chain_.size(); ++i) {
      const Node* next = i + 1 < chain_.size() ? chain_[i + 1] : copy_;
      for (const Use& use : chain_[i]->output()->uses()) {
        if (use.user == next && use.offset == (next == copy_ ? 1U : 0U)) continue;
        if (!use.user->isBefore(next) || use.user->owningBlock() != copy_->owningBlock() || !onlyReads(*use.user))
          return false;
      }
    }
    return true;
  }

  /// Nothing between the first link and the copy looks at memory of the target.
  bool isUnseen() const {
    for (const Node* node = chain_[0]; node != copy_; node = node->next()) {
      const bool is_link = std::find(chain_.begin(), chain_.end(), node) != chain_.end();
      if (!node->blocks().empty() || (isStructural(node->kind()) && node->kind() != prim::Constant)) return false;
      for (size_t i = is_link ? 1 : 0; i < node->inputs().size(); ++i) {
        const Value* input = node->inputs()[i];
        if (mayHoldTensors(*input->type()) && aliases_.mayContainAlias(input, target_)) return false;
      }
    }
    return true;
  }

  Node* copy_;
  Value* target_;
  AliasDb& aliases_;
  std::vector<Node*> chain_;
};

void findCopies(Block* block, std::vector<Node*>& copies) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) findCopies(inner, copies);
    if (isCall(*node, "aten::copy_")) copies.push_back(node);
  }
}

}  // namespace

bool reinplace(Graph& graph, bool inputs_are_distinct) {
  bool changed = assignParts(graph.block());
  std::vector<Node*> copies;
  findCopies(graph.block(), copies);
  if (copies.empty()) return changed;
  const auto aliases = aliasesOfCalls(graph, inputs_are_distinct);
  std::vector<CopyBack> found;
  for (Node* copy : copies) {
    CopyBack back(copy, *aliases);
    if (back.find()) found.push_back(std::move(back));
  }
  for (CopyBack& back : found) back.replace();
  return changed || !found.empty();
}

}  // namespace cresset
