"""Static modules: results are those of the program itself, whatever the options; memory is planned, bounded and its own."""

import copy
import io
import itertools
import pickle
import textwrap
import threading
import warnings
from typing import Optional

import pytest
import torch
import torch.nn.functional as F
from model_programs import PROGRAMS as MODELS
from script_compare import same as equal
from torch import Tensor, nn
from torch.testing._internal.common_modules import module_db
from user_programs import PROGRAMS as USER_PROGRAMS

import cresset

warnings.filterwarnings("ignore")

OPTIONS = [
    {},
    {"manage_output_tensors": True, "fill_freed_memory": True},
    {"memory_policy": "precomputed", "fill_freed_memory": True, "cleanup_activations": True},
    {"enable_fusion": False, "fill_freed_memory": True},
    {"enable_fusion": False, "manage_output_tensors": True, "optimize_memory": False},
]


def outcome(run, args, kwargs=None):
    args, kwargs = copy.deepcopy(args), copy.deepcopy(kwargs or {})
    torch.manual_seed(0)
    with torch.no_grad():
        try:
            result = run(*args, **kwargs)
        except Exception as error:
            return "error", type(error), str(error).strip().splitlines()[-1:], args, kwargs
    return "value", result, layouts(result), args, kwargs


def layouts(value):
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.stride() if value.layout == torch.strided else None)
    if isinstance(value, (list, tuple)):
        return [layouts(element) for element in value]
    if isinstance(value, dict):
        return {key: layouts(element) for key, element in value.items()}
    return None


def check(program, calls, options=OPTIONS):
    """Each call, in order and then once more, does what it does in the program itself."""
    for chosen in options:
        static = cresset.static_module(program, **chosen)
        runtime = static.runtime()
        for run in (static, runtime):
            for args, kwargs in [*calls, *calls]:
                expected, found = outcome(program, args, kwargs), outcome(run, args, kwargs)
                assert equal(expected, found), f"{chosen}: {expected} != {found}"
        runtime.check_for_memory_leak()
    return static


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        x = torch.relu(self.first(x)) * scale
        x = torch.relu(self.second(x)) + x
        return torch.softmax(self.third(x), dim=-1)


def layers():
    torch.manual_seed(1)
    return cresset.script(Layers().eval())


SIZES = [((torch.randn(2, 16),), {}), ((torch.randn(64, 16),), {}), ((torch.randn(2, 16),), {"scale": 3.0})]


def test_a_module_is_called_like_itself():
    check(layers(), SIZES)
    static = cresset.static_module(layers())
    with pytest.raises(cresset.UserError, match="missing value for argument 'x'"):
        static()
    with pytest.raises(cresset.UserError, match="Unknown keyword argument 'y'"):
        static(torch.randn(2, 16), y=1)


def test_functions_and_graphs():
    def f(x: Tensor, y: Tensor, n: int = 3):
        out = [x]
        for i in range(n):
            x = torch.mm(x, y) + i
            out.append(x.t())
        return out, x.sum()

    scripted = cresset.script(f)
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    check(scripted, [((x, y), {}), ((x, y), {"n": 0}), ((x, y), {"n": 7})])

    def g(x: Tensor):
        return torch.tanh(x.mm(x) + x)

    static = cresset.static_module(cresset.script(g).graph)
    assert torch.equal(static(x), g(x))


def test_the_module_does_not_change_and_training_ones_are_evaluated():
    module = cresset.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train())
    x = torch.randn(8, 4)
    static = cresset.static_module(module)
    assert module.training
    assert torch.equal(static(x), static(x))
    with torch.no_grad():
        assert torch.equal(static(x), module.eval()(x))


def test_what_can_not_be_a_static_module():
    with pytest.raises(cresset.UserError, match="Script or trace it first"):
        cresset.static_module(Layers())
    with pytest.raises(cresset.UserError, match="no option 'fast'"):
        cresset.static_module(layers(), fast=True)
    with pytest.raises(cresset.UserError, match="True or False"):
        cresset.static_module(layers(), strict=1)
    with pytest.raises(cresset.UserError, match="memory_policy"):
        cresset.static_module(layers(), memory_policy="best")


@torch.jit.script
def compiled_by_another(x: Tensor):
    return torch.relu(x)


@pytest.mark.parametrize(
    "compiled",
    [torch.jit.script(Layers().eval()), torch.jit.trace(Layers().eval(), torch.ones(2, 16)), compiled_by_another],
)
def test_what_torch_jit_compiled_comes_by_an_archive(compiled):
    with pytest.raises(RuntimeError, match="save it with torch.jit.save and load it with cresset.load"):
        cresset.static_module(compiled)
    archive, x = io.BytesIO(), torch.randn(2, 16)
    torch.jit.save(compiled, archive)
    archive.seek(0)
    with torch.no_grad():
        torch.testing.assert_close(cresset.static_module(cresset.load(archive))(x), compiled(x))


def test_gradients_are_an_error_that_says_what_to_do():
    static = cresset.static_module(layers())
    x = torch.randn(2, 16, requires_grad=True)
    with pytest.raises(cresset.UserError, match=r"argument 'x' requires one.*detach"):
        static(x)
    with torch.no_grad():
        assert not static(x).requires_grad
    assert not static(x.detach()).requires_grad


