"""Every derivative rule: in a region, bit-equal to autograd where it can be, and right to the second order.

Each operator of the table of rules is called by a script with arguments from op_db (or from the list below), so that the
call stands in a differentiable region; the tape must not have recorded the operator itself.
"""

import pytest
import torch

import cresset
from cresset import _C

OPERATORS = _C._differentiable_operators()


def randn(*sizes, positive=False, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(sizes))
    tensor = torch.randn(*sizes, dtype=torch.float64, generator=generator)
    return tensor.abs() + 0.5 if positive else tensor


X, Y, Z = randn(3, 4), randn(3, 4, seed=1), randn(4, seed=2)
MASK = randn(3, 4, seed=3) > 0
INDEX = torch.tensor([2, 0, 2])

#: The expression of each rule's call, and its arguments; tensors of floats among them are differentiated.
CALLS = {
    "aten::add.Tensor": [("a + b", X, Z), ("torch.add(a, b, alpha=3)", Z, X), ("torch.add(a, b, alpha=0.5)", X, Y)],
    "aten::add.Scalar": [("a + 2.5", X), ("torch.add(a, 2, alpha=3)", X)],
    "aten::sub.Tensor": [("a - b", X, Z), ("torch.sub(a, b, alpha=2)", Z, X)],
    "aten::sub.Scalar": [("a - 1", X)],
    "aten::rsub.Scalar": [("torch.rsub(a, 2)", X), ("torch.rsub(a, 2, alpha=3)", X)],
    "aten::mul.Tensor": [("a * b", X, Z), ("a * b", randn(1, 4), randn(3, 1)), ("a * a", X)],
    "aten::mul.Scalar": [("a * 3", X), ("a * 0.1", X)],
    "aten::div.Tensor": [("a / b", X, Z.abs() + 1), ("a / b", Z, X.abs() + 1)],
    "aten::div.Scalar": [("a / 3", X)],
    "aten::square": [("torch.square(a)", X)],
    "aten::addcmul": [("torch.addcmul(a, b, c, value=0.5)", X, Y, Z)],
    "aten::lerp.Scalar": [("torch.lerp(a, b, 0.3)", X, Y)],
    "aten::where.self": [("torch.where(m, a, b)", X, Z)],
    "aten::masked_fill.Scalar": [
        ("a.masked_fill(m, 2.0)", X),
        ("torch.softmax(a, 1).masked_fill(m, 2.0)", randn(1, 4)),
    ],
    "aten::pow.Tensor_Scalar": [("a ** 3", X), ("a ** 2", X), ("a ** 0", X), ("a ** 0.5", X.abs() + 1), ("a ** 1", X)],
    "aten::gelu": [("torch.nn.functional.gelu(a)", X), ("torch.nn.functional.gelu(a, approximate='tanh')", X)],
    "aten::softplus": [("torch.nn.functional.softplus(a)", X), ("torch.nn.functional.softplus(a, 2.0, 0.5)", X)],
    "aten::silu": [("torch.nn.functional.silu(a)", X)],
    "aten::leaky_relu": [("torch.nn.functional.leaky_relu(a, 0.2)", X)],
    "aten::elu": [("torch.nn.functional.elu(a)", X)],
    "aten::hardtanh": [("torch.nn.functional.hardtanh(a)", X)],
    "aten::tanh_backward": [("torch.ops.aten.tanh_backward(a, b)", X, Y)],
    "aten::sigmoid_backward": [("torch.ops.aten.sigmoid_backward(a, b)", X, Y)],
    "aten::threshold_backward": [("torch.ops.aten.threshold_backward(a, b, 0)", X, Y)],
    "aten::mm": [("a.mm(b)", X, randn(4, 5)), ("a.mm(b.t())", X, randn(5, 4)), ("a.t().mm(b)", X, randn(3, 5))],
    "aten::bmm": [("a.bmm(b)", randn(2, 3, 4), randn(2, 4, 5))],
    "aten::addmm": [
        ("torch.addmm(a, b, c)", randn(5), X, randn(4, 5)),
        ("torch.addmm(a, b, c, beta=2, alpha=0.5)", randn(5), X, randn(4, 5)),
    ],
    "aten::linear": [
        ("torch.nn.functional.linear(a, b, c)", X, randn(5, 4), randn(5)),
        ("torch.nn.functional.linear(a, b)", X, randn(5, 4)),
        ("torch.nn.functional.linear(a, b)", randn(3, 0), randn(5, 0)),
        ("torch.nn.functional.linear(a, b)", randn(4), randn(5, 4)),
        ("torch.nn.functional.linear(a, b, c)", randn(2, 3, 4), randn(5, 4), randn(5)),
        ("torch.nn.functional.linear(a.transpose(0, 1), b, c)", randn(2, 3, 4), randn(5, 4), randn(5)),
    ],
    "aten::softmax.int": [("torch.softmax(a, 1)", X)],
    "aten::log_softmax.int": [("torch.log_softmax(a, -1)", X)],
    "aten::native_layer_norm": [
        ("torch.nn.functional.layer_norm(a, [4], b, c)", X, Z, randn(4, seed=6)),
        ("torch.nn.functional.layer_norm(a, [4])", X),
    ],
    "aten::mv": [("a.mv(b)", X, Z)],
    "aten::dot": [("a.dot(b)", Z, randn(4, seed=5))],
    "aten::t": [("a.t()", X)],
    "aten::transpose.int": [("a.transpose(0, -1)", randn(2, 3, 4))],
    "aten::permute": [("a.permute([2, 0, 1])", randn(2, 3, 4)), ("a.permute([-1, 0, 1])", randn(2, 3, 4))],
    "aten::view": [("a.view([2, -1])", X)],
    "aten::reshape": [("a.reshape([2, 6])", X)],
    "aten::unsqueeze": [("a.unsqueeze(1)", X), ("a.unsqueeze(-1)", X)],
    "aten::squeeze.dim": [("a.squeeze(1)", randn(3, 1, 2)), ("a.squeeze(0)", X)],
    "aten::expand": [("a.expand([2, 3, 4])", X), ("a.expand([3, 4])", randn(3, 1))],
    "aten::chunk": [("p, q = a.chunk(2, 1); p * q", X), ("p, q = a.chunk(2, 1); q * 3", X)],
    "aten::split.Tensor": [("p, q = a.split(3, 1); torch.mm(p, p) * q", randn(3, 4))],
    "aten::split_with_sizes": [("p, q = torch.split_with_sizes(a, [1, 3], 1); p * q[:, :1]", X)],
    "aten::unbind.int": [("p, q, s = a.unbind(0); p * q + s", X)],
    "aten::clone": [("a.clone()", X)],
    "aten::contiguous": [
        ("a.contiguous()", X),
        ("a.contiguous() * b.contiguous()", X, Y),
        ("b.contiguous() * b", X, Y),
    ],
    "aten::select.int": [("a[1]", X), ("a.select(1, -1)", X)],
    "aten::slice.Tensor": [("a[1:]", X), ("a[:, 1:3]", X), ("a[::2]", X)],
    "aten::sum": [("a.sum()", X)],
    "aten::sum.dim_IntList": [("a.sum(1)", X), ("a.sum([0, -1])", randn(2, 3, 4)), ("a.sum(0, keepdim=True)", X)],
    "aten::mean": [("a.mean()", X)],
    "aten::mean.dim": [("a.mean(1)", X), ("a.mean([0, -1])", randn(2, 3, 4)), ("a.mean(-1, keepdim=True)", X)],
    "aten::_softmax": [("torch._softmax(a, 1, False)", X)],
    "aten::_log_softmax": [("torch._log_softmax(a, -1, False)", X)],
    "aten::mse_loss": [
        ("torch.ops.aten.mse_loss(a, b)", X, Y),
        ("torch.ops.aten.mse_loss(a, b, 2)", X, Y),
        ("torch.ops.aten.mse_loss(torch.softmax(a, 1), b)", randn(1, 4), Y),
    ],
    "aten::index_select": [("a.index_select(0, i)", X)],
    "aten::gather": [("a.gather(0, i.unsqueeze(1))", X)],
    "aten::index_add": [
        ("a.index_add(0, i, b)", randn(5, 4), X),
        ("torch.index_add(a, 0, i, b, alpha=2)", randn(5, 4), X),
    ],
    "aten::scatter_add": [("a.scatter_add(0, i.unsqueeze(1).expand([3, 4]), b)", randn(5, 4), X)],
    "aten::embedding": [("torch.embedding(a, i)", X), ("torch.embedding(a, i, 2)", X)],
}
UNARY_OF_POSITIVE = {"log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal"}
UNARY_OF_SMALL = {"asin", "acos"}
for name in OPERATORS:
    if name not in CALLS:
        short = name.removeprefix("aten::")
        argument = X.abs() + 0.5 if short in UNARY_OF_POSITIVE else X / 8 if short in UNARY_OF_SMALL else X
        CALLS[name] = [(f"torch.{short}(a)", argument)]


