// Conditions: what is known of them while compiling, what they tell about types, and short-circuit evaluation.
// See emitter_impl.h, refinement.h.
#include <algorithm>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/iterables.h"

namespace cresset {

namespace {

/// The comparison that `a is b`, or `a is not b`, stands for.
Symbol identityTest(bool is, const Value* a, const Value* b) {
  const auto both = [&](c10::TypeKind kind) { return a->type()->kind() == kind && b->type()->kind() == kind; };
  // Of those there is one object for each value in Python; here equal members of an enum may be several.
  if (both(c10::TypeKind::EnumType) || both(c10::TypeKind::BoolType)) return is ? aten::eq : aten::ne;
  return is ? aten::__is__ : aten::__isnot__;
}

}  // namespace

Condition FunctionEmitter::emitCondition(const Expr& expr) {
  switch (expr.kind()) {
    case TK_AND:
    case TK_OR:
      return emitLogical(expr);
    case TK_NOT: {
      const Condition inner = emitCondition(UnaryOp(expr.tree()).operand());
      Condition result;
      if (inner.known) {
        result.known = !*inner.known;
      } else {
        result.value = builtin(expr.range(), aten::__not__, {inner.value});
      }
      result.when_true = inner.when_false;
      result.when_false = inner.when_true;
      return result;
    }
    case TK_IS:
    case TK_ISNOT:
      return emitIsNone(BinOp(expr.tree()));
    case TK_COMPARE_CHAIN:
      return emitCompareChain(CompareChain(expr.tree()));
    case TK_APPLY: {
      const Apply apply(expr.tree());
      const SugaredValuePtr callee = emitSugared(apply.callee());
      if (auto* form = dynamic_cast<SpecialForm*>(callee.get())) {
        if (form->form() == Form::IsInstance) return emitIsInstance(apply);
        if (form->form() == Form::HasAttr) return emitHasAttr(apply);
      }
      return conditionOf(expr, emitCall(apply, callee, {}, 1)->asValue(expr.range(), *this));
    }
    default:
      return conditionOf(expr, emitExpr(expr));
  }
}

Condition FunctionEmitter::conditionOf(const Expr& expr, Value* value) {
  Condition result;
  result.value = toBool(expr.range(), value);
  // A variable that happens to hold a constant decides nothing: both branches are compiled, as for any other variable.
  const bool variable = expr.kind() == TK_VAR && env_.find(Var(expr.tree()).name());
  if (!variable) {
    if (auto known = toIValue(result.value); known && known->isBool()) result.known = known->toBool();
  }
  return result;
}

Value* FunctionEmitter::valueOf(const SourceRange& range, const Condition& condition) {
  return condition.known ? constant(range, *condition.known) : condition.value;
}

Value* FunctionEmitter::toBool(const SourceRange& range, Value* value) {
  const TypePtr& type = value->type();
  switch (type->kind()) {
    case c10::TypeKind::BoolType:
      return value;
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
      return builtin(range, aten::Bool, {value});
    case c10::TypeKind::StringType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType: {
      Value* length = builtin(range, aten::len, {value});
      return builtin(range, aten::gt, {length, constant(range, int64_t(0))});
    }
    case c10::TypeKind::ClassType:
      if (auto method = magicMethod(range, value, "__bool__")) {
        Value* result = callMethod(range, method, {});
        if (result->type()->kind() == c10::TypeKind::BoolType) return result;
        throw UserError("expected a bool expression for condition but found " + result->type()->repr_str(), range);
      }
      [[fallthrough]];
    default:
      throw UserError("Could not cast value of type " + typeName(*type) + " to bool", range);
  }
}

void FunctionEmitter::refine(const SourceRange& range, const Refinements& refinements) {
  for (const Refinement& r : refinements) {
    Binding* binding = env_.find(r.name);
    if (!binding || !binding->value || sameType(binding->type, r.type)) continue;
    Value* root = binding->root();
    Value* narrow = cast(range, binding->value, r.type);
    narrow->setDebugName(r.name);
    Binding refined = Binding::of(narrow, r.type);
    refined.refines = root;
    env_.bind(r.name, std::move(refined));
  }
}

void FunctionEmitter::keepDeclared(Frame& frame) {
  for (auto& [name, binding] : frame.bindings) {
    const Binding* outer = binding.refines ? env_.find(name) : nullptr;
    if (!outer || outer->root() != binding.refines) continue;
    binding.declared = outer->takes();
    declared_of_[binding.value] = binding.declared;
  }
}

Value* FunctionEmitter::emitInBlock(
    Node* node, const Refinements& refinements, const SourceRange& range, const std::function<Value*()>& emit) {
  enterBlock(range);
  Block* block = node->addBlock();
  InsertPointGuard at(graph, block);
  env_.push();
  refine(range, refinements);
  Value* value = emit();
  env_.pop();
  leaveBlock();
  block->registerOutput(value);
  return value;
}

Value* FunctionEmitter::emitBoolIf(
    const SourceRange& range, Value* condition, const std::function<Value*()>& then,
    const std::function<Value*()>& otherwise) {
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(prim::If, {condition}, 0));
  emitInBlock(node, {}, range, then);
  emitInBlock(node, {}, range, otherwise);
  return node->addOutput()->setType(c10::BoolType::get());
}

