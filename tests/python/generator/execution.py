"""A program compiled and called by one engine, and everything that can be seen of it from outside.

What is seen is plain data that pickles and compares by ==: types, bits, which tensors share memory, what was printed,
what became of the arguments.
"""

import builtins
import contextlib
import enum
import io
import linecache
import math
import re
import struct
import sys
import traceback
import types
import typing
from dataclasses import dataclass

import numpy
import torch

import cresset

NAMES = {name: getattr(typing, name) for name in "Any Dict List NamedTuple Optional Tuple Union".split()}
NAMES.update(torch=torch, math=math, Tensor=torch.Tensor, Enum=enum.Enum)


# What has no meaning is not compared: addresses of objects, and the sign of a nan.
_OBJECT = re.compile(r"<[\w.]*?(\w+) object at 0x[0-9a-f]+>")
# The module of an enum's name differs.
_MEMBER = re.compile(r"__torch__\.(?:generated_\d+\.)?(?:___torch_mangle_\d+\.)?")


@dataclass
class Outcome:
    kind: str  # "value", "error", or "rejected" if the program did not compile
    value: object = None  # the value seen, or the exception's class
    message: str = ""
    printed: str = ""
    arguments: object = None


class Cresset:
    name = "cresset"

    def __init__(self, program):
        self.unit = cresset.CompilationUnit(str(program))

    def function(self, name):
        return getattr(self.unit, name)


class TorchJit:
    """torch.jit without its optimizations. Its CompilationUnit reads functions only; classes it reads as Python."""

    name = "torch.jit"
    count = 0

    def __init__(self, program):
        TorchJit.count += 1
        name = f"generated_{TorchJit.count}"
        module = types.ModuleType(name)
        module.__file__ = f"<{name}>"
        module.__dict__.update(NAMES)
        sys.modules[name] = module
        text = program.python_class_text()
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
        exec(compile(text, module.__file__, "exec"), module.__dict__)

        def resolve(key):
            return module.__dict__.get(key, getattr(builtins, key, None))

        self.unit = torch.jit.CompilationUnit()
        self.unit.define(program.function_text(), resolve)
        self.module = module

    def function(self, name):
        return getattr(self.unit, name)


ENGINES = {engine.name: engine for engine in (TorchJit, Cresset)}


def execute(engine, program):
    """The outcomes of all calls; one "rejected" outcome if the engine does not compile the program."""
    try:
        unit = engine(program)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what is compared)
        return [Outcome("rejected", type(error).__name__, str(error))]
    with torch.jit.optimized_execution(False):
        return [call(unit.function(c.function), ", ".join(c.arguments)) for c in program.calls]


def call(function, arguments):
    torch.manual_seed(0)
    values = eval(f"({arguments}{',' if arguments else ''})", dict(NAMES))
    output = io.StringIO()
    storages = {}
    with contextlib.redirect_stdout(output):
        try:
            outcome = Outcome("value", function(*values))
        except Exception as error:  # noqa: BLE001
            outcome = Outcome("error", [c.__name__ for c in type(error).__mro__], _meaningful(str(error)))
    outcome.printed = _MEMBER.sub("", _meaningful(output.getvalue()))
    outcome.arguments = seen(values, storages)
    if outcome.kind == "value":
        outcome.value = seen(outcome.value, storages)
    return outcome


def _meaningful(text):
    return _OBJECT.sub(r"<\1 object>", text).replace("-nan", "nan")


class _Math:
    """Python's math, where what has no result is nan or inf, as in scripts."""

    def __getattr__(self, name):
        function = getattr(math, name)

        def quiet(*values):
            try:
                return function(*values)
            except ValueError:
                return math.nan
            except OverflowError:
                return math.inf

        return quiet if callable(function) else function


def _as_script_argument(value):
    """Scripts get lists and dicts as copies of their own."""
    if isinstance(value, dict):
        return {k: _as_script_argument(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_script_argument, value))
    return value


def in_python(program, call):
    """What Python makes of a call: an Outcome whose message is the line of the program that raised; None if Python can't
    run it."""
    names = dict(NAMES, math=_Math(), Interface=object, print=lambda *values: None)
    try:
        exec(compile(str(program), "<program>", "exec"), names)
        values = eval(f"({', '.join(call.arguments)}{',' if call.arguments else ''})", dict(NAMES))
    except Exception:  # noqa: BLE001
        return None
    storages = {}
    try:
        outcome = Outcome("value", names[call.function](*map(_as_script_argument, values)))
    except Exception as error:  # noqa: BLE001
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<program>"]
        outcome = Outcome("error", message=lines[-1] if lines else 0)
    outcome.arguments = seen(values, storages)
    if outcome.kind == "value":
        outcome.value = seen(outcome.value, storages)
    return outcome


def bits(x):
    return "nan" if x != x else struct.pack("<d", x).hex()


def seen(value, storages):
    """A value as plain data. `storages` numbers the memory of tensors, so that aliasing shows."""
    if isinstance(value, torch.Tensor):
        return tensor_seen(value, storages)
    if isinstance(value, float):
        return ("float", bits(value), repr(value))
    if isinstance(value, complex):
        return ("complex", bits(value.real), bits(value.imag), repr(value))
    if isinstance(value, dict):
        return ("dict", [(seen(k, storages), seen(v, storages)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__
        if isinstance(value, torch.Size):
            kind = "list"
        fields = list(getattr(value, "_fields", ()))
        return (kind, fields, [seen(item, storages) for item in value])
    return (type(value).__name__, _meaningful(repr(value)))


def _bits_of_all(tensor):
    """The bytes of its numbers; all nans have the same."""
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()  # which numpy knows
    numbers = tensor.resolve_conj().resolve_neg().numpy()
    missing = numpy.isnan(numbers)
    return (numpy.where(missing, numbers.dtype.type(math.nan), numbers) if missing.any() else numbers).tobytes()


def tensor_seen(value, storages):
    plain = value.detach()
    if plain.is_floating_point() or plain.is_complex():
        data = _bits_of_all(plain).hex()
    else:
        data = plain.tolist()
    memory = value.untyped_storage().data_ptr()
    number = storages.setdefault(memory, len(storages)) if memory else None
    return (
        "Tensor",
        str(value.dtype),
        tuple(value.shape),
        value.stride(),
        value.storage_offset(),
        f"requires_grad={value.requires_grad}",
        f"memory {number}",
        data,
        repr(plain.tolist()) if plain.numel() < 20 else "",
    )
