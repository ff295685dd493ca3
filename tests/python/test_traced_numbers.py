"""Tensors that stand for numbers: a trace made with one value follows another, or has warned."""

import io
import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import cresset

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

from op_database import op_db
from trace_sweep import op_name
from traced_numbers import check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=op_name)
def test_arguments_of_operators(op):
    faults, _ = check(op)
    assert not faults


def test_the_sweep_finds_arguments():
    by_name = {op_name(op): op for op in op_db}
    assert check(by_name["narrow"])[1] >= 2
    assert check(by_name["add"])[1] >= 1


# ---- Carried: (function, tensors of the trace, tensors of a later call)


def number(value):
    return torch.tensor(value)


def matrix():
    return torch.arange(24.0).reshape(4, 6)


def written(write):
    def function(x, *numbers):
        x = x.clone()
        write(x, *numbers)
        return x

    return function


def set_item(x, n):
    x[n] = -1.0


def set_both(x, n):
    x[n, n - 1] = -1.0


def set_slice(x, n):
    x[n : n + 1, :n] = x[0, :n] * 2


def set_row(x, n):
    x[:n] = x[0]


def set_with_leading_ones(x, n):
    x[:n, 0] = x[None, None, 1, :n]


def set_number(x, n):
    x[0] = n


def add_to_slice(x, n):
    x[n:] += 1


def add_in_loop(x, n):
    for i in range(3):
        x[n - i] += i


def running(x, n):
    for _ in range(2):
        n = n + 1
        x = torch.cat([x, x[:n]])
    return x


def under_no_grad(x, n):
    with torch.no_grad():
        scale = (x.sum() * n).detach() / 100
    return F.leaky_relu(x - 5, scale)


