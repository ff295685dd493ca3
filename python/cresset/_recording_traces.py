"""Rows of frame capture for transforms of torch.func that a plan has as one function, made by tracing them. Part of `_recording.py`.

What a transform makes of operators is for torch.func to say: when it has run, and what its function did has rows, so that it has no
effects, it runs once more under a tracer, which sees the operators that remain (decision 5). They are a function of the tensors
from outside that they take. Of what the recorder noted meanwhile, reads of the program's objects and their checks stay; what was
computed of tensors is the traced function's. That holds for tensors of these sizes, strides and dtypes, and numbers as they were,
all of which is checked.
"""

import contextlib
import functools
import inspect
import itertools
import types

import torch

from . import _C, _frames
from ._graphs_of_transforms import leaves_of, trace
from ._recording_modes import Indexing
from ._recording_transforms import Pullback, Transformed
from ._recording_values import OPAQUE, PLAIN, Fresh, Keywords, NamedTuple, NoRow, Transient, Value
from ._rows import name_of_transform
from ._segments import COMPUTES, SINGLETONS, STRUCTURES, kinds_of, reads_of, traced_functions

#: So many kinds of inputs a call of a transform is traced for; with others it runs as Python.
MAX_KINDS = 6
MAX_INPUTS = 2048
#: How many instructions of CPython take as long as what torch.func does for an operator.
INSTRUCTIONS_OF_OPERATOR = 100
_names = itertools.count()
#: The code of what torch.func.vjp returns.
PULLBACKS = [
    code
    for code in inspect.unwrap(inspect.unwrap(torch.func.vjp).__globals__["_vjp_with_argnums"]).__code__.co_consts
    if isinstance(code, types.CodeType)
]


class Unseen(Transient):
    """What a transform returns, before it has."""

    __slots__ = ()


class Traced:
    """A transform that runs. `call`: the program's call, of the outermost one; `virtual`: registers of what its function has of
    tensors, which no step of the plan makes."""

    def __init__(self, recorder, name, call):
        self.name, self.call = name, call
        self.first_step = len(recorder.steps)
        self.num_changes = len(recorder.stores), len(recorder.undo), len(recorder.context)
        self.depth = len(recorder.modes)
        self.has_begun, self.wrapped, self.virtual = False, set(), set()
        self.given = []  # registers of tensors that it was given


def ambient():
    """What calls are made in, beside the modes that a plan knows of."""
    return torch.is_autocast_enabled("cpu"), torch.get_default_dtype(), torch.is_inference_mode_enabled()


def memory_of(tensor):
    if tensor.layout is not torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.dtype, tuple(tensor.shape), tensor.stride()


def are_alike(ours, theirs):
    """Whether tensors have the same bits, kinds and need for gradients."""
    if kinds_of(*ours) != kinds_of(*theirs):
        return False
    with torch.no_grad():
        return all(
            torch.equal(a.detach().nan_to_num(), b.detach().nan_to_num()) for a, b in zip(ours, theirs, strict=True)
        )


