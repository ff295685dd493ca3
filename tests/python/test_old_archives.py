"""Archives of older file formats: every operator whose meaning changed has torch.jit's result.

torch's own version map says which those are. Each archive is written here: a fresh one with another version record and
hand-written code.
"""

import io
import math
import zipfile

import pytest
import torch
from operator_calls import outcome, same, shorten
from operator_values import fresh, tensor

import cresset

INTS, FLOATS = tensor([7, -7, 5]), tensor([7.0, -7.5, 5.0])
TWOS, HALVES = tensor([2, 2, -2]), tensor([0.5, 2.0, -2.0])
OUT, OUT_INT = tensor([0.0, 0.0, 0.0]), tensor([0, 0, 0])
LONG = tensor([0.0] * 100)

PAIRS = [(INTS, TWOS), (FLOATS, TWOS), (INTS, HALVES), (INTS, tensor(0)), (tensor([1 + 1j]), TWOS)]
NUMBERS = [(INTS, 2), (INTS, 2.0), (FLOATS, 2), (INTS, -2), (INTS, 0)]
TENSORS = "x: Tensor, y: Tensor"

#: By operator: parameters, expressions, and arguments for each.
CASES = {
    "aten::div.Tensor": (TENSORS, ["torch.div(x, y)", "ops.aten.div(x, y)"], PAIRS),
    "aten::div.Scalar": ("x: Tensor, y: int", ["torch.div(x, y)", "torch.div(x, 2.)", "torch.div(x, 2)"], [(INTS, 2), (FLOATS, 2), (INTS, -3)]),
    "aten::div.out": (TENSORS + ", z: Tensor", ["torch.div(x, y, out=z)"], [(INTS, TWOS, OUT), (FLOATS, TWOS, OUT), (INTS, TWOS, OUT_INT)]),
    "aten::div.Tensor_mode": (
        TENSORS, ["torch.div(x, y, rounding_mode=\"floor\")", "torch.div(x, y, rounding_mode=\"trunc\")", "torch.div(x, y, rounding_mode=None)"], PAIRS
    ),
    "aten::div.Scalar_mode": ("x: Tensor, y: int", ["torch.div(x, y, rounding_mode=\"floor\")", "torch.div(x, y, rounding_mode=None)"], NUMBERS[:1] + NUMBERS[2:]),
    "aten::div.out_mode": (TENSORS + ", z: Tensor", ["torch.div(x, y, rounding_mode=\"trunc\", out=z)"], [(INTS, TWOS, OUT), (FLOATS, TWOS, OUT), (INTS, TWOS, OUT_INT)]),
    "aten::div_.Tensor": (TENSORS, ["torch.div_(x, y)"], PAIRS),
    "aten::div_.Scalar": ("x: Tensor, y: float", ["torch.div_(x, y)", "torch.div_(x, 2)"], [(INTS, 2.0), (FLOATS, 2.0)]),
    "aten::div_.Tensor_mode": (TENSORS, ["torch.div_(x, y, rounding_mode=\"floor\")"], PAIRS),
    "aten::div_.Scalar_mode": ("x: Tensor, y: int", ["torch.div_(x, y, rounding_mode=\"trunc\")"], [(INTS, 2), (FLOATS, 2)]),
    "aten::full": (
        "x: int, y: float, z: bool",
        ["torch.full([2, 2], x)", "torch.full([2], y)", "torch.full([2], z)", "torch.full([2], x, dtype=4)", "torch.full([2], z, dtype=None, layout=0)", "torch.full([2], 1j)"],
        [(3, 2.5, True), (-1, math.inf, False)],
    ),
    "aten::full.out": ("x: int, y: Tensor", ["torch.full([3], x, out=y)"], [(3, OUT), (3, OUT_INT)]),
    "aten::linspace": (
        "x: int, y: float",
        ["torch.linspace(x, y)", "torch.linspace(x, y, 5)", "torch.linspace(x, y, None)", "torch.linspace(0, 1, dtype=7)", "torch.linspace(0, 10, steps=3, dtype=None)"],
        [(0, 1.0), (-3, 7.5)],
    ),
    "aten::linspace.out": ("x: int, y: float, z: Tensor", ["torch.linspace(x, y, out=z)", "torch.linspace(x, y, 5, out=z)"], [(0, 1.0, LONG)]),
    "aten::logspace": (
        "x: int, y: float",
        ["torch.logspace(x, y)", "torch.logspace(x, y, 5)", "torch.logspace(x, y, 5, 2.)", "torch.logspace(x, y, None, 2., dtype=7)"],
        [(0, 1.0), (-3, 2.5)],
    ),
    "aten::logspace.out": ("x: int, y: float, z: Tensor", ["torch.logspace(x, y, out=z)", "torch.logspace(x, y, 5, 2., out=z)"], [(0, 1.0, LONG)]),
    "aten::gelu": ("x: Tensor", ["torch.gelu(x)"], [(FLOATS,)]),
    "aten::gelu.out": ("x: Tensor, y: Tensor", ["torch.gelu(x, out=y)"], [(FLOATS, OUT)]),
    # The same names on numbers never changed.
    "aten::div.int": ("x: int, y: int", ["torch.div(x, y)"], [(7, 2), (-7, 2)]),
    "aten::div.float": ("x: float, y: float", ["torch.div(x, y)", "torch.div(x, 2)"], [(7.0, 2.0)]),
}  # fmt: skip


