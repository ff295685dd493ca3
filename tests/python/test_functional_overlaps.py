"""Writes that eager PyTorch refuses, as operands have elements of what is written: its error in both forms."""

import itertools
import warnings

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import cresset

MESSAGE = "some elements of the input tensor and the written-to tensor refer to a single memory location"
IN_PLACE = [op for op in op_db if op.inplace_variant is not None and torch.float32 in op.dtypes]


def overlapping(x, y, where):
    """The same elements, of one memory: y begins behind x's first element, where x begins, or behind x's last one."""
    begin = {"behind": 1, "there": 0, "apart": x.numel()}[where]
    memory = torch.zeros(begin + x.numel() + y.numel())
    a, b = memory[: x.numel()].view(x.shape), memory[begin : begin + y.numel()].view(y.shape)
    b.copy_(y)
    a.copy_(x)
    return a, b


def outcome(function, *arguments):
    """What is written, or that the operator refuses."""
    try:
        function(*arguments)
    except RuntimeError as error:
        return "refused" if MESSAGE in str(error) else "another error"
    return arguments[0].tolist()


def differing(op):
    for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), 6):
        places = [i for i, a in enumerate(sample.args) if isinstance(a, torch.Tensor) and a.dtype == torch.float32]
        x = sample.input
        if not places or not isinstance(x, torch.Tensor) or x.numel() < 2 or not sample.args[places[0]].numel():
            continue
        y = sample.args[places[0]]

        def write(a, b):
            args = list(sample.args)
            args[places[0]] = b
            op.inplace_variant(a, *args, **sample.kwargs)

        try:
            traced = cresset.trace(write, (x.clone(), y.clone()), check_trace=False)
        except RuntimeError:  # the in-place form takes no such arguments
            continue
        for where in ("behind", "there", "apart"):
            if where == "there" and x.shape != y.shape:
                continue
            expected = outcome(write, *overlapping(x, y, where))
            for form in (cresset.functionalize(write), cresset.functionalize(traced)):
                found = outcome(form, *overlapping(x, y, where))
                if expected != found and repr(expected) != repr(found):
                    yield op.formatted_name, where, expected, found


@pytest.mark.parametrize("part", range(4))
def test_in_place_operators(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [difference for op in IN_PLACE[part::4] for difference in differing(op)]
    assert not told, "\n".join(map(str, told[:10]))


PROGRAMS = [
    "x[1:].add_(x[:-1])",
    "a = x * 2\n  a[1:].mul_(a[:-1])",
    "a = x * 2\n  for i in range(3):\n    a[i:].copy_(a[:a.size(0) - i])",
    "a = x * 2\n  torch.add(a[:2], a[2:], out=a[1:3])",
    "a = x * 2\n  a.index_copy_(0, torch.tensor([0]), a[1:2])",
    "x.add_(x[0])",
    "x.expand(3, -1).add_(1)",
    "x.unsqueeze(0).expand(3, -1).add_(1)",
]


@pytest.mark.parametrize("body", PROGRAMS)
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_programs(body, remove):
    """The same error, and the argument stays as it was."""
    text = f"def f(x):\n  {body}\n  return x * 1\n"
    names = {"torch": torch}
    exec(text, names)
    plain = names["f"]
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError) as expected:
        plain(x.clone())
    forms = [cresset.functionalize(plain, remove=remove)]
    if remove == "mutations":
        graph = cresset.CompilationUnit(text).f.graph.copy()
        cresset.passes.functionalize(graph)
        forms.append(cresset.function_from_graph("f", graph))
        cresset.passes.reinplace(graph)
        forms.append(cresset.function_from_graph("f", graph))
    for form in forms:
        for _ in range(3):
            y = x.clone()
            with pytest.raises((RuntimeError, cresset.UserError)) as found:
                form(y)
            if remove == "mutations":
                assert str(expected.value).splitlines()[0] in str(found.value)
            assert torch.equal(y, x)


def test_pieces_that_lie_apart():
    """Operands of the same memory, but no common elements."""

    def f(x):
        a = x * 2
        a[:2].add_(a[2:])
        low, high = a.chunk(2)
        high.mul_(low)
        return a

    x = torch.arange(4.0)
    text = "def f(x):\n  a = x * 2\n  a[:2].add_(a[2:])\n  low, high = a.chunk(2)\n  high.mul_(low)\n  return a\n"
    for form in (
        cresset.functionalize(f),
        cresset.functionalize(f, remove="mutations_and_views"),
        cresset.functionalize(cresset.CompilationUnit(text).f),
    ):
        assert torch.equal(form(x), f(x))


