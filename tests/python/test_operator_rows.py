"""Every operator that TorchScript has: the whole registry of the installed torch, entry by entry.

An entry is proven by a test, or refused with a reason in tests/data/operators_refused.txt, a list that only shrinks.
- Rows of Cresset's own table (what the dispatcher lacks) run differentially against torch.jit, on generated arguments.
- A row that no graph can reach, because an overload before it takes the same arguments, is proven by both engines
  choosing that other overload.
- Operators that need what a graph in text can't make (enums, objects, printing) are proven by the scripts below.
- Operators of the dispatcher are the same code in both engines; what is Cresset's is the schema and the call. Their
  schemas are compared; the calls are in test_dispatcher_operators.py.
"""

import contextlib
import enum
import io
import re
import warnings
from pathlib import Path

import pytest
import torch
from operator_calls import Call, full_name, outcome, plain_torchjit, same, shorten, substitute
from operator_differences import DIFFERENCES, explanation
from operator_values import VARIABLES, argument_tuples, fresh, tensor

import cresset
from cresset import _C

DATA = Path(__file__).parent.parent / "data"
# Builds of torch with CUDA have operators of its streams, too.
SCHEMAS = {full_name(s): s for s in torch._C._jit_get_all_schemas() if not s.name.startswith("cuda::")}
DISPATCHER = set(torch._C._dispatch_get_all_op_names())
REFUSED = dict(
    line.split(": ", 1)
    for line in (DATA / "operators_refused.txt").read_text().splitlines()
    if line and not line.startswith("#")
)
OWN = sorted(name for name in SCHEMAS if name not in DISPATCHER and name not in REFUSED)

#: What an operator of `...` is called with: types, result types, arguments.
VARIADIC = {
    "aten::format": [
        (["str", "int", "float"], ["str"], [("{} and {}", 1, 2.5), ("{1} {0}", 1, 0.1), ("{}", 1, 2.0), ("{}{}{}", 1, 2.0), ("{{}}{}", 1, 1e20)]),
        (["str", "Tensor", "int[]", "str"], ["str"], [("{} {} {}", tensor([1.0, 2.0]), [1, 2], "é"), ("", tensor(1), [], "")]),
        (["str"], ["str"], [("plain",), ("{}",), ("{",)]),
    ],
    "aten::percentFormat": [
        (["str", "int"], ["str"], [("%d", 5), ("%s%%", -3), ("%i", 7), ("%f", 2), ("%c", 65), ("%x", 1), ("%", 1), ("", 1)]),
        (["str", "float", "str"], ["str"], [("%g %s", 0.1, "a"), ("%e|%s", 12345.678, ""), ("%.3f %s", 1.5, "x"), ("%F %s", float("inf"), "x")]),
        (["str", "str"], ["str"], [("%s", "日本"), ("%d", "a"), ("%c", "z"), ("%c", "zz")]),
    ],
    "aten::einsum.sublist": [
        (
            ["Tensor", "int[]", "Tensor", "int[]", "int[]"],
            ["Tensor"],
            [
                (tensor([[1.0, 2.0], [3.0, 4.0]]), [0, 1], tensor([[0.5, 1.0], [2.0, 3.0]]), [1, 2], [0, 2]),
                (tensor([1.0, 2.0]), [0], tensor([3.0, 4.0]), [0], []),
                (tensor([1.0, 2.0]), [0], tensor([3.0, 4.0]), [99], []),
            ],
        ),
        (["Tensor", "int[]"], ["Tensor"], [(tensor([[1.0, 2.0], [3.0, 4.0]]), [0, 0])]),
    ],
    "prim::MMTreeReduce": [
        (
            ["Tensor"] * 4,
            ["Tensor"],
            [
                (tensor([[1.0, 2.0]]), tensor([[3.0, 4.0]]), tensor([[1.0], [2.0]]), tensor([[3.0], [5.0]])),
                (tensor([[1.0, 2.0]]), tensor([[3.0]]), tensor([[1.0], [2.0]]), tensor([[3.0]])),
                (tensor([1.0, 2.0]), tensor([3.0]), tensor([[1.0], [2.0]]), tensor([[3.0]])),
            ],
        ),
    ],
    "prim::VarConcat": [
        (["Tensor", "Tensor", "int"], ["Tensor"], [(tensor([1.0]), tensor([2.0, 3.0]), 0), (tensor([1.0]), tensor([2.0]), 1), (tensor([[1]]), tensor([[2]]), -1)]),
    ],
    "prim::VarStack": [
        (["Tensor", "Tensor", "int"], ["Tensor"], [(tensor([1.0]), tensor([2.0]), 0), (tensor([1.0]), tensor([2.0]), 1), (tensor([1.0]), tensor([2.0, 3.0]), 0)]),
    ],
    "aten::has_torch_function": [(["Tensor"], ["bool"], [(tensor(1.0),)])],
}  # fmt: skip

