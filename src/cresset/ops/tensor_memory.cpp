// An allocator in front of PyTorch's CPU allocator. c10's own hook for memory reports tells of an allocation after the
// fact, belongs to the profiler, and keeps a table of all addresses; an allocator can say no, and costs a look at a
// thread-local pointer where no limit holds.
//
// A counted allocation carries the budget that it counts towards, so that it is given back wherever it is freed.
#include "cresset/ops/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <memory>
#include <mutex>
#include <utility>

#include "cresset/ops/limits.h"

namespace cresset {

namespace {

struct Counted {
  c10::DataPtr data;
  std::shared_ptr<RunBudget> budget;
  int64_t size;

  static void release(void* context) {
    std::unique_ptr<Counted> counted(static_cast<Counted*>(context));
    counted->budget->addTensors(-counted->size);
  }
};

class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& base) : base_(base) {}

  c10::DataPtr allocate(size_t size) override {
    RunBudget* budget = RunBudget::current();
    if (!budget || !budget->limitsMemory()) [[likely]]
      return base_.allocate(size);
    return allocateCounted(size, *budget);
  }
  // What is not counted is as the base allocator made it, and may be told by this deleter (c10 asks it of storages
  // that share their memory lazily).
  c10::DeleterFnPtr raw_deleter() const override { return base_.raw_deleter(); }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return base_.is_simple_data_ptr(data); }
  void copy_data(void* to, const void* from, std::size_t count) const override { base_.copy_data(to, from, count); }

 private:
  c10::DataPtr allocateCounted(size_t size, RunBudget& budget) {
    budget.require(size);
    auto counted = std::make_unique<Counted>();
    counted->data = base_.allocate(size);
    counted->budget = budget.shared_from_this();
    counted->size = static_cast<int64_t>(size);
    const bool fits = budget.addTensors(counted->size);
    void* data = counted->data.get();
    const c10::Device device = counted->data.device();
    c10::DataPtr result(data, counted.release(), &Counted::release, device);
    if (!fits) budget.throwOverMemory(size);  // another thread of the run was faster
    return result;
  }

  c10::Allocator& base_;
};

}  // namespace

void countTensorMemory() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Never destroyed: storages refer to their allocator. The priority is the lowest that replaces a default one; who
    // set an allocator of a higher priority meant it to stay.
    static auto* allocator = new CountingAllocator(*c10::GetCPUAllocator());
    c10::SetCPUAllocator(allocator, /*priority=*/1);
  });
}

}  // namespace cresset
