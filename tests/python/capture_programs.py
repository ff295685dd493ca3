"""Random Python programs, run as they are and by cresset.compile, with arguments, globals and classes that change between
calls: results, printed output, exceptions with their lines, effects and identity are to agree, gradients up to the order in
which they are added.

    python tests/python/capture_programs.py 20000 [first seed] [graphs | rows]

With `graphs` each program is also compiled with a backend that runs the graphs that it gets; with `rows` so many programs run
with no row of the recorder at all, without each row, and with each row alone (and those that every plan needs). Programs that
differ are printed, and the others run on.
"""

import collections
import contextlib
import contextvars
import dataclasses
import functools
import gc
import io
import itertools
import marshal
import math
import random
import re
import sys
import traceback
import unittest.mock
import warnings

import torch
import torch.nn.functional as F
from cresset._recording import Recorder
from cresset._recording_values import NoRow
from torch.utils.checkpoint import checkpoint

import cresset
from cresset import _frames

PRELUDE = """
class Base:
    shared = 2
    def scaled(self, x):
        return x * self.k + self.shared

class Thing(Base):
    def __init__(self):
        self.k = 3
        self.items = [1, 2.5, torch.ones(3)]
        self.log = []
        self.queue = [torch.ones(3), torch.zeros(3)]
        self.marks = [3, 1, 2]
        self.recent = collections.deque([torch.ones(3)], maxlen=3)
        self.table = {"a": torch.ones(3), "b": 2}
    def note(self, value):
        self.log.append(str(value))
        return value

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.rate = 0.5
        self.register_buffer("mean", torch.zeros(3))
        self.calls = 0
        self.last = None
    def remember(self, x):
        self.calls += 1
        self.last = x
        self.mean = self.mean * 0.5 + x.detach().sum()
        return self.last + self.mean * self.calls
    def forward(self, x, shift=1):
        if self.training:
            x = x * self.rate
        return self.linear(x) + shift

class Made:
    unit = 2
    def __init__(self, a, k=1):
        self.a = a
        self.k = k
    def value(self):
        return self.a * self.k + self.unit

@dataclasses.dataclass
class Record:
    a: torch.Tensor
    k: float = 2
    parts: list = dataclasses.field(default_factory=list)

class Derived(Thing):
    def scaled(self, x):
        return super().scaled(x) * 2

def helper(a, b=2, *rest, flag=True):
    if flag:
        return a * b
    return a + b

def tanh_first(function):
    def wrapper(a, *args, **kwargs):
        return function(a.tanh(), *args, **kwargs)
    return wrapper

def counted(function):
    calls = 0
    def wrapper(*args):
        nonlocal calls
        calls += 1
        return function(*args) + calls
    return wrapper

@tanh_first
def decorated(a, b=2, *, c=1):
    return a * b + c

def doubled(a, count):
    for i in range(count):
        a = a * 2
        yield a + i

tally = counted(lambda a: a.abs())

def scaler(k):
    def scale(a, b=k, *rest):
        def twice(c):
            return c * k + b
        return twice(twice(a)) + len(rest)
    return scale

SHIFT = contextvars.ContextVar("SHIFT", default=1)

def shifted(a):
    return a + SHIFT.get()

@functools.lru_cache(3)
def kept(k, more=1):
    return k * 2 + more, torch.full((3,), float(k))

def checked(a, k):
    if k > 1:
        raise ValueError("k", k)
    return a * k

def guarded(a, k):
    try:
        return checked(a, k)
    except (TypeError, ValueError):
        return a.tanh()
    finally:
        k = 0

def keyed(a, **keywords):
    k = keywords.pop("k", 2)
    keywords["b"] = k
    return helper(a, **keywords)

class Scale:
    def __init__(self, k, hides=False):
        self.k, self.hides = k, hides
    def __enter__(self):
        return self.k
    def __exit__(self, kind, value, traceback):
        return self.hides

class Named(collections.OrderedDict):
    def __init__(self, a, b=None):
        self.a = a
        self.b = b
    def __setattr__(self, name, value):
        if name in {field for field in ("a", "b")} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)
    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)

class Looked:
    names = {"z": "k"}
    def __init__(self):
        self.k = 2
    def __getattribute__(self, name):
        if name != "names" and name in super().__getattribute__("names"):
            name = super().__getattribute__("names")[name]
        return super().__getattribute__(name)

class Numbers:
    def __init__(self, count):
        self.count = count
    def __iter__(self):
        i = 0
        while i < self.count:
            yield i
            i += 1

def bumped(a):
    global G
    G = G + 1
    return a * G

def found(d, k):
    try:
        return d[k]
    except KeyError as error:
        raise AttributeError(f"none: {error}") from error

def found_or(d, k, a):
    try:
        return found(d, k)
    except AttributeError as error:
        return a + len(str(error))
    except ValueError:
        raise
    finally:
        k = 0

@torch.no_grad()
def without(a):
    return a.tanh() * 2

@torch.autocast("cpu", torch.bfloat16)
def cast(a):
    return (a.reshape(-1, 3) @ torch.ones(3, 3)).float()[0]

def slope(a, b, keeps=False):
    a = a.detach().requires_grad_()
    try:
        y = (a * 2 + b).tanh()
        return torch.autograd.grad(y.sum(), a, create_graph=keeps)[0] * 2 + 1
    except RuntimeError:
        return a.detach()

def pulled(a, b, keeps=False):
    y = (a.tanh() * b + 1).sin()
    if not y.requires_grad or not a.requires_grad:
        return y * 2
    first = torch.autograd.grad(y.sum(), a, retain_graph=True, create_graph=keeps)[0]
    (second,) = torch.autograd.grad([y], [a], torch.ones_like(y), create_graph=keeps)
    return first * 2 + second

def derived_of(a, b, k, kind):
    a, h = a * 1, (b * 2).tanh() if isinstance(b, torch.Tensor) else b
    def of(v, u=1):
        if kind == 1:
            v = helper(v, k) * u
        if kind == 2:
            v = v.detach() * v
        if kind == 3 and v.requires_grad:
            v = v * 2
        return (v.sin() * h + v).sum()
    return torch.func.grad(of)(a, k) * 2 + torch.func.grad(lambda v: (v * a).tanh().sum())(a)

def learned(layer, a, k, kind):
    p = layer.linear.weight
    if kind % 4 == 0:
        p.grad = None
    elif kind % 4 < 3:
        layer.zero_grad(set_to_none=kind % 4 == 1)
    y = torch.tanh(p * k).sum() + (a.detach().float().mean() * p).sum()
    if not y.requires_grad:
        return a + 1
    y.backward(retain_graph=kind == 5)
    if kind == 6:
        (layer(p[0]) * k).sum().backward()
        return a * p.grad.shape[0]
    if kind > 6:
        with torch.no_grad():
            p -= p.grad * 0.1
            layer.linear.bias.grad = p.grad[0] * k
    return p.grad[0] + a

def transformed(a, b, k, kind):
    a, h = a * 1, (b * 2).tanh() if isinstance(b, torch.Tensor) else b
    def of(v, u=1):
        v = helper(v, k) * u if kind % 2 else v.detach() * v
        return v.sin() * h + v.sum() * v.shape[-1]
    if kind < 2:
        y = torch.vmap(of)(torch.stack([a, a * 2]))
    elif kind < 4:
        value, slope = torch.func.jvp(of, (a,), (a.detach() + 1,))
        y = value + slope
    elif kind < 6:
        value, back = torch.func.vjp(of, a)
        y = value * back(value * k)[0].sum()
    elif kind < 8:
        y = torch.func.jacrev(of)(a).sum() + torch.func.jacfwd(of)(a).mean()
    elif kind < 10:
        slope, more = torch.func.grad(lambda v: (of(v).sum(), v * 2), has_aux=True)(a)
        y = slope + more
    else:
        slopes = torch.func.vmap(torch.func.grad(lambda v, u: (of(v) * u).sum(), argnums=(0, 1)))
        y = sum(each.sum() for each in slopes(torch.stack([a, a * 2]), torch.stack([a, a])))
    return y.mean().tanh() + a

def listed(a, b, k):
    xs = [a * 1, a.sin()]
    ys = torch._foreach_mul(xs, k)
    torch._foreach_add_(ys, b if isinstance(b, (int, float)) else [b, b * 2])
    torch._foreach_addcmul_(ys, ys, xs, 0.5)
    first, second = torch._foreach_tanh(ys)
    return first - second

def recomputed(a, b, k, kind):
    a, h = a * 1, (b * 2).tanh() if isinstance(b, torch.Tensor) else b
    def of(v, u=1):
        if kind == 1:
            v = F.dropout(v, 0.5)
        if kind == 2:
            return v.detach() * h + a, v.sum() * u
        if kind == 3:
            v *= 2
        return helper(v, k) * h + (layer_of(v) if kind == 4 else v.shape[0]), v.tanh()
    y, z = checkpoint(of, a, use_reentrant=False)
    return checkpoint(lambda: (y * z).sin() * k + h, use_reentrant=False) * 2

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, k, kind):
        ctx.k, ctx.kind, ctx.needed = k * G, kind, ctx.needs_input_grad[0]
        y = (a * b + helper(a, k)).tanh() * ctx.k
        ctx.save_for_backward(a, b if isinstance(b, torch.Tensor) else None, y if kind == 1 else a.sin())
        if kind == 2:
            return F.dropout(y, 0.5), 3
        if kind == 3:
            ctx.set_materialize_grads(False)
            return a.view_as(a), y
        if kind == 4:
            index = y.argmax(-1)
            ctx.mark_non_differentiable(index)
            return y, index
        if kind == 5:
            return a
        return y
    @staticmethod
    def backward(ctx, *gradients):
        a, b, c = ctx.saved_tensors
        if ctx.kind in (3, 5):
            g = torch.zeros_like(a) if gradients[0] is None else gradients[0] * ctx.k
        else:
            g = (gradients[0] * c * ctx.k).sum_to_size(a.shape)
        return g, None if b is None else (gradients[-1 if ctx.kind == 3 else 0], b * 2)[-1], None, None

class Apart(torch.autograd.Function):
    @staticmethod
    def forward(a, k=2):
        return (a * k).sin() + G
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.k = inputs[1]
    @staticmethod
    def backward(ctx, g):
        a, y = ctx.saved_tensors
        return g * (a * ctx.k).cos() * y, None

def applied(a, b, k, kind):
    if kind > 5:
        return Apart.apply(a * 2) + Apart.apply(a, k)
    y = Own.apply(a, b, k, kind)
    if kind == 3:
        return y[0] + y[1].sum()
    if kind == 4:
        return y[0] * 2 + y[1].sum()
    return y[0] * y[1] if kind == 2 else y * 2

def layer_of(a):
    return (a * 2 + 1).relu()

def called(layer, a, given):
    return torch.func.functional_call(layer, given, a, {"shift": 2}) * 2 + layer.linear.bias

def hooked(layer, a, b, k, kind):
    h = (a * b).tanh() + 1
    if h.requires_grad:
        h.register_hook(lambda g: g * k if kind else None)
    y = layer(h) if kind > 1 else h.sin() * 2
    if y.requires_grad and kind == 3:
        y.register_hook(torch.neg)
    if kind == 4 and layer.linear.weight.requires_grad:
        layer.linear.weight.register_hook(lambda g: g * k).remove()
    return y * 2

looked = Looked()
known = {"a", 2, Made}

def risky(a):
    try:
        return a @ a
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
"""


