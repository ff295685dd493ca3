// Declaring functions and classes, in steps: names first, then schemas and attributes, bodies when they are needed.
// Internal to frontend/.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "cresset/frontend/compiler.h"

namespace cresset {

/// What the decorators of a `def` say.
enum class Role { Plain, StaticMethod, Getter, Setter };
struct DecoratedDef {
  Def def;  // its body replaced by a `raise` if it is ignored or unused
  Role role = Role::Plain;
};
/// Throws UserError at a decorator that TorchScript does not know.
DecoratedDef applyDecorators(const Def& def);

/// Declares a function whose body compiles on demand.
Function& declareFunction(
    Program& program, c10::QualifiedName name, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type);
/// Sets the schema of a declared function if the `def` line says what the result is.
void declareSchema(Function& function, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type);

/// The names that one text (or one call of define…) defines, and a resolver of them: in front of the program's own
/// names, so that mangled definitions find each other. Classes are defined when they are first asked for, which lets
/// them refer to each other in any order.
class SourceNames final : public Resolver, public std::enable_shared_from_this<SourceNames> {
 public:
  SourceNames(Program& program, const DefineOptions& options);

  void addClass(const ClassDef& def);
  Function& addFunction(const Def& def);
  /// Defines the classes that nothing asked for, then gives the functions their schemas.
  void complete();
  /// The class of a ClassDef that was added.
  c10::NamedTypePtr typeNamed(const std::string& name);
  /// Called as soon as a class can be referred to, though it is not complete.
  void publish(const std::string& name, const c10::NamedTypePtr& type);

  SugaredValuePtr resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) override;
  TypePtr resolveType(const std::string& name, const SourceRange& range) override;

 private:
  TypePtr ownType(const std::string& name, const SourceRange& range);
  c10::QualifiedName qualify(const std::string& name) const;

  Program& program_;
  DefineOptions options_;
  ResolverPtr outer_;
  std::map<std::string, ClassDef> pending_;
  std::vector<std::string> class_order_;  // as in the source: classes mostly need earlier ones
  std::set<std::string> in_progress_;
  std::map<std::string, c10::NamedTypePtr> types_;
  struct DeclaredFunction {
    Function* function;
    Def def;
  };
  std::map<std::string, DeclaredFunction> functions_;
};

/// Defines `def` under `name`, which is free. `names` resolves names in it and is told of the type.
c10::NamedTypePtr defineClass(
    Program& program, const ClassDef& def, c10::QualifiedName name, const std::shared_ptr<SourceNames>& names);

}  // namespace cresset
