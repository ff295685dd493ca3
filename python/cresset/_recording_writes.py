"""Rows of frame capture for writes to tensors that the plan was given. Part of `_recording.py`.

Before the plan's calls it saves what the write changes (`SavedWrite` in src/cresset/python/undo.cpp), and puts it back if it is
given up: then the Python writes. What the tape records can't be put back, so each run checks that it records nothing: gradients
are off, or neither the tensor nor what the operand is computed of requires them.
"""

import functools
import operator

import torch

from . import _C
from ._recording_gradients import copy_fitting
from ._recording_values import Fresh, NoRow, Value
from ._rows import effect_of, is_functional, is_in_place, memory_of_calls, was_added
from ._segments import BINARY, COMPARE, COMPUTES, STRUCTURES, UNARY, is_tensor, is_traced

GRAD = torch.autograd.grad
MAX_SAVED = 1 << 14  # elements: what is larger takes longer to save than the Python around the write takes
MAX_INPUTS = 64
VIEW_ATTRIBUTES = ("data", "T", "mT", "H", "mH")
OF_SLICES = tuple(getattr(torch.Tensor, name) for name in ("index_copy_", "index_add_", "index_fill_", "index_reduce_"))


def joined_saves(recorder, steps):
    """The steps, none of which writes, with the saves at their end, and one for all tensors that are saved as a whole."""
    wholes, parts, others = {}, [], []
    for step in steps:
        function = recorder.values[step[2]].object if step[0] == "Save" else None
        modes = function.modes if type(function) is _C._CallInModes else ()
        function = getattr(function, "function", function)
        if function is _C._saved_writes:
            wholes.setdefault(tuple(modes), []).append(step)
        elif function is _C._saved_elements or function is _C._saved_slices:
            parts.append(step)
        else:
            others.append(step)
    previous = recorder.new_register()
    others.append(("LoadConst", previous, -1, -1, None, ()))
    for same in wholes.values():
        count = recorder.new_register()
        written = dict.fromkeys(step[5][2] for step in same)
        leaves = dict.fromkeys(leaf for step in same for leaf in step[5][3:])
        others.append(("LoadConst", count, -1, -1, len(written), ()))
        kind, target, a, b, object, _ = same[0]
        others.append((kind, target, a, b, object, (previous, count, *written, *leaves)))
        previous = target
    for kind, target, a, b, object, inputs in parts:
        others.append((kind, target, a, b, object, (previous, *inputs[1:])))
        previous = target
    return others


