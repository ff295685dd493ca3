#include "cresset/autodiff/gradient_ways.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <span>

#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/regions.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Whether the tensor is another one than all else that the graph shows.
bool isDistinct(const Value* value) {
  if (isDescribed(value)) return true;
  Node* node = value->node();
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  return op && op->isOfDispatcher() && (op->isPure() || op->hasTrait(Trait::CutsTape));
}

/// Whether autograd made the tensor nowhere: a tensor that `requires_grad_()` is called on may be computed all the
/// same.
bool isLeaf(const Value* root) {
  const auto inputs = root->node()->inputs();
  return isDescribed(root) || hasTrait(*root->node(), Trait::CutsTape) ||
         std::none_of(inputs.begin(), inputs.end(), [](const Value* input) {
           return !isNoneConstant(input) && mayRequireGrad(input->type());
         });
}

}  // namespace

bool GradientWays::stays(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

bool GradientWays::survey(Block* block) {
  bool plain = true;
  for (Node* node : block->nodes()) {
    order_.emplace(node, order_.size());
    if (hasTrait(*node, Trait::ChangesTape)) plain = false;
    if (isGradientCall(node)) {
      calls_.push_back(node);
      const auto call = readGradientCall(node, *memory_);
      if (!call || !call->retain_graph) freers_.push_back(node);
    } else if (hasTrait(*node, Trait::ReleasesTape)) {
      freers_.push_back(node);
    } else if (hasTrait(*node, Trait::MakesLeaf)) {
      const bool marks = node->inputs().size() == 2 && constantAs<bool>(node->input(1)) == std::optional(true);
      (marks ? marks_ : unmarks_).push_back(node);
    } else if (const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node); op && op->isMutable()) {
      writers_.push_back(node);
    }
    for (Block* inner : node->blocks()) plain &= survey(inner);
  }
  return plain;
}

bool GradientWays::unmarksLast() const {
  return std::all_of(unmarks_.begin(), unmarks_.end(), [&](const Node* unmark) {
    const bool is_last = calls_.empty() || order_.at(calls_.back()) < order_.at(unmark);
    return is_last && constantAs<bool>(unmark->input(1)) == std::optional(false) &&
           unmark->owningBlock() == graph_.block() && !unmark->output()->hasUses();
  });
}

const Node* GradientWays::markOf(const Value* root) const {
  for (const Node* mark : marks_) {
    if (canonicalTensor(mark->input(0)) == root) return mark;
  }
  return nullptr;
}

bool GradientWays::hasRules(Node* node) {
  if (node->kind() == prim::ListUnpack) return hasRules(node->input(0)->node());
  if (!node->blocks().empty() || isStructural(node->kind())) return false;
  const Operator* op = operatorOf(*node);
  if (!op || op->isMutable() || !hasDerivative(*op) || !rulesHold(*op, *node)) return false;
  const auto fits = [](const Value* value) { return rulesFit(value->type()); };
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    Value* operand = node->input(i);
    if (isNoneConstant(operand) || !mayRequireGrad(operand->type())) continue;
    const auto parts = elementsOf(operand);
    if (parts.size() == 1 && parts[0] == operand && operand->type()->kind() != c10::TypeKind::TensorType) return false;
    if (isTensorList(*operand->type()) && memory_->hasWriters(operand)) return false;
    for (Value* part : parts) {
      if (isNoneConstant(part) || !mayRequireGrad(part->type())) continue;
      if (!fits(part) || !hasGradient(*op, i)) return false;
    }
  }
  const auto outputs = node->outputs();
  return std::all_of(outputs.begin(), outputs.end(), fits);
}

