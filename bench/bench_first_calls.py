"""What the first calls of models cost: script, then calls 1 to 4 without and with gradients, beside eager PyTorch.

A ConvNeXt (18 blocks), an equivariant network of the kind that e3nn builds (products of spherical tensors by einsum,
messages by index_add), 160 residual blocks, and chains of 1,000, 10,000 and 90,000 statements (a plan is made of up to 100,000 nodes). Processor time of the
thread that calls (kernels are compiled by another), medians of fresh processes, milliseconds.

"plan" is what the dearest of the four calls takes beyond the last one, as a multiple of an eager call; the goal is 2.
Of chains it is the time per statement that making the plan takes; ten times as long a chain should take 1.5 times as
much at most.
"""

import itertools
import json
import statistics
import subprocess
import sys
import time

ROUNDS = 3
CALLS = 4
ENGINES = ("cresset", "torch.jit")
MODES = ("no_grad", "gradients", "gradients after no_grad")


def convnext():
    import torch
    from torch import nn

    class Norm(nn.Module):
        """Over the channels, which come first."""

        def __init__(self, width):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
            self.shape = [width]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.nn.functional.layer_norm(x.permute(0, 2, 3, 1), self.shape, self.weight, self.bias, 1e-6)
            return x.permute(0, 3, 1, 2)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.expand, self.reduce = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = nn.Parameter(torch.full((width,), 0.1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            y = self.reduce(torch.nn.functional.gelu(self.expand(y))) * self.scale
            return x + y.permute(0, 3, 1, 2)

    widths, depths = (24, 48, 96, 192), (3, 3, 9, 3)
    layers = [nn.Conv2d(3, widths[0], 4, stride=4), Norm(widths[0])]
    for i, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if i:
            layers += [Norm(widths[i - 1]), nn.Conv2d(widths[i - 1], width, 2, stride=2)]
        layers += [Block(width) for _ in range(depth)]
    model = nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], 10)
    )
    return model, (torch.randn(2, 3, 64, 64),)


