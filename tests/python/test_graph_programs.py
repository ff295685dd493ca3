"""Graphs of random programs, handled as passes handle them (generator/graph_execution.py): what happened to memory was
reported by the alias analysis, valid moves of nodes change nothing, and no pass does, alone or in a random order."""

import contextlib
import io
import itertools
import os
from collections import Counter

import pytest
import torch
from generator import campaign, execution, graph_execution, programs, tensor_programs

import cresset

#: `./dev fuzz graphs` runs more.
COUNT = int(os.environ.get("CRESSET_GRAPH_PROGRAMS", "100"))
PARTS = 2

#: How much of what the analysis reports may be without an example in any call of its program: of pairs of values of
#: which at least one is made by the graph, and of values that may be written to. Reported are branches that were not
#: taken, loops that ran one iteration, operators that return a view of some layouts only.
NEVER_SEEN = {"aliases": 0.62, "contained": 0.66, "writes": 0.73}


@pytest.fixture(scope="module")
def results():
    with campaign.parts("graphs", COUNT, PARTS) as parts:
        yield [part.result() for part in parts]


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part, results):
    kinds, reports = results[part]
    assert not reports, "\n".join(reports.values())
    assert kinds["moves"] > 50 * COUNT // PARTS and kinds["rewrites"] > 8 * COUNT // PARTS, kinds


def shares(figures):
    """Of what was reported, how much was never seen."""
    return {name: figures[f"{name} never seen"] / figures[f"{name} reported"] for name in NEVER_SEEN}


def test_most_of_what_is_reported_happens(results):
    figures = sum((kinds for kinds, _ in results), Counter())
    found = shares(figures)
    print(f"reported and never seen: {', '.join(f'{name} {share:.2f}' for name, share in found.items())}")
    assert all(found[name] <= bound for name, bound in NEVER_SEEN.items()), (found, figures)
    assert figures["aliases reported"] < 0.02 * figures["pairs"], figures


@pytest.fixture
def interpreted():
    mode = cresset.get_execution_mode()
    cresset.set_execution_mode("interpret")
    yield
    cresset.set_execution_mode(mode)


# ---- programs over the whole language, whose values are mostly containers


@pytest.mark.parametrize("part", range(4))
def test_programs_over_the_whole_language(part, interpreted):
    figures = Counter()
    for seed in range(part * 60, part * 60 + 60):
        program = programs.generate(seed)
        try:
            unit = execution.Cresset(program).unit
        except (cresset.Error, cresset.CompileError):
            continue
        observers = {}
        for one in program.calls:
            if one.function not in observers:
                graph = getattr(unit, one.function).graph
                cresset.passes.inline(graph)
                observers[one.function] = cresset._C._Observer(graph)
            observer = observers[one.function]
            arguments = eval(f"({', '.join(one.arguments)}{',' if one.arguments else ''})", dict(execution.NAMES))
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                observer.function(*arguments)
            faults = observer.finish()
            assert not faults, f"seed {seed}, {one}: {faults}\n{program}"
        for observer in observers.values():
            figures.update(observer.figures())
    assert figures["contained reported"] > 500 and shares(figures)["contained"] < 0.8, figures


# ---- what would be found


def observed(text, *arguments):
    observer = cresset._C._Observer(cresset.parse_ir(text))
    with contextlib.suppress(RuntimeError):
        observer.function(*arguments)
    return observer.finish(), observer.figures()


@pytest.fixture(scope="module")
def liars():
    """Operators that do not do what their schemas say."""
    library = torch.library.Library("liars", "DEF")
    for schema, does in [
        ("same(Tensor x) -> Tensor", lambda x: x.view(-1)),
        ("write(Tensor x) -> Tensor", lambda x: x.add_(1).clone()),
        ("element(Tensor[] x) -> Tensor", lambda x: x[0]),
    ]:
        library.define(schema)
        library.impl(schema.split("(")[0], does, "CPU")
    yield
    library._destroy()


