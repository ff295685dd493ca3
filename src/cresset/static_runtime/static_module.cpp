#include "cresset/static_runtime/static_module.h"

#include <algorithm>

#include "cresset/executor/plan.h"
#include "cresset/module/freeze.h"
#include "cresset/static_runtime/static_program.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

/// A function of the graph in a program of its own, which keeps those that it uses.
std::shared_ptr<StaticProgram> programOf(
    const c10::QualifiedName& name, const std::shared_ptr<Graph>& graph, const c10::FunctionSchema* schema, IValue self,
    const StaticModuleOptions& options) {
  CompilationUnit unit;
  Function* function = unit.create_function(name, graph);
  if (schema) function->setSchema(*schema);
  function->ensure_defined();
  checkPolicies(*function->graph());
  return std::make_shared<StaticProgram>(unit.program(), *function, std::move(self), options);
}

std::shared_ptr<StaticProgram> programOf(Function& function, IValue self, const StaticModuleOptions& options) {
  return programOf(function.qualname(), function.graph(), &function.getSchema(), std::move(self), options);
}

/// The frozen form of a module, which does not change.
Module frozen(const Module& module) {
  if (!module.hasattr("training")) return module;
  if (!module.is_training()) return freeze(module, std::nullopt, /*optimize_numerics=*/false);
  const Module copy = module.clone(/*inplace=*/true);  // of its objects, for their attributes `training`
  copy.eval();
  return freeze(copy, std::nullopt, /*optimize_numerics=*/false);
}

}  // namespace

StaticModule::StaticModule(const Module& module, const StaticModuleOptions& options) {
  const Module source = frozen(module);
  program_ = programOf(source.get_method("forward").function(), IValue(source._ivalue()), options);
}

StaticModule::StaticModule(Function& function, const StaticModuleOptions& options)
    : program_(programOf(function, IValue(), options)) {}

StaticModule::StaticModule(const std::shared_ptr<Graph>& graph, const StaticModuleOptions& options)
    : program_(programOf(c10::QualifiedName("static"), graph, nullptr, IValue(), options)) {}

IValue StaticModule::operator()(std::vector<IValue> args, const Kwargs& kwargs) const {
  Stack stack = program_->bind(std::move(args), kwargs);
  program_->run(stack);
  return std::move(stack.back());
}

c10::intrusive_ptr<c10::ivalue::Future> StaticModule::runAsync(
    std::vector<IValue> args, const Kwargs& kwargs, TaskLauncher launcher) const {
  return program_->runAsync(program_->bind(std::move(args), kwargs), std::move(launcher));
}

const StaticModuleOptions& StaticModule::options() const {
  return program_->options();
}

const c10::FunctionSchema& StaticModule::schema() const {
  return program_->function().getSchema();
}

StaticRuntime& StaticModule::runtime() const {
  return program_->ownRuntime();
}

StaticReport StaticModule::report() const {
  return program_->report(nullptr);
}

namespace {

constexpr const char* kOptionsFile = "static_module.json";

/// The frozen module, or a module of the function.
Module sourceOf(const StaticProgram& program) {
  return program.self().isNone() ? moduleOfFunction(program.function()) : Module(program.self().toObject());
}

template <class Input>
StaticModule loadFrom(Input& input, LoadOptions& load, const std::optional<StaticModuleOptions>& options) {
  ExtraFilesMap own;
  if (!load.extra_files) load.extra_files = &own;
  const bool is_asked_for = load.extra_files->contains(kOptionsFile);
  load.extra_files->try_emplace(kOptionsFile);
  const Module module = cresset::load(input, load);
  const std::string saved = load.extra_files->at(kOptionsFile);
  if (!is_asked_for) load.extra_files->erase(kOptionsFile);
  return StaticModule(
      module, options || saved.empty() ? options.value_or(StaticModuleOptions()) : staticModuleOptions(saved));
}

}  // namespace

void StaticModule::save(const std::string& path, ExtraFilesMap extra_files) const {
  extra_files[kOptionsFile] = toJson(options());
  sourceOf(*program_).save(path, extra_files);
}

void StaticModule::save(std::ostream& out, ExtraFilesMap extra_files) const {
  extra_files[kOptionsFile] = toJson(options());
  sourceOf(*program_).save(out, extra_files);
}

StaticModule loadStaticModule(
    const std::string& path, LoadOptions load, const std::optional<StaticModuleOptions>& options) {
  return loadFrom(path, load, options);
}

StaticModule loadStaticModule(std::istream& in, LoadOptions load, const std::optional<StaticModuleOptions>& options) {
  return loadFrom(in, load, options);
}

StaticModule PrepareForStaticRuntime(const Module& module, const StaticModuleOptions& options) {
  return StaticModule(module, options);
}

StaticModule PrepareForStaticRuntime(const std::shared_ptr<Graph>& graph, const StaticModuleOptions& options) {
  return StaticModule(graph, options);
}

