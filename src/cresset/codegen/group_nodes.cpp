// Questions about nodes and values that decide how groups are formed.
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/codegen/group.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"

namespace cresset::codegen {

namespace {

bool isListOfTensors(const Value& value) {
  const auto* list = value.type()->castRaw<c10::ListType>();
  if (!list || value.node()->kind() != prim::ListConstruct) return false;
  const c10::Type* element = list->getElementType().get();
  if (const auto* optional = element->castRaw<c10::OptionalType>()) element = optional->getElementType().get();
  return element->kind() == c10::TypeKind::TensorType;
}

}  // namespace

std::optional<at::ScalarType> dtypeOf(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  if (!type || !type->scalarType() || !type->dim() || !type->device() || !type->device()->is_cpu()) return std::nullopt;
  return isSupported(*type->scalarType()) ? type->scalarType() : std::nullopt;
}

std::optional<size_t> rankOf(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  return type ? type->dim() : std::nullopt;
}

const Operator* computedOperator(const Node& node) {
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  return op ? &withoutReuse(*op) : nullptr;
}

const Value* argumentNamed(const Node& node, const Operator& op, const char* name) {
  const auto index = op.schema().argumentIndexWithName(name);
  return index ? node.input(static_cast<size_t>(*index)) : nullptr;
}

std::optional<c10::IValue> knownArgument(const Node& node, const Operator& op, const char* name) {
  const Value* argument = argumentNamed(node, op, name);
  if (!argument) return std::nullopt;
  auto value = knownValue(*argument);
  if (!value) throw Unsupported{op.fullName() + " whose " + name + " is not known"};
  return value;
}

const Node* onlyUserOfList(const Node& node) {
  if (node.kind() != prim::ListConstruct || node.output()->uses().size() != 1) return nullptr;
  return (*node.output()->uses().begin()).user;
}

bool readsAt(const Node& user, const Value& list) {
  if (!isListOfTensors(list)) return false;
  const Operator* op = computedOperator(user);
  const IndexRule* rule = op ? IndexRule::of(*op) : nullptr;
  return rule && rule->form == IndexRule::Form::Each && user.input(rule->index) == &list &&
         user.owningBlock() == list.node()->owningBlock();
}

bool makesIndices(const Node& node) {
  const Node* user = onlyUserOfList(node);
  return user && readsAt(*user, *node.output());
}

const Node* callOf(const Node& node) {
  return makesIndices(node) ? onlyUserOfList(node) : &node;
}

std::vector<Node*> listsOfIndices(const Node& node) {
  std::vector<Node*> lists;
  for (const Value* input : node.inputs()) {
    if (makesIndices(*input->node())) lists.push_back(const_cast<Node*>(input->node()));
  }
  return lists;
}

bool isCall(const Node& node) {
  return node.kind() != prim::Constant && !makesIndices(node);
}

bool makesKnownViews(const Node& node) {
  if (node.kind() == prim::ListUnpack) {
    const Node* maker = node.input(0)->node();
    return maker->kind() != prim::ListUnpack && maker->outputs().size() == 1 && makesKnownViews(*maker);
  }
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op || !op->isOfDispatcher() || op->isMutable() || node.outputs().size() != 1 || node.inputs().empty())
    return false;
  // By strides a view reaches other elements where memory lies otherwise, or begins elsewhere in its storage.
  if (op->schema().argumentIndexWithName("stride")) return false;
  const auto& result = op->schema().returns()[0];
  const auto& self = op->schema().arguments()[0];
  if (!result.alias_info() || !self.alias_info() || !dtypeOf(*node.input(0))) return false;
  const bool is_list = result.type()->kind() == c10::TypeKind::ListType;
  if (!is_list && dtypeOf(*node.output()) != dtypeOf(*node.input(0))) return false;
  const auto inputs = node.inputs();
  return std::all_of(inputs.begin() + 1, inputs.end(), [](const Value* input) {
    const auto known = knownValue(*input);
    return known && !known->isTensor() && !known->isObject();
  });
}

}  // namespace cresset::codegen
