"""Kernels that multiply matrices of a few rows or columns, against eager PyTorch, float64, and the order that is promised.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own: bits, dtypes, sizes and strides.
"""

import itertools
import re

import numpy
import pytest
import torch
from kernel_checks import both, checked, launches, layouts

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)

#: Per row of the table: a call of `x` (m, k), `y` (k, n) and `z`, and the sizes of `z`.
CALLS = {
    "aten::mm": ("torch.mm(x, y)", ()),
    "aten::bmm": ("torch.bmm(x.expand(3, -1, -1), y.expand(3, -1, -1))", ()),
    "aten::matmul": ("torch.matmul(x, y)", ()),
    "aten::mv": ("torch.mv(x, y[:, 0])", ()),
    "aten::dot": ("torch.dot(x[0], y[:, 0])", ()),
    "aten::addmm": ("torch.addmm(z, x, y, beta=0.5, alpha=2)", ("m", "n")),
    "aten::baddbmm": ("torch.baddbmm(z, x.expand(3, -1, -1), y.expand(3, -1, -1))", ("n",)),
    "aten::addmv": ("torch.addmv(z, x, y[:, 0], alpha=0.5)", ("m",)),
    "aten::linear": ("torch.nn.functional.linear(x, y.t(), z)", ("n",)),
}
SIZES = [(1, 1, 1), (1, 64, 256), (2, 7, 9), (4, 33, 17), (3, 8, 8), (100, 5, 3), (1, 1000, 31), (5, 16, 2)]
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def compiled(result):
    """A program with the result, which goes on computing with it, and the same as eager PyTorch runs it."""
    source = f"def f(x: Tensor, y: Tensor, z: Tensor):\n  r = {result}\n  return r * 2 + 1, torch.tanh(r)\n"
    return both(source)


