"""What a script sees of an nn.Module: attributes and their types, constants, submodules, sharing. torch.jit is the oracle."""

import copy
import typing
import warnings
from collections import OrderedDict
from typing import Dict, Final, List, Optional, Tuple

import pytest
import torch
from torch import nn

import cresset
from cresset import _modules

warnings.filterwarnings("ignore", category=DeprecationWarning)


def convert(module):
    return _modules.convert(module, compile_methods=False, share_types=True)


def attribute_types(scripted):
    return {name: str(kind) for name, kind in _attributes(scripted).items()}


def _attributes(scripted):
    handle = scripted._c
    return {name: handle.attribute_type(name) for name in handle.names("attributes")}


class Everything(nn.Module):
    __constants__ = ["k", "sizes"]
    f: Final[float]
    maybe: Optional[int]
    empty: List[int]
    table: Dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.k = 3
        self.sizes = [1, 2]
        self.f = 0.5
        self.maybe = None
        self.empty = []
        self.table = {}
        self.nothing = None
        self.flag = True
        self.number = 1.5
        self.name = "x"
        self.device = torch.device("cpu")
        self.dtype = torch.float32
        self.pair = (1, "a")
        self.tensors = [torch.ones(1), torch.zeros(2)]
        self.counts = {"a": 1}
        self.z = 1 + 2j
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.register_parameter("bias", None)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("scratch", torch.zeros(3), persistent=False)
        self.register_buffer("later", None)
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.lin = nn.Linear(2, 2)
        self.add_module("missing", None)
        self.bad = object()
        self.worse = []
        self.function = lambda x: x

    def forward(self, x):
        return x


def test_attribute_types_are_torch_jits():
    ours = attribute_types(convert(Everything()))
    reference = torch.jit.script(Everything())
    theirs = {name: str(kind) for name, (kind, _) in reference._concrete_type.get_attributes().items()}
    theirs.update((name, "module") for name, _ in reference._concrete_type.get_modules())
    ours = {name: "module" if name in reference._modules else kind for name, kind in ours.items()}
    del theirs["_is_full_backward_hook"]  # bookkeeping of Python's
    assert ours == theirs


def test_values():
    module = Everything()
    scripted = convert(module)
    for name in (
        "maybe",
        "empty",
        "table",
        "nothing",
        "flag",
        "number",
        "name",
        "device",
        "pair",
        "counts",
        "z",
        "k",
        "f",
    ):
        assert getattr(scripted, name) == getattr(module, name), name
    assert scripted.sizes == (1, 2)
    assert scripted.weight is module.weight
    assert isinstance(scripted.weight, nn.Parameter)
    assert scripted.mean is module.mean
    assert scripted.bias is None
    assert scripted.missing is None
    assert scripted.layers[0].weight is module.layers[0].weight
    assert [type(m).__name__ for m in scripted.children()] == ["RecursiveScriptModule"] * 2


def test_names_are_the_originals():
    module = Everything()
    scripted = convert(module)
    assert list(scripted.state_dict()) == list(module.state_dict())
    assert [n for n, _ in scripted.named_parameters()] == [n for n, _ in module.named_parameters()]
    assert [n for n, _ in scripted.named_buffers()] == [n for n, _ in module.named_buffers()]
    assert [n for n, _ in scripted.named_modules()] == [n for n, _ in module.named_modules()]


def test_printing_is_torch_jits():
    assert repr(convert(Everything())) == repr(torch.jit.script(Everything()))
    assert str(convert(nn.Transformer(16, 2, 1, 1, 16))) == str(torch.jit.script(nn.Transformer(16, 2, 1, 1, 16)))


@pytest.mark.parametrize("name", ["bad", "worse", "function"])
def test_unconvertible_attributes_are_left_out(name):
    scripted = convert(Everything())
    with pytest.raises(AttributeError):
        getattr(scripted, name)


def test_equal_modules_share_a_class():
    a, b = convert(nn.Linear(2, 3)), convert(nn.Linear(2, 3))
    other, without_bias = convert(nn.Linear(2, 4)), convert(nn.Linear(2, 3, bias=False))
    assert a._c.class_id() == b._c.class_id()
    assert a._c.class_id() != other._c.class_id()  # constants differ
    assert a._c.class_id() != without_bias._c.class_id()
    alone = _modules.convert(nn.Linear(2, 3), compile_methods=False, share_types=False)
    assert alone._c.class_id() != a._c.class_id()
    assert alone.original_name == "Linear"


def test_one_module_twice_stays_one():
    shared = nn.Linear(2, 2)
    module = nn.ModuleDict({"a": nn.Sequential(shared, shared), "b": shared})
    scripted = convert(module)
    assert scripted["a"][0] is scripted["a"][1] is scripted["b"]
    assert len(list(scripted.parameters())) == len(list(module.parameters())) == 2


def test_one_tensor_twice_stays_one():
    module = nn.Module()
    module.a = nn.Linear(2, 2)
    module.b = nn.Linear(2, 2)
    module.b.weight = module.a.weight
    scripted = convert(module)
    assert scripted.a.weight is scripted.b.weight


def test_containers():
    module = nn.Module()
    module.list = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    module.dict = nn.ModuleDict(OrderedDict(a=nn.Linear(1, 1), b=nn.ReLU()))
    module.params = nn.ParameterList([torch.ones(1), torch.zeros(2)])
    module.named = nn.ParameterDict({"x": torch.ones(1), "y": torch.zeros(2)})
    scripted = convert(module)
    assert len(scripted.list) == 2
    assert list(scripted.dict) == ["a", "b"]
    assert "a" in scripted.dict
    assert "c" not in scripted.dict
    assert list(scripted.state_dict()) == list(module.state_dict())
    assert scripted.named.x is module.named["x"]


