"""Rows of frame capture for `F.apply` of a user's `torch.autograd.Function`. Part of `_recording.py`.

The recorder follows `forward`, and `setup_context`, as any callee, without gradients: what they compute is part of the plan, and of
its graphs. What they set of the context is known until they return; then one call (`_functions.py`) has PyTorch make the node of
the tape, with the user's `backward`. Where gradients are off there is no node.
"""

import torch
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from . import _C
from ._functions import Applied
from ._recording_values import PLAIN, Fresh, NoRow, Transient, Value, is_whole
from ._rows import makes_memory
from ._segments import BINARY, COMPARE, COMPUTES, NUM_BINARY, UNARY, reads_of

APPLY = torch.autograd.Function.__dict__["apply"].__func__
APPLY_CODE = APPLY.__code__
SETUP_CONTEXT = torch.autograd.Function.setup_context
NAME = "a call of autograd.Function.apply"
#: What a class of Functions may have that changes how its `backward` is called.
FLAGS = ("boxed_grads_call", "clear_saved_tensors_on_access")
#: What the methods of a context set.
SET_BY_METHODS = ("materialize_grads", "non_differentiable", "saved_for_forward", "to_save")
#: How many instructions of CPython take as long as what Function.apply does in Python.
INSTRUCTIONS_OF_APPLY = 100
_MAKING = (*BINARY[:NUM_BINARY], *COMPARE, *UNARY)  # of new tensors


def holds_tensors(object):
    if type(object) in (tuple, list):
        return any(map(holds_tensors, object))
    return type(object) is dict or isinstance(object, torch.Tensor)


class FunctionContext(Transient):
    """The context of a call. `kind`: the Value of its class; `arguments`: of the call; `attributes`: what was set, by name."""

    __slots__ = ("arguments", "attributes", "kind")

    def __init__(self, kind, arguments):
        self.kind, self.arguments, self.attributes = kind, arguments, {}


