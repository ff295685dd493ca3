"""Kernels that run one after another as one call, and what joins their results.

With the option kernels=check, each call is compared with its groups, called one by one, and these with their operators: bits, dtypes, sizes and strides.
"""

import itertools
import threading

import pytest
import torch
from kernel_checks import both, checked, launches, layouts

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)


def compiled(*lines):
    source = "\n  ".join(["def f(x: Tensor, y: Tensor):", *lines]) + "\n"
    return both(source)


def kernels(function):
    return [line for plan in cresset.explain(function).plans for line in plan.kernels]


PROGRAMS = {
    "two dimensions": ["a = (x * y).sum(1, keepdim=True)", "b = x - a", "return (b * b).sum(0), b"],
    "products": ["h = torch.relu(x.mm(y.t()) + 1)", "return torch.sigmoid(h.mm(y) * 2)"],
    "cat of computed parts": ["return torch.cat([x * 2 - 1, torch.tanh(y) + x, y], 1) + 1"],
    "cat along rows": ["return torch.cat([x, x * y + 1, (x + y).sum(0, keepdim=True) * 2], 0) * 3"],
    "cat of views": ["a, b = (x * 2 + y).chunk(2, 1)", "return torch.cat([b, a], 1).exp() + 1"],
    "stack": ["return torch.stack([x * 2 + 1, y, x - y * 3], 1), torch.stack([x * 2 + 1, y * y - 1], -1) * 2"],
    "joined twice": ["a = x * 2 + 1", "b = torch.cat([a, y], 1) * 2", "return torch.cat([a, b], 1) - 1, a.sum(0) + 1"],
    "joined and returned": ["a = torch.sin(x) + 1", "b = torch.cat([a, a], 0)", "return a, b, b.sum(1) + a.sum(1)[0]"],
    "many": [
        "a = x",
        "for i in range(12):",
        "  a = torch.softmax(a * y, i % 2) + a.sum(1 - i % 2, keepdim=True)",
        "return a",
    ],
    "independent": ["return (x * 2 + 1).sum(0), (y * 3 - 1).sum(1), x - y * 2, torch.softmax(x, 1), y.mm(x.t())"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    script, eager = compiled(*PROGRAMS[program])
    for size in [(1, 2), (3, 4), (4, 30), (2, 1500), (70, 6)]:
        x, y = torch.randn(2, *size, generator=torch.Generator().manual_seed(1)) * 0.3
        for a, b in itertools.product(layouts(x), [y, y.t().contiguous().t()]):
            found, expected = script(a, b), eager(a, b)
            if isinstance(found, torch.Tensor):
                found, expected = [found], [expected]
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.shape == theirs.shape and ours.stride() == theirs.stride()
                torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)
    assert any(line.startswith("one call of kernels") for line in kernels(script))


def test_one_call():
    """Nothing runs beside the kernels, however many there are."""
    script, _ = compiled(*PROGRAMS["many"])
    x, y = torch.randn(2, 5, 6)
    script(x, y)
    with cresset.options.override(kernels="now"):
        before = _C._kernel_counts()
        script(x, y)
        after = _C._kernel_counts()
    assert (after[1] - before[1], after[2] - before[2], after[3] - before[3]) == (1, 0, 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int32, torch.bool])
def test_joined_dtypes(dtype):
    script, eager = compiled(
        "return torch.cat([x | y, y, x & y], 1) ^ True"
        if dtype == torch.bool
        else "return torch.cat([x + y, y, x * y], 1) + 1"
    )
    x, y = torch.randn(2, 7, 9).mul(3).to(dtype)
    for a in layouts(x):
        assert torch.equal(script(a, y), eager(a, y))


def test_mixed_dtypes_are_promoted():
    script, eager = compiled("return torch.cat([x * 2 + 1, y.double() * 2 + 1], 1)")
    x, y = torch.randn(2, 7, 9)
    assert torch.equal(script(x, y), eager(x, y))


def test_channels_last():
    script, eager = compiled("return torch.cat([x * 2 + 1, y - x], 1), torch.stack([x * 2 + 1, y - x], 1)")
    x, y = torch.randn(2, 2, 3, 4, 5)
    last = torch.channels_last
    for a, b in [(x, y), (x.to(memory_format=last), y), (x.to(memory_format=last), y.to(memory_format=last))]:
        for found, expected in zip(script(a, b), eager(a, b), strict=True):
            assert torch.equal(found, expected) and found.stride() == expected.stride()


def test_what_cat_refuses():
    script, eager = compiled("return torch.cat([x * 2 + 1, y * 2 - 1], 1) * 2")
    for x, y in (
        (torch.ones(2, 3), torch.ones(3, 3)),
        (torch.ones(2, 3), torch.ones(2, 3, 1)),
        (torch.ones(2), torch.ones(2)),
    ):
        with pytest.raises((RuntimeError, IndexError)) as expected:
            eager(x, y)
        with pytest.raises((RuntimeError, IndexError)) as found:
            script(x, y)
        assert str(expected.value).splitlines()[0] in str(found.value)
    for x, y in (
        (torch.ones(2, 0), torch.ones(2, 3)),
        (torch.ones(0), torch.ones(2, 3)),
        (torch.ones(0, 3), torch.ones(0, 3)),
    ):
        assert torch.equal(script(x, y), eager(x, y))


def test_large_temporaries():
    """What passes between kernels may be larger than what a thread keeps."""
    script, eager = compiled("a = (x * 2 + y)", "b = a - a.sum(0, keepdim=True)", "return b.sum(1) + 1")
    x, y = torch.randn(2, 1200, 1100)
    torch.testing.assert_close(script(x, y), eager(x, y), rtol=1e-3, atol=1e-2)


