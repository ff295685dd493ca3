"""Calls of ATen operators, as metadata: what PyTorch's own samples of operators (op_db) reach, forward and backward.

A `Call` remembers the arguments and the results as descriptions: ("T", dtype, sizes) of a tensor, ("L", …) of a list, ("V", value) of the rest. Calls
are made again from descriptions, also with one of them replaced (`variants`): another dtype, rank or size, an int for a float, another word, None.
"""

import functools
import warnings
from dataclasses import dataclass

import recorded_calls
import torch
from op_database import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from cresset import _C

DTYPES = [torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16]
#: Not the operators of TorchScript's own, for numbers and containers.
DISPATCHER = set(torch._C._dispatch_get_all_op_names())
ALL_DTYPES = [*DTYPES, torch.float64, torch.int32, torch.uint8, torch.float16]
#: Only in the place of another, in long runs.
RARE_DTYPES = [torch.complex128, torch.int8, torch.complex32, torch.uint16, torch.float8_e4m3fn]
#: What operators take for modes, reductions, norms and the like.
WORDS = "r reduced complete fro nuc L U left right sum mean prod amax amin linear lower higher midpoint nearest floor trunc tanh none ij xy".split()


#: Tensors that are no plain ones, made of plain ones. Not those of other devices and MKL-DNN's: eager kernels end the process for some.
KINDS = {
    "sparse": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "quantized": lambda t: torch.quantize_per_tensor(t.float(), 0.1, 1, torch.quint8),
    "nested": lambda t: torch.nested.nested_tensor([t, t]),
    "zeros": lambda t: torch._efficientzerotensor(t.shape, dtype=t.dtype),
    "conjugate": lambda t: t.to(torch.complex64).conj(),
    "expanded": lambda t: t[..., :1].expand(t.shape) if t.dim() else t,
}


#: Whether variants are also of rare dtypes and of these kinds: in long runs.
all_kinds = False


NONE = ("V", None, type(None))


class NoDescription(Exception):
    """Sparse, quantized and nested tensors of samples, generators and the like."""


def describe(value, any_kind=False):
    """With `any_kind` also of what is no plain tensor: its dtype and sizes, which are None where there is no such number."""
    if isinstance(value, torch.Tensor):
        if value.is_nested and any_kind:
            return "T", value.dtype, (None,) * value.dim()
        if not any_kind and (value.layout != torch.strided or value.is_nested or value.is_quantized):
            raise NoDescription
        return "T", value.dtype, tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return "L", *(describe(item, any_kind) for item in value)
    if value is None or isinstance(value, (int, float, complex, str, torch.dtype, torch.device, torch.memory_format)):
        return "V", value, type(value)
    raise NoDescription


def make(description):
    kind = description[0]
    if kind == "L":
        return [make(item) for item in description[1:]]
    if kind == "V":
        return description[1]
    if kind == "K":
        return KINDS[description[1]](make(("T", *description[2:])))
    _, dtype, sizes = description
    # Indices must be in range, and numbers in the domains of functions.
    if dtype.is_floating_point or dtype.is_complex:
        return torch.full(sizes, 0.5, dtype=dtype)
    return torch.zeros(sizes, dtype=dtype)


@dataclass(frozen=True)
class Call:
    name: str  # "aten::add.Tensor"
    arguments: tuple
    results: tuple

    def replaced(self, i, description):
        return Call(self.name, (*self.arguments[:i], description, *self.arguments[i + 1 :]), ())

    def text(self):
        return f"{self.name}({', '.join(map(str, self.arguments))})"


def full_name(op):
    schema = op._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


class OwnOperator:
    """An operator of Cresset's own, called by a program of one node."""

    def __init__(self, name):
        self._schema = torch._C.parse_schema(next(str(s) for s in _C._get_all_schemas() if s.name == name))
        heads = ", ".join(f"%a{i} : {a.type.str()}" for i, a in enumerate(self._schema.arguments))
        operands = ", ".join(f"%a{i}" for i in range(len(self._schema.arguments)))
        types = [r.type.str() for r in self._schema.returns]
        results = [f"%r{i}" for i in range(len(types))]
        left = ", ".join(f"{result} : {kind}" for result, kind in zip(results, types))
        last = f"  %out : ({', '.join(types)}) = prim::TupleConstruct({', '.join(results)})\n  return (%out)"
        self._function = _C.function_from_graph(
            "f", _C.parse_ir(f"graph({heads}):\n  {left} = {name}({operands})\n{last}")
        )

    def __call__(self, *arguments):
        return self._function(*arguments)


@functools.cache
def overload(name):
    if name.startswith("cresset::"):
        return OwnOperator(name)
    namespace, rest = name.split("::")
    packet, _, overload_name = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload_name or "default")


def bind(op, args, kwargs):
    """The arguments in the order of the schema; a list for an int, as PyTorch's dispatcher gets it."""
    values = []
    for argument, value in recorded_calls.bound(op._schema.arguments, args, kwargs):
        kind = str(argument.type)
        if kind in ("List[int]", "Optional[List[int]]") and isinstance(value, int):
            value = [int(value)]
        if isinstance(value, torch.Tensor) != ("Tensor" in kind) and not isinstance(value, (list, tuple, type(None))):
            raise NoDescription  # PyTorch's Python bindings take tensors for numbers, and numbers for tensors
        values.append(value)
    return values


