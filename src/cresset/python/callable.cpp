// ScriptFunction and ScriptMethod: what Python calls. One C type layout with the vectorcall protocol, because a call
// through pybind11 costs more than a small operator.
//
// A call binds arguments straight into the interpreter's stack by a signature that was prepared on the first call,
// releases the GIL, runs, and converts the result.
#include "cresset/python/callable.h"

#include <structmember.h>

#include <ATen/core/function_schema.h>

#include <algorithm>

#include "cresset/analysis/plain_types.h"
#include "cresset/executor/executor.h"
#include "cresset/interpreter/futures.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/messages.h"
#include "cresset/ops/nesting.h"
#include "cresset/python/overriding.h"
#include "cresset/python/static_modules.h"
#include "cresset/support/numerics.h"
#include "cresset/tracer/tracer.h"

namespace cresset::python {

const c10::FunctionSchema& schemaOf(Function& function) {
  if (!function.hasSchema()) {
    // The body has to be compiled to know its result; that takes the program's lock, which must never be waited for
    // with the GIL held.
    py::gil_scoped_release no_gil;
    return function.getSchema();
  }
  return function.getSchema();
}

namespace {

PyTypeObject* function_type = nullptr;
PyTypeObject* method_type = nullptr;

const Signature& signatureOf(Target& target) {
  if (target.signature) return *target.signature;
  const c10::FunctionSchema& schema = schemaOf(*target.function);
  auto signature = std::make_unique<Signature>();
  signature->schema = &schema;
  for (const c10::Argument& argument : schema.arguments()) {
    PyObject* name = PyUnicode_InternFromString(argument.name().c_str());
    if (!name) throw py::error_already_set();
    signature->parameters.push_back(
        {name, argument.type(), argument.default_value(), argument.kwarg_only(),
         argument.type()->kind() == c10::TypeKind::TensorType, mayHoldTensors(*argument.type()), argument.N()});
  }
  signature->return_type = schema.returns().empty() ? TypePtr(c10::NoneType::get()) : schema.returns()[0].type();
  target.signature = std::move(signature);
  return *target.signature;
}

/// A stack for one call. Each thread keeps the storage of its outermost one, so that most calls allocate none.
class StackLease {
 public:
  StackLease() : available_(available()), cached_(available_) {
    if (!cached_) return;
    stack_ = std::move(*cached_);
    available_ = nullptr;
  }
  ~StackLease() {
    stack_.clear();
    if (!cached_) return;
    *cached_ = std::move(stack_);
    available_ = cached_;
  }
  StackLease(const StackLease&) = delete;
  StackLease& operator=(const StackLease&) = delete;
  Stack& operator*() { return stack_; }

 private:
  struct Cache {
    Stack storage;
    Stack* available = &storage;
  };
  static Stack*& available() {
    static thread_local Cache cache;
    return cache.available;
  }
  Stack*& available_;  // of the thread
  Stack* cached_;
  Stack stack_;
};

/// Keeps the tensors among the arguments of a call until the GIL is held again. When C++ lets go of a tensor that has a
/// Python object, libtorch takes the GIL; a script that does so without it would stop for it at every argument.
class HeldTensors {
 public:
  HeldTensors(const Stack& stack, const Signature& signature, size_t first) {
    if (RunBudget::current()) return;  // what is dropped must be gone
    for (size_t i = first; i < stack.size(); ++i) {
      if (signature.parameters[i].may_hold_tensors) values_.push_back(stack[i]);
    }
  }
  ~HeldTensors() {
    for (IValue& value : values_) release(value);
  }
  HeldTensors(const HeldTensors&) = delete;
  HeldTensors& operator=(const HeldTensors&) = delete;

