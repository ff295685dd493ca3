// Writes into the graph what torch.autocast would do while it runs, by the autocast column of the operator table:
//
//   aten::linear(%x, %w, %b)  →  %y = aten::to(%x, bfloat16)  %v = cresset::cached_cast(%w, bfloat16)  …
//                                aten::linear(%y, %v, %c)
//
// Such a node runs as if autocast were off. Nodes of which not everything is known stay: autocast casts for them. So do
// those in a `with torch.autocast` of the program itself.
//
// Autocast keeps the casts of parameters while it is on, for all calls: `cresset::cached_cast` shares them, so that
// gradients add in the same order. What is surely no parameter is cast by `aten::to`.

#include <ATen/core/jit_type.h>

#include <unordered_set>
#include <vector>

#include "cresset/analysis/autocast.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/without_autocast.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

class CastInserter {
 public:
  CastInserter(Graph& graph, const AutocastState& state)
      : graph_(graph), state_(state), scopes_(graph), memory_(aliasesOf(graph, AliasDb::When::WhenNeeded)) {
    findWritten(graph.block());
  }

  bool visit(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= visit(inner);
      changed |= visit(node);
    }
    return changed;
  }

 private:
  /// Asked before anything is changed, since the analysis describes the graph as it was.
  void findWritten(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) findWritten(inner);
      for (Value* output : node->outputs()) {
        const auto kind = output->type()->kind();
        const bool matters = kind == c10::TypeKind::TensorType || node->kind() == prim::ListConstruct;
        if (matters && memory_->hasWriters(output)) written_.insert(output);
      }
    }
  }

  bool visit(Node* node) {
    if (isStructural(node->kind()) || isWithoutAutocast(*node) || scopes_.of(node) != 0) return false;
    const Operator* op = operatorOf(*node);
    if (!op || !op->isOfDispatcher() || op->isMutable() || op->isInPlaceReuse()) return false;
    if (op->autocast(c10::DeviceType::CPU) <= Autocast::Inside &&
        op->autocast(c10::DeviceType::CUDA) <= Autocast::Inside)
      return false;
    std::vector<Fact> facts;
    for (Value* input : node->inputs()) facts.push_back(factOf(input));
    const auto call = autocastCall(*op, facts, state_);
    if (!call) return false;
    const InsertPointGuard guard(graph_, node);
    for (size_t i = 0; i < facts.size(); ++i) {
      if (call->dtype_argument == i) {
        node->replaceInput(i, graph_.insertConstant(static_cast<int64_t>(at::kFloat)));
      } else if (facts[i].kind == Fact::Kind::List) {
        castList(*call, op->schema().arguments()[i], facts[i], node, i);
      } else if (call->casts(op->schema().arguments()[i], facts[i])) {
        node->replaceInput(i, cast(*call, facts[i], node->input(i)));
      }
    }
    markWithoutAutocast(*node);
    return true;
  }

  Fact factOf(Value* value) const {
    if (value->type()->kind() == c10::TypeKind::TensorType) return Fact::tensor(TensorFacts::of(*value->type()));
    if (const auto constant = toIValue(value)) return Fact::of(*constant);
    if (value->type()->kind() == c10::TypeKind::IntType) return Fact::integer(std::nullopt);
    const Node* maker = value->node();
    if (maker->kind() != prim::ListConstruct || written_.contains(value)) return {};
    std::vector<Fact> elements;
    for (Value* element : maker->inputs()) elements.push_back(factOf(element));
    return Fact::list(std::move(elements));
  }

  void castList(const AutocastCall& call, const c10::Argument& argument, const Fact& list, Node* node, size_t input) {
    std::vector<Value*> elements = node->input(input)->node()->inputs().vec();
    bool changed = false;
    for (size_t i = 0; i < elements.size() && i < list.elements.size(); ++i) {
      if (!call.casts(argument, list.elements[i])) continue;
      elements[i] = cast(call, list.elements[i], elements[i]);
      changed = true;
    }
    if (!changed) return;
    Node* made = graph_.insertNode(graph_.create(prim::ListConstruct, elements));
    made->copyLocation(node);
    made->output()->setType(node->input(input)->type());
    node->replaceInput(input, made->output());
  }

  /// Whether autocast may keep the cast of the tensor: it does so for leaves that require gradients. What an operator
  /// has made anew is no leaf, or requires none.
  static bool mayBeParameter(const Value* value) {
    const auto* type = value->type()->castRaw<c10::TensorType>();
    if (type && type->requiresGrad() == std::optional(false)) return false;
    Node* maker = const_cast<Node*>(value->node());
    const Operator* op = isStructural(maker->kind()) ? nullptr : operatorOf(*maker);
    return !op || !op->isOfDispatcher() || !op->isPure();
  }

  Value* cast(const AutocastCall& call, const Fact& tensor, Value* value) {
    static const Symbol kCached = Symbol::fromQualString("cresset::cached_cast");
    const int64_t dtype = static_cast<int64_t>(*call.to);
    const bool is_kept = state_.caches && *call.to == state_.of(call.device) && *tensor.dtype == at::kFloat &&
                         (mayBeParameter(value) || written_.contains(value));
    Value* to = graph_.insertConstant(dtype);
    std::vector<Value*> inputs = {value, to};
    if (is_kept) {
      inputs.push_back(graph_.insertConstant(c10::Device(call.device)));
    } else {
      Value* no = graph_.insertConstant(false);
      inputs.insert(inputs.end(), {no, no, graph_.insertConstant(c10::IValue())});
    }
    Node* made = graph_.insertNode(graph_.create(is_kept ? kCached : aten::to, inputs));
    operatorOf(*made);
    const auto type = value->type()->expect<c10::TensorType>();
    // Of a tensor that requires a gradient, grad mode decides, which the propagation of types follows.
    const bool has_none = !is_kept && type->requiresGrad() == std::optional(false);
    made->output()->setType(
        c10::TensorType::create(call.to, type->device(), type->dim(), has_none ? std::optional(false) : std::nullopt));
    return made->output();
  }

  Graph& graph_;
  const AutocastState state_;
  const StateScopes scopes_;
  const std::shared_ptr<AliasDb> memory_;
  std::unordered_set<const Value*> written_;
};

}  // namespace

/// Types must have been propagated for the same assumptions.
static bool insertAutocastCasts(Graph& graph, const TypeAssumptions& assumptions) {
  if (!assumptions.autocast.isOn() || !assumptions.usual_dispatch) return false;
  return CastInserter(graph, assumptions.autocast).visit(graph.block());
}

CRESSET_PASS_FOR_CALLS(
    insertAutocastCasts, "insert-autocast-casts", All,
    "Write the casts of torch.autocast into the graph, for calls while it is on as it is now")

}  // namespace cresset
