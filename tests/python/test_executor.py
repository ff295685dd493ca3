"""Plans: which calls get them, what they are keyed by, and that nothing but speed shows."""

import copy
import subprocess
import sys
import threading
import types
from typing import Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

import cresset
from cresset import _C


def warm(function, *args):
    """Calls until plans are used; returns the last result."""
    function(*args)
    return function(*args)


def fresh(function):
    """Scripted anew: `cresset.script` returns one script function per Python function."""
    return cresset.script(
        types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    )


def branchy(x: Tensor, w: Tensor, b: Optional[Tensor] = None, double: bool = False):
    if x.dim() == 2:
        y = torch.mm(x, w)
    else:
        y = torch.matmul(x, w)
    if b is not None:
        y = y + b
    if double:
        y = y * 2
    return y, len(y.size())


def test_plans_fold_what_the_signature_tells():
    f = fresh(branchy)
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    ignored = ("prim::Constant", "prim::unchecked_unwrap_optional")
    kinds = lambda *a: [n.kind() for n in f.graph_for(*a).nodes() if n.kind() not in ignored]  # noqa: E731
    warm(f, x, w)
    assert kinds(x, w) == ["aten::mm", "prim::TupleConstruct"]
    with cresset.options.override(kernels="off"):
        assert kinds(x, w, torch.randn(5)) == ["aten::mm", "aten::add", "prim::TupleConstruct"]
        assert kinds(x, w, None, True) == ["aten::mm", "aten::mul", "prim::TupleConstruct"]
    assert kinds(torch.randn(2, 3, 4), w) == ["aten::matmul", "prim::TupleConstruct"]
    for arguments in [(x, w), (x, w, torch.randn(5)), (x, w, None, True), (torch.randn(2, 3, 4), w)]:
        assert torch.equal(f(*arguments)[0], branchy(*arguments)[0])
        assert f(*arguments)[1] == branchy(*arguments)[1]


def test_sizes_make_no_plans_and_kinds_make_one_each():
    f = fresh(branchy)
    for n in range(1, 30):
        f(torch.randn(n, 4), torch.randn(4, n))
    assert len(cresset.explain(f).plans) == 1
    f(torch.randn(3, 4).double(), torch.randn(4, 5).double())
    f(torch.randn(2, 3, 4), torch.randn(4, 5))
    with torch.no_grad():
        f(torch.randn(3, 4), torch.randn(4, 5))
    with torch.inference_mode():
        f(torch.randn(3, 4), torch.randn(4, 5))
    explanation = cresset.explain(f)
    assert len(explanation.plans) == 5
    assert {plan.ambient for plan in explanation.plans} == {"gradients on", "gradients off", "inference mode"}
    assert "x: Float(*, *)" in explanation.plans[0].inputs
    assert "plan 4" in str(explanation)


def test_the_number_of_plans_is_bounded():
    f = fresh(branchy)
    w = torch.randn(4, 5)
    for rank in range(40):
        x = torch.randn([1] * rank + [3, 4])
        assert torch.equal(f(x, w)[0], branchy(x, w)[0])
    explanation = cresset.explain(f)
    assert len(explanation.plans) == 16 and "run the unoptimized program" in explanation.state


def test_first_calls_and_small_functions_run_unoptimized():
    f = fresh(branchy)
    assert cresset.explain(f).state == "not called yet"
    f(torch.randn(3, 4), torch.randn(4, 5))
    assert "called once" in cresset.explain(f).state and not cresset.explain(f).plans

    def small(x: Tensor):
        return torch.sort(x)

    g = cresset.script(small)
    for _ in range(3):
        g(torch.ones(2))
    assert "too small" in cresset.explain(g).state


def test_programs_that_are_too_large_run_unoptimized():
    lines = "".join(f"    x = x * 2 - {i}\n" for i in range(30000))
    text = f"def g(x: Tensor):\n{lines}    return x\ndef f(x: Tensor):\n    return g(g(x)) + g(x)\n"
    f = cresset.CompilationUnit(text).f
    with cresset.options.override(optimizer_errors="report"):
        expected = f(torch.ones(1))
        assert torch.equal(f(torch.ones(1)), expected)
    explanation = cresset.explain(f)
    assert not explanation.plans and "plans are made of up to 100000" in explanation.state


def test_modes():
    f = fresh(branchy)
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    with cresset.optimized_execution(False):
        for _ in range(3):
            f(x, w)
    assert not cresset.explain(f).plans
    assert cresset.get_execution_mode() == "optimize"
    cresset.set_execution_mode("interpret")
    try:
        for _ in range(3):
            f(x, w)
        assert not cresset.explain(f).plans
    finally:
        cresset.set_execution_mode("optimize")
    warm(f, x, w)
    assert len(cresset.explain(f).plans) == 1
    assert [n.kind() for n in cresset.last_executed_optimized_graph().nodes()][-1] == "prim::TupleConstruct"
    with pytest.raises(cresset.UserError, match="interpret or optimize"):
        cresset.set_execution_mode("fast")


def test_fusion_strategy_is_accepted():
    before = cresset.set_fusion_strategy([("DYNAMIC", 3)])
    assert cresset.set_fusion_strategy(before) == [("DYNAMIC", 3)]
    with pytest.raises(cresset.UserError):
        cresset.set_fusion_strategy([("SOMETIMES", 3)])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)
        self.dropout = nn.Dropout(0.5)
        self.scale = 2.0
        self.count = 0

    def forward(self, x):
        self.count += 1
        x = self.dropout(torch.relu(self.first(x)))
        if self.scale > 1.5:
            x = x * self.scale
        return self.second(x)


def test_attributes_are_read_when_a_plan_is_entered():
    torch.manual_seed(0)
    eager = Net().eval()
    module = cresset.script(eager)
    x = torch.randn(3, 4)
    for step in range(5):
        assert torch.equal(module(x), eager(x))
        assert module.count == step + 1
    attributes = cresset.explain(module).plans[0].attributes
    assert "self.first.weight: Float(*, *, requires_grad=1)" in attributes
    assert "self.dropout.training: False" in attributes
    assert not any("count" in text for text in attributes)  # the function writes it
    module.first.weight = nn.Parameter(torch.zeros(8, 4))
    eager.first.weight = nn.Parameter(torch.zeros(8, 4))
    assert torch.equal(module(x), eager(x))
    module.scale = eager.scale = 1.0
    assert torch.equal(module(x), eager(x))
    module.double()
    eager.double()
    assert torch.equal(module(x.double()), eager(x.double()))
    module.train()
    eager.train()
    torch.manual_seed(1)
    found = module(x.double())
    torch.manual_seed(1)
    assert torch.equal(found, eager(x.double()))
    assert len(cresset.explain(module).plans) == 3


