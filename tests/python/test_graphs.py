"""Graphs in Python: reading and editing under torch.jit's names, and functions made of edited graphs."""

import gc
import io

import pytest
import torch

import cresset

TEXT = """graph(%x : Tensor,
      %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %sum : Tensor = aten::add(%x, %y, %one)
  %out : Tensor = aten::relu(%sum)
  return (%out)
"""


def parsed(text=TEXT):
    """The same graph for cresset and for torch.jit."""
    return cresset.parse_ir(text), torch._C.parse_ir(text)


def names(values):
    return [value.debugName() for value in values]


def run(graph, *args):
    return cresset.function_from_graph("f", graph)(*args)


def test_reading_agrees_with_torch_jit():
    for graph in parsed():
        assert names(graph.inputs()) == ["x", "y"]
        assert [value.node().kind() for value in graph.outputs()] == ["aten::relu"]
        assert [node.kind() for node in graph.nodes()] == ["prim::Constant", "aten::add", "aten::relu"]
        add = graph.findNode("aten::add")
        assert names(add.inputs())[:2] == ["x", "y"]
        assert add.inputsSize() == 3 and add.outputsSize() == 1
        assert add.inputsAt(1).debugName() == "y"
        assert add.namedInput("other").debugName() == "y"
        assert add.output().node() == add
        assert [(use.user.kind(), use.offset) for use in add.output().uses()] == [("aten::relu", 0)]
        assert add.isBefore(graph.findNode("aten::relu")) and not add.isAfter(graph.findNode("aten::relu"))
        assert add.hasUses() and not add.hasMultipleOutputs()
        constant = graph.findNode("prim::Constant")
        assert constant.kindOf("value") == "i" and constant.i("value") == 1
        assert constant.output().toIValue() == 1 and add.output().toIValue() is None
        assert graph.findNode("aten::mul") is None
        assert len(list(graph.findAllNodes("aten::add"))) == 1
        assert graph.return_node().kind() == "prim::Return" and graph.param_node().kind() == "prim::Param"
        assert next(graph.nodes()).kind() == "prim::Constant"


def test_results_without_types_have_those_of_their_operators():
    text = """graph(%x : Tensor, %l : int[], %d : Dict(str, float), %w : Tensor):
      %none : NoneType = prim::Constant()
      %false : bool = prim::Constant[value=0]()
      %n = aten::len(%l)
      %m = aten::add(%n, %n)
      %sizes = aten::size(%x)
      %y, %z = aten::max(%x, %n, %false)
      %packed = quantized::linear_prepack_fp16(%w, %none)
      %out = quantized::linear_dynamic_fp16(%x, %packed)
      %unknown = my::operator(%n)
      return (%m, %sizes, %out)"""
    mine, theirs = parsed(text)
    for node, expected in zip(mine.nodes(), theirs.nodes(), strict=True):
        assert node.kind() == expected.kind()
        assert [str(v.type()) for v in node.outputs()] == [str(v.type()) for v in expected.outputs()], node
    # torch.jit leaves the variables of schemas in, as List[t].
    graph = cresset.parse_ir("""graph(%d : Dict(str, float)):
      %keys = aten::keys(%d)
      %values = aten::values(%d)
      return (%keys, %values)""")
    assert [str(v.type()) for v in graph.outputs()] == ["List[str]", "List[float]"]


def test_what_is_known_of_an_operator():
    constant, addition, _ = parsed()[0].nodes()
    assert constant.operatorRow() is None
    row = addition.operatorRow()
    assert (
        row.startswith("aten::add.Tensor(Tensor self, Tensor other") and "facts: " in row and "aten::add.out" not in row
    )


def test_sequences():
    nodes = cresset.parse_ir(TEXT).nodes()
    assert len(nodes) == 3 and nodes[-1].kind() == "aten::relu"
    assert [node.kind() for node in nodes[1:]] == ["aten::add", "aten::relu"]
    assert list(nodes) == list(nodes) == nodes
    with pytest.raises(IndexError):
        nodes[3]
    assert next(nodes).kind() == "prim::Constant"
    assert [node.kind() for node in nodes] == ["aten::add", "aten::relu"]


