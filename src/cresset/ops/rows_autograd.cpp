// Differentiation from within a script, and the grad mode.
#include <ATen/core/jit_type.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

using at::Tensor;

std::vector<Tensor> tensorsOf(const IValue& list) {
  std::vector<Tensor> result;
  if (list.isNone()) return result;
  for (const IValue& v : listOf(list).list) result.push_back(v.isNone() ? Tensor() : v.toTensor());
  return result;
}
std::optional<bool> optionalBool(const IValue& v) {
  return v.isNone() ? std::nullopt : std::optional<bool>(v.toBool());
}

// Backward writes .grad of leaves that no argument names, so none of these is pure.
constexpr Row kAutogradRows[] = {
    {"aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()",
     kernel([](const Tensor& self, IValue& gradient, IValue& retain, bool create_graph) {
       std::vector<Tensor> gradients;
       if (!gradient.isNone()) gradients.push_back(gradient.toTensor());
       torch::autograd::backward({self}, gradients, optionalBool(retain), create_graph);
     }),
     kEffect},
    {"aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? retain_graph=None, bool "
     "create_graph=False) -> ()",
     kernel([](IValue& tensors, IValue& gradients, IValue& retain, bool create_graph) {
       torch::autograd::backward(tensorsOf(tensors), tensorsOf(gradients), optionalBool(retain), create_graph);
     }),
     kEffect},
    {"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None, bool "
     "create_graph=False, bool allow_unused=False) -> Tensor?[]",
     kernel(
         [](IValue& outputs, IValue& inputs, IValue& gradients, IValue& retain, bool create_graph, bool allow_unused) {
           auto grads = torch::autograd::grad(
               tensorsOf(outputs), tensorsOf(inputs), tensorsOf(gradients), optionalBool(retain), create_graph,
               allow_unused);
           std::vector<IValue> values;
           for (Tensor& g : grads) values.push_back(g.defined() ? IValue(std::move(g)) : IValue());
           return newList(std::move(values), c10::OptionalType::ofTensor());
         }),
     kEffect},
    {"aten::is_grad_enabled() -> bool", kernel([]() { return c10::GradMode::is_enabled(); }), kEffect},
    {"aten::set_grad_enabled(bool val) -> ()", kernel([](bool on) { c10::GradMode::set_enabled(on); }), kEffect},
};

}  // namespace

std::span<const Row> autogradRows() {
  return kAutogradRows;
}

}  // namespace cresset
