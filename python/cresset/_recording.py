"""What frame capture understands: one method a bytecode instruction, which says what a plan has to read, check and call so
that the instruction need not run.

A recorder follows a frame while it really runs (src/cresset/capture/capture.h), so each value is known, and beside it the
register in which a plan would have it. What has no method here, or is used in a way that no method knows, ends the plan
before it and runs as the Python that it is: a method only ever removes work. So each may do only what is true whatever
the program does between two instructions of a plan, which is nothing: a plan calls only functions whose one effect is
their result (`_rows.py`).
"""

import dis
import operator
import sys
import types
import weakref

import torch

from . import _C, _frames
from ._graph_modules import BackendError, serve
from ._own_graphs import MIN_CALLS, steps_with_graphs
from ._rows import (
    HAS_TORCH_FUNCTION,
    argument_of,
    code_of,
    counts_calls,
    decisive_arguments,
    effect_of,
    is_functional,
    is_functional_attribute,
    is_given_in_place,
    is_in_place,
    is_of_numbers,
    makes_memory,
    refused_arguments,
    was_added,
)
from ._segments import NUM_BINARY, NotAGraph, Segment, function_of, reads_of

END = "the end of the function"
RETURNS = ("RETURN_VALUE", "RETURN_CONST")
MAX_STEPS = 16000
MAX_DEPTH = 24  # of calls in one plan
MAX_RECURSION = 6  # of calls of one function in one plan: modules that hold modules of their kind

TENSORS = (torch.Tensor, torch.nn.Parameter)
NUMBERS = (int, float, bool)
PLAIN = (int, float, bool, str, type(None), type(Ellipsis))
OPAQUE = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, slice)
SEQUENCES = (list, tuple, torch.Size)
GLOBAL_HOOKS = [
    name
    for name in dir(torch.nn.modules.module)
    if name.startswith("_global_") and type(getattr(torch.nn.modules.module, name)).__name__ == "OrderedDict"
]
MODULE_HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks")
# Whether something watches operators one by one (a trace, a mode of PyTorch): no frame is captured then.
WATCHERS = (_C._is_watched,)
# And what would see those of a plan that a check stops: no plan runs then.
NO_MODES = (_C._is_watched_closely,)
STATIC_CLASS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: not set in classes that cannot change


def _own(name):
    """A method of nn.Module as torch defines it; None if something else took its place before the import."""
    found = torch.nn.Module.__dict__.get(name)
    code = getattr(found, "__code__", None)
    return found if code is not None and code.co_filename == torch.nn.modules.module.__file__ else None


MODULE_CALL = {"__call__": _own("__call__"), "_call_impl": _own("_call_impl")}
MODULE_CODES = {name: getattr(function, "__code__", None) for name, function in MODULE_CALL.items()}
MODULE_GETATTR = _own("__getattr__")
MODULE_GETATTR_CODE = getattr(MODULE_GETATTR, "__code__", None)
PROP_GETATTR = torch.backends.PropModule.__dict__.get("__getattr__")  # of the modules of torch.backends
PROP_GETATTR_CODE = getattr(PROP_GETATTR, "__code__", None)
ITERATIONS = {f: f.__code__ for f in (torch.nn.Sequential.__iter__, torch.nn.ModuleList.__iter__)}
# Modules that hold modules: the methods that find one, and the code that each is known with.
CONTAINERS = {
    kind: {name: (kind.__dict__[name], kind.__dict__[name].__code__) for name in ("__getitem__", "__len__", *more)}
    for kind, more in (
        (torch.nn.Sequential, ("_get_item_by_idx",)),
        (torch.nn.ModuleList, ("_get_abs_string_index",)),
        (torch.nn.ModuleDict, ()),
    )
}


JOIN = "".join
TEXT = (format, str, repr, ascii)  # in the order of FORMAT_VALUE's argument


def _grad_mode(kind, is_enabled):
    methods = [getattr(kind, name) for name in ("__new__", "__init__", "__enter__", "__exit__")]
    return is_enabled, kind(), [(method, method.__code__) for method in methods if hasattr(method, "__code__")]


# Classes whose objects a `with` statement takes: what they do to the grad mode, an object, and the code that they have.
GRAD_MODES = {torch.no_grad: _grad_mode(torch.no_grad, False), torch.enable_grad: _grad_mode(torch.enable_grad, True)}


def _operators_of(kind):
    """The methods that operators call, by name."""
    found = {}
    for base in reversed(kind.__mro__):
        found.update((name, value) for name, value in base.__dict__.items() if name.startswith("__"))
    for name in ("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__slotnames__"):
        found.pop(name, None)
    return found


_operators = {kind: _operators_of(kind) for kind in TENSORS}
_codes_of_operators = [
    (method, method.__code__)
    for methods in _operators.values()
    for method in methods.values()
    if type(method) is types.FunctionType
]
_seen_versions = {}  # of the classes in TENSORS: the last in which their operators were torch's


def has_own_operators(kind):
    """Whether the operators of a class of tensors are those that it had when Cresset was imported."""
    version = _frames.version_of(kind)
    if not version:
        return False
    if _seen_versions.get(kind) != version:
        now, then = _operators_of(kind), _operators[kind]
        if now.keys() != then.keys() or any(now[name] is not then[name] for name in then):
            return False
        _seen_versions[kind] = version
    return all(method.__code__ is code for method, code in _codes_of_operators)


def graph_break():
    """A plan of compiled code ends before this call, and another may begin after it."""


class NoRow(Exception):
    """The instruction is not understood; the text says why."""


class Prologue(NoRow):
    """The frame is being made: no line of the program."""


class Value:
    """An object of the program and the register that has it in the plan. `fixed`: checks leave no other object or bits."""

    __slots__ = ("register", "object", "fixed", "typed")

    def __init__(self, register, object, fixed=False, typed=False):
        self.register, self.object, self.fixed, self.typed = register, object, fixed, typed


class Fresh(Value):
    """A tuple or list that the plan makes, if it is needed."""

    __slots__ = ("items", "kind")

    def __init__(self, kind, items):
        super().__init__(None, None)
        self.kind, self.items = kind, items


class Transient:
    """What a plan has no object for, so that it can't end while there is one."""

    __slots__ = ()


class GradMode(Transient):
    """A `torch.no_grad()` or `torch.enable_grad()`, and what a `with` calls at its end."""

    __slots__ = ("is_enabled",)

    def __init__(self, is_enabled):
        self.is_enabled = is_enabled


class EndOfGradMode(Transient):
    __slots__ = ()


class Super(Transient):
    """A `super()`: the class that it looks behind, and the object."""

    __slots__ = ("kind", "owner")

    def __init__(self, kind, owner):
        self.kind, self.owner = kind, owner


class Keywords(Transient):
    """A dict of keyword arguments, by name, in order: what a call or a `**parameter` makes."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items = items


class Cell(Transient):
    """A variable that inner functions share: one that a callee makes, of which the plan knows the value."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def read(self, recorder):
        if self.value is NULL:
            raise NoRow("a variable without a value")
        return self.value


class RealCell(Cell):
    """One that is there when the plan begins, or belongs to a function: `value` has the cell, or the function and a place."""

    __slots__ = ("place",)

    def __init__(self, value, place=None):
        self.value, self.place = value, place

    def read(self, recorder):
        try:
            if self.place is None:
                return Value(recorder.emit("LoadCell", self.value.register), self.value.object.cell_contents)
            cell = self.value.object.__closure__[self.place]
            return Value(recorder.emit("LoadFree", recorder.register(self.value), self.place), cell.cell_contents)
        except ValueError as error:
            _frames.raise_of_handler(error)
            raise NoRow("a variable without a value") from None


class Closure(Transient):
    """The cells of a function that is made."""

    __slots__ = ("cells",)

    def __init__(self, cells):
        self.cells = cells


class NewFunction(Transient):
    """A function that the program makes, of the code of one in which it stands: a comprehension, a lambda, a `def`."""

    __slots__ = ("cells", "code", "defaults", "keyword_defaults", "scope")

    def __init__(self, code, scope, defaults, keyword_defaults, cells):
        self.code = code
        self.scope = scope  # as FrameShadow's
        self.defaults, self.keyword_defaults, self.cells = defaults, keyword_defaults, cells


class BoundMethod(Transient):
    """A function and the object that is its first argument."""

    __slots__ = ("function", "owner")

    def __init__(self, function, owner):
        self.function, self.owner = function, owner


class Iterator(Transient):
    """What is left of an iteration that the plan unrolls."""

    __slots__ = ("items", "at")

    def __init__(self, items):
        self.items, self.at = items, 0


class Range(Iterator):
    """A range, before and after it is iterated over."""

    def __init__(self, made):
        super().__init__([Value(None, number, fixed=True, typed=True) for number in made])


class Pairs(Iterator):
    """An `enumerate` or `zip` before it is iterated over, once."""


OBJECT_GETATTRIBUTE = object.__getattribute__

#: Methods of dicts that rows do for keyword arguments.
DICT_METHODS = {
    name: getattr(dict, name) for name in ("copy", "get", "items", "keys", "pop", "setdefault", "update", "values")
}

NULL = None  # a place of the stack or a variable without object


class FrameShadow:
    def __init__(self, code, function=None):
        self.code = code
        self.function = function  # Value or NewFunction; None for the frame that the plan belongs to
        self.variables = {}
        self.cells = {}  # by place
        self.stack = []
        self.keywords = None

    @property
    def scope(self):
        """Value of the function whose globals its code has; None for those of the plan's frame."""
        return self.function.scope if isinstance(self.function, NewFunction) else self.function


