// Tree views: constructors of each kind of tree, and the values of numbers.
#include "cresset/frontend/tree_views.h"

#include <algorithm>
#include <charconv>

#include "cresset/support/error.h"

namespace cresset {
namespace {

std::string withoutUnderscores(const std::string& text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != '_'; });
  return out;
}

/// The base of an integer literal without underscores: 16, 8, 2 for 0x, 0o, 0b.
int baseOf(const std::string& text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

double parseDouble(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too large is infinity and too small is zero, as in Python; from_chars leaves `value` alone then.
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

TreeRef bare(int kind, const SourceRange& range) {
  return Tree::make(kind, range, {});
}

}  // namespace

void TreeView::require(int kind) const {
  CRESSET_CHECK(
      tree_->kind() == kind && !tree_->isAtom(),
      "expected a tree of kind " + tokenName(kind) + ", got " + tree_->toString());
}

// ---- names and literals ----

Ident Ident::make(const SourceRange& range, std::string name) {
  return Ident(Tree::make(TK_IDENT, range, {Tree::atom(range, std::move(name))}));
}

Var Var::make(const Ident& name) {
  return Var(Tree::make(TK_VAR, name.range(), {name}));
}

bool Const::isComplex() const {
  return text().back() == 'j' || text().back() == 'J';
}

bool Const::isFloat() const {
  return !isComplex() && baseOf(text()) == 10 && text().find_first_of(".eE") != std::string::npos;
}

bool Const::isInt() const {
  return !isComplex() && !isFloat();
}

int64_t Const::asInt() const {
  CRESSET_CHECK(isInt(), text());
  std::string digits = withoutUnderscores(text());
  int base = baseOf(digits);
  const char* begin = digits.data() + (base == 10 ? 0 : 2);
  const char* end = digits.data() + digits.size();
  int64_t value = 0;  // the parser folds the sign into the literal -9223372036854775808
  auto [stop, error] = std::from_chars(begin, end, value, base);
  if (error == std::errc::result_out_of_range) {
    throw UserError("the integer " + text() + " is out of range: it does not fit in 64 bits", range());
  }
  CRESSET_CHECK(error == std::errc() && stop == end, text());
  return value;
}

double Const::asFloat() const {
  CRESSET_CHECK(!isComplex(), text());
  if (isInt()) return static_cast<double>(asInt());
  return parseDouble(withoutUnderscores(text()));
}

double Const::asImaginary() const {
  CRESSET_CHECK(isComplex(), text());
  std::string digits = withoutUnderscores(text());
  digits.pop_back();
  return parseDouble(digits);
}

Const Const::make(const SourceRange& range, std::string text) {
  return Const(Tree::make(TK_CONST, range, {Tree::atom(range, std::move(text))}));
}

StringLiteral StringLiteral::make(const SourceRange& range, std::string value) {
  return StringLiteral(Tree::make(TK_STRINGLITERAL, range, {Tree::atom(range, std::move(value))}));
}

// ---- expressions ----

Attr Attr::make(const Ident& name, const Expr& value) {
  return Attr(Tree::make(TK_ATTRIBUTE, SourceRange::cover(name.range(), value.range()), {name, value}));
}

Apply Apply::make(
    const SourceRange& range, const Expr& callee, const ListView<Expr>& inputs, const ListView<Attr>& attributes) {
  return Apply(Tree::make(TK_APPLY, range, {callee, inputs, attributes}));
}

Select Select::make(const SourceRange& range, const Expr& value, const Ident& selector) {
  return Select(Tree::make('.', range, {value, selector}));
}

SliceExpr SliceExpr::make(
    const SourceRange& range, const Maybe<Expr>& start, const Maybe<Expr>& stop, const Maybe<Expr>& step) {
  return SliceExpr(Tree::make(TK_SLICE_EXPR, range, {start, stop, step}));
}

Subscript Subscript::make(const SourceRange& range, const Expr& value, const ListView<Expr>& indices) {
  return Subscript(Tree::make(TK_SUBSCRIPT, range, {value, indices}));
}

bool BinOp::is(int kind) {
  switch (kind) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '@':
    case '&':
    case '|':
    case '^':
    case '<':
    case '>':
    case TK_FLOOR_DIV:
    case TK_POW:
    case TK_LSHIFT:
    case TK_RSHIFT:
    case TK_EQ:
    case TK_NE:
    case TK_LE:
    case TK_GE:
    case TK_AND:
    case TK_OR:
    case TK_IS:
    case TK_ISNOT:
    case TK_IN:
    case TK_NOTIN:
      return true;
    default:
      return false;
  }
}

BinOp BinOp::make(int kind, const SourceRange& range, const Expr& lhs, const Expr& rhs) {
  CRESSET_CHECK(is(kind), tokenName(kind));
  return BinOp(Tree::make(kind, range, {lhs, rhs}));
}

CompareChain CompareChain::make(const SourceRange& range, const ListView<Expr>& operands, const std::vector<int>& ops) {
  std::vector<TreeRef> kinds;
  kinds.reserve(ops.size());
  for (int op : ops) kinds.push_back(bare(op, range));
  return CompareChain(Tree::make(TK_COMPARE_CHAIN, range, {operands, Tree::make(TK_LIST, range, std::move(kinds))}));
}

