"""From nn.Modules to script modules.

``convert`` looks at a live module and decides what a script may see of it: parameters, buffers, submodules, constants,
attributes and their types, functions, and what is left out and why. All that is decided for a module is a
:class:`_Description`; modules with equal descriptions share one class of the shared Program, as torch.jit does it.
The converted module holds the very tensors of the original.
"""

import inspect
import types
import typing
import warnings

import torch

from . import _C
from ._objects import RecursiveScriptModule, ScriptModule, _is_attribute


class Attribute(typing.NamedTuple):
    """An attribute of a :class:`ScriptModule` whose type can't be seen from its value.

    >>> self.names = cresset.Attribute([], List[str])
    """

    value: object
    type: object


# torch.nn.Module's own state: bookkeeping of Python's, which no script sees. `training` is an ordinary attribute.
_NOT_ATTRIBUTES = frozenset(torch.nn.Module().__dict__) - {"training"} | {"_initializing", "dump_patches"}

_CONSTANT_TYPES = (bool, float, int, str, type(None), torch.device, torch.layout, torch.dtype, torch.qscheme)

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
        "failed",
        "functions",
        "hooks",
        "ignored",
        "items",
        "modules",
        "overrides",
        "pre_hooks",
    )

    def __init__(self, module):
        self.cls = type(module)
        self.container = next((kind for classes, kind in _CONTAINERS if isinstance(module, classes)), "")
        self.attributes = {}  # name: (type, "parameter", "buffer" or "")
        self.modules = {}  # name: the _C.Type of a module class or interface
        self.constants = {}
        self.functions = {}
        self.failed = {}  # name: why no script can use it
        self.overrides = {}  # methods that this one object has in place of its class's
        self.ignored = frozenset(getattr(module, "__jit_ignored_attributes__", ()))
        self.items = ()
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
            frozenset((name, id(function)) for name, function in self.functions.items()),
            frozenset((name, id(function)) for name, function in self.overrides.items()),
            frozenset(self.failed),
            self.ignored,
            self.items,
            tuple(map(id, self.pre_hooks)),
            tuple(map(id, self.hooks)),
        )


class _ModuleType:
    """A class of the shared Program, made for a description."""

    __slots__ = ("description", "info", "type")

    def __init__(self, description):
        self.description = description
        self.info = _C._define_module(
            qualified_name(description.cls),
            description.cls,
            [(name, *attribute) for name, attribute in description.attributes.items()]
            + [(name, child, "") for name, child in description.modules.items()],
            description.constants,
            description.container,
            list(description.items),
        )
        self.type = self.info.type


_shared_types = {}  # key of a description: its _ModuleType


def qualified_name(cls):
    """The name of a Python class in scripts."""
    override = getattr(cls, "_jit_override_qualname", None)
    if override is not None:
        return override
    module = cls.__module__
    if module is None:
        raise RuntimeError(f"The class '{cls.__name__}' can't be scripted: its __module__ is None")
    module = module.replace("<", "_").replace(">", "_")
    return ("__torch__." if module == "__main__" else f"__torch__.{module}.") + cls.__name__


def convert(module, compile_methods=True, share_types=True):
    """``module`` as a RecursiveScriptModule that holds its parameters, buffers and attributes.

    Args:
        compile_methods: whether ``forward``, exported methods, properties and hooks are compiled. If not, the result has
            data only, and methods are added to its class.
        share_types: whether the class may be one that another module with an equal description uses, or will use.
    """
    if isinstance(module, ScriptModule):
        return module
    if compile_methods:
        raise NotImplementedError("methods are to come")
    return _Conversion(share_types).convert(module)