#: Rows that no graph reaches: an overload that is tried before takes the same arguments.
SHADOWED = {
    "aten::Float.int": "aten::Float.Scalar",
    "aten::dequantize.list": "aten::dequantize.tensors",
    "aten::dequantize.tensor": "aten::dequantize.self",
    "aten::len.any": "aten::len.t",
    "aten::mH.a": "aten::mH",
    "aten::mT.a": "aten::mT",
    "aten::matrix_H.a": "aten::matrix_H",
    "aten::numpy_T.a": "aten::numpy_T",
    "aten::split": "aten::split.sizes",
}

#: What element types reach the overload for any list.
ELEMENTS = {"aten::sort.any": ["(int, str)"], "aten::sorted.any": ["(int, str)"]}

#: Proven by scripts, below.
BY_SCRIPT = {
    "aten::eq.enum": "test_enums", "aten::ne.enum": "test_enums", "prim::EnumName": "test_enums", "prim::EnumValue.int": "test_enums",
    "prim::EnumValue.float": "test_enums", "prim::EnumValue.str": "test_enums", "prim::id": "test_identity_of_objects",
    "prim::Print": "test_print", "aten::warn": "test_warn", "prim::tolist": "test_tolist", "prim::TimePoint": "test_time",
    "aten::seed": "test_generators", "onnx::Reshape": "test_onnx", "onnx::Shape": "test_onnx", "aten::pow.int_to_int": "test_unreachable_power",
    "prim::RaiseException": "test_raise",
}  # fmt: skip

#: Nodes that the IR itself defines (docs/ir.md), which torch.jit counts as operators.
STRUCTURAL = {"aten::wait", "prim::TupleIndex", "prim::TupleUnpack", "prim::Uninitialized", "prim::unchecked_cast"}

#: Proven by scripts of modules, in other files.
ELSEWHERE = {
    "aten::save": "test_torch_jit_behaviours.py::test_behaviour",  # writes files
    "prim::PythonOp": "test_script_modules.py::test_ignored_methods",
    "prim::awaitable_nowait": "test_torch_jit_behaviours.py::test_behaviour",
    "prim::awaitable_wait": "test_torch_jit_behaviours.py::test_behaviour",
    "prim::MMBatchSide": "test_graph_passes.py::test_products_together",
    "prim::ModuleContainerIndex.dict": "test_script_modules.py::test_indexed_by_interface",
    "prim::ModuleContainerIndex.list": "test_script_modules.py::test_indexed_by_interface",
}
#: Nodes that hold something else than torch.jit's do.
OWN_SCHEMA = ["prim::PythonOp", "prim::MMBatchSide", "prim::awaitable_wait"]

explained = set()


def instances(schema):
    """Types of arguments and results, for each way to fill the schema's type variables."""
    name = full_name(schema)
    arguments, results = [a.type.str() for a in schema.arguments], [r.type.str() for r in schema.returns]
    variables = sorted({v for t in arguments + results for v in re.findall(r"\b(t|t1|t2|tVal)\b", t)})
    choices = ELEMENTS.get(name, VARIABLES) if variables else [None]
    for i in range(len(choices)):
        bindings = {v: choices[(i + j) % len(choices)] for j, v in enumerate(variables)}
        yield [substitute(t, bindings) for t in arguments], [substitute(t, bindings) for t in results]


