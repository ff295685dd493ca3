// The emitter: visits the trees of one function and inserts nodes. Internal to the front end.
//
// One pass makes SSA form directly. Statements are emitted in order at the graph's insertion point; Environment says
// what names mean; a nested block opens a frame and, when it closes, the frame's bindings become outputs of the
// prim::If or prim::Loop (emit_control.cpp). Early exits are flags (flow.h). finish() then removes what turned out not
// to be needed (tidy.h).
//
// Invariants: the insertion point is always at the end of the block whose frame is on top of the environment; every
// node is inserted with the source range of the expression or statement that it stands for. Recursion follows nesting,
// which the parser and kMaxBlockDepth bound, never the number of statements or the length of a chain of operators.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cresset/frontend/compiler.h"
#include "cresset/frontend/emitter.h"
#include "cresset/frontend/environment.h"
#include "cresset/frontend/flow.h"
#include "cresset/frontend/indices.h"
#include "cresset/frontend/refinement.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/frontend/tuple_sizes.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/parser.h"
#include "cresset/support/error.h"

namespace cresset {

/// Names, each once, in the order in which they were first inserted.
class NameList {
 public:
  void insert(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }
  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }

 private:
  std::vector<std::string> names_;
  std::set<std::string> known_;
};

/// Blocks within blocks; less than kMaxNesting, so that every emitted graph can be printed and parsed back.
inline constexpr int kMaxBlockDepth = kMaxNesting - 10;
/// From here on, code after an early exit is not nested any deeper but guarded piece by piece (see emitStatements).
inline constexpr int kFlatDepth = kMaxBlockDepth / 2;

class FunctionEmitter final : public EmitContext {
 public:
  FunctionEmitter(Function& target, std::shared_ptr<Graph> graph, const FunctionBody& body);
  void run();

 private:
  // ---- functions (emitter.cpp) ----
  void emitParameters(const c10::FunctionSchema& schema);
  Flow emitReturn(const SourceRange& range, Value* value);
  Flow emitImplicitReturn();
  void finish(Value* result);

  // ---- statements (emit_statements.cpp) ----
  /// Emits the statements [begin, end) of `list`, of which those before had the flow `flow`.
  Flow emitStatements(const ListView<Stmt>& list, size_t begin, size_t end, Flow flow = {});
  Flow emitStatements(const ListView<Stmt>& list) { return emitStatements(list, 0, list.size()); }
  Flow emitStatement(const Stmt& stmt);
  void emitExprStmt(const ExprStmt& stmt);
  Flow emitRaise(const Raise& stmt);
  Flow emitAssert(const Assert& stmt);
  Flow emitWith(const With& stmt);
  void emitDelete(const Delete& stmt);
  void raise(const SourceRange& range, Value* message, Value* qualified_class);

  // ---- assignment (emit_assignment.cpp) ----
  void emitAssign(const Assign& stmt);
  void assign(
      const Expr& target, const SugaredValuePtr& value, const SourceRange& value_range, const TypePtr& annotation = {});
  void assignVariable(
      const SourceRange& range, const std::string& name, const SugaredValuePtr& value, const TypePtr& annotation);
  void assignUnpacked(const Expr& target, const SugaredValuePtr& value, const SourceRange& value_range);
  void emitAugAssign(const AugAssign& stmt);
  /// `current op= rhs`: the new value, and whether `current` itself was changed in place.
  std::pair<Value*, bool> augment(const SourceRange& range, int op, Value* current, const Expr& rhs);

