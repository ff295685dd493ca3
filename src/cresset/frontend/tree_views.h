// Tree views: named access to the subtrees of each kind of tree, and constructors for them.
//
// A view is a TreeRef with a static type; making one checks the tree's kind (InternalError if it is wrong). The layout
// of each kind is written beside its view as an s-expression.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/frontend/tree.h"

namespace cresset {

class TreeView {
 public:
  explicit TreeView(TreeRef tree) : tree_(std::move(tree)) {}
  int kind() const { return tree_->kind(); }
  const SourceRange& range() const { return tree_->range(); }
  const TreeRef& tree() const { return tree_; }
  operator TreeRef() const { return tree_; }

 protected:
  const TreeRef& sub(size_t i) const { return tree_->tree(i); }
  void require(int kind) const;  // InternalError
  TreeRef tree_;
};

/// (list e1 e2 …) of views of one type.
template <typename T>
class ListView : public TreeView {
 public:
  explicit ListView(TreeRef tree) : TreeView(std::move(tree)) { require(TK_LIST); }
  size_t size() const { return tree_->trees().size(); }
  bool empty() const { return size() == 0; }
  T operator[](size_t i) const { return T(sub(i)); }
  struct iterator {
    const TreeRef* p;
    T operator*() const { return T(*p); }
    iterator& operator++() {
      ++p;
      return *this;
    }
    bool operator!=(const iterator& o) const { return p != o.p; }
  };
  iterator begin() const { return {tree_->trees().data()}; }
  iterator end() const { return {tree_->trees().data() + size()}; }
  static ListView make(const SourceRange& range, const std::vector<T>& items) {
    return ListView(Tree::make(TK_LIST, range, std::vector<TreeRef>(items.begin(), items.end())));
  }
};

/// (option) or (option e).
template <typename T>
class Maybe : public TreeView {
 public:
  explicit Maybe(TreeRef tree) : TreeView(std::move(tree)) { require(TK_OPTION); }
  bool present() const { return !tree_->trees().empty(); }
  T get() const { return T(sub(0)); }
  static Maybe none(const SourceRange& range) { return Maybe(Tree::make(TK_OPTION, range, {})); }
  static Maybe some(const T& value) { return Maybe(Tree::make(TK_OPTION, value.range(), {value.tree()})); }
};

/// (ident name)
class Ident : public TreeView {
 public:
  explicit Ident(TreeRef tree) : TreeView(std::move(tree)) { require(TK_IDENT); }
  const std::string& name() const { return sub(0)->text(); }
  static Ident make(const SourceRange& range, std::string name);
};

/// Any expression: look at kind().
class Expr : public TreeView {
 public:
  explicit Expr(TreeRef tree) : TreeView(std::move(tree)) {}
};
/// Any statement: look at kind().
class Stmt : public TreeView {
 public:
  explicit Stmt(TreeRef tree) : TreeView(std::move(tree)) {}
};

// ---- expressions ----

/// (variable (ident x))
class Var : public Expr {
 public:
  explicit Var(TreeRef tree) : Expr(std::move(tree)) { require(TK_VAR); }
  const std::string& name() const { return Ident(sub(0)).name(); }
  static Var make(const Ident& name);
};

/// (const 1): a number as it was written (1_000, 0x1f, 1e3, 2j).
class Const : public Expr {
 public:
  explicit Const(TreeRef tree) : Expr(std::move(tree)) { require(TK_CONST); }
  const std::string& text() const { return sub(0)->text(); }
  bool isInt() const;
  bool isFloat() const;
  bool isComplex() const;
  int64_t asInt() const;  // UserError if it does not fit
  double asFloat() const;
  double asImaginary() const;  // the part before the j
  static Const make(const SourceRange& range, std::string text);
};

/// (string_literal text): the decoded value; adjacent literals are joined by the parser.
class StringLiteral : public Expr {
 public:
  explicit StringLiteral(TreeRef tree) : Expr(std::move(tree)) { require(TK_STRINGLITERAL); }
  const std::string& text() const { return sub(0)->text(); }
  static StringLiteral make(const SourceRange& range, std::string value);
};

/// (attribute (ident name) e): a keyword argument.
class Attr : public TreeView {
 public:
  explicit Attr(TreeRef tree) : TreeView(std::move(tree)) { require(TK_ATTRIBUTE); }
  Ident name() const { return Ident(sub(0)); }
  Expr value() const { return Expr(sub(1)); }
  static Attr make(const Ident& name, const Expr& value);
};

/// (apply f (list a …) (list (attribute …) …)); arguments may be (starred e).
class Apply : public Expr {
 public:
  explicit Apply(TreeRef tree) : Expr(std::move(tree)) { require(TK_APPLY); }
  Expr callee() const { return Expr(sub(0)); }
  ListView<Expr> inputs() const { return ListView<Expr>(sub(1)); }
  ListView<Attr> attributes() const { return ListView<Attr>(sub(2)); }
  static Apply make(
      const SourceRange& range, const Expr& callee, const ListView<Expr>& inputs, const ListView<Attr>& attributes);
};

/// (. e (ident name))
class Select : public Expr {
 public:
  explicit Select(TreeRef tree) : Expr(std::move(tree)) { require('.'); }
  Expr value() const { return Expr(sub(0)); }
  Ident selector() const { return Ident(sub(1)); }
  static Select make(const SourceRange& range, const Expr& value, const Ident& selector);
};

/// (slice (option start) (option stop) (option step)), only inside subscripts.
class SliceExpr : public Expr {
 public:
  explicit SliceExpr(TreeRef tree) : Expr(std::move(tree)) { require(TK_SLICE_EXPR); }
  Maybe<Expr> start() const { return Maybe<Expr>(sub(0)); }
  Maybe<Expr> stop() const { return Maybe<Expr>(sub(1)); }
  Maybe<Expr> step() const { return Maybe<Expr>(sub(2)); }
  static SliceExpr make(
      const SourceRange& range, const Maybe<Expr>& start, const Maybe<Expr>& stop, const Maybe<Expr>& step);
};

/// (subscript e (list i …)): x[i, j] has two indices, x[(i, j)] one tuple literal.
class Subscript : public Expr {
 public:
  explicit Subscript(TreeRef tree) : Expr(std::move(tree)) { require(TK_SUBSCRIPT); }
  Expr value() const { return Expr(sub(0)); }
  ListView<Expr> indices() const { return ListView<Expr>(sub(1)); }
  static Subscript make(const SourceRange& range, const Expr& value, const ListView<Expr>& indices);
};

/// (op a b), op one of + - * / % @ & | ^ < > and TK_FLOOR_DIV POW LSHIFT RSHIFT EQ NE LE GE AND OR IS ISNOT IN NOTIN.
/// Chains of one left-associative operator nest to the left as deep as they are long.
class BinOp : public Expr {
 public:
  explicit BinOp(TreeRef tree) : Expr(std::move(tree)) {}
  Expr lhs() const { return Expr(sub(0)); }
  Expr rhs() const { return Expr(sub(1)); }
  static bool is(int kind);
  static BinOp make(int kind, const SourceRange& range, const Expr& lhs, const Expr& rhs);
};

/// (comparison chain (list a b c …) (list (<) (<=) …)): a < b <= c. A single comparison is a BinOp.
class CompareChain : public Expr {
 public:
  explicit CompareChain(TreeRef tree) : Expr(std::move(tree)) { require(TK_COMPARE_CHAIN); }
  ListView<Expr> operands() const { return ListView<Expr>(sub(0)); }
  int op(size_t i) const { return sub(1)->tree(i)->kind(); }
  static CompareChain make(const SourceRange& range, const ListView<Expr>& operands, const std::vector<int>& ops);
};

/// (unary minus e), (not e), (~ e)
class UnaryOp : public Expr {
 public:
  explicit UnaryOp(TreeRef tree) : Expr(std::move(tree)) {}
  Expr operand() const { return Expr(sub(0)); }
  static UnaryOp make(int kind, const SourceRange& range, const Expr& operand);
};

/// (if expression cond then else)
class Ternary : public Expr {
 public:
  explicit Ternary(TreeRef tree) : Expr(std::move(tree)) { require(TK_TERNARY); }
  Expr cond() const { return Expr(sub(0)); }
  Expr thenExpr() const { return Expr(sub(1)); }
  Expr elseExpr() const { return Expr(sub(2)); }
  static Ternary make(const SourceRange& range, const Expr& cond, const Expr& then_expr, const Expr& else_expr);
};

/// (list literal (list e …)), (tuple literal (list e …)), (set literal (list e …))
class SequenceLiteral : public Expr {
 public:
  explicit SequenceLiteral(TreeRef tree) : Expr(std::move(tree)) {}
  ListView<Expr> elements() const { return ListView<Expr>(sub(0)); }
  static SequenceLiteral make(int kind, const SourceRange& range, const ListView<Expr>& elements);
};

/// (dict literal (list k …) (list v …))
class DictLiteral : public Expr {
 public:
  explicit DictLiteral(TreeRef tree) : Expr(std::move(tree)) { require(TK_DICT_LITERAL); }
  ListView<Expr> keys() const { return ListView<Expr>(sub(0)); }
  ListView<Expr> values() const { return ListView<Expr>(sub(1)); }
  static DictLiteral make(const SourceRange& range, const ListView<Expr>& keys, const ListView<Expr>& values);
};

/// (for target iter (list cond …)) in a comprehension.
class CompFor : public TreeView {
 public:
  explicit CompFor(TreeRef tree) : TreeView(std::move(tree)) { require(TK_FOR); }
  Expr target() const { return Expr(sub(0)); }
  Expr iter() const { return Expr(sub(1)); }
  ListView<Expr> conditions() const { return ListView<Expr>(sub(2)); }
  static CompFor make(const SourceRange& range, const Expr& target, const Expr& iter, const ListView<Expr>& conditions);
};

/// (list comprehension elt (list for …)): [elt for target in iter if cond … for …]
class ListComp : public Expr {
 public:
  explicit ListComp(TreeRef tree) : Expr(std::move(tree)) { require(TK_LIST_COMP); }
  Expr element() const { return Expr(sub(0)); }
  ListView<CompFor> loops() const { return ListView<CompFor>(sub(1)); }
  static ListComp make(const SourceRange& range, const Expr& element, const ListView<CompFor>& loops);
};

/// (dict comprehension key value (list for …))
class DictComp : public Expr {
 public:
  explicit DictComp(TreeRef tree) : Expr(std::move(tree)) { require(TK_DICT_COMP); }
  Expr key() const { return Expr(sub(0)); }
  Expr value() const { return Expr(sub(1)); }
  ListView<CompFor> loops() const { return ListView<CompFor>(sub(2)); }
  static DictComp make(const SourceRange& range, const Expr& key, const Expr& value, const ListView<CompFor>& loops);
};

/// (starred e)
class Starred : public Expr {
 public:
  explicit Starred(TreeRef tree) : Expr(std::move(tree)) { require(TK_STARRED); }
  Expr value() const { return Expr(sub(0)); }
  static Starred make(const SourceRange& range, const Expr& value);
};

// Also: (True), (False), (None), (dots). An f-string is (apply (. (string_literal "a{}b") (ident format)) (list e …)
// (list)), with conversions and format specs as str.format takes them ("{!r:>5}"); literal braces in it are arguments.

// ---- statements ----

/// (assign (list target …) (option rhs) (option type)): a = b = rhs has two targets; `x: T` has no rhs.
class Assign : public Stmt {
 public:
  explicit Assign(TreeRef tree) : Stmt(std::move(tree)) { require(TK_ASSIGN); }
  ListView<Expr> targets() const { return ListView<Expr>(sub(0)); }
  Maybe<Expr> rhs() const { return Maybe<Expr>(sub(1)); }
  Maybe<Expr> type() const { return Maybe<Expr>(sub(2)); }
  static Assign make(
      const SourceRange& range, const ListView<Expr>& targets, const Maybe<Expr>& rhs, const Maybe<Expr>& type);
};

/// (augmented assign target (op) rhs), op a BinOp kind: '+' for +=.
class AugAssign : public Stmt {
 public:
  explicit AugAssign(TreeRef tree) : Stmt(std::move(tree)) { require(TK_AUG_ASSIGN); }
  Expr target() const { return Expr(sub(0)); }
  int op() const { return sub(1)->kind(); }
  Expr rhs() const { return Expr(sub(2)); }
  static AugAssign make(const SourceRange& range, const Expr& target, int op, const Expr& rhs);
};

/// (if cond (list s …) (list s …)); elif is an If in the else list.
class If : public Stmt {
 public:
  explicit If(TreeRef tree) : Stmt(std::move(tree)) { require(TK_IF); }
  Expr cond() const { return Expr(sub(0)); }
  ListView<Stmt> thenBranch() const { return ListView<Stmt>(sub(1)); }
  ListView<Stmt> elseBranch() const { return ListView<Stmt>(sub(2)); }
  static If make(
      const SourceRange& range, const Expr& cond, const ListView<Stmt>& then_branch, const ListView<Stmt>& else_branch);
};

/// (while cond (list s …))
class While : public Stmt {
 public:
  explicit While(TreeRef tree) : Stmt(std::move(tree)) { require(TK_WHILE); }
  Expr cond() const { return Expr(sub(0)); }
  ListView<Stmt> body() const { return ListView<Stmt>(sub(1)); }
  static While make(const SourceRange& range, const Expr& cond, const ListView<Stmt>& body);
};

/// (for target iter (list s …))
class For : public Stmt {
 public:
  explicit For(TreeRef tree) : Stmt(std::move(tree)) { require(TK_FOR); }
  Expr target() const { return Expr(sub(0)); }
  Expr iter() const { return Expr(sub(1)); }
  ListView<Stmt> body() const { return ListView<Stmt>(sub(2)); }
  static For make(const SourceRange& range, const Expr& target, const Expr& iter, const ListView<Stmt>& body);
};

/// (with item e (option target))
class WithItem : public TreeView {
 public:
  explicit WithItem(TreeRef tree) : TreeView(std::move(tree)) { require(TK_WITH_ITEM); }
  Expr context() const { return Expr(sub(0)); }
  Maybe<Var> target() const { return Maybe<Var>(sub(1)); }
  static WithItem make(const SourceRange& range, const Expr& context, const Maybe<Var>& target);
};

/// (with (list item …) (list s …))
class With : public Stmt {
 public:
  explicit With(TreeRef tree) : Stmt(std::move(tree)) { require(TK_WITH); }
  ListView<WithItem> items() const { return ListView<WithItem>(sub(0)); }
  ListView<Stmt> body() const { return ListView<Stmt>(sub(1)); }
  static With make(const SourceRange& range, const ListView<WithItem>& items, const ListView<Stmt>& body);
};

/// (return e); a bare return has (None).
class Return : public Stmt {
 public:
  explicit Return(TreeRef tree) : Stmt(std::move(tree)) { require(TK_RETURN); }
  Expr value() const { return Expr(sub(0)); }
  static Return make(const SourceRange& range, const Expr& value);
};

/// (raise e)
class Raise : public Stmt {
 public:
  explicit Raise(TreeRef tree) : Stmt(std::move(tree)) { require(TK_RAISE); }
  Expr value() const { return Expr(sub(0)); }
  static Raise make(const SourceRange& range, const Expr& value);
};

/// (assert cond (option message))
class Assert : public Stmt {
 public:
  explicit Assert(TreeRef tree) : Stmt(std::move(tree)) { require(TK_ASSERT); }
  Expr cond() const { return Expr(sub(0)); }
  Maybe<Expr> message() const { return Maybe<Expr>(sub(1)); }
  static Assert make(const SourceRange& range, const Expr& cond, const Maybe<Expr>& message);
};

/// (delete (list e …))
class Delete : public Stmt {
 public:
  explicit Delete(TreeRef tree) : Stmt(std::move(tree)) { require(TK_DELETE); }
  ListView<Expr> targets() const { return ListView<Expr>(sub(0)); }
  static Delete make(const SourceRange& range, const ListView<Expr>& targets);
};

/// (expression statement e)
class ExprStmt : public Stmt {
 public:
  explicit ExprStmt(TreeRef tree) : Stmt(std::move(tree)) { require(TK_EXPR_STMT); }
  Expr expr() const { return Expr(sub(0)); }
  static ExprStmt make(const SourceRange& range, const Expr& expr);
};

// Also: (break), (continue), (pass).

// ---- definitions ----

/// (param (ident name) (option type) (option default) (True|False)); the last: keyword-only.
class Param : public TreeView {
 public:
  explicit Param(TreeRef tree) : TreeView(std::move(tree)) { require(TK_PARAM); }
  Ident name() const { return Ident(sub(0)); }
  Maybe<Expr> type() const { return Maybe<Expr>(sub(1)); }
  Maybe<Expr> defaultValue() const { return Maybe<Expr>(sub(2)); }
  bool kwargOnly() const { return sub(3)->kind() == TK_TRUE; }
  static Param make(
      const SourceRange& range, const Ident& name, const Maybe<Expr>& type, const Maybe<Expr>& default_value,
      bool kwarg_only);
};

/// (decl (list param …) (option return-type)). A type comment has been merged in by the parser.
class Decl : public TreeView {
 public:
  explicit Decl(TreeRef tree) : TreeView(std::move(tree)) { require(TK_DECL); }
  ListView<Param> params() const { return ListView<Param>(sub(0)); }
  Maybe<Expr> returnType() const { return Maybe<Expr>(sub(1)); }
  static Decl make(const SourceRange& range, const ListView<Param>& params, const Maybe<Expr>& return_type);
};

/// (def (ident name) decl (list s …) (list decorator …))
class Def : public Stmt {
 public:
  explicit Def(TreeRef tree) : Stmt(std::move(tree)) { require(TK_DEF); }
  Ident name() const { return Ident(sub(0)); }
  Decl decl() const { return Decl(sub(1)); }
  ListView<Stmt> body() const { return ListView<Stmt>(sub(2)); }
  ListView<Expr> decorators() const { return ListView<Expr>(sub(3)); }
  static Def make(
      const SourceRange& range, const Ident& name, const Decl& decl, const ListView<Stmt>& body,
      const ListView<Expr>& decorators);
  Def withName(std::string name) const;
};

/// (class (ident name) (list base …) (list s …) (list decorator …)); statements are Assign, Def, ExprStmt (a
/// docstring), pass.
class ClassDef : public Stmt {
 public:
  explicit ClassDef(TreeRef tree) : Stmt(std::move(tree)) { require(TK_CLASS_DEF); }
  Ident name() const { return Ident(sub(0)); }
  ListView<Expr> bases() const { return ListView<Expr>(sub(1)); }
  ListView<Stmt> body() const { return ListView<Stmt>(sub(2)); }
  ListView<Expr> decorators() const { return ListView<Expr>(sub(3)); }
  static ClassDef make(
      const SourceRange& range, const Ident& name, const ListView<Expr>& bases, const ListView<Stmt>& body,
      const ListView<Expr>& decorators);
};

}  // namespace cresset
