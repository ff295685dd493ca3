// Calls from programs back into Python: what @ignore leaves, and autograd.Functions. The call is a node ^name(…) whose
// operator holds the Python callable. Types of arguments and result are those of its annotations, Tensor where there
// are none.
#include <ATen/core/function_schema.h>

#include "cresset/frontend/annotations.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/host_callable.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

class PythonFunction final : public HostCallable {
 public:
  PythonFunction(py::object callable, std::string name, std::vector<TypePtr> arguments, TypePtr result)
      : callable_(std::move(callable)),
        name_(std::move(name)),
        arguments_(std::move(arguments)),
        result_(std::move(result)) {}
  ~PythonFunction() override {
    if (pythonIsGoingAway()) {
      callable_.release();
      return;
    }
    py::gil_scoped_acquire gil;
    callable_ = py::object();
  }
  std::string name() const override { return name_; }

  void call(Stack& stack, size_t num_args) const override {
    if (pythonIsGoingAway()) throw std::runtime_error("The Python function '" + name_ + "' can't be called any more");
    py::gil_scoped_acquire gil;
    py::tuple args(num_args);
    const size_t first = stack.size() - num_args;
    for (size_t i = 0; i < num_args; ++i) {
      PyTuple_SET_ITEM(
          args.ptr(), static_cast<Py_ssize_t>(i),
          toPython(std::move(stack[first + i]), i < arguments_.size() ? arguments_[i] : TypePtr()));
    }
    stack.resize(first);
    py::object result = py::reinterpret_steal<py::object>(PyObject_CallObject(callable_.ptr(), args.ptr()));
    if (!result) throw py::error_already_set();
    try {
      stack.push_back(toIValue(result.ptr(), result_));
    } catch (const CastError& error) {
      throw std::runtime_error(
          "The Python function '" + name_ + "' was to return " + result_->repr_str() + ": expected value of type " +
          result_->repr_str() + " for return value but instead got value of type " + typeName(result.ptr()) + ": " +
          error.what());
    }
  }

 private:
  py::object callable_;
  std::string name_;
  std::vector<TypePtr> arguments_;
  TypePtr result_;
};

class PythonCall : public SugaredValue {
 public:
  PythonCall(c10::FunctionSchema schema, c10::intrusive_ptr<HostCallable> host, std::string type)
      : schema_(std::move(schema)), host_(std::move(host)), type_(std::move(type)) {}
  std::string kind() const override { return "python value of type '" + type_ + "'"; }
  std::string missingAttr(const std::string& /*name*/) const override {
    return "attribute lookup is not defined on " + kind();
  }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    MatchedSchema match = matchSchema(schema_, cx.graph, range, args, kwargs);
    const TypePtr result = match.return_types.empty() ? TypePtr(c10::NoneType::get()) : match.return_types[0];
    return std::make_shared<SimpleValue>(insertHostCall(cx.graph, host_, match.inputs, result, range)->output());
  }

 private:
  c10::FunctionSchema schema_;
  c10::intrusive_ptr<HostCallable> host_;
  std::string type_;
};

class IgnoredBlock final : public SugaredValue {
 public:
  explicit IgnoredBlock(py::dict scope) : scope_(std::move(scope)) {}
  ~IgnoredBlock() override {
    py::gil_scoped_acquire gil;
    scope_ = py::dict();
  }
  std::string kind() const override { return "block that Python runs"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    py::gil_scoped_acquire gil;
    py::list variables;
    for (const NamedValue& kwarg : kwargs) variables.append(py::make_tuple(kwarg.name, textOf(kwarg)));
    const py::object function =
        py::module_::import("cresset._decorators")
            .attr("ignored_block")(
                textOf(args.at(0)), variables, scope_, range.source->name(), range.source->lineNumber(range.begin));
    return pythonCallable(function, function, false, range)
        ->call(range, cx, {args.begin() + 1, args.end()}, {}, num_binders);
  }

 private:
  static std::string textOf(const NamedValue& value) {
    const auto constant = value.value ? cresset::toIValue(value.value) : std::optional<IValue>(*value.constant);
    CRESSET_CHECK(constant && constant->isString(), "the text of an ignored block");
    return constant->toStringRef();
  }

  py::dict scope_;
};

/// `F.apply`. As in torch.jit, arguments are of any type and the result is a Tensor, or as many as it is unpacked to;
/// the annotation of `forward` says more.
class AutogradApply final : public SugaredValue {
 public:
  explicit AutogradApply(py::object cls) : cls_(std::move(cls)) {}
  ~AutogradApply() override {
    py::gil_scoped_acquire gil;
    cls_ = py::object();
  }
  std::string kind() const override { return "method 'apply' of an autograd.Function"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    py::gil_scoped_acquire gil;
    const auto name = py::cast<std::string>(cls_.attr("__name__"));
    if (!kwargs.empty()) {
      throw UserError(
          "Keyword argument " + kwargs[0].name + " unknown: '" + name + ".apply' takes no arguments by name",
          kwargs[0].range ? kwargs[0].range : range);
    }
    std::vector<Value*> inputs;
    std::vector<TypePtr> types;
    for (const NamedValue& arg : args) {
      inputs.push_back(arg.get(cx.graph));
      types.push_back(inputs.back()->type());
    }
    const TypePtr result = resultType(range, num_binders);
    const auto host = c10::make_intrusive<PythonFunction>(cls_.attr("apply"), name, std::move(types), result);
    return std::make_shared<SimpleValue>(insertHostCall(cx.graph, host, inputs, result, range)->output());
  }

