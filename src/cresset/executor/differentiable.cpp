#include "cresset/executor/differentiable.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cresset/analysis/gradients.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/differentiate.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/regions.h"
#include "cresset/executor/fact_checks.h"
#include "cresset/executor/kernels.h"
#include "cresset/executor/signature.h"
#include "cresset/interpreter/code.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/tape.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"
#include "cresset/support/numerics.h"
#include "cresset/support/options.h"
#include "cresset/support/recent_map.h"

namespace cresset {

namespace {

namespace autograd = torch::autograd;

std::atomic<size_t> recorded_regions{0}, gradient_functions{0};

/// Per region; each takes memory in proportion to the region. Who differentiates with respect to ever other inputs, or
/// ever other outputs, pays for making them again.
constexpr size_t kMaxGradientFunctions = 32;
constexpr size_t kMaxVariants = 8;

/// The same tensor, or list of tensors, that requires no gradient.
c10::TypePtr withoutGradient(const c10::TypePtr& type) {
  if (const auto tensor = type->cast<c10::TensorType>())
    return c10::TensorType::create(tensor->scalarType(), tensor->device(), tensor->dim(), /*requires_grad=*/false);
  if (const auto list = type->cast<c10::ListType>())
    return c10::ListType::create(withoutGradient(list->getElementType()));
  return type;
}

bool carriesGradient(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType && mayRequireGrad(value->type());
}

/// A gradient function for some of the gradients that may come in and some of those that may be wanted. Calls hold it
/// while they run, and nodes of the tape until their next: regions forget it.
struct GradientFunction {
  GradientFunction() { gradient_functions.fetch_add(1, std::memory_order_relaxed); }
  ~GradientFunction() { gradient_functions.fetch_sub(1, std::memory_order_relaxed); }
  GradientFunction(const GradientFunction&) = delete;
  GradientFunction& operator=(const GradientFunction&) = delete;

  std::shared_ptr<Program> program;  // of the function alone
  Function* function = nullptr;
  std::vector<size_t> captured;       // indices into the region's captured values
  std::vector<size_t> result_inputs;  // which of the region's inputs its results belong to
  /// Operators of the region that autograd would have gone through for this, of those that keep tensors: their places
  /// among the region's nodes.
  std::vector<size_t> passes;
  bool all_come_in = false;  // gradients of all outputs
};

class Region : public CompiledSubgraph, public std::enable_shared_from_this<Region> {
 public:
  explicit Region(std::shared_ptr<Graph> forward) : forward_(std::move(forward)), program_(Program::make()) {
    inlineSubgraphs(*forward_->block());  // which have no derivatives themselves
    for (size_t i = 0; i < forward_->inputs().size(); ++i) {
      const Value* input = forward_->inputs()[i];
      CRESSET_CHECK(
          carriesGradient(input) || !mayRequireGrad(input->type()), "gradients flow into a region through a container");
      if (carriesGradient(input)) inputs_.push_back(i);
    }
    num_outputs_ = forward_->outputs().size();
    std::vector<Value*> of, wanted;
    for (Value* output : forward_->outputs()) {
      if (carriesGradient(output)) of.push_back(output);
    }
    // Those from which nothing is computed that leaves the region are none to autograd: it would wait for their
    // gradients.
    std::unordered_set<size_t> needed;
    for (const Value* value : of) {
      for (size_t i : dependencies(value)) needed.insert(i);
    }
    std::erase_if(inputs_, [&](size_t i) { return !needed.contains(i); });
    for (size_t i : inputs_) wanted.push_back(forward_->inputs()[i]);
    // What the gradient of everything with respect to everything needs is kept. Kept values may get gradients too, in
    // derivatives of higher order, and then their own derivatives need what else there is.
    for (size_t num_before = 0; num_before != of.size();) {
      num_before = of.size();
      Gradient whole = differentiate(*forward_, of, wanted);
      for (Value* value : whole.captured) {
        if (std::find(captured_.begin(), captured_.end(), value) == captured_.end()) captured_.push_back(value);
        const bool is_input = value->node()->isParam();
        if (carriesGradient(value) && !is_input && std::find(of.begin(), of.end(), value) == of.end())
          of.push_back(value);
      }
      if (!usual_) {
        usual_ = std::move(whole);
        num_usual_ = num_before;
      }
    }
    differentiable_ = of;
    keeping_ = nodesBetween(wanted, of);
    for (Value* value : captured_) {
      const auto outputs = forward_->outputs();
      const auto output = std::find(outputs.begin(), outputs.end(), value);
      if (value->node()->isParam()) {
        sources_.push_back({Source::Input, value->offset()});
      } else if (output != outputs.end()) {
        sources_.push_back({Source::Output, static_cast<size_t>(output - outputs.begin())});
      } else {
        sources_.push_back({Source::Output, outputs.size()});
        forward_->registerOutput(value);
        if (mayBeView(value)) views_.push_back(outputs.size());
      }
    }
    for (const Value* value : differentiable_) {
      const auto outputs = forward_->outputs();
      differentiable_outputs_.push_back(
          static_cast<size_t>(std::find(outputs.begin(), outputs.end(), value) - outputs.begin()));
      depends_.push_back(dependencies(value));
    }
    for (size_t k = 0; k < depends_.size(); ++k)
      is_uneven_ |= differentiable_outputs_[k] < num_outputs_ && depends_[k].size() < inputs_.size();
    const bool checked = factChecks() != FactChecks::Off;
    const bool fuses = options::kernels() != KernelMode::Off && !checked;  // assertions would stand between operators
    const std::shared_ptr<Graph> runnable = checked || fuses ? forward_->copy() : forward_;
    if (checked) insertFactChecks(*runnable, /*with_requires_grad=*/false);
    if (fuses) fuse(*runnable);
    const InnerViews inner_views = innerViews(*runnable, /*records_gradients=*/false);
    code_ = emitCode(
        *runnable, "<differentiable region>", program_->weak_from_this(),
        {.compile_subgraph = compileSubgraph, .inner_views = &inner_views});
  }

