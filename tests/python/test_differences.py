"""Where Cresset differs from torch.jit on purpose: each row of docs/differences.md, shown on both.

A row is a program, a call, what torch.jit makes of it and what Cresset does: ("value", v), ("error", a phrase of the
message) or ("refused", a phrase of the compile error). A row whose two sides agree fails: it is no difference any more.
What stands after a slash in a name tells apart several programs of one row of the document.
"""

import collections
import dataclasses
import enum
import functools
import re
import warnings
from pathlib import Path
from typing import List, Optional

import pytest
import torch
from operator_differences import DIFFERENCES
from test_torch_jit_behaviours import DIFFERENCES as BEHAVIOURS

import cresset

BIG = 9223372036854775807


def value(v):
    return ("value", v)


def error(phrase):
    return ("error", phrase)


def refused(phrase):
    return ("refused", phrase)


# name: (program, arguments, torch.jit, Cresset)
ROWS = {
    "format-fields": ('def f(x: int): return "{:>3}|{0}".format(x)', (5,), value("{:>3}|{0}"), error("manual field")),
    "format-spec": ('def f(x: int): return "{:>3}".format(x)', (5,), value("{:>3}"), value("  5")),
    "tensor-unpacking": (
        "def f(x: Tensor):\n  a, (b, c) = x\n  return [int(a[0]), int(b), int(c)]",
        (torch.tensor([[1, 2], [3, 4]]),),
        refused("Tensor cannot be used as a tuple"),
        value([1, 3, 4]),
    ),
    "only-starred": (
        "def f(x: int):\n  *a, = (x, x + 1)\n  return a",
        (3,),
        refused("A Starred expression may only appear on the lhs within the presence"),
        value((3, 4)),
    ),
    "loop-over-lists": (
        "def f(x: int):\n  for a, b in [1, 2], [3, x]:\n    x += a * b\n  return x",
        (4,),
        refused("List of iterables is not supported"),
        value(18),
    ),
    "loop-over-a-tuple-left": (
        "def f(x: int):\n  for a in (1, 2, 3):\n    if a == x:\n      break\n    x += 10\n  return x, a",
        (1,),
        refused("do not support break or continue inside"),
        value((1, 1)),
    ),
    "tuple-of-a-literal": (
        "def f(x: Tuple[(int, int)]):\n  return x[0]",
        ((4, 5),),
        refused("Tuple literal in Tuple type annotation"),
        value(4),
    ),
    "norm-of-dim": (
        "def f(x: Tensor):\n  return float(x.norm(dim=-1)[0])",
        (torch.tensor([[3.0, 4.0]]),),
        refused("Keyword argument dim unknown"),
        value(5.0),
    ),
    "norm-of-dim/nuclear": (
        "def f(x: Tensor):\n  return float(x.norm('nuc'))",
        (torch.eye(2),),
        refused("Arguments for call are not valid"),
        value(2.0),
    ),
    "embedding-max-norm": (
        "def f(i: Tensor, x: Tensor):\n  return float(torch.nn.functional.embedding(i, x, max_norm=1.0).norm())",
        (torch.tensor([0]), torch.tensor([[3.0, 4.0]])),
        value(5.0),
        value(1.0),
    ),
    "nothing-returned": ("def f(x: List[int]): return x.sort()", ([2, 1],), value(()), value(None)),
    "finfo": (
        "def f(x: Tensor): return torch.finfo(x.dtype).max, torch.iinfo(torch.int8).min",
        (torch.zeros(1, dtype=torch.float16),),
        refused("Unknown builtin op: aten::finfo"),
        value((65504.0, -128)),
    ),
    "percent-float": (
        'def f(x: float): return "%f" % x',
        (123456.7891,),
        value("123456.789062"),
        value("123456.789100"),
    ),
    "percent-float/e": ('def f(x: float): return "%e" % x', (1e300,), value("inf"), value("1.000000e+300")),
    "recursion": (
        "def f(n: int) -> int:\n  if n == 0:\n    return 0\n  return n + f(n - 1)",
        (4,),
        refused("called recursively"),
        value(10),
    ),
    "recursion/without-end": (
        "def f(n: int) -> int:\n  return f(n + 1)",
        (4,),
        refused("called recursively"),
        error("RecursionError"),
    ),
    "exception-class": ('def f(): raise ValueError("v")', (), error("ValueError: v"), error("ValueError: v")),
    "augmented-modulo": ("def f(x: int):\n  x %= 3\n  return x", (-7,), value(-1.0), value(2)),
    "modulo-twice": (
        "def g(x: List[int]) -> int:\n  x.append(1)\n  return 7\ndef f(x: List[int]):\n  return g(x) % 4, len(x)",
        ([],),
        value((3, 2)),
        value((3, 1)),
    ),
    "dict-twice": (
        "def g(x: List[int]) -> int:\n  x.append(1)\n  return 7\ndef f(x: List[int]):\n  return dict([('a', g(x))]), len(x)",
        ([],),
        value(({"a": 7}, 2)),
        value(({"a": 7}, 1)),
    ),
    "number-minus-tensor": (
        "def f(x: int):\n  return float((1.5 - torch.full([1], x, dtype=torch.uint8))[0])",
        (200,),
        value(57.5),
        value(-198.5),
    ),
    "number-minus-tensor/of-int8": (
        "def f(x: int):\n  return float((1.5 - torch.full([1], x, dtype=torch.int8))[0])",
        (-128,),
        value(-126.5),
        value(129.5),
    ),
    "float-into-double": (
        "def f(y: float):\n  x = torch.ones([2], dtype=torch.float64)\n  x[0] = y\n  return float(x[0]) == y",
        (0.1,),
        value(False),
        value(True),
    ),
    "float-into-double/beyond-32-bits": (
        "def f(y: float):\n  x = torch.ones([2], dtype=torch.float64)\n  x[0] = y\n  return float(x[0]) == y",
        (1e300,),
        error("without overflow"),
        value(True),
    ),
    "dead-loop": (
        "def f():\n  n = 0\n  while n < 3 and False:\n    n = 'a'\n  return n",
        (),
        refused("previously had type int"),
        value(0),
    ),
    "refined-by-break": (
        "def f(x: Optional[int]):\n  for i in [1]:\n    if x is None:\n      break\n    return x + 1\n  return 0",
        (2,),
        refused("Optional[int]"),
        value(3),
    ),
    "augmented-subscript": (
        "def g() -> int:\n  return [1][3]\ndef f(d: Dict[str, int]):\n  d['a'] += g()",
        ({},),
        error("list index out of range"),
        error("KeyError"),
    ),
    "splitlines-bytes": (
        "def f(s: str): return len(s.splitlines())",
        ("xéy",),
        value(2),
        value(1),
    ),
    "splitlines-bytes/another-letter": (
        "def f(s: str): return len(s.splitlines())",
        ("xÀy",),
        value(2),
        value(1),
    ),
    "augmented-floor-division": ("def f(x: int):\n  x //= 2\n  return x", (7,), refused("expected ident"), value(3)),
    "slice-assignment": (
        "def f(x: List[int]):\n  x[1:2] = [7, 8]\n  return x",
        ([1, 2, 3],),
        refused("Sliced expression not yet supported"),
        value([1, 7, 8, 3]),
    ),
    "tuple-increment": (
        "def f(t: Tuple[int, int]):\n  t += (3,)\n  return t",
        ((1, 2),),
        value([1, 2, 3]),
        value((1, 2, 3)),
    ),
    "tuple-increment/of-unlike-elements": (
        "def f(t: Tuple[int, str]):\n  t += (3,)\n  return t",
        ((1, "a"),),
        refused("Arguments for call are not valid"),
        value((1, "a", 3)),
    ),
    "tuple-repetition": (
        "def f(t: Tuple[int, int]): return t * 2",
        ((1, 2),),
        value([1, 2, 1, 2]),
        value((1, 2, 1, 2)),
    ),
    "comparison-chain": ("def f(x: float): return 0.0 > x >= 0.0", (1.0,), value(True), value(False)),
    "comprehension-in-list": (
        "def f(x: List[int]): return [[i for i in x], x]",
        ([1],),
        refused("single list comprehension"),
        value([[1], [1]]),
    ),
    "minus-minus": ("def f(): return -(-2)", (), refused("stoll"), value(2)),
    "string-index": ("def f(s: str): return s[-1]", ("",), error("basic_string"), error("string index out of range")),
    "int-of-text": ("def f(s: str): return int(s)", ("a",), error("stoll"), error("invalid literal for int()")),
    "float-of-text": (
        "def f(s: str): return float(s)",
        ("a",),
        error("stod"),
        error("could not convert string to float"),
    ),
    "float-of-tiny-text": ("def f(s: str): return float(s)", ("5e-324",), error("stod"), value(5e-324)),
    "refined-by-while": (
        "def f(x: Optional[int]):\n  n = 0\n  while x is not None:\n    n = x + 1\n    x = None\n  return n",
        (2,),
        refused("Optional[int]"),
        value(3),
    ),
    "sum-of-ints": ("def f(x: List[int]): return sum(x)", ([1, BIG - 1],), value(-1), value(BIG)),
    "replace-empty": ('def f(s: str): return s.replace("", "-", 2)', ("ab",), value("--ab"), value("-a-b")),
    "empty-list-argument": (
        "def f(a: List[List[int]], d: Dict[str, List[str]]):\n  a.append([])\n  d['x'] = []\n  return a + [], d",
        ([[1]], {}),
        refused("Type variable 't' previously matched to type List[int]"),
        value(([[1], []], {"x": []})),
    ),
    "several-loops": (
        "def f(a: List[List[int]]): return [y for x in a for y in x]",
        ([[1], [2, 3]],),
        refused("undefined value x"),
        value([1, 2, 3]),
    ),
    "zip-strict": (
        "def f(a: List[int], b: List[int]): return [x + y for x, y in zip(a, b, strict=True)]",
        ([1], [2, 3]),
        refused("strict"),
        error("zip() argument 2 is longer than argument 1"),
    ),
    "enable-grad": (
        "def f(x):\n  with torch.no_grad():\n    with torch.enable_grad():\n      return torch.is_grad_enabled()",
        (torch.ones(1),),
        refused("enable_grad"),
        value(True),
    ),
    "ternary-union": (
        'def f(x: bool) -> Union[int, str]: return 1 if x else "a"',
        (False,),
        refused("true branch has type"),
        value("a"),
    ),
    "receiver-in-condition": (
        'def g() -> str:\n  print("g")\n  return "1"\n\ndef f():\n  if g().isdigit():\n    return 1\n  return 2',
        (),
        value(1),
        value(1),
    ),
    "dead-code-raises": (
        "def f(x: List[int]):\n  y = x[5]\n  return 3",
        ([1],),
        value(3),
        error("list index out of range"),
    ),
    "negative-zero": ("def f(): return [0.0, -0.0]", (), value([0.0, 0.0]), value([0.0, -0.0])),
    "slice-deletion": (
        "def f(x: List[int]):\n  del x[1:3]\n  return x",
        ([1, 2, 3, 4],),
        refused("deletion at a single index"),
        value([1, 4]),
    ),
    "settled-operand": (
        "def f():\n  x = None\n  if x is not None and x >= 5:\n    return 1\n  return 2",
        (),
        refused("Arguments for call are not valid"),
        value(2),
    ),
    "len-of-number": ("def f(): return len(3)", (), value(1), refused("has no len()")),
    "len-of-union/optional": (
        "def f(x: Optional[List[int]]): return len(x)",
        (None,),
        value(1),
        refused("has no len()"),
    ),
    "len-of-union": (
        "def f(x: Union[List[int], List[str]]): return len(x)",
        ([1, 2],),
        value(1),
        refused("has no len()"),
    ),
    "index-twice": (
        "def g(x: List[int]) -> int:\n  x.append(1)\n  return 0\n"
        "def f(y: List[int]):\n  x = torch.zeros([1])\n  z = x[g(y)]\n  x[g(y)] = 1.0\n  return len(y)",
        ([],),
        value(5),
        value(2),
    ),
    "dead-operand-raises": (
        "def f(x: List[int]):\n  return max(x) > 1 or True",
        ([],),
        value(True),
        error("max() arg is an empty sequence"),
    ),
    "dead-deletion": (
        "def f(x: List[int]):\n  x = x[:]\n  del x[3]\n  return 2",
        ([1],),
        value(2),
        error("list index out of range"),
    ),
    "slice-from-largest": ("def f(x: List[int], n: int): return x[n:]", ([1, 2], BIG), value([1, 2]), value([])),
    "find-past-end": ("def f(s: str): return s.find('', 5), s.rfind('', 5)", ("ab",), value((5, 5)), value((-1, -1))),
    "count-in-range": ("def f(s: str): return s.count('ab', 1, 3)", ("ababab",), value(1), value(0)),
    "starts-past-end": (
        "def f(s: str): return s.startswith('a', 1)",
        ("",),
        error("basic_string::substr"),
        value(False),
    ),
    "split-limit": ("def f(s: str): return s.split(None, 1)", ("a b c",), value(["a", "b", "c"]), value(["a", "b c"])),
    "expandtabs": ("def f(s: str): return s.expandtabs()", ("a\n\tb",), value("a\n      b"), value("a\n        b")),
    "percent-d-of-float": (
        "def f(x: float): return '%d' % x",
        (1e18,),
        value("-2147483648"),
        value("1000000000000000000"),
    ),
    "negative-repeat": ("def f(): return [0] * -1", (), error("vector::reserve"), value([])),
    "cut-character": ("def f(s: str): return s[0]", ("é",), error("unexpected end of data"), value("\udcc3")),
    "bool-index": (
        "def f(x): return x[True]",
        (torch.ones(2),),
        refused("index type 'bool'"),
        value(torch.ones(1, 2)),
    ),
    "f-string-in-text": ("def f(x: int): return f'{x}!'", (3,), refused("expected newline"), value("3!")),
    "reversed-list": ("def f(x: List[int]): return list(reversed(x))", ([3, 4],), refused("reversed"), value([4, 3])),
    "conversion": ("def f(x): return x.bool()", (torch.ones(1),), refused("no attribute"), value(torch.tensor([True]))),
    "conversion/bfloat16": (
        "def f(x): return x.bfloat16()",
        (torch.ones(1),),
        refused("no attribute"),
        value(torch.ones(1, dtype=torch.bfloat16)),
    ),
    "unreachable": (
        "def f(x: int):\n  for i in range(x):\n    if True:\n      continue\n    y = 1 + [2]\n  return x",
        (2,),
        refused("Arguments for call are not valid"),
        value(2),
    ),
}
#: Differences that show elsewhere than in the value or message, each with a test of its own below.
SHOWN_BELOW = {"exception-class", "receiver-in-condition"}


