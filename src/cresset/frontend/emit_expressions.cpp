// Expressions: names, operators, calls. See emitter_impl.h.
#include "cresset/frontend/emitter_impl.h"

#include <string_view>
#include <unordered_set>

#include "cresset/frontend/exceptions.h"
#include "cresset/frontend/indices.h"
#include "cresset/frontend/iterables.h"
#include "cresset/frontend/messages.h"
#include "cresset/ops/limits.h"
#include "cresset/support/suggest.h"

namespace cresset {

namespace {

struct BinaryOp {
  int op;
  const char* kind;
  const char* method;
};

constexpr BinaryOp kBinaryOps[] = {
    {'+', "aten::add", "__add__"},
    {'-', "aten::sub", "__sub__"},
    {'*', "aten::mul", "__mul__"},
    {'/', "aten::div", "__truediv__"},
    {'%', "aten::remainder", "__mod__"},
    {'@', "aten::matmul", "__matmul__"},
    {'&', "aten::__and__", "__and__"},
    {'|', "aten::__or__", "__or__"},
    {'^', "aten::__xor__", "__xor__"},
    {'<', "aten::lt", "__lt__"},
    {'>', "aten::gt", "__gt__"},
    {TK_FLOOR_DIV, "aten::floordiv", "__floordiv__"},
    {TK_POW, "aten::pow", "__pow__"},
    {TK_LSHIFT, "aten::__lshift__", "__lshift__"},
    {TK_RSHIFT, "aten::__rshift__", "__rshift__"},
    {TK_EQ, "aten::eq", "__eq__"},
    {TK_NE, "aten::ne", "__ne__"},
    {TK_LE, "aten::le", "__le__"},
    {TK_GE, "aten::ge", "__ge__"},
};

const BinaryOp* findBinaryOp(int op) {
  for (const BinaryOp& row : kBinaryOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

/// Whether the tree's first subtree is an operand that may itself be such a tree, as often as a program likes.
bool isChained(const Tree& tree) {
  const int kind = tree.kind();
  return kind == '.' || kind == TK_APPLY || kind == TK_SUBSCRIPT || kind == TK_IN || kind == TK_NOTIN ||
         (tree.trees().size() == 2 && findBinaryOp(kind));
}

}  // namespace

SugaredValuePtr FunctionEmitter::emitSugared(const Expr& expr, const TypePtr& hint, size_t binders) {
  // `a + b + c`, `a.b().c` and the like nest to the left as deep as they are long: go down to the innermost operand,
  // then apply the steps from there.
  std::vector<const TreeRef*> steps;
  const TreeRef* tree = &expr.tree();
  for (; isChained(**tree); tree = &(*tree)->tree(0)) steps.push_back(tree);
  SugaredValuePtr value = emitLeaf(*tree, steps.empty() ? hint : TypePtr());
  for (size_t i = steps.size(); i-- > 0;) {
    value = emitStep(*steps[i], value, i == 0 ? hint : TypePtr(), i == 0 ? binders : 1);
  }
  return value;
}

Value* FunctionEmitter::emitExpr(const Expr& expr, const TypePtr& hint) {
  const SugaredValuePtr value = emitSugared(expr, hint);
  if (Value* first_class = simpleValueOf(value)) return first_class;
  return value->asValue(expr.range(), *this);
}

SugaredValuePtr FunctionEmitter::emitLeaf(const TreeRef& tree, const TypePtr& hint) {
  const SourceRange& range = tree->range();
  switch (tree->kind()) {
    case TK_VAR:
      return emitName(range, Var(tree).name());
    case TK_CONST:
      return simple(emitNumber(Const(tree), false));
    case TK_STRINGLITERAL:
      return simple(constant(range, StringLiteral(tree).text()));
    case TK_TRUE:
      return simple(constant(range, true));
    case TK_FALSE:
      return simple(constant(range, false));
    case TK_NONE:
      return simple(none(range));
    case TK_UNARY_MINUS:
    case '+':
    case '~':
      return simple(emitUnary(UnaryOp(tree)));
    case TK_AND:
    case TK_OR:
    case TK_NOT:
    case TK_IS:
    case TK_ISNOT:
    case TK_COMPARE_CHAIN:
      return simple(valueOf(range, emitCondition(Expr(tree))));
    case TK_TERNARY:
      return emitTernary(Ternary(tree), hint);
    case TK_LIST_LITERAL:
      return simple(emitList(SequenceLiteral(tree), hint));
    case TK_TUPLE_LITERAL:
      return emitTuple(SequenceLiteral(tree), hint);
    case TK_DICT_LITERAL:
      return simple(emitDict(DictLiteral(tree), hint));
    case TK_LIST_COMP:
      return simple(emitListComp(ListComp(tree), hint));
    case TK_DICT_COMP:
      return simple(emitDictComp(DictComp(tree), hint));
    case TK_SET_LITERAL:
      throw UserError("Set aren't supported; use a list or a dict", range);
    case TK_STARRED:
      throw UserError("Unexpected starred expansion: it can only stand in a call, a list, a tuple or a target", range);
    case TK_ELLIPSIS:
      return std::make_shared<EllipsisValue>();
    case TK_SLICE_EXPR: {
      const SliceExpr slice(tree);
      auto bound = [&](const Maybe<Expr>& expr) { return expr.present() ? emitExpr(expr.get()) : nullptr; };
      Value* start = bound(slice.start());
      Value* stop = bound(slice.stop());
      return std::make_shared<SliceValue>(start, stop, bound(slice.step()));
    }
    default:
      throw UserError("expressions of kind '" + tokenName(tree->kind()) + "' can't be compiled", range);
  }
}

SugaredValuePtr FunctionEmitter::emitStep(
    const TreeRef& tree, const SugaredValuePtr& operand, const TypePtr& hint, size_t binders) {
  const SourceRange& range = tree->range();
  switch (tree->kind()) {
    case '.':
      return operand->attr(range, *this, Select(tree).selector().name());
    case TK_APPLY:
      return emitCall(Apply(tree), operand, hint, binders);
    case TK_SUBSCRIPT:
      return emitSubscript(Subscript(tree), operand, hint);
    case TK_IN:
    case TK_NOTIN: {
      Value* element = operand->asValue(tree->tree(0)->range(), *this);
      Value* found = emitContains(range, element, emitSugared(Expr(tree->tree(1))));
      return simple(tree->kind() == TK_IN ? found : builtin(range, aten::__not__, {found}));
    }
    default: {
      const Expr rhs_expr(tree->tree(1));
      if (tree->kind() == '+' || tree->kind() == '*') {
        const SugaredValuePtr rhs = emitSugared(rhs_expr);
        if (auto tuple = emitTupleArithmetic(range, tree->kind(), operand, rhs)) return tuple;
        Value* lhs = operand->asValue(tree->tree(0)->range(), *this);
        return simple(emitBinary(range, tree->kind(), lhs, rhs->asValue(rhs_expr.range(), *this)));
      }
      Value* lhs = operand->asValue(tree->tree(0)->range(), *this);
      Value* rhs = emitExpr(rhs_expr);
      return simple(emitBinary(range, tree->kind(), lhs, rhs));
    }
  }
}

SugaredValuePtr FunctionEmitter::findName(const SourceRange& range, const std::string& name) {
  if (Binding* binding = env_.find(name)) {
    if (binding->value) return simple(widen(range, binding->value, binding->type));
    if (binding->sugared) return binding->sugared;
    std::string message = binding->error;
    if (binding->error_range) message += ":\n" + binding->error_range.highlight() + "and was used here";
    throw UserError(message, range);
  }
  if (resolver_) {
    if (auto value = resolver_->resolveValue(name, *this, range)) return value;
  }
  if (auto value = builtins_->resolveValue(name, *this, range)) return value;
  return builtinException(name);
}

SugaredValuePtr FunctionEmitter::emitName(const SourceRange& range, const std::string& name) {
  if (auto value = findName(range, name)) return value;
  std::vector<std::string> known = env_.names();
  if (resolver_) {
    const std::vector<std::string> others = resolver_->names();
    known.insert(known.end(), others.begin(), others.end());
  }
  throw UserError("undefined value " + name + didYouMean(name, known), range);
}

Value* FunctionEmitter::emitNumber(const Const& number, bool negative) {
  const SourceRange& range = number.range();
  if (number.isComplex())
    return constant(range, c10::complex<double>(0, negative ? -number.asImaginary() : number.asImaginary()));
  if (number.isFloat()) return constant(range, negative ? -number.asFloat() : number.asFloat());
  // The smallest int has no positive counterpart.
  if (negative && number.text() == "9223372036854775808") return constant(range, std::numeric_limits<int64_t>::min());
  const int64_t value = number.asInt();
  if (negative && value == std::numeric_limits<int64_t>::min())
    throw UserError("the integer 9223372036854775808 is out of range: it does not fit in 64 bits", range);
  return constant(range, negative ? -value : value);
}

Value* FunctionEmitter::emitUnary(const UnaryOp& expr) {
  const Expr operand = expr.operand();
  const bool minus = expr.kind() == TK_UNARY_MINUS, plus = expr.kind() == '+';
  const char* method_name = minus ? "__neg__" : plus ? "__pos__" : "__invert__";
  if (minus && operand.kind() == TK_CONST) return emitNumber(Const(operand.tree()), true);
  Value* value = emitExpr(operand);
  if (auto method = magicMethod(expr.range(), value, method_name)) return callMethod(expr.range(), method, {});
  if (value->type()->kind() == c10::TypeKind::ClassType)
    SimpleValue(value).attr(expr.range(), *this, method_name);  // the error that names the method
  if (plus) {
    const c10::TypeKind kind = value->type()->kind();
    if (kind == c10::TypeKind::BoolType) return builtin(expr.range(), Symbol::aten("Int"), {value});
    const bool is_number = kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType ||
                           kind == c10::TypeKind::ComplexType || kind == c10::TypeKind::NumberType;
    return is_number ? value : builtin(expr.range(), Symbol::aten("positive"), {value});
  }
  const bool is_int =
      value->type()->kind() == c10::TypeKind::IntType || value->type()->kind() == c10::TypeKind::BoolType;
  if (!minus && is_int) {  // as Python has it, of bools too
    if (value->type()->kind() == c10::TypeKind::BoolType) value = builtin(expr.range(), Symbol::aten("Int"), {value});
    return builtin(expr.range(), aten::__xor__, {value, constant(expr.range(), int64_t(-1))});
  }
  return builtin(expr.range(), minus ? aten::neg : aten::bitwise_not, {value});
}

Value* FunctionEmitter::emitBinary(const SourceRange& range, int op, Value* lhs, Value* rhs) {
  const BinaryOp* row = findBinaryOp(op);
  CRESSET_CHECK(row, "binary operator " + tokenName(op));
  if (auto method = magicMethod(range, lhs, row->method)) return callMethod(range, method, {NamedValue(rhs, range)});
  if (op == TK_NE) {
    // As Python has it: not equal is the opposite of equal, unless the class says otherwise.
    if (auto equal = magicMethod(range, lhs, "__eq__"))
      return builtin(range, aten::__not__, {callMethod(range, equal, {NamedValue(rhs, range)})});
  }
  if (op == '%' && lhs->type()->kind() == c10::TypeKind::StringType) {
    return builtin(range, Symbol::aten("percentFormat"), {lhs, rhs});
  }
  if (lhs->type()->kind() == c10::TypeKind::ClassType)
    SimpleValue(lhs).attr(range, *this, row->method);  // the error that names the method
  // Overloads for bools would take a tensor beside one for its truth.
  if (lhs->type()->kind() == c10::TypeKind::BoolType && rhs->type()->isSubtypeOf(*c10::TensorType::get()))
    lhs = builtin(range, prim::NumToTensor, {lhs});
  const Symbol kind = Symbol::fromQualString(row->kind);
  makeBothComplex(range, graph, kind, lhs, rhs);
  return builtin(range, kind, {lhs, rhs});
}

Value* FunctionEmitter::emitContains(const SourceRange& range, Value* element, const SugaredValuePtr& container) {
  Value* value = simpleValueOf(container);
  if (value && value->type()->kind() == c10::TypeKind::StringType) {
    Value* length = builtin(range, aten::len, {value});
    Value* position = builtin(range, Symbol::aten("find"), {value, element, constant(range, int64_t(0)), length});
    return builtin(range, aten::ne, {position, constant(range, int64_t(-1))});
  }
  graph.setLocation(range);
  Value* result = nullptr;
  if (container->contains(range, *this, result, element)) return result;
  return builtin(range, aten::__contains__, {container->asValue(range, *this), element});
}

SugaredValuePtr FunctionEmitter::magicMethod(const SourceRange& range, Value* value, const char* name) {
  auto type = value->type()->cast<c10::ClassType>();
  if (!type || !type->findMethod(name)) return nullptr;
  return SimpleValue(value).attr(range, *this, name);
}

Value* FunctionEmitter::callMethod(
    const SourceRange& range, const SugaredValuePtr& method, const std::vector<NamedValue>& args) {
  graph.setLocation(range);
  return method->call(range, *this, args, {}, 1)->asValue(range, *this);
}

SugaredValuePtr FunctionEmitter::emitCall(
    const Apply& apply, const SugaredValuePtr& callee, const TypePtr& hint, size_t binders) {
  if (auto* form = dynamic_cast<SpecialForm*>(callee.get())) return emitSpecialForm(*form, apply, hint);
  if (callee->takesSugared()) {
    std::vector<SugaredValuePtr> args;
    for (const Expr input : apply.inputs()) {
      if (input.kind() == TK_STARRED) {
        const Expr inner = Starred(input.tree()).value();
        for (SugaredValuePtr& item : emitSugared(inner)->asTuple(inner.range(), *this)) args.push_back(std::move(item));
      } else {
        args.push_back(emitSugared(input));
      }
    }
    std::vector<std::pair<std::string, SugaredValuePtr>> kwargs;
    for (const Attr attribute : apply.attributes())
      kwargs.emplace_back(attribute.name().name(), emitSugared(attribute.value()));
    graph.setLocation(apply.callee().range());
    return callee->callSugared(apply.callee().range(), *this, args, kwargs);
  }
  const std::vector<NamedValue> args =
      emitArguments(apply.inputs(), 0, callee->formatsArguments(apply.inputs().size()));
  const std::vector<NamedValue> kwargs = emitKeywords(apply.attributes());
  graph.setLocation(apply.callee().range());
  return callee->call(apply.callee().range(), *this, args, kwargs, binders);
}

std::vector<NamedValue> FunctionEmitter::emitArguments(const ListView<Expr>& inputs, size_t begin, bool are_formatted) {
  std::vector<NamedValue> args;
  args.reserve(inputs.size());
  for (size_t i = begin; i < inputs.size(); ++i) {
    const Expr input = inputs[i];
    if (input.kind() == TK_STARRED) {
      const Expr inner = Starred(input.tree()).value();
      for (const SugaredValuePtr& item : emitSugared(inner)->asTuple(inner.range(), *this)) {
        args.emplace_back(item->asValue(inner.range(), *this), inner.range());
      }
    } else if (are_formatted) {
      args.emplace_back(emitSugared(input)->asFormatted(input.range(), *this), input.range());
    } else {
      args.emplace_back(emitExpr(input), input.range());
    }
  }
  return args;
}

std::vector<NamedValue> FunctionEmitter::emitKeywords(const ListView<Attr>& attributes) {
  std::vector<NamedValue> kwargs;
  std::unordered_set<std::string_view> names;
  kwargs.reserve(attributes.size());
  for (const Attr attribute : attributes) {
    const std::string& name = attribute.name().name();
    checkTimeLimit();
    if (!names.insert(name).second) throw UserError(messages::keywordTwice(name), attribute.range());
    kwargs.emplace_back(emitExpr(attribute.value()), attribute.range(), name);
  }
  return kwargs;
}

}  // namespace cresset
