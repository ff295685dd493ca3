"""Static modules beside eager PyTorch, Cresset's plans and torch's own static runtime: times as ratios, memory against its lower bound.

Each program runs in a process of its own, with one thread; rounds of all engines alternate. Printed per program: the median time of a call in eager PyTorch in microseconds, and how many times
faster the others are (median over rounds; with --least the least times are compared, of many short rounds, for machines that do other things too); then the arena of
intermediate results against the least that any placement needs, and how often a run in the steady state asks PyTorch's CPU allocator for memory: Cresset itself, and each of PyTorch's operators (an allocator
in front of it counts; with managed outputs, and without: one more per result).

With --threads: how many calls of one static module 16 threads of Python make in the time in which 2 make one, rounds of both alternating, and of an eager module; what the process's memory grew by after the
first round.

With --memory: the most that the process's memory grows by during a call, at sizes at which tensors are most of it, each engine in a process of its own. All give back what a call took.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

import torch
from torch import Tensor, nn

import cresset

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "python"))

import convolutional_networks as networks


class Cell(nn.Module):
    def forward(self, x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor, d: Tensor):
        i, f, g, o = (x.mm(w.t()) + h.mm(v.t()) + b + d).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Pointwise(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        for _ in range(8):
            x = torch.tanh(x * y + 0.5) - torch.sigmoid(y)
        return x


class Recommendation(nn.Module):
    """DLRM: layers, embedding bags, products of all pairs, layers."""

    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(1000, 16, mode="sum") for _ in range(8))
        self.top = nn.Sequential(nn.Linear(16 + 36, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
        i, j = torch.tril_indices(9, 9, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, dense: Tensor, indices: Tensor, offsets: Tensor):
        x = self.bottom(dense)
        rows = [x]
        for k, table in enumerate(self.tables):
            rows.append(table(indices[k], offsets[k]))
        z = torch.stack(rows, 1)
        pairs = torch.bmm(z, z.transpose(1, 2))[:, self.i, self.j]
        return self.top(torch.cat([x, pairs], 1))


class DeepAndWide(nn.Module):
    """Two embedding inputs, a batched dot product, three small layers."""

    def __init__(self):
        super().__init__()
        self.mean, self.scale = nn.Parameter(torch.randn(1, 50)), nn.Parameter(torch.randn(1, 50))
        self.first, self.second, self.third = nn.Linear(51, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, ad: Tensor, user: Tensor, wide: Tensor):
        wide = torch.clamp((wide + self.mean) * self.scale, -10.0, 10.0)
        product = torch.bmm(ad, user.transpose(1, 2)).flatten(1)
        x = torch.relu(self.first(torch.cat([product, wide], 1)))
        return torch.sigmoid(self.third(torch.relu(self.second(x))))


class Bert(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Attention(128, 4, 256) for _ in range(layers))

    def forward(self, x: Tensor):
        for layer in self.layers:
            x = layer(x)
        return x


class Attention(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def split(self, x: Tensor):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2).flatten(0, 1)

    def forward(self, x: Tensor):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * q.size(-1) ** -0.5, -1)
        y = torch.bmm(scores, v).view(x.size(0), self.heads, x.size(1), -1).transpose(1, 2).flatten(2)
        x = self.norm(x + self.out(y))
        return self.last(x + self.down(torch.relu(self.up(x))))


def cell():
    n = 64
    weights = [torch.randn(4 * n, n), torch.randn(4 * n, n), torch.randn(4 * n), torch.randn(4 * n)]
    return Cell(), (torch.randn(1, n), torch.randn(1, n), torch.randn(1, n), *(w * n**-0.5 for w in weights))


def recommendation(batch):
    indices = torch.randint(0, 1000, (8, batch * 4))
    return Recommendation(), (torch.randn(batch, 13), indices, torch.arange(0, batch * 4, 4).repeat(8, 1))


PROGRAMS = {
    "lstm_cell_64": cell,
    "pointwise_64": lambda: (Pointwise(), (torch.randn(64), torch.randn(64))),
    "dlrm_b1": lambda: recommendation(1),
    "dlrm_b64": lambda: recommendation(64),
    "deep_and_wide": lambda: (DeepAndWide(), (torch.randn(1, 1, 32), torch.randn(1, 1, 32), torch.randn(1, 50))),
    "bert4": lambda: (Bert(), (torch.randn(1, 64, 128),)),
    "resnet18": lambda: (networks.ResNet18(), (torch.randn(1, 3, 224, 224),)),
}


#: The programs with as many rows as make tensors most of a call's memory.
LARGE = {
    "lstm_cell_64": lambda: (Cell(), (*torch.randn(3, 16384, 64), *cell()[1][3:])),
    "pointwise_64": lambda: (Pointwise(), (torch.randn(1 << 21), torch.randn(1 << 21))),
    "dlrm": lambda: recommendation(16384),
    "deep_and_wide": lambda: (
        DeepAndWide(),
        (torch.randn(1 << 16, 1, 32), torch.randn(1 << 16, 1, 32), torch.randn(1 << 16, 50)),
    ),
    "bert4": lambda: (Bert(), (torch.randn(64, 64, 128),)),
    "resnet18": PROGRAMS["resnet18"],
}


def memory_of_a_call(name, engine):
    """MB that the process's memory grows by at most during a call, after five."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module, args = LARGE[name]()
    module.eval()

    def megabytes(what):
        line = next(line for line in open("/proc/self/status") if line.startswith(what))
        return int(line.split()[1]) / 1024

    with torch.no_grad(), cresset.options.override(kernels="now"):
        if engine == "torch's":
            run = torch._C._jit_to_static_module(torch.jit.freeze(torch.jit.script(module))._c)
        elif engine != "eager":
            options = {"enable_fusion": engine == "static", "cleanup_activations": True}
            run = cresset.static_module(cresset.script(module), **options).runtime()
        else:
            run = module
        for _ in range(5):
            run(*args)
        before = megabytes("VmRSS")
        with open("/proc/self/clear_refs", "w") as out:
            out.write("5")  # the highest is counted from here
        run(*args)
        print(megabytes("VmHWM") - before)


