"""Small and middle-sized programs, beside eager PyTorch and torch.jit: cells, sequences, recommendation, element-wise operators, normalization, training steps.

Each program runs in a process of its own, with one thread, after warm-up and `cresset.wait_for_compilation()`; rounds of all engines alternate. Printed: the median time of a call in microseconds,
and how many times faster than eager (median over rounds). Results are compared with eager's first. Heap settings are those of a server that keeps its memory: without them the C library
maps large results anew in each call, which changes eager's times by up to six.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import cresset

HEAP = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (x.mm(w.t()) + h.mm(v.t()) + b + d).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def lstm_sequence(x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    for t in range(x.size(0)):
        h, c = lstm_cell(x[t], h, c, w, v, b, d)
    return h, c


def lstm_loss(x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor, d: Tensor) -> Tensor:
    h, c = lstm_cell(x, h, c, w, v, b, d)
    return (h * h).sum() + c.sum()


def lstm_arguments(size, batch=1, steps=None, grad=False):
    weights = [torch.randn(4 * size, size), torch.randn(4 * size, size), torch.randn(4 * size), torch.randn(4 * size)]
    weights = [(w * size**-0.5).requires_grad_(grad) for w in weights]
    x = torch.randn(batch, size) if steps is None else torch.randn(steps, batch, size)
    return x, torch.randn(batch, size), torch.randn(batch, size), *weights


class Classifier(nn.Module):
    """Three layers and cross entropy."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(256, 512), nn.Linear(512, 512), nn.Linear(512, 10)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return F.cross_entropy(self.third(x), y)


def layers(*sizes):
    pairs = zip(sizes, sizes[1:], strict=False)
    return nn.Sequential(*[layer for a, b in pairs for layer in (nn.Linear(a, b), nn.ReLU())])


