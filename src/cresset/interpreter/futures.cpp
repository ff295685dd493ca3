#include "cresset/interpreter/futures.h"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cresset/interpreter/forks.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/run_thread.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

struct ThreadPool::Impl : std::enable_shared_from_this<ThreadPool::Impl> {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::vector<std::thread> threads;
  size_t wanted = 0;
  size_t count = 0;    // how many tasks run at one time, those that wait not counted
  size_t running = 0;  // of these
  size_t idle = 0;     // threads that have no task, those that start among them
  bool stopping = false;
};

namespace {

constinit thread_local ThreadPool::Impl* own_pool = nullptr;  // of a thread of a pool
std::atomic<bool> process_is_ending{false};

/// So many threads a pool may have for each task that runs, the others wait.
constexpr size_t kMaxWaiting = 64;

std::atomic<void (*)()> thread_start{nullptr};

void work(const std::shared_ptr<ThreadPool::Impl>& impl) {
  own_pool = impl.get();
  if (auto* start = thread_start.load()) start();
  std::unique_lock lock(impl->mutex);
  while (true) {
    impl->changed.wait(lock, [&] { return impl->stopping || (!impl->tasks.empty() && impl->running < impl->count); });
    --impl->idle;
    if (impl->stopping) return;
    ++impl->running;
    ThreadPool::Task task = std::move(impl->tasks.front());
    impl->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is released outside of the lock
    lock.lock();
    --impl->running;
    ++impl->idle;
  }
}

/// Sees to it that some thread takes the next task. The pool's lock is held.
void wake(const std::shared_ptr<ThreadPool::Impl>& impl) {
  if (impl->stopping || impl->tasks.empty() || impl->running >= impl->count) return;
  const size_t wanted = std::min(impl->tasks.size(), impl->count - impl->running);
  if (impl->idle < wanted && impl->threads.size() < impl->count * (1 + kMaxWaiting)) {
    try {
      impl->threads.emplace_back([impl] { work(impl); });
      ++impl->idle;
    } catch (const std::system_error&) {  // no more threads: the task waits for one of those that are there
    }
  }
  impl->changed.notify_one();
}

/// While a thread of the pool waits, another runs tasks in its place. It does not run them itself: one of them might
/// wait for what it is in the middle of.
class WaitingWorker {
 public:
  WaitingWorker() {
    if (!own_pool) return;
    impl_ = own_pool->shared_from_this();
    const std::lock_guard lock(impl_->mutex);
    --impl_->running;
    wake(impl_);
  }
  ~WaitingWorker() {
    if (!impl_) return;
    const std::lock_guard lock(impl_->mutex);
    ++impl_->running;
  }
  WaitingWorker(const WaitingWorker&) = delete;
  WaitingWorker& operator=(const WaitingWorker&) = delete;

 private:
  std::shared_ptr<ThreadPool::Impl> impl_;
};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ThreadPool& ThreadPool::get() {
  static ThreadPool pool;
  return pool;
}

ThreadPool::ThreadPool() : impl_(std::make_shared<Impl>()) {
  pthread_atfork(nullptr, nullptr, &ThreadPool::afterFork);
}

void ThreadPool::afterFork() {
  // The parent's threads don't exist here, and its lock may be held by one of them: leave all of it as it is.
  auto& pool = get();
  const size_t wanted = pool.impl_->wanted;
  new std::shared_ptr<Impl>(std::move(pool.impl_));
  pool.impl_ = std::make_shared<Impl>();
  pool.impl_->wanted = wanted;
  own_pool = nullptr;
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  process_is_ending = true;
  std::deque<Task> dropped;
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    dropped.swap(impl_->tasks);
    threads.swap(impl_->threads);
  }
  impl_->changed.notify_all();
  for (auto& thread : threads) thread.join();
}

void ThreadPool::setNumThreads(size_t count) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->count > 0) {
    throw UserError(
        "The number of threads for forks can't be set any more: they have started. Set it before the first fork.");
  }
  impl_->wanted = count;
}

size_t ThreadPool::numThreads() const {
  std::lock_guard lock(impl_->mutex);
  if (impl_->count > 0) return impl_->count;
  return impl_->wanted ? impl_->wanted : std::max<size_t>(1, at::get_num_interop_threads());
}

bool ThreadPool::submit(Task task) {
  const size_t count = numThreads();
  std::lock_guard lock(impl_->mutex);
  if (impl_->stopping) return false;
  impl_->count = count;
  impl_->tasks.push_back(std::move(task));
  wake(impl_);
  return true;
}

