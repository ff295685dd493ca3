"""From nn.Modules to script modules.

``convert`` looks at a live module and decides what a script may see of it: parameters, buffers, submodules, constants,
attributes and their types, functions, and what is left out and why. All that is decided for a module is a
:class:`_Description`; modules with equal descriptions share one class, as torch.jit does it, as long as one of them lives.
The converted module holds the very tensors of the original.
"""

import ast
import dis
import enum
import functools
import inspect
import linecache
import textwrap
import types
import typing
import warnings
import weakref

import torch

from . import _C, _frames, _serialization
from ._containers import ScriptDict, ScriptList
from ._errors import UserError
from ._objects import RecursiveScriptModule, ScriptModule, _is_attribute, attach, made_from, take_hooks
from ._script import OTHER_COMPILED, original_of_other, refuse_compiled_module

# torch.nn.Module's own state: bookkeeping of Python's, which no script sees. `training` is an ordinary attribute.
_NOT_ATTRIBUTES = frozenset(torch.nn.Module().__dict__) - {"training"} | {
    "_initializing",
    "dump_patches",
    "_attribute_types",
}

_CONSTANT_TYPES = (bool, float, int, str, type(None), torch.device, torch.layout, torch.dtype, torch.qscheme)

# Of what modules hold: classes that are types of the language already, or never can be.
_NOT_COMPILED = frozenset(
    {*_CONSTANT_TYPES, torch.Tensor, torch.nn.Parameter, torch.Size, types.FunctionType, ScriptList, ScriptDict}
)
_NO_SCRIPT_CLASSES = (
    torch.nn.Module,
    torch.Tensor,
    tuple,
    list,
    dict,
    BaseException,
    type,
    types.ModuleType,
)

_CONTAINERS = (
    (torch.nn.ModuleDict, "dict"),
    ((torch.nn.ModuleList, torch.nn.Sequential), "list"),
    (torch.nn.ParameterList, "parameter_list"),
    (torch.nn.ParameterDict, "parameter_dict"),
)


class _Description:
    """What a script may see of a module."""

    __slots__ = (
        "attributes",
        "cls",
        "constants",
        "container",
        "facts",
        "failed",
        "functions",
        "hooks",
        "ignored",
        "items",
        "modules",
        "overloads",
        "overridden",
        "overrides",
        "pre_hooks",
    )

    def __init__(self, module, facts):
        self.cls = type(module)
        self.facts = facts
        self.container = next((kind for classes, kind in _CONTAINERS if isinstance(module, classes)), "")
        self.attributes = {}  # name: (type, "parameter", "buffer" or "")
        self.modules = {}  # name: the _C.Type of a module class or interface
        self.constants = {}
        self.functions = {}
        self.failed = {  # name: why no script can use it
            name: "(It is a classmethod, and scripts have no classes of modules. Make it a method, whose self has the class's "
            "constants, or a staticmethod)"
            for name in facts.class_methods
        }
        self.overrides = {}  # methods that this one object has in place of its class's
        self.overloads = {}  # see _overloads_of
        self.ignored = frozenset(getattr(module, "__jit_ignored_attributes__", ()))
        self.items = ()
        self.overridden = ()  # what it defines otherwise than nn.Module or its container: see _overridden
        self.pre_hooks = tuple(module._forward_pre_hooks.values())
        self.hooks = tuple(module._forward_hooks.values())

    def key(self):
        """Equal for modules that can share a class."""
        return (
            self.cls,
            self.container,
            frozenset((name, *attribute) for name, attribute in self.attributes.items()),
            tuple(self.modules.items()),
            # repr tells 1 from 1.0 and True, and is equal for equal nans.
            frozenset((name, repr(value)) for name, value in self.constants.items()),
            frozenset((name, _identity(function)) for name, function in self.functions.items()),
            frozenset((name, id(function)) for name, function in self.overrides.items()),
            frozenset(self.failed),
            tuple((name, *(each for each, _ in signatures)) for name, signatures in self.overloads.items()),
            self.ignored,
            self.items,
            self.overridden,
            tuple(map(id, self.pre_hooks)),
            tuple(map(id, self.hooks)),
        )


def _identity(function):
    """Equal for functions that mean the same: each module may have made its own ``functools.partial``."""
    if not isinstance(function, functools.partial):
        return id(function)
    if not all(map(_is_plain, (*function.args, *function.keywords.values()))):
        return id(function)
    return _identity(function.func), repr(function.args), repr(function.keywords)


def _is_plain(value):
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return type(value) in _CONSTANT_TYPES


class _ModuleType:
    """A class made for a description. Lives as long as the class's Program."""

    __slots__ = ("__weakref__", "description", "info", "methods_declared", "type")

    def __init__(self, description):
        self.description = description
        self.info = _C._define_module(
            description,
            [(name, *attribute) for name, attribute in description.attributes.items()]
            + [(name, child, "") for name, child in description.modules.items()],
        )
        self.info.keep(self)
        self.type = self.info.type
        self.methods_declared = False


_shared_types = weakref.WeakValueDictionary()  # key of a description: its _ModuleType


