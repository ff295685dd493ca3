"""Passes that Python calls on graphs: what torch.jit's do, and what docs/porting.md says of each."""

import importlib
import re
from pathlib import Path
from typing import Optional

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
                "addmm",
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


def test_every_other_pass_raises_what_says_so():
    counterparts = {*_graph_passes._PASSES, *_graph_passes._OTHERS}
    graph = cresset.parse_ir("graph(%x):\n  return (%x)")
    with cresset.patch_torch_jit():
        for name in set(NAMES) - counterparts:
            with pytest.raises(NotImplementedError, match=f"no counterpart of torch._C._jit_pass_{name}: .+"):
                getattr(torch._C, "_jit_pass_" + name)(graph)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3), torch.nn.Hardswish()
        )

    def forward(self, x):
        return self.layers(x) + 1


@pytest.mark.parametrize("whole", [False, True])
def test_conversion_to_layouts_of_onednn(whole):
    module, x = Convolutions().eval(), torch.randn(2, 3, 8, 8)
    with cresset.patch_torch_jit(), torch.no_grad():
        frozen = torch.jit.freeze(torch.jit.script(module))
        other = torch.jit.freeze(torch.jit.script(module))
        if whole:
            torch._C._jit_pass_optimize_for_inference(frozen._c)
        else:
            torch._C._jit_pass_convert_frozen_ops_to_mkldnn(frozen.graph)
            torch._C._jit_pass_fuse_frozen_conv_add_relu(frozen.graph)
            torch._C._jit_pass_concat_frozen_linear(frozen.graph)
        for _ in range(3):
            assert torch.allclose(frozen(x), module(x), atol=1e-5)
        # Packed weights are oneDNN's, where this torch has it.
        converted = "cresset::convolution" in str(frozen.graph_for(x))
        assert converted == torch.backends.mkldnn.is_available()
        other(x)
        assert "cresset::convolution" not in str(other.graph_for(x))


def test_optimizations_of_a_frozen_graph():
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4)).eval()
    x = torch.randn(1, 3, 2, 2)
    with cresset.patch_torch_jit():
        frozen = torch.jit.freeze(torch.jit.script(module), optimize_numerics=False)
        torch._C._jit_pass_optimize_frozen_graph(frozen.graph)
        assert not frozen.graph.findNode("aten::batch_norm")
        assert torch.allclose(frozen(x), module(x), atol=1e-5)


def test_patterns_of_all_methods_of_a_module():
    class Inner(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(x) + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return torch.tanh(self.inner(x))

    pattern = "graph(%x):\n  %y = aten::tanh(%x)\n  return (%y)"
    replacement = "graph(%x):\n  %y = aten::relu(%x)\n  return (%y)"
    with cresset.patch_torch_jit():
        scripted = torch.jit.script(Outer())
        torch._C._jit_pass_custom_pattern_based_rewrite(pattern, replacement, scripted._c)
        assert scripted(torch.tensor([-3.0, 2.0])).tolist() == [1.0, 3.0]


def test_dead_operands_of_known_conditions_go():
    with cresset.patch_torch_jit():
        graph = torch.jit.CompilationUnit("def f(x: int):\n  return x == 1 and False, x == 1 or True\n").f.graph
        torch._C._jit_pass_constant_propagation(graph)
        assert not graph.findNode("aten::eq")


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
    with cresset.patch_torch_jit():
        assert torch._C._jit_pass_create_autodiff_subgraphs(graph.copy(), 1) is None  # torch's returns nothing
    (node,) = passes.create_autodiff_subgraphs(graph, 1)
    assert node.kind() == "prim::DifferentiableGraph" and node.g("Subgraph").findNode("aten::tanh")
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
    ("det", (torch.randn(3, 3),)),
    ("matrix_power", (torch.randn(3, 3), 2)),
    ("special.xlogy", (torch.rand(3), torch.rand(3))),
    ("special.polygamma", (1, torch.rand(3))),
    ("special.log_softmax", (torch.randn(3, 3), 1)),
]


