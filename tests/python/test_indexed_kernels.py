"""Kernels that read by index, against eager PyTorch: values, dtypes, sizes, strides and errors.

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

#: Per row of the table: calls of `x`, a matrix of 7 rows and 6 columns, and `i`, `j`, indices of any sizes; `v` has 5.
CALLS = {
    "aten::embedding": ["torch.embedding(x, i)", "torch.embedding(x, v + 1)"],
    "aten::index_select": ["x.index_select(0, v)", "x.index_select(1, v)", "x.index_select(-1, v - 1 + 1)"],
    "aten::gather": ["x.gather(0, m)", "x.gather(1, m)", "x.gather(-1, m[:3] + 1)"],
    "aten::take": ["x.take(i.long() * 5)", "x.take(m.long() - 1)", "torch.take(x, v.long())"],
    "aten::index.Tensor": [
        "x[i]",
        "x[:, i]",
        "x[i, j]",
        "x[v - 1]",
        "x[:, v - 2]",
        "x[i - 4, j - 4]",
        "x[None][:, v]",
        "x[None, :, :, None][:, v, v]",
        "x[None, :, :, None][:, :, v]",
        "x.unsqueeze(1)[v, :, v]",
        "x.unsqueeze(1)[m[:1, :1], :, v]",
        "x.t()[v[:, None], v[None]]",
    ],
    "aten::_unsafe_index.Tensor": ["torch.ops.aten._unsafe_index(x, [i, j])"],
}
TWINS = {"aten::index.Tensor_hacked_twin", "aten::_unsafe_index.Tensor_hacked_twin"}
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
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
#: What computes with the result `r`, so that there is a group.
AFTER = ["torch.neg(r.float()) + 1", "r + r", "r == r", "(r.float() * 2).sum()", "r.double().softmax(-1)"]


def compiled(result, after="r + r", parameters="x: Tensor, i: Tensor, j: Tensor, v: Tensor, m: Tensor"):
    """A program that goes on computing with the result, and the same as eager PyTorch runs it."""
    source = f"def f({parameters}):\n  r = {result}\n  return {after}\n"
    return both(source)


def indices(dtype=torch.int64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    sizes = [(3, 4), (3, 4), (5,), (5, 6)]
    return [torch.randint(0, 5, size, generator=generator).to(dtype) for size in sizes]


def source(dtype=torch.float32, rows=7, columns=6):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(1)).mul(50).to(dtype)


def assert_same(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


def assert_same_error(script, eager, *arguments):
    """Scripts raise RuntimeError, with the error and a traceback in its text."""
    with pytest.raises((RuntimeError, IndexError)) as expected:
        eager(*arguments)
    with pytest.raises(RuntimeError) as found:
        script(*arguments)
    assert str(found.value).endswith(str(expected.value))


def test_every_row_is_called():
    bags = {"aten::embedding_bag", "aten::embedding_bag.padding_idx"}  # see below
    assert set(CALLS) | TWINS | bags == set(_C._scalar_rows("read"))


@pytest.mark.parametrize("call", [call for calls in CALLS.values() for call in calls])
def test_operator(call):
    for index, after in itertools.product([torch.int64, torch.int32], AFTER):
        script, eager = compiled(call, after)
        own = indices(index)
        before, ran = launches(), 0
        for x in layouts(source()):
            assert_same(script(x, *own), eager(x, *own))
            ran += 1
        # Reductions that no single loop goes over, vectors of a matrix with gaps, and int32 that eager expands run unfused.
        is_expanded = "None]," in call or "m[:1" in call
        if ".sum" not in after and "take" not in call and not (is_expanded and index == torch.int32):
            assert launches() >= before + ran - 2, (call, after, index)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    for call in [calls[0] for calls in CALLS.values()]:
        script, eager = compiled(call, "r == r, torch.where(r == r, r, 0)")
        before = launches()
        for found, expected in zip(script(source(dtype), *indices()), eager(source(dtype), *indices()), strict=True):
            assert_same(found, expected)
        assert launches() > before, call


@pytest.mark.parametrize("rows, columns", [(1, 1), (2, 1), (1, 3), (5, 8), (300, 7), (33, 64), (4, 1000), (1000, 17)])
def test_sizes(rows, columns):
    """Vectors with and without a rest, along what is indexed and along what is not."""
    generator = torch.Generator().manual_seed(2)
    for call, high, shape in [
        ("torch.embedding(x, i)", rows, (3, 37)),
        ("x[:, i]", columns, (35,)),
        ("x.gather(1, i)", columns, (rows, columns)),
        ("x.gather(0, i)", rows, (rows, columns)),
        ("x.take(i)", rows * columns, (77,)),
    ]:
        script, eager = compiled(call, "r * 2 + 1", "x: Tensor, i: Tensor")
        i = torch.randint(0, high, shape, generator=generator)
        for x in layouts(source(rows=rows, columns=columns)):
            assert_same(script(x, i), eager(x, i))


WRONG = {
    "torch.embedding(x, i)": ([7], [-1], [2**40], [-(2**63)]),
    "torch.embedding(x, i * 2)": ([4], [-1], [2**62 + 1]),
    "x.index_select(1, i)": ([6], [-1]),
    "x.gather(0, i[:, None])": ([7], [-1]),
    "x.take(i)": ([42], [-43], [2**63 - 1]),
    "x[i]": ([7], [-8], [-(2**63)]),
    "x[:, i]": ([6], [-7]),
    "x[i, i]": ([6], [-7]),
    "x[i - 1, 0 * i]": ([8], [-7]),
}


@pytest.mark.parametrize("call", WRONG)
@pytest.mark.parametrize("after", ["r + r", "(r.float() * 2).sum(0)"])
def test_out_of_range(call, after):
    """Eager's own errors, whatever place of a vector the index has; and the program goes on after them."""
    script, eager = compiled(call, after, "x: Tensor, i: Tensor")
    x = source()
    for wrong, length, place in itertools.product(WRONG[call], [1, 3, 40], [0, -1]):
        i = torch.zeros(length, dtype=torch.int64)
        copies = x.clone(), i.clone()
        assert_same(script(x, i), eager(x, i))
        i[place] = wrong[0]
        copies[1][place] = wrong[0]
        assert_same_error(script, eager, x, i)
        assert torch.equal(x, copies[0]) and torch.equal(i, copies[1])


