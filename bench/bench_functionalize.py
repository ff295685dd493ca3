"""Functionalization of graphs: how its time grows with the graph, and what the functional programs cost.

    python bench/bench_functionalize.py

    python bench/bench_functionalize.py growth

Time per node of the passes, over the size of the graph (`growth`: only this). Then, for programs with mutation, the time of a
call functionalized, and functionalized and reinplaced, as ratios to the program itself, all by plans, interleaved: the
median of the rounds' ratios. Then the same for calls with their backward passes, and how many nodes autograd's tape has.
"""

import statistics
import sys
import time

import torch

import cresset

PROGRAMS = {
    "an optimizer (4 × 10,000 numbers)": (
        "def f(p: Tensor, g: Tensor, m: Tensor, v: Tensor, step: int):\n"
        "  m.lerp_(g, 0.1)\n  v.mul_(0.999).addcmul_(g, g, value=0.001)\n"
        "  denom = (v.sqrt() / (1 - 0.999 ** step) ** 0.5).add_(1e-8)\n"
        "  p.addcdiv_(m, denom, value=-0.001 / (1 - 0.9 ** step))\n  return p\n",
        lambda: (*(torch.rand(10_000) for _ in range(4)), 2),
    ),
    "a graph network (200 × 32, 800 edges, 3 steps)": (
        "def f(x: Tensor, source: Tensor, target: Tensor):\n"
        "  h = x * 1\n"
        "  for i in range(3):\n"
        "    m = torch.zeros_like(h)\n    m.index_add_(0, target, h[source])\n    h[:, 1:] += m[:, 1:]\n    h.relu_()\n"
        "  return h\n",
        lambda: (torch.rand(200, 32), torch.randint(0, 200, (800,)), torch.randint(0, 200, (800,))),
    ),
    "a key-value cache (2 × 8 × 256 × 64)": (
        "def f(cache: Tensor, new: Tensor, at: Tensor, q: Tensor):\n"
        "  keys = cache[0]\n  values = cache[1]\n"
        "  keys.index_copy_(1, at, new[0])\n  values.index_copy_(1, at, new[1])\n"
        "  return torch.matmul(torch.softmax(torch.matmul(q, keys.transpose(1, 2)), -1), values)\n",
        lambda: (torch.rand(2, 8, 256, 64), torch.rand(2, 8, 1, 64), torch.tensor([5]), torch.rand(8, 1, 64)),
    ),
    "batch norm in training (32 × 64 × 8 × 8)": (
        "def f(x: Tensor, w: Tensor, b: Tensor, mean: Tensor, var: Tensor):\n"
        "  h = torch.batch_norm(x, w, b, mean, var, True, 0.1, 1e-5, False)\n  h.relu_()\n  return h\n",
        lambda: (torch.rand(32, 64, 8, 8), torch.rand(64), torch.rand(64), torch.zeros(64), torch.ones(64)),
    ),
    "an LSTM over packed sequences (24 × 32 to 64), with its state": (
        "def f(data: Tensor, sizes: Tensor, h: Tensor, c: Tensor, w: List[Tensor], out: Tensor):\n"
        "  y, h1, c1 = torch.lstm(data, sizes, [h, c], w, True, 1, 0.0, False, False)\n"
        "  h.copy_(h1)\n  c.copy_(c1)\n  torch.tanh(y, out=out)\n  return out\n",
        lambda: (
            *torch.nn.utils.rnn.pack_sequence([torch.rand(n, 32) for n in (10, 8, 4, 2)])[:2],
            torch.rand(1, 4, 64),
            torch.rand(1, 4, 64),
            [torch.rand(256, 32) / 8, torch.rand(256, 64) / 8, torch.rand(256), torch.rand(256)],
            torch.empty(24, 64),
        ),
    ),
}


