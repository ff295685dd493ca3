"""Texts with very many parts of one kind compile in time that grows with their number, not with its square."""

import time

import pytest

import cresset


def many(part, n, separator=", "):
    return separator.join(part.replace("#", str(i)) for i in range(n))


def functions(text):
    return lambda n: cresset.CompilationUnit(text(n))


def body(first, part, last="return x", separator="\n  "):
    """A function of an int, some of whose lines repeat."""
    return functions(lambda n: f"def f(x: int):\n  {first}\n  {many(part, n, separator)}\n  {last}\n")


def expression(before, part, after="", separator=", "):
    return functions(lambda n: f"def f(x: int):\n  return {before}{many(part, n, separator)}{after}\n")


TEXTS = {
    "parameters": functions(lambda n: f"def f({many('a#: int', n)}) -> int:\n  return a0\n"),
    "parameters with a type comment": functions(
        lambda n: f"def f({many('a#', n)}):\n  # type: ({many('int', n)}) -> int\n  return a0\n"
    ),
    "keyword arguments": functions(
        lambda n: f"def g({many('a#: int = 0', n)}):\n  return a0\ndef f():\n  return g({many('a#=1', n)})\n"
    ),
    "keyword arguments backwards": functions(
        lambda n: (
            f"def g({many('a#: int = 0', n)}):\n  return a0\n"
            f"def f():\n  return g({', '.join(f'a{n - 1 - i}=1' for i in range(n))})\n"
        )
    ),
    "star arguments": functions(
        lambda n: f"def g({many('a#: int', n)}):\n  return a0\ndef f():\n  t = ({many('1', n)})\n  return g(*t)\n"
    ),
    "unknown keyword arguments": functions(
        lambda n: f"def f(x: Tensor):\n  return torch.add(x, x, {many('a#=1', n)})\n"
    ),
    "misspelt keyword arguments": functions(
        lambda n: f"def g({many('abc#: int', n)}):\n  return abc0\ndef f():\n  return g({many('abd#=1', n)})\n"
    ),
    "too many arguments": functions(lambda n: f"def f(x: Tensor):\n  return torch.add(x, x, {many('1', n)})\n"),
    "fields of named tuples": functions(
        lambda n: f"class P(NamedTuple):\n  {many('f#: int', n, chr(10) + '  ')}\ndef f(p: P):\n  return p.f0\n"
    ),
    "values of enums": functions(
        lambda n: f"class E(Enum):\n  {many('F# = #', n, chr(10) + '  ')}\ndef f(e: E):\n  return e == E.F0\n"
    ),
    "methods of interfaces": functions(
        lambda n: (
            "@torch.jit.interface\nclass I:\n"
            + many("  def m#(self) -> int:\n    pass\n", n, "")
            + "def f(i: I):\n  return i.m0()\n"
        )
    ),
    "functions": functions(lambda n: many("def f#(x: int) -> int:\n  return x\n", n, "")),
    "classes": functions(lambda n: many("class C#:\n  def __init__(self):\n    self.a = 1\n", n, "")),
    "elements of lists": expression("[", "#", "]"),
    "elements of tuples": expression("(", "#", ")"),
    "tuples that are compared": functions(
        lambda n: (
            f"def f(x: int):\n  a = ({many('#', n)})\n  b = ({many('x', n)})\n  if x == 1:\n    a = b\n  return a == b\n"
        )
    ),
    "entries of dicts": expression("{", "#: x", "}"),
    "parts of f-strings": expression("f'", "{x}", "'", ""),
    "texts side by side": expression("", "'a'", "", " "),
    "chained comparisons": expression("", "x", "", " < "),
    "sums": expression("", "x", "", " + "),
    "conditions": expression("", "x == #", "", " and "),
    "indices": functions(lambda n: f"def f(x: Tensor):\n  return x[{many('0', n)}]\n"),
    "targets": body("t = (1, 2)", "a# = t", "return t", "; "),
    "unpacked targets": functions(lambda n: f"def f():\n  t = ({many('1', n)})\n  {many('a#', n)} = t\n  return a0\n"),
    "targets in a row": body("y = 1", "a#", "  = y", " = "),
    "statements": body("y = x", "y = y + #", "return y"),
    "conditional values": body("y = x", "if x == #:\n    v# = 1\n  else:\n    v# = 2"),
    "conditional returns": body("y = x", "if x == #:\n    return #"),
    "conditional breaks": body("for i in range(x):", "  if x == #:\n      break"),
    "loop variables": functions(
        lambda n: (
            f"def f(x: int):\n  {many('v# = 0', n, chr(10) + '  ')}\n  for i in range(x):\n    "
            f"{many('v# = v# + 1', n, chr(10) + '    ')}\n  return v0\n"
        )
    ),
    "assertions": body("y: Optional[int] = x", "assert y is not None"),
    "contexts": functions(
        lambda n: f"def f(x: Tensor):\n  with {many('torch.no_grad()', n)}:\n    x = x + 1\n  return x\n"
    ),
    "comments": body("y = x", "# comment"),
    "alternatives of unions": lambda n: cresset.parse_type(f"Union[{many('Tuple[int, str]', n)}]"),
    "parts of types": lambda n: str(cresset.parse_type(f"Tuple[{many('int', n)}]")),
    "arguments of schemas": lambda n: str(cresset.parse_schema(f"a::f({many('int a#', n)}) -> int")),
    "results of schemas": lambda n: str(cresset.parse_schema(f"a::f(int x) -> ({many('int a#', n)})")),
    "alias sets of schemas": lambda n: cresset.parse_schema(f"a::f({many('Tensor(a#) a#', n)}) -> int"),
    "an argument's alias sets": lambda n: cresset.parse_schema(f"a::f(Tensor({many('a#', n, '|')}) a) -> int"),
    "attributes of nodes": lambda n: cresset.parse_ir(
        f"graph(%x : int):\n  %y : int = my::op[{many('a#=#', n)}](%x)\n  return (%y)\n"
    ),
    "inputs of graphs": lambda n: str(cresset.parse_ir(f"graph({many('%x# : int', n)}):\n  return (%x0)\n")),
    "outputs of graphs": lambda n: str(cresset.parse_ir(f"graph(%x : int):\n  return ({many('%x', n)})\n")),
    "outputs of nodes": lambda n: str(
        cresset.parse_ir(f"graph(%x : int):\n  {many('%y# : int', n)} = my::op(%x)\n  return (%x)\n")
    ),
    "values of graphs": lambda n: str(
        cresset.parse_ir(f"graph(%x : int):\n  {many('%y# : int = aten::neg(%x)', n, chr(10) + '  ')}\n  return (%x)\n")
    ),
    "results of blocks": lambda n: str(
        cresset.parse_ir(
            f"graph(%x : int, %b : bool):\n  {many('%y# : int', n)} = prim::If(%b)\n"
            f"    block0():\n      -> ({many('%x', n)})\n    block1():\n      -> ({many('%x', n)})\n  return (%x)\n"
        )
    ),
    "values carried by loops": lambda n: str(
        cresset.parse_ir(
            f"graph(%x : int, %b : bool):\n  {many('%y# : int', n)} = prim::Loop(%x, %b, {many('%x', n)})\n"
            f"    block0(%i : int, {many('%z# : int', n)}):\n      -> (%b, {many('%z#', n)})\n  return (%x)\n"
        )
    ),
}


