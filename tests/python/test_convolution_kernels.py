"""Kernels for small convolutions, against eager PyTorch, float64, and the order that is promised: that of a product of the weight with a window of the input.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own: bits, dtypes, sizes and strides.
"""

import itertools

import pytest
import torch
from kernel_checks import checked, launches
from test_product_kernels import FLOATS, promised_product

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)

#: Per row of the table: calls of `x`, `w` and `b`.
CALLS = {
    "aten::conv1d": [
        "torch.conv1d(x, w)",
        "torch.conv1d(x, w, b, 2)",
        "torch.conv1d(x, w, b, 1, 2)",
        "torch.conv1d(x, w, b, [3], [1], [2])",
    ],
    "aten::conv1d.padding": [
        "torch.conv1d(x, w, b, padding='same', dilation=2)",
        "torch.conv1d(x, w, b, 2, padding='valid')",
    ],
    "aten::conv2d": ["torch.conv2d(x, w, b)", "torch.conv2d(x, w, None, [2, 1], [0, 3], [1, 2])"],
    "aten::conv2d.padding": ["torch.conv2d(x, w, b, padding='same')", "torch.conv2d(x, w, b, 2, padding='valid')"],
    "aten::convolution": [
        "torch.convolution(x, w, b, [2], [1], [1], False, [0], 1)",
        "torch.convolution(x, w, b, [1, 2], [1, 2], [2, 1], False, [0, 0], 1)",
    ],
    "aten::_convolution": [
        "torch._convolution(x, w, b, [2], [1], [1], False, [0], 1, False, False, True, True)",
        "torch._convolution(x, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)",
    ],
}
#: Of the input, behind the batch, and of the weight.
SIZES = {
    1: [
        ((1, 300), (40, 1, 64)),
        ((5, 20), (17, 5, 3)),
        ((64, 4), (33, 64, 3)),
        ((3, 1), (2, 3, 1)),
        ((2, 17), (1, 2, 8)),
    ],
    2: [((3, 9, 8), (17, 3, 3, 3)), ((1, 5, 40), (2, 1, 1, 5)), ((2, 4, 4), (16, 2, 2, 1))],
}


def num_dims(call):
    return 2 if "2d" in call or call.count("[0, 0]") == 1 and "False, [0, 0]" in call else 1


def compiled(call):
    source = f"def f(x: Tensor, w: Tensor, b: Tensor):\n  r = {call}\n  return torch.relu(r), r * 2 - x.sum()\n"
    scope = {"torch": torch, "Tensor": torch.Tensor}
    exec(source, scope)
    return cresset.CompilationUnit(source).f, scope["f"]


def operands(batch, sizes, weight, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(*batch, *sizes), weight, weight[:1]]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def layouts(x):
    yield x
    yield x.transpose(-1, -2).contiguous().transpose(-1, -2)
    yield torch.cat([x, x], -1)[..., ::2].copy_(x)
    yield x[..., :1].expand(x.shape)


