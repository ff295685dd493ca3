"""Operators that untrusted programs may call, with arguments that no program should have.

Each operator of the table is called with valid arguments (tests/data/operator_calls.txt, the values of the rows' tests, and what
PyTorch's own samples call) of which some are replaced: other numbers, shapes, ranks, strides, dtypes and layouts, None, empty and
misfit lists, arguments that share memory, undefined tensors. Calls go through Cresset, so that an operator's check sees them, in
child processes under an allocator with guard pages (guard_allocator.cpp); some through plans, whose gradients and decompositions
call other kernels. Some results are differentiated, with gradients of any shape, and after what a program may do to any tensor of
the call between the two (`TAMPERING`). A call that ends its process is a fault, and so is a result that lies outside of its memory:
the operator needs a check or a restriction (ops/policy.cpp, ops/argument_checks.cpp).

    python wild_arguments.py [--calls N] [--seed S] [--only NAME] [--restricted] [--samples N] [--share A/B] [--results FILE]

`--results` writes docs/untrusted-operators.md and tests/data/untrusted_operators.txt, from all runs with that file.
"""

import argparse
import collections
import contextlib
import ctypes
import itertools
import json
import math
import mmap
import os
import random
import re
import signal
import struct
import sys
import textwrap
import time
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace

import torch
import torch._dynamo  # some calls import it: thousands of blocks, each with its guards
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import recorded_calls  # noqa: E402
from operator_calls import full_name, substitute  # noqa: E402
from operator_values import VARIABLES, argument_tuples, fresh  # noqa: E402

import cresset  # noqa: E402
from cresset import _C  # noqa: E402

CPU_SECONDS, SECONDS = 5, 60  # of one call
BYTES = 1 << 30  # of all blocks that a call holds; more is an error of the allocation
SLOW = "does not end"
OUTSIDE = 77  # the status of a process that found a result outside of its memory
FAULTS = 2  # of one operator: then it is not tried any more
AT_END, AT_START = 1, 2
MOST_BLOCKS = 12_000  # with guard pages in a process, which then makes place for another: two mappings each, of 65,530

# ---- operators, and valid calls of them ----


class Subject:
    """One operator, with valid calls: functions that make the arguments anew."""

    def __init__(self, schema):
        self.schema, self.name = schema, full_name(schema)
        self.calls = []
        self.functions = {}

    def function(self, types, undefined=None):
        """Calls this overload from a graph, with arguments of these types; `undefined` is the place of an undefined tensor."""
        key = (tuple(types), undefined)
        if key not in self.functions:
            self.functions[key] = self.compiled(types, undefined)
        return self.functions[key]

    def compiled(self, types, undefined):
        names = [f"%a{i}" for i in range(len(types))]
        heads = [f"{n} : {t}" for n, t in zip(names, types)]
        lines = []
        if undefined is not None:
            names[undefined] = "%undefined"
            lines = UNDEFINED
        bindings = variables_of(self.schema, types)
        results = [substitute(r.type.str(), bindings) for r in self.schema.returns]
        outs = [f"%r{i}" for i in range(len(results))]
        left = ", ".join(f"{n} : {t}" for n, t in zip(outs, results))
        lines = [
            f"graph({', '.join(heads)}):",
            *lines,
            f"  {left + ' = ' if outs else ''}{self.schema.name}({', '.join(names)})",
            f"  %out : ({', '.join(results)}) = prim::TupleConstruct({', '.join(outs)})"
            if results
            else "  %out : NoneType = prim::Constant()",
            "  return (%out)",
        ]
        graph = _C.parse_ir("\n".join(lines))
        chosen = next(n.schema() for n in graph.nodes() if n.kind() == self.schema.name)
        if chosen.split("(")[0] != self.name:
            if self.name in DISPATCHER:
                return recorded_calls.eager(self.schema)  # no graph reaches it
            raise LookupError(f"another overload takes these: {chosen}")
        return _C.function_from_graph("f", graph)


#: A tensor that is none, as some operators return one.
UNDEFINED = [
    "  %two : int = prim::Constant[value=2]()",
    "  %none : NoneType = prim::Constant()",
    "  %no : bool = prim::Constant[value=0]()",
    "  %size : int[] = prim::ListConstruct(%two)",
    "  %square : int[] = prim::ListConstruct(%two, %two)",
    "  %x : Tensor = aten::ones(%square, %none, %none, %none, %none)",
    "  %mask : bool[] = prim::ListConstruct(%no, %no, %no)",
    "  %undefined : Tensor, %u1 : Tensor, %u2 : Tensor = "
    "aten::native_layer_norm_backward(%x, %x, %size, %x, %x, %none, %none, %mask)",
]
DISPATCHER = set(torch._C._dispatch_get_all_op_names())


