// Classes: what kind of type a `class` statement makes, and its members.
//
// A class or module type is registered before its members are looked at, so that they may refer to it. Named tuples and
// enums are values of their members and can't be made before them; one that refers to itself is an error.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/class_members.h"
#include "cresset/frontend/declarations.h"
#include "cresset/frontend/exceptions.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/tuple_sizes.h"
#include "cresset/frontend/user_exceptions.h"
#include "cresset/ops/limits.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

enum class ClassKind { Plain, Module, Interface, ModuleInterface, Enum, NamedTuple, Exception };

/// A member of a class body that is not a method.
struct Member {
  std::string name;
  SourceRange range;
  std::optional<Expr> type;
  std::optional<Expr> value;
};

struct ClassBody {
  std::vector<Member> members;
  std::vector<Def> methods;
  std::string doc;
  std::set<std::string> parameters, buffers;
  std::vector<std::string> pre_hooks, hooks;
};

std::vector<std::string> stringList(const Expr& expr) {
  if (expr.kind() != TK_LIST_LITERAL && expr.kind() != TK_TUPLE_LITERAL) {
    throw UserError("expected a list of strings", expr.range());
  }
  std::vector<std::string> strings;
  for (const Expr element : SequenceLiteral(expr.tree()).elements()) {
    if (element.kind() != TK_STRINGLITERAL) throw UserError("expected a string", element.range());
    strings.push_back(StringLiteral(element.tree()).text());
  }
  return strings;
}

/// Names with a meaning in archives. True if `name` is one of them.
bool readSpecialMember(const std::string& name, const std::optional<Expr>& value, ClassBody& body) {
  const auto strings = [&] { return value ? stringList(*value) : std::vector<std::string>(); };
  if (name == "__parameters__" || name == "__buffers__") {
    const auto names = strings();
    (name == "__parameters__" ? body.parameters : body.buffers).insert(names.begin(), names.end());
  } else if (name == "__forward_pre_hooks__") {
    body.pre_hooks = strings();
  } else if (name == "__forward_hooks__") {
    body.hooks = strings();
  } else {
    // `__annotations__ = []` comes before its items in archives; the others are notes for Python.
    return name == "__annotations__" || name == "__constants__" || name == "__slots__" ||
           name == "__ignored_attributes__";
  }
  return true;
}

/// `__annotations__["0"] = T`: the attribute "0", whose name is no identifier.
std::optional<Member> annotationItem(const Expr& target, const Assign& stmt) {
  if (target.kind() != TK_SUBSCRIPT) return std::nullopt;
  const Subscript subscript(target.tree());
  const bool valid = dottedName(subscript.value()) == "__annotations__" && subscript.indices().size() == 1 &&
                     subscript.indices()[0].kind() == TK_STRINGLITERAL && stmt.rhs().present();
  if (!valid) return std::nullopt;
  return Member{StringLiteral(subscript.indices()[0].tree()).text(), stmt.range(), stmt.rhs().get(), std::nullopt};
}

void readAssign(const Assign& stmt, ClassBody& body) {
  const Expr target = stmt.targets()[0];
  if (stmt.targets().size() == 1) {
    if (auto item = annotationItem(target, stmt)) return body.members.push_back(std::move(*item));
  }
  if (stmt.targets().size() != 1 || target.kind() != TK_VAR) {
    throw UserError("a class body may only assign to names", stmt.range());
  }
  Member member{Var(target.tree()).name(), stmt.range(), std::nullopt, std::nullopt};
  if (stmt.type().present()) member.type = stmt.type().get();
  if (stmt.rhs().present()) member.value = stmt.rhs().get();
  if (readSpecialMember(member.name, member.value, body)) return;
  body.members.push_back(std::move(member));
}

