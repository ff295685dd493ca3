"""Passes that Python calls on graphs: what torch.jit's do, and what docs/porting.md says of each."""

import re
from pathlib import Path

import pytest
import torch

import cresset
from cresset import _graph_passes, passes

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "porting.md").read_text()
TABLE = PAGE[PAGE.index("Of torch's passes over graphs") : PAGE.index("`PYTORCH_JIT=0`")]
#: torch's names (or their beginnings, before "…"), and what the page says of each.
SAID = [
    (name, line.strip("| ").split(" | ")[1])
    for line in TABLE.splitlines()
    if line.startswith("| `")
    for name in re.findall(r"`(\w+…?)[^`]*`", line.split(" | ")[0])
]
NAMES = sorted(name.removeprefix("_jit_pass_") for name in dir(torch._C) if name.startswith("_jit_pass_"))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_each_pass_once(name):
    found = [says for said, says in SAID if said == name or (said[-1] == "…" and name.startswith(said[:-1]))]
    assert len(found) == 1
    has_counterpart = name in _graph_passes._PASSES or name in _graph_passes._OTHERS
    assert has_counterpart <= (not found[0].startswith("none"))
    assert (name in _graph_passes.NONE) <= found[0].startswith("none")


def test_names_on_the_page_exist():
    for _, says in SAID:
        for name in re.findall(r"`(\w+)", says.replace("the same", "")):
            assert hasattr(passes, name) or name in (
                "cresset",
                "graph",
                "value",
                "node",
                "module",
                "linear",
                "Type",
                "prim",
                "x",
            )


def test_each_pass_without_counterpart_says_what_to_do():
    with cresset.patch_torch_jit():
        graph = cresset.parse_ir("graph(%x):\n  return (%x)")
        for name in _graph_passes.NONE:
            with pytest.raises(NotImplementedError, match=name):
                getattr(torch._C, "_jit_pass_" + name)(graph)


def test_peephole_by_torchs_name():
    text = """
def f(x: int, xs: List[int], o: Optional[int]):
  a = (x + 3) - 1
  b = x == x
  if x > 0:
    c = True
  else:
    c = False
  return a, b, c
"""
    with cresset.patch_torch_jit():
        graph = torch.jit.CompilationUnit(text).f.graph
        assert torch._C._jit_pass_peephole(graph)
        torch._C._jit_pass_dce(graph)
        assert not graph.findNode("prim::If")
        assert len(graph.findAllNodes("aten::add")) == 1 and not graph.findNode("aten::eq")


def test_canonicalize_returns_a_copy():
    text = "def f(x: int):\n  y = x + 2\n  return y * 2\n"
    theirs = torch._C._jit_pass_canonicalize(torch.jit.CompilationUnit(text).f.graph, keep_unique_names=False)
    with cresset.patch_torch_jit():
        graph = torch.jit.CompilationUnit(text).f.graph
        before = str(graph)
        numbered = torch._C._jit_pass_canonicalize(graph, keep_unique_names=False)
        named = torch._C._jit_pass_canonicalize(graph)
        assert str(graph) == before

    def names(graph):
        return [value.debugName() for value in graph.inputs()] + [node.output().debugName() for node in graph.nodes()]

    assert names(numbered) == names(theirs) == [str(i) for i in range(len(names(theirs)))]
    assert "%x" in str(named) and "%y" in str(named)


def test_differentiable_subgraphs():
    def f(x: torch.Tensor, w: torch.Tensor):
        return torch.tanh(torch.mm(x, w)) * 2 + w

    graph = cresset.script(f).graph
    kind = cresset.parse_type("Float(*, *, requires_grad=1, device=cpu)")
    for value in graph.inputs():
        value.setType(kind)
    passes.propagate_types(graph)
    assert passes.create_autodiff_subgraphs(graph.copy(), 100) == []
    (node,) = passes.create_autodiff_subgraphs(graph, 1)
    assert node["kind"] == "differentiable" and node.g("Subgraph").findNode("aten::tanh")
    graph.lint()


def test_decompose():
    def f(x: torch.Tensor):
        return torch.nn.functional.linear(x, x).logsumexp(0).softmax(0)

    graph = cresset.script(f).inlined_graph
    graph.inputs()[0].setType(cresset.parse_type("Float(*, *, requires_grad=1, device=cpu)"))
    passes.propagate_types(graph)
    x = torch.randn(3, 3)
    passes.decompose(graph)
    graph.lint()
    assert torch.allclose(cresset.function_from_graph("g", graph)(x), f(x))


