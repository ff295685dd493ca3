// How a compilation reaches names that its own text does not define.
//
// Thread-safety: a resolver is called with the Program's definition lock held, by one thread at a time.
#pragma once

#include <memory>
#include <string>

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
};
using ResolverPtr = std::shared_ptr<Resolver>;

/// `torch`, `math`, `ops`, `prim`-level names, builtin functions and types: what every program sees.
ResolverPtr builtinResolver();
/// The functions and types of `program` under `prefix`, by their names without it; then `next`; then `__torch__…` by
/// its full name. A program must outlive the resolver (functions of the program may hold it).
ResolverPtr programResolver(Program& program, c10::QualifiedName prefix, ResolverPtr next = nullptr);
/// The value that stands for a named type: ExceptionClass for user exceptions, else ClassValue.
SugaredValuePtr valueOfType(const TypePtr& type);
/// Asks each in turn.
ResolverPtr chainResolvers(std::vector<ResolverPtr> resolvers);

}  // namespace cresset
