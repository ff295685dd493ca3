"""Archives that torch.jit saved, loaded by Cresset and by torch.jit, program by program.

Each entry makes one module with torch.jit and some calls. Both loaders read the same bytes; values, dtypes, strides, the
state after the calls and what errors say must agree. The entries are chosen so that each puts another part
of the format or the language into `code/`, `data.pkl` or `constants.pkl`.
"""

import copy
import enum
import io
import math
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import cresset

ENTRIES = {}


def entry(make):
    """`make` returns a torch.jit module and the calls: tuples of arguments, or (method, arguments)."""
    ENTRIES[make.__name__] = make
    return make


def script(cls, *args, calls, **kwargs):
    return torch.jit.script(cls(*args, **kwargs).eval()), calls


def T(*shape):
    return torch.linspace(-1.0, 2.0, max(1, int(torch.Size(shape).numel()))).reshape(shape)


# ---- layers ----


@entry
def lstm():
    # The layer's forward is overloaded by how its sequences are packed, so a module around it has to pick one.
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)

        def forward(self, x, hx: Optional[Tuple[Tensor, Tensor]] = None):
            y, state = self.lstm(x, hx)
            return y, state, self.lstm(x, state)[0]

    return script(M, calls=[(T(5, 2, 3),), (T(5, 3),), (T(5, 2, 3), (T(4, 2, 4), T(4, 2, 4))), (T(5, 2, 2),)])


@entry
def gru():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(3, 4, batch_first=True)

        def forward(self, x):
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
            return self.gru(x), self.gru(packed)[1]

    return script(M, calls=[(T(2, 5, 3),), (T(2, 5, 2),)])


@entry
def rnn_cells():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.LSTMCell(3, 3), nn.GRUCell(3, 3), nn.RNNCell(3, 3)

        def forward(self, x):
            h, c = self.a(x)
            return self.b(h), self.c(c)

    return script(M, calls=[(T(2, 3),)])


@entry
def transformer_layer():
    return script(nn.TransformerEncoderLayer, 8, 2, 16, calls=[(T(4, 2, 8),)])


@entry
def attention():
    return script(nn.MultiheadAttention, 8, 2, calls=[(T(4, 2, 8),) * 3])


@entry
def conv_batchnorm():
    m = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
    return torch.jit.script(m), [(T(2, 2, 6, 6),), (T(2, 2, 6, 6).to(memory_format=torch.channels_last),), (T(2, 6),)]


@entry
def conv_kinds():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv1d(2, 4, 3, padding="same")
            self.b = nn.ConvTranspose1d(4, 2, 3, stride=2)
            self.c = nn.Conv1d(2, 2, 3, padding=1, padding_mode="reflect")

        def forward(self, x):
            return self.c(self.b(self.a(x)))

    return script(M, calls=[(T(1, 2, 9),)])


@entry
def embedding():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(5, 3, padding_idx=0)
            self.bag = nn.EmbeddingBag(5, 3, mode="mean")

        def forward(self, x):
            return self.e(x), self.bag(x)

    return script(M, calls=[(torch.tensor([[1, 2], [0, 4]]),), (torch.tensor([[9, 2]]),)])


@entry
def norms():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = nn.ModuleList([nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4), nn.RMSNorm(4)])

        def forward(self, x):
            for n in self.n:
                x = n(x)
            return x

    return script(M, calls=[(T(2, 4, 4),)])


@entry
def activations():
    layers = [nn.GELU(), nn.SiLU(), nn.Hardswish(), nn.LeakyReLU(0.1), nn.ELU(), nn.PReLU(), nn.Softplus(), nn.GLU()]
    layers += [nn.Softmax(dim=1), nn.LogSoftmax(dim=-1), nn.Hardtanh(), nn.Dropout(0.5), nn.Identity(), nn.Flatten()]
    return torch.jit.script(nn.Sequential(*layers).eval()), [(T(2, 6),)]


