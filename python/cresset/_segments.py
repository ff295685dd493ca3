"""What of a recorded plan is a graph: its tensor calls, and what they are given.

A plan has no effects but its results, so all of its reads, checks and arithmetic on numbers can come before all of its
calls on tensors, and checks of what those return after them. So a plan becomes: reads and checks, one call of a graph,
checks of what it returned. Numbers that are read from arguments and from their sizes are inputs of the graph; what is a
constant in it is one in the program, or is checked.

What can't be said like this (identity of intermediate results, attributes of their own) raises `NotAGraph`; then the plan
stays as it was recorded.
"""

import functools
import math
import operator
import weakref

import torch

from . import _C

TENSORS = (torch.Tensor, torch.nn.Parameter)
OF_PLACES = {  # their `a` is a variable or a place of the stack, no register
    "LoadSlot",
    "CheckNull",
    "CheckOwnCell",
    "CheckOwnDict",
    "CheckHeld",
}
COMPUTES = {"Call", "Binary", "Compare", "Is", "Unary", "GetItem", "GetAttr"}
STRUCTURES = {"Tuple": tuple, "List": list, "Dict": dict, "NamedTuple": tuple, "Slice": slice}
BINARY = (  # in the order of BINARY_OP's arguments
    operator.add, operator.and_, operator.floordiv, operator.lshift, operator.matmul, operator.mul, operator.mod,
    operator.or_, operator.pow, operator.rshift, operator.sub, operator.truediv, operator.xor,
    operator.iadd, operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul, operator.imul, operator.imod,
    operator.ior, operator.ipow, operator.irshift, operator.isub, operator.itruediv, operator.ixor,
)  # fmt: skip
NUM_BINARY = 13  # those in place follow
COMPARE = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
UNARY = (operator.neg, operator.pos, operator.invert)
OPERATORS = {"Binary": BINARY, "Compare": COMPARE, "Unary": UNARY}
SINGLETONS = (None, True, False, Ellipsis)
BY_CLASS = (type(None), type(Ellipsis))  # the class, which is checked, says all
PINNED = (bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format)


#: What asks a tensor for its kind, whatever its contents.
OF_SIZES = (torch.Tensor.size, torch.Tensor.dim, torch.Tensor.ndimension, torch.Tensor.numel, torch.Tensor.stride,
            torch.Tensor.is_complex, torch.Tensor.is_floating_point, torch.is_complex, torch.is_floating_point,
            torch.is_tensor, len)  # fmt: skip


def kinds_of(*tensors):
    """What a traced function depends on of its tensors."""
    return tuple(
        (tuple(t.shape), t.stride() if t.layout is torch.strided else (), t.dtype, t.device, t.layout, t.requires_grad)
        for t in tensors
    )


def devices_and_dtypes(*tensors):
    """What lists of tensors are grouped by."""
    return tuple((tensor.device, tensor.dtype) for tensor in tensors)


#: What reads nothing that a write to a tensor's memory changes.
OF_KINDS = (*OF_SIZES, devices_and_dtypes, dict.get, dict.__contains__, getattr, kinds_of, _C._are_leaves, _C._are_same_objects,
            _C._have_own_memory)  # fmt: skip


traced_functions = (
    weakref.WeakValueDictionary()
)  # what traces of transforms have made, by the names that texts have for them


def is_traced(function):
    return type(function) is _C.ScriptFunction and traced_functions.get(function.name) is function


class NotAGraph(Exception):
    """The text says why. `register`: what the step computes that can't be in the graph, if it is one."""

    def __init__(self, reason, register=-1):
        super().__init__(reason)
        self.register = register


def function_of(kind, number):
    """The function that a step of a plan calls, if it is not in a register."""
    if kind in OPERATORS:
        return OPERATORS[kind][number]
    return getattr if kind == "GetAttr" else operator.getitem


class Ref:
    """A value of the graph, as an argument."""

    __slots__ = ("register",)

    def __init__(self, register):
        self.register = register


class Other(Ref):
    """A value of the plan that can't be in a graph."""

    __slots__ = ()


