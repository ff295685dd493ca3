"""optimize_for_inference: chains of convolutions in channels-last layout, with packed weights.

Results are compared with eager PyTorch by error against float64, in units of what eager itself has; strides, aliasing and
exceptions exactly. Plans are counted for what they rearrange.
"""

import copy
import io
import threading

import convolutional_networks as networks
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="libtorch has no oneDNN")

#: Network, input, chains, tensors that are brought into the layout, tensors that are brought back.
NETWORKS = [
    (networks.ResNet18, (2, 3, 64, 64), 1, 1, 1),
    (networks.ResNet50, (1, 3, 64, 64), 1, 1, 1),
    (networks.MobileNet, (2, 3, 64, 64), 1, 10, 10),  # nine gates of linear layers, and the mean at the end
    (networks.ConvNeXt, (2, 3, 64, 64), 19, 19, 22),  # channels-last already after the first layer
    (networks.DenseNet, (2, 3, 32, 32), 1, 1, 1),
    (networks.UNet, (2, 3, 32, 32), 1, 1, 1),
    (networks.AudioNet, (2, 1, 1000), 1, 1, 1),
    (networks.VideoNet, (2, 3, 8, 16, 16), 1, 1, 1),
]


def randomized(module):
    """Batch norms with statistics; layers that keep the size of their input, so that results depend on it."""
    generator = torch.Generator().manual_seed(0)
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.running_mean.normal_(0, 0.1, generator=generator)
            layer.running_var.uniform_(0.5, 1.5, generator=generator)
        elif isinstance(layer, (nn.modules.conv._ConvNd, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, generator=generator)
    return module.eval()


def optimized(module):
    return cresset.optimize_for_inference(cresset.script(module))


def count(module, *inputs):
    text = str(module.forward.graph_for(*inputs))
    return [
        text.count(f"cresset::{name}(")
        for name in ("takes_channels_last", "channels_last", "contiguous", "convolution")
    ]


def assert_as_good(result, module, *inputs):
    """Eager's strides, and at most four times eager's own error."""
    expected = module(*inputs)
    exact = copy.deepcopy(module).double()(*(x.double() for x in inputs))
    assert result.stride() == expected.stride() and result.shape == expected.shape and result.dtype == expected.dtype
    error, own = ((x.double() - exact).abs().max() for x in (result, expected))
    unit = torch.finfo(result.dtype).eps * exact.abs().max()
    assert error <= 4 * own + 4 * unit, (error, own, unit)


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("make, shape, chains, entered, left", NETWORKS, ids=lambda x: getattr(x, "__name__", ""))
def test_networks(make, shape, chains, entered, left):
    torch.manual_seed(0)
    module, x = randomized(make(8)), torch.randn(shape)
    mine = optimized(module)
    first = mine(x)
    assert torch.equal(mine(x), first)  # the first call has the bits of later ones
    assert not torch.equal(mine(x), mine(-x))
    assert_as_good(first, module, x)
    assert count(mine, x)[:3] == [chains, entered, left]
    other = torch.randn(shape[0] + 1, *shape[1:-1], shape[-1] * 2)  # the weights were packed for another size
    assert_as_good(mine(other), module, other)


@pytest.mark.parametrize("make, shape", [case[:2] for case in NETWORKS if len(case[1]) == 4])
def test_inputs_in_other_layouts(make, shape):
    torch.manual_seed(0)
    module = randomized(make(8))
    mine = optimized(module)
    x = torch.randn(shape)
    for other in (
        x.contiguous(memory_format=torch.channels_last),
        x.transpose(2, 3).contiguous().transpose(2, 3),
        torch.randn(shape[0], shape[1], shape[2], 2 * shape[3])[..., ::2],
        torch.randn(shape[:2] + (1, 1)).expand(shape),
        x[:1],
    ):
        assert_as_good(mine(other), module, other)
    channels_last = copy.deepcopy(module).to(memory_format=torch.channels_last)
    mine = optimized(channels_last)
    for other in (x, x.contiguous(memory_format=torch.channels_last)):
        assert_as_good(mine(other), channels_last, other)


CONVOLUTIONS = [
    (nn.Conv1d, dict(kernel_size=3, padding=1)),
    (nn.Conv1d, dict(kernel_size=3, padding="same", dilation=2)),
    (nn.Conv1d, dict(kernel_size=4, stride=2, groups=2, bias=False)),
    (nn.Conv2d, dict(kernel_size=1)),
    (nn.Conv2d, dict(kernel_size=3, padding="valid")),
    (nn.Conv2d, dict(kernel_size=(3, 5), stride=(2, 1), padding=(0, 2), dilation=(1, 2))),
    (nn.Conv2d, dict(kernel_size=3, padding=1, groups=8)),
    (nn.Conv2d, dict(kernel_size=3, padding=1, padding_mode="reflect")),
    (nn.Conv3d, dict(kernel_size=3, stride=2, padding=1)),
    (nn.Conv3d, dict(kernel_size=(1, 3, 3), groups=4)),
    (nn.ConvTranspose1d, dict(kernel_size=4, stride=2, padding=1)),
    (nn.ConvTranspose2d, dict(kernel_size=3, stride=2, padding=1, output_padding=1)),
    (nn.ConvTranspose2d, dict(kernel_size=2, stride=2, groups=4, bias=False)),
    (nn.ConvTranspose2d, dict(kernel_size=3, dilation=2)),
    (nn.ConvTranspose3d, dict(kernel_size=2, stride=2)),
]


@pytest.mark.parametrize("kind, arguments", CONVOLUTIONS, ids=lambda x: getattr(x, "__name__", None))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kinds_of_convolutions(kind, arguments, dtype):
    torch.manual_seed(0)
    module = nn.Sequential(kind(8, 8, **arguments), nn.SiLU(), kind(8, 16, **arguments)).to(dtype).eval()
    x = torch.randn([2, 8] + [19, 17, 15][: int(kind.__name__[-2])]).to(dtype)
    mine = optimized(module)
    mine(x)
    assert_as_good(mine(x), module, x)
    convolutions = count(mine, x)[3]
    # oneDNN's convolutions of bfloat16 need processors that have AVX-512.
    unpacked = dtype == torch.bfloat16 and (
        "Transpose" in kind.__name__ or not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
    assert convolutions == (0 if unpacked else 2)


@pytest.mark.parametrize(
    "kind, arguments",
    [(nn.Conv2d, dict(kernel_size=4, padding="same")), (nn.Conv2d, dict(kernel_size=3, dtype=torch.float64))],
)
def test_convolutions_that_stay(kind, arguments):
    """Padding of one side; a dtype that oneDNN does not know."""
    module = nn.Sequential(kind(8, 8, **arguments), nn.ReLU(), kind(8, 8, **arguments)).eval()
    x = torch.randn(2, 8, 9, 9, dtype=module[0].weight.dtype)
    mine = optimized(module)
    for _ in range(2):
        assert torch.equal(mine(x), module(x))
    assert count(mine, x) == [0, 0, 0, 0]


class Between(nn.Module):
    """A function between two convolutions."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner, self.second = nn.Conv2d(8, 8, 3, padding=1), inner, nn.LazyConv2d(8, 1)

    def forward(self, x):
        return self.second(self.inner(self.first(x)))


@pytest.mark.parametrize(
    "inner",
    [
        nn.MaxPool2d(2),
        nn.AvgPool2d(3, 2, 1),
        nn.AdaptiveAvgPool2d(4),
        nn.BatchNorm2d(8),
        nn.GroupNorm(2, 8),
        nn.Hardswish(),
        nn.PReLU(8),
        nn.GELU(),
        nn.ReLU6(inplace=True),
        nn.Upsample(scale_factor=2.0),
        nn.Upsample(scale_factor=1.5, mode="bilinear"),
        nn.PixelShuffle(2),
        nn.PixelUnshuffle(2),
        nn.ConstantPad2d(1, 0.5),
        nn.ReflectionPad2d(1),
        nn.Sigmoid(),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_what_takes_any_layout(inner):
    torch.manual_seed(0)
    x = torch.randn(2, 8, 12, 12)
    module = Between(inner).eval()
    module(x)
    module = randomized(module)
    mine = optimized(module)
    mine(x)
    assert_as_good(mine(x), module, x)
    assert count(mine, x) == [1, 1, 1, 2]


def scripted(source_class):
    return optimized(randomized(source_class))


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))

    def forward(self, x, n: int):
        x = F.relu(self.a(x))
        for _i in range(n):
            if bool(x.mean() > 0):
                x = F.relu(self.c(self.b(x))) + x
            else:
                x = self.b(x) - 1
        return x, x.stride()


@pytest.mark.parametrize("steps", range(4))
def test_branches_and_loops(steps):
    module = randomized(Branching())
    mine = optimized(module)
    x = torch.randn(2, 4, 10, 10)
    for _ in range(2):
        (mine_x, mine_strides), (x_, strides) = mine(x, steps), module(x, steps)
        torch.testing.assert_close(mine_x, x_, rtol=1e-4, atol=1e-4)
        assert mine_strides == list(strides) and mine_x.stride() == x_.stride()


class Seen(nn.Module):
    """Values whose strides and memory others see."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        y = F.relu(self.a(x))
        z = self.b(y)
        view = y[:, 1:]
        return y, y, view, y.view(-1), z.permute(0, 2, 3, 1), torch.as_strided(z, [3], [7]), y.is_contiguous()


def test_what_others_see():
    module, x = randomized(Seen()), torch.randn(2, 4, 5, 6)
    mine = optimized(module)
    mine(x)
    results, expected = mine(x), module(x)
    for result, one in zip(results, expected):
        if isinstance(one, bool):
            assert result == one
            continue
        torch.testing.assert_close(result, one)
        assert result.stride() == one.stride() and result.storage_offset() == one.storage_offset()
    y, again, view, flat = results[:4]
    assert y is again
    y.fill_(3)
    assert (view == 3).all() and (flat == 3).all() and not y._is_view()


class Writing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        y = self.a(x)
        y[:, 0] = 1
        z = self.b(y)
        z.add_(x)
        x.mul_(2)
        return self.b(F.relu(z, inplace=True)), y, x


def test_writes():
    module = randomized(Writing())
    mine = optimized(module)
    for _ in range(2):
        x = torch.randn(2, 4, 5, 6)
        for result, one in zip(mine(x.clone()), module(x.clone())):
            torch.testing.assert_close(result, one, rtol=1e-4, atol=1e-4)
            assert result.stride() == one.stride()


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (2, 4, 1, 3), (1, 4, 7, 1), (3, 4, 1, 1)])
def test_dimensions_of_one_element(shape):
    """Their strides, which nothing depends on, are eager's, too."""
    module = randomized(
        nn.Sequential(nn.Conv2d(4, 1, 1), nn.ReLU(), nn.Conv2d(1, 6, 3, padding=1), nn.AdaptiveAvgPool2d(1))
    )
    for model in (module, module[:2], module[:3], nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU(), nn.Conv2d(4, 1, 1))):
        mine = optimized(model)
        for x in (torch.randn(shape), torch.randn(shape).contiguous(memory_format=torch.channels_last)):
            mine(x)
            assert_as_good(mine(x), model, x)


