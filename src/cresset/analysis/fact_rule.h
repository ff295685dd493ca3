// Rules for facts, in the expression language of the table (ops/expression.h): what is known of an operator's results,
// one expression per result, computed from what is known of its arguments.
//
// `a or b` is b where a is None. Names are
// the arguments of the operator's schema; the names of dtypes (`int64`), `default` (torch.get_default_dtype()), `cpu`,
// and `unknown`. Where a dtype is expected, a tensor stands for its dtype; where sizes are, for its sizes. Functions
// are those of fact_functions.cpp. What depends on an unknown is unknown; an `if` of unknown condition is what both
// sides have in common. An expression that makes no sense for its arguments (a dimension out of range) is unknown,
// since the operator raises.
//
// A dimension is a size with a stride. What picks, reorders and drops dimensions of a tensor (`swapped`, `removed`, …)
// takes their strides along, for `view`, whose result is in the memory of its first argument. To `tensor` they are
// sizes alone: how the new tensor lies in memory is what analysis/result_layout.h says.
//
// Thread-safety: rules are immutable, but for FactRule::replace.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/analysis/fact.h"

namespace cresset {

class Operator;

class FactRule {
 public:
  /// The rule in the table; null if the operator has none.
  static const FactRule* of(const Operator& op);
  /// For tests of what false rules lead to: takes the place of the rule in the table, which the operator must have,
  /// for as long as the process lives. Not while others ask for rules.
  static void replace(const Operator& op, std::string_view text);
  /// Throws std::invalid_argument, with the place in the text.
  explicit FactRule(std::string_view text);
  ~FactRule();

  /// One fact per result; `arguments` in the order of the operator's schema.
  std::vector<Fact> evaluate(const Operator& op, std::span<const Fact> arguments) const;

  /// Names that are not arguments, constants or functions, for the table test.
  std::vector<std::string> unknownNames(const Operator& op) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// What the functions of rules compute; null if there is none of this name.
using FactFunction = Fact (*)(std::span<const Fact> arguments);
FactFunction factFunction(std::string_view name);

}  // namespace cresset