def outcome(engine, program, arguments):
    try:
        function = engine.CompilationUnit(program + "\n").f
    except Exception as e:  # noqa: BLE001
        return refused(str(e))
    return called(function, arguments)


def called(function, arguments):
    try:
        with torch.jit.optimized_execution(False):
            return value(function(*arguments))
    except Exception as e:  # noqa: BLE001
        return error(f"{type(e).__name__}: {e}")


def agrees(found, expected):
    if found[0] != expected[0]:
        return False
    return repr(found[1]) == repr(expected[1]) if found[0] == "value" else expected[1] in found[1]


@pytest.mark.parametrize("name", ROWS)
def test_difference(name):
    program, arguments, theirs, mine = ROWS[name]
    found = outcome(torch.jit, program, arguments)
    assert agrees(found, theirs), f"torch.jit: {found}"
    found = outcome(cresset, program, arguments)
    assert agrees(found, mine), f"Cresset: {found}"
    assert repr(theirs) != repr(mine) or name in SHOWN_BELOW


# ---- functions of Python


SCALE, NAMES, TABLE, DTYPE = 2, ["a"], {"a": 1}, torch.float64


class Color(enum.Enum):
    RED = 1


class Base:
    def __init__(self, n: int):
        self.n = n

    def double(self) -> int:
        return self.n * 2

    @classmethod
    def five(cls) -> int:
        return 5


