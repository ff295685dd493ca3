// The `def` that a Python function is compiled from, and the names that it sees: of functions as they stand, of unused
// ones, of class methods, and of overloads, which have an implementation in common.
#include <ATen/core/class_type.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "cresset/frontend/calls.h"
#include "cresset/python/script_declarations.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

/// The annotation of a result that has none which can be read; UnusedNames knows what it means.
constexpr const char* kLiveResult = "_live_result";

/// The `def` of an @unused function: any arguments, and a body that raises. Nothing of it has to be TorchScript, so its
/// parameters are taken from the live function if the text can't be read.
Def unusedDef(py::handle function, bool is_method) {
  SourceRange range = placeOf(function);
  std::vector<Param> params;
  Maybe<Expr> result = Maybe<Expr>::none(range);
  const auto add = [&](const std::string& name, const SourceRange& at, bool keyword_only) {
    const bool self = is_method && params.empty();
    const Maybe<Expr> type = self ? Maybe<Expr>::none(at) : Maybe<Expr>::some(Var::make(Ident::make(at, "Any")));
    params.push_back(Param::make(at, Ident::make(at, name), type, Maybe<Expr>::none(at), keyword_only));
  };
  std::string name = py::cast<std::string>(function.attr("__name__"));
  try {
    const Def def = readFunction(function);
    for (const Param param : def.decl().params()) add(param.name().name(), param.range(), param.kwargOnly());
    result = def.decl().returnType();
  } catch (const UserError&) {
    py::object code = function.attr("__code__");
    py::tuple names = code.attr("co_varnames");
    const auto positional = py::cast<size_t>(code.attr("co_argcount"));
    const auto keyword_only = py::cast<size_t>(code.attr("co_kwonlyargcount"));
    for (size_t i = 0; i < positional + keyword_only; ++i) add(py::cast<std::string>(names[i]), range, i >= positional);
  }
  if (!result.present()) result = Maybe<Expr>::some(Var::make(Ident::make(range, kLiveResult)));
  const Expr error = Apply::make(
      range, Var::make(Ident::make(range, "RuntimeError")),
      ListView<Expr>::make(
          range,
          {StringLiteral::make(
              range,
              "Cannot call @unused methods: this Python function is annotated to be ignored and cannot be run")}),
      ListView<Attr>::make(range, {}));
  return Def::make(
      range, Ident::make(range, name), Decl::make(range, ListView<Param>::make(range, params), result),
      ListView<Stmt>::make(range, {Raise::make(range, error)}), ListView<Expr>::make(range, {}));
}

/// The names that a function sees, and one more.
class WithName : public Resolver {
 public:
  WithName(ResolverPtr names, std::string name, TypePtr type)
      : names_(std::move(names)), name_(std::move(name)), type_(std::move(type)) {}
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) override {
    return name == name_ ? valueOfType(type_) : names_->resolveValue(name, cx, range);
  }
  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    return name == name_ ? type_ : names_->resolveType(name, range);
  }
  std::vector<std::string> names() override { return names_->names(); }
  bool shadowsTypes() const override { return names_->shadowsTypes(); }
  std::string resolveConstructor(const std::string& name) override { return names_->resolveConstructor(name); }
  std::optional<IValue> resolveDefault(
      const std::string& name, const TypePtr& type, const SourceRange& range) override {
    return names_->resolveDefault(name, type, range);
  }

 private:
  ResolverPtr names_;
  std::string name_;
  TypePtr type_;
};