def test_other_kinds_of_arguments():
    program = layers()
    static = cresset.static_module(program)
    x = torch.randn(2, 16)
    for other in (x, torch.randn(2, 3, 16), torch.randn(16), x.double(), x.to_sparse()):
        expected, found = outcome(program, (other,)), outcome(static, (other,))
        assert equal(expected, found)
    strict = cresset.static_module(program, strict=True)
    assert torch.equal(strict(x), static(x))
    assert strict(torch.randn(5, 16)).shape == (5, 4)
    with pytest.raises(cresset.UserError, match="(?s)strict.*Float.*Float"):
        strict(torch.randn(2, 3, 16))
    with pytest.raises(cresset.UserError, match="strict"):
        strict(x.to_sparse())
    assert torch.equal(strict(x), static(x))


def test_attributes_that_the_module_changes():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: Tensor):
            self.count += 1
            self.total += x * 2 + 1
            return x * self.count, self.total

    x = torch.ones(3)
    for options in OPTIONS:
        program = cresset.script(Counter().eval())
        static = cresset.static_module(copy.deepcopy(program), **options)
        for _ in range(3):
            assert equal(outcome(program, (x,)), outcome(static, (x,)))


def test_what_escapes_is_in_memory_of_its_own():
    def f(x: Tensor, kept: list[Tensor]):
        a = torch.mm(x, x)
        b = torch.mm(a, x)
        kept.append(a)
        c = torch.mm(b, b).view(-1)
        return {"b": b.t(), "c": [c[1:], c]}, x.mm(b).sum()

    for options in OPTIONS:
        static = cresset.static_module(cresset.script(f), **options)
        results = []
        for i in range(4):
            x, kept = torch.randn(3, 3), cresset.ScriptList([torch.zeros(1)])
            results.append((f(x, expected := []), expected, static(x, kept), kept))
            assert len(kept) == 2, i
        for (want, wanted), (got, kept) in [(r[:2], r[2:]) for r in results]:
            assert torch.equal(wanted[0], kept[1])
            assert equal(want, got)


def test_control_flow_and_exceptions():
    def f(x: Tensor, n: int):
        y = torch.mm(x, x)
        total = torch.zeros_like(x)
        for i in range(n):
            z = torch.mm(y, x) * i
            if i % 2 == 0:
                total = total + z.relu()
            else:
                y = torch.mm(z, z).tanh()
            if i == 5:
                raise ValueError("five " + str(int(total.sum())))
        while bool(total.sum() > 1000):
            total = torch.mm(total, total) / 10000
        return total, y

    torch.manual_seed(0)
    check(cresset.script(f), [((torch.randn(3, 3), n), {}) for n in (0, 1, 4, 6, 3)])


@pytest.mark.parametrize("manage", [False, True])
def test_an_operator_that_throws_leaves_nothing_behind(manage):
    with torch.library._scoped_library("cresset_static", "FRAGMENT") as library:
        library.define("fails(Tensor x, int step) -> Tensor")
        state = {"at": -1}

        def fails(x, step):
            if step == state["at"]:
                raise RuntimeError(f"at step {step}")
            return x + step

        library.impl("fails", fails, "CPU")
        names = {}
        body = "\n".join(f"    x = torch.mm(torch.ops.cresset_static.fails(x, {i}), x) * 0.1" for i in range(8))
        exec(f"def f(x):\n{body}\n    return x", {"torch": torch}, names)
        unit = cresset.CompilationUnit(f"def f(x):\n{body}\n    return x")
        static = cresset.static_module(unit.f, manage_output_tensors=manage, fill_freed_memory=True)
        runtime = static.runtime()
        x = torch.randn(4, 4)
        expected = names["f"](x)
        for k in range(8):
            state["at"] = k
            with pytest.raises(Exception, match=f"at step {k}"):
                runtime(x)
            state["at"] = -1
            assert torch.equal(runtime(x), expected)
            runtime.check_for_memory_leak()


def test_programs_that_switch_gradients():
    def off(x: Tensor):
        with torch.no_grad():
            y = torch.mm(x, x)
        return torch.mm(torch.mm(y, x), x)

    x = torch.randn(3, 3)
    runtime = cresset.static_module(cresset.script(off), enable_fusion=False).runtime()
    assert torch.equal(runtime(x), off(x)) and runtime.memory()["slots"] == 2

    def on(x: Tensor):
        y = torch.mm(x, x)
        with torch.enable_grad():
            z = torch.mm(x, y) * x
        return y, z

    static = cresset.static_module(cresset.script(on), manage_output_tensors=True)
    gradients = []
    for run in (on, static, static):
        leaf = x.clone().requires_grad_()
        with torch.no_grad():
            y, z = run(leaf)
        assert not y.requires_grad
        z.sum().backward()
        gradients.append(leaf.grad)
    assert torch.equal(gradients[0], gradients[1]) and torch.equal(gradients[0], gradients[2])
    assert "switch gradients on" in static.report().errors[0]


def test_what_operators_keep():
    kept, runtimes = [], []
    with torch.library._scoped_library("cresset_static", "FRAGMENT") as library:
        library.define("keeps(Tensor x) -> Tensor")
        library.impl("keeps", lambda x: kept.append(x) or x + 1, "CPU")
        library.define("calls(Tensor x) -> Tensor")
        library.impl("calls", lambda x: runtimes[0](x), "CPU")
        unit = cresset.CompilationUnit(
            """
def keeps(x):
    y = torch.mm(x, x)
    z = torch.mm(torch.ops.cresset_static.keeps(y.t()), x)
    return torch.mm(torch.mm(z, z), z)

def calls(x):
    return torch.ops.cresset_static.calls(torch.mm(x, x))
"""
        )
        x = torch.randn(3, 3)
        for options in OPTIONS:
            static = cresset.static_module(unit.keeps, **options)
            assert torch.equal(static(x), static(x))
            assert all(torch.equal(one, torch.mm(x, x).t()) for one in kept)
            kept.clear()
        runtimes.append(cresset.static_module(unit.calls).runtime())
        with pytest.raises(Exception, match="runs one call at a time"):
            runtimes[0](x)


