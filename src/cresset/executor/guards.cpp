#include "cresset/executor/guards.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <functional>

#include "cresset/analysis/alias.h"
#include "cresset/executor/continuation.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// All continuations together have at most so many times the nodes of the graph.
constexpr size_t kMaxContinuations = 4;

/// Whether the node reads its tensors from where nobody knows what they are.
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
  const std::string& name = op->fullName();
  return name.starts_with("aten::__getitem__.") || name.starts_with("aten::pop.") || name == "prim::PythonOp" ||
         !(name.starts_with("aten::") || name.starts_with("prim::") || name.starts_with("cresset::"));
}

}  // namespace

Symbol entryAttribute() {
  static const Symbol kEntry = Symbol::attr("entry");
  return kEntry;
}

std::vector<GuardPoint> insertGuards(Graph& graph, const Function& function) {
  std::vector<Value*> candidates;
  {
    AliasDb memory(graph);
    const std::function<void(Block*)> visit = [&](Block* block) {
      for (Node* node : block->nodes()) {
        if (candidates.size() >= kMaxGuards) return;
        for (Block* inner : node->blocks()) visit(inner);
        // Entries of arguments are in the signature, too.
        if (!readsTensors(node) || node->hasAttribute(entryAttribute())) continue;
        // What the program has put into a container of its own it knows already.
        const bool is_call = node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
        if (!is_call && !node->inputs().empty() && !memory.mayAliasWorld(node->input(0))) continue;
        // The elements of an argument that is a tuple are in the signature.
        if (!node->inputs().empty() && node->input(0)->node()->isParam() &&
            node->input(0)->type()->kind() == c10::TypeKind::TupleType)
          continue;
        for (Value* output : node->outputs()) {
          if (output->type()->kind() != c10::TypeKind::TensorType || !output->hasUses()) continue;
          // Writing may change the rank, and whether a gradient is required.
          if (!memory.hasWriters(output) && candidates.size() < kMaxGuards) candidates.push_back(output);
        }
      }
    };
    visit(graph.block());
  }
  std::vector<GuardPoint> points;
  std::vector<std::vector<Value*>> taken;
  size_t budget = kMaxContinuations * graph.numNodes();
  for (Value* value : candidates) {
    auto [rest, needed] = restOfProgram(value->node(), value);
    points.push_back(
        {value->debugName(),
         std::make_shared<Continuation>(rest, function.name(), function.program().weak_from_this())});
    taken.push_back(std::move(needed));
    if (rest->numNodes() > budget) break;
    budget -= rest->numNodes();
  }
  for (size_t i = 0; i < points.size(); ++i) {
    Value* value = candidates[i];
    Node* node = value->node();
    Node* place = node->next();
    // Several results of one node are looked at one after the other.
    while (place->kind() == prim::BailOut) place = place->next();
    Node* guard = graph.create(prim::BailOut, taken[i]);
    guard->insertBefore(place);
    guard->copyLocation(node);
    guard->setAttribute(attr::index, Attribute(static_cast<int64_t>(i)));
    guard->output()->setType(value->type());
    value->replaceAllUsesAfterNodeWith(guard, guard->output());
  }
  return points;
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
      std::optional<ValueKind> known;
      if (!earlier.empty() && earlier[index] && earlier[index]->numFailures() == 0) {
        known = earlier[index]->promised();
        if (!known) known = earlier[index]->observed();
      }
      if (!known && !earlier.empty() && !keep_all) {
        node->output()->replaceAllUsesWith(node->input(0));
        node->destroy();
        continue;
      }
      sites[index] = std::make_shared<BailOutSite>(index, points[index].value, points[index].continuation, revise);
      if (!known) continue;
      sites[index]->promise(*known);
      node->output()->setType(typeOfKind(*known));
    }
  };
  visit(graph.block());
  return sites;
}

c10::TensorTypePtr typeOfKind(const ValueKind& kind) {
  const auto place = kind.device == c10::DeviceType::CPU ? std::optional(c10::Device(c10::kCPU, -1)) : std::nullopt;
  return c10::TensorType::create(kind.dtype, place, size_t(kind.rank), kind.requires_grad);
}

}  // namespace cresset
