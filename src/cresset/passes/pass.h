// Passes: rewrites of a graph, one per file, listed in passes.def.
//
// A pass does one thing in deterministic order and returns whether it changed anything. It never times, dumps or
// verifies: whoever runs it does.
#pragma once

#include <span>
#include <string_view>

#include "cresset/ir/graph.h"

namespace cresset {

#define PASS(function, name, description) bool function(Graph& graph);
#include "cresset/passes/passes.def"
#undef PASS

/// The function that a call reaches; null if only the running program knows, or if it is none of a Program's.
class Function;
Function* calleeOf(const Node* node);

struct PassInfo {
  std::string_view name;  // "inline"
  std::string_view description;
  bool (*run)(Graph& graph);
};

/// In the order of passes.def.
std::span<const PassInfo> allPasses();
/// Null if there is no such pass.
const PassInfo* findPass(std::string_view name);

}  // namespace cresset
