#include "cresset/interpreter/futures.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cresset/interpreter/run.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"

namespace cresset {

struct ThreadPool::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::vector<std::thread> threads;
  size_t wanted = 0;
  bool stopping = false;
};

namespace {

thread_local bool on_worker = false;
thread_local int stolen_depth = 0;
std::atomic<bool> process_is_ending{false};

/// A waiting thread runs other tasks only this deep inside each other, since each takes C++ stack.
constexpr int kMaxStolenDepth = 64;

std::atomic<void (*)()> thread_start{nullptr};

void work(const std::shared_ptr<ThreadPool::Impl>& impl) {
  on_worker = true;
  if (auto* start = thread_start.load()) start();
  std::unique_lock lock(impl->mutex);
  while (true) {
    impl->changed.wait(lock, [&] { return impl->stopping || !impl->tasks.empty(); });
    if (impl->stopping) return;
    ThreadPool::Task task = std::move(impl->tasks.front());
    impl->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is released outside of the lock
    lock.lock();
  }
}

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
  on_worker = false;
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
  if (!impl_->threads.empty()) {
    throw UserError(
        "The number of threads for forks can't be set any more: they have started. Set it before the first fork.");
  }
  impl_->wanted = count;
}

size_t ThreadPool::numThreads() const {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->threads.empty()) return impl_->threads.size();
  return impl_->wanted ? impl_->wanted : std::max<size_t>(1, at::get_num_interop_threads());
}

void ThreadPool::startThreads(size_t count) {
  for (size_t i = 0; i < count; ++i) impl_->threads.emplace_back([impl = impl_] { work(impl); });
}

bool ThreadPool::submit(Task task) {
  const size_t count = numThreads();
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->stopping) return false;
    impl_->tasks.push_back(std::move(task));
    if (impl_->threads.empty()) startThreads(count);
  }
  impl_->changed.notify_one();
  return true;
}

bool ThreadPool::runOne() {
  Task task;
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->tasks.empty()) return false;
    task = std::move(impl_->tasks.front());
    impl_->tasks.pop_front();
  }
  task();
  return true;
}

bool ThreadPool::onWorker() {
  return on_worker;
}

bool ThreadPool::isStopping() {
  return process_is_ending.load(std::memory_order_relaxed);
}

void setForkThreads(size_t count) {
  ThreadPool::get().setNumThreads(count);
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

namespace {

/// What a script inherits from the thread that forked it: grad and inference mode, dispatch keys, modes, the profiler;
/// autocast's dtypes, which c10's snapshot lacks; limits.
class ScriptState {
 public:
  ScriptState() : budget_(RunBudget::currentShared()), caches_(at::autocast::is_autocast_cache_enabled()) {
    for (size_t i = 0; i < kDevices.size(); ++i) dtypes_[i] = at::autocast::get_autocast_dtype(kDevices[i]);
  }

  class Guard;

 private:
  static constexpr std::array kDevices{
      c10::DeviceType::CPU, c10::DeviceType::CUDA, c10::DeviceType::XPU, c10::DeviceType::MPS,
      c10::DeviceType::PrivateUse1};
  void setAutocast() const {
    at::autocast::set_autocast_cache_enabled(caches_);
    for (size_t i = 0; i < kDevices.size(); ++i) at::autocast::set_autocast_dtype(kDevices[i], dtypes_[i]);
  }

  at::ThreadLocalState locals_;
  std::shared_ptr<RunBudget> budget_;
  bool caches_;
  std::array<at::ScalarType, kDevices.size()> dtypes_{};
};

class ScriptState::Guard {
 public:
  explicit Guard(const ScriptState& state) : guard_(state.locals_), budget_(state.budget_) { state.setAutocast(); }
  ~Guard() { before_.setAutocast(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  const ScriptState before_;
  const at::ThreadLocalStateGuard guard_;
  const BudgetScope budget_;
};

/// A forked run between two suspensions.
struct ForkedRun {
  std::shared_ptr<Run> run;
  c10::intrusive_ptr<c10::ivalue::Future> future;
  std::shared_ptr<const ScriptState> state;  // of the script at this point
};

void dropFork(ForkedRun fork) {
  fork.run = nullptr;
  fork.future->setErrorIfNeeded(
      std::make_exception_ptr(ScriptError("the fork was dropped: the process is ending", "builtins.RuntimeError", {})));
}

void goOn(ForkedRun fork);

void submitFork(ForkedRun fork) {
  const bool submitted = ThreadPool::get().submit([fork]() mutable { goOn(std::move(fork)); });
  if (!submitted) dropFork(std::move(fork));
}

void goOn(ForkedRun fork) {
  c10::intrusive_ptr<c10::ivalue::Future> awaited;
  c10::IValue result;
  try {
    const ScriptState::Guard guard(*fork.state);
    InterruptPoll::current().budget = 1;
    if (fork.run->resume()) {
      result = fork.run->takeResult();
    } else {
      awaited = fork.run->awaited();
      fork.state = std::make_shared<const ScriptState>();
    }
  } catch (...) {
    fork.run = nullptr;
    fork.future->setError(std::current_exception());
    return;
  }
  if (!awaited) {
    fork.run = nullptr;
    fork.future->markCompleted(std::move(result));
    return;
  }
  // The run is at rest now; from here on it belongs to the callback.
  c10::ivalue::Future& future = *awaited;
  future.addCallback(
      [fork = std::move(fork)](c10::ivalue::Future&) mutable {
        // As a task, since the thread that completes a future is in the middle of something else.
        submitFork(std::move(fork));
      },
      /*uses_future=*/false);
}

}  // namespace

c10::intrusive_ptr<c10::ivalue::Future> startFork(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(std::move(result_type));
  ForkedRun fork{std::make_shared<Run>(), future, std::make_shared<const ScriptState>()};
  fork.run->start(std::move(code), inputs);
  submitFork(std::move(fork));
  return future;
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
  const bool helps = ThreadPool::onWorker() && stolen_depth < kMaxStolenDepth;
  auto& interrupt = InterruptPoll::current();
  while (true) {
    if (helps) {
      ++stolen_depth;
      while (!future.completed() && ThreadPool::get().runOne()) {
      }
      --stolen_depth;
    }
    {
      std::unique_lock lock(event->mutex);
      const auto pause = std::chrono::milliseconds(helps ? 1 : 20);
      if (event->changed.wait_for(lock, pause, [&] { return event->done; })) return;
    }
    interrupt.poll();
  }
}

InterruptPoll& InterruptPoll::current() {
  thread_local InterruptPoll poll;
  return poll;
}

int InterruptPoll::poll() {
  if (ThreadPool::isStopping() && ThreadPool::onWorker()) {
    throw ScriptRaise("builtins.KeyboardInterrupt", "interrupted: the process is ending");
  }
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
