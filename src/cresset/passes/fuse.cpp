// Puts operators that one kernel computes into subgraphs:
//
//   %a = aten::mul(%x, %y)             %b = prim::TensorExprGroup(%x, %y, %z)
//   %b = aten::add(%a, %z, %one)   →     %a = aten::mul(%x, %y)
//                                        return aten::add(%a, %z, %one)
//
// Groups grow downwards: while nothing else uses what an open group computes, its operators can sink to the next one
// that joins it. A group closes at a node that uses its results and can't join, and at one that it can't be moved past.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/may_raise.h"
#include "cresset/codegen/group.h"
#include "cresset/codegen/outline.h"
#include "cresset/codegen/sinking.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/fuse.h"
#include "cresset/passes/pass.h"

namespace cresset {

namespace {

/// A kernel's compile time grows with it.
constexpr size_t kMaxGroup = 64;
/// Groups that can still grow; each node is compared with the members of all.
constexpr size_t kMaxOpen = 8;

using codegen::Fusibility;
using codegen::rankOf;

/// Nodes of the graph that one kernel is to compute.
struct Group {
  std::vector<Node*> nodes;
  const Fusibility* reduction = nullptr;  // of a node that reduces, if there is one: all reduce the same dimensions
  bool contracts = false;                 // there is a product of matrices
  bool adds = false;                      // something is added by index

  bool reduces() const { return reduction || contracts; }

  bool contains(const Node* node) const { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); }
};

/// A list of indices that several operators read at becomes one for each.
void giveEachReadAList(Graph& graph, Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) giveEachReadAList(graph, inner);
    if (node->kind() != prim::ListConstruct) continue;
    const Value* list = node->output();
    std::vector<Use> users(list->uses().begin(), list->uses().end());
    if (!std::all_of(users.begin(), users.end(), [&](Use use) { return codegen::readsAt(*use.user, *list); })) continue;
    for (size_t i = 1; i < users.size(); ++i) {
      Node* clone = graph.createClone(node, [](Value* value) { return value; })->insertAfter(node);
      users[i].user->replaceInput(users[i].offset, clone->output());
    }
  }
}

class Fuser {
 public:
  Fuser(Graph& graph, bool with_products) : graph_(graph), with_products_(with_products), memory_(graph) {}

  bool run() {
    form();
    // The analysis describes the graph as it was, so it is changed at the end.
    std::vector<Node*> sources;
    for (const auto& [nodes, views] : done_) {
      for (const auto* part : {&nodes, &views}) {
        for (const Node* node : *part) {
          for (const Value* input : node->inputs()) {
            const Node* maker = input->node();
            if (maker->kind() == prim::ListConstruct && !codegen::makesIndices(*maker))
              sources.push_back(input->node());
          }
        }
      }
      sources.insert(sources.end(), views.begin(), views.end());
      codegen::outline(graph_, SubgraphKind::Fused, nodes, views);
    }
    codegen::destroyUnused(std::move(sources));
    return !done_.empty();
  }

  /// Of each group that `run` would make, in the order in which they stand.
  std::vector<GroupNeighbors> explain() {
    explains_ = true;
    form();
    std::sort(done_.begin(), done_.end(), [](const Done& a, const Done& b) {
      return a.nodes.back()->isBefore(b.nodes.back());
    });
    std::vector<GroupNeighbors> found;
    for (const Done& group : done_) {
      GroupNeighbors& neighbors = found.emplace_back();
      for (const Node* node : group.nodes) neighbors.operators.emplace_back(node->kind().toUnqualString());
      addMakers(group.nodes, neighbors.reasons);
      const auto noted = notes_.find(group.nodes.back());
      if (noted != notes_.end())
        neighbors.reasons.insert(neighbors.reasons.end(), noted->second.begin(), noted->second.end());
      auto& reasons = neighbors.reasons;
      std::sort(reasons.begin(), reasons.end());
      reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
    }
    return found;
  }

 private:
  void form() {
    do {
      done_.clear();
      reduced_.clear();
      scanned_.clear();
      joined_.clear();
      notes_.clear();
      visit(graph_.block());
    } while (addBarriers());
  }

  /// Remembers why a node after the group, which closes now, is not in it.
  void note(const Node& node, const Group& group, const std::string& why_not) {
    if (!explains_ || isStructural(node.kind())) return;
    notes_[lastOf(group)].push_back(std::string(node.kind().toQualString()) + " after it: " + why_not);
  }

  const Node* lastOf(const Group& group) const {
    return *std::max_element(group.nodes.begin(), group.nodes.end(), [this](const Node* a, const Node* b) {
      return place_.at(a) < place_.at(b);
    });
  }

