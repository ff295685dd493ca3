// AliasDb as text, for tests and for people: `cresset-opt --print-alias`. And beside another one.
#include <algorithm>
#include <map>

#include "cresset/analysis/alias.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"

namespace cresset {

std::string AliasDb::describeLocations(const std::vector<Location>& locations) {
  std::map<Location, std::string> names;
  for (const auto& [location, site] : sites_) {
    std::string& name = names[memory_.find(location)];
    if (name.empty()) {
      name = "%" + site.value->debugName();
      for (int depth = 0; depth < site.depth; ++depth) name += "[]";
    } else if (!name.ends_with("…")) {
      name += "…";  // several places whose memory is not distinguished
    }
  }
  std::vector<std::string> texts;
  for (Location location : locations) {
    std::string text;
    if (memory_.isWorld(location)) {
      text = "outside(" + memory_.classes().type(memory_.classOf(location))->annotation_str() + ")";
    } else {
      text = names[location];
      if (memory_.isEscaped(location)) text += " (escapes)";
    }
    texts.push_back(std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result.empty() ? "nothing" : result;
}

void AliasDb::describe(const Block* block, std::string& text) {
  const auto line = [&](const Value* value) {
    if (variableOf(value) == PointsTo::kNone) return;
    text += "%" + value->debugName() + ": " + describeLocations(memory_.locations(variableOf(value)));
    const auto reached = memory_.reach(memory_.locations(variableOf(value)));
    std::vector<Location> inner;
    for (Location location : reached) {
      const auto& own = memory_.locations(variableOf(value));
      if (!std::binary_search(own.begin(), own.end(), location)) inner.push_back(location);
    }
    if (!inner.empty()) text += "; holds " + describeLocations(inner);
    if (hasWriters(value)) text += "; written";
    text += "\n";
  };
  for (const Value* input : block->inputs()) line(input);
  for (const Node* node : block->nodes()) {
    const Changes& found = changes(node);
    for (const Block* inner : Bodies(*node)) describe(inner, text);
    for (const Value* output : node->outputs()) line(output);
    std::vector<Location> written = found.writes;
    for (const auto& [location, slot] : found.slot_writes) written.push_back(location);
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
    if (!Bodies(*node).empty() || (written.empty() && !found.anything)) continue;
    text += std::string(node->kind().toQualString()) + " writes " +
            (found.anything ? "anything that escapes" : describeLocations(written)) + "\n";
  }
}

std::string AliasDb::toString() {
  std::string text;
  describe(graph_.block(), text);
  return text;
}

bool AliasDb::agreesWith(AliasDb& other, const Block* block) {
  // Two analyses of one graph number its locations alike.
  const auto agree = [&](const Value* value) {
    return reached(value) == other.reached(value) && hasWriters(value) == other.hasWriters(value) &&
           memory_.locations(variableOf(value)) == other.memory_.locations(other.variableOf(value)) &&
           mayAliasWorld(value) == other.mayAliasWorld(value);
  };
  const auto all = [&](const auto& values) { return std::all_of(values.begin(), values.end(), agree); };
  const auto nodes = block->nodes();
  return all(block->inputs()) && std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
           const Bodies bodies(*node);
           return all(node->outputs()) && written(node) == other.written(node) &&
                  hasSideEffects(node) == other.hasSideEffects(node) &&
                  readsWritten(node) == other.readsWritten(node) &&
                  std::all_of(
                      bodies.begin(), bodies.end(), [&](const Block* inner) { return agreesWith(other, inner); });
         });
}

bool AliasDb::agreesWith(AliasDb& other) {
  return agreesWith(other, graph_.block());
}

}  // namespace cresset
