#include "cresset/static_runtime/static_program.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cresset/executor/gradient_search.h"
#include "cresset/executor/mode.h"
#include "cresset/executor/report.h"
#include "cresset/interpreter/code.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/interpreter/profile.h"
#include "cresset/ops/limits.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Plans per module: as those of a function, but that there is no unoptimized first call.
PlanOptions planOptions(const StaticModuleOptions& options) {
  return {
      .guards = false,
      .gradients = false,
      .kernels = options.enable_fusion,
      .planned_memory = options.enable_out_variant,
      .managed_outputs = options.manage_output_tensors};
}

void refuseGradients(const c10::FunctionSchema& schema, const Stack& stack, size_t first) {
  if (!c10::GradMode::is_enabled()) return;
  GradientSearch search;
  const size_t num_arguments = schema.arguments().size();
  for (size_t i = first; i < num_arguments; ++i) {
    if (!search.find(stack[stack.size() - num_arguments + i])) continue;
    throw UserError(
        "Static modules are for inference: nothing of a call is recorded for gradients, but the argument '" +
        schema.arguments()[i].name() +
        "' requires one. Pass `.detach()` of it, call inside of torch.no_grad(), or call the module itself.");
  }
}

/// Those in attributes are seen by the operators that take them.
bool carryTangents(const Stack& stack, size_t num_arguments) {
  GradientSearch search(carriesTangent);
  return std::any_of(
      stack.end() - static_cast<std::ptrdiff_t>(num_arguments), stack.end(),
      [&](const IValue& argument) { return !argument.isObject() && search.find(argument); });
}

}  // namespace