def variables_of(schema, types):
    """What the schema's type variables stand for, if the arguments have these types."""
    bindings = {}
    for argument, given in zip(schema.arguments, types):
        pattern = re.escape(argument.type.str())
        for variable in ("tVal", "t1", "t2", "t"):
            pattern = re.sub(rf"(?<![\w<]){variable}(?!\w)", f"(?P<{variable}>.+)", pattern, count=1)
        with contextlib.suppress(re.error):
            if found := re.fullmatch(pattern, given):
                bindings |= found.groupdict()
    return bindings


def instances(schema):
    """Argument types, for some ways to fill the schema's type variables."""
    arguments = [a.type.str() for a in schema.arguments]
    variables = sorted({v for t in arguments for v in re.findall(r"\b(t|t1|t2|tVal)\b", t)})
    for i in range(3 if variables else 1):
        bindings = {v: VARIABLES[(i + j) % len(VARIABLES)] for j, v in enumerate(variables)}
        yield [substitute(t, bindings) for t in arguments]


def subjects():
    """Every operator of the table."""
    return {s.name: s for s in map(Subject, _C._get_all_schemas())}


def add_written_calls(table):
    for name, (_mark, text) in recorded_calls.read().items():
        # A call that eager answers with an error is one to start from, too.
        if name in table:
            types = [a.type.str() for a in table[name].schema.arguments]
            table[name].calls.append((types, lambda text=text: list(recorded_calls.make(text))))


def add_rows(table):
    for subject in table.values():
        if subject.name in DISPATCHER or subject.schema.is_vararg:
            continue
        for types in instances(subject.schema):
            with contextlib.suppress(LookupError, KeyError, TypeError):
                for values in argument_tuples(subject.schema, types)[:8]:
                    subject.calls.append((types, lambda values=values: fresh(list(values))))


class Recorder(TorchDispatchMode):
    """Adds calls to the table: of each overload some, with small tensors of different shapes and dtypes."""

    def __init__(self, table):
        super().__init__()
        self.table, self.known = table, collections.defaultdict(set)

    def __torch_dispatch__(self, func, _types, args=(), kwargs=None):
        kwargs = kwargs or {}
        subject = self.table.get(full_name(func._schema))
        tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        if subject and sum(t.numel() for t in tensors) < 20_000:
            known = self.known[subject.name]
            key = tuple((tuple(t.shape), t.dtype, t.layout) for t in tensors)
            if key not in known and len(known) < 6:
                known.add(key)
                with contextlib.suppress(Exception):
                    self.keep(subject, args, kwargs)
        return func(*args, **kwargs)

    @staticmethod
    def keep(subject, args, kwargs):
        given = dict(zip([a.name for a in subject.schema.arguments], args)) | kwargs
        arguments = [given[a.name] if a.name in given else a.default_value for a in subject.schema.arguments]
        kept = tree_map(snapshot, arguments)
        types = [a.type.str() for a in subject.schema.arguments]
        subject.calls.append((types, lambda: tree_map(snapshot, kept)))


def snapshot(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return list(value) if isinstance(value, tuple) else value


def add_samples(table, per_operator):
    """What PyTorch's samples call, forward and backward."""
    # They stand beside its test classes, whose base is a package that is not needed here.
    sys.modules.setdefault("expecttest", SimpleNamespace(TestCase=unittest.TestCase))
    from torch.testing._internal.common_methods_invocations import op_db

    recorder = Recorder(table)
    for op in op_db:
        for dtype in (torch.float32, torch.int64):
            if dtype not in op.dtypes:
                continue
            differentiable = dtype == torch.float32 and op.supports_autograd
            with contextlib.suppress(Exception):
                for sample in itertools.islice(
                    op.sample_inputs("cpu", dtype, requires_grad=differentiable), per_operator
                ):
                    with contextlib.suppress(Exception), recorder:
                        backward(op(sample.input, *sample.args, **sample.kwargs))


def tensors_of(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def can_be_written(tensor):
    """PyTorch's zero tensors refer to an allocator that is gone, which `resize_` and `torch.randn(out=)` call, in eager too. Only callers can make them."""
    return not tensor._is_zerotensor()


def backward(result):
    leaves = [t for t in tensors_of(result) if t.requires_grad]
    if leaves:
        torch.autograd.backward(leaves, [torch.ones_like(t) for t in leaves])


# ---- wild arguments ----

INTS = [0, 1, -1, 2, -2, 3, 7, 17, 1000, -1000, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63)]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    1e-30,
    5e-324,
    1e20,
    -1e20,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
]
STRINGS = [
    "",
    "none",
    "mean",
    "sum",
    "max",
    "min",
    "prod",
    "reflect",
    "constant",
    "ij",
    "L",
    "\0",
    "ä" * 100,
    "i,ij->j",
]
SIZES = [0, 1, 1, 2, 3, 5, 16, 33]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.float8_e4m3fn]  # fmt: skip
#: The place of an argument that a graph makes undefined.
UNDEFINED_TENSOR = object()


