// What runs keep of the thread that they are on, in one place: each look-up of a variable of the thread costs as much
// as an instruction of the interpreter, so a call looks it up once.
#pragma once

#include <memory>

#include "cresset/interpreter/futures.h"
#include "cresset/interpreter/start_here.h"

namespace cresset {

class Run;
class SerialForks;

struct RunThread {
  RunThread();
  ~RunThread();
  RunThread(const RunThread&) = delete;
  RunThread& operator=(const RunThread&) = delete;
  static RunThread& current();

  /// Runs inside runs: an operator or a custom class called back.
  int nested_runs = 0;
  InterruptPoll interrupt;
  /// Forks of the call that the thread is in, from its first fork on.
  std::shared_ptr<SerialForks> serial_forks;
  /// Of the call that the thread is in, from its first fork on, or whose fork it runs.
  std::shared_ptr<Cancellation> cancellation;
  bool runs_fork = false;
  /// Runs the forks that are started here; null for the pool of threads.
  std::shared_ptr<const TaskLauncher> launcher;
  /// Kept, so that a call allocates nothing.
  std::unique_ptr<Run> spare_run;
};

}  // namespace cresset
