"""Behaviours of torch.jit that its documentation and sources promise, one program each.

A row is a function of the engine J (torch.jit or cresset) that returns what the behaviour shows: results, names, texts;
or raises what users see. `use` says by which door it goes: script, module, trace, freeze, save or graph. The tests run
each row with both engines (test_torch_jit_behaviours.py).
"""

import dataclasses
import enum
import io
import os
import pickle
import tempfile
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# ruff: noqa: UP031, UP032, E714, F821, B007, F841, E731, PLW0602, PLW0603, B018  (what users write, and what is refused)

ROWS = {}


def row(use):
    def add(function):
        assert function.__name__ not in ROWS
        ROWS[function.__name__] = (use, function)
        return function

    return add


def last_line(error):
    return str(error).strip().splitlines()[-1] if str(error).strip() else ""


def tries(f, *calls):
    """For each tuple of arguments the result, or what was raised."""
    found = []
    for args in calls:
        try:
            found.append(f(*args))
        except Exception as error:
            found.append("raised " + last_line(error).split("Error: ")[-1])
    return found


def seen_by_annotations(cls):
    """torch.jit looks for the names of annotations among globals."""
    globals()[cls.__name__] = cls
    return cls


X = torch.arange(6.0).reshape(2, 3)


# Script functions.


@row("script")
def save_tensor(J):
    def f(x: Tensor, name: str):
        torch.save(x, name)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        result = J.script(f)(X, path)
        return result, torch.load(path)


@row("script")
def save_containers(J):
    def f(x: Tensor, name: str) -> int:
        torch.save({"a": [x, x + 1]}, name)
        torch.save((1, "two", [3.0]), name + "2")
        return 7

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        result = J.script(f)(X, path)
        return result, torch.load(path, weights_only=False), torch.load(path + "2", weights_only=False)


@row("script")
def save_needs_a_name(J):
    def f(x: Tensor):
        torch.save(x)

    return J.script(f)


@row("script")
def save_to_a_number(J):
    def f(x: Tensor):
        torch.save(x, 3)

    return J.script(f)


@row("script")
def save_before_write(J):
    def f(x: Tensor, name: str):
        torch.save(x, name)
        x.add_(1)
        return x

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        return J.script(f)(X.clone(), path), torch.load(path)


@row("script")
def named_tuple_defaults(J):
    class Point1(NamedTuple):
        x: int
        y: int = 5

    def f(a: int):
        p = Point1(a)
        return p.x + p.y, p

    result, point = J.script(f)(3)
    return result, tuple(point), point._fields


@row("script")
def named_tuple_unpacked(J):
    @seen_by_annotations
    class Pair2(NamedTuple):
        a: Tensor
        b: int

    def f(p: Pair2):
        x, n = p
        return x * n + p[0], len(p)

    return J.script(f)(Pair2(X, 2))


@row("script")
def named_tuple_keyword(J):
    class Pair3(NamedTuple):
        a: int
        b: int

    def f(n: int):
        p = Pair3(b=n, a=1)
        return p.a, p.b

    return J.script(f)(4)


@row("script")
def named_tuple_missing_field(J):
    class Pair4(NamedTuple):
        a: int
        b: int

    def f(n: int):
        return Pair4(n).a

    return J.script(f)


@row("script")
def named_tuple_unknown_field(J):
    @seen_by_annotations
    class Pair5(NamedTuple):
        a: int
        b: int

    def f(p: Pair5):
        return p.c

    return J.script(f)


@row("script")
def named_tuple_as_tuple(J):
    @seen_by_annotations
    class Pair6(NamedTuple):
        a: int
        b: int

    def g(t: Tuple[int, int]) -> int:
        return t[0] + t[1]

    def f(p: Pair6):
        return g(p)

    return J.script(f)(Pair6(1, 2))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Name(enum.Enum):
    A = "a"
    B = "b"


@row("script")
def enum_argument(J):
    def f(c: Color):
        return c == Color.RED, c.name, c.value

    return tries(J.script(f), (Color.RED,), (Color.GREEN,))


@row("script")
def enum_returned(J):
    def f(first: bool):
        return Color.RED if first else Color.GREEN

    return J.script(f)(False)


@row("script")
def enum_iterated(J):
    def f():
        found = 0
        for c in Color:
            found += c.value
        return found

    return J.script(f)()


@row("script")
def enum_of_strings_in_list(J):
    def f(c: List[Name]):
        return [each.value for each in c]

    return J.script(f)([Name.B, Name.A])


@row("script")
def enum_as_dict_key(J):
    def f(d: Dict[Color, int]):
        return d[Color.RED]

    return J.script(f)


@row("script")
def enum_wrong_argument(J):
    def f(c: Color):
        return c.value

    return J.script(f)(1)


@row("script")
def enum_unknown_member(J):
    def f():
        return Color.BLUE

    return J.script(f)


@row("script")
def optional_by_early_return(J):
    def f(x: Optional[int]) -> int:
        if x is None:
            return -1
        return x + 1

    return tries(J.script(f), (None,), (2,))


@row("script")
def optional_by_and(J):
    def f(x: Optional[int], y: Optional[int]) -> int:
        if x is not None and y is not None:
            return x + y
        return 0

    return tries(J.script(f), (None, 1), (2, 3))


@row("script")
def optional_by_or(J):
    def f(x: Optional[int], y: Optional[int]) -> int:
        if x is None or y is None:
            return 0
        return x + y

    return tries(J.script(f), (None, 1), (2, 3))


@row("script")
def optional_by_not(J):
    def f(x: Optional[int]) -> int:
        if not (x is None):
            return x
        return 0

    return tries(J.script(f), (None,), (2,))


@row("script")
def optional_by_assert(J):
    def f(x: Optional[Tensor]):
        assert x is not None
        return x + 1

    return tries(J.script(f), (X,), (None,))


@row("script")
def optional_by_assert_message(J):
    def f(x: Optional[Tensor], n: int):
        assert x is not None, f"no x for {n}"
        return x + 1

    return tries(J.script(f), (None, 3))


@row("script")
def optional_by_ternary(J):
    def f(x: Optional[int]):
        return x if x is not None else 5

    return tries(J.script(f), (None,), (2,))


@row("script")
def optional_attribute_is_not_refined(J):
    class M(nn.Module):
        bias: Optional[Tensor]

        def __init__(self):
            super().__init__()
            self.bias = None

        def forward(self, x):
            if self.bias is not None:
                return x + self.bias
            return x

    return J.script(M())(X)


@row("script")
def optional_attribute_refined_by_local(J):
    class M(nn.Module):
        bias: Optional[Tensor]

        def __init__(self):
            super().__init__()
            self.bias = torch.ones(3)

        def forward(self, x):
            bias = self.bias
            if bias is not None:
                return x + bias
            return x

    return J.script(M())(X)


@row("script")
def optional_unwrapped(J):
    def f(x: Optional[int]) -> int:
        return torch.jit._unwrap_optional(x) + 1

    return tries(J.script(f), (1,), (None,))


@row("script")
def optional_used_unrefined(J):
    def f(x: Optional[Tensor]):
        return x.relu()

    return J.script(f)


@row("script")
def annotate_empty_list(J):
    def f(n: int):
        xs = torch.jit.annotate(List[int], [])
        for i in range(n):
            xs.append(i)
        return xs

    return J.script(f)(3)


@row("script")
def annotate_optional(J):
    def f(n: int):
        x = torch.jit.annotate(Optional[int], None)
        if n > 1:
            x = n
        return x

    return tries(J.script(f), (0,), (2,))


@row("script")
def annotate_wrong(J):
    def f(n: int):
        return torch.jit.annotate(List[str], [n])

    return J.script(f)


@row("script")
def annotate_dict_of_tuples(J):
    def f(n: int):
        d = torch.jit.annotate(Dict[str, Tuple[int, Optional[Tensor]]], {})
        d["a"] = (n, None)
        return d

    return J.script(f)(2)


@row("script")
def isinstance_of_any(J):
    def f(x: Any) -> str:
        if isinstance(x, int):
            return "int"
        if isinstance(x, (float, str)):
            return "float or str"
        if torch.jit.isinstance(x, List[int]):
            return "ints"
        if torch.jit.isinstance(x, Dict[str, Tensor]):
            return "tensors"
        if isinstance(x, Tensor):
            return "tensor"
        return "else"

    return tries(J.script(f), (1,), (2.0,), ("a",), ([1],), ({"a": X},), (X,), (None,), ((1, 2),), (True,))


@row("script")
def isinstance_of_containers(J):
    def f(x: Any):
        return isinstance(x, list), isinstance(x, tuple), isinstance(x, dict)

    return J.script(f)([1])


