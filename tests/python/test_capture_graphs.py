"""Graphs that cresset.compile compiles itself: bits, layouts, aliasing and what gradients see are eager's."""

import collections.abc
import enum
import functools
import inspect
import math
import random
import threading
import warnings

import capture_programs
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _capture, _frames, _rows


def bits_of(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy().tobytes()


def in_another_thread(work):
    """A backend whose graphs have another thread do the work before they run."""

    def backend(gm, inputs):
        def run(*inputs):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return gm.forward(*inputs)

        return run

    return backend


def same(a, b):
    if isinstance(a, torch.Tensor):
        layout = a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
        flags = a.requires_grad == b.requires_grad and a.is_leaf == b.is_leaf and a._is_view() == b._is_view()
        bits = a.is_conj() == b.is_conj() and a.is_neg() == b.is_neg() and bits_of(a) == bits_of(b)
        return type(a) is type(b) and layout and flags and bits
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def calls_in_graphs(compiled):
    return sum(plan.graph_calls for plan in cresset.explain(compiled).plans)


def agree(f, *calls, rounds=5):
    cresset.reset()
    compiled = cresset.compile(f)
    for _ in range(rounds):
        for args in calls:
            assert same(f(*args), compiled(*args))
    report = cresset.explain(compiled)
    assert sum(plan.raised for plan in report.plans) == 0, report
    return compiled


def chain(x, y):
    a = torch.sigmoid(x * y) + 0.5
    b = torch.tanh(a - y) * x
    return torch.relu(b) / (a.abs() + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("numerics", ["default", "exact"])
def test_bits(dtype, numerics):
    torch.manual_seed(0)
    with cresset.options.override(numerics=numerics):
        make = torch.randn if dtype.is_floating_point else lambda s: torch.randint(-4, 4, s)
        shapes = [((3,), (3,)), ((4, 5), (5,)), ((65, 33), (65, 1)), ((0, 3), (3,)), ((), (2,)), ((7,), (7,))]
        calls = [(make(a).to(dtype), make(b).to(dtype)) for a, b in shapes]
        calls.append((make((6, 4)).to(dtype).T, make((4, 6)).to(dtype)))
        if dtype == torch.bfloat16:
            f = lambda x, y: chain(x, y).float()  # noqa: E731
        else:
            f = chain
        assert calls_in_graphs(agree(f, *calls)) >= 6


def test_tensors_that_are_made():
    def f(x, n):
        h = torch.zeros(x.shape[0], n, dtype=x.dtype)
        h[:, 1:] = x[:, 1:]
        h += torch.ones([1, n])
        place = torch.arange(n) + torch.arange(0, 2 * n, 2)
        h = h.masked_fill(place > 4, 0.5) + x.new_ones(n) * x.new_full((1,), 2) - x.new_zeros((x.shape[0], n))
        more = (torch.arange(0.0, n), torch.full((n,), n), torch.full((2, n), 2.5), torch.full_like(x, 2), torch.eye(n))
        return (
            torch.tanh(h),
            torch.linspace(0, 1, n),
            torch.logspace(0, 1, 3),
            torch.zeros(x.shape),
            torch.ones(()),
            *more,
        )

    sizes = [(3, 4), (5, 2), (0, 3), (2, 1)]
    calls = [(torch.randn(s, dtype=d), s[1]) for s in sizes for d in (torch.float32, torch.float64)]
    assert calls_in_graphs(agree(f, *calls)) >= 20
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        agree(f, *calls)
    finally:
        torch.set_default_dtype(before)

    def leaf(x):
        made = torch.ones(4, requires_grad=True)
        return torch.relu(x * made * 2 + 1), made

    agree(leaf, (torch.randn(4),), (torch.randn(3, 4),))

    def errors(x, n):
        return torch.tanh(torch.zeros(n) + x) * 2

    compiled = cresset.compile(errors)
    for n in (2, 3, -1, 2.5, 3, True, 2):
        outcomes = []
        for run in (errors, compiled):
            try:
                outcomes.append(run(torch.ones(1), n))
            except Exception as error:
                outcomes.append((type(error), str(error)))
        assert same(*outcomes)


def test_tensors_full_of_bools_are_bools():
    def f(x):
        return torch.relu(torch.abs(x) - 1) * 2 + 3, torch.full((2,), True), torch.full((2,), fill_value=False)

    agree(f, (torch.randn(3),))


def test_sizes_numbers_and_slices():
    def f(x, n, scale):
        y = x[:, :n] * scale + n
        y = torch.exp(y).view(y.shape[0] * y.shape[1]) - x.shape[0]
        z = y.sum() * y
        return z[1:].neg() * 2, y.shape[0], z[None, ..., 0]

    calls = [(torch.randn(i, 5), n, s) for i in (2, 3) for n in (2, 4) for s in (1.5, -0.0, float("inf"))]
    assert calls_in_graphs(agree(f, *calls)) >= 8


def test_views_alias_and_containers():
    def f(x):
        y = torch.relu(x.exp() * 2 - 1).sin()
        a, b = y.chunk(2)
        return [y.T, (a + b, b)], x.view(-1)

    compiled = agree(f, (torch.randn(4, 3),), (torch.randn(2, 2),))
    assert calls_in_graphs(compiled) >= 4
    for call in (f, compiled, compiled):
        x = torch.ones(4, 3)
        (view, (_, part)), flat = call(x)
        part.fill_(7)
        flat.fill_(3)
        assert (view[:, 2:] == 7).all() and (x == 3).all()


def test_gradients_of_what_leaves_a_graph():
    def f(x, w):
        a = torch.tanh(x * w)
        return a, (a.exp() + a.sin() * 3).relu().sum()

    cresset.reset()
    compiled = cresset.compile(f)
    x, w = torch.randn(5), torch.randn(5, requires_grad=True)
    for grad in (False, True, False, True, True):
        with torch.set_grad_enabled(grad):
            a, b = f(x, w)
            c, d = compiled(x, w)
            assert same(a, c) and same(b, d)
            if grad:
                assert same(torch.autograd.grad(b, [a, w]), torch.autograd.grad(d, [c, w]))
    assert calls_in_graphs(compiled) > 0


def test_modes_of_the_thread():
    def f(x, y):
        return torch.relu((x @ y).exp() * 2 - x).sin()

    compiled = cresset.compile(f)
    x, y = torch.randn(3, 3), torch.randn(3, 3)
    for _ in range(3):
        assert same(f(x, y), compiled(x, y))
        with torch.autocast("cpu"):
            assert torch.equal(f(x, y), compiled(x, y)) and compiled(x, y).dtype == f(x, y).dtype
        with torch.inference_mode():
            assert compiled(x, y).is_inference() and torch.equal(f(x, y), compiled(x, y))
        stacked = torch.randn(2, 3, 3)
        assert torch.equal(torch.func.vmap(compiled, (0, None))(stacked, y), torch.func.vmap(f, (0, None))(stacked, y))
    x.requires_grad_()
    assert same(f(x, y).detach(), compiled(x, y).detach()) and compiled(x, y).requires_grad


def test_errors_are_those_of_the_line():
    def f(x, y):
        a = (x * 2).sin().exp() + 1
        b = a @ y
        return b.relu()

    compiled = cresset.compile(f)
    x, good, bad = torch.randn(2, 3), torch.randn(3, 2), torch.randn(2, 2)
    for _ in range(3):
        assert same(f(x, good), compiled(x, good))
        with pytest.raises(RuntimeError, match="mat1 and mat2") as error:
            compiled(x, bad)
        assert error.traceback[-1].lineno == f.__code__.co_firstlineno + 1


def test_networks():
    torch.manual_seed(0)
    modules = [
        (
            nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.SiLU(), nn.Linear(8, 4), nn.Softmax(-1)),
            (3, 8),
        ),
        (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Tanh()),
            (2, 3, 8, 8),
        ),
        (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True), (2, 5, 16)),
    ]
    for module, shape in modules:
        module.eval()
        compiled = cresset.compile(module)
        with torch.no_grad():
            for i in range(5):
                x = torch.randn(shape[0] + i % 2, *shape[1:])
                assert same(module(x), compiled(x))
        x = torch.randn(*shape, requires_grad=True)
        expected, seen = (torch.autograd.grad(m(x).sum(), x)[0] for m in (module, compiled))
        assert expected.stride() == seen.stride() and torch.allclose(expected, seen, atol=1e-6)


