#include "cresset/executor/mode.h"

#include <atomic>
#include <cstdlib>
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

bool plansAlways() {
  static const bool always = [] {
    const char* wanted = std::getenv("CRESSET_PLANS");
    return wanted && std::string_view(wanted) == "always";
  }();
  return always;
}

}  // namespace cresset
