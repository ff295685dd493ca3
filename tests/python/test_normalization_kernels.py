"""Kernels of normalizations by statistics that are arguments, against eager PyTorch and against float64."""

import itertools

import pytest
import torch
from kernel_checks import both, checked, launches

from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)

NORMALIZED = "torch.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, False)"
PROGRAMS = {
    "aten::batch_norm": [
        NORMALIZED,
        "torch.batch_norm(x, w, None, m, v, False, 0.1, 1e-3, True)",
        "torch.batch_norm(x, None, b, m, v, False, 0.1, 1e-5, False)",
        "torch.batch_norm(x, None, None, m, v, False, 0.1, 1e-5, False)",
        f"torch.relu({NORMALIZED} + y)",
        f"{NORMALIZED}.sum(1)",
        f"torch.sigmoid({NORMALIZED.replace('(x', '(torch.tanh(x)')}) * y",
        f"torch.softmax({NORMALIZED}, 1)",
    ]
}
SIZES = [(4, 33), (2, 5, 7, 9), (3, 16, 11), (2, 16, 8, 8), (1, 3, 1, 1), (2, 1, 3, 3), (1, 1, 1, 1), (2, 3, 4, 5, 6)]


def compiled(program):
    return both(f"def f(x: Tensor, y: Tensor, m: Tensor, v: Tensor, w: Tensor, b: Tensor):\n  return {program}")


def layouts(x):
    """In memory as eager PyTorch's kernels lay out results, and otherwise."""
    yield x
    if x.dim() in (4, 5):
        yield x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    yield x.transpose(0, -1).contiguous().transpose(0, -1)
    yield torch.stack([x, x], -1)[..., 0]


def arguments(size, dtype):
    generator = torch.Generator().manual_seed(sum(size))
    x, y = torch.randn(2, *size, generator=generator, dtype=torch.float64)
    m, v, w, b = torch.randn(4, size[1], generator=generator, dtype=torch.float64)
    return [t.to(dtype) for t in (x, y, m, v.abs() + 0.1, w, b)]


def test_every_row_is_called():
    assert set(PROGRAMS) == set(_C._scalar_rows("normalization"))


@pytest.mark.parametrize("program", itertools.chain(*PROGRAMS.values()))
def test_programs(program):
    script, eager = compiled(program)
    ran = 0
    for size, dtype in itertools.product(SIZES, [torch.float32, torch.float64, torch.bfloat16, torch.float16]):
        x, *others = arguments(size, dtype)
        truth = eager(*(t.double() for t in (x, *others)))
        for a in layouts(x):
            before = launches()
            found, expected = script(a, *others), eager(a, *others)
            ran += launches() > before
            assert found.stride() == expected.stride() and found.dtype == expected.dtype
            error, allowed = (found.double() - truth).abs(), (expected.double() - truth).abs()
            info = torch.finfo(dtype)
            assert (error <= 2 * allowed + 8 * info.eps * (1 + truth.abs().max())).all()
    assert ran > 60


def test_arguments_that_are_refused():
    """Statistics of another size, and none: the operator says so."""
    script, eager = compiled(NORMALIZED)
    x, y, *others = arguments((2, 5, 3), torch.float32)
    for _ in range(3):
        script(x, y, *others)
    for which in range(4):
        wrong = [t[:1] if i == which else t for i, t in enumerate(others)]
        with pytest.raises(RuntimeError) as expected:
            eager(x, y, *wrong)
        with pytest.raises(RuntimeError) as found:
            script(x, y, *wrong)
        assert str(expected.value).splitlines()[0] in str(found.value)
    assert script(x[:, :, :0], y, *others).shape == (2, 5, 0)


def test_training():
    """Of small images, statistics are computed, and written, by PyTorch's kernel, and applied by one of Cresset's."""
    program = NORMALIZED.replace("False, 0.1", "True, 0.1")
    script, eager = compiled(f"torch.relu({program})")
    for _ in range(3):
        x, y, *others = arguments((4, 5, 3), torch.float32)
        ours, theirs = [t.clone() for t in others], [t.clone() for t in others]
        torch.testing.assert_close(script(x, y, *ours), eager(x, y, *theirs), rtol=2e-6, atol=1e-6)
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b)


