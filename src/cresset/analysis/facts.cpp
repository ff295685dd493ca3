#include "cresset/analysis/facts.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/autocast.h"
#include "cresset/analysis/fact_rule.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/without_autocast.h"

namespace cresset {

namespace {

using c10::TypeKind;

bool isTensor(const Value* value) {
  return value->type()->kind() == TypeKind::TensorType;
}

class FactPropagator {
 public:
  FactPropagator(Graph& graph, const TypeAssumptions& assumptions)
      : graph_(graph),
        memory_(graph, AliasDb::When::WhenNeeded),
        facts_(graph.numValues()),
        autocast_(assumptions.autocast),
        plain_(assumptions.usual && !assumptions.autocast.isOn()),
        usual_(assumptions.usual) {
    grad_mode_ = assumptions.grad_mode;
    lookForState(graph.block());
    for (Value* input : graph.inputs()) set(input, TensorFacts::of(*input->type()));
  }

  std::vector<TensorFacts> run() {
    visit(graph_.block());
    return std::move(facts_);
  }

 private:
  void lookForState(Block* block) {
    for (Node* node : block->nodes()) {
      if (changesState(*node)) {
        grad_mode_ = true;  // may be on somewhere
        const bool is_call = node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
        if (!is_call && !changesGradModeOnly(*node) && !scopes_) scopes_.emplace(graph_);
      }
      for (Block* inner : node->blocks()) lookForState(inner);
    }
  }

  TensorFacts get(const Value* value) const { return facts_[value->unique()]; }

  void set(Value* value, TensorFacts facts) {
    if (!isTensor(value)) return;
    const TensorFacts known = TensorFacts::of(*value->type());
    if (!facts.dtype) facts.dtype = known.dtype;
    if (!facts.rank) facts.rank = known.rank;
    if (!facts.device) facts.device = known.device;
    if (!facts.requires_grad) facts.requires_grad = known.requires_grad;
    if (memory_.hasWriters(value)) {
      if (writes_ == TensorWrites::Anything) return;
      if (writes_ != TensorWrites::Elements) facts.rank = std::nullopt;
      facts.requires_grad = std::nullopt;
    }
    facts_[value->unique()] = facts;
  }

  void visit(Block* block) {
    for (Node* node : block->nodes()) visit(node);
  }

  void visit(Node* node) {
    switch (node->kind()) {
      case prim::If:
        return visitIf(node);
      case prim::Loop:
        return visitLoop(node);
      case prim::Constant:
        if (!isTensor(node->output())) return;
        if (const auto value = toIValue(node->output()); value && value->isTensor() && value->toTensor().defined())
          set(node->output(), TensorFacts::of(value->toTensor()));
        return;
      case prim::unchecked_cast:
        if (!isTensor(node->output())) return;
        set(node->output(), isTensor(node->input(0)) ? get(node->input(0)) : factsOfGradient(node->input(0)->node()));
        return;
      case prim::TupleUnpack:
      case prim::TupleIndex:
      case prim::BailOut:
        for (Value* output : node->outputs()) set(output, TensorFacts::of(*output->type()));
        return;
      case prim::ListUnpack:
        return visitListUnpack(node);
      default:
        for (Block* block : node->blocks()) visit(block);
        if (!isStructural(node->kind())) visitOperator(node);
    }
  }

  void visitIf(Node* node) {
    for (Block* block : node->blocks()) visit(block);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value *a = node->blocks()[0]->outputs()[i], *b = node->blocks()[1]->outputs()[i];
      // What a branch that raises would give never arrives.
      const bool no_a = a->node()->kind() == prim::Uninitialized, no_b = b->node()->kind() == prim::Uninitialized;
      set(node->output(i), no_a ? get(b) : no_b ? get(a) : TensorFacts::common(get(a), get(b)));
    }
  }