def test_arguments_that_are_refused():
    module = randomized(nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)))
    mine = optimized(module)
    mine(torch.randn(1, 4, 8, 8))
    for x in (torch.randn(1, 3, 8, 8), torch.randn(1, 4, 2, 8), torch.randn(1, 4, 4, 4), torch.randn(4, 4)):
        errors = []
        for run in (module, mine):
            with pytest.raises(RuntimeError) as error:
                run(x)
            errors.append(str(error.value).splitlines()[-1])
        assert errors[0] in errors[1]
    assert mine(torch.randn(0, 4, 8, 8)).shape == (0, 4, 4, 4)
    x = torch.randn(4, 8, 8)  # no batch
    assert_as_good(mine(x), module, x)


def test_gradients():
    module, x = randomized(networks.ResNet18(16)), torch.randn(1, 3, 32, 32)
    mine = optimized(module)
    with torch.enable_grad():
        gradients = []
        for run in (module, mine, mine):
            leaf = x.clone().requires_grad_()
            run(leaf).square().sum().backward()
            gradients.append(leaf.grad)
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0], rtol=1e-3, atol=1e-3 * gradients[0].abs().max().item())
    assert count(mine, x)[3] == 20  # without gradients, still


def test_callers_inline_it():
    class Outer(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 1

    inner = randomized(networks.UNet(8))
    outer = cresset.script(Outer(optimized(inner)))
    x = torch.randn(1, 3, 16, 16)
    first = outer(x)
    assert torch.equal(outer(x), first)
    torch.testing.assert_close(first, inner(x) + 1, rtol=1e-4, atol=1e-4)
    assert count(outer, x)[3] == 13


def test_frozen_modules():
    """Only what was optimized for inference computes in another layout; a frozen module can be, when it has run, too."""
    module, x = randomized(networks.UNet(8)), torch.randn(1, 3, 16, 16)
    frozen = cresset.freeze(cresset.script(module))
    expected = frozen(x)
    assert torch.equal(frozen(x), expected) and count(frozen, x)[3] == 0
    mine = cresset.optimize_for_inference(frozen)
    assert mine is not frozen and cresset.optimize_for_inference(mine) is mine
    mine(x)
    torch.testing.assert_close(mine(x), expected, rtol=1e-4, atol=1e-4)
    assert count(mine, x)[3] == 13 and count(frozen, x)[3] == 0


def test_archives():
    """Archives hold the frozen program; whoever loads one optimizes it again. torch.jit reads them."""
    module, x = randomized(networks.UNet(8)), torch.randn(1, 3, 16, 16)
    mine = optimized(module)
    expected = mine(x)
    buffer = io.BytesIO()
    mine.save(buffer)
    buffer.seek(0)
    torch.testing.assert_close(torch.jit.load(buffer)(x), expected, rtol=1e-4, atol=1e-4)
    buffer.seek(0)
    loaded = cresset.load(buffer)
    loaded(x)
    torch.testing.assert_close(loaded(x), expected, rtol=1e-4, atol=1e-4)
    assert count(loaded, x)[3] == 0
    again = cresset.optimize_for_inference(loaded)
    assert torch.equal(again(x), expected) and count(again, x)[3] == 13


def test_weights_that_are_written_to():
    """Without batch norms, the weights are the module's own: what is written to them counts, as in a frozen module."""
    module, x = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval(), torch.randn(1, 4, 8, 8)
    mine = optimized(module)
    mine(x)
    module[0].weight.mul_(2)
    assert_as_good(mine(x), module, x)


def test_threads():
    module, x = randomized(networks.UNet(8)), torch.randn(1, 3, 16, 16)
    mine = optimized(module)
    results = [None] * 8

    def run(i):
        with torch.no_grad():
            results[i] = mine(x)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(result, results[0]) for result in results)


def test_switched_off():
    module, x = randomized(networks.UNet(8)), torch.randn(1, 3, 16, 16)
    mine, frozen = optimized(module), cresset.freeze(cresset.script(module))
    mine(x)
    with torch.backends.mkldnn.flags(enabled=False):
        torch.testing.assert_close(mine(x), frozen(x), rtol=1e-4, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert mine(x).dtype == frozen(x).dtype
