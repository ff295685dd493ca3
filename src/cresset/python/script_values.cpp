// Python objects as values of a program.
//
// What an object means is decided by identity for what torch and Python define (tables in cresset/_builtins.py), and by
// its kind for the rest. Numbers, strings, dtypes and the like that a function reaches through globals or closures
// become constants: the program keeps what they were when it was compiled.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <unordered_map>

#include "cresset/frontend/builtin_functions.h"
#include "cresset/frontend/builtin_names.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/exceptions.h"
#include "cresset/frontend/indices.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/python/script_names.h"

#include <torch/csrc/Device.h>
#include <torch/custom_class_detail.h>

namespace cresset::python {

namespace {

SugaredValuePtr simple(Value* value) {
  return std::make_shared<SimpleValue>(value);
}

SugaredValuePtr constantValue(EmitContext& cx, const IValue& value) {
  return simple(cx.graph.insertConstant(value));
}

// ---- functions that are known by identity

struct WellKnown {
  std::string module, name;
};
std::unordered_map<PyObject*, WellKnown>& wellKnownTable() {
  static auto* table = new std::unordered_map<PyObject*, WellKnown>;
  return *table;
}

/// A function whose result is known before it runs, whatever its arguments: has_torch_function.
class ConstantFunction : public SugaredValue {
 public:
  ConstantFunction(std::string name, bool value) : name_(std::move(name)), value_(value) {}
  std::string kind() const override { return "function '" + name_ + "'"; }
  bool takesSugared() const override { return true; }
  SugaredValuePtr callSugared(
      const SourceRange&, EmitContext& cx, const std::vector<SugaredValuePtr>&,
      const std::vector<std::pair<std::string, SugaredValuePtr>>&) override {
    return constantValue(cx, value_);
  }
  SugaredValuePtr call(
      const SourceRange&, EmitContext& cx, const std::vector<NamedValue>&, const std::vector<NamedValue>&,
      size_t) override {
    return constantValue(cx, value_);
  }

 private:
  std::string name_;
  bool value_;
};

/// A function that tells whether its argument is a tensor: is_tensor_like.
class TensorTest : public SugaredValue {
 public:
  explicit TensorTest(std::string name) : name_(std::move(name)) {}
  std::string kind() const override { return "function '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    requireArgs(range, name_ + "()", 1, args.size(), kwargs.size());
    return constantValue(cx, args[0].type()->isSubtypeOf(*c10::TensorType::get()));
  }

 private:
  std::string name_;
};

/// The operator that a function or method of C's stands for; "" if none.
std::string operatorOfCFunction(py::handle object) {
  PyObject* function = object.ptr();
  if (PyCFunction_Check(function)) {
    const std::string name = py::cast<std::string>(object.attr("__name__"));
    py::object self = attributeOrNull(object, "__self__");
    if (!self || self.is_none()) return "";
    if (PyModule_Check(self.ptr())) {
      const auto module = py::cast<std::string>(self.attr("__name__"));
      if (module == "math" || module == "_operator") return operatorOfFunction(module, name);
      static constexpr std::string_view kModules[] = {"torch._C._nn",     "torch._C._fft",    "torch._C._linalg",
                                                      "torch._C._nested", "torch._C._sparse", "torch._C._special"};
      for (std::string_view known : kModules) {
        if (module == known) return "aten::" + name;
      }
      return "";
    }
    if (self.is(known("torch._C", "_VariableFunctionsClass"))) return "aten::" + name;
    return "";
  }
  const bool method = Py_TYPE(function) == &PyMethodDescr_Type;
  if (method && isSubclass(object.attr("__objclass__"), known("torch._C", "TensorBase")))
    return "aten::" + py::cast<std::string>(object.attr("__name__"));
  return "";
}

SugaredValuePtr operatorValue(const std::string& name) {
  if (name.empty()) return nullptr;
  const Symbol symbol = Symbol::fromQualString(name);
  return isBuiltin(symbol) ? std::make_shared<BuiltinFunction>(symbol) : nullptr;
}

// ---- boolean dispatch: F.max_pool2d(…, return_indices=True) is another function than without

class BooleanDispatch : public SugaredValue {
 public:
  BooleanDispatch(std::string name, py::object entry) : name_(std::move(name)), entry_(std::move(entry)) {}
  ~BooleanDispatch() override {
    py::gil_scoped_acquire gil;
    entry_ = py::object();
  }
  std::string kind() const override { return "function '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    py::gil_scoped_acquire gil;
    const auto index = py::cast<size_t>(entry_["index"]);
    const auto flag = py::cast<std::string>(entry_["arg_name"]);
    const NamedValue* chosen = index < args.size() ? &args[index] : nullptr;
    for (const NamedValue& kwarg : kwargs) {
      if (kwarg.name == flag) chosen = &kwarg;
    }
    bool value = py::cast<bool>(entry_["default"]);
    if (chosen) {
      const auto constant = chosen->value ? toIValue(chosen->value) : std::optional<IValue>(*chosen->constant);
      if (!constant || !constant->isBool()) {
        throw UserError(
            "the argument '" + flag + "' of " + name_ +
                " decides how many results there are: it must be True or "
                "False, written out or a constant (value for boolean dispatch was not constant)",
            chosen->range ? chosen->range : range);
      }
      value = constant->toBool();
    }
    const py::object function = entry_[value ? "if_true" : "if_false"];
    return sugarOf(function, cx, range, name_)->call(range, cx, args, kwargs, num_binders);
  }

