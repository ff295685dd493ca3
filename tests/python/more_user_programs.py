"""More programs in the style of those who use torch.jit, small enough for each to be called often.

PROGRAMS: name -> (a function that makes the program, its calls). A program is a function or a module; a call is a
function that makes the arguments, so that a call may change them. Calls that raise, and what is printed, count too.
"""

# ruff: noqa: B008, UP031, UP032  (users write it so)

import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PROGRAMS = {}


def program(name, *calls):
    def add(make):
        PROGRAMS[name] = (make, calls)
        return make

    return add


def function(*calls):
    def add(f):
        PROGRAMS[f.__name__] = (lambda: f, calls)
        return f

    return add


def module(*calls):
    def add(cls):
        PROGRAMS[cls.__name__] = (cls, calls)
        return cls

    return add


def rand(*sizes, seed=0):
    return torch.rand(sizes, generator=torch.Generator().manual_seed(seed))


def randn(*sizes, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def randint(high, *sizes, seed=0):
    return torch.randint(high, sizes, generator=torch.Generator().manual_seed(seed))


# ---- Audio


@function(lambda: (randn(400), 8000, 25.0, 10.0), lambda: (randn(10), 8000, 25.0, 10.0))
def frame_energy(wave: Tensor, rate: int, window_ms: float, hop_ms: float) -> Tensor:
    size, hop = int(rate * window_ms / 1000), int(rate * hop_ms / 1000)
    if wave.numel() < size:
        raise ValueError(f"{wave.numel()} samples are fewer than a window of {size}")
    frames = wave.unfold(0, size, hop)
    frames = frames - frames.mean(dim=1, keepdim=True)
    window = 0.5 - 0.5 * torch.cos(torch.arange(size, dtype=wave.dtype) * (2 * math.pi / (size - 1)))
    power = (frames * window).pow(2).sum(-1)
    return torch.where(power > 1e-10, power, torch.zeros_like(power)).log1p()


@function(lambda: (randn(3, 40), 3), lambda: (randn(1, 7), 2), lambda: (randn(1, 7), 0))
def delta_features(x: Tensor, width: int) -> Tensor:
    assert width > 0, "the width must be positive"
    padded = F.pad(x, (width, width), "replicate")
    total = torch.zeros_like(x)
    norm = 0
    for n in range(1, width + 1):
        total += n * (padded[..., width + n : width + n + x.size(-1)] - padded[..., width - n : width - n + x.size(-1)])
        norm += n * n
    return total / (2 * norm)


@module(lambda: (randn(2, 160),), lambda: (randn(2, 80), [3, 5]))
class MelBank(nn.Module):
    n_fft: Final[int] = 32
    cache: Dict[int, Tensor]

    def __init__(self):
        super().__init__()
        self.hops = [8, 16]
        self.register_buffer("bank", rand(17, 4))
        self.cache = {}

    def window(self, n: int) -> Tensor:
        if n not in self.cache:
            self.cache[n] = torch.hann_window(n)
        return self.cache[n]

    def forward(self, x: Tensor, keep: Optional[List[int]] = None):
        outs: List[Tensor] = []
        for hop in self.hops:
            s = torch.stft(x, self.n_fft, hop, window=self.window(self.n_fft), return_complex=True)
            outs.append(torch.einsum("bft,fm->bmt", s.abs() ** 2, self.bank))
        if keep is not None:
            outs = [o.index_select(-1, torch.tensor(keep)) for o in outs]
        return outs, sorted(self.cache.keys())


@module(lambda: (randn(1, 10),), lambda: (randn(1, 3),), lambda: (randn(1, 1),))
class StreamingFilter(nn.Module):
    left: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(randn(1, 1, 4))
        self.left = None
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        left = self.left
        if left is None:
            left = x.new_zeros(x.size(0), self.weight.size(-1) - 1)
        x = torch.cat([left, x], dim=1)
        self.left = x[:, -(self.weight.size(-1) - 1) :].detach()
        return F.conv1d(x[:, None], self.weight)[:, 0] * self.calls


@function(lambda: (randn(50).cumsum(0), 0.5), lambda: (torch.zeros(4), 0.1))
def find_segments(score: Tensor, threshold: float) -> List[Tuple[int, int]]:
    segments: List[Tuple[int, int]] = []
    start: Optional[int] = None
    for i, v in enumerate([float(s) for s in score]):
        if v > threshold:
            if start is None:
                start = i
            continue
        if start is not None:
            if i - start >= 2:
                segments.append((start, i))
            start = None
    if start is not None:
        segments.append((start, score.numel()))
    return segments


# ---- Decoding


class Hypothesis(NamedTuple):
    tokens: List[int]
    score: float
    done: bool


@function(lambda: (randn(5, 6).log_softmax(-1), 3, 0), lambda: (randn(2, 4, seed=2).log_softmax(-1), 1, 3))
def beam_search(steps: Tensor, width: int, eos: int) -> List[Hypothesis]:
    beams = [Hypothesis([], 0.0, False)]
    for t in range(steps.size(0)):
        candidates: List[Tuple[float, int, int]] = []
        finished: List[Hypothesis] = []
        for b, beam in enumerate(beams):
            if beam.done:
                finished.append(beam)
                continue
            values, indices = steps[t].topk(width)
            for k in range(width):
                candidates.append((beam.score + float(values[k]), b, int(indices[k])))
        candidates.sort(reverse=True)
        fresh: List[Hypothesis] = finished[:]
        for score, b, token in candidates[:width]:
            fresh.append(Hypothesis(beams[b].tokens + [token], score, token == eos))
        beams = fresh[:width] if len(fresh) > width else fresh
        if all([beam.done for beam in beams]):
            break
    return beams


@module(lambda: (torch.tensor([1]), 6), lambda: (torch.tensor([2, 3]), 4), lambda: (torch.tensor([9]), 4))
class GreedyDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(8, 4)
        self.cell = nn.GRUCell(4, 4)
        self.out = nn.Linear(4, 8)
        self.stops: Dict[int, str] = {0: "eos", 7: "unknown"}

    def forward(self, prompt: Tensor, most: int) -> Tuple[List[int], str]:
        state = torch.zeros(1, 4)
        tokens: List[int] = []
        for token in prompt:
            state = self.cell(self.embed(token.view(1)), state)
        why = "length"
        while len(tokens) < most:
            token = int(self.out(state).argmax(-1))
            if token in self.stops:
                why = self.stops[token]
                break
            tokens.append(token)
            state = self.cell(self.embed(torch.tensor([token])), state)
        return tokens, why


@function(
    lambda: (["a", "-", "a", "b"], ["ab", "b", "aab"]),
    lambda: ([], ["x"]),
    lambda: (["-", "-"], torch.jit.annotate(List[str], [])),
)
def ctc_collapse(frames: List[str], lexicon: List[str], blank: str = "-") -> Tuple[str, Optional[int]]:
    text = ""
    previous = ""
    for f in frames:
        if f != previous and f != blank:
            text += f
        previous = f
    for i, word in enumerate(lexicon):
        if word == text:
            return text, i
    return text, None


@function(lambda: (randn(6, 3), randn(3, 3)), lambda: (randn(1, 2), randn(2, 2)))
def viterbi(emit: Tensor, trans: Tensor) -> Tuple[List[int], float]:
    score = emit[0]
    back: List[Tensor] = []
    for t in range(1, emit.shape[0]):
        best, index = (score.unsqueeze(1) + trans).max(dim=0)
        back.append(index)
        score = best + emit[t]
    last = int(score.argmax())
    path = [last]
    for index in back[::-1]:
        path.append(int(index[path[-1]]))
    path.reverse()
    return path, float(score.max())


@module(lambda: ("the cat", 5), lambda: ("a <unk> b", 2), lambda: ("", 3))
class Trie(nn.Module):
    """Longest match over pieces, with the sizes of pieces in a dict of lists."""

    def __init__(self):
        super().__init__()
        pieces = ["the", " ", "c", "at", "a", "<unk>", "t"]
        self.ids: Dict[str, int] = {p: i for i, p in enumerate(pieces)}
        self.longest = max(len(p) for p in pieces)

    def forward(self, text: str, most: int) -> List[Tuple[str, int]]:
        found: List[Tuple[str, int]] = []
        at = 0
        while at < len(text) and len(found) < most:
            size = min(self.longest, len(text) - at)
            while size > 0:
                piece = text[at : at + size]
                if piece in self.ids:
                    found.append((piece, self.ids[piece]))
                    break
                size -= 1
            else_size = size if size > 0 else 1
            if size == 0:
                found.append((text[at], -1))
            at += else_size
        return found


# ---- Text


@function(lambda: ("Hello, World! it's 3.14",), lambda: ("  \t\n ",), lambda: ("It's x2",))
def tokenize(text: str) -> List[str]:
    tokens: List[str] = []
    word = ""
    for c in text:
        if c.isalnum() or c == "'":
            word += c.lower()
        else:
            if len(word) > 0:
                tokens.append(word)
                word = ""
            if not c.isspace():
                tokens.append(c)
    if word:
        tokens.append(word)
    return tokens


@function(lambda: ("a=1;b=2;;c=x",), lambda: ("a",), lambda: ("k=1=2",))
def parse_options(text: str) -> Dict[str, Union[int, str]]:
    options: Dict[str, Union[int, str]] = {}
    for part in text.split(";"):
        if not part:
            continue
        pieces = part.split("=")
        if len(pieces) != 2:
            raise RuntimeError("cannot read " + repr_of(part))
        key, value = pieces
        if value.isdigit():
            options[key.strip()] = int(value)
        else:
            options[key.strip()] = value
    return options


def repr_of(s: str) -> str:
    return "'{}'".format(s)


@function(lambda: (["b", "a", "b", "c", "a", "b"],), lambda: (torch.jit.annotate(List[str], []),))
def most_common(words: List[str]) -> List[Tuple[int, str]]:
    counts: Dict[str, int] = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    order = [(n, w) for w, n in counts.items()]
    order.sort()
    print("counted", len(words), "words,", len(order), "of them different")
    return order[::-1]


@function(lambda: ("aabcccd",), lambda: ("",))
def run_length(s: str) -> Tuple[str, str]:
    out: List[str] = []
    i = 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        out.append("%s%d" % (s[i], j - i))
        i = j
    packed = "".join(out)
    back = ""
    for k in range(0, len(packed), 2):
        for _ in range(int(packed[k + 1])):
            back += packed[k]
    return packed, back


@function(lambda: ("3 4 + 2 *",), lambda: ("1 +",), lambda: ("4 0 /",), lambda: ("2 3 ?",))
def rpn(text: str) -> float:
    stack: List[float] = []
    for word in text.split():
        if word in ["+", "*", "-", "/"]:
            if len(stack) < 2:
                raise IndexError("the stack is too short for " + word)
            b, a = stack.pop(), stack.pop()
            if word == "+":
                stack.append(a + b)
            elif word == "-":
                stack.append(a - b)
            elif word == "*":
                stack.append(a * b)
            else:
                stack.append(a / b)
        elif word.isdigit():
            stack.append(float(word))
        else:
            raise ValueError("unknown word '%s'" % word)
    return stack[0]


# ---- Graphs


@function(
    lambda: (randn(4, 2), torch.tensor([[0, 1, 2, 3], [1, 1, 0, 2]]), "mean"),
    lambda: (randn(4, 2), torch.tensor([[0, 1], [1, 0]]), "max"),
    lambda: (randn(2, 2), torch.tensor([[0], [0]]), "median"),
)
def aggregate(x: Tensor, edges: Tensor, how: str) -> Tensor:
    src, dst = edges[0], edges[1]
    messages = x.index_select(0, src)
    index = dst.unsqueeze(-1).expand_as(messages)
    if how == "sum" or how == "mean":
        out = torch.zeros_like(x).scatter_add_(0, index, messages)
        if how == "mean":
            degree = torch.zeros(x.size(0)).scatter_add_(0, dst, torch.ones(dst.size(0)))
            out /= degree.clamp(min=1).unsqueeze(-1)
        return out
    elif how == "max":
        return torch.zeros_like(x).scatter_reduce(0, index, messages, "amax", include_self=False)
    raise ValueError("unknown aggregation " + how)


@module(lambda: (randn(5, 3), torch.tensor([[0, 1, 4], [1, 2, 0]])), lambda: (randn(2, 3), torch.zeros(2, 0).long()))
class MessagePassing(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.ModuleList([nn.Linear(6, 3) for _ in range(2)])
        self.norms = nn.ModuleDict({"0": nn.LayerNorm(3), "1": nn.LayerNorm(3)})

    def message(self, x: Tensor, edges: Tensor, layer: int) -> Tensor:
        return torch.cat([x[edges[0]], x[edges[1]]], dim=-1)

    def forward(self, x: Tensor, edges: Tensor) -> Dict[str, Tensor]:
        states: Dict[str, Tensor] = {"input": x}
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms.values())):
            m = layer(self.message(x, edges, i)).relu()
            out = torch.zeros_like(x)
            out.index_add_(0, edges[1], m)
            x = norm(x + out)
            states["layer%d" % i] = x
        return states


