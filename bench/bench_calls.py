"""What a call, an operator, a scalar instruction and an attribute access cost, beside torch.jit, eager and plain Python."""

import statistics
import time

import torch

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


if __name__ == "__main__":
    main()