 private:
  c10::SmallVector<IValue, 8> values_;
};

c10::SymNode tracedNode(PyObject* object) {
  if (THPVariable_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyTuple_Check(object) ||
      PyList_Check(object) || PyUnicode_Check(object)) {
    return {};
  }
  py::object node = py::getattr(object, "_cresset_node", py::none());
  return node.is_none() ? c10::SymNode() : py::cast<c10::SymNode>(node);
}

/// While this thread traces: an argument that is, or holds, a size or a number computed from sizes stays what it is,
/// so that the recorded call has it computed again. Nothing for other arguments. Recursion is over the nesting of
/// types.
std::optional<IValue> tracedArgument(PyObject* object, const TypePtr& type) {
  const c10::TypeKind kind = type->kind();
  if (kind == c10::TypeKind::OptionalType) {
    return object == Py_None ? std::nullopt
                             : tracedArgument(object, type->expectRef<c10::OptionalType>().getElementType());
  }
  if (c10::SymNode node = tracedNode(object)) {
    if (kind == c10::TypeKind::FloatType && node->is_int()) node = node->sym_float();
    const bool fits = node->is_int() ? kind == c10::TypeKind::IntType || kind == c10::TypeKind::NumberType
                                     : kind == c10::TypeKind::FloatType || kind == c10::TypeKind::NumberType;
    if (!fits) return std::nullopt;
    return node->is_int() ? IValue(c10::SymInt(std::move(node))) : IValue(c10::SymFloat(std::move(node)));
  }
  if (!PyTuple_Check(object) && !PyList_CheckExact(object)) return std::nullopt;
  // Of a list a copy: converting an element may run Python code, which may change the list.
  const auto items = py::reinterpret_steal<py::tuple>(PySequence_Tuple(object));
  if (!items) throw py::error_already_set();
  const size_t size = items.size();
  const auto item = [&](size_t i) { return PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)); };
  if (kind == c10::TypeKind::ListType && type->containedType(0)->kind() == c10::TypeKind::IntType) {
    bool any = false;
    std::vector<c10::SymInt> numbers;
    for (size_t i = 0; i < size; ++i) {
      if (c10::SymNode node = tracedNode(item(i)); node && node->is_int()) {
        any = true;
        numbers.emplace_back(std::move(node));
      } else if (PyLong_Check(item(i))) {
        numbers.emplace_back(PyLong_AsLongLong(item(i)));
      } else {
        return std::nullopt;
      }
    }
    return any ? std::optional<IValue>(std::move(numbers)) : std::nullopt;
  }
  const auto* tuple = type->castRaw<c10::TupleType>();
  if (!tuple || tuple->elements().size() != size || tuple->schema()) return std::nullopt;
  bool any = false;
  std::vector<IValue> elements;
  for (size_t i = 0; i < size; ++i) {
    auto traced = tracedArgument(item(i), tuple->elements()[i]);
    any = any || traced;
    elements.push_back(traced ? std::move(*traced) : toIValue(item(i), tuple->elements()[i]));
  }
  return any ? std::optional<IValue>(c10::ivalue::Tuple::create(std::move(elements))) : std::nullopt;
}

py::object repeated(PyObject* number, int32_t count) {
  py::tuple numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = py::handle(number);
  return numbers;
}

[[gnu::noinline]] void convertArgument(Stack& stack, const Signature& signature, size_t index, PyObject* object) {
  const Parameter& parameter = signature.parameters[index];
  if (tracing()) [[unlikely]] {
    if (auto traced = tracedArgument(object, parameter.type)) {
      stack.push_back(std::move(*traced));
      return;
    }
  }
  const auto mismatch = [&] {
    return signature.schema->formatTypeMismatchMsg(
        signature.schema->arguments()[index], typeName(object), index, shortRepr(object));
  };
  try {
    if (parameter.count && (PyLong_Check(object) || PyFloat_Check(object))) {
      stack.push_back(toIValue(repeated(object, *parameter.count).ptr(), parameter.type));
      return;
    }
    stack.push_back(toIValue(object, parameter.type));
  } catch (const CastError& error) {
    std::string fields;
    if (const auto tuple = parameter.type->cast<c10::TupleType>(); tuple && tuple->schema()) {
      for (const c10::Argument& field : tuple->schema()->arguments())
        fields += (fields.empty() ? "" : ", ") + field.name();
      fields = "\nExpected: " + tuple->repr_str() + " (aka NamedTuple(" + fields + "))";
    }
    throw UserError(mismatch() + fields + "\nCast error details: " + error.what());
  } catch (const UserError& error) {  // the object shows no type, where any type would do
    throw UserError(error.message() + "\n" + mismatch());
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {  // no such device, no key of a dict
    throw UserError(error.what_without_backtrace() + ("\n" + mismatch()));
  }
}

inline void pushArgument(Stack& stack, const Signature& signature, size_t index, PyObject* object) {
  if (signature.parameters[index].is_tensor && THPVariable_CheckExact(object)) [[likely]] {
    stack.emplace_back(THPVariable_Unpack(object));
  } else {
    convertArgument(stack, signature, index, object);
  }
}

/// Keyword arguments as vectorcall passes them: values after the positional ones, names in a tuple.
struct Keywords {
  PyObject* const* values;
  PyObject* names;  // may be null
  size_t size() const { return names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0; }
  PyObject* name(size_t i) const { return PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)); }
  PyObject* find(PyObject* wanted) const {
    for (size_t i = 0; i < size(); ++i) {
      if (name(i) == wanted) return values[i];
    }
    for (size_t i = 0; i < size(); ++i) {
      if (PyUnicode_Compare(name(i), wanted) == 0) return values[i];
    }
    return nullptr;
  }
};

