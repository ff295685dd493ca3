"""What torch.jit.trace warns of and refuses, and what cresset.trace does there."""

import io
import re
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset


def write_input(x):
    x[0] = 2.0
    return x


def write_view(x):
    x[0].add_(1)
    return x * 2


def write_local(x):
    y = x * 2
    y.view(-1).add_(1)
    return y


def resize(x):
    y = x * 1
    y.resize_(6)
    return x + 1


def unpack(x):
    a, b, c = x
    return a + b + c


class Hooked(nn.Module):
    def __init__(self, register):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        register(self)

    def forward(self, x):
        return self.inner(x)


class Dropping(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, self.training)


class Rebinding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x):
        self.count = self.count + 1
        return x + self.count


RANDOM = ("Trace had nondeterministic nodes", "does not match the corresponding output of the Python function")
LIST = "Encountering a list at the output of the tracer"

# (function, options, what torch.jit.trace says: key phrases of warnings)
WARNINGS = {
    "write_input": (write_input, {}, ()),
    "write_view": (write_view, {}, ()),
    "write_local": (write_local, {}, ()),
    "write_to_input_out": (lambda x: torch.add(x, 1, out=x), {}, ()),
    "resize": (resize, {}, ("resize_ can't be represented in the JIT",)),
    "random": (lambda x: x + torch.rand(2), {}, RANDOM),
    "bernoulli": (lambda x: torch.bernoulli(x * 0.5), {}, RANDOM),
    "dropout": (Dropping(), {}, RANDOM),
    "dropout_eval": (Dropping().eval(), {}, ()),
    "rebinding": (Rebinding(), {}, ("does not match the corresponding output of the Python function",)),
    "list": (lambda x: [x + 1, x], {}, (LIST,)),
    "list_not_strict": (lambda x: [x + 1, x], {"strict": False}, ()),
    "list_of_sizes": (lambda x: [x, x[0]], {"strict": False}, ()),
    "dict_not_strict": (lambda x: {"a": x + 1, "b": x[0]}, {"strict": False}, ()),
    "nested": (lambda x: (x, (x[0], [x])), {"strict": False}, ()),
    "boolean": (lambda x: x if x.sum() > 0 else -x, {}, ("Python boolean",)),
    "size_boolean": (lambda x: x if x.shape[0] > 2 else -x, {}, ("Python boolean",)),
    "complex": (lambda x: x * complex(x.sum()), {}, ("Python complex",)),
    "numpy": (lambda x: x + torch.from_numpy(x.numpy()), {}, ("NumPy array", "torch.from_numpy results")),
    "literal": (lambda x: x + torch.tensor(1.0), {}, ("torch.tensor results",)),
    "sparse": (
        lambda x: torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 2)).to_dense() + x.sum(),
        {},
        ("torch.sparse_coo_tensor results",),
    ),
    "iteration": (lambda x: sum(a for a in x), {}, ("Iterating over a tensor",)),
    "unpacking": (unpack, {}, ("Iterating over a tensor",)),
    "no_grad": (lambda x: x.detach() * 2, {}, ()),
    "views": (lambda x: torch.as_strided(x, (2,), (1,)), {}, ()),
}


