"""Python wrappers of script objects: ScriptModule for modules, ScriptObject for instances of script classes.

The C++ object holds parameters, buffers, submodules and attributes; the wrappers hold only what belongs to Python
(hooks, attributes that the script does not declare). ``_parameters``, ``_buffers`` and ``_modules`` are mapping views over
the C++ object, so all of torch.nn.Module's own code works on it unchanged.
"""

import collections
import collections.abc
import copy
import sys
import textwrap
import types
import weakref

import torch

from . import _C, _serialization
from ._runtime import scripting_is_off


class Constants(dict):
    """The constants that code names: ``constants["c0"]``, or ``constants.c0`` as in torch.jit."""

    @property
    def const_mapping(self):
        """The constants themselves, as a dict."""
        return dict(self)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the code names no constant '{name}'") from None


class _TensorView(collections.abc.MutableMapping):
    """The parameters or buffers of a module, by name."""

    def __init__(self, handle, kind):
        self._handle = handle
        self._kind = kind

    def __getitem__(self, name):
        if not self._handle.has(name, self._kind):
            raise KeyError(name)
        return self._handle.getattr(name)

    def __setitem__(self, name, value):
        if not self._handle.has(name, self._kind):
            raise RuntimeError(f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}")
        self._handle.setattr(name, value)

    def __delitem__(self, name):
        raise RuntimeError(f"Can't remove '{name}': the attributes of a ScriptModule are fixed.")

    def __contains__(self, name):
        return isinstance(name, str) and self._handle.has(name, self._kind)

    def __iter__(self):
        return iter(self._handle.names(self._kind))

    def __len__(self):
        return len(self._handle.names(self._kind))

    def copy(self):
        return dict(self)

    def __repr__(self):
        return repr(dict(self))


class _ModuleView(collections.abc.MutableMapping):
    """The submodules of a module, by name.

    Holds the wrappers that it has handed out, so that hooks on a submodule live as long as the parent.
    """

    def __init__(self, handle):
        self._handle = handle
        self._held = {}

    def __getitem__(self, name):
        if not isinstance(name, str) or not self._handle.has(name, "modules"):
            raise KeyError(name)
        wrapper = self._handle.getattr(name)
        self._held[name] = wrapper
        return wrapper

    def __setitem__(self, name, value):
        if not isinstance(value, ScriptModule) or not self._handle.has(name, "modules"):
            raise RuntimeError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, "
                f"tried to replace existing module '{name}': {value}"
            )
        self._handle.setattr(name, value)
        self._held[name] = value

    def __delitem__(self, name):
        raise RuntimeError(f"Can't remove '{name}': the submodules of a ScriptModule are fixed.")

    def __contains__(self, name):
        return isinstance(name, str) and self._handle.has(name, "modules")

    def __iter__(self):
        return iter(self._handle.names("modules"))

    def __len__(self):
        return len(self._handle.names("modules"))

    def copy(self):
        return dict(self)

    def __repr__(self):
        return repr(dict(self))


_CONTAINERS = {
    "torch.nn.modules.container.Sequential": torch.nn.Sequential,
    "torch.nn.modules.container.ModuleList": torch.nn.ModuleList,
    "torch.nn.modules.container.ModuleDict": torch.nn.ModuleDict,
}

#: By class_id, what made the class of a module: its description has the Python class. Names don't tell classes apart.
made_from = weakref.WeakValueDictionary()


def _container_class(handle):
    """torch's container, if the module is one, or of a class derived from one."""
    made = made_from.get(handle.class_id())
    if made is None:
        return _CONTAINERS.get(_python_class_name(handle.qualified_name))
    return next((base for base in _CONTAINERS.values() if issubclass(made.description.cls, base)), None)


# torch.nn.Module's own state (hooks and the like). torch.jit saves some of it as attributes of the script; Python's counts.
_MODULE_STATE = frozenset(torch.nn.Module().__dict__) - {"training"}

# What a wrapper's __dict__ holds of the wrapper itself; everything else there is the user's.
_OWN = frozenset({"_c", "_parameters", "_buffers", "_modules"})


def _is_attribute(value):
    """Whether `value` is an Attribute, ours or torch.jit's."""
    return isinstance(value, tuple) and type(value).__name__ == "Attribute" and type(value)._fields == ("value", "type")


