"""Rows of frame capture for torch.func.grad and grad_and_value. Part of `_recording.py`.

`torch.func.grad(f)(x)` runs f for tensors that torch.func wraps, so that it records a tape of its own; a plan does the same with a
tape of PyTorch's that begins at tensors that it makes (`begin_tape`), and a torch.autograd.grad along it. What a function could
see of the difference (classes of its arguments are the same, but not identity, `requires_grad`, `detach`, modes) it may not ask
for: then the transform runs as Python.
"""

import functools
import types

import torch

from . import _C
from ._recording_gradients import GRAD, begin_tape
from ._recording_values import PLAIN, Fresh, Keywords, NamedTuple, NewFunction, NoRow, RealCell, Transient, Value
from ._rows import argument_of, name_of_transform

NAME = "a call of torch.func.grad"
# Whether what they return returns the function's value, too.
TRANSFORMS = {torch.func.grad: False, torch.func.grad_and_value: True}
# Transforms that return a function, and their options; those that call the function.
RETURN_FUNCTIONS = {
    torch.func.grad: ("argnums", "has_aux"),
    torch.func.grad_and_value: ("argnums", "has_aux"),
    torch.func.hessian: ("argnums",),
    torch.func.jacfwd: ("argnums", "has_aux", "randomness"),
    torch.func.jacrev: ("argnums", "has_aux", "chunk_size", "_preallocate_and_copy"),
    torch.func.vmap: ("in_dims", "out_dims", "randomness", "chunk_size"),
}
CALL_FUNCTIONS = (torch.func.jvp, torch.func.vjp)
# Of the functions that transforms return: variables that are no options.
NO_OPTIONS = ("eager_transforms", "func")
#: What tensors are asked for that is another thing within a transform.
OF_TAPES = ("data", "detach", "is_leaf", "item", "requires_grad", "requires_grad_")


#: Names of what a function along a tape may not ask for, and a traced one may.
TRACED_NAMES = {*OF_TAPES, *(transform.__name__ for transform in (*RETURN_FUNCTIONS, *CALL_FUNCTIONS))} - {
    "data",
    "item",
}


