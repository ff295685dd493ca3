// In-place operators on memory that only the graph knows: `y = x @ w; y.relu_()` becomes `y = x @ w; z =
// cresset::relu(y)`, so that derivative rules, fusion and other passes see values only. What a part of it is written
// with, `y[i] = z` or `y[:, i] += z`, becomes a new value of all of it (`cresset::select_assign`). These operators
// (in-place reuse, ops/operator.h) use the memory of what they take again where they hold the only reference, so
// nothing is copied that was not before.
//
// The tensor must be fresh (of a branch, on both ways), and what used it before the change only have read it: itself,
// or views of it that nothing uses after the change. And autograd must not have kept it: it has errors for tensors that
// were changed meanwhile. The derivative rules tell what it keeps, which is why the pass stands here.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

const Operator* plainOperatorOf(Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  const bool is_plain = op && op->isOfDispatcher() && !op->schema().is_vararg() &&
                        op->restriction() != Restriction::Foreign &&
                        op->schema().aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE;
  return is_plain ? op : nullptr;
}

/// `x.narrow(dim, start, length)` of known places is `x[start : start + length]` where it doesn't raise.
std::optional<std::pair<int64_t, int64_t>> boundsOf(const Node* narrow) {
  const auto start = constantAs<int64_t>(narrow->input(2)), length = constantAs<int64_t>(narrow->input(3));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
  if (!start || !length || *start < 0 || *start > kMost || *length < 0 || *length > kMost) return std::nullopt;
  return std::pair(*start, *start + *length);
}

bool isNarrow(const Node* node) {
  static const Symbol kNarrow = Symbol::fromQualString("aten::narrow");
  return node->kind() == kNarrow && node->inputs().size() == 4;
}

/// `cresset::select_assign` for a node `aten::select`: what the operator is called that assigns to such a part.
const char* assignmentTo(const Node* part) {
  static const Symbol kSelect = Symbol::fromQualString("aten::select"), kSlice = Symbol::fromQualString("aten::slice");
  if (part->kind() == kSelect && part->inputs().size() == 3) return "cresset::select_assign";
  const bool is_slice = part->kind() == kSlice && part->inputs().size() == 5;
  return is_slice || (isNarrow(part) && boundsOf(part)) ? "cresset::slice_assign" : nullptr;
}

/// Whether it is a builtin that is given no tensors, `torch.tensor([1, 2])`, and so has none but its own to return.
bool isMadeOfNumbers(const Node* node, const Operator& op) {
  const auto inputs = node->inputs();
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < inputs.size(); ++i) {
    // Autograd takes a leaf that requires gradients for another tensor once it is written.
    if (arguments[i].name() == "requires_grad" && constantAs<bool>(inputs[i]) != false) return false;
  }
  return !op.isOfDispatcher() && op.kernel() && op.isPure() && !op.schema().is_vararg() &&
         op.restriction() != Restriction::Foreign &&
         std::none_of(inputs.begin(), inputs.end(), [](const Value* input) { return mayHoldTensors(*input->type()); });
}

/// Whether its node makes the tensor, in memory of its own that autograd keeps nothing of.
bool isFresh(const Value* tensor) {
  Node* node = const_cast<Node*>(tensor->node());
  if (!isTensorValue(tensor) || !node->blocks().empty()) return false;
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (op && !op->reusesFirst() && !isMadeOfNumbers(node, *op)) op = plainOperatorOf(node);
  const size_t result = tensor->offset();
  return op && !op->isMutable() && !op->mayShareArguments() &&
         op->schema().returns().size() == node->outputs().size() && !op->schema().returns()[result].alias_info() &&
         !mayBeKept(node, node->inputs().size() + result);
}

/// Whether the node only reads this input, and keeps nothing of it.
bool onlyReads(const Use& use) {
  if (isStructural(use.user->kind()) || mayBeKept(use.user, use.offset)) return false;
  const Operator* op = operatorOf(*use.user);
  if (op && op->kernel() && op->isPure()) {  // aten::size, prim::dtype: what comes out holds no tensor
    const auto outputs = use.user->outputs();
    return std::none_of(
        outputs.begin(), outputs.end(), [](const Value* output) { return mayHoldTensors(*output->type()); });
  }
  op = plainOperatorOf(use.user);
  if (!op || op->mayShareArguments() || op->hasSideEffects()) return false;
  const auto& arguments = op->schema().arguments();
  return use.offset < arguments.size() && !arguments[use.offset].alias_info();
}

