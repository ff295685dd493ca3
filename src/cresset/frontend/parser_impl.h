// The parser's insides, shared by parser*.cpp: expressions, strings, statements and definitions.
//
// Invariant: a parse function is entered with the lexer at its first token and leaves it after its last. Recursion
// follows nesting, never length: each level of brackets, prefix operators, suites and `elif` counts against
// kMaxNesting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/frontend/parser.h"
#include "cresset/support/error.h"

namespace cresset {

/// How tightly operators bind; an operand is parsed with the least precedence that its operators may have.
enum Precedence : int {
  kTernary = 1,
  kOr,
  kAnd,
  kNot,
  kComparison,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
};

class Parser {
 public:
  /// `layout` false: line breaks mean nothing. `depth`: nesting around this text, for texts within a text.
  /// `in_place`: of one `def` in a Python file, where the text after it is not looked at.
  Parser(const SourceRange& text, bool layout, int depth, bool in_place = false);

  std::vector<TreeRef> file();
  std::vector<TreeRef> statementsToEnd();
  Def functionToEnd();
  Def functionInPlace();
  ClassDef classToEnd();
  /// An expression or a tuple without parentheses, up to the end of the text.
  Expr expressionToEnd();
  Expr typeToEnd();

 private:
  /// Counts one level of nesting for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  // ---- tokens (parser.cpp) ----
  int kind() const { return lexer_.cur().kind; }
  bool at(int kind) const { return lexer_.cur().kind == kind; }
  bool atName(std::string_view name) const { return at(TK_IDENT) && lexer_.cur().text() == name; }
  uint32_t begin() const { return lexer_.cur().range.begin; }
  /// Where the token before the current one, layout aside, ended.
  uint32_t end() const { return previous_end_; }
  SourceRange here() const { return lexer_.cur().range; }
  /// From `begin` to the end of the last token.
  SourceRange since(uint32_t begin) const { return {source_, begin, std::max(begin, previous_end_)}; }
  /// From `begin` to the end of `last`, which is the last operand.
  SourceRange from(uint32_t begin, const TreeView& last) const {
    return {source_, begin, std::max(begin, last.range().end)};
  }
  /// From an opening bracket at `open` to the end of the last item.
  SourceRange bracketed(uint32_t open, const std::vector<Expr>& items) const;
  void advance();
  bool nextIf(int kind);
  SourceRange expect(int kind);
  void skipTypeComments();
  /// The type comment between the last token and the current one.
  std::optional<SourceRange> typeComment() const;
  [[noreturn]] void fail(std::string message, const SourceRange& range) const;
  [[noreturn]] void failHere(std::string message) const { fail(std::move(message), here()); }
  [[noreturn]] void expected(const std::string& what) { lexer_.reportExpected(what); }
  /// The error for a word that Python reserves and TorchScript does not have.
  void rejectReserved();
  void checkDepth(const TreeRef& tree) const;
  void expectEnd();

  // ---- expressions (parser_expressions.cpp) ----
  /// `a`, `*a`, or a tuple of them without parentheses.
  Expr expressionList();
  Expr starredOrExpression();
  void rejectLoneStar(const Expr& e) const;
  Expr expression() { return parse(kTernary); }
  Expr parse(int precedence);
  Expr prefix(int precedence);
  Expr ternary(const Expr& value);
  Expr comparison(Expr first);
  /// The operator of a comparison at the current token, 0 if there is none; takes it if `take`.
  int comparisonOperator();
  Expr postfix(Expr value);
  Expr atom();
  Expr parenthesized();
  /// `e for x in xs` after `element`: a list comprehension, since there are no generators.
  Expr generator(uint32_t begin, const Expr& element);
  Expr listOrComprehension();
  Expr dictOrSet();
  Expr call(const Expr& callee);
  Expr subscript(const Expr& value);
  Expr index();
  Ident ident(const char* what = "a name");
  bool startsExpression() const;
  /// The `for … in … if …` of a comprehension.
  ListView<CompFor> compLoops();
  /// `a` or `a, *b` before `in`.
  Expr loopTarget();
  /// Checks that `e` can be assigned to and returns its canonical form.
  Expr asTarget(const Expr& e, const char* verb, bool top = true);

  // ---- strings (parser_strings.cpp) ----
  Expr strings();
  Expr annotation();
  Expr annotationIn(const SourceRange& text);
  struct FormatCall;
  void appendFormat(const std::vector<FormatPiece>& pieces, bool raw, bool in_spec, FormatCall& out);

  // ---- statements (parser_statements.cpp) ----
  /// A line of simple statements, or one compound statement.
  void statement(std::vector<Stmt>& out);
  void simpleStatements(std::vector<Stmt>& out);
  Stmt simpleStatement();
  Stmt expressionStatement();
  Stmt annotatedAssignment(const Expr& target);
  Stmt deleteStatement();
  Stmt raiseStatement();
  Stmt ifStatement();
  Stmt whileStatement();
  Stmt forStatement();
  Stmt withStatement();
  /// The rest of `with torch.jit._IgnoreContextManager(…):`, a block that Python runs.
  Stmt ignoredBlock(uint32_t start, const Apply& context);
  bool withIsParenthesized() const;
  WithItem withItem();
  ListView<Stmt> suite();
  void rejectElse(const char* loop);
  /// Throws at `match x:`, which is not a reserved word.
  void rejectMatch();

  // ---- definitions (parser_definitions.cpp) ----
  Stmt definition();
  std::vector<Expr> decorators();
  Def function(const std::vector<Expr>& decorators);
  ClassDef classDefinition(const std::vector<Expr>& decorators);
  Decl parameters();
  Param parameter(bool kwarg_only);
  Decl mergeTypeComment(const Decl& decl, const SourceRange& comment, bool is_method);
  /// `(int, Tensor) -> Tensor`, to the end of the text; no list if it is written `(...)`.
  std::pair<std::optional<std::vector<Expr>>, std::optional<Expr>> signatureComment();
  ListView<Stmt> functionBody(Decl& decl);
  void skipImport();
  Expr commentType(const SourceRange& comment);

  template <typename T>
  Maybe<T> none() const {
    return Maybe<T>::none({source_, previous_end_, previous_end_});
  }
  ListView<Expr> list(const SourceRange& range, const std::vector<Expr>& items) const {
    return ListView<Expr>::make(range, items);
  }

  std::shared_ptr<const Source> source_;
  Lexer lexer_;
  uint32_t previous_end_;
  int depth_;
  bool in_place_;
  bool stops_here_ = false;  // the line break that comes next is the last token to be read
  bool in_annotation_ = false;
  int function_depth_ = 0, class_depth_ = 0, loop_depth_ = 0;
  std::string function_name_;               // of the function whose body is being read
  bool has_parameter_comments_ = false;     // `x,  # type: int`, in the parameters that were read last
  std::vector<SourceRange> type_comments_;  // between the last token and the current one
};

/// The part of a type comment after "# type:".
SourceRange typeCommentBody(const SourceRange& comment);

}  // namespace cresset