@function(lambda: ({0: [1, 2], 1: [3], 2: [3], 3: [0]}, 0), lambda: ({0: [1], 1: [9]}, 0), lambda: ({5: [5]}, 5))
def bfs(graph: Dict[int, List[int]], start: int) -> Dict[int, int]:
    distance = {start: 0}
    queue = [start]
    while queue:
        node = queue.pop(0)
        for other in graph[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@function(lambda: (rand(4, 4), 3), lambda: (torch.eye(3), 0))
def pagerank(adjacency: Tensor, steps: int) -> Tensor:
    out_degree = adjacency.sum(1, keepdim=True).clamp_min(1e-6)
    p = (adjacency / out_degree).t()
    rank = torch.full((adjacency.size(0),), 1.0 / adjacency.size(0))
    previous: Optional[Tensor] = None
    for _ in range(steps):
        previous, rank = rank, 0.85 * (p @ rank) + 0.15 / rank.numel()
        if previous is not None and torch.allclose(previous, rank, atol=1e-5):
            break
    return rank if previous is None else torch.stack([previous, rank])


# ---- Molecular dynamics


@function(lambda: (randn(4, 3), 1.0, 0.3), lambda: (randn(2, 3, seed=4), 0.5, 1.1))
def lennard_jones_forces(x: Tensor, eps: float, sigma: float) -> Tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    i, j = torch.triu_indices(x.size(0), x.size(0), 1).unbind(0)
    r = (x[i] - x[j]).pow(2).sum(-1).sqrt()
    s = (sigma / r) ** 6
    energy = (4 * eps * (s * s - s)).sum()
    grads = torch.autograd.grad([energy], [x], create_graph=False)
    force = grads[0]
    assert force is not None
    return energy.detach(), -force


@module(lambda: (randn(3, 3), True), lambda: (randn(5, 3), False))
class NeuralPotential(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.register_buffer("centers", torch.linspace(0, 3, 4))

    def energy(self, x: Tensor) -> Tensor:
        d = torch.cdist(x, x) + torch.eye(x.size(0)) * 10.0
        g = torch.exp(-((d.unsqueeze(-1) - self.centers) ** 2)).sum(1)
        return self.net(g).sum()

    def forward(self, x: Tensor, forces: bool) -> Tuple[Tensor, Optional[Tensor]]:
        if not forces:
            with torch.no_grad():
                return self.energy(x), None
        x = x.clone().requires_grad_()
        e = self.energy(x)
        out: List[Optional[Tensor]] = [torch.ones_like(e)]
        g = torch.autograd.grad([e], [x], grad_outputs=out, retain_graph=True, create_graph=True)[0]
        if g is None:
            raise RuntimeError("no forces")
        return e, -g


class MDState(NamedTuple):
    x: Tensor
    v: Tensor
    t: float


@function(
    lambda: (MDState(randn(3), randn(3, seed=1), 0.0), 5, 0.1), lambda: (MDState(randn(1), randn(1), 1.5), 0, 0.1)
)
def leapfrog(state: MDState, steps: int, dt: float) -> Tuple[MDState, List[float]]:
    energies: List[float] = []
    for _ in range(steps):
        v = state.v - 0.5 * dt * state.x
        x = state.x + dt * v
        v = v - 0.5 * dt * x
        state = MDState(x, v, state.t + dt)
        energies.append(float((x.square() + v.square()).sum()) / 2)
    return state, energies


@function(lambda: (rand(6, 3) * 4, 4.0, 1.5), lambda: (rand(1, 3), 2.0, 1.0))
def neighbour_list(x: Tensor, box: float, cutoff: float) -> Tuple[Tensor, Tensor]:
    delta = x.unsqueeze(0) - x.unsqueeze(1)
    delta -= box * torch.round(delta / box)
    distance = delta.norm(2, dim=-1)
    mask = (distance < cutoff) & ~torch.eye(x.size(0), dtype=torch.bool)
    pairs = mask.nonzero()
    return pairs.t().contiguous(), distance[mask]


# ---- Detection


@function(
    lambda: (torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.8], [3, 3, 4, 4]]), torch.tensor([0.9, 0.8, 0.7]), 0.5),
    lambda: (torch.zeros(0, 4), torch.zeros(0), 0.5),
)
def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    order = scores.argsort(descending=True)
    keep: List[int] = []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while order.numel() > 0:
        i = int(order[0])
        keep.append(i)
        if order.numel() == 1:
            break
        rest = order[1:]
        lt = torch.max(boxes[i, :2], boxes[rest, :2])
        rb = torch.min(boxes[i, 2:], boxes[rest, 2:])
        inter = (rb - lt).clamp(min=0).prod(dim=1)
        order = rest[inter / (area[i] + area[rest] - inter) <= threshold]
    return torch.tensor(keep, dtype=torch.long)


