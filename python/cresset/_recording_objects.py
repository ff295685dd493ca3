"""Rows of frame capture for attributes: of objects, modules, tensors and classes, read and set. Part of `_recording.py`."""

import sys
import types
import weakref
from importlib.machinery import ModuleSpec

import torch

from . import _frames
from ._frames import member_of
from ._recording_caches import CACHED
from ._recording_defaults import DEFAULTDICT
from ._recording_functions import FunctionContext
from ._recording_gradients import REQUIRES_GRAD
from ._recording_hooks import OF_TENSORS
from ._recording_leaves import BACKWARD, GRAD_OF_TENSORS
from ._recording_transforms import OF_TAPES
from ._recording_values import (
    AS_THEY_ARE,
    CELL,
    DELETED,
    DEQUE,
    DICT_METHODS,
    FIELD,
    IMPORT,
    INSTRUCTIONS_OF_MODULE_GETATTR,
    LIMITS,
    METHODS_OF_CONTAINERS,
    METHODS_OF_LISTS,
    METHODS_OF_SETS,
    MODULE_GETATTR,
    MODULE_GETATTR_CODE,
    MODULE_NAMES,
    MODULE_SETATTR,
    NAMES_OF_MODULE,
    NULL,
    OBJECT_GETATTRIBUTE,
    OBJECT_SETATTR,
    PLAIN,
    PROP_GETATTR,
    PROP_GETATTR_CODE,
    PROP_MODULE,
    STATIC_CLASS,
    BoundMethod,
    DefaultKeywords,
    Fresh,
    Keywords,
    NamedTuple,
    NewObject,
    NewSet,
    NoRow,
    Raised,
    Super,
    Transient,
    Value,
    View,
    is_watched,
    is_whole,
    looks_up_plainly,
    place_of_field,
)
from ._rows import (
    WRITTEN_IN_PYTHON,
    is_functional,
    is_functional_attribute,
    is_in_place,
)
from ._segments import has_names

BIND = types.FunctionType.__get__
FUNCTION_OF_TENSORS = torch.Tensor.grad_fn
TOLIST = torch.Tensor.tolist
CLASS_OF_OBJECTS = object.__dict__["__class__"]
NAMES_OF_CLASSES = [type.__dict__[name] for name in ("__name__", "__qualname__")]


def is_of_static_class(descriptor):
    return not descriptor.__objclass__.__flags__ & STATIC_CLASS


VALUES_WITH_PARTS = (torch.device, torch.dtype)  # attributes of which never change
NAMES_OF_FUNCTIONS = ("__name__", "__qualname__")  # texts that a function may get another of

LAZY_PROPERTY = torch.distributions.utils.lazy_property
LAZY_PROPERTY_CODE = LAZY_PROPERTY.__get__.__code__


