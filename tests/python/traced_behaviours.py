"""Rows of torch_jit_behaviours.py about in-place writes in traces."""

import warnings

import torch
from torch_jit_behaviours import row


def warned(J, f, *args, **options):
    """The warnings of a trace."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        J.trace(f, args, check_trace=False, **options)
    return [str(w.message) for w in caught if issubclass(w.category, J.TracerWarning)]


@row("trace")
def in_place_write_to_a_view(J):
    def f(x):
        x.view(-1).add_(-x.view(-1))
        return x

    return warned(J, f, torch.rand(3, 4), _force_outplace=True), warned(J, f, torch.rand(3, 4))


@row("trace")
def in_place_write_below_a_live_view(J):
    def f(x):
        x = x + 1
        y = x.t()
        z = x[0]
        x.mul_(2)
        return x + y.t(), z

    return warned(J, f, torch.rand(3, 4), _force_outplace=True)


@row("trace")
def in_place_write_after_views_died(J):
    def f(x):
        x = x + 1
        y = x.t() * 2
        z = x.view(-1)[2:].sum()
        del z
        x.mul_(2)
        return x.add_(y.t())

    return warned(J, f, torch.rand(3, 4), _force_outplace=True)


@row("trace")
def in_place_write_to_an_input(J):
    def f(x):
        -x.view(-1)
        x.add_(1)
        return x

    return warned(J, f, torch.rand(3, 4), _force_outplace=True)


@row("trace")
def assignment_to_an_element(J):
    def f(x):
        x[0, 1] = 4
        return x

    return warned(J, f, torch.rand(3, 4), _force_outplace=True)


@row("trace")
def assignments_to_parts_out_of_place(J):
    def f(x):
        x = x * 2
        x[0] = torch.ones(4)
        x[:, 1] = x[:, 0] + 3
        x.view(12)[-1:].copy_(x[1, :1])
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = J.trace(f, torch.rand(3, 4), _force_outplace=True)
    return traced(torch.arange(12.0).reshape(3, 4))


@row("trace")
def numbers_assigned_to_parts_out_of_place(J):
    def f(x):
        x = x * 2
        x[0] = 3
        x[1:, 2] = 0.5
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = J.trace(f, torch.rand(3, 4), _force_outplace=True, check_trace=False)
    return traced(torch.arange(12.0).reshape(3, 4))


@row("trace")
def copies_and_results_in_place(J):
    def f(x):
        y = torch.zeros(3, 4)
        y.copy_(x)
        torch.add(x, x, out=y)
        whole = y.view(12)
        torch.mul(x, x, out=y)
        return y, whole.zero_()

    return warned(J, f, torch.rand(3, 4), _force_outplace=True)


@row("trace")
def detached_in_place_without_gradients(J):
    def f(x, w):
        y = torch.matmul(x, w)
        y.detach_()
        return y

    x, w = torch.ones(3, 4), torch.ones(4, 5)
    f = J.trace(f, (x, w))
    y = f(x, w.requires_grad_())
    return y.requires_grad, y
