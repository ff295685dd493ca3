"""Frames whose plans save less than it costs to run them in parts become CPython's again: counts say so, not times."""

import sys
import time

import pytest
import torch
from test_capture_graphs import same
from torch import nn

import cresset

X = torch.randn(3, 4)
TRIAL = 200  # calls, more than after which it is judged
GIVEN_BACK = "save less"


def add(x):
    return x + 1


def counts_in_python(x):
    total = 0
    for i in range(300):
        total += i * 2 % 7
    return x + total


def prints(x):
    print(end="")
    y = x * 2
    print(end="")
    return y


def fuses(x):
    y = torch.relu(x) + 1
    return torch.tanh(y * 2 - x) + y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.layer(x))


def called(compiled, f, times=TRIAL):
    for i in range(times):
        x = X + i
        assert same(compiled(x), f(x)), i
    return cresset.explain(compiled)


@pytest.mark.parametrize("f", [add, counts_in_python, prints])
def test_frames_that_are_given_back(f):
    cresset.reset()
    compiled = cresset.compile(f)
    early = called(compiled, f, 20)
    assert early.off is None and any(plan.applied for plan in early.plans)
    report = called(compiled, f)
    assert GIVEN_BACK in report.off and not report.plans and GIVEN_BACK in str(report)
    cresset.reset()
    assert called(compiled, f, 20).off is None


@pytest.mark.parametrize("f", [fuses, Net()])
def test_frames_that_are_kept(f):
    cresset.reset()
    report = called(cresset.compile(f), f)
    assert report.off is None and sum(plan.applied for plan in report.plans) >= TRIAL - 5


@pytest.mark.parametrize("options", [{"fullgraph": True}, {"backend": lambda gm, _: gm.forward}])
def test_who_wants_graphs_keeps_them(options):
    report = called(cresset.compile(add, **options), add)
    assert report.off is None and report.plans[0].applied == TRIAL - 1


def test_what_a_frame_calls_that_is_given_back():
    net = Net()

    def f(x):
        print(end="")
        y = x * 2
        print(end="")
        return call(y)

    def call(x):
        print(end="")
        return net(x)

    cresset.reset()
    compiled = cresset.compile(f)
    assert GIVEN_BACK in called(compiled, f).off
    before = cresset.explain(cresset.compile(call)).plans[0].applied
    called(compiled, f, 20)
    assert cresset.explain(cresset.compile(call)).plans[0].applied == before + 20


def test_checks_that_fail_are_a_loss():
    def f(x, kind):
        y = fuses(x)
        return y if kind.n > 4 else -y

    class Kind:
        n = 0

    compiled = cresset.compile(f)
    for n in range(TRIAL):
        kind = type("Kind", (), {"n": n % 10})
        assert same(compiled(X, kind), f(X, kind))
    assert GIVEN_BACK in cresset.explain(compiled).off


def test_a_long_frame_is_given_back_while_it_runs():
    def f(x, count):
        total = 0
        for i in range(count):
            total = (total + i) % 1000003
            if total == 77:
                x = x + 1
        return x, total

    compiled = cresset.compile(f)
    for count in (3, 200_000, 200_000, 5):
        assert same(compiled(X, count), f(X, count))
    assert GIVEN_BACK in str(cresset.explain(compiled).off)


def test_exceptions_and_variables_after_that():
    def f(x, n):
        y = x + 1
        if n > 2:
            raise ValueError(n)
        return y

    compiled = cresset.compile(f)
    for _ in range(TRIAL):
        assert same(compiled(X, 1), X + 1)
    assert GIVEN_BACK in cresset.explain(compiled).off
    with pytest.raises(ValueError, match="3") as error:
        compiled(X, 3)
    frame = error.traceback[-1].frame
    assert same(frame.f_locals["y"], X + 1)


@cresset.allow_in_graph
def slow_here(x, in_plans):
    """Takes long where a plan calls it, before the caller's frame has come to this line, or where Python does."""
    caller = sys._getframe(1)
    is_here = caller.f_code.co_name == "compared" and caller.f_lineno == caller.f_code.co_firstlineno + 3
    if is_here != in_plans:
        time.sleep(0.003)
    return x + 1


@pytest.mark.parametrize("in_plans", [True, False])
def test_plans_that_take_longer_than_python(in_plans):
    cresset.reset()

    def compared(x, in_plans):
        y = torch.relu(x).sin() * 2
        z = y.cos() + 1 + y.exp() - 3 * y
        return slow_here(z, in_plans).tanh()

    compiled, x = cresset.compile(compared), torch.ones(3)
    expected = compared(x, True)
    for _ in range(200):
        assert torch.equal(compiled(x, in_plans), expected)
    report = cresset.explain(compiled)
    is_slow = any(runs.reason == "the graph takes longer than its calls" and not runs.advice for runs in report.runs)
    assert is_slow == in_plans and (report.plans == []) == in_plans, report