class _ScriptMeta(type):
    """Classes derived from ScriptModule: their objects become script modules when ``__init__`` is done."""

    def __call__(cls, *args, **kwargs):
        module = super().__call__(*args, **kwargs)
        if isinstance(module, ScriptModule) and "_c" not in module.__dict__ and not scripting_is_off():
            from ._modules import script_in_place

            script_in_place(module)
        return module


def attach(module, handle):
    """Makes the nn.Module ``module``, whose own state is empty or not needed, the wrapper of a C++ object."""
    state = module.__dict__
    state["_c"] = handle
    state["_parameters"] = _TensorView(handle, "parameters")
    state["_buffers"] = _TensorView(handle, "buffers")
    state["_modules"] = _ModuleView(handle)
    if handle.has_slot("training"):
        state.pop("training", None)  # the script's own flag is the only one
    forward = handle.method("forward")
    if forward is not None:
        state["forward"] = forward
    _C._register_wrapper(handle, module)
    _make_parameters(handle)
    take_hooks(module, handle)


def take_hooks(module, handle):
    """The wrapper calls the forward hooks that the module was compiled with, as nn.Module does; from scripts, the call of it."""
    for hook in handle.hooks(pre=True):
        module.register_forward_pre_hook(hook)
    for hook in handle.hooks(pre=False):
        module.register_forward_hook(hook)


# What torch.jit's modules have besides.
_LEFT_OUT = {
    "_save_for_lite_interpreter": "Cresset writes no files for torch's mobile interpreter; torch.jit can, of what save() wrote",
    "_save_to_buffer_for_lite_interpreter": (
        "Cresset writes no files for torch's mobile interpreter; torch.jit can, of what save() wrote"
    ),
}


