"""``cresset.compile``: live Python made faster without rewriting it.

The first calls of a function run as Python runs them, instruction by instruction, and are recorded (`_recording.py`).
What is recorded are plans: stretches of the function's code that only read, compute and call functions whose one effect is
their result. Later calls run a plan where its checks hold, and Python's own instructions everywhere else
(src/cresset/capture/capture.h).
"""

import copy
import functools
import inspect
import linecache
import sys
import threading
import types
import warnings
import weakref

import torch

from . import _frames, _serialization
from . import options as cresset_options
from ._capture_report import UNSAID, CaptureExplanation, Stretch, advice_for_fullgraph, runs_of, stretch_of
from ._graph_modules import BackendError, line_at
from ._recording import Recorder
from ._recording_values import MODULE_CODES, WATCHERS, graph_break
from ._rows import add_functional

__all__ = [
    "BackendError",
    "CaptureExplanation",
    "Stretch",
    "allow_in_graph",
    "compile",
    "disable",
    "explain_capture",
    "graph_break",
    "is_compiling",
    "reset",
]

VARIES = object()  # what `Options.settings` has of a number that recordings have seen change
OFTEN = 32  # runs of a plan after which the other way of a branch on a tensor is a rare one
SOME = 2  # runs after which a branch may turn for good: that of RAdam's steps does
MAX_SETTINGS = 10_000  # numbers of a code object
MAX_GROWTH = 3  # recordings in a row that have seen a loop longer than the one before
_codes = {}  # weak references to the code objects that may have plans, by identity
_all_options = weakref.WeakSet()
_notes = {}  # why plans ended there: {position: reason}, by the identity of the code object


def _why_not():
    """Why frames are not captured here; None if they are. Warns, once, unless that passes."""
    reason = _frames.why_frames_are_unknown()
    if reason is None and sys.version_info < (3, 11):
        reason = "plans are made from CPython 3.11 on"
    if reason is not None and reason != _frames.TOOLS_WATCH:
        _warn_of(f"cresset.compile leaves programs as they are on this Python: {reason}.", 3)
    return reason


@functools.cache
def _warn_of(text, level=2):
    warnings.warn(text, stacklevel=level)


