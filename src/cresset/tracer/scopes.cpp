// Methods of traced submodules. While a trace runs, the nodes of each call of a submodule stand in the block of a
// prim::TracedModuleForward node, which may use values from outside and whose values may be used outside. At the end
// each block becomes a method of the submodule's class: `forward`, then `forward1` and so on for further calls; what it
// uses from outside become arguments, what is used outside results.
//
// That is the form of torch.jit's traces, so that the code of a traced module reads like the module. What a program
// forks stands in the block of a prim::fork node in the same way.
#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/nesting.h"
#include "cresset/ir/without_shapes.h"
#include "cresset/support/error.h"
#include "cresset/tracer/recorder.h"
#include "cresset/tracer/tracer.h"

namespace cresset::tracer {

namespace {

/// "x.3" is "x".
std::string stem(const Value* value) {
  if (!value->hasDebugName()) return "";
  std::string name = value->debugName();
  return name.substr(0, name.find('.'));
}

/// Whether `block` is `outer` or lies in it.
bool isWithin(const Block* block, const Block* outer) {
  while (block && block != outer) block = block->owningNode() ? block->owningNode()->owningBlock() : nullptr;
  return block == outer;
}

class Outline {
 public:
  explicit Outline(Node* node) : node_(node), block_(node->blocks()[0]), outer_(node->graph()) {}

  void run() {
    collect();
    auto body = makeBody();
    Function& method = declare(body);
    replaceBy(method);
    node_->destroy();
  }

 private:
  void collect() {
    std::unordered_set<const Value*> seen;
    for (Node* inner : block_->nodes()) {
      for (Value* input : inner->inputs()) {
        if (input->owningBlock() != block_ && seen.insert(input).second) captured_.push_back(input);
      }
      for (Value* output : inner->outputs()) {
        const auto uses = output->uses();
        if (std::any_of(
                uses.begin(), uses.end(), [&](Use use) { return !isWithin(use.user->owningBlock(), block_); })) {
          returned_.push_back(output);
        }
      }
    }
  }

  std::shared_ptr<Graph> makeBody() {
    auto body = Graph::make();
    std::unordered_map<const Value*, Value*> copies;
    copies[block_->inputs()[0]] = body->addInput("self")->setType(block_->inputs()[0]->type());
    for (size_t i = 0; i < captured_.size(); ++i) {
      std::string name = stem(captured_[i]);
      if (name.empty() || body->findValue(name)) name = "argument_" + std::to_string(i + 1);
      copies[captured_[i]] = body->addInput(name)->setType(captured_[i]->type());
    }
    for (Node* inner : block_->nodes()) {
      Node* copy = body->createClone(inner, [&](Value* value) { return copies.at(value); });
      body->insertNode(copy);
      for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
    }
    body->setLocation(node_->sourceRange());
    if (returned_.empty()) {
      body->registerOutput(body->insertConstant(c10::IValue()));
    } else if (returned_.size() == 1) {
      body->registerOutput(copies.at(returned_[0]));
    } else {
      Node* tuple = body->create(prim::TupleConstruct);
      std::vector<TypePtr> types;
      for (Value* value : returned_) {
        tuple->addInput(copies.at(value));
        types.push_back(withoutShapes(value->type()));
      }
      body->insertNode(tuple);
      body->registerOutput(tuple->output()->setType(c10::TupleType::create(types)));
    }
    return body;
  }

  Function& declare(const std::shared_ptr<Graph>& body) {
    auto type = node_->input(0)->type()->expect<c10::ClassType>();
    std::string name = "forward";
    for (int number = 1; type->findMethod(name) || type->hasAttribute(name); ++number) {
      name = "forward" + std::to_string(number);
    }
    return declareTraced(*programOf(*type), type, name, body);
  }

  void replaceBy(Function& method) {
    InsertPointGuard guard(outer_, node_);
    outer_.setLocation(node_->sourceRange());
    Node* call = outer_.create(prim::CallMethod, {node_->input(0)});
    call->setAttribute(attr::name, method.name());
    for (Value* value : captured_) call->addInput(value);
    outer_.insertNode(call);
    if (returned_.size() == 1) call->output()->copyMetadata(returned_[0]);
    call->output()->setType(method.getSchema().returns()[0].type());
    if (returned_.size() == 1) {
      returned_[0]->replaceAllUsesWith(call->output());
    } else if (returned_.size() > 1) {
      Node* unpack = outer_.create(prim::TupleUnpack, {call->output()}, returned_.size());
      outer_.insertNode(unpack);
      for (size_t i = 0; i < returned_.size(); ++i) {
        unpack->output(i)->copyMetadata(returned_[i]);
        returned_[i]->replaceAllUsesWith(unpack->output(i));
      }
    }
  }

