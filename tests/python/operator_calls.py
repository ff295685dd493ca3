"""One operator called by both engines: as IR text around the node, so that exactly the wanted overload is reached.

A `Call` is an operator on arguments of given types; `differs` tells how Cresset's outcome is another than torch.jit's. The graph returns the operator's
results, how they print, every argument as the call left it, and which results are arguments.
"""

import contextlib
import re
import struct
import warnings

import torch
from operator_values import fresh

from cresset import _C

#: Types whose values can change, or be shared.
SHARED = re.compile(r"Tensor$|\[\]$|^Dict|^t$")


def full_name(schema):
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


@contextlib.contextmanager
def plain_torchjit():
    """torch.jit runs graphs as they are: nothing is folded, profiled or fused."""
    profiling = torch._C._jit_set_profiling_executor(False)
    optimize = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch._C._jit_set_profiling_executor(profiling)
        torch._C._set_graph_executor_optimize(optimize)


def substitute(text, bindings):
    return re.sub(r"\b(" + "|".join(bindings) + r")\b", lambda m: bindings[m[1]], text) if bindings else text


def graph_text(schema, types, results):
    """The IR of one call: `results` are the static types of what the operator returns."""
    names = [f"%a{i}" for i in range(len(types))]
    heads = ", ".join(f"{n} : {t}" for n, t in zip(names, types))
    outs = [f"%r{i}" for i in range(len(results))]
    lines = [f"graph({heads}):"]
    left = ", ".join(f"{n} : {t}" for n, t in zip(outs, results))
    lines.append(f"  {left + ' = ' if outs else ''}{schema.name}({', '.join(names)})")
    extra, extra_types = [], []
    for i, (out, type_text) in enumerate(zip(outs, results)):
        if type_text != "Generator":
            lines.append(f"  %s{i} : str = aten::str({out})")
            extra.append(f"%s{i}")
            extra_types.append("str")
        for k, (name, arg_type) in enumerate(zip(names, types)):
            if SHARED.search(type_text) and SHARED.search(arg_type):
                lines.append(f"  %i{i}_{k} : bool = aten::__is__({out}, {name})")
                extra.append(f"%i{i}_{k}")
                extra_types.append("bool")
    values, value_types = outs + extra + names, list(results) + extra_types + list(types)
    lines.append(f"  %out : ({', '.join(value_types)}) = prim::TupleConstruct({', '.join(values)})")
    lines.append("  return (%out)")
    return "\n".join(lines)


class Call:
    """The operator on arguments of given types, compiled by both engines."""

    def __init__(self, schema, types, results):
        self.text = graph_text(schema, types, results)
        node = schema.name
        theirs = torch._C.parse_ir(self.text)
        self.their_schema = next(n.schema() for n in theirs.nodes() if n.kind() == node)
        self.theirs = torch._C._create_function_from_graph("f", theirs)
        ours = _C.parse_ir(self.text)
        self.our_schema = next(n.schema() for n in ours.nodes() if n.kind() == node)
        self.ours = _C.function_from_graph("f", ours)

    def differs(self, arguments, allowed=lambda *outcomes: False):
        theirs = outcome(self.theirs, fresh(list(arguments)))
        ours = outcome(self.ours, fresh(list(arguments)))
        if same(ours, theirs) or allowed(arguments, ours, theirs):
            return None
        return f"{show(arguments)}\n      Cresset:   {shorten(ours)}\n      torch.jit: {shorten(theirs)}"


def shorten(outcome):
    return f"{outcome.type.__name__}: {outcome.phrase[:300]}" if isinstance(outcome, Raised) else str(outcome)[:400]


def show(arguments):
    return "(" + ", ".join(repr(fresh(a)) for a in arguments) + ")"


class Raised:
    def __init__(self, error):
        self.type, self.text = type(error), str(error)
        # torch.jit puts its own stack before the message.
        self.phrase = re.split(r"\n(?:RuntimeError|torch\.jit\.Error|builtins\.\w+|\w+Error): ", self.text)[-1].strip()

    def __repr__(self):
        return f"{self.type.__name__}: {self.text}"


def outcome(function, arguments):
    torch.manual_seed(0)
    try:
        return function(*arguments)
    except Exception as error:
        return Raised(error)


def same(a, b):
    """Equal in type, value and bits; tensors in metadata too."""
    if isinstance(a, Raised) or isinstance(b, Raised):
        return isinstance(a, Raised) and isinstance(b, Raised) and same_error(a, b)
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return same_tensor(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return bits(a) == bits(b)
    if isinstance(a, complex):
        return bits(a.real) == bits(b.real) and bits(a.imag) == bits(b.imag)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a.items(), b.items()))
    if isinstance(a, torch.ScriptObject):
        return a._type() == b._type()
    if isinstance(a, torch.Generator):
        return a.initial_seed() == b.initial_seed()
    if isinstance(a, str):
        # Which sign a nan gets depends on the C library that log and sqrt come from.
        return a.replace("-nan", "nan") == b.replace("-nan", "nan")
    return a == b


def bits(x):
    return "nan" if x != x else struct.pack("d", x)


def same_tensor(a, b):
    if a.is_nested or b.is_nested:
        return a.is_nested and b.is_nested and a.layout == b.layout and same(list(a.unbind()), list(b.unbind()))
    if (a.dtype, a.shape, a.device, a.layout, a.requires_grad) != (
        b.dtype,
        b.shape,
        b.device,
        b.layout,
        b.requires_grad,
    ):
        return False
    if a.device.type == "meta":
        return a.stride() == b.stride()
    if a.layout != torch.strided:
        if a.layout == torch.sparse_coo and a.is_coalesced() != b.is_coalesced():
            return False
        return same_tensor(a.to_dense(), b.to_dense())
    if a.is_quantized:
        return (
            a.qscheme() == b.qscheme()
            and torch.equal(a.int_repr(), b.int_repr())
            and same_tensor(a.dequantize(), b.dequantize())
        )
    if a.numel() > 0 and a.stride() != b.stride():
        return False
    a, b = (t.detach().resolve_conj().resolve_neg() for t in (a, b))
    if a.is_complex():
        return same_tensor(torch.view_as_real(a), torch.view_as_real(b))
    if not a.is_floating_point():
        return torch.equal(a, b)
    if a.dtype not in (torch.float32, torch.float64):
        a, b = a.float(), b.float()
    return bool(((a == b) & (torch.signbit(a) == torch.signbit(b)) | (a.isnan() & b.isnan())).all())


def same_error(ours, theirs):
    """torch.jit's message is part of ours, and who catches theirs also catches ours."""
    return (
        issubclass(ours.type, theirs.type if theirs.type is not torch.jit.Error else RuntimeError)
        and theirs.phrase in ours.text
    )
