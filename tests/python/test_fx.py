"""What torch.fx writes, as programs: graphs of op_db's operators and of whole models, and every kind of index.

A GraphModule's code says `x[(Ellipsis, slice(None, 1, None))]` where a person writes `x[..., :1]`. What torch.jit compiles
of it Cresset must compile; results are those of eager.
"""

import itertools
import math
import operator

import pytest

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

import sampling
import torch
import torch.fx
import torch.nn.functional as F
from op_database import op_db
from script_helpers import check
from sweep import op_name
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing import assert_close
from trace_sweep import as_function, outcome, samples_of, without_contents

import cresset

# ---- Operators


def of_arity(function, count):
    """As `function`, but with its arguments one by one: torch.fx takes no *args. No lambda: linecache loses their code."""

    def one(a):
        return function(a)

    def two(a, b):
        return function(a, b)

    def three(a, b, c):
        return function(a, b, c)

    def four(a, b, c, d):
        return function(a, b, c, d)

    def five(a, b, c, d, e):
        return function(a, b, c, d, e)

    return [one, two, three, four, five][count - 1]


def traced_sample(op):
    """torch.fx's graph of the first sample that it can trace, and the tensors; None if there is none."""
    dtypes = [dtype for dtype in (torch.float32, torch.int64, torch.bool) if dtype in op.supported_dtypes("cpu")]
    for sample in itertools.islice(samples_of(op, dtypes[0]), 3) if dtypes else ():
        function, tensors = as_function(op, sample)
        if not 1 <= len(tensors) <= 5:
            continue
        try:
            return torch.fx.symbolic_trace(of_arity(function, len(tensors))), tensors
        except Exception:
            continue  # op_db's function looks at values, or asks for more than a Proxy has
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sampling.share(op_db, 4), ids=op_name)
def test_operator(op):
    traced = traced_sample(op)
    if traced is None:
        pytest.skip("torch.fx can't trace it")
    module, tensors = traced
    try:
        expected = outcome(module, tensors)
    except Exception:
        pytest.skip("eager can't run what torch.fx wrote")
    try:
        ours = outcome(cresset.script(module), tensors)
    except Exception as error:
        try:
            outcome(torch.jit.script(module), tensors)
        except Exception:
            pytest.skip(f"torch.jit can't either: {error}")
        raise
    if "empty" in op.name:
        ours, expected = without_contents(ours), without_contents(expected)
    torch.testing.assert_close(ours, expected, equal_nan=True)


# ---- Indices

X = torch.arange(120.0).reshape(2, 3, 4, 5)

INDICES = [
    (Ellipsis, slice(None, 1, None)),
    slice(1, None),
    slice(None, None, 2),
    slice(0, 1),
    (slice(None), slice(1, 3)),
    (None, slice(None), slice(None, None, 2)),
    (0, Ellipsis),
    (Ellipsis, 0),
    (Ellipsis, None),
    (slice(None), None, 1, Ellipsis),
    (slice(-2, None), slice(None, -1)),
    Ellipsis,
    None,
    -1,
    (1, 2, 3, 4),
    (slice(None), [0, 2]),
    (slice(None), slice(None), slice(1, 3), 0),
    (Ellipsis, slice(None, None, 2), slice(1, 4, 3)),
    (True, slice(None)),
    (),
]


class Indexing(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x):
        return x[self.index] + 1


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_index(index):
    module = torch.fx.symbolic_trace(Indexing(index))
    torch.testing.assert_close(cresset.script(module)(X), module(X), rtol=0, atol=0)