def convert(module, compile_methods=True, share_types=True, scope=None, wrapper=RecursiveScriptModule):
    """``module`` as a script module that holds its parameters, buffers and attributes.

    Args:
        compile_methods: whether ``forward``, exported methods, properties and hooks are compiled. If not, the result has
            data only, and methods are added to its class; "exported" compiles the exported methods besides. A function
            of a module, asked for each, says which are compiled in place of ``forward`` and the exported ones, as a dict
            of functions by name; its method ``key`` tells it from others.
        share_types: whether the class may be one that another module with an equal description uses, or will use.
        scope: the local variables of the caller, which annotations may name.
        wrapper: the class of the result and of its submodules.
    """
    if isinstance(module, ScriptModule):
        return module
    if compile_methods is True or callable(compile_methods):
        _compile_classes(module)
    conversion = _Conversion(compile_methods, share_types, wrapper)
    result = _C._in_session(lambda: conversion.convert(module), scope)
    if compile_methods is True:
        for name, value in conversion.functions_of(module).items():
            result.__dict__[name] = _scripted_function(module, name, value, scope)
    return result


def _scripted_function(module, name, value, scope):
    """What Python finds in a script module where the original has a function of its own in place of a method."""
    if isinstance(value, _C.ScriptFunction):
        return value
    function = value
    if isinstance(value, functools._lru_cache_wrapper):
        function = value.__wrapped__
    elif isinstance(value, _frames.Caller):
        function = value.target
    elif isinstance(value, torch._C.ScriptFunction):
        function = original_of_other(value)
    if isinstance(function, types.FunctionType):
        return _C._script_function(function, scope)
    if name != "forward":
        return value  # as Python calls it
    what = "a method of another object" if _is_foreign(value) else f"an object of class '{torch.typename(type(value))}'"
    raise UserError(
        f"'{name}' of this '{torch.typename(type(module))}' is {what} that was set in place of the class's method, and can't be "
        f"compiled. Set a Python function, or define {name} in the class: it may call a method of a submodule"
    )


def _is_foreign(value):
    return isinstance(value, types.MethodType) or type(value).__name__ == _FOREIGN


_compiled_classes = weakref.WeakSet()  # by _compile_classes
_refused_classes = weakref.WeakSet()


def _compile_classes(module):
    """Compiles the classes of plain objects that modules hold, as far as they are in the language. As for torch.jit,
    what isn't is no error: the attribute is then one that scripts can't use.

    Each is a session of its own, before the module's, so that a class that is refused leaves no trace.
    """
    if "_modules" not in module.__dict__:
        return  # its __init__ was not run, which is said later
    for part in _modules_of(module, {}).values():
        if isinstance(part, (ScriptModule, *OTHER_COMPILED)):
            continue
        for name, value in part.__dict__.items():
            if name not in _NOT_ATTRIBUTES:
                _compile_class_of(value)


def _modules_of(module, found):
    """The modules below, itself included, by id: a class may define __eq__ without __hash__."""
    if id(module) not in found:
        found[id(module)] = module
        for child in module.__dict__.get("_modules", {}).values():
            if child is not None:
                _modules_of(child, found)
    return found


def _class_within(value):
    """The class of a value, or of what a container holds: what has no common type is no attribute, so one speaks for all."""
    while isinstance(value, (dict, list, tuple)) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return type(value)


def _compile_class_of(value):
    cls = _class_within(value)
    if cls in _NOT_COMPILED or cls.__module__ == "builtins" or issubclass(cls, _NO_SCRIPT_CLASSES):
        return
    if cls in _refused_classes:
        return
    is_enum = issubclass(cls, enum.Enum)
    if is_enum and issubclass(cls, _CONSTANT_TYPES):
        return  # a member is a number or a text
    members = [getattr(cls, name) for name in cls.__dict__ if inspect.isroutine(getattr(cls, name, None))]
    try:
        if is_enum or all(hasattr(member, "__code__") for member in members):
            _C._script_class(cls)
            _compiled_classes.add(cls)
            return
    except (RuntimeError, TypeError):
        pass
    _refused_classes.add(cls)


def script_in_place(module):
    """Makes an object of a class derived from ScriptModule, whose ``__init__`` is done, a script module."""

    def body():
        # What define() gave __init__ is this object's: objects of its class may have been given something else.
        conversion = _Conversion(compile_methods=True, share_types="_texts" not in module.__dict__)
        handle, module_type = conversion.make(module, script_methods(type(module)))
        _C._define_texts(handle, module.__dict__.get("_texts", []))
        return handle, module_type

    handle, module_type = _C._in_session(body)
    state = module.__dict__
    for name in module_type.description.attributes:
        state.pop(name, None)
    non_persistent = state["_non_persistent_buffers_set"]
    state.pop("_attribute_types", None)
    state.pop("_texts", None)
    attach(module, handle)
    for name in script_methods(type(module)):
        state[name] = handle.method(name)  # in front of the Python function that the class has
    _take_python_state(module, module, module_type)
    state["_non_persistent_buffers_set"] = non_persistent
    if "forward" not in state and handle.method("forward") is not None:
        state["forward"] = handle.method("forward")


