#include "cresset/autodiff/inline_gradients.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/differentiate.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/gradient_ways.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/insert_graph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"

namespace cresset {

namespace {

/// Writes the nodes that compute the gradients of one call.
class GradientWriter {
 public:
  GradientWriter(Graph& graph, GradientWays& ways) : graph_(graph), ways_(ways) {}

  /// Puts the nodes in the call's place. False, and the graph is as it was, if not all that is wanted is on the way.
  bool write(Node* node, const GradientCall& call, const GradientWay& way) {
    std::vector<Node*> nodes(way.nodes.begin(), way.nodes.end());
    std::sort(nodes.begin(), nodes.end(), [&](Node* a, Node* b) { return ways_.placeOf(a) < ways_.placeOf(b); });
    Copy copy;
    std::vector<Value*> wanted, of;
    for (Value* root : way.sources) copyOf(root, copy);
    for (Node* inner : nodes) copyNode(inner, copy);
    for (Value* root : way.wanted) {
      if (!copy.copies.contains(root)) {
        if (!call.allow_unused) return refuse(describeTensor(root) + " is not used for the output");
        continue;
      }
      wanted.push_back(copy.copies.at(root));
    }
    for (Value* output : call.outputs) of.push_back(copyOf(output, copy));
    const Gradient gradient = differentiate(*copy.graph, of, wanted);
    if (gradient.with_respect_to.size() != wanted.size() && !call.allow_unused)
      return refuse("an input is not used for the output");

    const bool is_kept = call.create_graph || isUsedElsewhere(node, way);
    if (!is_kept) detachSources(way, nodes);
    const auto isOnTape = [&](Value* value) { return is_kept || !way.nodes.contains(value->node()); };
    const InsertPointGuard guard(graph_, node);
    if (is_kept && !call.retain_graph) release(node, call, way);
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
      if (hasTrait(*inner, Trait::AsksGradMode)) {
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
      replaceResults(node, call, copy, results);
    }
    return true;
  }

  /// Why the call is left.
  const std::string& reason() const { return reason_; }

 private:
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  /// The way as a graph of its own.
  struct Copy {
    std::shared_ptr<Graph> graph = Graph::make();
    std::unordered_map<const Value*, Value*> copies;     // of canonical values
    std::unordered_map<const Value*, Value*> originals;  // of values of the copy
  };

  Value* copyOf(Value* value, Copy& to) {
    Value* root = canonicalTensor(value);
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

  void copyNode(Node* node, Copy& to) {
    std::vector<Value*> operands;
    for (Value* operand : node->inputs()) {
      if (operand->node()->kind() != prim::ListConstruct || ways_.memory().hasWriters(operand)) {
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

  /// Rules ask whether gradients are on while the engine computes.
  void setGradMode(Block* block, bool on) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) setGradMode(inner, on);
      if (!hasTrait(*node, Trait::AsksGradMode)) continue;
      node->output()->replaceAllUsesWith(insertConstantBefore(node, on));
      node->destroy();
    }
  }

  /// What stands for a value of the copy in the graph itself. The gradient may ask for sizes that the graph does not
  /// ask for.
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

  /// A gradient that the call returns, with the sizes of its output.
  Value* rootGradient(const Node* call, const GradientCall& what, size_t i) {
    Value* given = what.create_graph ? what.gradients[i] : detached(call, what.gradients[i]);
    if (isMadeLike(what.gradients[i], what.outputs[i])) return given;
    return insert(call, "cresset::root_gradient", {given, what.outputs[i]}, given->type())->output();
  }

  /// Whether the tensor surely has the sizes of the other: `torch.ones_like(y)`; numbers.
  static bool isMadeLike(const Value* gradient, Value* output) {
    const Node* node = gradient->node();
    const Operator* op = operatorOf(*node);
    const bool is_like = op && op->takesSizesOnly() && !op->schema().argumentIndexWithName("size");
    if (is_like && canonicalTensor(node->input(0)) == canonicalTensor(output)) return true;
    const auto rank = [](const Value* value) { return value->type()->expectRef<c10::TensorType>().dim(); };
    return rank(gradient) == size_t(0) && rank(output) == size_t(0);
  }

  void replaceResults(
      Node* call, const GradientCall& what, const Copy& copy, const std::unordered_map<const Value*, Value*>& results) {
    std::vector<Value*> gradients;
    for (Value* input : what.inputs) {
      const auto mine = copy.copies.find(canonicalTensor(input));
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
      Node* call, const GradientCall& what, const GradientWay& way, const Copy& copy,
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
  bool isUsedElsewhere(const Node* call, const GradientWay& way) {
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
  bool isBlind(Node* user, const Node* call, const GradientWay& way) {
    if (user == call) return true;
    if (user->kind() == prim::ListConstruct) {
      const auto uses = user->output()->uses();
      return std::all_of(
          uses.begin(), uses.end(), [&](const Use& use) { return use.user == call || way.nodes.contains(use.user); });
    }
    if (isStructural(user->kind()) || !user->blocks().empty()) return false;
    if (hasTrait(*user, Trait::CutsTape)) return true;
    const Operator* op = operatorOf(*user);
    return op && op->isPure() && !op->asksAutograd() && !passesGradients(user);
  }

  /// Nothing sees the tape: the way starts from tensors that require no gradients.
  void detachSources(const GradientWay& way, const std::vector<Node*>& nodes) {
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

  /// What the engine frees once it has used it.
  void release(Node* node, const GradientCall& call, const GradientWay& way) {
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
  GradientWays& ways_;
  std::string reason_;
};

/// Where more calls stay than these, no more are looked at: each costs time in proportion to the graph.
constexpr size_t kMaxCalls = 64;

class GradientInliner {
 public:
  explicit GradientInliner(Graph& graph) : graph_(graph), ways_(graph) {}

  bool run() {
    const bool writes_anything = tensorWrites(graph_) == TensorWrites::Anything;
    bool changed = false;
    for (Node* call : ways_.calls()) {
      if (notes_.size() >= kMaxCalls) break;
      if (!ways_.isPlain()) {
        leave(call, "the program changes how tensors take part in autograd");
      } else if (writes_anything) {
        leave(call, "the program calls what is not inlined, or replaces the data of tensors");
      } else {
        std::optional<GradientCall> asked;
        GradientWay way;
        GradientWriter writer(graph_, ways_);
        if (!ways_.find(call, asked, way)) {
          leave(call, ways_.reason());
        } else if (!writer.write(call, *asked, way)) {
          leave(call, writer.reason());
        } else {
          changed = true;
        }
      }
    }
    return changed;
  }

  /// Why calls were left as they are.
  std::vector<std::string> notes() { return std::move(notes_); }

 private:
  void leave(const Node* call, const std::string& reason) {
    notes_.push_back(
        call->sourceRange().position() + ": " + std::string(call->kind().toUnqualString()) +
        " runs autograd's engine: " + reason);
  }

  Graph& graph_;
  GradientWays ways_;
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
  inlineSubgraphs(*graph.block());  // gradients flow through operators only
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
