"""``cresset.compile``: live Python made faster without rewriting it.

The first calls of a function run as Python runs them, instruction by instruction, and are recorded (`_recording.py`).
What is recorded are plans: stretches of the function's code that only read, compute and call functions whose one effect is
their result. Later calls run a plan where its checks hold, and Python's own instructions everywhere else
(src/cresset/capture/capture.h).
"""

import copy
import dis
import functools
import sys
import types
import warnings
import weakref
from dataclasses import dataclass, field

import torch

from . import _frames
from ._recording import END, WATCHERS, Recorder

__all__ = [
    "CaptureExplanation",
    "Stretch",
    "compile",
    "disable",
    "explain_capture",
    "graph_break",
    "is_compiling",
    "reset",
]

_codes = {}  # weak references to the code objects that may have plans, by identity
_notes = {}  # why plans ended there: {position: reason}, by the identity of the code object


@functools.cache
def _why_not():
    """Why frames are not captured here; None if they are. Warns, once."""
    reason = _frames.why_frames_are_unknown()
    if reason is None and sys.version_info[:2] != (3, 11):
        reason = "plans are made on CPython 3.11"
    if reason is not None:
        warnings.warn(f"cresset.compile leaves programs as they are on this Python: {reason}.", stacklevel=4)
    return reason


def _new_recorder(code, position, view):
    _know(code)
    return Recorder(code, position, view, _note)


def _know(code):
    key = id(code)
    if key not in _codes:
        _codes[key] = weakref.ref(code, lambda _: (_codes.pop(key, None), _notes.pop(key, None)))
    return key


def _note(code, position, reason):
    _notes.setdefault(_know(code), {})[position] = reason


def _runs_plainly():
    """Whether something else watches what this thread's calls do."""
    if _why_not() is not None:
        return True
    for watches in WATCHERS:  # not any(): each call asks this, and a generator costs as much as what it asks
        if watches():
            return True
    return False


def _call(function, args, kwargs, cache_limit):
    target = function.__func__ if type(function) is types.MethodType else function
    if type(target) is not types.FunctionType or _runs_plainly():
        return function(*args, **kwargs)
    return _frames.call_captured(function, args, kwargs, target.__code__, _new_recorder, cache_limit)


class _Compiled:
    """A function whose calls are captured. Attributes are the function's."""

    def __init__(self, function, cache_limit):
        functools.update_wrapper(self, function)
        self._function = function
        self._cache_limit = cache_limit

    def __call__(self, /, *args, **kwargs):
        return _call(self._function, args, kwargs, self._cache_limit)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self):
        found = sys.modules.get(getattr(self, "__module__", None))
        for name in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (_Compiled, (self._function, self._cache_limit))

    def __repr__(self):
        return f"<compiled {self._function!r}>"


class _CompiledForward:
    """The `forward` of a compiled module: of its class, which is the module's own but for it."""

    def __init__(self, module, cache_limit):
        self.module = module
        self.cache_limit = cache_limit

    def function(self):
        return types.MethodType(type(self.module).forward, self.module)

    def __call__(self, /, *args, **kwargs):
        return _call(self.function(), args, kwargs, self.cache_limit)


class _CompiledModule:
    """What classes of compiled modules derive from first."""

    __slots__ = ()

    def __init_subclass__(cls):
        """Nothing: a class that keeps a list of its subclasses does not get to see these."""

    def __copy__(self):
        return _compiled_module(copy.copy(self.forward.module), self.forward.cache_limit)

    def __reduce_ex__(self, protocol):
        return _compiled_module, (self.forward.module, self.forward.cache_limit)


def _compiled_module(module, cache_limit):
    kind = type(module)
    if not isinstance(kind.forward, types.FunctionType) or "forward" in module.__dict__:
        raise TypeError(
            f"cresset.compile takes a module whose class has a forward written in Python; {kind.__name__} has another: "
            "compile a function that calls the module"
        )
    if any(base.__dict__.get("__slots__") for base in kind.__mro__):
        raise TypeError(f"{kind.__name__} has __slots__: compile a function that calls the module")
    if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
        raise TypeError(f"{kind.__name__} finds its sizes at its first call: call it once, then compile it")
    attributes = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "forward": _CompiledForward(module, cache_limit),
    }
    compiled = object.__new__(type(kind)(kind.__name__, (_CompiledModule, kind), attributes))
    # One dict for both: train(), to(), hooks and attributes set on either are seen by both.
    object.__setattr__(compiled, "__dict__", module.__dict__)
    return compiled


def _check_options(backend, fullgraph, dynamic, cache_limit):
    if backend is not None:
        raise ValueError(
            f"cresset.compile has no backends: plans call PyTorch's own operators. Leave out backend={backend!r}; "
            "cresset.script and cresset.trace give graphs to transform."
        )
    if fullgraph is not False:
        raise ValueError(
            "cresset.compile makes no graphs, so that fullgraph can't be promised. Leave it out; cresset.script takes a "
            "function whole or says which line it can't."
        )
    if dynamic is not None and dynamic is not True:
        raise ValueError("cresset.compile never pins sizes: leave out dynamic, or pass True.")
    if type(cache_limit) is not int or cache_limit < 1:
        raise ValueError(f"cache_limit is a number of plans, at least 1; got {cache_limit!r}.")


