// The fact column of the operator table: what an operator's results are like, as text (facts_*.def).
//
// A rule names one overload. It says of each result how its dtype and sizes come from the arguments, in a small
// expression language (analysis/fact_rule.h). There is no fall-back from an overload to another: an operator without a
// rule has results of which nothing is known.
#pragma once

#include <span>
#include <string_view>

namespace cresset {

struct FactRow {
  std::string_view operator_name;  // "aten::add.Tensor"
  std::string_view rule;
};

/// All rows, in the order of their files.
std::span<const FactRow> factRows();

}  // namespace cresset
