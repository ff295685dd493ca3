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

/// A traversal of a tree: each step opens a tree, closes one, or finds an atom.
class Traversal {
 public:
  enum class Step { Open, Close, Atom, End };
  explicit Traversal(const Tree* root) : root_(root) {}

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

std::string atomText(const Traversal& traversal) {
  bool quoted = traversal.parent() != nullptr && traversal.parent()->kind() == TK_STRINGLITERAL;
  return quoted ? quoteString(traversal.tree().text()) : traversal.tree().text();
}

/// The width of each compound tree when printed on one line. Widths beyond what matters are clamped.
std::unordered_map<const Tree*, size_t> flatWidths(const Tree* root, size_t limit) {
  std::unordered_map<const Tree*, size_t> widths;
  std::vector<size_t> open;
  Traversal traversal(root);
  for (;;) {
    switch (traversal.next()) {
      case Traversal::Step::Open:
        open.push_back(tokenNameView(traversal.tree().kind()).size() + 2);
        break;
      case Traversal::Step::Atom:
        if (!open.empty()) open.back() += 1 + atomText(traversal).size();
        break;
      case Traversal::Step::Close: {
        size_t width = std::min(open.back(), limit);
        open.pop_back();
        widths[&traversal.tree()] = width;
        if (!open.empty()) open.back() += 1 + width;
        break;
      }
      case Traversal::Step::End:
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
  Traversal traversal(root);
  for (;;) {
    switch (traversal.next()) {
      case Traversal::Step::Open: {
        separate();
        size_t indent = 2 * std::min(wrapped_count, kMaxIndent);
        bool parent_flat = !wrapped.empty() && !wrapped.back();
        bool wrap = pretty && !parent_flat && !traversal.tree().trees().empty() &&
                    std::min(indent, kColumns / 2) + widths.at(&traversal.tree()) >= kColumns;
        // A leaf such as (ident a_long_name) stays on one line.
        if (wrap && traversal.tree().trees().size() == 1 && traversal.tree().trees()[0]->isAtom()) wrap = false;
        wrapped.push_back(wrap);
        wrapped_count += wrap;
        out += '(';
        out += tokenNameView(traversal.tree().kind());
        break;
      }
      case Traversal::Step::Atom:
        separate();
        out += atomText(traversal);
        break;
      case Traversal::Step::Close:
        out += ')';
        wrapped_count -= wrapped.back();
        wrapped.pop_back();
        break;
      case Traversal::Step::End:
        return out;
    }
  }
}

}  // namespace

static_assert(sizeof(Tree) % alignof(std::string) == 0 && sizeof(Tree) % alignof(TreeRef) == 0);

Tree* Tree::allocate(int kind, bool atom, SourceRange&& range, size_t bytes_behind) {
  return new (::operator new(sizeof(Tree) + bytes_behind)) Tree(kind, atom, std::move(range));
}

/// `on_spine`: the left operand of a binary operator.
void Tree::add(TreeRef subtree, bool on_spine) {
  depth_ = std::max(depth_, subtree->depth() + (on_spine ? 0 : 1));
  new (subtrees() + size_++) TreeRef(std::move(subtree));
}

TreeRef Tree::atom(SourceRange range, std::string text) {
  Tree* tree = allocate(TK_NOTHING, true, std::move(range), sizeof(std::string));
  new (tree->atomText()) std::string(std::move(text));
  return TreeRef(tree);
}

TreeRef Tree::make(int kind, SourceRange range, std::initializer_list<TreeRef> subtrees) {
  Tree* tree = allocate(kind, false, std::move(range), subtrees.size() * sizeof(TreeRef));
  const bool is_binary = subtrees.size() == 2 && BinOp::is(kind);
  for (const TreeRef& subtree : subtrees) tree->add(subtree, is_binary && tree->size_ == 0);
  return TreeRef(tree);
}

TreeRef Tree::make(int kind, SourceRange range, std::vector<TreeRef> subtrees) {
  Tree* tree = allocate(kind, false, std::move(range), subtrees.size() * sizeof(TreeRef));
  const bool is_binary = subtrees.size() == 2 && BinOp::is(kind);
  for (TreeRef& subtree : subtrees) tree->add(std::move(subtree), is_binary && tree->size_ == 0);
  return TreeRef(tree);
}

void Tree::destroy(const Tree* root) {
  std::vector<const Tree*> dying{root};
  while (!dying.empty()) {
    Tree* tree = const_cast<Tree*>(dying.back());
    dying.pop_back();
    if (tree->atom_) std::destroy_at(tree->atomText());
    for (size_t i = 0; i < tree->size_; ++i) {
      const Tree* subtree = tree->subtrees()[i].tree_;
      if (subtree->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) dying.push_back(subtree);
    }
    tree->~Tree();
    ::operator delete(tree);
  }
}

const std::string& Tree::text() const {
  CRESSET_CHECK(atom_, toString());
  return *atomText();
}

const TreeRef& Tree::tree(size_t i) const {
  CRESSET_CHECK(i < size_, "subtree " + std::to_string(i) + " of " + toString());
  return subtrees()[i];
}

std::string Tree::toString(bool pretty) const {
  return print(this, pretty);
}

}  // namespace cresset
