#include "cresset/analysis/operator_facts.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/autocast.h"
#include "cresset/analysis/containers.h"
#include "cresset/analysis/fact_rule.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/without_autocast.h"

namespace cresset {

namespace {

using c10::TypeKind;

/// The device of all tensors that the node takes, if it is one. Numbers may come as CPU tensors without dimensions.
std::optional<c10::Device> deviceOf(std::span<const Fact> arguments) {
  std::optional<c10::Device> device;
  bool known = true;
  const auto look = [&](const auto& self, const Fact& argument) -> void {
    if (argument.isTensor()) {
      known &= argument.device && (!device || *device == *argument.device);
      device = argument.device;
    } else if (argument.kind == Fact::Kind::List || argument.kind == Fact::Kind::ListOf) {
      for (const Fact& element : argument.elements) self(self, element);
    }
  };
  for (const Fact& argument : arguments) look(look, argument);
  return known ? device : std::nullopt;
}

}  // namespace

OperatorFacts::OperatorFacts(ValueFacts& values, Graph& graph, const TypeAssumptions& assumptions)
    : values_(values),
      autocast_(assumptions.autocast),
      grad_mode_(assumptions.grad_mode),
      plain_(assumptions.usual_dispatch && !assumptions.autocast.isOn()),
      usual_(assumptions.usual_dispatch) {
  lookForState(graph, graph.block());
}

void OperatorFacts::lookForState(Graph& graph, Block* block) {
  for (Node* node : block->nodes()) {
    if (changesState(*node)) {
      grad_mode_ = true;  // may be on somewhere
      const bool is_call = node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
      if (!is_call && !changesGradModeOnly(*node) && !scopes_) scopes_.emplace(graph);
    }
    for (Block* inner : Bodies(*node)) lookForState(graph, inner);
  }
}

Fact OperatorFacts::factOfGradient(const Node* element) const {
  if (entryUse(*element) != EntryUse::Reads || !hasTrait(*element->input(0)->node(), Trait::ComputesGradients))
    return {};
  const Node* call = element->input(0)->node();
  const Node* inputs = call->input(1)->node();
  const auto index = constantAs<int64_t>(element->input(1));
  if (!index || inputs->kind() != prim::ListConstruct || values_.memory().hasWriters(call->input(1)) ||
      values_.memory().hasWriters(call->output()) || *index < 0 ||
      static_cast<size_t>(*index) >= inputs->inputs().size())
    return {};
  Fact fact = values_.tensorFact(inputs->input(static_cast<size_t>(*index)));
  fact.forgetLayout();
  const auto create_graph = constantAs<bool>(call->input(4));
  fact.requires_grad = create_graph == std::optional(false) ? create_graph : std::nullopt;
  return fact;
}

/// Whether no result of the node can require a gradient.
bool OperatorFacts::needsNoGrad(const Node* node) const {
  for (const Value* input : node->inputs()) {
    if (isTensor(input)) {
      if (values_.get(input).requires_grad != std::optional(false)) return false;
      continue;
    }
    if (isNoneConstant(input) || !mayHoldTensors(*input->type())) continue;
    const Node* maker = input->node();
    if (maker->kind() != prim::ListConstruct) return false;
    if (values_.memory().hasWriters(input)) {
      const Fact filled = factOfFilledList(input, node);
      if (filled.elements.empty() || filled.elements[0].requires_grad != std::optional(false)) return false;
      continue;
    }
    for (const Value* element : maker->inputs()) {
      if (isTensor(element) ? values_.get(element).requires_grad != std::optional(false)
                            : mayHoldTensors(*element->type()))
        return false;
    }
  }
  return true;
}

namespace {

/// Each reader of a filled list looks at all of the list's uses: of longer lists nothing is said, so that cost stays
/// linear.
constexpr size_t kMostUsesOfFilledList = 256;

/// Whether the node puts a value into the list that is its first input, and does nothing else with it; which input.
std::optional<size_t> placeOfAdded(const Node* node) {
  if (!node->outputs().empty() && node->output(0)->hasUses()) return std::nullopt;
  const EntryUse use = entryUse(*node);
  if (use == EntryUse::Adds) return 1;
  return use == EntryUse::Sets ? std::optional<size_t>(2) : std::nullopt;
}

/// Whether `first` has run for the last time when `then` runs, of what is done with a value that `maker` makes.
bool isOverBefore(const Node* first, const Node* then, const Node* maker) {
  if (!first->isBefore(then)) return false;
  for (const Node* owner = then->owningBlock()->owningNode(); owner; owner = owner->owningBlock()->owningNode()) {
    if (owner->kind() == prim::Loop && first->isInside(owner) && !maker->isInside(owner)) return false;
  }
  return true;
}

}  // namespace

/// What holds of each element of a list that the graph makes and fills, where a node reads it: nothing but what puts
/// elements into it and what looks at it has the list, and it was filled before.
Fact OperatorFacts::factOfFilledList(const Value* list, const Node* reader) const {
  const Node* maker = list->node();
  if (maker->kind() != prim::ListConstruct || list->uses().size() > kMostUsesOfFilledList) return {};
  std::optional<Fact> common;
  const auto add = [&](const Value* element) {
    Fact fact = isTensor(element) ? values_.tensorFact(element) : Fact();
    fact.forgetLayout();
    for (Fact& dimension : fact.elements) dimension = Fact::integer(Size());  // by variables of the loop's body
    common = common ? Fact::common(*common, fact) : fact;
  };
  for (const Value* element : maker->inputs()) add(element);
  for (const Use& use : list->uses()) {
    const auto place = use.offset == 0 ? placeOfAdded(use.user) : std::nullopt;
    if (!place) {
      if (!onlyReadsElements(*use.user)) return {};
      continue;
    }
    if (!isOverBefore(use.user, reader, maker)) return {};
    add(use.user->input(*place));
  }
  return common && common->isTensor() ? Fact::listOf(std::move(*common)) : Fact();
}

const Value* elementOfTuple(const Value* value) {
  const Node* node = value->node();
  if (node->kind() != prim::TupleUnpack && node->kind() != prim::TupleIndex) return nullptr;
  const Node* made = node->input(0)->node();
  if (made->kind() != prim::TupleConstruct) return nullptr;
  if (node->kind() == prim::TupleUnpack) return made->input(value->offset());
  const auto count = static_cast<int64_t>(made->inputs().size());
  const auto index = constantAs<int64_t>(node->input(1));
  if (!index || *index < -count || *index >= count) return nullptr;
  return made->input(static_cast<size_t>(*index < 0 ? *index + count : *index));
}

Fact OperatorFacts::factOf(const Value* value) const {
  if (isTensor(value)) return values_.tensorFact(value);
  while (const Value* element = elementOfTuple(value)) value = element;
  if (const auto constant = toIValue(value)) return Fact::of(*constant);
  switch (value->type()->kind()) {
    case TypeKind::IntType:
      return Fact::integer(values_.sizeOf(value));
    case TypeKind::ListType:
      return values_.memory().hasWriters(value) ? Fact() : factOfList(value->node());
    default:
      return Fact::ofType(*value->type());
  }
}

Fact OperatorFacts::factOfList(Node* maker) const {
  if (maker->kind() == prim::ListConstruct) {
    std::vector<Fact> elements;
    for (const Value* element : maker->inputs()) elements.push_back(factOf(element));
    return Fact::list(std::move(elements));
  }
  if (isStructural(maker->kind()) || maker->outputs().size() != 1) return {};
  const Operator* op = operatorOf(*maker);
  std::vector<Fact> results = op ? resultsOf(maker, *op) : std::vector<Fact>();
  if (results.empty()) return {};
  if (needsNoGrad(maker)) {
    for (Fact& element : results[0].elements) element.requires_grad = false;
  }
  return std::move(results[0]);
}

/// Whether operators compute in the dtypes of their arguments there.
bool OperatorFacts::isPlainAt(const Node* node) const {
  if (isWithoutAutocast(*node)) return usual_;
  return plain_ && (!scopes_ || scopes_->of(node) == 0);
}

/// Makes the arguments what autocast makes of them; false if that is not known.
bool OperatorFacts::applyAutocast(Node* node, const Operator& op, std::vector<Fact>& arguments) const {
  if (!usual_ || (scopes_ && scopes_->of(node) != 0)) return false;
  // Its elements can't be cast before they are in the list (passes/insert_autocast_casts.cpp).
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Node* maker = node->input(i)->node();
    if (!arguments[i].elements.empty() && !arguments[i].isTensor() && maker->kind() != prim::ListConstruct &&
        mayHoldTensors(*node->input(i)->type()))
      arguments[i] = Fact();
  }
  const auto call = autocastCall(op, arguments, autocast_);
  if (!call) return false;
  for (size_t i = 0; i < arguments.size() && i < op.schema().arguments().size(); ++i)
    arguments[i] = call->apply(op.schema().arguments()[i], i, std::move(arguments[i]));
  return true;
}

