// Constant expressions: defaults of parameters, Final attributes, enum members.
//
// Literals are evaluated here, so that an empty list takes its type from the annotation. Everything else (names,
// attributes, calls of pure builtins such as `float("inf")`) is compiled into a scratch graph by the same sugared
// values that function bodies use, and then computed from constants.
//
// This happens while a program is compiled, of an archive while it is loaded, whoever wrote it. So only what Cresset
// computes itself is called, on numbers, strings and containers of them, and a program's constants have little memory.
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/compiler.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/special_forms.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/program/program.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using c10::IValue;

constexpr const char* kNotConstant =
    "is not a constant: write a number, string, None, a list or tuple of constants, or the name of a constant";

/// What the values hold that a call reads or makes; what lies deeper was made by another call.
size_t bytesOf(std::span<const IValue> values) {
  size_t bytes = 0;
  for (const IValue& value : values) {
    bytes += sizeof(IValue);
    if (value.isString()) bytes += value.toStringRef().size();
    if (value.isList()) bytes += value.toListRef().size() * sizeof(IValue);
    if (value.isTuple()) bytes += value.toTupleRef().elements().size() * sizeof(IValue);
    if (value.isGenericDict()) bytes += value.toGenericDict().size() * 4 * sizeof(IValue);
  }
  return bytes;
}

bool holdsTensors(const c10::Type& type) {
  const auto contained = type.containedTypes();
  return type.kind() == c10::TypeKind::TensorType ||
         std::any_of(contained.begin(), contained.end(), [](const TypePtr& part) { return holdsTensors(*part); });
}

/// Whether the call computes with numbers, strings and the like only, in code of Cresset's.
bool isPlainComputation(const Node& node, const Operator& op) {
  const auto isPlain = [](const Value* value) { return !holdsTensors(*value->type()); };
  return op.isPure() && !op.isOfDispatcher() && op.restriction() == Restriction::None &&
         std::all_of(node.inputs().begin(), node.inputs().end(), isPlain) &&
         std::all_of(node.outputs().begin(), node.outputs().end(), isPlain);
}

class ConstantEvaluator {
 public:
  ConstantEvaluator(Program& program, const ResolverPtr& resolver)
      : program_(program),
        resolver_(resolver),
        graph_(Graph::make()),
        context_(*graph_, program, "a constant expression") {
    graph_->setInsertPoint(graph_->block());
  }

  IValue evaluate(const Expr& expr, const TypePtr& hint) {
    const TypePtr wanted = withoutOptional(hint);
    switch (expr.kind()) {
      case TK_CONST:
        return convert(number(Const(expr.tree()), false), wanted);
      case TK_STRINGLITERAL:
        return IValue(StringLiteral(expr.tree()).text());
      case TK_TRUE:
        return IValue(true);
      case TK_FALSE:
        return IValue(false);
      case TK_NONE:
        return IValue();
      case TK_UNARY_MINUS:
        return convert(negative(UnaryOp(expr.tree()).operand()), wanted);
      case TK_LIST_LITERAL:
        return list(SequenceLiteral(expr.tree()), wanted);
      case TK_TUPLE_LITERAL:
        return tuple(SequenceLiteral(expr.tree()), wanted);
      case TK_DICT_LITERAL:
        return dict(DictLiteral(expr.tree()), wanted);
      default:
        return convert(compute(sugared(expr)->asValue(expr.range(), context_), expr.range()), wanted);
    }
  }

 private:
  static TypePtr withoutOptional(const TypePtr& hint) {
    if (!hint) return hint;
    if (auto optional = hint->cast<c10::OptionalType>()) return optional->getElementType();
    return hint;
  }

  static IValue number(const Const& literal, bool negate) {
    const double sign = negate ? -1 : 1;
    if (literal.isComplex()) return IValue(c10::complex<double>(0, sign * literal.asImaginary()));
    if (literal.isFloat()) return IValue(sign * literal.asFloat());
    // The smallest int has no positive counterpart.
    if (negate && literal.text() == "9223372036854775808") return IValue(std::numeric_limits<int64_t>::min());
    return IValue(negate ? -literal.asInt() : literal.asInt());
  }

  IValue negative(const Expr& operand) {
    if (operand.kind() == TK_CONST) return number(Const(operand.tree()), true);
    const IValue value = evaluate(operand, nullptr);
    if (value.isInt()) return IValue(static_cast<int64_t>(0 - static_cast<uint64_t>(value.toInt())));
    if (value.isDouble()) return IValue(-value.toDouble());
    if (value.isComplexDouble()) return IValue(-value.toComplexDouble());
    throw UserError("can't negate a " + typeName(*value.type()), operand.range());
  }

