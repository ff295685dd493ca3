#include "cresset/analysis/may_raise.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>

#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/basic.h"
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

/// An int that is no less than 0: a constant, or what operators count.
bool isCount(const Value& value) {
  if (const auto number = constantAs<int64_t>(&value)) return *number >= 0;
  return isBasic(value.node(), Basic::Size) || isBasic(value.node(), Basic::Length);
}

/// A list of such, which nothing else has.
bool areCounts(const Value& list) {
  if (const auto known = toIValue(&list)) {
    return known->isIntList() && std::ranges::all_of(known->toIntVector(), [](int64_t number) { return number >= 0; });
  }
  if (list.uses().size() != 1) return false;
  if (isBasic(list.node(), Basic::Sizes)) return true;
  const auto elements = list.node()->inputs();
  return list.node()->kind() == prim::ListConstruct &&
         std::all_of(elements.begin(), elements.end(), [](const Value* element) { return isCount(*element); });
}

/// The options of a new tensor on this machine's memory, from input `first` on: dtype, layout, device, pinned memory
/// and perhaps a memory format.
bool areOptionsOfNew(const Node& node, size_t first) {
  const auto inputs = node.inputs();
  const auto isEither = [&](size_t i, auto holds) {
    const auto known = i < inputs.size() ? toIValue(inputs[i]) : std::optional(c10::IValue());
    return known && (known->isNone() || holds(*known));
  };
  const auto isDtype = [](const c10::IValue& value) {
    return value.isInt() && value.toInt() >= 0 && value.toInt() <= static_cast<int64_t>(at::kBFloat16) &&
           !c10::isQIntType(static_cast<at::ScalarType>(value.toInt()));
  };
  return isEither(first, isDtype) && isEither(first + 1, [](const auto& layout) { return layout == c10::IValue(0); }) &&
         isEither(first + 2, [](const auto& device) { return device.isDevice() && device.toDevice().is_cpu(); }) &&
         isEither(first + 3, [](const auto& pinned) { return pinned == c10::IValue(false); }) &&
         isEither(first + 4, [](const auto&) { return false; });
}

/// A tensor of such a kind like the first input, a tensor of the processor's memory whose dtype and rank are known.
bool isLikeKnown(const Node& node) {
  const auto tensor = node.input(0)->type()->cast<c10::TensorType>();
  return tensor && tensor->dim() && tensor->scalarType() && !c10::isQIntType(*tensor->scalarType()) &&
         tensor->device() && tensor->device()->is_cpu();
}

bool isNewLike(const Node& node) {
  return isLikeKnown(node) && areOptionsOfNew(node, 1);
}

template <size_t sizes>
bool isNewOfCounts(const Node& node) {
  return areCounts(*node.input(sizes)) && (sizes == 0 || isLikeKnown(node)) && areOptionsOfNew(node, sizes + 1);
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
