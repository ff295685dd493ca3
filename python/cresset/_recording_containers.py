"""Rows of frame capture for lists, tuples and dicts, iteration and generators. Part of `_recording.py`."""

import builtins
import dis
import inspect
import itertools
import operator
import sys
import types
from collections import OrderedDict

import torch

from . import _frames
from ._recording_changes import CHANGED
from ._recording_defaults import DEFAULTDICT
from ._recording_values import (
    COMPARED,
    CONTAINERS,
    DEQUE,
    ITERATIONS,
    MAX_DEPTH,
    MAX_STEPS,
    METHODS_OF_SETS,
    MODULE_INIT,
    NULL,
    PLAIN,
    SEQUENCES,
    SUSPENDS,
    TENSORS,
    Accumulated,
    Cell,
    Closure,
    Count,
    FrameShadow,
    Fresh,
    Generator,
    Iterator,
    Keywords,
    Mapped,
    Modules,
    NewFunction,
    NewObject,
    NewSet,
    NoRow,
    Pairs,
    Raised,
    Range,
    Value,
    View,
    ViewIterator,
    Zipped,
    is_object,
)
from ._segments import has_names

# Instructions of handlers that Python adds to comprehensions and generators, in which no code of the program runs.
OF_ADDED_HANDLERS = {
    "CALL_INTRINSIC_1",
    "COPY",
    "POP_EXCEPT",
    "POP_TOP",
    "RERAISE",
    "STORE_FAST",
    "STORE_FAST_LOAD_FAST",
    "SWAP",
}

MAX_ROWS = 256  # of what a `zip` or `map` of generators yields at once


def passes_by(code, target, scope):
    """Whether a handler is for exceptions of Python's own other than those that end a generator: `except IndexError:`."""
    instructions = iter(
        [each for each in dis.get_instructions(code) if each.offset >= target and each.opname != "CACHE"]
    )
    if next(instructions).opname != "PUSH_EXC_INFO":
        return False
    load, match, jump = (next(instructions, None) for _ in range(3))
    if jump is None or load.opname != "LOAD_GLOBAL" or match.opname != "CHECK_EXC_MATCH":
        return False
    kind = getattr(builtins, load.argval, None)
    is_own = isinstance(kind, type) and issubclass(kind, Exception) and load.argval not in scope
    after = next((each for each in dis.get_instructions(code) if each.offset == jump.argval), None)
    return is_own and "JUMP" in jump.opname and after is not None and after.opname == "RERAISE"


def has_handlers(code, scope):
    """Whether code of the program runs when a generator is ended at a place in it; `scope`: its globals."""
    if not code.co_exceptiontable:
        return False
    targets = {entry.target for entry in dis.Bytecode(code).exception_entries}
    for target in targets:
        if passes_by(code, target, scope):
            continue
        for instruction in dis.get_instructions(code):
            if instruction.offset >= target:
                if instruction.opname not in OF_ADDED_HANDLERS:
                    return True
                if instruction.opname == "RERAISE":
                    break
    return False


