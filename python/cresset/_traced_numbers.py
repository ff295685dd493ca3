"""Sizes while a trace runs: numbers that remember how they were computed.

``isinstance(n, int)`` holds for a :class:`TracedInt`, but it is no ``int`` of CPython's: an ``int`` would turn into a plain
number in C code (``range``, an index, ``math.sqrt``) without anyone being told. So each such conversion goes through a method
here, which warns that the trace keeps the number as a constant.

When the trace is over, or on another thread, a traced number is the number that it was.
"""

import math
import operator

import torch

from . import _C

_DATAFLOW = (
    " might cause the trace to be incorrect. We can't record the data flow of Python values, so this value will be "
    "treated as a constant in the future. This means that the trace might not generalize to other inputs!"
)


def _warn_conversion(kind):
    from ._tracing_hooks import warn

    warn("Converting a tensor to a Python " + kind + _DATAFLOW)


def plain(value):
    """The number that a traced number stands for; anything else as it is."""
    return value._number if is_traced(value) else value


def is_traced(value):
    return issubclass(type(value), _Traced)


def record(kind, result, *operands):
    """The number ``result = kind(*operands)``: traced if an operand is of the trace that runs here."""
    if type(result) not in (int, float) or not -(2**63) <= result < 2**63:
        return result  # beyond what a program's numbers hold
    node = _C._trace_arithmetic(kind, *operands, result)
    if node is None:
        return result
    quiet = all(operand._quiet for operand in operands if is_traced(operand))
    return (TracedInt if type(result) is int else TracedFloat)(result, node, quiet)


def _binary(kind, function):
    def method(self, other):
        if is_traced(other):
            number = other._number
        elif type(other) in (int, float, bool):
            number = other
        elif isinstance(other, (torch.Tensor, str, bytes, list, tuple)):
            return NotImplemented
        else:
            return function(self._number, other)
        return record(kind, function(self._number, number), self, other)

    def reflected(self, other):
        if type(other) in (int, float, bool):
            return record(kind, function(other, self._number), other, self)
        if isinstance(other, (str, bytes, list, tuple)) or (isinstance(other, torch.Tensor) and _C._tracing()):
            return NotImplemented
        return function(other, self._number)  # a tensor's own method didn't know this class any more

    return method, reflected


def _comparison(function):
    def method(self, other):
        if isinstance(other, torch.Tensor):
            return NotImplemented
        self._decide("boolean")
        return function(self._number, plain(other))

    return method


def _unary(kind, function):
    def method(self):
        return record(kind, function(self._number), self)

    return method


class _Traced:
    """What ints and floats share. ``_number`` is the plain number, ``_cresset_node`` what computes it."""

    def _init(self, number, node, quiet):
        self._number = number
        self._cresset_node = node
        self._quiet = quiet

    def _decide(self, kind):
        """Called where the number becomes a plain one."""
        if not self._quiet and _C._tracing() and _C._trace_owns(self):
            _warn_conversion(kind)

    def __hash__(self):
        return hash(self._number)

    def __repr__(self):
        return repr(self._number)

    def __str__(self):
        self._decide("string")
        return str(self._number)

    def __format__(self, spec):
        self._decide("string")
        return format(self._number, spec)

    def __bool__(self):
        self._decide("boolean")
        return bool(self._number)

    def __int__(self):
        self._decide("integer")
        return int(self._number)

    def __float__(self):
        self._decide("float")
        return float(self._number)

    def __complex__(self):
        self._decide("complex")
        return complex(self._number)

    def __array__(self, dtype=None, copy=None):
        import numpy

        self._decide("number")
        return numpy.array(self._number, dtype=dtype)

    def __pos__(self):
        return self

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return type(self._number), (self._number,)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._number, name)  # bit_length, real, is_integer, …

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


for _name, _kind, _function in (
    ("add", "aten::add", operator.add),
    ("sub", "aten::sub", operator.sub),
    ("mul", "aten::mul", operator.mul),
    ("truediv", "aten::div", operator.truediv),
    ("floordiv", "aten::floordiv", operator.floordiv),
    ("mod", "aten::remainder", operator.mod),
    ("pow", "aten::pow", operator.pow),
    ("and", "aten::__and__", operator.and_),
    ("or", "aten::__or__", operator.or_),
    ("xor", "aten::__xor__", operator.xor),
    ("lshift", "aten::__lshift__", operator.lshift),
    ("rshift", "aten::__rshift__", operator.rshift),
):
    _method, _reflected = _binary(_kind, _function)
    setattr(_Traced, f"__{_name}__", _method)
    setattr(_Traced, f"__r{_name}__", _reflected)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Traced, f"__{_name}__", _comparison(getattr(operator, _name)))
_Traced.__neg__ = _unary("aten::neg", operator.neg)
_Traced.__abs__ = _unary("prim::abs", abs)


class ArgumentInt(int, torch.SymInt):
    """A traced int as an argument of a PyTorch function: where the function takes symbolic ints it is one, everywhere
    else it is an ordinary int."""

    def __new__(cls, number, node):
        self = int.__new__(cls, number)
        self.node = node
        return self

    def __init__(self, number, node):
        pass


class ArgumentFloat(float, torch.SymFloat):
    """What a traced float says that it is."""


class TracedInt(_Traced):
    """A size, or an int computed from sizes."""

    __hash__ = _Traced.__hash__

    def __init__(self, number, node, quiet=False):
        self._init(number, node, quiet)

    @property
    def __class__(self):
        # PyTorch's argument parser, which runs before a mode sees the call, takes symbolic ints for any kind of number.
        # Once the trace is over nothing would make plain numbers of them.
        return ArgumentInt if _C._tracing() else int

    @property
    def node(self):
        return self._cresset_node

    def __index__(self):
        self._decide("index")
        return self._number

    def __invert__(self):
        return -self - 1

    def __round__(self, digits=None):
        return self if digits is None or plain(digits) >= 0 else round(self._number, plain(digits))

    def __trunc__(self):
        return self

    __floor__ = __ceil__ = __trunc__


class TracedFloat(_Traced):
    """A float computed from sizes. PyTorch's functions never see one: they get the plain float."""

    __hash__ = _Traced.__hash__

    def __init__(self, number, node, quiet=False):
        self._init(number, node, quiet)

    @property
    def __class__(self):
        return ArgumentFloat if _C._tracing() else float

    @property
    def node(self):
        return self._cresset_node

    def __ceil__(self):
        return record("aten::ceil", math.ceil(self._number), self)

    def __floor__(self):
        return record("aten::floor", math.floor(self._number), self)

    def __trunc__(self):
        return record("aten::Int", math.trunc(self._number), self)

    def __round__(self, digits=None):
        if digits is None:
            result = round(self._number)
            return record("aten::Int", result, record("aten::round", float(result), self))
        self._decide("float")
        return round(self._number, plain(digits))


def forget(value):
    """`value`, with plain numbers for traced ones."""
    kind = type(value)
    if issubclass(kind, _Traced):
        return value._number
    if kind in (tuple, list, torch.Size) and any(forget(item) is not item for item in value):
        return kind([forget(item) for item in value])
    return value


def _number_of(value, kind=None):
    """The number in a tensor as a traced one, of its own kind or converted; the value itself if it is no tensor of one
    element, or a constant of the trace."""
    found = _C._trace_item(value, kind) if isinstance(value, torch.Tensor) else None
    if found is None:
        return value
    return (TracedFloat if type(found[0]) is float else TracedInt)(*found)
