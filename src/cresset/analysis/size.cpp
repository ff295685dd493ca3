#include "cresset/analysis/size.h"

#include <algorithm>
#include <limits>

namespace cresset {

namespace {

constexpr size_t kMaxTerms = 12, kMaxFactors = 8, kMaxDepth = 4;

int compareNumbers(auto a, auto b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compareVariables(const Size::Variable& a, const Size::Variable& b) {
  if (&a == &b) return 0;
  if (const int order = compareNumbers(a.kind, b.kind)) return order;
  if (const int order = compareNumbers(a.value, b.value)) return order;
  if (const int order = compareNumbers(a.dim, b.dim)) return order;
  if (const int order = compareNumbers(a.operands.size(), b.operands.size())) return order;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (const int order = Size::compare(a.operands[i], b.operands[i])) return order;
  }
  return 0;
}

int compareFactors(const std::vector<Size::VariablePtr>& a, const std::vector<Size::VariablePtr>& b) {
  // Higher products first, the constant last: as one writes them.
  if (a.size() != b.size()) return compareNumbers(b.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compareVariables(*a[i], *b[i])) return order;
  }
  return 0;
}

bool isBefore(const Size::VariablePtr& a, const Size::VariablePtr& b) {
  return compareVariables(*a, *b) < 0;
}

size_t depthOf(const Size& size) {
  size_t depth = 0;
  for (const Size::Term& term : size.terms()) {
    for (const auto& factor : term.factors) {
      for (const Size& operand : factor->operands) depth = std::max(depth, 1 + depthOf(operand));
    }
  }
  return depth;
}

bool isNonNegativeVariable(const Size::Variable& variable) {
  switch (variable.kind) {
    case Size::Variable::Kind::Dimension:
    case Size::Variable::Kind::Stride:
    case Size::Variable::Kind::Broadcast:
      return true;
    case Size::Variable::Kind::Int:
      return false;
    case Size::Variable::Kind::Quotient:
      return variable.operands[0].isNonNegative() && variable.operands[1].isNonNegative();
  }
  return false;
}

}  // namespace

const std::vector<Size::Term>& Size::terms() const {
  static const auto* none = new std::vector<Term>;
  return terms_ ? *terms_ : *none;
}

Size Size::constant(int64_t value) {
  Size size;
  size.is_known_ = true;
  if (value != 0) size.terms_ = std::make_shared<const std::vector<Term>>(1, Term{value, {}});
  return size;
}

size_t Size::weight() const {
  size_t all = 0;
  for (const Term& term : terms()) {
    ++all;
    for (const auto& factor : term.factors) all += factor->weight;
  }
  return all;
}

Size Size::ofVariable(Variable variable) {
  for (const Size& operand : variable.operands) variable.weight += operand.weight();
  if (variable.weight >= kMaxWeight) return {};
  Size size;
  size.is_known_ = true;
  Term term{1, {std::make_shared<const Variable>(std::move(variable))}};
  size.terms_ = std::make_shared<const std::vector<Term>>(1, std::move(term));
  return size;
}

Size Size::ofDimension(size_t value, size_t dim) {
  return ofVariable({Variable::Kind::Dimension, value, dim, {}});
}

Size Size::ofStride(size_t value, size_t dim) {
  return ofVariable({Variable::Kind::Stride, value, dim, {}});
}

Size Size::ofInt(size_t value) {
  return ofVariable({Variable::Kind::Int, value, 0, {}});
}

std::optional<int64_t> Size::asConstant() const {
  if (!is_known_) return std::nullopt;
  const auto& all = terms();
  if (all.empty()) return 0;
  return all.size() == 1 && all[0].factors.empty() ? std::optional(all[0].coefficient) : std::nullopt;
}

bool Size::isNonNegative() const {
  return is_known_ && std::all_of(terms().begin(), terms().end(), [](const Term& term) {
           return term.coefficient >= 0 && std::all_of(
                                               term.factors.begin(), term.factors.end(),
                                               [](const auto& factor) { return isNonNegativeVariable(*factor); });
         });
}

int Size::compare(const Size& a, const Size& b) {
  if (a.is_known_ != b.is_known_) return a.is_known_ ? 1 : -1;
  if (a.terms_ == b.terms_) return 0;
  const auto &x = a.terms(), &y = b.terms();
  if (x.size() != y.size()) return compareNumbers(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (const int order = compareFactors(x[i].factors, y[i].factors)) return order;
    if (const int order = compareNumbers(x[i].coefficient, y[i].coefficient)) return order;
  }
  return 0;
}

/// Sorts terms, adds up those of equal products, and leaves out what is 0.
Size Size::ofTerms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return compareFactors(a.factors, b.factors) < 0;
  });
  std::vector<Term> sum;
  for (Term& term : terms) {
    if (term.factors.size() > kMaxFactors) return {};
    if (sum.empty() || compareFactors(sum.back().factors, term.factors) != 0) {
      sum.push_back(std::move(term));
    } else if (__builtin_add_overflow(sum.back().coefficient, term.coefficient, &sum.back().coefficient)) {
      return {};
    }
    if (sum.back().coefficient == 0) sum.pop_back();
  }
  if (sum.size() > kMaxTerms) return {};
  Size size;
  size.is_known_ = true;
  if (!sum.empty()) size.terms_ = std::make_shared<const std::vector<Term>>(std::move(sum));
  return size.weight() <= kMaxWeight ? size : Size();
}

