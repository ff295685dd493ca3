"""Rows of torch_jit_behaviours.py: programs as users have written them since the first versions of torch.jit.

ScriptModule with script_method, attributes and interfaces, recurrent networks, quantized modules, what files and graphs
are asked for.
"""

import collections
import copy
import enum
import io
import math
import os
import pathlib
import pickle
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch_jit_behaviours import X, row, seen_by_annotations, tries

# ruff: noqa: UP006, UP007, UP035, UP045, UP031, UP032, B007, B018, F841


# Modules of the old style.


@row("module")
def script_module_with_script_methods(J):
    class M(J.ScriptModule):
        __constants__ = ["k", "name"]

        def __init__(self):
            super().__init__()
            self.k = 3
            self.name = "m"
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("steps", torch.zeros(1))
            self.count = J.Attribute(0, int)
            self.table = J.Attribute({"a": 1}, Dict[str, int])

        @J.script_method
        def forward(self, x):
            self.count += 1
            self.steps.add_(1)
            return self.helper(x) * self.k

        @J.script_method
        def helper(self, x):
            # type: (Tensor) -> Tensor
            return x * self.weight + self.table["a"]

        def python_only(self, x):
            return [self.forward(x).sum().item(), self.name]

    m = M()
    return m(X), m.count, m.steps, m.python_only(X), list(m.state_dict()), m.k, m.table, m.helper(X)


@row("module")
def script_module_of_modules(J):
    class Block(J.ScriptModule):
        def __init__(self, n):
            super().__init__()
            self.linear = nn.Linear(n, n)
            nn.init.constant_(self.linear.weight, 0.5)
            nn.init.zeros_(self.linear.bias)

        @J.script_method
        def forward(self, x):
            return F.relu(self.linear(x))

    class Net(J.ScriptModule):
        __constants__ = ["blocks"]

        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(3) for _ in range(2)])
            self.last = torch.jit.trace(nn.Softmax(-1), X)

        @J.script_method
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    m = Net()
    names = [n for n, _ in m.named_modules()]
    return m(X), names[:3], len(list(m.parameters())), sorted(m.state_dict())


@row("save")
def script_module_of_old_style_saved(J):
    class M(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.full((3,), 2.0))
            self.sizes = J.Attribute([1, 2], List[int])

        @J.script_method
        def forward(self, x):
            # type: (Tensor) -> Tuple[Tensor, int]
            return x * self.w, self.sizes[1]

    buffer = io.BytesIO()
    m = M()
    J.save(m, buffer)
    buffer.seek(0)
    loaded = J.load(buffer)
    return loaded(X), loaded.sizes, type(loaded).__name__, loaded.original_name


