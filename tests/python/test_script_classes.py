"""Python classes in scripts: script classes, dataclasses, enums, named tuples, interfaces, exceptions."""

import collections
import dataclasses
import enum
import io
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch
from script_compare import check, check_python
from torch import Tensor

import cresset

X = torch.arange(4.0)


class Counter:
    """Counts."""

    step: int

    def __init__(self, start: int, step: int = 1):
        self.count = start
        self.step = step
        self.seen: List[int] = []

    def add(self, n: int) -> "Counter":
        self.count += n * self.step
        self.seen.append(n)
        return self

    @property
    def total(self) -> int:
        return self.count + len(self.seen)

    @staticmethod
    def zero() -> int:
        return 0

    def __len__(self) -> int:
        return len(self.seen)

    def __getitem__(self, i: int) -> int:
        return self.seen[i]

    def __add__(self, other: "Counter") -> "Counter":
        return Counter(self.count + other.count)

    def __contains__(self, n: int) -> bool:
        return n in self.seen

    def __eq__(self, other: "Counter") -> bool:
        return self.count == other.count

    def __lt__(self, other: "Counter") -> bool:
        return self.count < other.count


def use_counter(n: int) -> Tuple[int, int, int, bool, int]:
    c = Counter(n, step=2)
    c.add(3).add(4)
    d = c + Counter(1)
    return c.total, len(c), c[1], 3 in c and d.count > 0, Counter.zero()


def takes_counter(c: Counter) -> int:
    c.add(1)
    return c.count


def makes_counter(n: int) -> Counter:
    return Counter(n).add(5)


def compares(a: int, b: int) -> Tuple[bool, bool, bool]:
    return Counter(a) == Counter(b), Counter(a) < Counter(b), Counter(a) != Counter(b)


class Node:
    """Refers to itself."""

    def __init__(self, value: int):
        self.value = value
        self.next: Optional[Node] = None

    def chain(self, other: "Node") -> "Node":
        self.next = other
        return self


def linked(n: int) -> int:
    node = Node(n).chain(Node(n + 1))
    following = node.next
    if following is None:
        return 0
    return node.value + following.value


class Guard:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> "Guard":
        self.log.append("enter")
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.log.append("exit")


def with_object(n: int) -> List[str]:
    log: List[str] = []
    with Guard(log) as g:
        g.log.append(str(n))
        if n > 1:
            return log
    return log


@dataclasses.dataclass
class Options:
    size: int
    name: str = "x"
    scale: float = 0.5

    def area(self) -> float:
        return self.size * self.scale


@dataclasses.dataclass(order=True)
class Version:
    major: int
    minor: int = 0
    label: str = dataclasses.field(default="", compare=False)

    def __post_init__(self):
        self.key = self.major * 100 + self.minor


def use_dataclass(n: int) -> Tuple[float, str, bool, bool]:
    o = Options(n, name="abc")
    return o.area(), o.name, o == Options(n, "abc"), o == Options(n)


@dataclasses.dataclass(order=True)
class Release:
    number: int
    name: Optional[str] = None
    size: Optional[int] = None


def optional_fields(a: Optional[str], b: Optional[str]) -> Tuple[bool, bool, bool, Optional[str]]:
    x, y = Release(1, a, 3), Release(1, b, 3)
    return x == y, x == Release(1, a), x != Release(2, a, 3), x.name


def ordered_optional_fields(a: Optional[int], b: Optional[int]) -> Tuple[bool, bool, bool, bool]:
    x, y = Release(1, None, a), Release(1, None, b)
    return x < y, x <= y, x > y, x >= y


def order_dataclass(a: int, b: int) -> Tuple[bool, bool, bool, bool, int]:
    x, y = Version(a, 1, "left"), Version(b, 1)
    return x < y, x <= y, x > y, x >= y, x.key


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


def use_enum(c: Color) -> Tuple[str, int, bool]:
    if c is Color.RED:
        return "red", c.value, c == Color.GREEN
    return c.name, c.value, c != Color.RED


def return_enum(flag: bool) -> Level:
    return Level.HIGH if flag else Level.LOW


def all_members() -> List[int]:
    out: List[int] = []
    for c in Color:
        out.append(c.value)
    return out


def enum_key(d: Dict[str, int], level: Level) -> int:
    return d[level.value]


class Typed(NamedTuple):
    x: Tensor
    n: int = 2
    names: Optional[List[str]] = None