class Options:
    """What a call of `compile` asked for. Makes the recorders of its functions' frames, whose plans are kept apart by it."""

    def __init__(self, backend=None, fullgraph=False, dynamic=None, cache_limit=8, numerics="exact"):
        self.backend, self.fullgraph, self.dynamic, self.cache_limit = backend, fullgraph, dynamic, cache_limit
        self.numerics = numerics
        self.is_simple = backend is None and not fullgraph
        self.failures = {}  # exceptions that calls are to raise, by thread
        self.may_branch_on_tensors = self.is_simple and dynamic is not False
        self.settings = weakref.WeakKeyDictionary()  # code object -> {where a number comes from: its value, or VARIES}
        self.traced = (
            weakref.WeakKeyDictionary()
        )  # code object -> {position of a call of a transform that is traced: kinds}
        _all_options.add(self)
        # (identity of a code object, position): (weak reference to it, truth of a tensor, codes of plans, whether it has turned)
        self.branches = {}
        # code object -> {position of a loop: (recording, length, how often it grew)}
        self.lengths = weakref.WeakKeyDictionary()
        self.num_recordings = 0
        self.without_second_runs = weakref.WeakSet()  # code objects of which no plan has such checkpoints (`SecondRun`)

    def __call__(self, code, position, view):
        if any(code is known for known in MODULE_CODES.values()):
            return None  # all modules share it: what they call has plans
        if self.failures and threading.get_ident() in self.failures:
            return None  # the call raises: what handles that, or ends a `with`, runs as it is
        _know(code)
        self.num_recordings += 1
        try:
            return Recorder(code, position, view, self)
        except Exception as error:
            self.note(code, position, f"an internal error: {type(error).__name__}: {error}")
            raise

    def __reduce__(self):
        return options_of, (self.backend, self.fullgraph, self.dynamic, self.cache_limit, self.numerics)

    def __del__(self):
        if _codes is None or self.backend is None:  # the interpreter ends, or they live as long as the process
            return
        for code in _known_codes():
            _frames.forget_plans(code, self)

    def forget(self):
        """What recordings have seen: which numbers and branches vary, kinds of traced calls."""
        self.settings.clear()
        self.traced.clear()
        self.without_second_runs.clear()
        self.branches.clear()
        self.lengths.clear()

    def note(self, code, position, reason):
        _notes.setdefault(_know(code), {})[position] = reason

    def is_steady(self, code, source, value):
        """Whether no recording has seen another number there."""
        seen = self.settings.setdefault(code, {})
        if len(seen) < MAX_SETTINGS or source in seen:
            before = seen.setdefault(source, value)
            if before is not VARIES and (type(before) is not type(value) or before != value):
                seen[source] = VARIES
            return seen[source] is not VARIES
        return False

    def grows(self, recording, code, position, length):
        """Whether a loop has had more iterations in each of some recordings than in the one before: a plan of one of them would
        fit no other."""
        seen = self.lengths.setdefault(code, {})
        before, last, times = seen.get(position, (recording, length, 0))
        if before is not recording:
            times = times + 1 if length > last else times if length == last else 0
            last = length
        seen[position] = (recording, last, times)
        return times >= MAX_GROWTH

    def varies(self, code, position, truth, code_of_plan):
        """Whether recordings have seen the truth of a tensor there go both ways. Plans that rest on it are forgotten then."""
        known, before, codes, turned = self.branches.get((id(code), position), (None, truth, {}, False))
        if known is None or known() is not code:
            before, codes, turned = truth, {}, False
        if before is not None and before is not truth:
            if self.has_held(codes, OFTEN):  # it seldom goes the other way, and that gets a plan of its own
                return False
            # What has gone one way for some calls may go the other way from now on, once.
            has_turned = not turned and self.has_held(codes, SOME)
            before, turned = (truth, True) if has_turned else (None, turned)
            for reference in codes.values():
                if reference() is not None:
                    _frames.forget_plans(reference(), self)
            codes = {}
        codes[id(code_of_plan)] = weakref.ref(code_of_plan)
        self.branches[id(code), position] = (weakref.ref(code), before, codes, turned)
        return before is None

    def has_held(self, codes, count):
        """Whether plans of the code objects that rest on a branch have run as often as that."""
        found = [reference() for reference in codes.values()]
        plans = (plan for code in found if code is not None for _, plan in _frames.plans_of(code, self))
        return any(plan.counts[0] >= count for plan in plans)

    def malformed(self, code, position, error):
        """What is said of a plan that the recorder made and that is none: an error in it. The program runs on as Python, or
        gets the exception."""
        where = f"{code.co_name}, line {line_at(code, position)}"
        self.note(code, position, f"an internal error: {error}")
        if cresset_options.optimizer_errors != "raise":
            _warn_of(
                f"cresset.compile runs {where}, as Python, since its plan has an error ({error}). Please report it."
            )
            return None
        raised = RuntimeError(f"cresset.compile: {where}: {error}")
        return raised if self.is_simple else self.failed(raised)

    def failed(self, error):
        self.failures[threading.get_ident()] = error
        return error

    def refusal(self, places, reason):
        """The error of a function that can't be one graph. `places`: (code, position) of the calls, the innermost last."""
        line = line_at(*places[-1])
        shown = "".join(
            f'  File "{code.co_filename}", line {at}, in {code.co_name}\n    {linecache.getline(code.co_filename, at).strip()}\n'
            for code, at in ((code, line_at(code, position)) for code, position in places)
        )
        return self.failed(
            RuntimeError(
                f"cresset.compile(fullgraph=True): line {line} can't be in one graph with the rest: {reason}.\n"
                f"{shown}{advice_for_fullgraph(reason)}"
            )
        )

    def call(self, function, args, kwargs, code):
        try:
            result = _frames.call_captured(function, args, kwargs, code, self, self.cache_limit, self.fullgraph)
        finally:
            failure = self.failures.pop(threading.get_ident(), None)
        if failure is not None:  # the program caught it
            raise failure
        return result


@functools.cache
def _own_options(fullgraph, dynamic, cache_limit, numerics):
    return Options(None, fullgraph, dynamic, cache_limit, numerics)


def options_of(backend, fullgraph, dynamic, cache_limit, numerics="exact"):
    if backend is None:
        return _own_options(fullgraph, dynamic, cache_limit, numerics)
    return Options(backend, fullgraph, dynamic, cache_limit, numerics)


def _known_codes():
    return [code for code in [reference() for reference in list(_codes.values())] if code is not None]


def _know(code):
    key = id(code)
    if key not in _codes:
        _codes[key] = weakref.ref(code, lambda _: (_codes.pop(key, None), _notes.pop(key, None)))
    return key


