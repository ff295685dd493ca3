#include "cresset/passes/pipelines.h"

#include <algorithm>

#include "cresset/passes/pipeline.h"

namespace cresset {
namespace {

/// Gradients of gradients of gradients that are compiled.
constexpr int kMaxOrders = 8;

/// Programs that people wrote, with nothing known of their arguments.
void simplify(Pipeline& passes) {
  passes.repeat(4, [&] {
    // Values that tuples carry across branches and loops get types of their own, which the next pass reads.
    passes.run("lower-tuples");
    // `x is None`, `isinstance` and casts that types decide become constants.
    passes.run("peephole");
    // Constants choose branches; what stood in the others is gone.
    passes.run("constant-propagation");
    // Without those, outputs are the same on all ways: more tuples, types and constants come to light.
    passes.run("simplify-branches");
  });
}

/// Once for each state in which a graph is found on its way to a plan.
void optimize(Pipeline& passes) {
  // Branches that are gone no longer stand in the way of types, and types decide further branches.
  passes.repeat(3, [&] {
    passes.run("propagate-types");
    // Needs types, to know what is cast; casts give operators other dtypes.
    if (passes.run("insert-autocast-casts")) passes.run("propagate-types");
    passes.repeat(4, [&] {
      passes.run("peephole");
      passes.run("constant-propagation");
      passes.run("simplify-branches");
      passes.run("lower-tuples");
    });
    // Ranks tell how many sizes a tensor has, and constants which way lists and dicts are filled.
    passes.run("remove-list-mutation");
    passes.run("remove-dict-mutation");
    passes.run("read-containers");
    // Last of the round, as it needs types to know what autograd keeps; what nothing writes to has better types.
    passes.run("remove-tensor-mutation");
  });
  // Once branches and types are settled. First out of loops, so that what two loops compute alike is merged; both leave
  // nodes without uses, and "cse" constants.
  passes.run("licm");
  passes.run("cse");
  passes.run("dce");
  // Last: "dce" has removed the unneeded uses of constants.
  passes.run("pool-constants");
}

/// How deep operators are decomposed.
constexpr int kMaxLevels = 8;

bool isLoop(const Node* node) {
  return node->kind() == prim::Loop;
}

}  // namespace

// The passes that definitions and views run are called as functions: options that watch, disable or fail passes are for
// the optimizer, and a program must compile and show the same whatever they say.

void tidyDefinition(Graph& graph) {
  // As people know graphs from torch.jit. The rest stays unoptimized, for them to read.
  normalizeOperators(graph);
  poolConstants(graph);
}

bool inlineForReading(Graph& graph) {
  if (!inlineCalls(graph)) return false;
  // Branches of what was called that a constant argument settles, as torch.jit has it.
  propagateConstants(graph);
  return true;
}

bool readKnownContainers(Graph& graph) {
  constexpr int kRounds = 4;  // loops around loops
  bool changed = false;
  for (int round = 0; round < kRounds; ++round) {
    bool again = false;
    for (const char* name :
         {"lower-tuples", "remove-list-mutation", "remove-dict-mutation", "read-containers", "constant-propagation",
          "unroll"}) {
      again |= findPass(name)->run(graph, {});
    }
    changed |= again;
    if (!again) break;
  }
  return changed;
}

bool foldAttributes(Graph& graph, const GraphStep& set_types, const GraphStep& fold, bool may_inline) {
  Pipeline passes(graph, "frozen");
  // Types first: methods of objects are inlined only where the class is known. Then what was called must be analyzed
  // before anything is folded, since it may write attributes.
  bool changed = set_types(graph);
  if (may_inline) changed |= passes.run("inline");
  if (changed) return true;
  changed |= fold(graph);
  // Attributes that are constants now decide branches.
  changed |= passes.run("constant-propagation");
  changed |= passes.run("simplify-branches");
  // Lists of modules' values that were filled, and the types of what came out, let more be folded.
  changed |= passes.run("remove-list-mutation");
  changed |= passes.run("peephole");
  changed |= passes.run("lower-tuples");
  // Reads and writes that are gone no longer keep attributes from being folded.
  changed |= passes.run("dce");
  return changed;
}

void tidyFrozen(Graph& graph) {
  Pipeline passes(graph, "frozen");
  // What only inputs of forks needed that are gone.
  passes.run("dce");
  // Only now, as each round adds constants.
  passes.run("pool-constants");
}

void optimizeFrozen(Graph& graph, const std::string& name, bool numerics) {
  Pipeline passes(graph, name);
  if (numerics) {
    // A batch norm that is folded makes the convolution's weights new constants, into which the next operator may be
    // folded; the old ones must have lost their uses by then.
    while (passes.run("fold-into-weights")) passes.run("dce");
  }
  // Where fold() has left attributes of modules that were preserved, operators may have become computable since.
  passes.run("constant-propagation");
  // As other definitions, for people to read.
  passes.run("pool-constants");
  passes.run("dce");
}

void inlineForPlans(Graph& graph, const std::string& name) {
  // By itself: the caller measures what came out, and drops the types that the text claims, before anything reads them.
  Pipeline(graph, name).run("inline");
}

void simplifyForPlans(Graph& graph, const std::string& name) {
  Pipeline passes(graph, name);
  // Archives may have the other names.
  passes.run("normalize-operators");
  simplify(passes);
  // Iterations of a loop, then elements of the lists that they filled, become values of their own. An element may be
  // the length of a further loop.
  passes.repeat(3, [&] {
    if (passes.run("unroll")) simplify(passes);
    passes.run("remove-list-mutation");
    passes.run("remove-dict-mutation");
  });
  simplify(passes);
  // Attributes that are read and not needed are not to become inputs.
  passes.run("dce");
}

void tidyAfterLifting(Graph& graph, const std::string& name) {
  // What read them, and the objects that nothing else was read of.
  Pipeline(graph, name).run("dce");
}

void optimizeForCalls(
    Graph& graph, const std::string& name, const TypeAssumptions& assumptions, const PlanSteps& steps) {
  Pipeline passes(graph, name, assumptions);
  const auto changes = [&](const GraphStep& step) { return step && step(graph); };
  optimize(passes);
  // The signature tells what is in lists of integers and strings that are attributes, and ranks how many sizes there
  // are: loops over them have a known length now.
  passes.repeat(3, [&] {
    if (passes.run("unroll")) optimize(passes);
  });
  // Which arguments are written to is clear once branches that the call doesn't take are gone.
  if (changes(steps.refine_arguments)) optimize(passes);
  // Before gradients are looked for: rules are for the parts. They may be composite themselves, and autocast may cast
  // what they are called with.
  for (int level = 0; level < kMaxLevels && changes(steps.decompose); ++level) optimize(passes);
  if (steps.inline_gradients) {
    // A gradient that is there may itself be differentiated, by a call that sees it only after passes have cleaned up.
    for (int order = 0; order < kMaxOrders && changes(steps.inline_gradients); ++order) optimize(passes);
    // Rules bring operators of their own.
    if (changes(steps.decompose)) optimize(passes);
  }
  // After all of those: no rule and no pass knows the operators that it makes. Autocast would cast the weights that it
  // packs. Packed weights are new constants.
  if (assumptions.usual_dispatch && !assumptions.autocast.isOn() && passes.run("channels-last"))
    passes.run("pool-constants");
  // Conditions that are the same are one value by now.
  passes.run("merge-branches");
  // After "licm", which would take it out of branches in loops again, and once what a chain of branches uses is used by
  // one. No further pass makes new ones.
  passes.run("sink");
  // A region is differentiated as it stands. Lists that its operators took are made in it.
  if (changes(steps.create_regions)) passes.run("dce");
  // Last: to other passes a group is no operators any more.
  if (steps.fuse && passes.run("fuse")) passes.run("sequence");
}

void findTypesOnly(Graph& graph, const std::string& name, const TypeAssumptions& assumptions) {
  Pipeline(graph, name, assumptions).run("propagate-types");
}

void inlineRule(Graph& graph, const std::string& name) {
  // Rules call helpers that they share.
  Pipeline(graph, name).run("inline");
}

void simplifyRule(Graph& graph) {
  Pipeline passes(graph, "gradient");
  // Rules are written for any rank and any options; with constants put in, little of them is left. Rounds end as soon
  // as nothing changes: rules are many, and most need one.
  passes.repeat(6, [&] {
    passes.run("lower-tuples");
    passes.run("peephole");
    passes.run("constant-propagation");
    passes.run("simplify-branches");
    const auto nodes = graph.nodes();
    if (std::any_of(nodes.begin(), nodes.end(), isLoop)) passes.run("unroll");
    // Lists of sizes and dimensions.
    passes.run("remove-list-mutation");
  });
}

void tidyBackward(Graph& graph) {
  // Each rule has brought its own constants.
  Pipeline(graph, "gradient").run("pool-constants");
}

void tidyRegion(Graph& graph, const TypeAssumptions& assumptions) {
  Pipeline passes(graph, "region", assumptions);
  // Tuples that branches return have elements of known types then.
  if (passes.run("lower-tuples")) passes.run("propagate-types");
  // Decompositions have brought their own constants, and what they don't need here.
  passes.run("cse");
  passes.run("dce");
  passes.run("pool-constants");
}

void fitRulesToRanks(Graph& graph, const std::string& name, const TypeAssumptions& assumptions) {
  Pipeline passes(graph, name, assumptions);
  passes.repeat(4, [&] {
    // The ranks of what they were put between decide the branches of rules, and the lengths of their loops.
    passes.run("propagate-types");
    passes.run("peephole");
    passes.run("constant-propagation");
    passes.run("simplify-branches");
    passes.run("unroll");
    passes.run("remove-list-mutation");
  });
}

}  // namespace cresset
