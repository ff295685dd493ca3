// torch::jit's C++ names for Cresset's.
//
//   #include <cresset/torch_jit.h>      // was <torch/script.h>
//   namespace jit = cresset::jit;       // was torch::jit
//
//   jit::script::Module model = jit::load("model.pt");
//
// Using-declarations, and graphs that print themselves: what a name means stands where cresset declares it. A name that
// is missing here has no counterpart; docs/porting.md says what to write instead. <torch/script.h> also brought
// tensors' factories: include <torch/types.h> and <torch/csrc/autograd/generated/variable_factories.h> where they are
// used.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/qualified_name.h>

#include <ostream>

#include "cresset/cresset.h"
#include "cresset/ir/graph.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"

namespace cresset {

// `std::cout << *graph`. As text, also in other forms: toString(*graph, options), ir/printer.h.
inline std::ostream& operator<<(std::ostream& out, const Graph& graph) {
  return out << toString(graph);
}
inline std::ostream& operator<<(std::ostream& out, const Block& block) {
  return out << toString(block);
}
inline std::ostream& operator<<(std::ostream& out, const Node& node) {
  return out << toString(node);
}

}  // namespace cresset

namespace cresset::jit {

// c10's, which torch::jit calls its own too.
using ::c10::Argument;
using ::c10::FunctionSchema;
using ::c10::IValue;
using ::c10::OperatorName;
using ::c10::QualifiedName;
using ::c10::Symbol;
using ::c10::TypePtr;

using ::cresset::ExtraFilesMap;
using ::cresset::Kwargs;
using ::cresset::ObjectPtr;
using ModulePtr = ::cresset::ObjectPtr;
using ::cresset::Stack;

using ::cresset::CompilationUnit;
using ::cresset::compile;
using ::cresset::freeze;
using ::cresset::Function;
using ::cresset::FusionBehavior;
using ::cresset::FusionStrategy;
using ::cresset::getExecutorMode;
using ::cresset::getFusionStrategy;
using ::cresset::getGraphExecutorOptimize;
using ::cresset::getProfilingMode;
using ::cresset::GraphOptimizerEnabledGuard;
using ::cresset::load;
using ::cresset::Method;
using ::cresset::Module;
using ::cresset::Object;
using ::cresset::optimize_for_inference;
using ::cresset::setFusionStrategy;
using ::cresset::setGraphExecutorOptimize;

using ::cresset::attribute_list;
using ::cresset::buffer_list;
using ::cresset::module_list;
using ::cresset::Named;
using ::cresset::named_attribute_list;
using ::cresset::named_buffer_list;
using ::cresset::named_module_list;
using ::cresset::named_parameter_list;
using ::cresset::NameModule;
using ::cresset::NameTensor;
using ::cresset::NameValue;
using ::cresset::parameter_list;

using ::cresset::pickle_load;
using ::cresset::pickle_save;

using ::cresset::Block;
using ::cresset::Graph;
using ::cresset::Node;
using ::cresset::parseName;
using ::cresset::parseSchema;
using ::cresset::parseSchemaOrName;
using ::cresset::PrintOptions;
using ::cresset::toString;
using ::cresset::Use;
using ::cresset::Value;

using ::cresset::Resolver;
using ::cresset::ResolverPtr;
inline ResolverPtr nativeResolver() {
  return ::cresset::builtinResolver();
}

using ErrorReport = ::cresset::UserError;
using JITException = ::cresset::ScriptError;

namespace script {
using ::cresset::CompilationUnit;
using ::cresset::ExtraFilesMap;
using ::cresset::Method;
using ::cresset::Module;
using ::cresset::Object;
}  // namespace script

}  // namespace cresset::jit