def compare_memory(name):
    # Tensors' memory goes back to the system as soon as it is free.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    most = {}
    for engine in ("eager", "torch's", "static, no fusion", "static"):
        command = [sys.executable, __file__, "--of", name, engine]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        most[engine] = float(out.stdout.splitlines()[-1])
    ratios = "   ".join(f"{engine} {megabytes / most['eager']:.2f}" for engine, megabytes in list(most.items())[1:])
    print(f"{name:15} most memory of a call: eager {most['eager']:6.1f} MB   of that: {ratios}", flush=True)


def engines(module, args):
    scripted = cresset.script(module)
    made = {
        "eager": module,
        "plans": scripted,
        "static, no fusion": cresset.static_module(scripted, manage_output_tensors=True, enable_fusion=False).runtime(),
        "static": cresset.static_module(scripted, manage_output_tensors=True).runtime(),
    }
    try:
        frozen = torch.jit.freeze(torch.jit.script(module))
        theirs = torch._C._jit_to_static_module(frozen._c)
        theirs(*args)
        made["torch's static runtime"] = theirs
    except Exception as error:
        print("torch's static runtime:", str(error).strip().splitlines()[0])
    return made


def measure(name, seconds, least):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module, args = PROGRAMS[name]()
    module.eval()
    with torch.no_grad():
        made = engines(module, args)
        expected = module(*args)
        for engine, run in made.items():
            for _ in range(3):
                found = run(*args)
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4, msg=lambda text, e=engine: f"{e}: {text}")
        cresset.wait_for_compilation()
        calls, times = {}, {engine: [] for engine in made}
        for engine, run in made.items():
            single = []
            for _ in range(20):
                start = time.perf_counter()
                run(*args)
                single.append(time.perf_counter() - start)
            calls[engine] = max(5, int((0.0004 if least else 0.02) / min(single)))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times["eager"]) < 5:
            for engine, run in made.items():
                start = time.perf_counter()
                for _ in range(calls[engine]):
                    run(*args)
                times[engine].append((time.perf_counter() - start) / calls[engine])
    line = f"{name:15} eager {(min if least else statistics.median)(times['eager']) * 1e6:8.1f} us"
    for engine in list(made)[1:]:
        ratio = statistics.median(a / b for a, b in zip(times["eager"], times[engine]))
        ratio = min(times["eager"]) / min(times[engine]) if least else ratio
        line += f"   {engine} {ratio:.2f}"
    print(line)
    for engine in ("static, no fusion", "static"):
        memory = made[engine].memory()
        ratio = memory["arena_bytes"] / memory["least_bytes"] if memory["least_bytes"] else 1
        print(
            f"{'':15} {engine}: arena {memory['arena_bytes']} bytes, {ratio:.2f} of the least "
            f"({memory['least_apart']} bytes if no result took an operand's place); {memory['slots']} results "
            f"of {memory['sum_bytes']} bytes"
        )
        print(f"{'':15} {engine}: {allocations(made[engine], args)}")
    unmanaged = cresset.static_module(cresset.script(module)).runtime()
    print(f"{'':15} static, outputs not managed: {allocations(unmanaged, args)}")


