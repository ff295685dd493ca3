"""What a recorder (`_recording.py`) has of a frame, its values, and what its rows know by name of Python and torch."""

import collections
import contextvars
import functools
import gc
import inspect
import operator
import types
import typing
import weakref

import torch

from . import _C, _frames
from ._frames import member_of

END = "the end of the function"
PROLOGUE = "the frame is not made yet"
RETURNS = ("RETURN_VALUE", "RETURN_CONST")
MAX_STEPS = 16000
# How many instructions take CPython as long as beginning a frame, nn.Module.__call__ without the forward, and
# nn.Module.__getattr__ do.
INSTRUCTIONS_OF_FRAME, INSTRUCTIONS_OF_MODULE_CALL, INSTRUCTIONS_OF_MODULE_GETATTR = 20, 160, 80
MAX_DEPTH = 24  # of calls in one plan
MAX_RECURSION = 6  # of calls of one function in one plan: modules that hold modules of their kind

TENSORS = (torch.Tensor, torch.nn.Parameter)
NUMBERS = (int, float, bool)
PLAIN = (int, float, bool, str, type(None), type(Ellipsis))
OPAQUE = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, slice)
COMPARED = (torch.dtype, torch.device, torch.layout, torch.memory_format)  # of which equal ones are alike
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
SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # flags of code
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
# What nn.Module.__setattr__ calls, and the code that each is known with.
MODULE_SETATTR = {
    name: (_own(name), getattr(_own(name), "__code__", None)) for name in ("__setattr__", "register_buffer")
}
MODULE_INIT = (torch.nn.Module.__init__, torch.nn.Module.__init__.__code__)
OBJECT_SETATTR = object.__setattr__
# Of classes in which names are found as they are if the class is asked.
DESCRIPTORS = (types.WrapperDescriptorType, types.MethodDescriptorType)
AS_THEY_ARE = (types.FunctionType, *DESCRIPTORS)
OBJECT_INIT = object.__init__
PROP_MODULE = torch.backends.PropModule
PROP_GETATTR = PROP_MODULE.__dict__.get("__getattr__")  # of the modules of torch.backends
PROP_GETATTR_CODE = getattr(PROP_GETATTR, "__code__", None)
ITERATIONS = {
    f: f.__code__ for f in (torch.nn.Sequential.__iter__, torch.nn.ModuleList.__iter__, torch.nn.ModuleDict.__iter__)
}
# Modules that hold modules: the methods that find one, and the code that each is known with.
CONTAINERS = {
    kind: {name: (kind.__dict__[name], kind.__dict__[name].__code__) for name in ("__getitem__", "__len__", *more)}
    for kind, more in (
        (torch.nn.Sequential, ("__init__", "_get_item_by_idx")),
        (torch.nn.ModuleList, ("__init__", "_get_abs_string_index")),
        (torch.nn.ModuleDict, ()),
    )
}


JOIN = "".join
LIMITS = (torch.finfo, torch.iinfo)
SIGNATURE, SIGNATURE_CODE = inspect.signature, inspect.signature.__code__
CAST, CAST_CODE = typing.cast, typing.cast.__code__
IMPORT = __import__
NAMES_OF_MODULE = types.ModuleType.__dict__["__dict__"]
TEXT = (format, str, repr, ascii)  # in the order of FORMAT_VALUE's argument


def _context(example):
    methods = {name: getattr(type(example), name) for name in ("__new__", "__init__", "__enter__", "__exit__")}
    return example, {name: (method, getattr(method, "__code__", None)) for name, method in methods.items()}


# Classes whose objects a `with` statement takes and that set a mode of torch: an object, and the code that they have.
CONTEXTS = {
    torch.no_grad: _context(torch.no_grad()),
    torch.enable_grad: _context(torch.enable_grad()),
    torch.set_grad_enabled: _context(torch.set_grad_enabled(torch.is_grad_enabled())),
    torch.inference_mode: _context(torch.inference_mode()),
    torch.autocast: _context(torch.autocast("cpu", torch.bfloat16, enabled=False)),
}
#: What each `with` of them does to gradients.
GRAD_MODES = {torch.no_grad: False, torch.enable_grad: True}
CASTS = (torch.bfloat16, torch.float16)  # dtypes that autocast takes


