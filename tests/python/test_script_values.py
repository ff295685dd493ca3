"""What Python objects mean in scripts: torch's functions by identity, modules, constants, contexts, marks."""

import cmath
import math
import math as mathematics
import warnings
from collections import OrderedDict
from typing import Dict, List, Optional, Tuple

import pytest
import torch
import torch as t
import torch.nn.functional as F
from script_compare import check, check_python
from torch import Tensor, relu, special
from torch.nn.functional import max_pool2d, softmax

import cresset

X = torch.arange(12.0).reshape(3, 4)
my_add = torch.add


def by_any_name(x: Tensor) -> Tensor:
    return my_add(relu(x), t.special.expm1(x) + special.expit(x), alpha=2) + softmax(x, dim=1)


def namespaces(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.linalg.norm(x), torch.fft.fft(x), torch.special.gammaln(x + 1)


def ops(x: Tensor) -> Tensor:
    return torch.ops.aten.mul(x, torch.ops.aten.add(x, 1))


def overload(x: Tensor) -> Tensor:
    return torch.ops.aten.add.Tensor(x, x)


def methods_of_the_class(x: Tensor) -> Tensor:
    return torch.Tensor.add(x, x)


def python_functions_of_torch(x: Tensor) -> Tuple[List[Tensor], Tensor, Tensor]:
    return torch.split(x, 2), torch.einsum("ij,kj->ik", x, x), torch.norm(x)


def unique(x: Tensor) -> Tensor:
    return torch.unique(x)


def meshgrid(x: Tensor) -> List[Tensor]:
    return torch.meshgrid(x[0], x[1])


def mathematical(x: float, n: int) -> Tuple[float, float, float, int]:
    return mathematics.cos(x) * math.e, math.log(x), math.inf, math.gcd(n, 12)


def complex_math(x: complex) -> complex:
    return cmath.exp(x)


def pools(x: Tensor) -> Tuple[Tensor, Tensor]:
    x = x[None, None]
    values, indices = max_pool2d(x, 2, return_indices=True)
    return F.max_pool2d(x, kernel_size=2), indices


def ordered(x: Tensor) -> Dict[str, Tensor]:
    d: Dict[str, Tensor] = OrderedDict()
    d["a"] = x
    return d


def legacy(n: int) -> Tensor:
    return torch.FloatTensor([1.0, 2.0]) * n


def types_of_torch(x: Tensor) -> Tuple[bool, bool]:
    return isinstance(x, torch.Tensor), isinstance(x.size(), list)


def finfo(x: Tensor) -> bool:
    return torch.is_floating_point(x) and not torch.is_complex(x)


CASES = [
    (by_any_name, X),
    (namespaces, X),
    (ops, X),
    (python_functions_of_torch, X),
    (unique, X),
    (meshgrid, X),
    (mathematical, (0.5, 8)),
    (complex_math, 1 + 2j),
    (pools, X),
    (ordered, X),
    (legacy, 3),
    (finfo, X),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_torchjit(case):
    check(*case)


@pytest.mark.parametrize("case", [(overload, X), (methods_of_the_class, X)], ids=lambda case: case[0].__name__)
def test_agrees_with_python(case):
    check_python(*case)


def test_warnings():
    def warns(x: Tensor) -> Tensor:
        warnings.warn("careful", stacklevel=2)
        return x

    with pytest.warns(UserWarning, match="careful"):
        cresset.script(warns)(X)


@cresset.unused
def unscriptable(x: Tensor) -> Tensor:
    return [y for y in (lambda: x,)][0]()


@torch.jit.ignore
def back_into_python(x: Tensor, n: int = 2) -> List[int]:
    try:
        return [n, *x.shape]
    except RuntimeError:
        return []


@cresset.ignore
def fails(x):
    raise KeyError("from Python")


def test_unused_raises_when_called():
    def f(x: Tensor, flag: bool) -> Tensor:
        if flag:
            return unscriptable(x)
        return x

    compiled = cresset.script(f)
    assert compiled(X, False) is X
    with pytest.raises(RuntimeError, match="Cannot call @unused"):
        compiled(X, True)


def test_ignored_functions_are_called_back():
    def f(x: Tensor) -> int:
        total = 0
        for n in back_into_python(x) + back_into_python(x, n=5):
            total += n
        return total

    compiled = check_python(f, X)
    assert "^back_into_python()(" in str(compiled.graph)


def test_what_ignored_functions_raise():
    def f(x: Tensor) -> Tensor:
        return fails(x) + 1

    with pytest.raises(Exception, match="from Python"):
        cresset.script(f)(X)


def test_ignored_results_are_checked():
    @cresset.ignore
    def lies(x: Tensor) -> int:
        return "text"

    def f(x: Tensor) -> int:
        return lies(x)

    with pytest.raises(RuntimeError, match="lies"):
        cresset.script(f)(X)


@torch.jit._overload  # noqa: F811
def over(x: int, y: int = 1) -> int: ...


@torch.jit._overload  # noqa: F811
def over(x: str, y: int = 1) -> str: ...  # noqa: F811


def over(x, y=1):  # noqa: F811
    if isinstance(x, int):
        return x + y
    else:
        return x + "!"


def test_overloads():
    def f(n: int, s: str) -> Tuple[int, str, int]:
        return over(n), over(s), over(n, 5)

    check(f, (1, "a"))


@torch.jit.script_if_tracing
def scripted_if_tracing(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x
    return -x


def test_script_if_tracing():
    def f(x: Tensor) -> Tensor:
        return scripted_if_tracing(x)

    check(f, (X,), (-X,))
    assert cresset.script_if_tracing(lambda x: x)(3) == 3


def test_annotate_isinstance_and_friends_of_cresset():
    def f(x: Optional[int]) -> List[int]:
        xs = cresset.annotate(List[int], [])
        if cresset.is_scripting() and cresset.isinstance(x, int):
            xs.append(x)
        future = cresset.fork(twice, 3)
        xs.append(cresset.wait(future))
        return xs

    assert cresset.script(f)(1) == [1, 6]
    assert cresset.script(f)(None) == [6]


def twice(n: int) -> int:
    return n * 2


def test_record_function():
    def f(x: Tensor) -> Tensor:
        with torch.autograd.profiler.record_function("mine"):
            return x + 1

    compiled = cresset.script(f)
    with torch.autograd.profiler.profile() as profile:
        assert torch.equal(compiled(X), X + 1)
    assert "mine" in [event.name for event in profile.function_events]


def test_autocast():
    def f(x: Tensor) -> Tuple[Tensor, Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
        return y, x @ x.t()

    y, z = cresset.script(f)(X)
    assert y.dtype == torch.bfloat16 and z.dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_autocast_ends_with_exceptions():
    def f(x: Tensor) -> Tensor:
        with torch.cpu.amp.autocast():
            raise ValueError("no")
        return x

    with pytest.raises(ValueError):
        cresset.script(f)(X)
    assert not torch.is_autocast_enabled("cpu")


def test_inference_mode():
    def f(x: Tensor) -> Tuple[Tensor, Tensor]:
        with torch.inference_mode():
            y = x + 1
        return y, x + 1

    y, z = cresset.script(f)(X)
    assert y.is_inference() and not z.is_inference()


def test_has_torch_function_is_false():
    def f(x: Tensor) -> Tensor:
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(f, (x,), x)
        return x

    assert cresset.script(f)(X) is X


def test_dicts_and_lists_of_constants():
    def f(name: str) -> Tuple[int, List[int], bool]:
        return TABLE[name], NUMBERS + [1], name in TABLE

    check_python(f, "a")


TABLE, NUMBERS = {"a": 1, "b": 2}, [1, 2, 3]


def test_constants_are_taken_when_compiling():
    global CHANGING
    CHANGING = 1

    def f(x: int) -> int:
        return x + CHANGING

    compiled = cresset.script(f)
    CHANGING = 2
    assert compiled(1) == 2


CHANGING = 0


def asks_for_tensors(x: torch.Tensor, n: int):
    return torch.overrides.is_tensor_like(x), torch.overrides.is_tensor_like(n)


def test_is_tensor_like():
    x = torch.ones(1)
    assert cresset.script(asks_for_tensors)(x, 1) == asks_for_tensors(x, 1) == (True, False)


OFFSET = 100


def test_a_block_left_to_python_sees_the_names_of_the_function():
    factor = 3

    def f(n: int) -> int:
        r: int = 0
        with torch.jit._IgnoreContextManager(n="inp:int", r="out:int"):
            r = sum({n * factor, OFFSET})
        return r

    assert cresset.script(f)(2) == f(2) == 106


def test_a_block_left_to_python_says_what_goes_in_and_out():
    def f(n: int):
        with torch.jit._IgnoreContextManager(n="int"):
            print(n)

    with pytest.raises(cresset.CompileError, match='says of each variable "inp:" or "out:" and its type'):
        cresset.script(f)
