#include "cresset/autodiff/regions.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/gradients.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/region_parts.h"
#include "cresset/autodiff/region_views.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/inline_subgraphs.h"

namespace cresset {

namespace {

/// Whether the tensor may be held outside, to ask for a gradient with respect to it, or to watch its gradient: it is
/// returned, put into a container that is, or escapes. Operators only compute.
bool mayBeHeld(const Value* value) {
  const auto isHolder = [](const Node* node) {
    return hasTrait(*node, Trait::ChangesTape | Trait::ReleasesTape) ||
           (!node->outputs().empty() && hasTrait(*node, Trait::ComputesGradients));
  };
  std::vector<const Value*> names = {value};  // it, and what returns it unchanged
  std::unordered_set<const Value*> seen(names.begin(), names.end());
  const auto add = [&](const Value* name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Use& use : names[i]->uses()) {
      Node* user = use.user;
      if (user->isReturn()) {
        const Node* owner = user->owningBlock()->owningNode();
        if (!owner || (owner->kind() != prim::If && owner->kind() != prim::Loop)) return true;
        const size_t skip = owner->kind() == prim::Loop ? 1 : 0;  // whether to continue
        if (use.offset >= skip) add(owner->output(use.offset - skip));
      } else if (isTensorListConstruct(user) || user->kind() == prim::TupleConstruct || mayReturnFirstArgument(user)) {
        add(user->output());
      } else if (isStructural(user->kind()) || isHolder(user)) {
        return true;
      } else {
        const Operator* op = operatorOf(*use.user);
        const bool puts_away = op && op->kernel() && op->isMutable();  // into a container
        if (!op || puts_away || op->restriction() == Restriction::Foreign) return true;
      }
    }
  }
  return false;
}

/// Replaces the nodes by one region.
void outline(Graph& graph, const std::vector<Node*>& nodes) {
  if (nodes.empty()) return;
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  auto subgraph = Graph::make();
  std::unordered_map<Value*, Value*> copies;
  std::vector<Value*> inputs;
  const auto copyOf = [&](Value* value) -> Value* {
    if (const auto found = copies.find(value); found != copies.end()) return found->second;
    Value* copy = nullptr;
    if (const auto constant = toIValue(value); constant && !constant->isTensor() && !constant->isObject()) {
      const InsertPointGuard guard(*subgraph, subgraph->block());
      copy = subgraph->insertConstant(*constant, value->type());
    } else {
      copy = subgraph->addInput(value->hasDebugName() ? value->debugName() : "")->setType(value->type());
      inputs.push_back(value);
      // The region stands where its first node stands; constants may stand between its nodes.
      if (constant && !value->node()->isBefore(nodes.front())) value->node()->moveBefore(nodes.front());
    }
    return copies[value] = copy;
  };
  // Autograd's engine adds up the gradients of a value in the reverse order of its uses, those after the region
  // first. So each use of an outer value is an input of the region of its own, later uses first: the engine then adds
  // in the same order. Lists are no inputs: each use of one makes it of its elements.
  std::map<std::pair<const Node*, size_t>, std::vector<Value*>> own_inputs;  // per operand, its elements' inputs
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (isTensorListConstruct(*it)) continue;
    for (size_t i = 0; i < (*it)->inputs().size(); ++i) {
      const auto elements = elementsOf((*it)->input(i));
      std::vector<Value*>& own = own_inputs[{*it, i}];
      for (Value* element : elements) {
        own.push_back(nullptr);
        if (inside.contains(element->node()) || !isTensorValue(element) || isConstant(element) ||
            !mayRequireGrad(element->type()))
          continue;
        own.back() = subgraph->addInput()->setType(element->type());
        inputs.push_back(element);
        copies[element] = own.back();
      }
    }
  }
  for (Node* node : nodes) {
    if (isTensorListConstruct(node)) continue;
    std::vector<Value*> operands;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* operand = node->input(i);
      const auto& own = own_inputs[{node, i}];
      if (!isTensorListConstruct(operand->node())) {
        operands.push_back(own[0] ? own[0] : copyOf(operand));
        continue;
      }
      std::vector<Value*> elements;
      for (size_t k = 0; k < own.size(); ++k) elements.push_back(own[k] ? own[k] : copyOf(operand->node()->input(k)));
      Node* list = subgraph->create(prim::ListConstruct, elements);
      subgraph->block()->appendNode(list);
      list->output()->setType(operand->type());
      list->copyLocation(operand->node());
      operands.push_back(list->output());
    }
    size_t next = 0;  // after the operands come the values that nodes in blocks take
    Node* copy = subgraph->createClone(
        node, [&](Value* value) { return next < operands.size() ? operands[next++] : copyOf(value); });
    subgraph->block()->appendNode(copy);
    copy->bindOperator(node->boundOperator());
    for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
  }
  std::vector<Value*> outputs;
  for (Node* node : nodes) {
    if (isTensorListConstruct(node)) continue;  // used inside only (leaveViewsOutside)
    for (Value* output : node->outputs()) {
      const auto uses = output->uses();
      if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
            return !inside.contains(userIn(node->owningBlock(), use));
          }))
        outputs.push_back(output);
    }
  }
  for (Value* output : outputs) subgraph->registerOutput(copies.at(output));
  Node* region = createSubgraph(graph, SubgraphKind::Differentiable, subgraph, inputs);
  region->insertBefore(nodes.front());
  region->copyLocation(nodes.front());
  for (size_t i = 0; i < outputs.size(); ++i) {
    region->output(i)->setType(outputs[i]->type());
    if (outputs[i]->hasDebugName()) region->output(i)->setDebugName(outputs[i]->debugName());
    outputs[i]->replaceAllUsesWith(region->output(i));
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) (*it)->destroy();
}