class Objects:
    """What a recorder does for instructions that read and set attributes."""

    # ---- Modules that are imported

    def IMPORT_NAME(self, view, frame, argument):
        """An absolute import of what is there."""
        names, level = frame.stack.pop(), frame.stack.pop()
        name = frame.code.co_names[argument]
        builtins = view.builtins
        if type(builtins) is not dict or builtins.get("__import__") is not IMPORT or level.object != 0:
            raise NoRow("an import that is not absolute")
        scope = -1 if frame.scope is None else self.register(frame.scope)
        if "__import__" in view.globals:
            raise NoRow("an import of the program's own")
        self.identical(Value(self.emit("LoadGlobal", scope, object="__import__"), IMPORT))
        if not names.object and "." in name:
            self.imported(name)
            name = name.partition(".")[0]
        frame.stack.append(self.imported(name))

    def imported(self, name):
        """The module, which is checked to be whole."""
        modules = self.constant(sys.modules)
        module = sys.modules.get(name)
        is_plain = type(module) is types.ModuleType
        is_found_plainly = type(module).__getattribute__ is types.ModuleType.__getattribute__
        if type(sys.modules) is not dict or not is_found_plainly or not (is_plain or "__spec__" in module.__dict__):
            raise NoRow(f"a module that is not there: {name}")
        value = self.dict_item(self.register(modules), name, module)
        self.typed(value)
        spec = module.__dict__.get("__spec__")
        if not is_plain:
            names = self.instance_dict(value)
        elif spec is not None:
            names = self.module_dict(value, module.__dict__)
        if not is_plain and spec is None:
            self.pin(self.dict_item(names, "__spec__", None))
        if spec is not None:
            known = self.dict_item(names, "__spec__", spec)
            if type(spec) is not ModuleSpec or "_initializing" not in spec.__dict__:
                raise NoRow(f"a module with a __spec__ of its own kind: {name}")
            self.typed(known)
            self.pin(self.dict_item(self.instance_dict(known), "_initializing", spec.__dict__["_initializing"]))
        return value

    def IMPORT_FROM(self, view, frame, argument):
        frame.stack.append(frame.stack[-1])
        self.load_attribute(frame, frame.code.co_names[argument], False)

    # ---- Attributes

    def LOAD_ATTR(self, view, frame, argument):
        if sys.version_info >= (3, 12):
            self.load_attribute(frame, frame.code.co_names[argument >> 1], argument & 1)
        else:
            self.load_attribute(frame, frame.code.co_names[argument], False)

    def LOAD_METHOD(self, view, frame, argument):
        self.load_attribute(frame, frame.code.co_names[argument], True)

    def load_attribute(self, frame, name, as_method):
        owner = frame.stack.pop()
        if type(owner) is Value and owner.register in self.on_stack and not as_method:
            self.frees(owner)  # what is only on the stack would live until the plan ends
        is_copy = name == "copy" and isinstance(owner, DefaultKeywords)
        if isinstance(owner, Keywords) and name in DICT_METHODS and as_method and not is_copy:
            self.push_method(frame, self.constant(DICT_METHODS[name]), owner)
            return
        if type(owner) is Fresh and owner.kind is list and as_method:
            method = list.__dict__.get(name)
            if method is not None and (name == "append" or method in METHODS_OF_LISTS):
                self.push_method(frame, self.constant(method), owner)
                return
        if isinstance(owner, Super):
            self.super_attribute(frame, owner, name, as_method)
            return
        if isinstance(owner, NamedTuple):
            found = member_of(owner.kind, name)
            if as_method and type(found) is types.FunctionType and looks_up_plainly(owner.kind):
                self.push_method(frame, self.member_of_class(owner.owner, name), owner)
            else:
                self.push_callable(frame, self.field_of(owner, name), as_method)
            return
        if isinstance(owner, Raised) and name == "args" and owner.arguments is not None and not as_method:
            frame.stack.append(Fresh(tuple, list(owner.arguments)))
            return
        if isinstance(owner, NewSet) and as_method and name in METHODS_OF_SETS:
            self.push_method(frame, self.constant(getattr(set, name)), owner)
            return
        if isinstance(owner, FunctionContext):
            self.attribute_of_context(frame, owner, name, as_method)
            return
        if owner is NULL or isinstance(owner, (Fresh, Transient)):
            raise NoRow("an attribute of a container")
        object = owner.object
        if type(object) is types.ModuleType:
            self.typed(owner)
            names = self.module_dict(owner, object.__dict__)
            if name not in object.__dict__ or name.startswith("__"):
                raise NoRow("a module's attribute that it computes")
            self.push_callable(frame, self.dict_item(names, name, object.__dict__[name]), as_method)
            return
        if self.is_tensor(owner):
            self.tensor_attribute(frame, owner, name, as_method)
            return
        if issubclass(type(object), PROP_MODULE):
            self.backend_attribute(frame, owner, name, as_method)
            return
        if issubclass(type(object), type):
            self.push_callable(frame, self.member_of_class(owner, name), as_method)
            return
        if as_method and name in METHODS_OF_CONTAINERS.get(type(object), ()):
            self.typed(owner)
            self.push_method(frame, self.constant(getattr(type(object), name)), owner)
            return
        if type(object) is DEQUE and name == "maxlen" and not as_method:
            frame.stack.append(self.limit_of(owner))
            return
        if type(object) is types.CodeType and name.startswith("co_") and owner.fixed and not as_method:
            frame.stack.append(self.constant(getattr(object, name)))
            return
        if type(type(object).__getattribute__) is types.FunctionType:
            # What is called of an object is bound to it, if it is no attribute of the object's own.
            if as_method and sys.version_info >= (3, 13):
                raise NoRow(f"an attribute that is computed: {name}")
            if as_method:
                frame.stack.append(NULL)
            function = self.class_attribute(owner, "__getattribute__", plainly=True)
            register = self.emit("ClassItem", self.register(owner), object="__getattribute__")
            self.call_inline(Value(register, function), [owner, self.constant(name)], ())
            return
        if issubclass(type(object), types.ModuleType):
            self.attribute_of_module_kind(frame, owner, name, as_method)
            return
        self.instance_attribute(frame, owner, name, as_method)

    def module_dict(self, owner, names):
        """The register that has a module's names."""
        register = self.emit("ModuleDict", self.register(owner))
        self.dicts[register] = names
        return register

    def attribute_of_module_kind(self, frame, owner, name, as_method):
        """A name of a module of a class of its own, that it has or that the class's `__getattr__` computes."""
        object, kind = owner.object, type(owner.object)
        getter = next((base.__dict__["__getattr__"] for base in kind.__mro__ if "__getattr__" in base.__dict__), None)
        if kind.__getattribute__ is not types.ModuleType.__getattribute__ or type(getter) is not types.FunctionType:
            raise NoRow(f"an attribute of a {kind.__name__}")
        self.versioned(owner)
        names = NAMES_OF_MODULE.__get__(object)
        if any(name in base.__dict__ for base in kind.__mro__) or "__getattr__" in names:
            raise NoRow(f"an attribute that is computed: {name}")
        if name in names:
            value = self.dict_item(self.module_dict(owner, names), name, names[name])
            self.push_callable(frame, value, as_method)
            return
        for missing in (name, "__getattr__"):
            self.check("CheckNoKey", self.register(owner), object=missing)
        if as_method:
            frame.stack.append(NULL)
        register = self.emit("ClassItem", self.register(owner), object="__getattr__")
        self.call_inline(Value(register, getter), [owner, self.constant(name)], ())

    def backend_attribute(self, frame, owner, name, as_method):
        """A name of the module that a `torch.backends` module stands for."""
        object, kind = owner.object, type(owner.object)
        if kind.__getattribute__ is not types.ModuleType.__getattribute__ or PROP_GETATTR is None:
            raise NoRow(f"an attribute of a {kind.__name__}")
        self.versioned(owner)
        if any(name in base.__dict__ for base in kind.__mro__) or kind.__getattr__ is not PROP_GETATTR:
            raise NoRow(f"an attribute that is computed: {name}")
        if name in object.__dict__:
            value = self.dict_item(self.instance_dict(owner), name, object.__dict__[name])
            self.push_callable(frame, value, as_method)
            return
        self.has_code(PROP_GETATTR, PROP_GETATTR_CODE)
        self.lacks(owner, name)
        module = object.__dict__.get("m")
        if type(module) is not types.ModuleType or name not in module.__dict__:
            raise NoRow(f"an attribute that is computed: {name}")
        inner = self.dict_item(self.instance_dict(owner), "m", module)
        self.typed(inner)
        value = self.dict_item(self.module_dict(inner, module.__dict__), name, module.__dict__[name])
        self.push_callable(frame, value, as_method)

    def tensor_attribute(self, frame, owner, name, as_method):
        found = self.class_attribute(owner, name)
        self.lacks(owner, name)
        if name in OF_TAPES:
            self.not_on_tape(name, f"a tensor's {name}")
        if is_functional(found) or is_in_place(found) or found is REQUIRES_GRAD or found is TOLIST:
            method = Value(self.emit("ClassItem", self.register(owner), object=name), found, fixed=True)
            if as_method:
                self.push_method(frame, method, owner)
            else:
                frame.stack.append(BoundMethod(method, owner))
        elif (
            as_method and getattr(found, "original", None) is TOLIST
        ):  # which cresset.functionalize has set another for
            self.push_method(frame, self.constant(TOLIST), owner)  # the class is checked
        elif name == "requires_grad" and not as_method and self.flag_at(owner) is not None:
            frame.stack.append(self.flag_at(owner))
        elif name == "grad" and found is GRAD_OF_TENSORS and not as_method:
            self.gradient_of(owner)
        elif name == "grad_fn" and found is FUNCTION_OF_TENSORS and owner.object.is_leaf and not as_method:
            self.not_in_transform("a tensor's grad_fn")
            if self.options.backend is not None:
                raise NoRow("a tensor's grad_fn in a graph of a backend")
            self.check_leaf(owner)
            frame.stack.append(self.constant(None))
        elif as_method and OF_TENSORS.get(name) is found is not None:
            self.push_method(frame, self.constant(found), owner)  # the class is checked
        elif as_method and (found is BACKWARD or (name in WRITTEN_IN_PYTHON and type(found) is types.FunctionType)):
            self.push_method(frame, self.constant(found), owner)  # the class is checked
        elif name in ("real", "imag") and not as_method and owner.object.is_complex():
            self.check_complex(owner)
            self.pending = self.compute("GetAttr", self.register(owner), object=name, owned=self.is_owned(owner))
        elif not as_method and is_functional_attribute(name, found):
            self.pending = self.compute("GetAttr", self.register(owner), object=name, owned=self.is_owned(owner))
        else:
            raise NoRow(f"a tensor's {name}")

    def check_complex(self, owner):
        """Checks that a tensor is one of complex numbers: of others `x.real` is x itself."""
        register = self.emit("Call", self.register(self.constant(torch.is_complex)), inputs=[self.register(owner)])
        self.see(register, True)
        self.check("CheckIs", register, object=True)

    @staticmethod
    def push_method(frame, method, owner):
        frame.stack += [method, owner]

    def class_attribute(self, owner, name, plainly=False):
        """What the class has, checked; None if nothing. `plainly`: as object.__getattribute__ looks it up."""
        kind = type(owner.object)
        if type(kind).__getattribute__ is not type.__getattribute__:
            raise NoRow("a class of a class of its own kind")
        if not looks_up_plainly(kind) and not plainly:
            raise NoRow(f"an attribute of a {kind.__name__}")
        key = ("class", owner.register, kind)
        if owner.register is None or key not in self.checked:
            self.versioned(owner)
            self.checked[("class", owner.register, kind)] = True
        return member_of(kind, name)

    def special_method(self, owner, name):
        """The function, in Python, that an operator calls of an object's class; None if there is none."""
        if not isinstance(owner, Value) or isinstance(owner, Fresh) or self.is_tensor(owner):
            return None
        found = member_of(type(owner.object), name)
        if type(found) is not types.FunctionType:
            return None
        self.class_attribute(owner, name, plainly=True)
        return Value(self.emit("ClassItem", self.register(owner), object=name), found)

    def member_of_class(self, owner, name):
        """What a class has as an attribute that does not depend on how it is asked: a function, a constant."""
        kind, meta = owner.object, type(owner.object)
        of_meta = member_of(meta, name)
        if meta.__getattribute__ is type.__getattribute__ and any(of_meta is each for each in NAMES_OF_CLASSES):
            self.member_version(owner)
            register = self.emit("GetAttr", self.register(owner), object=name)
            self.see(register, getattr(kind, name))
            self.typed(self.values[register])
            return self.values[register]
        if meta.__getattribute__ is not type.__getattribute__ or hasattr(type(of_meta), "__set__"):
            raise NoRow(f"a class's {name} that its own class has, too")
        if meta is not type:
            self.versioned(owner)
        self.member_version(owner)
        found = member_of(kind, name, NULL)
        if found is NULL:
            raise NoRow(f"no attribute {name}")
        register = self.emit("ClassMember", self.register(owner), object=name)
        if type(found) is classmethod and type(found.__func__) is types.FunctionType:
            return self.bound_to_class(owner, register, found)
        if type(found) is staticmethod:
            register, found = self.emit("GetAttr", register, object="__func__"), found.__func__
            self.see(register, found)
        elif type(found) is LAZY_PROPERTY:
            return self.lazy_property_of(owner, name, kind)
        elif hasattr(type(found), "__get__") and type(found) not in AS_THEY_ARE:
            raise NoRow(f"a bound {name}")
        value = Value(register, found)
        if type(found).__flags__ & STATIC_CLASS and type(found) is not types.FunctionType:
            self.versioned(value)  # which may become a descriptor
        return value

    def bound_to_class(self, owner, register, found):
        """A class method, in a register, of a class."""
        function = self.emit("GetAttr", register, object="__func__")
        self.see(function, found.__func__)
        return BoundMethod(self.values[function], owner)

    def lazy_property_of(self, owner, name, kind):
        """What a class of torch.distributions shows of a parameter that is computed when it is asked for: an object that says
        so."""
        self.has_code(LAZY_PROPERTY.__get__, LAZY_PROPERTY_CODE)
        inputs = [self.register(owner), self.register(self.constant(name))]
        register = self.emit("Call", self.register(self.constant(getattr)), inputs=inputs)
        self.values[register] = Value(register, getattr(kind, name))  # one like it
        return self.values[register]

    def member_version(self, owner):
        """Checks that it is this class, and that neither it nor its bases have changed."""
        kind = owner.object
        if owner.register is None or ("members", owner.register) not in self.checked:
            version = _frames.version_of(kind)
            if not version:
                raise NoRow(f"the class {kind.__name__} changes often")
            self.check("CheckClass", self.register(owner), version, weakref.ref(kind))
            self.checked["members", owner.register] = True

    def field_of(self, owner, name):
        """An element of a tuple that the plan makes, by its name."""
        found = member_of(owner.kind, name)
        if type(found) is not FIELD or not looks_up_plainly(owner.kind):
            raise NoRow(f"a {owner.kind.__name__}'s {name}")
        return owner.items[place_of_field(found)]

    def instance_attribute(self, frame, owner, name, as_method, plainly=False):
        found = self.class_attribute(owner, name, plainly)
        object = owner.object
        if type(found) is FIELD and issubclass(type(object), tuple) and len(object) > place_of_field(found):
            self.check("CheckSize", self.register(owner), len(object))
            self.push_callable(frame, self.item(owner, place_of_field(found)), as_method)
            return
        is_property = issubclass(type(found), property) and type(found).__get__ is property.__get__
        if is_property and type(found.fget) is types.FunctionType and not as_method:
            made = self.emit("ClassItem", self.register(owner), object=name)
            if type(found) is not property:
                self.versioned(Value(made, found))
            register = self.emit("GetAttr", made, object="fget")
            self.see(made, found)
            self.see(register, found.fget)
            self.call_inline(Value(register, found.fget), [owner], ())
            return
        if type(object) in LIMITS and type(found) is types.GetSetDescriptorType and owner.fixed and not as_method:
            frame.stack.append(self.constant(getattr(object, name)))
            return
        if type(found) is types.MemberDescriptorType and not isinstance(owner, NewObject):
            self.push_callable(frame, self.slot_of(owner, name), as_method)
            return
        if name == "__dict__" and not as_method and type(found) is types.GetSetDescriptorType:
            names = self.names_of(object)
            if type(names) is not dict:
                raise NoRow("an object with names of its own kind")
            frame.stack.append(Value(self.instance_dict(owner), names))
            return
        if found is CLASS_OF_OBJECTS:
            self.push_callable(frame, self.class_of(owner), as_method)
            return
        if type(object) is types.FunctionType and found is BIND and as_method:
            self.push_method(frame, self.constant(BIND), owner)
            return
        if type(object) is types.FunctionType and name == "__code__" and not as_method:
            self.check("CheckCode", self.register(owner), object=object.__code__)
            frame.stack.append(self.constant(object.__code__))
            return
        is_function = type(object) is types.FunctionType and name in NAMES_OF_FUNCTIONS
        is_part_of_value = type(object) in VALUES_WITH_PARTS and type(found) is types.GetSetDescriptorType
        if (is_function or is_part_of_value) and not as_method:
            self.pending = self.emit("GetAttr", self.register(owner), object=name)
            return
        if found is not None and type(found).__flags__ & STATIC_CLASS and type(found) is not types.FunctionType:
            # It may become a descriptor.
            self.versioned(Value(self.emit("ClassItem", self.register(owner), object=name), found))
        if found is not None and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")):
            raise NoRow(f"a property: {name}")
        names = self.names_of(object)
        if type(names) is not dict and names is not None:
            raise NoRow("an object with names of its own kind")
        if names is not None and name in names:
            value = self.dict_item(self.instance_dict(owner), name, names[name])
            self.push_callable(frame, value, as_method)
            return
        if found is not None:
            self.lacks(owner, name)
            value = Value(self.emit("ClassItem", self.register(owner), object=name), found)
            if type(found) in (types.FunctionType, CACHED) and as_method:
                self.push_method(frame, value, owner)
            elif type(found) is types.FunctionType:
                frame.stack.append(BoundMethod(value, owner))
            elif type(found) is types.MethodDescriptorType and as_method and is_of_static_class(found):
                self.push_method(frame, self.constant(found), owner)
            elif type(found) is classmethod and type(found.__func__) is types.FunctionType:
                self.see(value.register, found)
                self.push_callable(frame, self.bound_to_class(self.class_of(owner), value.register, found), as_method)
            elif type(found) is staticmethod:
                function = self.emit("GetAttr", value.register, object="__func__")
                self.see(function, found.__func__)
                self.push_callable(frame, Value(function, found.__func__), as_method)
            elif hasattr(type(found), "__get__"):
                self.get_by_descriptor(frame, owner, value, name, as_method)
            else:
                self.push_callable(frame, value, as_method)
            return
        self.push_callable(frame, self.module_member(owner, name, names), as_method)

    def slot_of(self, owner, name):
        """What an object has in a slot of its class."""
        try:
            found = OBJECT_GETATTRIBUTE(owner.object, name)
        except AttributeError as error:
            _frames.raise_of_handler(error)
            raise NoRow(f"a slot that is empty: {name}") from None
        fields = getattr(type(owner.object), "__match_args__", ()) if has_names(owner.object) else ()
        if name in fields:
            return self.item(owner, fields.index(name))
        register = self.emit("GetAttr", self.register(owner), object=name)
        self.see(register, found)
        return self.values[register]

    @staticmethod
    def names_of(object):
        """The object's __dict__, found without running code of its class; None if it has none."""
        found = member_of(type(object), "__dict__", NULL)
        if found is NULL:
            return None
        if type(found) is not types.GetSetDescriptorType and found is not NAMES_OF_MODULE:
            raise NoRow("a class with a __dict__ of its own")
        return OBJECT_GETATTRIBUTE(object, "__dict__")

    def instance_dict(self, owner):
        key = ("dict", self.register(owner))
        if key not in self.checked:
            self.checked[key] = self.emit("InstanceDict", self.register(owner))
            self.dicts[self.checked[key]] = self.names_of(owner.object)
        return self.checked[key]

    def dict_item(self, register, key, object):
        found = self.stored_item(register, key)
        if found is not None:
            return found
        known = ("item", register, key)
        if known not in self.checked:
            value = self.checked[known] = Value(self.emit("DictItem", register, object=key), object)
            self.dicts[value.register] = object
        return self.checked[known]

    def lacks(self, owner, name):
        """Checks that the object itself, other than its class, has no such attribute."""
        if name in self.stored and not self.is_tensor(owner) and self.names_of(owner.object) is not None:
            if self.stored_item(self.instance_dict(owner), name) is not None:
                raise NoRow(f"an attribute that was set: {name}")
        if self.is_tensor(owner) and owner.register not in self.owned:
            self.not_set(name)
        self.check("CheckNoKey", self.register(owner), object=name)

    # ---- What the plan sets at its end

    def not_set(self, name, but=()):
        """Requires that the plan sets no such element of a dict that may have names of another kind than attributes; `but`:
        of the dicts in these registers it is known."""
        if name not in self.stored:
            return
        of_objects = {register for key, register in self.checked.items() if key[0] == "dict"}
        if any(register not in of_objects and register not in but for register, *_ in self.stored[name]):
            raise NoRow(f"a name that was set as an element of a dict: {name}")

    def stored_item(self, register, key):
        """What the plan is to set as an element of a dict; None if nothing, which is checked."""
        stored = self.stored.get(key, ())
        found = next(
            (value for other, _, value in stored if other == register), None
        )  # the others are other containers
        for other, names, value in stored if found is None else ():
            if self.is_same_container(register, other, names):
                found = value
        if found is DELETED:
            raise NoRow("an element that was deleted")
        return found

    def is_deleted(self, register, key):
        """Whether the plan deletes an element of a dict, and has not set it since."""
        return any(
            value is DELETED and self.is_same_container(register, other, names)
            for other, names, value in self.stored.get(key, ())
        )

    def is_same_container(self, register, other, container):
        """Whether a register holds the dict or list `container`, which is in register `other`; checked."""
        if register == other:
            return True
        mine = self.dicts.get(register)
        if mine is None and register in self.values:
            mine = self.values[register].object
        if mine is None:
            raise NoRow("a container that may have been changed")
        if type(mine) is not type(container):
            return False  # and its class is checked
        known = ("same container", register, other)
        if known not in self.checked:
            self.checked[known] = same = mine is container
            result = self.emit("Is", register, 0, inputs=[other])
            self.see(result, same)
            self.check("CheckIs", result, object=same)
        return self.checked[known]

    def whole(self, register):
        """Requires that the keys of a dict, or the elements of a list, are those that it has when the plan begins."""
        for other, container in self.grown.items():
            if self.is_same_container(register, other, container):
                raise NoRow("a container that was changed")

    def has_views(self):
        """Whether an iteration goes on through keys, values or items of a dict that were listed before."""
        return not all(each.has_ended for each in self.over_views)

    def is_over_views(self, arguments):
        return any(isinstance(v, View) or any(v is each for each in self.over_views) for v in arguments)

    def store_item(self, register, names, key, value):
        """Sets an element of a dict, or what is in a cell, when the plan ends; what the plan reads of it until then is the
        value."""
        if not is_whole(value) and value is not DELETED:
            raise NoRow("an iterator that is stored")
        if key is not CELL and (
            type(names) not in (dict, DEFAULTDICT) or ("__builtins__" in names and register not in self.globals)
        ):
            raise NoRow("a dict that code has its globals in")
        self.before_effect()
        if self.has_views() and key is not CELL:
            raise NoRow("a dict that is changed while it may be iterated over")
        if self.swapped or self.listed:
            self.may_set(names, key)
        self.dicts[register] = names
        found = None if self.is_deleted(register, key) else self.stored_item(register, key)
        others = [entry for entry in self.stored.get(key, ()) if entry[1] is not names]
        if found is not None or len(others) < len(self.stored.get(key, ())):
            if found is not None:
                self.frees(found)
            register = next(entry[0] for entry in self.stored[key] if entry[1] is names)
        else:
            if key is not CELL and self.tensor_of_key(key) not in names:
                self.born.add((id(names), key))
            if ("item", register, key) not in self.checked:
                self.grown[register] = names
            there = names.get(self.tensor_of_key(key)) if key is not CELL else None
            before = self.checked.get(("item", register, key), there)
            self.frees(before)
            if is_watched(before.object if type(before) is Value else before):
                raise NoRow("an object that is replaced, whose freeing may be noticed")
        self.stored[key] = [*others, (register, names, value)]
        self.stores.append((register, key, value))

    def delete_item(self, owner, key):
        """Deletes an element of a dict when the plan ends."""
        self.typed(owner)
        if not self.contains(owner, self.constant(key)):
            raise NoRow("a key that is not there")
        self.delete(self.register(owner), owner.object, key)

    def delete(self, register, names, key):
        self.dict_item(register, key, names[key])
        if (id(names), key) in self.born:
            self.lacks_key(register, key)  # of what was there, the deletion would be left
        else:
            self.lost.add(id(names))
        self.store_item(register, names, key, DELETED)
        self.grown[register] = names

    def DELETE_ATTR(self, view, frame, argument):
        """Deletes an attribute of an object's own when the plan ends."""
        owner, name = frame.stack.pop(), frame.code.co_names[argument]
        if (
            type(owner) is not Value
            or self.is_tensor(owner)
            or issubclass(type(owner.object), (type, types.ModuleType))
        ):
            raise NoRow("an attribute of another kind that is deleted")
        found = self.class_attribute(owner, name)
        names = self.names_of(owner.object)
        if self.class_attribute(owner, "__delattr__") is not object.__delattr__ or type(names) is not dict:
            raise NoRow("an attribute that is deleted by code of its class")
        if (
            name.startswith("__")
            or name not in names
            or (found is not None and type(found) not in (*AS_THEY_ARE, *PLAIN))
        ):
            raise NoRow(f"an attribute that its class has, too: {name}")
        self.delete(self.instance_dict(owner), names, name)

    def STORE_ATTR(self, view, frame, argument):
        owner, value = frame.stack.pop(), frame.stack.pop()
        self.store_attribute(owner, frame.code.co_names[argument], value)
        if self.entering is not None:
            self.entering.drops = True

    def store_attribute(self, owner, name, value):
        if isinstance(owner, FunctionContext):
            self.set_attribute_of_context(owner, name, value)
            return
        if self.is_tensor(owner) and name == "requires_grad":
            self.set_requires_grad(owner, value)
            return
        if self.is_tensor(owner) and name in ("grad", "data"):
            (self.set_gradient if name == "grad" else self.set_data)(owner, value)
            return
        if not isinstance(owner, Value) or isinstance(owner, Fresh) or self.is_tensor(owner):
            raise NoRow("an attribute of a container or tensor that is set")
        if issubclass(type(owner.object), (type, types.ModuleType)):
            raise NoRow(f"an attribute of a {type(owner.object).__name__} that is set")
        setter = self.class_attribute(owner, "__setattr__", plainly=True)
        if setter is OBJECT_SETATTR:
            self.store_plainly(owner, name, value)
        elif setter is MODULE_SETATTR["__setattr__"][0] and setter is not None:
            self.store_in_module(owner, name, value)
        elif type(setter) is types.FunctionType:
            register = self.emit("ClassItem", self.register(owner), object="__setattr__")
            self.call_inline(Value(register, setter), [owner, self.constant(name), value], ())
        else:
            raise NoRow(f"a {type(owner.object).__name__} whose attributes are set by its own code")

    def get_by_descriptor(self, frame, owner, found, name, as_method):
        """What the `__get__` in Python of a class's attribute returns, whose class is checked."""
        kind = type(found.object)
        getter = next((base.__dict__["__get__"] for base in kind.__mro__ if "__get__" in base.__dict__), None)
        if type(getter) is not types.FunctionType or (as_method and sys.version_info >= (3, 13)):
            raise NoRow(f"a bound {name}")
        self.values[found.register] = found
        function = self.special_method(found, "__get__")
        owner_class = self.class_of(owner)
        if as_method:
            frame.stack.append(NULL)
        self.call_inline(function, [found, owner, owner_class], ())

    def store_plainly(self, owner, name, value):
        """As object.__setattr__ does."""
        found = self.class_attribute(owner, name, plainly=True)
        if name.startswith("__") or (found is not None and hasattr(type(found), "__set__")):
            raise NoRow(f"an attribute that is set by its class: {name}")
        if found is not None and type(found).__flags__ & STATIC_CLASS and type(found) is not types.FunctionType:
            # It may become a descriptor that sets.
            self.versioned(Value(self.emit("ClassItem", self.register(owner), object=name), found))
        names = self.names_of(owner.object)
        if type(names) is not dict:
            raise NoRow("an object with names of its own kind")
        self.store_item(self.instance_dict(owner), names, name, value)

    def store_in_module(self, owner, name, value):
        """As nn.Module.__setattr__ does with what is no parameter or module: a buffer that there is, or an attribute."""
        is_tensor = self.is_tensor(value)
        if name in MODULE_NAMES or type(getattr(value, "object", None)) is torch.nn.Parameter:
            raise NoRow(f"a module's {name} that is set")
        if not is_tensor and issubclass(type(getattr(value, "object", None)), (torch.nn.Module, torch.Tensor)):
            raise NoRow("a module that is set")
        self.has_code(*MODULE_SETATTR["__setattr__"])
        if is_tensor:
            self.typed(value)
            self.lacks(value, "_is_param")
            self.lacks(value, "_is_buffer")
        elif isinstance(value, Value):
            self.typed(value)
        groups = owner.object.__dict__
        held = {}
        for group in ("_parameters", "_buffers", "_modules"):
            members = groups.get(group)
            if type(members) is not dict or len(members) > 32:
                raise NoRow("a module with members of its own kind")
            held[group] = self.dict_item(self.instance_dict(owner), group, members)
            if name not in members:
                self.keys_checked(held[group])
            elif group == "_buffers" and is_tensor:
                self.dict_item(held[group].register, name, members[name])  # it is there
            else:
                raise NoRow(f"a module's {name} that is set")
        if name not in groups["_buffers"]:
            self.store_plainly(owner, name, value)
            return
        function, code = MODULE_SETATTR["register_buffer"]
        if self.class_attribute(owner, "register_buffer") is not function or function is None:
            raise NoRow("a module with a register_buffer of its own")
        self.has_code(function, code)
        self.lacks(owner, "register_buffer")
        self.lacks(owner, name)
        self.no_global_hooks()
        self.store_item(held["_buffers"].register, groups["_buffers"], name, value)

    def module_member(self, owner, name, names):
        """A parameter, buffer or submodule, as nn.Module.__getattr__ finds it."""
        self.num_saved += INSTRUCTIONS_OF_MODULE_GETATTR
        for held in self.member_groups(owner, name, names):
            if name in held.object:
                return self.dict_item(held.register, name, held.object[name])
        raise NoRow(f"no attribute {name}")

    def member_groups(self, owner, name, names):
        """The dicts in which nn.Module.__getattr__ looks, of a module that has no attribute of this name otherwise."""
        object = owner.object
        if (
            not issubclass(type(object), torch.nn.Module)
            or self.class_attribute(owner, "__getattr__") is not MODULE_GETATTR
        ):
            raise NoRow(f"an attribute that is computed: {name}")
        self.has_code(MODULE_GETATTR, MODULE_GETATTR_CODE)
        self.lacks(owner, name)
        for group in ("_parameters", "_buffers", "_modules"):
            members = names.get(group)
            if type(members) is not dict:
                raise NoRow("a module with members of its own kind")
            yield self.dict_item(self.instance_dict(owner), group, members)