class Derived(Base):
    def __init__(self, n: int):
        super().__init__(n)


class WithEq:
    def __init__(self, n: int):
        self.n = n

    def __eq__(self, other: "WithEq") -> bool:
        return self.n == other.n


@dataclasses.dataclass
class Successor:
    x: int

    def __post_init__(self):
        self.y = self.x + 1


def uses_number(n: int) -> int:
    return n * SCALE


def uses_list(n: int) -> str:
    return NAMES[0]


def uses_dict(n: int) -> int:
    return TABLE["a"]


def uses_dtype(n: int) -> bool:
    return torch.zeros(1, dtype=DTYPE).dtype == torch.float64


def comprehension(n: int) -> List[int]:
    return [x for x in [1, 2] if x > 1]


def format_spec(n: int) -> str:
    return f"{n:>4}"


def floor_division(n: int) -> int:
    n //= 2
    return n


def keyword_only(n: int, *, m: int = 2) -> int:
    return n + m


def base_method(n: int) -> int:
    return Derived(n).double()


def class_method(n: int) -> int:
    return Derived.five()


def not_equal(n: int) -> bool:
    return WithEq(n) != WithEq(1)


def enum_member(n: int) -> bool:
    color = Color.RED
    return color is Color.RED


def made_by_post_init(n: int) -> int:
    return Successor(n).y


