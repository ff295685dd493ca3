"""Operators that return memory of an argument, though their schema says that it is new, within functionalized programs: writes
on either side are seen on the other, or refused. Sparse and nested tensors, for which no wrapper stands, stay as they are."""

import warnings

import pytest
import torch
from functional_programs import compile_text

import cresset

aten = torch.ops.aten

OPERATORS = {
    "_unsafe_view": lambda y: aten._unsafe_view(y, [4]),
    "_reshape_alias": lambda y: aten._reshape_alias(y, [4], [1]),
    "unsafe_chunk": lambda y: y.unsafe_chunk(2)[1],
    "unsafe_split": lambda y: y.unsafe_split(1)[1],
    "unsafe_split along columns": lambda y: y.unsafe_split(1, 1)[1],
    "unsafe_split_with_sizes": lambda y: y.unsafe_split_with_sizes([1, 1])[0],
    "set": lambda y: aten.set.source_Tensor(torch.empty(0), y),
    "_to_cpu": lambda y: aten._to_cpu([y])[0],
    "to_dense": lambda y: y.to_dense(),
    "dequantize": torch.dequantize,
    "flatten_dense_tensors": lambda y: torch._C._nn.flatten_dense_tensors([y]),
    "unflatten_dense_tensors": lambda y: torch._C._nn.unflatten_dense_tensors(
        y.view(-1), [torch.ones(2), torch.ones(2)]
    )[1],
    "data": aten.data,
    "_cast_Float": aten._cast_Float,
    "_foobar": aten._foobar,
    "cumprod_backward": lambda y: aten.cumprod_backward(y[:1], y[:1], 0, y[:1]),
    "lift": aten.lift,
    "_lazy_clone": aten._lazy_clone,
    "conj_physical": torch.conj_physical,
    "broadcast_tensors": lambda y: torch.broadcast_tensors(y, y)[0],
    "einsum": lambda y: torch.einsum("ij->ji", y),
    "as_strided of prims": lambda y: torch.ops.prims.as_strided(y, [2], [1], 1),
}