ClassBody readBody(const ClassDef& def) {
  ClassBody body;
  for (const Stmt stmt : def.body()) {
    switch (stmt.kind()) {
      case TK_ASSIGN:
        readAssign(Assign(stmt.tree()), body);
        break;
      case TK_DEF:
        body.methods.emplace_back(stmt.tree());
        break;
      case TK_PASS:
        break;
      case TK_EXPR_STMT: {
        const Expr expr = ExprStmt(stmt.tree()).expr();
        if (expr.kind() == TK_STRINGLITERAL) {
          if (body.doc.empty()) body.doc = StringLiteral(expr.tree()).text();
          break;
        }
        if (expr.kind() == TK_ELLIPSIS) break;
        [[fallthrough]];
      }
      default:
        throw UserError("unexpected statement in a class body: expected a method or an attribute", stmt.range());
    }
  }
  return body;
}

class ClassDefiner {
 public:
  ClassDefiner(Program& program, const ClassDef& def, c10::QualifiedName name, std::shared_ptr<SourceNames> names)
      : program_(program), def_(def), name_(std::move(name)), names_(std::move(names)), body_(readBody(def)) {}

  c10::NamedTypePtr define() {
    const ClassKind kind = classify();
    const size_t hooks = body_.pre_hooks.size() + body_.hooks.size();  // each is looked for among the methods
    requireFewMembers(
        program_, def_.name().name(), body_.members.size() + body_.methods.size() + hooks, def_.name().range());
    try {
      switch (kind) {
        case ClassKind::Plain:
        case ClassKind::Module:
          return defineObjectClass(kind == ClassKind::Module);
        case ClassKind::Interface:
        case ClassKind::ModuleInterface:
          return defineInterface(kind == ClassKind::ModuleInterface);
        case ClassKind::Enum:
          return defineEnum();
        case ClassKind::NamedTuple:
          return defineNamedTuple();
        case ClassKind::Exception:
          return defineException();
      }
    } catch (const Error&) {
      throw;
    } catch (const c10::Error& error) {
      throw UserError(error.msg(), def_.name().range());  // a rule of c10's types that nothing here checked before
    }
    return nullptr;
  }

 private:
  struct Method {
    Function* function;
    Def def;
    bool is_static;
  };

  ClassKind classify() const {
    bool interface = false;
    for (const Expr decorator : def_.decorators()) {
      const std::string name = dottedName(decorator);
      if (name == "torch.jit.interface" || name == "interface" || name == "jit.interface") {
        interface = true;
      } else if (name != "torch.jit.script" && name != "script" && name != "jit.script") {
        throw UserError(
            "the decorator '" + (name.empty() ? "…" : name) + "' is not supported on classes", decorator.range());
      }
    }
    ClassKind kind = interface ? ClassKind::Interface : ClassKind::Plain;
    if (def_.bases().size() > 1) throw UserError("multiple inheritance is not supported", def_.bases()[1].range());
    if (def_.bases().empty()) return kind;
    const Expr base = def_.bases()[0];
    const std::string name = dottedName(base);
    if (name == "object") return kind;
    if (name == "Module" || name == "nn.Module" || name == "torch.nn.Module") {
      return interface ? ClassKind::ModuleInterface : ClassKind::Module;
    }
    if (name == "Interface") return ClassKind::Interface;
    if (name == "ModuleInterface") return ClassKind::ModuleInterface;
    if (name == "Enum" || name == "enum.Enum") return ClassKind::Enum;
    if (name == "NamedTuple" || name == "typing.NamedTuple") return ClassKind::NamedTuple;
    if (builtinException(name)) return ClassKind::Exception;
    TypePtr type = name.empty() ? nullptr : names_->resolveType(name, base.range());
    if (type && exceptionClassOf(*type)) return ClassKind::Exception;
    throw UserError(
        "class '" + def_.name().name() + "' inherits from '" + name +
            "': TorchScript has no inheritance. A base may be Module, Interface, Enum, NamedTuple or an exception "
            "class",
        base.range());
  }

  void registerType(const c10::NamedTypePtr& type) {
    try {
      program_.registerType(type);
    } catch (const UserError& error) {
      throw UserError(error.message(), def_.name().range());
    }
    names_->publish(def_.name().name(), type);
  }

