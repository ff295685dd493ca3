"""Rows of torch_jit_behaviours.py: autograd.Functions that scripts apply."""

import tempfile
from typing import List, Tuple

import torch
from torch import Tensor, nn
from torch_jit_behaviours import row, tries


class Swish(torch.autograd.Function):
    """Its gradient is not that of its operators: the script must call Python's."""

    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * torch.sigmoid(x) * scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.sigmoid(x) * ctx.scale * 100, None


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factors: List[int]) -> Tuple[Tensor, Tensor]:
        ctx.factors = factors
        return x * factors[0], x * factors[1]

    @staticmethod
    def backward(ctx, first, second):
        return first * ctx.factors[0] * 10 + second * ctx.factors[1], None


class Double(torch.autograd.Function):
    """Writes to its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


swish = Swish.apply
Alias = Swish


def with_gradients(f, *args):
    """Of three calls the results and the gradient of an argument: the later ones run optimized."""
    found = []
    for _ in range(3):
        x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        y = f(x, *args)
        found += [y.detach(), *torch.autograd.grad(y.sum(), x)]
    return found


@row("script")
def autograd_function(J):
    def f(x):
        y = x * 2 + 1
        z = Swish.apply(y, 3.0)
        return (z * y).relu() - 1

    return with_gradients(f), with_gradients(J.script(f))


@row("script")
def autograd_function_by_its_default(J):
    def f(x):
        return (Swish.apply(x) + Alias.apply(x)).exp() * 2

    return with_gradients(J.script(f))


@row("script")
def autograd_function_by_its_method(J):
    def f(x, scale: float):
        apply = Swish.apply
        return (swish(x, scale) + apply(x, scale)).exp() * 2

    return with_gradients(J.script(f), 0.5)


@row("script")
def autograd_function_with_two_results(J):
    def f(x):
        a, b = Both.apply(x + 1, [2, 3])
        return (a * b).sin() + a

    return with_gradients(f), with_gradients(J.script(f))


@row("script")
def autograd_function_that_writes(J):
    def f(x):
        y = x + 1
        before = y * 3
        z = Double.apply(y)
        return before + y * 5 + z.sin()

    return with_gradients(f), with_gradients(J.script(f))


@row("script")
def autograd_function_in_a_branch_and_a_loop(J):
    def f(x, times: int):
        if x.sum() > -100:
            for i in range(times):
                x = Swish.apply(x, float(i + 1)) + x
        return x * 2

    return with_gradients(J.script(f), 3)


@row("module")
def autograd_function_in_a_module(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)
            nn.init.constant_(self.inner.weight, 0.5)
            nn.init.constant_(self.inner.bias, 0.25)

        def forward(self, x):
            return Swish.apply(self.inner(x), 2.0) + 1

    return with_gradients(J.script(M()))


@row("module")
def autograd_function_traced_and_inside_of_a_trace(J):
    def f(x):
        return Swish.apply(x, 2.0).detach() + 1

    scripted = J.script(f)
    traced = J.trace(lambda x: scripted(x) * 2, (torch.ones(2, 3),))
    return traced(torch.full((2, 3), 2.0))


@row("script")
def autograd_function_under_no_grad(J):
    def f(x):
        with torch.no_grad():
            y = Swish.apply(x, 2.0)
        return y * x

    return with_gradients(J.script(f))


@row("script")
def autograd_function_that_fails(J):
    def f(x):
        return Swish.apply(x, None) + 1

    def g(x):
        return Both.apply(x, [1])

    x = torch.ones(2)
    return ["raised" in str(found[0]) for found in (tries(J.script(f), (x,)), tries(J.script(g), (x,)))]


@row("save")
def autograd_function_saved(J):
    def f(x):
        return Swish.apply(x, 2.0)

    with tempfile.TemporaryDirectory() as folder:
        (found,) = tries(lambda: J.save(J.script(f), folder + "/f.pt"), ())
    return "Python" in found, "raised" in found