class Traces:
    """What a recorder does for transforms that are traced."""

    def real_call(self, view):
        """The program's call that the instruction is about to make, to be made again."""
        if self.site is None:
            raise NoRow("a transform that no call of the program's calls")
        count, names = self.site
        top = view.num_variables + view.depth
        if names is None:
            args = view.slot(top - 1 - count)
            kwargs = view.slot(top - 1) if count else {}
            callee = self.object_at(view, top - 2 - count) or self.object_at(view, top - 3 - count)
            if type(args) not in (tuple, list) or type(kwargs) is not dict:
                raise NoRow("a transform that is called with arguments in objects of other classes")
            return functools.partial(callee, *args, **kwargs)
        objects = [self.object_at(view, top - count - 2 + place) for place in range(count + 2)]
        callee, *args = [objects[0] or objects[1], *objects[2:]] if None in objects[:2] else objects
        kwargs = dict(zip(names, args[len(args) - len(names) :], strict=True))
        return functools.partial(callee, *args[: len(args) - len(names)], **kwargs)

    @staticmethod
    def object_at(view, place):
        try:
            return view.slot(place)
        except LookupError as error:
            _frames.raise_of_handler(error)
            return None

    def call_traced(self, view, frame, name, function, arguments, names, others=()):
        """A call of what a transform returns, or of the transform: its function runs with other tensors. `others`: what the
        transform is given besides."""
        if self.transform is not None:
            raise NoRow(f"a call of {name} in torch.func.grad")
        is_inner = bool(self.traced) and not self.traced[-1].has_begun
        if not is_inner:
            self.traced.append(self.begin_trace(view, name))
            arguments = [self.virtual(value) for value in arguments]
            for value in others:
                self.virtual_parts(value)
        while isinstance(function, Transformed):
            function = function.function
        self.call_of(view, frame, function, arguments, names)
        if is_inner:
            return
        if self.entering is None:  # no code of Python's
            self.traced[-1].has_begun = True
            self.end_of_function(None)
        elif self.entering.finish is not None or self.entering.generator is not None:
            raise NoRow(f"a call of {name} of a generator, or of a module with hooks")
        else:
            self.entering.swaps = True
            self.entering.finish = self.end_of_function

    def begin_trace(self, view, name):
        if self.traced:
            return Traced(self, name, None)
        if any(mode[0] != "grad" for mode in self.modes):
            raise NoRow(f"a call of {name} in a mode")
        self.flag_of(self.state_of(torch.is_grad_enabled))
        register = self.emit("Call", self.register(self.constant(ambient)))
        self.see(register, ambient())
        self.check("CheckConst", register, object=ambient())
        if ambient()[0]:
            raise NoRow(f"a call of {name} in autocast")
        return Traced(self, name, self.real_call(view))

    def virtual(self, value):
        """What the transform's function gets for an argument."""
        if isinstance(value, NamedTuple):
            raise NoRow("a transform of a tuple of a class of its own")
        if isinstance(value, Keywords) or type(getattr(value, "object", None)) is dict:
            return Keywords({key: self.virtual(item) for key, item in self.keywords_of(value, most=MAX_INPUTS).items()})
        if type(value) is Fresh or type(getattr(value, "object", None)) in (tuple, list):
            kind = value.kind if isinstance(value, Fresh) else type(value.object)
            return Fresh(kind, [self.virtual(item) for item in self.parts_of(value)])
        if self.is_tensor(value):
            self.give(value)
            made = self.made_virtual(value.object)
            self.traced[-1].wrapped.add(made)
            return made
        if type(value) is not Value or type(value.object) not in PLAIN:
            raise NoRow("a transform with an argument of another class")
        self.pin(value)
        return value

    def made_virtual(self, object):
        made = Value(self.new_register(), object, typed=True)
        self.values[made.register] = made
        self.traced[0].virtual.add(made.register)
        return made

    def call_with_function(self, view, frame, callee, arguments, names):
        """torch.func.jvp or vjp, which call their function."""
        is_vjp, tangents = callee.object is torch.func.vjp, []
        title = name_of_transform(callee.object)
        flags = dict(zip(names, arguments[len(arguments) - len(names) :], strict=True))
        for name, value in flags.items():
            if name not in ("has_aux", "strict"):
                raise NoRow(f"a call of {title} with other arguments")
            self.flag_of(value)
        function, *given = arguments[: len(arguments) - len(names)] or [None]
        if not is_vjp:
            if len(given) != 2 or not all(map(self.is_sequence, given)):
                raise NoRow(f"a call of {title} with other arguments")
            tangents = self.parts_of(given[1])
            given = self.parts_of(given[0])
        self.call_traced(view, frame, title, function, given, (), tangents)

    def give(self, tensor):
        self.traced[0].given.append(self.register(self.typed(tensor)))

    def virtual_parts(self, value):
        """Knows the tensors in a value that no code of the function gets."""
        if self.is_tensor(value):
            self.give(value)
        elif self.is_sequence(value):
            for part in self.parts_of(value):
                self.virtual_parts(part)
        elif isinstance(value, Keywords) or type(getattr(value, "object", None)) is dict:
            for part in self.keywords_of(value, most=MAX_INPUTS).values():
                self.virtual_parts(part)
        else:
            raise NoRow("a transform with an argument of another class")

    def call_pullback(self, view, pullback, arguments):
        """A call of what torch.func.vjp returned."""
        if self.traced:
            self.transformed = self.virtual_result
        elif pullback.num_writes != len(self.written):
            raise NoRow("a function that torch.func.vjp returned, after tensors were written to")
        else:
            real = self.real_call(view)
            running = self.begin_trace(view, "the function that torch.func.vjp returned")
            running.call = lambda: pullback.call()[1](*real.args, **real.keywords)
            running.given += pullback.given
            self.traced.append(running)
            self.transformed = functools.partial(self.end_of_transform, running)
        for value in arguments:
            self.virtual_parts(value)
        self.pending = Unseen()

    # ---- The end

    def end_of_function(self, result):
        """When the transform's function has returned."""
        running = self.traced[-1]
        if (len(self.stores), len(self.undo), len(self.context)) != running.num_changes or len(
            self.modes
        ) != running.depth:
            raise NoRow(f"a call of {running.name} of a function that changes something")
        self.transformed = functools.partial(self.end_of_transform, running)
        self.pending = Unseen()
        return self.pending

    def end_of_transform(self, running, result):
        """When the transform has returned."""
        if len(self.traced) > 1:
            self.traced.pop()
            return self.virtual_result(result)
        found = self.end_of_trace(running, result)
        self.traced.pop()
        return found

    def virtual_result(self, result):
        return self.value_of(result, map(self.made_virtual, leaves_of(result)), Pullback(None, (), 0))

    def value_of(self, result, leaves, pullback):
        """What a result is in the plan, of Values of its tensors. `pullback`: what a function in it is that vjp has made."""
        if isinstance(result, torch.Tensor):
            return next(leaves)
        if type(result) in (tuple, list):
            return Fresh(type(result), [self.value_of(item, leaves, pullback) for item in result])
        if type(result) is dict:
            return Keywords({key: self.value_of(item, leaves, pullback) for key, item in result.items()})
        if getattr(result, "__code__", None) in PULLBACKS:
            return pullback
        raise NoRow(f"a transform that returns a {type(result).__name__}")

    def end_of_trace(self, running, result):
        """Puts the traced function in the place of what was recorded since the transform began."""
        name = f"a call of {running.name}"
        touched = self.take_computed(running)
        leaves = leaves_of(result)
        if not leaves or any(type(leaf) is not torch.Tensor for leaf in leaves):
            raise NoRow(f"{name} that returns other than tensors")
        inputs = {}  # tensor's identity -> registers
        for register in touched:
            inputs.setdefault(id(self.values[register].object), []).append(register)
        if len(inputs) > MAX_INPUTS:
            raise NoRow(f"{name} of many tensors")
        recording, results = self.traced_call(name, running.call, list(inputs.values()))
        graph = recording.graph()
        used = self.used_inputs(graph, list(inputs.values()), name)
        self.require_one_each(used, name)
        taken = [registers[0] for registers in used]
        function = self.function_of_trace(recording, graph, taken)
        objects = [self.values[register].object for register in taken]
        if not are_alike(results, leaves) or not are_alike(leaves_of(function(*objects)), leaves):
            raise NoRow(f"{name} whose trace computes something else")
        self.check_kinds(dict.fromkeys([*taken, *touched]), name)
        num_operators = sum(node.kind().startswith("aten::") for node in graph.nodes())
        self.num_calls += max(1, num_operators)
        self.num_saved += INSTRUCTIONS_OF_OPERATOR * num_operators
        made = self.compute("Call", self.register(self.constant(function)), inputs=taken)
        return self.value_of(
            result, iter(self.values_of_leaves(made, leaves)), Pullback(running.call, touched, len(self.written))
        )

    def take_computed(self, running):
        """Drops the steps that compute of tensors what the traced function computes, and checks of it. The tensors from outside
        that they were given; numbers and the like that they were given are checked."""
        virtual, kept, taken = running.virtual, [], []
        for step in self.steps[running.first_step :]:
            kind, target, *_ = step
            reads = reads_of(step)
            of_tensors = kind in COMPUTES and any(self.is_tensor(self.values.get(each)) for each in (target, *reads))
            if not of_tensors and virtual.isdisjoint(reads):
                kept.append(step)
                continue
            if target >= 0:
                virtual.add(target)
            taken += reads
        self.steps[running.first_step :] = kept
        for register in virtual:
            self.values.pop(register, None)
        steps = {step[1]: step for step in self.steps}
        todo, seen = [register for register in taken if register not in virtual], set()
        while todo:
            register = todo.pop()
            if register in seen:
                continue
            seen.add(register)
            if steps.get(register, ("",))[0] in STRUCTURES:
                todo += reads_of(steps[register])
            elif steps.get(register, ("",))[0] != "LoadConst" and self.is_data(self.values.get(register)):
                if register in self.of_contents:
                    raise NoRow(f"a call of {running.name} with a number that a tensor's contents decide")
                object = self.values[register].object
                is_single = any(object is known for known in SINGLETONS)
                self.check("CheckIs" if is_single else "CheckConst", register, object=object)
        return [each for each in sorted({*seen, *running.given}) if self.is_tensor(self.values.get(each))]

    @staticmethod
    def is_data(value):
        """Whether it is a number or the like, which the trace has as a constant."""
        return type(value) is Value and type(value.object) in (*PLAIN, *OPAQUE)

    def traced_call(self, name, call, inputs):
        try:
            with Indexing() if self.num_index_modes else contextlib.nullcontext():
                return trace(call, [self.values[registers[0]].object for registers in inputs])
        except Exception as error:
            _frames.raise_of_handler(error)
            raise NoRow(f"{name} that can't be traced: {str(error).splitlines()[:1]}") from None

    def used_inputs(self, graph, inputs, name):
        """The registers of those inputs that a graph has a use for; the others are taken from it."""
        used, memory = [], [memory_of(self.values[registers[0]].object) for registers in inputs]
        for place, value in reversed(list(enumerate(graph.inputs()))):
            if not value.uses():
                graph.eraseInput(place)
                continue
            if memory.count(memory[place]) > 1:
                raise NoRow(f"{name} of two tensors of one memory")
            used.append(inputs[place])
        return used[::-1]

    def require_one_each(self, used, name):
        """Checks that tensors that the plan has by several names are one, as they were in this run."""
        for first, *others in used:
            for other in others:
                if first not in self.read or other not in self.read:
                    raise NoRow(f"{name} of a tensor that has two names")
                register = self.emit("Is", first, 0, inputs=[other])
                self.see(register, True)
                self.check("CheckIs", register, object=True)

    def function_of_trace(self, recording, graph, taken):
        """The function of a trace. Of what the plan itself computes, it asserts that it is as it was."""
        names = [f"v{i}" for i in range(len(taken))]
        lines, outside = [], self.outside_of(taken)
        for each, register in zip(names, taken, strict=True):
            if register not in outside:
                tensor = self.values[register].object
                lines.append(f"    assert {each}.size() == {list(tensor.shape)} and {each}.dtype == {tensor.dtype}")
                lines.append(f"    assert {each}.stride() == {list(tensor.stride())}")
        if lines:
            unit = _C._CompilationUnit()
            parameters = ", ".join(f"{each}: Tensor" for each in names)
            unit.define("\n".join([f"def check({parameters}):", *lines, ""]), "", {"torch": torch})
            with graph.insert_point_guard(next(iter(graph.nodes()))):
                graph.insertGraph(unit.find_function("check").graph, list(graph.inputs()))
        function = recording.declare(f"traced_{next(_names)}")
        function._keep_exact()
        traced_functions[function.name] = function
        return function

    def outside_of(self, registers):
        """The tensors from outside that registers hold, or are computed of."""
        made, steps = self.made_of_tensors(), {step[1]: step for step in self.steps}
        found, todo, seen = set(), list(registers), set()
        while todo:
            register = todo.pop()
            if register in seen or register < 0:
                continue
            seen.add(register)
            if self.is_tensor(self.values.get(register)) and register not in made:
                found.add(register)
            elif register in steps:
                todo += reads_of(steps[register])
        return found

    def check_kinds(self, registers, name):
        """Checks the kinds of the tensors that a trace was made for."""
        if self.calls_added():
            raise NoRow(f"{name} of what other functions compute")
        outside = sorted(self.outside_of(registers))
        kinds = kinds_of(*[self.values[register].object for register in outside])
        seen = self.options.traced.setdefault(self.here[0], {}).setdefault(self.here[1], set())
        if kinds not in seen and len(seen) >= MAX_KINDS:
            raise NoRow(f"{name} of tensors of many kinds")
        seen.add(kinds)
        register = self.emit("Call", self.register(self.constant(kinds_of)), inputs=outside)
        self.see(register, kinds)
        self.check("CheckConst", register, object=kinds)

    def values_of_leaves(self, made, leaves):
        """The Values of what the traced function returns."""
        registers = [made]
        if len(leaves) > 1:
            self.see(made, tuple(leaves))
            registers = [self.emit("Item", made, place) for place in range(len(leaves))]
        found = [Value(register, leaf, typed=True) for register, leaf in zip(registers, leaves, strict=True)]
        self.values.update((value.register, value) for value in found)
        return found
