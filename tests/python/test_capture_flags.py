"""Captured functions that set `requires_grad` and `.data` of what is there, call `map`, keep modes in variables, and draw Python's own
random numbers. Compared with plain Python: results, gradients, flags, memory, random numbers."""

import random

import pytest
import torch
from torch import nn

import cresset


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def mapped(net, x, i):
    ys = list(map(torch.relu, [x, x * 2, x - 1]))
    zs = tuple(map(lambda a, b: (a * b).sum(), ys, [1.0, 2.0, 3.0, 4.0]))
    a, b = map(net, (x, x + 1))
    total = sum(map(lambda v: v.mean(), ys))
    for q in map(net, ys):
        total = total + q.sum()
    count = max(map(len, [[1], [2, 3]]))
    stacked = torch.stack(list(map(lambda v: v * count, ys)))
    for place, q in enumerate(map(lambda v: v.sin(), ys)):
        total = total + q.sum() * place
    return total + a.sum() * b.sum() + sum(zs), stacked, list(map(int, (1.5, 2.5))), torch.cat(list(map(torch.cos, ys)))


def frozen_for_a_pass(net, x, i):
    for p in net[0].parameters():
        p.requires_grad = False
    net.zero_grad()
    net(x).square().mean().backward()
    for p in net[0].parameters():
        p.requires_grad = True
    return [p.grad is None for p in net.parameters()]


def frozen_and_not(net, x, i):
    net.requires_grad_(False)
    y = net(x)
    flag = net[0].weight.requires_grad
    net.requires_grad_(True)
    z = net(x).mean()
    net.zero_grad()
    z.backward()
    return y * 2, y.requires_grad, flag


def attacked(net, x, i):
    x.requires_grad_()
    loss = net(x).square().mean()
    (gradient,) = torch.autograd.grad(loss, x)
    return x.detach() + 0.1 * gradient.sign(), x.requires_grad


def attacked_by_a_pass(net, x, i):
    x.requires_grad = True
    loss = net(x).square().mean()
    net.zero_grad()
    loss.backward()
    return x.detach() + 0.1 * x.grad.sign()


def flags_of_one_under_two_names(net, x, i):
    a, b = net[0].weight, (net[0] if i % 5 == 4 else net[2]).weight
    a.requires_grad_(False)
    y = (b * 2).sum().tanh() * 3
    flags = y.requires_grad, b.requires_grad
    a.requires_grad_(True)
    return y.detach(), flags


def steps_by_data(net, x, i):
    net.zero_grad()
    net(x).square().mean().backward()
    for p in net.parameters():
        p.data = p.data - 0.1 * p.grad
    return x * 2


def averages_for_a_while(net, x, i):
    other = [p.detach().clone() for p in net.parameters()]
    before = [p.data for p in net.parameters()]
    for p, q in zip(net.parameters(), other):
        p.data = q * 0.5
    y = net(x).detach()
    for p, q in zip(net.parameters(), before):
        p.data = q
    return y, net(x).detach()


def data_of_one_under_two_names(net, x, i):
    a, b = net[0].weight, (net[0] if i % 4 == 3 else net[2]).weight
    a.data = a.data * 2 + 1
    return (b * 1).sum().detach(), b.data * 2


def data_of_other_sizes(net, x, i):
    held = net[2].bias
    view = held.detach().view(-1)
    held.data = torch.cat([held.data, held.data * 2])[: 1 + i % 2]
    result = held.shape, view * 2
    held.data = torch.ones(2)
    return result


def with_numbers_of_pythons_own(net, x, i):
    scale = random.random()
    y = net(x) * scale
    return y.tanh() * random.random() + 1


def by_numbers_of_pythons_own(net, x, i):
    y = net(x).tanh()
    if random.random() < 0.5:
        y = y * 2
    return y.sin() * 3 + 1


def with_modes_in_variables(net, x, i):
    mode = torch.inference_mode(True)
    with mode:
        z = net(x).tanh() * 2
    other = torch.no_grad()
    with other:
        z = z + net(x)
    return z + 1


WHOLE = [
    mapped, frozen_for_a_pass, frozen_and_not, attacked, attacked_by_a_pass, steps_by_data, with_numbers_of_pythons_own, with_modes_in_variables,
]  # fmt: skip
IN_PARTS = [
    averages_for_a_while, data_of_one_under_two_names, data_of_other_sizes, by_numbers_of_pythons_own, flags_of_one_under_two_names,
]  # fmt: skip


@pytest.mark.parametrize("f", [*WHOLE, *IN_PARTS], ids=lambda f: f.__name__)
def test_as_plain(f):
    cresset.reset()
    theirs, ours = make(), make()
    compiled = cresset.compile(f)
    for i in range(14):
        found = []
        for function, net in ((f, theirs), (compiled, ours)):
            torch.manual_seed(i)
            random.seed(i)
            x = torch.randn(3 + i % 2, 4)
            found.append((function(net, x, i), torch.rand(2), random.random(), x.requires_grad))
        torch.testing.assert_close(found[1], found[0])
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(p, q)
            assert (p.grad is None) == (q.grad is None) and p.requires_grad == q.requires_grad and p.is_leaf
            assert p.grad is None or torch.allclose(p.grad, q.grad, rtol=1e-4, atol=1e-6)
    report = cresset.explain(compiled)
    assert not any("internal error" in reason for _, reason in report.python), report
    if f in WHOLE:
        assert sum(plan.applied > 6 for plan in report.plans) == 1 and not any(runs.count for runs in report.runs), (
            report
        )
    else:
        assert any(plan.applied > 3 for plan in report.plans), report


def test_what_a_plan_sets_is_put_back():
    """A check after it does not hold: the Python sets it, once."""
    cresset.reset()

    def f(net, x):
        net[0].weight.requires_grad = False
        scale = random.random()
        y = (net(x) * scale).sum()
        if y > 1000:
            raise ValueError(net[0].weight.requires_grad)
        net[0].weight.requires_grad = True
        return y.detach()

    nets, compiled = [make(), make()], cresset.compile(f)
    for i in range(12):
        found = []
        for function, net in zip((f, compiled), nets, strict=True):
            random.seed(i)
            x = torch.full((2, 4), 1e6 if i in (6, 9) else 1.0)
            try:
                with torch.no_grad():
                    net[2].bias.fill_(1e4 if i in (6, 9) else 0.0)
                found.append(function(net, x).item())
            except ValueError as error:
                found.append(str(error))
            found.append((net[0].weight.requires_grad, random.random()))
            net[0].weight.requires_grad = True
        assert found[:2] == found[2:]


def test_tensors_that_are_no_leaves():
    """Of these `requires_grad` may not be set."""
    cresset.reset()

    def f(x):
        x.requires_grad_(False)
        return (x * 2).tanh() + 1

    compiled = cresset.compile(f)
    for i in range(8):
        x = torch.ones(3, requires_grad=True)
        y = x * 2 if i % 3 == 2 else x
        if i % 3 == 2:
            with pytest.raises(RuntimeError, match="leaf"):
                compiled(y)
        else:
            assert torch.equal(compiled(y), torch.tanh(torch.full((3,), 2.0)) + 1) and not x.requires_grad
