// The table of structural nodes, read, and what its rows say of a node, checked.
#include "cresset/ir/structure.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cresset/ir/constants.h"
#include "cresset/ir/structure_checks.h"
#include "cresset/support/error.h"

namespace cresset {

namespace structure {

using c10::TypeKind;

namespace {

/// A word of the columns `inputs` and `outputs`: kinds of types that fit, and how messages call them.
struct TypeWord {
  std::string_view word;
  const char* noun;
  TypeKind kinds[2];
};

constexpr TypeWord kTypeWords[] = {
    {"bool", "a bool", {TypeKind::BoolType, TypeKind::BoolType}},
    {"int", "an int", {TypeKind::IntType, TypeKind::IntType}},
    {"tensor", "a tensor", {TypeKind::TensorType, TypeKind::TensorType}},
    {"tuple", "a tuple", {TypeKind::TupleType, TypeKind::TupleType}},
    {"list", "a list", {TypeKind::ListType, TypeKind::ListType}},
    {"dict", "a dict", {TypeKind::DictType, TypeKind::DictType}},
    {"object", "an object", {TypeKind::ClassType, TypeKind::ClassType}},
    {"receiver", "an object", {TypeKind::ClassType, TypeKind::InterfaceType}},
    {"function", "a constant of type Function", {TypeKind::FunctionType, TypeKind::FunctionType}},
    {"future", "a Future", {TypeKind::FutureType, TypeKind::FutureType}},
    {"await", "an Await", {TypeKind::AwaitType, TypeKind::AwaitType}},
};

/// What a row says of one operand.
struct Operand {
  std::string name;                // "the condition"; empty if it has none
  const TypeWord* type = nullptr;  // null: any
};

/// What a row says of the inputs, or the outputs.
struct Operands {
  std::vector<Operand> first;
  bool more = false;  // any number of others after them
};

std::vector<std::string_view> splitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(", "), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parts;
}

/// "the index: int" as name and word.
std::pair<std::string_view, std::string_view> splitAtColon(std::string_view text) {
  const size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return {{}, text};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

Operands parseOperands(std::string_view text) {
  Operands operands;
  for (const std::string_view part : splitAtCommas(text)) {
    const auto [name, word] = splitAtColon(part);
    CRESSET_CHECK(!operands.more, "structural.def: something follows any*");
    if (word == "any*") {
      operands.more = true;
      continue;
    }
    const auto* type = std::find_if(
        std::begin(kTypeWords), std::end(kTypeWords), [&](const TypeWord& known) { return known.word == word; });
    CRESSET_CHECK(word == "any" || type != std::end(kTypeWords), "structural.def: " + std::string(word));
    operands.first.push_back({std::string(name), word == "any" ? nullptr : type});
  }
  return operands;
}

std::vector<std::pair<Symbol, Attribute::Kind>> parseAttributes(std::string_view text) {
  static constexpr std::pair<std::string_view, Attribute::Kind> kKinds[] = {
      {"string", Attribute::Kind::String},
      {"int", Attribute::Kind::Int},
      {"types", Attribute::Kind::Types},
      {"graph", Attribute::Kind::Graph}};
  std::vector<std::pair<Symbol, Attribute::Kind>> attributes;
  for (const std::string_view part : splitAtCommas(text)) {
    const auto [name, word] = splitAtColon(part);
    const auto* kind =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& known) { return known.first == word; });
    CRESSET_CHECK(kind != std::end(kKinds), "structural.def: " + std::string(word));
    attributes.emplace_back(Symbol::attr(std::string(name)), kind->second);
  }
  return attributes;
}

constexpr Structure kStructures[] = {
#define STRUCTURE(Name, Kind, ...) {.id = Structural::Name, .name = Kind __VA_OPT__(, ) __VA_ARGS__},
#define MARKER(Name, Kind, ...) STRUCTURE(Name, Kind __VA_OPT__(, ) __VA_ARGS__)
#include "cresset/ir/structural.def"
};

/// The rows, read: by Structural, and by the number of a kind's symbol.
struct Table {
  struct Row {
    Operands inputs, outputs;
    std::vector<std::pair<Symbol, Attribute::Kind>> attributes;
  };

