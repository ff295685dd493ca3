#include "cresset/analysis/facts.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <map>

#include "cresset/analysis/fact_rule.h"
#include "cresset/analysis/operator_facts.h"
#include "cresset/analysis/value_facts.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/basic.h"

namespace cresset {

namespace {

/// Follows the control flow.
class FactPropagator {
 public:
  FactPropagator(Graph& graph, const TypeAssumptions& assumptions, bool with_sizes)
      : graph_(graph), values_(graph, with_sizes), operators_(values_, graph, assumptions) {
    for (Value* input : graph.inputs()) setGuarded(input);
  }

  /// Believes the sizes in the types of the graph's inputs.
  void readSizesOfInputs() {
    std::map<int64_t, Size> by_symbol;
    for (Value* input : graph_.inputs()) {
      const auto* type = input->type()->castRaw<c10::TensorType>();
      const auto symbols = type ? type->symbolic_sizes().sizes() : std::nullopt;
      Fact fact = values_.tensorFact(input);
      if (!symbols || fact.rank() != symbols->size()) continue;
      for (size_t i = 0; i < symbols->size(); ++i) {
        const c10::ShapeSymbol symbol = (*symbols)[i];
        const Size size = symbol.is_static()
                              ? Size::constant(symbol.static_size())
                              : by_symbol.emplace(symbol.value(), fact.elements[i].asSize()).first->second;
        fact.elements[i] = Fact::integer(size);
      }
      values_.set(input, fact);
    }
  }

  GraphFacts run() {
    visit(graph_.block());
    return values_.take();
  }

 private:
  /// Of what a guard has looked at. Guards refuse tensors that are not plain, and so without strides.
  void setGuarded(Value* value) {
    TensorFacts facts = TensorFacts::of(*value->type());
    if (facts.dtype) facts.contiguity = Contiguity::Strided;
    values_.set(value, facts);
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
          values_.set(node->output(), factOfConstant(*value));
        return;
      case prim::unchecked_cast:
        if (!isTensor(node->output())) return;
        values_.set(
            node->output(), isTensor(node->input(0)) ? values_.tensorFact(node->input(0))
                                                     : operators_.factOfGradient(node->input(0)->node()));
        return;
      case prim::TupleUnpack:
      case prim::TupleIndex:
        for (Value* output : node->outputs()) {
          const Value* element = elementOfTuple(output);
          values_.set(output, element ? operators_.factOf(element) : Fact::tensor(TensorFacts::of(*output->type())));
        }
        return;
      case prim::BailOut:
        for (Value* output : node->outputs()) setGuarded(output);
        return;
      case prim::ListUnpack:
        return visitListUnpack(node);
      default:
        if (isSubgraph(*node)) return visitSubgraph(node);
        for (Block* block : node->blocks()) visit(block);
        if (!isStructural(node->kind())) operators_.visit(node);
    }
  }

  static Fact factOfConstant(const c10::IValue& value) {
    // What has a dtype is plain to those who read types: gradients that capture it.
    if (value.toTensor().layout() != at::kStrided) return Fact::tensor({});
    Fact fact = Fact::of(value);
    // Numbers that a trace holds as tensors promote as numbers do: their dtype says nothing of results.
    if (value.toTensor().unsafeGetTensorImpl()->is_wrapped_number()) fact.dtype = std::nullopt;
    return fact;
  }

