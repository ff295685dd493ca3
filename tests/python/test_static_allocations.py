"""What runs of static modules ask PyTorch's CPU allocator for: nothing once memory has its sizes, but for what leaves and what PyTorch's operators take themselves."""

import textwrap
import threading

import pytest
import torch
from test_static import OPTIONS, equal, layers, outcome
from torch import Tensor, nn
from torch.utils._pytree import tree_map

import cresset

MANAGED = {"manage_output_tensors": True}
UNFUSED = {"enable_fusion": False}


@pytest.fixture(autouse=True)
def kernels_are_there():
    with cresset.options.override(kernels="now"):
        yield


def counted(program, *args, **options):
    """The allocations of a run in the steady state, of which each run gives the program's result."""
    static = cresset.static_module(program, **options)
    runtime = static.runtime()
    for _ in range(3):
        assert equal(outcome(program, args), outcome(runtime, args)), options
    measured = runtime.benchmark_individual_ops(*args, warmup_runs=2, main_runs=2)
    by_operators = sum(op.allocations for op in measured.ops if op.kind in ("out variant", "fallback"))
    assert measured.own_allocations == measured.allocations - by_operators >= 0
    assert (measured.allocated_bytes > 0) == (measured.allocations > 0)
    assert runtime.memory()["slot_allocations"] <= measured.allocations
    return measured


def function(source):
    return cresset.CompilationUnit(textwrap.dedent(source)).f


STRAIGHT = {
    "products": "def f(x: Tensor):\n    return torch.mm(torch.relu(torch.mm(x, x)) * 2 + x, x)",
    "views": "def f(x: Tensor):\n    a, b = torch.mm(x, x).chunk(2)\n    return torch.mm(torch.cat([b, torch.tanh(a)]).t(), x)",
    "branch": "def f(x: Tensor):\n    y = torch.mm(x, x)\n    if bool(y.sum() > 1e30):\n        y = torch.mm(y, x)\n    return torch.tanh(y)",
    "elementwise": "def f(x: Tensor):\n    return torch.sigmoid(x * 2 + 1) - torch.tanh(x) * x",
    "norm": "def f(x: Tensor):\n    return torch.layer_norm(torch.mm(x, x), [32]).relu()",
}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", STRAIGHT)
def test_straight_programs_allocate_nothing(name, fused):
    f, x = function(STRAIGHT[name]), torch.randn(32, 32)
    managed = counted(f, x, enable_fusion=fused, **MANAGED)
    assert managed.own_allocations == 0
    assert sum(op.allocations for op in managed.ops if op.kind == "kernel") == 0
    unmanaged = counted(f, x, enable_fusion=fused)
    assert unmanaged.allocations == managed.allocations + 1, "the result's"


def test_kernels_of_our_own_allocate_nothing_at_all():
    f, x = function(STRAIGHT["elementwise"]), torch.randn(64, 64)
    with cresset.options.override(numerics="default"):
        measured = counted(f, x, **MANAGED)
        assert {op.kind for op in measured.ops} == {"kernel"}
        assert measured.allocations == 0
        measured = counted(f, x)
        assert measured.allocations == measured.own_allocations == 1 and measured.allocated_bytes == 64 * 64 * 4


def test_each_result_is_one_allocation():
    f = function("def f(x: Tensor):\n    y = torch.mm(x, x)\n    return y, torch.mm(y, x), [torch.relu(y)]")
    for options in ({}, UNFUSED):
        assert counted(f, torch.randn(32, 32), **options).allocations == 3
        assert counted(f, torch.randn(32, 32), **options, **MANAGED).allocations == 0


LOOPS = {
    # body, results that leave
    "carried": ("x = torch.mm(x, w) * 0.5", "x", 1),
    "carried and summed up": ("x = torch.mm(x, w)", "float(x.sum())", 0),
    "two steps back": ("x, y = torch.mm(x, w), x", "x + y", 1),
    "an iteration that computes nothing": ("x = torch.mm(x, w) if i % 2 == 0 else x", "x", 1),
    "views": ("x = torch.mm(x, w).t()[:, 1:].contiguous() if i == 0 else torch.mm(x.t(), x)", "x", 1),
    "kept in a list": ("kept.append(torch.mm(x, w))", "kept", 10),
    "in a tuple": ("pair = (pair[1], torch.mm(pair[0], w))", "pair[0] + pair[1]", 1),
    "written to": ("x = torch.mm(x, w)\n            x[0].mul_(w[0])", "x", 1),
    "in a loop": ("for _ in range(3):\n                x = torch.mm(x, w)", "x", 1),
}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_allocate_what_leaves(name, fused):
    body, result, leaving = LOOPS[name]
    f = function(
        f"""
    def f(x: Tensor, w: Tensor, n: int):
        y, pair, kept = x, (x, x), [w]
        for i in range(n):
            {body}
        return {result}
    """
    )
    x, w = torch.randn(32, 32), torch.randn(32, 32) / 6
    for filled in (False, True):
        options = {"enable_fusion": fused, "fill_freed_memory": filled}
        for _ in range(2):
            assert counted(f, x, w, 10, **options).allocations == leaving
            assert counted(f, x, w, 10, **options, **MANAGED).allocations == 0
    for n in (0, 1, 2, 3):
        for options in ({}, MANAGED):
            static = cresset.static_module(f, enable_fusion=fused, fill_freed_memory=True, **options)
            for _ in range(4):
                assert equal(outcome(f, (x, w, n)), outcome(static, (x, w, n)))