def special_methods(n: int) -> int:
    xs = [4, 5]
    return xs.__getitem__(0) + xs.__len__()


def overload(n: int) -> float:
    return float(torch.ops.aten.add.Tensor(torch.ones(1), torch.ones(1)))


def inference_mode(n: int) -> bool:
    with torch.inference_mode():
        return torch.ones(1).is_inference()


def autocast(n: int) -> bool:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype == torch.bfloat16


def strict_zip(n: int) -> List[int]:
    return [x + y for x, y in zip([1], [2, 3], strict=True)]


def calls_torch_compile(n: int) -> int:
    return torch.compile(uses_number)(n)


class Chain:
    def __init__(self, n: int):
        self.n = n
        self.rest = torch.jit.annotate(Optional[Chain], None)


def recursive_class(n: int) -> int:
    chain = Chain(n)
    chain.rest = Chain(n + 1)
    rest = chain.rest
    return 0 if rest is None else rest.n


Pair = collections.namedtuple("Named", ["a", "b"])
Single = collections.namedtuple("Named", ["c"])


def two_of_one_name(n: int) -> int:
    return int(Pair(torch.ones(1), torch.ones(1)).b + Single(torch.tensor(n)).c)


partial_of_keyword_only = functools.partial(keyword_only, m=4)


