// Every sequence of passes that the product runs. pipelines.cpp says of each step why it is there, and why there.
//
// The file stands in this folder because all that run passes stand above it: derivatives, plans, traces, modules. Where
// a sequence has a step of such a folder (one that needs derivative rules, say), the caller hands it in.
#pragma once

#include <functional>
#include <string>

#include "cresset/passes/pass.h"

namespace cresset {

class Function;

/// A step that stands in a folder above: whether it changed the graph.
using GraphStep = std::function<bool(Graph&)>;

// ---- definitions, and what people look at ----

/// A graph that a script or a trace has just been made into.
void tidyDefinition(Graph& graph);
/// Whether there were calls in it. For what shows or searches a graph with all that it calls.
bool inlineForReading(Graph& graph);
/// The same of a function's graph, as it and those of what it calls are shown (Function::editableGraph).
std::shared_ptr<Graph> inlinedForPeople(Function& function);
/// What is read of lists, dicts and tuples of known elements, in loops over them too, becomes the elements. Whether
/// something changed.
bool readKnownContainers(Graph& graph);
/// How many nodes one run of `inline` adds at most; and freezing, in all its rounds.
inline constexpr size_t kMaxInlinedNodes = 250'000;

// ---- freezing ----

/// Whether something changed; then attributes are to be analyzed anew, and the rest to be folded in another round.
/// `set_types` finds the classes of objects, `fold` reads attributes that nothing writes. Calls stay unless
/// `may_inline`.
bool foldAttributes(Graph& graph, const GraphStep& set_types, const GraphStep& fold, bool may_inline);
/// After the last round.
void tidyFrozen(Graph& graph);
/// What may change bits, `numerics`, and what that leaves.
void optimizeFrozen(Graph& graph, const std::string& name, bool numerics);

// ---- plans ----

/// A copy of a function's graph, which plans for all kinds of arguments start from.
void inlineForPlans(Graph& graph, const std::string& name);
/// What holds for every call: no types needed.
void simplifyForPlans(Graph& graph, const std::string& name);
/// After attributes and entries of arguments have become inputs.
void tidyAfterLifting(Graph& graph, const std::string& name);

/// Steps of a plan that stand above this folder. One that is empty is not wanted.
struct PlanSteps {
  /// Types of arguments that hold once it is known what the graph writes to.
  GraphStep refine_arguments;
  /// Calls of autograd in the program, compiled; true while there may be more to compile.
  GraphStep inline_gradients;
  /// Operators that only have derivatives, or kernels, as what they consist of.
  GraphStep decompose;
  /// Makes the parts of the graph that gradients flow through into subgraphs, differentiated at compile time.
  GraphStep create_regions;
  /// Whether operators that one kernel can compute become fusion groups.
  bool fuse = false;
};
/// The graph of a plan, specialized to the kinds of arguments of the calls that it is for.
void optimizeForCalls(
    Graph& graph, const std::string& name, const TypeAssumptions& assumptions, const PlanSteps& steps);
/// As far as `CRESSET_CHECK_FACTS=unoptimized` wants it: types, and nothing else.
void findTypesOnly(Graph& graph, const std::string& name, const TypeAssumptions& assumptions);

// ---- gradients ----

/// A derivative rule as it was compiled.
void inlineRule(Graph& graph, const std::string& name);
/// A rule with the operands of one call put in, or all the rules of a backward graph.
void simplifyRule(Graph& graph);
/// The backward graph of a region, when it is whole.
void tidyBackward(Graph& graph);
/// What runs of a region forward, after parts of it were decomposed for kernels.
void tidyRegion(Graph& graph, const TypeAssumptions& assumptions);
/// What derivative rules or decompositions have put into a plan's graph. `name` is that of the pipeline.
void fitRulesToRanks(Graph& graph, const std::string& name, const TypeAssumptions& assumptions);

}  // namespace cresset
