"""Functionalization that removes views as well: no operator that runs, or stands in the graph, returns memory of an argument,
and values are eager's."""

import itertools

import functional_programs as programs
import pytest
import torch
from functional_programs import Outcome, random_program
from op_database import op_db
from test_functional_live import VIEWS as ALL_VIEWS
from test_functional_live import WRITES, write_to_a_view_of_a_view
from test_functionalize import PROGRAMS, is_closing_copy, nodes_of
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import cresset


def without_views(function, **options):
    return cresset.functionalize(function, remove="mutations_and_views", **options)


#: Without `x.data`, which modes of Python see as a `detach` wherever it is read.
VIEWS = {name: view for name, view in ALL_VIEWS.items() if name != "data"}


def is_impure(schema):
    """Whether calls write to an argument, or may return memory of one."""
    parts = (*schema.arguments, *schema.returns)
    return any(part.alias_info is not None for part in parts) and schema.name != "aten::copy_"


class PureOperators(TorchDispatchMode):
    """Refuses operators that write, but the closing copies, and views. Operators that draw random numbers for a tensor that is
    not contiguous are called on copies."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        assert not is_impure(op._schema) or torch.Tag.nondeterministic_seeded in op.tags, op.name()
        return op(*args, **(kwargs or {}))


def agrees(a, b):
    """Sums over tensors that are laid out in another way are added in another order."""
    same = a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
    return same and torch.allclose(a, b, 1e-5, 1e-5, equal_nan=True)


def all_agree(expected, found):
    return len(expected.tensors) == len(found.tensors) and all(map(agrees, expected.tensors, found.tensors))


def agree(function, make_arguments, **options):
    """Runs both, which must have the same values; returns how the functional one ended."""
    expected = Outcome(function, make_arguments())
    functional = without_views(function, **options)

    def in_backend(*arguments):
        with PureOperators():
            return functional(*arguments)

    found = Outcome(in_backend, make_arguments())
    assert not isinstance(found.error, AssertionError), found.error
    if programs.refused(found):
        return "refused"
    assert (expected.error is None) == (found.error is None), (expected.error, found.error)
    if expected.error is not None:
        return "raised"
    assert all_agree(expected, found)
    return "equal"


def test_results_are_no_views():
    def f(x):
        y = x * 2
        return x, x[0], y, y[0], y.t(), y.view(-1)

    x = torch.randn(2, 3)
    results = without_views(f)(x)
    assert results[0] is x
    for a, b in itertools.combinations(results, 2):
        assert a.untyped_storage()._cdata != b.untyped_storage()._cdata
    for a, b in zip(results, f(x), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(cresset.UserError, match='"mutations" or "mutations_and_views", not \'views\''):
        cresset.functionalize(f, remove="views")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_to_a_view(view, write):
    def f(x):
        base = x * 1
        sibling = base[:1]
        outside = VIEWS[view](x)
        WRITES[write](outside)
        inside = base if view == "as_strided" else VIEWS[view](base)
        WRITES[write](inside)
        return base, inside, sibling, outside, x.sum(), base.sum(), inside.stride(), outside.is_contiguous()

    ends = [
        agree(f, lambda shape=shape: (torch.randn(shape, generator=torch.manual_seed(1)),))
        for shape in ((3, 4), (5, 1), (1, 5), (4, 2), (0, 3), (2, 3, 2))
    ]
    assert "equal" in ends and "refused" not in ends


@pytest.mark.parametrize("first", VIEWS)
@pytest.mark.parametrize("second", ["select", "transpose", "unsqueeze", "view_as", "split", "detach", "int16"])
def test_a_write_to_a_view_of_a_view(first, second):
    f = write_to_a_view_of_a_view(first, second)
    for shape in ((3, 4), (4, 2)):
        assert agree(f, lambda shape=shape: (torch.randn(shape, generator=torch.manual_seed(1)),)) != "refused"


LAYOUTS = {
    "contiguous of what was computed": lambda x: (y := x.t() * 2, y.contiguous().zero_(), y),
    "flatten of what was computed": lambda x: (
        h := torch.relu(x.transpose(0, 1)),
        h.transpose(0, 1).flatten().mul_(0),
        h,
    ),
    "view of zeros like": lambda x: (y := torch.zeros_like(x.t()), y.t().view(-1).add_(1), y),
    "a branch on the layout": lambda x: (y := x.t() * 2, y.sum() if y.is_contiguous() else -y.sum()),
    "exp and where": lambda x: (y := torch.where(x.t() > 0, x.t().exp(), x.t()), y.t().reshape(-1).zero_(), y),
    "slices": lambda x: (y := x[:, ::2].t() + 1, y.t().reshape(-1).zero_(), y, y.stride()),
    "sort and clone": lambda x: (y := x.t().sort(0)[0].clone(), y.contiguous().neg_(), y),
    "unbind": lambda x: (y := x.t().unbind(0)[1] * x.t(), y.t().view(-1).zero_(), y),
    "random numbers": lambda x: (torch.rand_like(x.t()), torch.nn.functional.dropout(x.t(), 0.5)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_computed_of_views_is_laid_out_as_in_eager(name):
    assert agree(LAYOUTS[name], lambda: (torch.randn(3, 4, generator=torch.manual_seed(1)),)) == "equal"


@pytest.mark.parametrize("view", ["conj", "mH", "H", "adjoint", "real", "imag", "t"])
def test_complex_views(view):
    def f(x):
        base = x * 1
        part = getattr(base, view)
        part = part() if callable(part) else part
        part.mul_(2)
        other = getattr(x, view)
        other = other() if callable(other) else other
        return base, part * 1, other + 1

    assert agree(f, lambda: (torch.randn(3, 2, dtype=torch.complex64, generator=torch.manual_seed(1)),)) == "equal"


def test_what_is_refused():
    def strided(x):
        return (x.expand(3, 2) + 1).as_strided((2,), (1,))

    with pytest.raises(cresset.UserError, match="as_strided of what was computed of expanded tensors"):
        without_views(strided)(torch.randn(2))
    assert agree(lambda x: (x.t() + 1).as_strided((2,), (1,)), lambda: (torch.arange(6.0).view(2, 3),)) == "equal"

    def given(x):
        return torch.from_numpy(x[0].numpy()) + 1

    with pytest.raises(cresset.UserError, match="memory of a view can't be given away"):
        without_views(given)(torch.randn(2, 2))
    assert torch.equal(
        without_views(lambda x: torch.from_numpy(x[0].clone().numpy()) + 1)(torch.ones(2, 2)), torch.full((2,), 2.0)
    )
    with pytest.raises(cresset.UserError, match="sizes are symbolic"):
        make_fx(without_views(lambda x: x[0] * 1), tracing_mode="symbolic")(torch.randn(2, 2))

    def overlapping(x):
        y = x.expand(3, 4)
        y[0].add_(1)
        return y

    with pytest.raises(cresset.UserError, match="several elements are one, or that it reads, too, where views"):
        without_views(overlapping)(torch.randn(1, 4))


def test_random_programs():
    ends = {"equal": 0, "refused": 0, "raised": 0}
    for seed in range(400):
        text, shapes, alias = programs.program(seed)
        ends[agree(programs.compile_text(text), lambda s=shapes, a=alias: programs.arguments(s, a)[1])] += 1
    assert ends["equal"] > 250, ends


def test_random_programs_with_gradients():
    equal = 0
    for seed in range(150):
        text, shapes, alias = programs.program(seed, gradients=True)
        function = programs.compile_text(text)
        expected, grads = programs.gradients(function, shapes, alias)
        found, found_grads = programs.gradients(without_views(function), shapes, alias)
        if programs.refused(found) or expected.error is not None or isinstance(grads, str) or grads is None:
            continue
        assert found.error is None, (text, found.error)
        assert all_agree(expected, found), text
        for a, b in zip(grads, found_grads, strict=True):
            assert (a is None) == (b is None), text
            assert a is None or torch.allclose(a, b, equal_nan=True), text
        equal += 1
    assert equal > 50


def test_traces_and_transforms():
    def f(x):
        y = x.t().contiguous().view(-1)
        y[:2] = x[0, 0]
        a, b = y.chunk(2)
        return (a * b).sum() + x.diagonal().sum()

    x = torch.randn(3, 4)
    graph = make_fx(without_views(f))(x).graph
    for node in graph.nodes:
        assert not hasattr(node.target, "_schema") or not is_impure(node.target._schema), node
    traced = cresset.trace(without_views(f), (x,))
    assert all("_copy" in node.kind() for node in traced.graph.nodes() if "view" in node.kind())
    assert torch.allclose(traced(x + 1), f(x + 1))
    batch = torch.randn(5, 3, 4)
    assert torch.allclose(torch.vmap(without_views(f))(batch), torch.vmap(f)(batch))
    assert torch.allclose(without_views(torch.vmap(f))(batch), torch.vmap(f)(batch))
    assert torch.allclose(torch.func.grad(without_views(f))(x), torch.func.grad(f)(x))
    assert torch.allclose(without_views(torch.func.grad(f))(x), torch.func.grad(f)(x))
    assert torch.allclose(cresset.functionalize(without_views(f))(x), f(x))
    assert torch.allclose(without_views(cresset.functionalize(f))(x), f(x))


# ---- Graphs


def is_impure_node(node):
    try:
        schema = torch._C.parse_schema(node.schema()) if node.kind().startswith("aten::") else None
    except RuntimeError:
        return False
    tensors = any(str(output.type()).startswith(("Tensor", "List[Tensor]")) for output in node.outputs())
    of_lists = node.kind() in ("aten::__getitem__", "aten::append")
    return schema is not None and is_impure(schema) and tensors and not of_lists


def impure_nodes(graph):
    return [node.kind() for node in nodes_of(graph) if is_impure_node(node) and not is_closing_copy(node, graph)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    source, make_arguments = PROGRAMS[name]
    plain = cresset.CompilationUnit(source).f
    functional = without_views(plain, distinct_inputs=True)
    assert impure_nodes(functional.graph) == []
    for _ in range(3):  # unoptimized, and by plans
        expected, found = Outcome(plain, make_arguments()), Outcome(functional, make_arguments())
        assert expected.error is None and found.error is None
        assert all_agree(expected, found)


def test_random_graphs():
    whole = 0
    for seed in range(300):
        source = random_program(seed)
        plain = cresset.CompilationUnit(source).f
        graph = plain.inlined_graph.copy()
        left = cresset.passes.functionalize(graph)
        views_left = cresset.passes.remove_views(graph)
        whole += not left and not views_left
        assert left or views_left or impure_nodes(graph) == [], source
        functional = cresset.function_from_graph("functional", graph)
        for choice in (True, False):
            make = lambda choice=choice: (torch.arange(16.0).view(4, 4), choice, 2)  # noqa: E731
            expected, found = Outcome(plain, make()), Outcome(functional, make())
            if expected.error is not None:
                continue
            assert found.error is None, (source, found.error)
            assert all_agree(expected, found), source
    assert whole > 150


VIEW_OPERATORS = [
    op
    for op in op_db
    if any(
        result.alias_info is not None and not result.alias_info.is_write
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{op.name.replace('.', '_')}")
        for result in schema.returns
    )
]
NO_COPY = {"to_sparse", "coalesce"}


@pytest.mark.parametrize("op", VIEW_OPERATORS, ids=lambda op: op.formatted_name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_copies_of_operators(op, dtype):
    """Each traced on its samples, without its view, and errors of its own."""
    if dtype not in op.dtypes:
        pytest.skip("not of this dtype")
    for sample in itertools.islice(op.sample_inputs("cpu", dtype), 40):
        if not isinstance(sample.input, torch.Tensor):
            continue

        def plain(x, sample=sample):
            return op(x, *sample.args, **sample.kwargs)

        x = sample.input.detach()
        try:
            traced = cresset.trace(plain, (x,), check_trace=False)
        except RuntimeError:
            continue
        graph = traced.graph.copy()
        left = cresset.passes.remove_views(graph)
        if left:
            assert op.name in NO_COPY or "as_strided" in op.name, left
            continue
        assert impure_nodes(graph) == []
        function = cresset.function_from_graph("copies", graph)
        expected, found = Outcome(plain, (x,)), Outcome(function, (x,))
        assert found.error is None, found.error
        assert all_agree(expected, found), (sample, graph)


def test_views_of_what_is_written():
    """Those that are read only are copied where they are read; those that are written stay, and what they are views of."""
    source = (
        "def f(x: Tensor, y: Tensor):\n  v = x[0]\n  w = v.view(-1)\n  x.add_(1)\n  a = v + w\n  x.add_(1)\n"
        "  t = y.t()\n  u = t[0]\n  u.mul_(2)\n  return a, v, w * 2, y.t(), y\n"
    )
    plain = cresset.CompilationUnit(source).f
    graph = plain.graph.copy()
    left = cresset.passes.remove_views(graph)
    assert [text.split(" ")[0] for text in left] == ["aten::t", "aten::select"]
    assert "a view of what it returns stays" in left[0] and "is written by 'aten::mul_'" in left[1]
    assert str(graph).count("aten::t_copy") == 1 and "aten::view(" not in str(graph)
    function = cresset.function_from_graph("copies", graph)
    for _ in range(3):
        expected, found = (Outcome(f, (torch.ones(2, 3), torch.arange(6.0).view(2, 3))) for f in (plain, function))
        assert found.error is None and all_agree(expected, found)
    with pytest.raises(cresset.UserError, match="as_strided.* stays: it reaches memory by its address"):
        without_views(cresset.CompilationUnit("def f(x: Tensor):\n  return (x + 1).as_strided([2], [1])\n").f)


def test_writes_by_out_arguments_are_no_writes_to_the_first_argument():
    """Whether `z` is `y` decides the layout of `y`."""
    plain = cresset.CompilationUnit(
        "def f(x: Tensor):\n  y = x.t() * 2\n  z = y.contiguous()\n  torch.neg(x, out=z)\n  return y, z * 1\n"
    ).f
    graph = plain.graph.copy()
    assert all("which decides what 'aten::neg' writes" in text for text in cresset.passes.remove_views(graph))
    function = cresset.function_from_graph("copies", graph)
    expected, found = (Outcome(f, (torch.arange(4.0).view(2, 2),)) for f in (plain, function))
    assert found.error is None and all_agree(expected, found)


def test_writes_of_sizes_that_stay():
    """What has views of other sizes is not where it was; whether an operator gives other sizes may follow from layouts."""
    for body, writer in (
        ("  v = x.view(-1)\n  w = v[0]\n  x.neg_()\n  x.t_()\n  return v, w, x * 2\n", None),
        ("  y = x * 1\n  v = y[1:]\n  torch._foreach_neg_([y])\n  y.transpose_(0, -1)\n  return y, v, y.squeeze()\n", "transpose_"),
        ("  y = x.t() * 2\n  v = y[-1]\n  v.squeeze_()\n  torch.exp2(v, out=y)\n  return y, v * 1\n", "exp2"),
        ("  y = x.t() * 2\n  v = y.transpose(0, 1)\n  if int(x[0, 1]) == 0:\n    z = v * 3\n  else:\n    z = v.view(-1)\n"
         "  y.clamp_(0, 9)\n  return z[1:], y\n", None),
    ):  # fmt: skip
        plain = cresset.CompilationUnit("def f(x: Tensor):\n" + body).f
        graph = plain.graph.copy()
        cresset.passes.functionalize(graph)
        left = cresset.passes.remove_views(graph)
        assert left, graph
        assert writer is None or all(f"which decides what 'aten::{writer}' writes" in text for text in left), left
        function = cresset.function_from_graph("copies", graph)
        for _ in range(3):
            arguments = [torch.arange(16.0).view(4, 4) for _ in range(2)]
            expected, found = (Outcome(f, (x,)) for f, x in zip((plain, function), arguments, strict=True))
            assert all_agree(expected, found), (body, left)
            assert torch.equal(*arguments) and arguments[0].stride() == arguments[1].stride()


# ---- Backends


def test_a_backend_with_kernels_of_its_own():
    def f(x):
        functional = cresset.functional
        part = x[0]
        seen = x * 1
        plain = functional.unwrap(part)
        assert functional.is_functional(part) and not functional.is_functional(plain)
        with functional.redispatch_to_next():
            computed = plain * 2
        functional.replace(part, computed)
        assert torch.equal(part, plain * 2) and torch.equal(x, seen)
        functional.commit_update(part)
        with functional.redispatch_to_next():
            seven = torch.full((2,), 7.0)
        made = functional.wrap(seven)
        made.add_(1)
        return x.sum(), part * 1, made

    x = torch.ones(2, 3)
    version = x._version
    total, part, made = cresset.functionalize(f)(x)
    assert torch.equal(x, torch.tensor([[2.0, 2, 2], [1, 1, 1]])) and x._version > version
    assert total == 9 and torch.equal(part, torch.full((3,), 2.0)) and torch.equal(made, torch.full((2,), 8.0))
    total, part, made = without_views(f)(torch.ones(2, 3))
    assert total == 9 and torch.equal(part, torch.full((3,), 2.0))


def test_what_backends_may_not_do():
    functional = cresset.functional
    for name in ("wrap", "unwrap", "commit_update"):
        with pytest.raises(cresset.UserError, match=f"cresset.functional.{name} is for code"):
            getattr(functional, name)(torch.ones(2))

    def f(x, *, value, grad=False):
        if grad:
            x = x * x
        functional.replace(x, value)
        functional.commit_update(x)
        return x

    with pytest.raises(cresset.UserError, match="the dtype, sizes and device"):
        cresset.functionalize(f)(torch.ones(2), value=torch.ones(3))
    transposed = torch.ones(3, 2).t()
    y = cresset.functionalize(lambda x: f(x * 1, value=transposed).view(-1) + 1)(torch.zeros(2, 3))
    assert torch.equal(y, torch.full((6,), 2.0))
    with pytest.raises(cresset.UserError, match="would lose a gradient"):
        cresset.functionalize(f)(torch.ones(2, requires_grad=True), value=torch.ones(2), grad=True)
    x = torch.ones(2)
    assert cresset.functionalize(f)(x, value=torch.zeros(2)) is x and torch.equal(x, torch.zeros(2))


def test_gradients_of_complex_views():
    """PyTorch's copy of view_as_complex has no derivative."""
    source = (
        "def f(x: Tensor):\n  a = torch.view_as_complex(x * 1)\n  b = torch.view_as_real(a * 2)\n  b[0].mul_(3)\n"
        "  return torch.view_as_real(a * a), b\n"
    )
    plain = cresset.CompilationUnit(source).f
    for functional in (without_views(plain), without_views(lambda x: plain(x))):
        gradients = []
        for function in (plain, functional):
            x = torch.randn(3, 2, generator=torch.manual_seed(3)).requires_grad_()
            results = function(x)
            gradients.append((*results, *torch.autograd.grad(sum((r * r).sum() for r in results), x)))
        for a, b in zip(*gradients, strict=True):
            assert torch.equal(a, b)
    assert impure_nodes(without_views(plain).graph) == []
    with pytest.raises(RuntimeError, match="size 2"):
        without_views(plain)(torch.ones(2, 3))


