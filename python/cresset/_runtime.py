"""The helpers of torch.jit that mean something while ordinary Python runs."""

import builtins
import operator
import re
import sys
import threading
import types
import typing

import torch

from . import _C


def annotate(the_type, the_value):
    """Returns the value; in scripts it also gives it a type."""
    return the_value


def is_scripting():
    """False: this is Python. True in scripts."""
    return False


def scripting_is_off():
    """Whether torch.jit is switched off, by ``PYTORCH_JIT=0`` or by its own switch: then script and trace return what they
    are given, to debug it as the Python code that it is."""
    state = sys.modules.get("torch.jit._state")
    return state is not None and not state._enabled.enabled


def fork(func, *args, **kwargs):
    """Starts ``func`` and returns a Future of its result; what it raises is raised where the result is asked for.

    A script function, a script method or a loaded module runs on a thread of the pool
    (:func:`cresset.set_num_fork_threads`), with this thread's grad mode, inference mode, autocast and limits. Any other
    callable runs at once, as under torch.jit: Python code may depend on the thread that it is on.
    """
    if not callable(func):
        raise TypeError(f"Object of type '{type(func).__name__}' is not an instance of 'function'")
    script = func
    if builtins.isinstance(func, torch.nn.Module) and hasattr(func, "_c") and not _has_hooks(func):
        script = func.forward
    # A trace records what its own thread does, in that order, and that it was forked.
    tracing = _C._tracing()
    future = None if tracing else _C._fork(script, args, kwargs)
    if future is not None:
        return future
    future = _C.Future()
    if tracing:
        _C._trace_fork()
    try:
        result = func(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        if tracing:
            _C._trace_pop()
    return future


def _has_hooks(module):
    """Whether calling the module does more than its forward."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    every = torch.nn.modules.module
    return any(hooks) or bool(every._global_forward_hooks or every._global_forward_pre_hooks)


def wait(future):
    """The value of a Future: waits for it, and raises what the forked code raised.

    Raises RuntimeError for None, and TypeError for what is no Future either.
    """
    if future is None:
        raise RuntimeError("Future can't be None")
    if not hasattr(future, "wait"):
        raise TypeError(f"wait() takes a Future, which fork() returns, not {type(future).__name__}")
    return future.wait()


def _awaitable(func, *args, **kwargs):
    """An :class:`Await` of ``func(*args, **kwargs)``: a call that is made when its result is first asked for, on the thread
    that asks."""
    return _C._awaitable(func, *args, **kwargs)


def _awaitable_wait(aw):
    """The result of an :class:`Await`, whose call is made now unless it was made before."""
    return aw.wait()


def _awaitable_nowait(o):
    """An :class:`Await` that has its result."""
    return _C._awaitable_nowait(o)


def collect_all(futures):
    """A Future of the list of ``futures``: done when all are, or with the first exception of one. As
    ``torch.futures.collect_all``, for Cresset's futures."""
    futures = list(futures)
    result = Future()
    lock = threading.Lock()
    open_ones = len(futures)

    def done(future):
        nonlocal open_ones
        with lock:
            open_ones -= 1
            last = open_ones == 0
            if result.done():
                return
            try:
                future.value()
            except Exception as error:
                result.set_exception(error)
                return
            if last:
                result.set_result(futures)

    for future in futures:
        future.add_done_callback(done)
    if not futures:
        result.set_result([])
    return result


def wait_all(futures):
    """The values of all of them, in order; raises what one of them raised, without waiting for the others. As
    ``torch.futures.wait_all``, for Cresset's futures."""
    futures = list(futures)
    collect_all(futures).wait()
    return [future.wait() for future in futures]


_SIZE = re.compile(r"\s*(\d+)\s*([kmgtpe]?)(?:i?b|i)?\s*", re.IGNORECASE)


def _bytes(memory):
    """A number of bytes from a number, or from text as the shell's ``--limit-memory`` takes it."""
    size = memory
    if builtins.isinstance(memory, str):
        match = _SIZE.fullmatch(memory)
        size = int(match[1]) << 10 * " kmgtpe".index(match[2].lower() or " ") if match else 0
    elif builtins.isinstance(memory, float):
        raise TypeError(f"memory is a whole number of bytes, or text such as '2GB', not {memory!r}")
    else:
        size = operator.index(memory)
    if not 0 < size < 1 << 64:
        raise ValueError(f"memory is a number of bytes, or text such as '512MB' or '2GiB', not {memory!r}")
    return size


class Limits:
    """What each call of a script may take: ``seconds`` of time, ``memory`` in bytes (or ``"512MB"``, ``"2GiB"``: units are
    powers of 1024). Passing one is a :class:`cresset.LimitError`.

    As an argument of :func:`cresset.load`, for every call of the archive's code from Python, and for loading it (memory
    beside the file's own size; a second more, and one for each 100 MB of the file). As a context manager, for every call
    that the block makes on its thread, and for what it loads:

    >>> with cresset.Limits(seconds=2, memory=1 << 30):
    ...     model(x)

    Time is looked at between operations, so one long operation ends first. Memory is that of tensors on the CPU that the
    call allocates, less what it frees, and of the lists, dicts, strings and objects that it holds. What doesn't fit is
    refused before it is allocated; what grows piece by piece may pass the limit by a sixteenth. A call's forks share its
    limits; of several limits, the tightest counts.
    """

    __slots__ = ("memory", "seconds")

    def __init__(self, seconds=None, memory=None):
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds must be positive, not {seconds!r}")
        self.seconds = None if seconds is None else float(seconds)
        self.memory = None if memory is None else _bytes(memory)

    def __enter__(self):
        _C._enter_limits(self.seconds, self.memory)
        return self

    def __exit__(self, *error):
        _C._leave_limits()

    def __repr__(self):
        return f"cresset.Limits(seconds={self.seconds}, memory={self.memory})"


def set_num_fork_threads(count):
    """How many threads run the forks of scripts: 0, the default, for as many as ``torch.get_num_interop_threads()``.

    Set it before the first fork; it is an error once the threads run. A waiting fork holds no thread, so one is enough
    for any program to end.
    """
    _C.set_num_fork_threads(count)


def get_num_fork_threads():
    """How many threads run the forks of scripts."""
    return _C.get_num_fork_threads()


def isinstance(obj, target_type):
    """Whether an object is of a type that scripts know, type arguments included: ``List[int]``, ``Dict[str, Tensor]``,
    ``Tuple[int, int]``, ``Optional[int]``, ``Union[…]``. ``target_type`` may be a tuple of types.

    An empty list or dict is of every list or dict type, as under torch.jit.
    """
    if type(target_type) is tuple:
        return any(_is(obj, each) for each in target_type)
    return _is(obj, target_type)


def _is(obj, wanted):
    builtin_isinstance = builtins.isinstance
    origin = typing.get_origin(wanted)
    arguments = typing.get_args(wanted)
    if wanted is typing.Any:
        return True
    if wanted is None or wanted is type(None):
        return obj is None
    if origin is typing.Union or origin is getattr(types, "UnionType", ()):
        return any(_is(obj, each) for each in arguments)
    if wanted in (list, tuple, dict, typing.List, typing.Tuple, typing.Dict):
        name = {typing.List: "List", list: "list", typing.Tuple: "Tuple", tuple: "tuple"}.get(wanted, "Dict")
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
        )
    if origin is list:
        return builtin_isinstance(obj, list) and all(_is(item, arguments[0]) for item in obj)
    if origin is dict:
        return builtin_isinstance(obj, dict) and all(
            _is(k, arguments[0]) and _is(v, arguments[1]) for k, v in obj.items()
        )
    if origin is tuple:
        if not builtin_isinstance(obj, tuple):
            return False
        if arguments in ((), ((),)):
            return len(obj) == 0
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_is(item, arguments[0]) for item in obj)
        return len(obj) == len(arguments) and all(_is(item, each) for item, each in zip(obj, arguments))
    return builtin_isinstance(obj, wanted)


Future = _C.Future
Await = _C.Await

for _public in (Limits, collect_all, fork, wait, wait_all, set_num_fork_threads, get_num_fork_threads):
    _public.__module__ = "cresset"


def enable_onednn_fusion(enabled):
    """Without effect: what is fused, Cresset compiles itself."""


def onednn_fusion_enabled():
    """False, whatever :func:`enable_onednn_fusion` was told."""
    return False
