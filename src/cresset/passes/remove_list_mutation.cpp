// Lists that are filled after they were made: `l = []; l.append(x); l[0] = y` becomes one prim::ListConstruct, and what
// is read of such a list (an element at a constant index, the length, all elements) is the value that was put there.
//
// The first rule follows each list from where it is made to the first node that does anything else with it: until then
// only this block knows of the list, so that a node which changes it in place may as well make it so from the
// start. Then lists without writers are read (read_containers.cpp).
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>

#include "cresset/analysis/containers.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"
#include "cresset/passes/read_containers.h"

namespace cresset {
namespace {

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
    const EntryUse use = entryUse(*node);
    const auto inputs = node->inputs();
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] == list) return false;
    }
    const size_t size = made->inputs().size();
    // What is put in may have been computed after the list was made.
    if (use == EntryUse::Adds) {
      made->moveBefore(node);
      made->addInput(inputs[1]);
      untouched_.erase(inputs[1]);  // a list that another one holds
    } else if (use == EntryUse::Inserts) {
      const auto index = constantAs<int64_t>(inputs[1]);
      if (!index) return false;
      const auto length = static_cast<int64_t>(size);
      made->moveBefore(node);
      made->insertInput(
          static_cast<size_t>(std::clamp(*index < 0 ? *index + length : *index, int64_t(0), length)), inputs[2]);
      untouched_.erase(inputs[2]);
    } else if (use == EntryUse::Extends) {
      const Node* other = madeBy(inputs[1], node);
      if (!other) return false;
      made->moveBefore(node);
      for (Value* element : other->inputs()) made->addInput(element);
    } else if (use == EntryUse::Sets) {
      const auto place = placeInList(inputs[1], size);
      if (!place) return false;
      made->moveBefore(node);
      made->replaceInput(*place, inputs[2]);
      untouched_.erase(inputs[2]);
    } else if (use == EntryUse::Takes) {
      const auto place = placeInList(inputs[1], size);
      if (!place) return false;
      node->output()->replaceAllUsesWith(made->input(*place));
      made->removeInput(*place);
      node->destroy();
      return true;
    } else if (use == EntryUse::Clears) {
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

}  // namespace

bool removeListMutation(Graph& graph) {
  const bool changed = ListBuilder().run(graph.block());
  return readLists(graph) || changed;
}

CRESSET_PASS(
    removeListMutation, "remove-list-mutation", All,
    "Make lists at once that are filled after they were made; read known elements")

}  // namespace cresset
