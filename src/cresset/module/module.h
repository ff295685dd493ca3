// What users hold: modules, and the archives that they come from and go to.
//
//   cresset::Module model = cresset::load("model.pt");
//   model.eval();
//   at::Tensor energy = model.forward({positions}, {{"cutoff", 5.}}).toTensor();
//   std::vector<cresset::IValue> parts = model.run_method("split", energy).toListRef().vec();
//
// The names and behaviour are torch::jit's, so that programs move by changing a namespace (torch_jit.h,
// docs/porting.md). Thread-safety: methods may be called from many threads at once, on one module too; an attribute is
// read and written atomically. define, register_* and to() must not run while another thread uses the module.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/module/compilation_unit.h"
#include "cresset/module/object.h"

namespace caffe2::serialize {
class ReadAdapterInterface;  // <caffe2/serialize/read_adapter_interface.h>: size() and read()
}

namespace cresset {

/// Contents by name.
using ExtraFilesMap = std::unordered_map<std::string, std::string>;

template <typename T>
struct Named {
  std::string name;
  T value;
};
using NameModule = Named<Module>;
using NameValue = Named<IValue>;
using NameTensor = Named<at::Tensor>;

// What a Module lists.
using module_list = std::vector<Module>;
using named_module_list = std::vector<NameModule>;
using parameter_list = std::vector<at::Tensor>;
using named_parameter_list = std::vector<NameTensor>;
using buffer_list = std::vector<at::Tensor>;
using named_buffer_list = std::vector<NameTensor>;
using attribute_list = std::vector<IValue>;
using named_attribute_list = std::vector<NameValue>;

/// A reference to an object of a module class: copies share it.
class Module : public Object {
 public:
  Module() = default;                                      // refers to nothing; every use throws UserError
  Module(ObjectPtr object) : Object(std::move(object)) {}  // NOLINT: implicit, as in torch::jit
  /// An empty module class of this qualified name, in a new Program (or `program`), and an object of it, in training
  /// mode. A name without a dot is put below `__torch__`.
  explicit Module(const c10::QualifiedName& class_name, std::shared_ptr<Program> program = nullptr);
  Module(
      const c10::QualifiedName& class_name, const std::shared_ptr<CompilationUnit>& unit, bool should_mangle = false);
  /// A new object of a module class of `unit`; all attributes are None.
  Module(const std::shared_ptr<CompilationUnit>& unit, const c10::ClassTypePtr& type) : Object(unit, type) {}

