// Passes: rewrites of a graph, one per file, in which its row stands:
//
//   CRESSET_PASS(sinkIntoBranches, "sink", All, "Compute in a branch what only that branch uses")
//
// From the rows come the registry, `cresset-opt --passes NAME,NAME`, cresset.passes and docs/passes.md. A pass stands
// in the file of its name, with underscores.
//
// A pass does one thing in deterministic order and returns whether it changed anything. It never times, dumps or
// verifies: whoever runs it does (pipeline.h). In which order passes run stands in pipelines.cpp.
#pragma once

#include <span>
#include <string_view>

#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// What stays the same for every execution of the graph, beside its meaning. Flags: All is both.
enum class Preserves : uint8_t {
  Nothing = 0,
  Derivatives = 1,  // autograd can differentiate what comes out, with the same result; else only for regions without
  Bits = 2,         // of results and, with Derivatives, of gradients
  All = 3,
};

// Passes that are called as functions, too; the others run by their names (pipeline.h).
bool inlineCalls(Graph& graph);
bool normalizeOperators(Graph& graph);
bool poolConstants(Graph& graph);
bool propagateConstants(Graph& graph);
bool simplifyBranches(Graph& graph);
bool eliminateDeadCode(Graph& graph);
bool mergeCommonSubexpressions(Graph& graph);
bool removeListMutation(Graph& graph);
bool propagateTypes(Graph& graph, const TypeAssumptions& assumptions);
bool formFusionGroups(Graph& graph);
bool formSequences(Graph& graph);

/// The function that a call reaches; null if only the running program knows, or if it is none of a Program's.
class Function;
Function* calleeOf(const Node* node);

struct PassInfo {
  std::string_view name;  // "inline"
  std::string_view description;
  Preserves preserves;
  /// The rewritten graph is right for calls that the assumptions hold for.
  bool (*run)(Graph& graph, const TypeAssumptions& assumptions);
};

/// A row. All are made before other objects of the library, of which some read the options of passes.
class RegisteredPass {
 public:
  explicit RegisteredPass(const PassInfo& pass);
};
#define CRESSET_PASS_ROW(function) [[gnu::init_priority(1000)]] static const RegisteredPass function##Row
#define CRESSET_PASS(function, name, preserves, description) \
  CRESSET_PASS_ROW(function)                                 \
  ({name, description, Preserves::preserves, [](Graph& graph, const TypeAssumptions&) { return function(graph); }});
/// The function has a second parameter, what holds for the calls that the graph is rewritten for.
#define CRESSET_PASS_FOR_CALLS(function, name, preserves, description) \
  CRESSET_PASS_ROW(function)({name, description, Preserves::preserves, function});

/// In the order of their names.
std::span<const PassInfo> allPasses();
/// Null if there is no such pass.
const PassInfo* findPass(std::string_view name);
/// "All", as in the rows.
std::string_view nameOf(Preserves preserves);

}  // namespace cresset
