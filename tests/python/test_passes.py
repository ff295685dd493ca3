"""Passes keep the meaning of programs: results, bits, aliasing, printed output, effects on arguments, exceptions.

Random programs run as they are and after passes: each pass alone behind inlining, and many in random orders.
"""

import os
import random

import pytest
from generator import comparison, programs
from generator.execution import Cresset, call

import cresset

#: Programs per part; the long run takes more.
COUNT = int(os.environ.get("CRESSET_OPTIMIZED_PROGRAMS", "60"))
PARTS = 4

#: Passes that keep bits and derivatives: those that may run on any program.
KEEPING = [name.replace("_", "-") for name, keeps in cresset.passes.preserves.items() if keeps == "All"]


def optimized(function, passes):
    graph = function.graph
    for name in passes:
        getattr(cresset.passes, name.replace("-", "_"))(graph)
        graph.lint()
    return cresset._C.function_from_graph(function.name, graph)


def orders(seed):
    """Lists of passes: each alone, and random ones."""
    choose = random.Random(seed)
    yield from (["inline", name] for name in KEEPING)
    for _ in range(3):
        yield [choose.choice(KEEPING) for _ in range(12)]
    yield ["inline", *KEEPING, *KEEPING]


def difference(program, passes):
    unit = Cresset(program).unit
    for one in program.calls:
        function = getattr(unit, one.function)
        arguments = ", ".join(one.arguments)
        plain, better = call(function, arguments), call(optimized(function, passes), arguments)
        if plain.kind == "error":
            plain.message, better.message = map(comparison.last_line, (plain.message, better.message))
        if plain != better:
            return f"{one}: {plain}\nafter {', '.join(passes)}: {better}"
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part):
    ran = 0
    for seed in range(part * COUNT, (part + 1) * COUNT):
        program = programs.generate(seed)
        try:
            Cresset(program)
        except cresset.Error:
            continue
        for passes in orders(seed):
            found = difference(program, passes)
            assert not found, f"seed {seed}\n{program}\n{found}"
        ran += 1
    assert ran > COUNT // 2