@row("script")
def isinstance_refines(J):
    def f(x: Union[int, List[int], str]) -> int:
        if isinstance(x, int):
            return x + 1
        elif isinstance(x, str):
            return len(x)
        else:
            return x[0]

    return tries(J.script(f), (1,), ([5],), ("abc",))


@row("script")
def isinstance_of_tuple_of_types(J):
    def f(x: Tensor, y: List[int]):
        return isinstance(x, (Tensor, int)), isinstance(y, (list, tuple)), isinstance(y, Tensor)

    return J.script(f)(X, [1])


@row("script")
def isinstance_of_bare_list(J):
    def f(x: Any):
        return torch.jit.isinstance(x, List)

    return J.script(f)([1])


@row("script")
def union_assigned(J):
    def f(a: int):
        x: Union[int, str] = a
        if a > 1:
            x = "big"
        return x

    return tries(J.script(f), (0,), (2,))


@row("script")
def union_wrong_argument(J):
    def f(x: Union[int, str]):
        return x

    return J.script(f)(1.5)


@row("script")
def dict_items_nested(J):
    def f(d: Dict[str, Dict[str, int]]):
        total = 0
        names: List[str] = []
        for key, inner in d.items():
            for name, value in inner.items():
                total += value
                names.append(key + name)
        return total, names

    return J.script(f)({"a": {"x": 1, "y": 2}, "b": {"z": 3}})


@row("script")
def zip_of_three(J):
    def f(a: List[int], b: List[str], c: Tensor):
        out: List[str] = []
        for i, s, t in zip(a, b, c):
            out.append(f"{i}{s}{int(t.sum())}")
        return out

    return J.script(f)([1, 2, 3], ["a", "b"], X)


@row("script")
def enumerate_of_zip(J):
    def f(a: List[int], b: List[float]):
        total = 0.0
        for i, (x, y) in enumerate(zip(a, b)):
            total += i * x * y
        return total

    return J.script(f)([1, 2], [0.5, 4.0])


@row("script")
def enumerate_from(J):
    def f(a: List[str]):
        out: List[Tuple[int, str]] = []
        for i, s in enumerate(a, 3):
            out.append((i, s))
        return out

    return J.script(f)(["x", "y"])


@row("script")
def enumerate_of_enumerate(J):
    def f(a: List[int]):
        total = 0
        for i, (j, x) in enumerate(enumerate(a, 1)):
            total += i * 100 + j * 10 + x
        return total

    return J.script(f)([1, 2])


@row("script")
def reversed_of_range(J):
    def f(n: int):
        out: List[int] = []
        for i in range(n - 1, -1, -1):
            out.append(i)
        return out

    return J.script(f)(3)


@row("script")
def iteration_over_string(J):
    def f(s: str):
        out: List[str] = []
        for c in s:
            out.append(c + c)
        return out

    return J.script(f)("abc")


@row("script")
def iteration_over_tuple(J):
    def f(t: Tuple[int, int, int]):
        total = 0
        for x in t:
            total += x
        return total

    return J.script(f)((1, 2, 3))


@row("script")
def iteration_over_mixed_tuple(J):
    def f(t: Tuple[int, str]):
        out = ""
        for x in t:
            out += str(x)
        return out

    return J.script(f)((1, "a"))


@row("script")
def iteration_over_number(J):
    def f(n: int):
        for i in n:
            pass
        return n

    return J.script(f)


@row("script")
def comprehension_over_dict(J):
    def f(d: Dict[str, int]):
        return {k: v + 1 for k, v in d.items()}

    return J.script(f)({"a": 1})


@row("script")
def comprehension_over_keys(J):
    def f(d: Dict[str, int]):
        return [k for k in d.keys()], [v * 2 for v in d.values()]

    return J.script(f)({"a": 1, "b": 2})


@row("script")
def comprehension_over_zip(J):
    def f(a: List[int], b: List[int]):
        return [x * y for x, y in zip(a, b)]

    return J.script(f)([1, 2], [3, 4])


@row("script")
def slice_assigned_number(J):
    def f(x: Tensor):
        x[:, 1] = 5
        x[0, :2] = torch.ones(2)
        x[..., -1] += 1
        return x

    return J.script(f)(X.clone())


@row("script")
def slice_assigned_by_mask(J):
    def f(x: Tensor):
        x[x > 2] = -1.0
        x[torch.tensor([0])] *= 2
        return x

    return J.script(f)(X.clone())


@row("script")
def slice_with_none_and_step(J):
    def f(x: Tensor, n: Optional[int]):
        return x[::2], x[:, None], x[:, :n], x[None, ..., 1:]

    return J.script(f)(X, None)


@row("script")
def slice_of_string_and_tuple(J):
    def f(s: str, t: Tuple[int, str, float]):
        return s[1:-1], s[::2], t[1:], t[:-1]

    return J.script(f)("abcdef", (1, "a", 2.0))


@row("script")
def format_positions(J):
    def f(x: int, y: float, s: str, b: bool):
        return "{} {} {} {}".format(x, y, s, b)

    return J.script(f)(1, 2.5, "s", True)


@row("script")
def format_of_containers(J):
    def f(x: List[int], d: Dict[str, float], t: Tuple[int, str]):
        return f"{x} {d} {t}"

    return J.script(f)([1, 2], {"a": 1.5}, (1, "b"))


@row("script")
def percent_formats(J):
    def f(x: int, s: str):
        return "%d-%s" % (x, s), "%s" % s, "%i%%" % x

    return J.script(f)(3, "t")


@row("script")
def print_several(J):
    def f(x: int, xs: List[float], t: Tensor, o: Optional[int]):
        print(x, xs, t, o, "text", True, (1, "a"), {"k": 1})

    return J.script(f)(1, [1.0, 2.5], torch.ones(2), None)


@row("script")
def print_nothing(J):
    def f():
        print()
        print("")

    return J.script(f)()


class MyError(Exception):
    pass


class MyValueError(ValueError):
    def __init__(self, message: str):
        super().__init__(message)


@row("script")
def raise_custom(J):
    def f(x: int):
        if x > 1:
            raise MyError("too big")
        return x

    return tries(J.script(f), (1,), (2,))


@row("script")
def raise_with_format(J):
    def f(x: int):
        raise RuntimeError(f"got {x}")

    return tries(J.script(f), (1,))


@row("script")
def raise_two_arguments(J):
    def f(x: int):
        raise ValueError("a", x)

    return tries(J.script(f), (1,))


@row("script")
def raise_a_class(J):
    def f(x: int):
        raise RuntimeError

    return tries(J.script(f), (1,))


@row("script")
def raise_no_exception(J):
    def f(x: int):
        raise x

    return J.script(f)


@row("script")
def raise_from_branch_has_no_type(J):
    def f(x: int):
        if x > 0:
            y = x
        else:
            raise NotImplementedError("no")
        return y

    return tries(J.script(f), (1,), (0,))


@row("script")
def assert_message(J):
    def f(x: int):
        assert x > 1, "x is small"
        return x

    return tries(J.script(f), (2,), (1,))


@row("script")
def assert_without_message(J):
    def f(x: int):
        assert x > 1
        return x

    return tries(J.script(f), (2,), (1,))


@row("script")
def assert_of_tensor(J):
    def f(x: Tensor):
        assert x.sum() > 1, "sum " + str(int(x.sum()))
        return x

    return tries(J.script(f), (torch.zeros(1),))


@row("script")
def delete_elements(J):
    def f(d: Dict[str, int], xs: List[int]):
        del d["a"]
        del xs[0]
        return d, xs

    return tries(J.script(f), ({"a": 1, "b": 2}, [1, 2]), ({"b": 1}, [1]))


@row("script")
def delete_variable(J):
    def f(x: int):
        y = x + 1
        del y
        return y

    return J.script(f)


@row("script")
def delete_tensor_row(J):
    def f(x: Tensor):
        del x[0]
        return x

    return J.script(f)


@row("script")
def augmented_on_subscripts(J):
    def f(xs: List[int], d: Dict[str, float], x: Tensor):
        xs[1] += 5
        xs[0] *= 3
        d["a"] -= 1.5
        x[0] += 1
        x[1, 2] *= 10
        return xs, d, x

    return J.script(f)([1, 2], {"a": 2.0}, X.clone())


