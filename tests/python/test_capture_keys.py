"""Captured functions whose dicts have tensors for keys, as the states of optimizers have, and first steps, which make these states;
functions that write their results by `out=`."""

import pytest
import torch
from torch import nn

import cresset

torch.accelerator.is_available()  # keeps a module of PyTorch's, where this was built for accelerators

KINDS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
    ("Adam", {"amsgrad": True}), ("AdamW", {"amsgrad": True}), ("RMSprop", {"centered": True, "momentum": 0.9}), ("Adagrad", {}),
    ("Adadelta", {}), ("NAdam", {}), ("RAdam", {}), ("Adamax", {}), ("ASGD", {}), ("Rprop", {}),
]  # fmt: skip


def made(kind, options, foreach):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return net, getattr(torch.optim, kind)(net.parameters(), foreach=foreach, **options)


def plans_that_ran(compiled, least):
    return [plan for plan in cresset.explain(compiled).plans if plan.applied >= least]


@pytest.mark.parametrize("foreach", [None, True])
@pytest.mark.parametrize(("kind", "options"), KINDS, ids=lambda each: each if type(each) is str else "_".join(each))
def test_first_steps(kind, options, foreach):
    """Each call has an optimizer of its own, which has no state yet: from the third call on one plan makes it."""
    cresset.reset()

    def train(net, optimizer, x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = cresset.compile(train)
    for i in range(8):
        torch.manual_seed(i)
        x, (ours, theirs) = torch.randn(3 + i % 2, 4), (made(kind, options, foreach) for _ in range(2))
        for _ in range(2 if i == 5 else 1):
            assert torch.equal(compiled(*ours, x), train(*theirs, x))
        for p, q in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
            torch.testing.assert_close(p, q)
            mine, other = ours[1].state[p], theirs[1].state[q]
            assert list(mine) == list(other) and list(map(type, mine.values())) == list(map(type, other.values()))
            torch.testing.assert_close(dict(mine), dict(other))
        assert len(ours[1].state) == len(theirs[1].state)
    assert len(plans_that_ran(compiled, 5)) == 1 and not any(
        runs.count for runs in cresset.explain(compiled).runs if runs.line != train.__code__.co_firstlineno
    ), cresset.explain(compiled)


@pytest.mark.parametrize("kind", ["RAdam", "Adamax"])
def test_a_branch_that_turns_once(kind):
    """RAdam's steps take another way from the sixth on."""
    cresset.reset()
    (net, optimizer), (other, theirs) = made(kind, {}, None), made(kind, {}, None)
    compiled = cresset.compile(lambda: optimizer.step())
    for i in range(14):
        for each in (net, other):
            torch.manual_seed(i)
            for p in each.parameters():
                p.grad = torch.randn_like(p)
        compiled()
        theirs.step()
        for p, q in zip(net.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-7)
    assert len(plans_that_ran(compiled, 4)) == 1, cresset.explain(compiled)


def momentum(state, p, g):
    if p not in state:
        state[p] = torch.zeros_like(p)
    state[p] = state[p] * 0.5 + g
    return state[p].sin() * 2 + p


def test_elements_by_tensors():
    cresset.reset()
    compiled = cresset.compile(momentum)
    p, q = torch.ones(3), torch.full((3,), 2.0)
    ours, theirs = {}, {}
    for i in range(16):
        key, g = (p, q)[i % 4 // 2], torch.full((3,), float(i))
        if i == 10:
            ours.clear()
            theirs.clear()
        if i == 13:
            ours, theirs = {1: 2}, {1: 2}
        assert torch.equal(compiled(ours, key, g), momentum(theirs, key, g))
        assert list(map(id, ours)) == list(map(id, theirs))
        assert all(torch.equal(ours[k], theirs[k]) for k in ours if type(k) is not int)
    assert plans_that_ran(compiled, 1)


def pairs(state, p, q):
    state[p] = p * 2
    state[q] = q * 3
    first = state[p] + 1
    return (first * state[q]).tanh().sum(), len(state)


def test_one_tensor_under_two_names():
    """Whether two names are of one tensor decides what is in the dict."""
    cresset.reset()
    compiled = cresset.compile(pairs)
    p, q = torch.ones(3), torch.full((3,), 2.0)
    for i in range(20):
        a, b = (p, q) if i % 5 < 3 else (p, p)
        ours, theirs = {}, {}
        found, expected = compiled(ours, a, b), pairs(theirs, a, b)
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1]
        assert list(map(id, ours)) == list(map(id, theirs)) and all(torch.equal(ours[k], theirs[k]) for k in ours)


def test_elements_that_are_not_there():
    cresset.reset()

    def f(state, p):
        y = p * 2
        try:
            y = y + state[p]
        except KeyError as error:
            y = y - (2 if error.args[0] is p else 3)
        return y.tanh() * 2 + 1

    compiled, p = cresset.compile(f), torch.ones(3)
    for i in range(12):
        state = {p: 1.5} if i % 4 == 3 else {torch.ones(3): 2.5}
        assert torch.equal(compiled(state, p), f(state, p))

    def g(state, p):
        return (p * 2).tanh() + state[p]

    compiled = cresset.compile(g)
    for i in range(8):
        if i % 3 == 2:
            with pytest.raises(KeyError):
                compiled({}, p)
        else:
            assert torch.equal(compiled({p: 2}, p), g({p: 2}, p))


def largest(state, x):
    torch.maximum(state, x * 2, out=state)
    torch.add(x, 1, out=state[0])
    return torch.sum(state, 0, out=torch.zeros(3)).tanh() * 2 + state


def test_results_that_are_written():
    cresset.reset()
    compiled = cresset.compile(largest)
    ours, theirs = torch.zeros(2, 3), torch.zeros(2, 3)
    with torch.no_grad():
        for i in range(12):
            x = torch.full((3,), float(i - 4))
            if i == 6:
                x[1] = float("nan")
            assert compiled(ours, x).isnan().equal(largest(theirs, x).isnan())
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
            if i == 8:
                ours.zero_(), theirs.zero_()
    assert plans_that_ran(compiled, 6)


def test_results_that_do_not_fit():
    """PyTorch gives the tensor other sizes, with a warning, or raises: so does the captured function."""

    def f(out, x, y):
        torch.mul(x, y, out=out)
        return out.tanh() * 2 + 1

    compiled = cresset.compile(f)
    cases = [
        (torch.zeros(3), torch.ones(3), torch.ones(3)),
        (torch.zeros(0), torch.ones(3), torch.ones(3)),
        (torch.zeros(3, dtype=torch.float64), torch.ones(3), torch.ones(3)),
        (torch.zeros(3, dtype=torch.int64), torch.ones(3), torch.ones(3)),
        (torch.zeros(3), torch.ones(3, requires_grad=True), torch.ones(3)),
    ]
    for _ in range(4):
        for case in cases:
            found = []
            for function in (f, compiled):
                out = case[0].clone()
                try:
                    found.append((function(out, *case[1:]).tolist(), out.tolist()))
                except RuntimeError as error:
                    found.append((str(error), out.tolist()))
            assert found[0] == found[1]


def test_a_growing_list_makes_few_plans():
    """Each length has a plan of its own, none of which applies again: there are some of them, not some for each instruction."""
    cresset.reset()

    def f(x, kept):
        total = x * 0
        for place, value in enumerate(kept):
            total = total + value * place
        y = torch.tanh(total) + x
        return y.sin() * 2

    compiled, kept = cresset.compile(f), []
    for i in range(60):
        kept.append(torch.full((3,), float(i)))
        x = torch.ones(3)
        assert torch.equal(compiled(x, kept), f(x, kept))
    report = cresset.explain(compiled)
    assert report.recordings < 45, report
    assert all(plan.applied * 32 >= plan.failed for plan in report.plans if plan.failed > 64), report
