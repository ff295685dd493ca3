"""Rows of frame capture for torch.autograd.grad. Part of `_recording.py`.

It runs along the tape that the plan itself records, from what the plan computes to what it computes or to leaves: then all that
it does besides is to that tape, which a plan that is given up leaves behind. So each run checks that no tensor from outside
brings a tape or hooks of its own (`are_plain_leaves`).
"""

import functools
import operator

import torch

from . import _C
from ._checkpoints import Checkpointed
from ._recording_values import NamedTuple, NoRow, Pairs, Value, View
from ._rows import argument_of, is_functional, is_in_place, was_added
from ._segments import BINARY, COMPARE, COMPUTES, UNARY, is_traced

GRAD, GRAD_CODE = torch.autograd.grad, torch.autograd.grad.__code__
REQUIRES_GRAD = torch.Tensor.requires_grad_
_ARGUMENTS = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused",
              "is_grads_batched", "materialize_grads")  # fmt: skip
_DEFAULTS = {
    "only_inputs": True,
    "is_grads_batched": False,
    "materialize_grads": False,
}  # the only values that rows know
_FLAGS = ("retain_graph", "create_graph", "allow_unused")


def begin_tape(tensor):
    """A tensor of the same value, from which on a tape is recorded, and which is part of the tape that the tensor is on."""
    if tensor.requires_grad and torch.is_grad_enabled():
        return tensor.view_as(tensor)
    return tensor.detach().requires_grad_()


def copy_of_gradient(gradient, leaf):
    """What a backward pass that records a tape gives a leaf that had no gradient: a copy, laid out as the leaf."""
    return torch.empty_like(leaf, requires_grad=False).copy_(gradient)


class SavedFlag:
    """Whether a tensor requires gradients, which a call puts back."""

    def __init__(self, tensor):
        self.tensor, self.flag = tensor, tensor.requires_grad

    def __call__(self):
        self.tensor.requires_grad_(self.flag)


def require_now(function, *arguments):
    """True, as the function says; else it raises, so that the plan is given up before its next call."""
    if not function(*arguments):
        raise RuntimeError("a tape of another kind")
    return True


def copy_fitting(out, value):
    """What `function(..., out=out)` does with its result, where that has the sizes and the dtype of `out`; else it raises."""
    if out.shape != value.shape or out.dtype != value.dtype:
        raise RuntimeError("a result of other sizes or of another dtype than out")
    return out.copy_(value)


_OPERATORS = (
    *BINARY,
    *COMPARE,
    *UNARY,
    operator.getitem,
    operator.setitem,
    getattr,
    GRAD,
    REQUIRES_GRAD,
    begin_tape,
    copy_fitting,
    copy_of_gradient,
    _C._as_gradients,
)


def are_plain_leaves(*tensors):
    """Whether those that require gradients are leaves without hooks."""
    return not any(t.requires_grad and (not t.is_leaf or t._backward_hooks) for t in tensors)


