// Assignment: to variables with their types, attributes, subscripts, and unpacking. See emitter_impl.h.
#include "cresset/frontend/emitter_impl.h"
#include "cresset/frontend/messages.h"
#include "cresset/ops/implicit_conversions.h"

namespace cresset {

void FunctionEmitter::emitAssign(const Assign& stmt) {
  const ListView<Expr> targets = stmt.targets();
  if (!stmt.rhs().present()) {
    const Expr target = targets[0];
    if (target.kind() != TK_VAR) throw UserError("only a variable can be declared without a value", target.range());
    env_.top().declarations[Var(target.tree()).name()] = annotationType(stmt.type().get());
    return;
  }
  TypePtr annotation;
  if (stmt.type().present()) {
    if (targets[0].kind() != TK_VAR && targets[0].kind() != '.') {
      throw UserError("only a single variable can have a type annotation", targets[0].range());
    }
    annotation = annotationType(stmt.type().get());
  } else if (targets.size() == 1 && targets[0].kind() == TK_VAR) {
    auto& declared = env_.top().declarations;
    if (!declared.empty()) {
      auto it = declared.find(Var(targets[0].tree()).name());
      if (it != declared.end()) {
        annotation = it->second;
        declared.erase(it);
      }
    }
  }
  size_t binders = 1;
  if (targets.size() == 1 && (targets[0].kind() == TK_TUPLE_LITERAL || targets[0].kind() == TK_LIST_LITERAL)) {
    binders = SequenceLiteral(targets[0].tree()).elements().size();
  }
  const Expr rhs = stmt.rhs().get();
  const SugaredValuePtr value = emitSugared(rhs, annotation, binders);
  for (const Expr target : targets) assign(target, value, rhs.range(), annotation);
}

void FunctionEmitter::assign(
    const Expr& target, const SugaredValuePtr& value, const SourceRange& value_range, const TypePtr& annotation) {
  switch (target.kind()) {
    case TK_VAR:
      return assignVariable(target.range(), Var(target.tree()).name(), value, annotation);
    case '.': {
      const Select select(target.tree());
      const SugaredValuePtr object = emitSugared(select.value());
      Value* attribute = value->asValue(value_range, *this);
      if (annotation) attribute = widen(value_range, attribute, annotation);
      const SourceRange range = SourceRange::cover(target.range(), value_range);
      return object->setAttr(range, *this, select.selector().name(), attribute);
    }
    case TK_SUBSCRIPT:
      return assignSubscript(SourceRange::cover(target.range(), value_range), Subscript(target.tree()), value);
    case TK_TUPLE_LITERAL:
    case TK_LIST_LITERAL:
      return assignUnpacked(target, value, value_range);
    case TK_STARRED:
      throw UserError("A Starred expression may only appear on the lhs within a list or tuple", target.range());
    default:
      throw UserError("unexpected expression on the left-hand side of an assignment", target.range());
  }
}

void FunctionEmitter::assignVariable(
    const SourceRange& range, const std::string& name, const SugaredValuePtr& sugared, const TypePtr& annotation) {
  Value* value = simpleValueOf(sugared);
  Binding* outer = env_.findOuter(name);
  if (outer && !outer->error.empty()) outer = nullptr;
  if (outer) {
    if (annotation && !sameType(annotation, outer->type ? outer->type : annotation)) {
      throw UserError(
          "Attempting to declare and annotate the type of variable '" + name +
              "' but it is already defined in an outer block",
          range);
    }
    if (!value) {
      throw UserError(
          "Cannot re-assign '" + name + "' to a value of type " + sugared->kind() + " because " + name +
              " is not a first-class value.  Only reassignments to first-class values are allowed",
          range);
    }
    if (!outer->value) {
      throw UserError(
          "Cannot re-assign '" + name + "' because it has type " + outer->sugared->kind() + " and " + name +
              " is not a first-class value.  Only reassignments to first-class values are allowed",
          range);
    }
    const TypePtr type = outer->takes();
    if (Value* converted = tryConvertTo(graph, range, value, type, /*allow_conversions=*/true)) value = converted;
    if (!value->type()->isSubtypeOf(*type)) {
      std::string message = "Variable '" + name + "' previously had type " + type->repr_str() +
                            " but is now being assigned to a value of type " + value->type()->repr_str();
      if (type->kind() == c10::TypeKind::ListType && value->type()->kind() == c10::TypeKind::ListType) {
        message +=
            "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty "
            "list of "
            "another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)";
      }
      throw UserError(message, range);
    }
  }
  if (!value) {
    Binding binding;
    binding.sugared = sugared;
    env_.bind(name, std::move(binding));
    return;
  }
  if (isEmptyListLiteral(value)) value->node()->setKind(prim::ListConstruct);  // now it has its type
  if (!value->hasDebugName() && value->owningBlock() == graph.insertBlock()) value->setDebugName(name);
  if (annotation && annotation->kind() == c10::TypeKind::ListType &&
      value->type()->kind() == c10::TypeKind::TupleType) {
    // `sizes: List[int] = (1,) * 4`: where a list is wanted a tuple is one, as it is for arguments and results.
    if (Value* list = tryConvertTo(graph, range, value, annotation, /*allow_conversions=*/true)) value = list;
  }
  if (annotation && !value->type()->isSubtypeOf(*annotation)) {
    std::string message = "Variable '" + name + "' is annotated with type " + annotation->repr_str() +
                          " but is being assigned to a value of type " + value->type()->repr_str();
    const c10::TypeKind kind = value->type()->kind();
    if ((kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType) && annotation->containedTypes().empty()) {
      message += "\nExpected an annotation of type " + std::string(kind == c10::TypeKind::ListType ? "List" : "Dict") +
                 " but got " + annotation->repr_str();
    } else if (
        annotation->kind() == c10::TypeKind::UnionType &&
        (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType)) {
      const auto alternatives = alternativesOf(annotation);
      if (std::none_of(alternatives.begin(), alternatives.end(), [&](const TypePtr& t) { return t->kind() == kind; })) {
        message += "\nExpected an Union type annotation with an inner " +
                   std::string(kind == c10::TypeKind::ListType ? "List" : "Dict") + " type, but got " +
                   annotation->repr_str();
      }
    }
    throw UserError(message, range);
  }
  Binding binding = Binding::of(value, annotation ? annotation : value->type());
  if (!annotation) {
    if (auto it = declared_of_.find(value); it != declared_of_.end()) binding.declared = it->second;
  }
  env_.bind(name, std::move(binding));
}

void FunctionEmitter::assignUnpacked(const Expr& target, const SugaredValuePtr& value, const SourceRange& value_range) {
  const ListView<Expr> targets = SequenceLiteral(target.tree()).elements();
  std::optional<size_t> starred;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].kind() != TK_STARRED) continue;
    if (starred) throw UserError(messages::oneStarred(), targets[i].range());
    starred = i;
  }
  const auto items = value->asTuple(value_range, *this, starred ? std::nullopt : std::optional<size_t>(targets.size()));
  const size_t plain = starred ? targets.size() - 1 : targets.size();
  if (items.size() < plain) {
    throw UserError(
        "need " + std::to_string(plain) + (starred ? " or more" : "") + " values to unpack but found only " +
            std::to_string(items.size()),
        target.range());
  }
  if (items.size() > plain && !starred) {
    throw UserError(
        "too many values to unpack: need " + std::to_string(plain) + " but found " + std::to_string(items.size()),
        target.range());
  }
  const size_t rest = items.size() - plain;
  for (size_t i = 0, item = 0; i < targets.size(); ++i) {
    if (starred != i) {
      assign(targets[i], items[item++], value_range);
      continue;
    }
    std::vector<Value*> values;
    for (size_t k = 0; k < rest; ++k) values.push_back(items[item++]->asValue(value_range, *this));
    assign(Starred(targets[i].tree()).value(), simple(makeTuple(value_range, values)), value_range);
  }
}