class Recorder:
    """`options` says what plans are made of (`_capture.Options`)."""

    def __init__(self, code, position, view, options):
        self.steps = []
        self.num_registers = 0
        self.num_calls = 0
        self.checked = {}
        self.values = {}  # what was seen in registers
        self.owned = set()  # registers of tensors whose memory the plan has made, so that no other code can see a write
        self.appended = []  # lists that were appended to, in order
        self.constants = {}  # register -> tuple, each part of which is checked
        self.effects = {}  # register of a call's result -> registers of what it writes to besides; of random numbers none
        self.written = {}  # register of a call's result -> register of the tensor that it writes to and returns
        self.grad_modes = []  # of the `with` statements that are open
        self.names = {}  # variables that registers were stored to
        self.places = {}  # code and position of the instruction that each register was made for
        self.here = (code, position)
        self.frames = [FrameShadow(code)]
        self.entering = None
        self.pending = None
        self.has_returned = False
        self.at_end = False
        self.options = options
        self.start = position
        self.num_variables = view.num_variables
        for place in range(view.depth):
            self.frames[0].stack.append(self.slot(view, self.num_variables + place))
        self.checkpoint = None

    # ---- Steps

    def emit(self, kind, a=-1, b=-1, object=None, inputs=()):
        if len(self.steps) >= MAX_STEPS:
            raise NoRow("the plan is long enough")
        register = self.new_register()
        self.places[register] = self.here
        self.steps.append((kind, register, a, b, object, tuple(inputs)))
        return register

    def new_register(self):
        self.num_registers += 1
        return self.num_registers - 1

    def compute(self, kind, a, b=-1, object=None, inputs=(), owned=False):
        """A call on tensors, in the grad mode of the innermost `with` statement."""
        if self.grad_modes and (kind == "Call" or any(self.is_tensor(self.values.get(r)) for r in (a, *inputs))):
            if kind == "Call":
                function = self.values[a].object
            else:
                inputs = (a, *inputs) if object is None else (a, self.register(self.constant(object)))
                function = function_of(kind, b)
                object = None
            mode = _C._CallInGradMode(function, self.grad_modes[-1])
            kind, a, b = "Call", self.register(self.constant(mode)), -1
        register = self.emit(kind, a, b, object, inputs)
        if owned:
            self.owned.add(register)
        return register

    def is_owned(self, value):
        """Whether it is no tensor, or one in memory that the plan has made."""
        if isinstance(value, Fresh):
            return all(map(self.is_owned, value.items))
        return not self.is_tensor(value) or value.register in self.owned

    def writes(self, value, what):
        """Requires that a write to the tensor can be seen in the plan only."""
        if self.options.backend is not None or not self.is_tensor(value) or not self.is_owned(value):
            raise NoRow(what)
        memory = value.object.untyped_storage()._cdata
        for register, other in self.values.items():
            if register not in self.owned and self.is_tensor(other):
                if other.object.untyped_storage()._cdata == memory:
                    raise NoRow(what)

    def check(self, kind, a=-1, b=-1, object=None):
        if len(self.steps) >= MAX_STEPS:
            raise NoRow("the plan is long enough")
        self.steps.append((kind, -1, a, b, object, ()))

    def see(self, register, object):
        """What a register holds in this run."""
        self.values[register] = Value(register, object)

    def slot(self, view, index):
        try:
            object = view.slot(index)
        except LookupError as error:
            _frames.raise_of_handler(error)
            return NULL
        return Value(self.emit("LoadSlot", index), object)

    def constant(self, object):
        return Value(None, object, fixed=True, typed=True)

    def register(self, value):
        """The register that has the value."""
        if value is NULL or isinstance(value, Transient):
            raise NoRow("there is no object here")
        if value.register is None:
            if isinstance(value, Fresh):
                inputs = [self.register(item) for item in value.items]
                if len(inputs) > 32:
                    raise NoRow("a container of many elements")
                value.register = self.emit("Tuple" if value.kind is tuple else "List", inputs=inputs)
            else:
                value.register = self.emit("LoadConst", object=value.object)
        self.values[value.register] = value
        return value.register

    def typed(self, value):
        """Checks the exact class; of tensors also that it was not changed, since operators call its methods."""
        if value.typed or isinstance(value, Fresh):
            return value
        if type(value.object) in TENSORS:
            if not has_own_operators(type(value.object)):
                raise NoRow("tensors whose class was changed")
            self.versioned(value)
        else:
            self.check("CheckType", self.register(value), 0, weakref.ref(type(value.object)))
            value.typed = True
        return value

    def versioned(self, value):
        """Checks the class, and that neither it nor its bases have changed."""
        kind = type(value.object)
        version = _frames.version_of(kind)
        if not version:
            raise NoRow(f"the class {kind.__name__} changes often")
        self.check("CheckType", self.register(value), version, weakref.ref(kind))
        value.typed = True

    def pin(self, value):
        """Checks the truth value, and returns it."""
        if isinstance(value, (Fresh, Keywords)):
            return bool(value.items)
        if value is NULL or isinstance(value, Transient):
            raise NoRow("there is no object here")
        object = value.object
        if value.fixed:
            return bool(object)
        if object is None or object is True or object is False:
            self.check("CheckIs", self.register(value), object=object)
            value.fixed = True
        elif type(object) in (int, float, str):
            self.check("CheckConst", self.register(value), object=object)
            value.fixed = True
        elif type(object) in (dict, list, tuple):
            self.typed(value)
            self.check("CheckSize", self.register(value), len(object))
        elif issubclass(type(object), (torch.Tensor, type)) or not self.is_always_true(object):
            raise NoRow(f"the truth of a {type(object).__name__}")
        else:
            self.versioned(value)
        return bool(object)

    @staticmethod
    def is_always_true(object):
        return not any("__bool__" in c.__dict__ or "__len__" in c.__dict__ for c in type(object).__mro__)

    def is_tensor(self, value):
        return value is not NULL and isinstance(value, Value) and type(value.object) in TENSORS

    def is_number(self, value):
        return isinstance(value, Value) and not isinstance(value, Fresh) and type(value.object) in NUMBERS

    # ---- What capture.cpp calls

    def step(self, view, opcode, argument):
        frame = self.frames[-1]
        name = dis.opname[opcode]
        row = getattr(self, name, None)
        self.here = (frame.code, view.position)
        try:
            if row is None:
                raise NoRow(f"the instruction {name}")
            if len(self.frames) == 1 and self.is_clean(frame, name in RETURNS):
                self.take_checkpoint(view.position, frame)
            self.pending = None
            self.entering = None
            self.has_returned = False
            row(view, frame, argument)
            return True if self.entering is None else self.entering.code
        except NoRow as reason:
            refusal = self.stopped(reason)
            if refusal is not None:
                return refusal
            # In a callee: the plan ends before the call, and capture.cpp asks for it when the call has returned.
            return self.plan() if len(self.frames) == 1 else None

    def stopped(self, reason):
        """Notes what ended the plan. With `fullgraph` an exception for the program, unless it is the function's end."""
        code, position = self.here
        in_callee = len(self.frames) > 1
        self.options.note(code, position, str(reason))
        if str(reason) == END and not in_callee:
            self.at_end = self.checkpoint is not None and self.checkpoint[0] == position
        elif self.options.fullgraph and not isinstance(reason, Prologue):
            return self.options.refusal(code, position, str(reason))
        return None

    def after(self, view, opcode, next):
        pending, self.pending = self.pending, None
        if pending is None:
            return None
        if isinstance(pending, (Value, Transient)):
            self.frames[-1].stack.append(pending)
            return None
        result = view.slot(view.num_variables + view.depth - 1)
        try:
            kind = type(result)
            if kind not in TENSORS and kind not in PLAIN and kind not in OPAQUE and not self.is_of_tensors(result):
                raise NoRow(f"a result of class {kind.__name__}")
            value = self.values[pending] = Value(pending, result)
            self.typed(value)
        except NoRow as reason:
            refusal = self.stopped(reason)
            if refusal is None:
                raise
            return refusal
        self.frames[-1].stack.append(value)
        return None

    @staticmethod
    def is_of_tensors(result):
        return isinstance(result, (tuple, list)) and all(type(item) in TENSORS for item in result)

    def leaving(self, view, opcode, argument):
        if not self.has_returned:
            raise NoRow("a frame that CPython runs on")

    def enter(self, view):
        frame = self.entering
        self.entering = None
        if frame is None:
            raise NoRow("a frame that was not called")
        for index, value in frame.variables.items():
            if isinstance(value, Value) and not isinstance(value, Fresh) and view.slot(index) is not value.object:
                raise NoRow("a frame with other arguments")
        self.frames.append(frame)

    # ---- The end

    def is_clean(self, frame, returns=False):
        """Whether a plan can end here: there are objects in the stack and, if the frame goes on, in the variables."""
        shared = (cell.value for cell in frame.cells.values())
        values = frame.stack if returns else (*frame.stack, *frame.variables.values(), *shared)
        return frame.keywords is None and not any(isinstance(value, Transient) for value in values)

    def take_checkpoint(self, position, frame):
        self.checkpoint = (
            position, len(self.steps), self.num_calls,
            {place: value for place, value in self.variables_of(frame) if not isinstance(value, Transient)},
            list(frame.stack), len(self.appended),
        )  # fmt: skip

    @staticmethod
    def variables_of(frame):
        """(place, value) of the variables that the plan sets; of one that inner functions share, -1 - place."""
        return [*frame.variables.items(), *((-1 - place, cell.value) for place, cell in frame.cells.items())]

    def plan(self):
        """The plan up to the last instruction of its own frame where it can end; None if it would gain nothing. An
        exception if the backend raised, or if there is to be one graph and is none."""
        checkpoint, self.checkpoint = self.checkpoint, None
        if checkpoint is None:
            return None
        end, num_steps, num_calls, variables, stack, num_appended = checkpoint
        if num_calls == 0 or end == self.start:
            return None
        self.cut(variables, stack, num_steps, num_appended)
        outputs = []
        # A frame that returns here needs none of its variables.
        places = [] if self.at_end else list(variables.items())
        places += [(self.num_variables + place, value) for place, value in enumerate(stack)]
        try:
            outputs += [(place, -1 if value is NULL else self.register(value)) for place, value in places]
            checks = [("CheckZero", -1, -1, -1, function, ()) for function in NO_MODES]
            checks += [("CheckOwnCell", -1, -1 - place, -1, None, ()) for place in variables if place < 0]
            steps, info = self.with_graph(checks + self.without_unused(self.steps, outputs), outputs, num_calls)
        except NoRow as reason:
            return self.options.refusal(*self.here, str(reason)) if self.options.fullgraph else None
        except BackendError as error:
            return self.options.failed(error)
        return _frames.new_plan(
            self.start, end, self.num_registers, len(stack), self.with_last_uses(steps, outputs), outputs, info
        )

    def with_graph(self, steps, outputs, num_calls):
        """The steps with one call of a graph for what is computed of tensors, where there is a backend; and its size."""
        options = self.options
        if options.backend is None and options.dynamic is not False and num_calls < MIN_CALLS:
            return steps, 0
        try:
            segment = Segment(self, steps, outputs, options.dynamic, options.backend is not None)
        except NotAGraph as reason:
            if options.backend is not None:
                options.note(*self.here, f"no graph: {reason}")
            if options.backend is not None and options.fullgraph:
                raise NoRow(str(reason)) from None
            return steps, 0
        if options.backend is None:
            return self.with_own_graphs(steps, segment)
        if not segment.nodes:
            return steps + segment.pins, 0
        return segment.steps_with(serve(segment, options.backend)), len(segment.nodes)

    def with_own_graphs(self, steps, segment):
        compiled, size = steps_with_graphs(segment, steps)
        if compiled is not None:
            return compiled, size
        return steps + (segment.pins if self.options.dynamic is False else []), 0

    @staticmethod
    def without_unused(steps, outputs):
        """The steps without containers and texts that nothing uses, such as messages of assertions that hold."""
        used = {register for _, register in outputs}
        constants = {step[1]: step[4] for step in steps if step[0] == "LoadConst"}
        kept = []
        for step in reversed(steps):
            makes_text = step[0] == "Call" and any(constants.get(step[2]) is f for f in (*TEXT, JOIN))
            if step[1] not in used and (makes_text or step[0] in ("LoadConst", "Tuple", "List", "Slice")):
                continue
            used.update(reads_of(step))
            kept.append(step)
        return kept[::-1]

    def cut(self, variables, stack, num_steps, num_appended):
        """Drops the steps after the checkpoint, and the registers that they gave to values."""
        made = {step[1] for step in self.steps[num_steps:] if step[1] >= 0}
        del self.steps[num_steps:]
        for container in reversed(self.appended[num_appended:]):
            container.items.pop()
        todo = [*variables.values(), *stack]
        while todo:
            value = todo.pop()
            if isinstance(value, Value) and value.register in made:
                value.register = None
            if isinstance(value, Fresh):
                todo += value.items

    @staticmethod
    def with_last_uses(steps, outputs):
        kept = {register for _, register in outputs}
        last = {}
        for at, (kind, target, a, _, _, inputs) in enumerate(steps):
            for register in inputs if kind == "LoadSlot" else (a, *inputs):  # LoadSlot's `a` is a place
                last[register] = at
            last.setdefault(target, at)
        dead = {}
        for register, at in last.items():
            if register >= 0 and register not in kept:
                dead.setdefault(at, []).append(register)
        written = set()
        result = []
        for at, (kind, target, a, b, object, inputs) in enumerate(steps):
            if target >= 0:
                written.add(target)
            result.append((kind, target, a, b, object, inputs, tuple(r for r in dead.get(at, ()) if r in written)))
        return result

    # ---- The stack

    def NOP(self, view, frame, argument):
        pass

    def MAKE_CELL(self, view, frame, argument):
        if frame.function is None:
            raise Prologue("a variable of inner functions")
        frame.cells[argument] = Cell(frame.variables.pop(argument, NULL))

    RESUME = PRECALL = CACHE = JUMP_FORWARD = JUMP_BACKWARD_NO_INTERRUPT = NOP

    def JUMP_BACKWARD(self, view, frame, argument):
        # The jump itself sees to signals, and a loop without an end may not be unrolled without one.
        if frame.function is None and self.is_clean(frame) and not self.options.fullgraph:
            raise NoRow("the next iteration of a loop")

    def COPY_FREE_VARS(self, view, frame, argument):
        if frame.function is None:
            raise Prologue("the frame is not made yet")

    def POP_TOP(self, view, frame, argument):
        frame.stack.pop()

    def PUSH_NULL(self, view, frame, argument):
        frame.stack.append(NULL)

    def COPY(self, view, frame, argument):
        frame.stack.append(frame.stack[-argument])

    def SWAP(self, view, frame, argument):
        stack = frame.stack
        stack[-1], stack[-argument] = stack[-argument], stack[-1]

    def LOAD_CONST(self, view, frame, argument):
        frame.stack.append(self.constant(frame.code.co_consts[argument]))

    # ---- Variables

    def variable(self, view, frame, index):
        if index not in frame.variables:
            if frame.function is not None:
                raise NoRow("a variable without a value")
            # Not a change: the variable keeps what it has.
            value = self.checked.get(("slot", index))
            if value is None:
                value = self.checked[("slot", index)] = self.slot(view, index)
            if value is NULL:
                raise NoRow("a variable without a value")
            return value
        if frame.variables[index] is NULL:
            raise NoRow("a variable without a value")
        return frame.variables[index]

    def LOAD_FAST(self, view, frame, argument):
        frame.stack.append(self.variable(view, frame, argument))

    LOAD_FAST_CHECK = LOAD_FAST

    def LOAD_FAST_LOAD_FAST(self, view, frame, argument):
        first = self.variable(view, frame, argument >> 4)
        frame.stack += [first, self.variable(view, frame, argument & 15)]

    def STORE_FAST(self, view, frame, argument):
        value = frame.stack[-1]
        if isinstance(value, Transient) and not isinstance(value, NewFunction):
            raise NoRow("an iterator in a variable")
        value = frame.variables[argument] = frame.stack.pop()
        if isinstance(value, Value) and value.register is not None:
            variables = frame.code.co_varnames
            self.names.setdefault(value.register, variables[argument] if argument < len(variables) else "captured")

    def STORE_FAST_STORE_FAST(self, view, frame, argument):
        self.STORE_FAST(view, frame, argument >> 4)
        self.STORE_FAST(view, frame, argument & 15)

    def STORE_FAST_LOAD_FAST(self, view, frame, argument):
        self.STORE_FAST(view, frame, argument >> 4)
        self.LOAD_FAST(view, frame, argument & 15)

    def DELETE_FAST(self, view, frame, argument):
        self.variable(view, frame, argument)
        frame.variables[argument] = NULL

    def LOAD_DEREF(self, view, frame, argument):
        frame.stack.append(self.free_variable(view, frame, argument))

    def free_variable(self, view, frame, argument):
        return self.cell(view, frame, argument).read(self)

    def cell(self, view, frame, argument):
        """The cell of a variable that functions share."""
        if argument in frame.cells:
            return frame.cells[argument]
        if frame.function is None:
            cell = self.slot(view, argument)
            if cell is NULL or type(cell.object) is not types.CellType:
                raise NoRow("a variable without a cell")
            return RealCell(cell)
        code = frame.code
        index = argument - len(set(code.co_varnames) | set(code.co_cellvars))
        if index < 0 or index >= len(code.co_freevars):
            raise NoRow("a variable of an inner function")
        return (
            frame.function.cells[index] if isinstance(frame.function, NewFunction) else RealCell(frame.function, index)
        )

    def STORE_DEREF(self, view, frame, argument):
        if not isinstance(frame.stack[-1], (Value, NewFunction)):
            raise NoRow("an iterator in a variable")
        if argument not in frame.cells and frame.function is None and view.owns_cell(argument):
            frame.cells[argument] = Cell(NULL)  # no function has it yet: the plan's end sets it
        cell = self.cell(view, frame, argument)
        if isinstance(cell, RealCell):
            raise NoRow("a variable of other functions that is set")
        cell.value = frame.stack.pop()

    def LOAD_CLOSURE(self, view, frame, argument):
        frame.stack.append(self.cell(view, frame, argument))

    def MAKE_FUNCTION(self, view, frame, argument):
        stack = frame.stack
        code = stack.pop().object
        cells = stack.pop().cells if argument & 8 else []
        if argument & 4:
            stack.pop()  # annotations
        keyword_defaults = self.keywords_of(stack.pop()) if argument & 2 else {}
        defaults = []
        if argument & 1:
            given = stack.pop()
            defaults = given.items if isinstance(given, Fresh) else [self.constant(item) for item in given.object]
        if any(isinstance(value, Fresh) and value.kind is list for value in (*defaults, *keyword_defaults.values())):
            raise NoRow("a default that is a list")
        stack.append(NewFunction(code, frame.scope, defaults, keyword_defaults, cells))

    def LOAD_GLOBAL(self, view, frame, argument):
        null = argument & 1
        name = frame.code.co_names[argument >> 1]
        names, builtins = view.globals, view.builtins
        if type(names) is not dict:
            raise NoRow("globals that are no plain dict")
        if name in names:
            object = names[name]
        elif type(builtins) is dict and name in builtins:
            object = builtins[name]
        else:
            raise NoRow("a name that is not defined")
        a = -1 if frame.scope is None else self.register(frame.scope)
        key = ("global", a, name)
        value = self.checked.get(key)
        if value is None:
            value = self.checked[key] = Value(self.emit("LoadGlobal", a, object=name), object)
        self.push_callable(frame, value, null)

    @staticmethod
    def push_callable(frame, value, null):
        if not null:
            frame.stack.append(value)
        elif sys.version_info >= (3, 13):
            frame.stack += [value, NULL]
        else:
            frame.stack += [NULL, value]

    # ---- Attributes

    def LOAD_ATTR(self, view, frame, argument):
        if sys.version_info >= (3, 12):
            self.load_attribute(frame, frame.code.co_names[argument >> 1], argument & 1)
        else:
            self.load_attribute(frame, frame.code.co_names[argument], False)

    def LOAD_METHOD(self, view, frame, argument):
        self.load_attribute(frame, frame.code.co_names[argument], True)

    def load_attribute(self, frame, name, as_method):
        owner = frame.stack.pop()
        if isinstance(owner, Keywords) and name in DICT_METHODS and as_method:
            self.push_method(frame, self.constant(DICT_METHODS[name]), owner)
            return
        if isinstance(owner, Fresh) and owner.kind is list and name == "append" and as_method:
            self.push_method(frame, self.constant(list.append), owner)
            return
        if isinstance(owner, Super):
            self.super_attribute(frame, owner, name, as_method)
            return
        if owner is NULL or isinstance(owner, (Fresh, Transient)):
            raise NoRow("an attribute of a container")
        object = owner.object
        if type(object) is types.ModuleType:
            self.typed(owner)
            names = self.emit("ModuleDict", self.register(owner))
            if name not in object.__dict__ or name.startswith("__"):
                raise NoRow("a module's attribute that it computes")
            value = Value(self.emit("DictItem", names, object=name), object.__dict__[name])
            self.push_callable(frame, value, as_method)
            return
        if self.is_tensor(owner):
            self.tensor_attribute(frame, owner, name, as_method)
            return
        if issubclass(type(object), torch.backends.PropModule):
            self.backend_attribute(frame, owner, name, as_method)
            return
        if type(object) is dict and name == "get" and as_method:
            self.typed(owner)
            self.push_method(frame, self.constant(dict.get), owner)
            return
        if type(type(object).__getattribute__) is types.FunctionType and not as_method:
            function = self.class_attribute(owner, "__getattribute__", plainly=True)
            register = self.emit("ClassItem", self.register(owner), object="__getattribute__")
            self.call_inline(Value(register, function), [owner, self.constant(name)], ())
            return
        self.instance_attribute(frame, owner, name, as_method)

    def backend_attribute(self, frame, owner, name, as_method):
        """A name of the module that a `torch.backends` module stands for."""
        object, kind = owner.object, type(owner.object)
        if kind.__getattribute__ is not types.ModuleType.__getattribute__ or PROP_GETATTR is None:
            raise NoRow(f"an attribute of a {kind.__name__}")
        self.versioned(owner)
        if any(name in base.__dict__ for base in kind.__mro__) or kind.__getattr__ is not PROP_GETATTR:
            raise NoRow(f"an attribute that is computed: {name}")
        if name in object.__dict__:
            value = self.dict_item(self.instance_dict(owner), name, object.__dict__[name])
            self.push_callable(frame, value, as_method)
            return
        self.has_code(PROP_GETATTR, PROP_GETATTR_CODE)
        self.check("CheckNoKey", self.register(owner), object=name)
        module = object.__dict__.get("m")
        if type(module) is not types.ModuleType or name not in module.__dict__:
            raise NoRow(f"an attribute that is computed: {name}")
        inner = self.dict_item(self.instance_dict(owner), "m", module)
        self.typed(inner)
        names = self.emit("ModuleDict", self.register(inner))
        value = Value(self.emit("DictItem", names, object=name), module.__dict__[name])
        self.push_callable(frame, value, as_method)

    def tensor_attribute(self, frame, owner, name, as_method):
        found = self.class_attribute(owner, name)
        self.check("CheckNoKey", self.register(owner), object=name)
        if is_functional(found) or is_in_place(found):
            method = Value(self.emit("ClassItem", self.register(owner), object=name), found, fixed=True)
            if as_method:
                self.push_method(frame, method, owner)
            else:
                frame.stack.append(BoundMethod(method, owner))
        elif not as_method and is_functional_attribute(name, found):
            self.pending = self.compute("GetAttr", self.register(owner), object=name, owned=self.is_owned(owner))
        else:
            raise NoRow(f"a tensor's {name}")

    @staticmethod
    def push_method(frame, method, owner):
        frame.stack += [method, owner]

    def class_attribute(self, owner, name, plainly=False):
        """What the class has, checked; None if nothing. `plainly`: as object.__getattribute__ looks it up."""
        kind = type(owner.object)
        if type(kind).__getattribute__ is not type.__getattribute__:
            raise NoRow("a class of a class of its own kind")
        if kind.__getattribute__ is not object.__getattribute__ and not plainly:
            raise NoRow(f"an attribute of a {kind.__name__}")
        key = ("class", owner.register, kind)
        if owner.register is None or key not in self.checked:
            self.versioned(owner)
            self.checked[("class", owner.register, kind)] = True
        for base in kind.__mro__:
            if name in base.__dict__:
                return base.__dict__[name]
        return None

    def instance_attribute(self, frame, owner, name, as_method, plainly=False):
        found = self.class_attribute(owner, name, plainly)
        object = owner.object
        if type(found) is property and type(found.fget) is types.FunctionType and not as_method:
            made = self.emit("ClassItem", self.register(owner), object=name)
            register = self.emit("GetAttr", made, object="fget")
            self.see(made, found)
            self.see(register, found.fget)
            self.call_inline(Value(register, found.fget), [owner], ())
            return
        if name == "__dict__" and not as_method and type(found) is types.GetSetDescriptorType:
            names = self.names_of(object)
            if type(names) is not dict:
                raise NoRow("an object with names of its own kind")
            frame.stack.append(Value(self.instance_dict(owner), names))
            return
        if found is not None and type(found).__flags__ & STATIC_CLASS and type(found) is not types.FunctionType:
            raise NoRow(f"a class's {name} whose own class may change")
        if found is not None and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")):
            raise NoRow(f"a property: {name}")
        names = self.names_of(object)
        if type(names) is not dict and names is not None:
            raise NoRow("an object with names of its own kind")
        if names is not None and name in names:
            value = self.dict_item(self.instance_dict(owner), name, names[name])
            self.push_callable(frame, value, as_method)
            return
        if found is not None:
            self.check("CheckNoKey", self.register(owner), object=name)
            value = Value(self.emit("ClassItem", self.register(owner), object=name), found)
            if type(found) is types.FunctionType and as_method:
                self.push_method(frame, value, owner)
            elif type(found) is types.FunctionType:
                frame.stack.append(BoundMethod(value, owner))
            elif hasattr(type(found), "__get__"):
                raise NoRow(f"a bound {name}")
            else:
                self.push_callable(frame, value, as_method)
            return
        self.push_callable(frame, self.module_member(owner, name, names), as_method)

    @staticmethod
    def names_of(object):
        """The object's __dict__, found without running code of its class; None if it has none."""
        for base in type(object).__mro__:
            if "__dict__" in base.__dict__:
                if type(base.__dict__["__dict__"]) is not types.GetSetDescriptorType:
                    raise NoRow("a class with a __dict__ of its own")
                return OBJECT_GETATTRIBUTE(object, "__dict__")
        return None

    def instance_dict(self, owner):
        key = ("dict", self.register(owner))
        if key not in self.checked:
            self.checked[key] = self.emit("InstanceDict", self.register(owner))
        return self.checked[key]

    def dict_item(self, register, key, object):
        known = ("item", register, key)
        if known not in self.checked:
            self.checked[known] = Value(self.emit("DictItem", register, object=key), object)
        return self.checked[known]

    def module_member(self, owner, name, names):
        """A parameter, buffer or submodule, as nn.Module.__getattr__ finds it."""
        for held in self.member_groups(owner, name, names):
            if name in held.object:
                return self.dict_item(held.register, name, held.object[name])
        raise NoRow(f"no attribute {name}")

    def member_groups(self, owner, name, names):
        """The dicts in which nn.Module.__getattr__ looks, of a module that has no attribute of this name otherwise."""
        object = owner.object
        if (
            not issubclass(type(object), torch.nn.Module)
            or self.class_attribute(owner, "__getattr__") is not MODULE_GETATTR
        ):
            raise NoRow(f"an attribute that is computed: {name}")
        self.has_code(MODULE_GETATTR, MODULE_GETATTR_CODE)
        self.check("CheckNoKey", self.register(owner), object=name)
        for group in ("_parameters", "_buffers", "_modules"):
            members = names.get(group)
            if type(members) is not dict:
                raise NoRow("a module with members of its own kind")
            yield self.dict_item(self.instance_dict(owner), group, members)

    # ---- Operators

    def operands(self, left, right):
        for value in (left, right):
            if not self.is_tensor(value) and not self.is_number(value):
                raise NoRow("an operator on other than tensors and numbers")
        self.typed(left)
        self.typed(right)
        self.num_calls += self.is_tensor(left) or self.is_tensor(right)

    def BINARY_OP(self, view, frame, argument):
        right, left = frame.stack.pop(), frame.stack.pop()
        if argument == 0 and isinstance(left, Fresh) and isinstance(right, Fresh) and left.kind is right.kind:
            self.pending = Fresh(left.kind, [*left.items, *right.items])
            return
        self.operands(left, right)
        if argument >= NUM_BINARY:
            if self.is_tensor(left):
                self.writes(left, "an operator in place")
            else:
                argument -= NUM_BINARY
        register = self.compute("Binary", self.register(left), argument, inputs=[self.register(right)], owned=True)
        if argument >= NUM_BINARY:
            self.written[register] = self.register(left)
        self.pending = register

    def unary(self, frame, number):
        value = frame.stack.pop()
        self.operands(value, value)
        owned = number != 1 or self.is_owned(value)  # `+x` is x
        self.pending = self.compute("Unary", self.register(value), number, owned=owned)

    def UNARY_NEGATIVE(self, view, frame, argument):
        self.unary(frame, 0)

    def UNARY_POSITIVE(self, view, frame, argument):
        self.unary(frame, 1)

    def UNARY_INVERT(self, view, frame, argument):
        self.unary(frame, 2)

    def UNARY_NOT(self, view, frame, argument):
        frame.stack.append(self.constant(not self.pin(frame.stack.pop())))

    def TO_BOOL(self, view, frame, argument):
        frame.stack.append(self.constant(self.pin(frame.stack.pop())))

    def COMPARE_OP(self, view, frame, argument):
        right, left = frame.stack.pop(), frame.stack.pop()
        if any(not isinstance(value, Value) or isinstance(value, Fresh) for value in (left, right)):
            raise NoRow("a comparison of containers")
        tensors = self.is_tensor(left) or self.is_tensor(right)
        if sys.version_info >= (3, 13):
            if tensors and argument & 16:
                raise NoRow("the truth of a tensor")
            argument >>= 5
        elif sys.version_info >= (3, 12):
            argument >>= 4
        if tensors:
            self.operands(left, right)
        elif any(type(value.object) not in (*PLAIN, *OPAQUE) or self.is_slice(value) for value in (left, right)):
            raise NoRow("a comparison of objects")
        self.typed(left)
        self.typed(right)
        self.pending = self.compute("Compare", self.register(left), argument, inputs=[self.register(right)], owned=True)

    def IS_OP(self, view, frame, argument):
        right, left = frame.stack.pop(), frame.stack.pop()
        if isinstance(right, Value) and right.fixed and right.object is None and isinstance(left, Value):
            frame.stack.append(self.constant(self.is_none(left) != bool(argument)))
            return
        if isinstance(left, Value) and (left is right or left.register == right.register is not None):
            frame.stack.append(self.constant(not argument))  # one value under two names
            return
        self.pending = self.emit("Is", self.register(left), argument, inputs=[self.register(right)])

    def BINARY_SUBSCR(self, view, frame, argument):
        index, container = frame.stack.pop(), frame.stack.pop()
        if self.is_tensor(container):
            self.tensor_index(container, self.index(index))
        elif isinstance(container, Keywords):
            self.pending = container.items.get(self.key(index))
            if self.pending is None:
                raise NoRow("a key that is not there")
        elif isinstance(container, Transient):
            raise NoRow("an element of a container")
        elif isinstance(container, Fresh):
            if not isinstance(index, Value) or not index.fixed or type(index.object) is not int:
                raise NoRow("an element by a number that is not constant")
            if not -len(container.items) <= index.object < len(container.items):
                raise NoRow("an element that is not there")
            self.pending = container.items[index.object]
        elif (
            issubclass(type(container.object), tuple(CONTAINERS))
            and isinstance(index, Value)
            and type(index.object) in (int, str)
        ):
            self.member(container, index)
        elif type(container.object) is torch.Size and (self.is_number(index) or self.is_slice(index)):
            self.typed(container)
            self.typed(index)
            self.pending = self.emit("GetItem", self.register(container), inputs=[self.register(index)])
        else:
            self.element(container, index)

    def element(self, container, index):
        kind = type(container.object)
        if isinstance(index, Fresh) or not isinstance(index, Value):
            raise NoRow("an element of a container")
        if kind is dict and type(index.object) is str:
            self.typed(container)
            if not index.fixed:
                self.pin(index)
            if index.object not in container.object:
                raise NoRow("a key that is not there")
            self.pending = self.dict_item(self.register(container), index.object, container.object[index.object])
        elif kind in (list, tuple) and type(index.object) is int:
            self.pin(index)
            size = len(container.object)
            if not -size <= index.object < size:
                raise NoRow("an element that is not there")
            self.sized(container)
            self.pending = self.item(container, index.object % size)
        elif issubclass(type(container.object), tuple) and self.is_number(index):  # of results that have names
            self.typed(container)
            self.typed(index)
            self.pending = self.emit("GetItem", self.register(container), inputs=[self.register(index)])
        else:
            raise NoRow(f"an element of a {kind.__name__}")

    def sized(self, container):
        self.typed(container)
        self.check("CheckSize", self.register(container), len(container.object))

    def items_of(self, sequence):
        """The elements of a list or tuple, whose number is checked."""
        self.sized(sequence)
        return [self.item(sequence, place) for place in range(len(sequence.object))]

    def item(self, sequence, place):
        value = Value(self.emit("Item", self.register(sequence), place), sequence.object[place])
        if sequence.register in self.owned:
            self.owned.add(value.register)
        return value

    @staticmethod
    def is_slice(value):
        return isinstance(value, Value) and not isinstance(value, Fresh) and type(value.object) is slice

    def index(self, value):
        """A value that may index a tensor, in its register."""
        if isinstance(value, Fresh):
            for item in value.items:
                self.index(item)
        elif value is NULL or isinstance(value, Transient):
            raise NoRow("an index that is none")
        elif type(value.object) in (int, bool, type(None), type(Ellipsis), slice) or self.is_tensor(value):
            self.typed(value)
        else:
            raise NoRow(f"an index of class {type(value.object).__name__}")
        return self.register(value)

    def tensor_index(self, container, index):
        self.typed(container)
        self.num_calls += 1
        owned = self.is_owned(container)
        self.pending = self.compute("GetItem", self.register(container), inputs=[index], owned=owned)

    def STORE_SUBSCR(self, view, frame, argument):
        value, container, index = frame.stack[-3:]
        del frame.stack[-3:]
        if isinstance(container, Keywords):
            if not isinstance(value, Value):
                raise NoRow("an iterator in a dict")
            container.items[self.key(index)] = value
            return
        self.writes(container, "an assignment to an element")
        if not self.is_tensor(value) and not self.is_number(value):
            raise NoRow("an assignment of other than tensors and numbers")
        inputs = [self.register(self.typed(container)), self.index(index), self.register(self.typed(value))]
        self.num_calls += 1
        register = self.compute("Call", self.register(self.constant(operator.setitem)), inputs=inputs)
        self.see(register, None)
        self.written[register] = inputs[0]

    def slice_of(self, values):
        for value in values:
            if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) not in (int, type(None)):
                raise NoRow("a slice by other than numbers")
            self.typed(value)
        return self.emit("Slice", inputs=[self.register(value) for value in values])

    def BUILD_SLICE(self, view, frame, argument):
        values = frame.stack[-argument:]
        del frame.stack[-argument:]
        self.pending = self.slice_of(values)

    def BINARY_SLICE(self, view, frame, argument):
        container, *values = frame.stack[-3:]
        del frame.stack[-3:]
        if self.is_tensor(container):
            self.tensor_index(container, self.slice_of(values))
        elif isinstance(container, Value) and type(container.object) is torch.Size:
            self.typed(container)
            self.pending = self.emit("GetItem", self.register(container), inputs=[self.slice_of(values)])
        else:
            raise NoRow("a slice of a container")

    # ---- Containers

    def BUILD_TUPLE(self, view, frame, argument):
        self.build(frame, tuple, argument)

    def BUILD_LIST(self, view, frame, argument):
        self.build(frame, list, argument)

    @staticmethod
    def build(frame, kind, count):
        items = frame.stack[len(frame.stack) - count :]
        if kind is tuple and items and all(isinstance(item, Cell) for item in items):
            frame.stack[len(frame.stack) - count :] = [Closure(items)]
            return
        if any(isinstance(item, Transient) or item is NULL for item in items):
            raise NoRow("a container of iterators")
        del frame.stack[len(frame.stack) - count :]
        frame.stack.append(Fresh(kind, items))

    def LIST_EXTEND(self, view, frame, argument):
        more = frame.stack.pop()
        self.extend(frame, argument, more.items if isinstance(more, Fresh) else self.iterated(more))

    def LIST_APPEND(self, view, frame, argument):
        item = frame.stack.pop()
        if item is NULL or isinstance(item, Transient):
            raise NoRow("a container of iterators")
        self.extend(frame, argument, [item])

    @staticmethod
    def extend(frame, place, items):
        made = frame.stack[-place]
        if not isinstance(made, Fresh) or made.register is not None:
            raise NoRow("a list that is made longer")
        # A list of its own: what the plan may end with keeps its elements.
        frame.stack[-place] = Fresh(list, [*made.items, *items])

    def LIST_TO_TUPLE(self, view, frame, argument):
        made = frame.stack.pop()
        if not isinstance(made, Fresh):
            raise NoRow("a tuple of a list")
        frame.stack.append(Fresh(tuple, list(made.items)))

    def BUILD_MAP(self, view, frame, argument):
        pairs = frame.stack[len(frame.stack) - 2 * argument :]
        del frame.stack[len(frame.stack) - 2 * argument :]
        self.build_keywords(frame, [self.key(key) for key in pairs[::2]], pairs[1::2])

    def BUILD_CONST_KEY_MAP(self, view, frame, argument):
        keys = frame.stack.pop()
        values = frame.stack[len(frame.stack) - argument :]
        del frame.stack[len(frame.stack) - argument :]
        if any(type(key) is not str for key in keys.object):
            raise NoRow("a dict of other than names")
        self.build_keywords(frame, keys.object, values)

    @staticmethod
    def build_keywords(frame, keys, values):
        if not all(isinstance(value, Value) for value in values):
            raise NoRow("a container of iterators")
        frame.stack.append(Keywords(dict(zip(keys, values, strict=True))))

    def key(self, value):
        """The name that a key is, checked."""
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) is not str:
            raise NoRow("a dict of other than names")
        self.pin(value)
        return value.object

    def DICT_UPDATE(self, view, frame, argument, is_call=False):
        more = self.keywords_of(frame.stack.pop())
        made = frame.stack[-argument]
        if not isinstance(made, Keywords):
            raise NoRow("a dict that is changed")
        if is_call and made.items.keys() & more.keys():
            raise NoRow("a keyword argument that is given twice")
        frame.stack[-argument] = Keywords(made.items | more)

    def DICT_MERGE(self, view, frame, argument):
        self.DICT_UPDATE(view, frame, argument, is_call=True)

    def keywords_of(self, value):
        """{name: value} of a dict whose keys are checked."""
        if isinstance(value, Keywords):
            return value.items
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) is not dict:
            raise NoRow("the keywords of an object")
        if any(type(key) is not str for key in value.object) or len(value.object) > 32:
            raise NoRow("a dict of other than names")
        self.keys_checked(value)
        return {key: self.dict_item(value.register, key, item) for key, item in value.object.items()}

    def keys_checked(self, value):
        self.typed(value)
        known = ("keys", self.register(value))
        if known not in self.checked:
            self.checked[known] = True
            self.check("CheckKeys", value.register, object=tuple(value.object))

    def CONTAINS_OP(self, view, frame, argument):
        container, value = frame.stack.pop(), frame.stack.pop()
        frame.stack.append(self.constant(self.contains(container, value) != bool(argument)))

    def contains(self, container, value):
        """Whether a container of constants or names has a constant, checked."""
        if isinstance(container, Keywords):
            return self.key(value) in container.items
        if not isinstance(container, Value) or not isinstance(value, Value) or isinstance(value, Fresh):
            raise NoRow("a search in a container")
        if type(value.object) not in (int, bool, str, type(None)):
            raise NoRow(f"a search for a {type(value.object).__name__}")
        self.pin(value)
        if isinstance(container, Fresh):
            items = container.items
        elif container.fixed and type(container.object) in (tuple, frozenset):
            items = [self.constant(item) for item in container.object]
        elif type(container.object) in (tuple, list):
            items = self.items_of(container)
        elif type(container.object) is dict:
            if value.object in container.object and type(value.object) is str:
                self.typed(container)
                self.dict_item(self.register(container), value.object, container.object[value.object])
                return True
            if len(container.object) > 32 or any(type(key) is not str for key in container.object):
                raise NoRow("a search in a dict")
            self.keys_checked(container)
            return value.object in container.object
        elif type(container.object) is str and type(value.object) is str:
            self.pin(container)
            return value.object in container.object
        else:
            raise NoRow(f"a search in a {type(container.object).__name__}")
        for item in items:
            if not isinstance(item, Value) or isinstance(item, Fresh) or type(item.object) not in PLAIN:
                raise NoRow("a search in a container")
            self.pin(item)
        return any(item.object is value.object or item.object == value.object for item in items)

    def call_keywords(self, callee, arguments, names):
        """A method of the keyword arguments of a function."""
        if callee.object is dict.get and arguments and isinstance(arguments[0], Value) and not names:
            self.call_dict_get(*arguments)
            return
        if names or not arguments or not isinstance(arguments[0], Keywords):
            raise NoRow(f"a call of dict.{callee.object.__name__}")
        made, *rest = arguments
        name, items = callee.object.__name__, made.items
        if name in ("get", "pop", "setdefault") and 1 <= len(rest) <= 2 and isinstance(rest[-1], Value):
            key = self.key(rest[0])
            if key not in items and len(rest) == 1 and name == "pop":
                raise NoRow("a key that is not there")
            found = items.get(key, rest[1] if len(rest) == 2 else self.constant(None))
            if name == "pop":
                items.pop(key, None)
            elif name == "setdefault":
                items[key] = found
            self.pending = found
        elif name == "update" and len(rest) == 1:
            items.update(self.keywords_of(rest[0]))
            self.pending = self.constant(None)
        elif name == "copy" and not rest:
            self.pending = Keywords(dict(items))
        elif name in ("items", "keys", "values") and not rest:
            pairs = [(self.constant(key), value) for key, value in items.items()]
            of_pair = {"items": lambda pair: Fresh(tuple, list(pair)), "keys": lambda p: p[0], "values": lambda p: p[1]}
            self.pending = Pairs([of_pair[name](pair) for pair in pairs])
        else:
            raise NoRow(f"a call of dict.{name}")

    def call_dict_get(self, owner, *rest):
        if isinstance(owner, Fresh) or type(owner.object) is not dict or not 1 <= len(rest) <= 2:
            raise NoRow("a call of dict.get")
        if self.contains(owner, rest[0]):
            self.element(owner, rest[0])
        else:
            self.pending = rest[1] if len(rest) == 2 else self.constant(None)

    def UNPACK_SEQUENCE(self, view, frame, argument):
        items = self.parts_of(frame.stack.pop())
        if len(items) != argument:
            raise NoRow("a wrong number of parts")
        frame.stack += reversed(items)

    def UNPACK_EX(self, view, frame, argument):
        items = self.parts_of(frame.stack.pop())
        before, after = argument & 255, argument >> 8
        if len(items) < before + after:
            raise NoRow("a wrong number of parts")
        end = len(items) - after
        frame.stack += reversed([*items[:before], Fresh(list, items[before:end]), *items[end:]])

    def parts_of(self, sequence):
        if isinstance(sequence, Fresh):
            return sequence.items
        if isinstance(sequence, Value) and type(sequence.object) in SEQUENCES:
            return self.items_of(sequence)
        raise NoRow("the parts of an object")

    # ---- Jumps

    def FORMAT_VALUE(self, view, frame, argument):
        specification = [frame.stack.pop()] if argument & 4 else []
        self.text(TEXT[argument & 3], [frame.stack.pop(), *specification])

    def BUILD_STRING(self, view, frame, argument):
        parts = frame.stack[len(frame.stack) - argument :]
        del frame.stack[len(frame.stack) - argument :]
        if any(not isinstance(part, Value) or type(part.object) is not str for part in parts):
            raise NoRow("a text of other than texts")
        self.text(JOIN, [Fresh(tuple, parts)])

    def text(self, function, values):
        """The text that a function makes of numbers, texts and the like; none is made if nothing uses it."""
        if function not in (format, JOIN) and len(values) > 1:
            raise NoRow("a text that is converted and formatted")
        for value in values:
            self.argument(value)
            if self.is_tensor(value):
                raise NoRow("the text of a tensor")
        inputs = [self.register(value) for value in values]
        self.pending = self.emit("Call", self.register(self.constant(function)), inputs=inputs)

    def jump_if(self, view, frame, argument):
        self.pin(frame.stack.pop())

    POP_JUMP_IF_FALSE = POP_JUMP_IF_TRUE = POP_JUMP_FORWARD_IF_FALSE = POP_JUMP_FORWARD_IF_TRUE = jump_if

    def jump_back_if(self, view, frame, argument):
        self.JUMP_BACKWARD(view, frame, argument)
        self.jump_if(view, frame, argument)

    POP_JUMP_BACKWARD_IF_FALSE = POP_JUMP_BACKWARD_IF_TRUE = jump_back_if

    def jump_if_none(self, view, frame, argument):
        self.is_none(frame.stack.pop())

    def is_none(self, value):
        """Whether the value is None, checked."""
        if value is NULL or isinstance(value, Transient):
            raise NoRow("there is no object here")
        if isinstance(value, Fresh) or value.fixed:
            return not isinstance(value, Fresh) and value.object is None
        if value.object is None:
            self.check("CheckIs", self.register(value), object=None)
        else:
            self.typed(value)
        return value.object is None

    POP_JUMP_IF_NONE = POP_JUMP_IF_NOT_NONE = POP_JUMP_FORWARD_IF_NONE = POP_JUMP_FORWARD_IF_NOT_NONE = jump_if_none

    def jump_back_if_none(self, view, frame, argument):
        self.JUMP_BACKWARD(view, frame, argument)
        self.jump_if_none(view, frame, argument)

    POP_JUMP_BACKWARD_IF_NONE = POP_JUMP_BACKWARD_IF_NOT_NONE = jump_back_if_none

    def JUMP_IF_FALSE_OR_POP(self, view, frame, argument):
        if self.pin(frame.stack[-1]):
            frame.stack.pop()

    def JUMP_IF_TRUE_OR_POP(self, view, frame, argument):
        if not self.pin(frame.stack[-1]):
            frame.stack.pop()

    # ---- Iteration

    def GET_ITER(self, view, frame, argument):
        value = frame.stack.pop()
        items = self.iterated(value)
        frame.stack.append(Iterator(items))

    def iterated(self, value):
        """The elements that an iteration over it gives."""
        if isinstance(value, Fresh):
            items = value.items  # of a list, which may grow meanwhile
        elif isinstance(value, (Range, Pairs)):
            items = value.items
        elif isinstance(value, Value) and not isinstance(value, Fresh) and type(value.object) in SEQUENCES:
            items = self.items_of(value)
        elif isinstance(value, Value) and issubclass(type(value.object), (torch.nn.Sequential, torch.nn.ModuleList)):
            items = self.submodules(value)
        else:
            raise NoRow("an iteration")
        return items

    def submodules(self, owner):
        found = self.class_attribute(owner, "__iter__")
        if type(found) is not types.FunctionType or found not in ITERATIONS:
            raise NoRow("a module's own iteration")
        self.has_code(found, ITERATIONS[found])
        self.check("CheckNoKey", self.register(owner), object="__iter__")
        members = owner.object.__dict__["_modules"]
        if type(members) is not dict:
            raise NoRow("a module with members of its own kind")
        register = self.dict_item(self.instance_dict(owner), "_modules", members).register
        self.check("CheckKeys", register, object=tuple(members))
        return [self.dict_item(register, key, member) for key, member in members.items()]

    def members_of(self, owner, names):
        """The `_modules` of a container, and the register that has them; its methods of these names are torch's own."""
        base = next((kind for kind in CONTAINERS if issubclass(type(owner.object), kind)), None)
        for name in names:
            known = CONTAINERS[base].get(name)
            if known is None:
                continue
            if self.class_attribute(owner, name) is not known[0]:
                raise NoRow(f"a module with a {name} of its own")
            self.has_code(*known)
            self.check("CheckNoKey", self.register(owner), object=name)
            if name in owner.object.__dict__:
                raise NoRow(f"a module with a {name} of its own")
        members = owner.object.__dict__["_modules"]
        if type(members) is not dict:
            raise NoRow("a module with members of its own kind")
        return members, self.dict_item(self.instance_dict(owner), "_modules", members).register

    def member(self, owner, index):
        names = ("__getitem__", "__len__", "_get_item_by_idx", "_get_abs_string_index")
        members, register = self.members_of(owner, names)
        self.pin(index)
        key = index.object
        if not issubclass(type(owner.object), torch.nn.ModuleDict):
            if type(key) is not int or not -len(members) <= key < len(members):
                raise NoRow("a module that is not there")
            self.check("CheckKeys", register, object=tuple(members))
            key = list(members)[key]
            if key != str(index.object % len(members)):
                raise NoRow("a module by a number that is not its name")
        if key not in members:
            raise NoRow("a module that is not there")
        self.pending = self.dict_item(register, key, members[key])

    def FOR_ITER(self, view, frame, argument):
        iterator = frame.stack[-1]
        if not isinstance(iterator, Iterator):
            raise NoRow("an iteration that began before")
        if iterator.at < len(iterator.items):
            frame.stack.append(iterator.items[iterator.at])
            iterator.at += 1
        else:
            frame.stack.pop()

    # ---- Calls

    def KW_NAMES(self, view, frame, argument):
        frame.keywords = frame.code.co_consts[argument]

    def CALL_KW(self, view, frame, argument):
        names = frame.stack.pop()
        self.call(view, frame, argument, names.object)

    def CALL(self, view, frame, argument):
        names, frame.keywords = frame.keywords or (), None
        self.call(view, frame, argument, names)

    def call(self, view, frame, count, names):
        first, second, *arguments = frame.stack[len(frame.stack) - count - 2 :]
        del frame.stack[len(frame.stack) - count - 2 :]
        if sys.version_info >= (3, 13):
            callee, owner = first, second
        elif first is NULL:
            callee, owner = second, NULL
        else:
            callee, owner = first, second
        if owner is not NULL:
            arguments.insert(0, owner)
        self.call_of(view, frame, callee, arguments, names)

    def CALL_FUNCTION_EX(self, view, frame, argument):
        keywords = self.keywords_of(frame.stack.pop()) if argument & 1 else {}
        positional, callee = frame.stack.pop(), frame.stack.pop()
        if sys.version_info >= (3, 11):
            if callee is NULL:  # below it, from 3.13 on
                callee = frame.stack.pop()
            else:
                frame.stack.pop()
        if isinstance(positional, Fresh):
            arguments = list(positional.items)
        elif isinstance(positional, Value) and type(positional.object) in SEQUENCES:
            arguments = self.items_of(positional)
        else:
            raise NoRow("the arguments in an object")
        self.call_of(view, frame, callee, [*arguments, *keywords.values()], tuple(keywords))

    def call_of(self, view, frame, callee, arguments, names):
        if isinstance(callee, BoundMethod):
            arguments = [callee.owner, *arguments]
            callee = callee.function
        if isinstance(callee, EndOfGradMode):
            self.grad_modes.pop()
            self.pending = self.constant(None)
            return
        if isinstance(callee, NewFunction):
            self.call_inline(callee, arguments, names)
            return
        if not isinstance(callee, Value) or isinstance(callee, Fresh):
            raise NoRow("a call of no object")
        if is_functional(callee.object) or is_in_place(callee.object):
            self.call_functional(callee, arguments, names)
        elif any(callee.object is kind for kind in GRAD_MODES):
            self.call_grad_mode(callee, arguments, names)
        elif callee.object is list.append:
            self.call_append(callee, arguments, names)
        elif callee.object is OBJECT_GETATTRIBUTE:
            self.call_getattribute(frame, arguments, names)
        elif any(callee.object is method for method in DICT_METHODS.values()):
            self.call_keywords(callee, arguments, names)
        elif callee.object is super:
            self.call_super(view, frame, callee, arguments, names)
        elif any(callee.object is kind for kind in (range, enumerate, zip)):
            (self.call_range if callee.object is range else self.call_pairs)(callee, arguments, names)
        elif callee.object is len:
            self.call_len(callee, arguments, names)
        elif callee.object is getattr:
            self.call_getattr(frame, callee, arguments, names)
        elif callee.object is hasattr:
            self.call_hasattr(callee, arguments, names)
        elif callee.object is type:
            self.call_type(callee, arguments, names)
        elif callee.object is isinstance:
            self.call_isinstance(callee, arguments, names)
        elif callee.object is graph_break:
            raise NoRow("a call of graph_break")
        elif type(callee.object) is types.FunctionType:
            self.call_inline(callee, arguments, names)
        elif issubclass(type(callee.object), torch.nn.Module):
            self.call_module(callee, arguments, names)
        else:
            raise NoRow(f"a call of {getattr(callee.object, '__qualname__', type(callee.object).__name__)}")

    def call_functional(self, callee, arguments, names):
        if len(arguments) > 32:
            raise NoRow("a call with many arguments")
        self.identical(callee)
        if type(callee.object) is types.FunctionType:
            code = code_of(callee.object)
            if code is None:
                raise NoRow(f"a {callee.object.__qualname__} with other code")
            self.check("CheckCode", self.register(callee), object=code)
        if any(callee.object is function for function in HAS_TORCH_FUNCTION):
            for value in arguments:
                self.argument(value)
            self.pending = self.constant(False)  # all are plain tensors and the like
            return
        for name, position in decisive_arguments(callee.object):
            value = argument_of(arguments, names, name, position)
            if isinstance(value, Value):
                self.pin(value)
        reason = refused_arguments(callee.object, arguments, names)
        if reason:
            raise NoRow(reason)
        in_place = is_in_place(callee.object) or is_given_in_place(callee.object, arguments, names)
        effect, saved = effect_of(callee.object, arguments, names)
        if in_place and counts_calls(callee.object, arguments, names) and not self.is_owned(arguments[0]):
            in_place, effect, saved = False, "statistics", arguments[:1]
        if in_place:
            self.writes(arguments[0] if arguments else NULL, f"a call of {callee.object.__name__} in place")
        for value in arguments:
            self.argument(value)
        inputs = [self.register(value) for value in arguments]
        if effect:
            self.save(effect, saved, callee.object.__name__)
        self.num_calls += not is_of_numbers(callee.object)
        from_owned = not was_added(callee.object) and all(map(self.is_owned, arguments))
        owned = in_place or makes_memory(callee.object) or (from_owned and effect != "statistics")
        self.pending = self.compute("Call", self.register(callee), object=names or None, inputs=inputs, owned=owned)
        if in_place:
            self.written[self.pending] = inputs[0]
        if effect:
            self.effects[self.pending] = [self.register(value) for value in saved]

    def save(self, effect, saved, name):
        """Saves what the next call changes besides its result."""
        if self.options.backend is not None:
            raise NoRow(f"a call of {name} that is not pure")
        if effect == "random":
            if torch.accelerator.is_available():
                raise NoRow("random numbers, where there is an accelerator")
            self.emit("Save", self.register(self.constant(_C._SavedRandomState)))
            return
        for value in saved:
            if not self.is_tensor(value) or value.object.requires_grad or not value.object.is_cpu:
                raise NoRow(f"a call of {name} that writes to other than statistics")
        inputs = [self.register(value) for value in saved]
        self.emit("Save", self.register(self.constant(_C._SavedTensors)), inputs=inputs)

    def call_grad_mode(self, callee, arguments, names):
        if arguments or names:
            raise NoRow(f"a {callee.object.__name__} with arguments")
        self.identical(callee)
        is_enabled, example, functions = GRAD_MODES[callee.object]
        self.versioned(self.constant(example))
        for function, code in functions:
            self.has_code(function, code)
        self.pending = GradMode(is_enabled)

    def BEFORE_WITH(self, view, frame, argument):
        manager = frame.stack.pop()
        if not isinstance(manager, GradMode):
            raise NoRow("a with statement")
        self.grad_modes.append(manager.is_enabled)
        frame.stack += [EndOfGradMode(), self.constant(None)]

    def call_super(self, view, frame, callee, arguments, names):
        code = frame.code
        if arguments or names or "__class__" not in code.co_freevars or code.co_varnames[0] in code.co_cellvars:
            raise NoRow("a super of other arguments")
        self.identical(callee)
        owner = self.variable(view, frame, 0)
        before = len(set(code.co_varnames) | set(code.co_cellvars))
        kind = self.free_variable(view, frame, before + code.co_freevars.index("__class__"))
        if not isinstance(owner, Value) or isinstance(owner, Fresh) or kind.object not in type(owner.object).__mro__:
            raise NoRow("a super of other arguments")
        self.identical(kind)
        self.pending = Super(kind, owner)

    def super_attribute(self, frame, found_by, name, as_method):
        kind, owner = found_by.kind, found_by.owner
        self.versioned(owner)
        classes = type(owner.object).__mro__
        found = next((c.__dict__[name] for c in classes[classes.index(kind.object) + 1 :] if name in c.__dict__), None)
        if found is OBJECT_GETATTRIBUTE and as_method:
            self.push_method(frame, self.constant(found), owner)
            return
        if type(found) is not types.FunctionType or not as_method:
            raise NoRow(f"a super's {name}")
        register = self.emit("SuperItem", self.register(owner), object=name, inputs=[self.register(kind)])
        self.push_method(frame, Value(register, found), owner)

    def call_len(self, callee, arguments, names):
        if len(arguments) != 1 or names or not isinstance(arguments[0], Value):
            raise NoRow("a len of other than one object")
        self.identical(callee)
        (value,) = arguments
        if isinstance(value, Fresh):
            self.pending = self.constant(len(value.items))
        elif type(value.object) in (list, tuple, dict, torch.Size):
            self.sized(value)
            self.pending = self.constant(len(value.object))
        elif self.is_tensor(value):
            self.typed(value)
            self.pending = self.emit("Call", self.register(callee), inputs=[self.register(value)])
        elif issubclass(type(value.object), tuple(CONTAINERS)):
            members, register = self.members_of(value, ("__len__",))
            self.check("CheckSize", register, len(members))
            self.pending = self.constant(len(members))
        else:
            raise NoRow(f"the length of a {type(value.object).__name__}")

    def call_append(self, callee, arguments, names):
        """Adds to a list that the plan makes, and has not made yet."""
        if len(arguments) != 2 or names or not isinstance(arguments[0], Fresh) or arguments[0].register is not None:
            raise NoRow("a call of list.append")
        self.identical(callee)
        made, value = arguments
        if value is NULL or isinstance(value, Transient) or self.holds(value, made):
            raise NoRow("a call of list.append")
        made.items.append(value)
        self.appended.append(made)
        self.pending = self.constant(None)

    def holds(self, value, made):
        return value is made or (isinstance(value, Fresh) and any(self.holds(item, made) for item in value.items))

    def call_getattr(self, frame, callee, arguments, names):
        """A getattr of an attribute that there is."""
        if len(arguments) not in (2, 3) or names or not isinstance(arguments[1], Value):
            raise NoRow("a getattr of other arguments")
        self.identical(callee)
        owner, name = arguments[:2]
        if type(name.object) is not str:
            raise NoRow("a getattr of other arguments")
        self.pin(name)
        frame.stack.append(owner)
        self.load_attribute(frame, name.object, False)
        if self.pending is None and self.entering is None:
            self.pending = frame.stack.pop()

    def object_and_name(self, what, arguments, names):
        """The two arguments: an object that is no tensor, class or module of Python's, and a name."""
        if len(arguments) != 2 or names or not isinstance(arguments[0], Value) or isinstance(arguments[0], Fresh):
            raise NoRow(f"a call of {what} with other arguments")
        owner = arguments[0]
        if self.is_tensor(owner) or issubclass(type(owner.object), (type, types.ModuleType)):
            raise NoRow(f"a call of {what} with a {type(owner.object).__name__}")
        return owner, self.key(arguments[1])

    def call_hasattr(self, callee, arguments, names):
        """A hasattr that runs no code of the program."""
        self.identical(callee)
        owner, name = self.object_and_name("hasattr", arguments, names)
        found = self.class_attribute(owner, name)
        if found is not None and type(found) is not types.FunctionType and hasattr(type(found), "__get__"):
            raise NoRow(f"a property: {name}")
        members = self.names_of(owner.object)
        if type(members) is not dict and members is not None:
            raise NoRow("an object with names of its own kind")
        if found is None and members is not None and name in members:
            self.dict_item(self.instance_dict(owner), name, members[name])
            found = True
        if found is None:
            found = self.has_member(owner, name, members)
        self.pending = self.constant(found is not None)

    def has_member(self, owner, name, names):
        """True if a module has a parameter, buffer or submodule of this name; None if the object has no such attribute."""
        if self.class_attribute(owner, "__getattr__") is None:
            self.check("CheckNoKey", self.register(owner), object=name)
            return None
        for held in self.member_groups(owner, name, names):
            if name in held.object:
                self.dict_item(held.register, name, held.object[name])
                return True
            if len(held.object) > 32:
                raise NoRow("a module with many members")
            self.check("CheckKeys", held.register, object=tuple(held.object))
        return None

    def call_getattribute(self, frame, arguments, names):
        """What a class's own __getattribute__ calls for the attributes that there are."""
        owner, name = self.object_and_name("object.__getattribute__", arguments, names)
        self.instance_attribute(frame, owner, name, False, plainly=True)
        if self.pending is None and self.entering is None:
            self.pending = frame.stack.pop()

    def call_type(self, callee, arguments, names):
        """A plan holds no class but torch's and Python's own."""
        if len(arguments) != 1 or names or not isinstance(arguments[0], Value):
            raise NoRow("a type of other than one object")
        self.identical(callee)
        (value,) = arguments
        kind = value.kind if isinstance(value, Fresh) else type(value.object)
        if kind.__flags__ & STATIC_CLASS and kind not in TENSORS:
            raise NoRow(f"the class of a {kind.__name__}")
        self.typed(value)
        self.pending = self.constant(kind)

    def call_isinstance(self, callee, arguments, names):
        if len(arguments) != 2 or names or not isinstance(arguments[0], Value):
            raise NoRow("an isinstance of other than an object and classes")
        self.identical(callee)
        value, kinds = arguments
        kinds = self.classes(kinds)
        if isinstance(value, Fresh):
            self.pending = self.constant(issubclass(value.kind, kinds))
            return
        if type(value.object) in (*PLAIN, *OPAQUE):
            self.typed(value)
        elif self.class_attribute(value, "__class__") is not object.__dict__["__class__"]:
            raise NoRow("an object with a __class__ of its own")
        self.pending = self.constant(issubclass(type(value.object), kinds))

    def classes(self, value):
        """A class or a tuple of classes, checked, none of which has a say in what its instances are."""
        if isinstance(value, Fresh):
            return tuple(self.classes(item) for item in value.items)
        if not isinstance(value, Value):
            raise NoRow("an isinstance of no class")
        meta = type(value.object)
        if (
            not issubclass(meta, type)
            or meta.__flags__ & STATIC_CLASS
            or meta.__instancecheck__ != type.__instancecheck__
        ):
            raise NoRow("an isinstance of a class that decides itself")
        self.identical(value)
        return value.object

    def call_pairs(self, callee, arguments, names):
        """An enumerate or zip, which a loop unrolls."""
        self.identical(callee)
        if names or (callee.object is enumerate and len(arguments) != 1) or len(arguments) == 0:
            raise NoRow(f"a {callee.object.__name__} with options")
        for value in arguments:
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not grow
        columns = [self.iterated(value) for value in arguments]
        if callee.object is enumerate:
            columns.insert(0, [self.constant(i) for i in range(len(columns[0]))])
        self.pending = Pairs([Fresh(tuple, list(row)) for row in zip(*columns)])

    def call_range(self, callee, arguments, names):
        """A range of constant numbers, which a loop unrolls."""
        self.identical(callee)
        for value in arguments:
            if isinstance(value, Fresh) or not isinstance(value, Value) or type(value.object) is not int:
                raise NoRow("a range of other than numbers")
        for value in arguments:
            self.pin(value)
        try:
            made = range(*[value.object for value in arguments])
        except (TypeError, ValueError) as error:
            _frames.raise_of_handler(error)
            raise NoRow("a range that raises") from None
        if names or len(made) > MAX_STEPS:
            raise NoRow("a long range")
        self.pending = Range(made)

    def identical(self, value):
        """Checks that it is this very object."""
        if value.fixed:
            return
        object = value.object
        try:
            object = weakref.ref(object)
        except TypeError as error:
            _frames.raise_of_handler(error)
            raise NoRow("a callable that can't be referred to weakly") from None
        self.check("CheckIs", self.register(value), object=object)
        value.fixed = True

    def argument(self, value):
        if isinstance(value, Fresh):
            for item in value.items:
                self.argument(item)
        elif value is NULL or isinstance(value, Transient):
            raise NoRow("an argument that is none")
        elif type(value.object) in PLAIN or type(value.object) in OPAQUE or self.is_tensor(value):
            self.typed(value)
        elif type(value.object) is tuple and all(type(item) in PLAIN for item in value.object):
            if not value.fixed:
                for item in self.items_of(value):
                    self.pin(item)
                value.fixed = True
                self.constants[self.register(value)] = value.object
        else:
            raise NoRow(f"an argument of class {type(value.object).__name__}")

    def call_module(self, callee, arguments, names):
        kind = type(callee.object)
        for name, function in MODULE_CALL.items():
            if self.class_attribute(callee, name) is not function or function is None:
                raise NoRow(f"a module with a {name} of its own")
            self.has_code(function, MODULE_CODES[name])
        if self.class_attribute(callee, "_compiled_call_impl") is not None:
            raise NoRow("a module that is compiled by others")
        forward = self.class_attribute(callee, "forward")
        if type(forward) is not types.FunctionType or kind.__mro__[-2] is not torch.nn.Module:
            raise NoRow("a module whose forward is no function")
        members = callee.object.__dict__
        for name in ("forward", "_compiled_call_impl", "__call__", "_call_impl", "_wrapped_call_impl"):
            self.check("CheckNoKey", self.register(callee), object=name)
            if name in members:
                raise NoRow(f"a module with a {name} of its own")
        for name in MODULE_HOOKS:
            hooks = self.dict_item(self.instance_dict(callee), name, members[name])
            self.no_hooks(hooks)
        if ("no global hooks",) not in self.checked:
            self.checked[("no global hooks",)] = True
            globals = torch.nn.modules.module.__dict__
            register = self.register(self.constant(globals))
            for name in GLOBAL_HOOKS:
                self.no_hooks(self.dict_item(register, name, globals[name]))
        function = Value(self.emit("ClassItem", self.register(callee), object="forward"), forward)
        self.call_inline(function, [callee, *arguments], names)

    def has_code(self, function, code):
        """Checks that a function of torch whose work a row does is as torch wrote it."""
        if function.__code__ is not code:
            raise NoRow(f"a {function.__qualname__} with other code")
        if ("code", function) not in self.checked:
            self.checked[("code", function)] = True
            self.check("CheckCode", self.register(self.constant(function)), object=code)

    def no_hooks(self, hooks):
        if not issubclass(type(hooks.object), dict) or len(hooks.object):
            raise NoRow("a module with hooks")
        self.typed(hooks)
        self.check("CheckSize", self.register(hooks), 0)

    def call_inline(self, function, arguments, names):
        code = function.code if isinstance(function, NewFunction) else function.object.__code__
        suspends = 0x20 | 0x80 | 0x200
        if code.co_flags & suspends or len(self.frames) >= MAX_DEPTH:
            raise NoRow("a generator, or calls that are nested deeply")
        if sum(frame.code is code for frame in self.frames) >= MAX_RECURSION:
            raise NoRow("a recursion")
        if not isinstance(function, NewFunction):
            self.check("CheckCode", self.register(function), object=code)
        frame = FrameShadow(code, function)
        self.bind(frame, function, arguments, names)
        self.entering = frame
        self.pending = None

    def bind(self, frame, function, arguments, names):
        code = frame.code
        count = code.co_argcount
        positional = arguments[: len(arguments) - len(names)]
        variables = code.co_varnames
        bound = dict(enumerate(positional[:count]))
        if len(positional) > count:
            if not code.co_flags & 0x4:
                raise NoRow("too many arguments")
            bound[count + code.co_kwonlyargcount] = Fresh(tuple, positional[count:])
        elif code.co_flags & 0x4:
            bound[count + code.co_kwonlyargcount] = Fresh(tuple, [])
        others = {}
        for name, value in zip(names, arguments[len(arguments) - len(names) :]):
            index = variables.index(name) if name in variables[: count + code.co_kwonlyargcount] else -1
            if index < code.co_posonlyargcount and code.co_flags & 0x8:
                others[name] = value
                continue
            if index in bound or index < code.co_posonlyargcount:
                raise NoRow("arguments that don't fit")
            bound[index] = value
        for index in range(count):
            if index not in bound:
                bound[index] = self.default(function, count - index)
        for index in range(count, count + code.co_kwonlyargcount):
            if index not in bound:
                bound[index] = self.keyword_default(function, variables[index])
        passed = [value for value in bound.values() if not isinstance(value, NewFunction)]
        if isinstance(function, NewFunction):  # a comprehension has the iterator of its first loop
            passed = [value for value in passed if type(value) is not Iterator]
        rest = [item for value in passed if isinstance(value, Fresh) for item in value.items]
        if any(not isinstance(value, Value) for value in (*passed, *rest, *others.values())):
            raise NoRow("an iterator as an argument")
        if code.co_flags & 0x8:
            bound[count + code.co_kwonlyargcount + bool(code.co_flags & 0x4)] = Keywords(others)
        frame.variables = bound

    def default(self, function, from_last):
        is_new = isinstance(function, NewFunction)
        given = function.defaults if is_new else function.object.__defaults__ or ()
        if from_last > len(given):
            raise NoRow("an argument that is missing")
        if is_new:
            return given[-from_last]
        return Value(self.emit("LoadDefault", self.register(function), from_last), given[-from_last])

    def keyword_default(self, function, name):
        is_new = isinstance(function, NewFunction)
        given = function.keyword_defaults if is_new else function.object.__kwdefaults__ or {}
        if name not in given:
            raise NoRow("an argument that is missing")
        if is_new:
            return given[name]
        return Value(self.emit("LoadKeywordDefault", self.register(function), object=name), given[name])

    def RETURN_VALUE(self, view, frame, argument):
        if frame.function is None:
            raise NoRow(END)
        self.returned = frame.stack.pop()
        if self.returned is NULL or (
            isinstance(self.returned, Transient) and not isinstance(self.returned, NewFunction)
        ):
            raise NoRow("an iterator as a result")
        self.leave()

    def RETURN_CONST(self, view, frame, argument):
        if frame.function is None:
            raise NoRow(END)
        self.returned = self.constant(frame.code.co_consts[argument])
        self.leave()

    def leave(self):
        self.frames.pop()
        self.pending = self.returned
        self.has_returned = True