class Recommender(nn.Module):
    """Dense features and eight bags of embeddings, products of all pairs, layers on top."""

    def __init__(self):
        super().__init__()
        self.dense = layers(13, 64, 32, 16)
        self.bags = nn.ModuleList([nn.EmbeddingBag(1000, 16, mode="sum") for _ in range(8)])
        rows, columns = torch.tril_indices(9, 9, -1).unbind()
        self.register_buffer("rows", rows.contiguous())
        self.register_buffer("columns", columns.contiguous())
        self.top = nn.Sequential(*layers(16 + 36, 64, 32), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, dense: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
        x = self.dense(dense)
        features = [x]
        for k, bag in enumerate(self.bags):
            features.append(bag(indices[k], offsets[k]))
        t = torch.stack(features, 1)
        pairs = torch.bmm(t, t.transpose(1, 2))[:, self.rows, self.columns]
        return self.top(torch.cat([x, pairs], 1))


def recommender(batch):
    offsets = torch.arange(0, 4 * batch, 4).repeat(8, 1)
    return Recommender().eval(), (torch.randn(batch, 13), torch.randint(0, 1000, (8, 4 * batch)), offsets)


def pointwise(x: Tensor, y: Tensor) -> Tensor:
    t = torch.tanh((x * 0.5 + y) * 0.7978845608)
    return t * torch.sigmoid(x * y) + torch.exp(-(x * x)) * y * 0.1


def softmax_layernorm(x: Tensor, r: Tensor, weight: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(F.layer_norm(x + r, [1024], weight, bias, 1e-5), -1) * mask


def softmax_layernorm_arguments():
    x, r, mask = torch.randn(256, 1024), torch.randn(256, 1024), (torch.rand(256, 1024) > 0.1).float()
    return x, r, torch.rand(1024), torch.randn(1024), mask


class Encoder(nn.Module):
    """A layer of a transformer whose norms come last."""

    def __init__(self, size=256, heads=4):
        super().__init__()
        self.heads, self.scale = heads, (size // heads) ** -0.5
        self.q, self.k, self.v, self.o = [nn.Linear(size, size) for _ in range(4)]
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x: Tensor) -> Tensor:
        b, s, d = x.shape
        q = self.q(x).view(b, s, self.heads, -1).transpose(1, 2)
        k = self.k(x).view(b, s, self.heads, -1).transpose(1, 2)
        v = self.v(x).view(b, s, self.heads, -1).transpose(1, 2)
        a = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * self.scale, -1)
        x = self.first(x + self.o(torch.matmul(a, v).transpose(1, 2).reshape(b, s, d)))
        return self.second(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(1000, 256), nn.Parameter(torch.randn(128, 256) * 0.02)
        self.layers = nn.Sequential(*[Encoder() for _ in range(4)])

    def forward(self, ids: Tensor) -> Tensor:
        return self.layers(self.tokens(ids) + self.places)


class BertLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = Bert()

    def forward(self, ids: Tensor) -> Tensor:
        return self.bert(ids).pow(2).mean()


def guarded(x: Tensor, n: int, parts: dict[str, list[Tensor]]) -> Tensor:
    if n > 0:
        for w in parts["w"]:
            if w.size(0) != 8:
                return x
        for b in parts["b"]:
            if b.dim() != 1:
                return x
    return x + 1


def guarded_arguments():
    parts = [nn.Linear(8, 8) for _ in range(4)]
    return torch.randn(4), 3, {"w": [p.weight for p in parts], "b": [p.bias for p in parts]}


# Name: program and arguments; whether it is trained; the goal, in times of eager's speed.
PROGRAMS = {
    "lstm_cell_64": (lambda: (lstm_cell, lstm_arguments(64)), False, 7),
    "lstm_cell_512": (lambda: (lstm_cell, lstm_arguments(512)), False, 1.6),
    "lstm_seq": (lambda: (lstm_sequence, lstm_arguments(128, steps=50)), False, 4),
    "dlrm_b1": (lambda: recommender(1), False, 15),
    "dlrm_b64": (lambda: recommender(64), False, 6),
    "pointwise_64": (lambda: (pointwise, (torch.randn(64), torch.randn(64))), False, 16),
    "pointwise_1m": (lambda: (pointwise, (torch.randn(1_000_000), torch.randn(1_000_000))), False, 6.5),
    "softmax_layernorm": (lambda: (softmax_layernorm, softmax_layernorm_arguments()), False, 2.2),
    "bert4": (lambda: (Bert().eval(), (torch.randint(0, 1000, (1, 128)),)), False, None),
    "lstm_cell_train": (lambda: (lstm_loss, lstm_arguments(256, 32, grad=True)), True, 1.4),
    "mlp_train": (lambda: (Classifier(), (torch.randn(64, 256), torch.randint(0, 10, (64,)))), True, 1.15),
    "bert4_train": (lambda: (BertLoss(), (torch.randint(0, 1000, (1, 128)),)), True, 1.15),
    "guard_overhead": (lambda: (guarded, guarded_arguments()), False, 1.5),
}


def called(function, arguments, leaves):
    """What is measured: a call, with its backward pass where there are leaves."""
    if not leaves:
        return lambda: function(*arguments)
    return lambda: torch.autograd.grad(function(*arguments), leaves)


def seconds(call, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def flattened(values):
    return [t for v in values for t in flattened(v)] if isinstance(values, (list, tuple)) else [values]


def measure(name, budget):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    make, is_trained, goal = PROGRAMS[name]
    program, arguments = make()
    leaves = []
    if is_trained:
        leaves = list(program.parameters()) if isinstance(program, nn.Module) else arguments[3:]
    torch.set_grad_enabled(is_trained)
    engines = {"eager": program, "torch.jit": torch.jit.script(program), "cresset": cresset.script(program)}
    calls = {engine: called(function, arguments, leaves) for engine, function in engines.items()}
    expected = flattened(calls["eager"]())
    for call in calls.values():
        for _ in range(4):
            call()
    cresset.wait_for_compilation()
    for found, wanted in zip(flattened(calls["cresset"]()), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    for call in calls.values():
        seconds(call, 20)
    repeats = max(1, round(0.002 / seconds(calls["eager"], 10)))
    rounds = max(11, round(budget / (len(calls) * repeats * seconds(calls["eager"], 10))))
    times = {engine: [] for engine in calls}
    for _ in range(rounds):
        for engine, call in calls.items():
            times[engine].append(seconds(call, repeats))
    faster = {
        engine: statistics.median(e / t for e, t in zip(times["eager"], times[engine], strict=True)) for engine in times
    }
    shown = " | ".join(f"{1e6 * statistics.median(times[engine]):.4g}" for engine in times)
    print(
        f"| {name} | {shown} | {faster['torch.jit']:.2f} | {faster['cresset']:.2f} | {'' if goal is None else goal} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(PROGRAMS)}; all unless some are named")
    parser.add_argument("--seconds", type=float, default=5, help="of measuring per program (5)")
    parser.add_argument("--here", action="store_true", help="in this process (for profilers)")
    options = parser.parse_args()
    if unknown := [name for name in options.programs if name not in PROGRAMS]:
        parser.error(f"no such program: {', '.join(unknown)}")
    if options.here:
        for name in options.programs:
            measure(name, options.seconds)
        return
    print(
        "| program | eager us | torch.jit us | Cresset us | torch.jit, of eager's speed | Cresset | goal |", flush=True
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in options.programs or PROGRAMS:
        command = [sys.executable, __file__, name, "--here", "--seconds", str(options.seconds)]
        subprocess.run(command, env={**os.environ, **HEAP, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})


if __name__ == "__main__":
    main()