  // ---- control flow (emit_control.cpp, emit_loops.cpp) ----
  /// A block that was emitted, with what it bound and how it was left.
  struct Branch {
    Block* block = nullptr;
    FramePtr frame;
    Flow flow;
  };
  Flow emitIf(const If& stmt, const ListView<Stmt>& list, size_t next, size_t end, size_t* consumed);
  /// Emits into a new block of `node`, in a frame of its own where `refinements` hold.
  Branch emitBranch(Node* node, const Refinements& refinements, const std::function<Flow()>& emit);
  /// Goes on emitting at the end of a branch.
  void resumeBranch(Branch& branch, const std::function<Flow(Flow)>& emit);
  /// Runs `emit` where `flow` falls through; what it says is the flow of both.
  Flow guard(const SourceRange& range, const Flow& flow, const std::function<Flow()>& emit);
  /// Joins the two blocks of a prim::If: variables, flags and results become its outputs.
  Flow merge(const SourceRange& range, Node* node, Branch& a, Branch& b);
  void mergeVariables(const SourceRange& range, Node* node, Branch& a, Branch& b);
  void mergeVariable(const SourceRange& range, Node* node, Branch& a, Branch& b, const std::string& name);
  Flag mergeFlag(Node* node, const Branch& a, const Flag& fa, const Branch& b, const Flag& fb);
  Value* addMergedOutput(Node* node, Value* a, Value* b, const TypePtr& type);
  Value* uninitializedIn(Block* block, const TypePtr& type);
  Value* boolIn(Block* block, bool value);

  Flow emitWhile(const While& stmt);
  Flow emitFor(const For& stmt);
  /// `condition` null: a loop over `trip_count` items. `bind` starts each iteration.
  Flow emitLoop(
      const SourceRange& range, Value* trip_count, const Expr* condition, const ListView<Stmt>& body,
      const NameList& assigned, const std::function<void(Value* index)>& bind, const std::function<Flow()>& emit_body);
  /// A prim::Loop on its way through emitLoop.
  struct OpenLoop;
  /// What the body assigns, of what was defined before: inputs of the loop, in the frame that is returned.
  FramePtr carryVariables(OpenLoop& loop, const ListView<Stmt>& body, const NameList& assigned);
  /// What the carried variables are at the end of the body.
  void readCarried(OpenLoop& loop);
  /// Outputs of the loop for a `return` of the body: whether there was one, and of what.
  Flow carryReturn(const OpenLoop& loop);
  /// The carried variables after the loop; those that never change are taken out of it.
  void bindCarried(const OpenLoop& loop);
  Flow emitUnrolled(const For& stmt, const SugaredValuePtr& items, size_t count);

  // ---- conditions (emit_conditions.cpp) ----
  Condition emitCondition(const Expr& expr);
  Condition emitLogical(const Expr& expr);
  Condition emitIsNone(const BinOp& expr);
  Condition emitIsInstance(const Apply& expr);
  std::optional<bool> isInstanceOfModuleClass(const c10::Type& type, const Expr& cls);
  /// Adds the types that a name means as a value; false if it means none so.
  bool gatherNamed(const Expr& name, std::vector<TypePtr>& classes);
  Condition emitHasAttr(const Apply& expr);
  Condition emitCompareChain(const CompareChain& expr);
  Condition conditionOf(const Expr& expr, Value* value);
  Value* valueOf(const SourceRange& range, const Condition& condition);
  Value* toBool(const SourceRange& range, Value* value);
  void refine(const SourceRange& range, const Refinements& refinements);
  /// The refined names of a closed frame may still be assigned what they were declared to take: torch.jit does not
  /// refine there, so its programs do. A name that gets such a value takes the same.
  void keepDeclared(Frame& frame);
  SugaredValuePtr emitTernary(const Ternary& expr, const TypePtr& hint);
  /// An `if` between two expressions of type bool.
  Value* emitBoolIf(
      const SourceRange& range, Value* condition, const std::function<Value*()>& then,
      const std::function<Value*()>& otherwise);
  /// Emits an expression into a new block of `node`; returns its value.
  Value* emitInBlock(
      Node* node, const Refinements& refinements, const SourceRange& range, const std::function<Value*()>& emit);

