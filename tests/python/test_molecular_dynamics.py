"""The example that trains on forces: equal to eager step by step, with one plan for all sizes, and the same in C++."""

import copy
import pathlib
import subprocess
import sys

import pytest
import torch

import cresset

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "molecular_dynamics"
PROGRAM = pathlib.Path(cresset.__file__).parents[2] / "bin" / "example-md-step"


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(EXAMPLE))
    try:
        import potential
        import train

        yield potential, train
    finally:
        sys.path.remove(str(EXAMPLE))


def test_training_on_forces(example):
    potential, train = example
    torch.manual_seed(0)
    eager = potential.Potential(features=8, radial=6, interactions=2).double()
    script = cresset.script(copy.deepcopy(eager))
    expected, _, _ = train.train(eager, 20)
    found, losses, _ = train.train(script, 20)
    assert train.difference(found[0], expected[0]) <= 1e-12
    assert train.difference(found[-1], expected[-1]) <= 1e-9
    assert len(cresset.explain(script).plans) == 1
    assert losses[-1] != losses[0]


def test_no_plans_after_the_third_step(example):
    potential, train = example
    torch.manual_seed(0)
    script = cresset.script(potential.Potential(features=8, radial=6, interactions=2).double())
    train.train(
        script, 3
    )  # the gradient has a plan from its second call, and knows the rank of what it squeezes from the third
    with cresset.passes.options(time=True):
        train.train(script, 6, seed=1)
        assert cresset.passes.figures() == {}  # no pass has run: neither a plan nor a gradient was compiled


def test_forces_without_python(example, tmp_path):
    if not PROGRAM.exists():
        pytest.skip("the example's program is not built beside an installed package")
    potential, _ = example
    torch.manual_seed(0)
    model = potential.Potential(features=8, radial=6, interactions=2).double()
    path = tmp_path / "potential.pt"
    cresset.script(model).save(path)
    out = subprocess.run([PROGRAM, path, "5"], capture_output=True, text=True, check=True).stdout

    axis = torch.arange(2, dtype=torch.float64) * 2.6
    positions = torch.cartesian_prod(axis, axis, torch.arange(3, dtype=torch.float64) * 2.6)
    positions = positions + 0.1 * torch.sin(torch.arange(36, dtype=torch.float64).reshape(12, 3))
    species = torch.arange(12) % 4

    def evaluate(positions):
        distances = torch.cdist(positions, positions)
        edges = torch.nonzero((distances < 5.0) & (distances > 0)).t().contiguous()
        energy, forces = model(positions.clone().requires_grad_(), species, edges)
        return energy.item(), forces.detach()

    velocities = torch.zeros_like(positions)
    energy, forces = evaluate(positions)
    for line in out.splitlines():
        velocities = velocities + 0.5 * 0.05 * forces
        positions = positions + 0.05 * velocities
        energy, forces = evaluate(positions)
        velocities = velocities + 0.5 * 0.05 * forces
        _, _, potential_energy, _, kinetic_energy = line.split()
        assert float(potential_energy) == pytest.approx(energy, rel=1e-10)
        assert float(kinetic_energy) == pytest.approx(0.5 * velocities.pow(2).sum().item(), rel=1e-9, abs=1e-12)
    assert len(out.splitlines()) == 5
