#include "cresset/executor/memory_planner.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cresset {

namespace {

size_t rounded(size_t bytes) {
  return (bytes + MemoryPlan::kAlignment - 1) / MemoryPlan::kAlignment * MemoryPlan::kAlignment;
}

using Order = std::vector<size_t>;

/// Each at the lowest offset that is free while it is needed.
MemoryPlan placeInOrder(std::span<const Temporary> temporaries, const Order& order) {
  const auto bytesOf = [&](size_t i) { return rounded(temporaries[i].bytes); };
  MemoryPlan plan;
  plan.offsets.resize(temporaries.size());
  Order placed;  // in ascending order of offsets
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

/// The step at which most is needed, and how much.
struct Peak {
  size_t step = 0, bytes = 0;
};

Peak peakOf(std::span<const Temporary> temporaries) {
  std::map<size_t, std::ptrdiff_t> changes;  // by step
  for (const Temporary& temporary : temporaries) {
    const auto bytes = static_cast<std::ptrdiff_t>(rounded(temporary.bytes));
    changes[temporary.first] += bytes;
    changes[temporary.last + 1] -= bytes;
  }
  std::ptrdiff_t now = 0;
  Peak peak;
  for (const auto& [step, change] : changes) {
    now += change;
    if (static_cast<size_t>(now) > peak.bytes) peak = {step, static_cast<size_t>(now)};
  }
  return peak;
}

/// Places them in the order and, until no memory is wasted, in so many others: what ends highest is placed first.
void place(std::span<const Temporary> temporaries, Order order, size_t tries, size_t least, MemoryPlan& best) {
  while (true) {
    const MemoryPlan plan = placeInOrder(temporaries, order);
    if (best.offsets.empty() || plan.bytes < best.bytes) best = plan;
    if (best.bytes <= least || tries-- == 0) return;
    const auto highest = std::find_if(order.rbegin(), order.rend(), [&](size_t at) {
      return plan.offsets[at] + rounded(temporaries[at].bytes) == plan.bytes;
    });
    std::rotate(highest, highest + 1, order.rend());
  }
}

}  // namespace

MemoryPlan planMemory(std::span<const Temporary> temporaries) {
  if (temporaries.empty()) return {};
  // As many as take some tens of microseconds.
  constexpr size_t kMostTries = 48, kMostSteps = 25000;
  const size_t tries = std::min(kMostTries, kMostSteps / (temporaries.size() * temporaries.size()));
  const auto [peak, least] = peakOf(temporaries);
  Order by_size(temporaries.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  Order by_length = by_size;
  std::stable_sort(
      by_size.begin(), by_size.end(), [&](size_t a, size_t b) { return temporaries[a].bytes > temporaries[b].bytes; });
  Order by_peak = by_size;
  MemoryPlan plan;
  place(temporaries, std::move(by_size), tries, least, plan);
  if (plan.bytes <= least || tries == 0) return plan;
  // What meets at the peak has no room between it to waste.
  std::stable_partition(by_peak.begin(), by_peak.end(), [&, at = peak](size_t i) {
    return temporaries[i].first <= at && at <= temporaries[i].last;
  });
  place(temporaries, std::move(by_peak), tries, least, plan);
  if (plan.bytes <= least) return plan;
  std::stable_sort(by_length.begin(), by_length.end(), [&](size_t a, size_t b) {
    return temporaries[a].last - temporaries[a].first > temporaries[b].last - temporaries[b].first;
  });
  place(temporaries, std::move(by_length), tries, least, plan);
  return plan;
}

size_t leastMemory(std::span<const Temporary> temporaries) {
  return peakOf(temporaries).bytes;
}

bool LearnedSizes::sizesFor(std::span<const c10::IValue> /*inputs*/, std::vector<size_t>& bytes) {
  if (most_.empty() || most_ == bytes) return false;
  bytes = most_;
  return true;
}

void LearnedSizes::learn(std::span<const size_t> bytes) {
  most_.resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) most_[i] = std::max(most_[i], bytes[i]);
}

}  // namespace cresset
