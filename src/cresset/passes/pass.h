// Passes: rewrites of a graph, one per file, listed in passes.def.
//
// A pass does one thing in deterministic order and returns whether it changed anything. It never times, dumps or
// verifies: whoever runs it does (pipeline.h). In which order passes run stands in pipelines.cpp.
#pragma once

#include <span>
#include <string_view>

#include "cresset/analysis/facts.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// What stays the same for every execution of the graph, beside its meaning.
enum class Preserves : uint8_t {
  Nothing = 0,
  Derivatives = 1,  // autograd can differentiate what comes out, with the same result; else only for regions without
  Bits = 2,         // of results and, with Derivatives, of gradients
  All = 3,
};

#define PASS(function, name, preserves, description) bool function(Graph& graph);
#define PASS_FOR_CALLS(function, name, preserves, description) \
  bool function(Graph& graph, const TypeAssumptions& assumptions);
#include "cresset/passes/passes.def"
#undef PASS_FOR_CALLS
#undef PASS

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

/// In the order of passes.def.
std::span<const PassInfo> allPasses();
/// Null if there is no such pass.
const PassInfo* findPass(std::string_view name);
/// "All", as in passes.def.
std::string_view nameOf(Preserves preserves);

}  // namespace cresset
