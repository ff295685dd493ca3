"""Captured functions with backward hooks: of modules, and of tensors. The engine runs them, as in eager PyTorch."""

import functools

import pytest
import torch
from torch import nn

import cresset

LOG = []


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.shape == b.shape and torch.allclose(a, b, rtol=1e-5, atol=1e-6)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


class Two(nn.Module):
    """A module of several arguments that returns a tuple."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, *rest, scale=1):
        return self.linear(x) * scale, x + rest[0], 3


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    object.__setattr__(net, "two", Two())
    return net


def copies(values):
    return [None if value is None else value.clone() for value in values]


def note(name):
    return lambda module, inputs, outputs: LOG.append((name, *copies(inputs), *copies(outputs)))


def of_modules(net, x):
    y = net(x * 2)
    return (y.sin() + 1).square().mean()


def of_several(net, x):
    h = net[0](x)
    a, b, n = net.two(h, h * 2, scale=2)
    return (a.tanh() * b * n).mean() + net[2](h).sum()


def hook_modules(net):
    net[0].register_full_backward_hook(note("first"))
    net[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))
    net[3].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))
    net.register_full_backward_hook(note("net"))
    net.two.register_full_backward_hook(note("two"))
    net.two.register_full_backward_hook(lambda module, inputs, outputs: tuple(each * 2 for each in inputs))
    net[2].register_forward_hook(lambda module, inputs, output: output * 2)
    net[2].register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))


def doubled(gradient):
    return gradient * 2


class Kept:
    def take(self, gradient):
        LOG.append(("kept", gradient.clone()))


KEPT = Kept()


def attach(tensor, name, log):
    times = len(name)
    tensor.register_hook(lambda gradient, more=1: log.append((name, gradient * times * more)))
    return tensor * times


def of_tensors(net, x):
    h = net[1](net[0](x))
    before = h * 2
    h.register_hook(lambda gradient: LOG.append(("h", gradient.clone())) or gradient * 2)
    h.register_hook(doubled)
    scale = x.detach().sum()
    y = net[4](net[3](net[2](h)))
    y.register_hook(lambda gradient: gradient * scale)
    y.register_hook(KEPT.take)
    scale = scale + 1
    z = attach(y.sin() * 2, "name", LOG)
    return (z.square() + before.sum()).mean()


def of_leaves(net, x):
    handle = net[0].weight.register_hook(doubled)
    after = net[2].weight.register_post_accumulate_grad_hook(lambda p: LOG.append(("after", p.grad.clone())))
    h = net(x * 2).tanh()
    handles = handle, after, h.register_hook(doubled)
    return (h.sin() + 1).square().mean(), handles


def run(function, setup, requires, calls=8, prepare=None):
    net, found = network(), []
    if setup is not None:
        setup(net)
    for i in range(calls):
        LOG.clear()
        if prepare is not None:
            prepare(net, i)
        x = (torch.arange(12.0).reshape(3, 4) / 10 + i).requires_grad_(requires)
        net.zero_grad()
        net.two.zero_grad()
        result, handles = function(net, x), ()
        if isinstance(result, tuple):
            result, handles = result
        result.backward()
        for handle in handles:
            handle.remove()
        parameters = [*net.parameters(), *net.two.parameters()]
        found.append(
            [result.detach(), [None if p.grad is None else p.grad.clone() for p in parameters], x.grad, [*LOG]]
        )
        if i > 4 and not handles and function_has_no_hooks(function):
            with torch.no_grad():
                found.append(function(net, x))
    return found


def function_has_no_hooks(function):
    return getattr(function, "__wrapped__", function) in (of_modules, of_several)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize(
    "function, setup",
    [(of_modules, hook_modules), (of_several, hook_modules), (of_tensors, None), (of_leaves, None)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_plan(function, setup, requires):
    cresset.reset()
    compiled = cresset.compile(function)
    expected, found = run(function, setup, requires), run(compiled, setup, requires)
    assert all(map(same, expected, found))
    report = cresset.explain(compiled)
    assert [plan.applied >= 6 for plan in report.plans] == [True] and not report.python, report


@pytest.mark.filterwarnings("ignore:Full backward hook is firing", "ignore:Using a non-full", "ignore:Using non-full")
def test_hooks_that_come_and_go():
    def prepare(net, i):
        if i == 9:
            net.old.remove()
            net[2]._is_full_backward_hook = None
        if i % 3 == 0:
            net.handle = net[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * (i + 1),))
        elif i % 3 == 2:
            net.handle.remove()
        if i == 8:
            net[2]._is_full_backward_hook = None
            net.old = net[2].register_backward_hook(lambda module, inputs, outputs: LOG.append(len(inputs)))
        if i == 10:
            net[0].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 2,))

    compiled = cresset.compile(of_modules)
    expected = run(of_modules, None, True, 16, prepare)
    found = run(compiled, None, True, 16, prepare)
    assert all(map(same, expected, found))
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) >= 8


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_passes_along_hooks_run_as_python():
    """A backward pass that hooks see is no part of the plan; what is before it is."""

    def of_hooked_modules(net, x):
        y = net(x * 2)
        loss = (y.sin() + 1).square().mean()
        loss.backward()
        return loss.detach() * 2

    def of_hooked_tensors(net, x):
        h = net[1](net[0](x))
        h.register_hook(lambda gradient: gradient * 2)
        loss = net[2](h).square().mean()
        slope = torch.autograd.grad(loss, net[0].weight, create_graph=True)[0]
        (loss + slope.square().sum()).backward()
        return loss.detach() * 2

    for function, setup in ((of_hooked_modules, hook_modules), (of_hooked_tensors, None)):
        compiled, results = cresset.compile(function), []
        for each in (function, compiled):
            net, found = network(), []
            if setup is not None:
                setup(net)
            for i in range(8):
                LOG.clear()
                net.zero_grad()
                found.append(each(net, torch.arange(12.0).reshape(3, 4) + i))
                found.append([None if p.grad is None else p.grad.clone() for p in net.parameters()])
                found.append([*LOG])
            results.append(found)
        assert same(*results)
        report = cresset.explain(compiled)
        assert report.plans[0].applied >= 6 and len(report.python) >= 1, report
        assert any("backward" in reason or "grad" in reason for _, reason in report.python), report


def test_a_plan_that_is_given_up_leaves_no_hooks():
    def function(net, x, limit):
        net[0].weight.register_hook(doubled)
        h = net[1](net[0](x)) * 2
        h.register_hook(doubled)
        if h.sum() > limit:
            h = h + 1
        return net[2](h).square().mean()

    compiled = cresset.compile(function)
    for i in range(24):
        limit = (-1e6, 1e6)[i % 5 == 3]
        results = []
        for each in (function, compiled):
            net = network()
            x = torch.arange(12.0).reshape(3, 4) + i
            loss = each(net, x, limit)
            loss.backward()
            results.append([loss.detach(), net[0].weight.grad, net[2].weight.grad, len(net[0].weight._backward_hooks)])
        assert same(*results)
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) >= 6


def test_second_derivatives_along_hooks():
    def function(net, x):
        h = net[1](net[0](x)).tanh() * 2
        h.register_hook(lambda gradient: gradient * h.detach().cos())
        return net[2](h).square().mean()

    compiled, results = cresset.compile(function), []
    for each in (function, compiled):
        net, found = network(), []
        for i in range(6):
            x = (torch.arange(12.0).reshape(3, 4) + i).requires_grad_()
            (slope,) = torch.autograd.grad(each(net, x), x, create_graph=True)
            found += [slope.detach(), torch.autograd.grad(slope.square().sum(), [net[0].weight, net[2].weight])]
        results.append(found)
    assert same(*results)
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) == 5


def test_what_raises_and_what_is_refused():
    def of_no_tape(net, x):
        y = torch.tanh(x) * 2
        y.register_hook(doubled)
        return y + 1

    def of_partial(net, x):
        y = net[0](x).tanh() * 2
        y.register_hook(functools.partial(torch.mul, other=2))
        return (y + 1).sum()

    def written_after(net, x):
        y = net[0](x).tanh() * 2
        y.register_hook(doubled)
        y.mul_(3)
        y.register_hook(doubled)
        return (y + 1).square().sum()

    for function in (of_no_tape, of_partial, written_after):
        compiled, results = cresset.compile(function), []
        for each in (function, compiled):
            net, found = network(), []
            for i in range(5):
                net.zero_grad()
                try:
                    each(net, torch.arange(12.0).reshape(3, 4) + i).backward()
                    found.append(net[0].weight.grad.clone())
                except RuntimeError as error:
                    found.append(str(error))
            results.append(found)
        assert same(*results)
