// Making classes and objects for nn.Modules. cresset/_modules.py looks at the live module and decides what it has; here
// that becomes a class of the shared Program.
#include "cresset/python/modules.h"

#include <pybind11/stl.h>

#include <unordered_map>

#include "cresset/python/shared_program.h"

namespace cresset::python {

namespace {

/// Classes live as long as the shared Program, which is as long as the process; so do these.
std::unordered_map<const c10::ClassType*, std::shared_ptr<ModuleInfo>>& infos() {
  static auto* table = new std::unordered_map<const c10::ClassType*, std::shared_ptr<ModuleInfo>>;
  return *table;
}

ModuleInfo::Container containerOf(const std::string& name) {
  if (name == "list") return ModuleInfo::Container::List;
  if (name == "dict") return ModuleInfo::Container::Dict;
  if (name == "parameter_list") return ModuleInfo::Container::ParameterList;
  if (name == "parameter_dict") return ModuleInfo::Container::ParameterDict;
  CRESSET_CHECK(name.empty(), "a kind of container that convert() does not make: " + name);
  return ModuleInfo::Container::None;
}

/// A class of the shared Program. `name` is mangled if it is taken. Attributes are (name, type, kind), where kind is
/// "parameter", "buffer" or "".
std::shared_ptr<ModuleInfo> defineModule(
    const std::string& name, py::object python_class, const py::list& attributes, const py::dict& constants,
    const std::string& container, std::vector<std::string> items) {
  const std::shared_ptr<Program>& program = sharedProgram();
  std::optional<DefinitionScope> scope;
  {
    py::gil_scoped_release no_gil;  // whoever holds the lock may need the GIL
    scope.emplace(*program);
  }
  auto type = c10::ClassType::create(
      program->mangle(c10::QualifiedName(name)), program->asCompilationUnit(), /*is_module=*/true);
  program->registerType(type);
  for (py::handle attribute : attributes) {
    const auto entry = py::cast<py::tuple>(attribute);
    const auto kind = py::cast<std::string>(entry[2]);
    type->addAttribute(
        py::cast<std::string>(entry[0]), typeFromPython(entry[1]), kind == "parameter", kind == "buffer");
  }
  for (auto [constant, value] : constants)
    type->addConstant(py::cast<std::string>(constant), toInferredIValue(value.ptr()));
  auto info = std::make_shared<ModuleInfo>();
  info->type = type;
  info->python_class = std::move(python_class);
  info->container = containerOf(container);
  info->items = std::move(items);
  infos().emplace(type.get(), info);
  scope->commit();
  return info;
}

/// An object whose attributes are yet to be set.
ObjectHandle newObject(const ModuleInfo& info) {
  return {c10::ivalue::Object::create(
      c10::StrongTypePtr(sharedProgram()->asCompilationUnit(), info.type), info.type->numAttributes())};
}

}  // namespace

const ModuleInfo* infoOf(const c10::ClassType& type) {
  auto it = infos().find(&type);
  return it == infos().end() ? nullptr : it->second.get();
}

void bindModules(py::module_& module) {
  py::class_<ModuleInfo, std::shared_ptr<ModuleInfo>>(module, "_ModuleInfo", py::module_local())
      .def_property_readonly("type", [](const ModuleInfo& self) { return typeToPython(self.type); })
      .def("new_object", newObject);
  module.def(
      "_define_module", defineModule, py::arg("name"), py::arg("python_class"), py::arg("attributes"),
      py::arg("constants"), py::arg("container"), py::arg("items"));
}

}  // namespace cresset::python
