// Checks and conversions of values against types.
//
// The checks look at tags first and build a dynamic type (which allocates) only for containers whose element types
// decide, since they stand before every call.
#include "cresset/module/values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include "cresset/ops/type_parts.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"

namespace cresset {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

namespace {

std::optional<IValue> convertList(const IValue& value, const TypePtr& type) {
  const TypePtr& element = type->castRaw<c10::ListType>()->getElementType();
  if (value.isList()) {
    c10::List<IValue> list = value.toList();
    if (*list.elementType() == *element) return value;
    c10::impl::GenericList result(element);
    result.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      auto item = convertTo(list.get(i), element);
      if (!item) return std::nullopt;
      result.push_back(std::move(*item));
    }
    return IValue(result);
  }
  if (value.isTuple()) {
    c10::impl::GenericList result(element);
    for (const IValue& item : value.toTupleRef().elements()) {
      auto converted = convertTo(item, element);
      if (!converted) return std::nullopt;
      result.push_back(std::move(*converted));
    }
    return IValue(result);
  }
  return std::nullopt;
}

std::optional<IValue> convertDict(const IValue& value, const TypePtr& type) {
  if (!value.isGenericDict()) return std::nullopt;
  const auto* wanted = type->castRaw<c10::DictType>();
  auto dict = value.toGenericDict();
  if (*dict.keyType() == *wanted->getKeyType() && *dict.valueType() == *wanted->getValueType()) return value;
  c10::impl::GenericDict result(wanted->getKeyType(), wanted->getValueType());
  for (const auto& entry : dict) {
    auto key = convertTo(entry.key(), wanted->getKeyType());
    auto item = convertTo(entry.value(), wanted->getValueType());
    if (!key || !item) return std::nullopt;
    assignEntry(result, std::move(*key), std::move(*item));
  }
  return IValue(result);
}

std::optional<IValue> convertTuple(const IValue& value, const TypePtr& type) {
  if (!value.isTuple()) return std::nullopt;
  const auto* wanted = type->castRaw<c10::TupleType>();
  const auto& elements = value.toTupleRef().elements();
  if (elements.size() != wanted->elements().size()) return std::nullopt;
  std::vector<IValue> converted;
  converted.reserve(elements.size());
  bool changed = false;
  for (size_t i = 0; i < elements.size(); ++i) {
    auto item = convertTo(elements[i], wanted->elements()[i]);
    if (!item) return std::nullopt;
    changed |= !item->is(elements[i]);
    converted.push_back(std::move(*item));
  }
  if (wanted->schema()) {
    return IValue(c10::ivalue::Tuple::createNamed(std::move(converted), type->expect<c10::TupleType>()));
  }
  if (!changed) return value;
  return IValue(c10::ivalue::Tuple::create(std::move(converted)));
}

std::optional<IValue> convertUnion(const IValue& value, const c10::UnionType& type) {
  // A member that takes the value unchanged wins over one that would convert it.
  for (const TypePtr& member : type.containedTypes()) {
    auto converted = convertTo(value, member);
    if (converted && converted->is(value)) return converted;
  }
  for (const TypePtr& member : type.containedTypes()) {
    if (auto converted = convertTo(value, member)) return converted;
  }
  return std::nullopt;
}

}  // namespace

std::optional<IValue> convertTo(const IValue& value, const TypePtr& type) {
  auto accept = [&](bool matches) { return matches ? std::optional<IValue>(value) : std::nullopt; };
  switch (type->kind()) {
    case TypeKind::AnyType:
      return value;
    case TypeKind::NoneType:
      return accept(value.isNone());
    case TypeKind::TensorType:
      if (value.isTensor()) {
        // Refined tensor types are facts for passes, never requirements on callers.
        return value;
      }
      return std::nullopt;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      if (value.isInt() || value.isSymInt()) return value;
      if (value.isBool()) return IValue(static_cast<int64_t>(value.toBool()));
      return std::nullopt;
    case TypeKind::LayoutType:
    case TypeKind::ScalarTypeType:
    case TypeKind::MemoryFormatType:
      return accept(value.isInt());
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      if (value.isDouble() || value.isSymFloat()) return value;
      if (value.isInt()) return IValue(static_cast<double>(value.toInt()));
      if (value.isBool()) return IValue(static_cast<double>(value.toBool()));
      return std::nullopt;
    case TypeKind::ComplexType:
      if (value.isComplexDouble()) return value;
      if (value.isDouble()) return IValue(c10::complex<double>(value.toDouble(), 0));
      if (value.isInt()) return IValue(c10::complex<double>(static_cast<double>(value.toInt()), 0));
      return std::nullopt;
    case TypeKind::NumberType:
      return accept(value.isInt() || value.isDouble() || value.isComplexDouble() || value.isBool());
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return accept(value.isBool() || value.isSymBool());
    case TypeKind::StringType:
      return accept(value.isString());
    case TypeKind::DeviceObjType:
      if (value.isString()) return IValue(c10::Device(value.toStringRef()));
      return accept(value.isDevice());
    case TypeKind::GeneratorType:
      return accept(value.isGenerator());
    case TypeKind::StreamObjType:
      return accept(value.isStream());
    case TypeKind::StorageType:
      return accept(value.isStorage());
    case TypeKind::OptionalType:
      if (value.isNone()) return value;
      return convertTo(value, type->castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::UnionType:
      return convertUnion(value, *type->castRaw<c10::UnionType>());
    case TypeKind::ListType:
      return convertList(value, type);
    case TypeKind::DictType:
      return convertDict(value, type);
    case TypeKind::TupleType:
      return convertTuple(value, type);
    case TypeKind::AnyListType:
      return accept(value.isList());
    case TypeKind::AnyTupleType:
      return accept(value.isTuple());
    case TypeKind::AnyClassType:
      return accept(value.isObject());
    default:
      // Classes, interfaces, enums, futures: the dynamic type is cheap to have and decides.
      return accept(typeOf(value, "looking for the type of a value")->isSubtypeOf(*type));
  }
}

std::string describeType(const IValue& value) {
  if (value.isNone()) return "NoneType";
  if (value.isObject()) return value.toObject()->type()->annotation_str();
  if (value.isTuple()) {
    // Types of tuples that share their parts are long.
    constexpr size_t kMaxShown = 1000;
    const c10::TypePtr type = typeOf(value, "looking for the type of a value");
    return TypeParts().sizeOf(type).parts > kMaxShown ? "Tuple[...]" : type->annotation_str();
  }
  return value.type()->annotation_str();
}

}  // namespace cresset
