"""Where fused kernels are slower than the same plans without them.

Operators of torch.testing's op_db that have kernels (element by element, and reductions), and random chains of 2 to 8 operators, run by a plan whose operators are fused,
by one whose operators are not, and by eager PyTorch: in alternating rounds of one process, the fastest round of each. Tensors are float32, of 17, 1,000, 100,000 and
1,000,000 elements, contiguous and transposed. What looks slower than unfused by more than the limit is measured again with more rounds; what still does is printed:
the ratio of the times fused to unfused, both times and eager's in microseconds. At the end: how many cases there were, and the geometric mean of all ratios.
"""

import argparse
import fnmatch
import math
import random
import time
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

import cresset
from cresset import _C

FUSED = {"kernels": "now", "numerics": "default", "plans": "always"}
UNFUSED = {"kernels": "off", "numerics": "exact", "plans": "always"}
SHAPES = {17: (1, 17), 1_000: (25, 40), 100_000: (250, 400), 1_000_000: (1_000, 1_000)}
ROW_KINDS = ("pointwise", "reduction")
ROWS = {name.split("::")[1].split(".")[0] for kind in ROW_KINDS for name in _C._scalar_rows(kind)}
FORMS = 3  # of one operator: other arguments beside its tensors

POSITIVE = {"pow", "xlogy", "float_power"}

UNARY = "abs ceil cos erf exp floor log1p neg reciprocal relu sigmoid sign sin sqrt square tanh trunc".split()
BINARY = "add sub mul div maximum minimum atan2".split()
REDUCING = ["sum(-1)", "mean(-1)", "amax(-1)", "softmax(-1)", "sum()"]


def tensor(elements, transposed, domain):
    """Evenly spread over the domain of the operator, as far as it lies between -1.5 and 1.5."""
    rows, columns = SHAPES[elements]
    made = torch.rand(columns, rows).t() if transposed else torch.rand(rows, columns)
    low, high = (max(domain[0], -1.5) + 1e-3, min(domain[1], 1.5) - 1e-3)
    return made.mul_(high - low).add_(low)


def domain_of(info):
    """Where the operator has values, as op_db says for those of one tensor."""
    low, high = getattr(info, "domain", None) or ((0, 1.5) if info.name in POSITIVE else (None, None))
    return (-math.inf if low is None else low, math.inf if high is None else high)


def operator_cases(pattern):
    """Name, function, number of tensors and their domain: samples of op_db with tensors of other sizes."""
    for info in op_db:
        name = info.name.split(".")[-1]
        known = {info.aten_name, name, "_" + name} & ROWS
        if not known or torch.float32 not in info.dtypes or not fnmatch.fnmatch(info.name, pattern):
            continue
        torch.manual_seed(0)
        forms = set()
        for sample in list(info.sample_inputs("cpu", torch.float32))[:40]:
            arguments = [sample.input, *sample.args]
            others = [a for a in arguments if not isinstance(a, torch.Tensor)]
            if any(isinstance(v, torch.Tensor) for v in [*sample.kwargs.values(), *flattened(others)]):
                continue
            count = len(arguments) - len(others)
            form = repr((count, [type(a) for a in arguments], others, sample.kwargs))
            if count == 0 or form in forms or len(forms) >= FORMS:
                continue
            forms.add(form)
            shown = ", ".join([*map(str, others), *(f"{k}={v}" for k, v in sample.kwargs.items())])
            label = f"{info.name}{'.' + info.variant_test_name if info.variant_test_name else ''}({shown})"
            yield label, with_arguments(info.op, arguments, sample.kwargs), count, domain_of(info)


def flattened(values):
    for value in values:
        yield from flattened(value) if isinstance(value, (list, tuple)) else [value]


def with_arguments(op, arguments, keywords):
    def function(*tensors):
        rest = iter(tensors)
        return op(*[next(rest) if isinstance(a, torch.Tensor) else a for a in arguments], **keywords)

    return function