namespace {

struct AugOp {
  int op;
  const char* method;
  const char* in_place;  // for tensors; null: there is none
  bool list;             // lists have it in place too
};

constexpr AugOp kAugOps[] = {
    {'+', "__iadd__", "aten::add_", true},
    {'-', "__isub__", "aten::sub_", false},
    {'*', "__imul__", "aten::mul_", true},
    {'/', "__itruediv__", "aten::div_", false},
    {'%', "__imod__", "aten::fmod_", false},  // not remainder_: as torch.jit has it
    {TK_FLOOR_DIV, "__ifloordiv__", "aten::floor_divide_", false},
    {'|', "__ior__", nullptr, false},
    {'&', "__iand__", nullptr, false},
    {'^', "__ixor__", nullptr, false},
    {TK_LSHIFT, "__ilshift__", "aten::__ilshift__", false},
    {TK_RSHIFT, "__irshift__", "aten::__irshift__", false},
    {TK_POW, "__ipow__", nullptr, false},
    {'@', "__imatmul__", nullptr, false},
};

}  // namespace

std::pair<Value*, bool> FunctionEmitter::augment(
    const SourceRange& range, int op, Value* current, const Expr& rhs_expr) {
  const AugOp* row = nullptr;
  for (const AugOp& candidate : kAugOps) {
    if (candidate.op == op) row = &candidate;
  }
  CRESSET_CHECK(row, "augmented assignment with operator " + tokenName(op));
  const TypePtr& type = current->type();
  if (auto cls = type->cast<c10::ClassType>()) {
    if (cls->findMethod(row->method)) {
      Value* rhs = emitExpr(rhs_expr);
      return {callMethod(range, magicMethod(range, current, row->method), {NamedValue(rhs, rhs_expr.range())}), false};
    }
    const std::string plain = "__" + std::string(row->method).substr(3);
    if (!cls->findMethod(plain)) {
      throw UserError(
          "Cannot emit inplace op on " + type->repr_str() + " since it does not define an " + row->method + " or " +
              plain + " method",
          range);
    }
  }
  const bool tensor = type->isSubtypeOf(*c10::TensorType::get());
  const bool list = type->kind() == c10::TypeKind::ListType;
  const SugaredValuePtr operand = emitSugared(rhs_expr, list && op == '+' ? type : TypePtr());
  if (op == '+' || op == '*') {
    if (auto tuple = emitTupleArithmetic(range, op, simple(current), operand))
      return {tuple->asValue(range, *this), false};
  }
  Value* rhs = operand->asValue(rhs_expr.range(), *this);
  if (row->in_place && (tensor || (list && row->list))) {
    const Symbol kind = Symbol::fromQualString(row->in_place);
    graph.setLocation(range);
    return {insertOp(graph, kind, {NamedValue(current, range), NamedValue(rhs, rhs_expr.range())}, {}, range), true};
  }
  return {emitBinary(range, op, current, rhs), false};
}

