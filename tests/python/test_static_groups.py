"""Results of groups of operators take the places of operands, where their kernel reads each element before it writes it."""

import itertools
import random
import warnings

import pytest
import torch
from script_compare import same as equal
from test_static import OPTIONS, check, outcome

import cresset

warnings.filterwarnings("ignore")

PROGRAMS = """
def chain(x, y):
    a = torch.mm(x, y)
    b = torch.mm(torch.relu(a * 2 + 1) * y, y)
    return torch.mm(torch.neg(torch.abs(b) + x), y)

def residual(x, y):
    a = torch.mm(x, y)
    b = torch.addmm(y[0], x, y)
    return torch.mm(torch.relu(a * 2 + b) - 1, y)

def two_results(x, y):
    a = torch.mm(x, y)
    b = torch.addmm(y[0], x, y)
    c = torch.relu(a * 2 + b) - 1
    d = torch.abs(b) * a + c
    return torch.mm(c, y) + torch.mm(d, y)

def several_results(x, y):
    a = torch.mm(x, y)
    b = torch.mm(y, x)
    c = a * b + 1
    d = torch.relu(a) - b
    e = torch.mm(c, x)
    return torch.mm(d, e), torch.mm(e, c)

def results_of_other_sizes(x, y):
    a = torch.mm(x[:1], y)
    b = torch.mm(y, x)
    c = torch.relu(a) + 1
    d = b * c + a
    return torch.mm(d, y), torch.mm(c, y)

def broadcast(x, y):
    a = torch.mm(x, y)
    row, column = torch.mm(x[:1], y), torch.mm(x, y[:, :1])
    return torch.mm(torch.relu(a * row + column) + row, y)

def transposed(x, y):
    a = torch.mm(x, y)
    return torch.mm(torch.relu(a + a.t()) * 2 + y.t(), y)

def shifted(x, y):
    a = torch.mm(x, y)
    return torch.mm(torch.relu(a[:, 1:] * 2 + a[:, :-1]) + 1, y[1:])

def strided(x, y):
    a = torch.mm(x, y).t()
    b = torch.mm(y, x)
    return torch.mm(torch.relu(a) * 2 + b, x) + torch.mm(torch.tanh(a) + 1.0, x)

def reduced(x, y):
    a = torch.mm(x, y)
    b = torch.softmax(a * 2, -1)
    c = torch.mm(b, y)
    return torch.mm(c - c.amax(1, keepdim=True) + (c * c).sum(0), y)

def dtypes(x, y):
    a = torch.mm(x, y)
    b = (a > 0) & (a < 1)
    c = torch.logical_not(b) | (a > 2)
    return torch.where(c, x, y), a.double() * 2 + 1, torch.mm((a * 2).int() + 1, (a * 3).int() - 1)

def halves(x, y):
    a = torch.mm(x, y).bfloat16()
    b = torch.relu(a * 2 + 1)
    return torch.mm(b, b), (b.float() + 1).double() * 2

def loops(x, y):
    for i in range(3):
        a = torch.mm(x, y)
        b = torch.relu(a * 0.5 + i)
        x = torch.mm(b, y) * 0.1 + b
    return x

def branches(x, y):
    a = torch.mm(x, y)
    if bool(a.sum() > 0):
        b = torch.relu(a * 2 + 1)
    else:
        b = torch.abs(a - 1) * y
    return torch.mm(b, y)

def needed_later(x, y):
    a = torch.mm(x, y)
    b = torch.relu(a * 2 + 1)
    return torch.mm(b, a)

def fails(x, y):
    a = torch.mm(x, y)
    b = torch.relu(a * 2 + x)
    return torch.mm(b, y[:2])
"""
NAMES = [line[4 : line.index("(")] for line in PROGRAMS.splitlines() if line.startswith("def ")]
EVERY = [*OPTIONS[:3], {"memory_policy": "precomputed"}]
SIZES = (2, 9, 2, 1, 64, 33, 0)


def compiled(function, **options):
    """With kernels that are there when the first call comes."""
    return cresset.static_module(function, **options).runtime()


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("name", NAMES)
def test_programs_do_what_they_do_elsewhere(name, numerics):
    function = getattr(cresset.CompilationUnit(PROGRAMS), name)
    with cresset.options.override(kernels="now", numerics=numerics):
        calls = [((torch.randn(n, n), torch.randn(n, n)), {}) for n in SIZES]
        if numerics == "exact":
            check(function, calls, EVERY)
            return
        for options in EVERY:
            apart, static = compiled(function, optimize_memory=False), compiled(function, **options)
            for args, _ in [*calls, *calls]:
                assert equal(outcome(apart, args), outcome(static, args))


def test_places_of_operands_make_arenas_smaller():
    unit = cresset.CompilationUnit(PROGRAMS)
    x = torch.randn(16, 16)

    def memory(name):
        runtime = compiled(getattr(unit, name))
        for _ in range(3):
            runtime(x, x)
        assert runtime.memory()["slot_allocations"] == 0
        kinds = [node.kind for node in runtime.report().plans[0].nodes]
        return runtime.memory(), kinds

    with cresset.options.override(kernels="now"):
        for name, matrices, apart in (("residual", 2, 3), ("two_results", 3, 4)):
            found, kinds = memory(name)
            assert "kernel" in kinds and found["arena_bytes"] == found["least_bytes"]
            assert (found["least_bytes"], found["least_apart"]) == (matrices * x.nbytes, apart * x.nbytes), name
        found, _ = memory("needed_later")
        assert found["least_bytes"] == found["least_apart"]


UNARY = ("torch.relu({})", "torch.neg({})", "({} * 0.5)", "({} + 1)", "torch.abs({})", "{}.t()", "torch.tanh({})")
BINARY = ("({} + {})", "({} * {})", "({} - {})", "torch.maximum({}, {})", "torch.where({} > 0, {}, {})")


def program(random):
    """Values are square but for rows and columns, which are broadcast; some leave, others are multiplied."""
    names, lines = ["x", "y"], []
    for i in range(random.randint(4, 14)):
        kind = random.random()
        pick = lambda: random.choice(names[-4:])  # noqa: E731
        if kind < 0.25:
            call = f"torch.mm({pick()}, {pick()}) * 0.3"
        elif kind < 0.35:
            call = f"{pick()} + torch.mm({pick()}[:1], {pick()})"
        elif kind < 0.45:
            call = f"{pick()} * {pick()}.amax(1, keepdim=True)"
        elif kind < 0.7:
            call = random.choice(UNARY).format(pick())
        else:
            form = random.choice(BINARY)
            call = form.format(*(pick() for _ in range(form.count("{}"))))
        names.append(f"v{i}")
        lines.append(f"    v{i} = {call}")
    leaving = random.sample(names[2:], random.randint(1, 3))
    return "def f(x, y):\n" + "\n".join(lines) + f"\n    return {', '.join(leaving)}\n"


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    source = program(random.Random(seed))
    function = cresset.CompilationUnit(source).f
    torch.manual_seed(seed)
    calls = [(torch.randn(n, n), torch.randn(n, n)) for n in (3, 17, 1, 40)]
    with cresset.options.override(kernels="now"):
        for options in ({"fill_freed_memory": True}, {"memory_policy": "precomputed", "manage_output_tensors": True}):
            static = compiled(function, **options)
            for args in itertools.chain(calls, calls):
                expected, found = outcome(function, args), outcome(static, args)
                assert equal(expected, found), source