/// Whether the node makes a view of its first input that is only read, before `end`.
bool isViewReadBefore(const Use& use, const Node* end) {
  Node* view = use.user;
  const Operator* op = plainOperatorOf(view);
  if (!op || use.offset != 0 || op->isMutable() || op->hasSideEffects() || view->outputs().size() != 1 ||
      !isTensorValue(view->output()) || mayBeKept(view, 0) || mayBeKept(view, view->inputs().size()))
    return false;
  const auto uses = view->output()->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const Use& next) {
    return next.user->isBefore(end) && (onlyReads(next) || isViewReadBefore(next, end));
  });
}

/// The in-place reuse for an in-place operator; null if there is none.
const Operator* inPlaceReuseFor(Node* node) {
  const Operator* op = plainOperatorOf(node);
  if (!op || !op->isMutable() || node->outputs().size() != 1) return nullptr;
  const Operator* reuse = op->inPlaceReuse();
  return reuse && reuse->isPure() ? reuse : nullptr;
}

/// The in-place operator that all of these parts of parts are made for; null if there is another reason.
Node* updateThrough(Node* part) {
  for (;;) {
    if (!assignmentTo(part)) return nullptr;
    const auto uses = part->output()->uses();
    if (uses.size() != 1 || uses.front().offset != 0) return nullptr;
    Node* user = uses.front().user;
    if (user->owningBlock() != part->owningBlock()) return nullptr;
    if (inPlaceReuseFor(user)) return user->output()->hasUses() ? nullptr : user;
    part = user;
  }
}