def test_gradients_of_layer_norm():
    """They are sums along rows and along columns: as near to float64 as eager PyTorch's, and laid out as those."""
    source = """
def f(x: Tensor, g: Tensor, w: Tensor, m: Tensor, r: Tensor):
  return torch.ops.aten.native_layer_norm_backward(g, x, [SIZES], m, r, w, w, [True, True, True])
"""
    for size, normal in [
        ((4, 33), 1),
        ((3, 5, 40), 1),
        ((2, 3, 4, 5), 2),
        ((1, 1), 1),
        ((700, 64), 1),
        ((40, 2100), 1),
        ((7,), 1),
    ]:
        x, g = torch.randn(2, *size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        w = torch.randn(size[-normal:], dtype=torch.float64)
        script, eager = both(source.replace("SIZES", str(size[-normal:])[1:-1].rstrip(",")))
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            _, m, r = torch.native_layer_norm(x.to(dtype), size[-normal:], None, None, 1e-5)
            before = launches()
            for a, b in itertools.product(layouts(x.to(dtype)), layouts(g.to(dtype))):
                given = (a, b, w.to(dtype), m, r)
                found, expected = script(*given), eager(*given)
                truth = eager(*(t.double() for t in given))
                for ours, theirs, right in zip(found, expected, truth, strict=True):
                    assert (
                        ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.stride() == theirs.stride()
                    )
                    error, allowed = (ours.double() - right).abs().max(), (theirs.double() - right).abs().max()
                    assert error <= 2 * allowed + 1e-6 * (1 + right.abs().max())
            assert launches() > before or len(size) == normal or dtype == torch.bfloat16


@pytest.mark.parametrize("parameters", ["None, None", "w, None", "None, b", "w, b"])
@pytest.mark.parametrize("size", [(4, 6), (64, 128), (1, 2), (3, 96)], ids=str)
def test_groups_of_rows(size, parameters):
    """Channels of one element each, which lie in one row: one kernel, as layer norm's."""
    script, eager = both(
        f"def f(x: Tensor, w: Tensor, b: Tensor):\n  return torch.group_norm(x, 2, {parameters}, 1e-5)"
    )
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x, _, _, _, w, b = arguments(size, dtype)
        for i, a in enumerate(layouts(x)):
            before = launches()
            found, expected, truth = script(a, w, b), eager(a, w, b), eager(a.double(), w.double(), b.double())
            assert launches() > before or i > 0 or dtype == torch.bfloat16
            assert found.stride() == expected.stride() and found.dtype == expected.dtype
            error, allowed = (found.double() - truth).abs(), (expected.double() - truth).abs()
            assert (error <= 2 * allowed + 64 * torch.finfo(dtype).eps * (1 + truth.abs().max())).all()


def test_groups_that_raise():
    for call, size in (
        ("torch.group_norm(x, 4, None, None)", (3, 6)),
        ("torch.group_norm(x, 2, w[:1], None)", (3, 6)),
        ("torch.group_norm(x, 2, w[:3], None)", (3, 6)),
        ("torch.group_norm(x, 2, None, w[:3])", (3, 6)),
        ("torch.group_norm(x, 0, None, None)", (3, 6)),
        ("torch.group_norm(x, 4, None, None)", (3, 6, 5)),
        ("torch.relu(torch.group_norm(x, 4, None, None))", (3, 6, 5, 2)),
        ("torch.relu(torch.group_norm(x, 2, w[:3], None))", (3, 6, 5, 2)),
    ):
        script, eager = both(f"def f(x: Tensor, w: Tensor):\n  return {call}")
        x, w = torch.randn(size), torch.randn(size[1])
        with pytest.raises(RuntimeError) as expected:
            eager(x, w)
        for _ in range(2):
            with pytest.raises(RuntimeError) as found:
                script(x, w)
            assert str(expected.value).splitlines()[0] in str(found.value)
    script, eager = both("def f(x: Tensor):\n  return torch.group_norm(x, 2)")
    assert script(torch.randn(0, 6)).shape == (0, 6)


@pytest.mark.parametrize("parameters", ["None, None", "w, None", "None, b", "w, b"])
@pytest.mark.parametrize("call", ["CALL", "torch.relu(CALL)", "torch.sigmoid(CALL) * CALL", "CALL.sum(1)"])
def test_groups_of_images(call, parameters):
    """Statistics by one kernel, and a factor and a summand for each channel, which neighbours join; as PyTorch lays it out."""
    program = call.replace("CALL", f"torch.group_norm(x, 2, {parameters}, 1e-3)")
    script, eager = both(f"def f(x: Tensor, w: Tensor, b: Tensor):\n  return {program}")
    for size, dtype in itertools.product(
        [(2, 6, 5, 7), (3, 4, 33), (1, 8, 2, 3, 4), (2, 2, 1, 1)], [torch.float32, torch.float64]
    ):
        x, _, _, _, w, b = arguments(size, dtype)
        for i, a in enumerate(layouts(x)):
            before = launches()
            found, expected, truth = script(a, w, b), eager(a, w, b), eager(a.double(), w.double(), b.double())
            assert i > 0 or launches() > before + 1
            assert found.stride() == expected.stride() and found.dtype == expected.dtype
            error, allowed = (found.double() - truth).abs(), (expected.double() - truth).abs()
            assert (error <= 2 * allowed + 128 * torch.finfo(dtype).eps * (1 + truth.abs().max())).all()
