// Saving modules, and functions as modules.
#include "cresset/archive/save.h"

#include <ATen/core/class_type.h>

#include "cresset/module/module.h"

namespace cresset {

namespace {

template <typename Target>
void saveTo(const Module& module, Target& target, const ExtraFilesMap& extra_files) {
  SaveOptions options;
  options.extra_files = &extra_files;
  saveArchive(IValue(module._ivalue()), target, options);
}

}  // namespace

void Module::save(const std::string& path, const ExtraFilesMap& extra_files) const {
  saveTo(*this, path, extra_files);
}

void Module::save(std::ostream& out, const ExtraFilesMap& extra_files) const {
  saveTo(*this, out, extra_files);
}

Module moduleOfFunction(Function& function) {
  // torch.jit's name for it.
  Module module("__torch__.PlaceholderModule");
  auto type = module.type();
  auto graph = function.definition()->copy();
  graph->block()->insertInput(0, "self")->setType(type);
  const c10::FunctionSchema& schema = function.getSchema();
  std::vector<c10::Argument> arguments{c10::Argument("self", type)};
  arguments.insert(arguments.end(), schema.arguments().begin(), schema.arguments().end());
  Function& forward = module.program()->declare(
      c10::QualifiedName(*type->name(), "forward"), [graph](Function& f) { f.setGraph(graph); });
  forward.setSchema(c10::FunctionSchema("forward", "", std::move(arguments), schema.returns()));
  forward.setSourceRange(function.sourceRange());
  type->addMethod(&forward);
  return module;
}

}  // namespace cresset