def test_insertion_and_replacement():
    def edit(graph):
        """relu(x + y) becomes neg(relu(x + y)) + relu's input."""
        relu = graph.findNode("aten::relu")
        neg = graph.create("aten::neg", [relu.output()], 1)
        neg.insertAfter(relu)
        relu.output().replaceAllUsesAfterNodeWith(neg, neg.output())
        neg.output().setDebugName("negated")
        with graph.insert_point_guard(graph.return_node()):
            two = graph.insertConstant(2)
        mul = graph.create("aten::mul", [neg.output(), two])
        graph.appendNode(mul)
        graph.return_node().replaceInput(0, mul.output())
        graph.lint()
        return graph

    ours, theirs = (edit(graph) for graph in parsed())
    x, y = torch.randn(3), torch.randn(3)
    expected = torch._C._create_function_from_graph("f", theirs)(x, y)
    assert torch.equal(run(ours, x, y), expected)
    assert torch.equal(expected, -2 * torch.relu(x + y))
    assert ours.findNode("aten::neg").output().debugName() == "negated"


def test_schema_matched_insertion():
    graph = cresset.parse_ir(TEXT)
    with graph.insert_point_guard(graph.return_node()):
        value = graph.insert("aten::clamp", [graph.outputs()[0]], {"max": 0.5})
        value = graph.insert("aten::add", [value, 1])
    graph.return_node().replaceInput(0, value)
    x, y = torch.randn(8), torch.randn(8)
    assert torch.equal(run(graph, x, y), torch.relu(x + y).clamp(max=0.5) + 1)
    with pytest.raises(RuntimeError, match="aten::clamp"):
        graph.insert("aten::clamp", ["text"])


def test_inputs_and_outputs():
    def edit(graph):
        z = graph.addInput("z")
        add = graph.findNode("aten::add")
        add.replaceInputWith(graph.param_node().outputsAt(1), z)
        graph.eraseInput(1)
        graph.registerOutput(add.output())
        graph.makeMultiOutputIntoTuple()
        return graph

    ours, theirs = (edit(graph) for graph in parsed())
    assert names(ours.inputs()) == names(theirs.inputs()) == ["x", "z"]
    x, z = torch.randn(3), torch.randn(3)
    for result in (run(ours, x, z), torch._C._create_function_from_graph("f", theirs)(x, z)):
        assert torch.equal(result[0], torch.relu(x + z)) and torch.equal(result[1], x + z)


def test_permuted_inputs():
    graph = cresset.parse_ir("graph(%a : Tensor, %b : int):\n  %c : Tensor = aten::mul(%a, %b)\n  return (%c)\n")
    graph.permuteInputs([1, 0])
    assert names(graph.inputs()) == ["b", "a"]
    assert torch.equal(run(graph, 3, torch.ones(2)), torch.full((2,), 3.0))
    for wrong in ([0], [0, 0], [0, 2], [0, 1, 1]):
        with pytest.raises(RuntimeError, match="permuteInputs"):
            graph.permuteInputs(wrong)


def test_blocks():
    def build(graph):
        """y = x if flag else -x, as torch.jit's users build it."""
        x, flag = list(graph.inputs())
        branch = graph.insertNode(graph.create("prim::If", [flag]))
        then, otherwise = branch.addBlock(), branch.addBlock()
        then.registerOutput(x)
        otherwise.registerOutput(otherwise.addNode("aten::neg", [x]).output())
        graph.registerOutput(branch.output())
        graph.lint()
        return graph

    empty = "graph(%x : Tensor, %flag : bool):\n  return ()\n"
    ours, theirs = (build(graph) for graph in parsed(empty))
    for flag in (True, False):
        expected = torch._C._create_function_from_graph("f", theirs)(torch.ones(2), flag)
        assert torch.equal(run(ours, torch.ones(2), flag), expected)
    branch = ours.findNode("prim::If")
    assert [block.owningNode() for block in branch.blocks()] == [branch, branch]
    assert branch.findNode("aten::neg").owningBlock() == branch.blocks()[1]
    assert ours.findNode("aten::neg", recurse=False) is None


