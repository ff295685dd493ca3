"""Kernels that add to elements by index, against eager PyTorch: values, dtypes, sizes, strides and errors.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own.
"""

import itertools

import pytest
import torch
from kernel_checks import both, checked, launches, layouts
from op_database import op_db

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)

#: Per row of the table: calls of `x`, a matrix of 5 rows and 6 columns, `s` and `t`, what is added along the rows (7 of
#: them) and along the columns (8), and the indices `i` and `j` for them.
CALLS = {
    "aten::index_add": ["x.index_add(0, i, s)", "x.index_add(1, j, t)", "x.index_add(-2, i - 1 + 1, s)"],
    "aten::scatter_add": [
        "x.scatter_add(0, i[:, None].expand(7, 6), s)",
        "x.scatter_add(1, j.expand(5, 8), t)",
        "x.scatter_add(-1, j.expand(5, 8) + 0, t)",
    ],
    "aten::index_put": [
        "x.index_put((i,), s, accumulate=True)",
        "x.index_put((i - 5,), s, accumulate=True)",
    ],
    "aten::_unsafe_index_put": ["torch.ops.aten._unsafe_index_put(x, [i], s, True)"],
}
TWINS = {"aten::index_put.hacked_twin", "aten::_unsafe_index_put.hacked_twin"}
DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
]
PARAMETERS = "x: Tensor, s: Tensor, t: Tensor, i: Tensor, j: Tensor"
#: What is done to `s` and `t` before, in the same kernel.
BEFORE = ["s", "s * s", "torch.where(s == s, s, s)"]


def compiled(result, before="s", parameters=PARAMETERS, after="r"):
    """A program that computes what is added, and the same as eager PyTorch runs it."""
    both_sides = (
        f"  t = {before.replace('s', 't')}\n" if before != "torch.where(s == s, s, s)" and ", t:" in parameters else ""
    )
    source = f"def f({parameters}):\n  s = {before}\n{both_sides}  r = {result}\n  return {after}\n"
    return both(source)


def filled(*sizes, dtype=torch.float32, seed=1):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).mul(9).to(dtype)


