#include "cresset/executor/mode.h"

#include <atomic>
#include <mutex>

namespace cresset {

namespace {
thread_local bool thread_optimizes = true;
}  // namespace

void setExecutionMode(ExecutionMode mode) {
  setOption(Option::execution_mode, mode == ExecutionMode::Interpret ? "interpret" : "optimize");
}

void setGraphExecutorOptimize(bool optimize) {
  thread_optimizes = optimize;
}

bool getGraphExecutorOptimize() {
  return thread_optimizes;
}

namespace {

struct Strategy {
  std::mutex mutex;
  FusionStrategy value = {{FusionBehavior::STATIC, 2}, {FusionBehavior::DYNAMIC, 10}};

  static Strategy& get() {
    static auto* strategy = new Strategy;
    return *strategy;
  }
};

}  // namespace

FusionStrategy getFusionStrategy() {
  const std::lock_guard lock(Strategy::get().mutex);
  return Strategy::get().value;
}

FusionStrategy setFusionStrategy(FusionStrategy& strategy) {
  const std::lock_guard lock(Strategy::get().mutex);
  return std::exchange(Strategy::get().value, strategy);
}

std::atomic<bool>& getProfilingMode() {
  static std::atomic<bool> mode{true};
  return mode;
}

std::atomic<bool>& getExecutorMode() {
  static std::atomic<bool> mode{true};
  return mode;
}

void setPlansAlways(bool wanted) {
  setOption(Option::plans, wanted ? "always" : "useful");
}

}  // namespace cresset
