// Threads for forks, and waiting for futures.
//
// Tasks of the pool never block on a future: a forked run that waits leaves its thread and comes back as a new task
// when the future is done. So one thread is enough for any number of forks in any order. Who waits elsewhere (the
// thread of the outermost run, a run that an operator started, or a host's fork of an untrusted program) does block; if
// that is a thread of the pool, another one runs tasks in its place meanwhile.
//
// Threads start with the first task. After fork(2) the child has a new pool without threads and without the parent's
// tasks, which belong to runs of the parent. When the pool stops, at the latest when the process ends, running scripts
// are interrupted, and forks that nothing waits for are dropped; a fork that starts then is an error.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace cresset {

class Code;

class ThreadPool {
 public:
  using Task = std::function<void()>;  // must not throw
  static ThreadPool& get();

  /// False if the pool is stopping; the task is dropped then.
  bool submit(Task task);
  /// Whether the calling thread belongs to the pool.
  static bool onWorker();
  /// Whether the process is ending; runs stop at their next poll.
  static bool isStopping();
  void setNumThreads(size_t count);
  size_t numThreads() const;
  /// Interrupts running scripts, drops tasks, joins the threads. For hosts that go away before the process does.
  void stop();

  struct Impl;

 private:
  ThreadPool();
  ~ThreadPool();
  static void afterFork();
  std::shared_ptr<Impl> impl_;
};

/// Starts `code` on another thread, or, if its program's forks are serial, on this one when the call waits or ends.
c10::intrusive_ptr<c10::ivalue::Future> startFork(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type);

/// A fork that a host starts: a call from outside, with limits of its own, always on another thread. The program keeps
/// the code alive.
c10::intrusive_ptr<c10::ivalue::Future> startForkFromOutside(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type);

/// Blocks until the future is done; throws ScriptRaise if the thread is interrupted.
void blockOn(c10::ivalue::Future& future);

/// Ends a call with its forks when one of them is interrupted, or passes a limit: those that run raise at their next
/// poll, the others are dropped.
class Cancellation {
 public:
  /// Says whether the error is one that ends a call with all its forks, and cancels if so.
  bool cancelIfEnding(const std::exception_ptr& error);
  bool isCancelled() const { return state_.load(std::memory_order_acquire) == State::Cancelled; }
  /// What they raise, and what becomes of those that are dropped; once it is cancelled.
  [[noreturn]] void raise() const;
  const std::exception_ptr& error() const { return error_; }

 private:
  enum class State { Open, Cancelling, Cancelled };
  std::atomic<State> state_{State::Open};
  std::string limit_;  // what is said of the limit that was passed; "" if it was an interrupt
  std::exception_ptr error_;
};

/// The same of a call that can't be cancelled.
bool endsForks(const std::exception_ptr& error);

/// The calling thread's interrupt check and when to ask it next.
class InterruptPoll {
 public:
  static InterruptPoll& current();
  /// Called when `budget` operations, calls or loop iterations have passed. Throws ScriptRaise to interrupt. Returns
  /// the next budget.
  int poll();

  bool (*check)() = nullptr;
  int budget = 1;
  /// What a call of an operator of the dispatcher takes of the budget: it may take long.
  static constexpr int kOperatorCost = 32;

 private:
  static constexpr int kMaxBudget = 256;
  int64_t last_poll_ = 0, last_check_ = 0;  // ns of the steady clock
};

}  // namespace cresset
