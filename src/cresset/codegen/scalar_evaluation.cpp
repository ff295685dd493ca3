#include "cresset/codegen/scalar_evaluation.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "cresset/codegen/functions.h"
#include "cresset/support/error.h"

namespace cresset::codegen {

namespace {

using Kind = Expression::Kind;

/// What is computed of numbers that the caller passes alone: a register of Double, Long or Bool. It has the bits that
/// it would have if the numbers were known, so becomes a number of the type that is computed in as late as those do.
struct NumberOperand {
  Register value;
};

/// A register, or what is known when the kernel is made, or a number.
using Operand = std::variant<Register, c10::IValue, NumberOperand>;

/// The kernel fails where the condition does not hold: an index of what has one element.
void require(KernelBuilder& builder, Register holds) {
  const Register zero = builder.constant(at::kLong, int64_t{0}), one = builder.constant(at::kLong, int64_t{1});
  builder.add(Opcode::Index, builder.select(holds, zero, one), one);
}

class Evaluator {
 public:
  Evaluator(
      KernelBuilder& builder, const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in)
      : builder_(builder), op_(op), arguments_(arguments), dtype_(computes_in), type_(registerType(computes_in)) {}

  bool isExact() const { return is_exact_; }

  void assign(std::string_view name, Operand value) { locals_.emplace_back(name, std::move(value)); }

  Operand evaluate(const Expression& e) {
    switch (e.kind) {
      case Kind::Integer:
        return c10::IValue(e.integer);
      case Kind::Real:
        return c10::IValue(e.real);
      case Kind::Text:
        return c10::IValue(std::string(e.text));
      case Kind::None:
        return c10::IValue();
      case Kind::True:
      case Kind::False:
        return c10::IValue(e.kind == Kind::True);
      case Kind::Name:
        return lookUp(e.text);
      case Kind::Call:
        return call(e);
      case Kind::Binary:
        return binary(e);
      case Kind::Unary:
        return unary(e);
      case Kind::If:
        return conditional(e);
      case Kind::List:
      case Kind::Subscript:
      case Kind::Slice:
        break;
    }
    refuse("lists");
  }

  /// Evaluates what comes before the results.
  void assignAll(const ExpressionList& list) {
    for (const auto& [name, value] : list.assignments) assign(name, evaluate(value));
  }

  Register asRegister(const Operand& operand) { return asRegister(operand, type_); }

  /// What is known becomes a constant of the type.
  Register asRegister(const Operand& operand, at::ScalarType type) {
    if (const auto* value = std::get_if<Register>(&operand)) return *value;
    if (const auto* number = std::get_if<NumberOperand>(&operand)) return builder_.convert(number->value, type);
    const c10::IValue& known = std::get<c10::IValue>(operand);
    if (known.isInt()) return builder_.constant(type, known.toInt());
    if (known.isBool()) return builder_.constant(type, int64_t{known.toBool()});
    if (known.isDouble()) return builder_.constant(type, known.toDouble());
    refuse("what to compute with " + known.tagKind());
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Unsupported{"the scalar body of " + op_.fullName() + " does not know " + what};
  }

  /// Bools become numbers of the type.
  Register asNumber(const Operand& operand, at::ScalarType type) {
    const Register value = asRegister(operand, type);
    return builder_.typeOf(value) == at::kBool ? builder_.convert(value, type) : value;
  }

  /// Of numbers that are computed with together: that of the first that is not known, or a bool. Only functions have
  /// numbers of other types than the one that is computed in.
  at::ScalarType typeOf(const std::vector<Operand>& operands) const {
    for (const Operand& operand : operands) {
      const auto* value = std::get_if<Register>(&operand);
      if (value && builder_.typeOf(*value) != at::kBool) return builder_.typeOf(*value);
    }
    return type_;
  }