void FunctionEmitter::emitAugAssign(const AugAssign& stmt) {
  const Expr target = stmt.target();
  switch (target.kind()) {
    case TK_VAR: {
      Value* current = emitExpr(target);
      const std::string name = Var(target.tree()).name();
      if (!env_.find(name)) {
        throw UserError(
            "'" + name +
                "' is assigned to, but has no value in this function: a script can't change names outside of it. Pass "
                "it as an argument and return its new value, or make it an attribute of the module",
            target.range());
      }
      const auto [value, in_place] = augment(stmt.range(), stmt.op(), current, stmt.rhs());
      assignVariable(target.range(), Var(target.tree()).name(), simple(value), {});
      return;
    }
    case '.': {
      const Select select(target.tree());
      const SugaredValuePtr object = emitSugared(select.value());
      Value* current = object->attr(target.range(), *this, select.selector().name())->asValue(target.range(), *this);
      const auto [value, in_place] = augment(stmt.range(), stmt.op(), current, stmt.rhs());
      // What was changed in place is still what the attribute holds.
      if (!in_place) object->setAttr(stmt.range(), *this, select.selector().name(), value);
      return;
    }
    case TK_SUBSCRIPT:
      return augmentSubscript(stmt, Subscript(target.tree()));
    default:
      throw UserError("unexpected expression on the left-hand side of an augmented assignment", target.range());
  }
}

void collectTargets(const Expr& target, NameList& names) {
  switch (target.kind()) {
    case TK_VAR:
      names.insert(Var(target.tree()).name());
      break;
    case TK_STARRED:
      collectTargets(Starred(target.tree()).value(), names);
      break;
    case TK_TUPLE_LITERAL:
    case TK_LIST_LITERAL:
      for (const Expr e : SequenceLiteral(target.tree()).elements()) collectTargets(e, names);
      break;
    default:
      break;  // attributes and subscripts bind no name
  }
}

void collectAssigned(const ListView<Stmt>& list, NameList& names) {
  for (const Stmt stmt : list) {
    switch (stmt.kind()) {
      case TK_ASSIGN:
        for (const Expr target : Assign(stmt.tree()).targets()) collectTargets(target, names);
        break;
      case TK_AUG_ASSIGN:
        collectTargets(AugAssign(stmt.tree()).target(), names);
        break;
      case TK_DELETE:
        for (const Expr target : Delete(stmt.tree()).targets()) collectTargets(target, names);
        break;
      case TK_IF: {
        // An `elif` chain nests as deep as it is long, so its last links are followed without recursion.
        If branch(stmt.tree());
        collectAssigned(branch.thenBranch(), names);
        for (auto rest = branch.elseBranch(); !rest.empty(); rest = branch.elseBranch()) {
          if (rest.size() != 1 || rest[0].kind() != TK_IF) {
            collectAssigned(rest, names);
            break;
          }
          branch = If(rest[0].tree());
          collectAssigned(branch.thenBranch(), names);
        }
        break;
      }
      case TK_WHILE:
        collectAssigned(While(stmt.tree()).body(), names);
        break;
      case TK_FOR: {
        const For loop(stmt.tree());
        collectTargets(loop.target(), names);
        collectAssigned(loop.body(), names);
        break;
      }
      case TK_WITH: {
        const With with(stmt.tree());
        for (const WithItem item : with.items()) {
          if (item.target().present()) collectTargets(Expr(item.target().get().tree()), names);
        }
        collectAssigned(with.body(), names);
        break;
      }
      default:
        break;
    }
  }
}

bool mayExit(const Stmt& stmt) {
  auto any = [](const ListView<Stmt>& list) {
    for (const Stmt s : list) {
      if (mayExit(s)) return true;
    }
    return false;
  };
  switch (stmt.kind()) {
    case TK_RETURN:
    case TK_BREAK:
    case TK_CONTINUE:
      return true;
    case TK_IF: {
      If branch(stmt.tree());
      while (!any(branch.thenBranch())) {
        const auto rest = branch.elseBranch();
        if (rest.size() != 1 || rest[0].kind() != TK_IF) return any(rest);
        branch = If(rest[0].tree());
      }
      return true;
    }
    case TK_WHILE:
      return any(While(stmt.tree()).body());
    case TK_FOR:
      return any(For(stmt.tree()).body());
    case TK_WITH:
      return any(With(stmt.tree()).body());
    default:
      return false;
  }
}

}  // namespace cresset
