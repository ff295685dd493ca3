"""What a trace has to see and PyTorch's dispatcher doesn't: sizes, numbers, ``len``, calls of modules, conversions.

All of it is per thread. PyTorch's own functions and methods come through a ``TorchFunctionMode``, which belongs to the
thread that entered it. A few functions of Python's have no such hook (``len`` must return an ``int``, ``math.sqrt`` takes
its argument apart in C, ``nn.Module.__call__`` is no function of PyTorch's interface); they are replaced while any thread
traces, and ask first whether this one does.
"""

import builtins
import math
import sys
import threading
import types
import warnings

import torch
from torch.overrides import TorchFunctionMode

from . import _C
from ._traced_numbers import (
    _DATAFLOW,
    ArgumentInt,
    Holder,
    TracedFloat,
    TracedInt,
    _Traced,
    is_traced,
    plain,
    record,
)

__all__ = ["Holder", "TracerWarning", "Tracing", "warn"]


class TracerWarning(Warning):
    """A trace may not do what the program would do on other inputs."""


_CONSTRUCTOR = (
    " results are registered as constants in the trace. You can safely ignore this warning if you use this function to "
    "create tensors out of constant variables that would be the same every time you call this function. In any other "
    "case, this might cause the trace to be incorrect."
)

_OWN = __file__[: -len("_tracing_hooks.py")]
_TORCH = torch.__file__[: -len("__init__.py")]


def warn(message):
    """Warns at the line of the user's that runs; says nothing if that is PyTorch's own code."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_TORCH):
        return
    warnings.warn_explicit(
        message,
        TracerWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


# ---- Arguments

_CONTAINERS = (tuple, list, torch.Size)


def _hides_number(value):
    kind = type(value)
    if kind is TracedInt or kind is TracedFloat:
        return True
    if kind in _CONTAINERS:
        return any(_hides_number(item) for item in value)
    if kind is dict:
        return any(_hides_number(item) for item in value.values())
    return kind is slice and (_hides_number(value.start) or _hides_number(value.stop) or _hides_number(value.step))


class _Arguments:
    """Arguments in the form that PyTorch takes, and which plain numbers among them are traced."""

    __slots__ = ("numbers", "position", "keyword")

    def __init__(self):
        self.numbers = []
        self.position = -1
        self.keyword = ""

    def convert(self, value):
        kind = type(value)
        if kind is TracedInt:
            self.numbers.append((value, self.position, self.keyword))
            return ArgumentInt(value._number, value._cresset_node)
        if kind is TracedFloat:
            self.numbers.append((value, self.position, self.keyword))
            return value._number
        if kind is tuple or kind is torch.Size:
            return tuple(self.convert(item) for item in value)
        if kind is list:
            return [self.convert(item) for item in value]
        if kind is dict:
            return {key: self.convert(item) for key, item in value.items()}
        if kind is slice:
            return slice(self.convert(value.start), self.convert(value.stop), self.convert(value.step))
        return value

    def positional(self, args):
        result = []
        for self.position, value in enumerate(args):
            result.append(self.convert(value))
        self.position = -1
        return result

    def keywords(self, kwargs):
        result = {}
        for self.keyword, value in kwargs.items():
            result[self.keyword] = self.convert(value)
        return result


def _call(function, args, kwargs):
    """Calls a function of PyTorch's that is written in C++."""
    if not any(map(_hides_number, args)) and not (kwargs and any(map(_hides_number, kwargs.values()))):
        return function(*args, **kwargs) if kwargs else function(*args)
    arguments = _Arguments()
    args = arguments.positional(args)
    kwargs = arguments.keywords(kwargs or {})
    return _call_with(arguments.numbers, function, args, kwargs)


def _call_with(numbers, function, args, kwargs):
    before = _C._trace_plain_numbers(numbers)
    try:
        return function(*args, **kwargs)
    finally:
        _C._trace_plain_numbers(before)


# ---- Functions that mean something else while a trace runs


def _size(mode, function, args, kwargs):
    tensor, dim = args[0], (args[1] if len(args) > 1 else kwargs.get("dim") if kwargs else None)
    if dim is None:
        return _shape(mode, function, args, kwargs)
    if not isinstance(dim, int):
        return function(*args, **(kwargs or {}))
    dim = plain(dim)
    size, node = _plain_size(tensor, dim), _C._trace_size(tensor, dim)
    return size if node is None else TracedInt(size, node)


