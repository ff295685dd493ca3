// Starting and resuming forks. See forks.h.
#include "cresset/interpreter/forks.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cresset/interpreter/futures.h"
#include "cresset/interpreter/run.h"
#include "cresset/interpreter/run_thread.h"
#include "cresset/ops/limits.h"

namespace cresset {

/// What a script inherits from the thread that forked it: grad and inference mode, dispatch keys, modes, the profiler;
/// autocast's dtypes, which c10's snapshot lacks; limits, who runs forks, and what ends them.
class ScriptState {
 public:
  ScriptState()
      : budget_(RunBudget::currentShared()),
        launcher_(RunThread::current().launcher),
        cancellation_(RunThread::current().cancellation),
        caches_(at::autocast::is_autocast_cache_enabled()) {
    for (size_t i = 0; i < kDevices.size(); ++i) dtypes_[i] = at::autocast::get_autocast_dtype(kDevices[i]);
  }

  class Guard;

  const std::shared_ptr<const TaskLauncher>& launcher() const { return launcher_; }
  /// Null for a fork that is no part of a call.
  Cancellation* cancellation() const { return cancellation_.get(); }

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
  std::shared_ptr<const TaskLauncher> launcher_;
  std::shared_ptr<Cancellation> cancellation_;
  bool caches_;
  std::array<at::ScalarType, kDevices.size()> dtypes_{};
};

class ScriptState::Guard {
 public:
  explicit Guard(const ScriptState& state) : guard_(state.locals_), budget_(state.budget_) {
    state.setAutocast();
    RunThread& thread = RunThread::current();
    thread.launcher = state.launcher_;
    thread.cancellation = state.cancellation_;
    ran_fork_ = std::exchange(thread.runs_fork, true);
  }
  ~Guard() {
    before_.setAutocast();
    RunThread& thread = RunThread::current();
    thread.launcher = before_.launcher_;
    thread.cancellation = before_.cancellation_;
    thread.runs_fork = ran_fork_;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  const ScriptState before_;
  bool ran_fork_;
  const at::ThreadLocalStateGuard guard_;
  const BudgetScope budget_;
};

ForkCharge::ForkCharge(std::shared_ptr<RunBudget> budget, size_t bytes)
    : budget_(std::move(budget)), bytes_(static_cast<int64_t>(bytes)) {
  budget_->addContainers(bytes_);
  budget_->addForks(1);
}

ForkCharge::~ForkCharge() {
  budget_->addContainers(-bytes_);
  budget_->addForks(-1);
}

ForkedRun::~ForkedRun() {
  struct Remains {
    std::shared_ptr<Run> run;
    FuturePtr future;
  };
  // What forks that are destroyed with this one leave behind, so that a chain of them is destroyed in a loop.
  static constinit thread_local std::vector<Remains>* open = nullptr;
  if (!run && !future) return;
  if (open) {
    open->push_back({std::move(run), std::move(future)});
    return;
  }
  std::vector<Remains> remains;
  open = &remains;
  remains.push_back({std::move(run), std::move(future)});
  while (!remains.empty()) {
    Remains last = std::move(remains.back());
    remains.pop_back();
    last.run = nullptr;
    if (last.future) release(c10::IValue(std::move(last.future)));
  }
  open = nullptr;
}

namespace {

/// A run, its future, and the copy of the thread's state, without registers.
constexpr size_t kForkBytes = 2048;

std::exception_ptr dropped(const char* why) {
  return std::make_exception_ptr(ScriptError(std::string("the fork was dropped: ") + why, "builtins.RuntimeError", {}));
}

void dropFork(ForkedRun fork, const std::exception_ptr& error) {
  fork.run = nullptr;
  fork.charge = nullptr;
  fork.kept = nullptr;
  fork.future->setErrorIfNeeded(error);
}

/// Resumes the run on this thread. If it comes to wait for something, returns that; the run is at rest then.
FuturePtr advance(ForkedRun& fork) {
  c10::IValue result;
  const std::shared_ptr<const ScriptState> state = fork.state;
  Cancellation* cancellation = state->cancellation();
  if (cancellation && cancellation->isCancelled()) {
    dropFork(std::move(fork), cancellation->error());
    return nullptr;
  }
  try {
    const ScriptState::Guard guard(*state);
    InterruptPoll::current().budget = 1;
    if (!fork.run->resume()) {
      fork.state = std::make_shared<const ScriptState>();
      return fork.run->awaited();
    }
    result = fork.run->takeResult();
  } catch (...) {
    fork.run = nullptr;
    fork.charge = nullptr;
    fork.kept = nullptr;
    if (cancellation) cancellation->cancelIfEnding(std::current_exception());
    // A fork of a circle has its error already.
    fork.future->setErrorIfNeeded(std::current_exception());
    return nullptr;
  }
  fork.run = nullptr;
  fork.charge = nullptr;
  fork.kept = nullptr;
  if (!fork.future->completed()) fork.future->markCompleted(std::move(result));
  return nullptr;
}

void submitFork(ForkedRun fork);

void goOn(ForkedRun fork) {
  const FuturePtr awaited = advance(fork);
  if (!awaited) return;
  // From here on the run belongs to the callback. It resumes as a task, since the thread that completes a future is in
  // the middle of something else.
  awaited->addCallback(
      [fork = std::move(fork)](c10::ivalue::Future&) mutable { submitFork(std::move(fork)); },
      /*uses_future=*/false);
}

void submitFork(ForkedRun fork) {
  if (const std::shared_ptr<const TaskLauncher> launcher = fork.state->launcher())
    return (*launcher)([fork]() mutable { goOn(std::move(fork)); });
  const bool submitted = ThreadPool::get().submit([fork]() mutable { goOn(std::move(fork)); });
  if (!submitted) dropFork(std::move(fork), dropped("the process is ending"));
}

/// Around the start of a call on other threads: limits end it with its forks.
class CallOfItsOwn {
 public:
  CallOfItsOwn() : before_(RunThread::current().cancellation) {
    RunThread::current().cancellation = std::make_shared<Cancellation>();
  }
  ~CallOfItsOwn() { RunThread::current().cancellation = before_; }
  CallOfItsOwn(const CallOfItsOwn&) = delete;
  CallOfItsOwn& operator=(const CallOfItsOwn&) = delete;