/// The names that an @unused function sees. Defaults that scripts don't know are None: nothing reads them.
class UnusedNames : public WithName {
 public:
  UnusedNames(ResolverPtr names, py::handle function) : WithName(std::move(names), "", nullptr) {
    py::object annotations = py::getattr(function, "__annotations__", py::dict());
    if (annotations.contains("return")) result_ = annotations["return"];
  }
  ~UnusedNames() override {
    py::gil_scoped_acquire gil;
    result_ = py::object();
  }
  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    if (name != kLiveResult) return WithName::resolveType(name, range);
    // As torch.jit: what does not say otherwise returns a Tensor.
    py::gil_scoped_acquire gil;
    return result_ ? requireTypeOfAnnotation(result_, range, nullptr) : c10::TensorType::get();
  }
  std::optional<IValue> resolveDefault(
      const std::string& name, const TypePtr& type, const SourceRange& range) override {
    try {
      return WithName::resolveDefault(name, type, range);
    } catch (const UserError&) {
      return IValue();
    }
  }

 private:
  py::object result_;
};

/// Whether the `def` says the type of a parameter or of its result.
bool isAnnotated(const Def& def) {
  if (def.decl().returnType().present()) return true;
  for (const Param param : def.decl().params()) {
    if (param.type().present()) return true;
  }
  return false;
}

/// Which overload a call means is settled when it is compiled, but its defaults are never seen by Python's own calls.
void checkOverloadDefaults(py::handle implementation, py::handle overload, const SourceRange& range) {
  const py::handle signature = known("inspect", "signature"), missing = known("inspect", "_empty");
  const py::object given = signature(implementation).attr("parameters");
  for (auto [name, parameter] : py::dict(signature(overload).attr("parameters"))) {
    const py::object value = parameter.attr("default");
    if (value.is(missing)) continue;
    const py::object own = given.attr("get")(name, py::none());
    const py::object own_value = own.is_none() ? py::object() : py::object(own.attr("default"));
    if (own_value && !own_value.is(missing)) {
      try {
        if (own_value.is(value) || own_value.equal(value)) continue;
      } catch (py::error_already_set&) {
        // What can't be compared is not known to be equal.
      }
    }
    throw UserError(
        "Default parameters on overloads do not affect the runtime so they must equal to the default parameter on the "
        "implementation function. Found on parameter " +
            py::cast<std::string>(py::str(name)),
        range);
  }
}

/// A parameter that an overload leaves out.
Param parameterOfImplementation(const Param& param, const Def& overload) {
  const std::string name = param.name().name();
  if (!param.defaultValue().present()) {
    throw UserError(
        "Expected to find default parameter on argument " + name +
            " because it is not defined on the overloaded declaration",
        overload.range());
  }
  if (!param.type().present()) {
    throw UserError(
        "Parameters not specified on the overloaded declaration must have a type annotation in the implementation "
        "declaration. Did not find type for param " +
            name,
        param.range());
  }
  return Param::make(param.range(), param.name(), param.type(), Maybe<Expr>::none(param.range()), param.kwargOnly());
}

/// The `def` of an implementation with the parameters' and result's types of one of its overloads, and its defaults.
Def withSignature(py::handle function, py::handle overload_function) {
  const Def implementation = readFunction(function), overload = readFunction(overload_function);
  if (!isAnnotated(overload)) {
    throw UserError(
        "Must explicitly add type annotations to overloaded functions: " + implementation.name().name(),
        overload.range());
  }
  checkOverloadDefaults(function, overload_function, overload.range());
  std::vector<Param> params;
  const ListView<Param> own = implementation.decl().params();
  const ListView<Param> typed = overload.decl().params();
  for (size_t i = 0; i < own.size(); ++i) {
    const Param param = own[i];
    if (i >= typed.size()) {
      params.push_back(parameterOfImplementation(param, overload));
      continue;
    }
    if (typed[i].name().name() != param.name().name()) {
      throw UserError(
          "Overload parameters must have the same names as those of the implementation: '" + param.name().name() +
              "' is missing in the overload of '" + implementation.name().name() + "'",
          overload.range());
    }
    // Defaults are the live ones, as far as they fit (see OverloadNames).
    params.push_back(Param::make(
        typed[i].range(), typed[i].name(), typed[i].type(), Maybe<Expr>::none(typed[i].range()), typed[i].kwargOnly()));
  }
  if (typed.size() > own.size()) {
    throw UserError(
        "Overload must have the same number of parameters as the implementation of '" + implementation.name().name() +
            "'",
        overload.range());
  }
  const Decl decl =
      Decl::make(overload.decl().range(), ListView<Param>::make(typed.range(), params), overload.decl().returnType());
  return Def::make(
      implementation.range(), implementation.name(), decl, implementation.body(), implementation.decorators());
}