class Detections:
    def __init__(self, boxes: Tensor, labels: List[str]):
        self.boxes = boxes
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> Tuple[Tensor, str]:
        return self.boxes[i], self.labels[i]

    def __add__(self, other: "Detections") -> "Detections":
        return Detections(torch.cat([self.boxes, other.boxes]), self.labels + other.labels)

    def __contains__(self, label: str) -> bool:
        return label in self.labels


@module(lambda: (rand(2, 5, 6), 0.4), lambda: (rand(1, 3, 6), 0.99), lambda: (rand(1, 3, 5), 0.5))
class PostProcess(nn.Module):
    names: Final[List[str]] = ["cat", "dog"]

    def forward(self, raw: Tensor, threshold: float) -> List[Tuple[Tensor, str]]:
        all_of = Detections(torch.zeros(0, 4), [])
        for image in raw:
            box, obj, cls = image.split([4, 1, 1], dim=-1)
            obj = obj.squeeze(-1)
            chosen = obj > threshold
            if not bool(chosen.any()):
                continue
            labels: List[str] = []
            for c in cls[chosen].squeeze(-1):
                labels.append(self.names[int(c > 0.5)])
            all_of = all_of + Detections(box[chosen], labels)
        result: List[Tuple[Tensor, str]] = []
        for i in range(len(all_of)):
            result.append(all_of[i])
        if "dog" in all_of:
            print("a dog among", len(all_of))
        return result


