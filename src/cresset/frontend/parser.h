// TorchScript source to trees: a top-down operator-precedence ("Pratt") parser.
#pragma once

#include <memory>

#include "cresset/frontend/tree_views.h"

namespace cresset {

/// Throws UserError, with a range, at text that is not TorchScript, and where nesting exceeds kMaxNesting
/// (ir/parser.h). Call one of the functions, once; each takes the whole text.
///
/// Trees are in canonical form where Python offers several: targets `[a, b]` are tuples, a string that is an annotation
/// is the expression in it, adjacent strings are joined, f-strings are calls of `format`, `del (a, b)` is `del a, b`.
class SourceParser {
 public:
  explicit SourceParser(std::shared_ptr<const Source> source);
  ~SourceParser();

  /// The definitions of a file: `def`, `class`. `import` lines, a docstring and `op_version_set = N` (archives from
  /// long ago have them) are skipped.
  std::vector<TreeRef> parseFile();  // Def or ClassDef trees
  Def parseFunction();
  /// The `def` of a Python function that begins, with its decorators, in the line at `offset`. Decorators are skipped
  /// unread. What follows the `def` is not looked at, and need not be TorchScript.
  Def parseFunctionAt(size_t offset);
  ClassDef parseClass();
  /// Line breaks and indentation mean nothing.
  Expr parseExpression();
  /// The text of an annotation, such as a string annotation holds.
  Expr parseType();
  /// The statements of a function's body, for tools.
  std::vector<TreeRef> parseStatements();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cresset
