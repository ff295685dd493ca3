"""Loops that become hot while a function runs for the first time: the call goes on in a plan, with the same results."""

import threading
from typing import Dict, List

import pytest
import torch
from torch import Tensor

import cresset

MANY = 3000


def entered(script):
    return cresset.explain(script).entered_from_loops


def both(function, arguments):
    """The results of a first call that may go on in a plan, and of one that may not."""
    script = cresset.script(function)
    hot = script(*arguments())
    count = entered(script)
    mode = cresset.get_execution_mode()
    cresset.set_execution_mode("interpret")
    try:
        cold = cresset.script(function)(*arguments())
    finally:
        cresset.set_execution_mode(mode)
    return hot, cold, count


def same(a, b):
    if isinstance(a, Tensor):
        return torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def counted(x: Tensor, n: int):
    total = x
    for i in range(n):
        total = total * 0.999 + x.sum() + i
    return total, total.dim()


def unbounded(x: Tensor, n: int):
    steps = 0
    while bool(x.max() < n):
        x = x + 1
        steps += 1
    return x, steps


def nested(x: Tensor, n: int):
    for i in range(n):
        for j in range(3):
            if (i + j) % 2 == 0:
                x = x + j
            else:
                x = x * 0.5
        if i % 7 == 3:
            continue
        x = x - 1
    return x


def returns_early(x: Tensor, n: int):
    for i in range(n):
        x = x + 1
        if i == n - 10:
            return x, i
    return x, -1


def fills(x: Tensor, n: int):
    values: List[Tensor] = []
    table: Dict[int, Tensor] = {}
    for i in range(n):
        values.append(x + i)
        table[i % 5] = values[-1] * 2
    return torch.stack(values).sum(), len(values), table


def writes(x: Tensor, n: int):
    y = x.clone()
    for i in range(n):
        y[i % 3] += 1
        y.mul_(0.99)
    return y, x


def draws(x: Tensor, n: int):
    for _ in range(n):
        x = x + torch.rand(3)
    return x


def step(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x + i
    return x


def calls(x: Tensor, n: int):
    return step(x, n) * 2, step(x, 3)


def scalars(x: Tensor, n: int):
    a, b = 0, 1.5
    for i in range(n * 200):
        a = (a * 31 + i) % 1000003
        b = b * 0.5 + float(a)
    return a, b, x


PROGRAMS = [counted, unbounded, nested, returns_early, fills, writes, draws, scalars]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_first_calls_go_on_in_plans(program):
    def arguments():
        torch.manual_seed(0)
        return torch.arange(3.0), MANY

    hot, cold, count = both(program, arguments)
    assert same(hot, cold)
    assert count == 1


def test_loops_of_callees():
    hot, cold, _ = both(calls, lambda: (torch.arange(3.0), MANY))
    assert same(hot, cold)


def test_modules():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0
            self.lin = torch.nn.Linear(3, 3)

        def forward(self, x: Tensor, n: int):
            for _ in range(n):
                x = torch.tanh(self.lin(x))
                self.steps += 1
            return x

    torch.manual_seed(0)
    module = Counts()
    script = cresset.script(module)
    with torch.no_grad():
        found = script(torch.ones(2, 3), MANY)
        expected = module(torch.ones(2, 3), MANY)
    assert torch.equal(found, expected)
    assert script.steps == MANY
    assert entered(script) == 1, cresset.explain(script)


@pytest.mark.parametrize("operators", range(1, 17))
@pytest.mark.parametrize("instructions", range(3))
def test_loops_whose_work_is_in_functions_that_they_call(operators, instructions):
    """Wherever the clock is looked at, however long an iteration is."""
    unit = cresset.CompilationUnit(
        "def g(x: Tensor):\n"
        + "  x = x + 1\n" * operators
        + "  return x\ndef f(x: Tensor, n: int):\n  for i in range(n):\n    x = g(x)\n"
        + "    n = n + 0\n" * instructions
        + "  return x"
    )
    assert torch.equal(unit.f(torch.zeros(2), 1000), torch.full((2,), 1000.0 * operators))
    assert entered(unit.f) == 1


def test_open_withs_stay_in_the_frame():
    def f(x: Tensor, n: int):
        with torch.no_grad():
            for _ in range(n):
                x = x + 1
        return x * 2

    x = torch.ones(3, requires_grad=True)
    script = cresset.script(f)
    assert not script(x, MANY).requires_grad
    assert torch.equal(cresset.script(f)(torch.ones(3), MANY), torch.full((3,), 2.0 * (MANY + 1)))


def test_errors_name_the_line():
    def f(x: Tensor, n: int):
        for i in range(n):
            x = x + 1
            if i == n - 1:
                x = x.view(17)
        return x

    with pytest.raises(RuntimeError, match=r"x\.view\(17\)"):
        cresset.script(f)(torch.ones(3), MANY)


def test_interrupts_reach_the_plan():
    with pytest.raises(cresset.LimitError), cresset.Limits(seconds=0.2):
        cresset.script(counted)(torch.arange(3.0), 1 << 40)


def test_many_threads():
    script = cresset.script(counted)
    results = []
    threads = [threading.Thread(target=lambda: results.append(script(torch.arange(3.0), MANY))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(result, results[0]) for result in results) and len(results) == 4