def seconds(text, n):
    """Of the processor; what else runs on the machine matters little then."""
    start = time.process_time()
    try:
        TEXTS[text](n)
    except cresset.UserError:  # as long as it takes no longer
        pass
    return time.process_time() - start


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_many_parts(text):
    small, large = 2000, 32_000
    seconds(text, small)
    # The square would take 256 times as long. Little time says nothing: caches alone change it.
    for _ in range(3):
        before, after = seconds(text, small), seconds(text, large)
        if after < max(64 * before, 0.3):
            return
    raise AssertionError(f"{large} parts take {after:.2f} s, {small} {before:.4f} s")


@pytest.mark.parametrize("kind", ["integer", "name", "type", "schema", "word", "attribute", "keyword"])
def test_messages_stay_short(kind):
    """What they quote may be as long as an author likes."""
    n = 100_000
    wrong = {
        "integer": lambda: cresset.CompilationUnit(f"def f():\n  return {'1' * n}\n"),
        "name": lambda: cresset.CompilationUnit(f"def f():\n  return {'a' * n}\n"),
        "type": lambda: cresset.parse_type("__torch__" + ".a" * n),
        "schema": lambda: cresset.parse_schema(f"a::f(int {'a' * n}, int {'a' * n}) -> Wrong"),
        "word": lambda: cresset.parse_ir(f"graph(%x : int):\n  {'é' * n}\n  return (%x)\n"),
        "attribute": lambda: cresset.CompilationUnit(f"def f(x: Tensor):\n  return x.{'a' * n}\n"),
        "keyword": lambda: cresset.CompilationUnit(f"def f(x: Tensor):\n  return torch.add(x, x, {'a' * n}=1)\n"),
    }
    with pytest.raises(cresset.UserError) as raised:
        wrong[kind]()
    assert 20 < len(str(raised.value)) < 40_000
    if kind in ("integer", "name", "attribute", "keyword"):
        assert "…" in str(raised.value)