def test_threads():
    """Calls from several threads at once don't share memory."""
    script, _ = compiled(*PROGRAMS["many"])
    x, y = torch.randn(2, 40, 50)
    with cresset.options.override(kernels="now"):
        expected = script(x, y)
    wrong = []

    def work():
        with cresset.options.override(kernels="now", numerics="default"):
            wrong.extend(i for i in range(200) if not torch.equal(script(x, y), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    torch.set_num_threads(2)
    with cresset.options.override(kernels="now"):
        assert torch.equal(script(x, y), expected)


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells(cell, bias, numerics):
    """Cells of recurrent networks are computed in parts, by kernels; with gradients too."""
    torch.manual_seed(0)

    class Cell(getattr(torch.nn, cell)):  # a class of its own has plans of its own
        pass

    module = Cell(6, 8, bias)
    script = cresset.script(module)
    with cresset.options.override(numerics=numerics):
        for rows in (1, 3, 40):
            x, h, c = torch.randn(rows, 6), torch.randn(rows, 8), torch.randn(rows, 8)
            state = (h, c) if cell == "LSTMCell" else h
            for gradients in (False, True):
                with torch.set_grad_enabled(gradients):
                    results = [run(x, state) for run in (script, script, module)]
                    _, found, expected = [r if isinstance(r, tuple) else (r,) for r in results]
                    for ours, theirs in zip(found, expected, strict=True):
                        assert ours.stride() == theirs.stride()
                        if numerics == "exact":
                            assert torch.equal(ours, theirs)
                        torch.testing.assert_close(ours, theirs)
                    if gradients:
                        weights = list(module.parameters())
                        sums = [sum(r.cos().sum() for r in results) for results in (found, expected)]
                        ours, theirs = (torch.autograd.grad(total, weights) for total in sums)
                        torch.testing.assert_close(ours, theirs)
        for bad in (torch.randn(3, 5), torch.randn(2, 6)):
            with pytest.raises(RuntimeError) as expected:
                module(bad, state)
            with pytest.raises(RuntimeError) as found:
                script(bad, state)
            assert str(expected.value) in str(found.value)
    if numerics == "default":
        assert any("kernel: " in line and "linear" in line for line in kernels(script))


def test_writes_between():
    script, eager = compiled("a = (x * y + 1).sum(1)", "x.add_(1)", "b = (x * y + 1).sum(0)", "return a, b * 2, x * 1")
    x, y = torch.randn(2, 4, 5)
    first, second = x.clone(), x.clone()
    for found, expected in zip(script(first, y), eager(second, y), strict=True):
        torch.testing.assert_close(found, expected)
    assert torch.equal(first, second)


@pytest.mark.parametrize("kernels", ["now", "check"])
def test_split_at_large_products(kernels):
    """What comes before a product that no kernel computes is one call, and what comes after it. Sizes decide it."""
    script, eager = compiled(
        "a = (x * y).sum(1, keepdim=True)",
        "b = torch.cat([x - a, y * a], 1)",
        "c = torch.relu(torch.mm(b, b.t()) + 1)",
        "d = torch.softmax(c * 0.1, 1)",
        "e = torch.cat([c.sum(0, keepdim=True), d], 0)",
        "f = torch.mm(e, d) * 2",
        "return f.sum(0), torch.tanh(f.sum(1) + 1)",
    )
    with cresset.options.override(kernels=kernels):
        for rows, products in [(3, 0), (150, 2), (4, 0), (150, 2)]:
            x, y = torch.randn(2, rows, 40, generator=torch.Generator().manual_seed(rows)) * 0.2
            script(x, y)
            before = launches()
            found, expected = script(x, y), eager(x, y)
            if kernels == "now":
                assert launches() - before == products + 1
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.stride() == theirs.stride()
                torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)
    with pytest.raises(RuntimeError, match="must match"):
        script(torch.randn(150, 40), torch.randn(150, 41))


def test_several_products_too_large():
    """Each of them leaves the sequence; what lies between them stays in one, and explain tells of each."""
    script, eager = compiled(
        "for i in range(3):",
        "  x = torch.relu(torch.softmax(x * 2, 1).mm(y) + 1)",
        "  x = x - x.sum(1, keepdim=True)",
        "return torch.cat([x, y], 0) * 2, x.sum(0)",
    )
    for size in (300, 12):  # too large, then not
        x, y = torch.randn(2, size, size, generator=torch.Generator().manual_seed(2)) * 0.1
        for found, expected in zip(script(x, y), eager(x, y), strict=True):
            assert found.stride() == expected.stride()
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    text = "\n".join(kernels(script))
    assert text.count("no kernel for 300x300") == 3, text


def test_what_products_too_large_make_is_joined_by_itself():
    """It would be needed until the kernels after the join have run. What kernels make is joined where it is computed."""
    script, eager = compiled(
        "a, b, c = torch.mm(x, y), torch.mm(y, x), torch.mm(x, x)",
        "d = torch.cat([a, b, c * 2], 1)",
        "e = torch.softmax(d, 1)",
        "f = torch.stack([e * 2, torch.tanh(d), d], 1)",
        "return (f + 1).sum(2)",
    )
    for size in (300, 12):  # too large, then not
        x, y = torch.randn(2, size, size, generator=torch.Generator().manual_seed(3)) * 0.1
        for _ in range(2):
            found, expected = script(x, y), eager(x, y)
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
            assert found.stride() == expected.stride()
    lines = [line.strip() for line in kernels(script)]
    cat, stack = (lines.index(f"kernels: {name} of what is not computed in place") + 1 for name in ("cat", "stack"))
    assert "calls of 300x900" not in lines[cat] and "calls of 300x900" in lines[stack], lines