  TypePtr read(const Expr& annotation) { return typeOfAnnotation(annotation, program_, names_); }

  // ---- classes and modules ----

  c10::NamedTypePtr defineObjectClass(bool is_module) {
    auto type = c10::ClassType::create(name_, program_.asCompilationUnit(), is_module, body_.doc);
    registerType(type);
    for (const Member& member : body_.members) addMember(type, member);
    std::vector<Method> methods;
    for (const Def& def : body_.methods) addMethod(type, def, methods);
    for (const auto& property : properties_) type->addProperty(property.name, property.getter, property.setter);
    for (const auto& [names, pre] : {std::pair{&body_.pre_hooks, true}, std::pair{&body_.hooks, false}}) {
      for (const std::string& name : *names) addHook(type, name, pre);
    }
    for (const Method& method : methods) {
      declareSchema(*method.function, method.def, names_, method.is_static ? nullptr : TypePtr(type));
    }
    return type;
  }

  void addMember(const c10::ClassTypePtr& type, const Member& member) {
    checkTimeLimit();
    if (member_names_.contains(member.name)) {
      throw UserError("'" + member.name + "' is declared twice", member.range);
    }
    if (!member.type || (member.value && !isFinal(*member.type))) {
      throw UserError(
          "class attribute '" + member.name + "' has a value: assign it to self." + member.name +
              " in __init__, or make it a constant (`" + member.name + ": Final[T] = …`)",
          member.range);
    }
    if (!member.value) {
      // A Final without a value is an attribute that __init__ sets.
      const bool bare = isFinal(*member.type) && member.type->kind() != TK_SUBSCRIPT;
      if (bare) return;
      member_names_.insert(member.name);
      const bool is_parameter = body_.parameters.contains(member.name);
      type->addAttribute(member.name, read(*member.type), is_parameter, body_.buffers.contains(member.name));
      return;
    }
    member_names_.insert(member.name);
    TypePtr hint = member.type->kind() == TK_SUBSCRIPT ? read(*member.type) : TypePtr();
    type->addConstant(member.name, evaluateConstant(*member.value, hint, program_, names_));
  }

  void addMethod(const c10::ClassTypePtr& type, const Def& raw, std::vector<Method>& methods) {
    checkTimeLimit();
    DecoratedDef decorated = applyDecorators(raw);
    const std::string& name = raw.name().name();
    switch (decorated.role) {
      case Role::Getter:
        decorated.def = decorated.def.withName("__" + name + "_getter");
        break;
      case Role::Setter:
        decorated.def = decorated.def.withName("__" + name + "_setter");
        break;
      default:
        break;
    }
    const std::string& method_name = decorated.def.name().name();
    if (!method_names_.insert(method_name).second) {
      throw UserError("method '" + name + "' is defined twice; overloads are not supported", raw.name().range());
    }
    if (member_names_.contains(method_name)) {
      throw UserError("method '" + name + "' has the name of an attribute", raw.name().range());
    }
    const bool is_static = decorated.role == Role::StaticMethod;
    const TypePtr self = is_static ? TypePtr() : TypePtr(type);
    Function& method = declareFunction(program_, c10::QualifiedName(name_, method_name), decorated.def, names_, self);
    if (is_static) {
      type->addStaticMethod(&method);
    } else {
      type->addMethod(&method);
    }
    if (decorated.role == Role::Getter) properties_.push_back({name, &method, nullptr});
    if (decorated.role == Role::Setter) setterOf(name, raw.range()) = &method;
    methods.push_back({&method, decorated.def, is_static});
  }

  torch::jit::Function*& setterOf(const std::string& name, const SourceRange& range) {
    for (auto& property : properties_) {
      if (property.name == name) return property.setter;
    }
    throw UserError("the setter of property '" + name + "' comes before its getter", range);
  }

