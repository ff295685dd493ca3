// CompilationUnit: a Program with the interface of torch::jit's; and load, which makes Modules of archives.
#include "cresset/archive/archive.h"
#include "cresset/frontend/compiler.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"

namespace cresset {

void CompilationUnit::define(const std::string& source, ResolverPtr resolver, const std::string& file) {
  DefineOptions options;
  options.resolver = std::move(resolver);
  defineSource(*program_, std::make_shared<const Source>(source, file.empty() ? "<string>" : file), options);
}

Function* CompilationUnit::find_function(const std::string& name) const {
  return program_->findFunction(c10::QualifiedName(name));
}

Function& CompilationUnit::get_function(const std::string& name) const {
  if (Function* function = find_function(name)) return *function;
  std::string known;
  for (Function* function : get_functions())
    known += (known.empty() ? "'" : ", '") + function->qualname().qualifiedName() + "'";
  throw UserError(
      "There is no function '" + name + "' in this compilation unit. " +
      (known.empty() ? "It has no functions." : "It has: " + known + "."));
}

std::vector<Function*> CompilationUnit::get_functions() const {
  // Methods live in the program too, under their class's name; they belong to the class.
  std::vector<Function*> result;
  for (Function* function : program_->functions()) {
    const std::string& prefix = function->qualname().prefix();
    if (prefix.empty() || !program_->findType(c10::QualifiedName(prefix))) result.push_back(function);
  }
  return result;
}

namespace {

template <typename Input>
Module loadFrom(Input& input, std::optional<c10::Device> device, ExtraFilesMap* extra_files) {
  LoadOptions options;
  options.device = device;
  options.extra_files = extra_files;
  return Module(loadArchive(input, options).root);
}

}  // namespace

Module load(const std::string& path, const LoadOptions& options) {
  return Module(loadArchive(path, options).root);
}
Module load(std::istream& in, const LoadOptions& options) {
  return Module(loadArchive(in, options).root);
}
Module load(const std::string& path, std::optional<c10::Device> device) {
  return loadFrom(path, device, nullptr);
}
Module load(const std::string& path, std::optional<c10::Device> device, ExtraFilesMap& extra_files) {
  return loadFrom(path, device, &extra_files);
}
Module load(std::istream& in, std::optional<c10::Device> device) {
  return loadFrom(in, device, nullptr);
}
Module load(std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files) {
  return loadFrom(in, device, &extra_files);
}

}  // namespace cresset
