"""The language, program by program, against torch.jit.

Each program of CORPUS is compiled by Cresset and by torch.jit, and its calls must return equal values, or both raise. A
program with `# oracle: python` uses what torch.jit can't compile; its oracle is Python itself. ERRORS are programs that
neither compiles; the first line of torch.jit's message must be part of Cresset's.
"""

import math
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest
import torch

import cresset

CORPUS = r"""
def f(x: int): return x + 1
# call: f(3)
%%
def f(x: int, y: int): return x + y, x - y, x * y, x / y, x // y, x % y
# call: f(7, 2)
# call: f(-7, 2)
# call: f(7, -2)
%%
def f(x: int, y: int): return x ** y, x << y, x >> y, x & y, x | y, x ^ y
# call: f(7, 2)
# call: f(-7, 3)
%%
def f(x: float, y: float): return x + y, x - y, x * y, x / y, x // y, x % y, x ** y
# call: f(7.5, 2.0)
# call: f(-7.5, 2.0)
%%
def f(x: int, y: float): return x + y, x * y, y - x, x / y, x < y, y >= x
# call: f(7, 2.5)
%%
def f(x: int): return -x, -3, -(x + 1), not x
# call: f(7)
# call: f(0)
%%
def f(x, y): return x + y, x - y, x * y, x / y, x @ y, x ** 2
# call: f(torch.ones(2, 2), torch.full((2, 2), 3.0))
%%
def f(x): return x + 1, 2 * x, 1 - x, x / 2, x // 2, x % 2, -x
# call: f(torch.arange(5))
%%
def f(x, y): return x == y, x != y, x < y, x <= y, x > y, x >= y
# call: f(torch.arange(4), torch.tensor([0, 2, 1, 3]))
%%
def f(x, y): return x & y, x | y, x ^ y, ~x
# call: f(torch.tensor([True, False]), torch.tensor([True, True]))
%%
def f(a: bool, b: bool): return a and b, a or b, not a, a and not b or b
# call: f(True, False)
# call: f(False, True)
# call: f(True, True)
%%
def f(a: int, b: float): return a and b, a or b
# call: f(0, 1.0)
# call: f(2, 0.0)
%%
def f(x): return bool(x) and bool(x > 1)
# call: f(torch.tensor(2))
# call: f(torch.tensor(0))
%%
# oracle: python
def f(x: int): return 1 < x < 3, 0 <= x < 10 <= 20, 1 < x > 0
# call: f(2)
# call: f(5)
# call: f(-5)
%%
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = 2
  return y
# call: f(1)
# call: f(2)
%%
def f(x: int):
  if x > 1:
    y = 1
  elif x == 0:
    y = 5
  else:
    y = 2
  return y
# call: f(1)
# call: f(0)
# call: f(2)
%%
def f(x: int):
  y = 3
  if x > 1:
    y = x
  return y
# call: f(1)
# call: f(2)
%%
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = None
  return y
# call: f(1)
# call: f(2)
%%
def f(x: int):
  if x > 1:
    a, b = 1, "x"
  else:
    b, a = "y", 2
  return a, b
# call: f(1)
# call: f(2)
%%
def f(x):
  if x.sum() > 1:
    x = x * 2
  return x
# call: f(torch.ones(3))
# call: f(torch.zeros(3))
%%
def f(x: str):
  if x:
    return 1
  return 2
# call: f("")
# call: f("a")
%%
def f(x: List[int]):
  if x:
    return x[0]
  return 2
# call: f([])
# call: f([5])
%%
def f(x: int):
  if x:
    return 1
  return 2
# call: f(0)
# call: f(5)
%%
def f(x: float):
  return 1 if x else 2
# call: f(0.0)
# call: f(5.0)
%%
def f(x: int):
  if x > 1:
    return 1
  x = x + 1
  if x < -1:
    return 2
  return x
# call: f(2)
# call: f(-5)
# call: f(0)
%%
def f(x: int, y: int):
  if x > 1:
    if y > 1:
      return 1
    x = x + y
  return x
# call: f(2, 2)
# call: f(2, 0)
# call: f(0, 0)
%%
def f(x: int, y: int):
  if x > 1:
    if y > 1:
      z = 3
    else:
      return 1
  else:
    z = 4
  w = z + x
  if w > 6:
    return w
  return -w
# call: f(2, 2)
# call: f(5, 2)
# call: f(2, 0)
# call: f(0, 0)
%%
def f(x: int):
  if x > 1:
    pass
  else:
    return 0
  return x
# call: f(2)
# call: f(0)
%%
def f(x: int) -> Optional[int]:
  if x > 1:
    return None
  return x
# call: f(2)
# call: f(0)
%%
def f(x: int) -> None:
  if x > 1:
    return
  x += 1
# call: f(2)
# call: f(0)
%%
def f(x: int):
  if x > 1:
    return x
# call: f(2)
# call: f(0)
%%
def f(x: int):
  y = 0
  for i in range(x):
    y += i
  return y
# call: f(5)
# call: f(0)
# call: f(-3)
%%
def f(x: int):
  y = [0]
  for i in range(2, x, 3):
    y.append(i)
  for i in range(x, 2, -2):
    y.append(i)
  for i in range(1, x):
    y.append(i)
  return y
# call: f(12)
# call: f(0)
%%
def f(n: int):
  i = 100
  for i in range(n):
    pass
  return i
# call: f(3)
# call: f(0)
%%
def f(n: int):
  s = 0
  for i in range(n):
    for j in range(i):
      s += i * j
  return s
# call: f(6)
%%
def f(n: int):
  while n > 3:
    n -= 2
  return n
# call: f(10)
# call: f(1)
%%
def f(x: int):
  while True:
    x += 1
    if x > 3:
      break
    if x > 1:
      continue
    x += 10
  return x
# call: f(0)
# call: f(1)
# call: f(7)
%%
def f(n: int):
  s = 0
  i = 0
  while i < n:
    i += 1
    if i % 3 == 0:
      continue
    if i > 10:
      break
    s += i
  return s, i
# call: f(5)
# call: f(50)
%%
def f(n: int):
  x = -1
  for i in range(n):
    x = i
    if i > 3:
      x = 100
      break
    y = x
  return x
# call: f(3)
# call: f(10)
%%
def f(n: int) -> int:
  for i in range(n):
    for j in range(n):
      if i * j > 10:
        return i * 100 + j
      if j > i:
        break
  return -1
# call: f(3)
# call: f(10)
%%
def f(n: int):
  r = [0]
  for i in range(n):
    if i == 2:
      continue
    for j in range(i):
      if j == 1:
        continue
      if j == 4:
        break
      r.append(i * 10 + j)
    if i == 6:
      return r
    r.append(i)
  return r
# call: f(4)
# call: f(10)
%%
def f(x: int):
  while True:
    if x > 3:
      return x
    x += 1
# call: f(0)
# call: f(10)
%%
def f(x: int):
  while x < 10:
    if x == 5:
      return "five"
    x += 1
  return "none"
# call: f(0)
# call: f(7)
%%
def f(x: int):
  while x < 10:
    x += 1
    if x == 5:
      if x > 2:
        return 1
      else:
        break
    elif x == 7:
      break
    else:
      continue
  return x
# call: f(0)
# call: f(5)
# call: f(8)
%%
def f(xs: List[int]):
  s = 0
  for x in xs:
    if x == 2:
      continue
    s += x
  return s
# call: f([1, 2, 3])
# call: f([])
%%
def f(x):
  s = torch.zeros(())
  for row in x:
    s = s + row.sum() * row[0]
  return s
# call: f(torch.arange(6.).reshape(2, 3))
%%
def f(x: Tuple[int, float]):
  s = 0.0
  for v in x:
    s = s + v
  return s
# call: f((1, 2.5))
%%
def f(d: Dict[str, int]):
  s = 0
  t = ""
  for k in d:
    s += d[k]
    t = t + k
  for k, v in d.items():
    s += v
    t += k
  for v in d.values():
    s += v
  for k in d.keys():
    t += k
  return s, t
# call: f({"a": 1, "b": 2})
# call: f({})
%%
def f(x: str):
  r = [""]
  for c in x:
    r.append(c + c)
  return r
# call: f("abc")
%%
def f(xs: List[int], ys: List[float]):
  s = 0.0
  for i, (x, y) in enumerate(zip(xs, ys)):
    s += x * y + i
  return s
# call: f([1, 2, 3], [0.5, 0.25])
%%
def f(xs: List[int]):
  r = [0]
  for i, x in enumerate(xs, 3):
    r.append(i * x)
  for x, i in zip(xs, range(10)):
    r.append(i - x)
  return r
# call: f([4, 5])
%%
def f(x: Optional[int]):
  if x is None:
    return 0
  return x + 1
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int]) -> int:
  if x is None:
    raise ValueError("none")
  return x
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int]):
  assert x is not None
  return x + 1
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int], y: Optional[int]):
  if x is not None and y is not None and x > y:
    return x + y
  return 0
# call: f(None, 1)
# call: f(3, None)
# call: f(3, 1)
%%
def f(x: Optional[int]):
  if x is None or x > 3:
    return 0
  return x + 1
# call: f(None)
# call: f(3)
# call: f(4)
%%
def f(x: Optional[int]):
  if not (x is None):
    y = x
  else:
    y = 7
  return y + 1
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int]):
  if x is None:
    x = 3
  return x + 1
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int]):
  y = x if x is not None else 3
  return y + 1
# call: f(None)
# call: f(3)
%%
def f(x: Optional[int]):
  while x is not None:
    x = None
  return x
# call: f(None)
# call: f(3)
%%
def f(x: Union[int, str, None]):
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, str):
    return len(x)
  return -1
# call: f(None)
# call: f(3)
# call: f("abc")
%%
def f(x: Union[int, str]):
  if isinstance(x, int):
    y = x + 1
  else:
    y = len(x)
  return y
# call: f(3)
# call: f("abc")
%%
def f(x: Any):
  if isinstance(x, int):
    return x + 1
  if isinstance(x, str):
    return len(x)
  return -1
# call: f(3)
# call: f("abc")
# call: f(2.5)
%%
def f(x: Any):
  return isinstance(x, (int, str)), isinstance(x, List[int]), isinstance(x, Tensor)
# call: f(3)
# call: f([1])
# call: f(torch.ones(1))
%%
def f(x: int):
  if isinstance(x, int):
    y = 1
  else:
    y = "a"
  return y
# call: f(1)
%%
def f(x: int):
  if x is None:
    return "a"
  return x
# call: f(1)
%%
def f(x: int):
  if True:
    y = 1
  else:
    y = "a"
  if False:
    y = "b"
  return y
# call: f(1)
%%
def f(x: List[int]):
  x[0] = 3
  x[1] += 4
  del x[2]
  x += [2]
  return x, x[1:3], x[::2], x[-1], x[:], 3 in x, 9 not in x, len(x)
# call: f([1, 2, 3, 4, 5])
%%
def f(x: List[int], i: int):
  return x[i]
# call: f([1, 2], -1)
# call: f([1, 2], 2)
%%
# oracle: python
def f(x: List[int]):
  x[1:3] = [7]
  y = x[:]
  del x[:1]
  x[5:1] = [8, 9]
  x[-1:] = []
  return x, y
# call: f([1, 2, 3, 4, 5])
# call: f([])
%%
def f(x: List[int]):
  y = x + [1]
  z = x * 2
  x.append(5)
  x.extend([6, 7])
  x.insert(0, 9)
  w = x.pop()
  x.reverse()
  return y, z, x, w, x.index(5), x.count(5)
# call: f([1, 2])
%%
def f(xs: List[int]):
  return [x * 2 for x in xs], [x for x in range(3)], [(x, x + 1) for x in xs]
# call: f([1, 2, 3])
%%
# oracle: python
def f(xs: List[int]):
  return [x * 2 for x in xs if x > 1], {x: x + 1 for x in xs if x % 2 == 0 if x > 2}
# call: f([1, 2, 3, 4])
%%
# oracle: python
def f(xs: List[int], n: int):
  x = "outer"
  ys = [x + n for x in xs]
  zs = [[a * b for a in xs] for b in ys]
  return x, ys, zs
# call: f([1, 2, 3, 4], 2)
%%
def f(xs: List[int]):
  return {x: str(x) for x in xs}
# call: f([1, 2])
%%
def f(xs: List[str]):
  return [x + "!" for x in xs]
# call: f(["a", "b"])
%%
def f(d: Dict[str, int]):
  d["a"] = 1
  d["b"] += 2
  del d["c"]
  return d, "a" in d, "z" in d, len(d), d.get("z"), d.get("a", 5), list(d.keys()), list(d.values())
# call: f({"b": 3, "c": 4})
%%
def f(x: Dict[int, float]):
  x[3] = 1.5
  return x[3] + x[1]
# call: f({1: 2.5})
# call: f({2: 2.5})
%%
def f():
  x: Dict[str, List[int]] = {}
  x["a"] = [1]
  x["a"] += [2]
  x["a"].append(3)
  return x, {"x": 1}, {1: [2.5]}
# call: f()
%%
def f(x: Tuple[int, str, float]):
  a, b, c = x
  return c, b, a, x[0], x[-1], x[1:], x[:2], len(x)
# call: f((1, "a", 2.5))
%%
def f(x: Tuple[int, int, int], i: int):
  return x[i]
# call: f((1, 2, 3), 1)
# call: f((1, 2, 3), -1)
# call: f((1, 2, 3), 3)
%%
# oracle: python
def f(x: Tuple[int, int, int]):
  a, *b = x
  *c, d = x
  e, *g, h = x
  return a, tuple(b), tuple(c), d, e, tuple(g), h
# call: f((1, 2, 3))
%%
def f(x: List[int]):
  a, b = x
  return a + b
# call: f([1, 2])
# call: f([1, 2, 3])
%%
def f(a: int, b: int):
  a, b = b, a
  c = d = a + 1
  (e, g), h = (a, b), 3
  return a, b, c, d, e, g, h
# call: f(1, 2)
%%
def f(x: List[int]):
  x[0], x[1] = x[1], x[0]
  return x
# call: f([1, 2])
%%
def f(x): return x.size(), x.shape, x.dim(), len(x)
# call: f(torch.ones(2, 3))
%%
def f(x):
  a, b = x.shape
  return a * b
# call: f(torch.ones(2, 3))
%%
def f(x): return x[0], x[-1], x[0, 1], x[1:], x[:, 1:2], x[..., 0], x[::2]
# call: f(torch.arange(12).reshape(3, 4))
%%
def f(x): return x[None], x[:, None], x[..., None], x[None, 0, None, 1:], x[0, ..., 1:2], x[..., None, 0], x[..., None, None]
# call: f(torch.arange(24).reshape(2, 3, 4))
%%
def f(x): return x[..., 0, None], x[..., 0, 1:], x[..., 1:, None], x[..., None, 0, None], x[0, None, ...]
# call: f(torch.arange(24).reshape(2, 3, 4))
%%
def f(x, i): return x[i], x[:, i], x[i, i], x[i, 0], x[0, i], x[i, :, i]
# call: f(torch.arange(27).reshape(3, 3, 3), torch.tensor([0, 2]))
%%
def f(x, m): return x[m], x[m, 1:], x[~m]
# call: f(torch.arange(12).reshape(3, 4), torch.tensor([True, False, True]))
%%
def f(x): return x[[0, 2]], x[:, [1, 1]]
# call: f(torch.arange(12).reshape(3, 4))
%%
# oracle: python
def f(x): return x[True], x[False], x[0, True]
# call: f(torch.arange(12).reshape(3, 4))
%%
def f(x, i: int, j: int): return x[i:j], x[i], x[:, j:], x[i:j, -1]
# call: f(torch.arange(12).reshape(3, 4), 0, 2)
%%
def f(x):
  x[0] = 3
  x[1, 2] = 2.5
  x[:, 1] = x[:, 0]
  x[2:] = torch.ones(1, 4)
  x[..., 3] = -1
  return x
# call: f(torch.zeros(3, 4))
%%
def f(x, m):
  x[m] = 5
  x[m, 0] = 7
  x[0, m[:2]] = torch.ones(2)
  return x
# call: f(torch.zeros(3, 4), torch.tensor([0, 2]))
%%
def f(x, m):
  x[0] += 3
  x[1:] *= 2
  x[m] += 3
  x[m, 1] -= 1
  return x
# call: f(torch.ones(3, 4), torch.tensor([0, 2]))
%%
def f(x, y):
  z = x
  x += y
  x *= 2
  x -= 1
  x /= 2
  return x, z
# call: f(torch.ones(3), torch.ones(3))
%%
# oracle: python
def f(x: int):
  x += 1
  x -= 3
  x *= 2
  x %= 7
  return x
# call: f(10)
%%
def f(x: float):
  x += 1
  x /= 3
  return x
# call: f(10.0)
%%
def f(x: str, n: int): return "{} is {}".format(x, n), "%s %d" % (x, n), x + "a", "%s" % x
# call: f("abc", 3)
%%
def f(x: str): return x[1:], x[0], x[-1], x[::-1], "a" in x, len(x), x == "abc", x < "b"
# call: f("abc")
%%
def f(x: str): return x.upper(), x.split("b"), x.strip(), x.replace("a", "z"), x.find("c"), x.startswith("a")
# call: f("abc")
%%
# oracle: python
def f(x: str, n: int): return f"{x} has {n + 1}!", f"", f"{{}}{n}"
# call: f("abc", 3)
%%
def f(x: int): return str(x), float(x), int(2.7), bool(x), int("12"), float("1.5")
# call: f(3)
%%
def f(x: int): return x if x > 2 else 0
# call: f(3)
# call: f(1)
%%
def f(x: int): return 1 if x > 2 else 2 if x > 1 else None
# call: f(3)
# call: f(2)
# call: f(1)
%%
def f(x: int):
  y = torch.jit.annotate(List[int], [])
  for i in range(x):
    y.append(i)
  z = torch.jit.annotate(Optional[int], None)
  if x > 2:
    z = x
  return y, z
# call: f(3)
# call: f(1)
%%
def f(c: bool):
  x: Optional[int] = 3
  y = [x]
  y.append(None)
  if c:
    x = None
  return x, y
# call: f(True)
# call: f(False)
%%
def f():
  a: List[Optional[int]] = [1, None]
  b: List[int] = []
  c: Dict[str, float] = {}
  d: Tuple[int, Optional[str]] = (1, None)
  return a, b, c, d, [1, 2], [[1.0], [2.0]], (), (1,)
# call: f()
%%
def f(x: int):
  raise ValueError("a {}".format(x))
# call: f(3)
%%
def f(x: int):
  if x == 1:
    raise ValueError
  if x == 2:
    raise RuntimeError("a", x)
  if x == 3:
    raise NotImplementedError(x)
  if x == 4:
    raise AssertionError("four")
  return x
# call: f(1)
# call: f(2)
# call: f(3)
# call: f(4)
# call: f(5)
%%
def f(x: int):
  if x > 1:
    y = 1
  else:
    raise ValueError("x is {}".format(x))
  return y + 1
# call: f(1)
# call: f(2)
%%
def f(x: int):
  assert x > 1
  assert x > 2, "more than two"
  assert x > 3, "x is {}".format(x)
  return x
# call: f(1)
# call: f(2)
# call: f(3)
# call: f(4)
%%
def g(x: int, y: int = 2, *, z: int = 3): return x + y * 10 + z * 100
def f(t: Tuple[int, int]): return g(1), g(1, z=4), g(t[0], t[1]), g(y=1, x=2), g(*t)
# call: f((5, 6))
%%
def g(x):
  if x.sum() > 1:
    return x, 1
  return x + 1, 2
def f(x):
  y, n = g(x)
  z, m = g(y)
  return y, z, n + m
# call: f(torch.zeros(3))
%%
def g(x, n: int): return x + n
def f(x):
  t = torch.jit.fork(g, x * 2, 3)
  u = torch.jit.fork(g, x, n=4)
  return torch.jit.wait(t) + torch.jit.wait(u)
# call: f(torch.ones(2))
%%
def f(x):
  with torch.no_grad():
    y = x * 2
  return y.requires_grad, y
# call: f(torch.ones(2, requires_grad=True))
%%
# oracle: python
def f(x):
  with torch.no_grad():
    if bool(x.sum() > 1):
      return (x * 3).requires_grad
    z = x + 1
  return (z * x).requires_grad
# call: f(torch.ones(2, requires_grad=True))
# call: f(torch.zeros(2, requires_grad=True))
%%
def f(n: int):
  s = 0
  for i in range(n):
    if i == 1:
      s += 1
    elif i == 2:
      if s > 0:
        s += 10
        continue
      s += 100
    else:
      s += 1000
    s += 10000
  return s
# call: f(5)
%%
def f(n: int):
  for i in range(n):
    if i == 3:
      break
  else_ = 1
  return else_
# call: f(5)
%%
def f(n: int):
  r = [0]
  while n > 0:
    n -= 1
    if n == 5:
      r.append(5)
      continue
    k = n
    while k > 0:
      k -= 1
      if k == 2:
        break
      r.append(k)
      if k == 7:
        return r
  return r
# call: f(7)
# call: f(9)
%%
def f(x: int, y: int):
  if x > 0:
    if y > 0:
      a = 1
    else:
      raise ValueError("y")
  else:
    if y > 0:
      return 5
    a = 2
  b = a * 2
  return b
# call: f(1, 1)
# call: f(1, 0)
# call: f(0, 1)
# call: f(0, 0)
%%
def f(x: int):
  if x > 0:
    y = x
    z = y
  else:
    y = -x
  return y
# call: f(1)
# call: f(-1)
%%
def f(x: Optional[Tensor], y: Optional[Tensor]):
  if x is not None and y is not None:
    return x + y
  elif not (x is None):
    return x
  elif y is not None:
    return y
  raise RuntimeError("no")
# call: f(torch.ones(1), torch.ones(1))
# call: f(torch.ones(1), None)
# call: f(None, torch.ones(1))
# call: f(None, None)
%%
def f(x: Optional[List[int]]):
  r = 0
  if x is not None:
    for i in x:
      r += i
  return r
# call: f([1, 2])
# call: f(None)
%%
def f(xs: List[Optional[int]]):
  s = 0
  for x in xs:
    if x is not None:
      s += x
  return s
# call: f([1, None, 2])
%%
def f(x: int):
  return x == 1 or x == 2 or x == 3 and x > 0
# call: f(1)
# call: f(3)
# call: f(4)
%%
def f(x: complex): return x + 1j, x * 2, -x
# call: f(1 + 2j)
%%
# oracle: python
def f(): return 3j, 1e3, 1_000, 0x1f, -1.5
# call: f()
%%
def f(x: int): return min(x, 3), max(x, 3), abs(-x), round(2.5), divmod(x, 3), sum([1, 2, x])
# call: f(5)
%%
def f(x: List[int]): return sorted(x), len(x), min(x), max(x), any([True, False]), all([True, False])
# call: f([3, 1, 2])
%%
def f(x): return torch.cat([x, x], dim=0), torch.stack([x, x]), torch.relu(x), x.view(-1), x.view(3, 2), x.t()
# call: f(torch.arange(6.).reshape(2, 3) - 2)
%%
def f(x): return x.sum(), x.sum(0), x.sum(dim=1, keepdim=True), x.mean(), x.max(), torch.max(x, dim=0)[0]
# call: f(torch.arange(6.).reshape(2, 3))
%%
def f(x):
  a, b = torch.max(x, dim=1)
  c, d = x.unbind(0)
  e = x.chunk(2, dim=1)
  return a, b, c, d, e[0]
# call: f(torch.arange(6.).reshape(2, 3))
%%
def f(x): return x.dtype == torch.float32, x.is_cuda, x.ndim, x.T
# call: f(torch.arange(6.).reshape(2, 3))
%%
def f(n: int): return torch.zeros(n), torch.ones([n, 2], dtype=torch.int64), torch.arange(n), torch.tensor([1, n]), torch.full([2], 1.5)
# call: f(3)
%%
def f(x): return float(x), int(x), x.item()
# call: f(torch.tensor(2.5))
%%
# oracle: python
def f(x: float): return math.sqrt(x), math.floor(x), math.pi
# call: f(2.5)
%%
def f(x: List[List[int]]):
  s = 0
  for row in x:
    for v in row:
      s += v
  x[0][1] = 100
  return s, x[1][0], x
# call: f([[1, 2], [3, 4]])
%%
def f(n: int):
  a, b = 0, 1
  while a < n:
    a, b = b, a + b
  return a, b
# call: f(100)
%%
def f(n: int):
  r: List[int] = []
  for i in range(2, n):
    prime = True
    for j in range(2, i):
      if i % j == 0:
        prime = False
        break
    if prime:
      r.append(i)
  return r
# call: f(30)
%%
def f(xs: List[int]):
  n = len(xs)
  for i in range(n):
    for j in range(n - i - 1):
      if xs[j] > xs[j + 1]:
        xs[j], xs[j + 1] = xs[j + 1], xs[j]
  return xs
# call: f([3, 1, 2, 5, 4])
%%
def f(x, h, c, w, b):
  gates = x @ w + h @ w + b
  i, g, o = gates.chunk(3, 1)
  c = torch.sigmoid(i) * torch.tanh(g) + c
  h = torch.sigmoid(o) * torch.tanh(c)
  return h, c
# call: f(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.ones(2, 6) / 3, torch.ones(6))
%%
def f(x):
  # type: (int) -> int
  return x
# call: f(3)
%%
def f(x, y):
  # type: (Tensor, Optional[int]) -> Tensor
  if y is None:
    return x
  return x + y
# call: f(torch.ones(1), 2)
# call: f(torch.ones(1), None)
%%
def f(x: int):
  y = x
  del y
  return x
# call: f(3)
%%
def f(x: int):
  y = "a"
  y = 3
  return y + x
# call: f(3)
%%
def f(x: bool, y: bool):
  r = [0]
  if x:
    r.append(1)
  if y:
    r.append(2)
  elif x:
    r.append(3)
  return r
# call: f(True, False)
# call: f(False, True)
%%
def f(n: int):
  x: Optional[int] = None
  for i in range(n):
    if x is None:
      x = i
    else:
      x = x + i
  return x
# call: f(0)
# call: f(4)
%%
def f(xs: List[float]):
  best = xs[0]
  at = 0
  for i, x in enumerate(xs):
    if x > best:
      best, at = x, i
  return best, at
# call: f([1.0, 3.0, 2.0])
%%
def f(s: str, t: str): return s + t, s == t, [s, t], {s: t}
# call: f("a", "b")
%%
def f(x: int, y: Optional[str] = None): return (x, y)
# call: f(1)
# call: f(1, "a")
# call: f(y="b", x=2)
%%
# oracle: python
def f(xs: List[int]):
  it = list(range(3))
  d = dict([("a", 1), ("b", 2)])
  t = list("abc")
  return it, d, t, list(xs), list(enumerate(xs)), list(zip(xs, t))
# call: f([7, 8])
%%
# oracle: python
def f(x: int):
  a, (b, *c), [d, e] = 1, (2, 3, 4), (5, x)
  return a, b, tuple(c), d, e
# call: f(6)
%%
# oracle: python
def f(x: Tuple[int, str, float], n: int):
  r = [""]
  for v in x:
    if n == 0:
      break
    n -= 1
    if n == 1:
      continue
    r.append(str(v))
  return r, n
# call: f((1, "a", 2.5), 5)
# call: f((1, "a", 2.5), 2)
# call: f((1, "a", 2.5), 0)
%%
# oracle: python
def f(x: int) -> int:
  while True:
    if x > 10:
      return x
    while True:
      x += 3
      if x % 2 == 0:
        break
# call: f(0)
# call: f(12)
%%
# oracle: python
def f(x: Optional[int], y: Any):
  if x is None is None:
    return 1
  return 2
# call: f(1, None)
# call: f(None, None)
%%
# oracle: python
def f(y: Any):
  if y is None:
    return 1
  return 2
# call: f(1)
# call: f(None)
%%
# oracle: python
def f(x):
  x //= 2
  x **= 2
  return x
# call: f(torch.arange(4.))
"""