def allowed(name):
    def check(arguments, ours, theirs):
        key = explanation(name, fresh(list(arguments)), ours, theirs)
        explained.add(key)
        return key is not None

    return check


def check(name, types, results, tuples, chosen):
    call = Call(SCHEMAS[name], types, results)
    assert call.our_schema == call.their_schema
    assert call.our_schema.split("(")[0] == chosen, "another overload was chosen"
    failures = [d for d in (call.differs(arguments, allowed(name)) for arguments in tuples) if d]
    assert not failures, f"{len(failures)} of {len(tuples)} calls differ:\n" + "\n".join(failures[:5])


ROWS = [n for n in OWN if n not in BY_SCRIPT and n not in STRUCTURAL and n not in ELSEWHERE]


def check_row(name):
    with plain_torchjit():
        if name in VARIADIC:
            for types, results, tuples in VARIADIC[name]:
                check(name, types, results, tuples, name)
            return
        for types, results in instances(SCHEMAS[name]):
            check(name, types, results, argument_tuples(SCHEMAS[name], types), SHADOWED.get(name, name))


@pytest.mark.parametrize("name", ROWS)
def test_own_row(name):
    if name in ("prim::max.float_list", "prim::min.float_list") and torch.__version__.startswith("2.11"):
        pytest.skip("torch.jit of this torch compares lists with nan in another way")
    check_row(name)


def test_differences_are_needed():
    """An allowed difference that no row shows has to leave the list, and the document. Rows that ran in another process, or not at all, run here."""
    for key, (pattern, _) in DIFFERENCES.items():
        for name in ROWS:
            if key not in explained and re.fullmatch(pattern, name):
                with contextlib.suppress(AssertionError):  # test_own_row's to report
                    check_row(name)
    assert set(DIFFERENCES) <= explained, "these explain nothing any more"
    document = (DATA.parent.parent / "docs" / "differences.md").read_text()
    assert [key for key in DIFFERENCES if f"`{key}`" not in document] == []


def test_registry_is_complete():
    ours = {full_name(s): str(s) for s in _C._get_all_schemas()}
    missing = [name for name in SCHEMAS if name not in ours and name not in REFUSED and name not in STRUCTURAL]
    assert missing == [], "neither in the table nor refused"
    differ = [name for name in SCHEMAS if name in ours and ours[name] != str(SCHEMAS[name])]
    assert sorted(differ) == sorted(OWN_SCHEMA), "another schema"
    rows = [name for name in REFUSED if name in ours and name not in DISPATCHER]
    assert rows == [], "refused, but in the table: remove it from the list"
    assert [name for name in REFUSED if name not in SCHEMAS] == [] or torch.__version__.split(".")[:2] != ["2", "13"]
    assert len(REFUSED) <= 80
    assert [name for name, test in BY_SCRIPT.items() if test not in globals()] == []
    for name, test in ELSEWHERE.items():
        file, function = test.split("::")
        assert f"def {function}(" in (Path(__file__).parent / file).read_text(), name
    own = len(OWN) - len(STRUCTURAL)
    dispatched = sum(name in DISPATCHER for name in SCHEMAS)
    print(
        f"\n{len(SCHEMAS)} schemas: {dispatched} of the dispatcher, {own} rows "
        f"({own - len(BY_SCRIPT) - len(ELSEWHERE) - len(SHADOWED)} by differential calls, {len(SHADOWED)} shadowed, {len(BY_SCRIPT) + len(ELSEWHERE)} by scripts), {len(STRUCTURAL)} structural, "
        f"{len(REFUSED)} refused"
    )


# What graphs in text can't make.


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Ratio(enum.Enum):
    HALF = 0.5
    THIRD = 0.25