def test_out_of_range_without_checks():
    """With the option kernels=now too, where nothing else has run the operators before."""
    script, eager = compiled("torch.embedding(x, i)", "torch.exp(r) * 2", "x: Tensor, i: Tensor")
    x = source()
    for threads in (1, 4):
        torch.set_num_threads(threads)
        with cresset.options.override(kernels="now"):
            i = torch.arange(70000) % 7
            before = launches()
            torch.testing.assert_close(script(x, i), eager(x, i))
            assert launches() > before
            for place in (0, 34567, 69999):
                wrong = i.clone()
                wrong[place] = 7
                assert_same_error(script, eager, x, wrong)
            torch.testing.assert_close(script(x, i), eager(x, i))


def test_unused_reads_raise():
    source = (
        "def f(x: Tensor, i: Tensor):\n  a = i * 2\n  b = x.gather(0, a)\n  c = x.gather(0, a + 1)\n  return b + 1\n"
    )
    script = cresset.CompilationUnit(source).f
    x, i = torch.randn(5, 3), torch.zeros(4, 3, dtype=torch.int64)
    assert_same(script(x, i), x.gather(0, 2 * i) + 1)
    i[3, 2] = 2
    with pytest.raises(RuntimeError, match="index 5 is out of bounds"):
        script(x, i)


def test_empty():
    script, eager = compiled("torch.embedding(x, i)", "r * 2", "x: Tensor, i: Tensor")
    for rows, columns, shape in [(3, 4, (0,)), (0, 4, (0, 2)), (3, 0, (2,)), (3, 4, (2, 0))]:
        i = torch.zeros(shape, dtype=torch.int64)
        assert_same(script(torch.ones(rows, columns), i), eager(torch.ones(rows, columns), i))
    assert_same_error(script, eager, torch.ones(0, 4), torch.zeros(1, dtype=torch.int64))
    script, eager = compiled("x[i]", "r * 2", "x: Tensor, i: Tensor")
    for x, i in [
        (torch.ones(0, 3), torch.zeros(0, dtype=torch.int64)),
        (torch.ones(2, 0), torch.ones(3, dtype=torch.int64)),
    ]:
        assert_same(script(x, i), eager(x, i))