Untyped = collections.namedtuple("Untyped", ["a", "b"])


def use_typed(t: Typed) -> Tuple[Tensor, int]:
    names = t.names
    return t.x * t.n, 0 if names is None else len(names)


def use_untyped(x: Tensor) -> Tensor:
    u = Untyped(x, x + 1)
    return u.a + u[1]


@cresset.interface
class Shape:
    def area(self, scale: float) -> float:
        pass


class Square:
    def __init__(self, side: float):
        self.side = side

    def area(self, scale: float) -> float:
        return self.side * self.side * scale


class Circle:
    def __init__(self, radius: float):
        self.radius = radius

    def area(self, scale: float) -> float:
        return 3.0 * self.radius * self.radius * scale


def total_area(x: float) -> float:
    shapes: List[Shape] = [Square(x), Circle(x)]
    total = 0.0
    for shape in shapes:
        total += shape.area(2.0)
    return total


class Failure(ValueError):
    pass


def raises(n: int) -> int:
    if n > 0:
        raise Failure(f"{n} is too much")
    return n


class Base:
    factor = 3

    def __init__(self, x: int):
        self.x = x

    def scaled(self) -> int:
        return self.twice() * self.factor

    def twice(self) -> int:
        return self.x * 2


class Derived(Base):
    def twice(self) -> int:
        return self.x * 20


def use_derived(n: int) -> Tuple[int, int]:
    return Base(n).scaled(), Derived(n).scaled()


class Animal:
    def __init__(self, name: str):
        self.name = name
        self.legs = 4

    def describe(self) -> str:
        return f"{self.name} has {self.legs} legs"


class Bird(Animal):
    def __init__(self, name: str, wings: int = 2):
        super().__init__(name)
        self.legs = 2
        self.wings = wings

    def describe(self) -> str:
        return super().describe() + f" and {self.wings} wings"


def use_super(name: str) -> Tuple[str, str]:
    return Animal(name).describe(), Bird(name).describe()


class WithClassMethod:
    def __init__(self, x: int):
        self.x = x

    @classmethod
    def of(cls, text: str) -> int:
        return cls(len(text)).x + 1


def use_class_method(text: str) -> int:
    return WithClassMethod.of(text)


class WithUnused:
    def __init__(self, x: int):
        self.x = x

    @torch.jit.unused
    def python_only(self):
        return [lambda: self.x]

    def get(self) -> int:
        return self.x


def use_unused(n: int) -> int:
    return WithUnused(n).get()


