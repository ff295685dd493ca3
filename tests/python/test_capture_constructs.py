"""What Python's users build functions of: context managers that generators make, class methods, named tuples, itertools, operators of
classes. Captured ones agree with plain Python, also where what they call changes, and are one plan."""

import contextlib
import functools
import itertools
import operator
import typing

import pytest
import torch
from torch import nn

import cresset


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5))


@contextlib.contextmanager
def evaluating(module, log):
    was = module.training
    module.eval()
    try:
        yield log
    finally:
        module.train(was)


@contextlib.contextmanager
def without_gradients():
    with torch.no_grad():
        yield


class Scope:
    depth = 0

    @contextlib.contextmanager
    def deeper(self, by=1):
        self.depth += by
        yield self.depth
        self.depth -= by


def by_managers(module, scope, x):
    with evaluating(module, [1, 2]) as log, without_gradients():
        a = module(x)
    with scope.deeper() as depth, scope.deeper(by=2) as deepest:
        y = module[0](x) * depth + deepest
    return a, y.detach().tanh(), module.training, scope.depth, log[0]


class Point(typing.NamedTuple):
    h: torch.Tensor
    n: int = 0

    @classmethod
    def start(cls, x):
        return cls(x * 0)

    def scaled(self, by):
        return self._replace(h=self.h * by, n=self.n + 1)


class Box:
    count = 2

    def __init__(self, value):
        self.value = value

    @classmethod
    def of(cls, x):
        return cls(x * cls.count)

    def __add__(self, other):
        if not isinstance(other, (int, torch.Tensor)):
            return NotImplemented
        return Box(self.value + other)

    def __matmul__(self, other):
        return Box(self.value * other.value)

    def __neg__(self):
        return Box(-self.value)


class Wide(Box):
    count = 3

    @classmethod
    def of(cls, x):
        return super().of(x + 1)


def by_tuples(module, scope, x):
    point = Point.start(x)
    for t in range(3):
        point = point._replace(h=torch.tanh(point.h + x), n=point.n + t)
    return point, point.scaled(2.0).h.sum() * point.n, point.scaled(1)


def by_class_methods(module, scope, x):
    kinds = [Box, Wide]
    found = [kind.of(x).value.sum() for kind in kinds[:1]]
    return found[0], Box(x).of(x).value.tanh()


def by_operators(module, scope, x):
    box = (Box(x) + 1 + x) @ Box(x)
    return box.value.tanh(), operator.add(x, 1) * operator.mul(2, 3)


def by_itertools(module, scope, x):
    xs = [x, x * 2, x - 1]
    total = 0
    for a, b in itertools.combinations(xs, 2):
        total = total + (a - b).abs().mean()
    for a, b in itertools.product(xs[:2], xs[1:]):
        total = total + (a * b).sum()
    for place, (a, b) in enumerate(itertools.pairwise(xs)):
        total = total + place * (a - b).sum()
    for a, b in itertools.permutations((1, 2)):
        total = total * a + b
    return total, functools.reduce(torch.add, xs), functools.reduce(lambda a, b: a * b.sum(), xs, 2.0)


def by_containers(module, scope, x):
    kinds = {"a": x, "b": x * 2}
    first, second = kinds.values()
    names, values = zip(*kinds.items())
    places = torch.tensor([ord for ord in (3, 1, 2)])
    vocabulary = {letter: place for place, letter in enumerate("abc")}
    ids = torch.tensor([vocabulary[letter] for letter in "Cab".lower() if letter in vocabulary])
    return first + second, values[1] + ids.sum() * places, " ".join(sorted(set(names)))


PROGRAMS = [by_managers, by_tuples, by_class_methods, by_operators, by_itertools, by_containers]


def parts(value):
    return (
        [type(value).__name__, *(each for item in value for each in parts(item))]
        if isinstance(value, (list, tuple))
        else [value]
    )


