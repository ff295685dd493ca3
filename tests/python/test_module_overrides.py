"""Every method that a subclass of a module class, or one module, can have in place of torch's: in a script it does what it
does in Python, or compiling says why not. Where torch.jit does what Python does, so must Cresset.
"""

import functools
import importlib.util
import io
import itertools
import operator
import sys
import warnings
from typing import Dict

import numpy
import pytest
import torch
from torch import nn

import cresset

CONTAINERS = {
    "Module": ("nn.Module", "super().__init__(); self.a = nn.ReLU(); self.b = nn.Tanh()"),
    "ModuleList": ("nn.ModuleList", "super().__init__([nn.ReLU(), nn.Tanh()])"),
    "Sequential": ("nn.Sequential", "super().__init__(nn.ReLU(), nn.Tanh())"),
    "ModuleDict": ("nn.ModuleDict", 'super().__init__({"a": nn.ReLU(), "b": nn.Tanh()})'),
    "ParameterList": ("nn.ParameterList", "super().__init__([torch.ones(1), torch.ones(1) * 2])"),
    "ParameterDict": ("nn.ParameterDict", 'super().__init__({"a": torch.ones(1), "b": torch.ones(1) * 2})'),
}

# Of a subclass: the members, and what a script says to the module `self.c`.
MEMBERS = {
    "len": ("def __len__(self) -> int: return 7", "len(self.c)"),
    "len_same": ("def __len__(self) -> int: return len(self._modules)", "len(self.c)"),
    "iter": ("def __iter__(self): return iter([1, 2, 3])", "[y for y in self.c]"),
    "iter_same": ("def __iter__(self): return super().__iter__()", "[y for y in self.c]"),
    "getitem_int": ("def __getitem__(self, i: int) -> int: return i + 10", "self.c[0]"),
    "getitem_str": ('def __getitem__(self, i: str) -> str: return i + "q"', 'self.c["a"]'),
    "getitem_loop": (
        'def __getitem__(self, i: int) -> int:\n        if i > 2: raise IndexError("end")\n        return i + 10',
        "[y for y in self.c]",
    ),
    "getitem_same": ("def __getitem__(self, i): return super().__getitem__(i)", "self.c[0]"),
    "contains": ('def __contains__(self, k: str) -> bool: return k == "z"', '("z" in self.c, "a" in self.c)'),
    "call": ("def __call__(self, x): return x + 100", "self.c(x)"),
    "call_super": ("def __call__(self, x): return super().__call__(x) + 100", "self.c(x)"),
    "call_of_anything": ("def __call__(self, x, **kwargs): return super().__call__(x, **kwargs) + 0", "self.c(x)"),
    "call_passes_on": ("def __call__(self, *args, **kwargs): return super().__call__(*args, **kwargs)", "self.c(x)"),
    "forward": ("def forward(self, x): return x + 50", "self.c(x)"),
    "forward_by_name": ("def forward(self, x): return x + 50", "self.c.forward(x)"),
    "getattr": (
        'def __getattr__(self, n):\n        if n == "foo": return 5\n        return super().__getattr__(n)',
        "self.c.foo",
    ),
    "keys": ('def keys(self) -> List[str]: return ["k"]', "[k for k in self.c.keys()]"),
    "values": ("def values(self) -> List[int]: return [5]", "[k for k in self.c.values()]"),
    "items": ('def items(self) -> List[Tuple[str, int]]: return [("k", 3)]', "[k for k, v in self.c.items()]"),
    "property": ("@property\n    def p(self) -> int: return 9", "self.c.p"),
    "children": ("def children(self) -> List[int]: return [4]", "[k for k in self.c.children()]"),
    "parameters": (
        "def parameters(self, recurse: bool = True) -> List[int]: return [4]",
        "[k for k in self.c.parameters()]",
    ),
    "add": ("def __add__(self, o: int) -> int: return o + 1", "self.c + 1"),
    "eq": ("def __eq__(self, o: object) -> bool: return True\n    __hash__ = None", "self.c == self.c"),
    "eq_unused": ("def __eq__(self, o: object) -> bool: return True\n    __hash__ = None", "x + 1"),
    "bool": ("def __bool__(self) -> bool: return False", "bool(self.c)"),
    "condition": ("def __bool__(self) -> bool: return False", "1 if self.c else 2"),
    "len_condition": ("def __len__(self) -> int: return 0", "1 if self.c else 2"),
    "neg": ("def __neg__(self) -> int: return 3", "-self.c"),
    "str": ('def __str__(self) -> str: return "S"', "str(self.c)"),
    "int": ("def __int__(self) -> int: return 3", "int(self.c)"),
    "extra": ("def extra(self, x): return x * 3", "self.c.extra(x)"),
    "none_iter": ("pass", "[y for y in self.c]"),
    "none_len": ("pass", "len(self.c)"),
    "none_contains": ("pass", '"a" in self.c'),
    "none_condition": ("pass", "1 if self.c else 2"),
}

