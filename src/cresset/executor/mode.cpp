#include "cresset/executor/mode.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace cresset {

namespace {
std::atomic<ExecutionMode> process_mode{ExecutionMode::Optimize};
thread_local bool thread_optimizes = true;
}  // namespace

void setExecutionMode(ExecutionMode mode) {
  process_mode.store(mode, std::memory_order_relaxed);
}

ExecutionMode executionMode() {
  return process_mode.load(std::memory_order_relaxed);
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

namespace {

bool isInEnvironment(std::string_view value) {
  const char* text = std::getenv("CRESSET_PLANS");
  return text && value == text;
}

std::atomic<bool>& always() {
  static std::atomic<bool> wanted = isInEnvironment("always");
  return wanted;
}

}  // namespace

bool plansAlways() {
  return always();
}

void setPlansAlways(bool wanted) {
  always() = wanted;
}

bool loopsAlways() {
  static const bool wanted = isInEnvironment("loops");
  return wanted;
}

}  // namespace cresset