class Word(enum.Enum):
    YES = "yes"
    NO = "nö"


class Enums(torch.nn.Module):
    def forward(self, color: Color, ratio: Ratio, word: Word):
        flags = [color == Color.RED, color != Color.RED, ratio == Ratio.HALF, word != Word.NO]
        return flags, color.name, color.value, ratio.name, ratio.value, word.name, word.value


class Box:
    def __init__(self, x: int):
        self.x = x


class Identity(torch.nn.Module):
    def forward(self, n: int):
        a, b = Box(n), Box(n)
        c = a
        return id(a) == id(c), id(a) == id(b)


def both_loaded(module):
    saved = io.BytesIO()
    scripted = torch.jit.script(module)
    torch.jit.save(scripted, saved)
    return cresset.load(io.BytesIO(saved.getvalue())), scripted


def test_enums():
    ours, theirs = both_loaded(Enums())
    for arguments in [(Color.RED, Ratio.HALF, Word.YES), (Color.BLUE, Ratio.THIRD, Word.NO)]:
        assert ours(*arguments) == theirs(*arguments)


def test_identity_of_objects():
    ours, theirs = both_loaded(Identity())
    assert ours(1) == theirs(1) == (True, False)


def compiled(source):
    ours, theirs = cresset.CompilationUnit(source), torch.jit.CompilationUnit(source)
    return ours.f, theirs.f


def test_print(capfd):
    ours, theirs = compiled(
        "def f(a: int, b: List[float], c: Tensor, d: Dict[str, int]):\n  print(a, b, c, d, 'x', None, (1, 'y'))\n"
    )
    printed = []
    for function in (ours, theirs):
        function(1, [0.5, 1e30, float("nan")], torch.tensor([1.5]), {"k": 2})
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1] != ""


def warned(text: str):
    warnings.warn(text)  # noqa: B028  (as scripts call it)


def test_warn():
    seen = []
    for function in (cresset.script(warned), torch.jit.script(warned)):
        with pytest.warns(UserWarning) as caught:
            function("careful: ß")
        seen.append([(w.category, str(w.message)) for w in caught])
    assert seen[0] == seen[1]


def test_tolist():
    for annotation, value in [
        ("List[int]", torch.arange(3)), ("List[List[float]]", torch.ones(2, 2)), ("List[bool]", torch.tensor([True, False])),
        ("int", torch.tensor(4)), ("List[int]", torch.ones(2)), ("List[int]", torch.ones(2, 2, dtype=torch.int64)),
        ("List[float]", torch.ones(2, dtype=torch.float64)), ("List[int]", torch.ones(0, dtype=torch.int64)),
        ("List[int]", torch.ones(2, dtype=torch.int32)), ("List[float]", torch.ones(2, dtype=torch.int64)),
        ("List[complex]", torch.ones(2, dtype=torch.complex64)), ("List[bool]", torch.ones(2, dtype=torch.uint8)),
    ]:  # fmt: skip
        ours, theirs = compiled(f"def f(x) -> {annotation}:\n  y: {annotation} = x.tolist()\n  return y\n")
        left, right = outcome(ours, [value]), outcome(theirs, [value])
        assert same(left, right), f"{annotation} of {value}: {shorten(left)}, torch.jit: {shorten(right)}"


def of_graph(text):
    return _C.function_from_graph("f", _C.parse_ir(text))


def test_time():
    clock = of_graph("graph():\n  %r : int = prim::TimePoint()\n  return (%r)")
    first, second = clock(), clock()
    assert 0 < first <= second


def test_generators():
    text = "graph(%g : Generator):\n  %r : int = aten::seed(%g)\n  return (%r)"
    generator = torch.Generator()
    assert of_graph(text)(generator) != of_graph(text)(generator)
    seed = of_graph(text)(generator)
    assert seed % 2**64 == generator.initial_seed()


