#include "cresset/ops/expression.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

namespace cresset {

namespace {

using Kind = Expression::Kind;

Expression node(Kind kind, std::string_view text = {}, std::vector<Expression> children = {}) {
  Expression e;
  e.kind = kind;
  e.text = text;
  e.children = std::move(children);
  return e;
}

/// Recursive descent.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  ExpressionList parse() {
    ExpressionList list;
    for (;;) {
      Expression first = expression();
      if (first.kind != Kind::Name || token_ != "=") {
        list.results.push_back(std::move(first));
        break;
      }
      advance();
      list.assignments.push_back({first.text, expression()});
      expect(";");
    }
    while (take(",")) list.results.push_back(expression());
    if (!token_.empty()) fail("unexpected '" + std::string(token_) + "'");
    return list;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw std::invalid_argument(
        message + " at character " + std::to_string(begin_) + " of \"" + std::string(text_) + "\"");
  }

  static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

  void advance() {
    while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\n')) ++next_;
    begin_ = next_;
    if (next_ == text_.size()) {
      token_ = {};
      return;
    }
    if (isDigit(text_[next_])) {
      advanceOverNumber();
    } else if (isWord(text_[next_])) {
      advanceOverWord();
    } else if (text_[next_] == '\'') {
      next_ = text_.find('\'', next_ + 1);
      if (next_ == std::string_view::npos) fail("a text that does not end");
      ++next_;
    } else {
      static constexpr std::string_view kPairs[] = {"==", "!=", "<=", ">=", "//", "<<", ">>"};
      const std::string_view two = text_.substr(next_, 2);
      next_ += std::find(std::begin(kPairs), std::end(kPairs), two) == std::end(kPairs) ? 1 : 2;
    }
    token_ = text_.substr(begin_, next_ - begin_);
  }

  /// A name, or that of an operator: `aten::add.int`.
  void advanceOverWord() {
    while (next_ < text_.size() && isWord(text_[next_])) ++next_;
    if (text_.substr(next_, 2) != "::") return;
    next_ += 2;
    while (next_ < text_.size() && (isWord(text_[next_]) || text_[next_] == '.')) ++next_;
  }

  /// 12, 0x1f, 1.5, 2e-7, 0x1.8p+3
  void advanceOverNumber() {
    const bool is_hex = text_.substr(next_, 2) == "0x";
    while (next_ < text_.size()) {
      const char c = text_[next_], before = next_ > begin_ ? text_[next_ - 1] : ' ';
      const bool is_sign = (c == '-' || c == '+') && (before == 'p' || (before == 'e' && !is_hex));
      if (!isWord(c) && c != '.' && !is_sign) break;
      ++next_;
    }
  }

  bool take(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  Expression expression() {
    Expression value = binary(0);
    if (!take("if")) return value;
    Expression condition = binary(0);
    expect("else");
    Expression otherwise = expression();
    return node(Kind::If, {}, {std::move(condition), std::move(value), std::move(otherwise)});
  }

  /// Operators of one level bind alike; the last level binds most tightly.
  Expression binary(size_t level) {
    static const std::vector<std::string_view> kLevels[] = {
        {"or"},     {"and"},         {"==", "!=", "<", ">", "<=", ">=", "is"}, {"|"}, {"^"}, {"&"}, {"<<", ">>"},
        {"+", "-"}, {"*", "/", "//"}};
    if (level == std::size(kLevels)) return unary();
    Expression left = binary(level + 1);
    while (std::find(kLevels[level].begin(), kLevels[level].end(), token_) != kLevels[level].end()) {
      std::string_view op = token_;
      advance();
      if (op == "is" && take("not")) op = "is not";
      Expression right = binary(level + 1);
      left = node(Kind::Binary, op, {std::move(left), std::move(right)});
    }
    return left;
  }

  Expression unary() {
    for (const std::string_view op : {"-", "~", "not"}) {
      if (take(op)) return node(Kind::Unary, op, {unary()});
    }
    Expression value = primary();
    while (take("[")) value = subscript(std::move(value));
    return value;
  }

  Expression subscript(Expression list) {
    const auto bound = [&] { return token_ == ":" || token_ == "]" ? node(Kind::None) : expression(); };
    Expression start = bound();
    if (take("]")) return node(Kind::Subscript, {}, {std::move(list), std::move(start)});
    expect(":");
    Expression end = bound();
    expect("]");
    return node(Kind::Slice, {}, {std::move(list), std::move(start), std::move(end)});
  }

  std::vector<Expression> untilClosed(std::string_view closing) {
    std::vector<Expression> items;
    while (!take(closing)) {
      if (!items.empty()) expect(",");
      items.push_back(expression());
    }
    return items;
  }

  Expression number(std::string_view token) {
    const std::string text(token);
    const bool is_hex = text.starts_with("0x");
    Expression e = node(text.find_first_of(is_hex ? ".p" : ".e") == std::string::npos ? Kind::Integer : Kind::Real);
    size_t end = 0;
    try {
      if (e.kind == Kind::Integer) {
        e.integer = static_cast<int64_t>(std::stoull(text, &end, is_hex ? 16 : 10));
      } else {
        e.real = std::stod(text, &end);
      }
    } catch (const std::exception&) {
      end = 0;
    }
    if (end != text.size()) fail("a number that is none");
    return e;
  }

  Expression primary() {
    if (take("(")) {
      Expression inner = expression();
      expect(")");
      return inner;
    }
    if (take("[")) return node(Kind::List, {}, untilClosed("]"));
    if (token_.empty() || (!isWord(token_[0]) && token_[0] != '\'')) fail("expected an expression");
    const std::string_view word = token_;
    if (isDigit(word[0])) {
      Expression e = number(word);
      advance();
      return e;
    }
    advance();
    if (word[0] == '\'') return node(Kind::Text, word.substr(1, word.size() - 2));
    if (word == "None") return node(Kind::None);
    if (word == "True") return node(Kind::True);
    if (word == "False") return node(Kind::False);
    if (take("(")) return node(Kind::Call, word, untilClosed(")"));
    return node(Kind::Name, word);
  }

  std::string_view text_, token_;
  size_t begin_ = 0, next_ = 0;
};

}  // namespace

ExpressionList parseExpressions(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace cresset
