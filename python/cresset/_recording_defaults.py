"""Rows of frame capture for dicts that make what they don't have (`collections.defaultdict`), keys that are no names, the identity
of objects as a number, and functions that write to several of their arguments, as `torch.amp.GradScaler` uses them. Part of
`_recording.py`."""

import collections
import types

import torch

from ._recording_values import (
    COMPARED,
    DefaultKeywords,
    Fresh,
    Keywords,
    NewFunction,
    NoRow,
    Raised,
    Value,
    is_object,
)

DEFAULTDICT = collections.defaultdict
KEYS = (str, int, *COMPARED)  # classes of keys that compare without code of the program's
_MADE = {
    list: lambda: Fresh(list, []),
    dict: lambda: Keywords({}),
    int: lambda: 0,
    float: lambda: 0.0,
    bool: lambda: False,
    str: str,
    tuple: tuple,
}
MAX_KEYS = 64


def _writers():
    """{function: places of the arguments that it writes to, tensors or lists of such}, by identity."""
    found = {}
    for name, places in (("_amp_foreach_non_finite_check_and_unscale_", (0, 1)), ("_amp_update_scale_", (0, 1))):
        function = getattr(torch, name, None)
        if function is not None:
            found[id(function)] = function, places
    return found


_writers_by_identity = _writers()


def writes_arguments(object):
    return _writers_by_identity.get(id(object), (None,))[0] is object and object is not None


