// Where temporaries lie in one piece of memory: those that are needed at the same time don't overlap.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cresset {

/// What is needed from one step to another, that one included.
struct Temporary {
  size_t bytes = 0;
  size_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // per temporary; multiples of kAlignment
  size_t bytes = 0;             // of the whole

  /// Of each tensor, and of vectors in it: a line of the cache.
  static constexpr size_t kAlignment = 64;
};

/// Largest first, each at the lowest offset that is free while it is needed. Takes quadratic time. The order and its
/// bounds: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, "greedy by size".
MemoryPlan planMemory(std::span<const Temporary> temporaries);

}  // namespace cresset
