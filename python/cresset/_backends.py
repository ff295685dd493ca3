"""Backends: user code that compiles and runs methods of modules, as torch.jit's ``to_backend``.

A lowered module is a script module whose methods have the signatures of the original's and do nothing but hand their
arguments to the backend. Its source is written here, and compiled as any other: so a lowered module stands inside of
other scripts, and methods that were not lowered are not there.
"""

import copy
import itertools
import keyword
import linecache
import threading
import typing

import torch

from . import _script
from ._decorators import export, ignore
from ._errors import UserError

_backends = {}
_lock = threading.Lock()
_serial = itertools.count()


def register_backend(name, backend):
    """Makes ``backend`` known to :func:`to_backend` under a name. A later one replaces it, for modules lowered from then on.

    Args:
        name: an identifier.
        backend: an object with the methods

            ``compile(processed, spec)``: returns a dict from the names of methods to handles, whatever they are. ``spec`` is
            what :func:`to_backend` was given, ``processed`` what ``preprocess`` returned.

            ``execute(handle, inputs)``: runs a method on a list of its arguments, defaults filled in. Returns a list of what
            the method returns: of a tuple its elements, else one value. Called on the thread of the caller, with the GIL.

            ``preprocess(module, spec)``, optional: what to compile. Without it that is the module.

            ``is_available()``, optional: False refuses calls.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"the name of a backend is an identifier, not {name!r}")
    for method in ("compile", "execute"):
        if not callable(getattr(backend, method, None)):
            raise TypeError(f"the backend '{name}' must have a method {method}()")
    with _lock:
        _backends[name] = backend


def to_backend(name, module, spec):
    """A script module whose methods named in ``spec`` run on the backend.

    Args:
        name: of a backend, see :func:`register_backend`.
        module: a script module, or one that is scripted for it. The backend gets it as it is; it may change it if it makes
            a copy.
        spec: a dict from names of methods to anything that the backend wants to know of them.

    Returns a script module. It can be part of modules that are scripted afterwards; it can't be saved, as the backend's code
    is Python's. Raises if a method does not exist, or returns what a list of values can't bring back.
    """
    with _lock:
        backend = _backends.get(name)
        known = ", ".join(sorted(_backends)) or "none"
    if backend is None:
        raise UserError(f"there is no backend called '{name}'; registered are: {known}")
    scripted = module if isinstance(module, torch.nn.Module) and hasattr(module, "_c") else _script.script(module)
    schemas = {}
    for method in spec:
        found = scripted._c.method(method)
        if found is None:
            raise UserError(
                f"the module has no method '{method}' to lower: script it, by @export if forward does not call it"
            )
        schemas[method] = found.schema
    if not schemas:
        raise ValueError("spec names no method to lower")
    preprocess = getattr(backend, "preprocess", None)
    processed = preprocess(scripted, spec) if preprocess is not None else scripted
    handles = backend.compile(processed, spec)
    missing = sorted(set(schemas) - set(handles))
    if missing:
        raise UserError(f"compile() of the backend '{name}' returned no handle for the method '{missing[0]}'")
    return _script.script(_lowered(name, backend, handles, schemas))


def to_backend_selective(name, module, spec, submodules):
    """A scripted copy of ``module`` in which the submodules named in a list of paths (``["layer.attention"]``) run on the
    backend. ``module`` is the eager module, since what calls a submodule is compiled against what it is then.
    """
    if hasattr(module, "_c"):
        raise UserError("to_backend_selective takes the eager module: what calls a submodule is compiled for it")
    result = copy.deepcopy(module)
    for path in submodules:
        parent, _, child = path.rpartition(".")
        owner = result.get_submodule(parent)
        lowered = to_backend(name, owner.get_submodule(child), spec)
        if isinstance(owner, (torch.nn.Sequential, torch.nn.ModuleList)):
            owner[int(child)] = lowered
        else:
            setattr(owner, child, lowered)
    return _script.script(result)


class _Runner:
    """Calls the backend for the methods of one lowered module."""

    def __init__(self, name, backend, handles):
        self._name, self._backend, self._handles = name, backend, handles

    def run(self, method, inputs, count):
        is_available = getattr(self._backend, "is_available", None)
        if is_available is not None and not is_available():
            raise RuntimeError(f"the backend '{self._name}' is not available")
        results = self._backend.execute(self._handles[method], inputs)
        if not isinstance(results, (list, tuple)) or len(results) != count:
            raise RuntimeError(
                f"execute() of the backend '{self._name}' must return a list of {count} value(s) for '{method}', "
                f"not {type(results).__name__}" + (f" of {len(results)}" if hasattr(results, "__len__") else "")
            )
        return results


def _lowered(name, backend, handles, schemas):
    lines = ["class Lowered(Module):"]
    scope = {each: getattr(typing, each) for each in ("Any", "Dict", "List", "Optional", "Tuple", "Union")}
    scope |= {"torch": torch, "Tensor": torch.Tensor, "Module": torch.nn.Module, "ignore": ignore, "export": export}
    scope["run_on_backend"] = _Runner(name, backend, handles).run
    types = _Types(scope)
    for method, schema in schemas.items():
        lines += _method(method, schema, types)
    text = "\n".join(lines) + "\n"
    file = f"<lowered to {name} {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return scope["Lowered"]().eval()


def _method(method, schema, types):
    arguments = [argument for argument in schema.arguments if argument.name != "self"]
    names = [argument.name for argument in arguments]
    if any(keyword.iskeyword(each) or not each.isidentifier() for each in names):
        raise UserError(f"the arguments of '{method}' have no names that a method could take: {', '.join(names)}")
    parameters = "".join(
        f", {argument.name}: {types.of(argument.type)}" + types.default(argument) for argument in arguments
    )
    returned = schema.returns[0].type
    is_tuple = returned.kind() == "TupleType"
    results = list(returned.elements()) if is_tuple else [] if returned.kind() == "NoneType" else [returned]
    inner = f"_run_{method}"
    return [
        "    @ignore",
        f"    def {inner}(self{parameters}) -> {types.of(returned)}:",
        f"        results = run_on_backend({method!r}, [{', '.join(names)}], {len(results)})",
        "        return " + ("None" if not results else "tuple(results)" if is_tuple else "results[0]"),
        "",
        "    @export",
        f"    def {method}(self{parameters}) -> {types.of(returned)}:",
        f"        return self.{inner}({', '.join(names)})",
        "",
    ]


class _Types:
    """Types as annotations: names of the scope in which the lowered class is made."""

    def __init__(self, scope):
        self._scope = scope

    def of(self, kind):
        text = kind.annotation_str
        if "__torch__" in text:
            raise UserError(
                f"a method that takes or returns {text} can't be lowered: only tensors, numbers, text and containers"
            )
        return "None" if text == "NoneType" else text

    def default(self, argument):
        if not argument.has_default_value():
            return ""
        name = f"_default_{len(self._scope)}"
        self._scope[name] = argument.default_value
        return f" = {name}"
