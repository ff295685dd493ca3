// Rewrite rules as lines of rewrite_rules.def:
//
//   pattern -> result if condition
//
// in the expression language of the operator table (ops/expression.h).
//
// A pattern is a call of an operator by its full name, whose arguments are patterns, constants (0, None, False) or
// names. A name stands for one value, `_` for any. A node in the middle of a pattern may have other uses, but nothing
// writes to what it returns.
//
// The result is a name of the pattern, a constant, a call of a function (rewrite_functions.cpp) that computes a
// constant from values, or a call of an operator, which becomes a node. If a function can't tell, the rule does not
// hold.
//
// A condition connects functions that answer True or False by `and`, `or`, `not`. What one can't tell does not hold,
// and neither does its negation.
//
// Thread-safety: rules are immutable, but for whether they have held, which is atomic.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ops/expression.h"

namespace cresset {

/// Whether anything in the graph may write to a value.
using AskIfWritten = std::function<bool(const Value* value)>;

/// What functions of rules compute of values: a constant; nothing if they can't tell. An argument that is a text in the
/// rule is no value, but `text`.
struct RewriteArguments {
  std::vector<Value*> values;
  std::string_view text;
  const AskIfWritten& is_written;
};
struct RewriteFunction {
  std::string_view name;
  size_t num_values;
  std::optional<c10::IValue> (*compute)(const RewriteArguments& arguments);
  bool takes_text = false;  // in the place of the last value
};
/// Null if there is none of this name.
const RewriteFunction* rewriteFunction(std::string_view name);

class RewriteRules {
 public:
  /// Those of rewrite_rules.def.
  static const RewriteRules& get();
  /// Throws std::invalid_argument for a line that is none, names no operator of the table, calls it with another number
  /// of arguments, calls a function that is none or with other arguments than it takes, or uses a name that its pattern
  /// lacks.
  explicit RewriteRules(std::span<const std::string_view> lines);

  /// The value that stands for the node's output by the first rule that holds; null if there is none. New nodes are
  /// inserted before the node, which stays.
  Value* apply(Node* node, const AskIfWritten& is_written) const;

  /// The lines of the rules that have replaced nothing yet in this process, for tests, sorted.
  std::vector<std::string_view> unused() const;

 private:
  struct Rule {
    std::string_view line;
    Expression pattern, result;
    std::optional<Expression> condition;
    std::unique_ptr<std::atomic<bool>> has_held = std::make_unique<std::atomic<bool>>(false);
  };
  static Rule parse(std::string_view line);

  std::unordered_map<std::string_view, std::vector<Rule>> rules_;  // by the operator of their patterns
};

}  // namespace cresset