# Of one module: the attribute, its value, and what a script says.
ATTRIBUTES = {
    "forward_lambda": ("forward", "lambda x: x + 50", "self.c(x)"),
    "forward_function": ("forward", "function", "self.c(x)"),
    "forward_by_name": ("forward", "function", "self.c.forward(x)"),
    "new_lambda": ("tag", "lambda x: x + 51", "self.c.tag(x)"),
    "new_function": ("tag", "function", "self.c.tag(x)"),
    "ignored_lambda": ("ignored", "lambda x: x + 52", "self.c.ignored(x)"),
    "ignored_function": ("ignored", "function", "self.c.ignored(x)"),
    "keys": ("keys", 'lambda: ["k"]', "[k for k in self.c.keys()]"),
    "len": ("__len__", "lambda: 3", "len(self.c)"),
    "call": ("__call__", "lambda x: x + 3", "self.c(x)"),
    "children": ("children", "lambda: [3]", "[k for k in self.c.children()]"),
    "method": ("extra", "function", "self.c.extra(x)"),
    "exported": ("exported", "function", "self.c.exported(x)"),
    "bound": ("extra", "types.MethodType(bound, self)", "self.c.extra(x)"),
    "bound_forward": ("forward", "types.MethodType(bound, self)", "self.c(x)"),
}

HEAD = """
import types
import torch
from torch import nn
from typing import *
CASES = []
def function(x): return x + 77
def bound(self, x): return x + 78
"""

CASE = """
class C_{name}({base}):
    def __init__(self):
        {init}
        {set}
    @torch.jit.ignore
    def ignored(self, x): return x + 1
    @torch.jit.export
    def exported(self, x): return x * 4
    {members}
class M_{name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = C_{name}()
    def forward(self, x):
        return {use}
CASES.append(M_{name})
"""

# torch's containers refuse to be called, and Python does not look for __call__ or __len__ on the object.
NOT_AS_PYTHON = {
    "ParameterList_object_forward_function",
    "ParameterDict_object_forward_function",
    "ParameterList_object_bound_forward",
    "ParameterDict_object_bound_forward",
    "ParameterList_class_forward",
    "ParameterDict_class_forward",
}