def test_what_an_operator_writes_over_is_its_own():
    """The memory of an operand that is written over whole is the result's, if there is no other reference: a slot would be one."""
    f = function("def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.mm(x, x).mul_(x)\n    return x")
    measured = counted(f, torch.randn(32, 32) / 32, 10, **UNFUSED)
    assert [(op.kind, op.what, op.allocations) for op in measured.ops if op.allocations] == [
        ("fallback", "aten::mm", 10)
    ]


def test_what_loops_leave_keeps_its_values():
    f = function(
        """
    def f(x: Tensor, w: Tensor, n: int):
        kept = [x]
        for i in range(n):
            x = torch.mm(x, w)
            if i % 2 == 0:
                kept.append(x)
        return x, kept
    """
    )
    w = torch.randn(32, 32) / 6
    for options in ({}, MANAGED, {"fill_freed_memory": True, **MANAGED}):
        static, held = cresset.static_module(f, **options).runtime(), []
        for i in range(6):
            x = torch.randn(32, 32)
            held.append((static(x, w, i), f(x, w, i)))
            if i % 3 == 2:
                del held[0]
            assert all(equal(found, expected) for found, expected in held)
        static.check_for_memory_leak()


#: Loops whose values are needed for longer than an iteration, by each kind of holder.
HOLDERS = """
def g(x: Tensor, w: Tensor):
    for i in range(20):
        x = torch.mm(x, w)
    return x

def forks(x: Tensor, w: Tensor, n: int):
    futs: List[Future[Tensor]] = []
    for i in range(n):
        x = torch.mm(x, w)
        futs.append(torch.jit.fork(g, x, w))
    out = x
    for f in futs:
        out = out + torch.jit.wait(f)
    return out

def lastfork(x: Tensor, w: Tensor, n: int):
    f = torch.jit.fork(g, x, w)
    total = x
    for i in range(n):
        x = torch.mm(x, w)
        total = total + torch.jit.wait(f)
        f = torch.jit.fork(g, x, w)
    return total, torch.jit.wait(f)

def dicts(x: Tensor, w: Tensor, n: int):
    d: Dict[int, Tensor] = {}
    for i in range(n):
        x = torch.mm(x, w)
        d[i % 3] = x
        if i % 2 == 1:
            d[7] = torch.mm(d[i % 3], w).t()
    return d, x

def best(x: Tensor, w: Tensor, n: int):
    best = x
    for i in range(n):
        x = torch.mm(x, w)
        if bool(x.abs().sum() > best.abs().sum() * 0.3):
            best = x
        elif i % 4 == 3:
            best = best[1:].clone()
    return best, x.sum()

def early(x: Tensor, w: Tensor, n: int):
    seen = x
    for i in range(n):
        y = torch.mm(x, w)
        if i == 5:
            return y, seen
        seen, x = x, y
        if i == 3 and n == 4:
            raise ValueError("four")
    return x, seen

def views(x: Tensor, w: Tensor, n: int):
    parts: List[Tensor] = []
    v = x[1:]
    for i in range(n):
        x = torch.mm(x, w)
        a, b = x.chunk(2, 1)
        parts.append(a[0])
        v = v * 0.5 + b.repeat(1, 2)[1:]
        x = torch.cat([b, a], 1)
    return parts, v, x.t()

def writes(x: Tensor, w: Tensor, n: int):
    keep = x.clone()
    for i in range(n):
        x = torch.mm(x, w)
        y = x
        x = torch.mm(x, w)
        y[0] = 1.0
        keep[i % 4] += y[1]
        x[:, 0].copy_(y[:, 1])
    return x, keep

def inner(x: Tensor, w: Tensor, n: int):
    acc = torch.zeros_like(x)
    for i in range(n):
        h = x
        k = 0
        while k < i:
            h = torch.mm(h, w) + acc * 0.1
            k += 1
        acc = acc + h
        x = torch.tanh(h)
    return acc, x

def opt(x: Tensor, w: Tensor, n: int):
    p: Optional[Tensor] = None
    q: Tuple[Tensor, Tensor] = (x, w)
    for i in range(n):
        y = torch.mm(q[0], w)
        if p is not None:
            y = y + p
        p = q[1]
        q = (y, torch.mm(y, q[1]) * 0.01)
    return p, q
"""


