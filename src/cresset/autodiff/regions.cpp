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
#include "cresset/autodiff/region_views.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/without_autocast.h"
#include "cresset/passes/pipeline.h"
#include "cresset/passes/propagate_types.h"

namespace cresset {

namespace {

/// Draws random numbers, and does nothing else.
bool isRandom(const Operator& op) {
  return !op.isDeterministic() && !op.isMutable() && op.restriction() != Restriction::Foreign;
}

/// Real numbers, bools, None, devices, and lists and optionals of them.
bool isNumberLike(const c10::Type& type) {
  const c10::TypeKind kind = type.kind();
  if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::OptionalType)
    return isNumberLike(*type.containedTypes()[0]);
  return isScalarType(type) && kind != c10::TypeKind::ComplexType && kind != c10::TypeKind::StringType;
}

enum class Part {
  Outside,
  Differentiable,  // gradients flow through it by rules
  Inert,           // no gradient flows through it, and it may stand anywhere
};

/// Whether somebody may hold the tensor, to ask for a gradient with respect to it, or to watch its gradient: it is
/// returned, put into a container that is, or goes where nobody knows what becomes of it. Operators only compute.
bool mayBeHeld(const Value* value) {
  static const Symbol kHolders[] = {
      Symbol::fromQualString("aten::grad"), Symbol::fromQualString("aten::retain_grad"),
      Symbol::fromQualString("cresset::release_graph")};
  std::vector<const Value*> names = {value};  // it, and what hands it on
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
        const size_t skip = owner->kind() == prim::Loop ? 1 : 0;  // whether to go on
        if (use.offset >= skip) add(owner->output(use.offset - skip));
      } else if (isTensorListConstruct(user) || user->kind() == prim::TupleConstruct || mayHandOn(user)) {
        add(user->output());
      } else if (
          isStructural(user->kind()) ||
          std::find(std::begin(kHolders), std::end(kHolders), user->kind()) != std::end(kHolders)) {
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

/// What a region's outputs depend on takes time in proportion to the square of its size.
constexpr size_t kMaxRegion = 500;

class RegionBuilder {
 public:
  RegionBuilder(Graph& graph, size_t min_size)
      : graph_(graph),
        memory_(aliasesOf(graph)),
        replaces_data_(tensorWrites(graph) == TensorWrites::Anything),
        min_size_(min_size) {}

  bool run(Block* block) {
    std::vector<Node*> group;
    for (Node* node : std::vector<Node*>(block->nodes().begin(), block->nodes().end())) {
      if (taken_.contains(node) || node->kind() == prim::Constant) continue;
      if (node->outputs().size() > 1) markResults(node);
      // The analysis does not know the regions that are made in blocks.
      if (node->blocks().empty() || classify(node) == Part::Inert) {
        if (readsAndWrites(group, node)) close(group);
        if (taken_.contains(node)) continue;
      } else {
        close(group);
        for (Block* inner : node->blocks()) run(inner);
        continue;
      }
      if (node->kind() == prim::ListUnpack && !group.empty() && group.back() == node->input(0)->node()) {
        group.push_back(node);  // of a list that the region makes
      } else if (node->kind() != prim::ListUnpack && isPart(node) && (!givesList(node) || unpackOf(node))) {
        group.push_back(node);
      } else {
        close(group);
      }
      if (group.size() >= kMaxRegion && !givesList(group.back())) close(group);
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

  static bool givesList(const Node* node) {
    return node->outputs().size() == 1 && node->kind() != prim::ListConstruct &&
           node->output()->type()->kind() == c10::TypeKind::ListType && !isNumberLike(*node->output()->type());
  }

  /// The node that takes apart the list that this node gives, if it follows at once and nobody else uses the list, and
  /// its elements have one known dtype.
  Node* unpackOf(const Node* node) {
    const auto uses = node->output()->uses();
    if (uses.size() != 1 || uses.front().user->kind() != prim::ListUnpack) return nullptr;
    Node* unpack = uses.front().user;
    const Node* next = node->next();
    while (next->kind() == prim::Constant) next = next->next();
    const auto outputs = unpack->outputs();
    const bool written =
        std::any_of(outputs.begin(), outputs.end(), [&](Value* output) { return memory_->hasWriters(output); });
    return next == unpack && !written && fitsDtype(unpack) ? unpack : nullptr;
  }

  /// Branches and loops that only decide about numbers, or raise: a check of sizes, for one.
  bool isInertControl(Node* node) {
    if (node->kind() == prim::Constant || node->kind() == prim::RaiseException) return true;
    if (node->kind() != prim::If && node->kind() != prim::Loop) {
      const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
      const auto outputs = node->outputs();
      const bool gives_text = op && op->isPure() && !op->asksAutograd() &&
                              std::all_of(outputs.begin(), outputs.end(), [](const Value* output) {
                                return isScalarType(*output->type());
                              });
      return gives_text || classify(node) == Part::Inert;
    }
    const auto isNumber = [](const Value* value) { return isNumberLike(*value->type()); };
    if (!std::all_of(node->outputs().begin(), node->outputs().end(), isNumber)) return false;
    return std::all_of(node->blocks().begin(), node->blocks().end(), [&](Block* block) {
      const auto nodes = block->nodes();
      return std::all_of(block->inputs().begin(), block->inputs().end(), isNumber) &&
             std::all_of(nodes.begin(), nodes.end(), [&](Node* inner) { return isInertControl(inner); });
    });
  }

  bool isWrite(Node* node) {
    return !isStructural(node->kind()) && node->kind() != prim::RaiseException && operatorOf(*node) &&
           operatorOf(*node)->isMutable();
  }

  /// Whether the group with the node would write to what it reads: what it keeps for gradients would be what it is at
  /// its end. Others may write to what the group reads or gives: they stand before or behind it, and autograd's
  /// counters of versions see them.
  bool readsAndWrites(const std::vector<Node*>& group, Node* node) {
    const auto writes = [&](Node* writer, Node* other) {
      return !other->blocks().empty() || memory_->writesToAlias(writer, other->inputs().vec()) ||
             memory_->writesToAlias(writer, other->outputs());
    };
    if (isWrite(node)) {
      return std::any_of(
          group.begin(), group.end(), [&](Node* other) { return memory_->readsWritten(other) && writes(node, other); });
    }
    return memory_->readsWritten(node) &&
           std::any_of(group.begin(), group.end(), [&](Node* other) { return isWrite(other) && writes(other, node); });
  }

  /// A write to a tensor that no gradient has to do with: a counter of batches.
  bool isInertWrite(Node* node, const Operator& op) const {
    const auto isInert = [](const Value* value) {
      return isTensorValue(value) ? !mayRequireGrad(value->type()) : isNumberLike(*value->type());
    };
    return op.isMutable() && !op.kernel() && !op.hasSideEffects() && op.isDeterministic() && !replaces_data_ &&
           std::all_of(node->inputs().begin(), node->inputs().end(), isInert) &&
           std::none_of(
               node->outputs().begin(), node->outputs().end(), [](const Value* output) { return output->hasUses(); });
  }

  Part classify(Node* node) {
    if (!node->blocks().empty()) return isInertControl(node) ? Part::Inert : Part::Outside;
    if (node->kind() == prim::ListUnpack) return Part::Differentiable;  // let in together with what it takes apart
    if (node->kind() == prim::ListConstruct) {
      const auto& type = *node->output()->type();
      return (isNumberLike(type) || isTensorList(type)) && !memory_->hasWriters(node->output()) ? Part::Inert
                                                                                                : Part::Outside;
    }
    if (isStructural(node->kind())) return Part::Outside;
    const Operator* op = operatorOf(*node);
    if (op && isInertWrite(node, *op)) return Part::Inert;
    if (op && op->asksAutograd()) return Part::Outside;
    // Random numbers are drawn in the same order: a region stands where its nodes stood.
    if (!op || op->isMutable() || (!isRandom(*op) && (op->hasSideEffects() || !op->isDeterministic())))
      return Part::Outside;
    const auto inputs = node->inputs();
    const auto outputs = node->outputs();
    const bool flows =
        std::any_of(inputs.begin(), inputs.end(), [](Value* input) { return carriesGradient(input); }) &&
        std::any_of(outputs.begin(), outputs.end(), [](const Value* output) { return mayRequireGrad(output->type()); });
    if (!flows) {
      // Numbers, and tensors that are as good as constants.
      const bool takes_known = std::all_of(inputs.begin(), inputs.end(), [](const Value* input) {
        return isTensorValue(input) || isNumberLike(*input->type()) || isConstant(input) ||
               isTensorListConstruct(input->node());
      });
      const bool gives_known = std::all_of(outputs.begin(), outputs.end(), [](const Value* output) {
        return isTensorValue(output) ? !mayRequireGrad(output->type()) : isNumberLike(*output->type());
      });
      const bool is_view = op->isOfDispatcher() && op->isDeterministic();  // made again behind the region if it leaves
      return (op->isPure() || isRandom(*op) || is_view) && takes_known && gives_known ? Part::Inert : Part::Outside;
    }
    if (!hasDerivative(*op) || !rulesHold(*op, *node)) return Part::Outside;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (isNoneConstant(inputs[i])) continue;
      if (isTensorList(*inputs[i]->type())) {
        if (!isTensorListConstruct(inputs[i]->node()) || memory_->hasWriters(inputs[i])) return Part::Outside;
      } else if (mayRequireGrad(inputs[i]->type()) && !isTensorValue(inputs[i])) {
        return Part::Outside;
      }
      if (carriesGradient(inputs[i]) && !hasGradient(*op, i)) return Part::Outside;
    }
    return Part::Differentiable;
  }

  static bool carriesGradient(Value* operand) {
    const auto elements = elementsOf(operand);
    return std::any_of(elements.begin(), elements.end(), [](const Value* element) {
      return !isNoneConstant(element) && mayRequireGrad(element->type());
    });
  }

  bool isPart(Node* node) {
    const Part part = classify(node);
    return part != Part::Outside && (isWrite(node) || fitsDtype(node));
  }

  /// The rules are for real numbers of known precision.
  static bool fitsDtype(const Node* node) {
    const auto fits = [](const Value* value) { return rulesFit(value->type()); };
    const auto inputs = node->inputs();
    return std::all_of(
               inputs.begin(), inputs.end(),
               [&](Value* input) {
                 const auto elements = elementsOf(input);
                 return std::all_of(elements.begin(), elements.end(), fits);
               }) &&
           std::all_of(node->outputs().begin(), node->outputs().end(), fits);
  }

  void close(std::vector<Node*>& group) {
    std::vector<Node*> nodes = std::move(group);
    group.clear();
    std::erase_if(nodes, [&](const Node* node) { return taken_.contains(node); });
    const auto isDifferentiable = [&](Node* node) { return classify(node) == Part::Differentiable; };
    while (!nodes.empty() && !isDifferentiable(nodes.back())) nodes.pop_back();
    const auto first = std::find_if(nodes.begin(), nodes.end(), isDifferentiable);
    const std::vector<Node*> before(nodes.begin(), first);
    nodes.erase(nodes.begin(), first);
    for (auto it = before.rbegin(); it != before.rend(); ++it) {
      if (!isUpdatedIn(nodes, *it)) continue;
      (*it)->moveBefore(nodes.front());
      nodes.insert(nodes.begin(), *it);
    }
    const auto isSmall = [&] {
      return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), isDifferentiable)) < min_size_;
    };
    if (isSmall()) return;
    if (const auto cut = endOfConnected(nodes); cut != nodes.end()) {
      std::vector<Node*> behind(cut, nodes.end());
      nodes.erase(cut, nodes.end());
      close(nodes);
      close(behind);
      return;
    }
    takeSizes(nodes);
    if (const auto held = heldAndUsed(nodes); held != nodes.end()) {
      std::vector<Node*> behind = takeDependents(nodes, held);
      close(nodes);
      close(behind);
      return;
    }
    if (const auto view = viewOfBothSides(nodes); view != nodes.end()) {
      // Its gradient is the sum of those from inside and outside, before it goes to its base: only the tape adds so.
      const bool is_unpack = (*view)->kind() == prim::ListUnpack;
      std::vector<Node*> before(nodes.begin(), view - is_unpack), behind(view + 1, nodes.end());
      close(before);
      close(behind);
      return;
    }
    if (const auto view = viewInTheMiddle(nodes, *memory_); view != nodes.end()) {
      std::vector<Node*> behind(view + 1, nodes.end());
      nodes.erase(view - ((*view)->kind() == prim::ListUnpack), nodes.end());
      close(nodes);
      close(behind);
      return;
    }
    leaveViewsOutside(nodes);
    if (isSmall()) return;
    outline(nodes);
    found_ = true;
  }