def script_methods(cls):
    """The methods of a class derived from ScriptModule that are decorated with script_method, by name."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            original = getattr(member, "original_method", None)  # torch.jit's mark
            if original is not None:
                found[name] = original
            elif getattr(member, "_cresset_script_method", False):
                found[name] = member
    return dict(sorted(found.items()))


def _adopt(module):
    """A script module like one that torch.jit has made: its code by way of an archive, and its very tensors."""
    try:
        archive = module.save_to_buffer()
    except RuntimeError as error:
        raise RuntimeError(
            f"'{module.original_name}' was made by torch.jit and can't be taken over: {error}\nConvert the original module"
        ) from None
    result = _serialization.load(archive, trusted=True)
    originals = dict(module.named_modules(remove_duplicate=False))
    for path, child in result.named_modules(remove_duplicate=False):
        original = originals[path]
        for name in child._c.names("attributes"):
            if isinstance(child._c.getattr(name), torch.Tensor):
                child._c.setattr(name, getattr(original, name))
    return result


class _Conversion:
    """One call of convert: a module that occurs twice below the root is converted once."""

    def __init__(self, compile_methods, share_types, wrapper=RecursiveScriptModule):
        self._compile_methods = compile_methods
        self._share_types = share_types
        self._wrapper = wrapper
        self._types = {}  # id of a module: its _ModuleType
        self._converted = {}  # id of a module: its script module
        self._prepared = {}  # id of a module: what its __prepare_scriptable__ gave
        self._facts = {}  # class: its _ClassFacts
        self._open = []  # the modules that are being described, outermost first

    def convert(self, module, interface=None):
        """The script module of `module`. Of one that takes the place of an interface, the interface's methods count."""
        module = self._prepare(module)
        if isinstance(module, ScriptModule):
            return module
        known = self._converted.get(id(module))
        if known is not None and interface is None:
            return known
        methods = None if interface is None else _C._interface_methods(interface)
        handle, module_type = self.make(module, methods)
        if known is not None:
            return known
        result = self._wrapper(handle)
        result._non_persistent_buffers_set = set(module._non_persistent_buffers_set)
        _take_python_state(result, module, module_type)
        self._converted[id(module)] = result
        return result

    def functions_of(self, module):
        """What stands in place of methods of the outermost module that Python calls: of forward, and exported ones."""
        if id(module) not in self._types:
            return {}  # it was a script module, or its __prepare_scriptable__ gave another
        description = self._types[id(module)].description
        names = [name for name in ("forward", *description.facts.exported) if name in description.functions]
        found = {name: description.functions[name] for name in names}
        if "forward" in description.attributes:
            found["forward"] = module.__dict__.get("forward")
        return found

    def make(self, module, methods=None):
        """The C++ object of a module, and its _ModuleType. `methods`, if given, are those to compile."""
        module_type = self.type_of(module)
        description = module_type.description
        handle = module_type.info.new_object()
        made_from[handle.class_id()] = module_type
        for name, (_, kind) in description.attributes.items():
            value = _value_of(module, name, kind)
            try:
                handle.setattr(name, value.value if _is_attribute(value) else value)
            except RuntimeError as error:
                raise RuntimeError(f"In module '{description.cls.__name__}': {error}") from None
        for name, child_type in description.modules.items():
            is_interface = child_type.kind() == "InterfaceType"
            handle.setattr(name, self.convert(module._modules[name], child_type if is_interface else None))
        if self._compile_methods == "exported":
            if not module_type.methods_declared:
                exported = [
                    (name, _function_of(module, description, name))
                    for name in description.facts.exported
                    if name not in description.functions
                ]
                if exported:
                    exported += _named_overloads(description)
                self._mark_declared(module_type)
                _C._declare_methods(module_type.info, exported, [], [], [])
        elif callable(self._compile_methods):
            self._declare_methods(module, module_type, self._compile_methods(module) if methods is None else methods)
        elif self._compile_methods:
            self._declare_methods(module, module_type, methods)
        return handle, module_type

    def _declare_methods(self, module, module_type, methods):
        description = module_type.description
        if isinstance(methods, dict):
            chosen = list(methods.items())
        else:
            only_these = module_type.methods_declared or callable(self._compile_methods)
            chosen = [] if only_these else _methods_to_compile(module, description)
        if not module_type.methods_declared:
            self._mark_declared(module_type)
            facts = description.facts
            for name, signatures in description.overloads.items():
                if name in facts.overloads:
                    _C._declare_overloads(module_type.info, getattr(description.cls, name), signatures)
            chosen += _named_overloads(description)
            _check_hook_names(description)
            _C._declare_methods(
                module_type.info, chosen, facts.properties, list(description.pre_hooks), list(description.hooks)
            )
            if description.pre_hooks or description.hooks:
                _C._check_hooks(module_type.info)
        if isinstance(methods, list):
            _C._compile_methods(module_type.info, methods)

    def _mark_declared(self, module_type):
        module_type.methods_declared = True
        _C._on_rollback(lambda: setattr(module_type, "methods_declared", False))

    def _prepare(self, module):
        refuse_compiled_module(module)
        prepare = getattr(module, "__prepare_scriptable__", None)
        if isinstance(module, OTHER_COMPILED):
            prepare = functools.partial(_adopt, module)
        if prepare is None:
            return module
        if id(module) not in self._prepared:
            self._prepared[id(module)] = (module, prepare())  # held, so that the id stays its
        return self._prepared[id(module)][1]

    def type_of(self, module):
        """The _ModuleType of a module, which may be new."""
        known = self._types.get(id(module))
        if known is not None:
            return known
        _check_initialized(module)
        if any(module is outer for outer in self._open):
            raise RuntimeError(f"A module of class '{type(module).__name__}' contains itself, which no script can have")
        self._open.append(module)
        description = self._describe(module)
        self._open.pop()
        if self._share_types:
            # What has its methods from elsewhere shares with modules that have them from there too.
            chosen = self._compile_methods.key() if callable(self._compile_methods) else self._compile_methods
            key = (*description.key(), None if isinstance(chosen, bool) else chosen)
            module_type = _shared_types.get(key)
            if module_type is None or not module_type.info.hold():
                module_type = _shared_types[key] = _ModuleType(description)
                _C._on_rollback(lambda: _shared_types.pop(key, None))
        else:
            module_type = _ModuleType(description)
        self._types[id(module)] = module_type
        return module_type

    def _describe(self, module):
        facts = self._facts.get(type(module))
        if facts is None:
            facts = self._facts[type(module)] = _ClassFacts(type(module))
        result = _Description(module, facts)
        annotations = facts.annotations
        for tensors, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for name, tensor in tensors.items():
                if name not in result.ignored:
                    result.attributes[name] = (annotations.tensor(name, tensor, kind), kind)
        for name, child in module._modules.items():
            if name in result.ignored:
                continue
            if child is None and self._compile_methods == "exported" and not self._exports():
                continue  # a trace has what ran, and what exported methods may ask for
            if child is None:
                result.attributes[name] = (_C._infer_type(None), "")  # no script has optional modules
            else:
                if self._compile_methods != "exported":
                    _refuse_hidden(module, name)
                interface = annotations.interface(name)
                result.modules[name] = self._child_type(child) if interface is None else interface
        taken = {*result.attributes, *result.modules}
        _add_constants(result, module, annotations, taken)
        for name, value in module.__dict__.items():
            hidden = name in _NOT_ATTRIBUTES or name.startswith("__") or name in result.ignored
            if not hidden and name not in taken and name not in result.constants:
                self._add_attribute(result, module, name, value)
        result.overloads = _overloads_of(module, result)
        result.items = _items(module, result)
        result.overridden = _overridden(module, result)
        return result

    def _add_attribute(self, result, module, name, value):
        if not isinstance(value, types.MethodType) or value.__self__ is module:
            _add_attribute(result, module, name, value)
        elif isinstance(value.__self__, type):
            result.functions[name] = value
        elif not _uses_self(value.__func__):
            result.overrides[name] = value.__func__
        elif id(value.__self__) in _modules_of(self._open[0], {}) or not isinstance(value.__func__, types.FunctionType):
            # Of what is converted too, and lives on in its script module: scripts call it there, or not at all.
            result.functions[name] = value
        else:
            result.functions[name] = _called_in_python(value)

    def _exports(self):
        """Whether the module that is being described, or one around it, has methods that are compiled in a trace."""
        return any(self._facts[type(module)].exported for module in self._open)

    def _child_type(self, child):
        child = self._prepare(child)
        return child._c.type() if isinstance(child, ScriptModule) else self.type_of(child).type


