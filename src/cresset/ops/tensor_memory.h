// Counts the memory of tensors on the CPU: for runs that have a limit, and for who wants to know what a thread asks
// for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10 {
struct Allocator;
}

namespace cresset {

/// From now on allocations of the CPU allocator count towards the RunBudget of the thread that makes them, and are
/// refused if they do not fit. Called when the first memory limit is set; without one nothing is touched.
void countTensorMemory();

struct AllocationCount {
  int64_t allocations = 0, bytes = 0;

  AllocationCount& operator+=(const AllocationCount& other) {
    allocations += other.allocations;
    bytes += other.bytes;
    return *this;
  }
  AllocationCount operator-(const AllocationCount& other) const {
    return {allocations - other.allocations, bytes - other.bytes};
  }
};

/// While it lives, what this thread asks PyTorch's CPU allocator for is counted, by whomever: results, arenas, scratch
/// of kernels. Neither what other threads ask for, forks and parts of parallel kernels among them, nor what libraries
/// take from malloc. The innermost counts. Throws UserError if the process has an allocator that nothing can stand in
/// front of.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  /// Of this thread; null if there is none.
  static AllocationCounter* current();

  const AllocationCount& count() const { return count_; }

  void add(size_t bytes) { count_ += {1, static_cast<int64_t>(bytes)}; }

 private:
  AllocationCount count_;
  AllocationCounter* const outer_;
};

/// Whether PyTorch's own allocator is the CPU's, and nothing counts what this thread asks it for: then memory may as
/// well come from elsewhere.
bool isUncounted(const c10::Allocator& allocator);

}  // namespace cresset
