// How functions run: which of the engines' tiers a call may use. Results don't depend on it, to the last bit.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "cresset/support/options.h"

namespace cresset {

/// The option `execution_mode`. May be called from any thread; calls that run already are not affected.
void setExecutionMode(ExecutionMode mode);
inline ExecutionMode executionMode() {
  return options::execution_mode();
}

/// Whether calls of the calling thread may use plans while the process's mode allows it; true at first. torch::jit's
/// name for the same thing.
void setGraphExecutorOptimize(bool optimize);
bool getGraphExecutorOptimize();

/// The same while it lives.
class GraphOptimizerEnabledGuard {
 public:
  explicit GraphOptimizerEnabledGuard(bool optimize) : before_(getGraphExecutorOptimize()) {
    setGraphExecutorOptimize(optimize);
  }
  ~GraphOptimizerEnabledGuard() { setGraphExecutorOptimize(before_); }
  GraphOptimizerEnabledGuard(const GraphOptimizerEnabledGuard&) = delete;
  GraphOptimizerEnabledGuard& operator=(const GraphOptimizerEnabledGuard&) = delete;

 private:
  bool before_;
};

/// torch::jit's switches of its profiling runs and of how often it compiles anew for new sizes. They keep what they are
/// given and change nothing: plans need no profiling runs and hold for all sizes.
enum class FusionBehavior { STATIC, DYNAMIC };
using FusionStrategy = std::vector<std::pair<FusionBehavior, size_t>>;
FusionStrategy getFusionStrategy();
/// Returns the one before.
FusionStrategy setFusionStrategy(FusionStrategy& strategy);
std::atomic<bool>& getProfilingMode();
std::atomic<bool>& getExecutorMode();

/// The option `plans`, for tests of the optimizer: plans are made for every function, the smallest too, from its first
/// call on, and what goes wrong with that is an error of the call.
inline bool plansAlways() {
  return options::plans() == PlanMode::Always;
}
/// For functions that have not been called yet.
void setPlansAlways(bool wanted);
/// For tests of loops that become hot: every call runs unoptimized up to the first back-edge of a loop, and continues
/// in a plan from there.
inline bool loopsAlways() {
  return options::plans() == PlanMode::Loops;
}

}  // namespace cresset
