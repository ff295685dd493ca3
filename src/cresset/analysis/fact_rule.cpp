#include "cresset/analysis/fact_rule.h"

#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <unordered_map>

#include "cresset/analysis/result_layout.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

// Types of FactRule::Impl.
namespace fact_rule {

struct Expr {
  enum class Kind : uint8_t { Number, Name, None, True, False, List, Call, Subscript, Slice, Binary, Negate, Not, If };
  Kind kind;
  std::string_view text;  // of a name, a called function, an operator
  int64_t number = 0;
  std::vector<Expr> children;  // Slice: the list, the start, the end; If: the condition, then, else
};

struct Statement {
  std::string_view name;
  Expr value;
};

}  // namespace fact_rule

namespace {

using fact_rule::Expr;
using fact_rule::Statement;

/// Recursive descent; rules are short.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  void parse(std::vector<Statement>& statements, std::vector<Expr>& results) {
    for (;;) {
      Expr first = expression();
      if (first.kind != Expr::Kind::Name || token_ != "=") {
        results.push_back(std::move(first));
        break;
      }
      advance();
      statements.push_back({first.text, expression()});
      expect(";");
    }
    while (take(",")) results.push_back(expression());
    if (!token_.empty()) fail("unexpected '" + std::string(token_) + "'");
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw std::invalid_argument(
        message + " at character " + std::to_string(begin_) + " of \"" + std::string(text_) + "\"");
  }

  static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  void advance() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
    begin_ = next_;
    if (next_ == text_.size()) {
      token_ = {};
      return;
    }
    if (isWord(text_[next_])) {
      while (next_ < text_.size() && isWord(text_[next_])) ++next_;
    } else {
      const std::string_view two = text_.substr(next_, 2);
      const bool is_pair = two == "==" || two == "!=" || two == "<=" || two == ">=" || two == "//";
      next_ += is_pair ? 2 : 1;
    }
    token_ = text_.substr(begin_, next_ - begin_);
  }

  bool take(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  Expr expression() {
    Expr value = binary(0);
    if (!take("if")) return value;
    Expr condition = binary(0);
    expect("else");
    Expr otherwise = expression();
    return {Expr::Kind::If, {}, 0, {std::move(condition), std::move(value), std::move(otherwise)}};
  }

  /// Operators of one level bind alike; the last level binds most tightly.
  Expr binary(size_t level) {
    static const std::vector<std::string_view> kLevels[] = {
        {"or"}, {"and"}, {"==", "!=", "<", ">", "<=", ">=", "is"}, {"+", "-"}, {"*", "//"}};
    if (level == std::size(kLevels)) return unary();
    Expr left = binary(level + 1);
    while (std::find(kLevels[level].begin(), kLevels[level].end(), token_) != kLevels[level].end()) {
      std::string_view op = token_;
      advance();
      if (op == "is" && take("not")) op = "is not";
      Expr right = binary(level + 1);
      left = {Expr::Kind::Binary, op, 0, {std::move(left), std::move(right)}};
    }
    return left;
  }

  Expr unary() {
    if (take("-")) return {Expr::Kind::Negate, {}, 0, {unary()}};
    if (take("not")) return {Expr::Kind::Not, {}, 0, {unary()}};
    Expr value = primary();
    while (take("[")) value = subscript(std::move(value));
    return value;
  }

  Expr subscript(Expr list) {
    const auto bound = [&] { return token_ == ":" || token_ == "]" ? Expr{Expr::Kind::None} : expression(); };
    Expr start = bound();
    if (take("]")) return {Expr::Kind::Subscript, {}, 0, {std::move(list), std::move(start)}};
    expect(":");
    Expr end = bound();
    expect("]");
    return {Expr::Kind::Slice, {}, 0, {std::move(list), std::move(start), std::move(end)}};
  }

  std::vector<Expr> untilClosed(std::string_view closing) {
    std::vector<Expr> items;
    while (!take(closing)) {
      if (!items.empty()) expect(",");
      items.push_back(expression());
    }
    return items;
  }

  Expr primary() {
    if (take("(")) {
      Expr inner = expression();
      expect(")");
      return inner;
    }
    if (take("[")) return {Expr::Kind::List, {}, 0, untilClosed("]")};
    if (token_.empty() || !isWord(token_[0])) fail("expected an expression");
    const std::string_view word = token_;
    advance();
    if (std::isdigit(static_cast<unsigned char>(word[0])))
      return {Expr::Kind::Number, {}, std::stoll(std::string(word))};
    if (word == "None") return {Expr::Kind::None};
    if (word == "True") return {Expr::Kind::True};
    if (word == "False") return {Expr::Kind::False};
    if (take("(")) return {Expr::Kind::Call, word, 0, untilClosed(")")};
    return {Expr::Kind::Name, word};
  }

  std::string_view text_, token_;
  size_t begin_ = 0, next_ = 0;
};

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

  Fact evaluate(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::Number:
        return Fact::integer(e.number);
      case Expr::Kind::None:
        return Fact::none();
      case Expr::Kind::True:
      case Expr::Kind::False:
        return Fact::boolean(e.kind == Expr::Kind::True);
      case Expr::Kind::Name:
        return lookUp(e.text);
      case Expr::Kind::List:
        return Fact::list(evaluateAll(e.children));
      case Expr::Kind::Call:
        return factFunction(e.text)(evaluateAll(e.children));
      case Expr::Kind::Subscript:
        return subscript(evaluate(e.children[0]), evaluate(e.children[1]));
      case Expr::Kind::Slice:
        return slice(e);
      case Expr::Kind::Binary:
        return binary(e);
      case Expr::Kind::Negate: {
        return Fact::integer(Size::constant(0) - evaluate(e.children[0]).asSize());
      }
      case Expr::Kind::Not: {
        const auto truth = truthOf(evaluate(e.children[0]));
        return Fact::boolean(truth ? std::optional(!*truth) : std::nullopt);
      }
      case Expr::Kind::If: {
        const auto truth = truthOf(evaluate(e.children[0]));
        if (truth) return evaluate(e.children[*truth ? 1 : 2]);
        return Fact::common(evaluate(e.children[1]), evaluate(e.children[2]));
      }
    }
    return {};
  }

 private:
  std::vector<Fact> evaluateAll(const std::vector<Expr>& expressions) {
    std::vector<Fact> values;
    values.reserve(expressions.size());
    for (const Expr& e : expressions) values.push_back(evaluate(e));
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

  Fact slice(const Expr& e) {
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

  Fact binary(const Expr& e) {
    Fact left = evaluate(e.children[0]);
    if (e.text == "or" || e.text == "and") return logical(e, std::move(left));
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
    const auto x = left.asNumber(), y = right.asNumber();
    const auto isNumber = [](const Fact& fact) {
      return fact.kind == Fact::Kind::Int || fact.kind == Fact::Kind::Bool;
    };
    if (!list_like && !(isNumber(left) && isNumber(right))) return {};
    if (e.text == "*" && list_like) return repeated(a ? a : b, a ? y : x);
    return arithmetic(e.text, left, right);
  }

  /// `a or b` chooses by None; of conditions, it is what it is in Python.
  Fact logical(const Expr& e, Fact left) {
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
  std::vector<Statement> statements;
  std::vector<Expr> results;
};

FactRule::FactRule(std::string_view text) {
  auto impl = std::make_unique<Impl>();
  Parser(text).parse(impl->statements, impl->results);
  const auto check = [](const auto& self, const Expr& e) -> void {
    if (e.kind == Expr::Kind::Call && !factFunction(e.text))
      throw std::invalid_argument("there is no function '" + std::string(e.text) + "' for rules of facts");
    for (const Expr& child : e.children) self(self, child);
  };
  for (const Statement& statement : impl->statements) check(check, statement.value);
  for (const Expr& result : impl->results) check(check, result);
  impl_ = std::move(impl);
}

FactRule::~FactRule() = default;

const FactRule* FactRule::of(const Operator& op) {
  static const auto* rules = [] {
    auto* map = new std::unordered_map<std::string_view, std::unique_ptr<const FactRule>>;
    for (const OperatorRow& row : operatorRows()) {
      if (!row.facts.empty()) map->emplace(row.name, std::make_unique<const FactRule>(row.facts));
    }
    return map;
  }();
  const auto found = rules->find(op.fullName());
  return found == rules->end() ? nullptr : found->second.get();
}

std::vector<Fact> FactRule::evaluate(const Operator& op, std::span<const Fact> arguments) const {
  Evaluator evaluator(op, arguments);
  for (const Statement& statement : impl_->statements)
    evaluator.assign(statement.name, evaluator.evaluate(statement.value));
  std::vector<Fact> results;
  for (const Expr& e : impl_->results) results.push_back(evaluator.evaluate(e));
  for (Fact& result : results) addLayout(result, op, arguments);
  return results;
}

std::vector<std::string> FactRule::unknownNames(const Operator& op) const {
  std::vector<std::string> unknown;
  std::vector<std::string_view> known;
  for (const c10::Argument& argument : op.schema().arguments()) known.push_back(argument.name());
  const auto check = [&](const auto& self, const Expr& e) -> void {
    const bool is_known = e.kind != Expr::Kind::Name || constantOf(e.text) ||
                          std::find(known.begin(), known.end(), e.text) != known.end();
    if (!is_known) unknown.emplace_back(e.text);
    for (const Expr& child : e.children) self(self, child);
  };
  for (const Statement& statement : impl_->statements) {
    check(check, statement.value);
    known.push_back(statement.name);
  }
  for (const Expr& result : impl_->results) check(check, result);
  return unknown;
}

}  // namespace cresset
