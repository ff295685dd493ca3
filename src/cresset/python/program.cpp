// Compilation units and archives: everything that makes script functions and modules.
#include "cresset/python/common.h"

#include <torch/csrc/Device.h>

#include <pybind11/stl.h>

#include "cresset/archive/archive.h"
#include "cresset/python/graph_handles.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

std::optional<c10::Device> deviceOf(const py::object& device) {
  if (device.is_none()) return std::nullopt;
  return toIValue(device.ptr(), c10::DeviceObjType::get()).toDevice();
}

/// Reads the wanted names of a dict of extra files, and puts their contents back, as bytes.
class ExtraFiles {
 public:
  explicit ExtraFiles(py::object wanted) : wanted_(std::move(wanted)) {
    if (wanted_.is_none()) return;
    for (py::handle name : wanted_) contents_[py::cast<std::string>(name)];
  }
  std::unordered_map<std::string, std::string>* contents() { return wanted_.is_none() ? nullptr : &contents_; }
  void store() {
    if (wanted_.is_none()) return;
    for (const auto& [name, text] : contents_) wanted_[py::str(name)] = py::bytes(text);
  }

 private:
  py::object wanted_;
  std::unordered_map<std::string, std::string> contents_;
};

/// What load's keyword arguments say.
struct Wanted {
  py::object device, extra_files;
  bool trusted;
  std::vector<std::string> allow_ops;
  Limits limits;
  bool verify;
};

LoadOptions optionsOf(const Wanted& wanted, ExtraFiles& extra_files) {
  LoadOptions options;
  options.device = deviceOf(wanted.device);
  options.extra_files = extra_files.contents();
  options.trusted = wanted.trusted;
  options.door = Door::Python;
  options.allow_ops = wanted.allow_ops;
  options.limits = wanted.limits;
  options.verify = wanted.verify;
  return options;
}

py::object loadPath(const std::string& path, const Wanted& wanted) {
  ExtraFiles extra_files(wanted.extra_files);
  const LoadOptions options = optionsOf(wanted, extra_files);
  LoadedArchive loaded;
  {
    py::gil_scoped_release no_gil;
    loaded = loadArchive(path, options);
  }
  extra_files.store();
  return wrapObject(loaded.root);
}

/// Tensors refer into the buffer, so it is held as long as one of them lives.
py::object loadBuffer(const py::object& source, const Wanted& wanted) {
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(source.ptr(), view, PyBUF_SIMPLE) != 0) {
    delete view;
    throw py::error_already_set();
  }
  std::shared_ptr<void> keep_alive(view, [](void* held) {
    py::gil_scoped_acquire gil;
    PyBuffer_Release(static_cast<Py_buffer*>(held));
    delete static_cast<Py_buffer*>(held);
  });
  ExtraFiles extra_files(wanted.extra_files);
  const LoadOptions options = optionsOf(wanted, extra_files);
  LoadedArchive loaded;
  {
    py::gil_scoped_release no_gil;
    loaded = loadArchive(view->buf, static_cast<size_t>(view->len), keep_alive, options);
  }
  extra_files.store();
  return wrapObject(loaded.root);
}

struct UnitHandle {
  CompilationUnit unit;
};

py::object orNone(const TypePtr& type) {
  return type ? typeToPython(type) : py::object(py::none());
}

}  // namespace

void bindProgram(py::module_& module) {
  py::class_<UnitHandle>(module, "_CompilationUnit", py::module_local())
      .def(py::init([] { return UnitHandle{CompilationUnit()}; }))
      .def(
          "define",
          [](UnitHandle& self, const std::string& source, const std::string& file, py::object names) {
            if (names.is_none()) {
              py::gil_scoped_release no_gil;
              self.unit.define(source, nullptr, file);
              return;
            }
            // What the text calls of Python's is compiled into the session's program, which the unit's then uses.
            ScriptSession session;
            self.unit.define(source, std::make_shared<PythonNames>(py::object(), std::move(names), py::object()), file);
            session.finish();
          },
          py::arg("source"), py::arg("file") = "", py::arg("names") = py::none())
      .def(
          "find_function",
          [](const UnitHandle& self, const std::string& name) -> py::object {
            Function* function = self.unit.find_function(name);
            return function ? makeFunction(self.unit.program(), *function) : py::object(py::none());
          })
      .def(
          "create_function",
          [](UnitHandle& self, const std::string& name, const GraphHandle& graph, bool should_mangle) {
            Function* function = self.unit.create_function(c10::QualifiedName(name), graph.graph, should_mangle);
            return makeFunction(self.unit.program(), *function);
          })
      .def(
          "get_class",
          [](const UnitHandle& self, const std::string& name) { return orNone(self.unit.get_class(name)); })
      .def(
          "get_interface",
          [](const UnitHandle& self, const std::string& name) { return orNone(self.unit.get_interface(name)); })
      .def("function_names", [](const UnitHandle& self) {
        py::list names;
        for (Function* function : self.unit.get_functions()) names.append(function->qualname().qualifiedName());
        return names;
      });
  py::class_<Wanted>(module, "_LoadOptions", py::module_local())
      .def(
          py::init([](py::object device, py::object extra_files, bool trusted, std::vector<std::string> allow_ops,
                      std::optional<double> seconds, std::optional<size_t> memory, bool verify) {
            return Wanted{std::move(device),    std::move(extra_files), trusted,
                          std::move(allow_ops), {seconds, memory},      verify};
          }),
          py::arg("device"), py::arg("extra_files"), py::arg("trusted"), py::arg("allow_ops"), py::arg("seconds"),
          py::arg("memory"), py::arg("verify"));
  module.def("_live_programs", &Program::numLive, "How many programs there are; for tests of what keeps them.");
  module.def("_load_path", loadPath);
  module.def("_load_buffer", loadBuffer);
  // Why the value is none of the type; "" if it is one.
  module.def("_misfit", [](py::handle value, const TypeHandle& type) -> std::string {
    try {
      toIValue(value.ptr(), type.type);
      return "";
    } catch (const CastError& error) {
      return error.what();
    }
  });
  module.def("_infer_type", [](const py::object& object) { return typeToPython(inferType(object.ptr())); });
}

}  // namespace cresset::python
