"""Models as people write them, scripted: results and gradients are those of eager PyTorch and torch.jit."""

import math
import warnings
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch
import torch.nn.functional as F
from script_helpers import check
from torch import Tensor, nn

import cresset

warnings.filterwarnings("ignore", category=DeprecationWarning)


# ---- transformer


class Attention(nn.Module):
    scale: float

    def __init__(self, d: int, heads: int, p: float = 0.0):
        super().__init__()
        self.heads = heads
        self.scale = (d // heads) ** -0.5
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.dropout = nn.Dropout(p)

    def split(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = q @ k.transpose(-2, -1) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(-1))
        y = (weights @ v).transpose(1, 2).contiguous()
        return self.out(y.view(x.size(0), x.size(1), -1)), weights


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.attention = Attention(d, heads)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask: Optional[Tensor] = None):
        x = x + self.attention(self.norm1(x), mask)[0]
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary=11, d=16, heads=2, layers=3, longest=32):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d)
        self.blocks = nn.ModuleList([Block(d, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        table = torch.zeros(longest, d)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table, persistent=False)

    def forward(self, tokens: Tensor, targets: Optional[Tensor] = None):
        t = tokens.size(1)
        x = self.embed(tokens) + self.table[:t]
        mask = torch.tril(torch.ones(t, t, device=tokens.device))
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.norm(x))
        loss: Optional[Tensor] = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


def test_transformer():
    tokens = torch.randint(0, 11, (2, 7))
    check(Transformer(), tokens)
    check(Transformer(), tokens, tokens)


def test_transformer_of_torch():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    check(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 5, 16))


# ---- resnet


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Optional[nn.Module] = None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.inplanes = 4
        self.conv1 = nn.Conv2d(3, 4, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(2)
        self.layer1 = self._make_layer(4, 2, 1)
        self.layer2 = self._make_layer(8, 2, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8, classes)
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)

    def _make_layer(self, planes, blocks, stride):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers += [BasicBlock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def test_resnet():
    check(ResNet(), torch.randn(2, 3, 16, 16))
    check(ResNet().eval(), torch.randn(2, 3, 16, 16, requires_grad=True))


# ---- U-Net


def double_conv(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self, widths=(4, 8, 16)):
        super().__init__()
        self.down = nn.ModuleList()
        previous = 3
        for width in widths:
            self.down.append(double_conv(previous, width))
            previous = width
        self.bottom = double_conv(widths[-1], 2 * widths[-1])
        self.up, self.fuse = nn.ModuleList(), nn.ModuleList()
        previous = 2 * widths[-1]
        for width in reversed(widths):
            self.up.append(nn.ConvTranspose2d(previous, width, 2, 2))
            self.fuse.append(double_conv(2 * width, width))
            previous = width
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips: List[Tensor] = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, fuse in zip(self.up, self.fuse):
            skip = skips.pop()
            x = up(x)
            if x.shape[-2:] != skip.shape[-2:]:
                x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = fuse(torch.cat([skip, x], 1))
        return torch.sigmoid(self.last(x))


def test_unet():
    check(UNet(), torch.randn(1, 3, 18, 20))


# ---- LSTM language model


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=9, d=6, hidden=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d)
        self.lstm = nn.LSTM(d, hidden, layers, batch_first=True)
        self.decode = nn.Linear(hidden, vocabulary)
        self.hidden = hidden
        self.layers = layers

    def init_state(self, batch: int) -> Tuple[Tensor, Tensor]:
        zeros = torch.zeros(self.layers, batch, self.hidden)
        return zeros, zeros.clone()

    def forward(self, tokens: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None):
        if state is None:
            state = self.init_state(tokens.size(0))
        y, state = self.lstm(self.embed(tokens), state)
        return self.decode(y), state

    @torch.jit.export
    def generate(self, first: Tensor, length: int) -> List[int]:
        result: List[int] = []
        state = self.init_state(1)
        token = first.view(1, 1)
        for _ in range(length):
            logits, state = self.forward(token, state)
            token = logits[:, -1].argmax(-1, keepdim=True)
            result.append(int(token.item()))
        return result


def test_language_model():
    tokens = torch.randint(0, 9, (2, 5))
    model = LanguageModel()
    check(model, tokens)
    first = torch.tensor([1])
    check(model, first, 6, method="generate")


# ---- graph network