def _operators_of(kind):
    """The methods that operators call, by name."""
    found = {}
    for base in reversed(kind.__mro__):
        found.update((name, value) for name, value in base.__dict__.items() if name.startswith("__"))
    for name in ("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__slotnames__"):
        found.pop(name, None)
    for name in (
        "__copy__",
        "__deepcopy__",
        "__dlpack__",
        "__reduce_ex__",
    ):  # no operator calls them; functionalize sets others
        found.pop(name, None)
    return found


_operators = {kind: _operators_of(kind) for kind in TENSORS}
_operators_in_python = {
    id(method): method
    for methods in _operators.values()
    for method in methods.values()
    if type(method) is types.FunctionType
}
_code_of = operator.attrgetter("__code__")
_codes_of_operators = [*map(_code_of, _operators_in_python.values())]
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
    return all(map(operator.is_, map(_code_of, _operators_in_python.values()), _codes_of_operators))


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


class NamedTuple(Fresh):
    """A tuple of a class derived from tuple, as tuple.__new__ makes it: `owner` is the Value of the class."""

    __slots__ = ("owner",)

    def __init__(self, owner, items):
        super().__init__(owner.object, items)
        self.owner = owner


class Transient:
    """What a plan has no object for, so that it can't end while there is one."""

    __slots__ = ()


class Context(Transient):
    """A `torch.no_grad()` or another of CONTEXTS: the mode, as _C._CallInModes takes it. `is_set`: it is set from the call
    on that makes it, also without a `with`."""

    __slots__ = ("is_set", "mode")

    def __init__(self, mode, is_set=False):
        self.mode, self.is_set = mode, is_set


class EndOfMode(Transient):
    """What a `with` calls at its end. `depth`: how many modes there were before it."""

    __slots__ = ("depth",)

    def __init__(self, depth):
        self.depth = depth


class Manager(Transient):
    """What a function makes that contextlib.contextmanager has decorated: its generator."""

    __slots__ = ("generator",)

    def __init__(self, generator):
        self.generator = generator


class EndOfManager(Manager):
    """What a `with` calls at its end, of such a one."""

    __slots__ = ()


class Super(Transient):
    """A `super()`: the class after which it looks, and the object."""

    __slots__ = ("kind", "owner")

    def __init__(self, kind, owner):
        self.kind, self.owner = kind, owner


class Keywords(Transient):
    """A dict that the plan makes, if it is needed: the program's, or the keyword arguments of a call. `items`: by key.
    `source`: the register of one that is there when the plan begins, and only a variable of its frame has it; `original`:
    its elements then."""

    __slots__ = ("items", "object", "original", "register", "source")

    def __init__(self, items, source=None):
        self.items, self.source = items, source
        self.original = dict(items)
        self.object = self.register = None

    def has_changed(self):
        now, before = list(self.items.items()), list(self.original.items())
        return len(now) != len(before) or any(a != b or v is not w for (a, v), (b, w) in zip(now, before, strict=True))


class DefaultKeywords(Keywords):
    """A defaultdict that the plan makes. `factory`: what makes missing elements."""

    __slots__ = ("factory",)

    def __init__(self, factory):
        super().__init__({})
        self.factory = factory


class NewObject(Value):
    """An object that the plan makes, of a class whose objects are made by object.__new__ or dict.__new__. `owner`: the
    Value of the class. `items`: the elements of one that is a dict; else None."""

    __slots__ = ("items", "owner")

    def __init__(self, register, object, owner):
        super().__init__(register, object)
        self.owner, self.items = owner, {} if issubclass(type(object), dict) else None


