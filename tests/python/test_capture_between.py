"""Captured functions with what no plan has: it runs as Python between the plans, with eager PyTorch's results, gradients and effects."""

import copy

import pytest
import torch
from torch import nn
from torch.masked import masked_tensor
from torch.nn.modules import module as modules

import cresset


def by_a_part_of_a_container(net, x, log):
    return net[:3](x).tanh() * 2 + net[1:](net[0](x)).sum()


def by_masked_reductions(net, x, log):
    y = net(x)
    mask = y > 0
    return torch.masked.sum(y, 1, mask=mask) + torch.masked.mean(y * 2, 1, mask=mask)


def by_a_masked_tensor(net, x, log):
    y = net(x).detach()
    return masked_tensor(y, y > 0).sum().get_data() + x.sum()


def by_a_mode_as_a_statement(net, x, log):
    y = net(x).detach() * 2
    mode = torch.inference_mode(True)
    with mode:
        z = (net(x) + y).tanh()
    return z + 1, z.is_inference()


def with_backward_hooks(net, x, log):
    handle = net[0].register_full_backward_hook(lambda module, inputs, outputs: log.append(outputs[0].sum().item()))
    net(x).square().mean().backward()
    handle.remove()
    return x.sum() * 2


def with_backward_hooks_that_change(net, x, log):
    handle = net[2].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 2,))
    net(x).square().mean().backward()
    handle.remove()


def with_hooks_of_tensors(net, x, log):
    h = net[0](x)
    h.register_hook(lambda g: log.append(g.abs().sum().item()))
    net[2](net[1](h)).square().mean().backward()
    return h.detach() * 2


def with_global_hooks(net, x, log):
    before = modules.register_module_forward_pre_hook(lambda module, inputs: log.append(type(module).__name__))
    after = modules.register_module_forward_hook(lambda module, inputs, output: output * 2)
    back = modules.register_module_full_backward_hook(lambda module, inputs, outputs: log.append(len(outputs)))
    try:
        y = net(x).tanh()
        y.sum().backward()
    finally:
        for handle in (before, after, back):
            handle.remove()
    return y.detach() + 1


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.square() * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0] * ctx.scale, None


def with_a_function_of_its_own(net, x, log):
    y = Scaled.apply(net(x), 3.0) * 2
    y.mean().backward()
    return y.detach()


def with_data_that_is_set(net, x, log):
    for p in net.parameters():
        p.data = p.data * 0.5
    return net(x).detach() * 2


def with_states_that_are_loaded(net, x, log):
    state = {name: value + 1 for name, value in net.state_dict().items()}
    net.load_state_dict(state)
    return net(x).detach() * 2


PROGRAMS = [
    by_a_part_of_a_container, by_masked_reductions, by_a_masked_tensor, by_a_mode_as_a_statement, with_backward_hooks,
    with_backward_hooks_that_change, with_hooks_of_tensors, with_global_hooks, with_a_function_of_its_own, with_data_that_is_set,
    with_states_that_are_loaded,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
def test_same_as_eager(f):
    cresset.reset()
    torch.manual_seed(0)
    theirs = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    ours, compiled = copy.deepcopy(theirs), cresset.compile(f)
    for i in range(8):
        x, logs = torch.randn(3 + i % 2, 4), ([], [])
        expected, found = f(theirs, x, logs[0]), compiled(ours, x, logs[1])
        assert len(logs[0]) == len(logs[1])
        for a, b in zip(*logs, strict=True):
            assert a == b or abs(a - b) < 1e-5
        for net in (theirs, ours):
            assert not any(m._backward_hooks or m._backward_pre_hooks for m in net.modules())
        pairs = zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True)
        gradients = [(p.grad, q.grad) for p, q in zip(ours.parameters(), theirs.parameters(), strict=True)]
        for a, b in (*pairs, *gradients, *zip(ours.parameters(), theirs.parameters(), strict=True)):
            assert type(a) is type(b)
            if isinstance(b, torch.Tensor):
                assert torch.allclose(a, b, rtol=1e-4, atol=1e-5) and a.requires_grad == b.requires_grad, i
            else:
                assert a == b


def test_part_of_a_container_whose_modules_change():
    """A function that takes iterators apart by name: what is left of them is the same."""

    def f(net, x):
        pairs = zip(net.children(), range(10))
        first, _ = next(iter(pairs)), None
        rest = [module for module, _ in pairs]
        names = reversed(range(len(rest)))
        total = first[0](x).sum()
        for place, module in zip(names, rest):
            total = total + place * sum(p.sum() for p in module.parameters())
        return total, list(names), len(rest)

    net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(3, 4)
    compiled = cresset.compile(f)
    for i in range(6):
        if i == 3:
            net.append(nn.Linear(2, 2))
        (total, *rest), (found, *more) = f(net, x), compiled(net, x)
        assert torch.allclose(total, found) and rest == more