  const ScalarArgument* argument(std::string_view name) const {
    const auto& parameters = op_.schema().arguments();
    for (size_t i = 0; i < parameters.size() && i < arguments_.size(); ++i) {
      if (parameters[i].name() == name) return &arguments_[i];
    }
    return nullptr;
  }

  Operand lookUp(std::string_view name) {
    for (const auto& [local, value] : locals_) {
      if (local == name) return value;
    }
    const ScalarArgument* found = argument(name);
    if (!found && name == "count") return builder_.convert(builder_.count(), type_);
    if (!found && name == "place") return builder_.place();
    if (!found && name == "inf") return c10::IValue(std::numeric_limits<double>::infinity());
    if (!found && name == "nan") return c10::IValue(std::numeric_limits<double>::quiet_NaN());
    if (!found && name == "epsilon") return c10::IValue(type_ == at::kDouble ? 0x1p-52 : 0x1p-23);
    if (!found) refuse("the name " + std::string(name));
    if (found->kind == ScalarArgument::Kind::Known) {
      if (!found->known.isDouble() && !found->known.isInt()) return found->known;
      // Numbers that an `if` asks for stay known; those that are computed with are what the dtype can hold.
      return found->known.isInt() && !isFloating(type_) ? found->known : rounded(found->known);
    }
    if (isRealNumber(*found)) return NumberOperand{rounded(found->value)};
    return toDtype(*found);
  }

  /// Whether it is computed with as known numbers are. Those for integers are the integers' at once.
  bool isRealNumber(const ScalarArgument& argument) const {
    return argument.kind == ScalarArgument::Kind::Number && isFloating(type_) &&
           builder_.typeOf(argument.value) != at::kBool;
  }

  /// A number as the dtype holds it.
  Register rounded(Register number) {
    if (type_ == dtype_) return number;
    return builder_.roundTo(builder_.convert(builder_.convert(number, at::kDouble), at::kFloat), dtype_);
  }

  /// A known number as the dtype holds it, if it does not hold it as it is.
  Operand rounded(const c10::IValue& known) {
    if (type_ == dtype_) return known;
    const double value = known.toScalar().toDouble();
    const double kept = dtype_ == at::kHalf ? double(c10::Half(float(value))) : double(c10::BFloat16(float(value)));
    return kept == value ? known : c10::IValue(kept);
  }

  Register toDtype(const ScalarArgument& value) {
    if (builder_.typeOf(value.value) == at::kBool) return value.value;  // perhaps a condition
    const Register converted = builder_.convert(value.value, type_);
    const bool is_exact = value.kind == ScalarArgument::Kind::Element && value.dtype == dtype_;
    return is_exact ? converted : builder_.roundTo(converted, dtype_);
  }

  /// Of a condition that is known.
  static std::optional<bool> truthOf(const Operand& operand) {
    const auto* known = std::get_if<c10::IValue>(&operand);
    if (!known) return std::nullopt;
    if (known->isNone()) return false;
    if (known->isString()) return !known->toStringRef().empty();
    return known->isBool() ? known->toBool() : known->toScalar().toDouble() != 0;
  }

  Operand conditional(const Expression& e, bool mostly = false) {
    const Operand condition = evaluate(e.children[0]);
    if (const auto truth = truthOf(condition)) return evaluate(e.children[*truth ? 1 : 2]);
    if (raises(e.children[1]) && isOther(e.children[0])) return evaluate(e.children[2]);
    const Operand then = evaluate(e.children[1]), otherwise = evaluate(e.children[2]);
    const at::ScalarType type = typeOf({then, otherwise});
    return builder_.select(truthRegister(condition), asNumber(then, type), asNumber(otherwise, type), mostly);
  }

  /// Of a condition that is not known.
  Register truthRegister(const Operand& operand) {
    const auto* number = std::get_if<NumberOperand>(&operand);
    return builder_.toBool(number ? number->value : std::get<Register>(operand));
  }