@pytest.mark.parametrize("name, args", ALIASES, ids=[name for name, _ in ALIASES])
def test_aliases_are_one_operator(name, args):
    types = ", ".join(
        f"a{i}: " + {torch.Tensor: "Tensor", float: "float", int: "int", list: "List[Tensor]"}[type(arg)]
        for i, arg in enumerate(args)
    )
    names = ", ".join(f"a{i}" for i in range(len(args)))
    source = f"def f({types}):\n  return torch.{name}({names})\n"

    def operators(graph):
        return [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]

    graph = cresset.CompilationUnit(source).f.graph
    expected = operators(torch.jit.CompilationUnit(source).f.graph)
    assert operators(graph) == expected and "aten::" + name.replace(".", "_") not in expected
    result, expected = cresset.function_from_graph("g", graph)(*args), eval("torch." + name)(*args)
    assert torch.equal(result, expected) and result.stride() == expected.stride()
    assert not passes.normalize_operators(graph)
    other = cresset.parse_ir("graph(%a : Tensor):\n  %b : Tensor = aten::absolute(%a)\n  return (%b)")
    assert passes.normalize_operators(other) and operators(other) == ["aten::abs"]


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


def test_sizes_as_a_graph():
    def f(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, n: int):
        a = torch.conv2d(x, w, stride=2, padding=1)
        b = torch.max_pool2d(a, 2)
        return b, torch.cat([y, y]) + y[:1], y.repeat(n, 1), b.flatten(1)

    graph = cresset.script(f).inlined_graph
    for value, sizes in zip(graph.inputs(), ([None] * 4, [None, None], [5, 3, 3, 3])):
        value.setType(value.type().with_sizes(sizes))
    shapes, symbols = passes.compute_shapes(graph)
    assert len(list(shapes.inputs())) == 3 and len(set(symbols)) == len(symbols)
    shapes.makeMultiOutputIntoTuple()
    shapes.lint()
    sizes = cresset.function_from_graph("sizes", shapes)
    for x, y in (([2, 3, 9, 12], [1, 4]), ([1, 3, 16, 7], [3, 2]), ([2, 3, 5, 5], [5, 1])):
        arguments = torch.randn(x), torch.randn(y), torch.randn(5, 3, 3, 3), 2
        known = dict(zip(symbols, sizes(x, y, [5, 3, 3, 3])))
        results = f(*arguments)
        of_graph = next(graph.outputs()).node().inputs()
        for value, result in zip(of_graph, results):
            for symbol, size in zip(value.type().symbolic_sizes(), result.shape):
                assert known.get(symbol, symbol if symbol >= 0 else size) == size
        assert all(symbol in known or symbol >= 0 for symbol in next(iter(of_graph)).type().symbolic_sizes())


