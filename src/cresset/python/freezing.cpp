#include "cresset/python/freezing.h"

#include <pybind11/stl.h>

#include "cresset/module/freeze.h"

namespace cresset::python {

namespace {

Module moduleFrom(const py::object& object) {
  ObjectPtr found = unwrapObject(object.ptr());
  if (!found || !found->type()->is_module())
    throw py::type_error("Only script modules can be frozen, not " + typeName(object.ptr()));
  return Module(std::move(found));
}

}  // namespace

void bindFreezing(py::module_& module) {
  module.def("_freeze", [](const py::object& object, const std::vector<std::string>& preserved, bool numerics) {
    const Module given = moduleFrom(object);
    ObjectPtr frozen;
    {
      py::gil_scoped_release no_gil;
      frozen = freeze(given, preserved, numerics)._ivalue();
    }
    return wrapObject(frozen);
  });
  module.def(
      "_freeze_module", [](const py::object& object, const std::vector<std::string>& preserved, bool keep_parameters) {
        const Module given = moduleFrom(object);
        ObjectPtr frozen;
        {
          py::gil_scoped_release no_gil;
          frozen = freeze_module(given, {.preserved = preserved, .keep_parameters = keep_parameters})._ivalue();
        }
        return wrapObject(frozen);
      });
  module.def(
      "_run_frozen_optimizations",
      [](const py::object& object, bool numerics, const std::vector<std::string>& methods) {
        const Module given = moduleFrom(object);
        py::gil_scoped_release no_gil;
        run_frozen_optimizations(given, numerics, methods);
      });
  module.def("_optimize_for_inference", [](const py::object& object, const std::vector<std::string>& methods) {
    const Module given = moduleFrom(object);
    ObjectPtr result;
    {
      py::gil_scoped_release no_gil;
      result = optimize_for_inference(given, methods)._ivalue();
    }
    return result == given._ivalue() ? object : wrapObject(result);
  });
}

}  // namespace cresset::python