def _shape(mode, function, args, kwargs):
    tensor = args[0]
    sizes, nodes = _plain_size(tensor), _C._trace_sizes(tensor)
    return sizes if nodes is None else torch.Size(list(map(TracedInt, sizes, nodes)))


def _int_of(kind, quiet=False):
    def handler(mode, function, args, kwargs):
        number = function(*args, **(kwargs or {}))
        node = _C._trace_int_of(kind, args[0] if args else kwargs["input"], number)
        return number if node is None else TracedInt(number, node, quiet)

    return handler


def _length(mode, function, args, kwargs):
    warn(
        "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
        "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give incorrect results."
    )
    return function(*args)


def _converting(what, python=False):
    message = "Converting a tensor to a " + what + _DATAFLOW

    def handler(mode, function, args, kwargs):
        warn(message)
        if python:
            return mode.call_python(function, args, kwargs)
        return function(*args, **(kwargs or {}))

    return handler


class _Index(_Arguments):
    """An index: the bounds of its slices become symbolic ints, so that PyTorch leaves no slice out that covers the whole
    dimension at this size."""

    def convert(self, value):
        kind = type(value)
        if kind is slice:
            return slice(_bound(value.start), _bound(value.stop), value.step and _bound(value.step))
        if kind is list:
            return [plain(item) for item in value]
        if kind is TracedInt:
            # To PyTorch it is a plain int, which select takes as `index`.
            self.numbers.append((value, -1, "index"))
            return value._number
        return super().convert(value)


def _bound(value):
    if type(value) is TracedInt:
        return torch.SymInt(value._cresset_node)
    if type(value) is int and value != 0:
        return torch.SymInt(_C._trace_constant(value))
    return value


def _get_item(mode, function, args, kwargs):
    tensor, given = args
    index = _Index()
    given = index.convert(given)
    return _call_with(index.numbers, function, (tensor, given), {}) if index.numbers else function(tensor, given)


def _set_item(mode, function, args, kwargs):
    tensor, given, value = args
    index = _Index()
    given = index.convert(given)
    if is_traced(value):
        index.numbers.append((value, -1, "value"))
        value = value._number
    if index.numbers:
        return _call_with(index.numbers, function, (tensor, given, value), {})
    return function(tensor, given, value)


def _constructor(name):
    def handler(mode, function, args, kwargs):
        data = args[0] if args else (kwargs or {}).get("data")
        if not _hides_number(data):
            if type(data) is not torch.Tensor:
                warn(name + _CONSTRUCTOR)
            return function(*args, **(kwargs or {}))
        arguments = _Arguments()
        result = function(*arguments.positional(args), **arguments.keywords(kwargs or {}))
        numbers = data if type(data) in _CONTAINERS else None
        if numbers is None:
            _C._trace_tensor_of(data, result)
        elif all(is_traced(item) or type(item) in (int, float) for item in numbers):
            kinds = {type(plain(item)) for item in numbers}
            if len(kinds) == 1:
                _C._trace_tensor_of(list(numbers), result)
        else:
            warn(name + _CONSTRUCTOR)
        return result

    return handler


def _contiguous(mode, function, args, kwargs):
    # The method skips the operator where the layout fits already; on other inputs it may not.
    tensor = args[0]
    memory_format = (args[1] if len(args) > 1 else (kwargs or {}).get("memory_format")) or torch.contiguous_format
    return torch.ops.aten.contiguous.default(tensor, memory_format=memory_format)


def _set_data(mode, function, args, kwargs):
    tensor, value = args
    result = function(tensor, value)
    _C._trace_set_data(tensor, value)
    return result


def _resize(mode, function, args, kwargs):
    name = function.__name__
    warn(
        name + " can't be represented in the JIT at the moment, so we won't connect any uses of this value with its "
        "current trace. If you happen to use it again, it will show up as a constant in the graph. Consider using `view` "
        "or `reshape` to make it traceable."
    )
    return _call(function, args, kwargs)


