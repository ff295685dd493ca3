// Plans for the rest of a function from a hot loop on (interpreter/hot_loops.h).
//
// Thread-safety: all of it may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cresset/executor/plan_set.h"
#include "cresset/interpreter/hot_loops.h"

namespace cresset {

class LoopPlans final : public HotLoops {
 public:
  /// The function's graph is the one that its unoptimized code was emitted from.
  explicit LoopPlans(Function& function);

  const std::vector<uint32_t>* needed(const LoopEntry& entry) const override;
  std::shared_ptr<const Code> enter(const LoopEntry& entry, Stack& values) const override;

  /// How often a plan was entered.
  uint64_t numEntered() const { return entered_.load(std::memory_order_relaxed); }
  /// Of all loops.
  std::vector<std::pair<const Node*, const PlanSet*>> loops() const;

 private:
  /// Loops of a function that have plans.
  static constexpr size_t kMaxLoops = 8;

  struct Loop {
    std::vector<uint32_t> registers;
    std::unique_ptr<PlanSet> plans;  // null if the loop can't be entered
  };
  const Loop* loopOf(const LoopEntry& entry) const;
  std::unique_ptr<Loop> make(const LoopEntry& entry) const;

  Function& function_;
  mutable std::mutex mutex_;
  mutable std::map<const Node*, std::unique_ptr<Loop>> loops_;
  mutable std::atomic<uint64_t> entered_{0};
};

}  // namespace cresset