def calls_partial(n: int) -> int:
    return partial_of_keyword_only(n)


# name: (function of an int, torch.jit, Cresset); each is called with 4
SCRIPTED = {
    "global-number": (uses_number, refused("cannot be used as a value"), value(8)),
    "global-list": (uses_list, refused("cannot be used as a value"), value("a")),
    "global-dict": (uses_dict, refused("cannot be used as a value"), value(1)),
    "global-dtype": (uses_dtype, refused("cannot be used as a value"), value(True)),
    "comprehension-condition": (comprehension, refused("Comprehension ifs"), value([2])),
    "python-format-spec": (format_spec, refused("formatting in JoinedStr"), value("   4")),
    "python-floor-division": (floor_division, refused("FloorDiv"), value(2)),
    "keyword-only": (keyword_only, refused("keyword-only arguments with defaults"), value(6)),
    "recursive-class": (recursive_class, refused("recursively contain instances of themselves"), value(5)),
    "named-tuples-of-one-name": (two_of_one_name, refused("Can't redefine NamedTuple"), value(5)),
    "base-class": (base_method, refused("no attribute or method '__init__'"), value(8)),
    "class-method": (class_method, refused("no attribute or method '__init__'"), value(5)),
    "not-equal": (not_equal, refused("no attribute or method '__ne__'"), value(True)),
    "enum-identity": (enum_member, value(False), value(True)),
    "post-init": (made_by_post_init, refused("Failed to get source"), value(5)),
    "special-methods": (special_methods, refused("no attribute or method '__getitem__'"), value(6)),
    "overload-by-name": (overload, refused("attribute lookup is not defined on builtin"), value(2.0)),
    "inference-mode": (inference_mode, refused("aten::inference_mode"), value(True)),
    "autocast": (autocast, value(False), value(True)),
    "zip-strict": (strict_zip, value([3]), error("zip() argument 2 is longer than argument 1")),
    "error-inside-torch": (calls_torch_compile, refused("torch/__init__.py"), refused("'compile' can't be compiled")),
    "partial": (calls_partial, refused("INTERNAL ASSERT FAILED"), value(8)),
}


