"""Tuples of tensors of which another call may have more or fewer: ``x.split(n)``, where ``n`` is a number of the trace.

The tracer knows tensors by identity, which does not tell ``parts[3]`` from ``parts[-1]``. So such a tuple records how its
elements are taken. By index and as a slice they follow the list, and so does the whole of it as an argument of a function
of PyTorch's. Who takes them one by one (``a, b = parts``, ``for part in parts``) has taken as many as there are: the
program raises where a call has another number of them.
"""

import operator

from torch.utils import _pytree

from . import _C
from ._traced_numbers import TracedInt, _number_of, plain


def traced_tuple(result):
    """What a function of PyTorch's has returned, as a TracedTuple if it is a list of the trace."""
    if type(result) not in (tuple, list) or not result:
        return result
    found = _C._trace_list(result)
    return result if found is None else TracedTuple(result, found)


def settled(value):
    """What a traced program returned, with such tuples taken one by one. Recursion is over the nesting of containers."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(settled, value))
    if kind is dict:
        return {key: settled(item) for key, item in value.items()}
    return tuple(value) if kind is TracedTuple else value


class TracedTuple(tuple):
    """``list`` is the list in the graph. Where no trace runs, or another one, this is the tuple that it was."""

    def __new__(cls, tensors, list, known=None):
        self = super().__new__(cls, tensors)
        self.list = list
        # The identities of tensors that stand for an element already, also in slices of this. Another element that is the
        # same here, and need not be elsewhere, is another tensor of the same memory.
        self.known = set() if known is None else known
        self.taken = {}  # by index
        self.elements = None  # once they were taken one by one
        return self

    def is_traced(self):
        return _C._tracing() and self.list.is_of_this_trace()

    def whole(self):
        """The tensors, as they are."""
        return tuple(super().__iter__())

    def length(self):
        return TracedInt(super().__len__(), _C._trace_list_length(self.list, super().__len__()))

    def __iter__(self):
        if not self.is_traced():
            return super().__iter__()
        if self.elements is None:
            whole = self.whole()
            self.elements = _C._trace_list_unpack(self.list, whole, [id(tensor) in self.known for tensor in whole])
            self.known.update(map(id, whole))
        return iter(self.elements)

    def __reversed__(self):
        return iter(tuple(self)[::-1])

    def __getitem__(self, index):
        if not self.is_traced():
            return super().__getitem__(index)
        if type(index) is slice:
            return self._slice(index)
        index = _number_of(index, int)
        if type(index) is not TracedInt:
            index = int(operator.index(index))
        tensor = super().__getitem__(plain(index))
        if type(index) is int and index in self.taken:
            return self.taken[index]
        element = _C._trace_list_element(self.list, index, tensor, id(tensor) in self.known)
        self.known.add(id(tensor))
        if type(index) is int:
            self.taken[index] = element
        return element

    def _slice(self, index):
        start, stop, step = (_number_of(bound, int) for bound in (index.start, index.stop, index.step))
        if step is not None and plain(step) <= 0:
            return tuple(self)[index]  # lists of programs go forward only
        found = super().__getitem__(slice(plain(start), plain(stop), plain(step)))
        return TracedTuple(
            found, _C._trace_list_slice(self.list, (start, stop, 1 if step is None else step)), self.known
        )

    def __add__(self, other):
        return tuple(self) + (tuple(other) if type(other) is TracedTuple else other)

    def __radd__(self, other):
        return other + tuple(self)

    def __mul__(self, count):
        return tuple(self) * count

    __rmul__ = __mul__

    def __reduce__(self):
        return tuple, (self.whole(),)


# Pytrees go by the class; an object of an unregistered one would be a leaf.
_pytree.register_pytree_node(TracedTuple, lambda value: (list(value), None), lambda items, _: tuple(items))