def test_layouts_of_indices():
    """At::index gives its result strides that follow those of the indices and of the source."""
    generator = torch.Generator().manual_seed(3)
    for call in ["x[i]", "x[:, i]", "x[i, j]", "x[:, i, j]", "x[i, :, j]", "x[:, :, i]"]:
        for dtype in (torch.int64, torch.int32):
            script, eager = compiled(call, "r * 2", "x: Tensor, i: Tensor, j: Tensor")
            x = torch.randn(3, 4, 5, 2, generator=generator)
            i = torch.randint(0, 3, (2, 6), generator=generator).to(dtype)
            j = torch.randint(0, 4, (6, 2), generator=generator).to(dtype).t()
            narrow = [i, j, i[:1], j[:, :1], i[0], j[0], i[:1, :1], i[:, :1].expand(2, 6), i.t().contiguous().t()]
            permuted = [
                x,
                x.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0),
                x.transpose(1, 2).contiguous().transpose(1, 2),
            ]
            for source, a, b in itertools.product(permuted, narrow, narrow):
                a = a % min(source.shape)
                b = b % min(source.shape)
                assert_same(script(source, a, b), eager(source, a, b))


def test_groups():
    """What stands before and after reads, in one kernel."""
    cases = {
        "torch.embedding(w, i.clamp(0, 9)) + torch.embedding(p, k)": 1,
        "(torch.embedding(w, i) * torch.tanh(p[k])).sum(-1)": 1,
        "torch.layer_norm(torch.embedding(w, i) + p[k], [16])": 1,
        "torch.softmax(torch.embedding(w, i), -1)": 1,
        "torch.embedding(w, i).mean(0)": 1,
        "w[(i * 3 + 1).clamp(-9, 9)].relu()": 1,
        "w.exp()[i] + 1": 2,
        "torch.log_softmax(w, 1).gather(1, i[:, None].clamp(0, 4)).neg() * 2": 2,
    }
    w, p = torch.randn(10, 16), torch.randn(11, 16)
    i, k = torch.randint(0, 10, (10,)), torch.arange(10)
    for call, most in cases.items():
        script, eager = compiled(call, "r", "w: Tensor, p: Tensor, i: Tensor, k: Tensor")
        script(w, p, i, k)
        before = launches()
        torch.testing.assert_close(script(w, p, i, k), eager(w, p, i, k), rtol=1e-5, atol=1e-5)
        # Each is compared with its operators, in kernels of their own.
        assert launches() > before, call
        lines = [line.strip() for plan in cresset.explain(script).plans for line in plan.kernels]
        groups = [line for line in lines if line.startswith(("kernel", "no kernel"))]
        assert 0 < len(groups) <= most, (call, groups)


def test_indices_that_are_written_to():
    source = (
        "def f(x: Tensor, i: Tensor):\n"
        "  j = i + 1\n"
        "  r = x[j]\n"
        "  i.add_(1)\n"
        "  s = x[i] * 2\n"
        "  i.mul_(0)\n"
        "  x.mul_(2)\n"
        "  return r + s, x[i] - 1\n"
    )
    script, eager = both(source)
    for _ in range(2):
        x, i = torch.randn(9, 3), torch.arange(5)
        y, k = x.clone(), i.clone()
        for found, expected in zip(script(x, i), eager(y, k), strict=True):
            assert_same(found, expected)
        assert torch.equal(x, y) and torch.equal(i, k)


def test_views_are_read():
    """Sources and indices that are views of inputs."""
    source = (
        "def f(x: Tensor, i: Tensor):\n"
        "  a = torch.embedding(x.t(), i[:, 0])\n"
        "  b = x.transpose(0, 1)[1:][i.select(1, 1)]\n"
        "  return a * b\n"
    )
    script, eager = both(source)
    x, i = torch.randn(4, 9), torch.randint(0, 8, (6, 2))
    before = launches()
    for _ in range(2):
        assert_same(script(x, i), eager(x, i))
    assert launches() > before