def names():
    for base, member in itertools.product(CONTAINERS, MEMBERS):
        yield f"{base}_class_{member}"
    for base, attribute in itertools.product(CONTAINERS, ATTRIBUTES):
        yield f"{base}_object_{attribute}"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    text = HEAD
    for name in names():
        base, kind, what = name.split("_", 2)
        cls, init = CONTAINERS[base]
        if kind == "class":
            members, use = MEMBERS[what]
            text += CASE.format(name=name, base=cls, init=init, set="pass", members=members, use=use)
        else:
            attribute, value, use = ATTRIBUTES[what]
            members = "def extra(self, x): return x * 3"
            text += CASE.format(
                name=name, base=cls, init=init, set=f"self.{attribute} = {value}", members=members, use=use
            )
    path = tmp_path_factory.mktemp("overrides") / "overriding_modules.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("overriding_modules", path)
    module = sys.modules["overriding_modules"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield {cls.__name__.removeprefix("M_"): cls for cls in module.CASES}
    del sys.modules["overriding_modules"]


def result_of(cls, script):
    """What the module returns, or an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(script(cls())(torch.ones(1)))
        except Exception as error:
            return error


def plain(value):
    """Without the identity of modules, and with tensors that can be compared."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value if isinstance(value, (int, float, str)) else "a module"


@pytest.mark.parametrize("name", names())
def test_override(name, modules):
    python = result_of(modules[name], lambda module: module)
    ours = result_of(modules[name], cresset.script)
    if not isinstance(ours, Exception):
        assert ours == python or (isinstance(python, Exception) and name in NOT_AS_PYTHON)
        return
    if type(ours) is type(python):
        return  # Python can't make or call it either
    assert isinstance(ours, cresset.UserError), ours
    theirs = result_of(modules[name], torch.jit.script)
    assert isinstance(theirs, Exception) or theirs != python, f"torch.jit gives {theirs}; ours: {ours}"


def test_an_attribute_over_an_ignored_method_in_python():
    class M(torch.nn.Module):
        @torch.jit.ignore
        def tag(self) -> str:
            return "class"

        def forward(self, x):
            return x

    m = M()
    m.tag = lambda: "object"
    assert cresset.script(m).tag() == "object"
    assert cresset.script(M()).tag() == "class"


def test_forward_of_the_object_in_python():
    def forward(x):
        return x + 3

    m = torch.nn.Sequential(torch.nn.ReLU())
    m.forward = forward
    assert cresset.script(m)(torch.ones(1)) == 4


class Exported(torch.nn.Module):
    """Methods that nn.Module has, and calls."""

    def __init__(self):
        super().__init__()
        self.saved = 0

    @torch.jit.export
    def _save_to_state_dict(self, destination: Dict[str, torch.Tensor], prefix: str, keep_vars: bool):
        self.saved += 1

    @torch.jit.export
    def extra_repr(self) -> str:
        return "seen: " + str(self.saved)

    def forward(self, x):
        return x


def test_exported_methods_that_nn_module_calls():
    for engine in (torch.jit, cresset):
        scripted = engine.script(Exported())
        scripted.state_dict()
        assert scripted.saved == 1
        assert scripted.extra_repr() == "seen: 1"
    assert "seen: 1" in repr(scripted)


class WithState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0
        self.sizes = (1, 2)
        self.weight = torch.ones(2)

    @torch.jit.export
    def __getstate__(self):
        return self.scale + 1, self.sizes, self.weight * 2, self.training

    @torch.jit.export
    def __setstate__(self, state):
        self.scale = state[0]
        self.sizes = state[1]
        self.weight = state[2]
        self.training = state[3]

    def forward(self, x):
        return x * self.scale * self.weight + self.sizes[1]


def test_setstate_takes_what_getstate_gives():
    x = torch.ones(2)
    for engine in (torch.jit, cresset):
        buffer = io.BytesIO()
        scripted = engine.script(WithState())
        assert scripted(x).tolist() == [4, 4]
        engine.save(scripted, buffer)
        for load in (torch.jit.load, functools.partial(cresset.load, trusted=True)):
            buffer.seek(0)
            assert load(buffer)(x).tolist() == [8, 8]


@pytest.mark.filterwarnings("ignore")
def test_quantized_modules():
    import torch.ao.nn.quantized

    module = torch.ao.nn.quantized.Conv2d(3, 4, 3)
    x = torch.quantize_per_tensor(torch.rand(1, 3, 5, 5), 0.1, 0, torch.quint8)
    assert torch.equal(cresset.script(module)(x).int_repr(), module(x).int_repr())


# ---- objects of all kinds that stand in place of a method


def minus(x):
    return x - 3


class Compiled:
    def __init__(self):
        self.n = 3

    def __call__(self, x):
        return x - self.n

    @classmethod
    def of_class(cls, x):
        return x - 3


class Plain:
    def __init__(self):
        self.n = 3

    def uses_self(self, x):
        return x - self.n

    def no_self(self, x):
        return x - 3

    @torch.no_grad()
    def decorated(self, x):
        return x - 3

    def captures_self(self, x):
        return [x - 3 for _ in range(self.n) if self][0]

    @staticmethod
    def static(x):
        return x - 3


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((1,), 3.0))

    def forward(self, x):
        return x - self.w

    def no_self(self, x):
        return x - 3