_Tensor = torch.Tensor
_plain_size = torch._C.TensorBase.size
_HANDLERS = {
    _Tensor.shape.__get__: _shape,
    _Tensor.size: _size,
    _Tensor.numel: _int_of("aten::numel"),
    torch.numel: _int_of("aten::numel"),
    _Tensor.nelement: _int_of("aten::numel"),
    _Tensor.dim: _int_of("aten::dim", quiet=True),
    _Tensor.ndimension: _int_of("aten::dim", quiet=True),
    _Tensor.ndim.__get__: _int_of("aten::dim", quiet=True),
    _Tensor.__len__: _length,
    _Tensor.__bool__: _converting("Python boolean"),
    _Tensor.__int__: _converting("Python integer"),
    _Tensor.__float__: _converting("Python float"),
    _Tensor.__complex__: _converting("Python complex"),
    _Tensor.__index__: _converting("Python index"),
    _Tensor.item: _converting("Python number"),
    _Tensor.tolist: _converting("Python list"),
    _Tensor.numpy: _converting("NumPy array"),
    _Tensor.__array__: _converting("NumPy array", python=True),
    _Tensor.__contains__: _converting("Python boolean", python=True),
    _Tensor.__getitem__: _get_item,
    _Tensor.__setitem__: _set_item,
    _Tensor.contiguous: _contiguous,
    _Tensor.data.__set__: _set_data,
    _Tensor.resize_: _resize,
    torch.tensor: _constructor("torch.tensor"),
    torch.as_tensor: _constructor("torch.as_tensor"),
    torch.sparse_coo_tensor: _constructor("torch.sparse_coo_tensor"),
}

_OFF = {
    name: lambda *args: False
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
}


def _pass_by(operator):
    """Lets an operator of PyTorch's that is written in Python, dispatch included, overlook the tracer's key. What it calls
    is traced."""
    key = torch._C._dispatch_tls_local_include_set().highestPriorityTypeId()  # the tracer's is above all others
    if operator.non_fallthrough_keys.has(key):
        operator.non_fallthrough_keys = operator.non_fallthrough_keys.remove(key)


class _Mode(TorchFunctionMode):
    """Sees the calls of PyTorch's functions on the thread that traces."""

    def __init__(self):
        super().__init__()
        self.inner = {}  # functions of PyTorch's written in Python -> what runs in their place
        self.globals = {}
        self.running = []

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        if not _C._tracing():
            return function(*args, **(kwargs or {}))
        handler = _HANDLERS.get(function)
        if handler is not None:
            return handler(self, function, args, kwargs)
        if type(function) is types.FunctionType:
            return self.call_python(function, args, kwargs)
        if isinstance(function, torch._ops.HigherOrderOperator):
            _pass_by(function)
        return _call(function, args, kwargs)

    def call_python(self, function, args, kwargs):
        """Runs a function of PyTorch's that is written in Python so that the calls in its body come here too.

        Such a function first asks whether a mode wants to see it, and the mode is off while it handles a call. So a twin
        runs, which shares the code and believes that nobody wants to see it.
        """
        twin = self.twin(function, args, kwargs)
        if self.running and self.running[-1] is twin:
            return _call(function, args, kwargs)  # it asks in a way that the twin can't answer
        self.running.append(twin)
        try:
            with self:
                return twin(*args, **(kwargs or {}))
        finally:
            self.running.pop()

    def twin(self, function, args, kwargs):
        code = function.__code__
        if code.co_freevars == ("arg_index", "arg_name", "default", "if_false", "if_true"):
            # nn.functional's choice between two functions by a bool argument; those ask for the mode.
            cells = dict(zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__)))
            flag = cells["default"]
            if kwargs and cells["arg_name"] in kwargs:
                flag = kwargs[cells["arg_name"]]
            elif cells["arg_index"] < len(args):
                flag = args[cells["arg_index"]]
            function = cells["if_true"] if flag else cells["if_false"]
            code = function.__code__
        twin = self.inner.get(function)
        if twin is None:
            scope = function.__globals__
            if id(scope) not in self.globals:
                self.globals[id(scope)] = {**scope, **{name: off for name, off in _OFF.items() if name in scope}}
            twin = types.FunctionType(
                code, self.globals[id(scope)], function.__name__, function.__defaults__, function.__closure__
            )
            twin.__kwdefaults__ = function.__kwdefaults__
            self.inner[function] = twin
        return twin


