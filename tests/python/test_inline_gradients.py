"""`torch.autograd.grad` and `backward` in programs: compiled into the graph where it shows the whole way, and never to be
told from autograd's engine, by values, errors, or what is left on the tape.
"""

import inspect
import linecache
import resource
import sys
import types
from typing import List, Optional

import pytest
import torch
from torch import Tensor

import cresset

PROGRAMS = """
def energy(pos, w):
    d = (pos.unsqueeze(0) - pos.unsqueeze(1)).pow(2).sum(-1)
    return torch.exp(-d * w).sum()

# compiled
def create_graph(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    return e, -g

# compiled
def freed_behind(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return e, -g

# compiled
def nothing_left(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return -g, e.item()

# compiled
def retained(pos, w):
    e = energy(pos, w) * w
    g = torch.autograd.grad([e], [pos], retain_graph=True)[0]
    h = torch.autograd.grad([e * 2], [pos])[0]
    assert g is not None and h is not None
    return e, g, h

# compiled
def partly_freed(pos, w):
    h = pos.exp()
    e = (h * w).sum() + w
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return g, w * 3 + e, h

# compiled
def freed_beside_others(pos, w):
    y = pos + w
    e, other = (y * pos).sum(), (y * w).sum()
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return g, other, e

# compiled
def twice(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    h = torch.autograd.grad([g.pow(2).sum()], [pos], create_graph=True)[0]
    assert h is not None
    return h.sum() + e

# compiled
def hessian(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    g = g.flatten()
    rows: List[Tensor] = []
    for i in range(6):
        r = torch.autograd.grad([g[i]], [pos], retain_graph=True)[0]
        assert r is not None
        rows.append(r.flatten())
    return torch.stack(rows)

# compiled
def given(pos, w):
    y = pos.tanh() * w
    go: List[Optional[Tensor]] = [torch.full_like(y, 2.0)]
    g = torch.autograd.grad([y], [pos], go, create_graph=True)[0]
    assert g is not None
    return g, y

# compiled
def given_smaller(pos, w):
    y = pos.tanh() * w
    go: List[Optional[Tensor]] = [torch.ones([1, 3], dtype=pos.dtype) + w.detach()]
    g = torch.autograd.grad([y], [pos], go)[0]
    assert g is not None
    return g, y

# compiled
def given_larger(pos, w):
    y = (pos.tanh() * w).sum(0)
    go: List[Optional[Tensor]] = [torch.ones([2, 3], dtype=pos.dtype)]
    g = torch.autograd.grad([y], [pos], go)[0]
    assert g is not None
    return g, y

# compiled
def given_that_requires_a_gradient(pos, w):
    y = pos.tanh() * 2
    go: List[Optional[Tensor]] = [torch.ones_like(y) * w]
    g = torch.autograd.grad([y], [pos], go, create_graph=True)[0]
    assert g is not None
    return g, y

# compiled
def unused(pos, w):
    y = pos.tanh().sum()
    k = pos * 2
    g = torch.autograd.grad([y], [pos, k], allow_unused=True)
    a, b = g[0], g[1]
    assert a is not None
    return a, b is None, y

# engine: 'k' (aten::mul) is not used for the output
def unused_error(pos, w):
    y = pos.tanh().sum()
    k = pos * 2
    g = torch.autograd.grad([y], [pos, k])
    return y

# engine: no gradient is given for 'y' (aten::tanh), which may be no number
def no_number(pos, w):
    y = pos.tanh()
    g = torch.autograd.grad([y], [pos])[0]
    return y

# compiled
def of_a_step_between(pos, w):
    h = pos.tanh() * w
    e = (h * h.exp()).sum()
    g = torch.autograd.grad([e], [h, pos], retain_graph=True)
    a, b = g[0], g[1]
    assert a is not None and b is not None
    return a + b, h, e

# compiled
def several_outputs(pos, w):
    h = pos.tanh() * w
    a, b = h.sum(), h.exp().sum()
    g = torch.autograd.grad([a, b, a], [pos], create_graph=True)[0]
    assert g is not None
    return g * 2, a

# compiled
def parts(pos, w):
    a, b = pos.split(2)
    e = (torch.cat([a, b * w, a], 1) ** 2).sum() + torch.stack([a, b]).prod()
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    return g, e

# engine: the program writes to tensors on the way
def written(pos, w):
    h = pos.exp()
    e = (h * h).sum()
    h.add_(1)
    g = torch.autograd.grad([e], [pos])[0]
    return e

# engine: it is not known what was written to 'pos' (prim::Param)
def gradient_written_to(pos, w):
    h = pos.exp()
    e = (h * h).sum()
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    g.mul_(3)
    return e, g

# compiled
def written_before(pos, w):
    table = torch.zeros([4, 3], dtype=pos.dtype)
    table[1:] += 2
    e = (table * pos * w).sum()
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    table.zero_()
    return e.detach(), g

# engine: the program writes to tensors on the way
def written_in_the_last_turn(pos, w):
    table = torch.ones([4, 3], dtype=pos.dtype)
    e = (table * pos.exp() * w).sum()
    total = torch.zeros_like(pos)
    for i in range(int(w.numel()) + 1):
        g = torch.autograd.grad([e], [pos], retain_graph=True)[0]
        assert g is not None
        total = total + g
        if i == 0:
            table.mul_(1)
    return e, total

# compiled
def parts_written(pos, w):
    out = torch.zeros([4, 3], dtype=pos.dtype)
    out[0] = pos[0] * w
    out[1] = pos[1].sin()
    e = (out * pos).sum()
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return e, g

# compiled
def messages(pos, w):
    density = torch.ones([4], dtype=pos.dtype)
    density.index_add_(0, torch.tensor([0, 1, 1, 3]), pos.exp().sum(1) * w)
    e = ((density * density + 1).sqrt() * pos.sum(1)).sum()
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    return e, g

# compiled
def backward_through_a_write(pos, w):
    t = pos.detach().clone()
    t.mul_(w)
    (t * w).sum().backward()
    return t.detach()

# engine: has no derivative rule for what is known of its arguments
def leaf_that_was_written_to(pos, w):
    p = pos.detach().clone()
    p.add_(w)
    p.requires_grad_()
    g = torch.autograd.grad([(p * p).sum()], [p, w], retain_graph=True)
    a, b = g[0], g[1]
    assert a is not None and b is not None
    return a, b

# engine: not all leaves that it reaches are known
def backward_to_a_computed_tensor(pos, w):
    y = pos * 2
    y.requires_grad_()
    (y * y).sum().backward()
    return y

# engine: is not known to require a gradient
def made_without_gradients(pos, w):
    with torch.no_grad():
        h = pos * w
    g = torch.autograd.grad([(h * pos).sum()], [h])[0]
    assert g is not None
    return g

# compiled
def rules_that_ask_for_the_mode(pos, w):
    y = torch.nn.functional.silu(pos) * pos
    (torch.nn.functional.softplus(y) * torch.nn.functional.gelu(pos * 3) * w).sum().backward()
    return y.detach()

# compiled
def freed_up_to_a_step_between(pos, w):
    v = w.exp()
    h = pos * v
    e = (h * pos).sum()
    g = torch.autograd.grad([e], [v])[0]
    assert g is not None
    return g, (h * w).sum()

# compiled
def backward_to_be_differentiated(pos, w):
    p = pos.detach().requires_grad_()
    (p.exp() * w).sum().backward(create_graph=True)
    g = p.grad
    assert g is not None
    return g

# compiled
def leaf_of_its_own(pos, w):
    p = pos.detach().requires_grad_()
    e = energy(p, w)
    g = torch.autograd.grad([e], [p])[0]
    assert g is not None
    return e.detach(), g

# engine: 'p' (aten::detach) is not known to require a gradient
def late_leaf(pos, w):
    p = pos.detach()
    d = p * 2
    p.requires_grad_()
    e = (p * d).sum()
    g = torch.autograd.grad([e], [p])[0]
    assert g is not None
    return e, g

# compiled
def turns(pos, w):
    x = pos.detach()
    for i in range(int(w.numel()) + 20):
        x = x.detach().requires_grad_(True)
        e = energy(x, w)
        g = torch.autograd.grad([e], [x])[0]
        assert g is not None
        x = x - 0.1 * g
    return x

# engine: the way leads through a branch or a loop
def through_a_branch(pos, w):
    if bool(pos.sum() > 100):
        e = pos.sum()
    else:
        e = energy(pos, w)
    g = torch.autograd.grad([e], [pos], create_graph=True)[0]
    assert g is not None
    return e, g

# compiled
def inside_a_branch(pos, w):
    e = energy(pos, w)
    f: Optional[Tensor] = None
    if bool(pos.sum() < 100):
        f = torch.autograd.grad([e], [pos], create_graph=True)[0]
    return e, f

# compiled
def other_name(pos, w):
    y = pos.to(torch.float64)
    e = (pos * 2 + y).sum()
    g = torch.autograd.grad([e], [y])[0]
    assert g is not None
    return g

# engine: may be another tensor under a second name
def perhaps_other_name(pos, w):
    y = pos.reshape([4, 3])
    e = (pos * 2 + y).sum()
    g = torch.autograd.grad([e], [y], retain_graph=True)[0]
    assert g is not None
    return g, e

# compiled
def backward_to_its_own_leaf(pos, w):
    p = pos.detach().requires_grad_()
    energy(p, w.detach()).backward()
    g = p.grad
    assert g is not None
    return g

# compiled
def backward_to_arguments(pos, w):
    e = energy(pos, w) * 1.5
    e.backward()
    energy(pos, w).sin().backward()
    return e

# compiled
def backward_twice(pos, w):
    e = energy(pos, w) * 1.5
    e.backward(retain_graph=True)
    e.backward()
    return e

# engine: an earlier call frees a part of the way
def freed_twice(pos, w):
    h = pos.exp()
    e = (h * w).sum()
    g = torch.autograd.grad([e], [pos])[0]
    k = torch.autograd.grad([h.sum()], [pos])[0]
    assert g is not None and k is not None
    return g, k

# engine: an earlier call frees a part of the way
def freed_by_the_turn_before(pos, w):
    h = pos.exp()
    total = torch.zeros_like(pos)
    for i in range(4):
        g = torch.autograd.grad([(h[i] * w).sum()], [pos])[0]
        assert g is not None
        total = total + g
    return total

# engine: an earlier call frees a part of the way
def freed_by_a_turn_of_many(pos, w):
    h = pos.exp()
    for row in h:
        (row * row).sum().backward()
    return h

# compiled
def backward_of_vector(pos, w):
    y = pos.exp() * w
    y.backward(torch.ones_like(y) * 2)
    return y.detach()

# engine: the program turns gradients or autocast on or off on the way
def partly_without_gradients(pos, w):
    h = pos.exp()
    with torch.no_grad():
        k = h * pos
    e = (h + k).sum()
    with torch.no_grad():
        g = torch.autograd.grad([e], [pos], retain_graph=True)[0]
    assert g is not None
    return e, g, k

# compiled
def without_gradients_between(pos, w):
    e = energy(pos, w)
    with torch.no_grad():
        k = e * 2
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return e, g, k

# engine: no derivative rule for what is known of its arguments: a tensor (aten::__getitem__)
def from_a_list(pos, w):
    held = [pos * w]
    if bool(pos.sum() > 100):
        held.append(pos)
    e = (held[-1] * pos).sum()
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return e, g

# compiled
def asked(pos, w):
    e = energy(pos, w)
    g = torch.autograd.grad([e], [pos])[0]
    assert g is not None
    return g, e.requires_grad, g.requires_grad
"""


