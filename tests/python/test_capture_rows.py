"""Rows of frame capture, each with what it reads changed between calls and by a host operation in the middle of a call."""

import pytest
import torch
import torch.nn.functional as F
from test_capture_graphs import same
from torch import nn

import cresset
from cresset import _frames, _rows


class Thing:
    def __init__(self):
        self.k, self.pair, self.items = 2, (1, 1), []
        self.table, self.names = {"a": 1, "b": 2.5}, ["a", "c"]

    @property
    def twice(self):
        return self.k * 2

    def scaled(self, x, *more, factor=2, **others):
        return x * factor + len(more) + others.get("shift", self.k)


class Child(Thing):
    pass


class Block(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.inner, self.linear = inner, nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x).sin()
        return x if self.inner is None else self.inner(x) + x


def with_text(thing, x, change):
    text = f"{thing.k}|{thing.k:>4}|{x.shape[0]}|{thing.k!r}"
    y = (x * 2).sin() + len(text)
    change()
    return y * 2, f"{thing.k}{text}"


def with_getattr(thing, x, change):
    y = x * getattr(thing, "k") + getattr(thing, "pair", None)[0]  # noqa: B009
    change()
    return y * getattr(thing, "k", 7)


def with_type(thing, x, change):
    y = x * 2 if type(thing.k) is int else x * 3
    change()
    return y + 1 if type(thing.k) is float and type(x) is torch.Tensor else y - 1


def with_append(thing, x, change):
    parts = []
    for i in range(3):
        parts.append(x * i + thing.k)
        if i == 1:
            change()
    parts.append(x)
    more = parts + [x * 2]
    parts.append(x)
    return torch.cat(more).sin(), parts, len(parts), more, (1, x) + (2,)


def with_tuple(thing, x, change):
    y = F.pad(x, thing.pair) * 2
    change()
    return F.pad(y.sin(), thing.pair) + 1