/// What the operator's rule says; nothing if it has none, or if operators may compute in other dtypes.
std::vector<Fact> OperatorFacts::resultsOf(Node* node, const Operator& op) const {
  const FactRule* rule = FactRule::of(op);
  if (!rule && !op.isInPlaceReuse()) return {};
  std::vector<Fact> arguments;
  arguments.reserve(node->inputs().size());
  const bool plain = isPlainAt(node);
  for (const Value* input : node->inputs()) {
    const bool is_filled = plain && input->type()->kind() == TypeKind::ListType && values_.memory().hasWriters(input);
    arguments.push_back(is_filled ? factOfFilledList(input, node) : factOf(input));
  }
  if (!plain && !applyAutocast(node, op, arguments)) return {};
  std::vector<Fact> results;
  if (rule) {
    results = rule->evaluate(op, arguments);
  } else {  // an in-place reuse is what its first argument becomes, or a copy of that
    results.push_back(arguments[0]);
    results[0].requires_grad = std::nullopt;
    const Contiguity before = results[0].contiguity;
    results[0].forgetLayout();
    results[0].contiguity = before == Contiguity::Contiguous ? before : common(before, Contiguity::Strided);
  }
  const auto device = deviceOf(arguments);
  const auto inherit = [&](Fact& fact) {
    if (fact.inherits_device) fact.device = device;
  };
  for (Fact& result : results) {
    inherit(result);
    for (Fact& element : result.elements) inherit(element);
  }
  return results;
}