/// `missing`: what is to be said too if a keyword is unknown, which may be meant for an argument that is missing.
[[noreturn]] void refuseKeywords(
    const Signature& signature, const Keywords& keywords, const std::string& missing = std::string()) {
  for (size_t i = 0; i < keywords.size(); ++i) {
    std::string name = py::cast<std::string>(py::handle(keywords.name(i)));
    if (!signature.schema->argumentIndexWithName(name)) {
      throw UserError(messages::unknownArgument(*signature.schema, name) + (missing.empty() ? "" : "\n" + missing));
    }
  }
  for (size_t i = 0; i < keywords.size(); ++i) {
    std::string name = py::cast<std::string>(py::handle(keywords.name(i)));
    throw UserError(messages::argumentTwice(*signature.schema, name));
  }
  throw UserError("Arguments of " + toString(*signature.schema) + " can't be matched");
}

bool hasUnknownOrRepeated(const Signature& signature, size_t positional, const Keywords& keywords) {
  for (size_t i = 0; i < keywords.size(); ++i) {
    auto index = signature.schema->argumentIndexWithName(py::cast<std::string>(py::handle(keywords.name(i))));
    if (!index || static_cast<size_t>(*index) < positional) return true;
  }
  return false;
}

void bindArguments(
    Stack& stack, const Signature& signature, PyObject* const* args, size_t nargs, const Keywords& keywords) {
  const size_t bound_self = stack.size();  // 1 for methods
  const size_t count = signature.parameters.size();
  if (bound_self + nargs + keywords.size() > count) {
    throw UserError(messages::tooManyArguments(*signature.schema, count - bound_self, nargs + keywords.size()));
  }
  for (size_t i = 0; i < nargs; ++i) {
    size_t index = bound_self + i;
    if (signature.parameters[index].keyword_only) {
      throw UserError(messages::tooManyPositional(*signature.schema, index - bound_self, nargs));
    }
    pushArgument(stack, signature, index, args[i]);
  }
  size_t used = 0;
  for (size_t index = stack.size(); index < count; ++index) {
    const Parameter& parameter = signature.parameters[index];
    if (PyObject* value = keywords.find(parameter.name)) {
      pushArgument(stack, signature, index, value);
      ++used;
    } else if (parameter.default_value) {
      stack.push_back(*parameter.default_value);
    } else {
      const std::string missing =
          messages::missingArgument(*signature.schema, signature.schema->arguments()[index].name());
      if (hasUnknownOrRepeated(signature, bound_self + nargs, keywords)) refuseKeywords(signature, keywords, missing);
      throw UserError(missing);
    }
  }
  if (used != keywords.size()) refuseKeywords(signature, keywords);
}

PyObject* callTarget(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* names) {
  return guarded([&] {
    Target& target = *asCallable(callable)->target;
    if (target.self) {
      if (auto result = callByOverride(callable, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), names))
        return result->release().ptr();
    }
    const CallLimits limits(target.function->limits());
    const Signature& signature = signatureOf(target);
    const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    StackLease lease;
    Stack& stack = *lease;
    if (target.self) stack.emplace_back(target.self);
    bindArguments(stack, signature, args, nargs, {args + nargs, names});
    const HeldTensors held(stack, signature, target.self ? 1 : 0);
    prepareThread();
    WarningErrors warnings;
    {
      py::gil_scoped_release no_gil;
      std::optional<ExactNumerics> exact;
      if (target.is_exact) exact.emplace();
      if (target.executable)
        target.executable->run(stack);
      else
        runOrTrace(*target.function, stack);
    }
    warnings.raisePending();
    IValue result = std::move(stack.back());
    stack.pop_back();
    if (RunBudget::current()) requireShallow(result, "converting the result to Python");
    return toPython(std::move(result), signature.return_type);
  });
}

/// The class's own `__call__`.
PyObject* callSlot(PyObject* callable, PyObject* args, PyObject* keywords) {
  std::vector<PyObject*> values(&PyTuple_GET_ITEM(args, 0), &PyTuple_GET_ITEM(args, 0) + PyTuple_GET_SIZE(args));
  const auto num_positional = static_cast<size_t>(PyTuple_GET_SIZE(args));
  if (!keywords || PyDict_GET_SIZE(keywords) == 0) return callTarget(callable, values.data(), num_positional, nullptr);
  PyObject* names = PyTuple_New(PyDict_GET_SIZE(keywords));
  if (!names) return nullptr;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t position = 0, i = 0; PyDict_Next(keywords, &position, &name, &value); ++i) {
    PyTuple_SET_ITEM(names, i, Py_NewRef(name));
    values.push_back(value);
  }
  PyObject* result = callTarget(callable, values.data(), num_positional, names);
  Py_DECREF(names);
  return result;
}