def copied(value):
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, value)


@pytest.mark.parametrize("options", [*OPTIONS, MANAGED, {"memory_policy": "precomputed", **MANAGED}])
@pytest.mark.parametrize("name", ["forks", "lastfork", "dicts", "best", "early", "views", "writes", "inner", "opt"])
def test_what_anything_holds_keeps_its_values(name, options):
    f = getattr(cresset.CompilationUnit(HOLDERS), name)
    static = cresset.static_module(f, **options)
    runtime, held = static.runtime(), []
    for step, n in enumerate([3, 0, 6, 4, 5, 2, 9, 3]):
        size = 16 if step % 3 == 2 else 8
        args = torch.randn(size, size), torch.randn(size, size) / size**0.5, n
        expected = outcome(f, args)
        for run in (runtime, static):
            found = outcome(run, args)
            assert equal(expected, found), n
            if found[0] == "value":
                held.append((found[1], copied(found[1])))
        assert all(equal(result, copy) for result, copy in held)
        held = held[step % 2 :: 2] if len(held) > 4 else held
    runtime.check_for_memory_leak()

    args, wrong = (torch.randn(8, 8), torch.randn(8, 8) / 3, 6), []
    expected = outcome(f, args)[1]

    def call_often():
        with torch.no_grad():
            wrong.extend(i for i in range(5) if not equal(static(*args), expected))

    threads = [threading.Thread(target=call_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_that_loops_hold_is_given_back():
    f = function("def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.mm(x, x)\n    return x.sum()")
    x = torch.randn(64, 64) / 16
    for options in ({}, {"cleanup_activations": True}):
        runtime = cresset.static_module(f, enable_fusion=False, **options).runtime()
        for _ in range(3):
            runtime(x, 10)
        memory = runtime.memory()
        assert memory["turning_slots"] == 1
        assert memory["turning_bytes"] == (0 if options else 2 * x.nbytes), (
            "each iteration's beside that of the one before"
        )
        runtime.deallocate_memory()
        assert runtime.memory()["turning_bytes"] == 0
        assert equal(outcome(f, (x, 10)), outcome(runtime, (x, 10)))


class State(nn.Module):
    h: Tensor

    def __init__(self):
        super().__init__()
        self.h = torch.ones(32, 32)

    def forward(self, x: Tensor):
        for _ in range(3):
            self.h = torch.mm(self.h, x)
        return self.h


def test_states_that_loops_write_are_not_written_over():
    x = torch.randn(32, 32) / 6
    for options in ({}, MANAGED, {"fill_freed_memory": True}):
        module = cresset.script(State().eval())
        static, held = cresset.static_module(module, **options).runtime(), []
        for _ in range(4):
            with torch.no_grad():
                expected = module(x)
            held.append((static(x), expected.clone()))
            assert all(torch.equal(found, expected) for found, expected in held)


def test_what_operators_take_is_listed():
    f = function("def f(x: Tensor):\n    return torch.relu(torch.inner(torch.mm(x, x), x))")
    measured = counted(f, torch.randn(32, 32), **UNFUSED, **MANAGED)
    taken = {op.what: (op.kind, op.allocations) for op in measured.ops if op.allocations}
    assert taken["aten::inner"][0] == "fallback" and taken["aten::inner"][1] >= 1 and len(taken) == 1
    assert measured.own_allocations == 0 < measured.allocations
    assert f"allocates {measured.allocations:.1f} times" in str(measured)
    assert "0.0 times outside of PyTorch's operators" in str(measured)


def test_models_allocate_in_operators_alone():
    x = torch.randn(16, 16)
    for options in ({}, UNFUSED):
        assert counted(layers(), x, **options, **MANAGED).allocations == 0
    convolution = cresset.script(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8)).eval())
    measured = counted(convolution, torch.randn(2, 3, 8, 8), **MANAGED)
    assert measured.own_allocations == 0


def test_forgetting_results_and_sizes_that_grow_are_counted():
    f, x = function(STRAIGHT["products"]), torch.randn(32, 32)
    runtime = cresset.static_module(f, **MANAGED).runtime()
    for _ in range(3):
        runtime(x)
    assert runtime.memory()["slot_allocations"] == 0
    runtime.deallocate_output_tensors()
    runtime(x)
    assert runtime.memory()["slot_allocations"] == 1
    held = runtime(x)
    runtime(x)
    assert runtime.memory()["slot_allocations"] == 1, "the result before is held"
    del held
