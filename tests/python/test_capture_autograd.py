"""Captured functions that call torch.autograd.grad: in the graph where the tape is the plan's own, else as the Python that it is."""

import pytest
import torch

import cresset

NET = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def step(w, x):
    y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
    (of_w,) = torch.autograd.grad(y, w)
    return w - 0.1 * of_w.relu() * 2 + 1


def forces(w, x):
    x = x.detach().requires_grad_(True)
    energy = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
    of_x = -torch.autograd.grad(energy, x, create_graph=True)[0]
    return energy + (of_x * of_x).sum() * 2 + of_x.sin().sum()


def penalty(w, x):
    loss = NET(x @ w).pow(2).mean()
    gradients = torch.autograd.grad(loss, NET.parameters(), create_graph=True)
    return loss + 0.1 * sum(g.pow(2).sum() for g in gradients)


def twice(w, x):
    y = torch.sin(x @ w).exp()
    first = torch.autograd.grad(y.sum(), w, retain_graph=True)[0]
    second = torch.autograd.grad(y, [w], grad_outputs=[torch.ones_like(y) * 2])[0]
    return first * 2 + second.tanh()


def with_cotangents(w, x):
    y = torch.sin(x @ w).exp()
    return torch.autograd.grad(y, w, y.detach() * 2, create_graph=True)[0].tanh() + w * 2


def second_derivative(w, x):
    y = torch.sin(x @ w).sum()
    (first,) = torch.autograd.grad(y, w, create_graph=True)
    (second,) = torch.autograd.grad(first.pow(2).sum(), w, create_graph=True)
    return (second * first).relu() + 1


def whole_tuple(w, x):
    z = (x * 2 + 1).requires_grad_()
    y = (torch.tanh(z @ w) * 2 + 1).pow(2).sum()
    return torch.autograd.grad(y, (w, z)), y.detach() * 2


def of_a_module(w, x):
    """A step of gradient descent, written with functions."""
    parameters = {name: p.detach().clone().requires_grad_() for name, p in NET.named_parameters()}
    loss = torch.func.functional_call(NET, parameters, x @ w.detach()).pow(2).mean()
    gradients = torch.autograd.grad(loss, parameters.values())
    return [p - 0.1 * g for p, g in zip(parameters.values(), gradients)], loss.detach() * 2


def of_an_attribute(w, x):
    x = x * 1
    x.requires_grad = True
    return torch.autograd.grad((x @ w).sin().exp().sum(), x)[0] * 2


def without_gradients_around(w, x):
    with torch.no_grad():
        scale = (x * 2).exp().sum()
    with torch.enable_grad():
        y = (torch.tanh(x @ w) * scale + 1).pow(2).sum()
        (of_w,) = torch.autograd.grad(y, w)
    return of_w * 2 + scale


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in tensors_of(part)]


def outcome(f, i):
    torch.manual_seed(i)
    w = torch.randn(4, 4, requires_grad=True)
    results = tensors_of(f(w, torch.randn(3 + i % 2, 4)))
    roots = [each.sum() for each in results if each.requires_grad]
    return results, torch.autograd.grad(roots, (w, *NET.parameters()), allow_unused=True) if roots else []


def same(ours, expected):
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected, strict=True):
        assert (a is None) == (b is None)
        assert a is None or (a.requires_grad == b.requires_grad and torch.allclose(a, b, rtol=1e-4, atol=1e-5))


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize(
    "f", [step, forces, penalty, twice, with_cotangents, second_derivative, whole_tuple, without_gradients_around,
     of_a_module, of_an_attribute],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_gradients_are_in_the_graph(f, fullgraph):
    cresset.reset()
    compiled = cresset.compile(f, fullgraph=fullgraph)
    for i in range(6):
        for ours, expected in zip(outcome(compiled, i), outcome(f, i), strict=True):
            same(ours, expected)
    plans = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert len(plans) == 1 and plans[0].applied == 5, cresset.explain(compiled)
    assert fullgraph or not cresset.explain(compiled).python


def test_plans_see_hooks_that_come_and_go():
    def run(f, log):
        torch.manual_seed(0)
        w, x, handle = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4), None
        found = []
        for i in range(9):
            if i == 3:
                handle = w.register_hook(lambda g: log.append(1) or g * 2)
            if i == 6:
                handle.remove()
            found.append(f(w, x))
        return found

    logs = [], []
    compiled = cresset.compile(step)
    same(run(compiled, logs[0]), run(step, logs[1]))
    assert logs[0] == logs[1] == [1] * 3


def test_a_tape_from_outside_is_gone_along_by_python_and_freed_once():
    def f(y, w):
        z = (torch.tanh(y * 2) + 1).pow(2).sum()
        (of_w,) = torch.autograd.grad(z, w)
        return of_w.reshape(2, -1) * 2 + 1

    compiled = cresset.compile(f)
    for i in range(8):
        rows = 4 if i != 5 else 3  # 9 elements have no two rows
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            w = torch.randn(rows, rows, requires_grad=True)
            y = w if i < 3 else w * w
            try:
                found.append(function(y, w))
            except RuntimeError as error:
                found.append(str(error))
        assert type(found[0]) is type(found[1])
        assert found[0] == found[1] if isinstance(found[0], str) else torch.equal(*found), i


