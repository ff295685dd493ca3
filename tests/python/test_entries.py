"""Tensors in dicts and lists that are arguments: plans know them from the call's signature, as long as nothing changes them."""

import linecache
from typing import Dict, List  # noqa: F401 (the programs' types)

import pytest
import torch

import cresset

#: Above each program: how many entries of its arguments the signature describes, and whether its gradients are compiled.
PROGRAMS = """
# 2 entries, compiled
def forces(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["pos"].requires_grad_(True)
    r = d["pos"].unsqueeze(0) - d["pos"].unsqueeze(1)
    d["energy"] = (r * r).sum() * d["scale"]
    g = torch.autograd.grad([d["energy"]], [d["pos"]], create_graph=True)[0]
    assert g is not None
    d["forces"] = -g
    return d["energy"], -g

# 3 entries
def optional(d: Dict[str, Tensor], l: List[Tensor], i: int):
    r = d["pos"] * 2
    if "cell" in d:
        r = r + d["cell"]
    if "scale" in d:
        r = r * d["scale"]
    return r, "cell" in d

# 4 entries
def gotten(d: Dict[str, Tensor], l: List[Tensor], i: int):
    cell = d.get("cell")
    x = d.get("pos", l[0])
    if cell is not None:
        x = x + cell
    return x * d.get("scale", x), cell is None

# 0 entries
def gotten_behind_a_change(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["cell"] = l[i - 1]
    cell = d.get("cell")
    assert cell is not None
    return cell * 2, d.get("cell", l[i]), "cell" in d

# 1 entries
def missing(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["new"] = torch.ones(2)
    return d["cell"] * 2

# 3 entries
def of_a_list(d: Dict[str, Tensor], l: List[Tensor], i: int):
    return l[0] * l[1] + l[-1], l[i]

# 1 entries
def too_far(d: Dict[str, Tensor], l: List[Tensor], i: int):
    l.append(l[0] * 2)
    return l[3] + l[0]

# 1 entries
def too_far_at_first(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["seen"] = torch.ones(1)
    return l[5]

# 0 entries
def changed_before(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["pos"] = d["pos" if i > 5 else "scale"] + 1
    l.reverse()
    return d["pos"] * 2, l[0]

# 1 entries
def changed_in_turns(d: Dict[str, Tensor], l: List[Tensor], i: int):
    total = d["scale"] * 0
    for k in range(i + 3):
        total = total + d["pos"].sum() + l[0].sum()
        d["pos"] = d["pos"] * 0.5
        l[0] = total
    return total

# 1 entries
def changed_behind(d: Dict[str, Tensor], l: List[Tensor], i: int):
    a = d["pos"] * 2
    d["pos"].add_(1)
    d.clear()
    l.clear()
    return a, len(d), len(l), l

# 1 entries
def removed(d: Dict[str, Tensor], l: List[Tensor], i: int):
    a = d["pos"]
    b = d.pop("pos")
    return a is b, a + b, "pos" in d

# 2 entries
def in_branches(d: Dict[str, Tensor], l: List[Tensor], i: int):
    if i > 0:
        a = d["pos"] * 2
        d["pos"] = a
    else:
        a = d["scale"] * 3
    return a, d["pos"]

# 2 entries
def written(d: Dict[str, Tensor], l: List[Tensor], i: int):
    d["pos"].mul_(2)
    a = d["scale"].add_(d["pos"].sum().detach())
    return d["pos"] + a

# 2 entries
def returned(d: Dict[str, Tensor], l: List[Tensor], i: int):
    return d["pos"], d["pos"] is l[0], l
"""
NAMES = [line.split("(")[0].removeprefix("def ") for line in PROGRAMS.splitlines() if line.startswith("def ")]
HEADS = dict(zip(NAMES, [line[2:] for line in PROGRAMS.splitlines() if line.startswith("# ")], strict=True))


@pytest.fixture(scope="module")
def unit():
    linecache.cache["<entries>"] = (len(PROGRAMS), None, PROGRAMS.splitlines(True), "<entries>")
    return cresset.CompilationUnit(PROGRAMS)


