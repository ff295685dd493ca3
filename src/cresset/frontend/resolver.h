// How a compilation reaches names that its own text does not define.
//
// Thread-safety: a resolver is called with the Program's definition lock held, by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

class Resolver {
 public:
  virtual ~Resolver() = default;
  /// What the variable `name` means; null if unknown.
  virtual SugaredValuePtr resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) {
    return nullptr;
  }
  /// The type called `name` (dotted for attributes of names: "torch.Tensor"); null if unknown.
  virtual TypePtr resolveType(const std::string& name, const SourceRange& range) { return nullptr; }

  /// The names that resolveValue knows, or some of them, for "did you mean".
  virtual std::vector<std::string> names() { return {}; }

  /// Whether resolveType is asked before TorchScript's own types, as where the text's names are those of a live Python
  /// program, which may mean something else by `Device`.
  virtual bool shadowsTypes() const { return false; }
  /// What `name` is called where it is defined, if it constructs types from types: "List" for `t.List` after
  /// `import typing as t`. "" if unknown.
  virtual std::string resolveConstructor(const std::string& name) { return ""; }
  /// The default of the parameter `name` of the function that is being declared, if it is known without the text:
  /// Python evaluates defaults once, when the `def` runs. `type` is the parameter's. nullopt: the text says.
  virtual std::optional<c10::IValue> resolveDefault(
      const std::string& name, const TypePtr& type, const SourceRange& range);
};
using ResolverPtr = std::shared_ptr<Resolver>;

/// `torch`, `math`, `ops`, `prim`-level names, builtin functions and types: what every program sees.
ResolverPtr builtinResolver();
/// The functions and types of `program` under `prefix`, by their names without it; then `next`; then `__torch__…` by
/// its full name. A program must outlive the resolver (functions of the program may hold it).
ResolverPtr programResolver(Program& program, c10::QualifiedName prefix, ResolverPtr next = nullptr);
/// The value that stands for a named type: ExceptionClass for user exceptions, else ClassValue.
SugaredValuePtr valueOfType(const TypePtr& type);
/// Asks each in order.
ResolverPtr chainResolvers(std::vector<ResolverPtr> resolvers);

}  // namespace cresset
