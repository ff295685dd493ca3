"""Functions that a captured function makes (comprehensions, lambdas, inner functions, decorators), and functions of numbers."""

import functools
import math

import pytest
import torch
from test_capture_graphs import agree, calls_in_graphs, same
from torch import nn

import cresset

X, Y = torch.randn(3, 4), torch.randn(2, 2)


def comprehension(x):
    return torch.cat([torch.relu(x * i) + 1 for i in range(3)]).tanh()


def nested_comprehensions(x):
    rows = [[a * b for a in x.unbind(0)] for b in x.unbind(0)]
    return torch.stack([torch.stack(row) for row in rows]).tanh() * 2


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return wrapper


@twice
def decorated(x, a=1):
    return torch.relu(x + a).sum(-1)


def calls_decorated(x):
    return decorated(x) + decorated(x, a=2) + torch.tanh(x).sum(-1)


def adds(x):
    total = 0.0

    def add(y):
        nonlocal total
        total = total + y
        return total

    add(x)
    add(torch.tanh(x))
    return total * 2


def calls_adds(x):
    return adds(x) + torch.relu(x) * 3


def appends(x):
    made = []

    def add(y):
        made.append(y * 2)

    for i in range(3):
        add(x + i)
    return torch.stack(made).tanh() + len(made)


def calls_appends(x):
    return appends(x) * torch.sigmoid(x)


def scaler(k):
    def inner(y, shift=k + 1, *, factor=3):
        return torch.relu(y * k) + shift * factor

    return inner


def makes_functions(x):
    first, second = scaler(2), scaler(x.shape[0])
    return first(x) + second(x, factor=2) * first(x, 0)


def lambdas(x):
    g = lambda t, s=2.0, *, w=3: torch.tanh(t * s + w)  # noqa: E731
    return g(x) + g(x, 3.0, w=1) * (lambda y: y + 1)(x)


def recursive(x, n):
    def step(y, k):
        return y if k == 0 else step(torch.tanh(y) + k, k - 1)

    return step(x, n) * 2


def calls_recursive(x):
    return recursive(x, 3) + recursive(x, 2) * torch.relu(x)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        return torch.stack([torch.relu(layer(x)) for layer in self.layers]).sum(0)


def dict_comprehensions(x):
    scaled = {i: torch.relu(x * i) for i in range(1, 4)}
    named = {f"row{i}": row * 2 for i, row in enumerate(x.unbind(0))}
    return sum(scaled.values()) * 2, torch.stack(list(named.values())).tanh(), list(named)


class Options:
    scale = 3


def defaults(x):
    options = Options()
    y = torch.relu(x) * getattr(options, "scale", 1) + getattr(options, "bias", 2)
    if getattr(x, "is_special", None) is None:
        y = y * 2
    return torch.tanh(y) - getattr(options, "bias", 0.5)


class Defaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = torch.relu(self.layer(x)) * 2
        extra = getattr(self, "extra", None)
        if extra is not None:
            y = extra(y)
        return torch.tanh(y) + getattr(self.layer, "shift", 1)


@pytest.mark.parametrize(
    "function, least",
    [
        (dict_comprehensions, 10),
        (defaults, 5),
        (comprehension, 10),
        (nested_comprehensions, 10),
        (calls_decorated, 10),
        (calls_adds, 6),
        (calls_appends, 10),
        (makes_functions, 10),
        (lambdas, 8),
        (calls_recursive, 10),
    ],
)
def test_functions_that_are_made(function, least):
    compiled = agree(function, (X,), (torch.randn(3, 2),))
    report = cresset.explain(compiled)
    assert calls_in_graphs(compiled) >= least, report
    # What a frame's own inner functions share is made before its plan begins.
    assert not report.python, report


def test_defaults_of_attributes_that_come_later():
    module = Defaults()
    compiled = cresset.compile(module)
    for _ in range(4):
        assert same(Defaults.forward(module, X), compiled(X))
    assert calls_in_graphs(compiled) >= 5
    module.extra = nn.Linear(4, 4)
    for _ in range(3):
        assert same(Defaults.forward(module, X), compiled(X))
    module.layer.shift = 7
    nn.Linear.scale = 1  # another class attribute
    try:
        assert same(Defaults.forward(module, X), compiled(X))
        nn.Linear.shift = 9
        del module.layer.shift
        assert same(Defaults.forward(module, X), compiled(X))
    finally:
        del nn.Linear.scale, nn.Linear.shift
    assert same(Defaults.forward(module, X), compiled(X))


