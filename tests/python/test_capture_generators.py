"""Generators that a captured function runs: any, all, sum, tuple, loops, unpacking."""

import pytest
import torch
from test_capture_graphs import agree, calls_in_graphs, same
from torch import nn

import cresset

X, Y = torch.randn(3, 4), torch.randn(2, 2)


def doubled(x, count):
    for i in range(count):
        x = x * 2
        yield x + i


def sums(x):
    return sum(torch.relu(x * i) + 1 for i in range(3)).tanh() + sum([1, 2.5], 3) + sum(a for a in (x, 2))


def stacked(x):
    return torch.stack(tuple(torch.relu(row) + 1 for row in x.unbind(0))).tanh() + len(list(doubled(x, 3)))


def asks(x, flags):
    if any(flag > 1 for flag in flags) and all(isinstance(flag, int) for flag in flags):
        return torch.relu(x).tanh() + 1
    return torch.sigmoid(x).tanh() * 2


def loops(x):
    total = x
    for part in doubled(x, 3):
        total = torch.relu(total - part)
    for part in (a.tanh() for a in [x, total]):
        total = total + part
        if part is x:
            break
    return total * 2


def unpacks(x):
    a, b = (x * k for k in (2, 3))
    first, *rest = list(doubled(a, 3))
    return torch.cat([first, *rest, *(y + 1 for y in (a, b))]).tanh()


def nested(x):
    return sum(sum(a * b for a in (x, 2)) for b in doubled(x, 2)).tanh() + max(n for n in (1, 5, 3))


def closes_over(x, k):
    shift = x.shape[0] + k
    return sum(torch.relu(x) * i + shift for i in range(3)).tanh()


@pytest.mark.parametrize("f", [sums, stacked, loops, unpacks, nested])
def test_programs(f):
    compiled = agree(f, (X,), (X.T.contiguous()[:3, :2],), (X.double(),))
    assert len([plan for plan in cresset.explain(compiled).plans if plan.applied]) == 1
    assert f is loops or calls_in_graphs(compiled) >= 4  # `is` of what a graph computes can't be in one


def test_identities():
    def f(x, given):
        rows = tuple(torch.relu(x) + i for i in range(3))
        more = list(rows)
        same_rows = tuple(rows) is rows, tuple(more) is rows, tuple(given) is given, list(more) is more
        return rows[0].tanh() + rows[1], same_rows

    agree(f, (X, (1, 2)), (Y, (X, Y)))


def test_conditions():
    compiled = agree(asks, (X, [1, 2, 3]), (X, [1, 1]), (X, [2, 0.5]), (X, [3]), (X, []))
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) > 10


def test_variables_of_the_function():
    agree(closes_over, (X, 2), (Y, 2), (X, 0.5))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.scales = [1.0, 0.5, 0.25]

    def forward(self, x):
        return sum(torch.relu(expert(x)) * scale for expert, scale in zip(self.experts, self.scales))


def test_modules():
    torch.manual_seed(0)
    module = Experts()
    compiled = cresset.compile(module)
    for rows in (3, 3, 5, 2):
        x, y = (torch.full((rows, 4), 0.5, requires_grad=True) for _ in range(2))
        a, b = module(x), compiled(y)
        assert same(a.detach(), b.detach())
        a.sum().backward()
        b.sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    assert [plan.graph_calls > 8 for plan in cresset.explain(compiled).plans] == [True]
    module.experts.append(nn.Linear(4, 4))
    module.scales.append(2.0)
    x = torch.randn(3, 4)
    assert all(same(module(x), compiled(x)) for _ in range(4))


def ends_with(x, log):
    try:
        yield torch.relu(x)
        yield x * 2
    finally:
        log.append(x.shape[0])


def leaves_early(x, log):
    for part in ends_with(x, log):
        return part.tanh() + 1 if any(True for _ in ends_with(x, log)) else part


def kept(x, made):
    made.append(doubled(x, 3))
    return torch.relu(x).tanh() + 1


def asks_by_hand(x):
    parts = doubled(x, 3)
    first = next(parts)
    return first.tanh() + sum(parts) + next(parts, 3)


def asks_again(x):
    parts, asked, ended = doubled(x, 3), (i > 1 for i in range(4)), (i for i in (1, 2))
    total = torch.relu(x) + sum(ended)
    for part in parts:
        total = total + part
        if asked is not None:
            break
    for part in parts:
        total = total * part
    for part in parts:
        total = total - part
    asks = any(asked), any(asked), any(asked), all(asked)
    return total, list(parts), tuple(parts), (*parts, sum(ended), sum(parts)), asks


def sends(x):
    def accumulates():
        total = x
        while True:
            got = yield total
            if got is None:
                return
            total = total + got

    parts = accumulates()
    parts.send(None)
    return parts.send(x * 2).tanh() + parts.send(1)


def delegates(x):
    def outer():
        yield from doubled(x, 2)
        yield x

    return sum(outer()).tanh()


def raises(x, k):
    def parts():
        yield x
        yield x @ torch.ones(k)

    return sum(part.sum() for part in parts()).tanh()


def lists_what_is_left(x):
    parts, count = doubled(x, 5), 0
    total = torch.relu(x)
    for part in parts:
        total, count = total + part, count + 1
        if count == 2:
            break
    for part in parts:
        total = total * part
    return total, count, list(parts)


@pytest.mark.parametrize("f", [asks_again, lists_what_is_left])
def test_generators_that_are_asked_again(f):
    agree(f, (X,), (Y,))


@pytest.mark.parametrize("f", [asks_by_hand, sends, delegates])
def test_generators_that_are_not_followed(f):
    compiled = cresset.compile(f)
    assert all(same(f(X * i), compiled(X * i)) for i in range(5))


def test_generators_with_a_finally():
    compiled, logs = cresset.compile(leaves_early), ([], [])
    for i in range(5):
        assert same(leaves_early(X * i, logs[0]), compiled(X * i, logs[1])) and logs[0] == logs[1]


def test_generators_that_outlive_the_call():
    compiled = cresset.compile(kept)
    for i in range(4):
        plain, captured = [], []
        assert same(kept(X * i, plain), compiled(X * i, captured))
        assert same(list(plain[0]), list(captured[0]))


def test_generators_that_raise():
    compiled = cresset.compile(raises)
    for k in (4, 4, 3, 4, 3):
        outcomes = []
        for f in (raises, compiled):
            try:
                outcomes.append(f(X, k))
            except RuntimeError as error:
                outcomes.append(str(error))
        assert same(*outcomes)
