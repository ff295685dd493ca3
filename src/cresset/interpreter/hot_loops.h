// Loops that become hot while unoptimized code runs: the way from the middle of a frame into a plan.
//
// Code whose owner may have something faster carries a HotLoops. When a loop of it has run for long, the run asks, at
// the end of an iteration, for code that does the rest of the function from the start of the next iteration on. That
// code takes the frame's place, with the values that it needs, as a bailout does in the other direction (bailout.h).
// Results are the same to the last bit, so it does not matter when this happens.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/program/executable.h"

namespace cresset {

/// A loop of emitted code.
struct LoopEntry {
  const Node* loop;
  uint32_t start;  // instruction of the body's first node: back-edges go there
  /// Value::unique() of what is held there, and the registers.
  std::vector<std::pair<uint32_t, uint32_t>> held;
};

class HotLoops {
 public:
  virtual ~HotLoops() = default;
  /// How often the clock is looked at before a plan is asked for: each time stands for 8 operators of the dispatcher or
  /// 256 scalar instructions, so that making a plan costs about as much as was spent already.
  uint32_t num_polls = 64;
  /// The registers whose values the rest of the function needs at the start of an iteration; null if it can't continue
  /// elsewhere.
  virtual const std::vector<uint32_t>* needed(const LoopEntry& entry) const = 0;
  /// Code that takes these values (it may add others to the end) and returns what the function returns; null, and the
  /// values are as they were, if the unoptimized code is to continue. Thread-safe.
  virtual std::shared_ptr<const Code> enter(const LoopEntry& entry, Stack& values) const = 0;
};

}  // namespace cresset
