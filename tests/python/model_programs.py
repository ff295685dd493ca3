"""Programs of the kinds that people run, small: each returns a module and example inputs. ``python model_programs.py``
prints how often each pass changes each of them (docs/passes.md has the table).
"""

import math
import os
import pathlib
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: Optional[nn.Module] = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """ResNet-18 with fewer channels."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        blocks = []
        for inputs, outputs, stride in [(8, 8, 1), (8, 16, 2), (16, 32, 2), (32, 64, 2)]:
            blocks += [BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)]
        self.layers = nn.Sequential(*blocks)
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layers(x)
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Bert(nn.Module):
    """Embeddings, a transformer encoder of torch's own layers, a head."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norm, self.dropout = nn.LayerNorm(16), nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.size(1), device=tokens.device).unsqueeze(0)
        x = self.dropout(self.norm(self.words(tokens) + self.places(places)))
        return self.head(self.encoder(x))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.width = heads, width
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, x: Tensor, past: Optional[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(self.width, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        s = k.size(2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, s - t : s, :s] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c)), (k, v)


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down, self.dropout = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)

    def forward(self, x: Tensor, past: Optional[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        a, present = self.attention(self.ln1(x), past)
        x = x + self.dropout(a)
        h = self.up(self.ln2(x))
        h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.dropout(self.down(h)), present


class Gpt2(nn.Module):
    """With a cache of keys and values."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.blocks = nn.ModuleList([GptBlock(16, 2) for _ in range(3)])
        self.norm = nn.LayerNorm(16)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.size(1)))
        presents: List[Tuple[Tensor, Tensor]] = []
        for block in self.blocks:
            x, present = block(x, None)
            presents.append(present)
        last = x[:, -1:]
        for i, block in enumerate(self.blocks):
            last, _ = block(last, presents[i])
        return F.linear(self.norm(x), self.words.weight) + last.mean()


class SchNet(nn.Module):
    """A continuous-filter convolution potential: energy of atoms from distances, and forces."""

    def __init__(self, width: int = 16, steps: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(10, width)
        self.filters = nn.ModuleList(
            [nn.Sequential(nn.Linear(8, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(steps)]
        )
        self.into = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(steps)])
        self.out = nn.ModuleList(
            [nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(steps)]
        )
        self.readout = nn.Linear(width, 1)
        self.register_buffer("centers", torch.linspace(0, 5, 8))
        self.gamma, self.cutoff = 10.0, 5.0

    def forward(self, numbers: Tensor, positions: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        distance = (positions[source] - positions[target]).pow(2).sum(1).sqrt()
        basis = torch.exp(-self.gamma * (distance.unsqueeze(1) - self.centers) ** 2)
        window = 0.5 * (torch.cos(distance * (math.pi / self.cutoff)) + 1.0) * (distance < self.cutoff)
        x = self.embedding(numbers)
        for filters, into, out in zip(self.filters, self.into, self.out):
            weight = filters(basis) * window.unsqueeze(1)
            messages = into(x)[source] * weight
            x = x + out(torch.zeros_like(x).index_add(0, target, messages))
        return self.readout(x).sum()


class GraphNetwork(nn.Module):
    """Messages along edges, features of several sizes in a list, scatter by index."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.edge = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(3)])
        self.node = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(3)])
        self.norm, self.refine = nn.BatchNorm1d(width), nn.Linear(width, width)

    def aggregate(self, messages: Tensor, index: Tensor, size: int) -> Tensor:
        shape = [size]
        for i in range(1, messages.dim()):
            shape.append(messages.size(i))
        out = torch.zeros(shape, dtype=messages.dtype, device=messages.device)
        return out.index_add_(0, index, messages)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        outputs = [x]
        for edge, node in zip(self.edge, self.node):
            messages = F.relu(edge(torch.cat([x[edges[0]], x[edges[1]]], dim=1)))
            x = x + node(torch.cat([x, self.aggregate(messages, edges[1], x.size(0))], dim=1))
            outputs.append(x)
        y = torch.stack(outputs).mean(0)
        for _ in range(3):
            y = y + torch.tanh(self.refine(y))
        return self.norm(y)