def test_what_has_no_text_stays():
    def f(x):
        y = torch.sort(x.exp() * 2 + 1)
        return (y.values if False else y[0]) + F.one_hot(torch.tensor(1)).sum() + torch.where(x > 0, x, 1).sin().exp()

    agree(f, (torch.randn(5),), (torch.randn(2),))


def test_random_programs():
    seed = random.Random().randrange(1 << 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sum(capture_programs.compare(seed + i) for i in range(60)) > 100


def test_a_tensor_without_dimensions_as_an_index_makes_a_view():
    def f(x, i):
        row = x[i]
        return row, ((row + 1) * 2 - x[0]).exp() / 3

    compiled = cresset.compile(f)
    x = torch.randn(3, 4)
    for index in (torch.tensor(1), 1, torch.tensor([1, 2]), torch.tensor(2), slice(0, 2)):
        for _ in range(3):
            expected, found = f(x, index), compiled(x, index)
            assert same(expected, found)
            shares = [
                row.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for row, _ in (expected, found)
            ]
            assert shares[0] == shares[1]


def identities(x, y):
    made = torch.relu(x)
    turned = made.transpose(0, 1)
    same_memory = made.contiguous()
    found = (made is x, turned is made, turned is y, same_memory is made, made + 0 is not made, x.view(x.shape) is x)
    return torch.tanh(turned @ made) + same_memory.sum(), found


def test_identities_of_results():
    square = torch.randn(3, 3)
    agree(identities, (square, square), (square, torch.randn(2)))

    def known(x, y):
        made, other = torch.relu(x), torch.sigmoid(x)
        if made is x or made is other or made.t() is y or other.detach() is other:
            return x
        return torch.tanh(made + other) * 2

    assert calls_in_graphs(agree(known, (square, square), (square, torch.randn(2)))) >= 5


METHODS = [n for n in dir(torch.Tensor) if _rows.is_functional(getattr(torch.Tensor, n))]
VIEWS = sorted(n for n in METHODS if _rows.memory_of_calls(getattr(torch.Tensor, n)) == "view")


def test_views_by_the_operator_table():
    """Views that may be the tensor itself are none of them."""
    assert {"detach", "diagonal", "expand", "narrow", "permute", "select", "squeeze", "t", "transpose", "view"} <= {
        *VIEWS
    }
    assert not {"contiguous", "to", "float", "conj", "movedim", "flatten", "chunk", "relu"} & {*VIEWS}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_new_objects(name):
    x = torch.randn(2, 3)
    arguments = {
        "expand": [(2, 3)], "narrow": [(0, 0, 2)], "permute": [(0, 1)], "select": [(0, 0)], "transpose": [(0, 0), (1, 1)],
        "unsqueeze": [(0,)], "view": [(2, 3), (-1, 3)], "reshape": [(2, 3), (-1,)], "broadcast_to": [((2, 3),)],
        "swapaxes": [(0, 0), (0, 1)], "swapdims": [(0, 0), (0, 1)], "as_strided": [((2, 3), (3, 1))], "unflatten": [(1, (3,))], "unfold": [(0, 2, 1)], "expand_as": [(x,)],
        "reshape_as": [(x,)], "view_as": [(x,)],
    }  # fmt: skip
    for given in arguments.get(name, [()]):
        assert all(getattr(torch.Tensor, name)(each, *given) is not each for each in (x, x.requires_grad_()))
        with torch.inference_mode():
            assert getattr(torch.Tensor, name)(x, *given) is not x
    if name in ("detach", "squeeze", "t"):
        assert all(getattr(torch.Tensor, name)(each) is not each for each in (torch.randn(3), torch.randn(())))


def test_settings_of_torch_backends():
    def f(x):
        return (torch.relu(x).tanh() + 1) * 2 if torch.backends.mha.get_fastpath_enabled() else x

    compiled = agree(f, (torch.randn(3),))
    assert calls_in_graphs(compiled) == 4
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert compiled(torch.ones(1)) == 1
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_transformers():
    torch.manual_seed(0)
    module = torch.nn.Transformer(16, 2, 1, 1, 32, batch_first=True, dropout=0.0)
    compiled = cresset.compile(module)
    for rows in (2, 2, 2, 2, 3):
        source, target = torch.randn(rows, 4, 16), torch.randn(rows, 3, 16)
        assert same(module(source, target).detach(), compiled(source, target).detach())
    assert [plan.graph_calls > 100 for plan in cresset.explain(compiled).plans] == [True]


def test_recordings_settle(monkeypatch):
    """What a recording that made no plan has seen is not recorded again from each of its instructions on."""
    recordings, record = [], _capture.Options.__call__
    monkeypatch.setattr(_capture.Options, "__call__", lambda *given: recordings.append(given[2]) or record(*given))

    def f(x, log):
        a = len(log)
        b = a + 1
        c = b * 2 - a
        d = c + b - a
        log.append(hash(d))
        return (torch.relu(x).tanh() + 1) * 2

    compiled, log = cresset.compile(f), []
    for _ in range(20):
        compiled(torch.ones(2), log)
    assert calls_in_graphs(compiled) == 4 and len(log) == 20
    assert 2 <= len(recordings) <= 10


class Kept:
    """A class with a `__getattribute__` and many names."""

    def __init__(self):
        self.__dict__.update({f"name_{i}": i for i in range(40)})
        self.scale = 2.0

    def __getattribute__(self, name):
        if super().__getattribute__("__dict__").get("hidden") is not None:
            return "hidden"
        return super().__getattribute__(name)


def decorated(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        name = f"{self.__class__.__name__}.{function.__name__}.{type(self).__qualname__}"
        if "given" in kwargs:
            raise ValueError(name)
        return function(self, *args, **kwargs), name

    return wrapper


class Layer(nn.Linear):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)

    @decorated
    def forward(self, x, kept, sizes):
        rows = (1,) * (x.dim() - 1) + (-1,)
        sizes[x.dim() - 2] = x.size(0)
        if torch.jit.is_tracing():
            return x
        return torch.relu(super().forward(x)).tanh() * kept.scale + x.view(*rows)[:, :3] + sizes[0]


def test_names_that_decide():
    class Inner:
        pass

    def f(x, value):
        if type(value).__qualname__.endswith("<locals>.Inner") and type(value).__name__ == "Inner":
            return (torch.relu(x).tanh() + 1) * 2
        return x

    assert calls_in_graphs(agree(f, (torch.randn(3), Inner()))) == 4


def test_names_of_classes_and_functions():
    torch.manual_seed(0)
    layer, kept = Layer(4, 3), Kept()
    cresset.reset()
    compiled = cresset.compile(layer)

    def check(x):
        (a, name), (b, other) = (module(x, kept, [None, 3]) for module in (layer, compiled))
        return same(a, b) and name == other

    x = torch.randn(1, 4)
    for _ in range(6):
        assert check(x)
    plans = [plan for code in _capture._known_codes() for _, plan in _frames.plans_of(code, None)]
    assert sum(plan.info.num_calls > 5 for plan in plans if plan.counts[0]) == 1
    assert compiled(x, kept, [None, 3])[1] == f"{type(compiled).__name__}.forward.{type(compiled).__qualname__}"
    kept.scale = 3.0
    assert check(x)
    Layer.forward.__closure__[0].cell_contents.__name__ = "renamed"
    assert check(x) and ".renamed." in compiled(x, kept, [None, 3])[1]
    kept.hidden = 1
    for module in (layer, compiled):
        with pytest.raises(TypeError):
            module(x, kept, [None, 3])
    with pytest.raises(ValueError, match="renamed"):
        compiled(x, kept, [None, 3], given=1)


class Level(enum.Enum):
    LOW, MIDDLE, HIGH = range(3)


class Settings:
    level = Level.MIDDLE
    kind = nn.Linear


class Mode(str, enum.Enum):
    FAST, EXACT = "fast", "exact"


def by_mode(x, mode, other):
    if mode == Mode.FAST or mode in ("none", Mode.FAST) or other != "exact":
        return torch.relu(x).tanh() * 2 + 1
    return torch.sigmoid(x).tanh() * 3 - 1 if mode == other else x


def test_members_that_are_texts():
    x = torch.randn(3)
    modes = (Mode.EXACT, Mode.FAST, "exact", "fast", "none", 3)
    agree(by_mode, *[(x, mode, other) for mode in modes for other in modes[:3]], rounds=3)
    compiled = agree(by_mode, (x, Mode.EXACT, "exact"))
    assert calls_in_graphs(compiled) == 4


def by_level(x, settings, level):
    least = Level.LOW
    if settings.level == Level.HIGH or level != least:
        least = level
    if least == Level.HIGH or type(x) == settings.kind:  # noqa: E721
        raise ValueError(f"{type(settings).__name__}: {least.name}")
    if least in (Level.MIDDLE, Level.HIGH):
        return torch.relu(x).tanh() * 2 + 1
    return torch.sigmoid(x).tanh() * 3 - 1


def test_members_of_enumerations():
    x, settings = torch.randn(3), Settings()
    compiled = agree(by_level, (x, settings, Level.LOW), (x, settings, Level.MIDDLE))
    assert sum(plan.graph_calls for plan in cresset.explain(compiled).plans if plan.applied) == 8
    for change in (lambda: setattr(settings, "level", Level.HIGH), lambda: setattr(Settings, "level", Level.LOW)):
        change()
        for level in (Level.LOW, Level.MIDDLE):
            assert same(by_level(x, settings, level), compiled(x, settings, level))
    with pytest.raises(ValueError, match="Settings: HIGH"):
        compiled(x, settings, Level.HIGH)


class Odd:
    """Equal to all; and what it becomes as a member of a class."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def test_classes_that_come_to_compare_and_to_bind():
    class Plain:
        pass

    class Holder:
        held = Plain()

    def f(x, holder, other):
        if holder.held == other or Holder.held == other:
            return torch.relu(x).tanh() * 2 + 1
        return torch.sigmoid(x).tanh() * 3 - 1

    x, holder, other = torch.randn(3), Holder(), Plain()
    compiled = agree(f, (x, holder, other), (x, holder, Holder.held), (x, holder, Odd()))
    Plain.__eq__ = lambda self, other: True
    assert same(f(x, holder, other), compiled(x, holder, other))
    del Plain.__eq__
    assert same(f(x, holder, other), compiled(x, holder, other))
    Plain.__get__ = lambda self, owner, kind: other
    assert f(x, holder, other).equal(torch.relu(x).tanh() * 2 + 1)
    assert same(f(x, holder, other), compiled(x, holder, other))


class Table(collections.abc.MutableMapping):
    shared = {"relu": torch.relu, "tanh": torch.tanh}

    def __init__(self):
        self.own = {}

    def __getitem__(self, key):
        if key in self.own:
            return self.own[key]
        return self.shared[key]

    def __setitem__(self, key, value):
        self.own[key] = value

    def __delitem__(self, key):
        del self.own[key]

    def __iter__(self):
        return iter({**self.shared, **self.own})

    def __len__(self):
        return len({**self.shared, **self.own})

    def find(self, name, default):
        if name != "none" and name not in self:
            raise KeyError(name)
        return super().get(name, default)


class Names(dict):
    def get(self, key):
        return super().get(str(key)) or {}

    def size(self):
        return len(self.names)


def test_mappings_of_the_program():
    table, names = Table(), Names()
    names.names = [1, 2]

    def f(x, name):
        return table.find(name, None)(x).tanh() * table["tanh"](x) + names.size()

    x = torch.randn(3)
    compiled = agree(f, (x, "relu"), (x, "tanh"))
    assert sum(plan.graph_calls >= 4 for plan in cresset.explain(compiled).plans if plan.applied) >= 2
    table["relu"] = torch.sigmoid
    assert same(f(x, "relu"), compiled(x, "relu"))
    Table.shared = {"tanh": torch.relu}
    assert same(f(x, "tanh"), compiled(x, "tanh"))
    names.names.append(3)
    assert same(f(x, "tanh"), compiled(x, "tanh"))
    Names.__getattribute__ = lambda self, name: (lambda: 9) if name == "size" else object.__getattribute__(self, name)
    assert same(f(x, "tanh"), compiled(x, "tanh"))
    Table.__contains__ = lambda self, key: False
    with pytest.raises(KeyError):
        compiled(x, "tanh")


class Sizes:
    __slots__ = ("many", "tensors")

    def __init__(self, many, tensors):
        self.many, self.tensors = many, tensors


def chunked(function, count, *tensors):
    wanted = len(inspect.signature(function).parameters)
    if wanted != len(tensors):
        raise ValueError(f"{wanted} tensors")
    return torch.cat([function(*parts) for parts in zip(*[t.chunk(count) for t in tensors])])


class Forward(nn.Linear):
    def feed(self, x):
        return torch.relu(super().forward(x)).tanh()

    def forward(self, x, sizes):
        feed = self.feed
        return chunked(self.feed, sizes.many, x + sizes.tensors[0]) + feed(x)


def test_methods_as_arguments_signatures_and_slots():
    torch.manual_seed(0)
    module, sizes = Forward(4, 3), Sizes(2, [torch.ones(4)])
    cresset.reset()
    compiled = cresset.compile(module)
    x = torch.randn(4, 4)
    for _ in range(6):
        assert same(module(x, sizes), compiled(x, sizes))
    assert [plan.graph_calls > 8 for plan in cresset.explain(compiled).plans if plan.applied] == [True]
    sizes.many = 4
    sizes.tensors = [torch.zeros(4)]
    assert same(module(x, sizes), compiled(x, sizes))
    Forward.feed = lambda self, x, y=None: x[:, :3] * 2
    for each in (module, compiled):
        with pytest.raises(ValueError, match="2 tensors"):
            each(x, sizes)
    Forward.feed = lambda self, x: x[:, :3] * 2
    assert same(module(x, sizes), compiled(x, sizes))
    del sizes.many
    for each in (module, compiled):
        with pytest.raises(AttributeError):
            each(x, sizes)


def test_limits_of_dtypes():
    def f(x, mask):
        least = torch.finfo(x.dtype).min if x.is_floating_point() else torch.iinfo(x.dtype).max
        return torch.where(mask, x, torch.full_like(x, least)).amax(-1).tanh() * 2

    mask = torch.tensor([True, False, True])
    compiled = agree(f, (torch.randn(2, 3), mask), (torch.randn(2, 3).double(), mask))
    assert [plan.graph_calls >= 4 for plan in cresset.explain(compiled).plans if plan.applied] == [True, True]
    x = torch.randint(9, (2, 3))
    assert same(f(x, mask), compiled(x, mask))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_views_of_what_requires_a_gradient(mode):
    """Without gradients, too, they say that they require one, and matmul computes by another function then."""
    from torch.nn.functional import linear

    weight, bias = torch.nn.Parameter(torch.randn(48, 16)), torch.nn.Parameter(torch.randn(48))

    def f(x):
        y = linear(x.transpose(1, 0), weight[:16], bias[:16])
        z = linear(x.transpose(1, 0), weight.split([16, 32])[1], bias[16:])
        return y * 2, z + y.sum(), x.transpose(1, 0) @ weight[16:32].t()

    compiled = cresset.compile(f)
    with mode():
        for i in range(6):
            x = torch.randn(2, 3, 16)
            assert same(f(x), compiled(x)), i


def test_plans_are_made_without_warnings():
    """What an operator says of the tensors that a plan is made with, it does not say of the program's."""

    def f(x):
        y = x * 2 + 1
        return ((y - y.mean()) / (y.std() + 1e-8)).tanh() + y.var()

    compiled = cresset.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            x = torch.randn(8)
            assert same(f(x), compiled(x))
    (plan,) = cresset.explain(compiled).plans
    assert plan.raised == 0 and plan.applied == 3


def test_results_with_names():
    """What `sort`, `max`, `topk` and their like return is unpacked, asked by name and by place in one graph."""

    def f(x):
        values, indices = torch.sort(x.tanh() * 2 + 1)
        best = (x * 2).topk(2)
        return (
            values.exp(),
            indices,
            torch.max(x, -1).values * 2,
            best[0] + 1,
            best.indices,
            x.min(0)[1] * 2,
            x.aminmax().max,
        )

    compiled = agree(f, (torch.randn(4, 3),), (torch.randn(2, 5),))
    (plan,) = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert plan.graph_calls >= 12

    def whole(x):
        y = (x * 2 + 1).relu() - x
        return torch.max(y, 0), y.sort()

    agree(whole, (torch.randn(4, 3),))


def test_roots_of_sizes():
    """They are in the graph; what raises for a size of zero is Python's."""

    def f(q, k):
        q, k = q * 2, k + 1
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return torch.softmax(scores, -1) * q.shape[-1] ** 0.5 + len(k) ** 1.5

    def inverse(x):
        y = (x * 2 + 1).tanh() - 1
        return y.sum() * (1 / math.sqrt(y.shape[0]))

    compiled = agree(f, (torch.randn(2, 3, 4), torch.randn(2, 3, 4)), (torch.randn(1, 5, 0), torch.randn(1, 5, 0)))
    (plan,) = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert plan.graph_calls >= 10
    compiled = agree(inverse, (torch.randn(3),), (torch.randn(5),))
    with pytest.raises(ZeroDivisionError):
        compiled(torch.randn(0))


def test_linear_of_a_weight_that_the_graph_computes():
    """Where the weight requires a gradient, eager PyTorch multiplies in another way, with other bits."""

    def f(x, w, b):
        return F.linear(x.transpose(0, 1), w * 2, b).tanh() * 2 + F.linear(x.transpose(0, 1), w[:16], b)

    compiled = cresset.compile(f)
    for i in range(24):
        x = torch.randn([(3, 5, 40), (2, 3, 5, 40), (1, 7, 40), (5, 1, 40)][i % 4]).requires_grad_(i % 3 == 0)
        w, b = torch.randn(16, 40, requires_grad=True), torch.randn(16, requires_grad=True) if i % 8 < 4 else None
        results = [function(x, w, b) for function in (f, compiled)]
        assert same(*results), i
        gradients = [torch.autograd.grad(result.sum(), w)[0] for result in results]
        assert torch.allclose(*gradients, rtol=1e-4, atol=1e-4)
    assert all(plan.graph_calls >= 6 and plan.applied >= 3 for plan in cresset.explain(compiled).plans)


def test_splits():
    def f(x, w):
        a, b = torch.hsplit(x * w, 2)
        c, d = torch.tanh(a + b).vsplit([1])
        (e,) = torch.dsplit(torch.stack([c.sum(0), d.sum(0)], 1).unsqueeze(0), 1)
        first, second = x[0].hsplit(2)
        return e.sin() * 2, (first * second).exp()

    cresset.reset()
    compiled = cresset.compile(f, fullgraph=True)
    for i in range(6):
        x, w = torch.randn(3 + i % 2, 4, requires_grad=True), torch.randn(4, requires_grad=i > 1)
        ours, theirs = compiled(x, w), f(x, w)
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        gradients = [torch.autograd.grad(each[0].sum() + each[1].sum(), x) for each in (ours, theirs)]
        assert torch.allclose(gradients[0][0], gradients[1][0])


def test_einsum_of_a_module_that_is_imported_by_parts():
    def f(x):
        return (torch.einsum("ij,kj->ik", x, torch.relu(x)).sin() + 1).exp().tanh() * 2

    compiled = agree(f, (torch.randn(3, 2),))
    assert calls_in_graphs(compiled) >= 4 and not cresset.explain(compiled).python


def test_arguments_that_a_generator_yields():
    def added(a, b, c=1):
        return torch.sin(a) + torch.cos(b) * c

    def f(x):
        return added(*(x * i for i in range(2))) + added(*(x + i for i in range(2)), c=2)

    assert calls_in_graphs(agree(f, (torch.randn(3),))) >= 10


def test_numbers_of_tensors_and_sizes():
    def f(x, n):
        quotient, rest = divmod(n, x.shape[0])
        size = torch.Size([x.shape[0], quotient + 1])
        return torch.relu(x) + rest, size.numel(), int(x.sum() * 10), round(x.sum().item(), 2), list(size)

    compiled = cresset.compile(f)
    for i in range(8):
        x, n = torch.randn(2 + i % 3), 7 + i
        assert same(compiled(x, n), f(x, n))
    for n in (7.5, -7, 2**40, True):
        assert same(compiled(x, n), f(x, n)) if type(n) is not float else outcome(compiled, x, n) == outcome(f, x, n)


def outcome(f, *arguments):
    try:
        return f(*arguments)
    except TypeError as error:
        return str(error)


def test_lists_of_a_tensors_numbers():
    def f(x):
        y = torch.relu(x).sin() * 2 + 1
        numbers, rows = y[0].tolist(), (y > 1).tolist()
        numbers.append(len(rows))
        return y.cos().exp(), numbers, rows, [n * 2 for n in numbers], y.long()[:, 0].tolist()

    compiled = agree(f, (torch.randn(2, 3),), (torch.randn(2, 3),))
    report = cresset.explain(compiled)
    assert not report.python and [plan.applied > 6 for plan in report.plans if plan.applied] == [True], report
    for shape in ((2, 4), (3, 3), (1, 3), (0, 3)):
        x = torch.randn(shape)
        if shape[0]:
            assert same(compiled(x), f(x))
    x = torch.tensor([[float("nan"), float("inf"), 0.0]])
    assert str(compiled(x)) == str(f(x))


def test_branches_on_a_tensors_numbers():
    def f(x):
        y = torch.relu(x).sin() * 2 + 1
        first, second = y.tolist()
        return y.cos() if first > second else y.exp()

    compiled = cresset.compile(f)
    for _ in range(20):
        x = torch.randn(2)
        assert same(compiled(x), f(x))