@entry
def dropout_in_training():
    return torch.jit.script(nn.Sequential(nn.Dropout(0.5), nn.AlphaDropout(0.3)).train()), [(T(20),)]


@entry
def losses():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.CrossEntropyLoss(label_smoothing=0.1), nn.SmoothL1Loss(), nn.BCEWithLogitsLoss()

        def forward(self, x, t):
            y = x.softmax(1)
            return self.a(x, t), self.b(x, y), self.c(x, y)

    return script(M, calls=[(T(3, 4), torch.tensor([0, 3, 1])), (T(3, 4), torch.tensor([0, 3]))])


# ---- traces ----


@entry
def traced_conv():
    m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    return torch.jit.trace(m, T(1, 1, 5, 5)), [(T(1, 1, 5, 5),), (T(2, 1, 7, 4),), (T(3),)]


@entry
def traced_lstm():
    return torch.jit.trace(nn.LSTM(3, 4).eval(), T(5, 2, 3)), [(T(5, 2, 3),)]


@entry
def traced_dicts_and_constants():
    class M(nn.Module):
        def forward(self, x):
            y = torch.arange(6.0).reshape(2, 3) + x
            y[:, 1:] *= 2
            return {"a": y, "b": x.t()}, (x, [x + 1, y.t()])

    return torch.jit.trace(M(), T(2, 3), strict=False), [(T(2, 3),)]


@entry
def traced_with_scripted_part():
    @torch.jit.script
    def pick(x, n: int):
        if x.sum() > 0:
            return x + n
        return x - n

    class M(nn.Module):
        def forward(self, x):
            return pick(x * 2, 3)

    return torch.jit.trace(M(), T(3)), [(T(3),), (-T(3),)]


@entry
def traced_methods():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            return self.l(x)

        def twice(self, x):
            return self.l(self.l(x))

    x = T(2, 3)
    return torch.jit.trace_module(M(), {"forward": x, "twice": x}), [(x,), ("twice", (x,))]


# ---- containers and control flow ----


@entry
def module_list_and_dict():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
            self.d = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
            self.p = nn.ParameterList([torch.ones(3), torch.zeros(3)])

        def forward(self, x):
            for i, layer in enumerate(self.l):
                x = layer(x) + i
            for name, layer in self.d.items():
                x = layer(x) + len(name)
            for p in self.p:
                x = x + p
            return self.l[0](x), self.d["a"](x), len(self.l), "b" in self.d

    return script(M, calls=[(T(2, 3),)])


@entry
def loops():
    class M(nn.Module):
        def forward(self, xs: List[int], n: int):
            total, seen = 0, torch.jit.annotate(List[str], [])
            for i, (a, b) in enumerate(zip(xs, range(n, 0, -1))):
                if a == 3:
                    continue
                if a > 10:
                    break
                total += a * b + i
                seen.append(str(a))
            else_value = [x * 2 for x in xs]
            while n > 0:
                n -= 2
                if n == 3:
                    return total, seen, else_value, -1
            return total, seen, else_value, n

    return script(M, calls=[([1, 2, 3, 4], 4), ([1, 20, 3], 9), ([], 0)])


@entry
def early_returns():
    class M(nn.Module):
        def forward(self, x, k: int) -> Tensor:
            for i in range(5):
                if i == k:
                    return x * i
                while i + k == 6:
                    return x - i
            if k > 100:
                raise ValueError(f"k is too large: {k}")
            return x

    return script(M, calls=[(T(2), 3), (T(2), 5), (T(2), 50), (T(2), 101)])


@entry
def refinement():
    class M(nn.Module):
        def forward(self, x: Union[int, Tensor, List[int]], y: Optional[Tensor], z: Any):
            n = 0
            if isinstance(x, int):
                n = x + 1
            elif isinstance(x, torch.Tensor):
                n = int(x.sum())
            else:
                n = len(x)
            if y is not None and y.dim() > 1:
                n += y.size(1)
            if isinstance(z, str):
                n += len(z)
            elif torch.jit.isinstance(z, Tuple[int, int]):
                n += z[0]
            return n

    return script(
        M,
        calls=[(1, None, "abc"), (T(3), T(2, 3), (7, 8)), ([1, 2], T(3), 1.5), ("no", None, 1)],
    )


