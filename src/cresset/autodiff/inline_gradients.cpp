#include "cresset/autodiff/inline_gradients.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/differentiate.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/regions.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/propagate_types.h"
#include "cresset/program/program.h"

namespace cresset {

namespace {

/// Kinds of nodes that this file looks for.
struct Kinds {
  Symbol grad = Symbol::fromQualString("aten::grad");
  Symbol backward = Symbol::fromQualString("aten::backward");
  Symbol mark = Symbol::fromQualString("aten::requires_grad_");  // makes a tensor a leaf
  Symbol detach = Symbol::fromQualString("aten::detach");
  Symbol unwrap = Symbol::fromQualString("aten::_unwrap_optional");
  Symbol ones_like = Symbol::fromQualString("aten::ones_like");
  Symbol zeros_like = Symbol::fromQualString("aten::zeros_like");
  Symbol full_like = Symbol::fromQualString("aten::full_like");
  Symbol release = Symbol::fromQualString("cresset::release_graph");
  Symbol is_grad_enabled = Symbol::fromQualString("aten::is_grad_enabled");
  Symbol retain_grad = Symbol::fromQualString("aten::retain_grad");
  Symbol detach_in_place = Symbol::fromQualString("aten::detach_");

  static const Kinds& get() {
    static const Kinds kinds;
    return kinds;
  }
};

bool isGradientCall(const Node* node) {
  return node->kind() == Kinds::get().grad || node->kind() == Kinds::get().backward;
}

/// What a call of `grad` or `backward` asks for.
struct GradientCall {
  std::vector<Value*> outputs;
  std::vector<Value*> inputs;     // of `grad`
  std::vector<Value*> gradients;  // of the outputs; null for the one of a number
  bool accumulates = false;       // `backward`: into the leaves
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
};

/// Where more calls stay than these, no more are looked at: each costs time in proportion to the graph.
constexpr size_t kMaxCalls = 64;

class GradientInliner {
 public:
  explicit GradientInliner(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)), scopes_(graph) {}

  bool run() {
    const bool is_plain = survey(graph_.block());
    const bool writes_anything = tensorWrites(graph_) == TensorWrites::Anything;
    bool changed = false;
    for (Node* call : calls_) {
      if (notes_.size() >= kMaxCalls) break;
      if (!is_plain) {
        stays("the program changes how tensors take part in autograd");
      } else if (writes_anything) {
        stays("the program calls what is not inlined, or replaces the data of tensors");
      } else if (compile(call)) {
        changed = true;
        continue;
      }
      notes_.push_back(
          call->sourceRange().position() + ": " + std::string(call->kind().toUnqualString()) +
          " runs autograd's engine: " + reason_);
    }
    return changed;
  }

  /// Why calls were left as they are.
  std::vector<std::string> notes() { return std::move(notes_); }

 private:
  /// Remembers why a call is left; false.
  bool stays(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  static std::string describe(const Value* value) {
    const std::string name = value->hasDebugName() ? "'" + value->debugName() + "'" : "a tensor";
    return name + " (" + std::string(value->node()->kind().toQualString()) + ")";
  }

  /// Numbers the nodes in program order and finds those that matter. False if something takes tensors off the tape, or
  /// watches them there.
  bool survey(Block* block) {
    bool plain = true;
    const Kinds& kinds = Kinds::get();
    for (Node* node : block->nodes()) {
      order_.emplace(node, order_.size());
      if (node->kind() == kinds.retain_grad || node->kind() == kinds.detach_in_place) plain = false;
      if (isGradientCall(node)) {
        calls_.push_back(node);
        const auto call = read(node);
        if (!call || !call->retain_graph) freers_.push_back(node);
      } else if (node->kind() == kinds.release) {
        freers_.push_back(node);
      } else if (node->kind() == kinds.mark) {
        if (node->inputs().size() != 2 || constantAs<bool>(node->input(1)) != std::optional(true)) plain = false;
        marks_.push_back(node);
      } else if (const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node); op && op->isMutable()) {
        writers_.push_back(node);
      }
      for (Block* inner : node->blocks()) plain &= survey(inner);
    }
    return plain;
  }

  // ---- what the call says

  static std::optional<std::vector<Value*>> listElements(AliasDb& memory, Value* list) {
    if (list->node()->kind() != prim::ListConstruct || memory.hasWriters(list)) return std::nullopt;
    const auto elements = list->node()->inputs();
    return std::vector<Value*>(elements.begin(), elements.end());
  }

