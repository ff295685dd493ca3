"""Calls from Python: what arguments become, what comes back, and what errors say, beside torch.jit."""

import collections
import enum
import gc
import io
import re
import signal
import threading
import time
import weakref

import numpy
import pytest
import torch

import cresset

SOURCE = {
    "f": "def f(x, y: int = 3): return x + y",
    "i": "def i(a: int): return a",
    "fl": "def fl(a: float): return a",
    "b": "def b(a: bool): return a",
    "c": "def c(a: complex): return a",
    "s": "def s(a: str): return a",
    "li": "def li(a: List[int]): return a",
    "lf": "def lf(a: List[float]): return a",
    "lb": "def lb(a: List[bool]): return a",
    "lt": "def lt(a: List[Tensor]): return a",
    "ll": "def ll(a: List[List[int]]): return a",
    "tu": "def tu(a: Tuple[int, float]): return a",
    "d": "def d(a: Dict[str, int]): return a",
    "o": "def o(a: Optional[int]): return a",
    "u": "def u(a: Union[int, str]): return a",
    "any": "def any(a: Any): return a",
    "kw": "def kw(a: int, *, b: int = 2): return a + b",
    "dev": "def dev(a: Device): return a",
    "num": "def num(a: number): return a",
    "ot": "def ot(a: Optional[Tensor]): return a",
    "gen": "def gen(g: Generator): return torch.rand([2], generator=g)",
    "none": "def none(x):\n  pass",
    "two": "def two(x): return 1, x",
    "default": "def default(x: int, y: Optional[Tensor]=None, z: float = 1.5, w: List[int] = [1, 2]): return (x, z, w)",
}


@pytest.fixture(scope="module")
def units():
    text = "\n".join(SOURCE.values()) + "\n"
    return cresset.CompilationUnit(text), torch.jit.CompilationUnit(text)