  /// The number conversions that Python's callers rely on: `x: float = 1`.
  static IValue convert(const IValue& value, const TypePtr& wanted) {
    if (!wanted) return value;
    if (wanted->kind() == c10::TypeKind::FloatType && value.isInt()) return IValue(static_cast<double>(value.toInt()));
    if (wanted->kind() == c10::TypeKind::ComplexType) {
      if (value.isInt()) return IValue(c10::complex<double>(static_cast<double>(value.toInt()), 0));
      if (value.isDouble()) return IValue(c10::complex<double>(value.toDouble(), 0));
    }
    return value;
  }

  static TypePtr commonType(const std::vector<IValue>& values, const SourceRange& range) {
    TypePtr type;
    for (const IValue& value : values) {
      const auto unified = type ? c10::unifyTypes(type, value.type()) : std::optional<TypePtr>(value.type());
      if (!unified) throw UserError("the elements of this literal have different types", range);
      type = *unified;
    }
    return type ? type : TypePtr(c10::TensorType::get());  // TorchScript's type of `[]`
  }

  IValue makeList(const std::vector<IValue>& values, TypePtr element, const SourceRange& range) {
    if (!element) element = commonType(values, range);
    c10::impl::GenericList list(element);
    for (const IValue& value : values) list.push_back(value);
    return IValue(list);
  }

  IValue list(const SequenceLiteral& literal, const TypePtr& wanted) {
    auto list_type = wanted ? wanted->cast<c10::ListType>() : nullptr;
    const TypePtr element = list_type ? list_type->getElementType() : TypePtr();
    std::vector<IValue> values;
    for (const Expr item : literal.elements()) values.push_back(evaluate(item, element));
    return makeList(values, element, literal.range());
  }

  IValue tuple(const SequenceLiteral& literal, const TypePtr& wanted) {
    // A tuple converts to a list, as arguments do.
    if (wanted && wanted->cast<c10::ListType>()) return list(literal, wanted);
    auto tuple_type = wanted ? wanted->cast<c10::TupleType>() : nullptr;
    std::vector<IValue> values;
    for (const Expr item : literal.elements()) {
      const bool typed = tuple_type && values.size() < tuple_type->elements().size();
      values.push_back(evaluate(item, typed ? tuple_type->elements()[values.size()] : TypePtr()));
    }
    return IValue(c10::ivalue::Tuple::create(std::move(values)));
  }

  IValue dict(const DictLiteral& literal, const TypePtr& wanted) {
    auto dict_type = wanted ? wanted->cast<c10::DictType>() : nullptr;
    TypePtr key = dict_type ? dict_type->getKeyType() : TypePtr();
    TypePtr value = dict_type ? dict_type->getValueType() : TypePtr();
    std::vector<IValue> keys, values;
    for (const Expr item : literal.keys()) keys.push_back(evaluate(item, key));
    for (const Expr item : literal.values()) values.push_back(evaluate(item, value));
    if (!key) key = keys.empty() ? TypePtr(c10::StringType::get()) : commonType(keys, literal.range());
    if (!value) value = commonType(values, literal.range());
    c10::impl::GenericDict dict(key, value);
    for (size_t i = 0; i < keys.size(); ++i) assignEntry(dict, keys[i], values[i]);
    return IValue(dict);
  }

  SugaredValuePtr sugared(const Expr& expr) {
    const SourceRange& range = expr.range();
    graph_->setLocation(range);
    switch (expr.kind()) {
      case TK_VAR: {
        const std::string& name = Var(expr.tree()).name();
        SugaredValuePtr value = resolver_ ? resolver_->resolveValue(name, context_, range) : nullptr;
        if (!value) value = builtinResolver()->resolveValue(name, context_, range);
        if (!value) throw UserError("undefined value " + name, range);
        return value;
      }
      case '.': {
        const Select select(expr.tree());
        return sugared(select.value())->attr(range, context_, select.selector().name());
      }
      case TK_APPLY:
        return call(Apply(expr.tree()));
      case TK_CONST:
      case TK_STRINGLITERAL:
      case TK_TRUE:
      case TK_FALSE:
      case TK_NONE:
      case TK_UNARY_MINUS:
      case TK_LIST_LITERAL:
      case TK_TUPLE_LITERAL:
      case TK_DICT_LITERAL:
        return constant(evaluate(expr, nullptr));
      default:
        if (const char* op = expr.tree()->trees().size() == 2 ? arithmetic(expr.kind()) : nullptr) {
          const BinOp binary(expr.tree());
          const std::vector<NamedValue> args{
              NamedValue(evaluate(binary.lhs(), nullptr), range), NamedValue(evaluate(binary.rhs(), nullptr), range)};
          return std::make_shared<SimpleValue>(insertOp(*graph_, Symbol::aten(op), args, {}, range));
        }
        throw UserError(std::string("this expression ") + kNotConstant, range);
    }
  }

