"""cresset.script: Python functions, classes and modules as programs."""

import enum
import inspect
import sys
import types

import torch

from . import _C, _builtins
from ._annotation_check import warn_of_annotations
from ._containers import ScriptDict, ScriptList
from ._objects import ScriptModule, ScriptObject, wrap
from ._runtime import scripting_is_off

_builtins.register()

#: Classes of what torch.jit has compiled, whatever stands in their places later (see _patch.py).
OTHER_COMPILED = (
    torch._C.ScriptFunction,
    torch._C.ScriptModule,
    torch._C.ScriptMethod,
    sys.modules["torch.jit"].ScriptModule,
)


def original_of_other(function):
    """The Python function that torch.jit.script has compiled; None for one that torch.jit.trace has made, which means less than
    the Python function that it names as its original too.
    """
    original = getattr(function, "_torchdynamo_inline", None)
    if not isinstance(original, types.FunctionType):
        return None
    graph = function.graph
    values = [
        *graph.inputs(),
        *(out for node in graph.nodes() for out in node.outputs() if node.kind() != "prim::Constant"),
    ]
    tensors = [value.type() for value in values if value.type().kind() == "TensorType"]
    return (
        None if any(each.sizes() is not None for each in tensors) else original
    )  # traces have the sizes of their example


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a Python function, class or module.

    A function becomes a :class:`cresset.ScriptFunction`; what it calls is compiled too. A class is made known to scripts
    and returned as it is. A module becomes a :class:`cresset.ScriptModule` that shares its parameters. A list or dict
    becomes a :class:`cresset.ScriptList` or :class:`cresset.ScriptDict`, which scripts don't copy. Usable as a decorator.
    ``example_inputs`` is accepted for torch.jit's sake and not needed: types come from annotations.

    With ``PYTORCH_JIT=0`` in the environment it returns ``obj``, to debug it as Python code.
    """
    if isinstance(obj, (_C.ScriptFunction, _C.ScriptMethod, ScriptModule, ScriptObject, ScriptList, ScriptDict)):
        return obj
    if scripting_is_off():
        return obj
    refuse_other_compilers(obj)
    locals_of_caller = sys._getframe(_frames_up + 1).f_locals
    if isinstance(obj, torch.nn.Module):
        warn_of_annotations(obj)
        return _script_module(obj, locals_of_caller)
    if inspect.isclass(obj):
        return _script_class(obj, locals_of_caller)
    prepare = getattr(obj, "__prepare_scriptable__", None)
    if callable(prepare):
        return script(prepare(), _frames_up=_frames_up + 1)
    if isinstance(obj, types.MethodType):
        raise RuntimeError(
            f"'{obj.__qualname__}' is a method bound to {type(obj.__self__).__name__}: script the module or the class that "
            "it belongs to"
        )
    if not isinstance(obj, types.FunctionType):
        if isinstance(obj, (list, dict)):
            return (ScriptList if isinstance(obj, list) else ScriptDict)(obj)
        if _is_instance(obj):
            _script_class(type(obj), locals_of_caller)
            return wrap(_C._object_of(obj))
        raise RuntimeError(f"{obj!r} can't be scripted: expected a Python function, a class or an nn.Module")
    return _script_function(obj, locals_of_caller)


def _script_function(fn, locals_of_caller):
    if getattr(fn, "__script_if_tracing_wrapper", False):
        fn = fn.__original_fn
    compiled = _C._script_function(fn, _annotation_scope(locals_of_caller))
    compiled.__wrapped__ = fn
    compiled._torchdynamo_inline = fn  # torch.compile looks into a function that torch.jit has made
    return compiled


def _is_instance(obj):
    """Whether it is an object of a class that Python code defines, rather than a value or something of torch's."""
    cls = type(obj)
    return not isinstance(obj, enum.Enum) and hasattr(obj, "__dict__") and cls.__module__.partition(".")[0] not in (
        "builtins", "torch", "cresset", "functools", "types",
    )  # fmt: skip


def _annotation_scope(scope):
    """The names of a calling function; of a module they are known anyway."""
    return None if "__builtins__" in scope else dict(scope)


def _script_class(cls, locals_of_caller):
    if issubclass(cls, torch.nn.Module):
        raise RuntimeError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    _C._script_class(cls, _annotation_scope(locals_of_caller))
    return cls


def _script_module(module, locals_of_caller):
    from . import _modules

    return _modules.convert(module, scope=_annotation_scope(locals_of_caller))


def refuse_other_compilers(obj):
    kind = type(obj)
    if kind.__module__.startswith("torch.jit") or isinstance(obj, OTHER_COMPILED):
        raise RuntimeError(
            f"this is a {kind.__module__}.{kind.__qualname__}, which torch.jit has compiled already. Pass the Python function "
            "or the nn.Module that it was made from, or save it with torch.jit.save and load it with cresset.load"
        )
    if isinstance(obj, torch.nn.Module):
        refuse_compiled_module(obj)


def refuse_compiled_module(module):
    """torch.compile's wrapper of a module has the module inside, and a forward that no script can call."""
    if type(module).__module__.startswith("torch._dynamo") and hasattr(module, "_orig_mod"):
        raise RuntimeError(
            f"this is what torch.compile made of a '{type(module._orig_mod).__name__}', and can't be scripted: script the "
            "original module (its _orig_mod)"
        )


def interface(cls):
    """Marks a class as an interface: a list of methods that other classes and modules may implement."""
    if not inspect.isclass(cls):
        raise RuntimeError("interface must be applied to a class")
    if cls.__bases__ not in ((object,), (torch.nn.Module,)):
        # What a base declares is no part of the interface: it would say less than it seems to.
        raise RuntimeError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from 'object' or 'nn.Module'."
        )
    cls.__torch_script_interface__ = True
    _C._script_class(cls, _annotation_scope(sys._getframe(1).f_locals))
    return cls


def script_method(fn):
    """Marks a method of a :class:`cresset.ScriptModule` subclass to be compiled."""
    if not scripting_is_off():
        fn._cresset_script_method = True
    return fn
