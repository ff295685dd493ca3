#include "cresset/executor/guards.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "cresset/analysis/alias.h"
#include "cresset/interpreter/liveness.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// All continuations together have at most so many times the nodes of the graph.
constexpr size_t kMaxContinuations = 4;

/// Writes the rest of a program behind a node, from the block that it stands in outwards.
class ContinuationWriter {
 public:
  std::shared_ptr<Graph> write(const Node* place) {
    rest(place);
    return graph_;
  }

  /// Values of the program that the continuation takes, in the order of its inputs.
  const std::vector<Value*>& taken() const { return taken_; }
  /// What becomes the first input in any case.
  void take(Value* value) { standFor(value); }

 private:
  Value* standFor(Value* value) {
    Value*& mine = values_[value];
    if (mine) return mine;
    if (isConstantNode(*value->node())) {
      Node* copy = graph_->createClone(value->node(), [](Value* input) { return input; });
      graph_->block()->prependNode(copy);
      return mine = copy->output();
    }
    taken_.push_back(value);
    mine = graph_->addInput()->setType(value->type());
    return mine;
  }

  /// What stands behind `place` in its block; then what stands behind that block's owner.
  void rest(const Node* place) {
    const Block* block = place->owningBlock();
    copyUpTo(block->returnNode(), place->next());
    Node* owner = block->owningNode();
    if (!owner) {
      for (Value* output : block->outputs()) graph_->registerOutput(standFor(output));
      return;
    }
    if (owner->kind() == prim::If) {
      for (size_t i = 0; i < owner->outputs().size(); ++i) values_[owner->output(i)] = standFor(block->outputs()[i]);
    } else {
      remainingTurns(owner);
    }
    rest(owner);
  }

  void copyUpTo(const Node* end, Node* first) {
    for (Node* node = first; node != end; node = node->next()) {
      if (isConstantNode(*node)) continue;
      Node* copy = graph_->createClone(node, [&](Value* value) { return standFor(value); });
      graph_->insertNode(copy);
      for (size_t i = 0; i < node->outputs().size(); ++i) values_[node->output(i)] = copy->output(i);
    }
  }

  Value* arithmetic(Symbol kind, Value* a, Value* b) {
    Node* node = graph_->insertNode(graph_->create(kind, {a, b}));
    node->output()->setType(c10::IntType::get());
    operatorOf(*node);
    return node->output();
  }

  /// The loop again, without the turns that were taken, this one included.
  void remainingTurns(Node* loop) {
    const Block* body = loop->blocks()[0];
    Value* done = arithmetic(aten::add, standFor(body->inputs()[0]), graph_->insertConstant(int64_t(1)));
    std::vector<Value*> inputs = {arithmetic(aten::sub, standFor(loop->input(0)), done)};
    for (Value* output : body->outputs()) inputs.push_back(standFor(output));
    Node* again = graph_->insertNode(graph_->create(prim::Loop, inputs, loop->outputs().size()));
    again->copyLocation(loop);
    Block* turn = again->addBlock();
    const InsertPointGuard guard(*graph_, turn);
    Value* count = turn->addInput()->setType(c10::IntType::get());
    values_[body->inputs()[0]] = arithmetic(aten::add, count, done);
    for (size_t i = 1; i < body->inputs().size(); ++i)
      values_[body->inputs()[i]] = turn->addInput()->setType(body->inputs()[i]->type());
    copyUpTo(body->returnNode(), body->nodes().front());
    for (Value* output : body->outputs()) turn->registerOutput(standFor(output));
    for (size_t i = 0; i < loop->outputs().size(); ++i)
      values_[loop->output(i)] = again->output(i)->setType(loop->output(i)->type());
  }

  std::shared_ptr<Graph> graph_ = Graph::make();
  std::unordered_map<const Value*, Value*> values_;
  std::vector<Value*> taken_;
};

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
  const Operator* op = operatorOf(const_cast<Node&>(*node));
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
    ContinuationWriter writer;
    writer.take(value);
    auto rest = writer.write(value->node());
    points.push_back(
        {value->debugName(),
         std::make_shared<Continuation>(rest, function.name(), function.program().weak_from_this())});
    taken.push_back(writer.taken());
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
