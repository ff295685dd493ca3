// Where temporaries lie in one piece of memory: those that are needed at the same time don't overlap.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace c10 {
struct IValue;
}

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

/// Largest first, each at the lowest offset that is free while it is needed; of up to 158 temporaries, some other
/// orders too if that takes more than the least. Takes quadratic time. The order and its bounds: Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020, "greedy by size".
MemoryPlan planMemory(std::span<const Temporary> temporaries);

/// What any placement needs at least: the most that is needed at one step, each temporary rounded up to kAlignment.
size_t leastMemory(std::span<const Temporary> temporaries);

/// How much memory each temporary of a run gets before it runs.
class SizePolicy {
 public:
  virtual ~SizePolicy() = default;
  /// `inputs`: of the run. `bytes`, per temporary: what they had in the run before; changed to what they get. True if
  /// something has changed.
  virtual bool sizesFor(std::span<const c10::IValue> inputs, std::vector<size_t>& bytes) = 0;
  /// After a run in which they have grown to `bytes`, where those are more than they had.
  virtual void learn(std::span<const size_t> bytes) = 0;
};

/// As much as they ever needed: sizes are learned from the first run, grow after a larger one and stay after a smaller.
class LearnedSizes final : public SizePolicy {
 public:
  bool sizesFor(std::span<const c10::IValue> inputs, std::vector<size_t>& bytes) override;
  void learn(std::span<const size_t> bytes) override;

 private:
  std::vector<size_t> most_;
};

}  // namespace cresset