def test_what_sees_planned_memory():
    unit = cresset.CompilationUnit(
        """
def shares(x):
    y = torch.mm(x, x)
    z = torch.ops.aten._lazy_clone(y)
    w = torch.mm(y, y)
    w = torch.mm(w, w)
    return torch.mm(torch.mm(w, w), z)

def writes(x):
    y = torch.mm(x, x)
    z = torch.ops.aten._lazy_clone(y)
    z.add_(1)
    return torch.mm(y, z)

def reaches(x):
    y = torch.mm(x, x)
    z = torch.as_strided(y.t(), [16], [1], 0)
    return torch.mm(z.reshape(4, 4), z.reshape(4, 4))

def version(x):
    y = torch.mm(x, x)
    return torch.mm(y, y) * torch.ops.aten._version(y)
"""
    )
    larger, smaller = torch.randn(4, 4), torch.randn(3, 3)
    for function in (unit.shares, unit.writes, unit.reaches, unit.version):
        for options in OPTIONS:
            runtime = cresset.static_module(function, **options).runtime()
            for x in (larger, smaller, larger):
                assert equal(outcome(function, (x,)), outcome(runtime, (x,))), (function, options)
    with pytest.raises(RuntimeError, match="storage"):
        unit.reaches(smaller)


def test_memory_is_planned_near_its_bound():
    x = torch.randn(32, 16)
    for options in ({}, {"enable_fusion": False}, {"memory_policy": "precomputed"}):
        static = cresset.static_module(layers(), **options)
        runtime = static.runtime()
        for _ in range(3):
            runtime(x)
        cresset.wait_for_compilation()
        for _ in range(3):
            runtime(x)
        memory = runtime.memory()
        assert memory["slots"] >= 1
        assert memory["least_bytes"] <= memory["arena_bytes"] <= 1.1 * memory["least_bytes"]
        assert memory["arena_bytes"] <= memory["sum_bytes"] + 64 * memory["slots"]
        assert memory["slot_allocations"] == 0
        runtime(torch.randn(2, 16))
        small = runtime.memory()
        if options.get("memory_policy") == "precomputed":
            assert small["arena_bytes"] < memory["arena_bytes"]
        else:
            assert small["arena_bytes"] == memory["arena_bytes"], "kept after a smaller run"
        runtime(torch.randn(128, 16))
        runtime(torch.randn(128, 16))
        assert runtime.memory()["arena_bytes"] > memory["arena_bytes"]
        assert runtime.memory()["slot_allocations"] <= 1
        runtime(torch.randn(128, 16))
        assert runtime.memory()["slot_allocations"] == 0


def bags(weight, indices, offsets, mode: int, with_end: bool, padding: Optional[int]):
    return torch.embedding_bag(weight, indices, offsets, False, mode, False, None, with_end, padding)[0] * 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_bags_of_embeddings_have_the_bits_of_the_operator(dtype):
    torch.manual_seed(0)
    runtime = cresset.static_module(cresset.script(bags), enable_fusion=False, fill_freed_memory=True).runtime()
    for width, index, (mode, padding) in itertools.product(
        (1, 7, 8, 16, 50), (torch.int64, torch.int32), ((0, None), (1, None), (2, None), (0, 3), (1, -2))
    ):
        weight = torch.randn(20, width).to(dtype)
        indices = torch.randint(0, 20, (40,), dtype=index)
        for offsets, with_end in (([0, 5, 5, 37], False), ([0, 1, 40], True), ([0], False), ([0, 39, 40], True)):
            args = (weight, indices, torch.tensor(offsets, dtype=index), mode, with_end, padding)
            assert equal(runtime(*args), bags(*args)), args
        wide = torch.randn(20, 2 * width).to(dtype)[:, ::2]
        args = (wide, indices, torch.tensor([0, 3], dtype=index), mode, False, padding)
        assert equal(runtime(*args), bags(*args)), args
    for wrong in ([0, 41], [1, 2], [0, 3, 2], []):
        with pytest.raises(RuntimeError, match="embedding_bag"):
            runtime(weight, indices, torch.tensor(wrong, dtype=index), 0, False, None)
    assert any(node.kind == "out variant" for node in runtime.report().plans[0].nodes)


def test_sizes_that_return_are_planned_once():
    runtime = cresset.static_module(layers(), enable_fusion=False, memory_policy="precomputed").runtime()
    small, large = torch.randn(2, 16), torch.randn(32, 16)
    for x in (large, small, large, small):
        runtime(x)
    small_bytes = runtime.memory()["arena_bytes"]
    for x in (large, small, large):
        runtime(x)
        assert runtime.memory()["slot_allocations"] == 0, "the arena of the largest run serves all"
    memory = runtime.memory()
    assert small_bytes < memory["arena_bytes"] == memory["held_bytes"]
    runtime.deallocate_memory()
    runtime(small)
    assert runtime.memory()["held_bytes"] == small_bytes and runtime.memory()["slot_allocations"] == 1
    runtime(large)
    assert runtime.memory()["slot_allocations"] == 1
    assert torch.equal(runtime(large), layers()(large))


