// Attributes and calls of modules; containers are in modules_container.cpp.
//
// Names are looked up as torch.jit does: what the class has as slots, methods, properties and constants; what all
// modules have (`children`, …); functions that are attributes; and last the Python class, whose methods are compiled on
// demand. A name that is nowhere may have a reason, which the error then states.
#include "cresset/python/modules_value.h"

#include "cresset/frontend/calls.h"
#include "cresset/python/modules_methods.h"
#include "cresset/python/script_declarations.h"
#include "cresset/python/script_names.h"
#include "cresset/support/suggest.h"

namespace cresset::python {

namespace {

/// A method with several signatures, each compiled under a name of its own: a call takes the first that fits.
class OverloadedMethod final : public SugaredValue {
 public:
  OverloadedMethod(Value* self, std::string name, std::vector<std::string> overloads)
      : self_(self), name_(std::move(name)), overloads_(std::move(overloads)) {}
  std::string kind() const override { return "method"; }

  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    const auto& cls = self_->type()->expectRef<c10::ClassType>();
    std::vector<NamedValue> with_self{NamedValue(self_, range)};
    with_self.insert(with_self.end(), args.begin(), args.end());
    std::string reasons;
    // First without implicit conversions for all, as for operators: the exact signature wins wherever it stands.
    for (const bool conversions : {false, true}) {
      for (const std::string& name : overloads_) {
        const c10::FunctionSchema& schema = schemaForCall(*cls.findMethod(name), range);
        std::string why;
        if (!tryMatchSchema(schema, cx.graph, range, with_self, kwargs, std::nullopt, &why, conversions)) {
          if (conversions) reasons += "\n" + why;
          continue;
        }
        return plainValue(insertMethodCall(range, cx, self_, name, args, kwargs));
      }
    }
    throw UserError("None of the overloads of method '" + name_ + "' takes these arguments:" + reasons, range);
  }

 private:
  Value* self_;
  std::string name_;
  std::vector<std::string> overloads_;
};

/// A callee whose first argument is the module.
class BoundCall final : public SugaredValue {
 public:
  BoundCall(Value* self, SugaredValuePtr callee) : self_(self), callee_(std::move(callee)) {}
  std::string kind() const override { return callee_->kind(); }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    std::vector<NamedValue> with_self{NamedValue(self_, range)};
    with_self.insert(with_self.end(), args.begin(), args.end());
    return callee_->call(range, cx, with_self, kwargs, num_binders);
  }

 private:
  Value* self_;
  SugaredValuePtr callee_;
};

}  // namespace

SugaredValuePtr moduleOrValue(Value* value) {
  if (auto cls = value->type()->cast<c10::ClassType>()) {
    if (const ModuleInfo* info = infoOf(*cls)) return std::make_shared<ModuleValue>(value, *info);
  }
  return plainValue(value);
}

std::string ModuleValue::kind() const {
  return "module '" + info_.type->name()->name() + "'";
}

std::string ModuleValue::missingAttr(const std::string& name) const {
  std::string message = "Module '" + info_.type->name()->name() + "' has no attribute '" + name + "' ";
  if (auto it = info_.failed.find(name); it != info_.failed.end()) return message + it->second;
  if (info_.ignored.contains(name))
    return message +
           "(attribute was ignored during compilation: it is one of the __jit_ignored_attributes__ of the class)";
  std::vector<std::string> known = namesOf(*info_.type);
  py::gil_scoped_acquire gil;
  for (py::handle other : cresset::python::known("builtins", "dir")(info_.python_class))
    known.push_back(py::cast<std::string>(other));
  const std::string similar = similarName(name, known);
  return similar.empty() ? message : message + "(did you mean '" + similar + "'?)";
}

SugaredValuePtr ModuleValue::findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) {
  if (auto found = attributeOfClass(range, cx, name)) return found;
  if (auto it = info_.functions.find(name); it != info_.functions.end()) {
    py::gil_scoped_acquire gil;
    // In place of an @ignore method: what is called is Python's, and the method says the types.
    py::object method = methodOfModule(info_, name);
    if (method && PyFunction_Check(method.ptr()) && markOf(method) == Mark::Ignore)
      return pythonCallable(it->second, method, /*bound=*/true, range);
    noteAttribute(range, "the attribute '" + name + "' of module '" + info_.type->name()->name() + "'");
    return sugarOf(it->second, cx, range, name);
  }
  if (!info_.overridden.contains(name)) {
    if (auto found = membersFunction(range, cx, name)) return found;
  }
  if (auto it = info_.overloads.find(name); it != info_.overloads.end()) {
    return std::make_shared<OverloadedMethod>(self_, name, it->second);
  }
  return pythonAttribute(range, cx, name);
}

/// Slots, methods that are declared already, properties and constants.
SugaredValuePtr ModuleValue::attributeOfClass(const SourceRange& range, EmitContext& cx, const std::string& name) {
  c10::ClassType& cls = *info_.type;
  if (cls.findAttributeSlot(name) && !cls.getProperty(name)) return member(range, cx, name);
  if (info_.overloads.contains(name)) return nullptr;
  return SimpleValue(self_).findAttr(range, cx, name);
}

SugaredValuePtr ModuleValue::member(const SourceRange& range, EmitContext& cx, const std::string& name) {
  return moduleOrValue(SimpleValue(self_).attr(range, cx, name)->asValue(range, cx));
}

/// Methods of the Python class that nothing has asked for yet, static methods and constants of the class.
SugaredValuePtr ModuleValue::pythonAttribute(const SourceRange& range, EmitContext& cx, const std::string& name) {
  py::gil_scoped_acquire gil;
  py::object found = methodOfModule(info_, name);
  if (!found) {
    if (info_.failed.contains(name) || info_.ignored.contains(name)) return nullptr;
    found = rawAttribute(info_.python_class, name);
    return found ? valueOfClassAttribute(found, cx, range, name) : nullptr;
  }
  if (!PyFunction_Check(found.ptr())) return valueOfClassAttribute(found, cx, range, name);
  if (markOf(found) == Mark::Ignore)
    return std::make_shared<BoundCall>(self_, pythonCallable(found, found, /*bound=*/false, range, info_.type));
  declareModuleMethod(info_, name, found, range);
  return std::make_shared<MethodValue>(self_, name);
}

void ModuleValue::setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value) {
  c10::ClassType& cls = *info_.type;
  if (!cls.findAttributeSlot(name) && !cls.getProperty(name) && !cls.findConstant(name) &&
      (info_.failed.contains(name) || info_.ignored.contains(name))) {
    throw UserError("Tried to set nonexistent attribute: " + name + ". " + missingAttr(name), range);
  }
  SimpleValue(self_).setAttr(range, cx, name, value);
}

SugaredValuePtr ModuleValue::call(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  if (info_.overridden.contains("__call__"))
    return attr(range, cx, "__call__")->call(range, cx, args, kwargs, num_binders);
  return callForward(range, cx, args, kwargs, num_binders);
}

SugaredValuePtr ModuleValue::callForward(
    const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
    const std::vector<NamedValue>& kwargs, size_t num_binders) {
  const c10::ClassType& cls = *info_.type;
  if (!cls.getForwardHooks().empty() || !cls.getForwardPreHooks().empty()) {
    attr(range, cx, "forward");  // declares it
    return SimpleValue(self_).call(range, cx, args, kwargs, num_binders);
  }
  return attr(range, cx, "forward")->call(range, cx, args, kwargs, num_binders);
}

}  // namespace cresset::python
