#include "cresset/executor/report.h"

#include <algorithm>
#include <map>

#include "cresset/autodiff/derivatives.h"
#include "cresset/autodiff/gradient_flow.h"
#include "cresset/autodiff/regions.h"
#include "cresset/codegen/ahead_of_time.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/codegen/sequence.h"
#include "cresset/executor/launch_report.h"
#include "cresset/interpreter/code.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/fuse.h"
#include "cresset/passes/inline_subgraphs.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

/// Why a node through which gradients flow is in no differentiable region.
const char* whyOnTape(const Operator& op, const Node& node) {
  if (op.isMutable()) return "it writes to a tensor";
  if (!hasDerivative(op)) return "it has no derivative rule";
  if (!rulesHold(op, node)) return "its derivative rule does not hold for these arguments";
  const auto fits = [](const Value* value) { return rulesFit(value->type()); };
  const auto inputs = node.inputs();
  const auto outputs = node.outputs();
  if (!std::all_of(inputs.begin(), inputs.end(), fits) || !std::all_of(outputs.begin(), outputs.end(), fits))
    return "a dtype or device is unknown, or complex";
  return "too few operators beside it, or its result is used in a way that only autograd's tape knows";
}

/// What operators have in common, and how often it was seen.
using Counts = std::map<std::pair<std::string, std::string>, size_t>;

/// "no kernel: aten::sort (2 times): aten::sort has no scalar body"
void writeCounts(const std::string& title, const Counts& counts, std::vector<std::string>& lines) {
  for (const auto& [what, count] : counts) {
    lines.push_back(
        title + ": " + what.first + (count > 1 ? " (" + std::to_string(count) + " times)" : "") + ": " + what.second);
  }
}

class GradientReport {
 public:
  std::vector<std::string> write(Block* block) {
    visit(block);
    std::vector<std::string> lines;
    if (num_regions_) {
      lines.push_back(
          "compiled gradients: " + std::to_string(num_nodes_) + " nodes in " + std::to_string(num_regions_) +
          (num_regions_ == 1 ? " region" : " regions"));
    }
    writeCounts("autograd's tape", on_tape_, lines);
    return lines;
  }

 private:
  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      if (isSubgraph(*node, SubgraphKind::Differentiable)) {
        ++num_regions_;
        num_nodes_ += node->g(attr::Subgraph)->numNodes();
        continue;
      }
      for (Block* inner : node->blocks()) visit(inner);
      const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
      if (op && op->isOfDispatcher() && mayPassGradients(node))
        ++on_tape_[{op->schema().name(), whyOnTape(*op, *node)}];
    }
  }

  size_t num_regions_ = 0, num_nodes_ = 0;
  Counts on_tape_;
};

/// Empty if no kernels are made.
class KernelReport {
 public:
  std::vector<std::string> write(const Plan& plan) {
    if (options::kernels() == KernelMode::Off) return {};
    findNeighbors(*plan.graph);
    visit(plan.graph->block(), plan.code.get());
    writeCounts("no kernel", alone_, lines_);
    return std::move(lines_);
  }

 private:
  /// Groups are formed once more, in a copy.
  void findNeighbors(const Graph& graph) {
    const std::shared_ptr<Graph> copy = graph.copy();
    takeApart(copy->block());
    neighbors_ = neighborsOfGroups(*copy);
  }

  static void takeApart(Block* block) {
    for (Node* node = *block->nodes().begin(); node != block->returnNode();) {
      for (Block* inner : node->blocks()) takeApart(inner);
      const bool is_fused = isSubgraph(*node, SubgraphKind::Fused) || isSubgraph(*node, SubgraphKind::Sequence);
      node = is_fused ? inlineSubgraph(node) : node->next();
    }
  }

  void visit(Block* block, const Code* code) {
    for (Node* node : block->nodes()) {
      if (isSubgraph(*node)) {
        const CompiledSubgraph* compiled =
            code && next_ < code->subgraphs.size() ? code->subgraphs[next_].get() : nullptr;
        ++next_;
        if (isSubgraph(*node, SubgraphKind::Differentiable)) continue;  // fused where they are compiled
        const LaunchReport launches = compiled ? reportLaunches(*compiled) : LaunchReport();
        if (isSubgraph(*node, SubgraphKind::Fused)) {
          addGroup(*node, "", launches, 0);
        } else {
          addSequence(*node, launches);
        }
        continue;
      }
      for (Block* inner : node->blocks()) visit(inner, code);
      addAlone(*node);
    }
  }

  void addAlone(const Node& node) {
    const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
    if (!op || (!codegen::ScalarBody::of(*op) && !codegen::IndexRule::of(*op))) return;
    if (options::numerics() == Numerics::Default && OperatorCall::of(*op, node)) {
      const std::string failure = codegen::whyNoneAheadOfTime();
      if (failure.empty()) {
        lines_.push_back("kernel: 1 operator, built ahead of time: " + op->fullName());
      } else {
        ++alone_[{op->fullName(), failure}];
      }
      return;
    }
    ++alone_[{
        op->fullName(), codegen::whyNotFusible(codegen::fusibilityOf(node)).value_or("it takes a list that changes")}];
  }