 private:
  std::string name_;
  py::object entry_;
};

// ---- functools.partial

/// A callee some of whose arguments are given, which are constants of the program.
class PartialCall : public SugaredValue {
 public:
  PartialCall(py::object partial, std::string name) : partial_(std::move(partial)), name_(std::move(name)) {}
  ~PartialCall() override {
    py::gil_scoped_acquire gil;
    partial_ = py::object();
  }
  std::string kind() const override { return "functools.partial '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    py::gil_scoped_acquire gil;
    const auto given = [&](py::handle value, const std::string& what) {
      return sugarOf(value, cx, range, name_ + "'s argument " + what)->asValue(range, cx);
    };
    std::vector<NamedValue> all, named;
    const py::tuple positional = partial_.attr("args");
    for (size_t i = 0; i < positional.size(); ++i) all.emplace_back(given(positional[i], std::to_string(i + 1)), range);
    all.insert(all.end(), args.begin(), args.end());
    for (auto [key, value] : py::dict(partial_.attr("keywords"))) {
      const auto keyword = py::cast<std::string>(key);
      const bool replaced =
          std::any_of(kwargs.begin(), kwargs.end(), [&](const NamedValue& kwarg) { return kwarg.name == keyword; });
      if (replaced) continue;
      named.emplace_back(given(value, keyword), range);
      named.back().name = keyword;
    }
    named.insert(named.end(), kwargs.begin(), kwargs.end());
    return sugarOf(partial_.attr("func"), cx, range, name_)->call(range, cx, all, named, num_binders);
  }

 private:
  py::object partial_;
  std::string name_;
};

// ---- Python modules and other namespaces

class Namespace : public SugaredValue {
 public:
  Namespace(py::object object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}
  ~Namespace() override {
    py::gil_scoped_acquire gil;
    object_ = py::object();
  }
  std::string kind() const override { return "module '" + name_ + "'"; }
  std::string missingAttr(const std::string& attribute) const override {
    py::gil_scoped_acquire gil;
    std::string message = "module '" + name_ + "': object has no attribute " + attribute;
    try {
      py::object similar = known("difflib", "get_close_matches")(attribute, object_.attr("__dir__")(), 1);
      if (py::len(similar) > 0) message += "; did you mean '" + py::cast<std::string>(py::list(similar)[0]) + "'?";
    } catch (py::error_already_set&) {
      // A module that can't be listed; the message does without a suggestion.
    }
    return message;
  }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& attribute) override {
    py::gil_scoped_acquire gil;
    static py::handle cpp_classes = known("torch._classes", "_ClassNamespace");
    if (py::isinstance(object_, cpp_classes)) {
      const auto space = py::cast<std::string>(object_.attr("name"));
      c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes." + space + "." + attribute);
      return type ? std::make_shared<ClassValue>(std::move(type)) : nullptr;
    }
    py::object member = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object_.ptr(), attribute.c_str()));
    if (!member) {
      // torch.ops and torch.classes raise errors of their own for what no library has registered.
      PyErr_Clear();
      // Names that only scripts have: torch.warn.
      const bool is_torch =
          PyModule_Check(object_.ptr()) && std::string_view(PyModule_GetName(object_.ptr())) == "torch";
      return is_torch ? BuiltinModule("torch").findAttr(range, cx, attribute) : nullptr;
    }
    if (PyModule_Check(object_.ptr())) {
      if (auto typed = annotatedContainer(member, object_.attr("__dict__"), cx, range, attribute)) return typed;
    }
    return sugarOf(member, cx, range, name_ + "." + attribute);
  }

 private:
  py::object object_;
  std::string name_;
};

