"""copy.copy and copy.deepcopy of what saves and restores itself by __getstate__ and __setstate__, beside torch.jit."""

import copy
import inspect
from typing import List, Tuple

import pytest
import torch
from torch import Tensor, nn

import cresset

ZEROS = torch.zeros(2)
BOTH = pytest.mark.parametrize("jit", (torch.jit, cresset), ids=("torch.jit", "cresset"))


class Restored(nn.Module):
    """Each copy differs from what it was made from, so that who copied it can be told."""

    def __init__(self):
        super().__init__()
        self.w = torch.ones(2)
        self.unsaved = 3

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, bool]:
        return self.w * 3, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]):
        self.w = state[0] + 1
        self.training = state[1]
        self.unsaved = 4

    def forward(self, x):
        return x + self.w


class Shares(nn.Module):
    """The state is what the module holds itself."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.l = [torch.ones(1)]

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, List[Tensor], bool]:
        return self.weight, self.l, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, List[Tensor], bool]):
        self.weight = state[0]
        self.l = state[1]
        self.training = state[2]

    def forward(self, x):
        return x + self.weight


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Restored()
        self.all = nn.ModuleList([self.first, Restored()])
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        for m in self.all:
            x = m(x)
        return x, self.first(x)


class Box:
    def __init__(self, n: int):
        self.n = n

    def __getstate__(self) -> int:
        return self.n * 10

    def __setstate__(self, n: int) -> None:
        self.n = n + 1


class HoldsBox(nn.Module):
    box: Box

    def __init__(self):
        super().__init__()
        self.box = Box(2)

    def forward(self) -> int:
        return self.box.n


@BOTH
def test_a_module_is_copied_by_its_state(jit):
    script = jit.script(Restored().eval())
    deep, shallow = copy.deepcopy(script), copy.copy(script)
    assert torch.equal(deep(ZEROS), ZEROS + 4) and torch.equal(script(ZEROS), ZEROS + 1)
    assert deep.unsaved == 4 and script.unsaved == 3 and not deep.training
    assert torch.equal(shallow(ZEROS), ZEROS + 1) and shallow.unsaved == 3


@BOTH
def test_a_state_is_not_copied_itself(jit):
    script = jit.script(Shares())
    deep = copy.deepcopy(script)
    assert deep.weight is script.weight and deep.l[0] is script.l[0]
    assert deep is not script


@BOTH
def test_submodules_are_copied_by_their_states(jit):
    script = jit.script(Outer())
    deep = copy.deepcopy(script)
    x, y = deep(ZEROS)
    assert torch.equal(x, ZEROS + 8) and torch.equal(y, ZEROS + 12)
    assert deep.linear.weight is not script.linear.weight
    assert torch.equal(deep.linear.weight, script.linear.weight)


@BOTH
def test_below_an_eager_module(jit):
    model = nn.Sequential(jit.script(Restored()), nn.Linear(2, 2), jit.script(Outer()))
    deep = copy.deepcopy(model)
    assert torch.equal(deep[0](ZEROS), ZEROS + 4)
    assert torch.equal(deep[2](ZEROS)[0], ZEROS + 8)


@BOTH
def test_objects_of_classes_are_copied_by_their_states(jit):
    script = jit.script(HoldsBox())
    assert script() == 2
    assert copy.deepcopy(script)() == 21
    assert copy.copy(script)() == 2


def test_script_objects():
    unit = cresset.CompilationUnit(
        inspect.getsource(Box)
        + """
def make(n: int):
  return Box(n)
"""
    )
    box = unit.make(2)
    assert (copy.deepcopy(box).n, copy.copy(box).n, box.n) == (21, 2, 2)


def test_python_attributes_go_along():
    script = cresset.script(Restored())
    script.note = ["mine"]
    deep = copy.deepcopy(script)
    assert deep.note == ["mine"] and deep.note is not script.note


@BOTH
def test_what_a_state_raises(jit):
    class Refuses(nn.Module):
        @torch.jit.export
        def __getstate__(self) -> int:
            raise ValueError("no copies of this one")

        @torch.jit.export
        def __setstate__(self, n: int):
            pass

        def forward(self, x):
            return x

    script = jit.script(Refuses())
    error = torch.jit.Error if jit is torch.jit else cresset.ScriptError
    with pytest.raises(error, match="no copies of this one"):
        copy.deepcopy(script)
