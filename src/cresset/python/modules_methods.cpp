// Declaring methods, properties and hooks of module classes. Bodies are compiled when the session that declares them
// finishes, or earlier if other code needs the type of a result.
#include "cresset/python/modules_methods.h"

#include <pybind11/stl.h>

#include "cresset/frontend/parser.h"
#include "cresset/python/modules_value.h"
#include "cresset/python/python_programs.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

bool isMethod(py::handle object) {
  return PyFunction_Check(object.ptr()) || PyObject_TypeCheck(object.ptr(), &PyStaticMethod_Type);
}

void requireFree(const ModuleInfo& info, const std::string& name, const SourceRange& place) {
  const c10::ClassType& cls = *info.type;
  const char* what = cls.findMethod(name)          ? "another method"
                     : cls.findAttributeSlot(name) ? "an attribute"
                     : cls.findConstant(name)      ? "a constant"
                                                   : nullptr;
  if (!what) return;
  throw UserError(
      "Can't redefine method: " + name + " on class: " + cls.name()->qualifiedName() + ": " + what + " has that name",
      place);
}

MethodOptions methodOptions(const ModuleInfo& info, const std::string& name, const SourceRange& range) {
  MethodOptions options;
  options.name = c10::QualifiedName(*info.type->name(), name);
  options.self_type = info.type;
  options.self = [&info](Value* self) -> SugaredValuePtr { return std::make_shared<ModuleValue>(self, info); };
  options.range = range;
  return options;
}

struct ModuleProperty {
  std::string name;
  py::object getter, setter;  // setter: None if there is none
};

void declareProperty(const ModuleInfo& info, const ModuleProperty& property) {
  Function& getter = declareModuleMethod(info, "__" + property.name + "_getter", property.getter, {});
  Function* setter = nullptr;
  if (!property.setter.is_none())
    setter = &declareModuleMethod(info, "__" + property.name + "_setter", property.setter, {});
  info.type->addProperty(property.name, &getter, setter);
}

/// A hook is a method (several registrations of one function are one method), and listed as a hook as well.
void declareHook(const ModuleInfo& info, py::handle hook, bool pre) {
  const auto name = py::cast<std::string>(hook.attr("__name__"));
  auto* function = dynamic_cast<Function*>(info.type->findHook(name));
  if (!function) {
    const py::object method = methodOfModule(info, name);
    const py::object hooked = py::getattr(hook, "__func__", hook);
    if (info.type->findMethod(name) || (method && !method.is(hooked))) {
      throw UserError(
          "Can't define hook: " + name + " on class: " + info.type->repr_str() +
          " because a method or hook with that name already exists.");
    }
    function = &declareModuleMethod(info, name, hook, {});
  }
  if (pre) {
    info.type->addForwardPreHook(function);
  } else {
    info.type->addForwardHook(function);
  }
}

/// Methods are (name, function) pairs, properties (name, getter, setter or None).
void declareMethods(
    const ModuleInfo& info, const std::vector<std::pair<std::string, py::object>>& methods,
    const std::vector<std::tuple<std::string, py::object, py::object>>& properties,
    const std::vector<py::object>& pre_hooks, const std::vector<py::object>& hooks) {
  for (const auto& [name, function] : methods) {
    if (!info.type->findMethod(name)) declareModuleMethod(info, name, function, {});
  }
  for (const auto& [name, getter, setter] : properties) declareProperty(info, {name, getter, setter});
  for (const py::object& hook : pre_hooks) declareHook(info, hook, /*pre=*/true);
  for (const py::object& hook : hooks) declareHook(info, hook, /*pre=*/false);
}

/// Compiles the named methods now, so that their schemas are known.
void compileMethods(const ModuleInfo& info, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    auto* function = dynamic_cast<Function*>(info.type->findMethod(name));
    if (!function) {
      py::object method = methodOfModule(info, name);
      if (!method) continue;  // the caller's check of types says what is missing
      function = &declareModuleMethod(info, name, method, {});
    }
    function->ensure_defined();
  }
}

/// Each signature of an overloaded method is a method of its own: (name, function that has the signature).
void declareOverloads(
    const ModuleInfo& info, const py::object& implementation,
    const std::vector<std::pair<std::string, py::object>>& signatures) {
  for (const auto& [name, signature] : signatures) {
    if (!info.type->findMethod(name)) declareModuleMethod(info, name, implementation, {}, signature);
  }
}

std::vector<std::string> interfaceMethods(const py::object& type) {
  std::vector<std::string> names;
  for (const c10::FunctionSchema& schema : typeFromPython(type)->expectRef<c10::InterfaceType>().methods())
    names.push_back(schema.name());
  return names;
}

/// The schemas of hooks have to fit forward's; c10 knows the rules and says which is broken.
void checkHooks(const ModuleInfo& info) {
  const c10::ClassType& cls = *info.type;
  const auto define = [](torch::jit::Function* function) {
    if (function) function->ensure_defined();
  };
  // Only those have a schema yet whose annotations say what they return.
  std::vector<bool> is_annotated;
  for (torch::jit::Function* hook : cls.getForwardPreHooks()) {
    const auto* function = dynamic_cast<Function*>(hook);
    is_annotated.push_back(!function || function->hasSchema());
  }
  define(cls.findMethod("forward"));
  for (torch::jit::Function* hook : cls.getForwardPreHooks()) define(hook);
  for (torch::jit::Function* hook : cls.getForwardHooks()) define(hook);
  size_t index = 0;
  for (torch::jit::Function* hook : cls.getForwardPreHooks()) {
    const c10::FunctionSchema& schema = hook->getSchema();
    cls.checkForwardPreHookSchema(index, is_annotated[index] ? schema : schema.cloneWithReturns({}));
    ++index;
  }
  index = 0;
  for (torch::jit::Function* hook : cls.getForwardHooks()) cls.checkForwardHookSchema(index++, hook->getSchema());
}

