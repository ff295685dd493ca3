// Views become copies, which are the same as long as nothing writes to what they were views of.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/functionalization/attributes.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/places.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ir/insert_graph.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"

namespace cresset {

namespace {

void collect(Block* block, std::vector<Node*>& views, std::vector<Node*>& writes, AliasDb& aliases) {
  for (Node* node : block->nodes()) {
    const Operator* op = knownOperator(*node);
    if (op && mayReturnView(*op)) views.push_back(node);
    // What an attribute is set to is kept, and no tensor is written.
    const bool writes_tensors = node->blocks().empty() && node->kind() != prim::SetAttr;
    if (writes_tensors && aliases.isMutable(node)) writes.push_back(node);
    for (Block* inner : node->blocks()) collect(inner, views, writes, aliases);
  }
}

/// Whether `node` may run after `write`: it stands after it, or both are in one loop.
bool mayRunAfter(const Node* node, const Node* write) {
  if (write->isBefore(node)) return true;
  for (const Block* block = write->owningBlock(); block->owningNode(); block = block->owningNode()->owningBlock()) {
    if (block->owningNode()->kind() != prim::Loop) continue;
    for (const Block* other = node->owningBlock(); other;
         other = other->owningNode() ? other->owningNode()->owningBlock() : nullptr)
      if (other == block) return true;
  }
  return false;
}

/// Whether the value may be read once `write` has run. What it is put into may be read anywhere; views of it are asked
/// about themselves.
bool mayBeReadAfter(const Value* value, const Node* write) {
  return std::ranges::any_of(value->uses(), [&](const Use& use) {
    if (use.user == write || mayRunAfter(use.user, write)) return true;
    if (use.user->kind() == prim::ListUnpack) {
      return std::ranges::any_of(
          use.user->outputs(), [&](const Value* element) { return mayBeReadAfter(element, write); });
    }
    const Operator* user = knownOperator(*use.user);
    return !user || !user->isOfDispatcher();
  });
}

/// Whether a use reads the value as it is when the user runs, and keeps nothing that `write` changes afterwards: an
/// operator, the graph's return, a tuple that is returned.
bool readsAtOnce(const Use& use, const Node* write) {
  const Node* user = use.user;
  const Node* last = user->graph().block()->returnNode();
  if (user == write) return false;
  if (user == last) return true;
  if (user->kind() == prim::TupleConstruct) {
    const auto uses = user->output()->uses();
    return std::ranges::all_of(uses, [&](const Use& of) { return of.user == last; }) && !mayRunAfter(write, user);
  }
  const Operator* op = knownOperator(*user);
  return op && op->isOfDispatcher();
}

/// Whether a node of `nodes` takes the value, or an element of the list that it is.
template <typename Nodes>
bool isTakenBy(const Value* value, const Nodes& nodes) {
  return std::ranges::any_of(value->uses(), [&](const Use& use) {
    if (nodes.contains(use.user)) return true;
    const bool unpacks = use.user->kind() == prim::ListUnpack;
    return unpacks && std::ranges::any_of(use.user->outputs(), [&](const Value* v) { return isTakenBy(v, nodes); });
  });
}

class ViewRemoval {
 public:
  explicit ViewRemoval(Graph& graph) : graph_(graph) {}

  std::vector<NodeLeft> run() {
    std::vector<Node*> views;
    {
      AliasDb aliases(graph_);
      collect(graph_.block(), views, writes_, aliases);
      const bool maybe =
          std::ranges::any_of(views, [](const Node* view) { return isMaybeView(*knownOperator(*view)); });
      const auto other = std::ranges::find_if(writes_, [&](const Node* write) {
        return !changesStateOnly(*write) && !writesArgument(*write) && (maybe || changesSizes(*write));
      });
      if (other != writes_.end()) other_write_ = (*other)->kind().toQualString();
      for (Node* view : std::views::reverse(views)) {
        std::string reason = whyItStays(*view, aliases);
        if (!reason.empty()) staying_.emplace(view, std::move(reason));
      }
    }
    const auto asking =
        std::ranges::find_if(views, [&](const Node* view) { return staying_.contains(view) && asksForLayout(*view); });
    if (other_write_.empty() && asking != views.end()) {
      const std::string name = (*asking)->kind().toQualString();
      const std::string reason = "copies are laid out in another way, and " +
                                 (isGivenStrides(knownOperator(**asking)->schema())
                                      ? "'" + name + "', which stays, reaches memory by its address"
                                      : "for some layouts '" + name + "', which stays, raises: remove mutation first");
      for (const Node* view : views) staying_.emplace(view, reason);
    }
    std::vector<NodeLeft> left;
    for (Node* view : std::views::reverse(views))
      if (!staying_.contains(view)) replace(view);
    for (const Node* view : views) {
      const auto found = staying_.find(view);
      if (found != staying_.end()) left.push_back({view, found->second});
    }
    return left;
  }

 private:
  /// Whether the node writes to an argument of the graph, in each run, and to nothing else.
  bool writesArgument(const Node& node) const {
    if (node.owningBlock() != graph_.block()) return false;
    if (isClosingCopy(node)) return node.inputs()[0]->node() == graph_.block()->paramNode();
    const TensorWritesOfNode writes = writesOfNode(node);
    return writes.op && writes.is_known && std::ranges::all_of(writes.tensors, [&](const Value* tensor) {
             return tensor->node() == graph_.block()->paramNode();
           });
  }

  /// Whether the node may give a tensor other sizes and strides, or do what is not known.
  static bool changesSizes(const Node& write) {
    const Operator* op = knownOperator(write);
    return !op || mayChangeSizes(*op);
  }

