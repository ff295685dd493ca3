"""Rows of frame capture for what goes over all parameters or buffers of a module: `parameters()`, `named_parameters()` and the
like, and torch.func.functional_call, the module's forward with other ones, which the plan reads where the forward reads the
module's own. Part of `_recording.py`.

The module itself is not touched. Which names there are, and which of them are one tensor, is one check of the plan, `layout_of`.
"""

import types
import weakref

import torch
from torch.func import functional_call
from torch.nn.utils import stateless
from torch.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor

from . import _frames
from ._recording_values import (
    INSTRUCTIONS_OF_MODULE_CALL,
    MODULE_GETATTR,
    TENSORS,
    Fresh,
    Keywords,
    NoRow,
    Pairs,
    Value,
)
from ._rows import argument_of

GROUPS = ("_parameters", "_buffers")
# What functional_call runs, as torch wrote it.
_ACCESSOR = [NamedMemberAccessor.__dict__[name] for name in ("get_submodule", "swap_tensor", "swap_tensors_dict")]
_MEMBERS = {
    name: torch.nn.Module.__dict__[name]
    for name in ("named_parameters", "named_buffers", "_named_members", "named_modules")
}
_CALLED = (
    functional_call, stateless._functional_call, stateless._reparametrize_module.__wrapped__,
    stateless._untie_named_tensors_map, swap_tensor, *_ACCESSOR,
)  # fmt: skip
# Methods of modules: (place of the group, whether they yield names, too).
ITERATED = {
    torch.nn.Module.__dict__[name]: (name.endswith("buffers"), name.startswith("named_"))
    for name in ("parameters", "buffers", "named_parameters", "named_buffers")
}
# Those that go over the modules themselves: whether they yield names, too.
ITERATED_MODULES = {torch.nn.Module.modules: False, torch.nn.Module.named_modules: True}
CHILDREN = {torch.nn.Module.children: False, torch.nn.Module.named_children: True}
_CODES = {
    function: function.__code__ for function in (*_CALLED, *_MEMBERS.values(), *ITERATED, *ITERATED_MODULES, *CHILDREN)
}
#: How many instructions it takes CPython to replace a parameter and to put it back, and to find one.
INSTRUCTIONS_OF_SWAP, INSTRUCTIONS_OF_MEMBER = 150, 30
MAX_TENSORS = 2048

_names_of_classes = weakref.WeakKeyDictionary()  # class: (version, names)


def _names_of(kind):
    """The names that a class of modules has; None if it finds members in a way of its own."""
    version, names = _names_of_classes.get(kind, (0, None))
    if version == 0 or _frames.version_of(kind) != version:
        found = {}
        for base in reversed(kind.__mro__):
            found.update(base.__dict__)
        is_plain = (
            type(kind).__getattribute__ is type.__getattribute__
            and found["__getattribute__"] is object.__getattribute__
            and found["__getattr__"] is MODULE_GETATTR
            and type(found["__dict__"]) is types.GetSetDescriptorType
            and all(found[name] is function for name, function in _MEMBERS.items())
            and all(found[name] is getattr(object, name) for name in ("__hash__", "__eq__"))
            and not any(name in found for name in (*GROUPS, "_modules"))
        )
        names = frozenset(found) if is_plain else None
        _names_of_classes[kind] = _frames.version_of(kind), names
    return names


def modules_of(root):
    """(path, its dicts `_parameters`, `_buffers`, `_modules`) of a module and of those in it, in order; a module that is there
    twice, twice. Raises LookupError if one is not as torch's own are. Runs no code of the program's."""
    owners, todo = {}, [("", root)]
    while todo:
        path, module = todo.pop()
        names = _names_of(type(module))
        if names is None or not _MEMBERS.keys().isdisjoint(module.__dict__) or path.count(".") > 64:
            raise LookupError
        groups = [module.__dict__.get(group) for group in (*GROUPS, "_modules")]
        for group in groups:
            if type(group) is not dict or owners.setdefault(id(group), module) is not module:
                raise LookupError
        yield path, groups
        children = []
        for name, child in groups[2].items():
            if child is None:
                continue
            is_plain = type(name) is str and name not in names and name not in module.__dict__
            if not is_plain or not issubclass(type(child), torch.nn.Module):
                raise LookupError
            children.append((f"{path}{name}.", child))
        todo += reversed(children)


