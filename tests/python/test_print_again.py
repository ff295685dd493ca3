"""Printed code compiles back to the same graph, and that prints as the same text: every program of the test suite."""

import io
import warnings
from pathlib import Path

import pytest
import torch
from generator import programs
from test_archives_vs_torchjit import ENTRIES

import cresset

TESTS = Path(__file__).parent.parent


def check(function, context=""):
    first, second, difference = cresset._C._print_again(function)
    assert second == first, f"{context}\nprinted:\n{first}\nprinted again:\n{second}"
    assert not difference, f"{context}: {difference}\n{first}"


def functions_of(source, file=""):
    unit = cresset.CompilationUnit()
    unit._c.define(source, file)
    return [unit.find_function(name) for name in unit._c.function_names()]


def texts():
    for folder in ("compile", "code"):
        for path in sorted((TESTS / folder).rglob("*.py")):
            text = path.read_text()
            if text.startswith("# run: compile") or text.startswith("# run: code"):
                yield pytest.param(text.split("# ---- expect")[0], id=str(path.relative_to(TESTS)))


@pytest.mark.parametrize("source", texts())
def test_text(source):
    for function in functions_of(source):
        check(function)


@pytest.mark.parametrize("part", range(10))
def test_random_programs(part):
    compiled = 0
    for seed in range(part * 40, part * 40 + 40):
        source = str(programs.generate(seed)).split("\n# call")[0]
        try:
            functions = functions_of(source)
        except RuntimeError:
            continue  # some programs of the generator are no programs
        for function in functions:
            check(function, f"seed {seed}")
        compiled += 1
    assert compiled >= 20


