"""What live functionalization costs, beside torch.func.functionalize and eager, in one run.

    python bench/bench_functional_live.py

Each figure is the time per operator in microseconds, the least of several rounds that take turns; the cost of the call
itself (entering a level) is a row of its own.
"""

import time

import torch

import cresset

ROUNDS, REPEATS = 15, 200


def pure(x):
    for _ in range(REPEATS):
        y = x * 2
    return y


def in_place(x):
    y = x * 1
    for _ in range(REPEATS):
        y.add_(1)
    return y


def view_and_write(x):
    y = x * 1
    for _ in range(REPEATS):
        y[0].add_(1)
    return y


def nothing(x):
    return x


def least(function, x):
    start = time.perf_counter()
    function(x)
    return time.perf_counter() - start


def main():
    torch.set_num_threads(1)
    x = torch.randn(8, 8)
    print(f"{'µs per operator':<18}{'eager':>9}{'torch.func':>12}{'cresset':>9}{'cresset / torch.func':>23}")
    for function, per_call in ((pure, REPEATS), (in_place, REPEATS), (view_and_write, REPEATS), (nothing, 1)):
        variants = (function, torch.func.functionalize(function), cresset.functionalize(function))
        best = [float("inf")] * 3
        for _ in range(ROUNDS):
            for i, variant in enumerate(variants):
                best[i] = min(best[i], least(variant, x))
        eager, theirs, ours = (seconds / per_call * 1e6 for seconds in best)
        print(f"{function.__name__:<18}{eager:>9.2f}{theirs:>12.2f}{ours:>9.2f}{ours / theirs:>23.2f}")


if __name__ == "__main__":
    main()