#: Of a: complex, 4 by 6.
COMPLEX_VIEWS = {
    "select": "a[1]",
    "slice": "a[1:, ::2]",
    "view": "a.view(2, 12)",
    "reshape": "a.t().reshape(2, 12)",
    "t": "a.t()",
    "transpose": "a.transpose(0, 1)",
    "permute": "a.permute(1, 0)",
    "unsqueeze": "a.unsqueeze(1)",
    "squeeze": "a[:1].squeeze(0)",
    "expand": "a[:1].expand(4, 6)",
    "diagonal": "a.diagonal(1)",
    "unbind": "a.unbind(1)[2]",
    "split": "a.split(4, 1)[1]",
    "split sizes": "a.split([2, 4], 1)[0]",
    "chunk": "a.chunk(4, 1)[2]",
    "unfold": "a.unfold(1, 3, 2)",
    "conj": "a.conj()",
    "part of conj": "a.conj()[0]",
    "real": "a.real",
    "imag": "a.imag",
    "conjugate transposed": "a.mH",
    "flatten": "a.flatten()",
}


UNWRITTEN = {"expand", "unfold", "reshape", "flatten", "unbind", "split", "split sizes", "chunk"}


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("view", COMPLEX_VIEWS)
def test_gradients_of_copies_of_complex_numbers(view, written):
    """PyTorch's copies of views have no derivatives of complex results."""
    if written and view in UNWRITTEN:
        pytest.skip("eager PyTorch refuses the write, several elements may be one, or it is no view")
    write = "  b.add_(b * 0.5)\n" if written else ""
    source = f"def f(x: Tensor):\n  a = torch.view_as_complex(x * 1)\n  b = {COMPLEX_VIEWS[view]}\n{write}  return b * 2, a\n"
    plain = cresset.CompilationUnit(source).f
    functional = without_views(plain)
    results = []
    for function in (plain, functional):
        x = torch.randn(4, 6, 2, generator=torch.manual_seed(3)).requires_grad_()
        found = [torch.view_as_real(r.resolve_conj()) if r.is_complex() else r for r in function(x)]
        results.append([*found, *torch.autograd.grad(sum((r * r).sum() for r in found), x)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)
    with torch.no_grad():
        x = torch.randn(4, 6, 2, generator=torch.manual_seed(3))
        for a, b in zip(plain(x), functional(x), strict=True):
            assert torch.equal(a, b)


def test_as_strided_that_stays_reads_the_layout_that_was():
    plain = cresset.CompilationUnit("def f(x: Tensor):\n  a = x.t() * 1\n  return a.as_strided([3], [1])").f
    graph = plain.graph.copy()
    assert any("as_strided" in reason for reason in cresset.passes.remove_views(graph))
    x = torch.arange(16.0).view(4, 4)
    assert torch.equal(cresset.function_from_graph("f", graph)(x), plain(x))