def fill(shape, dtype, rng):
    """A tensor of small values."""
    values = torch.tensor([rng.choice([0, 1, 1, 2, 3]) for _ in range(16)])
    count = math.prod(shape)
    return values.repeat(count // 16 + 1)[:count].to(dtype).reshape(shape)


def wild_shape(shape, rng):
    shape = list(shape)
    way = rng.randrange(8)
    if way < 4 and shape:
        at = rng.randrange(len(shape))
        shape[at] = [0, 1, shape[at] * 40 + 1, max(0, shape[at] - 1)][way]
    elif way == 4 and shape:
        del shape[rng.randrange(len(shape))]
    elif way == 5:
        shape.insert(rng.randrange(len(shape) + 1), rng.choice(SIZES))
    elif way == 6:
        shape = [1]
    else:
        shape = [rng.choice(SIZES) for _ in range(rng.randrange(7))]
    while math.prod(shape) > 200_000:
        shape[shape.index(max(shape))] = 2
    return shape


def other_shape(t, rng):
    shape = wild_shape(t.shape, rng)
    return fill(shape, t.dtype if not t.is_quantized else torch.float32, rng)


def other_dtype(t, rng):
    return t.to(rng.choice(DTYPES))


def sum_that_wraps(t):
    """In place: numbers whose sum wraps around to something small, for kernels that size their result by it."""
    t.view(-1)[: 3 if t.numel() % 4 else 4] = torch.tensor([2**63 - 1, 2**63 - 1, 2] if t.numel() % 4 else [2**62] * 4)
    t.view(-1)[4:] = 1
    return t


def other_values(t, rng):
    numbers = FLOATS if t.dtype.is_floating_point or t.dtype.is_complex else [*INTS, t.numel(), -t.numel() - 1]
    out = t.clone(memory_format=torch.contiguous_format)
    number = rng.choice(numbers)
    if out.dtype == torch.int64 and out.numel() >= 3 and rng.random() < 0.2:
        return sum_that_wraps(out)
    if not (out.dtype.is_floating_point or out.dtype.is_complex or out.dtype == torch.bool):
        info = torch.iinfo(out.dtype)
        number = min(max(number, info.min), info.max)
    if rng.random() < 0.5 and out.numel() > 0:
        out.view(-1)[rng.randrange(out.numel())] = number
    elif rng.random() < 0.2:
        out = out.flatten().flip(0).reshape(out.shape)
    else:
        out.fill_(number)
    return out


def other_strides(t, rng):
    way = rng.randrange(6)
    if way == 0:
        return t[:1].expand(t.shape) if t.dim() else t
    if way == 1:
        return t.repeat(*[2] * t.dim())[tuple(slice(None, None, 2) for _ in t.shape)] if t.dim() else t
    if way == 2:
        return t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() else t
    if way == 3:
        return t.as_strided(t.shape, [rng.choice([0, 1]) for _ in t.shape])  # elements that overlap
    if way == 4:
        return t.transpose(0, -1) if t.dim() else t
    return torch.cat([t.flatten()[:1], t.flatten()])[1:].reshape(t.shape) if t.numel() else t


def other_kind(t, rng):
    """Another layout, device, or a tensor that stands for another."""
    return rng.choice([
        lambda: t.to_sparse(), lambda: t.to_sparse_csr(), lambda: t.to_mkldnn() if t.numel() else t, lambda: t.to("meta"),
        lambda: torch.quantize_per_tensor(t.float(), 0.1, 1, torch.quint8),
        lambda: torch.quantize_per_channel(t.float(), torch.full((t.size(0),), 0.1), torch.zeros(t.size(0)), 0, torch.qint8),
        lambda: torch.nested.nested_tensor([t, t]), lambda: torch._efficientzerotensor(t.shape, dtype=t.dtype),
        lambda: t.to(torch.complex64).conj(), lambda: torch.empty(0), lambda: t.detach().requires_grad_(),
        lambda: t.to_sparse_bsr([1, 1]), lambda: torch.empty([0] * t.dim()), lambda: t.int_repr(), lambda: t.new_empty(t.shape),
    ])()  # fmt: skip


def wild_tensor(t, rng, tensors):
    way = rng.random()
    if way < 0.1 and tensors:
        other = rng.choice(tensors)
        return rng.choice([other, other.view(-1)[1:], other.detach(), other.transpose(0, -1), other.view(-1)[:1]])
    plain = t.layout == torch.strided and not t.is_nested
    dense = t if plain and not t.is_quantized else t.dequantize() if t.is_quantized else t.to_dense()
    makers = [other_shape] * 5 + [other_values] * 5 + [other_dtype] * 2 + [other_strides] * 2 + [other_kind]
    out = rng.choice(makers)(dense, rng)
    if t.is_quantized and rng.random() < 0.7:
        out = torch.quantize_per_tensor(out.float(), 0.25, 1, t.dtype)
    return out


def wild_list(values, rng, tensors):
    values = list(values)
    way = rng.randrange(7)
    if way == 0:
        return []
    if way == 1:
        return values[:-1]
    if way == 2:
        return values + values[:1]
    if way == 3:
        return values * 7
    if way == 4 and values:
        return values[:1]
    if values:
        at = rng.randrange(len(values))
        values[at] = wild(values[at], "", rng, tensors)
    return values


def wild(value, type_text, rng, tensors):
    """Something in the place of `value`, of the same type."""
    if type_text.endswith("?") and value is not None and rng.random() < 0.25:
        return None
    if value is None and type_text.endswith("?"):
        return made_up(type_text[:-1], rng, tensors)
    if isinstance(value, torch.Tensor):
        if type_text == "Tensor" and rng.random() < 0.03:
            return UNDEFINED_TENSOR
        return wild_tensor(value, rng, tensors)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(INTS if not type_text.startswith("Scalar") else INTS + FLOATS)
    if isinstance(value, float):
        return rng.choice(FLOATS if not type_text.startswith("Scalar") else INTS + FLOATS)
    if isinstance(value, str):
        return rng.choice(STRINGS)
    if isinstance(value, (list, tuple)):
        return wild_list(value, rng, tensors)
    return value


def made_up(type_text, rng, tensors):
    """A value where there was none."""
    if type_text == "Tensor":
        like = rng.choice(tensors) if tensors else torch.ones(3)
        return fill(list(like.shape) if rng.random() < 0.5 else wild_shape(like.shape, rng), rng.choice(DTYPES), rng)
    if type_text.endswith("[]"):
        return [made_up(type_text[:-2], rng, tensors) for _ in range(rng.randrange(4))]
    known = {"int": INTS, "float": FLOATS, "Scalar": INTS + FLOATS, "bool": [False, True], "str": STRINGS}
    return rng.choice(known[type_text]) if type_text in known else None


def is_written(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def variant(subject, seed, number):
    """The arguments of one call, their types, and the place of an undefined tensor."""
    rng = random.Random(f"{seed} {subject.name} {number}")
    kinds, make = subject.calls[number % len(subject.calls)]
    arguments = make()
    tensors = [t for t in tree_flatten(arguments)[0] if isinstance(t, torch.Tensor) and t.layout == torch.strided]
    undefined = None
    for _ in range(0 if number == 0 else rng.choice([1, 1, 1, 1, 2, 2, 3])):
        if not arguments:
            break
        at = rng.randrange(len(arguments))
        try:
            changed = wild(arguments[at], kinds[at], rng, tensors)
        except Exception:  # noqa: BLE001, S112
            continue  # that tensor can't be made so
        if changed is UNDEFINED_TENSOR:
            undefined = at
        elif is_written(subject.schema.arguments[at]) and not all(map(can_be_written, tensors_of(changed))):
            continue
        else:
            arguments[at] = changed
    return arguments, kinds, undefined, rng


# ---- gradients ----

#: What a program may do to a tensor that autograd may have kept: each is the body of a function of a tensor, another one, and a number.
TAMPERING = [
    "t.fill_(n)",
    "t.detach().fill_(n)",
    "t.data.fill_(n)",
    "t.detach().data.view([-1]).fill_(n)",
    "t.data.random_()",
    "t.detach().copy_(other)",
    "t.data.copy_(other)",
    "t.detach().resize_([n % 1000])",
    "t.resize_([0])",
    "t.resize_([7, n % 100])",
    "t.data.resize_([n % 1000])",
    "t.resize_as_(other)",
    "t.as_strided_([1], [1])",
    "t.as_strided_([t.numel()], [0])",
    "t.unsqueeze_(0)",
    "t.squeeze_()",
    "t.transpose_(0, -1)",
    "t.swapaxes_(0, 1)",
    "t.t_()",
    "t.detach_()",
    "t.zero_()",
    "t.data.zero_()",
    "t.set_data(other)",
    "torch.arange(n % 1000, out=t)",
    "torch.full([5, n % 100], n, out=t)",
    "torch.neg(other, out=t)",
]


def tampering(table):
    """The functions of TAMPERING that an untrusted program may contain, and one that asks for gradients."""
    functions = []
    for body in TAMPERING:
        try:
            unit = cresset.CompilationUnit(f"def f(t, other, n: int):\n  with torch.no_grad():\n    {body}\n")
        except cresset.Error:
            continue  # not in the language
        names = [node.schema().split("(")[0] for node in unit.f.graph.nodes()]
        if not any(name in table and _C._is_restricted(name) for name in names):
            functions.append(unit.f)
    unit = cresset.CompilationUnit(
        "def f(y: List[Tensor], x: List[Tensor], g: List[Optional[Tensor]], again: bool):\n"
        "  return torch.autograd.grad(y, x, g, retain_graph=again, allow_unused=True, create_graph=again)\n"
    )
    return functions, unit.f


def differentiated(arguments, result, rng, tools):
    """Gradients of the results with respect to the arguments, as a program may ask for them."""
    functions, gradients = tools
    tensors = [t for t in tensors_of([arguments, result]) if can_be_written(t)]
    if tensors and rng.random() < 0.6:
        for _ in range(rng.choice([1, 1, 2, 4])):
            with contextlib.suppress(Exception):
                rng.choice(functions)(rng.choice(tensors), rng.choice(tensors), rng.choice(INTS))
    wanted = [t for t in tensors_of(arguments) if t.requires_grad]
    roots = [t for t in tensors_of(result) if t.requires_grad]
    if not roots or not wanted:
        return
    given = [torch.ones_like(t) for t in roots]
    if rng.random() < 0.5:
        at = rng.randrange(len(given))
        with contextlib.suppress(Exception):
            given[at] = wild_tensor(given[at], rng, tensors)
    again = rng.random() < 0.3
    found = gradients(roots, wanted, given, again)
    roots = [t for t in tensors_of(found) if t.requires_grad]
    if again and roots:
        gradients(roots, wanted, [torch.ones_like(t) for t in roots], False)


class OutsideOfMemory(BaseException):
    """A result whose elements are not all in its storage, or with sizes that no tensor has."""


def look_at(result):
    for t in tensors_of(result):
        if (
            t.is_nested
            or t.is_quantized  # some have less than a byte for an element
            or t.layout != torch.strided
            or t.device.type != "cpu"
            or torch._C._functorch.is_functorch_wrapped_tensor(t)
        ):
            continue
        if min(t.shape, default=0) < 0 or min(t.stride(), default=0) < 0 or t.storage_offset() < 0:
            raise OutsideOfMemory
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
        if t.numel() and (t.storage_offset() + last + 1) * t.element_size() > t.untyped_storage().nbytes():
            raise OutsideOfMemory


# ---- running them ----


def run_call(subject, seed, number, guard, tools, describe=None):
    guard(AT_END if number % 2 else AT_START, BYTES)
    try:
        arguments, kinds, undefined, rng = variant(subject, seed, number)
        differentiate = rng.random() < 0.5
        by_plan = number % 4 == 3
        _C._set_plans_always(by_plan)
        if describe:
            guard(0, 0)
            describe(shown(arguments, undefined))
            guard(AT_END if number % 2 else AT_START, BYTES)
        # Plans are dropped with their function: each of their small blocks has pages here.
        function = (subject.compiled if by_plan else subject.function)(kinds, undefined)
        if differentiate:
            for t in tree_flatten(arguments)[0]:
                if isinstance(t, torch.Tensor) and t.is_leaf and t.dtype.is_floating_point:
                    t.requires_grad_()
        result = function(*arguments)
        _C._set_plans_always(False)
        look_at([result, arguments])
        for leaf in tensors_of(result):
            if leaf.numel() < 100_000:
                # What is wrong with the result itself shows when it is used.
                leaf.dequantize() if leaf.is_quantized else leaf.to_dense() if leaf.layout != torch.strided else leaf.clone()
        if differentiate:
            differentiated(arguments, result, rng, tools)
        return True
    except OutsideOfMemory:
        os._exit(OUTSIDE)
    except Exception:  # noqa: BLE001
        return False
    finally:
        result = arguments = function = None
        guard(0, 0)


def shown(value, undefined=None):
    if isinstance(value, torch.Tensor):
        text = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if value.layout == torch.strided and not value.is_nested and not value.is_contiguous():
            text += f" strides {list(value.stride())}"
        elif value.layout != torch.strided:
            text += f" {value.layout}"
        plain = value.layout == torch.strided and value.device.type == "cpu" and not value.is_nested
        if value._is_zerotensor():
            text += " of zeros without memory"
        elif plain and 0 < value.numel() and not value.is_quantized:
            text += f" of {value.flatten()[:6].tolist()}"
        return text
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join("undefined" if i == undefined else shown(v) for i, v in enumerate(value)) + "]"
    return repr(value)


class Shared:
    """What a child tells: which call it is about to make, how many it made, and how many of those gave results."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    def tell(self, *numbers):
        struct.pack_into("4q", self.memory, 0, *numbers)

    def told(self):
        return struct.unpack_from("4q", self.memory, 0)


def make_tables():
    """Makes what is made once in a process, when the first plan or gradient needs it: in a child each of its many small blocks would have pages of its own,
    of which a process can have only so many.
    """
    _C._set_plans_always(True)
    function = cresset.CompilationUnit("def f(x: Tensor):\n  y = x * 2 + 1\n  return (y.exp() * y).sum()").f
    for _ in range(2):
        function(torch.ones(2, requires_grad=True)).backward()
    _C._set_plans_always(False)


def child(body):
    """Runs `body` in a child; its end: "" or the name of a signal."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            warnings.simplefilter("ignore")
            body()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGPROF, signal.SIGALRM):
            return SLOW
        return "writes beside a block" if number == signal.SIGILL else signal.Signals(number).name
    code = os.WEXITSTATUS(status)
    return {0: "", OUTSIDE: "a result outside of its memory"}.get(code, f"exits with {code}")


class Faults:
    """Finds calls that end their process, operator by operator."""

    def __init__(self, guard, seed, calls, say, tools):
        self.guard, self.seed, self.calls, self.say, self.tools = guard, seed, calls, say, tools
        self.shared = Shared()
        self.found = collections.defaultdict(list)
        self.tried, self.answered = collections.Counter(), collections.Counter()

    def run(self, batch):
        """`batch`: subjects. One child for all of them, as long as none ends it and it has not too many blocks."""
        first, number = 0, 0
        while first < len(batch):
            self.shared.tell(first, number, 0, 0)
            end = child(lambda first=first, number=number: self.body(batch, first, number))
            at, last, made, answered = self.shared.told()
            if not end and at == len(batch):
                return
            name = batch[at].name
            if not end:
                self.tried[name] += made
                self.answered[name] += answered
                first, number = at, last
                continue
            self.tried[name] += made + 1
            self.answered[name] += answered
            self.confirm(batch[at], last, end)
            if len(self.found[name]) >= FAULTS:
                first, number = at + 1, 0
            else:
                first, number = at, last + 1

    def body(self, batch, first, start):
        number = start
        for at in range(first, len(batch)):
            made = answered = 0
            for k in range(number, self.calls):
                self.shared.tell(at, k, made, answered)
                if (at, k) != (first, start) and blocks()[0] > MOST_BLOCKS:
                    return
                signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                answered += run_call(batch[at], self.seed, k, self.guard, self.tools)
                made += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            number = 0
            self.totals(batch[at].name, made, answered)
        self.shared.tell(len(batch), 0, 0, 0)

    def totals(self, name, made, answered):
        """Told through a file: operators that ended well in one child are many."""
        os.write(self.log, f"{name} {made} {answered}\n".encode())

    def confirm(self, subject, number, how):
        """Tells the call, made again in a process of its own; or with the calls of the operator before it."""
        read, write = os.pipe()
        describe = lambda text: os.write(write, text.encode()[:4000])  # noqa: E731

        def again(first):
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS * 4)
            for k in range(first, number + 1):
                run_call(subject, self.seed, k, self.guard, self.tools, describe if k == number else None)

        end = child(lambda: again(number)) or child(lambda: again(0))
        os.close(write)
        with os.fdopen(read, "rb") as stream:
            text = stream.read().decode(errors="replace")
        if end:
            self.found[subject.name].append((end, text))
            self.say(f"{subject.name}{text[:400]}: {end}")
        else:
            self.say(f"{subject.name}: {how} after calls of other operators, and not by itself")