#: Functions of x, which requires a gradient, and of numbers w.
WITH_GRADIENTS = {
    "whole": "y = x * 2\n  y.add_(1)\n  z = y * 3\n  z[0] = 0",
    "relu network": "z = x @ w\n  z.relu_()\n  z = z @ w\n  z.relu_()",
    "rotary halves": (
        "h = x.size(-1) // 2\n  z = torch.empty_like(x)\n"
        "  z[:, :h] = x[:, :h] * w[:, :h] - x[:, h:] * w[:, h:]\n"
        "  z[:, h:] = x[:, h:] * w[:, :h] + x[:, :h] * w[:, h:]"
    ),
    "masked": "z = x * 2\n  z[w > 0] = 0",
    "chunk": "a, b = (x * 2).chunk(2, 1)\n  z = a * 1\n  z.mul_(b)\n  z[:, 0] = 1",
    "a view twice": "z = x * 2\n  row = z[0]\n  row.add_(1)\n  row.mul_(3)",
    "transposed": "z = x * 2\n  z.t().add_(w)",
    "flat": "z = x * 2\n  z.view(-1)[3:100] = 0",
    "in a branch": "z = x * 2\n  if bool(w.sum() > -1e9):\n    z.add_(1)\n    z.mul_(w)",
    "whole in a loop": "z = x * 2\n  for i in range(20):\n    z.mul_(0.9).add_(w)",
    "rows in a loop": "z = torch.zeros_like(x)\n  for i in range(x.size(0)):\n    z[i] = torch.tanh(x[i] * 2 + 1) * w[i]",
}


