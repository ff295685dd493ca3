#include "cresset/executor/rest_of_program.h"

#include <unordered_map>

#include "cresset/interpreter/liveness.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Writes the rest of a program after a node, from the block that it stands in outwards.
class RestOfProgramWriter {
 public:
  std::shared_ptr<Graph> write(const Node* place) {
    rest(place);
    return graph_;
  }

  /// Values of the program that the deoptimization target takes, in the order of its inputs.
  const std::vector<Value*>& taken() const { return taken_; }
  /// What becomes an input in any case.
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
    mine = graph_->addInput()->copyMetadata(value);
    return mine;
  }

  /// What comes after `place` in its block; then what comes after that block's owner.
  void rest(const Node* place) {
    const Block* block = place->owningBlock();
    copyUpTo(block->returnNode(), place == block->paramNode() ? block->nodes().front() : place->next());
    Node* owner = block->owningNode();
    if (!owner) {
      for (Value* output : block->outputs()) graph_->registerOutput(standFor(output));
      return;
    }
    if (owner->kind() == prim::If) {
      for (size_t i = 0; i < owner->outputs().size(); ++i) values_[owner->output(i)] = standFor(block->outputs()[i]);
    } else {
      remainingIterations(owner);
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

  Value* compute(Basic operation, Value* a, Value* b) { return insertBasic(*graph_, operation, {a, b})->output(); }

  /// The loop again, without the iterations that have begun.
  void remainingIterations(Node* loop) {
    const Block* body = loop->blocks()[0];
    const bool unlimited = isUnlimited(loop->input(0));
    const bool counts = !unlimited || body->inputs()[0]->hasUses();
    Value* done =
        counts ? compute(Basic::Add, standFor(body->inputs()[0]), graph_->insertConstant(int64_t(1))) : nullptr;
    Value* limit = standFor(loop->input(0));
    std::vector<Value*> inputs = {unlimited ? limit : compute(Basic::Subtract, limit, done)};
    for (Value* output : body->outputs()) inputs.push_back(standFor(output));
    Node* again = graph_->insertNode(graph_->create(prim::Loop, inputs, loop->outputs().size()));
    again->copyLocation(loop);
    Block* next = again->addBlock();
    const InsertPointGuard guard(*graph_, next);
    Value* count = next->addInput()->setType(c10::IntType::get());
    if (counts) values_[body->inputs()[0]] = compute(Basic::Add, count, done);
    for (size_t i = 1; i < body->inputs().size(); ++i)
      values_[body->inputs()[i]] = next->addInput()->setType(body->inputs()[i]->type());
    copyUpTo(body->returnNode(), body->nodes().front());
    for (Value* output : body->outputs()) next->registerOutput(standFor(output));
    for (size_t i = 0; i < loop->outputs().size(); ++i)
      values_[loop->output(i)] = again->output(i)->setType(loop->output(i)->type());
  }

  std::shared_ptr<Graph> graph_ = Graph::make();
  std::unordered_map<const Value*, Value*> values_;
  std::vector<Value*> taken_;
};

}  // namespace

RestOfProgram restOfProgram(const Node* place, std::span<Value* const> first) {
  RestOfProgramWriter writer;
  for (Value* value : first) writer.take(value);
  RestOfProgram rest;
  rest.graph = writer.write(place);
  rest.taken = writer.taken();
  return rest;
}

}  // namespace cresset
