#include "cresset/analysis/inner_views.h"

#include <algorithm>
#include <vector>

#include "cresset/analysis/plain_types.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

bool writesContainer(const Operator& op) {
  const auto& arguments = op.schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return isWritten(argument) && argument.type()->kind() != c10::TypeKind::TensorType;
  });
}

/// Whether a node may give the views of a tensor that is there another place on autograd's tape.
bool movesViews(const Node& node) {
  if (const Structure* structure = structureOf(node.kind())) return structure->memory == Memory::Anything;
  const Operator& op = *operatorOf(node);
  return (op.isMutable() && !writesContainer(op)) || op.hasTrait(Trait::MakesLeaf) || op.hasTrait(Trait::ChangesTape) ||
         op.hasTrait(Trait::ComputesGradients) || op.hasSideEffects() || op.restriction() == Restriction::Foreign;
}

bool anyMovesViews(const Block* block) {
  for (const Node* node : block->nodes()) {
    if (movesViews(*node)) return true;
    for (const Block* body : Bodies(*node)) {
      if (anyMovesViews(body)) return true;
    }
  }
  return false;
}

/// Whether it may return an argument, or what an argument holds: a copy of a list has the same elements.
bool mayReturnArgument(const Operator& op) {
  const auto& returns = op.schema().returns();
  return op.mayShareArguments() || op.mayReturnSelf() ||
         std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
           return result.alias_info() ||
                  (result.type()->kind() != c10::TypeKind::TensorType && mayHoldTensors(*result.type()));
         });
}

/// From the last node to the first, so that what becomes of a node's results is known.
class Finder {
 public:
  InnerViews run(const Block* block) {
    visit(block);
    return std::move(views_);
  }

 private:
  void visit(const Block* block) {
    std::vector<const Node*> nodes;
    for (const Node* node : block->nodes()) nodes.push_back(node);
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = *nodes[i];
      for (const Block* body : Bodies(node)) visit(body);
      for (const Value* output : node.outputs()) {
        if (staysInside(output)) inside_.insert(output);
      }
      if (mayBeView(node) && areInside(node.outputs())) views_.insert(&node);
    }
    for (const Value* input : block->inputs()) {
      if (staysInside(input)) inside_.insert(input);
    }
  }

  static bool mayBeView(const Node& node) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    return op && mayReturnArgument(*op);
  }

  template <class Values>
  bool areInside(const Values& values) const {
    return std::all_of(values.begin(), values.end(), [&](const Value* value) { return inside_.contains(value); });
  }

  bool staysInside(const Value* value) const {
    const auto uses = value->uses();
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return isInside(use); });
  }

  bool isInside(const Use& use) const {
    const Node& user = *use.user;
    if (user.isReturn()) return false;
    if (const Structure* structure = structureOf(user.kind())) {
      switch (structure->memory) {
        case Memory::None:
          return user.blocks().empty();
        case Memory::Holder:
        case Memory::Slice:
        case Memory::Element:
        case Memory::Same:
          return areInside(user.outputs());
        case Memory::Bodies:
          return (isSubgraph(user, SubgraphKind::Fused) || isSubgraph(user, SubgraphKind::Sequence)) &&
                 inside_.contains(user.g(attr::Subgraph)->inputs()[use.offset]);
        default:
          return false;
      }
    }
    const Operator& op = *operatorOf(user);
    if (op.restriction() == Restriction::Foreign || op.asksAutograd() || op.hasSideEffects() || writesContainer(op))
      return false;
    const bool may_return = mayReturnArgument(op) || (op.isInPlaceReuse() && use.offset == 0);
    return !may_return || areInside(user.outputs());
  }

  std::unordered_set<const Value*> inside_;
  InnerViews views_;
};

}  // namespace

InnerViews innerViews(const Graph& graph, bool records_gradients) {
  if (records_gradients && anyMovesViews(graph.block())) return {};
  return Finder().run(graph.block());
}

}  // namespace cresset