  void call(std::vector<c10::IValue>& stack, size_t num_inputs) const override;
  const Code* code() const override { return code_.get(); }

  const std::vector<size_t>& inputs() const { return inputs_; }
  /// The operators of which autograd would keep tensors.
  const std::vector<size_t>& keeping() const { return keeping_; }
  std::shared_ptr<const GradientFunction> gradientFor(
      const std::vector<bool>& incoming, const std::vector<bool>& wanted) const {
    std::vector<bool> key = incoming;
    key.insert(key.end(), wanted.begin(), wanted.end());
    const std::lock_guard lock(mutex_);
    if (const auto* known = gradients_.find(key)) return *known;
    return gradients_.insert(std::move(key), makeGradient(incoming, wanted));
  }

 private:
  /// The code of a region runs below autograd.
  static void fuse(Graph& graph) {
    for (Value* input : graph.inputs()) input->setType(withoutGradient(input->type()));
    for (Node* node : graph.nodes()) {
      for (Value* output : node->outputs()) output->setType(withoutGradient(output->type()));
    }
    const AmbientState ambient = AmbientState::now();
    const TypeAssumptions assumptions = {
        .grad_mode = false, .autocast = ambient.autocast(), .usual_dispatch = ambient.isUsualDispatch()};
    if (decomposeForKernels(graph, assumptions)) tidyRegion(graph, assumptions);
    formFusionGroups(graph);
    formSequences(graph);
  }

  /// The operators without kernels: autograd records them, or forward-mode gradients go through them.
  const Code& recordedCode() const {
    std::call_once(recorded_once_, [&] {
      recorded_code_ = emitCode(
          *forward_, "<differentiable region>", program_->weak_from_this(), {.compile_subgraph = compileSubgraph});
    });
    return *recorded_code_;
  }

  struct Source {
    enum Kind { Input, Output } kind;
    size_t index;
  };

  /// This region for calls in which only some of its inputs require gradients: it keeps what their gradients need, as
  /// autograd does. Null if there are too many such: this region keeps more, and returns the same.
  std::shared_ptr<const Region> variantFor(const std::vector<bool>& requiring) const {
    const std::lock_guard lock(mutex_);
    if (const auto* known = variants_.find(requiring)) return *known;
    if (variants_.isFull() && !variant_admission_.admits()) return {};
    std::shared_ptr<Graph> graph = forward_->copy();
    for (size_t i = graph->outputs().size(); i-- > num_outputs_;) graph->block()->eraseOutput(i);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Value* input = graph->inputs()[inputs_[i]];
      if (!requiring[i]) input->setType(withoutGradient(input->type()));
    }
    for (Node* node : graph->nodes()) {
      const auto inputs = node->inputs();
      if (std::any_of(inputs.begin(), inputs.end(), [](const Value* input) { return mayRequireGrad(input->type()); }))
        continue;
      for (Value* output : node->outputs()) output->setType(withoutGradient(output->type()));
    }
    return variants_.insert(requiring, std::make_shared<const Region>(std::move(graph)));
  }

