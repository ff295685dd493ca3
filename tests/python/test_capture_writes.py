"""What captured functions write to tensors that they were given: eager PyTorch's values, versions, aliases, gradients and errors,
also where a plan is given up after a write."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _frames

pytestmark = pytest.mark.skipif(not hasattr(_frames, "call_captured"), reason="frames are captured on CPython 3.11")


def outcome(function, arguments, backward):
    try:
        result = function(*arguments)
        if backward:
            result.sum().backward()
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error), str(error)
    return result


def same(found, expected):
    if isinstance(expected, torch.Tensor):
        assert type(found) is type(expected)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        assert found.requires_grad == expected.requires_grad
    elif isinstance(expected, (tuple, list)) and not isinstance(expected[0], type):
        for ours, theirs in zip(found, expected, strict=True):
            same(ours, theirs)
    else:
        assert found == expected


def agrees(function, make, calls=8, backward=False, compiled=None):
    """Calls the function and a compiled one in turn, each with its own `make(i)`, the arguments of call i; the compiled one."""
    compiled = compiled or cresset.compile(function)
    for i in range(calls):
        torch.manual_seed(i)
        ours = make(i)
        torch.manual_seed(i)
        theirs = make(i)
        same(outcome(compiled, ours, backward), outcome(function, theirs, backward))
        for one, other in zip(ours, theirs, strict=True):
            for tensor, expected in zip(tensors_in(one), tensors_in(other), strict=True):
                same(tensor.detach(), expected.detach())
                if not tensor.is_inference():
                    assert tensor._version == expected._version
                if tensor.is_leaf and tensor.grad is not None:
                    torch.testing.assert_close(tensor.grad, expected.grad)
    return compiled


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, nn.Module):
        return [*value.parameters(), *value.buffers()]
    return [each for item in value for each in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def is_one_graph(function, calls):
    """Whether one plan with a graph of that many calls is all that there is, and has run."""
    report = str(cresset.explain(function))
    return (
        f"graph of {calls} calls: ran" in report and report.count("plan of lines") + report.count("plan of line ") == 1
    )


def sgd(parameters, gradients, rate):
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p.add_(g, alpha=-rate)


def test_steps_of_optimizers():
    def make(i):
        return [nn.Parameter(torch.randn(3, 4)) for _ in range(8)], [torch.randn(3, 4) for _ in range(8)], 0.1 * i

    compiled = agrees(sgd, make)
    assert is_one_graph(compiled, 8)

    def average(slow, fast):
        for p, g in zip(slow, fast):
            p.data.mul_(0.9).add_(g.data, alpha=0.1)

    agrees(average, lambda i: make(i)[:2])


def decode(k, v, keys, values, place):
    keys[:, place] = k
    values[:, place] = v
    weights = torch.softmax((keys * k.unsqueeze(1)).sum(-1), -1)
    return (weights.unsqueeze(-1) * values).sum(1)


def copied(k, v, keys, values, place):
    keys.index_copy_(1, place, k.unsqueeze(1))
    values.index_copy_(1, place, v.unsqueeze(1))
    weights = torch.softmax((keys * k.unsqueeze(1)).sum(-1), -1)
    return (weights.unsqueeze(-1) * values).sum(1)


@pytest.mark.parametrize("size", [8, 4000])
def test_caches(size):
    def make(i):
        return (torch.randn(2, 5), torch.randn(2, 5), torch.randn(2, size, 5), torch.randn(2, size, 5))

    compiled = agrees(decode, lambda i: (*make(i), i % 8))
    assert is_one_graph(compiled, 9)
    compiled = agrees(copied, lambda i: (*make(i), torch.tensor([i])))
    assert is_one_graph(compiled, 11)
    agrees(decode, lambda i: (*make(i), torch.tensor([1, 1])[:1] + i % 3))


class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        mean = x.mean(0)
        with torch.no_grad():
            self.mean.mul_(0.9).add_(mean, alpha=0.1)
            self.count += 1
        return (x - mean) * self.weight + self.mean / self.count


def test_buffers_and_gradients():
    theirs = Normalized()
    ours = copy.deepcopy(theirs)
    more = ours.mean._version - theirs.mean._version
    compiled = cresset.compile(ours)
    for i in range(10):
        x = torch.randn(3 + i % 2, 4)
        found, expected = compiled(x), theirs(x)
        same(found, expected)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
        same(ours.mean, theirs.mean)
        assert ours.mean._version - theirs.mean._version == more


def test_names_of_the_same_memory():
    def f(x, y):
        a = y * 2
        x.add_(1)
        b = y * 3
        y[0] = 5
        c = torch.relu(x) + x.sum()
        return a, b, c, x

    def make(i):
        x = torch.randn(4, 4)
        return (x, (x.clone(), x, x[1:], x.t(), x.detach())[i % 5])

    compiled = agrees(f, make, 20)
    x, y = make(0)
    assert compiled(x, y)[3] is x


def test_views():
    def f(x, i):
        x[i].add_(1)
        x.t()[0].mul_(2)
        v = x.view(-1)
        v[2:4] = torch.relu(x[0, :2])
        x.data[1].zero_()
        return x.sum() + v.sum()

    compiled = agrees(f, lambda i: (torch.randn(3, 4), i % 3), 12)
    assert "raised 0" in str(cresset.explain(compiled))


def fails(x, y, index):
    x.mul_(2)
    x[0] = 7
    x.index_add_(0, index, y)
    return torch.relu(x + 1).sum()


def test_errors_after_writes():
    def make(i):
        index = torch.tensor([0, 1, 9 if i % 3 == 1 else 2])
        return torch.randn(4, 3), torch.randn(3, 4 if i % 3 == 2 else 3), index

    compiled = agrees(fails, make, 24)
    assert "raised 16" in str(cresset.explain(compiled))

    def overlaps(x):
        x.add_(1)
        y = torch.relu(x) * 2 + 1
        x[0].mul_(y[0])
        return y.sum()

    agrees(overlaps, lambda i: (torch.randn(3, 1).expand(3, 4) if i % 3 == 2 else torch.randn(3, 4),), 12)


def test_checks_after_writes():
    def f(x, flags):
        x.mul_(2).add_(1)
        y = torch.sigmoid(x) * x
        if y.sum() > 0:
            x.sub_(y)
            flags.append(1)
        return y, x.sum().item(), bool((x > 0).all())

    compiled = agrees(f, lambda i: (torch.randn(4) + 3 * (-1) ** (i // 6), [0]), 24)
    assert "ran" in str(cresset.explain(compiled))


def test_what_the_tape_records():
    def f(x, y):
        z = x * 2
        z = torch.tanh(z) + 1
        y.add_(z.sum())
        y.mul_(2)
        return z * y

    def make(i):
        x, y = torch.randn(3), torch.randn(3)
        if i % 4 == 1:
            x.requires_grad_()
        if i % 4 == 2:
            y.requires_grad_()  # a leaf that is written to
        if i % 4 == 3:
            x.requires_grad_()
            y = torch.randn(3, requires_grad=True) * 2
        return x, y

    agrees(f, make, 24)
    off = cresset.compile(f)
    for i in range(24):
        with torch.set_grad_enabled(i % 3 == 0):
            agrees(f, lambda _, i=i: make(i), 1, compiled=off)
    with torch.inference_mode():
        agrees(f, make, 12, compiled=off)

    def saved(x, w):
        y = torch.tanh(x * w) + 1
        x.add_(1)
        return y * 2 + x

    def made(i):
        return torch.randn(3), torch.randn(3, requires_grad=i % 3 > 0)

    compiled = cresset.compile(saved)
    for i in range(12):  # an error of the backward pass: the name of what was saved is another one
        torch.manual_seed(i)
        x, w = made(i)
        y = compiled(x, w)
        if w.requires_grad:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.sum().backward()


def test_tensors_that_become_leaves():
    def f(x, w):
        y = torch.zeros(3)
        y.requires_grad_()
        z = y * 2 + w
        x.add_(z)
        return x * 2

    agrees(f, lambda i: (torch.randn(3), torch.randn(3)), 12)

    def g(x, w):
        y = torch.zeros(3)
        y[0] = w[0]
        y = torch.tanh(y) * 2 + 1
        x.mul_(y)
        return x * 2

    agrees(g, lambda i: (torch.randn(3), torch.randn(3, requires_grad=i % 3 == 2)), 12)


def test_indices_that_are_written():
    def f(x, index, y):
        index.add_(1)
        x[index] = y
        x[x[:2].abs() % 4] = 3
        x.mul_(2)
        return torch.relu(y + x[:3]).view(3 if y.sum() < 50 else -2)

    def make(i):
        x = torch.arange(6000)
        index = x[:3] if i % 3 == 1 else torch.tensor([0, 1, i % 3])
        return x, index, torch.tensor([1, 2, 60 if i % 4 == 3 else 3])

    agrees(f, make, 24)


def test_transforms_and_large_tensors():
    def f(x, y):
        x.mul_(2)
        x.add_(y)
        return torch.relu(x) * 2 + torch.tanh(x)

    compiled = agrees(f, lambda i: (torch.randn(4, 3), torch.randn(4, 3)))
    agrees(f, lambda i: (torch.randn(300, 300), torch.randn(300, 300)), compiled=compiled)
    vmapped = torch.func.vmap(compiled)
    agrees(torch.func.vmap(f), lambda i: (torch.randn(4, 3), torch.randn(4, 3)), compiled=vmapped)


def test_parts_and_integrals():
    def f(x):
        a, b = torch.hsplit(x, 2)
        c, d = x.vsplit(2)
        y = torch.relu(a + b) * 2 + torch.trapezoid(x).sum()
        return torch.gradient(y)[0] + F.rrelu(c + d, training=False).sum() if x.shape else y

    compiled = agrees(f, lambda i: (torch.randn(4, 6, requires_grad=i % 2 == 1),), 12, backward=True)
    assert str(cresset.explain(compiled)).count("plan of line") == 1


def test_a_step_with_its_gradients():
    def step(x, parameters):
        w, b = parameters
        loss = torch.tanh(x @ w + b).pow(2).mean()
        gradients = torch.autograd.grad(loss, [w, b])
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                p.sub_(0.1 * g)
        return loss.detach()

    parameters = [torch.randn(4, 4), torch.randn(4)]

    def make(i):
        return torch.randn(3, 4), [p.clone().requires_grad_() for p in parameters]

    compiled = agrees(step, make, 12)
    assert str(cresset.explain(compiled)).count("plan of line") == 1
    torch.manual_seed(0)
    x, given = make(0)
    for _ in range(5):  # the same parameters again and again
        loss = compiled(x, given)
    torch.manual_seed(0)
    y, expected = make(0)
    for _ in range(5):
        other = step(y, expected)
    same([loss, *given], [other, *expected])
