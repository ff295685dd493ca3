// Constant propagation: nodes whose inputs are all constants are computed, branches whose condition is constant give
// way to the block that runs, loops that run no iteration vanish.
//
// Only values that can't change are folded (numbers, bools, strings, devices, None, tuples of them), by operators that
// neither read nor write anything but their arguments. Lists of them are arguments where all that has them reads them.
// A computation that raises stays, since it raises where and when it is reached. Results that a short program could
// make huge (strings, mostly) are left alone.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

constexpr int64_t kMaxLength = 4096;  // of strings, and of numbers that may be lengths of strings
constexpr size_t kMaxElements = 64;   // of lists

bool isImmutable(const c10::IValue& value) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::all_of(elements.begin(), elements.end(), isImmutable);
  }
  return value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isNone() ||
         value.isComplexDouble() || value.isDevice();
}

/// Whether operators may be computed with the value: one that can't change, or a list of such.
bool isFoldable(const c10::IValue& value) {
  if (!value.isList()) return isImmutable(value);
  const auto elements = value.toListRef();
  return std::all_of(elements.begin(), elements.end(), isImmutable);
}

bool isShort(const c10::IValue& value, bool may_be_length) {
  if (value.isString()) return static_cast<int64_t>(value.toStringRef().size()) <= kMaxLength;
  return !may_be_length || !value.isInt() || (value.toInt() <= kMaxLength && value.toInt() >= -kMaxLength);
}

/// Whether a value may be a format of more than fields: "{:>1000000000}", "%1000000000d".
bool mayHaveWidth(const c10::IValue& value) {
  return value.isString() && value.toStringRef().find_first_of(":%") != std::string::npos;
}

/// A constant, or a list of constants that nothing can write to.
std::optional<c10::IValue> constantArgument(const Value* value) {
  if (value->node()->kind() != prim::ListConstruct) return toIValue(value);
  const auto uses = value->uses();
  const bool is_only_read =
      std::all_of(uses.begin(), uses.end(), [](const Use& use) { return onlyReadsElements(*use.user); });
  return is_only_read && value->node()->inputs().size() <= kMaxElements ? knownValue(*value) : std::nullopt;
}

class Propagator {
 public:
  bool run(Block* block) {
    for (Node* node = block->nodes().front(); node != block->returnNode();) {
      Node* next = node->next();
      if (node->kind() == prim::If) {
        next = visitIf(node);
      } else if (node->kind() == prim::Loop && runsNoIteration(node)) {
        for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->replaceAllUsesWith(node->input(i + 2));
        node->destroy();
        changed_ = true;
      } else if (node->blocks().empty()) {
        fold(node);
      } else {
        for (Block* inner : node->blocks()) run(inner);
      }
      node = next;
    }
    return changed_;
  }

 private:
  /// Returns the node to continue with.
  Node* visitIf(Node* node) {
    const auto condition = constantAs<bool>(node->input(0));
    if (!condition) {
      for (Block* inner : node->blocks()) run(inner);
      return node->next();
    }
    changed_ = true;
    Block* taken = node->blocks()[*condition ? 0 : 1];
    Node* first = nullptr;
    for (Node* inner : taken->nodesSafely()) {
      inner->moveBefore(node);
      if (!first) first = inner;
    }
    for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->replaceAllUsesWith(taken->outputs()[i]);
    Node* next = node->next();
    node->destroy();
    return first ? first : next;
  }

  static bool runsNoIteration(const Node* loop) {
    const auto count = constantAs<int64_t>(loop->input(0));
    const auto condition = constantAs<bool>(loop->input(1));
    return (count && *count <= 0) || (condition && !*condition);
  }

  void fold(Node* node) {
    if (node->kind() == prim::TupleUnpack) return unpack(node);
    if (isStructural(node->kind()) || node->outputs().empty()) return;
    for (const Value* output : node->outputs()) {
      if (!isImmutableType(*output->type())) return;
    }
    for (const Value* input : node->inputs()) {
      if (!isConstant(input) && input->node()->kind() != prim::ListConstruct) return;
    }
    const Operator* op = operatorOf(*node);
    if (!op || !op->kernel() || !op->isPure() || op->schema().is_varret()) return;
    const bool returns_string = node->output(0)->type()->kind() == c10::TypeKind::StringType;
    Stack stack;
    for (const Value* input : node->inputs()) {
      auto value = constantArgument(input);
      if (!value || !isFoldable(*value) || !isShort(*value, returns_string)) return;
      if (op->schema().is_vararg() && mayHaveWidth(*value)) return;
      stack.push_back(std::move(*value));
    }
    try {
      op->call(stack, stack.size());
    } catch (const std::exception&) {
      return;
    }
    const auto isFit = [](const c10::IValue& value) { return isImmutable(value) && isShort(value, false); };
    if (stack.size() == node->outputs().size() && std::all_of(stack.begin(), stack.end(), isFit))
      replaceByConstants(node, stack);
  }

  void unpack(Node* node) {
    const auto tuple = toIValue(node->input(0));
    if (!tuple || !tuple->isTuple() || !isImmutable(*tuple)) return;
    const std::vector<c10::IValue> elements = tuple->toTupleRef().elements().vec();
    if (elements.size() == node->outputs().size()) replaceByConstants(node, elements);
  }

  void replaceByConstants(Node* node, const std::vector<c10::IValue>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const c10::TypePtr type = values[i].isNone() ? node->output(i)->type() : c10::TypePtr();
      Value* constant = insertConstantBefore(node, values[i], type);
      if (node->output(i)->hasDebugName()) constant->setDebugName(node->output(i)->debugName());
      node->output(i)->replaceAllUsesWith(constant);
    }
    node->destroy();
    changed_ = true;
  }

  bool changed_ = false;
};

}  // namespace

bool propagateConstants(Graph& graph) {
  return Propagator().run(graph.block());
}

CRESSET_PASS(
    propagateConstants, "constant-propagation", All,
    "Compute what depends on constants only; take the branch that a constant condition chooses")

}  // namespace cresset
