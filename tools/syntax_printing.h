// Tokens and trees as text, for cresset-opt and the text tests.
#pragma once

#include <memory>
#include <string>

#include "cresset/frontend/tree.h"

namespace cresset::tools {

/// One token per line: `LINE:COLUMN name text`, columns from 0; the text is left out where the name says it.
std::string printTokens(const std::shared_ptr<const Source>& source);

enum class TreeStyle {
  Pretty,  // wrapped
  Flat,    // one line per statement
  Ranges,  // as Flat, each tree with its place: (ident@LINE:COLUMN-LINE:COLUMN x)
};
/// The statements and definitions of a source, each ending in a line break; of expression statements, the expression.
std::string printTrees(const std::shared_ptr<const Source>& source, TreeStyle style);

}  // namespace cresset::tools
