// Tokens and trees as text, for cresset-opt and the text tests.
#include "syntax_printing.h"

#include "cresset/frontend/parser.h"

namespace cresset::tools {
namespace {

std::string place(const Source& source, size_t offset) {
  return std::to_string(source.lineNumber(offset)) + ":" + std::to_string(source.column(offset));
}

/// A chain of operators makes a deep tree, so this keeps its own stack.
std::string withRanges(const Tree& root) {
  std::string out;
  std::vector<std::pair<const Tree*, size_t>> open;
  auto enter = [&](const Tree& tree, const Tree* parent) {
    if (parent != nullptr) out += ' ';
    if (tree.isAtom()) {
      out += parent != nullptr && parent->kind() == TK_STRINGLITERAL ? quoteString(tree.text()) : tree.text();
      return;
    }
    const SourceRange& r = tree.range();
    out += '(';
    out += tokenNameView(tree.kind());
    out += "@" + place(*r.source, r.begin) + "-" + place(*r.source, r.end);
    open.emplace_back(&tree, 0);
  };
  enter(root, nullptr);
  while (!open.empty()) {
    auto& [tree, i] = open.back();
    if (i == tree->trees().size()) {
      out += ')';
      open.pop_back();
    } else {
      const Tree* parent = tree;
      enter(*parent->trees()[i++], parent);
    }
  }
  return out;
}

}  // namespace

std::string printTokens(const std::shared_ptr<const Source>& source) {
  std::string out;
  for (Lexer lexer(source);; lexer.skip()) {
    const Token& t = lexer.cur();
    std::string_view name = tokenNameView(t.kind);
    out += place(*source, t.range.begin);
    out += ' ';
    out += name;
    bool layout = t.kind == TK_NEWLINE || t.kind == TK_INDENT || t.kind == TK_DEDENT || t.kind == TK_EOF;
    if (!layout && t.text() != name) {
      out += ' ';
      // A string over several lines is one token; quoting keeps it on one line.
      out += t.text().find('\n') == std::string_view::npos ? std::string(t.text()) : quoteString(t.text());
    }
    out += '\n';
    if (t.kind == TK_EOF) return out;
  }
}

std::string printTrees(const std::shared_ptr<const Source>& source, TreeStyle style) {
  std::string out;
  for (TreeRef tree : SourceParser(source).parseStatements()) {
    if (tree->kind() == TK_EXPR_STMT) tree = tree->tree(0);
    out += style == TreeStyle::Ranges ? withRanges(*tree) : tree->toString(style == TreeStyle::Pretty);
    out += '\n';
  }
  return out;
}

}  // namespace cresset::tools
