"""Class attributes of scripted classes and modules: constants, unless __init__ assigns them; then they are defaults.

Everything is compared with what Python does with the same class.
"""

import io
from dataclasses import dataclass
from typing import ClassVar, Dict, Final, List, Optional

import pytest
import torch

import cresset

CLASSES = []


def case(cls):
    CLASSES.append(cls)
    return cls


@case
class Unannotated:
    LOW = -1

    def __init__(self, t: float):
        self.LOW = -2

    def get(self) -> int:
        return self.LOW


@case
class Annotated:
    LOW: int = -1

    def __init__(self, t: float):
        self.LOW = -2

    def get(self) -> int:
        return self.LOW


@case
class OnlyOnTheClass:
    LOW = -1

    def __init__(self, t: float):
        self.x = self.LOW

    def get(self) -> int:
        return self.x + self.LOW + OnlyOnTheClass.LOW


@case
class ThroughTheClass:
    LOW = -1

    def __init__(self, t: float):
        self.LOW = -2
        self.x = ThroughTheClass.LOW

    def get(self) -> int:
        return self.x * 100 + self.LOW * 10 + ThroughTheClass.LOW


@case
class OfAnotherType:
    LOW = -1

    def __init__(self, t: float):
        self.LOW = t

    def get(self) -> float:
        return self.LOW


@case
class FromNone:
    weight = None

    def __init__(self, t: float):
        self.weight = torch.full([2], t)

    def get(self) -> int:
        return self.weight.numel()


@case
class InABranch:
    LOW: int = 4
    HIGH = 3

    def __init__(self, t: float):
        if t > 0:
            self.LOW = 7
        else:
            self.HIGH = 8

    def get(self) -> int:
        return self.LOW * 10 + self.HIGH


@case
class ReadBeforeItIsSet:
    LOW = 4

    def __init__(self, t: float):
        before = self.read()
        self.LOW = 5
        self.x = before * 10 + self.read()

    def read(self) -> int:
        return self.LOW

    def get(self) -> int:
        return self.x


@case
class Incremented:
    LOW = 4

    def __init__(self, t: float):
        self.LOW += 5

    def get(self) -> int:
        return self.LOW


@case
class IsFinal:
    LOW: Final[int] = 4
    HIGH: Final[int] = 5

    def __init__(self, t: float):
        self.HIGH = 6

    def get(self) -> int:
        return self.LOW + self.HIGH * 10


@case
class IsClassVar:
    LOW: ClassVar[int] = 4
    HIGH: ClassVar[int] = 6

    def __init__(self, t: float):
        self.LOW = 5

    def get(self) -> int:
        return self.LOW + IsClassVar.LOW * 10 + self.HIGH * 100


@case
class Containers:
    names: List[str] = []
    table: Dict[str, int] = {}

    def __init__(self, t: float):
        self.names = ["a"]
        self.table = {"a": 2}

    def get(self) -> int:
        return len(self.names) + self.table["a"]


@case
class Unpacked:
    LOW, HIGH = 1, 2

    def __init__(self, t: float):
        self.LOW, self.HIGH = 3, 4

    def get(self) -> int:
        return self.LOW * 10 + self.HIGH


class Base:
    LOW = 6

    def __init__(self, t: float):
        self.LOW = 7

    def get(self) -> int:
        return self.LOW


@case
class Inherited(Base):
    LOW = 8


class WithoutInit:
    LOW = 6


@case
class OfTheBase(WithoutInit):
    def __init__(self, t: float):
        self.LOW = 7

    def get(self) -> int:
        return self.LOW + WithoutInit.LOW + OfTheBase.LOW


@case
class ByAProperty:
    LOW = -1

    def __init__(self, t: float):
        self.LOW = 12

    @property
    def low(self) -> int:
        return self.LOW

    def get(self) -> int:
        return self.low


@case
class SetLater:
    LOW = -1

    def __init__(self, t: float):
        self.LOW = 1

    def get(self) -> int:
        self.LOW = self.LOW + 1
        self.LOW += 1
        return self.LOW


@case
@dataclass
class Data:
    t: float
    LOW: int = 3
    HIGH: ClassVar[int] = 4

    def get(self) -> int:
        return self.LOW + self.HIGH * 10 + Data.LOW * 100 + Data.HIGH * 1000


