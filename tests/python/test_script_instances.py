"""Objects of Python classes in scripts: behind interfaces, scripted by themselves, dataclasses; and small forms."""

from dataclasses import InitVar, dataclass, field
from typing import Optional, Union

import pytest
import torch

import cresset


@cresset.interface
class Shape:
    def area(self, x: torch.Tensor) -> torch.Tensor:
        pass


@cresset.script
class Square:
    def __init__(self, side: float):
        self.side = side

    def area(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.side * self.side


@cresset.script
class Flat:
    def __init__(self):
        self.none = 0

    def area(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.none


@cresset.script
class Other:
    def __init__(self):
        self.x = 1


class Holder(torch.nn.Module):
    shape: Shape

    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return self.shape.area(x)


def use(shape: Shape, x: torch.Tensor) -> torch.Tensor:
    return shape.area(x)


def test_interfaces():
    x = torch.ones(2)
    scripted = cresset.script(use)
    for shape in (Square(2.0), Flat(), Square(-1.0)):
        assert scripted(shape, x).tolist() == use(shape, x).tolist()
        assert cresset.script(Holder(shape))(x).tolist() == Holder(shape)(x).tolist()


def test_what_implements_no_interface():
    x = torch.ones(2)
    with pytest.raises(cresset.UserError, match="area"):
        cresset.script(use)(Other(), x)
    with pytest.raises(cresset.UserError, match="shape"):
        cresset.script(use)(object(), x)


class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count


def test_an_object_by_itself():
    for jit in (torch.jit, cresset):
        jit.script(Counter)
        counter = jit.script(Counter(3))
        assert counter.add(2) == 5 and counter.add(2) == 7 and counter.count == 7
    plain = Counter(1)
    scripted = cresset.script(plain)
    assert scripted.add(1) == 2 and plain.count == 1  # a copy, as in torch.jit


class Wrong:
    def __init__(self):
        self.x = {1, 2}


def test_an_object_of_no_script_class():
    with pytest.raises(cresset.UserError):
        cresset.script(Wrong())
    with pytest.raises(RuntimeError, match="can't be scripted"):
        cresset.script(3)


@dataclass
class WithInitVar:
    x: float
    scale: InitVar[int] = 2
    offset: InitVar[float] = 0.5
    y: float = field(default=1.0)
    z: float = field(init=False, default=4.0)

    def __post_init__(self, scale: int, offset: float):
        self.x = self.x * scale + offset


@dataclass(order=True)
class Ordered:
    x: float
    t: Optional[torch.Tensor] = None
    n: int = 0


@dataclass(order=True)
class OfTensor:
    t: torch.Tensor


@pytest.mark.parametrize(
    "args", [(1.0,), (1.0, 3), (1.0, 3, 0.25), (1.0, 3, 0.25, 7.0)], ids=lambda args: str(len(args))
)
def test_init_vars(args):
    def use1(a: float):
        p = WithInitVar(a)
        return p.x, p.y, p.z

    def use2(a: float, b: int):
        p = WithInitVar(a, b)
        return p.x, p.y, p.z

    def use3(a: float, b: int, c: float):
        p = WithInitVar(a, offset=c, scale=b)
        return p.x, p.y, p.z

    def use4(a: float, b: int, c: float, d: float):
        p = WithInitVar(a, b, c, d)
        return p.x, p.y, p.z

    use = (use1, use2, use3, use4)[len(args) - 1]
    assert cresset.script(use)(*args) == use(*args)


def test_an_init_var_is_no_attribute():
    def use(a: float):
        return WithInitVar(a).offset_of

    with pytest.raises(cresset.CompileError, match="offset_of"):
        cresset.script(use)


def test_order():
    def compare(a: float, b: float, t: torch.Tensor):
        p, q, r = Ordered(a), Ordered(b), Ordered(a, t)
        u = Ordered(a, t + 1)
        return p < q, p <= q, p > q, p >= q, p == q, r < u, r >= u

    def tensors(a: torch.Tensor, b: torch.Tensor):
        return OfTensor(a) < OfTensor(b), OfTensor(a) >= OfTensor(b)

    t = torch.ones(1)
    for a, b in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        if a != b:
            assert cresset.script(compare)(a, b, t) == compare(a, b, t)
    assert cresset.script(tensors)(t, t + 1) == (True, False)


def test_unions_have_one_form():
    def f(flag: bool) -> Union[str, int, None]:
        x: Optional[Union[int, str]] = 1
        if flag:
            x = None
        return x

    for jit in (torch.jit, cresset):
        assert [jit.script(f)(flag) for flag in (True, False)] == [None, 1]


def test_small_forms():
    def tracing(x):
        if cresset.is_tracing():
            return x + 1
        return x

    def device():
        return torch.device(type="cpu"), torch.device("cuda", index=1), torch.device(index=0, type="cuda")

    assert cresset.script(tracing)(torch.ones(1)) == 1
    assert cresset.script(device)() == device()
    with pytest.raises(cresset.CompileError):
        cresset.CompilationUnit("def f(): return torch.device(type='cpu', place=3)").f()
    assert cresset.CompilationUnit("def f(x):\n    # type: (int)\n    return x + 1\n").f(1) == 2

    def wait(x: cresset.Future[int]) -> int:
        return torch.jit.wait(x)

    future = cresset.Future()
    future.set_result(3)
    assert cresset.script(wait)(future) == 3


@torch.jit.ignore
def first(x, *rest):
    return rest[0] if rest else x


@torch.jit.ignore
def by_name(x, **rest):
    return x


def test_ignored_functions_with_any_number_of_arguments():
    def use(x):
        return first(x), first(x, x + 1), first(x, x + 2, x)

    for jit in (torch.jit, cresset):
        assert [float(y) for y in jit.script(use)(torch.zeros(1))] == [0, 1, 2]

    def named(x):
        return by_name(x)

    with pytest.raises(cresset.CompileError, match="any keyword arguments"):
        cresset.script(named)