def same(ours, theirs):
    assert len(parts(ours)) == len(parts(theirs))
    for a, b in zip(parts(ours), parts(theirs), strict=True):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_plan(f):
    cresset.reset()
    pairs, compiled = [(net(), Scope()), (net(), Scope())], cresset.compile(f)
    for i in range(10):
        x = torch.randn(3) if f is by_containers else torch.randn(2 + i % 2, 6)
        found = []
        for function, (module, scope) in zip((f, compiled), pairs, strict=True):
            torch.manual_seed(i)
            found.append((*function(module, scope, x), torch.rand(1), module.training, scope.depth))
        same(found[1], found[0])
    report = cresset.explain(compiled)
    assert sum(plan.applied > 6 for plan in report.plans) == 1 and not any(runs.count for runs in report.runs), report


def test_managers_that_end_otherwise():
    """A body that raises, a manager that swallows it, one that yields twice or never."""
    log = []

    @contextlib.contextmanager
    def swallowing(kind):
        try:
            yield
        except kind as error:
            log.append(str(error))

    @contextlib.contextmanager
    def wrong(count):
        for _ in range(count):
            yield

    def f(x, flag):
        with swallowing(ValueError):
            y = x * 2
            if flag == 1:
                raise ValueError("one")
            if flag == 2:
                raise KeyError("two")
            y = y.tanh() + 1
        with wrong(1 if flag < 3 else flag - 3):
            y = y.sin() * 2
        return y

    compiled = cresset.compile(f)
    for flag in (0, 0, 0, 1, 0, 2, 1, 3, 5, 0, 2, 5, 3, 0):
        found = []
        for function in (f, compiled):
            log.clear()
            try:
                found.append((function(torch.ones(3), flag).tolist(), list(log)))
            except (KeyError, RuntimeError) as error:
                found.append((type(error), str(error), list(log)))
        assert found[0] == found[1]


def test_what_changes_between_calls():
    class Kind:
        scale = 2

        @classmethod
        def make(cls, x):
            return x * cls.scale

        def __mul__(self, other):
            return other * 3

    @contextlib.contextmanager
    def manager(by):
        yield by

    def f(x, kind, by):
        with manager(by) as number:
            y = kind.make(x).tanh() * number
        return (kind() * y).sin() + Kind.make(x)

    class Derived(Kind):
        scale = 4

    compiled, x = cresset.compile(f), torch.ones(3)
    for i in range(24):
        if i == 6:
            Kind.scale = 5
        if i == 9:
            Kind.make = classmethod(lambda cls, x: x + cls.scale)
        if i == 12:
            Kind.__mul__ = lambda self, other: other - 1
        if i == 15:
            Derived.make = staticmethod(lambda x: x * 7)
        if i == 18:

            @contextlib.contextmanager
            def manager(by):
                yield by * 2

        kind = Derived if i % 3 == 2 else Kind
        assert torch.equal(compiled(x, kind, 2.0), f(x, kind, 2.0)), i


def test_operators_of_the_other_class():
    class Other:
        def __radd__(self, other):
            return other.value * 2

    def f(x, other):
        return (Box(x) + other).tanh() + 1 if type(other) is Other else (Box(x) + other).value.tanh() + 1

    compiled = cresset.compile(f)
    for i in range(9):
        other = Other() if i % 3 == 2 else 2
        assert torch.equal(compiled(torch.ones(3), other), f(torch.ones(3), other))
    with pytest.raises(TypeError, match="unsupported operand"):
        compiled(torch.ones(3), "text")


def test_functions_that_do_more_than_compute():
    """By `reduce` and `map`: what they write to is the same tensor, and random numbers are drawn once."""

    def f(x):
        xs = [x + 1, x + 2, x + 3]
        total = functools.reduce(torch.Tensor.add_, xs)
        sines = list(map(torch.Tensor.sin_, [x * 2, x * 3]))
        drawn = functools.reduce(torch.normal, [x, x.abs() + 1, x.abs() + 2])
        return total, total is xs[0], xs[0] * 2, *sines, drawn.tanh()

    compiled = cresset.compile(f)
    for i in range(8):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            found.append((*function(torch.full((3,), float(i))), torch.rand(2)))
        same(found[1], found[0])
