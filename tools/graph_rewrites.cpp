#include "graph_rewrites.h"

#include "cresset/functionalization/functionalize.h"

using namespace cresset;

namespace {

constexpr PassInfo kRewrites[] = {
    {"functionalize", "Writes become new values (docs/functionalization.md); those that can't stay", Preserves::Bits,
     [](Graph& graph, const TypeAssumptions&) { return functionalize(graph, /*inputs_are_distinct=*/false).changed; }},
    {"remove-views", "Views become copies, where nothing is written any more", Preserves::Bits,
     [](Graph& graph, const TypeAssumptions&) { return removeViews(graph), true; }},
    {"tidy-functional", "Remove what functionalize leaves that is not needed", Preserves::All,
     [](Graph& graph, const TypeAssumptions&) { return tidyFunctional(graph), true; }},
    {"reinplace", "Values that take the place of others are written into their memory", Preserves::Bits,
     [](Graph& graph, const TypeAssumptions&) { return reinplace(graph, /*inputs_are_distinct=*/false); }},
};

}  // namespace

std::vector<const PassInfo*> passesAndRewrites() {
  std::vector<const PassInfo*> all;
  for (const PassInfo& pass : allPasses()) all.push_back(&pass);
  for (const PassInfo& rewrite : kRewrites) all.push_back(&rewrite);
  return all;
}

const PassInfo* findPassOrRewrite(std::string_view name) {
  for (const PassInfo& rewrite : kRewrites) {
    if (rewrite.name == name) return &rewrite;
  }
  return findPass(name);
}