def hunt(table, guard, seed, calls, say, tools, batch_size=24):
    """What faults the operators of the table have: name → [(how, arguments)]; calls, and those that gave a result, by name."""
    faults = Faults(guard, seed, calls, say, tools)
    read, faults.log = os.pipe()
    os.set_blocking(read, False)
    wanted = [s for s in table.values() if s.calls]
    totals = b""
    for i in range(0, len(wanted), batch_size):
        faults.run(wanted[i : i + batch_size])
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(read, 1 << 16):
                totals += chunk
    for line in totals.decode().splitlines():
        name, made, answered = line.split()
        faults.tried[name] += int(made)
        faults.answered[name] += int(answered)
    return faults


# ---- what was found ----

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "data" / "untrusted_operators.txt"
TABLE = ROOT / "docs" / "untrusted-operators.md"


def by_base_name(names):
    """Lines: an operator's name, and its overloads, `-` for the one without a name."""
    bases = collections.defaultdict(list)
    for name in sorted(names):
        base, _, overload = name.partition(".")
        bases[base].append(overload or "-")
    return [f"{base} {' '.join(overloads)}" for base, overloads in bases.items()]


def read_list():
    """The names of the operators that have been judged."""
    names = set()
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            base, *overloads = line.lstrip("!").split()
            names |= {base if overload == "-" else f"{base}.{overload}" for overload in overloads}
    return names


