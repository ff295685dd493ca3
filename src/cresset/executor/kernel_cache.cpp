#include "cresset/executor/kernel_cache.h"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "cresset/codegen/ahead_of_time.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

std::atomic<size_t> compiled_kernels{0};

/// A thread that compiles what is asked for, started with the first request. It is never destroyed, so that threads
/// that still run while the process ends find it.
class CompilerThread {
 public:
  static CompilerThread& get() {
    static auto* thread = [] {
      std::atexit([] { get().stop(); });
      pthread_atfork(nullptr, nullptr, [] { get().startAnew(); });
      return new CompilerThread;
    }();
    return *thread;
  }

  void add(std::weak_ptr<SharedKernel> kernel) {
    const std::lock_guard lock(state_->mutex);
    if (state_->stops) return;
    state_->queue.push_back(std::move(kernel));
    if (!state_->runs) {
      state_->runs = true;
      std::thread([state = state_] { run(*state); }).detach();
    }
    state_->changed.notify_all();
  }

  void wait() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return (state_->queue.empty() && !state_->busy) || state_->stops; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::weak_ptr<SharedKernel>> queue;
    bool runs = false, busy = false, stops = false;
  };

  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    while (true) {
      state.changed.wait(lock, [&] { return !state.queue.empty() || state.stops; });
      if (state.stops) break;
      std::shared_ptr<SharedKernel> kernel = state.queue.front().lock();
      state.queue.pop_front();
      state.busy = true;
      lock.unlock();
      if (kernel) kernel->compile();
      kernel.reset();
      lock.lock();
      state.busy = false;
      state.changed.notify_all();
    }
    state.runs = false;
    state.changed.notify_all();
  }

  /// LLVM must not run while the destructors of static objects do.
  void stop() {
    std::unique_lock lock(state_->mutex);
    state_->stops = true;
    state_->changed.notify_all();
    state_->changed.wait(lock, [&] { return !state_->runs; });
  }

  /// In a process that has been forked: the thread is not there, and its mutex may be locked for ever.
  void startAnew() { state_ = new State; }

  State* state_ = new State;
};

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<SharedKernel>> kernels;
  size_t swept_at = 64;
};

Cache& cache() {
  static auto* all = new Cache;
  return *all;
}

/// A line for perf: where the code is, its size, and the first line of the kernel's text, which is unlike that of most
/// other kernels.
void addToPerfMap(const codegen::MachineCode& code, const codegen::Kernel& kernel) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::ofstream map("/tmp/perf-" + std::to_string(getpid()) + ".map", std::ios::app);
  const std::string text = kernel.toString();
  map << std::hex << reinterpret_cast<uintptr_t>(code.function()) << ' ' << code.size() << " cresset "
      << std::string_view(text).substr(0, text.find('\n')) << '\n';
}

}  // namespace

SharedKernel::SharedKernel(codegen::Kernel kernel)
    : kernel_(std::move(kernel)), function_(codegen::findAheadOfTime(kernel_)), done_(function() != nullptr) {}

std::string SharedKernel::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void SharedKernel::compile() {
  const std::lock_guard lock(mutex_);
  if (done_) return;
  done_ = true;
  const codegen::KernelCompiler* compiler = codegen::kernelCompiler();
  if (!compiler) {
    failure_ = codegen::whyNoCompiler();
    return;
  }
  try {
    code_ = compiler->compile(kernel_);
    compiled_kernels.fetch_add(1, std::memory_order_relaxed);
    if (options::perf_map() == PerfMap::On) addToPerfMap(*code_, kernel_);
    function_.store(code_->function(), std::memory_order_release);
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

std::shared_ptr<SharedKernel> sharedKernel(codegen::Kernel kernel, bool now) {
  std::shared_ptr<SharedKernel> shared;
  bool is_new = false;
  {
    Cache& all = cache();
    const std::lock_guard lock(all.mutex);
    if (all.kernels.size() >= all.swept_at) {
      std::erase_if(all.kernels, [](const auto& entry) { return entry.second.expired(); });
      all.swept_at = 2 * all.kernels.size() + 64;
    }
    std::weak_ptr<SharedKernel>& entry = all.kernels[kernel.toString()];
    shared = entry.lock();
    if (!shared) {
      shared = std::make_shared<SharedKernel>(std::move(kernel));
      entry = shared;
      is_new = true;
    }
  }
  if (now) {
    shared->compile();
  } else if (is_new && !shared->function()) {
    CompilerThread::get().add(shared);
  }
  return shared;
}

void waitForKernels() {
  CompilerThread::get().wait();
}

size_t numCompiledKernels() {
  return compiled_kernels.load(std::memory_order_relaxed);
}

}  // namespace cresset
