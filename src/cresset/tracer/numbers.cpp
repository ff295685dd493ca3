// Arithmetic of traced numbers. It follows Python's: floor division and modulo round towards minus infinity, as the
// operators that are recorded for them do.
#include "cresset/tracer/numbers.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

c10::SymNode constant(Number number) {
  return c10::make_intrusive<TracedNumber>(number, nullptr, 0);
}

double asDouble(const Number& number) {
  return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

/// `ints` if both are ints, else `floats`.
template <typename Ints, typename Floats>
Number combine(const Number& a, const c10::SymNode& other, const Ints& ints, const Floats& floats) {
  const Number b = numberOf(other);
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (x && y) return ints(*x, *y);
  return floats(asDouble(a), asDouble(b));
}

int64_t floorDivide(int64_t a, int64_t b) {
  TORCH_CHECK(b != 0, "integer division or modulo by zero");
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/// A comparison is a decision about the traced size: nothing is recorded for it.
template <typename Compare>
c10::SymNode compare(const Number& a, const c10::SymNode& b, const Compare& holds) {
  return constant(bool(std::get<bool>(combine(
      a, b, [&](int64_t x, int64_t y) { return Number(bool(holds(x, y))); },
      [&](double x, double y) { return Number(bool(holds(x, y))); }))));
}

bool truth(const c10::SymNode& node) {
  return std::visit([](auto v) { return v != 0; }, numberOf(node));
}

/// The operator that returns what Python does: 2 ** -1 is a float, aten::pow on ints returns one always.
const Operator* operatorOn(std::span<Value* const> inputs, Symbol kind, const TypePtr& result) {
  for (const Operator* candidate : OperatorTable::get().overloads(kind)) {
    const auto& schema = candidate->schema();
    if (schema.arguments().size() != inputs.size() || schema.returns().size() != 1) continue;
    if (*schema.returns()[0].type() != *result) continue;
    bool fits = true;
    for (size_t i = 0; i < inputs.size(); ++i) fits &= *schema.arguments()[i].type() == *inputs[i]->type();
    if (fits) return candidate;
  }
  return nullptr;
}

/// The c10 node of `self`, which the base class hands out as a plain reference.
c10::SymNode share(TracedNumber* self) {
  return c10::SymNode::reclaim_copy(self);
}

}  // namespace

TracedNumber* asTraced(const c10::SymNode& node) {
  return dynamic_cast<TracedNumber*>(node.get());
}

Number numberOf(const c10::SymNode& node) {
  if (const TracedNumber* traced = asTraced(node)) return traced->number();
  if (node->is_int()) return node->guard_int(__FILE__, __LINE__);
  if (node->is_float()) return node->guard_float(__FILE__, __LINE__);
  return node->guard_bool(__FILE__, __LINE__);
}

c10::SymNode recordArithmetic(Symbol kind, std::span<const c10::SymNode> operands, Number number) {
  Recorder* recorder = Recorder::current();
  const auto isTraced = [&](const c10::SymNode& node) {
    const TracedNumber* traced = asTraced(node);
    return traced && traced->valueIn(recorder->serial());
  };
  if (!recorder || std::none_of(operands.begin(), operands.end(), isTraced)) return constant(number);
  Graph& graph = recorder->graph();
  graph.setLocation(recorder->location());
  std::vector<Value*> inputs;
  for (const c10::SymNode& operand : operands) inputs.push_back(recorder->numberValue(operand));
  const bool is_int = std::holds_alternative<int64_t>(number);
  const TypePtr type = is_int ? TypePtr(c10::IntType::get()) : TypePtr(c10::FloatType::get());
  const Operator* op = operatorOn(inputs, kind, type);
  if (!op && !is_int) {
    // Of ints and floats mixed.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (operands[i]->is_float()) continue;
      Node* node = graph.insertNode(graph.create(kindOf(Basic::ToFloat), {inputs[i]}));
      inputs[i] = node->output()->setType(type);
    }
    op = operatorOn(inputs, kind, type);
  }
  if (!op) {
    recorder->warn(kFrozenNumber);
    return constant(number);
  }
  Node* node = graph.create(kind, inputs);
  node->bindOperator(op);
  node->output()->setType(type);
  graph.insertNode(node);
  return c10::make_intrusive<TracedNumber>(number, node->output(), recorder->serial());
}

c10::SymNode recordArithmetic(Symbol kind, std::initializer_list<c10::SymNode> operands, Number number) {
  return recordArithmetic(kind, std::span(operands.begin(), operands.size()), number);
}

