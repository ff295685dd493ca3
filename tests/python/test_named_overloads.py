"""An overload that a script names is the one that is called, also where the name alone would mean another one."""

import io

import pytest
import torch

import cresset


def dtype_view(x):
    return torch.ops.aten.view.dtype(x, torch.int32)


def sizes_view(x):
    return torch.ops.aten.view.default(x, [6])


def added(x):
    return torch.ops.aten.add.Tensor(x, x, alpha=2)


def largest(x):
    return torch.ops.aten.max.default(x)


def largest_per_row(x):
    values, _ = torch.ops.aten.max.dim(x, 1)
    return values


@pytest.mark.parametrize("function", [dtype_view, sizes_view, added, largest, largest_per_row])
def test_named_overloads(function):
    x = torch.arange(6.0).reshape(2, 3)
    script = cresset.script(function)
    assert torch.equal(script(x), function(x)) and script(x).dtype == function(x).dtype
    buffer = io.BytesIO()
    cresset.save(script, buffer)
    buffer.seek(0)
    loaded = cresset.load(buffer)
    assert torch.equal(loaded(x), function(x)) and loaded(x).dtype == function(x).dtype


def test_an_overload_held_outside():
    view = torch.ops.aten.view.dtype

    def f(x):
        return view(x, torch.int16)

    x = torch.randn(2, 2)
    assert torch.equal(cresset.script(f)(x), f(x))


def test_unknown_overloads():
    def f(x):
        return torch.ops.aten.view.nothing(x)

    with pytest.raises(cresset.UserError, match="has no overload 'nothing'"):
        cresset.script(f)


def test_writes_through_dtype_views_go():
    def f(x):
        y = x * 1
        y.view(torch.int32).add_(1)
        return y

    x = torch.randn(4)
    pure = cresset.functionalize(cresset.trace(f, (x,)))
    assert torch.equal(pure(x), f(x))


def test_overloads_of_a_name_defined_twice():
    @torch.jit._overload
    def scale(x: int) -> int: ...  # noqa: F811

    @torch.jit._overload
    def scale(x: float) -> float: ...  # noqa: F811

    def scale(x):  # noqa: F811
        return x + x

    first = scale

    @cresset.script
    def f():
        return first(2), first(1.5)

    @torch.jit._overload
    def scale(a: int, b: int) -> int: ...  # noqa: F811

    def scale(a, b):  # noqa: F811
        return a * b

    second = scale

    @cresset.script
    def g():
        return second(3, 4)

    assert (f(), g()) == ((4, 3.0), 12)
