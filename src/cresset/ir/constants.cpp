// Which values can be constants, and in which attribute a constant holds them.
#include "cresset/ir/constants.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <limits>

#include "cresset/support/error.h"

namespace cresset {

using c10::TypeKind;

namespace {

// Values nest as types do; deeper ones are no constants of a program that could be printed.
constexpr int kMaxConstantNesting = 200;

/// Whether the value is immutable or copied, and means the same in another process.
bool canBeConstant(const c10::IValue& value, int depth = 0) {
  if (depth > kMaxConstantNesting) return false;
  auto all = [&](const auto& items) {
    for (const c10::IValue& item : items) {
      if (!canBeConstant(item, depth + 1)) return false;
    }
    return true;
  };
  if (value.isNone() || value.isTensor() || value.isInt() || value.isDouble() || value.isComplexDouble() ||
      value.isBool() || value.isString() || value.isDevice() || value.isEnum() || value.isObject()) {
    return true;
  }
  if (value.isList()) return all(value.toListRef());
  if (value.isTuple()) return all(value.toTupleRef().elements());
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (!canBeConstant(entry.key(), depth + 1) || !canBeConstant(entry.value(), depth + 1)) return false;
    }
    return true;
  }
  return false;  // Generator, Stream, Future, RRef, Capsule, Storage, a symbolic int …
}

bool isBoolType(const TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) return isBoolType(optional->getElementType());
  return type->kind() == TypeKind::BoolType;
}

}  // namespace

std::optional<c10::IValue> knownValue(const Value& value) {
  if (auto constant = toIValue(&value)) return constant;
  if (value.node()->kind() == prim::unchecked_cast) return knownValue(*value.node()->input(0));
  if (value.node()->kind() != prim::ListConstruct) return std::nullopt;
  c10::impl::GenericList list(value.type()->castRaw<c10::ListType>()->getElementType());
  for (const Value* element : value.node()->inputs()) {
    auto constant = toIValue(element);
    if (!constant) return std::nullopt;
    list.push_back(std::move(*constant));
  }
  return c10::IValue(list);
}

bool isConstant(const Value* value) {
  return value && !value->isErased() && value->node()->kind() == prim::Constant;
}

bool isNoneConstant(const Value* value) {
  return isConstant(value) && !value->node()->hasAttribute(attr::value) &&
         value->type()->kind() != TypeKind::FunctionType;
}

std::optional<c10::IValue> toIValue(const Value* value) {
  if (!isConstant(value) || value->type()->kind() == TypeKind::FunctionType) return std::nullopt;
  const Attribute* held = value->node()->findAttribute(attr::value);
  if (!held) return c10::IValue();
  switch (held->kind()) {
    case Attribute::Kind::Int:
      if (isBoolType(value->type())) return held->asInt() != 0;
      return held->asInt();
    case Attribute::Kind::Float:
      return held->asFloat();
    case Attribute::Kind::Complex:
      return c10::complex<double>(held->asComplex().real(), held->asComplex().imag());
    case Attribute::Kind::String:
      return held->asString();
    case Attribute::Kind::Tensor:
      return held->asTensor();
    case Attribute::Kind::Value:
      return held->asValue();
    default:
      return std::nullopt;
  }
}

bool isUnlimited(const Value* trip_count) {
  const auto constant = toIValue(trip_count);
  return constant && constant->isInt() && constant->toInt() == std::numeric_limits<int64_t>::max();
}

bool setConstant(Node* node, const c10::IValue& value, TypePtr type) {
  if (!node || node->kind() != prim::Constant) throw UserError("Only a prim::Constant can be given a constant value.");
  if (!canBeConstant(value)) return false;
  Value* output = node->output();
  if (!type) type = value.isNone() ? TypePtr(c10::NoneType::get()) : value.type();
  auto hold = [&](Attribute attribute) { node->setAttribute(attr::value, std::move(attribute)); };
  if (value.isNone()) {
    if (node->hasAttribute(attr::value)) node->removeAttribute(attr::value);
  } else if (value.isBool() && isBoolType(type)) {
    hold(static_cast<int64_t>(value.toBool()));
  } else if (value.isInt() && !isBoolType(type)) {
    hold(value.toInt());
  } else if (value.isDouble()) {
    hold(value.toDouble());
  } else if (value.isComplexDouble()) {
    c10::complex<double> v = value.toComplexDouble();
    hold(std::complex<double>(v.real(), v.imag()));
  } else if (value.isString()) {
    hold(value.toStringRef());
  } else if (value.isTensor()) {
    hold(value.toTensor());
  } else {
    hold(Attribute(value));
  }
  output->setType(std::move(type));
  return true;
}

Value* Graph::insertConstant(const c10::IValue& value, TypePtr type) {
  Node* node = create(prim::Constant);
  if (!setConstant(node, value, std::move(type))) {
    node->destroy();
    throw UserError("A value of type " + value.tagKind() + " can't be a constant in a graph.", current_range_);
  }
  return insertNode(node)->output();
}

Value* insertConstantBefore(Node* node, const c10::IValue& value, TypePtr type) {
  Graph& graph = node->graph();
  const InsertPointGuard guard(graph, node);
  Value* constant = graph.insertConstant(value, std::move(type));
  constant->node()->copyLocation(node);
  return constant;
}

}  // namespace cresset
