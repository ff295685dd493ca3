// The plans of one piece of program, by signature: of a function, or of the rest of one from a hot loop on.
//
// Plans are found without a mutex, and published whole; calls hold what they found, so that one which makes room for
// another goes when its last call returns. An error of the optimizer is remembered as a plan without code: calls of
// that signature run the unoptimized program, others have plans.
//
// Thread-safety: all of it may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cresset/executor/plan.h"
#include "cresset/support/recent_map.h"

namespace cresset {

/// Why a call ran the unoptimized program.
enum class WithoutPlan : uint8_t {
  FirstCall,    // plans are made from the second call on
  Interpreted,  // the execution mode, or the thread, asks for it
  Limited,      // limits of time or memory
  Profiled,
  Transformed,  // Unreadable's
  Hooked,
  NotPlain,
  Tangents,      // of arguments; of plans that no gradients go through
  TooManyKinds,  // there are plans enough, for other kinds of arguments
  Failed,        // an error of the optimizer
};
inline constexpr size_t kNumWithoutPlan = size_t(WithoutPlan::Failed) + 1;

using PlanPtr = std::shared_ptr<const Plan>;

class PlanSet {
 public:
  using Prepare = std::function<std::shared_ptr<const PreparedFunction>()>;
  /// `prepare` runs once, when a plan is first wanted. A script that takes more kinds of arguments than `max_plans`
  /// would spend its time on compiling.
  PlanSet(Function& function, Prepare prepare, size_t max_plans, const PlanOptions& options = {})
      : function_(function), prepare_(std::move(prepare)), max_plans_(max_plans), options_(options) {}

  /// The plan for the arguments at the end of the stack, made if needed; reads the plan's attributes onto the stack. Or
  /// null, the reason, and the stack as it was.
  PlanPtr planFor(Stack& stack, WithoutPlan& why) const;

  /// Plans are made anew when calls want them; calls that run keep theirs.
  void forget() const;

  /// Null before a plan was first wanted, and if there can be none.
  const PreparedFunction* prepared() const { return prepared_ptr_.load(std::memory_order_acquire); }
  /// Newest first; those without code, too.
  std::vector<PlanPtr> plans() const;
  /// What prepare threw, or empty.
  std::string failure() const;
  size_t maxPlans() const { return max_plans_; }

 private:
  struct Entry {
    Entry(Plan made, uint64_t now) : plan(std::move(made)), used(now) {}
    const Plan plan;
    mutable std::atomic<uint64_t> used;  // when it ran last, by clock_
  };
  /// One per signature, newest first. Replaced as a whole.
  using Plans = std::vector<std::shared_ptr<const Entry>>;

  const PreparedFunction* preparedFunction() const;
  PlanPtr find(const Signature& signature) const;
  PlanPtr makePlanFor(const Signature& signature) const;
  std::unique_ptr<Plan> planOrError(const Signature& signature, const Plan* earlier) const;
  static Plans::const_iterator longestUnused(const Plans& plans);

  Function& function_;
  const Prepare prepare_;
  const size_t max_plans_;
  const PlanOptions options_;
  mutable std::mutex mutex_;  // held while something is prepared or made
  mutable std::shared_ptr<const PreparedFunction> prepared_;
  mutable std::atomic<const PreparedFunction*> prepared_ptr_{nullptr};
  mutable std::atomic<std::shared_ptr<const Plans>> plans_;  // null until the first
  mutable std::atomic<uint64_t> clock_{0};                   // how many plans were made
  mutable Admission admission_;
  mutable std::string failure_;
};

}  // namespace cresset
