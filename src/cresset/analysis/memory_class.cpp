#include "cresset/analysis/memory_class.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/without_shapes.h"

namespace cresset {

using c10::TypeKind;
using c10::TypePtr;

MemoryClasses::MemoryClasses() {
  add(MemoryKind::Any, c10::AnyType::get(), /*open=*/true);
}

ClassId MemoryClasses::add(MemoryKind kind, const TypePtr& type, bool open) {
  // Classes of two programs may have one name; their types then differ in identity.
  std::string text = std::to_string(static_cast<int>(kind));
  if (kind == MemoryKind::Object && !open)
    text += "@" + std::to_string(reinterpret_cast<uintptr_t>(type.get()));
  else if (kind != MemoryKind::Tensor)
    text += type->annotation_str();
  const auto [entry, added] = by_text_.emplace(std::move(text), static_cast<ClassId>(classes_.size()));
  if (added) classes_.push_back({kind, type, open});
  return entry->second;
}

const std::vector<ClassId>& MemoryClasses::of(const TypePtr& type) {
  const auto [entry, added] = by_type_.try_emplace(type.get());
  if (added) {
    held_.push_back(type);
    std::vector<ClassId> found;
    collect(type, found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    by_type_[type.get()] = std::move(found);
  }
  return by_type_[type.get()];
}

void MemoryClasses::collect(const TypePtr& type, std::vector<ClassId>& into) {
  switch (type->kind()) {
    case TypeKind::TensorType:
      into.push_back(add(MemoryKind::Tensor, c10::TensorType::get()));
      return;
    case TypeKind::OptionalType:
      return collect(type->castRaw<c10::OptionalType>()->getElementType(), into);
    case TypeKind::UnionType:
      for (const TypePtr& member : type->containedTypes()) collect(member, into);
      return;
    case TypeKind::ListType:
      into.push_back(add(MemoryKind::List, withoutShapes(type)));
      return;
    case TypeKind::DictType:
      into.push_back(add(MemoryKind::Dict, withoutShapes(type)));
      return;
    case TypeKind::TupleType: {
      // A tuple is never written to: only what is in it counts.
      const auto elements = type->containedTypes();
      if (std::any_of(elements.begin(), elements.end(), [&](const TypePtr& element) { return !of(element).empty(); }))
        into.push_back(add(MemoryKind::Tuple, withoutShapes(type)));
      return;
    }
    case TypeKind::ClassType:
      into.push_back(add(MemoryKind::Object, type));
      return;
    case TypeKind::InterfaceType:
    case TypeKind::AnyClassType:
      into.push_back(add(MemoryKind::Object, type, /*open=*/true));
      return;
    case TypeKind::FutureType:
    case TypeKind::AwaitType:
    case TypeKind::RRefType:
      into.push_back(add(MemoryKind::Future, withoutShapes(type)));
      return;
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
    case TypeKind::ComplexType:
    case TypeKind::NumberType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
    case TypeKind::LayoutType:
    case TypeKind::ScalarTypeType:
    case TypeKind::MemoryFormatType:
    case TypeKind::QSchemeType:
    case TypeKind::SymIntType:
    case TypeKind::SymFloatType:
    case TypeKind::SymBoolType:
    case TypeKind::FunctionType:
    case TypeKind::EnumType:
      return;
    case TypeKind::GeneratorType:
    case TypeKind::StreamObjType:
    case TypeKind::StorageType:
    case TypeKind::QuantizerType:
    case TypeKind::CapsuleType:
      into.push_back(add(MemoryKind::Other, type));
      return;
    default:  // Any, AnyList, AnyTuple, AnyEnum, PyObject, type variables
      into.push_back(kAny);
  }
}

bool MemoryClasses::compatible(ClassId a, ClassId b) const {
  if (a == b || a == kAny || b == kAny) return true;
  if (classes_[a].kind != classes_[b].kind) return false;
  return classes_[a].kind == MemoryKind::Tuple || classes_[a].open || classes_[b].open;
}

TypePtr MemoryClasses::fieldType(ClassId id, int field) const {
  const Class& found = classes_[id];
  switch (found.kind) {
    case MemoryKind::Tensor:
    case MemoryKind::Other:
      return nullptr;
    case MemoryKind::Any:
      return found.type;
    case MemoryKind::Object:
      if (auto type = found.type->cast<c10::ClassType>()) {
        if (static_cast<size_t>(field) < type->numAttributes()) return type->getAttribute(static_cast<size_t>(field));
        return nullptr;
      }
      return c10::AnyType::get();
    default: {
      const auto contained = found.type->containedTypes();
      return static_cast<size_t>(field) < contained.size() ? contained[static_cast<size_t>(field)] : nullptr;
    }
  }
}

size_t MemoryClasses::numFields(ClassId id) const {
  const Class& found = classes_[id];
  if (found.kind == MemoryKind::Tensor || found.kind == MemoryKind::Other) return 0;
  if (found.kind == MemoryKind::Any || found.open) return 1;
  if (auto type = found.type->cast<c10::ClassType>()) return type->numAttributes();
  return found.type->containedTypes().size();
}

}  // namespace cresset
