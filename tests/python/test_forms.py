"""Forms of programs that torch.jit refuses or gets wrong, and that users write: compared with Python itself."""

import functools
import io
from typing import Dict, List, Optional, Tuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import cresset


def same(function, *calls):
    compiled = cresset.script(function)
    for inputs in calls:
        assert compiled(*inputs) == function(*inputs)
    return compiled


# ---- Comprehensions with several loops


def flattened(rows: List[List[int]]):
    return [x for row in rows if len(row) > 1 for x in row if x > 1 if x != 4]


def products(a: List[int], b: List[int]):
    return [i * j for i in a for j in b]


def pairs(a: List[int]):
    return {i: j for i in a for j in a if i < j}


def unrolled(a: Tuple[int, int], names: Dict[str, int]):
    return [k + str(i * v) for i in a for k, v in names.items()]


def test_comprehensions_with_several_loops():
    same(flattened, ([[1, 2], [3], [4, 5, 6]],), ([],))
    same(products, ([1, 2], [3, 4]), ([], [1]))
    same(pairs, ([3, 1, 2],))
    same(unrolled, ((2, 3), {"a": 1, "b": 2}))
    text = "def f(a: List[List[int]]):\n    return [[j + 1 for j in i] for i in a for k in i if k > 1];\n"
    assert cresset.CompilationUnit(text).f([[1, 2], [3]]) == [[2, 3], [4]]


def test_text_with_semicolons_and_a_mark_of_its_encoding():
    assert cresset.CompilationUnit("\ufeffdef f(x: int) -> int:\n    y = 1; z = 2;\n    return x + y + z;\n").f(3) == 6


# ---- zip(strict=True)


def zipped(a: List[int], b: List[int], c: List[float]):
    total = 0.0
    for x, y, z in zip(a, b, c, strict=True):
        total += x * y * z
    return total


def zipped_loosely(a: List[int], b: List[int]):
    return [x * y for x, y in zip(a, b, strict=False)]


def test_zip_strict():
    compiled = same(zipped, ([1, 2], [3, 4], [0.5, 2.0]), ([], [], []))
    for inputs in (([1, 2], [3], [1.0, 2.0]), ([1], [3], [1.0, 2.0]), ([], [3], [])):
        with pytest.raises(ValueError) as expected:
            zipped(*inputs)
        with pytest.raises(ValueError, match=str(expected.value).replace("(", "\\(").replace(")", "\\)")):
            compiled(*inputs)
    same(zipped_loosely, ([1, 2], [3, 4, 5]))


class ZippedLayers(nn.Module):
    def __init__(self, activations: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.activations = nn.ModuleList([nn.ReLU() for _ in range(activations)])

    def forward(self, x):
        for layer, activation in zip(self.layers, self.activations, strict=True):
            x = activation(layer(x))
        return x


def test_zip_strict_of_modules():
    module, x = ZippedLayers(2), torch.randn(3, 2)
    assert torch.equal(cresset.script(module)(x), module(x))
    with pytest.raises(RuntimeError, match="2 and 1 elements"):
        cresset.script(ZippedLayers(1))


# ---- functools.partial


def scaled(x, n: int, shift: float = 2.0):
    return x * n + shift


tripled = functools.partial(scaled, n=3)
tripled_flat = functools.partial(functools.partial(tripled, shift=0.5), n=2)


def calls_partials(x):
    return tripled(x) + tripled(x, shift=1.5) * tripled_flat(x)


class HoldsPartials(nn.Module):
    def __init__(self, eps: float):
        super().__init__()
        self.norm = functools.partial(F.layer_norm, normalized_shape=[2], eps=eps)
        self.act = functools.partial(F.gelu, approximate="tanh")
        self.clip = functools.partial(torch.clamp, min=-1, max=1)

    def forward(self, x):
        return self.clip(self.act(self.norm(x)))


def test_partials():
    x = torch.randn(3, 2)
    assert torch.equal(cresset.script(calls_partials)(x), calls_partials(x))
    first, second, other = HoldsPartials(1e-3), HoldsPartials(1e-3), HoldsPartials(1e-1)
    compiled = [cresset.script(m) for m in (first, second, other)]
    for ours, module in zip(compiled, (first, second, other)):
        assert torch.equal(ours(x), module(x))
    assert compiled[0]._c.type() == compiled[1]._c.type() != compiled[2]._c.type()
    loaded = torch.jit.load(io.BytesIO(compiled[0].save_to_buffer()))
    assert torch.equal(loaded(x), first(x))


# ---- super()


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    @property
    def rounds(self) -> int:
        return self.k - 1

    def forward(self, x):
        return x + self.k

    def helper(self, x, n: int = 2):
        return x * n


class Middle(Base):
    @property
    def rounds(self) -> int:
        return super().rounds + 10

    def forward(self, x):
        return super().forward(x) * 2


class Odd(Middle):
    def helper(self, x, n: int = 2):
        return super(Middle, self).helper(x, n) + 1

    def forward(self, x):
        for _ in range(super(Middle, self).rounds):
            x = super().forward(x)
        parent = super()
        ys = [super(Odd, self).forward(x), parent.helper(x, n=3)]  # noqa: UP008
        with torch.no_grad():
            z = super(Middle, self).forward(x)
        y = ys[0] if z.sum() > 0 else super().helper(z)
        return self.helper(y) + ys[1] + Base.forward(self, x) + super().rounds


def test_super():
    x = torch.arange(3.0)
    for sign in (1, -100):
        assert torch.equal(cresset.script(Odd())(sign * x), Odd()(sign * x))


# ---- Containers that index themselves


@torch.jit.interface
class Layer:
    def forward(self, input: Tensor) -> Tensor:
        pass


class Chosen(nn.ModuleList):
    def forward(self, x: Tensor, i: int):
        layer = torch.jit.annotate(Layer, self[i])
        other: Layer = self[-1]
        return layer.forward(x) + other.forward(x)


def test_annotated_index_of_self():
    module, x = Chosen([nn.Linear(2, 2), nn.Linear(2, 2)]), torch.randn(3, 2)
    ours = cresset.script(module)
    for i in (0, 1, -1):
        assert torch.equal(ours(x, i), module(x, i))


# ---- Text that uses the names of the code around it


def double(x: Tensor, n: int = 2) -> Tensor:
    return x * n


def test_text_sees_the_names_around_it():
    limit = 3

    def local(x: Tensor) -> Tensor:
        return double(x) + 1

    unit = cresset.CompilationUnit("""
        def f(x, y: Optional[Tensor] = None):
            return local(F.softsign(x)) + torch.nn.functional.normalize(x) * limit
        def g(x):
            return torch.stft(x, 4, return_complex=True), torch.unique(x), f(x)
    """)
    x = torch.randn(4, 8)
    assert Optional is not None  # the text names it
    torch.testing.assert_close(unit.f(x), local(F.softsign(x)) + F.normalize(x) * limit)
    for ours, theirs in zip(unit.g(x)[:2], (torch.stft(x, 4, return_complex=True), torch.unique(x))):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.jit.load(io.BytesIO(unit.f.save_to_buffer()))(x), unit.f(x))
    with pytest.raises(RuntimeError, match="nowhere"):
        cresset.CompilationUnit("def f(x):\n    return nowhere(x)\n")