def allocations(runtime, args):
    with torch.no_grad():
        measured = runtime.benchmark_individual_ops(*args, main_runs=1)
    taken = {}
    for op in measured.ops:
        if op.kind in ("out variant", "fallback") and op.allocations:
            taken[op.what] = taken.get(op.what, 0) + op.allocations
    by_operators = ", ".join(f"{name} {count:.0f}" for name, count in taken.items()) or "none"
    return f"allocations of a run: {measured.own_allocations:.0f} by Cresset; by PyTorch's operators: {by_operators}"


def calls_per_second(run, args, count, seconds):
    """Of `count` threads, each of which calls as often as it can."""
    begin, counts = threading.Barrier(count + 1), [0] * count
    end = [0.0]

    def work(thread):
        with torch.no_grad():
            begin.wait()
            while time.perf_counter() < end[0]:
                run(*args)
                counts[thread] += 1

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(count)]
    for thread in threads:
        thread.start()
    end[0] = time.perf_counter() + seconds
    begin.wait()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def compare_threads(name, seconds):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module, args = PROGRAMS[name]()
    module.eval()
    made = {"eager": module, "static": cresset.static_module(cresset.script(module))}
    with torch.no_grad():
        for run in made.values():
            for _ in range(3):
                run(*args)
    cresset.wait_for_compilation()

    def round_of_all():
        return {
            engine: [calls_per_second(run, args, count, seconds / 10) for count in (2, 16)]
            for engine, run in made.items()
        }

    def resident():
        line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    round_of_all()
    before = resident()
    rounds = [round_of_all() for _ in range(10)]
    line = f"{name:15}"
    for engine in made:
        ratio = statistics.median(each[engine][1] / each[engine][0] for each in rounds)
        calls = statistics.median(each[engine][1] for each in rounds)
        line += f"   {engine} {calls:8.0f} calls a second, {ratio:.2f} of 2 threads'"
    print(f"{line}   grew by {resident() - before:.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[[], *{**PROGRAMS, **LARGE}], help="all, unless named")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--least", action="store_true", help="compare the least times")
    parser.add_argument("--memory", action="store_true", help="compare the memory of calls")
    parser.add_argument("--threads", action="store_true", help="compare the throughput of 16 threads and 2")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--of", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.of:
        return memory_of_a_call(*arguments.of)
    if arguments.memory:
        return [compare_memory(name) for name in arguments.programs or LARGE if name in LARGE]
    if arguments.one and arguments.threads:
        return compare_threads(arguments.one, arguments.seconds)
    if arguments.one:
        return measure(arguments.one, arguments.seconds, arguments.least)
    for name in [name for name in arguments.programs or PROGRAMS if name in PROGRAMS]:
        command = [
            sys.executable,
            __file__,
            "--one",
            name,
            "--seconds",
            str(arguments.seconds),
            *["--least"] * arguments.least,
            *["--threads"] * arguments.threads,
        ]
        subprocess.run(command, check=True, env=os.environ)


if __name__ == "__main__":
    main()