@row("script")
def augmented_on_attributes(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1
            self.xs: List[int] = [1]
            self.register_buffer("t", torch.zeros(2))

        def forward(self, x: int):
            self.n += x
            self.xs += [x]
            self.t += x
            self.t[0] -= 1
            return self.n, self.xs, self.t

    m = J.script(M())
    m(2)
    return m(3), m.n, m.t


@row("script")
def augmented_shadows(J):
    def f(x: Tensor):
        y = x
        y += 1
        y = y * 2
        y -= 1
        return x, y

    return J.script(f)(X.clone())


@row("script")
def augmented_bits(J):
    def f(x: int, y: bool):
        x |= 4
        x &= 6
        x ^= 1
        x <<= 2
        x >>= 1
        return x

    return J.script(f)(3, True)


@row("script")
def augmented_shifts_of_tensors(J):
    def f(x):
        y = x.view(-1)
        y <<= 1
        y[:1] >>= 2
        return x + 0, y

    x = torch.tensor([3, -5, 4])
    return (*J.script(f)(x), x)


@row("script")
def power_augmented(J):
    def f(x: float):
        x **= 2
        return x

    return J.script(f)(3.0)


@row("script")
def with_no_grad(J):
    def f(x: Tensor):
        with torch.no_grad():
            y = x * 2
        return y.requires_grad, (x * 2).requires_grad

    return J.script(f)(torch.ones(2, requires_grad=True))


@row("script")
def with_user_class(J):
    class Context8:
        def __init__(self, start: int):
            self.count = start

        def __enter__(self) -> int:
            self.count += 1
            return self.count

        def __exit__(self, type: Any, value: Any, tb: Any):
            self.count *= 10

    J.script(Context8)

    def f(n: int):
        c = Context8(n)
        with c as inside:
            found = inside
        return found, c.count

    return J.script(f)(1)


@row("script")
def with_class_without_exit(J):
    class Half9:
        def __init__(self):
            self.x = 1

        def __enter__(self):
            return self.x

    J.script(Half9)

    def f():
        with Half9() as x:
            y = x
        return y

    return J.script(f)


@row("script")
def with_something_else(J):
    def f(x: int):
        with x:
            y = 1
        return y

    return J.script(f)


@row("script")
def with_exit_after_raise(J):
    class Loud10:
        def __init__(self):
            self.x = 1

        def __enter__(self):
            print("in")

        def __exit__(self, type: Any, value: Any, tb: Any):
            print("out")

    J.script(Loud10)

    def f(x: int):
        with Loud10():
            if x > 1:
                raise RuntimeError("inside")
        return x

    return tries(J.script(f), (1,), (2,))


@row("script")
def fork_and_wait(J):
    def g(x: Tensor, n: int):
        return x * n

    def f(x: Tensor):
        futures = [torch.jit.fork(g, x, i) for i in range(3)]
        return [torch.jit.wait(each) for each in futures]

    return J.script(f)(X)


@row("script")
def fork_raises_at_wait(J):
    def g(x: int) -> int:
        assert x > 1, "small"
        return x

    def f(x: int):
        u = torch.jit.fork(g, x)
        return torch.jit.wait(u)

    return tries(J.script(f), (2,), (1,))


@row("script")
def future_argument(J):
    def g(x: int) -> int:
        return x + 1

    def h(u: torch.jit.Future[int]) -> int:
        return torch.jit.wait(u)

    def f(x: int):
        return h(torch.jit.fork(g, x))

    return J.script(f)(2)


@row("script")
def fork_of_method(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 3

        def helper(self, x: Tensor):
            return x + self.k

        def forward(self, x):
            u = torch.jit.fork(self.helper, x)
            v = torch.jit.fork(self.helper, x=x * 2)
            return torch.jit.wait(u), torch.jit.wait(v)

    return J.script(M())(X)


@row("script")
def fork_of_no_function(J):
    def f(x: int):
        return torch.jit.fork(x)

    return J.script(f)


@row("script")
def wait_of_no_future(J):
    def f(x: int):
        return torch.jit.wait(x)

    return J.script(f)


@row("script")
def function_attributes(J):
    def f(x: int, y: float = 2.0) -> float:
        """A docstring."""
        return x * y

    s = J.script(f)
    return s.name, s.__name__, s.__doc__, s.code, str(s.schema), s.qualified_name.split(".")[-1]


@row("script")
def function_missing_argument(J):
    def f(x: int, y: int):
        return x + y

    return J.script(f)(1)


@row("script")
def function_unknown_keyword(J):
    def f(x: int):
        return x

    return J.script(f)(1, z=2)


@row("script")
def function_twice_given(J):
    def f(x: int):
        return x

    return J.script(f)(1, x=2)


@row("script")
def function_too_many(J):
    def f(x: int):
        return x

    return J.script(f)(1, 2)


@row("script")
def function_wrong_type(J):
    def f(x: List[int]):
        return x

    return tries(J.script(f), ([1.5],), ((1, 2),), (X,), (3,), (None,))


@row("script")
def varargs(J):
    def f(*args):
        return args

    return J.script(f)


@row("script")
def lambda_inside(J):
    def f(x: int):
        g = lambda y: y + 1  # noqa: E731
        return g(x)

    return J.script(f)


@row("script")
def yield_inside(J):
    def f(x: int):
        yield x

    return J.script(f)


@row("script")
def try_inside(J):
    def f(x: int):
        try:
            return x
        except RuntimeError:
            return 0

    return J.script(f)


@row("script")
def global_inside(J):
    def f(x: int):
        global nothing
        nothing = x
        return x

    return J.script(f)


@row("script")
def import_inside(J):
    def f(x: int):
        import math

        return math.sqrt(x)

    return J.script(f)


@row("script")
def set_inside(J):
    def f(x: int):
        return {x, 1}

    return J.script(f)


@row("script")
def star_in_call(J):
    def g(a: int, b: int):
        return a - b

    def f(t: Tuple[int, int]):
        return g(*t)

    return J.script(f)((5, 3))


@row("script")
def star_in_target(J):
    def f(x: Tuple[int, int, int]):
        a, *b = x
        return a, b

    return J.script(f)((1, 2, 3))


@row("script")
def keyword_star(J):
    def g(a: int, b: int):
        return a - b

    def f(d: Dict[str, int]):
        return g(**d)

    return J.script(f)


@row("script")
def types_differ_in_branches(J):
    def f(x: int):
        if x > 1:
            y = 1
        else:
            y = "a"
        return y

    return J.script(f)


@row("script")
def defined_in_one_branch(J):
    def f(x: int):
        if x > 1:
            y = 1
        return y

    return J.script(f)


@row("script")
def returns_differ(J):
    def f(x: int):
        if x > 1:
            return 1
        return "a"

    return J.script(f)


@row("script")
def return_annotation_wrong(J):
    def f(x: int) -> str:
        return x

    return J.script(f)


@row("script")
def loop_else(J):
    def f(x: int):
        for i in range(x):
            pass
        else:
            return 1
        return 2

    return J.script(f)


@row("script")
def break_outside(J):
    def f(n: int):
        total = 0
        for i in range(n):
            if i == 2:
                continue
            if i == 4:
                break
            total += i
        else_ = total
        return else_

    return J.script(f)(9)


@row("script")
def while_with_condition_of_tensor(J):
    def f(x: Tensor):
        while x.sum() < 10:
            x = x + 1
        return x

    return J.script(f)(torch.zeros(3))


@row("script")
def math_constants(J):
    import math

    def f():
        return math.pi, math.inf, math.e, math.isnan(math.nan), math.gcd(12, 18), math.factorial(5)

    return J.script(f)()


@row("script")
def string_methods(J):
    def f(s: str):
        return (
            s.upper(),
            s.split(","),
            ",".join(["a", "b"]),
            s.strip(),
            s.startswith("a"),
            s.find("b"),
            s.zfill(6),
            s.title(),
        )

    return J.script(f)("a,b")


@row("script")
def list_methods(J):
    def f(xs: List[int]):
        xs.insert(1, 9)
        xs.extend([4, 3])
        last = xs.pop()
        xs.remove(9)
        xs.reverse()
        ys = xs.copy()
        ys.sort(reverse=True)
        return xs, ys, last, xs.index(4), xs.count(1), sorted(xs), 4 in xs

    return J.script(f)([1, 2, 1])


@row("script")
def dict_methods(J):
    def f(d: Dict[str, int]):
        first = d.pop("a")
        d.setdefault("z", 9)
        d.update({"b": 5})
        return first, d.get("q"), d.get("b", 3), "z" in d, len(d), list(d.keys()), d

    return J.script(f)({"a": 1, "b": 2})


@row("script")
def dtype_and_device_values(J):
    def f(x: Tensor, dtype: torch.dtype, device: torch.device):
        return x.to(device=device, dtype=dtype).dtype == torch.float64, x.device.type, x.dtype, device

    return J.script(f)(X, torch.float64, torch.device("cpu"))


@row("script")
def default_arguments(J):
    def f(x: int = 3, s: str = "a", t: Tuple[int, int] = (1, 2), o: Optional[int] = None, xs: List[int] = [1]):  # noqa: B006
        return x, s, t, o, xs

    s = J.script(f)
    return s(), s(4, o=2), str(s.schema)


@row("script")
def default_of_wrong_type(J):
    def f(x: int = "a"):
        return x

    return J.script(f)


@row("script")
def ignored_function(J):
    @J.ignore
    def g(x: int) -> int:
        return x + 40

    def f(x: int) -> int:
        return g(x) + 1

    return J.script(f)(1)


@row("script")
def unused_function(J):
    @J.unused
    def g(x: int) -> int:
        return x + 40

    def f(x: int) -> int:
        if x > 1:
            return g(x)
        return x

    return tries(J.script(f), (1,), (2,))


@row("script")
def ignored_function_is_not_saved(J):
    @J.ignore
    def g(x: Tensor) -> Tensor:
        return x + 40

    class M(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return g(x)

    J.save(J.script(M()), io.BytesIO())


@row("script")
def ignore_with_drop(J):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @J.ignore(drop=True)
        def g(x: int) -> int:
            return x

    def f(x: int) -> int:
        return g(x)

    return tries(J.script(f), (1,))


@row("script")
def ignore_with_a_number(J):
    return J.ignore(3)


@row("script")
def is_scripting(J):
    def f(x: int):
        if torch.jit.is_scripting():
            return x
        return x + 1

    return J.script(f)(1), f(1)


@row("script")
def overloaded_function(J):
    def f(x, y: Union[int, float]):
        if isinstance(y, int):
            return x + 1
        return x + y

    return tries(J.script(f), (X, 1), (X, 2.5))


@row("script")
def functional_calls(J):
    def f(x: Tensor):
        return F.relu(x), F.dropout(x, 0.5, False), F.pad(x, [1, 1]), F.softmax(x, dim=-1), F.layer_norm(x, [3])

    return J.script(f)(X)


# Script classes.


@row("script")
def class_holding_class(J):
    class Inner11:
        def __init__(self, x: int):
            self.x = x

        def twice(self) -> int:
            return self.x * 2

    J.script(Inner11)

    class Outer12:
        def __init__(self, x: int):
            self.inner = Inner11(x)
            self.many: List[Inner11] = [Inner11(1), Inner11(2)]

        def total(self) -> int:
            n = self.inner.twice()
            for each in self.many:
                n += each.twice()
            return n

    J.script(Outer12)

    def f(x: int):
        o = Outer12(x)
        o.inner.x += 1
        o.many[0].x = 100
        return o.total()

    return J.script(f)(3)


@row("script")
def class_operators(J):
    class V13:
        def __init__(self, x: int):
            self.x = x

        def __add__(self, other: "V13") -> "V13":
            return V13(self.x + other.x)

        def __mul__(self, n: int) -> "V13":
            return V13(self.x * n)

        def __neg__(self) -> "V13":
            return V13(-self.x)

        def __len__(self) -> int:
            return self.x

        def __contains__(self, n: int) -> bool:
            return n == self.x

        def __getitem__(self, n: int) -> int:
            return self.x + n

        def __setitem__(self, n: int, v: int):
            self.x = n + v

        def __str__(self) -> str:
            return "V13"

        def __eq__(self, other: "V13") -> bool:
            return self.x == other.x

        def __lt__(self, other: "V13") -> bool:
            return self.x < other.x

        def __call__(self, n: int) -> int:
            return n * self.x

    J.script(V13)

    def f(n: int):
        a, b = V13(n), V13(2)
        c = a + b * 2
        c[1] = 5
        return (-a).x, len(b), 2 in b, b[10], c.x, a == b, b < a, a(3), str(a)

    return J.script(f)(4)


@row("script")
def class_static_method(J):
    class C14:
        def __init__(self, x: int):
            self.x = C14.double(x)

        @staticmethod
        def double(x: int) -> int:
            return x * 2

    J.script(C14)

    def f(x: int):
        return C14(x).x + C14.double(1)

    return J.script(f)(3)


@row("script")
def class_property(J):
    class C15:
        def __init__(self, x: int):
            self._x = x

        @property
        def x(self) -> int:
            return self._x + 1

        @x.setter
        def x(self, value: int):
            self._x = value * 2

    J.script(C15)

    def f(n: int):
        c = C15(n)
        before = c.x
        c.x = 10
        return before, c.x

    return J.script(f)(3)


@row("script")
def class_attribute_outside_of_init(J):
    class C16:
        def __init__(self):
            self.x = 1

        def m(self):
            self.y = 2

    return J.script(C16)


@row("script")
def class_unknown_attribute(J):
    class C17:
        def __init__(self):
            self.x = 1

    J.script(C17)

    def f():
        return C17().y

    return J.script(f)


@row("script")
def class_wrong_attribute_type(J):
    class C18:
        def __init__(self):
            self.x = 1

        def m(self):
            self.x = "a"

    return J.script(C18)


@row("script")
def class_with_class_attribute(J):
    class C19:
        y = 1

        def __init__(self):
            self.x = 1

        def m(self):
            return self.y

    return J.script(C19)


@row("script")
def class_without_init(J):
    class C20:
        def m(self, x: int) -> int:
            return x + 1

    J.script(C20)

    def f(x: int):
        return C20().m(x)

    return J.script(f)(1)


@row("script")
def class_method_missing(J):
    class C21:
        def __init__(self):
            self.x = 1

    J.script(C21)

    def f():
        return C21() + C21()

    return J.script(f)


@row("script")
def class_ignored_method(J):
    class C22:
        def __init__(self):
            self.x = 1

        @J.unused
        def strange(self, y):
            return [object(), y]

        def m(self) -> int:
            return self.x

    J.script(C22)

    def f():
        return C22().m()

    return J.script(f)()


@row("script")
def class_interface(J):
    @seen_by_annotations
    @J.interface
    class Shape24:
        def area(self, k: int) -> int:
            pass

    @J.script
    class Square25:
        def __init__(self, n: int):
            self.n = n

        def area(self, k: int) -> int:
            return self.n * self.n * k

    @J.script
    class Line23:
        def __init__(self, n: int):
            self.n = n

        def area(self, k: int) -> int:
            return 0

    def g(s: Shape24) -> int:
        return s.area(2)

    def f(n: int):
        shapes = torch.jit.annotate(List[Shape24], [])
        shapes.append(Square25(n))
        shapes.append(Line23(n))
        return [g(s) for s in shapes]

    return J.script(f)(3)


@row("script")
def class_lacks_interface_method(J):
    @seen_by_annotations
    @J.interface
    class Shape27:
        def area(self, k: int) -> int:
            pass

    @J.script
    class Dot26:
        def __init__(self):
            self.n = 1

    def g(s: Shape27) -> int:
        return s.area(2)

    def f():
        return g(Dot26())

    return J.script(f)


@row("script")
def class_interface_signature(J):
    @seen_by_annotations
    @J.interface
    class Shape28:
        def area(self, k: int) -> int:
            pass

    @J.script
    class Text29:
        def __init__(self):
            self.n = 1

        def area(self, k: str) -> int:
            return 1

    def g(s: Shape28) -> int:
        return s.area(2)

    def f():
        return g(Text29())

    return J.script(f)


@row("script")
def interface_instantiated(J):
    @seen_by_annotations
    @J.interface
    class Shape30:
        def area(self, k: int) -> int:
            pass

    def f():
        return Shape30()

    return J.script(f)


@row("script")
def interface_of_no_class(J):
    return J.interface(3)


@row("script")
def interface_unknown_method(J):
    @seen_by_annotations
    @J.interface
    class Shape31:
        def area(self, k: int) -> int:
            pass

    def f(s: Shape31):
        return s.volume()

    return J.script(f)


@row("script")
def dataclass_with_post_init(J):
    @dataclasses.dataclass
    class P32:
        x: int
        y: int = 2
        z: int = 0

        def __post_init__(self):
            self.z = self.x + self.y

    J.script(P32)

    def f(n: int):
        p = P32(n)
        return p.x, p.y, p.z, P32(1, y=4).z

    return J.script(f)(3)


@row("script")
def dataclass_compared(J):
    @dataclasses.dataclass(order=True)
    class P33:
        x: int
        y: float

    J.script(P33)

    def f(a: int, b: int):
        p, q = P33(a, 1.0), P33(b, 2.0)
        return p == q, p < q, p <= q, p > q, p >= q

    return tries(J.script(f), (1, 1), (1, 2), (2, 1))


@row("script")
def dataclass_from_python(J):
    @seen_by_annotations
    @dataclasses.dataclass
    class P34:
        x: int
        y: Tensor

    J.script(P34)

    def f(p: P34):
        return p.y * p.x

    return J.script(f)(P34(3, X))


@row("script")
def dataclass_default_factory(J):
    @dataclasses.dataclass
    class P35:
        xs: List[int] = dataclasses.field(default_factory=list)

    return J.script(P35)


# Modules.


class Sub(nn.Module):
    def __init__(self, k=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.full((3,), k))

    def forward(self, x):
        return x * self.w

    def scaled(self, x, k: float):
        return x * self.w * k


@row("module")
def module_names(J):
    m = J.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), Sub()))
    return (
        m.original_name,
        m[2].original_name,
        m.training,
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_parameters()],
        len(m),
        repr(m),
        [c.original_name for c in m.children()],
    )


