// Sizes of temporaries computed from those of a run's inputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cresset/executor/memory_layout.h"
#include "cresset/executor/memory_planner.h"

namespace cresset {

/// Nothing if it depends on what the inputs don't tell, or overflows.
std::optional<int64_t> evaluateSize(
    const Size& size, const std::vector<std::optional<uint32_t>>& input_of, std::span<const c10::IValue> inputs);

/// The policy "precomputed": a size class for each combination of the input sizes that slots depend on. Slots whose
/// size is no expression over those get, per class, what they were seen to need.
class SizeClasses final : public SizePolicy {
 public:
  explicit SizeClasses(std::shared_ptr<const MemoryLayout> layout);
  bool sizesFor(std::span<const c10::IValue> inputs, std::vector<size_t>& bytes) override;
  void learn(std::span<const size_t> bytes) override;

 private:
  /// Classes that are remembered; the others are computed anew.
  static constexpr size_t kMaxClasses = 64;
  using Key = std::vector<int64_t>;

  const std::shared_ptr<const MemoryLayout> layout_;
  std::vector<Size> variables_;  // what the key consists of
  std::map<Key, std::vector<size_t>> classes_;
  Key current_;
};

}  // namespace cresset
