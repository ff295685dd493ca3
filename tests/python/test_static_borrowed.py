"""What code of static modules finds in the run's memory without owning it: results in slots, elements of lists and tuples."""

import warnings

import pytest
import torch
from script_compare import same as equal
from test_static import OPTIONS, check, outcome

import cresset

warnings.filterwarnings("ignore")

PROGRAMS = """
def cell(x, y):
    i, f, g, o = (torch.mm(x, y) + 1).chunk(4, 1)
    c = torch.sigmoid(f) * i + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c

def some_unused(x, y):
    a, _, b, _ = torch.mm(x, y).split(x.size(1) // 4, 1)
    return torch.mm(a, b.t())

def none_used(x, y):
    a, b, c, d = torch.mm(x, y).chunk(4, 1)
    return torch.relu(x)

def wrong_number(x, y):
    a, b, c = torch.relu(x).chunk(4, 1)
    return torch.mm(a, b.t()) + torch.mm(c, c.t())

def in_branches(x, y):
    a, b, c, d = torch.mm(x, y).chunk(4, 1)
    if bool(a.sum() > 0):
        e = torch.tanh(a)
    else:
        e = torch.relu(b) + c
    return torch.mm(e, d.t())

def in_loops(x, y):
    total = torch.zeros_like(x)
    for i in range(3):
        a, b, c, d = (torch.mm(x, y) * i).chunk(4, 1)
        total = total + torch.cat([a, c, torch.tanh(d), torch.relu(b)], 1)
        if i == 1:
            e, f = torch.relu(total).chunk(2, 0)
            total = torch.cat([f, e + f])
    return total

def leave(x, y):
    a, b, c, d = torch.mm(x, y).chunk(4, 1)
    return a, [torch.relu(b), c], torch.tanh(a) + d

def list_is_used_again(x, y):
    parts = torch.mm(x, y).chunk(4, 1)
    a, b, c, d = parts
    e = torch.relu(a) + b
    return torch.cat(parts, 1) + torch.cat([c, d, e, a], 1)

def list_is_written(x, y):
    parts = [torch.relu(x), torch.mm(x, y), torch.tanh(y)]
    a, b, c = parts
    parts[0] = torch.mm(y, y)
    parts.append(a)
    parts.clear()
    return torch.mm(torch.mm(a, b), c), len(parts)

def of_several(x, y):
    a, b, c = torch.native_layer_norm(torch.mm(x, y), [x.size(1)], None, None, 1e-5)
    values, indices = torch.max(torch.relu(a), 1)
    return values + b.sum() + c.sum(), torch.relu(indices)

def nested_tuples(x, y):
    t = ((torch.mm(x, y), torch.relu(x)), torch.tanh(y))
    (a, b), c = t
    return torch.mm(torch.mm(a, b), c)

def put_into_containers(x, y):
    # by instructions, which find operands in registers
    a, b = torch.relu(x), torch.tanh(y)
    parts = [y]
    named = {"a": x}
    for i in range(2):
        parts.append(x)
        parts[0] = a
        named["b"] = b
    c = torch.relu(torch.mm(x, y))
    is_none = c is None
    return torch.stack(parts), named["b"] + torch.neg(named["a"]), is_none

def twice_in_one(x, y):
    a, b = torch.relu(torch.mm(x, y)).chunk(2, 0)
    return torch.mm(a * a, (a + b).t()), torch.cat([b, b])

def views_between(x, y):
    a = torch.mm(x, y)
    b = a.t().unsqueeze(0).squeeze(0)
    c = torch.mm(b, y).view(-1)
    return torch.dot(c, c) + torch.mm(a, b).sum()

def of_unknown_layout(x, y):
    # matmul computes into given memory for some ranks only: it refuses the others
    a = torch.matmul(torch.relu(x), torch.tanh(y))
    b = torch.matmul(a, y[0])
    c = torch.matmul(a.unsqueeze(0), y)
    return torch.relu(a) * b, torch.tanh(c), torch.relu(b)

def refused_in_loops(x, y):
    total = torch.zeros_like(x)
    z = x.unsqueeze(0)
    for i in range(4):
        left = x if i % 2 == 0 else z
        a = torch.matmul(torch.relu(left), y)
        total = total + torch.tanh(a).reshape(x.size())
    return total
"""
NAMES = [line[4 : line.index("(")] for line in PROGRAMS.splitlines() if line.startswith("def ")]
EVERY = [*OPTIONS, {"enable_fusion": False, "memory_policy": "precomputed", "cleanup_activations": True}]