/// The calling thread's for one call. Instances wait in slots of one word each, so that taking and giving back are
/// single atomic exchanges: no lock, and no node that another thread could free meanwhile.
class StaticProgram::Lease {
 public:
  explicit Lease(const StaticProgram& program) : program_(program) {
    for (auto& slot : program_.idle_) {
      if (!slot.load(std::memory_order_relaxed)) continue;
      runtime_.reset(slot.exchange(nullptr, std::memory_order_acquire));
      if (runtime_) return;
    }
    runtime_ = std::make_unique<StaticRuntime>(nullptr);
  }
  ~Lease() {
    for (auto& slot : program_.idle_) {
      StaticRuntime* none = nullptr;
      if (slot.load(std::memory_order_relaxed)) continue;
      if (!slot.compare_exchange_strong(none, runtime_.get(), std::memory_order_release, std::memory_order_relaxed))
        continue;
      static_cast<void>(runtime_.release());
      return;
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  StaticRuntime& operator*() { return *runtime_; }

 private:
  const StaticProgram& program_;
  std::unique_ptr<StaticRuntime> runtime_;
};

StaticProgram::StaticProgram(
    std::shared_ptr<Program> program, Function& function, IValue self, const StaticModuleOptions& options)
    : owner_(std::move(program)),
      function_(function),
      self_(std::move(self)),
      options_(options),
      reference_(emitCode(*function.graph(), function.name(), owner_)),
      plans_(
          function, [&function, options] { return prepareFunction(function, planOptions(options)); },
          size_t(options::plans_per_function()), planOptions(options)) {}

StaticProgram::~StaticProgram() {
  for (auto& slot : idle_) delete slot.load(std::memory_order_acquire);
}

void StaticProgram::run(Stack& stack) const {
  Lease lease(*this);
  run(stack, *lease);
}

void StaticProgram::run(Stack& stack, StaticRuntime& runtime) const {
  const StaticRuntime::Use use(runtime);
  refuseGradients(function_.getSchema(), stack, self_.isNone() ? 0 : 1);
  const c10::AutoGradMode no_gradients(false);
  const PlanPtr plan = planFor(stack);
  if (!plan) return runCode(*reference_, stack);
  if (!plan->memory) return runCode(*plan->code, stack, /*is_profiled=*/false);
  PlanMemory& memory = runtime.memoryOf(*plan, options_);
  const size_t num_inputs = plan->code->num_inputs;
  const PlanMemoryScope scope(memory, {stack.data() + (stack.size() - num_inputs), num_inputs});
  runCodeInMemory(*plan->code, stack, memory);
}

c10::intrusive_ptr<c10::ivalue::Future> StaticProgram::runAsync(Stack stack, TaskLauncher launcher) const {
  /// Until the run has ended.
  struct Kept {
    explicit Kept(std::shared_ptr<const StaticProgram> of) : program(std::move(of)), lease(*program) {}
    std::shared_ptr<const StaticProgram> program;
    Lease lease;
    PlanPtr plan;
    std::optional<PlanMemoryScope> memory;
  };
  refuseGradients(function_.getSchema(), stack, self_.isNone() ? 0 : 1);
  const c10::AutoGradMode no_gradients(false);
  auto kept = std::make_shared<Kept>(shared_from_this());
  kept->plan = planFor(stack);
  std::shared_ptr<const Code> code = kept->plan ? kept->plan->code : reference_;
  PlanMemory* memory = nullptr;
  if (kept->plan && kept->plan->memory) {
    memory = &(*kept->lease).memoryOf(*kept->plan, options_);
    kept->memory.emplace(*memory, std::span(stack.data() + (stack.size() - code->num_inputs), code->num_inputs));
  }
  const auto& returns = function_.getSchema().returns();
  return startHere(
      std::move(code), std::move(stack), returns.at(0).type(), memory, std::move(kept), std::move(launcher));
}

void StaticProgram::prepare(Stack& stack, StaticRuntime& runtime) const {
  const StaticRuntime::Use use(runtime);
  refuseGradients(function_.getSchema(), stack, self_.isNone() ? 0 : 1);
  const c10::AutoGradMode no_gradients(false);
  WithoutPlan why;
  const PlanPtr plan = plans_.planFor(stack, why);
  if (!plan)
    throw UserError(
        "The static module '" + function_.name() + "' has no plan for such arguments: " + std::string(toString(why)));
  if (!plan->memory) return;
  const size_t num_inputs = plan->code->num_inputs;
  const PlanMemoryScope scope(
      runtime.memoryOf(*plan, options_), {stack.data() + (stack.size() - num_inputs), num_inputs});
}

/// Null if the unoptimized program is to run.
PlanPtr StaticProgram::planFor(Stack& stack) const {
  if (executionMode() != ExecutionMode::Optimize || !getGraphExecutorOptimize() || reference_->limits.any() ||
      threadLimits().any() || RunBudget::current() || ScriptProfile::isWanted())
    return nullptr;
  WithoutPlan why = WithoutPlan::Tangents;
  const bool has_tangents = carryTangents(stack, function_.getSchema().arguments().size());
  PlanPtr plan = has_tangents ? nullptr : plans_.planFor(stack, why);
  if (options_.strict) {
    if (!plan) refuse(why);
    requireFirstKinds(*plan);
  }
  return plan;
}

void StaticProgram::refuse(WithoutPlan why) const {
  throw UserError(
      "The static module '" + function_.name() + "' is strict, and a call has no plan: " + std::string(toString(why)) +
      ". Make it without strict to have such calls run unoptimized.");
}

void StaticProgram::requireFirstKinds(const Plan& plan) const {
  uint64_t first = 0;
  if (first_plan_.compare_exchange_strong(first, plan.id) || first == plan.id) return;
  const PreparedFunction& prepared = *plans_.prepared();
  const auto inputs = [&](const Plan& of) {
    const auto report = describePlan(prepared, of);
    std::vector<std::string> lines = report.inputs;
    lines.insert(lines.end(), report.attributes.begin(), report.attributes.end());
    lines.push_back(report.ambient);
    return lines;
  };
  const std::vector<std::string> found = inputs(plan);
  std::string differences;
  for (const PlanPtr& other : plans_.plans()) {
    if (other->id != first) continue;
    const std::vector<std::string> expected = inputs(*other);
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      if (found[i] != expected[i]) differences += "\n  expected " + expected[i] + "\n  got      " + found[i];
    }
  }
  throw UserError(
      "The static module '" + function_.name() +
      "' is strict, and a call's arguments are of other kinds than those of its first call:" + differences +
      "\nMake it without strict to have a plan for each kind.");
}

std::vector<IValue> StaticProgram::bind(std::vector<IValue> args, const Kwargs& kwargs) const {
  if (!self_.isNone()) args.insert(args.begin(), self_);
  checkAndNormalizeInputs(function_.getSchema(), args, kwargs);
  return args;
}

StaticRuntime& StaticProgram::ownRuntime() const {
  std::call_once(own_runtime_made_, [this] {
    // It must not keep alive what it belongs to.
    own_runtime_ = std::make_unique<StaticRuntime>(
        std::shared_ptr<StaticProgram>(std::shared_ptr<void>(), const_cast<StaticProgram*>(this)));
  });
  return *own_runtime_;
}

}  // namespace cresset
