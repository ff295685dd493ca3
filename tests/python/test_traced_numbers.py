"""Tensors that stand for numbers: a trace made with one value follows another, or has warned."""

import io
import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import cresset

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

from torch.testing._internal.common_methods_invocations import op_db
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


def test_other_numbers_of_parts():
    """The first part is taken of however many there are. Others are counted from one end or the other, and which one it was is not known;
    nor is whether a list of all parts was meant to be all of them (`split(n)[:4]`)."""
    first = traces(lambda x, at: x.tensor_split(at)[0], matrix(), torch.tensor([1, 3]))
    for at in (torch.tensor([1, 3]), torch.tensor([2]), torch.tensor([], dtype=torch.long)):
        same(first(matrix(), at), matrix().tensor_split(at)[0])
    for taken in (
        lambda x, n: x.split(n)[-1],
        lambda x, n: x.split(n)[1],
        lambda x, n: x.split(n),
        lambda x, n: torch.cat(x.split(n)[:4]),
    ):
        traced = traces(taken, matrix(), number(1))
        with pytest.raises(RuntimeError, match="Expected 4 elements in a list but found 2"):
            traced(matrix(), number(2))
    last = traces(lambda x, n: x.split(n)[-1], matrix(), number(4))
    with pytest.raises(RuntimeError, match="Expected 1 elements in a list but found 2"):
        last(matrix(), number(2))


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
