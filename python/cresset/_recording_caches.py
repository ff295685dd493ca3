"""Rows of frame capture for functions that `functools.lru_cache` has made: a plan finds what they keep, and at its end makes the
calls, which count and order what is kept. Part of `_recording.py`."""

import functools

import torch

from . import _frames
from ._recording_values import PLAIN, Fresh, NoRow, Value

CACHED = type(functools.lru_cache(lambda: None))
MAX_KEPT = 1024  # results, through which a look goes


def _finds_what_is_kept():
    """Whether this Python's functions show what they keep as `kept` takes it."""
    for typed in (False, True):
        for most in (None, 3) if hasattr(_frames, "kept") else ():
            kept = _frames.kept_by_class if typed else _frames.kept
            function = functools.lru_cache(most, typed)(lambda *given: [given])
            given = [(1,), ("a", 2), (), (True,)]
            results = [(each, function(*each)) for each in given]
            for each, result in results[-3:]:
                found = kept(function, each)
                if len(found) != 1 or found[0] is not result or function.cache_info().hits:
                    return False
            is_gone = most is not None and function.cache_info().currsize == most
            if kept(function, (7,)) or (is_gone and kept(function, (1,))):
                return False
    return hasattr(_frames, "kept")


IS_KNOWN = _finds_what_is_kept()


class CachedCall:
    """What a store of a call has for a key. `kept`: the function that finds what is kept."""

    __slots__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept


class Caches:
    """What a recorder does for calls of such functions."""

    def call_cached(self, callee, arguments, names):
        """What a function keeps, which is checked to be there."""
        what = f"a call of {getattr(callee.object, '__name__', 'a function')}, which keeps results"
        parameters = callee.object.cache_parameters()
        most = parameters["maxsize"]
        if names or not IS_KNOWN or (most is not None and most > MAX_KEPT):
            raise NoRow(what)
        self.not_in_transform(what)
        self.identical(callee)
        for value in arguments:
            if type(value) is not Value or type(value.object) not in (*PLAIN, torch.device):
                self.hashes_by_identity(value, what)
            self.typed(value)
        given = Fresh(tuple, list(arguments))
        kept = _frames.kept_by_class if parameters["typed"] else _frames.kept
        found = kept(callee.object, tuple(value.object for value in arguments))
        if not found:
            raise NoRow(f"{what}, with arguments for which it has none")
        self.before_effect()
        inputs = [self.register(callee), self.register(given)]
        register = self.emit("Call", self.register(self.constant(kept)), inputs=inputs)
        self.see(register, found)
        self.aside.add(register)
        self.check("CheckSize", register, 1)
        self.pending = result = Value(self.emit("Item", register, 0), found[0])
        self.values[result.register] = result
        self.stores.append((self.register(callee), CachedCall(kept), Fresh(tuple, [given, result])))

    def hashes_by_identity(self, value, what):
        """Checks an object that is a key by what it is, and not by code of the program's."""
        names = ("__eq__", "__hash__")
        kind = type(getattr(value, "object", None))
        is_plain = type(value) is Value and all(
            next(base.__dict__[name] for base in kind.__mro__ if name in base.__dict__) is object.__dict__[name]
            for name in names
        )
        if not is_plain or self.is_tensor(value):
            raise NoRow(what)
        self.versioned(value)

    def last_calls(self):
        """These calls as plans have them: at their end, since what they change can't be taken back."""
        for register, key, value in self.stores:
            if isinstance(key, CachedCall):
                given, result = map(self.register, value.items)
                yield register, key.kept, given, result, False, False