  static bool raises(const Expression& e) { return e.kind == Expression::Kind::Call && e.text == "raises"; }
  /// Whether this compares an argument with a number that it is known not to be.
  bool isOther(const Expression& e) const {
    if (e.kind != Expression::Kind::Binary || e.text != "==") return false;
    const ScalarArgument* compared = argument(e.children[0].text);
    return compared && compared->is_other;
  }

  static bool isOfNumbers(const Operand& operand) {
    const auto* known = std::get_if<c10::IValue>(&operand);
    return std::holds_alternative<NumberOperand>(operand) ||
           (known && (known->isDouble() || known->isInt() || known->isBool()));
  }

  Operand unary(const Expression& e) {
    const Operand operand = evaluate(e.children[0]);
    if (const auto* known = std::get_if<c10::IValue>(&operand)) {
      if (e.text == "not") return c10::IValue(!*truthOf(operand));
      if (e.text == "-") return known->isDouble() ? c10::IValue(-known->toDouble()) : c10::IValue(-known->toInt());
      return c10::IValue(~known->toInt());
    }
    if (e.text == "not") return builder_.add(Opcode::Not, truthRegister(operand));
    if (const auto* number = std::get_if<NumberOperand>(&operand); number && e.text == "-")
      return NumberOperand{builder_.add(Opcode::Neg, number->value)};
    const Register value = asNumber(operand, type_);
    if (e.text == "-" && type_ == at::kBool) refuse("'-' of bools");
    return builder_.add(e.text == "-" ? Opcode::Neg : Opcode::Not, value);
  }

  Operand logical(const Expression& e) {
    const bool is_or = e.text == "or";
    const Operand a = evaluate(e.children[0]);
    if (const auto truth = truthOf(a)) {
      if (*truth == is_or) return c10::IValue(is_or);
      return evaluate(e.children[1]);
    }
    const Operand b = evaluate(e.children[1]);
    const Register left = truthRegister(a);
    if (const auto truth = truthOf(b)) return *truth == is_or ? Operand(c10::IValue(is_or)) : Operand(left);
    return builder_.add(is_or ? Opcode::Or : Opcode::And, left, truthRegister(b));
  }

  Operand binary(const Expression& e) {
    if (e.text == "or" || e.text == "and") return logical(e);
    const Operand a = evaluate(e.children[0]), b = evaluate(e.children[1]);
    const auto *x = std::get_if<c10::IValue>(&a), *y = std::get_if<c10::IValue>(&b);
    if (e.text == "is" || e.text == "is not") {
      if (!y || !y->isNone()) refuse("`is` of anything but None");
      return c10::IValue((x && x->isNone()) == (e.text == "is"));
    }
    if (x && y) return knownBinary(e.text, *x, *y);
    if (isComparison(e.text) && isOfNumbers(a) && isOfNumbers(b))
      return NumberOperand{
          std::get<Register>(emitBinary(e.text, asRegister(a, at::kDouble), asRegister(b, at::kDouble)))};
    const at::ScalarType type = typeOf({a, b});
    return emitBinary(e.text, asNumber(a, type), asNumber(b, type));
  }

  static bool isComparison(std::string_view op) {
    return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
  }

  /// As the type that is computed in holds it, if it is a floating one.
  double inType(double value) const { return type_ == at::kFloat ? double(static_cast<float>(value)) : value; }

