#include "cresset/autodiff/region_views.h"

#include <algorithm>
#include <unordered_set>

#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

/// Whether the results may be arguments, or views of them.
bool mayGiveViews(const Operator& op) {
  return !op.isPure() && op.isDeterministic();
}

bool returnsViews(const Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  const auto outputs = node->outputs();
  const bool returns_numbers =
      std::all_of(outputs.begin(), outputs.end(), [](const Value* output) { return !mayHoldTensors(*output->type()); });
  return (op && mayGiveViews(*op) && !returns_numbers) || node->kind() == prim::ListUnpack ||
         isTensorListConstruct(node);
}

/// A list of parts, which the next node unpacks.
bool returnsTensors(const Node* node) {
  return node->outputs().size() == 1 && node->kind() != prim::ListConstruct && isTensorList(*node->output()->type());
}

/// Views, and lists of tensors, that are used outside of the group, by nodes there or by such views, with the
/// operators whose lists they unpack.
std::unordered_set<const Node*> leavingViews(const std::vector<Node*>& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  std::unordered_set<const Node*> leaving;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node* node = *it;
    if (!returnsViews(node)) continue;
    const auto outputs = node->outputs();
    const bool leaves = std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
      const auto uses = output->uses();
      return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Node* user = userIn(node->owningBlock(), use);
        return !inside.contains(user) || leaving.contains(user);
      });
    });
    if (!leaves) continue;
    leaving.insert(node);
    if (node->kind() == prim::ListUnpack) leaving.insert(node->input(0)->node());
  }
  return leaving;
}

}  // namespace

std::vector<Node*>::iterator viewOfBothSides(std::vector<Node*>& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end()), leaving = leavingViews(nodes);
  return std::find_if(nodes.begin(), nodes.end(), [&](Node* node) {
    if (!leaving.contains(node) || isTensorListConstruct(node) || returnsTensors(node)) return false;
    bool from_inside = false, from_outside = false;
    for (const Value* output : node->outputs()) {  // several are parts of one list, whose gradient is one
      if (!mayRequireGrad(output->type()) || !isTensorValue(output)) continue;
      for (const Use& use : output->uses()) {
        const Node* user = userIn(node->owningBlock(), use);
        if (user && user->blocks().empty() && !isStructural(user->kind()) && !passesGradients(user)) continue;
        const bool is_inside = inside.contains(user) && !leaving.contains(user);
        from_inside |= is_inside;
        from_outside |= !is_inside;
      }
    }
    return from_inside && from_outside;
  });
}

std::vector<Node*>::iterator viewInTheMiddle(std::vector<Node*>& nodes, AliasDb& memory) {
  const std::unordered_set<const Node*> leaving = leavingViews(nodes);
  const auto meets = [&](const Node* view, auto first, auto last) {
    GradientOperands operands(memory);
    operands.add(view);
    return std::any_of(
        first, last, [&](const Node* other) { return !leaving.contains(other) && operands.meets(other); });
  };
  for (auto it = nodes.begin(); it != nodes.end();) {
    Node* view = *it;
    if (!leaving.contains(view) || !meets(view, it + 1, nodes.end())) {
      ++it;
      continue;
    }
    const auto inputs = view->inputs();
    const bool is_unpack = view->kind() == prim::ListUnpack;
    const bool must_stay =
        is_unpack || std::any_of(nodes.begin(), it, [&](const Node* other) {
          return memory.conflict(other, view) ||
                 std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) { return input->node() == other; });
        });
    if (returnsTensors(view)) {
      ++it;  // together with the node that unpacks it
      continue;
    }
    if (must_stay || meets(view, nodes.begin(), it)) return it;
    view->moveBefore(nodes.front());
    it = nodes.erase(it);
  }
  return nodes.end();
}

void leaveViewsOutside(std::vector<Node*>& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  Node* place = nodes.back()->next();
  std::unordered_set<const Node*> made_again;
  std::vector<Node*> kept;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node* node = *it;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    std::vector<Use> outside;
    if (returnsViews(node)) {
      for (Value* output : node->outputs()) {
        for (const Use& use : output->uses()) {
          if (!inside.contains(userIn(node->owningBlock(), use))) outside.push_back(use);
        }
      }
    }
    // Lists are only made and unpacked inside: their elements are what may leave.
    if (!outside.empty()) {
      made_again.insert(node);
      Node* copy = node->graph().createClone(node, [](Value* value) { return value; });
      copy->insertBefore(place);
      copy->bindOperator(op);
      place = copy;  // bases come before the views of them
      if (node->kind() == prim::ListUnpack) {
        Node* maker = node->input(0)->node();
        Node* made = node->graph().createClone(maker, [](Value* value) { return value; });
        made->insertBefore(place);
        made->bindOperator(maker->boundOperator());
        copy->replaceInput(0, made->output());
        made_again.insert(maker);
        place = made;
      }
      for (const Use& use : outside)
        use.user->replaceInput(use.offset, copy->output(use.user->input(use.offset)->offset()));
    }
    const auto outputs = node->outputs();
    // A view that was never used may raise: it stays.
    if (made_again.contains(node) &&
        std::none_of(outputs.begin(), outputs.end(), [](const Value* v) { return v->hasUses(); })) {
      node->destroy();
    } else {
      kept.push_back(node);
    }
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

}  // namespace cresset