  /// Whether the tensor may be another one, or a view of it (`x.contiguous()`, a part of a list).
  static bool mayBeView(const Value* value) {
    if (value->type()->kind() != c10::TypeKind::TensorType) return false;
    if (isStructural(value->node()->kind())) return true;
    const Operator* op = operatorOf(*value->node());
    return !op || !op->isPure();
  }

  /// The inputs that carry gradients and from which the value is computed.
  std::vector<size_t> dependencies(const Value* value) const {
    std::vector<bool> seen(forward_->numValues());
    std::vector<const Value*> queue = {value};
    seen[value->unique()] = true;
    std::vector<size_t> found;
    while (!queue.empty()) {
      const Value* next = queue.back();
      queue.pop_back();
      if (next->node()->isParam()) {
        if (carriesGradient(next)) found.push_back(next->offset());
        continue;
      }
      for (const Value* input : next->node()->inputs()) {
        if (seen[input->unique()] || !mayRequireGrad(input->type())) continue;
        seen[input->unique()] = true;
        queue.push_back(input);
      }
    }
    return found;
  }

  /// Whether autograd's node for an operator would keep tensors, and so could be gone through only once.
  static bool keepsTensors(Node* node) {
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op) return false;
    const size_t num_operands = node->inputs().size() + node->outputs().size();
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const auto rule = mayRequireGrad(node->input(i)->type()) ? gradientOf(*op, i) : nullptr;
      for (size_t k = 0; rule && k < num_operands; ++k) {
        if (ruleKeeps(*rule->graph, k)) return true;
      }
    }
    return false;
  }

  /// Nodes on the ways from inputs that are wanted to values whose gradients come in, of those that keep tensors.
  std::vector<size_t> nodesBetween(std::span<Value* const> wanted, std::span<Value* const> of) const {
    std::vector<bool> reached(forward_->numValues()), needed(forward_->numValues());
    for (const Value* value : wanted) reached[value->unique()] = true;
    for (const Value* value : of) needed[value->unique()] = true;
    std::vector<Node*> nodes(forward_->nodes().begin(), forward_->nodes().end());
    const auto any = [](const auto& values, const std::vector<bool>& set) {
      return std::any_of(values.begin(), values.end(), [&](const Value* value) { return set[value->unique()]; });
    };
    for (Node* node : nodes) {
      if (!any(node->inputs(), reached)) continue;
      for (const Value* output : node->outputs()) reached[output->unique()] = mayRequireGrad(output->type());
    }
    std::vector<size_t> found;
    for (size_t i = nodes.size(); i-- > 0;) {
      if (!any(nodes[i]->outputs(), needed) || !any(nodes[i]->outputs(), reached)) continue;
      for (const Value* input : nodes[i]->inputs()) {
        if (reached[input->unique()]) needed[input->unique()] = true;
      }
      if (keepsTensors(nodes[i])) found.push_back(i);
    }
    return found;
  }

  std::shared_ptr<const GradientFunction> makeGradient(
      const std::vector<bool>& incoming, const std::vector<bool>& wanted) const {
    std::vector<Value*> of, with_respect_to;
    for (size_t i = 0; i < incoming.size(); ++i) {
      if (incoming[i]) of.push_back(differentiable_[i]);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) with_respect_to.push_back(forward_->inputs()[inputs_[i]]);
    }
    const bool is_usual = usual_ && with_respect_to.size() == wanted.size() && of.size() == num_usual_ &&
                          std::equal(of.begin(), of.end(), differentiable_.begin());
    const Gradient gradient =
        is_usual ? *std::exchange(usual_, std::nullopt) : differentiate(*forward_, of, with_respect_to, &captured_);
    auto result = std::make_shared<GradientFunction>();
    for (Value* value : gradient.captured) {
      const auto found = std::find(captured_.begin(), captured_.end(), value);
      CRESSET_CHECK(found != captured_.end(), "a gradient needs a value that its region has not kept");
      result->captured.push_back(static_cast<size_t>(found - captured_.begin()));
    }
    for (const Value* value : gradient.with_respect_to) {
      const auto found = std::find(inputs_.begin(), inputs_.end(), value->offset());
      result->result_inputs.push_back(static_cast<size_t>(found - inputs_.begin()));
    }
    result->passes = nodesBetween(with_respect_to, of);
    result->all_come_in = true;
    for (size_t i = 0; i < incoming.size(); ++i)
      result->all_come_in &= incoming[i] || differentiable_outputs_[i] >= num_outputs_;
    result->program = Program::make();
    Function& function = result->program->declare(c10::QualifiedName("gradient"), {});
    gradient.graph->setRules({});  // it is autograd's, which no policy refuses and no limit stops
    function.setGraph(gradient.graph);
    result->function = &function;
    return result;
  }

  std::shared_ptr<Graph> forward_;
  std::shared_ptr<Program> program_;
  std::shared_ptr<const Code> code_;
  mutable std::once_flag recorded_once_;
  mutable std::shared_ptr<const Code> recorded_code_;
  std::vector<size_t> inputs_;  // those that carry gradients
  size_t num_outputs_ = 0;      // after them come kept values
  std::vector<size_t> views_;   // kept values that may be views of others, by their places among the outputs
  std::vector<Value*> captured_;
  std::vector<Source> sources_;  // of captured_
  std::vector<size_t> keeping_;
  std::vector<Value*> differentiable_;          // outputs and kept values that get gradients
  std::vector<size_t> differentiable_outputs_;  // their places among the outputs of the forward graph
  std::vector<std::vector<size_t>> depends_;    // per differentiable value, the inputs that it comes from
  bool is_uneven_ = false;                      // some output does not come from all inputs
  mutable std::mutex mutex_;
  /// The gradient of the outputs with respect to everything, which most backward passes want: from when the region was
  /// made, until it becomes a gradient function.
  mutable std::optional<Gradient> usual_;
  size_t num_usual_ = 0;  // of differentiable_, the first: the outputs
  mutable RecentMap<std::vector<bool>, std::shared_ptr<const GradientFunction>> gradients_{kMaxGradientFunctions};
  mutable RecentMap<std::vector<bool>, std::shared_ptr<const Region>> variants_{kMaxVariants};
  mutable Admission variant_admission_;
};