  /// The method `forward`. Arguments are checked and converted; UserError names function, argument, expected and found
  /// type. A ScriptError carries the program's own stack.
  IValue forward(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;
  /// forward with the forward hooks around it that the module was compiled with, as nn.Module's call.
  IValue operator()(std::vector<IValue> inputs, const Kwargs& kwargs = {}) const;

  // In order of declaration; names are dotted paths. A tensor or module that occurs twice is listed once, as nn.Module
  // does. Without `recurse`, only the module's own.
  parameter_list parameters(bool recurse = true) const;
  named_parameter_list named_parameters(bool recurse = true) const;
  buffer_list buffers(bool recurse = true) const;
  named_buffer_list named_buffers(bool recurse = true) const;
  /// The direct submodules.
  module_list children() const;
  named_module_list named_children() const;
  /// This module (named "") and all below it, parents first.
  module_list modules() const;
  named_module_list named_modules() const;
  /// Whatever an object holds: parameters, buffers, submodules, other attributes.
  attribute_list attributes(bool recurse = true) const;
  named_attribute_list named_attributes(bool recurse = true) const;
  /// Calls `function` on each of modules().
  void apply(const std::function<void(Module&)>& function) const;

  // A name that the class has already must have been declared in the same way; then the value is set.
  void register_parameter(const std::string& name, at::Tensor value, bool is_buffer = false);
  void register_buffer(const std::string& name, at::Tensor value) { register_parameter(name, std::move(value), true); }
  void register_module(const std::string& name, const Module& module);
  void register_attribute(
      const std::string& name, const c10::TypePtr& type, const IValue& value, bool is_parameter = false,
      bool is_buffer = false);
  /// A new object of a class of the module's program, as `Name(args…)` makes it.
  IValue create_class(const c10::QualifiedName& name, std::vector<IValue> args = {}) const;

  /// Sets `training` in this module and in all below it.
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool is_training() const { return attr("training", true).toBool(); }
  /// Moves parameters and buffers, in place: whoever holds one of the tensors sees the move. Other tensors stay. A
  /// dtype is applied to all of them, integers too.
  void to(c10::Device device, c10::ScalarType dtype, bool non_blocking = false) const;
  void to(c10::ScalarType dtype, bool non_blocking = false) const;
  void to(c10::Device device, bool non_blocking = false) const;

  /// Shares tensors and attributes.
  Module copy() const;
  /// Copies tensors and attributes, to `device` if it is given; the classes are the same. As in torch::jit, submodules
  /// that have __getstate__ and __setstate__ are copied by these; this module itself is not.
  Module deepcopy(std::optional<c10::Device> device = std::nullopt) const;
  /// Copies the classes too, so that define on one does not change the other. `inplace` shares the attribute values.
  /// Copies that have __getstate__ and __setstate__ are restored by the second from what the first returns.
  Module clone(bool inplace = false) const;
  /// Leaves out methods and attributes of these names, in this module and in all below it. Throws UserError if a method
  /// that stays needs one of them.
  Module clone(
      bool inplace, const std::unordered_set<std::string>& ignored_methods,
      const std::unordered_set<std::string>& ignored_attributes) const;
  /// Adds to this module the method `name` of `original`, which has the same submodules and is of the same program.
  void clone_method(const Module& original, const std::string& name);

  /// Writes an archive that load and torch::jit::load read (archive/save.h). A file appears as a whole or not at all.
  void save(const std::string& path, const ExtraFilesMap& extra_files = {}) const;
  void save(std::ostream& out, const ExtraFilesMap& extra_files = {}) const;

  /// Source, attributes and submodules for people; dump writes it to std::cout.
  std::string dump_to_str(bool code = true, bool attributes = true, bool parameters = true) const;
  void dump(bool code = true, bool attributes = true, bool parameters = true) const;

  /// Without effect, as in torch::jit: programs are always optimized.
  void set_optimized(bool) {}
  bool is_optimized() const { return true; }
};

/// Checks arguments against a schema, converts what Python-like callers may pass, fills in defaults: what every door
/// (C++, Python, command line) does before a call. `inputs` becomes exactly the schema's arguments.
void checkAndNormalizeInputs(const c10::FunctionSchema& schema, std::vector<IValue>& inputs, const Kwargs& kwargs);
/// checkAndNormalizeInputs, run, result.
IValue callFunction(Function& function, std::vector<IValue> inputs, const Kwargs& kwargs = {});

/// A module whose forward is `function`: what is saved where a function is to be.
Module moduleOfFunction(Function& function);

struct LoadOptions;  // archive/archive.h: device, extra files, whom to trust, limits

/// A module from an archive: a file, a stream (read from where it stands to its end), a buffer that is copied, or a
/// reader. Tensors go to `device`, by default to where they were saved. `extra_files`: in, the names of those to read;
/// out, their contents. Without `load_debug_files`, errors show the archive's code and not the file it was written in.
///
/// Loading runs nothing that the archive holds. Its code may not call operators that touch files, skip checks of memory
/// or belong to other libraries, unless the overload with LoadOptions says so. Throws ArchiveError.
Module load(const std::string& path, const LoadOptions& options);
Module load(std::istream& in, const LoadOptions& options);
Module load(const void* data, size_t size, const LoadOptions& options);
Module load(const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& reader, const LoadOptions& options);
Module load(const std::string& path, std::optional<c10::Device> device = std::nullopt, bool load_debug_files = true);
Module load(
    const std::string& path, std::optional<c10::Device> device, ExtraFilesMap& extra_files,
    bool load_debug_files = true);
Module load(std::istream& in, std::optional<c10::Device> device = std::nullopt, bool load_debug_files = true);
Module load(
    std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool load_debug_files = true);
Module load(
    const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& reader,
    std::optional<c10::Device> device = std::nullopt, bool load_debug_files = true);
Module load(
    const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& reader, std::optional<c10::Device> device,
    ExtraFilesMap& extra_files, bool load_debug_files = true);

}  // namespace cresset