ERRORS = r"""
def f(x: int): return y
%%
def f(x: int):
  if x > 1:
    y = 1
  return y
%%
def f(x: int):
  if x > 1:
    z = 1
  else:
    y = 1
  return y
%%
def f(x: int):
  for i in range(3):
    y = 1
  return y
%%
def f(x: int):
  y = 1
  if x > 1:
    y = "a"
  return y
%%
def f(x: int):
  for i in range(3):
    x = 1.5
  return x
%%
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = "a"
  return y
%%
def f(x: int):
  y: str = x
%%
def f(x: int) -> str: return x
%%
def f(x: int):
  if x > 1:
    return 1
  return "a"
%%
def f(x: int) -> int:
  if x > 1:
    return 1
%%
def f(x: int):
  break
%%
def f(x: int):
  for i in x:
    pass
%%
def f(x: int): return x[0]
%%
def f(x: int): return x.foo
%%
def f(x: int): return x(3)
%%
def f(x: int):
  x.y = 3
%%
def f(x: Optional[int]):
  if x:
    return 1
  return 2
%%
def f(x: int): return 1 if x > 1 else "a"
%%
def f(x: Tuple[int, int]): return x[2]
%%
def f(x: Tuple[int, str], i: int): return x[i]
%%
def f(x: Tuple[int, int]):
  x[0] = 1
%%
def f(x: Tuple[int, int]):
  a, b, c = x
%%
def f(x: Tuple[int, int, int]):
  a, b = x
%%
def f(x: List[int]):
  a, *b = x
%%
def f(x: int):
  raise "asd"
%%
def f(): return {"a": 1, 2: 3}
%%
def f():
  x: List[int] = [1, "a"]
%%
def f(x: int):
  y = torch.relu
  if x > 1:
    y = torch.tanh
  return x
%%
def f(x): return x["a"]
%%
def f(x: int):
  del x
  return x
%%
def f(x: Optional[int]): return x + 1
%%
def f(x: int): return torch.jit.annotate(str, x)
%%
def f(x: int):
  if x > 1:
    x: str = "a"
  return x
%%
def f(x: int): return hasattr(x, "y")
%%
def f(x: int): return undefined_function(x)
%%
def f(x: int): return torch.no_such_op(x)
%%
def f(x: int): return torch.relu(x, x, x)
%%
def f(x): return x.relu(nothing=3)
"""