class Containers:
    """What a recorder does for instructions that make, read and iterate over containers."""

    # ---- Containers

    def BUILD_TUPLE(self, view, frame, argument):
        self.build(frame, tuple, argument)

    def BUILD_LIST(self, view, frame, argument):
        self.build(frame, list, argument)

    @staticmethod
    def build(frame, kind, count):
        items = frame.stack[len(frame.stack) - count :]
        if kind is tuple and items and all(isinstance(item, Cell) for item in items):
            frame.stack[len(frame.stack) - count :] = [Closure(items)]
            return
        if not all(map(is_object, items)):
            raise NoRow("a container of iterators")
        del frame.stack[len(frame.stack) - count :]
        frame.stack.append(Fresh(kind, items))

    def LIST_EXTEND(self, view, frame, argument):
        self.all_of(frame.stack.pop(), lambda items: self.extend(frame, argument, items))

    def LIST_APPEND(self, view, frame, argument):
        item = frame.stack.pop()
        if not is_object(item):
            raise NoRow("a container of iterators")
        self.extend(frame, argument, [item])

    @staticmethod
    def extend(frame, place, items):
        made = frame.stack[-place]
        if not isinstance(made, Fresh) or made.register is not None:
            raise NoRow("a list that is made longer")
        # A list of its own: what the plan may end with keeps its elements.
        frame.stack[-place] = Fresh(list, [*made.items, *items])

    def BUILD_SET(self, view, frame, argument):
        items = frame.stack[len(frame.stack) - argument :]
        del frame.stack[len(frame.stack) - argument :]
        for item in items:
            self.constant_of_set(item)
        frame.stack.append(NewSet(items))

    def SET_ADD(self, view, frame, argument):
        item = frame.stack.pop()
        made = frame.stack[-argument]
        if not isinstance(made, NewSet):
            raise NoRow("a set that is changed")
        self.constant_of_set(item)
        frame.stack[-argument] = NewSet([*made.items, item])

    def SET_UPDATE(self, view, frame, argument):
        more = frame.stack.pop()
        made = frame.stack[-argument]
        if not isinstance(made, NewSet) or not isinstance(more, Value) or type(more.object) is not frozenset:
            raise NoRow("a set that is changed")
        frame.stack[-argument] = NewSet([*made.items, *map(self.constant, more.object)])

    def constant_of_set(self, value):
        """Checks an element of a set that the plan needs for searches only."""
        if (
            not isinstance(value, Value)
            or isinstance(value, Fresh)
            or type(value.object) not in (int, bool, str, type(None))
        ):
            raise NoRow("a set of other than constants")
        self.known(value)

    def LIST_TO_TUPLE(self, view, frame, argument):
        made = frame.stack.pop()
        if not isinstance(made, Fresh):
            raise NoRow("a tuple of a list")
        frame.stack.append(Fresh(tuple, list(made.items)))

    def BUILD_MAP(self, view, frame, argument):
        pairs = frame.stack[len(frame.stack) - 2 * argument :]
        del frame.stack[len(frame.stack) - 2 * argument :]
        self.build_keywords(frame, [self.key_of(key) for key in pairs[::2]], pairs[1::2])

    def BUILD_CONST_KEY_MAP(self, view, frame, argument):
        keys = frame.stack.pop()
        values = frame.stack[len(frame.stack) - argument :]
        del frame.stack[len(frame.stack) - argument :]
        if any(type(key) not in (str, int) for key in keys.object):
            raise NoRow("a dict of other than names")
        self.build_keywords(frame, keys.object, values)

    @staticmethod
    def build_keywords(frame, keys, values):
        if not all(map(is_object, values)):
            raise NoRow("a container of iterators")
        frame.stack.append(Keywords(dict(zip(keys, values, strict=True))))

    def MAP_ADD(self, view, frame, argument):
        """An element of a dict comprehension."""
        key, value = frame.stack[-2:]
        del frame.stack[-2:]
        made = frame.stack[-argument]
        if not isinstance(made, Keywords) or made.register is not None or not is_object(value):
            raise NoRow("a dict that is made longer")
        # A dict of its own, as of lists.
        frame.stack[-argument] = Keywords({**made.items, self.key(key, (str, int)): value})

    def key(self, value, kinds=(str,)):
        """The name or number that a key is, checked."""
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) not in kinds:
            raise NoRow("a dict of other than names")
        self.pin(value)
        return value.object

    def DICT_UPDATE(self, view, frame, argument, is_call=False):
        more = self.keywords_of(frame.stack.pop(), names_only=is_call)
        made = frame.stack[-argument]
        if not isinstance(made, Keywords):
            raise NoRow("a dict that is changed")
        if is_call and made.items.keys() & more.keys():
            raise NoRow("a keyword argument that is given twice")
        frame.stack[-argument] = Keywords(made.items | more)

    def DICT_MERGE(self, view, frame, argument):
        self.DICT_UPDATE(view, frame, argument, is_call=True)

    def keywords_of(self, value, names_only=True, most=32):
        """{name: value} of a dict whose keys are checked."""
        if isinstance(value, Keywords):
            if names_only and any(type(key) is not str for key in value.items):
                raise NoRow("keywords that are no names")
            return value.items
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) is not dict:
            raise NoRow("the keywords of an object")
        if any(type(key) is not str for key in value.object) or len(value.object) > most:
            raise NoRow("a dict of other than names")
        if self.has_grown(value):
            return self.elements_of(value)
        self.keys_checked(value)
        return {key: self.dict_item(value.register, key, item) for key, item in value.object.items()}

    def pairs_of_ordered(self, value):
        """[(key, element)] of an OrderedDict, whose number of elements is checked."""
        pairs = tuple(value.object.items())
        self.typed(value)
        self.check("CheckSize", self.register(value), len(pairs))
        view = self.read_by(self.constant(OrderedDict.items), [value])
        found = self.read_by(self.constant(tuple), [view])
        for place, pair in enumerate(pairs):
            register = self.emit("Item", found.register, place)
            self.see(register, pair)
            yield [Value(self.emit("Item", register, part), pair[part]) for part in range(2)]

    def has_key(self, container, key):
        """Whether an OrderedDict has a key, an int; checked."""
        if type(key.object) is not int:
            raise NoRow("a key of another kind")
        self.typed(container)
        self.typed(key)
        register = self.read_by(self.constant(dict.__contains__), [container, key]).register
        found = dict.__contains__(container.object, key.object)
        self.check("CheckIs", register, object=found)
        return found

    def keys_checked(self, value):
        self.typed(value)
        self.whole(self.register(value))
        known = ("keys", self.register(value))
        if known not in self.checked:
            self.checked[known] = True
            self.check("CheckKeys", value.register, object=tuple(value.object))

    def CONTAINS_OP(self, view, frame, argument):
        container, value = frame.stack.pop(), frame.stack.pop()
        function = self.special_method(container, "__contains__")
        if function is None:
            frame.stack.append(self.constant(self.contains(container, value) != bool(argument)))
            return
        self.call_inline(function, [container, value], ())
        self.entering.finish = lambda result: self.constant(self.pin(result) != bool(argument))

    def contains(self, container, value):
        """Whether a container of constants or names has a constant, checked."""
        if isinstance(container, Keywords):
            return self.key_of(value) in container.items
        if isinstance(container, View) and container.name == "keys":
            keys = [key.object for key in container.make()]
            return self.key(value, (str, int)) in keys
        if isinstance(container, Value) and type(container.object) in (set, frozenset) and not container.fixed:
            return self.is_in_set(container, value)
        if not isinstance(container, (Value, NewSet)) or not isinstance(value, Value) or isinstance(value, Fresh):
            raise NoRow("a search in a container")
        if self.is_tensor(value) and type(container) is Value and type(container.object) in (dict, DEFAULTDICT):
            return self.has_tensor(container, value)
        if self.has_plain_equality(value) and type(value.object) not in PLAIN:
            if isinstance(container, Fresh):
                return self.contains_object(container.items, value)
            if type(container) is Value and type(container.object) in (tuple, *CHANGED) and len(container.object) <= 32:
                return self.contains_object(self.items_of(container), value)
        if type(value.object) not in (int, bool, str, type(None), *COMPARED):
            raise NoRow(f"a search for a {type(value.object).__name__}")
        self.known(value)
        if isinstance(container, (Fresh, NewSet)):
            items = container.items
        elif container.fixed and type(container.object) in (tuple, frozenset):
            items = [self.constant(item) for item in container.object]
        elif type(container.object) in (tuple, *CHANGED):
            items = self.items_of(container)
        elif type(container.object) is dict:
            if self.is_deleted(self.register(container), value.object):
                return False
            if value.object in container.object and type(value.object) is str:
                self.typed(container)
                self.dict_item(self.register(container), value.object, container.object[value.object])
                return True
            if any(type(key) is not str for key in container.object):
                raise NoRow("a search in a dict")
            if type(value.object) is str and (len(container.object) > 32 or self.register(container) in self.grown):
                return self.is_missing(container, value)
            if len(container.object) > 32:
                raise NoRow("a search in a dict")
            self.keys_checked(container)
            return value.object in container.object
        elif type(container.object) is str and type(value.object) is str:
            self.pin(container)
            return value.object in container.object
        else:
            raise NoRow(f"a search in a {type(container.object).__name__}")
        for item in items:
            if not isinstance(item, Value) or isinstance(item, Fresh) or type(item.object) not in (*PLAIN, *COMPARED):
                raise NoRow("a search in a container")
            self.known(item)
        return any(item.object is value.object or item.object == value.object for item in items)

    def is_in_set(self, container, value):
        """Whether a set that is there has an element, which compares without code of the program's; checked."""
        elements = container.object
        if not isinstance(value, Value) or isinstance(value, Fresh) or len(elements) > 4096:
            raise NoRow("a search in a set")
        for kind in {type(value.object), *map(type, elements)}:
            names = {
                name: next(b.__dict__[name] for b in kind.__mro__ if name in b.__dict__)
                for name in ("__eq__", "__hash__")
            }
            if not any(
                names == {name: base.__dict__.get(name) for name in names} for base in (object, str, int, type(None))
            ):
                raise NoRow("a search in a set of objects that compare by code of their own")
        self.typed(container)
        if type(value.object) in PLAIN or issubclass(type(value.object), type):
            self.typed(value)
        else:
            self.versioned(value)
        found = value.object in elements
        inputs = [self.register(container), self.register(value)]
        register = self.emit("Call", self.register(self.constant(type(elements).__contains__)), inputs=inputs)
        self.see(register, found)
        self.check("CheckIs", register, object=found)
        return found

    @staticmethod
    def is_derived_dict(method, arguments):
        """Whether a method is called of an object of a class derived from dict, or from OrderedDict if that has its own."""
        owner = arguments[0] if arguments else NULL
        kind = type(owner.object) if type(owner) in (Value, NewObject) else type(None)
        base = OrderedDict if issubclass(kind, OrderedDict) else dict
        return (
            issubclass(kind, dict)
            and kind not in (dict, DEFAULTDICT, OrderedDict)
            and getattr(base, method.__name__) is method
        )

    def call_of_dict(self, name, arguments, names):
        """A method of dict's or OrderedDict's own of an object of a class derived from these."""
        owner, *rest = arguments
        if names or len(rest) > {"__setitem__": 2, "get": 2, "items": 0, "keys": 0, "values": 0, "__len__": 0}.get(
            name, 1
        ):
            raise NoRow(f"a call of dict.{name} with other arguments")
        if isinstance(owner, NewObject):
            self.call_of_new_dict(name, owner, rest)
            return
        if name not in ("__contains__", "__getitem__", "get") or not rest:
            raise NoRow(f"a call of {type(owner.object).__name__}.{name}")
        self.versioned(owner)
        key = rest[0]
        if not isinstance(key, Value) or isinstance(key, Fresh) or type(key.object) not in (str, int):
            raise NoRow("a dict of other than names")
        self.typed(key)
        found = dict.__contains__(owner.object, key.object)
        inputs = [self.register(owner), self.register(key)]
        register = self.emit("Call", self.register(self.constant(dict.__contains__)), inputs=inputs)
        self.see(register, found)
        self.check("CheckIs", register, object=found)
        if name == "__contains__":
            self.pending = self.constant(found)
        elif found:
            self.pending = self.read_by(self.constant(dict.get), [owner, key])
        elif name == "get":
            self.pending = rest[1] if len(rest) == 2 else self.constant(None)
        else:
            raise NoRow("a key that is not there")

    def call_of_new_dict(self, name, made, rest):
        items = made.items
        if name in ("items", "keys", "values"):
            self.pending = View(name, lambda: self.view_of(name, items))
        elif name == "__len__":
            self.pending = self.constant(len(items))
        elif not rest:
            raise NoRow(f"a call of dict.{name} with other arguments")
        elif name == "__setitem__":
            key = self.key(rest[0])
            if len(rest) != 2 or not is_object(rest[1]):
                raise NoRow("an iterator that is stored")
            if self.has_views():
                raise NoRow("a dict that is changed while it may be iterated over")
            before = dict(items)
            self.undo.append(lambda: (items.clear(), items.update(before)))
            items[key] = rest[1]
            self.stores.append((made.register, key, rest[1]))
            self.pending = self.constant(None)
        else:
            key = self.key(rest[0])
            if name == "__getitem__" and key not in items:
                raise NoRow("a key that is not there")
            if name == "__contains__":
                self.pending = self.constant(key in items)
            else:
                self.pending = items.get(key, rest[1] if len(rest) == 2 else self.constant(None))

    def call_of_list(self, name, arguments, names):
        """Changes a list that the plan makes, and has not made yet."""
        made, *rest = arguments
        if type(made) is Value and type(made.object) is list:
            self.call_of_there(name, arguments, names)
            return
        if names or type(made) is not Fresh or made.kind is not list or made.register is not None:
            raise NoRow(f"a call of list.{name}")
        items = made.items
        if name in ("count", "index"):
            if len(rest) != 1 or not isinstance(rest[0], Value) or isinstance(rest[0], Fresh):
                raise NoRow(f"a call of list.{name} with other arguments")
            for value in (rest[0], *items):
                self.constant_of_set(value)
            given = [[value.object for value in items], rest[0].object]
            self.pending = self.constant(self.result_of(list.__dict__[name], given, ()))
            return

        def change(now):
            self.change_list(made, now, f"a call of list.{name}")

        if name == "extend" and len(rest) == 1:

            def end():
                self.pending = self.constant(None)

            self.each_of(rest[0], lambda item: self.add_to_made(made, item), end)
            return
        places = rest[:1] if name in ("insert", "pop") else []
        if any(not self.is_number(place) or type(place.object) is not int for place in places):
            raise NoRow(f"a call of list.{name}")
        for place in places:
            self.pin(place)
        self.pending = self.constant(None)
        if name == "insert" and len(rest) == 2:
            now = list(items)
            now.insert(rest[0].object, rest[1])
            change(now)
        elif name == "pop" and len(rest) <= 1:
            now = list(items)
            place = rest[0].object if rest else -1
            if not -len(now) <= place < len(now):
                raise NoRow("an element that is not there")
            self.pending = now.pop(place)
            change(now)
        elif name in ("reverse", "clear") and not rest:
            change(items[::-1] if name == "reverse" else [])
        elif name == "copy" and not rest:
            self.pending = Fresh(list, list(items))
        elif name == "sort" and not rest:
            change(self.in_order(items, "a list.sort"))
        elif name == "remove" and len(rest) == 1 and isinstance(rest[0], Value) and not isinstance(rest[0], Fresh):
            for value in (rest[0], *items):
                self.constant_of_set(value)
            objects = [value.object for value in items]
            if rest[0].object not in objects:
                raise NoRow("an element that is not there")
            place = objects.index(rest[0].object)
            change([*items[:place], *items[place + 1 :]])
        else:
            raise NoRow(f"a call of list.{name}")

    def add_to_made(self, made, value):
        """Appends to a list that the plan makes, and has not made yet."""
        if made.register is not None:
            raise NoRow("a list that is made longer")
        if not is_object(value) or self.holds(value, made):
            raise NoRow("a call of list.append")
        made.items.append(value)
        self.undo.append(made.items.pop)

    def change_list(self, made, now, what):
        """Gives a list that the plan makes, and has not made yet, these elements."""
        if type(made) is not Fresh or made.kind is not list or made.register is not None:
            raise NoRow(what)
        if any(self.holds(value, made) or not is_object(value) for value in now):
            raise NoRow(what)
        items, before = made.items, list(made.items)
        self.undo.append(lambda: items.__setitem__(slice(None), before))
        items[:] = now

    def change_part_of_list(self, made, index, parts, what):
        """Sets the elements of a slice, or deletes an element or those of a slice (`parts` is None)."""
        if self.is_number(index):
            self.pin(index)
        elif not self.is_slice(index) or not index.fixed:
            raise NoRow(what)
        if type(index.object) not in (int, slice):
            raise NoRow(what)
        now = list(made.items)
        try:
            if parts is None:
                del now[index.object]
            else:
                now[index.object] = parts
        except (IndexError, ValueError) as error:  # no such element, or not as many as the slice has
            _frames.raise_of_handler(error)
            raise NoRow(what) from None
        self.change_list(made, now, what)

    def in_order(self, items, what):
        """The elements in order, if they are constants."""
        for item in items:
            self.constant_of_set(item)
        kinds = {type(item.object) for item in items}
        if kinds - {int, bool} and kinds != {str}:
            raise NoRow(f"{what} of other than ints or texts")
        return sorted(items, key=lambda item: item.object)

    def contains_object(self, items, value):
        """Whether one of the elements is, or equals, an object that compares without code of the program's; checked."""
        for item in (value, *items):
            if not self.has_plain_equality(item):
                raise NoRow("a search in a container")
            self.fix(item)
        return any(item.object is value.object or item.object == value.object for item in items)

    def is_missing(self, container, value):
        """Checks that a dict of names does not have one, whatever else it has; False."""
        if self.stored_item(self.register(container), value.object) is not None:
            raise NoRow("a search in a dict that is changed")
        self.typed(container)
        inputs = [self.register(container), self.register(value)]
        register = self.emit("Call", self.register(self.constant(dict.__contains__)), inputs=inputs)
        self.see(register, False)
        self.check("CheckIs", register, object=False)
        return False

    def known(self, value):
        """Checks a number, text or the like to be what it is."""
        if type(value.object) not in COMPARED:
            self.pin(value)
        elif not value.fixed:
            self.check("CheckConst", self.register(value), object=value.object)
            value.fixed = True

    def call_keywords(self, callee, arguments, names):
        """A method of the keyword arguments of a function."""
        if callee.object is dict.get and arguments and isinstance(arguments[0], Value) and not names:
            self.call_dict_get(*arguments)
            return
        is_view = callee.object.__name__ not in ("clear", "popitem", "update")
        if not names and len(arguments) == 1 and isinstance(arguments[0], Value) and is_view:
            self.call_view(callee.object.__name__, *arguments)
            return
        if arguments and type(arguments[0]) is Value and type(arguments[0].object) is dict:
            self.change_dict(callee.object.__name__, arguments, names)
            return
        if names or not arguments or not isinstance(arguments[0], Keywords):
            raise NoRow(f"a call of dict.{callee.object.__name__}")
        made, *rest = arguments
        name, items = callee.object.__name__, made.items
        if name == "pop" and len(rest) == 1 and self.key(rest[0], (str, int)) not in items:
            self.raises(KeyError, "a key that is not there", Raised(KeyError, rest))
            return
        if name in ("get", "pop", "setdefault") and 1 <= len(rest) <= 2 and is_object(rest[-1]):
            key = self.key_of(rest[0])
            found = items.get(key, rest[1] if len(rest) == 2 else self.constant(None))
            if name == "pop":
                self.changes(made)
                items.pop(key, None)
            elif name == "setdefault" and key not in items:
                if self.holds(found, made):
                    raise NoRow("a dict in itself")
                self.changes(made)
                items[key] = found
            self.pending = found
        elif name == "update" and len(rest) == 1:
            more = self.keywords_of(rest[0], names_only=False)
            if any(self.holds(value, made) for value in more.values()):
                raise NoRow("a dict in itself")
            self.changes(made)
            items.update(more)
            self.pending = self.constant(None)
        elif name in ("clear", "popitem") and not rest:
            self.changes(made)
            self.pending = self.constant(None)
            if name == "clear":
                items.clear()
            elif items:
                key, value = items.popitem()
                self.pending = Fresh(tuple, [self.constant(key), value])
            else:
                self.raises(KeyError, "a key that is not there", Raised(KeyError))
        elif name == "copy" and not rest:
            self.pending = Keywords(dict(items))
        elif name in ("items", "keys", "values") and not rest:
            self.pending = View(name, lambda: self.view_of(name, items))
        else:
            raise NoRow(f"a call of dict.{name}")

    def view_of(self, name, items):
        if name == "items":
            return [Fresh(tuple, [self.constant(key), value]) for key, value in items.items()]
        return [self.constant(key) for key in items] if name == "keys" else list(items.values())

    def call_view(self, name, owner):
        """The keys, values or items of a dict that is there, to be iterated over at once."""
        if name == "copy" and type(owner.object) is dict:
            self.pending = Keywords(dict(self.keywords_of(owner)))
            return
        if isinstance(owner, Fresh) or name not in ("items", "keys", "values"):
            raise NoRow(f"a call of dict.{name}")
        if type(owner.object) is DEFAULTDICT:
            self.elements_of(owner)
            self.pending = View(name, lambda: self.view_of(name, self.elements_of(owner)))
        elif type(owner.object) is dict:
            self.keywords_of(owner)
            self.pending = View(name, lambda: self.view_of(name, self.keywords_of(owner)))
        elif name == "copy":
            raise NoRow("a call of dict.copy")
        elif type(owner.object) is OrderedDict and not owner.object:
            self.sized(owner)
            self.pending = View(name, list)
        else:
            raise NoRow(f"a call of dict.{name}")

    def change_dict(self, name, arguments, names):
        """A method that changes a dict that is there when the plan begins."""
        owner, *rest = arguments
        given = dict(zip(names, rest[len(rest) - len(names) :], strict=True)) if names else {}
        rest = rest[: len(rest) - len(names)]
        if name == "update" and len(rest) <= 1:
            more = {**(self.keywords_of(rest[0]) if rest else {}), **given}
            for key, value in more.items():
                self.store_item(self.register(self.typed(owner)), owner.object, key, value)
            self.pending = self.constant(None)
            return
        if name in ("clear", "popitem") and not rest and not given:
            self.take_from_dict(owner, name)
            return
        if given or name not in ("pop", "setdefault") or not 1 <= len(rest) <= 2 or not is_object(rest[-1]):
            raise NoRow(f"a call of dict.{name}")
        key = self.key(rest[0])
        if self.contains(owner, rest[0]):
            self.element(owner, rest[0])
            if name == "pop":
                self.delete_item(owner, key)
        elif name == "setdefault":
            value = rest[1] if len(rest) == 2 else self.constant(None)
            self.store_item(self.register(owner), owner.object, key, value)
            self.pending = value
        elif len(rest) == 2:
            self.pending = rest[1]
        else:
            self.raises(KeyError, "a key that is not there", Raised(KeyError, [rest[0]]))

    def has_grown(self, value):
        """Whether the plan sets or deletes elements of a dict, other than those that it had in their places."""
        if not self.grown or type(value) is not Value:
            return False
        register = self.register(value)
        return any(self.is_same_container(register, *each) for each in self.grown.items())

    def take_from_dict(self, owner, name):
        """`clear` and `popitem` of a dict that is there."""
        elements = self.elements_of(owner)
        if name == "popitem" and not elements:
            self.raises(KeyError, "a key that is not there", Raised(KeyError))
            return
        self.pending = self.constant(None)
        for key in list(elements)[::-1][: 1 if name == "popitem" else None]:
            self.delete(self.register(owner), owner.object, key)
            if name == "popitem":
                self.pending = Fresh(tuple, [self.constant(key), elements[key]])

    def call_dict(self, callee, arguments, names):
        """A dict of names, which the plan makes."""
        count = len(arguments) - len(names)
        if count > 1:
            raise NoRow("a dict of other arguments")
        self.identical(callee)
        given = arguments[0] if count else Keywords({})
        if type(given) is Pairs:
            items = dict(map(self.pair_of, given.take_all()))
        else:
            items = dict(self.keywords_of(given, names_only=False))
        items.update(zip(names, arguments[count:], strict=True))
        if not all(map(is_object, items.values())):
            raise NoRow("a container of iterators")
        self.pending = Keywords(items)

    def pair_of(self, value):
        """The key and the value of an element that a dict is made of."""
        if not isinstance(value, Fresh) or len(value.items) != 2:
            raise NoRow("a dict of other than pairs")
        key, item = value.items
        return self.key(key, (str, int)), item

    def call_set(self, callee, arguments, names):
        """A set of constants, which the plan needs for searches only."""
        if names or len(arguments) > 1:
            raise NoRow("a set of other arguments")
        self.identical(callee)

        def finish(items):
            for item in items:
                self.constant_of_set(item)
            self.pending = NewSet(list(items))

        if arguments:
            self.all_of(arguments[0], finish)
        else:
            finish([])

    def call_of_set(self, callee, arguments, names):
        """Changes a set that the plan makes, so that no plan ends while there is one."""
        name = callee.object.__name__
        if names or len(arguments) != 2 or not isinstance(arguments[0], NewSet) or name not in METHODS_OF_SETS:
            raise NoRow(f"a call of set.{name}")
        self.identical(callee)
        made, value = arguments

        def finish(items):
            for item in items:
                self.constant_of_set(item)
            made.items += items
            self.pending = self.constant(None)

        if name == "update":
            self.all_of(value, finish)
        elif name == "add":
            finish([value])
        else:
            self.constant_of_set(value)
            left = [item for item in made.items if item.object != value.object]
            if name == "remove" and len(left) == len(made.items):
                self.raises(KeyError, "an element that is not there", Raised(KeyError, [value]))
                return
            made.items[:] = left
            self.pending = self.constant(None)

    def call_dict_get(self, owner, *rest):
        if isinstance(owner, Fresh) or type(owner.object) is not dict or not 1 <= len(rest) <= 2:
            raise NoRow("a call of dict.get")
        if self.contains(owner, rest[0]):
            self.element(owner, rest[0])
        else:
            self.pending = rest[1] if len(rest) == 2 else self.constant(None)

    def UNPACK_SEQUENCE(self, view, frame, argument):
        def finish(items):
            if len(items) != argument:
                raise NoRow("a wrong number of parts")
            frame.stack += reversed(items)

        value = frame.stack.pop()
        if isinstance(value, (Generator, Zipped, Pairs, View, Range)):
            self.all_of(value, finish)
        else:
            finish(self.parts_of(value))

    def UNPACK_EX(self, view, frame, argument):
        items = self.parts_of(frame.stack.pop())
        before, after = argument & 255, argument >> 8
        if len(items) < before + after:
            raise NoRow("a wrong number of parts")
        end = len(items) - after
        frame.stack += reversed([*items[:before], Fresh(list, items[before:end]), *items[end:]])

    def parts_of(self, sequence):
        if isinstance(sequence, Fresh):
            return sequence.items
        if isinstance(sequence, Value) and (type(sequence.object) in (*SEQUENCES, DEQUE) or has_names(sequence.object)):
            return self.items_of(sequence)
        if self.is_tensor(sequence):
            return self.rows_of(sequence)
        raise NoRow("the parts of an object")

    # ---- Iteration

    def GET_ITER(self, view, frame, argument):
        value = frame.stack.pop()
        if isinstance(value, (Generator, Zipped, Pairs)):
            frame.stack.append(value)
            return
        if self.makes_generator(value):
            return
        if type(value) is Value and type(value.object) in CHANGED and self.changed(value) is None:
            self.not_growing(len(value.object))
        is_view = isinstance(value, View)
        frame.stack.append(
            ViewIterator(value) if is_view else self.begins(Iterator(self.iterated(value), self.sources_of(value)))
        )

    def not_growing(self, length):
        """Requires that a loop that is to be unrolled, or what it goes over, does not grow from recording to recording."""
        if self.options.is_simple and self.options.grows(self.number, *self.here, length):
            raise NoRow("a loop that grows from call to call")

    def makes_generator(self, value):
        """Whether an iteration over it calls an `__iter__` in Python that is a generator, which is what comes next."""
        function = self.special_method(value, "__iter__") if type(value) in (Value, NewObject) else None
        if function is None or function.object.__code__.co_flags & SUSPENDS != inspect.CO_GENERATOR:
            return False
        self.generator_of(function, [value], ())
        return True

    def column_of(self, value):
        """The iterator or generator that a `zip` takes values of."""
        if self.makes_generator(value):
            value, self.pending = self.pending, None
        return (
            value
            if isinstance(value, (Generator, Zipped, Pairs))
            else self.begins(Iterator(self.iterated(value), self.sources_of(value)))
        )

    def next_of(self, zipped, take, end):
        """Calls `take` with the next row of a `zip`, whose generators run one after another; `end` if there is none."""
        row = []
        if isinstance(zipped, Accumulated) and zipped.first is not None:
            zipped.total, zipped.first = zipped.first, None
            take(zipped.total)
            return

        def go_on():
            while len(row) < len(zipped.columns):
                column = zipped.columns[len(row)]
                if isinstance(column, Generator):
                    self.run_generator(column, add, end)
                    return
                if isinstance(column, Zipped):
                    self.next_of(column, add, end)
                    return
                if column.at >= len(column.items):
                    if isinstance(column, Count):
                        raise NoRow("a long iteration")
                    self.has_seen_all(column)
                    self.ends(zipped)
                    zipped.has_ended = True
                    if isinstance(column, Pairs):
                        column.has_ended = True
                    end()
                    return
                row.append(column.items[column.at])
                column.at += 1
            if isinstance(zipped, Mapped):
                self.call_with_row(zipped, row, take)
            elif isinstance(zipped, Accumulated):
                self.add_to_total(zipped, row[0], take)
            else:
                take(Fresh(tuple, row))

        def add(value):
            if not is_object(value):
                raise NoRow("a zip of what is not known yet")
            row.append(value)
            go_on()
            return False

        go_on()

    def call_accumulate(self, callee, arguments, names):
        """An itertools.accumulate, which a loop unrolls."""
        count = len(arguments) - len(names)
        given = dict(zip(("iterable", "func"), arguments[:count], strict=False))
        given.update(zip(names, arguments[count:], strict=True))
        if count > 2 or "iterable" not in given or not given.keys() <= {"iterable", "func", "initial"}:
            raise NoRow("an itertools.accumulate of other arguments")
        self.identical(callee)
        function, first = given.get("func", NULL), given.get("initial", NULL)
        if function is NULL or getattr(function, "object", function) is None:
            function = self.constant(operator.add)
        if first is not NULL and (not is_object(first) or self.is_none(first)):
            first = NULL
        value = given["iterable"]
        if isinstance(value, Fresh):
            self.register(value)  # from now on it does not grow
        self.pending = Accumulated(function, self.column_of(value), first)
        self.over_views += [self.pending] * self.is_over_views([value])

    def add_to_total(self, made, value, take):
        """Calls `take` with what an accumulate yields next."""
        if made.total is NULL:
            made.total = value
            take(value)
            return
        total = made.total if is_object(made.total) else self.values.get(made.total)
        if total is None:
            raise NoRow("an accumulate of what is not known yet")

        def see(result):
            if result in self.written:
                result = self.values[self.written[result]]  # the same object
            elif not is_object(result) and result in self.effects:
                raise NoRow("an accumulate by what does more than compute")
            elif not is_object(result):
                found = self.result_of(made.function.object, [total.object, value.object], ())
                self.see(result, found)  # one like it: the instruction may make more of it
                self.typed(self.values[result])
            made.total = result
            take(result)

        self.call_with_row(Mapped(made.function, []), [total, value], see)

    def call_map(self, callee, arguments, names):
        if len(arguments) < 2 or names:
            raise NoRow("a map of other arguments")
        self.identical(callee)
        function, *columns = arguments
        for value in columns:
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not grow
        self.pending = Mapped(function, [self.column_of(value) for value in columns])
        self.over_views += [self.pending] * self.is_over_views(columns)

    def call_with_row(self, mapped, row, take):
        """Calls `take` with what a `map` computes next."""
        self.pending = None
        self.call_of(self.view, self.frames[-1], mapped.function, row, ())
        frame = self.entering
        if frame is None:
            take(self.pending)
            return
        if frame.finish is not None or frame.result is not None or frame.drops or frame.generator is not None:
            raise NoRow("a map of other than a function")

        def finish(value):
            self.pending = None
            take(value)
            return self.pending

        frame.finish = finish

    def iterated(self, value):
        """The elements that an iteration over it yields."""
        if isinstance(value, Fresh):
            items = value.items  # of a list, which may grow meanwhile
        elif isinstance(value, Pairs):
            items = value.take_all()
        elif isinstance(value, (Range, Modules)):
            items = value.items
        elif isinstance(value, View):
            items = value.make()
        elif isinstance(value, Keywords):
            items = self.view_of("keys", value.items)
        elif isinstance(value, Value) and type(value.object) is dict:
            items = self.view_of("keys", self.keywords_of(value))
        elif type(value) is Value and type(value.object) is DEQUE:
            items = list(self.items_of(value))  # of which an iteration sees no changes: it raises
        elif isinstance(value, Value) and not isinstance(value, Fresh) and type(value.object) in SEQUENCES:
            items = self.items_of(value)
        elif self.is_tensor(value):
            items = self.rows_of(value)
        elif type(value) is Value and type(value.object) is str and len(value.object) <= MAX_ROWS:
            self.pin(value)
            items = [self.constant(each) for each in value.object]
        elif isinstance(value, Value) and issubclass(type(value.object), tuple(CONTAINERS)):
            items = self.submodules(value)
        else:
            raise NoRow("an iteration")
        return items

    def rows_of(self, value):
        """The elements that an iteration over a tensor yields, whose number is checked."""
        self.typed(value)
        if value.object.dim() == 0 or value.object.shape[0] > 64:
            raise NoRow("an iteration over a tensor of many rows, or none")
        function = torch.Tensor.unbind
        inputs = [self.register(value), self.register(self.constant(0))]
        register = self.compute(
            "Call", self.register(self.constant(function)), inputs=inputs, owned=self.is_owned(value)
        )
        rows = function(value.object, 0)
        self.see(register, rows)
        self.num_calls += 1
        self.check("CheckSize", register, len(rows))
        items = [self.typed(self.item(self.values[register], place)) for place in range(len(rows))]
        self.unseen.update(item.register for item in items)  # this run makes others
        return items

    def sources_of(self, value):
        """Registers of the lists and dicts that an iteration over it reads, which the plan may make longer meanwhile."""
        if isinstance(value, (Range, Pairs, Modules)):
            return value.sources
        if not isinstance(value, Value) or isinstance(value, Fresh):
            return ()
        if type(value.object) is list and self.changed(value) is not None:
            return ()  # it sees what becomes of the list
        if type(value.object) in (dict, *CHANGED):
            return (self.register(value),)
        if issubclass(type(value.object), torch.nn.Module):
            members = value.object.__dict__["_modules"]
            return (self.dict_item(self.instance_dict(value), "_modules", members).register,)
        return ()

    def submodules(self, owner):
        found = self.class_attribute(owner, "__iter__")
        if type(found) is not types.FunctionType or found not in ITERATIONS:
            raise NoRow("a module's own iteration")
        self.has_code(found, ITERATIONS[found])
        self.lacks(owner, "__iter__")
        members = owner.object.__dict__["_modules"]
        if type(members) is not dict:
            raise NoRow("a module with members of its own kind")
        register = self.dict_item(self.instance_dict(owner), "_modules", members).register
        self.whole(register)
        self.check("CheckKeys", register, object=tuple(members))
        if issubclass(type(owner.object), torch.nn.ModuleDict):
            return [self.constant(key) for key in members]
        return [self.dict_item(register, key, member) for key, member in members.items()]

    def members_of(self, owner, names):
        """The `_modules` of a container, and the register that has them; its methods of these names are torch's own."""
        base = next((kind for kind in CONTAINERS if issubclass(type(owner.object), kind)), None)
        for name in names:
            known = CONTAINERS[base].get(name)
            if known is None:
                continue
            if self.class_attribute(owner, name) is not known[0]:
                raise NoRow(f"a module with a {name} of its own")
            self.has_code(*known)
            self.lacks(owner, name)
            if name in owner.object.__dict__:
                raise NoRow(f"a module with a {name} of its own")
        members = owner.object.__dict__["_modules"]
        if type(members) is not dict:
            raise NoRow("a module with members of its own kind")
        register = self.dict_item(self.instance_dict(owner), "_modules", members).register
        self.whole(register)
        return members, register

    def member(self, owner, index):
        names = ("__getitem__", "__len__", "_get_item_by_idx", "_get_abs_string_index")
        members, register = self.members_of(owner, names)
        if type(index.object) is slice:
            self.part_of_modules(owner, index, members, register)
            return
        self.pin(index)
        key = index.object
        if not issubclass(type(owner.object), torch.nn.ModuleDict):
            if type(key) is not int or not -len(members) <= key < len(members):
                raise NoRow("a module that is not there")
            self.check("CheckKeys", register, object=tuple(members))
            key = list(members)[key]
            if key != str(index.object % len(members)):
                raise NoRow("a module by a number that is not its name")
        if key not in members:
            raise NoRow("a module that is not there")
        self.pending = self.dict_item(register, key, members[key])

    def part_of_modules(self, owner, index, members, register):
        """A container of some of the modules, of which nothing but an iteration is known."""
        if type(owner.object) not in (torch.nn.ModuleList, torch.nn.Sequential):
            raise NoRow("a part of a container of a class of its own")
        self.members_of(owner, ("__init__",))
        self.has_code(*MODULE_INIT)
        self.no_global_hooks()
        if not index.fixed:
            self.check("CheckConst", self.register(index), object=index.object)
        self.check("CheckKeys", register, object=tuple(members))
        items = [self.dict_item(register, key, member) for key, member in members.items()]

        def make():
            inputs = [self.register(owner), self.register(index)]
            return self.emit("Call", self.register(self.constant(operator.getitem)), inputs=inputs)

        self.pending = part = Modules(items[index.object], (register,), make)
        self.transformed = lambda made: setattr(part, "made", made)

    def FOR_ITER(self, view, frame, argument):
        iterator = frame.stack[-1]
        if isinstance(iterator, Generator):
            self.may_stop(iterator)
            self.run_generator(iterator, self.take_one, frame.stack.pop)
            return
        if isinstance(iterator, Zipped):
            self.may_stop(iterator)
            self.next_of(iterator, self.take_one, frame.stack.pop)
            return
        if not isinstance(iterator, Iterator):
            raise NoRow("an iteration that began before")
        if iterator.at < len(iterator.items):
            frame.stack.append(iterator.items[iterator.at])
            iterator.at += 1
        else:
            self.has_seen_all(iterator)
            self.ends(iterator)
            if isinstance(iterator, Pairs):
                iterator.has_ended = True
            frame.stack.pop()

    def has_seen_all(self, iterator):
        """At the end of an iteration: what it goes over is what it was at its beginning. (A deque has refused to change.)"""
        for register in iterator.sources:
            if type(getattr(self.values.get(register), "object", None)) is not DEQUE:
                self.whole(register)

    # ---- Generators

    def generator_of(self, function, arguments, names):
        """A call that makes a generator, whose frame has not begun."""
        code = self.code_of(function)
        if not isinstance(function, NewFunction):
            self.check("CheckCode", self.register(function), object=code)
        frame = FrameShadow(code, function)
        self.bind(frame, function, arguments, names)
        for made in itertools.takewhile(lambda each: each.opname != "RETURN_GENERATOR", dis.get_instructions(code)):
            if made.opname == "MAKE_CELL":
                frame.cells[made.arg] = Cell(frame.variables.pop(made.arg, NULL))
        frame.stack.append(self.constant(None))  # what the first value is asked for with
        self.pending = frame.generator = Generator(frame)

    def run_generator(self, generator, take, end):
        """The instruction asks a generator for values, until `take` says that it needs no more."""
        if generator.has_ended:
            end()
            return
        if len(self.frames) >= MAX_DEPTH or any(frame is generator.frame for frame in self.frames):
            raise NoRow("calls that are nested deeply")
        generator.take, generator.end = take, end
        self.entering = generator.frame

    def take_one(self, value):
        self.pending = value
        return False

    def may_stop(self, value):
        """Requires that nothing runs if a generator, with those that it runs, ends before its last value."""
        if isinstance(value, Generator):
            function = value.frame.function
            if has_handlers(
                value.frame.code, function.object.__globals__ if type(function) is Value else value.frame.code.co_names
            ):
                raise NoRow("a generator with a try or with statement")
            for held in (*value.frame.variables.values(), *value.frame.stack):
                self.may_stop(held)
        elif isinstance(value, Zipped):
            for column in value.columns:
                self.may_stop(column)

    def YIELD_VALUE(self, view, frame, argument):
        generator, value = frame.generator, frame.stack.pop()
        if generator is None or not is_object(value):
            raise NoRow("a generator")
        frame.stack.append(self.constant(None))  # what the next value is asked for with
        self.frames.pop()
        self.has_returned = True
        if generator.take(value):
            self.entering = frame

    def all_of(self, value, finish, may_be_unseen=False):
        """Calls `finish` with the list of what an iteration over the value yields, now or when a generator ends.
        `may_be_unseen`: among these may be registers of calls whose results are in what the instruction makes."""
        items = []

        def take(item):
            items.append(item)
            return True

        if isinstance(value, Generator):
            self.run_generator(value, take, lambda: finish(items))
        elif isinstance(value, Zipped):
            self.take_rows(value, items, finish, may_be_unseen)
        else:
            finish(list(self.iterated(value)))

    def each_of(self, value, add, finish):
        """Calls `add` with each value that an iteration yields, before the next one is asked for, and `finish` at its end."""
        count = itertools.count()

        def take(item):
            if not is_object(item) or next(count) >= MAX_STEPS:
                raise NoRow("an iteration that is long, or over what is not known yet")
            add(item)
            return True

        def go_on():
            self.next_of(value, lambda item: take(item) and go_on(), finish)

        if isinstance(value, Generator):
            self.run_generator(value, take, finish)
        elif isinstance(value, Zipped):
            go_on()
        else:
            for item in list(self.iterated(value)):
                take(item)
            finish()

    def take_rows(self, zipped, items, finish, may_be_unseen):
        def take(item):
            if (not is_object(item) and not may_be_unseen) or len(items) >= MAX_ROWS:
                raise NoRow("an iteration that is long, or over what is not known yet")
            items.append(item)
            self.take_rows(zipped, items, finish, may_be_unseen)

        self.next_of(zipped, take, lambda: finish(items))

    def call_any_or_all(self, callee, arguments, names):
        if len(arguments) != 1 or names:
            raise NoRow(f"a call of {callee.object.__name__} with other arguments")
        self.identical(callee)
        (value,) = arguments
        stop = callee.object is any  # the truth of a value that ends it

        def take(item):
            if self.pin(item) is stop:
                self.pending = self.constant(stop)
                return False
            return True

        def end():
            self.pending = self.constant(not stop)

        if isinstance(value, Generator):
            self.may_stop(value)
            self.run_generator(value, take, end)
        elif all(map(take, self.iterated(value))):
            end()

    def call_over(self, callee, arguments, names):
        """A list, tuple or sum of what an iteration yields; the largest or smallest number."""
        function, rest = callee.object, arguments[1:]
        if names or len(rest) > (function is sum) or not arguments:
            raise NoRow(f"a call of {function.__name__} with other arguments")
        self.identical(callee)
        kind = getattr(arguments[0], "kind", type(getattr(arguments[0], "object", None)))
        if function is tuple and kind is tuple:
            self.typed(arguments[0])
            self.pending = arguments[0]  # the same object
            return

        def finish(items):
            if function in (list, tuple) and all(map(is_object, items)):
                self.pending = Fresh(function, items)
            elif function in (list, tuple):
                self.transformed = lambda made: self.see_elements(function, made, items)
                self.pending = Fresh(function, [])
            elif function is sum:
                self.pending = self.sum_of(items, rest[0] if rest else self.constant(0))
            elif len(items) > 1:
                self.call_functional(callee, items, ())
            else:
                raise NoRow(f"a {function.__name__} of fewer than two numbers")

        self.all_of(arguments[0], finish, may_be_unseen=function in (list, tuple))

    def see_elements(self, kind, made, items):
        """A list or tuple that the instruction has made, of which some elements are registers of calls."""
        if type(made) is not kind or len(made) != len(items):
            raise NoRow("a list of other elements")
        for place, item in enumerate(items):
            if item in self.written:
                items[place] = self.values[self.written[item]]  # the same object
            elif not is_object(item):
                if type(made[place]) not in (*TENSORS, *PLAIN):
                    raise NoRow(f"a result of class {type(made[place]).__name__}")
                self.see(item, made[place])
                items[place] = self.typed(self.values[item])
        return Fresh(kind, items)

    def sum_of(self, items, total):
        numbers = list(itertools.takewhile(self.is_number, [total, *items]))[1:]
        if sys.version_info >= (3, 12) and any(type(value.object) is float for value in (total, *numbers)):
            # Numbers before the first tensor are added with one rounding.
            for value in (total, *numbers):
                self.typed(value)
            inputs = [self.register(Fresh(list, numbers)), self.register(total)]
            register = self.emit("Call", self.register(self.constant(sum)), inputs=inputs)
            found = sum([value.object for value in numbers], total.object)
            total = self.values[register] = Value(register, found)
            self.typed(total)
            items = items[len(numbers) :]
        for item in items:
            self.operands(total, item)
            register = self.compute("Binary", self.register(total), 0, inputs=[self.register(item)], owned=True)
            total = self.values[register] = Value(register, total.object + item.object)
            self.typed(total)
        return total