Size operator+(const Size& a, const Size& b) {
  if (!a.is_known_ || !b.is_known_) return {};
  std::vector<Size::Term> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Size::ofTerms(std::move(terms));
}

Size operator-(const Size& a, const Size& b) {
  return a + b * Size::constant(-1);
}

Size operator*(const Size& a, const Size& b) {
  if (!a.is_known_ || !b.is_known_ || a.terms().size() * b.terms().size() > 4 * kMaxTerms) return {};
  std::vector<Size::Term> terms;
  for (const Size::Term& x : a.terms()) {
    for (const Size::Term& y : b.terms()) {
      Size::Term product;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &product.coefficient)) return {};
      std::merge(
          x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(), std::back_inserter(product.factors),
          isBefore);
      terms.push_back(std::move(product));
    }
  }
  return Size::ofTerms(std::move(terms));
}

Size Size::divideExactly(const Size& a, const Size& b) {
  if (!a.is_known_ || !b.is_known_ || b.terms().size() != 1) return {};
  const Term& divisor = b.terms()[0];
  std::vector<Term> quotients;
  for (const Term& term : a.terms()) {
    Term quotient;
    const bool overflows = term.coefficient == std::numeric_limits<int64_t>::min() && divisor.coefficient == -1;
    if (overflows || term.coefficient % divisor.coefficient != 0) return {};
    quotient.coefficient = term.coefficient / divisor.coefficient;
    const bool divides = std::includes(
        term.factors.begin(), term.factors.end(), divisor.factors.begin(), divisor.factors.end(), isBefore);
    if (!divides) return {};
    std::set_difference(
        term.factors.begin(), term.factors.end(), divisor.factors.begin(), divisor.factors.end(),
        std::back_inserter(quotient.factors), isBefore);
    quotients.push_back(std::move(quotient));
  }
  return ofTerms(std::move(quotients));
}

Size Size::floorDivide(const Size& a, const Size& b) {
  if (!a.is_known_ || !b.is_known_) return {};
  const auto x = a.asConstant(), y = b.asConstant();
  if (y == 0 || (x == std::numeric_limits<int64_t>::min() && y == -1)) return {};
  if (y == 1) return a;
  if (x && y) return constant(*x / *y - (*x % *y != 0 && (*x < 0) != (*y < 0)));
  if (std::max(depthOf(a), depthOf(b)) >= kMaxDepth) return {};
  return ofVariable({Variable::Kind::Quotient, 0, 0, {a, b}});
}

Size Size::broadcast(const Size& a, const Size& b) {
  if (!a.is_known_ || !b.is_known_) return {};
  const auto x = a.asConstant(), y = b.asConstant();
  if (a == b || y == 1) return a;
  if (x == 1) return b;
  // A number other than 1 is the result, or the operator raises.
  if (x) return a;
  if (y) return b;
  if (std::max(depthOf(a), depthOf(b)) >= kMaxDepth) return {};
  std::vector<Size> operands;
  for (const Size* size : {&a, &b}) {
    const auto& all = size->terms();
    const bool is_broadcast = all.size() == 1 && all[0].coefficient == 1 && all[0].factors.size() == 1 &&
                              all[0].factors[0]->kind == Variable::Kind::Broadcast;
    if (is_broadcast) {
      const auto& inner = all[0].factors[0]->operands;
      operands.insert(operands.end(), inner.begin(), inner.end());
    } else {
      operands.push_back(*size);
    }
  }
  std::sort(operands.begin(), operands.end(), [](const Size& x, const Size& y) { return compare(x, y) < 0; });
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  if (operands.size() == 1) return operands[0];
  if (operands.size() > kMaxFactors) return {};
  return ofVariable({Variable::Kind::Broadcast, 0, 0, std::move(operands)});
}

void Size::visitVariables(const std::function<void(const Variable&)>& visit) const {
  for (const Term& term : terms()) {
    for (const auto& factor : term.factors) {
      if (factor->operands.empty()) visit(*factor);
      for (const Size& operand : factor->operands) operand.visitVariables(visit);
    }
  }
}

std::string Size::toString(const std::function<std::string(size_t)>& nameOf) const {
  if (!is_known_) return "?";
  if (terms().empty()) return "0";
  const auto variable = [&](const Variable& v) -> std::string {
    switch (v.kind) {
      case Variable::Kind::Dimension:
        return nameOf(v.value) + ".size(" + std::to_string(v.dim) + ")";
      case Variable::Kind::Stride:
        return nameOf(v.value) + ".stride(" + std::to_string(v.dim) + ")";
      case Variable::Kind::Int:
        return nameOf(v.value);
      case Variable::Kind::Quotient:
        return "((" + v.operands[0].toString(nameOf) + ") // (" + v.operands[1].toString(nameOf) + "))";
      case Variable::Kind::Broadcast:
        break;
    }
    std::string text = "broadcast(";
    for (const Size& operand : v.operands) text += (text.back() == '(' ? "" : ", ") + operand.toString(nameOf);
    return text + ")";
  };
  std::string text;
  for (const Term& term : terms()) {
    if (!text.empty()) text += " + ";
    bool first = term.coefficient == 1 && !term.factors.empty();
    if (!first) text += std::to_string(term.coefficient);
    for (const auto& factor : term.factors) {
      text += (first ? "" : " * ") + variable(*factor);
      first = false;
    }
  }
  return text;
}

}  // namespace cresset
