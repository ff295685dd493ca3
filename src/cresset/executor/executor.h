// The executor: which code runs a call from outside.
//
// The first call of a function runs the unoptimized program: many functions are called once, and compiling only what
// runs keeps starts short (unless an argument or a parameter requires a gradient, or convolutions may choose their
// layout). From the second call on, the signature of a call (signature.h) chooses a plan, which is made when its
// signature is first met. Plans are found without a lock and published whole. Their number is bounded: calls of further
// kinds run the unoptimized program, but for one in many, which gets a plan in place of the one unused for longest. So
// do calls that plans don't serve: see SignatureReader::read, runs that a profiler watches or that have a memory limit,
// and all calls while the mode is Interpret.
//
// When plans and when the program itself run shows in nothing but speed, but for the programs that are the exception
// above: those calls of them that plans don't serve may differ in last bits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/executor/plan.h"
#include "cresset/executor/plan_set.h"
#include "cresset/program/program.h"

namespace cresset {

/// What explain tells of a function.
struct ExecutionReport {
  struct PlanReport {
    std::string where;                    // "from the loop at model.py:7 on"; empty for the whole function
    std::string ambient;                  // "gradients on"
    std::vector<std::string> inputs;      // "x: Float(*, *)"
    std::vector<std::string> attributes;  // that it reads when it is entered: "self.weight: Float(*, requires_grad=1)"
    std::vector<std::string> guards;      // inside: "h: Float(*, *)", "h: Float(*, *), failed 2 times", "h: watched"
    std::vector<std::string> gradients;   // regions with compiled gradients, operators that are left to autograd's tape
    std::vector<std::string> kernels;     // fusion groups; operators that kernels know and that are in none, and why
    std::vector<std::string> notes;       // calls of autograd that were not compiled into the graph, and why
    std::shared_ptr<Graph> graph;         // optimized; must not be changed
    size_t num_nodes = 0;
  };
  std::string function;  // qualified name
  std::string state;     // why no plans are used, or empty
  size_t num_nodes = 0;  // of the program's own graph with calls inlined; 0 before the first plan
  std::vector<PlanReport> plans;
  std::array<uint64_t, kNumWithoutPlan> without_plan = {};  // calls from outside, by reason
  std::vector<std::string> errors;                          // of the optimizer
  uint64_t entered_from_loops = 0;                          // how often a first call went on in a plan from a loop on
};

/// "limits of time or memory", for people.
std::string_view toString(WithoutPlan reason);

/// Safe to call while other threads call the function.
ExecutionReport explain(Function& function);

/// Forgets the function's plans: calls make new ones, by the options of then. Safe to call while other threads call it.
void forgetPlans(Function& function);

/// The optimized graph that a call with these arguments would run (it is made if needed); the function's own graph if
/// such a call would run the unoptimized program. Must not be changed.
std::shared_ptr<Graph> graphFor(Function& function, Stack arguments);
/// The graph of the plan that ran last on any thread; null if none has. Must not be changed.
std::shared_ptr<Graph> lastExecutedOptimizedGraph(Function& function);
/// The same for the last call of any function on this thread.
std::shared_ptr<Graph> lastExecutedOptimizedGraph();

}  // namespace cresset
