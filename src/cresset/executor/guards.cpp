#include "cresset/executor/guards.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <functional>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/executor/rest_of_program.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

/// All deoptimization targets together have at most so many times the nodes of the graph.
constexpr size_t kMaxDeoptimizationTargets = 4;

/// Kernels are made for tensors of known rank.
bool hasUnknownRank(const Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  return op && op->hasTrait(Trait::RankFollowsSizes) && options::kernels() != KernelMode::Off;
}

/// Whether the node reads its tensors from where their kinds are unknown.
bool readsTensors(const Node* node) {
  switch (node->kind()) {
    case prim::GetAttr:
    case prim::ListUnpack:
    case prim::TupleUnpack:
    case prim::TupleIndex:
    case prim::CallMethod:
    case prim::CallFunction:
      return true;
    default:
      break;
  }
  if (isStructural(node->kind())) return false;
  const Operator* op = operatorOf(*node);
  if (!op) return true;
  const EntryUse use = entryUse(*node);
  return use == EntryUse::Reads || use == EntryUse::Takes || op->restriction() == Restriction::Foreign;
}

}  // namespace

Symbol entryAttribute() {
  static const Symbol kEntry = Symbol::attr("entry");
  return kEntry;
}

namespace {

/// Whether the value is a tuple whose elements the signature describes: an argument, or an element of one.
bool isInSignature(const Value& value) {
  if (value.type()->kind() != c10::TypeKind::TupleType) return false;
  const Node* node = value.node();
  if (node->kind() == prim::TupleUnpack || node->kind() == prim::TupleIndex) return isInSignature(*node->input(0));
  return node->isParam() && node->owningBlock() == node->graph().block();
}

/// Results of nodes that no signature describes, worth looking at; those of one node together.
std::vector<std::vector<Value*>> guardedValues(Graph& graph) {
  std::vector<std::vector<Value*>> found;
  const auto memory = aliasesOf(graph);
  const std::function<void(Block*)> visit = [&](Block* block) {
    for (Node* node : block->nodes()) {
      if (found.size() >= kMaxGuards) return;
      for (Block* inner : node->blocks()) visit(inner);
      // Entries of arguments are in the signature, too.
      const bool has_unknown_rank = hasUnknownRank(node);
      if (!(readsTensors(node) || has_unknown_rank) || node->hasAttribute(entryAttribute())) continue;
      // What the program has put into a container of its own it knows already.
      const bool is_no_read =
          has_unknown_rank || node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
      if (!is_no_read && !node->inputs().empty() && !memory->mayAliasWorld(node->input(0))) continue;
      if (!node->inputs().empty() && isInSignature(*node->input(0))) continue;
      std::vector<Value*> values;
      for (Value* output : node->outputs()) {
        // Writing may change the rank, and whether a gradient is required.
        if (guardFor(*output->type()) && output->hasUses() && !memory->hasWriters(output)) values.push_back(output);
      }
      if (!values.empty() && found.size() < kMaxGuards) found.push_back(std::move(values));
    }
  };
  visit(graph.block());
  return found;
}

}  // namespace

std::vector<GuardPoint> insertGuards(Graph& graph, const Function& function) {
  const std::vector<std::vector<Value*>> candidates = guardedValues(graph);
  std::vector<GuardPoint> points;
  std::vector<std::vector<Value*>> taken;
  size_t budget = kMaxDeoptimizationTargets * graph.numNodes();
  for (const std::vector<Value*>& values : candidates) {
    auto [rest, needed] = restOfProgram(values[0]->node(), values);
    GuardPoint& point = points.emplace_back();
    for (const Value* value : values) point.values.push_back({value->debugName(), *guardFor(*value->type())});
    point.target = std::make_shared<DeoptimizationTarget>(rest, function.name(), function.program().weak_from_this());
    taken.push_back(std::move(needed));
    if (rest->numNodes() > budget) break;
    budget -= rest->numNodes();
  }
  for (size_t i = 0; i < points.size(); ++i) {
    Node* node = candidates[i][0]->node();
    Node* guard = graph.create(prim::BailOut, taken[i], candidates[i].size());
    guard->insertAfter(node);
    guard->copyLocation(node);
    guard->setAttribute(attr::index, Attribute(static_cast<int64_t>(i)));
    for (size_t k = 0; k < candidates[i].size(); ++k) {
      guard->output(k)->setType(candidates[i][k]->type());
      candidates[i][k]->replaceAllUsesAfterNodeWith(guard, guard->output(k));
    }
  }
  return points;
}