c10::SymNode TracedNumber::add(const c10::SymNode& other) {
  const auto sum = [](auto a, auto b) { return Number(a + b); };
  return recordArithmetic(kindOf(Basic::Add), {share(this), other}, combine(number_, other, sum, sum));
}
c10::SymNode TracedNumber::sub(const c10::SymNode& other) {
  const auto difference = [](auto a, auto b) { return Number(a - b); };
  return recordArithmetic(
      kindOf(Basic::Subtract), {share(this), other}, combine(number_, other, difference, difference));
}
c10::SymNode TracedNumber::mul(const c10::SymNode& other) {
  const auto product = [](auto a, auto b) { return Number(a * b); };
  return recordArithmetic(kindOf(Basic::Multiply), {share(this), other}, combine(number_, other, product, product));
}
c10::SymNode TracedNumber::floordiv(const c10::SymNode& other) {
  return recordArithmetic(
      kindOf(Basic::FloorDivide), {share(this), other},
      combine(
          number_, other, [](int64_t a, int64_t b) { return Number(floorDivide(a, b)); },
          [](double a, double b) { return Number(std::floor(a / b)); }));
}
c10::SymNode TracedNumber::mod(const c10::SymNode& other) {
  return recordArithmetic(
      aten::remainder, {share(this), other},
      combine(
          number_, other, [](int64_t a, int64_t b) { return Number(a - floorDivide(a, b) * b); },
          [](double a, double b) { return Number(a - std::floor(a / b) * b); }));
}
c10::SymNode TracedNumber::sym_min(const c10::SymNode& other) {
  const auto smaller = [](auto a, auto b) { return Number(std::min(a, b)); };
  return recordArithmetic(prim::min, {share(this), other}, combine(number_, other, smaller, smaller));
}
c10::SymNode TracedNumber::sym_max(const c10::SymNode& other) {
  const auto greater = [](auto a, auto b) { return Number(std::max(a, b)); };
  return recordArithmetic(prim::max, {share(this), other}, combine(number_, other, greater, greater));
}
c10::SymNode TracedNumber::neg() {
  Number negated = std::visit(
      [](auto v) -> Number {
        if constexpr (std::is_same_v<decltype(v), double>) return -v;
        return -static_cast<int64_t>(v);
      },
      number_);
  return recordArithmetic(aten::neg, {share(this)}, negated);
}

c10::SymNode TracedNumber::eq(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a == b; });
}
c10::SymNode TracedNumber::ne(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a != b; });
}
c10::SymNode TracedNumber::gt(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a > b; });
}
c10::SymNode TracedNumber::lt(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a < b; });
}
c10::SymNode TracedNumber::le(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a <= b; });
}
c10::SymNode TracedNumber::ge(const c10::SymNode& other) {
  return compare(number_, other, [](auto a, auto b) { return a >= b; });
}
c10::SymNode TracedNumber::sym_or(const c10::SymNode& other) {
  return constant(truth(share(this)) || truth(other));
}
c10::SymNode TracedNumber::sym_and(const c10::SymNode& other) {
  return constant(truth(share(this)) && truth(other));
}
c10::SymNode TracedNumber::sym_not() {
  return constant(!truth(share(this)));
}

c10::SymNode TracedNumber::clone() {
  return c10::make_intrusive<TracedNumber>(number_, value_, trace_);
}
c10::SymNode TracedNumber::sym_float() {
  return recordArithmetic(kindOf(Basic::ToFloat), {share(this)}, asDouble(number_));
}
/// Comparisons are constants of the trace, as where C++ branches by them.
c10::SymNode TracedNumber::sym_ite(const c10::SymNode& then, const c10::SymNode& other) {
  return guard_bool("", 0) ? then : other;
}
c10::SymNode TracedNumber::wrap_int(int64_t number) {
  // C++ computes with this one and a plain number, which an operator in a transform may have from a shape.
  if (Recorder* recorder = Recorder::current(); recorder && valueIn(recorder->serial()))
    recorder->noteSizeInTransform(number);
  return constant(number);
}
c10::SymNode TracedNumber::wrap_float(double number) {
  return constant(number);
}
c10::SymNode TracedNumber::wrap_bool(bool number) {
  return constant(number);
}

int64_t TracedNumber::guard_int(const char*, int64_t) {
  if (Recorder* recorder = Recorder::current(); recorder && valueIn(recorder->serial())) recorder->noteRead(*this);
  return std::visit([](auto v) { return static_cast<int64_t>(v); }, number_);
}
double TracedNumber::guard_float(const char*, int64_t) {
  return asDouble(number_);
}
bool TracedNumber::guard_bool(const char*, int64_t) {
  return std::visit([](auto v) { return v != 0; }, number_);
}

std::string TracedNumber::str() {
  std::ostringstream text;
  std::visit([&](auto v) { text << v; }, number_);
  return text.str();
}

}  // namespace cresset::tracer
