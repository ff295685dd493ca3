"""Backends of cresset.compile: the graphs that they get, and what becomes of what they return."""

import gc
import operator
import random
import sys
import warnings
import weakref

import capture_programs
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _frames


class Backend:
    """Keeps the graphs that it gets, and counts their calls."""

    def __init__(self):
        self.graphs, self.examples, self.calls = [], [], 0

    def __call__(self, gm, example_inputs):
        assert isinstance(gm, torch.fx.GraphModule)
        self.graphs.append(gm)
        self.examples.append(example_inputs)

        def run(*inputs):
            self.calls += 1
            return gm(*inputs)

        return run

    def functions(self, index=-1):
        return [n.target for n in self.graphs[index].graph.nodes if n.op.startswith("call_")]

    def inputs(self, index=-1):
        return [n.name for n in self.graphs[index].graph.nodes if n.op == "placeholder"]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def agree(f, *calls, rounds=3, **options):
    backend = Backend()
    compiled = cresset.compile(f, backend=backend, **options)
    for _ in range(rounds):
        for args in calls:
            assert same(f(*args), compiled(*args))
    return backend


def test_a_graph_per_stretch():
    def toy(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    calls = [(torch.randn(10), torch.ones(10)), (torch.randn(10), -torch.ones(10))]
    backend = agree(toy, *calls)
    # From CPython 3.13 on the comparison and its truth are one instruction.
    compared = [operator.lt] if sys.version_info < (3, 13) else []
    assert backend.functions(0) == [torch.abs, operator.add, operator.truediv, "sum", *compared]
    assert backend.inputs(0) == ["a", "b"] and backend.calls > 4
    assert [n.name for n in backend.graphs[0].graph.nodes if n.op != "output"][-1] == ("lt" if compared else "sum_1")


def test_print_readable():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x):
            hidden = torch.relu(self.first(x))
            return hidden * self.scale

    module = Net()
    backend = agree(module, (torch.randn(2, 3),))
    gm = backend.graphs[0]
    assert dict(gm.named_parameters()).keys() == {"first.weight", "first.bias"} or set(dict(gm.named_buffers())) == {
        "scale"
    }
    assert gm.first.weight is module.first.weight and gm.scale is module.scale
    text = gm.print_readable(print_output=False)
    assert "hidden = torch.relu(" in text and "self.first.weight" in text
    assert "test_capture_backends.py" in text and "hidden = torch.relu(self.first(x))" in text
    assert backend.inputs() == ["x"] and len(backend.examples[0]) == 1


def test_parameters_are_those_of_the_call():
    module = nn.Linear(3, 2)
    backend = Backend()
    compiled = cresset.compile(module, backend=backend)
    x = torch.randn(4, 3)
    for _ in range(3):
        assert same(compiled(x), module(x))
    with torch.no_grad():
        module.weight.mul_(2)
    assert same(compiled(x), module(x)) and len(backend.graphs) == 1
    module.weight = nn.Parameter(torch.ones(2, 3))
    for _ in range(3):
        assert same(compiled(x), module(x))
    assert len(backend.graphs) == 2
    module.zero_grad()
    compiled(x).sum().backward()
    assert module.weight.grad is not None


def test_sizes_and_numbers_are_inputs():
    def f(x, n, scale):
        y = x[:, :n] * scale
        return y.reshape(y.shape[0] * y.shape[1]) + x.shape[0]

    calls = [(torch.randn(i, 5), n, s) for i in (1, 2, 3) for n in (2, 4) for s in (1.5, -0.0)]
    backend = agree(f, *calls)
    assert len(backend.graphs) == 1, [g.code for g in backend.graphs]
    assert sorted(type(example).__name__ for example in backend.examples[0]) == ["Tensor", "float", "int", "int"]
    backend = agree(f, *calls, dynamic=False, cache_limit=64)
    assert len(backend.graphs) == 6  # of sizes and n
    assert all(type(example) is not int for examples in backend.examples for example in examples)


def test_a_branch_on_a_size_is_a_check():
    def f(x):
        y = x @ x.T
        if y.shape[0] > 2:
            return y + 1
        return y.sum()

    calls = [(torch.randn(n, 3),) for n in (1, 2, 3, 4)]
    backend = agree(f, *calls)
    assert len(backend.graphs) == 2