class Base(nn.Module):
    history: List[int]


class Derived(Base):
    other: Optional[str]

    def __init__(self):
        super().__init__()
        self.history = []
        self.other = None


def test_annotations_of_bases_count():
    assert attribute_types(convert(Derived()))["history"] == "List[int]"


def test_annotated_submodules_are_what_they_are():
    class M(nn.Module):
        layer: nn.Module
        linear: nn.Linear

        def __init__(self):
            super().__init__()
            self.layer = nn.ReLU()
            self.linear = nn.Linear(1, 1)

    assert convert(M()).layer.original_name == "ReLU"


def test_attribute():
    class M(nn.Module):
        def __init__(self, attribute):
            super().__init__()
            self.names = attribute([], List[str])
            self.number = attribute(1, float)

    for attribute in (cresset.Attribute, torch.jit.Attribute):
        types = attribute_types(convert(M(attribute)))
        assert types["names"] == "List[str]"
        assert types["number"] == "float"


def test_ignored_attributes():
    class M(nn.Module):
        __jit_ignored_attributes__ = ["secret"]

        def __init__(self):
            super().__init__()
            self.secret = 3
            self.known = 4

    types = attribute_types(convert(M()))
    assert "secret" not in types
    assert "known" in types


def test_named_tuples_and_nested_types():
    class Point(typing.NamedTuple):
        x: int
        y: torch.Tensor

    class M(nn.Module):
        history: List[Tuple[int, Dict[str, List[torch.Tensor]]]]

        def __init__(self):
            super().__init__()
            self.point = Point(1, torch.ones(1))
            self.history = []

    types = attribute_types(convert(M()))
    assert types["history"] == "List[Tuple[int, Dict[str, List[Tensor]]]]"


def test_lazy_modules():
    with pytest.raises(RuntimeError, match="has uninitialized parameters weight. Did you forget to run a forward pass"):
        convert(nn.LazyLinear(3))


def test_forgotten_super():
    class M(nn.Module):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="has not been initialized, did you forget to call 'super"):
        convert(M())


def test_module_in_itself():
    module = nn.Module()
    module.child = nn.Module()
    module.child.__dict__["_modules"]["parent"] = module
    with pytest.raises(RuntimeError, match="contains itself"):
        convert(module)


def test_invalid_constant():
    class M(nn.Module):
        __constants__ = ["c"]

        def __init__(self):
            super().__init__()
            self.c = {"a": 1}

    with pytest.raises(TypeError, match=r"'dict' object in attribute 'M.c' is not a valid constant"):
        convert(M())


def test_constants_that_are_none():
    class M(nn.Module):
        __constants__ = ["layer", "gone"]

        def __init__(self):
            super().__init__()
            self.layer = nn.ReLU()

    with pytest.warns(UserWarning, match="non-constant submodule") as caught:
        convert(M())
    assert any("was not actually set in __init__" in str(w.message) for w in caught)


def test_moves_and_copies():
    module = Everything()
    scripted = convert(module)
    scripted.double()
    assert module.weight.dtype == torch.float64
    assert scripted.mean.dtype == torch.float64
    twin = copy.deepcopy(scripted)
    assert twin.weight is not scripted.weight
    assert list(twin.state_dict()) == list(scripted.state_dict())
    scripted.eval()
    assert not scripted.training
    assert not scripted.layers[0].training
    assert module.training  # flags are values, and not shared


class Recipe:
    def __init__(self, sizes: List[int], scale: float):
        self.sizes = sizes
        self.scale = scale

    def total(self) -> int:
        return sum(self.sizes)


class Untyped:
    def __init__(self, thing):
        self.thing = [lambda: thing]


def test_objects_of_plain_classes_are_attributes():
    """As for torch.jit: the class of an attribute is compiled if it is in the language."""

    class Cook(nn.Module):
        def __init__(self):
            super().__init__()
            self.recipes = {2: Recipe([1, 2], 0.5), 3: Recipe([4], 2.0)}
            self.first = Recipe([7], 1.0)
            self.python_only = Untyped(3)

        def forward(self, x):
            recipe = self.recipes[x.dim()]
            return x * recipe.scale + recipe.total() + self.first.total()

    x = torch.ones(2, 2)
    assert torch.equal(cresset.script(Cook())(x), torch.jit.script(Cook())(x))
    assert torch.equal(cresset.script(Cook())(x), torch.full((2, 2), 10.5))


class Annotated(nn.Module):
    plan: Optional[Dict[str, int]] = None
    layers: List[int]

    def __init__(self):
        super().__init__()
        self.plan = {"a": ([1], ["b"])}
        self.layers = []


class Inheriting(Annotated):
    width: int = 3

    def forward(self, x):
        return x * self.width + len(self.layers)


def test_annotations_of_bases_that_do_not_fit():
    """torch.jit reads the annotations of one class only, so those of a base never stop it."""
    scripted = cresset.script(Inheriting())
    assert torch.equal(scripted(torch.ones(1)), torch.full((1,), 3.0))


def test_a_parameter_is_never_none():
    module = cresset.script(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Could not cast attribute 'weight' to type Tensor"):
        module.weight = None
    assert list(module.state_dict()) == ["weight", "bias"]
