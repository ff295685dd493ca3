"""Batch norm in training by kernels: statistics of images, then of these. Against eager PyTorch, and against float64."""

import copy
import itertools

import pytest
import torch
from kernel_checks import both, checked, launches
from torch import nn

import cresset

SIZES = [
    (4, 5, 33),
    (2, 3, 8, 9),
    (3, 4, 12, 11),
    (2, 2, 4, 5, 6),
    (1, 3, 8, 8),
    (2, 1, 9, 9),
    (1, 1, 6, 6),
    (1, 3, 1, 64),
]
SMALL = [(4, 5), (4, 5, 3), (2, 3, 2, 2), (1, 3, 1, 2), (0, 3, 8, 8), (2, 3, 0, 8)]
CALL = "torch.batch_norm(x, w, b, m, v, True, 0.3, 1e-5, False)"


def program(call):
    return both(f"def f(x: Tensor, w: Tensor, b: Tensor, m: Tensor, v: Tensor):\n  return {call}")


def layouts(x):
    yield x
    if x.dim() in (4, 5):
        yield x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    yield x.transpose(0, -1).contiguous().transpose(0, -1)
    yield torch.stack([x, x], -1)[..., 0]


def arguments(size, dtype):
    generator = torch.Generator().manual_seed(sum(size))
    x = torch.randn(size, generator=generator, dtype=torch.float64) * 3 + 2
    w, b, m, v = torch.randn(4, size[1], generator=generator, dtype=torch.float64)
    return [t.to(dtype) for t in (x, w, b, m, v.abs() + 0.1)]