StaticRuntime::StaticRuntime(const StaticModule& module) : StaticRuntime(module.program()) {}
StaticRuntime::StaticRuntime(std::shared_ptr<StaticProgram> program) : program_(std::move(program)) {}
StaticRuntime::StaticRuntime(const Module& module, const StaticModuleOptions& options)
    : StaticRuntime(StaticModule(module, options)) {}
StaticRuntime::~StaticRuntime() = default;

StaticRuntime::Use::Use(const StaticRuntime& runtime) : runtime_(runtime) {
  if (runtime.is_used_.exchange(true, std::memory_order_acquire))
    throw UserError(
        "An instance of a static module runs one call at a time, and is in one. Call the static module itself, which "
        "takes an instance for each call, or make an instance for each thread.");
}

PlanMemory& StaticRuntime::memoryOf(const Plan& plan, const StaticModuleOptions& options) {
  if (!memories_.empty() && memories_.front().first == plan.id) return *memories_.front().second;
  auto found = std::find_if(memories_.begin(), memories_.end(), [&](const auto& one) { return one.first == plan.id; });
  if (found == memories_.end()) {
    // Plans that make room for others leave their memory behind; that which has not been used for longest goes.
    if (memories_.size() >= static_cast<size_t>(options::plans_per_function())) memories_.pop_back();
    const MemoryOptions of_memory = {
        .policy = options.memory_policy,
        .share = options.optimize_memory,
        .keep = !options.cleanup_activations,
        .fill_freed = options.fill_freed_memory};
    memories_.emplace_back(plan.id, std::make_unique<PlanMemory>(plan.memory, of_memory));
    found = memories_.end() - 1;
  }
  std::rotate(memories_.begin(), found, found + 1);
  return *memories_.front().second;
}

const PlanMemory* StaticRuntime::findMemory(uint64_t plan) const {
  for (const auto& [id, memory] : memories_) {
    if (id == plan) return memory.get();
  }
  return nullptr;
}

std::unique_ptr<StaticRuntime> StaticRuntime::clone() const {
  return std::make_unique<StaticRuntime>(program_->shared_from_this());  // that of a module does not keep it alive
}

void requireRuns(int warmup_runs, int main_runs) {
  if (warmup_runs < 0 || main_runs < 1)
    throw UserError("A benchmark wants 0 or more warm-up runs, and 1 or more others");
}

double StaticRuntime::benchmark(
    const std::vector<std::vector<IValue>>& args, const std::vector<Kwargs>& kwargs, int warmup_runs, int main_runs) {
  if (args.empty() || (!kwargs.empty() && kwargs.size() != args.size()))
    throw UserError("A benchmark wants at least one list of arguments, and as many of keyword arguments, or none");
  requireRuns(warmup_runs, main_runs);
  const auto measure = [&](int runs) {
    return meanMilliseconds(
        runs, args.size(), [&](size_t k) { (*this)(args[k], kwargs.empty() ? Kwargs() : kwargs[k]); });
  };
  measure(warmup_runs);
  return measure(main_runs);
}

IndividualOps StaticRuntime::benchmark_individual_ops(
    const std::vector<std::vector<IValue>>& args, const std::vector<Kwargs>& kwargs, int warmup_runs, int main_runs) {
  if (!kwargs.empty() && kwargs.size() != args.size())
    throw UserError("A benchmark wants as many keyword arguments as lists of arguments, or none");
  std::vector<Stack> bound;
  bound.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i)
    bound.push_back(program_->bind(args[i], kwargs.empty() ? Kwargs() : kwargs[i]));
  return program_->benchmarkOps(*this, bound, warmup_runs, main_runs);
}

void StaticRuntime::deallocateOutputTensors() {
  const Use use(*this);
  for (auto& [id, memory] : memories_) memory->releaseOutputs();
}

void StaticRuntime::deallocateMemory() {
  const Use use(*this);
  for (auto& [id, memory] : memories_) memory->releaseArena();
}

void StaticRuntime::check_for_memory_leak() const {
  const Use use(*this);
  for (const auto& [id, memory] : memories_) {
    if (memory->isHeldOutside())
      throw InternalError("an intermediate result of a static module is held after the run that computed it");
  }
}

StaticReport StaticRuntime::report() const {
  const Use use(*this);
  return program_->report(this);
}

MemoryFigures StaticRuntime::memory() const {
  const Use use(*this);
  return memories_.empty() ? MemoryFigures() : memories_.front().second->figures();
}

void StaticRuntime::prepare(std::vector<IValue> args, const Kwargs& kwargs) {
  Stack stack = program_->bind(std::move(args), kwargs);
  program_->prepare(stack, *this);
}

IValue StaticRuntime::operator()(std::vector<IValue> args, const Kwargs& kwargs) {
  Stack stack = program_->bind(std::move(args), kwargs);
  program_->run(stack, *this);
  return std::move(stack.back());
}

}  // namespace cresset