/// Defaults of the overload where it has some, of the implementation elsewhere; names as each sees them.
class OverloadNames : public Resolver {
 public:
  OverloadNames(ResolverPtr implementation, ResolverPtr overload)
      : implementation_(std::move(implementation)), overload_(std::move(overload)) {}
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) override {
    return implementation_->resolveValue(name, cx, range);
  }
  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    if (auto type = overload_->resolveType(name, range)) return type;
    return implementation_->resolveType(name, range);
  }
  bool shadowsTypes() const override { return true; }
  std::string resolveConstructor(const std::string& name) override {
    const std::string known = overload_->resolveConstructor(name);
    return known.empty() ? implementation_->resolveConstructor(name) : known;
  }
  std::optional<IValue> resolveDefault(
      const std::string& name, const TypePtr& type, const SourceRange& range) override {
    for (const ResolverPtr& names : {overload_, implementation_}) {
      try {
        if (auto value = names->resolveDefault(name, type, range)) return value;
      } catch (const UserError&) {
        // A default that fits another overload: this one has none.
      }
    }
    return std::nullopt;
  }

 private:
  ResolverPtr implementation_, overload_;
};

/// `def` without its first parameter, whose name `body.resolver` then gives a meaning.
void bindClass(FunctionBody& body, const TypePtr& type) {
  const Def def = body.def;
  const ListView<Param> params = def.decl().params();
  if (params.empty()) throw UserError("a classmethod must have a first parameter, cls", def.name().range());
  std::vector<Param> rest;
  for (size_t i = 1; i < params.size(); ++i) rest.push_back(params[i]);
  body.resolver = std::make_shared<WithName>(body.resolver, params[0].name().name(), type);
  const Decl decl =
      Decl::make(def.decl().range(), ListView<Param>::make(params.range(), rest), def.decl().returnType());
  body.def = Def::make(def.range(), def.name(), decl, def.body(), def.decorators());
}

}  // namespace

Function& declareText(const Def& def, const MethodOptions& options) {
  return declareBody(
      options.name, FunctionBody{def, options.resolver, options.self_type, options.self}, {}, options.range);
}

Function& declareMethod(py::handle wrapped, const MethodOptions& options) {
  const py::object function = unwrapFunction(wrapped);
  const Mark mark = markOf(wrapped);
  const bool unused = mark == Mark::Unused || mark == Mark::IgnoreDrop;
  FunctionBody body{
      unused ? unusedDef(function, options.self_type != nullptr) : readFunction(function), options.resolver,
      options.self_type, unused ? nullptr : options.self};
  if (!body.resolver) body.resolver = resolverOf(function);
  if (options.overload) {
    body.def = withSignature(function, options.overload);
    body.resolver = std::make_shared<OverloadNames>(body.resolver, resolverOf(options.overload));
  }
  if (unused) body.resolver = std::make_shared<UnusedNames>(body.resolver, function);
  if (options.class_method_of) bindClass(body, options.class_method_of);
  body.def = body.def.withName(options.name.name());
  if (!function.is(wrapped)) noteWrapper(wrapped, function);
  return declareBody(options.name, std::move(body), function, options.range);
}

// ---- overloads

