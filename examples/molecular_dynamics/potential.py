"""A potential in the manner of SchNet (Schütt et al. 2017): an energy per cluster of atoms, and its negative gradient, the forces.

The gradient is taken inside the module, with `create_graph=True`, so that a loss on the forces can train it.
"""

import math
from typing import Tuple

import torch
from torch import Tensor, nn


def shifted_softplus(x: Tensor) -> Tensor:
    return nn.functional.softplus(x) - math.log(2.0)


class Interaction(nn.Module):
    """Continuous-filter convolution: neighbours send their features, weighted by a function of the distance."""

    def __init__(self, features: int, radial: int):
        super().__init__()
        self.filter_in = nn.Linear(radial, features)
        self.filter_out = nn.Linear(features, features)
        self.send = nn.Linear(features, features, bias=False)
        self.update_in = nn.Linear(features, features)
        self.update_out = nn.Linear(features, features)

    def forward(self, x: Tensor, basis: Tensor, cutoff: Tensor, sender: Tensor, receiver: Tensor) -> Tensor:
        weights = self.filter_out(shifted_softplus(self.filter_in(basis))) * cutoff.unsqueeze(1)
        messages = self.send(x).index_select(0, sender) * weights
        gathered = torch.zeros_like(x).index_add(0, receiver, messages)
        return x + self.update_out(shifted_softplus(self.update_in(gathered)))


class Potential(nn.Module):
    """`positions` [atoms, 3] in ångström, `species` [atoms] (int64), `edges` [2, pairs] (int64: sender, receiver)
    to (energy, forces [atoms, 3])."""

    def __init__(
        self, species: int = 4, features: int = 32, radial: int = 16, interactions: int = 3, cutoff: float = 5.0
    ):
        super().__init__()
        self.cutoff = cutoff
        self.spacing = cutoff / (radial - 1)
        self.embedding = nn.Embedding(species, features)
        self.interactions = nn.ModuleList([Interaction(features, radial) for _ in range(interactions)])
        self.readout_in = nn.Linear(features, features)
        self.readout_out = nn.Linear(features, 1)
        self.register_buffer("centers", torch.linspace(0.0, cutoff, radial))

    def energy(self, positions: Tensor, species: Tensor, edges: Tensor) -> Tensor:
        sender, receiver = edges[0], edges[1]
        offsets = positions.index_select(0, sender) - positions.index_select(0, receiver)
        distances = torch.sqrt((offsets * offsets).sum(1))
        basis = torch.exp(-0.5 * ((distances.unsqueeze(1) - self.centers) / self.spacing) ** 2)
        cutoff = 0.5 * (torch.cos(distances * (math.pi / self.cutoff)) + 1.0)
        x = self.embedding(species)
        for interaction in self.interactions:
            x = interaction(x, basis, cutoff, sender, receiver)
        return self.readout_out(shifted_softplus(self.readout_in(x))).sum()

    def forward(self, positions: Tensor, species: Tensor, edges: Tensor) -> Tuple[Tensor, Tensor]:
        energy = self.energy(positions, species, edges)
        gradients = torch.autograd.grad([energy], [positions], create_graph=True)
        slope = gradients[0]
        assert slope is not None
        return energy, -slope


def lennard_jones(positions: Tensor, edges: Tensor) -> Tuple[Tensor, Tensor]:
    """What is learned: the forces of a Lennard-Jones cluster with a depth of 0.1 eV and a minimum at 2.5 ångström."""
    positions = positions.detach().requires_grad_()
    offsets = positions[edges[0]] - positions[edges[1]]
    ratio = (2.5 * 2.5 / (offsets * offsets).sum(1)) ** 3
    energy = 0.05 * (ratio * ratio - 2 * ratio).sum()  # each pair stands in both directions
    return energy.detach(), -torch.autograd.grad(energy, positions)[0]


def cluster(generator: torch.Generator, cutoff: float = 5.0):
    """8 to 24 atoms near the points of a cubic lattice, and all pairs within the cutoff."""
    count = int(torch.randint(8, 25, (), generator=generator))
    lattice = torch.cartesian_prod(*[torch.arange(3, dtype=torch.float64)] * 3) * 2.7
    chosen = torch.randperm(len(lattice), generator=generator)[:count]
    positions = lattice[chosen] + 0.1 * torch.randn(count, 3, dtype=torch.float64, generator=generator)
    species = torch.randint(0, 4, (count,), generator=generator)
    distances = torch.cdist(positions, positions)
    edges = torch.nonzero((distances < cutoff) & (distances > 0)).t().contiguous()
    return positions, species, edges
