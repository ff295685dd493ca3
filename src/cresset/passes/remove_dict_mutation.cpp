// Dicts that are filled after they were made: `d = {}; d["a"] = x` becomes one prim::DictConstruct, and what is read of
// such a dict at a constant key is the value that was put there.
//
// As for lists (remove_list_mutation.cpp): a dict is followed from where it is made to the first node that does
// anything else with it, and dicts that nothing writes to are read anywhere. Only keys that are constant strings, ints
// and bools are followed, each once in the dict.
//
// Of other dicts, arguments for one, an entry is known from where it was read or set to where something may change it:
// `data["energy"] = e; data["energy"].sum()` becomes `data["energy"] = e; e.sum()`.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/read_containers.h"

namespace cresset {
namespace {

class DictBuilder {
 public:
  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      if (absorb(node)) {
        changed_ = true;
        continue;
      }
      for (const Value* input : node->inputs()) untouched_.erase(input);
      for (Block* inner : node->blocks()) run(inner);
      if (node->kind() != prim::DictConstruct) continue;
      if (auto places = placesOf(node)) untouched_.emplace(node->output(), std::move(*places));
    }
    for (const Value* output : block->outputs()) untouched_.erase(output);
    return changed_;
  }

 private:
  bool absorb(Node* node) {
    if (node->inputs().empty()) return false;
    Value* dict = node->input(0);
    const auto found = untouched_.find(dict);
    if (found == untouched_.end() || dict->owningBlock() != node->owningBlock()) return false;
    DictPlaces& places = found->second;
    Node* made = dict->node();
    if (forwardEntry(node, made, places)) return true;
    if (entryUse(*node) != EntryUse::Sets || node->input(2) == dict) return false;
    const auto key = constantKey(node->input(1));
    if (!key) return false;
    // What is put in may have been computed after the dict was made.
    made->moveBefore(node);
    untouched_.erase(node->input(2));  // a dict that another one holds
    const auto [place, added] = places.emplace(*key, made->inputs().size() + 1);
    if (added) {
      made->addInput(node->input(1));
      made->addInput(node->input(2));
    } else {
      made->replaceInput(place->second, node->input(2));
    }
    node->destroy();
    return true;
  }

  std::unordered_map<const Value*, DictPlaces> untouched_;
  bool changed_ = false;
};

class EntryForwarder {
 public:
  explicit EntryForwarder(Graph& graph) : memory_(aliasesOf(graph)) {}

  bool run(Block* block) {
    std::vector<Entry*> added;
    for (Node* node : block->nodesSafely()) {
      if (node->kind() == prim::Loop) forgetWhatChangesIn(node->blocks()[0]);  // in the iterations before
      for (Block* inner : node->blocks()) run(inner);
      if (forward(node)) continue;
      if (mayChangeEntries(node)) forgetWhatChanges(node);
      const bool reads = readsEntry(node) && node->input(0)->type()->kind() == c10::TypeKind::DictType;
      const bool sets = changedKey(node).has_value();
      if (!reads && !sets) continue;
      const auto key = constantKey(node->input(1));
      if (!key) continue;
      if (known_.size() >= kMaxDicts && !known_.contains(node->input(0))) continue;
      Entries& of_dict = known_[node->input(0)];
      Entry& entry = of_dict.entries[*key];
      entry = {sets ? node->input(2) : node->output(), of_dict.time};
      added.push_back(&entry);
    }
    // It did not happen on every way.
    if (block->owningNode()) {
      for (Entry* entry : added) entry->time = 0;
    }
    return changed_;
  }

 private:
  struct Entry {
    Value* value = nullptr;
    size_t time = 0;
  };
  struct Entries {
    std::unordered_map<std::string, Entry> entries;  // those hold that are of now
    size_t time = 1;
  };

  /// Each node that changes entries is looked at for each dict.
  static constexpr size_t kMaxDicts = 32;

  bool forward(Node* node) {
    if (!readsEntry(node) || node->input(0)->type()->kind() != c10::TypeKind::DictType) return false;
    const auto key = constantKey(node->input(1));
    const auto entries = key ? known_.find(node->input(0)) : known_.end();
    if (entries == known_.end()) return false;
    const auto found = entries->second.entries.find(*key);
    if (found == entries->second.entries.end() || found->second.time != entries->second.time) return false;
    node->output()->replaceAllUsesWith(found->second.value);
    node->destroy();
    return changed_ = true;
  }

  void forgetWhatChangesIn(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) forgetWhatChangesIn(inner);
      if (mayChangeEntries(node)) forgetWhatChanges(node);
    }
  }

  void forgetWhatChanges(const Node* node) {
    const auto changed = changedKey(node);
    for (auto& [dict, known] : known_) {
      const auto found = changed ? known.entries.find(*changed) : known.entries.end();
      if ((changed && found == known.entries.end()) || !mayChangeEntriesOf(*memory_, node, dict)) continue;
      if (changed) {
        found->second.time = 0;
      } else {
        ++known.time;
      }
    }
  }

  const std::shared_ptr<AliasDb> memory_;
  std::unordered_map<Value*, Entries> known_;
  bool changed_ = false;
};

bool readsEntries(Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](Node* node) {
    return readsEntry(node) || std::any_of(node->blocks().begin(), node->blocks().end(), readsEntries);
  });
}

}  // namespace

static bool removeDictMutation(Graph& graph) {
  bool changed = DictBuilder().run(graph.block());
  changed |= readDicts(graph);
  if (readsEntries(graph.block())) changed |= EntryForwarder(graph).run(graph.block());
  return changed;
}

CRESSET_PASS(
    removeDictMutation, "remove-dict-mutation", All,
    "Make dicts at once that are filled after they were made; read known entries")

}  // namespace cresset
