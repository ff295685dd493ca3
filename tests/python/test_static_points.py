"""Static modules, point by point: each option has an effect, faults leave nothing behind, forks overlap, threads share."""

import ctypes
import gc
import math
import os
import threading
import warnings
from typing import List, Tuple

import pytest
import torch
from script_compare import same as equal
from torch.autograd import forward_ad

import cresset

warnings.filterwarnings("ignore")


class Variant:
    """The operator cresset_points::step(Tensor x, int k) -> Tensor, x + k, whose out variant fails at one k."""

    def __init__(self):
        self.fails_at = None
        self.addresses = []
        self.library = torch.library.Library("cresset_points", "FRAGMENT")
        self.library.define("step(Tensor x, int k) -> Tensor")
        self.library.impl("step", lambda x, k: x + k, "CPU")

        @cresset.out_variant("cresset_points::step")
        def step(out, x, k):
            if k == self.fails_at:
                raise ValueError(f"at step {k}")
            torch.add(x, k, out=out)
            self.addresses.append(out.data_ptr())


@pytest.fixture(scope="module")
def variant():
    made = Variant()
    yield made
    made.library._destroy()


def steps(count, wrap="{}"):
    body = "".join(f"    x = torch.mm(torch.ops.cresset_points.step(x, {k}), y) * 0.5\n" for k in range(count))
    return cresset.CompilationUnit(f"def f(x, y):\n{body}    return {wrap.format('x')}\n").f


def numbers(address, count):
    return list((ctypes.c_float * count).from_address(address))


@pytest.mark.parametrize("fill", [False, True])
def test_freed_memory_is_filled_if_that_is_asked_for(variant, fill):
    x = torch.ones(4, 4)
    runtime = cresset.static_module(steps(1), enable_fusion=False, fill_freed_memory=fill).runtime()
    for _ in range(3):
        variant.addresses.clear()
        runtime(x, torch.eye(4))
    assert all(math.isnan(number) for number in numbers(variant.addresses[0], 16)) == fill


def test_fusion_makes_kernels():
    unit = cresset.CompilationUnit("def f(x):\n    return torch.mm(torch.relu(torch.mm(x, x) * 0.5) + 1.0, x)")
    kinds = {}
    for fusion in (False, True):
        static = cresset.static_module(unit.f, enable_fusion=fusion)
        static(torch.randn(4, 4))
        kinds[fusion] = {node.kind for node in static.report().plans[0].nodes}
    assert "kernel" in kinds[True] and "kernel" not in kinds[False]


def test_every_option_is_told_by_its_name(variant):
    flags = ["enable_out_variant", "optimize_memory", "manage_output_tensors", "cleanup_activations"]
    flags += ["fill_freed_memory", "enable_fusion", "strict"]
    with pytest.raises(cresset.UserError) as error:
        cresset.static_module(steps(1), unknown=True)
    assert all(name in str(error.value) for name in [*flags, "memory_policy"])
    for name in flags:
        for value in (False, True):
            x = torch.randn(3, 3)
            assert torch.equal(cresset.static_module(steps(1), **{name: value})(x, x), steps(1)(x, x))


FAULTY = [
    {},
    {"manage_output_tensors": True, "fill_freed_memory": True},
    {"memory_policy": "precomputed", "fill_freed_memory": True, "cleanup_activations": True},
    {"enable_fusion": False, "fill_freed_memory": True},
]


@pytest.mark.parametrize("options", FAULTY)
def test_an_out_variant_that_fails_at_any_step_leaves_nothing_behind(variant, options):
    count = 6
    function = steps(count, "x, [x.t(), x + 1.0]")
    static = cresset.static_module(function, **options)
    runtime = static.runtime()
    x, y = torch.randn(5, 5), torch.randn(5, 5)
    expected = function(x, y)
    held = runtime(x, y)
    for k in range(count):
        for call in (runtime, static, lambda *args: static.run_async(*args).wait()):
            variant.fails_at = k
            with pytest.raises(Exception, match=f"at step {k}"):
                call(x, y)
            variant.fails_at = None
            assert equal(call(x, y), expected)
            runtime.check_for_memory_leak()
    assert equal(held, expected)
    runtime(x, y)
    if not options.get("cleanup_activations"):
        assert runtime.memory()["slot_allocations"] <= runtime.memory()["output_slots"]