  static const char* arithmetic(int kind) {
    switch (kind) {
      case '+':
        return "add";
      case '-':
        return "sub";
      case '*':
        return "mul";
      case '/':
        return "div";
      case '%':
        return "remainder";
      case TK_FLOOR_DIV:
        return "floordiv";
      case TK_POW:
        return "pow";
      default:
        return nullptr;
    }
  }

  SugaredValuePtr call(const Apply& apply) {
    const SourceRange& range = apply.range();
    SugaredValuePtr callee = sugared(apply.callee());
    if (auto* form = dynamic_cast<SpecialForm*>(callee.get())) {
      if (form->form() == Form::Annotate && apply.inputs().size() == 2) {
        const TypePtr type = typeOfAnnotation(apply.inputs()[0], context_.program, resolver_);
        return constant(evaluate(apply.inputs()[1], type));
      }
      throw UserError("a call of " + form->name() + " " + kNotConstant, range);
    }
    std::vector<NamedValue> args, kwargs;
    for (const Expr input : apply.inputs()) args.emplace_back(evaluate(input, nullptr), input.range());
    for (const Attr attribute : apply.attributes()) {
      kwargs.emplace_back(evaluate(attribute.value(), nullptr), attribute.range(), attribute.name().name());
    }
    return callee->call(range, context_, args, kwargs, 1);
  }

  SugaredValuePtr constant(const IValue& value) { return std::make_shared<SimpleValue>(graph_->insertConstant(value)); }

  /// The value of a node of the scratch graph. Recursion follows the nesting of the expression.
  IValue compute(Value* value, const SourceRange& range) {
    if (auto known = toIValue(value)) return *known;
    Node* node = value->node();
    std::vector<IValue> inputs;
    for (Value* input : node->inputs()) inputs.push_back(compute(input, range));
    if (node->kind() == prim::ListConstruct || node->kind() == prim::EmptyListLiteral) {
      return makeList(inputs, value->type()->expectRef<c10::ListType>().getElementType(), range);
    }
    if (node->kind() == prim::TupleConstruct) {
      auto type = value->type()->expect<c10::TupleType>();
      return IValue(
          type->name() ? c10::ivalue::Tuple::createNamed(std::move(inputs), type)
                       : c10::ivalue::Tuple::create(std::move(inputs)));
    }
    if (node->kind() == prim::TupleIndex) {
      const auto& elements = inputs.at(0).toTupleRef().elements();
      const auto size = static_cast<int64_t>(elements.size());
      const int64_t index = inputs.at(1).toInt(), place = index < 0 ? index + size : index;
      if (place < 0 || place >= size) throw UserError(messages::tupleIndex(size, index), range);
      return elements[static_cast<size_t>(place)];
    }
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (!op || !isPlainComputation(*node, *op))
      throw UserError(std::string("the value of this expression ") + kNotConstant, range);
    charge(bytesOf(inputs), range);
    try {
      const BudgetScope limited(std::make_shared<RunBudget>(
          Limits{.seconds = std::nullopt, .memory = kMaxBytes}, RunBudget::currentShared()));
      const size_t count = inputs.size();
      Stack stack = std::move(inputs);
      op->call(stack, count);
      charge(bytesOf(stack), range);
      return stack.at(value->offset());
    } catch (const ScriptRaise& error) {
      throw UserError(error.what(), range);
    } catch (const Error&) {
      throw;
    } catch (const c10::Error& error) {
      throw UserError(error.what_without_backtrace(), range);
    }
  }

  /// In all constants of a program.
  static constexpr size_t kMaxBytes = size_t(16) << 20;

  void charge(size_t bytes, const SourceRange& range) const {
    if (!program_.chargeConstants(bytes, kMaxBytes)) {
      throw UserError(
          "the constants that this program computes take more than " + std::to_string(kMaxBytes >> 20) +
              " MiB; compute this in a function",
          range);
    }
  }

  Program& program_;
  const ResolverPtr& resolver_;
  std::shared_ptr<Graph> graph_;
  EmitContext context_;
};

}  // namespace

c10::IValue evaluateConstant(const Expr& expr, const TypePtr& hint, Program& program, const ResolverPtr& resolver) {
  c10::IValue value = ConstantEvaluator(program, resolver).evaluate(expr, hint);
  if (hint && !value.type()->isSubtypeOf(*hint)) {
    throw UserError(
        "Expected a value of type " + typeName(*hint) + " but found " + typeName(*value.type()), expr.range());
  }
  return value;
}

}  // namespace cresset