  /// Whether the node makes memory for the group alone, which is written with what the group computes: made there, it
  /// need not be copied.
  static bool isUpdatedIn(const std::vector<Node*>& nodes, Node* maker) {
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
      if (!givesGradients(nodes[i])) continue;
      if (flows && last < i) return nodes.begin() + static_cast<std::ptrdiff_t>(i);
      flows = true;
      for (const Value* output : nodes[i]->outputs()) {
        if (!mayRequireGrad(output->type())) continue;
        for (const Use& use : output->uses()) {
          const auto place = places.find(userIn(nodes[i]->owningBlock(), use));
          if (place != places.end() && givesGradients(place->first)) last = std::max(last, place->second);
        }
      }
    }
    return nodes.end();
  }

  static bool asksForSizes(const Node& node) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    return node.kind() == aten::len || (op && op->asksForKind());
  }

  /// Lets nodes into the group that ask for sizes of a result of which nothing else is used outside. It is no output of
  /// the region then, and backward passes don't go through what it was computed from.
  void takeSizes(std::vector<Node*>& nodes) {
    const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
    std::vector<Node*> taken;
    for (Node* node : nodes) {
      for (Value* output : node->outputs()) {
        if (!isTensorValue(output) || !mayRequireGrad(output->type()) || memory_->hasWriters(output)) continue;
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

  /// The first node of the group with a result that somebody may hold and from which the group computes more. To
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
                     return inside.contains(user) && givesGradients(user);
                   }) &&
               mayBeHeld(output);
      });
    });
  }

  /// Takes those nodes out of the group that depend on the results of `held`, and puts them behind the others.
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
    if (!mayMoveBehind(nodes, dependent)) {
      std::vector<Node*> behind(held + 1, nodes.end());
      nodes.erase(held + 1, nodes.end());
      return behind;
    }
    std::vector<Node*> behind;
    for (Node* node : nodes) {
      if (dependent.contains(node)) behind.push_back(node);
    }
    Node* end = nodes.back()->next();
    std::erase_if(nodes, [&](Node* node) { return dependent.contains(node); });
    for (Node* node : behind) node->moveBefore(end);
    return behind;
  }

  /// Whether nobody can tell if `moved` stand behind the others of the group: no random numbers are drawn in another
  /// order, and no gradients of one tensor are added up in another order.
  bool mayMoveBehind(const std::vector<Node*>& nodes, const std::unordered_set<const Node*>& moved) {
    GradientOperands passed(*memory_);
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

  void outline(const std::vector<Node*>& nodes) {
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
    // Autograd's engine adds up the gradients of a value in the reverse order of its uses, those behind the region
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
      size_t next = 0;  // behind the operands come the values that nodes in blocks take
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
    Node* region = createSubgraph(graph_, SubgraphKind::Differentiable, subgraph, inputs);
    region->insertBefore(nodes.front());
    region->copyLocation(nodes.front());
    for (size_t i = 0; i < outputs.size(); ++i) {
      region->output(i)->setType(outputs[i]->type());
      if (outputs[i]->hasDebugName()) region->output(i)->setDebugName(outputs[i]->debugName());
      outputs[i]->replaceAllUsesWith(region->output(i));
    }
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) (*it)->destroy();
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  bool replaces_data_;
  size_t min_size_;
  std::unordered_set<const Node*> taken_;  // by regions before their turn came (takeSizes); perhaps gone
  bool found_ = false;
};