bool ThreadPool::onWorker() {
  return own_pool;
}

bool ThreadPool::isStopping() {
  return process_is_ending.load(std::memory_order_relaxed);
}

namespace {

const OptionHook fork_threads_hook(Option::fork_threads, [](const std::string& text) {
  ThreadPool::get().setNumThreads(std::stoul(text));
});

}  // namespace

void setForkThreads(size_t count) {
  setOption(Option::fork_threads, std::to_string(count));
}

size_t numForkThreads() {
  return ThreadPool::get().numThreads();
}

void stopForks() {
  ThreadPool::get().stop();
}

void setForkThreadStart(void (*start)()) {
  thread_start = start;
}

void blockOn(c10::ivalue::Future& future) {
  if (future.completed()) return;
  struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  auto event = std::make_shared<Event>();
  future.addCallback(
      [event](c10::ivalue::Future&) {
        std::lock_guard lock(event->mutex);
        event->done = true;
        event->changed.notify_all();
      },
      /*uses_future=*/false);
  auto& interrupt = InterruptPoll::current();
  while (true) {
    if (auto* forks = SerialForks::current()) {
      while (!future.completed() && (forks->runOne() || forks->breakCircles())) {
      }
    }
    {
      const WaitingWorker waiting;
      std::unique_lock lock(event->mutex);
      if (event->changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return event->done; })) return;
    }
    interrupt.poll();
  }
}

namespace {

constexpr const char* kInterrupted = "the fork was dropped: the call that started it was interrupted";

/// The message of a limit's error, or of an interrupt's; null for other errors.
std::optional<std::string> endOfCall(const std::exception_ptr& error) {
  const auto ending = [](const auto& raised, const std::string& message) -> std::optional<std::string> {
    if (raised.pythonClass() == kLimitErrorClass) return message;
    if (raised.pythonClass() == "builtins.KeyboardInterrupt") return "";
    return std::nullopt;
  };
  try {
    std::rethrow_exception(error);
  } catch (const ScriptError& raised) {
    return ending(raised, raised.message());
  } catch (const ScriptRaise& raised) {
    return ending(raised, raised.what());
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace

bool endsForks(const std::exception_ptr& error) {
  return endOfCall(error).has_value();
}

bool Cancellation::cancelIfEnding(const std::exception_ptr& error) {
  std::optional<std::string> limit = endOfCall(error);
  if (!limit) return false;
  State open = State::Open;
  if (state_.compare_exchange_strong(open, State::Cancelling)) {
    limit_ = std::move(*limit);
    error_ = limit_.empty() ? std::make_exception_ptr(ScriptError(kInterrupted, "builtins.RuntimeError", {}))
                            : std::make_exception_ptr(LimitError(limit_, kLimitErrorClass, {}));
    state_.store(State::Cancelled, std::memory_order_release);
  }
  return true;
}

void Cancellation::raise() const {
  if (!limit_.empty()) throw ScriptRaise(kLimitErrorClass, limit_);
  throw ScriptRaise("builtins.RuntimeError", kInterrupted);
}

InterruptPoll& InterruptPoll::current() {
  return RunThread::current().interrupt;
}

int InterruptPoll::poll() {
  if (ThreadPool::isStopping() && ThreadPool::onWorker()) {
    throw ScriptRaise("builtins.KeyboardInterrupt", "interrupted: the process is ending");
  }
  const RunThread& thread = RunThread::current();
  if (thread.cancellation && thread.cancellation->isCancelled()) thread.cancellation->raise();
  const RunBudget* limits = RunBudget::current();
  if (limits) limits->checkTime();
  if (!check && !limits) return budget = kMaxBudget;
  // The clock is asked so often that a check follows within milliseconds, whatever the operations cost, and so rarely
  // that it costs nothing for cheap ones.
  constexpr int64_t kMillisecond = 1'000'000;
  const int64_t time = now();
  const int64_t elapsed = time - last_poll_;
  last_poll_ = time;
  if (elapsed > 4 * kMillisecond)
    budget = 1;
  else if (elapsed < kMillisecond)
    budget = std::min(kMaxBudget, budget * 2);
  if (time - last_check_ >= 5 * kMillisecond) {
    last_check_ = time;
    if (check && check()) throw ScriptRaise("builtins.KeyboardInterrupt", "interrupted");
  }
  return budget;
}

void setInterruptCheck(bool (*check)()) {
  auto& poll = InterruptPoll::current();
  poll.check = check;
  poll.budget = 1;
}

}  // namespace cresset
