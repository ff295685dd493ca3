// The abstract syntax: trees of a kind, a range, and either text (an atom) or subtrees.
//
// A chain of operators makes a tree as deep as it is long, so neither destruction nor printing recurses: both keep a
// stack of their own.
#include "cresset/frontend/tree.h"

#include <algorithm>
#include <unordered_map>

#include "cresset/frontend/tree_views.h"
#include "cresset/support/error.h"

namespace cresset {
namespace {

uint32_t depthOf(int kind, const std::vector<TreeRef>& trees) {
  uint32_t depth = 0;
  bool left_spine = trees.size() == 2 && BinOp::is(kind);
  for (size_t i = 0; i < trees.size(); ++i) {
    uint32_t d = trees[i]->depth() + (left_spine && i == 0 ? 0 : 1);
    depth = std::max(depth, d);
  }
  return depth;
}

/// The trees whose destruction has begun on this thread, further up its stack.
thread_local std::vector<TreeRef>* t_dying = nullptr;

/// A walk over a tree: each step opens a tree, closes one, or finds an atom.
class Walk {
 public:
  enum class Step { Open, Close, Atom, End };
  explicit Walk(const Tree* root) : root_(root) {}

  Step next() {
    if (root_ != nullptr) {
      current_ = root_;
      parent_ = nullptr;
      root_ = nullptr;
      return enter();
    }
    if (stack_.empty()) return Step::End;
    auto& [tree, index] = stack_.back();
    if (index == tree->trees().size()) {
      current_ = tree;
      stack_.pop_back();
      return Step::Close;
    }
    parent_ = tree;
    current_ = tree->trees()[index++].get();
    return enter();
  }
  const Tree& tree() const { return *current_; }
  const Tree* parent() const { return parent_; }  // at Open and Atom
  size_t depth() const { return stack_.size(); }

 private:
  Step enter() {
    if (current_->isAtom()) return Step::Atom;
    stack_.emplace_back(current_, 0);
    return Step::Open;
  }
  const Tree* root_;
  const Tree* current_ = nullptr;
  const Tree* parent_ = nullptr;
  std::vector<std::pair<const Tree*, size_t>> stack_;
};

std::string atomText(const Walk& walk) {
  bool quoted = walk.parent() != nullptr && walk.parent()->kind() == TK_STRINGLITERAL;
  return quoted ? quoteString(walk.tree().text()) : walk.tree().text();
}

/// The width of each compound tree when printed on one line. Widths beyond what matters are clamped.
std::unordered_map<const Tree*, size_t> flatWidths(const Tree* root, size_t limit) {
  std::unordered_map<const Tree*, size_t> widths;
  std::vector<size_t> open;
  Walk walk(root);
  for (;;) {
    switch (walk.next()) {
      case Walk::Step::Open:
        open.push_back(tokenNameView(walk.tree().kind()).size() + 2);
        break;
      case Walk::Step::Atom:
        if (!open.empty()) open.back() += 1 + atomText(walk).size();
        break;
      case Walk::Step::Close: {
        size_t width = std::min(open.back(), limit);
        open.pop_back();
        widths[&walk.tree()] = width;
        if (!open.empty()) open.back() += 1 + width;
        break;
      }
      case Walk::Step::End:
        return widths;
    }
  }
}

std::string print(const Tree* root, bool pretty) {
  constexpr size_t kColumns = 40;
  // Deeper levels are not indented further, so that a long chain does not print as a triangle of spaces.
  constexpr size_t kMaxIndent = 100;
  std::string out;
  std::unordered_map<const Tree*, size_t> widths;
  if (pretty) widths = flatWidths(root, kColumns);
  std::vector<bool> wrapped;  // for each open tree: its subtrees stand on their own lines
  size_t wrapped_count = 0;
  auto separate = [&] {
    if (wrapped.empty()) return;
    if (wrapped.back()) {
      out += '\n';
      out.append(2 * std::min(wrapped_count, kMaxIndent), ' ');
    } else {
      out += ' ';
    }
  };
  Walk walk(root);
  for (;;) {
    switch (walk.next()) {
      case Walk::Step::Open: {
        separate();
        size_t indent = 2 * std::min(wrapped_count, kMaxIndent);
        bool parent_flat = !wrapped.empty() && !wrapped.back();
        bool wrap = pretty && !parent_flat && !walk.tree().trees().empty() &&
                    std::min(indent, kColumns / 2) + widths.at(&walk.tree()) >= kColumns;
        // A leaf such as (ident a_long_name) stays on one line.
        if (wrap && walk.tree().trees().size() == 1 && walk.tree().trees()[0]->isAtom()) wrap = false;
        wrapped.push_back(wrap);
        wrapped_count += wrap;
        out += '(';
        out += tokenNameView(walk.tree().kind());
        break;
      }
      case Walk::Step::Atom:
        separate();
        out += atomText(walk);
        break;
      case Walk::Step::Close:
        out += ')';
        wrapped_count -= wrapped.back();
        wrapped.pop_back();
        break;
      case Walk::Step::End:
        return out;
    }
  }
}

}  // namespace

Tree::Tree(int kind, bool atom, SourceRange range, std::string text, std::vector<TreeRef> trees)
    : kind_(kind),
      atom_(atom),
      depth_(depthOf(kind, trees)),
      range_(std::move(range)),
      text_(std::move(text)),
      trees_(std::move(trees)) {}

TreeRef Tree::atom(SourceRange range, std::string text) {
  return std::make_shared<const Tree>(TK_NOTHING, true, std::move(range), std::move(text), std::vector<TreeRef>());
}

TreeRef Tree::make(int kind, SourceRange range, std::vector<TreeRef> subtrees) {
  return std::make_shared<const Tree>(kind, false, std::move(range), std::string(), std::move(subtrees));
}

Tree::~Tree() {
  // The first tree to die on this thread's stack destroys all below it in a loop; those hand it their subtrees.
  if (trees_.empty()) return;
  if (t_dying != nullptr) {
    for (TreeRef& tree : trees_) t_dying->push_back(std::move(tree));
    return;
  }
  std::vector<TreeRef> dying = std::move(trees_);
  t_dying = &dying;
  while (!dying.empty()) {
    TreeRef tree = std::move(dying.back());
    dying.pop_back();
    tree.reset();
  }
  t_dying = nullptr;
}

const std::string& Tree::text() const {
  CRESSET_CHECK(atom_, toString());
  return text_;
}

const TreeRef& Tree::tree(size_t i) const {
  CRESSET_CHECK(i < trees_.size(), "subtree " + std::to_string(i) + " of " + toString());
  return trees_[i];
}

std::string Tree::toString(bool pretty) const {
  return print(this, pretty);
}

}  // namespace cresset
