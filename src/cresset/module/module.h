// What users hold: modules, methods, compilation units.
//
// The names and behaviour are torch::jit's, so that programs move by changing a namespace.
// Thread-safety: methods may be called from many threads at once, on one module too; an attribute is read and written
// atomically. define, register_* and to() must not run while another thread uses the module.
#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/frontend/resolver.h"
#include "cresset/program/program.h"

namespace cresset {

using c10::IValue;
using Kwargs = std::unordered_map<std::string, IValue>;
using ExtraFilesMap = std::unordered_map<std::string, std::string>;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

template <typename T>
struct Named {
  std::string name;
  T value;
};

class Module;

/// A method bound to its object.
class Method {
 public:
  Method(ObjectPtr owner, Function* function) : owner_(std::move(owner)), function_(function) {}
  const std::string& name() const { return function_->name(); }
  Function& function() const { return *function_; }
  Module owner() const;
  const c10::FunctionSchema& getSchema() const { return function_->getSchema(); }
  std::shared_ptr<Graph> graph() const { return function_->graph(); }
  IValue operator()(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;

 private:
  ObjectPtr owner_;
  Function* function_;
};

/// A reference to an object of a module class: copies share it.
class Module {
 public:
  Module() = default;  // refers to nothing; every use throws UserError
  explicit Module(ObjectPtr object) : object_(std::move(object)) {}
  /// An empty module class of this qualified name, in a new Program (or `program`).
  explicit Module(const std::string& class_name, std::shared_ptr<Program> program = nullptr);

  const ObjectPtr& _ivalue() const;
  c10::ClassTypePtr type() const;
  std::shared_ptr<Program> program() const;

  /// Checks and normalizes arguments; throws UserError that names function, argument, expected and found type.
  IValue forward(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;
  IValue operator()(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const {
    return forward(std::move(inputs), kwargs);
  }
  template <typename... Args>
  IValue run_method(const std::string& name, Args&&... args) const;

  Method get_method(const std::string& name) const;
  std::optional<Method> find_method(const std::string& name) const;
  std::vector<Method> get_methods() const;
  bool hasmethod(const std::string& name) const { return find_method(name).has_value(); }

  IValue attr(const std::string& name) const;
  IValue attr(const std::string& name, IValue or_else) const;
  void setattr(const std::string& name, IValue value) const;
  bool hasattr(const std::string& name) const;

  // In order of declaration; names are dotted paths. A tensor that occurs twice is listed once, as nn.Module does.
  std::vector<at::Tensor> parameters(bool recurse = true) const;
  std::vector<Named<at::Tensor>> named_parameters(bool recurse = true) const;
  std::vector<at::Tensor> buffers(bool recurse = true) const;
  std::vector<Named<at::Tensor>> named_buffers(bool recurse = true) const;
  std::vector<Module> children() const;
  std::vector<Named<Module>> named_children() const;
  std::vector<Module> modules() const;
  std::vector<Named<Module>> named_modules() const;
  std::vector<Named<IValue>> named_attributes(bool recurse = true) const;

  void register_parameter(const std::string& name, at::Tensor value, bool is_buffer = false);
  void register_buffer(const std::string& name, at::Tensor value) { register_parameter(name, std::move(value), true); }
  void register_module(const std::string& name, const Module& module);
  void register_attribute(
      const std::string& name, const c10::TypePtr& type, IValue value, bool is_parameter = false,
      bool is_buffer = false);
  /// Compiles `def`s that take self and adds them as methods.
  void define(const std::string& source, ResolverPtr resolver = nullptr);

  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const { return attr("training", true).toBool(); }
  void to(c10::Device device, c10::ScalarType dtype, bool non_blocking = false) const;
  void to(c10::ScalarType dtype, bool non_blocking = false) const;
  void to(c10::Device device, bool non_blocking = false) const;

  Module copy() const;  // shares tensors and attributes
  Module deepcopy(std::optional<c10::Device> device = std::nullopt) const;
  Module clone(bool inplace = false) const;  // copies classes too

  /// Writes an archive that load and torch::jit::load read (archive/save.h). A file appears as a whole or not at all.
  void save(const std::string& path, const ExtraFilesMap& extra_files = {}) const;
  void save(std::ostream& out, const ExtraFilesMap& extra_files = {}) const;

  /// Source, attributes and submodules for people.
  std::string dump_to_str(bool code = true, bool attributes = true, bool parameters = true) const;

 private:
  ObjectPtr object_;
};

/// Functions and classes compiled from text.
class CompilationUnit {
 public:
  CompilationUnit() : program_(Program::make()) {}
  explicit CompilationUnit(const std::string& source) : CompilationUnit() { define(source); }
  explicit CompilationUnit(std::shared_ptr<Program> program) : program_(std::move(program)) {}

  /// Compiles all definitions of `source`; nothing is added if one is wrong.
  void define(const std::string& source, ResolverPtr resolver = nullptr, const std::string& file = "");
  Function* find_function(const std::string& name) const;
  Function& get_function(const std::string& name) const;
  std::vector<Function*> get_functions() const;
  template <typename... Args>
  IValue run_method(const std::string& name, Args&&... args) const;
  const std::shared_ptr<Program>& program() const { return program_; }

 private:
  std::shared_ptr<Program> program_;
};

/// Checks arguments against a schema, converts what Python-like callers may pass, fills in defaults: what every door
/// (C++, Python, command line) does before a call. `inputs` becomes exactly the schema's arguments.
void checkAndNormalizeInputs(const c10::FunctionSchema& schema, std::vector<IValue>& inputs, const Kwargs& kwargs);
/// checkAndNormalizeInputs, run, result.
IValue callFunction(Function& function, std::vector<IValue> inputs, const Kwargs& kwargs = {});

/// A module whose forward is `function`: what is saved where a function is to be.
Module moduleOfFunction(Function& function);

struct LoadOptions;  // archive/archive.h: device, extra files, whom to trust, limits
Module load(const std::string& path, const LoadOptions& options);
Module load(std::istream& in, const LoadOptions& options);
Module load(const std::string& path, std::optional<c10::Device> device = std::nullopt);
Module load(const std::string& path, std::optional<c10::Device> device, ExtraFilesMap& extra_files);
Module load(std::istream& in, std::optional<c10::Device> device = std::nullopt);
Module load(std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files);

template <typename... Args>
IValue Module::run_method(const std::string& name, Args&&... args) const {
  return get_method(name)({IValue(std::forward<Args>(args))...});
}
template <typename... Args>
IValue CompilationUnit::run_method(const std::string& name, Args&&... args) const {
  return callFunction(get_function(name), {IValue(std::forward<Args>(args))...});
}

}  // namespace cresset