@row("module")
def script_module_define(J):
    class M(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.k = J.Attribute(2, int)
            self.define("def double(self, x):\n  return x * self.k\n")

        @J.script_method
        def forward(self, x):
            return self.double(x) + 1

    m = M()
    m.define("def later(self, x, n: int = 3):\n  return self.double(x) - n\n")
    return m(X), m.later(X), m.later(X, 1)


@row("module")
def script_module_inherited(J):
    class Base(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        @J.script_method
        def scale(self, x):
            return x * self.w * 2

    class Derived(Base):
        @J.script_method
        def forward(self, x):
            return self.scale(x) + 1

    return Derived()(X)


@row("module")
def script_module_without_super_init(J):
    class M(J.ScriptModule):
        def __init__(self):
            self.w = 1

    return M()


@row("module")
def script_module_assigned_later(J):
    class M(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.n = J.Attribute(1, int)

        @J.script_method
        def forward(self, x):
            return x + self.n

    m = M()
    m.n = 5
    m.other = 3
    return m(X), m.n, m.other


@row("module")
def annotated_and_final_attributes(J):
    class M(nn.Module):
        k: Final[int]
        names: List[str]
        maybe: Optional[Tensor]
        table: Dict[str, Tuple[int, float]]

        def __init__(self):
            super().__init__()
            self.k = 2
            self.names = []
            self.maybe = None
            self.table = {}
            self.big: torch.jit.Final[int] = 7

        def forward(self, x: Tensor):
            self.names.append("call")
            if self.maybe is None:
                self.maybe = x
            maybe = self.maybe
            assert maybe is not None
            self.table[str(len(self.names))] = (self.k, 0.5)
            return maybe + x * self.k, self.names, self.table

    m = J.script(M())
    return m(X), m(X), m.maybe, m.table, m.names


@row("module")
def attributes_by_annotate(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = torch.jit.Attribute([], List[Tensor])
            self.maybe = torch.jit.Attribute(None, Optional[int])
            self.flags = torch.jit.annotate(Dict[str, bool], {"a": True})

        def forward(self, x: Tensor, n: Optional[int] = None):
            self.cache.append(x)
            self.maybe = n
            return len(self.cache), self.maybe, self.flags["a"]

    m = J.script(M())
    return m(X), m(X, 3), m.maybe, len(m.cache)


@row("module")
def module_hasattr_and_getattr(J):
    class M(nn.Module):
        def __init__(self, extra: bool):
            super().__init__()
            self.linear = nn.Identity()
            if extra:
                self.extra = nn.Identity()
                self.scale = 2.0

        def forward(self, x: Tensor):
            if hasattr(self, "extra"):
                x = self.extra(x) * self.scale
            y = getattr(self, "scale", 5.0)
            z = getattr(self, "linear")(x)  # noqa: B009
            return x, y, z

    return J.script(M(True))(X), J.script(M(False))(X)


@row("module")
def module_optional_layers(J):
    class Block(nn.Module):
        def __init__(self, down: Optional[nn.Module] = None):
            super().__init__()
            self.down = down
            self.register_buffer("mask", None)
            self.register_parameter("gain", None)

        def forward(self, x: Tensor):
            identity = x
            if self.down is not None:
                identity = self.down(x)
            if self.mask is not None:
                x = x * self.mask
            if self.gain is not None:
                x = x * self.gain
            return x + identity

    return J.script(Block())(X), J.script(Block(nn.ReLU()))(X - 2)


@row("module")
def module_iterates_over_its_parts(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
            self.blocks = nn.ModuleList([nn.ReLU(), nn.Sigmoid(), nn.Tanh()])
            self.seq = nn.Sequential(collections.OrderedDict([("one", nn.ReLU()), ("two", nn.Tanh())]))

        def forward(self, x: Tensor):
            names: List[str] = []
            for name, layer in self.layers.items():
                names.append(name)
                x = layer(x)
            for name in self.layers:
                names.append(name)
            for layer in self.layers.values():
                x = layer(x)
            for block, layer in zip(self.blocks, self.seq):
                x = layer(block(x))
            for i, block in enumerate(self.blocks):
                x = block(x) + i
            names.append("a" if "a" in self.layers else "none")
            return x, names, len(self.blocks), len(self.seq), self.seq[-1](x), self.blocks[-1](x)

    return J.script(M())(X)


@row("module")
def module_named_parts(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("b", torch.ones(2))
            with torch.no_grad():
                for p in self.parameters():
                    p.fill_(0.5)

        def forward(self):
            total = torch.zeros(())
            names: List[str] = []
            for name, m in self.named_children():
                names.append(name)
            for name, m in self.named_modules():
                names.append(name)
            return total, names

    return J.script(M())()


@row("module")
def module_overrides_and_super(J):
    class Base(nn.Module):
        def __init__(self, k: int):
            super().__init__()
            self.k = k

        def act(self, x: Tensor) -> Tensor:
            return F.relu(x)

        def forward(self, x: Tensor) -> Tensor:
            return self.act(x) * self.k

    class Derived(Base):
        def act(self, x: Tensor) -> Tensor:
            return torch.tanh(x)

    return J.script(Derived(2))(X), J.script(Base(3))(X)


@row("module")
def sequential_with_its_own_forward(J):
    class Stack(nn.Sequential):
        def forward(self, x: Tensor, times: int = 2) -> Tensor:
            for i in range(times):
                for layer in self:
                    x = layer(x)
            return x

    m = J.script(Stack(nn.ReLU(), nn.Tanh()))
    return m(X), m(X, 1), m(X, times=0), len(m), [c(X).shape for c in m]


@row("module")
def module_list_with_its_own_forward(J):
    class Sum(nn.ModuleList):
        def forward(self, x: Tensor) -> List[Tensor]:
            out: List[Tensor] = []
            for layer in self:
                out.append(layer(x))
            return out

    return J.script(Sum([nn.ReLU(), nn.Tanh()]))(X)


@row("module")
def module_static_methods(J):
    class M(nn.Module):
        @staticmethod
        def mix(x: Tensor, k: int = 2) -> Tensor:
            return x * k

        @staticmethod
        @J.ignore
        def python(x: Tensor) -> Tensor:
            return x + 1

        def forward(self, x: Tensor) -> Tensor:
            return self.mix(x, 3) + self.mix(x)

    return J.script(M())(X)


@row("module")
def module_class_level_constants(J):
    class M(nn.Module):
        __constants__ = ["sizes", "mode", "scale", "missing", "flag", "pair"]

        def __init__(self):
            super().__init__()
            self.sizes = [1, 2, 3]
            self.mode = "max"
            self.scale = 0.5
            self.missing = None
            self.flag = True
            self.pair = (1, "a")

        def forward(self, x: Tensor):
            if self.mode == "max":
                x = x * self.scale
            if self.missing is not None:
                x = x + self.missing
            total = 0
            for s in self.sizes:
                total += s
            return x, total, self.flag, self.pair[1]

    return J.script(M())(X)


@row("module")
def module_with_weight_norm_and_parametrizations(J):
    torch.manual_seed(0)
    m = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), nn.ReLU())
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)).eval()
    return J.trace(m, X)(X), J.trace(spectral, X)(X)


@row("module")
def module_with_forward_hooks(J):
    class M(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    def pre(self, inputs: Tuple[Tensor]) -> Tensor:
        return inputs[0] + 1

    def post(self, inputs: Tuple[Tensor], out: Tensor) -> Tensor:
        return out + inputs[0]

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = M()
            self.m.register_forward_pre_hook(pre)
            self.m.register_forward_hook(post)

        def forward(self, x: Tensor) -> Tensor:
            return self.m(x)

    m = J.script(Outer())
    return m(X), m.m(X), m.m.forward(X)


@row("module")
def parameters_that_a_base_class_annotates(J):
    class Base(nn.Conv1d):
        count: int

        def forward(self, x: Tensor) -> Tensor:
            y = F.conv1d(x, self.weight)
            return y if self.bias is None else y + self.bias.reshape(1, -1, 1) * self.count

    def made(bias):
        m = Base(1, 2, 2, bias=bias)
        m.count = 3
        with torch.no_grad():
            for p in m.parameters():
                p.fill_(0.5)
        return J.script(m)

    return [made(bias)(X.unsqueeze(1)) for bias in (True, False)], made(False).bias


@row("module")
def containers_of_classes_of_the_users(J):
    class Layers(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(3, 3), nn.ReLU(), nn.Tanh())

    class Heads(nn.ModuleList):
        def forward(self, x: Tensor) -> List[Tensor]:
            return [x]

    class Named(nn.ModuleDict):
        def forward(self, x: Tensor) -> Tensor:
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = Layers()
            self.heads = Heads([nn.ReLU(), nn.Tanh()])
            self.named = Named({"a": nn.ReLU()})

        def forward(self, x: Tensor) -> Tensor:
            return self.layers(x)

    m = J.script(M())
    return (
        len(m.layers), len(m.heads), len(m.named), m.layers[0].weight.shape, m.layers[-1](X), m.heads[1](X), list(m.named), "a" in m.named,
        [layer(X).shape for layer in m.layers], [head(X) for head in m.heads], m.named["a"](X), len(J.script(Layers())), bool(m.heads),
    )  # fmt: skip


@row("module")
def containers_sliced(J):
    seq = J.script(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid()))
    many = J.script(nn.ModuleList([nn.ReLU(), nn.Tanh()]))
    names = [n for n, _ in seq[1:].named_children()]
    return seq[1:](X), len(seq[::2]), names, many[1:][0](X), type(many[:1]).__name__, type(seq[:1]).__name__


# Recurrent networks.


@row("module")
def lstm_of_packed_sequences(J):
    torch.manual_seed(0)

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
            self.out = nn.Linear(6, 2)

        def forward(self, x: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            y, (h, c) = self.rnn(packed)
            padded, sizes = pad_packed_sequence(y, batch_first=True, total_length=x.size(1))
            return self.out(padded), sizes, h

    m = Tagger()
    x = torch.rand(3, 5, 4)
    return J.script(m)(x, torch.tensor([3, 5, 1]))


@row("module")
def recurrent_cells_in_a_loop(J):
    torch.manual_seed(0)

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTMCell(4, 3)
            self.gru = nn.GRUCell(3, 3)
            self.rnn = nn.RNNCell(3, 3, nonlinearity="relu")

        def forward(self, xs: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None):
            outs: List[Tensor] = []
            h2 = torch.zeros(xs.size(1), 3)
            h3 = torch.zeros(xs.size(1), 3)
            for x in xs.unbind(0):
                state = self.lstm(x, state)
                h2 = self.gru(state[0], h2)
                h3 = self.rnn(h2, h3)
                outs.append(h3)
            return torch.stack(outs), state

    m = J.script(Loop())
    out, state = m(torch.rand(5, 2, 4))
    out.sum().backward()
    return out, state, m.lstm.weight_ih.grad


@row("script")
def sequences_padded_in_a_script(J):
    def f(xs: List[Tensor]):
        lengths = [len(x) for x in xs]
        return pad_sequence(xs, batch_first=True, padding_value=-1.0), torch.tensor(lengths), max(lengths)

    return J.script(f)([torch.ones(3), torch.ones(1), torch.ones(2)])


@row("module")
def multihead_attention_with_masks(J):
    torch.manual_seed(0)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: Tensor, mask: Optional[Tensor] = None, need: bool = True):
            y, w = self.attn(x, x, x, attn_mask=mask, need_weights=need)
            return y, w

    m = J.script(M())
    x = torch.rand(2, 4, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    return [y.round(decimals=4) for y, _ in (m(x), m(x, mask), m(x, None, False))]


# Quantized modules.


def _dynamic():
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    return torch.ao.quantization.quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8)


@row("module")
def quantized_linear_dynamic(J):
    m = J.script(_dynamic())
    x = torch.linspace(-1, 1, 8).reshape(2, 4)
    buffer = io.BytesIO()
    J.save(m, buffer)
    buffer.seek(0)
    loaded = J.load(buffer)
    return m(x), loaded(x), J.trace(_dynamic(), x)(x), J.freeze(J.script(_dynamic()))(x)


@row("script")
def quantized_tensors_in_scripts(J):
    def f(x: Tensor):
        q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
        r = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8)
        return (
            q.dequantize(),
            q.int_repr(),
            q.q_scale(),
            q.q_zero_point(),
            r.dequantize(),
            q.is_quantized,
            r.q_per_channel_axis(),
        )

    def g(x: Tensor, y: Tensor):
        q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
        r = torch.quantize_per_tensor(y, 0.1, 10, torch.quint8)
        return torch.ops.quantized.add(q, r, 0.2, 5).dequantize()

    return J.script(f)(X), J.script(g)(X, X)


@row("module")
def fake_quantized_training(J):
    torch.manual_seed(0)
    m = nn.Sequential(
        nn.Linear(3, 2),
        torch.ao.quantization.FakeQuantize.with_args(observer=torch.ao.quantization.MovingAverageMinMaxObserver)(),
    )
    s = J.script(m)
    y = s(X)
    y.sum().backward()
    return y, s[0].weight.grad, s[1].scale, s[1].observer_enabled if hasattr(s[1], "observer_enabled") else None


@row("module")
def observers_scripted(J):
    obs = torch.ao.quantization.MinMaxObserver()
    s = J.script(obs)
    s(X)
    hist = J.script(torch.ao.quantization.HistogramObserver(bins=8))
    hist(X)
    return s.calculate_qparams(), s.min_val, s.max_val, hist.calculate_qparams()


# Language.


@row("script")
def complex_numbers_and_tensors(J):
    def f(x: Tensor, z: complex):
        w = torch.complex(x, x * 2)
        v = torch.view_as_real(w)
        p = torch.polar(x.abs(), x)
        return (
            w.real, w.imag, w.conj().resolve_conj(), w.abs(), w.angle(), v, abs(z), z * 2j, z + 1, z == 1 + 2j,
            w * z, complex(1, 2), complex(2.5), p, torch.is_complex(w), w.is_complex(), torch.view_as_complex(v),
        )  # fmt: skip

    return J.script(f)(X, 1 + 2j)


@row("script")
def cmath_functions(J):
    import cmath

    def f(z: complex):
        return cmath.exp(z), cmath.sqrt(z), cmath.phase(z), cmath.log(z), cmath.isnan(z), cmath.cos(z)

    return J.script(f)(1 + 2j)


@row("script")
def f_strings_of_values(J):
    def f(a: int, b: float, s: str, x: Tensor, xs: List[int], o: Optional[int]):
        return [
            f"{a}",
            f"{b}",
            f"{s}!",
            f"{xs}",
            f"{o}",
            f"{a + 1}{s}",
            f"{x.size(0)}",
            f"{a}-{b}-{s}",
            "{{}}",
            f"{(a, s)}",
            f"{True}",
        ]

    return J.script(f)(1, 2.5, "x", X, [1, 2], None)


@row("script")
def strings_formatted(J):
    def f(a: int, s: str):
        return [
            "{} {}".format(a, s),
            "%s is %d" % (s, a),
            "a" + str(a),
            "%s" % s,
            "".join([s, "b"]),
            str(1.5),
            str([1, 2]),
            str((1, "a")),
            str(None),
        ]

    return J.script(f)(3, "q")


@row("script")
def slices_with_steps(J):
    def f(xs: List[int], s: str, x: Tensor, t: Tuple[int, str, float]):
        return (
            xs[::2], xs[1::3], xs[::-1], xs[-1:0:-2], xs[-3:], xs[:-1], xs[10:], s[::2], s[::-1], s[1:-1], x[:, ::2],
            x[0, 1:3:2], t[1:], t[::-1], t[:-1], xs[slice(1, 3)], x[..., -1], x[None, :, 1:],
        )  # fmt: skip

    return tries(J.script(f), ([1, 2, 3, 4, 5], "abcdef", X, (1, "a", 2.0)))


@row("script")
def starred_tuple_calls(J):
    def g(a: int, b: int, c: int = 5):
        return a * 100 + b * 10 + c

    def f(t: Tuple[int, int], x: Tensor):
        a, *rest = (1, 2, 3)
        return g(*t), g(*t, c=1), g(0, *t), rest, x.permute(*t)

    return J.script(f)((1, 0), X)


@row("script")
def keyword_only_arguments(J):
    def f(x: int, *, scale: int, shift: int) -> int:
        return x * scale + shift

    def g(x: int):
        return f(x, scale=3, shift=2) + f(x, shift=0, scale=1)

    return J.script(g)(4), J.script(f)(2, scale=5, shift=1), tries(J.script(f), (2, 3, 4))


@row("script")
def comprehensions_of_all_kinds(J):
    def f(xs: List[int], d: Dict[str, int]):
        a = [x * 2 for x in xs]
        b = {str(x): x for x in xs}
        c = {k: v + 1 for k, v in d.items()}
        e = [(x, str(x)) for x in xs]
        g = [[y for y in xs] for x in xs]
        h = [k for k in d.keys()]
        i = sum([v for v in d.values()])
        j = [x + y for x, y in zip(xs, xs)]
        return a, b, c, e, g, h, i, j

    return J.script(f)([1, 2], {"a": 1, "b": 2})


class _Shade(enum.Enum):
    DARK = "dark"
    LIGHT = "light"


class _Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class _Pt(NamedTuple):
    x: int
    y: Tensor
    label: str = "p"


@row("script")
def named_tuples_of_all_kinds(J):
    def f(p: _Pt):
        a, b, c = p
        q = _Pt(p.x + 1, y=p.y * 2)
        return q, a, b, c, p[0], q.label, len(p), p.x == q.x, _Pt(1, p.y, "z")

    def g(ps: List[_Pt]) -> Dict[str, _Pt]:
        return {p.label + str(i): p for i, p in enumerate(ps)}

    out = J.script(f)(_Pt(1, X))
    return out[0]._fields, out[0].x, out[1:-1], type(out[0]).__name__, J.script(g)([_Pt(1, X)])["p0"].y


@seen_by_annotations
@dataclass
class _Settings:
    size: int
    rate: float = 0.5
    name: str = "s"

    def total(self) -> float:
        return self.size * self.rate

    def __lt__(self, other: "_Settings") -> bool:
        return self.size < other.size


@row("script")
def dataclasses_in_scripts(J):
    J.script(_Settings)

    def f(n: int):
        a = _Settings(n)
        b = _Settings(n, rate=2.0, name="b")
        a.size += 1
        return a.total(), b.total(), b.name, a < b, a == b, _Settings(1) == _Settings(1)

    return J.script(f)(3)


@row("script")
def classes_with_dunder_methods(J):
    @J.script
    class Bag:
        def __init__(self, xs: List[int]):
            self.xs = xs

        def __len__(self) -> int:
            return len(self.xs)

        def __getitem__(self, i: int) -> int:
            return self.xs[i]

        def __setitem__(self, i: int, v: int) -> None:
            self.xs[i] = v

        def __contains__(self, v: int) -> bool:
            return v in self.xs

        def __call__(self, v: int) -> int:
            return v + len(self.xs)

        def __add__(self, v: int) -> int:
            return self.xs[0] + v

        def __neg__(self) -> int:
            return -self.xs[0]

        def __str__(self) -> str:
            return "Bag"

        def __bool__(self) -> bool:
            return len(self.xs) > 0

        def __eq__(self, other: "Bag") -> bool:
            return self.xs == other.xs

    globals()["Bag"] = Bag

    def f(xs: List[int]):
        b = Bag(xs)
        b[0] = 7
        return len(b), b[1], 7 in b, b(1), b + 2, -b, str(b), b == b

    return tries(J.script(f), ([1, 2],))


@row("script")
def classes_with_context_managers(J):
    @J.script
    class Guard70:
        def __init__(self, log: List[str], name: str):
            self.log = log
            self.name = name

        def __enter__(self) -> int:
            self.log.append("enter " + self.name)
            return len(self.log)

        def __exit__(self, a: Any, b: Any, c: Any):
            self.log.append("exit " + self.name)

    globals()["Guard70"] = Guard70

    def f(n: int):
        log: List[str] = []
        with Guard70(log, "a") as i, Guard70(log, "b") as j:
            log.append(str(i + j))
            if n > 3:
                log.append("more")
        return log

    return J.script(f)(1), J.script(f)(5)


@row("script")
def sorting_in_all_ways(J):
    def f(xs: List[int], ss: List[str], fs: List[float], ts: List[Tuple[int, str]]):
        a = sorted(xs)
        b = sorted(ss)
        xs.sort(reverse=True)
        ss.sort()
        fs.reverse()
        return a, b, xs, ss, fs, sorted(ts), min(xs), max(fs), sum(xs), any([x > 2 for x in xs]), all([True, False])

    return tries(J.script(f), ([2, 3, 1], ["b", "a"], [1.5, 0.5], [(2, "a"), (1, "b")]))


@row("script")
def builtin_functions(J):
    def f(i: int, x: float, s: str):
        return (
            abs(-i), abs(-x), divmod(i, 3), round(x), pow(i, 2), pow(x, 2.0), hex(i), oct(i), bin(i), ord(s), chr(i), int(x),
            float(i), bool(i), str(i), int("12"), float("1.5"), max(i, 3), min(x, 0.5), max([1, 2]), len(s), i ** 2, i ** -1, i // 2, -i // 2,
            i % 3, -i % 3, x // 1.0, x % 1.0, i / 2, i << 2, i & 3, i | 8, i ^ 5, not i,  hash(s) == hash(s),
        )  # fmt: skip

    return J.script(f)(7, 2.25, "a")


@row("script")
def math_functions(J):
    def f(x: float, n: int):
        return (
            math.sqrt(x), math.exp(x), math.log(x), math.log(x, 2), math.log10(x), math.sin(x), math.atan2(x, 1.0), math.floor(x), math.ceil(x),
            math.pi, math.inf, math.isnan(x), math.isinf(x), math.fabs(-x), math.gcd(n, 6), math.factorial(n), math.copysign(x, -1.0), math.modf(x),
            math.frexp(x), math.ldexp(x, n), math.pow(x, 2), math.degrees(x), math.radians(x), math.erf(x), math.gamma(x), math.e,
             math.fmod(x, 1.0), math.remainder(x, 1.0), math.isfinite(x), math.tau, math.nan,
        )  # fmt: skip

    return tries(J.script(f), (2.25, 4))


@row("script")
def string_methods_of_all_kinds(J):
    def f(s: str):
        return (
            s.upper(), s.lower(), s.title(), s.capitalize(), s.strip(), s.lstrip("x"), s.rstrip(), s.split(), s.split("b"), s.replace("a", "z"),
            s.find("b"), s.rfind("b"), s.index("b"), s.count("a"), s.startswith("a"), s.endswith("c"), s.isdigit(), s.isalpha(), s.isupper(), s.islower(),
            s.center(9, "*"), s.ljust(9), s.rjust(9), s.zfill(9), s.partition("b"), s.rpartition("b"), s.swapcase(), s.join(["1", "2"]), s.splitlines(),
            s.isspace(), s.isalnum(), s.expandtabs(),  s.rsplit("b", 1), "b" in s, s < "b", s == "abc", s[0], s[-1],
        )  # fmt: skip

    return tries(J.script(f), ("abc",), (" aBc b ",))


@row("script")
def list_and_dict_methods(J):
    def f(xs: List[int], d: Dict[str, int]):
        xs.append(3)
        xs.extend([4, 5])
        xs.insert(0, 9)
        a = xs.pop()
        b = xs.pop(0)
        xs.remove(3)
        c = xs.copy()
        xs.clear()
        d["z"] = 1
        e = d.get("q", 7)
        g = d.get("q")
        h = d.pop("z")
        i = d.setdefault("n", 4)
        d.update({"m": 2})

        return (
            a,
            b,
            c,
            xs,
            c.index(4),
            c.count(1),
            e,
            g,
            h,
            i,
            list(d.keys()),
            list(d.values()),
            list(d.items()),
            "a" in d,
            len(d),
            d.copy(),
        )

    return J.script(f)([1, 2], {"a": 1})


@row("script")
def tolist_with_types(J):
    def f(x: Tensor, y: Tensor, z: Tensor):
        a: List[List[float]] = x.tolist()
        b: List[int] = y.tolist()
        c: List[bool] = z.tolist()
        d: float = x[0, 1].tolist()
        e = torch.jit.annotate(List[int], y.tolist())
        return a, b, c, d, e

    return J.script(f)(X, torch.tensor([1, 2]), torch.tensor([True]))


@row("script")
def numbers_out_of_tensors(J):
    def f(x: Tensor):
        n = int(x.sum())
        v = float(x.mean())
        b = bool(x.any())
        i: int = int(x[0, 1].item())
        s = x.max().item()
        return n, v, b, i, s, n + i, int(x.argmax().item()), x.sum() > 3, float(x[0, 0]) if x.numel() else 0.0

    return J.script(f)(X)


@row("script")
def devices_and_dtypes(J):
    def f(x: Tensor, d: torch.device, t: torch.dtype):
        y = torch.zeros(2, dtype=t, device=d)
        return (
            x.device.type, x.device.index, x.is_cuda, x.dtype == torch.float32, y.dtype, x.to(t).dtype, x.to(y).dtype, x.to(d).device == d, str(x.device),
            x.dtype, d, torch.device("cpu").type, x.type_as(y).dtype, x.is_floating_point(), x.layout == torch.strided, x.is_sparse, x.requires_grad, x.is_leaf,
            x.to("cpu", torch.float64).dtype, x.to(torch.int32, copy=True).dtype, x.float().dtype, x.long().dtype, d.type == "cpu",
        )  # fmt: skip

    return J.script(f)(X, torch.device("cpu"), torch.int64)


@row("script")
def tensors_indexed_in_all_ways(J):
    def f(x: Tensor, i: Tensor, m: Tensor, n: int):
        y = x.clone()
        y[0] = 5
        y[:, 1] = x[:, 0]
        y[m] = -1
        y[..., -1] += 2
        y[n, n + 1] = 9.5
        z = x.clone()
        z[i] = z[i] * 2
        z[0, :] -= 1
        return (
            x[..., None],
            x[m],
            x[i],
            x[i, :, None],
            x[n],
            x[-1],
            x[:, [0, 2]],
            x[n:, ::2],
            y,
            z,
            x[None],
            x[i, i],
            x[0][1],
            x[m.nonzero()[:, 0]],
            x[m, None],
        )

    return tries(J.script(f), (X, torch.tensor([1, 0]), X > 2, 0))


@row("script")
def control_flow_of_all_kinds(J):
    def f(n: int, xs: List[int]):
        out: List[int] = []
        i = 0
        while True:
            i += 1
            if i == 2:
                continue
            if i > n:
                break
            for j, x in enumerate(xs):
                if x < 0:
                    break
                if j == 1:
                    continue
                out.append(i * x)
        assert len(out) < 100, "too many"
        pass
        return out, i if n > 1 else -1

    return tries(J.script(f), (4, [1, 2, 3]), (2, [-1]), (60, [1, 2, 3]))


@row("script")
def gradients_inside_of_scripts(J):
    def f(x: Tensor):
        y = x.detach().clone().requires_grad_(True)
        z = (y * y).sum()
        g = torch.autograd.grad([z], [y], create_graph=True)[0]
        assert g is not None
        with torch.no_grad():
            w = g * 2
        z.backward()
        return g, y.grad, w.requires_grad, torch.is_grad_enabled(), z.requires_grad

    return J.script(f)(X)


@row("script")
def globals_of_python(J):
    def f(x: Tensor):
        return x * torch.pi, torch.inf, float("inf"), math.pi, torch.float32, torch.nan

    return tries(J.script(f), (X,))


@row("script")
def annotations_of_all_kinds(J):
    def f(
        a: list[int],
        b: dict[str, int],
        c: "Optional[Tensor]",
        d: tuple[int, str],
        e: int | None,
        g: Optional[List[Optional[Tensor]]] = None,
    ):
        if c is not None:
            a.append(int(c.sum()))
        if e is None:
            e = 4
        return a, b["a"], d[1], e, g is None

    def h(x, n=3, s="a"):
        # type: (Tensor, int, str) -> Tuple[Tensor, str]
        return x + n, s

    def i(
        x,  # type: Tensor
        n=2,  # type: int
    ):
        # type: (...) -> Tensor
        return x * n

    def k(x, y: float = 2.0, z: bool = True, w: Optional[Tensor] = None):
        return x * y if z else x

    return (
        J.script(f)([1], {"a": 2}, X, (1, "q"), None), J.script(h)(X), J.script(i)(X), tries(J.script(k), (X,), (X, 3.0, False)),
        str(J.script(h).schema), str(J.script(k).schema),
    )  # fmt: skip


@row("script")
def losses_as_modules(J):
    target = torch.tensor([0, 2])
    out = []
    for loss, args in (
        (nn.CrossEntropyLoss(label_smoothing=0.1), (X, target)), (nn.NLLLoss(), (F.log_softmax(X, 1), target)), (nn.MSELoss(reduction="sum"), (X, X * 2)),
        (nn.L1Loss(), (X, X * 2)), (nn.BCELoss(), (torch.sigmoid(X), torch.ones(2, 3))), (nn.HuberLoss(), (X, X * 3)), (nn.MarginRankingLoss(), (X[0], X[1], X[0])),
        (nn.CosineEmbeddingLoss(), (X, X + 1, torch.tensor([1, -1]))), (nn.MultiMarginLoss(), (X, target)), (nn.SoftMarginLoss(), (X, X.sign())),
        (nn.PoissonNLLLoss(), (X, X)), (nn.TripletMarginLoss(), (X, X + 1, X - 1)), (nn.KLDivLoss(), (X, X)),
        (nn.CTCLoss(), (F.log_softmax(torch.ones(4, 1, 3), 2), torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))),
    ):  # fmt: skip
        out.append(tries(J.script(loss), args))
    return out


