#include "cresset/executor/executor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "cresset/autodiff/inline_gradients.h"
#include "cresset/executor/mode.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/profile.h"
#include "cresset/ops/policy.h"
#include "cresset/support/error.h"
#include "cresset/support/recent_map.h"

namespace cresset {

namespace {

/// Fewer nodes than this leave nothing to gain: choosing a plan would cost more than it saves.
constexpr size_t kMinNodes = 4;

thread_local uint64_t last_plan = 0;
thread_local std::weak_ptr<Graph> last_graph;

bool isTooSmall(const Graph& graph) {
  size_t count = 0;
  for (const Node* node : graph.nodes()) {
    if (node->kind() == prim::Constant) continue;
    if (!node->blocks().empty() || node->kind() == prim::CallFunction || node->kind() == prim::CallMethod) return false;
    ++count;
  }
  return count < kMinNodes;
}

using PlanPtr = std::shared_ptr<const Plan>;

class Executor final : public Executable {
 public:
  explicit Executor(Function& function)
      : function_(function),
        reference_(emitCode(*function.graph(), function.name(), function.program().weak_from_this())),
        state_(
            plansAlways()                   ? State::Used
            : isTooSmall(*function.graph()) ? State::TooSmall
                                            : State::Fresh) {}

  const Code* code() const override { return reference_.get(); }

  void run(Stack& stack) const override {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::TooSmall) {
      // Not counted: what such a function costs is the call.
    } else if (state == State::Fresh && !needsPlanAtOnce(stack)) {
      State expected = State::Fresh;  // another thread may be further already
      state_.compare_exchange_strong(expected, State::Used, std::memory_order_acq_rel);
      count(WithoutPlan::FirstCall);
    } else {
      if (const PlanPtr plan = planFor(stack)) {
        if (last_.load(std::memory_order_relaxed) != plan->id) last_.store(plan->id, std::memory_order_relaxed);
        if (last_plan != plan->id) {
          last_plan = plan->id;
          last_graph = plan->graph;
        }
        return runCode(*plan->code, stack);
      }
    }
    runCode(*reference_, stack);
  }

  /// The plan for the arguments at the end of the stack; reads the plan's attributes onto it. Null, and the stack is as
  /// it was, if the unoptimized program is to run.
  PlanPtr planFor(Stack& stack) const {
    if (executionMode() != ExecutionMode::Optimize || !getGraphExecutorOptimize())
      return without(WithoutPlan::Interpreted);
    if (reference_->limits.any() || threadLimits().any()) return without(WithoutPlan::Limited);
    if (ScriptProfile::isWanted()) return without(WithoutPlan::Profiled);
    const PreparedFunction* prepared = preparedFunction();
    if (!prepared) return without(WithoutPlan::Failed);
    if (stack.size() < reference_->num_inputs) return nullptr;
    Signature signature;
    if (const auto why = prepared->reader.read(stack, signature)) return without(reasonOf(*why));
    PlanPtr plan = find(signature);
    if (!plan || plan->revise->load(std::memory_order_acquire)) [[unlikely]] {
      plan = makePlanFor(signature);
    }
    if (plan && plan->code) [[likely]]
      return plan;
    stack.resize(stack.size() - prepared->reader.attributes().size());
    return without(plan ? WithoutPlan::Failed : WithoutPlan::TooManyKinds);
  }

  ExecutionReport report() const {
    ExecutionReport report;
    report.function = function_.qualname().qualifiedName();
    for (size_t i = 0; i < kNumWithoutPlan; ++i)
      report.without_plan[i] = without_plan_[i].load(std::memory_order_relaxed);
    switch (state_.load(std::memory_order_acquire)) {
      case State::TooSmall:
        report.state = "too small to gain from a plan";
        break;
      case State::Fresh:
        report.state = "not called yet";
        break;
      case State::Failed:
        report.state = "plans are off: " + failure_;
        report.errors.push_back(failure_);
        break;
      case State::Used:
        if (std::accumulate(report.without_plan.begin(), report.without_plan.end(), uint64_t(0)) <= 1)
          report.state = "called once: plans are made from the second call on";
        break;
      case State::Prepared:
        break;
    }
    const PreparedFunction* prepared = prepared_ptr_.load(std::memory_order_acquire);
    if (!prepared) return report;
    report.num_nodes = prepared->num_nodes;
    const auto plans = plans_.load(std::memory_order_acquire);
    const size_t count = plans ? plans->size() : 0;
    for (size_t i = count; i-- > 0;) {
      const Plan& plan = (*plans)[i]->plan;
      if (plan.code) {
        report.plans.push_back(describePlan(*prepared, plan));
      } else {
        report.errors.insert(report.errors.end(), plan.notes.begin(), plan.notes.end());
      }
    }
    if (count >= kMaxPlans) {
      report.state = "there are " + std::to_string(count) +
                     " plans; calls of other kinds run the program as written, and one in " +
                     std::to_string(Admission::kOneIn) + " of them has a plan in place of the one longest unused";
    }
    return report;
  }

