// Runs that begin on the calling thread and may go on elsewhere.
#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <vector>

namespace cresset {

class Code;
class RunMemory;

/// Runs a task, at once or on some thread. The task does not throw.
using TaskLauncher = std::function<void(std::function<void()>)>;

/// Runs `code` on the calling thread until it ends, or waits for a future that is not done: then it goes on as forks
/// do. Its forks run by the launcher, without one on the pool. `memory`: what out variants compute into; null if the
/// code calls none. `kept` is let go when the run has ended, before the future is done.
c10::intrusive_ptr<c10::ivalue::Future> startHere(
    std::shared_ptr<const Code> code, std::vector<c10::IValue> inputs, c10::TypePtr result_type, RunMemory* memory,
    std::shared_ptr<void> kept, TaskLauncher launcher);

}  // namespace cresset