def test_products_together():
    def total(a, b, c, d):
        return torch.mm(a, b) + torch.mm(c, d) + torch.mm(b, a) + torch.mm(d, c)

    def each(a, b, c, d):
        others = [b, d, b, d, b, d, b, d]
        left = torch.mm(a, b), torch.mm(a, d), torch.mm(a, b), torch.mm(a, d), torch.mm(a, b), torch.mm(a, d)
        right = torch.mm(b, c), torch.mm(d, c), torch.mm(b, c), torch.mm(d, c), torch.mm(b, c), torch.mm(d, c)
        more = torch.mm(a, b), torch.mm(a, d), torch.mm(b, c), torch.mm(d, c)
        return left, right, more, len(others)

    square = [torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    wide = [torch.randn(*sizes, dtype=torch.float64) for sizes in ((1, 4), (4, 1), (1, 4), (4, 1))]
    mixed = [torch.ones(2, 2, dtype=torch.int64)] * 2 + [torch.ones(1, 1, dtype=torch.int64)] * 2
    for function, kind, count in ((total, "prim::MMTreeReduce", 1), (each, "prim::MMBatchSide", 2)):
        graph = cresset.script(function).graph
        assert passes.batch_mm(graph) and len(graph.findAllNodes(kind)) == count
        assert not graph.findNode("aten::mm") and not passes.batch_mm(graph)
        batched = cresset.function_from_graph("batched", graph)
        for arguments in (square, *([wide, mixed] if function is total else [])):
            expected, found = (torch.utils._pytree.tree_leaves(one(*arguments)) for one in (function, batched))
            for a, b in zip(expected, found):
                assert a == b if isinstance(a, int) else torch.allclose(a, b) and a.stride() == b.stride()
        sums = [
            sum(t.sum() for t in torch.utils._pytree.tree_leaves(one(*square)) if isinstance(t, torch.Tensor))
            for one in (function, batched)
        ]
        gradients = [torch.autograd.grad(one, square) for one in sums]
        assert all(torch.allclose(a, b) for a, b in zip(*gradients))
        with pytest.raises(RuntimeError) as of_torch:
            function(*square[:3], torch.ones(2, 5))
        with pytest.raises(RuntimeError) as of_ours:
            batched(*square[:3], torch.ones(2, 5))
        assert str(of_torch.value) in str(of_ours.value)


def test_linear_and_products():
    def f(x, w, b):
        return torch.matmul(x, w.t()) + b, torch.matmul(x, w.t()), torch.addmm(b, x, w.t()), torch.matmul(x, w)

    arguments = torch.randn(4, 3), torch.randn(3, 3), torch.randn(3)
    with cresset.patch_torch_jit():
        graph = torch.jit.script(f).graph
        torch._C._jit_pass_fuse_linear(graph)
        assert len(graph.findAllNodes("aten::linear")) == 3 and len(graph.findAllNodes("aten::matmul")) == 1
        for a, b in zip(f(*arguments), cresset.function_from_graph("g", graph)(*arguments)):
            assert torch.allclose(a, b)
        line = {node.kind(): node.sourceRange() for node in graph.nodes()}["aten::linear"]
        assert "torch.matmul(x, w.t()) + b" in line

        def g(x, a, b):
            return x.addmm(a, b), x.addmm(a, b, alpha=1.0, beta=1), x.addmm(a, b, alpha=2)

        graph = torch.jit.script(g).graph
        torch._C._jit_pass_decompose_ops(graph)
        assert len(graph.findAllNodes("aten::addmm")) == 1 and len(graph.findAllNodes("aten::mm")) == 2
        square = [torch.randn(3, 3) for _ in range(3)]
        for a, b in zip(g(*square), cresset.function_from_graph("h", graph)(*square)):
            assert torch.allclose(a, b)

    class Layer(torch.nn.Module):
        def __init__(self, bias):
            super().__init__()
            self.linear = torch.nn.Linear(3, 5, bias)

        def forward(self, x):
            return self.linear(x)

    for bias in (True, False):
        module = Layer(bias).eval()
        frozen = cresset.freeze(cresset.script(module))
        graph = frozen.graph.copy()
        assert passes.transpose_linear(graph) and not passes.transpose_linear(graph)
        assert not graph.findNode("aten::linear")
        graph.eraseInput(0)
        function = cresset.function_from_graph("f", graph)
        for sizes in ((3,), (2, 3), (2, 4, 3)):
            x = torch.randn(sizes)
            assert torch.allclose(function(x), module(x), atol=1e-6)


LINEARS = [
    "torch.matmul(x, torch.t(w)) + 2",
    "torch.matmul(x, torch.t(w)) + b",
    "torch.matmul(x, torch.t(w)).add_(b)",
    "torch.matmul(x, torch.t(w)).add_(b, alpha=2)",
    "torch.addmm(b, x, torch.t(w))",
    "torch.addmm(b, x, torch.t(w), beta=2)",
    "torch.addmm(b, x, torch.t(w), alpha=1.)",
    "torch.addmm(b, x, w)",
    "torch.mm(x, torch.t(w))",
    "x @ w",
]


@pytest.mark.parametrize("expression", LINEARS)
def test_what_is_a_linear_layer(expression):
    text = f"def f(x, w, b):\n    return {expression}\n"
    theirs, ours = (J.CompilationUnit(text).f.graph.copy() for J in (torch.jit, cresset))
    with cresset.patch_torch_jit():
        for graph in (theirs, ours):
            torch._C._jit_pass_fuse_linear(graph)
    shown = [
        [(node.kind(), [value.node().kind() for value in node.inputs()]) for node in graph.nodes()]
        for graph in (theirs, ours)
    ]
    theirs, ours = ([each for each in nodes if each[0] != "prim::Constant"] for nodes in shown)
    assert ours == theirs
    x, w, b = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3)
    with cresset.patch_torch_jit():
        graph = torch.jit.CompilationUnit(text).f.graph.copy()
        torch._C._jit_pass_fuse_linear(graph)
    result = cresset.function_from_graph("f", graph)(x, w, b)
    assert torch.allclose(result, cresset.CompilationUnit(text).f(x, w, b), atol=1e-6)


