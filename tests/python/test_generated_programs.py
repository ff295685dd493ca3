"""Random programs, run by Cresset and by torch.jit: values, exceptions, printed output and effects on arguments agree."""

import os

import pytest
import sampling
from generator import campaign, programs, shrink, types
from generator.tree import Call, Function, Program, simple

#: `./dev fuzz programs` runs more.
COUNT = int(os.environ.get("CRESSET_GENERATED_PROGRAMS", sampling.amount(500, 1000)))
PARTS = 10

#: Seeds whose programs differ on purpose (docs/differences.md) in a way that the comparison can't tell from a fault.
DIFFERENT = {}


@pytest.fixture(scope="module")
def parts():
    with campaign.parts("programs", COUNT, PARTS) as parts:
        yield parts


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part, parts):
    kinds, reports = parts[part].result()
    size = COUNT // PARTS
    known = {seed for seed in DIFFERENT if part * size <= seed < (part + 1) * size}
    unknown = [report for seed, report in reports.items() if seed not in known]
    assert not unknown, "\n".join(unknown)
    assert known <= set(reports), "these no longer differ: take them off the list"
    assert kinds["value"] > size, f"most calls should end with a value: {kinds}"
    assert kinds.get("torch.jit crashed or hung", 0) <= size // 20, f"torch.jit ran too few programs: {kinds}"


def test_plans():
    """What the optimizer makes of programs of the whole language: `./dev fuzz plans` runs more."""
    with campaign.parts("plans", sampling.amount(100, 200), 2) as parts:
        for part in parts:
            kinds, reports = part.result()
            assert not reports, "\n".join(reports.values())
            assert kinds["value"] > 100, kinds


def test_a_seed_always_gives_the_same_program():
    for seed in range(20):
        assert str(programs.generate(seed)) == str(programs.generate(seed))


def test_a_difference_is_found_and_shrinks():
    """str.format is a difference on purpose: taken off the list, it is found in a large program, and little remains."""
    wrong = [simple("v = ", '"{:>3}".format(a0)', pinned=False), simple("print(v)")]
    noise = programs.generate(5)
    function = Function("g", [], types.STR, [*wrong, simple('return ""')])
    function.parameters = [programs.Parameter("a0", types.INT)]
    program = Program(noise.classes, [*noise.functions, function], [*noise.calls, Call("g", ["5"])])

    def holds(candidate):
        return campaign.check_safely(candidate) is not None

    assert holds(program)
    small = shrink.shrink(program, holds)
    assert len(small.functions) == 1 and len(str(small).splitlines()) <= 4, str(small)