# ---- Functions of Python's

_local = threading.local()


def _len(object, /):
    if _C._tracing() and isinstance(object, torch.Tensor) and object.dim() > 0:
        return object.shape[0]
    return _original_len(object)


def _extreme(kind, original):
    def extreme(*args, **kwargs):
        items = args[0] if _original_len(args) == 1 else args
        if not kwargs and _C._tracing() and type(items) in _CONTAINERS and any(map(is_traced, items)):
            result = items[0]
            for item in items[1:]:
                if not isinstance(item, (int, float)) or not isinstance(result, (int, float)):
                    return original(*args)
                numbers = plain(result), plain(item)
                if type(numbers[0]) is not type(numbers[1]):
                    return original(*args)
                result = record(kind, original(*numbers), result, item)
            return result
        return original(*args, **kwargs)

    extreme.__name__ = original.__name__
    return extreme


def _of_math(kind, original):
    def function(*args):
        if _C._tracing() and any(map(is_traced, args)):
            return record(kind, original(*map(plain, args)), *args)
        return original(*args)

    function.__name__ = original.__name__
    return function


def _iterate(self):
    if _C._tracing():
        warn(
            "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
            "change the number of iterations executed (and might lead to errors or silently give incorrect results)."
        )
    return _original_iterate(self)


def _from_numpy(array):
    if _C._tracing():
        warn("torch.from_numpy" + _CONSTRUCTOR)
    return _original_from_numpy(array)


def _call_module(self, *args, **kwargs):
    paths = getattr(_local, "paths", None)
    if paths is None:
        return _original_call(self, *args, **kwargs)
    path = paths.get(id(self))
    if not path or not _C._tracing() or hasattr(self, "_c") or not _C._trace_push(path):
        return _original_call(self, *args, **kwargs)
    try:
        return _original_call(self, *args, **kwargs)
    finally:
        _C._trace_pop()


_original_len = builtins.len
_original_from_numpy = torch.from_numpy
_original_iterate = torch.Tensor.__iter__
_original_call = torch.nn.Module.__call__

_original_apply = torch.autograd.Function.__dict__["apply"]


@classmethod
def _apply(cls, *args, **kwargs):
    if _C._tracing() and cls.backward is not torch.autograd.Function.backward:
        warn(
            f"The trace has the operators of {cls.__name__}.forward; its backward is lost. Gradients of the traced program "
            "are those of the operators, which differ if the backward is no derivative of the forward."
        )
    return _original_apply.__get__(None, cls)(*args, **kwargs)


_REPLACED = [
    (torch.autograd.Function, "apply", _original_apply, _apply),
    (builtins, "len", _original_len, _len),
    (builtins, "min", builtins.min, _extreme("prim::min", builtins.min)),
    (builtins, "max", builtins.max, _extreme("prim::max", builtins.max)),
    (torch.Tensor, "__iter__", _original_iterate, _iterate),
    (torch, "from_numpy", _original_from_numpy, _from_numpy),
    (torch.nn.Module, "__call__", _original_call, _call_module),
    *(
        (math, name, getattr(math, name), _of_math("aten::" + name, getattr(math, name)))
        for name in ("sqrt", "exp", "log", "log1p", "log10", "sin", "cos", "tan", "pow", "fmod", "gcd")
    ),
]

_lock = threading.Lock()
_running = 0


def _replace():
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            for owner, name, _, ours in _REPLACED:
                setattr(owner, name, ours)
            _C._trace_through_caches(_Traced, True)


def _restore():
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
            for owner, name, original, _ in _REPLACED:
                setattr(owner, name, original)
            _C._trace_through_caches(_Traced, False)


class Tracing:
    """The context in which a traced program runs. ``paths`` says where below the traced module a module is, by id."""

    def __init__(self, paths):
        self.mode = _Mode()
        self.paths = paths

    def __enter__(self):
        _replace()
        _local.paths = self.paths
        self.mode.__enter__()

    def __exit__(self, *error):
        self.mode.__exit__(*error)
        _local.paths = None
        _restore()