void OperatorFacts::visit(Node* node) {
  const auto outputs = node->outputs();
  if (std::none_of(outputs.begin(), outputs.end(), [&](const Value* output) { return values_.isFollowed(output); }))
    return;
  const Operator* op = operatorOf(*node);
  if (!op) return;
  if (op->hasTrait(Trait::Unwraps)) {
    values_.set(node->output(), isTensor(node->input(0)) ? values_.tensorFact(node->input(0)) : Fact());
    return;
  }
  if (op->isOfDispatcher() && op->isMutable() && op->schema().name().ends_with('_') && isTensor(node->input(0))) {
    if (outputs.size() == 1)
      values_.set(
          node->output(), values_.tensorFact(node->input(0)));  // which has writers: values_.set() knows what stays
    return;
  }
  const bool has_rule = FactRule::of(*op) || op->isInPlaceReuse();
  if ((!op->fullName().starts_with("aten::") && !has_rule) || op->isMutable()) return;
  // With gradients off, what is computed anew requires none; an argument that is returned itself keeps its flag.
  const bool no_grad = needsNoGrad(node) || (!grad_mode_ && op->isPure() && !op->asksAutograd());
  const std::vector<Fact> results = resultsOf(node, *op);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Fact fact = i < results.size() ? results[i] : Fact();
    if (isTensor(outputs[i])) {
      const bool is_none = fact.kind == Fact::Kind::None;
      const bool is_discrete =
          fact.isTensor() && fact.dtype && !at::isFloatingType(*fact.dtype) && !at::isComplexType(*fact.dtype);
      if (!fact.isTensor()) fact = Fact::tensor({});
      if (no_grad || is_none || is_discrete) fact.requires_grad = false;
    }
    values_.set(outputs[i], fact);
    if (isTensor(outputs[i]) && returnsNewMemory(*op, i)) values_.setNew(outputs[i]);
  }
}

}  // namespace cresset
