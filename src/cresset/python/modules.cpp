// Making classes and objects for nn.Modules. cresset/_modules.py looks at the live module and decides what it has; here
// that becomes a class of the session's Program.
#include "cresset/python/modules.h"

#include <pybind11/stl.h>

#include <unordered_map>

#include "cresset/python/modules_methods.h"
#include "cresset/python/script.h"

namespace cresset::python {

namespace {

/// Those that live. Guarded by the GIL.
std::unordered_map<const c10::ClassType*, ModuleInfo*>& infos() {
  static auto* table = new std::unordered_map<const c10::ClassType*, ModuleInfo*>;
  return *table;
}

/// Makes the info live as long as the program. Info and description refer to each other until then.
void ownInfo(Program& program, std::shared_ptr<ModuleInfo> info) {
  ModuleInfo* const pointer = info.get();
  program.own(std::shared_ptr<void>(pointer, [info = std::move(info)](void*) mutable {
    // Programs end on any thread, and on some when Python is gone; what is Python's then stays.
    if (pythonIsGoingAway()) {
      new std::shared_ptr<ModuleInfo>(std::move(info));
      return;
    }
    py::gil_scoped_acquire gil;
    info->description = py::object();
    info = nullptr;
  }));
}

ModuleInfo::Container containerOf(const std::string& name) {
  if (name == "list") return ModuleInfo::Container::List;
  if (name == "dict") return ModuleInfo::Container::Dict;
  if (name == "parameter_list") return ModuleInfo::Container::ParameterList;
  if (name == "parameter_dict") return ModuleInfo::Container::ParameterDict;
  CRESSET_CHECK(name.empty(), "a kind of container that convert() does not make: " + name);
  return ModuleInfo::Container::None;
}

/// A class of the session's Program, for a _Description (cresset/_modules.py), under the name of the Python class,
/// mangled if that is taken. Attributes are (name, type, kind), where kind is "parameter", "buffer" or "".
std::shared_ptr<ModuleInfo> defineModule(const py::object& description, const py::list& attributes) {
  Program& program = currentProgram();
  const py::object cls = description.attr("cls");
  // A class that was made to stand for another says so.
  const py::object name = py::getattr(cls, "_jit_override_qualname", py::none());
  auto type = c10::ClassType::create(
      program.mangle(name.is_none() ? qualifiedNameOf(cls) : c10::QualifiedName(py::cast<std::string>(name))),
      program.asCompilationUnit(), /*is_module=*/true);
  program.registerType(type);
  for (py::handle attribute : attributes) {
    const auto entry = py::cast<py::tuple>(attribute);
    const auto kind = py::cast<std::string>(entry[2]);
    type->addAttribute(
        py::cast<std::string>(entry[0]), typeFromPython(entry[1]), kind == "parameter", kind == "buffer");
  }
  for (auto [constant, value] : py::cast<py::dict>(description.attr("constants")))
    type->addConstant(py::cast<std::string>(constant), toInferredIValue(value.ptr()));

  auto info = std::make_shared<ModuleInfo>();
  info->type = type;
  info->python_class = cls;
  info->container = containerOf(py::cast<std::string>(description.attr("container")));
  for (py::handle item : description.attr("items")) info->items.push_back(py::cast<std::string>(item));
  for (py::handle submodule : description.attr("modules")) info->submodules.push_back(py::cast<std::string>(submodule));
  for (auto [key, function] : py::cast<py::dict>(description.attr("functions")))
    info->functions.emplace(py::cast<std::string>(key), py::reinterpret_borrow<py::object>(function));
  for (auto [key, function] : py::cast<py::dict>(description.attr("overrides")))
    info->overrides.emplace(py::cast<std::string>(key), py::reinterpret_borrow<py::object>(function));
  for (auto [key, signatures] : py::cast<py::dict>(description.attr("overloads"))) {
    auto& names = info->overloads[py::cast<std::string>(key)];
    for (py::handle signature : signatures) names.push_back(py::cast<std::string>(signature[py::int_(0)]));
  }
  for (auto [key, reason] : py::cast<py::dict>(description.attr("failed")))
    info->failed.emplace(py::cast<std::string>(key), py::cast<std::string>(reason));
  for (py::handle method : description.attr("overridden")) info->overridden.insert(py::cast<std::string>(method));
  for (py::handle ignored : description.attr("ignored")) info->ignored.insert(py::cast<std::string>(ignored));

  infos().emplace(type.get(), info.get());
  ownInfo(program, info);
  return info;
}

/// An object whose attributes are yet to be set.
ObjectHandle newObject(const ModuleInfo& info) {
  return {c10::ivalue::Object::create(
      c10::StrongTypePtr(programOf(*info.type)->asCompilationUnit(), info.type), info.type->numAttributes())};
}

}  // namespace

const ModuleInfo* infoOf(const c10::ClassType& type) {
  auto it = infos().find(&type);
  return it == infos().end() ? nullptr : it->second;
}

ModuleInfo::~ModuleInfo() {
  infos().erase(type.get());
}

void bindModules(py::module_& module) {
  py::class_<ModuleInfo, std::shared_ptr<ModuleInfo>>(module, "_ModuleInfo", py::module_local())
      .def_property_readonly("type", [](const ModuleInfo& self) { return typeToPython(self.type); })
      .def("keep", [](ModuleInfo& self, py::object description) { self.description = std::move(description); })
      .def(
          "hold",
          [](const ModuleInfo& self) {
            auto program = programOf(*self.type);
            if (program) ScriptSession::hold(program);
            return program != nullptr;
          },
          "Keeps the class until the session ends. False if it is gone.")
      .def("new_object", newObject);
  module.def("_define_module", defineModule, py::arg("description"), py::arg("attributes"));
  bindModuleMethods(module);
}

}  // namespace cresset::python