@function(lambda: (8, 4, [0.5, 1.0, 2.0]), lambda: (3, 3, [1.0]))
def anchors(height: int, width: int, ratios: List[float]) -> Tensor:
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    centers = torch.stack([xs, ys], dim=-1).reshape(-1, 2).to(torch.float32) + 0.5
    sizes = torch.tensor([[math.sqrt(r), 1 / math.sqrt(r)] for r in ratios])
    boxes = torch.cat([centers[:, None] - sizes / 2, centers[:, None] + sizes / 2], dim=-1)
    return boxes.flatten(0, 1)


# ---- Control and reinforcement learning


class Pid(NamedTuple):
    integral: float
    previous: Optional[float]


@function(
    lambda: (Pid(0.0, None), [1.0, 0.5, 0.2], (1.0, 0.1, 0.01)),
    lambda: (Pid(2.0, 1.0), [-1.0], (0.5, 0.0, 0.0)),
)
def pid(state: Pid, errors: List[float], gains: Tuple[float, float, float], dt: float = 0.1) -> Tuple[Pid, List[float]]:
    kp, ki, kd = gains
    outs: List[float] = []
    for e in errors:
        integral = min(max(state.integral + e * dt, -1.0), 1.0)
        previous = state.previous
        derivative = 0.0 if previous is None else (e - previous) / dt
        outs.append(kp * e + ki * integral + kd * derivative)
        state = Pid(integral, e)
    return state, outs


