#include "cresset/executor/plan_set.h"

#include <algorithm>

#include "cresset/executor/mode.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

WithoutPlan reasonOf(Unreadable why) {
  switch (why) {
    case Unreadable::Transformed:
      return WithoutPlan::Transformed;
    case Unreadable::Hooked:
      return WithoutPlan::Hooked;
    case Unreadable::NotPlain:
      break;
  }
  return WithoutPlan::NotPlain;
}

/// Errors of the optimizer are errors of the call where tests want to see them.
void throwIfWanted(const Function& function, const std::exception& error) {
  if (plansAlways() || loopsAlways() || options::optimizer_errors() == OptimizerErrors::Raise)
    throw InternalError("no plan for " + function.qualname().qualifiedName() + ": " + error.what());
}

}  // namespace

PlanPtr PlanSet::planFor(Stack& stack, WithoutPlan& why) const {
  const PreparedFunction* prepared = preparedFunction();
  why = WithoutPlan::Failed;
  if (!prepared || stack.size() < prepared->reader.arguments().size()) return nullptr;
  Signature signature;
  if (const auto unreadable = prepared->reader.read(stack, signature)) {
    why = reasonOf(*unreadable);
    return nullptr;
  }
  PlanPtr plan = find(signature);
  if (!plan || plan->revise->load(std::memory_order_acquire)) [[unlikely]] {
    plan = makePlanFor(signature);
  }
  if (plan && plan->code) [[likely]]
    return plan;
  if (!plan) why = WithoutPlan::TooManyKinds;
  stack.resize(stack.size() - prepared->reader.attributes().size());
  return nullptr;
}

const PreparedFunction* PlanSet::preparedFunction() const {
  if (const PreparedFunction* ready = prepared()) return ready;
  const std::lock_guard lock(mutex_);
  if (prepared_ || !failure_.empty()) return prepared_.get();
  try {
    prepared_ = prepare_();
  } catch (const std::exception& error) {
    throwIfWanted(function_, error);
    failure_ = *error.what() ? error.what() : "an error without a message";
    return nullptr;
  }
  prepared_ptr_.store(prepared_.get(), std::memory_order_release);
  return prepared_.get();
}

PlanPtr PlanSet::find(const Signature& signature) const {
  auto plans = plans_.load(std::memory_order_acquire);
  if (!plans) return nullptr;
  for (const auto& entry : *plans) {
    if (entry->plan.signature != signature) continue;
    const uint64_t now = clock_.load(std::memory_order_relaxed);
    if (entry->used.load(std::memory_order_relaxed) != now) entry->used.store(now, std::memory_order_relaxed);
    const Plan* plan = &entry->plan;
    return {std::move(plans), plan};
  }
  return nullptr;
}

/// A plan for a new signature, or the next version of one that asks to be revised; null if there are enough.
PlanPtr PlanSet::makePlanFor(const Signature& signature) const {
  std::unique_lock lock(mutex_, std::defer_lock);
  const auto now_known = plans_.load(std::memory_order_acquire);
  if (!now_known || now_known->size() < max_plans_ || find(signature)) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return nullptr;  // a call of a further kind does not wait while a plan is made
  }
  PlanPtr earlier = find(signature);
  if (earlier && !earlier->revise->load(std::memory_order_acquire)) return earlier;  // another thread was faster
  const auto known = plans_.load(std::memory_order_relaxed);
  const bool full = !earlier && known && known->size() >= max_plans_;
  if (full && !admission_.admits()) return nullptr;
  const uint64_t now = clock_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto entry = std::make_shared<const Entry>(std::move(*planOrError(signature, earlier.get())), now);
  auto plans = std::make_shared<Plans>(known ? *known : Plans());
  if (full) plans->erase(longestUnused(*plans));
  std::erase_if(*plans, [&](const auto& other) { return other->plan.signature == signature; });
  const Plan* plan = &plans->emplace(plans->begin(), std::move(entry))->get()->plan;
  plans_.store(plans, std::memory_order_release);
  return {std::move(plans), plan};
}

std::unique_ptr<Plan> PlanSet::planOrError(const Signature& signature, const Plan* earlier) const {
  try {
    return makePlan(function_, *prepared_, signature, earlier, options_);
  } catch (const std::exception& error) {
    throwIfWanted(function_, error);
    auto failed = std::make_unique<Plan>();
    failed->signature = signature;
    failed->revise = std::make_shared<std::atomic<bool>>(false);
    failed->notes = {error.what()};
    return failed;
  }
}

/// Of those that ran last before the same plan was made, the oldest.
PlanSet::Plans::const_iterator PlanSet::longestUnused(const Plans& plans) {
  auto found = plans.end() - 1;
  for (auto it = plans.end(); it-- != plans.begin();) {
    if ((*it)->used.load(std::memory_order_relaxed) < (*found)->used.load(std::memory_order_relaxed)) found = it;
  }
  return found;
}

std::vector<PlanPtr> PlanSet::plans() const {
  std::vector<PlanPtr> all;
  if (const auto plans = plans_.load(std::memory_order_acquire)) {
    for (const auto& entry : *plans) all.emplace_back(plans, &entry->plan);
  }
  return all;
}

void PlanSet::forget() const {
  const std::lock_guard lock(mutex_);
  plans_.store(nullptr, std::memory_order_release);
}

std::string PlanSet::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace cresset
