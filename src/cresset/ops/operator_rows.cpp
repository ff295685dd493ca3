#include "cresset/ops/operator_rows.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "cresset/support/error.h"

namespace cresset {

namespace {

struct Column {
  enum class Kind {
    Operator,
    Overloads,
    Facts,
    Scalar,
    ComputesIn,
    Reduces,
    Contracts,
    Broadcasts,
    Reads,
    Adds,
    LaidOutAs,
    Trait,
    Restriction,
    CalledByPrograms,
    SharesIfEmpty,
    Convolution,
    Autocast
  } kind;
  std::string_view text;
  Trait trait = Trait::None;
  Restriction restriction = Restriction::None;
  int number = 0;
  Autocast cpu = Autocast::Unknown, cuda = Autocast::Unknown;
};

constexpr Column kColumns[] = {
#define OPERATOR(name) {Column::Kind::Operator, name},
#define OVERLOADS(name) {Column::Kind::Overloads, name},
#define FACTS(rule) {Column::Kind::Facts, rule},
#define SCALAR(body) {Column::Kind::Scalar, body},
#define COMPUTES_IN(rule) {Column::Kind::ComputesIn, rule},
#define REDUCES(rule) {Column::Kind::Reduces, rule},
#define CONTRACTS(rule) {Column::Kind::Contracts, rule},
#define BROADCASTS(operands) {Column::Kind::Broadcasts, operands},
#define READS(rule) {Column::Kind::Reads, rule},
#define ADDS(rule) {Column::Kind::Adds, rule},
#define LAID_OUT_AS(operands) {Column::Kind::LaidOutAs, operands},
#define AUTOCAST(cpu, cuda) {Column::Kind::Autocast, {}, {}, {}, {}, Autocast::cpu, Autocast::cuda},
#define TRAIT(trait) {Column::Kind::Trait, {}, Trait::trait},
#define RESTRICTED(restriction) {Column::Kind::Restriction, {}, {}, Restriction::restriction},
#define CALLED_BY_PROGRAMS() {Column::Kind::CalledByPrograms, {}},
#define SHARES_IF_EMPTY() {Column::Kind::SharesIfEmpty, {}},
#define CONVOLUTION(dimensions) {Column::Kind::Convolution, {}, {}, {}, dimensions},
#include "cresset/ops/table/table.def"
};

struct Rows {
  std::vector<OperatorRow> operators, overloads;
  std::unordered_map<std::string_view, const OperatorRow*> operator_index, overloads_index;

  Rows() {
    OperatorRow* row = nullptr;
    for (const Column& column : kColumns) {
      switch (column.kind) {
        case Column::Kind::Operator:
          row = &operators.emplace_back(OperatorRow{.name = column.text});
          break;
        case Column::Kind::Overloads:
          row = &overloads.emplace_back(OperatorRow{.name = column.text});
          break;
        case Column::Kind::Facts:
          row->facts = column.text;
          break;
        case Column::Kind::Scalar:
          row->scalar = column.text;
          break;
        case Column::Kind::ComputesIn:
          row->computes_in = column.text;
          break;
        case Column::Kind::Reduces:
          row->reduces = column.text;
          break;
        case Column::Kind::LaidOutAs:
          row->laid_out_as = column.text;
          break;
        case Column::Kind::Contracts:
          row->contracts = column.text;
          break;
        case Column::Kind::Broadcasts:
          row->broadcasts = column.text;
          break;
        case Column::Kind::Reads:
          row->reads = column.text;
          break;
        case Column::Kind::Adds:
          row->adds = column.text;
          break;
        case Column::Kind::Trait:
          row->traits = row->traits | column.trait;
          break;
        case Column::Kind::Restriction:
          row->restriction = column.restriction;
          break;
        case Column::Kind::CalledByPrograms:
          row->called_by_programs = true;
          break;
        case Column::Kind::SharesIfEmpty:
          row->shares_if_empty = true;
          break;
        case Column::Kind::Convolution:
          row->convolution = column.number;
          break;
        case Column::Kind::Autocast:
          row->autocast_cpu = column.cpu;
          row->autocast_cuda = column.cuda;
          break;
      }
    }
    for (const OperatorRow& entry : operators) operator_index.emplace(entry.name, &entry);
    for (const OperatorRow& entry : overloads) overloads_index.emplace(entry.name, &entry);
  }
};

const Rows& rows() {
  static const auto* all = new Rows;
  return *all;
}

const OperatorRow* find(const std::unordered_map<std::string_view, const OperatorRow*>& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

std::string_view nameOf(Autocast policy) {
  static constexpr std::string_view kNames[] = {"Unknown", "None",       "Inside",      "Lower",  "Float",
                                                "Promote", "FloatDtype", "AppendFloat", "Refused"};
  return kNames[size_t(policy)];
}

std::span<const OperatorRow> operatorRows() {
  return rows().operators;
}

const OperatorRow* findOperatorRow(std::string_view full_name) {
  return find(rows().operator_index, full_name);
}

std::vector<size_t> layoutOrder(const Operator& op) {
  const OperatorRow* row = findOperatorRow(op.fullName());
  std::vector<size_t> indices;
  std::string_view names = row ? row->laid_out_as : std::string_view();
  while (!names.empty()) {
    const size_t comma = std::min(names.find(", "), names.size());
    const auto index = op.schema().argumentIndexWithName(std::string(names.substr(0, comma)));
    CRESSET_CHECK(index, "no argument that LAID_OUT_AS names: " + op.fullName());
    indices.push_back(static_cast<size_t>(*index));
    names.remove_prefix(std::min(comma + 2, names.size()));
  }
  for (size_t i = 0; i < op.schema().arguments().size(); ++i) {
    if (std::find(indices.begin(), indices.end(), i) == indices.end()) indices.push_back(i);
  }
  return indices;
}

const OperatorRow* findOverloadsRow(std::string_view name) {
  return find(rows().overloads_index, name);
}

}  // namespace cresset
