#include <ATen/core/function_schema.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "cresset/executor/out_variants.h"
#include "cresset/executor/report.h"
#include "cresset/interpreter/operation_times.h"
#include "cresset/interpreter/strided_views.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/tensor_memory.h"
#include "cresset/static_runtime/static_program.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

StaticNodeKind kindOf(const Node& node, const MemoryLayout* memory, const InnerViews& views) {
  if (isSubgraph(node)) return StaticNodeKind::Kernel;
  if (memory && memory->sites.contains(&node)) return StaticNodeKind::Out;
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (op && directCallOf(node, views)) return StaticNodeKind::Native;
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

/// What the instructions of a plan's code stand for.
class OperationNames {
 public:
  explicit OperationNames(const Plan& plan) : code_(*plan.code) {
    if (plan.memory) {
      for (const auto& [node, site] : plan.memory->sites) sites_[site.index] = node;
    }
    addSubgraphs(plan.graph->block(), plan.memory.get());
  }

  IndividualOps::Op describe(const Instruction& instruction) const {
    IndividualOps::Op op{StaticNodeKind::Native, "", code_.origin(&instruction).position(), 0, 0, 0, 0};
    if (instruction.op == Op::CallOut) {
      const Node& node = *sites_.at(code_.out_sites[instruction.b].index);
      op.kind = isSubgraph(node) ? StaticNodeKind::Kernel : StaticNodeKind::Out;
      op.what = operatorsOf(node);
    } else if (instruction.op == Op::CallSubgraph) {
      op.kind = StaticNodeKind::Kernel;
      op.what = operatorsOf(*subgraphs_.at(instruction.b));
    } else {
      const Operator& called = *code_.operators[instruction.b];
      op.kind =
          called.isOfDispatcher() && instruction.op != Op::CallView ? StaticNodeKind::Fallback : StaticNodeKind::Native;
      op.what = called.fullName();
    }
    return op;
  }

 private:
  /// Those that are called without a site, in the order in which their calls are emitted: program order.
  void addSubgraphs(const Block* block, const MemoryLayout* memory) {
    for (const Node* node : block->nodes()) {
      if (isSubgraph(*node) && !(memory && memory->sites.contains(node))) subgraphs_.push_back(node);
      for (const Block* inner : node->blocks()) addSubgraphs(inner, memory);
    }
  }

  const Code& code_;
  std::unordered_map<uint32_t, const Node*> sites_;
  std::vector<const Node*> subgraphs_;
};

void addNodes(
    const Block* block, const MemoryLayout* memory, const InnerViews& views, std::vector<StaticReport::Node>& nodes) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == prim::Constant) continue;
    nodes.push_back(
        {kindOf(*node, memory, views), operatorsOf(*node), node->sourceRange().position(),
         memory && memory->sites.contains(node), memory ? std::optional(memory->position_of.at(node)) : std::nullopt});
    for (const Block* inner : node->blocks()) addNodes(inner, memory, views, nodes);
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
    StaticReport::Value value{slot.name, slot.first, slot.last, slot.is_output, slot.turns, slot.bytes.toString(nameOf),
                              {}};
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
  report.unbound_variants = unboundOutVariants();
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
    addNodes(plan.graph->block(), plan.memory.get(), innerViewsOf(plan, *plan.graph), entry.nodes);
    if (plan.memory) addValues(plan, runtime ? runtime->findMemory(plan.id) : nullptr, entry);
  }
  return report;
}

IndividualOps StaticProgram::benchmarkOps(
    StaticRuntime& runtime, const std::vector<Stack>& args, int warmup_runs, int main_runs) const {
  if (args.empty()) throw UserError("A benchmark wants at least one list of arguments");
  requireRuns(warmup_runs, main_runs);
  const auto measure = [&](int runs) {
    return meanMilliseconds(runs, args.size(), [&](size_t k) {
      Stack stack = args[k];
      run(stack, runtime);
    });
  };
  const double first = measure(1);
  measure(warmup_runs);
  const OperationTimes times;
  const double total = measure(main_runs);
  // In runs of their own: counting takes time. After the first of them no memory is older than what counts it.
  const AllocationCounter counter;
  {
    const OperationTimes unwanted;
    measure(1);
  }
  const AllocationCount before = counter.count();
  const OperationTimes counted;
  measure(1);
  const AllocationCount count = counter.count() - before;
  const auto num_args = static_cast<double>(args.size());
  IndividualOps result = opsOf(times, main_runs * num_args, counted, num_args);
  result.first_iter_time = first;
  result.total_time = total;
  result.allocations = static_cast<double>(count.allocations) / num_args;
  result.allocated_bytes = static_cast<double>(count.bytes) / num_args;
  result.own_allocations = result.allocations;
  for (const IndividualOps::Op& op : result.ops) {
    if (op.kind == StaticNodeKind::Out || op.kind == StaticNodeKind::Fallback) result.own_allocations -= op.allocations;
  }
  return result;
}