class Sizes(nn.Module):
    def forward(self, x):
        shape = x.shape[:-1] + (x.shape[-1] // 1,)
        y = x.reshape(x.shape[slice(None, 2)] + (-1,))
        return y.reshape(shape)[..., : x.size(1)], x.shape[1:3], x.size()[::2]


def test_sizes():
    module = torch.fx.symbolic_trace(Sizes())
    tensor, middle, every_other = cresset.script(module)(X)
    expected = module(X)
    torch.testing.assert_close(tensor, expected[0], rtol=0, atol=0)
    assert middle == list(expected[1]) and every_other == list(expected[2])


FIRST_TWO = slice(None, 2)
ALL_BUT = (..., slice(1, None), 0)


def as_variable(x):
    s = slice(1, 3)
    return x[:, s]


def as_variables(x):
    rows, columns = slice(None), slice(0, 2)
    both = (rows, columns)
    return x[both] + x[rows, columns]


def of_values(x, a: int, b: int):
    s = slice(a, b)
    t = (..., s)
    return x[t] * s.start + s.stop


def of_maybe(x, a: int | None, b: int | None):
    return x[slice(a, b)].sum()


def of_tensors(x, n: torch.Tensor):
    return x[slice(0, n)], x[: int(n)]


def of_module_scope(x):
    return x[FIRST_TWO] + 1, x[ALL_BUT]


def ellipsis_by_name(x):
    e = ...
    return x[Ellipsis, 0] + x[e, 0] + x[0, Ellipsis, 0].sum()


def joined(x):
    return x[(slice(None),) * 2 + (0,)], x[(0,) + (slice(1, 2), ...)]


def tuple_value(x, t: tuple[int, int]):
    return x[t]


def one_slice_and_comma(x):
    return x[1:,]


def assigned(x):
    x = x.clone()
    x[slice(0, 1)] = 7
    s = (slice(None), slice(1, 2))
    x[s] = x[:, slice(2, 3)] * 2
    x[s] += 1
    x[(Ellipsis, slice(0, 2))] *= 3
    return x


@pytest.mark.parametrize(
    "function",
    [as_variable, as_variables, of_module_scope, ellipsis_by_name, joined, one_slice_and_comma, assigned],
)
def test_slices_of_tensors(function):
    torch.testing.assert_close(cresset.script(function)(X), function(X), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (of_values, (1, 3)),
        (of_values, (-2, 7)),
        (of_maybe, (None, 1)),
        (of_maybe, (1, None)),
        (of_tensors, (torch.tensor(2),)),
        (tuple_value, ((1, 2),)),
    ],
)
def test_slices_of_values(function, args):
    torch.testing.assert_close(cresset.script(function)(X, *args), function(X, *args), rtol=0, atol=0)


def test_starred():
    """Python has it since 3.11, so it stands in text."""
    unit = cresset.CompilationUnit(
        """
        def f(x, t: Tuple[int, int]):
            rest = (slice(0, 1), 2)
            return x[*t], x[0, *t], x[0, *rest]
        """
    )
    torch.testing.assert_close(unit.f(X, (1, 2)), (X[1, 2], X[0, 1, 2], X[0, 0:1, 2]), rtol=0, atol=0)


def slices_of_a_list(x: list[int], a: int):
    s = slice(1, 3)
    y = x[s] + x[slice(None, None, 2)] + x[slice(a)]
    y[s] = [7, 8, 9]
    y[slice(0, 1)] = x
    del y[slice(a, a + 1)]
    del y[slice(None, 1)]
    return y, x[slice(-1, None)], x[slice(None)]


def slices_of_text(x: str, a: int):
    s = slice(a, None)
    return x[s] + x[slice(0, 2)] + x[slice(None, None, 2)]


def slices_of_a_tuple(x: tuple[int, str, float]):
    s = slice(1, None)
    return x[s], x[slice(0, 2)], x[slice(None, None, -1)], x[s][0]


def bounds(a: int):
    s = slice(a, 5)
    t = slice(2)
    return s.start, s.stop, s.step, t.start, t.stop


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (slices_of_a_list, ([1, 2, 3, 4], 2)),
        (slices_of_a_list, ([1, 2, 3, 4], -1)),
        (slices_of_text, ("abcdef", 3)),
        (slices_of_a_tuple, ((1, "a", 2.5),)),
        (bounds, (3,)),
    ],
)
def test_slices_of_others(function, args):
    assert cresset.script(function)(*args) == function(*args)


def test_indices_are_evaluated_in_order():
    def index(x, log: list[int]):
        def_a = x[note(log, 0) : note(log, 3), note(log, 1)]
        return def_a, log

    torch.testing.assert_close(cresset.script(index)(X, [])[1], [0, 3, 1])


def note(log: list[int], i: int) -> int:
    log.append(i)
    return i


# ---- Models


class Block(nn.Module):
    def __init__(self, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.down = nn.Conv2d(width, width, 1, stride) if stride > 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        y += x if self.down is None else self.down(x)
        return F.relu(y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.blocks = nn.Sequential(Block(8), Block(8, 2))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1), 1))


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3 + 4 * i, 4, 3, padding=1) for i in range(3)])

    def forward(self, x):
        for conv in self.convs:
            x = torch.cat([x, F.elu(conv(x))], 1)
        return x.mean((2, 3))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1)
        self.up1 = nn.ConvTranspose2d(8, 4, 2, 2)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(a))
        up = self.up1(b)
        up = up[..., : a.shape[-2], : a.shape[-1]]
        return F.interpolate(self.out(torch.cat([a, up], dim=1)), size=x.shape[2:], mode="bilinear")


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, groups=3)
        self.reduce, self.expand = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        x = F.silu(self.conv(x))
        scale = torch.sigmoid(self.expand(F.silu(self.reduce(x.mean((2, 3))))))
        return x * scale[:, :, None, None]


class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 1)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        x = torch.cat((a, self.conv(b)), dim=1)
        n, c, h, w = x.size()
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)