def _refuse_hidden(module, name):
    """Python looks an attribute up in the class before it asks the module for its submodules."""
    for cls in type(module).__mro__:
        if name in vars(cls):
            raise UserError(
                f"'{name}' is a submodule of '{torch.typename(type(module))}' and an attribute of the class '{cls.__name__}', which "
                f"hides the submodule: self.{name} is the class's. Rename one of them"
            )


def _check_initialized(module):
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"Expected a torch.nn.Module, got {type(module).__name__}")
    name = torch.typename(type(module))
    if "_parameters" not in module.__dict__:
        raise RuntimeError(f"'{name}' has not been initialized, did you forget to call 'super()'?")
    if any(cls.__module__ == "torch.jit._script" for cls in type(module).__mro__):
        raise RuntimeError(
            f"'{module}' was made by torch.jit. Convert the original module, or save this one and load it with cresset.load"
        )
    for kind, tensors in (("parameters", module._parameters), ("buffers", module._buffers)):
        for key, tensor in tensors.items():
            if tensor is None:
                continue
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"Expected {kind} of '{name}' to be tensors or None, got {type(tensor)} as '{key}'")
            if torch.nn.parameter.is_lazy(tensor):
                raise RuntimeError(f"'{name}' has uninitialized {kind} {key}. Did you forget to run a forward pass?")


