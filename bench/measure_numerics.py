"""Errors of Cresset's own functions and eager PyTorch's, in units in the last place; writes docs/numerics-errors.md.

    python bench/measure_numerics.py [--stride N] [--samples N] [--only exp,tanh] [--write]

float32: every Nth of all 2^32 numbers (1: all of them), and the numbers around which functions change, against PyTorch's function of float64. float64: random
numbers, against mpmath. Rows that are measured replace those of the table; the others stay.
"""

import argparse
import math
import re
import subprocess
from pathlib import Path

import mpmath
import torch

import cresset

TABLE = Path(__file__).resolve().parent.parent / "docs" / "numerics-errors.md"
HEAD = """# Errors of functions

In kernels with `numerics=default` Cresset computes functions itself (`codegen/functions.def`). The table has the largest errors that were found, in units in the
last place of the true value, of Cresset's functions and of eager PyTorch's on the machine that measured. `overflow`: the result is infinite or 0 where the true
value is not. Inputs "all" are all numbers of float32. Measured at commit `COMMIT` with `bench/measure_numerics.py --write`, row by row: `--only` and `--stride` say which.

| function | dtype | Cresset | eager PyTorch | inputs |
|---|---|---|---|---|
"""
#: For float64, where random numbers are drawn from; None: there is no own function of float64.
DOMAINS = {
    "exp": (-745, 709),
    "expm1": (-38, 709),
    "exp2": (-1074, 1023),
    "log": (0, 4),
    "log1p": (-0.99, 4),
    "log2": (0, 4),
    "log10": (0, 4),
    "tanh": (-4, 4),
    "sigmoid": (-40, 40),
    "sin": None,
    "cos": None,
    "tan": None,
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-4, 4),
    "sinh": (-4, 4),
    "cosh": (-4, 4),
    "asinh": (-4, 4),
    "acosh": (1, 4),
    "atanh": (-1, 1),
    "erf": (-6, 6),
    "erfc": (-6, 26),
    "lgamma": None,
    "i0": None,
}
MPMATH = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}
BLOCK = 1 << 14


def kernel(name):
    return cresset.CompilationUnit(f"def f(x: Tensor):\n    y = torch.{name}(x)\n    return y, y == y\n").f


def worst_error(found, true):
    """Of float32 results; `true` is float64."""
    exponent = (true.view(torch.int64) & (0x7FF << 52)).view(torch.float64)
    unit = exponent.mul_(2.0**-23).clamp_(2.0**-149, 2.0**104)
    error = (found.double() - true).abs_().div_(unit)
    worst = float(error.max())
    if worst <= 1:  # not if one is NaN
        return worst
    # What rounds to infinity is half a unit beyond the largest number; NaNs and infinities have no difference.
    same = (found == true.float()) | (found.isnan() & true.isnan())
    return float(torch.where(same & ~(error <= 1), 0.0, error.nan_to_num_(math.inf)).max())


def blocks(stride):
    edges = torch.tensor(
        [0.0, 1.0, 0.5, 2.0, 88.72283, 87.33654, 103.97, 104.0, math.inf, math.nan, 1e-45, 1.1754943e-38, 3.4e38]
    )
    yield torch.cat([edges, -edges, edges.nextafter(torch.tensor(math.inf)), edges.nextafter(torch.tensor(-math.inf))])
    for start in range(-(2**31), 2**31, BLOCK * stride):
        yield torch.arange(start, min(start + BLOCK * stride, 2**31), stride, dtype=torch.int32).view(torch.float32)


def measure32(name, stride):
    function, operator = kernel(name), getattr(torch, name)
    worst = [0.0, 0.0]
    for x in blocks(stride):
        true = operator(x.double())
        for i, found in enumerate((function(x)[0], operator(x))):
            worst[i] = max(worst[i], worst_error(found, true))
    return worst


def measure64(name, samples):
    low, high = DOMAINS[name]
    x = torch.rand(samples, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * (high - low) + low
    exact = MPMATH.get(name) or getattr(mpmath, name)
    results = kernel(name)(x)[0].tolist(), getattr(torch, name)(x).tolist()
    worst = [0.0, 0.0]
    with mpmath.workprec(160):
        for i, value in enumerate(x.tolist()):
            true = exact(mpmath.mpf(value))
            unit = mpmath.mpf(2) ** (max(math.frexp(float(true))[1] - 1, -1022) - 52)
            for k in range(2):
                error = abs(mpmath.mpf(results[k][i]) - true) / unit if math.isfinite(results[k][i]) else math.inf
                worst[k] = max(worst[k], float(error))
    return worst


def shown(error):
    return f"{error:.2f}" if error < 1e4 else "overflow"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stride", type=int, default=256)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--only", default=",".join(DOMAINS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines():
            if match := re.match(r"\| (\w+) \| (float\d\d) \|", line):
                rows[match.groups()] = line
    with cresset.options.override(kernels="now", plans="always", numerics="default"):
        for name in options.only.split(","):
            measured = [
                (
                    "float32",
                    measure32(name, options.stride),
                    "all" if options.stride == 1 else f"every {options.stride}th",
                )
            ]
            if DOMAINS[name] and options.samples:
                low, high = DOMAINS[name]
                measured.append(
                    ("float64", measure64(name, options.samples), f"{options.samples} from {low} to {high}")
                )
            for dtype, (ours, eager), inputs in measured:
                rows[name, dtype] = f"| {name} | {dtype} | {shown(ours)} | {shown(eager)} | {inputs} |"
                print(rows[name, dtype], flush=True)
            if options.write:
                order = sorted(rows, key=lambda row: (list(DOMAINS).index(row[0]), row[1]))
                commit = subprocess.check_output(
                    ["git", "rev-parse", "--short=7", "HEAD"], cwd=TABLE.parent, text=True
                ).strip()
                TABLE.write_text(HEAD.replace("COMMIT", commit) + "".join(rows[row] + "\n" for row in order))


if __name__ == "__main__":
    main()
