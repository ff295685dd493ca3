"""When values die while a script runs. The custom operator probe::alive counts the tensors that probe::make made and that
still exist: a script that calls it sees its own memory, at each point."""

import threading
import time

import pytest
import torch

import cresset

_made = []
_library = torch.library.Library("probe", "DEF")
_library.define("make(Tensor? like=None) -> Tensor")
_library.define("alive() -> int")
_library.define("slow() -> Tensor")


def _make(like=None):
    tensor = torch.ones(3)
    _made.append(torch._C._WeakTensorRef(tensor))
    return tensor


def _alive():
    return sum(not reference.expired() for reference in _made)


def _slow():
    time.sleep(0.05)
    return _make()


_library.impl("make", _make, "CompositeImplicitAutograd")
_library.impl("alive", _alive, "CompositeImplicitAutograd")
_library.impl("slow", _slow, "CompositeImplicitAutograd")


@pytest.fixture(autouse=True)
def nothing_before_and_after():
    _made.clear()
    yield
    assert _alive() == 0


PROGRAMS = {
    "last use": (
        """
def f():
  a = torch.ops.probe.make()
  n = [torch.ops.probe.alive()]
  b = torch.ops.probe.make(a)
  n.append(torch.ops.probe.alive())
  c = b.dim()
  n.append(torch.ops.probe.alive())
  return n
""",
        [1, 1, 0],
    ),
    "assignment": (
        """
def f():
  a = torch.ops.probe.make()
  a = torch.ops.probe.make()
  n = [torch.ops.probe.alive()]
  return n, a.dim()
""",
        [1],
    ),
    "unused result": (
        """
def f():
  torch.ops.probe.make()
  return [torch.ops.probe.alive()]
""",
        [0],
    ),
    "unused argument": (
        """
def g(x):
  return torch.ops.probe.alive()
def f():
  return [g(torch.ops.probe.make())]
""",
        [0],
    ),
    "argument moves into a call": (
        """
def g(x):
  n = x.dim()
  return torch.ops.probe.alive()
def f():
  x = torch.ops.probe.make()
  return [g(x), torch.ops.probe.alive()]
""",
        [0, 0],
    ),
    "used in one branch": (
        """
def g(c: bool, n: List[int]):
  a = torch.ops.probe.make()
  if c:
    n.append(a.dim())
    n.append(torch.ops.probe.alive())
  else:
    n.append(torch.ops.probe.alive())
  n.append(torch.ops.probe.alive())
def f():
  n = [0]
  g(True, n)
  g(False, n)
  return n
""",
        [0, 1, 0, 0, 0, 0],
    ),
    "carried by a loop": (
        """
def f():
  a = torch.ops.probe.make()
  n = [0]
  for i in range(3):
    a = torch.ops.probe.make(a)
    n.append(torch.ops.probe.alive())
  n.append(a.dim())
  n.append(torch.ops.probe.alive())
  return n
""",
        [0, 1, 1, 1, 1, 0],
    ),
    "used by a loop": (
        """
def f():
  a = torch.ops.probe.make()
  n = [0]
  for i in range(2):
    n.append(a.dim())
    n.append(torch.ops.probe.alive())
  n.append(torch.ops.probe.alive())
  return n
""",
        [0, 1, 1, 1, 1, 0],
    ),
    "a loop that does not run": (
        """
def f():
  a = torch.ops.probe.make()
  n = [0]
  for i in range(n[0]):
    n.append(a.dim())
  n.append(torch.ops.probe.alive())
  return n
""",
        [0, 0],
    ),
    "break": (
        """
def f():
  n = [0]
  for i in range(5):
    a = torch.ops.probe.make()
    if i == 1:
      break
    n.append(a.dim())
    n.append(torch.ops.probe.alive())
  n.append(torch.ops.probe.alive())
  return n
""",
        [0, 1, 0, 0],
    ),
    "early return": (
        """
def g(c: bool):
  a = torch.ops.probe.make()
  if c:
    return a
  b = torch.ops.probe.make()
  return b
def f():
  x = g(True)
  n = [torch.ops.probe.alive()]
  y = g(False)
  n.append(torch.ops.probe.alive())
  return n, x.dim() + y.dim()
""",
        [1, 2],
    ),
    "tuple": (
        """
def f():
  t = (torch.ops.probe.make(), torch.ops.probe.make())
  a, b = t
  n = [torch.ops.probe.alive(), a.dim()]
  n.append(torch.ops.probe.alive())
  n.append(b.dim())
  n.append(torch.ops.probe.alive())
  return n
""",
        [2, 1, 1, 1, 0],
    ),
    "list": (
        """
def f():
  l = [torch.ops.probe.make(), torch.ops.probe.make()]
  n = [torch.ops.probe.alive()]
  l[0] = torch.ops.probe.make()
  n.append(torch.ops.probe.alive())
  del l[0]
  n.append(torch.ops.probe.alive())
  l.clear()
  n.append(torch.ops.probe.alive())
  return n
""",
        [2, 2, 1, 0],
    ),
    "dict": (
        """
def f():
  d = {"a": torch.ops.probe.make()}
  n = [torch.ops.probe.alive()]
  d["a"] = torch.ops.probe.make()
  n.append(torch.ops.probe.alive())
  d.pop("a")
  n.append(torch.ops.probe.alive())
  return n
""",
        [1, 1, 0],
    ),
    "object": (
        """
class C:
  def __init__(self):
    self.x = torch.ops.probe.make()
def f():
  c = C()
  n = [torch.ops.probe.alive()]
  c.x = torch.ops.probe.make()
  n.append(torch.ops.probe.alive())
  d = c
  n.append(d.x.dim())
  n.append(torch.ops.probe.alive())
  return n
""",
        [1, 1, 1, 0],
    ),
    "with": (
        """
class C:
  def __init__(self):
    self.x = torch.ops.probe.make()
  def __enter__(self):
    return self.x
  def __exit__(self, type: Any, value: Any, traceback: Any):
    pass
def f():
  n = [0]
  with C() as x:
    n.append(x.dim())
    n.append(torch.ops.probe.alive())
  n.append(torch.ops.probe.alive())
  return n
""",
        [0, 1, 1, 0],
    ),
    "fork": (
        """
def g(x):
  return x.dim()
def f():
  future = torch.jit.fork(g, torch.ops.probe.make())
  n = [torch.jit.wait(future)]
  n.append(torch.ops.probe.alive())
  return n
""",
        [1, 0],
    ),
    "refinement": (
        """
def g(x: Optional[Tensor], n: List[int]):
  if x is not None:
    n.append(x.dim())
  n.append(torch.ops.probe.alive())
def f():
  n = [0]
  g(torch.ops.probe.make(), n)
  g(None, n)
  return n
""",
        [0, 1, 0, 0],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_die_with_their_last_use(name):
    source, expected = PROGRAMS[name]
    unit = cresset.CompilationUnit(source)
    for _ in range(2):
        with cresset.optimized_execution(False):  # a plan drops uses that change nothing
            result = unit.f()
        assert (result[0] if isinstance(result, tuple) else result) == expected
        assert _alive() == 0


RAISING = {
    "raise": """
def f():
  a = torch.ops.probe.make()
  b = [torch.ops.probe.make()]
  if len(b) == 1:
    raise ValueError("x")
  return a.dim() + b[0].dim()
""",
    "operator": """
def f():
  a = torch.ops.probe.make()
  b = torch.ops.probe.make()
  c = torch.mm(a, b)
  return a, b, c
""",
    "in a call": """
def g(x, n: int):
  y = torch.ops.probe.make()
  if n == 0:
    raise ValueError("x")
  return x, y
def f():
  a = torch.ops.probe.make()
  return g(a, 0), g(a, 1)
""",
    "in a loop": """
def f():
  a = torch.ops.probe.make()
  l = [a]
  for i in range(3):
    b = torch.ops.probe.make()
    l.append(b)
    a = l[i * 2]
  return a
""",
    "in __enter__": """
class C:
  def __init__(self):
    self.x = torch.ops.probe.make()
  def __enter__(self):
    raise ValueError("x")
  def __exit__(self, type: Any, value: Any, traceback: Any):
    pass
def f():
  a = torch.ops.probe.make()
  with C():
    pass
  return a
""",
    "in __exit__": """
class C:
  def __init__(self):
    self.x = torch.ops.probe.make()
  def __enter__(self):
    pass
  def __exit__(self, type: Any, value: Any, traceback: Any):
    raise ValueError("x")
def f():
  a = torch.ops.probe.make()
  with C():
    raise RuntimeError("y")
  return a
""",
    "recursion": """
def g(x, n: int) -> int:
  return g(torch.ops.probe.make(x), n + 1) + 1
def f():
  return g(torch.ops.probe.make(), 0)
""",
    "fork": """
def g(x):
  y = torch.ops.probe.make()
  return torch.mm(x, y)
def f():
  return torch.jit.wait(torch.jit.fork(g, torch.ops.probe.make()))
""",
}


@pytest.mark.parametrize("name", RAISING)
def test_nothing_is_left_by_exceptions(name):
    unit = cresset.CompilationUnit(RAISING[name])
    for _ in range(2):
        with pytest.raises(RuntimeError):
            unit.f()
        assert _alive() == 0


EXITS = """
class Log:
  def __init__(self, log: List[str], name: str):
    self.log = log
    self.name = name
  def __enter__(self):
    self.log.append("+" + self.name)
    return self.name
  def __exit__(self, type: Any, value: Any, traceback: Any):
    self.log.append("-" + self.name)

def inner(log: List[str], k: int) -> int:
  with Log(log, "inner"):
    if k == 1:
      raise ValueError("k")
    if k == 2:
      return 7
    for i in range(3):
      with Log(log, "loop"):
        if k == 3 and i == 1:
          break
        if k == 4 and i == 0:
          continue
        if k == 5 and i == 2:
          return 8
  return 9

def f(log: List[str], k: int) -> int:
  with Log(log, "a") as a, Log(log, "b"):
    return inner(log, k)

class Tape:
  def __init__(self):
    self.log = [""]

def run(tape: Tape, k: int) -> int:
  return f(tape.log, k)
def tape():
  return Tape()
"""


@pytest.mark.parametrize("k", range(6))
def test_exits_run_on_every_way_out(k):
    class Log:
        def __init__(self, log, name):
            self.log, self.name = log, name

        def __enter__(self):
            self.log.append("+" + self.name)

        def __exit__(self, *exception):
            self.log.append("-" + self.name)

    # The same text as Python, with Python's own with.
    names = {"Log": Log}
    exec(
        "from typing import List\n" + EXITS[EXITS.index("def inner") : EXITS.index("class Tape")],  # noqa: S102
        names,
    )
    expected, result = [""], None
    try:
        result = names["f"](expected, k)
    except ValueError:
        pass
    unit = cresset.CompilationUnit(EXITS)
    tape = unit.tape()
    if result is None:
        with pytest.raises(ValueError, match="k"):
            unit.run(tape, k)
    else:
        assert unit.run(tape, k) == result
    assert tape.log == expected


def test_recursion_is_an_error_and_leaves_everything_whole():
    unit = cresset.CompilationUnit("""
def down(n: int) -> int:
  if n == 0:
    return 0
  return down(n - 1) + 1
def forever(n: int) -> int:
  return forever(n) + 1
def ping(n: int) -> int:
  return pong(n)
def pong(n: int) -> int:
  return ping(n)
class C:
  def __init__(self):
    self.n = 0
  def again(self) -> int:
    self.n += 1
    return self.again()
def method():
  return C().again()
""")
    assert unit.down(5000) == 5000
    for name, args in (("forever", (1,)), ("ping", (1,)), ("method", ())):
        for _ in range(2):
            with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as caught:
                getattr(unit, name)(*args)
            assert len(str(caught.value)) < 100_000
    assert unit.down(10) == 10


LOOPS = {
    "scalars": "def f():\n  i = 0\n  while True:\n    i += 1\n",
    "floats": "def f():\n  x = 1.\n  while x > 0.:\n    x = x * 1.0000001 / 1.0000001\n",
    "branches": "def f():\n  i = 0\n  while i >= 0:\n    if i % 3 == 0:\n      i += 5\n    else:\n      i = i - 2 if i > 100 else i + 1\n",
    "counted": "def f():\n  s = 0\n  for i in range(1 << 60):\n    s += i\n  return s\n",
    "nested": "def f():\n  s = 0\n  for i in range(1 << 40):\n    for j in range(3):\n      s += j\n  return s\n",
    "lists": "def f():\n  l = [1, 2]\n  while True:\n    l.append(l[0] + len(l))\n    l.pop()\n    l[1] = l[0]\n",
    "dicts": "def f():\n  d = {1: 2}\n  while True:\n    d[1] = d[1] + 1\n",
    "strings": "def f():\n  while True:\n    s = 'a' + 'b'\n    if len(s) == 1:\n      break\n",
    "tensors": "def f():\n  x = torch.ones(2)\n  while True:\n    x = x + 0\n",
    "calls": "def g(x: int): return x + 1\ndef f():\n  i = 0\n  while True:\n    i = g(g(i))\n",
    "methods": "class C:\n  def __init__(self):\n    self.n = 0\n  def up(self):\n    self.n += 1\ndef f():\n  c = C()\n  while True:\n    c.up()\n",
    "tree of calls": "def f(n: int = 60) -> int:\n  if n == 0:\n    return 1\n  return f(n - 1) + f(n - 1)\n",
    "with": "class C:\n  def __enter__(self): pass\n  def __init__(self):\n    self.n = 0\n  def __exit__(self, a: Any, b: Any, c: Any): pass\ndef f():\n  c = C()\n  while True:\n    with c:\n      c.n += 1\n",
    "forks": "def g(x: int): return x + 1\ndef f():\n  while True:\n    torch.jit.wait(torch.jit.fork(g, 1))\n",
    "waiting": "def g(n: int):\n  while n < 1 << 60:\n    n += 1\n  return n\ndef f():\n  return torch.jit.wait(torch.jit.fork(g, 1 << 59))\n",
    "comprehension": "def f():\n  while True:\n    l = [i for i in range(10)]\n",
}


@pytest.mark.parametrize("name", [n for n in LOOPS if n != "waiting"])
def test_ctrl_c_stops_every_loop(name, must_end):
    import signal

    unit = cresset.CompilationUnit(LOOPS[name])
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        unit.f()