@_frames.call_directly
class _Compiled(_frames.Caller):
    """A function whose calls are captured. Attributes are the function's."""

    def __init__(self, function, options):
        super().__init__(function, options, WATCHERS, _why_not)
        functools.update_wrapper(self, function)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self):
        found = sys.modules.get(getattr(self, "__module__", None))
        for name in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (_compiled, (self.target, self.options))

    def __prepare_scriptable__(self):
        """What ``cresset.script`` and torch.jit.script compile in its place."""
        return self.target

    @property
    def __reduce_package__(self):
        reduction = self.__reduce__()
        if isinstance(reduction, str):
            raise AttributeError("a package has it by its name")
        return functools.partial(_serialization.reduced_to_package, reduction)

    def __repr__(self):
        return f"<compiled {self.target!r}>"


def _compiled(function, options):
    """Named by pickles and packages: the latter would ask the class for its ``__reduce_package__``."""
    return _Compiled(function, options)


@_frames.call_directly
class _CompiledForward(_frames.Caller):
    """The `forward` of a compiled module: of its class, which is the module's own but for it."""

    def __init__(self, module, options):
        super().__init__(module, options, WATCHERS, _why_not, of_class=True)

    @property
    def module(self):
        return self.target

    def function(self):
        return types.MethodType(type(self.module).forward, self.module)


class _CompiledModule:
    """What classes of compiled modules derive from first."""

    __slots__ = ()

    def __init_subclass__(cls):
        """Nothing: a class that keeps a list of its subclasses does not get to see these."""

    def __prepare_scriptable__(self):
        """What ``cresset.script`` and torch.jit.script compile in its place."""
        return self.forward.module

    def __copy__(self):
        return _compiled_module(copy.copy(self.forward.module), self.forward.options)

    def __reduce_ex__(self, protocol):
        return _compiled_module, (self.forward.module, self.forward.options)

    def __reduce_package__(self, exporter):
        return _serialization.reduced_to_package(self.__reduce_ex__(2), exporter)


def _compiled_module(module, options):
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
        "forward": _CompiledForward(module, options),
    }
    compiled = object.__new__(type(kind)(kind.__name__, (_CompiledModule, kind), attributes))
    # One dict for both: train(), to(), hooks and attributes set on either are seen by both.
    object.__setattr__(compiled, "__dict__", module.__dict__)
    return compiled


def _check_options(backend, fullgraph, dynamic, cache_limit, numerics):
    if isinstance(backend, str):
        raise ValueError(
            f"cresset.compile knows no backend by the name {backend!r}: pass the function itself, which takes a "
            "torch.fx.GraphModule and example inputs and returns a callable; or leave it out for Cresset's own."
        )
    if backend is not None and not callable(backend):
        raise TypeError(f"backend is a function of a torch.fx.GraphModule and example inputs; got {backend!r}.")
    if type(fullgraph) is not bool:
        raise TypeError(f"fullgraph is True or False; got {fullgraph!r}.")
    if dynamic is not None and type(dynamic) is not bool:
        raise TypeError(f"dynamic is None, True or False; got {dynamic!r}.")
    if type(cache_limit) is not int or cache_limit < 1:
        raise ValueError(f"cache_limit is a number of plans, at least 1; got {cache_limit!r}.")
    if numerics not in ("exact", "default"):
        raise ValueError(f"numerics is 'exact' or 'default'; got {numerics!r}.")
    if numerics == "default" and backend is not None:
        raise ValueError("numerics is for Cresset's own graphs: leave it out, or leave out the backend.")