 private:
  const std::shared_ptr<Cancellation> before_;
};

}  // namespace

FuturePtr startFork(std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(std::move(result_type));
  RunThread& thread = RunThread::current();
  if (thread.nested_runs > 0 && !thread.cancellation) thread.cancellation = std::make_shared<Cancellation>();
  ForkedRun fork;
  fork.run = std::make_shared<Run>();
  fork.future = future;
  fork.state = std::make_shared<const ScriptState>();
  if (RunBudget* budget = RunBudget::current(); budget) {
    fork.charge = std::make_shared<const ForkCharge>(
        budget->shared_from_this(), kForkBytes + code->num_registers * sizeof(c10::IValue));
  }
  const bool serial = code->serial_forks;
  fork.run->start(std::move(code), inputs);
  if (serial)
    SerialForks::start(std::move(fork));
  else
    submitFork(std::move(fork));
  return future;
}

FuturePtr startForkFromOutside(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type) {
  const Limits limits = tightest(code->limits, threadLimits());
  std::shared_ptr<RunBudget> budget = RunBudget::currentShared();
  if (limits.any()) budget = std::make_shared<RunBudget>(limits, std::move(budget));
  const BudgetScope scope(std::move(budget));
  const CallOfItsOwn call;
  if (!code->serial_forks) return startFork(std::move(code), std::move(inputs), std::move(result_type));

  // A call on a thread of the pool: it does not leave that thread, nor do its forks.
  auto future = c10::make_intrusive<c10::ivalue::Future>(std::move(result_type));
  auto program = code->program.lock();
  auto state = std::make_shared<const ScriptState>();
  const bool submitted = ThreadPool::get().submit([code, program, inputs, state, future]() mutable {
    try {
      const ScriptState::Guard guard(*state);
      runCode(*code, inputs);
    } catch (...) {
      return future->setError(std::current_exception());
    }
    future->markCompleted(std::move(inputs.at(0)));
  });
  if (!submitted) future->setErrorIfNeeded(dropped("the process is ending"));
  return future;
}

FuturePtr startHere(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type, RunMemory* memory,
    std::shared_ptr<void> kept, TaskLauncher launcher) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(std::move(result_type));
  if (code->serial_forks) {  // it does not leave the thread, nor do its forks
    try {
      if (memory)
        runCodeInMemory(*code, inputs, *memory);
      else
        runCode(*code, inputs);
    } catch (...) {
      kept = nullptr;
      future->setError(std::current_exception());
      return future;
    }
    kept = nullptr;
    future->markCompleted(std::move(inputs.at(0)));
    return future;
  }
  auto& current = RunThread::current().launcher;
  const std::shared_ptr<const TaskLauncher> before = current;
  if (launcher) current = std::make_shared<const TaskLauncher>(std::move(launcher));
  const CallOfItsOwn call;
  ForkedRun run;
  run.run = std::make_shared<Run>();
  run.future = future;
  run.state = std::make_shared<const ScriptState>();
  run.kept = std::move(kept);
  current = before;
  run.run->start(std::move(code), inputs, memory);
  goOn(std::move(run));
  return future;
}

SerialForks* SerialForks::current() {
  return RunThread::current().serial_forks.get();
}

void SerialForks::start(ForkedRun fork) {
  auto& serial_forks = RunThread::current().serial_forks;
  if (!serial_forks) serial_forks = std::make_shared<SerialForks>();
  serial_forks->add(std::move(fork));
}

void SerialForks::add(ForkedRun fork) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(fork));
}

