#include <ATen/core/function_schema.h>

#include "cresset/executor/report.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/static_runtime/static_program.h"

namespace cresset {

namespace {

StaticNodeKind kindOf(const Node& node, const MemoryLayout* memory) {
  if (isSubgraph(node)) return StaticNodeKind::Kernel;
  if (memory && memory->sites.contains(&node)) return StaticNodeKind::Out;
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  return op && op->isOfDispatcher() ? StaticNodeKind::Fallback : StaticNodeKind::Native;
}

std::string operatorsOf(const Node& node) {
  if (!isSubgraph(node)) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    return op ? op->fullName() : std::string(node.kind().toQualString());
  }
  std::string names;
  const Graph& subgraph = *node.g(attr::Subgraph);
  for (const Node* inner : subgraph.nodes()) {
    if (inner->kind() == prim::Constant) continue;
    names += (names.empty() ? "" : ", ") + operatorsOf(*inner);
  }
  return names;
}

void addNodes(const Block* block, const MemoryLayout* memory, std::vector<StaticReport::Node>& nodes) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == prim::Constant) continue;
    nodes.push_back(
        {kindOf(*node, memory), operatorsOf(*node), node->sourceRange().position(),
         memory && memory->sites.contains(node)});
    for (const Block* inner : node->blocks()) addNodes(inner, memory, nodes);
  }
}

void addValues(const Plan& plan, const PlanMemory* memory, StaticReport::PlanReport& report) {
  if (memory) report.memory = memory->figures();
  const auto places = memory ? memory->places() : std::vector<std::optional<PlanMemory::Place>>();
  const auto nameOf = [&](size_t unique) {
    for (const Value* input : plan.graph->inputs()) {
      if (input->unique() == unique) return input->debugName();
    }
    return "%" + std::to_string(unique);
  };
  for (size_t i = 0; i < plan.memory->slots.size(); ++i) {
    const MemoryLayout::Slot& slot = plan.memory->slots[i];
    StaticReport::Value value{slot.name, slot.first, slot.last, slot.is_output, slot.bytes.toString(nameOf), {}};
    if (i < places.size() && places[i]) {
      value.offset = places[i]->offset;
      value.bytes = places[i]->bytes;
    }
    report.values.push_back(std::move(value));
  }
}

}  // namespace

std::string_view toString(StaticNodeKind kind) {
  static constexpr std::string_view kNames[] = {"out variant", "kernel", "native", "fallback"};
  return kNames[size_t(kind)];
}

StaticReport StaticProgram::report(const StaticRuntime* runtime) const {
  StaticReport report;
  report.name = function_.qualname().qualifiedName();
  if (const std::string failure = plans_.failure(); !failure.empty()) report.errors.push_back(failure);
  const std::vector<PlanPtr> plans = plans_.plans();
  for (size_t i = plans.size(); i-- > 0;) {
    const Plan& plan = *plans[i];
    if (!plan.code) {
      report.errors.insert(report.errors.end(), plan.notes.begin(), plan.notes.end());
      continue;
    }
    StaticReport::PlanReport& entry = report.plans.emplace_back();
    entry.inputs = describePlan(*plans_.prepared(), plan).inputs;
    entry.graph = plan.graph;
    addNodes(plan.graph->block(), plan.memory.get(), entry.nodes);
    if (plan.memory) addValues(plan, runtime ? runtime->findMemory(plan.id) : nullptr, entry);
  }
  return report;
}

std::string StaticReport::toString() const {
  std::string text = name + ": " + std::to_string(plans.size()) + (plans.size() == 1 ? " plan\n" : " plans\n");
  for (const PlanReport& plan : plans) {
    text += "plan";
    for (size_t i = 0; i < plan.inputs.size(); ++i) text += (i ? ", " : " for ") + plan.inputs[i];
    text += "\n";
    for (const Node& node : plan.nodes) {
      text += "  " + std::string(cresset::toString(node.kind)) + ": " + node.what;
      if (node.is_planned) text += ", planned";
      if (!node.where.empty()) text += "  # " + node.where;
      text += "\n";
    }
    for (const Value& value : plan.values) {
      text += "  " + value.name + ": steps " + std::to_string(value.first) + " to " +
              (value.is_output ? "the end, leaves the module" : std::to_string(value.last)) + ", " + value.size +
              " bytes";
      if (value.offset)
        text += ", at " + std::to_string(*value.offset) + " to " + std::to_string(*value.offset + value.bytes);
      text += "\n";
    }
    if (plan.memory.slots)
      text += "  memory: " + std::to_string(plan.memory.arena_bytes) + " bytes for " +
              std::to_string(plan.memory.slots) + " results of " + std::to_string(plan.memory.sum_bytes) +
              " bytes; no less than " + std::to_string(plan.memory.least_bytes) + " are needed at once\n";
  }
  for (const std::string& error : errors) text += "no plan: " + error + "\n";
  return text;
}

}  // namespace cresset