def script_methods(module):
    for _, submodule in module.named_modules():
        for name in submodule._c.method_names():
            yield submodule._c.method(name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_archive(name):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, _ = ENTRIES[name]()
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    for method in script_methods(cresset.load(io.BytesIO(buffer.getvalue()), trusted=True)):
        check(method, method.qualified_name)


PIECES = {
    "floats": "def f(): return [0.1, -2.5e-300, 1e22, 5e-324, 1.7976931348623157e308, 3.0]",
    "special floats": 'def f(): return float("inf"), float("-inf"), float("nan"), -float("inf"), -0.0',
    "ints": "def f(): return 9223372036854775807, -9223372036854775808, 0",
    "complex": "def f(): return 2j, 1 + 2j, complex(1.5, -0.0)",
    "strings": r'''def f(): return "é\x01\n\"'\\", "\377", "日本", ""''',
    "devices": 'def f(x): return x.to(torch.device("cpu")), torch.device("cuda:1"), torch.device("cuda", 2)',
    "names": "def f(input, torch_, type: int, len_: int, list: List[int]): return type + len_ + list[0], int(input)",
    "hidden builtins": "def f(int: Tensor, float: Tensor): return int.item(), float.sum()",
    "types": """
def f(a: Optional[int], b: Union[int, str], c: Any, d: Dict[int, Tuple[float, str]], e: List[Optional[Tensor]]):
    x: List[Optional[int]] = [1, None]
    y: Dict[str, Optional[Tensor]] = {"a": None}
    z: Tuple[Optional[int], Any] = (1, "a")
    empty: Dict[str, List[int]] = {}
    if isinstance(b, int):
        w = b + 1
    else:
        w = len(b)
    return x, y, z, empty, w
""",
    "swap in loop": """
def f(n: int):
    a, b, c = 0, 1, 2
    for i in range(n):
        a, b, c = b, c + a, a
    return a, b, c
""",
    "break": """
def f(xs: List[int]):
    best = -1
    for i in range(len(xs)):
        if xs[i] > 5:
            best = i
            break
        elif xs[i] < 0:
            continue
        best = best + xs[i]
    return best
""",
    "while with break": """
def f(n: int):
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 2 == 0:
            continue
        print(i)
    return i
""",
    "return in loop": """
def f(xs: List[str], wanted: str) -> Optional[int]:
    for i, x in enumerate(xs):
        if x == wanted:
            return i
    return None
""",
    "nested forks": """
def g(x: Tensor, n: int): return x + n
def f(x: Tensor):
    y = x * 2
    a = torch.jit.fork(g, y, 3)
    futures: List[Future[Tensor]] = []
    for i in range(3):
        futures.append(torch.jit.fork(g, y, i))
    out = torch.jit.wait(a)
    for future in futures:
        out = out + torch.jit.wait(future)
    return out
""",
    "condition is a constant in a variable": """
def f(x: Tensor):
    go = True
    n = 0
    if go:
        n = 1
    while go:
        n += 1
        go = n < 5
    return x + n
""",
    "early returns": """
def f(x: int) -> str:
    if x > 10:
        if x > 20:
            return "large"
        x -= 5
    elif x < 0:
        return "negative"
    for i in range(x):
        if i == 7:
            return "seven"
    return str(x)
""",
    "raise": """
def f(x: int):
    if x > 3:
        raise ValueError(f"too large: {x}")
    assert x > 0, "too small"
    return x
""",
    "tolist": "def f(x: Tensor):\n    y: List[List[float]] = x.tolist()\n    return y",
    "defaults": "def f(x: Tensor, n: int = 3, s: str = 'a', l: List[int] = [1, 2], o: Optional[float] = None): return x * n",
    "keyword only": "def f(x: Tensor, *, n: int = 3): return x * n",
    "views and writes": """
def f(x: Tensor, i: int):
    y = x[1:, i]
    y += 1
    x[0] = y.sum()
    x[:, 1] = 3
    return x[..., None, -1]
""",
    "classes": """
class Pair:
    a: int
    def __init__(self, a: int):
        self.a = a
        self.b = [a]
    def add(self, other: int) -> int:
        self.a += other
        self.b.append(other)
        return self.a
def f(x: int):
    p = Pair(x)
    p.a = p.add(3) + p.add(4)
    return p.b, p.a
""",
    "enums and named tuples": """
class Color(Enum):
    RED = 1
    GREEN = 2
class Point(NamedTuple):
    x: int
    y: Optional[float] = None
def f(c: Color):
    p = Point(3)
    q = Point(x=4, y=2.5)
    return p, q.x, c == Color.RED, c.name, Color.GREEN.value, [m for m in Color]
""",
    "interfaces": """
class Adder(Interface):
    def add(self, x: int) -> int: pass
class One:
    def __init__(self): self.n = 1
    def add(self, x: int) -> int: return x + self.n
def f(x: int):
    a: Adder = One()
    return a.add(x)
""",
    "with": """
class Counter:
    n: int
    def __init__(self): self.n = 0
    def __enter__(self) -> int:
        self.n += 1
        return self.n
    def __exit__(self, a: Any, b: Any, c: Any): self.n -= 1
def f(x: int):
    c = Counter()
    with c as n, Counter():
        x += n
        if x > 5:
            return x
        with c:
            pass
    with torch.no_grad():
        y = torch.ones(2)
    return x + int(y.sum())
""",
    "operators whose names mean something else": """
def f(x: Tensor):
    a = torch.device("cpu")
    return torch.ops.aten.norm(x), torch.linalg.norm(x), torch.special.expit(x), torch.ops.prim.dtype(x), x.device
""",
    "arguments in the middle": """
def f(x: Tensor, w: Tensor):
    y = torch.conv2d(x, w, None, [1, 1], [0, 0], [1, 1], 1)
    y = torch.max_pool2d(y, [2, 2], ceil_mode=True)
    y = torch.sum(y, [1], keepdim=True)
    return torch.conv2d(y, w, groups=2), torch.clamp(y, max=3.0)
""",
    "unpacking of one": """
def f(x: Tensor, a: Tuple[int], b: List[int]):
    c, = a
    d, = b
    e, = (3,)
    return torch.layer_norm(x, [c]), [d, e], [c]
class C:
    sizes: Final[Tuple[int]] = (2,)
    def __init__(self): pass
def g(x: Tensor):
    return torch.layer_norm(x, C().sizes)
""",
    "several outputs": """
def f(x: Tensor):
    values, indices = torch.max(x, 0)
    a, b = torch.unbind(x)
    u, s, v = torch.svd(x)
    (c, d), e = (1, 2), 3
    return values, indices, a, b, s, c, d, e
""",
}


@pytest.mark.parametrize("name", PIECES)
def test_piece(name):
    for function in functions_of(PIECES[name]):
        check(function)


def test_code_for_people_shows_literals():
    unit = cresset.CompilationUnit(
        "class M:\n    K: Final[Tuple[int, int]] = (1, 2)\n    def __init__(self): pass\ndef f(x): return M().K, [1.5]"
    )
    assert unit.f.code.endswith("  return ((1, 2), [1.5])\n")


def test_long_programs_print_without_recursion():
    n = 50_000
    text = "def f(x):\n" + "".join(f"  x = x + {i}\n  y{i} = x * 2\n" for i in range(n)) + "  return x\n"
    (function,) = functions_of(text)
    assert len(function.code.splitlines()) > n


def test_a_deep_expression_is_cut_into_statements():
    (function,) = functions_of("def f(x):\n  return " + "(" * 150 + "x" + " + 1)" * 150 + "\n")
    check(function)
    assert max(line.count("(") for line in function.code.splitlines()) < 60
