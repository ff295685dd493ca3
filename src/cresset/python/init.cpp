// The module cresset._C.
#include "cresset/ops/operator.h"
#include "cresset/python/common.h"
#include "cresset/python/freezing.h"
#include "cresset/python/modules.h"
#include "cresset/python/saving.h"
#include "cresset/python/script.h"
#include "cresset/python/static_modules.h"
#include "cresset/python/watching.h"

namespace {

namespace py = pybind11;

/// pybind11 makes an instance without a C++ object for whoever asks a class's __new__, and methods then read memory that
/// nobody wrote; pickling by an old protocol ends the process. Here both raise TypeError.
void refuseEmptyInstances(const py::module_& module) {
  const auto refuse = [](const char* what) {
    return [what](const py::object& self, const py::args&, const py::kwargs&) -> py::object {
      const py::object type = PyType_Check(self.ptr()) ? self : py::object(py::type::of(self));
      throw py::type_error(what + py::cast<std::string>(py::repr(type.attr("__qualname__"))) + " object");
    };
  };
  const py::object no_new = py::staticmethod(py::cpp_function(refuse("cannot create a ")));
  for (auto [name, value] : py::dict(module.attr("__dict__"))) {
    if (!PyType_Check(value.ptr()) || !py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()))) continue;
    const py::object own = value.attr("__dict__");
    if (!own.contains("__init__")) value.attr("__new__") = no_new;
    if (own.contains("__reduce__") || own.contains("__getstate__") || own.contains("__reduce_ex__")) continue;
    value.attr("__reduce__") =
        py::cpp_function(refuse("cannot pickle a "), py::is_method(value), py::name("__reduce__"));
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
  bindExecuting(module);
  bindStatic(module);
  bindFunctional(module);
  bindFacts(module);
  bindObserving(module);
  refuseEmptyInstances(module);
  module.attr("__version__") = CRESSET_VERSION;
}