# ---- attributes and state ----


@entry
def attributes():
    class M(nn.Module):
        d: Dict[str, List[int]]
        o: Optional[Tensor]
        t: Tuple[int, Tuple[str, List[float]]]
        u: Optional[int]

        def __init__(self):
            super().__init__()
            self.d, self.o, self.u = {"a": [1, 2], "b": []}, None, 3
            self.t = (1, ("x", [0.5]))
            self.flags = [True, False]
            self.name, self.scale, self.z = "näme\n", 1e-3, 2 + 3j

        def forward(self, x):
            self.d["c"] = [len(self.d)]
            self.d["a"].append(9)
            o = self.o
            self.o = x if o is None else o + x
            self.u = None
            return self.d, self.o, self.t, self.flags, self.name, self.scale, self.z

    return script(M, calls=[(T(2),), (T(2),)])


@entry
def buffers_mutated():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2, dtype=torch.long))
            self.register_buffer("mean", torch.zeros(2), persistent=False)
            self.n: int = 0

        def forward(self, x):
            self.count += 1
            self.mean[0] = self.mean[0] * 0.5 + x.sum()
            self.mean = self.mean.flip(0)
            self.n += 1
            return self.count, self.mean, self.n

    return script(M, calls=[(T(2),), (T(3),)])


@entry
def shared_and_strided_tensors():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            base = T(4, 6)
            self.register_buffer("a", base.t())
            self.register_buffer("b", base[1:3, ::2])
            self.register_buffer("c", base)
            self.register_buffer("e", torch.empty(0, 3))
            self.register_buffer("h", base.half())
            self.register_buffer("z", torch.complex(base, base).conj())
            self.register_buffer("s", torch.tensor(7, dtype=torch.int8))

        def forward(self, x):
            self.c.add_(1)
            return self.a, self.b, self.e, self.h, self.z, self.s

    return script(M, calls=[(T(1),)])


@entry
def sparse_and_quantized_buffers():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("s", torch.eye(3).to_sparse())
            self.register_buffer("q", torch.quantize_per_tensor(T(3), 0.1, 2, torch.quint8))

        def forward(self, x):
            return torch.mm(self.s, x), self.q.dequantize() + self.q.q_scale()

    return script(M, calls=[(T(3, 2),)])


@entry
def constants():
    class M(nn.Module):
        __constants__ = ["k", "names"]
        limit: torch.jit.Final[float]

        def __init__(self):
            super().__init__()
            self.k, self.names, self.limit = 4, ("a", "b"), float("inf")

        def forward(self, x):
            y = torch.tensor([1.5, 2.5]) + x
            if self.k > 3:
                y = y.clamp(max=self.limit)
            return y, self.names[1], -self.limit, float("nan"), 1e300, (1, "q\"'\\", None), torch.float16, 10**18

    return script(M, calls=[(T(2),)])


@entry
def properties():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._v = 3

        @property
        def v(self) -> int:
            return self._v * 2

        @v.setter
        def v(self, value: int):
            self._v = value + 1

        def forward(self, x: int):
            self.v = x
            return self.v

    return script(M, calls=[(1,), (5,)])


