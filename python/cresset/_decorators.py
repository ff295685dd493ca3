"""Decorators and annotations that say how Python code is to be scripted.

They leave the marks that torch.jit's leave, so that code written for either works with both: what is said of a function
stands in its ``_torchscript_modifier``.
"""

import ast
import textwrap
import typing
import weakref

import torch
import torch._jit_internal as _shared
from torch._jit_internal import FunctionModifiers as _Modifiers
from torch._jit_internal import _overload, _overload_method

Final = typing.Final


class _Overloads(dict):
    """The functions that ``@_overload`` marks, by the name that they overload. torch.jit takes away those that it has
    compiled; for us they still count.
    """

    def __init__(self, functions):
        super().__init__(functions)
        self._taken = {}

    def __delitem__(self, name):
        self._taken.setdefault(name, []).extend(self[name])
        super().__delitem__(name)

    def all_of(self, name, implementation):
        """Those of `implementation`, which a later function of the same name does not share."""
        found = []
        for overload in (*self._taken.get(name, ()), *self.get(name, ())):
            of = overload.__dict__.setdefault("_cresset_overload_of", weakref.ref(implementation))
            if of() is implementation:
                found.append(overload)
        return found


_shared._overloaded_fns = _Overloads(_shared._overloaded_fns)


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


def ignored_block(body, variables, scope, filename, line):
    """The function that a block of ``with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):`` becomes, which Python
    runs.

    Args:
        body: the block's lines.
        variables: pairs of a name and "inp:type" or "out:type".
        scope: the names that the block sees, a dict; those of typing that annotations use are added.
        filename, line: where the block begins, for tracebacks.
    """
    inputs = [f"{name}: {kind[4:]}" for name, kind in variables if kind.startswith("inp:")]
    outputs = [(name, kind[4:]) for name, kind in variables if kind.startswith("out:")]
    result = ", ".join(kind for _, kind in outputs)
    if len(outputs) != 1:
        result = f"Tuple[{result}]" if outputs else "None"
    text = (
        f"def ignored_block({', '.join(inputs)}) -> {result}:\n"
        + textwrap.indent(textwrap.dedent(body), "    ")
        + f"\n    return {', '.join(name for name, _ in outputs)}\n"
    )
    tree = ast.parse(text)
    ast.increment_lineno(tree, line - 1)
    typing_names = {name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")}
    names = {"torch": torch, **typing_names, **scope}
    exec(compile(tree, filename, "exec"), names)  # noqa: S102  (the program's own text)
    return names["ignored_block"]
