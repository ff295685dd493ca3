// Functions and whole texts. The order inside a text does not matter: all names are declared before any annotation is
// read, and all annotations are read before any body compiles.
#include <ATen/core/class_type.h>

#include <algorithm>
#include <unordered_set>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/declarations.h"
#include "cresset/frontend/emitter.h"
#include "cresset/frontend/messages.h"
#include "cresset/ir/parser.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// `def` with a body that raises, for functions that exist for Python alone.
Def raisingDef(const Def& def, const std::string& message) {
  const SourceRange& range = def.range();
  const Expr text = StringLiteral::make(range, message);
  const Expr error = Apply::make(
      range, Var::make(Ident::make(range, "RuntimeError")), ListView<Expr>::make(range, {text}),
      ListView<Attr>::make(range, {}));
  const Stmt raise = Raise::make(range, error);
  return Def::make(range, def.name(), def.decl(), ListView<Stmt>::make(range, {raise}), def.decorators());
}

void requireFreeName(const c10::ClassType& type, const std::string& name, const SourceRange& range) {
  const bool taken =
      type.findMethod(name) || type.findStaticMethod(name) || type.findHook(name) || type.findAttributeSlot(name);
  if (taken) throw UserError("class '" + typeName(type) + "' already has a member '" + name + "'", range);
}

}  // namespace

DecoratedDef applyDecorators(const Def& def) {
  static const std::unordered_set<std::string> kNeutral = {
      "torch.jit.script", "torch.jit.export", "torch.jit.script_method", "script", "export", "script_method",
      "jit.script",       "jit.export"};
  static const std::unordered_set<std::string> kIgnored = {"torch.jit.ignore", "torch.jit.unused", "ignore",
                                                           "unused",           "jit.ignore",       "jit.unused"};
  DecoratedDef result{def};
  for (const Expr decorator : def.decorators()) {
    // @torch.jit.ignore(drop=True) is a call.
    const Expr named = decorator.kind() == TK_APPLY ? Apply(decorator.tree()).callee() : decorator;
    const std::string name = dottedName(named);
    if (kNeutral.contains(name)) continue;
    if (kIgnored.contains(name)) {
      const std::string short_name = name.substr(name.rfind('.') + 1);
      result.def = raisingDef(
          def, short_name == "unused"
                   ? "Cannot call @unused methods: this Python function is annotated to be ignored and cannot be run"
                   : "Cannot call the @ignore function '" + def.name().name() + "' without Python");
    } else if (name == "staticmethod") {
      result.role = Role::StaticMethod;
    } else if (name == "property") {
      result.role = Role::Getter;
    } else if (name == def.name().name() + ".setter") {
      result.role = Role::Setter;
    } else {
      throw UserError("the decorator '" + (name.empty() ? "…" : name) + "' is not supported", decorator.range());
    }
  }
  return result;
}

Function& declareFunction(
    Program& program, c10::QualifiedName name, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type) {
  Function* function = nullptr;
  try {
    function = &program.declare(
        std::move(name), [def, resolver, self_type](Function& f) { emitFunction(f, def, resolver, self_type); });
  } catch (const UserError& error) {
    throw UserError(error.message(), def.name().range());
  }
  function->setSourceRange(def.range());
  return *function;
}

void declareSchema(Function& function, const Def& def, const ResolverPtr& resolver, const TypePtr& self_type) {
  const bool is_init = self_type && def.name().name() == "__init__";
  if (!def.decl().returnType().present() && !is_init) return;
  c10::FunctionSchema schema = schemaOf(def, function.program(), resolver, self_type);
  if (is_init && schema.returns().empty()) {
    schema = schema.cloneWithReturns({c10::Argument("", c10::NoneType::get())});
  }
  function.setSchema(std::move(schema));
}

SourceNames::SourceNames(Program& program, const DefineOptions& options)
    : program_(program), options_(options), outer_(programResolver(program, options.prefix, options.resolver)) {}

c10::QualifiedName SourceNames::qualify(const std::string& name) const {
  c10::QualifiedName qualified =
      options_.prefix.atoms().empty() ? c10::QualifiedName(name) : c10::QualifiedName(options_.prefix, name);
  return options_.mangle ? program_.mangle(qualified) : qualified;
}

void SourceNames::addClass(const ClassDef& def) {
  const std::string& name = def.name().name();
  if (pending_.contains(name) || functions_.contains(name))
    throw UserError(messages::definedTwice(name), def.name().range());
  pending_.emplace(name, def);
  class_order_.push_back(name);
}

Function& SourceNames::addFunction(const Def& raw) {
  const DecoratedDef decorated = applyDecorators(raw);
  const std::string& name = raw.name().name();
  if (decorated.role != Role::Plain) throw UserError("this decorator is for methods of a class", raw.range());
  if (pending_.contains(name) || functions_.contains(name))
    throw UserError(messages::definedTwice(name), raw.name().range());
  Function& function = declareFunction(program_, qualify(name), decorated.def, shared_from_this(), nullptr);
  functions_.emplace(name, DeclaredFunction{&function, decorated.def});
  return function;
}

