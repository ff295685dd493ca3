// Trees to functions and types of a Program: the entry points of the front end.
//
// Bodies compile lazily: these declare functions (with their schema if every argument and the result are annotated or
// take TorchScript's default type), and the body is compiled when the function is first needed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cresset/frontend/parser.h"
#include "cresset/frontend/resolver.h"

namespace cresset {

struct DefineOptions {
  /// Prefix of the qualified names ("__torch__"); may be empty.
  c10::QualifiedName prefix;
  /// Consulted after the program's own functions and types, and before builtins.
  ResolverPtr resolver;
  /// Whether names already taken get a mangled name (importing) or are an error (a user's text).
  bool mangle = false;
};

/// A `def` and what it means by the names that it does not define.
struct FunctionBody {
  Def def;
  ResolverPtr resolver;
  /// Of the first parameter of a method; null for functions.
  TypePtr self_type;
  /// What the first parameter means in the body; null: a value of `self_type`.
  std::function<SugaredValuePtr(Value* self)> self;
};
/// Compiles `body` and sets `function`'s graph; sets its schema too if it has none yet (the result's type is then
/// inferred: the common type of all returns). For definers; returns that graph. Throws UserError.
Graph& compileBody(Function& function, const FunctionBody& body);

/// Declares one function.
Function& defineFunction(Program& program, const Def& def, const DefineOptions& options);

/// Declares a class, module, interface, enum or named tuple, with methods, attributes, constants and properties, as
/// people write them or as archives hold them. The type is registered with the program before bodies compile.
c10::NamedTypePtr defineType(Program& program, const ClassDef& def, const DefineOptions& options);

/// Adds a method to a class or module.
Function& defineMethod(Program& program, const c10::ClassTypePtr& self, const Def& def, const DefineOptions& options);

/// Parses a file and declares all in it; functions may call those further down. A body compiles when its graph is
/// first needed, which is when its errors come. Returns the declared functions (methods left out).
std::vector<Function*> declareSource(
    Program& program, std::shared_ptr<const Source> source, const DefineOptions& options);
/// The same, and compiles every body, so that errors come now.
std::vector<Function*> defineSource(
    Program& program, std::shared_ptr<const Source> source, const DefineOptions& options);

/// The type that an annotation means. Throws UserError if it is none.
TypePtr typeOfAnnotation(const Expr& annotation, Program& program, const ResolverPtr& resolver);
/// The schema of a `def` line. `self_type` types an unannotated `self`. Without an annotation of the result, returns()
/// is empty: it is then to be inferred.
c10::FunctionSchema schemaOf(const Def& def, Program& program, const ResolverPtr& resolver, const TypePtr& self_type);

/// The value of an expression that needs no running program: a default, a Final, an enum member. `hint`, if not null,
/// is the type that the value converts to (int to float, list literals) and must have.
c10::IValue evaluateConstant(const Expr& expr, const TypePtr& hint, Program& program, const ResolverPtr& resolver);

}  // namespace cresset