def test_layers_in_a_comprehension():
    module = Layers()
    compiled = cresset.compile(module)
    for _ in range(4):
        assert same(Layers.forward(module, X), compiled(X))


def test_what_is_made_is_not_what_escapes():
    """Iterators are used up, defaults that are lists are shared by calls, functions have an identity and a truth."""

    def used_up(x):
        pairs = zip([1, 2], [3, 4])
        first = [i * x for i, _ in pairs]
        second = [i * x for i, _ in pairs]
        return torch.stack(first) * 2 + len(second)

    def shared_default(x):
        def count(y, seen=[]):  # noqa: B006
            seen.append(y)
            return len(seen)

        return torch.tanh(x) * count(1) + count(2) * torch.relu(x) + x

    def truth(x):
        g = lambda y: y * 2  # noqa: E731
        if g:
            x = g(x) + torch.tanh(x)
        if g is None or g == 3:
            x = x + 100
        return torch.relu(x) * 2, g.__name__

    def escapes(x):
        g = lambda y: torch.tanh(y) * x  # noqa: E731
        y = g(x) + 1
        return g(y) * 2, [g][0](x)

    def unset(x):
        def inner():
            return torch.tanh(later) * 2 + 1

        try:
            inner()
        except NameError:
            x = x + 1
        later = x
        return inner()

    for function in (used_up, shared_default, truth, escapes, unset):
        compiled = cresset.compile(function)
        for _ in range(4):
            for x in (X, Y):
                assert same(function(x), compiled(x)), function.__name__


def test_lists_that_grow_while_they_are_iterated_over():
    def f(x):
        made = [torch.tanh(x)]
        for y in made:
            if len(made) < 4:
                made.append(y * 2 + 1)
        pairs = [(i, y * i) for i, y in enumerate(made)]
        return torch.stack([y for _, y in pairs]).relu(), [i for i, _ in pairs], len(made)

    compiled = agree(f, (X,), (Y,))
    assert calls_in_graphs(compiled) >= 8

    def grows(x):
        made = [torch.tanh(x)]
        for i, y in enumerate(made):
            if i < 3:
                made.append(y * 2 + 1)
        for a, b in zip(made, made[1:]):
            if len(made) < 6:
                made.append(a + b)
        more = [1.5]
        more += [2.5 for _ in made]
        return torch.stack(made).relu(), len(more)

    agree(grows, (X,), (Y,))


def test_variables_that_a_frame_shares_with_its_functions():
    """They are set at the end of a plan, if no function has them before it."""

    def f(x, n):
        k = x.shape[0] * n
        rows = [y * k + n for y in x.unbind(0)]
        k += 1
        n = 5
        scale = lambda y: torch.tanh(y * k) + n  # noqa: E731
        y = scale(torch.stack(rows)) * 2
        print(k, n)
        return scale(y), (lambda: k + n)()

    def late(x):
        made = []
        for i in range(3):
            k = x.shape[0] + i
            made.append(lambda y: torch.tanh(y * k) + 1)  # noqa: B023
        return torch.stack([g(x) for g in made]) * 2, k

    def counts(x):
        count = 0

        def step(y):
            nonlocal count
            count += 1
            return torch.relu(y * count) + 1

        kept.append(step)
        y = step(step(x))
        count += 10
        return step(y) * 2, count

    def grows(x):
        made = []
        add = lambda y: made.append(torch.tanh(y) * 2)  # noqa: E731
        add(x)
        print(len(made))
        add(x + 1)
        made = [*made, x]
        add(x + 2)
        return torch.stack(made).sum(0), len(made)

    kept = []
    for function, calls in (
        (f, [(X, 2), (Y, 3), (X, 2.5)]),
        (late, [(X,), (Y,)]),
        (counts, [(X,), (Y,)]),
        (grows, [(X,), (Y,)]),
    ):
        cresset.reset()
        compiled = cresset.compile(function)
        for _ in range(4):
            for args in calls:
                assert same(function(*args), compiled(*args)), function.__name__
                if function is counts:
                    assert same(kept[-1](X), kept[-2](X))
    plain = cresset.compile(lambda x: [y * x.shape[0] for y in torch.tanh(x).unbind(0)])
    for x in (X, X, Y):
        assert same([y * x.shape[0] for y in torch.tanh(x).unbind(0)], plain(x))


