// What all instances of a static module share: the function, its plans, and the instances that no thread uses at the
// moment.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "cresset/executor/plan_set.h"
#include "cresset/static_runtime/static_module.h"

namespace cresset {

class OperationTimes;  // interpreter/operation_times.h

/// For as long as an instance is in use; throws UserError if it is already.
class StaticRuntime::Use {
 public:
  explicit Use(const StaticRuntime& runtime);
  ~Use() { runtime_.is_used_.store(false, std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  const StaticRuntime& runtime_;
};

class StaticProgram final : public Executable, public std::enable_shared_from_this<StaticProgram> {
 public:
  /// `function` belongs to `program`, and is called by nothing else. `self`: its first argument; None if it has none.
  StaticProgram(std::shared_ptr<Program> program, Function& function, IValue self, const StaticModuleOptions& options);
  ~StaticProgram() override;

  /// Pops the arguments, those that the schema has, and pushes the result.
  void run(Stack& stack) const override;
  void run(Stack& stack, StaticRuntime& runtime) const;
  /// StaticRuntime::prepare, with arguments that are bound.
  void prepare(Stack& stack, StaticRuntime& runtime) const;
  /// Takes the arguments; see StaticModule::runAsync.
  c10::intrusive_ptr<c10::ivalue::Future> runAsync(Stack stack, TaskLauncher launcher) const;

  Function& function() const { return function_; }
  const std::shared_ptr<Program>& owner() const { return owner_; }
  const IValue& self() const { return self_; }
  const StaticModuleOptions& options() const { return options_; }
  StaticRuntime& ownRuntime() const;
  /// With where results lie in the memory of `runtime`, unless it is null.
  StaticReport report(const StaticRuntime* runtime) const;
  /// As StaticRuntime::benchmark_individual_ops, with arguments that are bound.
  IndividualOps benchmarkOps(
      StaticRuntime& runtime, const std::vector<Stack>& args, int warmup_runs, int main_runs) const;
  /// Checks arguments; `self` is put before them.
  std::vector<IValue> bind(std::vector<IValue> args, const Kwargs& kwargs) const;

 private:
  /// So many instances wait for a thread; more are freed.
  static constexpr size_t kMaxIdle = 128;

  class Lease;
  /// Of `runs` runs, and of those in which allocations were counted, `counted_runs`.
  IndividualOps opsOf(
      const OperationTimes& times, double runs, const OperationTimes& counted, double counted_runs) const;
  PlanPtr planFor(Stack& stack) const;
  void requireFirstKinds(const Plan& plan) const;
  [[noreturn]] void refuse(WithoutPlan why) const;

  const std::shared_ptr<Program> owner_;
  Function& function_;
  const IValue self_;
  const StaticModuleOptions options_;
  const std::shared_ptr<const Code> reference_;
  const PlanSet plans_;
  mutable std::array<std::atomic<StaticRuntime*>, kMaxIdle> idle_{};
  mutable std::atomic<uint64_t> first_plan_{0};
  mutable std::once_flag own_runtime_made_;
  mutable std::unique_ptr<StaticRuntime> own_runtime_;
};

/// Of a benchmark; throws UserError for fewer than 0 and 1.
void requireRuns(int warmup_runs, int main_runs);
/// Of a call, where each run calls `call(0)` to `call(num_calls - 1)`.
template <class Call>
double meanMilliseconds(int runs, size_t num_calls, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    for (size_t k = 0; k < num_calls; ++k) call(k);
  }
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / (static_cast<double>(std::max(runs, 1)) * static_cast<double>(num_calls));
}

}  // namespace cresset
