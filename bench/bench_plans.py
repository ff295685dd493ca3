"""What plans cost: microseconds per node to make one, by the size and kind of program; first and second calls of models
beside eager PyTorch; memory over a thousand kinds of calls. Each figure comes from fresh processes.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time

SIZES = (1_000, 10_000, 65_000)
ROUNDS = 5


def program(kind, statements):
    if kind == "pointwise":
        lines = ["def f(x: Tensor, y: Tensor) -> Tensor:", "    a = x", "    b = y"]
        lines += ["    a = a * b + x", "    b = torch.tanh(b) - a"] * (statements // 4)
        return "\n".join([*lines, "    return a + b"])
    if kind == "numbers and branches":
        lines = ["def f(x: Tensor, n: int) -> Tensor:", "    k = n"]
        for i in range(statements // 3):
            lines += [f"    k = k * 3 + {i}", "    if k > 10000:", "        k = k % 1000"]
        return "\n".join([*lines, "    return x + k"])
    if kind == "lists":
        lines = ["def f(x: Tensor, n: int) -> Tensor:", "    l: List[Tensor] = []"]
        for i in range(statements // 3):
            lines += [f"    l.append(x + {i})", "    x = l[-1] * 2"]
        return "\n".join([*lines, "    return torch.stack(l)"])
    if kind == "views and writes":
        lines = ["def f(x: Tensor, n: int) -> Tensor:", "    y = x.clone()"]
        for i in range(statements // 4):
            lines += [f"    y[{i % 4}].add_(1)", "    y = y.view([-1]).view([4, -1])"]
        return "\n".join([*lines, "    return y"])
    lines = ["def f(x: Tensor, n: int) -> Tensor:"]
    for _ in range(statements // 6):
        lines += ["    x = x.view([x.size(0), -1]) if x.dim() == 2 else x.flatten()", "    x = x + x.shape[0]"]
    return "\n".join([*lines, "    return x"])


KINDS = ("pointwise", "numbers and branches", "lists", "views and writes", "sizes and ranks")


def make_plan(kind, statements, gradients):
    import torch

    import cresset

    f = cresset.CompilationUnit(program(kind, int(statements))).f
    x = torch.randn(4, 4, requires_grad=gradients == "gradients")
    arguments = (x, torch.randn(4, 4) if kind == "pointwise" else 3)
    torch.set_grad_enabled(gradients == "gradients")
    nodes = len(list(f.graph.nodes()))
    with cresset.optimized_execution(False):
        f(*arguments)
    start = time.perf_counter()
    graph = f.graph_for(*arguments)
    seconds = time.perf_counter() - start
    return {"nodes": nodes, "us": 1e6 * seconds / nodes, "left": len(list(graph.nodes()))}


def first_calls(name, engine):
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    if name == "ResNet-18":
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "python"))
        import model_programs

        model, inputs = model_programs.ResNet().eval(), (torch.randn(1, 3, 64, 64),)
    else:
        layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
        model, inputs = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval(), (torch.randn(1, 128, 256),)
    if engine == "cresset":
        import cresset

        model = cresset.script(model)
    elif engine == "torch.jit":
        model = torch.jit.script(model)
    times = []
    with torch.no_grad():
        torch.ones(8).sum()
        for _ in range(12):
            start = time.perf_counter()
            model(*inputs)
            times.append(1e3 * (time.perf_counter() - start))
    return {"first": times[0], "second": times[1], "later": statistics.median(times[4:])}


def many_kinds():
    """1,000 kinds of calls: ranks, dtypes and None-ness in all combinations of three arguments."""
    import torch

    import cresset

    f = cresset.CompilationUnit("""
def f(x: Tensor, y: Tensor, z: Optional[Tensor]):
    w = torch.sin(x.sum()) + torch.cos(y.sum())
    return w if z is None else w + z.sum()
""").f
    dtypes = [torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
    tensors = [torch.ones([2] * rank, dtype=dtype) for dtype in dtypes for rank in range(4)]
    calls = [(x, y, None) for x in tensors for y in tensors][:1000]

    def memory():
        return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6

    for call in calls[:50]:
        f(*call)
    before = memory()
    start = time.perf_counter()
    for call in calls:
        f(*call)
    beyond = time.perf_counter() - start
    after = memory()
    with cresset.optimized_execution(False):
        start = time.perf_counter()
        for call in calls:
            f(*call)
        plain = time.perf_counter() - start
    return {"plans": len(cresset.explain(f).plans), "MB": after - before, "ratio": beyond / plain}


def child(*arguments):
    out = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(out.stdout.splitlines()[-1])


def main():
    print("| program | gradients | nodes | us per node | nodes left |\n|---|---|---|---|---|")
    for kind in KINDS:
        for gradients in ("none", "gradients") if kind == "pointwise" else ("none",):
            for statements in SIZES:
                runs = [child("plan", kind, statements, gradients) for _ in range(3)]
                best = min(runs, key=lambda run: run["us"])
                print(f"| {kind} | {gradients} | {best['nodes']} | {best['us']:.1f} | {best['left']} |", flush=True)
    print("\n| model | call | Cresset ms | eager ms | torch.jit ms | ratio to eager |\n|---|---|---|---|---|---|")
    for name in ("ResNet-18", "transformer"):
        runs = {engine: [] for engine in ("cresset", "eager", "torch.jit")}
        for _ in range(ROUNDS):
            for engine, found in runs.items():
                found.append(child("first", name, engine))
        for call in ("first", "second", "later"):
            mine, eager, jit = (statistics.median(run[call] for run in runs[engine]) for engine in runs)
            print(f"| {name} | {call} | {mine:.2f} | {eager:.2f} | {jit:.2f} | {mine / eager:.2f} |", flush=True)
    kinds = child("kinds")
    print(
        f"\n1,000 kinds of calls: {kinds['plans']} plans, {kinds['MB']:.1f} MB more after the first 50; a call takes"
        f" {kinds['ratio']:.2f} of one that runs unoptimized"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        job = {"plan": make_plan, "first": first_calls, "kinds": many_kinds}[sys.argv[1]]
        print(json.dumps(job(*sys.argv[2:])))
    else:
        main()