class GraphLayer(nn.Module):
    def __init__(self, d: int, edge: int):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * d + edge, d), nn.SiLU())
        self.update = nn.GRUCell(d, d)

    def forward(self, x: Tensor, edges: Tensor, features: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        m = self.message(torch.cat([x[source], x[target], features], dim=-1))
        total = torch.zeros_like(x).index_add(0, target, m)
        return self.update(total, x)


class GraphNetwork(nn.Module):
    def __init__(self, d=6, edge=3, layers=2):
        super().__init__()
        self.embed = nn.Embedding(4, d)
        self.layers = nn.ModuleList([GraphLayer(d, edge) for _ in range(layers)])
        self.read = nn.Linear(d, 1)

    def forward(self, kinds: Tensor, positions: Tensor, edges: Tensor) -> Dict[str, Tensor]:
        delta = positions[edges[0]] - positions[edges[1]]
        x = self.embed(kinds)
        for layer in self.layers:
            x = layer(x, edges, delta)
        energy = self.read(x).sum()
        grads = torch.autograd.grad([energy], [positions], create_graph=True)
        force = grads[0]
        assert force is not None
        return {"energy": energy, "forces": -force}


def test_graph_network():
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    check(GraphNetwork(), torch.tensor([0, 1, 2, 3]), torch.randn(4, 3, requires_grad=True), edges, exact=False)


# ---- detection: dicts in, dicts out


class Detection(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, 1), nn.ReLU())
        self.heads = nn.ModuleDict({"cls": nn.Conv2d(4, 3, 1), "box": nn.Conv2d(4, 4, 1)})

    def losses(self, outputs: Dict[str, Tensor], targets: List[Dict[str, Tensor]]) -> Dict[str, Tensor]:
        total = torch.zeros(1)
        for i, target in enumerate(targets):
            total = total + F.smooth_l1_loss(outputs["box"][i].mean((1, 2)), target["boxes"].mean(0))
        return {"box": total}

    def forward(
        self, images: List[Tensor], targets: Optional[List[Dict[str, Tensor]]] = None
    ) -> Tuple[Dict[str, Tensor], List[Dict[str, Tensor]]]:
        sizes: List[Tuple[int, int]] = []
        for image in images:
            height, width = image.shape[-2:]
            sizes.append((height, width))
        largest = [max([s[0] for s in sizes]), max([s[1] for s in sizes])]
        batch = torch.stack([F.pad(im, [0, largest[1] - im.shape[2], 0, largest[0] - im.shape[1]]) for im in images])
        features = self.backbone(batch)
        outputs: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            outputs[name] = head(features)
        losses: Dict[str, Tensor] = {}
        detections: List[Dict[str, Tensor]] = []
        if self.training:
            assert targets is not None
            losses = self.losses(outputs, targets)
        else:
            for i in range(len(images)):
                scores, labels = outputs["cls"][i].flatten(1).softmax(0).max(0)
                keep = torch.where(scores > 0.3)[0]
                detections.append(
                    {"scores": scores[keep], "labels": labels[keep], "boxes": outputs["box"][i].flatten(1).t()[keep]}
                )
        return losses, detections


def test_detection():
    images = [torch.randn(3, 12, 16), torch.randn(3, 16, 8)]
    check(Detection().eval(), images)
    check(Detection(), images, [{"boxes": torch.rand(2, 4)}, {"boxes": torch.rand(1, 4)}])


# ---- VAE


class Latent(NamedTuple):
    mean: Tensor
    log_variance: Tensor


class VAE(nn.Module):
    def __init__(self, n=12, d=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, 8), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(8, d), nn.Linear(8, d)
        self.decoder = nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, n), nn.Sigmoid())

    def encode(self, x) -> Latent:
        h = self.encoder(x)
        return Latent(self.mean(h), self.log_variance(h))

    def sample(self, latent: Latent) -> Tensor:
        if not self.training:
            return latent.mean
        return latent.mean + torch.randn_like(latent.mean) * torch.exp(0.5 * latent.log_variance)

    def forward(self, x) -> Tuple[Tensor, Tensor]:
        latent = self.encode(x.flatten(1))
        y = self.decoder(self.sample(latent)).view_as(x)
        kl = -0.5 * torch.sum(1 + latent.log_variance - latent.mean.pow(2) - latent.log_variance.exp())
        return y, F.binary_cross_entropy(y, x, reduction="sum") + kl


def test_vae():
    check(VAE(), torch.rand(2, 3, 4))
    check(VAE().eval(), torch.rand(2, 3, 4))