class NewSet(Transient):
    """A set of constants that the plan needs for searches only."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items = items


class Raised(Transient):
    """An exception that the program makes, of a class that cannot change. `arguments`: Values; None if they are not known."""

    __slots__ = ("arguments", "kind")

    def __init__(self, kind, arguments=None):
        self.kind, self.arguments = kind, arguments


class Handled(Transient):
    """What a handler has of the exceptions around its own, which is `raised`."""

    __slots__ = ("raised",)

    def __init__(self, raised):
        self.raised = raised


class Token(Transient):
    """What setting a variable of the context returns."""

    __slots__ = ("entry",)

    def __init__(self, entry):
        self.entry = entry


class Cell(Transient):
    """A variable that inner functions share: one that a callee makes, of which the plan knows the value."""

    __slots__ = ("made", "value")

    def __init__(self, value):
        self.value = value
        self.made = None  # the register of the cell, if a function that the plan makes has it

    def read(self, recorder):
        if self.value is NULL:
            raise NoRow("a variable without a value")
        return self.value


class RealCell(Cell):
    """One that is there when the plan begins, or belongs to a function: `value` has the cell, or the function and a place."""

    __slots__ = ("place",)

    def __init__(self, value, place=None):
        self.value, self.place = value, place

    @property
    def cell(self):
        return self.value.object if self.place is None else self.value.object.__closure__[self.place]

    def key(self, recorder):
        return "contents", recorder.register(self.value), self.place

    def read(self, recorder):
        found = recorder.stored_item(self.register(recorder), CELL) if CELL in recorder.stored else None
        if found is not None:
            return found
        key = self.key(recorder)
        if key not in recorder.checked:
            try:
                contents = self.cell.cell_contents
            except ValueError as error:
                _frames.raise_of_handler(error)
                raise NoRow("a variable without a value") from None
            if self.place is None:
                register = recorder.emit("LoadCell", key[1])
            else:
                register = recorder.emit("LoadFree", key[1], self.place)
            recorder.checked[key] = Value(register, contents)
        return recorder.checked[key]

    def register(self, recorder):
        """The register that has the cell itself."""
        if self.place is None:
            return recorder.register(self.value)
        known = "cell", recorder.register(self.value), self.place
        if known not in recorder.checked:
            recorder.checked[known] = recorder.emit("FreeCell", known[1], self.place)
            recorder.see(recorder.checked[known], self.cell)
        return recorder.checked[known]

    def has_value(self):
        try:
            return self.cell.cell_contents is not self
        except ValueError as error:
            _frames.raise_of_handler(error)
            return False


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


class Generator(Transient):
    """A generator that has not ended: its frame, and what becomes of what it yields. `take(value)` says whether what runs it
    asks for the next value in the same instruction; `end()` does what that does when there is none."""

    __slots__ = ("end", "frame", "has_ended", "take")

    def __init__(self, frame):
        self.frame, self.take, self.end, self.has_ended = frame, None, None, False


class Iterator(Transient):
    """What is left of an iteration that the plan unrolls. `sources`: registers of what it iterates over, which may grow."""

    __slots__ = ("at", "items", "sources")

    def __init__(self, items, sources=()):
        self.items, self.sources, self.at = items, sources, 0


class Range(Iterator):
    """A range, before and after it is iterated over."""

    def __init__(self, made):
        super().__init__([Value(None, number, fixed=True, typed=True) for number in made])


class Count(Range):
    """The numbers of an `enumerate`, as far as a plan goes."""

    def __init__(self):
        super().__init__(range(1024))


class Modules(Iterator):
    """A part of a container of modules, before it is iterated over. `made`: the module that the program has made of them;
    `make()`: the register of one that the plan makes."""

    __slots__ = ("make", "made")

    def __init__(self, items, sources, make):
        super().__init__(items, sources)
        self.make, self.made = make, None


class View(Transient):
    """The `name`, keys, values or items, of a dict: `make` lists what an iteration would give now."""

    __slots__ = ("make", "name")

    def __init__(self, name, make):
        self.name, self.make = name, make


class ViewIterator(Iterator):
    """An iteration over a View, which sees what becomes of the dict's values meanwhile."""

    __slots__ = ("view",)

    def __init__(self, view):
        self.view, self.at, self.sources = view, 0, ()

    @property
    def items(self):
        return self.view.make()


class TypeForm(Transient):
    """What an index makes of a type: `list[int]`, which `typing.cast` may get."""

    __slots__ = ()


class Pairs(Iterator):
    """An iterator that the program makes and may have in variables: of `kind`, as `enumerate`, `zip` or the generator that
    `parameters()` is. `is_named`: a variable has it, so that what is left of it may be asked for. `has_ended`: what goes
    over it has been told so."""

    __slots__ = ("has_ended", "is_named", "kind")

    def __init__(self, kind, items, sources=()):
        super().__init__(items, sources)
        self.kind, self.is_named, self.has_ended = kind, False, False

    def take_all(self):
        """What is left, of which then nothing is."""
        items, self.at, self.has_ended = self.items[self.at :], len(self.items), True
        return items


class Zipped(Transient):
    """A `zip` or `enumerate` of which a generator makes a part: iterators and generators, by column."""

    __slots__ = ("columns", "has_ended")

    def __init__(self, columns):
        self.columns, self.has_ended = columns, False


