#include "cresset/autodiff/differentiate.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/gradients.h"
#include "cresset/analysis/result_layout.h"
#include "cresset/autodiff/captured_sizes.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/specialized_rules.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/insert_graph.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class Differentiator {
 public:
  Differentiator(Graph& forward, std::span<Value* const> wanted, const std::vector<Value*>* kept)
      : forward_(forward), wanted_(wanted.begin(), wanted.end()), kept_(kept), backward_(Graph::make()) {}

  Gradient run(std::span<Value* const> of) {
    for (Value* value : of) {
      Value* grad = backward_->addInput()->setType(gradientType(value));
      accumulate(value, grad);
    }
    findNeeded();
    std::vector<Node*> nodes(forward_.nodes().begin(), forward_.nodes().end());
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) differentiateNode(*it);

    Gradient result;
    std::vector<Value*> gradients;
    for (Value* value : wanted_) {
      const auto found = gradients_.find(value);
      if (found == gradients_.end()) continue;
      result.with_respect_to.push_back(value);
      gradients.push_back(found->second);
    }
    Node* tuple = backward_->create(prim::TupleConstruct, gradients);
    backward_->block()->appendNode(tuple);
    std::vector<c10::TypePtr> types;
    for (const Value* gradient : gradients) types.push_back(gradient->type());
    tuple->output()->setType(c10::TupleType::create(types));
    backward_->registerOutput(tuple->output());

    simplify();
    captureSizesInstead(forward_, *backward_, kept_, placeholders_);
    for (Value* value : must_keep_) standFor(value);
    for (auto& [value, placeholder] : placeholders_) {
      if (placeholder->hasUses() || must_keep_.contains(value)) result.captured.push_back(value);
    }
    std::sort(result.captured.begin(), result.captured.end(), [](const Value* a, const Value* b) {
      return a->unique() < b->unique();
    });
    orderInputs(of.size(), result.captured);
    result.graph = backward_;
    return result;
  }

 private:
  static c10::TypePtr gradientType(const Value* value) {
    const auto& type = value->type()->expectRef<c10::TensorType>();
    return c10::TensorType::create(type.scalarType(), type.device(), type.dim(), std::nullopt);
  }

  /// Values on the way from the wanted ones.
  void findNeeded() {
    needed_.insert(wanted_.begin(), wanted_.end());
    for (Node* node : forward_.nodes()) {
      if (isStructural(node->kind()) && node->kind() != prim::ListUnpack && node->kind() != prim::ListConstruct)
        continue;
      const auto inputs = node->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [&](Value* input) { return needed_.contains(input); })) continue;
      for (Value* output : node->outputs()) {
        if (mayRequireGrad(output->type())) needed_.insert(output);
      }
    }
  }

  void accumulate(Value* value, Value* gradient) {
    // The rule's operators may not tell that a gradient is of the rank of its value.
    if (const auto type = gradient->type()->cast<c10::TensorType>(); type && !type->dim()) {
      gradient->setType(c10::TensorType::create(
          type->scalarType(), type->device(), value->type()->expectRef<c10::TensorType>().dim(), type->requiresGrad()));
    }
    Value*& sum = gradients_[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    Value* alpha = one();
    const auto add = [&](Block* block, Value* a, Value* b) {
      Node* node = block->appendNode(backward_->create(kindOf(Basic::Add), {a, b, alpha}));
      operatorOf(*node);
      return node->output()->setType(gradientType(value));
    };
    if (!mayBeSparse(sum)) {
      sum = add(backward_->block(), sum, gradient);
      return;
    }
    // The operator adds a sparse tensor to a dense one, not a dense one to a sparse one; so does autograd.
    static const Symbol kIsSparse = Symbol::fromQualString("prim::is_sparse");
    Node* is_sparse = backward_->block()->appendNode(backward_->create(kIsSparse, {sum}));
    operatorOf(*is_sparse);
    Node* choice = backward_->block()->appendNode(
        backward_->create(prim::If, {is_sparse->output()->setType(c10::BoolType::get())}));
    Block *sparse = choice->addBlock(), *dense = choice->addBlock();
    sparse->registerOutput(add(sparse, gradient, sum));
    dense->registerOutput(add(dense, sum, gradient));
    sum = choice->output()->setType(gradientType(value));
    sparse_.insert(sum);
  }

  /// Gradients from outside, and of rules that are asked for sparse ones.
  bool mayBeSparse(const Value* gradient) const {
    const Node* node = gradient->node();
    if (node->kind() == prim::Param || sparse_.contains(gradient)) return true;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    const auto sparse = op ? sparseArgument(*op) : std::nullopt;
    return sparse && constantAs<bool>(node->input(*sparse)) != false;
  }

  Value* one() {
    const InsertPointGuard guard(*backward_, backward_->block());
    return backward_->insertConstant(int64_t(1));
  }

  /// What stands for a value of the forward graph.
  Value* standFor(Value* value) {
    if (const auto constant = toIValue(value)) {
      const InsertPointGuard guard(*backward_, backward_->block());
      return backward_->insertConstant(*constant, value->type());
    }
    if (value->node()->kind() == prim::ListConstruct) {  // its elements are captured one by one
      std::vector<Value*> elements;
      for (Value* element : value->node()->inputs()) elements.push_back(standFor(element));
      Node* list = backward_->create(prim::ListConstruct, elements);
      backward_->block()->appendNode(list);
      list->output()->setType(value->type());
      return list->output();
    }
    Value*& placeholder = placeholders_[value];
    if (!placeholder) placeholder = backward_->addInput()->setType(value->type());
    return placeholder;
  }

  void differentiateNode(Node* node) {
    CRESSET_CHECK(!isSubgraph(*node), "a subgraph is inlined before it is differentiated");
    if (isStructural(node->kind()) && node->kind() != prim::ListUnpack) return;
    const auto outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), [&](Value* output) { return gradients_.contains(output); }))
      return;
    if (node->kind() == prim::ListUnpack) return joinGradients(node);
    const Operator* op = operatorOf(*node);
    std::unordered_map<const GradientRule*, std::vector<Value*>> evaluated;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (!needed_.contains(node->input(i))) continue;
      const GradientRule* rule = gradientOf(*op, i);
      if (!rule) {
        throw InternalError("there is no derivative of " + op->fullName() + " for its argument " + std::to_string(i));
      }
      auto& gradients = evaluated[rule];
      if (gradients.empty()) gradients = inlineRule(*rule, node);
      const auto place = std::find(rule->arguments.begin(), rule->arguments.end(), i) - rule->arguments.begin();
      Value* gradient = unwrap(gradients[static_cast<size_t>(place)], node);
      if (node->input(i)->type()->kind() == c10::TypeKind::ListType) {
        accumulateElements(node->input(i)->node(), gradient, node);
      } else {
        accumulate(node->input(i), convert(gradient, node, node->input(i)));
      }
    }
  }

  /// The gradient of a list is the list of its elements' gradients.
  void accumulateElements(const Node* list, Value* gradient, const Node* user) {
    Node* unpack = backward_->create(prim::ListUnpack, {gradient}, list->inputs().size());
    backward_->block()->appendNode(unpack);
    unpack->copyLocation(user);
    for (size_t i = 0; i < list->inputs().size(); ++i) {
      Value* element = list->input(i);
      if (needed_.contains(element)) accumulate(element, convert(unpack->output(i), user, element));
    }
  }

  /// A gradient has the dtype of what it is the gradient of; rules return the dtype of their results' gradients.
  Value* convert(Value* gradient, const Node* node, const Value* operand) {
    const auto dtypeOf = [](const Value* value) {
      const auto type = value->type()->cast<c10::TensorType>();
      return type ? type->scalarType() : std::nullopt;
    };
    const auto dtype = dtypeOf(operand);
    const auto outputs = node->outputs();
    const bool differs = dtype && std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
                           return mayRequireGrad(output->type()) && dtypeOf(output) != dtype;
                         });
    if (!differs || outputs[0]->type()->kind() == c10::TypeKind::ListType) return gradient;
    const InsertPointGuard guard(*backward_, backward_->block());
    Value* to = backward_->insertConstant(static_cast<int64_t>(*dtype));
    Value *no = backward_->insertConstant(false), *none = backward_->insertConstant(c10::IValue());
    Node* conversion = backward_->create(aten::to, {gradient, to, no, no, none});
    backward_->insertNode(conversion)->output()->setType(gradientType(operand));
    conversion->copyLocation(node);
    operatorOf(*conversion);
    return conversion->output();
  }

  /// The gradient of a value that has none, beside one that has.
  Value* zerosFor(Value* value, Value* some) {
    Value* sizes = standFor(factOf(forward_, value, kindOf(Basic::Sizes), kept_));
    const InsertPointGuard guard(*backward_, backward_->block());
    Value* none = backward_->insertConstant(c10::IValue());
    static const Symbol kNewZeros = Symbol::fromQualString("aten::new_zeros");
    Node* zeros = backward_->create(kNewZeros, {some, sizes, none, none, none, none});
    backward_->insertNode(zeros)->output()->setType(gradientType(value));
    operatorOf(*zeros);
    return zeros->output();
  }

  /// The gradient of a list that is unpacked is the list of their gradients, zeros where there is none.
  /// The sizes of all elements are kept, since only the backward pass knows which gradients come in.
  void joinGradients(Node* unpack) {
    Value* some = nullptr;
    for (Value* output : unpack->outputs()) {
      if (const auto found = gradients_.find(output); found != gradients_.end()) some = found->second;
      if (!kept_) must_keep_.insert(factOf(forward_, output, kindOf(Basic::Sizes), kept_));
    }
    std::vector<Value*> elements;
    for (Value* output : unpack->outputs()) {
      if (const auto found = gradients_.find(output); found != gradients_.end()) {
        elements.push_back(found->second);
        continue;
      }
      elements.push_back(zerosFor(output, some));
    }
    Node* list = backward_->create(prim::ListConstruct, elements);
    backward_->block()->appendNode(list);
    list->output()->setType(unpack->input(0)->type());
    gradients_[unpack->input(0)] = list->output();
  }

  /// Rules take gradients of all results that they name: zeros where there is none.
  Value* gradientOfOutput(Node* node, size_t i) {
    Value* output = node->output(i);
    if (node->outputs().size() > 1 && !kept_ && mayRequireGrad(output->type()))
      must_keep_.insert(factOf(forward_, output, kindOf(Basic::Sizes), kept_));
    if (const auto found = gradients_.find(output); found != gradients_.end()) return found->second;
    for (Value* other : node->outputs()) {
      if (const auto found = gradients_.find(other); found != gradients_.end()) return zerosFor(output, found->second);
    }
    throw InternalError("a derivative of what has no gradient");
  }

  /// A gradient that is wanted is there, where a rule for several arguments may return None.
  Value* unwrap(Value* gradient, const Node* node) {
    if (gradient->type()->kind() != c10::TypeKind::OptionalType) return gradient;
    const InsertPointGuard guard(*backward_, backward_->block());
    return insertBasic(*backward_, Basic::Unwrap, {gradient})->copyLocation(node)->output();
  }

  /// The gradients that the rule returns.
  std::vector<Value*> inlineRule(const GradientRule& rule, Node* node) {
    const size_t num_operands = node->inputs().size() + node->outputs().size(), num_outputs = node->outputs().size();
    const auto inputs = rule.graph->inputs();
    CRESSET_CHECK(
        inputs.size() == num_operands + num_outputs + (num_outputs > 1) + (rule.arguments.size() > 1),
        "a derivative rule of another operator");
    RuleOperands operands;
    std::vector<Value*> values;                // of the forward graph, of which some are inputs of the specialized rule
    std::unordered_map<size_t, Value*> grads;  // of the backward graph, by their places among these
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->hasUses()) {
        operands.addUnused();
      } else if (i < num_operands) {
        const size_t num_inputs = node->inputs().size();
        operands.add(i < num_inputs ? node->input(i) : node->output(i - num_inputs), values);
      } else if (i < num_operands + num_outputs) {
        Value* gradient = gradientOfOutput(node, i - num_operands);
        operands.add(gradient->type());
        grads[values.size()] = gradient;
        values.push_back(nullptr);
      } else if (num_outputs > 1 && i == num_operands + num_outputs) {  // which of them there are
        operands.addList(num_outputs, inputs[i]->type());
        for (Value* output : node->outputs()) operands.addConstant(gradients_.contains(output), c10::BoolType::get());
      } else {  // which of the gradients that a rule returns are wanted
        operands.addList(rule.arguments.size(), inputs[i]->type());
        for (size_t k : rule.arguments) operands.addConstant(needed_.contains(node->input(k)), c10::BoolType::get());
      }
    }
    const std::shared_ptr<const Graph> special = specializeRule(rule.graph, operands);
    std::unordered_map<const Value*, Value*> copies;
    for (size_t i = 0; i < values.size(); ++i) {
      const Value* input = special->inputs()[i];
      if (input->hasUses()) copies[input] = values[i] ? standFor(values[i]) : grads.at(i);
    }
    const auto copyOf = [&](Value* value) { return copies.at(value); };
    for (Node* inner : special->nodes()) {
      Node* copy = backward_->createClone(inner, copyOf);
      backward_->block()->appendNode(copy);
      copyLocationThroughout(copy, node);
      for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
    }
    std::vector<Value*> gradients;
    for (Value* output : special->outputs()) gradients.push_back(copyOf(output));
    return gradients;
  }

  void simplify() {
    simplifyRules(*backward_);
    tidyBackward(*backward_);
  }

  /// Gradients first, then the captured values in order, and nothing else.
  void orderInputs(size_t num_gradients, const std::vector<Value*>& captured) {
    for (Value* value : captured) {
      Value* old = placeholders_.at(value);
      Value* input = backward_->addInput()->setType(old->type());
      old->replaceAllUsesWith(input);
    }
    const size_t last = backward_->inputs().size() - captured.size();
    for (size_t i = last; i-- > num_gradients;) backward_->block()->eraseInput(i);
  }

  Graph& forward_;
  std::vector<Value*> wanted_;
  const std::vector<Value*>* kept_;
  std::unordered_set<const Value*> needed_;
  std::shared_ptr<Graph> backward_;
  std::unordered_map<Value*, Value*> gradients_;  // of forward values, in the backward graph
  std::unordered_set<const Value*> sparse_;       // sums that may be
  std::unordered_set<Value*> must_keep_;
  std::unordered_map<Value*, Value*> placeholders_;  // of forward values, in the backward graph
};

}  // namespace

Gradient differentiate(
    Graph& graph, std::span<Value* const> of, std::span<Value* const> wanted, const std::vector<Value*>* kept) {
  return Differentiator(graph, wanted, kept).run(of);
}

}  // namespace cresset
