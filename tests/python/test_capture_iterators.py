"""Captured functions that have iterators in variables, and ask tensors and texts for numbers."""

import itertools
import operator
import types
import weakref

import pytest
import torch
from torch import nn

import cresset


def twice_over(net, x, n):
    pairs = enumerate([x, x * 2, x * 3])
    total = sum(i * y.sum() for i, y in pairs)
    return total, list(pairs)


def breaking_off(net, x, n):
    names = zip(range(5), [x] * 5)
    total = x.sum()
    for i, y in names:
        total = total + i * y.mean()
        if i == n % 3:
            break
    return total, [i for i, _ in names]


def in_turns(net, x, n):
    both = zip([1, 2, 3, 4], [x, x + 1, x + 2, x + 3])
    total = x.sum()
    for i, y in both:
        for j, z in both:
            total = total + i * y.sum() - j * z.sum()
            break
    return total


def of_lengths(net, x, n):
    first, second = iter_of(net), reversed(range(2))
    found = [p.sum() * i for p, i in zip(first, second)]
    rest = list(first)
    return found, [p.shape for p in rest], list(second)


def iter_of(net):
    return net.parameters()


def passed_on(net, x, n):
    def norms(parameters, *more):
        kind = (
            isinstance(parameters, types.GeneratorType),
            isinstance(parameters, torch.Tensor),
            isinstance(parameters, list),
        )
        return kind, [p.norm() for p in parameters], [list(each) for each in more], list(parameters)

    return norms(net.parameters(), range(n), reversed([1, 2, n]))


def chained(net, x, n):
    both = itertools.chain(net[0].parameters(), net[2].children(), net[2].parameters())
    return [p.detach().mean() * 2 for p in both]


def over_a_dict_that_is_changed_after(net, x, n):
    state = {"a": x, "b": x + 1}
    pairs = zip(state.items(), range(2))
    total = x.sum()
    for (name, y), i in pairs:
        total = total + len(name) * i * y.sum()
    state["c"] = total
    return state


def over_a_dict_that_is_changed(net, x, n):
    state = {"a": x, "b": x + 1}
    try:
        for (name, y), i in zip(state.items(), range(3)):
            state[name + "c"] = y * i
    except RuntimeError as error:
        return str(error), x * 2
    return state


def by_texts(net, x, n):
    bound = float("inf") if n % 2 else -float("1e3")
    return torch.clamp(x * 2, max=bound) + float(["1", "2.5", "nan"][n % 3])


def by_numbers_of_tensors(net, x, n):
    scale = float(x.abs().max()) + float(torch.tensor(n))
    return (x * scale).tanh(), scale


def by_questions(net, x, n):
    y = x * 1 if n % 3 else x + 1
    if torch.equal(x, y):
        return x.sin() * 2
    return (y * 2, torch.allclose(x, y), bool(y.sum() > 100))


def by_parts_of_complex_numbers(net, x, n):
    z = torch.fft.fft(x)
    return (z.real * 2 + z.imag).tanh()


def by_modes_of_modules(net, x, n):
    net.train(n % 2 == 0)
    flags = [m.training for m in net.children()]
    y = net(x)
    net.eval()
    return y * 2, flags, [name for name, _ in net.named_children()], net.training


def by_bound_methods(net, x, n):
    method = type(net).forward.__get__(net, type(net))
    return method(x) * 2


PROGRAMS = [
    twice_over, breaking_off, in_turns, of_lengths, passed_on, chained, over_a_dict_that_is_changed_after, over_a_dict_that_is_changed,
    by_texts, by_numbers_of_tensors, by_questions, by_parts_of_complex_numbers, by_modes_of_modules, by_bound_methods,
]  # fmt: skip


def same(a, b):
    assert type(a) is type(b)
    if isinstance(b, torch.Tensor):
        assert a.shape == b.shape and torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())
    elif isinstance(b, (list, tuple)):
        assert len(a) == len(b)
        for each in zip(a, b, strict=True):
            same(*each)
    elif isinstance(b, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    else:
        assert a == b


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_plain(f):
    cresset.reset()
    torch.manual_seed(0)
    net, compiled = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)), cresset.compile(f)
    for n in range(10):
        x = torch.randn(3 + n % 2, 4)
        try:
            expected = f(net, x, n)
        except (TypeError, AttributeError, RuntimeError) as error:
            with pytest.raises(type(error)) as found:
                compiled(net, x, n)
            assert str(found.value) == str(error)
            continue
        same(compiled(net, x, n), expected)
        if n == 6:
            net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), nn.Tanh())


def test_weak_references_to_what_a_variable_has():
    """The plan checks that the reference is to what the variable has; others are asked as they stand."""

    class Holder:
        pass

    def f(held, reference, x):
        y = x * 2
        y = y + 1
        return held is reference(), y.tanh() * 2

    compiled, held, other = cresset.compile(f), Holder(), Holder()
    x = torch.randn(3)
    for i in range(8):
        mine = other if i % 3 == 2 else held
        reference = weakref.ref(held)
        expected, found = f(mine, reference, x), compiled(mine, reference, x)
        assert expected[0] is found[0] and torch.equal(expected[1], found[1])
    reference = weakref.ref(Holder())
    assert compiled(held, reference, x)[0] is False


def accumulates(x, n):
    found = []
    for value in itertools.accumulate([x, x.sin(), x * 2]):
        found.append(value.tanh() + 1)
    for number in itertools.accumulate([1, n, 3], initial=2):
        found.append(x * number)
    for value in itertools.accumulate((x, x * 2, x * 3), lambda a, b: a * b + n):
        found.append(value.cos())
    for value in itertools.accumulate([x, x + 1], torch.mul, initial=x * n):
        found.append(value)
        found.append(value * 2)
    found += list(itertools.accumulate([x, x, x], operator.mul))
    last = [*itertools.accumulate(a * 2 for a in (x, x.tanh()))][-1]
    for number in itertools.accumulate([n, n, 1], max):
        found.append(x * number)
    for _ in itertools.accumulate([]):
        found.append(1)
    return found, last


def stops_early(x, n):
    total = x
    for value in itertools.accumulate([x, x.sin(), x * 2, x + 1], lambda a, b: a * b):
        total = total + value
        if n > 1:
            break
    return total.tanh() * 2


@pytest.mark.parametrize("f", [accumulates, stops_early], ids=lambda f: f.__name__)
def test_accumulate(f):
    compiled = cresset.compile(f)
    for i, n in enumerate([1, 1, 1, 2, 2, 1, 1]):
        same(f(torch.arange(4.0) + i, n), compiled(torch.arange(4.0) + i, n))
    report = cresset.explain(compiled)
    assert sum(plan.applied for plan in report.plans) >= 4 and not report.python, report
