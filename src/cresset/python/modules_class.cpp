// Classes of modules in code: `super()`, `Base.method(self, …)`, static methods and class attributes.
//
// A module's class has methods by the names that Python's look-up gives them. A method that another one hides is
// compiled as a further method, under a name of its own, when a program asks for it.
#include <algorithm>

#include "cresset/python/modules_methods.h"
#include "cresset/python/modules_value.h"
#include "cresset/python/script.h"

namespace cresset::python {

namespace {

/// Python objects that outlive every compilation.
py::handle moduleClass() {
  static py::handle cls = py::object(py::module_::import("torch.nn").attr("Module")).release();
  return cls;
}

bool isSubclassOf(py::handle cls, py::handle base) {
  const int result = PyObject_IsSubclass(cls.ptr(), base.ptr());
  if (result < 0) throw py::error_already_set();
  return result == 1;
}

const ModuleInfo* infoOfValue(Value* value) {
  auto cls = value->type()->cast<c10::ClassType>();
  return cls ? infoOf(*cls) : nullptr;
}

/// A function of a class that a module's class derives from, called with the module as first argument.
class UnboundMethod final : public SugaredValue {
 public:
  UnboundMethod(py::object function, py::object cls, std::string name)
      : function_(std::move(function)), cls_(std::move(cls)), name_(std::move(name)) {}
  ~UnboundMethod() override {
    py::gil_scoped_acquire gil;
    function_ = cls_ = py::object();
  }
  std::string kind() const override { return "method '" + name_ + "' of a module class"; }

  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    py::gil_scoped_acquire gil;
    const auto class_name = py::cast<std::string>(cls_.attr("__name__"));
    const ModuleInfo* info = args.empty() || !args[0].value ? nullptr : infoOfValue(args[0].value);
    if (!info || !isSubclassOf(info->python_class, cls_)) {
      throw UserError(
          "'" + class_name + "." + name_ + "' is a method of a module class: its first argument must be a '" +
              class_name + "'",
          range);
    }
    Function& method = hiddenMethod(*info, function_, range);
    return MethodValue(args[0].value, method.name())
        .call(range, cx, std::vector<NamedValue>(args.begin() + 1, args.end()), kwargs, num_binders);
  }

 private:
  py::object function_, cls_;
  std::string name_;
};

/// Whether a value of this static type may be a module.
bool mayBeModule(const c10::Type& type) {
  if (const auto cls = type.cast<c10::ClassType>()) return cls->is_module();
  if (const auto interface = type.cast<c10::InterfaceType>()) return interface->is_module();
  if (const auto several = type.cast<c10::UnionType>()) {
    const auto types = several->containedTypes();
    return std::any_of(types.begin(), types.end(), [](const c10::TypePtr& each) { return mayBeModule(*each); });
  }
  return type.kind() == c10::TypeKind::AnyType;
}

class ModuleClassValue final : public SugaredValue {
 public:
  explicit ModuleClassValue(py::object cls) : cls_(std::move(cls)) {}
  ~ModuleClassValue() override {
    py::gil_scoped_acquire gil;
    cls_ = py::object();
  }
  const py::object& cls() const { return cls_; }
  std::string kind() const override { return "class '" + name() + "'"; }

  std::optional<bool> hasInstance(const c10::Type& type) const override {
    const auto cls = type.cast<c10::ClassType>();
    if (const ModuleInfo* info = cls ? infoOf(*cls) : nullptr) {
      py::gil_scoped_acquire gil;
      return isSubclassOf(info->python_class, cls_);
    }
    return mayBeModule(type) ? std::nullopt : std::optional(false);
  }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& attribute) override {
    py::gil_scoped_acquire gil;
    py::object found = rawAttribute(cls_, attribute);
    if (!found) return nullptr;
    if (PyFunction_Check(found.ptr())) return std::make_shared<UnboundMethod>(found, cls_, attribute);
    return valueOfClassAttribute(found, cx, range, name() + "." + attribute);
  }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext&, const std::vector<NamedValue>&, const std::vector<NamedValue>&,
      size_t) override {
    throw UserError(
        "Cannot instantiate class '" + name() +
            "' in a script function: modules are made outside of scripts. Make it in __init__ and keep it as an "
            "attribute",
        range);
  }

 private:
  std::string name() const {
    py::gil_scoped_acquire gil;
    return py::cast<std::string>(cls_.attr("__name__"));
  }
  py::object cls_;
};