/// Runs `body` in a session: what it and the compilation that follows define stays only if neither throws. `locals`:
/// the variables of the function that asked for it, or None.
py::object inSession(const py::function& body, const py::object& locals) {
  ScriptSession session;
  CallingScope scope(locals);
  py::object result = body();
  session.finish();
  return result;
}

/// Adds the functions of a text as methods. Names are those of the code that passed it.
void defineText(const ModuleInfo& info, const std::string& source, py::object globals, py::object locals) {
  const auto text = std::make_shared<const Source>(source, "<string>");
  const InProgram here(*programOf(*info.type));
  const auto names = std::make_shared<PythonNames>(py::object(), std::move(globals), std::move(locals));
  for (const TreeRef& tree : SourceParser(text).parseFile()) {
    if (tree->kind() != TK_DEF) throw UserError("define() takes functions only", tree->range());
    const Def def(tree);
    requireFree(info, def.name().name(), def.name().range());
    MethodOptions options = methodOptions(info, def.name().name(), {});
    options.resolver = names;
    info.type->addMethod(&declareText(def, options));
  }
}

py::object typeOfAnnotationOf(const py::object& annotation, const py::object& owner) {
  return typeToPython(requireTypeOfAnnotation(annotation, placeOf(owner), resolverOfClass(owner)));
}

}  // namespace

py::object methodOfModule(const ModuleInfo& info, const std::string& name) {
  if (auto it = info.overrides.find(name); it != info.overrides.end()) return it->second;
  py::object found = rawAttribute(info.python_class, name);
  return found && isMethod(found) ? found : py::object();
}

Function& declareModuleMethod(
    const ModuleInfo& info, const std::string& name, py::handle function, const SourceRange& range,
    const py::object& signature) {
  requireFree(info, name, placeOf(function));
  MethodOptions options = methodOptions(info, name, range);
  options.overload = signature;
  Function& method = declareMethod(function, options);
  info.type->addMethod(&method);
  info.python_methods.emplace(&method, unwrapFunction(function));
  ScriptSession::onRollback([&info, &method] { info.python_methods.erase(&method); });
  return method;
}

Function& hiddenMethod(const ModuleInfo& info, py::handle function, const SourceRange& range) {
  const auto plain = py::cast<std::string>(function.attr("__name__"));
  py::object visible = methodOfModule(info, plain);
  std::string name = plain;
  if (!visible || !visible.is(function)) {
    // Several classes of one MRO may have a method of that name; where the function is defined distinguishes them.
    name = "__" + py::cast<std::string>(function.attr("__qualname__"));
    for (char& c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
  }
  for (;; name += "_") {
    auto* known = dynamic_cast<Function*>(info.type->findMethod(name));
    if (!known) return declareModuleMethod(info, name, function, range);
    if (pythonMethodOf(info, *known).is(unwrapFunction(function))) return *known;
  }
}

py::object pythonMethodOf(const ModuleInfo& info, const Function& function) {
  auto it = info.python_methods.find(&function);
  return it == info.python_methods.end() ? py::object() : it->second;
}

py::object rawAttribute(py::handle cls, const std::string& name, py::handle after) {
  bool found_owner = !after;
  for (py::handle base : py::reinterpret_borrow<py::tuple>(reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_mro)) {
    if (!found_owner) {
      found_owner = base.is(after);
      continue;
    }
    py::object members = base.attr("__dict__");
    if (members.contains(name.c_str())) return members[name.c_str()];
  }
  return {};
}

void bindModuleMethods(py::module_& module) {
  addObjectHandler(moduleClassValue);
  module.def("_in_session", inSession, py::arg("body"), py::arg("locals") = py::none());
  module.def(
      "_forget_names", &forgetPythonNames,
      "Functions and classes that are scripted from now on may have the names of earlier ones.");
  module.def(
      "_define_texts",
      [](const ObjectHandle& self, const std::vector<std::tuple<std::string, py::object, py::object>>& texts) {
        const ModuleInfo* info = infoOf(*self.object->type());
        if (!info) return false;
        ScriptSession session;
        for (const auto& [source, globals, locals] : texts)  // all are declared before the first is compiled
          defineText(*info, source, globals, locals.is_none() ? py::object() : locals);
        session.finish();
        return true;
      },
      py::arg("object"), py::arg("texts"),
      "Adds the functions of texts, (source, globals, locals), as methods; false if the class isn't one of Python's.");
  module.def("_on_rollback", [](py::function undo) {
    // The session is rolled back with the GIL held, as everything of scripting from Python is.
    auto held = std::make_shared<py::function>(std::move(undo));
    ScriptSession::onRollback([held] {
      py::gil_scoped_acquire gil;
      (*held)();
    });
  });
  module.def("_type_of_annotation", typeOfAnnotationOf, py::arg("annotation"), py::arg("owner"));
  module.def(
      "_declare_methods", declareMethods, py::arg("info"), py::arg("methods"), py::arg("properties"),
      py::arg("pre_hooks"), py::arg("hooks"));
  module.def("_declare_overloads", declareOverloads, py::arg("info"), py::arg("implementation"), py::arg("signatures"));
  module.def("_overloads_of_method", overloadsOfMethod, py::arg("method"), py::arg("cls"));
  module.def("_interface_methods", interfaceMethods, py::arg("type"));
  module.def("_compile_methods", compileMethods, py::arg("info"), py::arg("names"));
  module.def("_check_hooks", checkHooks, py::arg("info"));
}

}  // namespace cresset::python
