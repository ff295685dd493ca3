"""Kernels that reduce, against eager PyTorch, against float64, and against the order that is promised.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own: bits, dtypes, sizes and strides.
"""

import itertools

import numpy
import pytest
import sampling
import torch
from kernel_checks import both, checked, launches, layouts

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
INTEGERS = [torch.int8, torch.uint8, torch.int32, torch.int64]

#: Per row of the table: calls of `x`, a matrix, and `y`, one like it.
CALLS = {
    "aten::sum": ["x.sum()"],
    "aten::prod": ["x.prod()"],
    "aten::sum.dim_IntList": ["x.sum(0)", "x.sum(-1, keepdim=True)", "x.sum([0, 1])", "x.sum([])"],
    "aten::prod.dim_int": ["x.prod(0)", "x.prod(1, keepdim=True)"],
    "aten::nansum": ["torch.nansum(x, 1)"],
    "aten::mean": ["x.mean()"],
    "aten::mean.dim": ["x.mean(0)", "x.mean([-1], keepdim=True)"],
    "aten::max": ["x.max()"],
    "aten::min": ["x.min()"],
    "aten::amax": ["x.amax(0)", "x.amax(-1, keepdim=True)", "x.amax()"],
    "aten::amin": ["x.amin(0)", "x.amin(1)"],
    "aten::argmax": ["x.argmax(0)", "x.argmax(-1, keepdim=True)", "x.argmax()"],
    "aten::argmin": ["x.argmin(0)", "x.argmin(1)"],
    "aten::max.dim": ["torch.max(x, 0)", "torch.max(x, 1, keepdim=True)"],
    "aten::min.dim": ["torch.min(x, -1)"],
    "aten::all": ["(x > 0.5).all()"],
    "aten::any": ["(x > 0.5).any()"],
    "aten::all.dim": ["(x > 0.5).all(0)", "(x > 0.5).all(1, keepdim=True)"],
    "aten::any.dim": ["(x > 0.5).any(0)", "(x > 0.5).any(1)"],
    "aten::all.dims": ["(x > 0.5).all([0, 1])"],
    "aten::any.dims": ["(x > 0.5).any([1])"],
    "aten::std": ["x.std()", "x.std(unbiased=False)"],
    "aten::var": ["x.var()"],
    "aten::std.dim": ["x.std([0], unbiased=False)", "x.std([1])"],
    "aten::var.dim": ["x.var([0])", "x.var([1], unbiased=False, keepdim=True)"],
    "aten::std.correction": ["x.std([1], correction=2)"],
    "aten::var.correction": ["x.var([0], correction=0.5)", "x.var(correction=0)"],
    "aten::std_mean": ["torch.std_mean(x, True)"],
    "aten::var_mean": ["torch.var_mean(x, False)"],
    "aten::std_mean.dim": ["torch.std_mean(x, [0], unbiased=False)"],
    "aten::var_mean.dim": ["torch.var_mean(x, [1], unbiased=True)"],
    "aten::std_mean.correction": ["torch.std_mean(x, [0], correction=0)"],
    "aten::var_mean.correction": ["torch.var_mean(x, [1], correction=1, keepdim=True)"],
    "aten::linalg_vector_norm": [
        f"torch.linalg.vector_norm(x, {order}, [{dim}])"
        for order in (2, 1, 0, 3, "float('inf')", "float('-inf')")
        for dim in (0, 1)
    ],
    "aten::norm.Scalar": ["torch.norm(x, 2)"],
    "aten::norm.ScalarOpt_dim": ["torch.norm(x, 2, [1])"],
    "aten::norm.ScalarOpt_dim_dtype": ["torch.norm(x, 1, [0], dtype=torch.float64)"],
    "aten::logsumexp": ["x.logsumexp([0])", "x.logsumexp([1], keepdim=True)"],
    "aten::cumsum": ["x.cumsum(0)", "x.cumsum(-1)", "x.cumsum(1, dtype=torch.float64)"],
    "aten::cumprod": ["x.cumprod(0)", "x.cumprod(1)"],
    "aten::logcumsumexp": ["x.logcumsumexp(0)", "x.logcumsumexp(-1)"],
    "aten::cummax": ["x.cummax(0)", "x.cummax(1)"],
    "aten::cummin": ["x.cummin(0)", "x.cummin(-1)"],
    "aten::softmax.int": ["x.softmax(0)", "x.softmax(-1)", "x.softmax(1, dtype=torch.float64)"],
    "aten::log_softmax.int": ["x.log_softmax(0)", "x.log_softmax(1)"],
    "aten::_softmax": ["torch._softmax(x, 1, False)"],
    "aten::_log_softmax": ["torch._log_softmax(x, 0, False)"],
    "aten::_safe_softmax": ["torch._safe_softmax(x, 1)"],
    "aten::_softmax_backward_data": ["torch._softmax_backward_data(x, y.softmax(1), 1, x.dtype)"],
    "aten::_log_softmax_backward_data": ["torch._log_softmax_backward_data(x, y.log_softmax(0), 0, x.dtype)"],
    "aten::nll_loss_backward": [
        "torch.ops.aten.nll_loss_backward(x[0, 0], x, y.argmax(1), None, 1, 0, y[0, 0])",
        "torch.ops.aten.nll_loss_backward(x[0, 0], x, y.argmax(1), y[0], 2, -100, y[0, 0])",
        "torch.ops.aten.nll_loss_backward(x[:, 0].contiguous(), x, y.argmax(1), None, 0, -100, y[0, 0])",
    ],
    "aten::nll_loss_nd": [
        f"torch._C._nn.nll_loss_nd(x, y.argmax(1), {weight}, 0, {ignored})"
        for weight, ignored in (("None", 1), ("y[0]", -100))
    ],
    "aten::layer_norm": [
        "torch.layer_norm(x, [x.size(1)])",
        "torch.layer_norm(x, [x.size(1)], y[0], y[-1], 0.1)",
        "torch.layer_norm(x, [x.size(0), x.size(1)], y, None)",
    ],
    "aten::native_layer_norm": ["torch.native_layer_norm(x, [x.size(1)], y[0], None, 1e-3)"],
    "aten::rms_norm": [
        "torch.rms_norm(x * 1e-3, [x.size(1)])",
        "torch.rms_norm(x, [x.size(1)], None, 1e-3)",
        "torch.rms_norm(x, [x.size(1)], y[0], 1e-3)",
    ],
    "aten::mse_loss": [f"torch.nn.functional.mse_loss(x, y, reduction='{r}')" for r in ("none", "mean", "sum")],
    "aten::l1_loss": [f"torch.nn.functional.l1_loss(x, y, reduction='{r}')" for r in ("none", "mean", "sum")],
    "aten::smooth_l1_loss": [
        f"torch.nn.functional.smooth_l1_loss(x, y, reduction='{r}', beta=0.5)" for r in ("none", "mean")
    ],
    "aten::soft_margin_loss": [
        f"torch.nn.functional.soft_margin_loss(x, y, reduction='{r}')" for r in ("none", "mean", "sum")
    ],
    "aten::binary_cross_entropy": [
        f"torch.nn.functional.binary_cross_entropy(x.sigmoid(), y.sigmoid(), {weight}, reduction='{r}')"
        for r in ("none", "mean", "sum")
        for weight in ("None", "y")
    ],
    "aten::binary_cross_entropy_with_logits": [
        f"torch.nn.functional.binary_cross_entropy_with_logits(x, y, {weights}, reduction='{r}')"
        for r in ("none", "mean", "sum")
        for weights in ("None", "x[0], pos_weight=y[0]")
    ],
    "aten::huber_loss": [f"torch.nn.functional.huber_loss(x, y, reduction='{r}', delta=0.7)" for r in ("none", "sum")],
}