NAMESPACE = {
    "torch": torch,
    "math": math,
    "Tensor": torch.Tensor,
    "List": List,
    "Dict": Dict,
    "Tuple": Tuple,
    "Optional": Optional,
    "Union": Union,
    "Any": Any,
}


def programs(text):
    return [p.strip("\n") + "\n" for p in text.split("\n%%\n")]


def calls(program):
    return [line[len("# call: ") :] for line in program.split("\n") if line.startswith("# call: ")]


def outcome(functions, call):
    """The value of a call with fresh arguments, or the exception."""
    torch.manual_seed(0)
    try:
        return "value", eval(call, {**NAMESPACE, **functions})
    except Exception as error:  # noqa: BLE001
        return "raised", error


def assert_same(a, b):
    if isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor)
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
        return
    if isinstance(a, (list, tuple)):
        assert isinstance(b, type(a)) or isinstance(a, torch.Size) or isinstance(b, torch.Size)
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
        return
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
        return
    assert type(a) is type(b)
    assert a == b or (a != a and b != b)


def last_line(error):
    """What the program itself said: the end of torch.jit's message after its traceback."""
    text = str(error).strip().split("\n")[-1]
    return text.split("Error: ", 1)[-1] if "Error: " in text else text


@pytest.mark.parametrize("program", programs(CORPUS))
def test_program(program):
    mine = cresset.CompilationUnit(program)
    if "# oracle: python" in program:
        theirs = dict(NAMESPACE)
        exec(program, theirs)
        functions = {"f": theirs["f"]}
    else:
        functions = {"f": torch.jit.CompilationUnit(program).f}
    assert calls(program)
    for call in calls(program):
        kind, value = outcome({"f": mine.f}, call)
        expected_kind, expected = outcome(functions, call)
        assert kind == expected_kind, f"{call}: {value!r} instead of {expected!r}"
        if kind == "value":
            assert_same(value, expected)
        elif "# oracle: python" not in program:
            assert last_line(expected) in str(value), call


@pytest.mark.parametrize("program", programs(ERRORS))
def test_error(program):
    with pytest.raises(RuntimeError) as theirs:
        torch.jit.CompilationUnit(program)
    with pytest.raises(Exception) as mine:
        cresset.CompilationUnit(program)
    phrase = next(line for line in str(theirs.value).split("\n") if line.strip()).strip().rstrip(":. ")
    phrase = phrase.replace(" (inferred)", "")
    assert phrase in str(mine.value), str(mine.value)