  std::shared_ptr<Graph> lastGraph() const {
    const uint64_t id = last_.load(std::memory_order_relaxed);
    if (const auto plans = plans_.load(std::memory_order_acquire)) {
      for (const auto& entry : *plans) {
        if (entry->plan.id == id) return entry->plan.graph;
      }
    }
    return nullptr;
  }

 private:
  enum class State { TooSmall, Fresh, Used, Prepared, Failed };
  struct Entry {
    Entry(Plan made, uint64_t now) : plan(std::move(made)), used(now) {}
    const Plan plan;
    mutable std::atomic<uint64_t> used;  // when it ran last, by clock_
  };
  /// One per signature, newest first. Replaced as a whole: calls hold what they found.
  using Plans = std::vector<std::shared_ptr<const Entry>>;

  void count(WithoutPlan reason) const { without_plan_[size_t(reason)].fetch_add(1, std::memory_order_relaxed); }
  PlanPtr without(WithoutPlan reason) const {
    count(reason);
    return nullptr;
  }
  static WithoutPlan reasonOf(Unreadable why) {
    switch (why) {
      case Unreadable::Transformed:
        return WithoutPlan::Transformed;
      case Unreadable::Hooked:
        return WithoutPlan::Hooked;
      case Unreadable::NotPlain:
        break;
    }
    return WithoutPlan::NotPlain;
  }

  /// Derivatives of higher order add in another order than autograd alone would, so they come from plans from the first
  /// call on: calls must not differ in their bits. They need an argument that requires a gradient, or a program that
  /// asks for gradients itself.
  bool needsPlanAtOnce(const Stack& stack) const {
    if (!c10::GradMode::is_enabled() || stack.size() < reference_->num_inputs) return false;
    const bool takes_leaf = std::any_of(
        stack.end() - static_cast<std::ptrdiff_t>(reference_->num_inputs), stack.end(),
        [](const c10::IValue& value) { return value.isTensor() && value.toTensor().requires_grad(); });
    return takes_leaf || differentiates(*function_.graph());
  }

  const PreparedFunction* preparedFunction() const {
    if (const PreparedFunction* ready = prepared_ptr_.load(std::memory_order_acquire)) return ready;
    const std::lock_guard lock(mutex_);
    if (state_.load(std::memory_order_relaxed) == State::Failed) return nullptr;
    if (!prepared_) {
      try {
        prepared_ = prepareFunction(function_);
      } catch (const std::exception& error) {
        fail(error);
        return nullptr;
      }
      prepared_ptr_.store(prepared_.get(), std::memory_order_release);
      state_.store(State::Prepared, std::memory_order_release);
    }
    return prepared_.get();
  }

  PlanPtr find(const Signature& signature) const {
    auto plans = plans_.load(std::memory_order_acquire);
    if (!plans) return nullptr;
    for (const auto& entry : *plans) {
      if (entry->plan.signature != signature) continue;
      const uint64_t now = clock_.load(std::memory_order_relaxed);
      if (entry->used.load(std::memory_order_relaxed) != now) entry->used.store(now, std::memory_order_relaxed);
      const Plan* plan = &entry->plan;
      return {std::move(plans), plan};
    }
    return nullptr;
  }

  /// A plan for a new signature, or the next version of one that asks to be revised; null if there are enough.
  PlanPtr makePlanFor(const Signature& signature) const {
    std::unique_lock lock(mutex_, std::defer_lock);
    const auto now_known = plans_.load(std::memory_order_acquire);
    if (!now_known || now_known->size() < kMaxPlans || find(signature)) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return nullptr;  // a call of a further kind does not wait while a plan is made
    }
    const PlanPtr earlier = find(signature);
    if (earlier && !earlier->revise->load(std::memory_order_acquire)) return earlier;  // another thread was faster
    if (state_.load(std::memory_order_relaxed) == State::Failed) return nullptr;
    const auto known = plans_.load(std::memory_order_relaxed);
    const bool full = !earlier && known && known->size() >= kMaxPlans;
    if (full && !admission_.admits()) return nullptr;
    {
      const uint64_t now = clock_.fetch_add(1, std::memory_order_relaxed) + 1;
      auto entry = std::make_shared<const Entry>(std::move(*planOrError(signature, earlier.get())), now);
      auto plans = std::make_shared<Plans>(known ? *known : Plans());
      if (full) plans->erase(longestUnused(*plans));
      std::erase_if(*plans, [&](const auto& other) { return other->plan.signature == signature; });
      const Plan* plan = &plans->emplace(plans->begin(), std::move(entry))->get()->plan;
      plans_.store(plans, std::memory_order_release);
      return {std::move(plans), plan};
    }
  }

  /// A fault of the optimizer costs speed only, and only calls of this kind: it is remembered as a plan without code.
  std::unique_ptr<const Plan> planOrError(const Signature& signature, const Plan* earlier) const {
    try {
      return makePlan(function_, *prepared_, signature, earlier);
    } catch (const std::exception& error) {
      throwIfAlways(error);
      auto failed = std::make_unique<Plan>();
      failed->signature = signature;
      failed->revise = std::make_shared<std::atomic<bool>>(false);
      failed->notes = {error.what()};
      return failed;
    }
  }