def indices(high, *sizes, dtype=torch.int64, seed=0):
    return torch.randint(0, high, sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def arguments(dtype=torch.float32, index=torch.int64):
    added = filled(7, 6, dtype=dtype, seed=2), filled(5, 8, dtype=dtype, seed=3)
    return [filled(5, 6, dtype=dtype), *added, indices(5, 7, dtype=index), indices(6, 8, dtype=index)]


def assert_same(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def assert_same_error(script, eager, *given):
    with pytest.raises((RuntimeError, IndexError)) as expected:
        eager(*given)
    with pytest.raises(RuntimeError) as found:
        script(*given)
    assert str(found.value).endswith(str(expected.value))


def test_every_row_is_called():
    assert set(CALLS) | TWINS == set(_C._scalar_rows("added"))


@pytest.mark.parametrize("call", [call for calls in CALLS.values() for call in calls])
def test_operator(call):
    for before in BEFORE:
        script, eager = compiled(call, before)
        x, s, t, i, j = arguments()
        for a, b, c in zip(layouts(x), layouts(s), layouts(t), strict=True):
            launched = launches()
            for target, other in ((a, s), (x, b)):
                assert_same(script(target, other, c, i, j), eager(target, other, c, i, j))
            assert launches() > launched, (call, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [torch.int64, torch.int32])
def test_dtypes(dtype, index):
    for call in [calls[0] for calls in CALLS.values()]:
        script, eager = compiled(call, "torch.where(s == s, s, s)")
        given = arguments(dtype, index)
        try:
            expected = eager(*given)
        except (RuntimeError, IndexError):
            assert_same_error(script, eager, *given)
            continue
        launched = launches()
        assert_same(script(*given), expected)
        assert launches() > launched or dtype in (torch.bfloat16, torch.float16), call


@pytest.mark.parametrize("rows, columns", [(1, 1), (2, 1), (1, 3), (5, 8), (300, 7), (33, 64), (4, 1000), (1000, 17)])
@pytest.mark.parametrize("count", [1, 2, 37, 400])
def test_sizes(rows, columns, count):
    """Vectors with and without a rest, along what is indexed and along what is not; few elements that are added to often."""
    for call, high, shape in [
        ("x.index_add(0, i, s * s)", rows, (count, columns)),
        ("x.index_add(1, i, s * s)", columns, (rows, count)),
        ("x.scatter_add(0, i[:, None].expand(-1, s.size(1)), s * s)", rows, (count, columns)),
        ("x.scatter_add(1, i.expand(s.size(0), -1), s * s)", columns, (rows, count)),
        ("x.index_put((i,), s * s, accumulate=True)", rows, (count, columns)),
    ]:
        script, eager = both(f"def f(x: Tensor, s: Tensor, i: Tensor):\n  return {call}\n")
        x, s, i = filled(rows, columns), filled(*shape, seed=2), indices(high, count)
        for added in layouts(s):
            assert_same(script(x, added, i), eager(x, added, i))


def test_indices_of_each_element():
    """Each element has an index of its own, in one, two and three dimensions; some rows are not added to."""
    for shape, dim in itertools.product([(40,), (9, 17), (3, 5, 20), (20, 5, 3)], range(3)):
        if dim >= len(shape):
            continue
        script, eager = both(f"def f(x: Tensor, s: Tensor, i: Tensor):\n  return x.scatter_add({dim}, i, s * s)\n")
        larger = [size + 2 for size in shape]
        x, s, i = filled(*larger), filled(*shape, seed=2), indices(larger[dim], *shape)
        launched = launches()
        for permuted in itertools.permutations(range(len(shape))):
            back = sorted(range(len(shape)), key=permuted.__getitem__)
            a, b = (v.permute(permuted).contiguous().permute(back) for v in (s, i))
            assert_same(script(x, a, i), eager(x, a, i))
            assert_same(script(x, s, b), eager(x, s, b))
        assert launches() > launched


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_in_place(dtype):
    """What is added to was made before, and is used afterwards."""
    for call in [
        "y.index_add_(0, i, s)",
        "y.scatter_add_(0, i[:, None].expand(7, 6), s)",
        "y.index_put_([i], s, True)",
    ]:
        script, eager = both(
            "def f(x: Tensor, s: Tensor, i: Tensor):\n"
            "  y = x.clone()\n"
            "  s = torch.where(s == s, s, s)\n"
            f"  {call}\n"
            "  z = torch.zeros_like(x)\n"
            f"  {call.replace('y.', 'z.')}\n"
            "  return y, z, torch.where(y == z, y, z)\n"
        )
        x, s, _, i, _ = arguments(dtype)
        launched = launches()
        for target in (x, x.t().contiguous().t()):
            for found, expected in zip(script(target, s, i), eager(target, s, i), strict=True):
                assert_same(found, expected)
        assert launches() > launched


WRONG = {
    "x.index_add(0, i, s)": ([5], [-1], [2**40], [-(2**63)]),
    "x.scatter_add(0, i[:, None].expand(-1, 6), s)": ([5], [-1], [2**40]),
    "x.index_put((i,), s, accumulate=True)": ([5], [-6], [-(2**63)]),
    "x.index_add(0, i * 2, s)": ([3], [2**62]),
}


@pytest.mark.parametrize("call", WRONG)
def test_out_of_range(call):
    """Eager's own errors, whatever place of a vector the index has; and the program goes on after them."""
    script, eager = compiled(call, "s * s", "x: Tensor, s: Tensor, i: Tensor")
    for wrong, length, place in itertools.product(WRONG[call], [1, 3, 40], [0, -1]):
        given = [filled(5, 6), filled(length, 6), torch.zeros(length, dtype=torch.int64)]
        assert_same(script(*given), eager(*given))
        given[2][place] = wrong[0]
        copies = [v.clone() for v in given]
        assert_same_error(script, eager, *given)
        assert all(map(torch.equal, given, copies))


def test_sizes_that_do_not_fit():
    for call in (
        "x.index_add(0, i, s)",
        "x.index_put((i,), s, accumulate=True)",
        "x.scatter_add(0, i.expand(6, -1).t(), s)",
    ):
        script, eager = compiled(call, "s * s", "x: Tensor, s: Tensor, i: Tensor")
        for rows, columns, count in [
            (6, 6, 7),
            (7, 5, 7),
            (1, 6, 7),
            (7, 1, 7),
            (7, 6, 1),
            (7, 7, 7),
            (8, 6, 7),
            (0, 6, 0),
        ]:
            given = filled(5, 6), filled(rows, columns), indices(5, count)
            try:
                expected = eager(*given)
            except (RuntimeError, IndexError):
                assert_same_error(script, eager, *given)
            else:
                assert_same(script(*given), expected)


OTHERS = [
    "torch.ops.aten.index_put(x, [i, None], s, True)",
    "torch.ops.aten.index_put(x[None], [None, i, None], s[None], True)",
    "torch.ops.aten.index_put(x[:, :, None], [None, i % 5], x[:, i % 5, None] * 2, True)",
    "torch.ops.aten.index_put(x[:, :, None], [None, i % 5, None], x[:, i % 5, None] * 2, True)",
    "x.index_add(0, i, s, alpha=2)",
    "x.index_put((i,), s)",
    "x.index_put((i,), s[0], accumulate=True)",
    "x.index_put((i, i), s[:, 0], accumulate=True)",
    "x.index_put((x > 0,), s[0, 0], accumulate=True)",
    "x.double().index_add(0, i, s.double())",
    "x[0].index_add(0, i, s[:, 0])",
    "x[0, 0].scatter_add(0, i[0] * 0, s[0, 0])",
    "x.scatter_add(0, i[:4, None].expand(-1, 3), s)",
    "x.index_add(0, i, s) + x.index_add(0, i, s * 3).index_add(0, i, s)",
    "x.index_add(0, i[:5] + 0, x * 2).index_add(0, i, s)",
    "(x + 1).index_add(0, i, s) * 2",
    "x.index_add(0, i, s.softmax(1))",
    "x.index_add(0, i, s.cumsum(1))",
    "x.index_add(0, i, s @ x[:, :6].t() @ x)",
    "x.index_add(0, x.long()[:, 0].index_add(0, i, i)[i] % 5, s)",
]


@pytest.mark.parametrize("call", OTHERS)
def test_other_calls(call):
    """What kernels compute in part, or not."""
    script, eager = compiled(call, "s * s", "x: Tensor, s: Tensor, i: Tensor")
    given = filled(5, 6), filled(7, 6, seed=2), indices(5, 7)
    torch.testing.assert_close(script(*given), eager(*given), rtol=1e-4, atol=1e-4)


def test_groups():
    """Messages of a graph: what is read by index, computed and added by index is one kernel."""
    cases = {
        "z.index_add(0, i, x[j] * w)": 1,
        "z.index_add(0, i, (x[j] - x[i]).relu() * w)": 1,
        "z.scatter_add(0, i[:, None].expand(-1, 8), torch.exp(x.index_select(0, j)) * w)": 1,
        "z.index_put((i,), x[j] * w, accumulate=True)": 1,
        "z.index_add(0, i, x[j] * w) + 1": 2,
        "z.index_add(0, i, x[j] * w).index_add(0, j, x[i] * w)": 2,
        "z.index_add(0, i, x[j] * w) * 2 + z.index_add(0, j, x[i] * w)": 3,
    }
    x, z, w = filled(10, 8), torch.zeros(10, 8), filled(50, 1)
    i, j = indices(10, 50), indices(10, 50, seed=1)
    for call, most in cases.items():
        script, eager = both(f"def f(x: Tensor, z: Tensor, w: Tensor, i: Tensor, j: Tensor):\n  return {call}\n")
        launched = launches()
        torch.testing.assert_close(script(x, z, w, i, j), eager(x, z, w, i, j), rtol=1e-5, atol=1e-4)
        assert launches() > launched, call
        lines = [line.strip() for plan in cresset.explain(script).plans for line in plan.kernels]
        groups = [line for line in lines if line.startswith(("kernel", "no kernel"))]
        assert 0 < len(groups) <= most, (call, groups)


def test_two_results():
    """What is added may leave the group, too."""
    script, eager = both(
        "def f(x: Tensor, s: Tensor, i: Tensor, j: Tensor):\n"
        "  m = s * s + 1\n"
        "  return x.index_add(0, i, m), m, x.index_add(0, j, -m)\n"
    )
    given = filled(5, 6), filled(70, 6), indices(5, 70), indices(5, 70, seed=1)
    for found, expected in zip(script(*given), eager(*given), strict=True):
        assert_same(found, expected)


def test_threads():
    """The order of additions is the index's, whatever threads there are."""
    cases = [
        ("x.index_add(0, i, s * 2)", (50, 64), (3000, 64), 50),
        ("x.index_add(1, i, s * 2)", (64, 50), (64, 3000), 50),
        ("x.index_add(0, i, s * 2)", (50,), (200000,), 50),
        ("x.scatter_add(1, i.expand(64, -1), s * 2)", (64, 50), (64, 3000), 50),
    ]
    for call, target, added, high in cases:
        x, s = filled(*target), filled(*added)
        i = indices(high, added[1] if "(1," in call else added[0])
        expected = both(f"def f(x: Tensor, s: Tensor, i: Tensor):\n  return {call}\n")[1](x, s, i)
        with cresset.options.override(kernels="now"):
            for threads in (1, 4):
                torch.set_num_threads(threads)
                script, _ = both(f"def f(x: Tensor, s: Tensor, i: Tensor):\n  return {call}\n")
                launched = launches()
                assert torch.equal(script(x, s, i), expected), (call, threads)
                assert launches() > launched
                wrong = i.clone()
                wrong[-1] = high
                with pytest.raises(RuntimeError, match=r"index|indices"):
                    script(x, s, wrong)


def test_what_is_added_to_is_the_source():
    """Elements are read as they were, and results that other tensors share memory with stay."""
    script, eager = both(
        "def f(x: Tensor, i: Tensor):\n"
        "  y = x.index_add(0, i, x[i] * 2)\n"
        "  z = x * 1\n"
        "  z.index_add_(0, i, z[i] * 2)\n"
        "  v = z[0]\n"
        "  z.index_add_(0, i, z[i])\n"
        "  return y, z, v\n"
    )
    x, i = filled(6, 9), indices(6, 20)
    copy = x.clone()
    for found, expected in zip(script(x, i), eager(x, i), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    assert torch.equal(x, copy)


def test_gradients():
    """The gradient of what is read by index is added up by index, and the other way round."""
    calls = ["(x[i] * s).sum()", "(x.index_select(0, i) * s).tanh().sum()", "x.index_add(0, i, s).tanh().sum()"]
    calls += [
        "(x.gather(0, i[:, None].expand(7, 6)) * s).sum()",
        "torch.zeros_like(x).scatter_add(0, i[:, None].expand(7, 6), s * s).tanh().sum()",
    ]
    for call in calls:
        script, eager = both(f"def f(x: Tensor, s: Tensor, i: Tensor):\n  return {call}\n")
        with torch.enable_grad():
            for _ in range(3):
                found = [filled(5, 6).requires_grad_(), filled(7, 6, seed=2).requires_grad_()]
                expected = [v.detach().clone().requires_grad_() for v in found]
                script(*found, indices(5, 7)).backward()
                eager(*expected, indices(5, 7)).backward()
                for a, b in zip(found, expected, strict=True):
                    torch.testing.assert_close(a.grad, b.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["index_add", "scatter_add", "index_put"])
def test_samples(name):
    """PyTorch's own samples, within groups."""
    programs = {
        "index_add": ("x.index_add(d, i, s * 1, alpha=a)", "x: Tensor, d: int, i: Tensor, s: Tensor, a: int"),
        "scatter_add": ("x.scatter_add(d, i, s * 1)", "x: Tensor, d: int, i: Tensor, s: Tensor"),
        "index_put": (
            "x.index_put(i, s * 1, accumulate=a)",
            "x: Tensor, i: List[Optional[Tensor]], s: Tensor, a: bool",
        ),
    }
    call, parameters = programs[name]
    count = 0
    (entry,) = (entry for entry in op_db if entry.name == name)
    for dtype in (torch.float32, torch.int64):
        for sample in entry.sample_inputs("cpu", dtype):
            given = [sample.input, *sample.args]
            if name == "index_put":
                given = [sample.input, list(sample.args[0]), sample.args[1], sample.kwargs.get("accumulate", False)]
            if name == "index_add":
                given.append(sample.kwargs.get("alpha", 1))
            known = {"a": given[-1], "d": given[1]} if name != "index_put" else {"a": given[-1]}
            if not isinstance(known["a"], (int, bool)) and name == "index_add":
                continue
            text = f"from typing import *\ndef f({parameters}):\n  return {call}\n"
            script, eager = both(text)
            assert_same(script(*given), eager(*given))
            count += 1
    assert count > 0