  /// Operators that no kernel computes and whose results the group takes.
  void addMakers(const std::vector<Node*>& nodes, std::vector<std::string>& reasons) const {
    for (const Node* node : nodes) {
      for (const Value* input : node->inputs()) {
        const Node* maker = input->node();
        const auto kind = kinds_.find(maker);
        if (kind == kinds_.end() || !rankOf(*input)) continue;
        if (const auto why_not = codegen::whyNotFusible(kind->second))
          reasons.push_back(std::string(maker->kind().toQualString()) + " before it: " + *why_not);
      }
    }
  }

  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      if (!codegen::isCall(*node)) continue;
      if (isSubgraph(*node)) {
        closeConflicting(*node, "it runs a subgraph");
        continue;
      }
      if (!node->blocks().empty()) {
        closeAll();
        for (Block* inner : node->blocks()) visit(inner);
        continue;
      }
      const Fusibility& kind = kinds_.emplace(node, codegen::fusibilityOf(*node)).first->second;
      if (const auto why_not = codegen::whyNotFusible(kind);
          why_not || (kind.contracts && !with_products_) || takesListThatChanges(*node)) {
        closeConflicting(*node, why_not.value_or("it takes a list that changes"));
      } else {
        join(node, kind);
      }
    }
    closeAll();
  }

  bool takesListThatChanges(const Node& node) {
    const auto inputs = node.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
      return input->node()->kind() == prim::ListConstruct && memory_.hasWriters(input);
    });
  }

  /// Closes the groups that can't sink past the node.
  void closeConflicting(Node& node, const std::string& why_not) {
    codegen::NodeToPass to_pass(node, memory_);
    for (size_t i = 0; i < open_.size();) {
      if (to_pass.blocks(open_[i].nodes)) {
        const bool is_neighbor = codegen::usesResults(node, open_[i].nodes);
        note(
            node, open_[i],
            is_neighbor ? why_not : "it has to run before what could follow: effects and exceptions keep their order");
        close(i);
      } else {
        ++i;
      }
    }
  }

  /// Operators of two groups may alternate: the first group, which ends last, then runs last. Where both may raise, the
  /// exception would be another than the program's: groups that stand open may not grow past such an operator, and
  /// groups are formed anew. Whether there was one.
  bool addBarriers() {
    const size_t before = barriers_.size();
    size_t latest = 0;  // place where an operator runs that may raise, of those so far
    for (const Node* node : joined_) {
      if (!mayRaise(*node)) continue;
      const size_t runs_at = runs_at_.at(node);
      if (runs_at < latest) barriers_.insert(node);
      latest = std::max(latest, runs_at);
    }
    return barriers_.size() > before;
  }

  /// Whether the value is what a reduction in the group computes, or computed of such values only.
  bool isReduced(const Value& value, const Group& group) const {
    return reduced_.contains(&value) && group.contains(value.node());
  }

  /// Whether a scan in the group computes it, or what it is computed from.
  bool isScanned(const Value& value, const Group& group) const {
    return scanned_.contains(&value) && group.contains(value.node());
  }

  void noteReduced(const Node& node, const Fusibility& kind, const Group& group) {
    bool all = true, any = false;
    for (const Value* input : node.inputs()) {
      const auto rank = rankOf(*input);
      if (!rank) continue;
      const bool is_reduced = isReduced(*input, group);
      any = any || is_reduced;
      all = all && (is_reduced || rank == std::optional<size_t>(0));
    }
    const auto& inputs = node.inputs();
    const bool is_scanned = kind.scans || std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
                              return isScanned(*input, group);
                            });
    for (const Value* output : node.outputs()) {
      if (kind.reduction ? kind.is_reduced[output->offset()] : any && all) reduced_.insert(output);
      if (is_scanned) scanned_.insert(output);
    }
  }

  /// Why the group's kernel could not compute the node too; null if it could: one loop nest computes everything that
  /// leaves the group.
  const char* whyUnfit(const Node& node, const Fusibility& kind, const Group& group) const {
    if (kind.contracts) return "what a product takes would be computed anew for each element that it is part of";
    if (kind.reduction && group.contracts) return "it reduces what a product computes";
    if (group.adds && kind.reduction) return "it reduces what is added by index in the group";
    if (takesSum(node, group)) return "it takes the sum of what is added by index";
    if (kind.target && group.reduces()) return "what is reduced is not added by index in one kernel";
    if (kind.target && group.contains(kind.target->node())) return "what it adds to by index must be in memory";
    if (kind.source && !fitsRead(node, kind, group))
      return "what it reads by index, or what indices come from, must be in memory";
    const Fusibility* reduction = group.reduction ? group.reduction : kind.reduction ? &kind : nullptr;
    if (reduction && !fitsReduction(node, kind, group, *reduction)) return "other dimensions are reduced";
    const size_t rank = reduction ? reduction->rank : kind.rank;
    for (const Node* member : group.nodes) {
      for (const Value* output : member->outputs()) {
        if (leaves(*output, node, group) && !isReduced(*output, group) && rankOf(*output) != std::optional(rank))
          return "results of other ranks leave the group";
      }
    }
    return nullptr;
  }

  /// Whether the node takes what becomes of a tensor to which the group adds by index.
  bool takesSum(const Node& node, const Group& group) const {
    std::vector<Node*> adding;
    std::ranges::copy_if(
        group.nodes, std::back_inserter(adding), [&](Node* member) { return kinds_.at(member).target; });
    return codegen::usesResults(node, adding);
  }

  /// Whether something outside of the group uses the value if the node is in the group.
  static bool leaves(const Value& value, const Node& node, const Group& group) {
    const auto users = value.uses();
    return std::any_of(users.begin(), users.end(), [&](const Use& use) {
      const Node* user = codegen::callOf(*use.user);
      return user != &node && !group.contains(user);
    });
  }

  /// What is read by index has been stored before; loops go over the result, which has other sizes than the indices,
  /// and would reduce anew for each element what indices are computed from.
  bool fitsRead(const Node& node, const Fusibility& kind, const Group& group) const {
    if (group.reduction || group.contracts || group.contains(kind.source->node())) return false;
    for (const Node* member : group.nodes) {
      for (const Value* output : member->outputs()) {
        if (leaves(*output, node, group)) return false;
      }
    }
    return true;
  }

  /// All reductions go over the same dimensions of tensors of the same rank; what one computes takes part in another
  /// only as an operand that is broadcast. Without the dimensions that were reduced, a value meets whole tensors only
  /// where those were the first.
  bool fitsReduction(const Node& node, const Fusibility& kind, const Group& group, const Fusibility& reduction) const {
    if (kind.rank > reduction.rank) return false;
    if (kind.reduction && (kind.reduction->dims != reduction.reduction->dims || kind.rank != reduction.rank))
      return false;
    const auto& dims = reduction.reduction->dims;
    const bool are_first = dims.empty() || dims.back() + 1 == dims.size();
    for (const Value* input : node.inputs()) {
      if (kind.reduction && !kind.scans && isScanned(*input, group)) return false;
      if (!rankOf(*input) || !isReduced(*input, group)) continue;
      if (kind.reduction && !node.inputs().empty() && input == node.input(0)) return false;
      const bool is_shorter = *rankOf(*input) < reduction.rank;
      if (is_shorter && !are_first && kind.rank > *rankOf(*input)) return false;
    }
    return true;
  }

  void join(Node* node, const Fusibility& kind) {
    std::vector<size_t> makers;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (codegen::usesResults(*node, open_[i].nodes)) makers.push_back(i);
    }
    Group joined{{}, kind.reduction ? &kind : nullptr, kind.contracts, kind.target != nullptr};
    for (auto it = makers.rbegin(); it != makers.rend(); ++it) {
      const Group& group = open_[*it];
      const char* why_not = joined.nodes.size() + group.nodes.size() >= kMaxGroup ? "the group would be too large"
                                                                                  : whyUnfit(*node, kind, group);
      if (!why_not && !agree(joined, group)) why_not = "another group that it joins reduces other dimensions";
      if (!why_not) {
        joined.nodes.insert(joined.nodes.begin(), group.nodes.begin(), group.nodes.end());
        if (!joined.reduction) joined.reduction = group.reduction;
        joined.contracts = joined.contracts || group.contracts;
        joined.adds = joined.adds || group.adds;
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(*it));
      } else {
        note(*node, group, why_not);
        close(*it);
      }
    }
    if (barriers_.contains(node)) closeRaising();
    noteReduced(*node, kind, joined);
    joined.nodes.push_back(node);
    place_[node] = joined_.size();
    joined_.push_back(node);
    open_.push_back(std::move(joined));
    if (open_.size() > kMaxOpen) close(0);
  }

  void closeRaising() {
    for (size_t i = open_.size(); i-- > 0;) {
      const auto& nodes = open_[i].nodes;
      if (std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return mayRaise(*node); })) close(i);
    }
  }

  static bool agree(const Group& a, const Group& b) {
    if ((a.reduction && b.contracts) || (a.contracts && b.reduction)) return false;
    if ((a.adds && b.reduces()) || (a.reduces() && b.adds)) return false;
    return !a.reduction || !b.reduction ||
           (a.reduction->rank == b.reduction->rank && a.reduction->reduction->dims == b.reduction->reduction->dims);
  }

  void close(size_t i) {
    std::vector<Node*> nodes = std::move(open_[i].nodes);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    std::sort(nodes.begin(), nodes.end(), [this](const Node* a, const Node* b) { return place_.at(a) < place_.at(b); });
    for (const Node* node : nodes) runs_at_[node] = place_.at(nodes.back());
    std::vector<Node*> views = viewsFor(nodes);
    done_.push_back({std::move(nodes), std::move(views)});
  }

  /// Nodes that make the views that the group takes, in order: the group takes what they are views of, and makes them
  /// when it meets a layout for the first time.
  std::vector<Node*> viewsFor(const std::vector<Node*>& nodes) {
    const auto isLater = [](const Node* a, const Node* b) { return b->isBefore(a); };
    std::set<Node*, decltype(isLater)> makers(isLater);  // of what the group takes, the last first
    const auto addMakers = [&](const Node* user, auto& again) -> void {
      for (const Value* input : user->inputs()) {
        Node* maker = input->node();
        if (codegen::makesIndices(*maker)) again(maker, again);
        if (maker->owningBlock() == nodes[0]->owningBlock() && codegen::makesKnownViews(*maker)) makers.insert(maker);
      }
    };
    for (const Node* node : nodes) addMakers(node, addMakers);
    std::vector<Node*> views;
    std::unordered_set<const Node*> members(nodes.begin(), nodes.end());
    while (!makers.empty()) {
      Node* maker = *makers.begin();
      makers.erase(makers.begin());
      if (takesListThatChanges(*maker) || !canSink(maker, nodes.back(), members)) continue;
      views.push_back(maker);
      members.insert(maker);
      addMakers(maker, addMakers);
    }
    // A list goes with what unpacks it.
    std::erase_if(views, [&](const Node* view) {
      return view->kind() == prim::ListUnpack &&
             std::find(views.begin(), views.end(), view->input(0)->node()) == views.end();
    });
    std::reverse(views.begin(), views.end());
    return views;
  }

  /// Whether the view can be made right before the group: what else comes before that is no member.
  bool canSink(Node* view, const Node* to, const std::unordered_set<const Node*>& members) {
    constexpr size_t kMaxDistance = 256;
    size_t distance = 0;
    const bool may_raise = mayRaise(*view);
    for (Node* next = view->next(); next != to; next = next->next()) {
      if (++distance > kMaxDistance || memory_.conflict(view, next)) return false;
      if (may_raise && !members.contains(next) && mayRaise(*next)) return false;
    }
    return true;
  }

  void closeAll() {
    while (!open_.empty()) close(open_.size() - 1);
  }

  struct Done {
    std::vector<Node*> nodes, views;
  };

  Graph& graph_;
  const bool with_products_;
  bool explains_ = false;
  AliasDb memory_;
  std::vector<Group> open_;
  std::vector<Done> done_;
  std::unordered_map<const Node*, Fusibility> kinds_;                // of the nodes that were looked at
  std::unordered_set<const Value*> reduced_;                         // see isReduced
  std::unordered_set<const Value*> scanned_;                         // see isScanned
  std::vector<const Node*> joined_;                                  // operators that joined a group, in order
  std::unordered_map<const Node*, size_t> place_;                    // in joined_
  std::unordered_map<const Node*, std::vector<std::string>> notes_;  // by the last operator of a group: see note
  std::unordered_map<const Node*, size_t> runs_at_;                  // place of the last operator of its group
  std::unordered_set<const Node*> barriers_;                         // see addBarriers
};

}  // namespace

bool formFusionGroups(Graph& graph) {
  giveEachReadAList(graph, graph.block());
  // Lists of indices come right before the operators that take them.
  codegen::moveListsToUsers(graph.block(), codegen::makesIndices);
  return Fuser(graph, /*with_products=*/true).run();
}

CRESSET_PASS(formFusionGroups, "fuse", Bits, "Put operators that one kernel can compute into a subgraph")

void formFusionGroupsWithoutProducts(Graph& graph) {
  Fuser(graph, /*with_products=*/false).run();
}

std::vector<GroupNeighbors> neighborsOfGroups(Graph& graph) {
  giveEachReadAList(graph, graph.block());
  codegen::moveListsToUsers(graph.block(), codegen::makesIndices);
  return Fuser(graph, /*with_products=*/true).explain();
}

void outlineEachOperator(Graph& graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) {
    if (codegen::isCall(*node) && !codegen::makesKnownViews(*node)) nodes.push_back(node);
  }
  for (Node* node : nodes) codegen::outline(graph, SubgraphKind::Fused, {node}, {});
}

}  // namespace cresset
