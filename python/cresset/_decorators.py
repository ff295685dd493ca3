"""Decorators and annotations that say how Python code is to be scripted.

They leave the marks that torch.jit's leave, so that code written for either works with both: what is said of a function
stands in its ``_torchscript_modifier``.
"""

import typing

from torch._jit_internal import FunctionModifiers as _Modifiers
from torch._jit_internal import _overload, _overload_method

Final = typing.Final


class Attribute(typing.NamedTuple):
    """``self.x = Attribute(value, type)`` in ``__init__``: an attribute with a type that its value does not show."""

    value: typing.Any
    type: typing.Any


def _mark(fn, modifier):
    fn._torchscript_modifier = modifier
    return fn


def export(fn):
    """Marks a method to be compiled though ``forward`` does not call it."""
    return _mark(fn, _Modifiers.EXPORT)


def unused(fn):
    """Leaves a function or property out of the program: a call of it there raises."""
    if isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                _mark(accessor, _Modifiers.UNUSED)
        return fn
    return _mark(fn, _Modifiers.UNUSED)


def ignore(drop=False):
    """Leaves a function as Python code, which the program calls back. Such a program can't be saved; with ``drop=True``
    the call raises instead, and the program can be saved.
    """
    if callable(drop):
        return _mark(drop, _Modifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @cresset.ignore must be a bool or a function but got {drop}")
    return lambda fn: _mark(fn, _Modifiers.UNUSED if drop else _Modifiers.IGNORE)


__all__ = [
    "Attribute",
    "Final",
    "_overload",
    "_overload_method",
    "export",
    "ignore",
    "unused",
]
