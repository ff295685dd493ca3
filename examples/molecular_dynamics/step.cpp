// Moves atoms on a trained potential, without Python: step POTENTIAL.pt [STEPS]
//
// Velocity Verlet, masses of one, from rest. The forces come from the model's energy by `backward`; the model's own
// forward, which takes the gradient inside the program, must return the same.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cartesian_prod.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros_like.h>
#include <cresset/cresset.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr double kCutoff = 5.0, kStep = 0.05;

at::Tensor edgesOf(const at::Tensor& positions) {
  const at::Tensor distances = at::cdist(positions, positions);
  return at::nonzero((distances < kCutoff) & (distances > 0)).t().contiguous();
}

struct State {
  double energy;
  at::Tensor forces;
};

State evaluate(cresset::Module& model, const at::Tensor& positions, const at::Tensor& species) {
  const at::Tensor edges = edgesOf(positions);
  const at::Tensor leaf = positions.clone().set_requires_grad(true);
  const at::Tensor energy = model.run_method("energy", leaf, species, edges).toTensor();
  energy.backward();
  const auto inside = model.forward({leaf, species, edges}).toTuple();
  if (!at::equal(inside->elements()[1].toTensor().detach(), -leaf.grad()))
    throw std::runtime_error("forward's forces are not those of backward");
  return {energy.item<double>(), -leaf.grad()};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: %s POTENTIAL.pt [STEPS]\n", argv[0]), 2;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20;
  cresset::Module model = cresset::load(argv[1]);
  const at::Tensor axis = at::arange(2, at::kDouble) * 2.6;
  at::Tensor positions = at::cartesian_prod({axis, axis, at::arange(3, at::kDouble) * 2.6});
  positions = positions + 0.1 * at::sin(at::arange(positions.numel(), at::kDouble).reshape(positions.sizes()));
  const at::Tensor species = at::remainder(at::arange(positions.size(0)), 4);
  at::Tensor velocities = at::zeros_like(positions);
  State now = evaluate(model, positions, species);
  for (int step = 0; step < steps; ++step) {
    velocities = velocities + 0.5 * kStep * now.forces;
    positions = positions + kStep * velocities;
    now = evaluate(model, positions, species);
    velocities = velocities + 0.5 * kStep * now.forces;
    const double kinetic = 0.5 * (velocities * velocities).sum().item<double>();
    std::printf("%3d  potential %.12f  kinetic %.12f\n", step + 1, now.energy, kinetic);
  }
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
