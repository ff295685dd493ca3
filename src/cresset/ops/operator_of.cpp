// From nodes to operators: for graphs that were parsed or built by hand, whose nodes carry only a name.
//
// The operator is the first overload, in ranking order, whose arguments are supertypes of the node's inputs: no
// conversions, no defaults, since a node has an input for every argument. The result is remembered on the node.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "cresset/ir/printer.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

bool fits(const c10::FunctionSchema& schema, const Node& node, c10::TypeEnv& env, std::string* why) {
  const auto& arguments = schema.arguments();
  auto inputs = node.inputs();
  auto refuse = [&](const std::string& reason) {
    if (why) {
      std::ostringstream out;
      out << "  " << schema << ":\n    " << reason << "\n";
      *why += out.str();
    }
    return false;
  };
  if (inputs.size() < arguments.size() || (inputs.size() > arguments.size() && !schema.is_vararg())) {
    return refuse(
        "takes " + std::to_string(arguments.size()) + " inputs, the node has " + std::to_string(inputs.size()));
  }
  if (!schema.is_varret() && node.outputs().size() != schema.returns().size()) {
    return refuse(
        "gives " + std::to_string(schema.returns().size()) + " outputs, the node has " +
        std::to_string(node.outputs().size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TypePtr& type = inputs[i]->type();
    TypePtr formal = arguments[i].type();
    if (type == formal) continue;
    if (formal->hasFreeVariables()) {
      auto matched = c10::matchTypeVariables(formal, type, env);
      formal = matched.success() ? c10::tryEvalTypeVariables(formal, env) : nullptr;
    }
    if (!formal || !type->isSubtypeOf(*formal)) {
      return refuse(
          "input " + std::to_string(i) + " ('" + arguments[i].name() + "') should be '" +
          arguments[i].type()->repr_str() + "' but is '" + type->repr_str() + "'");
    }
  }
  return true;
}

bool takeTheSame(const c10::FunctionSchema& a, const c10::FunctionSchema& b) {
  return std::equal(
      a.arguments().begin(), a.arguments().end(), b.arguments().begin(), b.arguments().end(),
      [](const c10::Argument& x, const c10::Argument& y) { return *x.type() == *y.type(); });
}

bool returnsOutputs(const c10::FunctionSchema& schema, const Node& node) {
  if (schema.is_varret()) return true;
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    const TypePtr& type = schema.returns()[i].type();
    if (!type->hasFreeVariables() && !type->isSubtypeOf(*node.outputs()[i]->type())) return false;
  }
  return true;
}

/// The first overload that the inputs fit, and what its type variables are then; null if none does. Of overloads that
/// take the same (prim::EnumValue), the one that returns what the node's outputs are.
const Operator* firstFitting(const Node& node, c10::TypeEnv& env) {
  const Operator* first = nullptr;
  for (const Operator* op : OperatorTable::get().overloads(node.kind())) {
    if (first) {
      if (takeTheSame(first->schema(), op->schema()) && returnsOutputs(op->schema(), node)) return op;
      continue;
    }
    env.clear();
    if (!fits(op->schema(), node, env, nullptr)) continue;
    if (returnsOutputs(op->schema(), node)) return op;
    first = op;
  }
  return first;
}

[[noreturn]] void throwUnmatched(const Node& node) {
  auto overloads = OperatorTable::get().overloads(node.kind());
  std::string name = node.kind().toQualString();
  if (overloads.empty()) {
    std::string message = "Unknown operator " + name + ".";
    auto similar = OperatorTable::get().similarNames(node.kind());
    for (size_t i = 0; i < similar.size(); ++i) message += (i ? ", " : " Similar names: ") + similar[i];
    throw UserError(message, node.sourceRange());
  }
  std::string why;
  for (const Operator* op : overloads) {
    c10::TypeEnv env;
    fits(op->schema(), node, env, &why);
  }
  throw UserError("No overload of " + name + " takes these inputs:\n" + why, node.sourceRange());
}

}  // namespace

const Operator* operatorOf(Node& node) {
  if (const Operator* bound = node.boundOperator()) return bound;
  if (isStructural(node.kind())) return nullptr;
  c10::TypeEnv env;
  const Operator* op = firstFitting(node, env);
  if (!op) throwUnmatched(node);
  node.bindOperator(op);
  return op;
}

std::vector<TypePtr> resultTypes(const Node& node) {
  c10::TypeEnv env;
  const Operator* op = isStructural(node.kind()) ? nullptr : firstFitting(node, env);
  if (!op || op->schema().is_varret()) return {};
  std::vector<TypePtr> types;
  for (const c10::Argument& result : op->schema().returns()) {
    TypePtr type = result.type();
    if (type->hasFreeVariables()) type = c10::tryEvalTypeVariables(type, env);
    if (!type) return {};
    types.push_back(std::move(type));
  }
  return types;
}

bool hasTrait(const Node& node, Trait trait) {
  const Operator* op = operatorOf(node);
  return op && op->hasTrait(trait);
}

namespace {

std::string firstLine(std::string text) {
  text = text.substr(0, text.find('\n'));
  size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? text : text.substr(begin);
}

/// The printed graph with the complaint under the line of `node`.
std::string pictureOf(const Graph& graph, const Node& node, const std::string& complaint) {
  std::string text = toString(graph), line = firstLine(toString(node)), result;
  std::istringstream lines(text);
  bool marked = false;
  for (std::string l; std::getline(lines, l);) {
    result += l + "\n";
    if (!marked && firstLine(l) == line) {
      size_t indent = l.find_first_not_of(' ');
      result += std::string(indent, ' ') + std::string(l.size() - indent, '~') + "\n";
      std::istringstream reasons(complaint);
      for (std::string reason; std::getline(reasons, reason);)
        result += std::string(indent, ' ') + "^ " + reason + "\n";
      marked = true;
    }
  }
  return marked ? result : complaint;
}

void verifyBlock(Graph& graph, Block& block) {
  for (Node* node : block.nodes()) {
    try {
      operatorOf(*node);
    } catch (const UserError& error) {
      throw UserError(pictureOf(graph, *node, error.message()), node->sourceRange());
    }
    for (Block* inner : node->blocks()) verifyBlock(graph, *inner);
    if (isStructural(node->kind()) && node->hasAttribute(attr::Subgraph)) verifyOperators(*node->g(attr::Subgraph));
  }
}

}  // namespace

void verifyOperators(Graph& graph) {
  verifyBlock(graph, *graph.block());
}

}  // namespace cresset
