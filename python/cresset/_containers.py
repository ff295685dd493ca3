"""ScriptList and ScriptDict: lists and dicts that Python and scripts share.

Elsewhere lists and dicts are copied when they pass between Python and a script. These are references: what a script does to
one is seen in Python, and the other way round. Their elements have one type, which they keep.
"""

import collections.abc
import copy
import operator
import sys
import types

from . import _C


class _Shared:
    """What both have: the reference, its type, copies."""

    __slots__ = ("__weakref__", "_c")
    __hash__ = None

    @classmethod
    def _of(cls, handle):
        """The extension calls this for a container within a container."""
        result = cls.__new__(cls)
        result._c = handle
        return result

    def _like(self, contents):
        """A new one of the same type."""
        return self._of(_C._Container(contents, self._c.type))

    def __len__(self):
        return self._c.size()

    def __repr__(self):
        return repr(self._plain())

    def __copy__(self):
        return self._like(self._plain())

    copy = __copy__

    def __deepcopy__(self, memo):
        return self._like(copy.deepcopy(self._plain(), memo))

    def __reduce__(self):
        return _restore, (type(self), str(self._c.type), self._plain())

    def clear(self):
        self._c.clear()


class _KeyOfOtherType(KeyError, TypeError):
    """A KeyError, as Python's dict raises, that is torch.jit's TypeError too."""

    def __reduce__(self):
        return _error_of_other_type, (KeyError, self.args)


class _ValueOfOtherType(ValueError, TypeError):
    """A ValueError, as Python's list raises, that is torch.jit's TypeError too."""

    def __reduce__(self):
        return _error_of_other_type, (ValueError, self.args)


_of_other_type = {KeyError: _KeyOfOtherType, ValueError: _ValueOfOtherType}
for _base, _kind in _of_other_type.items():  # what a traceback calls them
    _kind.__name__, _kind.__qualname__, _kind.__module__ = _base.__name__, _base.__qualname__, _base.__module__


def _error_of_other_type(base, arguments):
    """Pickles refer to classes by name, which is the base's."""
    return _of_other_type[base](*arguments)


def _restore(cls, type_text, contents):
    return cls._of(_C._Container(contents, _C.parse_type(type_text)))


class ScriptList(_Shared, collections.abc.MutableSequence):
    """A list that scripts take and keep as it is: what :func:`cresset.script` makes of a list.

    >>> xs = cresset.script([1, 2])
    >>> scripted(xs)   # appends 3
    >>> xs
    [1, 2, 3]
    """

    __slots__ = ()

    def __init__(self, contents=()):
        self._c = _C._Container(list(contents), None)

    def _plain(self):
        return list(self)

    def _index(self, index):
        try:
            return range(len(self))[operator.index(index)]
        except IndexError:
            raise IndexError("list index out of range") from None

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._like([self._c.get(i) for i in range(*index.indices(len(self)))])
        return self._c.get(self._index(index))

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            changed = self._plain()
            changed[index] = value
            self._c.replace_all(self._like(changed)._c)
        else:
            self._c.set(self._index(index), value)

    def __delitem__(self, index):
        if isinstance(index, slice):
            changed = self._plain()
            del changed[index]
            self._c.replace_all(self._like(changed)._c)
        else:
            self._c.erase(self._index(index))

    def insert(self, index, value):
        index = operator.index(index)
        size = len(self)
        self._c.insert(min(max(index + size if index < 0 else index, 0), size), value)

    def append(self, value):
        self._c.insert(len(self), value)

    def __reversed__(self):
        return _backwards(self, len(self))

    # What the list can't hold is not in it, as in Python; torch.jit raises TypeError.
    def __contains__(self, value):
        return value in self._plain()

    def index(self, value, start=0, stop=sys.maxsize):
        try:
            return self._plain().index(value, start, stop)
        except ValueError as error:
            if self._c.can_hold(value):
                raise
            raise _ValueOfOtherType(*error.args) from None

    def count(self, value):
        return self._plain().count(value)

    def extend(self, values):
        if isinstance(values, (list, tuple, ScriptList)):
            values = self._like(list(values))  # all are converted before the first is added
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def pop(self, index=-1):
        if not len(self):
            raise IndexError("pop from empty list")
        index = self._index(index)
        value = self._c.get(index)
        self._c.erase(index)
        return value

    def sort(self, *, key=None, reverse=False):
        """As Python's: the list is empty for a key that looks at it, and must be so in the end."""
        elements = self._plain()
        self.clear()
        try:
            elements = sorted(elements, key=key, reverse=reverse)
        finally:
            is_changed = len(self) > 0
            self[:] = elements
        if is_changed:
            raise ValueError("list modified during sort")

    def __add__(self, other):
        if not isinstance(other, (list, ScriptList)):
            return NotImplemented
        return self._like([*self, *other])

    def __radd__(self, other):
        return self._like([*other, *self]) if isinstance(other, list) else NotImplemented

    def __mul__(self, count):
        return self._like(self._plain() * count)

    __rmul__ = __mul__

    def __imul__(self, count):
        self[:] = self._plain() * count
        return self

    def _compare(self, other, compare):
        if not isinstance(other, (list, ScriptList)):
            return NotImplemented
        return compare(self._plain(), list(other))

    def __eq__(self, other):
        return self._compare(other, operator.eq)

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)