using RegionPtr = std::shared_ptr<const Region>;

/// Nodes of the tape are held by c10's intrusive pointers since PyTorch 2.13, by standard ones before.
template <typename Pointer>
struct NodePointers {
  template <typename T, typename... Args>
  static auto make(Args&&... args) {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  }
  template <typename T>
  static Pointer self(T* node) {
    return Pointer::reclaim_copy(node);
  }
};
template <>
struct NodePointers<std::shared_ptr<autograd::Node>> {
  template <typename T, typename... Args>
  static auto make(Args&&... args) {
    return std::make_shared<T>(std::forward<Args>(args)...);
  }
  template <typename T>
  static auto self(T* node) {
    return node->shared_from_this();
  }
};
using Pointers = NodePointers<decltype(autograd::Edge::function)>;

/// Stands for a node that refuses gradients, and forwards those that are there to it: autograd calls every node that a
/// region leads to, also where no gradient flows, since none of the outputs that it flows from was asked for. It leads
/// to where that node leads, so that it is on the way to the same inputs.
class Refusal : public autograd::Node {
 public:
  explicit Refusal(autograd::Edge to) : to_(std::move(to)) {
    set_next_edges(autograd::edge_list(to_.function->next_edges()));
  }

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    return gradients.at(0).defined() ? (*to_.function)(std::move(gradients)) : autograd::variable_list(num_outputs());
  }

 private:
  const autograd::Edge to_;
};

/// Where the gradient of a tensor goes that requires one and has no place on the tape: a view that was made before its
/// base did. Autograd goes through the operators up to there all the same, and what they check is checked.
class Nowhere : public autograd::Node {
 public:
  std::string name() const override { return "CressetNowhere"; }
  autograd::variable_list apply(autograd::variable_list&& /*gradients*/) override { return {}; }
};

/// Where the gradient of an input of a region goes.
autograd::Edge edgeTo(const at::Tensor& input) {
  if (!input.requires_grad()) return {};
  autograd::Edge edge = autograd::impl::gradient_edge(input);
  const autograd::Node* node = edge.function.get();
  if (!node) {
    auto nowhere = Pointers::make<Nowhere>();
    nowhere->add_input_metadata(input);
    return {std::move(nowhere), 0};
  }
  if (typeid(*node) != typeid(autograd::NotImplemented)) return edge;
  auto refusal = Pointers::make<Refusal>(std::move(edge));
  refusal->add_input_metadata(input);
  return {std::move(refusal), 0};
}

