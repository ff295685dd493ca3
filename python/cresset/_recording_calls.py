"""Rows of frame capture for calls. Part of `_recording.py`."""

import abc
import collections
import contextvars
import functools
import inspect
import itertools
import operator
import random
import sys
import types
import weakref

import torch
from torch.func import functional_call

from . import _C, _frames
from ._recording_caches import CACHED
from ._recording_checkpoints import CHECKPOINT
from ._recording_containers import MAX_ROWS
from ._recording_defaults import DEFAULTDICT, writes_arguments
from ._recording_environment import reads_environment
from ._recording_functional import CHILDREN, ITERATED, ITERATED_MODULES
from ._recording_functions import APPLY, FunctionContext
from ._recording_gradients import GRAD, REQUIRES_GRAD
from ._recording_hooks import OF_TENSORS
from ._recording_leaves import BACKWARD, BACKWARD_OF_TENSORS
from ._recording_lists import GROUP, is_of_lists
from ._recording_modes import MANAGER_CODE, RECORD, is_index_mode
from ._recording_objects import BIND
from ._recording_transforms import OF_TAPES, Pullback, Transformed
from ._recording_values import (
    CAST,
    CAST_CODE,
    CELL,
    CONTAINERS,
    CONTEXTS,
    DEQUE,
    DESCRIPTORS,
    DICT_METHODS,
    END,
    LIMITS,
    MAX_DEPTH,
    MAX_RECURSION,
    MAX_STEPS,
    METHODS_OF_DICTS,
    METHODS_OF_LISTS,
    MODULE_CALL,
    NAMES_OF_NAMED_TUPLES,
    NULL,
    OBJECT_GETATTRIBUTE,
    OBJECT_INIT,
    OBJECT_SETATTR,
    OF_CONTEXT,
    OPAQUE,
    PLAIN,
    SEQUENCES,
    SIGNATURE,
    SIGNATURE_CODE,
    STATIC_CLASS,
    SUSPENDS,
    TENSORS,
    TUPLE_NEW,
    VIEWS_OF_ORDERED,
    BoundMethod,
    Context,
    Count,
    DefaultKeywords,
    EndOfManager,
    EndOfMode,
    FrameShadow,
    Fresh,
    Generator,
    Iterator,
    Keywords,
    Mapped,
    Modules,
    NamedTuple,
    NewFunction,
    NewObject,
    NewSet,
    NoRow,
    Pairs,
    Raised,
    Range,
    RealCell,
    Super,
    Token,
    Transient,
    Value,
    View,
    ViewIterator,
    Zipped,
    graph_break,
    is_object,
    is_of_objects,
    looks_up_plainly,
)
from ._rows import (
    HAS_TORCH_FUNCTION,
    OF_CONTENTS,
    argument_of,
    code_of,
    computes,
    counts_calls,
    decisive_arguments,
    effect_of,
    identities,
    is_disabled,
    is_functional,
    is_given_in_place,
    is_in_place,
    makes_memory,
    makes_object,
    name_of_transform,
    refused_arguments,
    was_added,
)
from ._segments import BINARY, NUM_BINARY


def is_of_exceptions(object):
    """Whether it is a class of exceptions of Python's own."""
    return isinstance(object, type) and issubclass(object, Exception) and not object.__flags__ & STATIC_CLASS


def has_own_new(object):
    """Whether it is a class of the program's with a __new__ in Python."""
    return type(object) is type and type(object.__new__) is types.FunctionType


#: Steps that find what something holds, beside those that load.
FOUND = {
    "ClassItem",
    "ClassMember",
    "DictItem",
    "FreeCell",
    "GetAttr",
    "GetItem",
    "Globals",
    "InstanceDict",
    "Item",
    "ItemAt",
    "ModuleDict",
    "Referent",
    "SuperItem",
}
INSTANCECHECK = abc.ABCMeta.__instancecheck__
INSTANCECHECK_CODE = getattr(INSTANCECHECK, "__code__", None)


REPLACE_CODE = collections.namedtuple("Fields", "a")._replace.__code__  # noqa: PYI024
#: Of itertools what yields tuples of the elements that it is given: how many numbers follow the iterable, None after several.
OF_ROWS = {itertools.product: None, itertools.combinations: 1, itertools.permutations: 1}
if hasattr(itertools, "pairwise"):
    OF_ROWS[itertools.pairwise] = 0


# What a row asks of each callee, by identity.
ASKS_FOR_CLASSES, ASKS_FOR_CONTENTS = identities(HAS_TORCH_FUNCTION), identities(OF_CONTENTS)
MAKES_CONTEXT, METHOD_OF_CONTEXT = identities(CONTEXTS), identities(OF_CONTEXT.values())
METHOD_OF_DICT = identities((*DICT_METHODS.values(), *VIEWS_OF_ORDERED))
COMPUTES_BINARY, MAKES_ROWS, MAKES_LIMITS = map(identities, (BINARY[:NUM_BINARY], OF_ROWS, LIMITS))
REGISTERS_HOOK = identities(OF_TENSORS.values())


class SavedPythonRandom:
    """The state of Python's own random numbers, which a call puts back."""

    def __init__(self):
        self.state = random.getstate()

    def __call__(self):
        random.setstate(self.state)