def load():
    module = types.ModuleType("gradient_programs")
    module.__file__ = "<gradient_programs>"
    linecache.cache[module.__file__] = (len(PROGRAMS), None, PROGRAMS.splitlines(True), module.__file__)
    sys.modules[module.__name__] = module
    module.__dict__.update(torch=torch, List=List, Optional=Optional, Tensor=Tensor)
    exec(compile(PROGRAMS, module.__file__, "exec"), module.__dict__)
    return module


MODULE = load()
EXPECTED = {}  # by name: "compiled", or what explain says of the engine
for line, following in zip(PROGRAMS.splitlines(), PROGRAMS.splitlines()[1:], strict=False):
    if line.startswith("# "):
        EXPECTED[following.removeprefix("def ").split("(")[0]] = line.removeprefix("# ").removeprefix("engine: ")


def arguments(kind):
    pos = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    w = torch.tensor(0.5, dtype=torch.float64)
    if kind != "no gradients":
        pos.requires_grad_()
    if kind in ("leaves", "computed"):
        w.requires_grad_()
    if kind == "computed":
        return pos * 1, w * 1
    if kind == "one from the other":
        return pos, pos.sum() * 0.1
    if kind == "with a hook":
        pos.register_hook(lambda g: g * 2)
    if kind == "with a hook on what is accumulated":
        pos.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
    if kind == "with a hook on the accumulator":
        accumulator = pos.expand_as(pos).grad_fn.next_functions[0][0]
        accumulator.register_hook(lambda *_: pos.grad.mul_(2))
        HELD.append(accumulator)
    return pos, w


