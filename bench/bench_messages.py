"""Messages of graph networks (elements read by index, computed and added up by index), and in-place chains: scripts beside eager
PyTorch and torch.jit, without gradients.

    python bench/bench_messages.py [THREADS]

In alternating rounds of one process, the fastest round of each, in microseconds; then the ratios to eager PyTorch.
"""

import sys
import time

import torch

import cresset

#: Of graphs: nodes, edges, features of a node.
GRAPHS = ((20, 200, 3), (100, 2000, 16), (1000, 20000, 64), (1000, 20000, 1), (5000, 200000, 8))


def convolution(x, w, source, target):
    messages = (x[source] * w).relu()
    return torch.zeros_like(x).index_add_(0, target, messages)


def scattered(x, w, source, target):
    messages = (x[source] * w).relu()
    out = torch.zeros_like(x)
    out.scatter_add_(0, target.unsqueeze(1).expand(-1, x.size(1)), messages)
    return out


def energies(x, w, source, target):
    return torch.zeros_like(x[:, 0]).index_add(0, target, torch.exp(x[source, 0] * w[:, 0]))


def sums(x, w, source, target):
    return x.index_add(0, target, w.expand(w.size(0), x.size(1)))


def block(x, w, bias):
    """As residual blocks of torchvision write."""
    y = torch.mm(x, w)
    y += x
    y.relu_()
    z = torch.mm(y, w)
    return z.add_(bias).clamp_(0.0, 6.0)


def cases():
    torch.manual_seed(0)
    for nodes, edges, features in GRAPHS:
        x, w = torch.randn(nodes, features), torch.randn(edges, 1)
        ends = torch.randint(0, nodes, (2, edges))
        for function in (convolution, scattered, energies, sums):
            yield function, f"{nodes} nodes, {edges} edges, {features}", (x, w, *ends)
    for rows in (16, 256, 4096):
        yield block, f"{rows} rows", (torch.randn(rows, 64), torch.randn(64, 64) / 8, torch.randn(64))


def measure(functions, arguments):
    best = [float("inf")] * len(functions)
    repeats = 1
    for round_number in range(13):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(repeats):
                function(*arguments)
            best[i] = min(best[i], (time.perf_counter() - start) / repeats)
        if round_number == 0:
            repeats = max(1, min(2000, int(0.02 / best[0])))
            best = [float("inf")] * len(functions)
    return [1e6 * seconds for seconds in best]


@torch.no_grad()
def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    cresset.options.kernels = "now"
    print(f"{'':48} {'eager':>9} {'torch.jit':>9} {'cresset':>9}  ratios")
    for function, sizes, arguments in cases():
        functions = [function, torch.jit.script(function), cresset.script(function)]
        expected = function(*arguments)
        for compiled in functions[1:]:
            for _ in range(3):
                torch.testing.assert_close(compiled(*arguments), expected, rtol=1e-4, atol=1e-4)
        eager, jit, own = measure(functions, arguments)
        name = f"{function.__name__}, {sizes}"
        print(f"{name:48} {eager:9.1f} {jit:9.1f} {own:9.1f}  {jit / eager:.2f} {own / eager:.2f}", flush=True)


if __name__ == "__main__":
    main()