namespace {

/// What is known of a value before a plan is made: what the plan before promised, or what it has seen.
std::optional<ValueKind> knownOf(const BailOutSite* earlier, size_t value) {
  if (!earlier || earlier->numFailures() > 0) return std::nullopt;
  const auto promised = earlier->promised(value);
  return promised ? promised : earlier->observed(value);
}

}  // namespace

static void removeGuard(Node* guard) {
  for (Value* output : guard->outputs()) output->replaceAllUsesWith(guard->input(output->offset()));
  guard->destroy();
}

std::vector<std::shared_ptr<BailOutSite>> armGuards(
    Graph& graph, std::span<const GuardPoint> points, std::span<const std::shared_ptr<BailOutSite>> earlier,
    const std::shared_ptr<std::atomic<bool>>& revise) {
  std::vector<std::shared_ptr<BailOutSite>> sites(points.size());
  const bool keep_all = failingGuard().index >= 0;
  const std::function<void(Block*)> visit = [&](Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) visit(inner);
      if (node->kind() != prim::BailOut) continue;
      const auto index = static_cast<size_t>(node->i(attr::index));
      const auto site = std::make_shared<BailOutSite>(index, points[index].values, points[index].target, revise);
      for (size_t i = 0; i < site->numValues(); ++i) {
        const auto known = knownOf(earlier.empty() ? nullptr : earlier[index].get(), i);
        if (known) site->promise(i, *known);
      }
      if (!earlier.empty() && !keep_all && !site->promisesAny()) {
        removeGuard(node);
        continue;
      }
      sites[index] = site;
      const InsertPointGuard guard(graph, node->next());
      for (size_t i = 0; i < site->numValues(); ++i) {
        if (const auto known = site->promised(i)) tellKind(node->output(i), *known, typeOfKind(*known));
      }
    }
  };
  visit(graph.block());
  return sites;
}

bool removeGuardsOfGradients(Graph& graph) {
  bool changed = false;
  const std::function<void(Block*)> visit = [&](Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) visit(inner);
      if (node->kind() != prim::BailOut || !hasUnknownRank(node->input(0)->node())) continue;
      if (!mayRequireGrad(node->input(0)->type())) continue;
      removeGuard(node);
      changed = true;
    }
  };
  visit(graph.block());
  return changed;
}

/// What is read of the list is known; whoever holds it holds the list itself.
static void tellElements(Value* list, c10::ArrayRef<c10::IValue> elements) {
  Graph& graph = list->node()->graph();
  std::vector<Use> reads;
  for (const Use& use : list->uses()) {
    if (onlyReadsElements(*use.user)) reads.push_back(use);
  }
  if (reads.empty()) return;
  std::vector<Value*> constants;
  for (const c10::IValue& element : elements) constants.push_back(graph.insertConstant(element));
  Node* made = graph.insertNode(graph.create(prim::ListConstruct, constants));
  made->output()->setType(list->type());
  for (const Use& use : reads) use.user->replaceInput(use.offset, made->output());
}

Value* tellKind(Value* value, const ValueKind& kind, const c10::TypePtr& type) {
  Graph& graph = value->node()->graph();
  const auto constant = kind.constant();
  if (constant && constant->isList()) {
    tellElements(value, constant->toListRef());
    return nullptr;
  }
  if (constant) {
    if (value->hasUses()) value->replaceAllUsesWith(graph.insertConstant(*constant, value->type()));
    return nullptr;
  }
  const auto* optional = value->type()->castRaw<c10::OptionalType>();
  if (optional && value->hasUses()) {  // what it holds takes its place
    const c10::TypePtr inner = optional->getElementType();
    Node* unwrap = insertBasic(graph, Basic::Unwrap, {value});
    value->replaceAllUsesWith(unwrap->output());
    unwrap->replaceInput(0, value);
    value = unwrap->output()->setType(inner);
  } else if (optional) {
    return nullptr;
  }
  if (kind.kind == ValueKind::Kind::Tensor) value->setType(type);
  return value;
}

c10::TensorTypePtr typeOfKind(const ValueKind& kind) {
  const auto place = kind.device == c10::DeviceType::CPU ? std::optional(c10::Device(c10::kCPU, -1)) : std::nullopt;
  return c10::TensorType::create(kind.dtype, place, size_t(kind.rank), kind.requires_grad);
}

}  // namespace cresset
