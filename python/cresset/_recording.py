"""What frame capture understands: one method a bytecode instruction, which says what a plan has to read, check and call so
that the instruction need not run.

A recorder follows a frame while it really runs (src/cresset/capture/capture.h), so each value is known, and beside it the
register in which a plan would have it. What has no method here, or is used in a way that no method knows, ends the plan
before it and runs as the Python that it is: a method only ever removes work. So each may do only what is true whatever
the program does between two instructions of a plan, which is nothing: a plan calls only functions whose one effect is
their result (`_rows.py`).
"""

import dis
import functools
import inspect
import itertools
import operator
import sys
import types
import typing
import weakref

import torch

from . import _C, _frames
from ._capture_report import Origins
from ._graph_modules import BackendError, serve
from ._own_graphs import MIN_CALLS, require_wanted_so_far, steps_with_graphs
from ._recording_caches import CachedCall, Caches
from ._recording_calls import Calls
from ._recording_changes import CHANGED, ELEMENT, Changes
from ._recording_checkpoints import Checkpoints
from ._recording_containers import Containers
from ._recording_defaults import DEFAULTDICT, Defaults
from ._recording_environment import Environment
from ._recording_functional import Functional
from ._recording_functions import FunctionContext, Functions
from ._recording_gradients import Gradients
from ._recording_hooks import Hooks
from ._recording_leaves import Leaves
from ._recording_lists import Lists
from ._recording_modes import Modes
from ._recording_modules import Modules
from ._recording_objects import Objects
from ._recording_traces import Traces
from ._recording_transforms import Pullback, Transformed, Transforms
from ._recording_values import (
    CELL,
    COMPARED,
    CONTAINERS,
    DELETED,
    DEQUE,
    END,
    INSTRUCTIONS_OF_FRAME,
    JOIN,
    MAX_STEPS,
    NO_MODES,
    NULL,
    NUMBERS,
    OPAQUE,
    PLAIN,
    PROLOGUE,
    RETURNS,
    STATIC_CLASS,
    TENSORS,
    TEXT,
    Cell,
    Context,
    DefaultKeywords,
    Elements,
    FrameShadow,
    Fresh,
    Generator,
    Handled,
    Keywords,
    NamedTuple,
    NewFunction,
    NewObject,
    NewSet,
    NoRow,
    Pairs,
    Prologue,
    Raised,
    RealCell,
    Token,
    Transient,
    TypeForm,
    Value,
    has_finalizer,
    has_own_operators,
    is_object,
    is_whole,
    owns_nothing,
    places_of_cells,
)
from ._recording_writes import VIEW_ATTRIBUTES, Writes
from ._rows import ATTRIBUTES
from ._segments import (
    BINARY,
    BY_CLASS,
    COMPUTES,
    NUM_BINARY,
    OF_PLACES,
    OF_SIZES,
    NotAGraph,
    Segment,
    function_of,
    reads_of,
)


@functools.lru_cache(256)
def handlers_of(code):
    return dis.Bytecode(code).exception_entries


def handler_at(code, position):
    """Where an exception goes on that leaves an instruction; None if out of the frame."""
    found = (entry for entry in handlers_of(code) if entry.start <= 2 * position < entry.end)
    return next(found, None) if code.co_exceptiontable else None


_loops = weakref.WeakKeyDictionary()  # code object -> where its loops begin
#: Instructions after which another one comes than the next, beside jumps without a condition.
LEAVE = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
BACK = {number for name, number in dis.opmap.items() if "JUMP_BACKWARD" in name}