  // ---- expressions (emit_expressions.cpp) ----
  /// `binders`: the number of variables that a call's result is unpacked to.
  SugaredValuePtr emitSugared(const Expr& expr, const TypePtr& hint = {}, size_t binders = 1);
  Value* emitExpr(const Expr& expr, const TypePtr& hint = {});
  SugaredValuePtr emitLeaf(const TreeRef& tree, const TypePtr& hint);
  SugaredValuePtr emitStep(const TreeRef& tree, const SugaredValuePtr& operand, const TypePtr& hint, size_t binders);
  SugaredValuePtr emitName(const SourceRange& range, const std::string& name);
  SugaredValuePtr findName(const SourceRange& range, const std::string& name);
  Value* emitNumber(const Const& number, bool negative);
  Value* emitUnary(const UnaryOp& expr);
  Value* emitBinary(const SourceRange& range, int op, Value* lhs, Value* rhs);
  Value* emitContains(const SourceRange& range, Value* element, const SugaredValuePtr& container);
  SugaredValuePtr emitCall(const Apply& apply, const SugaredValuePtr& callee, const TypePtr& hint, size_t binders);
  std::vector<NamedValue> emitArguments(const ListView<Expr>& inputs, size_t begin = 0, bool are_formatted = false);
  std::vector<NamedValue> emitKeywords(const ListView<Attr>& attributes);
  /// The method `name` of a script class; null if `value` is of another type.
  SugaredValuePtr magicMethod(const SourceRange& range, Value* value, const char* name);
  Value* callMethod(const SourceRange& range, const SugaredValuePtr& method, const std::vector<NamedValue>& args);

  // ---- literals and comprehensions (emit_literals.cpp) ----
  Value* emitList(const SequenceLiteral& expr, const TypePtr& hint);
  Value* emitDict(const DictLiteral& expr, const TypePtr& hint);
  SugaredValuePtr emitTuple(const SequenceLiteral& expr, const TypePtr& hint);
  /// A value of the graph, unless slices are among the parts.
  SugaredValuePtr tupleOf(const SourceRange& range, std::vector<SugaredValuePtr> parts);
  /// `tuple + tuple` and `tuple * 2`; null if the operands are no such.
  SugaredValuePtr emitTupleArithmetic(
      const SourceRange& range, int op, const SugaredValuePtr& lhs, const SugaredValuePtr& rhs);
  Value* emitListComp(const ListComp& expr, const TypePtr& hint);
  Value* emitDictComp(const DictComp& expr, const TypePtr& hint);
  /// Runs `each` for every item, in a frame of its own.
  void emitItems(
      const SourceRange& range, const SugaredValuePtr& iterable,
      const std::function<void(const SugaredValuePtr&)>& each);
  void emitWhere(const ListView<Expr>& conditions, size_t i, const std::function<void()>& each);
  /// The loops of a comprehension from the one at `i`, which goes over `iterable`.
  void emitLoops(
      const ListView<CompFor>& loops, size_t i, const SugaredValuePtr& iterable, const std::function<void()>& each);
  void append(const SourceRange& range, Value* list, Value* element, const TypePtr& element_type);
  void insertItem(const SourceRange& range, Value* dict, Value* key, Value* value, const TypePtr& hint);
  Value* makeTuple(const SourceRange& range, const std::vector<Value*>& elements);
  Value* makeList(const SourceRange& range, const std::vector<Value*>& elements, const TypePtr& element_type);

  // ---- subscripts (emit_subscript.cpp) ----
  SugaredValuePtr emitSubscript(const Subscript& expr, const SugaredValuePtr& base, const TypePtr& hint);
  Value* emitSlice(const SourceRange& range, Value* sliceable, std::optional<int64_t> dim, const SliceValue& slice);
  SugaredValuePtr emitStaticSlice(const SourceRange& range, const SugaredValuePtr& base, const SliceValue& slice);
  SugaredValuePtr emitTupleIndex(const SourceRange& range, Value* tuple, Value* index);
  /// What stands between the brackets. `x[t]` takes the elements of a tuple one by one if `x` is a tensor.
  struct Index {
    SourceRange range;
    SugaredValuePtr sugared;
    const SliceValue* slice = nullptr;  // `sugared`, if it is one
    bool isEllipsis() const { return dynamic_cast<EllipsisValue*>(sugared.get()) != nullptr; }
  };
  std::vector<Index> emitIndices(const ListView<Expr>& exprs, bool of_tensor);
  /// Applies ints, slices, None and the ellipsis; returns the view and what is left for aten::index.
  struct View {
    Value* tensor = nullptr;
    Value* indices = nullptr;  // List[Optional[Tensor]]; null if there are none
  };
  View emitView(const SourceRange& range, Value* tensor, const std::vector<Index>& indices);
  void assignSubscript(const SourceRange& range, const Subscript& target, const SugaredValuePtr& value);
  void assignListSlice(const SourceRange& range, Value* list, const SliceValue& slice, Value* replacement);
  void augmentSubscript(const AugAssign& stmt, const Subscript& target);
  void deleteSubscript(const Subscript& target);
  Value* tensorLike(const SourceRange& range, Value* value, Value* like);

