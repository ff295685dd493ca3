#include "cresset/ops/basic.h"

#include <ATen/core/function_schema.h>

#include <array>

#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr ColumnCell<Basic> kBasics[] = {
#define OPERATOR(name) {name, {}},
#define BASIC(operation) {{}, Basic::operation},
#include "cresset/ops/table/table.def"
};

struct BasicOperator {
  Symbol kind;
  size_t num_inputs = 0;
  bool takes_more = false;
};

using BasicOperators = std::array<BasicOperator, static_cast<size_t>(Basic::Count)>;

BasicOperators readBasics() {
  BasicOperators operators;
  for (const auto& [name, operation] : byOperator(kBasics)) {
    const Operator* op = OperatorTable::get().find(name);
    CRESSET_CHECK(op, std::string(name) + " is in the table");
    BasicOperator& row = operators[static_cast<size_t>(operation)];
    CRESSET_CHECK(row.num_inputs == 0, std::string(name) + ": BASIC twice");
    row = {op->kind(), op->schema().arguments().size(), op->schema().is_vararg()};
  }
  for (const BasicOperator& row : operators) CRESSET_CHECK(row.num_inputs != 0, "each Basic has a row");
  return operators;
}

const BasicOperator& rowOf(Basic operation) {
  static const BasicOperators operators = readBasics();
  return operators[static_cast<size_t>(operation)];
}

}  // namespace

Symbol kindOf(Basic operation) {
  return rowOf(operation).kind;
}

bool isBasic(const Node& node, Basic operation) {
  const BasicOperator& row = rowOf(operation);
  const size_t num_inputs = node.inputs().size();
  return node.kind() == row.kind && (row.takes_more ? num_inputs >= row.num_inputs : num_inputs == row.num_inputs);
}

bool isClosingCopy(const Node& node) {
  return isBasic(node, Basic::Copy) || isBasic(node, Basic::NoGradCopy) || isBasic(node, Basic::CopyIfWritten);
}

Node* insertBasic(Graph& graph, Basic operation, std::span<Value* const> inputs) {
  const bool has_result = operation != Basic::Raise && operation != Basic::CheckOverlap;
  Node* node = graph.insertNode(graph.create(kindOf(operation), inputs, has_result ? 1 : 0));
  operatorOf(*node);
  if (has_result) node->output()->setType(resultTypes(*node).at(0));
  return node;
}

}  // namespace cresset
