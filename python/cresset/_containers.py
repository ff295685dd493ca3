"""ScriptList and ScriptDict: lists and dicts that Python and scripts share.

Elsewhere lists and dicts are copied when they pass between Python and a script. These are references: what a script does to
one is seen in Python, and the other way round. Their elements have one type, which they keep.
"""

import collections.abc
import copy
import functools
import operator
import sys

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

    def _check(self, value):
        """Refuses what the list can't hold, as torch.jit does: it is a mistake to look for it."""
        try:
            self._like([value])
        except (RuntimeError, TypeError) as error:
            raise TypeError(str(error)) from None

    def __contains__(self, value):
        self._check(value)
        return value in self._plain()

    def index(self, value, start=0, stop=sys.maxsize):
        self._check(value)
        return self._plain().index(value, start, stop)

    def count(self, value):
        self._check(value)
        return self._plain().count(value)

    def extend(self, values):
        for value in self._like(list(values)):  # all are converted before the first is added
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
        self[:] = sorted(self, key=key, reverse=reverse)

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


@functools.cache
def _list_of(kind):
    """The type of lists of what keys of dicts can be: int, float, str and the like."""
    return _C.parse_type(f"List[{kind}]")


class KeysView(collections.abc.KeysView):
    """What is of another type than the dict's keys is none of them; only the dict itself refuses to be asked."""

    def __contains__(self, key):
        return self._mapping._takes(key) and self._mapping._c.has(key)


class ScriptDict(_Shared, collections.abc.MutableMapping):
    """A dict that scripts take and keep as it is: what :func:`cresset.script` makes of a dict."""

    __slots__ = ()

    def __init__(self, contents=()):
        self._c = _C._Container(dict(contents), None)

    def _plain(self):
        return dict(self)

    def __getitem__(self, key):
        return self._c.get_entry(key)

    def __setitem__(self, key, value):
        self._c.set_entry(key, value)

    def _takes(self, key):
        try:
            _C._Container([key], _list_of(str(self._c.type.getKeyType())))
        except (RuntimeError, TypeError):
            return False
        return True

    def __delitem__(self, key):
        if not self._takes(key):
            raise TypeError(f"{key!r} is no key of a {self._c.type}")
        self._c.erase_entry(key)

    def __contains__(self, key):
        """Raises KeyError, as torch.jit does, for a key of another type than the dict's."""
        if not self._takes(key):
            raise KeyError(f"{key!r} is no key of a {self._c.type}")
        return self._c.has(key)

    def keys(self):
        return KeysView(self)

    def __iter__(self):
        return iter(self._c.keys())

    def __reversed__(self):
        return reversed(self._c.keys())

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
        return self._like({**self, **other})

    def __ror__(self, other):
        return self._like({**other, **self}) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other):
        self.update(other)
        return self


for _class in (ScriptList, ScriptDict):
    _class.__module__ = "cresset"

_C._set_container_classes(ScriptList, ScriptDict)