  /// What `torch.autograd.grad(...)[i]` is like: the i-th input.
  TensorFacts factsOfGradient(const Node* element) {
    static const Symbol kGetItem = Symbol::fromQualString("aten::__getitem__");
    static const Symbol kGrad = Symbol::fromQualString("aten::grad");
    if (element->kind() != kGetItem || element->input(0)->node()->kind() != kGrad) return {};
    const Node* call = element->input(0)->node();
    const Node* inputs = call->input(1)->node();
    const auto index = constantAs<int64_t>(element->input(1));
    if (!index || inputs->kind() != prim::ListConstruct || memory_.hasWriters(call->input(1)) ||
        memory_.hasWriters(call->output()) || *index < 0 || static_cast<size_t>(*index) >= inputs->inputs().size())
      return {};
    TensorFacts facts = get(inputs->input(static_cast<size_t>(*index)));
    const auto create_graph = constantAs<bool>(call->input(4));
    facts.requires_grad = create_graph == std::optional(false) ? create_graph : std::nullopt;
    return facts;
  }

  void visitLoop(Node* node) {
    Block* body = node->blocks()[0];
    const size_t count = node->outputs().size();
    // Loops in loops in loops: assume nothing, rather than visit them again and again.
    std::vector<TensorFacts> carried(count);
    if (loop_depth_ < 3) {
      for (size_t i = 0; i < count; ++i) carried[i] = get(node->input(i + 2));
    }
    ++loop_depth_;
    constexpr int kVisits = 3;
    for (int visits = 1; visits <= kVisits; ++visits) {
      for (size_t i = 0; i < count; ++i) set(body->inputs()[i + 1], carried[i]);
      visit(body);
      bool changed = false;
      for (size_t i = 0; i < count; ++i) {
        const TensorFacts next = TensorFacts::common(carried[i], get(body->outputs()[i + 1]));
        if (next == carried[i]) continue;
        carried[i] = visits < kVisits ? next : TensorFacts();
        changed = true;
      }
      if (!changed) break;
      if (visits == kVisits) {  // no fixed point in time: nothing is known of what is carried
        for (size_t i = 0; i < count; ++i) carried[i] = TensorFacts(), set(body->inputs()[i + 1], carried[i]);
        visit(body);
      }
    }
    --loop_depth_;
    for (size_t i = 0; i < count; ++i) set(node->output(i), TensorFacts::common(carried[i], get(node->input(i + 2))));
  }

  void visitListUnpack(Node* node) {
    const Fact list = factOf(node->input(0));
    for (size_t i = 0; i < node->outputs().size(); ++i) set(node->output(i), elementOf(list, i).asTensor());
  }

  static Fact elementOf(const Fact& list, size_t i) {
    if (list.elements.empty()) return {};
    if (list.kind == Fact::Kind::ListOf) return list.elements[0];
    return list.kind == Fact::Kind::List && i < list.elements.size() ? list.elements[i] : Fact();
  }

  /// Whether no result of the node can require a gradient.
  bool needsNoGrad(const Node* node) {
    for (const Value* input : node->inputs()) {
      if (isTensor(input)) {
        if (get(input).requires_grad != std::optional(false)) return false;
        continue;
      }
      if (isNoneConstant(input) || !mayHoldTensors(*input->type())) continue;
      const Node* maker = input->node();
      if (maker->kind() != prim::ListConstruct || memory_.hasWriters(input)) return false;
      for (const Value* element : maker->inputs()) {
        if (isTensor(element) ? get(element).requires_grad != std::optional(false) : mayHoldTensors(*element->type()))
          return false;
      }
    }
    return true;
  }

