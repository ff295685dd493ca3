// Statements and suites.
#include <algorithm>

#include "cresset/frontend/ignored_block.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/parser_impl.h"
#include "cresset/ops/limits.h"

namespace cresset {
namespace {

/// The BinOp kind of an augmented assignment's token, 0 if it is none.
int augmentedOperator(int kind) {
  switch (kind) {
    case TK_PLUS_EQ:
      return '+';
    case TK_MINUS_EQ:
      return '-';
    case TK_TIMES_EQ:
      return '*';
    case TK_DIV_EQ:
      return '/';
    case TK_MOD_EQ:
      return '%';
    case TK_MATMUL_EQ:
      return '@';
    case TK_BIT_OR_EQ:
      return '|';
    case TK_BIT_AND_EQ:
      return '&';
    case TK_BIT_XOR_EQ:
      return '^';
    case TK_LSHIFT_EQ:
      return TK_LSHIFT;
    case TK_RSHIFT_EQ:
      return TK_RSHIFT;
    case TK_POW_EQ:
      return TK_POW;
    case TK_FLOOR_DIV_EQ:
      return TK_FLOOR_DIV;
    default:
      return 0;
  }
}

/// By name, as torch.jit knows it.
bool isIgnoredBlock(const WithItem& item) {
  if (item.context().kind() != TK_APPLY || item.target().present()) return false;
  const Expr callee = Apply(item.context().tree()).callee();
  if (callee.kind() == TK_VAR) return Var(callee.tree()).name() == "_IgnoreContextManager";
  return callee.kind() == '.' && Select(callee.tree()).selector().name() == "_IgnoreContextManager";
}

}  // namespace

void Parser::statement(std::vector<Stmt>& out) {
  checkTimeLimit();
  switch (kind()) {
    case TK_IF:
      out.push_back(ifStatement());
      break;
    case TK_WHILE:
      out.push_back(whileStatement());
      break;
    case TK_FOR:
      out.push_back(forStatement());
      break;
    case TK_WITH:
      out.push_back(withStatement());
      break;
    case TK_DEF:
    case TK_CLASS_DEF:
    case '@':
      out.push_back(definition());
      break;
    case TK_INDENT:
      failHere("unexpected indentation");
    case TK_ELIF:
    case TK_ELSE:
      failHere("'" + tokenName(kind()) + "' without an 'if' before it");
    default:
      simpleStatements(out);
  }
}

void Parser::simpleStatements(std::vector<Stmt>& out) {
  do {
    if (at(TK_NEWLINE) || at(TK_EOF)) break;  // after a last semicolon
    out.push_back(simpleStatement());
  } while (nextIf(';'));
  if (!at(TK_NEWLINE) && !at(TK_EOF)) {
    rejectReserved();
    rejectMatch();
    expected("the end of the statement");
  }
  if (!stops_here_) nextIf(TK_NEWLINE);
}

Stmt Parser::simpleStatement() {
  uint32_t start = begin();
  switch (int k = kind()) {
    case TK_BREAK:
    case TK_CONTINUE:
      if (loop_depth_ == 0) failHere("SyntaxError: '" + tokenName(k) + "' outside loop");
      [[fallthrough]];
    case TK_PASS:
      advance();
      return Stmt(Tree::make(k, since(start), {}));
    case TK_RETURN: {
      if (function_depth_ == 0) failHere("'return' outside of a function");
      advance();
      if (!startsExpression()) {
        SourceRange range = since(start);
        return Return::make(range, Expr(Tree::make(TK_NONE, range, {})));
      }
      Expr value = expressionList();
      return Return::make(from(start, value), value);
    }
    case TK_RAISE:
      return raiseStatement();
    case TK_ASSERT: {
      advance();
      Expr cond = expression();
      Maybe<Expr> message = none<Expr>();
      if (nextIf(',')) message = Maybe<Expr>::some(expression());
      return Assert::make(from(start, message.present() ? message.get() : cond), cond, message);
    }
    case TK_DELETE:
      return deleteStatement();
    case TK_IF:
    case TK_WHILE:
    case TK_FOR:
    case TK_WITH:
    case TK_DEF:
    case TK_CLASS_DEF:
    case '@':
      failHere("a compound statement must begin on a line of its own");
    default:
      rejectReserved();
      return expressionStatement();
  }
}

Stmt Parser::expressionStatement() {
  Expr first = expressionList();
  if (int op = augmentedOperator(kind()); op != 0) {
    if (first.kind() == TK_TUPLE_LITERAL || first.kind() == TK_LIST_LITERAL) {
      fail("augmented assignment can only have one LHS expression", first.range());
    }
    Expr target = asTarget(first, "assign to");
    advance();
    Expr rhs = expressionList();
    return AugAssign::make(SourceRange::cover(target.range(), rhs.range()), target, op, rhs);
  }
  if (at(':')) return annotatedAssignment(first);
  if (!at('=')) return ExprStmt::make(first.range(), first);
  std::vector<Expr> targets;
  Expr rhs = first;
  while (nextIf('=')) {
    targets.push_back(asTarget(rhs, "assign to"));
    rejectReserved();
    rhs = expressionList();
  }
  if (at(':')) failHere(messages::typedAssignment());
  Maybe<Expr> type = none<Expr>();
  SourceRange range = SourceRange::cover(targets.front().range(), rhs.range());
  if (auto comment = typeComment(); comment && at(TK_NEWLINE)) {
    type_comments_.clear();
    type = Maybe<Expr>::some(commentType(*comment));
  }
  SourceRange target_range = SourceRange::cover(targets.front().range(), targets.back().range());
  return Assign::make(range, list(target_range, targets), Maybe<Expr>::some(rhs), type);
}

Stmt Parser::annotatedAssignment(const Expr& first) {
  rejectMatch();
  if (first.kind() == TK_TUPLE_LITERAL || first.kind() == TK_LIST_LITERAL) {
    fail("only a single target can have a type", first.range());
  }
  Expr target = asTarget(first, "annotate");
  expect(':');
  Expr type = annotation();
  if (in_place_ && target.kind() == '.' && function_depth_ > 0 && function_name_ != "__init__") {
    const Expr object = Select(target.tree()).value();
    if (object.kind() == TK_VAR && Var(object.tree()).name() == "self") {
      fail(
          "Type annotations on instance attributes must be declared in __init__, not '" + function_name_ + "'",
          SourceRange::cover(target.range(), type.range()));
    }
  }
  Maybe<Expr> rhs = none<Expr>();
  if (nextIf('=')) {
    rejectReserved();
    rhs = Maybe<Expr>::some(expressionList());
    if (at('=')) failHere(messages::typedAssignment());
  }
  SourceRange range = SourceRange::cover(target.range(), rhs.present() ? rhs.get().range() : type.range());
  return Assign::make(range, list(target.range(), {target}), rhs, Maybe<Expr>::some(type));
}

void Parser::rejectMatch() {
  // `match x:` leaves the parser after the name, at its subject; `match (x):` and `match [x]:` look like an annotation
  // without a type. Only the first word of the line tells.
  std::string_view text = source_->text();
  size_t line = begin();
  while (line > 0 && text[line - 1] != '\n') --line;
  size_t word = text.find_first_not_of(" \t", line);
  for (std::string_view keyword : {std::string_view("match"), std::string_view("case")}) {
    if (word == std::string_view::npos || text.substr(word, keyword.size()) != keyword) continue;
    bool suite = at(':') && lexer_.lookahead().kind == TK_NEWLINE;
    bool subject = word + keyword.size() == end() && !at(':');
    if (suite || subject) {
      uint32_t b = static_cast<uint32_t>(word);
      fail(
          "'" + std::string(keyword) + "' statements are not supported; write if and elif",
          {source_, b, static_cast<uint32_t>(b + keyword.size())});
    }
  }
}

Stmt Parser::deleteStatement() {
  uint32_t start = begin();
  advance();
  Expr e = expressionList();
  std::vector<Expr> targets;
  // Python flattens `del (a, b), [c]`. The pending targets are few and nest no deeper than kMaxNesting.
  auto flatten = [&](auto& self, const Expr& target) -> void {
    if (target.kind() == TK_TUPLE_LITERAL || target.kind() == TK_LIST_LITERAL) {
      for (Expr item : SequenceLiteral(target).elements()) self(self, item);
      return;
    }
    if (target.kind() == TK_STARRED) fail("cannot delete a starred expression", target.range());
    targets.push_back(asTarget(target, "delete"));
  };
  flatten(flatten, e);
  return Delete::make(from(start, e), list(e.range(), targets));
}

Stmt Parser::raiseStatement() {
  uint32_t start = begin();
  advance();
  if (!startsExpression()) {
    fail("a 'raise' without an exception is not supported; write raise and the exception", since(start));
  }
  Expr value = expression();
  if (atName("from")) {
    advance();
    Expr cause = expression();
    // The cause is dropped: a script's exception has none. So it must be something without an effect.
    if (cause.kind() != TK_VAR && cause.kind() != TK_NONE) {
      fail("the cause of an exception must be a name or None", cause.range());
    }
  }
  return Raise::make(from(start, value), value);
}

Stmt Parser::ifStatement() {
  // An `elif` is an If in the else list: collected in a loop, built from the last to the first.
  struct Arm {
    uint32_t begin;
    Expr cond;
    ListView<Stmt> body;
  };
  std::vector<Arm> arms;
  std::vector<std::unique_ptr<Nesting>> nesting;  // readers of the tree recurse over `elif`
  do {
    nesting.push_back(std::make_unique<Nesting>(*this));
    uint32_t start = begin();
    advance();
    Expr cond = starredOrExpression();
    rejectLoneStar(cond);
    ListView<Stmt> body = suite();
    arms.push_back({start, cond, body});
  } while (at(TK_ELIF));
  SourceRange nothing = since(end());
  ListView<Stmt> rest = ListView<Stmt>::make(nothing, {});
  if (nextIf(TK_ELSE)) rest = suite();
  for (size_t i = arms.size(); i-- > 0;) {
    If s = If::make(since(arms[i].begin), arms[i].cond, arms[i].body, rest);
    if (i == 0) return s;
    rest = ListView<Stmt>::make(s.range(), {s});
  }
  CRESSET_CHECK(false, "an if statement has arms");
}

void Parser::rejectElse(const char* loop) {
  if (at(TK_ELSE)) {
    failHere(
        std::string("else branches of ") + loop + " loops aren't supported; set a variable before 'break' and test it");
  }
}

Stmt Parser::whileStatement() {
  Nesting nesting(*this);
  uint32_t start = begin();
  advance();
  Expr cond = expression();
  if (at(TK_WALRUS)) rejectReserved();
  ++loop_depth_;
  ListView<Stmt> body = suite();
  --loop_depth_;
  rejectElse("while");
  return While::make(since(start), cond, body);
}

Stmt Parser::forStatement() {
  Nesting nesting(*this);
  uint32_t start = begin();
  advance();
  Expr target = loopTarget();
  if (!at(TK_IN)) expected("'in' of the for statement");
  advance();
  Expr iter = expressionList();
  ++loop_depth_;
  ListView<Stmt> body = suite();
  --loop_depth_;
  rejectElse("for");
  return For::make(since(start), target, iter, body);
}

bool Parser::withIsParenthesized() const {
  // `with (a as b, c):` holds items in parentheses, `with (a).b():` an expression: what follows the closing one tells.
  SourceRange rest{source_, begin(), static_cast<uint32_t>(source_->text().size())};
  Lexer scan(rest, /*layout=*/false);
  int open = 0;
  do {
    switch (scan.cur().kind) {
      case '(':
      case '[':
      case '{':
        ++open;
        break;
      case ')':
      case ']':
      case '}':
        --open;
        break;
      case TK_EOF:
        return false;
      default:
        break;
    }
    scan.skip();
  } while (open > 0);
  while (scan.cur().kind == TK_TYPE_COMMENT) scan.skip();
  return scan.cur().kind == ':';
}

Stmt Parser::withStatement() {
  Nesting nesting(*this);
  uint32_t start = begin();
  advance();
  uint32_t first = begin();
  std::vector<WithItem> items;
  if (at('(') && withIsParenthesized()) {
    advance();
    do {
      if (at(')') && !items.empty()) break;
      items.push_back(withItem());
    } while (nextIf(','));
    expect(')');
  } else {
    do {
      items.push_back(withItem());
    } while (nextIf(','));
  }
  SourceRange range = since(first);
  if (items.size() == 1 && isIgnoredBlock(items[0])) return ignoredBlock(start, Apply(items[0].context().tree()));
  ListView<Stmt> body = suite();
  return With::make(since(start), ListView<WithItem>::make(range, items), body);
}

Stmt Parser::ignoredBlock(uint32_t start, const Apply& context) {
  const SourceRange range = since(start);
  expect(':');
  const std::string& text = source_->text();
  uint32_t from = begin();
  if (at(TK_NEWLINE)) {
    advance();
    from = expect(TK_INDENT).end;
    from = static_cast<uint32_t>(text.rfind('\n', begin()) + 1);
    for (size_t depth = 1; depth > 0 && !at(TK_EOF); advance()) {
      if (at(TK_INDENT)) ++depth;
      if (at(TK_DEDENT)) --depth;
    }
  } else {
    while (!at(TK_NEWLINE) && !at(TK_EOF)) advance();
    nextIf(TK_NEWLINE);
  }
  std::vector<Expr> arguments{StringLiteral::make(since(from), text.substr(from, end() - from))};
  std::vector<Expr> targets;
  for (const Attr attribute : context.attributes()) {
    const Expr says = attribute.value();
    const std::string text_of = says.kind() == TK_STRINGLITERAL ? StringLiteral(says.tree()).text() : "";
    const bool is_input = text_of.starts_with("inp:");
    if (!is_input && !text_of.starts_with("out:")) {
      fail("torch.jit._IgnoreContextManager says of each variable \"inp:\" or \"out:\" and its type", says.range());
    }
    (is_input ? arguments : targets).push_back(Var::make(attribute.name()));
  }
  const Expr call = Apply::make(
      range, Var::make(Ident::make(range, kIgnoredBlock)), ListView<Expr>::make(range, arguments),
      context.attributes());
  if (targets.empty()) return ExprStmt::make(range, call);
  const Expr target = targets.size() == 1
                          ? targets[0]
                          : Expr(SequenceLiteral::make(TK_TUPLE_LITERAL, range, ListView<Expr>::make(range, targets)));
  return Assign::make(range, ListView<Expr>::make(range, {target}), Maybe<Expr>::some(call), none<Expr>());
}

WithItem Parser::withItem() {
  uint32_t start = begin();
  Expr context = expression();
  Maybe<Var> target = none<Var>();
  if (nextIf(TK_AS)) {
    Expr e = parse(kBitOr);
    if (e.kind() != TK_VAR) fail("only a name may follow 'as'", e.range());
    target = Maybe<Var>::some(Var(e));
  }
  return WithItem::make(since(start), context, target);
}

ListView<Stmt> Parser::suite() {
  if (!at(':')) {
    if (at(TK_WALRUS)) rejectReserved();
    if (at('=')) failHere("expected : but found '=' here; a comparison is written '=='");
  }
  expect(':');
  std::vector<Stmt> statements;
  if (!at(TK_NEWLINE)) {
    uint32_t start = begin();
    simpleStatements(statements);
    return ListView<Stmt>::make(since(start), statements);
  }
  advance();
  expect(TK_INDENT);
  uint32_t start = begin();
  while (!at(TK_DEDENT) && !at(TK_EOF)) {
    if (nextIf(TK_NEWLINE)) continue;
    statement(statements);
  }
  SourceRange range = since(start);
  nextIf(TK_DEDENT);
  return ListView<Stmt>::make(range, statements);
}

}  // namespace cresset
