"""Rows of frame capture for torch.func.grad and grad_and_value. Part of `_recording.py`.

`torch.func.grad(f)(x)` runs f for tensors that torch.func wraps, so that it records a tape of its own; a plan does the same with a
tape of PyTorch's that begins at tensors that it makes (`begin_tape`), and a torch.autograd.grad along it. What a function could
see of the difference (classes of its arguments are the same, but not identity, `requires_grad`, `detach`, modes) it may not ask
for: then the transform runs as Python.
"""

import torch

from . import _C
from ._recording_gradients import GRAD, begin_tape
from ._recording_values import PLAIN, Fresh, Keywords, NamedTuple, NewFunction, NoRow, Transient, Value
from ._rows import argument_of

NAME = "a call of torch.func.grad"
# Whether what they return returns the function's value, too; and their code.
TRANSFORMS = {
    torch.func.grad: (False, torch.func.grad.__code__),
    torch.func.grad_and_value: (True, torch.func.grad_and_value.__code__),
}
#: What tensors are asked for that is another thing within a transform.
OF_TAPES = ("data", "detach", "is_leaf", "item", "requires_grad", "requires_grad_")


class Transformed(Transient):
    """What `torch.func.grad(function, argnums)` returns, or grad_and_value."""

    __slots__ = ("function", "place", "with_value")

    def __init__(self, function, place, with_value):
        self.function, self.place, self.with_value = function, place, with_value


class Running:
    """A transform whose function runs. `known`: the Values that registers had before; `wrapped`: those of the function's
    arguments, whose objects torch.func makes."""

    def __init__(self, recorder, with_value):
        self.known = dict(recorder.values)
        self.num_changes = len(recorder.stores), len(recorder.undo), len(recorder.context)
        self.depth = len(recorder.modes)
        self.wrapped, self.leaves, self.names = set(), [], None
        self.has_begun, self.with_value = False, with_value


def which_require_grad(*tensors):
    return tuple(tensor.requires_grad for tensor in tensors)