def _backwards(xs, size):
    """The elements from the last of `size`; ends where the list has become too short for the next one."""
    for i in reversed(range(size)):
        if i >= len(xs):
            return
        yield xs[i]


def _steadily(mapping, items):
    """The items; as Python's dicts, it raises when another item is asked for after the dict has got another size."""
    size, items = len(mapping), iter(items)

    def steps():
        while True:
            if len(mapping) != size:
                raise RuntimeError("dictionary changed size during iteration")
            try:
                item = next(items)
            except StopIteration:
                return
            yield item

    return steps()


class _View:
    """Views read entries, not values by their keys: a nan is a key that is not found again."""

    __slots__ = ()

    @property
    def mapping(self):
        return types.MappingProxyType(self._mapping)


class KeysView(_View, collections.abc.KeysView):
    def __iter__(self):
        return iter(self._mapping)

    def __reversed__(self):
        return reversed(self._mapping)


class ValuesView(_View, collections.abc.ValuesView):
    def __iter__(self):
        return _steadily(self._mapping, [value for _, value in self._mapping._c.entries()])

    def __reversed__(self):
        return _steadily(self._mapping, reversed(list(self)))

    def __contains__(self, value):
        return value in list(self)


class ItemsView(_View, collections.abc.ItemsView):
    def __iter__(self):
        return _steadily(self._mapping, self._mapping._c.entries())

    def __reversed__(self):
        return _steadily(self._mapping, reversed(self._mapping._c.entries()))

    def __contains__(self, item):
        return isinstance(item, tuple) and len(item) == 2 and super().__contains__(item)


class ScriptDict(_Shared, collections.abc.MutableMapping):
    """A dict that scripts take and keep as it is: what :func:`cresset.script` makes of a dict."""

    __slots__ = ()

    def __init__(self, contents=()):
        self._c = _C._Container(dict(contents), None)

    def _plain(self):
        return dict(self._c.entries())

    def __getitem__(self, key):
        return self._c.get_entry(key)

    def __setitem__(self, key, value):
        self._c.set_entry(key, value)

    def __delitem__(self, key):
        try:
            self._c.erase_entry(key)
        except KeyError as error:
            if self._c.can_hold(key):
                raise
            raise _KeyOfOtherType(*error.args) from None

    def __contains__(self, key):
        """False for a key of another type than the dict's, as in Python; torch.jit raises KeyError."""
        hash(key)
        return self._c.has(key)

    def keys(self):
        return KeysView(self)

    def values(self):
        return ValuesView(self)

    def items(self):
        return ItemsView(self)

    @classmethod
    def fromkeys(cls, keys, value=None):
        return cls(dict.fromkeys(keys, value))

    def __iter__(self):
        return _steadily(self, self._c.keys())

    def __reversed__(self):
        return _steadily(self, reversed(self._c.keys()))

    def popitem(self):
        if not len(self):
            raise KeyError("popitem(): dictionary is empty")
        key = self._c.keys()[-1]
        return key, self.pop(key)

    def update(self, other=(), /, **kwargs):
        for key, value in self._like(dict(other, **kwargs)).items():  # all are converted before the first is added
            self[key] = value

    def __or__(self, other):
        if not isinstance(other, (dict, ScriptDict)):
            return NotImplemented
        return self._like({**self._plain(), **dict(other.items())})

    def __ror__(self, other):
        return self._like({**other, **self._plain()}) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other):
        self.update(other)
        return self


for _class in (ScriptList, ScriptDict):
    _class.__module__ = "cresset"

_C._set_container_classes(ScriptList, ScriptDict)
