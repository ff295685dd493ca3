#include "cresset/executor/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace cresset {

MemoryPlan planMemory(std::span<const Temporary> temporaries) {
  const auto bytesOf = [&](size_t i) {
    return (temporaries[i].bytes + MemoryPlan::kAlignment - 1) / MemoryPlan::kAlignment * MemoryPlan::kAlignment;
  };
  std::vector<size_t> order(temporaries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](size_t a, size_t b) { return temporaries[a].bytes > temporaries[b].bytes; });
  MemoryPlan plan;
  plan.offsets.resize(temporaries.size());
  std::vector<size_t> placed;  // in ascending order of offsets
  for (const size_t i : order) {
    size_t offset = 0;
    for (const size_t other : placed) {
      const bool meets =
          temporaries[other].first <= temporaries[i].last && temporaries[i].first <= temporaries[other].last;
      if (!meets || plan.offsets[other] + bytesOf(other) <= offset) continue;
      if (offset + bytesOf(i) <= plan.offsets[other]) break;
      offset = plan.offsets[other] + bytesOf(other);
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytesOf(i));
    placed.insert(
        std::upper_bound(
            placed.begin(), placed.end(), offset, [&](size_t at, size_t b) { return at < plan.offsets[b]; }),
        i);
  }
  return plan;
}

}  // namespace cresset