def chain(seed):
    """A program of 2 to 8 operators over two tensors; one in three ends with a reduction."""
    choose = random.Random(seed)
    lines, names = [], ["x", "y"]
    for i in range(choose.randint(2, 8)):
        a, b = choose.choice(names[-3:]), choose.choice(names)
        call = choose.choice(
            [f"torch.{choose.choice(UNARY)}({a})", f"torch.{choose.choice(BINARY)}({a}, {b})", f"{a} * {b} + 0.5"]
        )
        lines.append(f"  v{i} = {call}")
        names.append(f"v{i}")
    result = names[-1] + (f".{choose.choice(REDUCING)}" if choose.random() < 1 / 3 else "")
    return "def f(x, y):\n" + "\n".join(lines) + f"\n  return {result}"


def chain_cases(count):
    for seed in range(count):
        text = chain(seed)
        scope = {"torch": torch}
        exec(text, scope)
        yield f"chain {seed}: " + "; ".join(line.strip() for line in text.split("\n")[1:]), scope["f"], 2, (0.1, 1)


def compiled(function, inputs, options):
    """A traced function that has its plan; nothing if the operators can't be called so."""
    with cresset.options.override(**options):
        traced = cresset.trace(function, inputs, check_trace=False)
        for _ in range(3):
            traced(*inputs)
    return traced


def seconds(function, inputs, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        function(*inputs)
    return (time.perf_counter() - start) / repeats


def fastest(runs, inputs, rounds, least):
    """Of each (function, options): the time of its fastest round. Rounds alternate and take `least` seconds."""
    repeats = []
    for function, options in runs:
        with cresset.options.override(**options):
            repeats.append(max(1, round(least / max(seconds(function, inputs, 2), 1e-7))))
    times = [math.inf] * len(runs)
    for _ in range(rounds):
        for i, (function, options) in enumerate(runs):
            with cresset.options.override(**options):
                times[i] = min(times[i], seconds(function, inputs, repeats[i]))
    return times


def measure(function, inputs, limit):
    """The fastest rounds fused, unfused and eager; nothing if no kernel takes part."""
    before = _C._kernel_counts()
    fused = compiled(function, inputs, FUSED)
    after = _C._kernel_counts()
    if after[1] == before[1] and after[3] == before[3]:
        return None
    runs = [(fused, FUSED), (compiled(function, inputs, UNFUSED), UNFUSED), (function, UNFUSED)]
    times = fastest(runs, inputs, 4, 0.0005)
    for rounds in (10, 30):
        if times[0] > limit * times[1]:
            again = fastest(runs, inputs, rounds, 0.002)
            times = [min(pair) for pair in zip(times, again, strict=True)]
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="operators by name, with wildcards")
    parser.add_argument("--sizes", default=",".join(map(str, SHAPES)), help="numbers of elements, of those above")
    parser.add_argument("--chains", type=int, default=60, metavar="N", help="how many random programs (60)")
    parser.add_argument("--limit", type=float, default=1.03, help="prints what is slower by more than this (1.03)")
    parser.add_argument("--followed", action="store_true", help="each operator with a product after it: in one kernel")
    parser.add_argument("--all", action="store_true", help="prints all cases")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)

    cases = [*operator_cases(options.only), *chain_cases(options.chains)]
    ratios, slower = [], 0
    for elements in map(int, options.sizes.split(",")):
        for transposed in (False, True):
            for name, function, count, domain in cases:
                inputs = tuple(tensor(elements, transposed, domain) for _ in range(count))
                if options.followed:
                    function = lambda *inputs, function=function: function(*inputs) * inputs[0] + inputs[0]  # noqa: E731
                try:
                    function(*inputs)
                except (RuntimeError, IndexError, TypeError, ValueError):
                    continue
                times = measure(function, inputs, options.limit)
                if not times:
                    continue
                ratios.append(times[0] / times[1])
                slower += ratios[-1] > options.limit
                if options.all or ratios[-1] > options.limit:
                    shown = " ".join(f"{t * 1e6:9.2f}" for t in times)
                    layout = "transposed" if transposed else "contiguous"
                    print(f"{ratios[-1]:6.3f} {shown}  {elements:8} {layout}  {name}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
    print(
        f"{slower} of {len(ratios)} cases slower than unfused by more than {options.limit:.3g}; geometric mean {mean:.3f}"
    )


if __name__ == "__main__":
    main()