class ScriptModule(torch.nn.Module, metaclass=_ScriptMeta):
    """A module whose methods are scripts.

    Derive from it to write one: methods decorated with :func:`cresset.script_method` are compiled when the object is
    made; the other methods stay Python's. What :func:`cresset.script` and :func:`cresset.load` return is a ScriptModule too.

    >>> class M(cresset.ScriptModule):
    ...     @cresset.script_method
    ...     def forward(self, x):
    ...         return x + 1
    """

    # ---- Attributes

    def __getattr__(self, name):
        handle = self.__dict__.get("_c")
        if handle is None:
            if "_parameters" not in self.__dict__:
                raise RuntimeError("ScriptModule has not been initialized, did you forget to call super's init?")
            return super().__getattr__(name)
        if name in self._modules:
            return self._modules[name]
        if handle.hasattr(name):
            return handle.getattr(name)
        if handle.has_property(name):
            return handle.get_property(name)
        method = handle.method(name)
        if method is not None:
            self.__dict__[name] = method  # later look-ups don't come here
            return method
        if name == "_name":  # what torch.jit's traced modules call it
            return self.original_name
        if name in self.__dict__.get("_ignored_properties", ()):
            return self.__dict__["_ignored_properties"][name].__get__(self)
        reason = _LEFT_OUT.get(name)
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'" + (f": {reason}" if reason else "")
        )

    def __setattr__(self, name, value):
        handle = self.__dict__.get("_c")
        if handle is None:
            if _is_attribute(value):
                self.__dict__.setdefault("_attribute_types", {})[name] = value.type
                value = value.value
            super().__setattr__(name, value)
        elif name in _MODULE_STATE:
            object.__setattr__(self, name, value)
        elif handle.has(name, "modules"):
            self._modules[name] = value
        elif handle.hasattr(name):
            handle.setattr(name, value)
        elif handle.has_property(name):
            handle.set_property(name, value)
        elif isinstance(value, torch.nn.Module):
            self._modules[name] = value  # raises: the submodules are fixed
        elif isinstance(value, torch.nn.Parameter):
            self._parameters[name] = value  # raises too
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        handle = self.__dict__.get("_c")
        if handle is None:
            super().__delattr__(name)
        elif handle.hasattr(name):
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}' that could be deleted: the attributes of its "
                "class are fixed."
            )
        else:
            object.__delattr__(self, name)

    def __reduce_package__(self, exporter):
        return _serialization.to_package(self, exporter)

    def _reconstruct(self, cpp_module):
        """Takes the code and the data of another script module's ``_c``; what is Python's of this one stays."""
        attach(self, cpp_module)

    def __dir__(self):
        handle = self.__dict__.get("_c")
        if handle is None:
            return super().__dir__()
        names = set(object.__dir__(self))
        names.update(
            handle.names("attributes"), handle.method_names(), handle.property_names(), handle.constant_names()
        )
        return sorted(name for name in names if not name[0].isdigit())

    def register_parameter(self, name, param):
        if "_c" in self.__dict__:
            self._parameters[name] = param
        else:
            super().register_parameter(name, param)

    def register_buffer(self, name, tensor, persistent=True):
        if "_c" in self.__dict__:
            self._buffers[name] = tensor
        else:
            super().register_buffer(name, tensor, persistent)

    def add_module(self, name, module):
        if "_c" in self.__dict__:
            self._modules[name] = module
        else:
            super().add_module(name, module)

    # ---- Code

    @property
    def graph(self):
        """The graph of ``forward``."""
        return self.forward.graph

    @property
    def inlined_graph(self):
        """The graph of ``forward`` with all calls inlined."""
        return self.forward.inlined_graph

    @property
    def code(self):
        """The graph of ``forward`` as TorchScript source."""
        return self.forward.code

    @property
    def code_with_constants(self):
        """The code of ``forward``, and a dict of the constants that it names."""
        return self.forward.code_with_constants

    def graph_for(self, *args, **kwargs):
        """The optimized graph that a call of ``forward`` with these arguments runs; see :func:`cresset.explain`."""
        return self.forward.graph_for(*args, **kwargs)

    def get_debug_state(self):
        """The graph of ``forward`` and its plans, under torch.jit's names; see :func:`cresset.explain`."""
        return self.forward.get_debug_state()

    @property
    def original_name(self):
        """The name of the class that the module was made from."""
        return self._c.class_name()

    def define(self, src):
        """Compiles ``def``s that take self and adds them as methods. Names are the caller's. In ``__init__`` of a class
        derived from this one, the methods are there when it is done.
        """
        frame = sys._getframe(1)
        scope = None if frame.f_locals is frame.f_globals else dict(frame.f_locals)
        if "_c" in self.__dict__:
            self._define(src, frame.f_globals, scope)
        else:
            self.__dict__.setdefault("_texts", []).append((textwrap.dedent(src), frame.f_globals, scope))

    def _define(self, src, names, scope):
        if not _C._define_texts(self._c, [(textwrap.dedent(src), names, scope)]):
            self._c.define(src)
        if "forward" not in self.__dict__ and self._c.method("forward") is not None:
            self.__dict__["forward"] = self._c.method("forward")

    def dump(self, code=True, attrs=True, params=True):
        """Prints the module's classes, attributes and graphs."""
        print(self._c.dump_to_str(code, attrs, params), end="")

    def dump_to_str(self, code=True, attrs=True, params=True):
        return self._c.dump_to_str(code, attrs, params)

    def extra_repr(self):
        return f"original_name={self.original_name}"

    # ---- Saving

    def save(self, f, _extra_files=None, **options):
        """Writes an archive that torch.jit and Cresset load: see :func:`cresset.save`."""
        _serialization.save(self, f, _extra_files, **options)

    def save_to_buffer(self, _extra_files=None, **options):
        """The archive as bytes."""
        return _serialization.save_to_buffer(self, _extra_files, **options)

    # ---- Copies

    def __copy__(self):
        result = _wrap_like(self, self._c.copy())
        for name, value in self.__dict__.items():
            if name in _OWN or isinstance(value, (_C.ScriptMethod, _C.ScriptFunction)):
                continue
            if isinstance(value, types.MethodType) and value.__self__ is self:
                value = types.MethodType(value.__func__, result)
            result.__dict__[name] = copy.copy(value) if name in _MODULE_STATE else value
        return result

    def __deepcopy__(self, memo):
        result = _wrap_like(self, self._c.deepcopy())
        memo[id(self)] = result
        _copy_python_state(self, result, memo)
        return result

    def __reduce_ex__(self, protocol):
        raise RuntimeError(
            f"Tried to serialize object {self._c.qualified_name} which does not have a __getstate__ method defined! "
            f"A {type(self).__name__} can't be pickled, as a pickle has no place for its code: save it with cresset.save, "
            "keep the archive, or its path, and load that instead."
        )

    # ---- Containers. Python looks special methods up on the class, so they are all here.

    def _special(self, name, *args):
        method = self._c.method(name)
        if method is not None:
            return method(*args)
        container = _container_class(self._c)
        if container is None:
            hint = (
                f"'{self.original_name}' object is not iterable: it"
                if name == "__iter__"
                else f"'{self.original_name}'"
            )
            raise NotImplementedError(f"{hint} defines no {name}")
        if args and isinstance(args[0], slice) and container is not torch.nn.ModuleDict:
            return _slice(container, self._modules, args[0])
        kind = "dict" if container is torch.nn.ModuleDict else "list"
        return _CONTAINER_METHODS[kind, name](self._modules, *args)

    def __len__(self):
        return self._special("__len__")

    def __iter__(self):
        return self._special("__iter__")

    def __getitem__(self, index):
        return self._special("__getitem__", index)

    def __contains__(self, item):
        return self._special("__contains__", item)

    def __bool__(self):
        method = self._c.method("__bool__")
        return True if method is None else method()


