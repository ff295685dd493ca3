"""The helpers of torch.jit that mean something while ordinary Python runs."""

import builtins
import types
import typing

from . import _C


def annotate(the_type, the_value):
    """Returns the value; in scripts it also gives it a type."""
    return the_value


def is_scripting():
    """False: this is Python. True in scripts."""
    return False


def fork(func, *args, **kwargs):
    """Calls ``func`` and returns a Future of its result.

    Called from Python it runs at once, as torch.jit's does; inside scripts ``torch.jit.fork`` runs on another thread.
    """
    return _C.Future(func(*args, **kwargs))


def wait(future):
    """The value of a Future."""
    return future.wait()


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
