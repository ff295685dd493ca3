// Plans: one function, made ready for one signature.
//
// What all plans of a function share is prepared once: its graph with calls inlined, and with the attributes that
// nothing in it writes as inputs of their own. A plan is a copy of that, with types that its signature tells, rewritten
// by the passes (plan.cpp) and emitted as code.
//
// Thread-safety: immutable once made.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cresset/analysis/inner_views.h"
#include "cresset/executor/guards.h"
#include "cresset/executor/memory_layout.h"
#include "cresset/executor/signature.h"
#include "cresset/interpreter/code.h"
#include "cresset/program/program.h"

namespace cresset {

struct PreparedFunction {
  std::shared_ptr<Graph> graph;
  SignatureReader reader;
  std::vector<GuardPoint> guards;
  size_t num_nodes = 0;         // of the graph, guards not counted
  bool differentiates = false;  // asks for gradients itself
};

struct Plan {
  uint64_t id = 0;  // of no other in the process, from 1
  Signature signature;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const Code> code;
  /// Of the guards, by index; some are null.
  std::vector<std::shared_ptr<BailOutSite>> sites;
  /// Of what the code computes into; null if runs bring no memory.
  std::shared_ptr<const MemoryLayout> memory;
  /// Calls of autograd that were not compiled into the graph, and why.
  std::vector<std::string> notes;
  int version = 0;  // how many plans for the signature came before it
  /// Set when another version should be made: this one only watches, or its guards fail.
  std::shared_ptr<std::atomic<bool>> revise;
};

/// The views of the plan's graph, or of a copy of it, that only the graph sees. A plan with memory of its own runs
/// without gradients.
inline InnerViews innerViewsOf(const Plan& plan, const Graph& graph) {
  return innerViews(graph, /*records_gradients=*/!plan.memory);
}

/// What plans are made for.
struct PlanOptions {
  /// Guards inside of plans. Without them plans know nothing of values that no signature tells, and never bail out.
  bool guards = true;
  /// Whether programs may switch gradients on while they run, where those are off at the entry. Else such a program has
  /// no plan, but a note that says so.
  bool gradients = true;
  /// Whether operators may become kernels, as far as the option `kernels` allows.
  bool kernels = true;
  /// Whether results may lie in memory that is laid out for the plan, which its runs bring (plan_memory.h).
  bool planned_memory = false;
  /// … those that leave the graph, too.
  bool managed_outputs = false;
};

/// The prepared form of a defined function.
std::shared_ptr<const PreparedFunction> prepareFunction(Function& function, const PlanOptions& options = {});
/// Of a part of it, which becomes the prepared form.
std::shared_ptr<const PreparedFunction> prepareGraph(
    Function& function, std::shared_ptr<Graph> program, const PlanOptions& options = {});

/// Optimizes for calls of this signature. `earlier` is the plan for it that asked to be revised, if there is one.
std::unique_ptr<Plan> makePlan(
    Function& function, const PreparedFunction& prepared, const Signature& signature, const Plan* earlier = nullptr,
    const PlanOptions& options = {});

}  // namespace cresset