  // ---- special forms (emit_special_forms.cpp) ----
  SugaredValuePtr emitSpecialForm(const SpecialForm& form, const Apply& apply, const TypePtr& hint);
  SugaredValuePtr emitFork(const Apply& apply);
  SugaredValuePtr emitAwaitable(const Apply& apply);
  Value* emitApart(const Apply& apply, Symbol kind);
  SugaredValuePtr emitCheck(const Apply& apply);
  SugaredValuePtr emitGetAttr(const Apply& apply);
  Value* emitListCall(const Apply& apply, const TypePtr& hint);
  Value* emitDictCall(const Apply& apply, const TypePtr& hint);
  Value* emitTupleCall(const Apply& apply);
  Value* emitLegacyTensor(const SpecialForm& form, const Apply& apply);
  void checkArity(const Apply& apply, const std::string& name, size_t least, size_t most);
  bool hasAttribute(const SourceRange& range, const SugaredValuePtr& object, const std::string& name);
  std::string attributeName(const Apply& apply, const char* function);

  // ---- shared by all ----
  /// Inserts a node with one output.
  Value* insert(const SourceRange& range, Symbol kind, std::initializer_list<Value*> inputs, TypePtr type);
  Value* constant(const SourceRange& range, const c10::IValue& value);
  Value* none(const SourceRange& range) { return constant(range, c10::IValue()); }
  Value* builtin(const SourceRange& range, Symbol kind, std::initializer_list<Value*> args);
  SugaredValuePtr simple(Value* value) { return std::make_shared<SimpleValue>(value); }
  /// `value` with the static type `type`, a supertype of its own.
  Value* widen(const SourceRange& range, Value* value, const TypePtr& type);
  Value* checkedCast(const SourceRange& range, Value* value, const TypePtr& type);
  Value* cast(const SourceRange& range, Value* value, const TypePtr& type);
  TypePtr annotationType(const Expr& expr) { return typeOfAnnotation(expr, program, type_resolver_); }
  void enterBlock(const SourceRange& range);
  void leaveBlock() { --block_depth_; }

  struct Loop {
    bool has_break = false;
  };

  Function& target_;
  Def def_;
  ResolverPtr resolver_;  // null: none
  ResolverPtr builtins_;
  ResolverPtr type_resolver_;
  TypePtr self_type_;
  std::function<SugaredValuePtr(Value*)> self_;  // what the first parameter means; null: its value
  std::shared_ptr<Graph> owner_;
  Environment env_;
  std::vector<Loop> loops_;
  TypePtr declared_result_;                                // null: inferred
  TypePtr merged_result_;                                  // of the returns so far
  std::unordered_map<const Value*, TypePtr> declared_of_;  // of refined values: see keepDeclared
  std::vector<Node*> widenings_;                           // casts to supertypes, which finish() takes out again
  TupleSizes tuple_sizes_;
  int block_depth_ = 0;
};

/// `a` and `b` are the same type.
inline bool sameType(const TypePtr& a, const TypePtr& b) {
  return a.get() == b.get() || *a == *b;
}
/// `value` as a first-class value; null if it is none.
inline Value* simpleValueOf(const SugaredValuePtr& value) {
  auto* simple = dynamic_cast<SimpleValue*>(value.get());
  return simple ? simple->value() : nullptr;
}
/// The names that statements bind, those in nested statements included.
void collectAssigned(const ListView<Stmt>& list, NameList& names);
void collectTargets(const Expr& target, NameList& names);
/// Whether a statement may leave the list that it stands in.
bool mayExit(const Stmt& stmt);

}  // namespace cresset