def test_masks_stay_outside():
    script, eager = compiled("(x * 2)[i]", "r + 1", "x: Tensor, i: Tensor")
    x = source()
    for i in (x[:, 0] > 0, x > 0, x > 1e9):
        assert_same(script(x, i), eager(x, i))


def test_indices_of_other_dtypes():
    for call in ("torch.embedding(x, i)", "x.index_select(0, i)", "x.take(i)", "x.gather(0, i[:, None])", "x[i]"):
        script, eager = compiled(call, "r * 2", "x: Tensor, i: Tensor")
        for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.float32, torch.int64):
            i = torch.tensor([0, 1, 1, 0, 1, 1, 0]).to(dtype)
            try:
                expected = eager(source(), i)
            except (RuntimeError, IndexError):
                assert_same_error(script, eager, source(), i)
            else:
                assert_same(script(source(), i), expected)


def test_gradients():
    """Reads of differentiable programs are in kernels forward; gradients are eager's."""
    script, eager = compiled("torch.embedding(x, i)", "torch.tanh(r * 2).sum()", "x: Tensor, i: Tensor")
    i = torch.randint(0, 7, (4, 3))
    with torch.enable_grad():
        found, expected = source().requires_grad_(), source().requires_grad_()
        for _ in range(3):
            found.grad = expected.grad = None
            script(found, i).backward()
            eager(expected, i).backward()
            torch.testing.assert_close(found.grad, expected.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["gather", "index_select", "take", "nn.functional.embedding", "__getitem__"])
def test_samples(name):
    """PyTorch's own samples, within groups."""
    entries = [entry for entry in op_db if entry.name == name]
    assert entries
    programs = {
        "gather": ("x.gather(d, i)", "x: Tensor, d: int, i: Tensor"),
        "index_select": ("x.index_select(d, i)", "x: Tensor, d: int, i: Tensor"),
        "take": ("x.take(i)", "x: Tensor, i: Tensor"),
        "nn.functional.embedding": ("torch.embedding(x, i)", "x: Tensor, i: Tensor"),
        "__getitem__": ("x[i]", "x: Tensor, i: Tensor"),
    }
    call, parameters = programs[name]
    script, eager = compiled(call, "r + r", parameters)
    count = 0
    for dtype in (torch.float32, torch.int64):
        if dtype not in entries[0].dtypes:
            continue
        for sample in entries[0].sample_inputs("cpu", dtype):
            arguments = [sample.input, *sample.args]
            if len(arguments) != parameters.count(":") or not isinstance(arguments[-1], torch.Tensor):
                continue
            assert_same(script(*arguments), eager(*arguments))
            count += 1
    assert count > 0


def bags(mode="sum", has_end=False, weights=False, after="r * 2 + 1"):
    """A program that sums rows, and the same in eager PyTorch."""
    call = f"torch.nn.functional.embedding_bag(i, w, o, mode='{mode}', include_last_offset={has_end}"
    call += ", per_sample_weights=q)" if weights else ")"
    return compiled(call, after, "w: Tensor, i: Tensor, o: Tensor, q: Tensor")


def bag_arguments(lengths, columns=20, has_end=False, dtype=torch.float32, index=torch.int64):
    generator = torch.Generator().manual_seed(4)
    count = sum(lengths)
    offsets = torch.tensor([0, *lengths]).cumsum(0).to(index)
    return (
        torch.randn(50, columns, generator=generator).to(dtype),
        torch.randint(0, 50, (count,), generator=generator).to(index),
        offsets if has_end else offsets[:-1],
        torch.rand(count, generator=generator).to(dtype),
    )


LENGTHS = [
    [1],
    [3, 1, 4],
    [0, 2, 0, 0, 5, 0],
    [1200, 1, 33],
    [3000],
    [0, 7],
    [1] * 100,
    [31, 32, 33, 64, 1023, 1024, 1025],
]


