"""What torch's and Python's own functions mean in programs, by identity.

A row is an object and what it stands for: a name in one of the compiler's namespaces ("aten" for operators, "torch.jit"
and the like for what the compiler gives meaning to itself, "builtins" for Python's), "constant" for a function that is
False in every program, or "is_tensor" for one that the type of its argument settles. Functions of C that are operators
need no row: they say what they are.
"""

import builtins
import cmath
import collections
import math
import warnings

import torch

from . import _C, _runtime

_NAMESPACES = {
    "torch": [
        "device", "Tensor", "Generator", "Stream", "Size", "no_grad", "enable_grad", "inference_mode", "autocast",
        "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor",
        "BoolTensor", "_check", "_assert", "finfo", "iinfo",
    ],
    "torch.jit": [
        "annotate", "fork", "_fork", "wait", "_wait", "isinstance", "is_scripting", "is_tracing", "_unwrap_optional",
        "_awaitable", "_awaitable_nowait", "_awaitable_wait",
    ],
    "torch.autograd": ["grad", "backward"],
    "torch.nn.modules.utils": ["_list_with_default"],
    "torch.nn.functional": ["assert_int_or_pair"],
    "torch.autograd.profiler": ["record_function"],
    "torch.cuda.amp": ["autocast"],
    "torch.cpu.amp": ["autocast"],
}  # fmt: skip

# Python functions of torch that ask whether an overriding class takes over. In a program none does.
_FALSE = [
    "torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary",
    "torch.overrides.has_torch_function_variadic", "torch.compiler.is_compiling",
    "torch.compiler.is_dynamo_compiling", "torch.compiler.is_exporting", "torch._utils.is_compiling",
    "torch.compiler._is_compiling",
]  # fmt: skip

_OPERATORS = {
    "torch.backends.cudnn.is_acceptable": "cudnn_is_acceptable",
    "torch._C._infer_size": "_infer_size",
    "torch.broadcast_shapes": "broadcast_shapes",
    "torch.nn.functional._no_grad_embedding_renorm_": "_no_grad_embedding_renorm_",
    "torch.nn.init._no_grad_fill_": "_no_grad_fill_",
    "torch.nn.init._no_grad_normal_": "_no_grad_normal_",
    "torch.nn.init._no_grad_uniform_": "_no_grad_uniform_",
    "torch.nn.init._no_grad_zero_": "_no_grad_zero_",
    "torch._C._get_tracing_state": "_get_tracing_state",
    "torch._C._get_cpu_capability": "_get_cpu_capability",
    "torch._VF.stft": "stft",
    "torch._VF.istft": "istft",
    "torch._VF.cdist": "cdist",
    "torch._VF.norm": "norm",
    "torch._VF.unique_dim": "unique_dim",
    "torch._VF.unique_consecutive": "unique_consecutive",
    "torch._VF.nuclear_norm": "nuclear_norm",
    "torch._VF.frobenius_norm": "frobenius_norm",
    "torch._VF.tensordot": "tensordot",
}

# Functions of torch.functional whose Python code does more than the operator of that name.
_COMPILED_FROM_SOURCE = ["stft", "istft", "lu", "cdist", "norm", "unique", "unique_consecutive", "tensordot"]

_CMATH = {
    "phase": "angle", "rect": "polar", **{name: name for name in (
        "isnan", "isfinite", "isinf", "log", "log10", "sqrt", "exp", "sin", "tan", "cos", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh")},
}  # fmt: skip


def _find(path):
    """The object of a dotted path below torch; None if this version of torch lacks it."""
    found = torch
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return found


def rows():
    """Yields (object, namespace, name). Of several rows for one object the last counts."""
    for name, value in vars(builtins).items():
        if callable(value):
            yield value, "builtins", name
    # Python functions and C functions under other names than their own, as members of torch.
    special = [getattr(torch.functional, name, None) for name in _COMPILED_FROM_SOURCE]
    for name in dir(torch):
        value = getattr(torch, name, None)
        if callable(value) and not isinstance(value, type) and all(value is not each for each in special):
            yield value, "aten", "segment_reduce" if name == "_segment_reduce" else name
    for module in (
        torch._C._nn,
        torch._C._fft,
        torch._C._linalg,
        torch._C._nested,
        torch._C._sparse,
        torch._C._special,
    ):
        for name in dir(module):
            value = getattr(module, name)
            if callable(value):
                yield value, "aten", name
    for path, name in _OPERATORS.items():
        yield _find(path), "aten", name
    for name, op in _CMATH.items():
        yield getattr(cmath, name), "aten", op
    yield math.remainder, "aten", "mathremainder"
    yield warnings.warn, "aten", "warn"
    yield collections.OrderedDict, "builtins", "dict"
    for namespace, names in _NAMESPACES.items():
        module = _find(namespace)
        for name in names:
            yield getattr(module, name, None), namespace, name
    for name in ("_single", "_pair", "_triple", "_quadruple"):
        yield _find("torch.nn.modules.utils." + name), "aten", name
    for path in _FALSE:
        yield _find(path), "constant", path
    yield _find("torch.overrides.is_tensor_like"), "is_tensor", "is_tensor_like"
    awaitables = ("_awaitable", "_awaitable_nowait", "_awaitable_wait")
    for name in ("annotate", "fork", "wait", "isinstance", "is_scripting", *awaitables):
        yield getattr(_runtime, name), "torch.jit", name


def register():
    _C._set_well_known([row for row in rows() if row[0] is not None])