class Rewriter {
 public:
  Rewriter(Graph& graph, bool with_parts) : graph_(graph), scopes_(graph), with_parts_(with_parts) {}

  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      useCurrent(node);
      if (rewrite(node)) {
        changed_ = true;
        continue;
      }
      for (Block* inner : node->blocks()) run(inner);
    }
    useCurrent(block->returnNode());
    return changed_;
  }

 private:
  /// Lets the node use what the tensors that it names have become.
  void useCurrent(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* now = node->input(i);
      for (auto found = current_.find(now); found != current_.end(); found = current_.find(now)) {
        // Halves the way, so that a tensor that is changed many times is found at once.
        if (const auto next = current_.find(found->second); next != current_.end()) found->second = next->second;
        now = found->second;
      }
      if (now != node->input(i)) node->replaceInput(i, now);
    }
  }

  uint32_t scopeOf(const Node* node) const {
    const auto found = new_scopes_.find(node);
    return found == new_scopes_.end() ? scopes_.of(node) : found->second;
  }

  /// isFresh; of a branch, whether each way made what it returns, and returns it once and keeps nothing of it.
  bool isFreshOnAllWays(const Value* tensor) const {
    const Node* node = tensor->node();
    if (node->kind() != prim::If) return isFresh(tensor);
    return std::all_of(node->blocks().begin(), node->blocks().end(), [&](const Block* block) {
      const Value* result = block->outputs()[tensor->offset()];
      if (result->owningBlock() != block || scopeOf(result->node()) != scopeOf(node) || !isFreshOnAllWays(result))
        return false;
      size_t times_returned = 0;
      for (const Use& use : result->uses()) {
        if (use.user == block->returnNode()) {
          ++times_returned;
        } else if (!onlyReads(use) && !isViewReadBefore(use, block->returnNode())) {
          return false;
        }
      }
      return times_returned == 1;
    });
  }

  /// Whether only this block knows the tensor's memory, and before `node` it was only read.
  bool isUnshared(const Value* tensor, const Node* node, const std::vector<Node*>& parts) const {
    if (tensor->owningBlock() != node->owningBlock() || scopeOf(tensor->node()) != scopeOf(node) ||
        !isFreshOnAllWays(tensor))
      return false;
    const auto uses = tensor->uses();
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return use.user == node || !use.user->isBefore(node) || onlyReads(use) || isViewReadBefore(use, node) ||
             std::find(parts.begin(), parts.end(), use.user) != parts.end();
    });
  }

  /// Replaces an in-place operator; returns what stands for it, or null.
  Node* rewrite(Node* node) {
    const Operator* reuse = inPlaceReuseFor(node);
    if (!reuse) return nullptr;
    const uint32_t scope = scopeOf(node);
    // Autograd refuses writes to views that were made while gradients were off.
    const auto isPart = [&](Node* view) {
      return assignmentTo(view) && updateThrough(view) == node && scopeOf(view) == scope;
    };
    std::vector<Node*> parts;  // of the tensor, the innermost first
    Value* tensor = node->input(0);
    for (; isPart(tensor->node()); tensor = tensor->node()->input(0)) parts.push_back(tensor->node());
    const auto inputs = node->inputs();
    const bool reads_itself = std::find(++inputs.begin(), inputs.end(), tensor) != inputs.end();
    const bool flows = std::any_of(inputs.begin(), inputs.end(), [](const Value* input) {
      return !isNoneConstant(input) && mayRequireGrad(input->type());
    });
    if (reads_itself || (!parts.empty() && !with_parts_) || (flows && !hasDerivative(*reuse)) ||
        !isUnshared(tensor, node, parts))
      return nullptr;
    Node* now = parts.empty() ? withReuse(node, *reuse, flows) : assigned(node, *reuse, parts, flows);
    new_scopes_[now] = scope;
    current_[tensor] = now->output();
    return now;
  }

  /// The type of a tensor after a change.
  static c10::TypePtr typeOf(const Value* before, bool flows) {
    const auto type = before->type()->expect<c10::TensorType>();
    if (!flows) return type;
    return c10::TensorType::create(type->scalarType(), type->device(), type->dim(), /*requires_grad=*/std::nullopt);
  }

  static Node* withReuse(Node* node, const Operator& reuse, bool flows) {
    node->setKind(reuse.kind());
    node->bindOperator(&reuse);
    node->output()->setType(typeOf(node->input(0), flows));
    return node;
  }

  /// The parts are computed as before: it is there that an index is found to be wrong.
  Node* assigned(Node* node, const Operator& reuse, const std::vector<Node*>& parts, bool flows) {
    const InsertPointGuard guard(graph_, node);
    Value* content = nullptr;
    const bool copies = isBasic(node, Basic::Copy);
    if (copies) {
      content = node->input(1);
    } else {
      content = withReuse(node, reuse, flows)->output();
      graph_.setInsertPoint(node->next());
    }
    Node* assignment = nullptr;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool is_last = i + 1 == parts.size();
      if (isWhole(parts[i]) && !(is_last && !assignment)) continue;
      size_t outer = i + 1;  // of which it is a part
      while (outer < parts.size() && isWhole(parts[outer])) ++outer;
      Value* whole = parts[outer - 1]->input(0);
      assignment = assign(node, parts[i], whole, content, flows);
      content = assignment->output();
    }
    if (copies) node->destroy();
    return assignment;
  }

  /// `x[:]`.
  static bool isWhole(const Node* view) {
    if (view->inputs().size() != 5 || constantAs<int64_t>(view->input(4)) != std::optional<int64_t>(1)) return false;
    const auto isOpen = [](const Value* bound, int64_t open) {
      return isNoneConstant(bound) || constantAs<int64_t>(bound) == std::optional(open);
    };
    return isOpen(view->input(2), 0) && isOpen(view->input(3), std::numeric_limits<int64_t>::max());
  }

  Node* assign(const Node* place, const Node* view, Value* whole, Value* content, bool flows) {
    std::vector<Value*> inputs = {whole, content};
    if (isNarrow(view)) {
      const auto [start, end] = *boundsOf(view);
      inputs.push_back(view->input(1));
      for (const int64_t bound : {start, end, int64_t(1)}) inputs.push_back(graph_.insertConstant(bound));
    } else {
      for (size_t i = 1; i < view->inputs().size(); ++i) inputs.push_back(view->input(i));
    }
    Node* node = graph_.create(Symbol::fromQualString(assignmentTo(view)), inputs);
    graph_.insertNode(node)->copyLocation(place);
    node->output()->setType(typeOf(whole, flows));
    operatorOf(*node);
    return node;
  }

  Graph& graph_;
  const StateScopes scopes_;
  const bool with_parts_;
  std::unordered_map<const Node*, uint32_t> new_scopes_;  // of nodes that were not there at the start
  std::unordered_map<const Value*, Value*> current_;
  bool changed_ = false;
};

bool hasInPlaceReuses(Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](Node* node) {
    return inPlaceReuseFor(node) || std::any_of(node->blocks().begin(), node->blocks().end(), hasInPlaceReuses);
  });
}

}  // namespace

/// What is assigned to parts of tensors (`y[i] = z`) stays as it is where no gradients are recorded: the index is
/// looked up twice, once where it may be wrong, so that costs a view, and pays where gradients flow.
static bool removeTensorMutation(Graph& graph, const TypeAssumptions& assumptions) {
  return hasInPlaceReuses(graph.block()) && Rewriter(graph, /*with_parts=*/assumptions.grad_mode).run(graph.block());
}

CRESSET_PASS_FOR_CALLS(
    removeTensorMutation, "remove-tensor-mutation", All,
    "Replace in-place operators on memory that only the graph knows by those that return a new tensor")

}  // namespace cresset
