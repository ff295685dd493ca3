"""Training steps with compiled gradients, beside eager PyTorch and torch.jit: forward, backward, and the optimizer's step."""

import copy
import statistics
import time

import torch
from torch import nn

import cresset

ROUNDS = 60


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


def mlp_step(module, data):
    return module(data).pow(2).mean()


def measure(name, make, step, data):
    eager = make()
    modules = {
        "eager": eager,
        "torch.jit": torch.jit.script(copy.deepcopy(eager)),
        "cresset": cresset.script(copy.deepcopy(eager)),
    }
    optimizers = {key: torch.optim.SGD(module.parameters(), 1e-3) for key, module in modules.items()}

    def run(key):
        optimizers[key].zero_grad()
        step(modules[key], data).backward()
        optimizers[key].step()

    for _ in range(20):
        for key in modules:
            run(key)
    pairs = zip(modules["eager"].parameters(), modules["cresset"].parameters(), strict=True)
    same = all(torch.equal(a, b) for a, b in pairs)
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
        f" {medians['cresset'] / medians['torch.jit']:.2f}   parameters bit-equal to eager's: {same}"
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    measure("LSTM cell", lambda: Cell(64), cell_step, torch.randn(16, 64))
    measure("MLP", mlp, mlp_step, torch.randn(32, 32))