def test_a_plan_is_made_before_the_first_run():
    static = cresset.static_module(layers(), enable_fusion=False, memory_policy="precomputed")
    runtime, x = static.runtime(), torch.randn(32, 16)
    runtime.prepare(x)
    before = runtime.memory()
    values = runtime.report().plans[0].values
    assert before["arena_bytes"] > 0 and all(value.offset is not None for value in values if not value.is_output)
    runtime(x)
    assert {**runtime.memory(), "slot_allocations": 0} == {**before, "slot_allocations": 0}
    steps = [node.step for node in static.report().plans[0].nodes]
    assert steps == sorted(steps) and {value.first for value in values} <= set(steps)
    with pytest.raises(cresset.UserError, match="has no plan for such arguments: .*sparse"):
        runtime.prepare(x.to_sparse())


def test_options_of_memory():
    x = torch.randn(32, 16)

    def memory(**options):
        runtime = cresset.static_module(layers(), enable_fusion=False, **options).runtime()
        for _ in range(3):
            runtime(x)
        return runtime.memory()

    assert memory(enable_out_variant=False)["slots"] == 0
    assert memory(optimize_memory=False)["arena_bytes"] > memory()["arena_bytes"]
    assert memory(cleanup_activations=True)["slot_allocations"] == 1
    assert memory()["output_slots"] == 0 and memory(manage_output_tensors=True)["output_slots"] == 1


def test_managed_outputs():
    static = cresset.static_module(layers(), manage_output_tensors=True, enable_fusion=False)
    runtime = static.runtime()
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    first = runtime(x)
    kept, address = first.clone(), first.data_ptr()
    second = runtime(y)
    assert second.data_ptr() != address and torch.equal(first, kept), "a result that is held keeps its values"
    view = first[2:]
    del first
    third = runtime(x)
    assert third.data_ptr() not in (address, second.data_ptr()) and torch.equal(view, kept[2:])
    address = third.data_ptr()
    del third
    assert runtime(x).data_ptr() == address, "its memory is used again after the last reference"
    assert runtime.memory()["slot_allocations"] == 0
    last = runtime(x)
    runtime.deallocate_output_tensors()
    assert runtime.memory()["output_bytes"] == 0 and torch.equal(last, kept)
    # Other processes may see its memory.
    runtime(x).share_memory_()
    assert not runtime(x).is_shared()
    # A result may be anything to who has it.
    last.resize_(100, 100).fill_(1)
    assert torch.equal(runtime(x), kept)
    last = runtime(x)
    last.requires_grad_().sum().backward()
    assert torch.equal(runtime(x), kept) and not runtime(x).requires_grad


def test_the_report_says_how_nodes_run():
    static = cresset.static_module(layers(), enable_fusion=False)
    runtime = static.runtime()
    for _ in range(2):
        runtime(torch.randn(2, 16))
    assert all(value.offset is None for value in static.report().plans[0].values)
    report = runtime.report()
    placed = [value for value in report.plans[0].values if value.offset is not None]
    for a in placed:
        for b in placed:
            meet = a.name != b.name and a.first <= b.last and b.first <= a.last
            takes_place = a.offset == b.offset and (a.last == b.first or b.last == a.first)
            assert not meet or takes_place or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset, (a, b)
    (plan,) = report.plans
    kinds = {node.what: node.kind for node in plan.nodes}
    assert kinds["aten::linear"] == "out variant"
    assert any(".size(0)" in value.size for value in plan.values), plan.values
    assert not report.errors
    text = str(report)
    assert "out variant: aten::linear" in text and "steps" in text


