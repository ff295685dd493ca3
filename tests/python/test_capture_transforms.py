"""Transforms of torch.func, checkpoints and gradients that captured functions call: results, gradients and what they draw."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint

import cresset

NET = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


def loss(w, x):
    return (torch.tanh(x @ w) * 2 + 1).pow(2).sum()


def block(x, w):
    return torch.tanh(x @ w) * torch.sigmoid(x @ w) + 1


def dropping(x, w):
    return F.dropout(torch.tanh(x @ w), 0.5) * torch.sigmoid(x @ w) + 1


def gradient(w, x):
    return (grad(loss)(w, x * 2) + 1).relu() * 2


def mapped(w, x):
    return vmap(lambda row: torch.tanh(row @ w).sum() * 3)(x * 2).relu() + 1


def forward_mode(w, x):
    value, tangent = jvp(lambda v: loss(v, x), (w,), (torch.ones_like(w),))
    return value * 2 + tangent


def backward_mode(w, x):
    value, back = vjp(lambda v: torch.sin(v @ w), x)
    return value * 2, back(torch.ones_like(value))[0] + 1


def jacobians(w, x):
    return (jacrev(lambda v: torch.sin(v @ w))(x[0]) + jacfwd(lambda v: torch.sin(v @ w))(x[0])) * 2


def second_derivatives(w, x):
    return hessian(lambda v: torch.sin(v @ w).sum())(x[0]) * 2


def of_each_sample(w, x):
    parameters = dict(NET.named_parameters())

    def of_one(parameters, sample):
        return functional_call(NET, parameters, (sample,)).pow(2).sum()

    return list(vmap(grad(of_one), in_dims=(None, 0))(parameters, x).values())


def with_other_parameters(w, x):
    return functional_call(NET, {key: value * 2 for key, value in NET.named_parameters()}, (x,)) * 2 + w.sum()


def value_and_gradient(w, x):
    gradient, value = grad_and_value(loss)(w, x)
    return gradient * value


def inner_gradient(w, x):
    y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
    (of_w,) = torch.autograd.grad(y, w, create_graph=True) if w.requires_grad else (w,)
    return (of_w * of_w).sum() + y


def checkpointed(w, x, inner=block, reentrant=False):
    y = x * 2 + 1
    for _ in range(2):
        y = checkpoint(inner, y, w, use_reentrant=reentrant)
    return (y * 3).relu()


def checkpointed_with_dropout(w, x):
    return checkpointed(w, x, dropping)


def checkpointed_again(w, x):
    return checkpointed(w, x, reentrant=True)


PROGRAMS = [
    gradient, mapped, forward_mode, backward_mode, jacobians, second_derivatives, of_each_sample, with_other_parameters,
    value_and_gradient, inner_gradient, checkpointed, checkpointed_with_dropout, checkpointed_again,
]  # fmt: skip


def outcome(f, i, needs_gradient):
    """Results, gradients and the place in the sequence of random numbers."""
    torch.manual_seed(i)
    w = torch.randn(4, 4, requires_grad=needs_gradient)
    x = torch.randn(3 + i % 2, 4, requires_grad=needs_gradient and i % 3 > 0)
    result = f(w, x)
    results = result if isinstance(result, (tuple, list)) else [result]
    if any(part.requires_grad for part in results):
        sum(part.sum() for part in results if part.requires_grad).backward()
    gradients = [leaf.grad for leaf in (w, x, *NET.parameters())]
    NET.zero_grad()
    return results, gradients, torch.get_rng_state()


@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_transforms(f, needs_gradient):
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(7):
        (results, gradients, state), (ours, of_ours, our_state) = (outcome(g, i, needs_gradient) for g in (f, compiled))
        assert all(
            torch.equal(a, b) and a.requires_grad == b.requires_grad for a, b in zip(results, ours, strict=True)
        ), i
        for a, b in zip(gradients, of_ours, strict=True):
            assert (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=1e-4, atol=1e-5)), i
        assert torch.equal(state, our_state)


def test_captured_functions_in_transforms():
    """Their plans of eager calls serve there, and the others outside."""
    compiled = cresset.compile(block)
    for i in range(6):
        torch.manual_seed(i)
        w, x = torch.randn(4, 4), torch.randn(3, 4)
        assert torch.equal(compiled(x, w), block(x, w))
        assert torch.equal(grad(lambda w: compiled(x, w).sum())(w), grad(lambda w: block(x, w).sum())(w))
        assert torch.equal(vmap(lambda row: compiled(row, w))(x), vmap(lambda row: block(row, w))(x))
        assert torch.allclose(jacrev(compiled)(x, w), jacrev(block)(x, w), atol=1e-6)
        both = vmap(grad(lambda w, row: compiled(row, w).sum()), in_dims=(None, 0))(w, x)
        assert torch.equal(both, vmap(grad(lambda w, row: block(row, w).sum()), in_dims=(None, 0))(w, x))


def test_exceptions_in_transforms_and_after_them():
    def f(w, x, n):
        y = torch.tanh(x @ w) * 2 + 1
        g = grad(lambda v: (torch.tanh(v @ torch.ones(n, 2)) * 2).sum())(w)
        return (y @ g).relu()

    compiled = cresset.compile(f)
    for i in range(8):
        w, x, n = torch.randn(4, 4), torch.randn(3, 4), 4 if i % 3 else 5
        try:
            expected = f(w, x, n)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as raised:
                compiled(w, x, n)
            assert str(raised.value) == str(error)
        else:
            assert torch.equal(compiled(w, x, n), expected)
        assert not torch._C._functorch.peek_interpreter_stack()


def test_fullgraph_names_the_transform():
    def chunked(w, x):
        return vmap(lambda row: torch.tanh(row @ w).sum() * 3, chunk_size=1)(x * 2).relu() + 1

    with pytest.raises(RuntimeError, match="can't be in one graph with the rest: a call of torch.func.vmap") as error:
        cresset.compile(chunked, fullgraph=True)(torch.randn(4, 4), torch.randn(3, 4))
    assert "call vmap on the captured function" in str(error.value)