def test_ambient_state_between_calls():
    def f(x: Tensor, w: Tensor):
        y = torch.mm(x, w)
        y = y * 2 + 1
        z = torch.zeros([2])
        return torch.relu(y), z

    script = cresset.script(f)
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)

    def check():
        (a, b), (c, d) = script(x, w), f(x, w)
        assert a.dtype == c.dtype and a.requires_grad == c.requires_grad and torch.equal(a, c)
        assert a.is_inference() == c.is_inference() and b.dtype == d.dtype

    for _ in range(3):
        check()
        with torch.no_grad():
            check()
        with torch.inference_mode():
            check()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            check()
        torch.set_default_dtype(torch.float64)
        try:
            check()
        finally:
            torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(True)
        try:
            check()
        finally:
            torch.use_deterministic_algorithms(False)


def test_what_plans_do_not_serve_runs_as_written():
    def f(x: Tensor):
        y = x * 2
        y = y + 1
        if y.dim() > 1:
            y = y.sum(0)
        return torch.relu(y)

    script = cresset.script(f)
    warm(script, torch.randn(3, 4))
    assert script(torch.ones(2, 3, device="meta")).device.type == "meta"
    plans = len(cresset.explain(script).plans)
    sparse = torch.eye(3).to_sparse()
    with pytest.raises(RuntimeError):
        script(sparse)
    assert torch.equal(
        torch.func.vmap(script)(torch.arange(12.0).view(2, 2, 3)), torch.func.vmap(f)(torch.arange(12.0).view(2, 2, 3))
    )
    x = torch.randn(3)
    assert torch.equal(torch.func.grad(lambda t: script(t).sum())(x), torch.func.grad(lambda t: f(t).sum())(x))
    primal, tangent = torch.randn(3), torch.randn(3)
    assert torch.equal(torch.func.jvp(script, (primal,), (tangent,))[1], torch.func.jvp(f, (primal,), (tangent,))[1])

    assert len(cresset.explain(script).plans) == plans

    class Subclass(torch.Tensor):
        pass

    # Below Python it is a tensor like others; one of this rank is new.
    assert torch.equal(script(torch.ones(3).as_subclass(Subclass)), f(torch.ones(3)))
    assert len(cresset.explain(script).plans) == plans + 1
    traced = cresset.trace(lambda t: script(t) + 1, (torch.randn(3),), check_trace=False)
    assert torch.equal(traced(x), f(x) + 1)


def test_containers_and_tuples():
    def f(pair: Tuple[Tensor, Optional[Tensor]], xs: List[Tensor], table: Dict[str, Tensor]):
        x, y = pair
        if y is None:
            y = x
        total = x + y
        for t in xs:
            total = total + t
        table["total"] = total
        return total

    script = cresset.script(f)
    for other in (None, torch.ones(2)):
        for _ in range(3):
            first, second = {}, {}
            a = script((torch.ones(2), other), [torch.ones(2)], first)
            b = f((torch.ones(2), other), [torch.ones(2)], second)
            assert torch.equal(a, b)
    assert any("pair: None" in text for plan in cresset.explain(script).plans for text in plan.inputs)


def test_errors_are_the_same_with_and_without_plans():
    def helper(x: Tensor, n: int):
        if x.sum() < n:
            raise ValueError(f"too small: {n}")
        return x.view(-1, n)

    def f(x: Tensor, n: int):
        y = x * 2
        y = y + 1
        return helper(y, n) * 2

    script = cresset.script(f)
    warm(script, torch.ones(6), 3)

    def message(call):
        with pytest.raises(Exception) as caught:
            call()
        return type(caught.value), str(caught.value)

    for arguments in [(torch.ones(7), 3), (torch.ones(6), 100)]:
        planned = message(lambda a=arguments: script(*a))
        with cresset.optimized_execution(False):
            assert message(lambda a=arguments: script(*a)) == planned


def test_errors_in_regions_have_the_stack_of_the_program():
    def helper(x: Tensor, w: Tensor):
        y = torch.tanh(x)
        return torch.mm(y, w)

    def f(x: Tensor, w: Tensor):
        y = x * 2 + 1
        y = helper(y, w)
        return torch.sigmoid(y).sum()

    script = cresset.script(f)
    warm(script, torch.randn(2, 3, requires_grad=True), torch.randn(3, 2))
    bad = (torch.randn(2, 3, requires_grad=True), torch.randn(4, 2))
    texts = []
    for optimize in (True, False):
        with cresset.optimized_execution(optimize), pytest.raises(RuntimeError) as caught:
            script(*bad)
        texts.append(str(caught.value))
    assert texts[0] == texts[1] and "in helper" in texts[0]
    assert any(n.kind() == "prim::DifferentiableGraph" for n in script.graph_for(*bad).nodes())


def test_threads_share_plans():
    f = fresh(branchy)
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    expected = branchy(x, w)[0]
    wrong = []

    def work():
        for i in range(50):
            y = f(x.double() if i % 3 == 0 else x, w.double() if i % 3 == 0 else w)[0]
            if not torch.equal(y.float(), expected) and i % 3:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(cresset.explain(f).plans) == 2


# ---- Gradients