/// `super().__call__`: nn.Module's, which calls forward and the hooks.
class CallOfModule final : public SugaredValue {
 public:
  CallOfModule(Value* self, const ModuleInfo& info) : self_(self), info_(info) {}
  std::string kind() const override { return "method '__call__'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    return std::make_shared<ModuleValue>(self_, info_)->callForward(range, cx, args, kwargs, num_binders);
  }

 private:
  Value* self_;
  const ModuleInfo& info_;
};

/// `super()`, bound.
class ModuleSuper final : public SugaredValue {
 public:
  ModuleSuper(Value* self, const ModuleInfo& info, py::object owner)
      : self_(self), info_(info), owner_(std::move(owner)) {}
  ~ModuleSuper() override {
    py::gil_scoped_acquire gil;
    owner_ = py::object();
  }
  std::string kind() const override { return "super()"; }

  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    py::gil_scoped_acquire gil;
    py::object found = rawAttribute(info_.python_class, name, owner_);
    if (!found) return nullptr;
    if (name == "__call__" && found.is(rawAttribute(moduleClass(), name)))
      return std::make_shared<CallOfModule>(self_, info_);
    if (PyObject_TypeCheck(found.ptr(), &PyProperty_Type)) {
      const std::string getter = hiddenMethod(info_, py::object(found.attr("fget")), range).name();
      return MethodValue(self_, getter).call(range, cx, {}, {}, 1);
    }
    if (!PyFunction_Check(found.ptr())) return valueOfClassAttribute(found, cx, range, "super()." + name);
    return std::make_shared<MethodValue>(self_, hiddenMethod(info_, found, range).name());
  }

 private:
  Value* self_;
  const ModuleInfo& info_;
  py::object owner_;
};

class ModuleSuperFunction final : public SugaredValue {
 public:
  explicit ModuleSuperFunction(py::object owner) : owner_(std::move(owner)) {}
  ~ModuleSuperFunction() override {
    py::gil_scoped_acquire gil;
    owner_ = py::object();
  }
  std::string kind() const override { return "super"; }
  bool takesSugared() const override { return true; }

  SugaredValuePtr callSugared(
      const SourceRange& range, EmitContext& cx, const std::vector<SugaredValuePtr>& args,
      const std::vector<std::pair<std::string, SugaredValuePtr>>& kwargs) override {
    py::gil_scoped_acquire gil;
    Value* self = cx.graph.inputs().empty() ? nullptr : cx.graph.inputs()[0];
    const ModuleInfo* info = self ? infoOfValue(self) : nullptr;
    py::object owner;
    if (args.empty() && kwargs.empty()) {
      owner = owner_;
    } else if (args.size() == 2 && kwargs.empty()) {
      auto* cls = dynamic_cast<ModuleClassValue*>(args[0].get());
      if (cls && args[1]->asValue(range, cx) == self) owner = cls->cls();
    }
    if (!info || !owner)
      throw UserError("super() can be used in methods of modules, as super() or super(ItsClass, self)", range);
    return std::make_shared<ModuleSuper>(self, *info, std::move(owner));
  }

 private:
  py::object owner_;
};

}  // namespace

SugaredValuePtr valueOfClassAttribute(
    py::handle attribute, EmitContext& cx, const SourceRange& range, const std::string& name) {
  if (PyObject_TypeCheck(attribute.ptr(), &PyStaticMethod_Type))
    return sugarOf(py::object(attribute.attr("__func__")), cx, range, name);
  if (!constantOf(attribute)) return nullptr;
  return sugarOf(attribute, cx, range, name);
}

SugaredValuePtr superOfModule(py::handle cls) {
  return std::make_shared<ModuleSuperFunction>(py::reinterpret_borrow<py::object>(cls));
}

SugaredValuePtr moduleClassValue(py::handle object, EmitContext&, const SourceRange&, const std::string&) {
  if (!PyType_Check(object.ptr()) || !isSubclassOf(object, moduleClass())) return nullptr;
  if (knownTypeOfClass(object)) return nullptr;  // an interface
  return std::make_shared<ModuleClassValue>(py::reinterpret_borrow<py::object>(object));
}

}  // namespace cresset::python
