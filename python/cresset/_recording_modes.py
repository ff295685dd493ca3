"""Rows of frame capture for `with` statements, and the modes of torch that some set: each call in one is made in its modes
(`_C._CallInModes`), and nothing is left of them. Part of `_recording.py`."""

import contextlib
import sys
import types

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from . import _C
from ._recording_values import (
    CASTS,
    CONTEXTS,
    GRAD_MODES,
    BoundMethod,
    Context,
    EndOfManager,
    EndOfMode,
    Generator,
    Manager,
    NoRow,
    RealCell,
    Value,
)
from ._rows import argument_of

RECORD = torch.autograd.profiler.record_function
RECORD_CODES = {function: function.__code__ for function in (RECORD.__init__, RECORD.__enter__, RECORD.__exit__)}
MODE_METHODS = {name: getattr(TorchFunctionMode, name) for name in ("__init__", "__enter__", "__exit__")}
MODE_CODES = {name: method.__code__ for name, method in MODE_METHODS.items()}
MANAGER_CODE = contextlib.contextmanager(lambda: None).__code__
MANAGER = type(contextlib.contextmanager(lambda: iter(()))())
MANAGER_METHODS = {
    name: (getattr(MANAGER, name), getattr(MANAGER, name).__code__) for name in ("__init__", "__enter__", "__exit__")
}
AUTOCAST_ARGUMENTS = ("device_type", "dtype", "enabled", "cache_enabled")
_drop_casts = _C._KeptCasts()
_set_grad_enabled = torch._C._set_grad_enabled


def is_index_mode(object):
    """Whether it is PyTorch's mode in which `tensor[index]` is an operator also for an index of one element: functions that
    make masks are called in it by torch.vmap (flex attention, transformers)."""
    module = sys.modules.get("torch._dynamo._trace_wrapped_higher_order_op")
    return module is not None and object is getattr(module, "TransformGetItemToIndex", module)


