#include "cresset/analysis/fact_rule.h"

#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "cresset/analysis/result_layout.h"
#include "cresset/ops/expression.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

/// Dtypes, and what else names stand for that is no argument.
std::optional<Fact> constantOf(std::string_view name) {
  static const std::unordered_map<std::string_view, at::ScalarType> kDtypes = {
      {"uint8", at::kByte},        {"int8", at::kChar},
      {"int16", at::kShort},       {"int32", at::kInt},
      {"int64", at::kLong},        {"float16", at::kHalf},
      {"float32", at::kFloat},     {"float64", at::kDouble},
      {"bfloat16", at::kBFloat16}, {"complex64", at::kComplexFloat},
      {"bool", at::kBool}};
  if (name == "unknown") return Fact();
  if (name == "default") return Fact::ofDtype(c10::typeMetaToScalarType(c10::get_default_dtype()));
  if (name == "cpu") return Fact::of(c10::IValue(c10::Device(c10::kCPU)));
  const auto dtype = kDtypes.find(name);
  return dtype == kDtypes.end() ? std::nullopt : std::optional(Fact::ofDtype(dtype->second));
}

/// A tensor stands for its sizes.
const std::vector<Fact>* elementsOf(const Fact& fact) {
  const bool has = fact.kind == Fact::Kind::List || (fact.isTensor() && fact.has_sizes);
  return has ? &fact.elements : nullptr;
}

class Evaluator {
 public:
  Evaluator(const Operator& op, std::span<const Fact> arguments) : op_(op), arguments_(arguments) {}

  void assign(std::string_view name, Fact value) { locals_.emplace_back(name, std::move(value)); }