FEW_ROWS_ARE_ATENS = {"aten::logcumsumexp", "aten::cummax", "aten::cummin"}

#: Sizes of matrices: few and many of either, blocks that are full or not, several blocks.
SIZES = [(1, 1), (3, 5), (17, 33), (2, 1023), (1025, 2), (3, 3000), (2100, 17)]


def compiled(call, size):
    """The call as a script and as eager PyTorch runs it. Sizes are numbers in it: what is reduced must be known."""
    for d in (0, 1):
        call = call.replace(f"x.size({d})", str(size[d]))
    lines = ["def f(x: Tensor, y: Tensor):", f"  r = {call}", "  return r"]
    return both("\n".join(lines))


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


def check_errors(found, expected, truth, x, amplified):
    """At most twice as far from float64 as eager PyTorch is, and as far as rounding may take the additions in any order,
    `amplified` by what is computed of the sums.
    """
    largest = x.abs().nan_to_num(0, 0, 0).max().double().clamp(min=1).square()
    for ours, theirs, right in zip(found, expected, truth, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.stride() == theirs.stride()
        if not ours.dtype.is_floating_point:
            assert torch.equal(ours, theirs)
            continue
        info = torch.finfo(ours.dtype)
        computing = min(info.eps, torch.finfo(torch.float32).eps)
        error, allowed = (ours.double() - right).abs(), (theirs.double() - right).abs().nan_to_num(0, 0, 0)
        size = right.abs().nan_to_num(0, 0, 0)
        noise = amplified * computing * x.numel() ** 0.5 * torch.maximum(size, largest)
        bound = 2 * allowed + info.eps * size + info.tiny + noise
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        overflown = theirs.isinf() & (right.abs() > 0.5 * info.max)
        assert (same | overflown | (error <= bound)).all(), (error - bound).max()


def test_every_row_is_called():
    assert set(CALLS) == set(_C._scalar_rows("reduction"))


def share_of(name):
    """Of the row's calls, each with half of the sizes."""
    return sampling.share(itertools.product(CALLS[name], SIZES), 2, name, lambda case: case[0])


@pytest.mark.parametrize("name", CALLS)
def test_operator(name):
    generator = torch.Generator().manual_seed(0)
    ran = 0
    for call, size in share_of(name):
        script, eager = compiled(call, size)
        for dtype in FLOATS:
            spread = 0.02 if "prod" in name else 1.5
            x, y = (torch.randn(2, *size, generator=generator, dtype=torch.float64) * spread + ("prod" in name)).to(
                dtype
            )
            for a in layouts(x) if dtype == torch.float32 else [x]:
                try:
                    expected, truth = eager(a, y), eager(a.double(), y.double())
                except (RuntimeError, NotImplementedError):
                    continue
                before = launches()
                found = script(a, y)
                ran += launches() > before
                check_errors(
                    as_list(found),
                    as_list(expected),
                    as_list(truth),
                    a,
                    320 if "layer_norm" in name else 1000 if "prod" in name else 1,
                )
    assert ran > sampling.amount(20, 40) // (2 if name in FEW_ROWS_ARE_ATENS else 1)


@pytest.mark.parametrize(
    "name",
    ["aten::sum.dim_IntList", "aten::prod", "aten::amax", "aten::max", "aten::any.dim", "aten::all", "aten::sum"],
)
def test_integers(name):
    """As eager PyTorch, to the bit."""
    ran = 0
    for call, size in share_of(name):
        script, eager = compiled(call, size)
        for dtype in [*INTEGERS, torch.bool]:
            x = torch.randint(0, 2, size).bool() if dtype == torch.bool else torch.randint(-99, 99, size).to(dtype)
            for a in layouts(x):
                before = launches()
                assert torch.equal(script(a, a), eager(a, a))
                ran += launches() > before
    assert ran > sampling.amount(10, 20) or "(x" not in CALLS[name][0]  # alone, what is exact stays ATen's


@pytest.mark.parametrize(
    "call",
    [
        "x.sum(1)",
        "x.amax(1)",
        "x.softmax(1)",
        "x.log_softmax(1)",
        "x.logsumexp([1])",
        "x.mean(0)",
        "x.amin(0)",
        "x.var([1])",
    ],
)
def test_what_is_not_finite(call):
    """NaNs and infinities come out where eager PyTorch has them."""
    inf, nan = float("inf"), float("nan")
    special = [[1.0, nan], [inf, 1.0], [-inf, 2.0], [inf, -inf], [-inf, -inf], [inf, inf], [0.0, -0.0], [nan, inf]]
    for width, dtype in itertools.product((2, 40, 1100), FLOATS):
        for place in range(2):
            x = torch.zeros(len(special), width, dtype=dtype)
            x[:, 0], x[:, width - 1 if place else 1] = torch.tensor(special, dtype=dtype).t()
            script, eager = compiled(call, x.shape)
            for a in (x, x.t().contiguous().t()):
                found, expected = script(a, a), eager(a, a)
                assert torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.isinf(), expected.isinf())
                assert torch.equal(found[found.isinf()], expected[expected.isinf()])