class _Conversion:
    """One call of convert: a module that occurs twice below the root is converted once."""

    def __init__(self, share_types):
        self._share_types = share_types
        self._types = {}  # id of a module: its _ModuleType
        self._converted = {}  # id of a module: its script module
        self._open = []  # the modules that are being described, outermost first

    def convert(self, module):
        if isinstance(module, ScriptModule):
            return module
        known = self._converted.get(id(module))
        if known is not None:
            return known
        module_type = self.type_of(module)
        handle = module_type.info.new_object()
        description = module_type.description
        for name, (_, kind) in description.attributes.items():
            value = _value_of(module, name, kind)
            try:
                handle.setattr(name, value.value if _is_attribute(value) else value)
            except RuntimeError as error:
                raise RuntimeError(f"In module '{description.cls.__name__}': {error}") from None
        for name in description.modules:
            handle.setattr(name, self.convert(module._modules[name]))
        result = RecursiveScriptModule(handle)
        result._non_persistent_buffers_set = set(module._non_persistent_buffers_set)
        self._converted[id(module)] = result
        return result

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
            key = description.key()
            module_type = _shared_types.get(key)
            if module_type is None:
                module_type = _shared_types[key] = _ModuleType(description)
        else:
            module_type = _ModuleType(description)
        self._types[id(module)] = module_type
        return module_type

    def _describe(self, module):
        result = _Description(module)
        annotations = _Annotations(type(module))
        for tensors, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for name, tensor in tensors.items():
                if name not in result.ignored:
                    result.attributes[name] = (annotations.tensor(name, tensor), kind)
        for name, child in module._modules.items():
            if name in result.ignored:
                continue
            if child is None:
                result.attributes[name] = (_C._infer_type(None), "")  # no script has optional modules
            else:
                interface = annotations.interface(name)
                result.modules[name] = self._child_type(child) if interface is None else interface
        taken = {*result.attributes, *result.modules}
        _add_constants(result, module, annotations, taken)
        for name, value in module.__dict__.items():
            hidden = name in _NOT_ATTRIBUTES or name.startswith("__") or name in result.ignored
            if not hidden and name not in taken and name not in result.constants:
                _add_attribute(result, module, annotations, name, value)
        result.items = _items(module, result)
        return result

    def _child_type(self, child):
        return child._c.type() if isinstance(child, ScriptModule) else self.type_of(child).type


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


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, _C.ScriptFunction, torch._ops.OpOverloadPacket)


def _add_attribute(result, module, annotations, name, value):
    """A value in the module's ``__dict__``."""
    if isinstance(value, _FUNCTIONS) and not isinstance(value, _C.ScriptMethod):
        result.functions[name] = value  # compiled if it is called
        return
    if isinstance(value, types.MethodType) and value.__self__ is module:
        result.overrides[name] = value.__func__
        return
    try:
        result.attributes[name] = (annotations.type_of(name, value), "")
    except RuntimeError as error:
        reason = str(error).rpartition("\n:")[2].rstrip(".")
        advice = (
            ""
            if name in annotations.found
            else " Its type was inferred; try adding a type annotation for the attribute."
        )
        result.failed[name] = (
            "(This attribute exists on the Python module, but we failed to convert Python type: "
            f"'{torch.typename(type(value))}' to a TorchScript type. {reason}.{advice})"
        )


def _items(module, description):
    """The names of what a container contains, in order."""
    if description.container in ("list", "dict"):
        return tuple(description.modules)
    if description.container == "parameter_list":
        return tuple(str(i) for i in range(len(module)))
    if description.container == "parameter_dict":
        return tuple(module.keys())
    return ()


class _Annotations:
    """What the annotations of a class and its bases say about attributes.

    torch.jit looks at the annotations of one class only, the first in the MRO that has any; here all count, as in Python.
    """

    def __init__(self, cls):
        self._cls = cls
        self.found = {}  # name: (annotation, the class that has it)
        for base in reversed(cls.__mro__):
            if base is torch.nn.Module or base is object:
                continue  # its annotations are about Python's bookkeeping
            for name, annotation in inspect.get_annotations(base).items():
                self.found[name] = (annotation, base)

    def finals(self):
        return [name for name, (annotation, _) in self.found.items() if _is_final(annotation)]

    def interface(self, name):
        """The module interface that a submodule is annotated with; None if there is none."""
        annotated = self._annotated(name)
        return annotated if annotated is not None and annotated.kind() == "InterfaceType" else None

    def tensor(self, name, value):
        """The type of a parameter or buffer, which may be None now and a tensor later if the annotation says so."""
        annotated = self._annotated(name)
        if annotated is not None and _C._infer_type(value).isSubtypeOf(annotated):
            return annotated
        return _C._infer_type(value)

    def type_of(self, name, value):
        """The type of the attribute. Throws UserError if it can't be told."""
        if _is_attribute(value):
            return _type_of_annotation(value.type, self._cls)
        if name in self.found and hasattr(_C, "_type_of_annotation"):
            return _type_of_annotation(*self.found[name])
        return _C._infer_type(value)

    def _annotated(self, name):
        if name not in self.found:
            return None
        try:
            return _type_of_annotation(*self.found[name])
        except RuntimeError:
            return None  # `layer: nn.Linear` is for readers; what is there counts


def _type_of_annotation(annotation, owner):
    if not hasattr(_C, "_type_of_annotation"):
        raise RuntimeError("annotations are to come")
    return _C._type_of_annotation(annotation, owner)


def _is_final(annotation):
    if isinstance(annotation, str):
        return annotation.replace("typing.", "").replace("torch.jit.", "").startswith("Final")
    return annotation is typing.Final or typing.get_origin(annotation) is typing.Final
