// Names of Python code: where they lead, as values and as types.
//
// Order of look-up is Python's: closure cells, globals, builtins. Annotations of local functions name things that the
// function does not capture (Python evaluated them when the `def` ran); those are found by matching the text of the
// parameters' annotations against their live objects, and last in the scope that cresset.script was called from.
#include "cresset/python/script_names.h"

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/builtin_names.h"
#include "cresset/frontend/ignored_block.h"

namespace cresset::python {

namespace {

py::object itemOf(py::handle dict, py::handle name) {
  PyObject* found = PyDict_GetItemWithError(dict.ptr(), name.ptr());
  if (!found && PyErr_Occurred()) throw py::error_already_set();
  return py::reinterpret_borrow<py::object>(found);
}

py::object attributeOf(py::handle object, const std::string& name) {
  py::object found = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), name.c_str()));
  if (!found) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
    PyErr_Clear();
  }
  return found;
}

py::object builtinsOf(py::handle globals) {
  py::object builtins = itemOf(globals, py::str("__builtins__"));
  if (builtins && PyModule_Check(builtins.ptr())) builtins = builtins.attr("__dict__");
  if (!builtins || !PyDict_Check(builtins.ptr())) builtins = py::reinterpret_borrow<py::object>(PyEval_GetBuiltins());
  return builtins;
}

/// The object that the name `wanted` stands for in `live`, the value of the annotation `text`.
py::object matchAnnotation(const Expr& text, const py::object& live, const std::string& wanted) {
  if (!live || PyUnicode_Check(live.ptr())) return {};
  if (dottedName(text) == wanted) return live;
  if (text.kind() != TK_SUBSCRIPT) return {};
  py::object arguments = attributeOf(live, "__args__");
  if (!arguments || !PyTuple_Check(arguments.ptr())) return {};
  const std::vector<Expr> texts = typeArguments(Subscript(text.tree()));
  for (size_t i = 0; i < texts.size() && i < py::len(arguments); ++i) {
    if (auto found = matchAnnotation(texts[i], py::tuple(arguments)[i], wanted)) return found;
  }
  return {};
}

thread_local std::vector<py::object>* calling_scopes = nullptr;

}  // namespace

CallingScope::CallingScope(py::object locals) : outer_(calling_scopes) {
  if (locals && PyDict_Check(locals.ptr())) scopes_.push_back(std::move(locals));
  calling_scopes = &scopes_;
}
CallingScope::~CallingScope() {
  calling_scopes = outer_;
}

PythonNames::PythonNames(py::object function, py::object globals, py::object extra, py::object owner)
    : function_(std::move(function)), globals_(std::move(globals)), extra_(std::move(extra)), owner_(std::move(owner)) {
  if (extra_ || !function_ || !calling_scopes || calling_scopes->empty()) return;
  // Only what was defined in a function can name the variables of one.
  const auto qualified = py::cast<std::string>(py::str(function_.attr("__qualname__")));
  if (qualified.find("<locals>") != std::string::npos) extra_ = calling_scopes->back();
}

PythonNames::~PythonNames() {
  if (pythonIsGoingAway()) {
    function_.release();
    globals_.release();
    extra_.release();
    owner_.release();
    return;
  }
  py::gil_scoped_acquire gil;
  function_ = globals_ = extra_ = owner_ = py::object();
}

py::object PythonNames::findCaptured(const py::str& name) const {
  if (!function_) return {};
  py::object cells = function_.attr("__closure__");
  if (cells.is_none()) return {};
  py::tuple names = function_.attr("__code__").attr("co_freevars");
  for (size_t i = 0; i < names.size(); ++i) {
    if (PyUnicode_Compare(names[i].ptr(), name.ptr()) != 0) continue;
    PyObject* content = PyCell_GET(py::tuple(cells)[i].ptr());
    return py::reinterpret_borrow<py::object>(content);  // null: not assigned yet
  }
  return {};
}

py::object PythonNames::findOwner(const py::str& name) const {
  if (!owner_ || !name.equal(owner_.attr("__name__"))) return {};
  // Python's scopes pass over the body of a class: there, the name of a class inside means a global first.
  const auto path = py::cast<std::string>(py::str(owner_.attr("__qualname__")));
  const size_t dot = path.rfind('.');
  const bool in_class = dot != std::string::npos && !path.substr(0, dot).ends_with("<locals>");
  return in_class && itemOf(globals_, name) ? py::object() : owner_;
}

