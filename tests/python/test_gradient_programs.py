"""Random programs over tensors, by eager PyTorch, by Cresset as they are written, and by plans: values, layouts, aliasing,
effects, exceptions and gradients agree."""

import math
import os
import re

import numpy
import pytest
import sampling
import torch
from generator import campaign, shrink, tensor_comparison, tensor_execution, tensor_programs
from generator.tree import TensorCall, simple

import cresset

#: `./dev fuzz gradients` runs more.
COUNT = int(os.environ.get("CRESSET_GRADIENT_PROGRAMS", sampling.amount(240, 2000)))
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
    found, _ = tensor_comparison.check(Script(wrong, right))
    assert re.search(what, found) if what else not found, found


@pytest.mark.parametrize("second, differs", [("y + x", False), ("x.sin() + x", True)])
def test_what_hooks_see_is_a_difference(second, differs):
    """The gradient of the first result, of which the second is computed, or of its like."""
    wrong, right = (f"[(y, {text}) for y in [x.sin()]]" for text in (second, "y + x"))
    found, _ = tensor_comparison.check(Script(wrong, right, watched=True))
    assert bool(found) == differs and (not differs or "has gradients" in found), found


class Passes(Script):
    """Backward passes through one graph: some `passes` as the program is, and other text as a script."""

    def __init__(self, passes, scripted=""):
        lines = "".join(f"    {line}\n" for line in passes)
        scripted = scripted and f"    if torch.jit.is_scripting():\n      {scripted}\n"
        self.text = f"class M(torch.nn.Module):\n  def forward(self, x: Tensor):\n{lines}{scripted}    return g\n"
        self.calls = [TensorCall("forward", ["t0"], {"t0": 'values(1, (2, 3), "float64", True)'})]


NUMBER_KEPT = ["y = (x.detach().requires_grad_() * 2.0).sum()", "y.backward()", "y.backward()", "g = x * 1.5"]


def test_numbers_that_eager_frees():
    """Eager PyTorch cannot go through `x * 2.0` again; a script can."""
    eager, script = (
        tensor_execution.execute(e, Passes(NUMBER_KEPT)) for e in (tensor_execution.Eager, tensor_execution.Interpreted)
    )
    assert (eager[0].kind, script[0].kind) == ("error", "value")
    assert not tensor_comparison.check(Passes(NUMBER_KEPT))[0]


def test_what_comes_after_a_freed_graph_is_compared():
    found, _ = tensor_comparison.check(Passes(NUMBER_KEPT, "g = g * 1.0000000000000002"))
    assert re.match("with graphs retained: unoptimized, call 0: gives", found)


def test_a_script_that_frees_more_than_eager_differs():
    lines = ["y = (x * x).sum()", "y.backward(retain_graph=True)", "g = x * 1.5"]
    found, _ = tensor_comparison.check(Passes(lines, "y.backward(); y.backward()"))
    assert "second time" in found, found


@pytest.mark.parametrize(
    "call, retained",
    [
        ("y.sum().backward()", "y.sum().backward(retain_graph=True)"),
        ("torch.autograd.grad([y], [x])[0]", "torch.autograd.grad([y], [x], retain_graph=True)[0]"),
        ("f(y).backward(), h.backward()", "f(y).backward(retain_graph=True), h.backward(retain_graph=True)"),
        ("torch.autograd.grad([y], [x], create_graph=True)", None),
        ("y.backward(retain_graph=True)", None),
    ],
)
def test_a_program_that_retains_its_graphs(call, retained):
    program = Script("x", "x")
    program.text = f"class A:\n  def f(self):\n    a = {call}\n"
    assert str(tensor_execution.Retained(program)) == program.text.replace(call, retained or call)


@pytest.mark.parametrize("text, differs", [("x.mul_(1.0)", False), ("x * 1.0", True)])
def test_signs_of_zeros_in_gradients_of_what_is_computed_in_place(text, differs):
    def outcome(number, dtype="torch.float64"):
        gradient = (dtype, (1,), (), numpy.array([number], "f8" if "64" in dtype else "f4").tobytes().hex(), "")
        return tensor_execution.TensorOutcome("value", gradients=[[gradient, None]])

    assert bool(tensor_comparison.difference(text, outcome(0.0), outcome(-0.0), True)) == differs
    assert tensor_comparison.difference(text, outcome(0.0), outcome(1e-300), True)
    assert tensor_comparison.difference(text, outcome(-0.5, "torch.bfloat16"), outcome(0.5, "torch.bfloat16"), True)


def numbers(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize(
    "theirs, mine, others, near",
    [
        ([1.0, 2.0], [1.0, 2.0 + 2**-51], [[1.0, 2.0 + 2**-51], [1.0, 2.0]], True),
        ([1.0, 2.0], [1.0, 2.0 + 2**-45], [[1.0, 2.0 + 2**-51], [1.0, 2.0]], False),
        ([1e-20, 2.0], [2e-20, 2.0], [[1e-20 + 1e-36, 2.0]], False),  # small beside others
        ([1.0, 2.0], [1.0 + 2**-52, 2.0], [[1.0, 2.5]], False),  # each number has a bound of its own
        ([1.0, 2.0], [1.0, math.nan], [[1.0, 2.5]], False),
        ([1.0, math.nan], [1.0, 2.0], [[1.0, math.nan]], False),
        ([math.inf, 1.0], [-math.inf, 1.0], [[math.inf, 1.5]], False),
        ([math.inf, 1.0], [1e300, 1.0], [[math.inf, 1.5]], False),
        ([math.nan, math.inf, 1.0], [-math.nan, math.inf, 1.1], [[math.nan, math.inf, 1.1]], True),
        ([0.0], [1e-300], [[0.0]], False),
        ([0.0], [-0.0], [[0.0]], True),
        ([1.0], [1.0 + 2**-52], [], False),
    ],
)
def test_how_near_higher_derivatives_are(theirs, mine, others, near):
    assert tensor_comparison.is_near(numbers(*theirs), numbers(*mine), [numbers(*one) for one in others]) == near


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_other_roundings_are_of_the_last_bits_of_backward_passes(dtype):
    x = torch.linspace(0.5, 2, 7, dtype=dtype, requires_grad=True)
    exact = torch.autograd.grad((x.exp() * x).sum(), x)[0]
    with tensor_execution.RoundedOtherwise(1):
        forward = x.exp() * x
        (other,) = torch.autograd.grad(forward.sum(), x)
    assert torch.equal(forward, x.exp() * x)
    apart = ((other - exact).double() / exact.double()).abs().max().item()
    assert 0 < apart < 8 * torch.finfo(dtype).eps


def test_a_difference_shrinks():
    program = tensor_programs.generate(22)
    program.classes[0].methods[-1].body.insert(0, simple("a0 = a0 * 2.0 if torch.jit.is_scripting() else a0 * 3.0"))
    first = tensor_comparison.check(program)[0]
    assert first

    def holds(candidate):
        return campaign.GRADIENTS.family(tensor_comparison.check(candidate)[0] or "") == campaign.GRADIENTS.family(
            first
        )

    small = shrink.shrink(program, holds)
    assert len(small.calls) == 1 and len(list(small.classes[0].methods[-1].lines())) <= 6, str(small)