class Writes:
    """What a recorder does for operators in place."""

    def init_writes(self):
        self.origins = {}  # register -> those of the tensors from outside that decide whether it requires gradients; None: unknown
        self.spilled = set()  # the same, of all that was written to memory of the plan's
        self.step_of = {}  # register -> step, up to `num_traced`
        self.num_traced = 0
        self.saves = set()  # (register, modes) of tensors that are saved as a whole
        self.clean = set()  # (register, modes) that a save checks
        self.last_save = None
        self.aside = set()  # registers of views that are made for saves, before the plan's calls

    def writes(self, value, what, operands=(), place=None, function=None):
        """Before a write to the tensor: nothing to do if it can be seen in the plan only, otherwise what it changes is
        saved. `place`: the registers of the index of what is written, or of the dimension and the index of `function`,
        index_copy_ or the like. Whether the plan itself has made the memory."""
        self.not_in_transform(what)
        if self.options.backend is not None or not self.is_tensor(value):
            raise NoRow(what)
        if self.has_hooked and value.object.requires_grad:
            raise NoRow(f"{what} on a tape with hooks")
        if not self.is_owned(value):
            self.saves_write(value, what, operands, place, function)
            return False
        memory = value.object.untyped_storage()._cdata
        for register, other in self.values.items():
            if register not in self.owned and self.is_tensor(other):
                if other.object.untyped_storage()._cdata == memory:
                    raise NoRow(what)
        return True

    def saves_write(self, value, what, operands, place, function):
        self.before_effect()
        tensor, modes = value.object, tuple(self.modes)
        if tensor.layout != torch.strided or not tensor.is_cpu or tensor.is_quantized or _C._is_transformed():
            raise NoRow(f"{what} of what is no dense tensor of the CPU, or in a transform")
        self.trace()
        leaves = () if is_off(modes) else self.leaves_of((self.register(value), *map(self.register, operands)), what)
        if torch.is_grad_enabled() and (tensor.requires_grad or self.require_gradients(leaves)):
            raise NoRow(f"{what} that the tape records")
        source = self.source_of(self.register(value), what)
        self.check_untransformed()
        if self.effects:  # one may change an index
            place = None
        if tensor.numel() > MAX_SAVED and place is None:
            raise NoRow(f"{what} of a large tensor")
        unchecked = [leaf for leaf in leaves if (leaf, modes) not in self.clean]
        if not unchecked and (source, modes) in self.saves:
            return
        if len(unchecked) > MAX_INPUTS:
            raise NoRow(f"{what} of what is computed of many tensors")
        self.clean.update((leaf, modes) for leaf in unchecked)
        if place is None:
            self.saves.add((source, modes))
            save, place = _C._saved_writes, (self.register(self.constant(1)),)
        else:
            save = _C._saved_slices if function in OF_SLICES else _C._saved_elements
        call = self.constant(_C._CallInModes(save, modes) if modes else save)
        previous = self.register(self.constant(None)) if self.last_save is None else self.last_save
        inputs = [previous, *place, source, *unchecked]
        self.last_save = self.emit("Save", self.register(call), inputs=inputs)

    def call_with_out(self, callee, arguments, names):
        """`function(..., out=tensor)`: the function, and a copy of its result, which fits, into the tensor."""
        name = callee.object.__name__
        place = len(arguments) - len(names) + names.index("out")
        out, what = arguments[place], f"a call of {name} with out="
        rest, others = [*arguments[:place], *arguments[place + 1 :]], tuple(each for each in names if each != "out")
        given = [self.known_object(value) for value in rest]
        self.not_in_transform(what)
        if not self.is_tensor(out) or effect_of(callee.object, rest, others)[0]:
            raise NoRow(what)
        found = self.result_of(callee.object, given, others)
        if type(found) is not torch.Tensor or found.shape != out.object.shape or found.dtype != out.object.dtype:
            raise NoRow(f"{what} that it does not fit")
        self.call_functional(callee, rest, others)
        result = self.values[self.pending] = Value(self.pending, found, typed=True)
        self.argument(out)
        is_owned = self.writes(out, what, [result])
        if is_owned and not is_off(tuple(self.modes)):  # with gradients PyTorch raises
            raise NoRow(f"{what} with gradients")
        inputs = [self.register(out), self.register(result)]
        function = self.register(self.constant(copy_fitting))
        self.pending = self.compute("Call", function, inputs=inputs, owned=is_owned)
        self.written[self.pending] = inputs[0]

    def known_object(self, value):
        """What an argument is in this run."""
        if type(value) is Fresh:
            return value.kind(map(self.known_object, value.items))
        if type(value) is not Value:
            raise NoRow("an argument of another kind")
        return value.object

    def part_written(self, callee, arguments, names):
        """What `writes` is to know of a call that writes to a part of its first argument."""
        if callee.object not in OF_SLICES or len(arguments) - len(names) < 3 or not self.is_tensor(arguments[0]):
            return ()
        return tuple(self.register(value) for value in arguments[1:3]), callee.object

    def require_gradients(self, leaves):
        return any(self.values[leaf].object.requires_grad for leaf in leaves)

    def leaves_of(self, registers, what):
        """The tensors from outside that decide whether any of the registers requires gradients."""
        found = self.joined_leaves(registers)
        if found is None or self.spilled is None:
            raise NoRow(f"{what} of what other functions compute")
        return sorted(found | self.spilled)

    def leaves_at(self, register):
        if register in self.origins:
            return self.origins[register]
        value = self.values.get(register)
        if self.is_tensor(value):
            return {register}
        items = getattr(value, "object", None)
        holds_tensors = isinstance(items, (list, tuple)) and any(map(is_tensor, items))
        return None if holds_tensors else set()

    def trace(self):
        """Follows the steps since the last write."""
        for step in self.steps[self.num_traced :]:
            kind, target, a, _, names, inputs = step
            self.step_of[target] = step
            if kind in STRUCTURES:
                self.origins[target] = self.joined_leaves(inputs)
            elif kind == "Item" and a in self.origins:
                self.origins[target] = self.origins[a]
            elif kind == "Call":
                self.origins[target] = self.leaves_of_call(step)
            elif kind in COMPUTES and (kind, names) != ("GetAttr", "grad"):  # which is a tensor from outside
                is_cut = kind == "GetAttr" and names == "data"
                self.origins[target] = set() if is_cut else self.joined_leaves((a, *inputs))
            written = self.written.get(target)
            if written is not None and self.origins.get(target, ()) is None:
                self.spilled = None  # requires_grad_, for one
            elif written in self.owned and self.spilled is not None:
                self.spilled |= self.origins.get(target, set())
        self.num_traced = len(self.steps)

    def joined_leaves(self, registers):
        found = set()
        for register in registers:
            leaves = self.leaves_at(register)
            if leaves is None:
                return None
            found |= leaves
        return found

    def leaves_of_call(self, step):
        _, _, a, _, names, inputs = step
        callee, modes = self.values[a].object, ()
        if type(callee) is _C._CallInModes:
            callee, modes = callee.function, callee.modes
        if callee is _C._as_gradients or (callee is GRAD and "create_graph" not in names):
            return set()
        is_known = is_functional(callee) or is_in_place(callee) or is_of_operators(callee) or is_traced(callee)
        is_known = is_known or callee is copy_fitting
        if not is_known or was_added(callee) or "requires_grad" in (names or ()):
            return None
        if is_off(modes) or callee is torch.Tensor.detach or callee is torch.detach:
            return set()
        return self.joined_leaves(inputs)

    def source_of(self, register, what):
        """The tensor, or the view, as it can be had before all calls of the plan."""
        step = self.step_of.get(register)
        if step is None or step[0] not in COMPUTES or (step[0], step[4]) == ("GetAttr", "grad"):
            return register
        kind, _, a, b, object, inputs = step
        if ("source", register) in self.checked:
            return self.checked["source", register]
        is_view = kind == "GetItem" or (kind == "GetAttr" and object in VIEW_ATTRIBUTES)
        if kind == "Call":
            callee = self.values[a].object
            callee = callee.function if type(callee) is _C._CallInModes else callee
            # In a mode, an operator is a call, too.
            is_named = callee is getattr and self.values[inputs[1]].object in VIEW_ATTRIBUTES
            is_view = callee is operator.getitem or is_named or is_view_call(callee)
            inputs = tuple(self.source_of(each, what) for each in inputs)
        elif is_view:
            a = self.source_of(a, what)
        if not is_view:
            raise NoRow(f"{what} of what may be in other memory")
        made = self.emit(kind, a, b, object, inputs)
        self.see(made, self.values[register].object)
        self.aside.add(made)
        self.checked["source", register] = made
        return made


def is_off(modes):
    """Whether a mode around the call turns gradients off."""
    return not next((mode[1] for mode in reversed(modes) if mode[0] == "grad"), True)


def is_of_operators(function):
    return any(
        function is one for one in (*BINARY, *COMPARE, *UNARY, operator.getitem, operator.setitem, getattr, bool)
    )


@functools.cache
def is_view_call(function):
    if function in (torch.Tensor.detach, torch.detach):
        return True
    return memory_of_calls(function) == "view"