class RnnState(NamedTuple):
    h: Tensor
    c: Tensor
    step: int


@module(lambda: (randn(3, 2, 4), None), lambda: (randn(1, 2, 4), RnnState(torch.ones(2, 3), torch.ones(2, 3), 7)))
class RecurrentPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.cell = nn.LSTMCell(4, 3)
        self.head = nn.Linear(3, 2)

    def initial(self, batch: int) -> RnnState:
        return RnnState(torch.zeros(batch, 3), torch.zeros(batch, 3), 0)

    def forward(self, x: Tensor, state: Optional[RnnState]) -> Tuple[Tensor, RnnState]:
        if state is None:
            state = self.initial(x.size(1))
        outs = torch.jit.annotate(List[Tensor], [])
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (state.h, state.c))
            state = RnnState(h=h, c=c, step=state.step + 1)
            outs += [self.head(h)]
        return torch.stack(outs), state


@function(
    lambda: (randn(6), torch.tensor([0, 0, 1, 0, 0, 1]).bool(), 0.9),
    lambda: (torch.zeros(0), torch.zeros(0).bool(), 1.0),
)
def discounted(rewards: Tensor, done: Tensor, gamma: float) -> Tensor:
    out = torch.empty_like(rewards)
    running = 0.0
    for i in range(rewards.numel() - 1, -1, -1):
        if bool(done[i]):
            running = 0.0
        running = float(rewards[i]) + gamma * running
        out[i] = running
    return out


class Action(Enum):
    LEFT = 0
    RIGHT = 1
    STAY = 2


@function(lambda: ((1, 1), [Action.LEFT, Action.RIGHT, Action.RIGHT]), lambda: ((0, 0), [Action.LEFT]))
def walk(at: Tuple[int, int], actions: List[Action]) -> Tuple[Tuple[int, int], List[str]]:
    names: List[str] = []
    x, y = at
    for a in actions:
        if a == Action.LEFT:
            x -= 1
        elif a is Action.RIGHT:
            x += 1
        if x < 0:
            raise RuntimeError("left the board by " + a.name)
        names.append(a.name + str(a.value))
    return (x, y), names


# ---- Numbers and quantisation


@function(lambda: (randn(4, 5), 8, True), lambda: (randn(2, 2), 4, False), lambda: (randn(2), 1, True))
def fake_quantize(x: Tensor, bits: int, symmetric: bool) -> Tuple[Tensor, float, int]:
    if bits < 2 or bits > 16:
        raise ValueError(f"bits must be between 2 and 16, not {bits}")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if symmetric else (0, (1 << bits) - 1)
    if symmetric:
        scale = float(x.abs().max()) / int(high)
        zero = 0
    else:
        scale = float(x.max() - x.min()) / int(high)
        zero = int(torch.round(-x.min() / scale))
    q = torch.clamp(torch.round(x / scale) + zero, float(low), float(high))
    return (q - zero) * scale, scale, zero


@function(lambda: ([3, 5, 250, 7], 4), lambda: ([0], 8))
def pack_bits(values: List[int], bits: int) -> Tuple[int, List[int]]:
    mask = (1 << bits) - 1
    word = 0
    for i, v in enumerate(values):
        word |= (v & mask) << (i * bits)
    back: List[int] = []
    for i in range(len(values)):
        back.append((word >> (i * bits)) & mask)
    return word ^ mask, back


@function(lambda: (12345, 10), lambda: (-7, 3), lambda: (9223372036854775807, 4))
def collatz_like(n: int, most: int) -> Tuple[int, int, float]:
    steps = 0
    while n != 1 and steps < most:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return n, steps, n / 3


@function(lambda: (2.0,), lambda: (0.0,), lambda: (-1.0,))
def newton_root(x: float) -> Tuple[float, int]:
    if x < 0:
        raise ValueError("no root of a negative number: " + str(x))
    guess = x if x > 1.0 else 1.0
    for i in range(50):
        better = 0.5 * (guess + x / guess)
        if abs(better - guess) < 1e-12:
            return better, i
        guess = better
    return guess, -1