  Table() {
    for (const Structure& structure : kStructures) {
      const Symbol kind = Symbol::fromQualString(structure.name);
      if (by_symbol.size() <= kind) by_symbol.resize(kind + 1);
      CRESSET_CHECK(!by_symbol[kind], std::string("structural.def names ") + structure.name + " twice");
      by_symbol[kind] = &structure;
      rows.push_back(
          {parseOperands(structure.inputs), parseOperands(structure.outputs), parseAttributes(structure.attributes)});
    }
  }

  static const Table& get() {
    static const auto* table = new Table;
    return *table;
  }

  std::vector<Row> rows;
  std::vector<const Structure*> by_symbol;
};

template <typename Values>
void checkOperands(const Node& n, const Operands& operands, const Values& values, const char* verb, const char* noun) {
  const size_t count = operands.first.size();
  if (operands.more ? values.size() < count : values.size() != count) {
    complain(
        std::string(n.kind().toQualString()) + " " + verb + " " + (operands.more ? "at least " : "") +
        plural(count, noun) + ", not " + std::to_string(values.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, type] = operands.first[i];
    if (!type) continue;
    const TypeKind kind = values[i]->type()->kind();
    if (kind == type->kinds[0] || kind == type->kinds[1]) continue;
    complain(
        structure::name(values[i]) + " must be " + (name.empty() ? "" : name + ", ") + type->noun + ", not " +
        structure::text(values[i]->type()));
  }
}

void checkRow(const Node& n, const Structure& structure) {
  const Table::Row& row = Table::get().rows[static_cast<size_t>(structure.id)];
  checkOperands(n, row.inputs, n.inputs(), "takes", "input");
  checkOperands(n, row.outputs, n.outputs(), "has", "output");
  if (n.blocks().size() != structure.blocks) {
    complain(
        std::string(structure.name) + " has " + plural(structure.blocks, "block") + ", not " +
        std::to_string(n.blocks().size()));
  }
  for (const auto& [attribute, kind] : row.attributes) expectAttribute(n, attribute, kind);
  if (structure.check) structure.check(n);
}

}  // namespace

}  // namespace structure

std::optional<size_t> placeInTuple(const Node& node) {
  const auto constant = constantAs<int64_t>(node.input(1));
  const auto* tuple = node.input(0)->type()->castRaw<c10::TupleType>();
  if (!constant || !tuple) return std::nullopt;
  const auto size = static_cast<int64_t>(tuple->elements().size());
  const int64_t place = *constant < 0 ? *constant + size : *constant;
  return place >= 0 && place < size ? std::optional(static_cast<size_t>(place)) : std::nullopt;
}

std::span<const Structure> structures() {
  return structure::kStructures;
}

const Structure* structureOf(Symbol kind) {
  const auto& rows = structure::Table::get().by_symbol;
  return kind < rows.size() ? rows[kind] : nullptr;
}

bool hasNode(const Block* block, Symbol kind) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    const auto blocks = node->blocks();
    return node->kind() == kind ||
           std::any_of(blocks.begin(), blocks.end(), [&](const Block* inner) { return hasNode(inner, kind); });
  });
}

std::optional<std::string> complaintAbout(const Node& node) {
  try {
    if (const Structure* row = structureOf(node.kind())) {
      structure::checkRow(node, *row);
    } else if (!node.blocks().empty() || (node.kind().is_prim() && node.hasAttribute(attr::Subgraph))) {
      structure::complain(
          std::string(node.kind().toQualString()) + " is no structural node, so it has no " +
          (node.blocks().empty() ? "subgraph" : "blocks"));
    }
  } catch (const structure::Complaint& complaint) {
    return complaint.text;
  }
  return std::nullopt;
}

}  // namespace cresset
