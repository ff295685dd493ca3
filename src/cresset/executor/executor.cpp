#include "cresset/executor/executor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "cresset/autodiff/inline_gradients.h"
#include "cresset/codegen/group.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/executor/gradient_search.h"
#include "cresset/executor/loop_plans.h"
#include "cresset/executor/mode.h"
#include "cresset/executor/plan_set.h"
#include "cresset/executor/report.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/profile.h"
#include "cresset/passes/channels_last.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Fewer nodes than this leave nothing to gain: choosing a plan would cost more than it saves.
constexpr size_t kMinNodes = 4;

thread_local uint64_t last_plan = 0;
thread_local std::weak_ptr<Graph> last_graph;

/// A kernel takes a fraction of the time that an operator takes for small tensors.
bool mayBeInKernel(const Node& node) {
  const Operator* op = options::kernels() == KernelMode::Off ? nullptr : codegen::computedOperator(node);
  return op && (codegen::ScalarBody::of(*op) || codegen::IndexRule::of(*op));
}

bool isTooSmall(const Graph& graph) {
  size_t count = 0;
  for (const Node* node : graph.nodes()) {
    if (node->kind() == prim::Constant) continue;
    if (mayBeInKernel(*node)) return false;
    if (!node->blocks().empty() || node->kind() == prim::CallFunction || node->kind() == prim::CallMethod) return false;
    ++count;
  }
  return count < kMinNodes;
}

class Executor final : public Executable {
 public:
  explicit Executor(Function& function)
      : function_(function),
        loops_(function),
        reference_(
            emitCode(*function.graph(), function.name(), function.program().weak_from_this(), {.hot_loops = &loops_})),
        plans_(
            function, [&function] { return prepareFunction(function); }, size_t(options::plans_per_function())),
        state_(
            plansAlways()                                                          ? State::Used
            : isTooSmall(*function.graph()) && !allowsAnyLayout(*function.graph()) ? State::TooSmall
                                                                                   : State::Fresh) {}

  const Code* code() const override { return reference_.get(); }

  void run(Stack& stack) const override {
    const State state = state_.load(std::memory_order_acquire);
    const bool is_first = state == State::Fresh;
    if (is_first) state_.store(State::Used, std::memory_order_release);
    if ((is_first || loopsAlways()) && !needsPlanAtOnce(stack)) {
      count(WithoutPlan::FirstCall);
    } else if (state != State::TooSmall) {
      if (const PlanPtr plan = planFor(stack)) {
        if (last_.load(std::memory_order_relaxed) != plan->id) last_.store(plan->id, std::memory_order_relaxed);
        if (last_plan != plan->id) {
          last_plan = plan->id;
          last_graph = plan->graph;
        }
        return runCode(*plan->code, stack, /*is_profiled=*/false);  // what is has no plan
      }
    }
    runCode(*reference_, stack);
  }

  /// The plan for the arguments at the end of the stack; reads the plan's attributes onto it. Null, and the stack is as
  /// it was, if the unoptimized program is to run.
  PlanPtr planFor(Stack& stack) const {
    if (executionMode() != ExecutionMode::Optimize || !getGraphExecutorOptimize()) {
      count(WithoutPlan::Interpreted);
    } else if (reference_->limits.any() || threadLimits().any()) {
      count(WithoutPlan::Limited);
    } else if (ScriptProfile::isWanted()) {
      count(WithoutPlan::Profiled);
    } else {
      WithoutPlan why;
      PlanPtr plan = plans_.planFor(stack, why);
      if (!plan) count(why);
      return plan;
    }
    return nullptr;
  }

