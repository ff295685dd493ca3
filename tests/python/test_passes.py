"""Passes keep the meaning of programs: results, bits, aliasing, printed output, effects on arguments, exceptions.

Random programs run as they are and after passes: each pass alone after inlining, and many in random orders.
"""

import os
import pathlib
import random
import re
import subprocess
import sys

import model_programs
import pytest
import sampling
import torch
from generator import comparison, programs
from generator.execution import Cresset, call

import cresset

#: Programs per part; the long run takes more.
COUNT = int(os.environ.get("CRESSET_OPTIMIZED_PROGRAMS", sampling.amount(15, 45)))
PARTS = 4

#: Passes that keep bits and derivatives: those that may run on any program.
KEEPING = [name.replace("_", "-") for name, keeps in cresset.passes.preserves.items() if keeps == "All"]


def optimized(function, passes):
    graph = function.graph
    for name in passes:
        getattr(cresset.passes, name.replace("-", "_"))(graph)
        graph.lint()
    return cresset._C.function_from_graph(function.name, graph)


def orders(seed):
    """Lists of passes: each alone, and random ones."""
    choose = random.Random(seed)
    yield from (["inline", name] for name in KEEPING)
    for _ in range(3):
        yield [choose.choice(KEEPING) for _ in range(12)]
    yield ["inline", *KEEPING, *KEEPING]


def difference(program, passes):
    unit = Cresset(program).unit
    for one in program.calls:
        function = getattr(unit, one.function)
        arguments = ", ".join(one.arguments)
        plain, better = call(function, arguments), call(optimized(function, passes), arguments)
        if plain.kind == "error":
            plain.message, better.message = map(comparison.last_line, (plain.message, better.message))
        if plain != better:
            return f"{one}: {plain}\nafter {', '.join(passes)}: {better}"
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part):
    ran = 0
    for seed in range(part * COUNT, (part + 1) * COUNT):
        program = programs.generate(seed)
        try:
            Cresset(program)
        except (cresset.Error, cresset.CompileError):
            continue
        for passes in orders(seed):
            found = difference(program, passes)
            assert not found, f"seed {seed}\n{program}\n{found}"
        ran += 1
    assert ran > COUNT // 2


# ---- programs of the kinds that people run