@pytest.mark.parametrize("name", SCRIPTED)
def test_difference_of_a_python_function(name):
    function, theirs, mine = SCRIPTED[name]
    for engine, expected in ((torch.jit, theirs), (cresset, mine)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = engine.script(function)
        except Exception as e:  # noqa: BLE001
            found = refused(str(e))
        else:
            found = called(compiled, (4,))
        assert agrees(found, expected), f"{engine.__name__}: {found}"
    assert repr(theirs) != repr(mine)


# ---- what no row shows


def test_exceptions_have_the_class_that_the_script_named():
    for engine, catches in ((torch.jit, False), (cresset, True)):
        function = engine.CompilationUnit(ROWS["exception-class"][0] + "\n").f
        with pytest.raises(Exception) as caught:
            function()
        assert isinstance(caught.value, ValueError) == catches
    assert isinstance(caught.value, cresset.Error)


def test_the_receiver_of_a_method_is_evaluated_once(capfd):
    program = ROWS["receiver-in-condition"][0] + "\n"
    torch.jit.CompilationUnit(program).f()
    assert capfd.readouterr().out.count("g") == 2
    cresset.CompilationUnit(program).f()
    assert capfd.readouterr().out.count("g") == 1


def test_count_of_the_empty_text():
    """torch.jit never returns."""
    assert cresset.CompilationUnit("def f(s: str): return s.count('')").f("ab") == 3


def test_literals_of_a_forked_function():
    source = (
        "def g(k: int) -> List[int]:\n  return [1, 2]\n"
        "def f(k: int):\n  u = torch.jit.fork(g, k)\n  x = torch.jit.wait(u)\n  x[0] += 4\n  return x[0]\n"
    )
    theirs, ours = torch.jit.CompilationUnit(source).f, cresset.CompilationUnit(source).f
    with torch.jit.optimized_execution(False):
        assert [theirs(1), theirs(1)] == [5, 9]
    assert [ours(1), ours(1)] == [5, 5]


def test_floor_of_a_float_just_beyond_an_int():
    source = "import math\ndef f(x: float) -> int:\n  return math.floor(x)\n"
    names = {}
    exec(source, names)
    theirs = torch.jit.CompilationUnit()
    theirs.define(source.split("\n", 1)[1], lambda name: names.get(name))
    ours = cresset.CompilationUnit(source.split("\n", 1)[1])
    assert theirs.f(2.0**63) == -(2**63) and theirs.f(-(2.0**63)) == ours.f(-(2.0**63)) == -(2**63)
    for engine, number in ((theirs, 2.0**64), (ours, 2.0**64), (ours, 2.0**63)):
        with pytest.raises(RuntimeError, match="Cannot convert float .* to integer"):
            engine.f(number)


def test_update_of_a_dict_by_itself():
    """torch.jit adds nan keys while it iterates over them, and may crash."""
    f = cresset.CompilationUnit("def f(x: Dict[float, int]):\n  x.update(x)\n  return x\n").f
    assert list(f({float("nan"): 1, 2.0: 3}).values()) == [1, 3]


class Defaults:
    def __init__(self):
        self.x = 1

    def m(self, y: int = 2) -> int:
        return self.x + y

    def n(self) -> int:
        v = self
        return v.m()


def use_of_defaults() -> int:
    return Defaults().n()


def test_defaults_of_methods():
    with pytest.raises(RuntimeError, match="Argument y not provided"):
        torch.jit.script(use_of_defaults)
    assert cresset.script(use_of_defaults)() == 3


def test_math_is_known_in_a_text():
    """torch.jit finds `math` only where the caller has imported it."""
    source = "def f(x: float): return math.sqrt(x)\n"
    with pytest.raises(RuntimeError, match="undefined value math"):
        torch.jit.CompilationUnit(source)
    assert cresset.CompilationUnit(source).f(4.0) == 2.0


def rows_by_bools(x: torch.Tensor):
    return x[[True, False, True]]


def test_a_list_of_bools_as_index():
    x = torch.tensor([10, 11, 12])
    assert torch.jit.script(rows_by_bools)(x).tolist() == [11, 10, 11]
    assert cresset.script(rows_by_bools)(x).tolist() == rows_by_bools(x).tolist() == [10, 12]


def test_bool_of_containers_is_as_in_torchjit():
    for annotation, values in (("str", ["", "a"]), ("List[int]", [[], [0]]), ("Dict[str, int]", [{}, {"a": 1}])):
        source = f"def f(x: {annotation}): return bool(x)\n"
        ours, theirs = cresset.CompilationUnit(source).f, torch.jit.CompilationUnit(source).f
        assert [ours(v) for v in values] == [theirs(v) for v in values] == [False, True]


def test_a_text_may_end_without_a_newline():
    with pytest.raises(RuntimeError, match="expected newline"):
        torch.jit.CompilationUnit("def f(x): return x")
    assert cresset.CompilationUnit("def f(x: int): return x").f(1) == 1


def test_a_class_that_nothing_uses_is_compiled():
    """torch.jit compiles classes when a function uses them; a text of Cresset's is compiled as a whole."""
    with pytest.raises(cresset.CompileError, match="undefined value nothing"):
        cresset.CompilationUnit("class C:\n  def __init__(self):\n    self.x = nothing\n")


def rows_of_the_document():
    """Of each row of a table, the last cell: the names of its tests. Rows of operators name theirs in the first."""
    text = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        if line.startswith("| ") and "---" not in line and cells[-1].strip() != "test" and cells[0].strip() != "key":
            yield (
                line,
                set(re.findall(r"`([^`]+)`", cells[-1] if not re.fullmatch(r" `[\w-]+` ", cells[0]) else cells[0])),
            )


def test_every_row_is_in_the_document():
    named = set().union(*(names for _, names in rows_of_the_document()))
    missing = {name.partition("/")[0] for name in [*ROWS, *SCRIPTED]} - named
    assert not missing


def test_every_row_of_the_document_has_a_test():
    folder = Path(__file__).parent
    functions = {
        name for path in folder.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    shown = {*ROWS, *SCRIPTED, *DIFFERENCES, *BEHAVIOURS, *functions, *(path.name for path in folder.glob("*.py"))}
    without = [line for line, names in rows_of_the_document() if not names & shown]
    assert not without


def test_results_that_are_not_eagers():
    """The table of docs/differences.md."""
    unit = cresset.CompilationUnit("""
def fill(x, m, v: float):
    return (x * 1).masked_fill(m, v) + 0
def constant(x, m):
    return (x * 1).masked_fill(m, 1e40) + 0
def std(x):
    return torch.std(x * 1, []) * 2
def products(x):
    return torch.cumprod(x * 1, 0) * 2
def norm(x):
    return torch.linalg.vector_norm(x * 1, 0.0) * 2
""")
    x, mask = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([True, False, True])
    for _ in range(3):
        unit.fill(x, mask, 1.0)
        with pytest.raises(RuntimeError, match="without overflow"):
            unit.constant(x, mask)
    cresset.wait_for_compilation()
    unit.fill(x, mask, 1.0)
    assert unit.fill(x, mask, 1e40).tolist() == [float("inf"), -2.0, float("inf")]

    def gradient(function, values):
        for _ in range(3):
            x = torch.tensor(values, requires_grad=True)
            (found,) = torch.autograd.grad(function(x).sum(), x, allow_unused=True)
        return found

    values = [1.0, -2.0, 3.0]
    assert torch.equal(gradient(unit.std, values), gradient(lambda x: torch.std(x) * 2, values))
    assert gradient(lambda x: torch.std(x, []) * 2, values).isinf().all()
    assert gradient(unit.products, [2.0, 0.0, 0.0, float("inf")]).isnan().any()
    assert not gradient(lambda x: torch.cumprod(x, 0), [2.0, 0.0, 0.0, float("inf")]).isnan().any()
    assert gradient(unit.norm, values).tolist() == [0, 0, 0]
    assert gradient(lambda x: torch.linalg.vector_norm(x, 0.0), values) is None
    numbers = cresset.script({float("nan"): 1.0})
    assert len(dict(numbers.items())) == 1
    with pytest.raises(KeyError):
        dict(numbers)
