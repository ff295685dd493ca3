// Bailouts: how specialized code goes back to the program as it was, in the middle.
//
// prim::BailOut takes some values and whatever the rest of the program needs at that point. As long as these values are
// of the kinds that the plan promises, it hands them on, one output for each. Else the rest of the program runs
// unoptimized: its deoptimization target takes the frame's place, with the same open `with`s, and returns to the
// frame's caller.
//
// Thread-safety: sites and deoptimization targets may be used from many threads.
#pragma once

#include <ATen/core/jit_type.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cresset/interpreter/code.h"
#include "cresset/interpreter/value_kind.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// For tests: the guard of this index in every graph fails, each `every`-th time that it is met; none for -1. While
/// there is one, guards stay in plans also where they promise nothing. The option `fail_guard`.
struct FailingGuard {
  int index = -1;
  int every = 1;
};
namespace detail {
extern std::atomic<uint64_t> failing_guard;  // index, then every
}
inline FailingGuard failingGuard() {
  const uint64_t word = detail::failing_guard.load(std::memory_order_relaxed);
  return {static_cast<int>(word >> 32), static_cast<int>(word & 0xffffffff)};
}
void setFailingGuard(FailingGuard failing);

/// The rest of a program after one place.
class DeoptimizationTarget {
 public:
  DeoptimizationTarget(std::shared_ptr<Graph> graph, std::string name, std::weak_ptr<Program> program)
      : graph_(std::move(graph)), name_(std::move(name)), program_(std::move(program)) {}

  /// Its inputs are what the place's prim::BailOut takes; emitted when it is first needed.
  const Code& code() const;
  const Graph& graph() const { return *graph_; }

 private:
  std::shared_ptr<Graph> graph_;
  std::string name_;
  std::weak_ptr<Program> program_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Code> code_;
};

/// A value that a prim::BailOut looks at: what the program calls it, and what is looked at (guards.def).
struct GuardedValue {
  std::string name;
  Guard guard;
};

/// One prim::BailOut of one piece of code.
class BailOutSite {
 public:
  /// `index` is the node's, `values` are its first inputs. `revise` is set when other code should be made: see
  /// kMaxFailures.
  BailOutSite(
      size_t index, const std::vector<GuardedValue>& values, std::shared_ptr<const DeoptimizationTarget> target,
      std::shared_ptr<std::atomic<bool>> revise);

  /// So many failures make a guard cost more than it gains.
  static constexpr int kMaxFailures = 4;

  /// The value must be of this kind. A value without a promise always passes, and its kind is remembered.
  void promise(size_t value, const ValueKind& kind) { values_[value].promised = kind.word(); }
  std::optional<ValueKind> promised(size_t value) const;
  bool promisesAny() const;

  bool passes(size_t index, const c10::IValue& value) {
    Watched& watched = values_[index];
    const uint64_t word = readGuard(watched.guarded.guard, value);
    if (watched.promised != kNothing) return word == watched.promised;
    watched.see(word);
    return true;
  }
  /// For tests: whether it fails, whatever comes by.
  bool mustFail() { return failingGuard().index >= 0 && mustFailNow(); }
  /// Counts a failure, and returns what runs now.
  const Code& fail();

  /// The kind that the value had each time; nothing if they differed, or none came by.
  std::optional<ValueKind> observed(size_t value) const;
  int numFailures() const { return failures_.load(std::memory_order_relaxed); }
  size_t numValues() const { return values_.size(); }
  const std::string& name(size_t value) const { return values_[value].guarded.name; }
  const std::shared_ptr<const DeoptimizationTarget>& target() const { return target_; }

 private:
  bool mustFailNow();
  static constexpr uint64_t kVaries = kUnreadable, kNothing = kUnreadable - 1;

  struct Watched {
    explicit Watched(GuardedValue value) : guarded(std::move(value)) {}
    void see(uint64_t word);

    const GuardedValue guarded;
    uint64_t promised = kNothing;
    std::atomic<uint64_t> seen{kNothing};
  };

  size_t index_;
  std::deque<Watched> values_;
  std::shared_ptr<const DeoptimizationTarget> target_;
  std::shared_ptr<std::atomic<bool>> revise_;
  std::atomic<int> failures_{0};
  std::atomic<int64_t> visits_{0};  // counted only while guards are made to fail
};

}  // namespace cresset