def is_near(found, expected, truth):
    """As near to the truth as eager's, up to what rounding the truth itself can do."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if truth.numel() == 0:
        return True
    error, allowed = (found.double() - truth).abs(), (expected.double() - truth).abs()
    bound = 2 * allowed.max() + 8 * torch.finfo(found.dtype).eps * (1 + truth.abs().max())
    return bool(((error <= bound) | (found.isnan() & expected.isnan())).all())


@pytest.mark.usefixtures(checked.__name__)
@pytest.mark.parametrize(
    "call",
    [
        CALL,
        f"torch.relu({CALL} + x)",
        CALL.replace("w, b", "w, None"),
        CALL.replace("w, b", "None, b"),
        CALL.replace("w, b, m, v", "None, None, None, None"),
        CALL.replace("m, v", "None, None"),
        CALL.replace("0.3", "0.0"),
        CALL.replace("0.3", "1.0"),
    ],
)
def test_values(call):
    script, eager = program(call)
    ran = 0
    calls = [*itertools.product(SIZES + SMALL, [torch.float32, torch.float64])]
    calls += itertools.product(SIZES[:2] + SMALL[:2], [torch.bfloat16, torch.float16])
    for size, dtype in calls:
        given = arguments(size, dtype)
        truths = [t.double() for t in given]
        truth = eager(*truths)
        for x in layouts(given[0]):
            ours, theirs = [[x, *(t.clone() for t in given[1:])] for _ in range(2)]
            before = launches()
            found, expected = script(*ours), eager(*theirs)
            ran += launches() > before and size in SIZES
            assert found.stride() == expected.stride()
            assert is_near(found, expected, truth)
            for mine, their, right in zip(ours[1:], theirs[1:], truths[1:], strict=True):
                assert is_near(mine, their, right)
    assert ran > 2 * len(SIZES)


@pytest.mark.usefixtures(checked.__name__)
def test_statistics_far_from_zero():
    """The mean of squares less the square of the mean would be nothing but noise."""
    script, eager = program(CALL)
    given = arguments((8, 4, 100), torch.float32)
    given[0] += 10000
    truths = [t.double() for t in given]
    truth = eager(*truths)
    ours, theirs = [[t.clone() for t in given] for _ in range(2)]
    assert is_near(script(*ours), eager(*theirs), truth)
    assert is_near(ours[4], theirs[4], truths[4])


@pytest.mark.usefixtures(checked.__name__)
def test_arguments_that_are_refused():
    script, eager = program(CALL)
    for size in ((2, 5, 40), (2, 5, 3)):
        given = arguments(size, torch.float32)
        for _ in range(3):
            script(*given)
        for which, wrong in itertools.product(range(1, 5), (slice(0, 1), slice(0, 4))):
            others = [t[wrong] if i == which else t for i, t in enumerate(given)]
            with pytest.raises(RuntimeError) as expected:
                eager(*others)
            with pytest.raises(RuntimeError) as found:
                script(*others)
            assert str(expected.value).splitlines()[0] in str(found.value)


def test_one_value_per_channel():
    module = nn.BatchNorm2d(3)
    script = cresset.script(copy.deepcopy(module))
    for _ in range(3):
        script(torch.randn(2, 3, 8, 8))
    with pytest.raises(Exception, match="Expected more than 1 value per channel when training"):
        script(torch.randn(1, 3, 1, 1))


class Normalized(nn.Module):
    def __init__(self, kind, channels, **options):
        super().__init__()
        self.norm = kind(channels, **options)

    def forward(self, x):
        return torch.relu(self.norm(x) + x)


def training(module, x, grad):
    leaf = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    y = module(leaf)
    gradients = torch.autograd.grad(y, [leaf, *module.parameters()], grad)
    return [y.detach(), *gradients], [t.clone() for t in module.buffers()]


KINDS = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d]


OPTIONS = [{}, {"affine": False}, {"momentum": None}, {"track_running_stats": False}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "numerics"), [*itertools.product(OPTIONS, ["default"]), ({}, "exact")], ids=lambda value: str(value)
)
def test_modules_in_training(kind, options, numerics):
    """Results, gradients and statistics of modules, in training and after it."""
    rank = int(kind.__name__[-2]) + 2
    if "InstanceNorm" in kind.__name__ and "momentum" in options:
        options = {"affine": True}
    with cresset.options.override(kernels="check", plans="always", numerics=numerics):
        for size, dtype in itertools.product([s for s in SIZES if len(s) == rank][:2], [torch.float32, torch.float64]):
            torch.manual_seed(1)
            eager = Normalized(kind, size[1], **options).to(dtype)
            for parameter in eager.parameters():
                nn.init.uniform_(parameter, -1, 1)
            true, script = copy.deepcopy(eager).double(), cresset.script(copy.deepcopy(eager))
            before = launches()
            for x, is_training in itertools.product(layouts(arguments(size, dtype)[0]), [True, True, False]):
                grad = torch.randn(size, dtype=dtype)
                for module in (eager, true, script):
                    module.train(is_training)
                found, expected = training(script, x, grad), training(eager, x, grad)
                truth = training(true, x.double(), grad.double())
                for ours, theirs, right in zip(
                    *map(itertools.chain.from_iterable, (found, expected, truth)), strict=True
                ):
                    if ours.is_floating_point() and numerics == "default":
                        assert is_near(ours, theirs, right)
                    else:
                        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
                for ours, theirs in zip(found[0], expected[0], strict=True):
                    assert ours.stride() == theirs.stride()
            assert launches() > before


def test_two_calls_before_the_backward_pass():
    """What the second one writes to running statistics is nothing that the gradient of the first one reads."""
    with cresset.options.override(kernels="now", plans="always", numerics="default"):
        eager = Normalized(nn.BatchNorm2d, 3)
        script = cresset.script(copy.deepcopy(eager))
        x, y = (torch.randn(2, 3, 8, 8) for _ in range(2))
        for _ in range(3):
            gradients = []
            for module in (script, eager):
                module.zero_grad()
                (module(x) * module(y)).sum().backward()
                gradients.append([p.grad for p in module.parameters()])
            for ours, theirs in zip(*gradients, strict=True):
                torch.testing.assert_close(ours, theirs)
        for ours, theirs in zip(script.buffers(), eager.buffers(), strict=True):
            assert ours._version == theirs._version
            torch.testing.assert_close(ours, theirs)


def test_second_derivatives():
    with cresset.options.override(kernels="now", plans="always", numerics="default"):
        eager = Normalized(nn.BatchNorm2d, 3).double()
        script = cresset.script(copy.deepcopy(eager))
        x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
        for _ in range(3):
            results = []
            for module in (script, eager):
                leaf = x.clone().requires_grad_()
                (first,) = torch.autograd.grad((module(leaf) ** 2).sum(), leaf, create_graph=True)
                results.append(torch.autograd.grad((first**3).sum(), [leaf, *module.parameters()]))
            for ours, theirs in zip(*results, strict=True):
                torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("mixed", [False, True])
def test_autocast(mixed):
    """With a convolution before it, whose result has 16 bits: the operator then has parameters of 32."""
    with cresset.options.override(kernels="now", plans="always", numerics="default"):
        eager = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)) if mixed else nn.Sequential(nn.BatchNorm2d(3))
        script = cresset.script(copy.deepcopy(eager))
        x = torch.randn(2, 3, 12, 12)
        for _ in range(3):
            with torch.autocast("cpu", torch.bfloat16):
                found, expected = script(x), eager(x)
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected)
            found.float().sum().backward()
            expected.float().sum().backward()
            for ours, theirs in zip(script.parameters(), eager.parameters(), strict=True):
                torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-2, atol=1e-2)


def traced(module):
    """With buffers of its own: tracing runs the module."""
    statistics = copy.deepcopy(module.state_dict())
    result = cresset.trace(module, torch.randn(2, 3, 8, 8), check_trace=False)
    result.load_state_dict(statistics)
    return result


@pytest.mark.parametrize("make", [cresset.compile, cresset.functionalize, traced], ids=lambda make: make.__name__)
def test_other_forms(make):
    """Captured, functionalized and traced."""
    with cresset.options.override(kernels="now", plans="always", numerics="default"), torch.no_grad():
        eager = Normalized(nn.BatchNorm2d, 3)
        module = copy.deepcopy(eager)
        form = make(module)
        held = form if make is traced else module
        for _ in range(4):
            x = torch.randn(2, 3, 8, 8)
            torch.testing.assert_close(form(x), eager(x))
            for ours, theirs in zip(held.buffers(), eager.buffers(), strict=True):
                torch.testing.assert_close(ours, theirs)
