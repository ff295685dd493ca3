// Splits TorchScript source into tokens. (Schemas and the textual IR have no layout and no keywords: ir/scanner.h.)
//
// Like Python's, it injects Newline, Indent and Dedent, except inside brackets. A token's kind is an int: the
// character itself for single-character tokens, a TokenKind otherwise; tree kinds share the numbering.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cresset/support/source.h"

namespace cresset {

// X(enumerator, "name in token dumps and s-expressions", "text" or "" if it has no fixed text)
// Tokens that are spelled out, then literals and layout, then kinds that only trees have.
#define CRESSET_TOKENS(X)                       \
  X(TK_EOF, "eof", "")                          \
  X(TK_WHITESPACE_EOF, "whitespace_eof", "")    \
  X(TK_NUMBER, "number", "")                    \
  X(TK_STRINGLITERAL, "string_literal", "")     \
  X(TK_IDENT, "ident", "")                      \
  X(TK_NEWLINE, "newline", "")                  \
  X(TK_INDENT, "indent", "")                    \
  X(TK_DEDENT, "dedent", "")                    \
  X(TK_DEF, "def", "def")                       \
  X(TK_CLASS_DEF, "class", "class")             \
  X(TK_IMPORT, "import", "import")              \
  X(TK_RETURN, "return", "return")              \
  X(TK_RAISE, "raise", "raise")                 \
  X(TK_ASSERT, "assert", "assert")              \
  X(TK_IF, "if", "if")                          \
  X(TK_ELSE, "else", "else")                    \
  X(TK_ELIF, "elif", "elif")                    \
  X(TK_WHILE, "while", "while")                 \
  X(TK_FOR, "for", "for")                       \
  X(TK_IN, "in", "in")                          \
  X(TK_BREAK, "break", "break")                 \
  X(TK_CONTINUE, "continue", "continue")        \
  X(TK_PASS, "pass", "pass")                    \
  X(TK_DELETE, "delete", "del")                 \
  X(TK_WITH, "with", "with")                    \
  X(TK_AS, "as", "as")                          \
  X(TK_GLOBAL, "global", "global")              \
  X(TK_AND, "and", "and")                       \
  X(TK_OR, "or", "or")                          \
  X(TK_NOT, "not", "not")                       \
  X(TK_IS, "is", "is")                          \
  X(TK_ISNOT, "is not", "")                     \
  X(TK_NOTIN, "not in", "")                     \
  X(TK_LAMBDA, "lambda", "lambda")              \
  X(TK_TRUE, "True", "True")                    \
  X(TK_FALSE, "False", "False")                 \
  X(TK_NONE, "None", "None")                    \
  X(TK_AT_DECORATOR, "decorator", "")           \
  X(TK_ELLIPSIS, "dots", "...")                 \
  X(TK_ARROW, "arrow", "->")                    \
  X(TK_EQ, "eq", "==")                          \
  X(TK_NE, "ne", "!=")                          \
  X(TK_LE, "le", "<=")                          \
  X(TK_GE, "ge", ">=")                          \
  X(TK_LSHIFT, "lshift", "<<")                  \
  X(TK_RSHIFT, "rshift", ">>")                  \
  X(TK_POW, "pow", "**")                        \
  X(TK_WALRUS, ":=", ":=")                      \
  X(TK_FLOOR_DIV, "floordiv", "//")             \
  X(TK_PLUS_EQ, "+=", "+=")                     \
  X(TK_MINUS_EQ, "-=", "-=")                    \
  X(TK_TIMES_EQ, "*=", "*=")                    \
  X(TK_DIV_EQ, "/=", "/=")                      \
  X(TK_MOD_EQ, "%=", "%=")                      \
  X(TK_MATMUL_EQ, "@=", "@=")                   \
  X(TK_BIT_OR_EQ, "|=", "|=")                   \
  X(TK_BIT_AND_EQ, "&=", "&=")                  \
  X(TK_BIT_XOR_EQ, "^=", "^=")                  \
  X(TK_LSHIFT_EQ, "<<=", "<<=")                 \
  X(TK_RSHIFT_EQ, ">>=", ">>=")                 \
  X(TK_POW_EQ, "**=", "**=")                    \
  X(TK_FLOOR_DIV_EQ, "//=", "//=")              \
  X(TK_TYPE_COMMENT, "type_comment", "# type:") \
  X(TK_APPLY, "apply", "")                      \
  X(TK_SUBSCRIPT, "subscript", "")              \
  X(TK_SLICE_EXPR, "slice", "")                 \
  X(TK_CONST, "const", "")                      \
  X(TK_VAR, "variable", "")                     \
  X(TK_LIST, "list", "")                        \
  X(TK_OPTION, "option", "")                    \
  X(TK_ATTRIBUTE, "attribute", "")              \
  X(TK_STARRED, "starred", "")                  \
  X(TK_UNARY_MINUS, "unary minus", "")          \
  X(TK_TERNARY, "if expression", "")            \
  X(TK_LIST_LITERAL, "list literal", "")        \
  X(TK_TUPLE_LITERAL, "tuple literal", "")      \
  X(TK_DICT_LITERAL, "dict literal", "")        \
  X(TK_SET_LITERAL, "set literal", "")          \
  X(TK_LIST_COMP, "list comprehension", "")     \
  X(TK_DICT_COMP, "dict comprehension", "")     \
  X(TK_COMPARE_CHAIN, "comparison chain", "")   \
  X(TK_ASSIGN, "assign", "")                    \
  X(TK_AUG_ASSIGN, "augmented assign", "")      \
  X(TK_EXPR_STMT, "expression statement", "")   \
  X(TK_DECL, "decl", "")                        \
  X(TK_PARAM, "param", "")                      \
  X(TK_WITH_ITEM, "with item", "")              \
  X(TK_NOTHING, "nothing", "")

enum TokenKind : int {
  TK_FIRST = 256,  // below: single characters
#define CRESSET_TOKEN_ENUM(kind, name, text) kind,
  CRESSET_TOKENS(CRESSET_TOKEN_ENUM)
#undef CRESSET_TOKEN_ENUM
};

/// The name used in token dumps, s-expressions and messages: "+" for '+', "if" for TK_IF.
std::string tokenName(int kind);
/// As tokenName, without a copy.
std::string_view tokenNameView(int kind);

struct Token {
  int kind = TK_EOF;
  SourceRange range;
  std::string_view text() const { return range.text(); }
};

/// Whether a name may continue with `c`.
bool isNameCharacter(char c);

/// A stateful reader of the tokens. Throws UserError, with a range, at text that is no token and at brackets that do
/// not match. The first line's indentation is the base, so that a program may be an indented piece of a larger text.
///
/// Comments are skipped, except type comments (`# type: …`), each of which is one token up to the end of its line;
/// `# type: ignore` is skipped. A type comment on a line of its own comes before the Indent or Dedent of the line after
/// it. Strings: all of Python's quotes and prefixes r, u, b (an error that says so) and f (the token keeps its prefix).
class Lexer {
 public:
  explicit Lexer(const std::shared_ptr<const Source>& source, bool layout = true);
  /// The tokens of a part of a source; their ranges refer to the whole. With `ends_at_dedent`, the text ends before the
  /// first line that is indented less than its first line.
  explicit Lexer(const SourceRange& part, bool layout = true, bool ends_at_dedent = false);
  ~Lexer();

  const Token& cur() const;
  /// The token after cur().
  const Token& lookahead();
  /// Advances and returns the token that was current.
  Token next();
  /// Advances.
  void skip();
  /// Advances if the current token is of this kind.
  bool nextIf(int kind);
  /// Advances over a token of this kind, or throws "expected X but found Y here".
  Token expect(int kind);
  [[noreturn]] void reportExpected(const std::string& what);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cresset

#include "cresset/support/string_literal.h"