@pytest.mark.parametrize(
    "call", ["x.argmax(1)", "x.argmin(1)", "torch.max(x, 1)", "torch.min(x, 1)", "(x + y).argmax()"]
)
def test_places(call):
    """The first of several that are equal, and of NaNs, as eager PyTorch."""
    for size, dtype in itertools.product(SIZES, [torch.float32, torch.bfloat16, torch.int32, torch.uint8]):
        script, eager = compiled(call, size)
        x = torch.randint(0, 5, size, generator=torch.Generator().manual_seed(2)).to(dtype)
        variants = [x]
        if dtype.is_floating_point:
            variants += [torch.where(x > 3, float("nan"), x), torch.full_like(x, -float("inf"))]
        for a in itertools.chain(*map(layouts, variants)):
            for found, expected in zip(as_list(script(a, a)), as_list(eager(a, a)), strict=True):
                assert torch.equal(found, expected) or (expected.isnan() == found.isnan()).all()
                assert found.stride() == expected.stride()


def promised_sum(values):
    """In blocks of 1,024 with 32 lanes, which are folded by halves, and a binary tree of blocks."""
    zero, trees = values.dtype.type(0), []
    for number, begin in enumerate(range(0, len(values), 1024)):
        block = values[begin : begin + 1024]
        lanes = numpy.zeros(32, values.dtype)
        for i in range(0, len(block), 32):
            row = numpy.full(32, zero)
            row[: len(block[i : i + 32])] = block[i : i + 32]
            lanes = lanes + row
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
        total = lanes[0]
        while number & 1:
            total = trees.pop() + total
            number >>= 1
        trees.append(total)
    while len(trees) > 1:
        right = trees.pop()
        trees[-1] = trees[-1] + right
    return trees[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_order(dtype):
    """The bits are those of the order that is promised, for each length, whatever is next to what in memory."""
    rows, _ = compiled("x.sum(1)", (0, 0))
    columns, _ = compiled("x.sum(0)", (0, 0))
    with cresset.options.override(kernels="now"):
        for length in [
            *range(1, 70),
            95,
            96,
            97,
            1000,
            1023,
            1024,
            1025,
            2047,
            2048,
            2049,
            3 * 1024,
            5000,
            7 * 1024 + 5,
        ]:
            x = torch.randn(20, length, dtype=torch.float64, generator=torch.Generator().manual_seed(length)).to(dtype)
            expected = torch.stack([torch.tensor(promised_sum(row.numpy())) for row in x[:3]])
            for few in (x[:3], x.t().contiguous().t()[:3], torch.stack([x, x], 2)[:3, :, 0]):
                assert torch.equal(rows(few, few), expected)
                assert torch.equal(columns(few.t(), few), expected)
            for many in (x, x.t().contiguous().t()):
                assert torch.equal(rows(many, many)[:3], expected)
                assert torch.equal(columns(many.t(), many)[:3], expected)


PROGRAMS = [
    "(x - x.mean(1, keepdim=True)) / (x.std([1], keepdim=True) + 0.5)",
    "torch.softmax(x * 0.5 + 1, 1) * y",
    "torch.softmax(torch.tanh(x) - y, 0).sum(0)",
    "(x * y).sum(1), (x + y).amax(1), x - y",
    "torch.sqrt(((x - y) ** 2).mean())",
    "x / x.sum(0), x.sum(0) * 2",
    "x - torch.log(torch.exp(x - x.amax(1, keepdim=True)).sum(1, keepdim=True))",
    "torch.sigmoid(x.sum(1, keepdim=True) + y)",
    "torch.relu(x).sum(0) + torch.relu(y).sum(0)",
    "torch.exp(x).sum(1) * torch.exp(y).sum(1)",
    "(x.sum(1) + 1).sum(0)",
    "x.sum(1) + y[:, 0]",
    "(x * x.mean()).sum()",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_groups(program):
    """Groups have the bits of their operators, each in a kernel of its own, in all layouts; and near eager's values."""
    script, eager = compiled(program, (0, 0))
    before, calls = launches(), 0
    for size in [(1, 1), (4, 7), (33, 40), (2, 1500), (1500, 3), (40, 1030)]:
        x, y = torch.randn(2, *size, generator=torch.Generator().manual_seed(1))
        for a, b in itertools.product(layouts(x), [y, y.t().contiguous().t()]):
            calls += 1
            for found, expected in zip(as_list(script(a, b)), as_list(eager(a, b)), strict=True):
                assert found.stride() == expected.stride()
                torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    assert launches() - before >= calls


@pytest.mark.parametrize(
    "program",
    [
        "(x * y).sum(0)",
        "(x - y).amax(1), (x - y).sum(1)",
        "(x * y).argmax(1)",
        "(x + y).softmax(0)",
        "(x * y).softmax(1)",
        "(x * y).cumsum(1)",
        "(x * y).var([1])",
        "(x - x.mean(1, keepdim=True)) * y",
        "x.sum(0), y.sum(0)",
    ],
)
def test_inputs_that_lie_oppositely(program):
    """The bits are those of inputs that lie alike, whatever is read in tiles."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        script, _ = compiled(program, (0, 0))
        for size in [(17, 33), (64, 48), (16, 1500), (1500, 20), (40, 2090), (3, 100)]:
            x, y = torch.randn(2, *size, generator=torch.Generator().manual_seed(1)).to(dtype)
            before = launches()
            alike = as_list(script(x, y))
            for a, b in [(x, y.t().contiguous().t()), (x.t().contiguous().t(), y)]:
                for found, expected in zip(as_list(script(a, b)), alike, strict=True):
                    assert torch.equal(found, expected)
            assert launches() - before >= 3


def test_reductions_of_inputs_that_lie_oppositely_are_apart():
    """Each is faster by itself if there are many elements, and nothing is computed before it."""
    with cresset.options.override(kernels="now"):
        for program, is_one in [
            ("x.sum(0) + y.sum(0)", False),
            ("(x * y).sum(0) + y.sum(0)", True),
            ("torch.exp(x).sum(0) + y.sum(0)", True),
        ]:
            script, eager = compiled(program, (0, 0))
            for size, is_few in [(20, True), (300, False)]:
                x, y = torch.randn(size, size), torch.randn(size, size)
                for a, b, are_alike in [(x, y, True), (x, y.t(), False), (x.t(), y, False)]:
                    before = launches()
                    torch.testing.assert_close(script(a, b), eager(a, b), rtol=1e-4, atol=1e-4)
                    assert (launches() > before) == (is_one or is_few or are_alike), (program, size, a.stride())


def test_classes():
    """Each row's class is looked at, but for the one that is ignored; the error is the operator's."""
    call = "torch._log_softmax_backward_data(torch.ops.aten.nll_loss_backward(x.sum(), x, t, None, 1, -100, n), x, 1, x.dtype)"
    script, eager = both(f"def f(x: Tensor, t: Tensor, n: Tensor):\n  return {call}\n")
    ran = 0
    for rows, classes in [(1, 17), (3, 1), (40, 10), (17, 1000), (1000, 2), (0, 4)]:
        x, target = torch.randn(rows, classes), torch.randint(0, classes, (rows,))
        target[::3] = -100
        total, before = torch.tensor(float(rows)), launches()
        torch.testing.assert_close(script(x, target, total), eager(x, target, total), rtol=1e-3, atol=1e-3)
        ran += launches() > before
        for wrong in (classes, -1, -99) if rows > 1 else ():
            target[1] = wrong
            with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
                script(x, target, total)
    assert ran >= 5


def test_sizes_that_differ_along_what_is_reduced():
    """Two reductions in one program whose sizes are not equal in a call are not one kernel then."""
    script, eager = compiled("x.sum(1, keepdim=True) + y.sum(1, keepdim=True)", (0, 0))
    for width in (1, 5, 7):
        x, y = torch.randn(4, 7), torch.randn(4, width)
        torch.testing.assert_close(script(x, y), eager(x, y))
    assert script(torch.empty(3, 0), torch.empty(3, 2)).shape == (3, 1)
    with pytest.raises(RuntimeError, match="must match the size"):
        script(torch.empty(3, 2), torch.empty(4, 2))


def test_threads():
    """The same bits on one thread and on two."""
    for call in ("x.sum(1)", "x.sum(0)", "x.softmax(1)", "x.softmax(0)", "torch.layer_norm(x, [1300])"):
        script, _ = compiled(call, (0, 0))
        x = torch.randn(150, 1300)
        torch.set_num_threads(1)
        alone = script(x, x)
        torch.set_num_threads(2)
        assert torch.equal(script(x, x), alone)


def test_lists_that_change():
    """Dimensions in a list that is written to are not known."""

    def f(x):
        dims = [0]
        if x.size(0) > 2:
            dims.append(1)
        return torch.relu(x * 2).sum(dims)

    script = cresset.script(f)
    for n in (2, 3, 2, 3):
        torch.testing.assert_close(script(torch.ones(n, 4)), f(torch.ones(n, 4)))
