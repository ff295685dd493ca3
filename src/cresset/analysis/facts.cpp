#include "cresset/analysis/facts.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/autocast.h"
#include "cresset/analysis/fact_rule.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
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
  FactPropagator(Graph& graph, const TypeAssumptions& assumptions, bool with_sizes)
      : graph_(graph),
        memory_(aliasesOf(graph, AliasDb::When::WhenNeeded)),
        facts_{std::vector<TensorFacts>(graph.numValues()), {}, {}, {}, {}},
        with_sizes_(with_sizes),
        autocast_(assumptions.autocast),
        plain_(assumptions.usual && !assumptions.autocast.isOn()),
        usual_(assumptions.usual) {
    grad_mode_ = assumptions.grad_mode;
    if (with_sizes) {
      facts_.sizes.resize(graph.numValues());
      facts_.strides.resize(graph.numValues());
      facts_.ints.resize(graph.numValues());
    }
    lookForState(graph.block());
    for (Value* input : graph.inputs()) set(input, TensorFacts::of(*input->type()));
  }

  GraphFacts run() {
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
      for (Block* inner : Bodies(*node)) lookForState(inner);
    }
  }

  TensorFacts get(const Value* value) const { return facts_.of(value); }

  /// Sizes are followed in the graph itself: variables are numbered by its values.
  bool hasSizes(const Value* value) const { return with_sizes_ && &value->graph() == &graph_; }

  /// What is known of a tensor, its sizes and strides included.
  Fact tensorFact(const Value* value) const {
    Fact fact = Fact::tensor(get(value));
    if (!hasSizes(value)) return fact;
    const auto sizes = facts_.sizesOf(value), strides = facts_.stridesOf(value);
    for (size_t i = 0; i < sizes.size() && i < fact.elements.size(); ++i) {
      fact.elements[i] = Fact::integer(sizes[i]);
      fact.elements[i].stride = strides[i];
    }
    return fact;
  }

  bool isFollowed(const Value* value) const {
    return isTensor(value) || (hasSizes(value) && value->type()->kind() == TypeKind::IntType);
  }

  void set(Value* value, const TensorFacts& facts) { set(value, Fact::tensor(facts)); }

  void set(Value* value, const Fact& fact) {
    if (hasSizes(value) && value->type()->kind() == TypeKind::IntType) return setInt(value, fact.asSize());
    if (!isTensor(value)) return;
    if (hasSizes(value)) facts_.sizes[value->unique()].clear(), facts_.strides[value->unique()].clear();
    TensorFacts facts = fact.asTensor();
    const TensorFacts known = TensorFacts::of(*value->type());
    if (!facts.dtype) facts.dtype = known.dtype;
    if (!facts.rank) facts.rank = known.rank;
    if (!facts.device) facts.device = known.device;
    if (!facts.requires_grad) facts.requires_grad = known.requires_grad;
    if (facts.rank == 0) facts.contiguity = Contiguity::Contiguous;
    const bool has_writers = memory_->hasWriters(value);
    if (has_writers) {
      if (writes_ == TensorWrites::Anything) return;
      if (writes_ != TensorWrites::Elements) facts.rank = std::nullopt, facts.contiguity = Contiguity::Unknown;
      facts.requires_grad = std::nullopt;
    }
    facts_.tensorsOf(value->graph())[value->unique()] = facts;
    if (hasSizes(value) && facts.rank) setSizes(value, fact, *facts.rank);
  }

  /// A size or stride that is not known is a variable of its own.
  void setSizes(const Value* value, const Fact& fact, size_t rank) {
    Fact whole = Fact::tensor(get(value));
    for (size_t i = 0; i < rank; ++i) {
      Size size = fact.rank() == rank ? fact.elements[i].asSize() : Size();
      whole.elements[i] = Fact::integer(size.isKnown() ? std::move(size) : Size::ofDimension(value->unique(), i));
      facts_.sizes[value->unique()].push_back(whole.elements[i].asSize());
    }
    std::vector<Size>& strides = facts_.strides[value->unique()];
    strides = whole.contiguousStrides();
    for (size_t i = 0; i < rank; ++i) {
      if (!strides[i].isKnown() && fact.rank() == rank) strides[i] = fact.elements[i].stride;
      if (!strides[i].isKnown()) strides[i] = Size::ofStride(value->unique(), i);
    }
    blocks_[value->unique()] = value->node()->owningBlock();
  }

  void setInt(const Value* value, const Size& size) {
    facts_.ints[value->unique()] = size.isKnown() ? size : Size::ofInt(value->unique());
    blocks_[value->unique()] = value->node()->owningBlock();
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
          set(node->output(), Fact::of(*value));
        return;
      case prim::unchecked_cast:
        if (!isTensor(node->output())) return;
        set(node->output(),
            isTensor(node->input(0)) ? tensorFact(node->input(0)) : factOfGradient(node->input(0)->node()));
        return;
      case prim::TupleUnpack:
      case prim::TupleIndex:
      case prim::BailOut:
        for (Value* output : node->outputs()) set(output, TensorFacts::of(*output->type()));
        return;
      case prim::ListUnpack:
        return visitListUnpack(node);
      default:
        if (isSubgraph(*node)) return visitSubgraph(node);
        for (Block* block : node->blocks()) visit(block);
        if (!isStructural(node->kind())) visitOperator(node);
    }
  }

  void visitSubgraph(Node* node) {
    const Graph& subgraph = *node->g(attr::Subgraph);
    facts_.subgraphs[&subgraph].resize(subgraph.numValues());
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (isTensor(node->input(i))) set(subgraph.inputs()[i], get(node->input(i)));
    }
    visit(subgraph.block());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (isFollowed(node->output(i))) set(node->output(i), withoutSizes(subgraph.outputs()[i]));
    }
  }

  Fact withoutSizes(const Value* value) const { return isTensor(value) ? Fact::tensor(get(value)) : Fact(); }

  void visitIf(Node* node) {
    for (Block* block : node->blocks()) visit(block);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (!isFollowed(node->output(i))) continue;
      const Value *a = node->blocks()[0]->outputs()[i], *b = node->blocks()[1]->outputs()[i];
      // What a branch that raises would return never arrives.
      const bool no_a = a->node()->kind() == prim::Uninitialized, no_b = b->node()->kind() == prim::Uninitialized;
      const Fact left = outside(a, node), right = outside(b, node);
      set(node->output(i), no_a ? right : no_b ? left : Fact::common(left, right));
    }
  }

  /// What is known of a value that leaves a block of `owner`, as those outside may say it: not by what is inside.
  Fact outside(const Value* value, const Node* owner) {
    Fact fact = factOf(value);
    if (!with_sizes_) return fact;
    const auto hide = [&](Fact& number) {
      for (Size* size : {&number.size, &number.stride}) {
        bool is_inside = false;
        size->visitVariables([&](const Size::Variable& v) { is_inside |= isInside(v.value, owner); });
        if (is_inside) *size = Size();
      }
    };
    if (fact.isTensor()) {
      for (Fact& size : fact.elements) hide(size);
    } else {
      hide(fact);
    }
    return fact;
  }

  /// What `torch.autograd.grad(...)[i]` is like: the i-th input.
  Fact factOfGradient(const Node* element) {
    static const Symbol kGetItem = Symbol::fromQualString("aten::__getitem__");
    static const Symbol kGrad = Symbol::fromQualString("aten::grad");
    if (element->kind() != kGetItem || element->input(0)->node()->kind() != kGrad) return {};
    const Node* call = element->input(0)->node();
    const Node* inputs = call->input(1)->node();
    const auto index = constantAs<int64_t>(element->input(1));
    if (!index || inputs->kind() != prim::ListConstruct || memory_->hasWriters(call->input(1)) ||
        memory_->hasWriters(call->output()) || *index < 0 || static_cast<size_t>(*index) >= inputs->inputs().size())
      return {};
    Fact fact = tensorFact(inputs->input(static_cast<size_t>(*index)));
    fact.forgetLayout();
    const auto create_graph = constantAs<bool>(call->input(4));
    fact.requires_grad = create_graph == std::optional(false) ? create_graph : std::nullopt;
    return fact;
  }

  void visitLoop(Node* node) {
    Block* body = node->blocks()[0];
    const size_t count = node->outputs().size();
    // Loops in loops in loops: assume nothing, rather than visit them again and again.
    std::vector<Fact> carried(count);
    if (loop_depth_ < 3) {
      for (size_t i = 0; i < count; ++i) carried[i] = carriedFact(node->input(i + 2));
    }
    if (with_sizes_) setInt(body->inputs()[0], Size());
    ++loop_depth_;
    constexpr int kVisits = 3;
    for (int visits = 1; visits <= kVisits; ++visits) {
      for (size_t i = 0; i < count; ++i) set(body->inputs()[i + 1], carried[i]);
      visit(body);
      bool changed = false;
      std::vector<Fact> found(count);
      for (size_t i = 0; i < count; ++i) found[i] = Fact::common(carried[i], carriedFact(body->outputs()[i + 1]));
      // Layouts change in one visit, and after that no more: the other facts shall not have to wait for them.
      bool layouts_stay = true;
      for (size_t i = 0; i < count; ++i) layouts_stay &= found[i].contiguity == carried[i].contiguity;
      for (size_t i = 0; i < count; ++i) {
        Fact& next = found[i];
        if (!layouts_stay && visits > 1) next.contiguity = Contiguity::Unknown;
        if (next == carried[i]) continue;
        carried[i] = visits < kVisits ? next : Fact();
        changed = true;
      }
      if (!changed) break;
      if (visits == kVisits) {  // no fixed point in time: nothing is known of what is carried
        for (size_t i = 0; i < count; ++i) carried[i] = Fact(), set(body->inputs()[i + 1], carried[i]);
        visit(body);
      }
    }
    --loop_depth_;
    for (size_t i = 0; i < count; ++i) set(node->output(i), Fact::common(carried[i], carriedFact(node->input(i + 2))));
  }

  /// Of tensors, without strides; other values of loops are not followed.
  Fact carriedFact(const Value* value) {
    if (!isTensor(value)) return {};
    Fact fact = tensorFact(value);
    const Contiguity contiguity = fact.contiguity;
    fact.forgetLayout();
    fact.contiguity = contiguity;
    return fact;
  }

  /// Whether the value, after which a variable is named, is defined in a block of `owner`.
  bool isInside(size_t value, const Node* owner) const {
    for (const Block* block = blocks_.at(value); block; block = block->owningNode()->owningBlock()) {
      if (block->owningNode() == owner) return true;
      if (!block->owningNode()) return false;
    }
    return false;
  }

  void visitListUnpack(Node* node) {
    const Fact list = factOf(node->input(0));
    for (size_t i = 0; i < node->outputs().size(); ++i) set(node->output(i), elementOf(list, i));
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
      if (maker->kind() != prim::ListConstruct || memory_->hasWriters(input)) return false;
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
    if (isTensor(value)) return tensorFact(value);
    if (const auto constant = toIValue(value)) return Fact::of(*constant);
    switch (value->type()->kind()) {
      case TypeKind::IntType:
        return Fact::integer(hasSizes(value) ? facts_.ints[value->unique()] : Size());
      case TypeKind::BoolType:
        return Fact::boolean(std::nullopt);
      case TypeKind::FloatType: {
        Fact fact;
        fact.kind = Fact::Kind::Float;
        return fact;
      }
      case TypeKind::ListType:
        return memory_->hasWriters(value) ? Fact() : factOfList(value->node());
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

  /// Makes the arguments what autocast makes of them; false if that is not known.
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
    if (!rule && !op.isInPlaceReuse()) return {};
    std::vector<Fact> arguments;
    arguments.reserve(node->inputs().size());
    for (const Value* input : node->inputs()) arguments.push_back(factOf(input));
    if (!isPlainAt(node) && !applyAutocast(node, op, arguments)) return {};
    std::vector<Fact> results;
    if (rule) {
      results = rule->evaluate(op, arguments);
    } else {  // an in-place reuse is what its first argument becomes, or a copy of that
      results.push_back(arguments[0]);
      results[0].requires_grad = std::nullopt;
      const bool stays = results[0].contiguity == Contiguity::Contiguous;
      results[0].forgetLayout();
      if (stays) results[0].contiguity = Contiguity::Contiguous;
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
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Value* output) { return isFollowed(output); })) return;
    const Operator* op = operatorOf(*node);
    if (!op) return;
    if (op->fullName() == "prim::unchecked_unwrap_optional" || op->fullName() == "aten::_unwrap_optional") {
      set(node->output(), isTensor(node->input(0)) ? tensorFact(node->input(0)) : Fact());
      return;
    }
    if (op->isOfDispatcher() && op->isMutable() && op->schema().name().ends_with('_') && isTensor(node->input(0))) {
      if (outputs.size() == 1)
        set(node->output(), tensorFact(node->input(0)));  // which has writers: set() knows what stays
      return;
    }
    const bool has_rule = FactRule::of(*op) || op->isInPlaceReuse();
    if ((!op->fullName().starts_with("aten::") && !has_rule) || op->isMutable()) return;
    // With gradients off, what is computed anew requires none; an argument that is returned itself keeps its flag.
    const bool no_grad = needsNoGrad(node) || (!grad_mode_ && op->isPure());
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
      set(outputs[i], fact);
      const bool replaced = writes_ == TensorWrites::Anything && memory_->hasWriters(outputs[i]);
      if (isTensor(outputs[i]) && !replaced && givesNewMemory(*op, i))
        facts_.tensorsOf(outputs[i]->graph())[outputs[i]->unique()].is_new = true;
    }
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  GraphFacts facts_;
  std::unordered_map<size_t, const Block*> blocks_;  // of values that have variables for sizes
  const bool with_sizes_;
  const AutocastState autocast_;
  bool grad_mode_ = true, plain_ = true, usual_ = true;
  std::optional<StateScopes> scopes_;  // if something in the graph changes more than grad mode
  const TensorWrites writes_ = tensorWrites(graph_);
  int loop_depth_ = 0;
};

}  // namespace

GraphFacts computeFacts(Graph& graph, const TypeAssumptions& assumptions) {
  return FactPropagator(graph, assumptions, /*with_sizes=*/false).run();
}

GraphFacts computeFactsAndSizes(Graph& graph, const TypeAssumptions& assumptions) {
  return FactPropagator(graph, assumptions, /*with_sizes=*/true).run();
}

}  // namespace cresset