def run_lowered(graph, module, inputs, second_order):
    """The result, and the gradients of everything that can have one."""
    lowered, attributes = cresset.passes.lower_graph(graph, module)
    function = cresset._C.function_from_graph("forward", lowered)
    inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    attributes = [x.detach().clone().requires_grad_(x.requires_grad) if torch.is_tensor(x) else x for x in attributes]
    torch.manual_seed(0)
    cresset.set_execution_mode("interpret")  # plans would run all passes
    try:
        result = function(*inputs, *attributes)
    finally:
        cresset.set_execution_mode("optimize")
    wanted = [x for x in [*inputs, *attributes] if torch.is_tensor(x) and x.requires_grad]
    gradients = torch.autograd.grad(result.square().sum(), wanted, create_graph=second_order, allow_unused=True)
    if not second_order:
        return [result, *gradients]
    second = torch.autograd.grad(
        sum(g.square().sum() for g in gradients if g is not None and g.requires_grad), wanted, allow_unused=True
    )
    return [result, *gradients, *second]


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("train", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", model_programs.PROGRAMS)
def test_models(name, train, one_thread):
    torch.manual_seed(0)
    module, inputs = model_programs.PROGRAMS[name]()
    module.train(train)
    scripted = cresset.script(module)
    graph = scripted.forward.graph
    second_order = name != "BERT"  # the attention that torch fuses has no second derivative
    plain = run_lowered(graph, scripted, inputs, second_order)
    with cresset.passes.options(verify=True):
        changes = model_programs.run_order(graph)
    assert changes["inline"] and changes["dce"]
    better = run_lowered(graph, scripted, inputs, second_order)
    for a, b in zip(plain, better, strict=True):
        assert (a is None and b is None) or (torch.equal(a, b) and strides(a) == strides(b))


def strides(tensor):
    """Those that mean something: what sums of gradients give dimensions of size 1 depends on the order of the sum."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1]


def test_every_pass_fires_on_some_model():
    """A pass that never fires has no place (docs/passes.md says which were left out). Two need types that only plans
    know, one the constants of freezing, one what optimize_for_inference allows, one autocast, and two are for plans. Seven
    are for people who read graphs (test_graph_passes.py)."""
    fired = {
        "refine-values",
        "read-containers",
        "batch-mm",
        "normalize-operators",
        "propagate-shapes",
        "inline-fork-wait",
        "canonicalize",
        "remove-tensor-mutation",
        "merge-branches",
        "sink",
        "fold-into-weights",
        "channels-last",
        "insert-autocast-casts",
        "fuse",
        "sequence",
    }
    for make in model_programs.PROGRAMS.values():
        changes = model_programs.run_order(cresset.script(make()[0].eval()).forward.graph)
        fired |= {name for name, count in changes.items() if count}
    assert fired >= {name.replace("_", "-") for name in cresset.passes.preserves}


# ---- what the rows of passes, docs/passes.md and cresset.passes say


def test_documented():
    text = pathlib.Path(__file__).parents[2].joinpath("docs", "passes.md").read_text()
    rows = {}
    for line in text.splitlines():
        if re.match(r"\| `[a-z-]+` \| [A-Z]", line):
            name, keeps, description = [cell.strip() for cell in line.strip("|").split("|")][:3]
            rows[name.strip("`")] = (description, keeps)
    assert rows == {name: tuple(row) for name, row in cresset._C._passes.items()}


def test_functions_and_options(capfd):
    graph = cresset.parse_ir("graph(%x : int):\n  %1 : int = aten::neg(%x)\n  return (%x)\n")
    assert cresset.passes.dce.__doc__.startswith("Remove what has no effect")
    with cresset.passes.options(dump="dce", time=True, disable=["remove_list_mutation"]):
        assert cresset.passes.dce(graph) is True and cresset.passes.dce(graph) is False
        assert cresset.passes.remove_list_mutation(graph) is False
        figures = cresset.passes.figures()
    assert figures["dce"]["runs"] == 2 and figures["dce"]["changes"] == 1 and figures["dce"]["nodes_removed"] == 1
    assert list(figures) == ["dce"] and cresset.passes.figures() == {}
    assert capfd.readouterr().err.startswith("---- before dce on graph\ngraph(%x : int):")
    with pytest.raises(cresset.UserError, match="there is no pass 'nope'"):
        cresset.passes.options(disable="nope")


def test_environment():
    program = (
        "import cresset; g = cresset.parse_ir('graph(%x : int):\\n  %1 : int = aten::neg(%x)\\n  return (%x)\\n');"
        "print(cresset.passes.cse(g), cresset.passes.dce(g))"
    )
    for value, out, err in [
        ("limit=1", "False False", "the last pass within the limit, 1: cse on graph"),
        ("disable=dce", "False False", ""),
        ("dump=dce", "False True", "---- after dce on graph"),
        # The environment is read when all passes are known.
        ("disable=" + "+".join(cresset._C._passes), "False False", ""),
    ]:
        env = dict(os.environ, CRESSET_PASSES=value)
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == out and err in done.stderr, (value, done)


def test_lower_graph():
    module = cresset.script(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)))
    graph, paths = cresset.passes.lower_graph(module.forward.graph)
    assert paths == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [value.debugName() for value in graph.inputs()][1:] == ["_0_weight", "_0_bias", "_2_weight", "_2_bias"]
    function = cresset._C.function_from_graph("f", graph)
    x = torch.randn(4, 2)
    assert torch.equal(function(x, *module.parameters()), module(x))

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x

    with pytest.raises(cresset.UserError, match="The attribute 'n' is set here"):
        cresset.passes.lower_graph(cresset.script(Counts()).forward.graph)
    with pytest.raises(cresset.UserError, match="Only the graph of a module's method"):
        cresset.passes.lower_graph(cresset.script(lambda_free).graph)


def lambda_free(x):
    return x


@pytest.mark.parametrize(
    "made", ["aten::tanh(%x)", "aten::mul(%x, %x)", "aten::mm(%x, %w)", "aten::linear(%x, %x, %none)"]
)
@pytest.mark.parametrize("change", ["relu_(%y)", "mul_(%y, %one)", "clamp_(%y, %one, %none)", "sigmoid_(%y)"])
def test_tensor_mutation_keeps_strides(made, change):
    kind = "Float(*, *, requires_grad=0)"
    graph = cresset.parse_ir(
        f"graph(%x : {kind}, %w : {kind}):\n  %one : int = prim::Constant[value=1]()\n  %none : NoneType = prim::Constant()\n"
        f"  %y : {kind} = {made}\n  %z : {kind} = aten::{change}\n  return (%y)\n"
    )
    plain = cresset.function_from_graph("f", graph)
    assert cresset.passes.remove_tensor_mutation(graph)
    better = cresset.function_from_graph("f", graph)
    for x in (
        torch.randn(3, 4),
        torch.randn(4, 3).t(),
        torch.randn(1, 4),
        torch.randn(4, 1),
        torch.randn(0, 4),
        torch.randn(3, 8)[:, ::2],
        torch.randn(3, 4)[:1],
        torch.randn(4, 3)[:, :1].t(),
        torch.randn(1, 4).expand(3, 4),
    ):
        w = torch.randn(x.shape[1], 2)
        a, b = plain(x, w), better(x, w)
        assert torch.equal(a, b) and a.stride() == b.stride(), (x.shape, x.stride())