  Operand knownBinary(std::string_view op, const c10::IValue& a, const c10::IValue& b) const {
    if (a.isString() || b.isString() || a.isNone() || b.isNone()) {
      const bool equal = a.tagKind() == b.tagKind() && (a.isNone() || a.toStringRef() == b.toStringRef());
      if (op != "==" && op != "!=") refuse("'" + std::string(op) + "' of texts");
      return c10::IValue(equal == (op == "=="));
    }
    const double x = a.toScalar().toDouble(), y = b.toScalar().toDouble();
    if (op == "==") return c10::IValue(x == y);
    if (op == "!=") return c10::IValue(x != y);
    if (op == "<") return c10::IValue(x < y);
    if (op == "<=") return c10::IValue(x <= y);
    if (op == ">") return c10::IValue(x > y);
    if (op == ">=") return c10::IValue(x >= y);
    if (a.isDouble() || b.isDouble() || op == "/") {
      const double left = inType(x), right = inType(y);
      if (op == "+") return c10::IValue(inType(left + right));
      if (op == "-") return c10::IValue(inType(left - right));
      if (op == "*") return c10::IValue(inType(left * right));
      if (op == "/") return c10::IValue(inType(left / right));
    } else {
      const auto i = [](const c10::IValue& v) { return uint64_t(v.toScalar().toLong()); };
      if (op == "+") return c10::IValue(int64_t(i(a) + i(b)));
      if (op == "-") return c10::IValue(int64_t(i(a) - i(b)));
      if (op == "*") return c10::IValue(int64_t(i(a) * i(b)));
    }
    refuse("'" + std::string(op) + "' of numbers");
  }

  Operand emitBinary(std::string_view op, Register a, Register b) {
    static const std::unordered_map<std::string_view, Opcode> kOpcodes = {
        {"+", Opcode::Add},         {"-", Opcode::Sub}, {"*", Opcode::Mul}, {"/", Opcode::Div},
        {"&", Opcode::And},         {"|", Opcode::Or},  {"^", Opcode::Xor}, {"<<", Opcode::ShiftLeft},
        {">>", Opcode::ShiftRight}, {"==", Opcode::Eq}, {"!=", Opcode::Ne}, {"<", Opcode::Lt},
        {"<=", Opcode::Le}};
    if (op == "-" && type_ == at::kBool) refuse("'-' of bools");
    if (op == ">") return builder_.add(Opcode::Lt, b, a);
    if (op == ">=") return builder_.add(Opcode::Le, b, a);
    const auto found = kOpcodes.find(op);
    if (found == kOpcodes.end()) refuse("'" + std::string(op) + "'");
    if (op == "/" && !isFloating(builder_.typeOf(b)) && !builder_.isOtherThanZero(b))
      refuse("whether it divides by 0");  // which the operator refuses
    return builder_.add(found->second, a, b);
  }

