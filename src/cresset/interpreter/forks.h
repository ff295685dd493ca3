// Forks: runs that a run starts beside itself.
//
// Most go to the thread pool. Those of an untrusted program alternate with it on the thread of its call:
// lists and dicts carry no lock, so two threads that change one can destroy the heap, and such a program would do so on
// purpose. Locking each access instead would cost all programs, and operators that visit nested containers could
// not be covered. (docs/decisions/0003-untrusted-programs.md)
#pragma once

#include <ATen/core/ivalue.h>

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cresset/ops/nesting.h"

namespace cresset {

class Run;
class RunBudget;
class ScriptState;

using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

/// What a fork takes of its budget while it lives: memory, beside the containers that it makes, and the time to drop
/// it.
class ForkCharge {
 public:
  ForkCharge(std::shared_ptr<RunBudget> budget, size_t bytes);
  ~ForkCharge();
  ForkCharge(const ForkCharge&) = delete;
  ForkCharge& operator=(const ForkCharge&) = delete;

 private:
  std::shared_ptr<RunBudget> budget_;
  int64_t bytes_;
};

/// A forked run between two suspensions.
struct ForkedRun {
  std::shared_ptr<Run> run;
  FuturePtr future;
  std::shared_ptr<const ScriptState> state;  // of the script at this point
  std::shared_ptr<const ForkCharge> charge;  // null if nothing limits it
  std::shared_ptr<void> kept;                // until the run has ended

  ForkedRun() = default;
  ForkedRun(const ForkedRun&) = default;
  ForkedRun(ForkedRun&&) = default;
  ForkedRun& operator=(const ForkedRun&) = default;
  ForkedRun& operator=(ForkedRun&&) = default;
  /// Perhaps the last to know of the result, which may be deep, or of forks that wait for it, which others wait for.
  ~ForkedRun();
};

/// The forks of one call of an untrusted program. They run when the call waits for a future, and before it
/// returns, so that none remains; if it raises, those that have not ended are dropped. A fork that waits for a
/// future of the host's outlives the call, and resumes when, and where, that future is completed.
class SerialForks : public std::enable_shared_from_this<SerialForks> {
 public:
  /// Of the call that the calling thread is in; null if it has forked nothing.
  static SerialForks* current();
  /// Starts a fork of that call.
  static void start(ForkedRun fork);
  /// The call returns: lets its forks end. Throws if it is interrupted meanwhile.
  static void finishCall();
  /// The call is over: drops what has not ended.
  static void endCall() noexcept;

  /// Resumes one fork until it waits or ends. False if none can. Throws what ends the call: an interrupt, or a limit.
  bool runOne();
  /// Forks that wait for each other in a circle never end. Ends one of each circle with an error; false if there is
  /// none.
  bool breakCircles();

 private:
  void add(ForkedRun fork);
  void addAwaited(ForkedRun fork);
  void finish();

  std::mutex mutex_;  // a host's thread may complete what a fork waits for
  std::deque<ForkedRun> ready_;
  /// What each fork that is suspended waits for.
  std::unordered_map<const c10::ivalue::Future*, const c10::ivalue::Future*> waiting_;
  bool is_over_ = false;
};

}  // namespace cresset
