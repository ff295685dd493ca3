"""Messages that torch.jit's users match on, as PyTorch's own tests do: each phrase is in torch.jit's message and in ours.

A line of a table is a program, its call if it compiles, and the phrase.
"""

import math  # noqa: F401  (torch.jit looks for names where a text is compiled)
import re
from typing import Optional

import pytest
import torch

import cresset

# (program, phrase): refused when it is compiled.
REFUSED = [
    ("def f(x: int):\n  x = []\n  if 1 == 1:\n    x = [1]\n  return x", "previously had type"),
    ("def f():\n  x = []\n  if 1 == 1:\n    x = [1, 2]\n  return", "previously had type List[Tensor]"),
    ("def f():\n  x = [1]\n  if 1 == 1:\n    x = [1.0]\n  return", "previously had type"),
    (
        "def f():\n  x: List[int] = [1]\n  y: List[Optional[int]] = x\n  return x",
        "Variable 'y' is annotated with type List[Optional[int]] but is being assigned to a value of type List[int]",
    ),
    (
        'def f():\n  x: Dict[int, str] = dict([("a", 1)])\n  return x',
        "Dict type annotation `Dict[int, str]` did not match the type of an actual key type `str`",
    ),
    ("def f(x):\n  return y", "undefined value y"),
    ("def f(x):\n  return x + y.z", "undefined value y"),
    ("def f(x: bool):\n  if x:\n    y = 1\n  return y", "y is not defined in the false branch"),
    ("def f(x: bool):\n  if x:\n    z = 1\n  else:\n    y = 1\n  return y", "y is not defined in the true branch"),
    ("def f():\n  for i in range(3):\n    y = 1\n  return y", "undefined value y"),
    ("def f(x: int) -> str:\n  return x", "Return value was annotated as having type str but is actually of type int"),
    ("def f(x: int) -> int:\n  if x > 1:\n    return 1", "does not return along all paths"),
    (
        "def f(x: int):\n  if x > 1:\n    return 1\n  return 1.5",
        "Previous return statement returned a value of type int",
    ),
    ("def f(x: Tuple[int, int]):\n  a, b, c = x", "need 3 values to unpack"),
    ("def f(x: Tuple[int, int, int]):\n  a, b = x", "too many values to unpack"),
    ("def f(x: int):\n  a, b = x", "cannot be used as a tuple"),
    ("def f(x: Tuple[int, int]):\n  return x[2]", "Tuple index out of range"),
    (
        "def f(x: Tuple[int, str], i: int):\n  return x[i]",
        "Cannot index into a Tuple[int, str] with a non-integer literal",
    ),
    ("def f(x: int):\n  return x(3)", "cannot call a value of type 'int'"),
    ("def f(x: int):\n  return x.foo", "object has no attribute or method 'foo'"),
    ("def f(x: int):\n  return x[0]", "is not subscriptable"),
    ("def f(x: int):\n  for i in x:\n    pass", "object is not iterable"),
    ("def f(x: Optional[int]):\n  return x + 1", "Arguments for call are not valid"),
    (
        "def f(x: Optional[int]):\n  if x:\n    return 1\n  return 2",
        "Could not cast value of type Optional[int] to bool",
    ),
    ("def f(x):\n  return torch.relu(x, x)", "Expected at most 1 arguments but found 2 positional arguments"),
    ("def f(x):\n  return torch.relu(x, foo=1)", "Keyword argument foo unknown"),
    ("def f(x):\n  return torch.relu()", "Argument self not provided"),
    ("def f(x):\n  return torch.no_such_op(x)", "no_such_op"),
    ("def f(x):\n  return torch.mm(x, 1.5)", "Expected a value of type 'Tensor' for argument 'mat2'"),
    ('def f(x: int):\n  return 1 if x > 1 else "a"', "true branch has type int but false branch has type str"),
    ('def f():\n  return {"a": 1, 2: 3}', "Dict keys must contain only a single type"),
    ('def f():\n  raise "a"', "exceptions must derive from BaseException"),
    ("def f(x: int):\n  break", "break"),
    ("def f(x: int):\n  continue", "continue"),
    ("def f(x):\n  x.y = 3", "Tried to set an attribute: y on a non-class"),
    ("def f(x: int):\n  y: str = x", "but is being assigned to a value of type int"),
    ("def f(x: List[int]):\n  a, *b = x", "cannot statically infer the expected size of a list"),
    ("def f(x: int):\n  del x\n  return x", "undefined value x"),
    ("def f(x: foo):\n  return x", "Unknown type name 'foo'"),
    ("def f(x: List):\n  return x", "List"),
    ("def f(x: Tuple[int, int]):\n  x[0] = 1", "assign"),
    ("def f(x: int):\n  return torch.jit.annotate(str, x)", "expected an expression of type str but found int"),
    ("def f(x: List[int]):\n  for i, j in x:\n    pass", "cannot be used as a tuple"),
    ("def f(x):\n  return x.tolist()", "Expected type hint for result of tolist()"),
    ("def f(x):\n  y: List[str] = x.tolist()\n  return y", "is not one of the supported element types for tolist"),
    ("def f(x: Dict[int, int]):\n  return x.foo()", "object has no attribute or method 'foo'"),
    ("def f(x: List[int]):\n  x.append(1.5)", "append"),
    ("def f(x: int):\n  while x > 0:\n    x = 1.5\n  return x", "previously had type int"),
    ("def f(x):\n  return x[..., ...]", "ellipsis"),
    ('def f(x):\n  return x["a"]', "index"),
    ("def f(x: int):\n  x = x.y = 3\n  return x", "y"),
    ("def f(x):\n  return x + ", "expected"),
    ("def f(x: int):\n  return -x.y", "object has no attribute or method 'y'"),
    ("def f():\n  return len(torch)", "module"),
    ("def f(x: Any):\n  return x + 1", "Any"),
    ("def f():\n  x = range(3)\n  return x", "range cannot be used as a value"),
    ("def f():\n  return range(3)", "range cannot be used as a value"),
    ("def f(x: List[int]):\n  return zip(x, x)", "cannot be used as a value"),
    ("def f(x: List[int]):\n  for i, j in x:\n    pass", "int cannot be used as a tuple"),
    ("def f(x: Tuple[int, int]):\n  x[0] = 1", "does not support subscripted assignment"),
    ("def f(x: List[int]):\n  return x.size()", "object has no attribute or method 'size'"),
    ("def f(x):\n  if x.size(0) > 1:\n    y = x\n  return y", "y is not defined in the false branch"),
    ("def f(x):\n  return x.shape[0].foo", "'int' object has no attribute or method 'foo'"),
    ("def f(x):\n  return torch.cat(x, x)", "Arguments for call are not valid"),
    ("def f(x: Optional[Tensor]):\n  return x.sum()", "'Optional[Tensor]' object has no attribute or method 'sum'"),
    ("def f(x: List[Any]):\n  return x[0].foo", "foo"),
    ("def f(x: Union[int, str]):\n  return x + 1", "Union[int, str]"),
    ("def f(x):\n  with x:\n    pass", "with"),
    ("def f():\n  return range(1, 2, 3, 4)", "range"),
    ("def f():\n  for i in range(1.5):\n    pass", "range"),
    ("def f():\n  for i in zip():\n    pass", "zip"),
    ("def f(x: int):\n  return isinstance(x)", "isinstance"),
    ("def f(x: int):\n  return f(x)", "called recursively"),
    ("def f(x: Optional[int]) -> int:\n  return x", "but is actually of type Optional[int]"),
    ("def f(x: List[str]):\n  return sum(x)", "Arguments for call are not valid"),
    ("def f(x: str):\n  return x - 1", "Arguments for call are not valid"),
    ("def f(x: List[int]):\n  x.append('a')", "Could not match type str"),
    ("def f():\n  x: List[Union[int, str]] = [1, 'a']\n  x.append(2.0)", "Could not match type float"),
    ("def f():\n  x: Dict[Union[int, str], str] = {}\n  return x", "keys are supported"),
    (
        "def f(x):\n  li = torch.jit.annotate(List[str], x.tolist())\n  return li",
        "str is not one of the supported element types for tolist",
    ),
    (
        "def f(x) -> List[float]:\n  li = torch.jit.annotate(float, x.tolist())\n  return li",
        "Return value was annotated as having type List[float] but is actually of type float",
    ),
    ("def f():\n  b: int = [2, 3]\n  return b", "Expected an annotation of type List"),
    ("def f():\n  b: int = {1: 3}\n  return b", "Expected an annotation of type Dict"),
    ("def f(a: Dict[str, int]) -> int:\n  return a[None]", "but instead found type"),
    ("def f(a: Dict[int, int], y: int) -> int:\n  return a.get(y)", "is actually of type Optional"),
    ("def f():\n  a = dict()\n  a[1] = 2\n  return a", "Arguments for call are not"),
    ("def f():\n  return tuple(1, 2)", "1 argument"),
    ("def f():\n  return tuple([1, 2, 3])", "cannot statically infer the expected"),
    ("def f():\n  a, *b, *c = (1, 2, 3)\n  return a", "star"),
    ("def f(x: int):\n  for i in enumerate(x):\n    pass", "object is not iterable"),
    ("def f(x: List[int]):\n  for i, (j, k) in enumerate(x):\n    pass", "cannot be used as a tuple"),
    ("def f(x: List[int]):\n  for a, b in zip(x):\n    pass", "unpack"),
    ("def f(x: int):\n  for i in range():\n    pass", "range"),
    ("def f(x: int):\n  for i in range(x, x, x, x):\n    pass", "range"),
    ("def f(x: int):\n  x.y = 1", "Tried to set an attribute: y on a non-class"),
    ("def f(x: Tuple[int, int]):\n  return x[-3]", "Tuple index out of range"),
    ("def f(x):\n  return x[1.5]", "Unsupported operation: indexing tensor with unsupported index type 'float'"),
    ("def f(x: List[int], y: List[str]):\n  return x + y", "Arguments for call are not valid"),
    (
        "def f(x: int) -> Tuple[int, int]:\n  return x",
        "Return value was annotated as having type Tuple[int, int] but is actually of type int",
    ),
    (
        "def f(x: int):\n  if x > 0:\n    return 1\n  else:\n    return 'a'",
        "Previous return statement returned a value of type int but this return statement returns a value of type str",
    ),
    (
        "def f(x: int):\n  if x > 0:\n    y = 1\n  else:\n    y = 'a'\n  return y",
        "Type mismatch: y is set to type int in the true branch and type str in the false branch",
    ),
    (
        "def f(x: int):\n  y = 1\n  while x > 0:\n    y = 'a'\n    x -= 1\n  return y",
        "Variable 'y' previously had type int",
    ),
    ("def f(x):\n  return x.foo(3)", "object has no attribute or method 'foo'"),
    ("def f(x):\n  return undefined_function(x)", "undefined value undefined_function"),
    ("def f(x: int):\n  raise 'a'", "exceptions must derive from BaseException"),
    ("def f(x: int):\n  return hasattr(x, 'a')", "hasattr"),
    ("def f(x, name: str):\n  return hasattr(x, name)", "hasattr"),
    ("def f(x, name: str):\n  return getattr(x, name)", "getattr"),
    ("def f(x, name: str):\n  return getattr(x)", "getattr"),
    ("def f(x: List[int]):\n  x.sort('a')", "reverse"),
    ("def f(x: int):\n  return x if x else", "expected"),
    ("def f(x: int):\n  y += 1\n  return x", "undefined value y"),
    ("def f(x: int):\n  return 'a' % x % ", "expected"),
    ("def f(x):\n  return x.add(x, beta=2)", "Keyword argument beta unknown"),
    ("def f(x):\n  return x.add(x, other=x)", "specified twice"),
    ("def g(x: int): return x\ndef f(x: int): return g()", "Argument x not provided"),
    (
        "def g(x: int): return x\ndef f(x: int): return g(x, x)",
        "Expected at most 1 arguments but found 2 positional arguments",
    ),
    (
        "def g(x: int): return x\ndef f(x: int): return g('a')",
        "Expected a value of type 'int' for argument 'x' but instead found type 'str'",
    ),
]

