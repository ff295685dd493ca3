// Limits: see limits.h.
#include "cresset/ops/limits.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "cresset/ops/operator.h"
#include "cresset/ops/tensor_memory.h"

namespace cresset {

namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string bytesAsText(size_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  std::string text = std::to_string(value);
  text.resize(unit == 0 ? text.find('.') : text.find('.') + 2);
  return text + " " + kUnits[unit];
}

template <typename T>
std::optional<T> lesser(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

RunBudget::RunBudget(const Limits& limits, std::shared_ptr<RunBudget> outer)
    : deadline_(std::numeric_limits<int64_t>::max()),
      memory_limit_(std::min(limits.memory.value_or(kUnlimited), kUnlimited)),
      outer_(std::move(outer)) {
  if (limits.memory) countTensorMemory();
  if (limits.seconds) {
    seconds_ = *limits.seconds;
    // More than 30 years are no limit, and would not fit.
    if (seconds_ < 1e9) deadline_ = now() + static_cast<int64_t>(std::max(0.0, seconds_) * 1e9);
  }
}

namespace {
// Without a destructor: memory is allocated and freed until a thread has really ended.
constinit thread_local RunBudget* current_budget = nullptr;
}  // namespace

RunBudget* RunBudget::current() {
  return current_budget;
}

BudgetScope::BudgetScope(std::shared_ptr<RunBudget> budget)
    : budget_(std::move(budget)), previous_(std::exchange(current_budget, budget_.get())) {}

BudgetScope::~BudgetScope() {
  current_budget = previous_;
}

void RunBudget::checkTime() const {
  constexpr int64_t kDropping = 2000;  // ns; measured: 1000 to 1500
  for (const RunBudget* budget = this; budget; budget = budget->outer_.get()) {
    if (budget->deadline_ == std::numeric_limits<int64_t>::max()) continue;
    if (now() + kDropping * budget->forks_.load(std::memory_order_relaxed) < budget->deadline_) continue;
    std::string seconds = std::to_string(budget->seconds_);
    seconds.erase(std::max(seconds.find_last_not_of('0') + 1, seconds.find('.') + 2));
    throw ScriptRaise(kLimitErrorClass, "the script has run longer than its limit of " + seconds + " seconds");
  }
}

bool RunBudget::isOver(bool by_a_sixteenth) const {
  for (const RunBudget* budget = this; budget; budget = budget->outer_.get()) {
    if (budget->memory_limit_ == kUnlimited) continue;
    const int64_t used =
        budget->tensors_.load(std::memory_order_relaxed) + budget->containers_.load(std::memory_order_relaxed);
    const size_t limit = budget->memory_limit_ + (by_a_sixteenth ? budget->memory_limit_ / 16 : 0);
    if (used > static_cast<int64_t>(limit)) return true;
  }
  return false;
}

void RunBudget::require(size_t bytes) const {
  for (const RunBudget* budget = this; budget; budget = budget->outer_.get()) {
    if (budget->memory_limit_ == kUnlimited) continue;
    const int64_t used = budget->tensors_.load(std::memory_order_relaxed);
    // Containers that are garbage by now may be counted still, so only what can't fit in any case is refused here.
    if (bytes > budget->memory_limit_ ||
        used + static_cast<int64_t>(bytes) > static_cast<int64_t>(budget->memory_limit_))
      throwOverMemory(bytes);
  }
}

bool RunBudget::addTensors(int64_t bytes) {
  bool fits = true;
  for (RunBudget* budget = this; budget; budget = budget->outer_.get()) {
    const int64_t used = budget->tensors_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (budget->memory_limit_ != kUnlimited && used > static_cast<int64_t>(budget->memory_limit_)) fits = false;
  }
  return fits;
}

void RunBudget::addContainers(int64_t bytes) {
  for (RunBudget* budget = this; budget; budget = budget->outer_.get())
    budget->containers_.fetch_add(bytes, std::memory_order_relaxed);
}

void RunBudget::addForks(int64_t count) {
  for (RunBudget* budget = this; budget; budget = budget->outer_.get())
    budget->forks_.fetch_add(count, std::memory_order_relaxed);
}

size_t RunBudget::memoryLimit() const {
  return outer_ ? std::min(memory_limit_, outer_->memoryLimit()) : memory_limit_;
}

void RunBudget::throwOverMemory(size_t wanted) const {
  std::string message = "the script needs more memory than its limit of " + bytesAsText(memoryLimit());
  if (wanted) message += ": it asked for " + bytesAsText(wanted) + " at once";
  throw ScriptRaise(kLimitErrorClass, std::move(message));
}

Limits& threadLimits() {
  static constinit thread_local Limits limits;
  return limits;
}

Limits tightest(const Limits& a, const Limits& b) {
  return {lesser(a.seconds, b.seconds), lesser(a.memory, b.memory)};
}

void CallLimits::enter(const Limits& of_program) {
  auto outer = RunBudget::currentShared();
  const Limits limits = outer ? of_program : tightest(of_program, threadLimits());
  if (limits.any()) scope_.emplace(std::make_shared<RunBudget>(limits, std::move(outer)));
}

LimitScope::LimitScope(const Limits& limits) : previous_(threadLimits()) {
  // Early, so that the arguments that the caller is about to make are counted too if the script resizes them.
  if (limits.memory) countTensorMemory();
  threadLimits() = tightest(previous_, limits);
}

LimitScope::~LimitScope() {
  threadLimits() = previous_;
}

}  // namespace cresset