  Operand call(const Expression& e) {
    static const std::unordered_map<std::string_view, Opcode> kFunctions = {
        {"fma", Opcode::Fma},   {"abs", Opcode::Abs},     {"sqrt", Opcode::Sqrt},   {"floor", Opcode::Floor},
        {"ceil", Opcode::Ceil}, {"trunc", Opcode::Trunc}, {"round", Opcode::Round}, {"copysign", Opcode::CopySign},
        {"sum", Opcode::Sum},   {"prod", Opcode::Prod},   {"max", Opcode::Max},     {"min", Opcode::Min},
        {"dot", Opcode::Dot}};
    if (e.text == "exactly") return exactly(e);
    if (e.text == "mostly" && e.children.size() == 3) return conditional(e, /*mostly=*/true);
    if (e.text == "index") return index(e);
    if (e.text == "previous") return previous(e);
    if (e.text == "require") {
      require(builder_, truthRegister(evaluate(e.children[0])));
      return evaluate(e.children.at(1));
    }
    if (raises(e)) throw Unsupported{op_.fullName() + " raises, or may raise, for its numbers"};
    if (e.text == "own" && e.children.size() == 1) {
      is_exact_ = false;
      return evaluate(e.children[0]);
    }
    if (e.text == "ownhalf" && e.children.size() == 1) {
      if (type_ != dtype_) is_exact_ = false;
      return evaluate(e.children[0]);
    }
    std::vector<Operand> values;
    for (const Expression& child : e.children) values.push_back(evaluate(child));
    const at::ScalarType type = typeOf(values);
    std::vector<Register> operands;
    for (const Operand& value : values) operands.push_back(asNumber(value, type));
    static constexpr Opcode kRoundings[] = {Opcode::Floor, Opcode::Ceil, Opcode::Trunc, Opcode::Round};
    if (const auto found = kFunctions.find(e.text); found != kFunctions.end()) {
      if (operands.size() != numOperands(found->second)) refuse(std::string(e.text) + " of so many operands");
      const bool rounds =
          std::find(std::begin(kRoundings), std::end(kRoundings), found->second) != std::end(kRoundings);
      const bool is_unsigned = type == at::kBool || type == at::kByte;
      if (isReduction(found->second) && isFloating(type)) is_exact_ = false;  // eager adds in another order
      if ((rounds && !isFloating(type)) || (found->second == Opcode::Abs && is_unsigned)) return operands[0];
      return operands.size() == 1   ? builder_.add(found->second, operands[0])
             : operands.size() == 2 ? builder_.add(found->second, operands[0], operands[1])
                                    : builder_.add(found->second, operands[0], operands[1], operands[2]);
    }
    if (e.text == "muladd" && operands.size() == 3) {
      if (type_ == dtype_ && type_ != at::kBool)
        return builder_.add(Opcode::Fma, operands[0], operands[1], operands[2]);
      const Register product = builder_.roundTo(builder_.add(Opcode::Mul, operands[0], operands[1]), dtype_);
      return builder_.add(Opcode::Add, product, operands[2]);
    }
    if (e.text == "carry" && operands.size() == 2) return builder_.add(Opcode::Carry, operands[0], operands[1]);
    if (e.text == "wide" && operands.size() == 1)
      return dtype_ == at::kFloat ? builder_.convert(operands[0], at::kDouble) : operands[0];
    if (e.text == "rounded" && operands.size() == 1) return builder_.roundTo(operands[0], dtype_);
    if (e.text == "isnan" && operands.size() == 1) return builder_.add(Opcode::Ne, operands[0], operands[0]);
    if (e.text == "bool" && operands.size() == 1) return builder_.toBool(operands[0]);
    if (e.text == "scale" && operands.size() == 2) return builder_.scale(operands[0], operands[1]);
    if (e.text == "poly" && operands.size() > 2) return polynomial(operands);
    if (const auto converted = operands.size() == 1 ? conversion(e.text, operands[0]) : std::nullopt) return *converted;
    return callFunction(e.text, operands, type);
  }

  /// The coefficients come after what is raised to powers, that of the power 0 first.
  Register polynomial(std::span<const Register> operands) {
    Register sum = operands.back();
    for (size_t i = operands.size() - 2; i > 0; --i) sum = builder_.add(Opcode::Fma, sum, operands[0], operands[i]);
    return sum;
  }

  std::optional<Register> conversion(std::string_view name, Register value) {
    const at::ScalarType type = builder_.typeOf(value);
    if (name == "float") return builder_.convert(value, at::kFloat);
    if (name == "double") return builder_.convert(value, at::kDouble);
    if (name == "bits" && isFloating(type)) return builder_.bitcast(value, type == at::kFloat ? at::kInt : at::kLong);
    if (name == "frombits" && type == at::kInt) return builder_.bitcast(value, at::kFloat);
    if (name == "frombits" && type == at::kLong) return builder_.bitcast(value, at::kDouble);
    return std::nullopt;
  }

  Register callFunction(std::string_view name, std::span<const Register> operands, at::ScalarType type) {
    const MathFunction* function = mathFunction(name, type);
    CRESSET_CHECK(
        function || isMathFunction(name), "the scalar body of " + op_.fullName() + " calls '" + std::string(name) +
                                              "', which neither codegen/functions.def nor scalar_evaluation.cpp has");
    if (!function) refuse("the function " + std::string(name) + " of " + std::string(shortName(type)));
    if (function->parameters.size() != operands.size())
      refuse("a call of " + std::string(name) + " with so many arguments");
    Evaluator evaluator(builder_, op_, {}, type);
    for (size_t i = 0; i < operands.size(); ++i) evaluator.assign(function->parameters[i], operands[i]);
    if (isFloating(type)) is_exact_ = false;
    evaluator.assignAll(function->body);
    return evaluator.asRegister(evaluator.evaluate(function->body.results[0]));
  }