IndividualOps StaticProgram::opsOf(
    const OperationTimes& times, double runs, const OperationTimes& counted, double counted_runs) const {
  IndividualOps result;
  for (const PlanPtr& plan : plans_.plans()) {
    const auto measured = plan->code ? times.times().find(plan->code.get()) : times.times().end();
    if (measured == times.times().end()) continue;
    const OperationNames names(*plan);
    for (size_t i = 0; i < measured->second.size(); ++i) {
      const OperationTimes::Time& time = measured->second[i];
      if (time.calls == 0) continue;
      IndividualOps::Op op = names.describe(plan->code->instructions[i]);
      op.calls = static_cast<double>(time.calls) / runs;
      op.time = std::chrono::duration<double, std::milli>(time.total).count() / runs;
      if (const auto found = counted.times().find(plan->code.get()); found != counted.times().end()) {
        const AllocationCount& count = found->second[i].allocations;
        op.allocations = static_cast<double>(count.allocations) / counted_runs;
        op.allocated_bytes = static_cast<double>(count.bytes) / counted_runs;
      }
      result.ops.push_back(std::move(op));
    }
  }
  if (result.ops.empty() && !times.times().empty())
    throw UserError(
        "Operators are measured in plans, and these arguments have none: '" + function_.name() +
        "' runs unoptimized. report() says why.");
  double in_operators = 0;
  for (const IndividualOps::Op& op : result.ops) {
    in_operators += op.time;
    result.time_per_node_type[op.what] += op.time;
    ++result.instances_per_node_type[op.what];
    result.total_out_nodes_count += op.kind == StaticNodeKind::Out;
  }
  result.total_nodes_count = result.ops.size();
  for (const auto& [what, time] : result.time_per_node_type)
    result.percent_per_node_type[what] = in_operators > 0 ? 100 * time / in_operators : 0;
  return result;
}

std::string IndividualOps::toString() const {
  std::vector<const Op*> sorted;
  double in_operators = 0;
  for (const Op& op : ops) {
    sorted.push_back(&op);
    in_operators += op.time;
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Op* a, const Op* b) { return a->time > b->time; });
  std::ostringstream text;
  text << std::fixed << std::setprecision(4);
  text << "a run: " << total_time << " ms, of these in " << ops.size() << " operators " << in_operators
       << " ms; the first run: " << first_iter_time << " ms\n"
       << std::setprecision(1) << "it allocates " << allocations << " times, " << allocated_bytes << " bytes; "
       << own_allocations << " times outside of PyTorch's operators\n"
       << std::setprecision(4);
  for (const Op* op : sorted) {
    text << "  " << op->time << " ms " << std::setprecision(1) << (in_operators > 0 ? 100 * op->time / in_operators : 0)
         << "% " << cresset::toString(op->kind) << ": " << op->what;
    if (op->calls != 1) text << ", " << op->calls << " times";
    if (op->allocations > 0) text << ", allocates " << op->allocations << " times, " << op->allocated_bytes << " bytes";
    if (!op->where.empty()) text << "  # " << op->where;
    text << std::setprecision(4) << "\n";
  }
  return text.str();
}

std::string StaticReport::toString() const {
  std::string text = name + ": " + std::to_string(plans.size()) + (plans.size() == 1 ? " plan\n" : " plans\n");
  for (const PlanReport& plan : plans) {
    text += "plan";
    for (size_t i = 0; i < plan.inputs.size(); ++i) text += (i ? ", " : " for ") + plan.inputs[i];
    text += "\n";
    for (const Node& node : plan.nodes) {
      text += "  " + (node.step ? std::to_string(*node.step) + " " : "") + std::string(cresset::toString(node.kind)) +
              ": " + node.what;
      if (node.is_planned) text += ", planned";
      if (!node.where.empty()) text += "  # " + node.where;
      text += "\n";
    }
    for (const Value& value : plan.values) {
      text += "  " + value.name + ": steps " + std::to_string(value.first) + " to " +
              (value.turns       ? "a later iteration" + std::string(value.is_output ? ", leaves the module" : "")
               : value.is_output ? "the end, leaves the module"
                                 : std::to_string(value.last)) +
              ", " + value.size + " bytes";
      if (value.offset)
        text += ", at " + std::to_string(*value.offset) + " to " + std::to_string(*value.offset + value.bytes);
      text += "\n";
    }
    if (!plan.memory.slots) continue;
    const bool is_reused = plan.memory.least_apart != plan.memory.least_bytes;
    const std::string apart =
        is_reused ? ", " + std::to_string(plan.memory.least_apart) + " if no result took an operand's place" : "";
    text += "  memory: " + std::to_string(plan.memory.arena_bytes) + " bytes for " + std::to_string(plan.memory.slots) +
            " results of " + std::to_string(plan.memory.sum_bytes) + " bytes; no less than " +
            std::to_string(plan.memory.least_bytes) + " are needed at once" + apart + "\n";
  }
  for (const std::string& error : errors) text += "no plan: " + error + "\n";
  for (const std::string& variant : unbound_variants)
    text += "an out variant is registered for " + variant + ", but there is no such operator\n";
  return text;
}

}  // namespace cresset
