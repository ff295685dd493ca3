#include "cresset/analysis/may_raise.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>

#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

/// A value of a type that is not Optional can be None for wrong casts only, which raise by themselves.
bool isNeverNone(const c10::TypePtr& type) {
  return type->kind() != c10::TypeKind::OptionalType && type->kind() != c10::TypeKind::NoneType &&
         type->kind() != c10::TypeKind::AnyType && type->kind() != c10::TypeKind::UnionType;
}

// Conditions of the column NEVER_RAISES_IF: what numbers and types decide.
using Condition = bool (*)(const Node& node);

/// The input is a number other than zero.
template <size_t index>
bool isNonZero(const Node& node) {
  const auto constant = toIValue(node.input(index));
  return constant &&
         ((constant->isInt() && constant->toInt() != 0) || (constant->isDouble() && constant->toDouble() != 0));
}

bool isNeverNone(const Node& node) {
  return isNeverNone(node.input(0)->type());
}

/// Nested tensors have no sizes; a tensor of known rank is not nested.
bool hasRank(const Node& node) {
  const auto tensor = node.input(0)->type()->cast<c10::TensorType>();
  return tensor && tensor->dim();
}

/// The rank that is known, where the input is the index of one of so many dimensions and `more`.
bool isDimension(const Node& node, size_t input, int64_t more = 0) {
  const auto tensor = node.input(0)->type()->cast<c10::TensorType>();
  const auto index = constantAs<int64_t>(node.input(input));
  if (!tensor || !tensor->dim() || !index) return false;
  const auto rank = static_cast<int64_t>(*tensor->dim()) + more;
  return *index >= -rank && *index < rank;
}

/// The second input is the index of a dimension of the first.
bool hasDimension(const Node& node) {
  return isDimension(node, 1);
}

/// The second and the third input are.
bool hasTwoDimensions(const Node& node) {
  return isDimension(node, 1) && isDimension(node, 2);
}

/// The second input says where in the first a dimension can be inserted.
bool isPlaceForDimension(const Node& node) {
  return isDimension(node, 1, 1);
}

bool isPositive(const Value& value) {
  const auto number = constantAs<int64_t>(&value);
  return number && *number > 0;
}

/// `x[begin:end:step]` of a dimension that there is: what lies outside is cut off.
bool isSlice(const Node& node) {
  const auto isKnown = [](const Value& value) { return isNoneConstant(&value) || constantAs<int64_t>(&value); };
  return isDimension(node, 1) && isKnown(*node.input(2)) && isKnown(*node.input(3)) && isPositive(*node.input(4));
}

/// Parts along a dimension that there is, their number or size in the second input.
bool areParts(const Node& node) {
  return isPositive(*node.input(1)) && isDimension(node, 2);
}

bool isMatrixOrLess(const Node& node) {
  const auto tensor = node.input(0)->type()->cast<c10::TensorType>();
  return tensor && tensor->dim() && *tensor->dim() <= 2;
}

constexpr ColumnCell<Condition> kConditions[] = {
#define OPERATOR(name) {name, nullptr},
#define NEVER_RAISES_IF(condition) {{}, condition},
#include "cresset/ops/table/table.def"
};

bool mayRaiseForConstants(const Node& node, const Operator& op) {
  static const auto* conditions = new auto(byOperator(kConditions));
  const auto found = conditions->find(op.fullName());
  return found == conditions->end() || !found->second(node);
}

/// An operator on one tensor of floating-point numbers, element by element, with numbers known: every element has a
/// result.
bool isTotalOnFloats(const Node& node, const Operator& op) {
  if (!op.neverRaisesOnFloats()) return false;
  const auto tensor = node.input(0)->type()->cast<c10::TensorType>();
  if (!tensor || !tensor->dim() || !(tensor->scalarType() == at::kFloat || tensor->scalarType() == at::kDouble))
    return false;
  const auto inputs = node.inputs();
  // Numbers that no float holds are an error.
  return std::all_of(++inputs.begin(), inputs.end(), [](const Value* input) {
    const auto constant = toIValue(input);
    if (!constant || !(constant->isInt() || constant->isDouble())) return false;
    return std::abs(constant->isInt() ? static_cast<double>(constant->toInt()) : constant->toDouble()) < 1e30;
  });
}

bool mayRaise(const Node& node, Raises raises) {
  switch (raises) {
    case Raises::Never:
      return false;
    case Raises::OfTensorKeys:
      for (size_t i = 0; i < node.inputs().size(); i += 2) {
        if (node.input(i)->type()->kind() == c10::TypeKind::TensorType) return true;
      }
      return false;
    case Raises::OfTupleIndex:
      return !placeInTuple(node);
    case Raises::InBodies:
      for (const Block* block : Bodies(node)) {
        const auto nodes = block->nodes();
        if (std::any_of(nodes.begin(), nodes.end(), [](const Node* inner) { return mayRaise(*inner); })) return true;
      }
      return false;
    case Raises::Always:
      return true;
  }
  return true;
}

}  // namespace

bool mayRaise(const Node& node) {
  if (const Structure* structure = structureOf(node.kind())) return mayRaise(node, structure->raises);
  const Operator* op = operatorOf(node);
  if (!op) return true;
  return !op->neverRaises() && mayRaiseForConstants(node, *op) && !isTotalOnFloats(node, withoutReuse(*op));
}

}  // namespace cresset