class Indexing(TorchFunctionMode):
    """What that mode does, by an operator that traces have: it does it by an autograd.Function."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function is torch.Tensor.__getitem__:
            tensor, indices = arguments[0], tree_leaves(arguments[1])
            if all(isinstance(index, (torch.Tensor, int)) for index in indices):
                indices = [
                    index if isinstance(index, torch.Tensor) else torch.tensor(index, device=tensor.device)
                    for index in indices
                ]
                return torch.ops.aten.index(tensor, indices)
        return function(*arguments, **(keywords or {}))


class Modes:
    """What a recorder does for `with` statements."""

    def call_context(self, callee, arguments, names):
        kind = callee.object
        self.identical(callee)
        self.knows_context(kind)
        if kind in GRAD_MODES:
            if arguments:
                raise NoRow(f"a {kind.__name__} with arguments")
            self.pending = Context(("grad", GRAD_MODES[kind]))
        elif kind is torch.autocast:
            self.pending = Context(self.mode_of_autocast(arguments, names))
        else:
            given = argument_of(arguments, names, "mode", 0)
            if len(arguments) > 1 or (given is None and kind is torch.set_grad_enabled):
                raise NoRow(f"a {kind.__name__} with other arguments")
            is_enabled = given is None or self.flag_of(given)
            is_set = kind is torch.set_grad_enabled
            self.pending = Context(("grad" if is_set else "inference", is_enabled), is_set)

    def knows_context(self, kind):
        """Checks that the class is as torch wrote it."""
        example, functions = CONTEXTS[kind]
        self.versioned(self.constant(example))
        for name, (function, code) in functions.items():
            if getattr(kind, name) is not function:
                raise NoRow(f"a {kind.__name__} with a {name} of its own")
            if code is not None:
                self.has_code(function, code)

    def flag_of(self, value):
        if type(getattr(value, "object", None)) is not bool:
            raise NoRow("a mode by other than True and False")
        return self.pin(value)

    def mode_of_autocast(self, arguments, names):
        given = [argument_of(arguments, names, *each) for each in zip(AUTOCAST_ARGUMENTS, range(4), strict=True)]
        if sum(value is not None for value in given) != len(arguments) or type(given[0]) is not Value:
            raise NoRow("a call of autocast with other arguments")
        device, dtype, is_enabled, keeps_casts = given
        if type(device.object) is not str:
            raise NoRow("a call of autocast with other arguments")
        self.known(device)
        if dtype is None or self.is_none(dtype):
            dtype = self.state_of(torch.get_autocast_dtype, device)
        if type(dtype) is not Value or type(dtype.object) is not torch.dtype:
            raise NoRow("a call of autocast with other arguments")
        self.known(dtype)
        if keeps_casts is None or self.is_none(keeps_casts):
            keeps_casts = self.state_of(torch.is_autocast_cache_enabled)
        is_enabled = is_enabled is None or self.flag_of(is_enabled)
        return self.autocast_of(device, dtype, is_enabled, self.flag_of(keeps_casts))

    def autocast_of(self, device, dtype, is_enabled, keeps_casts):
        if self.options.backend is not None or self.options.dynamic is False:
            raise NoRow("autocast in a graph of a backend, or of constant sizes")
        if device.object != "cpu" and (device.object != "cuda" or not torch.cuda.is_available()):
            raise NoRow(f"autocast of {device.object}")
        if is_enabled and (dtype.object not in CASTS or device.object != "cpu" and dtype.object is torch.bfloat16):
            raise NoRow(f"autocast to {dtype.object}")
        return "autocast", device.object, is_enabled, dtype.object, keeps_casts

    def state_of(self, function, *arguments):
        """What a function says of the modes around the call."""
        inputs = [self.register(value) for value in arguments]
        register = self.compute("Call", self.register(self.constant(function)), inputs=inputs)
        self.see(register, function(*[value.object for value in arguments]))
        return self.typed(self.values[register])

    def mode_of_object(self, manager):
        """The mode that an object sets which is there when the plan begins: that of a decorator."""
        kind, names = type(manager.object), manager.object.__dict__
        if kind not in GRAD_MODES and kind is not torch.autocast:
            raise NoRow(f"a {kind.__name__} that was made before")
        self.versioned(manager)
        self.knows_context(kind)
        if kind in GRAD_MODES:
            self.store_plainly(manager, "prev", self.state_of(torch.is_grad_enabled))
            return "grad", GRAD_MODES[kind]
        parts = ("device", "fast_dtype", "_enabled", "_cache_enabled")
        if type(names) is not dict or any(part not in names for part in parts):
            raise NoRow("an autocast that lacks something")
        parts = [self.dict_item(self.instance_dict(manager), part, names[part]) for part in parts]
        if [type(part.object) for part in parts] != [str, torch.dtype, bool, bool]:
            raise NoRow("an autocast of other parts")
        for part in parts:
            self.known(part)
        device, dtype, is_enabled, keeps_casts = parts
        mode = self.autocast_of(device, dtype, is_enabled.object, keeps_casts.object)
        for name, value in (
            ("prev_cache_enabled", self.state_of(torch.is_autocast_cache_enabled)),
            ("prev", self.state_of(torch.is_autocast_enabled, device)),
            ("prev_fastdtype", self.state_of(torch.get_autocast_dtype, device)),
        ):
            self.store_plainly(manager, name, value)
        return mode

    def call_record_function(self, callee, arguments, names):
        """A `with` that tells a profiler where it is: nothing while there is none."""
        if len(arguments) != 1 or names or type(getattr(arguments[0], "object", None)) not in (str, type(None)):
            raise NoRow("a call of record_function with other arguments")
        self.identical(callee)
        self.member_version(callee)
        for function, code in RECORD_CODES.items():
            self.has_code(function, code)
        if torch.autograd._profiler_enabled():
            raise NoRow("a call of record_function while a profiler runs")
        self.check("CheckZero", object=torch.autograd._profiler_enabled)
        self.pending = Context(None)

    def call_index_mode(self, callee, arguments, names):
        """A mode for functions that transforms call: these are traced in it. The plan doesn't set it."""
        if arguments or names or self.options.backend is not None:
            raise NoRow("a mode of __torch_function__")
        self.not_in_transform("a mode")
        self.identical(callee)
        self.member_version(callee)
        for name, method in MODE_METHODS.items():
            if getattr(callee.object, name) is not method:
                raise NoRow(f"a mode with a {name} of its own")
            self.has_code(method, MODE_CODES[name])
        self.pending = Context(("index",))

    def enter_mode(self, mode):
        self.not_in_transform("a mode")
        if self.options.backend is not None:
            raise NoRow("a mode that is set within a graph of a backend")
        if mode[0] == "autocast" and not self.is_in_autocast():
            self.emit("Save", self.register(self.constant(_C._KeptCasts)))
        self.modes.append(mode)

    def is_in_autocast(self):
        return any(mode[0] == "autocast" for mode in self.modes)

    def set_mode(self, context):
        """`torch.set_grad_enabled(flag)` as a statement: calls after it are made in the mode, and the plan sets it at its
        end. A `with` around it ends it, but for one of autocast."""
        self.not_in_transform("a mode")
        if self.options.backend is not None or self.is_in_autocast():
            raise NoRow("a mode that is set without a with statement")
        self.modes.append(context.mode)

    def steps_of_mode(self, mode):
        """Steps that set the mode in which a plan ends."""
        save, function, flag, result, saved = (self.new_register() for _ in range(5))
        return [
            ("LoadConst", save, -1, -1, _C._SavedGradMode, ()),
            ("Save", saved, save, -1, None, ()),
            ("LoadConst", function, -1, -1, _set_grad_enabled, ()),
            ("LoadConst", flag, -1, -1, mode[1], ()),
            ("Call", result, function, -1, None, (flag,)),
        ]

    def leave_mode(self, depth):
        if depth is None:
            self.pending = self.constant(None)
            return
        if depth == "index":
            self.num_index_modes -= 1
            self.pending = self.constant(None)
            return
        left = self.modes[depth][0]
        del self.modes[depth:]
        if left == "autocast" and not self.is_in_autocast():
            self.see(self.emit("Call", self.register(self.constant(_drop_casts))), None)
        self.pending = self.constant(None)

    # ---- contextlib.contextmanager

    def call_manager(self, callee, arguments, names):
        """A call of what contextlib.contextmanager makes of a function: a generator, of which a `with` statement runs the one
        part before its body, and the other after it."""
        self.check("CheckCode", self.register(callee), object=MANAGER_CODE)
        self.member_version(self.constant(MANAGER))
        for name, (function, code) in MANAGER_METHODS.items():
            if getattr(MANAGER, name) is not function:
                raise NoRow("a context manager of another kind")
            self.has_code(function, code)
        function = RealCell(callee, MANAGER_CODE.co_freevars.index("func")).read(self)
        if type(function.object) is not types.FunctionType:
            raise NoRow("a context manager of other than a function")
        self.call_function(function, arguments, names)
        if not isinstance(self.pending, Generator):
            raise NoRow("a context manager of other than a generator")
        self.pending = Manager(self.pending)

    def leave_manager(self, manager):
        self.run_generator(manager.generator, self.end_late, lambda: setattr(self, "pending", self.constant(False)))

    def end_early(self):
        raise NoRow("a context manager that yields nothing")

    def end_late(self, value):
        raise NoRow("a context manager that yields twice")

    def BEFORE_WITH(self, view, frame, argument):
        manager = frame.stack.pop()
        if isinstance(manager, Context) and manager.mode is None:
            frame.stack += [EndOfMode(None), Context(None)]
            return
        if isinstance(manager, Context) and manager.mode[0] == "index":
            self.num_index_modes += 1
            frame.stack += [EndOfMode("index"), Context(None)]
            return
        if isinstance(manager, Context) or (type(manager) is Value and type(manager.object) in CONTEXTS):
            end = EndOfMode(len(self.modes))
            self.enter_mode(manager.mode if isinstance(manager, Context) else self.mode_of_object(manager))
            frame.stack += [end, manager if type(manager) is Value else self.constant(None)]
            return
        if isinstance(manager, Manager):
            frame.stack.append(EndOfManager(manager.generator))
            self.run_generator(manager.generator, self.take_one, self.end_early)
            return
        enter, leave = (self.special_method(manager, name) for name in ("__enter__", "__exit__"))
        if enter is None or leave is None:
            raise NoRow("a with statement")
        frame.stack.append(BoundMethod(leave, manager))
        self.call_inline(enter, [manager], ())