/// A region on the tape.
class RegionBackward : public autograd::Node, public PartlyReleased {
 public:
  explicit RegionBackward(RegionPtr region) : region_(std::move(region)) {}

  std::string name() const override { return "CressetBackward"; }

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    std::optional<ExactNumerics> exact;
    if (is_exact_) exact.emplace();
    std::vector<bool> incoming, wanted;
    for (const at::Tensor& gradient : gradients) incoming.push_back(gradient.defined());
    for (size_t i = 0; i < region_->inputs().size(); ++i) wanted.push_back(task_should_compute_output(i));
    autograd::variable_list results(region_->inputs().size());
    if (std::none_of(incoming.begin(), incoming.end(), [](bool defined) { return defined; })) return results;
    const std::shared_ptr<const GradientFunction> function = region_->gradientFor(incoming, wanted);
    const GradientFunction& gradient = *function;
    last_ = function;
    last_is_whole_ = isWhole(gradient, wanted);
    if (gradient.result_inputs.empty()) return results;
    // As autograd, which keeps and frees by operator, and not by region.
    const bool again = std::any_of(
        gradient.passes.begin(), gradient.passes.end(), [&](size_t i) { return i < passed_.size() && passed_[i]; });
    TORCH_CHECK(!again, autograd::ERR_BACKWARD_TWICE);
    Stack stack;
    for (at::Tensor& incoming_gradient : gradients) {
      if (incoming_gradient.defined()) stack.emplace_back(std::move(incoming_gradient));
    }
    for (size_t i : gradient.captured) {
      const Kept& kept = kept_[i];
      stack.push_back(
          kept.is_tensor ? c10::IValue(kept.tensor.unpack(Pointers::self<autograd::Node>(this))) : kept.value);
    }
    // Nothing asks again: what is kept can go when the gradient function no longer needs it.
    if (std::exchange(releasing_, {}) == std::this_thread::get_id() && last_is_whole_) releaseKept();
    gradient.function->run(stack);
    const auto& elements = stack.back().toTupleRef().elements();
    for (size_t i = 0; i < gradient.result_inputs.size(); ++i)
      results[gradient.result_inputs[i]] = elements[i].toTensor();
    return results;
  }

  void will_release_variables() override {
    const std::lock_guard lock(mutex_);
    releasing_ = std::this_thread::get_id();
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    if (last_ && !last_is_whole_) return markPassed(*last_);
    releaseKept();
  }

  void releaseFor(const std::vector<bool>& incoming, const std::vector<bool>& wanted) override {
    const std::lock_guard lock(mutex_);
    const auto gradient = region_->gradientFor(incoming, wanted);
    if (isWhole(*gradient, wanted)) return releaseKept();
    markPassed(*gradient);
  }

  struct Kept {
    bool is_tensor = false;
    autograd::SavedVariable tensor;
    c10::IValue value;
  };
  std::vector<Kept> kept_;

 private:
  /// Whether autograd would have gone through all operators of the region.
  bool isWhole(const GradientFunction& gradient, const std::vector<bool>& wanted) const {
    if (!gradient.all_come_in) return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i] && next_edge(i).is_valid()) return false;
    }
    return true;
  }

  void markPassed(const GradientFunction& gradient) {
    for (size_t i : gradient.passes) {
      if (passed_.size() <= i) passed_.resize(i + 1);
      passed_[i] = true;
    }
    const auto& keeping = region_->keeping();
    const bool has_freed_all =
        std::all_of(keeping.begin(), keeping.end(), [&](size_t i) { return i < passed_.size() && passed_[i]; });
    if (has_freed_all) releaseKept();
  }

  void releaseKept() {
    for (Kept& kept : kept_) kept.tensor.reset_data();  // unpacking one again is autograd's own error
  }

  RegionPtr region_;
  const bool is_exact_ = wantsExactNumerics();  // as the call that has put it on the tape
  std::mutex mutex_;
  std::thread::id releasing_;                     // the thread whose next gradient is the last, if there is one
  std::shared_ptr<const GradientFunction> last_;  // what ran last
  bool last_is_whole_ = false;
  std::vector<bool> passed_;  // operators whose tensors autograd would have freed
};

