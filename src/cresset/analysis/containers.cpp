#include "cresset/analysis/containers.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <span>

#include "cresset/analysis/ambient_state.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"

namespace cresset {

std::optional<std::string> constantKey(const Value* key) {
  const auto constant = toIValue(key);
  if (!constant) return std::nullopt;
  if (constant->isString()) return constant->toStringRef();
  if (constant->isInt()) return std::to_string(constant->toInt());
  if (constant->isBool()) return constant->toBool() ? "True" : "False";
  return std::nullopt;
}

namespace {

constexpr ColumnCell<EntryUse> kEntryUses[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define ENTRY(use) {{}, EntryUse::use},
#include "cresset/ops/table/table.def"
};

}  // namespace

EntryUse entryUse(const Node& node) {
  static const auto* uses = new auto(byOperator(kEntryUses));
  if (isStructural(node.kind()) || node.inputs().empty()) return EntryUse::None;
  const c10::TypeKind container = node.input(0)->type()->kind();
  if (container != c10::TypeKind::ListType && container != c10::TypeKind::DictType) return EntryUse::None;
  const Operator* op = operatorOf(node);
  const auto found = op ? uses->find(op->schema().name()) : uses->end();
  return found == uses->end() ? EntryUse::None : found->second;
}

bool readsEntry(const Node* node) {
  return entryUse(*node) == EntryUse::Reads;
}

bool onlyReadsElements(const Node& node) {
  if (node.kind() == prim::ListUnpack) return true;
  if (isStructural(node.kind())) return false;
  const Operator* op = operatorOf(node);
  return op && (op->isPure() || entryUse(node) == EntryUse::Reads);
}

namespace {

bool mayChangeEntriesIn(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    return mayChangeEntries(node) || std::any_of(node->blocks().begin(), node->blocks().end(), mayChangeEntriesIn);
  });
}

}  // namespace

bool mayChangeEntries(const Node* node) {
  if (isSubgraph(*node)) return mayChangeEntriesIn(node->g(attr::Subgraph)->block());
  if (const Structure* structure = structureOf(node->kind()))
    return structure->memory == Memory::Anything && !changesStateOnly(*node);
  const Operator* op = operatorOf(*node);
  if (!op || op->restriction() == Restriction::Foreign ||
      op->schema().aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE)
    return true;
  if (op->isOfDispatcher() && !op->isMutable()) return false;
  const auto& arguments = op->schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return isWritten(argument) && argument.type()->kind() != c10::TypeKind::TensorType;
  });
}

std::optional<std::string> changedKey(const Node* node) {
  if (entryUse(*node) != EntryUse::Sets) return std::nullopt;
  return node->input(0)->type()->kind() == c10::TypeKind::DictType ? constantKey(node->input(1)) : std::nullopt;
}

bool mayChangeEntriesOf(AliasDb& memory, const Node* node, Value* container) {
  return changedKey(node) ? memory.mayAlias(node->input(0), container)
                          : memory.writesToAlias(node, std::span<Value* const>(&container, 1));
}

}  // namespace cresset