  void visitSubgraph(Node* node) {
    const Graph& subgraph = *node->g(attr::Subgraph);
    values_.addSubgraph(subgraph);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (isTensor(node->input(i))) values_.set(subgraph.inputs()[i], values_.get(node->input(i)));
    }
    visit(subgraph.block());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (values_.isFollowed(node->output(i))) values_.set(node->output(i), withoutSizes(subgraph.outputs()[i]));
    }
  }

  Fact withoutSizes(const Value* value) const { return isTensor(value) ? Fact::tensor(values_.get(value)) : Fact(); }

  /// The number or bool that a value is, by what is known of ranks: branches of a loop's body may be decided by facts
  /// that hold only if they are.
  std::optional<int64_t> knownNumber(const Value* value, int depth = 8) const {
    if (const auto constant = toIValue(value)) {
      if (constant->isBool()) return int64_t(constant->toBool());
      return constant->isInt() ? std::optional(constant->toInt()) : std::nullopt;
    }
    const Node* node = value->node();
    if (depth == 0) return std::nullopt;
    if (node->kind() == prim::If) {
      const auto taken = blockTaken(node, depth - 1);
      return taken ? knownNumber(node->blocks()[*taken]->outputs()[value->offset()], depth - 1) : std::nullopt;
    }
    if (isBasic(node, Basic::Rank)) {
      if (!isTensor(node->input(0))) return std::nullopt;
      const auto rank = values_.get(node->input(0)).rank;
      return rank ? std::optional(static_cast<int64_t>(*rank)) : std::nullopt;
    }
    if (isBasic(node, Basic::Not)) {
      const auto known = knownNumber(node->input(0), depth - 1);
      return known ? std::optional(int64_t(*known == 0)) : std::nullopt;
    }
    const bool equal = isBasic(node, Basic::Equal);
    if (!equal && !isBasic(node, Basic::Unequal)) return std::nullopt;
    const auto a = knownNumber(node->input(0), depth - 1), b = knownNumber(node->input(1), depth - 1);
    return a && b ? std::optional(int64_t((*a == *b) == equal)) : std::nullopt;
  }

  std::optional<size_t> blockTaken(const Node* node, int depth = 8) const {
    const auto known = knownNumber(node->input(0), depth);
    return known ? std::optional(size_t(*known == 0)) : std::nullopt;
  }

  void visitIf(Node* node) {
    for (Block* block : node->blocks()) visit(block);
    const auto taken = blockTaken(node);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (!values_.isFollowed(node->output(i))) continue;
      const Value *a = node->blocks()[0]->outputs()[i], *b = node->blocks()[1]->outputs()[i];
      // What a branch that raises, or is never taken, would return never arrives.
      const bool no_a = taken == size_t(1) || a->node()->kind() == prim::Uninitialized,
                 no_b = taken == size_t(0) || b->node()->kind() == prim::Uninitialized;
      const Fact left = values_.outside(operators_.factOf(a), node),
                 right = values_.outside(operators_.factOf(b), node);
      values_.set(node->output(i), no_a ? right : no_b ? left : Fact::common(left, right));
    }
  }

  void visitLoop(Node* node) {
    Block* body = node->blocks()[0];
    const size_t count = node->outputs().size();
    // Loops in loops in loops: assume nothing, rather than visit them again and again.
    std::vector<Fact> carried(count);
    if (loop_depth_ < 3) {
      for (size_t i = 0; i < count; ++i) carried[i] = carriedFact(node->input(i + 2));
    }
    if (values_.withSizes()) values_.setInt(body->inputs()[0], Size());
    ++loop_depth_;
    constexpr int kVisits = 3;
    for (int visits = 1; visits <= kVisits; ++visits) {
      for (size_t i = 0; i < count; ++i) values_.set(body->inputs()[i + 1], carried[i]);
      visit(body);
      bool changed = false;
      std::vector<Fact> found;
      found.reserve(count);
      for (size_t i = 0; i < count; ++i) found.push_back(Fact::common(carried[i], carriedFact(body->outputs()[i + 1])));
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
        for (size_t i = 0; i < count; ++i) carried[i] = Fact(), values_.set(body->inputs()[i + 1], carried[i]);
        visit(body);
      }
    }
    --loop_depth_;
    for (size_t i = 0; i < count; ++i)
      values_.set(node->output(i), Fact::common(carried[i], carriedFact(node->input(i + 2))));
  }

  /// Of tensors, without strides; other values of loops are not followed.
  Fact carriedFact(const Value* value) {
    if (!isTensor(value)) return {};
    Fact fact = values_.tensorFact(value);
    const Contiguity contiguity = fact.contiguity;
    fact.forgetLayout();
    fact.contiguity = contiguity;
    return fact;
  }

  void visitListUnpack(Node* node) {
    const Fact list = operators_.factOf(node->input(0));
    for (size_t i = 0; i < node->outputs().size(); ++i) values_.set(node->output(i), elementOf(list, i));
  }

  static Fact elementOf(const Fact& list, size_t i) {
    if (list.elements.empty()) return {};
    if (list.kind == Fact::Kind::ListOf) return list.elements[0];
    return list.kind == Fact::Kind::List && i < list.elements.size() ? list.elements[i] : Fact();
  }

  Graph& graph_;
  ValueFacts values_;
  OperatorFacts operators_;
  int loop_depth_ = 0;
};

}  // namespace

GraphFacts computeFacts(Graph& graph, const TypeAssumptions& assumptions) {
  return FactPropagator(graph, assumptions, /*with_sizes=*/false).run();
}

GraphFacts computeFactsAndSizes(Graph& graph, const TypeAssumptions& assumptions) {
  return FactPropagator(graph, assumptions, /*with_sizes=*/true).run();
}

GraphFacts computeFactsOfSizedInputs(Graph& graph, const TypeAssumptions& assumptions) {
  FactPropagator propagator(graph, assumptions, /*with_sizes=*/true);
  propagator.readSizesOfInputs();
  return propagator.run();
}

}  // namespace cresset
