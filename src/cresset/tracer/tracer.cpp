// The tracer's interface to the rest of the library.
#include "cresset/tracer/tracer.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include "cresset/ir/without_shapes.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/shown_types.h"
#include "cresset/tracer/recorder.h"

namespace cresset {

bool tracing() noexcept {
  return tracer::Recorder::current() != nullptr;
}

namespace tracer {

void runTraced(Function& function, Stack& stack) {
  Recorder::current()->runFunction(function, stack);
}

Function& declareTraced(
    Program& program, const c10::ClassTypePtr& self, const std::string& name, std::shared_ptr<Graph> graph) {
  std::vector<c10::Argument> arguments, returns;
  for (const Value* input : graph->inputs()) {
    std::string argument = input->debugName();
    argument = argument.substr(0, argument.find('.'));
    if (!input->hasDebugName()) argument = "argument_" + std::to_string(arguments.size() + (self ? 0 : 1));
    arguments.emplace_back(argument, withoutShapes(input->type()));
  }
  returns.emplace_back("", withoutShapes(graph->outputs()[0]->type()));
  const c10::QualifiedName qualified =
      self ? c10::QualifiedName(*self->name(), name) : program.mangle(c10::QualifiedName(name));
  c10::FunctionSchema schema(qualified.name(), "", std::move(arguments), std::move(returns));
  const SourceRange range = graph->nodes().empty() ? SourceRange() : graph->nodes().front()->sourceRange();
  std::shared_ptr<Graph> body = graph->copy();
  forgetTensorTypes(*body);
  Function& function = program.declare(qualified, [body](Function& declared) { declared.setGraph(body); });
  function.setSchema(std::move(schema));
  function.setSourceRange(range);
  if (self) self->addMethod(&function);
  function.ensure_defined();
  function.editableGraph([&](Graph& shown) {
    copyTypes(*graph, shown);
    tidyDefinition(shown);
  });
  return function;
}

}  // namespace tracer
}  // namespace cresset
