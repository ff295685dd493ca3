// Objects of classes that programs define, and methods bound to them.
//
// Objects and Methods are references: copies share the object, and so do scripts that run and Python's wrappers.
// Thread-safety: methods may be called from many threads at once, on one object too; an attribute is read and written
// atomically. define must not run while another thread uses the object.
#pragma once

#include <ATen/core/ivalue.h>

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
/// Arguments by name.
using Kwargs = std::unordered_map<std::string, IValue>;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

class CompilationUnit;
class Module;

/// A method bound to its object: what get_method returns. It keeps the object alive.
class Method {
 public:
  Method(ObjectPtr owner, torch::jit::Function* function) : owner_(std::move(owner)), function_(function) {}
  const std::string& name() const { return function_->name(); }
  /// The object that it is bound to, as a module.
  Module owner() const;
  const ObjectPtr& raw_owner() const { return owner_; }

  /// Arguments and results as the program declares them; the first argument is the object.
  const c10::FunctionSchema& getSchema() const { return function_->getSchema(); }
  size_t num_inputs() const { return function_->num_inputs(); }
  /// The method without the object. Throws UserError if it is a C++ method of a custom class.
  Function& function() const;
  std::shared_ptr<Graph> graph() const { return function().definition(); }

  /// Calls it. Arguments are checked against the schema and converted (an int for a float, a list of tensors for
  /// List[Tensor]); defaults are filled in. Throws UserError, or ScriptError if the program raises.
  IValue operator()(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;
  /// Takes the arguments, without the object, off the end of the stack, and leaves the result there.
  void run(Stack& stack) const;
  /// Starts it on a thread of the fork pool (interpreter.h) and returns at once.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;

 private:
  ObjectPtr owner_;
  torch::jit::Function* function_;
};

/// A reference to an object of a class: of a program's, or of a custom class that is registered from C++.
class Object {
 public:
  Object() = default;                                       // refers to nothing; every use throws UserError
  Object(ObjectPtr object) : object_(std::move(object)) {}  // NOLINT: implicit, as in torch::jit
  /// A new object of a class of `unit`. Its __init__ does not run (CompilationUnit::create_class runs it): all
  /// attributes are None.
  Object(const std::shared_ptr<CompilationUnit>& unit, const c10::ClassTypePtr& type);

  const ObjectPtr& _ivalue() const;
  c10::ClassTypePtr type() const;
  /// What its class was compiled in. Throws UserError for custom C++ classes.
  std::shared_ptr<Program> program() const;

  /// An attribute or a constant of the class. Throws UserError if there is none of this name and no `or_else`.
  IValue attr(const std::string& name) const;
  IValue attr(const std::string& name, IValue or_else) const;
  bool hasattr(const std::string& name) const;
  /// The value must have the attribute's type or convert to it.
  void setattr(const std::string& name, const IValue& value) const;
  size_t num_slots() const { return _ivalue()->slots().size(); }

  struct Property {
    std::string name;
    Method getter_func;
    std::optional<Method> setter_func;
  };
  std::vector<Property> get_properties() const;
  /// Throws UserError if there is none of this name.
  Property get_property(const std::string& name) const;
  bool has_property(const std::string& name) const;

  /// Throws UserError, which names the methods that there are.
  Method get_method(const std::string& name) const;
  std::optional<Method> find_method(const std::string& name) const;
  std::vector<Method> get_methods() const;
  bool hasmethod(const std::string& name) const { return find_method(name).has_value(); }
  /// `object.run_method("scale", tensor, 2)`.
  template <typename... Args>
  IValue run_method(const std::string& name, Args&&... args) const {
    return get_method(name)({IValue(std::forward<Args>(args))...});
  }

  /// Compiles `def`s that take self and adds them as methods, to all objects of the class. They may call each other; if
  /// one is wrong, none is added.
  void define(const std::string& source, ResolverPtr resolver = nullptr) const;

  /// An object with the same attribute values.
  Object copy() const;
  /// Copies what attributes hold too, tensors included; what is shared inside stays shared. As in torch::jit, objects
  /// below this one that have __getstate__ and __setstate__ are copied by these; this one is not.
  Object deepcopy(std::optional<c10::Device> device = std::nullopt) const;

  bool operator==(const Object& other) const { return object_ == other.object_; }

 protected:
  ObjectPtr object_;
};

}  // namespace cresset
