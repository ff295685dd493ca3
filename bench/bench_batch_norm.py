"""Batch norm and relu in training, as a script beside eager PyTorch: the call without gradients, and forward with backward.

``python bench/bench_batch_norm.py [ROUNDS] [--channels-last]``. One thread; kernels are made before the first timing. Of each kind the
least time of each round; medians of the ratios to eager's. `exact` keeps ATen's kernels.
"""

import statistics
import sys
import time

import torch
from torch import nn

import cresset

SIZES = [(8, 32, 1000), (32, 256, 7, 7), (64, 128), (4, 16, 8, 8), (16, 64, 3, 3), (32, 64, 28, 28), (32, 64, 56, 56)]
NORMS = [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d]  # by the number of dimensions, from 2


def block(sizes):
    """Of a class of its own: scripts of one class have one set of plans, made with the numerics of their first calls."""

    class Block(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.norm = NORMS[len(sizes) - 2](sizes[1])

        def forward(self, x):
            return torch.relu(self.norm(x))

    return Block(sizes)


def least(call, seconds=0.05):
    """The least time of a call, in seconds."""
    best, count, start = float("inf"), 1, time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - begin
        best = min(best, taken / count)
        if taken < 1e-4:
            count *= 2
    return best


def steps(module, x, gradient, numerics):
    """The call without gradients, and the training step."""
    leaf = x.clone().requires_grad_()

    def forward():
        with cresset.options.override(numerics=numerics), torch.no_grad():
            module(x)

    def train():
        for tensor in (leaf, *module.parameters()):
            tensor.grad = None
        with cresset.options.override(numerics=numerics):
            module(leaf).backward(gradient)

    return forward, train


def main(rounds, channels_last):
    torch.set_num_threads(1)
    cresset.options.kernels = "now"
    print("sizes: forward (exact), training (exact), of eager's time")
    for sizes in SIZES:
        x = torch.randn(sizes)
        if channels_last:
            if len(sizes) != 4:
                continue
            x = x.to(memory_format=torch.channels_last)
        gradient = torch.randn_like(x)
        kinds = {
            "eager": steps(block(sizes), x, gradient, "default"),
            "default": steps(cresset.script(block(sizes)), x, gradient, "default"),
            "exact": steps(cresset.script(block(sizes)), x, gradient, "exact"),
        }
        for pair in kinds.values():
            for step in pair * 4:  # plans and kernels are made
                step()
        ratios = {(kind, place): [] for kind in ("default", "exact") for place in (0, 1)}
        for _ in range(rounds):
            times = {(kind, place): least(pair[place]) for place in (0, 1) for kind, pair in kinds.items()}
            for kind, place in ratios:
                ratios[kind, place].append(times[kind, place] / times["eager", place])
        told = [statistics.median(ratios[kind, place]) for place in (0, 1) for kind in ("default", "exact")]
        print("{}: {:.2f} ({:.2f}), {:.2f} ({:.2f})".format(sizes, *told), flush=True)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    main(*(numbers or [5]), "--channels-last" in sys.argv)