def equivariant():
    import torch
    from torch import nn

    channels, orders = 8, (0, 1, 2)
    paths = [(i, j, k) for i in orders for j in orders for k in orders if abs(i - j) <= k <= i + j]

    class Harmonics(nn.Module):
        def forward(self, v: torch.Tensor) -> list[torch.Tensor]:
            v = v / torch.linalg.norm(v, dim=-1, keepdim=True)
            x, y, z = v[:, 0], v[:, 1], v[:, 2]
            second = torch.stack(
                [x * y, y * z, (3 * z * z - 1) * 0.2886751345948129, x * z, (x * x - y * y) * 0.5], dim=-1
            )
            return [torch.ones_like(v[:, :1]), v, second]

    class Product(nn.Module):
        """Of node features and harmonics, weighted per edge, for every path that the coupling allows."""

        def __init__(self):
            super().__init__()
            for i, j, k in paths:
                self.register_buffer(f"coupling_{i}{j}{k}", torch.randn(2 * i + 1, 2 * j + 1, 2 * k + 1))

        def forward(self, a: list[torch.Tensor], b: list[torch.Tensor], w: torch.Tensor) -> list[torch.Tensor]:
            raise NotImplementedError

    # One statement per path, as generated code has it.
    lines = ["def forward(self, a: list[torch.Tensor], b: list[torch.Tensor], w: torch.Tensor) -> list[torch.Tensor]:"]
    lines += [f"    r{k} = torch.zeros([b[0].size(0), {channels}, {2 * k + 1}], dtype=w.dtype)" for k in orders]
    for n, (i, j, k) in enumerate(paths):
        lines += [
            f"    t = torch.einsum('eci,ijk->ecjk', a[{i}], self.coupling_{i}{j}{k})",
            f"    r{k} = r{k} + torch.einsum('ecjk,ej->eck', t, b[{j}]) * w[:, {n * channels}:{(n + 1) * channels}].unsqueeze(-1)",
        ]
    lines.append("    return [r0, r1, r2]")
    text = "\n".join(lines)
    import linecache

    linecache.cache["<product>"] = (len(text), None, text.splitlines(True), "<product>")
    namespace = {"torch": torch}
    exec(compile(text, "<product>", "exec"), namespace)
    Product.forward = namespace["forward"]

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.product = Product()
            self.radial = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, len(paths) * channels))
            self.mix0, self.mix1, self.mix2 = (nn.Parameter(torch.randn(channels, channels) / channels) for _ in orders)
            self.gates = nn.Linear(channels, 2 * channels)

        def forward(
            self,
            x: list[torch.Tensor],
            harmonics: list[torch.Tensor],
            radial: torch.Tensor,
            source: torch.Tensor,
            target: torch.Tensor,
        ) -> list[torch.Tensor]:
            gathered = [x[0].index_select(0, source), x[1].index_select(0, source), x[2].index_select(0, source)]
            messages = self.product(gathered, harmonics, self.radial(radial))
            s = torch.zeros_like(x[0]).index_add(0, target, messages[0])
            v = torch.zeros_like(x[1]).index_add(0, target, messages[1])
            t = torch.zeros_like(x[2]).index_add(0, target, messages[2])
            s = x[0] + torch.einsum("ncm,cd->ndm", s, self.mix0)
            v = x[1] + torch.einsum("ncm,cd->ndm", v, self.mix1)
            t = x[2] + torch.einsum("ncm,cd->ndm", t, self.mix2)
            gates = torch.sigmoid(self.gates(s.squeeze(-1)))
            first, second = gates.chunk(2, dim=-1)
            return [torch.nn.functional.silu(s), v * first.unsqueeze(-1), t * second.unsqueeze(-1)]

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(4, channels)
            self.harmonics = Harmonics()
            self.layer1, self.layer2, self.layer3 = Layer(), Layer(), Layer()
            self.readout = nn.Linear(channels, 1)
            self.register_buffer("centers", torch.linspace(0.0, 3.0, 8))

        def forward(
            self, pos: torch.Tensor, kind: torch.Tensor, source: torch.Tensor, target: torch.Tensor
        ) -> torch.Tensor:
            edges = pos.index_select(0, target) - pos.index_select(0, source)
            lengths = torch.linalg.norm(edges, dim=-1)
            radial = torch.exp(-((lengths.unsqueeze(-1) - self.centers) ** 2))
            harmonics = self.harmonics(edges)
            s = self.embedding(kind).unsqueeze(-1)
            x = [s, s.new_zeros([s.size(0), s.size(1), 3]), s.new_zeros([s.size(0), s.size(1), 5])]
            x = self.layer1(x, harmonics, radial, source, target)
            x = self.layer2(x, harmonics, radial, source, target)
            x = self.layer3(x, harmonics, radial, source, target)
            return self.readout(x[0].squeeze(-1)).sum()

    n = 12
    source, target = zip(*[(i, j) for i in range(n) for j in range(n) if i != j], strict=True)
    return Network(), (
        torch.randn(n, 3, requires_grad=True),
        torch.arange(n) % 4,
        torch.tensor(source),
        torch.tensor(target),
    )


