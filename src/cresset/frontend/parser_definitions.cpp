// Functions, classes, their parameters, decorators and type comments.
#include <string>
#include <unordered_set>
#include <utility>

#include "cresset/frontend/parser_impl.h"

namespace cresset {

Stmt Parser::definition() {
  if (function_depth_ > 0) {
    const bool decorated = at('@');
    if (decorated) decorators();
    rejectReserved();
    if (at(TK_CLASS_DEF)) failHere("class definitions aren't supported inside a function; move it out");
    const char* unsupported =
        "function definitions aren't supported inside a function; move it out and pass what it uses as arguments";
    if (decorated || in_place_) failHere(unsupported);
    // Archives write what they fork as a function without parameters.
    SourceRange range = here();
    Nesting nesting(*this);
    Def closure = function({});
    if (!closure.decl().params().empty()) fail(unsupported, range);
    return closure;
  }
  Nesting nesting(*this);
  std::vector<Expr> marks = decorators();
  if (at(TK_DEF)) return function(marks);
  if (at(TK_CLASS_DEF)) return classDefinition(marks);
  rejectReserved();
  expected("'def' or 'class'");
}

std::vector<Expr> Parser::decorators() {
  std::vector<Expr> result;
  while (nextIf('@')) {
    result.push_back(expression());
    expect(TK_NEWLINE);
  }
  return result;
}

Def Parser::function(const std::vector<Expr>& marks) {
  uint32_t start = begin();
  expect(TK_DEF);
  Ident name = ident("the name of the function");
  Decl decl = parameters();
  int loops = std::exchange(loop_depth_, 0);
  std::string outer_name = std::exchange(function_name_, name.name());
  ++function_depth_;
  ListView<Stmt> body = functionBody(decl);
  --function_depth_;
  function_name_ = std::move(outer_name);
  loop_depth_ = loops;
  SourceRange mark_range = marks.empty() ? SourceRange{source_, start, start}
                                         : SourceRange::cover(marks.front().range(), marks.back().range());
  return Def::make(since(start), name, decl, body, list(mark_range, marks));
}

Decl Parser::parameters() {
  uint32_t start = begin();
  expect('(');
  std::vector<Param> params;
  std::unordered_set<std::string> names;
  bool kwarg_only = false, had_default = false, bare_star = false;
  has_parameter_comments_ = false;
  while (!at(')')) {
    if (at(TK_POW)) {
      failHere(
          "Compiled functions can't take variable number of arguments: '**' parameters are not supported; write the "
          "parameters one by one");
    }
    if (at('/')) failHere("positional-only parameters are not supported; leave out the '/'");
    if (at('*')) {
      if (kwarg_only) failHere("only one '*' may stand among the parameters");
      SourceRange star = here();
      advance();
      if (!at(',')) {
        fail(
            "Compiled functions can't take variable number of arguments: '*' parameters are not supported; pass a list",
            SourceRange::cover(star, here()));
      }
      kwarg_only = bare_star = true;
      had_default = false;
    } else {
      Param p = parameter(kwarg_only);
      bare_star = false;
      if (!kwarg_only && had_default && !p.defaultValue().present()) {
        fail("a parameter without a default follows one with a default", p.range());
      }
      had_default = p.defaultValue().present();
      if (!names.insert(p.name().name()).second) {
        fail("the parameter '" + p.name().name() + "' is declared twice", p.name().range());
      }
      params.push_back(p);
    }
    bool comma = nextIf(',');
    // A comment `# type: T` stands after the comma that follows the parameter, or after the last parameter.
    if (auto comment = typeComment(); comment && !bare_star && !params.empty()) {
      Param p = params.back();
      type_comments_.clear();
      if (p.type().present()) fail("the parameter '" + p.name().name() + "' has a type already", *comment);
      Expr type = commentType(*comment);
      has_parameter_comments_ = true;
      params.back() = Param::make(p.range(), p.name(), Maybe<Expr>::some(type), p.defaultValue(), p.kwargOnly());
    }
    if (!comma) break;
  }
  if (bare_star) failHere("a named parameter must follow '*'");
  expect(')');
  SourceRange range = since(start);
  Maybe<Expr> result = none<Expr>();
  if (nextIf(TK_ARROW)) result = Maybe<Expr>::some(annotation());
  return Decl::make(since(start), ListView<Param>::make(range, params), result);
}

Param Parser::parameter(bool kwarg_only) {
  uint32_t start = begin();
  Ident name = ident("the name of a parameter");
  Maybe<Expr> type = none<Expr>(), default_value = none<Expr>();
  if (nextIf(':')) type = Maybe<Expr>::some(annotation());
  if (nextIf('=')) default_value = Maybe<Expr>::some(expression());
  return Param::make(since(start), name, type, default_value, kwarg_only);
}

ListView<Stmt> Parser::functionBody(Decl& decl) {
  // The comment stands after the colon, or on lines of its own before the first statement. Both come between the colon
  // and the Indent, so it is at hand when the parser stands at the latter.
  if (!at(':')) expect(':');
  if (lexer_.lookahead().kind == TK_NEWLINE || lexer_.lookahead().kind == TK_TYPE_COMMENT) {
    advance();
    std::optional<SourceRange> comment = typeComment();
    if (at(TK_NEWLINE)) {
      advance();
      if (!comment) comment = typeComment();
      if (comment) {
        type_comments_.clear();
        decl = mergeTypeComment(decl, *comment, class_depth_ > 0);
      }
      expect(TK_INDENT);
      uint32_t start = begin();
      std::vector<Stmt> statements;
      while (!at(TK_DEDENT) && !at(TK_EOF)) {
        if (nextIf(TK_NEWLINE)) continue;
        statement(statements);
      }
      SourceRange range = since(start);
      if (!in_place_ || function_depth_ > 1) nextIf(TK_DEDENT);
      return ListView<Stmt>::make(range, statements);
    }
    expected("the end of the line");
  }
  stops_here_ = in_place_ && function_depth_ == 1;
  return suite();
}

Decl Parser::mergeTypeComment(const Decl& decl, const SourceRange& comment, bool is_method) {
  if (in_place_ && !comment.text().starts_with("# type:")) {
    fail(
        "The annotation prefix in line " + std::to_string(comment.source->lineNumber(comment.begin)) +
            " is probably invalid.\nIt must be '# type:'",
        comment);
  }
  SourceRange body = typeCommentBody(comment);
  Parser inner(body, false, depth_);
  auto [types, result] = inner.signatureComment();
  // The comment wins over annotations, as in TorchScript: it is what people wrote for the compiler.
  ListView<Param> params = decl.params();
  std::vector<Param> merged;
  if (types) {
    if (has_parameter_comments_) {
      fail(
          "Return type line '# type: (...) -> ...' not found on multiline type annotation: where the parameters have "
          "types of their own, the comment of the function has the type of its result only",
          comment);
    }
    // A method's comment leaves out `self`.
    const bool has_self = is_method || (!params.empty() && params[0].name().name() == "self");
    size_t first = has_self && types->size() + 1 == params.size() ? 1 : 0;
    if (types->size() + first != params.size()) {
      fail(
          "Number of type annotations (" + std::to_string(types->size()) +
              ") did not match the number of function parameters (" + std::to_string(params.size()) + "):",
          decl.range());
    }
    for (size_t i = 0; i < params.size(); ++i) {
      Param p = params[i];
      if (i < first) {
        merged.push_back(p);
        continue;
      }
      merged.push_back(
          Param::make(p.range(), p.name(), Maybe<Expr>::some((*types)[i - first]), p.defaultValue(), p.kwargOnly()));
    }
    params = ListView<Param>::make(params.range(), merged);
  }
  return Decl::make(decl.range(), params, result ? Maybe<Expr>::some(*result) : decl.returnType());
}

std::pair<std::optional<std::vector<Expr>>, std::optional<Expr>> Parser::signatureComment() {
  std::vector<Expr> types;
  bool each = false;  // (...) -> T: the parameters have comments of their own
  if (!at('(')) failHere("the type comment of a function is written '# type: (int, Tensor) -> Tensor'");
  advance();
  in_annotation_ = true;
  if (at(TK_ELLIPSIS)) {
    each = true;
    advance();
  } else {
    while (!at(')')) {
      types.push_back(expression());
      if (!nextIf(',')) break;
    }
  }
  expect(')');
  std::optional<Expr> result;  // without an arrow it is inferred
  if (nextIf(TK_ARROW)) result = expressionList();
  in_annotation_ = false;
  expectEnd();
  if (each) return {std::nullopt, result};
  return {std::move(types), result};
}

ClassDef Parser::classDefinition(const std::vector<Expr>& marks) {
  if (class_depth_ > 0) failHere("a class inside a class is not supported; move it out");
  uint32_t start = begin();
  expect(TK_CLASS_DEF);
  Ident name = ident("the name of the class");
  uint32_t bases_begin = begin();
  std::vector<Expr> bases;
  if (nextIf('(')) {
    while (!at(')')) {
      Expr base = starredOrExpression();
      if (base.kind() == TK_STARRED) fail("starred bases are not supported", base.range());
      if (at('=')) failHere("keyword arguments of a class are not supported");
      bases.push_back(base);
      if (!nextIf(',')) break;
    }
    expect(')');
  }
  SourceRange bases_range = since(bases_begin);
  ++class_depth_;
  ListView<Stmt> body = suite();
  --class_depth_;
  for (Stmt s : body) {
    bool docstring = s.kind() == TK_EXPR_STMT &&
                     (ExprStmt(s).expr().kind() == TK_STRINGLITERAL || ExprStmt(s).expr().kind() == TK_ELLIPSIS);
    if (s.kind() != TK_DEF && s.kind() != TK_ASSIGN && s.kind() != TK_PASS && !docstring) {
      fail("a class may hold attributes and methods only", s.range());
    }
  }
  SourceRange mark_range = marks.empty() ? SourceRange{source_, start, start}
                                         : SourceRange::cover(marks.front().range(), marks.back().range());
  return ClassDef::make(since(start), name, list(bases_range, bases), body, list(mark_range, marks));
}

void Parser::skipImport() {
  while (!at(TK_NEWLINE) && !at(TK_EOF) && !at(';')) advance();
  while (nextIf(';') || nextIf(TK_NEWLINE)) {
  }
}

}  // namespace cresset
