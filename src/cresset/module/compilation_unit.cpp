// CompilationUnit: a Program with the interface of torch::jit's.
#include "cresset/module/compilation_unit.h"

#include <ATen/core/class_type.h>

#include "cresset/frontend/compiler.h"
#include "cresset/ir/verifier.h"
#include "cresset/module/module.h"
#include "cresset/ops/operator.h"
#include "cresset/program/shown_types.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

std::vector<Function*> defineText(
    Program& program, const std::string& source, const std::string& file, const DefineOptions& options) {
  return defineSource(program, std::make_shared<const Source>(source, file.empty() ? "<string>" : file), options);
}

}  // namespace

std::vector<Function*> CompilationUnit::define(
    const std::string& source, ResolverPtr resolver, const std::string& file) {
  DefineOptions options;
  options.resolver = std::move(resolver);
  return defineText(*program_, source, file, options);
}

std::vector<Function*> CompilationUnit::define(
    const std::optional<c10::QualifiedName>& prefix, const std::string& source, const ResolverPtr& resolver,
    std::nullptr_t) {
  DefineOptions options;
  if (prefix) options.prefix = *prefix;
  options.resolver = resolver;
  return defineText(*program_, source, "", options);
}

Function* CompilationUnit::create_function(
    c10::QualifiedName name, const std::shared_ptr<Graph>& graph, bool should_mangle) {
  if (graph->outputs().size() != 1) {
    throw UserError(
        "Method (but not graphs in general) require a single output. Use None/Tuple for 0 or 2+ outputs; the graph "
        "has " +
        std::to_string(graph->outputs().size()));
  }
  auto body = graph->copy();
  forgetTensorTypes(*body);
  verifyEdited(*body);
  verifyOperators(*body);
  if (should_mangle) name = program_->mangle(name);
  program_->usePrograms(*body);
  return &program_->declare(std::move(name), [body](Function& declared) { declared.setGraph(body); });
}

Function* CompilationUnit::find_function(const c10::QualifiedName& name) const {
  return program_->findFunction(name);
}

Function& CompilationUnit::get_function(const c10::QualifiedName& name) const {
  if (Function* function = find_function(name)) return *function;
  std::string known;
  for (Function* function : get_functions())
    known += (known.empty() ? "'" : ", '") + function->qualname().qualifiedName() + "'";
  throw UserError(
      "There is no function '" + name.qualifiedName() + "' in this compilation unit. " +
      (known.empty() ? "It has no functions." : "It has: " + known + "."));
}

std::vector<Function*> CompilationUnit::get_functions() const {
  // Methods live in the program too, under their class's name; they belong to the class.
  std::vector<Function*> result;
  for (Function* function : program_->functions()) {
    const std::string& prefix = function->qualname().prefix();
    if (prefix.empty() || !program_->findType(c10::QualifiedName(prefix))) result.push_back(function);
  }
  return result;
}

c10::NamedTypePtr CompilationUnit::get_type(const c10::QualifiedName& name) const {
  return program_->findType(name);
}
c10::ClassTypePtr CompilationUnit::get_class(const c10::QualifiedName& name) const {
  auto type = get_type(name);
  return type ? type->cast<c10::ClassType>() : nullptr;
}
c10::InterfaceTypePtr CompilationUnit::get_interface(const c10::QualifiedName& name) const {
  auto type = get_type(name);
  return type ? type->cast<c10::InterfaceType>() : nullptr;
}
c10::TupleTypePtr CompilationUnit::get_named_tuple(const c10::QualifiedName& name) const {
  auto type = get_type(name);
  return type ? type->cast<c10::TupleType>() : nullptr;
}

Object CompilationUnit::create_class(
    const c10::QualifiedName& name, std::vector<IValue> args, const Kwargs& kwargs) const {
  auto type = get_class(name);
  if (!type) throw UserError("There is no class '" + name.qualifiedName() + "' in this compilation unit.");
  Object object(
      c10::ivalue::Object::create(c10::StrongTypePtr(program_->asCompilationUnit(), type), type->numAttributes()));
  object.get_method("__init__")(std::move(args), kwargs);
  return object;
}

IValue CompilationUnit::call(Function& function, std::vector<IValue> inputs) {
  return callFunction(function, std::move(inputs));
}

std::shared_ptr<CompilationUnit> compile(const std::string& source) {
  return std::make_shared<CompilationUnit>(source);
}

}  // namespace cresset
