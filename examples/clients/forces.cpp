// Molecular dynamics on a learned potential: the model gives an energy, its gradient gives the forces.
//
//   forces forces.pt
#ifdef TORCH_JIT
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/script.h>
namespace jit = torch::jit;
// Gradients as eager computes them, and Cresset: torch::jit's own take over in the second call, and differ in last
// bits.
[[maybe_unused]] const bool kAsEager = (jit::setGraphExecutorOptimize(false), true);
#else
#include <cresset/torch_jit.h>
namespace jit = cresset::jit;
#endif

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros_like.h>

#include <iostream>
#include <tuple>
#include <vector>

#include "printing.h"

namespace {

constexpr int64_t kAtoms = 6;

/// Pairs of neighbours, as the model's signature has them: List[Tuple[int, int]].
c10::List<std::tuple<int64_t, int64_t>> allPairs() {
  c10::List<std::tuple<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < kAtoms; ++i) {
    for (int64_t j = i + 1; j < kAtoms; ++j) pairs.push_back({i, j});
  }
  return pairs;
}

struct Step {
  double energy;
  at::Tensor forces;
};

Step evaluate(jit::Module& model, const at::Tensor& positions, const at::Tensor& kinds) {
  at::Tensor leaf = positions.detach().clone();
  leaf.set_requires_grad(true);
  c10::Dict<std::string, at::Tensor> atoms;
  atoms.insert("positions", leaf);
  atoms.insert("kinds", kinds);
  auto result = model.forward({atoms, allPairs()}).toGenericDict();
  at::Tensor energy = result.at("energy").toTensor();
  energy.backward();
  return {energy.item<double>(), -leaf.grad()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: forces ARCHIVE\n";
    return 2;
  }
  jit::script::Module model;
  try {
    model = jit::load(argv[1], at::kCPU);
  } catch (const c10::Error& error) {
    std::cerr << "the model can't be loaded\n" << error.what_without_backtrace() << '\n';
    return 1;
  }
  model.eval();
  for (const at::Tensor& parameter : model.parameters()) parameter.set_requires_grad(false);

  at::Tensor positions = at::sin(at::arange(kAtoms * 3, at::kDouble) * 1.7).view({kAtoms, 3}) * 1.3;
  at::Tensor velocities = at::zeros_like(positions);
  const at::Tensor kinds = at::remainder(at::arange(kAtoms, at::kLong), 2);
  constexpr double kTimeStep = 0.02;
  Step step = evaluate(model, positions, kinds);
  for (int i = 0; i < 20; ++i) {
    velocities = velocities + step.forces * (kTimeStep / 2);
    positions = positions + velocities * kTimeStep;
    step = evaluate(model, positions, kinds);
    velocities = velocities + step.forces * (kTimeStep / 2);
    print("energy", step.energy);
  }
  print("forces", step.forces);
  print("positions", positions);
}