def _value_of(module, name, kind):
    if kind == "parameter":
        return module._parameters[name]
    if kind == "buffer":
        return module._buffers[name]
    return None if name in module._modules else module.__dict__[name]


def _add_constants(result, module, annotations, taken):
    """Names in ``__constants__`` and names annotated with Final."""
    names = dict.fromkeys(getattr(module, "__constants__", ()))
    names.update(dict.fromkeys(annotations.finals()))
    for name in names:
        if name in result.ignored:
            continue
        if name in taken:
            kinds = (("submodule", module._modules), ("buffer", module._buffers), ("parameter", module._parameters))
            kind = next(kind for kind, members in kinds if name in members)
            warnings.warn(
                f"'{name}' was found in ScriptModule constants,  but it is a non-constant {kind}. Consider removing it.",
                stacklevel=2,
            )
        elif not hasattr(module, name):
            warnings.warn(
                f"'{name}' was found in ScriptModule constants, but was not actually set in __init__. "
                "Consider removing it.",
                stacklevel=2,
            )
        else:
            result.constants[name] = _constant(name, getattr(module, name), result.cls)


def _constant(name, value, owner):
    if isinstance(value, _CONSTANT_TYPES):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_constant(name, element, owner) for element in value)
    valid = ", ".join(torch.typename(constant_type) for constant_type in _CONSTANT_TYPES)
    raise TypeError(
        f"'{torch.typename(type(value))}' object in attribute '{owner.__name__}.{name}' is not a valid constant.\n"
        f"Valid constants are:\n1. a nn.ModuleList\n2. a value of type {{{valid}}}\n3. a list or tuple of (2)\n"
    )


_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    functools.partial,
    _C.ScriptFunction,
    torch._ops.OpOverloadPacket,
    torch._ops.OpOverload,
    functools._lru_cache_wrapper,
    _frames.Caller,
    torch._C.ScriptFunction,
)


def _uses_self(function):
    """Whether a method may use its object: one that does not means the same for any object."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount == 0 or "__class__" in code.co_freevars or hasattr(function, "__wrapped__"):
        return True
    own = code.co_varnames[0]
    return own in code.co_cellvars or any(each.argval == own for each in dis.get_instructions(code))


def _called_in_python(method):
    """A method of an object that no script has, as an object that scripts call as they call an ``@ignore`` function."""

    @functools.wraps(method.__func__)
    def call(self, *args):
        return method(*args)

    return type(_FOREIGN, (), {"__call__": call})()


_FOREIGN = "method of another object"


def _hides_method(module, name):
    """Whether the class has a method of that name, which Python does not find where the object has an attribute."""
    member = inspect.getattr_static(type(module), name, None)
    return inspect.isroutine(member) or isinstance(member, (staticmethod, classmethod))


def _add_attribute(result, module, name, value):
    """A value in the module's ``__dict__``."""
    annotations = result.facts.annotations
    if isinstance(value, _FUNCTIONS) and not isinstance(value, _C.ScriptMethod):
        result.functions[name] = value  # compiled if it is called
        return
    if isinstance(value, types.MethodType) and value.__self__ is module:
        result.overrides[name] = value.__func__
        return
    try:
        attribute_types = module.__dict__.get("_attribute_types", {})
        if name not in annotations.found and name not in attribute_types and _container_of_modules(value):
            raise UserError("Cannot infer the type of a module in a container of Python's")
        result.attributes[name] = (annotations.type_of(name, value, attribute_types), "")
    except RuntimeError as error:
        if _hides_method(module, name):
            result.functions[name] = value  # a script that uses it calls it, or says why not
            return
        reason = str(error).rpartition("\n:")[2].rstrip(".")
        advice = (
            ""
            if name in annotations.found
            else " Its type was inferred; try adding a type annotation for the attribute."
        )
        if container := _container_of_modules(value):
            part = "dict value" if container == "ModuleDict" else "list element"
            reason = f"Could not infer type of {part}: Cannot infer concrete type of torch.nn.Module"
            advice = f" Modules in a {type(value).__name__} are none of this module's: put them into an nn.{container}."
        result.failed[name] = (
            "(This attribute exists on the Python module, but we failed to convert Python type: "
            f"'{torch.typename(type(value))}' to a TorchScript type. {reason}.{advice})"
        )


def _check_hook_names(description):
    """A hook becomes a method of its name, so that two of one name have to be the same function."""
    known = {}
    for kind, hooks in (("Hook", description.hooks), ("Pre-hook", description.pre_hooks)):
        for hook in hooks:
            if not hasattr(hook, "__name__"):
                raise UserError(
                    f"{kind} of '{torch.typename(description.cls)}' is an object of class '{torch.typename(type(hook))}', and scripts "
                    f"have functions as hooks only. {_advice_for_hook(hook)}"
                )
            if known.setdefault(hook.__name__, hook) is not hook:
                raise RuntimeError(
                    f"{kind} '{hook.__name__}' on {description.cls.__name__} has at least two different python "
                    "definitions. Please use unique names for all hooks."
                )


