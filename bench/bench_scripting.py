"""Time to script a transformer: Cresset as a ratio to torch.jit, and how it grows with the program.

Each measurement is the first scripting in a process of its own, Cresset and torch.jit alternately; the median counts.
`--layers 12 24 48` makes each layer of another width, so that no two layers share a class and all has to be compiled;
`--statements` makes one Python function of so many statements.

    python bench/bench_scripting.py [--repeat 5] [--layers 12 24 48] [--statements 1000 10000 100000]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Optional


def models():
    import torch
    from torch import Tensor, nn

    class Attention(nn.Module):
        def __init__(self, d: int, heads: int):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(d, 3 * d)
            self.out = nn.Linear(d, d)
            self.dropout = nn.Dropout(0.1)

        def split(self, x: Tensor) -> Tensor:
            b, t, d = x.shape
            return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

        def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            q, k, v = self.split(q), self.split(k), self.split(v)
            scores = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5)
            if mask is not None:
                scores = scores.masked_fill(mask == 0, float("-inf"))
            y = (self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).contiguous()
            return self.out(y.view(x.size(0), x.size(1), -1))

    class Block(nn.Module):
        def __init__(self, d, heads, width):
            super().__init__()
            self.attention = Attention(d, heads)
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.mlp = nn.Sequential(nn.Linear(d, width), nn.GELU(), nn.Linear(width, d), nn.Dropout(0.1))

        def forward(self, x, mask: Optional[Tensor] = None):
            x = x + self.attention(self.norm1(x), mask)
            return x + self.mlp(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self, layers, distinct, d=32, heads=4):
            super().__init__()
            self.embed = nn.Embedding(100, d)
            self.blocks = nn.ModuleList([Block(d, heads, 64 + (i if distinct else 0)) for i in range(layers)])
            self.norm = nn.LayerNorm(d)
            self.head = nn.Linear(d, 100, bias=False)

        def forward(self, tokens):
            mask = torch.tril(torch.ones(tokens.size(1), tokens.size(1), device=tokens.device))
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x, mask)
            return self.head(self.norm(x))

    def encoder(layers, distinct):
        if distinct:
            raise ValueError("the layers of nn.TransformerEncoder are equal")
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    return {"own": Transformer, "nn.TransformerEncoder": encoder}


def measure(tool, model, layers, distinct):
    """Milliseconds of the first and of a second scripting."""
    import warnings

    import torch

    import cresset

    warnings.filterwarnings("ignore")
    script = {"cresset": cresset.script, "torch.jit": torch.jit.script}[tool]
    make = models()[model]
    script(torch.nn.ReLU())  # what is set up once per process is no part of it
    times = []
    for _ in range(2):
        module = make(layers, distinct)
        start = time.perf_counter()
        script(module)
        times.append(1e3 * (time.perf_counter() - start))
    return times


def measure_statements(tool, statements):
    """Milliseconds to script a Python function of that many statements."""
    import importlib.util
    import tempfile

    import torch
    from bench_scale import program

    import cresset

    script = {"cresset": cresset.script, "torch.jit": torch.jit.script}[tool]
    script(torch.nn.ReLU())
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(program(statements))
        file.flush()
        spec = importlib.util.spec_from_file_location("long_program", file.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        start = time.perf_counter()
        script(module.f)
        return 1e3 * (time.perf_counter() - start)


def in_fresh_process(*arguments):
    command = [sys.executable, __file__, "--measure", json.dumps(arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare_sizes(sizes, repeat):
    """us per statement of a Python function; torch.jit where it survives (it recurses)."""
    for statements in sizes:
        shown = []
        for tool in ("cresset", "torch.jit"):
            try:
                times = [in_fresh_process(tool, statements) for _ in range(repeat)]
                shown.append(f"{tool} {1e3 * statistics.median(times) / statements:8.2f} us")
            except subprocess.CalledProcessError as error:
                shown.append(f"{tool}: ends with status {error.returncode}")
        print(f"a function of {statements:7} statements, each    " + "   ".join(shown), flush=True)


def compare(model, layers, distinct, repeat):
    times = {"cresset": [], "torch.jit": []}
    for _ in range(repeat):
        for tool, found in times.items():
            found.append(in_fresh_process(tool, model, layers, distinct))
    first = {tool: statistics.median(t[0] for t in found) for tool, found in times.items()}
    second = {tool: statistics.median(t[1] for t in found) for tool, found in times.items()}
    name = f"{model}, {layers} {'different' if distinct else 'equal'} layers"
    for what, medians in (("first", first), ("second", second)):
        ratio = medians["cresset"] / medians["torch.jit"]
        print(
            f"{name:48} {what:7} cresset {medians['cresset']:8.1f} ms   torch.jit {medians['torch.jit']:8.1f} ms   "
            f"ratio {ratio:.3f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--layers", type=int, nargs="*", default=[12, 24, 48])
    parser.add_argument("--statements", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        arguments = json.loads(args.measure)
        print(json.dumps(measure(*arguments) if len(arguments) == 4 else measure_statements(*arguments)))
        return
    compare_sizes(args.statements, args.repeat)
    compare("own", 12, False, args.repeat)
    compare("nn.TransformerEncoder", 12, False, args.repeat)
    for layers in args.layers:
        compare("own", layers, True, args.repeat)


if __name__ == "__main__":
    main()