@entry
def hooks():
    class M(nn.Module):
        def forward(self, x: Tensor, k: int):
            return x * k

    def before(self, inputs: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
        return inputs[0] + 1, inputs[1] * 2

    def after(self, inputs: Tuple[Tensor, int], out: Tensor):
        return out - inputs[1]

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = M()
            self.m.register_forward_pre_hook(before)
            self.m.register_forward_hook(after)

        def forward(self, x: Tensor):
            return self.m(x, 3)

    return script(Outer, calls=[(T(2),)])


@entry
def exported_methods():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x):
            return x

        @torch.jit.export
        def bump(self, by: int = 2, twice: bool = False) -> int:
            self.n += by * 2 if twice else by
            return self.n

        @torch.jit.ignore
        def ignored(self, x: int) -> int:
            return x

        @torch.jit.unused
        def unused(self, x: int) -> int:
            return x

        @torch.jit.export
        def uses(self, x: int) -> int:
            return self.unused(x)

    return script(M, calls=[(T(1),), ("bump", ()), ("bump", (5, True)), ("uses", (1,))])


@entry
def overloads():
    class M(nn.Module):
        @torch.jit._overload_method  # noqa: F811
        def g(self, x: int) -> int:  # noqa: F811
            pass

        @torch.jit._overload_method  # noqa: F811
        def g(self, x: Tensor) -> Tensor:  # noqa: F811
            pass

        def g(self, x):  # noqa: F811
            return x + 1

        def forward(self, x: Tensor, y: int):
            return self.g(x), self.g(y)

    return script(M, calls=[(T(2), 3)])


# ---- classes, interfaces, enums, named tuples ----


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Point(NamedTuple):
    x: Tensor
    y: int = 4
    name: Optional[str] = None


@torch.jit.script
class Account:
    def __init__(self, n: int, names: List[str]):
        self.n = n
        self.names = names

    def add(self, by: int) -> "Account":
        return Account(self.n + by, self.names + [str(by)])

    def __add__(self, other: int) -> int:
        return self.n + other

    def __len__(self) -> int:
        return len(self.names)

    @staticmethod
    def make(n: int):
        return Account(n, [])


@torch.jit.script
class Guard:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 5

    def __exit__(self, type: Any, value: Any, tb: Any):
        self.log.append("out")


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.b


@entry
def interfaces():
    class M(nn.Module):
        layer: Layer

        def __init__(self):
            super().__init__()
            self.layer, self.b = Double(), Shift()

        def forward(self, x):
            return self.layer(x) + self.layer.forward(self.b(x))

    return script(M, calls=[(T(2),)])


@entry
def enums():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = Color.RED

        def forward(self, x: int):
            c = Color.GREEN if x > 1 else self.c
            level = Level.HIGH
            return c.value, c.name, c == Color.RED, level.value, [e.value for e in Level], c is Color.GREEN

    return script(M, calls=[(1,), (2,)])


@entry
def named_tuples():
    class M(nn.Module):
        def forward(self, x):
            p = Point(x)
            q = Point(y=7, x=p.x + 1, name="q")
            a, b, c = q
            return p, q, q.y + p[1], a, c

    return script(M, calls=[(T(2),)])


@entry
def classes():
    class M(nn.Module):
        def forward(self, n: int):
            a = Account.make(n).add(2).add(3)
            accounts = {"a": a}
            accounts["b"] = Account(1, ["z"])
            return a.n, a.names, a + 5, len(accounts["b"])

    return script(M, calls=[(1,)])


@entry
def context_managers():
    class M(nn.Module):
        def forward(self, n: int):
            log: List[str] = []
            with Guard(log) as k, Guard(log):
                log.append(str(k))
                if n > 2:
                    raise RuntimeError("n > 2")
            return log

    return script(M, calls=[(1,), (3,)])


@entry
def custom_class():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.packed = torch.ops.quantized.linear_prepack(
                torch.quantize_per_tensor(T(2, 3), 0.1, 0, torch.qint8), torch.ones(2)
            )

        def forward(self, x):
            q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
            return torch.ops.quantized.linear(q, self.packed, 0.2, 5).dequantize()

    return script(M, calls=[(T(4, 3),)])


# ---- functions of torch ----