def loops_of(code):
    """{where code jumps back in a loop: where the loop begins}"""
    found = _loops.get(code)
    if found is None and BACK.isdisjoint(code.co_code[::2]):
        found = _loops[code] = {}
    if found is None:
        instructions, back, start = list(dis.get_instructions(code)), {}, None
        for each in instructions:
            start = each.offset if start is None else start  # of what extends its argument
            is_jump = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
            if is_jump and each.argval < each.offset:
                back[start] = each.argval
            if each.opcode != dis.EXTENDED_ARG:
                start = None
        # From CPython 3.12 on handlers stand at the code's end and jump back to what follows their `with` or `try`: there
        # is a way to these jumps that leads around where they go.
        if back and code.co_exceptiontable:
            around = {head: reached_without(head, instructions, handlers_of(code)) for head in set(back.values())}
            back = {jump: head for jump, head in back.items() if jump not in around[head]}
        found = _loops[code] = {jump // 2: head // 2 for jump, head in back.items()}
    return found


def reached_without(excluded, instructions, handlers):
    """The offsets of the instructions to which a way leads, also by exceptions, without one of them."""
    at = {each.offset: each for each in instructions}
    next_of = {each.offset: after.offset for each, after in itertools.pairwise(instructions)}
    reached, ways = set(), [instructions[0].offset]
    while ways:
        offset = ways.pop()
        if offset == excluded or offset in reached:
            continue
        reached.add(offset)
        each = at[offset]
        if each.opname not in LEAVE and each.opname not in JUMPS and offset in next_of:
            ways.append(next_of[offset])
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            ways.append(each.argval)
        ways += [entry.target for entry in handlers if entry.start <= offset < entry.end]
    return reached


FEW_STEPS = 500  # that may be looked at before each effect
QUESTIONS = (*OF_SIZES, torch.Tensor.item)
DICTS = (dict, DEFAULTDICT)
EQ, NE = 2, 3  # as CPython numbers comparisons
IS_EQUAL = (EQ, NE)
#: Steps that read what is there when the plan begins.
READS = {"LoadSlot", "LoadConst", "LoadGlobal", "LoadCell", "LoadFree", "DictItem", "ClassItem"}
#: What a compiled graph saves by each of its calls, in steps of plans, of which each takes some 6 ns.
STEPS_OF_CALL = 50
#: Whether LOAD_FAST also loads cells, for inner functions.
LOADS_CELLS = sys.version_info >= (3, 13)
#: Intrinsics of CPython 3.12 that were instructions before.
INTRINSICS = {5: "UNARY_POSITIVE", 6: "LIST_TO_TUPLE"}


class Recorder(
    Objects,
    Containers,
    Caches,
    Changes,
    Calls,
    Writes,
    Modules,
    Functional,
    Functions,
    Gradients,
    Hooks,
    Leaves,
    Transforms,
    Traces,
    Checkpoints,
    Lists,
    Modes,
    Environment,
    Defaults,
):
    """`options` says what plans are made of (`_capture.Options`)."""

    def __init__(self, code, position, view, options):
        self.steps = []
        self.made_by = {}  # register -> the step that was recorded for it
        self.num_registers = 0
        self.num_calls = 0
        self.num_saved = 0  # instructions' worth of work that CPython would do
        self.checked = {}
        self.values = {}  # what was seen in registers
        self.owned = set()  # registers of tensors whose memory the plan has made, so that no other code can see a write
        self.read = set()  # registers of what is there when the plan begins
        self.of_contents = set()  # registers of numbers and texts that tensors' contents decide
        self.new = set()  # registers of tensors that are no other object than what their call made
        self.undo = []  # functions that take back changes of containers that the plan makes, in order
        # (register of a dict, key, Value), or (of a list, None, Value): what the plan sets or appends at its end, in order.
        self.stores = []
        self.stored = {}  # the same by key: {key: [(register, the dict or list, Value)]}
        self.swapped = []  # (dict, key) of `stored` that are no stores: parameters that a functional_call has replaced
        self.unpacked = set()  # registers of tuples of which the program gets the parts, in a tuple that the plan makes
        self.transform = None  # Running, while a function runs in a transform along a tape of the plan's
        self.transformed = None  # gets what the instruction's transform returns, and may say what stands for it
        self.traced = []  # Traced, while a function runs in a transform that is to be traced, the innermost last
        self.site = None  # how many operands the instruction's call has, and the names of keywords
        self.listed = []  # dicts of parameters and buffers that were gone over
        self.born = set()  # (identity of a dict, key) of keys that it had not when the plan was to set them
        self.grown = {}  # of these the dicts that may get a new key, and the lists: {register: container}
        self.over_views = []  # Pairs and Zipped of keys, values or items of a dict, which were listed when they were made
        self.dicts = {}  # registers that hold dicts, which were seen
        self.globals = set()  # of these, those that hold the globals of functions
        self.constants = {}  # register -> tuple, each part of which is checked
        self.effects = {}  # register of a call's result -> registers of what it writes to besides; of random numbers none
        self.written = {}  # register of a call's result -> register of the tensor that it writes to and returns
        self.modes = []  # of the `with` statements that are open
        self.num_index_modes = 0  # of those that call_index_mode knows
        self.own_dicts = []  # Keywords that have a source
        self.context = []  # [register, variable, Value] of variables of the context that are set, and not reset yet
        self.raised = None  # the class of the exception that the instruction raises
        self.num_raising = 0  # frames that it leaves or that handle it, still to be seen
        self.is_handled = False  # whether the last of these handles it
        self.unseen = set()  # registers of tensors that are others than those of this run, until these are on the stack
        self.has_let_go = False  # of an object to whose parts there may be weak references
        self.names = {}  # variables that registers were stored to
        self.places = {}  # code and position of the instruction that each register was made for
        self.code = code
        self.here = (code, position)
        self.places_of_checks = {}  # the same of steps without a register, by identity
        self.ways = {}  # with `fullgraph`: for each register the calls that lead to its instruction
        self.next_look = 0  # with `fullgraph`: how many steps there are when these are looked at before an effect
        self.way_here = None  # the calls that lead to what is refused, if it is not the instruction that runs
        self.frames = [FrameShadow(code)]
        self.init_changes()
        self.init_writes()
        self.init_leaves()
        self.init_checkpoints()
        self.init_functions()
        self.init_hooks()
        self.entering = None
        self.pending = None
        self.has_returned = False
        self.at_end = False
        self.made = None  # the plan, in a list, if the recording has ended before it was asked for
        self.options = options
        self.number = options.num_recordings
        self.start = position
        self.heads = set(loops_of(code).values())  # where its loops begin
        self.num_variables = view.num_variables
        # Places whose objects something outside of the frame has, so that they live when the variables have others.
        self.held = {place for place in range(self.num_variables + view.depth) if view.is_held(place)}
        self.to_be_held = set()  # of these, those that are checked to be
        for place in range(view.depth):
            value = self.slot(view, self.num_variables + place)
            if value is NULL:  # a method that is called may be a function and its object, or nothing and a bound method
                self.check("CheckNull", self.num_variables + place)
            self.frames[0].stack.append(value)
        self.on_stack = {value.register for value in self.frames[0].stack if value is not NULL}
        self.checkpoint = None

    # ---- Steps

    def emit(self, kind, a=-1, b=-1, object=None, inputs=(), is_before=False):
        """`is_before`: it is known that a container among the inputs has what it has before the plan's end."""
        if len(self.steps) >= MAX_STEPS:
            raise NoRow("the plan is long enough")
        if self.grown and not is_before and (kind == "ItemAt" or (kind in COMPUTES and kind != "Is")):
            self.not_changed((a, *inputs))
        if self.redirected and kind not in ("LoadSlot", "Tuple", "List", "Dict"):
            self.not_redirected((a, *inputs))
        register = self.new_register()
        self.places[register] = self.here
        if self.options.fullgraph:
            self.ways[register] = self.calls_to_here()
        self.made_by[register] = step = (kind, register, a, b, object, tuple(inputs))
        self.steps.append(step)
        if kind in READS:
            self.read.add(register)
        elif self.of_contents and not self.of_contents.isdisjoint((a, *inputs)):
            if not any(self.is_tensor(self.values.get(each)) for each in (a, *inputs)):
                self.of_contents.add(register)
        return register

    def new_register(self):
        self.num_registers += 1
        return self.num_registers - 1

    def compute(self, kind, a, b=-1, object=None, inputs=(), owned=False):
        """A call on tensors, in the modes of the `with` statements around it."""
        if (
            self.modes
            and not self.is_question(kind, a, object)
            and (kind == "Call" or any(self.is_tensor(self.values.get(r)) for r in (a, *inputs)))
        ):
            if kind == "Call":
                function = self.values[a].object
            else:
                inputs = (a, *inputs) if object is None else (a, self.register(self.constant(object)))
                function = function_of(kind, b)
                object = None
            call = _C._CallInModes(function, tuple(self.modes))
            kind, a, b = "Call", self.register(self.constant(call)), -1
        register = self.emit(kind, a, b, object, inputs)
        if owned:
            self.owned.add(register)
        return register

    def is_question(self, kind, a, object):
        """Whether it asks a tensor for its kind or its number, which no mode changes."""
        if kind == "GetAttr":
            return object in ATTRIBUTES and object not in VIEW_ATTRIBUTES
        return kind == "Call" and any(self.values[a].object is each for each in QUESTIONS)

    def is_owned(self, value):
        """Whether it is no tensor, or one in memory that the plan has made."""
        if isinstance(value, Fresh):
            return all(map(self.is_owned, value.items))
        if isinstance(value, Keywords):
            return all(map(self.is_owned, value.items.values()))
        return not self.is_tensor(value) or value.register in self.owned

    def check(self, kind, a=-1, b=-1, object=None):
        if len(self.steps) >= MAX_STEPS:
            raise NoRow("the plan is long enough")
        step = (kind, -1, a, b, object, ())
        self.steps.append(step)
        self.places_of_checks[id(step)] = self.here

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
        if not is_object(value):
            raise NoRow("there is no object here")
        if value.register is None:
            if type(value) is Value:
                value.register = self.emit("LoadConst", object=value.object)
            elif isinstance(value, Keywords) and value.source is not None:
                value.register = value.source
            elif isinstance(value, Keywords):
                inputs = [self.register(item) for item in value.items.values()]
                value.register = self.emit("Dict", object=tuple(value.items), inputs=inputs)
                if isinstance(value, DefaultKeywords):
                    value.register = self.as_defaultdict(value)
            elif isinstance(value, Fresh):
                inputs = [self.register(item) for item in value.items]
                if len(inputs) > 32:
                    raise NoRow("a container of many elements")
                if isinstance(value, NamedTuple):
                    value.register = self.emit("NamedTuple", self.register(value.owner), inputs=inputs)
                    self.values[value.register] = value
                    return value.register
                value.register = self.emit("Tuple" if value.kind is tuple else "List", inputs=inputs)
            else:
                value.register = self.emit("LoadConst", object=value.object)
        self.values[value.register] = value
        return value.register

    def typed(self, value):
        """Checks the exact class; of tensors also that it was not changed, since operators call its methods."""
        if isinstance(value, (Fresh, Keywords)) or value.typed:
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
            if value.register in self.of_contents:
                self.may_branch(object, "the truth of a tensor's item")
            self.check("CheckIs", self.register(value), object=object)
            value.fixed = True
        elif type(object) in (int, float, str):
            if value.register in self.of_contents:
                raise NoRow("what a tensor's item decides")
            self.check("CheckConst", self.register(value), object=object)
            value.fixed = True
        elif self.changed(value) is not None:
            return self.has_elements(self.changed(value))
        elif type(object) in (dict, list, tuple, torch.Size, DEQUE):
            self.sized(value)
        elif self.is_tensor(value):
            return self.truth_of(value)
        elif issubclass(type(object), (torch.Tensor, type)) or not self.is_always_true(object):
            raise NoRow(f"the truth of a {type(object).__name__}")
        else:
            self.versioned(value)
        return bool(object)

    def decide(self, value):
        """The truth of a value, checked. Of a number that tensors' contents decide, no more than that."""
        if type(value) is Value and not value.fixed and value.register in self.of_contents and self.is_number(value):
            if type(value.object) is not bool:
                register = self.emit("Call", self.register(self.constant(bool)), inputs=[self.register(value)])
                value = self.values[register] = Value(register, bool(value.object), typed=True)
        return self.pin(value)

    def truth_of(self, value):
        """The truth of a tensor, checked: a branch on it that goes both ways ends plans."""
        self.typed(value)
        if value.object.numel() != 1 or value.object.is_meta:
            raise NoRow("the truth of a Tensor")
        found = bool(value.object)
        self.may_branch(found, "the truth of a Tensor")
        register = self.emit("Call", self.register(self.constant(bool)), inputs=[self.register(value)])
        self.see(register, found)
        self.check("CheckIs", register, object=found)
        return found

    def may_branch(self, found, what):
        """Requires that the plan may rest on what the contents of a tensor decide."""
        self.not_in_transform(what)
        if not self.options.may_branch_on_tensors:
            raise NoRow(what)
        if self.options.varies(*self.here, found, self.frames[0].code):
            raise NoRow(f"{what}, which varies")

    @staticmethod
    def is_always_true(object):
        return not any("__bool__" in c.__dict__ or "__len__" in c.__dict__ for c in type(object).__mro__)

    def is_tensor(self, value):
        return isinstance(value, Value) and type(value.object) in TENSORS

    def is_number(self, value):
        return isinstance(value, Value) and not isinstance(value, Fresh) and type(value.object) in NUMBERS

    # ---- What capture.cpp calls

    def step(self, view, opcode, argument):
        """True if `after` is to be called, False if it need not; the code of the frame that the instruction enters; or what
        ends the recording: a plan, None, an exception for the program."""
        frame = self.frames[-1]
        name = dis.opname[opcode]
        row = getattr(self, name, None)
        position = view.position
        self.here = (frame.code, position)
        frame.position, self.view = position, view
        try:
            if row is None:
                raise NoRow(f"the instruction {name}")
            if len(self.frames) == 1 and self.is_clean(frame, name in RETURNS):
                self.take_checkpoint(position, frame)
                is_loop = self.num_calls and position != self.start and position in self.heads
                if is_loop and self.options.is_simple:  # the first iteration has the plan of those that follow
                    raise NoRow("the next iteration of a loop")
            self.pending = self.entering = self.site = None
            self.has_returned = False
            row(view, frame, argument)
            self.num_saved += 1
            if self.entering is not None:
                return self.entering.code
            return self.pending is not None or self.raised is not None or bool(self.unseen)
        except NoRow as reason:
            refusal = self.stopped(reason)
            if refusal is not None:
                return refusal
            # In a callee: the plan ends before the call, and capture.cpp asks for it when the call has returned.
            return self.plan() if len(self.frames) == 1 else None
        except Exception as error:  # ends the recording
            self.options.note(*self.here, f"an internal error: {type(error).__name__}: {error}")
            raise

    def stopped(self, reason):
        """Notes what ended the plan. With `fullgraph` an exception for the program, unless it is the function's end."""
        code, position = self.here
        if self.may_trace_instead():
            return None
        in_callee = len(self.frames) > 1
        self.options.note(code, position, str(reason))
        if in_callee:  # then the line that calls runs as Python
            outer = self.frames[0]
            self.options.note(outer.code, outer.position, f"{reason}, in {code.co_name}")
        if str(reason) == END and not in_callee:
            self.at_end = self.checkpoint is not None and self.checkpoint[0] == position
            if self.options.fullgraph and self.num_calls and not self.at_end:
                return self.options.refusal(self.calls_to_here(), "a result that a graph can't return")
        elif self.options.fullgraph and not isinstance(reason, Prologue):
            return self.options.refusal(self.calls_to_here(), str(reason))
        return None

    def calls_to_here(self):
        """(code, position) of the calls in which the instruction stands."""
        if self.way_here is not None:
            return self.way_here
        found = [(frame.code, frame.position) for frame in self.frames]
        return found if found[-1] == self.here else [*found, self.here]

    def after(self, view, opcode, next):
        pending, self.pending = self.pending, None
        if self.raised is not None:
            raise NoRow("an exception that was not raised")
        if self.unseen:
            for place, value in enumerate(self.frames[-1].stack):
                if isinstance(value, Value) and value.register in self.unseen:
                    value.object = view.slot(view.num_variables + place)
                    self.unseen.discard(value.register)
        if pending is None:
            return None
        if self.transformed is not None:
            see, self.transformed = self.transformed, None
            try:
                pending = see(view.slot(view.num_variables + view.depth - 1)) or pending
            except NoRow as reason:
                refusal = self.stopped(reason)
                if refusal is None:
                    raise
                return refusal
        if type(pending) is NewObject:
            pending.object = view.slot(view.num_variables + view.depth - 1)
        if isinstance(pending, (Value, Transient)):
            if type(pending) is Value and pending.register is None and type(pending.object) is str:
                pending.object = self.made_text(pending.object, view)
            self.frames[-1].stack.append(pending)
            return None
        result = view.slot(view.num_variables + view.depth - 1)
        written = self.values.get(self.written.get(pending))
        if written is not None and result is written.object:
            self.see(pending, result)
            self.frames[-1].stack.append(written)  # the same object
            return None
        try:
            kind = type(result)
            if kind not in (*TENSORS, *PLAIN, *OPAQUE, inspect.Signature) and not self.is_of_tensors(result):
                raise NoRow(f"a result of class {kind.__name__}")
            value = self.values[pending] = Value(pending, result)
            self.typed(value)
            if pending in self.unpacked:
                value = Fresh(tuple, [self.typed(self.item(value, place)) for place in range(len(result))])
        except NoRow as reason:
            refusal = self.stopped(reason)
            if refusal is None:
                raise
            return refusal
        self.frames[-1].stack.append(value)
        return None

    @staticmethod
    def made_text(text, view):
        """The text that this run has made, which a row made, too."""
        found = view.slot(view.num_variables + view.depth - 1)
        return found if type(found) is str and found == text else text

    @staticmethod
    def is_of_tensors(result):
        return isinstance(result, (tuple, list)) and all(type(item) in TENSORS for item in result)

    def raising(self, kind):
        """Of an exception that leaves an instruction of a callee: True if it leaves the frame, Ellipsis if a handler of
        the frame takes it, None if it is not the one that a row knows of."""
        if kind is not self.raised:
            return None
        self.num_raising -= 1
        if self.num_raising > 0:
            return True
        self.raised = None
        return Ellipsis if self.is_handled else True

    def raises(self, kind, reason, raised=None):
        """The instruction raises an exception, which a handler takes, or a `getattr` that has a default."""
        if kind.__flags__ & STATIC_CLASS or not issubclass(kind, Exception) or issubclass(kind, StopIteration):
            raise NoRow(reason)
        for place in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[place]
            handler = handler_at(frame.code, frame.position)
            if handler is not None:
                break
            if frame.missing is not None and issubclass(kind, AttributeError):
                self.raised, self.num_raising, self.is_handled = kind, len(self.frames) - place, False
                self.pending = frame.missing
                self.leave_frames(place)
                return
        else:
            raise NoRow(reason)
        self.raised, self.num_raising, self.is_handled = kind, len(self.frames) - place, True
        self.leave_frames(place + 1)
        del frame.stack[handler.depth :]
        frame.keywords = None
        frame.stack += [self.constant(frame.position)] if handler.lasti else []
        frame.stack.append(raised or Raised(kind))

    def leave_frames(self, place):
        if any(frame.swaps for frame in self.frames[place:]):
            raise NoRow("an exception that leaves a functional_call or a transform")
        for frame in self.frames[place:]:
            if frame.generator is not None:
                frame.generator.has_ended = True
        del self.frames[place:]

    def RAISE_VARARGS(self, view, frame, argument):
        if argument == 0:
            handled = [value.raised for each in self.frames for value in each.stack if isinstance(value, Handled)]
            value = handled[-1] if handled else NULL
        else:
            if argument == 2:
                self.cause_of_exception(frame.stack.pop())
            value = frame.stack.pop()
        if isinstance(value, Raised):
            self.raises(value.kind, "an exception", value)
        elif type(value) is Value and isinstance(value.object, type) and issubclass(value.object, Exception):
            self.identical(value)
            self.raises(value.object, "an exception")
        else:
            raise NoRow("an exception")

    @staticmethod
    def cause_of_exception(value):
        is_none = type(value) is Value and value.fixed and value.object is None
        if not isinstance(value, Raised) and not is_none:
            raise NoRow("an exception with a cause of another kind")

    def RERAISE(self, view, frame, argument):
        value = frame.stack.pop()
        if not isinstance(value, Raised):
            raise NoRow("an exception")
        self.raises(value.kind, "an exception", value)

    def PUSH_EXC_INFO(self, view, frame, argument):
        if not isinstance(frame.stack[-1], Raised):
            raise NoRow("an exception")
        frame.stack.insert(len(frame.stack) - 1, Handled(frame.stack[-1]))

    def CHECK_EXC_MATCH(self, view, frame, argument):
        kinds, raised = self.classes_of_handler(frame.stack.pop()), frame.stack[-1]
        if not isinstance(raised, Raised):
            raise NoRow("an exception")
        frame.stack.append(self.constant(issubclass(raised.kind, kinds)))

    def classes_of_handler(self, value):
        if type(value) is Fresh:
            return tuple(self.classes_of_handler(item) for item in value.items)
        if (
            type(value) is not Value
            or not isinstance(value.object, type)
            or not issubclass(value.object, BaseException)
        ):
            raise NoRow("a handler of other than classes of exceptions")
        self.identical(value)
        return value.object

    def POP_EXCEPT(self, view, frame, argument):
        if not isinstance(frame.stack.pop(), Handled):
            raise NoRow("the end of a handler")  # in which the plan begins

    def leaving(self, view, opcode, argument):
        if self.raised is not None:
            self.raising(self.raised)  # raised again, which leaves the frame
            return
        if not self.has_returned:
            raise NoRow("a frame that CPython runs on")

    def enter(self, view):
        frame = self.entering
        self.entering = None
        if frame is None:
            raise NoRow("a frame that was not called")
        if type(frame.result) is NewObject:
            frame.result.object = view.slot(0)
        running = self.traced[-1] if self.traced else self.transform
        if running is not None and not running.has_begun:
            self.begin_transform(running, view, frame.variables)
        for index, value in frame.variables.items():
            if self.unseen:
                self.see_argument(value, view.slot(index))
            if isinstance(value, Value) and not isinstance(value, Fresh) and view.slot(index) is not value.object:
                # Each look at a method makes an object, and so does what groups tensors by their devices.
                is_made = type(value.object) in (types.MethodType, *COMPARED) and type(value.object) is type(
                    view.slot(index)
                )
                if not is_made or view.slot(index) != value.object:
                    raise NoRow("a frame with other arguments")
                value.object = view.slot(index)
        self.frames.append(frame)
        self.num_saved += INSTRUCTIONS_OF_FRAME

    def see_argument(self, value, object):
        """What this run has for tensors that a frame is given, which it has made just before."""
        if isinstance(value, Fresh) and isinstance(object, tuple) and len(object) == len(value.items):
            for item, part in zip(value.items, object, strict=True):
                self.see_argument(item, part)
        elif isinstance(value, Value) and value.register in self.unseen and type(object) is torch.Tensor:
            value.object = object
            self.unseen.discard(value.register)

    # ---- The end

    def is_clean(self, frame, returns=False):
        """Whether a plan can end here: there are objects in the stack and, if the frame goes on, in the variables."""
        if self.context or frame.keywords is not None:
            return False
        for value in frame.stack:
            if value is not NULL and not is_whole(value):
                return False
        if returns:
            return True
        if frame.variables != frame.seen:  # the same objects, mostly
            frame.seen = dict(frame.variables)
            frame.are_whole = all(value is NULL or is_whole(value) for value in frame.seen.values())
        return frame.are_whole and all(cell.value is NULL or is_whole(cell.value) for cell in frame.cells.values())

    def take_checkpoint(self, position, frame):
        variables = frame.seen
        if frame.cells or not frame.are_whole or variables != frame.variables:
            variables = {place: value for place, value in self.variables_of(frame) if value is NULL or is_whole(value)}
        self.checkpoint = (
            position, len(self.steps), self.num_calls, variables, list(frame.stack), len(self.undo), len(self.stores), self.num_saved,
            self.modes[-1] if self.modes else None,
        )  # fmt: skip

    @staticmethod
    def variables_of(frame):
        """(place, value) of the variables that the plan sets; of one that inner functions share, -1 - place."""
        return [*frame.variables.items(), *((-1 - place, cell.value) for place, cell in frame.cells.items())]

    def plan(self):
        """The plan up to the last instruction of its own frame where it can end; None if it would gain nothing. An
        exception if the backend raised, or if there is to be one graph and is none."""
        if self.made is not None:
            return self.made.pop() if self.made else None
        checkpoint, self.checkpoint = self.checkpoint, None
        if checkpoint is None:
            return None
        if self.transform is not None:
            self.values.update(self.transform.known)
        end, num_steps, num_calls, variables, stack, num_undo, num_stores, num_saved, mode = checkpoint
        if num_calls == 0 or end == self.start:
            return None
        del self.stores[num_stores:]
        self.cut([*variables.values(), *stack, *(value for *_, value in self.stores)], num_steps, num_undo)
        outputs, stores = [], []
        # A frame that returns here needs none of its variables but those that functions have which the plan makes.
        places = list(variables.items())
        if self.at_end:
            cells = self.frames[0].cells
            places = [each for each in places if each[0] < 0 and cells[-1 - each[0]].made is not None]
        places += [(self.num_variables + place, value) for place, value in enumerate(stack)]
        try:
            self.check_same_leaves()
            self.check_second_runs()
            if self.options.fullgraph and self.options.backend is None and not self.stores:
                known = {}
                places = [(place, self.in_parts(value, known)) for place, value in places]
            outputs += [(place, -1 if value is NULL else self.register(value)) for place, value in places]
            stores += self.last_stores()
            stores += self.refills()
            stores += self.last_calls()
            keys = [(None, register) for _, key, *_ in stores if type(key) is tuple for register in key]
            used = [*outputs, *((None, each) for register, _, *more in stores for each in (register, *more[:2])), *keys]
            checks = [("CheckZero", -1, -1, -1, function, ()) for function in NO_MODES]
            checks += [("CheckHeld", -1, place, -1, None, ()) for place in sorted(self.to_be_held)]
            checks += [("CheckOwnCell", -1, -1 - place, -1, None, ()) for place in variables if place < 0]
            steps, size = self.with_graph(checks + self.without_unused(self.steps, used), used, num_calls)
            steps = [*steps, *(self.steps_of_mode(mode) if mode is not None else ())]
        except NoRow as reason:
            return self.options.refusal(self.calls_to_here(), str(reason)) if self.options.fullgraph else None
        except BackendError as error:
            return self.options.failed(error)
        origins = Origins(size, self.steps, steps, self.places | self.places_of_checks, self.names)
        last_uses = self.with_last_uses(steps, used)
        try:
            return _frames.new_plan(
                self.code, self.start, end, self.num_registers, len(stack), last_uses, outputs, stores, origins,
                self.saved_by(num_saved, len(steps), size),
            )  # fmt: skip
        except ValueError as error:
            if error.__traceback__.tb_next is not None:
                raise  # of a handler of signals
            return self.options.malformed(self.code, self.start, error)

    def in_parts(self, value, known):
        """A result with tuples and lists of tensors that calls return as such that the plan makes of their parts, which a
        graph can return. `known`: {register: what stands for it}."""
        if type(value) is Fresh and value.register is None:
            value.items[:] = [self.in_parts(item, known) for item in value.items]
        is_plain = type(value) is Value and type(value.object) in (tuple, list) and value.object
        if not is_plain or not self.is_of_tensors(value.object):
            return value
        is_made = any(step[:2] == ("Call", value.register) for step in self.steps)
        if value.register not in known and is_made:
            self.check("CheckSize", value.register, len(value.object))
            items = [self.item(value, place) for place in range(len(value.object))]
            for item in items:
                self.see(item.register, item.object)
            known[value.register] = Fresh(type(value.object), items)
        return known.get(value.register, value)

    def saved_by(self, num_instructions, num_steps, num_calls_in_graphs):
        """What a run of a plan saves, in steps: each takes as long as two instructions take CPython. Who wants graphs keeps
        them."""
        if not self.options.is_simple:
            return 1 << 20
        return num_instructions // 2 + STEPS_OF_CALL * num_calls_in_graphs - num_steps

    def end(self):
        """The recording is over, and its plan will be asked for when the calls have returned in which it ended: until then
        nothing is held that the program may let go of."""
        made = self.plan()
        self.__dict__.clear()
        self.made = [made]

    def last_stores(self):
        """The stores whose values are there at the end, as plans have them."""
        last = {}
        for register, key, value in self.stores:
            if value is not DELETED:
                if not isinstance(key, CachedCall):
                    last[register, key] = value
                continue
            last.pop((register, key), None)  # what is set after this comes last in the dict
            if (id(self.dicts[register]), key) not in self.born:
                last[register, key, DELETED] = DELETED
        made = {step[1] for step in self.steps}
        for (register, key, *_), value in last.items():
            if isinstance(value, Elements):
                yield from self.stores_of(value)
                continue
            if key is ELEMENT:
                place, now, before = map(self.register, value.items)
                yield register, (place,), now, before, False, False
                continue
            read = self.checked.get(("item", register, key))
            known = read.register if key is not None and read is not None and read.register in made else -1
            is_new = isinstance(self.values.get(register), NewObject)
            target = -1 if value is DELETED else self.register(value)
            yield register, key, target, known, is_new, register in self.globals

    def refills(self):
        """The dicts of keyword arguments that have changed, as stores."""
        read = {step[1] for step in self.steps}
        for made in self.own_dicts:
            if made.source in read and made.has_changed() and not (self.at_end and made.register is None):
                inputs = [self.register(item) for item in made.items.values()]
                elements = self.emit("Dict", object=tuple(made.items), inputs=inputs)
                yield made.source, Ellipsis, elements, -1, False, False

    def with_graph(self, steps, outputs, num_calls):
        """The steps with one call of a graph for what is computed of tensors, where there is a backend; and its size."""
        options = self.options
        if options.is_simple and options.dynamic is not False and num_calls < MIN_CALLS:
            return steps, 0
        try:
            segment = Segment(self, steps, outputs, options.dynamic, options.backend is not None)
            if options.backend is None:
                return self.with_own_graphs(steps, segment)
        except NotAGraph as reason:
            if options.backend is not None:
                options.note(*self.here, f"no graph: {reason}")
            if options.fullgraph:
                self.way_here = self.ways.get(reason.register)
                raise NoRow(str(reason)) from None
            return steps, 0
        if not segment.nodes:
            return steps + segment.pins, 0
        return segment.steps_with(serve(segment, options.backend)), len(segment.nodes)

    def with_own_graphs(self, steps, segment):
        compiled, size = steps_with_graphs(segment, steps, self.options.fullgraph)
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
            if step[1] not in used and (
                step[0] in ("LoadConst", "Tuple", "List", "Dict", "NamedTuple", "Slice")
                or (step[0] == "Call" and any(constants.get(step[2]) is f for f in (*TEXT, JOIN)))
            ):
                continue
            used.update(reads_of(step))
            kept.append(step)
        return kept[::-1]

    def cut(self, values, num_steps, num_undo):
        """Drops the steps after the checkpoint, and the registers that they gave to values of the checkpoint."""
        made = {step[1] for step in self.steps[num_steps:] if step[1] >= 0}
        del self.steps[num_steps:]
        while len(self.undo) > num_undo:
            self.undo.pop()()
        todo = list(values)
        while todo:
            value = todo.pop()
            if is_object(value) and value.register in made:
                value.register = None
            if isinstance(value, Fresh):
                todo += value.items
            elif isinstance(value, Keywords):
                todo += value.items.values()
            elif isinstance(value, Elements):
                todo += value.values()

    @staticmethod
    def with_last_uses(steps, outputs):
        written = {step[1] for step in steps if step[1] >= 0}
        ended = written.difference(register for _, register in outputs)  # before the steps that are still to be seen
        result = []
        for step in reversed(steps):
            kind, target, a, _, _, inputs = step
            registers = (target, *inputs) if kind in OF_PLACES else (target, a, *inputs)
            last = ended.intersection(registers)
            ended -= last
            result.append((*step, tuple(last)))
        result.reverse()
        return result

    def before_effect(self):
        """With `fullgraph` the first call that no graph has is named before the function has effects."""
        options = self.options
        if not options.fullgraph or options.backend is not None or len(self.steps) < self.next_look:
            return
        self.next_look = 0 if len(self.steps) < FEW_STEPS else 2 * len(self.steps)
        try:
            require_wanted_so_far(self)
        except NotAGraph as reason:
            self.way_here = self.ways.get(reason.register)
            raise NoRow(str(reason)) from None

    # ---- The stack

    def NOP(self, view, frame, argument):
        pass

    def MAKE_CELL(self, view, frame, argument):
        if frame.function is None:
            raise Prologue(PROLOGUE)
        frame.cells[argument] = Cell(frame.variables.pop(argument, NULL))

    RESUME = PRECALL = CACHE = JUMP_FORWARD = JUMP_BACKWARD_NO_INTERRUPT = NOP

    def CALL_INTRINSIC_1(self, view, frame, argument):
        row = INTRINSICS.get(argument)
        if row is None:
            raise NoRow("an intrinsic of Python's")
        getattr(self, row)(view, frame, 0)

    def JUMP_BACKWARD(self, view, frame, argument):
        # The jump itself sees to signals, and a loop without an end may not be unrolled without one.
        if (
            frame.function is None
            and view.position in loops_of(frame.code)
            and self.is_clean(frame)
            and not self.options.fullgraph
        ):
            raise NoRow("the next iteration of a loop")

    def COPY_FREE_VARS(self, view, frame, argument):
        if frame.function is None:
            raise Prologue(PROLOGUE)

    def POP_TOP(self, view, frame, argument):
        value = frame.stack.pop()
        if isinstance(value, Context) and value.is_set:
            self.set_mode(value)
            return
        self.ends(value)
        self.frees(value)

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
                value = self.own_keywords(view, index) or self.slot(view, index)
                self.checked[("slot", index)] = value
            if value is NULL:
                raise NoRow("a variable without a value")
            return value
        if frame.variables[index] is NULL:
            raise NoRow("a variable without a value")
        return frame.variables[index]

    def LOAD_FAST(self, view, frame, argument):
        if LOADS_CELLS and argument in places_of_cells(frame.code):
            frame.stack.append(self.cell(view, frame, argument))
        else:
            frame.stack.append(self.variable(view, frame, argument))

    LOAD_FAST_CHECK = LOAD_FAST

    def LOAD_FAST_LOAD_FAST(self, view, frame, argument):
        self.LOAD_FAST(view, frame, argument >> 4)
        self.LOAD_FAST(view, frame, argument & 15)

    def LOAD_FAST_AND_CLEAR(self, view, frame, argument):
        """The variable of a comprehension, which the function may have, too, and gets back after it."""
        value = frame.variables.get(argument, NULL)
        if argument not in frame.variables and frame.function is None:
            value = self.checked.get(("slot", argument))
            if value is None:
                value = self.checked[("slot", argument)] = self.slot(view, argument)
                if value is NULL:
                    self.check("CheckNull", argument)
        if argument in frame.cells or (value is not NULL and not is_object(value)):
            raise NoRow("a variable of inner functions")
        frame.stack.append(value)
        frame.variables[argument] = NULL

    def STORE_FAST(self, view, frame, argument):
        value = frame.stack[-1] = self.as_object(frame.stack[-1])
        if (
            value is not NULL
            and not is_object(value)
            and not (isinstance(value, Context) and not value.is_set and value.mode is not None)
            and not isinstance(
                value, (FunctionContext, Generator, NewFunction, NewSet, Pairs, Pullback, Raised, Token, Transformed)
            )
        ):
            raise NoRow("an iterator in a variable")
        if isinstance(value, Pairs):
            value.is_named = True
        self.frees_variable(frame, argument)
        frame.cells.pop(argument, None)  # of a comprehension that has ended
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
        self.frees_variable(frame, argument)
        frame.variables[argument] = NULL

    def frees_variable(self, frame, place):
        """Before a variable has another value, or none."""
        value = frame.variables.get(place, self.checked.get(("slot", place)) if frame.function is None else NULL)
        if value is None and (self.start or place < frame.num_arguments):  # what nothing has read yet
            self.has_let_go = True
        self.frees(value, (frame, place))

    def slot_of_register(self, register):
        """The place of the plan's own frame that a register was read from; None if it is not one."""
        step = self.made_by.get(register)
        return step[2] if step is not None and step[0] == "LoadSlot" else None

    def frees(self, value, variable=None):
        """Before something is no longer referred to, which the plan, or the recording, holds until it ends: only then would
        its finalizer run, and weak references to it find nothing."""
        if type(value) is not Value or issubclass(type(value.object), type):  # a class refers to itself
            return
        if has_finalizer(type(value.object)):
            raise NoRow("an object with a finalizer that may be freed")
        is_referred_to = weakref.getweakrefcount(value.object) > 0
        if not is_referred_to and owns_nothing(value.object):
            return  # before all steps are looked at
        if self.is_held(value, variable):
            return
        place = self.slot_of_register(value.register)
        if place in self.held:
            self.to_be_held.add(place)
            return
        if is_referred_to:
            raise NoRow("an object with weak references that may be freed")
        self.has_let_go = True

    def LOAD_DEREF(self, view, frame, argument):
        frame.stack.append(self.free_variable(view, frame, argument))

    def free_variable(self, view, frame, argument):
        return self.cell(view, frame, argument).read(self)

    def own_keywords(self, view, index):
        """The keyword arguments of the plan's own frame, of which nothing else has the dict; None if it is another variable."""
        code = self.frames[0].code
        place = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
        if not code.co_flags & inspect.CO_VARKEYWORDS or index != place or not view.owns_dict(index):
            return None
        if len(view.slot(index)) > 32:
            return None
        self.check("CheckOwnDict", index)
        value = self.slot(view, index)
        made = Keywords(self.keywords_of(value), value.register)
        self.own_dicts.append(made)
        return made

    def cell(self, view, frame, argument):
        """The cell of a variable that functions share."""
        if argument in frame.cells:
            return frame.cells[argument]
        if frame.function is None:
            cell = self.checked.get(("cell", argument))
            if cell is None:
                cell = self.checked[("cell", argument)] = self.slot(view, argument)
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
        if argument not in frame.cells:
            self.not_in_transform("a variable that functions share")
        if not is_object(frame.stack[-1]) and not isinstance(frame.stack[-1], NewFunction):
            raise NoRow("an iterator in a variable")
        if argument not in frame.cells and frame.function is None and view.owns_cell(argument):
            frame.cells[argument] = Cell(NULL)  # no function has it yet: the plan's end sets it
        cell = self.cell(view, frame, argument)
        if isinstance(cell, RealCell):
            self.store_in_cell(cell, self.as_object(frame.stack.pop()))
        elif cell.made is not None and frame.function is not None:
            raise NoRow("a variable that a function shares, which is set again")
        else:
            cell.value = frame.stack.pop()

    def store_in_cell(self, cell, value):
        """Sets a variable that functions share, when the plan ends."""
        register = cell.register(self)
        if CELL not in self.stored or self.stored_item(register, CELL) is None:
            if cell.has_value():
                self.checked["item", register, CELL] = cell.read(self)
        self.store_item(register, cell.cell, CELL, value)

    def LOAD_CLOSURE(self, view, frame, argument):
        frame.stack.append(self.cell(view, frame, argument))

    def MAKE_FUNCTION(self, view, frame, argument):
        made = NewFunction(frame.stack.pop().object, frame.scope, [], {}, [])
        for part in (8, 4, 2, 1):
            if argument & part:
                self.set_part_of_function(made, part, frame.stack.pop())
        frame.stack.append(made)

    def SET_FUNCTION_ATTRIBUTE(self, view, frame, argument):
        made, value = frame.stack.pop(), frame.stack.pop()
        self.set_part_of_function(made, argument, value)
        frame.stack.append(made)

    def set_part_of_function(self, made, part, value):
        """Defaults (1), those of keywords (2), annotations (4), which nothing here reads, or cells (8)."""
        values = []
        if part == 1:
            if isinstance(value, Fresh):
                made.defaults = value.items
            elif value.fixed:
                made.defaults = [self.constant(item) for item in value.object]
            else:  # a tuple that was made before the plan begins
                made.defaults = self.items_of(value)
            values = made.defaults
        elif part == 2:
            made.keyword_defaults = self.keywords_of(value)
            values = made.keyword_defaults.values()
        elif part == 8:
            made.cells = value.cells
        if any(isinstance(value, Fresh) and value.kind is list for value in values):
            raise NoRow("a default that is a list")

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
        if any(entry[0] in self.globals for entry in self.stored.get(name, ())):
            value = self.stored_item(self.globals_of(a, names), name)
            if value is not None:
                self.push_callable(frame, value, null)
                return
        self.not_set(name, self.globals)
        key = ("global", a, name)
        value = self.checked.get(key)
        if value is None:
            value = self.checked[key] = Value(self.emit("LoadGlobal", a, object=name), object)
        self.push_callable(frame, value, null)

    def globals_of(self, a, names):
        """The register that has the globals of a function in a register, or of the frame."""
        known = ("globals", a)
        if known not in self.checked:
            self.checked[known] = self.emit("Globals", a)
            self.dicts[self.checked[known]] = names
            self.globals.add(self.checked[known])
        return self.checked[known]

    def STORE_GLOBAL(self, view, frame, argument):
        """Sets a global variable when the plan ends."""
        name, value, names = frame.code.co_names[argument], self.as_object(frame.stack.pop()), view.globals
        if type(names) is not dict or name.startswith("__"):
            raise NoRow("a global variable of another kind that is set")
        a = -1 if frame.scope is None else self.register(frame.scope)
        register = self.globals_of(a, names)
        if self.stored_item(register, name) is None and name in names:
            known = self.checked.get(("global", a, name))
            self.checked["item", register, name] = known or Value(
                self.emit("DictItem", register, object=name), names[name]
            )
        self.store_item(register, names, name, value)

    @staticmethod
    def push_callable(frame, value, null):
        if not null:
            frame.stack.append(value)
        elif sys.version_info >= (3, 13):
            frame.stack += [value, NULL]
        else:
            frame.stack += [NULL, value]

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
        if argument in (0, NUM_BINARY) and self.joined(left, right, argument != 0):
            return
        if argument == NUM_BINARY and self.joined_in_place(left, right):
            return
        if argument in (5, NUM_BINARY + 5) and self.is_sequence(left) and self.is_number(right):
            self.repeated(left, right, argument != 5)
            return
        if argument < NUM_BINARY and self.operator_of_class(left, right, argument):
            return
        self.operands(left, right)
        owned = True
        if argument >= NUM_BINARY:
            if self.is_tensor(left):
                owned = self.writes(left, "an operator in place", [right])
            else:
                argument -= NUM_BINARY
        register = self.compute("Binary", self.register(left), argument, inputs=[self.register(right)], owned=owned)
        if argument < NUM_BINARY and (self.is_tensor(left) or self.is_tensor(right)):
            self.new.add(register)
        if argument >= NUM_BINARY:
            self.written[register] = self.register(left)
        self.pending = register

    def operator_of_class(self, left, right, number):
        """Whether the operator is a method in Python of the left one's class, which is what comes next."""
        name = f"__{BINARY[number].__name__.strip('_')}__"
        function = self.special_method(left, name)
        if function is None or not is_object(right):
            return False
        kind = type(left.object)
        if type(right) is not Fresh and issubclass(type(right.object), kind) and type(right.object) is not kind:
            raise NoRow("an operator of a class derived from the other's")
        self.call_function(function, [left, right], ())
        if self.entering is None:
            raise NoRow("an operator that is a generator")

        def finish(value):
            if type(value) is Value and value.object is NotImplemented:
                raise NoRow("an operator of the other's class")
            return value

        self.entering.finish = finish
        return True

    def joined(self, left, right, in_place):
        """Whether the two are lists or tuples, or sizes with one of these, so that `+` joins them."""
        kinds = [
            value.kind if type(value) is Fresh else type(value.object) if isinstance(value, Value) else None
            for value in (left, right)
        ]
        if kinds[0] is kinds[1] and kinds[0] in (tuple, list) and not (in_place and kinds[0] is list):
            parts = self.parts_of(left), self.parts_of(right)
            if kinds[0] is tuple and not all(parts):
                self.pending = right if parts[1] else left  # the same object
            else:
                self.pending = Fresh(kinds[0], [*parts[0], *parts[1]])
            return True
        if torch.Size not in kinds or not all(kind in (tuple, torch.Size) for kind in kinds):
            return False
        for value in (left, right):
            self.argument(value)
        self.pending = self.emit("Binary", self.register(left), 0, inputs=[self.register(right)])
        return True

    def repeated(self, sequence, count, in_place):
        kind = sequence.kind if type(sequence) is Fresh else type(sequence.object)
        if (in_place and kind is list) or type(count.object) is not int:
            raise NoRow("a list that is repeated in place")
        self.pin(count)
        if kind is tuple and count.object == 1:
            self.pending = sequence  # the same object
            return
        items = self.parts_of(sequence) * count.object
        if len(items) > MAX_STEPS:
            raise NoRow("a long list")
        self.pending = Fresh(kind, items)

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
        frame.stack.append(self.constant(not self.decide(frame.stack.pop())))

    def TO_BOOL(self, view, frame, argument):
        frame.stack.append(self.constant(self.decide(frame.stack.pop())))

    def COMPARE_OP(self, view, frame, argument):
        right, left = frame.stack.pop(), frame.stack.pop()
        if not isinstance(left, Value) or not isinstance(right, Value):
            raise NoRow("a comparison of containers")
        left, right = self.of_numbers(left), self.of_numbers(right)
        tensors = self.is_tensor(left) or self.is_tensor(right)
        if sys.version_info >= (3, 13):
            if tensors and argument & 16:
                raise NoRow("the truth of a tensor")
            argument >>= 5
        elif sys.version_info >= (3, 12):
            argument >>= 4
        if argument in IS_EQUAL and self.has_plain_equality(left) and self.has_plain_equality(right):
            if self.is_compared_by_identity(left) and self.is_compared_by_identity(right):
                self.versioned(left)
                self.versioned(right)
                self.compare_objects(frame, left, right, argument != EQ)
                return
            if any(type(value.object) not in PLAIN for value in (left, right)):
                self.fix(left)
                self.fix(right)
                self.pending = self.constant((left.object == right.object) == (argument == EQ))
                return
        if tensors:
            self.operands(left, right)
        elif any(self.is_uncompared(value) for value in (left, right)):
            raise NoRow("a comparison of objects")
        self.typed(left)
        self.typed(right)
        self.pending = self.compute("Compare", self.register(left), argument, inputs=[self.register(right)], owned=True)

    def of_numbers(self, value):
        """A tuple of numbers that the plan makes, with its elements' classes checked; other values as they are."""
        if isinstance(value, Fresh):
            if type(value) is not Fresh or value.kind is not tuple or not all(map(self.is_number, value.items)):
                raise NoRow("a comparison of containers")
            for item in value.items:
                self.typed(item)
        return value

    @staticmethod
    def has_plain_equality(value, kinds=(object, str, int)):
        """Whether `==` of an object that is there runs no code of the program's: an object's, a text's or an int's own."""
        if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) in (*OPAQUE, *TENSORS):
            return False
        for name in ("__eq__", "__ne__"):
            found = next(base.__dict__[name] for base in type(value.object).__mro__ if name in base.__dict__)
            if all(found is not kind.__dict__[name] for kind in kinds):
                return False
        return True

    def is_compared_by_identity(self, value):
        return self.has_plain_equality(value, (object,)) and type(value.object) not in PLAIN

    def fix(self, value):
        """Checks that a value is what it is: a number or text by what it says, another one by identity, and its class."""
        if type(value.object) in PLAIN:
            self.known(value)
        elif not value.fixed:
            self.versioned(value)
            self.identical(value)

    def is_uncompared(self, value):
        return type(value) is not Fresh and (type(value.object) not in (*PLAIN, *OPAQUE) or self.is_slice(value))

    def IS_OP(self, view, frame, argument):
        right, left = frame.stack.pop(), frame.stack.pop()
        is_known = is_object(left) or isinstance(left, (NewFunction, NewSet, Token))
        if isinstance(right, Value) and right.fixed and right.object is None and is_known:
            frame.stack.append(self.constant(self.is_none(left) != bool(argument)))
            return
        self.not_in_transform("a question for identity")
        if isinstance(left, Value) and (left is right or left.register == right.register is not None):
            frame.stack.append(self.constant(not argument))  # one value under two names
            return
        self.compare_objects(frame, left, right, argument)

    def compare_objects(self, frame, left, right, is_not):
        self.not_in_transform("a question for identity")
        registers = self.register(left), self.register(right)
        if any(self.is_other_object(a, b) for a, b in (registers, registers[::-1])):
            frame.stack.append(self.constant(bool(is_not)))
            return
        self.pending = self.emit("Is", registers[0], int(is_not), inputs=[registers[1]])

    def is_other_object(self, made, register):
        """Whether a call of the plan has made the tensor in one register, and another has been there before or was made, too."""
        if made not in self.new or made == register:
            return False
        return register in self.new or register in self.read

    def BINARY_SUBSCR(self, view, frame, argument):
        index, container = frame.stack.pop(), frame.stack.pop()
        if self.is_slice(index) and index.fixed and self.is_sequence(container):
            self.pending = self.part_of(container, index.object)
        elif self.is_tensor(container):
            self.tensor_index(container, self.index(index))
        elif isinstance(container, Keywords):
            key = self.key_of(index)
            if key in container.items:
                self.pending = container.items[key]
            elif isinstance(container, DefaultKeywords):
                self.missing_of(container, key)
            else:
                self.raises(KeyError, "a key that is not there", Raised(KeyError, [self.constant(key)]))
        elif self.is_form(container):
            self.identical(container)
            self.pending = TypeForm()
        elif isinstance(container, Transient):
            raise NoRow("an element of a container")
        elif isinstance(container, Fresh):
            if not isinstance(index, Value) or isinstance(index, Fresh) or type(index.object) not in (int, bool):
                raise NoRow("an element by other than its number")
            self.pin(index)
            if not -len(container.items) <= index.object < len(container.items):
                self.raises(IndexError, "an element that is not there")
                return
            self.pending = container.items[index.object]
        elif (
            issubclass(type(container.object), tuple(CONTAINERS))
            and isinstance(index, Value)
            and type(index.object) in (int, str, slice)
        ):
            self.member(container, index)
        elif type(container.object) is torch.Size and (self.is_number(index) or self.is_slice(index)):
            self.typed(container)
            self.typed(index)
            self.pending = self.emit("GetItem", self.register(container), inputs=[self.register(index)])
        else:
            self.element(container, index)

    @staticmethod
    def is_sequence(value):
        kind = value.kind if type(value) is Fresh else type(getattr(value, "object", None))
        return isinstance(value, Value) and kind in (tuple, list)

    @staticmethod
    def is_form(value):
        """Whether it is a class or a form of typing that an index makes another type of: `list[int]`."""
        form = getattr(value, "object", None)
        return type(form) is type(typing.Optional) or any(form is kind for kind in (dict, list, set, tuple, type))

    def part_of(self, container, place):
        """A slice, by constants, of a list or tuple."""
        kind = container.kind if type(container) is Fresh else type(container.object)
        items = container.items if type(container) is Fresh else self.items_of(container)
        part = items[place]
        if kind is tuple and len(part) == len(items) and (place.step is None or place.step > 0):
            return container  # the same object
        return Fresh(kind, part)

    def element(self, container, index):
        kind = type(container.object)
        if kind in DICTS and self.is_tensor(index):
            self.element_of_tensor(container, index)
            return
        if kind is str and isinstance(index, Value) and (self.is_number(index) or self.is_slice(index)):
            self.part_of_text(container, index)
            return
        if isinstance(index, Fresh) or not isinstance(index, Value):
            raise NoRow("an element of a container")
        if kind is DEFAULTDICT:
            self.element_of_default(container, index)
        elif kind is dict and type(index.object) is str:
            self.typed(container)
            if not index.fixed:
                self.pin(index)
            if not self.contains(container, index):
                self.raises(KeyError, "a key that is not there", Raised(KeyError, [index]))
                return
            self.pending = self.dict_item(self.register(container), index.object, container.object[index.object])
        elif kind in CHANGED and type(index.object) is int and self.changed(container) is not None:
            self.pin(index)
            self.pending = self.element_of_changed(self.changed(container), index.object)
            if self.pending is None:
                self.raises(IndexError, "an element that is not there")
        elif kind is list and self.is_number(index) and self.may_be_any_element(container, index):
            self.pending = self.known_element(container, index)
        elif kind in (list, tuple, DEQUE) and type(index.object) is int:
            self.pin(index)
            size = len(container.object)
            self.sized(container)
            if not -size <= index.object < size:
                self.raises(IndexError, "an element that is not there")
                return
            self.pending = self.item(container, index.object % size)
        elif issubclass(type(container.object), tuple) and self.is_number(index):  # of results that have names
            self.typed(container)
            self.typed(index)
            self.pending = self.emit("GetItem", self.register(container), inputs=[self.register(index)])
        else:
            function = self.special_method(container, "__getitem__")
            if function is None:
                raise NoRow(f"an element of a {kind.__name__}")
            self.call_inline(function, [container, index], ())

    def part_of_text(self, text, index):
        self.pin(text)
        if not self.is_slice(index):
            self.pin(index)
        if not index.fixed or type(index.object) not in (int, slice):
            raise NoRow("a part of a text by other than constants")
        try:
            self.pending = self.constant(text.object[index.object])
        except IndexError as error:
            _frames.raise_of_handler(error)
            raise NoRow("an element that is not there") from None

    def sized(self, container):
        self.typed(container)
        if type(container.object) in (dict, *CHANGED):
            self.whole(self.register(container))
        self.check("CheckSize", self.register(container), len(container.object))

    def items_of(self, sequence):
        """The elements of a list, tuple or deque, whose number is checked."""
        made = self.changed(sequence)
        if made is not None:
            return self.all_elements(made)
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
        if isinstance(value, NamedTuple):
            raise NoRow(f"an index of class {value.kind.__name__}")
        if isinstance(value, Fresh):
            for item in value.items:
                self.index(item)
        elif value is NULL or isinstance(value, Transient):
            raise NoRow("an index that is none")
        elif type(value.object) in (int, bool, type(None), type(Ellipsis), slice) or self.is_tensor(value):
            self.typed(value)
        elif (
            type(value.object) is tuple and value.fixed and all(type(item) in (int, *BY_CLASS) for item in value.object)
        ):
            pass  # constants
        else:
            raise NoRow(f"an index of class {type(value.object).__name__}")
        return self.register(value)

    def tensor_index(self, container, index):
        if self.num_index_modes and not self.traced:
            raise NoRow("an element of a tensor in a mode of __torch_function__")
        self.typed(container)
        self.num_calls += 1
        owned = self.is_owned(container)
        self.pending = self.compute("GetItem", self.register(container), inputs=[index], owned=owned)

    def STORE_SUBSCR(self, view, frame, argument):
        value, container, index = frame.stack[-3:]
        del frame.stack[-3:]
        if isinstance(container, Keywords):
            key = self.key_of(index)
            if not is_object(value) or self.holds(value, container):
                raise NoRow("an iterator in a dict")
            self.changes(container)
            self.frees(container.items.get(key))
            container.items[key] = value
            return
        if type(container) is Fresh and container.kind is list and self.is_number(index):
            self.set_element(container, index, value)
            return
        if type(container) is Fresh and container.kind is list and self.is_slice(index) and self.is_sequence(value):
            self.change_part_of_list(container, index, self.parts_of(value), "an assignment to a slice")
            return
        if isinstance(container, Value) and not isinstance(container, Fresh) and type(container.object) in DICTS:
            self.typed(container)
            key = self.key_of_tensor(index) if self.is_tensor(index) else self.key(index, (str, int))
            self.store_item(self.register(container), container.object, key, value)
            return
        if type(container) is Value and type(container.object) in CHANGED:
            self.set_element_there(container, index, value)
            return
        function = self.special_method(container, "__setitem__")
        if function is not None:
            self.call_inline(function, [container, index, value], ())
            self.entering.drops = True
            return
        if not self.is_tensor(container):
            raise NoRow("an assignment to an element")
        if not self.is_tensor(value) and not self.is_number(value):
            raise NoRow("an assignment of other than tensors and numbers")
        inputs = [self.register(self.typed(container)), self.index(index), self.register(self.typed(value))]
        self.writes(container, "an assignment to an element", [value], (inputs[1],))
        self.num_calls += 1
        register = self.compute("Call", self.register(self.constant(operator.setitem)), inputs=inputs)
        self.see(register, None)
        self.written[register] = inputs[0]

    def set_element(self, made, index, value):
        """Sets an element of a list that the plan makes, and has not made yet."""
        self.pin(index)
        place, items = index.object, made.items
        if made.register is not None or type(place) is not int or not -len(items) <= place < len(items):
            raise NoRow("an element that is set by other than its number")
        if not is_object(value) or self.holds(value, made):
            raise NoRow("an iterator in a list")
        self.undo.append(lambda before=items[place]: items.__setitem__(place, before))
        items[place] = value

    def DELETE_SUBSCR(self, view, frame, argument):
        container, index = frame.stack[-2:]
        del frame.stack[-2:]
        function = self.special_method(container, "__delitem__")
        if function is not None:
            self.call_inline(function, [container, index], ())
            self.entering.drops = True
            return
        if type(container) is Value and type(container.object) is dict:
            self.delete_item(container, self.key(index, (str, int)))
            return
        if type(container) is Value and type(container.object) in CHANGED:
            self.delete_element_there(container, index)
            return
        if type(container) is Fresh and container.kind is list:
            self.change_part_of_list(container, index, None, "an element that is deleted")
            return
        if not isinstance(container, Keywords):
            raise NoRow("an element that is deleted")
        key = self.key(index, (str, int))
        if key not in container.items:
            raise NoRow("a key that is not there")
        self.changes(container)
        del container.items[key]

    def changes(self, made):
        """Before a change of a dict that the plan makes, and has not made yet."""
        if made.register is not None and made.source is None:
            raise NoRow("a dict that is changed")
        if self.has_views():
            raise NoRow("a dict that is changed while it may be iterated over")
        items, before = made.items, dict(made.items)

        def restore():
            items.clear()
            items.update(before)

        self.undo.append(restore)

    def slice_of(self, values):
        """The Value of a constant slice; the register of another one."""
        for value in values:
            if not isinstance(value, Value) or isinstance(value, Fresh) or type(value.object) not in (int, type(None)):
                raise NoRow("a slice by other than numbers")
            self.typed(value)
        if all(value.fixed for value in values):
            return self.constant(slice(*[value.object for value in values]))
        return self.emit("Slice", inputs=[self.register(value) for value in values])

    def BUILD_SLICE(self, view, frame, argument):
        values = frame.stack[-argument:]
        del frame.stack[-argument:]
        self.pending = self.slice_of(values)

    def place_of_slice(self, frame):
        """Puts a slice in the place of its two limits."""
        limits = frame.stack[-2:]
        made = self.slice_of(limits)
        if not isinstance(made, Value):
            made = self.values[made] = Value(made, slice(*[limit.object for limit in limits]), typed=True)
        frame.stack[-2:] = [made]

    def BINARY_SLICE(self, view, frame, argument):
        self.place_of_slice(frame)
        self.BINARY_SUBSCR(view, frame, 0)

    def STORE_SLICE(self, view, frame, argument):
        self.place_of_slice(frame)
        self.STORE_SUBSCR(view, frame, 0)

    # ---- Jumps

    def FORMAT_VALUE(self, view, frame, argument):
        specification = [frame.stack.pop()] if argument & 4 else []
        self.text(TEXT[argument & 3], [frame.stack.pop(), *specification])

    def CONVERT_VALUE(self, view, frame, argument):
        self.text(TEXT[argument], [frame.stack.pop()])

    def FORMAT_SIMPLE(self, view, frame, argument):
        self.text(format, [frame.stack.pop()])

    def FORMAT_WITH_SPEC(self, view, frame, argument):
        values = frame.stack[-2:]
        del frame.stack[-2:]
        self.text(format, values)

    def BUILD_STRING(self, view, frame, argument):
        parts = frame.stack[len(frame.stack) - argument :]
        del frame.stack[len(frame.stack) - argument :]
        if any(not isinstance(part, Value) or type(part.object) is not str for part in parts):
            raise NoRow("a text of other than texts")
        self.text(JOIN, [Fresh(tuple, parts)])

    def text(self, function, values):
        """The text that a function makes of numbers, texts and the like; none is made if nothing uses it."""
        if function in (format, str) and len(values) == 1 and isinstance(values[0], Raised):
            self.pending = self.text_of_exception(values[0])
            return
        if function not in (format, JOIN) and len(values) > 1:
            raise NoRow("a text that is converted and formatted")
        if function in (format, str) and len(values) == 1 and self.is_pinned_text(values[0]):
            self.pending = values[0]  # the same object
            return
        if function is JOIN and all(map(self.is_pinned_text, values[0].items)):
            self.pending = self.constant(JOIN([value.object for value in values[0].items]))
            return
        for value in values:
            self.argument(value)
            if self.is_tensor(value):
                raise NoRow("the text of a tensor")
        inputs = [self.register(value) for value in values]
        self.pending = self.emit("Call", self.register(self.constant(function)), inputs=inputs)

    def text_of_exception(self, raised):
        if raised.arguments is None or not all(type(value) is Value and value.fixed for value in raised.arguments):
            raise NoRow("the text of an exception")
        return self.constant(str(raised.kind(*[value.object for value in raised.arguments])))

    @staticmethod
    def is_pinned_text(value):
        return type(value) is Value and type(value.object) is str and value.fixed

    def jump_if(self, view, frame, argument):
        self.decide(frame.stack.pop())

    POP_JUMP_IF_FALSE = POP_JUMP_IF_TRUE = POP_JUMP_FORWARD_IF_FALSE = POP_JUMP_FORWARD_IF_TRUE = jump_if

    def jump_back_if(self, view, frame, argument):
        self.JUMP_BACKWARD(view, frame, argument)
        self.jump_if(view, frame, argument)

    POP_JUMP_BACKWARD_IF_FALSE = POP_JUMP_BACKWARD_IF_TRUE = jump_back_if

    def jump_if_none(self, view, frame, argument):
        self.is_none(frame.stack.pop())

    def is_none(self, value):
        """Whether the value is None, checked."""
        if isinstance(value, (Keywords, NewFunction, NewSet, Token)):
            return False
        if value is NULL or isinstance(value, Transient):
            raise NoRow("there is no object here")
        if isinstance(value, (Fresh, NewObject)) or value.fixed:
            return not isinstance(value, (Fresh, NewObject)) and value.object is None
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