Condition FunctionEmitter::emitLogical(const Expr& expr) {
  // A chain of one operator nests to the left as deep as it is long: go down to its first operand, then up again.
  const int op = expr.kind();
  std::vector<const TreeRef*> links;
  const TreeRef* tree = &expr.tree();
  for (; (*tree)->kind() == op; tree = &(*tree)->tree(0)) links.push_back(tree);
  Condition result = emitCondition(Expr(*tree));
  const bool decisive = op == TK_OR;  // the value of an operand that settles the whole

  for (size_t i = links.size(); i-- > 0;) {
    const Expr rhs((*links[i])->tree(1));
    const SourceRange& range = (*links[i])->range();
    if (result.known == decisive) return result;          // what follows isn't compiled
    const Refinements& reached = result.when(!decisive);  // what holds when the right operand is evaluated
    Condition then;
    if (result.known) {
      env_.push();
      refine(range, reached);
      then = emitCondition(rhs);
      env_.pop();
    } else {
      graph.setLocation(range);
      Node* node = graph.insertNode(graph.create(prim::If, {result.value}, 0));
      auto evaluate = [&] {
        then = emitCondition(rhs);
        return valueOf(range, then);
      };
      auto settled = [&] { return constant(range, decisive); };
      if (op == TK_AND) {
        emitInBlock(node, reached, rhs.range(), evaluate);
        emitInBlock(node, {}, range, settled);
      } else {
        emitInBlock(node, {}, range, settled);
        emitInBlock(node, reached, rhs.range(), evaluate);
      }
      then.value = node->addOutput()->setType(c10::BoolType::get());
      // `x and False` is false whatever x is, though x is evaluated. If the right operand doesn't settle it, x does.
      if (then.known != decisive) then.known.reset();
    }
    Condition joined;
    joined.value = then.value;
    joined.known = then.known;
    const Refinements all = refinementsOfBoth(reached, then.when(!decisive));
    const Refinements some =
        result.known ? then.when(decisive) : refinementsOfEither(result.when(decisive), then.when(decisive));
    joined.when_true = op == TK_AND ? all : some;
    joined.when_false = op == TK_AND ? some : all;
    result = std::move(joined);
  }
  return result;
}