@entry
def interpolate_and_pad():
    class M(nn.Module):
        def forward(self, x):
            a = F.interpolate(x, scale_factor=2.0, mode="nearest")
            b = F.interpolate(x, size=[3, 3], mode="bilinear", align_corners=False)
            return a, b, F.pad(x, [1, 1, 2, 0], "reflect"), F.pad(x, [1, 0], value=2.5)

    return script(M, calls=[(T(1, 1, 4, 4),), (T(4),)])


@entry
def einsum_and_friends():
    class M(nn.Module):
        def forward(self, x, y):
            a = torch.einsum("ij,jk->ik", x, y)
            b, i = torch.sort(x, dim=1, descending=True)
            v, k = x.topk(2, dim=-1)
            parts = torch.split(x, [1, 2], dim=1)
            return a, b, i, v, k, parts, torch.cat([x, y.t()], dim=0), torch.where(x > 0, x, torch.zeros_like(x))

    return script(M, calls=[(T(2, 3), T(3, 2)), (T(2, 3), T(2, 2))])


@entry
def indexing():
    class M(nn.Module):
        def forward(self, x, i):
            y = x.clone()
            y[0, ..., 1] = 5
            y[i] += 1
            y[:, -1:] *= x[:, None, 0]
            return y, x[..., ::2], x[None, 1], x[x > 0], x[i, 0], x[-1, -1].item(), x.shape, x.numel()

    return script(M, calls=[(T(3, 3), torch.tensor([2, 0])), (T(3, 3), torch.tensor([9]))])


@entry
def complex_numbers():
    class M(nn.Module):
        def forward(self, x, z: complex):
            y = torch.complex(x, x) * z
            return y, y.real, z + 1j, abs(z), complex(1.0, 2.0), [1j, z], torch.view_as_real(y)

    return script(M, calls=[(T(2), 1 - 2j)])


@entry
def dtypes_and_devices():
    class M(nn.Module):
        def forward(self, x):
            y = x.to(torch.float64).to(dtype=torch.int32)
            z = torch.zeros([2, 2], dtype=x.dtype, device=x.device)
            w = torch.empty_like(x, memory_format=torch.contiguous_format).fill_(1)
            return y, z, w, x.is_floating_point(), str(x.device), x.device == torch.device("cpu"), x.dtype == torch.half

    return script(M, calls=[(T(2, 3),), (T(2, 3).half(),)])


@entry
def strings():
    class M(nn.Module):
        def forward(self, s: str, n: int, x: float):
            a = "{} and {}".format(s, n) + "%s|%d" % (s, n) + f"<{s}:{n}>"  # noqa: UP031, UP032
            b = s.upper().split(",")
            return a, b, "-".join(b), s[1:], s[-1], s.find("b"), s in a, s + s, len(s), str(x), int("12"), float("1.5")

    return script(M, calls=[("a,b", 3, 0.5), ("b", 1, 2.0)])


@entry
def fork_and_wait():
    def work(x, k: int):
        return x * k, k

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)

        def forward(self, x):
            futures = [torch.jit.fork(work, x, k) for k in range(3)]
            f = torch.jit.fork(self.l, x)
            total = torch.jit.wait(f)
            for g in futures:
                y, k = torch.jit.wait(g)
                total = total + y * k
            return total

    return script(M, calls=[(T(2, 2),), (T(3),)])


@entry
def grad_modes():
    class M(nn.Module):
        def forward(self, x):
            x = x.detach().requires_grad_()
            with torch.no_grad():
                y = x * 2
                inner = torch.is_grad_enabled()
            z = (x * x).sum()
            g = torch.autograd.grad([z], [x])
            return y.requires_grad, inner, torch.is_grad_enabled(), g

    return script(M, calls=[(T(2),)])