def compile(f=None, *, backend=None, fullgraph=False, dynamic=None, cache_limit=8, numerics="exact", **unknown):
    """Makes calls of a Python function or module faster by plans of what its first calls did.

    Results, effects, exceptions and gradients are those of the function itself: what a plan does not cover runs as the
    Python that it is. Works as a decorator, also of methods.

    Arguments:
        f: a function, a method, an ``nn.Module`` or another object whose class has a ``__call__`` written in Python. A
            module comes back as a module whose class is derived from its own, and which has all attributes in common with
            it: parameters, hooks, `training`, and what is set on either later.
        backend: None for Cresset's own. Otherwise a function
            ``compiler(gm: torch.fx.GraphModule, example_inputs: list) -> callable``: it gets the tensor calls of each plan
            as a graph, and what it returns computes them from the next call on that the plan fits: it takes the inputs of
            ``gm`` (tensors, and ints and floats that the program reads) and returns its outputs as a tuple or list. The
            graph writes to no tensor. Parameters and buffers of modules are attributes of ``gm``.
        fullgraph: True: a call that isn't one graph of the backend, or one plan whose calls on tensors are in compiled graphs,
            raises a RuntimeError, which names the first line that isn't in it, why, and what to write instead.
        dynamic: None or True: one plan serves all sizes, except where the function branches on them. False: each size has a
            plan of its own, in whose graph numbers are constants.
        cache_limit: how many plans there may be from any one instruction on. Calls that none of them fits run plainly; with
            `fullgraph` they raise a RuntimeError.
        numerics: ``"exact"``: results have eager PyTorch's bits, in each call. ``"default"``: compiled graphs follow the
            option ``cresset.options.numerics`` as it is when they are made, as scripts do. Then Cresset's own kernels also
            compute reductions, norms and small matrix products, with errors against float64 at most twice those of eager
            PyTorch. The call that records a plan, and calls before its kernels are compiled, may have other last bits.

    Compiled functions may be called from several threads. On Pythons other than CPython 3.11 to 3.13 programs run as they are,
    and a warning says so once. `explain` tells what became of each line.

    Raises:
        TypeError: `f` is nothing that can be compiled, or an option is of a wrong type.
        ValueError: an option asks for what there is not.
        BackendError: in a call, if the backend raises.
    """
    if unknown:
        known = [name for name, of in inspect.signature(compile).parameters.items() if of.kind is of.KEYWORD_ONLY]
        raise TypeError(
            f"cresset.compile has no option {', '.join(map(repr, unknown))}; it has {', '.join(known)}. Of torch.compile's, "
            "`mode` and `options` have no counterpart: leave them out."
        )
    _check_options(backend, fullgraph, dynamic, cache_limit, numerics)
    options = options_of(backend, fullgraph, dynamic, cache_limit, numerics)
    return functools.partial(_compile, options=options) if f is None else _compile(f, options)


def _compile(f, options):
    if isinstance(f, (staticmethod, classmethod)):
        return type(f)(_compile(f.__func__, options))
    if isinstance(f, (_Compiled, torch.nn.Module)) and isinstance(getattr(f, "forward", None), _CompiledForward):
        return f
    if isinstance(f, _Compiled):
        return f
    if isinstance(f, torch.nn.Module):
        return _compiled_module(f, options)
    if isinstance(f, type) or not callable(f):
        raise TypeError(
            f"cresset.compile takes a function, a method or a module; got {f!r}. Compile a method of a class."
        )
    if not isinstance(f, (types.FunctionType, types.MethodType)):
        call = type(f).__call__
        if isinstance(call, types.FunctionType):
            f = types.MethodType(call, f)
    return _Compiled(f, options)


def allow_in_graph(f):
    """Lets a Python function be one call of a graph, instead of the calls that it makes. Returns it; works as a decorator.

    Its one effect has to be its result: a tensor, a number, or a tuple or list of tensors, computed from its arguments
    alone. Calls that a check of a plan makes vain are made all the same, and backends may leave out calls.
    """
    if not isinstance(f, types.FunctionType):
        raise TypeError(f"cresset.allow_in_graph takes a Python function; got {f!r}.")
    add_functional(f)
    return f


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


def reset():
    """Forgets all plans, and what recordings have seen. What runs at the moment goes on."""
    _notes.clear()
    for options in list(_all_options):
        options.forget()
    for code in _known_codes():
        _frames.forget_plans(code, None)


def explain_capture(f):
    """The `CaptureExplanation` of a function or module that `compile` returned; None for anything else."""
    compiled = f if isinstance(f, _Compiled) else getattr(f, "forward", None)
    if isinstance(compiled, _CompiledForward):
        function, options = compiled.function(), compiled.options
    elif isinstance(compiled, _Compiled):
        function, options = compiled.target, compiled.options
    else:
        return None
    target = getattr(function, "__func__", function)
    if type(target) is not types.FunctionType:
        return CaptureExplanation(repr(function), 0, "it is not written in Python")
    code = target.__code__
    name, first = code.co_qualname if hasattr(code, "co_qualname") else code.co_name, code.co_firstlineno
    file = code.co_filename
    off = _why_not()
    if off is None and code.co_flags & (0x20 | 0x80 | 0x200):
        off = "frames of generators and coroutines are CPython's"
    if off is None and _frames.is_given_back(code, options):
        off = "its plans save less than it costs to run its frames in parts"
    if off is not None:
        return CaptureExplanation(name, first, off, file=file)
    found = _frames.plans_of(code, options)
    plans = [stretch_of(code, start, plan) for start, plan in found]
    notes = _notes.get(id(code), {})
    python = sorted({(line_at(code, position), reason) for position, reason in notes.items() if reason not in UNSAID})
    calls, recordings, time, ran = _frames.history_of(code, options)
    runs = list(runs_of(code, notes, ran, {start for start, _ in found}))
    return CaptureExplanation(name, first, None, plans, python, file, runs, calls, recordings, time)