def test_attributes():
    node = cresset.parse_ir(TEXT).create("test::node")
    tensor = torch.randn(2)
    written = {
        "i": 3, "f": 0.5, "s": "text", "c": 1 + 2j, "is": [1, 2], "fs": [0.5], "ss": ["a", "b"], "ival": {"a": 1},
        "ty": cresset.parse_type("int[]"), "tys": [cresset.parse_type("str")],
    }  # fmt: skip
    for kind, value in written.items():
        assert getattr(node, kind + "_")("name_" + kind, value) == node
        assert node.kindOf("name_" + kind) == kind
        assert getattr(node, kind)("name_" + kind) == value == node["name_" + kind]
    assert torch.equal(node.t_("tensor", tensor).t("tensor"), tensor)
    assert torch.equal(node.ts_("tensors", [tensor, tensor]).ts("tensors")[1], tensor)
    assert str(node.g_("body", cresset.parse_ir(TEXT)).g("body")) == TEXT
    with pytest.raises(RuntimeError, match="'name_i' is of kind 'i', not 's'"):
        node.s("name_i")
    with pytest.raises(RuntimeError, match="nothing"):
        node.i("nothing")
    other = cresset.parse_ir(TEXT).create("test::node")
    assert other.copyAttributes(node).attributeNames() == node.attributeNames()
    assert "name_i" not in other.removeAttribute("name_i").attributeNames()


def test_inserted_graphs():
    graph, callee = cresset.parse_ir(TEXT), cresset.parse_ir(TEXT)
    with graph.insert_point_guard(graph.return_node()):
        (result,) = graph.insertGraph(callee, [graph.outputs()[0], graph.inputs()[0]])
    graph.return_node().replaceInput(0, result)
    graph.lint()
    x, y = torch.randn(3), torch.randn(3)
    assert torch.equal(run(graph, x, y), torch.relu(torch.relu(x + y) + x))
    with pytest.raises(RuntimeError, match="takes 2 inputs, but 1"):
        graph.insertGraph(callee, [result])
    with pytest.raises(RuntimeError, match="into itself"):
        graph.insertGraph(graph, [result, result])


def test_clones():
    graph = cresset.parse_ir(TEXT)
    add = graph.findNode("aten::add")
    clone = graph.createClone(add, lambda value: value)
    clone.insertAfter(add)
    assert names(clone.inputs()) == ["x", "y", "one"] and clone != add
    assert clone.output() != add.output()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda graph: graph.findNode("aten::add").destroy(), "in use"),
        (lambda graph: graph.eraseInput(0), "in use"),
        (lambda graph: graph.findNode("aten::add").addInput(next(cresset.parse_ir(TEXT).inputs())), "another graph"),
        (lambda graph: graph.findNode("aten::add").inputsAt(7), "7"),
        (lambda graph: graph.findNode("aten::add").output().setDebugName("1 2"), "name"),
        (lambda graph: graph.create("add"), "namespace"),
        (lambda graph: graph.findNode("prim::Constant").moveAfter(graph.return_node()), "after the outputs"),
    ],
)
def test_what_a_graph_refuses(edit, message):
    graph = cresset.parse_ir(TEXT)
    with pytest.raises(RuntimeError, match=message):
        edit(graph)
    assert str(graph) == TEXT


def test_erased_parts():
    graph = cresset.parse_ir(TEXT)
    relu = graph.findNode("aten::relu")
    output = relu.output()
    output.replaceAllUsesWith(next(relu.inputs()))
    relu.destroy()
    assert relu.isErased() and output.isErased()
    for use in (relu.kind, relu.inputs, output.type, output.debugName):
        with pytest.raises(RuntimeError, match="erased"):
            use()
    graph.lint()


