// Running functions: Code is a function's graph as register-machine instructions; a Run is one execution.
//
// Script calls push frames, not C++ stack. An execution can be suspended (a `wait` on a future that is not done) and
// resumes later on another thread.
// Thread-safety: Code is immutable; a Run belongs to one thread at a time.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "cresset/program/program.h"

namespace cresset {

class Code;

/// Emits code for a verified graph. `name` is what stacks and listings call it.
std::shared_ptr<const Code> emitCode(const std::shared_ptr<Graph>& graph, std::string name);

/// The instructions for people to read: one per line, `r3 = aten::mm(move r0, move r2)  # model.py:4`.
std::string disassemble(const Code& code);

/// Runs to the end: pops the inputs, pushes the outputs. Waits (without holding a pool thread) for futures.
void runCode(const Code& code, Stack& stack);
/// The same for who has asked whether a profiler watches (ScriptProfile::isWanted).
void runCode(const Code& code, Stack& stack, bool is_profiled);

/// How deep script calls may nest before ScriptError "maximum recursion depth exceeded" ("builtins.RecursionError").
inline constexpr size_t kMaxCallDepth = 10000;

/// How many threads run forks; they start with the first fork. 0, the default, stands for PyTorch's number of inter-op
/// threads (at::get_num_interop_threads). Throws UserError once they have started.
void setForkThreads(size_t count);
size_t numForkThreads();
/// Interrupts forks that run, drops those that wait, and joins the threads; forks are an error from then on. Happens by
/// itself when the process ends; for hosts that go away before that.
void stopForks();
/// Called first on each thread that runs forks.
void setForkThreadStart(void (*start)());

/// Asks the executions of the calling thread's runs to stop: they throw ScriptError "interrupted"
/// ("builtins.KeyboardInterrupt") at the next call or loop iteration. `check` is called every few milliseconds while
/// scripts run on this thread, and returns true to interrupt (the Python extension asks PyErr_CheckSignals). Null to
/// remove.
void setInterruptCheck(bool (*check)());
/// Makes of an exception that an operator threw the one that propagates as a HostException (ops/host_callable.h). Null
/// for what is none of the host's; `message` is what the script's error will say then, and may be changed.
using HostExceptionFilter = std::exception_ptr (*)(const std::exception_ptr& exception, std::string& message);
/// For all threads, before scripts run.
void setHostExceptionFilter(HostExceptionFilter filter);

}  // namespace cresset
