// TorchScript source to trees: a top-down operator-precedence ("Pratt") parser.
#pragma once

#include <memory>

#include "cresset/frontend/tree_views.h"

namespace cresset {

/// Throws UserError, with a range, at text that is not TorchScript, and where nesting exceeds kMaxNesting.
class SourceParser {
 public:
  explicit SourceParser(std::shared_ptr<const Source> source);
  ~SourceParser();

  /// The definitions of a file: `def`, `class`; `import` lines (archives from long ago have them) are skipped.
  std::vector<TreeRef> parseFile(); // Def or ClassDef trees
  Def parseFunction();
  ClassDef parseClass();
  Expr parseExpression();
  /// The type comment `(int, Tensor) -> Tensor` or annotation text of a string.
  Expr parseType();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace cresset
