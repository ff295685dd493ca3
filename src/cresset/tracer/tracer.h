// Tracing: a program made by running one. What PyTorch operators a function calls on example inputs becomes a graph.
//
// A trace is straight-line code: decisions that the function took are not in it. Sizes are: a trace of a function that
// works for any batch size works for any batch size, if the sizes come from Recorder::size (in Python, all do).
//
// Thread-safety: several threads may trace at once; each sees only its own operators.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cresset/ops/operator.h"
#include "cresset/program/program.h"

namespace c10 {
struct IValue;
}

namespace cresset {

/// Whether this thread records into a trace.
bool tracing() noexcept;

/// What calls of script functions from outside go through: runs `function` on its arguments at the end of `stack`.
/// While this thread traces, the call is recorded as a call, so that the function's control flow is kept.
inline void runOrTrace(Function& function, std::vector<c10::IValue>& stack);

namespace tracer {

void runTraced(Function& function, std::vector<c10::IValue>& stack);

/// Declares a function whose body is `graph`: a method called `name` if `self` is given, else a function of this
/// qualified name, mangled if it is taken.
Function& declareTraced(
    Program& program, const c10::ClassTypePtr& self, const std::string& name, std::shared_ptr<Graph> graph);

}  // namespace tracer

inline void runOrTrace(Function& function, std::vector<c10::IValue>& stack) {
  if (tracing()) [[unlikely]] {
    tracer::runTraced(function, stack);
  } else {
    function.run(stack);
  }
}

}  // namespace cresset