  ExecutionReport report() const {
    ExecutionReport report;
    report.function = function_.qualname().qualifiedName();
    for (size_t i = 0; i < kNumWithoutPlan; ++i)
      report.without_plan[i] = without_plan_[i].load(std::memory_order_relaxed);
    report.entered_from_loops = loops_.numEntered();
    switch (state_.load(std::memory_order_acquire)) {
      case State::TooSmall:
        report.state = "too small to gain from a plan";
        return report;
      case State::Fresh:
        report.state = "not called yet";
        return report;
      case State::Used:
        break;
    }
    if (const std::string failure = plans_.failure(); !failure.empty()) {
      report.state = "plans are off: " + failure;
      return report;
    }
    addPlans(report, plans_, "");
    for (const auto& [loop, plans] : loops_.loops()) {
      const SourceRange& range = loop->sourceRange();
      addPlans(report, *plans, "from the loop at " + range.position() + " on");
      if (std::string failure = plans->failure(); !failure.empty()) report.errors.push_back(std::move(failure));
    }
    const PreparedFunction* prepared = plans_.prepared();
    if (!prepared && report.plans.empty() &&
        std::accumulate(report.without_plan.begin(), report.without_plan.end(), uint64_t(0)) <= 1)
      report.state = "called once; plans are made from the second call on";
    if (prepared) report.num_nodes = prepared->num_nodes;
    const size_t count = plans_.plans().size();
    if (count >= plans_.maxPlans()) {
      report.state = "there are " + std::to_string(count) +
                     " plans; calls of other kinds run the unoptimized program, and one in " +
                     std::to_string(Admission::kOneIn) + " of them has a plan in place of the one longest unused";
    }
    return report;
  }

  void forgetPlans() const {
    plans_.forget();
    for (const auto& [loop, plans] : loops_.loops()) plans->forget();
  }

  std::shared_ptr<Graph> lastGraph() const {
    const uint64_t id = last_.load(std::memory_order_relaxed);
    for (const PlanPtr& plan : plans_.plans()) {
      if (plan->id == id) return plan->graph;
    }
    return nullptr;
  }

 private:
  enum class State { TooSmall, Fresh, Used };

  void count(WithoutPlan reason) const { without_plan_[size_t(reason)].fetch_add(1, std::memory_order_relaxed); }

  /// Derivatives of higher order add in another order than autograd alone would, so they come from plans from the first
  /// call on: calls must not differ in their bits. They need an argument that requires a gradient, be it a parameter of
  /// a module, or a program that asks for gradients itself. So do the results of programs that were optimized for
  /// inference.
  bool needsPlanAtOnce(const Stack& stack) const {
    if (stack.size() < reference_->num_inputs) return false;
    if (allowsAnyLayout(*function_.graph())) return true;
    if (!c10::GradMode::is_enabled()) return false;
    GradientSearch search;
    const bool takes_leaf = std::any_of(
        stack.end() - static_cast<std::ptrdiff_t>(reference_->num_inputs), stack.end(),
        [&](const c10::IValue& value) { return search.find(value); });
    return takes_leaf || differentiates(*function_.graph());
  }

  static void addPlans(ExecutionReport& report, const PlanSet& set, const std::string& where) {
    const PreparedFunction* prepared = set.prepared();
    if (!prepared) return;
    const std::vector<PlanPtr> plans = set.plans();
    for (size_t i = plans.size(); i-- > 0;) {
      if (plans[i]->code) {
        report.plans.push_back(describePlan(*prepared, *plans[i]));
        report.plans.back().where = where;
      } else {
        report.errors.insert(report.errors.end(), plans[i]->notes.begin(), plans[i]->notes.end());
      }
    }
  }

  Function& function_;
  LoopPlans loops_;
  std::shared_ptr<const Code> reference_;
  PlanSet plans_;
  mutable std::atomic<State> state_;
  mutable std::atomic<uint64_t> last_{0};  // which plan ran last
  mutable std::array<std::atomic<uint64_t>, kNumWithoutPlan> without_plan_{};
};

const Executor& executorOf(Function& function) {
  return static_cast<const Executor&>(function.executable());
}

}  // namespace

std::shared_ptr<const Executable> compileFunction(Function& function) {
  checkPolicies(*function.graph());
  return std::make_shared<Executor>(function);
}

ExecutionReport explain(Function& function) {
  return executorOf(function).report();
}

void forgetPlans(Function& function) {
  executorOf(function).forgetPlans();
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
