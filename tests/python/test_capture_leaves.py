"""Captured functions that go back along the tape (`loss.backward()`), and read and set `.grad` of leaves."""

import copy
import gc
import re
import resource
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import cresset
from cresset import _C


def made(kind="SGD", **more):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 2)
    ).requires_grad_()
    return net, getattr(torch.optim, kind)(net.parameters(), lr=0.1, **more)


def train(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def keeping_gradients(net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def of_module(net, optimizer, x, y):
    net.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def in_two_parts(net, optimizer, x, y):
    optimizer.zero_grad()
    losses = []
    for part, labels in zip(x.chunk(2), y.chunk(2), strict=True):
        loss = F.cross_entropy(net(part), labels) / 2
        loss.backward()
        losses.append(loss)
    optimizer.step()
    return losses[0] + losses[1]


def accumulating(net, optimizer, x, y):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss


def clipped(net, optimizer, x, y):
    for p in net.parameters():
        p.grad = None
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p.grad.clamp_(-0.01, 0.01)
            p -= p.grad
    return loss


def with_a_penalty(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward(retain_graph=True)
    (loss * 0.5 + net[0].weight.square().sum()).backward()
    optimizer.step()
    return loss


def without_gradients(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    with torch.no_grad():
        loss.backward()
        optimizer.step()
    return loss


def checkpointed(net, optimizer, x, y):
    optimizer.zero_grad()
    h = checkpoint(lambda v: torch.tanh(net[0](v)).square() * 2, x, use_reentrant=False)
    loss = F.cross_entropy(net[4](h), y)
    loss.backward()
    optimizer.step()
    return loss


def in_autocast(net, optimizer, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


LOOPS = [
    in_autocast,
    train, keeping_gradients, of_module, in_two_parts, accumulating, clipped, with_a_penalty, without_gradients, checkpointed,
]  # fmt: skip


def same(ours, theirs, i):
    for (name, p), (_, q) in zip(ours[0].named_parameters(), theirs[0].named_parameters(), strict=True):
        assert torch.allclose(p, q, rtol=1e-4, atol=1e-5), (i, name)
        assert (p.grad is None) == (q.grad is None), (i, name)
        if p.grad is not None:
            assert torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-5), (i, name)
            assert (p.grad.stride(), p.grad.requires_grad) == (q.grad.stride(), q.grad.requires_grad)
            assert p.grad.untyped_storage().nbytes() == q.grad.untyped_storage().nbytes()
    memory = [p.grad.untyped_storage()._cdata for p in ours[0].parameters() if p.grad is not None]
    assert len(set(memory)) == len(memory)
    for a, b in zip(ours[0].buffers(), theirs[0].buffers(), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def calls(f, compiled, ours, theirs, count=8, change=None):
    for i in range(count):
        if change is not None:
            change(i, *ours)
            change(i, *theirs)
        torch.manual_seed(i)
        x, y = torch.randn(6 + 2 * (i % 2), 4), torch.randint(0, 2, (6 + 2 * (i % 2),))
        state = torch.get_rng_state()
        loss = compiled(*ours, x, y)
        torch.set_rng_state(state)
        expected = f(*theirs, x, y)
        assert torch.allclose(loss, expected, rtol=1e-5, atol=1e-6) and loss.requires_grad == expected.requires_grad
        same(ours, theirs, i)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops(f, kind):
    cresset.reset()
    compiled = cresset.compile(f)
    calls(f, compiled, made(kind), made(kind), 10)
    found = cresset.explain(compiled)
    assert not any("backward" in reason or "grad" in reason for _, reason in found.python), found
    assert any(plan.applied > 3 and plan.graph_calls > 10 for plan in found.plans), found
    assert not any(plan.raised for plan in found.plans), found


@pytest.mark.parametrize("f", [train, keeping_gradients, of_module])
def test_one_plan(f):
    cresset.reset()
    compiled = cresset.compile(f)
    more = {} if f is of_module else {"momentum": 0.9, "weight_decay": 0.01}
    calls(f, compiled, made(**more), made(**more), 10)
    found = cresset.explain(compiled)
    plans = [plan for plan in found.plans if plan.applied]
    assert len(plans) == 1 and plans[0].first_line < f.__code__.co_firstlineno + 3 and plans[0].applied > 4, found


def tied(i, net, optimizer):
    if i == 5:
        net[4].weight = nn.Parameter(torch.ones(2, 8))  # the optimizer has the old one
    if i == 8:
        optimizer.param_groups[0]["params"][4] = net[4].weight


def frozen(i, net, optimizer):
    net[0].weight.requires_grad_(i not in (4, 5, 6))
    if i == 8:
        net.requires_grad_(False)
        net[4].bias.requires_grad_()


def replaced(i, net, optimizer):
    for k, p in enumerate(net.parameters()):
        if i in (4, 7):
            p.grad = None
        if i == 5:
            p.grad = torch.full_like(p, k)
        if i == 6 and k == 0:
            p.grad = torch.ones(4, 8).t()
        if i == 8 and p.grad is not None:
            p.grad.zero_()


def given_the_same(i, net, optimizer):
    if i > 4:
        shared = torch.ones(8)
        net[0].bias.grad = net[2].weight.grad = shared


CHANGES = [tied, frozen, replaced]


@pytest.mark.parametrize("f", [train, keeping_gradients, accumulating, in_two_parts], ids=lambda f: f.__name__)
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_changes_between_calls(f, change):
    cresset.reset()
    calls(f, cresset.compile(f), made(), made(), 12, change)


def test_gradients_that_are_one_tensor():
    cresset.reset()
    compiled = cresset.compile(accumulating)
    ours, theirs = made(), made()
    for i in range(8):
        given_the_same(i, *ours)
        given_the_same(i, *theirs)
        torch.manual_seed(i)
        x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
        for f, pair in ((compiled, ours), (accumulating, theirs)):
            torch.manual_seed(i)
            f(*pair, x, y)
        for p, q in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
            assert torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-5)
        if i > 4:
            assert ours[0][0].bias.grad is ours[0][2].weight.grad


def test_gradients_in_memory_of_others():
    """A gradient is added to what the pass reads, or what was given."""

    def f(w, x):
        loss = (torch.tanh(w * x) * x).sum()
        loss.backward()
        return loss.detach() * 2

    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(12):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            w, x = torch.randn(4, requires_grad=True), torch.randn(8)
            w.grad = torch.ones(4) if i < 5 else (x[4:], x[:4], w.detach())[i % 3]
            try:
                found.append([function(w, x[:4]), w.grad, w, x])
            except RuntimeError as error:  # "modified by an inplace operation"
                found.append([torch.tensor(len(str(error).partition(":")[0])), w.grad, w, x])
        for a, b in zip(*found, strict=True):
            assert torch.allclose(a, b), i
    assert any(plan.applied > 2 for plan in cresset.explain(compiled).plans)


def test_changed_backward_passes(monkeypatch):
    def f(w):
        loss = torch.tanh(w * 2).exp().sum()
        loss.backward()
        return loss.detach() * 2

    cresset.reset()
    compiled, seen = cresset.compile(f), []
    for i in range(14):
        if i == 5:
            old = torch.autograd.backward
            monkeypatch.setattr(torch.autograd, "backward", lambda *a, **k: seen.append(1) or old(*a, **k))
        if i == 8:
            monkeypatch.undo()
        if i == 11:
            before = torch.Tensor.backward
            monkeypatch.setattr(torch.Tensor, "backward", lambda self: seen.append(2) or before(self))
        w = torch.randn(4, requires_grad=True)
        compiled(w)
        grad, w.grad = w.grad, None
        f(w)
        assert torch.equal(w.grad, grad)
    assert seen == [1, 1] * 3 + [2, 2] * 3


def test_one_parameter_by_two_names():
    def f(p, q, x):
        p.grad = None
        (p * x).sum().backward()
        before = q.grad
        (q * x * 2).sin().sum().backward()
        return before, p.grad * 1, q.grad * 1

    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(14):
        found = []
        for function in (f, compiled):
            p, q = (nn.Parameter(torch.full((3,), float(k + i))) for k in range(2))
            if i % 3 == 2:
                q = p
            elif i > 8:
                q.grad = torch.ones(3)
            results = function(p, q, torch.arange(3.0))
            found.append([None if each is None else each.clone() for each in (*results, p.grad, q.grad)])
        for a, b in zip(*found, strict=True):
            assert (a is None and b is None) or torch.allclose(a, b), i


@pytest.mark.parametrize("kind", ["hook", "post", "node"])
def test_hooks_that_come_and_go(kind):
    cresset.reset()
    compiled = cresset.compile(accumulating)
    ours, theirs, seen = made(), made(), ([], [])
    handles = []
    for i in range(10):
        if i == 5:
            for calls_seen, (net, _) in zip(seen, (ours, theirs), strict=True):
                p = net[0].weight
                if kind == "hook":
                    handles.append(p.register_hook(lambda g, s=calls_seen: s.append(1) or g * 2))
                elif kind == "post":
                    handles.append(p.register_post_accumulate_grad_hook(lambda p, s=calls_seen: s.append(p.grad.sum())))
                else:
                    node = p.view_as(p).grad_fn.next_functions[0][0]
                    handles.append(node.register_hook(lambda *_, s=calls_seen: s.append(1)))
                    handles.append(node)
        if i == 8:
            for handle in handles:
                getattr(handle, "remove", lambda: None)()
        calls(accumulating, compiled, ours, theirs, 1)
    assert len(seen[0]) == len(seen[1]) == 3


def test_inputs_that_require_gradients():
    def f(w, x):
        loss = torch.tanh(x @ w).sin().sum()
        loss.backward()
        return x.grad, w.grad

    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(12):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            w, x = torch.randn(4, 4, requires_grad=i % 4 != 3), torch.randn(3, 4, requires_grad=i % 2 > 0)
            if not (w.requires_grad or x.requires_grad):
                w.requires_grad_()
            found.append(function(w, x))
        for a, b in zip(*found, strict=True):
            assert (a is None and b is None) or torch.allclose(a, b, atol=1e-6), i


def test_memory_of_gradients_is_their_own():
    """Gradients that are what was given, or one another, are copied; a write to one is seen in no other."""

    def copies(x, w, g):
        y = x.clone()
        y.backward(g)
        return w * 2

    def sums(x, w, g):
        (x + w).backward(g)
        return w * 2

    def products(x, w, g):
        (x * w.detach()).sum().backward()
        return (w.detach() * g).sin().exp()

    def broadcast(x, w, g):
        (x.t() + w).sum().backward()
        return w * 2

    for f in (copies, sums, products, broadcast):
        cresset.reset()
        compiled = cresset.compile(f)
        for _ in range(6):
            x, w, g = (torch.randn(3, 3, requires_grad=k < 2) for k in range(3))
            other_x, other_w, other_g = (t.detach().clone().requires_grad_(t.requires_grad) for t in (x, w, g))
            before = [t.detach().clone() for t in (x, w, g)]
            y, other = compiled(x, w, g), f(other_x, other_w, other_g)
            assert torch.equal(y, other)
            for a, b in ((x, other_x), (w, other_w)):
                assert (a.grad is None) == (b.grad is None)
                if a.grad is not None:
                    assert torch.equal(a.grad, b.grad) and a.grad.stride() == b.grad.stride()
                    a.grad.fill_(17)
            assert all(torch.equal(t, old) for t, old in zip((x, w, g), before, strict=True)) and torch.equal(y, other)
            assert w.grad is None or x.grad.data_ptr() != w.grad.data_ptr()


def test_who_has_a_gradient():
    leaf = torch.ones(2, 3, requires_grad=True)
    given = [torch.ones(2, 3)]
    place = given[0].data_ptr()
    assert _C._as_gradients(leaf, given.pop())[0].data_ptr() == place
    kept = torch.ones(2, 3)
    assert _C._as_gradients(leaf, kept)[0].data_ptr() != kept.data_ptr()
    given = [torch.tensordot(torch.ones(2, 2), torch.ones(2, 3), 1)]  # a view of what nothing else has
    place = given[0].data_ptr()
    assert given[0]._is_view()
    (found,) = _C._as_gradients(leaf, given.pop())
    assert found.data_ptr() == place and not found._is_view()
    base = torch.ones(6)
    assert _C._as_gradients(leaf, base.view(2, 3))[0].data_ptr() != base.data_ptr()
    given = [torch.ones(2, 3)]
    view = given[0].view(6)
    assert _C._as_gradients(leaf, given.pop())[0].data_ptr() != view.data_ptr()
    given = [torch.ones(3, 2).t()]
    place = given[0].data_ptr()
    (found,) = _C._as_gradients(leaf, given.pop())
    assert found.data_ptr() != place and found.stride() == (3, 1)
    twice = [torch.ones(2, 3)] * 2
    found = _C._as_gradients(leaf, leaf, twice.pop(), twice.pop())
    assert found[0].data_ptr() != found[1].data_ptr()
    for wrong in (None, torch.ones(3, 3), torch.ones(2, 3, dtype=torch.float64), torch.ones(2, 3, requires_grad=True)):
        with pytest.raises(RuntimeError):
            _C._as_gradients(leaf, wrong)


def peak_memory(call):
    """How many KB more than before a call takes at its height, the least of several calls."""

    def status(name):
        return int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])

    found = []
    for _ in range(5):
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the height is what there is now
        before = status("VmRSS")
        call()
        found.append(status("VmHWM") - before)
    return min(found)


def check_memory_of_gradients():
    def f(x, w):
        loss = ((x * w).sum() * 2 + 1) * 3
        loss.backward()
        w.grad = None
        return loss.detach()

    compiled, x = cresset.compile(f), torch.rand(9 << 20)
    w = torch.rand(9 << 20, requires_grad=True)
    for _ in range(5):
        compiled(x, w)
    (plan,) = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert plan.applied > 2
    size = x.nbytes // 1024
    assert 0.9 * size < peak_memory(lambda: compiled(x, w)) < 1.5 * size  # a copy would be there beside the gradient


def test_gradients_are_not_copied():
    """What a graph computes becomes the gradient itself: a large one takes memory once. In a process of its own, whose peak it is."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import conftest, test_capture_leaves as t; t.check_memory_of_gradients()"
    folder = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_calls_that_raise_afterwards():
    """Gradients are as Python leaves them: those of the pass that the exception comes after."""

    def f(w, x, index):
        loss = torch.tanh(x @ w).sin().square().sum()
        loss.backward()
        return x[index] * loss.detach()

    cresset.reset()
    compiled = cresset.compile(f)
    pairs = []
    for _ in range(2):
        torch.manual_seed(0)
        pairs.append(torch.randn(4, 4, requires_grad=True))
    for i in range(10):
        x, index = torch.randn(3, 4), torch.tensor(5 if i > 4 and i % 2 else 1)
        for function, w in zip((f, compiled), pairs, strict=True):
            if i in (6, 7):
                w.grad = None
            if int(index) == 5:
                with pytest.raises(IndexError):
                    function(w, x, index)
            else:
                function(w, x, index)
        assert torch.allclose(pairs[0].grad, pairs[1].grad, rtol=1e-4, atol=1e-5), i


def test_another_pass_along_a_tape():
    """A tape that a pass has freed raises in another; one that is kept goes on."""

    def freed(w, x):
        y = torch.tanh(x @ w)
        y.exp().sum().backward()
        return y.exp().sum()

    def kept(w, x):
        y = torch.tanh(x @ w).exp().sum()
        y.backward(retain_graph=True)
        return y

    for f in (freed, kept):
        cresset.reset()
        compiled = cresset.compile(f)
        for i in range(6):
            found = []
            for function in (f, compiled):
                torch.manual_seed(i)
                w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
                y = function(w, x)
                if f is freed:
                    with pytest.raises(RuntimeError, match="second time"):
                        y.backward()
                else:
                    y.backward()
                found.append(w.grad)
            assert torch.allclose(*found)


def test_losses_that_are_kept_keep_no_tape():
    def f(x):
        loss = x
        for _ in range(8):
            loss = torch.tanh(loss) * 1.5
        loss = loss.sum()
        loss.backward()
        return loss

    def used():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    cresset.reset()
    compiled = cresset.compile(f)
    for _ in range(5):
        compiled(torch.randn(8, requires_grad=True))
    assert any(plan.applied for plan in cresset.explain(compiled).plans)
    x = torch.rand(9 << 20, requires_grad=True)
    before = used()
    loss = compiled(x)
    assert loss.requires_grad and (used() - before) / x.untyped_storage().nbytes() < 1.5  # the gradient itself


def test_what_other_passes_do():
    """What is not in a plan runs as Python: other arguments, tapes from outside, leaves that the function makes."""

    def of_inputs(w, x):
        y = torch.tanh(x @ w).exp().sum()
        y.backward(inputs=[w])
        return y

    def with_tape(w, x):
        y = torch.tanh(x @ w).exp().sum()
        y.backward(create_graph=True)
        found = w.grad.square().sum()
        w.grad = None
        return found

    def from_outside(w, x):
        y = torch.tanh((w * 2) @ w).exp().sum()
        (x.sum() * y).backward()
        return y

    def own_leaf(w, x):
        leaf = (x @ w).detach().requires_grad_()
        leaf.sin().exp().sum().backward()
        return leaf.grad * 2

    def not_a_number(w, x):
        y = torch.tanh(x @ w).exp()
        try:
            y.backward()
        except RuntimeError as error:
            assert "grad can be implicitly created only for scalar outputs" in str(error)
        return y

    def sparse(w, x):
        y = F.embedding(torch.tensor([0, 2]), w, sparse=True).sin().exp().sum()
        y.backward()
        w.grad = w.grad.to_dense()
        return y

    for f in (of_inputs, with_tape, from_outside, own_leaf, not_a_number, sparse):
        cresset.reset()
        compiled = cresset.compile(f)
        for i in range(6):
            found = []
            for function in (f, compiled):
                torch.manual_seed(i)
                w, x = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)
                if f is from_outside:
                    x = w * 2
                found.append((function(w, x), w.grad))
            (a, first), (b, second) = found
            assert torch.allclose(a, b) and (first is None) == (second is None)
            assert first is None or torch.allclose(first, second), f


def test_gradients_that_are_watched():
    def f(w, x):
        w.grad = None
        y = torch.tanh(x @ w).exp().sum()
        y.backward()
        return y

    cresset.reset()
    for watches in (False, True):
        compiled, w, freed = cresset.compile(f), torch.randn(4, 4, requires_grad=True), []
        for i in range(8):
            compiled(w, torch.randn(3, 4))
            assert len(freed) == (i if watches else 0)
            if watches:
                weakref.finalize(w.grad, freed.append, i)
        gc.collect()


def test_gradients_that_are_set():
    def f(p, g, x):
        p.grad = g
        y = (p * x).sin() + (p.grad if g is not None else 0)
        q = p.grad
        p.grad = x
        return y * 2, q, p.grad

    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(12):
        p, x = nn.Parameter(torch.randn(3)), torch.randn(3)
        g = torch.randn(3) if i % 2 else None
        if i in (8, 9):
            x = torch.randn(1)
            with pytest.raises(RuntimeError, match="size"):
                compiled(p, g, x)
            assert p.grad is g
            continue
        y, q, last = compiled(p, g, x)
        assert q is g and last is x and p.grad is x
        assert torch.equal(y, f(p, g, x)[0])
    assert any(plan.applied > 2 for plan in cresset.explain(compiled).plans)


def test_whole_functions():
    cresset.reset()
    ours, theirs = made(), made()
    calls(train, train, ours, theirs, 1)  # the optimizer's state
    calls(train, cresset.compile(train, fullgraph=True), ours, theirs, 6)


def test_networks_that_are_copied():
    """A plan is of no one network."""
    cresset.reset()
    compiled = cresset.compile(train)
    first = made()
    calls(train, compiled, first, made(), 5)
    for _ in range(3):
        net = copy.deepcopy(first[0])
        theirs = copy.deepcopy(net)
        pairs = [(each, torch.optim.SGD(each.parameters(), lr=0.1)) for each in (net, theirs)]
        calls(train, compiled, *pairs, 3)