// ---- containers

/// A Python list or dict that a program reads. Its elements are constants; as a value it is a copy, as is everything
/// that passes from Python into a program.
SugaredValuePtr containerValue(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name) {
  if (PyTuple_Check(object.ptr())) {
    std::vector<SugaredValuePtr> elements;
    size_t index = 0;
    for (py::handle element : py::reinterpret_borrow<py::tuple>(object)) {
      auto value = trySugarOf(element, cx, range, name + "[" + std::to_string(index++) + "]");
      if (!value) return nullptr;
      elements.push_back(std::move(value));
    }
    return std::make_shared<SugaredTuple>(std::move(elements));
  }
  auto value = constantOf(object);
  if (!value) return nullptr;
  return constantValue(cx, *value);
}

/// A slice that Python made: its bounds are constants.
SugaredValuePtr sliceValue(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name) {
  const auto bound = [&](const char* part) -> Value* {
    py::object value = object.attr(part);
    return value.is_none() ? nullptr : sugarOf(value, cx, range, name + "." + part)->asValue(range, cx);
  };
  Value* start = bound("start");
  Value* stop = bound("stop");
  return std::make_shared<SliceValue>(start, stop, bound("step"));
}

bool isContainer(py::handle object) {
  return PyTuple_Check(object.ptr()) || PyList_CheckExact(object.ptr()) || PyDict_CheckExact(object.ptr());
}

bool hasScalarType(py::handle object) {
  PyObject* o = object.ptr();
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_Check(o) || PyComplex_Check(o) ||
         PyUnicode_Check(o) || THPDevice_Check(o) || enumLikeInt(o);
}

// ---- classes

SugaredValuePtr classValue(py::handle cls, EmitContext& cx, const SourceRange& range) {
  if (TypePtr type = knownTypeOfClass(cls)) return valueOfType(type);
  if (TypePtr type = plainType(cls)) return std::make_shared<TypeValue>(type->annotation_str(), type, "");
  if (isSubclass(cls, py::handle(PyExc_BaseException))) {
    const auto module = py::cast<std::string>(py::str(cls.attr("__module__")));
    const auto name = py::cast<std::string>(py::str(cls.attr("__qualname__")));
    return std::make_shared<ExceptionClass>(module + "." + name);
  }
  if (isModuleClass(cls) || !isPythonClass(cls)) return nullptr;
  if (isSubclass(cls, known("torch.autograd", "Function"))) return autogradFunction(cls);
  if (markOf(cls) == Mark::Ignore) {
    throw UserError(
        "Cannot instantiate class '" + py::cast<std::string>(cls.attr("__name__")) +
            "' in a script function: it is marked @torch.jit.ignore",
        range);
  }
  return valueOfType(typeOfClass(cls, range));
}

std::vector<ObjectHandler>& handlers() {
  static auto* list = new std::vector<ObjectHandler>;
  return *list;
}

