#include "filetest_plans.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>

#include "cresset/analysis/facts.h"
#include "cresset/analysis/gradients.h"
#include "cresset/autodiff/differentiate.h"
#include "cresset/executor/executor.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ir/verifier.h"
#include "cresset/support/error.h"
#include "filetest_calls.h"

namespace cresset::tools {

namespace {

/// Whatever it raises: what it is compiled to shows all the same.
void runOnce(const Call& call) {
  std::vector<c10::IValue> stack = call.evaluate().arguments;
  try {
    call.function->run(stack);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
}

std::shared_ptr<Graph> planOf(const Call& call) {
  runOnce(call);
  runOnce(call);
  return graphFor(*call.function, call.evaluate().arguments);
}

std::string printed(const Graph& graph) {
  return toString(graph, {.source_ranges = false});
}

bool carriesGradient(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType && mayRequireGrad(value->type());
}

std::string namesOf(std::span<Value* const> values) {
  std::string names;
  for (const Value* value : values) names += (names.empty() ? "%" : ", %") + value->debugName();
  return names.empty() ? "nothing" : names;
}

/// The subgraphs of a graph that are differentiated at compile time.
void collectRegions(Block* block, std::vector<std::shared_ptr<Graph>>& out) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) collectRegions(inner, out);
    if (isSubgraph(*node, SubgraphKind::Differentiable)) out.push_back(node->g(attr::Subgraph));
  }
}

/// The gradient of all outputs with respect to all inputs, as the first backward pass makes it.
std::string printGradient(const Graph& region) {
  const std::shared_ptr<Graph> forward = region.copy();
  std::vector<Value*> of, wanted;
  for (Value* output : forward->outputs()) {
    if (carriesGradient(output)) of.push_back(output);
  }
  for (Value* input : forward->inputs()) {
    if (carriesGradient(input)) wanted.push_back(input);
  }
  const Gradient gradient = differentiate(*forward, of, wanted);
  verify(*gradient.graph);
  return "# forward\n" + printed(*forward) + "# keeps " + namesOf(gradient.captured) + "\n# backward, of " +
         namesOf(of) + " with respect to " + namesOf(gradient.with_respect_to) + "\n" + printed(*gradient.graph);
}

std::string linesOf(const std::string& title, const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "  " + title + line + "\n";
  return out;
}

void tell(Value* input, const c10::IValue& argument) {
  if (!argument.isTensor() || input->type()->kind() != c10::TypeKind::TensorType) return;
  const at::Tensor& tensor = argument.toTensor();
  input->setType(c10::TensorType::create(tensor.scalar_type(), tensor.device(), tensor.dim(), tensor.requires_grad()));
}

class FactPrinter {
 public:
  explicit FactPrinter(Graph& graph) : facts_(computeFactsAndSizes(graph, {})) {
    print(graph.block(), "");
    out_ += "known of " + std::to_string(tensors_) + " tensors:";
    for (const auto& [what, count] : known_)
      out_ += (out_.back() == ':' ? " " : ", ") + what + " " + std::to_string(count);
    out_ += "\n";
  }

  const std::string& text() const { return out_; }

