// Inlines calls: prim::CallFunction of a constant function and prim::CallMethod on a class become the nodes of the
// callee, one level after another until no call with a known target is left. Subgraphs become the nodes that they stand
// for: what is compiled apart is for plans to decide.
//
// Which method a call reaches is known from the static type because script classes have no subclasses; calls through
// interfaces stay. Calls that lead back to a function that is being inlined stay too, so that recursion ends. Every
// inlined node remembers through which calls it came (Node::inlinedCall), from which errors print the script's stack.
//
// Code with rules (program/rules.h) obeys them where it stands in other code, too: a function that calls what a policy
// of its own refuses stays a call, which raises, and so does one that has limits other than the code around it. What is
// inlined may do what it does, so the graph takes on no rules. As they are shown, calls are inlined whatever they may
// do, and the graph takes on their rules.
//
// A program of a few lines can stand for more nodes than any machine holds: f1 calls f2 twice, f2 calls f3 twice, and
// so on. So a graph grows by a bounded number of nodes and calls are followed to a bounded depth; calls beyond stay
// calls.
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace cresset {
namespace {

constexpr int kMaxDepth = 500;         // calls inside of each other
constexpr size_t kMaxNesting = 1'000;  // blocks inside of each other

/// How many blocks the node stands in.
size_t nestingOf(const Node& node) {
  size_t depth = 0;
  for (const Block* block = node.owningBlock(); block; ++depth) {
    const Node* owner = block->owningNode();
    block = owner ? owner->owningBlock() : nullptr;
  }
  return depth;
}

/// Whether the function is being inlined already, or the call stands too deep.
bool mustStay(const InlinedCallPtr& chain, const std::string& name) {
  int depth = 0;
  for (const InlinedCall* call = chain.get(); call; call = call->caller.get()) {
    if (call->function == name || ++depth >= kMaxDepth) return true;
  }
  return false;
}

bool startsForks(const Block& block) {
  const auto nodes = block.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const auto blocks = node->blocks();
    return runsApart(*node) ||
           std::any_of(blocks.begin(), blocks.end(), [](const Block* inner) { return startsForks(*inner); });
  });
}

void setInlinedCall(Node* node, const InlinedCallPtr& call) {
  node->setInlinedCall(call);
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) setInlinedCall(inner, call);
  }
}

/// Puts copies of the nodes of `body` before `place`; `copies` holds what its inputs stand for, and then also what its
/// other values do. Returns the first node that was inserted; null if there was none.
template <typename Adapt>
Node* insertCopies(
    const Graph& body, Node* place, std::unordered_map<const Value*, Value*>& copies, const Adapt& adapt) {
  const auto copyOf = [&](Value* value) { return copies.at(value); };
  Node* first = nullptr;
  for (Node* node : body.nodes()) {
    Node* copy = place->graph().createClone(node, copyOf);
    copy->insertBefore(place);
    adapt(copy);
    for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
    if (!first) first = copy;
  }
  return first;
}

/// The module whose method is called, as torch.jit names scopes: "__module.layers.0".
std::string scopeOf(const Node& call) {
  if (call.kind() != prim::CallMethod) return "";
  std::string path;
  const Value* object = call.input(0);
  for (; object->node()->kind() == prim::GetAttr; object = object->node()->input(0))
    path = "." + object->node()->s(attr::name) + path;
  return path.empty() ? "" : "__module" + path;
}

/// Puts a copy of the callee's nodes before `call` and replaces the call's output. Returns the first node that was
/// inserted, or the node after the call if there was none.
Node* inlineCall(Node* call, Function& callee, const Graph& body) {
  const InlinedCallPtr chain = std::make_shared<InlinedCall>(
      InlinedCall{call->inlinedCall(), callee.qualname().qualifiedName(), call->sourceRange(), scopeOf(*call)});
  std::unordered_map<const Value*, Value*> copies;
  const size_t first_argument = call->kind() == prim::CallFunction ? 1 : 0;
  for (size_t i = 0; i < body.inputs().size(); ++i) copies[body.inputs()[i]] = call->input(first_argument + i);
  Node* first = insertCopies(body, call, copies, [&](Node* copy) { setInlinedCall(copy, chain); });
  // The call's type may be narrower than the body's: a method of a generic base returns what its schema says.
  call->output()->replaceAllUsesWith(copies.at(body.outputs()[0]));
  Node* next = call->next();
  Value* function = first_argument ? call->input(0) : nullptr;
  call->destroy();
  if (function && !function->hasUses()) function->node()->destroy();
  return first ? first : next;
}

class Inliner {
 public:
  /// `is_for_people`: of functions as they are shown, with the types that traces have seen.
  explicit Inliner(bool is_for_people = false) : is_for_people_(is_for_people) {}

  bool run(Block* block) {
    bool changed = false;
    for (Node* node = *block->nodes().begin(); node != block->returnNode();) {
      for (Block* inner : node->blocks()) changed |= run(inner);
      Function* callee = calleeOf(node);
      if (isSubgraph(*node) && pay(*node->g(attr::Subgraph), *node)) {
        node = inlineSubgraph(node);
        changed = true;
      } else if (callee && !mustStay(node->inlinedCall(), callee->qualname().qualifiedName())) {
        const std::shared_ptr<Graph> body = is_for_people_ ? callee->editableGraph(tidyDefinition) : callee->graph();
        const bool is_inlined = (is_for_people_ || mayStandIn(*block, *callee, *body)) && pay(*body, *node);
        const Graph::Rules rules = block->graph().rules();
        node = is_inlined ? inlineCall(node, *callee, *body) : node->next();  // continues with the callee's own calls
        if (!is_for_people_) block->graph().setRules(rules);
        changed |= is_inlined;
      } else {
        node = node->next();
      }
    }
    return changed;
  }

