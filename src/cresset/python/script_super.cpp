// super() in methods of script classes: the method of the next class in line, compiled for the class of `self`.
//
// A program's classes have no bases, so the method that super() finds becomes a function of its own, which takes
// `self`. It is named after both classes: __torch__.mod.Derived__super_Base.method.
#include <ATen/core/class_type.h>

#include "cresset/frontend/calls.h"
#include "cresset/python/modules_methods.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

py::object methodAfter(py::handle cls, py::handle start, const std::string& name, py::object& owner) {
  bool passed = false;
  for (py::handle base : cls.attr("__mro__")) {
    if (passed) {
      py::dict own(base.attr("__dict__"));
      if (own.contains(name)) {
        owner = py::reinterpret_borrow<py::object>(base);
        return own[py::str(name)];
      }
    }
    passed |= base.is(start);
  }
  return {};
}

/// A function whose first argument is given.
class Bound : public SugaredValue {
 public:
  Bound(Value* self, Function* function) : self_(self), function_(function) {}
  std::string kind() const override { return "method"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    std::vector<NamedValue> all{NamedValue(self_, range)};
    all.insert(all.end(), args.begin(), args.end());
    return std::make_shared<SimpleValue>(insertFunctionCall(range, cx, *function_, all, kwargs));
  }

 private:
  Value* self_;
  Function* function_;
};

/// object.__init__, which does nothing.
class Nothing : public SugaredValue {
 public:
  std::string kind() const override { return "method"; }
  SugaredValuePtr call(
      const SourceRange&, EmitContext& cx, const std::vector<NamedValue>&, const std::vector<NamedValue>&,
      size_t) override {
    return std::make_shared<SimpleValue>(cx.graph.insertConstant(IValue()));
  }
};

class SuperValue : public SugaredValue {
 public:
  SuperValue(Value* self, c10::ClassTypePtr type, PyObject* start)
      : self_(self), type_(std::move(type)), start_(start) {}
  std::string kind() const override { return "super()"; }
  std::string missingAttr(const std::string& name) const override {
    return "super() has no method '" + name + "': no base class of '" + type_->name()->name() + "' defines it";
  }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    py::gil_scoped_acquire gil;
    py::object owner;
    const py::object method = methodAfter(pythonClassOf(*type_), start_, name, owner);
    if (!method) return nullptr;
    if (!PyFunction_Check(method.ptr())) {
      if (name == "__init__") return std::make_shared<Nothing>();
      throw UserError("super()." + name + " is no method of Python code", range);
    }
    MethodOptions options;
    const c10::QualifiedName& own = *type_->name();
    const std::string base = py::cast<std::string>(owner.attr("__name__"));
    const std::string home = (own.prefix().empty() ? "" : own.prefix() + ".") + own.name() + "__super_" + base;
    options.name = c10::QualifiedName(c10::QualifiedName(home), name);
    Function* function = cx.program.findFunction(options.name);
    if (!function) {
      options.self_type = type_;
      options.range = range;
      function = &declareMethod(method, options);
    }
    if (name == "__init__" && !function->isDefined()) {
      // What it assigns are attributes of this class, which the lines below may use.
      try {
        function->ensure_defined();
      } catch (const UserError& error) {
        throw error.withCaller(base + ".__init__", range);
      }
    }
    return std::make_shared<Bound>(self_, function);
  }

 private:
  Value* self_;
  c10::ClassTypePtr type_;
  PyObject* start_;  // alive: its type is published
};

class SuperFunction : public SugaredValue {
 public:
  explicit SuperFunction(PyObject* start) : start_(start) {}
  std::string kind() const override { return "super"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    if (!args.empty() || !kwargs.empty()) throw UserError("super() takes no arguments in a script", range);
    const auto inputs = cx.graph.inputs();
    auto type = inputs.empty() ? nullptr : inputs[0]->type()->cast<c10::ClassType>();
    if (!type || type->is_module() || !pythonClassOf(*type)) {
      throw UserError(
          "super() is not supported here: in scripts it stands in methods of script classes; call the method of the "
          "base class by another name",
          range);
    }
    return std::make_shared<SuperValue>(inputs[0], type, start_);
  }

 private:
  PyObject* start_;
};

}  // namespace

SugaredValuePtr superOf(py::handle cls) {
  if (isModuleClass(cls)) return superOfModule(cls);
  return std::make_shared<SuperFunction>(cls.ptr());
}

}  // namespace cresset::python