def known_faults():
    """By operator, those of the table as it is: of runs whose files of results are gone."""
    known, how = {}, None
    for line in TABLE.read_text().partition("## Faults that were found")[2].partition("\n## ")[0].splitlines():
        if heading := re.fullmatch(r"(.+) \(\d+\):", line):
            how = heading[1].split(", ")
        elif how:
            known |= {name: how for name in re.findall(r"`([\w:.]+)\*?`", line)}
    return known


def merged(path, faults):
    """What earlier runs found and this one, by operator: calls, all faults that were ever found, and whether the last run found one."""
    nothing = {"calls": 0, "answered": 0, "last": []}
    first = {name: nothing | {"faults": hows} for name, hows in known_faults().items()}
    results = json.loads(path.read_text()) if path.exists() else first
    for name, calls in faults.tried.items():
        old = results.get(name, {"calls": 0, "answered": 0, "faults": []})
        hows = [how for how, _ in faults.found.get(name, [])]
        results[name] = {
            "calls": old["calls"] + calls,
            "answered": old["answered"] + faults.answered[name],
            "faults": sorted({*old["faults"], *hows}),
            "last": sorted(set(hows)),
        }
    return results


def write_list(table, results):
    free = [n for n in table if not _C._is_restricted(n)]
    tried = [n for n in free if results.get(n, {"calls": 0})["calls"]]
    without = [f"!{line}" for line in by_base_name(set(free) - set(tried))]
    LIST.write_text(
        "# Operators that untrusted programs may call, with their overloads: wild_arguments.py has tried them, but for those with a !,\n"
        "# whose arguments nothing here can make. Written by `wild_arguments.py --results FILE`.\n"
        + "\n".join([*by_base_name(tried), *without])
        + "\n"
    )