 private:
  /// Whether the graph may still grow by the nodes of a body, in the place of a node; takes them off what is left.
  bool pay(const Graph& body, const Node& place) {
    const size_t count = body.numNodes() + 1;  // also bodies without nodes take time
    if (count > left_ || nestingOf(place) + nestingIn(body) > kMaxNesting) return false;
    left_ -= count;
    return true;
  }

  /// Whether the function's code does in the block what it does by itself.
  bool mayStandIn(const Block& block, const Function& function, Graph& body) {
    if (body.rules().empty()) [[likely]]
      return true;
    const Limits own = limitsOf(body);
    if (own.any() && own != limitsOf(block.graph())) return false;
    const auto [known, is_new] = is_allowed_.try_emplace(&function, true);
    if (is_new && hasPolicy(body)) {
      // Its forks must not run at one time.
      if (startsForks(*body.block())) return known->second = false;
      try {
        checkPolicies(body);
      } catch (const UserError&) {
        known->second = false;
      }
    }
    return known->second;
  }

  bool is_for_people_;
  size_t left_ = kMaxInlinedNodes;
  std::unordered_map<const Function*, bool> is_allowed_;  // by their policies
};

/// Whether nothing but attributes of the object and the thread's state may be other ones after the method.
bool isStateOnly(const Graph& method) {
  const auto nodes = method.nodes();
  const auto holdsTensors = [](const Value* value) { return mayHoldTensors(*value->type()); };
  return method.outputs()[0]->type()->kind() == c10::TypeKind::NoneType &&
         std::all_of(nodes.begin(), nodes.end(), [&](Node* node) {
           if (node->kind() == prim::Constant) return true;
           const auto inputs = node->inputs();
           const auto after_first = inputs.begin() + (inputs.empty() ? 0 : 1);
           if (std::any_of(after_first, inputs.end(), holdsTensors) ||
               std::any_of(node->outputs().begin(), node->outputs().end(), holdsTensors))
             return false;
           if (node->kind() == prim::SetAttr || node->kind() == prim::GetAttr)
             return node->input(0) == method.inputs()[0];
           const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
           return op && op->kernel() && !op->isMutable() && op->restriction() != Restriction::Foreign &&
                  (inputs.empty() || !holdsTensors(node->input(0)));
         });
}

bool markContexts(Block* block) {
  bool changed = false;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) changed |= markContexts(inner);
    if ((node->kind() != prim::Enter && node->kind() != prim::Exit) || changesStateOnly(*node)) continue;
    const auto type = node->input(0)->type()->cast<c10::ClassType>();
    auto* method = dynamic_cast<Function*>(
        type ? type->findMethod(node->kind() == prim::Enter ? "__enter__" : "__exit__") : nullptr);
    if (!method || !isStateOnly(*method->graph())) continue;
    const auto nodes = method->graph()->nodes();
    markChangesStateOnly(*node, std::all_of(nodes.begin(), nodes.end(), [](const Node* inner) {
      return !changesState(*inner) || changesGradModeOnly(*inner);
    }));
    changed = true;
  }
  return changed;
}

}  // namespace

Function* calleeOf(const Node* node) {
  torch::jit::Function* function = nullptr;
  if (node->kind() == prim::CallFunction) {
    if (auto type = node->input(0)->type()->cast<c10::FunctionType>()) function = type->function();
  } else if (node->kind() == prim::CallMethod) {
    if (auto type = node->input(0)->type()->cast<c10::ClassType>()) function = type->findMethod(node->s(attr::name));
  }
  return dynamic_cast<Function*>(function);  // null for methods of custom C++ classes, which have no graph
}

bool inlineCalls(Graph& graph) {
  const bool changed = Inliner().run(graph.block());
  return markContexts(graph.block()) || changed;
}

CRESSET_PASS(
    inlineCalls, "inline", All,
    "Replace calls of functions and methods whose target is known, and subgraphs, by the nodes that they stand for")

std::shared_ptr<Graph> inlinedForPeople(Function& function) {
  const std::shared_ptr<Graph> graph = function.editableGraph(tidyDefinition)->copy();
  if (Inliner(/*is_for_people=*/true).run(graph->block())) propagateConstants(*graph);
  markContexts(graph->block());
  tidyDefinition(*graph);
  return graph;
}

Node* inlineSubgraph(Node* node) {
  const std::shared_ptr<Graph> body = node->g(attr::Subgraph);
  std::unordered_map<const Value*, Value*> copies;
  for (size_t i = 0; i < body->inputs().size(); ++i) copies[body->inputs()[i]] = node->input(i);
  Node* first = insertCopies(*body, node, copies, [&](Node* copy) {
    if (!copy->inlinedCall()) setInlinedCall(copy, node->inlinedCall());
  });
  for (size_t i = 0; i < node->outputs().size(); ++i)
    node->output(i)->replaceAllUsesWith(copies.at(body->outputs()[i]));
  Node* next = node->next();
  node->destroy();
  return first ? first : next;
}

bool inlineSubgraphs(Block& block) {
  bool changed = false;
  for (Node* node = *block.nodes().begin(); node != block.returnNode();) {
    for (Block* inner : node->blocks()) changed |= inlineSubgraphs(*inner);
    const bool is_subgraph = isSubgraph(*node);
    node = is_subgraph ? inlineSubgraph(node) : node->next();
    changed |= is_subgraph;
  }
  return changed;
}

}  // namespace cresset
