"""Captured functions that call torch.func.grad: in the graph where nothing tells a transform's tensors from others, else as the
Python that it is."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value

import cresset

NET = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def loss(w, x, scale=2):
    return (torch.tanh(x @ w) * scale + 1).pow(2).sum()


def plain(w, x):
    return (grad(loss)(w, x * 2) + 1).relu() * 2


def with_keywords(w, x):
    return grad(loss)(w, x, scale=3).sin() * 2 + grad(loss)(w, x=x).cos()


def second_argument(w, x):
    g = grad(loss, argnums=1)
    return g(w, x) * 2 + g(w * 2, x)


def of_a_closure(w, x):
    y = torch.sin(x @ w)
    return grad(lambda v: (torch.tanh(v * w) * y.sum() + v).sum())(w) * w


def through_other_uses(w, x):
    """What the function has from outside does not count."""
    h = x @ w
    return grad(lambda v: (v * w).exp().sum() + h.sum())(w) + h.sum()


def of_a_module(w, x):
    parameters = {name: p.detach() * 2 for name, p in NET.named_parameters()}

    def of(parameters, x):
        return functional_call(NET, parameters, x).pow(2).mean()

    gradients = grad(of)(parameters, x @ w)
    return [parameters[name] - 0.1 * gradients[name] for name in parameters]


def of_parameters_that_are_there(w, x):
    return list(grad(lambda p, x: functional_call(NET, p, (x,)).sum())(dict(NET.named_parameters()), x).values())


def with_modules_own_parameters(w, x):
    return grad(lambda v: NET(v @ w).pow(2).sum())(x * 2) + 1


def with_value(w, x):
    gradient, value = grad_and_value(loss)(w, x * 2)
    return gradient * value, value + 1


def of_several_arguments(w, x):
    def of(p, batch, *rest, scale):
        xs, k = batch
        return sum((xs @ q).tanh().sum() for q in p.values()) * k * scale + rest[0].sum()

    gradients = grad(of)({"a": w, "b": w * 2}, (x, 3), x * 2, scale=x.sum())
    return [each * 2 for each in gradients.values()]


def of_a_line(w, x):
    gradient, value = grad_and_value(lambda v: (v * 2 + x.sum() * 3).sum())(w)
    return gradient + 1, value * 2


def value_of_a_module(w, x):
    def of(parameters, x):
        return functional_call(NET, parameters, x).pow(2).mean()

    gradients, value = grad_and_value(of)({name: p.detach() * 2 for name, p in NET.named_parameters()}, x @ w)
    return [value, *gradients.values()]


def without_gradients_around(w, x):
    with torch.no_grad():
        y = grad(loss)(w, x) * 2
    return y + w


IN_GRAPHS = [
    plain, with_keywords, second_argument, of_a_closure, through_other_uses, of_a_module, of_parameters_that_are_there,
    with_modules_own_parameters, without_gradients_around, with_value, of_several_arguments, of_a_line, value_of_a_module,
]  # fmt: skip
log = []


def asks_for_requires_grad(w, x):
    return grad(lambda v: (v * 2).sin().sum() if v.requires_grad else v.sum())(w) * 2


def asks_for_its_arguments_tape(w, x):
    return grad(lambda v, u: (v * 2 + (1 if u.requires_grad else 3)).exp().sum())(w, w) * 2


def asks_for_identity(w, x):
    return grad(lambda v, u: (v * 2).sin().sum() * (2 if u is x else 3))(w, x) * 2


def detaches(w, x):
    return grad(lambda v: (v.detach() * v + w.detach() * v).sin().sum())(w) * 2


def sets_modes(w, x):
    def of(v):
        with torch.no_grad():
            u = v * 2
        return (u * v + w).sin().sum()

    return grad(of)(w) * 2


def writes(w, x):
    def of(v):
        u = v * 2
        u.add_(1)
        u[0] = 3
        return u.sin().sum()

    return grad(of)(w) * 2


def keeps(w, x):
    found = []

    def of(v):
        found.append(v * 2)
        return (v * 2).sin().sum()

    return grad(of)(w) * 2 + len(found)


def shares(w, x):
    count = 0

    def of(v):
        nonlocal count
        count += 1
        return (v * 2).sin().sum() * count

    return grad(of)(w) * 2 + count


def logs(w, x):
    def of(v):
        log.append(1)
        return (v * 2).sin().sum()

    return grad(of)(w) * 2


def draws(w, x):
    return grad(lambda v: (F.dropout(v, 0.5) * torch.rand(4)).sum())(w) * 2


def branches(w, x):
    return grad(lambda v: (v * 2).sin().sum() if v.sum() > 0 else v.exp().sum())(w) * 2


def reads_a_number(w, x):
    return grad(lambda v: (v * v.sum().item()).sin().sum())(w) * 2


def of_a_gradient(w, x):
    return grad(lambda v: grad(loss)(v, x).pow(2).sum())(w) * 2


def unused(w, x):
    return grad(lambda v: (w * 2).sin().sum())(x) * 2 + grad(lambda p: (p["a"] * 2).sum())({"a": w, "b": x})["b"].sum()


def of_several(w, x):
    return sum(g.sum() for g in grad(loss, argnums=(0, 1))(w, x)) * w


def with_aux(w, x):
    g, y = grad(lambda v: ((v * 2).sin().sum(), v * 2), has_aux=True)(w)
    return g * y


def of_sizes(w, x):
    return grad(lambda v: (v * 2).sin().sum() * v.shape[0] / len(x))(x)


AS_PYTHON = [
    asks_for_requires_grad, asks_for_its_arguments_tape, asks_for_identity, detaches, sets_modes, writes, keeps, shares, logs, draws,
    branches, reads_a_number, of_a_gradient, unused, of_several, with_aux, of_sizes,
]  # fmt: skip


def outcome(f, i, of_w, of_x):
    torch.manual_seed(i)
    log.clear()
    w, x = torch.randn(4, 4, requires_grad=of_w), torch.randn(3 + i % 2, 4, requires_grad=of_x)
    result = f(w, x)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    roots = [each.sum() for each in results if each.requires_grad]
    gradients = (
        torch.autograd.grad(roots, [t for t in (w, x, *NET.parameters()) if t.requires_grad], allow_unused=True)
        if roots
        else []
    )
    return results, gradients, torch.get_rng_state(), list(log)


def compare(f, **options):
    cresset.reset()
    compiled = cresset.compile(f, **options)
    for i, flags in enumerate([(True, False)] * 3 + [(False, False)] * 3 + [(True, True)] * 3 + [(False, True)] * 3):
        for j in (i, i + 1):
            ours, expected = outcome(compiled, j, *flags), outcome(f, j, *flags)
            for a, b in zip(ours[0], expected[0], strict=True):
                assert torch.equal(a, b) and a.requires_grad == b.requires_grad, (j, flags)
                assert not torch._C._functorch.is_functorch_wrapped_tensor(a)
            for a, b in zip(ours[1], expected[1], strict=True):
                assert (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=1e-4, atol=1e-5)), (
                    j,
                    flags,
                )
            assert torch.equal(ours[2], expected[2]) and ours[3] == expected[3]
    return cresset.explain(compiled)


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("f", IN_GRAPHS, ids=lambda f: f.__name__)
def test_in_graphs(f, fullgraph):
    found = compare(f, fullgraph=fullgraph)
    assert sum(plan.applied for plan in found.plans) >= 16, found
    assert all(plan.last_line - plan.first_line < 12 and plan.graph_calls for plan in found.plans), found


@pytest.mark.parametrize("f", AS_PYTHON, ids=lambda f: f.__name__)
def test_as_python(f):
    compare(f)


def test_exceptions_within():
    def f(w, x):
        return grad(lambda v: (v @ x).sin().sum())(w) * 2 + 1

    compiled = cresset.compile(f)
    for rows in (4, 4, 4, 3, 4, 3):
        w, x = torch.randn(4, 4), torch.randn(rows, 2)
        if rows == 3:
            with pytest.raises(RuntimeError, match="cannot be multiplied"):
                compiled(w, x)
        else:
            assert torch.equal(compiled(w, x), f(w, x))
        assert not torch._C._functorch.peek_interpreter_stack()


def test_results_that_are_no_longer_numbers():
    def f(w, x):
        return grad(lambda v: (v * 2).sin().sum(0))(w) * 2 + 1

    compiled = cresset.compile(f)
    for size in ((4,), (4,), (4,), (4, 1), (4,), (4, 3)):
        w = torch.randn(size)
        if len(size) > 1:
            with pytest.raises(RuntimeError):
                f(w, w)
            with pytest.raises(RuntimeError, match="returned a tensor of shape|to return a single element|[Ee]xpected"):
                compiled(w, w)
        else:
            assert torch.equal(compiled(w, w), f(w, w))


def test_hooks_of_what_is_given_do_not_run():
    called = []
    compiled = cresset.compile(plain)
    for i in range(6):
        w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        if i % 2:
            w.register_hook(lambda g: called.append(1))
        assert torch.equal(compiled(w, x), plain(w, x))
    assert not called


def test_few_calls_in_another_transform():
    compiled = cresset.compile(lambda w: grad(lambda v: (v * v).sum())(w))
    for _ in range(4):
        w = torch.randn(3, 4)
        assert torch.equal(compiled(w), w * 2)
        assert torch.equal(torch.vmap(compiled)(w), w * 2)
        assert torch.equal(grad(lambda w: compiled(w).sum())(w), torch.full((3, 4), 2.0))


def test_in_another_transform():
    compiled = cresset.compile(plain)
    for i in range(6):
        w, x = torch.randn(4, 4), torch.randn(3, 4)
        assert torch.equal(compiled(w, x), plain(w, x))
        ours = grad(lambda w: compiled(w, x).sum())(w)
        assert torch.allclose(ours, grad(lambda w: plain(w, x).sum())(w), atol=1e-5), i