def outcome(program, make, strides=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(t.tolist(), strides and t.stride(), t.requires_grad) for t in program(make())]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("of_argument", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_writes_are_seen_on_both_sides(name, of_argument, remove):
    def writes_result(x):
        y = x if of_argument else x * 1
        result = OPERATORS[name](y)
        result.add_(1)
        result.mul_(2)
        return y, result

    def writes_argument(x):
        y = x if of_argument else x * 1
        result = OPERATORS[name](y)
        y[0].add_(1)
        y.mul_(2)
        result[0].add_(3)
        return y, result

    for program in (writes_result, writes_argument):
        arguments, results = [], []
        for run in (program, cresset.functionalize(program, remove=remove)):
            x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            results.append(outcome(run, lambda x=x: x, strides=remove == "mutations"))
            arguments.append(x.tolist())
        assert results[0] == results[1]
        assert arguments[0] == arguments[1]


def test_parts_of_a_part():
    def program(x):
        y = x * 1
        first, second = y.unsafe_split(2)
        middle = aten._unsafe_view(second, [4])
        middle[1:3].add_(10)
        y.mul_(2)
        first.sub_(second)
        return y, first, second, middle

    x = torch.arange(8.0).view(4, 2)
    for remove in ("mutations", "mutations_and_views"):
        assert outcome(cresset.functionalize(program, remove=remove), lambda: x, False) == outcome(
            program, lambda: x, False
        )


def test_gradients_through_products_of_stacks():
    """`matmul` of stacks is made of `_unsafe_view`."""

    def program(x, w):
        y = x @ w
        y.add_(1)
        y[0].mul_(3)
        return y.sum()

    gradients = []
    for run in (program, cresset.functionalize(program), cresset.functionalize(program, remove="mutations_and_views")):
        torch.manual_seed(0)
        x, w = torch.randn(2, 3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
        run(x, w).backward()
        gradients.append((x.grad, w.grad))
    for other in gradients[1:]:
        assert all(torch.equal(a, b) for a, b in zip(gradients[0], other))


# ---- Sparse tensors


def writes_values_of(make):
    def program(x):
        y = x * 1
        sparse = make(y)
        y.add_(1)
        return y, sparse.to_dense()

    return program


MAKERS = {
    "coo": lambda y: torch.sparse_coo_tensor(torch.tensor([[0, 1]]), y, (2,)),
    "csr": lambda y: torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), y, (2, 2)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_values_of_a_living_sparse_tensor_cannot_be_written(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(cresset.UserError, match="part of a sparse"):
            cresset.functionalize(writes_values_of(MAKERS[kind]))(torch.ones(2))

        def clones(y):
            return MAKERS[kind](y.clone())

        expected, found = (
            run(torch.ones(2)) for run in (writes_values_of(clones), cresset.functionalize(writes_values_of(clones)))
        )
    assert [t.tolist() for t in expected] == [t.tolist() for t in found]


def test_values_can_be_written_when_the_sparse_tensor_is_gone():
    def program(x):
        y = x * 1
        total = MAKERS["coo"](y).to_dense().sum()
        y.add_(1)
        return y, total

    assert [t.tolist() for t in cresset.functionalize(program)(torch.ones(2))] == [[2.0, 2.0], 2.0]


def test_parts_of_sparse_tensors_cannot_be_written():
    def within(x):
        sparse = x.to_sparse()
        sparse._values().add_(1)
        return sparse.to_dense()

    def outside(sparse):
        sparse._values().add_(1)
        return sparse.to_dense()

    def reads(sparse):
        values = sparse._values()
        return (values * 2).add_(1), (sparse * 2).to_dense(), sparse.to_dense().add_(1)

    x = torch.tensor([0.0, 3.0])
    with pytest.raises(cresset.UserError, match="part of a sparse"):
        cresset.functionalize(within)(x)
    sparse = x.to_sparse()
    with pytest.raises(cresset.UserError, match="part of a sparse"):
        cresset.functionalize(outside)(sparse)
    assert sparse.to_dense().tolist() == [0.0, 3.0]
    assert [t.tolist() for t in cresset.functionalize(reads)(sparse)] == [t.tolist() for t in reads(sparse)]


# ---- Nested tensors


def nested(*sizes):
    return torch.nested.nested_tensor([torch.arange(float(n)) for n in sizes])


NESTED = {
    "made of tensors": lambda x, n: torch.nested.nested_tensor([x, x[:1]]).to_padded_tensor(0.0),
    "of tensors that are written": lambda x, n: [
        y := x * 1,
        made := torch.nested.as_nested_tensor([y, y[:1]]),
        y.add_(1),
        made.to_padded_tensor(0.0),
    ],
    "product of one from outside": lambda x, n: (n * 2).to_padded_tensor(0.0),
    "with a tensor": lambda x, n: torch.nn.functional.linear(
        torch.nested.nested_tensor([x.view(1, 3), torch.ones(2, 3)]), torch.ones(2, 3)
    ).to_padded_tensor(0.0),
    "padded and written": lambda x, n: n.to_padded_tensor(1.0).add_(x[:3]).mul_(2),
    "parts that are read": lambda x, n: [part * 2 for part in n.unbind()],
}


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", NESTED)
def test_nested_tensors_stay_as_they_are(name, remove):
    def results(run):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run(torch.tensor([1.0, 2.0, 3.0]), nested(2, 3))
        tensors = result if isinstance(result, list) else [result]
        return [t.tolist() for t in tensors if not t.is_nested]

    assert results(cresset.functionalize(NESTED[name], remove=remove)) == results(NESTED[name])


def test_nested_results():
    result = cresset.functionalize(lambda n: n * 2)(nested(2, 3))
    assert result.is_nested and [t.tolist() for t in result.unbind()] == [[0.0, 2.0], [0.0, 2.0, 4.0]]


def test_parts_of_nested_tensors_cannot_be_written():
    def program(n):
        n.unbind()[0].add_(1)
        return n.to_padded_tensor(0.0)

    with pytest.raises(cresset.UserError, match="part of a sparse, quantized or nested"):
        cresset.functionalize(program)(nested(2, 3))


# ---- Memory that moves


def test_share_memory_returns_the_tensor():
    def program(x, w):
        y = x * 2
        shared = y.share_memory_()
        shared.add_(1)
        return shared is y, w.share_memory_() is w, (shared * w).sum()

    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    same, same_outside, total = cresset.functionalize(program)(x, w)
    total.backward()
    assert same and same_outside and w.is_shared()
    assert x.grad.tolist() == [2.0] * 3 and w.grad.tolist() == [3.0] * 3


# ---- Graphs

IN_GRAPHS = (
    "y.to_dense()",
    "y.to_dense(torch.float)",
    "torch.ops.aten.data(y)",
    "torch.ops.aten._to_cpu([y])[0]",
    "torch.ops.aten._cast_Float(y)",
    "torch.ops.aten.dequantize(y)",
    "torch._C._nn.flatten_dense_tensors([y])",
    "torch._C._nn.unflatten_dense_tensors(y.view(-1), [torch.ones(2), torch.ones(2)])[1]",
    "torch.ops.aten._saturate_weight_to_fp16(y)",
    "torch.ops.aten.set(torch.empty([0]), y)",
    "torch.ops.aten.to_dense_backward(y, y * 2)",
    "torch.ops.aten._unsafe_view(y, [4])",
    "y.unsafe_split(1)[1]",
    "torch.ops.prims.as_strided(y, [2], [1], 1)",
)
WRITES = ("r.add_(1)", "y.add_(1)", "y.mul_(2)\n    r.add_(1)\n    y.mul_(3)")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("expression", IN_GRAPHS)
def test_graphs(expression, write):
    text = f"def f(x: Tensor):\n    y = x * 1\n    r = {expression}\n    {write}\n    return y, r\n"
    script = cresset.CompilationUnit(text).f
    graph = script.inlined_graph.copy()
    cresset.passes.functionalize(graph)
    functional = cresset.function_from_graph("functional", graph.copy())
    cresset.passes.reinplace(graph)
    expected = outcome(
        compile_text(f"from torch import Tensor\n{text}"), lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    )
    for run in (script, functional, cresset.function_from_graph("in_place", graph)):
        for _ in range(3):
            assert outcome(run, lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]])) == expected