LISTS = """
def f(x):
    a = x * 2
    b = x * 3
    torch._foreach_mul_([a, b], [b, a])
    return a, b
def g(x):
    a = x * 2
    b = x * 3
    torch._foreach_mul_([a, b], [a, x])
    return a + 1, b
"""


def test_lists_whose_elements_read_what_earlier_ones_wrote():
    unit = cresset.CompilationUnit(LISTS)
    names = {}
    exec("import torch\n" + LISTS, names)
    x = torch.randn(3)
    for name, functional in (
        ("f", cresset.functionalize(names["f"])),
        ("f", cresset.functionalize(unit.f)),
        ("g", cresset.functionalize(names["g"])),
        ("g", cresset.functionalize(unit.g)),
    ):
        for found, wanted in zip(functional(x), names[name](x), strict=True):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    "call",
    [
        "torch._foreach_mul_([a, b], [b, a])",
        "torch._foreach_mul_([a, b, c], [b, c, a])",
        "torch._foreach_add_([a, a], 1)",
        "torch._foreach_add_([a, b], [b, a], alpha=2)",
        "torch._foreach_addcmul_([a, b], [b, a], [a, b])",
        "torch._foreach_copy_([a[0], a[1]], [a[1], a[0]])",
        "torch._foreach_pow_([a, b], [b, a])",
        "torch._foreach_lerp_([a, b], [b, a], [b, a])",
        "s = a[0, 0]\n  torch._foreach_mul_([s, b], s)",
        "torch._foreach_mul_([x, y], [y, x])",
    ],
)
def test_lists_on_graphs(call):
    """A call that reads what it has written becomes a call for each element, as PyTorch's kernels go through them."""
    plain = cresset.CompilationUnit(
        f"def f(x: Tensor, y: Tensor):\n  a = x * 1\n  b = y * 1\n  c = y + 1\n  {call}\n  return a, b, c, x, y\n"
    ).f
    functional = cresset.functionalize(plain, distinct_inputs=True)

    def arguments():
        return [torch.arange(1.0, 5.0).view(2, 2) / 3, torch.arange(2.0, 6.0).view(2, 2) / 5]

    for found, wanted in zip(functional(*arguments()), plain(*arguments()), strict=True):
        assert torch.equal(found, wanted)


def test_what_reads_elements_that_it_writes_stays():
    """What an operator with out= makes of them is its kernel's: garbage, an error, or the right answer."""
    for call in (
        "torch.cumsum(y[1:], 0, out=y[:3])",
        "torch.index_select(y, 0, i, out=y)",
        "torch.cat([y[1:], y[:1]], out=y)",
        "torch.mv(m, y, out=y)",
        "torch.mv(m, x, out=y)",  # x and y may be one
    ):
        source = "def f(x: Tensor, y: Tensor, i: Tensor, m: Tensor):\n  {}\n  return y\n"
        plain = cresset.CompilationUnit(source.format(call)).f
        graph = plain.graph.copy()
        left = cresset.passes.functionalize(graph)
        assert len(left) == 1 and "may read elements that it writes" in left[0], left
        after = cresset.function_from_graph("after", graph)
        found = []
        for function in (plain, after):
            y = torch.arange(4.0)
            found.append(outcome(lambda y, f=function: f(y, y, torch.tensor([1, 0, 3, 2]), torch.ones(4, 4)), y))
        assert found[0] == found[1]
    plain = cresset.CompilationUnit(source.format("torch.mv(m, x, out=y)")).f
    arguments = [torch.arange(4.0), torch.zeros(4), torch.tensor([0]), torch.ones(4, 4)]
    assert torch.equal(cresset.functionalize(plain, distinct_inputs=True)(*arguments), torch.full((4,), 6.0))