def _advice_for_hook(hook):
    if type(hook).__module__ in ("torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"):
        name = type(hook).__module__.rpartition(".")[2]
        return f"Use torch.nn.utils.parametrizations.{name}, or call torch.nn.utils.remove_{name}(module) before"
    return "Register a function, or remove the hook before (the handle that registering it returned has remove())"


def _container_of_modules(value):
    """What Python code should have written for a list or dict of modules; None for other values."""
    if isinstance(value, dict):
        return "ModuleDict" if any(isinstance(item, torch.nn.Module) for item in value.values()) else None
    if isinstance(value, (list, tuple)):
        return "ModuleList" if any(isinstance(item, torch.nn.Module) for item in value) else None
    return None


def _items(module, description):
    """The names of what a container contains, in order."""
    if description.container in ("list", "dict"):
        return tuple(description.modules)
    if description.container == "parameter_list":
        return tuple(str(i) for i in range(torch.nn.ParameterList.__len__(module)))
    if description.container == "parameter_dict":
        return tuple(torch.nn.ParameterDict.keys(module))
    return ()


# What scripts take from the contents of a container; and of every module, from what is below it.
_OF_CONTAINERS = ("__contains__", "__getitem__", "__iter__", "__len__", "items", "keys", "values")
_OF_MODULES = (
    "buffers", "children", "modules", "named_buffers", "named_children", "named_modules", "named_parameters", "parameters",
)  # fmt: skip


def _overridden(module, description):
    """The methods that scripts would know the results of, if the module's class did not define them otherwise.

    A container's own methods are asked: one that does what nn.ModuleList does is none that scripts have to compile.
    """
    cls = description.cls
    names = [name for name in _OF_MODULES if _is_users(cls, name)]
    if _is_users(cls, "__call__") and not _passes_on(cls.__call__):
        if _is_beyond_scripts(cls.__call__):
            warnings.warn(
                f"{cls.__qualname__}.__call__ can't be compiled, since it takes *args or **kwargs or has a try statement: "
                "scripts call the module's forward instead, as torch.jit does",
                stacklevel=2,
            )
        else:
            names.append("__call__")
    if description.container and any(_is_users(cls, name) for name in _OF_CONTAINERS):
        names += [
            name for name in _OF_CONTAINERS if hasattr(cls, name) and not _is_plain_container(module, description, name)
        ]
    return tuple(sorted(names))


def _is_users(cls, name):
    """Whether a class defines the method that is neither torch's nor ours."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    function = vars(owner).get(name)
    modules = (owner.__module__, getattr(function, "__module__", None) or "")  # torch.fx puts its __call__ on classes
    return owner is not object and not any(module.partition(".")[0] in ("torch", "cresset") for module in modules)


def _definition(function):
    """The syntax tree of a function; None if its source is not known."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None


def _is_beyond_scripts(call):
    """Whether no script can have such a ``__call__``: torch.jit never compiles one, and calls forward."""
    definition = _definition(inspect.unwrap(call))
    if not isinstance(definition, ast.FunctionDef):
        return False
    arguments = definition.args
    return bool(arguments.vararg or arguments.kwarg) or any(isinstance(node, ast.Try) for node in ast.walk(definition))


def _passes_on(call):
    """Whether a ``__call__`` only hands its arguments on to nn.Module's, for the sake of annotations."""
    definition = _definition(call)
    if not isinstance(definition, ast.FunctionDef):
        return False
    body = definition.body
    statement = body[-1]
    return (
        all(isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant) for other in body[:-1])
        and isinstance(statement, ast.Return)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "super().__call__"
    )


def _is_plain_container(module, description, name):
    """Whether the method `name` does what that of torch's container does."""
    keys = list(description.items)
    held = module._modules if description.container in ("list", "dict") else None
    values = [held[key] if held is not None else getattr(module, key) for key in keys]
    keyed = description.container in ("dict", "parameter_dict")

    def same(found, expected):
        found = list(found)
        return len(found) == len(expected) and all(a is b for a, b in zip(found, expected, strict=True))

    try:
        if name == "__len__":
            return len(module) == len(keys)
        if name == "__getitem__":
            return same((module[key] for key in (keys if keyed else range(len(keys)))), values)
        if name == "__contains__":
            return not keyed or (all(key in module for key in keys) and "\0" not in module)
        if name == "__iter__":
            return list(module) == keys if keyed else same(module, values)
        found = list(getattr(module, name)())
        if name == "items":
            return [key for key, _ in found] == keys and same((value for _, value in found), values)
        return found == keys if name == "keys" else same(found, values)
    except Exception:
        return False


def _lines_of_class(method):
    """The first and last line of the class whose body a method stands in; None if the source is not known."""
    code = method.__code__
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            decorators = getattr(member, "decorator_list", [])
            if min([member.lineno, *(each.lineno for each in decorators)]) == code.co_firstlineno:
                return node.lineno, node.end_lineno
    return None