/// What a region's outputs depend on takes time in proportion to the square of its size.
constexpr size_t kMaxRegion = 500;

class RegionBuilder {
 public:
  RegionBuilder(Graph& graph, size_t min_size) : graph_(graph), parts_(graph), min_size_(min_size) {}

  bool run(Block* block) {
    std::vector<Node*> group;
    for (Node* node : std::vector<Node*>(block->nodes().begin(), block->nodes().end())) {
      if (taken_.contains(node) || node->kind() == prim::Constant) continue;
      if (node->outputs().size() > 1) markResults(node);
      // The analysis does not know the regions that are made in blocks.
      if (node->blocks().empty() || parts_.classify(node) == RegionPart::Inert) {
        if (parts_.readsAndWrites(group, node)) close(group);
        if (taken_.contains(node)) continue;
      } else {
        close(group);
        for (Block* inner : node->blocks()) run(inner);
        continue;
      }
      if (node->kind() == prim::ListUnpack && !group.empty() && group.back() == node->input(0)->node()) {
        group.push_back(node);  // of a list that the region makes
      } else if (
          node->kind() != prim::ListUnpack && parts_.isPart(node) && (!returnsList(node) || parts_.unpackOf(node))) {
        group.push_back(node);
      } else {
        close(group);
      }
      if (group.size() >= kMaxRegion && !returnsList(group.back())) close(group);
    }
    close(group);
    return found_;
  }