def cell(x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor):
    gates = x.mm(w.t()) + h.mm(v.t()) + b
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def cell_arguments(dtype=torch.float64):
    torch.manual_seed(0)
    sizes = [(3, 4), (3, 4), (3, 4), (16, 4), (16, 4), (16,)]
    return [torch.randn(s, dtype=dtype, requires_grad=True) for s in sizes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("used", ["both", "first", "second"])
def test_gradients_of_a_cell(dtype, used):
    f = fresh(cell)
    pick = {"both": lambda r: r[0].sum() + r[1].sum(), "first": lambda r: r[0].sum(), "second": lambda r: r[1].sum()}[
        used
    ]
    warm(f, *cell_arguments(dtype))
    a, b = cell_arguments(dtype), cell_arguments(dtype)
    before = _C._num_recorded_regions()
    results = f(*a)
    assert _C._num_recorded_regions() == before + 2  # up to c, which callers may ask for a gradient, and after it
    found = torch.autograd.grad(pick(results), a, create_graph=True)
    expected = torch.autograd.grad(pick(cell(*b)), b, create_graph=True)
    assert all(torch.equal(p, q) for p, q in zip(found, expected, strict=True))
    found = torch.autograd.grad(sum(g.pow(2).sum() for g in found), a)
    expected = torch.autograd.grad(sum(g.pow(2).sum() for g in expected), b)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-4
    for p, q in zip(found, expected, strict=True):
        torch.testing.assert_close(p, q, rtol=tolerance, atol=tolerance)


def held(x):
    h = torch.tanh(x) * 2
    t = torch.exp(h) * h
    if x.size(0) > 100:
        h = h + 1
    return t.sum(), h, (h * t, [t])


def test_gradients_of_results_that_others_come_from():
    f = fresh(held)
    for _ in range(3):
        x, y = (torch.linspace(-1, 1, 4, dtype=torch.float64).requires_grad_() for _ in range(2))
        e, h, (p, (t,)) = f(x)
        ee, eh, (ep, (et,)) = held(y)
        watched = []
        for tensor in (h, t, eh, et):
            tensor.retain_grad()
            tensor.register_hook(lambda g: watched.append(g.clone()))
        for mine, expected in (([h, t, x], [eh, et, y]), ([h], [eh]), ([t], [et])):
            found = torch.autograd.grad(e + p.sum(), mine, retain_graph=True)
            expected = torch.autograd.grad(ee + ep.sum(), expected, retain_graph=True)
            assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        (e + p.sum()).backward()
        (ee + ep.sum()).backward()
        assert torch.equal(h.grad, eh.grad) and torch.equal(t.grad, et.grad) and torch.equal(x.grad, y.grad)
        assert len(watched) % 2 == 0


def test_gradients_with_respect_to_some():
    f = fresh(cell)
    for wanted in range(6):
        for _ in range(3):
            a = [t.detach().requires_grad_(i == wanted) for i, t in enumerate(cell_arguments())]
            h, c = f(*a)
            eh, ec = cell(*a)
            assert h.requires_grad == eh.requires_grad and c.requires_grad == ec.requires_grad
            assert torch.equal(torch.autograd.grad(h.sum(), a[wanted])[0], torch.autograd.grad(eh.sum(), a[wanted])[0])


def test_the_tape_around_regions():
    f = fresh(cell)
    warm(f, *cell_arguments())
    a = cell_arguments()
    seen = []
    a[3].register_hook(lambda g: seen.append(g.clone()))
    h, c = f(*a)
    h.register_hook(lambda g: g * 2)
    h.sum().backward(retain_graph=True)
    expected = cell_arguments()
    eh, _ = cell(*expected)
    (eh * 2).sum().backward()
    assert torch.equal(seen[0], expected[3].grad) and torch.equal(a[3].grad, expected[3].grad)
    h.sum().backward()
    assert torch.equal(a[3].grad, expected[3].grad * 2)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        h.sum().backward()


def test_what_is_kept_must_not_change():
    f = fresh(cell)
    warm(f, *cell_arguments())
    a = cell_arguments()
    h, _ = f(*a)
    with torch.no_grad():
        a[3].mul_(2)
    h2 = h.sum()
    # Autograd sees that mm's argument was changed, as it does for eager code.
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(h2, a[0])


def test_views_and_writes_behind_regions():
    def f(x: Tensor, w: Tensor):
        y = torch.tanh(x.mm(w)) * 2
        z = y.t()
        y.add_(1)
        return y, z

    script = cresset.script(f)
    for _ in range(3):
        a = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        a[1] = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
        (y, z), (ey, ez) = script(*a), f(*a)
        assert torch.equal(y, ey) and torch.equal(z, ez) and z.data_ptr() == y.data_ptr() and z._base is not None
        for p, q in zip(
            torch.autograd.grad((y * z.t()).sum(), a), torch.autograd.grad((ey * ez.t()).sum(), a), strict=True
        ):
            assert torch.equal(p, q)


def test_gradients_through_branches_and_loops():
    def f(x: Tensor, w: Tensor, n: int):
        for i in range(n):
            if i % 2 == 0:
                x = torch.tanh(x.mm(w)) * 0.5 + x
            else:
                x = torch.sigmoid(x * 2) - x * x
        return x.sum()

    script = cresset.script(f)
    for n in (0, 1, 5, 8):
        for _ in range(3):
            a = [torch.randn(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
            found, expected = script(*a, n), f(*a, n)
            assert torch.equal(found, expected)
            p = torch.autograd.grad(found, a, create_graph=True, allow_unused=True)
            q = torch.autograd.grad(expected, a, create_graph=True, allow_unused=True)
            for one, other in zip(p, q, strict=True):
                assert (one is None) == (other is None) and (one is None or torch.equal(one, other))
            if n > 1:
                p = torch.autograd.grad(sum(t.pow(2).sum() for t in p), a)
                q = torch.autograd.grad(sum(t.pow(2).sum() for t in q), a)
                for one, other in zip(p, q, strict=True):
                    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_forces_inside_a_script():
    """energy, and forces as its derivative, inside the program; loss on the forces."""

    class Potential(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 16)
            self.b = nn.Linear(16, 1)

        def energy(self, pos: Tensor) -> Tensor:
            return self.b(torch.tanh(self.a(pos))).sum()

        def forward(self, pos: Tensor) -> Tuple[Tensor, Tensor]:
            energy = self.energy(pos)
            grads = torch.autograd.grad([energy], [pos], create_graph=True)
            force = grads[0]
            assert force is not None
            return energy, -force

    torch.manual_seed(0)
    eager = Potential().double()
    script = cresset.script(eager)
    plans = set()
    for step in range(6):
        pos = torch.randn(5 + step, 3, dtype=torch.float64)
        results = []
        for module in (script, eager):
            eager.zero_grad()
            p = pos.clone().requires_grad_()
            if module is eager:
                energy = eager.energy(p)
                force = -torch.autograd.grad([energy], [p], create_graph=True)[0]
            else:
                energy, force = script(p)
            (energy.pow(2) + force.pow(2).sum()).backward()
            results.append([energy, force, *(q.grad.clone() for q in eager.parameters())])
        for found, expected in zip(*results, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
        plans.add(len(cresset.explain(script).plans))
    assert plans == {1}  # one for all sizes, from the first call on


def test_lists_that_come_from_outside_of_a_region():
    def f(x: Tensor, w: Tensor, h: Tensor):
        i, g = torch.nn.functional.linear(x, w).split([2, 2], 1)
        return torch.sigmoid(i) * torch.tanh(g) + h

    script = cresset.script(f)
    for _ in range(3):
        a = [torch.randn(3, 5), torch.randn(4, 5), torch.randn(3, 2)]
        a = [t.double().requires_grad_() for t in a]
        found, expected = torch.autograd.grad(script(*a).sum(), a), torch.autograd.grad(f(*a).sum(), a)
        assert all(torch.equal(p, q) for p, q in zip(found, expected, strict=True))


def test_backward_twice_where_nothing_is_kept():
    def f(x: Tensor, y: Tensor):
        z = x + y
        w = z + 1.0
        v = w - x
        return v + w + 3.0

    script = cresset.script(f)
    for _ in range(3):
        x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        r = script(x, y)
        r.sum().backward()
        r.sum().backward()
        assert torch.equal(x.grad, torch.full((3,), 2.0)) and torch.equal(y.grad, torch.full((3,), 4.0))


def test_attributes_that_python_changes_in_the_middle():
    class Poked(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = torch.zeros(2)
            self.flag = True

        @torch.jit.ignore
        def poke(self, x: Tensor) -> Tensor:
            holder[0].t = torch.ones(2, dtype=torch.float64)
            holder[0].flag = False
            return x + 1

        def forward(self, x: Tensor):
            before, flag = self.t, self.flag
            x = self.poke(x)
            return before, flag, self.t, self.flag, x

    holder = []
    module = cresset.script(Poked())
    holder.append(module)
    for _ in range(3):
        module.t, module.flag = torch.zeros(2), True
        before, flag, after, later, _ = module(torch.ones(2))
        assert torch.equal(before, torch.zeros(2)) and flag is True
        assert after.dtype == torch.float64 and later is False


def test_what_functions_of_the_host_get_may_be_written_to():
    @torch.jit.ignore
    def bump(x: Tensor) -> None:
        x.add_(1)

    def f(x: Tensor):
        y = torch.mul(x, x)
        z = y.sum()
        bump(y)
        return z + y.sum()

    script = cresset.script(f)
    graph = script.graph
    made = graph.findNode("aten::mul").output()
    assert graph.alias_db().has_writers(made)
    for _ in range(3):
        assert script(torch.ones(2)) == f(torch.ones(2)) == 6


def test_exceptions_of_dead_code_stay():
    def f(x: Tensor):
        y = torch.celu(x, 0.0)  # noqa: F841
        z = x * 2 + 1
        return torch.relu(z)

    script = cresset.script(f)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="ZeroDivisionError|alpha cannot be 0"):
            script(torch.ones(2))


def test_exceptions_of_dead_views_stay_where_gradients_flow():
    def f(a: Tensor, b: Tensor):
        last = a[-1]  # noqa: F841
        return b * 2.0 + b.sin().mean()

    script = cresset.script(f)
    b = torch.ones(2, requires_grad=True)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="out of range"):
            script(torch.zeros(0, 3, requires_grad=True), b)
    assert torch.equal(script(torch.zeros(1, 3, requires_grad=True), b), f(torch.zeros(1, 3), b))


def test_gradients_keep_the_sign_of_zero():
    def f(x: Tensor):
        return torch.zeros([]) * x.mean()

    x = torch.ones(3, requires_grad=True)
    for function in (f, cresset.script(f)):
        (gradient,) = torch.autograd.grad(function(x), x, torch.tensor(-1.0))
        assert torch.equal(gradient, torch.zeros(3)) and gradient.signbit().all()


def test_data_may_be_replaced():
    def f(x: Tensor, y: Tensor):
        z = y + 1
        torch.ops.aten.set_data(x, z)
        return x.is_floating_point(), x.to(torch.float32) * 2

    script = cresset.script(f)
    for _ in range(3):
        floating, result = script(torch.ones(2), torch.ones(2, dtype=torch.int64))
        assert not floating and result.dtype == torch.float32


def test_making_a_plan_imports_nothing():
    program = """
import sys
import torch, cresset
f = cresset.CompilationUnit('''
def f(x: Tensor, y: Tensor) -> Tensor:
  a = x * y + x.mm(y)
  return torch.tanh(a).sum(1) / y[0].exp()
''').f
x = torch.randn(4, 4)
f(x, x)
before = set(sys.modules)
f(x, x)
assert len(f.graph_for(x, x).findAllNodes("aten::mm")) == 1
print(sorted(set(sys.modules) - before))
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.stdout == "[]\n", out.stderr


@pytest.mark.parametrize(
    "order", [[(0, 0), (1, 1)], [(0, 0), (1, 0)], [(1, 1), (0, 0)], [(0, 0), (0, 0)], [(1, 1), (1, 0)]]
)
def test_what_a_backward_frees(order):
    """As in autograd, a second backward may go through what the first one did not."""

    def apart(a: Tensor, b: Tensor):
        return torch.sin(torch.cos(a)), torch.tanh(torch.exp(b))

    def shared(a: Tensor, b: Tensor):
        h = torch.cos(a)
        return torch.sin(h), torch.tanh(h) * b

    def shared_sum(a: Tensor, b: Tensor):
        h = a + b
        return torch.sin(h), torch.tanh(h) * a

    def attempt(function):
        leaves = [torch.linspace(1, 2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        results = function(*leaves)
        found = []
        for result, leaf in order:
            try:
                found.append(torch.autograd.grad(results[result].sum(), leaves[leaf], allow_unused=True)[0])
            except RuntimeError as error:
                found.append(str(error))
        return [one.tolist() if isinstance(one, Tensor) else one for one in found]

    for function in (apart, shared, shared_sum):
        assert attempt(cresset.script(function)) == attempt(function)


def overlapping_buffers():
    """Two tensors over one buffer that do not share a storage."""
    buffer = bytearray(8 * 12)
    return torch.frombuffer(buffer, dtype=torch.float64), torch.frombuffer(buffer, dtype=torch.float64, offset=32)


@pytest.mark.parametrize(
    "make, shares",
    [
        (lambda: (torch.ones(4), torch.ones(4)), False),
        (lambda: (lambda x: (x, x))(torch.ones(4)), True),
        (lambda: (lambda x: (x[:4], x[2:6]))(torch.ones(8)), True),
        (lambda: (lambda x: (x[:4], x[4:]))(torch.ones(8)), True),
        (lambda: (lambda a, b: (a[4:8], b[:4]))(*overlapping_buffers()), True),
        (lambda: (torch.ones(0), torch.ones(0)), False),
    ],
    ids=["apart", "the same", "views that overlap", "views that do not", "one buffer", "empty"],
)
def test_tensors_that_share_memory_have_plans_of_their_own(make, shares):
    def f(x: Tensor, pair: Tuple[Tensor, int]):
        y, n = pair
        before = y * 2
        x.add_(n)
        after = y * 2
        return before.sum() + after.sum() * 3, y.view(-1)

    script = fresh(f)
    for _ in range(3):
        script(torch.ones(4), (torch.ones(4), 1))
    assert len(cresset.explain(script).plans) == 1
    x, y = make()
    ex, ey = make()
    results, expected = script(x, (y, 2)), f(ex, (ey, 2))
    assert all(torch.equal(a, b) for a, b in zip(results, expected, strict=True)) and torch.equal(x, ex)
    assert results[1].data_ptr() == y.data_ptr()
    # Only where nothing is shared is `y * 2` the same before and after.
    assert str(script.graph_for(x, (y, 2))).count("aten::mul(") == (3 if shares else 2)
    plans = cresset.explain(script).plans
    double = x.dtype == torch.float64
    assert len(plans) == (2 if shares or double else 1)
    assert ("shares memory with x" in str(cresset.explain(script))) == shares


def test_memory_is_looked_at_where_something_writes():
    def f(x: Tensor, y: Tensor):
        z = torch.relu(x) + y
        z.mul_(2)
        return torch.sin(z) - torch.cos(y)

    script = fresh(f)
    x = torch.ones(4)
    for y in (x, torch.ones(4), x.view(2, 2)[0].repeat(2), x):
        warm(script, x, y)
    assert len(cresset.explain(script).plans) == 1


class Normalized(nn.Module):
    def __init__(self, inplace: bool):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace), nn.Conv2d(4, 4, 1))
        self.layers.append(nn.BatchNorm2d(4))

    def forward(self, x):
        return torch.tanh(self.layers(x))


@pytest.mark.parametrize("inplace", [False, True])
def test_checks_and_counters_stand_in_regions(inplace):
    torch.manual_seed(0)
    eager = Normalized(inplace)
    script = cresset.script(copy.deepcopy(eager))
    x = torch.randn(4, 3, 6, 6)
    for _ in range(3):
        for module in (eager, script):
            module.zero_grad()
            module(x).square().sum().backward()
        for (name, p), q in zip(eager.named_parameters(), script.parameters(), strict=True):
            assert torch.equal(p.grad, q.grad), name
        for (name, p), q in zip(eager.named_buffers(), script.buffers(), strict=True):
            assert torch.equal(p, q), name
    regions = [n for n in script.graph_for(x).nodes() if n.kind() == "prim::DifferentiableGraph"]
    inside = [n.kind() for region in regions for n in region.g("Subgraph").nodes()]
    assert len(regions) == 1
    assert inside.count("aten::conv2d") == 2 and inside.count("prim::If") == 2 and inside.count("aten::add_") == 2
    # One value per channel, in the second layer: the check raises, and the counters have counted as far.
    assert script.layers[1].num_batches_tracked == 3
    with pytest.raises(RuntimeError, match=r"Expected more than 1 value per channel.*\[1, 4, 1, 1\]") as caught:
        script(torch.randn(1, 3, 3, 3))
    assert "_verify_batch_size" in str(caught.value) and "in forward" in str(caught.value)
    assert script.layers[1].num_batches_tracked == 4 and script.layers[4].num_batches_tracked == 3


def test_what_a_region_keeps_is_not_written_in_it():
    def f(x: Tensor, count: Tensor):
        y = torch.tanh(x) * count
        count.add_(1.0)
        return torch.sin(y * 2).sum()

    script = fresh(f)
    for function in (script, script, script, f):
        x, count = torch.ones(3, requires_grad=True), torch.ones(3)
        y = function(x, count)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_tensors_that_come_to_share_memory():
    def f(x: Tensor, y: Tensor, z: Tensor):
        before = y * 2
        x.set_(y)
        x.add_(1)
        after = y * 2
        return before.sum() + after.sum() * 3, z + 1

    script = fresh(f)
    for _ in range(3):
        mine, eager = (function(torch.ones(4), torch.ones(4), torch.ones(4)) for function in (script, f))
        assert torch.equal(mine[0], eager[0]) and torch.equal(mine[1], eager[1])


def test_counters_in_regions_count_their_versions():
    module = cresset.script(Normalized(False))
    for step in range(4):
        before = module.layers[1].num_batches_tracked._version
        module(torch.randn(4, 3, 6, 6)).sum().backward()
        assert module.layers[1].num_batches_tracked._version == before + 1, step


def test_a_failing_backward_reaches_what_does_not_depend_on_the_failure():
    """A dead view of `x` stands in the region of `y`; the gradient of `x` does not wait for that region's."""

    def f(x: Tensor, y: Tensor):
        parts = [x.t(), torch.ones([2, 3])]
        z = torch.tanh(torch.exp(y) * 2.0)
        z.sigmoid_()
        z.clamp_(min=-0.5)
        total = ((x + z) * (x + z)).sum()
        total.backward(retain_graph=True)
        return parts

    script = fresh(f)
    for function in (f, script, script, script):
        x, y = (torch.randn(2, 2, requires_grad=True) for _ in range(2))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            function(x, y)
        assert x.grad is not None and y.grad is None


def sums_of_products(n: int):
    a = torch.ones([n, n])
    b = (a @ a).sum()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = (a @ a).sum()
        with torch.autocast("cpu", enabled=False):
            d = (a @ a).sum()
        e = (a @ a).sum()
    kinds = [0]
    for _i in range(n):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            kinds.append((a @ a).dtype)
        kinds.append((a @ a).dtype)
    return b, c, d, e, kinds


def test_computations_stay_in_their_state():
    f = fresh(sums_of_products)
    found = [f(3) for _ in range(3)]
    dtypes = [torch.float32, torch.bfloat16, torch.float32, torch.bfloat16]
    for *sums, kinds in found:
        assert [s.dtype for s in sums] == dtypes
        assert kinds == found[0][-1] and len(set(kinds[1:])) == 2


def weights_without_gradients(x, w):
    y = (x * w).relu()
    with torch.no_grad():
        scale = (x * w).relu().mean() + 1
    return y / scale, scale


def test_plans_see_through_contexts():
    f = fresh(weights_without_gradients)
    for _ in range(3):
        x, w = (torch.linspace(-1, 1, 4).requires_grad_() for _ in range(2))
        ex, ew = (torch.linspace(-1, 1, 4).requires_grad_() for _ in range(2))
        (y, scale), (ey, _escale) = f(x, w), weights_without_gradients(ex, ew)
        assert torch.equal(y, ey) and not scale.requires_grad and y.requires_grad
        assert all(map(torch.equal, torch.autograd.grad(y.sum(), [x, w]), torch.autograd.grad(ey.sum(), [ex, ew])))
    assert "Tensor = " not in str(f.graph_for(x, w)).split("return")[0].replace("TensorType", "")


def copies(x, y: Optional[Tensor] = None):
    a = x.contiguous()
    if x.is_contiguous():
        a = a * 2
    b = x.contiguous(memory_format=torch.channels_last)
    z = y.contiguous() + 1 if y is not None else x
    return x.contiguous(), a, b, x.is_contiguous(memory_format=torch.channels_last), z


def test_layouts_are_part_of_signatures():
    f = fresh(copies)
    base = torch.arange(120.0).view(2, 3, 4, 5)
    layouts = {
        "contiguous": base,
        "channels last": base.contiguous(memory_format=torch.channels_last),
        "not contiguous": base.transpose(2, 3),
        "contiguous, of one channel": base[:, :1].contiguous(),
    }
    for x in layouts.values():
        for y in (None, base, base.mT):
            for _ in range(3):
                found, expected = f(x, y), copies(x, y)
                assert (found[0] is x) == (expected[0] is x) and found[3] == expected[3]
                for a, b in zip(found, expected, strict=True):
                    if isinstance(a, Tensor):
                        assert torch.equal(a, b) and a.stride() == b.stride()
                        assert (a.data_ptr() == x.data_ptr()) == (b.data_ptr() == x.data_ptr())
    report = str(cresset.explain(f))
    assert "), contiguous" in report and "), channels last" in report and "), not contiguous" in report
    assert "aten::is_contiguous(%x)" not in str(f.graph_for(base, None))
    # Who does not ask has one plan for all.
    g = fresh(weights_without_gradients)
    for x in layouts.values():
        for _ in range(2):
            g(x, x)
    assert len(cresset.explain(g).plans) == 1


def views_at_both_ends(x: Tensor):
    return [x[:, 0], x.sum(1), x.mean(1), x[:, 1]]


def view_before_a_reduction(x: Tensor):
    return [x.t(), x.mean(-1)]


def view_of_a_view_that_is_used(x: Tensor):
    y = x.transpose(0, 1)
    return [y.transpose(0, 1).t(), y * x.sum(), y * x.mean(), x.sum(0)]


def view_in_the_middle(x: Tensor):
    y = torch.tanh(x) * x
    rows = x.unsqueeze(0)
    return [y.sum() * x.sum(1), rows.flip([1])[0], rows, (x * 2.0).exp().sum(0)]


def held_in_the_middle(x: Tensor):
    h = torch.tanh(x) * 2.0
    a = (h * x).exp()
    b = torch.sigmoid(x) * x
    return [h, a * 0.3, b, (x * 0.7).exp().sum(0)]


def halves_in_the_middle(x: Tensor):
    y = torch.tanh(x) * x
    a, b = x.chunk(2)
    return [y, a, torch.sigmoid(x) * x.sum(), b]


def norm_of_a_transposed(x: Tensor):
    return [torch.linalg.vector_norm(x * 0.5).sum().tanh()]


def outer_of_one(x: Tensor):
    v = x.sum(1) * 0.3
    return [torch.outer(v, v).mean(-1) * v, torch.ger(v, v).sum() * v]


@pytest.mark.parametrize(
    "f",
    [views_at_both_ends, view_before_a_reduction, view_of_a_view_that_is_used, view_in_the_middle]
    + [halves_in_the_middle, held_in_the_middle, outer_of_one, norm_of_a_transposed],
)
def test_gradients_are_added_up_in_the_order_of_their_uses(f):
    """Views that leave a region are made outside of it, and where there is a difference in the order of additions, that
    is to say in the last bits, or in the strides of the sum, not on its other side."""
    script = cresset.script(f)
    for seed in range(20):
        found = []
        for function in (f, script):
            torch.manual_seed(seed)
            x = torch.randn(6, 4, dtype=torch.float64).transpose(0, 1).requires_grad_()
            results = function(x)
            total = sum((r * torch.randn_like(r)).sum() for r in results)
            found.append([*results, *torch.autograd.grad(total, x)])
        for mine, eager in zip(*found, strict=True):
            assert torch.equal(mine, eager) and mine.stride() == eager.stride()


def test_what_a_backward_frees_with_indices():
    def f(x: Tensor, i: Tensor):
        y = x[i]
        return y * y, y.unsqueeze(1).expand(-1, 2)

    script = cresset.script(f)
    for function in (f, script, script, script):
        first, second = function(torch.ones(3, requires_grad=True), torch.tensor([0, 2]))
        first.sum().backward()
        with pytest.raises(RuntimeError, match="a second time"):
            second.sum().backward()


def test_results_of_regions_are_views_of_what_eager_says():
    """The kernel of repeat makes a view of memory of its own."""

    def f(x: Tensor, y: Tensor):
        return torch.tanh(x).unsqueeze(1).expand(-1, 1).repeat(1, y.size(0))

    script = cresset.script(f)
    for function in (f, script, script, script):
        x = torch.ones(3, requires_grad=True)
        result = function(x, x)
        assert not result._is_view()
        with torch.no_grad():
            result.mul_(2)
        result.sum().backward()
        assert torch.allclose(x.grad, 3 * (1 - torch.tanh(torch.ones(3)) ** 2))


def test_what_autograd_keeps_is_no_result():
    """The two sums are one value, but callers may write to the one, and autograd keeps the other."""

    def f(x: Tensor, y: Tensor):
        return x.sum(1), x.sum(1) * y, x.sum(1).view(-1) * y

    script = cresset.script(f)
    for function in (f, script, script, script):
        y = torch.ones(2, requires_grad=True)
        first, second, third = function(torch.ones(2, 3), y)
        first.zero_()
        (second + third).sum().backward()
        assert y.grad.tolist() == [6, 6]


def test_a_result_that_is_asked_for_its_size_only():
    """Autograd does not go through what it was computed from."""

    def f(x: Tensor, y: Tensor):
        z = torch.tanh(x) * 2.0
        z.add_(z.sin())
        z.add_(z.cos())  # what sin has kept is written to
        a = torch.exp(y) * y
        b = z.cos()
        return a * torch.full([b.size(0)], 2.0, dtype=y.dtype).sum()

    script = cresset.script(f)
    for function in (f, script, script, script):
        x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
        function(x, y).sum().backward()
        assert x.grad is None and y.grad is not None


def test_what_has_nothing_to_do_with_each_other_is_in_no_region_together():
    """Else a backward pass from the one would go through what the other comes from, where all is freed."""

    def f(x: Tensor, y: Tensor):
        a = torch.tanh(x) * 2.0
        b = torch.sigmoid(y).exp()
        return a, b

    script = cresset.script(f)
    for function in (f, script, script, script):
        x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
        z = y.exp()
        z.sum().backward()
        a, b = function(x, z)
        a.sum().backward()
        assert x.grad is not None
        with pytest.raises(RuntimeError, match="a second time"):
            b.sum().backward()
    assert str(script.graph_for(x, z)).count("prim::DifferentiableGraph_") == 4  # each where it is, and below


def test_long_programs_have_several_regions():
    body = "".join("    x = torch.tanh(x) * 0.5\n    y = y + x.sum()\n" for _ in range(600))
    unit = cresset.CompilationUnit(f"def f(x: Tensor, y: Tensor):\n{body}    return x, y\n")
    arguments = [torch.randn(4, requires_grad=True), torch.zeros((), requires_grad=True)]
    for _ in range(2):
        unit.f(*arguments)
    assert [plan.nodes < 20 for plan in cresset.explain(unit.f).plans] == [True]
    graph = unit.f.graph_for(*arguments)
    assert len([node for node in graph.nodes() if node.kind() == "prim::DifferentiableGraph"]) > 2


def test_graphs_of_plans_with_subgraphs_are_programs():
    """They are well formed, read back as they print, and run as the function does, gradients included."""

    def f(x: Tensor, w: Tensor, flag: bool):
        y = torch.tanh(x @ w)
        if flag:
            y = (y * w.sigmoid()).exp()
        return y.sum(), y.t()

    script = cresset.script(f)
    arguments = [torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True), True]
    for _ in range(2):
        expected = script(*arguments)
    graph = script.graph_for(*arguments)
    assert any(node.kind() == "prim::DifferentiableGraph" for node in graph.nodes())
    graph.lint()
    read = cresset.parse_ir(str(graph))
    assert str(read) == str(graph)
    again = cresset.function_from_graph("again", read)
    expected_gradients = torch.autograd.grad(expected[0], arguments[:2])
    for _ in range(3):
        total, view = again(*arguments)
        assert torch.equal(total, expected[0]) and torch.equal(view, expected[1]) and view._is_view()
        for found, wanted in zip(torch.autograd.grad(total, arguments[:2]), expected_gradients, strict=True):
            assert torch.equal(found, wanted)


def test_a_weight_of_which_only_the_layout_is_needed_may_be_written_to():
    def f(x: Tensor, w: Tensor):
        v = torch.tanh(w) * 0.5
        y = torch.nn.functional.linear(x, v)
        v.mul_(2.0)
        return (y * y).sum() + v.sum()

    script = cresset.script(f)
    for layout in (lambda w: w, lambda w: w.t().contiguous().t()):
        found = []
        for function in (f, script, script):
            x, w = torch.linspace(0, 1, 6).view(2, 3), layout(torch.linspace(0, 2, 12).view(4, 3)).requires_grad_()
            function(x, w).backward()
            found.append(w.grad)
        assert all(torch.equal(g, found[0]) and g.stride() == found[0].stride() for g in found)


def test_a_region_keeps_what_the_gradients_of_a_call_need():
    """Only the gradient of z needs y, and z requires none here, which no type tells."""

    def f(x: Tensor, z: Tensor):
        if x.size(0) > 5:
            z.mul_(x.sum())
        y = x.sum(0) * 2.0
        r = torch.addcmul(z, y, z).sum()
        y.mul_(2.0)
        return r

    script = cresset.script(f)
    for function in (f, script, script, script):
        x = torch.ones(3, requires_grad=True)
        function(x, torch.ones(3)).backward()
        assert x.grad.tolist() == [6, 6, 6]
    assert "prim::DifferentiableGraph_" in str(script.graph_for(x, torch.ones(3)))
    y = torch.ones(6, requires_grad=True)  # and here it does
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        script(y, torch.ones(3)).backward()


def test_parts_of_one_list_have_one_gradient():
    def f(x: Tensor):
        a, b = (torch.tanh(x) * 2.0).chunk(2)
        return a, torch.sin(b) * torch.cos(b)

    script = cresset.script(f)
    for function in (f, script, script, script):
        x = torch.ones(4, requires_grad=True)
        a, b = function(x)
        gradient = torch.autograd.grad((a * -0.0).sum() + b.sum(), x)[0]
        assert gradient.signbit()[:2].all(), gradient


def outer_product_of_two_dtypes(x, y):
    return torch.einsum("ab,bc->abc", [x, y]).relu().sum() * 2


def test_einsum_of_two_dtypes():
    f = fresh(outer_product_of_two_dtypes)
    for _ in range(3):
        x, ex = (torch.ones(2, 3).requires_grad_() for _ in range(2))
        y, ey = (torch.ones(3, 4, dtype=torch.float64).requires_grad_() for _ in range(2))
        found = torch.autograd.grad(f(x, y), [x, y])
        assert all(map(torch.equal, found, torch.autograd.grad(outer_product_of_two_dtypes(ex, ey), [ex, ey])))


def factor_written_to(x):
    ones = torch.ones([x.size(1), x.size(1)], dtype=x.dtype)
    y = (x @ ones).sum()
    ones.clamp_(min=-1.0)
    return y


def test_writes_to_what_autograd_keeps_are_errors():
    f = fresh(factor_written_to)
    for function in (factor_written_to, f, f, f):
        result = function(torch.ones(2, 3, requires_grad=True))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.backward()


class Mode(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = "sum"

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == "sum":
            return x.sum()
        return x.mean() * len(self.mode)


def test_text_of_attributes_is_in_the_signature():
    module = cresset.script(Mode())
    x = torch.arange(4.0)
    for mode in ("sum", "mean", "sum", "an unusually long name " * 5):
        module.mode = mode
        for _ in range(3):
            assert module(x) == (x.sum() if mode == "sum" else x.mean() * len(mode))
    report = str(cresset.explain(module))
    assert "self.mode: 'sum'" in report and "self.mode: 'mean'" in report and "self.mode: any value" in report
    module.mode = "sum"
    assert "prim::If" not in str(module.graph_for(x))


def test_texts_without_number():
    module = cresset.script(Mode())
    x = torch.arange(4.0)
    for i in range(5_000):
        module.mode = f"mode {i}"
        assert module(x) == x.mean() * len(module.mode)
    assert len(cresset.explain(module).plans) == 16


def test_tensors_that_are_asked_whether_they_require_gradients():
    def f(x: Tensor):
        if not x.requires_grad:
            x.requires_grad_(True)
        was = x.requires_grad
        g = torch.autograd.grad([(x * x).sum()], [x], create_graph=True)[0]
        return g, was

    script = fresh(f)
    for step in range(6):
        x = torch.ones(3, requires_grad=step % 2 == 0)
        gradient, was = script(x)
        assert was and x.requires_grad and torch.equal(gradient, torch.full((3,), 2.0))
    assert "aten::grad(" not in str(script.graph_for(torch.ones(3))) + str(
        script.graph_for(torch.ones(3, requires_grad=True))
    )


def test_debug_state():
    def f(x: Tensor):
        return ((x.sin() * 2).exp() + x).tanh().sum() * 3 - 1

    script = fresh(f)
    assert script.get_debug_state().execution_plans == {}
    for _ in range(2):
        script(torch.ones(2))
    state = script.get_debug_state()
    (kind,) = state.execution_plans
    assert "x: Float(*)" in kind and "aten::sin" in str(state.execution_plans[kind].graph)
    assert str(state.graph) == str(script.graph) == str(state.fallback.graph)
    module = cresset.script(nn.Sequential(*[nn.Linear(2, 2) for _ in range(8)]))
    for _ in range(2):
        module(torch.ones(1, 2))
    assert len(module.get_debug_state().execution_plans) == 1


def reads_statistics_twice(x: Tensor, m: Tensor, v: Tensor):
    before = (m * 2 + 1) * 3
    y = torch.batch_norm(x, None, None, m, v, True, 0.5, 1e-5, False)
    after = (m * 2 + 1) * 3
    return before, y, after, after - before


def reads_statistics_in_a_branch(x: Tensor, m: Tensor, v: Tensor):
    s = x.detach().sum()
    a = (m * 2 + 1) * 3
    y = torch.batch_norm(x, None, None, m, v, True, 0.5, 1e-5, False)
    z = torch.relu(y)
    if bool(s > -1000):
        z = z + a
    return z, y


def reads_statistics_in_a_loop(x: Tensor, m: Tensor, v: Tensor):
    t = x
    for _ in range(3):
        a = (m * 2 + 1) * 3
        t = torch.batch_norm(t, None, None, m, v, True, 0.5, 1e-5, False) + a.view(1, -1)
    return (t,)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "program",
    [reads_statistics_twice, reads_statistics_in_a_branch, reads_statistics_in_a_loop],
    ids=lambda program: program.__name__,
)
def test_two_reads_of_statistics_around_their_update(program, requires_grad):
    """Batch norm in training updates them, which its schema doesn't say."""
    scripted = fresh(program)
    for seed in range(4):
        torch.manual_seed(seed)
        x = torch.randn(4, 3, requires_grad=requires_grad)
        statistics = [torch.zeros(3), torch.ones(3)]
        expected = [tensor.clone() for tensor in statistics]
        for got, wanted in zip(scripted(x, *statistics), program(x, *expected), strict=True):
            torch.testing.assert_close(got, wanted)
        torch.testing.assert_close(statistics, expected)


class _Attending(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        for i in range(2):
            x = torch.tanh(self.linear(x)) * self.scale + i
            if x.sum() > 1:
                x = torch.softmax(x * self.scale, -1) @ y
        return x, (y * self.scale).cos()


@pytest.mark.parametrize("make", [cresset.script, lambda m: cresset.trace(m, (torch.ones(4, 4), torch.ones(4, 4)))])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
@pytest.mark.filterwarnings("ignore::cresset.TracerWarning")
def test_tangents_of_inputs_that_need_no_gradient(make, which):
    """Parameters do, so regions are on the tape: the operators are called themselves where a tangent comes in."""
    forward_ad = torch.autograd.forward_ad
    eager = _Attending()
    compiled = make(eager)
    args = torch.full((4, 4), 0.5), torch.full((4, 4), 0.25)

    def tangents(module):
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, torch.ones(4, 4)) if i in which else x for i, x in enumerate(args)]
            return [forward_ad.unpack_dual(result).tangent for result in module(*duals)]

    for _ in range(3):
        for got, wanted in zip(tangents(compiled), tangents(eager), strict=True):
            assert got is wanted is None or torch.allclose(got, wanted, atol=1e-6)
        sum(result.sum() for result in compiled(*args)).backward()


@pytest.mark.parametrize(
    "norm", ["x.norm()", "x.norm(3)", "torch.norm(x, 1.5)", "torch.norm(x, 2, dtype=torch.float64)", "x[0, 0].norm()"]
)
def test_norms_of_all_elements_in_forward_mode(norm):
    """The tangent that PyTorch's own operator makes has as many dimensions as the argument, which it refuses."""
    f = cresset.CompilationUnit(f"def f(x: Tensor):\n  return {norm}\n").f
    x, direction = torch.randn(3, 4, generator=torch.manual_seed(0)), torch.ones(3, 4)
    expected = sum(torch.autograd.functional.jacobian(lambda x: eval(norm, {"x": x, "torch": torch}), x).flatten())
    for _ in range(3):
        value, tangent = torch.func.jvp(f, (x,), (direction,))
        assert torch.equal(value, f(x)) and torch.allclose(tangent, expected) and tangent.shape == value.shape
        with torch.autograd.forward_ad.dual_level():
            result = f(torch.autograd.forward_ad.make_dual(x, direction))
            assert torch.equal(torch.autograd.forward_ad.unpack_dual(result).tangent, tangent)
        mapped = torch.vmap(lambda x: torch.func.jvp(f, (x,), (direction,))[1])(torch.stack([x, x]))
        assert torch.allclose(mapped, expected.expand(2))
