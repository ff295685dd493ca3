// The abstract syntax: trees of a kind, a range, and either text (an atom) or subtrees.
//
// Trees are immutable and shared. Their kinds are token kinds (support/lexer.h). toString returns s-expressions.
// Thread-safety: immutable.
#pragma once

#include <atomic>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cresset/support/lexer.h"

namespace cresset {

class Tree;

/// A shared reference to a tree, or null. One word, since a program has a dozen trees per statement.
class TreeRef {
 public:
  TreeRef() = default;
  TreeRef(std::nullptr_t) {}
  TreeRef(const TreeRef& other) : tree_(other.tree_) { retain(); }
  TreeRef(TreeRef&& other) noexcept : tree_(std::exchange(other.tree_, nullptr)) {}
  TreeRef& operator=(TreeRef other) noexcept {
    std::swap(tree_, other.tree_);
    return *this;
  }
  ~TreeRef() { release(); }
  const Tree* get() const { return tree_; }
  const Tree& operator*() const { return *tree_; }
  const Tree* operator->() const { return tree_; }
  explicit operator bool() const { return tree_ != nullptr; }
  bool operator==(const TreeRef&) const = default;

 private:
  friend class Tree;
  explicit TreeRef(const Tree* tree) : tree_(tree) { retain(); }
  inline void retain() const;
  inline void release();
  const Tree* tree_ = nullptr;
};

class Tree {
 public:
  static TreeRef atom(SourceRange range, std::string text);  // kind TK_NOTHING
  static TreeRef make(int kind, SourceRange range, std::initializer_list<TreeRef> subtrees);
  static TreeRef make(int kind, SourceRange range, std::vector<TreeRef> subtrees);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  int kind() const { return kind_; }
  bool isAtom() const { return atom_; }
  const std::string& text() const;  // atoms
  const SourceRange& range() const { return range_; }
  std::span<const TreeRef> trees() const { return {subtrees(), size_}; }
  const TreeRef& tree(size_t i) const;  // InternalError past the end

  /// How many calls deep a traversal goes that follows the left operands of binary operators in a loop. The parser
  /// keeps it under a limit, so such traversals may recurse.
  uint32_t depth() const { return depth_; }

  /// "(- (variable (ident x)) (const 1))" on one line; with `pretty`, a tree wider than 40 columns has its subtrees on
  /// lines of their own. The text of string literals is quoted.
  std::string toString(bool pretty = false) const;

 private:
  friend class TreeRef;
  // The subtrees, or the text of an atom, stand after the tree in the same piece of memory.
  Tree(int kind, bool atom, SourceRange range)
      : kind_(static_cast<int16_t>(kind)), atom_(atom), range_(std::move(range)) {}
  ~Tree() = default;
  static Tree* allocate(int kind, bool atom, SourceRange&& range, size_t bytes_behind);
  void add(TreeRef subtree, bool on_spine);
  static void destroy(const Tree* root);  // not recursive: a tree may be as deep as a program is long
  TreeRef* subtrees() const { return reinterpret_cast<TreeRef*>(const_cast<Tree*>(this) + 1); }
  std::string* atomText() const { return reinterpret_cast<std::string*>(const_cast<Tree*>(this) + 1); }

  mutable std::atomic<uint32_t> references_{0};
  int16_t kind_;
  bool atom_;
  uint32_t depth_ = 0;
  uint32_t size_ = 0;  // number of subtrees
  SourceRange range_;
};

inline void TreeRef::retain() const {
  if (tree_) tree_->references_.fetch_add(1, std::memory_order_relaxed);
}
inline void TreeRef::release() {
  if (tree_ && tree_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Tree::destroy(tree_);
}

}  // namespace cresset
