#include "cresset/passes/lower_graph.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"

namespace cresset {
namespace {

/// "layers.0.weight": `layers_0_weight`; a name that begins with a digit gets an underscore.
std::string nameOf(const std::string& path) {
  std::string name = std::isdigit(static_cast<unsigned char>(path[0])) ? "_" + path : path;
  std::ranges::replace(name, '.', '_');
  return name;
}

bool isModule(const Value* value) {
  const auto type = value->type()->cast<c10::ClassType>();
  return type && type->is_module();
}

class Lowerer {
 public:
  explicit Lowerer(LoweredGraph& result) : result_(result) {}

  void lower(Value* module, const std::string& prefix) {
    for (const Use& use : module->uses().vec()) {
      Node* node = use.user;
      if (node->kind() != prim::GetAttr) {
        throw UserError(
            node->kind() == prim::SetAttr
                ? "The attribute '" + prefix + node->s(attr::name) + "' is set here, so it can't become an input."
                : "The module '" + (prefix.empty() ? "self" : prefix.substr(0, prefix.size() - 1)) +
                      "' is used as a value here, so its attributes can't become inputs.",
            node->sourceRange());
      }
      const std::string path = prefix + node->s(attr::name);
      if (isModule(node->output())) {
        lower(node->output(), path + ".");
      } else {
        node->output()->replaceAllUsesWith(inputOf(path, node->output()->type()));
      }
      node->destroy();
    }
  }

 private:
  Value* inputOf(const std::string& path, const TypePtr& type) {
    Value*& input = inputs_[path];
    if (!input) {
      input = result_.graph->addInput()->setType(type)->setDebugName(nameOf(path));
      result_.attributes.push_back(path);
    }
    return input;
  }

  LoweredGraph& result_;
  std::unordered_map<std::string, Value*> inputs_;
};

}  // namespace

LoweredGraph lowerGraph(const Graph& method) {
  LoweredGraph result{method.copy(), {}};
  inlineForReading(*result.graph);
  if (result.graph->inputs().empty() || !isModule(result.graph->inputs()[0]))
    throw UserError("Only the graph of a module's method has attributes that can become inputs.");
  Lowerer(result).lower(result.graph->inputs()[0], "");
  result.graph->block()->eraseInput(0);
  return result;
}

}  // namespace cresset