class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = (q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, c))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        x = x + self.attention(self.norm1(x))
        return (x + self.mlp(self.norm2(x)))[:, 0]


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        b, h, w, c = x.shape
        x = torch.roll(x, shifts=(-1, -1), dims=(1, 2))
        x = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, c)
        x = self.attention(x).view(b, h // 2, w // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x0, x1 = x[:, 0::2, 0::2, :], x[:, 1::2, 0::2, :]
        return torch.cat([x0, x1, x[:, 0::2, 1::2, :], x[..., 1::2, 1::2, :]], -1)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.qkv, self.head = nn.Linear(8, 24), nn.Linear(8, 11, bias=False)

    def forward(self, x):
        n = x.size(1)
        h = self.tokens(x) + self.positions.weight[:n]
        q, k, v = self.qkv(h).split(8, dim=-1)
        scores = q @ k.mT
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -1e9)
        return self.head(h + F.softmax(scores, -1) @ v)[:, -1, :]


class Rotary(nn.Module):
    def forward(self, x, cos, sin):
        half = x.shape[-1] // 2
        rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cos[None, :, None, :] + rotated * sin[None, :, None, :]


class FusedAttention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


class LSTMCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.steps = nn.LSTMCell(4, 6), 3

    def forward(self, x, h, c):
        for i in range(self.steps):
            gates = F.linear(x[:, i], self.cell.weight_ih, self.cell.bias_ih) + F.linear(h, self.cell.weight_hh)
            i_gate, f_gate, g_gate, o_gate = gates.chunk(4, 1)
            c = torch.sigmoid(f_gate) * c + torch.sigmoid(i_gate) * torch.tanh(g_gate)
            h = torch.sigmoid(o_gate) * torch.tanh(c)
        return h, c


class GRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(4, 6, batch_first=True), nn.Linear(6, 2)

    def forward(self, x):
        out, hidden = self.gru(x)
        return self.out(out[:, -1]), hidden[-1]


class Equivariant(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2, 3, 3))

    def forward(self, x):
        scalars, vectors = x[..., :2], x[..., 2:].reshape(x.shape[:-1] + (2, 3))
        mixed = torch.einsum("zui,uij->zuj", vectors, self.weight)
        norm = torch.einsum("...i,...i->...", mixed, mixed)
        gated = mixed * scalars.sigmoid().unsqueeze(-1)
        return torch.cat([norm, gated.reshape(x.shape[:-1] + (6,))], dim=-1)


class GraphConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        messages = F.relu(self.message(torch.cat([x[source], x[target]], dim=-1)))
        gathered = torch.zeros_like(x).index_add(0, target, messages)
        best = torch.zeros_like(x).scatter_reduce(0, target[:, None].expand(-1, 4), messages, "amax")
        return self.update(torch.cat((gathered, best), 1))


class DetectionHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores, self.boxes = nn.Conv2d(4, 3, 1), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        n = x.shape[0]
        scores = self.scores(x).permute(0, 2, 3, 1).reshape(n, -1, 3).sigmoid()
        deltas = self.boxes(x).permute(0, 2, 3, 1).reshape(n, -1, 4)
        center, size = deltas[..., 0:2], deltas[..., 2:4].exp()
        corners = torch.stack((center - size / 2, center + size / 2), dim=-2)
        x1, y1 = corners[:, :, 0, 0].clamp(min=0), corners[:, :, 0, 1].clamp(min=0)
        best, label = scores.max(-1)
        return torch.stack((x1, y1, corners[:, :, 1, 0], corners[:, :, 1, 1]), -1), best, label


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 8), nn.Linear(4, 6)

    def forward(self, x, noise):
        mean, log_variance = self.encode(x).chunk(2, dim=-1)
        z = mean + noise * torch.exp(0.5 * log_variance)
        return self.decode(z), {"mean": mean, "log_variance": log_variance}


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(3)])
        self.skip = nn.Conv1d(4, 4, 1)

    def forward(self, x):
        total = 0.0
        for conv in self.convs:
            y = conv(x)
            y = torch.tanh(y[:, :4]) * torch.sigmoid(y[:, 4:])
            x = x[..., -y.shape[-1] :] + y
            total = total + self.skip(y)[..., -4:]
        return total


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(5, 4, mode="sum") for _ in range(2)])
        self.bottom, self.top = nn.Linear(3, 4), nn.Linear(13, 1)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        parts = torch.stack([x, *(bag(sparse[:, i : i + 2]) for i, bag in enumerate(self.bags))], dim=1)
        z = torch.bmm(parts, parts.transpose(1, 2))
        return self.top(torch.cat([x, z.flatten(1)], dim=1)).squeeze(-1)


class PixelShuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 5, padding=2)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        y = F.pixel_shuffle(F.leaky_relu(self.norm(self.conv(x)), 0.2), 2)
        return torch.clamp(y + F.interpolate(x, scale_factor=2.0), 0, 1)


