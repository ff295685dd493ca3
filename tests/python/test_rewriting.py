"""cresset.passes.rewrite: what matches, what must not, compared with torch's pattern-based rewriting."""

import pytest
import torch

import cresset

MUL_ADD = """
graph(%x, %y, %one):
  %a = aten::mul(%x, %y)
  %b = aten::add(%a, %y, %one)
  return (%b)"""
SUB = """
graph(%x, %y, %one):
  %b = aten::sub(%x, %y, %one)
  return (%b)"""


def graphs(text):
    """The graph of the function `f` of a text, in both."""
    return torch.jit.CompilationUnit(text).f.graph, cresset.CompilationUnit(text).f.graph


def kinds(graph):
    return [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]


def rewritten(text, pattern=MUL_ADD, replacement=SUB):
    theirs, ours = graphs(text)
    torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, theirs)
    torch._C._jit_pass_dce(theirs)
    count = cresset.passes.rewrite(ours, pattern, replacement)
    cresset.passes.dce(ours)
    cresset.passes.lint(ours)
    return sorted(kinds(theirs)), sorted(kinds(ours)), count, ours  # the order of what is independent is free


@pytest.mark.parametrize(
    "body, count",
    [
        ("return x * y + y", 1),
        ("return (x * y + y) * y + y", 2),
        ("return x * y + x", 0),
        ("a = x * y\n    return a + y + a", 0),  # the product has another use
        ("return (x * y + y) + (y * x + x)", 2),
        ("a = x * y\n    b = x.relu()\n    return a + y + b", 1),
        ("return torch.add(x * y, y, alpha=2)", 1),  # any value stands for the pattern's inputs
        ("return x.mul_(y) + y", 0),
    ],
)
def test_as_torch_does_it(body, count):
    theirs, ours, found, graph = rewritten(f"def f(x, y):\n    {body}\n")
    assert theirs == ours and found == count
    assert kinds(graph).count("aten::sub") == count


def test_in_a_branch():
    ours = graphs("def f(x, y):\n    if bool(x.sum() > 0):\n        x = x * y + y\n    return x\n")[1]
    assert cresset.passes.rewrite(ours, MUL_ADD, SUB) == 1
    f = cresset.function_from_graph("f", ours)
    x, y = torch.ones(2), torch.ones(2)
    assert torch.equal(f(x, y), x - y) and torch.equal(f(-x, y), -x)


def test_the_result_runs():
    ours = graphs("def f(x, y):\n    return (x * y + y) * y + y\n")[1]
    cresset.passes.rewrite(ours, MUL_ADD, SUB)
    x, y = torch.rand(3), torch.rand(3)
    assert torch.equal(cresset.function_from_graph("f", ours)(x, y), x - y - y)


def test_constants_are_part_of_a_pattern():
    pattern = "graph(%x, %one):\n  %two : int = prim::Constant[value=2]()\n  %b = aten::mul(%x, %two)\n  return (%b)"
    pattern = pattern.replace(", %one", "")
    replacement = "graph(%x):\n  %one : int = prim::Constant[value=1]()\n  %b = aten::add(%x, %x, %one)\n  return (%b)"
    theirs, ours, count, graph = rewritten("def f(x):\n    return x * 2 * 3\n", pattern, replacement)
    assert theirs == ours == ["aten::add", "aten::mul"] and count == 1
    assert torch.equal(cresset.function_from_graph("f", graph)(torch.ones(2)), torch.full((2,), 6.0))


def test_what_is_written_to_in_between_stays():
    """The product would read x after the write."""
    text = "def f(x, y):\n    a = x * y\n    x.add_(1)\n    return a + y\n"
    ours = graphs(text)[1]
    assert cresset.passes.rewrite(ours, MUL_ADD, SUB) == 0
    assert cresset.passes.rewrite(graphs("def f(x, y):\n    x.add_(1)\n    return x * y + y\n")[1], MUL_ADD, SUB) == 1


def test_several_results():
    pattern = "graph(%x):\n  %a = aten::relu(%x)\n  %b = aten::neg(%a)\n  return (%b, %a)"
    replacement = "graph(%x):\n  %a = aten::sigmoid(%x)\n  %b = aten::abs(%a)\n  return (%b, %a)"
    text = "def f(x):\n    a = x.relu()\n    return a.neg(), a * 2\n"
    ours = graphs(text)[1]
    assert cresset.passes.rewrite(ours, pattern, replacement) == 1
    x = torch.tensor([-1.0, 1.0])
    first, second = cresset.function_from_graph("f", ours)(x)
    assert torch.equal(first, x.sigmoid()) and torch.equal(second, x.sigmoid() * 2)


def test_patterns_that_say_nothing():
    graph = graphs("def f(x, y):\n    return x * y\n")[1]
    for pattern, replacement, message in (
        (MUL_ADD, "graph(%x, %y):\n  %b = aten::mul(%x, %y)\n  return (%b)", "the same numbers of inputs"),
        ("graph(%x):\n  return (%x)", "graph(%x):\n  return (%x)", "what one of its nodes computes"),
        (
            "graph(%x, %y):\n  %b = aten::relu(%x)\n  return (%b)",
            "graph(%x, %y):\n  %b = aten::neg(%x)\n  return (%b)",
            "does not use its input %y",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            cresset.passes.rewrite(graph, pattern, replacement)


def test_erase_shapes():
    graph = cresset.parse_ir("graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = aten::relu(%x)\n  return (%y)")
    cresset.passes.erase_shapes(graph)
    assert "Float" not in str(graph)


def test_under_torchs_name():
    with cresset.patch_torch_jit():
        ours = torch.jit.CompilationUnit("def f(x, y):\n    return x * y + y\n").f.graph
        torch._C._jit_pass_custom_pattern_based_rewrite_graph(MUL_ADD, SUB, ours)
        torch._C._jit_pass_lint(ours)
    assert "aten::sub" in kinds(ours)


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.other = torch.nn.Conv1d(1, 2, 3)
        self.bn = torch.nn.BatchNorm2d(2)

    def forward(self, x):
        return self.bn(self.conv(x)), self.bn(x)


MODULES = """
graph(%self, %x):
  %conv = match::module[name="Conv2d"](%self)
  %y = prim::CallMethod[name="forward"](%conv, %x)
  %bn = match::module[name="batchnorm.BatchNorm2d"](%self)
  %z = prim::CallMethod[name="forward"](%bn, %y)
  return (%z)"""


@pytest.mark.parametrize("name, count", [("Conv2d", 1), ("conv.Conv2d", 1), ("Conv1d", 0), ("v2d", 0)])
def test_submodules_by_their_class(name, count):
    graph = cresset.script(Layers()).graph
    pattern = MODULES.replace('"Conv2d"', f'"{name}"')
    assert (
        cresset.passes.rewrite(graph, pattern, "graph(%self, %x):\n  %z = my::both(%self, %x)\n  return (%z)") == count
    )
    assert kinds(graph).count("my::both") == count and kinds(graph).count("prim::CallMethod") == 3 - 2 * count
    assert "prim::GetAttr" in kinds(graph)  # the batch norm has another use
