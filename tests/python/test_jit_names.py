"""Names of torch.jit's and torch._C's objects that programs touch, beside torch's own."""

import functools
from typing import List

import pytest
import torch

import cresset

FUNCTION = """
def f(x: Tensor, xs: List[Tensor]):
    y = x + 1
    y.add_(1)
    xs.append(y)
    return y.relu()
"""

TYPES = """
class Point:
    def __init__(self, x: int):
        self.x = x

@interface
class Shape:
    def area(self) -> int:
        pass
"""


@pytest.fixture(scope="module")
def unit():
    return cresset.CompilationUnit(FUNCTION + TYPES)


def test_a_graph_from_nothing():
    graph = cresset.Graph()
    x = graph.addInput("x").setType(cresset.parse_type("Tensor"))
    node = graph.insertNode(graph.create("aten::relu", [x], 1))
    graph.registerOutput(node.output())
    assert str(graph).startswith("graph(%x : Tensor)")
    assert torch.equal(cresset.function_from_graph("f", graph)(torch.tensor([-1.0, 1.0])), torch.tensor([0.0, 1.0]))


def test_nodes_match_schemas(unit):
    add = unit.f.graph.findNode("aten::add")
    assert add.matches("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
    assert not add.matches("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    assert not unit.f.graph.findNode("prim::Constant").matches("aten::relu(Tensor self) -> Tensor")
    assert add.scopeName() == ""


def test_alias_analysis(unit):
    graph = unit.f.graph
    theirs = torch.jit.CompilationUnit(FUNCTION).f.graph
    for g in (graph, theirs):
        aliases = g.alias_db()
        x, xs = list(g.inputs())
        y, relu = g.findNode("aten::add").output(), g.findNode("aten::relu")
        assert aliases.has_writers(y) and not aliases.has_writers(relu.output())
        assert aliases.may_contain_alias(y, xs) and not aliases.may_contain_alias(y, relu.output())
        assert aliases.may_contain_alias(x, xs) and not aliases.may_contain_alias(relu.output(), x)
        assert not aliases.move_before_topologically_valid(relu, g.findNode("aten::add_"))
    assert "aten::append writes" in str(graph.alias_db())
    with pytest.raises(cresset.UserError, match="no part of the graph"):
        graph.alias_db().has_writers(graph.copy().findNode("aten::add").output())


def test_schemas_say_what_is_written():
    for parse in (cresset.parse_schema, torch._C.parse_schema):
        schema = parse("aten::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)")
        info = schema.arguments[0].alias_info
        assert info.is_write and info.before_set == {"a"} and info.after_set == {"a"}
        assert schema.arguments[1].alias_info is None


def test_schemas_are_compared():
    texts = ["t::f(Tensor a) -> Tensor", "t::f(Tensor a, int b=1) -> Tensor", "t::f(Tensor a, int b) -> Tensor"]
    results = {}
    for parse in (cresset.parse_schema, torch._C.parse_schema):
        schemas = [parse(text) for text in texts]
        results[parse] = [
            (a.is_backward_compatible_with(b), a.check_forward_compatible_with(b)) for a in schemas for b in schemas
        ]
    ours, theirs = results.values()
    assert ours == theirs
    assert ours[3][0] and not ours[1][0]


def test_units_know_their_types(unit):
    assert unit.get_class("Point").kind() == "ClassType"
    assert unit.get_interface("Shape").kind() == "InterfaceType"
    assert unit.get_class("Shape") is None and unit.get_interface("nothing") is None
    added = cresset.CompilationUnit()
    graph = cresset.CompilationUnit("def f(x: int):\n  return x + 1").f.graph
    assert added.create_function("g", graph)(1) == 2 and added.g(2) == 3
    with pytest.raises(cresset.UserError):
        added.create_function("g", graph)
    added.create_function("g", graph, shouldMangle=True)
    assert len(added.get_functions()) == 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return self.linear(x).relu()


def test_operators_of_a_module():
    ours = cresset.export_opnames(cresset.script(Model()))
    theirs = torch.jit.export_opnames(torch.jit.script(Model()))
    assert {name for name in ours if name.startswith("aten::")} == {n for n in theirs if n.startswith("aten::")}
    assert ours == sorted(ours)


def test_what_is_behind_a_module():
    for compiler in (cresset, torch.jit):
        module = compiler.script(Model())
        assert module._c._has_method("forward") and not module._c._has_method("nothing")
        assert module._c._get_method("forward").name == "forward"
        assert "forward" in module._c._method_names()
        assert "Model" in str(module._c._type())
        with pytest.raises((AttributeError, RuntimeError)):
            module._c._get_method("nothing")


def test_decorators_are_left_out_with_a_script_warning():
    def decorator(f):
        @functools.wraps(f)
        def wrapped(*args):
            return f(*args)

        return wrapped

    @decorator
    def decorated(xs: List[int]) -> int:
        return len(xs)

    with pytest.warns(cresset.ScriptWarning, match="without its decorator"):
        assert cresset.script(decorated)([1]) == 1


def test_names_without_effect():
    cresset.enable_onednn_fusion(True)
    assert not cresset.onednn_fusion_enabled()
    assert cresset.RecursiveScriptClass is cresset.ScriptObject


class Doubles(torch.nn.Module):
    def forward(self, x, n: int = 2):
        return x * n


@pytest.mark.parametrize("make", ["script", "trace", "load"])
def test_graph_for_of_modules(make, tmp_path):
    module = cresset.trace(Doubles(), torch.ones(2)) if make == "trace" else cresset.script(Doubles())
    if make == "load":
        module.save(tmp_path / "m.pt")
        module = cresset.load(tmp_path / "m.pt")
    graph = module.graph_for(torch.ones(2))
    assert "aten::mul(%x, %" in str(graph)
    assert str(graph) == str(module.forward.graph_for(torch.ones(2)))
    if make != "trace":
        module.graph_for(torch.ones(2), n=3)
        with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
            module.graph_for()


def test_left_out_of_modules():
    module = cresset.script(Doubles())
    for name, said in (("_save_for_lite_interpreter", "mobile interpreter"),):
        assert not hasattr(module, name) and hasattr(torch.jit.script(Doubles()), name)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': .*{said}"):
            getattr(module, name)


def test_public_names_of_modules_and_functions():
    """torch.jit's objects have no public name that ours lack, but those that the test above names."""
    ours, theirs = cresset.script(Doubles()), torch.jit.script(Doubles())
    added = {"forward_magic_method"}
    for mine, other in ((ours, theirs), (ours.forward, theirs.forward), (cresset.script(free), torch.jit.script(free))):
        public = {name for name in dir(other) if not name.startswith("_")}
        assert {name for name in public if not hasattr(mine, name)} <= added | {"raw_owner"}


def free(x):
    return x + 1
