#include "cresset/codegen/index_rule.h"

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
  CRESSET_CHECK(index, "READS and ADDS name arguments of the operator");
  return static_cast<size_t>(*index);
}

IndexRule parse(const Operator& op, std::string_view text, bool adds) {
  static constexpr std::string_view kForms[] = {"at", "along", "flat", "each", "bags"};
  const ExpressionList list = parseExpressions(text);
  const Expression& call = list.results[0];
  const auto form = std::find(std::begin(kForms), std::end(kForms), call.text);
  IndexRule rule;
  rule.form = static_cast<IndexRule::Form>(form - std::begin(kForms));
  const bool has_dim = rule.form == IndexRule::Form::At || rule.form == IndexRule::Form::Along;
  const bool has_offsets = rule.form == IndexRule::Form::Bags;
  const size_t num_reading = has_dim || has_offsets ? 3 : 2;
  CRESSET_CHECK(
      form != std::end(kForms) && call.children.size() == num_reading + (adds ? 1 : 0),
      "READS and ADDS say how an operator reads and adds by index");
  rule.source = argumentNamed(op, call.children.front().text);
  rule.index = argumentNamed(op, call.children[num_reading - 1].text);
  if (adds) rule.added = argumentNamed(op, call.children.back().text);
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

const IndexRule* IndexRule::of(const Operator& op) {
  const OperatorRow* row = findOperatorRow(op.fullName());
  if (!row || (row->reads.empty() && row->adds.empty())) return nullptr;
  static auto* mutex = new std::mutex;
  static auto* rules = new std::unordered_map<const OperatorRow*, IndexRule>;
  const std::lock_guard lock(*mutex);
  const bool adds = row->reads.empty();
  const auto found = rules->find(row);
  return found != rules->end() ? &found->second
                               : &rules->emplace(row, parse(op, adds ? row->adds : row->reads, adds)).first->second;
}

}  // namespace cresset::codegen