  void addHook(const c10::ClassTypePtr& type, const std::string& name, bool pre) {
    torch::jit::Function* hook = type->findMethod(name);
    if (!hook) throw UserError("the hook '" + name + "' is not defined in the class", def_.name().range());
    if (pre) {
      type->addForwardPreHook(hook);
    } else {
      type->addForwardHook(hook);
    }
  }

  // ---- other kinds ----

  c10::NamedTypePtr defineInterface(bool is_module) {
    auto type = c10::InterfaceType::create(name_, is_module);
    registerType(type);
    if (!body_.members.empty()) throw UserError("an interface has only methods", body_.members[0].range);
    for (const Def& def : body_.methods) {
      if (!def.decl().returnType().present()) {
        throw UserError(messages::unannotatedInterface(def.name().name()), def.range());
      }
      type->addMethod(schemaOf(def, program_, names_, type));
    }
    return type;
  }

  c10::NamedTypePtr defineEnum() {
    if (!body_.methods.empty()) throw UserError("methods of enums are not supported", body_.methods[0].range());
    std::vector<c10::EnumNameValue> members;
    std::unordered_set<std::string_view> names;
    TypePtr value_type;
    for (const Member& member : body_.members) {
      if (member.type || !member.value) throw UserError("expected `NAME = value` in an enum", member.range);
      c10::IValue value = evaluateConstant(*member.value, nullptr, program_, names_);
      if (value_type && *value_type != *value.type()) {
        throw UserError("Enum class '" + def_.name().name() + "' has values of different types", member.range);
      }
      value_type = value.type();
      if (!names.insert(member.name).second)
        throw UserError("the member '" + member.name + "' is defined twice", member.range);
      members.emplace_back(member.name, std::move(value));
    }
    if (members.empty()) throw UserError("No enum values defined for " + def_.name().name(), def_.name().range());
    auto type = c10::EnumType::create(name_, value_type, std::move(members), program_.asCompilationUnit());
    registerType(type);
    return type;
  }

  c10::NamedTypePtr defineNamedTuple() {
    if (!body_.methods.empty()) throw UserError("methods of named tuples are not supported", body_.methods[0].range());
    std::vector<std::string> names;
    std::vector<TypePtr> types;
    std::vector<c10::IValue> defaults;
    for (const Member& member : body_.members) {
      if (!member.type) throw UserError("the field '" + member.name + "' needs an annotation", member.range);
      names.push_back(member.name);
      types.push_back(read(*member.type));
      if (member.value) {
        defaults.push_back(evaluateConstant(*member.value, types.back(), program_, names_));
      } else if (!defaults.empty()) {
        throw UserError("the field '" + member.name + "' has no default but follows one that has", member.range);
      }
    }
    auto type = defaults.empty() ? c10::TupleType::createNamed(name_, names, types)
                                 : c10::TupleType::createNamed(name_, names, types, defaults);
    TupleSizes().check(def_.name().range(), type);
    registerType(type);
    return type;
  }

  c10::NamedTypePtr defineException() {
    if (!body_.methods.empty() || !body_.members.empty()) {
      throw UserError(
          "members of exception classes are not supported: the message is all that a `raise` passes on", def_.range());
    }
    auto type = c10::ClassType::create(name_, program_.asCompilationUnit(), /*is_module=*/false, body_.doc);
    markException(type, name_.qualifiedName());
    registerType(type);
    return type;
  }

  Program& program_;
  const ClassDef& def_;
  c10::QualifiedName name_;
  std::shared_ptr<SourceNames> names_;
  ClassBody body_;
  std::vector<c10::ClassType::Property> properties_;
  std::unordered_set<std::string> member_names_, method_names_;  // of a class, which searches its own one by one
};

}  // namespace

c10::NamedTypePtr defineClass(
    Program& program, const ClassDef& def, c10::QualifiedName name, const std::shared_ptr<SourceNames>& names) {
  return ClassDefiner(program, def, std::move(name), names).define();
}

}  // namespace cresset