@pytest.mark.parametrize("name", NAMES)
def test_programs_do_what_they_do_elsewhere(name):
    function = getattr(cresset.CompilationUnit(PROGRAMS), name)
    check(function, [((torch.randn(n, n), torch.randn(n, n)), {}) for n in (4, 16, 8, 4)], EVERY)


def test_containers_from_outside():
    unit = cresset.CompilationUnit("""
def f(pair: Tuple[Tensor, Tensor], parts: List[Tensor], named: Dict[str, Tensor]):
    a, b = pair
    c, d = parts
    parts[0] = torch.mm(a, b)
    parts.append(torch.relu(c))
    named["d"] = d
    return torch.mm(torch.tanh(c), torch.relu(d)) + torch.mm(a, named["e"])
""")
    x, y, z = (torch.randn(3, 3) for _ in range(3))
    for options in EVERY:
        static = cresset.static_module(unit.f, **options)
        for _ in range(3):
            results = []
            for run in (unit.f, static):
                parts, named = cresset.ScriptList([y, z]), cresset.ScriptDict({"e": x})
                results.append((run((x, y), parts, named), list(parts), dict(named)))
            assert equal(*results), options


def test_an_operator_that_throws_between_a_list_and_its_last_element():
    with torch.library._scoped_library("cresset_borrowed", "FRAGMENT") as library:
        library.define("fails(Tensor x, int step) -> Tensor")
        state = {"at": None}

        def fails(x, step):
            if step == state["at"]:
                raise ValueError(f"at step {step}")
            return x * 1

        library.impl("fails", fails, "CPU")
        unit = cresset.CompilationUnit("""
def f(x, y):
    for n in range(2):
        a, b, c, d = torch.mm(x, y).chunk(4, 1)
        a = torch.ops.cresset_borrowed.fails(a, 4 * n)
        b = torch.ops.cresset_borrowed.fails(torch.tanh(b), 4 * n + 1)
        (e, f) = (torch.relu(c), torch.mm(y, x))
        c = torch.ops.cresset_borrowed.fails(e, 4 * n + 2)
        x = torch.cat([a, b, c, torch.ops.cresset_borrowed.fails(d, 4 * n + 3)], 1) + f
    return x
""")
        x, y = torch.randn(4, 4), torch.randn(4, 4)
        expected = unit.f(x, y)
        for options in EVERY:
            runtime = cresset.static_module(unit.f, **options).runtime()
            for k in range(8):
                state["at"] = k
                with pytest.raises(Exception, match=f"at step {k}"):
                    runtime(x, y)
                runtime.check_for_memory_leak()
                state["at"] = None
                assert torch.equal(runtime(x, y), expected)


def test_results_that_are_no_longer_needed_are_let_go():
    """Of an operator that refuses to compute into the memory that was planned: its own result lives as long as before."""
    alive, most = set(), [0]
    with torch.library._scoped_library("cresset_borrowed", "FRAGMENT") as library:
        library.define("counts(Tensor x) -> Tensor")

        class Watched:
            def __init__(self):
                alive.add(id(self))
                most[0] = max(most[0], len(alive))

            def __del__(self):
                alive.discard(id(self))

        def counts(x):
            result = x + 1
            result.untyped_storage()._watched = Watched()
            return result

        library.impl("counts", counts, "CPU")
        calls = "".join("    x = torch.ops.cresset_borrowed.counts(x)\n" for _ in range(10))
        unit = cresset.CompilationUnit(f"def f(x):\n{calls}    return x + 1\n")

        @cresset.out_variant("cresset_borrowed::counts")
        def into(out, x):
            torch.add(x, 1, out=out)

        x = torch.randn(3)
        assert torch.equal(cresset.static_module(unit.f).runtime()(x), outcome(unit.f, (x,))[1])
        assert len(alive) == 0
        assert most[0] <= 3, "the first call asks the operator itself"
