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
from ._traced_lists import TracedTuple, traced_tuple
from ._traced_numbers import (
    _DATAFLOW,
    ArgumentInt,
    TracedFloat,
    TracedInt,
    _number_of,
    _Traced,
    forget,
    is_traced,
    plain,
    record,
)

__all__ = ["TracerWarning", "Tracing", "warn"]


class TracerWarning(Warning):
    """A trace may not do what the program would do on other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Ignores these warnings where they point into PyTorch's own code. (Cresset's never do.)"""
        warnings.filterwarnings("ignore", category=TracerWarning, module="torch.(?!jit)")


_CONSTRUCTOR = (
    " results are registered as constants in the trace. You can safely ignore this warning if you use this function to "
    "create tensors out of constant variables that would be the same every time you call this function. In any other "
    "case, this might cause the trace to be incorrect."
)

_CONSTANT = " is a constant in the trace, as it was in this call. This means that the trace might not generalize to other inputs!"

_OWN = __file__[: -len("_tracing_hooks.py")]
_TORCH = torch.__file__[: -len("__init__.py")]


def place_of(frame):
    """Where a warning about what this frame does points: the line of the user's; None if that is PyTorch's own code."""
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    if frame is not None and frame.f_code is torch.overrides.handle_torch_function.__code__:
        frame = frame.f_back.f_back  # past the function of PyTorch's that asked for the mode
    if frame is None or frame.f_code.co_filename.startswith(_TORCH):
        return None
    return frame.f_code.co_filename, frame.f_lineno, frame.f_globals


def warn_at(place, message):
    if place is None:
        return
    filename, line, scope = place
    warnings.warn_explicit(
        message,
        TracerWarning,
        filename,
        line,
        module=scope.get("__name__", "<unknown>"),
        registry=scope.setdefault("__warningregistry__", {}),
    )


def warn(message, in_backward=False):
    """Warns at the line of the user's that runs; says nothing if that is PyTorch's own code."""
    frame = sys._getframe(1)
    while in_backward and frame is not None and place_of(frame) is None:
        frame = frame.f_back  # the program asked for the backward pass through PyTorch's own code
    warn_at(place_of(frame), message)


# ---- Arguments

_CONTAINERS = (tuple, list, torch.Size)
_plain_numel = torch._C.TensorBase.numel
_plain_dim = torch._C.TensorBase.dim


def _hides_number(value):
    """Whether there is a traced number in it."""
    kind = type(value)
    if kind is TracedInt or kind is TracedFloat:
        return True
    if kind in _CONTAINERS:
        return any(_hides_number(item) for item in value)
    if kind is dict:
        return any(_hides_number(item) for item in value.values())
    return kind is slice and (_hides_number(value.start) or _hides_number(value.stop) or _hides_number(value.step))


def _is_element(value):
    """Whether it is a tensor that PyTorch would take for a number."""
    return isinstance(value, torch.Tensor) and _plain_numel(value) == 1


def _may_be_number(value):
    kind = type(value)
    if kind in _CONTAINERS:
        return any(map(_may_be_number, value))
    return _is_element(value) or _hides_number(value) or kind is TracedTuple


class _Arguments:
    """Arguments in the form that PyTorch takes, and which of them may reach operators as plain numbers: traced ones, and
    tensors where the operator wants a number. `lists` are tuples of tensors that stand for whole lists of the trace."""

    __slots__ = ("element", "keyword", "lists", "numbers", "position")

    def __init__(self):
        self.numbers = []
        self.lists = []
        self.position = -1
        self.keyword = ""
        self.element = -1

    def note(self, value):
        self.numbers.append((value, self.position, self.keyword, self.element))

    def convert(self, value):
        kind = type(value)
        if kind is TracedInt:
            self.note(value)
            return ArgumentInt(value._number, value._cresset_node)
        if kind is TracedFloat:
            self.note(value)
            return value._number
        if kind in _CONTAINERS:
            if not _may_be_number(value):
                return value
            items = []
            for self.element, item in enumerate(value):
                items.append(self.convert(item))
            self.element = -1
            return kind(items)  # a Size too: to `x.new` a tuple is data
        if kind is dict:
            return {key: self.convert(item) for key, item in value.items()}
        if kind is slice:
            return slice(self.convert(value.start), self.convert(value.stop), self.convert(value.step))
        if kind is TracedTuple and value.is_traced():
            whole = value.whole()
            self.lists.append((value.list, whole))
            return whole
        if _is_element(value):
            self.note(value)
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
    if not any(map(_may_be_number, args)) and not (kwargs and any(map(_may_be_number, kwargs.values()))):
        return function(*args, **kwargs) if kwargs else function(*args)
    arguments = _Arguments()
    args = arguments.positional(args)
    kwargs = arguments.keywords(kwargs or {})
    return traced_tuple(_call_with(arguments.numbers, function, args, kwargs, lists=arguments.lists))