def passing_on(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def with_options(thing, x, **options):
    scale = options.pop("scale", 1)
    y = x * scale + options["shift"] if "shift" in options else x * scale
    for name, value in options.items():
        if name != "shift":
            y = y + value * len(name)
    return y.sin() if options else y.cos()


wrapped_options = passing_on(passing_on(with_options))


def with_keywords(thing, x, change):
    given = (thing, x)
    y = wrapped_options(*given, scale=thing.k, shift=1, **thing.table)
    change()
    y = wrapped_options(thing, y, scale=thing.table["a"], **{"shift": thing.k})
    return y + with_options(thing, x, **thing.table), wrapped_options(*[thing, x]), thing.scaled(x, 1, 2, **thing.table)


def with_methods(thing, x, change):
    scaled = getattr(thing, "scaled")(x, factor=thing.k)  # noqa: B009
    change()
    y = thing.scaled(*(x, scaled), shift=thing.twice) + thing.twice
    return y * thing.scaled(x)


def with_membership(thing, x, change):
    y = x * 2 if "a" in thing.table else x * 3
    y = y + 1 if thing.k in (2, 5) else y - 1
    change()
    y = y * 2 if "c" in thing.names and "z" not in thing.table else y * 3
    return y + thing.table.get("a", 4) + thing.table.get("z", thing.k), thing.k not in thing.pair


def with_hasattr(thing, x, change):
    y = x * 2 if hasattr(thing, "k") else x * 3
    y = y + 1 if hasattr(thing, "more") else y.sin()
    y = y - 1 if hasattr(thing, "scaled") else y
    change()
    return y * 2 if hasattr(thing, "more") else y * thing.k


def with_backend(thing, x, change):
    y = x * 2 if torch.backends.mkldnn.is_available() else x * 3
    change()
    return y + 1 if torch.backends.mha.get_fastpath_enabled() else y - 1


CHANGES = {
    "number": lambda thing: setattr(thing, "k", thing.k + 1),
    "kind": lambda thing: setattr(thing, "k", float(thing.k)),
    "bool": lambda thing: setattr(thing, "k", True),
    "tuple": lambda thing: setattr(thing, "pair", (2, 0)),
    "tuple of other kinds": lambda thing: setattr(thing, "pair", (True, 1)),
    "longer tuple": lambda thing: setattr(thing, "pair", (1, 1, 0, 0)),
    "class": lambda thing: setattr(thing, "__class__", Child),
    "attribute": lambda thing: setattr(thing, "more", 1),
    "a value": lambda thing: thing.table.update(a=3),
    "a key": lambda thing: thing.table.update(z=3),
    "no key": lambda thing: thing.table.pop("a"),
    "order of keys": lambda thing: thing.table.update(a=thing.table.pop("a")),
    "another dict": lambda thing: setattr(thing, "table", {"c": 1}),
    "list": lambda thing: thing.names.insert(0, thing.names.pop()),
    "shorter list": lambda thing: thing.names.pop(),
    "nothing": lambda thing: None,
}


FUNCTIONS = [
    with_text, with_getattr, with_type, with_append, with_tuple, with_backend, with_keywords, with_methods, with_membership,
    with_hasattr
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("inside", [False, True])
def test_what_a_row_reads_changes(function, what, inside):
    cresset.reset()
    compiled = cresset.compile(function)
    things = Thing(), Thing()
    for i in range(8):
        x = torch.randn(2 + i % 2, 4)
        results = []
        for call, thing in zip((function, compiled), things, strict=True):
            change = lambda thing=thing: CHANGES[what](thing)  # noqa: E731
            if i == 4 and not inside:
                change()
            try:
                results.append(call(thing, x, change if inside and i in (4, 5) else lambda: None))
            except (RuntimeError, TypeError, KeyError) as error:
                results.append(str(error))
        assert same(*results), (i, results)
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) > 0


def test_a_backend_that_changes(monkeypatch):
    compiled = cresset.compile(with_backend)
    thing, x = Thing(), torch.randn(3)

    def agree():
        for _ in range(3):
            expected = with_backend(thing, x, lambda: None)
            assert same(expected, compiled(thing, x, lambda: None))
        return expected

    before = agree()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert not torch.equal(agree(), before)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    agree()
    with monkeypatch.context() as patch:
        patch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
        assert not torch.equal(agree(), before)
    agree()


def test_lists_that_are_appended_to_in_part():
    """The plan ends between two appends: what it makes has the first only."""

    def f(x, log):
        parts = [x.exp()]
        parts.append(x * 2)
        log.append(len(parts))
        parts.append(x + 3)
        again = parts
        again.append(x.sin())
        return parts, again is parts, log

    compiled = cresset.compile(f)
    for _ in range(4):
        x = torch.randn(3)
        assert same(f(x, []), compiled(x, []))


def test_appending_that_changes(monkeypatch):
    import builtins  # noqa: PLC0415

    class Logged(list):
        def append(self, item):
            super().append(item * 2)

    def f(x, make):
        parts = make()
        parts.append(x + 1)
        parts.append(x.sin() * 2)
        return torch.stack(list(parts))

    compiled = cresset.compile(f)
    for make in (list, Logged, list, Logged, builtins.list) * 2:
        x = torch.randn(3)
        assert same(f(x, make), compiled(x, make))


def test_modules_in_modules_of_their_kind():
    torch.manual_seed(0)
    module = Block(Block(Block(Block())))
    compiled = cresset.compile(module)

    def agree():
        for grad in (False, True) * 2:
            x = torch.randn(2, 3, requires_grad=grad)
            assert same(module(x), compiled(x))

    agree()
    assert [plan.graph_calls > 8 for plan in cresset.explain(compiled).plans] == [True]
    module.inner.inner.inner.inner = Block()
    agree()
    module.inner.inner = None
    agree()
    handle = module.inner.register_forward_hook(lambda module, inputs, result: result * 2)
    agree()
    handle.remove()
    agree()


def test_a_recursion_without_a_bound():
    def f(x, n):
        return x if n == 0 else f(x.sin() + 1, n - 1) * 2

    compiled = cresset.compile(f)
    for n in (3, 3, 3, 30, 30, 2, 0):
        x = torch.randn(3)
        assert same(f(x, n), compiled(x, n))


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_dropout_that_draws_nothing(p):
    def f(layer, x):
        return (layer(x * 2) + 1).sin().exp()

    compiled, layer = cresset.compile(f), nn.Dropout(p)
    for training in (True, False, True, False):
        layer.train(training)
        for i in range(3):
            layer.p = p if i != 1 else 0.25
            x, results = torch.randn(50), []
            for call in (f, compiled):
                torch.manual_seed(3)
                results.append((call(layer, x), torch.rand(1)))
            assert same(*results)


@pytest.mark.parametrize("kind", ["function", "module", "nested"])
def test_frames_without_plans_call_others_that_have(kind):
    """A frame of which nothing can be planned is CPython's in the end; what it calls is still captured."""
    names = {"torch": torch}
    lines = "".join(f"    log.extend(bytes([{i}]))\n" for i in range(100))
    exec(f"def outer(call, x, log):\n{lines}    return call(x)\n", names)
    outer, layer, more = names["outer"], Block(), []

    def helper(x):
        return (x * 2).sin().exp() + x

    call = {"function": helper, "module": layer, "nested": lambda x: outer(helper, x, more)}[kind]
    planned = Block.forward if kind == "module" else helper
    compiled = cresset.compile(outer)
    counts = []
    for i in range(40):
        x, logs = torch.randn(2 + i % 2, 3), ([], [])
        assert same(outer(call, x, logs[0]), compiled(call, x, logs[1])) and logs[0] == logs[1]
        counts.append(sum(plan.counts[0] for _, plan in _frames.plans_of(planned.__code__, None)))
    assert counts[-1] > counts[-2] > 0


class Config:
    """Attributes by other names, as configurations of transformers have them."""

    names = {"width": "size"}

    def __init__(self):
        self.size, self.depth = 3, 2

    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)

    @property
    def area(self):
        return self.width * self.depth