_C._set_module_call(ScriptModule)


def _wrap_object(self, handle=None):
    if not isinstance(handle, _C._Object):
        raise TypeError(
            f"{type(self).__name__} objects are made by Cresset: of modules, by cresset.script and cresset.trace; of "
            "archives, by cresset.load"
        )
    ScriptModule.__init__(self)
    attach(self, handle)


class RecursiveScriptModule(ScriptModule):
    """What :func:`cresset.script` and :func:`cresset.load` return, and their submodules."""

    __init__ = _wrap_object


class TracedModule(ScriptModule):
    """A submodule of what :func:`cresset.trace` returns. It is printed with the name of the class that it was made of."""

    __init__ = _wrap_object

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What :func:`cresset.trace` returns for a module. What :func:`cresset.load` makes of its archive is a
    :class:`cresset.RecursiveScriptModule`."""


def _slice(container, modules, index):
    """As of an eager container: one that Python calls, of the same submodules. A Sequential's keep their names."""
    items = list(modules.items())[index]
    if container is torch.nn.Sequential:
        return container(collections.OrderedDict(items))
    return container(module for _, module in items)


def _nth(modules, index):
    names = list(modules)
    try:
        name = names[index]
    except IndexError:
        raise IndexError(f"index {index} is out of range") from None
    return modules[name]


_CONTAINER_METHODS = {
    ("list", "__len__"): len,
    ("list", "__iter__"): lambda modules: iter(modules.values()),
    ("list", "__getitem__"): _nth,
    ("list", "__contains__"): lambda modules, item: any(item is module for module in modules.values()),
    ("dict", "__len__"): len,
    ("dict", "__iter__"): iter,
    ("dict", "__getitem__"): lambda modules, name: modules[name],
    ("dict", "__contains__"): lambda modules, name: name in modules,
}


def _python_class_name(qualified_name):
    """The name that the class had in Python: archives put `__torch__.` before it and may number it."""
    atoms = [atom for atom in qualified_name.split(".") if not atom.startswith("___torch_mangle_")]
    return ".".join(atoms[1:] if atoms[:1] == ["__torch__"] else atoms)


def _make_parameters(handle):
    """Tensors in parameter slots become torch.nn.Parameter: the tensor stays the same, its Python class changes."""
    for name in handle.names("parameters"):
        tensor = handle.getattr(name)
        if type(tensor) is torch.Tensor and tensor.is_leaf:
            tensor.__class__ = torch.nn.Parameter


def _wrap_like(module, handle):
    """A wrapper of the same class as `module`, which may be one that the user derived from ScriptModule."""
    result = _wrapper_like(module, handle)
    original = getattr(module.__dict__.get("forward"), "__wrapped__", None)
    if original is not None and isinstance(result.__dict__.get("forward"), _C.ScriptMethod):
        result.__dict__["forward"].__wrapped__ = original  # for inspect.signature
    return result


def _wrapper_like(module, handle):
    if type(module) in (RecursiveScriptModule, TracedModule, TopLevelTracedModule):
        return type(module)(handle)
    result = type(module).__new__(type(module))
    torch.nn.Module.__init__(result)
    attach(result, handle)
    for name, value in module.__dict__.items():
        if isinstance(value, _C.ScriptMethod):
            result.__dict__[name] = handle.method(name)
    return result