def test_a_function_that_leaves_is_the_programs():
    def maker(x):
        y = torch.tanh(x) + 1
        z = torch.relu(y) * 2

        def inner(w):
            return w * z + y

        return inner

    compiled = cresset.compile(maker)
    for _ in range(4):
        for x in (X, Y):
            assert same(maker(x)(x), compiled(x)(x))
    assert compiled(X) is not compiled(X)


def test_functions_of_numbers():
    def f(x, q):
        n = min(x.shape[0], q)
        scale, half, count = math.sqrt(x.size(-1)), int(x.shape[0] * 0.5), float(n)
        most = math.floor(x.shape[0] / 2) + math.ceil(2.5) + math.log(3) + math.exp(1.0) + abs(-q)
        y = torch.softmax(x @ x.t() / scale, -1) * count + most
        z = torch.tanh(y[: max(half, 1)])
        return z / math.sqrt(z.shape[1] - q), int(2.7), min(True, 2), max(1, 2.0, q)

    calls = [(torch.randn(5, 2), 3), (torch.randn(2, 2), 1), (torch.randn(7, 2), 6), (torch.randn(4, 2), 2)]
    assert calls_in_graphs(agree(f, *calls)) >= 8
    compiled = cresset.compile(f)
    for _ in range(4):
        for args in (*calls, (torch.randn(7, 2), 8), (torch.randn(7, 2), 7)):
            outcomes = []
            for run in (f, compiled):
                try:
                    outcomes.append(run(*args))
                except Exception as error:
                    outcomes.append((type(error), str(error)))
            assert same(*outcomes)


def test_functions_of_numbers_take_numbers():
    def f(x, values, text):
        y = torch.tanh(x) * max(values) + int(text)
        return torch.relu(y) * min(values, default=3) + abs(x), max(x.sum(), x.mean()), float("2.5")

    compiled = cresset.compile(f)
    for _ in range(4):
        for args in ((X, [1, 2], "7"), (Y, (2.5, 1.0), "3")):
            assert same(f(*args), compiled(*args))


def test_defaults_that_were_made_before_the_plan():
    def f(x):
        # The plan begins where there is a tuple of the defaults.
        def inner(a, b=x.shape[0], *, c=cresset.graph_break()):  # noqa: B008
            return torch.relu(a) * b + 1

        return torch.tanh(inner(x.sin()) * 2)

    for options in ({}, {"backend": lambda module, inputs: module.forward}):
        compiled = cresset.compile(f, **options)
        for rows in (2, 2, 2, 1, 3, 2):
            x = torch.randn(rows, 3)
            assert torch.equal(compiled(x), f(x))


def test_trapezoids_and_differences():
    """One graph has them, of floats and ints, with gradients."""

    def f(y, x):
        a = torch.trapezoid(y * 2, dx=0.5)
        b = torch.trapz(y * 3, x) + torch.cumulative_trapezoid(y, x).sum()
        (g,) = torch.gradient(torch.tanh(y[0]) * 2, spacing=2.0)
        rows, columns = torch.gradient(y, dim=(0, 1))
        return a * b + g.sum() + rows.sum() + columns.mean()

    compiled = cresset.compile(f, fullgraph=True)
    for i in range(8):
        y, x = torch.randn(3 + i % 2, 5), torch.randn(5)
        y = y.requires_grad_() if i % 4 < 3 else (y * 5).int().float()
        ours, expected = compiled(y, x), f(y, x)
        assert torch.equal(ours, expected)
        if y.requires_grad:
            gradients = [torch.autograd.grad(result.sum(), y)[0] for result in (ours, expected)]
            assert torch.allclose(*gradients, atol=1e-6)

    def of_ints(y):
        return torch.trapezoid(y * 2) + torch.cumulative_trapezoid(y, dx=2).sum() + torch.trapz(y + y, dx=2.0)

    compiled = cresset.compile(of_ints)
    for i in range(6):
        y = torch.arange(12).reshape(3, 4) * i if i != 4 else torch.zeros(3, 0, dtype=torch.int64)
        ours, expected = compiled(y), of_ints(y)
        assert torch.equal(ours, expected) and ours.dtype == expected.dtype