def write_table(table, results):
    nothing = {"calls": 0, "answered": 0, "faults": [], "last": []}
    results = {name: results.get(name, nothing) for name in table}
    groups = collections.defaultdict(list)
    for name in table:
        groups[
            _C._restriction(name) or ("called after a check" if _C._has_argument_check(name) else "called as it is")
        ].append(name)
    lines = ["# Operators and untrusted programs", "", INTRODUCTION, ""]
    lines += [
        "| what the entry says | operators | tried | calls | with a fault, ever | now |",
        "|---|---|---|---|---|---|",
    ]
    for reason, names in sorted(groups.items(), key=lambda item: -len(item[1])):
        refused = "" if reason.startswith("called") else "refused: "
        rows = [results[n] for n in names]
        lines.append(
            f"| {refused}{reason} | {len(names)} | {sum(1 for r in rows if r['calls'])} | {sum(r['calls'] for r in rows)} | "
            f"{sum(1 for r in rows if set(r['faults']) - {SLOW})} | "
            f"{'' if refused else sum(1 for r in rows if set(r['last']) - {SLOW})} |"
        )
    lines += ["", "## Called after a check of their arguments", "", wrapped(groups["called after a check"])]
    lines += ["", "## Faults that were found", "", "A signal, or a write beside a block that the allocator saw. Names with a * have a check now, or are repaired; the others are refused.", ""]  # fmt: skip
    ends = collections.defaultdict(list)
    for name, result in results.items():
        if how := ", ".join(h for h in result["faults"] if h != SLOW):
            ends[how].append(name + "*" * (not _C._is_restricted(name)))
    for how, names in sorted(ends.items()):
        lines += [f"{how} ({len(names)}):", "", wrapped(names), ""]
    slow = [n for n, r in results.items() if SLOW in r["last"] and not _C._is_restricted(n)]
    lines += ["## Calls that do not end", "", f"Within {CPU_SECONDS} s, for some numbers. Only the end of a process stops those.", "", wrapped(slow)]  # fmt: skip
    TABLE.write_text("\n".join(lines) + "\n")


