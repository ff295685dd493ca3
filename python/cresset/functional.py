"""Programs without mutation: ``functionalize`` makes one of a script function, a trace or a Python callable, ``writes_left``
tells what stands against it in a graph (docs/functionalization.md)."""

import functools
import inspect
import threading

import torch
from torch.utils._pytree import tree_map_only

from . import _C, passes
from ._errors import UserError

__all__ = ["functionalize", "is_functional", "sync", "writes_left"]


def writes_left(graph, *, distinct_inputs=False):
    """The writes to tensors that ``passes.functionalize`` would leave in the graph, a text each: operator, line, reason.

    The graph is left as it is. Calls are looked into. ``distinct_inputs=True``: tensors that come in as different inputs
    share no memory with each other.
    """
    copy = graph.copy()
    passes.inline(copy)
    return passes.functionalize(copy, distinct_inputs=distinct_inputs)


def is_functional(tensor):
    """Whether the tensor is a result within ``functionalize``, which has no memory that Python could read."""
    return _C._is_functional(tensor)


def sync(tensor):
    """A tensor with memory of its own that has the tensor's elements now; of a tensor that is not functional, and was not
    written by the functionalized program that runs, the tensor itself."""
    return _C._functional_sync(tensor, False)


# ---- What reads memory past the operators, while a thread runs a functionalized program


def _given_away(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _C._in_functional_level() or self.requires_grad:
            return original(self, *args, **kwargs)
        memory = _C._functional_sync(self, True)
        with _C._ClientPause():
            return original(memory, *args, **kwargs)

    return method


def _read(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _C._in_functional_level():
            return original(self, *args, **kwargs)
        if not _C._is_functional(self):  # a tensor from outside, perhaps of a class of its own
            _C._functional_sync(self, True)
            with _C._ClientPause():
                return original(self, *args, **kwargs)
        memory = _C._functional_sync(self.detach(), False)
        with _C._ClientPause():
            if self.requires_grad:
                memory = memory.detach().requires_grad_()
            return original(memory, *args, **kwargs)

    return method


def _refused(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if _C._in_functional_level():
            raise UserError(
                f"Within cresset.functionalize, Tensor.{name} can't be called: it writes past the operators."
            )
        return original(self, *args, **kwargs)

    return method


class _MemoryReaders:
    """Methods of torch.Tensor that look at memory; replaced while any thread runs a functionalized program."""

    GIVEN = ("numpy", "data_ptr", "untyped_storage", "__dlpack__", "share_memory_")
    READ = ("tolist", "__deepcopy__", "__reduce_ex__")
    REFUSED = ("apply_", "map_", "map2_")

    def __init__(self):
        self.lock = threading.Lock()
        self.users = 0
        self.replaced = {}

    def __enter__(self):
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            for names, make in ((self.GIVEN, _given_away), (self.READ, _read), (self.REFUSED, _refused)):
                for name in names:
                    self.replaced[name] = torch.Tensor.__dict__.get(name)
                    setattr(torch.Tensor, name, make(name))

    def __exit__(self, *error):
        with self.lock:
            self.users -= 1
            if self.users > 0:
                return
            for name, original in self.replaced.items():
                if original is None:
                    delattr(torch.Tensor, name)
                else:
                    setattr(torch.Tensor, name, original)
            self.replaced.clear()


_readers = _MemoryReaders()


def _run_functionalized(function, args, kwargs):
    level = _C._FunctionalLevel()
    with _readers:
        try:
            level.enter()
            try:
                result = function(*args, **kwargs)
            finally:
                level.exit()
        except BaseException as error:
            level.close()  # what was written before the error has been written
            if type(error) is RuntimeError and level.refusal and level.refusal in str(error):
                raise UserError(level.refusal) from error
            raise
        level.close()
        return tree_map_only(torch.Tensor, level.leave, result)


def _functionalize_live(function):
    for test in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        if test(function):
            raise UserError(
                "cresset.functionalize takes no generator and no coroutine: it would run after the call has returned."
            )

    def functionalized(*args, **kwargs):
        return _run_functionalized(function, args, kwargs)

    if hasattr(function, "__name__"):
        functools.update_wrapper(functionalized, function)
    return functionalized


def functionalize(function, remove="mutations", *, distinct_inputs=False):
    """The same program without in-place operators. What it was made of stays as it is.

    function: a script function or a traced function of tensors and other values: the result is a script function. Not a
        method: its module's attributes are no arguments. ``graph, _ = cresset.passes.lower_graph(method.inlined_graph)``
        makes them inputs, and ``cresset.function_from_graph(name, graph)`` a function of that.
        Or any other callable, modules too: the result is a function that calls it, so that what it does with tensors
        comes from operators that write nothing. Tensors that it writes and that come from outside (arguments, parameters,
        free variables) get one ``aten::copy_`` each when it returns or raises. It may be called within, or around,
        torch.func's transforms, make_fx, ``cresset.trace`` and itself.
    remove: "mutations".
    distinct_inputs: True promises that tensors which are different arguments share no memory with each other. Without
        it, an argument can't be read after another one was written, as both may be the same tensor.

    Results, their strides and what shares memory are those of ``function``, bit for bit; arguments that it writes to get
    one ``aten::copy_`` each. If the program raises, its arguments keep what they held. The new function has no default
    arguments.

    Raises UserError, with a reason for each write that would stay; ``cresset.passes.functionalize(graph)`` removes the
    others. Thread-safe.
    """
    if remove != "mutations":
        what = (
            "views stay where a value is read through them" if remove == "mutations_and_views" else "there is no other"
        )
        raise UserError(f"cresset.functionalize removes mutations only ({what}), so remove={remove!r} can't be had.")
    if isinstance(function, _C.ScriptMethod) or not callable(function):
        raise UserError(
            f"cresset.functionalize takes a script function, a traced function or a callable, not {type(function).__name__}. "
            "Of a module's method, pass "
            "cresset.function_from_graph(name, cresset.passes.lower_graph(method.inlined_graph)[0])."
        )
    if not isinstance(function, _C.ScriptFunction):
        return _functionalize_live(function)
    graph = function.inlined_graph.copy()
    left = passes.functionalize(graph, distinct_inputs=distinct_inputs)
    if left:
        raise UserError(
            f"Not all mutation can be removed from {function.name}:\n" + "\n".join(f"  {text}" for text in left)
        )
    _C._tidy_functional(graph)
    return _C.function_from_graph(function.name + "_functional", graph)
