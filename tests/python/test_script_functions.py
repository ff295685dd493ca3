"""cresset.script of Python functions, compared with torch.jit.script."""

import copy
import functools
import gc
import inspect
import io
import linecache
import math
import pickle
import textwrap
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
import torch
import torch.nn.functional as F
from script_compare import check, check_python
from torch import Tensor

import cresset

X = torch.arange(6.0).reshape(2, 3)


def tanh_sum(x, y):
    return torch.tanh(x) + y


def with_loop(x: Tensor, n: int) -> Tensor:
    """Adds x to itself."""
    for i in range(n):
        if i % 2 == 0:
            x = x + i
        else:
            x = x * 2
    return x


def early(x: Tensor, flag: bool = False):
    if flag:
        return x.sum()
    y = x * 2
    return y.mean()


def keyword_default(x: Tensor, alpha: float = 0.5, names: Tuple[str, ...] = ()) -> Tensor:
    return x * alpha


def type_comment(x, n, names):
    # type: (Tensor, int, List[str]) -> Tuple[Tensor, str]
    return x * n, names[0]


def type_comments_by_line(
    x,  # type: Tensor
    n,  # type: int
):
    # type: (...) -> Tensor
    return x * n


def optional(x: Optional[Tensor], y: Tensor) -> Tensor:
    if x is None:
        return y
    return x + y


def union(x: Union[int, str]) -> str:
    if isinstance(x, int):
        return str(x + 1)
    else:
        return x + "!"


def any_value(x: Any) -> int:
    if isinstance(x, int):
        return x
    if isinstance(x, str):
        return len(x)
    return -1


def containers(xs: List[int], d: Dict[str, int]) -> Tuple[List[int], Dict[str, int]]:
    xs.append(len(d))
    d["n"] = sum(xs)
    ys = [x * x for x in xs if x > 1]
    e = {str(k): v for k, v in enumerate(ys)}
    for k in d:
        e[k] = d[k]
    return ys, e


def strings(x: int, name: str) -> str:
    return f"{name}: {x:>4} {x + 1}" + " %d %s" % (x, name) + "{} {}".format(name, x)  # noqa: UP031, UP032


def checks(x: int) -> int:
    assert x > 0, f"{x} is not positive"
    if x > 10:
        raise ValueError(f"{x} is too big")
    return x


def while_loop(n: int) -> List[int]:
    out: List[int] = []
    while True:
        n = n // 2
        if n == 3:
            continue
        if n <= 0:
            break
        out.append(n)
    return out


def attributes(x: Tensor) -> Tuple[int, int, List[int], bool, int]:
    return x.dim(), x.shape[0], x.size(), x.requires_grad, x.numel()


def math_functions(x: float) -> Tuple[float, float, int, float]:
    return math.sqrt(x), math.pi * x, math.floor(x), math.log(x, 2.0) if False else math.exp(x)


def functional(x: Tensor) -> Tensor:
    x = F.relu(x)
    x = F.linear(x, torch.ones(4, 3), bias=torch.zeros(4))
    x = F.layer_norm(x, [4])
    x = F.dropout(x, 0.5, False)
    return F.softmax(F.gelu(x), dim=-1)


def tensors_and_dtypes(n: int) -> Tuple[Tensor, Tensor, Tensor]:
    a = torch.zeros(n, dtype=torch.float64)
    b = torch.arange(n, device="cpu", dtype=torch.int32)
    c = torch.full([n], 2.5, layout=torch.strided)
    return a, b, c.to(torch.float16)


def tuple_results(x: Tensor) -> Tuple[Tensor, Tensor]:
    values, indices = x.max(1)
    return torch.topk(values, 1)[0], indices