INTRODUCTION = """\
Written by `tests/fuzz/wild_arguments.py --results FILE`, which calls each operator with arguments that no program should have
([decision 3](decisions/0003-untrusted-programs.md)). An operator is refused, called after a check of its arguments
(`src/cresset/ops/argument_checks.cpp`), or called as it is; a program may call the refused ones if whoever loads it says so."""


def wrapped(names):
    return "\n".join(textwrap.wrap(" ".join(f"`{n}`" for n in sorted(names)), 140, break_on_hyphens=False)) or "None."


def guard_library():
    """It stands in the build that the package comes from."""
    build = Path(_C.__file__).parents[2]
    found = next(build.rglob("libguard-allocator.so"), None)
    if not found:
        sys.exit(f"the guard-allocator is not built in {build}: ninja guard-allocator")
    return found


def load_guard():
    guard = ctypes.CDLL(None).guard_allocations  # a preloaded library
    guard.argtypes = [ctypes.c_int, ctypes.c_size_t]
    guard.restype = None
    return guard


def blocks():
    """Blocks that have guard pages, and how many have been given none; without the allocator none."""
    functions = [getattr(ctypes.CDLL(None), name, None) for name in ("guarded_blocks", "unguarded_blocks")]
    return tuple(function() if function else 0 for function in functions)