py::dict PythonNames::namesInScope() const {
  py::dict scope;
  if (PyDict_Check(globals_.ptr())) scope = py::reinterpret_steal<py::dict>(PyDict_Copy(globals_.ptr()));
  py::tuple names = function_.attr("__code__").attr("co_freevars");
  for (py::handle name : names) {
    if (auto found = findCaptured(py::reinterpret_borrow<py::str>(name))) scope[name] = found;
  }
  return scope;
}

std::pair<py::object, bool> PythonNames::findValue(const std::string& text) const {
  const py::str name(text);
  if (auto found = findCaptured(name)) return {found, false};
  if (auto found = findOwner(name)) return {found, false};
  if (auto found = itemOf(globals_, name)) return {found, false};
  if (auto found = itemOf(builtinsOf(globals_), name)) return {found, true};
  if (extra_) return {itemOf(extra_, name), false};
  return {};
}

py::object PythonNames::findAnnotated(const std::string& wanted) const {
  if (!function_) return {};
  py::object annotations = attributeOf(function_, "__annotations__");
  if (!annotations || !PyDict_Check(annotations.ptr())) return {};
  std::optional<Def> def;
  try {
    def = readFunction(function_);
  } catch (const UserError&) {
    return {};  // an @unused or @ignored function, which need not be in the language
  }
  const Decl decl = def->decl();
  for (const Param param : decl.params()) {
    if (!param.type().present()) continue;
    py::object live = itemOf(annotations, py::str(param.name().name()));
    if (auto found = matchAnnotation(param.type().get(), live, wanted)) return found;
  }
  if (!decl.returnType().present()) return {};
  return matchAnnotation(decl.returnType().get(), itemOf(annotations, py::str("return")), wanted);
}

py::object PythonNames::findForType(const std::string& dotted) const {
  const size_t dot = dotted.find('.');
  const py::str first(dotted.substr(0, dot));
  py::object found = findCaptured(first);
  if (!found) found = findOwner(first);
  if (!found && extra_) found = itemOf(extra_, first);
  if (!found) found = itemOf(globals_, first);
  if (!found) found = itemOf(builtinsOf(globals_), first);
  if (!found) return findAnnotated(dotted);
  for (size_t begin = dot; begin != std::string::npos;) {
    const size_t end = dotted.find('.', begin + 1);
    found = attributeOf(found, dotted.substr(begin + 1, end == std::string::npos ? end : end - begin - 1));
    if (!found) return findAnnotated(dotted);
    begin = end;
  }
  return found;
}

SugaredValuePtr PythonNames::resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) {
  py::gil_scoped_acquire gil;
  if (name == kIgnoredBlock) {
    // A text may come from anywhere, and compiling it runs nothing.
    if (!function_)
      throw UserError("torch.jit._IgnoreContextManager stands in functions of Python only, not in texts", range);
    return ignoredBlock(namesInScope());
  }
  const auto [found, is_builtin] = findValue(name);
  if (!found) return nullptr;
  if (is_builtin) {
    // A method that says super() captures the class that it was written in.
    if (name == "super") {
      if (auto cls = findCaptured(py::str("__class__"))) return superOf(cls);
    }
    if (auto known = builtinGlobal(name, range, cx)) return known;
  }
  if (auto typed = annotatedContainer(found, globals_, cx, range, name)) return typed;
  return sugarOf(found, cx, range, name);
}

std::vector<std::string> PythonNames::names() {
  py::gil_scoped_acquire gil;
  std::vector<std::string> all;
  const auto add = [&](py::handle names) {
    for (py::handle name : names) {
      if (PyUnicode_Check(name.ptr())) all.push_back(py::cast<std::string>(name));
    }
  };
  if (function_) add(function_.attr("__code__").attr("co_freevars"));
  add(globals_);
  add(builtinsOf(globals_));
  return all;
}