  /// Of those that ran last before the same plan was made, the oldest.
  static Plans::const_iterator longestUnused(const Plans& plans) {
    auto found = plans.end() - 1;
    for (auto it = plans.end(); it-- != plans.begin();) {
      if ((*it)->used.load(std::memory_order_relaxed) < (*found)->used.load(std::memory_order_relaxed)) found = it;
    }
    return found;
  }

  void throwIfAlways(const std::exception& error) const {
    if (plansAlways()) throw InternalError("no plan for " + function_.qualname().qualifiedName() + ": " + error.what());
  }

  /// What plans are made of could not be: the unoptimized program still runs. explain() tells; tests look for it.
  void fail(const std::exception& error) const {
    throwIfAlways(error);
    failure_ = error.what();
    state_.store(State::Failed, std::memory_order_release);
  }

  static ExecutionReport::PlanReport describePlan(const PreparedFunction& prepared, const Plan& plan) {
    ExecutionReport::PlanReport report;
    report.ambient = AmbientState::of(plan.signature[0]).toString();
    size_t word = 1;
    const std::vector<int64_t> shared = prepared.reader.sharedMemory(plan.signature);
    std::vector<std::string> tensors;
    const auto add = [&](const std::string& name, size_t num_words) {
      for (size_t i = num_words; i > 0; --i) {
        const ValueKind kind = ValueKind::of(plan.signature[word++]);
        report.inputs.push_back(name + ": " + kind.toString());
        if (kind.kind != ValueKind::Kind::Tensor) continue;
        const size_t tensor = tensors.size();
        tensors.push_back(name);
        if (!shared.empty() && shared[tensor] != static_cast<int64_t>(tensor))
          report.inputs.back() += ", shares memory with " + tensors[static_cast<size_t>(shared[tensor])];
      }
    };
    const auto inputs = prepared.graph->inputs();
    for (size_t i = 0; i < prepared.reader.arguments().size(); ++i)
      add(inputs[i]->debugName(), numWords(*prepared.reader.arguments()[i]));
    for (const AttributePath& path : prepared.reader.attributes()) add(path.name, numWordsOfAttribute(*path.type));
    for (const auto& site : plan.sites) {
      if (!site) continue;
      const auto kind = site->promised();
      report.guards.push_back(
          site->value() + ": " + (kind ? kind->toString() : "watched") +
          (site->numFailures() ? ", failed " + std::to_string(site->numFailures()) + " times" : ""));
    }
    report.notes = plan.notes;
    report.graph = plan.graph;
    report.num_nodes = plan.graph->numNodes();
    return report;
  }

  Function& function_;
  std::shared_ptr<const Code> reference_;
  mutable std::atomic<State> state_;
  mutable std::mutex mutex_;  // held while something is prepared or made
  mutable std::shared_ptr<const PreparedFunction> prepared_;
  mutable std::atomic<const PreparedFunction*> prepared_ptr_{nullptr};
  mutable std::atomic<std::shared_ptr<const Plans>> plans_;  // null until the first
  mutable std::atomic<uint64_t> clock_{0};                   // how many plans were made
  mutable std::atomic<uint64_t> last_{0};                    // which plan ran last
  mutable Admission admission_;
  mutable std::string failure_;  // written before the state is
  mutable std::array<std::atomic<uint64_t>, kNumWithoutPlan> without_plan_{};
};

const Executor& executorOf(Function& function) {
  return static_cast<const Executor&>(function.executable());
}

}  // namespace

std::shared_ptr<const Executable> compileFunction(Function& function) {
  if (const auto& policy = function.program().rules().policy) policy->check(*function.graph());
  return std::make_shared<Executor>(function);
}

std::string_view toString(WithoutPlan reason) {
  switch (reason) {
    case WithoutPlan::FirstCall:
      return "the first call: plans are made from the second call on";
    case WithoutPlan::Interpreted:
      return "the execution mode of the process or of the thread";
    case WithoutPlan::Limited:
      return "limits of time or memory";
    case WithoutPlan::Profiled:
      return "a profiler";
    case WithoutPlan::Transformed:
      return "a trace, a dispatch mode or functorch";
    case WithoutPlan::Hooked:
      return "hooks for saved tensors, or autograd's anomaly mode";
    case WithoutPlan::NotPlain:
      return "a tensor that is a subclass, sparse, quantized, nested, conjugated or undefined";
    case WithoutPlan::TooManyKinds:
      return "more kinds of arguments than there may be plans";
    case WithoutPlan::Failed:
      return "an error of the optimizer";
  }
  return "";
}

ExecutionReport explain(Function& function) {
  return executorOf(function).report();
}

std::shared_ptr<Graph> graphFor(Function& function, Stack arguments) {
  const auto plan = executorOf(function).planFor(arguments);
  return plan ? plan->graph : function.graph();
}

std::shared_ptr<Graph> lastExecutedOptimizedGraph(Function& function) {
  return executorOf(function).lastGraph();
}

std::shared_ptr<Graph> lastExecutedOptimizedGraph() {
  return last_graph.lock();
}

}  // namespace cresset