void SerialForks::addAwaited(ForkedRun fork) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(fork.future.get());
    if (!is_over_) {
      ready_.push_back(std::move(fork));
      return;
    }
  }
  if (const auto& serial_forks = RunThread::current().serial_forks)
    return serial_forks->add(std::move(fork));  // of a later call on this thread, which ends it
  start(std::move(fork));
  try {
    finishCall();
  } catch (...) {  // an interrupt, which is none of the business of who completes the future
  }
  endCall();
}

bool SerialForks::runOne() {
  ForkedRun fork;
  {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) return false;
    fork = std::move(ready_.front());
    ready_.pop_front();
  }
  const FuturePtr future = fork.future;
  if (const FuturePtr awaited = advance(fork)) {
    {
      const std::lock_guard lock(mutex_);
      waiting_[future.get()] = awaited.get();
    }
    awaited->addCallback(
        [self = shared_from_this(), fork = std::move(fork)](c10::ivalue::Future&) mutable {
          self->addAwaited(std::move(fork));
        },
        /*uses_future=*/false);
  } else if (future->hasError() && endsForks(future->exception_ptr())) {
    std::rethrow_exception(future->exception_ptr());
  }
  return true;
}

bool SerialForks::breakCircles() {
  std::vector<FuturePtr> dead;
  {
    const std::lock_guard lock(mutex_);
    // Each fork waits for one future, so the way from it either leaves the forks or comes to a circle.
    std::unordered_map<const c10::ivalue::Future*, size_t> seen;
    size_t visit = 0;
    for (const auto& [first, awaited] : waiting_) {
      ++visit;
      for (auto it = waiting_.find(first); it != waiting_.end(); it = waiting_.find(it->second)) {
        const auto [mark, is_new] = seen.try_emplace(it->first, visit);
        if (is_new) continue;
        if (mark->second == visit) dead.push_back(FuturePtr::reclaim_copy(const_cast<c10::ivalue::Future*>(it->first)));
        break;
      }
    }
  }
  for (const FuturePtr& future : dead) {
    future->setErrorIfNeeded(std::make_exception_ptr(
        ScriptError("the fork waits for itself, or for forks that wait for it", "builtins.RuntimeError", {})));
  }
  return !dead.empty();
}

void SerialForks::finish() {
  try {
    while (runOne() || breakCircles()) {
    }
  } catch (const LimitError&) {
    // The call has its result already, and the fork that passed the limit its error.
  }
}

void SerialForks::finishCall() {
  const std::shared_ptr<SerialForks> forks = RunThread::current().serial_forks;
  if (forks) forks->finish();
}

void SerialForks::endCall() noexcept {
  const std::shared_ptr<SerialForks> forks = std::exchange(RunThread::current().serial_forks, nullptr);
  if (!forks) return;
  std::exception_ptr error;  // of all of them
  while (true) {
    ForkedRun fork;
    {
      const std::lock_guard lock(forks->mutex_);
      if (forks->ready_.empty()) {
        forks->is_over_ = true;
        return;
      }
      fork = std::move(forks->ready_.front());
      forks->ready_.pop_front();
    }
    // Forks that wait for this one become ready, and are dropped next.
    if (!error) {
      const Cancellation* cancellation = RunThread::current().cancellation.get();
      error = cancellation && cancellation->isCancelled() ? cancellation->error()
                                                          : dropped("the call that started it has ended");
    }
    dropFork(std::move(fork), error);
  }
}

}  // namespace cresset