def layout_of(root):
    """Of each parameter and buffer of a module and of those in it, in order: (path, place of the group, a number that those
    have in common that are one tensor, -1 for None). None if a module is not as torch's own are."""
    found, numbers = [], {}
    try:
        for path, groups in modules_of(root):
            for place, group in enumerate(groups[: len(GROUPS)]):
                for name, tensor in group.items():
                    if type(name) is not str or (tensor is not None and type(tensor) not in TENSORS):
                        return None
                    number = -1 if tensor is None else numbers.setdefault(id(tensor), len(numbers))
                    found.append((path + name, place, number))
            if len(found) > MAX_TENSORS:
                return None
    except LookupError as error:
        _frames.raise_of_handler(error)
        return None
    return tuple(found)


def are_distinct(*objects):
    return len(set(map(id, objects))) == len(objects)


class Functional:
    """What a recorder does for calls that go over the parameters or buffers of a module."""

    def layout(self, module):
        """The layout of a module, checked."""
        layout = layout_of(module.object)
        if layout is None:
            raise NoRow("the parameters of a module of its own kind")
        groups = [group for _, groups in modules_of(module.object) for group in groups]
        changed = [names for _, key, *_ in self.stores for _, names, _ in self.stored.get(key, ())]
        if self.swapped or any(names is group for names in changed for group in groups):
            raise NoRow("the parameters of a module, some of which were set")
        known = ("layout", self.register(module))
        if known not in self.checked:
            self.checked[known] = True
            for function in _MEMBERS.values():
                self.has_code(function, _CODES[function])
            register = self.emit("Call", self.register(self.constant(layout_of)), inputs=[self.register(module)])
            self.see(register, layout)
            self.check("CheckConst", register, object=layout)
        return layout

    def call_members(self, callee, arguments, names):
        """`parameters()`, `named_buffers()` and the like, which a loop unrolls."""
        if len(arguments) != 1 or names or not issubclass(type(getattr(arguments[0], "object", None)), torch.nn.Module):
            raise NoRow(f"a call of {callee.object.__name__} with options")
        self.identical(callee)
        self.has_code(callee.object, _CODES[callee.object])
        (module,) = arguments
        wanted, with_names = ITERATED[callee.object]
        modules, seen, items = {"": module}, set(), []
        for path, place, number in self.layout(module):
            if place != wanted or number < 0 or number in seen:
                continue
            seen.add(number)
            held, name = self.group_at(modules, path, place)
            self.listed.append(held.object)
            value = self.dict_item(held.register, name, held.object[name])
            items.append(Fresh(tuple, [self.constant(path), value]) if with_names else value)
        self.num_saved += INSTRUCTIONS_OF_MEMBER * len(items)
        self.pending = Pairs(types.GeneratorType, items)

    def call_modules(self, callee, arguments, names):
        """`modules()` and `named_modules()`, which a loop unrolls."""
        if len(arguments) != 1 or names or not issubclass(type(getattr(arguments[0], "object", None)), torch.nn.Module):
            raise NoRow(f"a call of {callee.object.__name__} with options")
        self.identical(callee)
        self.has_code(callee.object, _CODES[callee.object])
        self.has_code(_MEMBERS["named_modules"], _CODES[_MEMBERS["named_modules"]])
        modules, todo = {}, [("", arguments[0])]
        while todo:
            path, module = todo.pop()
            modules[path] = module
            todo += reversed([(f"{path}.{name}" if path else name, child) for name, child in self.children_of(module)])
        self.go_over(modules, ITERATED_MODULES[callee.object])

    def call_children(self, callee, arguments, names):
        """`children()` and `named_children()`, which a loop unrolls."""
        if len(arguments) != 1 or names or not issubclass(type(getattr(arguments[0], "object", None)), torch.nn.Module):
            raise NoRow(f"a call of {callee.object.__name__} with options")
        self.identical(callee)
        for function in CHILDREN:
            self.has_code(function, _CODES[function])
        self.go_over(dict(self.children_of(arguments[0])), CHILDREN[callee.object])

    def go_over(self, modules, with_names):
        """An iteration over modules by name, which are checked to be different ones."""
        values = list(modules.values())
        if not are_distinct(*[value.object for value in values]):
            raise NoRow("the modules in a module that has one twice")
        inputs = [self.register(value) for value in values]
        register = self.emit("Call", self.register(self.constant(are_distinct)), inputs=inputs)
        self.see(register, True)
        self.check("CheckIs", register, object=True)
        self.num_saved += INSTRUCTIONS_OF_MEMBER * len(values)
        items = (
            [Fresh(tuple, [self.constant(path), value]) for path, value in modules.items()] if with_names else values
        )
        self.pending = Pairs(types.GeneratorType, items)

    def children_of(self, module):
        """(name, Value) of the modules that a module holds; which there are is checked."""
        members = module.object.__dict__.get("_modules")
        is_found = self.class_attribute(module, "named_modules") is _MEMBERS["named_modules"]
        if _names_of(type(module.object)) is None or not is_found or type(members) is not dict:
            raise NoRow("the modules in a module of its own kind")
        self.lacks(module, "named_modules")
        held = self.dict_item(self.instance_dict(module), "_modules", members)
        if held.object is not members or any(type(name) is not str for name in members) or len(members) > MAX_TENSORS:
            raise NoRow("the modules in a module of its own kind")
        self.whole(held.register)
        self.check("CheckKeys", held.register, object=tuple(members))
        self.listed.append(members)
        found = [(name, self.dict_item(held.register, name, child)) for name, child in members.items()]
        for _, child in found:
            if child.object is not None and not issubclass(type(child.object), torch.nn.Module):
                raise NoRow("the modules in a module of its own kind")
        return [(name, child) for name, child in found if not self.is_none(child)]

    def call_functional_call(self, view, frame, callee, arguments, names):
        given = [
            argument_of(arguments, names, name, place)
            for place, name in enumerate(("module", "parameter_and_buffer_dicts", "args", "kwargs"))
        ]
        if len(arguments) - len(names) > 4 or sum(value is not None for value in given) + sum(
            name in ("tie_weights", "strict") for name in names
        ) != len(arguments):
            raise NoRow("a functional_call with other arguments")
        module, tensors, args, kwargs = given
        flags = dict(zip(names, arguments[len(arguments) - len(names) :], strict=True))
        ties, is_strict = (
            default if name not in flags else self.flag_of(flags[name])
            for name, default in (("tie_weights", True), ("strict", False))
        )
        if type(module) is not Value or not issubclass(type(module.object), torch.nn.Module) or tensors is None:
            raise NoRow("a functional_call with other arguments")
        self.identical(callee)
        for function in _CALLED:
            self.has_code(function, _CODES[function])
        replaced = self.replaced_by(module, self.tensors_of(tensors), ties, is_strict)
        args = self.arguments_in(args)
        kwargs = {} if kwargs is None or self.is_none(kwargs) else self.keywords_of(kwargs)
        self.call_module(view, frame, module, [*args, *kwargs.values()], tuple(kwargs))
        if self.entering is None or self.entering.finish is not None:
            raise NoRow("a functional_call of a module with hooks")
        self.num_saved += INSTRUCTIONS_OF_MODULE_CALL + INSTRUCTIONS_OF_SWAP * len(replaced)
        self.swap(replaced)
        self.entering.finish = self.swap_back
        self.entering.swaps = True

    def tensors_of(self, value):
        """{path: Value} of the dict of tensors, or of the tuple or list of such."""
        if self.is_sequence(value):
            found = {}
            for part in self.parts_of(value):
                more = self.tensors_of_dict(part)
                if found.keys() & more.keys():
                    raise NoRow("a functional_call with a name that is given twice")
                found.update(more)
        else:
            found = self.tensors_of_dict(value)
        for each in found.values():
            if not self.is_tensor(each):
                raise NoRow("a functional_call with other than tensors")
            self.typed(each)
        return found

    def tensors_of_dict(self, value):
        if not isinstance(value, Keywords) and type(getattr(value, "object", None)) is not dict:
            raise NoRow("a functional_call with other than dicts of tensors")
        return dict(self.keywords_of(value, most=MAX_TENSORS))

    def arguments_in(self, value):
        if value is None:
            return []
        if isinstance(value, Keywords) or type(value) is Fresh:
            is_tuple = isinstance(value, Fresh) and value.kind is tuple
        elif not isinstance(value, Value) or isinstance(value, Fresh) or issubclass(type(value.object), tuple):
            is_tuple = True
        elif self.is_none(value):
            return []
        else:
            is_tuple = False
        return self.parts_of(value) if is_tuple else [value]

    def replaced_by(self, module, tensors, ties, is_strict):
        """[(register of a module's dict of parameters or buffers, the dict, name, Value)] of what the forward reads instead."""
        numbers, place_of, members = {}, {}, {}
        for path, place, number in self.layout(module):
            if path not in place_of:  # functional_call looks among the parameters first
                place_of[path] = place
                numbers[path] = number
            if number >= 0:
                members.setdefault(number, []).append(path)
        untied = {}
        for path, value in tensors.items():
            if path not in place_of:
                raise NoRow(f"a functional_call with a name that the module has not: {path}")
            for each in members.get(numbers[path], [path]) if ties else [path]:
                if each in untied:
                    raise NoRow("a functional_call with several tensors for one parameter")
                untied[each] = value
        if is_strict and untied.keys() != {path for each in members.values() for path in each}:
            raise NoRow("a strict functional_call without some of the parameters")
        modules, found = {"": module}, []
        for path, value in untied.items():
            held, name = self.group_at(modules, path, place_of[path])
            names = held.object
            if any(names is other and name == key for _, other, key, _ in found):
                raise NoRow("a functional_call with several tensors for one parameter")
            found.append((held.register, names, name, value))
        return found

    def group_at(self, modules, path, place):
        """The dict that has the parameter or buffer of a path, and its name there."""
        prefix, _, name = path.rpartition(".")
        owner = self.module_at(modules, prefix)
        names = owner.object.__dict__[GROUPS[place]]
        return self.dict_item(self.instance_dict(owner), GROUPS[place], names), name

    def module_at(self, modules, path):
        """The Value of a module by its path. `modules`: those that are known."""
        if path not in modules:
            prefix, _, name = path.rpartition(".")
            owner = self.module_at(modules, prefix)
            members = owner.object.__dict__["_modules"]
            held = self.dict_item(self.instance_dict(owner), "_modules", members)
            modules[path] = self.dict_item(held.register, name, members[name])
        return modules[path]

    def swap(self, replaced):
        """Has the plan read other elements of dicts."""
        for register, _, key, _ in replaced:
            if any(self.is_same_container(register, *entry[:2]) for entry in self.stored.get(key, ())):
                raise NoRow("a functional_call after attributes were set")
        for register, names, key, value in replaced:
            self.dicts[register] = names
            self.stored[key] = [*self.stored.get(key, ()), (register, names, value)]
            self.swapped.append((names, key))

    def swap_back(self, result):
        for names, key in self.swapped:
            self.stored[key] = [entry for entry in self.stored[key] if entry[1] is not names]
            if not self.stored[key]:
                del self.stored[key]
        self.swapped.clear()
        return result

    def may_set(self, names, key):
        """Requires that a dict is none whose elements are replaced, or may still be iterated over."""
        if any(names is each and key == name for each, name in self.swapped):
            raise NoRow("a parameter or buffer that functional_call has replaced, which is set")
        if any(names is each for each in self.listed):
            raise NoRow("a parameter or buffer that is set while they may be iterated over")
