// Functions and classes compiled from text.
//
//   cresset::CompilationUnit unit(R"(
//   def scaled(x: Tensor, by: float = 2.) -> Tensor:
//       return x * by
//   )");
//   at::Tensor y = unit.run_method("scaled", x).toTensor();
//
// A unit is a reference to a Program: copies share it. Thread-safety: define may run beside calls and other defines.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cresset/frontend/resolver.h"
#include "cresset/module/object.h"
#include "cresset/program/program.h"

namespace cresset {

class CompilationUnit {
 public:
  CompilationUnit() : program_(Program::make()) { program_->allowUses(); }  // of what graphs refer to that it is given
  explicit CompilationUnit(const std::string& source) : CompilationUnit() { define(source); }
  explicit CompilationUnit(std::shared_ptr<Program> program) : program_(std::move(program)) {}

  /// Compiles all definitions of `source`: functions, classes, interfaces, enums, named tuples. Nothing is added if one
  /// is wrong. `resolver` is asked for names that neither the text nor the unit defines; `file` is what errors call the
  /// text. Returns the functions.
  std::vector<Function*> define(
      const std::string& source, ResolverPtr resolver = nullptr, const std::string& file = "");
  /// The same, all names below `prefix` ("mylib" makes "mylib.f").
  std::vector<Function*> define(
      const std::optional<c10::QualifiedName>& prefix, const std::string& source, const ResolverPtr& resolver,
      std::nullptr_t self = nullptr);
  /// A function whose body is a copy of `graph`, which is checked. Another name is made of a taken one if
  /// `should_mangle`.
  Function* create_function(c10::QualifiedName name, const std::shared_ptr<Graph>& graph, bool should_mangle = false);

  /// Null if there is none.
  Function* find_function(const c10::QualifiedName& name) const;
  /// Throws UserError, which names the functions that there are.
  Function& get_function(const c10::QualifiedName& name) const;
  /// In order of definition, methods left out.
  std::vector<Function*> get_functions() const;
  template <typename... Args>
  IValue run_method(const c10::QualifiedName& name, Args&&... args) const {
    return call(get_function(name), {IValue(std::forward<Args>(args))...});
  }

  /// Types by their names; null if there is none, or if it is of another kind.
  c10::NamedTypePtr get_type(const c10::QualifiedName& name) const;
  c10::ClassTypePtr get_class(const c10::QualifiedName& name) const;
  c10::InterfaceTypePtr get_interface(const c10::QualifiedName& name) const;
  c10::TupleTypePtr get_named_tuple(const c10::QualifiedName& name) const;
  void register_type(const c10::NamedTypePtr& type) { program_->registerType(type); }
  /// A new object of a class, as `Name(args…)` makes it. Throws UserError if there is no such class.
  Object create_class(const c10::QualifiedName& name, std::vector<IValue> args = {}, const Kwargs& kwargs = {}) const;
  /// A name that is free: this one, or this one with a number.
  c10::QualifiedName mangle(const c10::QualifiedName& name) const { return program_->mangle(name); }

  /// Without effect, as in torch::jit: programs are always optimized.
  void set_optimized(bool) {}
  bool is_optimized() const { return true; }

  const std::shared_ptr<Program>& program() const { return program_; }

 private:
  static IValue call(Function& function, std::vector<IValue> inputs);
  std::shared_ptr<Program> program_;
};

/// A unit of the functions and classes in `source`.
std::shared_ptr<CompilationUnit> compile(const std::string& source);

}  // namespace cresset