@row("script")
def fast_fourier_transforms(J):
    def f(x: Tensor):
        s = torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True)
        y = torch.istft(s, 8, hop_length=4, window=torch.hann_window(8), length=x.size(-1))
        return (
            s.abs(),
            y,
            torch.fft.rfft(x).abs(),
            torch.fft.irfft(torch.fft.rfft(x)),
            torch.fft.fftfreq(8),
            torch.view_as_real(torch.fft.fft2(x.view(4, 8))),
        )

    return J.script(f)(torch.linspace(-1, 1, 32))


@row("script")
def linear_algebra(J):
    def f(x: Tensor):
        a = x @ x.T + torch.eye(2)
        u, s, vh = torch.linalg.svd(a)
        q, r = torch.linalg.qr(a)
        w, v = torch.linalg.eigh(a)
        sign, logdet = torch.linalg.slogdet(a)
        return (
            s,
            w,
            logdet,
            torch.linalg.inv(a),
            torch.linalg.solve(a, x),
            torch.linalg.norm(x),
            torch.linalg.det(a),
            torch.einsum("ij,kj->ik", x, x),
            torch.linalg.cholesky(a),
            torch.det(a),
            torch.trace(a),
            torch.linalg.matrix_norm(a, ord=2),
        )

    return J.script(f)(X)