def outcome(function, *args, **kwargs):
    """The result with its type, or the first line of the error."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        assert isinstance(error, RuntimeError)
        return "error", str(error).split("\n")[0]
    return type(result), str(result)


X = torch.ones(2)
Pair = collections.namedtuple("Pair", "p q")


class IntSub(int):
    pass


CASES = [
    *[
        ("i", v)
        for v in (True, 3, numpy.int64(3), numpy.int32(3), 3.0, torch.tensor(3), torch.tensor(3.5), torch.tensor([3]))
    ],
    *[
        ("i", v)
        for v in (torch.tensor([3, 4]), 2**70, IntSub(3), "a", torch.float32, torch.strided, torch.channels_last, None)
    ],
    *[
        ("fl", v)
        for v in (3, True, 2.5, numpy.float32(3), numpy.float64(3), numpy.int64(3), torch.tensor(3.5), "a", "3.5", None)
    ],
    *[("b", v) for v in (1, 0, True, torch.tensor(True), numpy.bool_(True), None, "a", [1])],
    *[("c", v) for v in (1, 1.5, 1j, torch.tensor(1j))],
    *[("s", v) for v in ("a", b"a", "\u00e9", numpy.str_("q"), 3, None)],
    *[
        ("li", v)
        for v in ([1, 2], (1, 2), [1, 2.5], [True], numpy.array([1, 2]), range(3), torch.Size([1, 2]), [], 3, "ab")
    ],
    *[("li", v) for v in (torch.tensor([1, 2]), [numpy.int64(2)], [torch.tensor(2)])],
    *[("lf", v) for v in ([1, 2], [1.5, "a"], (1, 2), [numpy.float32(2)], [torch.tensor(2.0)])],
    *[("lb", v) for v in ([True, False], [1])],
    *[("lt", v) for v in ([X, X], (X,), [X, 1], [])],
    *[("ll", v) for v in ([[1], [2]], [(1,), [2]], [1], [["a"]])],
    *[("tu", v) for v in ((1, 2), [1, 2], (1, 2, 3), Pair(1, 2.5), ("a", 2.5))],
    *[("d", v) for v in ({"a": 1}, {1: 1}, collections.OrderedDict(a=1), {})],
    *[("o", v) for v in (None, 1, "a")],
    *[("u", v) for v in (1, "a", 1.5, None)],
    *[
        ("any", v)
        for v in (
            1,
            1.5,
            True,
            "a",
            b"a",
            1j,
            None,
            [1, 2],
            [1, "a"],
            [],
            {},
            {"a": 1},
            (1, "a"),
            Pair(1, 2),
            [1, None],
        )
    ],
    *[
        ("any", v)
        for v in ([1, 2.5], [[1], [2]], [X, 1], torch.float32, torch.device("cpu"), torch.Size([1]), {1, 2}, range(2))
    ],
    *[("any", v) for v in (numpy.int64(3), numpy.float32(3))],
    *[("dev", v) for v in ("cpu", torch.device("cpu"), "blah")],
    *[("num", v) for v in (1, 1.5, True, "a", torch.tensor(1))],
    *[("ot", v) for v in (None, X, 3)],
    *[("f", v) for v in (X, torch.nn.Parameter(X), 1, 1.5, [1], numpy.ones(2))],
]


@pytest.mark.parametrize("name, value", CASES, ids=lambda v: v if isinstance(v, str) and v in SOURCE else repr(v)[:40])
def test_arguments_convert_as_in_torch_jit(units, name, value):
    ours, theirs = (outcome(getattr(unit, name), value) for unit in units)
    assert ours == theirs


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("f", (), {}),
        ("f", (X, 1, 2), {}),
        ("f", (X,), {"z": 3}),
        ("f", (X,), {"x": X}),
        ("f", (X,), {"y": "a"}),
        ("f", (X,), {"y": 1, "y2": 2, "y3": 3}),
        ("f", (X, 1), {"y": 2}),
        ("f", (), {"y": 1}),
        ("f", (), {"y": 1, "x": X}),
        ("kw", (1, 2), {}),
        ("kw", (1,), {"b": 3}),
        ("kw", (1,), {"b": "q"}),
        ("kw", (), {}),
        ("default", (), {}),
        ("default", (1,), {}),
        ("default", (1, None, 3), {}),
        ("default", (1,), {"w": [5]}),
        ("default", (1,), {"q": 1, "r": 2}),
        ("none", (X,), {}),
        ("two", (X,), {}),
    ],
)
def test_arguments_bind_as_in_torch_jit(units, name, args, kwargs):
    ours, theirs = (outcome(getattr(unit, name), *args, **kwargs) for unit in units)
    assert ours == theirs


def test_messages_name_function_argument_expected_and_found(units):
    ours, theirs = units
    for unit in units:
        with pytest.raises(RuntimeError) as caught:
            unit.f("a")
        lines = str(caught.value).split("\n")
        assert (
            lines[0]
            == "f() Expected a value of type 'Tensor (inferred)' for argument 'x' but instead found type 'str'."
        )
        assert lines[1] == "Inferred 'x' to be of type 'Tensor' because it was not annotated with an explicit type."
        assert lines[2:5] == ["Position: 0", "Value: 'a'", "Declaration: f(Tensor x, int y=3) -> Tensor"]
    with pytest.raises(cresset.UserError, match=r"2\*\*70|does not fit"):
        ours.i(2**70)


def test_tensors_are_shared_and_containers_copied():
    cu = cresset.CompilationUnit("""
    def grow(l: List[int]):
      l.append(4)
      return l
    def fill(x: Tensor):
      x.fill_(7.)
      return x
    def first(l: List[Tensor]): return l[0]
    """)
    given = [1]
    assert cu.grow(given) == [1, 4] and given == [1]
    x = torch.zeros(2)
    assert cu.fill(x) is x and x.tolist() == [7, 7]
    assert cu.first([x]) is x
    p = torch.nn.Parameter(x)
    assert cu.first([p]) is p


def test_tensor_subclasses_pass_unchanged():
    class Sub(torch.Tensor):
        pass

    cu = cresset.CompilationUnit("def f(x: Tensor): return x")
    s = torch.ones(1).as_subclass(Sub)
    assert cu.f(s) is s


def test_generators():
    cu = cresset.CompilationUnit(SOURCE["gen"])
    with pytest.raises(RuntimeError, match="Expected a value of type 'Generator'"):
        cu.gen(3)
    assert torch.equal(
        cu.gen(torch.Generator().manual_seed(1)), torch.rand([2], generator=torch.Generator().manual_seed(1))
    )


CLASSES = """
class P(NamedTuple):
  p: int
  q: Tensor

