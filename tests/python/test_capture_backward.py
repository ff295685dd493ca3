"""Captured: `backward()` with arguments, torch.autograd.backward, and leaves that the function itself makes."""

import copy

import pytest
import torch
from torch import nn

import cresset


def given_inputs(net, x):
    net.zero_grad()
    loss = net(x).square().mean()
    loss.backward(inputs=[net[0].weight, net[2].bias])
    return loss


def given_parameters(net, x):
    net.zero_grad()
    net(x).square().mean().backward(inputs=list(net[2].parameters()))


def of_several(net, x):
    net.zero_grad()
    y = net(x)
    torch.autograd.backward([y.sum(), (y * y).mean()])
    return y


def of_several_with_weights(net, x):
    net.zero_grad(set_to_none=False)
    y = net(x)
    torch.autograd.backward((y, y * y), grad_tensors=[torch.ones_like(y), y.detach()])
    return y


def of_one(net, x):
    net.zero_grad()
    y = net(x).sum()
    torch.autograd.backward(y)
    return y


def in_two_passes(net, x):
    net.zero_grad()
    y = net(x).sum()
    y.backward(retain_graph=True, inputs=[net[0].weight])
    y.backward(inputs=[net[2].weight])
    return y


def to_a_leaf_made(net, x):
    x = x.clone().requires_grad_()
    net.zero_grad()
    net(x).sum().backward()
    return x, x.grad * 2


def adding_to_a_leaf_made(net, x):
    x = x.detach().clone()
    x.requires_grad = True
    net(x).sum().backward()
    first = x.grad.clone()
    net(x).square().sum().backward()
    return x.grad, first, x


def stepping_a_leaf_made(net, x):
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        net(x + delta).square().sum().backward()
        with torch.no_grad():
            delta += 0.1 * delta.grad.sign()
            delta.grad.zero_()
    net.zero_grad()
    return (x + delta).detach(), delta


def reading_the_gradient_of_a_leaf_made(net, x):
    delta = torch.zeros_like(x).requires_grad_()
    before = delta.grad
    net(x + delta).square().sum().backward(inputs=[delta])
    found, delta.grad = delta.grad, None
    return delta, found, before, delta.grad


def two_optimizers(net, x):
    first = torch.optim.SGD(net[0].parameters(), lr=0.1)
    second = torch.optim.SGD(net[2].parameters(), lr=0.1)
    for optimizer in (first, second):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
    return loss


CAPTURED = [
    given_inputs, given_parameters, of_several, of_several_with_weights, of_one, in_two_passes, to_a_leaf_made, adding_to_a_leaf_made,
    stepping_a_leaf_made, reading_the_gradient_of_a_leaf_made,
]  # fmt: skip


def creating_a_tape(net, x):
    net.zero_grad()
    net(x).square().sum().backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in net.parameters())
    net.zero_grad()
    penalty.backward()
    return penalty


def to_what_is_no_leaf(net, x):
    h = net[0](x)
    h.retain_grad()
    net[1:](h).sum().backward()
    return h.grad


def check(ours, theirs, where):
    assert (ours is None) == (theirs is None), where
    if theirs is not None:
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5), where
        assert (ours.requires_grad, ours.is_leaf) == (theirs.requires_grad, theirs.is_leaf), where
        if theirs.is_leaf:
            check(ours.grad, theirs.grad, where)


@pytest.mark.parametrize(
    "f", [*CAPTURED, two_optimizers, creating_a_tape, to_what_is_no_leaf], ids=lambda f: f.__name__
)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_same_as_eager(f):
    torch.manual_seed(0)
    cresset.reset()
    theirs = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    ours = copy.deepcopy(theirs)
    compiled = cresset.compile(f)
    for i in range(7):
        x = torch.randn(3 + i % 2, 4)
        expected, found = f(theirs, x.clone()), compiled(ours, x.clone())
        pairs = zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True)
        for a, b in (*pairs, *zip(ours.parameters(), theirs.parameters(), strict=True)):
            check(a, b, i)
    found = cresset.explain(compiled)
    if f in CAPTURED:
        assert not found.python and not any(plan.raised for plan in found.plans), found


def with_no_inputs(net, x):
    net(x).sum().backward(inputs=[])


def of_no_scalar(net, x):
    torch.autograd.backward([net(x)])


def twice(net, x):
    y = net(x).tanh().sum()
    torch.autograd.backward(y)
    y.backward()


@pytest.mark.parametrize("f", [with_no_inputs, of_no_scalar, twice], ids=lambda f: f.__name__)
def test_exceptions(f):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    compiled = cresset.compile(f)
    for _ in range(4):
        with pytest.raises(RuntimeError) as expected:
            f(net, torch.randn(3, 4))
        with pytest.raises(RuntimeError) as found:
            compiled(net, torch.randn(3, 4))
        assert str(found.value) == str(expected.value)