def unwrapped(object):
    if isinstance(object, (tuple, list)) and type(object) in (tuple, list):
        return type(object)(map(unwrapped, object))
    is_wrapped = isinstance(object, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(object)
    return torch._C._functorch.get_unwrapped(object) if is_wrapped else object


class Transforms:
    """What a recorder does for torch.func.grad and what it returns."""

    def call_transform(self, callee, arguments, names):
        given = [argument_of(arguments, names, *each) for each in (("func", 0), ("argnums", 1), ("has_aux", 2))]
        function, place, has_aux = given
        is_function = (
            isinstance(function, NewFunction) or type(getattr(function, "object", None)).__name__ == "function"
        )
        if self.options.backend is not None or self.transform is not None or _C._is_transformed():
            raise NoRow(f"{NAME} in a graph of a backend, or in a transform")
        if sum(each is not None for each in given) != len(arguments) or not is_function:
            raise NoRow(f"{NAME} with other arguments")
        if has_aux is not None and self.flag_of(has_aux):
            raise NoRow(f"{NAME} with has_aux")
        if place is not None:
            if type(getattr(place, "object", None)) is not int:
                raise NoRow(f"{NAME} with several argnums")
            self.pin(place)
        self.identical(callee)
        with_value, code = TRANSFORMS[callee.object]
        self.has_code(callee.object, code)
        self.check_untransformed()
        self.pending = Transformed(function, 0 if place is None else place.object, with_value)

    def call_transformed(self, transformed, arguments, names):
        count = len(arguments) - len(names)
        if self.transform is not None or not 0 <= transformed.place < count:
            raise NoRow(f"{NAME} with other arguments, or in another one")
        if any(mode[0] != "grad" for mode in self.modes):
            raise NoRow(f"{NAME} in a mode")
        self.flag_of(self.state_of(torch.is_grad_enabled))
        running = Running(self, transformed.with_value)
        given = [self.wrapped(value, running, i == transformed.place) for i, value in enumerate(arguments)]
        self.modes.append(("grad", True))
        self.call_function(transformed.function, given, names)
        if self.entering is None or self.entering.finish is not None:
            raise NoRow(f"{NAME} of a generator")
        self.transform = running
        self.entering.swaps = True
        self.entering.finish = self.end_transform

    def wrapped(self, value, running, is_variable):
        """What the function gets for an argument."""
        if isinstance(value, NamedTuple):
            raise NoRow(f"{NAME} of a tuple of a class of its own")
        if isinstance(value, Keywords) or type(getattr(value, "object", None)) is dict:
            items = {
                key: self.wrapped(item, running, is_variable)
                for key, item in self.keywords_of(value, most=2048).items()
            }
            if is_variable:
                if not items or not all(map(self.is_tensor, items.values())):
                    raise NoRow(f"{NAME} of a dict of other than tensors")
                running.names = tuple(items)
            return Keywords(items)
        if type(value) is Fresh and not is_variable:
            return Fresh(value.kind, [self.wrapped(item, running, False) for item in value.items])
        if self.is_tensor(value):
            self.typed(value)
            register = self.register(value)
            if is_variable:
                function = self.register(self.constant(begin_tape))
                register = self.compute("Call", function, inputs=[register])
                self.see(register, value.object)
                running.known[register] = Value(register, value.object, typed=True)
                running.leaves.append(register)
            made = Value(register, value.object, typed=True)
            running.wrapped.add(made)
            return made
        if is_variable or not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) not in PLAIN:
            raise NoRow(f"{NAME} with an argument of another class")
        return value

    def begin_transform(self, view, variables):
        """When the frame of the transform's function begins."""
        self.transform.has_begun = True
        for index, value in variables.items():
            if isinstance(value, (Value, Keywords)):
                self.see_wrapped(value, view.slot(index))

    def see_wrapped(self, value, object):
        """The objects that torch.func has made for arguments."""
        if isinstance(value, Fresh):
            for item, part in zip(value.items, object, strict=True):
                self.see_wrapped(item, part)
        elif isinstance(value, Keywords):
            for key, item in value.items.items():
                self.see_wrapped(item, object[key])
        elif value in self.transform.wrapped:
            value.object = object

    def end_transform(self, result):
        running, self.transform = self.transform, None
        if (len(self.stores), len(self.undo), len(self.context)) != running.num_changes:
            raise NoRow(f"{NAME} of a function that changes something")
        if not self.is_tensor(result) or result.object.dim() != 0 or len(self.modes) != running.depth + 1:
            raise NoRow(f"{NAME} of a function that returns other than a number's tensor")
        output = self.register(result)
        for value in list(self.values.values()):
            if type(value) is Value:
                value.object = unwrapped(value.object)
        self.values.update(running.known)
        dims = self.emit("Call", self.register(self.constant(torch.Tensor.dim)), inputs=[output])
        self.see(dims, 0)
        self.check("CheckConst", dims, object=0)
        self.check_requires_grad()
        needs_tape = self.emit("LoadConst", object=False)
        at = len(self.steps) - 1
        self.see(needs_tape, False)
        inputs = [self.emit("List", inputs=[output]), self.emit("List", inputs=running.leaves), needs_tape]
        self.num_calls += 1
        names = ("outputs", "inputs", "create_graph")
        found = self.compute("Call", self.register(self.constant(GRAD)), object=names, inputs=inputs)
        del self.modes[running.depth :]
        gradients = [self.values[register].object for register in running.leaves]
        self.see(found, tuple(gradients))
        registers = [self.emit("Item", found, place) for place in range(len(gradients))]
        parts = [Value(register, gradient, typed=True) for register, gradient in zip(registers, gradients, strict=True)]
        if running.with_value:
            parts.append(Value(output, self.values[output].object, typed=True))
        self.values.update((part.register, part) for part in parts)

        def see(result):
            """The results of torch.func are on a tape if they depend on what is on one."""
            gradient, *value = result if running.with_value else (result,)
            results = [gradient] if running.names is None else [gradient[name] for name in running.names]
            if any(type(each) is not torch.Tensor for each in (*results, *value)):
                raise NoRow(f"{NAME} of another class")
            is_on_tape = any(each.requires_grad for each in (*results, *value))
            self.steps[at] = (*self.steps[at][:4], is_on_tape, ())
            self.see(needs_tape, is_on_tape)
            for part, each in zip(parts, [*results, *value], strict=True):
                if not each.requires_grad and (is_on_tape or part.register == output):
                    function = self.register(self.constant(torch.Tensor.detach))
                    part.register = self.compute("Call", function, inputs=[part.register])
                    self.values[part.register] = part
                part.object = each

        self.transformed = see
        count = len(running.leaves)
        made = parts[0] if running.names is None else Keywords(dict(zip(running.names, parts[:count], strict=True)))
        return Fresh(tuple, [made, parts[count]]) if running.with_value else made

    def check_requires_grad(self):
        """Checks which tensors from outside require gradients: with the calls of the plan, that decides which results do."""
        if self.calls_added():
            raise NoRow(f"{NAME} of what other functions compute")
        made = self.made_of_tensors()
        outside = [
            register for register, value in self.values.items() if self.is_tensor(value) and register not in made
        ]
        flags = which_require_grad(*[self.values[register].object for register in outside])
        register = self.emit("Call", self.register(self.constant(which_require_grad)), inputs=outside)
        self.see(register, flags)
        self.check("CheckConst", register, object=flags)

    def not_in_transform(self, what):
        if self.transform is not None:
            raise NoRow(f"{NAME} of a function with {what}")