class Node:
    """A call of the graph. `method` is the name of a method of tensors, or None; `names` those of the last arguments.
    `written` is the register of the argument that it writes to, and returns, if any; `grad_mode` whether gradients are on
    in it, None if as around the graph; `modes` those of _C._CallInModes if they are not of gradients only; `ends_casts`
    whether casts that autocast keeps are dropped; `effect` the registers that it writes to besides, none of a call that draws
    random numbers, None of one without effect; `takes_sizes` whether all that it takes of the graph are sizes of tensors."""

    __slots__ = (
        "arguments",
        "effect",
        "ends_casts",
        "function",
        "grad_mode",
        "method",
        "modes",
        "name",
        "names",
        "place",
        "register",
        "step",
        "takes_sizes",
        "written",
    )

    def __init__(self, register, function, arguments, place, name=None, method=None, names=(), step=None):
        self.register, self.function, self.arguments, self.names = register, function, arguments, names
        self.place, self.name, self.method = place, name, method
        self.step = step  # of the plan, that does the same
        self.written = self.grad_mode = self.modes = self.effect = None
        self.takes_sizes = False
        self.ends_casts = ends_casts(function)

    @property
    def is_random(self):
        return self.effect == []


def ends_casts(function):
    """Whether a call of it drops the casts of parameters that autocast keeps."""
    return isinstance(function, _C._KeptCasts)


def is_of_sizes(node):
    """Whether it is a root of a size: a number that Python and the language compute alike."""
    if not node.takes_sizes or node.names:
        return False
    if node.function is math.sqrt:
        return isinstance(node.arguments[0], Ref)
    return node.function is operator.pow and type(node.arguments[1]) is float and 0 < node.arguments[1] < 2


def is_tensor(object):
    return type(object) in TENSORS


def has_names(result):
    """Whether it is what an operator of several results returns, such as `torch.sort`."""
    return isinstance(result, tuple) and type(result).__module__ == "torch.return_types"


def is_of_tensors(object):
    return is_tensor(object) or (isinstance(object, (tuple, list)) and len(object) > 0 and all(map(is_tensor, object)))


def reads_of(step):
    kind, _, a, _, _, inputs = step
    return inputs if kind in OF_PLACES or a < 0 else (a, *inputs)