UnaryOp UnaryOp::make(int kind, const SourceRange& range, const Expr& operand) {
  CRESSET_CHECK(kind == TK_UNARY_MINUS || kind == TK_NOT || kind == '~' || kind == '+', tokenName(kind));
  return UnaryOp(Tree::make(kind, range, {operand}));
}

Ternary Ternary::make(const SourceRange& range, const Expr& cond, const Expr& then_expr, const Expr& else_expr) {
  return Ternary(Tree::make(TK_TERNARY, range, {cond, then_expr, else_expr}));
}

SequenceLiteral SequenceLiteral::make(int kind, const SourceRange& range, const ListView<Expr>& elements) {
  CRESSET_CHECK(kind == TK_LIST_LITERAL || kind == TK_TUPLE_LITERAL || kind == TK_SET_LITERAL, tokenName(kind));
  return SequenceLiteral(Tree::make(kind, range, {elements}));
}

DictLiteral DictLiteral::make(const SourceRange& range, const ListView<Expr>& keys, const ListView<Expr>& values) {
  return DictLiteral(Tree::make(TK_DICT_LITERAL, range, {keys, values}));
}

CompFor CompFor::make(
    const SourceRange& range, const Expr& target, const Expr& iter, const ListView<Expr>& conditions) {
  return CompFor(Tree::make(TK_FOR, range, {target, iter, conditions}));
}

ListComp ListComp::make(const SourceRange& range, const Expr& element, const ListView<CompFor>& loops) {
  return ListComp(Tree::make(TK_LIST_COMP, range, {element, loops}));
}

DictComp DictComp::make(const SourceRange& range, const Expr& key, const Expr& value, const ListView<CompFor>& loops) {
  return DictComp(Tree::make(TK_DICT_COMP, range, {key, value, loops}));
}

Starred Starred::make(const SourceRange& range, const Expr& value) {
  return Starred(Tree::make(TK_STARRED, range, {value}));
}

// ---- statements ----

Assign Assign::make(
    const SourceRange& range, const ListView<Expr>& targets, const Maybe<Expr>& rhs, const Maybe<Expr>& type) {
  return Assign(Tree::make(TK_ASSIGN, range, {targets, rhs, type}));
}

AugAssign AugAssign::make(const SourceRange& range, const Expr& target, int op, const Expr& rhs) {
  return AugAssign(Tree::make(TK_AUG_ASSIGN, range, {target, bare(op, range), rhs}));
}

If If::make(
    const SourceRange& range, const Expr& cond, const ListView<Stmt>& then_branch, const ListView<Stmt>& else_branch) {
  return If(Tree::make(TK_IF, range, {cond, then_branch, else_branch}));
}

While While::make(const SourceRange& range, const Expr& cond, const ListView<Stmt>& body) {
  return While(Tree::make(TK_WHILE, range, {cond, body}));
}

For For::make(const SourceRange& range, const Expr& target, const Expr& iter, const ListView<Stmt>& body) {
  return For(Tree::make(TK_FOR, range, {target, iter, body}));
}

WithItem WithItem::make(const SourceRange& range, const Expr& context, const Maybe<Var>& target) {
  return WithItem(Tree::make(TK_WITH_ITEM, range, {context, target}));
}

With With::make(const SourceRange& range, const ListView<WithItem>& items, const ListView<Stmt>& body) {
  return With(Tree::make(TK_WITH, range, {items, body}));
}

Return Return::make(const SourceRange& range, const Expr& value) {
  return Return(Tree::make(TK_RETURN, range, {value}));
}

Raise Raise::make(const SourceRange& range, const Expr& value) {
  return Raise(Tree::make(TK_RAISE, range, {value}));
}

Assert Assert::make(const SourceRange& range, const Expr& cond, const Maybe<Expr>& message) {
  return Assert(Tree::make(TK_ASSERT, range, {cond, message}));
}

Delete Delete::make(const SourceRange& range, const ListView<Expr>& targets) {
  return Delete(Tree::make(TK_DELETE, range, {targets}));
}

ExprStmt ExprStmt::make(const SourceRange& range, const Expr& expr) {
  return ExprStmt(Tree::make(TK_EXPR_STMT, range, {expr}));
}

// ---- definitions ----

Param Param::make(
    const SourceRange& range, const Ident& name, const Maybe<Expr>& type, const Maybe<Expr>& default_value,
    bool kwarg_only) {
  return Param(Tree::make(TK_PARAM, range, {name, type, default_value, bare(kwarg_only ? TK_TRUE : TK_FALSE, range)}));
}

Decl Decl::make(const SourceRange& range, const ListView<Param>& params, const Maybe<Expr>& return_type) {
  return Decl(Tree::make(TK_DECL, range, {params, return_type}));
}

Def Def::make(
    const SourceRange& range, const Ident& name, const Decl& decl, const ListView<Stmt>& body,
    const ListView<Expr>& decorators) {
  return Def(Tree::make(TK_DEF, range, {name, decl, body, decorators}));
}

Def Def::withName(std::string name) const {
  return make(range(), Ident::make(this->name().range(), std::move(name)), decl(), body(), decorators());
}

ClassDef ClassDef::make(
    const SourceRange& range, const Ident& name, const ListView<Expr>& bases, const ListView<Stmt>& body,
    const ListView<Expr>& decorators) {
  return ClassDef(Tree::make(TK_CLASS_DEF, range, {name, bases, body, decorators}));
}

}  // namespace cresset
