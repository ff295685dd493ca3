// Dicts that are filled after they were made: `d = {}; d["a"] = x` becomes one prim::DictConstruct, and what is read of
// such a dict at a constant key is the value that was put there.
//
// As for lists (remove_list_mutation.cpp): a dict is followed from where it is made to the first node that does
// anything else with it, and dicts that nobody writes to are read anywhere. Only keys that are constant strings, ints
// and bools are followed, each once in the dict.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <string>
#include <unordered_map>

#include "cresset/analysis/alias.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// Different for different keys of one dict; nothing if the key is not known.
std::optional<std::string> knownKey(const Value* value) {
  const auto constant = toIValue(value);
  if (!constant) return std::nullopt;
  if (constant->isString()) return constant->toStringRef();
  if (constant->isInt()) return std::to_string(constant->toInt());
  if (constant->isBool()) return constant->toBool() ? "True" : "False";
  return std::nullopt;
}

/// Where the values of a dict's keys stand among the inputs of the node that makes it.
using Places = std::unordered_map<std::string, size_t>;

std::optional<Places> placesOf(const Node* made) {
  Places places;
  for (size_t i = 0; i < made->inputs().size(); i += 2) {
    const auto key = knownKey(made->input(i));
    if (!key || !places.emplace(*key, i + 1).second) return std::nullopt;
  }
  return places;
}

bool startsWith(const std::string& name, std::string_view prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

/// Replaces the output of a node that reads the dict. False if it does something else or the key is not there.
bool forwardEntry(Node* node, const Node* made, const Places& places) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (!op || node->input(0) != made->output()) return false;
  const std::string& name = op->fullName();
  Value* known = nullptr;
  if (startsWith(name, "aten::len.Dict_")) {
    known = insertConstantBefore(node, static_cast<int64_t>(places.size()));
  } else if (startsWith(name, "aten::__getitem__.Dict_") || startsWith(name, "aten::__contains__.")) {
    const auto key = knownKey(node->input(1));
    if (!key) return false;
    const auto place = places.find(*key);
    if (startsWith(name, "aten::__contains__.")) {
      known = insertConstantBefore(node, place != places.end());
    } else if (place != places.end()) {
      known = made->input(place->second);
    }
  }
  if (!known) return false;
  node->output()->replaceAllUsesWith(known);
  node->destroy();
  return true;
}

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
    Places& places = found->second;
    Node* made = dict->node();
    if (forwardEntry(node, made, places)) return true;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op || !startsWith(op->fullName(), "aten::_set_item.") || node->input(2) == dict) return false;
    const auto key = knownKey(node->input(1));
    if (!key) return false;
    // What is put in may have been computed after the dict was made.
    made->moveBefore(node);
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

  std::unordered_map<const Value*, Places> untouched_;
  bool changed_ = false;
};

class DictReader {
 public:
  explicit DictReader(Graph& graph) : memory_(graph) {}

  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) run(inner);
      if (node->inputs().empty()) continue;
      const Node* made = node->input(0)->node();
      if (made->kind() != prim::DictConstruct || memory_.hasWriters(made->output())) continue;
      auto known = places_.find(made);
      if (known == places_.end()) known = places_.emplace(made, placesOf(made)).first;
      if (known->second) changed_ |= forwardEntry(node, made, *known->second);
    }
    return changed_;
  }

 private:
  AliasDb memory_;
  std::unordered_map<const Node*, std::optional<Places>> places_;
  bool changed_ = false;
};

}  // namespace

bool removeDictMutation(Graph& graph) {
  const bool built = DictBuilder().run(graph.block());
  return DictReader(graph).run(graph.block()) || built;
}

}  // namespace cresset
