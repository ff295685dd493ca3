#include "cresset/program/rules.h"

#include <algorithm>
#include <vector>

#include "cresset/ops/policy.h"

namespace cresset {

Limits limitsOf(const Graph& graph) {
  Limits limits;
  for (const auto& rules : graph.rules()) limits = tightest(limits, rules->limits);
  return limits;
}

bool hasPolicy(const Graph& graph) {
  const Graph::Rules& all = graph.rules();
  return std::any_of(all.begin(), all.end(), [](const auto& rules) { return rules->policy != nullptr; });
}

void checkPolicies(Graph& graph) {
  for (const auto& rules : graph.rules()) {
    if (rules->policy) rules->policy->check(graph);
  }
}

void addRules(Graph& graph, const std::shared_ptr<const ProgramRules>& rules) {
  if (!rules) return;
  graph.addRules({rules});
  std::vector<const Block*> blocks{graph.block()};
  while (!blocks.empty()) {
    const Block* block = blocks.back();
    blocks.pop_back();
    for (const Node* node : block->nodes()) {
      blocks.insert(blocks.end(), node->blocks().begin(), node->blocks().end());
      for (const auto& [name, attribute] : node->attributes()) {
        if (attribute.kind() == Attribute::Kind::Graph) addRules(*attribute.asGraph(), rules);
        if (attribute.kind() != Attribute::Kind::Graphs) continue;
        for (const auto& inner : attribute.asGraphs()) addRules(*inner, rules);
      }
    }
  }
}

}  // namespace cresset