def test_numbers_are_no_bias():
    with cresset.patch_torch_jit():
        for bias in ("2", "b"):
            f = torch.jit.CompilationUnit(f"def f(x, w, b: int):\n    return torch.matmul(x, w.t()).add_({bias})\n").f
            graph = f.graph.copy()
            torch._C._jit_pass_fuse_linear(graph)
            assert graph.findNode("aten::linear") and graph.findNode("aten::add_")
            x, w = torch.randn(2, 3), torch.randn(5, 3)
            assert torch.allclose(cresset.function_from_graph("f", graph)(x, w, 2), x @ w.t() + 2, atol=1e-6)


def test_linear_layers_beside_unknown_operators():
    graph = cresset.parse_ir("""
graph(%x, %w):
  %y = my::operator(%x)
  %transposed = aten::t(%w)
  %z = aten::matmul(%y, %transposed)
  return (%z)""")
    with cresset.patch_torch_jit():
        torch._C._jit_pass_fuse_linear(graph)
    kinds = [node.kind() for node in graph.nodes()]
    assert [kind for kind in kinds if kind != "prim::Constant"] == ["my::operator", "aten::linear"]


def test_batch_norms_are_folded_by_freezing():
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)).eval()
    with cresset.patch_torch_jit():
        scripted = torch.jit.script(module)
        fuse = importlib.import_module("torch.ao.quantization.quantize_jit").fuse_conv_bn_jit
        for call in (lambda: torch._C._jit_pass_fold_convbn(scripted._c), lambda: fuse(scripted)):
            with pytest.raises(NotImplementedError, match=r"use cresset\.freeze"):
                call()
        x = torch.randn(2, 1, 3, 3)
        frozen = cresset.freeze(scripted)
        assert not frozen.graph.findNode("aten::batch_norm") and torch.allclose(frozen(x), module(x), atol=1e-6)


def test_weights_of_layers_whose_bias_may_be_none():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(5, 3))

        def forward(self, x, bias: Optional[torch.Tensor]):
            return torch.nn.functional.linear(x, self.weight, bias) + torch.nn.functional.linear(x, self.weight)

    module = M().eval()
    graph = cresset.freeze(cresset.script(module)).graph.copy()
    assert passes.transpose_linear(graph)
    assert len(graph.findAllNodes("aten::linear")) == len(graph.findAllNodes("aten::matmul")) == 1
    graph.lint()
    graph.eraseInput(0)
    function = cresset.function_from_graph("f", graph)
    x = torch.randn(2, 3)
    for bias in (None, torch.randn(5)):
        assert torch.allclose(function(x, bias), module(x, bias), atol=1e-6)


@pytest.mark.parametrize(
    "locations, message",
    [
        ([("c", "nope")], "the pattern has no value %nope"),
        ([("nope", "a")], "no node of the replacement computes %nope"),
        ([("x", "a")], "no node of the replacement computes %x"),
    ],
)
def test_places_that_a_pattern_lacks(locations, message):
    graph = cresset.CompilationUnit("def f(x):\n    y = x.exp()\n    return y.neg()\n").f.graph
    before = str(graph)
    pattern = "graph(%x):\n  %a = aten::neg(%x)\n  return (%a)"
    replacement = "graph(%x):\n  %c = aten::abs(%x)\n  return (%c)"
    with pytest.raises(ValueError, match=message):
        passes.rewrite(graph, pattern, replacement, locations)
    assert str(graph) == before
    assert passes.rewrite(graph, pattern, replacement, [("c", "x")]) == 1
    assert graph.findNode("aten::abs").sourceRange() == graph.findNode("aten::exp").sourceRange()