KINDS = ["leaves", "one leaf", "computed", "one from the other", "with a hook", "no gradients"]
KINDS += ["with a hook on what is accumulated", "with a hook on the accumulator"]
HELD = []  # accumulators with hooks


def run(function, kind):
    """What a call returns, leaves in its arguments, and leaves on the tape; or its error."""
    inputs = arguments(kind)
    try:
        results = function(*inputs)
    except Exception as error:  # noqa: BLE001
        return str(error).strip().splitlines()[-1].replace("Cresset", "…").replace("Add1", "…")
    results = results if isinstance(results, tuple) else (results,)
    seen = [(r.detach().clone(), r.requires_grad, r.stride()) if isinstance(r, Tensor) else r for r in results]
    seen += [t.grad.clone() for t in inputs if t.is_leaf and t.grad is not None]
    wanted = [t for t in inputs if t.requires_grad]
    for retain_graph in (True, False):
        for result in results:
            if not wanted or not isinstance(result, Tensor) or not result.requires_grad:
                continue
            for leaves in (wanted, wanted[:1], wanted[1:]):
                try:
                    found = torch.autograd.grad(result.sum(), leaves, allow_unused=True, retain_graph=retain_graph)
                    seen += [None if g is None else g.clone() for g in found]
                except Exception as error:  # noqa: BLE001
                    return [*seen, str(error)[:60]]  # what was freed on the way to the error differs
    return seen


