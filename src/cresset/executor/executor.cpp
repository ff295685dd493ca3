#include "cresset/executor/executor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "cresset/autodiff/inline_gradients.h"
#include "cresset/executor/mode.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/profile.h"
#include "cresset/ops/policy.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Fewer nodes than this leave nothing to gain: choosing a plan would cost more than it saves.
constexpr size_t kMinNodes = 4;

thread_local const Plan* last_plan = nullptr;  // for comparing only
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

class Executor final : public Executable {
 public:
  explicit Executor(Function& function)
      : function_(function),
        reference_(emitCode(*function.graph(), function.name(), function.program().weak_from_this())),
        state_(
            plansAlways()                   ? State::Used
            : isTooSmall(*function.graph()) ? State::TooSmall
                                            : State::Fresh) {}

  ~Executor() override {
    const Entry* entry = first_.load(std::memory_order_relaxed);
    while (entry) delete std::exchange(entry, entry->next);
  }

  const Code* code() const override { return reference_.get(); }

  void run(Stack& stack) const override {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::Fresh && !needsPlanAtOnce(stack)) {
      State expected = State::Fresh;  // another thread may be further already
      state_.compare_exchange_strong(expected, State::Used, std::memory_order_acq_rel);
    } else if (state == State::Fresh || state == State::Used || state == State::Prepared) {
      if (const Plan* plan = planFor(stack)) {
        if (last_.load(std::memory_order_relaxed) != plan) last_.store(plan, std::memory_order_relaxed);
        if (last_plan != plan) {
          last_plan = plan;
          last_graph = plan->graph;
        }
        return runCode(*plan->code, stack);
      }
    }
    runCode(*reference_, stack);
  }

  /// The plan for the arguments at the end of the stack; reads the plan's attributes onto it. Null, and the stack is as
  /// it was, if the program is to run as it was written.
  const Plan* planFor(Stack& stack) const {
    if (executionMode() != ExecutionMode::Optimize || !getGraphExecutorOptimize()) return nullptr;
    if (reference_->limits.any() || threadLimits().any() || ScriptProfile::isWanted()) return nullptr;
    const PreparedFunction* prepared = preparedFunction();
    if (!prepared || stack.size() < reference_->num_inputs) return nullptr;
    Signature signature;
    if (!prepared->reader.read(stack, signature)) return nullptr;
    const Plan* known = find(signature);
    if (known && !known->revise->load(std::memory_order_acquire)) [[likely]]
      return known;
    const Plan* made = known || numSignatures() < kMaxPlans ? makePlanFor(signature) : nullptr;
    if (!made) stack.resize(stack.size() - prepared->reader.attributes().size());
    return made;
  }

  ExecutionReport report() const {
    ExecutionReport report;
    report.function = function_.qualname().qualifiedName();
    switch (state_.load(std::memory_order_acquire)) {
      case State::TooSmall:
        report.state = "too small to gain from a plan";
        break;
      case State::Fresh:
        report.state = "not called yet";
        break;
      case State::Used:
        report.state = "called once: plans are made from the second call on";
        break;
      case State::Failed:
        report.state = "plans are off: " + failure_;
        break;
      case State::Prepared:
        break;
    }
    const PreparedFunction* prepared = prepared_ptr_.load(std::memory_order_acquire);
    if (!prepared) return report;
    report.num_nodes = prepared->num_nodes;
    for (const Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next) {
      if (find(entry->plan->signature) == entry->plan.get())
        report.plans.insert(report.plans.begin(), describePlan(*prepared, *entry->plan));
    }
    const size_t count = numSignatures();
    if (count >= kMaxPlans)
      report.state = "there are " + std::to_string(count) + " plans; calls of other kinds run the program as written";
    return report;
  }

  const Plan* last() const { return last_.load(std::memory_order_relaxed); }

 private:
  enum class State { TooSmall, Fresh, Used, Prepared, Failed };
  struct Entry {
    std::unique_ptr<const Plan> plan;
    const Entry* next;
  };

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

  /// The newest plan for it.
  const Plan* find(const Signature& signature) const {
    for (const Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next) {
      if (entry->plan->signature == signature) return entry->plan.get();
    }
    return nullptr;
  }

  size_t numSignatures() const {
    size_t count = 0;
    for (const Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next)
      count += entry->plan->version == 0;
    return count;
  }

  /// A plan for a new signature, or the next version of one that asks to be revised.
  const Plan* makePlanFor(const Signature& signature) const {
    const std::lock_guard lock(mutex_);
    const Plan* earlier = find(signature);
    if (earlier && !earlier->revise->load(std::memory_order_acquire)) return earlier;  // another thread was faster
    if (!earlier && numSignatures() >= kMaxPlans) return nullptr;
    if (state_.load(std::memory_order_relaxed) == State::Failed) return nullptr;
    try {
      auto* entry =
          new Entry{makePlan(function_, *prepared_, signature, earlier), first_.load(std::memory_order_relaxed)};
      first_.store(entry, std::memory_order_release);
      return entry->plan.get();
    } catch (const std::exception& error) {
      fail(error);
      return nullptr;
    }
  }

  /// The program itself still runs, so a fault of the optimizer costs speed only. explain() tells; tests look for it.
  void fail(const std::exception& error) const {
    if (plansAlways()) throw InternalError("no plan for " + function_.qualname().qualifiedName() + ": " + error.what());
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
  mutable std::atomic<const Entry*> first_{nullptr};  // newest first
  mutable std::atomic<const Plan*> last_{nullptr};
  mutable std::string failure_;  // written before the state is
};

const Executor& executorOf(Function& function) {
  return static_cast<const Executor&>(function.executable());
}

}  // namespace

std::shared_ptr<const Executable> compileFunction(Function& function) {
  if (const auto& policy = function.program().rules().policy) policy->check(*function.graph());
  return std::make_shared<Executor>(function);
}

ExecutionReport explain(Function& function) {
  return executorOf(function).report();
}

std::shared_ptr<Graph> graphFor(Function& function, Stack arguments) {
  const Plan* plan = executorOf(function).planFor(arguments);
  return plan ? plan->graph : function.graph();
}

std::shared_ptr<Graph> lastExecutedOptimizedGraph(Function& function) {
  const Plan* plan = executorOf(function).last();
  return plan ? plan->graph : nullptr;
}

std::shared_ptr<Graph> lastExecutedOptimizedGraph() {
  return last_graph.lock();
}

}  // namespace cresset