# (program, call, phrase): raised when it runs.
RAISED = [
    ("def f(x: List[int]): return x[4]\n", ([1],), "list index out of range"),
    ("def f(x: List[int]): return x[-5]\n", ([1],), "list index out of range"),
    ("def f(x: List[int]): return x.pop()\n", ([],), "pop from empty list"),
    ("def f(x: List[int]): x.remove(5)\n", ([1],), "x not in list"),
    ("def f(x: List[int]): return x.index(5)\n", ([1],), "'5' is not in list"),
    ("def f(x: List[int]): return max(x)\n", ([],), "max() arg is an empty sequence"),
    ("def f(x: List[int]): return min(x)\n", ([],), "min() arg is an empty sequence"),
    ("def f(x: Dict[str, int]): return x['b']\n", ({"a": 1},), "KeyError"),
    ("def f(x: Dict[str, int]): return x.pop('b')\n", ({"a": 1},), "KeyError"),
    ("def f(x: Dict[str, int]):\n  del x['b']\n", ({"a": 1},), "KeyError"),
    ("def f(x: Dict[str, int]): return x.popitem()\n", ({},), "popitem(): dictionary is empty"),
    ("def f(x: int): return 1 // x\n", (0,), "division by 0"),
    ("def f(x: float): return divmod(1.0, x)\n", (0.0,), "ZeroDivisionError: float divmod()"),
    ("def f(x: int): return math.factorial(x)\n", (-1,), "factorial() not defined for negative values"),
    ("def f(x: str): return x.index('z')\n", ("abc",), "ValueError: substring not found"),
    ("def f(x: str): return ord(x)\n", ("abc",), "String for ord() must be 1 character, found 3"),
    ("def f(x: int): return chr(x)\n", (-1,), "chr() arg not in range"),
    ("def f(x: str): return x.split('')\n", ("a",), "empty separator"),
    ("def f(x: str): return '%d' % x\n", ("a",), "%d requires a number for formatting, but got String"),
    ("def f(x: str): return '%s %s' % x\n", ("a",), "Too few arguments for format string"),
    ("def f(x: str): return '%s' % (x, x)\n", ("a",), "Too many arguments for format string"),
    ("def f(x: int):\n  assert x > 1, 'too small'\n", (0,), "AssertionError: too small"),
    ("def f(x: int):\n  raise ValueError('bad')\n", (0,), "bad"),
    ("def f(x): return x.item()\n", (torch.ones(2),), "cannot be converted to Scalar"),
    ("def f(x): return bool(x)\n", (torch.ones(2),), "Boolean value of Tensor with more than one value is ambiguous"),
    (
        "def f(x): return x + torch.ones(3)\n",
        (torch.ones(2),),
        "The size of tensor a (2) must match the size of tensor b (3)",
    ),
    ("def f(x: Optional[int]): return torch.jit._unwrap_optional(x)\n", (None,), "Unwrapping null optional"),
    ("def f(x: List[int]):\n  a, b = x\n  return a\n", ([1],), "Expected 2 elements in a list but found 1"),
    ("def f(x: List[int]):\n  a, b = x\n  return a\n", ([1, 2, 3],), "Expected 2 elements in a list but found 3"),
    ("def f(x: int):\n  for i in range(1, 5, x):\n    print(i)\n", (0,), "range() arg 3 must not be zero"),
    ("def f(x: List[int]): return x[::0]\n", ([1],), "List slice should have non-zero step"),
    (
        "def f(x):\n  y: List[int] = x.tolist()\n  return y\n",
        (torch.ones(2),),
        "Output annotation element type and runtime tensor element type must match",
    ),
    (
        "def f(x):\n  y: List[List[int]] = x.tolist()\n  return y\n",
        (torch.ones(2).long(),),
        "Output annotation list dimension and runtime tensor dimension must match for tolist()",
    ),
    ("def f(x: int): return x\n", ("a",), "Expected a value of type 'int' for argument 'x'"),
    ("def f(x: List[int]): return x\n", ([1, "a"],), "List[int]"),
    ("def f(x): return x\n", (), "missing value for argument 'x'"),
    ("def f(x): return x\n", (1, 2), "expected at most 1 argument(s) but received 2 argument(s)"),
    (
        "def f(x: Union[int, float]) -> str: return 'a'\n",
        ("1",),
        "Expected a member of Union[float, int] but instead found type str",
    ),
    (
        "def f(x: Union[Dict[str, int], List[int]]) -> str: return 'a'\n",
        ({"a": "b"},),
        "Expected a member of Union[List[int], Dict[str, int]] but instead found type Dict[str, str]",
    ),
    (
        "def f(x: Union[Dict[str, int], List[int]]) -> str: return 'a'\n",
        (["a"],),
        "Expected a member of Union[List[int], Dict[str, int]] but instead found type List[str]",
    ),
    ("def f(x: Union[Dict[str, int], List[int]]) -> str: return 'a'\n", ("a",), "but instead found type str"),
    ("def f(x: int, y: int):\n  return x\n", (1,), "f() is missing value for argument 'y'"),
]


def message(engine, program, arguments=None):
    with pytest.raises(Exception) as caught:
        function = engine.CompilationUnit(program + "\n").f
        if arguments is not None:
            function(*arguments)
    return re.sub(r"\s+", " ", str(caught.value))


@pytest.mark.parametrize("program, phrase", REFUSED)
def test_refused(program, phrase):
    assert phrase in message(torch.jit, program), "torch.jit itself does not say so"
    assert phrase in message(cresset, program)


@pytest.mark.parametrize("program, arguments, phrase", RAISED)
def test_raised(program, arguments, phrase):
    assert phrase in message(torch.jit, program, arguments), "torch.jit itself does not say so"
    assert phrase in message(cresset, program, arguments)


class KeepsNone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Optional[torch.Tensor]):
        self.last = x
        return x


def test_advice_for_attributes_that_were_none():
    with pytest.raises(cresset.CompileError) as caught:
        cresset.script(KeepsNone())
    assert "annotate it in the class's body, `last: Optional[Tensor]`" in str(caught.value)