# ---- audio with state


class Audio(nn.Module):
    state: Optional[Tensor]
    history: List[float]

    def __init__(self, rate: int = 8000):
        super().__init__()
        self.rate = rate
        self.conv = nn.Conv1d(1, 4, 16, 4)
        self.rnn = nn.GRU(4, 4, batch_first=True)
        self.read = nn.Linear(4, 1)
        self.register_buffer("window", torch.hann_window(64))
        self.state = None
        self.history = []

    @torch.jit.export
    def reset(self):
        self.state = None
        self.history = torch.jit.annotate(List[float], [])

    def features(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(x, 64, 16, window=self.window, return_complex=True).abs()
        return spectrum.mean(-1)

    def forward(self, x: Tensor, rate: int = 8000) -> Tensor:
        if rate != self.rate:
            raise ValueError(f"expected {self.rate} Hz, got {rate}")
        h = F.relu(self.conv(x.unsqueeze(1))).transpose(1, 2)
        y, state = self.rnn(h, self.state)
        self.state = state.detach()
        p = torch.sigmoid(self.read(y[:, -1])) + self.features(x).mean()
        self.history.append(float(p.mean()))
        return p


def test_audio_with_state():
    model = Audio()
    scripted = cresset.script(model)
    reference = torch.jit.script(Audio())
    reference.load_state_dict(model.state_dict())
    for _ in range(3):
        x = torch.randn(2, 256)
        expected = model(x)
        torch.testing.assert_close(scripted(x), expected, rtol=0, atol=0)
        torch.testing.assert_close(reference(x), expected, rtol=0, atol=0)
    assert scripted.history == model.history
    scripted.reset()
    assert scripted.state is None
    assert scripted.history == []
    with pytest.raises(ValueError, match="expected 8000 Hz, got 16000"):
        scripted(torch.randn(2, 256), 16000)


# ---- and a few more shapes of programs


class MixtureOfExperts(nn.Module):
    def __init__(self, d=6, experts=3):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, d)) for _ in range(experts)]
        )

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if rows.numel() > 0:
                y = y.index_add(0, rows, expert(x[rows]) * weights[rows, slot].unsqueeze(-1))
        return y


def test_mixture_of_experts():
    check(MixtureOfExperts(), torch.randn(5, 6, requires_grad=True))


class Seq2Seq(nn.Module):
    def __init__(self, d=5, vocabulary=7):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d)
        self.encoder = nn.GRU(d, d, bidirectional=True)
        self.attend = nn.MultiheadAttention(d, 1)
        self.cell = nn.GRUCell(2 * d, d)
        self.out = nn.Linear(d, vocabulary)
        self.bridge = nn.Linear(2 * d, d)

    def forward(self, source: Tensor, target: Tensor, teacher: bool = True):
        memory, _ = self.encoder(self.embed(source))
        memory = self.bridge(memory)
        h = memory.mean(0)
        token = target[0]
        logits = torch.jit.annotate(List[Tensor], [])
        for t in range(target.size(0)):
            context, _weights = self.attend(h.unsqueeze(0), memory, memory)
            h = self.cell(torch.cat([self.embed(token), context[0]], -1), h)
            step = self.out(h)
            logits.append(step)
            token = target[t] if teacher else step.argmax(-1)
        return torch.stack(logits)


def test_sequence_to_sequence():
    source, target = torch.randint(0, 7, (4, 2)), torch.randint(0, 7, (3, 2))
    check(Seq2Seq(), source, target)
    check(Seq2Seq(), source, target, False)


class PhysicsNet(nn.Module):
    """A network whose second derivatives count."""

    def __init__(self, width=8, depth=3):
        super().__init__()
        sizes = [2] + [width] * depth
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in zip(sizes, sizes[1:])])
        self.last = nn.Linear(width, 1)

    def u(self, x: Tensor, t: Tensor) -> Tensor:
        return self.last(self.layers(torch.cat([x, t], 1)))

    def derivative(self, y: Tensor, x: Tensor) -> Tensor:
        result = torch.autograd.grad([y.sum()], [x], create_graph=True)[0]
        assert result is not None
        return result

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        u = self.u(x, t)
        ux = self.derivative(u, x)
        return self.derivative(u, t) + u * ux - 0.01 * self.derivative(ux, x)


def test_physics():
    check(PhysicsNet(), torch.rand(4, 1, requires_grad=True), torch.rand(4, 1, requires_grad=True))