def _copy_python_state(old, new, memo):
    """Hooks and attributes of the user's go along with a deep copy, as they do for nn.Module."""
    # What __setstate__ has put into the copy is not what the original holds under the same name.
    if type(old) is TracedModule:
        new.__class__ = TracedModule
    restored = old._c.method("__getstate__") is not None and old._c.method("__setstate__") is not None
    for name in () if restored else (*old._parameters, *old._buffers):
        before, after = old._c.getattr(name), new._c.getattr(name)
        if before is None or after is None:
            continue
        if id(before) in memo:
            new._c.setattr(name, memo[id(before)])  # shared with something that was copied earlier
        else:
            memo[id(before)] = after
    for name, value in old.__dict__.items():
        if name not in _OWN and not isinstance(value, (_C.ScriptMethod, _C.ScriptFunction)):
            new.__dict__[name] = copy.deepcopy(value, memo)
    for name, child in () if restored else old._modules.items():
        memo.setdefault(id(child), new._modules[name])
        _copy_python_state(child, new._modules[name], memo)


class ScriptObject:
    """An instance of a script class. Attributes, properties and methods are the script's."""

    __slots__ = ("_c", "__weakref__")

    def __init__(self, handle=None):
        if not isinstance(handle, _C._Object):
            raise TypeError("Script objects are made by scripts")
        object.__setattr__(self, "_c", handle)
        _C._register_wrapper(handle, self)

    def __getattr__(self, name):
        handle = self._c
        if handle.hasattr(name):
            return handle.getattr(name)
        if handle.has_property(name):
            return handle.get_property(name)
        method = handle.method(name)
        if method is None:
            raise AttributeError(f"'{handle.class_name()}' object has no attribute '{name}'")
        return method

    def __setattr__(self, name, value):
        if self._c.has_property(name):
            self._c.set_property(name, value)
        else:
            self._c.setattr(name, value)

    def __dir__(self):
        handle = self._c
        return sorted(
            {*object.__dir__(self), *handle.names("attributes"), *handle.method_names(), *handle.property_names()}
        )

    def __repr__(self):
        return f"<cresset.ScriptObject {self._c.qualified_name}>"

    def __copy__(self):
        return wrap(self._c.copy())

    def __deepcopy__(self, memo):
        result = wrap(self._c.deepcopy())
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        raise RuntimeError("Script objects can't be pickled")


def call_by_override(method, overriding, args, kwargs):
    """A call of a script method that arguments' classes take over by ``__torch_function__``; the extension calls this."""
    fx = sys.modules.get("torch.fx")
    proxies = [each for each in overriding if fx is not None and isinstance(each, fx.Proxy)]
    if proxies:  # which knows methods of torch.jit only
        return proxies[0].tracer.create_proxy("call_method", method.name, (method.owner, *args), kwargs)
    return torch.overrides.handle_torch_function(method, overriding, *args, **kwargs)


_SPECIAL_METHODS = (
    "__iter__ __len__ __neg__ __mul__ __contains__ __add__ __sub__ __pow__ __truediv__ __floordiv__ __mod__ __ne__ __eq__ "
    "__lt__ __gt__ __le__ __ge__ __and__ __or__ __xor__ __getitem__ __setitem__ __delitem__ __call__ __int__ __float__ "
    "__bool__ __str__ __repr__ __enter__ __exit__ __hash__"
).split()

_object_classes = weakref.WeakValueDictionary()  # id of a script class -> the Python class, which keeps the id taken


def _forward_to(name):
    def special(self, *args, **kwargs):
        return self._c.method(name)(*args, **kwargs)

    special.__name__ = name
    return special


def _object_class(handle):
    """ScriptObject, with the special methods that the script class defines."""
    key = handle.class_id()
    python_class = _object_classes.get(key)
    if python_class is None:
        defined = set(handle.method_names())
        body = {name: _forward_to(name) for name in _SPECIAL_METHODS if name in defined}
        if "__eq__" in body and "__hash__" not in body:
            body["__hash__"] = None
        body["__slots__"] = ()
        body["__module__"] = "cresset"
        body["_cresset_type"] = handle.type()
        python_class = _object_classes[key] = type(handle.class_name(), (ScriptObject,), body)
    return python_class


def wrap(handle):
    """The wrapper for a C++ object that has none yet; the extension calls this."""
    if handle.is_module():
        return RecursiveScriptModule(handle)
    return _object_class(handle)(handle)


for _class in (ScriptModule, RecursiveScriptModule, TracedModule, TopLevelTracedModule, ScriptObject):
    _class.__module__ = "cresset"

_C._set_wrappers(wrap, (ScriptModule, ScriptObject))