  /// The device of all tensors that the node takes, if it is one. Numbers may come as CPU tensors without dimensions.
  static std::optional<c10::Device> deviceOf(std::span<const Fact> arguments) {
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

  /// What is known of any value that an operator takes.
  Fact factOf(const Value* value) {
    if (isTensor(value)) return Fact::tensor(get(value));
    if (const auto constant = toIValue(value)) return Fact::of(*constant);
    switch (value->type()->kind()) {
      case TypeKind::IntType:
        return Fact::integer(std::nullopt);
      case TypeKind::BoolType:
        return Fact::boolean(std::nullopt);
      case TypeKind::FloatType: {
        Fact fact;
        fact.kind = Fact::Kind::Float;
        return fact;
      }
      case TypeKind::ListType:
        return memory_.hasWriters(value) ? Fact() : factOfList(value->node());
      default:
        return {};
    }
  }

  Fact factOfList(Node* maker) {
    if (maker->kind() == prim::ListConstruct) {
      std::vector<Fact> elements;
      for (const Value* element : maker->inputs()) elements.push_back(factOf(element));
      return Fact::list(std::move(elements));
    }
    if (maker->kind() == aten::size && maker->inputs().size() == 1) {
      const auto rank = get(maker->input(0)).rank;
      return rank ? Fact::list(std::vector<Fact>(*rank, Fact::integer(std::nullopt))) : Fact();
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
  bool isPlainAt(const Node* node) const {
    if (isWithoutAutocast(*node)) return usual_;
    return plain_ && (!scopes_ || scopes_->of(node) == 0);
  }

  /// Makes the arguments what autocast makes of them; false if nobody knows.
  bool applyAutocast(Node* node, const Operator& op, std::vector<Fact>& arguments) {
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
  std::vector<Fact> resultsOf(Node* node, const Operator& op) {
    const FactRule* rule = FactRule::of(op);
    if (!rule && !op.isUpdate()) return {};
    std::vector<Fact> arguments;
    arguments.reserve(node->inputs().size());
    for (const Value* input : node->inputs()) arguments.push_back(factOf(input));
    if (!isPlainAt(node) && !applyAutocast(node, op, arguments)) return {};
    std::vector<Fact> results;
    if (rule) {
      results = rule->evaluate(op, arguments);
    } else {  // an update is what its first argument becomes
      results.push_back(arguments[0]);
      results[0].requires_grad = std::nullopt;
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

  void visitOperator(Node* node) {
    const auto outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), isTensor)) return;
    const Operator* op = operatorOf(*node);
    if (!op) return;
    if (op->fullName() == "prim::unchecked_unwrap_optional" || op->fullName() == "aten::_unwrap_optional") {
      set(node->output(), isTensor(node->input(0)) ? get(node->input(0)) : TensorFacts::of(*node->output()->type()));
      return;
    }
    if (op->fullName() == "aten::__getitem__.t") return visitElement(node);
    if (op->isOfDispatcher() && op->isMutable() && op->schema().name().ends_with('_') && isTensor(node->input(0))) {
      if (outputs.size() == 1) set(node->output(), get(node->input(0)));  // which has writers: set() knows what stays
      return;
    }
    const bool has_rule = FactRule::of(*op) || op->isUpdate();
    if ((!op->fullName().starts_with("aten::") && !has_rule) || op->isMutable()) return;
    // With gradients off, what is computed anew requires none; an argument that is returned itself keeps its flag.
    const bool no_grad = needsNoGrad(node) || (!grad_mode_ && op->isPure());
    const std::vector<Fact> results = resultsOf(node, *op);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!isTensor(outputs[i])) continue;
      TensorFacts facts = i < results.size() ? results[i].asTensor() : TensorFacts();
      const bool is_none = i < results.size() && results[i].kind == Fact::Kind::None;
      const bool is_discrete = facts.dtype && !at::isFloatingType(*facts.dtype) && !at::isComplexType(*facts.dtype);
      if (no_grad || is_none || is_discrete) facts.requires_grad = false;
      set(outputs[i], facts);
    }
  }

  void visitElement(Node* node) {
    const auto index = constantAs<int64_t>(node->input(1));
    const Fact list = factOf(node->input(0));
    const bool any = list.kind == Fact::Kind::ListOf;
    if (!any && (!index || list.kind != Fact::Kind::List)) return;
    const auto size = static_cast<int64_t>(list.elements.size());
    const int64_t i = any ? 0 : *index < 0 ? *index + size : *index;
    if (i >= 0 && i < size) set(node->output(), list.elements[static_cast<size_t>(i)].asTensor());
  }

  Graph& graph_;
  AliasDb memory_;
  std::vector<TensorFacts> facts_;  // by Value::unique()
  const AutocastState autocast_;
  bool grad_mode_ = true, plain_ = true, usual_ = true;
  std::optional<StateScopes> scopes_;  // if something in the graph changes more than grad mode
  const TensorWrites writes_ = tensorWrites(graph_);
  int loop_depth_ = 0;
};

}  // namespace

std::vector<TensorFacts> computeFacts(Graph& graph, const TypeAssumptions& assumptions) {
  return FactPropagator(graph, assumptions).run();
}

}  // namespace cresset
