// Arithmetic and comparisons of numbers that a constant or the operands settle: `n + 0`, `(n + 3) - 1`, `int(n)` of an
// int, `n == n`.
//
// Ints only where arithmetic is meant: they wrap around, so constants can be added in any order, while floats round,
// and nan differs from itself. What compares equal by being the same value is a type whose comparison calls nothing.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

using c10::TypeKind;

bool isInt(const Value* value) {
  return value->type()->kind() == TypeKind::IntType;
}

/// `value` plus a constant.
struct Sum {
  Value* value = nullptr;
  uint64_t constant = 0;  // as the 64 bits that ints wrap around in
};

/// What a node adds to which value; nothing if it is no sum with a constant.
std::optional<Sum> asSum(Node* node) {
  if (isStructural(node->kind())) return std::nullopt;
  const Operator* op = operatorOf(*node);
  const bool adds = op && op->fullName() == "aten::add.int", subtracts = op && op->fullName() == "aten::sub.int";
  if (!adds && !subtracts) return std::nullopt;
  if (const auto right = constantAs<int64_t>(node->input(1))) {
    const auto bits = static_cast<uint64_t>(*right);
    return Sum{node->input(0), adds ? bits : 0 - bits};
  }
  if (!adds) return std::nullopt;
  if (const auto left = constantAs<int64_t>(node->input(0))) return Sum{node->input(1), static_cast<uint64_t>(*left)};
  return std::nullopt;
}

/// Sums of sums with constants are one: `(n + 3) - 1` is `n + 2`.
Value* addConstants(Node* node) {
  const auto sum = asSum(node);
  if (!sum) return nullptr;
  if (sum->constant == 0) return sum->value;
  const auto inner = asSum(sum->value->node());
  if (!inner) return nullptr;
  const uint64_t constant = sum->constant + inner->constant;
  if (constant == 0) return inner->value;
  Value* amount = insertConstantBefore(node, static_cast<int64_t>(constant));
  const InsertPointGuard guard(node->graph(), node);
  return insertBasic(node->graph(), Basic::Add, {inner->value, amount})->copyLocation(node)->output();
}

Value* multiplyByOne(Node* node) {
  for (const size_t one : {size_t(1), size_t(0)}) {
    if (constantAs<int64_t>(node->input(one)) == 1) return node->input(1 - one);
  }
  return nullptr;
}

Value* divideByOne(Node* node) {
  return constantAs<int64_t>(node->input(1)) == 1 ? node->input(0) : nullptr;
}

/// A conversion or rounding to what the number is.
Value* sameInt(Node* node) {
  return isInt(node->input(0)) ? node->input(0) : nullptr;
}

Value* sameFloat(Node* node) {
  return node->input(0)->type()->kind() == TypeKind::FloatType ? node->input(0) : nullptr;
}

Value* sameBool(Node* node) {
  return node->input(0)->type()->kind() == TypeKind::BoolType ? node->input(0) : nullptr;
}

using NumberRule = Value* (*)(Node* node);

const std::unordered_map<std::string_view, NumberRule>& numberRules() {
  static const auto* table = new std::unordered_map<std::string_view, NumberRule>{
      {"aten::add.int", addConstants},     {"aten::sub.int", addConstants}, {"aten::mul.int", multiplyByOne},
      {"aten::floordiv.int", divideByOne}, {"aten::Int.Scalar", sameInt},   {"aten::ceil.int", sameInt},
      {"aten::floor.int", sameInt},        {"aten::ceil.Scalar", sameInt},  {"aten::floor.Scalar", sameInt},
      {"aten::Float.Scalar", sameFloat},   {"aten::Bool.int", sameBool},
  };
  return *table;
}

/// Whether a value of the type equals itself, and to ask that raises nothing.
bool equalsItself(const c10::Type& type, int depth = 8) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::BoolType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
      return true;
    case TypeKind::ListType:
    case TypeKind::DictType:
    case TypeKind::TupleType:
    case TypeKind::OptionalType: {
      const auto parts = type.containedTypes();
      return depth > 0 && std::all_of(parts.begin(), parts.end(), [&](const c10::TypePtr& part) {
               return equalsItself(*part, depth - 1);
             });
    }
    default:
      return false;
  }
}

Value* compareWithItself(Node* node) {
  const bool is_equal = isBasic(node, Basic::Equal);
  if (!is_equal && !isBasic(node, Basic::Unequal)) return nullptr;
  if (node->input(0) != node->input(1) || !equalsItself(*node->input(0)->type())) return nullptr;
  return insertConstantBefore(node, is_equal);
}

Value* simplifyNumber(Node* node) {
  if (node->outputs().size() != 1 || node->inputs().empty() || isStructural(node->kind())) return nullptr;
  switch (node->output()->type()->kind()) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
      break;
    default:
      return nullptr;  // before the operator is looked up, which takes longer
  }
  if (Value* known = compareWithItself(node)) return known;
  const Operator* op = operatorOf(*node);
  const auto rule = op ? numberRules().find(op->fullName()) : numberRules().end();
  return rule == numberRules().end() ? nullptr : rule->second(node);
}

bool simplifyNumbersIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodesSafely()) {
    for (Block* inner : node->blocks()) changed |= simplifyNumbersIn(inner);
    Value* known = simplifyNumber(node);
    if (!known) continue;
    node->output()->replaceAllUsesWith(known);
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

static bool simplifyNumbers(Graph& graph) {
  return simplifyNumbersIn(graph.block());
}

CRESSET_PASS(
    simplifyNumbers, "simplify-numbers", All,
    "Replace arithmetic and comparisons of numbers that a constant or the operands settle")

}  // namespace cresset