  Operand exactly(const Expression& e) {
    const ScalarArgument* number = e.children.size() == 1 ? argument(e.children[0].text) : nullptr;
    if (!number) refuse("exactly() of anything but an argument");
    if (number->kind == ScalarArgument::Kind::Known) {
      const bool becomes_real = number->known.isInt() && isFloating(type_);  // zeros have signs
      return becomes_real ? c10::IValue(static_cast<double>(number->known.toInt())) : number->known;
    }
    if (isRealNumber(*number)) return NumberOperand{builder_.convert(number->value, at::kDouble)};
    if (number->kind == ScalarArgument::Kind::Number) return builder_.convert(number->value, type_);
    return toDtype(*number);
  }

  /// Which of the elements that are reduced an argument chooses, -1 for the number that stands for none. The kernel
  /// fails where there is no such element.
  Operand index(const Expression& e) {
    const ScalarArgument* found = e.children.size() == 2 ? argument(e.children[0].text) : nullptr;
    const ScalarArgument* ignored = found ? argument(e.children[1].text) : nullptr;
    if (!ignored || found->kind != ScalarArgument::Kind::Element || found->dtype != at::kLong)
      refuse("index() of anything but an argument of Long, and one that is a number");
    const Register none = ignored->kind == ScalarArgument::Kind::Known
                              ? builder_.constant(at::kLong, ignored->known.toInt())
                              : builder_.convert(ignored->value, at::kLong);
    const Register is_none = builder_.add(Opcode::Eq, found->value, none);
    const Register zero = builder_.constant(at::kLong, int64_t{0});
    const Register checked =
        builder_.add(Opcode::Index, builder_.select(is_none, zero, found->value), builder_.count());
    return builder_.select(is_none, builder_.constant(at::kLong, int64_t{-1}), checked);
  }

  Operand previous(const Expression& e) {
    if (e.children.size() != 2) refuse("previous() of so many operands");
    const Register like = asNumber(evaluate(e.children[0]), type_);
    return builder_.previous(asRegister(evaluate(e.children[1]), builder_.typeOf(like)));
  }

  KernelBuilder& builder_;
  const Operator& op_;
  std::span<const ScalarArgument> arguments_;
  const at::ScalarType dtype_, type_;
  std::vector<std::pair<std::string_view, Operand>> locals_;
  bool is_exact_ = true;
};

}  // namespace

std::vector<ScalarBody::Built> evaluateExpressions(
    const ExpressionList& list, KernelBuilder& builder, const Operator& op, std::span<const ScalarArgument> arguments,
    at::ScalarType computes_in, std::span<const at::ScalarType> results) {
  CRESSET_CHECK(list.results.size() == results.size(), "a scalar body returns what its operator returns");
  Evaluator evaluator(builder, op, arguments, computes_in);
  evaluator.assignAll(list);
  std::vector<Register> elements;
  for (const ScalarArgument& argument : arguments) {
    if (argument.kind == ScalarArgument::Kind::Element) elements.push_back(argument.value);
  }
  std::vector<ScalarBody::Built> built;
  for (size_t i = 0; i < results.size(); ++i) {
    const Register value = evaluator.asRegister(evaluator.evaluate(list.results[i]));
    const KernelBuilder::Sources sources = builder.sourcesOf(value, elements);
    built.push_back(
        {builder.roundTo(builder.convert(value, registerType(results[i])), results[i]), evaluator.isExact(),
         sources.reductions && !sources.elements, sources.reductions || sources.scans, sources.scans});
  }
  return built;
}

}  // namespace cresset::codegen
