// What types and functions are called in code.
#pragma once

#include <ATen/core/enum_type.h>
#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <string>

namespace cresset {

/// `type` as the named type that it is; null if it has no name. (c10's own cast forgets enums.)
inline c10::NamedTypePtr namedType(c10::Type& type) {
  if (auto enumeration = type.cast<c10::EnumType>()) return enumeration;
  auto named = type.cast<c10::NamedType>();
  return named && named->name() ? named : nullptr;
}
inline c10::NamedTypePtr namedType(const c10::TypePtr& type) {
  return namedType(*type);
}

/// By default their qualified names. Archives give names of their own (archive_names.h).
class CodeNames {
 public:
  virtual ~CodeNames() = default;
  virtual std::string ofType(const c10::NamedTypePtr& type) { return type->name()->qualifiedName(); }
  virtual std::string ofFunction(torch::jit::Function& function) { return function.qualname().qualifiedName(); }

  /// A type as annotations write it.
  std::string annotation(const c10::TypePtr& type) {
    return type->annotation_str([this](const c10::Type& part) -> std::optional<std::string> {
      // Parts are asked for by reference, but types always belong to a pointer.
      if (auto named = namedType(const_cast<c10::Type&>(part))) return ofType(named);
      return std::nullopt;
    });
  }
};

}  // namespace cresset
