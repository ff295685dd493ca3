"""Captured functions that call what `functools.lru_cache` has made: results, and what it counts, orders and drops."""

import functools

import pytest
import torch
from test_capture_graphs import same

import cresset

X = torch.arange(4.0)


class Tables:
    """Functions that keep results, and a log of their calls."""

    def __init__(self):
        self.log = log = []

        @functools.lru_cache(None)
        def scale(k, plus=1):
            log.append(("scale", k, plus))
            return k * 2 + plus

        @functools.lru_cache(3)
        def table(n, dtype=torch.float32):
            log.append(("table", n))
            return torch.arange(n).to(dtype)

        @functools.lru_cache(maxsize=8, typed=True)
        def typed(n):
            log.append(("typed", type(n)))
            return [n, type(n).__name__]

        @functools.cache
        def place(device):
            log.append(("place", device))
            return 2 + len(device.type)

        self.scale, self.table, self.typed, self.place = scale, table, typed, place

    @functools.lru_cache  # noqa: B019
    def rate(self, k):
        self.log.append(("rate", k))
        return k * 0.5

    def counts(self):
        return [f.cache_info() for f in (self.scale, self.table, self.typed, self.place, Tables.rate)]


def agree(program, arguments, plans=1, change=None):
    cresset.reset()
    compiled = cresset.compile(program)
    found = []
    for function in (program, compiled):
        Tables.rate.cache_clear()
        tables, results = Tables(), []
        for i, given in enumerate(arguments):
            if change is not None:
                change(tables, i)
            try:
                results.append(function(tables, X + i, *given))
            except (RuntimeError, ZeroDivisionError) as error:
                results.append(str(error))
            results += [tables.counts(), list(tables.log)]
        found.append(results)
    for i, (a, b) in enumerate(zip(*found, strict=True)):
        assert same(a, b), (i, a, b)
    report = cresset.explain(compiled)
    assert program is that_raise_after_it or sum(plan.raised for plan in report.plans) == 0, report
    if plans is not None:
        assert len([plan for plan in report.plans if plan.applied > len(arguments) // 2]) == plans, report
    return report


def of_constants(tables, x, k):
    y = (x * tables.scale(3) + tables.table(4)).tanh() * tables.scale(3, 2)
    return y + tables.typed(2)[0] + tables.rate(4)


def of_arguments(tables, x, k):
    return (x * tables.scale(k) + tables.table(4, torch.float64)).tanh() * tables.scale(k + 1)


def of_devices(tables, x, k):
    return (x * tables.place(x.device)).tanh() * tables.place(torch.device("cpu"))


def that_raise_after_it(tables, x, k):
    y = torch.tanh(x) * tables.scale(3)
    tables.table(4)
    return (y + 1).sin() @ torch.ones(4 - k % 2)


def of_types(tables, x, k):
    return torch.tanh(x) * tables.typed(k)[0] + tables.typed(2)[0], tables.typed(k)


def of_what_is_dropped(tables, x, k):
    tables.table(k)
    tables.table(4)
    return torch.tanh(x) * tables.table(4) + 1


@pytest.mark.parametrize(
    "program, numbers, plans",
    [
        (of_constants, [1] * 12, 1),
        (of_arguments, [1] * 12, 1),
        (of_devices, [1] * 12, 1),
        (of_arguments, [1, 2, 3, 1, 2, 1, 1, 5] * 3, None),
        (that_raise_after_it, [0] * 8 + [1, 0, 1, 1, 0, 0], None),
        (of_types, [1, True, 1.0, 1, True, 1.0] * 3, None),
        (of_what_is_dropped, [1, 2, 3, 4, 5, 1, 1, 2, 2, 5] * 3, None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_programs(program, numbers, plans):
    agree(program, [(k,) for k in numbers], plans)


def test_what_clears_between_calls():
    def change(tables, i):
        if i % 5 == 4:
            tables.scale.cache_clear()
            tables.table(i)

    agree(of_constants, [(1,)] * 20, None, change)


def test_looks_at_what_is_counted():
    def program(tables, x):
        y = torch.tanh(x) * tables.scale(3) + 1
        hits = tables.scale.cache_info().hits
        return (y * 2 + tables.scale(3)).sin() + hits

    agree(program, [()] * 8, None)


def test_a_plan_that_is_given_up_counts_nothing():
    def program(tables, x, flag):
        y = torch.tanh(x) * tables.scale(3) + 1
        if y.sum() > flag:
            y = y * 2
        return y.sin()

    agree(program, [(0,), (0,), (0,), (100,), (0,), (100,)] * 4, None)
