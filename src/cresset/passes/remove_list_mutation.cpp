// Lists that are filled after they were made: `l = []; l.append(x); l[0] = y` becomes one prim::ListConstruct, and what
// is read of such a list (an element at a constant index, the length, all elements) is the value that was put there.
//
// The first rule follows each list from where it is made to the first node that does anything else with it: until then
// nobody but this block knows of the list, so that a node which changes it in place may as well make it so from the
// start. The second rule reads lists without writers; joining two, or taking a slice of one, makes a list of
// known elements.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// The place that an index of a list of `size` elements means; nothing if it is not constant or there is none.
std::optional<size_t> placeInList(const Value* index, size_t size) {
  const auto constant = constantAs<int64_t>(index);
  if (!constant) return std::nullopt;
  const int64_t place = *constant < 0 ? *constant + static_cast<int64_t>(size) : *constant;
  if (place < 0 || place >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(place);
}

/// Replaces the outputs of a node that reads the elements of `made`. False if it reads something else.
bool forwardElements(Node* node, const Node* made) {
  const auto elements = made->inputs();
  if (node->kind() == prim::ListUnpack) {
    if (node->outputs().size() != elements.size()) return false;
    for (size_t i = 0; i < elements.size(); ++i) node->output(i)->replaceAllUsesWith(elements[i]);
  } else {
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op || node->input(0) != made->output()) return false;
    if (op->fullName() == "aten::len.t") {
      node->output()->replaceAllUsesWith(insertConstantBefore(node, static_cast<int64_t>(elements.size())));
    } else if (op->fullName() == "aten::__getitem__.t" || op->fullName() == "aten::select.t") {
      const auto place = placeInList(node->input(1), elements.size());
      if (!place) return false;
      node->output()->replaceAllUsesWith(elements[*place]);
    } else {
      return false;
    }
  }
  node->destroy();
  return true;
}

class ListBuilder {
 public:
  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      if (absorb(node)) {
        changed_ = true;
        continue;
      }
      for (const Value* input : node->inputs()) untouched_.erase(input);
      for (Block* inner : node->blocks()) run(inner);
      if (node->kind() == prim::ListConstruct) untouched_.insert(node->output());
    }
    for (const Value* output : block->outputs()) untouched_.erase(output);
    return changed_;
  }

 private:
  /// The node that made the list, if all that happened to it since is known and happened in this block.
  Node* madeBy(const Value* list, const Node* user) const {
    return untouched_.contains(list) && list->owningBlock() == user->owningBlock() ? list->node() : nullptr;
  }

  /// Makes the list as `node` would leave it, or returns what `node` would read of it.
  bool absorb(Node* node) {
    if (node->inputs().empty()) return false;
    Value* list = node->input(0);
    Node* made = madeBy(list, node);
    if (!made) return false;
    if (forwardElements(node, made)) return true;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op) return false;
    const std::string& name = op->fullName();
    const auto inputs = node->inputs();
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] == list) return false;
    }
    const size_t size = made->inputs().size();
    // What is put in may have been computed after the list was made.
    if (name == "aten::append.t") {
      made->moveBefore(node);
      made->addInput(inputs[1]);
      untouched_.erase(inputs[1]);  // a list that another one holds
    } else if (name == "aten::extend.t" || name == "aten::add_.t") {
      const Node* other = madeBy(inputs[1], node);
      if (!other) return false;
      made->moveBefore(node);
      for (Value* element : other->inputs()) made->addInput(element);
    } else if (name == "aten::_set_item.t") {
      const auto place = placeInList(inputs[1], size);
      if (!place) return false;
      made->moveBefore(node);
      made->replaceInput(*place, inputs[2]);
      untouched_.erase(inputs[2]);
    } else if (name == "aten::pop.t") {
      const auto place = placeInList(inputs[1], size);
      if (!place) return false;
      node->output()->replaceAllUsesWith(made->input(*place));
      made->removeInput(*place);
      node->destroy();
      return true;
    } else if (name == "aten::clear.t") {
      made->removeAllInputs();
    } else {
      return false;
    }
    if (!node->outputs().empty()) node->output()->replaceAllUsesWith(list);
    node->destroy();
    return true;
  }

  std::unordered_set<const Value*> untouched_;
  bool changed_ = false;
};

/// Whether the node may read elements, or the number of elements, of a list that the graph makes.
bool readsMadeList(const Node* node) {
  static const Symbol kLen = Symbol::fromQualString("aten::len"),
                      kGetItem = Symbol::fromQualString("aten::__getitem__"),
                      kSelect = Symbol::fromQualString("aten::select");
  if (node->inputs().empty() || node->input(0)->node()->kind() != prim::ListConstruct) return false;
  return node->kind() == prim::ListUnpack || node->kind() == kLen || node->kind() == kGetItem ||
         node->kind() == kSelect;
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

  /// `[a, b] + [c]` and `[a, b, c][1:]` are lists of known elements.
  static bool makesOfLists(const Node* node) {
    static const Symbol kSlice = Symbol::fromQualString("aten::slice");
    return (node->kind() == aten::add || node->kind() == kSlice) && !node->inputs().empty() &&
           node->input(0)->node()->kind() == prim::ListConstruct;
  }

  bool makeAtOnce(Node* node) {
    const Operator* op = operatorOf(*node);
    if (!op || !isKnown(node->input(0))) return false;
    std::vector<Value*> elements = node->input(0)->node()->inputs().vec();
    if (op->fullName() == "aten::add.t") {
      const Value* other = node->input(1);
      if (other->node()->kind() != prim::ListConstruct || !isKnown(other)) return false;
      const auto more = other->node()->inputs();
      elements.insert(elements.end(), more.begin(), more.end());
    } else if (op->fullName() == "aten::slice.t") {
      auto part = slice(elements, *node);
      if (!part) return false;
      elements = std::move(*part);
    } else {
      return false;
    }
    Node* made = graph_.create(prim::ListConstruct, elements);
    made->insertBefore(node)->copyLocation(node);
    made->output()->copyMetadata(node->output());
    node->output()->replaceAllUsesWith(made->output());
    node->destroy();
    return true;
  }

  /// As Python slices; nothing if a bound is not constant, or the step is not positive.
  static std::optional<std::vector<Value*>> slice(const std::vector<Value*>& elements, const Node& node) {
    const auto size = static_cast<int64_t>(elements.size());
    const auto bound = [&](const Value* value, int64_t missing) -> std::optional<int64_t> {
      if (isNoneConstant(value)) return missing;
      const auto constant = constantAs<int64_t>(value);
      if (!constant) return std::nullopt;
      return std::clamp(*constant < 0 ? *constant + size : *constant, int64_t(0), size);
    };
    const auto start = bound(node.input(1), 0), end = bound(node.input(2), size);
    const auto step = constantAs<int64_t>(node.input(3));
    if (!start || !end || !step || *step < 1) return std::nullopt;
    std::vector<Value*> part;
    for (int64_t i = *start; i < *end; i += std::min(*step, size + 1)) part.push_back(elements[static_cast<size_t>(i)]);
    return part;
  }

  Graph& graph_;
  const size_t num_values_ = graph_.numValues();
  std::shared_ptr<AliasDb> memory_;
};

}  // namespace

bool removeListMutation(Graph& graph) {
  const bool changed = ListBuilder().run(graph.block());
  return ListReader(graph).run(graph.block()) || changed;
}

CRESSET_PASS(
    removeListMutation, "remove-list-mutation", All,
    "Make lists at once that are filled after they were made; read known elements")

}  // namespace cresset