GRAD_FN = re.compile(r"grad_fn=<\w+>")  # a graph's node has another name
#: Statements whose variables have values after them.
LASTING = ("tensor", "number", "tuple", "written", "function", "object", "dict")


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.tensors = ["x", "y"]
        self.numbers = ["n", "G"]
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def number(self):
        r = self.rng
        return r.choice(
            [
                lambda: r.choice(self.numbers),
                lambda: r.choice(["0", "1", "2", "-1", "0.5", "-0.0", "True"]),
                lambda: "thing.k",
                lambda: f"{r.choice(self.tensors)}.shape[0]",
                lambda: "len(data)",
                lambda: f"len({r.choice(['thing.items', *self.tensors])})",
                lambda: 'data["n"]',
                lambda: "(n + cell)",
                lambda: "sum(len(m._forward_hooks) + len(name) for name, m in layer.named_modules())",
                lambda: f"{r.choice(self.tensors)}.sum().item()",
                lambda: f"{r.choice(['min', 'max'])}({r.choice(self.numbers)}, {r.choice(['1', '2.5', 'len(data)'])})",
                lambda: f"{r.choice(['abs', 'int', 'float', 'math.floor'])}({r.choice(self.numbers)})",
            ]
        )()

    def tensor(self, depth=0):
        r = self.rng
        if depth > 2:
            return r.choice(self.tensors)
        inner = lambda: self.tensor(depth + 1)  # noqa: E731
        return r.choice(
            [
                lambda: r.choice(self.tensors),
                lambda: f"({inner()} {r.choice('+-*')} {inner()})",
                lambda: f"({inner()} {r.choice('+-*/')} {self.number()})",
                lambda: f"({self.number()} - {inner()})",
                lambda: f"{inner()}.{r.choice(['relu', 'sin', 'abs', 'exp', 'tanh', 'clone', 'detach'])}()",
                lambda: (
                    f"torch.{r.choice(['maximum', 'add', 'where'])[:7].replace('where', 'mul')}({inner()}, {inner()})"
                ),
                lambda: f"F.{r.choice(['relu', 'gelu', 'silu'])}({inner()})",
                lambda: f"helper({inner()}, {self.number()}, flag={r.choice(['True', 'False', 'n > 1'])})",
                lambda: f"helper({inner()})",
                lambda: f"thing.scaled({inner()})",
                lambda: f"layer({inner()})",
                lambda: f"layer({inner()}, shift={self.number()})",
                lambda: 'data["x"]',
                lambda: "thing.items[2]",
                lambda: f"{inner()}[:{r.choice(['n', '2', '3'])}]",
                lambda: f"torch.stack([{inner()}, {inner()}]).sum(0)",
                lambda: f"({inner()}.sigmoid() * {inner()}).{r.choice(['sqrt', 'neg', 'square'])}().tanh()",
                lambda: f"{inner()}.reshape(-1).cos()[:3]",
                lambda: f"torch.where({inner()} > {self.number()}, {inner()}, {inner()})",
                lambda: f"{inner()}.split(2)[0]",
                lambda: f"F.pad({inner()}, (1, 0))[..., :3]",
                lambda: f"derived.scaled({inner()})",
                lambda: f"guarded({inner()}, {self.number()})",
                lambda: f"keyed({inner()}{r.choice(['', ', k=n', ', flag=False'])})",
                lambda: f"shifted({inner()})",
                lambda: f"bumped({inner()})",
                lambda: f"hooked(layer, {inner()}, {r.choice(['1', 'n', inner()])}, {self.number()}, {r.randrange(5)})",
                lambda: f"({inner()} * kept({self.number()})[0] + kept({r.choice(['1', 'n'])}, 2)[1])",
                lambda: f"sum(itertools.accumulate([{inner()}, {inner()}]))",
                lambda: (
                    f"[*itertools.accumulate(({inner()}, {inner()}), lambda a, b: a * b + n, initial={inner()})][-1]"
                ),
                lambda: f"found_or(data, '{r.choice(['x', 's', 'none'])}', {inner()})",
                lambda: f"{r.choice(['without', 'cast'])}({inner()})",
                lambda: f"Named({inner()}, {r.choice(['None', 'n'])}).a",
                lambda: f"{inner()} * getattr(looked, '{r.choice(['z', 'q', 'k'])}', n)",
                lambda: f"F.relu({inner()} * 1, inplace=True)",
                lambda: f"torch.stack([{inner()} * i for i in range({r.choice(['2', '3', 'n'])})]).sum(0)",
                lambda: (
                    f"[{r.choice(['a * 2', 'a.tanh() + n', 'a'])} for a in [{inner()}, {inner()}]][{r.choice('01')}]"
                ),
                lambda: f"(lambda a, b={self.number()}: a * b + {r.choice(self.numbers)})({inner()})",
                lambda: f"decorated({inner()}, {r.choice(['', 'b=n', 'c=0.5, b=3'])})",
                lambda: f"tally({inner()})",
                lambda: f"layer.remember({inner()})",
                lambda: f"torch.{r.choice(['randn(3)', 'rand(1, 3)', 'randperm(3)'])} * {inner()}",
                lambda: f"sum(row * {self.number()} for row in {inner()}.reshape(-1, 3))",
                lambda: f"Made({inner()}, {r.choice(['k=n', 'thing.k', '2'])}).value()",
                lambda: f"Record({inner()}).{r.choice(['a', 'a.tanh()'])}",
                lambda: f'{{"a": {inner()}, "b": {inner()}}}["{r.choice("ab")}"]',
                lambda: f"Base.scaled(thing, {inner()})",
                lambda: f"sum(a * i for i, a in enumerate([{inner()}, {inner()}]))",
                lambda: f"sum({{i: a * {self.number()} for i, a in enumerate([{inner()}, {inner()}])}}.values())",
                lambda: (
                    f"{inner()} * getattr({r.choice(['thing', 'derived', 'layer', 'x'])}, '{r.choice(['extra', 'made', 'k'])}', n)"
                ),
                lambda: f"sum(a.tanh() for a in doubled({inner()}, {r.choice(['2', 'n', '3'])}))",
                lambda: f"torch.stack(tuple(a + {self.number()} for a in [{inner()}, {inner()}])).mean(0)",
                lambda: f"scaler({self.number()})({inner()}{r.choice(['', ', 2', ', n, 1'])})",
                lambda: f"slope({inner()}, {r.choice(['1', 'n', inner()])}, {r.choice(['True', 'False'])})",
                lambda: (
                    f"pulled({r.choice(self.tensors)}, {r.choice(['1', 'n', inner()])}, {r.choice(['True', 'False'])})"
                ),
                lambda: f"derived_of({inner()}, {r.choice(['1', 'n', inner()])}, {self.number()}, {r.choice('0123')})",
                lambda: f"learned(layer, {inner()}, {self.number()}, {r.randrange(9)})",
                lambda: f"transformed({inner()}, {r.choice(['1', 'n', inner()])}, {self.number()}, {r.randrange(12)})",
                lambda: f"recomputed({inner()}, {r.choice(['1', 'n', inner()])}, {self.number()}, {r.randrange(6)})",
                lambda: f"applied({inner()}, {r.choice(['1', 'n', inner()])}, {self.number()}, {r.randrange(8)})",
                lambda: f"listed({inner()}, {r.choice(['1', 'n', inner()])}, {self.number()})",
                lambda: f"({inner()} * (1 if layer.linear.bias.grad is None else 2))",
                lambda: f"called(layer, {inner()}, {self.replacements()})",
                lambda: f"{inner()} + sum(p.sum() for p in layer.{r.choice(['parameters', 'buffers'])}())",
                lambda: f"torch.{r.choice(['zeros(3)', 'ones(1, 3)', 'arange(3)', 'full((3,), 1.5)'])} + {inner()}",
                lambda: f"{inner()}.{r.choice(['new_zeros(3)', 'new_ones((1, 3))', 'new_full((3,), 2)'])}",
            ]
        )()

    def replacements(self):
        """What functional_call has for the parameters of a layer."""
        r = self.rng
        return r.choice(
            [
                lambda: "{name: p * n for name, p in layer.named_parameters()}",
                lambda: "(dict(layer.named_parameters()), dict(layer.named_buffers()))",
                lambda: f"{{'linear.bias': {self.tensor(2)}.reshape(-1)[:3]}}",
                lambda: f"{{'linear.weight': torch.ones(3, 3) * {self.number()}, 'mean': {self.tensor(2)}}}",
            ]
        )()

    def condition(self):
        r = self.rng
        return r.choice(
            [
                lambda: f"{self.number()} > {self.number()}",
                lambda: f"{r.choice(self.tensors)}.sum() > 0",
                lambda: "thing.k is None",
                lambda: f"{r.choice(['Made', 'Base', self.number()])} in known",
                lambda: f"hasattr(looked, '{r.choice(['z', 'q'])}')",
                lambda: "data",
                lambda: f"not {self.number()}",
                lambda: f"{r.choice(['any', 'all'])}(a > {self.number()} for a in [{self.number()}, {self.number()}])",
                lambda: (
                    f"getattr({r.choice(['thing', 'derived'])}, '{r.choice(['extra', 'found', 'k'])}', None) is None"
                ),
                lambda: f"any(isinstance(a, {r.choice(['int', 'torch.Tensor'])}) for a in thing.items)",
                lambda: f"{r.choice(self.tensors)} is {r.choice(self.tensors)}",
                lambda: f"{r.choice(self.tensors)}.requires_grad",
                lambda: (
                    f"isinstance({r.choice(['thing', 'thing.k', *self.tensors])}, {r.choice(['Base', '(int, torch.Tensor)'])})"
                ),
            ]
        )()

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, count):
        for _ in range(count):
            self.statement(indent)

    def statement(self, indent):
        r = self.rng
        kinds = ["tensor"] * 5 + ["number", "print", "note", "store", "inplace", "tuple", "same", "global", "item"]
        kinds += ["given", "given", "written", "element", "function", "object", "dict", "attribute"]
        kinds += ["named", "keywords", "list", "cell", "delete", "method", "handler", "set"]
        kinds += ["held list", "held list", "held numbers", "held deque", "held dict"]
        if indent < 3:
            kinds += ["context", "with"]
            kinds += ["if", "for", "try", "while", "items", "grad mode", "mode"]
        kind = r.choice(kinds)
        known = list(self.tensors), list(self.numbers)
        if kind == "tensor":
            target = r.choice([self.name(), r.choice(self.tensors)])
            self.put(indent, f"{target} = {self.tensor()}")
            if target not in self.tensors:
                self.tensors.append(target)
        elif kind == "number":
            target = self.name()
            self.put(indent, f"{target} = {self.number()} {r.choice('+-*')} {self.number()}")
            self.numbers.append(target)
        elif kind == "print":
            self.put(indent, f"print({self.number()}, {r.choice(self.tensors)}.shape)")
        elif kind == "note":
            self.put(indent, f"thing.note({self.number()})")
        elif kind == "store":
            self.put(indent, r.choice([f"thing.k = {self.number()}", f'data["x"] = {self.tensor(2)}']))
        elif kind == "inplace":
            self.put(indent, f"{r.choice(self.tensors)} += {self.number()}")
        elif kind == "written":
            target = self.name()
            self.put(indent, f"{target} = {self.tensor()} * 1")
            self.put(indent, f"{target}.{r.choice(['add_', 'mul_', 'sub_'])}({self.tensor(2)})")
            self.tensors.append(target)
        elif kind == "given":
            self.given(indent)
        elif kind == "element":
            self.put(indent, f"{r.choice(self.tensors)}[{r.choice(['0', '..., 0', ':2'])}] = {self.number()}")
        elif kind == "function":
            name, target, total = self.name(), self.name(), self.name()
            shares = r.random() < 0.4
            if shares:
                self.put(indent, f"{total} = {self.number()}")
            self.put(indent, f"def {name}(a, b={self.number()}, *, c={self.number()}):")
            if shares:
                self.put(indent + 1, f"nonlocal {total}")
                self.put(indent + 1, f"{total} = {total} + 1")
            self.put(
                indent + 1, f"return {r.choice(['a * b + c', 'a.sin() * c', 'helper(a, c)', 'a'])} + {self.tensor(2)}"
            )
            self.put(indent, f"{target} = {name}({self.tensor(1)}, {r.choice(['c=2', '3', 'n, c=n'])})")
            self.put(indent, f"{target} = {name}({target})")
            if shares:
                self.put(indent, f"out.append({total})")
            self.tensors.append(target)
        elif kind == "object":
            name, target = self.name(), self.name()
            self.put(indent, f"{name} = {r.choice(['Made', 'Record'])}({self.tensor(2)}, {self.number()})")
            self.put(indent, f"{name}.k = {self.number()}")
            self.put(indent, f"{name}.{r.choice(['extra', 'a'])} = {self.tensor(2)}")
            if r.random() < 0.5:
                self.put(indent, f"{r.choice(['thing', 'derived', 'layer'])}.made = {name}")
            self.put(indent, f"{target} = {name}.a.tanh() * {name}.k")
            self.put(indent, f"out.append([{name}.k, *sorted(vars({name}))])")
            self.tensors.append(target)
        elif kind == "dict":
            name, target = self.name(), self.name()
            self.put(indent, f'{name} = {{"a": {self.tensor(2)}, "n": {self.number()}}}')
            self.put(indent, f'{name}["{r.choice("abc")}"] = {self.tensor(1)}')
            if r.random() < 0.5:
                self.put(indent, f"{r.choice(['thing', 'derived'])}.found = {name}")
            self.put(indent, f'{target} = {name}["a"] * {name}.get("k", {self.number()})')
            self.put(indent, f"out.append(list({name}))")
            self.tensors.append(target)
        elif kind == "attribute":
            owner, name = r.choice(["thing", "derived", "layer"]), r.choice(["k", "h", "rate", "mean"])
            other = r.choice(["thing", "derived"])
            self.put(indent, f"{owner}.{name} = {r.choice([self.number(), self.tensor(2)])}")
            self.put(indent, f"{other}.k = {owner}.{name}")
            self.put(indent, f"out.append(hasattr({other}, '{name}'))")
        elif kind == "named":
            name, target = self.name(), self.name()
            self.put(indent, f"{name} = Named({self.tensor(2)})")
            self.put(indent, f'{name}["{r.choice("abc")}"] = {self.tensor(1)}')
            if r.random() < 0.5:
                self.put(indent, f"{r.choice(['thing', 'derived'])}.found = {name}")
            self.put(indent, f"{target} = {name}.a.tanh()")
            self.put(indent, f"out.append(list({name}))")
            self.tensors.append(target)
        elif kind == "keywords":
            self.put(indent, f"keywords['{r.choice('abc')}'] = {r.choice([self.number(), self.tensor(2)])}")
            self.put(indent, f"out.append(keywords.pop('{r.choice('abd')}', None) is None)")
            if r.random() < 0.3:
                self.put(indent, "thing.kept = keywords")
        elif kind == "list":
            name = self.name()
            self.put(indent, f"{name} = [{self.number()}]")
            self.put(indent, f"{name}.extend([{self.tensor(2)}, {self.number()}])")
            self.put(indent, f"{name}.{r.choice(['insert(0, 3)', 'reverse()', 'pop()', 'pop(0)'])}")
            self.put(indent, f"out.append(len({name}))")
        elif kind.startswith("held"):
            self.held(indent, kind.removeprefix("held "))
        elif kind == "cell":
            self.put(indent, f"cell = {self.number()}")
        elif kind == "delete":
            owner = r.choice(["thing", "derived"])
            self.put(indent, f"{owner}.{r.choice('hg')} = {r.choice([self.number(), self.tensor(2)])}")
            self.put(indent, f"if hasattr({owner}, 'h'):")
            self.put(indent + 1, f"x = x * 2 + {owner}.h")
            self.put(indent + 1, f"del {owner}.h")
        elif kind == "method":
            self.put(
                indent,
                r.choice(
                    [
                        f"data.update(s={self.tensor(2)}, n={self.number()})",
                        f"x = x + data.setdefault('{r.choice('st')}', {self.tensor(2)})",
                        f"out.append(data.pop('{r.choice('st')}', None) is None)",
                        f"out.append(list(dict(data, z={self.number()})))",
                        "out.append(len(data.copy()))",
                    ]
                ),
            )
        elif kind == "handler":
            self.put(indent, "try:")
            self.put(indent + 1, f"x = x * {r.choice(['data', '{}'])}['{r.choice('snx')}'] + {self.tensor(1)}")
            self.put(indent, f"except {r.choice(['KeyError', '(KeyError, IndexError)', 'LookupError'])} as error:")
            self.put(indent + 1, r.choice(["out.append(str(error))", "x = x + len(error.args)", "x = x * 2"]))
            self.block(indent + 1, r.randint(0, 1))
        elif kind == "set":
            name = self.name()
            self.put(indent, f"{name} = set()")
            self.put(indent, f"for a in {r.choice(['data', '[1, 2, 1]', '(n, 2)'])}:")
            self.put(indent + 1, f"if a not in {name}:")
            self.put(indent + 2, f"{name}.add(a)")
            self.put(indent + 2, f"x = x + {self.number()}")
        elif kind == "mode":
            mode = r.choice(
                [
                    "inference_mode()",
                    f"inference_mode({r.choice(['True', 'False'])})",
                    f"set_grad_enabled({r.choice(['True', 'False', 'n > 1'])})",
                    f"autocast('cpu', torch.bfloat16, cache_enabled={r.choice(['None', 'False'])})",
                    f"autocast('cpu', enabled={r.choice(['True', 'False', 'n > 1'])})",
                ]
            )
            self.put(indent, f"with torch.{mode}:")
            self.block(indent + 1, r.randint(1, 2))
            self.put(indent + 1, "x = layer(x) * 1")
        elif kind == "context":
            name = self.name()
            self.put(indent, f"{name} = SHIFT.set({self.number()})")
            self.put(indent, "try:")
            self.block(indent + 1, r.randint(1, 2))
            self.put(indent + 1, f"x = shifted({self.tensor(2)})")
            self.put(indent, "finally:")
            self.put(indent + 1, f"SHIFT.reset({name})")
        elif kind == "with":
            name = self.name()
            self.put(indent, f"with Scale({self.number()}, {r.choice(['False', 'False', 'True'])}) as {name}:")
            self.block(indent + 1, r.randint(1, 2))
            self.put(indent + 1, f"x = x * {name}")
            self.put(indent, f"with torch.{r.choice(['no_grad', 'no_grad', 'enable_grad'])}():")
            self.block(indent + 1, r.randint(1, 2))
        elif kind == "tuple":
            a, b = self.name(), self.name()
            self.put(indent, f"{a}, {b} = {self.tensor(1)}, {self.tensor(2)}")
            self.tensors += [a, b]
        elif kind == "same":
            self.put(indent, f"out.append({r.choice(self.tensors)} is {r.choice(self.tensors)})")
        elif kind == "global":
            self.put(indent, "global G")
            self.lines[-1] = "    " * indent + f"globals()['G'] = {self.number()}"
        elif kind == "item":
            self.put(indent, f"out.append({r.choice(self.tensors)}.sum().item())")
        elif kind == "if":
            self.put(indent, f"if {self.condition()}:")
            self.block(indent + 1, r.randint(1, 2))
            self.tensors, self.numbers = list(known[0]), list(known[1])
            if r.random() < 0.5:
                self.put(indent, "else:")
                self.block(indent + 1, 1)
        elif kind in ("for", "items"):
            where = "range(3)" if kind == "for" else r.choice(["thing.items", f"doubled({r.choice(self.tensors)}, 2)"])
            name, pairs = self.name(), self.rng.random() < 0.3
            index = self.name() if pairs else None
            self.put(indent, f"for {index}, {name} in enumerate({where}):" if pairs else f"for {name} in {where}:")
            self.numbers += [name] if kind == "for" else []
            self.numbers += [index] if pairs else []
            self.block(indent + 1, r.randint(1, 2))
            if kind == "items":
                self.put(indent + 1, f"x = x * {name}")
        elif kind == "while":
            name = self.name()
            self.put(indent, f"{name} = 0")
            self.put(indent, f"while {name} < 2:")
            self.put(indent + 1, f"{name} += 1")
            self.block(indent + 1, 1)
        else:
            self.put(indent, "try:")
            self.block(indent + 1, 1)
            self.put(
                indent + 1, r.choice([f"out.append(risky({self.tensor(2)}))", "raise ValueError(n)", "x = x @ y[:2]"])
            )
            self.put(indent, "except (ValueError, RuntimeError) as error:")
            self.put(indent + 1, "out.append(type(error).__name__)")
        self.tensors, self.numbers = (self.tensors, self.numbers) if kind in LASTING else known

    def held(self, indent, kind):
        """Changes of a list, deque or dict that an object has, and looks at it."""
        r = self.rng
        owner = r.choice(["thing", "thing", "derived"])
        held = f"{owner}.{ {'list': 'queue', 'numbers': 'marks', 'deque': 'recent', 'dict': 'table'}[kind] }"
        if r.random() < 0.3:
            other = self.name()
            self.put(indent, f"{other} = {held}")
            held = r.choice([held, other])
            if r.random() < 0.3:
                self.put(indent, f"derived.{held.split('.')[-1] if '.' in held else 'kept'} = {other}")
        item = (lambda: self.tensor(2)) if kind != "numbers" else (lambda: r.choice(["1", "n", "2", "len(data)", "7"]))
        place = lambda: r.choice(["0", "-1", "1", "n"])  # noqa: E731
        ends = ["append({})", "append({})", "pop()", "extend([{}, {}])", "extend(a for a in [{}, {}])", "clear()"]
        if kind == "deque":
            ends += ["appendleft({})", "popleft()", "extendleft([{}, {}])", "rotate(1)", "rotate(-1)", "reverse()"]
        else:
            ends += ["pop(0)", "pop(1)", "insert(0, {})", "insert(1, {})", "reverse()", f"extend({held}[:1])"]
        if kind == "numbers":
            ends += ["sort()", "remove(1)", "remove(2)"]
        if kind == "dict":
            ends = ["pop('a')", "pop('b', None)", "popitem()", "clear()", "setdefault('c', {})", "update(a={}, d={})"]
        for _ in range(r.randint(1, 4)):
            way = r.random()
            if way < 0.55:
                call = f"{held}.{r.choice(ends)}"
                while "{}" in call:
                    call = call.replace("{}", item(), 1)
                takes = "pop" in call and r.random() < 0.7
                if takes and kind in ("list", "deque"):
                    self.put(indent, f"x = x + {call}.sum() if {held} else x")
                elif takes and kind == "numbers":
                    self.put(indent, f"x = x * {call} if len({held}) > 1 else x")
                elif r.random() < 0.8 and ("pop" in call or "remove" in call):
                    self.put(indent, "try:")
                    self.put(indent + 1, call)
                    self.put(indent, "except (IndexError, KeyError, ValueError):")
                    self.put(indent + 1, "x = x * 2")
                else:
                    self.put(indent, call)
            elif way < 0.75 and kind == "dict":
                key = r.choice("abcd")
                self.put(indent, f"{held}['{key}'] = {item()}")
                if r.random() < 0.5:
                    self.put(indent, f"del {held}['{r.choice([key, 'a'])}']")
            elif way < 0.75:
                self.put(indent, f"if len({held}) > {r.choice('12')}:")
                slices = [f"{held}[:1] = [{item()}, {item()}]", f"del {held}[1:]", f"{held} += [{item()}]"]
                slices = slices if kind != "deque" else [f"{held} += [{item()}]"]
                self.put(indent + 1, r.choice([f"{held}[{place()}] = {item()}", f"del {held}[{place()}]", *slices]))
            elif kind == "dict":
                reads = [f"out.append(list({held}))", f"out.append(len({held}))", f"x = x + len({held}.items())"]
                reads += [
                    f"x = x + (1 if '{r.choice('abcd')}' in {held} else 2)",
                    f"out.append({held}.get('a') is None)",
                ]
                self.put(indent, r.choice(reads))
            else:
                of = "a" if kind == "numbers" else "a.sum()"
                reads = [
                    f"x = x + sum({of} for a in {held})",
                    f"out.append(len({held}))",
                    f"x = x * (2 if {held} else 1)",
                ]
                reads += [f"for a in {held}:\n{'    ' * (indent + 1)}x = x * 2 + {of}"]
                reads += [f"for a in {held}:\n{'    ' * (indent + 1)}{held}.pop() if len({held}) > 2 else x.sum()"]
                reads += [f"if {held}:\n{'    ' * (indent + 1)}x = x + {held}[{r.choice(['0', '-1'])}]"]
                reads += [f"out.append({r.choice(['n', '2'])} in {held})"] if kind == "numbers" else []
                self.put(indent, r.choice(reads))

    def given(self, indent):
        """A write to a tensor that the function was given, or has an attribute for, and what may raise after it."""
        r = self.rng
        target = r.choice(
            ["x", "y", "x[0]", "x[:n]", "x.t()[0]", "x.data", "y.detach()[1:]", 'data["x"]', "thing.items[2]"]
            + ["layer.mean", "layer.linear.weight", "layer.linear.weight[0]", "layer.linear.bias.data", "y.view(3, 1)"]
        )
        write = r.choice(
            [
                lambda: f".add_({self.number()})",
                lambda: f".{r.choice(['add_', 'mul_', 'sub_', 'copy_'])}({self.tensor(2)})",
                lambda: f".add_({self.tensor(2)}, alpha={self.number()})",
                lambda: f".{r.choice(['zero_', 'tanh_', 'neg_', 'relu_'])}()",
                lambda: f".lerp_({r.choice(self.tensors)}, 0.25)",
                lambda: f".index_add_(0, torch.tensor([0, {r.choice(['0', 'n', '2'])}]), {self.tensor(2)}[:2])",
                lambda: f".index_fill_(-1, torch.tensor([0, {r.choice(['0', '1', '2'])}]), {self.number()})",
                lambda: (
                    f"[{r.choice(['0', '..., 0', ':2', 'n', '[0, 0]'])}] = {r.choice([self.number(), self.tensor(2)])}"
                ),
            ]
        )()
        if r.random() < 0.6:
            self.put(indent, "with torch.no_grad():")
            indent += 1
        self.put(indent, f"{target}{write}")
        if r.random() < 0.3:
            name = self.name()
            self.put(indent, f"{name} = risky({target} * 1) if n == 1 else {target} @ {r.choice(['y', 'x'])}[:2]")

    def program(self):
        self.put(0, "def make(cell):")
        self.put(1, "def f(x, y, n, thing, derived, data, layer, out, last=1, **keywords):")
        self.put(2, "nonlocal cell")
        self.block(2, self.rng.randint(3, 8))
        self.put(2, "out.append(list(keywords))")
        self.put(2, f"return {self.rng.choice(self.tensors)}, {self.number()}, cell + last")
        self.put(1, "def change(value):")
        self.put(2, "nonlocal cell")
        self.put(2, "cell = value")
        self.put(1, "return f, change")
        return "\n".join(self.lines) + "\n"