  /// Nothing if it is not a plain call.
  std::optional<GradientCall> read(const Node* node) {
    GradientCall call;
    call.accumulates = node->kind() == Kinds::get().backward;
    const auto inputs = node->inputs();
    if (inputs.size() != (call.accumulates ? 4 : 6)) return std::nullopt;
    const bool is_list = inputs[0]->type()->kind() == c10::TypeKind::ListType;
    const auto outputs = is_list ? listElements(*memory_, inputs[0]) : std::vector<Value*>{inputs[0]};
    if (!outputs || outputs->empty()) return std::nullopt;
    call.outputs = *outputs;
    size_t next = 1;
    if (!call.accumulates) {
      const auto wanted = listElements(*memory_, inputs[next++]);
      if (!wanted || wanted->empty()) return std::nullopt;
      call.inputs = *wanted;
    }
    Value* gradients = inputs[next++];
    if (isNoneConstant(gradients)) {
      call.gradients.resize(call.outputs.size());
    } else if (is_list) {
      const auto given = listElements(*memory_, gradients);
      if (!given || given->size() != call.outputs.size()) return std::nullopt;
      for (Value* value : *given) call.gradients.push_back(isNoneConstant(value) ? nullptr : value);
    } else {
      call.gradients = {gradients};
    }
    const auto retain = toIValue(inputs[next++]);
    const auto create = constantAs<bool>(inputs[next++]);
    if (!retain || !create) return std::nullopt;
    call.create_graph = *create;
    call.retain_graph = retain->isNone() ? *create : retain->toBool();
    if (call.create_graph && !call.retain_graph) return std::nullopt;
    if (!call.accumulates) call.allow_unused = constantAs<bool>(inputs[next]).value_or(false);
    const auto isTensor = [](const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; };
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (!isTensor(call.outputs[i]) || (call.gradients[i] && !isTensor(call.gradients[i]))) return std::nullopt;
    }
    if (!std::all_of(call.inputs.begin(), call.inputs.end(), isTensor)) return std::nullopt;
    return call;
  }

  /// Whether what autograd checks of an output's gradient holds, up to sizes.
  static bool fits(const Value* output, const Value* gradient) {
    const auto& of = output->type()->expectRef<c10::TensorType>();
    if (!gradient) return of.dim() == size_t(0);
    const auto& type = gradient->type()->expectRef<c10::TensorType>();
    return of.scalarType() && of.scalarType() == type.scalarType() && of.device() && of.device() == type.device();
  }

  // ---- ways through the graph

  /// The first name of the tensor: some nodes only hand it on.
  static Value* canonical(Value* value) {
    for (;;) {
      const Node* node = value->node();
      const bool hands_on = node->kind() == Kinds::get().mark || node->kind() == prim::unchecked_cast ||
                            node->kind() == prim::unchecked_unwrap_optional || node->kind() == Kinds::get().unwrap;
      if (!hands_on) return value;
      value = node->input(0);
    }
  }

  /// Whether the signature of the call describes the tensor: it is an argument, or a part of one.
  static bool isDescribed(const Value* value) {
    const c10::Type* type = value->type().get();
    if (type->kind() == c10::TypeKind::OptionalType) type = type->containedTypes()[0].get();
    return type->kind() == c10::TypeKind::TensorType && isPartOfInput(value);
  }

  static bool isPartOfInput(const Value* value) {
    if (value->node()->isParam()) return !value->node()->owningBlock()->owningNode();
    return value->node()->kind() == prim::TupleUnpack && isPartOfInput(value->node()->input(0));
  }

  /// Whether the tensor is another one than all else that the graph shows.
  static bool isDistinct(const Value* value) {
    if (isDescribed(value)) return true;
    Node* node = value->node();
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    return op && op->isOfDispatcher() && (op->isPure() || node->kind() == Kinds::get().detach);
  }

  /// `x.requires_grad_()`, for the tensor.
  const Node* markOf(const Value* root) const {
    for (const Node* mark : marks_) {
      if (canonical(mark->input(0)) == root) return mark;
    }
    return nullptr;
  }