@case
@dataclass
class DataAfterwards:
    t: float
    LOW: int = 3

    def __post_init__(self):
        self.LOW = 6

    def get(self) -> int:
        return self.LOW + DataAfterwards.LOW * 10


@case
class Optionally:
    LOW: Optional[int] = None

    def __init__(self, t: float):
        self.x: Optional[int] = self.LOW

    def get(self) -> int:
        x = self.x
        return 1 if x is None else x


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("t", [1.0, -1.0])
def test_class(cls, t):
    def use(t: float):
        return cls(t).get()

    assert cresset.script(use)(t) == cls(t).get()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_saved(cls):
    """An archive has one thing of a name."""

    class M(torch.nn.Module):
        def forward(self, t: float):
            return cls(t).get()

    buffer = io.BytesIO()
    cresset.script(M()).save(buffer)
    for load in (torch.jit.load, cresset.load):
        buffer.seek(0)
        assert load(buffer)(1.0) == cls(1.0).get()


def test_what_nothing_makes_an_attribute_is_constant():
    class C:
        LOW = 4

        def __init__(self):
            self.x = 1

        def change(self) -> int:
            self.LOW = 9
            return self.LOW

    def use():
        return C().change()

    with pytest.raises(cresset.CompileError, match="a class attribute that __init__ assigns too can be set"):
        cresset.script(use)


def test_a_method_that_was_compiled_with_the_class_attribute():
    class C:
        LOW = 4

        def __init__(self):
            before = self.get()
            self.LOW = 5
            self.x = before

        def get(self):
            return self.LOW

    def use():
        return C().get()

    with pytest.raises(cresset.CompileError, match="assign it before the call, or annotate the method's result"):
        cresset.script(use)


# ---- Modules


class Assigned(torch.nn.Module):
    LOW = -1
    HIGH: int = 3

    def __init__(self):
        super().__init__()
        self.LOW = -2
        self.HIGH = 4

    def forward(self, x):
        self.HIGH += 1
        return x + self.LOW + Assigned.LOW * 10 + self.HIGH * 100 + Assigned.HIGH * 1000


class NotAssigned(torch.nn.Module):
    LOW = -1

    def forward(self, x):
        return x + self.LOW + NotAssigned.LOW * 10


class Constant(torch.nn.Module):
    __constants__ = ["LOW", "HIGH"]
    LOW = -1
    HIGH = 7

    def __init__(self):
        super().__init__()
        self.LOW = -2

    def forward(self, x):
        return x + self.LOW + Constant.LOW * 10 + self.HIGH


class FinalOfModule(torch.nn.Module):
    LOW: Final[int] = -1
    HIGH: Final[int] = 7

    def __init__(self):
        super().__init__()
        self.LOW = -2

    def forward(self, x):
        return x + self.LOW + FinalOfModule.LOW * 10 + self.HIGH


class Sub(Assigned):
    LOW = 5

    def __init__(self):
        super().__init__()
        self.HIGH = 6


class ClassVarOfModule(torch.nn.Module):
    LOW: ClassVar[int] = 2

    def __init__(self):
        super().__init__()
        self.LOW = 3

    def forward(self, x):
        return x + self.LOW + ClassVarOfModule.LOW * 10


class Hides(torch.nn.Module):
    act = None

    def __init__(self):
        super().__init__()
        self.act = torch.nn.ReLU()

    def forward(self, x):
        if self.act is not None:
            x = self.act(x)
        return x


def test_a_class_attribute_that_hides_a_submodule():
    """In Python self.act is None."""
    x = -torch.ones(2)
    assert torch.equal(Hides()(x), x)
    with pytest.raises(cresset.UserError, match="'act' is a submodule .* hides the submodule"):
        cresset.script(Hides())
    assert torch.equal(cresset.trace(Hides(), x)(x), x)


@pytest.mark.parametrize(
    "cls", [Assigned, NotAssigned, Constant, FinalOfModule, Sub, ClassVarOfModule], ids=lambda cls: cls.__name__
)
def test_module(cls):
    x = torch.zeros(1)
    eager, scripted = cls(), cresset.script(cls())
    for _ in range(3):
        assert scripted(x) == eager(x)
    if cls is not NotAssigned:
        assert scripted.LOW == eager.LOW
