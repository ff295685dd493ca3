// Expressions: operator precedence, calls, subscripts, literals, comprehensions.
//
// The range of an expression reaches from its first token to the end of its last operand, as torch.jit underlines it:
// closing brackets, and parentheses around an expression, are no part of it.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "cresset/frontend/messages.h"
#include "cresset/frontend/parser_impl.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/limits.h"

namespace cresset {
namespace {

/// The precedence of a left-associative binary operator token, 0 if it is none.
int precedenceOf(int kind) {
  switch (kind) {
    case TK_OR:
      return kOr;
    case TK_AND:
      return kAnd;
    case '|':
      return kBitOr;
    case '^':
      return kBitXor;
    case '&':
      return kBitAnd;
    case TK_LSHIFT:
    case TK_RSHIFT:
      return kShift;
    case '+':
    case '-':
      return kSum;
    case '*':
    case '/':
    case TK_FLOOR_DIV:
    case '%':
    case '@':
      return kProduct;
    default:
      return 0;
  }
}

bool isReservedName(std::string_view name) {
  static constexpr std::string_view kWords[] = {"async", "await",    "except", "finally",
                                                "from",  "nonlocal", "try",    "yield"};
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

/// The last name of a dotted expression, "" if it is none.
std::string lastName(const Expr& e) {
  if (e.kind() == TK_VAR) return Var(e).name();
  if (e.kind() == '.') return Select(e).selector().name();
  return "";
}

}  // namespace

Ident Parser::ident(const char* what) {
  if (!at(TK_IDENT) || isReservedName(lexer_.cur().text())) {
    rejectReserved();
    expected(what);
  }
  Ident result = Ident::make(here(), std::string(lexer_.cur().text()));
  advance();
  return result;
}

bool Parser::startsExpression() const {
  switch (kind()) {
    case TK_IDENT:
      return lexer_.cur().text() != "from";
    case TK_NUMBER:
    case TK_STRINGLITERAL:
    case TK_TRUE:
    case TK_FALSE:
    case TK_NONE:
    case TK_ELLIPSIS:
    case TK_NOT:
    case TK_LAMBDA:
    case '(':
    case '[':
    case '{':
    case '-':
    case '+':
    case '~':
    case '*':
    case TK_POW:
      return true;
    default:
      return false;
  }
}

Expr Parser::expressionList() {
  Expr first = starredOrExpression();
  if (!at(',')) {
    rejectLoneStar(first);
    return first;
  }
  std::vector<Expr> items{first};
  while (nextIf(',')) {
    if (!startsExpression()) break;
    items.push_back(starredOrExpression());
  }
  SourceRange range = SourceRange::cover(items.front().range(), items.back().range());
  return SequenceLiteral::make(TK_TUPLE_LITERAL, range, list(range, items));
}

void Parser::rejectLoneStar(const Expr& e) const {
  if (e.kind() == TK_STARRED) fail("a starred expression must stand in a list, a tuple or a call", e.range());
}

Expr Parser::starredOrExpression() {
  if (at('*')) {
    uint32_t start = begin();
    advance();
    Expr value = parse(kBitOr);
    return Starred::make(from(start, value), value);
  }
  Expr e = expression();
  if (at(TK_WALRUS)) rejectReserved();
  return e;
}

Expr Parser::parse(int precedence) {
  Expr left = prefix(precedence);
  for (;;) {
    int op = kind();
    if (int p = precedenceOf(op); p != 0) {
      if (p < precedence) return left;
      advance();
      Expr right = parse(p + 1);
      left = BinOp::make(op, SourceRange::cover(left.range(), right.range()), left, right);
      checkDepth(left);
    } else if (op == TK_POW) {
      if (kPower < precedence) return left;
      Nesting nesting(*this);
      advance();
      Expr right = parse(kUnary);  // right-associative, and a sign may follow
      left = BinOp::make(op, SourceRange::cover(left.range(), right.range()), left, right);
    } else if (precedence <= kComparison && comparisonOperator() != 0) {
      left = comparison(left);
      checkDepth(left);
    } else if (op == TK_IF && precedence <= kTernary) {
      return ternary(left);
    } else {
      return left;
    }
  }
}

Expr Parser::ternary(const Expr& value) {
  Nesting nesting(*this);
  advance();
  Expr cond = parse(kOr);
  if (!at(TK_ELSE)) expected("'else' of the conditional expression");
  advance();
  Expr other = expression();
  return Ternary::make(SourceRange::cover(value.range(), other.range()), cond, value, other);
}

int Parser::comparisonOperator() {
  switch (kind()) {
    case '<':
    case '>':
    case TK_EQ:
    case TK_NE:
    case TK_LE:
    case TK_GE:
    case TK_IN:
    case TK_IS:
      return kind();
    case TK_NOT:
      return lexer_.lookahead().kind == TK_IN ? TK_NOTIN : 0;
    default:
      return 0;
  }
}

Expr Parser::comparison(Expr first) {
  std::vector<Expr> operands{std::move(first)};
  std::vector<int> ops;
  while (int op = comparisonOperator()) {
    advance();
    if (op == TK_NOTIN) advance();
    if (op == TK_IS && nextIf(TK_NOT)) op = TK_ISNOT;
    ops.push_back(op);
    operands.push_back(parse(kComparison + 1));
  }
  SourceRange range = SourceRange::cover(operands.front().range(), operands.back().range());
  if (ops.size() == 1) return BinOp::make(ops[0], range, operands[0], operands[1]);
  return CompareChain::make(range, list(range, operands), ops);
}

Expr Parser::prefix(int precedence) {
  uint32_t start = begin();
  switch (int op = kind()) {
    case TK_NOT: {
      if (precedence > kNot) failHere("'not' must be in parentheses here");
      Nesting nesting(*this);
      advance();
      Expr operand = parse(kNot);
      return UnaryOp::make(op, from(start, operand), operand);
    }
    case '-':
    case '+':
    case '~': {
      Nesting nesting(*this);
      advance();
      bool literal = at(TK_NUMBER);
      SourceRange literal_range = here();
      Expr operand = parse(kUnary);
      literal = literal && operand.kind() == TK_CONST;
      if (op == '+' && literal) return Const::make(since(start), Const(operand).text());
      // The least 64-bit integer is a sign before a number that does not fit without it.
      if (op == '-' && literal && Const(operand).isInt()) {
        std::string digits = Const(operand).text();
        digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
        if (digits == "9223372036854775808") return Const::make(since(start), "-" + digits);
      }
      return UnaryOp::make(op == '-' ? TK_UNARY_MINUS : op, from(start, operand), operand);
    }
    default:
      break;
  }
  Nesting nesting(*this);
  return postfix(atom());
}

Expr Parser::postfix(Expr value) {
  for (;;) {
    switch (kind()) {
      case '.': {
        advance();
        Ident name = ident("the name of an attribute");
        value = Select::make(SourceRange::cover(value.range(), name.range()), value, name);
        break;
      }
      case '(':
        value = call(value);
        break;
      case '[':
        value = subscript(value);
        break;
      default:
        return value;
    }
    checkDepth(value);
  }
}

Expr Parser::call(const Expr& callee) {
  const SourceRange open = here();
  advance();
  std::vector<Expr> inputs;
  std::vector<Attr> attributes;
  std::unordered_set<std::string_view> names;  // of the attributes, whose trees hold them
  while (!at(')')) {
    checkTimeLimit();
    uint32_t argument = begin();
    if (at(TK_POW)) failHere("keyword-arg expansion is not supported; write the keyword arguments one by one");
    if (at('*')) {
      inputs.push_back(starredOrExpression());
    } else {
      bool bare = at(TK_IDENT);
      Expr e = starredOrExpression();
      if (at('=')) {
        if (!bare || e.kind() != TK_VAR) {
          fail("only a name may stand before '=' in a call; a comparison is written '=='", since(argument));
        }
        Ident name = Ident(e.tree()->tree(0));
        advance();
        if (!names.insert(name.name()).second) fail(messages::keywordTwice(name.name()), name.range());
        attributes.push_back(Attr::make(name, expression()));
      } else {
        if (!attributes.empty()) fail("a positional argument may not follow a keyword argument", e.range());
        inputs.push_back(at(TK_FOR) ? generator(argument, e) : e);
      }
    }
    if (!nextIf(',')) break;
  }
  expect(')');
  SourceRange range = callee.range();
  if (inputs.empty() && attributes.empty() && !in_place_) range = SourceRange::cover(range, open);
  for (const Expr& input : inputs) range = SourceRange::cover(range, input.range());
  for (const Attr& attribute : attributes) range = SourceRange::cover(range, attribute.range());
  return Apply::make(range, callee, list(range, inputs), ListView<Attr>::make(range, attributes));
}

Expr Parser::subscript(const Expr& value) {
  advance();
  // The strings in Literal["a"] and Annotated[int, "text"] are no annotations.
  bool annotation = in_annotation_;
  std::string name = lastName(value);
  if (name == "Literal" || name == "Annotated") in_annotation_ = false;
  if (at(']')) failHere("a subscript needs an index");
  std::vector<Expr> indices{index()};
  bool trailing_comma = false;
  while (nextIf(',')) {
    trailing_comma = at(']');
    if (trailing_comma) break;
    indices.push_back(index());
  }
  in_annotation_ = annotation;
  const SourceRange close = here();
  expect(']');
  // x[i,] takes a tuple of one; in an annotation, where a tuple means no more than its elements, List[int,] is
  // List[int].
  if (trailing_comma && indices.size() == 1 && !in_annotation_) {
    const SourceRange item = indices[0].range();
    indices = {SequenceLiteral::make(TK_TUPLE_LITERAL, item, list(item, indices))};
  }
  SourceRange range = SourceRange::cover(indices.front().range(), indices.back().range());
  // As torch.jit underlines it, which of a Python function's text leaves out the bracket after a string.
  const bool open_ended = in_place_ && indices.back().kind() == TK_STRINGLITERAL;
  return Subscript::make(SourceRange::cover(value.range(), open_ended ? range : close), value, list(range, indices));
}

Expr Parser::index() {
  SourceRange range = here();
  Maybe<Expr> first = none<Expr>();
  if (!at(':')) {
    Expr e = starredOrExpression();
    if (!at(':')) return e;
    range = SourceRange::cover(e.range(), here());
    first = Maybe<Expr>::some(e);
  }
  auto bound = [&] {
    if (at(':') || at(']') || at(',')) return none<Expr>();
    Expr e = expression();
    range = SourceRange::cover(range, e.range());
    return Maybe<Expr>::some(e);
  };
  expect(':');
  Maybe<Expr> stop = bound();
  Maybe<Expr> step = none<Expr>();
  if (at(':')) {
    range = SourceRange::cover(range, here());
    advance();
    step = bound();
  }
  return SliceExpr::make(range, first, stop, step);
}

Expr Parser::atom() {
  SourceRange range = here();
  switch (kind()) {
    case TK_IDENT:
      return Var::make(ident("an expression"));
    case TK_NUMBER: {
      std::string text(lexer_.cur().text());
      advance();
      return Const::make(range, std::move(text));
    }
    case TK_STRINGLITERAL:
      return strings();
    case TK_TRUE:
    case TK_FALSE:
    case TK_NONE:
    case TK_ELLIPSIS: {
      int k = kind();
      advance();
      return Expr(Tree::make(k, range, {}));
    }
    case '(':
      return parenthesized();
    case '[':
      return listOrComprehension();
    case '{':
      return dictOrSet();
    default:
      rejectReserved();
      expected("an expression");
  }
}

Expr Parser::generator(uint32_t start, const Expr& element) {
  if (element.kind() == TK_STARRED) fail(messages::starredElement(), element.range());
  const auto loops = compLoops();
  return ListComp::make(from(start, loops), element, loops);
}

SourceRange Parser::bracketed(uint32_t open, const std::vector<Expr>& items) const {
  return {source_, open, items.empty() ? open + 1 : std::max(open + 1, items.back().range().end)};
}

Expr Parser::parenthesized() {
  uint32_t start = begin();
  advance();
  if (nextIf(')')) {
    SourceRange range = bracketed(start, {});
    return SequenceLiteral::make(TK_TUPLE_LITERAL, range, list(range, {}));
  }
  Expr first = starredOrExpression();
  if (at(TK_FOR)) {
    Expr all = generator(start, first);
    expect(')');
    return all;
  }
  if (!at(',')) {
    rejectLoneStar(first);
    expect(')');
    return first;
  }
  std::vector<Expr> items{first};
  while (nextIf(',')) {
    if (at(')')) break;
    items.push_back(starredOrExpression());
  }
  expect(')');
  SourceRange range = bracketed(start, items);
  return SequenceLiteral::make(TK_TUPLE_LITERAL, range, list(range, items));
}

Expr Parser::listOrComprehension() {
  uint32_t start = begin();
  advance();
  std::vector<Expr> items;
  while (!at(']')) {
    items.push_back(starredOrExpression());
    if (at(TK_FOR) && items.size() == 1) {
      if (items[0].kind() == TK_STARRED) fail(messages::starredElement(), items[0].range());
      const auto loops = compLoops();
      expect(']');
      return ListComp::make(from(start, loops), items[0], loops);
    }
    if (!nextIf(',')) break;
  }
  expect(']');
  SourceRange range = bracketed(start, items);
  return SequenceLiteral::make(TK_LIST_LITERAL, range, list(range, items));
}

Expr Parser::dictOrSet() {
  uint32_t start = begin();
  advance();
  std::vector<Expr> keys, values;
  bool is_dict = false;
  while (!at('}')) {
    if (at(TK_POW)) failHere("Dict expansion ('**') is not supported; use dict.update");
    keys.push_back(starredOrExpression());
    if (keys.size() == 1) is_dict = at(':');
    if (is_dict) {
      if (keys.back().kind() == TK_STARRED) fail("a dict's keys can't be starred", keys.back().range());
      expect(':');
      values.push_back(expression());
    }
    if (at(TK_FOR) && keys.size() == 1) {
      if (!is_dict) failHere("set comprehensions are not supported; write a list comprehension: [… for … in …]");
      const auto loops = compLoops();
      expect('}');
      return DictComp::make(from(start, loops), keys[0], values[0], loops);
    }
    if (!nextIf(',')) break;
  }
  expect('}');
  SourceRange range = bracketed(start, is_dict ? values : keys);
  if (is_dict || keys.empty()) return DictLiteral::make(range, list(range, keys), list(range, values));
  return SequenceLiteral::make(TK_SET_LITERAL, range, list(range, keys));
}

ListView<CompFor> Parser::compLoops() {
  const uint32_t all = begin();
  std::vector<CompFor> loops;
  while (at(TK_FOR)) {
    // The emitter nests as deep as the loops do.
    if (loops.size() >= static_cast<size_t>(kMaxNesting)) failHere("a comprehension with too many 'for'");
    const uint32_t start = begin();
    advance();
    Expr target = loopTarget();
    expect(TK_IN);
    Expr iter = parse(kOr);
    std::vector<Expr> conditions;
    const uint32_t first_condition = begin();
    while (nextIf(TK_IF)) conditions.push_back(parse(kOr));
    const auto tests = list(since(first_condition), conditions);
    loops.push_back(CompFor::make(from(start, conditions.empty() ? iter : conditions.back()), target, iter, tests));
    if (atName("async")) rejectReserved();
  }
  return ListView<CompFor>::make(from(all, loops.back()), loops);
}

Expr Parser::loopTarget() {
  auto item = [&]() -> Expr {
    if (at('*')) return starredOrExpression();
    return parse(kBitOr);  // not a comparison, so that `in` ends it
  };
  Expr target = item();
  if (at(',')) {
    std::vector<Expr> items{target};
    while (nextIf(',')) {
      if (at(TK_IN)) break;
      items.push_back(item());
    }
    SourceRange range = SourceRange::cover(items.front().range(), items.back().range());
    target = SequenceLiteral::make(TK_TUPLE_LITERAL, range, list(range, items));
  }
  return asTarget(target, "assign to");
}

Expr Parser::asTarget(const Expr& e, const char* verb, bool top) {
  switch (e.kind()) {
    case TK_VAR:
    case '.':
    case TK_SUBSCRIPT:
      return e;
    case TK_STARRED:
      if (top)
        fail("A Starred expression may only appear on the lhs within a list or tuple: write '*a, = …'", e.range());
      if (const int kind = Starred(e).value().kind(); kind == TK_CONST || kind == TK_STRINGLITERAL)
        fail("Cannot pack a tuple into a non-variable: a name has to stand after '*'", e.range());
      return Starred::make(e.range(), asTarget(Starred(e).value(), verb));
    case TK_TUPLE_LITERAL:
    case TK_LIST_LITERAL: {
      std::vector<Expr> items;
      bool starred = false;
      for (Expr item : SequenceLiteral(e).elements()) {
        if (item.kind() == TK_STARRED) {
          if (starred) fail(messages::oneStarred(), item.range());
          starred = true;
        }
        items.push_back(asTarget(item, verb, false));
      }
      return SequenceLiteral::make(TK_TUPLE_LITERAL, e.range(), list(e.range(), items));
    }
    default: {
      const char* what = "an expression";
      switch (e.kind()) {
        case TK_CONST:
        case TK_STRINGLITERAL:
        case TK_DICT_LITERAL:
        case TK_SET_LITERAL:
          what = "a literal";
          break;
        case TK_TRUE:
          what = "True";
          break;
        case TK_FALSE:
          what = "False";
          break;
        case TK_NONE:
          what = "None";
          break;
        case TK_ELLIPSIS:
          what = "'...'";
          break;
        case TK_APPLY:
          what = "a function call";
          break;
        case TK_TERNARY:
          what = "a conditional expression";
          break;
        case TK_LIST_COMP:
        case TK_DICT_COMP:
          what = "a comprehension";
          break;
        case TK_COMPARE_CHAIN:
          what = "a comparison";
          break;
        default:
          break;
      }
      fail(std::string("unexpected expression: cannot ") + verb + " " + what, e.range());
    }
  }
}

}  // namespace cresset