void GradientWays::findDependent(Block* block, GradientWay& way) {
  const auto isOnWay = [&](Value* value) {
    return way.depends.contains(value) || isWanted(canonicalTensor(value), way);
  };
  for (Node* node : block->nodes()) {
    const auto inputs = node->inputs();
    bool depends = std::any_of(inputs.begin(), inputs.end(), isOnWay);
    for (Block* inner : node->blocks()) {
      if (depends) way.depends.insert(inner->inputs().begin(), inner->inputs().end());
      findDependent(inner, way);
      depends |= std::any_of(inner->outputs().begin(), inner->outputs().end(), isOnWay);
    }
    if (!depends) continue;
    // What an iteration of a loop returns is what the next one takes.
    if (node->kind() == prim::Loop && !way.depends.contains(node->blocks()[0]->inputs()[0])) {
      Block* body = node->blocks()[0];
      way.depends.insert(body->inputs().begin(), body->inputs().end());
      findDependent(body, way);
    }
    way.depends.insert(node->outputs().begin(), node->outputs().end());
  }
}

bool GradientWays::isWanted(const Value* root, const GradientWay& way) const {
  return std::find(way.wanted.begin(), way.wanted.end(), root) != way.wanted.end();
}

bool GradientWays::follow(Value* output, GradientWay& way) {
  std::vector<Value*> queue = {output};
  std::unordered_set<const Value*> seen;
  while (!queue.empty()) {
    Value* value = queue.back();
    queue.pop_back();
    if (isConstant(value)) continue;
    Value* root = canonicalTensor(value);
    if (!seen.insert(root).second) continue;
    const bool is_cut_off = hasTrait(*root->node(), Trait::CutsTape) && markOf(root);
    if (isWanted(root, way) && (is_cut_off || !way.depends.contains(root))) {
      way.sources.insert(root);
      continue;
    }
    if (!isKnown(root)) return stays("it comes after others");
    if (!way.depends.contains(root) || !mayRequireGrad(root->type())) {
      way.free.insert(root);
      continue;
    }
    Node* node = root->node();
    if (node->isParam() || !node->blocks().empty())
      return stays("the way leads through a branch or a loop: " + describeTensor(root));
    if (markOf(root) || !hasRules(node))
      return stays(
          "an operator on the way has no derivative rule for what is known of its arguments: " + describeTensor(root));
    way.nodes.insert(node);
    if (node->kind() == prim::ListUnpack) {
      node = node->input(0)->node();
      if (node->kind() == prim::ListConstruct || memory_->hasWriters(node->output()))
        return stays("the way leads through a list: " + describeTensor(root));
      way.nodes.insert(node);
    }
    for (Value* operand : node->inputs()) {
      for (Value* part : elementsOf(operand)) queue.push_back(part);
    }
  }
  return true;
}

bool GradientWays::originIsKnown(Value* value, const GradientWay& way, std::unordered_set<const Value*>& seen) {
  std::vector<Value*> queue = {value};
  while (!queue.empty()) {
    Value* next = queue.back();
    queue.pop_back();
    if (isConstant(next) || !mayRequireGrad(next->type()) || !seen.insert(next).second) continue;
    for (Node* writer : writers_) {
      if (!memory_->writesToAlias(writer, std::span<Value* const>(&next, 1))) continue;
      for (Value* input : writer->inputs()) {
        const bool is_wanted = way.depends.contains(input) || isWanted(canonicalTensor(input), way);
        if (is_wanted && mayRequireGrad(input->type()) && input != next) return false;
        queue.push_back(input);
      }
    }
    Node* node = next->node();
    if (isDescribed(next) || hasTrait(*node, Trait::CutsTape)) continue;
    if (node->isParam() || !node->blocks().empty() || !order_.contains(node)) return false;
    if (isStructural(node->kind())) {
      const bool shown = node->kind() == prim::ListUnpack || node->kind() == prim::ListConstruct ||
                         node->kind() == prim::unchecked_cast;
      if (!shown || (node->kind() == prim::ListConstruct && memory_->hasWriters(next))) return false;
    } else {
      const Operator* op = operatorOf(*node);
      if (!op || op->restriction() == Restriction::Foreign) return false;
      if (!op->isOfDispatcher() && !hasDerivative(*op) && !op->isMutable() && canonicalTensor(next) == next)
        return false;
    }
    for (Value* input : node->inputs()) queue.push_back(input);
  }
  return true;
}