def test_results_of_run_async_keep_their_values(variant):
    function = steps(3)
    static = cresset.static_module(function, manage_output_tensors=True, fill_freed_memory=True)
    y = torch.randn(4, 4)
    inputs = [torch.randn(4, 4) for _ in range(8)]
    found = [static.run_async(x, y).wait() for x in inputs]
    for x, result in zip(inputs, found, strict=True):
        assert torch.equal(result, function(x, y))
    assert len({result.data_ptr() for result in found}) == len(found)


FORKS = """
def meet(x, k: int):
    return torch.ops.cresset_points.meet(torch.mm(x, x), k)

def both(x):
    a, b = torch.jit.fork(meet, x, 1), torch.jit.fork(meet, x, 2)
    y = torch.mm(x, x)
    return torch.jit.wait(a) + torch.jit.wait(b) + y

def nested(x, depth: int):
    if depth == 0:
        return torch.mm(x, x)
    return torch.ops.cresset_points.meet(x, -1)

def chain(x):
    futures = [torch.jit.fork(nested, x, 0)]
    for i in range(20):
        futures.append(torch.jit.fork(nested, torch.jit.wait(futures[-1]), 0))
    return torch.jit.wait(futures[-1])
"""


@pytest.fixture(scope="module")
def meeting():
    """The operator cresset_points::meet(Tensor x, int k) -> Tensor: two of its calls wait for each other; it fails for 3."""
    library = torch.library.Library("cresset_points", "FRAGMENT")
    library.define("meet(Tensor x, int k) -> Tensor")
    barrier = threading.Barrier(2)

    def meet(x, k):
        if k > 0:
            barrier.wait(timeout=60)
        if k == 3:
            raise ValueError("three")
        return x * k

    library.impl("meet", meet, "CPU")
    yield cresset.CompilationUnit(FORKS)
    library._destroy()


def test_independent_forks_overlap(meeting):
    x = torch.randn(3, 3) * 0.1
    expected = torch.mm(x, x) * 4
    for options in ({}, {"manage_output_tensors": True, "fill_freed_memory": True}):
        static = cresset.static_module(meeting.both, **options)
        for _ in range(3):
            torch.testing.assert_close(static(x), expected)
            torch.testing.assert_close(static.run_async(x).wait(), expected)
            torch.testing.assert_close(static.runtime()(x), expected)


def test_forks_that_wait_for_forks_end(meeting):
    x = torch.eye(3)
    static = cresset.static_module(meeting.chain, fill_freed_memory=True)
    futures = [static.run_async(x) for _ in range(16)]
    assert all(torch.equal(future.wait(), x) for future in futures)


def test_gradients_are_refused_wherever_a_call_comes_from():
    unit = cresset.CompilationUnit("def f(x, y: Dict[str, List[Tensor]]):\n    return torch.mm(x, y['a'][0])")
    static = cresset.static_module(unit.f)
    x, leaf = torch.randn(2, 2), torch.randn(2, 2, requires_grad=True)
    runtime = static.runtime()
    for call in (static, static.run_async, runtime, runtime.prepare, static.benchmark, static.benchmark_individual_ops):
        for args, name in (((leaf, {"a": [x]}), "x"), ((x, {"a": [leaf]}), "y")):
            with pytest.raises(cresset.UserError, match=f"argument '{name}' requires one.*detach"):
                call(*args)
    assert torch.equal(static(x, {"a": [leaf.detach()]}), torch.mm(x, leaf.detach()))