class Segment:
    """The graph of a plan: `nodes`, `inputs` and `outputs` (registers of the plan), `examples` (the inputs of this run).
    Where it is for a backend (not for Cresset itself), `attributes` are {register: (path, tensor)} of the parameters and
    buffers, which are no inputs then, and each node stands for itself: what the plan could do has nodes, too."""

    def __init__(self, recorder, steps, outputs, dynamic, for_backend):
        self.recorder, self.dynamic, self.for_backend = recorder, dynamic, for_backend
        self.made_by = {step[1]: step for step in steps if step[1] >= 0}
        self.constants = self.find_constants(steps)
        self.structures = {}  # register -> step
        self.inside = set()
        self.methods = {}  # register -> step, of methods of what the graph computes
        self.outside, self.delayed, self.pins = [], [], []
        self.sizes = set()  # registers of sizes of tensors, which are not negative
        self.roots = set()  # registers of their roots
        self.measured = {}  # register of a length that stands for a step that checks a size: that step
        self.hidden = set()  # names that the class is to give, not the object
        self.nodes, self.inputs, self.examples, self.attributes = [], [], [], {}
        self.owners = []  # modules that attributes belong to
        for step in steps:
            self.place(step)
        self.plan_outputs = [register for _, register in outputs if register >= 0]
        self.outputs = self.find_outputs()
        self.check_inputs()

    def find_constants(self, steps):
        """What registers hold by the program's text, or because a step checks it."""
        found = dict(self.recorder.constants)
        for kind, target, a, _, object, _ in steps:
            if kind == "LoadConst":
                found[target] = object
            elif kind == "CheckConst" or (kind == "CheckIs" and any(object is known for known in SINGLETONS)):
                found.setdefault(a, object)
        return found

    # ---- Where steps go

    def place(self, step):
        kind, target, a, _, object, _ = step
        depends = not self.inside.isdisjoint(reads_of(step))
        if kind in COMPUTES:
            self.place_compute(step, depends)
        elif kind in STRUCTURES:
            self.structures[target] = step
            if depends:
                self.inside.add(target)
            else:
                self.outside.append(step)
        elif not depends:
            self.outside.append(step)
        elif kind == "Item":
            self.add(
                Node(
                    target, operator.getitem, (Ref(a), step[3]), self.place_of(target), self.name_of(target), step=step
                )
            )
        elif kind == "ClassItem":
            self.methods[target] = step
            self.inside.add(target)
        elif kind == "CheckCode" and a in self.methods:
            # Which method it is follows from the class.
            function = self.recorder.new_register()
            self.outside.append(("LoadConst", function, -1, -1, self.recorder.values[a].object, ()))
            self.outside.append((kind, -1, function, -1, object, ()))
        elif kind == "CheckNoKey":
            self.hidden.add(object)
        elif kind == "CheckType":
            if not self.class_follows(a):
                self.delayed.append(step)
        elif kind in ("CheckConst", "CheckIs"):
            self.delayed.append(step)
        elif kind == "CheckSize":
            self.delay_size(step)
        else:
            raise NotAGraph("names of an intermediate result", a)

    def place_compute(self, step, depends):
        kind, target, *_ = step
        value = self.recorder.values.get(target)
        if value is None:
            raise NotAGraph("a result that was not seen", target)
        keeps_place = kind == "Call" and self.keeps_place(step)
        is_gradient = kind == "GetAttr" and step[4] == "grad"  # which a plan sets at its end
        if (target in self.recorder.aside or is_gradient) and not depends:
            self.outside.append(step)
            return
        if not depends and not keeps_place and not is_of_tensors(value.object):
            self.outside.append(step)
        elif kind == "Is":
            raise NotAGraph("the identity of an intermediate result", target)
        else:
            node = self.node_of(step)
            node.step = step
            self.add(node)

    def keeps_place(self, step):
        """Whether a call is to stay between the graph's: it drops casts, or reads what a write to a tensor from outside, of the
        program's or of a batch norm's statistics, may have changed."""
        function = self.recorder.values[step[2]].object
        is_now = type(function) is functools.partial  # of require_now
        if is_now or ends_casts(function) or step[1] in self.recorder.written or self.recorder.effects.get(step[1]):
            return True
        if type(function) is _C._CallInModes:
            function = function.function
        of_tensors = any(is_tensor(getattr(self.recorder.values.get(each), "object", None)) for each in step[5])
        writes = self.recorder.last_save is not None or any(self.recorder.effects.values())
        return writes and of_tensors and not any(function is one for one in OF_KINDS)

    def class_follows(self, register):
        """Whether the class of what the graph computes follows from the classes of what it is given."""
        step = self.made_by.get(register)
        return step is None or step[0] != "Binary" or BINARY[step[3]] is not operator.pow or register in self.roots

    def delay_size(self, step):
        register, function = self.recorder.new_register(), self.recorder.new_register()
        self.outside.append(("LoadConst", function, -1, -1, len, ()))
        call = ("Call", register, function, -1, None, (step[2],))
        self.add(Node(register, len, (Ref(step[2]),), self.place_of(step[2]), step=call))
        self.made_by[register] = call
        self.measured[register] = step
        self.recorder.see(register, step[3])
        self.delayed.append(("CheckConst", -1, register, -1, step[3], ()))

    def add(self, node):
        self.nodes.append(node)
        self.inside.add(node.register)
        taken = [argument.register for argument in node.arguments if isinstance(argument, Ref)]
        node.takes_sizes = self.sizes.issuperset(taken)
        if is_of_sizes(node):
            self.roots.add(node.register)
        if type(getattr(self.recorder.values.get(node.register), "object", None)) is int:
            of_size = node.function is operator.getitem and type(self.recorder.values[taken[0]].object) is torch.Size
            if of_size or node.function in (len, torch.Tensor.size, torch.Tensor.numel):
                self.sizes.add(node.register)

    def node_of(self, step):
        kind, target, a, b, object, inputs = step
        place, name = self.place_of(target), self.name_of(target)
        if kind == "Call":
            function, grad_mode = self.recorder.values[a].object, None
            modes = None
            if type(function) is _C._CallInModes:
                if self.for_backend:
                    raise NotAGraph("a grad mode that is not the caller's", target)
                function, modes = function.function, function.modes
                if all(kind == "grad" for kind, *_ in modes):
                    grad_mode, modes = modes[-1][1], None
            method = getattr(function, "__name__", None)
            is_method = isinstance(method, str) and getattr(torch.Tensor, method, None) is function
            arguments = tuple(self.argument(register) for register in inputs)
            node = Node(target, function, arguments, place, name, method if is_method else None, object or ())
            node.grad_mode, node.modes = grad_mode, modes
        else:
            arguments = tuple(self.argument(register) for register in (a, *inputs))
            if kind == "GetAttr":
                arguments = (*arguments, object)
            node = Node(target, function_of(kind, b), arguments, place, name)
        node.written = self.recorder.written.get(target)
        node.effect = self.recorder.effects.get(target)
        return node

    # ---- Arguments

    def argument(self, register):
        if register in self.constants and register not in self.inside:
            return self.constants[register]
        if register in self.structures:
            step = self.structures[register]
            if step[0] in ("Dict", "NamedTuple"):
                if not self.for_backend:
                    return Other(register)
                raise NotAGraph("a dict or named tuple as an argument", register)
            items = [self.argument(item) for item in step[5]]
            return slice(*items) if step[0] == "Slice" else STRUCTURES[step[0]](items)
        if register in self.methods:
            raise NotAGraph("a method as an argument", register)
        if register in self.inside:
            return Ref(register)
        value = self.recorder.values[register].object
        if is_tensor(value):
            return self.input(register, value)
        if type(value) in (int, float):
            if not self.for_backend and self.is_setting(register, value):
                return self.pinned(register, value)
            if self.dynamic is not False or type(value) is float:
                return self.input(register, value)
            return self.pinned(register, value)
        if type(value) in BY_CLASS:
            return value
        if type(value) in PINNED:
            return self.pinned(register, value)
        step = self.made_by[register]
        if not self.for_backend:
            return Other(register)
        if type(value) is torch.Size and step[0] == "GetAttr":
            self.add(Node(register, getattr, (self.argument(step[2]), step[4]), self.place_of(register)))
            return Ref(register)
        raise NotAGraph(f"an argument of class {type(value).__name__}", register)

    def is_setting(self, register, value):
        """Whether it is an attribute of an object, or an element of one, that had this value in all recordings: kernels are
        chosen by such numbers (the groups of a convolution)."""
        step = self.made_by.get(register)
        while step is not None and step[0] == "Item":
            step = self.made_by.get(step[2])
        owner = self.made_by.get(step[2]) if step is not None and step[0] == "DictItem" else None
        if owner is None or owner[0] != "InstanceDict":
            return False
        recorder = self.recorder
        return recorder.options.is_steady(recorder.code, (recorder.start, self.path(register)), value)

    def pinned(self, register, value):
        kind = "CheckIs" if type(value) is bool else "CheckConst"
        self.pins.append((kind, -1, register, -1, value, ()))
        self.constants[register] = value
        return value

    def input(self, register, value):
        if register in self.attributes or register in self.inputs:
            return Ref(register)
        owner = self.owner_of(register) if self.for_backend and is_tensor(value) else None
        if owner is not None:
            self.attributes[register] = (self.path(register), value)
            self.owners.append(owner)
            self.pins.append(("CheckIs", -1, register, -1, weakref.ref(value), ()))
        else:
            self.inputs.append(register)
            self.examples.append(value)
        return Ref(register)

    def owner_of(self, register):
        """The module whose parameter or buffer it is; None if it is none."""
        group = self.group_of(register)
        if group is None or group[4] not in ("_parameters", "_buffers"):
            return None
        name = self.made_by[register][4]
        if any(key == name and container == group[1] for container, key, _ in self.recorder.stores):
            return None  # another tensor in each call
        return self.recorder.values[self.made_by[group[2]][2]].object

    def group_of(self, register):
        """The step that reads `_parameters`, `_buffers` or `_modules`, if the register was read from one of them."""
        step = self.made_by[register]
        group = self.made_by.get(step[2]) if step[0] == "DictItem" else None
        names = self.made_by.get(group[2]) if group is not None and group[0] == "DictItem" else None
        is_group = (
            names is not None and names[0] == "InstanceDict" and group[4] in ("_parameters", "_buffers", "_modules")
        )
        return group if is_group else None

    def check_inputs(self):
        values = dict(zip(self.inputs, self.examples, strict=True)) | {r: t for r, (_, t) in self.attributes.items()}
        for register, value in values.items():
            if is_tensor(value):
                # An operator may return what it was given.
                self.pins += [("CheckNoKey", -1, register, -1, name, ()) for name in sorted(self.hidden)]
                if self.dynamic is False:
                    size = self.recorder.new_register()
                    self.pins.append(("GetAttr", size, register, -1, "shape", ()))
                    self.pins.append(("CheckConst", -1, size, -1, value.shape, ()))

    # ---- What comes out

    def find_outputs(self):
        """The values of the graph that the plan needs, in order; containers and methods of them are made after it."""
        found, after = {}, []
        todo = list(self.plan_outputs)
        needed = set()
        while todo:
            register = todo.pop()
            if register in needed:
                continue
            needed.add(register)
            if register in self.inside and register in self.structures:
                todo += self.structures[register][5]
            elif register in self.methods:
                todo.append(self.methods[register][2])
        checked = {register for step in self.delayed for register in reads_of(step)}
        self.needed = needed | checked
        for node in self.nodes:
            if node.register in needed or node.register in checked:
                found[node.register] = node
        for register in sorted(needed & self.inside):
            if register in self.structures or register in self.methods:
                after.append(self.structures.get(register) or self.methods[register])
        if self.for_backend:
            self.delayed = after + self.delayed
        return list(found)

    def results_in(self, registers):
        """Those of the registers, and of what containers and methods among them hold, that nodes compute."""
        todo, found = list(registers), []
        while todo:
            register = todo.pop()
            step = self.structures.get(register) or self.methods.get(register)
            if step is not None:
                todo += reads_of(step)
            elif register in self.inside:
                found.append(register)
        return found

    def steps_with(self, function):
        """The plan's steps with a call of `function(*inputs) -> tuple` for the graph."""
        callee, result = self.recorder.new_register(), self.recorder.new_register()
        steps = [*self.outside, *self.pins]
        steps.append(("LoadConst", callee, -1, -1, function, ()))
        steps.append(("Call", result, callee, -1, None, tuple(self.inputs)))
        steps.append(("CheckSize", -1, result, len(self.outputs), None, ()))
        steps += [("Item", register, result, i, None, ()) for i, register in enumerate(self.outputs)]
        return self.without_unused(steps + self.delayed)

    def without_unused(self, steps):
        """Containers and constants that only the graph has used need not be made."""
        used = {register for step in steps for register in reads_of(step)}
        used.update(self.plan_outputs)
        return [step for step in steps if step[1] in used or step[0] not in STRUCTURES and step[0] != "LoadConst"]

    # ---- Names

    def place_of(self, register):
        return self.recorder.places.get(register)

    def name_of(self, register):
        return self.recorder.names.get(register)

    def path(self, register):
        """How the program calls what a register was read from: `self.layer.weight`."""
        kind, _, a, b, object, _ = self.made_by[register]
        if kind == "LoadSlot":
            variables = self.recorder.frames[0].code.co_varnames
            return variables[a] if a < len(variables) else "value"
        if kind == "DictItem":
            group = self.group_of(register)
            owner = self.made_by[a] if group is None else self.made_by[group[2]]
            if owner[0] in ("InstanceDict", "ModuleDict"):
                return f"{self.path(owner[2])}.{object}"
            return f"{self.path(a)}.{object}"
        if kind in ("Item", "GetItem"):
            return f"{self.path(a)}.{b}" if kind == "Item" else f"{self.path(a)}.item"
        if kind in ("GetAttr", "ClassItem"):
            return f"{self.path(a)}.{object}"
        if kind in ("LoadGlobal", "LoadKeywordDefault"):
            return str(object)
        if kind in ("LoadCell", "LoadFree"):
            return self.name_of(register) or "captured"
        return self.name_of(register) or "value"


def function_name(function):
    return getattr(function, "__qualname__", None) or type(function).__qualname__