def test_what_a_text_defines_comes_first():
    unit = cresset.CompilationUnit("def double(x):\n    return x * 200\ndef f(x):\n    return double(x)\n")
    assert unit.f(torch.ones(1)).item() == 200
    unit.define("def h(x):\n    return double(x)\n")
    assert unit.h(torch.ones(1)).item() == 200


# ---- Sizes between a trace and scripted functions


@cresset.script
def head(x, n: int, factor: float = 1.0):
    if n > 2:
        return x[:n] * factor
    return x[:n] * 100


@cresset.script
def count(x) -> int:
    return x.size(0) * 2


@cresset.script
def measured(x, sizes: List[int], pair: Tuple[int, float]) -> Tuple[Tensor, int, List[int], float]:
    return x.reshape(sizes) * pair[1], pair[0] + 1, [s + 1 for s in sizes], pair[1] / 2


def test_sizes_to_scripted_functions_follow():
    def f(x):
        return head(x, x.shape[0] - 1, x.shape[0] / 2)

    traced = cresset.trace(f, torch.ones(4))
    for n in (4, 7, 2):
        x = torch.arange(n, dtype=torch.float32)
        assert torch.equal(traced(x), f(x))


def test_numbers_that_scripted_functions_return_follow():
    def f(x):
        n = count(x)
        return x.new_zeros(n) + n

    def g(x):
        y, n, sizes, half = measured(x, [x.shape[1], x.shape[0]], (x.numel(), x.shape[0] * 0.5))
        return y, torch.full(sizes, half), torch.arange(n)

    for function, inputs in ((f, (2,)), (g, (2, 3))):
        traced = cresset.trace(function, torch.ones(inputs))
        for size in (inputs, tuple(n + 2 for n in inputs)):
            ours, theirs = traced(torch.ones(size)), function(torch.ones(size))
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


# ---- Exchange with torch.jit


def test_numbers_in_traces_of_torchjit_stay_numbers():
    """They are tensors without dimensions in the archive, which promote types as the numbers did."""

    def f(x):
        return x * 2.5, x + 1, x - 0.5, (x / 3) * 2, x.float() * 2.5, x % 2, 1.5 - x, x * (1 + 2j)

    for dtype in (torch.int64, torch.uint8, torch.float32, torch.bool):
        x = torch.ones(3, dtype=dtype)
        function = f if dtype != torch.bool else lambda x: (x * 2.5, x + 1, x / 3)
        theirs = torch.jit.trace(function, x, check_trace=False)
        buffer = io.BytesIO()
        torch.jit.save(theirs, buffer)
        loaded = cresset.load(io.BytesIO(buffer.getvalue()))
        again = cresset.load(io.BytesIO(loaded.save_to_buffer()))
        torch.testing.assert_close(loaded(x), function(x), rtol=0, atol=0)
        torch.testing.assert_close(again(x), function(x), rtol=0, atol=0)


class DefaultTensor(nn.Module):
    def forward(self, x: Tensor, scale: Tensor = torch.full((2,), 3.0), sizes: Tuple[int, int] = (1, 2)):  # noqa: B008
        return x * scale, (3, 4), sizes


def test_defaults_that_are_tensors():
    module, x = DefaultTensor(), torch.ones(2)
    saved = cresset.script(module).save_to_buffer()
    for loaded in (cresset.load(saved), torch.jit.load(io.BytesIO(saved))):
        torch.testing.assert_close(loaded(x), module(x))
        torch.testing.assert_close(loaded(x, x), module(x, x))


def test_attention_saved_and_run_by_torchjit():
    """torch.jit evaluates casts of constants: one of None, after the test that raises on None, must not be there."""
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(2, 5, 8)
    for module in (attention, attention.eval()):
        loaded = torch.jit.load(io.BytesIO(cresset.script(module).save_to_buffer()))
        for _ in range(3):
            torch.testing.assert_close(loaded(x, x, x), module(x, x, x))
