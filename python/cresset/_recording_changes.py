"""Rows of frame capture for lists and deques that are there when the plan begins and that it changes. Part of `_recording.py`.

Until the plan's end, which changes them, the recorder knows what they have by now (`Elements`). What is done at their ends
needs no look at what is between these: a queue may have any length. What looks at more checks how many elements there are.
"""

import collections

from . import _frames
from ._recording_values import (
    DEQUE,
    MAX_WHOLE,
    TENSORS,
    Elements,
    Fresh,
    Iterator,
    Modules,
    NoRow,
    Raised,
    Value,
    is_watched,
    is_whole,
    owns_nothing,
)

CHANGED = (list, DEQUE)
#: What a store of `Elements` has for a key, and one of an element of a list by a number that no check pins.
ENDS, ELEMENT = object(), object()


class Changes:
    """What a recorder does for lists and deques that are there and change."""

    def init_changes(self):
        self.lists = []  # Elements of the lists and deques that have changed
        self.iterations = []  # Iterators over lists and deques; those that have ended have no sources
        self.lost = set()  # identities of dicts that have lost elements
        self.last_elements = {}  # (register of a list, that of a number that no check pins): the element that was set there
        self.set_elements = []  # (register, list) of those of which an element was set that is not known

    def begins(self, iterator):
        """Notes an iteration over what may change."""
        if iterator.sources:
            self.iterations.append(iterator)
        return iterator

    def ends(self, value):
        """An iteration, or a `zip` of such, is over: nothing will ask it for more."""
        if isinstance(value, Iterator) and not isinstance(value, Modules) and not getattr(value, "is_named", False):
            value.sources = ()
        for column in getattr(value, "columns", ()):
            self.ends(column)

    def changed(self, value):
        """What a list or deque has by now, if the plan changes it; otherwise None."""
        if not self.lists or type(value) is not Value or type(value.object) not in CHANGED:
            return None
        register = self.register(value)
        found = (made for made in self.lists if self.is_same_container(register, made.register, made.object))
        return next(found, None)

    def as_it_is(self, value):
        """A value that calls may be given: of a list that the plan changes, one of the elements that it has by now."""
        made = self.changed(value)
        if made is None:
            return value
        if type(made.object) is not list:
            raise NoRow("a container that was changed")
        return Fresh(list, list(self.all_elements(made)))

    def not_changed(self, registers):
        """Requires that none of them holds a list or deque that the plan changes."""
        for register in registers:
            if type(getattr(self.values.get(register), "object", None)) in CHANGED:
                self.whole(register)

    def elements(self, value):
        """What a list or deque has by now, before it is changed."""
        found = self.changed(value)
        if found is not None:
            self.meets_iterations(found)
            return found
        self.typed(value)
        register = self.register(value)
        if any(self.is_same_container(register, *each) for each in self.set_elements):
            raise NoRow("a container that was changed")
        limit = self.limit_of(value).object if type(value.object) is DEQUE else None
        found = Elements(register, value.object, limit)
        self.meets_iterations(found)
        self.lists.append(found)
        return found

    def limit_of(self, value):
        """The `maxlen` of a deque, checked."""
        register = self.emit("GetAttr", self.register(self.typed(value)), object="maxlen", is_before=True)
        found = self.values[register] = Value(register, value.object.maxlen)
        if found.object is None:
            self.check("CheckIs", register, object=None)
            found.fixed = True
        else:
            self.pin(found)
        return found

    def meets_iterations(self, made):
        """Iterations over a list that have begun see what becomes of it."""
        for iterator in self.iterations:
            for source in iterator.sources:
                if not self.is_same_container(source, made.register, made.object):
                    continue
                if type(iterator) is not Iterator or type(made.object) is not list:
                    raise NoRow("a container that is changed while it may be iterated over")
                iterator.items, iterator.sources = self.all_elements(made), ()

    def all_elements(self, made):
        """The list of all elements, which changes with it."""
        if made.items is None:
            if len(made.objects) > MAX_WHOLE:
                raise NoRow("a long list that is changed")
            self.check("CheckSize", made.register, len(made.objects))
            first, last = len(made.first), len(made.objects) - len(made.last)
            rest = [self.element_before(made, place) for place in range(first, last)]
            made.before = [*made.first, *rest, *made.last]
            made.items = [*made.front, *rest, *made.back]
        return made.items

    def element_before(self, made, place):
        """What was at a place when the plan began."""
        value = Value(self.emit("Item", made.register, place), made.objects[place])
        self.values[value.register] = value
        return value

    def will_change(self, made, values=()):
        """Before a change, which an end of the plan before it takes back. `values`: what comes in."""
        if not all(map(is_whole, values)):
            raise NoRow("an iterator that is stored")
        self.before_effect()
        self.undo.append(made.restorer())
        self.grown[made.register] = made.object
        if not any(value is made for *_, value in self.stores):
            self.stores.append((made.register, ENDS, made))

    def lets_go_of(self, value):
        """Before the list no longer has an element that it had when the plan began."""
        if type(value) is Value and value.register is not None:
            if is_watched(value.object):
                raise NoRow("an object that is replaced, whose freeing may be noticed")
            self.has_let_go = self.has_let_go or not owns_nothing(value.object)

    def number_of(self, made):
        """How many elements there are by now."""
        if made.items is not None:
            return self.constant(len(made.items))
        known = "length", made.register
        if known not in self.checked:
            callee = self.register(self.constant(len))
            register = self.emit("Call", callee, inputs=[made.register], is_before=True)
            self.checked[known] = self.values[register] = Value(register, len(made.objects), typed=True)
        more = len(made.front) + len(made.back) - len(made.first) - len(made.last)
        if more == 0:
            return self.checked[known]
        register = self.emit("Binary", self.checked[known].register, 0, inputs=[self.register(self.constant(more))])
        self.values[register] = Value(register, len(made.objects) + more, typed=True)
        return self.values[register]

    def has_elements(self, made):
        """Whether there are elements, checked."""
        if made.items is None and (made.front or made.back):
            return True
        return bool(self.all_elements(made))

    def element_of_changed(self, made, place):
        """The element at a place; None if there is none."""
        if made.items is None:
            if 0 <= place < len(made.front):
                return made.front[place]
            if place < 0 and -place <= len(made.back):
                return made.back[place]
            num_rest = len(made.objects) - len(made.first) - len(made.last)
            if 0 <= place < len(made.front) + num_rest and not made.last:
                return self.element_before(made, place - len(made.front) + len(made.first))
            if place < 0 and -place <= len(made.back) + num_rest and not made.first:
                return self.element_before(made, place + len(made.back) - len(made.last))
        items = self.all_elements(made)
        return items[place] if -len(items) <= place < len(items) else None

    # ---- Changes

    def append_item(self, owner, value):
        """Appends to a list or deque."""
        self.add_at_end(self.elements(owner), value)

    def add_at_end(self, made, value, is_first=False):
        if made.limit is not None and self.is_full(made):
            if made.limit == 0:
                raise NoRow("a deque without elements")
            self.take_from_end(made, not is_first)
        self.will_change(made, [value])
        if made.items is not None:
            made.items.insert(0 if is_first else len(made.items), value)
        elif is_first:
            made.front.insert(0, value)
        else:
            made.back.append(value)

    def is_full(self, made):
        """Whether a deque has as many elements as it may have, checked."""
        number = self.number_of(made)
        if number.fixed:
            return number.object == made.limit
        limit = self.register(self.constant(made.limit))
        register = self.emit("Compare", number.register, 2, inputs=[limit])
        found = number.object == made.limit
        self.see(register, found)
        self.check("CheckIs", register, object=found)
        return found

    def take_from_end(self, made, is_first):
        """Takes the first or the last element, and returns it; None if there is none."""
        added, taken = (made.front, made.first) if is_first else (made.back, made.last)
        others = made.last if is_first else made.first
        num_rest = len(made.objects) - len(made.first) - len(made.last)
        if made.items is None and not added and (others or num_rest == 0):
            self.all_elements(made)
        if made.items is not None:
            if not made.items:
                return None
            value = made.items[0 if is_first else -1]
            self.lets_go_of(value)
            self.will_change(made)
            return made.items.pop(0 if is_first else -1)
        if added:
            self.will_change(made)
            return added.pop(0 if is_first else -1)
        value = self.element_before(made, len(taken) if is_first else -1 - len(taken))
        self.lets_go_of(value)
        self.will_change(made)
        taken.insert(len(taken) if is_first else 0, value)
        return value

    def give_elements(self, made, now, what):
        """All elements that there are from now on."""
        now = list(now)
        before = self.all_elements(made)
        for value in before:
            if not any(value is each for each in now):
                self.lets_go_of(value)
        if not all(map(is_whole, now)):
            raise NoRow(what)
        self.will_change(made)
        made.items[:] = now

    def call_of_there(self, name, arguments, names):
        """A method of a list or deque that is there."""
        owner, *rest = arguments
        what = f"a call of {type(owner.object).__name__}.{name}"
        if names or any(value is None for value in rest):
            raise NoRow(what)
        self.pending = self.constant(None)
        if name in ("append", "appendleft") and len(rest) == 1:
            self.add_at_end(self.elements(owner), rest[0], name == "appendleft")
        elif name in ("extend", "extendleft") and len(rest) == 1:
            self.extend_there(self.elements(owner), rest[0], name == "extendleft")
        elif name in ("pop", "popleft") and len(rest) <= (name == "pop" and type(owner.object) is list):
            self.pop_of_there(owner, rest, name, what)
        elif name == "insert" and len(rest) == 2 and type(owner.object) is list:
            place = self.place_in(rest[0], what)
            made = self.elements(owner)
            if place == 0:
                self.add_at_end(made, rest[1], True)
            else:
                now = list(self.all_elements(made))
                now.insert(place, rest[1])
                self.give_elements(made, now, what)
        elif name == "sort" and not rest:
            made = self.elements(owner)
            self.give_elements(made, self.in_order(self.all_elements(made), "a list.sort"), what)
        elif name in ("reverse", "clear") and not rest:
            made = self.elements(owner)
            self.give_elements(made, self.all_elements(made)[::-1] if name == "reverse" else [], what)
        elif name == "rotate" and len(rest) <= 1:
            made = self.elements(owner)
            now = collections.deque(self.all_elements(made))
            now.rotate(self.place_in(rest[0], what) if rest else 1)
            self.give_elements(made, now, what)
        elif name == "copy" and not rest and type(owner.object) is list:
            self.pending = Fresh(list, list(self.items_of(owner)))
        elif name in ("remove", "index", "count") and len(rest) == 1:
            self.search_of_there(owner, name, rest[0], what)
        else:
            raise NoRow(what)

    def place_in(self, value, what):
        """The number that a place is, checked."""
        if not self.is_number(value) or type(value.object) is not int:
            raise NoRow(what)
        self.pin(value)
        return value.object

    def pop_of_there(self, owner, rest, name, what):
        place = self.place_in(rest[0], what) if rest else 0 if name == "popleft" else -1
        made = self.elements(owner)
        if place in (0, -1):
            found = self.take_from_end(made, place == 0)
        else:
            now = list(self.all_elements(made))
            found = now.pop(place) if -len(now) <= place < len(now) else None
            if found is not None:
                self.give_elements(made, now, what)
        if found is None:
            self.raises(IndexError, "an element that is not there")
        else:
            self.pending = found

    def extend_there(self, made, more, is_first=False, finish=None):
        def end():
            self.pending = self.constant(None)
            if finish is not None:
                finish()

        self.each_of(more, lambda item: self.add_at_end(made, item, is_first), end)

    def search_of_there(self, owner, name, value, what):
        """`remove`, `index` or `count` of what compares without code of the program's."""
        made = self.changed(owner) if name != "remove" else self.elements(owner)
        items = self.items_of(owner) if made is None else self.all_elements(made)
        if not isinstance(value, Value) or isinstance(value, Fresh):
            raise NoRow(what)
        for item in (value, *items):
            if not self.has_plain_equality(item):
                raise NoRow(what)
            self.fix(item)
        places = [at for at, item in enumerate(items) if item.object is value.object or item.object == value.object]
        if name == "count":
            self.pending = self.constant(len(places))
        elif not places:
            self.raises(ValueError, what, Raised(ValueError))
        elif name == "index":
            self.pending = self.constant(places[0])
        else:
            self.give_elements(made, [*items[: places[0]], *items[places[0] + 1 :]], what)

    def set_element_there(self, owner, index, value):
        """`l[i] = value`."""
        what = "an assignment to an element"
        if self.is_number(index) and not index.fixed and self.changed(owner) is None:
            self.set_unknown_element(owner, index, value)
            return
        made = self.elements(owner)
        now = list(self.all_elements(made))
        parts = self.parts_of(value) if self.is_slice(index) and self.is_sequence(value) else None
        if self.is_slice(index) and (parts is None or not index.fixed or type(made.object) is not list):
            raise NoRow(what)
        place = index.object if self.is_slice(index) else self.place_in(index, what)
        if parts is None and not -len(now) <= place < len(now):
            raise NoRow("an element that is not there")
        try:
            now[place] = value if parts is None else parts
        except ValueError as error:  # not as many as the slice has
            _frames.raise_of_handler(error)
            raise NoRow(what) from None
        self.give_elements(made, now, what)

    def set_unknown_element(self, owner, index, value):
        """An element of a list by a number that is another one in each run: until the plan's end nothing may look at the list."""
        what = "an assignment to an element"
        if type(owner.object) is not list or type(index.object) is not int or not is_whole(value):
            raise NoRow(what)
        self.typed(owner)
        self.typed(index)
        register = self.register(owner)
        if not -len(owner.object) <= index.object < len(owner.object):
            raise NoRow("an element that is not there")
        if any(
            self.is_same_container(source, register, owner.object)
            for each in self.iterations
            for source in each.sources
        ):
            raise NoRow("a container that is changed while it may be iterated over")
        if any(self.is_same_container(register, *each) for each in self.set_elements):
            raise NoRow("a container that was changed")
        before = self.element_by_number(owner, index)
        self.lets_go_of(before)
        self.before_effect()
        self.grown[register] = owner.object
        self.set_elements.append((register, owner.object))
        self.last_elements[register, index.register] = value
        self.stores.append((register, ELEMENT, Fresh(tuple, [index, value, before])))

    def may_be_any_element(self, owner, index):
        """Whether the plan need not know which element of a list it reads: those that it was given are of one kind."""
        is_known = index.fixed or type(index.object) is not int or not self.options.is_simple
        if is_known or self.changed(owner) is not None or not -len(owner.object) <= index.object < len(owner.object):
            return False
        return type(owner.object[index.object]) in (*TENSORS, int, float)

    def known_element(self, owner, index):
        """An element by such a number."""
        found = self.last_elements.get((self.register(owner), index.register))
        if found is not None:
            return found
        self.whole(owner.register)
        return self.typed(self.element_by_number(owner, index))

    def element_by_number(self, owner, index):
        """An element of a list by a number that is another one in each run."""
        register = self.emit("ItemAt", self.register(self.typed(owner)), inputs=[self.register(self.typed(index))])
        self.values[register] = Value(register, owner.object[index.object])
        return self.values[register]

    def delete_element_there(self, owner, index):
        """`del l[i]`, also of a slice."""
        what = "an element that is deleted"
        if self.is_slice(index) and (not index.fixed or type(owner.object) is not list):
            raise NoRow(what)
        place = index.object if self.is_slice(index) else self.place_in(index, what)
        made = self.elements(owner)
        if place == 0 or place == -1:
            if self.take_from_end(made, place == 0) is None:
                raise NoRow("an element that is not there")
            return
        now = list(self.all_elements(made))
        if not self.is_slice(index) and not -len(now) <= place < len(now):
            raise NoRow("an element that is not there")
        del now[place]
        self.give_elements(made, now, what)

    def joined_in_place(self, left, right):
        """Whether it is `l += more` of a list or deque that is there, or of a list that the plan makes; `l` is what it was."""
        if type(left) is Fresh and left.kind is list:
            if left.register is not None:
                raise NoRow("a list that is made longer")

            def keep_made():
                self.pending = left

            self.each_of(right, lambda item: self.add_to_made(left, item), keep_made)
            return True
        if type(left) is not Value or type(left.object) not in CHANGED:
            return False

        def keep():
            self.pending = left

        self.extend_there(self.elements(left), right, finish=keep)
        return True

    # ---- The end

    def stores_of(self, made):
        """What the plan's end does to a list or deque, as plans have it."""
        items, before = made.items, made.before
        if items is not None and len(items) >= len(before) and all(map(lambda a, b: a is b, items, before)):
            front, first, last, back = [], [], [], items[len(before) :]
        elif items is not None:
            front, first, last, back = items, before, None, []
        else:
            front, first, last, back = made.front, made.first, made.last, made.back
        if not front and not first and not last and type(made.object) is list:
            for value in back:
                yield made.register, None, self.register(value), -1, False, False
            return
        if not front and not back and not first and not last:
            return
        key = slice(len(first), -1 if last is None else len(last), len(front))
        values = self.emit("Tuple", inputs=[self.register(value) for value in (*front, *back)], is_before=True)
        known = self.emit("Tuple", inputs=[self.register(value) for value in (*first, *(last or ()))], is_before=True)
        yield made.register, key, values, known, False, False