def _call_with(numbers, function, args, kwargs, target=None, lists=()):
    outer = _C._trace_begin_call(numbers, list(lists), target)
    try:
        result = function(*args, **kwargs)
    finally:
        complete = _C._trace_end_call(outer)
    if not complete:
        warn("Converting a tensor to a Python number" + _DATAFLOW)
    return result


# ---- Functions that mean something else while a trace runs


def _size(mode, function, args, kwargs):
    tensor, dim = args[0], (args[1] if len(args) > 1 else kwargs.get("dim") if kwargs else None)
    if dim is None:
        return _shape(mode, function, args, kwargs)
    if _is_int_element(dim):
        dim = _number_of(dim, int)
    if not isinstance(dim, int):
        return function(*args, **(kwargs or {}))
    size = _plain_size(tensor, plain(dim))
    # A trace fixes the rank anyway.
    node = _C._trace_size(tensor, dim if is_traced(dim) and not dim._quiet else plain(dim))
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


def _layout_number(kind, tensor, dim, number):
    """A number that tells where elements lie in memory, as it is for each input: traced, if the tensor is."""
    node = _C._trace_layout_of(kind, tensor, dim, number)
    if node is False:
        warn("Where elements of a tensor of a transform lie in memory is no part of the trace, so " + kind + _CONSTANT)
        return number
    return number if node is None else TracedInt(number, node)


def _layout_of(kind):
    def handler(mode, function, args, kwargs):
        return _layout_number(kind, args[0], None, function(*args, **(kwargs or {})))

    return handler


def _stride(mode, function, args, kwargs):
    tensor, dim = args[0], (args[1] if len(args) > 1 else (kwargs or {}).get("dim"))
    if tensor.layout != torch.strided:
        return function(*args, **(kwargs or {}))
    strides = _plain_stride(tensor)
    if dim is None:
        return tuple(_layout_number("aten::stride", tensor, i, stride) for i, stride in enumerate(strides))
    dim = plain(_number_of(dim, int) if _is_int_element(dim) else dim)
    return _layout_number("aten::stride", tensor, dim, _plain_stride(tensor, dim))


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


def _to_index(mode, function, args, kwargs):
    # PyTorch's parser of arguments asks tensors in lists for their index before the mode sees the call. If this was it,
    # that call comes next, from the same instruction.
    caller = sys._getframe(2)
    if mode.index is None or not mode.index.comes_from(caller):
        mode.settle_index()
        mode.index = _PendingIndex(args[0], caller)
    return function(*args, **(kwargs or {}))


class _PendingIndex:
    """A tensor was asked for its index: by Python (`items[t]`, `range(t)`), where a warning is due, or by PyTorch."""

    def __init__(self, tensor, frame):
        self.tensor = tensor
        self.instruction = id(frame), frame.f_lasti
        self.place = place_of(frame)

    def comes_from(self, frame):
        return self.instruction == (id(frame), frame.f_lasti)

    def is_argument(self, args, kwargs):
        def within(value):
            return value is self.tensor or (type(value) in _CONTAINERS and any(map(within, value)))

        return within(args) or (kwargs is not None and any(map(within, kwargs.values())))

    def warn(self):
        warn_at(self.place, "Converting a tensor to a Python index" + _DATAFLOW)


def _item(mode, function, args, kwargs):
    number = _number_of(args[0])
    if number is args[0]:
        warn("Converting a tensor to a Python number" + _DATAFLOW)
        return _plain_item(number)
    return number


def _to_list(mode, function, args, kwargs):
    if _plain_dim(args[0]) == 0:
        return _item(mode, function, args, kwargs)
    warn("Converting a tensor to a Python list" + _DATAFLOW)
    return function(*args)


def _is_int_element(value):
    return _is_element(value) and not value.dtype.is_floating_point and not value.dtype.is_complex


