#include "cresset/analysis/containers.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "cresset/analysis/ambient_state.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"

namespace cresset {

std::optional<std::string> constantKey(const Value* key) {
  const auto constant = toIValue(key);
  if (!constant) return std::nullopt;
  if (constant->isString()) return constant->toStringRef();
  if (constant->isInt()) return std::to_string(constant->toInt());
  if (constant->isBool()) return constant->toBool() ? "True" : "False";
  return std::nullopt;
}

bool readsEntry(const Node* node) {
  if (isStructural(node->kind()) || node->inputs().size() != 2) return false;
  const Operator* op = operatorOf(*node);
  const std::string_view name = op ? std::string_view(op->fullName()) : std::string_view();
  return name.starts_with("aten::__getitem__.Dict_") || name == "aten::__getitem__.t";
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
  const bool calls_out = op->schema().is_vararg() && op->hasSideEffects() && op->fullName() != "prim::Print";
  return calls_out || std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
           return argument.alias_info() && argument.alias_info()->isWrite() &&
                  argument.type()->kind() != c10::TypeKind::TensorType;
         });
}

std::optional<std::string> changedKey(const Node* node) {
  if (isStructural(node->kind())) return std::nullopt;
  const Operator* op = operatorOf(*node);
  if (!op || !op->fullName().starts_with("aten::_set_item.")) return std::nullopt;
  return node->input(0)->type()->kind() == c10::TypeKind::DictType ? constantKey(node->input(1)) : std::nullopt;
}

bool mayChangeEntriesOf(AliasDb& memory, const Node* node, Value* container) {
  return changedKey(node) ? memory.mayAlias(node->input(0), container)
                          : memory.writesToAlias(node, std::span<Value* const>(&container, 1));
}

}  // namespace cresset