  Node* node_;
  Block* block_;
  Graph& outer_;
  std::vector<Value*> captured_, returned_;
};

/// Whether a node neither writes nor draws random numbers. Recursion is over the nesting of modules.
bool onlyComputes(const Node* node) {
  if (node->kind() == prim::CallFunction || node->kind() == prim::CallMethod) return false;
  const Operator* op = node->boundOperator();
  if (op && (op->isMutable() || op->hasSideEffects() || !op->isDeterministic())) return false;
  for (const Block* block : node->blocks()) {
    for (const Node* inner : block->nodes()) {
      if (!onlyComputes(inner)) return false;
    }
  }
  return true;
}

/// What a trace forked. It stays a fork if it only computes, and nothing else happens until its value is used, which is
/// where it is waited for. Otherwise it runs where it was forked, as it did in the trace.
class OutlineFork {
 public:
  explicit OutlineFork(Node* node) : node_(node), block_(node->blocks()[0]), graph_(node->graph()) { collect(); }

  /// Asked before modules inside have become calls.
  bool canStay() const {
    const Node* end = firstUser();
    for (const Node* node = node_; node != end; node = node->next()) {
      if (!onlyComputes(node)) return false;
    }
    return true;
  }

  void dissolve() {
    for (Node* inner : block_->nodesSafely()) inner->moveBefore(node_);
    node_->destroy();
  }

  void run() {
    if (returned_.empty()) return node_->destroy();
    Node* wait = insertWait();
    const std::vector<Value*> results = unpack(wait);
    for (size_t i = 0; i < returned_.size(); ++i) {
      const auto live = returned_[i]->uses();
      for (Use use : std::vector<Use>(live.begin(), live.end())) {
        if (!isWithin(use.user->owningBlock(), block_)) use.user->replaceInput(use.offset, results[i]);
      }
    }
    moveIntoSubgraph();
  }

 private:
  void collect() {
    for (Node* inner : block_->nodes()) {
      for (Value* output : inner->outputs()) {
        const auto uses = output->uses();
        if (std::any_of(
                uses.begin(), uses.end(), [&](Use use) { return !isWithin(use.user->owningBlock(), block_); })) {
          returned_.push_back(output);
        }
      }
    }
  }

  /// The node of the fork's own block that uses one of the values first, or is the way to it.
  Node* firstUser() const {
    std::unordered_set<const Node*> users;
    for (const Value* value : returned_) addUsersIn(node_->owningBlock(), value, users);
    Node* node = node_->next();
    while (node != node_->owningBlock()->returnNode() && !users.contains(node)) node = node->next();
    return node;
  }

  Node* insertWait() {
    Value* result = returned_[0];
    if (returned_.size() > 1) {
      Node* tuple = graph_.create(prim::TupleConstruct, returned_);
      std::vector<TypePtr> types;
      for (const Value* value : returned_) types.push_back(withoutShapes(value->type()));
      tuple->output()->setType(c10::TupleType::create(std::move(types)));
      block_->appendNode(tuple);
      result = tuple->output();
    }
    block_->registerOutput(result);
    Value* future = node_->addOutput()->setType(c10::FutureType::create(withoutShapes(result->type())));
    InsertPointGuard guard(graph_, firstUser());
    graph_.setLocation(node_->sourceRange());
    Node* wait = graph_.insertNode(graph_.create(aten::wait, {future}));
    wait->output()->setType(result->type());
    return wait;
  }

  std::vector<Value*> unpack(Node* wait) {
    if (returned_.size() == 1) return {wait->output()->copyMetadata(returned_[0])};
    InsertPointGuard guard(graph_, wait->next());
    Node* node = graph_.insertNode(graph_.create(prim::TupleUnpack, {wait->output()}, returned_.size()));
    std::vector<Value*> results;
    for (size_t i = 0; i < returned_.size(); ++i) results.push_back(node->output(i)->copyMetadata(returned_[i]));
    return results;
  }

  void moveIntoSubgraph() {
    auto subgraph = Graph::make();
    std::unordered_map<Value*, Value*> captured;
    std::vector<Value*> inputs;
    subgraph->block()->cloneFrom(block_, [&](Value* outer) -> Value* {
      Value*& inner = captured[outer];
      if (inner) return inner;
      inputs.push_back(outer);
      return inner = subgraph->addInput()->copyMetadata(outer);
    });
    node_->eraseBlock(0);
    for (Value* input : inputs) node_->addInput(input);
    node_->setAttribute(Symbol::attr("Subgraph"), std::move(subgraph));
  }

  Node* node_;
  Block* block_;
  Graph& graph_;
  std::vector<Value*> returned_;
};

/// Recursion is over the nesting of modules. Inner ones first: then a block is flat when it is met.
void outlineIn(Block* block) {
  for (Node* node : block->nodesSafely()) {
    if (node->kind() == prim::TracedModuleForward) {
      outlineIn(node->blocks()[0]);
      Outline(node).run();
    } else if (node->kind() == prim::fork && !node->blocks().empty()) {
      const bool stays = OutlineFork(node).canStay();
      outlineIn(node->blocks()[0]);
      if (stays) {
        OutlineFork(node).run();
      } else {
        OutlineFork(node).dissolve();
      }
    }
  }
}

}  // namespace

void outlineScopes(Graph& graph) {
  outlineIn(graph.block());
}

}  // namespace cresset::tracer