void SourceNames::complete() {
  // By index: defining a class may lead back here.
  for (size_t i = 0; i < class_order_.size(); ++i) {
    const std::string name = class_order_[i];
    if (auto it = pending_.find(name); it != pending_.end()) ownType(name, it->second.name().range());
  }
  class_order_.clear();
  for (auto& [name, declared] : functions_)
    declareSchema(*declared.function, declared.def, shared_from_this(), nullptr);
}

c10::NamedTypePtr SourceNames::typeNamed(const std::string& name) {
  complete();
  return types_.at(name);
}

void SourceNames::publish(const std::string& name, const c10::NamedTypePtr& type) {
  types_.emplace(name, type);
}

TypePtr SourceNames::ownType(const std::string& name, const SourceRange& range) {
  if (auto known = types_.find(name); known != types_.end()) return known->second;
  auto it = pending_.find(name);
  if (it == pending_.end()) {
    if (in_progress_.contains(name)) throw UserError("'" + name + "' refers to itself before it is complete", range);
    return nullptr;
  }
  if (in_progress_.size() >= static_cast<size_t>(kMaxNesting)) {
    throw UserError(
        "classes that need classes further down form a chain of more than " + std::to_string(kMaxNesting) +
            "; define each class before those that need it",
        range);
  }
  const ClassDef def = it->second;
  pending_.erase(it);
  in_progress_.insert(name);
  c10::NamedTypePtr type = defineClass(program_, def, qualify(name), shared_from_this());
  in_progress_.erase(name);
  types_.emplace(name, type);
  return type;
}

SugaredValuePtr SourceNames::resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) {
  if (auto type = ownType(name, range)) return valueOfType(type);
  if (auto it = functions_.find(name); it != functions_.end())
    return std::make_shared<FunctionValue>(it->second.function);
  return outer_->resolveValue(name, context, range);
}

TypePtr SourceNames::resolveType(const std::string& name, const SourceRange& range) {
  if (auto type = ownType(name, range)) return type;
  return outer_->resolveType(name, range);
}

Function& defineFunction(Program& program, const Def& def, const DefineOptions& options) {
  DefinitionScope scope(program);
  auto names = std::make_shared<SourceNames>(program, options);
  Function& function = names->addFunction(def);
  names->complete();
  scope.commit();
  return function;
}

c10::NamedTypePtr defineType(Program& program, const ClassDef& def, const DefineOptions& options) {
  DefinitionScope scope(program);
  auto names = std::make_shared<SourceNames>(program, options);
  names->addClass(def);
  c10::NamedTypePtr type = names->typeNamed(def.name().name());
  scope.commit();
  return type;
}

Function& defineMethod(Program& program, const c10::ClassTypePtr& self, const Def& raw, const DefineOptions& options) {
  DefinitionScope scope(program);
  const DecoratedDef decorated = applyDecorators(raw);
  if (decorated.role != Role::Plain) throw UserError("only plain methods can be added to a class", raw.range());
  const std::string& name = raw.name().name();
  requireFreeName(*self, name, raw.name().range());
  const ResolverPtr resolver = programResolver(program, options.prefix, options.resolver);
  Function& method = declareFunction(program, c10::QualifiedName(*self->name(), name), decorated.def, resolver, self);
  self->addMethod(&method);
  declareSchema(method, decorated.def, resolver, self);
  scope.commit();
  return method;
}

std::vector<Function*> declareSource(
    Program& program, std::shared_ptr<const Source> source, const DefineOptions& options) {
  const std::vector<TreeRef> definitions = SourceParser(std::move(source)).parseFile();
  DefinitionScope scope(program);
  auto names = std::make_shared<SourceNames>(program, options);
  std::vector<Function*> declared;
  for (const TreeRef& tree : definitions) {
    if (tree->kind() == TK_CLASS_DEF) names->addClass(ClassDef(tree));
  }
  for (const TreeRef& tree : definitions) {
    if (tree->kind() == TK_DEF) declared.push_back(&names->addFunction(Def(tree)));
  }
  names->complete();
  scope.commit();
  return declared;
}

std::vector<Function*> defineSource(
    Program& program, std::shared_ptr<const Source> source, const DefineOptions& options) {
  DefinitionScope scope(program);
  const size_t first = program.functions().size();
  std::vector<Function*> declared = declareSource(program, std::move(source), options);

  // Compiling one body may declare further functions (the prelude's), which are compiled already.
  const std::vector<Function*> all = program.functions();
  // Attributes first: __init__ says what they are.
  for (size_t i = first; i < all.size(); ++i) {
    if (all[i]->name() == "__init__") all[i]->ensure_defined();
  }
  for (size_t i = first; i < all.size(); ++i) all[i]->ensure_defined();
  scope.commit();
  return declared;
}

}  // namespace cresset