/// Whether hooks see the gradient of the tensor.
bool isWatched(const at::Tensor& tensor) {
  const auto* meta = static_cast<autograd::AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  if (!meta) return false;
  if (!meta->hooks_.empty() || meta->post_acc_grad_hooks_) return true;
  const auto node = meta->grad_fn_ ? meta->grad_fn_ : meta->grad_accumulator_.lock();
  return node && (!node->pre_hooks().empty() || !node->post_hooks().empty() || !node->tensor_pre_hooks().empty());
}

void Region::call(std::vector<c10::IValue>& stack, size_t num_inputs) const {
  const size_t first = stack.size() - num_inputs;
  bool record = false, forward_mode = false, all = true;
  for (size_t i : inputs_) {
    const at::Tensor& tensor = stack[first + i].toTensor();
    record |= tensor.requires_grad();
    all &= tensor.requires_grad();
  }
  // A tangent may come in with what needs no gradient, which is none of inputs_.
  for (size_t i = first; i < stack.size(); ++i) {
    forward_mode |= stack[i].isTensor() && stack[i].toTensor()._fw_grad(0).defined();
  }
  record &= c10::GradMode::is_enabled();
  const auto hasHooks = [&](size_t i) { return first + i < stack.size() && isWatched(stack[first + i].toTensor()); };
  if (!record || forward_mode || (is_uneven_ && std::any_of(inputs_.begin(), inputs_.end(), hasHooks))) {
    // Forward-mode gradients go through the operators themselves. So do those that are watched, if results of the
    // region come from some of its inputs only: to autograd all come from all, and it calls hooks without a gradient.
    runPart(record || forward_mode ? recordedCode() : *code_, stack);
    stack.resize(first + num_outputs_);
    return;
  }
  if (!all) {
    std::vector<bool> requiring;
    for (size_t i : inputs_) requiring.push_back(stack[first + i].toTensor().requires_grad());
    if (const auto variant = variantFor(requiring)) return variant->call(stack, num_inputs);
  }
  std::vector<c10::IValue> inputs(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  {
    const at::AutoDispatchBelowAutograd below;
    runPart(*code_, stack);
  }
  recorded_regions.fetch_add(1, std::memory_order_relaxed);
  // What goes on the tape must be a tensor of its own, with the version counter of the memory that it shares.
  for (size_t i : views_) stack[first + i] = stack[first + i].toTensor().tensor_data();
  // Results that are no views of anything in the graph: some kernels make a view of memory of their own (aten::repeat).
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().is_view()) stack[i] = stack[i].toTensor().tensor_data();
  }
  auto node = Pointers::make<RegionBackward>(shared_from_this());
  autograd::edge_list edges;
  for (size_t i : inputs_) edges.push_back(edgeTo(inputs[i].toTensor()));
  node->set_next_edges(std::move(edges));
  for (size_t k = 0; k < differentiable_outputs_.size(); ++k) {
    const bool requires_grad = std::any_of(
        depends_[k].begin(), depends_[k].end(), [&](size_t i) { return inputs[i].toTensor().requires_grad(); });
    if (requires_grad) {
      autograd::set_history(stack[first + differentiable_outputs_[k]].toTensor(), node);
    } else {
      node->add_input_metadata(autograd::Node::undefined_input());
    }
  }
  node->kept_.reserve(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    const bool is_output = source.kind == Source::Output;
    const c10::IValue& value = is_output ? stack[first + source.index] : inputs[source.index];
    RegionBackward::Kept kept;
    kept.is_tensor = value.isTensor();
    if (kept.is_tensor) {
      const at::Tensor& tensor = value.toTensor();
      kept.tensor = autograd::SavedVariable(tensor, is_output && tensor.requires_grad());
    } else {
      kept.value = value;
    }
    node->kept_.push_back(std::move(kept));
  }
  stack.resize(first + num_outputs_);
}

}  // namespace

std::shared_ptr<const CompiledSubgraph> compileSubgraph(const Node& subgraph) {
  if (isSubgraph(subgraph, SubgraphKind::Differentiable))
    return std::make_shared<Region>(subgraph.g(attr::Subgraph)->copy());
  return compileFused(subgraph);
}

size_t numGradientFunctions() {
  return gradient_functions.load(std::memory_order_relaxed);
}

size_t numRecordedRegions() {
  return recorded_regions.load(std::memory_order_relaxed);
}

}  // namespace cresset