@function(lambda: (1 + 2j, 3), lambda: (0j, 2))
def mandelbrot_point(c: complex, steps: int) -> Tuple[complex, float, int]:
    z = complex(0.0, 0.0)
    for n in range(steps):
        z = z * z + c
        if abs(z) > 2.0:
            return z, abs(z), n
    return z, abs(z - 1.0), steps


@function(lambda: (randn(6, 4), 2), lambda: (randn(3, 3), 1))
def power_iteration(a: Tensor, count: int) -> List[float]:
    with torch.no_grad():
        values: List[float] = []
        v = torch.ones(a.size(1))
        for _ in range(count):
            for _ in range(20):
                v = a.t() @ (a @ v)
                v = v / v.norm()
            values.append(float((a @ v).norm()))
            a = a - torch.outer(a @ v, v)
        return [round(x * 1000) / 1000 for x in values]


@function(lambda: (rand(3, 4), [1, -1], None), lambda: (rand(3, 4), [2, 6], 0.5), lambda: (rand(3, 4), [5, -1], None))
def reshape_and_scale(x: Tensor, shape: List[int], scale: Optional[float] = None) -> Tensor:
    y = x.view(shape)
    if scale is not None:
        y = y * scale
    elif y.size(0) == 1:
        return y.squeeze(0)
    return y


# ---- Classes, dataclasses, enums, interfaces


@dataclass
class Config:
    width: int
    rate: float = 0.5
    name: str = "plain"

    def scaled(self, by: int) -> "Config":
        return Config(self.width * by, self.rate / by, self.name + "!")


@function(lambda: (3, 2), lambda: (1, 1))
def use_config(width: int, by: int) -> Tuple[int, float, str, bool]:
    config = Config(width)
    other = config.scaled(by)
    return other.width, other.rate, other.name, config == other


class Vec:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other: "Vec") -> "Vec":
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, k: float) -> "Vec":
        return Vec(self.x * k, self.y * k)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)

    def __eq__(self, other: "Vec") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vec") -> bool:
        return self.norm() < other.norm()

    def __bool__(self) -> bool:
        return self.x != 0.0 or self.y != 0.0

    def __str__(self) -> str:
        return "({}, {})".format(self.x, self.y)

    def norm(self) -> float:
        return math.sqrt(self.x * self.x + self.y * self.y)

    @staticmethod
    def unit(angle: float) -> "Vec":
        return Vec(math.cos(angle), math.sin(angle))

    @property
    def swapped(self) -> "Vec":
        return Vec(self.y, self.x)


@function(lambda: (3.0, 4.0), lambda: (0.0, 0.0))
def vectors(x: float, y: float) -> Tuple[float, bool, bool, str, float]:
    a, b = Vec(x, y), Vec.unit(0.5)
    c = (a + b) * 2.0 - (-a)
    c.x += 1.0
    note = "none" if not a else str(a.swapped)
    return c.norm(), a < b, a == a.swapped.swapped, note, c.x


class Stack:
    def __init__(self):
        self.items: List[int] = []
        self.most = 0

    def push(self, x: int) -> "Stack":
        self.items.append(x)
        self.most = max(self.most, len(self.items))
        return self

    def pop(self) -> int:
        if len(self.items) == 0:
            raise IndexError("pop from an empty stack")
        return self.items.pop()


@function(lambda: ([1, 2, -1, 3, -1],), lambda: ([-1],))
def machine(program: List[int]) -> Tuple[List[int], int]:
    stack = Stack()
    for op in program:
        if op >= 0:
            stack.push(op).push(op * 2)
        else:
            stack.push(stack.pop() + stack.pop())
    return stack.items, stack.most


@torch.jit.interface
class Transform:
    def apply(self, x: Tensor) -> Tensor:
        pass

    def describe(self) -> str:
        pass


class Scale:
    def __init__(self, by: float):
        self.by = by

    def apply(self, x: Tensor) -> Tensor:
        return x * self.by

    def describe(self) -> str:
        return "scale by " + str(self.by)


class Shift:
    def __init__(self, by: Tensor):
        self.by = by

    def apply(self, x: Tensor) -> Tensor:
        return x + self.by

    def describe(self) -> str:
        return "shift"


def use_transform(t: Transform, x: Tensor) -> Tuple[Tensor, str]:
    return t.apply(x), t.describe()


@function(lambda: (rand(2), True), lambda: (rand(2), False))
def choose_transform(x: Tensor, scale: bool) -> Tuple[Tensor, str]:
    if scale:
        return use_transform(Scale(2.0), x)
    return use_transform(Shift(torch.ones(2)), x)


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


@module(lambda: (rand(3), Mode.FAST), lambda: (rand(3), Mode.SLOW))
class Switch(nn.Module):
    counts: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.default = Mode.FAST
        self.last = Mode.SLOW
        self.counts = {}

    def forward(self, x: Tensor, mode: Mode) -> Tuple[Tensor, str, bool]:
        changed = mode != self.last
        self.last = mode
        self.counts[mode.value] = self.counts.get(mode.value, 0) + 1
        for m in Mode:
            if m == mode:
                x = x + len(m.name)
        if mode == self.default:
            return x * 2, mode.name, changed
        return x.exp(), mode.value, changed


