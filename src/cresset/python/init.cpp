// The module cresset._C.
#include "cresset/ops/operator.h"
#include "cresset/python/awaitables.h"
#include "cresset/python/common.h"
#include "cresset/python/freezing.h"
#include "cresset/python/leaves.h"
#include "cresset/python/modules.h"
#include "cresset/python/saving.h"
#include "cresset/python/script.h"
#include "cresset/python/static_modules.h"
#include "cresset/python/undo.h"
#include "cresset/python/watching.h"

namespace {

namespace py = pybind11;

/// A class's __new__ makes an instance without a C++ object, for which pybind11 allocates memory that is never
/// written when a method is called; pickling by an old protocol ends the process. Here both raise TypeError.
void refuseEmptyInstances(const py::module_& module) {
  const auto cannotPickle = [](const py::object& self) -> py::object {
    throw py::type_error(
        "cannot pickle '" + py::cast<std::string>(py::type::of(self).attr("__qualname__")) + "' object");
  };
  for (auto [name, value] : py::dict(module.attr("__dict__"))) {
    if (!PyType_Check(value.ptr())) continue;
    auto* info = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
    if (!info) continue;
    info->operator_new = [](size_t) -> void* { throw py::type_error("__init__() of the object was not called"); };
    const py::object own = value.attr("__dict__");
    if (own.contains("__reduce__") || own.contains("__getstate__") || own.contains("__reduce_ex__")) continue;
    value.attr("__reduce__") = py::cpp_function(cannotPickle, py::is_method(value), py::name("__reduce__"));
  }
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  using namespace cresset::python;
  // torch's own extension registers the classes of tensors, devices and generators; it has to be there first.
  pybind11::module_::import("torch");
  // Like torch's own operators, Cresset's are registered when the library is loaded, not in a program's first call.
  cresset::OperatorTable::get();
  bindErrors(module);
  bindCallables(module);
  bindFutures(module);
  bindAwaitables(module);
  bindObjects(module);
  bindForeign(module);
  bindContainers(module);
  bindGraph(module);
  bindProgram(module);
  bindHost(module);
  bindSaving(module);
  bindFreezing(module);
  bindScript(module);
  bindModules(module);
  bindModuleCall(module);
  bindTracing(module);
  bindWatching(module);
  bindUndo(module);
  bindLeaves(module);
  bindExecuting(module);
  bindStatic(module);
  bindFunctional(module);
  bindFacts(module);
  bindObserving(module);
  refuseEmptyInstances(module);
  module.attr("__version__") = CRESSET_VERSION;
}
