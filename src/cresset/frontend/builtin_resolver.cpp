// Resolvers: the builtins, a program's own names, and chains.
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>

#include "cresset/frontend/builtin_names.h"
#include "cresset/frontend/resolver.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class BuiltinResolver : public Resolver {
 public:
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) override {
    return builtinGlobal(name, range, context);
  }
};

class ChainResolver : public Resolver {
 public:
  explicit ChainResolver(std::vector<ResolverPtr> parts) : parts_(std::move(parts)) {}
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) override {
    for (const ResolverPtr& part : parts_) {
      if (auto value = part->resolveValue(name, context, range)) return value;
    }
    return nullptr;
  }
  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    for (const ResolverPtr& part : parts_) {
      if (auto type = part->resolveType(name, range)) return type;
    }
    return nullptr;
  }

 private:
  std::vector<ResolverPtr> parts_;
};

/// The start of a qualified name: `__torch__`, `__torch__.mod`. Its attributes are what the program holds of that name.
class QualifiedPrefix : public SugaredValue {
 public:
  explicit QualifiedPrefix(c10::QualifiedName name) : name_(std::move(name)) {}
  std::string kind() const override { return "name '" + name_.qualifiedName() + "'"; }
  SugaredValuePtr findAttr(const SourceRange&, EmitContext& cx, const std::string& name) override {
    c10::QualifiedName longer(name_, name);
    if (auto type = cx.program.findType(longer)) return valueOfType(type);
    if (Function* function = cx.program.findFunction(longer)) return std::make_shared<FunctionValue>(function);
    // Nothing tells a package from a name that does not exist, until the name is used.
    return std::make_shared<QualifiedPrefix>(std::move(longer));
  }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    throw UserError("there is no function or class '" + name_.qualifiedName() + "'", range);
  }

 private:
  c10::QualifiedName name_;
};

class ProgramResolver : public Resolver {
 public:
  ProgramResolver(Program& program, c10::QualifiedName prefix, ResolverPtr next)
      : program_(program), prefix_(std::move(prefix)), next_(std::move(next)) {}

  SugaredValuePtr resolveValue(const std::string& name, EmitContext& context, const SourceRange& range) override {
    const c10::QualifiedName qualified = qualify(name);
    if (auto type = program_.findType(qualified)) return valueOfType(type);
    if (Function* function = program_.findFunction(qualified)) return std::make_shared<FunctionValue>(function);
    if (next_) {
      if (auto value = next_->resolveValue(name, context, range)) return value;
      if (auto type = next_->resolveType(name, range)) return valueOfType(type);
    }
    if (name == "__torch__") return std::make_shared<QualifiedPrefix>(c10::QualifiedName(name));
    return nullptr;
  }

  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    if (name.find('.') == std::string::npos) {
      if (auto type = program_.findType(qualify(name))) return type;
    }
    if (next_) {
      if (auto type = next_->resolveType(name, range)) return type;
    }
    return program_.findType(c10::QualifiedName(name));
  }

 private:
  c10::QualifiedName qualify(const std::string& name) const {
    return prefix_.atoms().empty() ? c10::QualifiedName(name) : c10::QualifiedName(prefix_, name);
  }
  Program& program_;
  c10::QualifiedName prefix_;
  ResolverPtr next_;
};

}  // namespace

std::optional<c10::IValue> Resolver::resolveDefault(const std::string&, const TypePtr&, const SourceRange&) {
  return std::nullopt;
}

ResolverPtr builtinResolver() {
  static const ResolverPtr resolver = std::make_shared<BuiltinResolver>();
  return resolver;
}

ResolverPtr programResolver(Program& program, c10::QualifiedName prefix, ResolverPtr next) {
  return std::make_shared<ProgramResolver>(program, std::move(prefix), std::move(next));
}

ResolverPtr chainResolvers(std::vector<ResolverPtr> resolvers) {
  std::erase(resolvers, nullptr);
  return std::make_shared<ChainResolver>(std::move(resolvers));
}

}  // namespace cresset
