#include "cresset/ops/operator_rows.h"

#include <unordered_map>
#include <vector>

namespace cresset {

namespace {

struct Column {
  enum class Kind { Operator, Facts, Trait, Autocast } kind;
  std::string_view text;
  Trait trait = Trait::None;
  Autocast cpu = Autocast::Unknown, cuda = Autocast::Unknown;
};

constexpr Column kColumns[] = {
#define OPERATOR(name) {Column::Kind::Operator, name},
#define FACTS(rule) {Column::Kind::Facts, rule},
#define AUTOCAST(cpu, cuda) {Column::Kind::Autocast, {}, Trait::None, Autocast::cpu, Autocast::cuda},
#define TRAIT(trait) {Column::Kind::Trait, {}, Trait::trait},
#include "cresset/ops/table/table.def"
};

const std::vector<OperatorRow>& rows() {
  static const auto* all = [] {
    auto* rows = new std::vector<OperatorRow>;
    for (const Column& column : kColumns) {
      switch (column.kind) {
        case Column::Kind::Operator:
          rows->push_back({column.text, {}});
          break;
        case Column::Kind::Facts:
          rows->back().facts = column.text;
          break;
        case Column::Kind::Trait:
          rows->back().traits = rows->back().traits | column.trait;
          break;
        case Column::Kind::Autocast:
          rows->back().autocast_cpu = column.cpu;
          rows->back().autocast_cuda = column.cuda;
          break;
      }
    }
    return rows;
  }();
  return *all;
}

}  // namespace

std::string_view nameOf(Autocast policy) {
  static constexpr std::string_view kNames[] = {"Unknown", "None",       "Inside",      "Lower",  "Float",
                                                "Promote", "FloatDtype", "AppendFloat", "Refused"};
  return kNames[size_t(policy)];
}

std::span<const OperatorRow> operatorRows() {
  return rows();
}

const OperatorRow* findOperatorRow(std::string_view full_name) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, const OperatorRow*>;
    for (const OperatorRow& row : rows()) map->emplace(row.name, &row);
    return map;
  }();
  const auto found = index->find(full_name);
  return found == index->end() ? nullptr : found->second;
}

}  // namespace cresset