class Point:
  def __init__(self, x: int):
    self.x = x
  def moved(self, k: int) -> int:
    return self.x + k
  def __len__(self) -> int:
    return 7

def pair(x: Tensor): return P(1, x)
def pairs(x: Tensor): return [P(1, x), P(2, x)]
def first(p: P): return p.p
def make(x: int): return Point(x)
def same(p: Point): return p
def bump(p: Point):
  p.x += 1
"""


@pytest.fixture(scope="module")
def classes():
    return cresset.CompilationUnit(CLASSES)


def test_named_tuples(classes):
    result = classes.pair(X)
    assert result.p == 1 and result.q is X and result._fields == ("p", "q") and isinstance(result, tuple)
    assert type(result) is type(classes.pair(X))
    assert [p.p for p in classes.pairs(X)] == [1, 2]
    assert classes.first(result) == 1
    assert classes.first(Pair(5, X)) == 5  # by position
    assert classes.first((6, X)) == 6


def test_script_objects_keep_identity(classes):
    p = classes.make(3)
    assert isinstance(p, cresset.ScriptObject)
    assert classes.same(p) is p
    assert p.x == 3 and p.moved(1) == 4 and len(p) == 7
    classes.bump(p)
    assert p.x == 4
    p.x = 10
    assert p.moved(k=1) == 11
    with pytest.raises(RuntimeError, match="Could not cast attribute 'x' to type int"):
        p.x = "a"
    with pytest.raises(AttributeError, match="'Point' object has no attribute 'nope'"):
        p.nope
    with pytest.raises(AttributeError):
        p.nope = 1
    with pytest.raises(RuntimeError, match="for argument 'p' but instead found type 'int'"):
        classes.same(3)


def test_plain_objects_become_script_objects(classes):
    class Other:
        x = 8

    assert classes.same(Other()).x == 8
    with pytest.raises(RuntimeError, match="object was missing attribute x"):
        classes.same(object())


def test_wrappers_do_not_keep_objects(classes):
    p = classes.make(1)
    alive = weakref.ref(p)
    del p
    gc.collect()
    assert alive() is None


def test_enums():
    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    class M(torch.nn.Module):
        def forward(self, c: Color):
            if c == Color.RED:
                return Color.BLUE
            return c

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(M()), buffer)
    m = cresset.load(io.BytesIO(buffer.getvalue()))
    blue = m(Color.RED)
    assert blue.name == "BLUE" and blue.value == 2 and isinstance(blue, enum.Enum)
    assert m(blue) is blue
    with pytest.raises(RuntimeError, match="Expected a value of type 'Enum<"):
        m(3)


def test_script_errors():
    cu = cresset.CompilationUnit("""
def boom(x):
  if bool(x.sum() > 0):
    raise ValueError("bad %d" % 3)
  return x
def outer(x):
  return boom(x)
def check(x):
  assert x.dim() == 9, "nine"
  return x
