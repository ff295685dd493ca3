#include "cresset/codegen/reads.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "cresset/ops/expression.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset::codegen {

namespace {

size_t argumentNamed(const Operator& op, std::string_view name) {
  const auto index = op.schema().argumentIndexWithName(name);
  CRESSET_CHECK(index, "READS names an argument of the operator");
  return static_cast<size_t>(*index);
}

ReadRule parse(const Operator& op, std::string_view text) {
  static constexpr std::string_view kForms[] = {"at", "along", "flat", "each", "bags"};
  const ExpressionList list = parseExpressions(text);
  const Expression& call = list.results[0];
  const auto form = std::find(std::begin(kForms), std::end(kForms), call.text);
  ReadRule rule;
  rule.form = static_cast<ReadRule::Form>(form - std::begin(kForms));
  const bool has_dim = rule.form == ReadRule::Form::At || rule.form == ReadRule::Form::Along;
  const bool has_offsets = rule.form == ReadRule::Form::Bags;
  CRESSET_CHECK(
      form != std::end(kForms) && call.children.size() == (has_dim || has_offsets ? 3 : 2),
      "READS says how an operator reads");
  rule.source = argumentNamed(op, call.children.front().text);
  rule.index = argumentNamed(op, call.children.back().text);
  if (has_offsets) rule.offsets = argumentNamed(op, call.children[1].text);
  if (!has_dim) return rule;
  const Expression& dim = call.children[1];
  if (dim.kind == Expression::Kind::Integer) {
    rule.dim = dim.integer;
  } else {
    rule.dim_argument = argumentNamed(op, dim.text);
  }
  return rule;
}

}  // namespace

const ReadRule* ReadRule::of(const Operator& op) {
  const OperatorRow* row = findOperatorRow(op.fullName());
  if (!row || row->reads.empty()) return nullptr;
  static auto* mutex = new std::mutex;
  static auto* rules = new std::unordered_map<const OperatorRow*, ReadRule>;
  const std::lock_guard lock(*mutex);
  const auto found = rules->find(row);
  return found != rules->end() ? &found->second : &rules->emplace(row, parse(op, row->reads)).first->second;
}

}  // namespace cresset::codegen