TypePtr PythonNames::resolveType(const std::string& name, const SourceRange& range) {
  py::gil_scoped_acquire gil;
  const py::object found = findForType(name);
  if (!found) return nullptr;
  TypePtr type = typeOfAnnotationObject(found, range, shared_from_this());
  if (!type && isModuleClass(found)) {
    const bool scripted = isSubclass(found, known("torch.jit._script", "ScriptModule")) ||
                          isSubclass(found, known("cresset._objects", "ScriptModule"));
    throw UserError(
        (scripted ? "Unknown type annotation: '" : "Unknown type name '") + name +
            "': a module is no type of TorchScript. Let a module hold it as a submodule and call it from its methods",
        range);
  }
  return type;
}

std::string PythonNames::resolveConstructor(const std::string& name) {
  py::gil_scoped_acquire gil;
  const py::object found = findForType(name);
  return found ? constructorName(found) : std::string();
}

namespace {

/// A container, or a tuple that holds one. Recursion is over the nesting of tuples that Python code wrote.
bool isMutableDefault(PyObject* value) {
  if (PyList_Check(value) || PyDict_Check(value) || PySet_Check(value)) return true;
  if (!PyTuple_Check(value)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    if (isMutableDefault(PyTuple_GET_ITEM(value, i))) return true;
  }
  return false;
}

}  // namespace

std::optional<IValue> PythonNames::resolveDefault(
    const std::string& name, const TypePtr& type, const SourceRange& range) {
  py::gil_scoped_acquire gil;
  if (!function_) return std::nullopt;
  const py::object value = defaultOf(name);
  if (!value) return std::nullopt;
  if (isMutableDefault(value.ptr())) {
    throw UserError(
        "Mutable default parameters are not supported because Python binds them to the function and they persist "
        "across "
        "function calls. As a workaround, make the default None and instantiate the default parameter within the body "
        "of "
        "the function. Found " +
            shortRepr(py::type::handle_of(value).ptr()) + " on parameter " + name,
        range);
  }
  const bool sequence = PyTuple_Check(value.ptr()) || value.is_none();
  auto list = type->cast<c10::ListType>();
  if (auto optional = type->cast<c10::OptionalType>()) list = optional->getElementType()->cast<c10::ListType>();
  try {
    // BroadcastingList: one number for all.
    return toIValue(value.ptr(), list && !sequence ? list->getElementType() : type);
  } catch (const CastError&) {
    throw UserError(
        "Expected a default value of type " + type->repr_str() + " on parameter \"" + name + "\", but it is " +
            shortRepr(value.ptr()),
        range);
  }
}

py::object PythonNames::defaultOf(const std::string& name) const {
  const py::str wanted(name);
  py::object code = function_.attr("__code__");
  py::tuple names = code.attr("co_varnames");
  const auto positional = py::cast<size_t>(code.attr("co_argcount"));
  const auto keyword_only = py::cast<size_t>(code.attr("co_kwonlyargcount"));
  for (size_t i = 0; i < positional + keyword_only; ++i) {
    if (PyUnicode_Compare(names[i].ptr(), wanted.ptr()) != 0) continue;
    if (i >= positional) {
      py::object defaults = function_.attr("__kwdefaults__");
      return defaults.is_none() ? py::object() : itemOf(defaults, wanted);
    }
    py::object defaults = function_.attr("__defaults__");
    if (defaults.is_none()) return {};
    const size_t count = py::len(defaults);
    if (i + count < positional) return {};
    return py::tuple(defaults)[i + count - positional];
  }
  return {};
}

ResolverPtr resolverOf(py::handle wrapped, py::handle owner) {
  py::object function = unwrapFunction(wrapped);
  py::object globals = function.attr("__globals__");
  return std::make_shared<PythonNames>(
      std::move(function), std::move(globals), py::object(), py::reinterpret_borrow<py::object>(owner));
}

ResolverPtr resolverOfClass(py::handle cls) {
  py::object modules = py::module_::import("sys").attr("modules");
  py::object module = modules.attr("get")(py::getattr(cls, "__module__", py::none()), py::none());
  py::object globals = py::getattr(module, "__dict__", py::dict());
  py::dict own;
  own[py::getattr(cls, "__name__", py::str(""))] = cls;
  return std::make_shared<PythonNames>(py::object(), std::move(globals), std::move(own));
}

py::object lookUp(const ResolverPtr& resolver, const std::string& dotted_name) {
  auto* names = dynamic_cast<PythonNames*>(resolver.get());
  return names ? names->findForType(dotted_name) : py::object();
}

}  // namespace cresset::python