[[noreturn]] void refuse(py::handle object, const SourceRange& range, const std::string& name) {
  if (PyCFunction_Check(object.ptr())) {
    std::string hint;
    if (object.is(known("builtins", "open"))) {
      hint = ". Scripts can't open files: read the file outside of the script and pass what is in it";
    } else if (name.starts_with("np.") || name.starts_with("numpy.")) {
      hint = ". Scripts have no NumPy: torch has functions for most of what NumPy's do";
    }
    throw UserError(
        "Python builtin <built-in function " + py::cast<std::string>(object.attr("__name__")) + ">" +
            " is currently not supported in Torchscript: '" + name +
            "' is a function of C that is no operator. This op may not exist or may not be currently supported in "
            "TorchScript" +
            hint,
        range);
  }
  std::string hint;
  py::object module = attributeOrNull(object, "__module__");
  const std::string path = module && PyUnicode_Check(module.ptr()) ? py::cast<std::string>(module) : "";
  if (path == "numpy" || path.starts_with("numpy.")) {
    hint = " Scripts have no NumPy: torch has functions for most of what NumPy's do.";
  } else if (THPVariable_Check(object.ptr())) {
    hint = " A tensor can be passed as an argument, or be a buffer of the module.";
  } else if (py::isinstance(object, known("torch.nn", "Module"))) {
    hint = " Cannot call a ScriptModule that is not a submodule of the caller: call it from a method of what holds it.";
  } else if (isModuleClass(object)) {
    hint = " Modules are made outside of scripts: make it in __init__ and keep it as an attribute.";
  } else if (PyType_Check(object.ptr()) && !isPythonClass(object)) {
    const bool is_set = object.is(py::handle(reinterpret_cast<PyObject*>(&PySet_Type))) ||
                        object.is(py::handle(reinterpret_cast<PyObject*>(&PyFrozenSet_Type)));
    hint = is_set ? " Scripts have no sets: a dict's keys can stand for one, as in {x: True for x in xs}."
                  : " It is a builtin class of Python that scripts don't have; they have lists, dicts and tuples.";
  } else if (PyCallable_Check(object.ptr())) {
    hint =
        " A script can call Python functions, classes that it can compile, operators, and methods of submodules of its "
        "module (self.layer.encode).";
  }
  throw UserError(
      "'" + name + "': python value of type '" + typeName(object.ptr()) +
          "' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it "
          "in as an argument or use a local variable instead." +
          hint,
      range);
}

thread_local int object_depth = 0;

}  // namespace

void addObjectHandler(ObjectHandler handler) {
  handlers().push_back(std::move(handler));
}