def test_handles_keep_their_graph():
    node = cresset.parse_ir(TEXT).findNode("aten::add")
    assert names(node.inputs()) == ["x", "y", "one"]
    uses = cresset.parse_ir(TEXT).findNode("aten::add").output().uses()
    assert uses[0].user.kind() == "aten::relu"


def test_malformed_graphs_do_not_run():
    graph = cresset.parse_ir(TEXT)
    graph.findNode("aten::add").moveAfter(graph.findNode("aten::relu"))
    for use in (graph.lint, lambda: run(graph, torch.ones(1), torch.ones(1)), lambda: cresset.passes.inline(graph)):
        with pytest.raises(RuntimeError, match="sum"):
            use()


def plus_one():
    return cresset.CompilationUnit("def f(x):\n    return x + 1\n").f


def test_a_function_runs_what_its_graph_was_edited_to():
    function = plus_one()
    graph = function.graph
    assert function.graph.findNode("aten::add") == graph.findNode("aten::add")
    graph.return_node().replaceInput(0, graph.inputs()[0])
    assert torch.equal(function(torch.ones(1)), torch.ones(1))
    assert str(function.graph) == str(graph)
    function.graph.findNode("aten::add").destroy()
    assert "aten::add" not in str(graph) and "+" not in function.code
    assert "aten::add" not in str(function.inlined_graph)
    file = io.BytesIO()
    function.save(file)
    assert torch.equal(cresset.load(io.BytesIO(file.getvalue()))(torch.ones(1)), torch.ones(1))


def test_edits_after_the_first_run_are_shown_and_do_not_run():
    function = plus_one()
    for _ in range(3):
        assert torch.equal(function(torch.ones(1)), torch.full((1,), 2.0))
    graph = function.graph
    graph.return_node().replaceInput(0, graph.inputs()[0])
    assert torch.equal(function(torch.ones(1)), torch.full((1,), 2.0))
    graph.findNode("aten::add").destroy()
    assert "+" not in function.code


def test_a_caller_takes_over_the_edited_graph():
    unit = cresset.CompilationUnit("def f(x):\n    return x + 1\ndef g(x):\n    return f(x) * 2\n")
    graph = unit.f.graph
    graph.return_node().replaceInput(0, graph.inputs()[0])
    for _ in range(4):
        assert torch.equal(unit.g(torch.ones(1)), torch.full((1,), 2.0))


def test_methods_and_copies_of_modules_have_the_edited_graph():
    class Net(torch.nn.Module):
        def forward(self, x):
            return x + 1

    module = cresset.script(Net().eval())
    graph = module.graph
    graph.return_node().replaceInput(0, graph.inputs()[1])
    assert torch.equal(module(torch.ones(1)), torch.ones(1))
    assert torch.equal(cresset.freeze(module)(torch.ones(1)), torch.ones(1))


def test_an_edited_graph_is_checked():
    function = plus_one()
    function.graph.addInput("more")
    for use in (lambda: function(torch.ones(1)), lambda: function.code):
        with pytest.raises(RuntimeError, match="the graph of 'f' was edited.*inputs and outputs"):
            use()


def test_types_of_torch():
    """Converters compare with torch._C's types, and set them."""
    value = plus_one().graph.inputs()[0]
    theirs = torch._C.TensorType.get()
    assert value.type() == theirs and not value.type() != theirs
    assert value.type() != torch._C.IntType.get() and value.type() != 3 and value.type() is not None
    assert value.type().isSubtypeOf(theirs) and value.type().isSubtypeOf(torch._C.OptionalType(theirs))
    assert not value.type().isSubtypeOf(torch._C.IntType.get())
    value.setType(torch._C.DictType(torch._C.StringType.get(), torch._C.ListType(torch._C.IntType.get())))
    assert value.type().annotation_str == "Dict[str, List[int]]"
    for wrong in (int, "int", None):
        with pytest.raises(TypeError, match="torch"):
            value.setType(wrong)