@row("module")
def module_exported_methods(J):
    class M(nn.Module):
        @J.export
        def helper(self, x: int) -> int:
            return x + 1

        def forward(self, x: int) -> int:
            return x

        def unseen(self, x: int) -> int:
            return x

    m = J.script(M())
    return m.helper(1), hasattr(m, "unseen"), m(5)


@row("module")
def module_unused_method(J):
    class M(nn.Module):
        @J.unused
        def strange(self, x: int) -> int:
            return id(object())

        def forward(self, x: int) -> int:
            if x > 100:
                return self.strange(x)
            return x

    return tries(J.script(M()), (1,), (101,))


@row("module")
def module_ignored_method(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        @J.ignore
        def note(self, x: int) -> int:
            self.log.append(x)
            return x + 1

        def forward(self, x: int) -> int:
            return self.note(x)

    m = M()
    s = J.script(m)
    return s(3)


@row("module")
def module_jit_unused_properties(J):
    class M(nn.Module):
        __jit_unused_properties__ = ["weird"]

        def __init__(self):
            super().__init__()
            self.k = 1

        @property
        def weird(self):
            return object()

        @property
        def fine(self) -> int:
            return self.k + 1

        def forward(self, x: int) -> int:
            return x + self.fine

    return J.script(M())(1)


@row("module")
def module_unused_property(J):
    class M(nn.Module):
        @J.unused
        @property
        def weird(self):
            return object()

        def forward(self, x: int) -> int:
            return x

    return J.script(M())(1)


@row("module")
def module_unused_decorated_property(J):
    class M(nn.Module):
        @property
        @J.unused
        def weird(self):
            return object()

        def forward(self, x: int) -> int:
            return x

    return J.script(M())(1)


@row("module")
def module_property_setter(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 1

        @property
        def twice(self) -> int:
            return self.a * 2

        @twice.setter
        def twice(self, value: int):
            self.a = value

        def forward(self, x: int) -> int:
            self.twice = x
            return self.twice

    m = J.script(M())
    return m(4), m.twice, m.a


@row("module")
def module_ignored_attributes(J):
    class M(nn.Module):
        __jit_ignored_attributes__ = ["thing", "calc"]

        def __init__(self):
            super().__init__()
            self.thing = object()

        @property
        def calc(self):
            return object()

        def forward(self, x: int) -> int:
            return x

    m = J.script(M())
    return m(1)


@row("module")
def module_ignored_property(J):
    class M(nn.Module):
        __jit_ignored_attributes__ = ["size", "count"]

        @property
        def size(self):
            raise ValueError("not asked for")

        @property
        def count(self):
            return self.factor * 2

        def __init__(self):
            super().__init__()
            self.factor = 4

        @J.ignore
        def counted(self) -> int:
            return self.count

        def forward(self, x: int) -> int:
            return x + self.factor

    m = J.script(M())
    return m(1), m.counted(), m.count


@row("module")
def module_ignored_attribute_used(J):
    class M(nn.Module):
        __jit_ignored_attributes__ = ["thing"]

        def __init__(self):
            super().__init__()
            self.thing = 3

        def forward(self, x: int) -> int:
            return x + self.thing

    return J.script(M())


@row("module")
def module_constants(J):
    class M(nn.Module):
        __constants__ = ["k", "names"]

        def __init__(self):
            super().__init__()
            self.k = 3
            self.names = ["a", "b"]

        def forward(self, x: int):
            out: List[str] = []
            for n in self.names:
                out.append(n)
            return x + self.k, out

    m = J.script(M())
    return m(1), m.k


@row("module")
def module_constant_is_fixed(J):
    class M(nn.Module):
        __constants__ = ["k"]

        def __init__(self):
            super().__init__()
            self.k = 3

        def forward(self, x: int):
            self.k = 4
            return x

    return J.script(M())


@row("module")
def module_final(J):
    class M(nn.Module):
        k: torch.jit.Final[int]

        def __init__(self):
            super().__init__()
            self.k = 3

        def forward(self, x: int):
            return x + self.k

    return J.script(M())(1)


@row("module")
def module_attribute_of_unknown_type(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.thing = object()

        def forward(self, x: int):
            return self.thing

    return J.script(M())


@row("module")
def module_empty_list(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.xs = []

        def forward(self, x: int):
            self.xs.append(x)
            return self.xs

    return J.script(M())


@row("module")
def module_attribute_missing(J):
    class M(nn.Module):
        def forward(self, x: int):
            return x + self.nothing

    return J.script(M())


@row("module")
def module_attribute_made_in_forward(J):
    class M(nn.Module):
        def forward(self, x: int):
            self.new = x
            return x

    return J.script(M())


@row("module")
def module_parameter_assigned(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        def forward(self, x):
            self.w = x
            return x

    return J.script(M())(X)


@row("module")
def module_list_iterated(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Sub(1.0), Sub(2.0), nn.ReLU()])

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = layer(x) + i
            for layer in self.layers[1:]:
                x = layer(x)
            return x, len(self.layers)

    return J.script(M())(X)


@row("module")
def module_list_by_constant(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Sub(1.0), nn.ReLU()])

        def forward(self, x):
            return self.layers[-1](self.layers[0].scaled(x, 2.0))

    return J.script(M())(X)


@row("module")
def module_list_by_variable(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Sub(1.0), nn.ReLU()])

        def forward(self, x, i: int):
            return self.layers[i](x)

    return J.script(M())


@row("module")
def module_list_by_variable_with_interface(J):
    @J.interface
    class OneInput36(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

        def forward(self, x: Tensor, i: int) -> Tensor:
            layer: OneInput36 = self.layers[i]
            return layer.forward(x)

    return tries(J.script(M()), (X, 0), (X, 1), (X, -1), (X, 2))


@row("module")
def module_dict_by_variable_with_interface(J):
    @J.interface
    class OneInput37(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

        def forward(self, x: Tensor, key: str) -> Tensor:
            layer: OneInput37 = self.layers[key]
            return layer.forward(x)

    return tries(J.script(M()), (X, "a"), (X, "b"), (X, "c"))


@row("module")
def module_dict_by_variable_wrong_interface(J):
    @J.interface
    class TwoInputs38(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            pass

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

        def forward(self, x: Tensor, key: str) -> Tensor:
            layer: TwoInputs38 = self.layers[key]
            return layer.forward(x, x)

    return J.script(M())


@row("module")
def module_dict_iterated(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"a": Sub(1.0), "b": nn.ReLU()})

        def forward(self, x):
            names: List[str] = []
            for name, layer in self.layers.items():
                x = layer(x)
                names.append(name)
            for name in self.layers.keys():
                names.append(name)
            for layer in self.layers.values():
                x = layer(x) + 1
            return x, names, "a" in self.layers, "z" in self.layers, len(self.layers), self.layers["b"](x)

    return J.script(M())(X)


@row("module")
def module_dict_missing_key(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"a": nn.ReLU()})

        def forward(self, x):
            return self.layers["z"](x)

    return J.script(M())


@row("module")
def module_interface_swapped(J):
    @J.interface
    class OneInput39(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass

    class Plus40(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    class Times41(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    class M(nn.Module):
        part: OneInput39

        def __init__(self):
            super().__init__()
            self.part = Plus40()

        def forward(self, x: Tensor) -> Tensor:
            return self.part.forward(x)

    m = J.script(M())
    before = m(X)
    m.part = J.script(Times41())
    return before, m(X)


@row("module")
def module_interface_wrong_swap(J):
    @J.interface
    class OneInput42(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass

    class Plus43(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    class Two44(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    class M(nn.Module):
        part: OneInput42

        def __init__(self):
            super().__init__()
            self.part = Plus43()

        def forward(self, x: Tensor) -> Tensor:
            return self.part.forward(x)

    m = J.script(M())
    m.part = J.script(Two44())


@row("module")
def module_interface_unmet(J):
    @J.interface
    class OneInput45(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass

    class Two46(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    class M(nn.Module):
        part: OneInput45

        def __init__(self):
            super().__init__()
            self.part = Two46()

        def forward(self, x: Tensor) -> Tensor:
            return self.part.forward(x)

    return J.script(M())


@row("module")
def module_copied(J):
    import copy

    m = J.script(Sub())
    a, b = m.copy(), copy.deepcopy(m)
    with torch.no_grad():
        m.w.mul_(5)
    return a(X), b(X), type(a).__name__, type(b).__name__, a.original_name


@row("module")
def module_defined(J):
    m = J.script(Sub())
    m.define("def doubled(self, x: Tensor) -> Tensor:\n  return self.w * x * 2\n")
    return m.doubled(X), hasattr(m, "doubled"), m.doubled.name


@row("module")
def module_code_with_constants(J):
    class M(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, 2.0, 3.0])

    m = J.trace(M(), X)
    code, constants = m.code_with_constants
    return code, constants.c0, sorted(constants.const_mapping)


@row("module")
def module_code(J):
    m = J.script(Sub())
    return m.code, m.scaled.code if hasattr(m, "scaled") else None, m.forward.name


@row("module")
def module_inlined_graph(J):
    m = J.script(nn.Sequential(Sub(), nn.ReLU()))
    kinds = [n.kind() for n in m.inlined_graph.nodes()]
    return [k for k in kinds if k.startswith("aten")], "prim::CallMethod" in kinds, type(m.graph).__name__


@row("module")
def module_graph_for(J):
    m = J.script(Sub())
    return "aten::mul" in str(m.graph_for(X)) or "prim::" in str(m.graph_for(X))


@row("module")
def module_get_debug_state(J):
    m = J.script(Sub())
    return hasattr(m, "get_debug_state"), hasattr(m, "_replicate_for_data_parallel"), hasattr(m, "save_to_buffer")


@row("module")
def module_state_dict(J):
    m = J.script(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    state = m.state_dict()
    other = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    return list(state), str(other.load_state_dict(state)), str(m.load_state_dict(other.state_dict()))


@row("module")
def module_load_state_dict_missing(J):
    return J.script(nn.Linear(2, 2)).load_state_dict({"weight": torch.ones(2, 2)})


@row("module")
def module_set_attribute(J):
    m = J.script(Sub())
    m.w = nn.Parameter(torch.full((3,), 9.0))
    m.extra = 5
    return m(X), m.extra, "extra" in dir(m)


@row("module")
def module_set_wrong_attribute(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x: int):
            return x + self.n

    m = J.script(M())
    m.n = "a"
    return m(1)


@row("module")
def module_missing_method(J):
    return J.script(Sub()).nothing


@row("module")
def module_delete_attribute(J):
    m = J.script(nn.Sequential(Sub(), nn.ReLU()))
    del m.nothing


@row("module")
def module_pickled(J):
    return pickle.dumps(J.script(Sub()))


@row("module")
def module_train_and_eval(J):
    m = J.script(nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3)))
    m.eval()
    modes = [m.training, m[0].training]
    m.train()
    return modes, m.training, m[0].training


@row("module")
def module_conversions(J):
    m = J.script(nn.Linear(2, 2))
    m.double()
    kinds = [m.weight.dtype]
    m.to(torch.bfloat16)
    return kinds, m.weight.dtype, m.float().bias.dtype


@row("module")
def module_apply(J):
    seen = []
    m = J.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    m.apply(lambda each: seen.append(each.original_name))
    return seen


@row("module")
def module_forward_hook(J):
    class M(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    def hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
        return output * 2

    def pre(self, input: Tuple[Tensor]) -> Tuple[Tensor]:
        return (input[0] * 10,)

    m = M()
    m.register_forward_hook(hook)
    m.register_forward_pre_hook(pre)
    return J.script(m)(X)


def _hook_module(forward_hook=None, pre_hook=None):
    class M(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    m = M()
    if forward_hook:
        m.register_forward_hook(forward_hook)
    if pre_hook:
        m.register_forward_pre_hook(pre_hook)
    return m


@row("module")
def hook_with_wrong_input(J):
    def hook(self, input: Tuple[int], output: Tensor) -> Tensor:
        return output

    return J.script(_hook_module(hook))


@row("module")
def hook_with_wrong_output(J):
    def hook(self, input: Tuple[Tensor], output: int):
        return output

    return J.script(_hook_module(hook))


@row("module")
def hook_without_tuple(J):
    def hook(self, input: Tensor, output: Tensor) -> Tensor:
        return output

    return J.script(_hook_module(hook))


@row("module")
def hook_with_too_few_arguments(J):
    def hook(self, input: Tuple[Tensor]):
        return None

    return J.script(_hook_module(hook))


@row("module")
def pre_hook_with_wrong_result(J):
    def hook(self, input: Tuple[Tensor]) -> int:
        return 3

    return J.script(_hook_module(None, hook))


@row("module")
def pre_hook_with_wrong_input(J):
    def hook(self, input: Tuple[str]) -> Tuple[str]:
        return input

    return J.script(_hook_module(None, hook))


@row("module")
def pre_hook_with_too_many_arguments(J):
    def hook(self, input: Tuple[Tensor], more: int):
        return None

    return J.script(_hook_module(None, hook))


@row("module")
def hooks_with_one_name(J):
    def hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
        return output * 2

    first = hook

    def hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:  # noqa: F811
        return output * 3

    m = _hook_module(first)
    m.register_forward_hook(hook)
    return J.script(m)


@row("module")
def hook_added_to_scripted(J):
    m = J.script(Sub())
    m.register_forward_hook(lambda self, input, output: output + 100)
    return m(X)


@row("module")
def module_getstate(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 3

        @J.export
        def __getstate__(self) -> Tuple[int, bool]:
            return (self.k * 2, self.training)

        @J.export
        def __setstate__(self, state: Tuple[int, bool]):
            self.k = state[0] + 1
            self.training = state[1]

        def forward(self, x: int) -> int:
            return x + self.k

    m = J.script(M())
    buffer = io.BytesIO()
    J.save(m, buffer)
    buffer.seek(0)
    return m(0), J.load(buffer)(0)


@row("module")
def module_script_twice(J):
    m = J.script(Sub())
    return J.script(m) is m


@row("module")
def module_class_scripted(J):
    return J.script(Sub)


@row("module")
def module_not_initialized(J):
    class M(nn.Module):
        def __init__(self):
            self.x = 1

    return J.script(M())


@row("module")
def module_without_forward(J):
    class M(nn.Module):
        @J.export
        def g(self, x: int) -> int:
            return x + 1

    m = J.script(M())
    return m.g(1), tries(m, (1,))


@row("module")
def module_forward_unannotated_int(J):
    class M(nn.Module):
        def forward(self, n):
            return n + 1

    return J.script(M())(3)


@row("module")
def module_calls_super(J):
    class Base47(nn.Module):
        def forward(self, x):
            return x + 1

    class M(Base47):
        def forward(self, x):
            return super().forward(x) * 2

    return J.script(M())(X)


@row("module")
def module_static_and_class_data(J):
    class M(nn.Module):
        k = 3

        @staticmethod
        def g(x: int) -> int:
            return x * 2

        def forward(self, x: int) -> int:
            return self.g(x) + self.k

    return J.script(M())(2)


@row("module")
def module_parameter_list(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ps = nn.ParameterList([nn.Parameter(torch.full((1,), float(i))) for i in range(3)])

        def forward(self, x):
            for p in self.ps:
                x = x + p
            return x, len(self.ps)

    return J.script(M())(X)


@row("module")
def module_parameter_dict(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ps = nn.ParameterDict({"a": nn.Parameter(torch.ones(1))})

        def forward(self, x):
            return x + self.ps["a"]

    return J.script(M())(X)


@row("module")
def module_function_attribute(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = F.relu
            self.op = torch.tanh

        def forward(self, x):
            return self.act(x) + self.op(x)

    return J.script(M())(X)


@row("module")
def module_shared_submodule(J):
    sub = Sub()
    m = J.script(nn.Sequential(sub, sub))
    return len(list(m.parameters())), m(X)


@row("module")
def module_isinstance(J):
    m = J.script(Sub())
    return isinstance(m, nn.Module), isinstance(m, J.ScriptModule), isinstance(m, J.RecursiveScriptModule)


# Traces.


@row("trace")
def trace_names(J):
    f = J.trace(lambda x: x * 2 + 1, (X,))
    return f(X), f.name, type(f).__name__, f.code


@row("trace")
def trace_module_methods(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.w

        def other(self, x):
            return x + self.w

    m = J.trace_module(M(), {"forward": X, "other": (X,)})
    return m(X), m.other(X), m.original_name


@row("trace")
def trace_module_not_a_dict(J):
    return J.trace_module(Sub(), X)


@row("trace")
def trace_module_not_a_module(J):
    return J.trace_module(lambda x: x, {"forward": X})


@row("trace")
def trace_module_missing_method(J):
    return J.trace_module(Sub(), {"nothing": X})


@row("trace")
def trace_submodule_call(J):
    m = J.trace(nn.Sequential(Sub(), nn.ReLU()), X)
    return [n for n, _ in m.named_modules()], m[0](X), m.code, m.original_name


@row("trace")
def trace_of_branch_warns(J):
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x

    return J.trace(f, (X,), check_trace=False)(-X)


@row("trace")
def trace_of_item_warns(J):
    def f(x):
        return x * int(x.sum())

    return J.trace(f, (X,), check_trace=False)(X)


@row("trace")
def trace_of_iteration_warns(J):
    def f(x):
        return sum(list(x))

    return J.trace(f, (X,), check_trace=False)(X)


@row("trace")
def trace_of_numpy_warns(J):
    def f(x):
        return x + torch.from_numpy(x.numpy())

    return J.trace(f, (X,), check_trace=False)(X)


@row("trace")
def trace_of_tensor_constant_warns(J):
    def f(x):
        return x + torch.tensor(x.sum())

    return J.trace(f, (X,), check_trace=False)(X)


@row("trace")
def trace_of_random_warns(J):
    def f(x):
        return x + torch.rand(2, 3)

    torch.manual_seed(0)
    return J.trace(f, (X,)).code


@row("trace")
def trace_check_fails(J):
    count = [0]

    def f(x):
        count[0] += 1
        return x + count[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return J.trace(f, (X,))(X)


@row("trace")
def trace_of_dict_result(J):
    return J.trace(lambda x: {"a": x}, (X,))


@row("trace")
def trace_of_dict_result_not_strict(J):
    return J.trace(lambda x: {"a": x, "b": x + 1}, (X,), strict=False)(X)


@row("trace")
def trace_of_list_result(J):
    return J.trace(lambda x: [x, x + 1], (X,))(X)


@row("trace")
def trace_of_string_result(J):
    return J.trace(lambda x: "a", (X,))


@row("trace")
def trace_of_int_input(J):
    return J.trace(lambda x, n: x + n, (X, 3))


@row("trace")
def trace_of_nested_tuple(J):
    f = J.trace(lambda p: (p[0] + p[1][0], (p[1][1],)), ((X, (X, X + 1)),))
    return f((X, (X, X)))


@row("trace")
def trace_keyword_inputs(J):
    def f(a, b):
        return a - b

    return J.trace(f, example_kwarg_inputs={"b": X, "a": X + 1})(X, X * 2)


@row("trace")
def trace_both_inputs(J):
    def f(a, b):
        return a - b

    return J.trace(f, (X,), example_kwarg_inputs={"b": X})


@row("trace")
def trace_no_inputs(J):
    return J.trace(lambda x: x)


@row("trace")
def trace_wrong_count(J):
    return J.trace(lambda x, y: x + y, (X,))


@row("trace")
def trace_called_wrongly(J):
    return tries(J.trace(lambda x: x + 1, (X,)), (X, X), (), (3,), ("a",))


@row("trace")
def trace_of_script_module(J):
    m = J.script(Sub())
    return J.trace(m, X) is m


@row("trace")
def trace_of_script_function(J):
    def f(x: Tensor):
        return x

    s = J.script(f)
    return J.trace(s, (X,)) is s


@row("trace")
def trace_calls_script(J):
    def g(x: Tensor, n: int):
        for _ in range(n):
            x = x + 1
        return x

    s = J.script(g)
    return J.trace(lambda x: s(x, 3), (X,))(X)


@row("trace")
def trace_training_flag(J):
    m = nn.Sequential(nn.Dropout(0.5))
    t = J.trace(m.eval(), X)
    return t.training, t(X)


@row("trace")
def trace_in_place_on_input(J):
    def f(x):
        x.add_(1)
        return x * 2

    x = X.clone()
    t = J.trace(f, (x,), check_trace=False)
    y = X.clone()
    return t(y), y


@row("trace")
def trace_is_tracing(J):
    seen = []

    def f(x):
        seen.append((torch.jit.is_tracing() if J is torch.jit else J.is_tracing(), J.is_scripting()))
        return x + 1

    J.trace(f, (X,), check_trace=False)
    return seen


@row("trace")
def script_if_tracing(J):
    @J.script_if_tracing
    def g(x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return x + 1
        return x - 1

    t = J.trace(lambda x: g(x), (X,))
    return t(X), t(-X), g(X)


@row("trace")
def trace_hooks(J):
    m = Sub()
    m.register_forward_hook(lambda self, input, output: output + 100)
    return J.trace(m, X)(X)


@row("trace")
def trace_size_values(J):
    t = J.trace(lambda x: x.view(x.size(0) * x.size(1)), (X,))
    return t(torch.ones(4, 5)).shape


@row("trace")
def trace_with_parameter(J):
    w = nn.Parameter(torch.ones(3))
    return J.trace(lambda x: x * w, (X,))


# Freezing.


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 1)
        self.k = 3
        self.names = ["a"]

    def forward(self, x):
        return self.conv(x) * self.k

    def other(self, x):
        return x * self.k


def _frozen(J, **options):
    torch.manual_seed(0)
    return J.freeze(J.script(Frozen().eval()), **options)


IMAGE = torch.ones(1, 1, 2, 2)


@row("freeze")
def freeze_removes_attributes(J):
    m = _frozen(J)
    return hasattr(m, "conv"), hasattr(m, "k"), list(m.state_dict()), m(IMAGE), m.original_name


@row("freeze")
def freeze_preserves_attribute(J):
    m = _frozen(J, preserved_attrs=["k"])
    before = m.k
    m.k = 5
    return before, m.k, m(IMAGE)


@row("freeze")
def freeze_preserves_nothing(J):
    return _frozen(J, preserved_attrs=["nothing"])


@row("freeze")
def freeze_of_training(J):
    return J.freeze(J.script(Frozen()))


@row("freeze")
def freeze_of_eager(J):
    return J.freeze(Frozen().eval())


@row("freeze")
def freeze_of_trace(J):
    torch.manual_seed(0)
    return J.freeze(J.trace(Frozen().eval(), IMAGE))(IMAGE)


@row("freeze")
def freeze_exported_method(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 3

        @J.export
        def other(self, x: int) -> int:
            return x * self.k

        def forward(self, x: int) -> int:
            return x + self.k

    s = J.script(M().eval())
    plain, kept = J.freeze(s), J.freeze(s, preserved_attrs=["other"])
    return hasattr(plain, "other"), kept.other(2), kept(2)


@row("freeze")
def freeze_of_written_attribute(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 0

        def forward(self, x: int) -> int:
            self.k += x
            return self.k

    m = J.freeze(J.script(M().eval()))
    return m(1), m(2), m.k


@row("freeze")
def freeze_twice(J):
    m = _frozen(J)
    return J.freeze(m)(IMAGE)


@row("freeze")
def freeze_then_save(J):
    buffer = io.BytesIO()
    J.save(_frozen(J), buffer)
    buffer.seek(0)
    return J.load(buffer)(IMAGE)


@row("freeze")
def freeze_then_train(J):
    m = _frozen(J)
    m.train()
    return m.training if hasattr(m, "training") else "none"


@row("freeze")
def optimized_for_inference(J):
    torch.manual_seed(0)
    m = J.optimize_for_inference(J.script(Frozen().eval()))
    return m(IMAGE), hasattr(m, "k")


@row("freeze")
def optimized_for_inference_other_methods(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 3

        @J.export
        def other(self, x: int) -> int:
            return x * self.k

        def forward(self, x: int) -> int:
            return x + self.k

    m = J.optimize_for_inference(J.script(M().eval()), other_methods=["other"])
    return m.other(2), m(2)


@row("freeze")
def optimized_for_inference_of_eager(J):
    return J.optimize_for_inference(Frozen().eval())


@row("freeze")
def frozen_optimizations_run(J):
    m = _frozen(J, optimize_numerics=False)
    J.run_frozen_optimizations(m)
    return m(IMAGE)


# Saving and loading.


def _saved(J, module, **options):
    buffer = io.BytesIO()
    J.save(J.script(module), buffer, **options)
    buffer.seek(0)
    return buffer


@row("save")
def save_with_extra_files(J):
    buffer = _saved(J, Sub(), _extra_files={"a.txt": "text", "b": b"\x00\xff"})
    files = {"a.txt": "", "b": "", "missing": "here"}
    m = J.load(buffer, _extra_files=files)
    return m(X), files


@row("save")
def save_to_buffer(J):
    data = J.script(Sub()).save_to_buffer(_extra_files={"a": "b"})
    files = {"a": ""}
    return type(data).__name__, J.load(io.BytesIO(data), _extra_files=files)(X), files


@row("save")
def save_function(J):
    def f(x: int) -> int:
        return x + 1

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f.pt")
        J.script(f).save(path)
        m = J.load(path)
        return m(1), type(m).__name__


@row("save")
def save_eager_module(J):
    J.save(Sub(), io.BytesIO())


@row("save")
def load_missing_file(J):
    return J.load("/nowhere/at/all.pt")


@row("save")
def load_folder(J):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "x"))
        return J.load(os.path.join(folder, "x"))


@row("save")
def load_with_map_location(J):
    outcomes = []
    for where in ("cpu", torch.device("cpu"), None):
        outcomes.append(J.load(_saved(J, Sub()), map_location=where)(X))
    return outcomes


@row("save")
def load_with_wrong_map_location(J):
    return J.load(_saved(J, Sub()), map_location=3)


@row("save")
def load_with_unknown_map_location(J):
    return J.load(_saved(J, Sub()), map_location="nothing")


@row("save")
def load_and_restore_shapes(J):
    buffer = io.BytesIO()
    J.save(J.trace(Sub(), X), buffer)
    buffer.seek(0)
    m = J.load(buffer, _restore_shapes=True)
    return m(X)


@row("save")
def load_garbage(J):
    return J.load(io.BytesIO(b"this is no archive, and a long text at that"))


@row("save")
def loaded_module(J):
    m = J.load(_saved(J, nn.Sequential(Sub(), nn.ReLU())))
    return (
        m.original_name,
        [n for n, _ in m.named_modules()],
        type(m).__name__,
        m.training,
        m.code,
        list(m.state_dict()),
    )


@row("save")
def loaded_module_has_attributes(J):
    class M(nn.Module):
        d: Dict[str, int]

        def __init__(self):
            super().__init__()
            self.d = {"a": 1}
            self.t = (1, "b")
            self.e = Color.RED

        def forward(self, x: int) -> int:
            return x + self.d["a"]

    m = J.load(_saved(J, M()))
    return m.d, m.t, m(1)


@row("save")
def loaded_by_torch_load(J):
    buffer = _saved(J, Sub())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = torch.load(buffer, weights_only=False)
    return m(X)


@row("save")
def save_wrong_extra_files(J):
    return _saved(J, Sub(), _extra_files={"a": 3})


@row("save")
def save_to_missing_folder(J):
    J.save(J.script(Sub()), "/nowhere/at/all.pt")


@row("save")
def exported_opnames(J):
    return sorted(J.export_opnames(J.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))))


# Graphs.


@row("graph")
def graph_nodes(J):
    def f(x: Tensor, n: int):
        if n > 1:
            x = x.relu()
        return x + n

    g = J.script(f).graph
    return (
        [n.kind() for n in g.nodes()],
        [str(i.type()) for i in g.inputs()],
        [str(o.type()) for o in g.outputs()],
        g.findNode("prim::If") is not None,
        len(list(g.findAllNodes("aten::relu"))),
    )


@row("graph")
def graph_text(J):
    def f(x: Tensor, xs: List[int]):
        return x.sum(xs, keepdim=True)

    return "\n".join(line.split(" # ")[0] for line in str(J.script(f).graph).splitlines())


@row("graph")
def other_names_of_operators(J):
    def f(x: Tensor, flag: bool):
        y = torch.arccos(x).clip_(0, 1) if flag is True else torch.special.expit(x)
        return torch.concat([y, x.absolute()]), torch.subtract(y, 1)

    def kinds(graph):
        return sorted(
            {n.kind() for block in graph.findAllNodes("prim::If") for b in block.blocks() for n in b.nodes()}
        ), [n.kind() for n in graph.nodes() if n.kind().startswith("aten")]

    return kinds(J.script(f).graph), [n.kind() for n in J.trace(torch.arcsin, X / 6).graph.nodes()]


@row("graph")
def graph_attributes(J):
    def f(x: Tensor):
        return x + 2

    g = J.script(f).graph
    constant = [n for n in g.nodes() if n.kind() == "prim::Constant"][0]
    return constant.attributeNames(), constant.kindOf("value"), constant.i("value"), constant.output().toIValue()


@row("graph")
def schema_arguments(J):
    def f(x: Tensor, n: int = 3, *, s: str) -> Tuple[int, str]:
        return n, s

    schema = J.script(f).schema
    return [(a.name, str(a.type), a.kwarg_only) for a in schema.arguments], len(schema.returns)


# What traces have seen.


@row("trace")
def trace_new_of_a_shape(J):
    def f(x):
        return x.new(x.shape).fill_(1), x.new(torch.Size([2]) + x.shape[1:]).zero_()

    traced = J.trace(f, X, check_trace=False)
    return [part.shape for x in (X, torch.ones(4, 5)) for part in f(x)], [part.shape for part in traced(X)]


@row("trace")
def trace_of_distributions(J):
    def f(x):
        return torch.distributions.Exponential(x).rsample(), torch.distributions.Multinomial(3, x).sample()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = J.trace(f, X + 1, check_trace=False)
    torch.manual_seed(3)
    return traced(X + 1)


@row("graph")
def traced_graph_has_the_types_of_its_examples(J):
    def f(x, y):
        return (x + y).relu(), y.long()

    traced = J.trace(f, (X, torch.ones(3, requires_grad=True)))
    graph = traced.graph
    return (
        [value.type().str() for value in graph.inputs()],
        [n.output().type().sizes() for n in graph.nodes() if n.kind() in ("aten::add", "aten::relu")],
        [value.isCompleteTensor() for value in graph.inputs()],
        str(traced.schema),
        traced(torch.ones(4, 3), torch.ones(1))[0].shape,
    )


@row("graph")
def traced_modules_graph_has_the_types_of_its_examples(J):
    traced = J.trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), X)
    buffer = io.BytesIO()
    J.save(traced, buffer)
    buffer.seek(0)
    return (
        [value.type().str() for value in list(traced.graph.inputs())[1:]],
        {node.kind(): node.output().type().str() for node in traced.graph.nodes() if "Call" in node.kind()},
        {node.kind(): node.output().type().str() for node in traced.inlined_graph.nodes() if "aten" in node.kind()},
        [value.type().str() for value in list(J.load(buffer).graph.inputs())[1:]],
        traced(torch.ones(5, 3)).shape,
    )


@row("graph")
def traced_graph_that_is_made_a_function(J):
    def f(x):
        return x.view(x.size(0), -1) + x.numel()

    graph = J.trace(f, torch.ones(2, 3, 4)).inlined_graph
    made = J.CompilationUnit().create_function("made", graph)
    return made(torch.ones(3, 2, 2))


# Unions of lists and dicts.


@row("script")
def union_of_lists(J):
    def f() -> str:
        x: Union[List[str], List[Tensor]] = ["a", "b"]
        return x[0] if isinstance(x, List[str]) else "tensors"

    def g() -> int:
        x: Union[Dict[str, Tensor], Dict[str, int]] = {"a": 1}
        return x["a"] if isinstance(x, Dict[str, int]) else 0

    def h() -> str:
        x: Union[List[str], List[Tensor]] = [s + "!" for s in ["a", "b"]]
        return x[0] if isinstance(x, List[str]) else "tensors"

    return J.script(f)(), J.script(g)(), J.script(h)()


@row("script")
def union_of_lists_that_is_empty(J):
    def f() -> int:
        x: Union[List[str], List[Tensor]] = []
        return len(x) if isinstance(x, List[str]) else 3

    return J.script(f)()


@row("script")
def union_of_dicts_that_is_empty(J):
    def f() -> int:
        x: Union[Dict[str, int], Dict[str, Tensor]] = {}
        return 3

    return J.script(f)()


@row("script")
def wait_for_nothing(J):
    J.wait(None)


@row("script")
def union_of_dicts_by_keywords(J):
    def f(x: Tensor) -> int:
        d: Union[Dict[str, int], Dict[str, Tensor], int] = dict(a=3, b=4)
        return d["b"] if isinstance(d, Dict[str, int]) else 0

    return J.script(f)(X)


@row("script")
def union_of_a_list_and_an_int(J):
    def f() -> int:
        x: Union[List[Tensor], int] = ["a", "b"]
        return 3

    return J.script(f)()


@dataclasses.dataclass
class Size:
    width: int
    height: int = 2


@row("script")
def dataclass_as_it_is(J):
    def f(x: Size) -> int:
        return x.width * x.height

    return J.script(f)(Size(3))


@row("module")
def module_list_at_a_known_index(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
            self.table = nn.ModuleDict({"a": nn.Sigmoid()})

        def forward(self, x):
            i = 1
            key = "a"
            return self.layers[i](x), self.table[key](x)

    return J.script(M())(torch.zeros(2))