class Overridden(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Other()

    def plain(self, x):
        return x + 1

    @torch.jit.export
    def exported(self, x):
        return x + 1

    @torch.jit.ignore
    def ignored(self, x):
        return x + 1

    @torch.jit.unused
    def unused(self, x):
        return x + 1

    def second(self, x):
        return x - 3


class Within(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        return self.m(x) + 1


class CallsPlain(Overridden):
    def forward(self, x):
        return self.plain(x) * 2


class CallsExported(Overridden):
    def forward(self, x):
        return self.exported(x) * 2


class CallsIgnored(Overridden):
    def forward(self, x):
        return self.ignored(x) * 2


class CallsUnused(Overridden):
    def forward(self, x):
        return self.unused(x) * 2


class CallsNew(Overridden):
    def forward(self, x):
        return self.new(x) * 2


class HasForward(Overridden):
    def forward(self, x):
        return x * 100


IN_PLACE_OF = {
    "plain": CallsPlain,
    "exported": CallsExported,
    "ignored": CallsIgnored,
    "unused": CallsUnused,
    "new": CallsNew,
    "forward": HasForward,
}

# Of the module that it is set on. True: scripts can call it.
OBJECTS = {
    "function": (True, lambda m: minus),
    "script": (True, lambda m: cresset.script(minus)),
    "trace": (True, lambda m: cresset.trace(minus, torch.ones(1))),
    "torch.jit.script": (True, lambda m: torch.jit.script(minus)),
    "torch.jit.trace": (False, lambda m: torch.jit.trace(minus, torch.ones(1))),
    "compile": (True, lambda m: cresset.compile(minus)),
    "lru_cache": (True, lambda m: functools.lru_cache()(minus)),
    "partial": (True, lambda m: functools.partial(torch.add, other=-3)),
    "operator": (True, lambda m: torch.neg),
    "ufunc": (False, lambda m: numpy.negative),
    "methodcaller": (False, lambda m: operator.methodcaller("neg")),
    "object": (True, lambda m: Compiled()),
    "method": (True, lambda m: Plain().uses_self),
    "method without self": (True, lambda m: Plain().no_self),
    "decorated method": (True, lambda m: Plain().decorated),
    "method that captures self": (True, lambda m: Plain().captures_self),
    "static method": (True, lambda m: Plain.static),
    "class method": (True, lambda m: Compiled().of_class),
    "method of a module": (True, lambda m: Other().forward),
    "method of a module without self": (True, lambda m: Other().no_self),
    "method of a submodule": (False, lambda m: m.child.forward),
    "method of its own": (True, lambda m: m.second),
    "script method": (False, lambda m: cresset.script(Other()).forward),
    "torch.jit's script method": (False, lambda m: torch.jit.script(Other()).forward),
    "class": (False, lambda m: nn.Parameter),
    "no callable": (False, lambda m: {3}),
}


def value_or_error(call):
    try:
        return call().tolist()
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("name", IN_PLACE_OF)
@pytest.mark.parametrize("kind", OBJECTS)
def test_no_object_in_place_of_a_method_is_lost(kind, name, within):
    can_be_called, make = OBJECTS[kind]
    m = IN_PLACE_OF[name]()
    setattr(m, name, make(m))
    module = Within(m) if within else m
    x = torch.zeros(2)
    expected = value_or_error(lambda: module(x))
    found = value_or_error(lambda: cresset.script(module)(x))
    if isinstance(found, Exception):
        assert isinstance(found, RuntimeError), found  # says what it is, or the object can't be called
        own = name == "forward" and not within  # has to be a function
        assert not can_be_called or own or isinstance(expected, Exception), found
        return
    assert found == expected
    # Python's own way to the method, a trace and an archive tell the same, or refuse.
    scripted = cresset.script(module)
    part = scripted.m if within else scripted
    if hasattr(part, name):
        direct = value_or_error(lambda: getattr(part, name)(x))
        assert isinstance(direct, NotImplementedError) or direct == getattr(m, name)(x).tolist()
    traced = value_or_error(lambda: cresset.trace(module, x)(x))
    assert isinstance(traced, Exception) or traced == expected
    try:
        archive = scripted.save_to_buffer()
    except cresset.UserError:
        return
    for load in (torch.jit.load, cresset.load):
        assert load(io.BytesIO(archive))(x).tolist() == expected
    frozen = value_or_error(lambda: cresset.freeze(scripted.eval())(x))
    assert isinstance(frozen, Exception) or frozen == expected


def test_a_traced_function_of_torch_jit_is_not_its_original():
    def by_value(x):
        return x + 1 if x.sum() > 0 else x - 1

    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(by_value, torch.ones(2))

    def f(x):
        return traced(x)

    with pytest.raises(cresset.UserError, match="made by torch.jit, .* cresset.trace"):
        cresset.script(f)


def test_what_takes_the_place_of_forward_is_not_saved():
    m = HasForward()
    m.forward = minus
    scripted = cresset.script(m)
    assert scripted(torch.ones(1)) == -2
    for save in (lambda: scripted.save_to_buffer(), lambda: cresset.save(scripted, io.BytesIO())):
        with pytest.raises(cresset.UserError, match="function that was set on the object"):
            save()
    assert cresset.load(io.BytesIO(cresset.script(Within(m)).save_to_buffer()))(torch.ones(1)) == -1


class HasClassMethod(nn.Module):
    scale = 2.0

    @classmethod
    def scaled(cls, x):
        return x * cls.scale

    def forward(self, x):
        return self.scaled(x)


def test_class_methods():
    with pytest.raises(cresset.UserError, match="It is a classmethod.* Make it a method"):
        cresset.script(HasClassMethod())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_hooks_that_are_no_functions(name):
    module = getattr(nn.utils, name)(nn.Linear(4, 4))
    with pytest.raises(
        cresset.UserError, match=rf"Pre-hook .* functions as hooks only. Use torch.nn.utils.parametrizations.{name}"
    ):
        cresset.script(module)
    getattr(nn.utils, "remove_" + name)(module)
    x = torch.ones(1, 4)
    assert torch.equal(cresset.script(module)(x), module(x))
    module.register_forward_hook(functools.partial(lambda module, args, result: None))
    with pytest.raises(cresset.UserError, match="Hook .* remove the hook before"):
        cresset.script(module)