@row("script")
def results_with_names(J):
    def f(x: Tensor):
        m = torch.max(x, dim=1)
        values, indices = x.topk(2, dim=1)
        s = x.sort(dim=1, descending=True)
        u, inv, n = torch.unique(x, return_inverse=True, return_counts=True)
        return (
            m[0],
            values,
            indices,
            s[1],
            torch.kthvalue(x, 2)[0],
            torch.median(x),
            u,
            inv,
            n,
            torch.aminmax(x),
            x.min(0),
            torch.std_mean(x),
        )

    return tries(J.script(f), (X,))


@row("script")
def several_kinds_of_results_unpacked(J):
    def f(x: Tensor):
        a, b = x.chunk(2)
        c, d, e = torch.split(x, 1, dim=1)
        g, h = x.unbind(0)
        i, j = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
        k, l = torch.broadcast_tensors(x, torch.ones(1, 3))  # noqa: E741
        m = torch.tensor_split(x, 2, dim=1)
        n = torch.split(x, [1, 2], dim=1)
        return (
            a,
            b,
            c,
            d,
            e,
            g,
            h,
            i,
            j,
            k,
            l,
            len(m),
            n[1],
            torch.cartesian_prod(torch.arange(2), torch.arange(2)),
            torch.block_diag(x, x),
            torch.atleast_2d(x[0]),
        )

    return J.script(f)(X)


