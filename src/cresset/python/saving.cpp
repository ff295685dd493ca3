// See saving.h.
#include "cresset/python/saving.h"

#include <pybind11/stl.h>

#include <atomic>

#include "cresset/archive/code_printer.h"
#include "cresset/archive/save.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/same_graph.h"
#include "cresset/program/definition_lock.h"

namespace cresset::python {

namespace {

/// A module, or a function as the module that it is saved as.
Module moduleOf(const py::object& object) {
  if (ObjectPtr found = unwrapObject(object.ptr())) return Module(std::move(found));
  if (Function* function = functionOf(object.ptr())) return moduleOfFunction(*function);
  throw py::type_error("Only script modules and script functions can be saved, not " + typeName(object.ptr()));
}

ArchiveLayout layoutNamed(const std::string& name) {
  if (name == "current") return ArchiveLayout::Current;
  if (name == "model.json") return ArchiveLayout::ModelJson;
  throw py::value_error("layout is 'current' or 'model.json', not '" + name + "'");
}

using Files = std::unordered_map<std::string, std::string>;

template <typename Target>
void saveTo(const py::object& object, const Target& target, const Files& extra_files, const std::string& layout) {
  const Module module = moduleOf(object);
  SaveOptions options;
  options.extra_files = &extra_files;
  options.layout = layoutNamed(layout);
  py::gil_scoped_release no_gil;
  saveArchive(IValue(module._ivalue()), target, options);
}

void savePath(const py::object& object, const std::string& path, const Files& files, const std::string& layout) {
  saveTo(object, path, files, layout);
}

py::bytes saveBytes(const py::object& object, const Files& files, const std::string& layout) {
  std::string bytes;
  const ZipWriter::Sink sink = [&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  saveTo(object, sink, files, layout);
  return py::bytes(bytes);
}

/// The constants that printed code refers to.
class ConstantsResolver final : public Resolver {
 public:
  explicit ConstantsResolver(std::vector<IValue> constants) : constants_(std::move(constants)) {}
  SugaredValuePtr resolveValue(const std::string& name, EmitContext&, const SourceRange&) override {
    return name == "CONSTANTS" ? std::make_shared<Table>(constants_) : nullptr;
  }
  TypePtr resolveType(const std::string&, const SourceRange&) override { return nullptr; }

 private:
  class Table final : public SugaredValue {
   public:
    explicit Table(const std::vector<IValue>& constants) : constants_(constants) {}
    std::string kind() const override { return "table of constants"; }
    SugaredValuePtr findAttr(const SourceRange&, EmitContext& cx, const std::string& name) override {
      return std::make_shared<SimpleValue>(cx.graph.insertConstant(constants_.at(std::stoul(name.substr(1)))));
    }

   private:
    const std::vector<IValue>& constants_;
  };
  std::vector<IValue> constants_;
};

/// Prints a function, compiles the text in the same program, prints that. Returns both texts and how the graphs differ
/// ("" if they don't): what tests hold against the printer's promise.
py::tuple printAgain(const py::object& object) {
  static std::atomic<size_t> serial{0};
  const std::string name = "__again_" + std::to_string(serial++);
  Function* function = functionOf(object.ptr());
  if (!function) throw py::type_error("expected a script function");
  std::string first, second, difference;
  {
    py::gil_scoped_release no_gil;
    CodeConstants constants;
    CodeOptions options;
    options.constants = &constants;
    first = printCode(*function, options, name);
    DefineOptions define;
    define.resolver = std::make_shared<ConstantsResolver>(constants.values);
    auto source = std::make_shared<const Source>(first, "<printed>");
    const auto lock = lockDefinitions(function->program());
    Function& again = *defineSource(function->program(), source, define).at(0);
    second = printCode(again, options, name);
    sameGraph(*function->graph(), *again.graph(), &difference);
  }
  return py::make_tuple(first, second, difference);
}

}  // namespace

void bindSaving(py::module_& module) {
  module.def("_save_path", savePath);
  module.def("_save_bytes", saveBytes);
  module.def("_print_again", printAgain);
}

}  // namespace cresset::python
