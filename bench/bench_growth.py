"""How cost grows with the size of a program: what a program of n parts costs, divided by n, at two sizes 20 times apart.

Linear cost has a growth of 1, quadratic of 20. Each program of tests/python/test_long_programs.py is compiled, printed,
parsed back and run; passes and the alias analysis run on graphs of views, writes, lists and blocks. The best of three
rounds counts, in processor time of this process. The command fails if a growth is over LIMIT.
"""

import gc
import sys
import time
from pathlib import Path

import torch

import cresset

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
from test_long_programs import SHAPES  # noqa: E402

LIMIT = 4
STEP = 20
LARGE = 40_000  # nodes of a graph

PART = """
  %a# : Tensor = aten::relu(%T)
  %v# : Tensor = aten::t(%a#)
  %p# : Tensor[] = aten::append(%l, %v#)
  %g# : Tensor = aten::__getitem__(%l, %k)
  %w# : Tensor = aten::add_(%g#, %k, %k)
  %s# : int = aten::mul(%N, %k)
  %r# : int = aten::mul(%N, %k)
  %q# : int = aten::add(%s#, %r#)
  %i# : int = prim::If(%c)
    block0():
      -> (%q#)
    block1():
      %j# : int = aten::sub(%q#, %two)
      -> (%j#)
  %n# : int = prim::Loop(%two, %true, %i#)
    block0(%m# : int, %o# : int):
      %z# : int = aten::add(%o#, %q#)
      -> (%true, %z#)
"""


def graph(nodes):
    lines = [
        "graph(%x : Tensor, %k : int, %c : bool):",
        "  %true : bool = prim::Constant[value=1]()",
        "  %two : int = prim::Constant[value=2]()",
        "  %l : Tensor[] = prim::ListConstruct(%x)",
    ]
    tensor, number = "%x", "%k"
    for i in range(nodes // PART.count(" = ")):
        lines.append(PART.replace("%T", tensor).replace("%N", number).replace("#", str(i)))
        tensor, number = f"%w{i}", f"%n{i}"
    return cresset.parse_ir("\n".join([*lines, f"  return ({tensor}, {number})\n"]))


def seconds(work):
    """Of the work that `work()` returns, after what it prepares."""
    best = float("inf")
    for _ in range(3):
        run = work()
        gc.collect()
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def program(make, argument):
    def prepared(n):
        source = make(n)

        def run():
            function = cresset.CompilationUnit(source).f
            cresset.parse_ir(str(function.graph))
            assert function.code
            function(argument)

        return run

    return prepared


def on_graph(step):
    def prepared(n):
        made = graph(n)
        return lambda: step(made)

    return prepared


def measured():
    for make, (largest, argument, _) in SHAPES.items():
        yield f"program of many {make.__name__.replace('_', ' ')}", program(make, argument), largest
    yield "alias analysis", on_graph(lambda g: g.alias_db()), LARGE
    for name in cresset.passes.preserves:
        yield f"pass {name}", on_graph(getattr(cresset.passes, name)), LARGE


def main():
    torch.set_num_threads(1)
    print("| what | us per part | 20 times as many | growth |\n|---|---|---|---|")
    failed = []
    for name, prepared, large in measured():
        small = large // STEP
        one, other = (seconds(lambda n=n: prepared(n)) / n for n in (small, large))
        growth = other / one
        print(f"| {name} | {1e6 * one:.3f} | {1e6 * other:.3f} | {growth:.2f} |", flush=True)
        if growth > LIMIT and other * large > 0.05:  # below it is the clock
            failed.append(name)
    if failed:
        sys.exit(f"more than {LIMIT} times as much per part: {', '.join(failed)}")


if __name__ == "__main__":
    main()
