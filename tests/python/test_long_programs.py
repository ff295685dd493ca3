"""Long programs of each construct: none of them needs a stack as deep as it is long. bench/bench_growth.py measures how
their cost grows."""

import pytest
import torch

import cresset


def lines(make, n):
    return "".join(make(i) for i in range(n))


def statements(n):
    return "def f(x: int):\n" + lines(lambda i: f"  x = x + {i % 7}\n", n) + "  return x\n"


def variables(n):
    assignments = lines(lambda i: f"  v{i + 1} = v{i} + 1\n", n)
    return (
        f"def f(x: int):\n  v0 = x\n{assignments}  s = 0\n" + lines(lambda i: f"  s = s + v{i}\n", n) + "  return s\n"
    )


def tensors(n):
    return "def f(x):\n" + lines(lambda i: "  x = x + 1\n", n) + "  return x\n"


def branches(n):
    return "def f(x: int):\n  y = 0\n" + lines(lambda i: f"  if x == {i}:\n    y = {i}\n", n) + "  return y\n"


def early_returns(n):
    return "def f(x: int):\n" + lines(lambda i: f"  if x == {i}:\n    return {i}\n", n) + "  return -1\n"


def loops(n):
    return "def f(x: int):\n" + lines(lambda i: "  for i in range(2):\n    x = x + i\n", n) + "  return x\n"


def rotation(n):
    moves = lines(lambda i: f"    v{i} = v{i + 1}\n", n - 1)
    return (
        "def f(x: int):\n"
        + lines(lambda i: f"  v{i} = {i}\n", n)
        + f"  for i in range(3):\n    t = v0\n{moves}    v{n - 1} = t\n  return v0\n"
    )


def chain(n):
    return "def f(x: int):\n  return x" + " + x" * n + "\n"


def conjunction(n):
    return "def f(x: int):\n  return x > 0" + " and x > 0" * n + "\n"


def list_literal(n):
    return "def f(x: int):\n  return [" + ", ".join(map(str, range(n))) + "]\n"


def dict_literal(n):
    return "def f(x: int):\n  return {" + ", ".join(f"{i}: x" for i in range(n)) + "}\n"


def parameters(n):
    names = [f"x{i}" for i in range(n)]
    return f"def f({', '.join(n + ': int = 1' for n in names)}):\n  return {' + '.join(names)}\n"


SHAPES = {  # the largest size, the argument, the result
    statements: (100_000, 1, lambda n: 1 + sum(i % 7 for i in range(n))),
    variables: (50_000, 1, lambda n: sum(1 + i for i in range(n))),
    tensors: (20_000, torch.zeros(1), lambda n: torch.full((1,), float(n))),
    branches: (30_000, 7, lambda n: 7),
    early_returns: (10_000, 7, lambda n: 7),
    loops: (30_000, 1, lambda n: 1 + n),
    rotation: (20_000, 1, lambda n: 3),
    chain: (100_000, 1, lambda n: n + 1),
    conjunction: (10_000, 1, lambda n: True),
    list_literal: (100_000, 1, lambda n: list(range(n))),
    dict_literal: (100_000, 1, lambda n: dict.fromkeys(range(n), 1)),
    parameters: (3_000, 1, lambda n: n),
}


@pytest.mark.parametrize("make", SHAPES, ids=lambda make: make.__name__)
def test_large_programs(make):
    """Each is compiled, printed, parsed and run; bench/bench_growth.py measures how the cost grows."""
    n, argument, result = SHAPES[make]
    f = cresset.CompilationUnit(make(n)).f
    text = str(f.graph)
    assert str(cresset.parse_ir(text)) == text
    with cresset.options.override(optimizer_errors="report"):  # the largest are too large for plans
        got, wanted = f(argument), result(n)
    assert torch.equal(got, wanted) if isinstance(got, torch.Tensor) else got == wanted


def test_ten_thousand_functions_in_a_file():
    n = 10_000
    for body in ("f{before}(x)", "f{after}(x)", "x + {i}"):
        source = lines(lambda i: f"def f{i}(x: int):\n  return {body.format(i=i, before=i - 1, after=i + 1)}\n", n)
        source = source.replace("f-1(x)", "x").replace(f"f{n}(x)", "x")
        unit = cresset.CompilationUnit(source)
        assert unit.f5000(1) == 5001 if body == "x + {i}" else 1


def test_functions_that_need_each_other_are_refused_however_many():
    for n in (3, 70, 500):
        source = lines(lambda i: f"def f{i}(x: int):\n  return f{(i + 1) % n}(x)\n", n)
        with pytest.raises(cresset.CompileError, match="is called recursively"):
            cresset.CompilationUnit(source)
        # What is wrong at the end of the chain is found, and nothing stays.
        unit = cresset.CompilationUnit()
        with pytest.raises(cresset.CompileError, match="nowhere"):
            unit.define(source.replace("return f0(x)", "return nowhere(x)"))
        unit.define(source.replace("return f0(x)", "return x"))
        assert unit.f0(4) == 4


