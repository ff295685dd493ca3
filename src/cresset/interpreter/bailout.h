// Bailouts: how specialized code goes back to the program as it was, in the middle.
//
// prim::BailOut takes a tensor and whatever the rest of the program needs at that point. As long as the tensor is of
// the kind that the type of the node's output names, it hands it on. Else the rest of the program runs as it was
// written: its continuation takes the frame's place, with the same open `with`s, and returns to the frame's caller.
//
// Thread-safety: sites and continuations may be used from many threads.
#pragma once

#include <ATen/core/jit_type.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cresset/interpreter/code.h"
#include "cresset/interpreter/value_kind.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// The rest of a program behind one place.
class Continuation {
 public:
  Continuation(std::shared_ptr<Graph> graph, std::string name, std::weak_ptr<Program> program)
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

/// One prim::BailOut of one piece of code.
class BailOutSite {
 public:
  /// `index` is the node's, `value` the name of what is looked at in the program. `revise` is set when other code
  /// should be made: see kMaxFailures.
  BailOutSite(
      size_t index, std::string value, std::shared_ptr<const Continuation> continuation,
      std::shared_ptr<std::atomic<bool>> revise)
      : index_(index), value_(std::move(value)), continuation_(std::move(continuation)), revise_(std::move(revise)) {}

  /// So many failures make a guard cost more than it gains.
  static constexpr int kMaxFailures = 4;

  /// Values must be of this kind. A site without a promise lets every value pass, and remembers what went by.
  void promise(const ValueKind& kind) { promised_ = kind.word(); }
  std::optional<ValueKind> promised() const;

  bool passes(const c10::IValue& value);
  /// Counts a failure, and gives what runs now.
  const Code& fail();

  /// The kind that all values had that went by; nothing if they differed, or none did.
  std::optional<ValueKind> observed() const;
  int numFailures() const { return failures_.load(std::memory_order_relaxed); }
  const std::string& value() const { return value_; }
  const std::shared_ptr<const Continuation>& continuation() const { return continuation_; }

 private:
  size_t index_;
  std::string value_;
  std::shared_ptr<const Continuation> continuation_;
  std::shared_ptr<std::atomic<bool>> revise_;
  uint64_t promised_ = 0;
  std::atomic<uint64_t> seen_{0};
  std::atomic<int> failures_{0};
  std::atomic<int64_t> visits_{0};  // counted only while guards are made to fail
};

/// For tests: the guard of this index in every graph fails, each `every`-th time that it is met; none for -1. While
/// there is one, guards stay in plans also where they promise nothing. The environment variable CRESSET_FAIL_GUARD ("2"
/// or "2:3") says so from the start.
struct FailingGuard {
  int index = -1;
  int every = 1;
};
FailingGuard failingGuard();
void setFailingGuard(FailingGuard failing);

}  // namespace cresset