def test_numbers_of_parts_are_checked():
    def f(x):
        total = 0
        for part in x.split(2):
            total = total + part.sum()
        b, *_ = x.shape
        return total * b

    backend = agree(f, *[(torch.randn(n),) for n in (2, 3, 4, 6)])
    assert backend.calls


def test_flags_and_texts_are_constants():
    class Options:
        keep, reduction, dtype, flag = True, "mean", torch.float64, False

    options = Options()

    def f(x):
        y = F.mse_loss(x, x * 2, reduction=options.reduction) + x.sum(0, keepdim=options.keep)
        y = y.to(options.dtype)
        return F.max_pool2d(x[None], 1, return_indices=options.flag), y

    backend, x = Backend(), torch.randn(3, 3)
    compiled = cresset.compile(f, backend=backend)
    for change in ({}, {"keep": False}, {"reduction": "sum"}, {"dtype": torch.float16}, {"flag": True}, {}):
        for name, value in change.items():
            setattr(options, name, value)
        for _ in range(3):
            assert same(f(x), compiled(x))
    assert all(backend.inputs(i) == ["x"] for i in range(len(backend.graphs))) and backend.calls >= 6


def test_results_in_containers_and_gradients():
    def f(x, y):
        a = x.exp()
        values, indices = (a * y).sort(-1)
        return {"a": 1}["a"], [a, (values, 3)], a

    backend = Backend()
    compiled = cresset.compile(lambda x, y: (lambda a: ([a, (a * y).sort(-1)[0]], a))(x.exp()), backend=backend)
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    for _ in range(4):
        (first, second), third = compiled(x, y)
        assert first is third
        assert same(torch.autograd.grad(second.sum(), x), torch.autograd.grad((x.exp() * y).sum(), x))
    agree(f, (x, y))


def test_fullgraph():
    def good(x, n):
        for i in range(3):
            x = x * i + n
        return x

    backend = Backend()
    compiled = cresset.compile(good, backend=backend, fullgraph=True)
    x = torch.randn(3)
    for n in (1, 2, 3):
        assert same(compiled(x, n), good(x, n))
    assert len(backend.graphs) == 1 and backend.calls == 2

    printed = []

    def bad(x):
        y = x + 1
        print("no", file=None if printed.extend(bytes([1])) else None)
        return y

    line = bad.__code__.co_firstlineno + 2
    for options in ({"backend": backend}, {}):
        compiled = cresset.compile(bad, fullgraph=True, **options)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=rf"line {line} can't be in one graph.*\n.*\n.*print\(") as error:
                compiled(x)
            assert error.traceback[-1].name == "bad" and error.traceback[-1].lineno + 1 == line
    assert not printed


@pytest.mark.parametrize(
    "text, advice",
    [
        ("if x.sum() > 0:\n    x = -x", "torch.where"),
        ("w.add_(1)", "add instead of add_"),
        ("w += 1", "y = y \\+ x"),
        ("cresset.graph_break()", "graph break out"),
        ("x = x * x.sum().tolist()", "the tensor itself"),
        ("x = x * id(x)", "allow_in_graph"),
        ("try:\n    print(x)\nexcept Exception:\n    pass", "Print outside"),
    ],
)
def test_fullgraph_says_what_to_write(text, advice):
    # What the tape records of writes to what a plan was given can't be undone.
    names = {"torch": torch, "cresset": cresset, "w": torch.randn(3, requires_grad=True) * 2}
    body = "\n".join(f"    {line}" for line in text.splitlines())
    exec(f"def f(a):\n    global w\n    x = a * 2\n{body}\n    return x\n", names)
    compiled = cresset.compile(names["f"], fullgraph=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=advice):
            compiled(torch.randn(3))


def test_fullgraph_in_a_callee():
    def helper(x):
        return x + len(str(x))

    def f(x):
        return helper(x) * 2

    with pytest.raises(RuntimeError, match=f"line {helper.__code__.co_firstlineno + 1} can't") as error:
        cresset.compile(f, fullgraph=True)(torch.randn(2))
    assert [entry.name for entry in error.traceback[-2:]] == ["f", "helper"]


