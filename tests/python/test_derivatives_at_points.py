"""Derivatives of the first and second order where formulas branch, against eager PyTorch: at zeros, at ties, of singular matrices, of sizes for which
PyTorch has another kernel, in 16 bits, and where sparse gradients come together with dense ones. Calls and programs are those of test_derivatives.py.
"""

import pytest
import sampling
import torch
from derivative_calls import SQUARE, SQUARES, NotDifferentiated, randn
from test_derivatives import CASES, both, numerics_of, run

import cresset
from cresset import _C

#: What tensors of the calls become.
POINTS = {
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "few": lambda t: torch.randint(-1, 2, t.shape, generator=torch.Generator().manual_seed(3)).to(t.dtype),
}

#: Formulas that ask for zeros, equal numbers or singular matrices: always all of their calls.
BRANCHING = {
    "det",
    "svd",
    "eigh",
    "qr",
    "prod",
    "cumprod",
    "logcumsumexp",
    "amax",
    "amin",
    "aminmax",
    "median",
    "pow",
    "dist",
}


def moved(tensor, point):
    if tensor is None or isinstance(tensor, NotDifferentiated):
        return tensor
    return POINTS[point](tensor)


def equal(a, b):
    return torch.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def outcomes(function, tensors, dtype):
    """The result with its first gradients, without and with a graph, and its second ones; None where one of them raises."""
    try:
        found = [run(function, tensors, dtype, *options) for options in ((1, False), (1, True), (2,))]
    except RuntimeError:
        return None
    return [tensor for result, gradients in found for tensor in (result, *gradients)]


def differs(expression, tensors, dtype=torch.float64, same=equal):
    script, eager = both(expression, tensors)
    wanted = outcomes(eager, tensors, dtype)
    if wanted is None:
        return False
    for _ in range(2):
        run(script, tensors, dtype, 1)
    before = _C._num_recorded_regions()
    found = outcomes(script, tensors, dtype)
    assert _C._num_recorded_regions() > before, "no region was recorded"
    return found is None or not all(map(same, found, wanted))


def is_branching(name):
    return not BRANCHING.isdisjoint(name.split("::")[1].split(".")[0].split("_"))


#: Singular vectors of equal singular values are not determined: the last bits of products decide, which differ between processors.
UNDETERMINED = {("ones", "aten::linalg_svd")}


@pytest.mark.parametrize("point", POINTS)
def test_rules_at(point):
    others = sampling.share([case for case in CASES if not is_branching(case[0])], 16, key=point)
    wrong = []
    for name, expression, *tensors in [*filter(lambda case: is_branching(case[0]), CASES), *others]:
        if (point, name) in UNDETERMINED:
            continue
        with numerics_of(name):
            if differs(expression, [moved(tensor, point) for tensor in tensors]):
                wrong.append(f"{name}: {expression}")
    assert not wrong, "\n".join(wrong)


SINGULAR = torch.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=torch.float64)