CASES = [
    (with_object, (1,), (2,)),
    (return_enum, True),
    (all_members,),
    (enum_key, ({"low": 1}, Level.LOW)),
    (use_untyped, X),
    (raises, (0,), (2,)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_torchjit(case):
    check(*case)


# What torch.jit can't compile, or not when pytest has rewritten the file.
PYTHON_CASES = [
    (use_enum, (Color.RED,), (Color.GREEN,)),
    (use_counter, 2),
    (compares, (1, 2), (2, 2), (3, 2)),
    (linked, 3),
    (use_dataclass, 3),
    (order_dataclass, (1, 2), (2, 2), (3, 2)),
    (optional_fields, ("a", "a"), ("a", None), (None, None), (None, "b"), ("a", "b")),
    (ordered_optional_fields, (1, 2), (2, 2), (3, 2), (None, None), (None, 1), (1, None)),
    (total_area, 2.0),
    (use_derived, 2),
    (use_class_method, "abc"),
    (use_super, "x"),
    (use_unused, 3),
    (use_typed, Typed(X, 3, ["a"])),
]


@pytest.mark.parametrize("case", PYTHON_CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_python(case):
    check_python(*case)


def test_instances_are_copied_on_the_way_in_and_out():
    counter = Counter(1)
    assert cresset.script(takes_counter)(counter) == 2
    assert counter.count == 1
    made = cresset.script(makes_counter)(3)
    assert type(made) is Counter and made.count == 8 and made.seen == [5]


def test_scripting_a_class_returns_it():
    assert cresset.script(Counter) is Counter
    assert cresset.script(Color) is Color
    assert Counter(3).add(2).count == 5

    @cresset.script
    class Local:
        def __init__(self, x: int):
            self.x = x

    def use(n: int) -> int:
        return Local(n).x

    assert cresset.script(use)(4) == 4


def test_one_class_is_one_type():
    """What one compilation makes another takes."""
    made = cresset.script(makes_counter)
    assert str(made.schema.returns[0].type) == str(cresset.script(takes_counter).schema.arguments[0].type)


def test_wrong_attributes_of_instances():
    counter = Counter(1)
    counter.count = "a"
    with pytest.raises(RuntimeError, match="count"):
        cresset.script(takes_counter)(counter)
    del counter.count
    with pytest.raises(RuntimeError, match="missing attribute count"):
        cresset.script(takes_counter)(counter)


def test_modules_classes_are_refused():
    with pytest.raises(RuntimeError, match="inherits from nn.Module, pass an instance"):
        cresset.script(torch.nn.Linear)


@pytest.mark.parametrize("jit", (torch.jit, cresset), ids=("torch.jit", "cresset"))
def test_a_decorated_class_names_itself(jit):
    """Python binds the name when the decorator is done; methods are compiled before."""

    @jit.script
    class Timer:
        def __init__(self, n: int):
            self.n = n

        def __eq__(self, other: "Timer") -> bool:
            return self.n == other.n

        def doubled(self) -> "Timer":
            return Timer(self.n * 2)

    def use(n: int) -> Tuple[bool, bool, int]:
        t = Timer(n)
        return t == Timer(3), t == t.doubled(), t.doubled().n

    assert jit.script(use)(3) == (True, False, 6)


def test_a_decorated_class_names_itself_in_other_members():
    """Further than torch.jit: in static methods, classmethods, properties and types with arguments."""

    @cresset.script
    class Node:
        def __init__(self, n: int):
            self.n = n
            self.next: Optional[Node] = None

        @staticmethod
        def pair(a: "Node", b: "Node") -> "List[Node]":
            return [a, b]

        @classmethod
        def one(cls) -> "Node":
            return Node(1)

        @property
        def copied(self) -> "Optional[Node]":
            return Node(self.n)

    def use(n: int) -> Tuple[int, int, int]:
        node = Node(n).copied
        assert node is not None
        node.next = Node.one()
        after = node.next
        assert after is not None
        return node.n, after.n, len(Node.pair(node, after))

    assert cresset.script(use)(5) == (5, 1, 2)


def test_a_class_inside_of_a_class_and_a_global_of_its_name():
    """In Python the global is meant: bodies of classes are no scopes for what is inside."""
    assert cresset.script(Inner) is Inner
    assert cresset.script(use_around)(4) == 4


class Around:
    class Counter:
        def __init__(self, n: int):
            self.n = n

        def of_global(self) -> int:
            return Counter(self.n).count


Inner = Around.Counter


def use_around(n: int) -> int:
    return Inner(n).of_global()


class Ring:
    def __init__(self, value: int):
        self.value = value
        self.listed = torch.jit.annotate(List["Ring"], [])
        self.named = torch.jit.annotate(Dict[str, "Ring"], {})
        self.nested = torch.jit.annotate(List[List["Ring"]], [])
        self.one = torch.jit.annotate(Optional[List["Ring"]], None)


def test_classes_that_hold_themselves_in_containers():
    def f(x: torch.Tensor, n: int):
        ring = Ring(n)
        for i in range(n):
            part = Ring(i)
            part.listed.append(ring)
            ring.listed.append(part)
            ring.named[str(i)] = part
        ring.nested.append(ring.listed)
        ring.one = ring.nested[0]
        total = x * 2
        for part in ring.nested[0]:
            total = total + part.value + len(part.listed) + part.listed[0].named["0"].value
        return total

    scripted = cresset.script(f)
    for n in (1, 2, 3, 4):
        assert torch.equal(scripted(torch.ones(2), n), torch.full((2,), 2.0 + n + sum(range(n))))

    class Holds(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            ring = Ring(3)
            ring.listed.append(ring)
            return x + ring.listed[0].value

    x = torch.ones(2)
    module = cresset.script(Holds().eval())
    graph = module.graph.copy()
    cresset.passes.inline(graph)
    cresset.passes.dce(graph)
    forms = [module, cresset.freeze(module), cresset.optimize_for_inference(module), cresset.static_module(module)]
    again = cresset.load(io.BytesIO(module.save_to_buffer()))
    for form in [*forms, again]:
        for _ in range(3):
            assert torch.equal(form(x), x + 3)
    traced = cresset.trace(lambda x: scripted(x, 2), x)
    for _ in range(3):
        assert torch.equal(traced(x), scripted(x, 2))
