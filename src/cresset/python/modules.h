// Module classes that come from nn.Modules: what the compiler has to know of them beyond their ClassType.
//
// A ClassType holds attributes, constants and methods. Code of a module may also use what is no value: functions,
// submodules whose Python class has further methods, containers whose length and keys are known, and names whose use is
// an error with a reason. All that is decided once, when the module is converted (cresset/_modules.py), and is equal
// for all modules that share the class: so it belongs to the class's Program, and is found by the class (infoOf).
#pragma once

#include "cresset/python/common.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cresset::python {

struct ModuleInfo {
  ModuleInfo() = default;
  ModuleInfo(const ModuleInfo&) = delete;
  ModuleInfo& operator=(const ModuleInfo&) = delete;
  ~ModuleInfo();

  /// How a module of this class is iterated and indexed in scripts.
  enum class Container { None, List, Dict, ParameterList, ParameterDict };

  c10::ClassTypePtr type;
  py::object python_class;
  /// What cresset/_modules.py knows of the class; lives as long as it.
  py::object description;
  Container container = Container::None;
  /// What a container contains, in order.
  std::vector<std::string> items;
  /// Names of the submodules, in order.
  std::vector<std::string> submodules;
  /// Methods that the one object that the class was made for has in place of its Python class's.
  std::map<std::string, py::object> overrides;
  /// Functions that are attributes: Python's, scripted ones, builtin operators.
  std::map<std::string, py::object> functions;
  /// Methods that the Python class defines otherwise than nn.Module or its container does: what scripts know of those
  /// does not hold.
  std::set<std::string> overridden;
  /// Methods with several signatures: the names under which each is compiled.
  std::map<std::string, std::vector<std::string>> overloads;
  /// Attributes that no script can hold, and why.
  std::map<std::string, std::string> failed;
  /// Names that the author wants scripts not to see.
  std::set<std::string> ignored;
  /// The Python functions of methods, by which those that have one name are distinguished.
  mutable std::map<const Function*, py::object> python_methods;
};

/// What was registered for the class; null for classes that don't come from nn.Modules of this process.
const ModuleInfo* infoOf(const c10::ClassType& type);
void bindModules(py::module_& module);
void bindModuleCall(py::module_& module);

}  // namespace cresset::python