@pytest.mark.parametrize(
    "expression, tensor",
    [
        ("torch.prod(a)", torch.tensor([0.0, 0, 2, 3], dtype=torch.float64)),
        ("torch.prod(a)", torch.tensor([0.0, 1, 2, 3], dtype=torch.float64)),
        ("torch.prod(a, 1)", torch.tensor([[0.0, 0, 2], [3, 4, 5]], dtype=torch.float64)),
        ("torch.det(a)", torch.ones(2, 2, dtype=torch.float64)),
        ("torch.linalg.det(a)", SINGULAR),
        ("torch.linalg.det(a)", torch.stack([SINGULAR, SQUARE, SQUARES[1], SINGULAR.t()])),
        ("torch.linalg.det(a)", torch.zeros(2, 1, 1, dtype=torch.float64)),
        ("torch.linalg.slogdet(a)[1]", SINGULAR),
        ("torch.logdet(a)", SINGULAR),
        ("torch.linalg.svdvals(a)", torch.ones(3, 4, dtype=torch.float64)),
        ("torch.linalg.svd(a)[1]", torch.zeros(4, 3, dtype=torch.float64)),
        ("torch.linalg.svd(a)[0]", torch.ones(4, 3, dtype=torch.float64)),
        ("torch.linalg.eigh(a)[0]", torch.eye(3, dtype=torch.float64)),
        ("torch.linalg.eigh(a)[1] * 0.0", torch.eye(3, dtype=torch.float64)),
        ("torch.cdist(a, a[:2] + 1)", randn(30, 3)),
        ("torch.cdist(a, a[:, :2] + 1)", randn(2, 30, 3)),
        ("torch.cdist(a, a)", randn(26, 3)),
        ("torch.ops.aten.cdist(a, a[:2] + 1, 2.0, 1)", randn(4, 3)),
    ],
)
def test_points(expression, tensor):
    assert not differs(expression, [tensor])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logcumsumexp_of_16_bits(dtype):
    """Gradients of both signs: where one has the other sign, the lowest number of the dtype stands for its logarithm."""
    text = "def f(x):\n    a = x * 2 + x\n    return torch.logcumsumexp(a, -1) * 2\n"
    names = {"torch": torch}
    exec(text, names)
    script = cresset.CompilationUnit(text.replace("(x)", "(x: Tensor)", 1)).f
    first, second = torch.tensor([[1.0, -2, 0.5, 1, -1, 2], [1, 0.3, -2, 1, 1, 1]]).to(dtype)

    def twice(function):
        x = torch.tensor([-1.0, 0.5, 1.5, 2, -0.5, 1]).to(dtype).requires_grad_()
        (gradient,) = torch.autograd.grad(function(x), x, first, create_graph=True)
        return torch.autograd.grad(gradient, x, second)[0]

    wanted = twice(names["f"])
    for _ in range(3):
        before = _C._num_recorded_regions()
        torch.testing.assert_close(twice(script), wanted, rtol=0, atol=8 * torch.finfo(dtype).eps)
    assert _C._num_recorded_regions() > before


def gradient_of(function, x, indices, create_graph):
    """None if it is refused."""
    leaf = x.clone().requires_grad_()
    try:
        (gradient,) = torch.autograd.grad(function(leaf, indices), leaf, create_graph=create_graph)
    except RuntimeError as error:
        assert "add(sparse, dense) is not supported" in str(error)
        return None
    return gradient


@pytest.mark.parametrize(
    "terms",
    [
        ("EMBEDDING", "torch.relu(w @ w.t())"),
        ("torch.relu(w @ w.t())", "EMBEDDING"),
        ("EMBEDDING", "EMBEDDING * 2"),
        ("w.tanh()", "EMBEDDING", "w.exp()", "EMBEDDING"),
        ("w.tanh()", "torch.gather(w, 0, i.unsqueeze(1), sparse_grad=True)"),
        ("torch.gather(w, 0, i.unsqueeze(1), sparse_grad=True)", "w.tanh()"),
    ],
)
def test_sums_of_sparse_and_dense_gradients(terms):
    total = " + ".join(f"({term}).sum()" for term in terms)
    total = total.replace("EMBEDDING", "torch.nn.functional.embedding(i, w, sparse=True)")
    names = {"torch": torch}
    exec(f"def f(x, i):\n    w = x * 2 + x\n    return {total} * 2\n", names)
    script = cresset.CompilationUnit(f"def f(x, i: Tensor):\n    w = x * 2 + x\n    return {total} * 2\n").f
    check_sums(names["f"], script)


def test_sparse_gradients_from_outside():
    text = "def f(x):\n    w = x * 2 + x\n    return w, torch.relu(w @ w.t()) * 2\n"
    names = {"torch": torch}
    exec(text, names)
    script = cresset.CompilationUnit(text.replace("(x)", "(x: Tensor)", 1)).f

    def around(function):
        def whole(x, i):
            w, y = function(x)
            return torch.nn.functional.embedding(i, w, sparse=True).pow(2).sum() + y.sum()

        return whole

    check_sums(around(names["f"]), around(script))


def check_sums(eager, script):
    """Where a graph is made eager PyTorch refuses some of the sums."""
    x, indices = randn(4, 3), torch.tensor([1, 0, 1])
    for create_graph in (False, True, False, True):
        found = gradient_of(script, x, indices, create_graph)
        wanted = gradient_of(eager, x, indices, create_graph)
        if wanted is not None:
            assert found is not None and found.layout == wanted.layout and equal(found.to_dense(), wanted.to_dense())