  Fact evaluate(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::Integer:
        return Fact::integer(e.integer);
      case Expression::Kind::None:
        return Fact::none();
      case Expression::Kind::True:
      case Expression::Kind::False:
        return Fact::boolean(e.kind == Expression::Kind::True);
      case Expression::Kind::Name:
        return lookUp(e.text);
      case Expression::Kind::List:
        return Fact::list(evaluateAll(e.children));
      case Expression::Kind::Call:
        return factFunction(e.text)(evaluateAll(e.children));
      case Expression::Kind::Subscript:
        return subscript(evaluate(e.children[0]), evaluate(e.children[1]));
      case Expression::Kind::Slice:
        return slice(e);
      case Expression::Kind::Binary:
        return binary(e);
      case Expression::Kind::Unary: {
        const Fact operand = evaluate(e.children[0]);
        if (e.text == "-") return Fact::integer(Size::constant(0) - operand.asSize());
        const auto truth = truthOf(operand);
        return Fact::boolean(truth ? std::optional(!*truth) : std::nullopt);
      }
      case Expression::Kind::Text:
        return Fact::of(c10::IValue(std::string(e.text)));
      case Expression::Kind::Real:
        break;  // the constructor refuses it
      case Expression::Kind::If: {
        const auto truth = truthOf(evaluate(e.children[0]));
        if (truth) return evaluate(e.children[*truth ? 1 : 2]);
        return Fact::common(evaluate(e.children[1]), evaluate(e.children[2]));
      }
    }
    return {};
  }

 private:
  std::vector<Fact> evaluateAll(const std::vector<Expression>& expressions) {
    std::vector<Fact> values;
    values.reserve(expressions.size());
    for (const Expression& e : expressions) values.push_back(evaluate(e));
    return values;
  }

  Fact lookUp(std::string_view name) const {
    for (const auto& [local, value] : locals_) {
      if (local == name) return value;
    }
    const auto& arguments = op_.schema().arguments();
    for (size_t i = 0; i < arguments.size() && i < arguments_.size(); ++i) {
      if (arguments[i].name() == name) return arguments_[i];
    }
    return constantOf(name).value_or(Fact());
  }

  static std::optional<bool> truthOf(const Fact& fact) {
    if (fact.kind == Fact::Kind::None) return false;
    if (const auto number = fact.asNumber()) return *number != 0;
    if (fact.kind == Fact::Kind::List) return !fact.elements.empty();
    return std::nullopt;
  }

  static Fact subscript(const Fact& list, const Fact& at) {
    if (list.kind == Fact::Kind::ListOf && !list.elements.empty()) return list.elements[0];
    const auto* elements = elementsOf(list);
    const auto index = at.asNumber();
    if (!elements || !index) return {};
    const auto size = static_cast<int64_t>(elements->size());
    const int64_t i = *index < 0 ? *index + size : *index;
    return i >= 0 && i < size ? (*elements)[static_cast<size_t>(i)] : Fact();
  }

  Fact slice(const Expression& e) {
    const Fact list = evaluate(e.children[0]);
    const Fact start = evaluate(e.children[1]), end = evaluate(e.children[2]);
    const auto* elements = elementsOf(list);
    if (!elements) return {};
    const auto size = static_cast<int64_t>(elements->size());
    const auto bound = [&](const Fact& fact, int64_t otherwise) -> std::optional<int64_t> {
      if (fact.kind == Fact::Kind::None) return otherwise;
      auto at = fact.asNumber();
      if (at) at = std::clamp<int64_t>(*at < 0 ? *at + size : *at, 0, size);
      return at;
    };
    const auto from = bound(start, 0), to = bound(end, size);
    if (!from || !to) return {};
    if (*from >= *to) return Fact::list({});
    return Fact::list({elements->begin() + *from, elements->begin() + *to});
  }

  Fact binary(const Expression& e) {
    const Fact left = evaluate(e.children[0]);
    if (e.text == "or" || e.text == "and") return logical(e, left);
    const Fact right = evaluate(e.children[1]);
    if (e.text == "is" || e.text == "is not") return isNone(left, right, e.text == "is");
    const auto *a = elementsOf(left), *b = elementsOf(right);
    const bool list_like = left.kind == Fact::Kind::List || right.kind == Fact::Kind::List || a || b;
    if (e.text == "+" && list_like) {
      if (!a || !b) return {};
      std::vector<Fact> both = *a;
      both.insert(both.end(), b->begin(), b->end());
      return Fact::list(std::move(both));
    }
    if (left.kind == Fact::Kind::String && right.kind == Fact::Kind::String && e.text == "==")
      return Fact::boolean(left.text == right.text);
    const auto x = left.asNumber(), y = right.asNumber();
    const auto isNumber = [](const Fact& fact) {
      return fact.kind == Fact::Kind::Int || fact.kind == Fact::Kind::Bool;
    };
    if (!list_like && !(isNumber(left) && isNumber(right))) return {};
    if (e.text == "*" && list_like) return repeated(a ? a : b, a ? y : x);
    return arithmetic(e.text, left, right);
  }

  /// `a or b` chooses by None; of conditions, it is what it is in Python.
  Fact logical(const Expression& e, const Fact& left) {
    const bool is_or = e.text == "or";
    if (is_or && left.kind == Fact::Kind::None) return evaluate(e.children[1]);
    if (left.kind != Fact::Kind::Bool) return is_or ? left : Fact();
    const Fact right = evaluate(e.children[1]);
    const auto a = truthOf(left), b = truthOf(right);
    if (a == is_or || b == is_or) return Fact::boolean(is_or);
    return Fact::boolean(a && b ? std::optional(!is_or) : std::nullopt);
  }

  static Fact isNone(const Fact& left, const Fact& right, bool positive) {
    if (right.kind != Fact::Kind::None || left.kind == Fact::Kind::Unknown) return Fact::boolean(std::nullopt);
    return Fact::boolean((left.kind == Fact::Kind::None) == positive);
  }

  static Fact repeated(const std::vector<Fact>* elements, std::optional<int64_t> times) {
    constexpr int64_t kMost = 64;
    if (!elements || !times || *times > kMost) return {};
    std::vector<Fact> all;
    for (int64_t i = 0; i < *times; ++i) all.insert(all.end(), elements->begin(), elements->end());
    return Fact::list(std::move(all));
  }

  static Fact arithmetic(std::string_view op, const Fact& left, const Fact& right) {
    const bool compares = op == "==" || op == "!=" || op[0] == '<' || op[0] == '>';
    if (compares) return compared(op, left.asNumber(), right.asNumber());
    const auto sizeOf = [](const Fact& fact) {
      return fact.kind == Fact::Kind::Bool && fact.number ? Size::constant(*fact.number) : fact.asSize();
    };
    const Size a = sizeOf(left), b = sizeOf(right);
    return Fact::integer(op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : Size::floorDivide(a, b));
  }

  static Fact compared(std::string_view op, std::optional<int64_t> x, std::optional<int64_t> y) {
    if (!x || !y) return Fact::boolean(std::nullopt);
    if (op == "==") return Fact::boolean(*x == *y);
    if (op == "!=") return Fact::boolean(*x != *y);
    if (op == "<") return Fact::boolean(*x < *y);
    if (op == ">") return Fact::boolean(*x > *y);
    return Fact::boolean(op == "<=" ? *x <= *y : *x >= *y);
  }

  const Operator& op_;
  std::span<const Fact> arguments_;
  std::vector<std::pair<std::string_view, Fact>> locals_;
};

}  // namespace

