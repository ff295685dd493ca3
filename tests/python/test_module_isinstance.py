"""isinstance of classes of modules in scripts: settled when the script is compiled, since a module's class is known then."""

from typing import Union

import pytest
import torch
from torch import nn

import cresset


class Projection(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        if self.part is not None:
            if isinstance(self.part, nn.Linear):
                return self.part(x)
            elif isinstance(self.part, (nn.ReLU, nn.Tanh)):
                return self.part(x) + 1
            else:
                return x @ self.part
        return x


class LinearOfMine(nn.Linear):
    pass


@pytest.mark.parametrize(
    "part",
    [nn.Linear(3, 3), LinearOfMine(3, 3), nn.Tanh(), nn.Parameter(torch.ones(3, 2)), None],
    ids=["module", "subclass", "one of several", "parameter", "none"],
)
def test_whether_a_submodule_is_of_a_class_is_known_when_it_is_compiled(part):
    module, x = Projection(part), torch.randn(2, 3)
    scripted = cresset.script(module)
    assert torch.equal(scripted(x), module(x))
    assert "isinstance" not in scripted.code


def test_tensors_and_classes_of_modules_in_one_isinstance():
    def f(x: Union[torch.Tensor, int]):
        if isinstance(x, nn.Linear):
            return 1
        if isinstance(x, (nn.Linear, torch.Tensor)):
            return 2
        return 3

    scripted = cresset.script(f)
    assert [scripted(torch.ones(1)), scripted(1)] == [2, 3]


def test_an_interface_does_not_say_of_what_class_a_module_is():
    @cresset.interface
    class Part(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pass

    class Doubled(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    class Whole(nn.Module):
        part: Part

        def __init__(self):
            super().__init__()
            self.part = Doubled()

        def forward(self, x):
            return x if isinstance(self.part, Doubled) else self.part.forward(x)

    with pytest.raises(cresset.CompileError, match="a module is no type of TorchScript"):
        cresset.script(Whole())