def _of_the_same_class(method, overloads):
    """``overloads`` of the class that the method stands in: they are kept by names, and a class may be defined again."""
    method = inspect.unwrap(method)
    lines = _lines_of_class(method) if overloads else None
    if lines is None:
        return overloads
    codes = [inspect.unwrap(overload).__code__ for overload in overloads]
    if any(
        code.co_filename == method.__code__.co_filename and not lines[0] <= code.co_firstlineno <= lines[1]
        for code in codes
    ):
        raise RuntimeError(f"Overloads are not useable when a module is redeclared within the same file: {method}")
    return [
        overload
        for overload, code in zip(overloads, codes, strict=True)
        if code.co_filename == method.__code__.co_filename
    ]


def _overloads_of(module, description):
    """The methods that a call chooses from, by name: of ``@_overload_method``, and the methods that ``__overloads__`` names,
    as [(name, function)]. What the object has in place of the method comes before them.
    """
    facts = description.facts
    own = {*description.functions, *description.overrides}
    found = {name: signatures for name, signatures in facts.overloads.items() if name not in own}
    for name, methods in getattr(module, "__overloads__", {}).items():
        if name in own or name in facts.overloads:  # torch.jit writes those of the decorator there too
            continue
        functions = [(method, _function_of(module, description, method)) for method in methods]
        for method, function in functions:
            if method in description.functions or not isinstance(function, types.FunctionType):
                raise UserError(
                    f"__overloads__ of '{torch.typename(description.cls)}' has '{method}' for '{name}', which is no method of the class"
                )
        found[name] = functions
    return found


def _named_overloads(description):
    """(name, function) of the methods that ``__overloads__`` names."""
    found = []
    for name, functions in description.overloads.items():
        if name not in description.facts.overloads:
            found += functions
    return found


class _ClassFacts:
    """What decides about all modules of a Python class."""

    def __init__(self, cls):
        self.annotations = _Annotations(cls)
        self.exported = []  # names of methods
        self.ignored = {}  # methods that stay Python's: name -> function
        self.properties = []  # (name, getter, setter or None)
        self.overloads = {}  # of _overload_method: name: [(name of one signature, function that has it)]
        self.class_methods = []
        ignored = getattr(cls, "__jit_ignored_attributes__", ())
        unused = getattr(cls, "__jit_unused_properties__", ())
        members, owners = {}, {}
        for base in reversed(cls.__mro__):
            if base is not object and base is not torch.nn.Module and base is not ScriptModule:
                members.update(vars(base))
                owners.update(dict.fromkeys(vars(base), base))
        for name, member in sorted(members.items()):
            if isinstance(member, property):
                if name not in ignored and name not in unused and _mark(member.fget) not in _IGNORED:
                    setter = member.fset if _mark(member.fset) not in _IGNORED else None
                    self.properties.append((name, member.fget, setter))
            elif isinstance(member, classmethod):
                self.class_methods.append(name)
            elif isinstance(member, types.FunctionType):
                self._add_method(owners[name], name, member)

    def _add_method(self, owner, name, function):
        mark = _mark(function)
        if mark == "export":
            self.exported.append(name)
        elif mark in _IGNORED:
            self.ignored[name] = function
        signatures = _of_the_same_class(function, _C._overloads_of_method(function, owner))
        if signatures:
            self.overloads[name] = [(f"{name}__{i}", signature) for i, signature in enumerate(signatures)]


_IGNORED = ("unused", "ignore", "_drop")


def _mark(function):
    """The decorator that a function has: "export", "unused", "ignore", "_drop" or ""."""
    modifier = getattr(function, "_torchscript_modifier", None)
    return modifier.partition(" ")[0] if isinstance(modifier, str) else ""


def _methods_to_compile(module, description):
    """(name, function) of the methods that are compiled though no other method calls them."""
    names = []
    forward = _function_of(module, description, "forward")
    if forward is not None and forward is not torch.nn.Module.forward and _mark(forward) not in _IGNORED:
        names.append("forward")
    names += description.facts.exported
    names = [name for name in names if name not in description.functions and name not in description.attributes]
    names += [name for name, function in description.overrides.items() if _mark(function) == "export"]
    methods = []
    for name in dict.fromkeys(names):
        if name not in description.overloads:
            methods.append((name, _function_of(module, description, name)))
    return methods


def _function_of(module, description, name):
    function = description.overrides.get(name)
    return function if function is not None else getattr(type(module), name, None)


def _take_python_state(scripted, module, module_type):
    """Puts what stays Python's on a script module: ignored methods and attributes, hooks, documentation."""
    description = module_type.description
    state = scripted.__dict__
    for name in description.modules:
        scripted._modules[name]  # from now on held, with what is Python's of it
    for name, function in description.facts.ignored.items():
        if name in description.attributes:
            continue  # an object that is called; the script has it
        own = description.functions.get(name)
        function = description.overrides.get(name, function)
        state[name] = types.MethodType(function, scripted) if own is None else own
    for name in description.facts.exported:
        # nn.Module has it too, and calls it: extra_repr, _save_to_state_dict. Python's own protocols are the wrapper's.
        if hasattr(torch.nn.Module, name) and not name.startswith("__") and name not in state:
            method = scripted._c.method(name)
            if method is not None:
                state[name] = method
    properties = {}
    for name in description.ignored:
        of_class = getattr(type(module), name, None)
        if isinstance(of_class, property):
            properties[name] = of_class
        elif hasattr(module, name):
            state[name] = getattr(module, name)
    if properties:
        state["_ignored_properties"] = properties
    if description.pre_hooks or description.hooks:
        scripted._forward_pre_hooks.clear()
        scripted._forward_hooks.clear()
        take_hooks(scripted, scripted._c)
    if "forward" in description.overloads and "forward" not in description.facts.ignored:
        names = [name for name, _ in description.overloads["forward"]]
        state["forward"] = types.MethodType(_overloaded(names), scripted)
    forward = state.get("forward")
    original = _function_of(module, description, "forward")
    if isinstance(forward, _C.ScriptMethod) and isinstance(original, types.FunctionType):
        # For inspect.signature. Bound, so that `self` is left out; to the class, since to the module would be a cycle.
        forward.__wrapped__ = types.MethodType(original, description.cls)