def test_an_init_may_need_a_long_chain():
    n = 300
    source = lines(lambda i: f"def f{i}(x: int):\n  return f{i + 1}(x)\n", n).replace(f"f{n}(x)", "x")
    unit = cresset.CompilationUnit(
        "class A:\n  def __init__(self):\n    self.x = 1\n    self.y = f0(2)\n    self.z = 'abc'\n"
        + source
        + "def f():\n  a = A()\n  return a.x + a.y + len(a.z)\n"
    )
    assert unit.f() == 6


def test_ten_thousand_classes():
    n = 10_000
    each = "class A{i}:\n  def __init__(self, a: Optional[A{other}]):\n    self.a = a\n"
    last = "class A{i}:\n  def __init__(self):\n    self.x = 1\n"
    text = last.format(i=0) + lines(lambda i: each.format(i=i + 1, other=i), n)
    assert cresset.CompilationUnit(text + f"def f():\n  return A{n}(A{n - 1}(None)).a is None\n").f() is False
    forward = lines(lambda i: each.format(i=i, other=i + 1), n) + last.format(i=n)
    with pytest.raises(cresset.CompileError, match="define each class before those that need it"):
        cresset.CompilationUnit(forward)


def test_a_class_with_two_thousand_methods():
    n = 2_000
    source = "class C:\n  def __init__(self):\n    self.x = 1\n"
    source += lines(lambda i: f"  def m{i}(self) -> int:\n    return self.x + {i}\n", n)
    source += "def f():\n  c = C()\n  return " + " + ".join(f"c.m{i}()" for i in range(n)) + "\n"
    assert cresset.CompilationUnit(source).f() == sum(1 + i for i in range(n))


def test_nesting_beyond_the_limit_is_an_error():
    for source in (
        "def f(x: int):\n  return " + "(" * 100_000 + "x" + ")" * 100_000 + "\n",
        "def f(x: int):\n  return " + "-" * 100_000 + "x\n",
        "def f(x: int):\n  return " + "[" * 100_000 + "]" * 100_000 + "\n",
        "def f(x: bool):\n  return " + "not " * 100_000 + "x\n",
        "def f(x: int):\n  if x == 0:\n    pass\n" + lines(lambda i: f"  elif x == {i}:\n    pass\n", 10_000),
        "def f(x: int):\n" + lines(lambda i: " " * (i + 2) + "if x == 0:\n", 1_000) + " " * 1_002 + "pass\n",
        "def f(x: " + "List[" * 10_000 + "int" + "]" * 10_000 + "):\n  pass\n",
        "def f(x: int):\n  return x" + ".a" * 100_000 + "\n",
        "def f(x: int):\n  return x" + "(1)" * 100_000 + "\n",
        "def f(x: int):\n  return x" + " if x else x" * 100_000 + "\n",
        "def f(x: int):\n  return x" + " ** x" * 100_000 + "\n",
    ):
        with pytest.raises(cresset.UserError) as caught:
            cresset.CompilationUnit(source)
        assert len(str(caught.value)) < 300_000


def in_place(n):
    return (
        "def f(x):\n" + lines(lambda i: "  y = x * x\n  y.add_(1)\n  x = torch.sigmoid(y)\n", n // 3) + "  return x\n"
    )


def lists(n):
    return "def f(x):\n" + lines(lambda i: "  l = [x]\n  l.append(x)\n  x = l[0] + l[1]\n", n // 3) + "  return x\n"


def questions(n):
    return (
        "def f(x):\n"
        + lines(lambda i: "  if x.dim() > 1:\n    x = x.sum(0) * 0.5\n  else:\n    x = x * 0.5\n", n // 4)
        + "  return x\n"
    )


def elements(n):
    return "def f(x):\n" + lines(lambda i: "  x[0] = x[0] + 1\n" if i else "  x = x * 2\n", n) + "  return x\n"


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("make", [tensors, in_place, lists, questions, elements])
def test_plans_take_work_in_proportion(make, requires_grad):
    """Counted, not timed: the nodes that passes find in their graphs, all runs together."""

    def visited(n):
        with cresset.passes.options(time=True):
            function = cresset.CompilationUnit(make(n)).f
            for _ in range(3):
                x = torch.randn(3, requires_grad=requires_grad)
                result = function(x).sum()
                if requires_grad:
                    result.backward()
            return sum(figures["nodes_visited"] for figures in cresset.passes.figures().values())

    visited(12)  # rules are compiled once
    small, large = visited(300), visited(3000)
    assert small > 300
    assert large <= 1.5 * 10 * small
