#include "cresset/functionalization/places.h"

#include <ATen/core/alias_info.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/facts.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"

namespace cresset {

namespace {

bool isTensor(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType;
}

bool isTensorOrNone(const Value* value) {
  return cresset::isTensorOrNone(*value->type());
}

/// Whether it is what a block returns that raises before.
bool isUninitialized(const Value& value) {
  return value.node()->kind() == prim::Uninitialized;
}

/// Whether the node may change a list of numbers that comes in.
bool mayChangeLists(const Node& node) {
  if (runsUnknown(node)) return true;
  const Operator* op = knownOperator(node);
  return op && op->isMutable() && std::ranges::any_of(op->schema().arguments(), [](const c10::Argument& argument) {
           return isWritten(argument) && argument.type()->kind() != c10::TypeKind::TensorType;
         });
}

/// Whether nothing can change the list of numbers that an operator has as an argument.
bool isSettled(const Value* argument, bool lists_change) {
  if (argument->type()->kind() != c10::TypeKind::ListType || isConstant(argument)) return true;
  if (argument->node() == argument->node()->graph().block()->paramNode()) return !lists_change;
  if (argument->node()->kind() != prim::ListConstruct) return false;
  const auto uses = argument->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Operator* op = knownOperator(*use.user);
    return op && use.offset < op->schema().arguments().size() && !op->schema().arguments()[use.offset].alias_info();
  });
}

}  // namespace

namespace {

/// Those of the dispatcher write to tensors in lists, but never to the lists.
bool isTakenByOperatorsOnly(const Value* list) {
  return std::ranges::all_of(list->uses(), [](const Use& use) {
    const Operator* op = knownOperator(*use.user);
    return op && op->isOfDispatcher();
  });
}

/// Whether the result is memory that the call made, be it beside what it writes to.
bool isNew(const Operator& op, size_t result) {
  const bool writes = op.isOfDispatcher() && op.isMutable() && !op.mayShareArguments() && !op.mayReturnSelf();
  return returnsNewMemory(op, result) || (writes && !op.schema().returns()[result].alias_info());
}

/// Whether an operator of Cresset's has made the tensor of what holds no tensor: torch.tensor, of numbers.
bool isMadeOfNumbers(const Operator& op, const Node& node, size_t result) {
  return !op.isOfDispatcher() && op.isPure() && !op.schema().returns()[result].alias_info() &&
         std::ranges::none_of(node.inputs(), [](const Value* input) { return mayHoldTensors(*input->type()); });
}

}  // namespace

TensorWritesOfNode writesOfNode(const Node& node) {
  TensorWritesOfNode writes;
  const Operator* op = knownOperator(node);
  // Of Cresset's own, the closing copies are what writes are replaced by.
  if (!op || (!op->isOfDispatcher() && !op->schema().name().starts_with("aten::"))) return writes;
  const HiddenWrites* hidden = op->isMutable() ? nullptr : hiddenWritesOf(*op);
  if (!op->isMutable() && !hidden) return writes;
  if (node.inputs().size() != op->schema().arguments().size()) return {op, {}, false};
  if (hidden && hidden->condition && constantAs<bool>(node.inputs()[*hidden->condition]) == false) return writes;
  for (const size_t i : tensorWritesOf(op->schema())) {
    const Value* argument = node.inputs()[i];
    if (argument->type()->kind() == c10::TypeKind::NoneType || isNoneConstant(argument)) continue;
    writes.op = op;
    if (isTensor(argument)) {
      writes.tensors.push_back(argument);
    } else if (argument->node()->kind() == prim::ListConstruct && isTakenByOperatorsOnly(argument)) {
      for (const Value* element : argument->node()->inputs()) writes.tensors.push_back(element);
    } else {
      writes.is_known = false;
    }
  }
  return writes;
}

Places::Places(Graph& graph)
    : sizes_change_(tensorWrites(graph) != TensorWrites::Elements),
      lists_change_(anyNode(graph.block(), [](Node* node) { return mayChangeLists(*node); })) {
  findSame(graph.block());
  for (const Value* input : graph.inputs()) {
    if (isTensorOrNone(input)) add(input, {.root = input});
  }
  visit(graph.block());
}

const Place* Places::of(const Value* value) const {
  const auto found = places_.find(canonical(value));
  return found == places_.end() ? nullptr : found->second;
}

const Value* Places::canonical(const Value* value) const {
  for (auto found = same_.find(value); found != same_.end(); found = same_.find(value)) value = found->second;
  return value;
}

