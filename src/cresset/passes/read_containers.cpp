// What is read of a list or dict that the graph makes and nothing writes to (an element at a constant index, the entry
// of a constant key, the length, all elements, whether a constant is there) is the value that was put there. Joining
// two lists, copying one, taking a slice of one, or asking a dict for its keys, makes a list of known elements.
#include "cresset/passes/read_containers.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {

std::optional<size_t> placeInList(const Value* index, size_t size) {
  const auto constant = constantAs<int64_t>(index);
  if (!constant) return std::nullopt;
  const int64_t place = *constant < 0 ? *constant + static_cast<int64_t>(size) : *constant;
  if (place < 0 || place >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(place);
}

namespace {

/// The text of a key; keys are different if their texts are.
std::optional<std::string> textOfKey(const Value* key) {
  if (auto text = constantKey(key)) return text;
  if (key->type()->kind() != c10::TypeKind::FloatType) return std::nullopt;
  const auto number = constantAs<double>(key);
  if (!number || std::isnan(*number)) return std::nullopt;  // nan is not equal to itself
  char text[32];
  std::snprintf(text, sizeof text, "%a", *number + 0.0);  // -0.0 and 0.0 are one key
  return text;
}

/// Whether a constant is among the elements; nothing if that can't be told.
std::optional<bool> isAmong(const Value* constant, InputRange elements) {
  const auto key = textOfKey(constant);
  if (!key) return std::nullopt;
  bool are_known = true;
  for (const Value* element : elements) {
    const auto text = textOfKey(element);
    if (text == key) return true;
    are_known &= text.has_value();
  }
  return are_known ? std::optional(false) : std::nullopt;
}

}  // namespace

bool forwardElements(Node* node, const Node* made) {
  const auto elements = made->inputs();
  if (node->kind() == prim::ListUnpack) {
    if (node->outputs().size() != elements.size()) return false;
    for (size_t i = 0; i < elements.size(); ++i) node->output(i)->replaceAllUsesWith(elements[i]);
  } else {
    if (node->input(0) != made->output()) return false;
    if (isBasic(node, Basic::Length)) {
      node->output()->replaceAllUsesWith(insertConstantBefore(node, static_cast<int64_t>(elements.size())));
    } else if (readsEntry(node)) {
      const auto place = placeInList(node->input(1), elements.size());
      if (!place) return false;
      node->output()->replaceAllUsesWith(elements[*place]);
    } else if (entryUse(*node) == EntryUse::Asks) {
      const auto answer = isAmong(node->input(1), elements);
      if (!answer) return false;
      node->output()->replaceAllUsesWith(insertConstantBefore(node, *answer));
    } else {
      return false;
    }
  }
  node->destroy();
  return true;
}

std::optional<DictPlaces> placesOf(const Node* made) {
  DictPlaces places;
  for (size_t i = 0; i < made->inputs().size(); i += 2) {
    const auto key = textOfKey(made->input(i));
    if (!key || !places.emplace(*key, i + 1).second) return std::nullopt;
  }
  return places;
}

namespace {

/// The list that keys(), values() or items() of the dict returns, of known elements; null if the node is none of them.
Value* listOf(Node* node, const Node* made) {
  const bool has_keys = isBasic(node, Basic::Keys), has_values = isBasic(node, Basic::Values);
  if (!has_keys && !has_values && !isBasic(node, Basic::Items)) return nullptr;
  Graph& graph = node->graph();
  const InsertPointGuard guard(graph, node);
  const auto insert = [&](Symbol kind, at::ArrayRef<Value*> parts, const c10::TypePtr& type) {
    Node* made_of = graph.insertNode(graph.create(kind, parts, 1))->copyLocation(node);
    return made_of->output()->setType(type);
  };
  const c10::TypePtr type = node->output()->type();
  std::vector<Value*> elements;
  for (size_t i = 0; i < made->inputs().size(); i += 2) {
    Value *key = made->input(i), *value = made->input(i + 1);
    if (has_keys || has_values) {
      elements.push_back(has_keys ? key : value);
    } else {
      elements.push_back(insert(prim::TupleConstruct, {key, value}, type->expectRef<c10::ListType>().getElementType()));
    }
  }
  return insert(prim::ListConstruct, elements, type);
}

}  // namespace

bool forwardEntry(Node* node, const Node* made, const DictPlaces& places) {
  if (node->input(0) != made->output()) return false;
  Value* known = listOf(node, made);
  const EntryUse use = entryUse(*node);
  if (isBasic(node, Basic::Length)) {
    known = insertConstantBefore(node, static_cast<int64_t>(places.size()));
  } else if (use == EntryUse::Reads || use == EntryUse::Asks) {
    const auto key = textOfKey(node->input(1));
    if (!key) return false;
    const auto place = places.find(*key);
    if (use == EntryUse::Asks) {
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

namespace {

/// Whether the node may read elements, or the number of elements, of a list that the graph makes.
bool readsMadeList(const Node* node) {
  if (node->inputs().empty() || node->input(0)->node()->kind() != prim::ListConstruct) return false;
  return node->kind() == prim::ListUnpack || isBasic(node, Basic::Length) || readsEntry(node) ||
         entryUse(*node) == EntryUse::Asks;
}

/// Whether all that uses the list reads it: then nothing can write to it.
bool isOnlyRead(const Value* list) {
  const auto uses = list->uses();
  return std::all_of(uses.begin(), uses.end(), [](const Use& use) {
    if (use.offset == 0 && readsMadeList(use.user)) return true;
    const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
    return op && op->isOfDispatcher() && op->isPure();
  });
}

/// Reads lists that nothing writes to. The analysis is made when there is the first that it has to tell of.
class ListReader {
 public:
  explicit ListReader(Graph& graph) : graph_(graph) {}

  bool run(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= run(inner);
      if (makesOfLists(node)) {
        changed |= makeAtOnce(node);
        continue;
      }
      if (!readsMadeList(node)) continue;
      const Node* made = node->input(0)->node();
      if (isKnown(made->output())) changed |= forwardElements(node, made);
    }
    return changed;
  }

 private:
  /// Whether the elements of a list that the graph makes are always those that it was made of.
  bool isKnown(const Value* list) {
    if (isOnlyRead(list)) return true;
    if (list->unique() >= num_values_) return false;  // made by this run; the next one may ask
    if (!memory_) memory_ = aliasesOf(graph_);
    return !memory_->hasWriters(list);
  }

  /// The sizes of a tensor whose rank is known.
  static bool isOfSizes(const Value* list) {
    const Node* node = list->node();
    if (!isBasic(node, Basic::Sizes) || list->type()->kind() != c10::TypeKind::ListType) return false;
    const auto* tensor = node->input(0)->type()->castRaw<c10::TensorType>();
    return tensor && tensor->dim();
  }

  static bool hasKnownElements(const Value* list) {
    return list->node()->kind() == prim::ListConstruct || isOfSizes(list);
  }

  /// `[a, b] + [c]`, `list([a, b])`, `[a, b, c][1:]` and `x.shape[:-1]` are lists of known elements.
  static bool makesOfLists(const Node* node) {
    return (isBasic(node, Basic::Add) || node->kind() == aten::list || node->kind() == aten::slice) &&
           !node->inputs().empty() && hasKnownElements(node->input(0));
  }

  std::vector<Value*> elementsOf(const Value* list) {
    Node* made = list->node();
    if (made->kind() == prim::ListConstruct) return made->inputs().vec();
    std::vector<Value*> sizes;
    const InsertPointGuard guard(graph_, made);
    for (size_t i = 0; i < *made->input(0)->type()->expectRef<c10::TensorType>().dim(); ++i) {
      Value* place = graph_.insertConstant(static_cast<int64_t>(i));
      sizes.push_back(insertBasic(graph_, Basic::Size, {made->input(0), place})->copyLocation(made)->output());
    }
    return sizes;
  }

  static size_t numElements(const Value* list) {
    const Node* node = list->node();
    if (node->kind() == prim::ListConstruct) return node->inputs().size();
    return *node->input(0)->type()->expectRef<c10::TensorType>().dim();
  }

  bool makeAtOnce(Node* node) {
    if (!isKnown(node->input(0))) return false;
    std::vector<Value*> elements;
    if (isBasic(node, Basic::Add)) {
      if (!hasKnownElements(node->input(1)) || !isKnown(node->input(1))) return false;
      elements = elementsOf(node->input(0));
      const std::vector<Value*> more = elementsOf(node->input(1));
      elements.insert(elements.end(), more.begin(), more.end());
    } else if (node->inputs().size() == 1) {  // a copy
      elements = elementsOf(node->input(0));
    } else {
      const auto places = placesOfSlice(numElements(node->input(0)), *node);
      if (!places) return false;
      const std::vector<Value*> all = elementsOf(node->input(0));
      for (const size_t place : *places) elements.push_back(all[place]);
    }
    Node* made = graph_.create(prim::ListConstruct, elements);
    made->insertBefore(node)->copyLocation(node);
    made->output()->copyMetadata(node->output());
    node->output()->replaceAllUsesWith(made->output());
    node->destroy();
    return true;
  }

  /// As Python slices; nothing if a bound is not constant, or the step is not positive.
  static std::optional<std::vector<size_t>> placesOfSlice(size_t num_elements, const Node& node) {
    const auto size = static_cast<int64_t>(num_elements);
    const auto bound = [&](const Value* value, int64_t missing) -> std::optional<int64_t> {
      if (isNoneConstant(value)) return missing;
      const auto constant = constantAs<int64_t>(value);
      if (!constant) return std::nullopt;
      return std::clamp(*constant < 0 ? *constant + size : *constant, int64_t(0), size);
    };
    const auto start = bound(node.input(1), 0), end = bound(node.input(2), size);
    const auto step = constantAs<int64_t>(node.input(3));
    if (!start || !end || !step || *step < 1) return std::nullopt;
    std::vector<size_t> places;
    for (int64_t i = *start; i < *end; i += std::min(*step, size + 1)) places.push_back(static_cast<size_t>(i));
    return places;
  }

  Graph& graph_;
  const size_t num_values_ = graph_.numValues();
  std::shared_ptr<AliasDb> memory_;
};

class DictReader {
 public:
  explicit DictReader(Graph& graph) : graph_(graph) {}

  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) run(inner);
      if (node->inputs().empty()) continue;
      const Node* made = node->input(0)->node();
      if (made->kind() != prim::DictConstruct) continue;
      if (!memory_) memory_ = aliasesOf(graph_);
      if (memory_->hasWriters(made->output())) continue;
      auto known = places_.find(made);
      if (known == places_.end()) known = places_.emplace(made, placesOf(made)).first;
      if (known->second) changed_ |= forwardEntry(node, made, *known->second);
    }
    return changed_;
  }

 private:
  Graph& graph_;
  std::shared_ptr<AliasDb> memory_;  // made when there is a dict to read
  std::unordered_map<const Node*, std::optional<DictPlaces>> places_;
  bool changed_ = false;
};

}  // namespace

bool readLists(Graph& graph) {
  return ListReader(graph).run(graph.block());
}

bool readDicts(Graph& graph) {
  return DictReader(graph).run(graph.block());
}

static bool readContainers(Graph& graph) {
  const bool changed = readLists(graph);
  return readDicts(graph) || changed;
}

CRESSET_PASS(
    readContainers, "read-containers", All,
    "Replace what is read of lists and dicts that nothing writes to by what they were made of")

}  // namespace cresset