def test_constants_are_copies():
    graph = cresset.parse_ir("graph():\n  %l : int[] = prim::Constant[value=[1, 2]]()\n  return (%l)\n")
    graph.findNode("prim::Constant").output().toIValue().append(3)
    graph.findNode("prim::Constant")["value"].append(3)
    assert run(graph) == [1, 2]


def test_types():
    tensor = cresset.parse_type("Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)")
    assert (tensor.dim(), tensor.sizes(), tensor.strides()) == (2, [2, 3], [3, 1])
    assert (tensor.dtype(), tensor.scalarType(), tensor.device()) == (torch.float32, "Float", torch.device("cpu"))
    assert tensor.requires_grad() is False
    assert tensor.with_dtype(torch.int64).scalarType() == "Long"
    assert tensor.with_sizes([4, None]).varyingSizes() == [4, None]
    assert cresset.parse_type("Tensor").sizes() is None
    assert str(cresset.parse_type("int[]").getElementType()) == "int"
    assert str(cresset.parse_type("Dict(str, float)").getValueType()) == "float"
    assert [str(element) for element in cresset.parse_type("(int, str)").elements()] == ["int", "str"]
    assert not hasattr(cresset.parse_type("int"), "nonsense")
    with pytest.raises(AttributeError, match="a type 'int' has no 'sizes'"):
        cresset.parse_type("int").sizes()


def test_inferred_types():
    for graph in parsed():
        value = next(iter(graph.inputs()))
        value.inferTypeFrom(torch.ones(2, 3))
        assert value.type().str() == "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
        assert value.isCompleteTensor() and value.requiresGrad() is False and not value.requires_grad()


def test_passes():
    unit = cresset.CompilationUnit("def g(x):\n    return x + 1\n\ndef f(x):\n    return g(x) * g(x)\n")
    graph = unit.f.graph
    assert cresset.passes.inline(graph) is True
    assert cresset.passes.inline(graph) is False
    assert graph.findNode("prim::CallFunction") is None
    assert torch.equal(run(graph, torch.ones(2)), torch.full((2,), 4.0))
    assert "inline" in dir(cresset.passes) and cresset.passes.inline.__doc__


@pytest.mark.parametrize("outputs", ["()", "(%x, %x)"])
def test_a_function_needs_one_output(outputs):
    graph = cresset.parse_ir(f"graph(%x : Tensor):\n  return {outputs}")
    with pytest.raises(RuntimeError, match="require a single output"):
        cresset.function_from_graph("k", graph)


def test_a_graph_keeps_its_program():
    """The functions and classes that a graph names belong to the program of its module, which may be gone."""
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    data = io.BytesIO()
    cresset.save(cresset.script(torch.nn.Sequential(inner, inner)), data)

    def load():
        return cresset.load(io.BytesIO(data.getvalue()), trusted=True)

    graph, inlined = load().forward.graph, load().forward.inlined_graph
    copy = load().forward.graph.copy()
    node = next(iter(load().forward.graph.nodes()))
    gc.collect()
    for one in (graph, copy):
        assert cresset.passes.inline(one)
        assert str(one).count("aten::linear") == str(inlined).count("aten::linear") == 2
    assert "Sequential" in str(node)


def test_passes_take_graphs():
    function = cresset.CompilationUnit("def f(x: Tensor):\n  return x + 1\n").f
    for run in (
        cresset.passes.inline,
        cresset.passes.functionalize,
        cresset.passes.reinplace,
        cresset.functional.writes_left,
    ):
        with pytest.raises(cresset.UserError, match=r"pass the \.graph of the ScriptFunction"):
            run(function)
        with pytest.raises(cresset.UserError, match=r"got builtins\.int, as cresset\.script\(f\)\.graph is one"):
            run(3)
        with pytest.raises(cresset.UserError, match=r"cresset\.parse_ir\(str\(graph\)\)"):
            run(torch.jit.CompilationUnit("def f(x):\n  return x + 1\n").f.graph)
