"""Time to trace: microseconds per operator of a chain of pointwise operators and of views with sizes, and a transformer; Cresset beside torch.jit.

Without the check of the trace (`check_trace=False`); the best of five, both engines alternately.
"""

import time
import warnings

import torch
from torch import nn

import cresset


def pointwise(x):
    for _ in range(200):
        x = torch.relu(x + 1) * 2
    return x


def views(x):
    for _ in range(400):
        x = x.view(x.shape[1], x.shape[0])
    return x


def best(traces, repeat=5):
    """Of each function the best time, in seconds."""
    times = [[] for _ in traces]
    for _ in range(repeat):
        for trace, kept in zip(traces, times):
            start = time.perf_counter()
            trace()
            kept.append(time.perf_counter() - start)
    return [min(kept) for kept in times]


def main():
    warnings.simplefilter("ignore")
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()
    print("| program | Cresset ms | torch.jit ms | ratio | Cresset us per operator | torch.jit |")
    print("|---|---|---|---|---|---|")
    for name, function, example, count in [
        ("600 relu, add, mul", pointwise, torch.ones(4), 600),
        ("400 views with sizes", views, torch.ones(4, 3), 400),
        ("TransformerEncoder of 6 layers", encoder, torch.ones(2, 8, 64), 0),
    ]:
        engines = (cresset.trace, torch.jit.trace)
        ours, theirs = best([lambda e=engine: e(function, (example,), check_trace=False) for engine in engines])
        each = f"{ours / count * 1e6:.0f} | {theirs / count * 1e6:.0f}" if count else " | "
        print(f"| {name} | {ours * 1e3:.0f} | {theirs * 1e3:.0f} | {ours / theirs:.2f} | {each} |")


if __name__ == "__main__":
    main()
