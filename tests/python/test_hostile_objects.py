"""Objects from Python that end the process where their memory is believed: containers that change while they are read,
mappings with odd items, instances that nothing has made, parts of graphs given as temporary sequences."""

import collections.abc
import contextlib
import pickle

import pytest
import torch

import cresset
from cresset import _C

GRAPH = """
graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
"""


def parts():
    graph = cresset.parse_ir(GRAPH)
    node = next(graph.nodes())
    return [graph, node, node.output(), graph.return_node(), node.output().type(), graph.alias_db()]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_parts_of_graphs_are_not_pickled(protocol):
    for part in parts():
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(part, protocol)


def test_instances_whose_constructor_was_not_called():
    for part in parts():
        empty = type(part).__new__(type(part))
        for name, method in vars(type(part)).items():
            if callable(method) and not name.startswith("__"):
                with pytest.raises(TypeError):
                    getattr(empty, name)()


def test_nodes_in_no_block_have_no_neighbours():
    graph = cresset.parse_ir(GRAPH)
    node = graph.create("aten::relu", list(graph.inputs()))
    assert node.prev() is None and node.next() is None
    graph.insertNode(node)
    assert node.prev() == next(graph.nodes()) and node.next() == graph.return_node()
    node.destroy()


def test_arguments_of_an_inserted_operator_are_a_temporary_sequence():
    graph = cresset.parse_ir(GRAPH)
    node = next(graph.nodes())
    for _ in range(50):
        value = graph.insert("aten::add", [*graph.inputs(), node.output()])
        value = graph.insert("aten::relu", graph.inputs())
        assert value.node().input() == next(iter(graph.inputs()))

    class Values:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return [node.output(), next(iter(graph.inputs()))][i]

    value = graph.insert("aten::mul", Values())
    assert [i.debugName() for i in value.node().inputs()] == ["y", "x"]


class OddMapping(collections.abc.Mapping):
    def __init__(self, items):
        self._items = items

    def __getitem__(self, key):
        return torch.ones(2)

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1

    def items(self):
        return self._items


@pytest.mark.parametrize("items", [[1], [()], [("a",)], [("a", torch.ones(2), 3)], [None], ["ab"]])
def test_items_of_a_mapping_that_are_no_pairs(items):
    unit = cresset.CompilationUnit("def f(x: Dict[str, Tensor]):\n  return x['a'] + 1\n")
    assert torch.equal(unit.f(OddMapping([("a", torch.ones(2))])), torch.full((2,), 2.0))
    with pytest.raises((RuntimeError, TypeError), match="no pair"):
        unit.f(OddMapping(items))


class Clearing:
    """Clears a container when something asks for its class or its number."""

    def __init__(self, container):
        self.container = container

    @property
    def __class__(self):
        self.container.clear()
        return Clearing

    def __index__(self):
        self.container.clear()
        return 1


@pytest.mark.parametrize("annotation", ["List[int]", "Any", "List[List[int]]", "Tuple[int, int]"])
def test_a_list_that_its_elements_clear(annotation):
    unit = cresset.CompilationUnit(f"def f(x: {annotation}):\n  return 1\n")
    for where in range(3):
        numbers = [[i] if annotation == "List[List[int]]" else i for i in range(100)]
        numbers[where] = Clearing(numbers)
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            unit.f(numbers)


def test_a_dict_that_its_elements_clear():
    unit = cresset.CompilationUnit("def f(x: Any):\n  return 1\ndef g(x: Dict[str, int]):\n  return 1\n")
    for function in (unit.f, unit.g):
        numbers = {str(i): i for i in range(100)}
        numbers["1"] = Clearing(numbers)
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            function(numbers)


def test_lists_and_dicts_that_a_traced_function_returns_clear_themselves():
    for make in (list, dict):

        def returns(x, make=make):
            held = make()
            entries = [x + 1, Clearing(held), x + 2] + [x + i for i in range(20)]
            held.update(enumerate(entries)) if make is dict else held.extend(entries)
            return held

        with contextlib.suppress(RuntimeError, TypeError):
            cresset.trace(returns, (torch.ones(2),), strict=False, check_trace=False)


def test_functions_of_the_tracer_take_what_they_name():
    for call in (
        lambda: _C._trace_item("no tensor", None),
        lambda: _C._trace_sizes(1),
        lambda: _C._trace_begin_call([], [], []),
        lambda: _C._trace_begin_call([1], [2], None),
    ):
        with contextlib.suppress(RuntimeError, TypeError):
            call()


def test_regions_of_no_operators():
    unit = cresset.CompilationUnit(
        "def f(x, n: int):\n  for i in range(n):\n    x = x + i\n  return x, {'a': x}, [n]\n"
    )
    for threshold in (0, 1, 2):
        graph = unit.f.graph.copy()
        cresset.passes.create_autodiff_subgraphs(graph, threshold)
        graph.lint()


def nested_blocks(depth):
    graph = cresset.parse_ir("graph(%x : Tensor):\n  return (%x)\n")
    condition = graph.insertConstant(True)
    for _ in range(depth):
        branch = graph.create("prim::If", [condition], 0)
        graph.insertNode(branch)
        graph.setInsertPoint(branch.addBlock())
        branch.addBlock()
    return graph


@pytest.mark.parametrize("depth", [3_900, 60_000])
@pytest.mark.parametrize("change", [cresset.passes.dce, cresset.passes.propagate_types, cresset.static_module])
def test_blocks_that_nest_without_end(depth, change):
    graph = nested_blocks(depth)
    if depth < 4_000:
        change(graph)
    else:
        with pytest.raises(RuntimeError, match="nest too deeply"):
            change(graph)


def test_passes_that_get_no_graph():
    with cresset.patch_torch_jit():
        for name in ("fuse_addmm", "peephole", "fuse_linear", "dce", "inline"):
            with pytest.raises(TypeError):
                getattr(torch._C, f"_jit_pass_{name}")(None)


def test_parts_of_compiling_that_are_called_while_nothing_is_compiled():
    for call in (lambda: _C._type_of_annotation("x", "y"), lambda: _C._define_module(torch.nn.Linear(1, 1), [])):
        with pytest.raises((RuntimeError, TypeError)) as raised:
            call()
        assert not isinstance(raised.value, cresset.InternalError), raised.value


def test_texts_leave_no_block_to_python(capsys):
    """Types of its variables, and the block, would be run by Python: compiling a text runs nothing."""
    text = """
def f(x: int) -> int:
    with torch.jit._IgnoreContextManager(x="inp:print('compiled')", y="out:int"):
        y = x + 1
    return y
"""

    class Empty(torch.nn.Module):
        def forward(self, x: int) -> int:
            return x

    method = text.replace("f(x", "f(self, x")
    for compile_it in (lambda: cresset.CompilationUnit(text), lambda: cresset.script(Empty()).define(method)):
        with pytest.raises(cresset.CompileError, match="in functions of Python only"):
            compile_it()
    assert capsys.readouterr().out == ""