def test_decompositions_of_users(monkeypatch):
    monkeypatch.setattr(_graph_passes, "_decompositions", {})
    with cresset.patch_torch_jit():

        @torch.jit.script
        def by_power(x):
            return torch.pow(x, 2)

        @torch.jit.script
        def f(x):
            return torch.square(x) + 1

        torch.jit._register_decomposition(torch.ops.aten.square.default, by_power.graph)
        torch._C._jit_pass_run_decompositions(f.graph)
        assert f.graph.findNode("aten::pow") and not f.graph.findNode("aten::square")
        assert torch.equal(f(torch.tensor([3.0])), torch.tensor([10.0]))


def test_dropout_is_removed():
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.dropout(x, training=self.training) + 1

    with cresset.patch_torch_jit():
        module = torch.jit.script(Net())
        with pytest.raises(RuntimeError, match="training mode"):
            torch._C._jit_pass_remove_dropout(module._c)
        frozen = torch.jit._recursive.wrap_cpp_module(torch._C._freeze_module(module.eval()._c))
        torch._C._jit_pass_remove_dropout(frozen._c)
        assert not frozen.graph.findNode("aten::dropout")


def test_types_are_instances_of_torchs_classes():
    graph = cresset.parse_ir("graph(%x, %n : int[], %s : str?):\n  return (%x)")
    x, n, s = (value.type() for value in graph.inputs())
    assert isinstance(x, torch._C.TensorType) and isinstance(x, cresset._C.Type) and type(x) is cresset._C.Type
    assert isinstance(n, torch._C.ListType) and not isinstance(n, torch._C.TensorType)
    assert isinstance(s, torch._C.OptionalType) and isinstance(s.getElementType(), torch._C.StringType)


def test_the_call_of_the_class_can_be_replaced():
    function = cresset.script(_twice)
    original = cresset.ScriptFunction.__call__
    calls = []

    def watched(self, *args, **kwargs):
        calls.append(kwargs.pop("note", None))
        return original(self, *args, **kwargs)

    x = torch.ones(2)
    cresset.ScriptFunction.__call__ = watched
    try:
        assert torch.equal(function(x, note="a"), x * 2) and torch.equal(function(x=x), x * 2)
        with pytest.raises(RuntimeError, match="expected at most"):
            function(x, x)
    finally:
        cresset.ScriptFunction.__call__ = original
    assert torch.equal(function(x), x * 2) and calls == ["a", None, None]


def _twice(x):
    return x * 2


def test_graphs_of_texts_run():
    with cresset.patch_torch_jit():
        graph = torch._C.parse_ir("graph(%x : int, %y : int):\n  %z : int = aten::mul(%x, %y)\n  return (%z)")
        assert isinstance(graph, cresset._C.Graph) and torch._C._jit_interpret_graph(graph, (6, 7)) == 42


def test_symbols_of_sizes_in_texts():
    graph = cresset.parse_ir("graph(%x : Float(SS(-2), 3, SS(-5))):\n  return (%x)")
    assert next(graph.inputs()).type().symbolic_sizes() == [-2, 3, -5]
    with pytest.raises(RuntimeError, match="negative"):
        cresset.parse_ir("graph(%x : Float(SS(2))):\n  return (%x)")


def test_matches():
    graph = cresset.script(_four_times).graph
    node = graph.findNode("aten::mul")
    assert node.matches("aten::mul(Tensor self, Scalar other) -> Tensor") and node.matches(node.schema())
    assert not node.matches("aten::mul(Tensor self, Tensor other) -> Tensor")
    assert not node.matches("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor")


def _four_times(x):
    return x * 4


def test_torchs_passes_tidy():
    def f(x: int):
        a = 2 * 3
        c = x == 1 and False
        if a == 6:
            b = x + a
        else:
            b = x
        return b, c

    with cresset.patch_torch_jit():
        graph = torch.jit.script(f).graph
        torch._C._jit_pass_constant_propagation(graph)
        assert not graph.findNode("prim::If") and not graph.findNode("aten::eq") and not graph.findNode("aten::mul")
        text = "def f(x: int, xs: List[int]):\n  d = {0: x, 1: 2}\n  assert len(xs) == 3\n  return d[1], [x, 1, 2][1:], len(xs)\n"
        graph = torch.jit.CompilationUnit(text).f.graph
        torch._C._jit_pass_peephole_list_idioms(graph, refine_list_len=True)
        assert not graph.findNode("aten::slice") and not graph.findNode("prim::DictConstruct")
        assert len(graph.findAllNodes("aten::len")) == 1


