"""Kinds of checkpoints in captured functions: reentrant ones, one in another, `checkpoint_sequential`, parts of modules that are
called. Compared with eager PyTorch: results, gradients, random numbers, what goes wrong."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import cresset


class Block(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.first, self.second, self.drop = nn.Linear(6, 6), nn.Linear(6, 6), nn.Dropout(drop)

    def forward(self, x):
        return x + self.drop(self.second(torch.relu(self.first(x))))


def make(drop):
    torch.manual_seed(0)
    model = nn.Sequential(*[Block(drop) for _ in range(4)])
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def trained(model, optimizer, h):
    loss = h.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach(), [p.grad is None for p in model.parameters()]


def reentrant(model, optimizer, x):
    h = model[0](x)
    for block in model[1:]:
        h = checkpoint(block, h, use_reentrant=True)
    return trained(model, optimizer, h)


def of_parameters_only(model, optimizer, x):
    h = checkpoint(model[0], x, use_reentrant=True)  # no gradient for its parameters
    return trained(model, optimizer, model[1](h))


def of_a_dummy(model, optimizer, x):
    dummy = torch.zeros(1, requires_grad=True)
    h = checkpoint(lambda a, b: model(a), x, dummy, use_reentrant=True)
    return trained(model, optimizer, h)


def in_segments(model, optimizer, x):
    return trained(model, optimizer, checkpoint_sequential(model, 2, x, use_reentrant=False))


def part_in_segments(model, optimizer, x):
    return trained(model, optimizer, checkpoint_sequential(model[1:], 2, model[0](x), use_reentrant=True))


def nested(model, optimizer, x):
    def inner(h):
        return checkpoint(model[1], model[0](h), use_reentrant=False)

    def outer(h):
        return model[3](checkpoint(model[2], inner(h), use_reentrant=False))

    return trained(model, optimizer, checkpoint(outer, x, use_reentrant=False))


def parts(model, optimizer, x):
    first, h = model[:2], x
    return trained(model, optimizer, model[2:](first(h)))


def without_state(model, optimizer, x):
    h = checkpoint(model[1], model[0](x), use_reentrant=True, preserve_rng_state=False)
    return trained(model, optimizer, h)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("drop", [0.0, 0.4])
@pytest.mark.parametrize(
    ("f", "plans"),
    [
        (reentrant, 1),
        (of_parameters_only, 1),
        (of_a_dummy, 1),
        (in_segments, 1),
        (part_in_segments, 1),
        (nested, 1),
        (parts, 1),
        (without_state, 1),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_as_eager(f, plans, drop):
    plain, captured = make(drop), make(drop)
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(10):
        results = []
        for function, objects in ((f, plain), (compiled, captured)):
            torch.manual_seed(i)
            results.append((*function(*objects, torch.randn(3, 6)), torch.rand(2)))
        torch.testing.assert_close(results[1], results[0])
        for p, q in zip(plain[0].parameters(), captured[0].parameters(), strict=True):
            torch.testing.assert_close(q, p)
            assert (p.grad is None) == (q.grad is None)
    report = cresset.explain(compiled)
    if f is not without_state or not drop:
        assert sum(plan.applied > 4 for plan in report.plans) == plans, report


def test_a_reentrant_one_refuses_grad():
    def f(model, x):
        h = checkpoint(model[0], x, use_reentrant=True)
        return torch.tanh(h) * 2 + 1

    model, _ = make(0.0)
    compiled = cresset.compile(f)
    for _ in range(6):
        x = torch.randn(3, 6, requires_grad=True)
        result = compiled(model, x)
        assert torch.equal(result, f(model, x))
        with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
            torch.autograd.grad(result.sum(), x)
        compiled(model, x).sum().backward()
        gradient, x.grad = x.grad, None
        f(model, x).sum().backward()
        torch.testing.assert_close(x.grad, gradient)
    assert any(plan.applied > 4 for plan in cresset.explain(compiled).plans)


def test_a_reentrant_one_takes_no_keywords():
    def f(model, x):
        return checkpoint(lambda a, scale=1: model[0](a) * scale, x, scale=2, use_reentrant=True)

    compiled = cresset.compile(f)
    for _ in range(4):
        with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
            compiled(make(0.0)[0], torch.randn(3, 6))


def test_a_reentrant_one_asks_for_gradients_again():
    """Its function runs twice: first without gradients, and asks."""
    modes = []

    def f(model, x):
        def run(a):
            modes.append(torch.is_grad_enabled())
            return model[0](a) * (2 if torch.is_grad_enabled() else 1)

        return checkpoint(run, x, use_reentrant=True)

    model, _ = make(0.0)
    compiled = cresset.compile(f)
    for _ in range(5):
        modes.clear()
        x = torch.randn(3, 6, requires_grad=True)
        compiled(model, x).sum().backward()
        assert modes == [False, True]


def test_a_part_that_is_another_one_later():
    def f(model, x, n):
        part = model[:n]
        return part(x).sum() + len(part)

    model, _ = make(0.0)
    compiled = cresset.compile(f)
    for n in (2, 2, 2, 2, 2, 3, 3, 3, 1, 2):
        x = torch.randn(3, 6)
        assert torch.equal(compiled(model, x, n), f(model, x, n))
    model[0].register_forward_hook(lambda m, i, o: o * 2)
    for n in (2, 2, 2, 3):
        assert torch.equal(compiled(model, x, n), f(model, x, n))