def test_what_raises_after_a_gradient_raises_once():
    def f(w, x, n):
        y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
        (of_w,) = torch.autograd.grad(y, w)
        return of_w.reshape(n, -1) * 2 + 1

    compiled = cresset.compile(f)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
    for n in (2, 4, 2, 3, 4, 5, 2):
        if 16 % n:
            with pytest.raises(RuntimeError, match="is invalid for input of size"):
                compiled(w, x, n)
        else:
            assert torch.allclose(compiled(w, x, n), f(w, x, n))


def test_errors_are_those_of_autograd():
    def unused(w, x):
        y = (torch.tanh(x) * 2 + 1).pow(2).sum() + (x * x).sum()
        return torch.autograd.grad(y, w)[0] * 2

    def again(w, x):
        y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
        first = torch.autograd.grad(y, w)[0]
        return torch.autograd.grad(y, w)[0] + first

    def of_many(w, x):
        y = (torch.tanh(x @ w) * 2 + 1).pow(2)
        return torch.autograd.grad(y, w)[0] * 2

    for f, needs_gradient in ((unused, True), (again, True), (of_many, True), (step, False)):
        compiled = cresset.compile(f)
        for _ in range(4):
            w, x = torch.randn(4, 4, requires_grad=needs_gradient), torch.randn(3, 4)
            with pytest.raises(RuntimeError) as expected:
                f(w, x)
            with pytest.raises(RuntimeError) as raised:
                compiled(w, x)
            assert str(raised.value) == str(expected.value), f


def test_gradients_that_are_not_there():
    def f(w, x):
        y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
        other = torch.ones(2, requires_grad=True)
        of_w, of_other = torch.autograd.grad(y, (w, other), allow_unused=True)
        return of_w * 2, of_other is None

    compiled = cresset.compile(f)
    for i in range(4):
        torch.manual_seed(i)
        w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        ours, expected = compiled(w, x), f(w, x)
        assert torch.equal(ours[0], expected[0]) and ours[1] and expected[1]


def test_what_leaves_is_freed_as_autograd_frees_it():
    def f(w, x):
        y = (torch.tanh(x @ w) * 2 + 1).pow(2).sum()
        return y, torch.autograd.grad(y, w)[0] * 2

    compiled = cresset.compile(f)
    for function in (f, compiled, compiled, compiled):
        y, _ = function(torch.randn(4, 4, requires_grad=True), torch.randn(3, 4))
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()


def test_requires_grad_of_what_is_there_runs_as_python():
    def f(x):
        y = x.contiguous().requires_grad_(True)
        return torch.autograd.grad((torch.tanh(y) * 2 + 1).pow(2).sum(), y)[0] * 2

    compiled = cresset.compile(f)
    for _ in range(4):
        x = torch.randn(3)
        found = compiled(x)
        assert x.requires_grad
        assert torch.equal(found, f(x.detach()))


def test_a_backend_gets_no_gradients():
    def f(w, x):
        return step(w, x) * 2

    compiled = cresset.compile(f, backend=lambda gm, _: gm.forward)
    for i in range(4):
        same(*(outcome(each, i)[0] for each in (compiled, f)))
    with pytest.raises(RuntimeError, match=r"a call of torch.autograd.grad"):
        cresset.compile(f, backend=lambda gm, _: gm.forward, fullgraph=True)(
            torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        )


def test_backward_passes_have_eager_bits_whatever_the_option_says():
    net = torch.nn.Linear(3, 3)

    def f(y):
        return (y.tanh() * y + 1).sin().sigmoid()

    before, cresset.options.numerics = cresset.options.numerics, "default"
    try:
        compiled = cresset.compile(f)
        for i in range(200):
            torch.manual_seed(i)
            y = net(torch.randn(3, 3) * 3) + 1
            ours, expected = (torch.autograd.grad(g(y).sum(), y)[0] for g in (compiled, f))
            assert torch.equal(ours, expected), i
    finally:
        cresset.options.numerics = before


def test_a_view_that_was_made_before_its_base_required_gradients():
    """It requires gradients, too, which go nowhere; what autograd checks on the way there, a graph checks."""

    def overwrites(y):
        h = (y * 2).tanh()
        h += -1
        return h * 2

    def computes(y):
        return (y * 2).tanh().exp() * 2

    for function in (overwrites, computes):
        compiled = cresset.compile(function)
        for _ in range(6):
            x = torch.randn(2, 3)
            y = x[-1]
            x.requires_grad_()
            outcomes = []
            for f in (function, compiled):
                result = f(y)
                try:
                    result.sum().backward()
                    outcomes.append((result.requires_grad, x.grad))
                except RuntimeError as error:
                    outcomes.append((result.requires_grad, "modified by an inplace operation" in str(error)))
            assert outcomes == [(True, True if function is overwrites else None)] * 2