def changes(rng):
    """What happens before a call: (what, value)."""
    kinds = ["G", "cell", "k", "shared", "defaults", "training", "weight", "items", "helper", "scaled", "hook", "none"]
    kinds += ["alias", "calls", "shift", "looked", "known", "result hook", "pre-hook", "data", "queue", "backward hook"]
    return [(rng.choice(kinds), rng.choice([1, 2, 0.5, -0.0, 3, True])) for _ in range(rng.choice([0, 0, 1, 2]))]


#: What torch.manual_seed does to the generator of the CPU: it takes a stack trace besides, for other devices' generators.
seed_of_all = torch.default_generator.manual_seed


@functools.cache
def prelude():
    return marshal.dumps(compile(PRELUDE, "<program>", "exec"))


class World:
    """A program with what it can reach, all of it its own: plans belong to code objects. `options` are those of cresset.compile,
    None: the program runs as it is."""

    def __init__(self, program, options):
        self.names = {"torch": torch, "F": F, "math": math, "dataclasses": dataclasses, "G": 2}
        self.names.update(collections=collections, contextvars=contextvars, checkpoint=checkpoint)
        self.names.update(functools=functools, itertools=itertools)
        seed_of_all(5)
        for code in (prelude(), program):
            exec(marshal.loads(code), self.names)
        self.function, self.change_cell = self.names["make"](1)
        self.call = self.function if options is None else cresset.compile(self.function, **options)
        self.thing, self.derived, self.layer = (self.names[name]() for name in ("Thing", "Derived", "Layer"))
        self.data = {"x": torch.ones(3), "n": 2}
        self.hooks = []

    def change(self, what, value):
        if what == "G":
            self.names["G"] = value
        elif what == "cell":
            self.change_cell(value)
        elif what == "k":
            self.thing.k = value
        elif what == "shared":
            self.names["Base"].shared = value
        elif what == "defaults":
            self.function.__defaults__ = (value,)
        elif what == "training":
            self.layer.train(value is True)
        elif what == "weight":
            self.layer.linear.weight = torch.nn.Parameter(torch.full((3, 3), float(value)))
        elif what == "queue":
            self.derived.queue, self.derived.recent = self.thing.queue, self.thing.recent
            self.thing.marks.append(value)
            self.thing.table = {"b": value, "a": torch.ones(3)}
        elif what == "items":
            self.thing.items = [value, *self.thing.items[:2], torch.full((3,), float(value))][-3:]
        elif what == "helper":
            self.names["helper"].__kwdefaults__ = {"flag": value is True}
        elif what == "scaled":
            self.names["Thing"].scaled = lambda self, x: x - value
        elif what == "alias":
            self.derived = self.thing if value is True else self.names["Derived"]()
        elif what == "shift":
            self.names["SHIFT"].set(value)
        elif what == "looked":
            self.names["looked"].q = value
        elif what == "known":
            self.names["known"] ^= {self.names["Made"]}
        elif what == "data":
            self.data = {"x": torch.ones(3), "n": value}
        elif what == "result hook":
            self.hooks.append(self.layer.register_forward_hook(lambda m, i, o: o * value))
        elif what == "pre-hook":
            self.hooks.append(
                self.layer.register_forward_pre_hook(
                    lambda m, i, k: ((i[0] + value,), {**k, "shift": 2}), with_kwargs=True
                )
            )
        elif what == "backward hook" and value < 2:
            self.hooks.append(
                self.layer.linear.register_full_backward_hook(
                    lambda m, i, o: tuple(g if g is None else g * 2 for g in i)
                )
            )
        elif what == "backward hook":
            self.hooks.append(self.layer.register_full_backward_pre_hook(lambda m, o: (o[0] * value,)))
        elif what == "calls":
            self.layer.calls = value
        elif what == "hook":
            if self.hooks:
                self.hooks.pop().remove()
            else:
                self.hooks.append(self.layer.register_forward_hook(lambda m, i, o: print("hook")))

    def gradients(self, result, inputs):
        """What the backward pass of a result leaves, or the class of the exception that it raises."""
        leaves = [*inputs, *self.layer.parameters()]
        for leaf in leaves:
            leaf.grad = None
        try:
            result.sum().backward()
        except RuntimeError as error:
            freed = str(error).startswith("Trying to backward through the graph a second time")
            for leaf in leaves:
                leaf.grad = None  # which of them it has reached by then is the engine's order
            return Freed() if freed else type(error).__name__
        found = [Near(leaf.grad) for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None  # as above
        return found

    def observe(self, rows, n, grad, seed):
        seed_of_all(seed)
        x, y = torch.randn(rows, 3), torch.randn(3)
        if seed % 4 == 0 and rows:
            y = x[-1]  # of the same memory
        x.requires_grad_(grad)
        out, written = [], io.StringIO()
        with contextlib.redirect_stdout(written):
            try:
                result = self.call(x, y, n, self.thing, self.derived, self.data, self.layer, out, b=n)
                end = [describe(item) for item in result]
                end.append([result[0] is other for other in (x, y, self.data["x"], self.thing.items[-1])])
                if isinstance(result[0], torch.Tensor) and result[0].requires_grad:
                    end.append(self.gradients(result[0], [x] if grad else []))
            except Exception as error:
                lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<program>"]
                end = [type(error).__name__, str(error), lines]
        state = [
            list(self.data),
            describe(self.thing.k),
            [GRAD_FN.sub("", text) for text in self.thing.log],
            describe(self.data["x"]),
            describe(self.names["G"]),
            self.names["kept"].cache_info(),
        ]
        for held in (self.thing, self.derived):
            lists = held.queue, held.marks, held.recent, held.table, held.table.values()
            state += [[*map(describe, each)] for each in lists]
        for object in (self.thing, self.derived, self.layer):
            state += [(name, type(held).__name__) for name, held in vars(object).items()]
        state += [describe(self.layer.mean), describe(self.layer.last), describe(self.layer.calls)]
        state += [[describe(t), t._version] for t in (x.detach(), y.detach(), *self.layer.parameters())]
        state += [Near(t.grad) for t in (*self.layer.parameters(), *([x] if grad else []))]
        return [end, [describe(item) for item in out], GRAD_FN.sub("", written.getvalue()), state]


class Freed:
    """Results of one graph are one node to autograd: a pass through one frees what a later pass through another takes
    (decision 8); and they need fewer of what earlier passes have freed. Equals whatever the other engine makes of that."""

    def __eq__(self, other):
        return True

    __hash__ = None


class Near:
    """A gradient, which equals another up to the order in which its parts were added."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __eq__(self, other):
        a, b = self.tensor, other.tensor
        if a is None or b is None:
            return a is b
        return a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)

    def __repr__(self):
        return repr(self.tensor)


def describe(value):
    if isinstance(value, torch.Tensor):
        value_alone = value.detach().contiguous()
        if value.is_floating_point():  # NaNs are one class: their signs are unspecified
            value_alone = torch.where(value_alone.isnan(), torch.full_like(value_alone, math.nan), value_alone)
        if value.dtype is torch.bfloat16:
            value_alone = value_alone.view(torch.int16)
        bits = value_alone.numpy().tobytes()
        return [type(value).__name__, value.dtype, tuple(value.shape), value.stride(), value.requires_grad, bits]
    return [type(value).__name__, GRAD_FN.sub("", repr(value))]


def compare(seed, *kinds):
    """Runs one program as it is and with each of the options of cresset.compile, or with none; how many plans ran. Raises
    AssertionError where they differ."""
    rng = random.Random(seed)
    text = "\n" * PRELUDE.count("\n") + Generator(rng).program()
    program = marshal.dumps(compile(text, "<program>", "exec"))
    plain, *captured = [World(program, options) for options in (None, *(kinds or ({},)))]
    arguments = (2, 1, False, 0)
    for call in range(8):
        if call >= 2 and rng.random() < 0.7:
            arguments = (rng.choice([1, 2, 3]), rng.choice([0, 1, 2, 0.5, True]), rng.random() < 0.4, rng.randint(0, 3))
        for what, value in changes(rng) if call >= 2 else ():
            for world in (plain, *captured):
                world.change(what, value)
        expected = plain.observe(*arguments)
        for i, world in enumerate(captured):
            seen = world.observe(*arguments)
            if expected != seen:
                raise AssertionError(f"program {seed}, call {call}, kind {i}:\n{text.lstrip()}\n{expected}\n{seen}")
    return sum(plan.counts[0] for world in captured for _, plan in _frames.plans_of(world.function.__code__, None))


#: Rows of instructions without which there are no plans.
NEEDED = (
    "NOP RESUME PRECALL CACHE PUSH_NULL POP_TOP COPY SWAP KW_NAMES LOAD_CONST LOAD_FAST LOAD_FAST_LOAD_FAST STORE_FAST LOAD_GLOBAL "
    "LOAD_ATTR LOAD_METHOD CALL CALL_KW BINARY_OP call_functional"
).split()
NO_ROWS = "call_of call_inline".split()  # what calls come to, whichever row they have


def rows():
    """The names of the recorder's rows: those of instructions, and those of what is called."""
    names = {name for name in dir(Recorder) if name.isupper() or name.startswith("call_")}
    return sorted(names - set(NO_ROWS) - {name for name in names if not callable(getattr(Recorder, name))})


@contextlib.contextmanager
def without(names):
    """While it lasts, the recorder has no such rows."""

    def no_row(self, *args, **kwargs):
        raise NoRow("a row that is left out")

    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(unittest.mock.patch.object(Recorder, name, no_row))
        yield


def compare_rows(seeds):
    """Runs programs with no row, without each, and with each alone; {kind: how many plans ran}."""
    ran = collections.Counter()
    for seed in seeds:
        with without(rows()):
            ran["none"] += compare(seed)
    for i, name in enumerate(rows()):
        seed = seeds[i % len(seeds)]
        with without([name]):
            ran["without one"] += compare(seed)
        with without(set(rows()) - {name, *NEEDED}):
            ran["one alone"] += compare(seed)
    return ran


WITH_BACKEND = {"backend": lambda gm, inputs: gm.forward}


def main():
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = [{}, WITH_BACKEND] if sys.argv[3:] == ["graphs"] else [{}]
    ran = differ = 0
    torch.set_num_threads(1)  # tensors are small
    _frames.compare_cached_reads(True)
    warnings.filterwarnings("ignore", "Full backward hook is firing")
    if sys.argv[3:] == ["rows"]:
        print(f"{len(rows())} rows: the programs agree; plans ran: {dict(compare_rows(range(first, first + count)))}")
        return
    for done, seed in enumerate(range(first, first + count), 1):
        try:
            ran += compare(seed, *kinds)
        except AssertionError as error:
            differ += 1
            print(error, flush=True)
        if done == 50:
            gc.collect()
            gc.freeze()  # modules, and what was made once: collections go by the programs' own objects
        if done % 500 == 0:
            print(f"{done - differ} of {done} programs agree; plans ran {ran} times", flush=True)
    print(f"{count - differ} of {count} programs agree; plans ran {ran} times")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