@pytest.mark.parametrize(
    "call, is_refused",
    [
        ("y.index_put_([i, y], v)", True),
        ("y.index_put_([y, i], v)", True),
        ("y.index_put_([i, i], y)", True),
        ("y.index_put_([i, i], v)", False),
        ("torch._index_put_impl_(y, [i, y[:1]], v)", True),
    ],
)
def test_each_index_is_looked_at(call, is_refused):
    source = f"def f(x: Tensor, i: Tensor, v: Tensor):\n  y = x * 1\n  return {call}\n"
    plain = cresset.CompilationUnit(source).f
    scope = {"torch": torch}
    exec(f"def f(x, i, v):\n  y = x * 1\n  return {call}\n", scope)

    def end(function):
        x = torch.zeros(2, 2, dtype=torch.int64)
        return outcome(lambda x: function(x, torch.zeros(2, 2, dtype=torch.int64), torch.ones(2, 2).long()), x)

    ends = [end(form) for form in (scope["f"], cresset.functionalize(scope["f"]), cresset.functionalize(plain))]
    assert ends[0] == ends[1] == ends[2], ends
    assert (ends[0] == "refused") == is_refused, ends


INDEX = torch.tensor([3, 2, 1, 0])


def indices(*shape):
    return torch.empty(*shape, dtype=torch.long)


READ_AND_WRITTEN = {
    "index_select": lambda x: torch.index_select(x, 0, INDEX, out=x),
    "index_select, a part": lambda x: torch.index_select(x, 0, INDEX[:2], out=x[2:]),
    "gather": lambda x: torch.gather(x, 0, torch.zeros(4, 4, dtype=torch.long), out=x),
    "matmul": lambda x: torch.matmul(x, x, out=x),
    "mv": lambda x: torch.mv(x, x[0], out=x[1]),
    "addmm": lambda x: torch.addmm(x, x, x, out=x),
    "addmm_": lambda x: x.addmm_(x, x),
    "cumsum": lambda x: torch.cumsum(x, 0, out=x),
    "cumprod": lambda x: torch.cumprod(x, 1, out=x),
    "sort": lambda x: torch.sort(x, 0, out=(x, indices(0))),
    "cat": lambda x: torch.cat([x[:2], x[2:]], out=x),
    "cat, exchanged": lambda x: torch.cat([x[2:], x[:2]], out=x),
    "take": lambda x: torch.take(x, torch.arange(15, -1, -1).reshape(4, 4), out=x),
    "add": lambda x: torch.add(x, 1, out=x),
    "add, transposed": lambda x: torch.add(x.t(), 1, out=x),
    "where": lambda x: torch.where(x > 0, x.t(), x, out=x),
    "tril": lambda x: torch.tril(x, out=x),
    "triu, transposed": lambda x: torch.triu(x.t(), out=x),
    "max": lambda x: torch.max(x, 0, out=(x[0], indices(4))),
    "max, resized": lambda x: torch.max(x * 2, 0, out=(x[0], indices(0))),
    "kthvalue, resized": lambda x: torch.kthvalue(x, 2, 0, out=(x.new_empty(0), indices(0))),
    "sum": lambda x: torch.sum(x, 0, out=x[0]),
    "mean": lambda x: torch.mean(x, 0, out=x[1]),
    "masked_scatter_": lambda x: x.masked_scatter_(x > 0, x),
    "scatter_": lambda x: x.scatter_(0, torch.zeros(4, 4, dtype=torch.long), x),
    "index_copy_": lambda x: x.index_copy_(0, INDEX, x),
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "lists": lambda x: torch._foreach_mul_([x[0], x[1]], [x[1], x[0]]),
    "lists, one tensor": lambda x: torch._foreach_add_([x, x], [x, x]),
    "lists, copied": lambda x: torch._foreach_copy_([x[0], x[1]], [x[1], x[0]]),
}


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
def test_kernels_that_read_what_they_write(name):
    """What kernels do then is theirs to say: an error, or what they read in between. It is the same in the live form."""

    def told(form):
        torch.manual_seed(0)
        x = torch.randn(4, 4)
        try:
            result = form(x)
        except RuntimeError as error:
            return str(error)
        return str((x, result))

    expected = told(READ_AND_WRITTEN[name])
    assert told(cresset.functionalize(READ_AND_WRITTEN[name])) == expected
    try:
        without_views = told(cresset.functionalize(READ_AND_WRITTEN[name], remove="mutations_and_views"))
    except cresset.UserError as error:
        without_views = str(error)
    assert without_views == expected or "where views are removed" in without_views
