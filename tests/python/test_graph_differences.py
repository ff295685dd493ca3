"""What graphs show otherwise than torch.jit's: the rows of docs/differences.md, Graphs, each seen on both engines."""

import re
from typing import NamedTuple, Union

import torch
from torch import nn

import cresset


class Point(NamedTuple):
    x: int


def graphs(fn):
    return torch.jit.script(fn).graph, cresset.script(fn).graph


def traces(fn, *args):
    return torch.jit.trace(fn, args, check_trace=False).graph, cresset.trace(fn, args, check_trace=False).graph


def kinds(*of):
    return [[node.kind() for node in graph.nodes()] for graph in of]


def after(name, theirs, ours):
    """The kinds of nodes after torch's pass of that name, and after what stands for it."""
    with cresset.patch_torch_jit():
        run = getattr(torch._C, f"_jit_pass_{name}")
        run(theirs)
        run(ours)
    return kinds(theirs, ours)


def test_graphs_are_not_cleaned():
    def f():
        if 1 == 1:  # noqa: PLR0133
            return 1
        else:
            return 2

    def g(x, y):
        a = torch.rand(2)
        b = torch.rand(2)
        b += a
        return a, torch.rsub(x, y)

    theirs, ours = kinds(*graphs(f))
    assert "prim::If" not in theirs and "prim::If" in ours
    theirs, ours = kinds(*graphs(g))
    assert not {"aten::add_", "aten::rsub"} & {*theirs} and {"aten::add_", "aten::rsub"} <= {*ours}


def test_named_tuples_show_their_names():
    def f(p: Point):
        return p.x

    theirs, ours = (re.search(r"NamedTuple.*?\)", str(graph))[0] for graph in graphs(f))
    assert theirs == "NamedTuple(x : int)" and ours == f"NamedTuple[__torch__.{__name__}.Point](x : int)"


def test_unions_of_numbers_are_unions():
    def f(x: Union[int, float, complex]):
        return x

    theirs, ours = (next(iter(graph.inputs())).type().str() for graph in graphs(f))
    assert theirs == "Scalar" and ours == "Union(float, complex, int)"


def test_traced_nodes_have_columns():
    theirs, ours = map(str, traces(lambda x: torch.neg(x), torch.ones(2)))
    assert re.search(r"\.py:\d+:0\n", theirs) and re.search(r"\.py:\d+:[1-9]\d*\n", ours)


def test_tuples_of_constants_are_made():
    theirs, ours = after("constant_propagation", *graphs(pair))
    assert "prim::TupleConstruct" not in theirs and "prim::TupleConstruct" in ours


def pair():
    return (1, 2), 3


def test_neutral_operands_of_unknown_dtype_stay():
    def f(x):
        return (x + 0) * 2

    theirs, ours = after("peephole", *graphs(f))
    assert "aten::add" not in theirs and "aten::add" in ours
    assert cresset.script(f)(torch.tensor([True])).dtype == torch.int64


def test_int_of_a_quotient_is_rounded():
    def f(n: int):
        return int(n / 1)

    theirs, ours = after("peephole", *graphs(f))
    assert "aten::div" not in theirs and "aten::div" in ours
    assert cresset.script(f)(2**53 + 1) == 2**53


def test_lengths_that_may_raise_stay():
    def f(x):
        n = len(x)  # noqa: F841
        return x + 1

    theirs, ours = after("dce", *graphs(f))
    assert "aten::len" not in theirs and "aten::len" in ours


def test_parts_with_gradients_stay_apart():
    def f(x):
        return torch.tanh(x) + torch.tanh(x)

    theirs, ours = after("cse", *traces(f, torch.ones(2, requires_grad=True)))
    assert (theirs.count("aten::tanh"), ours.count("aten::tanh")) == (1, 2)


def test_celu_stays_what_it_is():
    def f(x):
        return torch.celu(x + 1)

    theirs, ours = after("functional_to_inplace_activation", *graphs(f))
    assert "aten::celu_" in theirs and "aten::celu" in ours


def test_what_a_fork_leaves_is_removed():
    def part(x):
        return x + 1, x + 2

    def f(x):
        return torch.jit.wait(torch.jit.fork(part, x))[1]

    theirs = torch.jit.trace(f, torch.ones(2)).graph
    with cresset.patch_torch_jit():
        ours = torch.jit.trace(f, torch.ones(2)).graph
    theirs, ours = after("inline_fork_wait", theirs, ours)
    assert (theirs.count("aten::add"), ours.count("aten::add")) == (2, 1)


def test_var_is_an_operator():
    def f(x):
        return torch.var(x, unbiased=True)

    theirs, ours = after("run_decompositions", *graphs(f))
    assert "aten::var" not in theirs and "aten::var" in ours


def test_calls_may_write():
    def part(x, y):
        x.add_(1)
        return x + y

    def f():
        a, b = torch.ones(2), torch.ones(2)
        return part(a, b)

    written = []
    for graph in graphs(f):
        (call,) = graph.findAllNodes("prim::CallFunction")
        memory = graph.alias_db(False, True)
        written.append([memory.has_writers(value) for value in list(call.inputs())[1:]])
    assert written == [[True, False], [True, True]]


def test_modules_in_patterns_have_that_name():
    class MyConv2d(nn.Module):
        def forward(self, x):
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = MyConv2d()

        def forward(self, x):
            return self.conv(x)

    pattern = """
graph(%self, %x):
  %conv = match::module[name="Conv2d"](%self)
  %y = prim::CallMethod[name="forward"](%conv, %x)
  return (%y)"""
    theirs, ours = torch.jit.script(M()).graph, cresset.script(M()).graph
    replacement = "graph(%self, %x):\n  %y = my::conv(%self, %x)\n  return (%y)"
    with cresset.patch_torch_jit():
        for graph in theirs, ours:
            torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, replacement, graph)
    theirs, ours = kinds(theirs, ours)
    assert "my::conv" in theirs and "my::conv" not in ours