# Forks.


@row("module")
def forks_of_submodules(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])

        def forward(self, x: Tensor):
            futures: List[torch.jit.Future[Tensor]] = []
            for part in self.parts:
                futures.append(torch.jit.fork(part, x))
            out: List[Tensor] = []
            for future in futures:
                out.append(torch.jit.wait(future))
            return out

    m = J.script(M())
    f = J.fork(m, X)
    return m(X), J.wait(f), type(f).__name__


# Files.


class _Saved(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(3.0))
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("temp", torch.zeros(1), persistent=False)
        self.names = ["a"]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w + self.b + self.temp

    @torch.jit.export
    def other(self, x: Tensor) -> List[str]:
        return self.names


@row("save")
def loads_from_all_places(J):
    m = J.script(_Saved())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.pt"
        J.save(m, path)
        files = {"meta.json": "", "nothing": "q"}
        m.save(str(path), _extra_files={"meta.json": b"{1}"})
        with open(path, "rb") as file:
            from_file = J.load(file)
        a = J.load(path, map_location="cpu", _extra_files=files)
        b = J.load(str(path), map_location=torch.device("cpu"))
        c = torch.load(str(path), weights_only=False)
        d = J.load(path, map_location="meta")
        return (
            from_file(X), a(X), b(X), c(X), files, d.w.device.type, sorted(a.state_dict()), a.other(X), isinstance(a, nn.Module),
            [n for n, _ in a.named_buffers()], a.temp, type(c).__name__, os.path.basename(str(path)),
        )  # fmt: skip