class LSTM(nn.Module):
    """Cells written out, in a loop over time."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.w_ih, self.w_hh = nn.Parameter(torch.randn(4 * width, 4)), nn.Parameter(torch.randn(4 * width, width))
        self.b_ih, self.b_hh = nn.Parameter(torch.randn(4 * width)), nn.Parameter(torch.randn(4 * width))
        self.width = width

    def cell(self, x: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        h, c = state
        gates = torch.mm(x, self.w_ih.t()) + self.b_ih + torch.mm(h, self.w_hh.t()) + self.b_hh
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)

    def forward(self, x: Tensor) -> Tensor:
        zeros = torch.zeros(x.size(1), self.width, dtype=x.dtype, device=x.device)
        state = (zeros, zeros)
        outputs: List[Tensor] = []
        for i in range(x.size(0)):
            out, state = self.cell(x[i], state)
            outputs.append(out)
        return torch.stack(outputs)


def atoms(count=6):
    source, target = torch.where(~torch.eye(count, dtype=torch.bool))
    return torch.arange(count) % 4, torch.randn(count, 3), torch.stack([source, target])


PROGRAMS = {
    "ResNet-18": lambda: (ResNet(), (torch.randn(2, 3, 64, 64),)),
    "BERT": lambda: (Bert(), (torch.randint(0, 50, (2, 7)),)),
    "GPT-2": lambda: (Gpt2(), (torch.randint(0, 50, (2, 7)),)),
    "SchNet": lambda: (SchNet(), atoms()),
    "graph network": lambda: (GraphNetwork(), (torch.randn(6, 8), atoms()[2])),
    "LSTM": lambda: (LSTM(), (torch.randn(5, 3, 4),)),
}

#: What an optimizer runs over a program whose bits and gradients must stay.
ORDER = [
    "inline",
    "lower-tuples",
    "constant-propagation",
    "propagate-types",
    "peephole",
    "simplify-branches",
    "unroll",
    "remove-list-mutation",
    "remove-dict-mutation",
    "remove-tensor-mutation",
    "pool-constants",
    "cse",
    "licm",
    "dce",
]


def silero():
    """The archive of the package silero-vad, which `./dev` puts into .cache; None if it is not there."""
    kept = pathlib.Path(__file__).parents[2] / ".cache/silero-vad/silero_vad/data/silero_vad.jit"
    path = pathlib.Path(os.environ.get("CRESSET_SILERO") or kept)
    return str(path) if path.exists() else None


def run_order(graph, order=ORDER, times=4):
    """Runs the passes until none changes the graph. Returns how often each did."""
    import cresset

    changes = dict.fromkeys(order, 0)
    for _ in range(times):
        any_changed = False
        for name in order:
            if getattr(cresset.passes, name.replace("-", "_"))(graph):
                changes[name] += 1
                any_changed = True
        if not any_changed:
            break
    return changes


def table():
    """Per program and pass: in how many rounds it changed the program, and by how many nodes."""
    import cresset

    rows = {}
    for name, make in PROGRAMS.items():
        torch.manual_seed(0)
        rows[name] = figures_of(cresset.script(make()[0].eval()).forward.graph)
    if silero():
        rows["Silero"] = figures_of(cresset.load(silero(), trusted=True).forward.graph)
    print("| pass | " + " | ".join(rows) + " |")
    print("|---" * (len(rows) + 1) + "|")
    for one in ORDER:
        cells = [
            f"{row[one]['changes']} ({-row[one]['nodes_removed']:+d})" if row.get(one, {}).get("changes") else "0"
            for row in rows.values()
        ]
        print(f"| {one} | " + " | ".join(cells) + " |")


def figures_of(graph):
    import cresset

    with cresset.passes.options(time=True):
        run_order(graph)
        return cresset.passes.figures()


if __name__ == "__main__":
    table()