bool GradientWays::isUnwritten(const std::vector<Value*>& values, const GradientWay& way, const Node* call) {
  size_t first = order_.at(call);
  bool in_one_iteration = true;
  for (const Node* node : way.nodes) {
    first = std::min(first, order_.at(node));
    in_one_iteration &= node->owningBlock() == call->owningBlock();
  }
  for (const Block* block = call->owningBlock(); block->owningNode() && !in_one_iteration;
       block = block->owningNode()->owningBlock()) {
    if (block->owningNode()->kind() == prim::Loop) first = 0;  // what follows the call comes before the next one
  }
  return std::none_of(writers_.begin(), writers_.end(), [&](Node* writer) {
    const size_t place = order_.at(writer);
    const bool between = first == 0 || (place > first && place < order_.at(call));
    return between && memory_->writesToAlias(writer, values);
  });
}

bool GradientWays::isFreed(const GradientWay& way, const Node* call) {
  for (const Node* freer : freers_) {
    if (order_.at(freer) > order_.at(call)) continue;
    if (freer != call) {
      const auto& after = nodesAfter(freer);
      if (std::any_of(way.nodes.begin(), way.nodes.end(), [&](Node* node) { return after.contains(node); }))
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

const std::unordered_set<const Node*>& GradientWays::nodesAfter(const Node* call) {
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

bool GradientWays::surelyRequiresGrad(Value* value) {
  std::vector<Value*> queue = {value};
  std::unordered_set<const Value*> seen;
  while (!queue.empty()) {
    Value* root = canonicalTensor(queue.back());
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

bool GradientWays::isMarkedInTime(Value* root, const GradientWay& way, const Node* call) const {
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
        if (canonicalTensor(output) == root) names.push_back(output);
      }
    }
  }
  return true;
}

bool GradientWays::isWritten(Value* value) {
  return std::any_of(writers_.begin(), writers_.end(), [&](Node* writer) {
    return memory_->writesToAlias(writer, std::span<Value* const>(&value, 1));
  });
}

std::optional<std::vector<Value*>> GradientWays::leavesOf(const GradientCall& call) {
  std::vector<Value*> leaves, queue = call.outputs;
  std::unordered_set<const Value*> seen;
  while (!queue.empty()) {
    Value* root = canonicalTensor(queue.back());
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

bool GradientWays::find(Node* node, std::optional<GradientCall>& call, GradientWay& way) {
  call = readGradientCall(node, *memory_);
  if (!call) return stays("its arguments are no lists made in place, or not constant");
  for (size_t i = 0; i < call->outputs.size(); ++i) {
    if (fitsOutput(call->gradients[i], call->outputs[i])) continue;
    const std::string output = describeTensor(call->outputs[i]);
    return stays(
        call->gradients[i] ? "a gradient is not known to be like its output, " + output
                           : "no gradient is given for " + output + ", which may be no number");
  }
  for (Value* input : call->inputs) {
    Value* root = canonicalTensor(input);
    if (!isDistinct(root)) return stays(describeTensor(root) + " may be another tensor under a second name");
    if (!isWanted(root, way)) way.wanted.push_back(root);
  }
  if (call->accumulates) {
    const auto leaves = leavesOf(*call);
    if (!leaves) return stays("not all leaves that it reaches are known");
    way.wanted = *leaves;
  }
  if (std::any_of(way.wanted.begin(), way.wanted.end(), [&](const Value* root) { return !isKnown(root); }))
    return stays("it comes after others");
  findDependent(graph_.block(), way);
  for (Value* output : call->outputs) {
    if (!follow(output, way)) return false;
  }
  std::unordered_set<const Value*> known;
  std::vector<Value*> touched(way.sources.begin(), way.sources.end());
  for (Value* value : way.sources) {
    if (!originIsKnown(value, way, known)) return stays("it is not known what was written to " + describeTensor(value));
  }
  for (Value* value : way.free) {
    if (!originIsKnown(value, way, known))
      return stays("it is not known where " + describeTensor(value) + " comes from");
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
      return stays(describeTensor(root) + " is not known to require a gradient");
  }
  for (Value* output : call->outputs) {
    if (!surelyRequiresGrad(output)) return stays(describeTensor(output) + " is not known to require a gradient");
  }
  if (!call->retain_graph) nodesAfter(node);  // the call itself goes
  return true;
}

}  // namespace cresset