 private:
  void print(Block* block, const std::string& indent) {
    for (const Value* input : block->inputs()) print(input, indent);
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) print(inner, indent + "  ");
      for (const Value* output : node->outputs()) print(output, indent);
    }
  }

  void print(const Value* value, const std::string& indent) {
    names_[value->unique()] = "%" + value->debugName();
    if (value->type()->kind() != c10::TypeKind::TensorType) return;
    const TensorFacts& known = facts_.tensors.at(value->unique());
    out_ +=
        indent + "%" + value->debugName() + ": " + (known.dtype ? c10::toString(*known.dtype) : "?") + sizesOf(value);
    if (known.device) out_ += " on " + known.device->str();
    out_ += layoutOf(value);
    if (known.is_new) out_ += ", new";
    count(value);
    if (known.requires_grad) out_ += *known.requires_grad ? ", requires a gradient" : ", requires no gradient";
    out_ += "\n";
  }

  std::string sizesOf(const Value* value) const {
    return facts_.of(value).rank ? listed(facts_.sizesOf(value)) : " of unknown rank";
  }

  /// Strides that follow from sizes are not repeated.
  std::string layoutOf(const Value* value) const {
    const Contiguity contiguity = facts_.of(value).contiguity;
    std::string text = !isDense(contiguity) ? "" : ", " + std::string(nameOf(contiguity));
    if (contiguity != Contiguity::Contiguous && contiguity != Contiguity::ChannelsLast && saysStrides(value))
      text += ", strides " + listed(facts_.stridesOf(value));
    return text;
  }

  bool saysStrides(const Value* value) const {
    const auto strides = facts_.stridesOf(value);
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != Size::ofStride(value->unique(), i)) return true;
    }
    return false;
  }

  std::string listed(std::span<const Size> sizes) const {
    std::string text;
    for (const Size& size : sizes) {
      const auto nameOf = [&](size_t unique) { return names_.contains(unique) ? names_.at(unique) : "?"; };
      text += (text.empty() ? "" : ", ") + size.toString(nameOf);
    }
    return "(" + text + ")";
  }

  void count(const Value* value) {
    const TensorFacts& known = facts_.of(value);
    const bool is_known[] = {
        known.dtype.has_value(),
        known.rank.has_value(),
        known.device.has_value(),
        known.requires_grad.has_value(),
        isDense(known.contiguity),
        saysStrides(value),
        known.is_new};
    for (size_t i = 0; i < known_.size(); ++i) known_[i].second += is_known[i];
    ++tensors_;
  }

  const GraphFacts facts_;
  int tensors_ = 0;
  std::vector<std::pair<std::string, int>> known_ = {
      {"dtype", 0}, {"rank", 0}, {"device", 0}, {"requires_grad", 0}, {"contiguity", 0}, {"strides", 0}, {"new", 0}};
  std::map<size_t, std::string> names_;  // by Value::unique()
  std::string out_;
};

std::string factsOf(Graph& graph, std::span<const PassInfo* const> passes) {
  for (const PassInfo* pass : passes) {
    pass->run(graph, {});
    verify(graph);
  }
  return FactPrinter(graph).text();
}

}  // namespace

std::string printPlans(const TestFile& test) {
  const auto program = programOfTest(test);
  std::string out;
  for (const Call& call : callsOf(test, *program)) out += "# " + call.text + "\n" + printed(*planOf(call));
  return out;
}

std::string printGradients(const TestFile& test) {
  const auto program = programOfTest(test);
  std::string out;
  for (const Call& call : callsOf(test, *program)) {
    out += "# " + call.text + "\n";
    std::vector<std::shared_ptr<Graph>> regions;
    collectRegions(planOf(call)->block(), regions);
    if (regions.empty()) out += "no differentiable region\n";
    for (const auto& region : regions) out += printGradient(*region);
  }
  return out;
}

std::string printGuards(const TestFile& test) {
  const auto program = programOfTest(test);
  std::vector<Function*> functions;
  for (const Call& call : callsOf(test, *program)) {
    runOnce(call);
    if (std::find(functions.begin(), functions.end(), call.function) == functions.end())
      functions.push_back(call.function);
  }
  std::string out;
  for (Function* function : functions) {
    const ExecutionReport report = explain(*function);
    out += "# " + function->name() + (report.state.empty() ? "" : ": " + report.state) + "\n";
    for (const auto& plan : report.plans) {
      out += "plan" + (plan.where.empty() ? "" : " " + plan.where) + ": " + plan.ambient + "\n";
      out += linesOf("input ", plan.inputs) + linesOf("attribute ", plan.attributes) + linesOf("guard ", plan.guards) +
             linesOf("", plan.gradients) + linesOf("note: ", plan.notes);
    }
    for (size_t i = 0; i < kNumWithoutPlan; ++i) {
      if (report.without_plan[i])
        out += "without a plan, " + std::to_string(report.without_plan[i]) + ": " +
               std::string(toString(WithoutPlan(i))) + "\n";
    }
    out += linesOf("error: ", report.errors);
  }
  return out;
}

std::string printFacts(const TestFile& test, std::span<const PassInfo* const> passes) {
  if (test.path.extension() == ".ir") {
    const auto graph = graphOfTest(test);
    return factsOf(*graph, passes);
  }
  const auto program = programOfTest(test);
  std::string out;
  for (const Call& call : callsOf(test, *program)) {
    const std::shared_ptr<Graph> graph = call.function->graph()->copy();
    const std::vector<c10::IValue> arguments = call.evaluate().arguments;
    for (size_t i = 0; i < arguments.size(); ++i) tell(graph->inputs()[i], arguments[i]);
    out += "# " + call.text + "\n" + factsOf(*graph, passes);
  }
  return out;
}

}  // namespace cresset::tools