def mm(x): return torch.mm(x, x)
""")
    with pytest.raises(cresset.ScriptError) as caught:
        cu.outer(X)
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, RuntimeError)
    assert error.message == "bad 3" and error.python_class == "builtins.ValueError"
    assert [frame[0] for frame in error.frames] == ["outer", "boom"]
    text = str(error)
    assert text.startswith("The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript")
    assert text.rstrip().endswith("builtins.ValueError: bad 3") and "in boom" in text and "<--- HERE" in text
    with pytest.raises(cresset.Error, match="AssertionError: nine"):
        cu.check(X)
    with pytest.raises(RuntimeError, match="self must be a matrix") as caught:
        cu.mm(X)
    assert not isinstance(caught.value, cresset.Error)


def test_errors_have_one_base():
    for name in ("ScriptError", "LimitError", "UserError", "CompileError", "ArchiveError", "InternalError"):
        assert issubclass(getattr(cresset, name), cresset.Error), name
    assert issubclass(cresset.Error, RuntimeError)
    assert not issubclass(cresset.UserError, cresset.ScriptError)
    with pytest.raises(cresset.Error):
        cresset.CompilationUnit("def f(:")


def test_compile_errors():
    cu = cresset.CompilationUnit()
    with pytest.raises(cresset.CompileError) as caught:
        cu.define("def f(x):\n  return x + nowhere\ndef g(x): return x\n")
    assert caught.value.line == 2 and "nowhere" in caught.value.message and "HERE" in str(caught.value)
    assert not hasattr(cu, "g")  # all or nothing
    cu.define("def g(x): return x\n")
    assert cu.g(X) is X


def test_print_goes_to_sys_stdout(capsys):
    cresset.CompilationUnit("def f(x: int):\n  print('hello', x)\n").f(3)
    assert capsys.readouterr().out == "hello 3\n"


def test_the_gil_is_released():
    cu = cresset.CompilationUnit("def f(n: int):\n  i = 0\n  while i < n:\n    i += 1\n  return i\n")
    cu.f(1)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (cu.f(30_000_000), done.set()))
    thread.start()
    rounds = 0
    while not done.is_set():
        rounds += 1
        time.sleep(0.001)
    thread.join()
    assert rounds > 5


def test_ctrl_c_stops_a_script(must_end):
    cu = cresset.CompilationUnit("def f(n: int):\n  i = 0\n  while i < n:\n    i += 1\n  return i\n")
    cu.f(1)
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        cu.f(1 << 60)
    assert cu.f(3) == 3  # nothing is left over


def test_functions_show_what_they_are(units):
    ours, theirs = units
    assert str(ours.f.schema) == str(theirs.f.schema)
    assert ours.f.name == "f" and ours.f.qualified_name == "f"
    assert ours.f is ours.f
    assert "aten::add" in str(ours.f.graph)
    assert [node.kind() for node in ours.f.graph.nodes()][-1] == "aten::add"
    assert "aten::add" in ours.f.disassemble()
    assert ours.f.code == theirs.f.code
    assert {function.name for function in ours.functions} == set(SOURCE)
    with pytest.raises(AttributeError, match="'CompilationUnit' has no attribute 'nope'"):
        ours.nope
    arguments = ours.default.schema.arguments
    assert [a.name for a in arguments] == ["x", "y", "z", "w"] and arguments[2].default_value == 1.5
    assert arguments[1].type.str() == "Tensor?"


def test_inlined_graph():
    cu = cresset.CompilationUnit("def g(x): return x + 1\ndef f(x): return g(x)\n")
    assert "prim::CallFunction" in str(cu.f.graph)
    assert "prim::CallFunction" not in str(cu.f.inlined_graph) and "aten::add" in str(cu.f.inlined_graph)


def test_graph_handles_outlive_their_function():
    nodes = cresset.CompilationUnit("def f(x): return x + 1\n").f.graph.nodes()
    gc.collect()
    assert nodes[-1].kind() == "aten::add"
    assert nodes[-1].inputs()[0].debugName().startswith("x")


def test_parsers_print_back():
    text = "graph(%x : int):\n  return (%x)\n"
    assert str(cresset.parse_ir(text)) == text
    assert str(cresset.parse_schema("aten::f(int x, Tensor? y=None) -> int")) == "aten::f(int x, Tensor? y=None) -> int"
    assert cresset.parse_type("Dict(str, Tensor)").str() == "Dict(str, Tensor)"
    with pytest.raises(cresset.UserError):
        cresset.parse_type("Dict(")


def test_runtime_helpers():
    from typing import Any, Dict, List, Optional, Tuple, Union

    assert cresset.annotate(List[int], [1]) == [1]
    assert cresset.wait(cresset.fork(lambda a: a + 1, 1)) == 2
    for obj in (1, "a", None, [1], ["a"], [], {"a": 1}, {}, (1, 2), (1, "a"), (), 1.5, X):
        for target in (
            int,
            str,
            List[int],
            List[str],
            Dict[str, int],
            Tuple[int, int],
            Optional[int],
            Union[int, str],
            Any,
            torch.Tensor,
        ):
            if target is Any:
                assert cresset.isinstance(obj, target)
                continue
            if obj is None and target == Union[int, str]:
                assert not cresset.isinstance(obj, target)  # torch.jit takes every Union for an Optional here
                continue
            assert cresset.isinstance(obj, target) == torch.jit.isinstance(obj, target), (obj, target)


def test_what_does_not_exist_says_so():
    with pytest.raises(AttributeError, match="module 'cresset' has no attribute 'nope'"):
        cresset.nope


def test_futures():
    cu = cresset.CompilationUnit("""
