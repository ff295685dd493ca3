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

namespace {

std::atomic<bool>& always() {
  static std::atomic<bool> wanted = [] {
    const char* text = std::getenv("CRESSET_PLANS");
    return text && std::string_view(text) == "always";
  }();
  return wanted;
}

}  // namespace

bool plansAlways() {
  return always();
}

void setPlansAlways(bool wanted) {
  always() = wanted;
}

}  // namespace cresset