 private:
  /// Results that never have gradients are said to require none.
  static void markResults(Node* node) {
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op) return;
    for (size_t i = resultsWithGradients(*op); i < node->outputs().size(); ++i) {
      const auto type = node->output(i)->type()->cast<c10::TensorType>();
      if (type) {
        node->output(i)->setType(
            c10::TensorType::create(type->scalarType(), type->device(), type->dim(), /*requires_grad=*/false));
      }
    }
  }

  void close(std::vector<Node*>& group) {
    std::vector<Node*> nodes = std::move(group);
    group.clear();
    std::erase_if(nodes, [&](const Node* node) { return taken_.contains(node); });
    const auto isDifferentiable = [&](Node* node) { return parts_.classify(node) == RegionPart::Differentiable; };
    while (!nodes.empty() && !isDifferentiable(nodes.back())) nodes.pop_back();
    const auto first = std::find_if(nodes.begin(), nodes.end(), isDifferentiable);
    const std::vector<Node*> before(nodes.begin(), first);
    nodes.erase(nodes.begin(), first);
    for (auto it = before.rbegin(); it != before.rend(); ++it) {
      if (!isWrittenIn(nodes, *it)) continue;
      (*it)->moveBefore(nodes.front());
      nodes.insert(nodes.begin(), *it);
    }
    const auto isSmall = [&] {
      return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), isDifferentiable)) < min_size_;
    };
    if (nodes.empty() || isSmall()) return;
    if (const auto cut = endOfConnected(nodes); cut != nodes.end()) {
      std::vector<Node*> after(cut, nodes.end());
      nodes.erase(cut, nodes.end());
      close(nodes);
      close(after);
      return;
    }
    takeSizes(nodes);
    if (const auto held = heldAndUsed(nodes); held != nodes.end()) {
      std::vector<Node*> after = takeDependents(nodes, held);
      close(nodes);
      close(after);
      return;
    }
    if (const auto view = viewOfBothSides(nodes); view != nodes.end()) {
      // Its gradient is the sum of those from inside and outside, before it goes to its base: only the tape adds so.
      const bool is_unpack = (*view)->kind() == prim::ListUnpack;
      std::vector<Node*> before(nodes.begin(), view - is_unpack), after(view + 1, nodes.end());
      close(before);
      close(after);
      return;
    }
    if (const auto view = viewInTheMiddle(nodes, parts_.memory()); view != nodes.end()) {
      std::vector<Node*> after(view + 1, nodes.end());
      nodes.erase(view - ((*view)->kind() == prim::ListUnpack), nodes.end());
      close(nodes);
      close(after);
      return;
    }
    leaveViewsOutside(nodes);
    if (nodes.empty() || isSmall()) return;
    outline(graph_, nodes);
    found_ = true;
  }

  /// Whether the node makes memory for the group alone, which is written with what the group computes: made there, it
  /// need not be copied.
  static bool isWrittenIn(const std::vector<Node*>& nodes, Node* maker) {
    const Operator* op = maker->outputs().size() == 1 && !isStructural(maker->kind()) ? operatorOf(*maker) : nullptr;
    if (!op || !op->isPure() || !isTensorValue(maker->output())) return false;
    const auto uses = maker->output()->uses();
    const bool stays_inside = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return std::find(nodes.begin(), nodes.end(), use.user) != nodes.end();
    });
    return stays_inside && std::any_of(uses.begin(), uses.end(), [](const Use& use) {
             const Operator* user = operatorOf(*use.user);
             return use.offset == 0 && user && user->reusesFirst();
           });
  }

  /// Where the group can be cut so that no gradient flows from one part to the other. To autograd a region is one node:
  /// a backward pass from results of the one part would go through what the other was computed from.
  static std::vector<Node*>::iterator endOfConnected(std::vector<Node*>& nodes) {
    std::unordered_map<const Node*, size_t> places;
    for (size_t i = 0; i < nodes.size(); ++i) places[nodes[i]] = i;
    size_t last = 0;  // user of what stands before
    bool flows = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!passesGradients(nodes[i])) continue;
      if (flows && last < i) return nodes.begin() + static_cast<std::ptrdiff_t>(i);
      flows = true;
      for (const Value* output : nodes[i]->outputs()) {
        if (!mayRequireGrad(output->type())) continue;
        for (const Use& use : output->uses()) {
          const auto place = places.find(userIn(nodes[i]->owningBlock(), use));
          if (place != places.end() && passesGradients(place->first)) last = std::max(last, place->second);
        }
      }
    }
    return nodes.end();
  }

  static bool asksForSizes(const Node& node) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    return op && op->asksForKind();
  }

  /// Lets nodes into the group that ask for sizes of a result of which nothing else is used outside. It is no output of
  /// the region then, and backward passes don't go through what it was computed from.
  void takeSizes(std::vector<Node*>& nodes) {
    const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
    std::vector<Node*> taken;
    for (Node* node : nodes) {
      for (Value* output : node->outputs()) {
        if (!isTensorValue(output) || !mayRequireGrad(output->type()) || parts_.memory().hasWriters(output)) continue;
        std::vector<Node*> outside;
        for (const Use& use : output->uses()) {
          if (!inside.contains(userIn(node->owningBlock(), use))) outside.push_back(use.user);
        }
        const bool only_sizes = std::all_of(outside.begin(), outside.end(), [&](const Node* user) {
          const auto inputs = user->inputs();
          return asksForSizes(*user) && user->owningBlock() == node->owningBlock() &&
                 std::all_of(inputs.begin() + 1, inputs.end(), [](Value* input) { return isConstant(input); });
        });
        if (only_sizes) taken.insert(taken.end(), outside.begin(), outside.end());
      }
    }
    Node* end = nodes.back()->next();
    for (Node* node : taken) {
      if (node == end) end = end->next();
      node->moveBefore(end);
      nodes.push_back(node);
      taken_.insert(node);
    }
  }

  /// The first node of the group with a result that may be held outside and from which the group computes more. To
  /// autograd a region is one node: the gradient of such a result would lack what comes from the region's other
  /// results.
  static std::vector<Node*>::iterator heldAndUsed(std::vector<Node*>& nodes) {
    const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
    return std::find_if(nodes.begin(), nodes.end(), [&](Node* node) {
      const auto outputs = node->outputs();
      return std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
        if (!isTensorValue(output) || !mayRequireGrad(output->type())) return false;
        const auto uses = output->uses();
        return std::any_of(
                   uses.begin(), uses.end(),
                   [&](const Use& use) {
                     const Node* user = userIn(node->owningBlock(), use);
                     return inside.contains(user) && passesGradients(user);
                   }) &&
               mayBeHeld(output);
      });
    });
  }

  /// Takes those nodes out of the group that depend on the results of `held`, and puts them after the others.
  std::vector<Node*> takeDependents(std::vector<Node*>& nodes, std::vector<Node*>::iterator held) {
    std::unordered_set<const Node*> dependent;
    const auto dependsOnHeld = [&](const Node* node) {
      const auto inputs = node->inputs();
      return std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
        return input->node() == *held || dependent.contains(input->node());
      });
    };
    for (auto it = held + 1; it != nodes.end(); ++it) {
      if (!(*it)->blocks().empty() || dependsOnHeld(*it)) dependent.insert(*it);
    }
    if (!mayMoveAfter(nodes, dependent)) {
      std::vector<Node*> after(held + 1, nodes.end());
      nodes.erase(held + 1, nodes.end());
      return after;
    }
    std::vector<Node*> after;
    for (Node* node : nodes) {
      if (dependent.contains(node)) after.push_back(node);
    }
    Node* end = nodes.back()->next();
    std::erase_if(nodes, [&](Node* node) { return dependent.contains(node); });
    for (Node* node : after) node->moveBefore(end);
    return after;
  }

  /// Whether the results are the same if `moved` stand after the others of the group: no random numbers are drawn in
  /// another order, and no gradients of one tensor are added up in another order.
  bool mayMoveAfter(const std::vector<Node*>& nodes, const std::unordered_set<const Node*>& moved) {
    GradientOperands passed(parts_.memory());
    for (Node* node : nodes) {
      const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
      if (!node->blocks().empty() || (op && (op->isMutable() || !op->isDeterministic()))) return false;
      if (moved.contains(node)) {
        passed.add(node);
      } else if (passed.meets(node)) {
        return false;
      }
    }
    return true;
  }

  Graph& graph_;
  RegionParts parts_;
  size_t min_size_;
  std::unordered_set<const Node*> taken_;  // by regions before they were met (takeSizes); perhaps gone
  bool found_ = false;
};

}  // namespace

bool rulesFit(const c10::TypePtr& type) {
  const auto* tensor = type->castRaw<c10::TensorType>();
  if (!tensor || !mayRequireGrad(type)) return true;
  static constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};
  return tensor->device() && tensor->scalarType() &&
         std::find(std::begin(kDtypes), std::end(kDtypes), *tensor->scalarType()) != std::end(kDtypes);
}

bool createDifferentiableRegions(Graph& graph, size_t min_size) {
  inlineSubgraphs(*graph.block());  // their operators join the others
  return RegionBuilder(graph, min_size).run(graph.block());
}

}  // namespace cresset