@row("save")
def functions_saved_and_loaded(J):
    def g(x: Tensor, k: int = 2) -> Tensor:
        return x * k

    def f(x: Tensor, names: Optional[List[str]] = None) -> Dict[str, Tensor]:
        out = {"a": g(x)}
        if names is not None:
            for n in names:
                out[n] = g(x, k=3)
        return out

    s = J.script(f)
    data = s.save_to_buffer() if hasattr(s, "save_to_buffer") else b""
    loaded = J.load(io.BytesIO(data))
    with tempfile.TemporaryDirectory() as folder:
        s.save(folder + "/f.pt")
        again = J.load(folder + "/f.pt")
    return loaded(X, None), again(X, ["q"]), type(loaded).__name__


@row("save")
def modules_copied_and_pickled(J):
    m = J.script(_Saved())
    c = copy.deepcopy(m)
    with torch.no_grad():
        c.w.add_(1)
    shallow = copy.copy(m)
    try:
        pickle.dumps(m)
        said = ""
    except Exception as error:
        said = str(error)[:40]
    f = J.script(plus_one)
    return m(X), c(X), shallow(X), said, f(X), type(c).__name__


def plus_one(x: Tensor) -> Tensor:
    return x + 1


@row("save")
def trace_saved_and_loaded(J):
    t = J.trace(_Saved(), X)
    buffer = io.BytesIO()
    J.save(t, buffer)
    buffer.seek(0)
    loaded = J.load(buffer)
    return (
        loaded(X),
        sorted(loaded.state_dict()),
        [n for n, _ in loaded.named_parameters()],
        loaded.training,
        loaded.original_name,
    )