def compare(script, eager, x, w, b):
    """Raises what eager PyTorch raises. Errors are at most twice eager PyTorch's, and what rounding may do to a sum."""
    try:
        expected = eager(x, w, b)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as found:
            script(x, w, b)
        assert str(error) in str(found.value)
        return 0
    before = launches()
    found = script(x, w, b)
    ran = launches() > before
    truth = eager(x.double(), w.double(), b.double())
    for ours, theirs, right in zip(found, expected, truth, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.stride() == theirs.stride()
        info = torch.finfo(x.dtype)
        computing = min(info.eps, torch.finfo(torch.float32).eps)
        scale = 1 + right.abs() + x.double().sum().abs()
        noise = (computing * 8 * w[0].numel() ** 0.5 + 8 * info.eps) * scale
        error, allowed = (ours.double() - right).abs(), (theirs.double() - right).abs()
        assert (error <= 2 * allowed + noise).all()
    return ran


def test_every_row_is_called():
    assert set(CALLS) == set(_C._scalar_rows("convolution"))


@pytest.mark.parametrize("call", itertools.chain(*CALLS.values()))
def test_operator(call):
    script, eager = compiled(call)
    ran = 0
    unbatched = [()] if "convolution" not in call else []
    for (sizes, weight), dtype, batch in itertools.product(SIZES[num_dims(call)], FLOATS, [(1,), (3,), *unbatched]):
        x, w, b = operands(batch, sizes, weight, dtype)
        for a, c in itertools.product(layouts(x), layouts(w)) if dtype == torch.float32 else [(x, w)]:
            ran += compare(script, eager, a, c, b)
    assert ran > 15


@pytest.mark.parametrize(
    "call, sizes, weight",
    [
        ("torch.conv1d(x, w, b, 1, 1, 1, 17)", (17, 20), (17, 1, 3)),
        ("torch.conv1d(x, w, b, 2, 0, 2, 4)", (4, 40), (4, 1, 5)),
        ("torch.conv2d(x, w, b, 1, 1, 1, 6)", (6, 8, 9), (6, 1, 3, 3)),
        ("torch.conv1d(x, w, b, 1, 1, 1, 2)", (4, 20), (6, 2, 3)),
        ("torch.conv1d(x, w, b, 1, 1, 1, 4)", (4, 20), (8, 1, 3)),
    ],
)
def test_groups(call, sizes, weight):
    """A group for each channel has kernels."""
    script, eager = compiled(call)
    for batch, dtype in itertools.product([(1,), (2,), ()], FLOATS):
        x, w, b = operands(batch, sizes, weight, dtype)
        ran = compare(script, eager, x, w, b)
        assert ran == (weight[0] == sizes[0]) or ran  # the other results have kernels of their own


def test_order():
    """The bits are those of the order that is promised: channel by channel, the elements of a window in order."""
    generator = torch.Generator().manual_seed(0)
    with cresset.options.override(kernels="now"):
        for channels, kernel, stride, padding in itertools.product((1, 2, 9), (1, 3, 8), (1, 2), (0, 2)):
            script, _ = compiled(f"torch.conv1d(x, w, None, {stride}, {padding})")
            x = torch.randint(-(2**12), 2**12, (2, channels, 19), generator=generator).float()
            w = torch.randint(-(2**12), 2**12, (17, channels, kernel), generator=generator).float()
            windows = torch.nn.functional.pad(x, (padding, padding)).unfold(2, kernel, stride)
            rows = windows.transpose(1, 2).flatten(2)
            expected = [[[promised_product(row, o) for row in batch] for o in w.flatten(1)] for batch in rows]
            for a, c in itertools.product(list(layouts(x))[:3], list(layouts(w))[:3]):
                before = launches()
                assert torch.equal(script(a, c, w[:, 0, 0])[0], torch.tensor(expected).relu())
                assert launches() > before


PROGRAMS = [
    "torch.conv1d(torch.relu(torch.conv1d(x, w, b, 1, 1)), w, b, 1, 1) + x",
    "torch.relu(torch.conv1d(x, w, b, 1, 1)) + x",
    "torch.conv1d(x, w * 2, b, 1, 1).softmax(1)",
    "torch.conv1d(torch.cat([x, x * 2], 2), w, b)",
    "torch.conv1d(x[:, :, 1:].neg(), w, b).sum(1)",
    "torch.conv1d(x, w, b, 1, 1).mul(x).pow(2)[:, :3].sqrt()",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    """Groups and sequences with convolutions have the bits of their operators, each in a kernel of its own."""
    script, eager = compiled(program)
    for batch, size in ((1, 4), (2, 30)):
        x, w, b = operands((batch,), (5, size), (5, 5, 3), torch.float32)
        for a in layouts(x):
            before = launches()
            for found, expected in zip(script(a, w, b), eager(a, w, b), strict=True):
                assert found.stride() == expected.stride()
                torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
            assert launches() > before


def test_channels_last_is_atens():
    """Its result is channels-last, too."""
    script, eager = compiled("torch.conv2d(x, w, b, 1, 1)")
    x, w, b = operands((2,), (4, 5, 6), (3, 4, 3, 3), torch.float32)
    for a, c in itertools.product(
        (x, x.to(memory_format=torch.channels_last)), (w, w.to(memory_format=torch.channels_last))
    ):
        compare(script, eager, a, c, b)
    script, eager = compiled("torch.conv1d(x, w, b, 1, 1)")
    for x in (torch.randn(1, 9, 4).transpose(1, 2), torch.randn(3, 9, 4).transpose(1, 2), torch.randn(9, 4).t()):
        compare(script, eager, x, w[..., 0].contiguous(), b)


def test_sizes():
    """No elements, and sizes that eager PyTorch refuses."""
    for call in ("torch.conv1d(x, w, b)", "torch.conv1d(x, w, b, 1, 1)", "torch.conv1d(x, w, b, padding='same')"):
        script, eager = compiled(call)
        for sizes, weight in (
            ((0, 2, 5), (3, 2, 3)),
            ((2, 2, 0), (3, 2, 3)),
            ((2, 2, 1), (3, 2, 3)),
            ((2, 2, 5), (3, 4, 3)),
            ((2, 2, 5), (0, 2, 3)),
            ((2, 0, 5), (3, 0, 3)),
            ((2, 2, 5), (3, 2, 0)),
            ((2, 2, 5), (3, 2)),
        ):
            compare(script, eager, torch.randn(sizes), torch.randn(weight), torch.randn(weight[0]))
        compare(script, eager, torch.randn(1, 2, 5), torch.randn(3, 2, 2), torch.randn(4))
    for numbers in ("-1", "0", "1, -1", "1, 0, 0"):
        script, eager = compiled(f"torch.conv1d(x, w, b, {numbers})")
        compare(script, eager, torch.randn(1, 2, 5), torch.randn(3, 2, 2), torch.randn(3))


def test_integers_are_atens():
    script, eager = compiled("torch.conv1d(x, w, b)")
    x, w, b = (torch.randint(0, 9, size) for size in ((1, 2, 5), (3, 2, 2), (3,)))
    for found, expected in zip(script(x, w, b), eager(x, w, b), strict=True):
        assert torch.equal(found, expected)


def test_large_convolutions_are_atens():
    script, eager = compiled("torch.conv1d(x, w, b)")
    x, w, b = operands((4,), (64, 1000), (64, 64, 5), torch.float32)
    with cresset.options.override(kernels="now"):
        for found, expected in zip(script(x, w, b), eager(x, w, b), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