  void addSequence(const Node& sequence, const LaunchReport& launches) {
    const size_t line = lines_.size();
    lines_.emplace_back();
    size_t count = 0, item = 0;
    for (const Node* node : sequence.g(attr::Subgraph)->nodes()) {
      if (isSubgraph(*node)) {
        addGroup(*node, "  ", launches, item++);
        ++count;
      } else if (codegen::isJoin(*node)) {
        lines_.push_back(
            "  kernels: " + std::string(node->kind().toUnqualString()) + " of what is not computed in place");
        addLaunches("    ", launches, item++);
      }
    }
    lines_[line] = "one call of kernels for " + std::to_string(count) + (count == 1 ? " group:" : " groups:");
  }

  void addGroup(const Node& group, const std::string& indent, const LaunchReport& launches, size_t item) {
    std::string operators;
    std::vector<std::string> names;
    for (const Node* node : group.g(attr::Subgraph)->nodes()) {
      if (!codegen::isCall(*node)) continue;
      if (!codegen::makesKnownViews(*node)) names.emplace_back(node->kind().toUnqualString());
      operators += (operators.empty() ? "" : ", ") + std::string(node->kind().toUnqualString());
    }
    const auto nodes = group.g(attr::Subgraph)->nodes();
    const auto count = static_cast<size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](const Node* n) { return codegen::isCall(*n); }));
    lines_.push_back(
        indent + "kernel: " + std::to_string(count) + (count == 1 ? " operator, " : " operators, ") +
        std::to_string(group.outputs().size()) + (group.outputs().size() == 1 ? " result: " : " results: ") +
        operators);
    addLaunches(indent + "  ", launches, item);
    if (group_ < neighbors_.size() && neighbors_[group_].operators == names) {
      for (const std::string& reason : neighbors_[group_].reasons) lines_.push_back(indent + "  without " + reason);
    }
    ++group_;
  }

  void addLaunches(const std::string& indent, const LaunchReport& launches, size_t item) {
    if (item >= launches.items.size()) return;
    for (const std::string& line : launches.items[item]) lines_.push_back(indent + line);
  }

  std::vector<std::string> lines_;
  Counts alone_;
  std::vector<GroupNeighbors> neighbors_;
  size_t group_ = 0;  // the next, of neighbors_
  size_t next_ = 0;   // subgraph, in the order in which code has them
};

}  // namespace

ExecutionReport::PlanReport describePlan(const PreparedFunction& prepared, const Plan& plan) {
  ExecutionReport::PlanReport report;
  const AmbientState ambient = SignatureReader::ambient(plan.signature);
  report.ambient = ambient.toString();
  const std::vector<int64_t> shared = prepared.reader.sharedMemory(plan.signature);
  std::vector<std::string> tensors;
  const size_t num_arguments = prepared.reader.arguments().size();
  for (const auto& [input, kind] : prepared.reader.describe(plan.signature)) {
    const bool is_argument = input < num_arguments;
    auto& to = is_argument ? report.inputs : report.attributes;
    const std::string name = is_argument ? prepared.graph->inputs()[input]->debugName()
                                         : prepared.reader.attributes()[input - num_arguments].name;
    to.push_back(name + ": " + kind.toString());
    if (kind.kind != ValueKind::Kind::Tensor) continue;
    const size_t tensor = tensors.size();
    tensors.push_back(name);
    if (!shared.empty() && shared[tensor] != static_cast<int64_t>(tensor))
      to.back() += ", shares memory with " + tensors[static_cast<size_t>(shared[tensor])];
  }
  for (const auto& site : plan.sites) {
    if (!site) continue;
    std::string text;
    for (size_t i = 0; i < site->numValues(); ++i) {
      const auto kind = site->promised(i);
      text += (i ? "; " : "") + site->name(i) + ": " + (kind ? kind->toString() : "watched");
    }
    if (site->numFailures()) text += ", failed " + std::to_string(site->numFailures()) + " times";
    report.guards.push_back(std::move(text));
  }
  report.notes = plan.notes;
  report.graph = plan.graph;
  report.num_nodes = plan.graph->numNodes();
  report.kernels = KernelReport().write(plan);
  if (ambient.recordsGradients()) report.gradients = GradientReport().write(plan.graph->block());
  return report;
}

std::string_view toString(WithoutPlan reason) {
  switch (reason) {
    case WithoutPlan::FirstCall:
      return "the first call: plans are made from the second call on";
    case WithoutPlan::Interpreted:
      return "the execution mode of the process or of the thread";
    case WithoutPlan::Limited:
      return "limits of time or memory";
    case WithoutPlan::Profiled:
      return "a profiler";
    case WithoutPlan::Transformed:
      return "a trace, a dispatch mode or functorch";
    case WithoutPlan::Hooked:
      return "hooks for saved tensors, or autograd's anomaly mode";
    case WithoutPlan::NotPlain:
      return "a tensor that is a subclass, sparse, quantized, nested, conjugated or undefined";
    case WithoutPlan::Tangents:
      return "tangents of arguments: gradients in forward mode";
    case WithoutPlan::TooManyKinds:
      return "more kinds of arguments than there may be plans";
    case WithoutPlan::Failed:
      return "an error of the optimizer";
  }
  return "";
}

}  // namespace cresset