class Fourier(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2, 2, 3, 2))

    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        low = torch.einsum("bix,iox->box", spectrum[:, :, :3], torch.view_as_complex(self.weight))
        return torch.fft.irfft(F.pad(low, (0, spectrum.size(-1) - 3)), n=x.size(-1))


def seeded(*shapes):
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.rand(shape, generator=generator) for shape in shapes)


MODELS = [
    (ResNet, seeded((2, 3, 16, 16))),
    (DenseNet, seeded((2, 3, 6, 6))),
    (UNet, seeded((1, 3, 14, 14))),
    (SqueezeExcite, seeded((2, 3, 6, 6))),
    (ShuffleNet, seeded((2, 4, 3, 3))),
    (ViT, seeded((2, 3, 8, 8))),
    (Swin, seeded((1, 4, 4, 8))),
    (GPT, (torch.tensor([[1, 4, 10, 0], [2, 2, 3, 9]]),)),
    (Rotary, seeded((2, 3, 2, 4), (3, 4), (3, 4))),
    (FusedAttention, seeded((1, 2, 4, 4), (1, 2, 4, 4), (1, 2, 4, 4))),
    (LSTMCells, seeded((2, 3, 4), (2, 6), (2, 6))),
    (GRU, seeded((2, 3, 4))),
    (Equivariant, seeded((5, 8))),
    (GraphConvolution, (*seeded((5, 4)), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]))),
    (DetectionHead, seeded((2, 4, 3, 3))),
    (VAE, seeded((3, 6), (3, 4))),
    (WaveNet, seeded((2, 4, 16))),
    (DLRM, (*seeded((2, 3)), torch.tensor([[0, 1, 2], [3, 4, 0]]))),
    (PixelShuffle, seeded((1, 1, 6, 6))),
    (Fourier, seeded((2, 2, 10))),
]


def test_lambda():
    """The name of its code ends like those that Python's linecache has no text for."""
    check(torch.fx.symbolic_trace(lambda x, y: (x + y).relu() * 2), torch.randn(3), torch.randn(3))


#: Python's operators, as functions of the module `operator`, from which torch.fx writes `x + 1`, `+x` or `_operator_abs(x)`.
OPERATORS = [
    getattr(operator, name, None) or getattr(operator, name + "_", operator.truediv)
    for name in (*torch.fx.graph.magic_methods, "abs")
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_python(function):
    """Of tensors and numbers on both sides, with eager's values, dtypes and errors."""
    ints, floats = torch.tensor([[1, 2], [3, -2]]), torch.tensor([[1.5, -2.0], [0.5, 3.0]])
    tensors = [ints, floats, ints > 1, ints.to(torch.uint8), floats.half(), torch.tensor(3), torch.tensor(-2.5)]
    unary = (operator.pos, operator.neg, operator.invert, operator.abs)
    tried = 0
    for tensor, number in itertools.product(tensors, [5, 2.5]):
        for places in [(0,)] if function in unary else [(0, 1), (1, 0)]:
            graph = torch.fx.Graph()
            x = graph.placeholder("x")
            graph.output(graph.call_function(function, tuple(x if place == 0 else number for place in places)))
            module = torch.fx.GraphModule(nn.Module(), graph)
            try:
                expected = module(tensor)
            except Exception:
                continue  # another number of operands, dtypes that it is not for
            tried += 1
            result = cresset.script(module)(tensor)
            assert_close(
                result, expected, msg=lambda text: f"{module.code}\n{tensor}\n{text}", equal_nan=True, rtol=0, atol=0
            )
    assert tried or function in (operator.matmul, operator.getitem)


def test_numbers_in_the_place_of_tensors():
    """As make_fx writes them."""

    def f(x):
        y = torch.ops.aten.mul.Tensor(x, 3)
        y = torch.ops.aten.add.Tensor(y, 2.5, alpha=2)
        return torch.ops.aten.div.Tensor(y, 2)

    scripted = cresset.script(f)
    for x in (torch.randn(3), torch.arange(4), torch.randn(2, 2), torch.tensor([[True]])):
        for _ in range(3):
            assert_close(scripted(x), f(x), rtol=0, atol=0)
    made = make_fx(lambda x: (x * 3 - 1).sum(0) / 2)(torch.randn(2, 2))
    scripted, x = cresset.script(made), torch.randn(3, 2)
    for _ in range(3):
        assert_close(scripted(x), made(x), rtol=0, atol=0)


@pytest.mark.parametrize(("model", "args"), MODELS, ids=[model.__name__ for model, _ in MODELS])
def test_model(model, args):
    torch.manual_seed(0)
    module = torch.fx.symbolic_trace(model())
    for _ in range(2):
        check(module, *args)