  /// Whether gradients go through the node by rules.
  bool hasRules(Node* node) {
    if (node->kind() == prim::ListUnpack) return hasRules(node->input(0)->node());
    if (!node->blocks().empty() || isStructural(node->kind())) return false;
    const Operator* op = operatorOf(*node);
    if (!op || op->isMutable() || !hasDerivative(*op) || !rulesHold(*op, *node)) return false;
    const auto fits = [](const Value* value) { return rulesFit(value->type()); };
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* operand = node->input(i);
      if (isNoneConstant(operand) || !mayRequireGrad(operand->type())) continue;
      const auto parts = elementsOf(operand);
      if (parts.size() == 1 && parts[0] == operand && operand->type()->kind() != c10::TypeKind::TensorType)
        return false;
      if (isTensorList(*operand->type()) && memory_->hasWriters(operand)) return false;
      for (Value* part : parts) {
        if (isNoneConstant(part) || !mayRequireGrad(part->type())) continue;
        if (!fits(part) || !hasGradient(*op, i)) return false;
      }
    }
    const auto outputs = node->outputs();
    return std::all_of(outputs.begin(), outputs.end(), fits);
  }

  /// Whether the value was there at the start.
  bool isKnown(const Value* value) const { return value->node()->isParam() || order_.contains(value->node()); }

  // ---- one call

  /// The way from the wanted tensors to the outputs.
  struct Way {
    /// What is compiled, and which value a message names, must not depend on addresses.
    struct InOrder {
      bool operator()(const Value* a, const Value* b) const { return a->unique() < b->unique(); }
    };
    std::vector<Value*> wanted;                // canonical
    std::unordered_set<const Value*> depends;  // computed from a wanted one
    std::unordered_set<Node*> nodes;
    std::set<Value*, InOrder> sources;  // canonical: wanted ones that depend on no other
    std::set<Value*, InOrder> free;     // operands that do not depend on the wanted ones
  };

  void findDependent(Block* block, Way& way) {
    const auto isOnWay = [&](Value* value) { return way.depends.contains(value) || isWanted(canonical(value), way); };
    for (Node* node : block->nodes()) {
      const auto inputs = node->inputs();
      bool depends = std::any_of(inputs.begin(), inputs.end(), isOnWay);
      for (Block* inner : node->blocks()) {
        if (depends) way.depends.insert(inner->inputs().begin(), inner->inputs().end());
        findDependent(inner, way);
        depends |= std::any_of(inner->outputs().begin(), inner->outputs().end(), isOnWay);
      }
      if (!depends) continue;
      // What a turn of a loop gives is what the next one takes.
      if (node->kind() == prim::Loop && !way.depends.contains(node->blocks()[0]->inputs()[0])) {
        Block* body = node->blocks()[0];
        way.depends.insert(body->inputs().begin(), body->inputs().end());
        findDependent(body, way);
      }
      way.depends.insert(node->outputs().begin(), node->outputs().end());
    }
  }

  bool isWanted(const Value* root, const Way& way) const {
    return std::find(way.wanted.begin(), way.wanted.end(), root) != way.wanted.end();
  }

  /// Follows gradients from `output` back to the wanted tensors. False if they would go where the graph does not show.
  bool follow(Value* output, Way& way) {
    std::vector<Value*> queue = {output};
    std::unordered_set<const Value*> seen;
    while (!queue.empty()) {
      Value* value = queue.back();
      queue.pop_back();
      if (isConstant(value)) continue;
      Value* root = canonical(value);
      if (!seen.insert(root).second) continue;
      const bool is_cut_off = root->node()->kind() == Kinds::get().detach && markOf(root);
      if (isWanted(root, way) && (is_cut_off || !way.depends.contains(root))) {
        way.sources.insert(root);
        continue;
      }
      if (!isKnown(root)) return stays("it comes behind others");
      if (!way.depends.contains(root) || !mayRequireGrad(root->type())) {
        way.free.insert(root);
        continue;
      }
      Node* node = root->node();
      if (node->isParam() || !node->blocks().empty())
        return stays("the way leads through a branch or a loop: " + describe(root));
      if (markOf(root) || !hasRules(node))
        return stays(
            "an operator on the way has no derivative rule for what is known of its arguments: " + describe(root));
      way.nodes.insert(node);
      if (node->kind() == prim::ListUnpack) {
        node = node->input(0)->node();
        if (node->kind() == prim::ListConstruct || memory_->hasWriters(node->output()))
          return stays("the way leads through a list: " + describe(root));
        way.nodes.insert(node);
      }
      for (Value* operand : node->inputs()) {
        for (Value* part : elementsOf(operand)) queue.push_back(part);
      }
    }
    return true;
  }

  /// Whether no gradient can come to a wanted tensor through `value` on a way that the graph does not show: what it is
  /// computed from, and what has been written to it, is described by the signature and does not come from a wanted
  /// tensor, or requires no gradient.
  bool originIsKnown(Value* value, const Way& way, std::unordered_set<const Value*>& seen) {
    std::vector<Value*> queue = {value};
    while (!queue.empty()) {
      Value* next = queue.back();
      queue.pop_back();
      if (isConstant(next) || !mayRequireGrad(next->type()) || !seen.insert(next).second) continue;
      for (Node* writer : writers_) {
        if (!memory_->writesToAlias(writer, std::span<Value* const>(&next, 1))) continue;
        for (Value* input : writer->inputs()) {
          const bool is_wanted = way.depends.contains(input) || isWanted(canonical(input), way);
          if (is_wanted && mayRequireGrad(input->type()) && input != next) return false;
          queue.push_back(input);
        }
      }
      Node* node = next->node();
      if (isDescribed(next) || node->kind() == Kinds::get().detach) continue;
      if (node->isParam() || !node->blocks().empty() || !order_.contains(node)) return false;
      if (isStructural(node->kind())) {
        const bool shown = node->kind() == prim::ListUnpack || node->kind() == prim::ListConstruct ||
                           node->kind() == prim::unchecked_cast;
        if (!shown || (node->kind() == prim::ListConstruct && memory_->hasWriters(next))) return false;
      } else {
        const Operator* op = operatorOf(*node);
        if (!op || op->restriction() == Restriction::Foreign) return false;
        if (!op->isOfDispatcher() && !hasDerivative(*op) && !op->isMutable() && canonical(next) == next) return false;
      }
      for (Value* input : node->inputs()) queue.push_back(input);
    }
    return true;
  }

  /// Whether nothing writes to these between their use on the way and the call: autograd would complain, mostly.
  bool isUnwritten(const std::vector<Value*>& values, const Way& way, const Node* call) {
    size_t first = order_.at(call);
    bool in_one_turn = true;
    for (const Node* node : way.nodes) {
      first = std::min(first, order_.at(node));
      in_one_turn &= node->owningBlock() == call->owningBlock();
    }
    for (const Block* block = call->owningBlock(); block->owningNode() && !in_one_turn;
         block = block->owningNode()->owningBlock()) {
      if (block->owningNode()->kind() == prim::Loop)
        first = 0;  // what stands behind the call comes before the next one
    }
    return std::none_of(writers_.begin(), writers_.end(), [&](Node* writer) {
      const size_t place = order_.at(writer);
      const bool between = first == 0 || (place > first && place < order_.at(call));
      return between && memory_->writesToAlias(writer, values);
    });
  }

  /// Whether an earlier call, or this one in an earlier turn of a loop, has freed a part of the way: then the engine
  /// raises.
  bool isFreed(const Way& way, const Node* call) {
    for (const Node* freer : freers_) {
      if (order_.at(freer) > order_.at(call)) continue;
      if (freer != call) {
        const auto& behind = nodesBehind(freer);
        if (std::any_of(way.nodes.begin(), way.nodes.end(), [&](Node* node) { return behind.contains(node); }))
          return true;
        continue;
      }
      for (const Node* loop = call->owningBlock()->owningNode(); loop; loop = loop->owningBlock()->owningNode()) {
        if (loop->kind() == prim::Loop &&
            std::any_of(way.nodes.begin(), way.nodes.end(), [&](Node* node) { return !node->isInside(loop); }))
          return true;
      }
    }
    return false;
  }

  /// What the outputs of a call are computed from.
  const std::unordered_set<const Node*>& nodesBehind(const Node* call) {
    const auto [entry, added] = behind_.try_emplace(call);
    std::unordered_set<const Node*>& found = entry->second;
    if (!added) return found;
    std::vector<const Value*> queue = {call->input(0)};
    while (!queue.empty()) {
      const Node* node = queue.back()->node();
      queue.pop_back();
      if (!found.insert(node).second) continue;
      for (const Value* input : node->inputs()) queue.push_back(input);
      for (const Block* block : node->blocks())
        queue.insert(queue.end(), block->outputs().begin(), block->outputs().end());
      if (node->isParam() && node->owningBlock()->owningNode()) {
        for (const Value* input : node->owningBlock()->owningNode()->inputs()) queue.push_back(input);
      }
    }
    return found;
  }

  /// Whether a tensor on a way surely requires a gradient: only then is it known what the call gives.
  bool surelyRequiresGrad(Value* value) {
    std::vector<Value*> queue = {value};
    std::unordered_set<const Value*> seen;
    while (!queue.empty()) {
      Value* root = canonical(queue.back());
      queue.pop_back();
      if (!seen.insert(root).second) continue;
      const bool is_optional = root->type()->kind() == c10::TypeKind::OptionalType && isDescribed(root);
      const auto type = (is_optional ? takenOut(root) : root)->type()->cast<c10::TensorType>();
      if ((type && type->requiresGrad() == std::optional(true)) || markOf(root)) return true;
      if (root->node()->isParam() || !order_.contains(root->node()) || scopes_.of(root->node()) != 0) continue;
      Node* node = root->node()->kind() == prim::ListUnpack ? root->node()->input(0)->node() : root->node();
      if (isStructural(node->kind()) || !hasRules(node)) continue;
      for (Value* operand : node->inputs()) {
        if (!mayRequireGrad(operand->type())) continue;
        for (Value* part : elementsOf(operand)) {
          if (mayRequireGrad(part->type()) && part->type()->kind() == c10::TypeKind::TensorType) queue.push_back(part);
        }
      }
    }
    return false;
  }

  /// A tensor that becomes a leaf in the graph is one on the way only if it does so before it is used.
  bool isMarkedInTime(Value* root, const Way& way, const Node* call) const {
    const Node* mark = markOf(root);
    if (!mark) return true;
    if (mark->owningBlock() != graph_.block() && mark->owningBlock() != call->owningBlock()) return false;
    const size_t place = order_.at(mark);
    std::vector<Value*> names = {root};
    for (size_t i = 0; i < names.size(); ++i) {
      for (const Use& use : names[i]->uses()) {
        const bool counts = way.nodes.contains(use.user) || use.user->kind() == prim::ListConstruct;
        const auto found = order_.find(use.user);
        if (counts && (found == order_.end() || found->second < place)) return false;
        for (Value* output : use.user->outputs()) {
          if (canonical(output) == root) names.push_back(output);
        }
      }
    }
    return true;
  }

  bool compile(Node* node) {
    const auto call = read(node);
    if (!call) return stays("its arguments are no lists made in place, or not constant");
    for (size_t i = 0; i < call->outputs.size(); ++i) {
      if (fits(call->outputs[i], call->gradients[i])) continue;
      const std::string output = describe(call->outputs[i]);
      return stays(
          call->gradients[i] ? "a gradient is not known to be like its output, " + output
                             : "no gradient is given for " + output + ", which may be no number");
    }
    Way way;
    for (Value* input : call->inputs) {
      Value* root = canonical(input);
      if (!isDistinct(root)) return stays(describe(root) + " may be another tensor under a second name");
      if (!isWanted(root, way)) way.wanted.push_back(root);
    }
    if (call->accumulates) {
      const auto leaves = leavesOf(*call);
      if (!leaves) return stays("not all leaves that it reaches are known");
      way.wanted = *leaves;
    }
    if (std::any_of(way.wanted.begin(), way.wanted.end(), [&](const Value* root) { return !isKnown(root); }))
      return stays("it comes behind others");
    findDependent(graph_.block(), way);
    for (Value* output : call->outputs) {
      if (!follow(output, way)) return false;
    }
    std::unordered_set<const Value*> known;
    std::vector<Value*> touched(way.sources.begin(), way.sources.end());
    for (Value* value : way.sources) {
      if (!originIsKnown(value, way, known)) return stays("it is not known what was written to " + describe(value));
    }
    for (Value* value : way.free) {
      if (!originIsKnown(value, way, known)) return stays("it is not known where " + describe(value) + " comes from");
      if (value->type()->kind() == c10::TypeKind::TensorType) touched.push_back(value);
    }
    for (Node* inner : way.nodes) {
      for (Value* output : inner->outputs()) touched.push_back(output);
    }
    if (isFreed(way, node)) return stays("an earlier call frees a part of the way");
    if (!isUnwritten(touched, way, node)) return stays("the program writes to tensors on the way");
    const auto isElsewhere = [&](const Node* inner) { return scopes_.of(inner) != 0; };
    if (isElsewhere(node) || std::any_of(way.nodes.begin(), way.nodes.end(), isElsewhere))
      return stays("the program turns gradients or autocast on or off on the way");
    for (Value* root : way.wanted) {
      if (!surelyRequiresGrad(root) || !isMarkedInTime(root, way, node))
        return stays(describe(root) + " is not known to require a gradient");
    }
    for (Value* output : call->outputs) {
      if (!surelyRequiresGrad(output)) return stays(describe(output) + " is not known to require a gradient");
    }
    if (!call->retain_graph) nodesBehind(node);  // the call itself goes
    return write(node, *call, way);
  }

  /// Whether autograd made the tensor nowhere: a tensor that `requires_grad_()` is called on may be computed all the
  /// same.
  static bool isLeaf(const Value* root) {
    const auto inputs = root->node()->inputs();
    return isDescribed(root) || root->node()->kind() == Kinds::get().detach ||
           std::none_of(inputs.begin(), inputs.end(), [](const Value* input) {
             return !isNoneConstant(input) && mayRequireGrad(input->type());
           });
  }

  bool isWritten(Value* value) {
    return std::any_of(writers_.begin(), writers_.end(), [&](Node* writer) {
      return memory_->writesToAlias(writer, std::span<Value* const>(&value, 1));
    });
  }

  /// The leaves that `backward` reaches; nothing if the graph does not show them all.
  std::optional<std::vector<Value*>> leavesOf(const GradientCall& call) {
    std::vector<Value*> leaves, queue = call.outputs;
    std::unordered_set<const Value*> seen;
    while (!queue.empty()) {
      Value* root = canonical(queue.back());
      queue.pop_back();
      if (isConstant(root) || !mayRequireGrad(root->type()) || !seen.insert(root).second) continue;
      if (isWritten(root)) return std::nullopt;
      if (markOf(root) || isDescribed(root)) {
        if (!isDistinct(root) || !isLeaf(root)) return std::nullopt;
        leaves.push_back(root);
        continue;
      }
      Node* node = root->node();
      if (node->isParam() || !order_.contains(node)) return std::nullopt;
      if (node->kind() == prim::ListUnpack) node = node->input(0)->node();
      if (!hasRules(node)) return std::nullopt;
      for (Value* operand : node->inputs()) {
        if (!mayRequireGrad(operand->type())) continue;
        for (Value* part : elementsOf(operand)) queue.push_back(part);
      }
    }
    return leaves;
  }

  // ---- the nodes instead

  /// The way as a graph of its own.
  struct Copy {
    std::shared_ptr<Graph> graph = Graph::make();
    std::unordered_map<const Value*, Value*> copies;     // of canonical values
    std::unordered_map<const Value*, Value*> originals;  // of values of the copy
  };

  Value* copyOf(Value* value, Copy& to) {
    Value* root = canonical(value);
    if (const auto found = to.copies.find(root); found != to.copies.end()) return found->second;
    Value* copy = nullptr;
    if (const auto constant = toIValue(root); constant && !constant->isTensor() && !constant->isObject()) {
      const InsertPointGuard guard(*to.graph, to.graph->block());
      copy = to.graph->insertConstant(*constant, root->type());
    } else {
      if (value->type()->kind() == c10::TypeKind::OptionalType) value = takenOut(value);
      copy = to.graph->addInput()->setType(value->type());
      to.originals[copy] = value;
    }
    return to.copies[root] = copy;
  }

  /// The tensor that an Optional argument holds: plans take it out at their start. The argument itself if they did not.
  static Value* takenOut(Value* value) {
    for (const Use& use : value->uses()) {
      if (use.user->kind() == prim::unchecked_unwrap_optional) return use.user->output();
    }
    return value;
  }

  void copyNode(Node* node, Copy& to) {
    std::vector<Value*> operands;
    for (Value* operand : node->inputs()) {
      if (operand->node()->kind() != prim::ListConstruct || memory_->hasWriters(operand)) {
        operands.push_back(copyOf(operand, to));
        continue;
      }
      std::vector<Value*> elements;
      for (Value* element : operand->node()->inputs()) elements.push_back(copyOf(element, to));
      Node* list = to.graph->create(prim::ListConstruct, elements);
      to.graph->block()->appendNode(list);
      list->output()->setType(operand->type());
      operands.push_back(list->output());
    }
    size_t next = 0;
    Node* copy = to.graph->createClone(node, [&](Value*) { return operands[next++]; });
    to.graph->block()->appendNode(copy);
    copy->bindOperator(node->boundOperator());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      to.copies[node->output(i)] = copy->output(i);
      to.originals[copy->output(i)] = node->output(i);
    }
  }

  bool write(Node* node, const GradientCall& call, const Way& way) {
    std::vector<Node*> nodes(way.nodes.begin(), way.nodes.end());
    std::sort(nodes.begin(), nodes.end(), [&](Node* a, Node* b) { return order_.at(a) < order_.at(b); });
    Copy copy;
    std::vector<Value*> wanted, of;
    for (Value* root : way.sources) copyOf(root, copy);
    for (Node* inner : nodes) copyNode(inner, copy);
    for (Value* root : way.wanted) {
      if (!copy.copies.contains(root)) {
        if (!call.allow_unused) return stays(describe(root) + " is not used for the output");
        continue;
      }
      wanted.push_back(copy.copies.at(root));
    }
    for (Value* output : call.outputs) of.push_back(copyOf(output, copy));
    const Gradient gradient = differentiate(*copy.graph, of, wanted);
    if (gradient.with_respect_to.size() != wanted.size() && !call.allow_unused)
      return stays("an input is not used for the output");

    const bool stays = call.create_graph || isUsedElsewhere(node, way);
    if (!stays) detachSources(way, nodes);
    const auto isOnTape = [&](Value* value) { return stays || !way.nodes.contains(value->node()); };
    const InsertPointGuard guard(graph_, node);
    if (stays && !call.retain_graph) release(node, call, way);
    std::unordered_map<const Value*, Value*> values;  // of the gradient's graph
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      Value* given = call.gradients[i] ? rootGradient(node, call, i) : onesFor(node, call.outputs[i]);
      values[gradient.graph->inputs()[i]] = given;
    }
    for (size_t i = 0; i < gradient.captured.size(); ++i) {
      Value* captured = valueFor(gradient.captured[i], copy, node);
      values[gradient.graph->inputs()[call.outputs.size() + i]] =
          !call.create_graph && isOnTape(captured) ? detached(node, captured) : captured;
    }
    const auto valueOf = [&](Value* value) { return values.at(value); };
    Node* tuple = nullptr;
    for (Node* inner : gradient.graph->nodes()) {
      if (inner->kind() == prim::TupleConstruct && inner->output() == gradient.graph->outputs()[0]) {
        tuple = inner;
        continue;
      }
      if (inner->kind() == Kinds::get().is_grad_enabled) {
        values[inner->output()] = graph_.insertConstant(call.create_graph);
        continue;
      }
      Node* made = graph_.insertNode(graph_.createClone(inner, valueOf));
      copyLocationThroughout(made, node);
      for (size_t i = 0; i < inner->outputs().size(); ++i) values[inner->output(i)] = made->output(i);
      for (Block* block : made->blocks()) setGradMode(block, call.create_graph);
    }
    std::unordered_map<const Value*, Value*> results;
    for (size_t i = 0; i < gradient.with_respect_to.size(); ++i)
      results[gradient.with_respect_to[i]] = values.at(tuple->input(i));
    if (call.accumulates) {
      accumulate(node, call, way, copy, results);
    } else {
      give(node, call, copy, results);
    }
    return true;
  }

  /// Rules ask whether gradients are on while the engine computes.
  void setGradMode(Block* block, bool on) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) setGradMode(inner, on);
      if (node->kind() != Kinds::get().is_grad_enabled) continue;
      node->output()->replaceAllUsesWith(insertConstantBefore(node, on));
      node->destroy();
    }
  }

  /// What stands for a value of the copy in the graph itself. The gradient may ask for sizes that nobody has asked for.
  Value* valueFor(Value* value, Copy& copy, Node* place) {
    if (const auto found = copy.originals.find(value); found != copy.originals.end()) return found->second;
    Node* fact = value->node();
    Node* made =
        graph_.insertNode(graph_.createClone(fact, [&](Value* operand) { return valueFor(operand, copy, place); }));
    made->copyLocation(place);
    copy.originals[value] = made->output();
    return made->output();
  }

  Node* insert(const Node* call, const char* name, const std::vector<Value*>& inputs, c10::TypePtr type) {
    Node* node = graph_.insertNode(graph_.create(Symbol::fromQualString(name), inputs, type ? 1 : 0));
    if (type) node->output()->setType(std::move(type));
    node->copyLocation(call);
    operatorOf(*node);
    return node;
  }

  Value* detached(const Node* call, Value* value) {
    if (value->type()->kind() != c10::TypeKind::TensorType || !mayRequireGrad(value->type())) return value;
    return insert(call, "aten::detach", {value}, c10::TensorType::get())->output();
  }

  Value* onesFor(const Node* call, Value* output) {
    Value* none = graph_.insertConstant(c10::IValue());
    return insert(call, "aten::ones_like", {output, none, none, none, none, none}, c10::TensorType::get())->output();
  }

  /// A gradient that the call gives, with the sizes of its output.
  Value* rootGradient(const Node* call, const GradientCall& what, size_t i) {
    Value* given = what.create_graph ? what.gradients[i] : detached(call, what.gradients[i]);
    if (isMadeLike(what.gradients[i], what.outputs[i])) return given;
    return insert(call, "cresset::root_gradient", {given, what.outputs[i]}, given->type())->output();
  }

  /// Whether the tensor surely has the sizes of the other: `torch.ones_like(y)`; numbers.
  static bool isMadeLike(const Value* gradient, Value* output) {
    const Node* node = gradient->node();
    const Kinds& kinds = Kinds::get();
    const bool is_like =
        node->kind() == kinds.ones_like || node->kind() == kinds.zeros_like || node->kind() == kinds.full_like;
    if (is_like && canonical(node->input(0)) == canonical(output)) return true;
    const auto rank = [](const Value* value) { return value->type()->expectRef<c10::TensorType>().dim(); };
    return rank(gradient) == size_t(0) && rank(output) == size_t(0);
  }

  void give(
      Node* call, const GradientCall& what, const Copy& copy, const std::unordered_map<const Value*, Value*>& results) {
    std::vector<Value*> gradients;
    for (Value* input : what.inputs) {
      const auto mine = copy.copies.find(canonical(input));
      const auto found = mine == copy.copies.end() ? results.end() : results.find(mine->second);
      gradients.push_back(
          found == results.end() ? graph_.insertConstant(c10::IValue(), c10::OptionalType::ofTensor()) : found->second);
    }
    Node* list = graph_.insertNode(graph_.create(prim::ListConstruct, gradients));
    list->output()->setType(call->output()->type());
    list->copyLocation(call);
    call->output()->replaceAllUsesWith(list->output());
    call->destroy();
  }

  void accumulate(
      Node* call, const GradientCall& what, const Way& way, const Copy& copy,
      const std::unordered_map<const Value*, Value*>& results) {
    Value* create = graph_.insertConstant(what.create_graph);
    for (Value* root : way.wanted) {
      const auto found = results.find(copy.copies.at(root));
      if (found == results.end()) continue;
      insert(
          call, "cresset::accumulate_gradient", {copy.originals.at(copy.copies.at(root)), found->second, create},
          nullptr);
    }
    call->destroy();
  }

  // ---- the tape

  /// Whether anything but the call could tell that the nodes on the way were recorded.
  bool isUsedElsewhere(const Node* call, const Way& way) {
    for (Node* node : way.nodes) {
      for (Value* output : node->outputs()) {
        if (!mayRequireGrad(output->type())) continue;
        for (const Use& use : output->uses()) {
          if (!way.nodes.contains(use.user) && !isBlind(use.user, call, way)) return true;
        }
      }
    }
    return false;
  }

  /// Whether the node does not care whether its operands are on the tape.
  bool isBlind(Node* user, const Node* call, const Way& way) {
    if (user == call) return true;
    if (user->kind() == prim::ListConstruct) {
      const auto uses = user->output()->uses();
      return std::all_of(
          uses.begin(), uses.end(), [&](const Use& use) { return use.user == call || way.nodes.contains(use.user); });
    }
    if (isStructural(user->kind()) || !user->blocks().empty()) return false;
    if (user->kind() == Kinds::get().detach) return true;
    const Operator* op = operatorOf(*user);
    return op && op->isPure() && !op->asksAutograd() && !givesGradients(user);
  }

  /// Nobody sees the tape: the way starts from tensors that require no gradients.
  void detachSources(const Way& way, const std::vector<Node*>& nodes) {
    std::unordered_map<const Value*, Value*> detached;
    const auto detach = [&](Value* operand) -> Value* {
      if (operand->type()->kind() != c10::TypeKind::TensorType || !mayRequireGrad(operand->type()) ||
          way.nodes.contains(operand->node()))
        return operand;
      Value*& mine = detached[operand];
      if (!mine) {
        Node* maker = operand->node();
        const InsertPointGuard guard(graph_, maker->isParam() ? maker->owningBlock()->nodes().front() : maker->next());
        mine = insert(nodes.front(), "aten::detach", {operand}, c10::TensorType::get())->output();
      }
      return mine;
    };
    for (Node* node : nodes) {
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        Value* operand = node->input(i);
        if (!isTensorListConstruct(operand->node())) {
          node->replaceInput(i, detach(operand));
          continue;
        }
        std::vector<Value*> elements;
        for (Value* element : operand->node()->inputs()) elements.push_back(detach(element));
        Node* list = graph_.create(prim::ListConstruct, elements);
        list->insertBefore(node);
        list->output()->setType(operand->type());
        list->copyLocation(operand->node());
        node->replaceInput(i, list->output());
      }
    }
  }

  /// What the engine frees behind itself.
  void release(Node* node, const GradientCall& call, const Way& way) {
    const auto list = [&](const std::vector<Value*>& values) {
      Node* made = graph_.insertNode(graph_.create(prim::ListConstruct, values));
      made->output()->setType(c10::ListType::ofTensors());
      made->copyLocation(node);
      return made->output();
    };
    std::vector<Value*> inputs = call.inputs;
    if (call.accumulates) inputs = way.wanted;
    insert(node, "cresset::release_graph", {list(call.outputs), list(inputs)}, nullptr);
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  StateScopes scopes_;
  std::unordered_map<const Node*, size_t> order_;  // of the nodes that were there at the start
  std::vector<Node*> calls_, marks_, writers_, freers_;
  std::unordered_map<const Node*, std::unordered_set<const Node*>> behind_;
  std::string reason_;
  std::vector<std::string> notes_;
};

bool differentiatesIn(Block* block, std::unordered_set<const Function*>& seen) {
  for (Node* node : block->nodes()) {
    if (isGradientCall(node)) return true;
    for (Block* inner : node->blocks()) {
      if (differentiatesIn(inner, seen)) return true;
    }
    Function* callee = calleeOf(node);
    if (callee && callee->isDefined() && seen.insert(callee).second && differentiatesIn(callee->graph()->block(), seen))
      return true;
  }
  return false;
}

}  // namespace

bool inlineGradients(Graph& graph, const TypeAssumptions& assumptions, std::vector<std::string>& left) {
  GradientInliner inliner(graph);
  const bool changed = inliner.run();
  left = inliner.notes();
  if (changed) fitRulesToRanks(graph, "gradients", assumptions);
  return changed;
}

bool differentiates(Graph& graph) {
  std::unordered_set<const Function*> seen;
  return differentiatesIn(graph.block(), seen);
}

}  // namespace cresset