def work(x): return x + 1
def start(x): return torch.jit.fork(work, x)
def finish(f: Future[Tensor]): return torch.jit.wait(f)
""")
    future = cu.start(X)
    assert isinstance(future, cresset.Future)
    assert torch.equal(future.wait(), X + 1) and future.done()
    assert torch.equal(cu.finish(cu.start(X)), X + 1)
    assert future.then(lambda f: int(f.value().sum())).wait() == 4


def test_custom_classes_cross_the_border(units):
    if "x86" not in torch.backends.quantized.supported_engines:
        pytest.skip("this torch has no quantized engine, whose packed weights are the custom class at hand")
    weight = torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    again = units[0].any(packed)
    assert type(again) is type(packed)
    assert torch.equal(torch.ops.quantized.linear_unpack(again)[0].dequantize(), weight.dequantize())


def test_many_threads_call_one_function(units):
    wrong = []

    def run():
        for _ in range(200):
            if not torch.equal(units[0].f(X), X + 3):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_references_do_not_leak():
    cu = cresset.CompilationUnit("def f(x, k: int): return x\ndef g(a: List[Tensor]): return (a, 'text')\n")
    import sys

    x, n = torch.ones(1), object()
    cu.f(x, 1), cu.g([x])
    before = sys.getrefcount(x)
    for _ in range(100):
        cu.f(x, 1)
        cu.f(x, k=1)
        cu.g([x])
        with pytest.raises(RuntimeError):
            cu.f(x, n)
    assert sys.getrefcount(x) == before
    assert sys.getrefcount(n) == 2


def test_arguments_live_no_longer_than_their_call():
    cu = cresset.CompilationUnit(
        "def f(x, a: List[Tensor], d: Dict[str, Tuple[Tensor, int]], o: Optional[Tensor]):\n"
        "  a.append(x)\n"
        "  y = x + len(d)\n"
        "  assert y.size(0) == 1, 'wrong size'\n"
        "  return y\n"
    )
    for size in (1, 2):
        for _ in range(4):
            tensors = [torch.ones(size) for _ in range(4)]
            references = [weakref.ref(tensor) for tensor in tensors]
            x, y, z, o = tensors
            try:
                result = cu.f(x, [y], {"z": (z, 1)}, o)
                assert result.item() == 2
            except cresset.Error as error:
                assert "wrong size" in str(error) and size == 2
            assert [tensor._use_count() for tensor in tensors] == [1] * 4
            del tensors, x, y, z, o
            assert [reference() for reference in references] == [None] * 4


def test_names_match_torch_jit():
    assert re.match(r"<cresset.ScriptFunction f>", repr(cresset.CompilationUnit(SOURCE["f"]).f))


def test_sizes_under_function_transforms():
    """functorch's tensors answer what eager asks the tensor itself."""
    cu = cresset.CompilationUnit("def f(x):\n  return x * x.dim() + x.size(0) + x.numel() + x.shape[-1] + x.ndim\n")
    x = torch.randn(2, 3, 4)

    def eager(x):
        return x * x.dim() + x.size(0) + x.numel() + x.shape[-1] + x.ndim

    assert torch.equal(torch.func.vmap(cu.f)(x), torch.func.vmap(eager)(x))
    module = torch.nn.BatchNorm1d(4).eval()
    assert torch.equal(torch.func.vmap(cresset.script(module))(x), torch.func.vmap(module)(x))
    gradient = torch.func.grad(lambda x: cu.f(x).sum())
    assert torch.equal(gradient(x), torch.func.grad(lambda x: eager(x).sum())(x))


def test_named_results_of_operators_are_plain_tuples():
    cu = cresset.CompilationUnit("def f(x):\n  return x.max(0)\ndef g(x):\n  return [torch.sort(x)]\n")
    x = torch.randn(3, 2)
    values, indices = cu.f(x)
    assert type(cu.f(x)) is tuple
    assert torch.equal(values, x.max(0).values) and torch.equal(indices, x.max(0).indices)
    assert torch.equal(cu.g(x)[0][0], torch.sort(x).values)


def test_index_by_a_tuple_in_parentheses():
    cu = cresset.CompilationUnit("def f(x):\n  x[(0, 0)] = 5\n  return x[(0, 1)], x[(1,)]\n")
    x = torch.randn(2, 3)
    element, row = cu.f(x)
    assert x[0, 0] == 5
    assert torch.equal(element, x[0, 1]) and torch.equal(row, x[1])
