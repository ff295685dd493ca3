"""Programs that torch.func.functionalize gets wrong (docs/functionalization.md lists how): functionalized by Cresset, they do what
eager PyTorch does."""

import pytest
import torch
from functional_programs import Outcome, differences

import cresset

outside = torch.ones(2, 3)


def written_from_outside(x):
    outside.zero_()
    outside.add_(x)
    return outside[0]


PROGRAMS = {
    "a result is an argument": lambda x: (x.add_(1), x),
    "a result is a view of an argument": lambda x: x.add_(1).t(),
    "two views of an argument": lambda x: (x[0], x.t(), x.mul_(2))[:2],
    "several elements are one": lambda x: (y := x[:1].expand(3, 3), y.add_(1))[0],
    "operands overlap": lambda x: (y := (x * 1).view(-1), y[1:].add_(y[:-1]))[0],
    "a tensor from outside": written_from_outside,
    "elements that numpy reads": lambda x: (y := x * 2, y[0].add_(1), torch.tensor(y.numpy().sum().item()))[2],
}


def outcome(form, name):
    outside.fill_(1)
    result = Outcome(form(PROGRAMS[name]), (torch.arange(6.0).view(2, 3),))
    result.bits.append(outside.tolist())
    return result


def wrong(name, form):
    expected, found = outcome(lambda f: f, name), outcome(form, name)
    return differences(expected, found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    assert wrong(name, cresset.functionalize) == []


if __name__ == "__main__":  # what the other one gets wrong
    for name in PROGRAMS:
        print(f"{name}: {str(wrong(name, torch.func.functionalize))[:150]}")