Condition FunctionEmitter::emitIsNone(const BinOp& expr) {
  const bool is = expr.kind() == TK_IS;
  const Expr lhs = expr.lhs(), rhs = expr.rhs();
  Value* a = emitExpr(lhs);
  Value* b = emitExpr(rhs);
  const Noneness na = nonenessOf(a->type()), nb = nonenessOf(b->type());
  Condition result;
  if (na == Noneness::Always && nb == Noneness::Always) {
    result.known = is;
    return result;
  }
  if ((na == Noneness::Always && nb == Noneness::Never) || (na == Noneness::Never && nb == Noneness::Always)) {
    result.known = !is;
    return result;
  }
  result.value = builtin(expr.range(), identityTest(is, a, b), {a, b});
  const bool none_left = lhs.kind() == TK_NONE;
  const Expr& tested = none_left ? rhs : lhs;
  if ((none_left || rhs.kind() == TK_NONE) && tested.kind() == TK_VAR) {
    const TypePtr& type = none_left ? b->type() : a->type();
    if (type->kind() != c10::TypeKind::AnyType) {
      if (TypePtr present = withoutNone(type)) {
        Refinements& told = is ? result.when_false : result.when_true;
        told.push_back({Var(tested.tree()).name(), present});
      }
    }
  }
  return result;
}

bool FunctionEmitter::gatherNamed(const Expr& name, std::vector<TypePtr>& classes) {
  SugaredValuePtr value;
  try {
    value = findName(name.range(), Var(name.tree()).name());
  } catch (const UserError&) {
    return false;  // a name that means something in annotations only
  }
  const std::function<bool(const SugaredValuePtr&)> gather = [&](const SugaredValuePtr& v) {
    if (auto* tuple = dynamic_cast<SugaredTuple*>(v.get())) {
      return std::all_of(tuple->elements().begin(), tuple->elements().end(), gather);
    }
    auto* form = dynamic_cast<SpecialForm*>(v.get());
    const bool several = v != value;
    if (!v || !(form || several) || !v->asType()) return false;
    classes.push_back(v->asType());
    return true;
  };
  return gather(value);
}

std::optional<bool> FunctionEmitter::isInstanceOfModuleClass(const c10::Type& type, const Expr& cls) {
  if (dottedName(cls).empty()) return std::nullopt;
  try {
    return emitSugared(cls)->hasInstance(type);
  } catch (const UserError&) {
    return std::nullopt;  // a name that means something in annotations only
  }
}

Condition FunctionEmitter::emitIsInstance(const Apply& expr) {
  checkArity(expr, "isinstance", 2, 2);
  const Expr object = expr.inputs()[0];
  Value* value = emitExpr(object);
  std::vector<TypePtr> classes;
  bool is_module_of_class = false;
  const std::function<void(const Expr&)> gather = [&](const Expr& e) {
    if (e.kind() == TK_TUPLE_LITERAL || e.kind() == TK_LIST_LITERAL) {
      for (const Expr member : SequenceLiteral(e.tree()).elements()) gather(member);
      return;
    }
    // `list`, `dict` and `tuple` by themselves are no annotations, but name a type here; a name may mean several types.
    if (e.kind() == TK_VAR && gatherNamed(e, classes)) return;
    // So does Await: one of any result.
    const std::string dotted = dottedName(e);
    if (!dotted.empty() && type_resolver_ && type_resolver_->resolveConstructor(dotted) == "Await") {
      const bool is_await = value->type()->kind() == c10::TypeKind::AwaitType;
      classes.push_back(is_await ? value->type() : c10::AwaitType::create(c10::AnyType::get()));
      return;
    }
    if (const auto is_instance = isInstanceOfModuleClass(*value->type(), e)) {
      is_module_of_class |= *is_instance;
      return;
    }
    classes.push_back(annotationType(e));
  };
  gather(expr.inputs()[1]);
  Condition result;
  if (is_module_of_class) {
    result.known = true;
    return result;
  }
  const InstanceTest test = testInstance(value->type(), classes);
  result.known = test.known;
  if (!test.known) {
    Value* answer = insert(expr.range(), Symbol::prim("isinstance"), {value}, c10::BoolType::get());
    answer->node()->setAttribute(Symbol::attr("types"), classes);
    result.value = answer;
  }
  if (object.kind() == TK_VAR) {
    const std::string& name = Var(object.tree()).name();
    if (test.when_true) result.when_true = {{name, test.when_true}};
    if (test.when_false) result.when_false = {{name, test.when_false}};
  }
  return result;
}