class Calls:
    """What a recorder does for instructions that call."""

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
        self.site = count, names
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
        self.site = argument & 1, None
        keywords = self.keywords_of(frame.stack.pop()) if argument & 1 else {}
        positional, callee = frame.stack.pop(), frame.stack.pop()
        if sys.version_info >= (3, 11):
            if callee is NULL:  # below it, from 3.13 on
                callee = frame.stack.pop()
            else:
                frame.stack.pop()
        if isinstance(positional, (Generator, Zipped, Pairs, Range, View)):

            def finish(items):
                self.call_of(view, frame, callee, [*items, *keywords.values()], tuple(keywords))

            self.all_of(positional, finish)
            return
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
        if isinstance(callee, EndOfManager):
            self.leave_manager(callee)
            return
        if isinstance(callee, EndOfMode):
            self.leave_mode(callee.depth)
            return
        if isinstance(callee, NewFunction):
            self.call_function(callee, arguments, names)
            return
        if isinstance(callee, Modules):
            self.call_module(view, frame, self.as_module(callee), arguments, names)
            return
        if isinstance(callee, Context):
            raise NoRow("a function that is decorated where it is called")
        if isinstance(callee, Transformed):
            self.call_transformed(view, frame, callee, arguments, names)
            return
        if isinstance(callee, Pullback):
            self.call_pullback(view, callee, arguments)
            return
        if not isinstance(callee, Value) or isinstance(callee, Fresh):
            raise NoRow("a call of no object")
        if len(arguments) == 1 and (callee.object is min or callee.object is max):
            self.call_over(callee, arguments, names)
            return
        if (self.stores or self.swapped) and was_added(callee.object):
            raise NoRow(f"a call of {callee.object.__qualname__} after attributes were set")
        is_number = callee.object is float or callee.object is int
        if is_number and len(arguments) == 1 and not names and self.call_number(callee, arguments[0]):
            return
        if issubclass(type(callee.object), torch.nn.Module):  # before all that is known by name
            self.call_module(view, frame, callee, arguments, names)
        elif is_functional(callee.object) or is_in_place(callee.object):
            self.call_functional(callee, arguments, names)
        elif callee.object is CAST and len(arguments) == 2 and not names:
            self.identical(callee)
            self.has_code(CAST, CAST_CODE)
            self.pending = arguments[1]
        elif is_of_lists(callee.object):
            self.call_of_lists(callee, arguments, names)
        elif writes_arguments(callee.object):
            self.call_writer(callee, arguments, names)
        elif callee.object is torch.Tensor.tolist:
            self.call_tolist(callee, arguments, names)
        elif callee.object is divmod:
            self.call_divmod(callee, arguments, names)
        elif callee.object is torch.Size or callee.object is torch.Size.numel:
            self.call_size(callee, arguments, names)
        elif callee.object is random.random:
            self.call_random(callee, arguments, names)
        elif callee.object is torch.device:
            self.call_device(callee, arguments, names)
        elif callee.object is torch.get_default_dtype and not arguments:
            self.identical(callee)
            self.pending = self.state_of(torch.get_default_dtype)
            self.known(self.pending)
        elif callee.object is id:
            self.call_id(callee, arguments, names)
        elif callee.object is DEFAULTDICT:
            self.call_defaultdict(callee, arguments, names)
        elif callee.object is GROUP:
            self.call_group(callee, arguments, names)
        elif callee.object is RECORD:
            self.call_record_function(callee, arguments, names)
        elif is_index_mode(callee.object):
            self.call_index_mode(callee, arguments, names)
        elif callee.object is itertools.chain:
            self.identical(callee)
            self.call_chain(arguments, names)
        elif id(callee.object) in MAKES_CONTEXT:
            self.call_context(callee, arguments, names)
        elif callee.object is list.append:
            self.call_append(callee, arguments, names)
        elif callee.object is BIND:
            self.call_bind(arguments, names)
        elif callee.object is OBJECT_GETATTRIBUTE:
            self.identical(callee)
            self.call_getattribute(frame, arguments, names)
        elif callee.object is OBJECT_INIT and len(arguments) == 1:
            self.identical(callee)
            self.pending = self.constant(None)
        elif callee.object is setattr or callee.object is OBJECT_SETATTR:
            self.call_setattr(callee, arguments, names)
        elif callee.object is TUPLE_NEW:
            self.call_tuple_new(callee, arguments, names)
        elif is_of_objects(callee.object):
            self.call_class(callee, arguments, names)
        elif is_of_exceptions(callee.object):
            self.call_exception(callee, arguments, names)
        elif has_own_new(callee.object):
            self.call_new(callee, arguments, names)
        elif (
            type(callee.object) in DESCRIPTORS
            and callee.object in METHODS_OF_DICTS
            and self.is_derived_dict(callee.object, arguments)
        ):
            self.identical(callee)
            self.call_of_dict(METHODS_OF_DICTS[callee.object], arguments, names)
        elif type(callee.object) is types.MethodDescriptorType and callee.object in METHODS_OF_LISTS:
            self.identical(callee)
            self.call_of_list(METHODS_OF_LISTS[callee.object], arguments, names)
        elif type(callee.object) is types.MethodDescriptorType and callee.object.__objclass__ is DEQUE:
            self.identical(callee)
            if not arguments or type(arguments[0]) is not Value or type(arguments[0].object) is not DEQUE:
                raise NoRow(f"a call of deque.{callee.object.__name__}")
            self.call_of_there(callee.object.__name__, arguments, names)
        elif id(callee.object) in METHOD_OF_CONTEXT:
            self.call_of_context(callee, arguments, names)
        elif callee.object is str:
            self.call_str(callee, arguments, names)
        elif id(callee.object) in METHOD_OF_DICT:
            self.identical(callee)
            self.call_keywords(callee, arguments, names)
        elif callee.object is super:
            self.call_super(view, frame, callee, arguments, names)
        elif callee.object is functools.reduce:
            self.call_reduce(callee, arguments, names)
        elif id(callee.object) in COMPUTES_BINARY and len(arguments) == 2:
            self.identical(callee)
            frame.stack += arguments
            number = next(place for place, function in enumerate(BINARY) if callee.object is function)
            self.BINARY_OP(view, frame, number)
        elif id(callee.object) in MAKES_ROWS:
            self.call_rows(callee, arguments, names)
        elif callee.object is itertools.accumulate:
            self.call_accumulate(callee, arguments, names)
        elif callee.object is map:
            self.call_map(callee, arguments, names)
        elif callee.object is range or callee.object is enumerate or callee.object is zip:
            (self.call_range if callee.object is range else self.call_pairs)(callee, arguments, names)
        elif callee.object is any or callee.object is all:
            self.call_any_or_all(callee, arguments, names)
        elif callee.object is bool and len(arguments) == 1 and not names:
            self.identical(callee)
            self.pending = self.constant(self.pin(arguments[0]))
        elif callee.object is list or callee.object is tuple or callee.object is sum:
            self.call_over(callee, arguments, names)
        elif type(callee.object) is types.MethodType:
            self.call_method(view, frame, callee, arguments, names)
        elif type(callee.object) is types.MethodDescriptorType and callee.object.__objclass__ in (str, tuple):
            self.call_of_text(callee, arguments, names)
        elif type(callee.object) is weakref.ref:
            self.call_reference(callee, arguments, names)
        elif callee.object is SIGNATURE:
            self.call_signature(callee, arguments, names)
        elif id(callee.object) in MAKES_LIMITS:
            self.call_limits(callee, arguments, names)
        elif callee.object is len:
            self.call_len(callee, arguments, names)
        elif callee.object is getattr:
            self.call_getattr(frame, callee, arguments, names)
        elif callee.object is hasattr:
            self.call_hasattr(frame, callee, arguments, names)
        elif callee.object is callable:
            self.call_callable(callee, arguments, names)
        elif callee.object is type:
            self.call_type(callee, arguments, names)
        elif callee.object is isinstance:
            self.call_isinstance(callee, arguments, names)
        elif callee.object is graph_break:
            raise NoRow("a call of graph_break")
        elif callee.object is MODULE_CALL["__call__"] and callee.object is not None and arguments:
            self.identical(callee)
            self.call_module(view, frame, arguments[0], arguments[1:], names, plainly=True)
        elif reads_environment(callee.object):
            self.call_getenv(callee, arguments, names)
        elif type(callee.object) is types.FunctionType and callee.object in ITERATED:
            self.call_members(callee, arguments, names)
        elif type(callee.object) is types.FunctionType and callee.object in ITERATED_MODULES:
            self.call_modules(callee, arguments, names)
        elif type(callee.object) is types.FunctionType and callee.object in CHILDREN:
            self.call_children(callee, arguments, names)
        elif callee.object is APPLY:
            self.call_apply(callee, arguments, names)
        elif callee.object is CHECKPOINT:
            self.call_checkpoint(view, frame, callee, arguments, names)
        elif type(callee.object) is types.FunctionType and name_of_transform(callee.object):
            self.call_transform(view, frame, callee, arguments, names)
        elif callee.object is GRAD:
            self.call_grad(callee, arguments, names)
        elif callee.object is BACKWARD or callee.object is BACKWARD_OF_TENSORS:
            self.call_backward(callee, arguments, names)
        elif callee.object is REQUIRES_GRAD:
            self.call_requires_grad(callee, arguments, names)
        elif id(callee.object) in REGISTERS_HOOK:
            self.call_register_hook(callee, arguments, names)
        elif callee.object is functional_call:
            self.call_functional_call(view, frame, callee, arguments, names)
        elif type(callee.object) is types.FunctionType and is_disabled(callee.object):
            self.call_disabled(view, frame, callee, arguments, names)
        elif type(callee.object) is types.FunctionType:
            self.call_function(callee, arguments, names)
        elif callee.object is dict:
            self.call_dict(callee, arguments, names)
        elif callee.object is set:
            self.call_set(callee, arguments, names)
        elif type(callee.object) is types.MethodDescriptorType and callee.object.__objclass__ is set:
            self.call_of_set(callee, arguments, names)
        elif callee.object is sorted or callee.object is reversed:
            self.call_ordered(callee, arguments, names)
        elif callee.object is slice:
            self.call_slice(callee, arguments, names)
        elif type(callee.object) is CACHED:
            self.call_cached(callee, arguments, names)
        elif type(callee.object) is functools.partial:
            self.call_partial(view, frame, callee, arguments, names)
        elif self.special_method(callee, "__call__") is not None:
            self.call_function(self.special_method(callee, "__call__"), [callee, *arguments], names)
        else:
            raise NoRow(f"a call of {getattr(callee.object, '__qualname__', type(callee.object).__name__)}")

    def call_functional(self, callee, arguments, names):
        if self.lists:
            arguments = list(map(self.as_it_is, arguments))
        if len(arguments) > 32:
            raise NoRow("a call with many arguments")
        if "out" in names and makes_memory(callee.object):
            self.call_with_out(callee, arguments, names)
            return
        if getattr(callee.object, "__name__", "") in OF_TAPES:
            self.not_on_tape(callee.object.__name__, f"a call of {callee.object.__name__}")
        self.identical(callee)
        if type(callee.object) is types.FunctionType:
            code = code_of(callee.object)
            if code is None:
                raise NoRow(f"a {callee.object.__qualname__} with other code")
            self.check("CheckCode", self.register(callee), object=code)
        if id(callee.object) in ASKS_FOR_CLASSES:
            for value in arguments:
                self.argument(value)
            self.pending = self.constant(False)  # all are plain tensors and the like
            return
        if (callee.object is torch.tensor or callee.object is torch.as_tensor) and arguments:
            first = arguments[0]
            is_there = type(first) is Value and type(first.object) in (list, tuple) and 0 < len(first.object) <= 32
            if is_there and all(type(item) in (int, float, bool) for item in first.object):
                arguments = [
                    Fresh(type(first.object), [self.typed(item) for item in self.items_of(first)]),
                    *arguments[1:],
                ]
        if callee.object is torch.as_tensor and self.is_same_as_tensor(arguments, names):
            self.pending = arguments[0]
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
        for value in arguments:
            self.argument(value)
        owned = False
        if in_place:
            what = f"a call of {callee.object.__name__} in place"
            part = self.part_written(callee, arguments, names)
            owned = self.writes(arguments[0] if arguments else NULL, what, arguments[1:], *part)
        is_of_contents = id(callee.object) in ASKS_FOR_CONTENTS
        if is_of_contents and self.options.backend is not None:
            raise NoRow(f"a tensor's {callee.object.__name__}")
        inputs = [self.register(value) for value in arguments]
        if effect:
            self.save(effect, saved, callee.object.__name__)
        self.num_calls += computes(callee.object)
        from_owned = not was_added(callee.object) and all(map(self.is_owned, arguments))
        owned = owned if in_place else makes_memory(callee.object) or (from_owned and effect != "statistics")
        self.pending = self.compute("Call", self.register(callee), object=names or None, inputs=inputs, owned=owned)
        if is_of_contents:
            self.of_contents.add(self.pending)
        if in_place:
            self.written[self.pending] = inputs[0]
        elif makes_object(callee.object):
            self.new.add(self.pending)
        if effect:
            self.effects[self.pending] = [self.register(value) for value in saved if self.is_tensor(value)]

    def is_same_as_tensor(self, arguments, names):
        """Whether `as_tensor` returns the tensor that it is given, checked."""
        value, device = argument_of(arguments, names, "data", 0), argument_of(arguments, names, "device", 2)
        is_known = device is None or type(getattr(device, "object", None)) is torch.device
        if not self.is_tensor(value) or len(arguments) != 1 + (device is not None) or not is_known:
            return False
        if device is not None:
            self.known(device)
            found = Value(self.emit("GetAttr", self.register(self.typed(value)), object="device"), value.object.device)
            self.known(found)
            if found.object != device.object:
                return False
        return value is arguments[0]

    def as_module(self, part):
        """The Value of the module that a part of a container of modules is."""
        if part.made is None or self.has_views():
            raise NoRow("a part of a container of modules")
        register = part.make()
        self.values[register] = Value(register, part.made)
        return self.values[register]

    def call_number(self, callee, value):
        """Whether it is the float or int that a text says, or of a tensor, which then is what comes next."""
        if type(value) is Value and type(value.object) is str:
            self.identical(callee)
            self.pin(value)
            self.pending = self.constant(self.result_of(callee.object, [value.object], ()))
            return True
        if not self.is_tensor(value) or value.object.numel() != 1 or value.object.is_complex():
            return False
        name = f"__{callee.object.__name__}__"
        if self.class_attribute(value, name) is not getattr(torch.Tensor, name):
            return False
        self.call_functional(self.constant(torch.Tensor.item), [value], ())
        self.see(self.pending, value.object.item())
        self.call_functional(callee, [self.values[self.pending]], ())
        return True

    def save(self, effect, saved, name):
        """Saves what the next call changes besides its result."""
        self.not_in_transform(f"a call of {name}")
        if self.options.backend is not None:
            raise NoRow(f"a call of {name} that is not pure")
        self.before_effect()
        if effect == "random":
            if torch.accelerator.is_available():
                raise NoRow("random numbers, where there is an accelerator")
            inputs = [self.register(value) for value in saved]
            self.emit("Save", self.register(self.constant(_C._SavedRandomState)), inputs=inputs)
            return
        for value in saved:
            if not self.is_tensor(value) or value.object.requires_grad or not value.object.is_cpu:
                raise NoRow(f"a call of {name} that writes to other than statistics")
        inputs = [self.register(value) for value in saved]
        self.emit("Save", self.register(self.constant(_C._SavedTensors)), inputs=inputs)

    def call_random(self, callee, arguments, names):
        """A number of Python's own generator, whose state is put back if the plan is given up."""
        self.not_in_transform("a call of random.random")
        if arguments or names or self.options.backend is not None or self.options.dynamic is False:
            raise NoRow("a call of random.random in a graph of a backend, or of constant numbers")
        self.identical(callee)
        self.emit("Save", self.register(self.constant(SavedPythonRandom)))
        self.pending = self.emit("Call", self.register(callee))
        self.of_contents.add(self.pending)

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

    def LOAD_SUPER_ATTR(self, view, frame, argument):
        """`super().name`, or with two arguments."""
        callee, kind, owner = frame.stack[-3:]
        del frame.stack[-3:]
        found = [value for value in (callee, kind, owner) if isinstance(value, Value) and not isinstance(value, Fresh)]
        if len(found) < 3 or callee.object is not super or kind.object not in type(owner.object).__mro__:
            raise NoRow("a super of other arguments")
        self.identical(callee)
        self.identical(kind)
        self.super_attribute(frame, Super(kind, owner), frame.code.co_names[argument >> 2], argument & 1)

    def super_attribute(self, frame, found_by, name, as_method):
        kind, owner = found_by.kind, found_by.owner
        self.versioned(owner)
        classes = type(owner.object).__mro__
        found = next((c.__dict__[name] for c in classes[classes.index(kind.object) + 1 :] if name in c.__dict__), None)
        is_method = any(found is each for each in (OBJECT_GETATTRIBUTE, OBJECT_INIT, OBJECT_SETATTR))
        if (is_method or (type(found) in DESCRIPTORS and found in METHODS_OF_DICTS)) and as_method:
            self.push_method(frame, self.constant(found), owner)
            return
        if type(found) is not types.FunctionType:
            raise NoRow(f"a super's {name}")
        register = self.emit("SuperItem", self.register(owner), object=name, inputs=[self.register(kind)])
        if as_method:
            self.push_method(frame, Value(register, found), owner)
        else:
            frame.stack.append(BoundMethod(Value(register, found), owner))

    def call_method(self, view, frame, callee, arguments, names):
        """A bound method that is there when the plan begins."""
        method = callee.object
        self.typed(callee)
        parts = []
        for name in ("__func__", "__self__"):
            register = self.emit("GetAttr", self.register(callee), object=name)
            self.see(register, getattr(method, name))
            parts.append(self.values[register])
        self.call_of(view, frame, parts[0], [parts[1], *arguments], names)

    def call_bind(self, arguments, names):
        """`function.__get__(object, class)`: a method of the object."""
        if names or not 2 <= len(arguments) <= 3 or not all(type(value) is Value for value in arguments[:2]):
            raise NoRow("a call of __get__ with other arguments")
        function, owner = arguments[:2]
        if type(function.object) is not types.FunctionType or owner.object is None:
            raise NoRow("a call of __get__ with other arguments")
        self.versioned(owner)
        self.pending = BoundMethod(function, owner)

    def call_of_text(self, callee, arguments, names):
        """A method of a text that a check leaves no other, with constants."""
        self.identical(callee)
        given = []
        for value in arguments:
            if isinstance(value, Fresh) and value.kind in (tuple, list):
                items = value.items
            elif isinstance(value, Value) and type(value.object) is tuple and value.fixed:
                items = [self.constant(item) for item in value.object]
            else:
                items = [value]
            plain = (str, int, bool, type(None))
            if any(
                not isinstance(item, Value) or isinstance(item, Fresh) or type(item.object) not in plain
                for item in items
            ):
                raise NoRow("a text of other than texts")
            for item in items:
                self.pin(item)
            given.append(value.object if items == [value] else tuple(item.object for item in items))
        result = self.result_of(callee.object, given, names)
        if type(result) in (list, tuple):
            self.pending = Fresh(type(result), [self.constant(item) for item in result])
        elif type(result) in (str, int, bool):
            self.pending = self.constant(result)
        else:
            raise NoRow(f"a call of {callee.object.__qualname__}")

    @staticmethod
    def result_of(function, given, names):
        """What a function of constants returns."""
        count = len(given) - len(names)
        try:
            return function(*given[:count], **dict(zip(names, given[count:], strict=True)))
        except (TypeError, ValueError, LookupError, RuntimeError) as error:
            _frames.raise_of_handler(error)
            raise NoRow(f"a call of {function.__qualname__} that raises") from None

    def call_reference(self, callee, arguments, names):
        """A weak reference to what lives."""
        referred = callee.object()
        if arguments or names or referred is None:
            raise NoRow("a weak reference to what is no longer there")
        # Registers hold what the program has let go of until the plan ends. What something from outside refers to is not
        # among it as long as all is there that the plan found.
        held = None
        if self.has_let_go or self.undo or not self.is_found(callee):
            held = self.kept_as(referred)
            if held is None:
                raise NoRow("a weak reference to what the function itself may have let go of")
        self.typed(callee)
        self.pending = Value(self.emit("Referent", self.register(callee)), referred)
        if held is not None:
            self.values[self.pending.register] = self.pending
            self.require(_C._are_same_objects, (0, 0), [self.register(held), self.pending.register])

    def kept_as(self, object):
        """A Value of an object that a variable has at this instruction: of a frame, one that functions share, a global one;
        None if there is none."""
        for value in (value for frame in self.frames for value in frame.variables.values()):
            if type(value) is Value and value.object is object:
                return value
        for kind, register, _, _, name, _ in self.steps:
            is_shared = kind in ("LoadCell", "LoadFree") and CELL not in self.stored
            if is_shared or (kind == "LoadGlobal" and name not in self.stored):
                value = self.values.get(register)
                if type(value) is Value and value.object is object:
                    return value
        return None

    def is_found(self, value):
        """Whether it was there when the plan began: variables, attributes, elements have it."""
        todo = [value.register]
        while todo:
            found = todo.pop()
            if found is None:  # a constant
                continue
            step = self.made_by.get(found)
            if step is None:  # of a checkpoint or a transform
                return False
            kind, register, a, b, _, inputs = step
            if not (kind.startswith("Load") or kind in FOUND):
                return False
            if kind != "LoadSlot":
                todo += [each for each in (a, b, *inputs) if 0 <= each < register]  # places, too
        return True

    def is_held(self, value, variable):
        """Whether another variable than this one, or something that was there before, has it."""
        for frame in self.frames:
            for place, other in frame.variables.items():
                if getattr(other, "register", None) == value.register and (frame, place) != variable:
                    return True
        return self.slot_of_register(value.register) is None and self.is_found(value)

    def call_signature(self, callee, arguments, names):
        """`inspect.signature` of a function or method in Python."""
        value = self.as_object(arguments[0]) if len(arguments) == 1 and not names else None
        if not isinstance(value, Value) or type(value.object) not in (types.FunctionType, types.MethodType):
            raise NoRow("a signature of other than a function")
        self.identical(callee)
        self.check("CheckCode", self.register(callee), object=SIGNATURE_CODE)
        self.typed(value)
        self.pending = self.emit("Call", self.register(callee), inputs=[self.register(value)])

    def call_tolist(self, callee, arguments, names):
        """The numbers of a tensor of one dimension or two, in lists that the plan makes of them."""
        (value,) = arguments if len(arguments) == 1 and not names else (NULL,)
        is_known = self.is_tensor(value) and 1 <= value.object.dim() <= 2 and 0 < value.object.numel() <= 64
        if not is_known or self.options.backend is not None or self.options.dynamic is False:
            raise NoRow("a tensor's tolist")
        self.not_in_transform("a tensor's tolist")
        self.identical(callee)
        register = self.compute("Call", self.register(callee), inputs=[self.register(self.typed(value))])
        self.of_contents.add(register)
        self.num_calls += 1

        def see(found):
            self.see(register, found)
            return self.numbers_in(register, found)

        self.transformed = see
        self.pending = Fresh(list, [])

    def numbers_in(self, register, found):
        """The list in a register, of numbers or of such lists, as one that the plan makes."""
        self.check("CheckSize", register, len(found))
        items = []
        for place, item in enumerate(found):
            part = self.emit("Item", register, place)
            self.see(part, item)
            if type(item) is list:
                items.append(self.numbers_in(part, item))
            else:
                self.of_contents.add(part)
                items.append(self.typed(self.values[part]))
        return Fresh(list, items)

    def call_divmod(self, callee, arguments, names):
        """The quotient and the rest of numbers."""
        if len(arguments) != 2 or names or not all(map(self.is_number, arguments)):
            raise NoRow("a divmod of other than numbers")
        self.identical(callee)
        left, right = map(self.typed, arguments)
        found = self.result_of(divmod, [left.object, right.object], ())
        parts = []
        for number, result in zip((BINARY.index(operator.floordiv), BINARY.index(operator.mod)), found, strict=True):
            register = self.emit("Binary", self.register(left), number, inputs=[self.register(right)])
            parts.append(Value(register, result))
            self.values[register] = self.typed(parts[-1])
        self.pending = Fresh(tuple, parts)

    def call_size(self, callee, arguments, names):
        """A torch.Size of numbers, or how many elements tensors of a size have."""
        if len(arguments) > 1 or names or not all(isinstance(value, Value) for value in arguments):
            raise NoRow("a Size of other arguments")
        self.identical(callee)
        if callee.object is torch.Size.numel:
            if len(arguments) != 1 or type(arguments[0].object) is not torch.Size:
                raise NoRow("the numel of other than a Size")
            inputs = [self.register(self.typed(arguments[0]))]
        else:
            items = self.parts_of(arguments[0]) if arguments else []
            if not all(self.is_number(item) and type(item.object) is int for item in items):
                raise NoRow("a Size of other than numbers")
            inputs = [self.register(Fresh(tuple, [self.typed(item) for item in items]))]
        self.pending = self.emit("Call", self.register(callee), inputs=inputs)

    def call_device(self, callee, arguments, names):
        """A device that constants name."""
        if not 1 <= len(arguments) <= 2 or names or any(type(value) is not Value for value in arguments):
            raise NoRow("a device of other than constants")
        self.identical(callee)
        for value in arguments:
            if type(value.object) not in (str, int, torch.device):
                raise NoRow("a device of other than constants")
            self.known(value)
        try:
            self.pending = self.constant(torch.device(*[value.object for value in arguments]))
        except RuntimeError as error:
            _frames.raise_of_handler(error)
            raise NoRow("a device that there is not") from None

    def call_limits(self, callee, arguments, names):
        """The limits of a dtype, which are constants."""
        if len(arguments) != 1 or names or type(getattr(arguments[0], "object", None)) is not torch.dtype:
            raise NoRow(f"a {callee.object.__name__} of other than a dtype")
        self.identical(callee)
        self.known(arguments[0])
        self.pending = self.constant(self.result_of(callee.object, [arguments[0].object], ()))

    def as_object(self, value):
        """What a name may stand for: of a method that is looked up, an object."""
        if isinstance(value, Modules):
            return self.as_module(value)
        if not isinstance(value, BoundMethod):
            return value
        parts = (value.function, value.owner)
        if any(not isinstance(part, Value) or isinstance(part, (Fresh, NewObject)) for part in parts):
            raise NoRow("a method of what the plan makes")
        if type(value.function.object) is not types.FunctionType:
            raise NoRow("a method that is not in Python, as an object")
        inputs = [self.register(part) for part in parts]
        register = self.emit("Call", self.register(self.constant(types.MethodType)), inputs=inputs)
        made = types.MethodType(value.function.object, value.owner.object)
        self.values[register] = Value(register, made, typed=True)
        return self.values[register]

    def call_len(self, callee, arguments, names):
        if len(arguments) != 1 or names or not is_object(arguments[0]):
            raise NoRow("a len of other than one object")
        self.identical(callee)
        (value,) = arguments
        if isinstance(value, (Fresh, Keywords)):
            self.pending = self.constant(len(value.items))
        elif self.changed(value) is not None:
            self.pending = self.number_of(self.changed(value))
        elif type(value.object) is dict and self.has_grown(value):
            self.pending = self.constant(len(self.elements_of(value)))
        elif type(value.object) in (list, tuple, dict, torch.Size, DEQUE):
            self.sized(value)
            self.pending = self.constant(len(value.object))
        elif type(value.object) is collections.OrderedDict:
            self.typed(value)
            self.check("CheckSize", self.register(value), len(value.object))
            self.pending = self.constant(len(value.object))
        elif type(value.object) is str:
            self.pin(value)
            self.pending = self.constant(len(value.object))
        elif self.is_tensor(value):
            self.typed(value)
            self.pending = self.emit("Call", self.register(callee), inputs=[self.register(value)])
        elif issubclass(type(value.object), tuple(CONTAINERS)):
            members, register = self.members_of(value, ("__len__",))
            self.check("CheckSize", register, len(members))
            self.pending = self.constant(len(members))
        elif type(value.object) is types.MappingProxyType:
            self.typed(value)
            self.pending = self.emit("Call", self.register(callee), inputs=[self.register(value)])
        else:
            function = self.special_method(value, "__len__")
            if function is None:
                raise NoRow(f"the length of a {type(value.object).__name__}")
            self.call_inline(function, [value], ())
            self.entering.finish = self.length_of

    def length_of(self, value):
        if not self.is_number(value) or type(value.object) is not int or value.object < 0:
            raise NoRow("a length that is no number")
        return self.typed(value)

    def call_append(self, callee, arguments, names):
        """Adds to a list that the plan makes, and has not made yet, or at the plan's end to another."""
        if len(arguments) != 2 or names:
            raise NoRow("a call of list.append")
        self.identical(callee)
        made, value = arguments
        if isinstance(made, Value) and type(made.object) is list:
            if not is_object(value):
                raise NoRow("a call of list.append")
            self.append_item(made, value)
            self.pending = self.constant(None)
            return
        if not isinstance(made, Fresh):
            raise NoRow("a call of list.append")
        self.add_to_made(made, value)
        self.pending = self.constant(None)

    def holds(self, value, made):
        """Whether it is a container that the plan makes, or holds it."""
        parts = value.items.values() if isinstance(value, Keywords) else value.items if isinstance(value, Fresh) else ()
        return value is made or any(self.holds(part, made) for part in parts)

    def call_setattr(self, callee, arguments, names):
        if len(arguments) != 3 or names or not isinstance(arguments[0], Value) or isinstance(arguments[0], Fresh):
            raise NoRow(f"a call of {callee.object.__name__} with other arguments")
        owner, name, value = arguments
        name = self.key(name)
        self.identical(callee)
        if callee.object is setattr:
            self.store_attribute(owner, name, value)
        elif self.is_tensor(owner) or issubclass(type(owner.object), (type, types.ModuleType)):
            raise NoRow(f"an attribute of a {type(owner.object).__name__} that is set")
        else:
            self.store_plainly(owner, name, value)
        if self.entering is None:
            self.pending = self.constant(None)
        else:
            self.entering.result = self.constant(None)

    def call_tuple_new(self, callee, arguments, names):
        """What the `__new__` of a class of named tuples calls."""
        if len(arguments) != 2 or names or not isinstance(arguments[0], Value):
            raise NoRow("a call of tuple.__new__ with other arguments")
        self.identical(callee)
        owner, items = arguments
        self.check_named_tuple(owner)
        self.all_of(items, lambda items: setattr(self, "pending", NamedTuple(owner, items)))

    def call_replace(self, function, arguments, names):
        """The `_replace` of a named tuple, as collections writes it."""
        owner = arguments[0] if len(arguments) - len(names) == 1 else NULL
        kind = owner.kind if isinstance(owner, NamedTuple) else type(getattr(owner, "object", None))
        fields = getattr(kind, "_fields", None)
        if not issubclass(kind, tuple) or type(fields) is not tuple or not set(names) <= set(fields):
            raise NoRow("a call of _replace with other arguments")
        if not isinstance(function, NewFunction):
            self.check("CheckCode", self.register(function), object=REPLACE_CODE)
        of_class = owner.owner if isinstance(owner, NamedTuple) else self.class_of(owner)
        self.check_named_tuple(of_class)
        items = owner.items if isinstance(owner, NamedTuple) else self.items_of(owner)
        given = dict(zip(names, arguments[1:], strict=True))
        if len(items) != len(fields) or not all(map(is_object, given.values())):
            raise NoRow("a call of _replace with other arguments")
        items = [given.get(field, item) for field, item in zip(fields, items, strict=True)]
        self.pending = NamedTuple(of_class, items)

    def check_named_tuple(self, owner):
        """Checks a class of named tuples, without methods of its own for what tuples do."""
        kind = owner.object
        if not issubclass(type(kind), type) or not issubclass(kind, tuple) or kind is tuple:
            raise NoRow("a call of tuple.__new__ with other arguments")
        own = {name for base in kind.__mro__ if base not in (tuple, object) for name in base.__dict__}
        if any(name.startswith("__") and name not in NAMES_OF_NAMED_TUPLES for name in own):
            raise NoRow(f"a {kind.__name__}, which has methods of its own for what tuples do")
        self.identical(owner)
        self.member_version(owner)

    def call_class(self, callee, arguments, names):
        """An object of a class of the program's, whose __init__ becomes part of the plan."""
        kind = callee.object
        self.identical(callee)
        if type(kind) is not type:
            self.versioned(callee)
        self.member_version(callee)  # before an object is made, which may have got a finalizer
        if issubclass(kind, tuple):
            self.call_function(self.member_of_class(callee, "__new__"), [callee, *arguments], names)
            return
        try:
            example = kind.__new__(kind)  # object's or dict's
        except TypeError as error:
            _frames.raise_of_handler(error)
            raise NoRow(f"an object of {kind.__name__}, which is abstract") from None
        made = NewObject(self.emit("NewObject", self.register(callee)), example, callee)
        self.values[made.register] = made
        init = self.class_attribute(made, "__init__", plainly=True)
        if type(init) is types.FunctionType:
            register = self.emit("ClassItem", made.register, object="__init__")
            self.call_inline(Value(register, init), [made, *arguments], names)
            self.entering.result = made
        elif init is OBJECT_INIT and not arguments:
            self.pending = made
        else:
            raise NoRow(f"a call of {kind.__qualname__}")

    def call_exception(self, callee, arguments, names):
        """An exception, which is raised."""
        self.identical(callee)
        if names or any(type(value) is not Value or type(value.object) not in PLAIN for value in arguments):
            raise NoRow(f"a call of {callee.object.__name__} with other arguments")
        self.pending = Raised(callee.object, arguments)

    def call_new(self, callee, arguments, names):
        """A class that has a __new__ in Python, which raises."""
        self.identical(callee)
        self.member_version(callee)
        found = next(base.__dict__["__new__"] for base in callee.object.__mro__ if "__new__" in base.__dict__)
        register = self.emit("ClassMember", self.register(callee), object="__new__")
        if type(found) is staticmethod:
            register, found = self.emit("GetAttr", register, object="__func__"), found.__func__
        if type(found) is not types.FunctionType:
            raise NoRow(f"a call of {callee.object.__qualname__}")
        self.see(register, found)
        self.call_inline(Value(register, found), [callee, *arguments], names)
        self.entering.only_raises = True

    def call_getattr(self, frame, callee, arguments, names):
        if len(arguments) not in (2, 3) or names or not isinstance(arguments[1], Value):
            raise NoRow("a getattr of other arguments")
        self.identical(callee)
        owner, name = arguments[:2]
        if type(name.object) is not str:
            raise NoRow("a getattr of other arguments")
        self.pin(name)
        if len(arguments) == 3 and self.is_missing_attribute(owner, name.object):
            self.pending = arguments[2]
            return
        frame.stack.append(owner)
        self.load_attribute(frame, name.object, False)
        if self.entering is not None and len(arguments) == 3 and self.is_looked_up_by_own_code(owner):
            self.entering.missing = arguments[2]
        if self.pending is None and self.entering is None:
            self.pending = frame.stack.pop()

    @staticmethod
    def is_looked_up_by_own_code(owner):
        """Whether a __getattribute__ in Python alone says what attributes an object has."""
        kind = type(getattr(owner, "object", None))
        has_getattr = any("__getattr__" in base.__dict__ for base in kind.__mro__)
        return type(kind.__getattribute__) is types.FunctionType and not has_getattr

    def object_and_name(self, what, arguments, names):
        """The two arguments: an object that is no tensor, class or module of Python's, and a name."""
        if len(arguments) != 2 or names or not isinstance(arguments[0], Value) or isinstance(arguments[0], Fresh):
            raise NoRow(f"a call of {what} with other arguments")
        owner = arguments[0]
        is_tensor = self.is_tensor(owner) and what != "hasattr"
        if is_tensor or issubclass(type(owner.object), (type, types.ModuleType)):
            raise NoRow(f"a call of {what} with a {type(owner.object).__name__}")
        return owner, self.key(arguments[1])

    def call_hasattr(self, frame, callee, arguments, names):
        """Whether there is an attribute: of a property, whether the look at it raises."""
        self.identical(callee)
        if len(arguments) == 2 and type(getattr(arguments[0], "object", None)) is types.ModuleType:
            self.has_name(arguments[0], self.key(arguments[1]))
            return
        owner, name = self.object_and_name("hasattr", arguments, names)
        if type(owner.object) in PLAIN:
            self.typed(owner)
            self.pending = self.constant(hasattr(owner.object, name))
            return
        if self.is_looked_up_by_own_code(owner):
            frame.stack.append(owner)
            self.load_attribute(frame, name, False)
            self.entering.finish = lambda result: self.constant(True)
            self.entering.missing = self.constant(False)
            return
        if self.is_missing_attribute(owner, name):
            self.pending = self.constant(False)
            return
        found = self.class_attribute(owner, name)
        is_property = type(found) is property and type(found.fget) is types.FunctionType
        if is_property and not any("__getattr__" in base.__dict__ for base in type(owner.object).__mro__):
            frame.stack.append(owner)
            self.load_attribute(frame, name, False)
            self.entering.finish = lambda result: self.constant(True)
            self.entering.missing = self.constant(False)
            return
        if found is not None and type(found) is not types.FunctionType and hasattr(type(found), "__get__"):
            raise NoRow(f"a property: {name}")
        members = self.names_of(owner.object)
        if type(members) is not dict and members is not None:
            raise NoRow("an object with names of its own kind")
        if found is None and members is not None and name in members:
            self.dict_item(self.instance_dict(owner), name, members[name])
        self.pending = self.constant(True)

    def has_name(self, module, name):
        """That a module has a name, and does not compute it."""
        names = module.object.__dict__
        if name not in names or name.startswith("__"):
            raise NoRow("a call of hasattr with a module that has no such name")
        self.typed(module)
        self.dict_item(self.module_dict(module, names), name, names[name])
        self.pending = self.constant(True)

    def is_missing_attribute(self, owner, name):
        """Whether a look at the attribute raises, checked; False also where a look at it tells."""
        if not isinstance(owner, Value) or isinstance(owner, Fresh):
            return False
        kind = type(owner.object)
        if issubclass(kind, (type, types.ModuleType)) or not looks_up_plainly(kind):
            return False
        members = self.names_of(owner.object)
        if any(name in base.__dict__ for base in kind.__mro__) or (type(members) is dict and name in members):
            return False
        if type(members) is not dict and members is not None:
            raise NoRow("an object with names of its own kind")
        self.class_attribute(owner, name)
        return self.has_member(owner, name, members) is None

    def is_missing_of_object(self, owner, name):
        """Whether object.__getattribute__ finds no such attribute, and nothing else does; checked."""
        kind = type(owner.object)
        members = self.names_of(owner.object)
        if not self.is_looked_up_by_own_code(owner) or any(name in base.__dict__ for base in kind.__mro__):
            return False
        if type(members) is not dict or name in members:
            return False
        self.class_attribute(owner, name, plainly=True)
        self.lacks(owner, name)
        return True

    def has_member(self, owner, name, names):
        """True if a module has a parameter, buffer or submodule of this name; None if the object has no such attribute."""
        if self.class_attribute(owner, "__getattr__") is None:
            self.lacks(owner, name)
            return None
        for held in self.member_groups(owner, name, names):
            if name in held.object:
                self.dict_item(held.register, name, held.object[name])
                return True
            if len(held.object) > 32:
                raise NoRow("a module with many members")
            self.whole(held.register)
            self.check("CheckKeys", held.register, object=tuple(held.object))
        return None

    def call_getattribute(self, frame, arguments, names):
        """What a class's own __getattribute__ calls for the attributes that there are."""
        owner, name = self.object_and_name("object.__getattribute__", arguments, names)
        if self.is_missing_of_object(owner, name):
            self.raises(AttributeError, "an attribute that is missing")
            return
        self.instance_attribute(frame, owner, name, False, plainly=True)
        if self.pending is None and self.entering is None:
            self.pending = frame.stack.pop()

    def class_of(self, value):
        """The class of an object that is there when the plan begins, which a plan does not keep alive."""
        kind = type(value.object)
        if isinstance(value, NewObject):
            return value.owner
        if isinstance(value, Fresh) or self.is_tensor(value):
            raise NoRow(f"the class of a {kind.__name__}")
        self.versioned(value)
        register = self.emit("Call", self.register(self.constant(type)), inputs=[self.register(value)])
        self.see(register, kind)
        return self.values[register]

    def call_type(self, callee, arguments, names):
        """A plan holds no class but torch's and Python's own."""
        if len(arguments) != 1 or names or not isinstance(arguments[0], Value):
            raise NoRow("a type of other than one object")
        self.identical(callee)
        (value,) = arguments
        kind = value.kind if isinstance(value, Fresh) else type(value.object)
        if kind.__flags__ & STATIC_CLASS and kind not in TENSORS:
            self.pending = self.class_of(value)
            return
        self.typed(value)
        self.pending = self.constant(kind)

    def call_callable(self, callee, arguments, names):
        if len(arguments) != 1 or names or arguments[0] is NULL:
            raise NoRow("a callable of other than one object")
        self.identical(callee)
        (value,) = arguments
        if isinstance(value, (BoundMethod, NewFunction)):
            self.pending = self.constant(True)
            return
        if type(value) is not Value:
            raise NoRow("a callable of what the plan makes")
        if type(value.object) in (*PLAIN, types.FunctionType):
            self.typed(value)
        else:
            self.versioned(value)
        self.pending = self.constant(callable(value.object))

    def call_isinstance(self, callee, arguments, names):
        if len(arguments) != 2 or names or not (is_object(arguments[0]) or isinstance(arguments[0], Pairs)):
            raise NoRow("an isinstance of other than an object and classes")
        self.identical(callee)
        value, kinds = arguments
        kinds = self.classes(kinds)
        if isinstance(value, (Fresh, Keywords, Pairs)):
            kind = (
                DEFAULTDICT
                if isinstance(value, DefaultKeywords)
                else dict
                if isinstance(value, Keywords)
                else value.kind
            )
            self.pending = self.constant(issubclass(kind, kinds))
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
        if type(value.object) is tuple:
            return tuple(self.classes(item) for item in self.items_of(value))
        meta = type(value.object)
        if meta is abc.ABCMeta:
            self.abstract(value)
            return value.object
        if (
            not issubclass(meta, type)
            or meta.__flags__ & STATIC_CLASS
            or meta.__instancecheck__ != type.__instancecheck__
        ):
            raise NoRow("an isinstance of a class that decides itself")
        self.identical(value)
        return value.object

    def abstract(self, value):
        """Checks an abstract class, and that no class was made a virtual subclass of one since."""
        hook = next(
            base.__dict__["__subclasshook__"] for base in value.object.__mro__ if "__subclasshook__" in base.__dict__
        )
        is_plain = hook is object.__dict__["__subclasshook__"] or getattr(hook, "__module__", "") == "collections.abc"
        if (
            abc.ABCMeta.__instancecheck__ is not INSTANCECHECK
            or INSTANCECHECK.__code__ is not INSTANCECHECK_CODE
            or not is_plain
        ):
            raise NoRow("an isinstance of a class that decides itself")
        self.identical(value)
        self.versioned(value)
        self.member_version(value)
        self.has_code(INSTANCECHECK, INSTANCECHECK_CODE)
        if ("abstract",) not in self.checked:
            self.checked["abstract",] = True
            register = self.emit("Call", self.register(self.constant(abc.get_cache_token)))
            self.see(register, abc.get_cache_token())
            self.check("CheckConst", register, object=abc.get_cache_token())

    def call_str(self, callee, arguments, names):
        """The text of a text, number, class or exception."""
        if len(arguments) != 1 or names or not (is_object(arguments[0]) or isinstance(arguments[0], Raised)):
            raise NoRow("a str of other than one object")
        self.identical(callee)
        (value,) = arguments
        kind = type(getattr(value, "object", None))
        if isinstance(value, Value) and issubclass(kind, type):
            of_class = (kind.__repr__, kind.__str__, kind.__getattribute__)
            if of_class != (type.__repr__, object.__str__, type.__getattribute__):
                raise NoRow("the text of a class of a class of its own kind")
            self.versioned(value)
            self.member_version(value)
            register = self.emit("Call", self.register(callee), inputs=[self.register(value)])
            made = self.values[register] = Value(register, str(value.object))
            self.pin(self.typed(made))
            self.pending = made
            return
        self.text(str, [value])

    def call_of_context(self, callee, arguments, names):
        """A variable of the context: what the plan sets, it resets before it ends."""
        name, owner = callee.object.__name__, arguments[0] if arguments else NULL
        if not isinstance(owner, Value) or type(owner.object) is not contextvars.ContextVar or names:
            raise NoRow(f"a call of ContextVar.{name} with other arguments")
        self.identical(callee)
        self.typed(owner)
        register, rest = self.register(owner), arguments[1:]
        if name == "set" and len(rest) == 1 and is_object(rest[0]):
            self.context.append([register, owner.object, rest[0]])
            self.pending = Token(self.context[-1])
        elif name == "reset" and len(rest) == 1 and isinstance(rest[0], Token) and self.context[-1:] == [rest[0].entry]:
            if not self.is_same_container(register, *rest[0].entry[:2]):
                raise NoRow("a token of another variable")
            self.context.pop()
            self.pending = self.constant(None)
        elif name == "get" and not rest:
            found = [value for *entry, value in self.context if self.is_same_container(register, *entry)]
            self.pending = found[-1] if found else self.read_by(callee, [owner])
        else:
            raise NoRow(f"a call of ContextVar.{name} with other arguments")

    def read_by(self, callee, arguments):
        """What a function that only reads returns."""
        result = self.result_of(callee.object, [value.object for value in arguments], ())
        register = self.emit("Call", self.register(callee), inputs=[self.register(value) for value in arguments])
        self.see(register, result)
        return self.values[register]

    def call_pairs(self, callee, arguments, names):
        """An enumerate or zip, which a loop unrolls."""
        self.identical(callee)
        is_strict = callee.object is zip and names == ("strict",)
        if is_strict:
            *arguments, strict = arguments
            names, is_strict = (), self.pin(strict)
        if names or (callee.object is enumerate and len(arguments) != 1) or len(arguments) == 0:
            raise NoRow(f"a {callee.object.__name__} with options")
        for value in arguments:
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not grow
        is_over_views = self.is_over_views(arguments)
        if not is_strict and any(
            isinstance(value, (Generator, Zipped)) or self.special_method(value, "__iter__") for value in arguments
        ):
            columns = [Count()] if callee.object is enumerate else []
            self.pending = Zipped([*columns, *map(self.column_of, arguments)])
            self.over_views += [self.pending] * is_over_views
            return
        columns = [self.iterated(value) for value in arguments]
        if is_strict and len({len(column) for column in columns}) > 1:
            raise NoRow("a strict zip of different lengths")
        sources = tuple(register for value in arguments for register in self.sources_of(value))
        if len({len(column) for column in columns}) > 1 and any(
            getattr(value, "is_named", False) for value in arguments
        ):
            raise NoRow("an iterator of which something is left")
        if callee.object is enumerate:
            columns.insert(0, [self.constant(i) for i in range(len(columns[0]))])
        self.pending = self.begins(Pairs(callee.object, [Fresh(tuple, list(row)) for row in zip(*columns)], sources))
        self.over_views += [self.pending] * is_over_views

    def call_reduce(self, callee, arguments, names):
        """A functools.reduce, which calls one function after another."""
        if names or not 2 <= len(arguments) <= 3:
            raise NoRow("a reduce of other arguments")
        self.identical(callee)
        function, values, *first = arguments
        self.begins(Pairs(functools.reduce, [], self.sources_of(values)))  # which goes on between calls

        def finish(items):
            items = [*first, *items]
            if not items:
                raise NoRow("a reduce of nothing")
            go_on(items[0], items[1:])

        def go_on(total, rest):
            if not is_object(total):
                raise NoRow("a reduce by what is no object")
            self.pending = total
            if rest:
                self.call_with_row(Mapped(function, []), [total, rest[0]], lambda made: see(made, total, rest))

        def see(made, total, rest):
            if made in self.written:
                made = self.values[self.written[made]]  # the same object
            elif not is_object(made) and made in self.effects:
                raise NoRow("a reduce by what does more than compute")
            elif not is_object(made) and len(rest) > 1:  # of which this run makes others
                result = self.result_of(function.object, [total.object, rest[0].object], ())
                self.see(made, result)
                made = self.typed(self.values[made])
            if is_object(made):
                go_on(made, rest[1:])
            else:
                self.pending = made

        self.all_of(values, finish)

    def call_rows(self, callee, arguments, names):
        """An itertools.product, pairwise or the like, which a loop unrolls."""
        self.identical(callee)
        count = OF_ROWS[callee.object]
        values, numbers = (arguments, ()) if count is None else (arguments[:1], arguments[1:])
        is_whole = callee.object is itertools.permutations and not numbers
        if names or not values or (count is not None and len(numbers) != count and not is_whole):
            raise NoRow(f"an itertools.{callee.object.__name__} of other arguments")
        if any(isinstance(value, (Generator, Zipped)) for value in values):
            raise NoRow(f"an itertools.{callee.object.__name__} of generators")
        for value in values:
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not grow
        for number in numbers:
            if not self.is_number(number) or type(number.object) is not int:
                raise NoRow(f"an itertools.{callee.object.__name__} of other arguments")
            self.pin(number)
        is_over_views = self.is_over_views(values)
        items = [self.iterated(value) for value in values]
        sources = tuple(register for value in values for register in self.sources_of(value))
        rows = list(itertools.islice(callee.object(*items, *[number.object for number in numbers]), MAX_ROWS + 1))
        if len(rows) > MAX_ROWS:
            raise NoRow("a long iteration")
        self.pending = self.begins(Pairs(callee.object, [Fresh(tuple, list(row)) for row in rows], sources))
        self.over_views += [self.pending] * is_over_views

    def call_chain(self, arguments, names):
        """An itertools.chain, which a loop unrolls."""
        if names or any(isinstance(value, (Generator, Zipped)) for value in arguments):
            raise NoRow("a chain of generators")
        for value in arguments:
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not grow
        is_over_views = self.is_over_views(arguments)
        items = [item for value in arguments for item in self.iterated(value)]
        sources = tuple(register for value in arguments for register in self.sources_of(value))
        self.pending = self.begins(Pairs(itertools.chain, items, sources))
        self.over_views += [self.pending] * is_over_views

    def call_range(self, callee, arguments, names):
        """A range of constant numbers, which a loop unrolls."""
        self.identical(callee)
        for value in arguments:
            if isinstance(value, Fresh) or not isinstance(value, Value) or type(value.object) is not int:
                raise NoRow("a range of other than numbers")
        try:
            made = range(*[value.object for value in arguments])
        except (TypeError, ValueError) as error:
            _frames.raise_of_handler(error)
            raise NoRow("a range that raises") from None
        if names or len(made) > MAX_STEPS:
            raise NoRow("a long range")
        if not all(value.fixed for value in arguments):
            self.not_growing(len(made))
        for value in arguments:
            self.pin(value)
        self.pending = Range(made)

    def identical(self, value):
        """Checks that it is this very object."""
        if value.fixed:
            return
        object = value.object
        if type(object) not in DESCRIPTORS or object.__objclass__.__flags__ & STATIC_CLASS:
            try:
                object = weakref.ref(object)
            except TypeError as error:
                _frames.raise_of_handler(error)
                raise NoRow("a callable that can't be referred to weakly") from None
        self.check("CheckIs", self.register(value), object=object)
        value.fixed = True

    def argument(self, value):
        if isinstance(value, NamedTuple):
            raise NoRow(f"an argument of class {value.kind.__name__}")
        if isinstance(value, Fresh):
            for item in value.items:
                self.argument(item)
        elif self.is_list_of_tensors(value):
            self.not_changed([self.register(value)])
            for item in self.items_of(value):
                self.typed(item)
        elif value is NULL or isinstance(value, Transient):
            raise NoRow("an argument that is none")
        elif type(value.object) in (*PLAIN, *OPAQUE, torch.Generator) or self.is_tensor(value):
            self.typed(value)
        elif type(value.object) is tuple and all(type(item) in PLAIN for item in value.object):
            if not value.fixed:
                for item in self.items_of(value):
                    self.pin(item)
                value.fixed = True
                self.constants[self.register(value)] = value.object
        else:
            raise NoRow(f"an argument of class {type(value.object).__name__}")

    def is_list_of_tensors(self, value):
        is_list = isinstance(value, Value) and type(value.object) is list and 0 < len(value.object) <= 256
        return is_list and all(type(item) in TENSORS for item in value.object)

    def call_ordered(self, callee, arguments, names):
        """A sorted of constants, or a reversed of a list, tuple or range, which a loop unrolls."""
        (value,) = arguments if len(arguments) == 1 else (NULL,)
        if names or value is NULL:
            raise NoRow(f"a call of {callee.object.__name__} with other arguments")
        self.identical(callee)
        if callee.object is reversed:
            if isinstance(value, Range):
                self.pending = Pairs(type(reversed(range(0))), value.items[::-1])
                return
            if not self.is_sequence(value) and type(getattr(value, "object", None)) is not torch.Size:
                raise NoRow("a reversed of other than a list or tuple")
            if isinstance(value, Fresh):
                self.register(value)  # from now on it does not change
            self.pending = self.begins(Pairs(reversed, self.parts_of(value)[::-1], self.sources_of(value)))
            return

        def finish(items):
            self.pending = Fresh(list, self.in_order(items, "a sorted"))

        if isinstance(value, NewSet):
            finish(list({item.object: item for item in value.items}.values()))
        else:
            self.all_of(value, finish)

    def call_slice(self, callee, arguments, names):
        if names or not 1 <= len(arguments) <= 3:
            raise NoRow("a slice of other arguments")
        self.identical(callee)
        none = self.constant(None)
        self.pending = self.slice_of([none, *arguments] if len(arguments) == 1 else arguments)

    def call_partial(self, view, frame, callee, arguments, names):
        """A functools.partial: its function, with its arguments before and around those of the call."""
        partial = callee.object
        self.typed(callee)
        parts = []
        for name in ("func", "args", "keywords"):
            register = self.emit("GetAttr", self.register(callee), object=name)
            self.see(register, getattr(partial, name))
            parts.append(self.values[register])
        function, first, more = parts
        count = len(arguments) - len(names)
        keywords = {**self.keywords_of(more), **dict(zip(names, arguments[count:], strict=True))}
        values = [*self.items_of(first), *arguments[:count], *keywords.values()]
        self.call_of(view, frame, function, values, tuple(keywords))

    def call_disabled(self, view, frame, callee, arguments, names):
        """A function that torch.compile is not to look into: to others it is the function itself."""
        code = callee.object.__code__
        self.check("CheckCode", self.register(callee), object=code)
        function = RealCell(callee, code.co_freevars.index("fn")).read(self)
        self.call_of(view, frame, function, arguments, names)

    def has_code(self, function, code):
        """Checks that a function of torch whose work a row does is as torch wrote it."""
        if function.__code__ is not code:
            raise NoRow(f"a {function.__qualname__} with other code")
        if ("code", function) not in self.checked:
            self.checked[("code", function)] = True
            self.check("CheckCode", self.register(self.constant(function)), object=code)

    @staticmethod
    def code_of(function):
        return function.code if isinstance(function, NewFunction) else function.object.__code__

    def call_function(self, function, arguments, names):
        code = self.code_of(function)
        if code is REPLACE_CODE:
            self.call_replace(function, arguments, names)
            return
        if code is MANAGER_CODE and not isinstance(function, NewFunction):
            self.call_manager(function, arguments, names)
            return
        if self.code_of(function).co_flags & SUSPENDS == inspect.CO_GENERATOR:
            self.generator_of(function, arguments, names)
        else:
            self.call_inline(function, arguments, names)

    def call_inline(self, function, arguments, names):
        code = self.code_of(function)
        if code.co_flags & SUSPENDS or len(self.frames) >= MAX_DEPTH:
            raise NoRow("a generator or coroutine, or calls that are nested deeply")
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
        arguments = [self.as_object(value) for value in arguments]
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
        no_objects = FunctionContext, NewFunction, NewSet, Pairs, Token
        passed = [value for value in bound.values() if not isinstance(value, no_objects)]
        for value in (*bound.values(), *(item for item in passed if isinstance(item, Fresh) for item in item.items)):
            if isinstance(value, Pairs):
                value.is_named = True
        if isinstance(function, NewFunction):  # a comprehension has the iterator of its first loop
            passed = [value for value in passed if type(value) not in (Iterator, ViewIterator, Generator, Zipped)]
        # Functions among the other arguments may be called, and kept in variables of callees.
        items = [item for value in passed if isinstance(value, Fresh) for item in value.items]
        rest = [item for item in items if not isinstance(item, (FunctionContext, NewFunction, Pairs))]
        if not all(map(is_object, (*passed, *rest, *others.values()))):
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
        self.not_set(name)
        if is_new:
            return given[name]
        return Value(self.emit("LoadKeywordDefault", self.register(function), object=name), given[name])

    def RETURN_VALUE(self, view, frame, argument):
        if frame.function is None:
            raise NoRow(END)
        self.returned = frame.stack.pop()
        is_known = isinstance(self.returned, (BoundMethod, Context, NewFunction, NewSet, Pairs, Token, Transformed))
        if not is_object(self.returned) and not is_known:
            raise NoRow("an iterator as a result")
        if isinstance(self.returned, Context) and (frame.generator or frame.drops or frame.finish or frame.result):
            raise NoRow("a mode that is set without a with statement")
        self.leave()

    def RETURN_CONST(self, view, frame, argument):
        if frame.function is None:
            raise NoRow(END)
        self.returned = self.constant(frame.code.co_consts[argument])
        self.leave()

    def leave(self):
        if self.frames[-1].only_raises:
            raise NoRow("an object that a __new__ in Python makes")
        frame = self.frames.pop()
        for value in frame.stack if self.iterations else ():
            self.ends(value)
        self.pending = self.returned
        if frame.generator is not None:
            self.pending = None
            generator = frame.generator
            generator.has_ended = True
            end, generator.end, generator.take = generator.end, None, None  # which may refer to frames that have it
            end()
        if type(frame.result) is NewObject and not self.is_none(self.returned):
            raise NoRow("an __init__ that returns something")
        if frame.result is not None:
            self.pending = frame.result
        elif frame.drops:
            self.pending = None
        elif frame.finish is not None:
            try:
                self.pending = frame.finish(self.returned)
            except NoRow:
                self.frames.append(frame)  # the line that calls runs as Python
                raise
        self.has_returned = True