/// What comes out of the branches: the same from both, or from the one that returns. Null if it is made in a branch.
const Value* Places::returnedBy(const Node& branches, size_t i) const {
  const Value* result = nullptr;
  for (const Block* block : branches.blocks()) {
    const Value* one = canonical(block->outputs()[i]);
    if (isUninitialized(*one)) continue;
    if (one->owningBlock() == block || (result && one != result)) return nullptr;
    result = one;
  }
  return result;
}

/// Inner blocks first, so that what a loop hands on is known when the loop is met.
void Places::findSame(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) findSame(inner);
    findSameIn(node);
  }
}

void Places::findSameIn(Node* node) {
  // Names of names are followed once, so that looking one up takes one step, but for what loops carry.
  const auto set = [&](const Value* value, const Value* other) { same_[value] = canonical(other); };
  if (node->kind() == prim::If) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* one = returnedBy(*node, i);
      if (one && isTensorOrNone(node->output(i))) set(node->output(i), one);
    }
  } else if (node->kind() == prim::Loop) {
    const Block* body = node->blocks()[0];
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* carried = body->inputs()[i + 1];
      if (!isTensorOrNone(carried) || canonical(body->outputs()[i + 1]) != carried) continue;
      set(carried, node->input(i + 2));
      set(node->output(i), node->input(i + 2));
    }
  } else if (node->kind() == prim::unchecked_cast) {
    if (isTensorOrNone(node->input(0)) && isTensorOrNone(node->output())) set(node->output(), node->input(0));
  } else if (const Operator* op = writesOfNode(*node).op) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const auto argument = argumentOf(op->schema(), i);
      if (argument && isTensor(node->output(i)) && isTensor(node->input(*argument)))
        set(node->output(i), node->input(*argument));
    }
  }
}

void Places::add(const Value* value, Place place) {
  places_[value] = &all_.emplace_back(place);
}

void Places::visit(Block* block) {
  for (Node* node : block->nodes()) {
    visit(node);
    for (Block* inner : node->blocks()) visit(inner);
    if (node->kind() == prim::If) join(node);
  }
}

/// What both branches make, or one where the other has None or raises, is, after them, a tensor of its own.
void Places::join(const Node* node) {
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const Value* output = node->output(i);
    size_t num_made = 0, num_none = 0;
    for (const Block* block : node->blocks()) {
      const Place* place = of(block->outputs()[i]);
      num_made += place && place->kind == Place::Kind::Root && place->root->owningBlock() == block;
      num_none += isNoneConstant(block->outputs()[i]) || isUninitialized(*block->outputs()[i]);
    }
    if (num_made > 0 && num_made + num_none == node->blocks().size() && isOwn(output)) add(output, {.root = output});
  }
}

void Places::visit(Node* node) {
  const bool is_element = isBasic(node, Basic::Element);
  if (node->kind() == prim::ListUnpack || is_element) {
    const Place* list = of(node->input(0));
    if (!list || list->kind != Place::Kind::List) return;
    const auto index = is_element ? constantAs<int64_t>(node->input(1)) : std::optional<int64_t>(0);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Place place{.kind = Place::Kind::Element, .root = list->root, .parent = list, .depth = list->depth};
      if (index) {
        place.index = *index + static_cast<int64_t>(i);
      } else {
        place.position = node->input(1);
      }
      add(node->output(i), place);
    }
    return;
  }
  const Operator* op = knownOperator(*node);
  if (!op) return;
  if (!op->isMutable() && isReversibleView(*op) && mayReturnView(*op)) {
    const Place* base = of(node->input(0));
    if (!base || base->depth == kMaxViewDepth) return;
    if (node->outputs().size() != 1 || node->inputs().size() != op->schema().arguments().size()) return;
    for (const Value* argument : node->inputs()) {
      if (!isSettled(argument, lists_change_)) return;
      // Of further tensors views take the sizes.
      if (argument != node->input(0) && isTensor(argument) && sizes_change_) return;
    }
    const auto kind = isViewsInList(*op) ? Place::Kind::List : Place::Kind::View;
    add(node->output(), {kind, base->root, base, node, 0, base->depth + 1});
    return;
  }
  if (op->schema().is_vararg() || op->schema().returns().size() != node->outputs().size()) return;
  for (const Value* output : node->outputs()) {
    if (!isTensor(output)) continue;
    if (isNew(*op, output->offset()) || isMadeOfNumbers(*op, *node, output->offset())) add(output, {.root = output});
  }
}

}  // namespace cresset
