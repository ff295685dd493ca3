"""A loop in a function that is called once: unoptimized, as it runs when it becomes hot, and by the plan of later calls.

Milliseconds of one thread, the least of five rounds; each round compiles the function anew.
"""

import time

import torch

import cresset

PROGRAMS = {
    "operators on 4 numbers, 30,000 iterations": (
        """
def f(x: Tensor, n: int):
    s = torch.zeros_like(x)
    for i in range(n):
        a = x * 0.5 + 1.0
        b = a.size(0) + len(a.size())
        if a.dim() == 2 and b > 100:
            s = s - a
        else:
            s = s + a * b
    return s
""",
        (torch.ones(4), 30_000),
    ),
    "ints, 30,000,000 iterations": (
        """
def f(n: int):
    t = 0
    for i in range(n):
        if i % 3 == 0:
            t += i * 2 + 7 // 3
    return t
""",
        (30_000_000,),
    ),
}
ROUNDS = 5


def milliseconds(function, arguments):
    start = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - start) * 1e3


def main():
    torch.set_num_threads(1)
    print(f"{'':44}{'unoptimized':>14}{'first call':>14}{'third call':>14}")
    for name, (source, arguments) in PROGRAMS.items():
        rounds = []
        for _ in range(ROUNDS):
            script = cresset.CompilationUnit(source).f
            with cresset.optimized_execution(False):
                unoptimized = milliseconds(script, arguments)
            script = cresset.CompilationUnit(source).f
            calls = [milliseconds(script, arguments) for _ in range(3)]
            assert cresset.explain(script).entered_from_loops == 1
            rounds.append((unoptimized, calls[0], calls[2]))
        least = map(min, zip(*rounds, strict=True))
        print(f"{name:44}" + "".join(f"{number:14.1f}" for number in least))


if __name__ == "__main__":
    main()
