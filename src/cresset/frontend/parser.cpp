// TorchScript source to trees: entry points and the reading of tokens.
//
// Type comments may stand wherever a comment may, and mean something in few places. So the reader keeps those between
// the last token and the current one for whoever asks, and they are no part of the grammar elsewhere, as in Python.
#include "cresset/frontend/parser.h"

#include <algorithm>

#include "cresset/frontend/parser_impl.h"
#include "cresset/ir/parser.h"

namespace cresset {

struct SourceParser::Impl {
  std::shared_ptr<const Source> source;
  SourceRange all() const { return {source, 0, static_cast<uint32_t>(source->text().size())}; }
};

SourceParser::SourceParser(std::shared_ptr<const Source> source) : impl_(new Impl{std::move(source)}) {}
SourceParser::~SourceParser() = default;

std::vector<TreeRef> SourceParser::parseFile() {
  return Parser(impl_->all(), true, 0).file();
}
std::vector<TreeRef> SourceParser::parseStatements() {
  return Parser(impl_->all(), true, 0).statementsToEnd();
}
Def SourceParser::parseFunction() {
  return Parser(impl_->all(), true, 0).functionToEnd();
}
Def SourceParser::parseFunctionAt(size_t offset) {
  SourceRange rest = impl_->all();
  rest.begin = static_cast<uint32_t>(offset);
  return Parser(rest, true, 0, /*in_place=*/true).functionInPlace();
}
ClassDef SourceParser::parseClass() {
  return Parser(impl_->all(), true, 0).classToEnd();
}
Expr SourceParser::parseExpression() {
  return Parser(impl_->all(), false, 0).expressionToEnd();
}
Expr SourceParser::parseType() {
  return Parser(impl_->all(), false, 0).typeToEnd();
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (++parser.depth_ > kMaxNesting) {
    --parser.depth_;
    parser.failHere(
        "the program is nested too deeply: at most " + std::to_string(kMaxNesting) +
        " levels are supported; split it up with variables or functions");
  }
}

Parser::Parser(const SourceRange& text, bool layout, int depth, bool in_place)
    : source_(text.source),
      lexer_(text, layout, in_place),
      previous_end_(text.begin),
      depth_(depth),
      in_place_(in_place) {
  skipTypeComments();
}

void Parser::skipTypeComments() {
  while (at(TK_TYPE_COMMENT)) {
    type_comments_.push_back(here());
    lexer_.skip();
  }
}

void Parser::advance() {
  int k = kind();
  bool layout = k == TK_NEWLINE || k == TK_INDENT || k == TK_DEDENT || k == TK_EOF;
  if (!layout) {
    previous_end_ = lexer_.cur().range.end;
    type_comments_.clear();
  }
  lexer_.skip();
  if (at(TK_TYPE_COMMENT)) skipTypeComments();
}

bool Parser::nextIf(int kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

SourceRange Parser::expect(int kind) {
  if (!at(kind)) {
    rejectReserved();
    if (kind == TK_NEWLINE) expected("the end of the statement");
    if (kind == TK_INDENT) expected("an indented block");
    expected(tokenName(kind));
  }
  SourceRange range = here();
  advance();
  return range;
}

std::optional<SourceRange> Parser::typeComment() const {
  if (type_comments_.empty()) return std::nullopt;
  return type_comments_.front();
}

void Parser::fail(std::string message, const SourceRange& range) const {
  throw UserError(std::move(message), range);
}

void Parser::rejectReserved() {
  struct Row {
    std::string_view word;
    const char* message;
  };
  static constexpr Row kRows[] = {
      {"try", "try blocks aren't supported; test for the error's cause with 'if' before the call"},
      {"except", "try blocks aren't supported; test for the error's cause with 'if' before the call"},
      {"finally", "try blocks aren't supported; write a class with __enter__ and __exit__ and use 'with'"},
      {"yield", "Yield aren't supported; append to a list and return it"},
      {"from", "import statements aren't supported inside a program; import outside of it"},
      {"async", "async functions, loops and 'with' aren't supported; use torch.jit.fork"},
      {"await", "'await' is not supported; use torch.jit.wait"},
      {"nonlocal", "nonlocal variables aren't supported; pass the value as an argument and return it"},
  };
  switch (kind()) {
    case TK_GLOBAL:
      failHere("global variables aren't supported; pass the value as an argument, or keep it in an attribute");
    case TK_LAMBDA:
      failHere("Lambda aren't supported; write a function with def");
    case TK_WALRUS:
      failHere("NamedExpr aren't supported; assign on a line of its own");
    case TK_IMPORT:
      failHere("import statements aren't supported inside a program; import outside of it");
    case TK_IDENT:
      for (const Row& row : kRows) {
        if (lexer_.cur().text() == row.word) failHere(row.message);
      }
      break;
    default:
      break;
  }
}

void Parser::checkDepth(const TreeRef& tree) const {
  // A chain such as a.b().c()[d] is parsed in a loop, and a level of nesting may hold operators of every precedence,
  // but whoever reads the tree recurses over both.
  if (tree->depth() > 4 * kMaxNesting) {
    fail("this expression is nested too deeply; assign parts of it to variables", tree->range());
  }
}

void Parser::expectEnd() {
  while (nextIf(TK_NEWLINE)) {
  }
  if (at(TK_EOF)) return;
  rejectReserved();
  expected("the end of the text");
}

std::vector<TreeRef> Parser::file() {
  std::vector<TreeRef> definitions;
  while (!at(TK_EOF)) {
    if (nextIf(TK_NEWLINE)) continue;
    if (at(TK_DEF) || at(TK_CLASS_DEF) || at('@')) {
      definitions.push_back(definition());
      continue;
    }
    if (at(TK_IMPORT) || atName("from")) {
      skipImport();
      continue;
    }
    uint32_t start = begin();
    std::vector<Stmt> statements;
    statement(statements);
    for (const Stmt& s : statements) {
      bool docstring = s.kind() == TK_EXPR_STMT && ExprStmt(s).expr().kind() == TK_STRINGLITERAL;
      bool version = false;
      if (s.kind() == TK_ASSIGN && Assign(s).targets().size() == 1) {
        Expr target = Assign(s).targets()[0];
        version = target.kind() == TK_VAR && Var(target).name() == "op_version_set";
      }
      if (!docstring && !version && s.kind() != TK_PASS) {
        SourceRange range = s.range();
        range.begin = std::max(range.begin, start);
        fail("only def and class are allowed outside of functions and classes", range);
      }
    }
  }
  return definitions;
}

std::vector<TreeRef> Parser::statementsToEnd() {
  function_depth_ = loop_depth_ = 1;  // return, break and continue are allowed
  std::vector<TreeRef> trees;
  while (!at(TK_EOF)) {
    if (nextIf(TK_NEWLINE)) continue;
    std::vector<Stmt> statements;
    if (at(TK_DEF) || at(TK_CLASS_DEF) || at('@')) {
      function_depth_ = 0;
      statements.push_back(definition());
      function_depth_ = 1;
    } else {
      statement(statements);
    }
    trees.insert(trees.end(), statements.begin(), statements.end());
  }
  return trees;
}

Def Parser::functionToEnd() {
  while (nextIf(TK_NEWLINE)) {
  }
  if (!at(TK_DEF) && !at('@')) expected("a function definition");
  Stmt s = definition();
  if (s.kind() != TK_DEF) fail("expected a function definition but found a class", s.range());
  expectEnd();
  return Def(s);
}

Def Parser::functionInPlace() {
  while (nextIf('@')) {
    while (!at(TK_NEWLINE) && !at(TK_EOF)) advance();
    nextIf(TK_NEWLINE);
  }
  rejectReserved();
  if (!at(TK_DEF)) expected("a function definition");
  return function({});
}

ClassDef Parser::classToEnd() {
  while (nextIf(TK_NEWLINE)) {
  }
  if (!at(TK_CLASS_DEF) && !at('@')) expected("a class definition");
  Stmt s = definition();
  if (s.kind() != TK_CLASS_DEF) fail("expected a class definition but found a function", s.range());
  expectEnd();
  return ClassDef(s);
}

Expr Parser::expressionToEnd() {
  Expr e = expressionList();
  expectEnd();
  return e;
}

Expr Parser::typeToEnd() {
  in_annotation_ = true;
  Expr e = expressionList();
  in_annotation_ = false;
  expectEnd();
  return e;
}

}  // namespace cresset