class Accumulated(Zipped):
    """An itertools.accumulate: what it has yielded last, None before that, and the function that makes the next one of it and
    an element. `first`: what it yields before it looks at an element, if it has not done so yet."""

    __slots__ = ("first", "function", "total")

    def __init__(self, function, column, first):
        super().__init__([column])
        self.function, self.first, self.total = function, first, None


class Mapped(Zipped):
    """A `map`: calls of a function with the rows of a `zip`, as far as they are asked for."""

    __slots__ = ("function",)

    def __init__(self, function, columns):
        super().__init__(columns)
        self.function = function


DEQUE = collections.deque
#: Elements of a list or deque that is changed, up to which a plan may know them all.
MAX_WHOLE = 256


class Elements:
    """What a list or deque that is there when the plan begins has by now: `front`, what it had without those that were taken
    from its ends (`first`, `last`), and `back`. `objects`: what it had; `limit`: the `maxlen` of a deque. Once something has
    looked at all elements `items` are those, and `before` those that there were."""

    __slots__ = ("back", "before", "first", "front", "items", "last", "limit", "object", "objects", "register")

    def __init__(self, register, object, limit):
        self.register, self.object, self.limit, self.objects = register, object, limit, list(object)
        self.front, self.first, self.last, self.back = [], [], [], []
        self.items = self.before = None

    def values(self):
        return [*self.front, *self.first, *self.last, *self.back, *(self.items or ()), *(self.before or ())]

    def restorer(self):
        """A function that gives it what it has now."""
        ends = self.front, self.first, self.last, self.back
        kept, items, now, before = list(map(list, ends)), self.items, list(self.items or ()), self.before

        def restore():
            for each, values in zip(ends, kept, strict=True):
                each[:] = values
            self.items, self.before = items, before
            if items is not None:
                items[:] = now

        return restore


OBJECT_GETATTRIBUTE = object.__getattribute__

#: Methods of dicts that rows do for keyword arguments.
DICT_METHODS = {
    name: getattr(dict, name)
    for name in ("clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values")
}

# What nn.Module itself keeps in its modules' names.
MODULE_NAMES = frozenset(torch.nn.Module().__dict__) - {"training"}


FIELD = type(collections.namedtuple("Fields", "a").a)
TUPLE_NEW = tuple.__new__
# Names with underscores that do not change what is read of a tuple, or how its objects are called, compared and iterated over.
NAMES_OF_NAMED_TUPLES = {
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__getnewargs__", "__match_args__", "__module__", "__new__",
    "__orig_bases__", "__parameters__", "__qualname__", "__repr__", "__replace__", "__slots__", "__static_attributes__", "__str__",
    "__weakref__",
}  # fmt: skip


def place_of_field(descriptor):
    """The place in a named tuple that a name of its class stands for."""
    return descriptor.__reduce__()[1][0]


LOOKUPS = {id(base.__getattribute__) for base in (object, tuple, dict, list, property)}


def looks_up_plainly(kind):
    """Whether attributes of its objects are looked up as object.__getattribute__ does."""
    return id(kind.__getattribute__) in LOOKUPS


def has_finalizer(kind):
    """Whether code of the program may run when an object is freed."""
    return kind in SUSPENDED or member_of(kind, "__del__", NULL) is not NULL


OWNING_NOTHING = {
    torch.Tensor,
    torch.nn.Parameter,
    torch.Size,
    torch.device,
    torch.dtype,
    bool,
    bytes,
    complex,
    float,
    int,
    str,
    type(None),
}


def owns_nothing(object):
    """Whether no weak reference can be to a part of it: it is a tensor, a number, a text, or a tuple of such."""
    if type(object) is tuple:
        return all(type(item) in OWNING_NOTHING and not weakref.getweakrefcount(item) for item in object)
    return type(object) in OWNING_NOTHING


#: Objects that are looked at for what one of them owns; with more of them anything may be among them.
MAX_OWNED = 1000


def is_watched(object):
    """Whether code of the program may notice that the object is freed, or something with it that it owns."""
    seen, todo = {}, [object]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, (type, types.ModuleType, types.FunctionType, types.CodeType)):
            continue
        seen[id(each)] = each
        if weakref.getweakrefcount(each) or has_finalizer(type(each)) or len(seen) > MAX_OWNED:
            return True
        if type(each) not in OWNING_NOTHING:
            todo += gc.get_referents(each)
    return False


