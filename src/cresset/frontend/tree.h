// The abstract syntax: trees of a kind, a range, and either text (an atom) or subtrees.
//
// Trees are immutable and shared. Their kinds are token kinds (support/lexer.h). toString gives s-expressions.
// Thread-safety: immutable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cresset/support/lexer.h"

namespace cresset {

class Tree;
using TreeRef = std::shared_ptr<const Tree>;

class Tree {
 public:
  static TreeRef atom(SourceRange range, std::string text);  // kind TK_NOTHING
  static TreeRef make(int kind, SourceRange range, std::vector<TreeRef> subtrees);
  ~Tree();  // not recursive: a tree may be as deep as a program is long

  int kind() const { return kind_; }
  bool isAtom() const { return atom_; }
  const std::string& text() const;  // atoms
  const SourceRange& range() const { return range_; }
  const std::vector<TreeRef>& trees() const { return trees_; }
  const TreeRef& tree(size_t i) const;  // InternalError past the end

  /// How many calls deep a walk goes that follows the left operands of binary operators in a loop. The parser keeps it
  /// under a limit, so such walks may recurse.
  uint32_t depth() const { return depth_; }

  /// "(- (variable (ident x)) (const 1))" on one line; with `pretty`, a tree wider than 40 columns has its subtrees on
  /// lines of their own. The text of string literals is quoted.
  std::string toString(bool pretty = false) const;

  Tree(int kind, bool atom, SourceRange range, std::string text, std::vector<TreeRef> trees);

 private:
  int kind_;
  bool atom_;
  uint32_t depth_;
  SourceRange range_;
  std::string text_;
  std::vector<TreeRef> trees_;
};

}  // namespace cresset
