"""Operators of the dispatcher: the same kernels in Cresset and in eager PyTorch, so what is tested is the call.

tests/data/operator_calls.txt has a call for each of them (recorded_calls.py writes it). Each runs through a parsed graph
and must return what eager returns, an error of the kernel included, and do to its arguments what eager does. The schemas
of all of them are compared in test_operator_rows.py.
"""

import itertools
import re
import warnings

import pytest
import recorded_calls
import torch
import torch.distributed
from conftest import operators_of_torch
from operator_calls import Raised, full_name, outcome, same, shorten

from cresset import _C

SCHEMAS = {full_name(s): s for s in torch._C._jit_get_all_schemas()}
CALLS = recorded_calls.read()  # the first of each
ALL_CALLS = sorted(recorded_calls.lines())
# torch's Python package registers `_native::` operators where it finds Triton.
DISPATCHER = sorted(name for name in set(operators_of_torch) & set(SCHEMAS) if not name.startswith("_native::"))
GROUPS = 40

#: Operators whose `out` a graph can only give in a place where another overload takes it.
SHADOWED = {"aten::min.unary_out", "aten::max.unary_out"}
#: No call is possible: the refused ones of the registry.
REFUSED = {
    line.split(": ", 1)[0]
    for line in (recorded_calls.FILE.parent / "operators_refused.txt").read_text().splitlines()
    if line and not line.startswith("#")
}


@pytest.fixture(scope="module", autouse=True)
def quiet():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def graph_text(schema):
    types = [a.type.str() for a in schema.arguments]
    results = [r.type.str() for r in schema.returns]
    names = [f"%a{i}" for i in range(len(types))]
    outs = [f"%r{i}" for i in range(len(results))]
    heads = ", ".join(f"{n} : {t}" for n, t in zip(names, types))
    left = ", ".join(f"{n} : {t}" for n, t in zip(outs, results))
    lines = [f"graph({heads}):", f"  {left + ' = ' if outs else ''}{schema.name}({', '.join(names)})"]
    lines.append(
        f"  %out : ({', '.join(results)}) = prim::TupleConstruct({', '.join(outs)})"
        if results
        else "  %out : NoneType = prim::Constant()"
    )
    return "\n".join([*lines, "  return (%out)"])


#: In errors of operators that older processors have no instructions for.
LACKS = ("needs the cpu support", "could not create a primitive descriptor")


def metadata(value):
    if isinstance(value, torch.Tensor) and value.is_nested:
        return "nested", value.dtype, value.layout
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.device, value.layout, value.requires_grad
    return [metadata(v) for v in value] if isinstance(value, (list, tuple)) else type(value)


def difference(name, mark, text):
    schema = SCHEMAS[name]
    eager = recorded_calls.eager(schema)
    graph = _C.parse_ir(graph_text(schema))
    chosen = next(n.operatorSchema() for n in graph.nodes() if n.kind() == schema.name)
    ours = _C.function_from_graph("f", graph)
    a, b = list(recorded_calls.make(text)), list(recorded_calls.make(text))
    left, right = outcome(ours, a), outcome(eager, b)
    if not isinstance(right, Raised) and len(schema.returns) == 1:
        right = (right,)
    left = tuple(left) if isinstance(left, tuple) else left
    right = tuple(right) if isinstance(right, tuple) else right
    if mark == "!" or (isinstance(right, Raised) and any(lack in right.text for lack in LACKS)):
        equal = isinstance(left, Raised) and isinstance(right, Raised) and right.phrase in left.text
    elif mark == "~":
        equal = not isinstance(right, Raised) and metadata(left) == metadata(right)
    else:
        equal = not isinstance(right, Raised) and same(left, right) and same(a, b)
    if not equal:
        return f"{mark}{name}{text} (as {chosen})\n      Cresset: {shorten(left)}\n      eager:   {shorten(right)}"


@pytest.mark.skipif(not torch.__version__.startswith("2.13"), reason="the calls fit the schemas of torch 2.13")
@pytest.mark.parametrize("group", range(GROUPS))
def test_calls(group):
    calls = [call for call in ALL_CALLS[group::GROUPS] if call[0] in SCHEMAS and call[0] not in SHADOWED]
    failures = [d for d in itertools.starmap(difference, calls) if d]
    assert not failures, f"{len(failures)} of {len(calls)} differ:\n" + "\n".join(failures[:20])


def test_every_operator_is_called():
    """For other versions of torch than 2.13 the list may lack operators, or have too many."""
    marks = [CALLS[name][0] for name in DISPATCHER if name in CALLS]
    print(
        f"\n{len(ALL_CALLS)} calls; {len(DISPATCHER)} operators of the dispatcher: {marks.count('')} by equal results, {marks.count('~')} by metadata, "
        f"{marks.count('!')} by equal errors, {len(REFUSED & set(DISPATCHER))} refused"
    )
    assert [name for name in REFUSED if name in CALLS] == []
    if re.match(r"2\.13", torch.__version__):
        assert [name for name in DISPATCHER if name not in CALLS and name not in REFUSED] == []


def test_operators_that_only_raise():
    """Each has a reason, and the list holds no others."""
    known = recorded_calls.reasons()
    raising = recorded_calls.raising()
    assert sorted(set(raising) - set(known)) == [], "find arguments that they accept"
    assert sorted(set(known) - set(raising)) == [], "take them off tests/data/operators_that_raise.txt"
    assert all(len(text) > 10 for text in known.values())
    without = {name for name in known if name in SCHEMAS and not recorded_calls.has_kernel(name)}
    said = {name for name, text in known.items() if text == recorded_calls.NO_KERNEL and name in SCHEMAS}
    assert not re.match(r"2\.13", torch.__version__) or without == said


@pytest.mark.parametrize("number", [-1, 999, 200, 2**40])
def test_numbers_that_are_no_dtype(number):
    """A script can compute what ATen indexes its tables with."""
    zeros = _C.function_from_graph(
        "f",
        _C.parse_ir(
            "graph(%s : int[], %d : int, %l : int?):\n  %n : NoneType = prim::Constant()\n"
            "  %r : Tensor = aten::zeros(%s, %d, %l, %n, %n)\n  return (%r)"
        ),
    )
    assert zeros([2], 6, 0).tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="is no ScalarType"):
        zeros([2], number, None)
    with pytest.raises(RuntimeError, match="is no Layout"):
        zeros([2], 6, number)
    tensor = _C.function_from_graph(
        "f",
        _C.parse_ir(
            "graph(%x : int, %d : int):\n  %n : NoneType = prim::Constant()\n  %b : bool = prim::Constant[value=0]()\n"
            "  %r : Tensor = aten::tensor(%x, %d, %n, %b)\n  return (%r)"
        ),
    )
    with pytest.raises(RuntimeError, match="is no dtype"):
        tensor(1, number)
