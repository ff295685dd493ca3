#include "cresset/autodiff/differentiate.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipeline.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Removes what nobody uses. Nothing in a gradient has an effect, and an exception that a gradient nobody wants would
/// have raised is no loss.
void removeUnused(Block* block) {
  for (Node* node = block->returnNode()->prev(); node != block->returnNode();) {
    Node* previous = node->prev();
    const auto outputs = node->outputs();
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    const bool writes = op && op->isMutable();  // to lists of a rule's own
    if (!writes && node->kind() != prim::Loop && node->kind() != prim::If &&
        std::none_of(outputs.begin(), outputs.end(), [](const Value* output) { return output->hasUses(); })) {
      node->destroy();
    } else {
      for (Block* inner : node->blocks()) removeUnused(inner);
    }
    node = previous;
  }
}

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
    takeSizesInstead();
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
      if (isStructural(node->kind()) && node->kind() != prim::ListUnpack) continue;
      const auto inputs = node->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [&](Value* input) { return needed_.contains(input); })) continue;
      for (Value* output : node->outputs()) {
        if (mayRequireGrad(output->type())) needed_.insert(output);
      }
    }
  }

  void accumulate(Value* value, Value* gradient) {
    Value*& sum = gradients_[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    Node* add = backward_->create(aten::add, {sum, gradient, one()});
    backward_->block()->appendNode(add);
    add->output()->setType(gradientType(value));
    operatorOf(*add);
    sum = add->output();
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
    if (value->node()->kind() == prim::ListConstruct) {  // of numbers, which are cheaper captured one by one
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
    if (isStructural(node->kind()) && node->kind() != prim::ListUnpack) return;
    const auto outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), [&](Value* output) { return gradients_.contains(output); }))
      return;
    if (node->kind() == prim::ListUnpack) return joinGradients(node);
    const Operator* op = operatorOf(*node);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (!needed_.contains(node->input(i))) continue;
      const auto rule = gradientOf(*op, i);
      if (!rule) {
        throw InternalError("there is no derivative of " + op->fullName() + " for its argument " + std::to_string(i));
      }
      accumulate(node->input(i), inlineRule(*rule, node));
    }
  }

  /// The gradient of a list whose elements are taken apart is the list of their gradients, zeros where there is none.
  /// The sizes of all elements are kept, since only the backward pass knows which gradients come in.
  void joinGradients(Node* unpack) {
    Value* some = nullptr;
    for (Value* output : unpack->outputs()) {
      if (const auto found = gradients_.find(output); found != gradients_.end()) some = found->second;
      if (!kept_) must_keep_.insert(sizeOf(output));
    }
    std::vector<Value*> elements;
    for (Value* output : unpack->outputs()) {
      if (const auto found = gradients_.find(output); found != gradients_.end()) {
        elements.push_back(found->second);
        continue;
      }
      Value* sizes = standFor(sizeOf(output));
      const InsertPointGuard guard(*backward_, backward_->block());
      Value* none = backward_->insertConstant(c10::IValue());
      static const Symbol kNewZeros = Symbol::fromQualString("aten::new_zeros");
      Node* zeros = backward_->create(kNewZeros, {some, sizes, none, none, none, none});
      backward_->insertNode(zeros)->output()->setType(gradientType(output));
      operatorOf(*zeros);
      elements.push_back(zeros->output());
    }
    Node* list = backward_->create(prim::ListConstruct, elements);
    backward_->block()->appendNode(list);
    list->output()->setType(unpack->input(0)->type());
    gradients_[unpack->input(0)] = list->output();
  }

  Value* inlineRule(const Graph& rule, Node* node) {
    std::unordered_map<const Value*, Value*> copies;
    const size_t num_inputs = node->inputs().size(), num_outputs = node->outputs().size();
    CRESSET_CHECK(rule.inputs().size() == num_inputs + 2 * num_outputs, "a derivative rule of another operator");
    for (size_t i = 0; i < rule.inputs().size(); ++i) {
      Value* input = rule.inputs()[i];
      if (!input->hasUses()) continue;
      if (i < num_inputs + num_outputs) {
        copies[input] = standFor(i < num_inputs ? node->input(i) : node->output(i - num_inputs));
      } else {
        const auto found = gradients_.find(node->output(i - num_inputs - num_outputs));
        CRESSET_CHECK(
            found != gradients_.end(), "a derivative rule for several results, of which some have no gradient");
        copies[input] = found->second;
      }
    }
    const auto copyOf = [&](Value* value) { return copies.at(value); };
    for (Node* inner : rule.nodes()) {
      Node* copy = backward_->createClone(inner, copyOf);
      backward_->block()->appendNode(copy);
      setLocation(copy, node);
      for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
    }
    return copyOf(rule.outputs()[0]);
  }

  /// Errors in a gradient point to what was differentiated.
  static void setLocation(Node* copy, const Node* original) {
    copy->copyLocation(original);
    for (Block* block : copy->blocks()) {
      for (Node* inner : block->nodes()) setLocation(inner, original);
    }
  }

  void simplify() {
    Pipeline passes(*backward_, "gradient");
    passes.repeat(4, [&] {
      passes.run("peephole");
      passes.run("constant-propagation");
      passes.run("simplify-branches");
    });
    removeUnused(backward_->block());
    passes.run("pool-constants");
  }

  /// `x.size()` of a value that nothing else needs becomes a captured list of ints.
  void takeSizesInstead() {
    std::vector<std::pair<Value*, Value*>> sizes;
    for (auto& [value, placeholder] : placeholders_) {
      const auto uses = placeholder->uses();
      if (uses.empty() || !std::all_of(uses.begin(), uses.end(), [](const Use& use) {
            return use.user->kind() == aten::size && use.user->inputs().size() == 1;
          }))
        continue;
      Value* size = sizeOf(value);
      if (kept_ && std::find(kept_->begin(), kept_->end(), size) == kept_->end()) continue;  // the tensor is kept
      Value* input = backward_->addInput()->setType(size->type());
      for (const Use& use : placeholder->uses().vec()) {
        use.user->output()->replaceAllUsesWith(input);
        use.user->destroy();
      }
      sizes.emplace_back(size, input);
    }
    for (const auto& [size, input] : sizes) placeholders_[size] = input;
  }

  /// The node of the forward graph that gives the sizes; it is added if there is none.
  Value* sizeOf(Value* value) {
    for (const Use& use : value->uses()) {
      if (use.user->kind() == aten::size && use.user->inputs().size() == 1 &&
          use.user->owningBlock() == forward_.block())
        return use.user->output();
    }
    if (kept_) return nullptr;
    Node* size = forward_.create(aten::size, {value});
    if (value->node()->isParam()) {
      forward_.block()->prependNode(size);
    } else {
      size->insertAfter(value->node());
    }
    size->output()->setType(c10::ListType::ofInts());
    operatorOf(*size);
    return size->output();
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
  std::unordered_set<Value*> must_keep_;
  std::unordered_map<Value*, Value*> placeholders_;  // of forward values, in the backward graph
};

}  // namespace

Gradient differentiate(
    Graph& graph, std::span<Value* const> of, std::span<Value* const> wanted, const std::vector<Value*>* kept) {
  return Differentiator(graph, wanted, kept).run(of);
}

}  // namespace cresset