PyObject* callVector(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* names) {
  // Before 3.12, Python calls by vector even after the class's `__call__` was set.
  const ternaryfunc slot = Py_TYPE(callable)->tp_call;
  if (slot == callSlot) return callTarget(callable, args, nargsf, names);
  return guarded([&] {
    const auto num_positional = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    py::tuple positional(num_positional);
    for (size_t i = 0; i < num_positional; ++i) positional[i] = py::handle(args[i]);
    py::dict keywords;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      keywords[PyTuple_GET_ITEM(names, i)] = py::handle(args[num_positional + static_cast<size_t>(i)]);
    PyObject* result = slot(callable, positional.ptr(), keywords.ptr());
    if (!result) throw py::error_already_set();
    return result;
  });
}

// ---- Life

PyObject* make(PyTypeObject* type, std::unique_ptr<Target> target) {
  auto* self = reinterpret_cast<Callable*>(type->tp_alloc(type, 0));
  if (!self) throw py::error_already_set();
  self->vectorcall = callVector;
  self->weak_references = nullptr;
  self->dict = nullptr;
  self->target = target.release();
  return reinterpret_cast<PyObject*>(self);
}

void deallocate(PyObject* object) {
  Callable* self = asCallable(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  if (Target* target = self->target) {
    if (target->signature) {
      for (Parameter& parameter : target->signature->parameters) Py_DECREF(parameter.name);
    }
    if (target->self) release(IValue(std::move(target->self)));
    delete target;
  }
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(asCallable(object)->dict);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(asCallable(object)->dict);
  return 0;
}

// ---- The types

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weak_references), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Callable, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyTypeObject* makeType(py::module_& module, const char* qualified_name) {
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_call, reinterpret_cast<void*>(callSlot)},
      {Py_tp_repr, reinterpret_cast<void*>(representCallable)},
      {Py_tp_getset, callableGetters()},
      {Py_tp_methods, callableMethods()},
      {Py_tp_members, members},
      {0, nullptr}};
  PyType_Spec spec = {
      qualified_name, sizeof(Callable), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  py::object type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  module.attr(std::string(qualified_name).substr(std::string("cresset.").size()).c_str()) = type;
  return reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

bool isCallable(PyObject* object) {
  return Py_TYPE(object) == function_type || Py_TYPE(object) == method_type;
}

}  // namespace

py::object makeFunction(std::shared_ptr<Program> program, Function& function) {
  auto target = std::make_unique<Target>(Target{std::move(program), nullptr, &function, nullptr, nullptr});
  return py::reinterpret_steal<py::object>(make(function_type, std::move(target)));
}

py::object makeMethod(ObjectPtr self, Function& function) {
  auto target =
      std::make_unique<Target>(Target{programOf(*self->type()), std::move(self), &function, nullptr, nullptr});
  return py::reinterpret_steal<py::object>(make(method_type, std::move(target)));
}

py::object makeCallable(ObjectPtr self, Function& function, std::shared_ptr<const Executable> executable) {
  auto target = std::make_unique<Target>(
      Target{function.program().shared_from_this(), std::move(self), &function, nullptr, std::move(executable)});
  PyTypeObject* type = target->self ? method_type : function_type;
  return py::reinterpret_steal<py::object>(make(type, std::move(target)));
}

Stack bindCall(PyObject* callable, const py::args& args, const py::kwargs& kwargs) {
  Target& target = *asCallable(callable)->target;
  const Signature& signature = signatureOf(target);
  std::vector<PyObject*> values;
  for (py::handle value : args) values.push_back(value.ptr());
  py::list names;
  for (auto [name, value] : kwargs) {
    names.append(name);
    values.push_back(value.ptr());
  }
  py::tuple keywords(names);
  Stack stack;
  if (target.self) stack.emplace_back(target.self);
  bindArguments(stack, signature, values.data(), args.size(), {values.data() + args.size(), keywords.ptr()});
  return stack;
}

Function* functionOf(PyObject* object) {
  return isCallable(object) ? asCallable(object)->target->function : nullptr;
}

FuturePtr forkCallable(PyObject* object, const py::tuple& args, const py::dict& kwargs) {
  if (!isCallable(object)) return {};
  Target& target = *asCallable(object)->target;
  Stack stack = bindCall(object, py::args(args), py::kwargs(kwargs));
  const Signature& signature = signatureOf(target);
  py::gil_scoped_release no_gil;
  const Code* code = target.function->executable().code();
  CRESSET_CHECK(code, "a script function runs as code");
  return startForkFromOutside({target.program, code}, std::move(stack), signature.return_type);
}

void bindCallables(py::module_& module) {
  function_type = makeType(module, "cresset.ScriptFunction");
  method_type = makeType(module, "cresset.ScriptMethod");
}

}  // namespace cresset::python