@pytest.mark.parametrize(
    "operator, faults",
    [
        ("same", ["%x and %y are the same memory", "%x and %y reach the same memory", "%l and %y reach"]),
        ("write", ["%x has been written to", "%x is written to by", "a node writes"]),
        ("element", ["%x and %y are the same memory", "%x and %y reach the same memory", "%l and %y reach"]),
    ],
)
def test_what_is_not_reported_is_found(operator, faults, liars):
    argument = "%l" if operator == "element" else "%x"
    text = (
        "graph(%a : Tensor):\n  %x : Tensor = aten::neg(%a)\n  %l : Tensor[] = prim::ListConstruct(%x)\n"
        f"  %y : Tensor = liars::{operator}({argument})\n  return (%y)\n"
    )
    found, _ = observed(text, torch.ones(3))
    for fault in faults:
        assert any(one.startswith(fault) for one in found), (fault, found)
    assert observed(text.replace(f"liars::{operator}({argument})", "aten::exp(%x)"), torch.ones(3))[0] == []


def test_figures():
    text = """graph(%a : Tensor, %b : Tensor, %p : bool):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %x : Tensor = aten::neg(%a)
  %y : Tensor = aten::exp(%a)
  %z : Tensor = prim::If(%p)
    block0():
      -> (%x)
    block1():
      -> (%y)
  %l : Tensor[] = prim::ListConstruct(%z, %b)
  %w : Tensor = aten::add_(%z, %one, %one)
  return (%l)
"""
    faults, figures = observed(text, torch.ones(2), torch.ones(2), True)
    assert not faults
    # %z is %x and may be %y, so is %w, which is %z; outside are %a and %b, which are not the same here.
    assert (figures["aliases reported"], figures["aliases never seen"]) == (5, 2)
    assert (figures["aliases outside reported"], figures["aliases outside never seen"]) == (1, 1)
    # %l holds what %x, %y, %z and %w are, and %b, which may be %a.
    assert (figures["contained reported"], figures["contained never seen"]) == (6, 2)
    # Of %x, %y, %z and %w, %y was not.
    assert (figures["writes reported"], figures["writes never seen"]) == (4, 1)
    shared = torch.ones(2)
    assert observed(text, shared, shared, True)[1].get("aliases outside never seen", 0) == 0


class BlindDb:
    """Moves nodes, with those that use their results, past anything but the ends of `with` statements."""

    def __init__(self, graph):
        pass

    def move_after_topologically_valid(self, node, place):
        moving, passed = [node], node
        while passed != place:
            passed = passed.next()
            if passed.kind() in ("prim::Return", "prim::Enter", "prim::Exit"):
                return False
            if any(passed in self.users(one) for one in moving):
                moving.append(passed)
        if place in moving:
            return False
        for one in reversed(moving):
            one.moveAfter(place)
        return True

    def move_before_topologically_valid(self, node, place):
        return False

    def users(self, node):
        found = []
        for output in node.outputs():
            for use in output.uses():
                user = use.user
                while user.owningBlock() != node.owningBlock():
                    user = user.owningBlock().owningNode()
                found.append(user)
        return found


def first_differences():
    """Two of random programs."""
    found = (graph_execution.check(tensor_programs.generate(seed))[0] for seed in range(30))
    return list(itertools.islice(filter(None, found), 2))


def test_wrong_moves_are_found(monkeypatch):
    monkeypatch.setattr(graph_execution, "aliases_of", BlindDb)
    found = first_differences()
    assert len(found) == 2 and all(text.startswith("moved: call") and "of these moves:" in text for text in found), (
        found
    )


def test_wrong_passes_are_found(monkeypatch):
    def forget_writes(graph):
        changed = False
        for node in graph.findAllNodes("aten::mul_"):
            node.output().replaceAllUsesWith(next(node.inputs()))
            node.destroy()
            changed = True
        return changed

    monkeypatch.setattr(cresset.passes, "dce", forget_writes)
    found = first_differences()
    assert len(found) == 2 and all(text.startswith("rewritten: ") and "after dce, call" in text for text in found), (
        found
    )