 private:
  TypePtr resultType(const SourceRange& range, size_t num_binders) const {
    const TypePtr tensor = c10::TensorType::get();
    if (num_binders > 1) return c10::TupleType::create(std::vector<TypePtr>(num_binders, tensor));
    const py::object forward = unwrapFunction(cls_.attr("forward"));
    const py::object annotations = py::getattr(forward, "__annotations__", py::dict());
    if (!annotations.contains("return")) return tensor;
    try {
      const TypePtr type = requireTypeOfAnnotation(annotations["return"], range, resolverOf(forward));
      return type->kind() == c10::TypeKind::AnyType ? tensor : type;
    } catch (const UserError&) {
      return tensor;  // an annotation that is no type of scripts
    }
  }

  py::object cls_;
};

/// The class itself: `F.apply`, or what else the class has.
class AutogradFunction final : public SugaredValue {
 public:
  explicit AutogradFunction(py::object cls) : cls_(std::move(cls)) {}
  ~AutogradFunction() override {
    py::gil_scoped_acquire gil;
    cls_ = py::object();
  }
  std::string kind() const override { return "autograd.Function"; }
  std::string missingAttr(const std::string& name) const override {
    py::gil_scoped_acquire gil;
    return "autograd.Function '" + py::cast<std::string>(cls_.attr("__name__")) + "' has no attribute '" + name + "'";
  }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    py::gil_scoped_acquire gil;
    if (name == "apply") return autogradApply(cls_);
    const py::object member = attributeOrNull(cls_, name.c_str());
    return member ? sugarOf(member, cx, range, name) : nullptr;
  }

 private:
  py::object cls_;
};

/// The parameters and the result of a Python function by its annotations. No body is read: it need not be TorchScript.
c10::FunctionSchema signatureOf(
    py::handle function, const SourceRange& range, bool skip_first, const TypePtr& self_type) {
  const py::object plain = unwrapFunction(function);
  const ResolverPtr names = resolverOf(plain);
  py::object code = plain.attr("__code__");
  py::object annotations = py::getattr(plain, "__annotations__", py::dict());
  py::tuple varnames = code.attr("co_varnames");
  const auto positional = py::cast<size_t>(code.attr("co_argcount"));
  const auto keyword_only = py::cast<size_t>(code.attr("co_kwonlyargcount"));
  constexpr int kVarArgs = 0x04, kVarKeywords = 0x08;
  const std::string name = py::cast<std::string>(plain.attr("__name__"));
  const auto flags = py::cast<int>(code.attr("co_flags"));
  SourceRange place = placeOf(plain);
  if (!place) place = range;
  if (flags & kVarKeywords) {
    throw UserError(
        "the @ignore function '" + name +
            "' takes any keyword arguments, which scripts don't pass. List its parameters",
        place);
  }
  const bool is_vararg = flags & kVarArgs;
  if (self_type && !is_vararg && positional == 0) {
    throw UserError("method '" + name + "' does not have a self argument", place);
  }
  // Type comments are read by our parser, if the `def` line is in the language.
  if (py::len(annotations) == 0 && !is_vararg) {
    try {
      const Def def = readFunction(plain);
      c10::FunctionSchema schema = schemaOf(def, currentProgram(), names, self_type);
      if (!skip_first || schema.arguments().empty()) return schema;
      return schema.cloneWithArguments({schema.arguments().begin() + 1, schema.arguments().end()});
    } catch (const UserError&) {
    }
  }
  std::vector<c10::Argument> arguments;
  for (size_t i = skip_first ? 1 : 0; i < positional + keyword_only; ++i) {
    const auto parameter = py::cast<std::string>(varnames[i]);
    TypePtr type = inferredTensorType();
    if (i == 0 && self_type) {
      arguments.emplace_back(parameter, self_type);
      continue;
    }
    if (annotations.contains(varnames[i])) type = requireTypeOfAnnotation(annotations[varnames[i]], place, names);
    auto default_value = names->resolveDefault(parameter, type, place);
    arguments.emplace_back(parameter, type, std::nullopt, std::move(default_value), i >= positional);
  }
  std::vector<c10::Argument> returns;
  if (annotations.contains("return"))
    returns.emplace_back("", requireTypeOfAnnotation(annotations["return"], place, names));
  return c10::FunctionSchema(name, "", std::move(arguments), std::move(returns), is_vararg);
}

}  // namespace

SugaredValuePtr pythonCallable(
    py::handle callable, py::handle signature_of, bool bound, const SourceRange& range, const TypePtr& self_type) {
  c10::FunctionSchema schema = signatureOf(signature_of, range, bound, self_type);
  if (schema.returns().empty()) {
    // torch.jit takes a function without annotations for one that returns a Tensor.
    schema = schema.cloneWithReturns({c10::Argument("", c10::TensorType::get())});
  }
  std::vector<TypePtr> types;
  for (const c10::Argument& argument : schema.arguments()) types.push_back(argument.type());
  const std::string name = schema.name();
  auto host = c10::make_intrusive<PythonFunction>(
      py::reinterpret_borrow<py::object>(callable), name, std::move(types), schema.returns()[0].type());
  return std::make_shared<PythonCall>(std::move(schema), std::move(host), Py_TYPE(callable.ptr())->tp_name);
}

SugaredValuePtr autogradFunction(py::handle cls) {
  return std::make_shared<AutogradFunction>(py::reinterpret_borrow<py::object>(cls));
}

SugaredValuePtr autogradApply(py::handle cls) {
  return std::make_shared<AutogradApply>(py::reinterpret_borrow<py::object>(cls));
}

SugaredValuePtr ignoredBlock(py::dict scope) {
  return std::make_shared<IgnoredBlock>(std::move(scope));
}

}  // namespace cresset::python