def test_attributes_that_a_class_looks_up_itself(monkeypatch):
    def f(config, x):
        y = (x * config.width).sin() + config.depth
        return y * config.area - config.width

    config, compiled, x = Config(), cresset.compile(f), torch.randn(3)

    def agree():
        for _ in range(4):
            expected = f(config, x)
            assert same(expected, compiled(config, x))
        return expected

    before = agree()
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) > 0
    config.size = 7
    after = agree()
    assert not torch.equal(before, after)
    monkeypatch.setattr(Config, "names", {"depth": "size"})
    config.width = 1
    assert not torch.equal(agree(), after)
    monkeypatch.undo()
    agree()
    monkeypatch.setattr(Config, "area", property(lambda self: self.size + 100))
    agree()
    monkeypatch.setattr(Config, "__getattribute__", lambda self, key: object.__getattribute__(self, "depth") + 1)
    agree()
    monkeypatch.setattr(Config.__getattribute__, "__code__", (lambda self, key: 5).__code__)
    agree()


def test_keywords_that_functions_do_not_take():
    def g(x, *, k):
        return x * k

    def f(x, options):
        try:
            return g(x.sin(), **options) + 1
        except TypeError as error:
            return str(error)

    compiled, x = cresset.compile(f), torch.randn(3)
    for options in ({"k": 2}, {"k": 2, "x": 1}, {"k": 3, "z": 1}, {}, {"k": 2}, {"k": x}, {1: 2}):
        for _ in range(3):
            assert same(f(x, options), compiled(x, options)), options


def test_attributes_that_modules_have_or_not():
    def f(module, x):
        y = x * 2 if hasattr(module, "linear") else x * 3
        y = y + 1 if hasattr(module, "extra") else y - 1
        y = y * 2 if hasattr(module, "buffer") else y.sin()
        return y + 1 if hasattr(module, "forward") else y

    module, compiled, x = Block(), cresset.compile(f), torch.randn(2, 3)

    def agree():
        for _ in range(4):
            assert same(f(module, x), compiled(module, x))

    agree()
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) > 0
    module.extra = nn.Linear(2, 2)
    agree()
    module.register_buffer("buffer", torch.ones(1))
    agree()
    del module.extra
    agree()
    module.extra = 3
    agree()
    module.linear = None
    agree()
    del module.linear
    agree()
    Block.buffer = property(lambda self: 1 / 0)
    try:
        with pytest.raises(ZeroDivisionError):
            f(Block(), x)
        with pytest.raises(ZeroDivisionError):
            compiled(Block(), x)
    finally:
        del Block.buffer
    agree()


@pytest.mark.parametrize(
    "owner, names", [(torch, _rows.FUNCTIONS), (torch.Tensor, _rows.METHODS), (F, _rows.F_FUNCTIONS)]
)
def test_what_the_operator_table_says_stands_there_alone(owner, names):
    for name in names:
        assert _rows.is_functional(getattr(owner, name)) and not _rows._is_of_table(name, getattr(owner, name)), name


def test_functions_by_the_operator_table():
    known = {n for n in dir(torch) if _rows.is_functional(getattr(torch, n))}
    assert {"logaddexp2", "sinc", "add", "sort", "where", "hypot"} <= known
    assert {"equal", "is_nonzero", "allclose", "as_tensor"} <= known  # by rows of their own
    # What writes, keeps state, or makes tensors of what is no tensor.
    others = {
        "dropout",
        "batch_norm",
        "instance_norm",
        "manual_seed",
    }
    others |= {
        "from_numpy",
        "empty_strided",
        "set_grad_enabled",
        "relu_",
        "resize_as_",
        "lstm_",
    }
    assert not others & known
    assert all(
        _rows.effect_of(f, [], ()) == ("random", []) for f in (torch.bernoulli, torch.rand, torch.Tensor.bernoulli)
    )
    methods = {n for n in dir(torch.Tensor) if _rows.is_functional(getattr(torch.Tensor, n))}
    assert not {"tolist", "numpy", "set_", "requires_grad_", "retain_grad", "data_ptr", "backward", "add_"} & methods


def test_operators_without_a_name_here_are_in_plans():
    def f(x, y):
        z = torch.logaddexp2(x, y) * 2
        return torch.sinc(z) + z.hypot(x)

    compiled, x, y = cresset.compile(f), torch.randn(3), torch.randn(3)
    for _ in range(4):
        assert same(f(x, y), compiled(x, y))
    assert len(_frames.plans_of(f.__code__, None)) == 1