def is_of_tuples(kind):
    """Whether it is a class of named tuples, or derived from one."""
    new = member_of(kind, "__new__")
    return issubclass(kind, tuple) and type(new) is staticmethod and kind.__init__ is OBJECT_INIT


def is_of_objects(kind):
    """Whether it is a class of the program's whose objects object.__new__ makes, and Python code initializes."""
    meta = type(kind)
    return (
        issubclass(meta, type)
        and meta.__getattribute__ is type.__getattribute__
        and meta.__call__ is type.__call__
        and bool(kind.__flags__ & STATIC_CLASS)
        and (kind.__new__ is object.__new__ or kind.__new__ is dict.__new__ or is_of_tuples(kind))
        and not has_finalizer(kind)
    )


# Methods that rows do for what is there when the plan begins.
METHODS_OF_CONTAINERS = {
    contextvars.ContextVar: ("get", "reset", "set"),
    dict: tuple(DICT_METHODS),
    collections.defaultdict: ("items", "keys", "values"),
    collections.OrderedDict: ("items", "keys", "values"),
    list: ("append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"),
    collections.deque: (
        "append",
        "appendleft",
        "clear",
        "count",
        "extend",
        "extendleft",
        "index",
        "pop",
        "popleft",
        "remove",
        "reverse",
        "rotate",
    ),  # fmt: skip
    str: tuple(name for name in dir(str) if not name.startswith("_")),
}
#: Methods of variables of contexts.
OF_CONTEXT = {name: contextvars.ContextVar.__dict__[name] for name in ("get", "reset", "set")}


def _methods(kind, names):
    return {kind.__dict__[name]: name for name in names if name in kind.__dict__}


# Methods of dicts, by what they do: of objects of classes derived from dict.
METHODS_OF_DICTS = {
    method: name
    for kind in (dict, collections.OrderedDict)
    for method, name in _methods(
        kind, ("__contains__", "__getitem__", "__len__", "__setitem__", "get", "items", "keys", "values")
    ).items()
}
#: Methods of lists that the plan makes.
METHODS_OF_LISTS = {
    list.__dict__[name]: name
    for name in ("extend", "insert", "pop", "remove", "reverse", "sort", "copy", "clear", "count", "index")
}
#: Methods of sets that the plan makes.
METHODS_OF_SETS = ("add", "discard", "remove", "update")
VIEWS_OF_ORDERED = tuple(getattr(collections.OrderedDict, name) for name in ("items", "keys", "values"))
CELL = NotImplemented  # what a store to a cell has for a key
DELETED = Transient()  # what a store has for a value that deletes an element
NULL = None  # a place of the stack or a variable without object


def is_object(value):
    """Whether a plan can have an object for it."""
    return isinstance(value, (Value, Keywords))


def is_whole(value):
    """Whether a plan can have an object for it and all that it holds."""
    if type(value) is Value:
        return True
    if isinstance(value, Fresh):
        return all(map(is_whole, value.items))
    return all(map(is_whole, value.items.values())) if isinstance(value, Keywords) else is_object(value)


@functools.lru_cache(256)
def places_of_cells(code):
    """Of variables that functions share, by the names in the order of CPython's frames."""
    shared = {*code.co_cellvars, *code.co_freevars}
    names = [*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames), *code.co_freevars]
    return {place for place, name in enumerate(names) if name in shared}


class FrameShadow:
    def __init__(self, code, function=None):
        self.code = code
        self.function = function  # Value or NewFunction; None for the frame that the plan belongs to
        self.variables = {}
        self.seen, self.are_whole = {}, True  # a copy of them, and whether a plan can have objects for all
        self.cells = {}  # by place
        flags = code.co_flags
        self.num_arguments = code.co_argcount + code.co_kwonlyargcount + bool(flags & 0x4) + bool(flags & 0x8)
        self.stack = []
        self.keywords = None
        self.generator = None  # whose frame it is
        self.result = None  # of the call, where it is not what the function returns
        self.drops = False  # what it returns, as the instruction does that calls it
        self.finish = None  # the Value that the instruction makes of what is returned, if it is another
        self.only_raises = False  # whether no row knows what it returns
        self.position = 0  # of the instruction that runs
        self.missing = None  # the Value that the instruction makes of an AttributeError
        self.swaps = False  # whether it runs with other parameters of modules, which are put back when it returns

    @property
    def scope(self):
        """Value of the function whose globals its code has; None for those of the plan's frame."""
        return self.function.scope if isinstance(self.function, NewFunction) else self.function
