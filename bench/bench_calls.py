"""What a call, an operator, a scalar instruction and an attribute access cost, beside torch.jit, eager and plain Python;
then what the parts of a call from Python cost. Those of a call from C++ are printed by calls_bench.cpp."""

import statistics
import time
from typing import Dict, List

import torch
from torch import Tensor

import cresset

SOURCE = """
def nothing(x: Tensor) -> Tensor:
    return x

def add_one(x: Tensor, n: int, lists: Dict[str, List[int]]) -> Tensor:
    return x + 1

def relu(x: Tensor) -> Tensor:
    return torch.relu(x)

def relus(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.relu(x)
    return x

def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps

def mandelbrot(n: int) -> float:
    total = 0.0
    for i in range(n):
        x = 0.0
        y = 0.0
        c = 0.25 + i * 0.001
        k = 0
        while k < 50 and x * x + y * y < 4.0:
            t = x * x - y * y + c
            y = 2.0 * x * y + 0.1
            x = t
            k += 1
        total += x
    return total

def lists(n: int) -> int:
    values: List[int] = []
    for i in range(n):
        values.append(i * i)
    total = 0
    for v in values:
        total += v
    return total

def dicts(n: int) -> int:
    counts: Dict[int, int] = {}
    for i in range(n):
        key = i % 17
        if key in counts:
            counts[key] += i
        else:
            counts[key] = i
    total = 0
    for key in counts.keys():
        total += counts[key]
    return total
"""


def python_functions():
    from typing import Dict, List

    from torch import Tensor

    scope = {"torch": torch, "Tensor": Tensor, "List": List, "Dict": Dict}
    exec(SOURCE, scope)
    return scope


def three(x, y, z):
    return y


def decides(x, y, z):
    a = 1
    if x.dim() > 1:
        a = a + 1
    if y.dim() > 1:
        a = a + 2
    if z.dim() == a:
        return x
    return z


def pointwise(x, y, z):
    return ((x + y) * z - x) * y


def guarded(x: Tensor, n: int, cfg: Dict[str, List[Tensor]]) -> Tensor:
    if n > 0:
        for w in cfg["w"]:
            if w.size(0) != 8:
                return x
        for b in cfg["b"]:
            if b.dim() != 1:
                return x
    return x + 1


def takes_list(x: List[Tensor]):
    return len(x)


class Affine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.ones(4))
        self.b = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.a + self.b


def parts():
    """Each case is one more part of a call; paired rounds, since a busy machine disturbs both alike."""
    cresset.options.set(kernels="now")
    x = torch.randn(4)
    layers = [torch.nn.Linear(8, 8) for _ in range(4)]
    cfg = {"w": [layer.weight for layer in layers], "b": [layer.bias for layer in layers]}
    module, script = Affine(), cresset.script(Affine())
    cases = [
        ("three tensors in, one out; too small for a plan", cresset.script(three), three, (x, x, x)),
        ("three tensors, a plan that decides by them", cresset.script(decides), decides, (x, x, x)),
        ("three tensors, a plan of one kernel", cresset.script(pointwise), pointwise, (x, x, x)),
        ("a list of 8 tensors", cresset.script(takes_list), takes_list, ([x] * 8,)),
        ("x + 1 after a look at 8 tensors in a dict of lists", cresset.script(guarded), guarded, (x, 3, cfg)),
        ("module.forward(x), two parameters, one kernel", script.forward, module.forward, (x,)),
        ("module(x)", script, module, (x,)),
    ]
    print(
        "\n| call from Python | us, least | us, median | eager us, least | eager us, median | times as fast |\n"
        + "|---" * 6
        + "|"
    )
    for name, ours, eager, args in cases:
        for f in (ours, eager):
            for _ in range(20):
                f(*args)
        cresset.wait_for_compilation()
        times = [[], []]
        for _ in range(60):
            for i, f in enumerate((ours, eager)):
                start = time.perf_counter()
                for _ in range(500):
                    f(*args)
                times[i].append((time.perf_counter() - start) / 500 * 1e6)
        a, b = times
        ratio = statistics.median(y / x for x, y in zip(a, b))
        figures = (min(a), statistics.median(a), min(b), statistics.median(b), ratio)
        print(f"| {name} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |")


def main():
    torch.set_num_threads(1)
    ours, theirs, python = cresset.CompilationUnit(SOURCE), torch.jit.CompilationUnit(SOURCE), python_functions()
    x = torch.randn(64)
    cases = [
        ("nothing", (x,), 20000),
        ("add_one", (x, 3, {"a": [1, 2, 3], "b": [4, 5]}), 20000),
        ("relu", (x,), 20000),
        ("relus", (x, 100), 300),
        ("collatz", (837799,), 100),
        ("mandelbrot", (200,), 10),
        ("lists", (1000,), 50),
        ("dicts", (1000,), 20),
    ]
    print("| program | Cresset us | torch.jit us | ratio | eager or Python us | ratio |\n|---|---|---|---|---|---|")
    with torch.no_grad():
        for name, args, count in cases:
            engines = [getattr(ours, name), getattr(theirs, name), python[name]]
            for f in engines:
                for _ in range(3):
                    f(*args)
            times = [[], [], []]
            for _ in range(9):
                for i, f in enumerate(engines):
                    start = time.perf_counter()
                    for _ in range(count):
                        f(*args)
                    times[i].append((time.perf_counter() - start) / count * 1e6)
            a, b, c = (statistics.median(t) for t in times)
            to_jit, to_python = (statistics.median(x / y for x, y in zip(times[0], t)) for t in times[1:])
            given = ", ".join("x" if torch.is_tensor(arg) else str(arg) for arg in args)
            print(f"| {name}({given}) | {a:.3f} | {b:.3f} | {to_jit:.3f} | {c:.3f} | {to_python:.3f} |")
        parts()


if __name__ == "__main__":
    main()
