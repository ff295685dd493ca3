"""Rows of frame capture for functions of lists of tensors, as torch.optim calls them: `torch._foreach_add_` and the like are the operator
for each tensor, which on the CPU is what PyTorch makes of them. Part of `_recording.py`."""

import torch

from . import _frames
from ._recording_values import Fresh, Keywords, NoRow, Value
from ._rows import argument_of, is_functional, is_in_place
from ._segments import devices_and_dtypes

GROUP = torch._C._group_tensors_by_device_and_dtype
#: Of operators whose last number is named: its name.
NAMES_OF_NUMBERS = {"addcdiv": "value", "addcdiv_": "value", "addcmul": "value", "addcmul_": "value"}


def _operators_of_lists():
    """{function of lists: method of a tensor}, by identity."""
    found = {}
    for name in dir(torch):
        method = getattr(torch.Tensor, name.removeprefix("_foreach_"), None)
        if name.startswith("_foreach_") and (is_functional(method) or is_in_place(method)):
            found[id(getattr(torch, name))] = getattr(torch, name), method
    for name, of_tensors in (("maximum", "clamp_min"), ("minimum", "clamp_max")):
        for end in ("", "_"):
            function, method = getattr(torch, f"_foreach_{name}{end}"), getattr(torch.Tensor, of_tensors + end)
            found[id(function)] = function, method
    found[id(torch._foreach_norm)] = torch._foreach_norm, torch.linalg.vector_norm
    return found


_of_lists = _operators_of_lists()


def is_of_lists(object):
    return _of_lists.get(id(object), (None,))[0] is object and object is not None


class Lists:
    """What a recorder does for functions of lists of tensors."""

    def tensors_in(self, value, name):
        """The Values of a list of tensors."""
        items = self.parts_of(value) if self.is_sequence(value) else []
        if not items or not all(map(self.is_tensor, items)):
            raise NoRow(f"a call of {name} with other than lists of tensors")
        return items

    def call_of_lists(self, callee, arguments, names):
        """An operator for each tensor of a list. What it is given besides are lists as long, or the same for each."""
        _, method = _of_lists[id(callee.object)]
        name = callee.object.__name__
        self.identical(callee)
        if not arguments or names and "self" in names:
            raise NoRow(f"a call of {name} with other arguments")
        tensors = self.tensors_in(arguments[0], name)
        if not all(tensor.object.is_cpu and tensor.object.layout is torch.strided for tensor in tensors):
            raise NoRow(f"a call of {name} with tensors of other devices")
        columns = [tensors]
        for value in arguments[1:]:
            items = self.parts_of(value) if self.is_sequence(value) else [value] * len(tensors)
            if len(items) != len(tensors):
                raise NoRow(f"a call of {name} with lists of different lengths")
            columns.append(items)
        count = len(arguments) - len(names)
        if method is torch.linalg.vector_norm and count > 2:
            raise NoRow(
                f"a call of {name} with other arguments"
            )  # the next one is a dtype, and that function's a dimension
        if count == 4 and method.__name__ in NAMES_OF_NUMBERS:
            names = (NAMES_OF_NUMBERS[method.__name__], *names)
        results = []
        for row in zip(*columns, strict=True):
            self.pending = None
            self.call_functional(self.constant(method), list(row), names)
            results.append(self.pending)
        if is_in_place(method):
            for register, tensor in zip(results, tensors, strict=True):
                self.see(register, tensor.object)
            self.pending = self.constant(None)
            return
        self.transformed = lambda made: self.see_list(made, results)
        self.pending = Fresh(tuple, [])

    def see_list(self, made, registers):
        """The tensors that a function of lists has made."""
        if type(made) not in (list, tuple) or len(made) != len(registers):
            raise NoRow("a function of lists that returns something else")
        items = [Value(register, tensor) for register, tensor in zip(registers, made, strict=True)]
        for item in items:
            if type(item.object) is not torch.Tensor:
                raise NoRow("a function of lists that returns something else")
            self.values[item.register] = item
            self.typed(item)
        return Fresh(type(made), items)

    def call_group(self, callee, arguments, names):
        """`torch._C._group_tensors_by_device_and_dtype`: lists by the kinds of the tensors in the first of them."""
        given = [argument_of(arguments, names, *each) for each in (("tensorlistlist", 0), ("with_indices", 1))]
        if len(arguments) != 2 or None in given or not self.is_sequence(given[0]):
            raise NoRow("a call of _group_tensors_by_device_and_dtype with other arguments")
        self.identical(callee)
        with_indices = self.flag_of(given[1])
        lists = [self.parts_of(each) if self.is_sequence(each) else None for each in self.parts_of(given[0])]
        if not lists or any(each is None or (each and len(each) != len(lists[0])) for each in lists):
            raise NoRow("a call of _group_tensors_by_device_and_dtype with other than lists of tensors")
        tensors = []
        for items in lists:
            for item in items:
                if self.is_tensor(item):
                    tensors.append(self.typed(item))
                elif not self.is_none(item):
                    raise NoRow("a call of _group_tensors_by_device_and_dtype with other than lists of tensors")
        kinds = devices_and_dtypes(*[tensor.object for tensor in tensors])
        inputs = [self.register(tensor) for tensor in tensors]
        register = self.emit("Call", self.register(self.constant(devices_and_dtypes)), inputs=inputs)
        self.see(register, kinds)
        self.check("CheckConst", register, object=kinds)
        try:
            found = GROUP([[item.object for item in items] for items in lists], True)
        except RuntimeError as error:
            _frames.raise_of_handler(error)
            raise NoRow("a call of _group_tensors_by_device_and_dtype that raises") from None
        groups = {}
        for key, (_, places) in found.items():
            parts = Fresh(list, [Fresh(list, [items[place] for place in places if items]) for items in lists])
            indices = Fresh(list, [self.constant(place) for place in places] if with_indices else [])
            groups[key] = Fresh(tuple, [parts, indices])
        self.pending = Keywords(groups)