def may_be_tried(name, restricted):
    """Never what would write files here."""
    return not _C._is_restricted(name) or (restricted and "files" not in _C._restriction(name))


def restart_with(library):
    if library not in os.environ.get("LD_PRELOAD", ""):
        os.environ |= {"LD_PRELOAD": library, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        os.execv(sys.executable, [sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300, help="of each operator")
    parser.add_argument("--samples", type=int, default=6, help="of PyTorch's, of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="operators whose names match")
    parser.add_argument("--restricted", action="store_true", help="those that untrusted programs may not call, too")
    parser.add_argument("--share", default="0/1", help="A/B: each B-th operator, from the A-th on")
    parser.add_argument(
        "--results",
        help="a file of results, to which these are added; the table and the list of operators are written from it",
    )
    args = parser.parse_args()
    restart_with(str(guard_library()))
    start = time.monotonic()
    torch.set_num_threads(1)
    make_tables()
    warnings.simplefilter("ignore")
    guard = load_guard()
    table = subjects()
    add_written_calls(table)
    add_rows(table)
    if args.samples:
        add_samples(table, args.samples)
    share, shares = map(int, args.share.split("/"))
    names = [n for n in sorted(table) if re.search(args.only, n) and may_be_tried(n, args.restricted)]
    names = names[share::shares]
    chosen = {n: table[n] for n in names}
    prepared = time.monotonic()
    say = lambda text: print(text, flush=True)  # noqa: E731
    faults = hunt(chosen, guard, args.seed, args.calls, say, tampering(table))
    for name in names:
        if not chosen[name].calls:
            faults.tried[name] += 0
    if args.results:
        results = merged(Path(args.results), faults)
        Path(args.results).write_text(json.dumps(results))
        write_list(table, results)
        write_table(table, results)
    real = [n for n, found in faults.found.items() if any(how != SLOW for how, _ in found)]
    say(
        f"{sum(1 for n in names if faults.tried[n])} of {len(names)} operators, {sum(faults.tried.values())} calls, "
        f"{sum(faults.answered.values())} with a result, {len(real)} operators with faults: {' '.join(sorted(real))}; "
        f"{prepared - start:.0f} s + {time.monotonic() - prepared:.0f} s"
    )
    sys.exit(1 if any(not _C._is_restricted(n) for n in real) else 0)


if __name__ == "__main__":
    main()
