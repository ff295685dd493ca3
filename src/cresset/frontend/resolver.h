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
/// Asks each in turn.
ResolverPtr chainResolvers(std::vector<ResolverPtr> resolvers);

} // namespace cresset