@module(lambda: (rand(2, 4),), lambda: (rand(1, 4),), lambda: (rand(1, 3),))
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.a = nn.Linear(4, 4)
        self.b = nn.Identity()
        self.skip: Optional[nn.Linear] = None
        self.scale = 3

    @property
    def doubled(self) -> int:
        return self.scale * 2

    @doubled.setter
    def doubled(self, value: int):
        self.scale = value // 2

    def forward(self, x: Tensor) -> Tensor:
        if self.skip is not None:
            x = x + self.skip(x)
        y = self.b(self.a(x)) * self.doubled
        if self.training:
            self.doubled = self.doubled + 4
        return y


# ---- Refinement and control flow


@function(lambda: (None, 1), lambda: (3, 1), lambda: (3, -1), lambda: (0, 5))
def refine(x: Optional[int], y: int) -> int:
    if x is None:
        return y
    if y < 0:
        raise ValueError("negative: %d" % y)
    if x and y > 2:
        return -1
    z = x if x > y else None
    if z is not None and z > 2:
        return z * 10
    return x + y


@function(lambda: ([1, None, 3, None],), lambda: ([None],), lambda: ([5, 2],))
def last_two(xs: List[Optional[int]]) -> Tuple[Optional[int], Optional[int], int]:
    newest: Optional[int] = None
    older: Optional[int] = None
    skipped = 0
    for x in xs:
        if x is None:
            skipped += 1
            continue
        candidate = x
        if newest is not None and newest > candidate:
            candidate = None
        older = newest
        newest = candidate
    return older, newest, skipped


@function(lambda: (3,), lambda: (2.5,), lambda: ("x",), lambda: ([1, 2],))
def by_type(x: Union[int, float, str, List[int]]) -> str:
    if isinstance(x, int):
        return "int " + str(x + 1)
    elif isinstance(x, (float, str)):
        if isinstance(x, str):
            return "str " + x + x
        return "float " + str(x / 2)
    return "list " + str(sum(x))


@function(lambda: (3,), lambda: ("abc",), lambda: (torch.ones(2),), lambda: ([1.5],), lambda: (None,))
def by_any(x: Any) -> str:
    if isinstance(x, int):
        return str(x * 2)
    if isinstance(x, str):
        return x.upper()
    if isinstance(x, Tensor):
        return str(x.size(0))
    if torch.jit.isinstance(x, List[float]):
        return str(x[0])
    return "other"


@function(lambda: ([[1, 2], [3], []], 3), lambda: ([[1]], 9), lambda: (torch.jit.annotate(List[List[int]], []), 0))
def find_in_rows(rows: List[List[int]], wanted: int) -> Tuple[int, int]:
    at = (-1, -1)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value == wanted:
                at = (i, j)
                break
        if at[0] >= 0:
            break
    else_needed = at[0] < 0
    if else_needed:
        print("not found:", wanted)
    return at


@function(lambda: (5,), lambda: (0,), lambda: (30,))
def nested_loops(n: int) -> List[int]:
    primes: List[int] = []
    i = 2
    while True:
        if i > n:
            return primes
        is_prime = True
        for p in primes:
            if p * p > i:
                break
            if i % p == 0:
                is_prime = False
                break
        i += 1
        if not is_prime:
            continue
        primes.append(i - 1)


@function(lambda: (rand(3),), lambda: (randn(2, 2),))
def gradient_switch(x: Tensor) -> Tuple[bool, bool, Tensor]:
    x = x.clone().requires_grad_(True)
    with torch.no_grad():
        y = x * 2
    z = x * 3
    z.sum().backward()
    g = x.grad
    assert g is not None
    return y.requires_grad, z.requires_grad, g


@function(lambda: ({"a": 1}, "a"), lambda: ({"a": 1}, "b"))
def lookup(d: Dict[str, int], key: str) -> int:
    if key == "a":
        d["seen"] = 1
    return d[key]


@function(lambda: ([3, 1, 2], 1), lambda: ([3], 4), lambda: ([3, 4], -2))
def list_surgery(xs: List[int], i: int) -> Tuple[List[int], int, List[int]]:
    ys = xs.copy()
    ys.insert(i, 9)
    ys.extend([7, 7])
    ys.remove(7)
    taken = xs.pop(i)
    del ys[0]
    ys[-1] += 5
    return ys, taken, sorted(ys)[:2]


@function(lambda: ([("b", 2), ("a", 1)],), lambda: (torch.jit.annotate(List[Tuple[str, int]], []),))
def ordered(pairs: List[Tuple[str, int]]) -> Tuple[List[str], Dict[str, int], int]:
    d: Dict[str, int] = OrderedDict()
    for k, v in pairs:
        d[k] = v
    keys = list(d.keys())
    d.update({"z": 26})
    popped = d.pop("z")
    total = 0
    for v in d.values():
        total += v
    return keys, {k: v * 2 for k, v in d.items()}, total + popped