def changed_operators():
    for entries in torch._C._get_operator_version_map().values():
        for entry in entries:
            yield entry.old_schema.split("(")[0], entry.bumped_at_version


def archive(version, parameters, expression, result):
    """A module's archive in that file format, whose forward returns the expression."""

    class Module(torch.nn.Module):
        def forward(self, x):
            return x

    saved = io.BytesIO()
    torch.jit.save(torch.jit.script(Module()), saved)
    written = io.BytesIO()
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/version"):
                data = f"{version}\n".encode()
            elif name.endswith(".py"):
                header = data.decode().split("  def forward")[0]
                self_type = data.decode().split("self: ")[1].split(",")[0]
                data = f"{header}  def forward(self: {self_type}, {parameters}) -> {result}:\n    return {expression}\n".encode()
            elif name.endswith(".debug_pkl"):
                continue
            new.writestr(name, data)
    return written.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_old_meaning(name):
    parameters, expressions, arguments = CASES[name]
    since = dict(changed_operators()).get(name, 10)
    result = "float" if name in ("aten::div.int", "aten::div.float") else "Tensor"
    torch.jit.load(io.BytesIO(archive(10, "x: Tensor", "x", "Tensor")))
    loaded = 0
    for expression in expressions:
        for version in sorted({1, 2, 3, since - 1, since, 10}):
            data = archive(version, parameters, expression, result)
            theirs = outcome(lambda d: torch.jit.load(io.BytesIO(d)), [data])
            ours = outcome(lambda d: cresset.load(io.BytesIO(d)), [data])
            where = f"{expression} in format {version}"
            if isinstance(theirs, Exception) or not isinstance(theirs, torch.jit.ScriptModule):
                # torch.jit compiles while it loads; Cresset may do so when the method is first called.
                if isinstance(ours, torch.nn.Module):
                    ours = outcome(ours, fresh(list(arguments[0])))
                assert not isinstance(ours, (torch.Tensor, float)), f"{where}: torch.jit refuses it: {shorten(theirs)}"
                continue
            loaded += 1
            for given in arguments:
                a, b = fresh(list(given)), fresh(list(given))
                left, right = outcome(ours, a), outcome(theirs, b)
                assert same(left, right), f"{where} on {given}: {shorten(left)}, torch.jit: {shorten(right)}"
                assert same(a, b), f"{where} changes its arguments to {a}, torch.jit to {b}"
    assert loaded


@pytest.mark.skipif(not torch.__version__.startswith("2.13"), reason="the cases are those of torch 2.13's upgraders")
def test_every_changed_operator_has_a_case():
    assert {name for name, _ in changed_operators()} <= set(CASES)