def test_sizes_of_windows():
    """Of convolutions and pooling with random windows, with and without a batch, against what eager computes."""
    generator = torch.Generator().manual_seed(3)

    def some(low, high, n=None):
        drawn = torch.randint(low, high + 1, (n or 1,), generator=generator).tolist()
        return drawn if n else drawn[0]

    checked = 0
    for i in range(240):
        n = 1 + i % 3
        batch = some(0, 1)
        channels = some(0, 3)
        x = torch.randn([2] * batch + [channels] + some(4, 9, n))
        stride, padding, dilation = (some(low, high, n if some(0, 1) else 1) for low, high in ((1, 3), (0, 2), (1, 2)))
        kernel = some(1, 3, n)
        kind = ["conv", "max", "avg", "adaptive", "adaptive_max"][i % 5]
        text = {
            "conv": f"torch.conv{n}d(x, w, None, {stride}, {padding}, {dilation})",
            "max": f"torch.max_pool{n}d(x, {kernel}, {stride if some(0, 1) else []}, {padding}, {dilation}, {bool(some(0, 1))})",
            "avg": f"torch._C._nn.avg_pool{n}d(x, {kernel}, {stride if some(0, 1) else []}, {padding}, {bool(some(0, 1))})",
            "adaptive": f"torch._C._nn.adaptive_avg_pool{n}d(x, {kernel})",
            "adaptive_max": f"torch._C._nn.adaptive_max_pool{n}d(x, {kernel})[1]",
        }[kind]
        if n == 1:
            text = text.replace("torch._C._nn.", "torch.")
        w = torch.randn([2, channels] + kernel)
        try:
            expected = eval(text, {"torch": torch}, {"x": x, "w": w})
        except RuntimeError:
            continue
        unit = cresset.CompilationUnit(f"def f(x, w):\n  return {text}\n")
        graph = unit.f.graph
        for value, example in zip(graph.inputs(), (x, w)):
            value.setType(value.type().with_sizes(list(example.shape)))
        passes.lower_tuples(graph)
        passes.propagate_shapes(graph)
        found = next(graph.outputs()).type().varyingSizes()
        assert found is not None and len(found) == expected.dim(), text
        assert all(size in (None, real) for size, real in zip(found, expected.shape)), (text, found, expected.shape)
        checked += "True" in text or None not in found
    assert checked > 100


def test_types_of_tuples_say_what_they_hold():
    text = """graph(%a : Float(123), %b : Float(4, 5)):
      %c : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
      return (%c)"""
    with cresset.patch_torch_jit():
        graph = torch._C.parse_ir(text)
        torch._C._jit_pass_refine_tuple_types(graph)
    assert "(Float(123), Float(4, 5)) = prim::TupleConstruct" in str(graph)


@pytest.mark.parametrize(
    "numbers", [(0.6, 0.89, 0.1), (1, 10, 0.3), (0, 5 + 1e-6), (0, 5 - 1e-6), (10, -1 - 1e-6, -1), (3.5,), (0.0, 0.0)]
)
def test_ranges_of_floats(numbers):
    unit = cresset.CompilationUnit(f"def f() -> Tensor:\n    return torch.arange({', '.join(map(repr, numbers))})\n")
    graph = unit.f.graph
    cresset.passes.propagate_shapes(graph)
    assert next(graph.outputs()).type().sizes() == list(torch.arange(*numbers).shape)


def test_sizes_follow_the_types_of_inputs_that_were_changed():
    graph = cresset.trace(torch.nn.functional.hardtanh, torch.rand(4, 4)).graph.copy()
    given = next(iter(graph.inputs()))
    given.setType(given.type().with_sizes([2, 2]))
    cresset.passes.propagate_shapes(graph)
    assert next(iter(graph.outputs())).type().sizes() == [2, 2]