@pytest.mark.parametrize(
    "mode, has_end, weights",
    [("sum", False, False), ("mean", False, False), ("sum", True, True), ("mean", True, False), ("sum", False, True)],
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_bags(mode, has_end, weights, dtype):
    script, eager = bags(mode, has_end, weights)
    for lengths, columns, index in itertools.product(LENGTHS, [1, 5, 16, 20, 130], [torch.int64, torch.int32]):
        arguments = bag_arguments(lengths, columns, has_end, dtype, index)
        before = launches()
        found = script(*arguments)
        assert launches() > before
        truth, expected = eager(*(a.double() if a.is_floating_point() else a for a in arguments)), eager(*arguments)
        assert found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
        if sum(lengths) * columns > 16384:  # left to ATen
            assert torch.equal(found, expected)
            continue
        scale = truth.abs() + max(lengths) ** 0.5
        noise = 8 * torch.finfo(torch.float32).eps * scale + 4 * torch.finfo(dtype).eps * (1 + truth.abs())
        assert ((found.double() - truth).abs() <= noise).all()


def promised_sum(values):
    """The order of every reduction: blocks of 1,024 elements, 32 lanes in each, folded by halves; a tree of blocks."""
    blocks = []
    for start in range(0, max(len(values), 1), 1024):
        block, lanes = values[start : start + 1024], [torch.zeros(values.shape[1:])] * 32
        for i, value in enumerate(block):
            lanes[i % 32] = lanes[i % 32] + value
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
        blocks.append((1, lanes[0]))
        while len(blocks) > 1 and blocks[-2][0] == blocks[-1][0]:
            size, right = blocks.pop()
            blocks[-1] = (2 * size, blocks[-1][1] + right)
    while len(blocks) > 1:
        _, right = blocks.pop()
        blocks[-1] = (0, blocks[-1][1] + right)
    return blocks[0][1]


def test_order_of_bags():
    script, _ = bags(after="r")
    several, large = [3, 40, 0, 600], [2, 2500, 0, 1500]
    for lengths, columns in [
        (several, 1),
        (several, 16),
        (several, 24),
        (large, 1),
        (large, 4),
        ([5000], 1),
        ([5000], 3),
    ]:
        w, i, o, q = bag_arguments(lengths, columns)
        expected = torch.stack([promised_sum(w[part]) for part in i.split(lengths)])
        for threads in (1, 3):
            torch.set_num_threads(threads)
            for a in layouts(w):
                if torch.equal(a, w):
                    before = launches()
                    assert torch.equal(script(a, i, o, q), expected)
                    assert launches() > before


@pytest.mark.parametrize("has_end", [False, True])
def test_bags_out_of_range(has_end):
    script, eager = bags(has_end=has_end)
    w, i, o, q = bag_arguments([2, 3, 0, 4], has_end=has_end)
    wrong = [(w, i.clone().fill_(50), o), (w, i.clone().index_fill(0, torch.tensor(8), -1), o)]
    for place, value in [(0, 1), (1, -1), (1, 6), (2, 2**40), (3, 10), (3, 4), (-1, -(2**62))]:
        offsets = o.clone()
        offsets[place] = value
        wrong.append((w, i, offsets))
    for arguments in wrong:
        with pytest.raises(RuntimeError, match="embedding_bag"):
            script(*arguments, q)
    assert_same(script(w, i, o, q), eager(w, i, o, q))


def test_bags_that_no_kernel_computes():
    for options in ("mode='max'", "mode='sum', padding_idx=1", "mode='mean', padding_idx=-1"):
        call = f"torch.nn.functional.embedding_bag(i, w, o, {options})"
        script, eager = compiled(call, "r * 2", "w: Tensor, i: Tensor, o: Tensor")
        w, i, o, _ = bag_arguments([2, 3, 0, 4])
        assert_same(script(w, i, o), eager(w, i, o))
    script, eager = bags()
    for lengths in ([0], [0, 0]):
        assert_same(script(*bag_arguments(lengths)), eager(*bag_arguments(lengths)))
    module = torch.nn.EmbeddingBag(50, 8, mode="mean")
    assert_same(cresset.script(module)(torch.arange(12).view(3, 4)), module(torch.arange(12).view(3, 4)))