def indexing(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 1
    y[:, 1:] += 2
    y[y > 4] = -1
    return y[..., None].squeeze(-1)[[1, 0]]


def is_scripting() -> bool:
    if torch.jit.is_scripting():
        return True
    else:
        return unscriptable_in_python(1)  # never compiled


def unscriptable_in_python(x):
    return [lambda: x]


def calls(x: Tensor) -> Tensor:
    return with_loop(early(x, flag=True), n=2) + tanh_sum(x, x).sum()


def inferred_callee(n: int):
    return doubled(torch.ones(n))


def doubled(x):
    return x * 2, x.size(0)


def recursive(n: int) -> int:
    return 1 if n <= 1 else n * recursive(n - 1)


def fork_join(x: Tensor) -> Tensor:
    futures = [torch.jit.fork(with_loop, x, i) for i in range(3)]
    out = torch.zeros_like(x)
    for future in futures:
        out += torch.jit.wait(future)
    return out


def no_grad(x: Tensor) -> Tuple[bool, bool]:
    y = x * 2
    with torch.no_grad():
        z = x * 2
        with torch.enable_grad():
            y = x * 3
    return y.requires_grad, z.requires_grad


def unused_branch(x: Tensor, y: Optional[int] = None) -> Tensor:
    if y is not None:
        return x + y
    return x


def annotate(x: int) -> List[Optional[int]]:
    xs = torch.jit.annotate(List[Optional[int]], [])
    xs.append(x)
    xs.append(None)
    return xs


class Pair(NamedTuple):
    left: Tensor
    right: int = 3


def named_tuple(x: Tensor) -> Tensor:
    p = Pair(x)
    left, right = p
    return p.left * p.right + left + right


def returns_named_tuple(x: Tensor) -> Pair:
    return Pair(x, right=4)


def interned_literals(x: Tensor) -> Tensor:
    return x + 1_000 + 0x10 + 1e-3 + True


def starred(xs: Tuple[int, int, int]) -> Tuple[int, List[int]]:
    a, *rest = xs
    return a, [*rest, a] if False else [rest[0], rest[1]]


def augmented(x: Tensor, n: int) -> Tuple[Tensor, int]:
    x += 1
    x *= 2
    n //= 2
    n *= 2
    return x, n


def comparison_chain(x: int) -> bool:
    return 0 < x <= 10 != 5


def builtins(xs: List[int]) -> Tuple[int, int, int, List[int], bool]:
    return min(xs), max(xs), abs(xs[0]), sorted(xs), any([x > 1 for x in xs])


def generators(xs: List[int]) -> Tuple[bool, int, List[int]]:
    return any(x > 2 for x in xs), sum(x for x in xs), list(x + 1 for x in xs)


CASES = [
    (generators, [1, 2, 3]),
    (tanh_sum, (X, X)),
    (with_loop, (X, 3), (X, 0)),
    (early, (X,), (X, True)),
    (type_comment, (X, 2, ["a"])),
    (type_comments_by_line, (X, 2)),
    (optional, (None, X), (X, X)),
    (union, (1,), ("a",)),
    (any_value, (1,), ("abc",), (X,)),
    (checks, (3,), (0,), (11,)),
    (while_loop, (100,), (0,)),
    (attributes, X),
    (functional, X),
    (tensors_and_dtypes, 3),
    (tuple_results, X),
    (indexing, X),
    (is_scripting,),
    (calls, X),
    (inferred_callee, 3),
    (fork_join, X),
    (unused_branch, (X,), (X, 2)),
    (annotate, 1),
    (named_tuple, X),
    (interned_literals, X),
    (comparison_chain, (3,), (11,)),
    (builtins, [3, 1, 2]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_torchjit(case):
    check(*case)


# What torch.jit can't compile.
PYTHON_CASES = [
    (containers, ([1, 2, 3], {"a": 1})),
    (strings, (7, "x")),
    (recursive, 5),
    (no_grad, X.clone().requires_grad_()),
    (augmented, (X, 7)),
    (math_functions, 2.0),
]


@pytest.mark.parametrize("case", PYTHON_CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_python(case):
    check_python(*case)


def test_named_tuples_come_back_as_the_users_class():
    result = cresset.script(returns_named_tuple)(X)
    assert type(result) is Pair and result.right == 4


def test_attributes_of_the_script_function():
    compiled = cresset.script(with_loop)
    assert compiled.__name__ == "with_loop"
    assert compiled.__doc__ == "Adds x to itself."
    assert compiled.__wrapped__ is with_loop
    assert inspect.signature(compiled) == inspect.signature(with_loop)
    assert "prim::Loop" in str(compiled.graph)
    assert compiled.code.startswith("def with_loop(x: Tensor,\n    n: int) -> Tensor:")
    assert compiled.qualified_name == f"__torch__.{__name__}.with_loop"


@pytest.mark.parametrize("fn", [tanh_sum, early, optional, annotate], ids=lambda f: f.__name__)
def test_code_is_that_of_torchjit(fn):
    assert cresset.script(fn).code == torch.jit.script(fn).code


def test_scripting_twice_gives_the_same_function():
    compiled = cresset.script(with_loop)
    assert cresset.script(compiled) is compiled
    assert cresset.script(with_loop).graph is compiled.graph or str(cresset.script(with_loop).graph) == str(
        compiled.graph
    )
    assert copy.deepcopy(compiled) is compiled
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        pickle.dumps(compiled)


def test_as_a_decorator():
    @cresset.script
    def local(x: Tensor) -> Tensor:
        return helper(x) + 1

    assert torch.equal(local(X), X * 3 + 1)


def helper(x: Tensor) -> Tensor:
    return x * 3


def test_what_torchjit_compiled_is_refused_with_advice():
    with pytest.raises(RuntimeError, match="torch.jit has compiled already. Pass the Python function"):
        cresset.script(torch.jit.script(helper))
    with pytest.raises(RuntimeError, match="torch.jit.save"):
        cresset.script(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)))


def test_functions_that_torchjit_decorated_can_be_called():
    @cresset.script
    def caller(x: Tensor) -> Tensor:
        return torch_scripted(x)

    assert torch.equal(caller(X), X * 3)


@torch.jit.script
def torch_scripted(x: Tensor) -> Tensor:
    return helper(x)


def test_other_objects():
    with pytest.raises(RuntimeError, match="bound to"):
        cresset.script(Unscripted().method)
    with pytest.raises(RuntimeError, match="expected a Python function"):
        cresset.script(3)
    with pytest.raises(RuntimeError, match="expected a Python function"):
        cresset.script(torch.relu)


class Unscripted:
    def method(self):
        return 1


def test_source_in_notebooks_and_doctests():
    """Code that was compiled from a string is found through linecache, as notebooks and doctests do it."""
    source = textwrap.dedent(
        """
        def cell(x: int) -> int:
            return x + undefined
        """
    )
    filename = "<ipython-input-1>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope = {}
    exec(compile(source, filename, "exec"), scope)
    with pytest.raises(cresset.CompileError, match='File "<ipython-input-1>", line 3'):
        cresset.script(scope["cell"])


def test_no_source():
    scope = {}
    exec("def f(x: int) -> int:\n  return x", scope)
    with pytest.raises(RuntimeError, match="Can't get source"):
        cresset.script(scope["f"])


def test_keyword_only_parameters():
    def f(x: int, *, y: int = 2, z: int) -> int:
        return x * 100 + y * 10 + z

    compiled = cresset.script(f)
    assert compiled(1, z=3) == 123
    assert compiled(1, y=5, z=3) == 153
    with pytest.raises(RuntimeError):
        compiled(1, 2, 3)


def test_defaults_are_the_live_ones():
    size = (2, 3)

    def f(
        x: List[int] = size, y: Optional[Tensor] = None, z: float = 1 << 2, w: int = len(size)
    ) -> Tuple[int, float, int]:
        return len(x) if y is None else 0, z, w

    check(f, (), ([1],))


def test_closures_and_globals():
    scale, names, shape, dtype, device = 2.5, ["a", "b"], (2, 3), torch.float64, torch.device("cpu")

    def f(x: Tensor) -> Tuple[Tensor, str, int]:
        y = torch.zeros(shape, dtype=dtype, device=device) + x * scale * GLOBAL_INT
        return y, names[1] + GLOBAL_STR, GLOBAL_NESTED[1][0]

    check_python(f, X)


GLOBAL_INT, GLOBAL_STR, GLOBAL_NESTED = 3, "!", (1, (2, "x"))


def test_partially_annotated_closures_share_code():
    def make(n):
        def f(x: Tensor) -> Tensor:
            return x + n

        return f

    assert cresset.script(make(1))(X).sum() == 21
    assert cresset.script(make(2))(X).sum() == 27


def test_failed_scripts_leave_nothing_behind():
    def broken(x: Tensor) -> Tensor:
        return fine(x) + nowhere  # noqa: F821

    def fine(x: Tensor) -> Tensor:
        return x + 1

    for _ in range(2):
        with pytest.raises(cresset.CompileError, match="nowhere"):
            cresset.script(broken)
    name = f"__torch__.{__name__}.fine"
    assert cresset.script(fine).qualified_name == name


def test_local_classes_in_annotations():
    class Local(NamedTuple):
        x: int

    def f(p: Local, ps: List[Local]) -> int:
        q: Local = ps[0]
        return p.x + q.x

    assert cresset.script(f)(Local(1), [Local(2)]) == 3


def test_future_annotations():
    scope = {"__name__": __name__}
    source = textwrap.dedent(
        """
        from __future__ import annotations
        import typing as t
        import torch
        Names = t.Dict[str, t.List[torch.Tensor]]

        def f(x: Names, n: t.Optional[int] = None) -> int | None:
            total = n
            if total is not None:
                for key in x:
                    total += len(x[key])
            return total
        """
    )
    filename = "<future>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), scope)
    f = cresset.script(scope["f"])
    assert f({"a": [X]}, 2) == 3 and f({}) is None


def test_decorators_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="compiled without its decorator"):
        compiled = cresset.script(decorated)
    assert compiled(2) == 3


def twice(fn):
    @functools.wraps(fn)
    def wrapper(x):
        return fn(fn(x))

    return wrapper


@twice
def decorated(x: int) -> int:
    return x + 1


class SizeError(ValueError):
    def __init__(self, message, size=None):
        super().__init__(message)
        self.size = size


def raising_with_details(x: torch.Tensor):
    if x.dim() != 1:
        raise SizeError("not a vector", size=x.dim())
    return x


def test_keyword_arguments_of_exceptions_are_no_message():
    x = torch.ones(1, 1)
    with pytest.raises(Exception, match="not a vector") as mine:
        cresset.script(raising_with_details)(x)
    with pytest.raises(Exception, match="not a vector"):
        torch.jit.script(raising_with_details)(x)
    assert "size" not in str(mine.value).rpartition("SizeError: ")[2]


def test_sizes_of_torch_nn():
    """torch.nn.common_types: one int, or as many as there are dimensions."""
    from torch.nn.common_types import _size_1_t, _size_2_t, _size_6_t

    def one(x: _size_1_t) -> int:
        return x[0]

    def two(x: _size_2_t, y: _size_2_t) -> int:
        return x[0] + 10 * x[1] + 100 * y[0] + 1000 * y[1]

    def six(x: _size_6_t) -> int:
        return len(x)

    calls = {
        one: [(4,), ((4,),), ([4],)],
        two: [(1, 3), ((1, 2), 3), ([1, 2], (3, 4))],
        six: [(1,), ([1, 2, 3, 4, 5, 6],)],
    }
    for function, arguments in calls.items():
        theirs, ours = torch.jit.script(function), cresset.script(function)
        # str of torch.jit's schema with a default of such a type is an error.
        assert [str(a.type) for a in theirs.schema.arguments] == [str(a.type) for a in ours.schema.arguments]
        assert [theirs(*a) for a in arguments] == [ours(*a) for a in arguments]


def test_functions_of_other_programs_are_called():
    """Of a CompilationUnit, of a graph, functionalized: the program has a copy."""
    unit = cresset.CompilationUnit(
        "def helper(x: Tensor, n: int):\n  return x * n\n"
        "def scaled(x: Tensor, n: int = 3):\n  y = helper(x, n)\n  y.add_(1)\n  return y\n"
        "def fails(x: Tensor):\n  raise ValueError('no such thing')\n  return x\n"
    )
    scaled, fails = unit.scaled, unit.fails
    pure = cresset.functionalize(scaled)
    from_graph = cresset.function_from_graph("from_graph", scaled.inlined_graph)

    def program(x: torch.Tensor):
        a = scaled(x) + scaled(x, n=2)
        b = pure(x, 4)
        return a, b, from_graph(x, 1)

    x = torch.arange(4.0)
    expected = (x * 5 + 2, x * 4 + 1, x + 1)
    plain = cresset.script(program)
    buffer = io.BytesIO()
    cresset.save(plain, buffer)
    buffer.seek(0)
    for function in (plain, plain, plain, cresset.load(buffer)):
        for a, b in zip(function(x), expected, strict=True):
            assert torch.equal(a, b)
    assert "scaled" in plain.code

    @cresset.script
    def raises(x: torch.Tensor):
        return fails(x)

    with pytest.raises(RuntimeError, match="no such thing"):
        raises(x)


def test_functions_of_other_programs_with_their_classes():
    unit = cresset.CompilationUnit(
        "class Pair(NamedTuple):\n  a: Tensor\n  b: int\n"
        "def pair(x: Tensor) -> Pair:\n  return Pair(x + 1, 2)\n"
        "def total(p: Pair) -> Tensor:\n  return p.a * p.b\n"
    )
    pair, total = unit.pair, unit.total

    @cresset.script
    def program(x: torch.Tensor):
        p = pair(x)
        return total(p), p.b

    del unit
    gc.collect()
    for _ in range(3):
        assert torch.equal(program(torch.ones(2))[0], torch.full((2,), 4.0))


def test_programs_that_call_another_one_do_not_keep_each_other():
    def call_one():
        function = cresset.CompilationUnit("def f(x: Tensor):\n  return x + 1\n").f

        def program(x: torch.Tensor):
            return function(function(x))

        assert cresset.script(program)(torch.zeros(1)).item() == 2

    before = cresset._C._live_programs()
    call_one()
    gc.collect()
    assert cresset._C._live_programs() <= before