def test_threads_share_a_module():
    static = cresset.static_module(layers(), manage_output_tensors=True)
    inputs = [torch.randn(n + 1, 16) for n in range(8)]
    program = layers()
    with torch.no_grad():
        expected = [program(x) for x in inputs]
    wrong = []

    def work(start):
        for i in range(200):
            k = (start + i) % len(inputs)
            if not torch.equal(static(inputs[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_forks_and_run_async():
    unit = cresset.CompilationUnit(
        """
def branch(x, n: int):
    for i in range(n):
        x = torch.mm(x, x).tanh()
    return x

def f(x, n: int):
    y = torch.mm(x, x)
    futures = [torch.jit.fork(branch, y, n), torch.jit.fork(branch, x, n + 1)]
    z = torch.mm(y, y)
    if n > 5:
        raise ValueError("many")
    return z + torch.jit.wait(futures[0]) + torch.jit.wait(futures[1]), y
"""
    )
    x = torch.randn(4, 4)
    check(unit.f, [((x, n), {}) for n in (0, 3, 6, 2)])
    static = cresset.static_module(unit.f, fill_freed_memory=True)
    futures = [(n, static.run_async(x, n=n)) for n in [0, 1, 2, 3] * 5]
    for n, future in futures:
        assert equal(future.wait(), unit.f(x, n))
    with pytest.raises(cresset.ScriptError, match="many"):
        static.run_async(x, 6).wait()
    with pytest.raises(cresset.UserError, match="missing value"):
        static.runAsync(x)


def test_users_register_out_variants():
    calls = []
    with torch.library._scoped_library("cresset_static", "FRAGMENT") as library:
        library.define("scaled(Tensor x, float by) -> Tensor")
        library.impl("scaled", lambda x, by: x * by, "CPU")
        unit = cresset.CompilationUnit(
            "def f(x):\n    y = torch.mm(x, x)\n    return torch.mm(torch.ops.cresset_static.scaled(y, 2.), x)"
        )
        x = torch.randn(3, 3)
        expected = unit.f(x)

        @cresset.out_variant("cresset_static::scaled")
        def scaled(out, x, by):
            calls.append(by)
            torch.mul(x, by, out=out)

        static = cresset.static_module(unit.f)
        runtime = static.runtime()
        for _ in range(4):
            assert torch.equal(runtime(x), expected)
        # No rule knows the result's dtype, but the first call told it.
        kinds = {node.what: node.kind for node in static.report().plans[0].nodes}
        assert kinds["cresset_static::scaled"] == "out variant" and calls == [2.0] * 3
        assert runtime.memory()["slot_allocations"] == 0
        calls.clear()

    served = True  # registered for the rest of the process, in which others test this operator

    @cresset.out_variant("aten::cumsum", matches=lambda schema: served and len(schema.arguments) == 3)
    def cumsum(out, x, dim, dtype):
        calls.append(dtype)
        torch.cumsum(x, dim, dtype=dtype, out=out)

    for dtype in (None, torch.float32):
        source = f"def f(x):\n    return torch.mm(torch.cumsum(torch.mm(x, x), 0, dtype={dtype}), x)"
        unit = cresset.CompilationUnit(source)
        with cresset.options.override(kernels="off"):  # which compute sums by themselves
            static = cresset.static_module(unit.f)
            result = static(x)
        assert torch.equal(result, unit.f(x)) and calls.pop() is dtype and not calls
    served = False
    with pytest.raises(cresset.UserError, match="namespace::name"):
        cresset.out_variant("scaled")(scaled)
    with pytest.raises(cresset.UserError, match='no "aten::cumsumm". Similar names: aten::cumsum'):
        cresset.out_variant("aten::cumsumm")(cumsum)
    with pytest.raises(cresset.UserError, match='no "aten::cumsum.Tensor"'):
        cresset.out_variant("aten::cumsum.Tensor")(cumsum)


@pytest.mark.parametrize("options", OPTIONS)
def test_an_out_variant_has_to_give_its_output_sizes(options):
    gives = True
    with torch.library._scoped_library("cresset_sizes", "FRAGMENT") as library:
        library.define("both(Tensor x) -> (Tensor, Tensor)")
        library.impl("both", lambda x: (x * 2, x[:1] * 3), "CPU")
        unit = cresset.CompilationUnit(
            "def f(x):\n    a, b = torch.ops.cresset_sizes.both(x * 1)\n    return torch.cat([a, b]) * 1"
        )

        @cresset.out_variant("cresset_sizes::both")
        def both(outs, x):
            torch.mul(x, 2, out=outs[0])
            if gives:
                torch.mul(x[:1], 3, out=outs[1])

        runtime = cresset.static_module(unit.f, **options).runtime()
        # The last of these has results of one dimension without elements, sizes that outputs have before.
        calls = [torch.randn(3, 4), torch.randn(2), torch.randn(0, 4), torch.randn(0)]
        for x in calls * 3:
            assert torch.equal(runtime(x), unit.f(x))
        gives = False
        for x in calls[:3]:
            with pytest.raises(cresset.UserError, match="out variant of cresset_sizes::both has not given output 1"):
                runtime(x)
        assert torch.equal(runtime(calls[3]), unit.f(calls[3]))
        gives = True
        for x in calls:
            assert torch.equal(runtime(x), unit.f(x))
        runtime.check_for_memory_leak()


@pytest.mark.parametrize("options", OPTIONS)
def test_dtypes_of_users_operators_are_those_of_the_same_kinds_of_arguments(options):
    calls = []
    named = {7: torch.float64, 3: torch.int32, 6: torch.float32}  # by their numbers in c10::ScalarType
    with torch.library._scoped_library("cresset_learned", "FRAGMENT") as library:
        library.define("cast(Tensor x, ScalarType dtype, bool fails=False) -> (Tensor, Tensor)")

        def cast(x, dtype, fails=False):
            if fails:
                raise ValueError("no cast")
            return x.to(dtype, copy=True), x > 0

        library.impl("cast", cast, "CPU")

        @cresset.out_variant("cresset_learned::cast")
        def cast_out(results, x, dtype, fails=False):
            out, positive = results
            assert out.dtype == named.get(dtype, dtype) and positive.dtype == torch.bool
            if fails:
                raise ValueError("no cast")
            calls.append(dtype)
            out.resize_(x.shape).copy_(x)
            torch.gt(x, 0, out=positive)

        unit = cresset.CompilationUnit("""
def f(x, dtype: int, fails: bool):
    y = torch.mm(x, x)
    a, b = torch.ops.cresset_learned.cast(y, dtype, fails)
    return a + 1, torch.logical_not(b), torch.mm(y, y)
""")
        small, large = torch.randn(2, 2), torch.randn(5, 5)
        runtime = cresset.static_module(unit.f, **options).runtime()
        expected_calls = 0
        for x in (small, large, small):
            for number, dtype in named.items():
                for fails in (False, True, False):
                    expected, found = (outcome(run, (x, number, fails)) for run in (unit.f, runtime))
                    assert equal(expected, found), (expected, found)
                    expected_calls += not fails
                    assert fails or found[1][0].dtype == dtype
        served = options.get("enable_out_variant", True)
        assert len(calls) == (expected_calls - len(named) if served else 0)
        runtime.check_for_memory_leak()


NORMS = """
def layer(x, w, b):
    return torch.layer_norm(torch.relu(x), [x.size(1)], w, b, 1e-5) + 1, torch.layer_norm(x * 2, x.size(), None, None) * 2

def layer_with_moments(x, w, b):
    y, mean, rstd = torch.native_layer_norm(torch.relu(x), [x.size(1)], w, b, 1e-5)
    return y + mean, torch.exp(rstd), mean * 2

def group(x, w, b):
    y = torch.relu(x)
    return torch.group_norm(y, 2, w, b, 1e-5) + 1, torch.group_norm(y.unsqueeze(2).expand([-1, -1, 3]).contiguous(), 4, None, b) * 2

def group_with_moments(x, w, b):
    y, mean, rstd = torch.native_group_norm(torch.relu(x), w, b, x.size(0), x.size(1), 1, 4, 1e-5)
    return y + 1, mean * 2, torch.exp(rstd)

def convolution(x, w, b):
    y = torch.relu(x).reshape([x.size(0), 2, 2, 4])
    return torch.relu(torch.conv2d(y, w.reshape([2, 2, 2, 1]), b[:2], [1, 1], [1, 0])) * 2
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ["layer", "layer_with_moments", "group", "group_with_moments", "convolution"])
def test_norms_lie_in_planned_memory(name, dtype):
    function = getattr(cresset.CompilationUnit(NORMS), name)
    if name == "convolution" and dtype == torch.float32:
        pytest.skip("oneDNN computes it into a tensor of its own")

    def call(rows, change=lambda x: x):
        width = 16 if name == "convolution" else 8
        w, b = (torch.randn(8, dtype=dtype) for _ in range(2))
        return (change(torch.randn(rows, width, dtype=dtype)), w, b), {}

    transposed = call(8, lambda x: x.t().contiguous().t())
    none = call(2)[0][0], None, None
    calls = [call(2), call(33), call(2), call(0), transposed, call(2)]
    if name != "convolution":
        calls.append((none, {}))
        calls.append(((call(2)[0][0], call(2)[0][1][:3], None), {}))  # an error of the operator's
    check(function, calls)
    static = cresset.static_module(function, enable_fusion=False)
    runtime = static.runtime()
    for _ in range(3):
        runtime(*call(4)[0])
    if dtype == torch.bfloat16:
        return  # into tensors of their own
    norms = [node for node in static.report().plans[0].nodes if "norm" in node.what or "conv2d" in node.what]
    assert norms and all(node.kind == "out variant" and node.is_planned for node in norms)
    assert runtime.memory()["slot_allocations"] == 0


REUSE = """
def chain(x, y):
    return torch.mm(torch.tanh(torch.relu(torch.mm(x, y) * 2)), y)

def residual(x, y):
    a = torch.mm(x, y)
    b = torch.addmm(y[0], x, y)
    return torch.mm(b + a, y)

def of_other_sizes(x, y):
    a = torch.mm(x[:1], y)
    b = torch.mm(y, y)
    return torch.mm(a + b, y)

def needed_later(x, y):
    a = torch.mm(x, y)
    b = torch.tanh(a)
    return torch.mm(a, b)

def by_a_view(x, y):
    a = torch.mm(x, y)
    return torch.mm(a + a.t(), y)

def broadcast(x, y):
    a = torch.mm(x[:1], y)
    return torch.mm(a + y, y)

def to_one(x, y):
    a = torch.mm(x, y)
    return torch.mm(a.sum() + a, y), torch.mm(torch.mul(a.sum(0), 2), y)

def transposed(x, y):
    a = torch.relu(torch.mm(x, y).t())
    return torch.mm(a + x.t(), y)

def branches(x, y, a: bool = True):
    b = torch.mm(x, y)
    if x.size(0) > 2:
        c = torch.tanh(b)
    else:
        c = torch.relu(b)
    return torch.mm(c, y)

def loops(x, y):
    b = torch.mm(x, y)
    for i in range(3):
        c = torch.tanh(b)
        d = torch.relu(torch.mm(c, y))
        x = torch.mm(d, y)
    return x

def dtypes(x, y):
    a = torch.mm(x, y) > 0
    b = torch.logical_not(a)
    return torch.where(b, x, y), torch.mm(x, y).to(torch.int32) + 1

def fails(x, y):
    a = torch.tanh(torch.relu(torch.mm(x, y)))
    b = torch.mm(a, y)
    return torch.mm(torch.sigmoid(b), y[:2])
"""


@pytest.mark.parametrize("name", [line[4 : line.index("(")] for line in REUSE.splitlines() if line.startswith("def ")])
def test_results_take_places_of_operands(name):
    function = getattr(cresset.CompilationUnit(REUSE), name)
    calls = [((torch.randn(n, n), torch.randn(n, n)), {}) for n in (2, 9, 2, 1, 3)]
    check(function, calls, [*OPTIONS, {"enable_fusion": False, "memory_policy": "precomputed"}])
    with cresset.options.override(numerics="default"):  # kernels of single operators
        apart, static = (
            cresset.static_module(function, enable_fusion=False, optimize_memory=shares, fill_freed_memory=True)
            for shares in (False, True)
        )
        for args, _ in calls:
            assert equal(outcome(apart, args), outcome(static, args))


def test_stacks_of_every_layout():
    """PyTorch's own kernel takes the first tensor for contiguous, and writes beyond the result if it is not."""
    x = torch.randn(17, 34)
    kinds = [
        lambda: x[:, :17],
        lambda: x[:, ::2],
        lambda: x[:, :17].t(),
        lambda: x[:, :17].clone(),
        lambda: x[:1, :17].expand(17, 17),
    ]
    for dim, count in itertools.product((0, 1, 2, -1, -3), (1, 2, 3)):
        names = ", ".join("abc"[:count])
        unit = cresset.CompilationUnit(f"def f({names}):\n    return torch.stack([{names}], {dim}) * 1\n")
        runtime = cresset.static_module(unit.f, enable_fusion=False).runtime()
        for chosen in itertools.product(kinds, repeat=count):
            parts = [kind() for kind in chosen]
            found, expected = runtime(*parts), torch.stack(parts, dim)
            assert torch.equal(found, expected) and found.stride() == expected.stride()
        assert any(node.kind == "out variant" and "stack" in node.what for node in runtime.report().plans[0].nodes)


def test_places_of_operands_make_arenas_smaller():
    unit = cresset.CompilationUnit(REUSE)
    x = torch.randn(16, 16)

    def memory(name, **options):
        runtime = cresset.static_module(getattr(unit, name), enable_fusion=False, **options).runtime()
        for _ in range(3):
            runtime(x, x)
        return runtime.memory()

    for name in ("chain", "residual"):
        found = memory(name)
        assert found["arena_bytes"] == found["least_bytes"] < found["least_apart"]
    assert memory("chain")["arena_bytes"] == x.nbytes
    for name in ("needed_later", "by_a_view", "broadcast", "of_other_sizes"):
        found = memory(name)
        assert found["least_bytes"] == found["least_apart"]
    assert memory("chain", optimize_memory=False)["arena_bytes"] == 4 * x.nbytes


IN_PLACE = [
    f"torch.{name}(a)"
    for name in "abs acos ceil digamma erfinv exp2 expm1 frac lgamma log1p neg nan_to_num reciprocal sigmoid sinc tanh i0".split()
]
IN_PLACE += [
    f"torch.nn.functional.{name}(a)"
    for name in "gelu silu mish softplus elu hardswish leaky_relu logsigmoid softshrink".split()
]
IN_PLACE += [
    f"torch.{call}"
    for call in ("pow(a, 2)", "pow(a, 0)", "clamp(a, -1, 1)", "masked_fill(a, b > 0, 3.)", "lerp(a, b, 0.3)")
]
IN_PLACE += [
    f"torch.{call}" for call in ("where(b > 0, a, b)", "where(a > 0, b, a)", "addcmul(a, b, b)", "addcdiv(b, a, b)")
]
IN_PLACE += [
    f"torch.{name}({operands})"
    for name in "atan2 maximum fmin copysign logaddexp sub add mul div pow remainder".split()
    for operands in ("a, b", "b, a", "a, a")
]


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_operators_compute_what_they_do_elsewhere_in_places_of_operands(numerics):
    num_taken = 0
    for call in IN_PLACE:
        source = "def f(x, y):\n    b = torch.mm(x, y)\n    a = torch.addmm(y[0], x, y)\n    "
        unit = cresset.CompilationUnit(source + f"return torch.mm(b, y), torch.mul({call}, 1)")
        with cresset.options.override(numerics=numerics):
            apart, static = (
                cresset.static_module(unit.f, enable_fusion=False, optimize_memory=shares, fill_freed_memory=True)
                for shares in (False, True)
            )
            runtime = static.runtime()
            for n in (3, 40):
                args = torch.randn(n, n), torch.randn(n, n)
                for _ in range(3):
                    assert equal(outcome(apart, args), outcome(runtime, args)), (call, n)
        memory = runtime.memory()
        num_taken += memory["least_bytes"] < memory["least_apart"]
    assert num_taken > 20


@pytest.mark.parametrize("name", list(MODELS))
def test_models(name):
    module, args = MODELS[name]()
    if isinstance(module, nn.Module):
        module.eval()
    try:
        program = cresset.script(module)
    except cresset.Error:
        program = cresset.trace(module, args)
    with torch.no_grad():
        check(program, [(args, {})], OPTIONS[1:4])


class Recurrent(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.cells = cells

    def forward(self, x: Tensor):
        return self.cells(x)


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.formatted_name)
def test_modules(info):
    torch.manual_seed(1)
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
    for sample in samples[:2]:
        torch.manual_seed(2)
        made, call = sample.constructor_input, sample.forward_input
        module = info.module_cls(*made.args, **made.kwargs).float().eval()
        if call is None:
            continue
        args = tuple(call.args)
        if isinstance(module, nn.RNNBase):  # their own forward is overloaded, and called from other modules only
            module, args = Recurrent(module), args[:1]
        try:
            program = cresset.script(module.eval())
        except Exception:
            continue  # outside the language
        # Freezing and kernels may change last bits; static modules may not.
        with torch.no_grad():
            frozen = cresset.freeze(program, optimize_numerics=False)
        with cresset.optimized_execution(False):
            wanted = outcome(frozen, args, dict(call.kwargs))
        for options in OPTIONS[1:]:
            static = cresset.static_module(program, **options)
            for _ in range(2):
                found = outcome(static, args, dict(call.kwargs))
                if not options.get("enable_fusion", True) or wanted[0] == "error":
                    assert equal(wanted, found), f"{options}: {wanted} != {found}"
                else:
                    torch.testing.assert_close(found[1], wanted[1], equal_nan=True)
                    assert equal(wanted[2:], found[2:])


@pytest.mark.parametrize("name", [name for name, (how, _, _) in USER_PROGRAMS.items() if how == "script"])
def test_user_programs(name):
    _, make, calls = USER_PROGRAMS[name]
    made = make()
    if not isinstance(made, nn.Module):
        pytest.skip("a function with calls of its own kind")
    program = cresset.script(made.eval())
    forward = [arguments for method, arguments in calls if method == "forward"]
    for options in OPTIONS[1:3]:
        torch.manual_seed(3)
        args = [copy.deepcopy(make_args() if callable(make_args) else make_args) for make_args in forward]
        try:
            static = cresset.static_module(copy.deepcopy(program), **options)
        except cresset.UserError as error:
            pytest.skip(str(error))
        reference = copy.deepcopy(program)
        for one in [*args, *args]:
            one = one if isinstance(one, tuple) else (one,)
            assert equal(outcome(reference, one), outcome(static, one))


def test_functional_operators_are_not_hurt_by_views_of_what_is_reused():
    def f(x: Tensor, w: Tensor):
        a = F.linear(x, w)
        heads = a.view(-1, 2, a.size(-1) // 2).transpose(0, 1)
        scores = torch.bmm(heads, heads.transpose(1, 2)).softmax(-1)
        mixed = torch.bmm(scores, heads).transpose(0, 1).reshape(-1, a.size(-1))
        left, right = torch.cat([mixed, a], 1).chunk(2, 1)
        return torch.mm(left, right.t()) + torch.mm(right, left.t())

    calls = [((torch.randn(n, 6), torch.randn(8, 6)), {}) for n in (3, 17, 3, 0)]
    check(cresset.script(f), calls)


def test_benchmark_of_individual_operators():
    static = cresset.static_module(layers(), enable_fusion=False)
    x = torch.randn(8, 16)
    measured = static.benchmark_individual_ops(x, warmup_runs=1, main_runs=5, scale=3.0)
    kinds = {op.what: op.kind for op in measured.ops}
    assert kinds["aten::relu"] == "out variant" and set(kinds.values()) <= {"out variant", "native", "fallback"}
    assert measured.total_nodes_count == len(measured.ops) >= measured.total_out_nodes_count >= 5
    assert measured.instances_per_node_type["aten::relu"] == 2 and all(
        op.calls == 1 and op.time > 0 for op in measured.ops
    )
    assert sum(op.time for op in measured.ops) < measured.total_time and measured.first_iter_time > 0
    assert abs(sum(measured.percent_per_node_type.values()) - 100) < 1e-6
    assert sum(measured.time_per_node_type.values()) == pytest.approx(sum(op.time for op in measured.ops))
    assert "aten::relu" in str(measured) and "test_static.py:" in str(measured)
    nodes = static.report().plans[0].nodes
    assert [(op.kind, op.what) for op in measured.ops] == [(n.kind, n.what) for n in nodes if n.kind != "native"]


def test_benchmark_of_kernels_and_of_what_runs_often_or_never():
    source = """
    def f(x: Tensor, n: int, flag: bool):
        for i in range(n):
            x = torch.relu(torch.mm(x, x) * 0.5) + 1.0
        if flag:
            x = torch.tanh(x)
        return torch.mm(x, x)
    """
    f = cresset.CompilationUnit(textwrap.dedent(source)).f
    x = torch.randn(8, 8)
    measured = cresset.static_module(f).benchmark_individual_ops(x, 3, False)
    assert sorted({(op.what, op.calls) for op in measured.ops if op.what == "aten::mm"}) == [
        ("aten::mm", 1),
        ("aten::mm", 3),
    ]
    kernels = [op for op in measured.ops if op.kind == "kernel"]
    assert kernels and all("aten::relu" in op.what and op.calls == 3 for op in kernels)
    assert not any("tanh" in op.what for op in measured.ops)
    with pytest.raises(cresset.UserError, match="have none"):
        cresset.static_module(f).benchmark_individual_ops(x.to_sparse(), 0, False)
    with pytest.raises(cresset.UserError, match="warm-up runs"):
        cresset.static_module(f).benchmark_individual_ops(x, 3, False, main_runs=0)


class Saved(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor, scale: float = 2.0):
        self.steps += 1
        return torch.relu(self.norm(self.layer(x))) * scale + self.steps


def test_static_modules_are_saved(tmp_path):
    module = Saved()
    module(torch.randn(8, 4))
    static = cresset.static_module(cresset.script(module), manage_output_tensors=True, enable_fusion=False)
    x = torch.randn(5, 4)
    path = tmp_path / "static.pt"
    static.save(path, _extra_files={"note": "kept"})
    expected = [static(x, scale=3.0) for _ in range(3)]
    copies = [cresset.load_static_module(path), cresset.load_static_module(path.read_bytes(), enable_fusion=True)]
    for made, fusion in zip(copies, (False, True), strict=True):
        for value in expected:
            torch.testing.assert_close(made(x, scale=3.0), value, rtol=0, atol=0)
        runtime = made.runtime()
        runtime(x)
        assert runtime.memory()["output_slots"] == 1  # results are managed, as the saved options say
        assert made._options["enable_fusion"] is fusion
    files = {"note": ""}
    for value, load in ((expected[0], cresset.load), (expected[0], torch.jit.load)):
        assert torch.equal(load(str(path), _extra_files=files)(x, scale=3.0), value)
        assert files["note"] == b"kept"
    # What was pickled has the attributes' values of then.
    for value, other in (
        (expected[0] + 3, pickle.loads(pickle.dumps(static))),
        (expected[0] + 3, copy.deepcopy(static)),
    ):
        torch.testing.assert_close(other(x, scale=3.0), value)
    function = cresset.static_module(cresset.script(add_and_double))
    function.save(tmp_path / "function.pt")
    assert torch.equal(cresset.load_static_module(tmp_path / "function.pt")(x, x), add_and_double(x, x))
    graph = cresset.static_module(cresset.script(add_and_double).graph)
    assert torch.equal(pickle.loads(pickle.dumps(graph))(x, x), add_and_double(x, x))
    cresset.save(cresset.script(module), path, _extra_files={"static_module.json": "[1"})
    with pytest.raises(cresset.UserError, match="static_module.json is no JSON"):
        cresset.load_static_module(path)
    cresset.save(cresset.script(module), path, _extra_files={"static_module.json": '{"unknown": 1}'})
    with pytest.raises(cresset.UserError, match="no option 'unknown'"):
        cresset.load_static_module(path)
    cresset.save(cresset.script(module), path)
    assert cresset.load_static_module(path, strict=True)(x).shape == (5, 3)


def add_and_double(x: Tensor, y: Tensor):
    return (x + y) * 2
