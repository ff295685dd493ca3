"""Random programs over tensors, by eager PyTorch, by Cresset as they are written, and by plans: values, layouts, aliasing,
effects, exceptions and gradients agree."""

import os
import re

import pytest
from generator import campaign, shrink, tensor_execution, tensor_programs
from generator.tree import TensorCall, simple

import cresset

#: `./dev fuzz gradients` runs more.
COUNT = int(os.environ.get("CRESSET_GRADIENT_PROGRAMS", "2000"))
PARTS = 2


@pytest.fixture(scope="module")
def parts():
    with campaign.parts("gradients", COUNT, PARTS) as parts:
        yield parts


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part, parts):
    kinds, reports = parts[part].result()
    assert not reports, "\n".join(reports.values())
    assert kinds["value"] > kinds.get("error", 0), f"most calls should end with a value: {kinds}"


def test_programs_have_gradients():
    """Not all is dead or an error: most programs have calls with gradients, and many of higher order."""
    first = second = 0
    before = cresset._C._num_recorded_regions()
    for seed in range(30):
        program = tensor_programs.generate(seed)
        outcomes = tensor_execution.execute(tensor_execution.Planned, program)
        first += any(
            isinstance(o.gradients, list) and o.gradients and not isinstance(o.gradients[-1], str) for o in outcomes
        )
        second += any(o.higher for o in outcomes)
    assert first > 15 and second > 8, (first, second)
    assert cresset._C._num_recorded_regions() > before + 30


def test_a_seed_always_gives_the_same_program():
    for seed in range(20):
        one, other = tensor_programs.generate(seed), tensor_programs.generate(seed)
        assert str(one) == str(other) and list(map(str, one.calls)) == list(map(str, other.calls))


class Script:
    """A program as text: `wrong` where it is a script, `right` where it is Python."""

    def __init__(self, wrong, right, watched=False):
        made = f"({wrong}) if torch.jit.is_scripting() else ({right})"
        self.text = f"class M(torch.nn.Module):\n  def forward(self, x: Tensor):\n    return {made}\n"
        self.calls = [
            TensorCall("forward", ["t0"], {"t0": 'values(1, (2, 3), "float64", True)'}, order=2, watched=watched)
        ]

    def __str__(self):
        return self.text


@pytest.mark.parametrize(
    "wrong, right, what",
    [
        ("x.sin()", "x.sin()", None),
        ("x.sin() * 1.0000000000000002", "x.sin()", "gives"),
        ("x.sin().t().contiguous().t()", "x.sin()", "gives"),
        ("x.sin().detach()", "x.sin()", "gives"),
        ("x.view(-1).view(2, 3)", "x.detach().view(2, 3)", "gives"),
        ("x * x.sin()", "x * x.sin().detach()", "has gradients"),
        ("x * x * x", "x * x * (3 * x).detach() - (2 * x * x * x).detach()", "gives|has gradients"),
        ("x[7]", "x.sin()", "instead of value"),
        ("x.detach().mul_(2.0)", "x.detach() * 2.0", "gives|leaves"),
    ],
)
def test_what_is_a_difference(wrong, right, what):
    found, _ = tensor_execution.check(Script(wrong, right))
    assert re.search(what, found) if what else not found, found


@pytest.mark.parametrize("second, differs", [("y + x", False), ("x.sin() + x", True)])
def test_what_hooks_see_is_a_difference(second, differs):
    """The gradient of the first result, of which the second is computed, or of its like."""
    wrong, right = (f"[(y, {text}) for y in [x.sin()]]" for text in (second, "y + x"))
    found, _ = tensor_execution.check(Script(wrong, right, watched=True))
    assert bool(found) == differs and (not differs or "has gradients" in found), found


def test_a_difference_shrinks():
    program = tensor_programs.generate(22)
    program.classes[0].methods[-1].body.insert(0, simple("a0 = a0 * 2.0 if torch.jit.is_scripting() else a0 * 3.0"))
    first = tensor_execution.check(program)[0]
    assert first

    def holds(candidate):
        return campaign.GRADIENTS.family(tensor_execution.check(candidate)[0] or "") == campaign.GRADIENTS.family(first)

    small = shrink.shrink(program, holds)
    assert len(small.calls) == 1 and len(list(small.classes[0].methods[-1].lines())) <= 6, str(small)