def call(op, arguments):
    """The results, as a tuple."""
    positional, named = recorded_calls.split(op._schema, arguments)
    result = op(*positional, **named)
    return result if isinstance(result, tuple) else (result,)


class Recorder(TorchDispatchMode):
    """Records the calls that reach the dispatcher below autograd."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        record(self.calls, op, args, kwargs or {}, result)
        return result


def record(calls, op, args, kwargs, result):
    if op._schema.is_mutable or full_name(op) not in DISPATCHER:
        return
    try:
        arguments = tuple(map(describe, bind(op, args, kwargs)))
        results = tuple(map(describe, result if isinstance(result, tuple) else (result,)))
    except NoDescription:
        return
    calls[arguments, full_name(op)] = Call(full_name(op), arguments, results)


def composites(entry):
    """The operators that an entry of op_db is made for, all overloads; tracers and scripts see these."""
    names = {entry.aten_name, entry.name.split(".")[-1], entry.name.replace(".", "_")}
    packets = [getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name)]
    return [op for packet in packets for op in (getattr(packet, o) for o in packet.overloads())]


def recorded(entries, dtypes=DTYPES, samples=12):
    """The calls of some entries of op_db."""
    calls = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in entries:
            for dtype in dtypes:
                if entry.supports_dtype(dtype, "cpu"):
                    record_samples(calls, entry, dtype, samples)
    return list(calls.values())


def record_samples(calls, entry, dtype, samples):
    requires_grad = dtype == torch.float32 and entry.supports_autograd
    for number, sample in enumerate(entry.sample_inputs("cpu", dtype, requires_grad=requires_grad)):
        if number == samples:
            return
        args = (sample.input, *sample.args)
        for op in composites(entry):
            try:
                record(calls, op, args, sample.kwargs, op(*args, **sample.kwargs))
            except Exception:  # another overload's arguments
                continue
        with Recorder(calls):
            try:
                results = entry(*args, **sample.kwargs)
                results = results if isinstance(results, (list, tuple)) else [results]
                roots = [r.sum() for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
                if roots and number < 4:
                    torch.autograd.backward(roots)
            except Exception:  # no gradient, for one
                continue


def entries(part, of):
    return op_db[part::of]


def written(names):
    """The calls that tests/data/operator_calls.txt has of some operators: PyTorch's own samples do not reach all."""
    calls = {}
    for name, mark, text in recorded_calls.lines():
        if name in names and name in DISPATCHER and not mark:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                op, arguments = overload(name), recorded_calls.make(text)
                positional, named = recorded_calls.split(op._schema, arguments)
                record(calls, op, positional, named, call(op, arguments))
    return list(calls.values())


def variants(description, argument=None):
    """Descriptions of other values that the argument, of this schema, might have."""
    kind = description[0]
    if argument is not None and "Optional" in str(argument.type):
        yield from variants_of_none(argument) if description == NONE else [NONE]
    if kind == "T":
        yield from tensor_variants(*description[1:])
    elif kind == "L":
        items = description[1:]
        for i, item in enumerate(items):
            for other in variants(item):
                yield ("L", *items[:i], other, *items[i + 1 :])
        yield ("L",)
        yield description[:2]
    elif isinstance(description[1], bool):
        yield "V", not description[1], bool
    elif isinstance(description[1], int):
        yield from (("V", n, int) for n in (0, 1, -1, 2))
        yield "V", 2.5, float
    elif isinstance(description[1], float):
        yield "V", 2, int
        yield "V", True, bool
    elif isinstance(description[1], torch.dtype):
        yield from (("V", dtype, torch.dtype) for dtype in ALL_DTYPES)
    elif isinstance(description[1], str):
        yield from (("V", word, str) for word in WORDS if word != description[1])


def variants_of_none(argument):
    kind = str(argument.type)
    if argument.name == "dtype":
        yield from (("V", dtype, torch.dtype) for dtype in ALL_DTYPES)
    elif "Tensor" in kind:
        if "List" not in kind:
            sizes = [(), (1,), (3,), (2, 3), (5, 1)]
            yield from (("T", dtype, each) for dtype in (torch.float32, torch.float64, torch.int64) for each in sizes)
    elif "str" in kind:
        yield from (("V", word, str) for word in WORDS)
    elif "bool" in kind:
        yield from (("V", flag, bool) for flag in (False, True))
    elif "List[int]" in kind:
        yield from (("L", *(("V", n, int) for n in numbers)) for numbers in ((), (0,), (1,), (-1, 0)))
    elif argument.name in ("layout", "memory_format"):
        return
    elif "int" in kind:
        yield from (("V", n, int) for n in (0, 1, -1, 2))
    elif "float" in kind or "number" in kind:
        yield from (("V", n, float) for n in (0.0, 0.5, 2.0))


def tensor_variants(dtype, sizes):
    yield from (("T", other, sizes) for other in ALL_DTYPES if other != dtype)
    if all_kinds:
        yield from (("T", other, sizes) for other in RARE_DTYPES if other != dtype)
        yield from (("K", kind, dtype, sizes) for kind in KINDS)
    shapes = [(1, *sizes), (2, *sizes), sizes[1:], sizes[:-1], (), (3,)]
    shapes += [(*sizes[:i], n, *sizes[i + 1 :]) for i in range(len(sizes)) for n in (0, 1)]
    yield from (("T", dtype, other) for other in shapes if other != sizes)
    for other in (torch.float64, torch.int64):
        yield "T", other, ()
        yield "T", other, (2, *sizes)
