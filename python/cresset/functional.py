"""Programs without mutation: ``functionalize`` makes one of a script function, a trace or a Python callable, ``writes_left``
tells what stands against it in a graph (docs/functionalization.md)."""

import copy
import functools
import inspect
import threading
import traceback
import types

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves, tree_map_only

from . import _C, passes
from ._errors import UserError
from ._graphs import checked

__all__ = [
    "commit_update",
    "functionalize",
    "is_functional",
    "redispatch_to_next",
    "replace",
    "sync",
    "unwrap",
    "wrap",
    "writes_left",
]


def writes_left(graph, *, distinct_inputs=False):
    """The writes to tensors that ``passes.functionalize`` would leave in the graph, a text each: operator, line, reason.

    The graph is left as it is. Calls are looked into. ``distinct_inputs=True``: tensors that come in as different inputs
    share no memory with each other.
    """
    inlined = checked(graph).copy()
    passes.inline(inlined)
    return passes.functionalize(inlined, distinct_inputs=distinct_inputs)


def is_functional(tensor):
    """Whether the tensor is a result within ``functionalize``, which has no memory that Python could read."""
    return isinstance(tensor, torch.Tensor) and _C._is_functional(tensor)


def sync(tensor):
    """A tensor with memory of its own that has the tensor's elements now; of a tensor that is not functional, and was not
    written by the functionalized program that runs, the tensor itself."""
    return _C._functional_sync(tensor, False)


# ---- For backends with kernels that are no operators


def wrap(tensor):
    """A tensor of the functionalized program that runs on this thread, in memory of its own, with the elements of `tensor`,
    which nothing may write to from now on. Without gradients. `tensor` has memory: it comes from outside of the program, from
    ``unwrap``, or is made under ``redispatch_to_next``. Raises UserError outside of ``functionalize``, and for sparse,
    quantized and nested tensors."""
    return _C._functional_wrap(tensor)


def unwrap(tensor):
    """A tensor with memory that has the elements of a tensor of the functionalized program that runs on this thread, as they
    are now; without gradients. Nothing may write to it: it may be memory of the program's arguments."""
    return _C._functional_unwrap(tensor)


def replace(tensor, value):
    """Gives a tensor of the functionalized program other elements; no operator runs. Tensors that share its memory keep
    theirs until ``commit_update``.

    value: a tensor with memory (``unwrap``, or computed under ``redispatch_to_next``) of the same dtype, sizes and device.
    Raises UserError for other values, and if it would lose a gradient.
    """
    _C._functional_replace(tensor, value)


def commit_update(tensor):
    """Makes what ``replace`` has set a write to the tensor's memory: what shares it sees it, and a tensor from outside gets it
    when the program returns. Nothing happens if nothing was set. Raises UserError where an in-place operator would."""
    _C._functional_commit_update(tensor)


def redispatch_to_next():
    """A context in which operators run below the functionalized program, on tensors with memory, without gradients: seen by
    what is around ``functionalize`` (``make_fx``, a TorchDispatchMode, an outer level), not by the program's own level. Call
    ``unwrap`` before it and ``replace`` or ``wrap`` after it."""
    return _C._BelowFunctional()


# ---- What reads memory past the operators, while a thread runs a functionalized program