def operands(m, k, n, sizes, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    named = {"m": m, "n": n}
    shapes = [(m, k), (k, n), [named[size] for size in sizes]]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def test_every_row_is_called():
    assert set(CALLS) == set(_C._scalar_rows("product"))


@pytest.mark.parametrize("name", CALLS)
def test_operator(name):
    """Errors are at most twice eager PyTorch's, and what rounding may do to k terms in any order."""
    call, sizes = CALLS[name]
    script, eager = compiled(call)
    ran = 0
    for (m, k, n), dtype in itertools.product(SIZES, FLOATS):
        x, y, z = operands(m, k, n, sizes, dtype)
        for a, b in itertools.product(layouts(x), layouts(y)) if dtype == torch.float32 else [(x, y)]:
            before = launches()
            found = script(a, b, z)
            ran += launches() > before
            expected, truth = eager(a, b, z), eager(a.double(), b.double(), z.double())
            for ours, theirs, right in zip(found, expected, truth, strict=True):
                assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.stride() == theirs.stride()
                info = torch.finfo(dtype)
                computing = min(info.eps, torch.finfo(torch.float32).eps)
                noise = computing * 8 * k**0.5 * (1 + right.abs()) + 4 * info.eps * (1 + right.abs())
                error, allowed = (ours.double() - right).abs(), (theirs.double() - right).abs()
                assert (error <= 2 * allowed + noise).all(), (name, m, k, n, dtype)
    assert ran > 40


@pytest.mark.parametrize("name", ["aten::addmm", "aten::baddbmm", "aten::addmv"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_multiplied_by_zero_is_not_read(name, number):
    call, sizes = CALLS[name]
    call = re.sub(r"(, beta=[\d.]+|, alpha=[\d.]+)", "", call)[:-1]
    script, eager = compiled(f"{call}, beta=0, alpha=2)")
    before = launches()
    for (m, k, n), dtype in itertools.product(SIZES[2:4], FLOATS):
        x, y, z = operands(m, k, n, sizes, dtype)
        z.fill_(number)
        for _ in range(3):
            for ours, theirs in zip(script(x, y, z), eager(x, y, z), strict=True):
                assert not theirs.isnan().any()
                assert torch.allclose(ours, theirs, 0.05, 0.05)
    assert launches() > before


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_integers(dtype):
    script, eager = compiled("torch.mm(x, y) + z")
    before = launches()
    for m, k, n in SIZES:
        x, y, z = (torch.randint(0, 100, size).to(dtype) for size in ((m, k), (k, n), (n,)))
        for a, b in itertools.product(layouts(x), layouts(y)):
            for found, expected in zip(script(a, b, z), eager(a, b, z), strict=True):
                assert torch.equal(found, expected) or found.is_floating_point()
    assert launches() > before


def promised_product(row, column):
    """Of numbers whose products and sums of products float64 holds exactly, so that each step rounds once."""
    single = numpy.float32
    lanes = [single(0)] * 8
    for i, (a, b) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
        lanes[i % 8] = single(a * b + float(lanes[i % 8]))
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
    return float(lanes[0])


def test_order():
    """The bits are those of the order that is promised, for each length, whatever is next to what in memory."""
    source = "def f(x: Tensor, y: Tensor):\n  return torch.mm(x, y) + 0\n"
    script = cresset.CompilationUnit(source).f
    generator = torch.Generator().manual_seed(0)
    with cresset.options.override(kernels="now"):
        for k in [*range(1, 35), 63, 64, 65, 100, 513]:
            x = torch.randint(-(2**14), 2**14, (3, k), generator=generator).float()
            y = torch.randint(-(2**14), 2**14, (k, 19), generator=generator).float()
            expected = torch.tensor([[promised_product(row, column) for column in y.t()] for row in x])
            for a, b in itertools.product(list(layouts(x))[:3], list(layouts(y))[:3]):
                before = launches()
                assert torch.equal(script(a, b), expected)
                assert torch.equal(script(b.t(), a.t()), expected.t())
                assert torch.equal(script(a[:1], b), expected[:1])
                assert torch.equal(script(a, b[:, :1]), expected[:, :1])
                assert launches() == before + 4


PROGRAMS = [
    "torch.mm(x, y) + torch.mm(torch.relu(x), y) + z",
    "torch.mm(x * 2 - 1, y).sigmoid()",
    "torch.softmax(torch.mm(x, y) * 0.125, 1)",
    "torch.mm(x.softmax(1), y)",
    "torch.nn.functional.layer_norm(torch.mm(x, y) + z, (16,))",
    "torch.mm(x, y).sum(1)",
    "torch.mm(x, y) - torch.mm(x, y).amax(1, keepdim=True)",
    "torch.mm(torch.relu(torch.mm(x, y)), y.t()) + x",
    "torch.cat([x, x], 0).mm(y)",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_groups(program):
    """Groups have the bits of their operators, each in a kernel of its own, in all layouts; and near eager's values."""
    script, eager = compiled(program)
    before, calls = launches(), 0
    for m in (1, 2, 4, 40):
        x, y, z = operands(m, 24, 16, ("n",), torch.float32)
        for a, b in itertools.product(layouts(x), layouts(y)):
            calls += 1
            for found, expected in zip(script(a, b, z), eager(a, b, z), strict=True):
                assert found.stride() == expected.stride()
                torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    assert launches() - before >= calls


def test_large_products_are_atens():
    """Their neighbours are in kernels nevertheless."""
    script, eager = compiled("torch.mm(x * 2, y)")
    x, y, z = operands(50, 60, 700, (), torch.float32)
    with cresset.options.override(kernels="now"):
        before = launches()
        for found, expected in zip(script(x, y, z), eager(x, y, z), strict=True):
            torch.testing.assert_close(found, expected)
        assert launches() == before + 2


@pytest.mark.parametrize("k", [1, 7, 8, 100])
def test_one_element(k):
    for call in ("torch.mm(x, y)", "torch.dot(x[0], y[:, 0])", "torch.mv(x, y[:, 0])"):
        script, eager = compiled(call)
        x, y, z = operands(1, k, 1, (), torch.float32)
        before = launches()
        for found, expected in zip(script(x, y, z), eager(x, y, z), strict=True):
            assert found.stride() == expected.stride()
            torch.testing.assert_close(found, expected)
        assert launches() > before


def test_sizes():
    """No terms, no elements, and sizes that eager PyTorch refuses."""
    script, eager = compiled("torch.mm(x, y)")
    for m, k, n in ((2, 0, 3), (0, 4, 3), (2, 4, 0), (0, 0, 0)):
        x, y, z = operands(m, k, n, (), torch.float32)
        for found, expected in zip(script(x, y, z), eager(x, y, z), strict=True):
            assert torch.equal(found, expected)
    for x, y in (
        (torch.ones(2, 3), torch.ones(4, 2)),
        (torch.ones(2), torch.ones(2, 2)),
        (torch.ones(2, 1), torch.ones(3, 2)),
    ):
        with pytest.raises(RuntimeError) as expected:
            eager(x, y, z)
        with pytest.raises(RuntimeError) as found:
            script(x, y, z)
        assert str(expected.value) in str(found.value)


def test_what_is_not_finite():
    script, eager = compiled("torch.mm(x, y)")
    x, y, z = operands(3, 20, 40, (), torch.float32)
    x[0, 3], x[1, 4], y[5, 6], y[7, 8] = float("nan"), float("inf"), float("inf"), float("-inf")
    for a, b in itertools.product(layouts(x), layouts(y)):
        for found, expected in zip(script(a, b, z), eager(a, b, z), strict=True):
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_threads():
    """The same bits on one thread and on two."""
    script, _ = compiled("torch.mm(x, y)")
    x, y, z = operands(3, 300, 3000, (), torch.float32)
    alone = script(x, y, z)
    torch.set_num_threads(2)
    together = script(x, y, z)
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize(
    "left, right",
    [
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 5, 2, 3), (2, 5, 3, 4)),
    ],
)
def test_matmul(left, right):
    script, eager = compiled("torch.matmul(x, y)")
    x, y = torch.randn(left), torch.randn(right)
    before = launches()
    for found, expected in zip(script(x, y, x), eager(x, y, x), strict=True):
        assert found.shape == expected.shape and found.stride() == expected.stride()
        torch.testing.assert_close(found, expected)
    assert launches() > before


@pytest.mark.parametrize(
    "left, right",
    [((3,), (2, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((5, 0, 3), (3, 2))],
)
def test_matmul_that_broadcasts(left, right):
    """Batches that are broadcast are ATen's."""
    script, eager = compiled("torch.matmul(x, y)")
    x, y = torch.randn(left), torch.randn(right)
    for found, expected in zip(script(x, y, x), eager(x, y, x), strict=True):
        torch.testing.assert_close(found, expected)