  /// Whether layout or dtype may decide what it returns.
  static bool isMaybeView(const Operator& op) { return !whyNotReversed(op).empty(); }

  /// Whether the view raises for some layouts of what the graph has made, or goes by its strides: a copy before may
  /// give that another layout.
  static bool asksForLayout(const Node& view) {
    if (!keepsContiguous(view) && !isGivenStrides(knownOperator(view)->schema())) return false;
    const Value* viewed = view.inputs()[0];
    while (const Operator* op = knownOperator(*viewed->node())) {
      if (!mayReturnView(*op)) break;
      viewed = viewed->node()->inputs()[0];
    }
    return viewed->node() != view.graph().block()->paramNode() && (keepsContiguous(view) || isMadeOfViews(viewed));
  }

  static bool keepsContiguous(const Node& view) { return knownOperator(view)->keepsContiguous(); }

  /// Whether the value may be computed of what a view returns, or comes out of a block.
  static bool isMadeOfViews(const Value* value) {
    std::unordered_set<const Value*> seen;
    std::vector<const Value*> todo{value};
    while (!todo.empty()) {
      const Node* node = todo.back()->node();
      todo.pop_back();
      const Operator* op = knownOperator(*node);
      if (!node->blocks().empty() || (op && mayReturnView(*op))) return true;
      if (node->kind() == prim::Param && node->owningBlock()->owningNode()) return true;
      for (const Value* input : node->inputs())
        if (seen.insert(input).second) todo.push_back(input);
    }
    return false;
  }

  /// Views that take what this one returns have been asked before.
  std::string whyItStays(Node& view, AliasDb& aliases) {
    const Operator& op = *knownOperator(view);
    const auto outputs = view.outputs();
    const auto areTakenBy = [&](const auto& nodes) {
      return std::ranges::any_of(outputs, [&](const Value* output) { return isTakenBy(output, nodes); });
    };
    if (!other_write_.empty()) {
      return "copies are laid out in another way, which decides what '" + other_write_ +
             "' writes: remove mutation first";
    }
    if (!copyRuleOf(op) && !copyForm(op.schema())) return "there is no operator that returns the same in new memory";
    if (isGivenStrides(op.schema()) && view.input(0)->node() != graph_.block()->paramNode())
      return "it reaches memory by its address, and what it views may have other memory when views are copies";
    // What is written through a view has to reach what it is a view of.
    if (areTakenBy(staying_)) return "a view of what it returns stays";
    const bool is_tensor = outputs.size() == 1 && outputs[0]->type()->kind() == c10::TypeKind::TensorType;
    for (const Node* write : writes_) {
      if (!mayRunAfter(write, &view) || !aliases.writesToAlias(write, outputs)) continue;
      const bool is_read = areTakenBy(changing_) || std::ranges::any_of(outputs, [&](const Value* output) {
                             return mayBeReadAfter(output, write);
                           });
      if (!is_read) continue;
      const bool at_once =
          is_tensor && !changesSizes(*write) &&
          std::ranges::all_of(outputs[0]->uses(), [&](const Use& use) { return readsAtOnce(use, write); });
      if (!at_once) return "memory that it returns is written by '" + std::string(write->kind().toQualString()) + "'";
      changing_.insert(&view);
    }
    return {};
  }

  void replace(Node* view) {
    if (changing_.contains(view)) {  // read as it is at each use
      const auto uses = view->output()->uses();
      for (const Use& use : std::vector<Use>(uses.begin(), uses.end()))
        use.user->replaceInput(use.offset, copy(view, use.user)[0]);
    } else {
      const std::vector<Value*> copies = copy(view, view);
      for (size_t i = 0; i < copies.size(); ++i) view->output(i)->replaceAllUsesWith(copies[i]);
    }
    view->destroy();
  }

  /// What the view returns, as copies that are made before `at`.
  std::vector<Value*> copy(Node* view, Node* at) {
    const Operator& op = *knownOperator(*view);
    const std::vector<Value*> inputs = view->inputs().vec();
    std::vector<Value*> results;
    if (const Graph* rule = copyRuleOf(op)) {
      results = insertGraph(*rule, inputs, at);
    } else {
      const Operator& form = *copyForm(op.schema());
      Node* node = graph_.create(form.kind(), inputs);
      node->insertBefore(at)->copyLocation(view);
      node->bindOperator(&form);
      results.assign(node->outputs().begin(), node->outputs().end());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      // The rule may return an argument, whose type says more.
      const bool is_new = std::ranges::find(inputs, results[i]) == inputs.end();
      if (is_new) results[i]->setType(view->output(i)->type())->copyMetadata(view->output(i));
    }
    return results;
  }

  Graph& graph_;
  std::vector<Node*> writes_;
  std::string other_write_;                               // than to arguments, if layouts may decide what it writes
  std::unordered_map<const Node*, std::string> staying_;  // views that stay, with reasons
  std::unordered_set<const Node*> changing_;              // those that are copied for each use
};

}  // namespace

namespace {

/// Copies have no elements in common.
void removeOverlapChecks(Block* block) {
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) removeOverlapChecks(inner);
    if (isBasic(node, Basic::CheckOverlap)) node->destroy();
  }
}

}  // namespace

std::vector<NodeLeft> removeViews(Graph& graph) {
  const HoistedAttributes attributes(graph);
  removeOverlapChecks(graph.block());
  return ViewRemoval(graph).run();
}

}  // namespace cresset