@pytest.mark.parametrize("options", [{}, {"enable_fusion": False, "manage_output_tensors": True}])
def test_tangents_go_through(options):
    """Calls with them run unoptimized; what is in attributes that stay is seen by operators."""

    class Tangents(torch.nn.Module):
        state: torch.Tensor

        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.ones(3, 3))

        def forward(self, x, pair: Tuple[torch.Tensor, List[torch.Tensor]], write: bool):
            a = torch.mm(x, pair[0])
            b = torch.mm(x, x)
            b.add_(pair[1][0])
            c, d = (torch.relu(a) * 2 + b).chunk(2, 1)
            if write:
                self.state = torch.sigmoid(x)
            return torch.cat([d, c], 1).mm(self.state), torch.softmax(a, 1).sum(0)

    module = Tangents().eval()
    plain, static = cresset.script(module), cresset.static_module(cresset.script(module), **options)
    runtime = static.runtime()
    values = [torch.randn(3, 3) for _ in range(3)]

    def tangents(run, k, write):
        with forward_ad.dual_level():
            x, y, z = (forward_ad.make_dual(v, torch.ones(3, 3)) if i == k else v for i, v in enumerate(values))
            return [forward_ad.unpack_dual(result).tangent for result in run(x, (y, [z]), write)]

    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            for run in (module, runtime):
                run(values[0], (values[1], [values[2]]), True)
            for k in (0, 1, 2, 3, 0):
                expected, found = tangents(module, k, False), tangents(runtime, k, False)
                assert all((a is None) == (b is None) for a, b in zip(expected, found, strict=True)), k
                torch.testing.assert_close(found, expected)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(values[0], torch.ones(3, 3))
        for run in (plain, runtime):
            run(dual, (values[1], [values[2]]), True)
        results = [run(values[0], (values[1], [values[2]]), False)[0] for run in (plain, runtime)]
        expected, found = (forward_ad.unpack_dual(result).tangent for result in results)
        torch.testing.assert_close(found, expected)
    with forward_ad.dual_level(), pytest.raises(cresset.UserError, match="strict.*tangents"):
        dual = forward_ad.make_dual(values[0], torch.ones(3, 3))
        cresset.static_module(plain, strict=True)(dual, (values[1], [values[2]]), False)


class Small(torch.nn.Module):
    """docs/static-runtime.md has its plan as a picture."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 32)

    def forward(self, x):
        h = torch.relu(self.first(x))
        g = torch.sigmoid(self.second(h))
        return torch.mm(h * g, g.t())


def test_the_picture_of_a_plan():
    runtime = cresset.static_module(cresset.script(Small().eval()), enable_fusion=False).runtime()
    for _ in range(3):
        runtime(torch.randn(8, 16))
    (plan,) = runtime.report().plans
    assert [(node.step, node.what.split("::")[1].split(".")[0]) for node in plan.nodes if node.kind != "native"] == [
        (2, "linear"), (3, "relu"), (6, "linear"), (7, "sigmoid"), (8, "mul"), (10, "mm")
    ]  # fmt: skip
    assert [(value.first, value.last, value.offset, value.bytes) for value in plan.values] == [
        (2, 3, 0, 1024), (3, 8, 0, 1024), (6, 7, 1024, 1024), (7, 10, 1024, 1024), (8, 10, 0, 1024)
    ]  # fmt: skip
    memory = runtime.memory()
    assert (memory["arena_bytes"], memory["least_bytes"], memory["sum_bytes"]) == (2048, 2048, 5120)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_sixteen_threads_share_a_module_and_memory_does_not_grow():
    function = cresset.CompilationUnit("""
def f(x, w):
    for i in range(4):
        x = torch.tanh(torch.mm(x, w) * 0.1) + x
    return x, x.sum()
""").f
    static = cresset.static_module(function, manage_output_tensors=True, fill_freed_memory=True)
    w = torch.randn(256, 256)
    inputs = [torch.randn(1 + k % 3, 256) for k in range(16)]
    expected = [function(x, w) for x in inputs]
    wrong, turns = [], threading.Barrier(16)

    def work(k):
        for _ in range(40):
            turns.wait(timeout=120)
            if not equal(static(inputs[k], w), expected[k]):
                wrong.append(k)

    def round_of_threads():
        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        return resident()

    first = round_of_threads()
    later = [round_of_threads() for _ in range(4)]
    assert not wrong
    assert min(later) - first < 4 << 20, (first, later)
