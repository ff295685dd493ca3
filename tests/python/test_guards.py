"""What plans are told apart by and look at inside: the rows of guards.def, read, printed, and used."""

import copy
from typing import Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

import cresset
from cresset import _C


@pytest.fixture(autouse=True)
def plans_always():
    _C._set_plans_always(True)
    yield
    _C._set_plans_always(False)


def described(script):
    return [plan.inputs + plan.attributes for plan in cresset.explain(script).plans]


def test_arguments():
    def f(
        x: Tensor,
        flag: bool,
        maybe: Optional[Tensor],
        number: Optional[int],
        pair: Tuple[Tensor, Tuple[bool, int]],
        n: int,
    ):
        y = x + n
        if flag and pair[1][0]:
            y = y * 2
        if maybe is not None:
            y = y + maybe
        if number is not None:
            y = y + number
        return y, pair[0]

    script = cresset.script(f)
    x, w = torch.ones(2, 3), torch.ones(3, dtype=torch.float64, requires_grad=True)
    cases = [
        (x, True, None, None, (w, (False, 1)), 1),
        (x, False, w, 3, (x, (True, 2)), 2),
        (x, False, w, 4, (x, (True, 3)), 3),
    ]
    for case in cases * 2:
        for ours, theirs in zip(script(*case), f(*case), strict=True):
            assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    assert described(script) == [
        [
            "x: Float(*, *)",
            "flag: True",
            "maybe.1: None",
            "number.1: None",
            "pair: Double(*, requires_grad=1)",
            "pair: False",
        ],
        [
            "x: Float(*, *)",
            "flag: False",
            "maybe.1: Double(*, requires_grad=1)",
            "number.1: any value",
            "pair: Float(*, *)",
            "pair: True",
        ],
    ]


class Inner(nn.Module):
    mode: str
    limit: Optional[float]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.mode = "sum"
        self.limit = None
        self.scale = 2.0

    def forward(self, x: Tensor):
        y = x * self.weight * self.scale
        if self.limit is not None:
            y = y.clamp(max=self.limit)
        if self.mode == "sum":
            return y.sum()
        return y


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Inner()
        self.second = Inner()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, data: Dict[str, Tensor]):
        return self.second(self.first(x) + self.bias) + data["shift"]


def test_attributes_and_entries():
    module = Outer()
    module.second.mode = "none"
    script = cresset.script(copy.deepcopy(module))
    x, data = torch.ones(3), {"shift": torch.ones(1)}
    for _ in range(2):
        assert torch.equal(script(x, data), module(x, data))
    [(*inputs, entry)] = described(script.forward)
    assert entry == "data['shift']: Float(*)"
    weights = [line for line in inputs if "weight" in line]
    assert weights == [f"self.{name}.weight: Float(*, requires_grad=1)" for name in ("first", "second")]
    assert "self.first.limit: None" in inputs
    # A process tells so many texts apart; in one that has seen more the rest are any value.
    assert "self.first.mode: 'sum'" in inputs or "self.first.mode: any value" in inputs
    assert "self.second.mode: 'none'" in inputs or "self.second.mode: any value" in inputs
    for m in (module, script):
        m.second.mode = "sum"
        m.first.limit = 1.5
    for _ in range(2):
        assert torch.equal(script(x, data), module(x, data))
    with pytest.raises(RuntimeError, match="shift"):
        script(x, {"other": x})
    assert "data['shift']: None" in described(script.forward)[-1]


def test_memory_tape_and_layout():
    def f(x: Tensor, y: Tensor):
        x.add_(1)
        return (y * 2).contiguous(), y.contiguous(), y.is_contiguous()

    script = cresset.script(f)
    for make in (
        lambda: (torch.ones(4, 4), torch.ones(4, 4)),
        lambda: [torch.ones(4, 4)] * 2,
        lambda: (torch.ones(4, 4), torch.ones(4, 4).t()),
    ):
        a, b = make(), make()
        assert str(script(*a)) == str(f(*b)) and str(a) == str(b)
    assert described(script) == [
        ["x: Float(*, *), contiguous", "y: Float(*, *), contiguous"],
        ["x: Float(*, *), contiguous", "y: Float(*, *), contiguous, shares memory with x"],
        ["x: Float(*, *), contiguous", "y: Float(*, *), not contiguous"],
    ]


class Steps(nn.Module):
    ready: bool
    last: Optional[Tensor]
    count: Optional[int]

    def __init__(self):
        super().__init__()
        self.ready = False
        self.last = None
        self.count = None

    def forward(self, x: Tensor, xs: List[Tuple[Tensor, bool, Optional[Tensor]]], i: int):
        y = x * 2
        if self.ready:
            y = y + 1
        last = self.last
        if last is not None:
            y = y + last
        count = self.count
        if count is not None:
            y = y * count
        a, flag, b = xs[i]
        if flag:
            y = y + a
        if b is not None:
            y = y - b
        self.ready = i > 0
        self.last = y if i != 2 else None
        self.count = i if i > 1 else None
        return y


@pytest.mark.parametrize("fails", [None, (0, 1), (1, 2), (2, 1), (3, 3), (4, 2)])
def test_values_of_all_kinds_inside(fails):
    """Bools, what may be None, and several results of one node, from where no signature looks."""
    eager = Steps()
    ours = cresset.script(copy.deepcopy(eager))
    x = torch.arange(3.0)
    xs = [(x + 1, True, None), (x + 2, False, x), (x.double(), True, x), (x[None], False, None)]
    seen = set()
    if fails:
        _C._set_failing_guard(*fails)
    try:
        for i in [0, 0, 0, 1, 1, 1, 2, 3, 0, 2, 1, 1, 1, 1, 3, 3, 3, 3, 0, 0]:
            assert str(ours(x, xs, i)) == str(eager(x, xs, i))
            assert (ours.ready, ours.count, str(ours.last)) == (eager.ready, eager.count, str(eager.last))
            seen |= {guard for plan in cresset.explain(ours.forward).plans for guard in plan.guards}
    finally:
        _C._set_failing_guard(-1, 1)
    kinds = " ".join(seen)
    if not fails:
        assert "False" in kinds and "None" in kinds and "; " in kinds and "watched" in kinds, seen