def test_fullgraph_and_the_limit():
    def f(x, k):
        return x * k if k else x + 1

    compiled = cresset.compile(f, fullgraph=True, cache_limit=1)
    for _ in range(2):
        assert same(compiled(torch.ones(2), 2), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="cache_limit"):
        compiled(torch.ones(2), 0)
    assert same(compiled(torch.ones(2), 2), torch.full((2,), 2.0))


def test_backends_that_fail():
    def f(x):
        y = x * 2
        return y + 1

    def broken(gm, inputs):
        raise KeyError("why")

    line = f.__code__.co_firstlineno
    for _ in range(2):
        with pytest.raises(
            cresset.BackendError, match=rf"broken raised KeyError: 'why'(.*\n)+.*line {line + 1}"
        ) as error:
            cresset.compile(f, backend=broken)(torch.ones(2))
        assert isinstance(error.value.__cause__, KeyError)
    with pytest.raises(cresset.BackendError, match="not callable"):
        cresset.compile(f, backend=lambda gm, inputs: None)(torch.ones(2))
    # What it returned fails when it is called, or returns something else: the function runs as Python.
    for run in (lambda x: 1 / 0, lambda x: None, lambda x: (x, x)):
        compiled = cresset.compile(f, backend=lambda gm, inputs, run=run: run)
        for _ in range(4):
            assert same(compiled(torch.ones(2)), torch.full((2,), 3.0))
    with pytest.raises(ValueError, match="knows no backend by the name 'inductor'"):
        cresset.compile(f, backend="inductor")
    with pytest.raises(TypeError, match="backend is a function"):
        cresset.compile(f, backend=3)


def test_backends_are_kept_apart():
    def f(x):
        return x + 1

    one, two = Backend(), Backend()
    compiled = [cresset.compile(f, backend=one), cresset.compile(f, backend=two), cresset.compile(f)]
    for _ in range(3):
        for call in compiled:
            assert same(call(torch.ones(2)), torch.full((2,), 2.0))
    assert len(one.graphs) == len(two.graphs) == 1 and one.calls == two.calls == 2
    assert "graph of 1 calls" in str(cresset.explain(compiled[0]))
    assert "graph" not in str(cresset.explain(compiled[2]))
    del compiled[0], call
    gc.collect()
    assert len(_frames.plans_of(f.__code__, None)) == 2


def test_modules_may_die():
    def f(module, x):
        return module(x)

    kept = []

    def backend(gm, inputs):
        kept.append(weakref.ref(gm))
        return gm.forward

    compiled = cresset.compile(f, backend=backend)
    module = nn.Linear(2, 2)
    weight = weakref.ref(module.weight)
    for _ in range(3):
        compiled(module, torch.ones(2))
    del module
    gc.collect()
    assert weight() is None and kept[0]() is None


def test_allow_in_graph():
    @cresset.allow_in_graph
    def special(x, k):
        return x * k if x.sum() > 0 else x - k

    def f(x):
        return special(x + 1, 2).sin()

    backend = agree(f, (torch.ones(2),), (-3 * torch.ones(2),), fullgraph=True)
    assert backend.functions() == [operator.add, special, "sin"] and backend.calls == 5
    with pytest.raises(TypeError, match="takes a Python function"):
        cresset.allow_in_graph(3)


def test_a_method_that_an_object_hides():
    def f(x):
        return x.contiguous().relu()

    backend, x = Backend(), torch.randn(3)
    compiled = cresset.compile(f, backend=backend)
    for _ in range(3):
        assert same(compiled(x), x.clamp(min=0))
    x.relu = lambda: "hidden"
    for _ in range(3):
        assert compiled(x) == f(x) == "hidden"


def test_identity_stays():
    def f(x):
        y = x.contiguous()
        return y is x, y + 1

    x = torch.randn(3, 4)
    agree(f, (x,), (x.T,))


def test_random_programs():
    rng = random.Random()
    seed = rng.randrange(1 << 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = sum(capture_programs.compare(seed + i, capture_programs.WITH_BACKEND) for i in range(60))
    assert ran > 100