def tape(result):
    """How many nodes lead to it, those of leaves not counted."""
    seen, nodes = set(), [result.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None or node in seen or node.name().endswith("AccumulateGrad"):
            continue
        seen.add(node)
        nodes += [next_node for next_node, _ in node.next_functions]
    return len(seen)


CONSTANTS = "".join(f"  %{name} : int = prim::Constant[value={i}]()\n" for i, name in enumerate(("zero", "one", "two")))


def graph_of(inputs, lines, results):
    return cresset.parse_ir(
        f"graph({inputs}):\n{CONSTANTS}" + "".join(f"  {x}\n" for x in lines) + f"  return ({results})\n"
    )


def writes_to_one(count):
    lines = ["%a : Tensor = aten::mul(%x, %two)"]
    for i in range(count // 2):
        lines += [f"%v{i} : Tensor = aten::select(%a, %zero, %zero)", f"%w{i} : Tensor = aten::add_(%v{i}, %one, %one)"]
    return graph_of("%x : Tensor", lines, "%a")


def writes_to_arguments(count):
    lines = [f"%w{i} : Tensor = aten::add_(%x{i}, %one, %one)" for i in range(count)]
    return graph_of(", ".join(f"%x{i} : Tensor" for i in range(count)), lines, "%one")


def writes_to_attributes(count):
    module = torch.nn.Module()
    for i in range(count // 3):
        module.register_buffer(f"b{i}", torch.zeros(1))
    scripted = cresset.script(module)
    scripted.define(
        "def forward(self, x):\n" + "".join(f"    self.b{i}.add_(x)\n" for i in range(count // 3)) + "    return x\n"
    )
    return scripted.forward.inlined_graph.copy()


def appends(count):
    lines = ["%l : Tensor[] = prim::ListConstruct()"]
    for i in range(count // 3):
        lines += [f"%a{i} : Tensor = aten::mul(%x, %two)", f"%w{i} : Tensor = aten::add_(%a{i}, %one, %one)"]
        lines += [f"%m{i} : Tensor[] = aten::append(%l, %a{i})"]
    return graph_of("%x : Tensor", lines, "%l")


def branches(count):
    lines = ["%a : Tensor = aten::mul(%x, %two)"]
    for i in range(count // 3):
        lines += [" = prim::If(%c)", "  block0():", f"    %w{i} : Tensor = aten::add_(%a, %one, %one)", "    -> ()"]
        lines += ["  block1():", f"    %u{i} : Tensor = aten::mul_(%a, %two)", "    -> ()"]
    return graph_of("%x : Tensor, %c : bool", lines, "%a")


def nested_branches(count, depth=100):
    lines = ["%a : Tensor = aten::mul(%x, %two)"]
    for i in range(count // (2 * depth)):
        for j in range(depth):
            pad = "    " * j
            lines += [
                f"{pad} = prim::If(%c)",
                f"{pad}  block0():",
                f"{pad}    %w{i}_{j} : Tensor = aten::add_(%a, %one, %one)",
            ]
        for j in reversed(range(depth)):
            pad = "    " * j
            lines += [f"{pad}    -> ()", f"{pad}  block1():", f"{pad}    -> ()"]
    return graph_of("%x : Tensor, %c : bool", lines, "%a")


def loops(count):
    lines = ["%a : Tensor = aten::mul(%x, %two)"]
    for i in range(count // 3):
        lines += [
            " = prim::Loop(%two, %c)",
            f"  block0(%i{i} : int):",
            f"    %v{i} : Tensor = aten::select(%a, %zero, %i{i})",
        ]
        lines += [f"    %w{i} : Tensor = aten::add_(%v{i}, %one, %one)", "    -> (%c)"]
    return graph_of("%x : Tensor, %c : bool", lines, "%a")


def views_of_views(count, depth=10):
    lines = ["%a : Tensor = aten::mul(%x, %two)"]
    for i in range(count // (depth + 1)):
        value = "%a"
        for j in range(depth):
            lines.append(f"%v{i}_{j} : Tensor = aten::unsqueeze({value}, %zero)")
            value = f"%v{i}_{j}"
        lines.append(f"%w{i} : Tensor = aten::add_({value}, %one, %one)")
    return graph_of("%x : Tensor", lines, "%a")


GROWING = (
    writes_to_one,
    writes_to_arguments,
    writes_to_attributes,
    appends,
    branches,
    nested_branches,
    loops,
    views_of_views,
)


def growth(sizes=(1_000, 10_000, 100_000)):
    """Microseconds per node of the graph that comes in, for functionalize, reinplace and remove_views."""

    def time_of(change, graph, nodes):
        start = time.perf_counter()
        change(graph)
        return (time.perf_counter() - start) / nodes * 1e6

    passes = cresset.passes
    print(f"µs per node of functionalize, reinplace, remove_views: {', '.join(f'{size:,}' for size in sizes)} nodes")
    for make in GROWING:
        cells = []
        for size in sizes if make != writes_to_attributes else sizes[:2]:  # 30,000 attributes take minutes to script
            graph = make(size)
            nodes = str(graph).count("\n")
            times = [time_of(lambda g: passes.functionalize(g, distinct_inputs=True), graph, nodes)]
            times.append(time_of(lambda g: passes.reinplace(g, distinct_inputs=True), graph.copy(), nodes))
            times.append(time_of(passes.remove_views, graph, nodes))
            cells.append(" ".join(f"{t:.1f}" for t in times))
        print(f"{make.__name__}: {', '.join(cells)}", flush=True)


def forms(source):
    """The program, it functionalized, and it also reinplaced."""
    plain = cresset.CompilationUnit(source).f
    functional = cresset.functionalize(plain, distinct_inputs=True)
    graph = functional.graph.copy()
    cresset.passes.reinplace(graph, distinct_inputs=True)
    return [plain, functional, cresset.function_from_graph("reinplaced", graph)]


def ratios(functions, call, rounds, calls):
    """What the others take of the first one's time, as text: the median of the rounds' ratios."""
    found = []
    for round_ in range(rounds):
        times = []
        for function in functions:
            start = time.perf_counter()
            for _ in range(calls):
                call(function)
            times.append(time.perf_counter() - start)
        if round_ >= 5:  # plans are made in the first ones
            found.append([t / times[0] for t in times[1:]])
    return ", ".join(f"{statistics.median(r):.2f}" for r in zip(*found, strict=True))


def costs():
    print("\nprogram, functionalized and reinplaced: ratio to the program's own time")
    for name, (source, make) in PROGRAMS.items():
        functions, arguments = forms(source), make()
        print(f"{name}: {ratios(functions, lambda f, given=arguments: f(*given), rounds=30, calls=20)}")


def gradients(size):
    print(
        f"\nprogram with gradients, {size} × {size}: ratio to the program's own time; nodes of the tapes, its own first"
    )
    for name, body in WITH_GRADIENTS.items():
        functions = forms(f"def f(x: Tensor, w: Tensor):\n  {body}\n  return (z * 2).sum()\n")
        x, w = torch.rand(size, size, requires_grad=True), torch.rand(size, size)
        found = ratios(functions, lambda f, x=x, w=w: torch.autograd.grad(f(x, w), x), rounds=20, calls=3)
        print(f"{name}: {found}; {', '.join(str(tape(function(x, w))) for function in functions)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.no_grad():
        growth()
        if "growth" not in sys.argv:
            costs()
    if "growth" not in sys.argv:
        gradients(64)
        gradients(1024)