struct FactRule::Impl {
  ExpressionList list;
};

FactRule::FactRule(std::string_view text) {
  auto impl = std::make_unique<Impl>(Impl{parseExpressions(text)});
  const auto check = [](const auto& self, const Expression& e) -> void {
    if (e.kind == Expression::Kind::Call && !factFunction(e.text))
      throw std::invalid_argument("there is no function '" + std::string(e.text) + "' for rules of facts");
    static constexpr std::string_view kNone[] = {"/", "|", "^", "&", "<<", ">>", "~"};
    const bool is_operation = e.kind == Expression::Kind::Binary || e.kind == Expression::Kind::Unary;
    if (e.kind == Expression::Kind::Real ||
        (is_operation && std::find(std::begin(kNone), std::end(kNone), e.text) != std::end(kNone)))
      throw std::invalid_argument("rules of facts have no floats, and no '" + std::string(e.text) + "'");
    for (const Expression& child : e.children) self(self, child);
  };
  for (const auto& statement : impl->list.assignments) check(check, statement.value);
  for (const Expression& result : impl->list.results) check(check, result);
  impl_ = std::move(impl);
}

FactRule::~FactRule() = default;

namespace {

/// A rule of the table, parsed when it is first asked for: a program needs few of them.
class TableRule {
 public:
  explicit TableRule(std::string_view text) : text_(text) {}

  const FactRule* get() {
    std::call_once(parsed_, [this] { rule_ = std::make_unique<const FactRule>(text_); });
    return rule_.get();
  }
  void replace(std::string_view text) {
    std::call_once(parsed_, [] {});
    rule_ = std::make_unique<const FactRule>(text);
  }

 private:
  std::string_view text_;
  std::once_flag parsed_;
  std::unique_ptr<const FactRule> rule_;
};

/// Null if the operator has none.
TableRule* tableRule(const Operator& op) {
  static auto* rules = [] {
    auto* map = new std::unordered_map<std::string_view, TableRule>;
    for (const OperatorRow& row : operatorRows()) {
      if (!row.facts.empty()) map->try_emplace(row.name, row.facts);
    }
    return map;
  }();
  const auto found = rules->find(op.fullName());
  return found == rules->end() ? nullptr : &found->second;
}

}  // namespace

const FactRule* FactRule::of(const Operator& op) {
  TableRule* rule = tableRule(op);
  return rule ? rule->get() : nullptr;
}

void FactRule::replace(const Operator& op, std::string_view text) {
  TableRule* rule = tableRule(op);
  if (!rule) throw std::invalid_argument(op.fullName() + " has no rule of facts that could be replaced");
  const auto* kept = new std::string(text);  // expressions are views of their text
  rule->replace(*kept);
}

std::vector<Fact> FactRule::evaluate(const Operator& op, std::span<const Fact> arguments) const {
  Evaluator evaluator(op, arguments);
  for (const auto& statement : impl_->list.assignments)
    evaluator.assign(statement.name, evaluator.evaluate(statement.value));
  std::vector<Fact> results;
  for (const Expression& e : impl_->list.results) results.push_back(evaluator.evaluate(e));
  for (Fact& result : results) addLayout(result, op, arguments);
  return results;
}

std::vector<std::string> FactRule::unknownNames(const Operator& op) const {
  std::vector<std::string> unknown;
  std::vector<std::string_view> known;
  for (const c10::Argument& argument : op.schema().arguments()) known.push_back(argument.name());
  const auto check = [&](const auto& self, const Expression& e) -> void {
    const bool is_known = e.kind != Expression::Kind::Name || constantOf(e.text) ||
                          std::find(known.begin(), known.end(), e.text) != known.end();
    if (!is_known) unknown.emplace_back(e.text);
    for (const Expression& child : e.children) self(self, child);
  };
  for (const auto& statement : impl_->list.assignments) {
    check(check, statement.value);
    known.push_back(statement.name);
  }
  for (const Expression& result : impl_->list.results) check(check, result);
  return unknown;
}

}  // namespace cresset