def arguments(kind):
    pos = torch.arange(6, dtype=torch.float64).reshape(2, 3).sin()
    scale = torch.tensor(1.5, dtype=torch.float64)
    if kind == "float":
        pos, scale = pos.float(), scale.float()
    if kind in ("gradients", "computed"):
        pos.requires_grad_()
    if kind == "computed":
        pos = pos * 1
    d = {"pos": pos, "scale": scale}
    if kind == "cell":
        d["cell"] = torch.ones(3, dtype=torch.float64)
    if kind == "twice":
        d["scale"] = pos
    if kind == "empty":
        d = {}
    l = [pos, scale, pos.detach() * 3] if kind != "short" else [scale]
    return d, l, 1


KINDS = ["plain", "cell", "gradients", "computed", "float", "twice", "empty", "short"]


def flattened(value):
    if isinstance(value, dict):
        return [*value, *flattened(list(value.values()))]
    return [inner for part in value for inner in flattened(part)] if isinstance(value, (tuple, list)) else [value]


def outcome(function, kind):
    """What a call returns and leaves in its arguments, which of it is one tensor, and gradients."""
    given = arguments(kind)
    leaf = given[0].get("pos")
    try:
        results = flattened(function(*given))
    except Exception as error:  # noqa: BLE001
        results = [str(error)]
    found = [*results, *flattened(given[:2])]
    tensors = [value for value in found if isinstance(value, torch.Tensor)]
    found.append([[a is b for a in tensors] for b in tensors])
    roots = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
    if roots and leaf is not None and leaf.requires_grad:
        total = sum((root * (root.detach() + 1)).sum() for root in roots)
        found += torch.autograd.grad(total, [leaf], allow_unused=True)
    return found


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, torch.Tensor):
            assert a.dtype == b.dtype and a.stride() == b.stride() and a.requires_grad == b.requires_grad
            torch.testing.assert_close(a, b, rtol=1e-12 if b.dtype == torch.float64 else 1e-5, atol=1e-12)
        else:
            assert a == b


@pytest.mark.parametrize("name", NAMES)
def test_program(unit, name):
    function = getattr(unit, name)
    for kind in KINDS * 2:
        cresset.set_execution_mode("interpret")
        expected = outcome(function, kind)
        cresset.set_execution_mode("optimize")
        for _ in range(3):
            assert_same(outcome(function, kind), expected)
    report = cresset.explain(function)
    described = [line for line in report.plans[0].attributes if line.startswith(("d[", "l["))]
    assert f"{len(described)} entries" == HEADS[name].split(",")[0], report
    if "compiled" in HEADS[name]:
        assert "aten::grad(" not in str(function.graph_for(*arguments("plain"))), report


def test_dicts_that_may_be_one():
    function = cresset.CompilationUnit(
        "def f(a: Dict[str, Tensor], b: Dict[str, Tensor]):\n  b['x'] = b['x'] + 1\n  return a['x'] * 2\n"
    ).f
    for _ in range(3):
        assert torch.equal(function({"x": torch.ones(2)}, {"x": torch.zeros(2)}), torch.full((2,), 2.0))
    described = cresset.explain(function).plans[0].attributes
    assert [line.split(":")[0] for line in described] == ["b['x']"]


def test_entries_that_forks_change():
    function = cresset.CompilationUnit(
        "def put(d: Dict[str, Tensor], x: Tensor):\n  d['a'] = x\n  return x\n"
        "def f(d: Dict[str, Tensor], x: Tensor):\n  before = d['a']\n"
        "  torch.jit.wait(torch.jit.fork(put, d, x))\n  return before, d['a'], 'a' in d\n"
    ).f
    for _ in range(3):
        x = torch.zeros(2)
        before, after, _ = function({"a": torch.ones(2)}, x)
        assert torch.equal(before, torch.ones(2)) and torch.equal(after, x)


def test_keys_that_are_ints():
    function = cresset.CompilationUnit("def f(d: Dict[int, Tensor]):\n  return d[1] * 2, 2 in d\n").f
    for _ in range(3):
        found, there = function({1: torch.ones(2), 2: torch.ones(3)})
        assert torch.equal(found, torch.full((2,), 2.0)) and there
        assert not function({1: torch.ones(2)})[1]
        with pytest.raises(RuntimeError, match="KeyError: 1"):
            function({2: torch.ones(2)})
