"""`cresset.passes.batch_mm`: products that are computed together are those of the program."""

import pytest
import torch

import cresset
from cresset import passes


def both(source, *args):
    """The results of a function before and after the pass, and whether it changed anything."""
    graph = cresset.CompilationUnit(source).f.graph
    before = cresset.function_from_graph("before", graph.copy())(*args)
    changed = passes.batch_mm(graph)
    return before, cresset.function_from_graph("after", graph)(*args), changed


def test_what_is_written_between_products():
    source = """
def f(a, b, c):
  s = torch.mm(a, b) + torch.mm(b, c) + torch.mm(c, a) + torch.mm(a, c)
  p = [torch.mm(s, a), torch.mm(s, b), torch.mm(s, c), torch.mm(s, a)]
  s.relu_()
  return p + [torch.mm(s, a), torch.mm(s, b), torch.mm(s, c), torch.mm(s, b)]
"""
    before, after, changed = both(source, *(torch.randn(3, 3, dtype=torch.float64) for _ in range(3)))
    assert changed and all(torch.allclose(a, b) for a, b in zip(before, after, strict=True))


def test_sums_of_several_dtypes_keep_their_order():
    number = lambda value, dtype: torch.tensor([[value]], dtype=dtype)  # noqa: E731
    a, b, c = number(200, torch.uint8), number(1, torch.uint8), number(1, torch.int32)
    for expression in (
        "torch.mm(c, c) + ((torch.mm(a, b) + torch.mm(a, b)) + torch.mm(c, c))",
        "((torch.mm(a, b) + torch.mm(a, b)) + torch.mm(c, c)) + torch.mm(c, c)",
        "(torch.mm(a, b) + torch.mm(c, c)) + (torch.mm(a, b) + torch.mm(c, c))",
    ):
        before, after, _ = both(f"def f(a, b, c):\n  return {expression}\n", a, b, c)
        assert before == after and before.dtype == after.dtype, expression


@pytest.mark.parametrize("recorded", ["", "a", "b", "c", "bc"])
def test_gradients_go_to_the_factors_of_a_product(recorded):
    source = "def f(a, b, c):\n  return [" + ", ".join(["torch.mm(a, b)"] * 7 + ["torch.mm(a, c)"]) + "]\n"
    args = {name: torch.randn(3, 3).requires_grad_(name in recorded) for name in "abc"}
    before, after, changed = both(source, *args.values())
    assert changed
    assert [t.requires_grad for t in before] == [t.requires_grad for t in after]
    if not before[0].requires_grad:
        return
    leaves = [t for t in args.values() if t.requires_grad]
    expected, found = (torch.autograd.grad(r[0].sum(), leaves, allow_unused=True) for r in (before, after))
    for a, b in zip(expected, found, strict=True):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b))


def test_long_sums_stay():
    lines = [
        "graph(%a : Tensor, %b : Tensor):",
        " %one : int = prim::Constant[value=1]()",
        " %s0 : Tensor = aten::mm(%a, %b)",
    ]
    for i in range(50_000):
        lines += [f" %p{i} : Tensor = aten::mm(%a, %b)", f" %s{i + 1} : Tensor = aten::add(%s{i}, %p{i}, %one)"]
    graph = cresset.parse_ir("\n".join([*lines, " return (%s50000)"]))
    passes.batch_mm(graph)  # which computes the products in parts
    assert len(graph.findAllNodes("aten::add")) == 50_000 and not graph.findNode("aten::mm")