Condition FunctionEmitter::emitHasAttr(const Apply& expr) {
  checkArity(expr, "hasattr", 2, 2);
  const std::string name = attributeName(expr, "hasattr");
  const Expr object = expr.inputs()[0];
  Condition result;
  result.known = hasAttribute(object.range(), emitSugared(object), name);
  return result;
}

Condition FunctionEmitter::emitCompareChain(const CompareChain& expr) {
  // Every operand is evaluated once, and none after a comparison that fails.
  const ListView<Expr> operands = expr.operands();
  auto compare = [&](size_t i, Value* lhs, Value* rhs) -> Value* {
    const SourceRange range = SourceRange::cover(operands[i].range(), operands[i + 1].range());
    const int op = expr.op(i);
    if (op == TK_IS || op == TK_ISNOT) return builtin(range, identityTest(op == TK_IS, lhs, rhs), {lhs, rhs});
    if (op == TK_IN || op == TK_NOTIN) {
      Value* found = emitContains(range, lhs, simple(rhs));
      return op == TK_IN ? found : builtin(range, aten::__not__, {found});
    }
    return toBool(range, emitBinary(range, op, lhs, rhs));
  };
  const std::function<Value*(size_t, Value*, Value*)> from = [&](size_t i, Value* result, Value* lhs) -> Value* {
    for (; i + 1 < operands.size(); ++i) {
      const Expr operand = operands[i + 1];
      if (operand.kind() != TK_VAR && operand.kind() != TK_CONST) {
        // The operand's evaluation may be seen, and all after it need its value: they nest.
        return emitBoolIf(
            expr.range(), result,
            [&] {
              Value* rhs = emitExpr(operand);
              return from(i + 1, compare(i, lhs, rhs), rhs);
            },
            [&] { return constant(expr.range(), false); });
      }
      Value* rhs = emitExpr(operand);
      result = emitBoolIf(
          expr.range(), result, [&] { return compare(i, lhs, rhs); }, [&] { return constant(expr.range(), false); });
      lhs = rhs;
    }
    return result;
  };
  Value* first = emitExpr(operands[0]);
  Value* second = emitExpr(operands[1]);
  Condition result;
  result.value = from(1, compare(0, first, second), second);
  return result;
}

SugaredValuePtr FunctionEmitter::emitTernary(const Ternary& expr, const TypePtr& hint) {
  const Condition condition = emitCondition(expr.cond());
  if (condition.known) {
    env_.push();
    refine(expr.range(), condition.when(*condition.known));
    SugaredValuePtr value = emitSugared(*condition.known ? expr.thenExpr() : expr.elseExpr(), hint);
    env_.pop();
    return value;
  }
  graph.setLocation(expr.range());
  Node* node = graph.insertNode(graph.create(prim::If, {condition.value}, 0));
  const Expr then = expr.thenExpr(), otherwise = expr.elseExpr();
  Value* a = emitInBlock(node, condition.when_true, then.range(), [&] { return emitExpr(then, hint); });
  Value* b = emitInBlock(node, condition.when_false, otherwise.range(), [&] { return emitExpr(otherwise, hint); });
  auto unified = c10::unifyTypes(a->type(), b->type());
  if (!unified && hint && a->type()->isSubtypeOf(*hint) && b->type()->isSubtypeOf(*hint)) unified = hint;
  if (!unified) {
    throw UserError(
        "if-expression's true branch has type " + a->type()->repr_str() + " but false branch has type " +
            b->type()->repr_str(),
        expr.range());
  }
  return simple(node->addOutput()->setType(*unified));
}

}  // namespace cresset