def residual():
    """Convolutions too large for kernels, with little between them."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = [nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)]
            self.norm = nn.BatchNorm2d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.third(torch.relu(self.norm(self.second(torch.relu(self.first(x)))) + x))

    return nn.Sequential(*[Block() for _ in range(160)]).eval(), (torch.rand(1, 8, 16, 16),)


MODELS = {
    "ConvNeXt of 18 blocks": convnext,
    "equivariant network": equivariant,
    "160 residual blocks": residual,
}


CHAINS = {
    "pointwise": "    x = torch.relu(x * w)\n",
    "in place": "    y = x * w\n    y.add_(w)\n    x = torch.sigmoid(y)\n",
    "lists": "    l = [x]\n    l.append(w)\n    x = l[0] + l[1]\n",
    "branches": "    if x.dim() > 1:\n        x = x.sum(0) * w\n    else:\n        x = x * w\n",
}
LENGTHS = (1_000, 10_000, 90_000)


def timed(function):
    start = time.thread_time()
    result = function()
    return 1e3 * (time.thread_time() - start), result


def one_call(model, arguments, with_gradients):
    import torch

    def run():
        with torch.set_grad_enabled(with_gradients):
            result = model(*arguments).sum()
        if with_gradients:
            result.backward()

    return timed(run)[0]


def calls(name, engine, mode):
    """Milliseconds: an eager call, script, and each of the calls."""
    import torch

    import cresset

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, arguments = MODELS[name]()
    with_gradients = mode != "no_grad"
    one_call(model, arguments, True)  # PyTorch's own first times
    eager = min(one_call(model, arguments, with_gradients) for _ in range(5))
    script, model = timed(lambda: (torch.jit if engine == "torch.jit" else cresset).script(model))
    if mode == "gradients after no_grad":
        for _ in range(CALLS):
            one_call(model, arguments, False)
    return [eager, script] + [one_call(model, arguments, with_gradients) for _ in range(CALLS)]


def chain(kind, mode, length):
    """Milliseconds per 1,000 statements that making the plan takes, beyond the call that is made by it."""
    import torch

    import cresset

    torch.set_num_threads(1)
    repeats = int(length) // CHAINS[kind].count("\n")
    text = "def f(x: Tensor, w: Tensor) -> Tensor:\n" + CHAINS[kind] * repeats + "    return x\n"
    with_gradients = mode == "gradients"
    arguments = [torch.rand(2, requires_grad=with_gradients) for _ in range(2)]
    # What the process does once: rules are compiled, operators looked up.
    small = cresset.CompilationUnit(text.replace(CHAINS[kind] * repeats, CHAINS[kind] * 2)).f
    for _ in range(CALLS):
        one_call(small, arguments, with_gradients)
    function = cresset.CompilationUnit(text).f
    times = [one_call(function, arguments, with_gradients) for _ in range(CALLS)]
    return [1e3 * (max(times[1:]) - times[-1]) / int(length)]


def medians(*job):
    rounds = []
    for _ in range(ROUNDS):
        text = subprocess.run(
            [sys.executable, __file__, *map(str, job)], check=True, capture_output=True, text=True
        ).stdout
        rounds.append(json.loads(text.splitlines()[-1]))
    return [statistics.median(numbers) for numbers in zip(*rounds, strict=True)]


def main():
    if len(sys.argv) > 1:
        print(json.dumps({"calls": calls, "chain": chain}[sys.argv[1]](*sys.argv[2:])))
        return
    print(
        f"{'milliseconds':60}{'eager':>8}{'script':>8}"
        + "".join(f"{f'call {i + 1}':>8}" for i in range(CALLS))
        + "    plan"
    )
    for name in MODELS:
        for mode, engine in itertools.product(MODES, ENGINES):
            eager, script, *times = medians("calls", name, engine, mode)
            plan = (max(times) - times[-1]) / eager
            print(
                f"{f'{name}, {mode}, {engine}':60}{eager:8.1f}{script:8.1f}"
                + "".join(f"{t:8.1f}" for t in times)
                + f"{plan:8.1f}"
            )
    print(
        f"\n{'plan: milliseconds per 1,000 statements of':60}"
        + "".join(f"{length:>8,}" for length in LENGTHS)
        + "   10k/1k"
    )
    for kind in CHAINS:
        for mode in ("no_grad", "gradients"):
            per = [medians("chain", kind, mode, length)[0] for length in LENGTHS]
            print(f"{f'{kind}, {mode}':60}" + "".join(f"{p:8.2f}" for p in per) + f"{per[1] / per[0]:9.2f}")


if __name__ == "__main__":
    main()
