// What Cresset knows of operators, as text: for `cresset-opt --operator` and docs/operators.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cresset {

/// The row of an overload ("aten::add.Tensor"), or those of all overloads of a name ("aten::add"), with what schemas
/// and tags add, a line per column. Throws UserError if there is no such operator.
std::string describeOperators(std::string_view name);

/// Every row of the table as Markdown: a section per file of ops/table, a table of its rows.
std::string operatorsAsMarkdown();

/// A message per row that names no operator of this PyTorch, per second row of one, and per column that stands twice.
std::vector<std::string> tableErrors();

}  // namespace cresset