@functools.lru_cache(1024)
def names_in(code):
    """The names that a function's code reads, and those of functions in it."""
    inner = (names_in(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*inner)


class Transformed(Transient):
    """What a transform returns, of this name: `torch.func.grad(function, argnums)`, for one. `place` is that of the argument
    to which there is a gradient, None if the transform is to be traced; `with_value`: of grad_and_value."""

    __slots__ = ("function", "name", "place", "with_value")

    def __init__(self, name, function, place=None, with_value=False):
        self.name, self.function, self.place, self.with_value = name, function, place, with_value


class Pullback(Transient):
    """The function that a `torch.func.vjp` returns: `call`, which does it, is the program's call, `given` the registers of
    tensors from outside that it takes, `num_writes` how many writes there were before."""

    __slots__ = ("call", "given", "num_writes")

    def __init__(self, call, given, num_writes):
        self.call, self.given, self.num_writes = call, given, num_writes


class Running:
    """A transform whose function runs. `known`: the Values that registers had before; `wrapped`: those of the function's
    arguments, whose objects torch.func makes."""

    def __init__(self, recorder, with_value):
        self.known = dict(recorder.values)
        self.num_changes = len(recorder.stores), len(recorder.undo), len(recorder.context)
        self.depth = len(recorder.modes)
        self.wrapped, self.leaves, self.names = set(), [], None
        self.has_begun, self.with_value = False, with_value
        self.site = recorder.here


def which_require_grad(*tensors):
    return tuple(tensor.requires_grad for tensor in tensors)


def unwrapped(object):
    if isinstance(object, (tuple, list)) and type(object) in (tuple, list):
        return type(object)(map(unwrapped, object))
    is_wrapped = isinstance(object, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(object)
    return torch._C._functorch.get_unwrapped(object) if is_wrapped else object


class Transforms:
    """What a recorder does for torch.func.grad and what it returns."""

    def call_transform(self, view, frame, callee, arguments, names):
        """A transform, or a function that one has made."""
        transform, title = callee.object, name_of_transform(callee.object)
        if self.options.backend is not None or (_C._is_transformed() and not self.traced):
            raise NoRow(f"a call of {title} in a graph of a backend, or in a transform")
        if self.flags:
            raise NoRow(f"a call of {title} after requires_grad was set")
        self.identical(callee)
        self.has_code(transform, transform.__code__)
        if not self.traced:
            self.check_untransformed()
        if transform in CALL_FUNCTIONS:
            self.call_with_function(view, frame, callee, arguments, names)
        elif transform in RETURN_FUNCTIONS:
            function = argument_of(arguments, names, "func", 0)
            options = self.options_of_transform(transform, arguments, names)
            place = options.get("argnums", 0) if transform in TRANSFORMS and not options.get("has_aux") else None
            self.pending = Transformed(title, function, place, TRANSFORMS.get(transform, False))
        elif transform.__code__.co_freevars and "func" in transform.__code__.co_freevars:
            self.call_transformed(view, frame, self.opened(callee, title), arguments, names)
        else:
            raise NoRow(f"a call of {title}")

    def options_of_transform(self, transform, arguments, names):
        """The options of a transform by name, checked."""
        known = RETURN_FUNCTIONS[transform]
        places = {name: place + 1 for place, name in enumerate(known) if name != "chunk_size"}
        given = {name: argument_of(arguments, names, name, places.get(name, 99)) for name in known}
        given = {name: self.known_option(value) for name, value in given.items() if value is not None}
        if len(given) + 1 != len(arguments) or "func" in names or given.get("chunk_size") is not None:
            raise NoRow(f"a call of torch.func.{transform.__name__} with other arguments")
        return given

    def known_option(self, value):
        """An option, checked: a number, a text, None, or a container of such."""
        if isinstance(value, Fresh) or type(getattr(value, "object", None)) in (tuple, list):
            kind = value.kind if isinstance(value, Fresh) else type(value.object)
            if not isinstance(value, Fresh) and value.fixed:
                return value.object
            return kind(map(self.known_option, self.parts_of(value)))
        if isinstance(value, Keywords) or type(getattr(value, "object", None)) is dict:
            return {key: self.known_option(item) for key, item in self.keywords_of(value).items()}
        if type(value) is not Value or type(value.object) not in PLAIN:
            raise NoRow("an option of a transform")
        self.pin(value)
        return value.object

    def opened(self, made, title):
        """What a function is that a transform has made before the plan begins."""
        names = made.object.__code__.co_freevars
        cells = {name: RealCell(made, place).read(self) for place, name in enumerate(names)}
        options = {name: self.known_option(cell) for name, cell in cells.items() if name not in NO_OPTIONS}
        if options.get("chunk_size") is not None:
            raise NoRow(f"a call of {title} with a chunk_size")
        return Transformed(title, cells["func"])

    def is_on_tape(self, transformed):
        """Whether a tape of the plan's own does what the transform does, for tensors of any sizes."""
        function = transformed.function
        is_function = isinstance(function, NewFunction) or (
            type(getattr(function, "object", None)) is types.FunctionType and not name_of_transform(function.object)
        )
        if type(transformed.place) is not int or not is_function or self.traced:
            return False
        is_traced = self.here[1] in self.options.traced.get(self.here[0], ())
        return not is_traced and TRACED_NAMES.isdisjoint(names_in(self.code_of(function)))

    def call_transformed(self, view, frame, transformed, arguments, names):
        if not self.is_on_tape(transformed):
            self.call_traced(view, frame, transformed.name, transformed.function, arguments, names)
            return
        count = len(arguments) - len(names)
        if self.transform is not None or not 0 <= transformed.place < count:
            raise NoRow(f"{NAME} with other arguments, or in another one")
        if any(mode[0] != "grad" for mode in self.modes):
            raise NoRow(f"{NAME} in a mode")
        self.flag_of(self.state_of(torch.is_grad_enabled))
        self.transform = running = Running(self, transformed.with_value)
        given = [self.wrapped(value, running, i == transformed.place) for i, value in enumerate(arguments)]
        self.modes.append(("grad", True))
        self.call_function(transformed.function, given, names)
        if self.entering is None or self.entering.finish is not None:
            raise NoRow(f"{NAME} of a generator")
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

    def begin_transform(self, running, view, variables):
        """When the frame of the transform's function begins."""
        running.has_begun = True
        for index, value in variables.items():
            if isinstance(value, (Value, Keywords)):
                self.see_wrapped(running, value, view.slot(index))

    def see_wrapped(self, running, value, object):
        """The objects that torch.func has made for arguments."""
        if isinstance(value, Fresh):
            for item, part in zip(value.items, object, strict=True):
                self.see_wrapped(running, item, part)
        elif isinstance(value, Keywords):
            for key, item in value.items.items():
                self.see_wrapped(running, item, object[key])
        elif value in running.wrapped:
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
        outside = list(self.tensors_from_outside())
        flags = which_require_grad(*[self.values[register].object for register in outside])
        register = self.emit("Call", self.register(self.constant(which_require_grad)), inputs=outside)
        self.see(register, flags)
        self.check("CheckConst", register, object=flags)

    def not_in_transform(self, what):
        if self.transform is not None or self.traced:
            raise NoRow(f"{NAME if self.transform is not None else 'a transform'} of a function with {what}")

    def not_on_tape(self, name, what):
        """Refuses what tensors are asked for that is another thing on a tape of the plan's, or may be of the contents."""
        if name in OF_TAPES and (self.transform is not None or name == "item"):
            self.not_in_transform(what)

    def may_trace_instead(self):
        """Whether the recording ends in a transform along a tape, which the next recording traces instead. This one makes no
        plan."""
        if self.transform is None or self.traced or self.options.fullgraph:
            return False
        positions = self.options.traced.setdefault(self.transform.site[0], {})
        if self.transform.site[1] in positions:
            return False
        positions[self.transform.site[1]] = set()
        self.checkpoint = None
        return True