class Defaults:
    """What a recorder does for defaultdicts, `id`, and functions that write to several tensors."""

    def key_of(self, value):
        """A key of a dict that the plan makes, checked: a name, a number, a dtype, a device."""
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) not in KEYS:
            raise NoRow("a dict of other than names")
        self.known(value)
        return value.object

    # ---- Tensors as keys

    def key_of_tensor(self, value):
        """What stands for the key that a tensor is: a tuple of the register by which the plan knows it. The plan's end checks
        which of those that it reads are one tensor, if it sets elements by them."""
        register = self.register(self.typed(value))
        if not self.is_read(register) and register not in self.new:
            raise NoRow("a key that is a tensor of the plan's")
        if register not in self.names_of_leaves:
            self.names_of_leaves[register] = value.object
        first = next(key for key, object in self.names_of_leaves.items() if object is value.object)
        return (first,)

    def tensor_of_key(self, key):
        """The object that a key is."""
        return self.names_of_leaves[key[0]] if type(key) is tuple else key

    def has_tensor(self, container, value):
        """Whether a dict has a tensor for a key; checked."""
        key = self.key_of_tensor(value)
        if self.stored_item(self.register(container), key) is not None:
            return True
        known = ("has", container.register, key)
        if known not in self.checked:
            self.typed(container)
            found = self.checked[known] = dict.__contains__(container.object, value.object)
            register = self.emit(
                "Call", self.register(self.constant(dict.__contains__)), inputs=[container.register, *key]
            )
            self.see(register, found)
            self.check("CheckIs", register, object=found)
        return self.checked[known]

    def element_of_tensor(self, container, value):
        """What a dict has for a tensor: `self.state[p]`."""
        key = self.key_of_tensor(value)
        names, register = container.object, self.register(container)
        self.pending = self.stored_item(register, key)
        if self.pending is not None:
            return
        known = ("item", register, key)
        if known in self.checked:
            self.pending = self.checked[known]
        elif dict.__contains__(names, value.object):
            self.typed(container)
            found = dict.get(names, value.object)
            result = self.emit("Call", self.register(self.constant(dict.get)), inputs=[register, *key])
            self.pending = self.checked[known] = self.values[result] = Value(result, found)
            self.dicts[result] = found
            if type(found) is not dict:
                self.has_tensor(container, value)
            self.typed(self.pending)
        else:
            self.has_tensor(container, value)
            self.missing_element(container, key)

    def call_id(self, callee, arguments, names):
        """The number of an object that is there when the plan begins, which lives as long as that runs."""
        (value,) = arguments if len(arguments) == 1 and not names else (None,)
        is_there = type(value) is Value and value.register is not None and value.register not in self.unseen
        if not is_there or not self.is_found(value):
            raise NoRow("the id of what the function makes")
        self.not_in_transform("a question for identity")
        self.identical(callee)
        self.pending = self.emit("Call", self.register(callee), inputs=[self.register(value)])

    # ---- Dicts that make what they don't have

    def call_defaultdict(self, callee, arguments, names):
        """A defaultdict that the plan makes, without elements."""
        if len(arguments) != 1 or names:
            raise NoRow("a defaultdict of other arguments")
        self.identical(callee)
        (factory,) = arguments
        if isinstance(factory, Value) and any(factory.object is kind for kind in _MADE):
            self.identical(factory)
        elif not isinstance(factory, NewFunction) and type(getattr(factory, "object", None)) is not types.FunctionType:
            raise NoRow("a defaultdict of other arguments")
        self.pending = DefaultKeywords(factory)

    def as_defaultdict(self, made):
        """The register that has a defaultdict of the elements in a dict's."""
        if isinstance(made.factory, NewFunction):
            raise NoRow("a defaultdict whose function the program makes")
        factory = self.register(made.factory)
        return self.emit("Call", self.register(self.constant(DEFAULTDICT)), inputs=[factory, made.register])

    def missing_of(self, made, key):
        """An element that a defaultdict of the plan's does not have yet."""

        def add(value):
            if not is_object(value) or self.holds(value, made):
                raise NoRow("an iterator in a dict")
            self.changes(made)
            made.items[key] = value
            return value

        self.make_missing(made.factory, add)

    def make_missing(self, factory, add):
        """What a defaultdict makes for a key that it does not have; `add` keeps it."""
        kind = factory.object if isinstance(factory, Value) else None
        if any(kind is known for known in _MADE):
            made = _MADE[kind]()
            self.pending = add(made if is_object(made) else self.constant(made))
        else:
            self.call_inline(factory, [], ())
            self.entering.finish = add

    def element_of_default(self, container, index):
        """An element of a defaultdict that is there, which may be missing."""
        names = container.object
        key = self.key(index, (str, int))
        self.typed(container)
        register = self.register(container)
        found = self.stored_item(register, key)
        if found is not None:
            self.pending = found
        elif key in names:
            self.pending = self.dict_item(register, key, names[key])
        else:
            self.lacks_key(self.register(container), key)
            self.missing_element(container, key)

    def missing_element(self, container, key):
        """What a dict, or a defaultdict, does about an element that it has not."""
        names, register = container.object, self.register(container)
        if type(names) is not DEFAULTDICT or names.default_factory is None:
            raised = Raised(KeyError, None if type(key) is tuple else [self.constant(key)])
            self.raises(KeyError, "a key that is not there", raised)
        else:
            made = self.emit("GetAttr", register, object="default_factory")
            self.see(made, names.default_factory)
            factory = self.values[made]
            if type(factory.object) is not types.FunctionType:
                if not any(factory.object is kind for kind in _MADE):
                    raise NoRow("an element that a defaultdict makes")
                self.identical(factory)

            def add(value):
                self.store_item(register, names, key, value)
                return value

            self.make_missing(factory, add)

    def lacks_key(self, register, key):
        """Checks that the dict in a register has no such key when the plan begins."""
        inputs = [register, *(key if type(key) is tuple else [self.register(self.constant(key))])]
        register = self.emit("Call", self.register(self.constant(dict.__contains__)), inputs=inputs)
        self.see(register, False)
        self.check("CheckIs", register, object=False)

    def elements_of(self, container):
        """{key: Value} of a dict or defaultdict that is there, with what the plan has set, in order."""
        names, register = container.object, self.register(container)
        for key in [key for key in self.stored if key in KEYS or type(key) in KEYS]:
            for other, held, _ in self.stored[key]:
                self.is_same_container(register, other, held)  # is checked
        before = [key for key in names if (id(names), key) not in self.born]
        if len(names) > MAX_KEYS or any(type(key) not in (str, int) for key in names):
            raise NoRow("a dict of other than names")
        self.typed(container)
        if ("keys", register) not in self.checked:
            if id(names) in self.lost:
                raise NoRow("a container that was changed")
            self.checked["keys", register] = True
            self.check("CheckKeys", register, object=tuple(before))
        return {key: self.stored_item(register, key) or self.dict_item(register, key, names[key]) for key in names}

    # ---- Functions that write to several of their arguments

    def call_writer(self, callee, arguments, names):
        function, places = _writers_by_identity[id(callee.object)]
        name = function.__name__
        if names or len(arguments) <= max(places):
            raise NoRow(f"a call of {name} with other arguments")
        self.identical(callee)
        for value in arguments:
            self.argument(value)
        written = []
        for place in places:
            value = arguments[place]
            written += self.tensors_in(value, name) if self.is_sequence(value) else [value]
        if not all(map(self.is_tensor, written)):
            raise NoRow(f"a call of {name} with other arguments")
        others = [value for place, value in enumerate(arguments) if place not in places and self.is_tensor(value)]
        for value in written:
            self.writes(value, f"a call of {name} in place", others)
        inputs = [self.register(value) for value in arguments]
        self.num_calls += 1
        self.pending = self.compute("Call", self.register(callee), inputs=inputs)
        self.effects[self.pending] = [self.register(value) for value in written]
        if name == "_amp_update_scale_":
            self.written[self.pending] = inputs[0]  # which it returns