def said(tracer, function, options):
    torch.manual_seed(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tracer(function, (torch.ones(3, 2),), **options)
    return [(w.category.__name__, str(w.message)) for w in caught if w.category.__name__ == "TracerWarning"]


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings(name):
    function, options, phrases = WARNINGS[name]
    for tracer in (torch.jit.trace, cresset.trace):
        found = said(tracer, function, options)
        for phrase in phrases:
            assert any(phrase in text for _, text in found), f"{tracer}: {phrase}"
        unexpected = [text for _, text in found if not any(phrase in text for phrase in phrases)]
        assert not unexpected


# Where ours warns and torch.jit doesn't, or the other way round, with the reason.
DIFFERENT = {
    "len": (lambda x: x * len(x), "Using len", None),  # sizes stay sizes
    "item": (lambda x: x * x.sum().item(), "Python number", None),  # so do numbers
    "contains": (lambda x: x + 1 if 1.0 in x else x, "Python number", "Python boolean"),  # of what __contains__ does
    "hook": (lambda x: _with_hook(x), None, "hook that Tensor.register_hook is given"),
}


def _with_hook(x):
    y = x.detach().requires_grad_() * 2
    y.register_hook(lambda g: g * 2)
    return y.detach() + 1


@pytest.mark.parametrize("name", DIFFERENT)
def test_warnings_that_differ(name):
    function, theirs, ours = DIFFERENT[name]
    for tracer, phrase in ((torch.jit.trace, theirs), (cresset.trace, ours)):
        try:
            found = said(tracer, function, {"check_trace": False})
        except RuntimeError:
            assert tracer is torch.jit.trace and phrase is None
            continue
        assert [phrase in text for _, text in found] if phrase else not found


def hook_on(register):
    return lambda: Hooked(register)


def nothing(*args):
    return None


# (function or module, inputs, key phrase)
REFUSED = {
    "dict": (lambda: lambda x: {"a": x}, (torch.ones(2),), "Encountering a dict at the output of the tracer"),
    "none": (lambda: lambda x: (x, None), (torch.ones(2),), "Only tensors, lists, tuples of tensors, or dictionary"),
    "int_input": (lambda: lambda x, n: x, (torch.ones(2), 3), "cannot be traced. Only Tensors and (possibly nested)"),
    "empty_list": (lambda: lambda x, n: x, (torch.ones(2), []), "List trace inputs must have elements"),
    "empty_dict": (lambda: lambda x, n: x, (torch.ones(2), {}), "Dictionary inputs must have entries"),
    "full_backward_hook": (
        hook_on(lambda m: m.inner.register_full_backward_hook(nothing)),
        (torch.ones(2),),
        "Modules that have backward hooks assigned can't be compiled: Linear",
    ),
    "backward_hook": (
        hook_on(lambda m: m.inner.register_backward_hook(nothing)),
        (torch.ones(2),),
        "Modules that have backward hooks assigned can't be compiled: Linear",
    ),
    "own_backward_hook": (
        hook_on(lambda m: m.register_full_backward_hook(nothing)),
        (torch.ones(2),),
        "Modules that have backward hooks assigned can't be compiled: Hooked",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, inputs, phrase = REFUSED[name]
    with pytest.raises((RuntimeError, ValueError), match=re.escape(phrase)) as theirs:
        torch.jit.trace(make(), inputs)
    with pytest.raises(theirs.type, match=re.escape(phrase)):
        cresset.trace(make(), inputs)


def test_backward_pre_hooks_are_refused():
    # torch.jit loses them.
    with pytest.raises(ValueError, match="backward hooks assigned"):
        cresset.trace(Hooked(lambda m: m.inner.register_full_backward_pre_hook(nothing)), torch.ones(2))


# ---- Lists of tensors of different sizes, types and gradients

LISTS = {
    "sizes": lambda: ([torch.ones(3, 2), torch.ones(4)],),
    "types": lambda: ([torch.ones(3, 2), torch.ones(4, dtype=torch.float64)],),
    "gradients": lambda: ([torch.ones(3, 2), torch.ones(4, requires_grad=True)],),
    "dict": lambda: ({0: torch.ones(3, 2), 1: torch.ones(4)},),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_different_tensors(name):
    def function(items):
        return [items[0] + items[1].sum(), items[1] * 2]

    ours, theirs = (
        tracer(function, LISTS[name](), strict=False, check_trace=False) for tracer in (cresset.trace, torch.jit.trace)
    )
    other = LISTS[name]()
    for key in (0, 1):
        other[0][key] = torch.cat([other[0][key]] * 2).detach()
    torch.testing.assert_close(ours(*other), theirs(*other), rtol=0, atol=0)
    torch.testing.assert_close(ours(*other), function(*other), rtol=0, atol=0)


# ---- Submodules


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2)
        self.stack = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        self.unused = nn.Linear(1, 1)
        self.items = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x):
        return self.stack(self.line(self.line(x))) + self.items[0](x).sum()


@pytest.mark.filterwarnings("ignore")
def test_code_and_graphs_of_submodules():
    module = Nested()
    ours = dict(cresset.trace(module, torch.ones(1, 2)).named_modules())
    theirs = dict(torch.jit.trace(module, (torch.ones(1, 2),)).named_modules())
    assert list(ours) == list(theirs)
    for path in ("line", "stack", "stack.0", "stack.1", "items.0"):
        kinds = [[node.kind() for node in traced[path].graph.nodes()] for traced in (ours, theirs)]
        assert {k for k in kinds[0] if k.startswith("aten")} == {k for k in kinds[1] if k.startswith("aten")}
        assert "def forward(self" in ours[path].code and "def forward(self" in theirs[path].code
        assert "CallMethod" not in str(ours[path].inlined_graph)
    for traced in (ours, theirs):
        with pytest.raises((RuntimeError, AttributeError)):
            _ = traced["unused"].graph
    x = torch.rand(4, 2)
    assert torch.equal(ours["line"](x), module.line(x))


# ---- Forks


class Forking(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        first = cresset.fork(self.line, x)
        second = cresset.fork(lambda y: (y * 2 + x.sum(), y - x.size(0)), x)
        third = x * 3
        a, b = second.wait()
        return first.wait() + third + a * b


def nested_forks(x):
    def inner(y):
        other = cresset.fork(torch.relu, y)
        return y.sin() + other.wait()

    future = cresset.fork(inner, x)
    return x.cos() + future.wait() + future.wait()


def unused_fork(x):
    cresset.fork(torch.sin, x)
    return x + 1


def write_after_fork(x):
    x = x.clone()
    future = cresset.fork(torch.neg, x)
    x.add_(1)
    return x * future.wait()


def write_in_fork(x):
    total = x.clone()
    cresset.fork(total.add_, 1).wait()
    return total * 2


# (program, how many forks stay)
FORKS = {
    "module": (Forking(), 2),
    "nested": (nested_forks, 1),
    "unused": (unused_fork, 0),
    "write_after": (write_after_fork, 0),
    "write_in": (write_in_fork, 0),
}


@pytest.mark.parametrize("name", FORKS)
def test_forks_stay_forks(name):
    function, count = FORKS[name]
    traced = cresset.trace(function, torch.rand(2, 3))
    assert [node.kind() for node in traced.graph.nodes()].count("prim::fork") == count
    stored = io.BytesIO()
    traced.save(stored)
    programs = [traced]
    for load in (cresset.load, torch.jit.load):
        stored.seek(0)
        programs.append(load(stored))
    x = torch.rand(5, 3, requires_grad=True)
    for program in programs:
        for _ in range(3):
            expected, result = function(x), program(x)
            torch.testing.assert_close(result, expected, rtol=0, atol=0)
            if expected.requires_grad:
                torch.testing.assert_close(torch.autograd.grad(result.sum(), x), torch.autograd.grad(expected.sum(), x))


def test_a_fork_that_fails():
    def function(x):
        future = cresset.fork(lambda y: y @ torch.ones(7, 7), x)
        try:
            return future.wait()
        except RuntimeError:
            return x * 2

    traced = cresset.trace(function, torch.rand(2, 3))
    assert torch.equal(traced(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("text_of", [str, "{}".format, lambda size: f"{size:>4}"])
def test_texts_of_sizes(text_of):
    with pytest.warns(cresset.TracerWarning, match="Converting a tensor to a Python string"):
        traced = cresset.trace(lambda x: x * len(text_of(x.shape[0])), (torch.randn(12, 3),), check_trace=False)
    assert torch.equal(traced(torch.ones(12, 3)), torch.ones(12, 3) * len(text_of(12)))
