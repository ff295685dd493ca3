"""Programs in the style of those who use torch.jit: audio, molecular dynamics, vision, serving, text, reinforcement learning.

PROGRAMS: name -> (how it is made, "script" or "trace"; a function that makes it; calls: (method, arguments)…). The first
call is the one that is traced.
"""

# ruff: noqa: B008, UP031, UP032  (users write it so)

import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PROGRAMS = {}


def program(name, how="script", calls=()):
    def add(make):
        PROGRAMS[name] = (how, make, calls)
        return make

    return add


def call(make, method="forward"):
    return method, make


# ---- Audio


class STFTFrontend(nn.Module):
    """Log-mel features, with the filter bank made in __init__."""

    n_fft: Final[int]

    def __init__(self, n_fft: int = 64, hop: int = 16, mels: int = 8, log_floor: float = 1e-6):
        super().__init__()
        self.n_fft = n_fft
        self.hop = hop
        self.log_floor = log_floor
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.register_buffer("bank", torch.rand(mels, n_fft // 2 + 1))
        self.mean: Optional[Tensor] = None

    def forward(self, wave: Tensor, lengths: Optional[Tensor] = None) -> Tuple[Tensor, Optional[Tensor]]:
        spec = torch.stft(wave, self.n_fft, hop_length=self.hop, window=self.window, center=True, return_complex=True)
        power = spec.real**2 + spec.imag**2
        mel = torch.matmul(self.bank, power).clamp(min=self.log_floor).log10()
        if self.mean is not None:
            mel = mel - self.mean
        if lengths is not None:
            frames = torch.div(lengths, self.hop, rounding_mode="floor") + 1
            mask = torch.arange(mel.size(-1), device=mel.device)[None, :] < frames[:, None]
            mel = mel.masked_fill(~mask[:, None, :], 0.0)
            return mel, frames
        return mel, None


@program(
    "audio/features",
    calls=[
        call(lambda: (torch.randn(2, 200),)),
        call(lambda: (torch.randn(2, 300), torch.tensor([300, 120]))),
    ],
)
def _():
    return STFTFrontend()


class BiquadFilter(nn.Module):
    """A stateful filter: what an audio plug-in calls block by block."""

    def __init__(self, channels: int = 2):
        super().__init__()
        self.b = nn.Parameter(torch.tensor([0.2, 0.3, 0.2]))
        self.a = nn.Parameter(torch.tensor([-0.4, 0.1]))
        self.state: List[Tensor] = [torch.zeros(channels), torch.zeros(channels)]

    @torch.jit.export
    def reset(self) -> None:
        for i in range(len(self.state)):
            self.state[i] = torch.zeros_like(self.state[i])

    @torch.jit.export
    def set_gain_db(self, gain: float):
        with torch.no_grad():
            self.b.mul_(10.0 ** (gain / 20.0))

    @torch.jit.export
    def latency(self, rate: int = 48000) -> float:
        return 2.0 / rate

    def forward(self, block: Tensor) -> Tensor:
        out: List[Tensor] = []
        s1, s2 = self.state
        for x in block.unbind(-1):
            y = self.b[0] * x + s1
            s1 = self.b[1] * x - self.a[0] * y + s2
            s2 = self.b[2] * x - self.a[1] * y
            out.append(y)
        self.state = [s1.detach(), s2.detach()]
        return torch.stack(out, dim=-1)


@program(
    "audio/biquad",
    calls=[
        call(lambda: (torch.randn(2, 8),)),
        call(lambda: (-6.0,), "set_gain_db"),
        call(lambda: (torch.randn(2, 5),)),
        call(lambda: (), "reset"),
        call(lambda: (torch.randn(2, 3),)),
        call(lambda: (), "latency"),
    ],
)
def _():
    return BiquadFilter()


class StreamingConv(nn.Module):
    """Causal convolution with a cache that is passed around."""

    def __init__(self, channels=4, kernel=3, dilation=2):
        super().__init__()
        self.padding = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.norm = nn.GroupNorm(2, channels)

    def forward(self, x: Tensor, cache: Tensor = torch.zeros(0, 0, 0)) -> Tuple[Tensor, Tensor]:
        if cache.size(2) == 0:
            x = F.pad(x, (self.padding, 0), "constant", 0.0)
        else:
            assert cache.size(0) == x.size(0), f"batch {cache.size(0)} and {x.size(0)}"
            x = torch.cat((cache, x), dim=2)
        new_cache = x[:, :, -self.padding :]
        return F.silu(self.norm(self.conv(x)), inplace=True), new_cache


@program(
    "audio/streaming_conv",
    calls=[
        call(lambda: (torch.randn(1, 4, 10),)),
        call(lambda: (torch.randn(1, 4, 6), torch.randn(1, 4, 4))),
    ],
)
def _():
    return StreamingConv()


class VADState(NamedTuple):
    h: Tensor
    c: Tensor
    triggered: bool
    silence: int


class VAD(nn.Module):
    def __init__(self, threshold: float = 0.5):
        super().__init__()
        self.encoder = nn.Sequential(
            OrderedDict(conv1=nn.Conv1d(1, 8, 5, stride=2, padding=2), act1=nn.ReLU(), pool=nn.AdaptiveAvgPool1d(1))
        )
        self.cell = nn.LSTMCell(8, 8)
        self.head = nn.Linear(8, 1)
        self.threshold = threshold

    @torch.jit.export
    def initial(self, batch: int) -> VADState:
        zeros = torch.zeros(batch, 8)
        return VADState(zeros, zeros.clone(), False, 0)

    def forward(self, chunk: Tensor, state: Optional[VADState] = None) -> Tuple[Tensor, VADState]:
        if state is None:
            state = self.initial(chunk.shape[0])
        x = self.encoder(chunk.unsqueeze(1)).squeeze(-1)
        h, c = self.cell(x, (state.h, state.c))
        p = torch.sigmoid(self.head(h))
        speech = bool((p > self.threshold).any())
        silence = 0 if speech else state.silence + 1
        triggered = speech or (state.triggered and silence < 3)
        return p, VADState(h, c, triggered, silence)


@program("audio/vad", calls=[call(lambda: (torch.randn(2, 32),)), call(lambda: (3,), "initial")])
def _():
    return VAD()


# ---- Molecular dynamics


class PairEnergy(nn.Module):
    """Energy and forces, the gradient taken inside the program."""

    cutoff: float

    def __init__(self, species: int = 3, cutoff: float = 2.5):
        super().__init__()
        self.cutoff = cutoff
        self.epsilon = nn.Parameter(torch.rand(species, species) + 0.5)
        self.sigma = nn.Parameter(torch.rand(species, species) + 0.5)

    def energy(self, positions: Tensor, types: Tensor, edges: Tensor, shifts: Tensor) -> Tensor:
        i, j = edges[0], edges[1]
        vectors = positions[j] - positions[i] + shifts
        r = vectors.norm(2, dim=-1)
        eps = self.epsilon[types[i], types[j]]
        sr6 = (self.sigma[types[i], types[j]] / r) ** 6
        envelope = torch.where(r < self.cutoff, 0.5 * (torch.cos(math.pi * r / self.cutoff) + 1), torch.zeros_like(r))
        pair = 4 * eps * (sr6 * sr6 - sr6) * envelope
        out = torch.zeros(positions.size(0), dtype=positions.dtype, device=positions.device)
        return out.index_add(0, i, pair) * 0.5

    def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
        positions = data["positions"].detach().requires_grad_(True)
        atomic = self.energy(positions, data["types"], data["edges"], data["shifts"])
        total = atomic.sum()
        forces = torch.autograd.grad([total], [positions], create_graph=False, retain_graph=False)[0]
        if forces is None:
            forces = torch.zeros_like(positions)
        return {"energy": total.detach(), "atomic": atomic.detach(), "forces": -forces}


def molecule(n=6):
    edges = torch.tensor([(i, j) for i in range(n) for j in range(n) if i != j]).t().contiguous()
    return {
        "positions": torch.rand(n, 3, dtype=torch.float64) * 3,
        "types": torch.randint(0, 3, (n,)),
        "edges": edges,
        "shifts": torch.zeros(edges.size(1), 3, dtype=torch.float64),
    }


@program("md/pair_energy", calls=[call(lambda: (molecule(),)), call(lambda: (molecule(9),))])
def _():
    return PairEnergy().double()


class RadialBasis(nn.Module):
    def __init__(self, n: int = 8, r_max: float = 5.0, trainable: bool = True):
        super().__init__()
        self.prefactor = 2.0 / r_max
        weights = torch.linspace(1.0, n, n) * math.pi
        if trainable:
            self.weights = nn.Parameter(weights)
        else:
            self.register_buffer("weights", weights)
        self.r_max = torch.tensor(float(r_max))

    def forward(self, x: Tensor) -> Tensor:
        return self.prefactor * torch.sin(self.weights * x.unsqueeze(-1) / self.r_max) / x.unsqueeze(-1)


class Interaction(nn.Module):
    def __init__(self, features: int, basis: int):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(basis, features), nn.SiLU(), nn.Linear(features, features, bias=False))
        self.lin = nn.Linear(features, features)
        self.skip = nn.Identity()

    def forward(self, x: Tensor, basis: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        messages = self.lin(x)[src] * self.filter(basis)
        return self.skip(x) + torch.zeros_like(x).scatter_add(0, dst.unsqueeze(-1).expand_as(messages), messages)


class SchNetLike(nn.Module):
    def __init__(self, layers: int = 2, features: int = 8):
        super().__init__()
        self.embedding = nn.Embedding(10, features, padding_idx=0)
        self.basis = RadialBasis()
        self.interactions = nn.ModuleList(Interaction(features, 8) for _ in range(layers))
        self.readouts = nn.ModuleDict({"energy": nn.Linear(features, 1), "charge": nn.Linear(features, 1)})
        self.register_buffer("scale", torch.tensor(1.5, dtype=torch.float64))

    def forward(self, z: Tensor, pos: Tensor, edge_index: Tensor, batch: Optional[Tensor] = None):
        src, dst = edge_index[0], edge_index[1]
        r = torch.linalg.vector_norm(pos[src] - pos[dst], dim=1)
        x, basis = self.embedding(z), self.basis(r)
        for interaction in self.interactions:
            x = interaction(x, basis, src, dst)
        results: Dict[str, Tensor] = {}
        for name, readout in self.readouts.items():
            atomic = readout(x).squeeze(-1) * self.scale
            if batch is None:
                results[name] = atomic.sum()
            else:
                size = int(batch.max().item()) + 1
                results[name] = torch.zeros(size, dtype=atomic.dtype).index_add_(0, batch, atomic)
        return results


def graph_inputs(n=5):
    m = molecule(n)
    return torch.randint(1, 10, (n,)), m["positions"].float(), m["edges"]


@program(
    "md/schnet",
    calls=[call(graph_inputs), call(lambda: (*graph_inputs(6), torch.tensor([0, 0, 0, 1, 1, 1])))],
)
def _():
    return SchNetLike()


@program("md/interaction_traced", "trace", [call(lambda: inter(5)), call(lambda: inter(9))])
def _():
    return Interaction(8, 8)


def inter(n):
    return torch.randn(n, 8), torch.randn(2 * n, 8), torch.randint(0, n, (2 * n,)), torch.randint(0, n, (2 * n,))


def verlet(x: Tensor, v: Tensor, steps: int, dt: float = 0.01, k: float = 1.0) -> Tuple[Tensor, Tensor, List[float]]:
    """Harmonic oscillators, with the energies on the way."""
    energies: List[float] = []
    a = -k * x
    for step in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = -k * x
        v = v + 0.5 * dt * a
        if step % 2 == 0:
            energies.append(float(0.5 * (v * v).sum() + 0.5 * k * (x * x).sum()))
    return x, v, energies


@program(
    "md/verlet",
    calls=[
        call(lambda: (torch.randn(4, 3), torch.randn(4, 3), 7)),
        call(lambda: (torch.ones(1, 3), torch.zeros(1, 3), 0, 0.1)),
    ],
)
def _():
    return verlet


# ---- Vision


class ConvBNAct(nn.Sequential):
    def __init__(self, cin, cout, k=3, s=1, act=nn.ReLU6):
        super().__init__(nn.Conv2d(cin, cout, k, s, k // 2, bias=False), nn.BatchNorm2d(cout), act(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, c, expand):
        super().__init__()
        layers: List[nn.Module] = []
        hidden = int(round(c * expand))
        if expand != 1:
            layers.append(ConvBNAct(c, hidden, k=1))
        layers.extend([ConvBNAct(hidden, hidden), nn.Conv2d(hidden, c, 1, bias=False), nn.BatchNorm2d(c)])
        self.conv = nn.Sequential(*layers)
        self.use_res = True
        self.drop = partial(F.dropout2d, p=0.0)

    def forward(self, x):
        return x + self.conv(x) if self.use_res else self.conv(x)


class Detector(nn.Module):
    """Anchors, box decoding and greedy NMS."""

    __constants__ = ["num_classes", "strides"]

    def __init__(self, num_classes: int = 3):
        super().__init__()
        self.num_classes = num_classes
        self.strides = (4, 8)
        self.stem = nn.Sequential(ConvBNAct(3, 8, s=2), ConvBNAct(8, 8, s=2), InvertedResidual(8, 2))
        self.down = ConvBNAct(8, 8, s=2)
        self.heads = nn.ModuleList([nn.Conv2d(8, 5 + num_classes, 1) for _ in self.strides])

    def anchors(self, h: int, w: int, stride: int, device: torch.device) -> Tensor:
        ys, xs = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
        return (torch.stack([xs, ys], dim=-1).reshape(-1, 2) + 0.5) * stride

    def nms(self, boxes: Tensor, scores: Tensor, threshold: float = 0.5) -> Tensor:
        order = scores.argsort(descending=True)
        keep: List[int] = []
        area = (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(dim=1)
        while order.numel() > 0:
            i = int(order[0])
            keep.append(i)
            if order.numel() == 1:
                break
            rest = order[1:]
            lt = torch.max(boxes[i, :2], boxes[rest, :2])
            rb = torch.min(boxes[i, 2:], boxes[rest, 2:])
            inter = (rb - lt).clamp(min=0).prod(dim=1)
            iou = inter / (area[i] + area[rest] - inter + 1e-9)
            order = rest[iou <= threshold]
        return torch.tensor(keep, dtype=torch.long, device=boxes.device)

    def forward(self, images: List[Tensor]) -> List[Dict[str, Tensor]]:
        x = torch.stack(images)
        features = self.stem(x)
        outputs: List[Tensor] = []
        for i, head in enumerate(self.heads):
            if i > 0:
                features = self.down(features)
            raw = head(features)
            b, c, h, w = raw.shape
            raw = raw.permute(0, 2, 3, 1).reshape(b, h * w, c)
            stride = self.strides[0] if i == 0 else self.strides[1]
            centers = self.anchors(h, w, stride, raw.device)
            half = raw[..., 2:4].sigmoid() * stride * 2
            middle = centers + raw[..., :2].tanh() * stride
            outputs.append(torch.cat([middle - half, middle + half, raw[..., 4:].sigmoid()], dim=-1))
        predictions = torch.cat(outputs, dim=1)
        results: List[Dict[str, Tensor]] = []
        for prediction in predictions:
            scores, labels = (prediction[:, 5:] * prediction[:, 4:5]).max(dim=1)
            keep = self.nms(prediction[:, :4], scores)[:5]
            results.append({"boxes": prediction[keep, :4], "scores": scores[keep], "labels": labels[keep]})
        return results


@program("vision/detector", calls=[call(lambda: ([torch.rand(3, 32, 32), torch.rand(3, 32, 32)],))])
def _():
    return Detector().eval()


class UNet(nn.Module):
    def __init__(self, depth=2, width=4):
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        c = 1
        for d in range(depth):
            self.downs.append(ConvBNAct(c, width * 2**d))
            c = width * 2**d
        for d in reversed(range(depth - 1)):
            self.ups.append(
                nn.ModuleDict(
                    {"up": nn.ConvTranspose2d(c, width * 2**d, 2, 2), "conv": ConvBNAct(2 * width * 2**d, width * 2**d)}
                )
            )
            c = width * 2**d
        self.out = nn.Conv2d(c, 2, 1)

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.downs):
            x = down(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for level in self.ups:
            x = level["up"](x)
            skip = skips.pop()
            if x.shape[-2:] != skip.shape[-2:]:
                x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = level["conv"](torch.cat([x, skip], 1))
        return self.out(x)


@program("vision/unet", calls=[call(lambda: (torch.rand(1, 1, 16, 16),)), call(lambda: (torch.rand(2, 1, 13, 9),))])
def _():
    return UNet().eval()


@program(
    "vision/unet_traced",
    "trace",
    [call(lambda: (torch.rand(1, 1, 16, 16),)), call(lambda: (torch.rand(2, 1, 12, 20),))],
)
def _():
    return UNet().eval()


class ViTBlock(nn.Module):
    def __init__(self, d, heads, norm=partial(nn.LayerNorm, eps=1e-6)):
        super().__init__()
        self.norm1, self.norm2 = norm(d), norm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * d, d))
        self.gamma = nn.Parameter(torch.full((d,), 0.1))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.gamma * self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, size=16, patch=4, d=8, depth=2):
        super().__init__()
        self.patch = nn.Conv2d(3, d, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d) * 0.02)
        self.blocks = nn.Sequential(*[ViTBlock(d, 2) for _ in range(depth)])
        self.head = nn.Linear(d, 5)

    def resized(self, h: int, w: int) -> Tensor:
        n = self.pos.shape[1] - 1
        side = int(math.sqrt(n))
        if h == side and w == side:
            return self.pos
        grid = self.pos[:, 1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=[h, w], mode="bicubic", align_corners=False)
        return torch.cat([self.pos[:, :1], grid.flatten(2).transpose(1, 2)], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x)
        h, w = x.shape[2], x.shape[3]
        x = x.flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.resized(h, w)
        return self.head(self.blocks(x)[:, 0])


@program("vision/vit", calls=[call(lambda: (torch.rand(2, 3, 16, 16),)), call(lambda: (torch.rand(1, 3, 24, 16),))])
def _():
    return ViT().eval()


@program(
    "vision/vit_traced", "trace", [call(lambda: (torch.rand(2, 3, 16, 16),)), call(lambda: (torch.rand(3, 3, 16, 16),))]
)
def _():
    return ViT().eval()


class Preprocess(nn.Module):
    """uint8 images of any size to normalized batches, as servers do it."""

    def __init__(self, size: Tuple[int, int] = (8, 8), mean: List[float] = [0.5, 0.4, 0.3]):  # noqa: B006
        super().__init__()
        self.size: Tuple[int, int] = size
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.flip: bool = False

    def forward(self, images: List[Tensor], labels: Optional[List[str]] = None) -> Tuple[Tensor, Dict[str, List[int]]]:
        batch = []
        for image in images:
            if image.dim() == 2:
                image = image.unsqueeze(0).repeat(3, 1, 1)
            elif image.size(-1) == 3 and image.size(0) != 3:
                image = image.permute(2, 0, 1).contiguous()
            if not torch.is_floating_point(image):
                image = image.to(torch.float32).div(255)
            h, w = image.shape[-2:]
            scale = min(self.size[0] / h, self.size[1] / w)
            nh, nw = int(round(h * scale)), int(round(w * scale))
            image = F.interpolate(image[None], size=(nh, nw), mode="bilinear", align_corners=False, antialias=True)[0]
            image = F.pad(image, [0, self.size[1] - nw, 0, self.size[0] - nh])
            batch.append((image - self.mean) / 0.25)
        groups: Dict[str, List[int]] = {}
        if labels is not None:
            for i, label in enumerate(labels):
                key = label.strip().lower()
                if key not in groups:
                    groups[key] = []
                groups[key].append(i)
        return torch.stack(batch), groups


@program(
    "vision/preprocess",
    calls=[
        call(lambda: ([torch.randint(0, 255, (12, 10, 3), dtype=torch.uint8), torch.rand(6, 9)],)),
        call(lambda: ([torch.rand(3, 4, 4)] * 3, ["Cat", " dog", "cat "])),
    ],
)
def _():
    return Preprocess()


# ---- Serving


class Task(Enum):
    CLASSIFY = "classify"
    EMBED = "embed"


@torch.jit.script
class Request:
    def __init__(self, ids: List[int], task: str, top_k: int = 2):
        self.ids = ids
        self.task = task
        self.top_k = top_k

    def padded(self, length: int) -> List[int]:
        return (self.ids + [0] * length)[:length]


class Server(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(50, 8, mode="mean", padding_idx=0)
        self.head = nn.Linear(8, 6)
        self.names: Dict[int, str] = {0: "sport", 1: "news", 2: "art", 3: "code", 4: "food", 5: "misc"}
        self.served: int = 0

    @torch.jit.export
    def version(self) -> Tuple[int, str]:
        return 3, "v{}.{}".format(3, self.served)

    @torch.jit.export
    def count(self) -> int:
        return self.served

    def forward(self, batch: List[List[int]], task: str = "classify", top_k: int = 2) -> Tuple[Tensor, List[List[str]]]:
        requests = [Request(ids, task, top_k) for ids in batch]
        longest = 1
        for request in requests:
            longest = max(longest, len(request.ids))
        ids = torch.tensor([request.padded(longest) for request in requests])
        features = self.embedding(ids)
        self.served += len(requests)
        names: List[List[str]] = []
        if task == "embed":
            return features, names
        elif task != "classify":
            raise ValueError(f"unknown task {task!r}")
        probabilities = self.head(features).softmax(-1)
        values, indices = probabilities.topk(top_k)
        for row in indices.tolist():
            found: List[str] = []
            for i in torch.jit.annotate(List[int], row):
                found.append(self.names[i])
            names.append(found)
        return values, names


class ServerOfRows(Server):
    """`tolist` needs its type on the left."""

    def forward(self, batch: List[List[int]], task: str = "classify", top_k: int = 2) -> Tuple[Tensor, List[List[str]]]:
        longest = max([len(ids) for ids in batch])
        ids = torch.tensor([Request(ids, task, top_k).padded(longest) for ids in batch])
        self.served += len(batch)
        values, indices = self.head(self.embedding(ids)).softmax(-1).topk(top_k)
        rows: List[List[int]] = indices.tolist()
        return values, [[self.names[i] for i in row] for row in rows]


@program(
    "serving/classifier",
    calls=[
        call(lambda: ([[1, 2, 3], [4], [5, 6]],)),
        call(lambda: ([[7]], "classify", 3)),
        call(lambda: (), "version"),
        call(lambda: (), "count"),
    ],
)
def _():
    return ServerOfRows()


class Router(nn.Module):
    """A mixture of experts behind an interface of text and tensors, with Any and Union."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("a", "b", "c")})
        self.fallback = nn.Identity()

    def one(self, name: str, x: Tensor) -> Tensor:
        y = self.fallback(x)
        for key, expert in self.experts.items():
            if key == name:
                y = expert(x)
        return y

    def forward(self, names: Union[str, List[str]], x: Tensor) -> Tensor:
        if isinstance(names, str):
            return self.one(names, x)
        total = torch.zeros_like(x)
        for name in names:
            total = total + self.one(name, x)
        return total / max(len(names), 1)


@program(
    "serving/router",
    calls=[call(lambda: ("b", torch.randn(2, 4))), call(lambda: (["a", "zzz", "c"], torch.randn(2, 4)))],
)
def _():
    return Router()


class ParallelEnsemble(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.members = nn.ModuleList([nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(n)])

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        futures: List[torch.jit.Future[Tensor]] = []
        for member in self.members:
            futures.append(torch.jit.fork(member, x))
        results = torch.stack([torch.jit.wait(f) for f in futures])
        return results.mean(0), results.std(dim=0, unbiased=False)


@program("serving/ensemble", calls=[call(lambda: (torch.randn(3, 4),))])
def _():
    return ParallelEnsemble()


# ---- Text


class Vocab(nn.Module):
    """A tokenizer in a module."""

    def __init__(self, words: List[str]):
        super().__init__()
        self.table: Dict[str, int] = {w: i + 2 for i, w in enumerate(words)}
        self.unk: int = 1

    @torch.jit.export
    def tokenize(self, text: str) -> List[str]:
        out: List[str] = []
        word = ""
        for ch in text.lower():
            if ch.isalpha() or ch == "'":
                word += ch
            else:
                if len(word) > 0:
                    out.append(word)
                    word = ""
                if ch in ".,!?":
                    out.append(ch)
        if word:
            out.append(word)
        return out

    def forward(self, texts: List[str], max_length: int = 6) -> Tuple[Tensor, Tensor]:
        rows: List[List[int]] = []
        lengths: List[int] = []
        for text in texts:
            ids = [self.table.get(t, self.unk) for t in self.tokenize(text)][:max_length]
            lengths.append(len(ids))
            rows.append(ids + [0] * (max_length - len(ids)))
        return torch.tensor(rows), torch.tensor(lengths)


@program(
    "text/vocab",
    calls=[
        call(lambda: (["The cat, sat!", "a DOG's life", ""],)),
        call(lambda: ("It's... well, fine",), "tokenize"),
    ],
)
def _():
    return Vocab(["the", "cat", "sat", "a", "life", "!"])


class PackedTagger(nn.Module):
    def __init__(self, vocabulary=20, d=6, tags=4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.lstm = nn.LSTM(d, d, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(2 * d, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags))

    def emissions(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, _ = self.lstm(packed)
        padded, _ = pad_packed_sequence(output, batch_first=True, total_length=ids.size(1))
        return self.out(padded)

    @torch.jit.export
    def viterbi(self, emissions: Tensor, length: int) -> List[int]:
        score = emissions[0]
        history: List[Tensor] = []
        for t in range(1, length):
            total = score.unsqueeze(1) + self.transitions + emissions[t].unsqueeze(0)
            score, best = total.max(dim=0)
            history.append(best)
        path = [int(score.argmax())]
        for i in range(len(history)):
            path.append(int(history[-1 - i][path[-1]]))
        path.reverse()
        return path

    def forward(self, ids: Tensor, lengths: Tensor) -> List[List[int]]:
        emissions = self.emissions(ids, lengths)
        paths: List[List[int]] = []
        for i in range(ids.size(0)):
            paths.append(self.viterbi(emissions[i], int(lengths[i])))
        return paths


@program("text/tagger", calls=[call(lambda: (torch.randint(0, 20, (3, 5)), torch.tensor([5, 2, 3])))])
def _():
    return PackedTagger().eval()


class KVCache(NamedTuple):
    keys: List[Tensor]
    values: List[Tensor]


class DecoderLayer(nn.Module):
    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, past_k: Optional[Tensor], past_v: Optional[Tensor]) -> Tuple[Tensor, Tensor, Tensor]:
        y = self.norm(x)
        q, k, v = self.split(self.q(y)), self.split(self.k(y)), self.split(self.v(y))
        if past_k is not None and past_v is not None:
            k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        mask = torch.ones(q.size(2), k.size(2), dtype=torch.bool, device=x.device).tril(k.size(2) - q.size(2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(x), k, v


class Decoder(nn.Module):
    def __init__(self, vocabulary=17, d=8, layers=2, heads=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d)
        self.layers = nn.ModuleList([DecoderLayer(d, heads) for _ in range(layers)])
        self.max_length = 12

    def step(self, ids: Tensor, cache: Optional[KVCache]) -> Tuple[Tensor, KVCache]:
        x = self.embed(ids)
        keys: List[Tensor] = []
        values: List[Tensor] = []
        for i, layer in enumerate(self.layers):
            past_k: Optional[Tensor] = None
            past_v: Optional[Tensor] = None
            if cache is not None:
                past_k, past_v = cache.keys[i], cache.values[i]
            x, k, v = layer(x, past_k, past_v)
            keys.append(k)
            values.append(v)
        return x @ self.embed.weight.t(), KVCache(keys, values)

    def forward(self, ids: Tensor, steps: int = 4, eos: int = 0) -> Tensor:
        cache: Optional[KVCache] = None
        current = ids
        done = torch.zeros(ids.size(0), dtype=torch.bool)
        for _ in range(steps):
            logits, cache = self.step(current, cache)
            nxt = logits[:, -1].argmax(-1, keepdim=True)
            done |= nxt.squeeze(1) == eos
            ids = torch.cat([ids, nxt], dim=1)
            current = nxt
            if bool(done.all()) or ids.size(1) >= self.max_length:
                break
        return ids


@program(
    "text/generate",
    calls=[call(lambda: (torch.randint(1, 17, (2, 3)),)), call(lambda: (torch.randint(1, 17, (1, 7)), 20))],
)
def _():
    return Decoder()


class CachedStep(nn.Module):
    """One step of a decoder with its cache as tensors, as exporters trace it."""

    def __init__(self):
        super().__init__()
        self.decoder = Decoder()

    def forward(self, ids, keys, values):
        logits, cache = self.decoder.step(ids, KVCache(list(keys.unbind(0)), list(values.unbind(0))))
        return logits, torch.stack(cache.keys), torch.stack(cache.values)


def step_inputs(batch, past, new):
    return torch.randint(0, 17, (batch, new)), torch.randn(2, batch, 2, past, 4), torch.randn(2, batch, 2, past, 4)


@program(
    "text/kv_cache_traced",
    "trace",
    [call(lambda: step_inputs(1, 3, 2)), call(lambda: step_inputs(2, 7, 1)), call(lambda: step_inputs(3, 0, 5))],
)
def _():
    return CachedStep()


class LlamaAttention(nn.Module):
    """Rotary embeddings, grouped heads and a mask from positions, written as transformers does."""

    def __init__(self, d=16, heads=4, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, d // heads
        self.q_proj = nn.Linear(d, heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(d, d, bias=False)
        self.register_buffer(
            "inv_freq", 1.0 / 10000 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim), persistent=False
        )

    def rotate_half(self, x):
        half = x.shape[-1] // 2
        return torch.cat((-x[..., half:], x[..., :half]), dim=-1)

    def forward(self, x, past_k, past_v):
        bsz, q_len, _ = x.size()
        q = self.q_proj(x).view(bsz, q_len, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(bsz, q_len, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(bsz, q_len, self.kv_heads, self.head_dim).transpose(1, 2)
        past = past_k.shape[-2]
        positions = torch.arange(past, past + q_len, dtype=torch.long, device=x.device).unsqueeze(0)
        freqs = positions[..., None].float() * self.inv_freq
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos().unsqueeze(1), emb.sin().unsqueeze(1)
        q, k = q * cos + self.rotate_half(q) * sin, k * cos + self.rotate_half(k) * sin
        k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        rep = self.heads // self.kv_heads
        kk = (
            k[:, :, None]
            .expand(bsz, self.kv_heads, rep, k.shape[2], self.head_dim)
            .reshape(bsz, self.heads, k.shape[2], self.head_dim)
        )
        vv = (
            v[:, :, None]
            .expand(bsz, self.kv_heads, rep, v.shape[2], self.head_dim)
            .reshape(bsz, self.heads, v.shape[2], self.head_dim)
        )
        weights = torch.matmul(q, kk.transpose(2, 3)) / math.sqrt(self.head_dim)
        mask = torch.full((q_len, k.shape[2]), -3.0e38, device=x.device)
        mask = torch.triu(mask, diagonal=past + 1)
        weights = F.softmax(weights + mask, dim=-1, dtype=torch.float32).to(q.dtype)
        y = torch.matmul(weights, vv).transpose(1, 2).contiguous().reshape(bsz, q_len, -1)
        return self.o_proj(y), k, v


def llama_inputs(b, n, past):
    return torch.randn(b, n, 16), torch.randn(b, 2, past, 4), torch.randn(b, 2, past, 4)


@program(
    "text/llama_attention_traced",
    "trace",
    [call(lambda: llama_inputs(1, 4, 3)), call(lambda: llama_inputs(2, 1, 9)), call(lambda: llama_inputs(3, 6, 0))],
)
def _():
    return LlamaAttention()


@program("text/llama_attention", calls=[call(lambda: llama_inputs(1, 4, 3)), call(lambda: llama_inputs(2, 1, 9))])
def _():
    return LlamaAttention()


def levenshtein(a: str, b: str) -> int:
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a):
        current = [i + 1]
        for j, cb in enumerate(b):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + int(ca != cb)))
        previous = current
    return previous[-1]


@program("text/levenshtein", calls=[call(lambda: ("kitten", "sitting")), call(lambda: ("", "abc"))])
def _():
    return levenshtein


# ---- Reinforcement learning


class ActorCritic(nn.Module):
    continuous: Final[bool]

    def __init__(self, observations: int = 4, actions: int = 2, continuous: bool = False):
        super().__init__()
        self.continuous = continuous
        self.body = nn.Sequential(nn.Linear(observations, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self.pi = nn.Linear(16, actions)
        self.v = nn.Linear(16, 1)
        if continuous:
            self.log_std = nn.Parameter(torch.zeros(actions))
        self.register_buffer("obs_mean", torch.zeros(observations))
        self.register_buffer("obs_var", torch.ones(observations))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))

    @torch.jit.export
    def update(self, batch: Tensor) -> None:
        n = batch.shape[0]
        delta = batch.mean(0) - self.obs_mean
        total = self.count + n
        m2 = self.obs_var * self.count + batch.var(0, unbiased=False) * n + delta**2 * self.count * n / total
        self.obs_mean += (delta * n / total).to(self.obs_mean.dtype)
        self.obs_var.copy_(m2 / total)
        self.count += n

    @torch.jit.export
    def act(self, obs: Tensor, deterministic: bool = False) -> Tuple[Tensor, Tensor]:
        logits, value = self.forward(obs)
        if self.continuous:
            action = logits if deterministic else logits + torch.randn_like(logits) * self.log_std.exp()
        elif deterministic:
            action = logits.argmax(-1)
        else:
            action = torch.multinomial(logits.softmax(-1), 1).squeeze(-1)
        return action, value

    def forward(self, obs: Tensor) -> Tuple[Tensor, Tensor]:
        h = self.body(((obs - self.obs_mean) / (self.obs_var + 1e-8).sqrt()).clamp(-10, 10))
        return self.pi(h), self.v(h).squeeze(-1)


for continuous in (False, True):
    PROGRAMS["rl/actor_critic" + ("_continuous" if continuous else "")] = (
        "script",
        partial(ActorCritic, continuous=continuous),
        [
            call(lambda: (torch.randn(5, 4),)),
            call(lambda: (torch.randn(8, 4),), "update"),
            call(lambda: (torch.randn(3, 4),), "act"),
            call(lambda: (torch.randn(3, 4), True), "act"),
        ],
    )


@dataclass
class GAEConfig:
    gamma: float = 0.99
    lam: float = 0.95


def gae(
    rewards: Tensor, values: Tensor, dones: Tensor, gamma: float = 0.99, lam: float = 0.95
) -> Tuple[Tensor, Tensor]:
    advantages = torch.zeros_like(rewards)
    last = torch.zeros_like(rewards[0])
    for t in range(rewards.size(0) - 1, -1, -1):
        alive = 1.0 - dones[t].to(rewards.dtype)
        delta = rewards[t] + gamma * values[t + 1] * alive - values[t]
        last = delta + gamma * lam * alive * last
        advantages[t] = last
    return advantages, advantages + values[:-1]


@program("rl/gae", calls=[call(lambda: (torch.randn(6, 2), torch.randn(7, 2), torch.rand(6, 2) > 0.7))])
def _():
    return gae


class ReplayBuffer(nn.Module):
    """A ring of transitions, kept in the module."""

    log: List[Tuple[int, float]]

    def __init__(self, capacity: int = 5, size: int = 3):
        super().__init__()
        self.capacity = capacity
        self.register_buffer("storage", torch.zeros(capacity, size))
        self.position = 0
        self.full = False
        self.log = []

    def forward(self, item: Tensor) -> int:
        self.storage[self.position] = item
        self.log.append((self.position, float(item.sum())))
        self.position = (self.position + 1) % self.capacity
        self.full |= self.position == 0
        return self.capacity if self.full else self.position

    @torch.jit.export
    def sample(self, n: int) -> Tensor:
        size = self.capacity if self.full else self.position
        return self.storage[torch.randint(0, size, (n,))]

    @torch.jit.export
    def history(self) -> List[Tuple[int, float]]:
        return self.log[-3:]


@program(
    "rl/replay_buffer",
    calls=[*[call(lambda: (torch.arange(3.0),))] * 6, call(lambda: (4,), "sample"), call(lambda: (), "history")],
)
def _():
    return ReplayBuffer()


def mcts_select(children: Dict[int, List[int]], visits: List[int], values: List[float], c: float = 1.4) -> List[int]:
    path = [0]
    node = 0
    while node in children and len(children[node]) > 0:
        best, best_score = -1, -float("inf")
        for child in children[node]:
            if visits[child] == 0:
                score = float("inf")
            else:
                score = values[child] / visits[child] + c * math.sqrt(math.log(visits[node]) / visits[child])
            if score > best_score:
                best, best_score = child, score
        node = best
        path.append(node)
    return path


@program("rl/mcts_select", calls=[call(lambda: ({0: [1, 2], 2: [3]}, [10, 4, 6, 0], [5.0, 1.0, 4.0, 0.0]))])
def _():
    return mcts_select


# ---- Recommendation and series: what else servers run


class FactorizationMachine(nn.Module):
    def __init__(self, fields: List[int], d: int = 4):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0] + fields[:-1]).cumsum(0))
        self.embedding = nn.Embedding(sum(fields), d, sparse=False)
        self.linear = nn.Embedding(sum(fields), 1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, weights: Optional[Tensor] = None) -> Tensor:
        x = x + self.offsets
        e = self.embedding(x)
        if weights is not None:
            e = e * weights.unsqueeze(-1)
        square = e.sum(1).pow(2) - e.pow(2).sum(1)
        return torch.sigmoid(self.linear(x).sum(1) + self.bias + 0.5 * square.sum(1, keepdim=True)).squeeze(1)


def fm_inputs(n):
    return (torch.stack([torch.randint(0, k, (n,)) for k in (5, 7, 3)], 1),)


@program(
    "serving/factorization_machine", calls=[call(lambda: fm_inputs(4)), call(lambda: (*fm_inputs(2), torch.rand(2, 3)))]
)
def _():
    return FactorizationMachine([5, 7, 3])


@program("serving/factorization_machine_traced", "trace", [call(lambda: fm_inputs(4)), call(lambda: fm_inputs(9))])
def _():
    return FactorizationMachine([5, 7, 3])


class TemporalGRU(nn.Module):
    """Forecasts with a loop over steps, in train mode with dropout of zero."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 6)
        self.out = nn.Linear(6, 2)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor, horizon: int = 3, teacher: Optional[Tensor] = None) -> Tensor:
        h = torch.zeros(x.size(0), 6, dtype=x.dtype)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        outputs: List[Tensor] = []
        y = x[:, -1]
        for t in range(horizon):
            y = y + self.dropout(self.out(h))
            outputs.append(y)
            h = self.cell(teacher[:, t] if teacher is not None else y, h)
        return torch.stack(outputs, 1)


@program(
    "serving/forecast",
    calls=[call(lambda: (torch.randn(2, 5, 2),)), call(lambda: (torch.randn(2, 3, 2), 2, torch.randn(2, 2, 2)))],
)
def _():
    return TemporalGRU()


def collate(items: List[Tuple[Tensor, str]], pad: float = 0.0) -> Tuple[Tensor, Tensor, Dict[str, int]]:
    tensors = [t for t, _ in items]
    counts: Dict[str, int] = {}
    for _, label in items:
        counts[label] = counts.get(label, 0) + 1
    lengths = torch.tensor([t.size(0) for t in tensors])
    return pad_sequence(tensors, batch_first=True, padding_value=pad), lengths, counts


@program(
    "serving/collate", calls=[call(lambda: ([(torch.ones(2), "a"), (torch.zeros(3), "b"), (torch.ones(1), "a")],))]
)
def _():
    return collate


def describe(value: Any, depth: int = 0) -> str:
    if isinstance(value, int):
        return "int %d" % value
    if isinstance(value, float):
        return "float {:.2f}".format(value) if depth == 0 else "float"
    if isinstance(value, str):
        return f"str {value}"
    if torch.jit.isinstance(value, List[int]):
        return "ints " + ",".join([str(v) for v in value])
    return "other"


@program("text/describe", calls=[call(lambda: (3,)), call(lambda: ("x",)), call(lambda: ([1, 2],))])
def _():
    return describe