@row("save")
def saved_attributes_of_all_kinds(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 1
            self.b = 2.5
            self.c = "text"
            self.d = [1, 2]
            self.e: Dict[str, Tensor] = {"x": X}
            self.f: Optional[int] = None
            self.g = (1, "a", [2.5])
            self.h = True
            self.i = torch.float64
            self.j = torch.device("cpu")
            self.k = 1 + 2j
            self.l: List[Tuple[str, Tensor]] = [("q", X)]
            self.m: Dict[int, List[str]] = {1: ["z"]}
            self.s = _Shade.DARK

        def forward(self):
            return (
                self.a,
                self.b,
                self.c,
                self.d,
                self.e,
                self.f,
                self.g,
                self.h,
                self.i,
                self.j,
                self.k,
                self.l,
                self.m,
                self.s.value,
            )

    buffer = io.BytesIO()
    m = J.script(M())
    J.save(m, buffer)
    buffer.seek(0)
    loaded = J.load(buffer)
    return m(), loaded(), loaded.g, loaded.i, loaded.m, loaded.e


# Traces.


@row("trace")
def trace_checked(J):
    calls = []

    def f(x):
        calls.append(1)
        return x + 1

    t = J.trace(f, X, check_inputs=[(X * 2,), torch.ones(1)], check_tolerance=1e-4)
    n = len(calls)
    u = J.trace(f, (X,), check_trace=False)
    return t(X), n, len(calls) - n, u(X)


@row("trace")
def trace_module_of_methods(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return {"out": x * self.k, "more": x + 1}

        def encode(self, x, y):
            return x @ y.t() + self.k.sum()

    m = J.trace_module(M(), {"forward": X, "encode": (X, X)}, strict=False, check_trace=False)
    return m(X), m.encode(X, X), m.forward(X)["out"], [n for n, _ in m.named_parameters()]


@row("trace")
def trace_of_keyword_inputs(J):
    class M(nn.Module):
        def forward(self, x, mask=None, scale=None):
            if mask is not None:
                x = x * mask
            return x if scale is None else x * scale

    t = J.trace(M(), example_kwarg_inputs={"x": X, "scale": torch.tensor(2.0)})
    u = J.trace(M(), (X, X))
    return (
        t(x=X, scale=torch.tensor(3.0)),
        tries(u, (X, X)),
        [i.debugName() for i in t.graph.inputs()][1:],
    )


@row("trace")
def trace_of_results_of_all_kinds(J):
    def f(x, y):
        return x, (y, [x + y]), {"a": x}

    def g(x):
        return {"b": x, "a": x + 1}

    return (
        J.trace(f, (X, X), strict=False, check_trace=False)(X, X),
        J.trace(g, X, strict=False)(X),
        tries(J.trace, (g, X)),
    )


@row("trace")
def trace_of_loops_and_branches_by_script(J):
    @J.script
    def loop(x: Tensor, n: int):
        for i in range(n):
            if x.sum() > 10:
                x = x / 2
            x = x + i
        return x

    def f(x):
        return loop(x, 4) + loop(x * 2, 3)

    t = J.trace(f, X)
    return t(X), t(X * 10), "prim::Loop" in str(t.inlined_graph), "prim::CallFunction" in str(t.graph)


@row("trace")
def trace_leaves_a_script_module_within_as_it_is(J):
    class M(nn.Module):
        def forward(self, x: Tensor, k: int = 2) -> Tensor:
            return x * k

    class Outer(nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, x):
            return self.m(x)

    m = J.script(M())
    t = J.trace(Outer(m), X)
    return t(X), m(X, k=3), m.forward(X, 1)


# Graphs and code.


@row("graph")
def what_functions_show(J):
    def helper(x: Tensor) -> Tensor:
        return x * 2

    def f(x: Tensor, n: int = 2) -> Tensor:
        """Doubles."""
        return helper(x) + n

    s = J.script(f)
    s(X)
    return (
        s.name, s.__doc__, s.qualified_name.split(".")[-1], "CallFunction" in str(s.graph), "CallFunction" in str(s.inlined_graph),
        len([a for a in s.schema.arguments]), s.schema.name, [a.name for a in s.schema.arguments],
        [str(a.type) for a in s.schema.returns], s.schema.arguments[1].default_value, type(s.graph_for(X)).__name__, "aten::mul" in str(s.graph_for(X)),
        s.schema.arguments[1].has_default_value(), str(s.schema), [n.kind() for n in s.graph.nodes()],
    )  # fmt: skip


@row("graph")
def what_modules_show(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)
            self.k = 3

        def forward(self, x: Tensor, flag: bool = False) -> Tensor:
            if flag:
                x = x * self.k
            return self.lin(x)

        @torch.jit.export
        def other(self, x: Tensor):
            return x

    m = J.script(M())
    m(X)
    return (
        m.other.name, [n.kind() for n in m.inlined_graph.nodes()], m.other.code, m.original_name, [str(a.type) for a in m.forward.schema.arguments][1:], m.forward.code_with_constants[0] == m.code_with_constants[0],
        sorted(m._c._method_names()), m._c._has_method("other"), m._c.hasattr("k"), m._c.getattr("k"), type(m.graph_for(X)).__name__, m._c._type().name(),
        m._c.qualified_name.split(".")[-1],
    )  # fmt: skip


@row("graph")
def types_asked_by_users(J):
    def f(
        a: List[Tuple[int, Optional[str]]],
        b: Dict[str, Tensor],
        c: Union[int, str],
        d: _Pt,
        e: Any,
        g: torch.device,
        h: torch.dtype,
        i: complex,
        j: Tuple[()],
        k: None,
    ):
        return a

    graph = J.script(f).graph
    types = [v.type() for v in graph.inputs()]
    return (
        [str(t) for t in types], [t.kind() for t in types], [t.annotation_str for t in types], str(types[0].getElementType()), [str(e) for e in types[0].getElementType().elements()],
        str(types[1].getKeyType()), str(types[1].getValueType()), types[0] == types[0], types[0].isSubtypeOf(types[4]), str(types[0].getElementType().elements()[1].getElementType()),
        [str(e) for e in types[2].containedTypes()], types[5].str(),
    )  # fmt: skip


@row("script")
def scripts_of_scripts(J):
    f = J.script(plus_one)
    m = J.script(_Saved())
    return (
        J.script(f) is f,
        J.script(m) is m,
        J.script(plus_one) is f,
        J.trace(f, X)(X),
        J.trace(m, X)(X),
    )


@row("script")
def compilation_units(J):
    cu = J.CompilationUnit("def f(x: int) -> int:\n  return x + 1\n\ndef g(x: int) -> int:\n  return f(x) * 2\n")
    cu.define("def h(x: int) -> int:\n  return x - 1\n")
    fn = cu.create_function("made", J.script(plus_one).graph) if hasattr(cu, "create_function") else None
    return (
        cu.f(1),
        cu.g(1),
        cu.h(1),
        cu.f.name,
        [s for s in ("f", "g", "h") if hasattr(cu, s)],
        hasattr(cu, "nothing"),
        fn(X),
        cu.find_function("f").name if hasattr(cu, "find_function") else None,
    )


@row("freeze")
def frozen_and_asked(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(1, 2, 3)
            self.bn = nn.BatchNorm1d(2)
            self.drop = nn.Dropout(0.5)
            self.version = 3

        def forward(self, x):
            return self.drop(self.bn(self.conv(x)))

        @torch.jit.export
        def half(self, x):
            return self.forward(x) / 2

    torch.manual_seed(0)
    m = J.script(M().eval())
    x = torch.rand(2, 1, 6)
    f = J.freeze(m, ["version", "half"])
    names = [n.kind() for n in f.graph.nodes()]
    return (
        f(x),
        f.half(x),
        f.version,
        tries(lambda: f.conv, ()),
        len(list(f.parameters())),
        "aten::dropout" in names,
        "aten::batch_norm" in names,
        hasattr(f, "bn"),
        J.optimize_for_inference(m, ["half"]).half(x).shape,
    )
