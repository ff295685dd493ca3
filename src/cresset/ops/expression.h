// The small expression language of the operator table's columns: rules for facts (analysis/fact_rule.h), scalar bodies
// (codegen/scalar_body.h); and of rewrite rules (passes/rewrite_rules.h).
//
//   list    = [name "=" expr ";"]* expr ["," expr]*
//   expr    = or ["if" or "else" expr]
//   or      = and ["or" and]*                                and so on, each binding more tightly:
//             "and" | comparisons and "is", "is not" | "|" | "^" | "&" | "<<" ">>" | "+" "-" | "*" "/" "//"
//
// with numbers, 'texts', names (also `aten::add.int`), lists, calls, subscripts, slices, and - ~ not before an
// expression, as in Python; comparisons don't chain. What names and functions mean says who evaluates the expressions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cresset {

/// Texts are parts of what was parsed.
struct Expression {
  enum class Kind : uint8_t {
    Integer,
    Real,
    Text,
    Name,
    None,
    True,
    False,
    List,
    Call,
    Subscript,
    Slice,  // the list, the start, the end
    Binary,
    Unary,
    If,  // the condition, then, else
  };
  Kind kind;
  std::string_view text;  // of a name, a called function, an operator, a text
  int64_t integer = 0;
  double real = 0;
  std::vector<Expression> children;
};

struct ExpressionList {
  struct Assignment {
    std::string_view name;
    Expression value;
  };
  std::vector<Assignment> assignments;
  std::vector<Expression> results;
};

/// Throws std::invalid_argument, with the place in the text. Recurses: for texts of the table only.
ExpressionList parseExpressions(std::string_view text);

}  // namespace cresset
