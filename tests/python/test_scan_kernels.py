"""Kernels that compute elements from those before them (cumulative sums and the like), against eager PyTorch: to the bit, but for logcumsumexp.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own: bits, dtypes, sizes and strides.
"""

import itertools

import pytest
import sampling
import torch
from kernel_checks import both, checked, launches, layouts

import cresset

pytestmark = pytest.mark.usefixtures(checked.__name__)

EXACT = ["cumsum({}, {})", "cumprod({}, {})", "cummax({}, {})", "cummin({}, {})"]
DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.int8,
    torch.uint8,
    torch.bool,
]
SIZES = [(1, 1), (3, 5), (1, 70), (70, 1), (17, 33), (40, 8), (2, 1023), (1025, 2), (20, 300)]


def compiled(program):
    return both(f"def f(x: Tensor, y: Tensor):\n  return {program}")


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


def equal(found, expected):
    """Zeros of one sign; NaNs are one class."""
    if found.dtype != expected.dtype or found.stride() != expected.stride():
        return False
    if not found.dtype.is_floating_point:
        return torch.equal(found, expected)
    known = ~expected.isnan()
    same = torch.equal(found.isnan(), expected.isnan()) and torch.equal(found[known], expected[known])
    return same and torch.equal(found[known].signbit(), expected[known].signbit())


def values(size, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, size, generator=generator).bool()
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -9, 9, size, generator=generator).to(dtype)
    return torch.randn(size, generator=generator).mul(1.2).to(dtype)


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("call", EXACT)
def test_bits(call, numerics):
    ran = 0
    cases = list(itertools.product(DTYPES, SIZES, (0, 1)))
    with cresset.options.override(numerics=numerics):
        for dtype, size, dim in sampling.share(cases, 2, call + numerics, lambda case: case[0]):
            script, eager = compiled("torch." + call.format("x", dim))
            for x in layouts(values(size, dtype, 1)):
                before = launches()
                found, expected = as_list(script(x, x)), as_list(eager(x, x))
                ran += launches() > before
                assert all(map(equal, found, expected)), (dtype, size, dim, x.stride())
    assert ran > sampling.amount(100, 200)


@pytest.mark.parametrize("call", EXACT)
def test_every_length(call):
    """The same bits for each length and place in memory, on one thread and two."""
    rows, _ = compiled("torch." + call.format("x", 1))
    columns, _ = compiled("torch." + call.format("x", 0))
    for length in [*range(1, 101), 1000]:
        x = values((19, length), torch.float32, length)
        expected = as_list(getattr(torch, call.split("(")[0])(x, 1))
        for few in (x, x[:3], x[:1], x[1:12]):
            for found, right in zip(as_list(rows(few, few)), expected, strict=True):
                first = 1 if len(few) == 11 else 0
                assert equal(found.contiguous(), right[first : first + len(few)].contiguous())
            for found, right in zip(as_list(columns(few.t(), few)), expected, strict=True):
                assert torch.equal(found.t().nan_to_num(7), right[first : first + len(few)].nan_to_num(7))


@pytest.mark.parametrize("call", [*EXACT, "logcumsumexp({}, {})"])
def test_what_is_not_finite(call):
    inf, nan = float("inf"), float("nan")
    special = [
        [1.0, nan],
        [inf, 1.0],
        [-inf, 2.0],
        [inf, -inf],
        [-inf, -inf],
        [inf, inf],
        [0.0, -0.0],
        [-0.0, 0.0],
        [nan, inf],
        [1e38, 3e38],
    ]
    for width, dtype, place in itertools.product((2, 3, 40), (torch.float32, torch.float64, torch.bfloat16), (1, 2)):
        x = torch.zeros(2 * len(special), width, dtype=dtype)
        x[:, 0], x[:, min(place, width - 1)] = torch.tensor(special, dtype=dtype).repeat(2, 1).t()
        script, eager = compiled("torch." + call.format("x", 1))
        for a in (x, x.t().contiguous().t(), x[:3]):
            for found, expected in zip(as_list(script(a, a)), as_list(eager(a, a)), strict=True):
                if "log" in call:
                    assert torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.isinf(), expected.isinf())
                    torch.testing.assert_close(found, expected, equal_nan=True)
                else:
                    assert equal(found, expected)


PROGRAMS = [
    "torch.cumsum(torch.softmax(x, 1), 1) > 0.5",
    "torch.cumsum(torch.relu(x) * y, 0) - y",
    "torch.cumsum(torch.cumsum(x, 1), 1)",
    "torch.cumsum(x, 1) / x.abs().sum(1, keepdim=True), torch.cumprod(y, 1)",
    "torch.cummax(x + y, 0)[0] * 2",
    "torch.cumsum(x, 1).sum(1)",
    "torch.cumsum(x, 1).amax(1, keepdim=True) - x",
    "torch.cumsum(x.amax(1, keepdim=True) - x, 1)",
    "torch.exp(torch.logcumsumexp(x, 1) - y)",
    "torch.cumsum(x, 0) + torch.cumsum(y, 1)",
    "torch.cumsum((x > 0).long(), 1) * (y > 0).long()",
    "x.flip(1).cumsum(1).flip(1) + y",
    "torch.cumsum(x.unsqueeze(2).expand(x.size(0), x.size(1), 20), 1) * 2",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_groups(program):
    """Groups have the bits of their operators, each in a kernel of its own, in all layouts; and near eager's values."""
    script, eager = compiled(program)
    before, calls = launches(), 0
    for size in [(1, 1), (4, 7), (33, 40), (2, 1500), (1500, 3), (40, 1030)]:
        x, y = values((2, *size), torch.float32, 3)
        for a, b in itertools.product(layouts(x), [y, y.t().contiguous().t()]):
            calls += 1
            for found, expected in zip(as_list(script(a, b)), as_list(eager(a, b)), strict=True):
                assert found.stride() == expected.stride()
                if expected.dtype == torch.bool:
                    assert (found != expected).sum() <= 2
                else:
                    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    assert launches() - before >= calls


def test_threads():
    for call in EXACT:
        for dim in (0, 1):
            script, eager = compiled("torch." + call.format("x", dim))
            x = torch.randn(150, 1300)
            for threads in (1, 2):
                torch.set_num_threads(threads)
                assert all(map(equal, as_list(script(x, x)), as_list(eager(x, x))))


def test_what_has_no_elements_or_dimensions():
    for call in EXACT:
        script, eager = compiled("torch." + call.format("x", 0))
        for x in (torch.tensor(-0.0), torch.empty(0), torch.empty(0, 3), torch.empty(3, 0), torch.tensor([-0.0])):
            assert all(map(equal, as_list(script(x, x)), as_list(eager(x, x))))


def test_gradients():
    """As autograd's."""
    for call in ("cumsum(x * y, 1)", "cumprod(x, 0) * y", "cummax(x, 1)[0] * y", "logcumsumexp(x + y, 0)"):
        script, eager = compiled("torch." + call)
        for size in [(3, 4), (20, 30)]:
            for _ in range(3):
                with torch.enable_grad():
                    a, b = [v.requires_grad_() for v in values((2, *size), torch.float64, 5).add(2)]
                    found = torch.autograd.grad(script(a, b).sin().sum(), (a, b))
                    expected = torch.autograd.grad(eager(a, b).sin().sum(), (a, b))
                torch.testing.assert_close(found, expected)