class Gradients:
    """What a recorder does for calls of torch.autograd.grad, and of requires_grad_ on what the plan makes."""

    def call_grad(self, callee, arguments, names):
        name = "a call of torch.autograd.grad"
        if self.options.backend is not None or _C._is_transformed():
            raise NoRow(f"{name} in a graph of a backend, or in a transform")
        self.no_hooks_of_tape(name)
        given = {key: argument_of(arguments, names, key, place) for place, key in enumerate(_ARGUMENTS)}
        given = {key: value for key, value in given.items() if value is not None}
        if len(given) != len(arguments) or not {"outputs", "inputs"} <= given.keys():
            raise NoRow(f"{name} with other arguments")
        for key in _DEFAULTS.keys() & given.keys():
            if self.flag_of(given.pop(key)) is not _DEFAULTS[key]:
                raise NoRow(f"{name} with other arguments")
        self.identical(callee)
        self.has_code(GRAD, GRAD_CODE)
        self.check_untransformed()
        inputs = []
        for key, value in given.items():
            is_plain = type(value) is Value
            if key in _FLAGS or (key == "grad_outputs" and is_plain and value.object is None):
                if not is_plain or type(value.object) not in (bool, type(None)):
                    raise NoRow(f"{name} with other arguments")
                self.pin(value)
                inputs.append(self.register(value))
            else:
                found = self.tensors_to(value, name)
                inputs.append(self.emit("List", inputs=[self.register(each) for each in found]))
        self.check_leaves(name)
        self.num_calls += 1
        function = self.register(self.constant(GRAD))
        self.pending = self.compute("Call", function, object=tuple(given), inputs=inputs)
        self.unpacked.add(self.pending)

    def tensors_to(self, value, name):
        """The tensors of an argument: one, or those of a list, a tuple, a dict's values or what `parameters()` yields."""
        if self.is_tensor(value):
            found = [value]
        elif isinstance(value, NamedTuple) or not (isinstance(value, (Pairs, View)) or self.is_sequence(value)):
            raise NoRow(f"{name} of other than tensors")
        else:
            found = self.iterated(value)
        if not found or not all(map(self.is_tensor, found)):
            raise NoRow(f"{name} of other than tensors")
        return [self.typed(each) for each in found]

    def check_leaves(self, name):
        """Checks that the tape of what is computed begins in the plan."""
        steps = {step[1]: step for step in self.steps}
        outside = self.tensors_from_outside()
        if any(self.is_computed(steps[register]) for register in outside) or self.calls_added():
            raise NoRow(f"{name} along what other functions compute")
        if not are_plain_leaves(*outside.values()):
            raise NoRow(f"{name} along what was computed before, or with hooks")
        self.require_of_tape(are_plain_leaves, (), outside)

    def require_of_tape(self, function, first, outside):
        """Checks what a function says of tensors, where a pass along the tape begins if the plan has set flags of theirs."""
        first = [self.register(self.constant(each)) for each in first]
        if self.flags:
            function = functools.partial(require_now, function)
        result = self.emit("Call", self.register(self.constant(function)), inputs=[*first, *outside])
        self.see(result, True)
        if not self.flags:
            self.check("CheckIs", result, object=True)

    def is_computed(self, step):
        """Whether a step computes what it makes, rather than finds it."""
        return step[0] == "Call" and self.values[step[2]].object is not dict.get

    def tensors_from_outside(self):
        """{register: tensor} of those that the plan has and that its calls have not computed."""
        kept = {step[1] for step in self.steps} - self.made_of_tensors()
        values = self.values.items()
        return {register: value.object for register, value in values if register in kept and self.is_tensor(value)}

    def check_untransformed(self):
        """Checks that no transform of torch.func runs, within which a tape is another thing."""
        if ("untransformed",) not in self.checked:
            self.checked["untransformed",] = True
            self.check("CheckZero", object=_C._is_transformed)

    def calls_added(self):
        """Whether the plan calls functions of which only their authors say what they do."""
        calls = (self.values[a].object for kind, _, a, *_ in self.steps if kind == "Call")
        return any(was_added(getattr(call, "function", call)) for call in calls)

    def made_of_tensors(self):
        """The registers of what calls of the plan compute of tensors, and of parts of it."""
        made = set()
        for kind, register, a, _, names, inputs in self.steps:
            if kind == "Call":
                function = self.values[a].object
                function = function.function if type(function) is _C._CallInModes else function
                is_known = any(function is each for each in _OPERATORS) or is_traced(function)
                is_known = is_known or is_functional(function) or is_in_place(function)
                is_known = is_known or type(function) is Checkpointed
                if is_known and not was_added(function):
                    made.add(register)
            elif kind in COMPUTES and (kind, names) != ("GetAttr", "grad"):
                if any(self.is_tensor(self.values.get(each)) for each in (a, *inputs)):
                    made.add(register)
            elif kind == "Item" and a in made:
                made.add(register)
        return made

    def call_requires_grad(self, callee, arguments, names):
        """`requires_grad_` of a tensor that a call of the plan has made: it becomes a leaf of the plan's own."""
        value = arguments[0] if arguments else None
        flag = argument_of(arguments, names, "requires_grad", 1)
        is_known = len(arguments) == 2 and flag is not None and not self.flags
        if is_known and self.is_off_tape(value) and not self.flag_of(flag):
            self.identical(callee)
            self.pending = value  # as it is
            return
        if self.is_tensor(value) and value.object.is_leaf and self.is_read(self.register(value)):
            self.set_flag(callee, value, True if flag is None else self.flag_of(flag))
            return
        may_be = (
            self.options.backend is None
            and not _C._is_transformed()
            and self.is_tensor(value)
            and value.register in self.new
        )
        if not may_be or len(arguments) != 1 + (flag is not None):
            raise NoRow("a tensor's requires_grad_")
        self.identical(callee)
        self.check_untransformed()
        inputs = [value.register] if flag is None else [value.register, self.register(flag)]
        if flag is not None:
            self.flag_of(flag)
        register = self.compute("Call", self.register(callee), object=names or None, inputs=inputs)
        self.see(register, value.object)
        self.written[register] = value.register
        self.pending = value  # the same object

    def set_flag(self, callee, value, flag):
        """`requires_grad_` of a leaf that is there, which is put back if the plan is given up."""
        self.not_in_transform("a tensor's requires_grad_")
        if (
            self.options.backend is not None
            or self.region is not None
            or _C._is_transformed()
            or self.traced_functions()
        ):
            raise NoRow("a tensor's requires_grad_")
        self.identical(callee)
        self.check_untransformed()
        leaf = self.leaf(value, "a tensor's requires_grad_")
        self.emit("Save", self.register(self.constant(SavedFlag)), inputs=[leaf.register])
        inputs = [value.register, self.register(self.constant(flag))]
        register = self.compute("Call", self.register(self.constant(REQUIRES_GRAD)), inputs=inputs)
        self.see(register, value.object)
        self.written[register] = value.register
        self.flags[leaf.register] = flag
        self.pending = value

    def traced_functions(self):
        """Whether the plan calls traces of transforms, which depend on what requires gradients when it begins."""
        return any(kind == "Call" and is_traced(self.values[a].object) for kind, _, a, *_ in self.steps)

    def flag_at(self, owner):
        """The Value of `requires_grad` of a tensor that the plan has set it of; None of others."""
        if not self.flags or not self.is_read(self.register(owner)):
            return None
        leaf = self.leaf(owner, "a tensor's requires_grad")
        return self.constant(self.flags[leaf.register]) if leaf.register in self.flags else None

    def is_off_tape(self, value):
        """Whether a tensor requires no gradients, checked."""
        if not self.is_tensor(value) or value.object.requires_grad or self.options.backend is not None:
            return False
        self.not_in_transform("a tensor's requires_grad_")
        register = self.emit("GetAttr", self.register(value), object="requires_grad")
        self.see(register, False)
        self.check("CheckIs", register, object=False)
        return True

    def set_requires_grad(self, owner, flag):
        """`x.requires_grad = flag`."""
        self.call_requires_grad(self.constant(REQUIRES_GRAD), [owner, flag], ())
        self.pending = None