def _overloaded(names):
    """A method with several signatures, called from Python: the first that the arguments fit as they are runs, else the first that
    takes them.
    """

    def method(self, *args, **kwargs):
        refusals = []
        overloads = [self._c.method(name) for name in names]
        for overload in sorted(overloads, key=lambda each: not _fits(each.schema, args, kwargs)):
            try:
                return overload(*args, **kwargs)
            except UserError as error:  # the arguments; what a script raises is of another class
                refusals.append(str(error))
        raise UserError("None of the overloads takes these arguments:\n" + "\n".join(refusals))

    return method


def _fits(schema, args, kwargs):
    """Whether no argument has to be converted for a method of this schema."""
    parameters = schema.arguments[1:]
    named = {parameter.name: parameter for parameter in parameters}
    pairs = [*zip(args, parameters, strict=False), *((value, named.get(name)) for name, value in kwargs.items())]
    try:
        return all(parameter and _C._infer_type(value).isSubtypeOf(parameter.type) for value, parameter in pairs)
    except RuntimeError:
        return False


class _Annotations:
    """What the annotations of a class and its bases say about attributes.

    torch.jit looks at the annotations of one class only, the first in the MRO that has any; here all count, as in Python.
    What torch.jit does not see must not stop it, though: if the value is of another type, it counts.
    """

    def __init__(self, cls):
        self._cls = cls
        self.found = {}  # name: (annotation, the class that has it)
        self._first = None  # the class that torch.jit looks at
        self._types = {}  # name: what _annotated gave
        for base in reversed(cls.__mro__):
            if base is torch.nn.Module or base is object:
                continue  # its annotations are about Python's bookkeeping
            own = inspect.get_annotations(base)
            if own:
                self._first = base
            for name, annotation in own.items():
                if not _is_class_var(annotation):
                    self.found[name] = (annotation, base)

    def finals(self):
        return [name for name, (annotation, _) in self.found.items() if _is_final(annotation)]

    def interface(self, name):
        """The module interface that a submodule is annotated with; None if there is none."""
        annotated = self._annotated(name)
        return annotated if annotated is not None and annotated.kind() == "InterfaceType" else None

    def tensor(self, name, value, kind):
        """The type of a parameter or buffer, which may be None now and a tensor later if the annotation says so.

        Scripts rarely replace parameters, but ask `self.bias is None` and use it: where torch.jit sees no Optional, it is none.
        """
        annotated = None
        if kind == "buffer" or (name in self.found and self.found[name][1] is self._first):
            annotated = self._annotated(name)
        if annotated is not None and _C._infer_type(value).isSubtypeOf(annotated):
            return annotated
        return _C._infer_type(value)

    def type_of(self, name, value, attribute_types):
        """The type of the attribute. Throws UserError if it can't be told."""
        if _is_attribute(value):
            return _type_of_annotation(value.type, self._cls)
        if name in attribute_types:
            return _type_of_annotation(attribute_types[name], self._cls)
        if name in self.found:
            annotation, owner = self.found[name]
            if owner is self._first:
                return _type_of_annotation(annotation, owner)
            annotated = self._annotated(name)
            if annotated is not None and not _C._misfit(value, annotated):
                return annotated
        inferred = _C._infer_type(value)
        if _class_within(value) in _compiled_classes and (reason := _C._misfit(value, inferred)):
            raise UserError(f"The object does not hold what its class declares in __init__ (type {inferred}): {reason}")
        return inferred

    def _annotated(self, name):
        if name not in self.found:
            return None
        if name not in self._types:
            try:
                self._types[name] = _type_of_annotation(*self.found[name])
            except RuntimeError:
                self._types[name] = None  # `layer: nn.Linear` is for readers; what is there counts
        return self._types[name]


def _type_of_annotation(annotation, owner):
    return _C._type_of_annotation(annotation, owner)


def _is_class_var(annotation):
    if isinstance(annotation, str):
        return annotation.replace("typing.", "").startswith("ClassVar")
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def _is_final(annotation):
    if isinstance(annotation, str):
        return annotation.replace("typing.", "").replace("torch.jit.", "").startswith("Final")
    return annotation is typing.Final or typing.get_origin(annotation) is typing.Final