namespace {

/// Several functions under one name: the first whose schema the arguments fit is meant.
class OverloadedFunction : public SugaredValue {
 public:
  OverloadedFunction(std::string name, std::vector<Function*> functions)
      : name_(std::move(name)), functions_(std::move(functions)) {}
  std::string kind() const override { return "overloaded function '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    std::string failures;
    for (const bool convert : {false, true}) {
      for (Function* function : functions_) {
        const c10::FunctionSchema& schema = schemaForCall(*function, range);
        std::string why;
        if (tryMatchSchema(schema, cx.graph, range, args, kwargs, std::nullopt, &why, convert))
          return FunctionValue(function).call(range, cx, args, kwargs, num_binders);
        if (convert) failures += "\n" + why;
      }
    }
    throw UserError(
        "Arguments for call are not valid: none of the overloads of '" + name_ + "' takes them:" + failures, range);
  }

 private:
  std::string name_;
  std::vector<Function*> functions_;
};

}  // namespace

namespace {

/// The function of an overloaded name must come after what declares its signatures.
void requireImplementation(const char* kind, py::handle function, const std::vector<py::object>& overloads) {
  for (const py::object& overload : overloads) {
    if (!overload.is(function)) continue;
    throw UserError(
        std::string("Implementation for the ") + kind + " \"" + py::cast<std::string>(function.attr("__name__")) +
        "\" is missing. Please make sure a definition is provided and defined after all overload declarations.");
  }
}

}  // namespace

std::vector<py::object> overloadsOf(py::handle function) {
  std::vector<py::object> result;
  // @_overload leaves its functions in a table, which cresset/_decorators.py keeps whole.
  const py::handle table = known("torch._jit_internal", "_overloaded_fns");
  for (py::handle overload : py::object(table.attr("all_of")(qualifiedNameOf(function).qualifiedName(), function))) {
    result.push_back(py::reinterpret_borrow<py::object>(overload));
  }
  return result;
}

std::vector<py::object> overloadsOfMethod(py::handle method, py::handle cls) {
  std::vector<py::object> result;
  py::handle table = known("torch._jit_internal", "_overloaded_methods");
  if (!PyDict_Check(table.ptr()) || PyDict_Size(table.ptr()) == 0) return result;
  py::object classes = table.attr("get")(qualifiedNameOf(unwrapFunction(method)).qualifiedName(), py::none());
  if (classes.is_none()) return result;
  py::object found = classes.attr("get")(cls.attr("__name__"), py::none());
  if (found.is_none()) return result;
  for (py::handle overload : found) result.push_back(py::reinterpret_borrow<py::object>(overload));
  requireImplementation("method", unwrapFunction(method), result);
  return result;
}

SugaredValuePtr overloadedFunction(py::handle wrapped) {
  struct Known {
    py::object weak;  // its end takes the entry out
    std::vector<Function*> functions;
    std::weak_ptr<Program> program;
  };
  static auto* cache = new std::unordered_map<PyObject*, Known>;
  const py::object function = unwrapFunction(wrapped);
  const auto overloads = overloadsOf(function);
  if (overloads.empty()) return nullptr;
  const c10::QualifiedName name = qualifiedNameOf(function);
  PyObject* const key = function.ptr();
  requireImplementation("function", function, overloads);
  if (auto it = cache->find(key); it != cache->end() && it->second.functions.size() == overloads.size()) {
    if (auto program = it->second.program.lock()) {
      ScriptSession::hold(std::move(program));
      return std::make_shared<OverloadedFunction>(name.name(), it->second.functions);
    }
  }
  std::vector<Function*> functions;
  size_t index = 0;
  for (const py::object& overload : overloads) {
    FunctionBody body{
        withSignature(function, overload), std::make_shared<OverloadNames>(resolverOf(function), resolverOf(overload)),
        nullptr, nullptr};
    const c10::QualifiedName own(
        c10::QualifiedName(name.prefix()), name.name() + "__overload_" + std::to_string(index++));
    functions.push_back(&declareBody(own, std::move(body), function, {}));
  }
  const auto erase = [key] { cache->erase(key); };
  cache->insert_or_assign(key, Known{weakReference(function, erase), functions, currentProgram().weak_from_this()});
  ScriptSession::onRollback(erase);
  return std::make_shared<OverloadedFunction>(name.name(), std::move(functions));
}

}  // namespace cresset::python