def test_onnx():
    shape = of_graph("graph(%x : Tensor):\n  %r : Tensor = onnx::Shape(%x)\n  return (%r)")
    assert shape(torch.ones(2, 3)).tolist() == [2, 3]
    reshape = of_graph("graph(%x : Tensor, %s : Tensor):\n  %r : Tensor = onnx::Reshape(%x, %s)\n  return (%r)")
    assert reshape(torch.arange(6), torch.tensor([3, -1])).shape == (3, 2)
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        reshape(torch.arange(6), torch.tensor([4]))


def test_unreachable_power():
    """aten::pow.int takes the same arguments, is tried first, and returns a float."""
    with plain_torchjit():
        call = Call(SCHEMAS["aten::pow.int"], ["int", "int"], ["float"])
    assert call.our_schema == call.their_schema == "aten::pow.int(int a, int b) -> float"


@pytest.mark.parametrize("name", [None, "builtins.ValueError", "builtins.IndexError", "Unknown"])
def test_raise(name):
    raise_it = of_graph("graph(%m : str, %c : str?):\n  prim::RaiseException(%m, %c)\n  return (%m)")
    expected = {"builtins.ValueError": ValueError, "builtins.IndexError": IndexError}.get(name, cresset.Error)
    for message in ["", "text ß"]:
        with pytest.raises(expected) as caught:
            raise_it(message, name)
        assert isinstance(caught.value, cresset.Error) and message in str(caught.value)


def test_structural():
    texts = {
        "prim::TupleIndex": "graph(%a : int, %b : str, %i : int):\n  %t : (int, str) = prim::TupleConstruct(%a, %b)\n"
        "  %k : int = prim::Constant[value=-1]()\n  %r : str = prim::TupleIndex(%t, %k)\n  return (%r)",
        "prim::TupleUnpack": "graph(%a : int, %b : str, %i : int):\n  %t : (int, str) = prim::TupleConstruct(%a, %b)\n"
        "  %x : int, %r : str = prim::TupleUnpack(%t)\n  return (%r)",
        "prim::unchecked_cast": "graph(%a : int?, %b : str, %i : int):\n  %r : int = prim::unchecked_cast(%a)\n  return (%r)",
        "prim::Uninitialized": "graph(%a : int, %b : str, %i : int):\n  %u : int = prim::Uninitialized()\n  return (%b)",
    }
    with plain_torchjit():
        for name, text in texts.items():
            theirs = torch._C._create_function_from_graph("f", torch._C.parse_ir(text))
            assert name in text and of_graph(text)(5, "b", 1) == theirs(5, "b", 1)
    ours, theirs = compiled(
        "def g(x: int):\n  return x + 1\ndef f(x: int):\n  return torch.jit._wait(torch.jit._fork(g, x))\n"
    )
    assert ours(1) == theirs(1) == 2
    assert set(texts) | {"aten::wait"} == STRUCTURAL


def test_what_torchjit_cannot_do():
    for op, arguments, expected in [
        ("aten::floordiv(%a, %b)", (-(2**63), -1), -(2**63)),
        ("aten::remainder(%a, %b)", (-(2**63), -1), 0),
        ("aten::gcd(%a, %b)", (-(2**63), 6), 2),
    ]:
        assert of_graph(f"graph(%a : int, %b : int):\n  %r : int = {op}\n  return (%r)")(*arguments) == expected
    ours = cresset.CompilationUnit("def f(s: str, t: str):\n  return s.replace(t, 'x'), s.count(t), s.rsplit('a')\n").f
    for s in ["", "ab"]:
        assert ours(s, "") == (s.replace("", "x"), s.count(""), s.rsplit("a"))
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    text = "graph(%x : Tensor, %s : int[]?, %f : float?, %m : str, %c : bool?, %r : bool?, %a : bool):\n"
    text += "  %y : Tensor = aten::__interpolate(%x, %s, %f, %m, %c, %r, %a)\n  return (%y)"
    ours = of_graph(text)(image, [2, 2], None, "bilinear", None, None, True)
    assert torch.equal(ours, torch.nn.functional.interpolate(image, (2, 2), mode="bilinear", antialias=True))
