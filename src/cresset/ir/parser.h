// Text to graphs, types and schemas. All throw UserError with a range into the text; nesting is limited to
// kMaxNesting.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/operator_name.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ir/printer.h"

namespace torch::jit {
struct Function;
}

namespace cresset {

/// How deep types, constants and expressions may nest in any text that Cresset reads. (Blocks of IR text may nest
/// deeper: programs with many early returns make them.)
inline constexpr int kMaxNesting = 200;

/// Returns the type for a qualified name ("__torch__.M"); null if there is none.
using TypeResolver = std::function<TypePtr(const std::string& qualified_name)>;

struct ParseOptions {
  TypeResolver types;
  const ConstantTable* constants = nullptr;  // what CONSTANTS.cN refers to
  std::string file;                          // for messages; "" is "<ir>"
  /// What a constant of type Function refers to by its `name`; must outlive the graph. Null if there is none.
  std::function<torch::jit::Function*(const std::string& name)> functions;
  /// The types of a node's results, for those that the text writes without a type; empty if they are not known. Without
  /// it, or if empty, such a result is a Tensor.
  std::function<std::vector<TypePtr>(const Node& node)> result_types;
};

/// Parses the textual IR. Operators are not looked up. The result passes verify() or an error is thrown. Comments
/// after nodes, `# model.py:7:4`, are source ranges whose text is unknown; `<string>` is the file without a name.
std::shared_ptr<Graph> parseGraph(const std::string& text, const ParseOptions& options = {});

/// Parses a type as IR text and schemas write it. "t"-like lower-case names that are no type are type variables if
/// `allow_type_variables`.
TypePtr parseType(const std::string& text, const TypeResolver& types = {}, bool allow_type_variables = false);

/// Parses "ns::name.overload(Tensor(a!) self, *, int[2] size=1) -> (Tensor(a!), ...)". The result prints and compares
/// equal to the dispatcher's schema of the same text.
c10::FunctionSchema parseSchema(const std::string& text, const TypeResolver& types = {});
/// Parses the same, or only a name: "ns::name.overload".
std::variant<c10::OperatorName, c10::FunctionSchema> parseSchemaOrName(
    const std::string& text, const TypeResolver& types = {});
/// Parses "ns::name.overload".
c10::OperatorName parseName(const std::string& text);

}  // namespace cresset