class Functions:
    """What a recorder does for autograd.Functions."""

    def init_functions(self):
        # Registers of tensors that eager calls are to make: those of a graph might be no views of the same tensors.
        self.eager = set()

    def call_apply(self, callee, arguments, names):
        if self.options.backend is not None or self.transform is not None or self.traced or _C._is_transformed():
            raise NoRow(f"{NAME} in a graph of a backend, or in a transform")
        owner, *arguments = arguments or [None]
        kind = getattr(owner, "object", None)
        if names or not isinstance(kind, type) or not issubclass(kind, torch.autograd.Function):
            raise NoRow(f"{NAME} with other arguments")
        self.identical(callee)
        self.has_code(APPLY, APPLY_CODE)
        self.check_untransformed()
        self.check_no_tangents()
        if any(getattr(owner.object, name, False) is not False for name in FLAGS):
            raise NoRow(f"{NAME} of a class that is called in another way")
        forward = self.member_of_class(owner, "forward")
        kind = Value(self.emit("ClassMember", self.register(owner), object="_backward_cls"), owner.object._backward_cls)
        self.member_version(kind)
        context, setup = FunctionContext(kind, arguments), None
        if owner.object.setup_context is not SETUP_CONTEXT:
            setup = self.member_of_class(owner, "setup_context")
            self.add_defaults(forward, arguments)
        self.know_arguments(arguments)
        records = self.flag_of(self.grad_mode())
        depth, owned = len(self.modes), self.owned
        if records:
            self.modes.append(("grad", False))
        self.owned = set()  # of what `forward` itself makes

        def finish(result):
            if len(self.modes) != depth + records:
                raise NoRow(f"{NAME} of a function that sets a mode")
            del self.modes[depth:]
            parts, are_new = self.results_of_forward(result, arguments)
            self.owned |= owned
            self.num_saved += INSTRUCTIONS_OF_APPLY
            return result if are_new and not records else self.applied(context, result, parts)

        def set_up(result):
            if not is_whole(result):
                raise NoRow(f"{NAME} of a function that returns other than tensors")
            self.run_forward(setup, [context, Fresh(tuple, list(arguments)), result], lambda _: finish(result))

        if setup is None:
            self.run_forward(forward, [context, *arguments], finish)
        else:
            self.run_forward(forward, arguments, set_up)

    def run_forward(self, function, arguments, finish):
        self.call_function(function, arguments, ())
        if self.entering is None:
            raise NoRow(f"{NAME} of a generator")
        self.entering.swaps = True
        self.entering.finish = finish

    def check_no_tangents(self):
        """Checks that there is no differentiation in forward mode."""
        names = forward_ad.__dict__
        level = self.dict_item(self.register(self.constant(names)), "_current_level", names["_current_level"])
        self.pin(level)
        if level.object != -1:
            raise NoRow(f"{NAME} in forward mode")

    def grad_mode(self):
        """Whether gradients are on."""
        known = "grad mode", tuple(self.modes)
        if known not in self.checked:
            self.checked[known] = self.state_of(torch.is_grad_enabled)
        return self.checked[known]

    def know_arguments(self, arguments):
        """Checks which arguments are tensors: to those there are gradients."""
        for value in arguments:
            if isinstance(getattr(value, "object", None), torch.Tensor) and not self.is_tensor(value):
                raise NoRow(f"{NAME} with a tensor of a class of its own")
            if isinstance(value, Value):
                self.typed(value)

    def add_defaults(self, forward, arguments):
        """Adds the defaults of `forward`, which are arguments of the call where there is a `setup_context`."""
        code = self.code_of(forward)
        if code.co_kwonlyargcount:
            raise NoRow(f"{NAME} of a function with keyword arguments")
        arguments += [
            self.default(forward, code.co_argcount - place) for place in range(len(arguments), code.co_argcount)
        ]

    # ---- The context

    def attribute_of_context(self, frame, context, name, as_method):
        if name in context.attributes:
            self.push_callable(frame, context.attributes[name], as_method)
        elif name == "needs_input_grad":
            self.push_callable(frame, self.needs_of(context), as_method)
        elif as_method and FunctionCtx.__dict__.get(name) is getattr(context.kind.object, name, None) is not None:
            self.push_method(frame, self.member_of_class(context.kind, name), context)
        else:
            raise NoRow(f"a context's {name}")

    def needs_of(self, context):
        """Which arguments require gradients."""
        if self.flags:
            raise NoRow("a context's needs_input_grad after requires_grad was set")
        needs = []
        for value in context.arguments:
            if not self.is_tensor(value):
                needs.append(self.constant(False))
                continue
            register = self.emit("GetAttr", self.register(value), object="requires_grad")
            self.see(register, value.object.requires_grad)
            needs.append(self.typed(self.values[register]))
        return Fresh(tuple, needs)

    def set_attribute_of_context(self, context, name, value):
        is_own = hasattr(type(getattr(context.kind.object, name, None)), "__set__")
        if not is_whole(value) or (is_own and name not in SET_BY_METHODS) or name.startswith("__"):
            raise NoRow(f"a context's {name} that is set")
        context.attributes[name] = value

    # ---- The end

    def results_of_forward(self, result, arguments):
        """The parts of what `forward` has returned, and whether each tensor among them is in memory that it has made, and in that
        of no other. PyTorch makes views of others: what it is given has to be the very tensor that `forward` returns."""
        parts = result.items if type(result) is Fresh and result.kind is tuple else [result]
        tensors = [value for value in parts if self.is_tensor(value)]
        for value in parts:
            if not self.is_tensor(value):
                if type(value) is not Value or type(value.object) not in PLAIN:
                    raise NoRow(f"{NAME} of a function that returns other than tensors")
                self.typed(value)
        made = {step[1]: step for step in self.steps}
        registers = [self.register(value) for value in tensors]
        given = [self.register(value) for value in arguments if self.is_tensor(value)]
        others = [register for register in registers if register not in self.owned]
        if not tensors or len(set(registers)) < len(registers):
            raise NoRow(f"{NAME} of a function that returns one tensor twice, or none")
        if any(value.object.requires_grad for value in tensors if value.register not in others):
            raise NoRow(f"{NAME} of a function that returns what is on a tape")
        if len(registers) > 1 and not all(self.is_new_memory(made, each) for each in registers if each not in others):
            raise NoRow(f"{NAME} of a function that returns views")
        for register in others:
            if register not in given:
                if register not in made or not self.takes_only(made[register], given):
                    raise NoRow(f"{NAME} of a function that returns views")
                self.eager.add(register)
        return parts, not others

    def takes_only(self, step, given):
        """Whether a step computes a tensor of no others than those in the registers `given`."""
        if step[0] not in COMPUTES:
            return False
        return all(self.is_of(self.values.get(register), given) for register in reads_of(step))

    def is_of(self, value, given):
        """Whether a value holds no other tensors than those in the registers `given`."""
        if isinstance(value, Fresh):
            return all(self.is_of(item, given) for item in value.items)
        if self.is_tensor(value):
            return value.register in given
        return type(value) is Value and not holds_tensors(value.object)

    def is_new_memory(self, made, register):
        """Whether a call makes the tensor in memory of its own. `made`: steps by register."""
        step = made[register]
        if step[0] == "Item":
            step = made[step[2]]
        if step[0] != "Call":
            return step[0] in ("Binary", "Compare", "Unary")
        function = self.values[step[2]].object
        function = function.function if type(function) is _C._CallInModes else function
        return makes_memory(function) or any(function is each for each in _MAKING)

    def applied(self, context, result, parts):
        """The result of the call that has PyTorch make a node."""
        none = self.register(self.constant(None))
        places = [place for place, value in enumerate(parts) if self.is_tensor(value)]
        is_tuple = type(result) is Fresh
        call = Applied(len(context.arguments), len(parts), places if is_tuple else None, tuple(context.attributes))
        inputs = [self.register(context.kind)]
        inputs += [self.register(value) if self.is_tensor(value) else none for value in context.arguments]
        inputs += [self.register(value) for value in (*parts, *context.attributes.values())]
        self.num_calls += 1
        register = self.compute("Call", self.register(self.constant(call)), inputs=inputs)
        objects = [parts[place].object for place in places]
        self.see(register, tuple(objects) if is_tuple else objects[0])
        registers = [self.emit("Item", register, place) for place in range(len(places))] if is_tuple else [register]
        found = [Value(each, object, typed=True) for each, object in zip(registers, objects, strict=True)]
        self.values.update((value.register, value) for value in found)

        def see(result):
            for place, value in zip(places, found, strict=True):
                value.object = result[place] if is_tuple else result
                if type(value.object) is not torch.Tensor:
                    raise NoRow(f"{NAME} of a function that returns other than tensors")
            self.see(register, tuple([value.object for value in found]) if is_tuple else found[0].object)
            self.values.update((value.register, value) for value in found)

        self.transformed = see
        if not is_tuple:
            return found[0]
        items = list(parts)
        for place, value in zip(places, found, strict=True):
            items[place] = value
        return Fresh(tuple, items)