/// Decompositions are for real numbers, as the rules are that they prepare for: others conjugate what PyTorch's own
/// kernels conjugate.
bool isOfRealNumbers(const Node& node) {
  const auto inputs = node.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [](const Value* input) {
    if (input->type()->kind() == c10::TypeKind::ComplexType) return false;
    const auto* tensor = input->type()->castRaw<c10::TensorType>();
    return !tensor || (rulesFit(input->type()) && tensor->scalarType() && !at::isComplexType(*tensor->scalarType()));
  });
}

void markThroughout(Node* node) {
  if (!isStructural(node->kind())) markWithoutAutocast(*node);
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) markThroughout(inner);
  }
}

bool decomposeIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= decomposeIn(inner);
    if (isStructural(node->kind()) || node->outputs().size() != 1 || !mayRequireGrad(node->output()->type())) continue;
    const Operator* op = operatorOf(*node);
    const auto form = op && isOfRealNumbers(*node) ? decompositionOf(*op, *node) : nullptr;
    if (!form) continue;
    std::unordered_map<const Value*, Value*> copies;
    for (size_t i = 0; i < node->inputs().size(); ++i) copies[form->inputs()[i]] = node->input(i);
    for (Node* inner : form->nodes()) {
      Node* copy = node->graph().createClone(inner, [&](Value* value) { return copies.at(value); });
      copy->insertBefore(node);
      copyLocationThroughout(copy, node);
      // What an operator that is cast for calls is not cast for again.
      if (isWithoutAutocast(*node)) markThroughout(copy);
      for (size_t i = 0; i < inner->outputs().size(); ++i) copies[inner->output(i)] = copy->output(i);
    }
    node->output()->replaceAllUsesWith(copies.at(form->outputs()[0]));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool rulesFit(const c10::TypePtr& type) {
  const auto* tensor = type->castRaw<c10::TensorType>();
  if (!tensor || !mayRequireGrad(type)) return true;
  static constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};
  return tensor->device() && tensor->scalarType() &&
         std::find(std::begin(kDtypes), std::end(kDtypes), *tensor->scalarType()) != std::end(kDtypes);
}

bool decomposeForGradients(Graph& graph, const TypeAssumptions& assumptions) {
  if (!decomposeIn(graph.block())) return false;
  fitRulesToRanks(graph, "decomposition", assumptions);
  return true;
}

void fitRulesToRanks(Graph& graph, const char* name, const TypeAssumptions& assumptions) {
  Pipeline passes(graph, name);
  passes.repeat(4, [&] {
    passes.run("propagate-types", [&](Graph& of) { return propagateTypes(of, assumptions); });
    passes.run("peephole");
    passes.run("constant-propagation");
    passes.run("simplify-branches");
    passes.run("unroll");
    passes.run("remove-list-mutation");
  });
}

bool createDifferentiableRegions(Graph& graph, size_t min_size) {
  return RegionBuilder(graph, min_size).run(graph.block());
}

}  // namespace cresset
