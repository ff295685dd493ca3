"""Attention masks as transformers and flex attention make them: `torch.vmap` of functions of indices, in PyTorch's mode in which
`tensor[index]` is an operator also for an index of one element. Captured, against plain Python."""

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

import cresset


def causal(batch, head, query, key):
    return key <= query


def window_of(size):
    def window(batch, head, query, key):
        return key > query - size

    return window


def of_padding(padding):
    def padded(batch, head, query, key):
        return padding[batch, key]

    return padded


def both(*functions):
    def combined(batch, head, query, key):
        result = query.new_ones((), dtype=torch.bool)
        for function in functions:
            result = result & function(batch, head, query, key).to(result.device)
        return result

    return combined


def over_indices(function):
    for places in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        function = torch.vmap(function, in_dims=places, out_dims=0)
    return function


def mask_of(function, batch, length):
    rows, places = torch.arange(batch), torch.arange(length)
    with TransformGetItemToIndex():
        return over_indices(function)(rows, torch.arange(1), places, places)


def attention(x, w, padding):
    mask = mask_of(both(causal, window_of(3), of_padding(padding)), x.size(0), x.size(1))
    q = (x @ w).unsqueeze(1)
    return F.scaled_dot_product_attention(q, x.unsqueeze(1), x.unsqueeze(1), attn_mask=mask).squeeze(1) * 2 + 1


def without_padding(x, w, padding):
    mask = mask_of(causal, x.size(0), x.size(1))
    return (x @ w).softmax(-1).masked_fill(~mask[:, 0, :, :1], 0.0) + 1


def scores(x, w, padding):
    """A table that is read at an index of one element, with a gradient."""
    table = w[0]

    def score(query, key):
        return table[key] * query

    with TransformGetItemToIndex():
        places = torch.arange(w.size(1))
        bias = torch.vmap(torch.vmap(score, in_dims=(None, 0)), in_dims=(0, None))(places, places)
    return (x @ bias).tanh() + bias.sum()


def arguments(seed, batch=2, length=6):
    generator = torch.Generator().manual_seed(seed)
    padding = torch.rand(batch, length, generator=generator) > 0.3
    padding[:, 0] = True
    return torch.randn(batch, length, 4, generator=generator), torch.randn(4, 4, generator=generator), padding


@pytest.mark.parametrize("function", [attention, without_padding, scores])
def test_masks(function):
    captured = cresset.compile(function)
    for seed in range(6):
        x, w, padding = arguments(seed)
        expected_w, found_w = w.clone().requires_grad_(), w.clone().requires_grad_()
        expected, found = function(x, expected_w, padding), captured(x, found_w, padding)
        torch.testing.assert_close(found, expected)
        expected.sum().backward()
        found.sum().backward()
        torch.testing.assert_close(found_w.grad, expected_w.grad)
        assert torch._C._len_torch_function_stack() == 0
    report = cresset.explain(captured)
    assert len(report.plans) == 1 and report.plans[0].applied >= 4 and not report.python, report


def test_other_sizes():
    captured = cresset.compile(attention)
    with torch.no_grad():
        for seed, (batch, length) in enumerate([(2, 6), (2, 6), (3, 5), (3, 5), (2, 6), (1, 7)]):
            given = arguments(seed, batch, length)
            torch.testing.assert_close(captured(*given), attention(*given))


def elements_in_the_mode(x, i):
    with TransformGetItemToIndex():
        y = x[i] * 2
    return y + x[i]


def values_in_the_mode(x, i):
    with TransformGetItemToIndex() as mode:
        y = (x * 2).relu()
        kind = type(mode)
    return y + 1, kind


class Counting(torch.overrides.TorchFunctionMode):
    calls = 0

    def __torch_function__(self, function, types, given=(), keywords=None):
        Counting.calls += 1
        return function(*given, **(keywords or {}))


def another_mode(x, i):
    with Counting():
        y = (x * 2).relu()
    return y + 1


def an_error_in_the_mode(x, i):
    try:
        with TransformGetItemToIndex():
            y = torch.vmap(lambda row: row @ row.new_ones(3))(x)
    except RuntimeError:
        y = x * 2
    return y + 1


@pytest.mark.parametrize("function", [elements_in_the_mode, values_in_the_mode, another_mode, an_error_in_the_mode])
def test_what_is_in_the_mode_besides(function):
    captured = cresset.compile(function)
    for seed in range(4):
        x, i = torch.randn(5, 2, generator=torch.Generator().manual_seed(seed)), torch.tensor(seed)
        Counting.calls = 0
        expected, calls = function(x, i), Counting.calls
        Counting.calls = 0
        found = captured(x, i)
        assert Counting.calls == calls
        torch.testing.assert_close(found, expected) if torch.is_tensor(found) else torch.testing.assert_close(
            found[0], expected[0]
        )
        assert torch._C._len_torch_function_stack() == 0


def test_a_mode_that_was_changed(monkeypatch):
    """Patched after it was captured: what it does then."""
    captured = cresset.compile(without_padding)
    given = arguments(1)
    for _ in range(3):
        torch.testing.assert_close(captured(*given), without_padding(*given))
    entered = []
    enter = torch.overrides.TorchFunctionMode.__enter__
    monkeypatch.setattr(torch.overrides.TorchFunctionMode, "__enter__", lambda self: entered.append(1) or enter(self))
    torch.testing.assert_close(captured(*given), without_padding(*given))
    assert len(entered) == 2