std::optional<IValue> constantOf(py::handle object) {
  PyObject* o = object.ptr();
  if (!hasScalarType(object) && !isContainer(object) && !py::isinstance(object, known("enum", "Enum")))
    return std::nullopt;
  if (py::isinstance(object, known("enum", "Enum")) && !knownTypeOfClass(py::type::handle_of(object))) {
    TypePtr type = typeOfClass(py::type::handle_of(object), {});
    return toIValue(o, type);
  }
  if (isContainer(object)) {
    if (PyDict_Check(o) ? PyDict_Size(o) == 0 : PyList_CheckExact(o) && PyList_GET_SIZE(o) == 0) {
      // Nothing shows the type: what literals mean by default.
      if (PyDict_Check(o)) return IValue(c10::impl::GenericDict(c10::StringType::get(), c10::TensorType::get()));
      return IValue(c10::List<at::Tensor>());
    }
    if (++object_depth > 100) {
      --object_depth;
      return std::nullopt;
    }
    bool constant = true;
    if (PyDict_Check(o)) {
      for (const auto& [key, value] : entriesOf(o)) constant = constant && constantOf(key) && constantOf(value);
    } else {
      for (py::handle element : object) constant = constant && constantOf(element);
    }
    --object_depth;
    if (!constant) return std::nullopt;
  }
  try {
    return toInferredIValue(o);
  } catch (const CastError&) {
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

SugaredValuePtr annotatedContainer(
    py::handle object, py::handle globals, EmitContext& cx, const SourceRange& range, const std::string& name) {
  if (!PyList_CheckExact(object.ptr()) && !PyDict_CheckExact(object.ptr())) return nullptr;
  if (!PyDict_Check(globals.ptr())) return nullptr;
  py::dict space = py::reinterpret_borrow<py::dict>(globals);
  if (!space.contains("__annotations__") || !space.contains(name.c_str()) ||
      !py::object(space[name.c_str()]).is(object))
    return nullptr;
  py::object annotations = space["__annotations__"];
  if (!PyDict_Check(annotations.ptr()) || !py::dict(annotations).contains(name.c_str())) return nullptr;
  try {
    const auto names = std::make_shared<PythonNames>(py::object(), space, py::object());
    const TypePtr type = typeOfAnnotationObject(annotations[name.c_str()], range, names);
    if (!type) return nullptr;
    cx.graph.setLocation(range);
    return simple(cx.graph.insertConstant(toIValue(object.ptr(), type), type));
  } catch (const CastError&) {
    return nullptr;
  } catch (const UserError&) {
    return nullptr;
  }
}

namespace {

/// The function inside of one that torch._dynamo puts around some of torch's when it is imported (torch.manual_seed) or
/// first used (torch.jit.trace); the object itself if it is none.
py::object withoutDynamo(py::object object) {
  if (!PyFunction_Check(object.ptr())) return object;
  const py::handle module = PyDict_GetItemString(PyFunction_GetGlobals(object.ptr()), "__name__");  // null in exec
  const std::string owner = module && PyUnicode_Check(module.ptr()) ? py::cast<std::string>(module) : "";
  if (owner != "torch._compile" && !owner.starts_with("torch._dynamo")) return object;
  return py::getattr(object, "__wrapped__", object);
}

}  // namespace

SugaredValuePtr wellKnown(py::handle object, EmitContext& cx, const SourceRange& range) {
  auto& table = wellKnownTable();
  auto it = table.find(object.ptr());
  if (it == table.end()) it = table.find(withoutDynamo(py::reinterpret_borrow<py::object>(object)).ptr());
  if (it == table.end()) return nullptr;
  const auto& [module, name] = it->second;
  if (module == "builtins") return builtinGlobal(name, range, cx);
  if (module == "constant") return std::make_shared<ConstantFunction>(name, false);
  if (module == "is_tensor") return std::make_shared<TensorTest>(name);
  if (module == "aten" || module == "prim") return operatorValue(module + "::" + name);
  return BuiltinModule(module).findAttr(range, cx, name);
}

namespace {

/// What @torch.jit.script, boolean dispatch, overloads and @ignore make of a Python function.
SugaredValuePtr functionValue(py::handle object, const SourceRange& range, const std::string& name) {
  static py::handle dispatched = known("torch._jit_internal", "boolean_dispatched");
  py::object entry = dispatched.attr("get")(object, py::none());
  if (!entry.is_none()) return std::make_shared<BooleanDispatch>(name, entry);
  if (markOf(object) == Mark::Ignore) return pythonCallable(object, object, false, range);
  if (auto overloaded = overloadedFunction(object)) return overloaded;
  return std::make_shared<FunctionValue>(&declareFunction(object, range));
}

SugaredValuePtr scriptFunctionValue(Function* function, const SourceRange& range) {
  if (&function->program().definitionMutex() != &currentProgram().definitionMutex())
    return std::make_shared<FunctionValue>(&declareCopy(*function, range));
  ScriptSession::hold(function->program().shared_from_this());
  return std::make_shared<FunctionValue>(function);
}

SugaredValuePtr operatorObject(py::handle object, const SourceRange& range) {
  static py::handle packet = known("torch._ops", "OpOverloadPacket"), overload = known("torch._ops", "OpOverload");
  if (py::isinstance(object, packet)) {
    const Symbol name = Symbol::fromQualString(py::cast<std::string>(object.attr("_qualified_op_name")));
    // Operators that torch.jit has for itself are in torch.ops, too.
    if (!isBuiltin(name)) throw UserError(std::string("scripts have no operator ") + name.toQualString(), range);
    return std::make_shared<OverloadedFunction>(name);
  }
  if (!py::isinstance(object, overload)) return nullptr;
  const Operator* op = OperatorTable::get().find(py::cast<std::string>(object.attr("_name")));
  return op ? std::make_shared<OverloadFunction>(*op) : nullptr;
}

/// A call of a Python object with `__call__`, or of a module that nothing has scripted: Python's own, as of an @ignore
/// function. Null if it is none.
SugaredValuePtr callableObject(py::handle object, const SourceRange& range) {
  static py::handle module = known("torch.nn", "Module");
  if (attributeOrNull(object, "_c")) return nullptr;  // a ScriptModule, of either
  const char* method = py::isinstance(object, module) ? "forward" : "__call__";
  const py::handle cls = py::type::handle_of(object);
  const py::object called = attributeOrNull(cls, method);
  if (!called || !PyFunction_Check(called.ptr())) return nullptr;
  if (py::str(cls.attr("__module__")).equal(py::str("typing"))) return nullptr;  // List[int] is a type
  return pythonCallable(object, called, /*bound=*/true, range);
}

}  // namespace

SugaredValuePtr trySugarOf(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name) {
  cx.graph.setLocation(range);
  for (const ObjectHandler& handler : handlers()) {
    if (auto value = handler(object, cx, range, name)) return value;
  }
  if (hasScalarType(object)) {
    if (PyLong_CheckExact(object.ptr())) return constantValue(cx, toIValue(object.ptr(), c10::IntType::get()));
    return constantValue(cx, toInferredIValue(object.ptr()));
  }
  if (auto value = wellKnown(object, cx, range)) return value;
  if (auto value = operatorValue(operatorOfCFunction(object))) return value;
  if (PyFunction_Check(object.ptr())) return functionValue(object, range, name);
  static py::handle cpp_classes = known("torch._classes", "_ClassNamespace");
  if (PyModule_Check(object.ptr()) || py::isinstance(object, cpp_classes))
    return std::make_shared<Namespace>(py::reinterpret_borrow<py::object>(object), name);
  if (PyType_Check(object.ptr())) return classValue(object, cx, range);
  if (isContainer(object)) return containerValue(object, cx, range, name);
  if (object.is(py::handle(Py_Ellipsis))) return std::make_shared<EllipsisValue>();
  if (PySlice_Check(object.ptr())) return sliceValue(object, cx, range, name);
  static py::handle script_method = known("cresset._C", "ScriptMethod");
  if (py::isinstance(object, script_method)) return nullptr;  // its object is no value of the program
  if (Function* function = functionOf(object.ptr())) return scriptFunctionValue(function, range);
  static py::handle enum_class = known("enum", "Enum");
  if (py::isinstance(object, enum_class)) {
    TypePtr type = typeOfClass(py::type::handle_of(object), range);
    return simple(cx.graph.insertConstant(toIValue(object.ptr(), type), type));
  }
  if (auto value = operatorObject(object, range)) return value;
  static py::handle other_function = known("torch._C", "ScriptFunction");
  if (py::isinstance(object, other_function)) {
    const py::object original = known("cresset._script", "original_of_other")(object);
    if (!original.is_none()) return trySugarOf(original, cx, range, name);
    throw UserError(
        "'" + name +
            "' was made by torch.jit, whose functions can't be called from Cresset's: use the Python function, "
            "cresset.script or cresset.trace",
        range);
  }
  static py::handle cached_function = known("functools", "_lru_cache_wrapper");
  if (py::isinstance(object, cached_function)) return trySugarOf(object.attr("__wrapped__"), cx, range, name);
  static py::handle captured_function = known("cresset._frames", "Caller");  // cresset.compile's
  if (py::isinstance(object, captured_function)) return trySugarOf(object.attr("target"), cx, range, name);
  static py::handle partial = known("functools", "partial");
  if (py::isinstance(object, partial))
    return std::make_shared<PartialCall>(py::reinterpret_borrow<py::object>(object), name);
  if (PyMethod_Check(object.ptr())) {
    // A classmethod, taken from its class.
    py::object self = object.attr("__self__");
    if (PyType_Check(self.ptr()) && !isModuleClass(self)) {
      const std::string method = py::cast<std::string>(object.attr("__name__"));
      if (auto cls = classValue(self, cx, range)) return cls->attr(range, cx, method);
    }
  }
  return callableObject(object, range);
}

SugaredValuePtr sugarOf(py::handle object, EmitContext& cx, const SourceRange& range, const std::string& name) {
  if (auto value = trySugarOf(object, cx, range, name)) return value;
  refuse(object, range, name);
}

void bindWellKnown(py::module_& module) {
  // Objects are kept for ever, so that their addresses stay taken.
  module.def(
      "_known",
      [](const char* owner, const char* name) { return py::reinterpret_borrow<py::object>(known(owner, name)); },
      "What the compiler takes for owner.name: what stood there when it was first asked for.");
  module.def(
      "_without_dynamo", withoutDynamo,
      "The function inside of one that torch._dynamo put around it; else the object.");
  module.def("_set_well_known", [](const py::list& rows) {
    for (py::handle row : rows) {
      py::tuple entry = py::reinterpret_borrow<py::tuple>(row);
      py::object object = entry[0];
      wellKnownTable()[object.inc_ref().ptr()] = {py::cast<std::string>(entry[1]), py::cast<std::string>(entry[2])};
    }
  });
}

}  // namespace cresset::python
