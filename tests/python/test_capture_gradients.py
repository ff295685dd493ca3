"""Graphs of cresset.compile where gradients are recorded: results have eager's bits, gradients eager's up to the order in which
they are added; what is visible of the tape is eager's."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from test_capture_graphs import calls_in_graphs, same
from torch import nn

import cresset
from cresset import _C


def close(a, b):
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def regions_of(call):
    """How many nodes of compiled regions a call puts on the tape."""
    before = _C._num_recorded_regions()
    call()
    return _C._num_recorded_regions() - before


def layer(x, w, b):
    h = torch.tanh(x @ w + b)
    return (h * torch.sigmoid(h)).sum()


def leaves(*shapes, requires_grad=True):
    return [torch.randn(*shape, requires_grad=requires_grad) for shape in shapes]


def test_gradients_are_compiled():
    torch.manual_seed(0)
    compiled = cresset.compile(layer)
    for size in (3, 3, 3, 5, 1):
        inputs = leaves((size, 4), (4, 2), (2,))
        compiled(*inputs)
        expected, seen = layer(*inputs), compiled(*inputs)
        assert same(expected, seen)
        for a, b in zip(torch.autograd.grad(expected, inputs), torch.autograd.grad(seen, inputs), strict=True):
            assert close(a, b) and a.stride() == b.stride()
    assert calls_in_graphs(compiled) > 0
    inputs = leaves((3, 4), (4, 2), (2,))
    assert regions_of(lambda: compiled(*inputs)) == 1


@pytest.mark.parametrize("order", [0, 1])
def test_other_inputs_and_modes(order):
    """Which inputs require gradients, and whether gradients are on, changes from call to call."""
    torch.manual_seed(0)
    compiled = cresset.compile(layer)
    kinds = list(itertools.product([False, True], repeat=3))
    for require in kinds[:: -1 if order else 1] * 2:
        for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            inputs = leaves((3, 4), (4, 2), (2,))
            for tensor, requires in zip(inputs, require, strict=True):
                tensor.requires_grad_(requires)
            with mode():
                expected, seen = layer(*inputs), compiled(*inputs)
            assert expected.requires_grad == seen.requires_grad and torch.equal(expected, seen)
            assert expected.is_inference() == seen.is_inference()
            wanted = [tensor for tensor in inputs if tensor.requires_grad]
            if seen.requires_grad:
                assert all(map(close, torch.autograd.grad(expected, wanted), torch.autograd.grad(seen, wanted)))
    assert sum(plan.raised for plan in cresset.explain(compiled).plans) == 0


def test_visible_tensors_end_a_region():
    def f(x, w):
        a = torch.tanh(x * w) + x
        return a, (a.exp() + a.sin() * w).relu().sum()

    compiled = cresset.compile(f)
    for _ in range(4):
        x, w = leaves((5,), (5,))
        results = []
        for call in (f, compiled):
            a, b = call(x, w)
            seen = []
            a.register_hook(lambda grad, seen=seen: seen.append(grad.clone()))
            a.retain_grad()
            (grad_a,) = torch.autograd.grad(b, a, retain_graph=True)
            seen.clear()
            x.grad = w.grad = None
            (b * 2).backward()
            results.append([grad_a, *seen, a.grad, x.grad, w.grad])
            assert a.grad_fn is not None and b.grad_fn is not None and not a.is_leaf
        assert len(results[0]) == len(results[1]) and all(map(close, *results))
    assert calls_in_graphs(compiled) > 0


def test_hooks_of_inputs():
    compiled = cresset.compile(layer)
    for with_hook in (False, True, True, False):
        inputs = leaves((3, 4), (4, 2), (2,))
        gradients = []
        if with_hook:
            inputs[0].register_hook(lambda grad: grad * 2)
            inputs[1].register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", t.grad + 1))
        for call in (layer, compiled):
            for tensor in inputs:
                tensor.grad = None
            call(*inputs).backward()
            gradients.append([tensor.grad for tensor in inputs])
        assert all(map(close, *gradients))


def test_a_saved_tensor_that_was_written():
    def f(x, w):
        return ((x * w).exp() + (x - w).sin() * w).tanh()

    compiled = cresset.compile(f)
    for write in (False, True, False, True):
        errors = []
        for call in (f, compiled):
            x, w = leaves((4,), (4,))
            y = call(x, w).sum()
            if write:
                with torch.no_grad():
                    w.add_(1)
            try:
                y.backward()
                errors.append(None)
            except RuntimeError as error:
                errors.append("modified by an inplace operation" in str(error))
        assert errors == [True if write else None] * 2


def test_gradients_of_gradients():
    compiled = cresset.compile(layer)
    for _ in range(4):
        inputs = leaves((3, 4), (4, 2), (2,))
        found = []
        for call in (layer, compiled):
            first = torch.autograd.grad(call(*inputs), inputs, create_graph=True)
            found.append([*first, *torch.autograd.grad(sum(g.pow(2).sum() for g in first), inputs)])
        assert all(map(close, *found))


def test_transforms_and_forward_mode():
    def f(x):
        return ((x * 2).sin() + x.exp() * x).tanh().sum()

    compiled = cresset.compile(f)
    for _ in range(3):
        (x,) = leaves((4,))
        assert close(torch.func.grad(f)(x), torch.func.grad(compiled)(x))
        assert close(torch.func.hessian(f)(x), torch.func.hessian(compiled)(x))
        assert close(*(torch.func.jvp(g, (x,), (torch.ones(4),))[1] for g in (f, compiled)))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones(4))
            assert close(*(torch.autograd.forward_ad.unpack_dual(g(dual)).tangent for g in (f, compiled)))
        assert close(*(torch.autograd.grad(g(x), x)[0] for g in (f, compiled)))


def test_a_checkpoint():
    def f(x):
        return ((x * 2).sin() + x.exp() * x).tanh()

    compiled = cresset.compile(f)
    for reentrant in (False, True):
        for _ in range(3):
            (x,) = leaves((4,))
            y = torch.utils.checkpoint.checkpoint(compiled, x, use_reentrant=reentrant)
            assert close(*(torch.autograd.grad(g.sum(), x)[0] for g in (f(x), y)) if not reentrant else (x, x))
            x.grad = None
            if reentrant:
                y.sum().backward()
                assert close(x.grad, torch.autograd.grad(f(x).sum(), x)[0])


def test_backward_and_optimizers_inside():
    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        h = model(x)
        loss = ((h - y) ** 2).mean() + h.abs().mean() * 0.1
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled, models = cresset.compile(step), []
    for call in (step, compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        losses = [call(model, optimizer, torch.randn(3 + i % 2, 4), torch.randn(1, 2)) for i in range(8)]
        models.append([*losses, *model.parameters()])
    assert all(map(close, *models))
    assert calls_in_graphs(compiled) > 0


# ---- Grad modes inside


def test_no_grad_inside():
    def f(x, w):
        y = x * w + 1
        with torch.no_grad():
            scale = y.abs().mean() + 1
            with torch.enable_grad():
                z = (x * w).exp()
            flag = torch.is_grad_enabled()
        return (y / scale + z).sin().sum(), scale, z, flag, torch.is_grad_enabled()

    compiled = cresset.compile(f)
    for grad in (True, False, True, True):
        x, w = leaves((4,), (4,))
        with torch.set_grad_enabled(grad):
            expected, seen = f(x, w), compiled(x, w)
        assert same(expected, seen)
        if grad:
            pair = [torch.autograd.grad(r[0], [x, w], retain_graph=True) for r in (expected, seen)]
            assert all(map(close, *pair))
            assert close(torch.autograd.grad(expected[2].sum(), x)[0], torch.autograd.grad(seen[2].sum(), x)[0])
    assert [plan.first_line for plan in cresset.explain(compiled).plans] == [f.__code__.co_firstlineno]
    assert calls_in_graphs(compiled) >= 8


def test_no_grad_that_changes(monkeypatch):
    def f(x):
        with torch.no_grad():
            y = (x.exp() * 2).sin() + x
        return y.requires_grad, y

    compiled = cresset.compile(f)
    (x,) = leaves((3,))
    for _ in range(3):
        assert same(f(x), compiled(x))
    with monkeypatch.context() as patch:
        patch.setattr(torch.no_grad, "__enter__", lambda self: setattr(self, "prev", torch.is_grad_enabled()))
        assert f(x)[0] and compiled(x)[0]
    assert same(f(x), compiled(x))
    with monkeypatch.context() as patch:
        patch.setattr(torch, "no_grad", torch.enable_grad)
        assert f(x)[0] and compiled(x)[0]
    assert same(f(x), compiled(x))


def test_an_error_in_no_grad():
    def f(x, y):
        with torch.no_grad():
            return (x.exp() * 2).sin() @ y

    compiled = cresset.compile(f)
    for bad in (False, False, True, False, True):
        x, y = leaves((2, 3), (2 if bad else 3, 2))
        if bad:
            with pytest.raises(RuntimeError, match="mat1") as error:
                compiled(x, y)
            assert error.traceback[-1].lineno == f.__code__.co_firstlineno + 1
        else:
            assert same(f(x, y), compiled(x, y))
        assert torch.is_grad_enabled()


# ---- Operators in place


def test_in_place_on_what_the_plan_made():
    def f(x, w):
        y = x * w
        y += x
        z = y[1:]
        z.mul_(2).add_(w[1:])
        y[0] = 3.5
        u = torch.exp(x)
        u[..., :2] *= y[:2]
        return F.relu(y.sin(), inplace=True), y.sum(), z, u

    compiled = cresset.compile(f)
    for grad in (False, True, False, True):
        x, w = leaves((4,), (4,), requires_grad=grad)
        if grad:
            with pytest.raises(RuntimeError, match="inplace"):
                torch.autograd.grad(f(x, w)[3].sum(), x)
            with pytest.raises(RuntimeError, match="inplace"):
                torch.autograd.grad(compiled(x, w)[3].sum(), x)
        expected, seen = f(x, w), compiled(x, w)
        assert same(expected, seen)
        seen[1].detach().add_(1)
        if grad:
            pair = [torch.autograd.grad(r[0].sum() + r[1] + r[2].sum(), [x, w]) for r in (f(x, w), compiled(x, w))]
            assert all(map(close, *pair))
    assert len(cresset.explain(compiled).plans) == 1, cresset.explain(compiled)
    assert calls_in_graphs(compiled) >= 6


def test_identity_of_what_was_written():
    def f(x):
        y = x.exp() * 2
        z = y.add_(1)
        v = y.view(-1)
        v.sub_(1)
        y.neg_()
        return y, z, v, y.sin() + z.cos()

    compiled = cresset.compile(f)
    for grad in (False, True) * 3:
        x = torch.randn(2, 3, requires_grad=grad)
        expected, seen = f(x), compiled(x)
        assert same(expected, seen) and (expected[0] is expected[1]) and (seen[0] is seen[1])
        assert seen[2].data_ptr() == seen[0].data_ptr()
    assert calls_in_graphs(compiled) >= 6


@pytest.mark.parametrize("kind", ["argument", "view", "same", "reshaped", "stored"])
def test_in_place_on_what_others_see(kind):
    stored = {}

    def f(x, data):
        if kind == "argument":
            y = x
        elif kind == "view":
            y = x[1:]
        elif kind == "same":
            y = x.contiguous()
        elif kind == "reshaped":
            y = x.reshape(-1)
        else:
            y = data["y"] = x * 2
        z = (y * 2).sin().exp()
        y += 1
        return z + y, y.cos() * z

    compiled = cresset.compile(f)
    for _ in range(4):
        results = []
        for call in (f, compiled):
            x, data = torch.arange(6.0).view(2, 3), {}
            results.append((*call(x, data), x, list(data.values())))
        assert same(*results)
    assert not stored


def test_in_place_on_what_an_author_returns():
    shared = torch.ones(3)

    @cresset.allow_in_graph
    def get():
        return shared

    @cresset.allow_in_graph
    def of(x):
        return x

    def f(x):
        y = get()
        y += 1
        z = of(x)
        z *= 2
        return (y * z).sin().exp() + y

    compiled, found = cresset.compile(f), []
    for call in (f, compiled):
        shared.fill_(1)
        x = torch.ones(3)
        found.append(([call(x) for _ in range(4)], shared.clone(), x))
    assert same(*found)


def test_the_same_tensor_in_other_layouts():
    """`reshape` shares memory for some layouts only."""

    def f(x):
        y = x.exp().T.reshape(-1)
        y += 1
        z = x.T.reshape(-1)
        z *= 2
        return y, z, x.sum()

    compiled = cresset.compile(f)
    for x in (torch.ones(2, 3), torch.ones(3, 2).T, torch.ones(1, 3), torch.ones(2, 3)) * 2:
        a, b = x.clone(), x.clone()
        assert same(f(a), compiled(b)) and same(a, b)


# ---- super


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2

    def forward(self, x):
        return (x * self.k).sin() + 1


class Middle(Base):
    def forward(self, x):
        return super().forward(x.exp()) * x


class Last(Middle):
    def forward(self, x):
        return super().forward(x + 1).tanh() - x


def test_super():
    module = Last()
    compiled = cresset.compile(module)
    for grad in (False, True) * 3:
        (x,) = leaves((4,), requires_grad=grad)
        assert same(module(x), compiled(x))
    assert [plan.graph_calls > 5 for plan in cresset.explain(compiled).plans] == [True]


def test_super_that_changes(monkeypatch):
    class Other(Base):
        def forward(self, x):
            return x.cos() * 3

    def f(module, x):
        return module(x) + 1

    compiled, (x,) = cresset.compile(f), leaves((4,))
    module, other = Last(), Last()
    other.k = 5

    def agree():
        for _ in range(3):
            assert same(f(module, x), compiled(module, x)) and same(f(other, x), compiled(other, x))

    agree()
    with monkeypatch.context() as patch:
        patch.setattr(Base, "forward", lambda self, x: x * self.k)
        agree()
    agree()
    with monkeypatch.context() as patch:
        patch.setattr(Base.forward, "__code__", Other.forward.__code__)
        agree()
    agree()
    try:
        Middle.__bases__ = (Other,)
        agree()
    finally:
        Middle.__bases__ = (Base,)
    agree()


# ---- What is let in


def blend(x, c):
    y = torch.where(c, x.exp() * 2, x.sin())
    return torch.where(y > 0.5, y, 0.25) + y


def padded(x, c):
    return (F.pad(x * 2, (1, 2)).sin() + F.pad(x, (1, 2), value=3.0)).exp()


def looked_up(x, c):
    i = (x > 0).long()
    return (F.embedding(i, x[:2] * 2) + 1).sin() * 2


def parts(x, c):
    a, b = (x * 2).split(2, dim=1)
    d, e = torch.chunk(a.sin() + b, 2)
    return (d * 2).exp() + e


def converted(x, c):
    y = (x * 2).to(torch.float64)
    return (y + c.to(y.dtype) * 2).float().sin() + x.type_as(x)


def detached(x, c):
    y = (x * 2).sin()
    return (y.detach() * y).exp() + y.contiguous()


@pytest.mark.parametrize("f", [blend, padded, looked_up, parts, converted, detached])
def test_let_in(f):
    torch.manual_seed(0)
    compiled = cresset.compile(f)
    for i in range(8):
        x = torch.randn(4, 4, requires_grad=i % 3 == 1)
        c = torch.rand(4, 4) > 0.5
        expected, seen = f(x, c), compiled(x, c)
        assert same(expected, seen)
        if x.requires_grad:
            assert close(torch.autograd.grad(expected.sum(), x)[0], torch.autograd.grad(seen.sum(), x)[0])
    assert calls_in_graphs(compiled) >= 4, cresset.explain(compiled)


def test_parts_of_other_numbers():
    def f(x):
        parts = (x.sin() * 2).split(2)
        return (parts[0] + 1).exp() * 2, len(parts)

    compiled = cresset.compile(f)
    for size in (4, 4, 6, 4, 2, 1, 6):
        x = torch.randn(size)
        assert same(f(x), compiled(x))


def test_training_and_evaluation():
    torch.manual_seed(0)
    make = lambda: nn.Sequential(
        nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Tanh()
    )  # noqa: E731
    modules = [make(), make()]
    modules[1].load_state_dict(modules[0].state_dict())
    compiled = cresset.compile(modules[1])
    for training in (False, True, False, True, False):
        for module in modules:
            module.train(training)
        for _ in range(3):
            x = torch.randn(2, 2, 4, 4)
            found = []
            for call in (modules[0], compiled):
                torch.manual_seed(1)
                y = call(x)
                call.zero_grad()
                y.sum().backward()
                found.append((y.detach(), [p.grad for p in call.parameters()], list(call.buffers())))
            assert same(found[0][0], found[1][0]) and same(found[0][2], found[1][2])
            assert all(map(close, found[0][1], found[1][1]))
    assert any(plan.graph_calls >= 4 for plan in cresset.explain(compiled).plans), cresset.explain(compiled)
