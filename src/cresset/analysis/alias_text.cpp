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

std::vector<std::string> AliasDb::namesForComparison(const std::vector<Location>& locations) {
  std::vector<std::string> names;
  for (const Location location : locations) {
    names.push_back(
        memory_.isWorld(location) ? memory_.classes().type(memory_.classOf(location))->annotation_str()
                                  : std::to_string(location));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string AliasDb::differenceFrom(AliasDb& other, const Block* block) {
  const auto same = [&](const std::vector<Location>& mine, const std::vector<Location>& others) {
    return mine == others || namesForComparison(mine) == other.namesForComparison(others);
  };
  const auto ofValue = [&](const Value* value) {
    if (!same(reached(value), other.reached(value))) return "what is reached from";
    if (!same(memory_.locations(variableOf(value)), other.memory_.locations(other.variableOf(value))))
      return "the memory of";
    if (hasWriters(value) != other.hasWriters(value)) return "whether anything writes to";
    return mayAliasWorld(value) != other.mayAliasWorld(value) ? "whether the outside holds" : "";
  };
  const auto ofNode = [&](const Node* node) {
    if (!same(written(node), other.written(node))) return "what is written by";
    if (hasSideEffects(node) != other.hasSideEffects(node)) return "side effects of";
    return readsWritten(node) != other.readsWritten(node) ? "whether anything writes to what is read by" : "";
  };
  const auto ofValues = [&](const auto& values) -> std::string {
    for (const Value* value : values) {
      if (const std::string what = ofValue(value); !what.empty()) return what + " %" + value->debugName();
    }
    return "";
  };
  if (std::string found = ofValues(block->inputs()); !found.empty()) return found;
  for (const Node* node : block->nodes()) {
    if (std::string found = ofValues(node->outputs()); !found.empty()) return found;
    if (const std::string found = ofNode(node); !found.empty()) return found + " " + node->kind().toQualString();
    for (const Block* inner : Bodies(*node)) {
      if (std::string found = differenceFrom(other, inner); !found.empty()) return found;
    }
  }
  return "";
}

std::string AliasDb::differenceFrom(AliasDb& other) {
  return differenceFrom(other, graph_.block());
}

}  // namespace cresset