def program(expression, tensors):
    """A function of the tensors; operators around the expression make a plan and a region worth making."""
    *statements, last = expression.split("; ")
    letters = "abc"[: len(tensors)]
    parameters = ", ".join(f"{letter}: Tensor" for letter in letters)
    lines = ["a = a * 0.5", *statements, f"r = {last}", "return r * 2.0 + 1.0"]
    return f"def f({parameters}, m: Tensor, i: Tensor):\n" + "".join(f"    {line}\n" for line in lines)


CASES = [(name, *call) for name, calls in CALLS.items() for call in calls]


def kinds(graph):
    """Kinds of nodes outside and inside of differentiable regions."""
    outside, inside = set(), set()
    for node in graph.nodes():
        outside.add(node.kind())
        if node.kind() == "prim::DifferentiableGraph":
            inside |= {inner.kind() for inner in node.g("Subgraph").nodes()}
    return outside, inside


def leaves(tensors, dtype):
    return [t.to(dtype).clone().requires_grad_() for t in tensors]


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_rule(case):
    name, expression, *tensors = CASES[case]
    text = program(expression, tensors)
    script = cresset.CompilationUnit(text).f
    namespace = {"torch": torch}
    exec(text.replace(": Tensor", ""), namespace)
    eager = namespace["f"]

    def run(function, dtype, order):
        arguments = leaves(tensors, dtype)
        result = function(*arguments, MASK, INDEX)
        results, wanted = [result], arguments
        for _ in range(order):
            total = sum((r * (r.detach() + 1)).sum() for r in results if r.requires_grad)
            if not isinstance(total, torch.Tensor):
                results = [torch.zeros_like(leaf) for leaf in arguments]
                break
            results = list(torch.autograd.grad(total, wanted, create_graph=True, allow_unused=True))
            results = [torch.zeros_like(a) if r is None else r for r, a in zip(results, arguments, strict=True)]
        return result, results

    for dtype in (torch.float32, torch.float64):
        for _ in range(2):
            run(script, dtype, 1)
        before = _C._num_recorded_regions()
        result, gradients = run(script, dtype, 1)
        assert _C._num_recorded_regions() > before, "no region was recorded"
        expected, expected_gradients = run(eager, dtype, 1)
        assert torch.equal(result, expected) and result.stride() == expected.stride()
        for found, wanted in zip(gradients, expected_gradients, strict=True):
            assert torch.equal(found, wanted) and found.dtype == wanted.dtype
        for order in (2, 3):
            _, found = run(script, dtype, order)
            _, wanted = run(eager, dtype, order)
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(
                    a, b, rtol=1e-12 if dtype == torch.float64 else 1e-4, atol=1e-10 if dtype == torch.float64 else 1e-4
                )
    outside, inside = kinds(script.graph_for(*leaves(tensors, torch.float64), MASK, INDEX))
    kind = name.split(".")[0]
    assert kind in inside, f"{kind} is not in a region"
    # A view that leaves its region is made again outside.
    views = {"aten::t", "aten::transpose", "aten::permute", "aten::view", "aten::unsqueeze", "aten::squeeze"}
    views |= {
        "aten::chunk",
        "aten::split",
        "aten::split_with_sizes",
        "aten::unbind",
        "aten::expand",
        "aten::select",
        "aten::slice",
        "aten::reshape",
        "aten::contiguous",
        "aten::mul",
    }
    assert kind not in outside or kind in views


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES}))
def test_rule_by_finite_differences(name):
    _, expression, *tensors = next(c for c in CASES if c[0] == name)
    text = program(expression, tensors)
    script = cresset.CompilationUnit(text).f
    arguments = leaves(tensors, torch.float64)
    for _ in range(2):
        script(*arguments, MASK, INDEX)
    function = lambda *a: script(*a, MASK, INDEX)  # noqa: E731
    assert torch.autograd.gradcheck(function, arguments)
    assert torch.autograd.gradgradcheck(function, arguments)


def test_every_rule_is_tested():
    assert set(CALLS) == set(OPERATORS)
