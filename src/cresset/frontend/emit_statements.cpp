// Statements, in order, and what happens to those after an early exit. See emitter_impl.h.
#include <utility>

#include "cresset/frontend/calls.h"
#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/exceptions.h"
#include "cresset/ops/limits.h"

namespace cresset {

namespace {

/// A function without parameters that is defined inside another one, as archives write what they fork. A call is
/// emitted in place, so that it sees the variables around it as they are then, as in Python.
class ClosureValue : public SugaredValue {
 public:
  explicit ClosureValue(std::function<Value*()> emit) : emit_(std::move(emit)) {}
  std::string kind() const override { return "function defined inside a function"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    requireArgs(range, "a function defined inside a function", 0, args.size(), kwargs.size());
    if (active_) throw UserError("a function defined inside a function can't call itself", range);
    active_ = true;
    Value* result = emit_();
    active_ = false;
    return std::make_shared<SimpleValue>(result);
  }

 private:
  std::function<Value*()> emit_;
  bool active_ = false;
};

}  // namespace

Flow FunctionEmitter::emitStatements(const ListView<Stmt>& list, size_t begin, size_t end, Flow flow) {
  for (size_t i = begin; i < end && !flow.ends();) {
    if (flow.falls.value) {
      // Some path has left already. The rest runs under a condition: all of it in one block as long as blocks may nest
      // deeper, else in pieces up to the next statement that may leave, one block after the other.
      size_t stop = end;
      if (block_depth_ >= kFlatDepth) {
        stop = i;
        while (stop < end && !mayExit(list[stop])) ++stop;
        stop = std::min(stop + 1, end);
      }
      flow = guard(list[i].range(), flow, [&] { return emitStatements(list, i, stop); });
      i = stop;
      continue;
    }
    checkTimeLimit();
    const Stmt stmt = list[i];
    if (stmt.kind() == TK_IF) {
      size_t consumed = i + 1;
      flow = emitIf(If(stmt.tree()), list, i + 1, end, &consumed);
      i = consumed;
    } else {
      flow = emitStatement(stmt);
      ++i;
    }
  }
  return flow;
}

Flow FunctionEmitter::emitStatement(const Stmt& stmt) {
  switch (stmt.kind()) {
    case TK_EXPR_STMT:
      emitExprStmt(ExprStmt(stmt.tree()));
      return {};
    case TK_ASSIGN:
      emitAssign(Assign(stmt.tree()));
      return {};
    case TK_AUG_ASSIGN:
      emitAugAssign(AugAssign(stmt.tree()));
      return {};
    case TK_FOR:
      return emitFor(For(stmt.tree()));
    case TK_WHILE:
      return emitWhile(While(stmt.tree()));
    case TK_RETURN: {
      const Return ret(stmt.tree());
      return emitReturn(ret.range(), emitExpr(ret.value(), declared_result_));
    }
    case TK_RAISE:
      return emitRaise(Raise(stmt.tree()));
    case TK_ASSERT:
      return emitAssert(Assert(stmt.tree()));
    case TK_WITH:
      return emitWith(With(stmt.tree()));
    case TK_DELETE:
      emitDelete(Delete(stmt.tree()));
      return {};
    case TK_PASS:
      return {};
    case TK_BREAK:
      if (loops_.empty()) throw UserError("SyntaxError: 'break' outside loop", stmt.range());
      loops_.back().has_break = true;
      return Flow::broke();
    case TK_CONTINUE:
      if (loops_.empty()) throw UserError("SyntaxError: 'continue' outside loop", stmt.range());
      return Flow::continued();
    case TK_DEF: {
      const Def closure(stmt.tree());
      auto emit = [this, closure] {
        // The body's variables, loops and results are its own.
        auto frame = std::make_unique<Frame>();
        frame->isolated = true;
        env_.push(std::move(frame));
        auto loops = std::exchange(loops_, {});
        TypePtr merged = std::exchange(merged_result_, TypePtr());
        const auto annotation = closure.decl().returnType();
        TypePtr declared =
            std::exchange(declared_result_, annotation.present() ? annotationType(annotation.get()) : TypePtr());
        Flow flow = emitStatements(closure.body());
        if (!flow.ends()) {
          flow = flow.falls.isTrue() ? emitImplicitReturn()
                                     : guard(closure.range(), flow, [&] { return emitImplicitReturn(); });
        }
        Value* result = flow.result;
        if (!merged_result_) merged_result_ = declared_result_ ? declared_result_ : c10::NoneType::get();
        if (!result) result = uninitializedIn(graph.insertBlock(), merged_result_);
        result = widen(closure.range(), result, merged_result_);
        declared_result_ = std::move(declared);
        merged_result_ = std::move(merged);
        loops_ = std::move(loops);
        env_.pop();
        return result;
      };
      assignVariable(closure.name().range(), closure.name().name(), std::make_shared<ClosureValue>(emit), {});
      return {};
    }
    case TK_CLASS_DEF:
      throw UserError("a class can't be defined inside a function; define it beside it", stmt.range());
    default:
      throw UserError("statements of kind '" + tokenName(stmt.kind()) + "' can't be compiled", stmt.range());
  }
}

void FunctionEmitter::emitExprStmt(const ExprStmt& stmt) {
  const Expr expr = stmt.expr();
  // A literal by itself is a comment.
  if (expr.kind() == TK_STRINGLITERAL || expr.kind() == TK_CONST || expr.kind() == TK_ELLIPSIS) return;
  emitSugared(expr, {}, 0);
}

void FunctionEmitter::raise(const SourceRange& range, Value* message, Value* qualified_class) {
  graph.setLocation(range);
  graph.insertNode(graph.create(prim::RaiseException, {message, qualified_class}, 0));
}

Flow FunctionEmitter::emitRaise(const Raise& stmt) {
  const SugaredValuePtr exception = emitSugared(stmt.value());
  if (auto* instance = dynamic_cast<ExceptionInstance*>(exception.get())) {
    const std::string& name = instance->qualifiedClass();
    raise(stmt.range(), instance->message(), name.empty() ? none(stmt.range()) : constant(stmt.range(), name));
  } else if (dynamic_cast<ExceptionClass*>(exception.get())) {
    Value* message = constant(stmt.range(), std::string());
    raise(stmt.range(), message, none(stmt.range()));
  } else {
    throw UserError("exceptions must derive from BaseException", stmt.range());
  }
  return Flow::raised();
}

Flow FunctionEmitter::emitAssert(const Assert& stmt) {
  const Condition condition = emitCondition(stmt.cond());
  auto fail = [&]() -> Flow {
    Value* message = nullptr;
    if (!stmt.message().present()) {
      message = constant(stmt.range(), "AssertionError: ");
    } else if (stmt.message().get().kind() == TK_STRINGLITERAL) {
      message = constant(stmt.range(), "AssertionError: " + StringLiteral(stmt.message().get().tree()).text());
    } else {
      Value* text = emitExpr(stmt.message().get());
      if (text->type()->kind() != c10::TypeKind::StringType) text = builtin(stmt.range(), aten::str, {text});
      message = builtin(stmt.range(), aten::add, {constant(stmt.range(), "AssertionError: "), text});
    }
    raise(stmt.range(), message, none(stmt.range()));
    return Flow::raised();
  };
  if (condition.known) {
    refine(stmt.range(), condition.when(*condition.known));
    return *condition.known ? Flow() : fail();
  }
  graph.setLocation(stmt.range());
  Node* node = graph.insertNode(graph.create(prim::If, {condition.value}, 0));
  Branch holds = emitBranch(node, condition.when_true, [] { return Flow(); });
  Branch fails = emitBranch(node, condition.when_false, fail);
  return merge(stmt.range(), node, holds, fails);
}

Flow FunctionEmitter::emitWith(const With& stmt) {
  std::vector<std::pair<SourceRange, Value*>> entered;
  for (const WithItem item : stmt.items()) {
    const SourceRange range = item.context().range();
    Value* object = emitExpr(item.context());
    auto type = object->type()->cast<c10::ClassType>();
    if (!type)
      throw UserError(
          "With item expression must return an object, got " + object->type()->repr_str() + " instead", range);
    for (const char* name : {"__enter__", "__exit__"}) {
      if (!type->findMethod(name)) {
        throw UserError(
            "Object returned by with item expression does not define __enter__ and __exit__ methods: '" +
                typeName(*type) + "' lacks " + name,
            range);
      }
    }
    const c10::FunctionSchema& enter = type->getMethod("__enter__").getSchema();
    const c10::FunctionSchema& exit = type->getMethod("__exit__").getSchema();
    if (enter.arguments().size() != 1)
      throw UserError("__enter__ must have only one argument and one return value", range);
    if (exit.arguments().size() != 4) {
      throw UserError("__exit__ must have four arguments: self and the exception's type, value and traceback", range);
    }
    for (size_t i = 1; i < 4; ++i) {
      if (!c10::NoneType::get()->isSubtypeOf(*exit.arguments()[i].type()) &&
          !exit.arguments()[i].type()->isSubtypeOf(*c10::TensorType::get())) {
        throw UserError(
            "argument " + std::to_string(i) +
                " of __exit__ must have Any type; TorchScript does not support passing exceptions to it",
            range);
      }
    }
    Value* value = insert(range, prim::Enter, {object}, enter.returns().at(0).type());
    entered.emplace_back(range, object);
    if (item.target().present()) assign(Expr(item.target().get().tree()), simple(value), range);
  }
  const Flow flow = emitStatements(stmt.body());
  // Exits run in the block of their enters whichever way the body is left: leaving is a flag until then.
  for (size_t i = entered.size(); i-- > 0;) {
    auto& [range, object] = entered[i];
    const TypePtr type =
        object->type()->expectRef<c10::ClassType>().getMethod("__exit__").getSchema().returns().at(0).type();
    insert(range, prim::Exit, {object}, type);
  }
  return flow;
}

void FunctionEmitter::emitDelete(const Delete& stmt) {
  for (const Expr target : stmt.targets()) {
    if (target.kind() == TK_SUBSCRIPT) {
      deleteSubscript(Subscript(target.tree()));
    } else if (target.kind() == TK_VAR) {
      const std::string name = Var(target.tree()).name();
      Binding* bound = env_.find(name);
      if (!bound || !bound->error.empty()) throw UserError("undefined value " + name, target.range());
      env_.bind(name, Binding::unusable("undefined value " + name + ": it was deleted", target.range()));
    } else {
      throw UserError(
          "del statements are only supported for deleting list and dict items and variables", target.range());
    }
  }
}

}  // namespace cresset