@entry
def errors():
    class M(nn.Module):
        def forward(self, x, kind: int):
            if kind == 0:
                assert x.sum() > 100, f"the sum is only {int(x.sum())}"
            if kind == 1:
                raise IndexError("index!")
            if kind == 2:
                return x.view(7)
            if kind == 3:
                return x[[1, 2, 3][kind]]
            if kind == 4:
                return torch.ones(1) * {"a": 1}["b"]
            if kind == 5:
                return x * (1 // (kind - 5))
            if kind == 6:
                y: Optional[Tensor] = None
                return torch.jit._unwrap_optional(y)
            if kind == 7:
                raise NotImplementedError
            return x

    return script(M, calls=[(T(3), k) for k in range(9)])


@entry
def nested_containers():
    class M(nn.Module):
        def forward(self, d: Dict[int, Tuple[Tensor, List[str]]], o: List[Optional[int]]):
            keys = sorted(list(d.keys()))
            r: Dict[str, Dict[int, float]] = {}
            for k, (t, names) in d.items():
                r["k" + str(k)] = {k: float(t.sum())}
                names.append("new")
            count = 0
            for v in o:
                count += 1 if v is None else v
            return keys, r, count, d[keys[0]][1], [(k, v) for k, v in zip(keys, o)], {k: -k for k in keys}

    return script(M, calls=[({2: (T(2), ["a"]), 1: (T(1), [])}, [None, 5]), ({}, [])])


@entry
def list_methods():
    class M(nn.Module):
        def forward(self, xs: List[int], ts: List[Tensor]):
            ys = xs.copy()
            ys.append(4)
            ys.extend([2, 9])
            ys.insert(1, 7)
            last = ys.pop()
            ys.remove(7)
            ys.reverse()
            zs = sorted(ys)
            ys.sort()
            del ys[0]
            ys[1] = 50
            return ys, zs, last, ys.index(50), ys.count(4), max(ys), sum(zs), torch.stack(ts), xs + ys, [0] * 3, 4 in ys

    return script(M, calls=[([3, 1], [T(2), T(2)]), ([3, 1], [T(2), T(3)])])


@entry
def free_functions_and_recursion():
    @torch.jit.script
    def scale(x, k: float = 2.0, n: Optional[int] = None):
        if n is not None:
            k = k + n
        return x * k

    class M(nn.Module):
        def helper(self, x, n: int):
            return scale(x) + scale(x, n=n) + scale(x, 0.5)

        def forward(self, x, n: int = 3):
            return self.helper(self.helper(x, n), n + 1)

    return script(M, calls=[(T(2),), (T(2), 0)])


@entry
def random_numbers():
    class M(nn.Module):
        def forward(self, x):
            a = torch.rand(2, 2) + torch.randn_like(x).sum()
            return a, torch.randint(0, 10, (3,)), torch.bernoulli(torch.full((5,), 0.5)), torch.randperm(4)

    return script(M, calls=[(T(2),)])


@entry
def arithmetic():
    class M(nn.Module):
        def forward(self, a: int, b: int, x: float):
            return (a // b, a % b, a / b, a**2, a**-1.0, x // 0.3, x % 0.3, round(x), int(x), a << 2, a ^ b), (
                math.sqrt(abs(x)),
                math.floor(x),
                min(a, b),
                max(x, 1.5),
                divmod(a, b),
                not a,
                a < b <= 7,
            )

    return script(M, calls=[(7, -2, 2.5), (-7, 3, -0.5), (1, 0, 1.0)])


@entry
def frozen():
    m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    return torch.jit.freeze(torch.jit.script(m)), [(T(1, 1, 5, 5),)]


@entry
def shared_submodule():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Shift()
            self.b = self.a
            self.c = nn.Sequential(self.a, Double())

        def forward(self, x):
            return self.c(self.b(self.a(x)))

    return script(M, calls=[(T(2),)])


class Named:
    def __init__(this, x: int):
        this.x = x

    def get(me) -> int:
        return me.x


@entry
def first_parameter_by_another_name():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 2

        def forward(this, x, y: int = 2):
            return x + Named(3).get() + this.other(x) + y

        @torch.jit.export
        def other(s, x):
            return x * s.k + s.static(3)

        @staticmethod
        def static(x: int):
            return x + 1

    return script(M, calls=[(T(2),), (T(2), 3), ("other", (T(2),))])


# ---- comparison ----


def same(mine, theirs, where):
    if isinstance(theirs, Tensor):
        assert isinstance(mine, Tensor), where
        assert (mine.dtype, mine.layout, mine.shape) == (theirs.dtype, theirs.layout, theirs.shape), where
        assert mine.requires_grad == theirs.requires_grad, where
        if theirs.layout == torch.strided and not theirs.is_quantized:
            assert mine.stride() == theirs.stride() and mine.is_conj() == theirs.is_conj(), where
        if theirs.is_quantized:
            mine, theirs = mine.dequantize(), theirs.dequantize()
        torch.testing.assert_close(mine.to_dense(), theirs.to_dense(), rtol=0, atol=0, equal_nan=True, msg=where)
    elif isinstance(theirs, (list, tuple)):
        assert type(mine).__name__ == type(theirs).__name__ and len(mine) == len(theirs), where
        assert getattr(mine, "_fields", None) == getattr(theirs, "_fields", None), where
        for i, (a, b) in enumerate(zip(mine, theirs)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(mine) == list(theirs), where
        for key in theirs:
            same(mine[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, enum.Enum):
        assert (mine.name, mine.value) == (theirs.name, theirs.value), where
    else:
        assert type(mine) is type(theirs), f"{where}: {mine!r} instead of {theirs!r}"
        assert mine == theirs or (mine != mine and theirs != theirs), f"{where}: {mine!r} instead of {theirs!r}"


def outcome(module, method, arguments):
    torch.manual_seed(0)
    try:
        with torch.jit.optimized_execution(False):
            target = module if method == "forward" else getattr(module, method)
            return "value", target(*copy.deepcopy(arguments))
    except Exception as error:  # noqa: BLE001
        return "raised", error


def said(error):
    """What torch.jit's message says itself, without its traceback and the schema that it quotes."""
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    if "Traceback of TorchScript" in str(error):
        last = next(line for line in reversed(lines) if "Error:" in line)
        return last.split("Error:", 1)[-1].strip()
    return lines[0].split("Expected ")[-1]


def state(module):
    return dict(module.state_dict()) | {f"buffer {n}": b for n, b in module.named_buffers()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_archive(name):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, calls = ENTRIES[name]()
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    mine, theirs = cresset.load(io.BytesIO(buffer.getvalue())), torch.jit.load(io.BytesIO(buffer.getvalue()))
    same(state(mine), state(theirs), "state")
    for i, call in enumerate(calls):
        method, arguments = (
            call if call and isinstance(call[0], str) and isinstance(call[-1], tuple) else ("forward", call)
        )
        kind, value = outcome(mine, method, arguments)
        expected_kind, expected = outcome(theirs, method, arguments)
        assert kind == expected_kind, f"call {i}: {value!r} instead of {expected!r}"
        if kind == "value":
            same(value, expected, f"call {i}")
        else:
            assert said(expected) in str(value), f"call {i}: {value} instead of {expected}"
        same(state(mine), state(theirs), f"state after call {i}")


def test_set_state_is_code_that_loading_would_run():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.k = torch.ones(2), 3

        @torch.jit.export
        def __getstate__(self):
            return self.w * 2, self.k, self.training

        @torch.jit.export
        def __setstate__(self, state: Tuple[Tensor, int, bool]):
            self.w, self.k = state[0] + 1, state[1]
            self.training = state[2]

        def forward(self, x):
            return x * self.w + self.k

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(M()), buffer)
    with pytest.raises(cresset.ArchiveError, match="__setstate__"):
        cresset.load(io.BytesIO(buffer.getvalue()))
    mine, theirs = (
        cresset.load(io.BytesIO(buffer.getvalue()), trusted=True),
        torch.jit.load(io.BytesIO(buffer.getvalue())),
    )
    same(mine(torch.ones(2)), theirs(torch.ones(2)), "result")