def test_symbolic_sizes():
    def f(x: torch.Tensor, y: torch.Tensor):
        a = torch.cat([x, x], 0)
        b = a + 1
        c = torch.mm(x, y)
        return b, c, c.relu().unsqueeze(0), x.reshape(-1)

    graph = cresset.script(f).graph
    for value in graph.inputs():
        value.setType(cresset.parse_type("Float(*, 3, requires_grad=0, device=cpu)"))
    assert passes.propagate_shapes(graph)
    types = {node.kind(): node.output().type() for node in graph.nodes() if node.outputsSize() == 1}
    n = graph.inputs()[0].type().symbolic_sizes()[0]
    assert n < 0
    twice = types["aten::cat"].symbolic_sizes()
    assert twice[0] < 0 and twice[0] != n and twice[1] == 3
    assert types["aten::add"].symbolic_sizes() == twice
    assert types["aten::mm"].symbolic_sizes() == types["aten::relu"].symbolic_sizes() == [n, 3]
    assert types["aten::unsqueeze"].symbolic_sizes() == [1, n, 3]
    assert not passes.propagate_shapes(graph)


def test_facts_print_in_types():
    kind = "Float(3, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    graph = cresset.parse_ir(f"graph(%x : {kind}):\n  %y : Tensor = aten::mm(%x, %x)\n  return (%y)")
    passes.propagate_shapes(graph)
    assert f"%y : {kind} = aten::mm" in str(graph)


def test_constants_that_a_text_leaves_out():
    text = """graph(%x : Tensor):
  %c : Long(2, 3, requires_grad=0, device=cpu) = prim::Constant[value=<Tensor>]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %c, %one)
  return (%y)"""
    with pytest.raises(RuntimeError, match="leaves the constant out"):
        cresset.parse_ir(text)
    graph = cresset.parse_ir(text, parse_tensor_constants=True)
    constant = graph.findNode("prim::Constant").t("value")
    assert constant.dtype == torch.int64 and constant.shape == (2, 3)
    with pytest.raises(RuntimeError, match="dtype and sizes"):
        cresset.parse_ir(text.replace("Long(2, 3, requires_grad=0, device=cpu)", "Tensor"), parse_tensor_constants=True)


ALIASES = [
    ("absolute", (torch.randn(3),)),
    ("clip", (torch.randn(3), -0.5, 0.5)),
    ("multiply", (torch.randn(3), torch.randn(3))),
    ("swapaxes", (torch.randn(3, 2), 0, 1)),
    ("moveaxis", (torch.randn(3, 2, 4), 0, 2)),
    ("negative", (torch.randn(3),)),
    ("greater_equal", (torch.randn(3), 0.1)),
    ("arctan2", (torch.randn(3), torch.randn(3))),
    ("ger", (torch.randn(3), torch.randn(2))),
    ("inverse", (torch.eye(3) * 2,)),
    ("fix", (torch.randn(3) * 5,)),
    ("row_stack", ([torch.randn(3), torch.randn(3)],)),
    ("concatenate", ([torch.randn(3), torch.randn(3)], 0)),
]


@pytest.mark.parametrize("name, args", ALIASES, ids=[name for name, _ in ALIASES])
def test_aliases_are_one_operator(name, args):
    types = ", ".join(
        f"a{i}: " + {torch.Tensor: "Tensor", float: "float", int: "int", list: "List[Tensor]"}[type(arg)]
        for i, arg in enumerate(args)
    )
    names = ", ".join(f"a{i}" for i in range(len(args)))
    unit = cresset.CompilationUnit(f"def f({types}):\n  return torch.{name}({names})\n")
    graph = unit.f.graph
    assert passes.normalize_operators(graph) and not graph.findNode("aten::" + name)
    result, expected = cresset.function_from_graph("g", graph)(*args), getattr(torch, name)(*args)
    assert torch.equal(result, expected) and result.stride() == expected.stride()
    assert not passes.normalize_operators(graph)


def test_forks_run_where_they_stand():
    def g(x: torch.Tensor, n: int):
        return x * n

    def f(x: torch.Tensor):
        u = cresset.fork(g, x, 3)
        return cresset.wait(u) + 1

    graph = cresset.script(f).inlined_graph
    assert passes.inline_fork_wait(graph) and not graph.findNode("prim::fork") and not graph.findNode("aten::wait")
    x = torch.randn(3)
    assert torch.equal(cresset.function_from_graph("g", graph)(x), x * 3 + 1)
