// The rows of the operator table (ops/table/table.def), as ops and analysis read them. The columns of derivatives are
// read by autodiff/derivatives.cpp.
#pragma once

#include <span>
#include <string_view>

#include "cresset/ops/operator.h"

namespace cresset {

struct OperatorRow {
  std::string_view name;   // "aten::add.Tensor"
  std::string_view facts;  // of the results (analysis/fact_rule.h); empty if nothing is known of them
  Trait traits = Trait::None;
  Autocast autocast_cpu = Autocast::Unknown, autocast_cuda = Autocast::Unknown;
};

/// "Lower", as in the table.
std::string_view nameOf(Autocast policy);

/// Of all operators that have one, in the order of the files.
std::span<const OperatorRow> operatorRows();
/// Null if the operator has none.
const OperatorRow* findOperatorRow(std::string_view full_name);

}  // namespace cresset
