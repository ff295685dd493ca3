// How long single operations take: who wants to know makes an OperationTimes, and the runs that this thread starts
// while it lives measure each call of an operator, of a compiled subgraph and of an out variant. So they do what these
// ask PyTorch's CPU allocator for, if an AllocationCounter counts that.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cresset/interpreter/code.h"
#include "cresset/ops/tensor_memory.h"

namespace cresset {

/// Belongs to one thread. What forks compute on other threads is not measured.
class OperationTimes {
 public:
  struct Time {
    uint64_t calls = 0;
    std::chrono::nanoseconds total{};
    AllocationCount allocations;
  };
  OperationTimes();
  ~OperationTimes();
  OperationTimes(const OperationTimes&) = delete;
  OperationTimes& operator=(const OperationTimes&) = delete;
  /// The innermost of this thread; null if there is none.
  static OperationTimes* current();

  /// By code, which must live as long as this; by index of the instruction.
  const std::unordered_map<const Code*, std::vector<Time>>& times() const { return times_; }

  /// One call; nothing if `times` is null. What raises is not counted.
  class Operation {
   public:
    Operation(OperationTimes* times, const Code& code, const Instruction& instruction)
        : times_(times), code_(code), instruction_(instruction) {
      if (times_) start();
    }
    void end() const {
      if (times_) times_->add(code_, instruction_, std::chrono::steady_clock::now() - start_, allocations_);
    }

   private:
    void start() {
      if (const AllocationCounter* counter = AllocationCounter::current()) allocations_ = counter->count();
      start_ = std::chrono::steady_clock::now();
    }

    OperationTimes* const times_;
    const Code& code_;
    const Instruction& instruction_;
    std::chrono::steady_clock::time_point start_{};
    AllocationCount allocations_;  // before it
  };

 private:
  void add(
      const Code& code, const Instruction& instruction, std::chrono::nanoseconds passed,
      const AllocationCount& allocations_before);

  std::unordered_map<const Code*, std::vector<Time>> times_;
  OperationTimes* const outer_;
};

}  // namespace cresset