class _Index:
    """An index in the form that PyTorch takes. The bounds of slices become symbolic ints, so that PyTorch leaves no slice
    out that covers the whole dimension at this size. The ints become plain ones; `numbers` tells which they were."""

    __slots__ = ("is_traced", "numbers")

    def __init__(self):
        self.numbers = []
        self.is_traced = False

    def whole(self, value):
        if type(value) is TracedTuple:
            value = tuple(value)
        # A list that holds tensors is taken for a tuple (python_variable_indexing.cpp: treatSequenceAsTuple).
        if type(value) is list and len(value) < 32 and any(isinstance(item, torch.Tensor) for item in value):
            value = tuple(value)
        return self.convert(value)

    def convert(self, value):
        kind = type(value)
        if kind is tuple:
            return tuple(map(self.convert, value))
        if kind is slice:
            return slice(_bound(value.start), _bound(value.stop), _bound(value.step))
        if kind is list:
            return self.convert_list(value)
        if isinstance(value, torch.Tensor) and _plain_dim(value) == 0 and value.dtype in _INDEX_TYPES:
            value = _number_of(value, int)
            kind = type(value)
        if kind is TracedInt:
            self.is_traced = True
        elif kind is not int:
            if isinstance(value, torch.Tensor) and _plain_dim(value) == 0 and value.dtype in (torch.bool, torch.uint8):
                warn("Converting a tensor to a Python boolean" + _DATAFLOW)  # PyTorch takes it for True or False
            return value
        self.numbers.append((value, -1, "", -1))
        return plain(value)

    def convert_list(self, items):
        """PyTorch makes a tensor of a list of ints."""
        numbers = [_number_of(item, int) if _is_int_element(item) else item for item in items]
        if not any(map(is_traced, numbers)) or not all(type(number) in (int, TracedInt) for number in numbers):
            return items
        result = torch.tensor([plain(number) for number in numbers])
        _C._trace_tensor_of(numbers, result)
        return result


_INDEX_TYPES = (torch.int64, torch.int32, torch.int16, torch.int8)  # bool and uint8 are masks


def _bound(value):
    if _is_int_element(value):
        value = _number_of(value, int)
    if type(value) is TracedInt:
        return torch.SymInt(value._cresset_node)
    if type(value) is int and value != 0:
        return torch.SymInt(_C._trace_constant(value))
    return value


def _get_item(mode, function, args, kwargs):
    tensor, given = args
    index = _Index()
    given = index.whole(given)
    return _call_with(index.numbers, function, (tensor, given), {}) if index.is_traced else function(tensor, given)


def _set_item(mode, function, args, kwargs):
    tensor, given, value = args
    index = _Index()
    given = index.whole(given)
    if is_traced(value):
        index.numbers.append((value, -1, "value", -1))
        value = value._number
    return _call_with(index.numbers, function, (tensor, given, value), {}, target=tensor)


def _constructor(name, position=0):
    def handler(mode, function, args, kwargs):
        kwargs = dict(kwargs or {})
        data = args[position] if len(args) > position else kwargs.get("data")
        if type(data) in (list, tuple):
            data = [_number_of(item) if _is_element(item) and _plain_dim(item) == 0 else item for item in data]
        if not _hides_number(data):
            if type(data) is not torch.Tensor:
                warn(name + _CONSTRUCTOR)
            return function(*args, **kwargs)
        kwargs.pop("data", None)
        result = function(*args[:position], forget(data), *args[position + 1 :], **kwargs)
        numbers = data if type(data) in _CONTAINERS else None
        if numbers is None:
            _C._trace_tensor_of(data, result)
        elif all(is_traced(item) or type(item) in (int, float) for item in numbers):
            if any(type(plain(item)) is float for item in numbers):
                numbers = [_as_float(item) for item in numbers]
            _C._trace_tensor_of(list(numbers), result)
        else:
            warn(name + _CONSTRUCTOR)
        return result

    return handler


def _as_float(number):
    if type(number) is TracedInt:
        return record("aten::Float", float(number._number), number)
    return float(number) if type(number) is int else number


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
    if _C._in_functional_level():  # which computes the same by operators that the trace has
        return _call(function, args, kwargs)
    warn(
        name + " can't be represented in the JIT at the moment, so we won't connect any uses of this value with its "
        "current trace. If you happen to use it again, it will show up as a constant in the graph. Consider using `view` "
        "or `reshape` to make it traceable."
    )
    return _call(function, args, kwargs)


_Tensor = torch.Tensor


def _losing_hook(mode, function, args, kwargs):
    warn(
        f"The hook that Tensor.{function.__name__} is given is no part of the trace. Gradients of the traced program won't "
        "go through it."
    )
    return mode.call_python(function, args, kwargs)


