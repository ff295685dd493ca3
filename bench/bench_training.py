"""Training steps with compiled gradients, beside eager PyTorch and torch.jit: forward, backward, and the optimizer's step;
and the most memory that a step takes, in fresh processes.
"""

import copy
import importlib
import os
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

import cresset

ROUNDS = 60

for folder in ("tests/python", "examples/molecular_dynamics"):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", folder))


class Cell(nn.Module):
    """An LSTM cell as text books write it, four steps of it."""

    def __init__(self, size: int):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4 * size, size) * 0.1)
        self.v = nn.Parameter(torch.randn(4 * size, size) * 0.1)
        self.b = nn.Parameter(torch.zeros(4 * size))
        self.c = nn.Parameter(torch.zeros(4 * size))

    def forward(self, x, h, c):
        gates = x.mm(self.w.t()) + h.mm(self.v.t()) + self.b + self.c
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


def cell_step(module, data):
    h, c = torch.zeros_like(data), torch.zeros_like(data)
    for _ in range(4):
        h, c = module(data, h, c)
    return h.sum() + c.sum()


def mlp():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


def transformer():
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def resnet():
    return importlib.import_module("model_programs").ResNet()


def potential():
    return importlib.import_module("potential").Potential()


def force_step(module, cluster):
    """A loss on forces: the gradient of a gradient, taken inside of the module."""
    positions, species, edges = cluster
    energy, forces = module(positions.detach().requires_grad_(), species, edges)
    return forces.pow(2).mean() + energy * 0


def compare_forces(cluster):
    """Energy and forces alone, without a loss on them."""
    positions, species, edges = cluster
    modules = {key: made() for key, made in engines(potential()).items()}
    times = {key: [] for key in modules}
    for round_number in range(ROUNDS + 10):
        for key, module in modules.items():
            start = time.process_time()
            for _ in range(5):
                module(positions.detach().requires_grad_(), species, edges)
            if round_number >= 10:
                times[key].append(time.process_time() - start)
    medians = {key: statistics.median(values) for key, values in times.items()}
    print(
        f"energy and forces: cresset to eager {medians['cresset'] / medians['eager']:.2f}, to torch.jit"
        f" {medians['cresset'] / medians['torch.jit']:.2f}"
    )


def square_step(module, data):
    return module(data).pow(2).mean()


def engines(eager):
    return {
        "eager": lambda: eager,
        "torch.jit": lambda: torch.jit.script(copy.deepcopy(eager)),
        "cresset": lambda: cresset.script(copy.deepcopy(eager)),
    }


def measure(name, make, step, data):
    modules = {key: made() for key, made in engines(make()).items()}
    optimizers = {key: torch.optim.SGD(module.parameters(), 1e-3) for key, module in modules.items()}

    def run(key):
        optimizers[key].zero_grad()
        step(modules[key], data).backward()
        optimizers[key].step()

    for _ in range(20):
        for key in modules:
            run(key)
    pairs = zip(modules["eager"].parameters(), modules["cresset"].parameters(), strict=True)
    apart = max(((a - b).norm() / a.norm().clamp(min=1e-30)).item() for a, b in pairs)
    times = {key: [] for key in modules}
    for _ in range(ROUNDS):
        for key in modules:
            start = time.process_time()
            for _ in range(5):
                run(key)
            times[key].append((time.process_time() - start) / 5)
    medians = {key: statistics.median(values) * 1e6 for key, values in times.items()}
    print(
        f"{name:12} eager {medians['eager']:8.0f} us   torch.jit {medians['torch.jit']:8.0f} us   cresset"
        f" {medians['cresset']:8.0f} us   ratio to eager {medians['cresset'] / medians['eager']:.2f}, to torch.jit"
        f" {medians['cresset'] / medians['torch.jit']:.2f}   parameters'"
        f" relative difference to eager's: {apart:.1e}"
    )


#: Of each: how to make it, a step, and data of a size at which a step's tensors are most of the process's memory.
LARGE = {
    "LSTM cell": (lambda: Cell(256), cell_step, (8192, 256)),
    "MLP": (mlp, square_step, (200_000, 32)),
    "transformer": (transformer, square_step, (64, 128, 64)),
}


def memory_of_a_step(name, engine):
    """MB that the process's memory grows by at most during a step, after five."""
    make, step, size = LARGE[name]
    torch.manual_seed(0)
    module, data = engines(make())[engine](), torch.randn(size)
    optimizer = torch.optim.SGD(module.parameters(), 1e-3)

    def run():
        optimizer.zero_grad()
        step(module, data).backward()
        optimizer.step()

    def megabytes(what):
        line = next(line for line in open("/proc/self/status") if line.startswith(what))
        return int(line.split()[1]) / 1024

    for _ in range(5):
        run()
    before = megabytes("VmRSS")
    with open("/proc/self/clear_refs", "w") as out:
        out.write("5")  # the highest is counted from here
    run()
    print(megabytes("VmHWM") - before)


def compare_memory(name):
    # Tensors' memory goes back to the system as soon as it is free.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    most = {}
    for engine in ("eager", "torch.jit", "cresset"):
        command = [sys.executable, __file__, "memory", name, engine]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        most[engine] = float(out.stdout.splitlines()[-1])
    print(
        f"{name:12} most memory of a step: eager {most['eager']:6.0f} MB   torch.jit {most['torch.jit']:6.0f} MB   cresset"
        f" {most['cresset']:6.0f} MB   of eager's {most['cresset'] / most['eager']:.2f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        memory_of_a_step(*sys.argv[2:])
        sys.exit()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    measure("LSTM cell", lambda: Cell(64), cell_step, torch.randn(16, 64))
    measure("MLP", mlp, square_step, torch.randn(32, 32))
    measure("transformer", transformer, square_step, torch.randn(4, 16, 64))
    measure("ResNet-18", resnet, square_step, torch.randn(2, 3, 32, 32))
    torch.set_default_dtype(torch.float64)
    cluster = importlib.import_module("potential").cluster(torch.Generator().manual_seed(0))
    measure("forces", potential, force_step, cluster)
    compare_forces(cluster)
    for name in LARGE:
        compare_memory(name)