def _given_away(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if self.requires_grad and name in ("numpy", "__dlpack__"):  # which raise
            return original(self, *args, **kwargs)
        memory = _C._functional_sync(self.detach() if self.requires_grad else self, True)
        with _C._ClientPause():
            return original(memory, *args, **kwargs)

    return method


def _moved(name):
    given = _given_away(name)

    @functools.wraps(given)
    def method(self, *args, **kwargs):
        given(self, *args, **kwargs)
        return self

    return method


def _reading(original, elements):
    """A method that reads a tensor by `original`: of one without memory, what `elements` makes of it."""

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _C._is_functional(self):  # a tensor from outside, perhaps of a class of its own
            _C._functional_sync(self, True)
            with _C._ClientPause():
                return original(self, *args, **kwargs)
        memory = elements(self.detach())
        with _C._ClientPause():
            if self.requires_grad and not _C._is_transformed():
                memory = memory.detach().requires_grad_()
            return original(memory, *args, **kwargs)

    return method


def _read(name):
    return _reading(getattr(torch.Tensor, name), sync)


def _pickled(name):
    return _reading(getattr(torch.Tensor, name), _C._functional_place)  # which keeps what copies share


def _made_like(name):
    """``new_tensor`` and ``new``, which PyTorch makes by the kind of memory that a tensor has."""
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _C._is_functional(self):
            return original(self, *args, **kwargs)
        if name == "new_tensor":
            given = {key: value for key, value in kwargs.items() if value is not None and key != "layout"}
            return torch.tensor(*args, **{"dtype": self.dtype, "device": self.device, **given})
        with _C._ClientPause():
            return original(torch.empty(0, dtype=self.dtype, device=self.device), *args, **kwargs)

    return method


def _deep_copied(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def kept(memory, memo):
        copy._keep_alive(memory, memo)  # the memo goes by identity
        return original(memory, memo)

    read = _reading(kept, _C._functional_place)

    @functools.wraps(original)
    def method(self, memo):
        if not self.is_leaf:
            return original(self, memo)  # which raises
        memory = _C._functional_memory_of_copies(self)
        if memory is not None and memo.setdefault(("memory of copies", memory), self) is not self:
            raise UserError(
                "Within cresset.functionalize, copy.deepcopy of several tensors that share memory can't be made where views "
                "are removed: the copies would not share it. Copy the tensor that has all of the memory, and make the views "
                "of the copy."
            )
        return read(self, memo)

    return method


def _copy_by_pickling(self):
    """``copy.copy`` of what has no ``__copy__``, as tensors of PyTorch's."""
    reduced = self.__reduce_ex__(4)
    return copy._reconstruct(self, None, *reduced)


def _copy_within(self):
    """``copy.copy``: a tensor with the same memory."""
    if type(self) is torch.nn.Parameter:
        result = torch.nn.Parameter(self.data, self.requires_grad)
    elif type(self) is torch.Tensor:
        result = self.data
        if not result.is_inference():
            torch._C._autograd._unsafe_set_version_counter((result,), (1,))  # `set_` has given it the memory
        result.requires_grad_(self.requires_grad)
    else:
        return _copy_by_pickling(self)
    result.__dict__.update(self.__dict__)
    return result


class _Write:
    """An operator that writes to its argument, as far as a mode asks."""

    _schema = types.SimpleNamespace(
        arguments=[types.SimpleNamespace(alias_info=types.SimpleNamespace(is_write=True), is_out=False, type=None)]
    )

    def __call__(self, tensor):
        return tensor


def _before_write(tensor):
    """``allow_mutation_on_saved_tensors`` keeps copies of what is saved and then written: its mode sees no writes of a
    functionalized program, and is told of them."""
    for mode in _get_current_dispatch_mode_stack():
        if isinstance(mode, torch.autograd.graph._CloneArgBeforeMutateMode):
            with torch.no_grad():
                mode.__torch_dispatch__(_Write(), (), (tensor,))


def _refused(name):
    original = getattr(torch.Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        raise UserError(f"Within cresset.functionalize, Tensor.{name} can't be called: it writes past the operators.")

    return method


class _MemoryReader:
    """A method of torch.Tensor: another one while the thread runs a functionalized program, the original itself else, so that
    whoever asks for it by identity finds it, and its warnings point to its caller."""

    def __init__(self, original, within):
        self.original, self.within = original, within

    def __get__(self, tensor, kind=None):
        return (self.within if _C._in_functional_level() else self.original).__get__(tensor, kind)


_METHODS = (
    (_given_away, ("numpy", "data_ptr", "untyped_storage", "__dlpack__")),
    (_moved, ("share_memory_",)),
    (_read, ("tolist",)),
    (_pickled, ("__reduce_ex__",)),
    (_deep_copied, ("__deepcopy__",)),
    (_made_like, ("new_tensor", "new")),
    (_refused, ("apply_", "map_", "map2_")),
)
_methods_lock = threading.Lock()
_methods_are_set = False


def _set_methods():
    """Methods of torch.Tensor that look at memory do so through the program that the thread runs. Set by the first call of a
    functionalized program and never taken back: each change of the class costs more than a call, and makes caches of whoever
    looks methods up, and guards of captured functions, begin anew."""
    global _methods_are_set
    with _methods_lock:
        if _methods_are_set:
            return
        for make, names in _METHODS:
            for name in names:
                setattr(torch.Tensor, name, _MemoryReader(getattr(torch.Tensor, name), make(name)))
        torch.Tensor.__copy__ = _MemoryReader(_copy_by_pickling, _copy_within)
        # Calls of autograd.Function within transforms are no operators: they pass the key of operators' clients.
        _C._set_functional_write_observer(_before_write)
        _C._set_fake_python_objects(_become_fake)
        call = torch._ops._higher_order_ops.get("custom_function_call")
        if call is not None:
            call.fallthrough(torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode"))
        _methods_are_set = True


def _refusal_in(error, level):
    """The UserError's message, of which PyTorch's bindings have made a RuntimeError; empty if the error is another one."""
    if any(frame.f_globals.get("__name__") == "torch.export" for frame, _ in traceback.walk_tb(error.__traceback__)):
        return "Within cresset.functionalize, torch.export can't export a module. Export what is to be exported before the call."
    if type(error).__module__.startswith("torch._dynamo."):
        return (
            "Within cresset.functionalize, torch.compile can't compile a function (nor can torch.cond, torch.while_loop and scan, "
            "which use it). Functionalize the function that it was given, or call torch.compile with what cresset.functionalize returns. "
            "Branches and loops of a script are functionalized as a graph: cresset.functionalize(cresset.script(f))."
        )
    if isinstance(error, AssertionError) and "Please convert all Tensors to FakeTensors first" in str(error):
        return (
            "Within cresset.functionalize, a mode of fake tensors (of aot_function, say) can't be entered and given the program's tensors. "
            "Functionalize the function that is called within the mode."
        )
    if type(error) is not RuntimeError:
        return ""
    if level.refusal and level.refusal in str(error):
        return level.refusal
    return str(error) if str(error).startswith("Within cresset.functionalize, ") else ""


def _make_fx_mode():
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY)


def _tell_make_fx(level):
    """What a transform of torch.func or a tape has kept of a closed level stands for tensors, or becomes ones, that modes have
    not seen. A graph that is made of what calls them next has to know for which."""
    mode = _make_fx_mode()
    if mode is None:
        return
    known = mode.tracer.tensor_tracker

    def visit(stand_in, tensor):
        if tensor in known and stand_in not in known:
            known[stand_in] = known[tensor]

    level.visit_standing(visit)


def _become_fake(tensor, value):
    """Makes the object of what a tape, say, has kept of a closed level that of a fake tensor, if the value is one."""
    from torch._subclasses.fake_tensor import FakeTensor  # which is loaded, if there are any

    if not isinstance(value, FakeTensor):
        return False
    tensor.__class__ = type(value)
    tensor.__dict__.update(value.__dict__)
    if value.constant is not None:  # until one of those that have it is written
        value.fake_mode.fake_tensor_converter.add_constant_storage_mapping(tensor)
    return True


def _run_functionalized(function, args, kwargs, copies_views):
    if not _methods_are_set:
        _set_methods()
    level = _C._FunctionalLevel(copies_views)
    try:
        level.enter()
        try:
            result = function(*args, **kwargs)
        finally:
            level.exit()
    except BaseException as error:
        refusal = _refusal_in(error, level)
        try:
            level.close()  # what was written before the error has been written
        except UserError:
            if not refusal:  # else it says the same again, without the program's line
                raise
        _tell_make_fx(level)
        level.settle()
        if refusal:
            raise UserError(refusal).with_traceback(error.__traceback__) from error
        raise
    level.close()
    _tell_make_fx(level)
    result = _left(result, level)
    level.settle()
    return result


def _left(result, level):
    """The result with what its tensors are after the level; the object itself, if they are the same tensors."""
    if isinstance(result, torch.Tensor):
        return level.leave(result)
    inside = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    outside = {id(tensor): level.leave(tensor) for tensor in inside}
    if all(outside[id(tensor)] is tensor for tensor in inside):
        return result
    return tree_map_only(torch.Tensor, lambda tensor: outside[id(tensor)], result)


def _functionalize_live(function, copies_views):
    runs = (function, type(function).__call__, getattr(function, "forward", None))
    for test in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        if any(map(test, runs)):
            raise UserError(
                "cresset.functionalize takes no generator and no coroutine: it would run after the call has returned."
            )

    def functionalized(*args, **kwargs):
        # torch.compile, torch.export and aot_function, which functionalize what they record.
        if torch.compiler.is_compiling() or torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FUNCTIONAL):
            return function(*args, **kwargs)
        if torch._C._get_tracing_state() is not None:
            raise UserError(
                "PyTorch's tracer would record the tensors of what cresset.functionalize returns as constants. Trace it with "
                "cresset.trace, or functionalize what PyTorch's tracer returns."
            )
        return _run_functionalized(function, args, kwargs, copies_views)

    if hasattr(function, "__name__"):
        functools.update_wrapper(
            functionalized, function, updated=() if isinstance(function, torch.nn.Module) else ("__dict__",)
        )
    module = getattr(function, "_traced_as", function)
    if isinstance(module, torch.nn.Module) and not hasattr(module, "_c"):
        functionalized._traced_as = module  # its parameters are attributes of a trace
    return functionalized


def _require_none(what, left, function):
    if left:
        raise UserError("\n  ".join([f"Not all {what} can be removed from {function.name}:", *left]))


def functionalize(function, remove="mutations", *, distinct_inputs=False):
    """The same program without in-place operators. What it was made of stays as it is.

    function: a script function or a traced function of tensors and other values: the result is a script function. Not a
        method: its module's attributes are no arguments. ``graph, _ = cresset.passes.lower_graph(method.inlined_graph)``
        makes them inputs, and ``cresset.function_from_graph(name, graph)`` a function of that.
        Or any other callable, modules too: the result is a function that calls it, so that what it does with tensors
        comes from operators that write nothing; ``cresset.trace`` of a module's gives a module with its parameters. Tensors
        that it writes and that come from outside (arguments, parameters, free variables) get one ``aten::copy_`` each when it returns or raises. It may be called within, or around,
        torch.func's transforms, make_fx, ``cresset.trace`` and itself.
    remove: "mutations", or "mutations_and_views": then views, too, are operators that return new tensors (`select_copy`,
        `view_copy`, …). Results are no views of arguments or of each other; values and sizes are the same. Of a script
        function, the strides of what is computed of views may be other than in eager PyTorch.
    distinct_inputs: True promises that tensors which are different arguments share no memory with each other. Without
        it, an argument can't be read after another one was written, as both may be the same tensor. Tensors in an argument
        that is a list, dict or tuple are none of these.

    With "mutations", results, their strides and what shares memory are those of ``function``, bit for bit; arguments that
    it writes to get one ``aten::copy_`` each. If the program raises, its arguments keep what they held. The new function
    has the same argument names and defaults.

    Raises UserError, with a reason for each write or view that would stay; ``cresset.passes.functionalize(graph)`` and
    ``cresset.passes.remove_views(graph)`` remove the others. Thread-safe.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise UserError(
            f'cresset.functionalize removes "mutations" or "mutations_and_views", not {remove!r}; passes.remove_views(graph) '
            "removes the views of a graph that has no mutation."
        )
    copies_views = remove == "mutations_and_views"
    if isinstance(function, _C.ScriptMethod) or not callable(function):
        raise UserError(
            f"cresset.functionalize takes a script function, a traced function or a callable, not {type(function).__name__}. "
            "Of a module's method, pass "
            "cresset.function_from_graph(name, cresset.passes.lower_graph(method.inlined_graph)[0])."
        )
    if not isinstance(function, _C.ScriptFunction):
        return _functionalize_live(function, copies_views)
    graph = function.inlined_graph.copy()
    _require_none("mutation", passes.functionalize(graph, distinct_inputs=distinct_inputs), function)
    if copies_views:
        _require_none("views", passes.remove_views(graph), function)
    _C._tidy_functional(graph)
    return _C._function_like(function, function.name + "_functional", graph)
