"""Trains a scripted module on several processes, each with its part of the data, and checks that it learns exactly what
eager PyTorch learns.

    torchrun --nproc-per-node 2 examples/distributed/train.py

Gradients are averaged by DistributedDataParallel, whose hooks run as the scripted backward pass delivers them, also
when several batches are accumulated before a step. The validation loss is averaged inside of the program, by an
operator of torch.distributed.
"""

import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import cresset

STEPS, ACCUMULATED = 5, 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


class MeanOverProcesses(nn.Module):
    """What each process has, averaged: a collective inside of a script."""

    def __init__(self, group: str):
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.ops._c10d_functional.all_reduce(x, "avg", self.group)
        return torch.ops._c10d_functional.wait_tensor(total)


def batch(step):
    generator = torch.Generator().manual_seed(1000 * dist.get_rank() + step)
    x = torch.randn(16, 8, generator=generator)
    return x, x.sum(1, keepdim=True).sin()


def train(module):
    """The trained module, and its mean loss over all processes."""
    parallel = DistributedDataParallel(module)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        for part in range(ACCUMULATED):
            x, y = batch(step * ACCUMULATED + part)
            # Gradients are exchanged when the last part comes.
            with contextlib.nullcontext() if part == ACCUMULATED - 1 else parallel.no_sync():
                nn.functional.mse_loss(parallel(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    x, y = batch(-1)
    return nn.functional.mse_loss(module(x), y).detach()


def main():
    cresset.options.set(numerics="exact")  # eager's bits, so that they can be compared
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    eager = Net()
    scripted = cresset.script(copy.deepcopy(eager))
    losses = [train(module) for module in (eager, scripted)]
    mean = cresset.script(MeanOverProcesses(dist.group.WORLD.group_name))
    averages = [mean(loss).item() for loss in losses]
    same = all(torch.equal(a, b) for a, b in zip(eager.parameters(), scripted.parameters()))
    everywhere = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(everywhere, next(scripted.parameters()).detach().sum().reshape(1))
    if dist.get_rank() == 0:
        agree = all(torch.equal(everywhere[0], other) for other in everywhere)
        print(f"processes: {dist.get_world_size()}, the same parameters in each: {agree}")
        print(f"loss {averages[1]:.6f}, eager's {averages[0]:.6f}, parameters equal: {same}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
