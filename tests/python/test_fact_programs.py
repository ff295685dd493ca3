"""What plans assume of their tensors, asserted while whole programs run: programs around every module of PyTorch's table (module_db), and random ones.

`python tests/python/test_fact_programs.py [seconds [first]]` runs all configurations of the modules in several dtypes, from the first-th on, and random programs
for the rest of the time.
"""

import contextlib
import os
import sys
import time
import warnings

import fact_modules
import pytest
import sampling
import torch
from generator import campaign, tensor_execution
from generator.tree import TensorCall
from test_script_modules_db import NOT_SCRIPTED
from torch.testing._internal.common_modules import module_db

import cresset
from cresset import _C

#: `./dev fuzz facts` runs more.
COUNT = int(os.environ.get("CRESSET_FACT_PROGRAMS", sampling.amount(100, 200)))
PARTS = 4


@pytest.fixture
def plans_always():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _C._set_plans_always(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    _C._set_plans_always(False)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("part", range(PARTS))
def test_modules(part, plans_always):
    wrong = []
    for number, info in enumerate(module_db[part::PARTS]):
        # Of the modules, one half each through plans and through types alone.
        found, answered = fact_modules.faults(info, checks=[("plans", "unoptimized")[number % 2]])
        wrong += found
        assert bool(answered) == (info.formatted_name not in NOT_SCRIPTED), info.formatted_name
    assert not wrong, "\n".join(wrong[:20])


def test_random_programs():
    with campaign.parts("facts", COUNT, 2) as parts:
        for part in parts:
            kinds, reports = part.result()
            assert not reports, "\n".join(reports.values())
            assert kinds["value"] > COUNT // 2, kinds


class OneProgram:
    """A program as text."""

    def __init__(self, body):
        self.text = f"class M(torch.nn.Module):\n  def forward(self, x: Tensor):\n    {body}\n"
        self.calls = [TensorCall("forward", ["t0"], {"t0": 'values(1, (2, 3), "float32")'})]

    def __str__(self):
        return self.text


@pytest.fixture
def liar():
    """An operator whose results are not what the rules say of it."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.impl("frac", lambda x: torch.add(x.to(torch.float64), 1), "CPU")
    yield
    library._destroy()


def test_false_facts_of_random_programs_are_found(liar):
    assert campaign.FACTS.check(OneProgram("return (x.ceil() + 1) * 2"))[0] is None
    found, _ = campaign.FACTS.check(OneProgram("return (x.frac() + 1) * 2"))
    assert "forward: a plan assumed" in found and "Double" in found


def test_false_facts_of_modules_are_found(liar, plans_always):
    made = fact_modules.program(
        torch.nn.ReLU(),
        fact_modules.source([torch.ones(2)], {}, torch.ones(2)).replace("r = ", "r = torch.frac(a0) + "),
    )
    _C._set_fact_checks("plans")
    try:
        found = fact_modules.outcome(cresset.script(made), [torch.ones(2)], contextlib.nullcontext)
    finally:
        _C._set_fact_checks("off")
    assert any("a plan assumed" in text for text in fact_modules.difference(found, torch.ones(2)))


def long_run(seconds, first):
    """Prints what is not so."""
    start, counts, wrong = time.time(), {"modules": 0, "calls": 0, "programs": 0}, 0
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    _C._set_plans_always(True)
    for info in module_db[first:]:
        if time.time() - start > seconds:
            break
        found, answered = fact_modules.faults(info, 100, (torch.float32, torch.float64, torch.bfloat16))
        counts["modules"] += 1
        counts["calls"] += answered
        wrong += len(found)
        print("\n".join([f"{info.formatted_name}: {answered} calls", *found]), flush=True)
    _C._set_plans_always(False)
    tensor_execution.prepare()
    while time.time() - start < seconds:
        reports = []
        campaign.run(10_000 + counts["programs"], 100, lambda *report: reports.append(report), profile=campaign.FACTS)
        counts["programs"] += 100
        wrong += len(reports)
        for report in reports:
            print(campaign.report(*report), flush=True)
    print(f"{counts}, {wrong} not so, {time.time() - start:.0f} s")
    return wrong


if __name__ == "__main__":
    seconds, first = (*sys.argv[1:], *("1e9", "0")[len(sys.argv) - 1 :])
    sys.exit(1 if long_run(float(seconds), int(first)) else 0)