CARRIED = {
    "index": (lambda x, n: x[n], 2, 3),
    "index_negative": (lambda x, n: x[n], -1, -2),
    "index_in_tuple": (lambda x, n: x[1, n], 2, 3),
    "index_twice": (lambda x, n: x[n, n], 2, 3),
    "index_and_constant_of_its_value": (lambda x, n: x[2, n], 2, 3),
    "index_with_none": (lambda x, n: x[None, n, ...], 2, 3),
    "index_list": (lambda x, n: x[:, [n, 1]], 2, 3),
    "index_list_that_is_a_tuple": (lambda x, n: x[[n, n - 1]], 2, 3),
    "index_of_one_element": (lambda x, n: x[: n[None]], 2, 3),
    "slice": (lambda x, n: x[:n], 2, 3),
    "slice_of_all": (lambda x, n: x[:n], 4, 3),
    "slice_from": (lambda x, n: x[0, n:], 2, 3),
    "slice_step": (lambda x, n: x[::n], 2, 3),
    "slice_arithmetic": (lambda x, n: x[n // 2 : n], 4, 2),
    "set_item": (written(set_item), 2, 3),
    "set_both": (written(set_both), 2, 3),
    "set_slice": (written(set_slice), 2, 3),
    "set_row": (written(set_row), 2, 3),
    "set_with_leading_ones": (written(set_with_leading_ones), 2, 3),
    "set_number": (written(set_number), 2, 3),
    "add_to_slice": (written(add_to_slice), 2, 3),
    "add_in_loop": (written(add_in_loop), 3, 2),
    "running": (running, 1, 2),
    "under_no_grad": (under_no_grad, 0.5, 0.25),
    "add_alpha": (lambda x, n: torch.add(x, x, alpha=n), 2, 3),
    "tensor_and_alpha": (lambda x, n: torch.add(x, n, alpha=n), 2, 3),
    "tensor_and_equal_alpha": (lambda x, n: torch.add(x, n, alpha=2), 2, 3),
    "leaky_relu": (lambda x, n: F.leaky_relu(x - 5, n), 0.2, 0.3),
    "leaky_relu_int": (lambda x, n: F.leaky_relu(x - 5, n), 2, 3),
    "layer_norm_eps": (lambda x, n: F.layer_norm(x, [6], None, None, n), 0.1, 0.2),
    "sum_dim": (lambda x, n: x.sum(n), 0, 1),
    "sum_axis": (lambda x, n: x.sum(axis=n), 0, 1),
    "sum_dims": (lambda x, n: x[None].sum(dim=(n, 0)), 1, 2),
    "select_dim": (lambda x, n: x.select(n, 0), 0, 1),
    "topk": (lambda x, n: x.topk(n)[0], 2, 3),
    "zeros": (lambda x, n: torch.zeros(n, 3), 3, 2),
    "zeros_second": (lambda x, n: torch.zeros(3, n), 3, 2),
    "zeros_tuple": (lambda x, n: torch.zeros((n, 3)), 2, 3),
    "zeros_both": (lambda x, n: torch.zeros(n, n + 1), 2, 3),
    "arange": (lambda x, n: torch.arange(1, n), 4, 6),
    "full": (lambda x, n: torch.full((n, 2), n), 2, 3),
    "reshape": (lambda x, n: x.reshape(n, -1), 2, 3),
    "repeat": (lambda x, n: x.repeat(1, n), 2, 3),
    "split": (lambda x, n: x.split(n)[0], 2, 3),
    "split_first": (lambda x, n: x.split(n)[0] * 2, 1, 3),
    "split_sizes": (lambda x, n: x.split([n, 4 - n])[0], 2, 3),
    "chunk_first": (lambda x, n: x.chunk(n)[0], 2, 4),
    "tensor_split_first": (lambda x, n: torch.tensor_split(x, n)[0], 3, 2),
    "pad": (lambda x, n: F.pad(x, (n, 1)), 2, 3),
    "interpolate": (lambda x, n: F.interpolate(x[None, None], size=(n, n)), 2, 3),
    "interpolate_one_size": (lambda x, n: F.interpolate(x[None, None], size=n), 2, 3),
    "interpolate_scale": (lambda x, n: F.interpolate(x[None], scale_factor=n, recompute_scale_factor=True), 1.7, 2.6),
    "max_pool": (lambda x, n: F.max_pool2d(x[None], n), 2, 3),
    "overload": (lambda x, n: torch.ops.aten.narrow.default(x, 0, 0, n), 2, 3),
    "overload_bool": (lambda x, n: torch.ops.aten.sum.dim_IntList(x, [0], n), True, False),
    "size_of_dim": (lambda x, n: torch.zeros(x.size(n)), 0, 1),
    "tensor_of": (lambda x, n: torch.tensor([n, 3]) * 2, 2, 3),
    "tensor_of_mixed": (lambda x, n: torch.tensor([n, x.size(0), 2.5]), 2, 3),
    "new_tensor": (lambda x, n: x.new_tensor([n, 3]), 2, 3),
    "item": (lambda x, n: x[: n.item()] * n.item(), 2, 3),
    "item_arithmetic": (lambda x, n: x.clamp(max=n.item() * 2.5 + 1), 2, 3),
    "item_float": (lambda x, n: x.masked_fill(x > 3, n.item()), 2.5, 3.5),
    "item_half": (lambda x, n: x[0].half().fill_(n.item()), 2.3, 3.3),
    "to_list": (lambda x, n: x * n.tolist(), 2, 3),
    "square_root": (lambda x, n: x / math.sqrt(n), 2, 3),
    "floor": (lambda x, n: x[: math.floor(n)] + math.ceil(n), 2.5, 3.5),
    "maximum": (lambda x, n: x[: x.argmax() // n], 6, 12),
}  # fmt: skip


def traces(function, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", cresset.TracerWarning)
        return cresset.trace(function, inputs, check_trace=False)


def same(result, expected):
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
    assert result.stride() == expected.stride()


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence", "ignore:To copy construct")
@pytest.mark.parametrize("name", CARRIED)
def test_carried(name):
    function, first, second = CARRIED[name]
    traced = traces(function, matrix(), number(first))
    stored = io.BytesIO()
    traced.save(stored)
    stored.seek(0)
    cresset_copy = cresset.load(stored)
    stored.seek(0)
    jit_copy = torch.jit.load(stored)
    for value in (first, second):
        expected = function(matrix(), number(value))
        for program in (traced, cresset_copy, jit_copy):
            same(program(matrix(), number(value)), expected)


# ---- Other numbers of parts: what takes them by index, as a slice or whole follows them


def first_and_last(parts):
    return parts[0] - parts[-1]


def second_and_last(parts):
    """The same part where there are two of them."""
    return parts[1] * 2 + parts[-1]


def last_twice(parts):
    return parts[-1] + parts[-1] * 2


def by_a_number_of_the_trace(parts):
    return parts[len(parts) - 1] + parts[len(parts) // 2]


def slices(parts):
    return torch.cat(parts[:2]) * 2


def slice_of_a_slice(parts):
    return torch.cat(parts[:3][1:]) + parts[1:][-1].sum()


def whole(parts):
    return torch.cat(parts) * 2


def whole_and_one(parts):
    return torch.cat(parts) - parts[-1].sum()


def one_and_whole(parts):
    last = parts[-1] * 2
    return torch.vstack(parts).sum(0) + last.sum(0)


def number_of_them(parts):
    return torch.zeros(len(parts), 2) + parts[0].sum()


def as_keyword(parts):
    return torch.cat(tensors=parts, dim=0)


def each_by_an_operator(parts):
    return torch.cat(torch._foreach_mul(parts, 2.0))


def written_part(parts):
    parts[-1].mul_(3)
    return torch.cat(parts)


PARTS = [
    first_and_last, second_and_last, last_twice, by_a_number_of_the_trace, slices, slice_of_a_slice, whole, whole_and_one,
    one_and_whole, number_of_them, as_keyword, each_by_an_operator, written_part,
]  # fmt: skip
#: How a tensor of twelve rows is split, and numbers for the trace and for later calls.
SPLITS = {
    "split": (lambda x, n: x.split(n), [3, 6, 4, 2, 3]),
    "torch_split": (lambda x, n: torch.split(x, n, 0), [6, 3, 4]),
    "chunk": (lambda x, n: x.chunk(n), [2, 4, 6, 3]),
    "tensor_split": (lambda x, n: x.tensor_split(n), [4, 2, 6]),
    "tensor_split_by_numbers": (lambda x, n: x.tensor_split([n // 2, n]), [4, 8, 6]),
    "split_by_numbers": (lambda x, n: x.split([n, 12 - n]), [6, 6]),
    "unsafe_split": (lambda x, n: torch.unsafe_split(x, n), [4, 6, 2]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", PARTS, ids=lambda use: use.__name__)
@pytest.mark.parametrize("split", SPLITS)
def test_other_numbers_of_parts(split, use):
    take, numbers = SPLITS[split]

    def function(x, n):
        return use(take(x.clone(), n))

    rows = torch.arange(36.0).reshape(12, 3)
    if use in (first_and_last, second_and_last, by_a_number_of_the_trace, one_and_whole):
        numbers = [n for n in numbers if len({p.shape for p in take(rows, n)}) == 1]
    traced = traces(function, rows, number(numbers[0]))
    stored = io.BytesIO()
    traced.save(stored)
    stored.seek(0)
    jit_copy = torch.jit.load(stored)
    for n in numbers:
        expected = function(rows, number(n))
        for program in (traced, jit_copy):
            same(program(rows, number(n)), expected)


def test_parts_that_are_taken_one_by_one():
    """Who took four of them by name, or one after the other, has a program for four."""

    def unpacked(x, n):
        a, b, c, d = x.split(n)
        return a + d

    def in_a_loop(x, n):
        return sum(part * 2 for part in x.split(n))

    def returned(x, n):
        return x.split(n)

    def beside_others(x, n):
        return torch.cat([*x.split(n), x])

    def after_the_last(x, n):
        parts = x.split(n)
        return parts[-1] * 2 + torch.cat(parts + parts)[-1]

    for taken in (unpacked, in_a_loop, returned, beside_others, after_the_last):
        traced = traces(taken, matrix(), number(1))
        assert torch.equal(
            torch.stack(tuple(traced(matrix() + 1, number(1)))), torch.stack(tuple(taken(matrix() + 1, number(1))))
        )
        with pytest.raises(RuntimeError, match="Expected 4 elements in a list but found 2"):
            traced(matrix(), number(2))


def test_parts_in_modules():
    class Split(torch.nn.Module):
        def forward(self, x, n):
            return x.split(n)

    class Uses(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.split = Split()
            self.join = Join()

        def forward(self, x, n):
            parts = self.split(x, n)
            return self.join(parts) + parts[-1].sum()

    class Join(torch.nn.Module):
        def forward(self, parts):
            return torch.cat(parts) * parts[0].sum()

    module = Uses()
    traced = traces(module, matrix(), number(2))
    for n in (2, 1, 4, 3):
        same(traced(matrix(), number(n)), module(matrix(), number(n)))


def test_gradients_of_parts():
    def function(x, n):
        parts = x.split(n)
        return (parts[-1] * parts[-1]).sum() + (torch.cat(parts) ** 3).sum() + parts[0].exp().sum()

    traced = traces(function, matrix().requires_grad_(), number(2))
    for n in (2, 1, 4, 3):
        x = (matrix() / 10).requires_grad_()
        (ours,) = torch.autograd.grad(traced(x, number(n)), x)
        (theirs,) = torch.autograd.grad(function(x, number(n)), x)
        torch.testing.assert_close(ours, theirs)


def test_parts_after_the_trace():
    kept = []

    def function(x, n):
        kept.append(x.split(n))
        return kept[0][-1] * 2

    traces(function, matrix(), number(1))
    parts = kept[0]
    assert len(parts) == 4 and torch.equal(parts[-1], matrix()[3:]) and torch.equal(torch.cat(parts), matrix())
    assert [len(part) for part in reversed(parts)] == [1] * 4 and len(parts[1:]) == 3


def test_gradients_flow_past_numbers():
    def function(x, n):
        return (x[n] * x[: n + 1].sum(0)).sum()

    traced = traces(function, matrix().requires_grad_(), number(2))
    x = matrix().requires_grad_()
    (ours,) = torch.autograd.grad(traced(x, number(1)), x)
    (theirs,) = torch.autograd.grad(function(x, number(1)), x)
    assert torch.equal(ours, theirs)


# ---- Sizes that went the same ways

SIZES = {
    "index_twice": lambda x: torch.arange(100).view(10, 10)[x.size(0), x.size(1)],
    "index_and_constant": lambda x: torch.arange(100).view(10, 10)[2, x.size(1)],
    "index_list": lambda x: x[[0, x.size(0) - 1]],
    "set_both": lambda x: written(lambda y, a, b: y.__setitem__((a, b), -1))(torch.zeros(10, 10), *x.shape),
    "dims": lambda x: x.sum(dim=(x.size(0) - x.size(0), 1)),
    "float_over_size": lambda x: F.leaky_relu(x - 0.5, 1.0 / x.size(0)),
    "new_tensor": lambda x: x.new_tensor(x.size(0)),
    "mixed_literal": lambda x: torch.tensor([x.size(0), 2.5]),
    "interpolate_scale": lambda x: F.interpolate(x[None], scale_factor=1.7, recompute_scale_factor=True),
    "stft": lambda x: torch.stft(
        x.flatten(), n_fft=x.size(0) * 2, return_complex=True, window=torch.ones(x.size(0) * 2)
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    function = SIZES[name]
    traced = traces(function, torch.rand(2, 2))
    for other in (torch.rand(2, 2), torch.rand(4, 5), torch.rand(3, 2)):
        same(traced(other), function(other))


# ---- Not carried: these warn, as under torch.jit or where that is silent

WARNED = {
    "range": (lambda x, n: sum(x[i] for i in range(n)), "Python index"),
    "list_index": (lambda x, n: x * [1, 2, 3, 4][n], "Python index"),
    "list_index_then_size": (lambda x, n: torch.zeros([1, 2, 3, 4][n], 2) + x[0, 0], "Python index"),
    "int": (lambda x, n: x * int(n), "Python integer"),
    "float": (lambda x, n: x * float(n), "Python float"),
    "decision": (lambda x, n: x if n > 2 else -x, "Python boolean"),
    "item_decision": (lambda x, n: x if n.item() > 2 else -x, "Python boolean"),
    "item_of_bool": (lambda x, n: x * (n > 2).item(), "Python number"),
    "legacy_constructor": (lambda x, n: x[0, :1] + torch.LongTensor([n]), "Python index"),
    "legacy_constructor_of_size": (lambda x, n: x[0, :1] + torch.LongTensor([x.size(0)]), "Python number"),
    "mask": (lambda x, n: x[n > 2].sum() + x, "Python boolean"),
    "nested_literal": (lambda x, n: torch.tensor([[n, 1.0]]) + x[0, 0], "torch.tensor results"),
}


@pytest.mark.parametrize("name", WARNED)
def test_warned(name):
    function, phrase = WARNED[name]
    with pytest.warns(cresset.TracerWarning, match=phrase) as caught:
        cresset.trace(function, (matrix(), number(2)), check_trace=False)
    assert {w.filename for w in caught if w.category is cresset.TracerWarning} == {__file__}


# ---- Arguments that are what the trace knows already


class Scaled(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("offset", torch.tensor([3.0, 4.0]))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


USES = {
    "product": lambda m, x: x * m.weight + m.offset,
    "data": lambda m, x: x * m.weight.data + m.offset,
    "detached": lambda m, x: x * m.weight.detach() + m.weight,
}
ALIASES = {
    "parameter": lambda m: m.weight,
    "buffer": lambda m: m.offset,
    "view": lambda m: m.weight[:],
    "detached": lambda m: m.weight.detach(),
    "data": lambda m: m.weight.data,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("alias", ALIASES)
def test_an_argument_that_is_a_parameter(use, alias):
    module = Scaled(USES[use])
    ours = traces(module, ALIASES[alias](module))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.trace(module, (ALIASES[alias](module),), check_trace=False)
    x = torch.tensor([7.0, 9.0], requires_grad=True)
    wanted = [x, module.weight]
    expected = module(x)
    gradients = torch.autograd.grad(expected.sum(), wanted, allow_unused=True)
    for traced in (ours, theirs):
        result = traced(x)
        assert torch.equal(result, expected)
        torch.testing.assert_close(
            torch.autograd.grad(result.sum(), [x, *traced.parameters()], allow_unused=True), gradients
        )


PAIRS = {
    "same": lambda x: (x, x),
    "view": lambda x: (x, x[:]),
    "detached": lambda x: (x, x.detach()),
    "requires_grad": lambda x: (x.requires_grad_(), x.requires_grad_()),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_arguments_that_share_memory(pair):
    for function in (lambda a, b: a - b, lambda a, b: a.data - b, lambda a, b: a - b.data * 2):
        traced = traces(function, *PAIRS[pair](torch.tensor([1.0, 2.0])))
        a, b = torch.tensor([7.0, 9.0]), torch.tensor([3.0, 1.0])
        assert torch.equal(traced(a, b), function(a, b))
        assert torch.equal(traced(a, a), function(a, a))


# ---- Where elements lie in memory


LAYOUTS = {
    "strides": lambda x: x * x.stride(0) + x.stride()[-1],
    "stride by keyword": lambda x: x + x.stride(dim=-1),
    "offset": lambda x: x + x.storage_offset(),
    "bytes": lambda x: x * (x.nbytes // 4),
    "as_strided": lambda x: torch.as_strided(x, (x.size(1), x.size(0)), (x.stride(1), x.stride(0)), x.storage_offset()),
    "of what is computed": lambda x: x + (x.t() * 2).stride(0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_inputs(name):
    """Traces ask each input, and what they compute, where it lies."""
    f = LAYOUTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = cresset.trace(f, (torch.arange(12.0).view(3, 4),))
    whole = torch.arange(60.0).view(6, 10)
    for x in (whole[:3, :4], whole.t()[2:5, 1:5], whole[1:5:2, ::3], torch.ones(1, 4), torch.ones(3, 0)):
        for _ in range(3):
            assert torch.equal(trace(x), f(x)) and trace(x).stride() == f(x).stride()


def test_layouts_that_are_decided_on():
    """Python's own decisions hold for the example, with a warning; within vmap numbers are the example's, too."""
    with pytest.warns(cresset.TracerWarning, match="Python boolean"):
        trace = cresset.trace(lambda x: x * 2 if x.stride(0) > 1 else x * 3, (torch.ones(3, 4),))
    assert trace(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.warns(cresset.TracerWarning, match="aten::stride is a constant"):
        mapped = cresset.trace(torch.vmap(lambda x: x * x.stride(0)), (torch.ones(2, 3),))
    assert torch.equal(mapped(torch.ones(2, 3)), torch.ones(2, 3))
