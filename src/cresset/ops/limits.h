// Limits of time and memory on running scripts.
//
// A limit holds for one call from outside: the outermost run on its thread, the forks that it starts, and the scripts
// that its operators call; also what is compiled for the call, and what becomes of its result on the way to Python. It
// comes from the program (an archive's load options) or from a LimitScope; of several, the tightest counts. A run that
// passes one ends with LimitError.
//
// Time is looked at between operations and loop iterations, so one long operation ends first; what it takes to drop the
// forks that have not ended is a part of it. Memory is that of tensors
// that the run allocates, less what it frees, plus what its frames, arguments and forks hold: lists, dicts, strings,
// tuples, objects, and tensors beside their data. A tensor on the CPU that does not fit is refused before it is
// allocated, and so is a list or string whose size an operation knows before it is built, if it and the tensors do not
// fit (older containers may be garbage by then, so for a moment they come on top). What grows piece by piece may pass
// the limit by a sixteenth; a result of unknown size is counted when it is there. Not
// counted: what the threads that share the work of one operation allocate for themselves, and memory of other devices.
//
// Thread-safety: a RunBudget is shared by the threads of a run's forks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace cresset {

struct Limits {
  std::optional<double> seconds;
  std::optional<size_t> memory;  // bytes

  bool any() const { return seconds || memory; }
  bool operator==(const Limits&) const = default;
};

/// What one call from outside may take, and has taken. Throws ScriptRaise of kLimitErrorClass.
class RunBudget : public std::enable_shared_from_this<RunBudget> {
 public:
  /// `outer` is the budget of the run that this one happens in, if there is one.
  RunBudget(const Limits& limits, std::shared_ptr<RunBudget> outer);

  /// Of the calling thread; null if nothing limits it.
  static RunBudget* current();
  static std::shared_ptr<RunBudget> currentShared() {
    RunBudget* budget = current();
    return budget ? budget->shared_from_this() : nullptr;
  }

  bool limitsMemory() const { return memory_limit_ != kUnlimited || (outer_ && outer_->limitsMemory()); }
  void checkTime() const;
  /// Throws if `bytes` more would pass the limit; takes nothing.
  void require(size_t bytes) const;
  /// Whether `bytes` more, which may be negative, still fit; they count in any case.
  bool addTensors(int64_t bytes);
  /// Bytes of lists, dicts, strings and objects, as runs count them (interpreter/container_meter.h).
  void addContainers(int64_t bytes);
  /// Forks that have not ended, which may be fewer than before. Dropping one takes time, so that time is kept for them.
  void addForks(int64_t count);
  /// Whether more is taken than the limit, or than the limit and a sixteenth.
  bool isOver(bool by_a_sixteenth) const;
  [[noreturn]] void throwOverMemory(size_t wanted = 0) const;
  /// The memory limit that counts, for messages.
  size_t memoryLimit() const;

 private:
  static constexpr size_t kUnlimited = size_t(1) << 60;  // far enough from the end that sums don't overflow

  int64_t deadline_;  // ns of the steady clock
  double seconds_ = 0;
  size_t memory_limit_;
  std::atomic<int64_t> tensors_{0}, containers_{0}, forks_{0};
  std::shared_ptr<RunBudget> outer_;
};

/// For what takes long beside running scripts: compiling, converting.
inline void checkTimeLimit() {
  if (const RunBudget* budget = RunBudget::current()) [[unlikely]]
    budget->checkTime();
}

/// Makes a budget the calling thread's for a while.
class BudgetScope {
 public:
  explicit BudgetScope(std::shared_ptr<RunBudget> budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  std::shared_ptr<RunBudget> budget_;
  RunBudget* previous_;
};

/// Limits each call that the calling thread makes while this lives, and what loading takes by its memory and the size
/// of the file. Scopes nest; both limits count.
class LimitScope {
 public:
  explicit LimitScope(const Limits& limits);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

 private:
  Limits previous_;
};

/// What LimitScopes say for the calling thread.
Limits& threadLimits();
Limits tightest(const Limits& a, const Limits& b);

/// Around all that one call from outside does: the thread's limits and these hold for the whole of it.
class CallLimits {
 public:
  explicit CallLimits(const Limits& of_program) {
    if (of_program.any() || threadLimits().any()) [[unlikely]]
      enter(of_program);
  }

 private:
  void enter(const Limits& of_program);
  std::optional<BudgetScope> scope_;
};

inline constexpr const char* kLimitErrorClass = "cresset.LimitError";

/// Called by kernels before they build something whose size an argument says.
inline void requireMemory(size_t bytes) {
  if (RunBudget* budget = RunBudget::current()) budget->require(bytes);
}

}  // namespace cresset