_plain_size = torch._C.TensorBase.size
_plain_stride = torch._C.TensorBase.stride
_plain_item = torch._C.TensorBase.item
_HANDLERS = {
    _Tensor.shape.__get__: _shape,
    _Tensor.size: _size,
    _Tensor.numel: _int_of("aten::numel"),
    torch.numel: _int_of("aten::numel"),
    _Tensor.nelement: _int_of("aten::numel"),
    _Tensor.dim: _int_of("aten::dim", quiet=True),
    _Tensor.ndimension: _int_of("aten::dim", quiet=True),
    _Tensor.ndim.__get__: _int_of("aten::dim", quiet=True),
    _Tensor.stride: _stride,
    _Tensor.storage_offset: _layout_of("aten::storage_offset"),
    _Tensor.nbytes.__get__: _layout_of("prim::nbytes"),
    _Tensor.__len__: _length,
    _Tensor.__bool__: _converting("Python boolean"),
    _Tensor.__int__: _converting("Python integer"),
    _Tensor.__float__: _converting("Python float"),
    _Tensor.__complex__: _converting("Python complex"),
    _Tensor.__index__: _to_index,
    _Tensor.item: _item,
    _Tensor.tolist: _to_list,
    _Tensor.numpy: _converting("NumPy array"),
    _Tensor.__array__: _converting("NumPy array", python=True),
    _Tensor.__contains__: _converting("Python boolean", python=True),
    _Tensor.__getitem__: _get_item,
    _Tensor.__setitem__: _set_item,
    _Tensor.contiguous: _contiguous,
    _Tensor.data.__set__: _set_data,
    _Tensor.resize_: _resize,
    _Tensor.register_hook: _losing_hook,
    _Tensor.register_post_accumulate_grad_hook: _losing_hook,
    torch.tensor: _constructor("torch.tensor"),
    torch.as_tensor: _constructor("torch.as_tensor"),
    torch.sparse_coo_tensor: _constructor("torch.sparse_coo_tensor"),
    _Tensor.new_tensor: _constructor("new_tensor", 1),
}

# The same by PyTorch's names for operators, as in the graphs of torch.fx.
_aten = torch.ops.aten
for _sizes in (_aten.size, _aten.sym_size):
    _HANDLERS |= {function: _size for function in (_sizes, _sizes.int, _sizes.default)}
for _number, _kind in ((_aten.numel, "aten::numel"), (_aten.sym_numel, "aten::numel"), (_aten.dim, "aten::dim")):
    _HANDLERS |= {function: _int_of(_kind, _kind == "aten::dim") for function in (_number, _number.default)}

_OFF = {
    name: lambda *args: False
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
}


class _Conversion(type):
    def __instancecheck__(cls, value):
        return isinstance(value, cls.__base__)

    def __call__(cls, *args):
        if len(args) == 1 and (is_traced(args[0]) or isinstance(args[0], torch.Tensor)):
            number = cls.of(args[0])
            if is_traced(number):
                return number
        return cls.__base__(*args)


class _Int(int, metaclass=_Conversion):
    """What ``int`` is in PyTorch's own functions: ``int(n)`` stays a traced number."""

    @staticmethod
    def of(value):
        return math.trunc(value) if is_traced(value) else _number_of(value, int)


class _Float(float, metaclass=_Conversion):
    @staticmethod
    def of(value):
        return _as_float(value) if is_traced(value) else _number_of(value, float)


def _pass_by(operator):
    """Lets an operator of PyTorch's that is written in Python, dispatch included, overlook the tracer's key. What it calls
    is traced."""
    key = torch._C._dispatch_tls_local_include_set().highestPriorityTypeId()  # the tracer's is above all others
    if operator.non_fallthrough_keys.has(key):
        operator.non_fallthrough_keys = operator.non_fallthrough_keys.remove(key)


# They ask for a mode in a way that a twin can't answer.
_HANDLERS[torch.sym_int] = lambda mode, function, args, kwargs: _Int(*args, **(kwargs or {}))
_HANDLERS[torch.sym_float] = lambda mode, function, args, kwargs: _Float(*args, **(kwargs or {}))


class _Mode(TorchFunctionMode):
    """Sees the calls of PyTorch's functions on the thread that traces."""

    def __init__(self):
        super().__init__()
        self.inner = {}  # functions of PyTorch's written in Python -> what runs in their place
        self.globals = {}
        self.running = []
        self.index = None

    def settle_index(self):
        """Warns of the tensor that was asked for its index last."""
        if self.index is not None:
            self.index.warn()
            self.index = None

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        if not _C._tracing():
            return function(*args, **(kwargs or {}))
        handler = _HANDLERS.get(function)
        if self.index is not None and handler is not _to_index:
            if self.index.comes_from(sys._getframe(1)) and self.index.is_argument(args, kwargs):
                self.index = None
            self.settle_index()
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
        runs, which shares the code and believes that it is not observed.
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
                off = {name: off for name, off in _OFF.items() if name in scope}
                self.globals[id(scope)] = {**scope, **off, "int": _Int, "float": _Float}
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
    if type(object) is TracedTuple and object.is_traced():
        return object.length()
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
        if _C._tracing():
            numbers = list(map(_number_of, args))
            if any(map(is_traced, numbers)):
                return record(kind, original(*map(plain, numbers)), *numbers)
        return original(*args)

    function.__name__ = original.__name__
    return function


def _rounding(original):
    """`math.floor` and its like, which ask any number but a tensor for a method of that name."""

    def function(number, /):
        return original(_number_of(number) if _C._tracing() else number)

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
    *((math, name, getattr(math, name), _rounding(getattr(math, name))) for name in ("floor", "ceil")),
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
        self.mode.settle_index()
        _local.paths = None
        _restore()