def assert_same(found, expected, tolerance):
    if isinstance(expected, Tensor):
        assert isinstance(found, Tensor)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    elif isinstance(expected, (list, tuple)):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, tolerance)
    else:
        assert found == expected


@pytest.fixture
def modes():
    yield
    cresset.set_execution_mode("optimize")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXPECTED)
def test_as_the_engine(name, kind, modes):
    script = cresset.script(getattr(MODULE, name))
    cresset.set_execution_mode("interpret")
    expected = run(script, kind)
    cresset.set_execution_mode("optimize")
    # Derivatives of higher order add in another order (docs/decisions/0008-gradients.md).
    tolerance = 1e-12 if "create_graph=True" in inspect.getsource(getattr(MODULE, name)) else 0
    for _ in range(3):
        assert_same(run(script, kind), expected, tolerance)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_compiled(name):
    script = cresset.script(getattr(MODULE, name))
    for _ in range(2):
        run(script, "leaves")
    graph = str(script.graph_for(*arguments("leaves")))
    report = str(cresset.explain(script))
    if EXPECTED[name] == "compiled":
        assert "aten::grad(" not in graph and "aten::backward(" not in graph, report
    else:
        assert EXPECTED[name] in report


def test_first_call_has_the_bits_of_later_calls():
    script = cresset.script(MODULE.leaf_of_its_own)
    first = script(*arguments("no gradients"))
    assert cresset.explain(script).plans
    assert_same(script(*arguments("no gradients")), first, 0)


def test_nothing_is_recorded_if_nobody_could_see_it():
    script = cresset.script(MODULE.nothing_left)
    for _ in range(2):
        run(script, "leaves")
    graph = str(script.graph_for(*arguments("leaves")))
    assert "prim::DifferentiableGraph" not in graph and "release_graph" not in graph


def test_forces_are_one_region():
    script = cresset.script(MODULE.create_graph)
    run(script, "leaves")
    graph = str(script.graph_for(*arguments("leaves")))
    assert graph.count("= prim::DifferentiableGraph") == 1


def test_what_a_pass_frees_is_given_back():
    """A result that is still on the tape keeps no more than it does in eager PyTorch."""

    def f(x):
        y = x
        for _ in range(8):
            y = torch.tanh(y) * 1.5
        loss = y.sum()
        return loss, torch.autograd.grad([loss], [x])[0]

    def used():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    scripted = cresset.script(f)
    for _ in range(3):
        scripted(torch.randn(8, requires_grad=True))
    x = torch.rand(9 << 20, requires_grad=True)  # allocators give back what is so large
    before = used()
    loss, _ = scripted(x)
    assert loss.requires_grad and (used() - before) / x.untyped_storage().nbytes() < 1.5
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
