// An allocator in front of PyTorch's CPU allocator. c10's own hook for memory reports tells of an allocation after the
// fact, belongs to the profiler, and keeps a table of all addresses; an allocator can say no, and costs a look at two
// thread-local pointers where no limit holds and nothing is counted.
//
// What is counted stands in a table by address, with the budget that it counts towards, so that it is released
// wherever it is freed. The pointers themselves are like all others of PyTorch's, with one deleter: an allocator
// promises that (raw_deleter), and libraries build on it.
#include "cresset/ops/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "cresset/ops/limits.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// Counted allocations that live, by address.
class Counted {
 public:
  void add(void* data, std::shared_ptr<RunBudget> budget, int64_t size) {
    size_.fetch_add(1, std::memory_order_relaxed);
    Stripe& stripe = stripeOf(data);
    const std::lock_guard lock(stripe.mutex);
    stripe.entries.emplace(data, Entry{std::move(budget), size});
  }
  void remove(void* data) {
    if (size_.load(std::memory_order_relaxed) == 0) return;
    Entry entry;
    {
      Stripe& stripe = stripeOf(data);
      const std::lock_guard lock(stripe.mutex);
      const auto found = stripe.entries.find(data);
      if (found == stripe.entries.end()) return;
      entry = std::move(found->second);
      stripe.entries.erase(found);
    }
    size_.fetch_sub(1, std::memory_order_relaxed);
    entry.budget->addTensors(-entry.size);
  }

 private:
  struct Entry {
    std::shared_ptr<RunBudget> budget;
    int64_t size = 0;
  };
  struct Stripe {
    std::mutex mutex;
    std::unordered_map<void*, Entry> entries;
  };
  Stripe& stripeOf(void* data) { return stripes_[(reinterpret_cast<uintptr_t>(data) >> 6) % stripes_.size()]; }

  std::array<Stripe, 61> stripes_;
  std::atomic<size_t> size_{0};  // so that who frees looks nowhere while nothing is counted
};

// Never destroyed: memory is freed until the process has really ended.
Counted& counted() {
  static auto* table = new Counted;
  return *table;
}
std::atomic<c10::DeleterFnPtr> base_deleter{nullptr};
/// In front of PyTorch's own allocator; null before, and if it stands in front of another.
std::atomic<const c10::Allocator*> in_front{nullptr};

constinit thread_local AllocationCounter* current_counter = nullptr;

void freeMemory(void* data) {
  if (!data) return;
  counted().remove(data);
  base_deleter.load(std::memory_order_relaxed)(data);
}

class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& base) : base_(base) {}

  c10::DataPtr allocate(size_t size) override {
    RunBudget* budget = RunBudget::current();
    c10::DataPtr data = budget && budget->limitsMemory() ? allocateCounted(size, *budget) : wrap(base_.allocate(size));
    if (current_counter && size > 0) [[unlikely]]
      current_counter->add(size);
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &freeMemory; }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return base_.is_simple_data_ptr(data); }
  void copy_data(void* to, const void* from, std::size_t count) const override { base_.copy_data(to, from, count); }

 private:
  static c10::DataPtr wrap(c10::DataPtr data) {
    void* const address = data.get();
    const c10::Device device = data.device();
    data.release_context();
    return {address, address, &freeMemory, device};
  }

  c10::DataPtr allocateCounted(size_t size, RunBudget& budget) {
    budget.require(size);
    c10::DataPtr data = wrap(base_.allocate(size));
    if (!data.get()) return data;  // of no bytes
    counted().add(data.get(), budget.shared_from_this(), static_cast<int64_t>(size));
    if (!budget.addTensors(static_cast<int64_t>(size)))
      budget.throwOverMemory(size);  // another thread of the run was faster
    return data;
  }

  c10::Allocator& base_;
};

}  // namespace

void countTensorMemory() {
  static std::once_flag once;
  std::call_once(once, [] {
    c10::Allocator& base = *c10::GetCPUAllocator();
    // Its pointers are taken for the bare addresses that this promises.
    if (!base.raw_deleter()) {
      throw UserError(
          "Memory can't be limited or counted: the allocator that this process has set for the CPU tells no "
          "raw_deleter().");
    }
    base_deleter = base.raw_deleter();
    // Never destroyed: storages refer to their allocator. The priority is the lowest that replaces a default one; who
    // set an allocator of a higher priority meant it to stay.
    static auto* allocator = new CountingAllocator(base);
    if (&base == c10::GetDefaultCPUAllocator()) in_front = allocator;
    c10::SetCPUAllocator(allocator, /*priority=*/1);
  });
}

AllocationCounter::AllocationCounter() : outer_(current_counter) {
  countTensorMemory();
  if (!dynamic_cast<CountingAllocator*>(c10::GetCPUAllocator()))
    throw UserError("Allocations can't be counted: this process has set an allocator of its own for the CPU.");
  current_counter = this;
}

AllocationCounter::~AllocationCounter() {
  current_counter = outer_;
}

AllocationCounter* AllocationCounter::current() {
  return current_counter;
}

bool isUncounted(const c10::Allocator& allocator) {
  if (c10::memoryProfilingEnabled()) return false;
  if (&allocator == c10::GetDefaultCPUAllocator()) return true;
  if (&allocator != in_front.load(std::memory_order_relaxed) || current_counter) return false;
  const RunBudget* budget = RunBudget::current();
  return !budget || !budget->limitsMemory();
}

}  // namespace cresset