def compile(f=None, *, backend=None, fullgraph=False, dynamic=None, cache_limit=8):
    """Makes calls of a Python function or module faster by plans of what its first calls did.

    Results, effects, exceptions and gradients are those of the function itself: what a plan does not cover runs as the
    Python that it is. Works as a decorator, also of methods.

    Arguments:
        f: a function, a method, an ``nn.Module`` or another object whose class has a ``__call__`` written in Python. A
            module comes back as a module whose class is derived from its own, and which has all attributes in common with
            it: parameters, hooks, `training`, and what is set on either later.
        backend: None, which is the only one: plans call PyTorch's own operators.
        fullgraph: False: no graphs are made.
        dynamic: None or True: one plan serves all sizes, except where the function branches on them.
        cache_limit: how many plans there may be from any one instruction on. Calls that none of them fits run plainly.

    Compiled functions may be called from several threads. On Pythons other than CPython 3.11 programs run as they are, and
    a warning says so once. `explain` tells what became of each line.

    Raises:
        TypeError: `f` is nothing that can be compiled.
        ValueError: an option asks for what there is not.
    """
    _check_options(backend, fullgraph, dynamic, cache_limit)
    if f is None:
        return functools.partial(compile, cache_limit=cache_limit)
    if isinstance(f, (staticmethod, classmethod)):
        return type(f)(compile(f.__func__, cache_limit=cache_limit))
    if isinstance(f, (_Compiled, torch.nn.Module)) and isinstance(getattr(f, "forward", None), _CompiledForward):
        return f
    if isinstance(f, _Compiled):
        return f
    if isinstance(f, torch.nn.Module):
        return _compiled_module(f, cache_limit)
    if isinstance(f, type) or not callable(f):
        raise TypeError(
            f"cresset.compile takes a function, a method or a module; got {f!r}. Compile a method of a class."
        )
    if not isinstance(f, (types.FunctionType, types.MethodType)):
        call = type(f).__call__
        if isinstance(call, types.FunctionType):
            f = types.MethodType(call, f)
    return _Compiled(f, cache_limit)


def disable(f):
    """A function that runs as it is, and all that it calls, also where compiled code calls it."""

    @functools.wraps(f)
    def plain(*args, **kwargs):
        return _frames.call_plainly(f, args, kwargs)

    return plain


def is_compiling():
    """Whether the caller runs in a call of a compiled function of this thread, outside of what `disable` runs.

    The same in the first call and in later ones; False on Pythons where programs run as they are.
    """
    return _frames.is_capturing()


def graph_break():
    """A plan of compiled code ends before this call, and another may begin after it."""
    _frames.why_frames_are_unknown()


def reset():
    """Forgets all plans. What runs at the moment goes on."""
    _notes.clear()
    for reference in list(_codes.values()):
        code = reference()
        if code is not None:
            _frames.forget_plans(code)


@dataclass(frozen=True)
class Stretch:
    """A plan of a captured function."""

    #: The lines of the function where it begins and ends. A loop may end it above where it begins.
    first_line: int
    last_line: int
    #: How often it ran, how often a check of it failed, how often a call in it raised and the Python ran instead.
    applied: int
    failed: int
    raised: int


@dataclass(frozen=True)
class CaptureExplanation:
    """What became of a function that `cresset.compile` made faster. `print` shows it."""

    #: The function's name, and the line it begins at.
    name: str
    line: int
    #: Why no frame of it is captured; None if they are.
    off: str | None
    #: Plans by line.
    plans: list = field(default_factory=list)
    #: What ended plans, and ran as the Python that it is: (line, reason), by line.
    python: list = field(default_factory=list)

    def __str__(self):
        lines = [f"{self.name}, line {self.line}"]
        if self.off is not None:
            return f"{lines[0]}: runs as it is: {self.off}"
        if not self.plans:
            lines.append("  no plans")
        for plan in self.plans:
            several = plan.first_line != plan.last_line
            where = f"lines {plan.first_line} to {plan.last_line}" if several else f"line {plan.first_line}"
            lines.append(f"  plan of {where}: ran {plan.applied}, checks failed {plan.failed}, raised {plan.raised}")
        lines += [f"  Python at line {line}: {reason}" for line, reason in self.python]
        return "\n".join(lines)


def explain_capture(f):
    """The `CaptureExplanation` of a function or module that `compile` returned; None for anything else."""
    compiled = f if isinstance(f, _Compiled) else getattr(f, "forward", None)
    if isinstance(compiled, _CompiledForward):
        function = compiled.function()
    elif isinstance(compiled, _Compiled):
        function = compiled._function
    else:
        return None
    target = getattr(function, "__func__", function)
    if type(target) is not types.FunctionType:
        return CaptureExplanation(repr(function), 0, "it is not written in Python")
    code = target.__code__
    name, first = code.co_qualname if hasattr(code, "co_qualname") else code.co_name, code.co_firstlineno
    off = _why_not()
    if off is not None:
        return CaptureExplanation(name, first, off)
    if code.co_flags & (0x20 | 0x80 | 0x200):
        return CaptureExplanation(name, first, "frames of generators and coroutines are CPython's")
    starts = sorted((start, line) for start, line in dis.findlinestarts(code) if line is not None)

    def line_of(position):
        return max((start, line) for start, line in starts if start <= max(2 * position, starts[0][0]))[1]

    plans = [
        Stretch(line_of(start), line_of(plan.end - 1 if plan.end > start else plan.end), *plan.counts)
        for start, plan in _frames.plans_of(code)
    ]
    notes = dict(_notes.get(id(code), {}))
    python = sorted({(line_of(position), reason) for position, reason in notes.items() if reason != END})
    return CaptureExplanation(name, first, None, plans, python)
