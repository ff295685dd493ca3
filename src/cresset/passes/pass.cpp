// The registry of passes.
#include "cresset/passes/pass.h"

#include <algorithm>

namespace cresset {

std::span<const PassInfo> allPasses() {
  static constexpr PassInfo kPasses[] = {
#define PASS(function, name, preserves, description) \
  {name, description, Preserves::preserves, [](Graph& graph, const TypeAssumptions&) { return function(graph); }},
#define PASS_FOR_CALLS(function, name, preserves, description) {name, description, Preserves::preserves, function},
#include "cresset/passes/passes.def"
#undef PASS_FOR_CALLS
#undef PASS
  };
  return kPasses;
}

const PassInfo* findPass(std::string_view name) {
  const auto passes = allPasses();
  const auto it = std::find_if(passes.begin(), passes.end(), [&](const PassInfo& p) { return p.name == name; });
  return it == passes.end() ? nullptr : &*it;
}

std::string_view nameOf(Preserves preserves) {
  static constexpr std::string_view kNames[] = {"Nothing", "Derivatives", "Bits", "All"};
  return kNames[static_cast<size_t>(preserves)];
}

}  // namespace cresset
