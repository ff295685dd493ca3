// Differentiation from within a script, and the grad mode.
#include <ATen/core/jit_type.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/input_metadata.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/tape.h"

namespace cresset {

namespace {

using at::Tensor;

std::vector<Tensor> tensorsOf(const IValue& list) {
  std::vector<Tensor> result;
  if (list.isNone()) return result;
  for (const IValue& v : listOf(list).list) result.push_back(v.isNone() ? Tensor() : v.toTensor());
  return result;
}
/// Frees what the engine would free, had it gone from the outputs to the inputs: what the nodes on the ways keep.
void releaseGraph(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  using torch::autograd::Edge;
  using torch::autograd::Node;
  std::vector<Edge> ends;
  ends.reserve(inputs.size());
  for (const Tensor& input : inputs) ends.push_back(torch::autograd::impl::gradient_edge(input));
  const auto isEnd = [&](const Edge& edge) { return std::find(ends.begin(), ends.end(), edge) != ends.end(); };
  enum class Leads { No, Yes };
  std::unordered_map<Node*, Leads> leads;
  std::unordered_map<Node*, std::vector<bool>> incoming;  // which of the gradients come in
  const auto mark = [&](const Edge& edge) {
    auto& mask = incoming[edge.function.get()];
    mask.resize(std::max<size_t>(mask.size(), edge.input_nr + 1));
    mask[edge.input_nr] = true;
  };
  std::vector<Edge> roots;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    roots.push_back(torch::autograd::impl::gradient_edge(output));
    if (!isEnd(roots.back())) mark(roots.back());
  }
  for (const Edge& root : roots) {
    if (isEnd(root)) continue;
    std::vector<std::pair<Node*, size_t>> path = {{root.function.get(), 0}};
    leads.try_emplace(root.function.get(), Leads::No);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == node->num_outputs()) {
        Node* done = node;
        path.pop_back();
        if (!path.empty() && leads[done] == Leads::Yes) leads[path.back().first] = Leads::Yes;
        continue;
      }
      const Edge& edge = node->next_edge(next++);
      if (!edge.is_valid()) continue;
      if (isEnd(edge)) {
        leads[node] = Leads::Yes;
      } else if (leads.try_emplace(edge.function.get(), Leads::No).second) {
        path.emplace_back(edge.function.get(), 0);
      } else if (leads[edge.function.get()] == Leads::Yes) {
        leads[node] = Leads::Yes;
      }
    }
  }
  const auto leadsToInput = [&](const Edge& edge) {
    return edge.is_valid() &&
           (isEnd(edge) || (leads.contains(edge.function.get()) && leads[edge.function.get()] == Leads::Yes));
  };
  for (const auto& [node, found] : leads) {
    if (found != Leads::Yes) continue;
    for (const Edge& edge : node->next_edges()) {
      if (leadsToInput(edge) && !isEnd(edge)) mark(edge);
    }
  }
  for (const auto& [node, found] : leads) {
    if (found != Leads::Yes) continue;
    auto* part = dynamic_cast<PartlyReleased*>(node);
    if (!part) {
      node->release_variables();
      continue;
    }
    std::vector<bool> wanted;
    for (const Edge& edge : node->next_edges()) wanted.push_back(leadsToInput(edge));
    incoming[node].resize(node->num_inputs());
    part->releaseFor(incoming[node], wanted);
  }
}

// Backward writes .grad of leaves that no argument names, so none of these is pure.
// What compiled gradients call, cresset::…, is not for programs.
constexpr Row kAutogradRows[] = {
    {"aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()",
     kernel([](const Tensor& self, IValue& gradient, IValue& retain, bool create_graph) {
       std::vector<Tensor> gradients;
       if (!gradient.isNone()) gradients.push_back(gradient.toTensor());
       torch::autograd::backward({self}, gradients, Arg<std::optional<bool>>::get(retain), create_graph);
     }),
     kEffect},
    {"aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? retain_graph=None, bool "
     "create_graph=False) -> ()",
     kernel([](IValue& tensors, IValue& gradients, IValue& retain, bool create_graph) {
       torch::autograd::backward(
           tensorsOf(tensors), tensorsOf(gradients), Arg<std::optional<bool>>::get(retain), create_graph);
     }),
     kEffect},
    {"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None, bool "
     "create_graph=False, bool allow_unused=False) -> Tensor?[]",
     kernel(
         [](IValue& outputs, IValue& inputs, IValue& gradients, IValue& retain, bool create_graph, bool allow_unused) {
           auto grads = torch::autograd::grad(
               tensorsOf(outputs), tensorsOf(inputs), tensorsOf(gradients), Arg<std::optional<bool>>::get(retain),
               create_graph, allow_unused);
           std::vector<IValue> values;
           for (Tensor& g : grads) values.push_back(g.defined() ? IValue(std::move(g)) : IValue());
           return newList(std::move(values), c10::OptionalType::ofTensor());
         }),
     kEffect},
    {"cresset::root_gradient(Tensor(a) gradient, Tensor output) -> Tensor(a)",
     kernel([](const Tensor& gradient, const Tensor& output) {
       if (gradient.sizes() == output.sizes()) return gradient;
       return torch::autograd::InputMetadata(output).maybe_reduce(
           0, gradient, [](const std::string& message) { return message; });
     }),
     Trait::None, Restriction::Internal},
    {"cresset::accumulate_gradient(Tensor leaf, Tensor gradient, bool create_graph) -> ()",
     kernel([](const Tensor& leaf, IValue& gradient, bool create_graph) {
       const at::AutoGradMode mode(create_graph);
       std::vector<Tensor> gradients;  // a tensor without other references is not copied
       gradients.push_back(std::move(gradient).toTensor());
       (*torch::autograd::impl::grad_accumulator(leaf))(std::move(gradients));
     }),
     kEffect, Restriction::Internal},
    {"cresset::release_graph(Tensor[] outputs, Tensor[] inputs) -> ()",
     kernel([](IValue& outputs, IValue& inputs) { releaseGraph(tensorsOf(outputs), tensorsOf(inputs)); }), kEffect,
     Restriction::Internal},
    {"aten::is_grad_enabled() -> bool", kernel([]() { return c10::GradMode::is_enabled(); }), kEffect},
    {"aten::set_grad_enabled(bool val) -> ()", kernel([](bool on) { c10::GradMode::set_enabled(on); }), kEffect},
};

}  // namespace

std::span<const Row> autogradRows() {
  return kAutogradRows;
}

}  // namespace cresset