@module(lambda: (rand(2, 3),), lambda: (rand(4, 3),))
class TiedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(randn(2, 3))
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(3))])

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        code = F.linear(x, self.weight, self.bias[0])
        back = code.sigmoid() @ self.weight
        for b in self.bias[1:]:
            back = back + b
        return code, F.mse_loss(back, x, reduction="none").mean(-1)


@module(lambda: (rand(2, 3, 4),), lambda: (rand(2, 3, 4), torch.tensor([3, 1])))
class AttentionPool(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.score = nn.Linear(4, 1, bias=False)

    def forward(self, x: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        s = self.score(x).squeeze(-1)
        if lengths is not None:
            mask = torch.arange(x.size(1)).unsqueeze(0) >= lengths.unsqueeze(1)
            s = s.masked_fill(mask, float("-inf"))
        return torch.einsum("bt,btd->bd", s.softmax(-1), x)


@module(lambda: (rand(5),), lambda: (rand(3),))
class RunningStats(nn.Module):
    mean: Tensor
    history: List[Tuple[int, float]]

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("m2", torch.zeros(()))
        self.count = 0
        self.history = []

    def forward(self, xs: Tensor) -> Dict[str, float]:
        for x in xs:
            self.count += 1
            delta = x - self.mean
            self.mean += delta / self.count
            self.m2 += delta * (x - self.mean)
        self.history.append((self.count, float(self.mean)))
        return {"mean": float(self.mean), "var": float(self.m2) / max(self.count - 1, 1), "n": float(len(self.history))}


@function(lambda: (rand(4), 2), lambda: (rand(2), 0))
def forked(x: Tensor, parts: int) -> Tensor:
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(parts):
        futures.append(torch.jit.fork(partial_sum, x, i))
    total = torch.zeros(())
    for f in futures:
        total = total + torch.jit.wait(f)
    return total


def partial_sum(x: Tensor, i: int) -> Tensor:
    return (x * (i + 1)).sum()


@function(lambda: (rand(2, 2), "{} of {}", 3), lambda: (rand(2, 2), "{}", 0))
def messages(x: Tensor, pattern: str, n: int) -> str:
    if n == 0:
        raise NotImplementedError(pattern.format("zero"))
    text = pattern.format(n, x.size(0))
    print(text, n, 1.5, True, None, [1, 2], (1, 2.5))
    return f"{text}|{n}|{n / 2}" + "|%d|%s|%i" % (n, "s", 7)


@function(lambda: (randn(2, 6), 0.9, 1.0), lambda: (randn(1, 4), 0.1, 0.5), lambda: (randn(1, 4), 0.0, 0.0))
def nucleus(logits: Tensor, p: float, temperature: float) -> Tuple[Tensor, List[int]]:
    if temperature <= 0.0:
        raise ValueError("the temperature must be positive")
    ordered, index = torch.sort(logits / temperature, dim=-1, descending=True)
    drop = ordered.softmax(-1).cumsum(-1) > p
    drop[..., 1:] = drop[..., :-1].clone()
    drop[..., 0] = False
    kept = logits.masked_fill(drop.scatter(-1, index, drop), float("-inf"))
    counts: List[int] = []
    for row in kept:
        counts.append(int(torch.isfinite(row).sum()))
    return kept.softmax(-1), counts


@function(lambda: (randn(3, 2), torch.eye(2), 0.1), lambda: (randn(1, 2), torch.eye(2) * 2, 0.5))
def kalman(measured: Tensor, start: Tensor, noise: float) -> Tuple[Tensor, Tensor]:
    x, p = torch.zeros(2), start
    a = torch.tensor([[1.0, 0.1], [0.0, 1.0]])
    for z in measured:
        x, p = a @ x, a @ p @ a.t() + 0.01 * torch.eye(2)
        gain = p @ torch.linalg.inv(p + noise * torch.eye(2))
        x = x + gain @ (z - x)
        p = (torch.eye(2) - gain) @ p
    return x, p


@function(lambda: ([3, 1, 2], "mean"), lambda: ([], "sum"), lambda: ([1], "none"))
def reduce_list(xs: List[int], how: str) -> Union[int, float]:
    table = {"sum": 0, "mean": 1}
    assert how in table, "no reduction is called " + how
    total = sum(xs)
    if table[how] == 0:
        return total
    return total / len(xs)


#: What torch.jit refuses, or gets wrong: compared with eager PyTorch only.
BEYOND_TORCH_JIT = {
    "use_config",  # a dataclass that is not decorated
    "walk",  # `is` of members of an enum
    "last_two",  # a name that `continue` has refined
    "nested_loops",  # `while True` whose only way out is `return`
    "ordered",  # OrderedDict() with an annotation
    "TiedAutoencoder",  # a slice of a ParameterList
}
#: Where scripts differ from Python on purpose.
BEYOND_EAGER = {
    "rpn",  # division by zero of floats is inf
    "collatz_like",  # ints have 64 bits
    "vectors",  # the text of 3.0 is "3."
    "choose_transform",  # the same
}
