"""Checkpoints in captured functions whose second run does more than compute: batch norms write statistics again, random numbers are
drawn anew, autocast is set within. Compared with eager PyTorch: results, gradients, buffers, random numbers."""

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import cresset


def make():
    torch.manual_seed(0)
    return nn.ModuleList(
        [
            nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU()),
            nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.3), nn.ReLU(), nn.BatchNorm1d(4)),
            nn.Linear(6, 6),
        ]
    )


def trained(net, optimizer, h):
    loss = h.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def normalized(net, optimizer, x):
    h = checkpoint(net[0], x, use_reentrant=False)
    return trained(net, optimizer, checkpoint(net[1], h, use_reentrant=False))


def normalized_twice_by_one(net, optimizer, x):
    return trained(net, optimizer, checkpoint(lambda a: net[0](net[0](a)) * 2, x, use_reentrant=False))


def normalized_and_read(net, optimizer, x):
    h = checkpoint(net[0], x, use_reentrant=False)
    before = net[0][1].running_mean.clone()
    loss = trained(net, optimizer, h)
    return loss, before, net[0][1].running_mean * 2, net[0][1].num_batches_tracked + 1


def drawn_anew(net, optimizer, x):
    def inner(a):
        return F.dropout(net[2](a).tanh(), 0.4) * a

    h = checkpoint(inner, x * net[2].weight.sum(), use_reentrant=False, preserve_rng_state=False)
    return trained(net, optimizer, net[2](h))


def drawn_anew_and_normalized(net, optimizer, x):
    h = checkpoint(net[1], net[2](x), use_reentrant=False, preserve_rng_state=False)
    return trained(net, optimizer, F.dropout(h, 0.2))


def in_autocast_within(net, optimizer, x):
    def inner(a):
        with torch.autocast("cpu", torch.bfloat16):
            y = net[2](net[2](a).relu())
        return y.float()

    return trained(net, optimizer, checkpoint(inner, x, use_reentrant=False) * 2)


def normalized_in_autocast(net, optimizer, x):
    with torch.autocast("cpu", torch.bfloat16):
        h = checkpoint(net[1], x, use_reentrant=False)
    return trained(net, optimizer, h.float())


def gone_back_twice(net, optimizer, x):
    loss = checkpoint(net[1], x, use_reentrant=False).square().mean()
    loss.backward(retain_graph=True)
    loss.backward()
    return loss.detach()


def in_segments(net, optimizer, x):
    return trained(net, optimizer, checkpoint_sequential([*net[0], *net[1]], 3, x, use_reentrant=False))


def in_autocast_for_a_part(net, optimizer, x):
    def inner(a):
        with torch.autocast("cpu", torch.bfloat16):
            y = net[2](a)
        return net[2](y.float())

    return trained(net, optimizer, checkpoint(inner, x, use_reentrant=False) * 2)


def noise_that_stops_early(net, optimizer, x):
    """The tape keeps nothing of the noise, so PyTorch's second run stops before it."""
    h = checkpoint(lambda a: net[2](a).tanh() + torch.rand(6), x, use_reentrant=False, preserve_rng_state=False)
    return trained(net, optimizer, net[2](h))


def in_contexts(net, optimizer, x):
    def contexts():
        return contextlib.nullcontext(), contextlib.nullcontext()

    h = checkpoint(net[2], x, use_reentrant=False, context_fn=contexts)
    return trained(net, optimizer, net[2](h))


WHOLE = [
    normalized, normalized_twice_by_one, normalized_and_read, drawn_anew, drawn_anew_and_normalized, in_autocast_within,
    normalized_in_autocast, gone_back_twice, in_segments,
]  # fmt: skip
BETWEEN = [in_autocast_for_a_part, noise_that_stops_early, in_contexts]


@pytest.mark.parametrize("f", [*WHOLE, *BETWEEN], ids=lambda f: f.__name__)
def test_as_eager(f):
    cresset.reset()
    pairs = [make(), make()]
    pairs = [(net, torch.optim.SGD(net.parameters(), lr=0.1)) for net in pairs]
    compiled = cresset.compile(f)
    for i in range(14):
        found = []
        for function, (net, optimizer) in zip((f, compiled), pairs, strict=True):
            if i == 9:
                net[1][0].requires_grad_(False)
            if i == 12:
                net.eval()
            torch.manual_seed(i)
            x = torch.randn(3 + i % 2, 4, 6)
            found.append((function(net, optimizer, x), torch.rand(2)))
        torch.testing.assert_close(found[1], found[0])
        torch.testing.assert_close(pairs[1][0].state_dict(), pairs[0][0].state_dict())
        for p, q in zip(*(net.parameters() for net, _ in pairs), strict=True):
            assert (p.grad is None) == (q.grad is None)
        if i == 8 and f in WHOLE:
            assert sum(plan.applied > 3 for plan in cresset.explain(compiled).plans) == 1, cresset.explain(compiled)


def test_other_tensors_require_gradients():
    """The second run of what draws numbers is known for the tensors that required gradients: with others Python runs."""
    cresset.reset()

    def f(w, x):
        return checkpoint(lambda a: F.dropout(a @ w, 0.5).tanh(), x, use_reentrant=False, preserve_rng_state=False) * 2

    compiled = cresset.compile(f)
    for i in range(12):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            w, x = torch.ones(3, 3, requires_grad=i % 4 != 3), torch.ones(2, 3, requires_grad=i % 2 == 1)
            y = function(w, x)
            if y.requires_grad:
                y.sum().backward()
            found.append((y.detach(), w.grad, x.grad, torch.rand(2)))
        torch.testing.assert_close(found[1], found[0])
